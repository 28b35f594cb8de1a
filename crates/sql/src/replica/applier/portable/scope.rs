//! Expressions of a change: what is known of their values.

use std::borrow::Cow;

use super::super::settings;
use super::value::{Value, is_date, is_date_time, is_portable_in_like, is_time};
use super::{Checked, Reason, is_default};
use crate::catalog::draft::parse_stored;
use crate::catalog::table::Default;
use crate::catalog::{ColumnDef, TableDef};
use crate::session::Context;
use datum::types::{Charset, Collation, DataType};
use datum::value::Datum;
use syntax::ast::{
    BinaryOp, CaseBranch, Expr, ExprKind as K, FunctionCall, Ident, IntervalUnit, Literal, Truth, UnaryOp,
};

/// What the names in an expression mean.
pub(super) struct Scope<'a> {
    pub(super) cx: &'a Context,
    /// The one table whose columns it may name.
    pub(super) table: Option<&'a TableDef>,
    /// Collations of the source's session.
    pub(super) client: u16,
    pub(super) connection: u16,
    /// When the statement ran, in seconds since 1970.
    pub(super) timestamp: u32,
    /// NO_BACKSLASH_ESCAPES
    pub(super) has_no_escapes: bool,
}

/// Seconds by which a statement's time may be moved and still be of a TIMESTAMP: five years.
const NEAR: u64 = 5 * 366 * 86_400;

/// See [`has_other_implicit_default`].
pub(super) const IMPLICIT_DEFAULT: Reason = Cow::Borrowed("NULL, or no value, for a NOT NULL column");

impl<'a> Scope<'a> {
    /// Checks a value that is put into a column: each of those that it may be.
    pub(super) fn assigned(&self, value: &Expr, column: &ColumnDef) -> Checked {
        if is_default(&value.kind) {
            return self.default(column);
        }
        if has_other_implicit_default(column) && !column.nullable && !is_never_null(value) {
            return Err(IMPLICIT_DEFAULT);
        }
        let Some(results) = results(value) else { return self.value(value)?.check_stored(&column.ty) };
        self.conditions(value)?;
        let is_temporal = matches!(
            column.ty,
            DataType::Date | DataType::Time(_) | DataType::DateTime(_) | DataType::Timestamp(_)
        );
        for result in results {
            // Some modes make NULL of a zero date that is chosen.
            if is_temporal && !is_now(result) && !matches!(result.kind, K::Literal(Literal::Null)) {
                return Err("a date or time that is chosen".into());
            }
            self.assigned(result, column)?;
        }
        Ok(())
    }

    /// Checks a column's default.
    pub(super) fn default(&self, column: &ColumnDef) -> Checked {
        let Default::Expression(text) = &column.default else {
            let has_none = column.default == Default::None && !column.nullable;
            return if has_none && has_other_implicit_default(column) {
                Err(IMPLICIT_DEFAULT)
            } else {
                Ok(())
            };
        };
        let is_portable = |value: Expr| match is_default(&value.kind) {
            true => false,
            false => self.assigned(&value, column).is_ok(),
        };
        let value = parse_stored(text).ok();
        if value.is_some_and(is_portable) { Ok(()) } else { Err("a default that is computed".into()) }
    }

    /// Checks the conditions by which CASE and IF choose.
    fn conditions(&self, choice: &Expr) -> Checked {
        match &choice.kind {
            K::Case { operand, branches, .. } => {
                branches.iter().try_for_each(|branch| self.branch(operand.as_deref(), &branch.when))
            }
            K::Function(call) if call.name.is("if") => {
                call.arguments.first().map_or(Ok(()), |condition| self.condition(condition))
            }
            _ => Ok(()),
        }
    }

