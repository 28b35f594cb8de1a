//! Where a row's frame begins and ends in its partition.

use std::cmp::Ordering;
use std::ops::Range;

use super::partition::{Peers, Reading};
use crate::expression::compare::By;
use crate::expression::window::{Bound, Offset, WindowCall};
use crate::expression::{Expr, OrderTerm};
use crate::session::Context;
use datum::error::Result;
use datum::value::Datum;

/// A call's bounds.
#[derive(Default)]
pub(super) struct Bounds<'p> {
    by_rows: bool,
    start: End,
    end: End,
    descending: bool,
    /// The order's value, and its column.
    order: Option<(&'p Expr, usize)>,
    /// The values that the frame begins and ends at.
    values: Vec<&'p Expr>,
}

/// One of the bounds, its amount evaluated.
#[derive(Default, Clone, Copy)]
enum End {
    #[default]
    First,
    Current,
    Last,
    /// So many rows before or after the current one.
    Rows(usize, Direction),
    /// A value, in this column.
    Value(usize, By, Direction),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Preceding,
    Following,
}

impl<'p> Bounds<'p> {
    /// The bounds of a call's frame; what it reads goes to columns from `width` on.
    ///
    /// # Errors
    /// 3586 for amounts that can't be, 1210 for those of another type.
    pub(super) fn new(cx: &mut Context, call: &'p WindowCall, width: &mut usize) -> Result<Self> {
        if !call.has_frame() {
            return Ok(Self::default());
        }
        let (window, frame) = (&call.window, &call.window.frame);
        let mut bounds = Self { by_rows: frame.by_rows, ..Self::default() };
        let has_range = |bound: &Bound| matches!(bound, Bound::Offset(offset) if offset.range.is_some());
        if let Some(OrderTerm { expr, descending }) = window.order.first()
            && (has_range(&frame.start) || has_range(&frame.end))
        {
            bounds.descending = *descending;
            bounds.order = Some((expr, *width));
            *width += 1;
        }
        let mut end = |bound: &'p Bound| -> Result<End> {
            let offset: &Offset = match bound {
                Bound::First => return Ok(End::First),
                Bound::Current => return Ok(End::Current),
                Bound::Last => return Ok(End::Last),
                Bound::Offset(offset) => offset,
            };
            let direction = if offset.following { Direction::Following } else { Direction::Preceding };
            let rows = offset.eval(cx, window.shown_name())?;
            Ok(match &offset.range {
                None => End::Rows(rows, direction),
                Some(range) => {
                    bounds.values.push(&range.value);
                    *width += 1;
                    End::Value(*width - 1, range.by, direction)
                }
            })
        };
        let (first, last) = (end(&frame.start)?, end(&frame.end)?);
        (bounds.start, bounds.end) = (first, last);
        Ok(bounds)
    }

    fn order_column(&self) -> usize {
        self.order.map_or(0, |(_, column)| column)
    }

    /// What is to be read of each row, in the order of the columns.
    pub(super) fn read(&self) -> impl Iterator<Item = &'p Expr> {
        self.order.iter().map(|(expr, _)| *expr).chain(self.values.iter().copied())
    }
}

/// The bounds of the current row, which move forward with it.
#[derive(Default)]
pub(super) struct Moving {
    start: usize,
    end: usize,
}

impl Moving {
    /// The rows of a row's frame.
    pub(super) fn at(
        &mut self,
        cx: &mut Context,
        at: &mut Reading<'_>,
        bounds: &Bounds<'_>,
        row: usize,
        peers: &Peers,
    ) -> Result<Range<usize>> {
        let rows = at.values.len();
        let current = if bounds.by_rows { row..row + 1 } else { peers.first..peers.end };
        let start = match bounds.start {
            End::First => 0,
            End::Current => current.start,
            End::Last => rows,
            End::Rows(n, Direction::Preceding) => row.saturating_sub(n),
            End::Rows(n, Direction::Following) => row.saturating_add(n).min(rows),
            End::Value(column, by, direction) => match bounds.target(at, row, column, direction)? {
                Target::Peers => current.start,
                Target::Beyond(Direction::Preceding) => 0,
                Target::Beyond(Direction::Following) => rows,
                Target::Value(value) => {
                    let goal = Goal { by, value, passes_equal: false };
                    self.start = bounds.forward(cx, at, self.start, &goal)?;
                    self.start
                }
            },
        };
        let end = match bounds.end {
            End::First => 0,
            End::Current => current.end,
            End::Last => rows,
            End::Rows(n, Direction::Preceding) => (row + 1).saturating_sub(n),
            End::Rows(n, Direction::Following) => (row + 1).saturating_add(n).min(rows),
            End::Value(column, by, direction) => match bounds.target(at, row, column, direction)? {
                Target::Peers => current.end,
                Target::Beyond(Direction::Preceding) => 0,
                Target::Beyond(Direction::Following) => rows,
                Target::Value(value) => {
                    let goal = Goal { by, value, passes_equal: true };
                    self.end = bounds.forward(cx, at, self.end, &goal)?;
                    self.end
                }
            },
        };
        Ok(start..end.max(start))
    }
}

/// Where a frame by values begins or ends.
enum Target {
    /// With the peers: the order's value is NULL.
    Peers,
    /// Beyond what the type holds: at the partition's end.
    Beyond(Direction),
    Value(Datum<'static>),
}

/// Up to where a bound goes.
struct Goal {
    by: By,
    value: Datum<'static>,
    /// Beyond the rows of the same value, too.
    passes_equal: bool,
}

impl Bounds<'_> {
    /// The value at which a row's frame begins or ends.
    fn target(
        &self,
        at: &mut Reading<'_>,
        row: usize,
        column: usize,
        direction: Direction,
    ) -> Result<Target> {
        let Reading { values, readers, .. } = at;
        if values.get(row, self.order_column(), &mut readers.current)?.is_null() {
            return Ok(Target::Peers);
        }
        let value = values.get(row, column, &mut readers.current)?;
        Ok(if value.is_null() { Target::Beyond(direction) } else { Target::Value(value.clone()) })
    }

    /// The first row from `row` on that is not before the goal. NULL comes before all values, in a
    /// descending order after them.
    fn forward(&self, cx: &mut Context, at: &mut Reading<'_>, mut row: usize, goal: &Goal) -> Result<usize> {
        let Reading { frame, values, readers } = at;
        let reader = if goal.passes_equal { &mut readers.end } else { &mut readers.start };
        while row < values.len() {
            frame.tick(cx)?;
            let value = values.get(row, self.order_column(), reader)?;
            let passes = match goal.by.compare(cx, value, &goal.value)? {
                None | Some(Ordering::Less) => !self.descending,
                Some(Ordering::Equal) => goal.passes_equal,
                Some(Ordering::Greater) => self.descending,
            };
            if !passes {
                break;
            }
            row += 1;
        }
        Ok(row)
    }
}
