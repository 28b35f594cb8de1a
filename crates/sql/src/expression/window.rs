//! Window functions, resolved: the window that each call looks at, and what it computes of it.

use super::aggregate::Aggregate;
use super::compare::By;
use super::{Expr, OrderTerm, Row, interval};
use crate::session::Context;
use datum::error::{self, Result};
use datum::types::{Family, Type};
use datum::value::Datum;
use syntax::ast::{IntervalUnit, WindowFunction};
use syntax::unparse;

/// What windows without a name are called in messages.
const UNNAMED: &str = "<unnamed window>";

/// A call of a window function.
#[derive(Debug, Clone)]
pub(crate) struct WindowCall {
    pub(crate) function: Function,
    pub(crate) window: Window,
    /// What it gives.
    pub(crate) ty: Type,
}

/// What is computed of a window.
#[derive(Debug, Clone)]
pub(crate) enum Function {
    /// An aggregate of the frame's rows.
    Aggregate(Aggregate),
    /// A function that needs a window, and its arguments.
    Native(WindowFunction, Vec<Expr>),
}

/// The partition, order and frame of a call.
#[derive(Debug, Clone)]
pub(crate) struct Window {
    /// Its name in the WINDOW clause.
    pub(crate) name: Option<Box<str>>,
    pub(crate) partition: Vec<Expr>,
    pub(crate) order: Vec<OrderTerm>,
    pub(crate) frame: Frame,
}

/// The rows of a partition that a function looks at from the current one.
#[derive(Debug, Clone)]
pub(crate) struct Frame {
    /// ROWS: bounds count rows; else they are values of the order (RANGE).
    pub(crate) by_rows: bool,
    pub(crate) start: Bound,
    pub(crate) end: Bound,
    /// The window has a frame of its own: none builds on it.
    pub(crate) is_written: bool,
}

/// One end of a frame.
#[derive(Debug, Clone)]
pub(crate) enum Bound {
    /// The partition's first row.
    First,
    /// The current row; under RANGE with its peers.
    Current,
    /// The partition's last row.
    Last,
    Offset(Box<Offset>),
}

/// `n PRECEDING`, `INTERVAL n unit FOLLOWING`
#[derive(Debug, Clone)]
pub(crate) struct Offset {
    pub(crate) amount: Expr,
    pub(crate) unit: Option<IntervalUnit>,
    pub(crate) following: bool,
    /// Under RANGE.
    pub(crate) range: Option<RangeBound>,
}

/// The value that ends a frame under RANGE.
#[derive(Debug, Clone)]
pub(crate) struct RangeBound {
    /// The order's value plus or minus the amount.
    pub(crate) value: Expr,
    /// How values of the order compare with it.
    pub(crate) by: By,
}

impl Default for Frame {
    /// That of a window that says none: without an order it is the whole partition, for all rows
    /// are peers then.
    fn default() -> Self {
        Self { by_rows: false, start: Bound::First, end: Bound::Current, is_written: false }
    }
}

impl WindowCall {
    /// What the function is called in messages.
    pub(crate) fn name(&self) -> &'static str {
        match &self.function {
            Function::Aggregate(aggregate) => unparse::aggregate_name(aggregate.function),
            Function::Native(function, _) => unparse::window_name(*function),
        }
    }

    /// The function's arguments.
    pub(crate) fn arguments(&self) -> Vec<&Expr> {
        match &self.function {
            Function::Aggregate(aggregate) => aggregate.expressions().collect(),
            Function::Native(_, arguments) => arguments.iter().collect(),
        }
    }

    /// All expressions that it reads.
    pub(crate) fn expressions(&self) -> Vec<&Expr> {
        let mut all = self.arguments();
        let Window { partition, order, frame, .. } = &self.window;
        all.extend(partition);
        all.extend(order.iter().map(|term| &term.expr));
        for bound in [&frame.start, &frame.end] {
            if let Bound::Offset(offset) = bound {
                all.push(&offset.amount);
                all.extend(offset.range.iter().map(|range| &range.value));
            }
        }
        all
    }

    /// The same, to be changed.
    pub(crate) fn expressions_mut(&mut self) -> Vec<&mut Expr> {
        let mut all: Vec<&mut Expr> = match &mut self.function {
            Function::Aggregate(aggregate) => aggregate.expressions_mut().collect(),
            Function::Native(_, arguments) => arguments.iter_mut().collect(),
        };
        let Window { partition, order, frame, .. } = &mut self.window;
        all.extend(partition);
        all.extend(order.iter_mut().map(|term| &mut term.expr));
        for bound in [&mut frame.start, &mut frame.end] {
            if let Bound::Offset(offset) = bound {
                all.push(&mut offset.amount);
                all.extend(offset.range.iter_mut().map(|range| &mut range.value));
            }
        }
        all
    }

    /// True if it looks at the frame; the others look at the partition, whatever its frame is.
    pub(crate) fn has_frame(&self) -> bool {
        use WindowFunction as F;
        match &self.function {
            Function::Aggregate(_) => true,
            Function::Native(function, _) => {
                matches!(function, F::FirstValue | F::LastValue | F::NthValue)
            }
        }
    }

    /// True if the rows up to the current one say what it gives, so that no partition is kept.
    pub(crate) fn streams(&self) -> bool {
        use WindowFunction as F;
        let Frame { by_rows, start, end, .. } = &self.window.frame;
        let (from_first, to_current) = (matches!(start, Bound::First), matches!(end, Bound::Current));
        match &self.function {
            Function::Aggregate(_) => *by_rows && from_first && to_current,
            Function::Native(F::RowNumber | F::Rank | F::DenseRank, _) => true,
            Function::Native(F::FirstValue, _) => from_first && !matches!(end, Bound::Offset(_)),
            Function::Native(..) => false,
        }
    }
}

