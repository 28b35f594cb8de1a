//! Aggregates: COUNT, SUM, AVG, MIN, MAX, the bit ones, the statistical ones, GROUP_CONCAT
//! ([`group_concat`]); one [`Accumulator`] for each group.

pub(crate) mod group_concat;
mod sliding;

use self::group_concat::{Concat, Gathered};
use super::arithmetic::bits::is_byte_string;
use super::compare::{self, By};
use super::resolve::collate::chosen_alone;
use super::{Expr, Row, arithmetic};
use crate::session::Context;
use datum::error::{self, Result, SqlError};
use datum::types::{Family, NOT_FIXED, Type};
use datum::value::json::convert::Origin;
use datum::value::{Datum, Decimal, json};
use syntax::ast::{AggregateFunction, BinaryOp};

/// The bit aggregates take byte strings of at most so many bytes.
const BIT_BYTES_MAX: u32 = 511;

/// A resolved aggregate.
#[derive(Debug, Clone)]
pub(crate) struct Aggregate {
    /// Which one.
    pub function: AggregateFunction,
    /// COUNT(DISTINCT x) and the like.
    pub distinct: bool,
    /// The argument; none for COUNT(*). Of the JSON aggregates it is a document of one element or
    /// member for each row.
    pub argument: Option<Expr>,
    /// Further expressions that DISTINCT tells rows apart by: the others of COUNT(DISTINCT a, b).
    pub rest: Vec<Expr>,
    /// What GROUP_CONCAT has besides.
    pub concat: Option<Box<Concat>>,
    /// What it gives.
    pub ty: Type,
}

impl Aggregate {
    /// Derives the result's type: a mean of decimals has `increment` digits more. 1235 for the
    /// aggregates that don't exist yet.
    pub(crate) fn new(
        function: AggregateFunction,
        distinct: bool,
        argument: Option<Expr>,
        increment: u8,
    ) -> Result<Self> {
        use AggregateFunction as F;
        let of = argument.as_ref().map_or(Type::NULL, |a| a.ty);
        let exact = matches!(of.family, Family::Integer | Family::Decimal | Family::Bit | Family::Year)
            || of.family.is_temporal();
        let scale = if of.decimals == NOT_FIXED { 0 } else { of.decimals };
        let ty = match function {
            F::Count => Type::INT.not_null(),
            F::Sum if exact => Type::decimal((of.integer_digits() + 22 + u32::from(scale)).min(65), scale),
            F::Avg if exact => {
                let scale = scale.saturating_add(increment).min(30);
                Type::decimal((of.integer_digits() + u32::from(scale)).min(65), scale)
            }
            F::Sum => arithmetic::double_of(of.fixed_digits()).made_as_described(),
            F::Avg => {
                let digits = of.fixed_digits().map(|digits| digits.saturating_add(increment));
                arithmetic::double_of(digits).made_as_described()
            }
            F::Min | F::Max => Type { nullable: true, boolean: false, ..of.computed() }.made_as_described(),
            F::AnyValue => Type { nullable: of.nullable, ..chosen_alone(&of) },
            F::JsonArrayAgg | F::JsonObjectAgg => Type::JSON,
            F::BitAnd | F::BitOr | F::BitXor => match argument.as_ref().filter(|a| is_byte_string(a)) {
                Some(bytes) if bytes.ty.byte_length() > BIT_BYTES_MAX => {
                    return Err(error::INVALID_BITWISE_AGGREGATE_OPERANDS_SIZE.plain());
                }
                Some(bytes) => Type { nullable: false, decimals: 0, unsigned: true, ..bytes.ty },
                None => Type::UINT.not_null(),
            },
            F::StddevPop | F::StddevSamp | F::VarPop | F::VarSamp => Type::DOUBLE,
            F::GroupConcat => Type { nullable: true, ..of },
            other => return Err(SqlError::unsupported(format_args!("the aggregate {other:?}"))),
        };
        Ok(Self { function, distinct, argument, rest: Vec::new(), concat: None, ty })
    }

