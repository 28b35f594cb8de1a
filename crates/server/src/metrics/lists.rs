//! What the status page shows beside its history, as JSON: who waits, what is slow, who lags, how
//! full the store is.

use super::history::History;
use crate::server::Server;
use serde_json::{Value, json};
use sql::monitor::{
    BlockedSession, ChannelSummary, EngineSummary, FollowerSummary, TopStatement, TransactionSummary,
    WaitTarget,
};
use sql::variables::ids;

/// Rows of a list.
const ROWS_MAX: usize = 20;
const STATEMENTS_MAX: usize = 10;
/// Characters of a statement's normalized text.
const TEXT_MAX: usize = 300;

/// All of it.
pub(super) fn of(server: &Server, history: &History) -> Value {
    let (database, variables) = (&server.database, &server.variables);
    let (transactions, open) = database.oldest_transactions(ROWS_MAX);
    let now_ms = server.env.now() / 1000;
    let (remembered, earlier) = history.earliest_costs().unwrap_or_default();
    let statements = database.top_statements(&earlier, STATEMENTS_MAX);
    let channels = database.channel_summaries();
    json!({
        "server": {
            "version": &*variables.text(ids::VERSION),
            "host": &*variables.text(ids::HOSTNAME),
            "port": variables.uint(ids::PORT),
            "uuid": &*variables.text(ids::SERVER_UUID),
            "uptime_seconds": server.uptime().as_secs(),
            "max_connections": variables.uint(ids::MAX_CONNECTIONS),
        },
        "now_ms": now_ms,
        "engine": engine(&database.engine_summary()),
        "disk_full_in_seconds": history.seconds_until_disk_full(),
        "waits": rows(&database.blocked_sessions(ROWS_MAX), blocked),
        "transactions": rows(&transactions, transaction),
        "transactions_open": open,
        "statements": rows(&statements, statement),
        "statements_seconds": server.env.monotonic().saturating_sub(remembered).as_secs(),
        "statements_counted": variables.uint(ids::PERFORMANCE_SCHEMA_DIGESTS_SIZE) > 0,
        "followers": rows(&database.followers(ROWS_MAX), follower),
        "channels": rows(&channels[..channels.len().min(ROWS_MAX)], channel),
    })
}

fn rows<T>(all: &[T], of: impl Fn(&T) -> Value) -> Value {
    all.iter().map(of).collect()
}

/// A text's beginning.
fn cut(text: &str) -> String {
    match text.char_indices().nth(TEXT_MAX) {
        Some((end, _)) => format!("{} ...", &text[..end]),
        None => text.to_owned(),
    }
}

fn engine(summary: &EngineSummary) -> Value {
    json!({
        "log_failure": summary.log_failure,
        "log_files": summary.log_files,
        "log_file_bytes": summary.log_file_bytes,
        "durable_position": summary.durable_position,
        "recovery_distance_bytes": summary.recovery_distance_bytes,
        "recovery_distance_max": summary.recovery_distance_max,
        "memtable_bytes": summary.memtable_bytes,
        "memtable_size": summary.memtable_size,
        "memtables_frozen": summary.memtables_frozen,
        "memtables_max": summary.memtables_max,
        "levels": summary.levels,
        "table_bytes": summary.table_bytes,
        "cache_bytes": summary.cache_bytes,
        "buffer_pool_size": summary.buffer_pool_size,
        "store_failure": summary.store_failure,
    })
}

fn blocked(wait: &BlockedSession) -> Value {
    let (lock, target) = match &wait.target {
        WaitTarget::Row { index, is_exclusive } => (
            if *is_exclusive { "row, to change it" } else { "row, to read it" },
            index.as_ref().map(|(database, table, index)| format!("{database}.{table}, {index}")),
        ),
        WaitTarget::Metadata { table } => {
            ("table's definition", table.as_ref().map(|(database, table)| format!("{database}.{table}")))
        }
    };
    json!({
        "session": wait.session,
        "blockers": wait.blockers,
        "since_ms": wait.since.map(|since| since / 1000),
        "lock": lock,
        "target": target,
        "statement": wait.statement.as_deref().map(cut),
    })
}

fn transaction(transaction: &TransactionSummary) -> Value {
    json!({
        "session": transaction.session,
        "user": transaction.user,
        "since_ms": transaction.since / 1000,
        "rows_changed": transaction.rows_changed,
        "tables": transaction.tables,
        "state": transaction.state,
        "statement": transaction.statement.as_deref().map(cut),
    })
}

fn statement(top: &TopStatement) -> Value {
    json!({
        "schema": top.schema,
        "digest": top.digest.as_ref().map(|(digest, _)| digest),
        "text": top.digest.as_ref().map(|(_, text)| cut(text)),
        "count": top.recent.count,
        "time_us": top.recent.time_us,
        "total_count": top.total.count,
        "total_time_us": top.total.time_us,
        "p95_us": top.p95_us,
        "most_us": top.most_us,
        "lock_us": top.lock_us,
        "errors": top.errors,
        "rows_examined": top.rows_examined,
        "rows_sent": top.rows_sent,
    })
}

fn follower(follower: &FollowerSummary) -> Value {
    json!({
        "connection": follower.connection,
        "server_id": follower.server_id,
        "uuid": follower.uuid,
        "host": follower.host,
        "sent": follower.sent,
        "unsent_bytes": follower.unsent_bytes,
    })
}

fn channel(channel: &ChannelSummary) -> Value {
    json!({
        "name": channel.name,
        "source": channel.source,
        "receiver": channel.receiver,
        "applier": channel.applier,
        "lag_seconds": channel.lag_seconds,
        "queued_bytes": channel.queued_bytes,
        "error": channel.error,
        "is_stopped": channel.is_stopped,
    })
}
