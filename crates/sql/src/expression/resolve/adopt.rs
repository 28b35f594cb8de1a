//! Constants take the type of what they are compared with, once and not for each row: texts become
//! dates, times and numbers, and years of two digits get their century.

use super::{Columns, Resolver, names};
use crate::catalog::ColumnDef;
use crate::expression::{Expr, Node, Row, arithmetic};
use datum::error::{self, Diagnostics, Level, Result};
use datum::types::{Charset, Family, Type, code};
use datum::value::zone::Zone;
use datum::value::{Datum, Time, store, temporal_text};

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
pub(super) fn adopt(constant: &mut Expr, other: Other, zone: Zone) {
    if other.is_year() {
        return adopt_year(constant);
    }
    let Some(Datum::Bytes(text)) = constant.as_constant() else { return };
    let value = match other.ty.family {
        Family::Date | Family::DateTime => {
            temporal_text::parse_datetime_in(text, zone).map(|r| Datum::DateTime(r.value))
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

/// Beside a column of times a constant date with a time of day is that time.
pub(super) fn without_day(constant: &mut Expr, other: Other) {
    if !other.is_column || other.ty.family != Family::Time {
        return;
    }
    let time = match constant.as_constant() {
        Some(Datum::DateTime(moment)) => moment.time(),
        Some(Datum::Date(_)) => Time::default(),
        _ => return,
    };
    *constant = Expr::constant(Datum::Time(time), Type::time(6));
}

/// One and two digits, as a number or text, are a year from 1970 to 2069; a date is its year.
fn adopt_year(constant: &mut Expr) {
    let Some(value) = constant.as_constant() else { return };
    let date = match value {
        Datum::Date(date) => Some(*date),
        Datum::DateTime(moment) => Some(moment.date),
        _ => None,
    };
    if let Some(year) = date.map(|date| date.year) {
        if (1901..=2155).contains(&year) {
            *constant = names::integer(Datum::Int(year.into()), false);
        }
        return;
    }
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
            Family::Integer | Family::Decimal | Family::Double
                if other.is_column && other.ty.family.is_temporal() =>
            {
                true
            }
            Family::Date | Family::DateTime => {
                other.is_year() || other.is_column && other.ty.family == Family::Time
            }
            Family::Integer => other.is_year(),
            _ => false,
        };
        if is_read_as_other && expr.as_constant().is_none() && is_known(expr) {
            let value = expr.eval(self.cx, Row::None)?.into_owned();
            expr.node = Node::Constant(value);
        }
        Ok(())
    }

    /// A constant next to a column of dates, times or numbers is brought to the column's type
    /// before any row is read. One that is no such value gives a warning; where a strict session
    /// stores, that fails the statement. True if it is no such value.
    ///
    /// # Errors
    /// 1292 where a strict session stores.
    pub(super) fn check_constant(&mut self, constant: &Expr, partner: &Expr) -> Result<bool> {
        let Some(value) = constant.as_constant().filter(|value| !value.is_null()) else { return Ok(false) };
        let is_text = matches!(value, Datum::Bytes(_));
        if matches!(value, Datum::Date(_) | Datum::Time(_) | Datum::DateTime(_) | Datum::Json(_)) {
            return Ok(false);
        }
        let Some(column) = self.table_column(partner) else { return Ok(false) };
        match partner.ty.family {
            Family::Integer | Family::Decimal | Family::Float | Family::Double if is_text => {
                // Elsewhere the first row says it.
                if self.cx.statement.storing
                    && self.cx.settings.modes().strict
                    && self.scope.clause == "where clause"
                {
                    match partner.ty.family {
                        Family::Decimal => drop(self.cx.decimal(value)?),
                        _ => drop(self.cx.double(value)?),
                    }
                }
                return Ok(false);
            }
            Family::Date | Family::Time | Family::DateTime => {}
            _ => return Ok(false),
        }
        let mut rules = self.cx.store_rules(false);
        rules.strict = true;
        rules.dates.no_zero_date = false;
        rules.dates.allow_invalid |= !is_text;
        let mut unheard = Diagnostics::default();
        let target =
            &mut store::Target { column: &column.name, table: "", row: 1, rules, diagnostics: &mut unheard };
        let charset = if is_text { constant.ty.collation.charset() } else { Charset::Binary };
        let has_fraction = matches!(value, Datum::Decimal(_) | Datum::Double(_)) && !value.to_integer().whole;
        let fitted = store::fit(value.borrow(), charset, &column.ty, target);
        let e = match fitted {
            Err(e) if e.is(error::INCORRECT_VALUE) => e,
            Ok(_) if has_fraction && partner.ty.family == Family::Date => error::INCORRECT_VALUE.with(&[
                &"date",
                &String::from_utf8_lossy(&value.to_bytes()),
                &column.name,
                &1,
            ]),
            _ => {
                let notes = unheard.conditions().iter().filter(|c| c.level == Level::Note);
                notes.for_each(|note| self.cx.statement.diagnostics.note(note.error.clone()));
                return Ok(false);
            }
        };
        if self.cx.statement.storing && self.cx.settings.modes().strict {
            return Err(e);
        }
        self.cx.warn(e);
        Ok(true)
    }

    /// The table's column that an expression is.
    fn table_column(&self, expr: &Expr) -> Option<ColumnDef> {
        let Node::Column { source, column } = expr.node else { return None };
        let source = self.scope.sources.iter().find(|s| s.slot == source)?;
        match &source.columns {
            Columns::Table(table) => table.columns.get(column).cloned(),
            Columns::Made(_) | Columns::Merged(..) => None,
        }
    }

    /// A constant text that is no date is an error where it is compared with one: 1525, or 1292
    /// where a strict session stores.
    pub(super) fn check_date(&self, constant: &Expr, other: &Type) -> Result<()> {
        let Some(Datum::Bytes(text) | Datum::Bits(text)) = constant.as_constant() else { return Ok(()) };
        let name = match other.family {
            Family::Date => "DATE",
            Family::DateTime if other.code == code::TIMESTAMP => "TIMESTAMP",
            Family::DateTime => "DATETIME",
            _ => return Ok(()),
        };
        let rules = self.cx.settings.modes().dates;
        if temporal_text::parse_datetime(text).is_some_and(|read| read.value.date.check(rules)) {
            return Ok(());
        }
        let shown = String::from_utf8_lossy(text);
        Err(if self.cx.statement.storing && self.cx.settings.modes().strict {
            error::TRUNCATED_WRONG_VALUE.with(&[&name.to_ascii_lowercase(), &shown])
        } else {
            error::WRONG_VALUE.with(&[&name, &shown])
        })
    }
}
