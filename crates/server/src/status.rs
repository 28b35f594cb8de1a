//! What the server adds to `SHOW STATUS`, and the line that COM_STATISTICS replies.

use crate::semi_sync;
use crate::server::Server;
use sql::status::{Counter, Rows};
use std::sync::{Arc, Weak};

/// Adds the server's own rows to its status.
pub fn register(server: &Arc<Server>) {
    let weak = Arc::downgrade(server);
    server.status.add_source(move |rows| {
        if let Some(server) = Weak::upgrade(&weak) {
            add_rows(&server, rows);
        }
    });
}

fn add_rows(server: &Server, rows: &mut Rows) {
    let uptime = server.uptime().as_secs();
    rows.gauge("Uptime", uptime);
    rows.gauge("Uptime_since_flush_status", uptime);
    rows.gauge("Threads_connected", server.connections.count());
    rows.gauge("Threads_running", server.connections.running());
    rows.gauge("Threads_cached", server.threads.cached());
    rows.push("Threads_created", server.threads.created());
    rows.gauge("Max_used_connections", server.connections.most());
    rows.gauge("Open_tables", 0_u64);
    rows.push("Opened_tables", 0_u64);
    semi_sync::add_rows(&server.semi_sync.status(), rows);
}

/// The line of `mysqladmin status`.
pub fn statistics(server: &Server) -> String {
    let total = server.status.total();
    let uptime = server.uptime().as_secs();
    let questions = total.get(Counter::Questions);
    let rate = questions as f64 / uptime.max(1) as f64;
    format!(
        "Uptime: {uptime}  Threads: {}  Questions: {questions}  Slow queries: {}  Opens: 0  Flush tables: 0  \
         Open tables: 0  Queries per second avg: {rate:.3}",
        server.connections.count(),
        total.get(Counter::SlowQueries),
    )
}
