//! This server as a replica.

use super::super::definition::{Variable, switch, text, uint};

pub(super) const VARIABLES: &[Variable] = &[
    uint("replica_net_timeout", 60, 1, 31_536_000)
        .help_text("Seconds without an event or a heartbeat after which a replica connects to its source again"),
    uint("replica_pending_jobs_size_max", 128 << 20, 1024, 16 << 60)
        .help_text("Bytes of events that a channel holds in memory before it stops reading from its source"),
    uint("replica_transaction_retries", 10, 0, u64::MAX)
        .help_text("How often a transaction is applied again after a deadlock or a lock wait"),
    switch("replicate_same_server_id", false)
        .read_only()
        .help_text("Apply events that have this server's own server_id too"),
    text("report_host", "").read_only().help_text("The name under which a source lists this server"),
    switch("skip_replica_start", false).read_only().help_text("Don't start the channels with the server"),
];
