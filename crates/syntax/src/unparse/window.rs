//! Windows as SQL: the keywords of OVER are in capitals, as MySQL stores and shows them.

use super::{Writer, put, unit_text};
use crate::ast::*;

impl Writer {
    pub(super) fn window_call(&mut self, call: &WindowCall) {
        put!(self, window_name(call.function), "(");
        self.exprs(&call.arguments);
        self.put(")");
        if call.from_last {
            self.put(" FROM LAST");
        }
        if call.ignore_nulls {
            self.put(" IGNORE NULLS");
        }
        self.over(&call.over);
    }

    pub(super) fn over(&mut self, over: &Over) {
        match over {
            Over::Named(name) => put!(self, " OVER ", name),
            Over::Window(window) => {
                self.put(" OVER (");
                self.window_spec(window);
                self.put(") ");
            }
        }
    }

    /// The WINDOW clause.
    pub(super) fn windows(&mut self, windows: &[(Ident, WindowSpec)]) {
        for (number, (name, window)) in windows.iter().enumerate() {
            put!(self, if number == 0 { " window " } else { ", " }, name, " AS (");
            self.window_spec(window);
            self.put(") ");
        }
    }

    fn window_spec(&mut self, window: &WindowSpec) {
        if let Some(base) = &window.base {
            put!(self, base, " ");
        }
        if !window.partition_by.is_empty() {
            self.put("PARTITION BY ");
            self.exprs(&window.partition_by);
            self.put(" ");
        }
        if !window.order_by.is_empty() {
            self.put("ORDER BY ");
            self.order_items(&window.order_by);
            self.put(" ");
        }
        if let Some(frame) = &window.frame {
            self.put(match frame.unit {
                FrameUnit::Rows => "ROWS BETWEEN ",
                FrameUnit::Range => "RANGE BETWEEN ",
                FrameUnit::Groups => "GROUPS BETWEEN ",
            });
            self.frame_bound(&frame.start);
            self.put(" AND ");
            self.frame_bound(&frame.end);
            self.put(match frame.exclude {
                None => "",
                Some(FrameExclusion::CurrentRow) => " EXCLUDE CURRENT ROW",
                Some(FrameExclusion::Group) => " EXCLUDE GROUP",
                Some(FrameExclusion::Ties) => " EXCLUDE TIES",
                Some(FrameExclusion::NoOthers) => " EXCLUDE NO OTHERS",
            });
        }
    }

    fn frame_bound(&mut self, bound: &FrameBound) {
        let (expr, unit, direction) = match bound {
            FrameBound::CurrentRow => return self.put("CURRENT ROW"),
            FrameBound::UnboundedPreceding => return self.put("UNBOUNDED PRECEDING"),
            FrameBound::UnboundedFollowing => return self.put("UNBOUNDED FOLLOWING"),
            FrameBound::Preceding(expr, unit) => (expr, unit, " PRECEDING"),
            FrameBound::Following(expr, unit) => (expr, unit, " FOLLOWING"),
        };
        match unit {
            Some(unit) => put!(self, "INTERVAL ", expr, " ", unit_text(*unit), " "),
            None => self.put(expr),
        }
        self.put(direction);
    }
}

/// A window function's name.
pub fn window_name(function: WindowFunction) -> &'static str {
    use WindowFunction::*;
    match function {
        RowNumber => "row_number",
        Rank => "rank",
        DenseRank => "dense_rank",
        CumeDist => "cume_dist",
        PercentRank => "percent_rank",
        Ntile => "ntile",
        Lead => "lead",
        Lag => "lag",
        FirstValue => "first_value",
        LastValue => "last_value",
        NthValue => "nth_value",
    }
}
