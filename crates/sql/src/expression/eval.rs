//! Evaluating an expression for a row.

use std::borrow::Cow;

use super::compare::{self, truth};
use super::members::Members;
use super::{Case, Expr, Node, Row, arithmetic, cast, functions, interval, like};
use crate::session::Context;
use datum::error::{self, Result, SqlError};
use datum::types::{Charset, Family};
use datum::value::{Datum, bits_to_u64, store};
use syntax::ast::{BinaryOp, TrimSide, Truth};

impl Expr {
    /// Its value for `row`.
    pub(crate) fn eval<'a>(&'a self, cx: &mut Context, row: Row<'a>) -> Result<Datum<'a>> {
        match &self.node {
            Node::Constant(value) => Ok(value.borrow()),
            Node::JsonPath(text, _) => Ok(Datum::borrowed(text)),
            Node::Misread(misread) => {
                if cx.statement.is_first_of(misread.id) {
                    cx.truncated("DOUBLE", &misread.text)?;
                }
                Ok(Datum::Double(misread.number))
            }
            Node::Column { source, column } => row.column(*source, *column, cx.settings.zone()),
            Node::Aggregate(number) => row.aggregate(*number),
            Node::Window(number) => row.window(*number),
            Node::GroupKey(number) => Ok(row.group_key(*number).unwrap_or_default()),
            Node::Grouping(_, numbers) => {
                let bit = |bits: i64, &n: &usize| bits << 1 | i64::from(row.group_key(n).is_none());
                Ok(Datum::Int(numbers.iter().fold(0, bit)))
            }
            Node::Outer(number) => Ok(cx.statement.outer_value(*number)),
            Node::Item(_) => Err(SqlError::internal("a select item that was not bound")),
            Node::Parameter(number) => Ok(cx.statement.parameter(*number)),
            Node::Local(index) => Ok(cx.statement.local(*index).clone()),
            Node::UserVariable(name) => {
                // Each mention is a copy.
                datum::bounds::check()?;
                Ok(cx.settings.user_variable(name))
            }
            Node::SystemVariable(variable) => cx.system_variable(variable),
            _ => {
                // Trees are as high as clients make them.
                datum::stack::check()?;
                self.operation(cx, row)
            }
        }
    }

    /// Its value where a text is wanted: what CASE and IF choose has its own digits then, not those
    /// of the number that the choice as a whole is.
    pub(crate) fn eval_as_text<'a>(&'a self, cx: &mut Context, row: Row<'a>) -> Result<Datum<'a>> {
        let mut expr = self;
        loop {
            expr = match &expr.node {
                Node::Case(case) => match case.choose(cx, row)? {
                    Some(chosen) => chosen,
                    None => return Ok(Datum::Null),
                },
                Node::Switch(switch) => match switch.choose(cx, row)? {
                    Some(chosen) => chosen,
                    None => return Ok(Datum::Null),
                },
                Node::Cast(cast::To::ChosenNumber(..), number) => number,
                _ => return expr.eval(cx, row),
            };
        }
    }

    /// Its value where a decimal's own digits count, as in a document or a user variable: what is
    /// chosen keeps those that it has, not those of the type that holds all choices.
    pub(crate) fn eval_with_own_digits<'a>(&'a self, cx: &mut Context, row: Row<'a>) -> Result<Datum<'a>> {
        if self.ty.family != Family::Decimal {
            return self.eval(cx, row);
        }
        datum::stack::check()?;
        let chosen = match &self.node {
            Node::Case(case) => case.choose(cx, row)?,
            Node::Switch(switch) => switch.choose(cx, row)?,
            Node::Coalesce(list) => {
                for x in list {
                    let value = x.eval_with_own_digits(cx, row)?;
                    if !value.is_null() {
                        return Ok(value);
                    }
                }
                None
            }
            Node::Cast(cast::To::ChosenNumber(Family::Decimal, _), number) => {
                let value = number.eval_with_own_digits(cx, row)?;
                return Ok(if value.is_null() { value } else { Datum::Decimal(cx.decimal(&value)?) });
            }
            _ => return self.eval(cx, row),
        };
        chosen.map_or(Ok(Datum::Null), |chosen| chosen.eval_with_own_digits(cx, row))
    }