    /// True if it must remember which values it has met: the smallest and the largest one are the
    /// same without.
    fn must_deduplicate(&self) -> bool {
        use AggregateFunction as F;
        self.distinct && !matches!(self.function, F::Min | F::Max | F::AnyValue | F::BitAnd | F::BitOr)
    }

    /// True if what it keeps of a group grows with the group's rows.
    pub(crate) fn gathers(&self) -> bool {
        use AggregateFunction as F;
        self.must_deduplicate()
            || matches!(self.function, F::GroupConcat | F::JsonArrayAgg | F::JsonObjectAgg)
    }

    /// The expressions that it reads.
    pub(crate) fn expressions(&self) -> impl Iterator<Item = &Expr> {
        let order = self.concat.iter().flat_map(|concat| &concat.order).map(|term| &term.expr);
        self.argument.iter().chain(&self.rest).chain(order)
    }

    /// The expressions that it reads, to be changed.
    pub(crate) fn expressions_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        let order = self.concat.iter_mut().flat_map(|concat| &mut concat.order).map(|term| &mut term.expr);
        self.argument.iter_mut().chain(&mut self.rest).chain(order)
    }
}

/// Where values are put off.
type PutOffTo<'t> = &'t mut dyn FnMut(PutOff<'_>) -> Result<()>;

/// A value that DISTINCT may count, put off until it is known whether it is the first of its kind.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PutOff<'v> {
    /// Equal for values that are equal.
    pub key: &'v [u8],
    /// The argument's value.
    pub value: &'v Datum<'v>,
    /// What GROUP_CONCAT orders it by.
    pub order: &'v [u8],
}

/// What has been seen of a group.
#[derive(Debug, Clone)]
pub(crate) struct Accumulator {
    count: u64,
    sum: Sum,
    best: Datum<'static>,
    bits: u64,
    seen: std::collections::HashSet<Vec<u8>>,
    /// The JSON aggregates' documents, and their bytes in all.
    documents: Vec<Box<[u8]>>,
    document_bytes: usize,
    more: AccumulatorExtra,
}

/// What only some aggregates keep.
#[derive(Debug, Clone)]
enum AccumulatorExtra {
    Nothing,
    /// The bits of byte strings, once there was one.
    Bytes(Option<Vec<u8>>),
    /// Mean and sum of squared distances from it, by Welford's recurrence.
    Spread {
        mean: f64,
        squares: f64,
    },
    Texts(Gathered),
}

#[derive(Debug, Clone, Copy)]
enum Sum {
    /// Of integers, as long as it fits.
    Integer(i128),
    Exact(Decimal),
    Double(f64),
}

impl Accumulator {
    /// Nothing yet.
    pub(crate) fn new(aggregate: &Aggregate) -> Self {
        let exact = aggregate.ty.family == Family::Decimal;
        Self {
            count: 0,
            sum: match &aggregate.argument {
                Some(argument) if exact && argument.ty.family == Family::Integer => Sum::Integer(0),
                _ if exact => Sum::Exact(Decimal::ZERO),
                _ => Sum::Double(0.0),
            },
            best: Datum::Null,
            bits: if aggregate.function == AggregateFunction::BitAnd { u64::MAX } else { 0 },
            seen: std::collections::HashSet::new(),
            documents: Vec::new(),
            document_bytes: 0,
            more: match aggregate.function {
                AggregateFunction::GroupConcat => AccumulatorExtra::Texts(Gathered::default()),
                AggregateFunction::StddevPop
                | AggregateFunction::StddevSamp
                | AggregateFunction::VarPop
                | AggregateFunction::VarSamp => AccumulatorExtra::Spread { mean: 0.0, squares: 0.0 },
                _ if bit_operator(aggregate.function).is_some() && aggregate.ty.family == Family::Text => {
                    AccumulatorExtra::Bytes(None)
                }
                _ => AccumulatorExtra::Nothing,
            },
        }
    }