    /// Checks the condition of a branch of CASE.
    fn branch(&self, operand: Option<&Expr>, when: &Expr) -> Checked {
        match operand {
            Some(operand) => self.value(operand)?.check_compared(&self.value(when)?),
            None => self.condition(when),
        }
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
            K::Is { operand, test: Truth::Null, .. } => self.null_test(operand),
            K::Is { operand, .. } => self.condition(operand),
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
                let (value, is_binary) = (self.value(operand)?, is_binary_ascii(pattern));
                match value {
                    // Bytes of ASCII are the same in all character sets.
                    Value::Text(_) if is_binary => Ok(()),
                    Value::Text(collation) if is_portable_in_like(collation) => match self.value(pattern)? {
                        // MariaDB escapes in some character sets even so.
                        Value::Literal { bytes, .. } if self.has_no_escapes && bytes.contains(&b'\\') => {
                            Err("LIKE under NO_BACKSLASH_ESCAPES".into())
                        }
                        pattern @ Value::Literal { .. } => value.check_compared(&pattern),
                        _ => Err("LIKE".into()),
                    },
                    _ => Err("LIKE".into()),
                }
            }
            _ if self.value(expr)?.is_integer() => Ok(()),
            _ => Err("a condition that is not a comparison".into()),
        }
    }

    /// Checks IS NULL. Zero dates are NULL for some conditions, where a column can't be NULL.
    fn null_test(&self, operand: &Expr) -> Checked {
        let value = self.value(operand)?;
        match value.has_date() && value != Value::Null && !self.is_nullable(operand) {
            true => Err("IS NULL of a date that can't be NULL".into()),
            false => Ok(()),
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
                (K::Literal(Literal::Decimal(text) | Literal::Float(text)), value)
                    if text.bytes().any(|byte| (b'1'..=b'9').contains(&byte)) =>
                {
                    Ok(value)
                }
                _ => Err("a minus sign before what is no literal".into()),
            },
            K::Binary { op: op @ (BinaryOp::Add | BinaryOp::Subtract | BinaryOp::Multiply), left, right } => {
                self.value(left)?.arithmetic(self.value(right)?, *op == BinaryOp::Multiply)
            }
            K::Binary {
                op: BinaryOp::IntDivide | BinaryOp::Modulo | BinaryOp::BitAnd | BinaryOp::BitOr,
                left,
                right,
            } if self.value(left)?.is_integer() && self.value(right)?.is_integer() => {
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
                    (Value::Moment(fsp), Value::Integer(Some(amount)))
                        if is_now(date) && self.is_near(amount, *unit) =>
                    {
                        Ok(Value::Moment(fsp))
                    }
                    (Value::Date, Value::Integer(_)) if of_days => Ok(Value::Date),
                    (Value::Date, Value::Integer(_)) => Ok(Value::DateTime(0)),
                    (Value::DateTime(fsp) | Value::Moment(fsp), Value::Integer(_)) => {
                        Ok(Value::DateTime(fsp))
                    }
                    _ => Err("date arithmetic".into()),
                }
            }
            K::Case { operand, branches, otherwise } => {
                let mut value = otherwise.as_ref().map_or(Ok(Value::Null), |expr| self.value(expr))?;
                for CaseBranch { when, then } in branches {
                    self.branch(operand.as_deref(), when)?;
                    value = value.or(self.value(then)?)?;
                }
                Ok(value)
            }
            K::Function(call) => self.function(call),
            K::Unary { op: UnaryOp::Not, .. }
            | K::And(_)
            | K::Or(_)
            | K::Is { .. }
            | K::Between { .. }
            | K::InList { .. }
            | K::Like { .. } => self.truth(expr),
            K::Binary { op, .. } if op.is_comparison() || *op == BinaryOp::Xor => self.truth(expr),
            K::Subquery(_) | K::Exists(_) | K::InQuery { .. } | K::Quantified { .. } => {
                Err("a subquery".into())
            }
            kind => Err(name_of(kind).into()),
        }
    }

    /// A condition's value.
    fn truth(&self, condition: &Expr) -> Checked<Value<'static>> {
        self.condition(condition).map(|()| Value::Integer(None))
    }

    /// True if the statement's time, moved by so much, is one that a TIMESTAMP holds.
    fn is_near(&self, amount: u64, unit: IntervalUnit) -> bool {
        let seconds = match unit {
            IntervalUnit::Second => 1,
            IntervalUnit::Minute => 60,
            IntervalUnit::Hour => 3_600,
            IntervalUnit::Day => 86_400,
            IntervalUnit::Week => 7 * 86_400,
            IntervalUnit::Month => 31 * 86_400,
            _ => 366 * 86_400,
        };
        const END: u64 = i32::MAX as u64;
        amount.saturating_mul(seconds) <= NEAR && u64::from(self.timestamp) + NEAR < END
    }

    fn literal<'e>(&'e self, literal: &'e Literal) -> Checked<Value<'e>> {
        Ok(match literal {
            Literal::Null => Value::Null,
            Literal::Bool(value) => Value::Integer(Some(u64::from(*value))),
            Literal::Integer(number) => Value::Integer(Some(*number)),
            Literal::Decimal(text) => {
                let scale = text.find('.').map_or(0, |point| text.len() - point - 1);
                let precision = text.bytes().filter(u8::is_ascii_digit).count();
                const PRECISION_MAX: usize = 65;
                const SCALE_MAX: usize = 30;
                if precision > PRECISION_MAX || scale > SCALE_MAX {
                    return Err("a number of very many digits".into());
                }
                Value::DecimalLiteral { precision: precision as u32, scale: scale as u32 }
            }
            Literal::Float(_) => Value::Double,
            Literal::String { introducer: Some(name), .. } | Literal::Hex { introducer: Some(name), .. }
                if name.is("binary") =>
            {
                Value::Bytes
            }
            Literal::String { bytes, introducer } => {
                Value::Literal { bytes, charset: self.charset(introducer.as_ref(), bytes)? }
            }
            Literal::Hex { introducer: None, .. } => Value::Bytes,
            Literal::Bit { introducer: None, .. } => Value::Bits,
            Literal::Hex { .. } | Literal::Bit { .. } => {
                return Err("a literal of bytes with a character set".into());
            }
            Literal::Date(text) if is_date(text) => Value::Date,
            Literal::Time(text) if is_time(text, 6) => Value::Time(6),
            Literal::Timestamp(text) if is_date_time(text, 6) => Value::DateTime(6),
            Literal::Date(_) | Literal::Time(_) | Literal::Timestamp(_) => {
                return Err("a date or time in a form of its own".into());
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
        match introducer {
            Some(name) => Charset::by_name(name).ok_or(UNKNOWN),
            None => {
                let [client, connection] = [self.client, self.connection].map(settings::charset_of);
                client.filter(|_| client == connection).ok_or(UNKNOWN)
            }
        }
    }

    /// A literal with a collation, as MariaDB writes the values of a procedure's variables.
    fn collated(&self, operand: &Expr, collation: &Ident) -> Checked<Value<'a>> {
        match (&operand.kind, Collation::by_name(collation)) {
            (K::Literal(Literal::String { .. }), Some(collation)) => Ok(Value::Text(collation)),
            _ => Err("COLLATE".into()),
        }
    }

    /// True for what is no column, or a column that can be NULL.
    fn is_nullable(&self, expr: &Expr) -> bool {
        let K::Column(name) = &expr.kind else { return true };
        let column = self.table.and_then(|table| Some(&table.columns[table.column_index(&name.column)?]));
        column.is_none_or(|column| column.nullable)
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
        match (&*call.name, &call.arguments[..]) {
            _ if call.database.is_some() => Err("a stored function".into()),
            _ if is_now_function(call) => Ok(Value::Moment(6)),
            ("curdate" | "current_date" | "utc_date", []) => Ok(Value::Date),
            ("curtime" | "current_time" | "utc_time", arguments) if are_digits(arguments) => {
                Ok(Value::Time(6))
            }
            ("unix_timestamp" | "last_insert_id", []) => Ok(Value::Integer(None)),
            ("last_insert_id", [number]) if self.value(number)?.is_integer() => Ok(Value::Integer(None)),
            ("isnull", [value]) => self.null_test(value).map(|()| Value::Integer(None)),
            ("length" | "char_length" | "character_length", [text]) if self.value(text)?.is_text() => {
                Ok(Value::Integer(None))
            }
            // What stands for a variable of a procedure; its type is not said.
            ("name_const", [_, value]) => match self.value(value)? {
                Value::DecimalLiteral { .. } => Err("a number of a procedure's variable".into()),
                value => Ok(value),
            },
            ("if", [condition, yes, no]) => {
                self.condition(condition)?;
                self.value(yes)?.or(self.value(no)?)
            }
            ("ifnull" | "coalesce", [first, others @ ..]) => {
                others.iter().try_fold(self.value(first)?, |value, other| value.or(self.value(other)?))
            }
            ("concat" | "concat_ws" | "replace", arguments) => self.concatenated(arguments),
            ("substring" | "substr" | "left" | "right", [text, numbers @ ..]) if are_digits(numbers) => {
                self.concatenated(std::slice::from_ref(text))
            }
            ("md5" | "sha" | "sha1", [text]) | ("sha2", [text, _]) if is_ascii(text) => {
                Ok(Value::Text(Charset::Ascii.default_collation()))
            }
            ("unhex", [text]) if is_ascii(text) => Ok(Value::Bytes),
            (name, _) => Err(format!("the function {name}()").into()),
        }
    }

    /// A text that is made of texts and integers.
    fn concatenated<'e>(&'e self, parts: &'e [Expr]) -> Checked<Value<'e>> {
        let mut text = Value::Null;
        for part in parts {
            text = match self.value(part)? {
                Value::Integer(_) => continue,
                part if part.is_text() => text.or(part)?,
                _ => return Err("a text made of what is no text".into()),
            };
        }
        Ok(match text {
            // Of more than the one literal.
            Value::Literal { charset, .. } => Value::Text(charset.default_collation()),
            Value::Null => Value::Text(Charset::Ascii.default_collation()),
            text => text,
        })
    }
}

/// The values of which CASE, IF, IFNULL or COALESCE chooses one; `None` for other expressions.
fn results(expr: &Expr) -> Option<Vec<&Expr>> {
    match &expr.kind {
        K::Case { branches, otherwise, .. } => {
            Some(branches.iter().map(|branch| &branch.then).chain(otherwise.as_deref()).collect())
        }
        K::Function(call) if call.database.is_none() => match (&*call.name, &call.arguments[..]) {
            ("if", [_, yes, no]) => Some(vec![yes, no]),
            ("ifnull" | "coalesce", values) => Some(values.iter().collect()),
            _ => None,
        },
        _ => None,
    }
}

/// The implicit default that a NOT NULL column has instead of NULL, where that is no error, is
/// another one in MariaDB than in MySQL.
fn has_other_implicit_default(column: &ColumnDef) -> bool {
    matches!(column.ty, DataType::Enum { .. } | DataType::Timestamp(_))
}

/// A literal that is a value, or the statement's time.
fn is_never_null(expr: &Expr) -> bool {
    match &expr.kind {
        K::Literal(literal) => *literal != Literal::Null,
        K::DateArithmetic { date, .. } => is_now(date),
        _ => is_now(expr),
    }
}

/// What an expression is called that is none of those that mean the same.
fn name_of(kind: &K) -> &'static str {
    match kind {
        K::Binary { op: BinaryOp::Divide, .. } => "a division",
        K::Binary { .. } | K::Unary { .. } => "an operator",
        K::Cast { .. } | K::ConvertUsing { .. } => "a conversion",
        K::Regexp { .. } => "a regular expression",
        K::Row(_) => "a comparison of rows",
        K::AssignUserVariable { .. } => "the assignment of a user variable",
        K::SystemVariable(_) => "a system variable",
        K::Aggregate(_) | K::Window(_) => "an aggregate",
        K::Trim { .. } => "the function trim()",
        K::Extract { .. } => "the function extract()",
        K::JsonValue(_) => "the function json_value()",
        K::Match { .. } => "the function match()",
        _ => "an expression",
    }
}