    /// The value of what has operands.
    fn operation<'a>(&'a self, cx: &mut Context, row: Row<'a>) -> Result<Datum<'a>> {
        match &self.node {
            Node::Assign(name, value) => {
                let datum = value.eval_with_own_digits(cx, row)?;
                cx.set_user_variable(name, datum.clone().into_owned(), value.ty);
                // A column's bits are a number there.
                match datum {
                    Datum::Bits(bits) if value.ty.family == Family::Bit => {
                        Ok(Datum::UInt(bits_to_u64(&bits)))
                    }
                    datum => Ok(datum),
                }
            }
            Node::JsonValue(call) => call.eval(cx, row),
            Node::Subquery(subquery) => subquery.eval(cx, row),
            Node::Negate(x) => {
                let value = x.eval(cx, row)?;
                let negated = arithmetic::negate(cx, value, &self.ty);
                negated.map_err(|e| cx.statement.blame(e, self))
            }
            Node::BitNot(x) => Ok(match x.eval(cx, row)? {
                Datum::Null => Datum::Null,
                value if self.ty.family == Family::Text => arithmetic::bits::complement(value),
                value => Datum::UInt(!arithmetic::to_bits(cx, &value)?),
            }),
            Node::Not(x) => Ok(tri(x.truth(cx, row)?.map(|t| !t))),
            Node::Arithmetic(operation, pair) => {
                let left = pair[0].eval(cx, row)?;
                if left.is_null() {
                    if operation.evaluates_both() {
                        let right = pair[1].eval(cx, row)?; // it may fail
                        operation.read(cx, &right)?;
                    }
                    return Ok(Datum::Null);
                }
                let right = pair[1].eval(cx, row)?;
                if right.is_null() {
                    operation.read(cx, &left)?;
                    return Ok(Datum::Null);
                }
                operation.apply(cx, &left, &right).map_err(|e| cx.statement.blame(e, self))
            }
            Node::Compare(op, by, pair) => {
                let left = pair[0].eval(cx, row)?;
                if left.is_null() && *op != BinaryOp::NullSafeEqual {
                    return Ok(Datum::Null);
                }
                let right = pair[1].eval(cx, row)?;
                Ok(tri(compare_op(*op, by.compare(cx, &left, &right)?, &left, &right)))
            }
            Node::And(_)
            | Node::Or(_)
            | Node::Xor(_)
            | Node::Is(..)
            | Node::In(..)
            | Node::RowIn(_)
            | Node::Between(..) => Ok(tri(self.truth(cx, row)?)),
            Node::Like(like) => like.eval(cx, row),
            Node::Case(case) => case.eval(cx, row),
            Node::Switch(switch) => switch.eval(cx, row),
            Node::NullIf(pair, by) => {
                let a = pair[0].eval(cx, row)?;
                if a.is_null() {
                    return Ok(a);
                }
                let b = pair[1].eval(cx, row)?;
                let equal = by.compare(cx, &a, &b)?.is_some_and(|order| order.is_eq());
                Ok(if equal { Datum::Null } else { a })
            }
            Node::Coalesce(list) => {
                for x in list {
                    let value = x.eval(cx, row)?;
                    if !value.is_null() {
                        return Ok(value);
                    }
                }
                Ok(Datum::Null)
            }
            Node::Cast(to, x) => {
                let is_text = matches!(to, cast::To::Char(..) | cast::To::Chosen(..) | cast::To::Binary(_));
                let value = match to {
                    _ if is_text => x.eval_as_text(cx, row)?,
                    cast::To::Json(_) => x.eval_with_own_digits(cx, row)?,
                    _ => x.eval(cx, row)?,
                };
                let value = cast::cast(cx, value, to)?;
                functions::bounded::checked(cx, "cast_as_char", value)
            }
            Node::Transcode(from, to, x) => Ok(match x.eval(cx, row)? {
                Datum::Null => Datum::Null,
                value => {
                    let text = value.into_bytes();
                    let cannot = |text: &[u8]| {
                        let shown = datum::value::store::escape(text);
                        error::CANNOT_CONVERT_STRING.with(&[&shown, &from.name(), &to.name()])
                    };
                    if *from == Charset::Binary {
                        let is_valid = to.valid_prefix(&text) == text.len();
                        return if is_valid { Ok(Datum::Bytes(text)) } else { Err(cannot(&text)) };
                    }
                    let converted = match from.convert(Cow::Borrowed(&text), *to) {
                        (_, true) => return Err(cannot(&text)),
                        (Cow::Borrowed(_), _) => None,
                        (Cow::Owned(converted), _) => Some(converted),
                    };
                    Datum::Bytes(converted.map_or(text, Cow::Owned))
                }
            }),
            Node::DateArithmetic(pair, unit, subtract) => {
                let date = pair[0].eval(cx, row)?;
                if date.is_null() {
                    return Ok(Datum::Null);
                }
                // What is no date is found out before the amount is looked at.
                let Some(from) = interval::Start::read(cx, &date, &self.ty) else { return Ok(Datum::Null) };
                let amount = pair[1].eval(cx, row)?;
                from.add(cx, &amount, *unit, *subtract, &self.ty)
            }
            Node::Extract(unit, x) => {
                let value = x.eval(cx, row)?;
                Ok(interval::extract(cx, &value, *unit))
            }
            Node::TimestampDiff(unit, pair) => {
                let from = pair[0].eval(cx, row)?;
                let Some(from) = cast::datetime(cx, &from, "datetime") else { return Ok(Datum::Null) };
                let to = pair[1].eval(cx, row)?;
                let Some(to) = cast::datetime(cx, &to, "datetime") else { return Ok(Datum::Null) };
                Ok(interval::difference(*unit, from, to))
            }
            Node::Trim(side, pair) => {
                let (text, remove) = (pair[0].eval_as_text(cx, row)?, pair[1].eval_as_text(cx, row)?);
                if text.is_null() || remove.is_null() {
                    return Ok(Datum::Null);
                }
                Ok(Datum::Bytes(trim(text.into_bytes(), &remove.to_bytes(), *side)))
            }
            Node::Call(function, arguments) => {
                let value = (function.eval)(cx, functions::Call { arguments, row, ty: &self.ty });
                // An operand's own error is noted already, or complete.
                let value = value.map_err(|e| cx.statement.blame(e, self))?;
                functions::bounded::checked(cx, function.name, value)
            }
            Node::Stored(routine, arguments) => {
                let mut values = Vec::with_capacity(arguments.len());
                for argument in arguments {
                    let ty = argument.ty;
                    let value = argument.eval(cx, row)?.into_owned();
                    values.push((store::of_expression(value, &ty), ty.text_charset()));
                }
                crate::routine::call(cx, routine, values)
            }
            // The others have no operands.
            _ => Err(SqlError::internal("an operand is evaluated as an operation")),
        }
    }