    /// Takes a row in. Returns the bytes of memory that it made the state grow by. Under DISTINCT,
    /// values that were not met before are put off instead, if there is a place for that.
    pub(crate) fn add(
        &mut self,
        aggregate: &Aggregate,
        cx: &mut Context,
        row: Row<'_>,
        put_off: Option<PutOffTo<'_>>,
    ) -> Result<usize> {
        let Some(argument) = &aggregate.argument else {
            self.count += 1;
            return Ok(0);
        };
        let value = argument.eval(cx, row)?;
        if value.is_null() {
            return Ok(0);
        }
        let mut grown = 0;
        let mut fresh = None;
        if aggregate.must_deduplicate() {
            let mut key = Vec::new();
            sort_key(&value, &argument.ty, &mut key)?;
            for expr in &aggregate.rest {
                let value = expr.eval(cx, row)?;
                if value.is_null() {
                    return Ok(0);
                }
                sort_key(&value, &expr.ty, &mut key)?;
            }
            if self.seen.contains(&key) {
                return Ok(0);
            }
            fresh = Some(key);
        }
        let order = match &aggregate.concat {
            Some(concat) => concat.order_key(cx, row)?,
            None => Vec::new(),
        };
        match (fresh, put_off) {
            (Some(key), Some(put_off)) => {
                put_off(PutOff { key: &key, value: &value, order: &order })?;
                return Ok(0);
            }
            (Some(key), None) => {
                grown += key.len() + 64;
                self.seen.insert(key);
            }
            (None, _) => {}
        }
        Ok(grown + self.take(aggregate, cx, value, order)?)
    }

    /// Takes a value in that counts: what was put off, once its key is known to be the first of its
    /// kind. Returns the bytes of memory that it made the state grow by.
    pub(crate) fn take(
        &mut self,
        aggregate: &Aggregate,
        cx: &mut Context,
        value: Datum<'_>,
        order: Vec<u8>,
    ) -> Result<usize> {
        use AggregateFunction as F;
        let mut grown = 0;
        self.count += 1;
        match &mut self.more {
            AccumulatorExtra::Nothing => {}
            AccumulatorExtra::Bytes(bits) => {
                add_bytes(bits, aggregate.function, &value.to_bytes())?;
                return Ok(grown);
            }
            AccumulatorExtra::Spread { mean, squares } => {
                let value = cx.double(&value)?;
                let before = value - *mean;
                *mean += before / self.count as f64;
                *squares += before * (value - *mean);
                check_range(*squares, "variance()")?;
                return Ok(grown);
            }
            AccumulatorExtra::Texts(texts) => {
                let Some(concat) = &aggregate.concat else { return Ok(grown) };
                return Ok(texts.add(concat, value, order, cx.settings.group_concat_max_len()));
            }
        }
        match aggregate.function {
            F::Sum | F::Avg => match &mut self.sum {
                // 2^63 values of 64 bits fit.
                Sum::Integer(sum) => *sum += value.to_integer().value,
                Sum::Exact(sum) => {
                    let value = cx.decimal(&value)?;
                    *sum = sum
                        .add(&value)
                        .ok_or_else(|| datum::error::DATA_OUT_OF_RANGE.with(&[&"DECIMAL", &"sum()"]))?;
                }
                Sum::Double(sum) => {
                    *sum += cx.double(&value)?;
                    check_range(*sum, "sum()")?;
                }
            },
            F::Min | F::Max => {
                let by: By = compare::own_order(&aggregate.argument.as_ref().map_or(Type::NULL, |a| a.ty));
                let better = match by.compare(cx, &value, &self.best)? {
                    None => true,
                    Some(order) => {
                        if aggregate.function == F::Min {
                            order.is_lt()
                        } else {
                            order.is_gt()
                        }
                    }
                };
                if better {
                    // An ENUM's number is not its value any more.
                    let value = if let Datum::Label(_, text) = value { Datum::Bytes(text) } else { value };
                    grown += self.replace_best(value);
                }
            }
            F::AnyValue if self.best.is_null() => grown += self.replace_best(value),
            F::BitAnd => self.bits &= arithmetic::to_bits(cx, &value)?,
            F::BitOr => self.bits |= arithmetic::to_bits(cx, &value)?,
            F::BitXor => self.bits ^= arithmetic::to_bits(cx, &value)?,
            F::JsonArrayAgg | F::JsonObjectAgg => grown += self.gather(cx, value)?,
            _ => {}
        }
        Ok(grown)
    }

