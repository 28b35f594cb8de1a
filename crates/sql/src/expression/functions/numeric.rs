//! Functions on numbers. Exact numbers stay exact.

use std::borrow::Cow;
use std::cmp::Ordering;

use super::{Call, Typing, not_null};
use crate::expression::{Expr, arithmetic, compare};
use crate::session::Context;
use datum::error::{self, NumberType, Result};
use datum::types::NOT_FIXED;
use datum::types::{Collation, Family, Type, code};
use datum::value::{DateTime, Datum, Decimal};

type Value<'a> = Result<Datum<'a>>;

fn is_exact(ty: &Type) -> bool {
    matches!(ty.family, Family::Integer | Family::Decimal | Family::Bit | Family::Year)
}

pub(super) fn same_type(arguments: &[Expr], _: &Typing) -> Type {
    let ty = arguments[0].ty;
    match ty.family {
        Family::Integer => Type { code: 0, boolean: false, ..ty },
        Family::Decimal => ty,
        Family::Bit | Family::Year => Type { length: ty.length, ..Type::UINT },
        Family::Time | Family::DateTime if ty.decimals > 0 => arithmetic::decimal_of(&ty),
        Family::Date | Family::Time | Family::DateTime | Family::Null => Type::fixed_double(17, 0),
        _ => match ty.fixed_digits() {
            Some(digits) => Type::fixed_double(17 + u32::from(digits), digits),
            None => Type::DOUBLE,
        },
    }
}

pub(super) fn whole_type(arguments: &[Expr], _: &Typing) -> Type {
    let ty = arguments[0].ty;
    match ty.family {
        Family::Decimal if ty.integer_digits() > 18 => Type::decimal(ty.integer_digits(), 0),
        Family::Decimal => Type::INT,
        Family::Integer | Family::Bit | Family::Year => Type { unsigned: ty.unsigned, ..Type::INT },
        _ => Type::DOUBLE,
    }
}

pub(super) fn round_type(arguments: &[Expr], _: &Typing) -> Type {
    rounded_type(arguments, true)
}

pub(super) fn truncate_type(arguments: &[Expr], _: &Typing) -> Type {
    rounded_type(arguments, false)
}

fn rounded_type(arguments: &[Expr], carries: bool) -> Type {
    let ty = arguments[0].ty;
    let places = match arguments.get(1) {
        Some(n) => n.as_constant().map(|n| n.to_integer().value.clamp(-30, 30)),
        None => Some(0),
    };
    match ty.family {
        Family::Integer | Family::Bit | Family::Year => Type { unsigned: ty.unsigned, ..Type::INT },
        Family::Decimal => {
            let scale = places.map_or(ty.decimals, |p| p.clamp(0, ty.decimals.into()) as u8);
            // Rounding 9.9 takes a digit more.
            let carry = u32::from(carries && scale < ty.decimals);
            Type::decimal((ty.integer_digits() + carry + u32::from(scale)).min(65), scale)
        }
        _ => Type::DOUBLE,
    }
}

pub(super) fn pi_type(_: &[Expr], _: &Typing) -> Type {
    Type { decimals: 6, length: 8, ..Type::DOUBLE }.made_as_described()
}

