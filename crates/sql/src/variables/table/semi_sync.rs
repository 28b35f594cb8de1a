//! The semi-synchronous source, and its replica.

use super::super::definition::{Variable, choice, switch, uint};

pub(super) const VARIABLES: &[Variable] = &[
    switch("rpl_semi_sync_replica_enabled", false)
        .help_text("Receivers acknowledge to their source what is durable here"),
    uint("rpl_semi_sync_replica_trace_level", 32, 0, u32::MAX as u64)
        .harmless()
        .help_text("No effect: no such traces"),
    switch("rpl_semi_sync_source_enabled", false)
        .help_text("Commits wait until replicas that acknowledge have them"),
    uint("rpl_semi_sync_source_timeout", 10_000, 0, u32::MAX as u64)
        .help_text("Milliseconds that a commit waits for replicas, before the source goes on without"),
    uint("rpl_semi_sync_source_trace_level", 32, 0, u32::MAX as u64)
        .harmless()
        .help_text("No effect: no such traces"),
    uint("rpl_semi_sync_source_wait_for_replica_count", 1, 1, 65_535)
        .help_text("Replicas that must acknowledge"),
    switch("rpl_semi_sync_source_wait_no_replica", true)
        .help_text("Wait also while fewer replicas are connected than must acknowledge"),
    choice("rpl_semi_sync_source_wait_point", &["AFTER_SYNC", "AFTER_COMMIT"], 0)
        .help_text("Where commits wait: before anybody sees them, or before their session is told"),
];