    /// Keeps a value instead of the one before. Returns the bytes of memory that it takes more than
    /// that one did.
    fn replace_best(&mut self, value: Datum<'_>) -> usize {
        let before = self.best.text_len();
        self.best = value.into_owned();
        self.best.text_len().saturating_sub(before)
    }

    /// Keeps a document. Returns the bytes that it takes.
    fn gather(&mut self, cx: &Context, value: Datum<'_>) -> Result<usize> {
        let Datum::Json(document) = value else { return Ok(0) };
        self.document_bytes += document.len();
        let max = cx.settings.max_allowed_packet();
        if self.document_bytes > max {
            return Err(datum::error::WARN_ALLOWED_PACKET_OVERFLOWED.with(&[&"json_binary::serialize", &max]));
        }
        let grown = document.len() + std::mem::size_of::<Box<[u8]>>();
        self.documents.push(document.into_owned().into());
        Ok(grown)
    }

    /// The group's value. `rows` counts those of the groups before it, where warnings say them.
    pub(crate) fn finish(
        mut self,
        aggregate: &Aggregate,
        cx: &mut Context,
        rows: &mut usize,
    ) -> Datum<'static> {
        use AggregateFunction as F;
        match (std::mem::replace(&mut self.more, AccumulatorExtra::Nothing), &aggregate.concat) {
            (AccumulatorExtra::Texts(texts), Some(concat)) => return texts.finish(concat, cx, rows),
            (AccumulatorExtra::Bytes(bits), _) => {
                return Datum::owned(bits.unwrap_or_else(|| neutral_bytes(aggregate)));
            }
            (AccumulatorExtra::Spread { squares, .. }, _) => return self.spread(aggregate.function, squares),
            _ => {}
        }
        if let Sum::Integer(sum) = self.sum {
            self.sum = Sum::Exact(Decimal::from_parts(sum, 0).unwrap_or(Decimal::ZERO));
        }
        match aggregate.function {
            F::Count => Datum::Int(self.count as i64),
            F::BitAnd | F::BitOr | F::BitXor => Datum::UInt(self.bits),
            F::JsonArrayAgg | F::JsonObjectAgg if self.documents.is_empty() => Datum::Null,
            F::JsonArrayAgg | F::JsonObjectAgg => {
                // Each was a document within the limits, and their bytes together were counted.
                json::merge::joined(&self.documents).map_or(Datum::Null, |d| Datum::Json(d.into()))
            }
            F::Sum | F::Avg if self.count == 0 => Datum::Null,
            F::Sum => match self.sum {
                Sum::Exact(sum) => Datum::Decimal(sum),
                Sum::Double(sum) => Datum::Double(sum),
                Sum::Integer(_) => Datum::Null,
            },
            F::Avg => match self.sum {
                Sum::Exact(sum) => {
                    match sum.div(&Decimal::from(self.count), cx.settings.div_precision_increment()) {
                        Some(mean) => Datum::Decimal(mean.round(aggregate.ty.decimals)),
                        None => Datum::Null,
                    }
                }
                Sum::Double(sum) => Datum::Double(sum / self.count as f64),
                Sum::Integer(_) => Datum::Null,
            },
            _ => self.best,
        }
    }
}

impl Accumulator {
    /// A standard deviation or variance, of the population or of a sample of it.
    fn spread(&self, function: AggregateFunction, squares: f64) -> Datum<'static> {
        use AggregateFunction as F;
        let of_sample = matches!(function, F::StddevSamp | F::VarSamp);
        let divisor = if of_sample { self.count.saturating_sub(1) } else { self.count };
        if divisor == 0 {
            return Datum::Null;
        }
        let variance = squares / divisor as f64;
        Datum::Double(match function {
            F::StddevPop | F::StddevSamp => variance.sqrt(),
            _ => variance,
        })
    }
}

/// Error 1690 for a figure that no DOUBLE holds: an infinity can be stored and not be loaded again.
fn check_range(figure: f64, function: &str) -> Result<()> {
    match figure.is_finite() {
        true => Ok(()),
        false => Err(datum::error::DATA_OUT_OF_RANGE.with(&[&"DOUBLE", &function])),
    }
}