/// The type that holds every argument's value.
pub(super) fn widest_type(arguments: &[Expr], typing: &Typing) -> Type {
    let ty = crate::expression::resolve::common_type(arguments.iter().map(|a| &a.ty), typing.connection);
    if ty.family != Family::Text {
        return ty;
    }
    let is_timed = |a: &Expr| matches!(a.ty.family, Family::Time | Family::DateTime);
    // Times are reported with as many digits of a second as any operand has after its point.
    let is_bits = |a: &Expr| matches!(a.as_constant(), Some(Datum::Bits(_)));
    let decimals = |a: &Expr| if a.ty.family.is_text() && !is_bits(a) { NOT_FIXED } else { a.ty.decimals };
    let fsp = arguments.iter().map(decimals).max().unwrap_or(0).min(6);
    let is_widened = arguments.iter().any(|a| is_timed(a) && a.ty.decimals < fsp);
    let in_bytes = ty.collation == Collation::BINARY;
    let length_of = |a: &Expr| match a.ty.family {
        Family::Time => Type::time(fsp).length,
        Family::DateTime => Type::datetime(fsp).length,
        _ if in_bytes => a.ty.byte_length(),
        _ => a.ty.text_length(),
    };
    let length = arguments.iter().map(length_of).max().unwrap_or(0);
    let is_document = |a: &Expr| a.ty.code == code::LONG_BLOB || a.ty.family == Family::Null;
    let code = match ty.code {
        code::STRING if is_widened => 0,
        code::LONG_BLOB if arguments.iter().all(is_document) => code::VAR_STRING,
        code => code,
    };
    Type { length, code, ..ty }
}

/// A double, or error 1690 if it is none.
fn finite<'a>(name: &str, v: f64) -> Value<'a> {
    if v.is_finite() {
        return Ok(Datum::Double(v));
    }
    Err(error::out_of_range(NumberType::Double, format_args!("{name}()")))
}

fn map<'a>(cx: &mut Context, call: Call<'a>, name: &str, f: fn(f64) -> f64) -> Value<'a> {
    let x = not_null!(call.double(cx, 0));
    finite(name, f(x))
}

/// For functions with a restricted domain: NULL outside.
fn map_domain<'a>(cx: &mut Context, call: Call<'a>, f: fn(f64) -> f64) -> Value<'a> {
    let y = f(not_null!(call.double(cx, 0)));
    Ok(if y.is_finite() { Datum::Double(y) } else { Datum::Null })
}

/// A logarithm: NULL and warning 3020 for what has none.
fn logarithm<'a>(cx: &mut Context, name: &str, x: f64, f: impl Fn(f64) -> f64) -> Value<'a> {
    if x > 0.0 {
        return Ok(Datum::Double(f(x)));
    }
    cx.warn(error::INVALID_ARGUMENT_FOR_LOGARITHM.plain());
    let _ = name;
    Ok(Datum::Null)
}

pub(super) fn abs<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let value = call.value(cx, 0)?;
    Ok(match value {
        Datum::Null => Datum::Null,
        Datum::Int(i64::MIN) => {
            return Err(error::out_of_range(NumberType::BigInt, "abs()"));
        }
        Datum::Int(v) => Datum::Int(v.abs()),
        Datum::UInt(v) => Datum::UInt(v),
        Datum::Decimal(d) => {
            let d = if d.is_negative() { d.negate() } else { d };
            Datum::Decimal(arithmetic::with_scale(d, call.ty.decimals))
        }
        Datum::Bits(_) | Datum::Year(_) => Datum::UInt(value.to_integer().value as u64),
        v if call.ty.family == Family::Decimal => {
            let d = cx.decimal(&v)?;
            Datum::Decimal(if d.is_negative() { d.negate() } else { d })
        }
        v => Datum::Double(cx.double(&v)?.abs()),
    })
}

pub(super) fn sign<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let x = not_null!(call.double(cx, 0));
    Ok(Datum::Int(if x > 0.0 {
        1
    } else if x < 0.0 {
        -1
    } else {
        0
    }))
}

fn to_whole<'a>(
    cx: &mut Context,
    call: Call<'a>,
    exact: fn(&Decimal) -> Decimal,
    double: fn(f64) -> f64,
) -> Value<'a> {
    let value = call.value(cx, 0)?;
    Ok(match value {
        Datum::Null => Datum::Null,
        Datum::Int(_) | Datum::UInt(_) => value,
        Datum::Decimal(d) => {
            let whole = exact(&d);
            match (call.ty.family, whole.to_i64()) {
                (Family::Integer, Some(n)) => Datum::Int(n),
                _ => Datum::Decimal(whole),
            }
        }
        v if is_exact(&call.arguments[0].ty) => Datum::UInt(v.to_integer().value as u64),
        v => Datum::Double(double(cx.double(&v)?)),
    })
}

