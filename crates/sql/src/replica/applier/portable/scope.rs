//! Expressions of a change: what is known of their values.

use std::borrow::Cow;

use super::value::{Value, is_portable_in_like};
use super::{Checked, is_default};
use crate::catalog::TableDef;
use crate::session::Context;
use datum::types::{Charset, Collation, DataType};
use datum::value::Datum;
use syntax::ast::{BinaryOp, Expr, ExprKind as K, FunctionCall, Ident, IntervalUnit, Literal, UnaryOp};

/// What the names in an expression mean.
pub(super) struct Scope<'a> {
    pub(super) cx: &'a Context,
    /// The one table whose columns it may name.
    pub(super) table: Option<&'a TableDef>,
    /// Collations of the source's session.
    pub(super) client: u16,
    pub(super) connection: u16,
}

const OTHER: Cow<'static, str> = Cow::Borrowed("an expression");

impl<'a> Scope<'a> {
    /// Checks a value that is put into a column.
    pub(super) fn assigned(&self, value: &Expr, ty: &DataType) -> Checked {
        if is_default(&value.kind) {
            return Ok(());
        }
        self.value(value)?.check_stored(ty)
    }

    /// Checks a condition.
    pub(super) fn condition(&self, expr: &Expr) -> Checked {
        match &expr.kind {
            K::And(list) | K::Or(list) => list.iter().try_for_each(|part| self.condition(part)),
            K::Unary { op: UnaryOp::Not, operand } => self.condition(operand),
            K::Binary { op: BinaryOp::Xor, left, right } => {
                self.condition(left)?;
                self.condition(right)
            }
            K::Binary { op, left, right } if op.is_comparison() => {
                self.value(left)?.check_compared(&self.value(right)?)
            }
            K::Is { operand, .. } => match self.value(operand) {
                Ok(_) => Ok(()),
                Err(_) => self.condition(operand),
            },
            K::Between { operand, low, high, .. } => {
                let (operand, low, high) = (self.value(operand)?, self.value(low)?, self.value(high)?);
                operand.check_compared(&low)?;
                operand.check_compared(&high)?;
                is_of_one_kind(&low, &high)
            }
            K::InList { operand, list, .. } => {
                let operand = self.value(operand)?;
                let mut first = None;
                for item in list {
                    let item = self.value(item)?;
                    operand.check_compared(&item)?;
                    is_of_one_kind(first.get_or_insert(item), &item)?;
                }
                Ok(())
            }
            K::Like { operand, pattern, escape: None, .. } => {
                match (self.value(operand)?, self.value(pattern)?) {
                    (operand @ Value::Text(collation), pattern @ Value::Literal { .. })
                        if is_portable_in_like(collation) =>
                    {
                        operand.check_compared(&pattern)
                    }
                    _ => Err("LIKE".into()),
                }
            }
            _ if self.value(expr)?.is_integer() => Ok(()),
            _ => Err("a condition that is not a comparison".into()),
        }
    }

    /// What is known of a value.
    pub(super) fn value<'e>(&'e self, expr: &'e Expr) -> Checked<Value<'e>> {
        match &expr.kind {
            K::Literal(literal) => self.literal(literal),
            K::Column(name) => self.column(&name.column),
            K::Values(name) => self.column(&name.column),
            K::UserVariable(name) => Ok(self.user_variable(name)),
            K::Unary { op: UnaryOp::Minus, operand } => match (&operand.kind, self.value(operand)?) {
                (K::Literal(_), Value::Integer(_)) => Ok(Value::Integer(None)),
                (K::Literal(_), value @ (Value::Decimal { .. } | Value::Double)) => Ok(value),
                _ => Err(OTHER),
            },
            K::Binary { op: op @ (BinaryOp::Add | BinaryOp::Subtract | BinaryOp::Multiply), left, right } => {
                self.value(left)?.arithmetic(self.value(right)?, *op == BinaryOp::Multiply)
            }
            K::Binary { op: BinaryOp::IntDivide | BinaryOp::Modulo, left, right }
                if self.value(left)?.is_integer() && self.value(right)?.is_integer() =>
            {
                Ok(Value::Integer(None))
            }
            K::Collate { operand, collation } => self.collated(operand, collation),
            K::DateArithmetic { date, amount, unit, .. } => {
                let of_days = match unit {
                    IntervalUnit::Day
                    | IntervalUnit::Week
                    | IntervalUnit::Month
                    | IntervalUnit::Quarter
                    | IntervalUnit::Year => true,
                    IntervalUnit::Second | IntervalUnit::Minute | IntervalUnit::Hour => false,
                    _ => return Err("an INTERVAL of several units".into()),
                };
                match (self.value(date)?, self.value(amount)?) {
                    (Value::Date, Value::Integer(_)) if of_days => Ok(Value::Date),
                    (Value::Date | Value::DateTime | Value::Moment, Value::Integer(_)) => Ok(Value::DateTime),
                    _ => Err("date arithmetic".into()),
                }
            }
            K::Case { operand, branches, otherwise } => {
                let mut value = otherwise.as_ref().map_or(Ok(Value::Null), |expr| self.value(expr))?;
                for branch in branches {
                    match operand {
                        Some(operand) => self.value(operand)?.check_compared(&self.value(&branch.when)?)?,
                        None => self.condition(&branch.when)?,
                    }
                    value = value.or(self.value(&branch.then)?)?;
                }
                Ok(value)
            }
            K::Function(call) => self.function(call),
            K::Subquery(_) | K::Exists(_) | K::InQuery { .. } | K::Quantified { .. } => {
                Err("a subquery".into())
            }
            _ => Err(OTHER),
        }
    }

