//! This server as a replica.

use super::super::definition::{Variable, choice, flags, switch, text, uint};

const YEAR_SECONDS: u64 = 31_536_000;
const U32_MAX: u64 = u32::MAX as u64;

pub(super) const VARIABLES: &[Variable] = &[
    text("init_replica", "").fixed().help_text("Statements that an applier runs when it starts: none"),
    switch("log_slow_replica_statements", false)
        .fixed()
        .help_text("What appliers do is not in the slow query log"),
    uint("max_relay_log_size", 0, 0, 1 << 30)
        .block(4096)
        .harmless()
        .help_text("No effect: there is no relay log"),
    text("relay_log", "relay-bin")
        .read_only()
        .harmless()
        .help_text("No effect but on SHOW REPLICA STATUS: there is no relay log"),
    text("relay_log_basename", "").fact().help_text("Empty: there is no relay log"),
    text("relay_log_index", "").fact().help_text("Empty: there is no relay log"),
    switch("relay_log_purge", true).harmless().help_text("No effect: there is no relay log"),
    switch("relay_log_recovery", false)
        .read_only()
        .harmless()
        .help_text("No effect: what was received and not committed is always fetched again"),
    uint("relay_log_space_limit", 0, 0, u64::MAX)
        .read_only()
        .harmless()
        .help_text("No effect: replica_pending_jobs_size_max bounds what is received and not applied"),
    switch("replica_allow_batching", true).harmless().help_text("No effect"),
    uint("replica_checkpoint_group", 512, 32, 524_280)
        .block(8)
        .harmless()
        .help_text("No effect: the position is in the log with each transaction"),
    uint("replica_checkpoint_period", 300, 1, U32_MAX)
        .harmless()
        .help_text("No effect: the position is in the log with each transaction"),
    switch("replica_compressed_protocol", false)
        .harmless()
        .help_text("No effect: SOURCE_COMPRESSION_ALGORITHMS says how a source is asked to compress"),
    choice("replica_exec_mode", &["STRICT", "IDEMPOTENT"], 0)
        .help_text("IDEMPOTENT: an applier goes on where a row is there already or is missing"),
    text("replica_load_tmpdir", "/tmp")
        .read_only()
        .harmless()
        .help_text("No effect: files of LOAD DATA wait in the data directory"),
    uint("replica_max_allowed_packet", 1 << 30, 1024, 1 << 30)
        .block(1024)
        .help_text("Largest event in bytes that a receiver takes"),
    uint("replica_net_timeout", 60, 1, YEAR_SECONDS)
        .help_text("Seconds without anything from the source after which a receiver connects again"),
    choice("replica_parallel_type", &["DATABASE", "LOGICAL_CLOCK"], 1)
        .fixed()
        .help_text("Transactions are told apart by the source's logical clock"),
    uint("replica_parallel_workers", 4, 0, 1024)
        .harmless()
        .help_text("No effect: a channel has one applier, which does not wait for flushes"),
    uint("replica_pending_jobs_size_max", 128 << 20, 1024, u64::MAX)
        .block(1024)
        .help_text("Bytes that are received and not applied, from which a receiver waits"),
    switch("replica_preserve_commit_order", true)
        .fixed()
        .help_text("Transactions are committed in the source's order"),
    text("replica_skip_errors", "OFF")
        .read_only()
        .help_text("Errors after which an applier goes on with the next event: numbers, or all"),
    switch("replica_sql_verify_checksum", true)
        .fixed()
        .help_text("Events are verified when they are received"),
    uint("replica_transaction_retries", 10, 0, u64::MAX)
        .help_text("How often an applier does a transaction again after a deadlock or a lock wait"),
    flags("replica_type_conversions", &["ALL_LOSSY", "ALL_NON_LOSSY", "ALL_SIGNED", "ALL_UNSIGNED"], 0)
        .help_text("How values of columns are converted that have another type than the source's"),
    switch("replicate_same_server_id", false)
        .read_only()
        .help_text("Apply transactions that have this server's own server_id, too"),
    switch("replication_optimize_for_static_plugin_config", false).harmless().help_text("No effect"),
    switch("replication_sender_observe_commit_only", false).harmless().help_text("No effect"),
    uint("rpl_read_size", 8192, 8192, 4_294_959_104).block(8192).harmless().help_text("No effect"),
    uint("rpl_stop_replica_timeout", YEAR_SECONDS, 2, YEAR_SECONDS)
        .help_text("Seconds that STOP REPLICA waits for the threads to end"),
    switch("skip_replica_start", false)
        .read_only()
        .help_text("Follow no source before START REPLICA is said"),
    uint("sql_replica_skip_counter", 0, 0, U32_MAX)
        .no_option()
        .help_text("Event groups that the applier that starts next leaves out; not by SOURCE_AUTO_POSITION"),
    uint("sync_relay_log", 10_000, 0, U32_MAX).harmless().help_text("No effect: there is no relay log"),
    uint("sync_relay_log_info", 10_000, 0, U32_MAX)
        .harmless()
        .help_text("No effect: the position is in the log with each transaction"),
    uint("sync_source_info", 10_000, 0, U32_MAX)
        .harmless()
        .help_text("No effect: the file of channels is flushed whenever it is written"),
];