pub(super) fn floor<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    to_whole(cx, call, Decimal::floor, f64::floor)
}

pub(super) fn ceil<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    to_whole(cx, call, Decimal::ceil, f64::ceil)
}

fn round_at<'a>(cx: &mut Context, call: Call<'a>, truncate: bool) -> Value<'a> {
    let value = call.value(cx, 0)?;
    if value.is_null() {
        return Ok(Datum::Null);
    }
    let is_exact = is_exact(&call.arguments[0].ty);
    let value = if is_exact { value } else { Datum::Double(cx.double(&value)?) };
    let places = if call.count() > 1 { not_null!(call.int(cx, 1)).clamp(-100, 100) } else { 0 };
    match value {
        v if is_exact => {
            let integer = call.ty.family == Family::Integer;
            if integer && places >= 0 {
                return Ok(match v {
                    Datum::Bits(_) | Datum::Year(_) => Datum::UInt(v.to_integer().value as u64),
                    v => v,
                });
            }
            let exact = cx.decimal(&v)?;
            let rounded = match u32::try_from(-places) {
                Ok(tens) if tens > 0 => exact.round_tens(tens, truncate),
                _ => {
                    let scale = places.clamp(0, call.ty.decimals.into()) as u8;
                    if truncate { exact.truncate(scale) } else { exact.round(scale) }
                }
            };
            if !integer {
                return Ok(Datum::Decimal(rounded));
            }
            let n = rounded.to_i64().map(i128::from).or(rounded.to_u64().map(i128::from));
            let result = n.and_then(|n| arithmetic::integer_result(n, call.ty.unsigned));
            result.ok_or_else(|| error::out_of_range(NumberType::BigInt, "round()"))
        }
        v => {
            let x = cx.double(&v)?;
            let unit = 10_f64.powi(places as i32);
            let scaled = if places >= 0 { x * unit } else { x / 10_f64.powi(-places as i32) };
            let whole = if truncate { scaled.trunc() } else { scaled.round_ties_even() };
            let result = if places >= 0 { whole / unit } else { whole * 10_f64.powi(-places as i32) };
            Ok(Datum::Double(if scaled.is_finite() && result.is_finite() { result } else { x }))
        }
    }
}

pub(super) fn round<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    round_at(cx, call, false)
}

pub(super) fn truncate<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    round_at(cx, call, true)
}

pub(super) fn pow<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let x = not_null!(call.double(cx, 0));
    let y = not_null!(call.double(cx, 1));
    finite("pow", x.powf(y))
}

pub(super) fn exp<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    map(cx, call, "exp", f64::exp)
}

pub(super) fn sin<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    map(cx, call, "sin", f64::sin)
}

pub(super) fn cos<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    map(cx, call, "cos", f64::cos)
}

pub(super) fn tan<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    map(cx, call, "tan", f64::tan)
}

pub(super) fn cot<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    map(cx, call, "cot", |x| 1.0 / x.tan())
}

pub(super) fn degrees<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    map(cx, call, "degrees", f64::to_degrees)
}

pub(super) fn radians<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    map(cx, call, "radians", f64::to_radians)
}

pub(super) fn sqrt<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    map_domain(cx, call, f64::sqrt)
}

pub(super) fn acos<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    map_domain(cx, call, f64::acos)
}

pub(super) fn asin<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    map_domain(cx, call, f64::asin)
}

pub(super) fn atan<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let y = not_null!(call.double(cx, 0));
    if call.count() == 1 {
        return Ok(Datum::Double(y.atan()));
    }
    let x = not_null!(call.double(cx, 1));
    Ok(Datum::Double(y.atan2(x)))
}

pub(super) fn ln<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let x = not_null!(call.double(cx, 0));
    logarithm(cx, "ln", x, f64::ln)
}

