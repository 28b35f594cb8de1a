//! The text of window functions.

use std::fmt::Write;

use super::{Style, printed};
use crate::expression::window::{Bound, Function, WindowCall};
use crate::expression::{Expr, OrderTerm};
use crate::planner::names::Names;
use syntax::unparse;

/// A window function's text.
pub(crate) fn window(names: &Names<'_>, call: &WindowCall) -> String {
    printed_window(names, call, Style::Plan)
}

/// The text of a call with its window, which is written out where it has no name.
pub(super) fn printed_window(names: &Names<'_>, call: &WindowCall, style: Style) -> String {
    if !datum::stack::has_room() {
        return "...".to_owned();
    }
    let all = |list: Vec<&Expr>| list.iter().map(|e| printed(names, e, style)).collect::<Vec<_>>().join(",");
    let arguments = match &call.function {
        Function::Aggregate(aggregate) if aggregate.argument.is_none() => "0".to_owned(),
        _ => all(call.arguments()),
    };
    let window = &call.window;
    let mut over = match &window.name {
        Some(name) => return format!("{}({arguments}) OVER {}", call.name(), unparse::ident(name)),
        None => format!("{}({arguments}) OVER (", call.name()),
    };
    if !window.partition.is_empty() {
        let _ = write!(over, "PARTITION BY {} ", all(window.partition.iter().collect()));
    }
    if !window.order.is_empty() {
        let term =
            |term: &OrderTerm| printed(names, &term.expr, style) + if term.descending { " desc" } else { "" };
        let _ = write!(over, "ORDER BY {} ", window.order.iter().map(term).collect::<Vec<_>>().join(","));
    }
    if window.frame.is_written {
        let bound = |bound: &Bound| match bound {
            Bound::First => "UNBOUNDED PRECEDING".to_owned(),
            Bound::Current => "CURRENT ROW".to_owned(),
            Bound::Last => "UNBOUNDED FOLLOWING".to_owned(),
            Bound::Offset(offset) => {
                let amount = printed(names, &offset.amount, style);
                let direction = if offset.following { "FOLLOWING" } else { "PRECEDING" };
                match offset.unit {
                    Some(unit) => format!("INTERVAL {amount} {}  {direction}", unparse::unit_text(unit)),
                    None => format!("{amount} {direction}"),
                }
            }
        };
        let unit = if window.frame.by_rows { "ROWS" } else { "RANGE" };
        let (start, end) = (bound(&window.frame.start), bound(&window.frame.end));
        let _ = write!(over, "{unit} BETWEEN {start} AND {end}");
    }
    over + ") "
}