/// The operator that a bit aggregate is made of.
fn bit_operator(function: AggregateFunction) -> Option<BinaryOp> {
    match function {
        AggregateFunction::BitAnd => Some(BinaryOp::BitAnd),
        AggregateFunction::BitOr => Some(BinaryOp::BitOr),
        AggregateFunction::BitXor => Some(BinaryOp::BitXor),
        _ => None,
    }
}

/// Bit aggregates take byte strings of so many bytes.
const BYTES_MAX: usize = 511;

fn add_bytes(bits: &mut Option<Vec<u8>>, function: AggregateFunction, value: &[u8]) -> Result<()> {
    if value.len() > BYTES_MAX {
        return Err(error::INVALID_BITWISE_AGGREGATE_OPERANDS_SIZE.plain());
    }
    match (bits, bit_operator(function)) {
        (Some(bits), Some(op)) => arithmetic::bits::combine(op, bits, value),
        (bits, _) => {
            *bits = Some(value.to_vec());
            Ok(())
        }
    }
}

/// The bits of no byte string: as long as the argument may be.
fn neutral_bytes(aggregate: &Aggregate) -> Vec<u8> {
    let byte = if aggregate.function == AggregateFunction::BitAnd { 0xff } else { 0 };
    vec![byte; (aggregate.ty.length as usize).min(BYTES_MAX)]
}

/// Appends bytes that are equal for values that are equal, and in their order; prefix-free.
pub(crate) fn sort_key(value: &Datum<'_>, ty: &Type, out: &mut Vec<u8>) -> Result<()> {
    if value.is_null() {
        out.push(0);
        return Ok(());
    }
    out.push(1);
    if let Datum::Label(number, _) = value {
        // An ENUM or SET sorts by its number, though it compares as text.
        out.extend_from_slice(&number.to_be_bytes());
        return Ok(());
    }
    key_by(compare::own_order(ty), value, out)
}

/// Appends the bytes of a value that isn't NULL, as it compares.
pub(crate) fn key_by(by: By, value: &Datum<'_>, out: &mut Vec<u8>) -> Result<()> {
    match by {
        By::Integer => {
            let n = value.to_integer().value;
            out.extend_from_slice(&(n as u128 ^ (1 << 127)).to_be_bytes());
        }
        By::Double => out.extend_from_slice(&double_key(value.to_f64().value)),
        By::Decimal => decimal_key(&value.to_decimal().value, out),
        By::Json => {
            let made;
            let document = match value {
                Datum::Json(document) => document,
                other => {
                    made = json::encode(&json::convert::from_datum(other.borrow(), Origin::PLAIN)?)?;
                    &made[..]
                }
            };
            json::compare::sort_key(json::root(document)?, out).map_err(json::damaged)?;
        }
        By::Time => {
            let micros = value.to_time().unwrap_or_default().micros;
            out.extend_from_slice(&(micros as u64 ^ (1 << 63)).to_be_bytes());
        }
        By::DateTime => {
            let value = value.to_datetime(|| datum::value::Date::ZERO).unwrap_or_default();
            out.extend_from_slice(&value.date.to_number().to_be_bytes());
            out.extend_from_slice(&value.micros.to_be_bytes());
        }
        By::Text(collation) => {
            collation.sort_key(&value.to_bytes(), out);
        }
    }
    Ok(())
}

fn double_key(v: f64) -> [u8; 8] {
    let bits = if v == 0.0 { 0 } else { v.to_bits() };
    (if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }).to_be_bytes()
}

/// Sixty-five digits before the point and thirty after it, of the complement where negative.
fn decimal_key(d: &Decimal, out: &mut Vec<u8>) {
    let shown = d.digits_shown();
    let (integer, fraction) = shown.parts();
    out.push(u8::from(!shown.is_negative));
    let start = out.len();
    out.resize(start + 65_usize.saturating_sub(integer.len()), b'0');
    out.extend_from_slice(integer.as_bytes());
    out.extend_from_slice(fraction.as_bytes());
    out.resize(out.len() + 30_usize.saturating_sub(fraction.len()), b'0');
    if shown.is_negative {
        out[start..].iter_mut().for_each(|b| *b = b'9' - *b + b'0');
    }
}