pub(super) fn log10<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let x = not_null!(call.double(cx, 0));
    logarithm(cx, "log10", x, f64::log10)
}

pub(super) fn log2<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let x = not_null!(call.double(cx, 0));
    logarithm(cx, "log2", x, f64::log2)
}

pub(super) fn log<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let a = not_null!(call.double(cx, 0));
    if call.count() == 1 {
        return logarithm(cx, "log", a, f64::ln);
    }
    let x = not_null!(call.double(cx, 1));
    if a <= 0.0 || a == 1.0 {
        return logarithm(cx, "log", -1.0, f64::ln);
    }
    logarithm(cx, "log", x, |x| x.ln() / a.ln())
}

pub(super) fn pi<'a>(_: &mut Context, _: Call<'a>) -> Value<'a> {
    Ok(Datum::Double(std::f64::consts::PI))
}

pub(super) fn rand<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    if call.count() == 0 {
        return Ok(Datum::Double(cx.functions.random()));
    }
    let seed = call.int(cx, 0)?.unwrap_or(0);
    let constant = call.arguments[0].as_constant().is_some();
    let place = constant.then_some(call.arguments.as_ptr() as usize);
    Ok(Datum::Double(cx.statement.random_from(seed, place)))
}

pub(super) fn bit_count<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let value = call.value(cx, 0)?;
    if value.is_null() {
        return Ok(Datum::Null);
    }
    if arithmetic::bits::is_byte_string(&call.arguments[0]) {
        return Ok(Datum::Int(value.to_bytes().iter().map(|b| i64::from(b.count_ones())).sum()));
    }
    Ok(Datum::Int(arithmetic::to_bits(cx, &value)?.count_ones().into()))
}

pub(super) fn crc32<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let text = not_null!(call.text(cx, 0));
    Ok(Datum::UInt(crc32fast::hash(&text).into()))
}

pub(super) fn conv<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let text = not_null!(call.text(cx, 0));
    let from = not_null!(call.int(cx, 1));
    let to = not_null!(call.int(cx, 2));
    in_base(cx, &text, from, to)
}

/// `BIN(x)`: `CONV(x, 10, 2)`.
pub(super) fn bin<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let digits = not_null!(decimal_digits(cx, call));
    in_base(cx, &digits, 10, 2)
}

/// `OCT(x)`: `CONV(x, 10, 8)`.
pub(super) fn oct<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let digits = not_null!(decimal_digits(cx, call));
    in_base(cx, &digits, 10, 8)
}

fn decimal_digits<'a>(cx: &mut Context, call: Call<'a>) -> Result<Option<Cow<'a, [u8]>>> {
    Ok(match call.value(cx, 0)? {
        Datum::Null => None,
        Datum::Bits(bytes) => Some(datum::value::bits_to_u64(&bytes).to_string().into_bytes().into()),
        value => Some(value.into_bytes()),
    })
}