    /// Its truth for `row`; `None` is UNKNOWN.
    pub(crate) fn truth(&self, cx: &mut Context, row: Row<'_>) -> Result<Option<bool>> {
        match &self.node {
            Node::And(_)
            | Node::Or(_)
            | Node::Xor(_)
            | Node::Not(_)
            | Node::Is(..)
            | Node::Between(..)
            | Node::In(..)
            | Node::RowIn(_)
            | Node::Subquery(_) => {
                datum::stack::check()?;
                self.test(cx, row)
            }
            _ => {
                let value = self.eval(cx, row)?;
                truth(cx, &value)
            }
        }
    }

    /// The truth of what knows it without a value.
    fn test(&self, cx: &mut Context, row: Row<'_>) -> Result<Option<bool>> {
        match &self.node {
            Node::And(list) => all(list, true, cx, row),
            Node::Or(list) => all(list, false, cx, row),
            Node::Xor(pair) => {
                let Some(a) = pair[0].truth(cx, row)? else { return Ok(None) };
                Ok(pair[1].truth(cx, row)?.map(|b| a != b))
            }
            Node::Not(x) => Ok(x.truth(cx, row)?.map(|t| !t)),
            Node::Is(x, test, negated) => {
                let found = match test {
                    Truth::Null | Truth::Unknown => x.eval(cx, row)?.is_null(),
                    Truth::True => x.truth(cx, row)? == Some(true),
                    Truth::False => x.truth(cx, row)? == Some(false),
                };
                Ok(Some(found != *negated))
            }
            Node::Between(three, by, negated) => {
                let between = is_between(three, *by, cx, row)?;
                Ok(between.map(|t| t != *negated))
            }
            Node::In(x, list, negated) => is_in(x, list, cx, row).map(|t| t.map(|t| t != *negated)),
            Node::RowIn(list) => list.truth(cx, row),
            Node::Subquery(subquery) => subquery.truth(cx, row),
            _ => {
                let value = self.eval(cx, row)?;
                truth(cx, &value)
            }
        }
    }
}

