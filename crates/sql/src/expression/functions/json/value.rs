//! JSON_VALUE: one value of a document, as a SQL value of a chosen type.

use std::sync::Arc;

use super::document;
use crate::expression::{Expr, Row, cast};
use crate::session::Context;
use datum::error::{self, Result, SqlError};
use datum::types::{Charset, Family};
use datum::value::json::convert::{self, Origin};
use datum::value::json::{self, Json, Node, Path, damaged};
use datum::value::{Datum, Decimal};

/// A call, with the clauses that only this function has.
#[derive(Debug, Clone)]
pub(crate) struct JsonValue {
    pub(crate) document: Expr,
    /// Where the value is.
    pub path: Arc<Path>,
    /// What it becomes.
    pub(crate) returning: cast::To,
    /// The answer if there is nothing at the path.
    pub(crate) on_empty: Answer,
    /// The answer if there are several values, or it cannot become what it should.
    pub(crate) on_error: Answer,
}

/// What is answered instead of a value.
#[derive(Debug, Clone)]
pub(crate) enum Answer {
    /// Also if the clause is omitted.
    Null,
    /// The statement fails.
    Error,
    /// DEFAULT: a constant of the type.
    Default(Expr),
}

impl Answer {
    fn expr(&self) -> Option<&Expr> {
        match self {
            Answer::Default(expr) => Some(expr),
            Answer::Null | Answer::Error => None,
        }
    }
}

impl JsonValue {
    /// What it is computed from.
    pub(crate) fn operands(&self) -> Vec<&Expr> {
        let answers = [&self.on_empty, &self.on_error].into_iter().filter_map(Answer::expr);
        std::iter::once(&self.document).chain(answers).collect()
    }

    /// Its value for `row`.
    pub(crate) fn eval<'a>(&'a self, cx: &mut Context, row: Row<'a>) -> Result<Datum<'a>> {
        let value = self.document.eval(cx, row)?;
        if value.is_null() {
            return Ok(Datum::Null);
        }
        let charset = Origin::of(&self.document.ty).charset;
        let document = match document(value, charset, 1, "json_value") {
            Ok(document) => document,
            Err(e) => return answer(&self.on_error, e, cx, row),
        };
        let found = self.path.find(json::root(&document)?).map_err(damaged)?;
        let value = match found.as_slice() {
            [] => return answer(&self.on_empty, error::MISSING_JSON_VALUE.with(&[&"json_value"]), cx, row),
            [one] => *one,
            _ => {
                let e = error::MULTIPLE_JSON_VALUES.with(&[&"json_value"]);
                return answer(&self.on_error, e, cx, row);
            }
        };
        match convert_to(value, &self.returning, cx)? {
            Some(datum) => Ok(datum),
            None => {
                let e = error::DATA_OUT_OF_RANGE.with(&[&type_name(&self.returning), &"json_value"]);
                answer(&self.on_error, e, cx, row)
            }
        }
    }
}

fn answer<'a>(answer: &'a Answer, e: SqlError, cx: &mut Context, row: Row<'a>) -> Result<Datum<'a>> {
    match answer {
        Answer::Null => Ok(Datum::Null),
        Answer::Error => Err(e),
        Answer::Default(expr) => expr.eval(cx, row),
    }
}

fn type_name(to: &cast::To) -> &'static str {
    use cast::To as T;
    match to {
        T::Signed => "SIGNED",
        T::Unsigned => "UNSIGNED",
        T::Decimal(..) | T::QuietDecimal | T::ChosenNumber(Family::Decimal, _) => "DECIMAL",
        T::Float | T::ChosenNumber(Family::Float, _) => "FLOAT",
        T::ChosenNumber(..) => "DOUBLE",
        T::Double | T::QuietDouble => "DOUBLE",
        T::Char(..) | T::Chosen(..) | T::ZeroFilled(_) | T::Fixed(_) | T::Binary(_) => "STRING",
        T::Date => "DATE",
        T::Time(_) => "TIME",
        T::DateTime(_) | T::Moment(_) => "DATETIME",
        T::Year => "YEAR",
        T::Json(_) | T::JsonScalar(_) => "JSON",
    }
}

/// A JSON value as another type has it, exactly or rounded; `None` if it has no such value. JSON
/// null is NULL.
pub(crate) fn convert_to(value: Json<'_>, to: &cast::To, cx: &mut Context) -> Result<Option<Datum<'static>>> {
    use cast::To as T;
    let node = value.node().map_err(damaged)?;
    if let T::Json(_) | T::JsonScalar(_) = to {
        return super::own(value).map(Some);
    }
    if node == Node::Null {
        return Ok(Some(Datum::Null));
    }
    if let T::Char(_, charset, length) = *to {
        return text(value, charset, length);
    }
    let Some(scalar) = convert::to_scalar(value) else { return Ok(None) };
    let temporal = matches!(scalar, Datum::Bytes(_) | Datum::Date(_) | Datum::Time(_) | Datum::DateTime(_));
    Ok(match to {
        T::Signed => integer(&scalar).and_then(|n| i64::try_from(n).ok()).map(Datum::Int),
        T::Unsigned => integer(&scalar).and_then(|n| u64::try_from(n).ok()).map(Datum::UInt),
        T::Year => integer(&scalar)
            .filter(|n| matches!(n, 0..=99 | 1901..=2155))
            .and_then(|n| cast::cast(cx, Datum::Int(n as i64), to).ok().map(Datum::into_owned)),
        T::Double => Some(scalar.to_f64()).filter(|c| c.whole).map(|c| Datum::Double(c.value)),
        T::Float => Some(scalar.to_f64())
            .filter(|c| c.whole && c.value.abs() <= f64::from(f32::MAX))
            .map(|c| Datum::Float(c.value as f32)),
        T::Decimal(precision, scale) => decimal(&scalar, *precision, *scale).map(Datum::Decimal),
        T::Date if temporal => scalar.to_datetime(|| cx.today()).map(|d| Datum::Date(d.date)),
        T::DateTime(fsp) if temporal => {
            scalar.to_datetime(|| cx.today()).and_then(|d| d.round(*fsp)).map(Datum::DateTime)
        }
        T::Time(fsp) if temporal => scalar.to_time().map(|t| Datum::Time(t.round(*fsp).clamp().0)),
        _ => None,
    })
}

fn integer(scalar: &Datum<'_>) -> Option<i128> {
    let converted = scalar.to_integer();
    converted.whole.then_some(converted.value)
}

fn decimal(scalar: &Datum<'_>, precision: u8, scale: u8) -> Option<Decimal> {
    let converted = scalar.to_decimal();
    let rounded = converted.value.round(scale);
    (converted.whole && rounded.digits() <= u32::from(precision)).then_some(rounded)
}

/// The text of at most so many characters, a string without its quotes.
fn text(value: Json<'_>, charset: Charset, length: Option<u32>) -> Result<Option<Datum<'static>>> {
    let mut document = Vec::new();
    value.write_document(&mut document).map_err(damaged)?;
    let text = json::unquoted(&document);
    let fits = length.is_none_or(|n| Charset::Utf8mb4.char_count(&text) <= n as usize);
    if !fits {
        return Ok(None);
    }
    let (text, lost) = Charset::Utf8mb4.convert(text, charset);
    Ok((!lost).then(|| Datum::owned(text.into_owned())))
}
