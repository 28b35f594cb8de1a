//! Constants take the type of what they are compared with, once and not for each row: texts become dates, times and numbers,
//! and years of two digits get their century.

use super::{Resolver, names};
use crate::error::{self, Result};
use crate::expression::{Expr, Node, Row, arithmetic};
use crate::types::{Family, Type, code};
use crate::value::{Datum, temporal_text};

/// What a constant is compared with.
#[derive(Debug, Clone, Copy)]
pub(super) struct Other {
    ty: Type,
    pub(super) is_column: bool,
}

impl Other {
    pub(super) fn of(expr: &Expr) -> Self {
        Self { ty: expr.ty, is_column: matches!(expr.node, Node::Column { .. }) }
    }

    fn is_year(&self) -> bool {
        self.is_column && self.ty.family == Family::Year
    }
}

/// A constant compared with a date, a time or a number is read once, here.
pub(super) fn adopt(constant: &mut Expr, other: Other) {
    if other.is_year() {
        return adopt_year(constant);
    }
    let Some(Datum::Bytes(text)) = constant.as_constant() else { return };
    let value = match other.ty.family {
        Family::Date | Family::DateTime => {
            temporal_text::parse_datetime(text).map(|r| Datum::DateTime(r.value))
        }
        Family::Time => {
            let whole = temporal_text::parse_time(text).filter(|read| !read.truncated);
            whole.map(|read| Datum::Time(read.value))
        }
        Family::Integer if other.is_column => {
            let number = Datum::borrowed(text).to_decimal();
            let whole = number.value.to_i64().filter(|_| number.whole && !text.contains(&b'.'));
            if let Some(n) = whole {
                *constant = names::integer(Datum::Int(n), false);
            }
            return;
        }
        _ => None,
    };
    match value {
        Some(value @ Datum::Time(_)) => *constant = Expr::constant(value, Type::time(6)),
        Some(value) => *constant = Expr::constant(value, Type::datetime(6)),
        None => {}
    }
}

/// One and two digits, as a number or text, are a year from 1970 to 2069.
fn adopt_year(constant: &mut Expr) {
    let Some(value) = constant.as_constant() else { return };
    let number = value.to_integer();
    let year = match number.value {
        n @ 1..=69 => 2000 + n as i64,
        n @ 70..=99 => 1900 + n as i64,
        _ => return,
    };
    if number.whole && !value.is_null() {
        *constant = names::integer(Datum::Int(year), false);
    }
}

/// True for what is known before the statement runs.
fn is_known(expr: &Expr) -> bool {
    let is_open = |e: &Expr| {
        matches!(
            e.node,
            Node::Parameter(_)
                | Node::Outer(_)
                | Node::Local(_)
                | Node::UserVariable(_)
                | Node::SystemVariable(_)
                | Node::Subquery(_)
        )
    };
    expr.is_row_independent() && !expr.contains(&mut |e| is_open(e))
}

impl Resolver<'_> {
    /// The type of `-x`; it depends on the value where that is known already.
    pub(super) fn negated_type(&mut self, x: &Expr) -> Type {
        if x.ty.family == Family::Integer
            && is_known(x)
            && let Ok(value) = x.eval(self.cx, Row::None)
        {
            return arithmetic::negated_constant_type(&value, &x.ty);
        }
        arithmetic::negated_type(&x.ty)
    }

    /// Computes what is the same for all rows, to see whether it is a date, a time or a year.
    pub(super) fn fold(&mut self, expr: &mut Expr, other: Other) -> Result<()> {
        let is_read_as_other = match expr.ty.family {
            Family::Text => other.ty.family.is_temporal() || other.is_year(),
            Family::Integer => other.is_year(),
            _ => false,
        };
        if is_read_as_other && expr.as_constant().is_none() && is_known(expr) {
            let value = expr.eval(self.cx, Row::None)?.into_owned();
            expr.node = Node::Constant(value);
        }
        Ok(())
    }

    /// A constant text that is no date is an error where it is compared with one: 1525, or 1292 where a strict session
    /// stores.
    pub(super) fn check_date(&self, constant: &Expr, other: &Type) -> Result<()> {
        let Some(Datum::Bytes(text) | Datum::Bits(text)) = constant.as_constant() else { return Ok(()) };
        let name = match other.family {
            Family::Date => "DATE",
            Family::DateTime if other.code == code::TIMESTAMP => "TIMESTAMP",
            Family::DateTime => "DATETIME",
            _ => return Ok(()),
        };
        let rules = self.cx.modes().dates;
        if temporal_text::parse_datetime(text).is_some_and(|read| read.value.date.check(rules)) {
            return Ok(());
        }
        let shown = String::from_utf8_lossy(text);
        Err(if self.cx.storing && self.cx.modes().strict {
            error::TRUNCATED_WRONG_VALUE.with(&[&name.to_ascii_lowercase(), &shown])
        } else {
            error::WRONG_VALUE.with(&[&name, &shown])
        })
    }
}