/// The number that a text starts with, in another base; a negative one stands for its two's
/// complement, or for itself where `to` is negative.
fn in_base<'a>(cx: &mut Context, text: &[u8], from: i64, to: i64) -> Value<'a> {
    let (base, target) = (from.unsigned_abs(), to.unsigned_abs());
    if !(2..=36).contains(&base) || !(2..=36).contains(&target) || text.is_empty() {
        return Ok(Datum::Null);
    }
    let trimmed = text.trim_ascii();
    let (negative, digits) = match trimmed.strip_prefix(b"-") {
        Some(rest) => (true, rest),
        None => (false, trimmed),
    };
    let mut n = Some(0_u64);
    for digit in digits.iter().map_while(|&b| char::from(b).to_digit(base as u32)) {
        n = n.and_then(|n| n.checked_mul(base)?.checked_add(digit.into()));
    }
    // Of 64 bits, signed where the base is negative.
    let signed = |n: u64| i64::try_from(if negative { -i128::from(n) } else { n.into() }).ok();
    let in_range = match n {
        Some(n) if from < 0 => signed(n).map(|n| n as u64),
        Some(n) if negative => Some(n.wrapping_neg()),
        n => n,
    };
    let n = match in_range {
        Some(n) => n,
        None => {
            cx.truncated("DECIMAL", &Datum::borrowed(text))?;
            match (from < 0, negative) {
                (true, true) => i64::MIN as u64,
                (true, false) => i64::MAX as u64,
                (false, true) if base == 10 => 0,
                (false, _) => u64::MAX,
            }
        }
    };
    let (sign, mut rest) = if to < 0 && (n as i64) < 0 { ("-", (n as i64).unsigned_abs()) } else { ("", n) };
    let mut out = Vec::new();
    loop {
        out.push(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[(rest % target) as usize]);
        rest /= target;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(sign.as_bytes());
    out.reverse();
    Ok(Datum::owned(out))
}

/// What texts next to dates are compared as in LEAST and GREATEST: as dates, or as dates with times
/// if there is one.
fn dates_among(arguments: &[Expr]) -> Option<Family> {
    let is = |family| arguments.iter().any(|a| a.ty.family == family);
    match (is(Family::DateTime), is(Family::Date)) {
        (true, _) => Some(Family::DateTime),
        (false, true) => Some(Family::Date),
        _ => None,
    }
}

/// The first or last date, as text. What reads as none is left out, with a warning.
fn extreme_date<'a>(
    cx: &mut Context,
    call: Call<'a>,
    kind: Family,
    is_better: fn(Ordering) -> bool,
) -> Value<'a> {
    let mut best: Option<DateTime> = None;
    for i in 0..call.count() {
        let value = call.value(cx, i)?;
        if value.is_null() {
            return Ok(Datum::Null);
        }
        let Some(read) = value.to_datetime(|| cx.today()) else {
            let name = if kind == Family::Date { "date" } else { "datetime" };
            let shown = String::from_utf8_lossy(&value.to_bytes()).into_owned();
            if value.is_text() {
                cx.warn(error::TRUNCATED_WRONG_VALUE.with(&[&name, &shown]));
            }
            continue;
        };
        let read = if kind == Family::Date { read.date.midnight() } else { read };
        if best.is_none_or(|best| is_better((read.date, read.micros).cmp(&(best.date, best.micros)))) {
            best = Some(read);
        }
    }
    Ok(match best {
        None => Datum::Null,
        Some(best) if kind == Family::Date => Datum::Bytes(Datum::Date(best.date).into_bytes()),
        Some(best) => Datum::Bytes(Datum::DateTime(best).into_bytes()),
    })
}

/// The value that comes after or before the best so far, as `is_better` has it.
fn extreme<'a>(cx: &mut Context, call: Call<'a>, is_better: fn(Ordering) -> bool) -> Value<'a> {
    if call.ty.family == Family::Text
        && let Some(kind) = dates_among(call.arguments)
    {
        return extreme_date(cx, call, kind, is_better);
    }
    let by = compare::own_order(call.ty);
    let value_of = |cx: &mut Context, i: usize| match call.ty.family {
        Family::Text => call.arguments[i].eval_as_text(cx, call.row),
        _ => call.value(cx, i),
    };
    let mut best = value_of(cx, 0)?;
    if best.is_null() {
        return Ok(Datum::Null); // what comes after it is not evaluated
    }
    for i in 1..call.count() {
        let value = value_of(cx, i)?;
        match by.compare(cx, &value, &best)? {
            None => return Ok(Datum::Null),
            Some(order) if is_better(order) => best = value,
            Some(_) => {}
        }
    }
    // An ENUM's number is not its value any more.
    if let Datum::Label(_, text) = best {
        best = Datum::Bytes(text);
    }
    super::super::cast::to_type(cx, best, call.ty)
}

pub(super) fn greatest<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    // Of equal texts the last one.
    extreme(cx, call, Ordering::is_ge)
}

pub(super) fn least<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    extreme(cx, call, Ordering::is_lt)
}