fn tri<'a>(truth: Option<bool>) -> Datum<'a> {
    truth.map_or(Datum::Null, Datum::from_bool)
}

/// AND (`wanted` true) or OR (`wanted` false) of a list.
fn all(list: &[Expr], wanted: bool, cx: &mut Context, row: Row<'_>) -> Result<Option<bool>> {
    let mut result = Some(wanted);
    let mut ticker = datum::bounds::Ticker::default();
    for x in list {
        ticker.step()?;
        match x.truth(cx, row)? {
            Some(t) if t == wanted => {}
            Some(t) => return Ok(Some(t)),
            None => result = None,
        }
    }
    Ok(result)
}

fn compare_op(
    op: BinaryOp,
    order: Option<std::cmp::Ordering>,
    left: &Datum<'_>,
    right: &Datum<'_>,
) -> Option<bool> {
    if op == BinaryOp::NullSafeEqual {
        return Some(match order {
            Some(order) => order.is_eq(),
            None => left.is_null() && right.is_null(),
        });
    }
    order.map(|order| compare::holds(op, order))
}

fn is_between(
    [x, low, high]: &[Expr; 3],
    by: [compare::By; 2],
    cx: &mut Context,
    row: Row<'_>,
) -> Result<Option<bool>> {
    let value = x.eval(cx, row)?;
    if value.is_null() {
        return Ok(None);
    }
    // Both ends are evaluated, whatever the first one says: they may fail.
    let (low, high) = (low.eval(cx, row)?, high.eval(cx, row)?);
    let mut operand = Operand::new(value);
    let above = operand.compare(cx, by[0], &low)?.map(|order| order.is_ge());
    if above == Some(false) {
        return Ok(Some(false));
    }
    let below = operand.compare(cx, by[1], &high)?.map(|order| order.is_le());
    Ok(match (above, below) {
        (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    })
}

fn is_in(x: &Expr, list: &Members, cx: &mut Context, row: Row<'_>) -> Result<Option<bool>> {
    let value = x.eval(cx, row)?;
    if value.is_null() {
        // The others are evaluated all the same: they may fail.
        for (_, candidate) in list.iter().filter(|(_, c)| c.as_constant().is_none()) {
            candidate.eval(cx, row)?;
        }
        return Ok(None);
    }
    if let Some(answer) = list.find(cx, &value)? {
        return Ok(answer);
    }
    let mut unknown = false;
    let mut ticker = datum::bounds::Ticker::default();
    let mut operand = Operand::new(value);
    for (by, candidate) in list.iter() {
        ticker.step()?;
        let candidate = candidate.eval(cx, row)?;
        match operand.compare(cx, *by, &candidate)? {
            Some(order) if order.is_eq() => return Ok(Some(true)),
            Some(_) => {}
            None => unknown = true,
        }
    }
    Ok(if unknown { None } else { Some(false) })
}

/// What is compared with several values. A text that is read as a number is read once, and what is
/// wrong with it is said once.
struct Operand<'a> {
    value: Datum<'a>,
    number: Option<f64>,
}