/// No argument, or integers.
fn are_digits(arguments: &[Expr]) -> bool {
    arguments.iter().all(|argument| matches!(argument.kind, K::Literal(Literal::Integer(_))))
}

/// NOW() and its like.
fn is_now(expr: &Expr) -> bool {
    matches!(&expr.kind, K::Function(call) if is_now_function(call))
}

fn is_now_function(call: &FunctionCall) -> bool {
    const NAMES: [&str; 5] = ["now", "current_timestamp", "localtime", "localtimestamp", "utc_timestamp"];
    let is_one = call.database.is_none() && NAMES.contains(&&*call.name);
    is_one && call.arguments.len() <= 1 && are_digits(&call.arguments)
}

/// A literal of ASCII.
fn is_ascii(expr: &Expr) -> bool {
    matches!(&expr.kind, K::Literal(Literal::String { bytes, introducer: None }) if bytes.is_ascii())
}

/// `BINARY 'text'` of ASCII.
fn is_binary_ascii(expr: &Expr) -> bool {
    matches!(&expr.kind, K::Cast { operand, ty } if ty.prefix && is_ascii(operand))
}

/// Several values with which one is compared choose together how: those of one kind as each alone.
fn is_of_one_kind(a: &Value<'_>, b: &Value<'_>) -> Checked {
    let kind = |value: &Value<'_>| match value {
        Value::Null => 0,
        Value::Integer(_) | Value::Decimal { .. } => 1,
        Value::Double => 4,
        Value::DecimalLiteral { .. } => 5,
        Value::Literal { .. } | Value::Text(_) | Value::Bytes => 2,
        _ => 3,
    };
    match [kind(a), kind(b)] {
        [0, _] | [_, 0] => Ok(()),
        [a, b] if a == b => Ok(()),
        _ => Err("a comparison of values of several types".into()),
    }
}