impl Window {
    /// What it is called in messages.
    pub(crate) fn shown_name(&self) -> &str {
        shown_name(self.name.as_deref())
    }
}

/// What a window is called in messages.
pub(crate) fn shown_name(name: Option<&str>) -> &str {
    name.unwrap_or(UNNAMED)
}

impl Offset {
    /// The rows that the frame reaches beyond the current one; of RANGE only whether the amount is
    /// one.
    ///
    /// # Errors
    /// 3586 for what is negative, NULL, or under ROWS no integer; 1210 for a parameter of another
    /// type.
    pub(crate) fn eval(&self, cx: &mut Context, window: &str) -> Result<usize> {
        let illegal = || error::WINDOW_FRAME_ILLEGAL.with(&[&window]);
        let amount = self.amount.eval(cx, Row::None)?.into_owned();
        if amount.is_null() {
            return Err(illegal());
        }
        if let Some(unit) = self.unit {
            let negative = cx.without_diagnostics(|cx| interval::is_negative(cx, &amount, unit))?;
            return if negative { Err(illegal()) } else { Ok(0) };
        }
        if matches!(amount, Datum::Bytes(_)) || self.range.is_none() && !is_integer(&amount) {
            return Err(error::WRONG_ARGUMENTS.with(&[&"EXECUTE"]));
        }
        match (&self.range, &amount) {
            (Some(_), other) if other.to_f64().value < 0.0 => Err(illegal()),
            (Some(_), _) => Ok(0),
            (None, Datum::UInt(rows)) => Ok(usize::try_from(*rows).unwrap_or(usize::MAX)),
            (None, other) => usize::try_from(other.to_integer().value).map_err(|_| illegal()),
        }
    }
}

fn is_integer(value: &Datum<'_>) -> bool {
    matches!(value, Datum::Int(_) | Datum::UInt(_))
}

/// The argument that says which row, or how many buckets: a positive integer, for LEAD and LAG
/// also 0. A parameter of NTH_VALUE() that is NULL names no row.
///
/// # Errors
/// 1210 for any other value.
pub(crate) fn count(cx: &mut Context, call: &str, least: u64, expr: &Expr) -> Result<Option<usize>> {
    let value = expr.eval(cx, Row::None)?;
    match &value {
        Datum::Null if call == "nth_value" && expr.as_constant().is_none() => return Ok(None),
        Datum::Bytes(_) if expr.as_constant().is_none() => {
            return Err(error::WRONG_ARGUMENTS.with(&[&"EXECUTE"]));
        }
        _ => {}
    }
    let number = if is_integer(&value) { i64::try_from(value.to_integer().value).ok() } else { None };
    let number = number.and_then(|n| u64::try_from(n).ok()).filter(|n| *n >= least);
    let number = number.ok_or_else(|| error::WRONG_ARGUMENTS.with(&[&call]))?;
    Ok(Some(usize::try_from(number).unwrap_or(usize::MAX)))
}

/// A value as one of the call's type: decimals have all its digits, and an ENUM's number is not
/// its value any more.
pub(crate) fn as_result(value: Datum<'_>, ty: &Type) -> Datum<'static> {
    match value {
        Datum::Decimal(number) if ty.family == Family::Decimal => Datum::Decimal(number.round(ty.decimals)),
        Datum::Label(_, text) => Datum::Bytes(text).into_owned(),
        other => other.into_owned(),
    }
}