    fn literal<'e>(&'e self, literal: &'e Literal) -> Checked<Value<'e>> {
        Ok(match literal {
            Literal::Null => Value::Null,
            Literal::Bool(value) => Value::Integer(Some(u64::from(*value))),
            Literal::Integer(number) => Value::Integer(Some(*number)),
            Literal::Decimal(text) => {
                let scale = text.find('.').map_or(0, |point| text.len() - point - 1);
                let precision = text.bytes().filter(u8::is_ascii_digit).count();
                Value::Null.or(Value::Decimal { precision: precision as u32, scale: scale as u32 })?
            }
            Literal::Float(_) => Value::Double,
            Literal::String { bytes, introducer } => {
                Value::Literal { bytes, charset: self.charset(introducer.as_ref(), bytes)? }
            }
            Literal::Hex { introducer: None, .. } => Value::Bytes,
            Literal::Bit { introducer: None, .. } => Value::Bits,
            Literal::Hex { .. } | Literal::Bit { .. } => {
                return Err("a literal of bytes with a character set".into());
            }
            Literal::Date(text) | Literal::Time(text) | Literal::Timestamp(text) => {
                Value::Literal { bytes: text, charset: Charset::Ascii }
            }
        })
    }

    /// A literal's character set: the client's, which the server converts to the connection's.
    /// Where these differ, ASCII is the same in both.
    fn charset(&self, introducer: Option<&Ident>, bytes: &[u8]) -> Checked<Charset> {
        const UNKNOWN: Cow<'static, str> = Cow::Borrowed("a literal of another character set");
        if bytes.is_ascii() {
            return Ok(Charset::Ascii);
        }
        let of = |number| Collation::by_id(number).map(Collation::charset);
        match introducer {
            Some(name) => Charset::by_name(name).ok_or(UNKNOWN),
            // MariaDB's newest collations are orders of UTF-8.
            None if self.client == self.connection => Ok(of(self.client).unwrap_or(Charset::Utf8mb4)),
            None => of(self.client).filter(|&client| of(self.connection) == Some(client)).ok_or(UNKNOWN),
        }
    }

    /// A literal with a collation, as MariaDB writes the values of a procedure's variables.
    fn collated(&self, operand: &Expr, collation: &Ident) -> Checked<Value<'a>> {
        match (&operand.kind, Collation::by_name(collation)) {
            (K::Literal(Literal::String { .. }), Some(collation)) => Ok(Value::Text(collation)),
            _ => Err("COLLATE".into()),
        }
    }

    fn column(&self, name: &Ident) -> Checked<Value<'a>> {
        let column = self.table.and_then(|table| Some(&table.columns[table.column_index(name)?]));
        column.map(|column| Value::of_column(&column.ty)).ok_or("a column of another row".into())
    }

    /// A user variable, which the source's log has said the value of before.
    fn user_variable(&self, name: &Ident) -> Value<'a> {
        match self.cx.settings.user_variable(name) {
            Datum::Null => Value::Null,
            Datum::Int(_) | Datum::UInt(_) => Value::Integer(None),
            Datum::Decimal(_) => Value::Decimal { precision: 65, scale: 30 },
            Datum::Double(_) | Datum::Float(_) => Value::Double,
            _ => Value::Text(self.cx.settings.user_variable_type(name).collation),
        }
    }

    fn function<'e>(&'e self, call: &'e FunctionCall) -> Checked<Value<'e>> {
        let is_now = |arguments: &[Expr]| {
            matches!(arguments, [] | [Expr { kind: K::Literal(Literal::Integer(_)), .. }])
        };
        match (&*call.name.to_ascii_lowercase(), &call.arguments[..]) {
            _ if call.database.is_some() => Err("a stored function".into()),
            ("now" | "current_timestamp" | "localtime" | "localtimestamp" | "utc_timestamp", arguments)
                if is_now(arguments) =>
            {
                Ok(Value::Moment)
            }
            ("curdate" | "current_date" | "utc_date", []) => Ok(Value::Date),
            ("curtime" | "current_time" | "utc_time", arguments) if is_now(arguments) => Ok(Value::Time),
            ("unix_timestamp" | "last_insert_id", []) => Ok(Value::Integer(None)),
            ("last_insert_id", [number]) if self.value(number)?.is_integer() => Ok(Value::Integer(None)),
            ("name_const", [_, value]) => self.value(value),
            ("if", [condition, yes, no]) => {
                self.condition(condition)?;
                self.value(yes)?.or(self.value(no)?)
            }
            ("ifnull" | "coalesce", [first, others @ ..]) => {
                others.iter().try_fold(self.value(first)?, |value, other| value.or(self.value(other)?))
            }
            ("concat", arguments) => {
                let mut value = Value::Null;
                for argument in arguments {
                    let argument = self.value(argument)?;
                    if !argument.is_text() {
                        return Err("CONCAT of what is not text".into());
                    }
                    value = value.or(argument)?;
                }
                match value {
                    // More than the one literal.
                    Value::Literal { charset, .. } => Ok(Value::Text(charset.default_collation())),
                    value => Ok(value),
                }
            }
            (name, _) => Err(format!("the function {name}()").into()),
        }
    }
}

/// Several values with which one is compared choose together how: those of one kind as each alone.
fn is_of_one_kind(a: &Value<'_>, b: &Value<'_>) -> Checked {
    let kind = |value: &Value<'_>| match value {
        Value::Null => 0,
        Value::Integer(_) | Value::Decimal { .. } | Value::Double => 1,
        Value::Literal { .. } | Value::Text(_) | Value::Bytes => 2,
        _ => 3,
    };
    match [kind(a), kind(b)] {
        [0, _] | [_, 0] => Ok(()),
        [a, b] if a == b => Ok(()),
        _ => Err("a comparison of values of several types".into()),
    }
}
