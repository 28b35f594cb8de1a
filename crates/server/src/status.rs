//! What the server adds to `SHOW STATUS`, and the line that COM_STATISTICS replies.

use crate::semi_sync;
use crate::server::Server;
use protocol::Identity;
use protocol::identity::{SESSIONS_MAX, TlsCounters};
use sql::monitor::ChannelSummary;
use sql::status::{Counter, Rows};
use sql::variables::ids;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Weak};

/// Adds the server's own rows to its status.
pub(crate) fn register(server: &Arc<Server>) {
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
    add_disk_rows(server, rows);
    let channels = server.database.channel_summaries();
    add_replication_rows(server, &channels, rows);
    add_tls_rows(server, rows);
    let acknowledges = channels.iter().any(|channel| channel.acknowledges);
    semi_sync::add_rows(&server.semi_sync.status(), acknowledges, rows);
}

/// The disk of the data directory, as far as the system says.
fn add_disk_rows(server: &Server, rows: &mut Rows) {
    let disk = rustix::fs::statvfs(&*server.variables.text(ids::DATADIR)).ok();
    let bytes = |blocks: Option<u64>| {
        let size = disk.as_ref().map_or(0, |disk| disk.f_frsize);
        blocks.unwrap_or(0).saturating_mul(size)
    };
    rows.gauge("Duramen_disk_available_bytes", bytes(disk.as_ref().map(|disk| disk.f_bavail)));
    rows.gauge("Duramen_disk_bytes", bytes(disk.as_ref().map(|disk| disk.f_blocks)));
}

/// Who follows this server and whom it follows, and the transaction that is open the longest.
fn add_replication_rows(server: &Server, channels: &[ChannelSummary], rows: &mut Rows) {
    let database = &server.database;
    let lag = channels.iter().filter_map(|channel| channel.lag_seconds).max();
    rows.gauge("Duramen_replica_channels", channels.len());
    rows.gauge(
        "Duramen_replica_channels_stopped",
        channels.iter().filter(|channel| channel.is_stopped).count(),
    );
    rows.gauge("Duramen_replica_lag_seconds", lag.unwrap_or(0));
    let followers = database.followers(usize::MAX);
    let unsent = followers.iter().filter_map(|follower| follower.unsent_bytes).max();
    rows.gauge("Duramen_replica_unsent_bytes", unsent.unwrap_or(0));
    rows.gauge("Duramen_replicas", followers.len());
    let open_us = database.oldest_transaction().map(|since| server.env.now().saturating_sub(since));
    rows.gauge("Duramen_oldest_transaction_seconds", open_us.unwrap_or(0) / 1_000_000);
}

/// TLS for all connections. The server asks for no certificates and connects to no other server.
fn add_tls_rows(server: &Server, rows: &mut Rows) {
    let facts = server.authenticator.identity().and_then(Identity::tls_facts);
    let counter =
        |which: fn(&TlsCounters) -> &AtomicU64| facts.map_or(0, |facts| which(&facts.counters).load(Relaxed));
    rows.push("Ssl_accept_renegotiates", 0_u64);
    rows.push("Ssl_accepts", counter(|counters| &counters.accepts));
    rows.push("Ssl_callback_cache_hits", 0_u64);
    rows.text("Ssl_cipher_list", facts.map_or("", |facts| &facts.ciphers));
    rows.push("Ssl_client_connects", 0_u64);
    rows.push("Ssl_connect_renegotiates", 0_u64);
    rows.gauge("Ssl_ctx_verify_depth", 0_u64);
    rows.gauge("Ssl_ctx_verify_mode", 0_u64);
    rows.push("Ssl_finished_accepts", counter(|counters| &counters.finished_accepts));
    rows.push("Ssl_finished_connects", 0_u64);
    let validity = facts.and_then(|facts| facts.validity.as_ref());
    rows.text("Ssl_server_not_after", validity.map_or("", |validity| &validity.not_after));
    rows.text("Ssl_server_not_before", validity.map_or("", |validity| &validity.not_before));
    rows.push("Ssl_session_cache_hits", counter(|counters| &counters.cache_hits));
    rows.push("Ssl_session_cache_misses", counter(|counters| &counters.cache_misses));
    rows.text("Ssl_session_cache_mode", if facts.is_some() { "SERVER" } else { "NONE" });
    rows.push("Ssl_session_cache_overflows", counter(|counters| &counters.cache_overflows));
    rows.gauge("Ssl_session_cache_size", facts.map_or(0, |_| SESSIONS_MAX));
    rows.gauge("Ssl_session_cache_timeout", sql::TLS_TICKET_SECONDS);
    rows.push("Ssl_session_cache_timeouts", 0_u64);
    rows.gauge("Ssl_used_session_cache_entries", counter(|counters| &counters.cache_entries));
}

/// The line of `mysqladmin status`.
pub(crate) fn statistics(server: &Server) -> String {
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