impl<'a> Operand<'a> {
    fn new(value: Datum<'a>) -> Self {
        Self { value, number: None }
    }

    fn compare(
        &mut self,
        cx: &mut Context,
        by: compare::By,
        other: &Datum<'_>,
    ) -> Result<Option<std::cmp::Ordering>> {
        if !matches!((by, &self.value), (compare::By::Double, Datum::Bytes(_))) {
            return by.compare(cx, &self.value, other);
        }
        let number = match self.number {
            Some(number) => number,
            None => *self.number.insert(cx.double(&self.value)?),
        };
        by.compare(cx, &Datum::Double(number), other)
    }
}

impl Case {
    fn eval<'a>(&'a self, cx: &mut Context, row: Row<'a>) -> Result<Datum<'a>> {
        self.choose(cx, row)?.map_or(Ok(Datum::Null), |chosen| chosen.eval(cx, row))
    }

    /// The result that the conditions choose; none is NULL.
    fn choose<'a>(&'a self, cx: &mut Context, row: Row<'a>) -> Result<Option<&'a Expr>> {
        for (when, then) in &self.branches {
            if when.truth(cx, row)? == Some(true) {
                return Ok(Some(then));
            }
        }
        Ok(self.otherwise.as_ref())
    }
}

impl super::Switch {
    fn eval<'a>(&'a self, cx: &mut Context, row: Row<'a>) -> Result<Datum<'a>> {
        self.choose(cx, row)?.map_or(Ok(Datum::Null), |chosen| chosen.eval(cx, row))
    }

    /// The result whose value equals the operand; none is NULL.
    fn choose<'a>(&'a self, cx: &mut Context, row: Row<'a>) -> Result<Option<&'a Expr>> {
        let mut operand = Operand::new(self.operand.eval(cx, row)?);
        for (when, by, then) in &self.branches {
            let candidate = when.eval(cx, row)?;
            if operand.compare(cx, *by, &candidate)?.is_some_and(|order| order.is_eq()) {
                return Ok(Some(then));
            }
        }
        Ok(self.otherwise.as_ref())
    }
}

impl like::Like {
    fn eval<'a>(&'a self, cx: &mut Context, row: Row<'a>) -> Result<Datum<'a>> {
        let (text, pattern) = (self.operand.eval_as_text(cx, row)?, self.pattern.eval_as_text(cx, row)?);
        if text.is_null() || pattern.is_null() {
            return Ok(Datum::Null);
        }
        let found = self.matches(&text.to_bytes(), &pattern.to_bytes())?;
        Ok(Datum::from_bool(found != self.negated))
    }
}

fn trim<'a>(text: Cow<'a, [u8]>, remove: &[u8], side: TrimSide) -> Cow<'a, [u8]> {
    let (mut start, mut end) = (0, text.len());
    if !remove.is_empty() {
        while side != TrimSide::Trailing && text[start..end].starts_with(remove) {
            start += remove.len();
        }
        while side != TrimSide::Leading && text[start..end].ends_with(remove) {
            end -= remove.len();
        }
    }
    match text {
        Cow::Borrowed(b) => Cow::Borrowed(&b[start..end]),
        Cow::Owned(b) => Cow::Owned(b[start..end].to_vec()),
    }
}
