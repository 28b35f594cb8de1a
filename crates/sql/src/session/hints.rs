//! Optimizer hints about a whole statement: variables that are other ones while it runs
//! (`SET_VAR`), and how long it may take (`MAX_EXECUTION_TIME`).

use std::time::Duration;

use super::Context;
use crate::admin::set;
use crate::variables::{self, SessionVariables};
use datum::error;
use syntax::ast::{Hint, SetItem};

/// The variables that the manual allows in SET_VAR.
const SETTABLE: &[&str] = &[
    "auto_increment_increment",
    "auto_increment_offset",
    "big_tables",
    "bulk_insert_buffer_size",
    "default_tmp_storage_engine",
    "div_precision_increment",
    "end_markers_in_json",
    "eq_range_index_dive_limit",
    "foreign_key_checks",
    "group_concat_max_len",
    "insert_id",
    "internal_tmp_mem_storage_engine",
    "join_buffer_size",
    "lock_wait_timeout",
    "max_error_count",
    "max_execution_time",
    "max_heap_table_size",
    "max_join_size",
    "max_length_for_sort_data",
    "max_points_in_geometry",
    "max_seeks_for_key",
    "max_sort_length",
    "optimizer_prune_level",
    "optimizer_search_depth",
    "optimizer_switch",
    "range_alloc_block_size",
    "range_optimizer_max_mem_size",
    "read_buffer_size",
    "read_rnd_buffer_size",
    "secondary_engine_cost_threshold",
    "select_into_buffer_size",
    "select_into_disk_sync",
    "select_into_disk_sync_delay",
    "session_track_schema",
    "set_operations_buffer_size",
    "sort_buffer_size",
    "sql_auto_is_null",
    "sql_big_selects",
    "sql_buffer_result",
    "sql_mode",
    "sql_safe_updates",
    "sql_select_limit",
    "time_zone",
    "timestamp",
    "tmp_table_size",
    "unique_checks",
    "updatable_views_with_limit",
    "use_secondary_engine",
    "windowing_use_high_precision",
];

/// Gives variables the values that hints ask for; what they were before is returned for
/// [`restore`]. What can't be set is a warning, as in MySQL.
pub(super) fn apply(cx: &mut Context, hints: &[Hint]) -> Option<SessionVariables> {
    let mut before = None;
    for hint in hints {
        let Hint::SetVariable(item @ SetItem::Variable { name, .. }) = hint else { continue };
        let name = name.name.as_str();
        if variables::find(name).is_none() {
            cx.warn(error::UNRESOLVED_HINT_NAME.with(&[&format_args!("'{name}'"), &"SET_VAR"]));
            continue;
        }
        if !SETTABLE.iter().any(|known| known.eq_ignore_ascii_case(name)) {
            cx.warn(error::NOT_HINT_UPDATABLE_VARIABLE.with(&[&name]));
            continue;
        }
        let saved = cx.settings.variables().clone();
        match set::set(cx, std::slice::from_ref(item), b"") {
            Ok(()) => drop(before.get_or_insert(saved)),
            Err(e) => cx.warn(e),
        }
    }
    before
}

/// Gives the session its own variables back.
pub(super) fn restore(cx: &mut Context, before: Option<SessionVariables>) {
    if let Some(before) = before {
        cx.change_variables(|variables| *variables = before);
    }
}

/// How long a query may take by its hints.
pub(super) fn time_limit(hints: &[Hint]) -> Option<Duration> {
    hints.iter().find_map(|hint| match hint {
        Hint::MaxExecutionTime(milliseconds) => Some(Duration::from_millis(*milliseconds)),
        Hint::SetVariable(_) => None,
    })
}
