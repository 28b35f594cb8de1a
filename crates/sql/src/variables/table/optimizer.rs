//! Limits and hints of statement execution that clients set and read.

use super::super::definition::{Variable, switch, text, uint};

const BUFFER: &str = "No effect: memory is taken as needed";

pub(super) const VARIABLES: &[Variable] = &[
    switch("big_tables", false).both().harmless().help_text("No effect"),
    uint("bulk_insert_buffer_size", 8 << 20, 0, u64::MAX).both().harmless().admin().help_text(BUFFER),
    uint("cte_max_recursion_depth", 1000, 1000, 1000).both().fixed().help_text("Steps of a recursive WITH"),
    uint("eq_range_index_dive_limit", 200, 0, u32::MAX as u64).both().harmless().help_text("No effect"),
    uint("group_concat_max_len", 1024, 4, u64::MAX).both().help_text("Bytes of a GROUP_CONCAT"),
    uint("histogram_generation_max_mem_size", 20_000_000, 1_000_000, u64::MAX)
        .both()
        .harmless()
        .admin()
        .help_text("No effect"),
    uint("information_schema_stats_expiry", 86_400, 0, 31_536_000).both().harmless().help_text("No effect"),
    uint("join_buffer_size", 64 << 20, 128, u32::MAX as u64)
        .block(128)
        .both()
        .help_text("Bytes that a hash join keeps in memory"),
    uint("max_execution_time", 0, 0, u32::MAX as u64)
        .both()
        .help_text("Milliseconds a query may take; 0 is no limit"),
    uint("max_heap_table_size", 16 << 20, 16_384, u64::MAX).block(1024).both().harmless().help_text(BUFFER),
    uint("max_join_size", u64::MAX, u64::MAX, u64::MAX).both().fixed().help_text("No limit"),
    uint("max_length_for_sort_data", 4096, 4, 8 << 20).both().harmless().help_text("No effect"),
    uint("max_points_in_geometry", 65_536, 3, 1 << 20).both().harmless().help_text("No effect"),
    uint("max_seeks_for_key", u64::MAX, 1, u64::MAX).both().harmless().help_text("No effect"),
    uint("max_sort_length", 1024, 4, 8 << 20)
        .both()
        .harmless()
        .help_text("No effect: whole values are compared"),
    uint("optimizer_prune_level", 1, 0, 1).both().harmless().help_text("No effect"),
    uint("optimizer_search_depth", 62, 0, 62).both().harmless().help_text("No effect"),
    text("optimizer_switch", "").both().harmless().help_text("No effect"),
    text("optimizer_trace", "enabled=off,one_line=off").both().fixed().help_text("There is none"),
    uint("parser_max_mem_size", u64::MAX, 10_000_000, u64::MAX).both().harmless().help_text("No effect"),
    uint("preload_buffer_size", 32_768, 1024, 1 << 30)
        .both()
        .harmless()
        .admin_but_super()
        .help_text("No effect"),
    switch("profiling", false).both().fixed().help_text("There is none"),
    uint("profiling_history_size", 15, 0, 100).both().harmless().help_text("No effect"),
    uint("query_alloc_block_size", 8192, 1024, u32::MAX as u64)
        .block(1024)
        .both()
        .harmless()
        .help_text(BUFFER),
    uint("query_prealloc_size", 8192, 8192, u64::MAX).block(1024).both().harmless().help_text(BUFFER),
    uint("range_alloc_block_size", 4096, 4096, u32::MAX as u64)
        .block(1024)
        .both()
        .harmless()
        .help_text(BUFFER),
    uint("range_optimizer_max_mem_size", 8 << 20, 0, u64::MAX).both().harmless().help_text("No effect"),
    uint("read_buffer_size", 128 << 10, 8192, 1 << 31).block(4096).both().harmless().help_text(BUFFER),
    uint("read_rnd_buffer_size", 256 << 10, 1, 1 << 31).both().harmless().help_text(BUFFER),
    uint("sort_buffer_size", 64 << 20, 32_768, u64::MAX)
        .both()
        .help_text("Bytes that a sort keeps in memory"),
    uint("table_definition_cache", 2000, 400, 524_288)
        .harmless()
        .help_text("No effect: definitions stay in memory"),
    uint("table_open_cache", 4000, 1, 524_288).harmless().help_text("No effect"),
    uint("temptable_max_ram", 1 << 30, 2 << 20, u64::MAX)
        .help_text("Bytes that all sorts, joins and temporary results keep in memory together"),
    uint("tmp_table_size", 64 << 20, 1024, u64::MAX)
        .both()
        .help_text("Bytes that a grouping, DISTINCT, derived table or cursor keeps in memory"),
    uint("transaction_alloc_block_size", 8192, 1024, 131_072).block(1024).both().harmless().help_text(BUFFER),
    uint("transaction_prealloc_size", 4096, 1024, 131_072).block(1024).both().harmless().help_text(BUFFER),
    switch("windowing_use_high_precision", true).both().harmless().help_text("No effect"),
];
