//! The order of JSON values: by kind first, then by value.
//!
//! The manual's "Comparison and Ordering of JSON Values", from the lowest: NULL, numbers, strings,
//! objects, arrays, booleans, dates, times, dates with times, opaque values, bits, blobs. Numbers
//! of all kinds compare by what they are worth, exactly.

use std::cmp::Ordering;

use binlog::row::json::DEPTH_MAX;
use binlog::row::{RowError, code};

use super::convert::decimal;
use super::{Container, Json, Node};
use crate::value::Decimal;

/// The kinds, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum TypePrecedence {
    Null = 1,
    Number,
    String,
    Object,
    Array,
    Bool,
    Date,
    Time,
    DateTime,
    Opaque,
    Bit,
    Blob,
}

fn kind(node: &Node<'_>) -> TypePrecedence {
    match node {
        Node::Null => TypePrecedence::Null,
        Node::Bool(_) => TypePrecedence::Bool,
        Node::Int(_) | Node::UInt(_) | Node::Double(_) => TypePrecedence::Number,
        Node::String(_) => TypePrecedence::String,
        Node::Container(c) if c.is_object() => TypePrecedence::Object,
        Node::Container(_) => TypePrecedence::Array,
        Node::Opaque(field_type, _) => match *field_type {
            code::NEWDECIMAL => TypePrecedence::Number,
            code::DATE => TypePrecedence::Date,
            code::TIME => TypePrecedence::Time,
            code::DATETIME | code::TIMESTAMP => TypePrecedence::DateTime,
            code::BIT => TypePrecedence::Bit,
            t if is_blob(t) => TypePrecedence::Blob,
            _ => TypePrecedence::Opaque,
        },
    }
}

/// True for the column types of byte strings.
pub(crate) fn is_blob(field_type: u8) -> bool {
    matches!(field_type, 249..=code::BLOB | code::VARCHAR | code::VAR_STRING | code::STRING)
}

/// Compares two values.
pub fn compare(a: Json<'_>, b: Json<'_>) -> Result<Ordering, RowError> {
    compare_within(a, b, DEPTH_MAX + 1)
}

fn compare_within(a: Json<'_>, b: Json<'_>, levels: usize) -> Result<Ordering, RowError> {
    let (a, b) = (a.node()?, b.node()?);
    let order = kind(&a).cmp(&kind(&b));
    if order.is_ne() {
        return Ok(order);
    }
    let levels = levels.checked_sub(1).ok_or(RowError::Malformed("JSON document"))?;
    Ok(match (&a, &b) {
        (Node::Bool(a), Node::Bool(b)) => a.cmp(b),
        (Node::String(a), Node::String(b)) => a.cmp(b),
        (Node::Container(a), Node::Container(b)) if a.is_object() => objects(a, b, levels)?,
        (Node::Container(a), Node::Container(b)) => arrays(a, b, levels)?,
        _ if kind(&a) == TypePrecedence::Number => numbers(&a, &b),
        (Node::Opaque(_, x), Node::Opaque(_, y))
            if (TypePrecedence::Date..=TypePrecedence::DateTime).contains(&kind(&a)) =>
        {
            packed(x).cmp(&packed(y))
        }
        (Node::Opaque(_, a), Node::Opaque(_, b)) => a.cmp(b),
        _ => Ordering::Equal,
    })
}

fn arrays(a: &Container<'_>, b: &Container<'_>, levels: usize) -> Result<Ordering, RowError> {
    for i in 0..a.len().min(b.len()) {
        let order = compare_within(a.value(i)?, b.value(i)?, levels)?;
        if order.is_ne() {
            return Ok(order);
        }
    }
    Ok(a.len().cmp(&b.len()))
}

/// Fewer members first; the order of others only has to be one.
fn objects(a: &Container<'_>, b: &Container<'_>, levels: usize) -> Result<Ordering, RowError> {
    let order = a.len().cmp(&b.len());
    if order.is_ne() {
        return Ok(order);
    }
    for i in 0..a.len() {
        let order = a.key(i)?.cmp(b.key(i)?);
        if order.is_ne() {
            return Ok(order);
        }
        let order = compare_within(a.value(i)?, b.value(i)?, levels)?;
        if order.is_ne() {
            return Ok(order);
        }
    }
    Ok(Ordering::Equal)
}

fn packed(bytes: &[u8]) -> Option<i64> {
    bytes.try_into().ok().map(i64::from_le_bytes)
}

/// A number of any kind.
enum Number {
    Integer(i128),
    Double(f64),
    Decimal(Decimal),
}

fn number(node: &Node<'_>) -> Number {
    match node {
        Node::Int(v) => Number::Integer((*v).into()),
        Node::UInt(v) => Number::Integer((*v).into()),
        Node::Double(v) => Number::Double(*v),
        Node::Opaque(_, bytes) => Number::Decimal(decimal(bytes).unwrap_or(Decimal::ZERO)),
        _ => Number::Integer(0),
    }
}

fn numbers(a: &Node<'_>, b: &Node<'_>) -> Ordering {
    use Number as N;
    match (number(a), number(b)) {
        (N::Integer(a), N::Integer(b)) => a.cmp(&b),
        (N::Double(a), N::Double(b)) => a.partial_cmp(&b).unwrap_or(Ordering::Equal),
        (N::Integer(a), N::Double(b)) => integer_to_double(a, b),
        (N::Double(a), N::Integer(b)) => integer_to_double(b, a).reverse(),
        (N::Decimal(a), N::Decimal(b)) => a.cmp(&b),
        (N::Decimal(a), N::Integer(b)) => a.cmp(&whole(b)),
        (N::Integer(a), N::Decimal(b)) => whole(a).cmp(&b),
        (N::Decimal(a), N::Double(b)) => decimal_to_double(&a, b),
        (N::Double(a), N::Decimal(b)) => decimal_to_double(&b, a).reverse(),
    }
}

/// An integer of 65 bits.
fn whole(v: i128) -> Decimal {
    Decimal::from_parts(v, 0).unwrap_or(Decimal::ZERO)
}

fn integer_to_double(a: i128, b: f64) -> Ordering {
    // Beyond 2^65 no integer follows; below, the whole part of a double is exact.
    let limit = 2_f64.powi(65);
    if b >= limit {
        Ordering::Less
    } else if b <= -limit {
        Ordering::Greater
    } else {
        let floor = b.floor();
        a.cmp(&(floor as i128)).then(if b > floor { Ordering::Less } else { Ordering::Equal })
    }
}

fn decimal_to_double(a: &Decimal, b: f64) -> Ordering {
    match Decimal::from_f64(b) {
        Some(b) => a.cmp(&b),
        None => a.to_f64().partial_cmp(&b).unwrap_or(Ordering::Equal),
    }
}

/// Appends bytes that are equal for equal values, in their order, and prefix-free.
pub fn sort_key(value: Json<'_>, out: &mut Vec<u8>) -> Result<(), RowError> {
    sort_key_within(value, DEPTH_MAX + 1, out)
}

fn sort_key_within(value: Json<'_>, levels: usize, out: &mut Vec<u8>) -> Result<(), RowError> {
    let levels = levels.checked_sub(1).ok_or(RowError::Malformed("JSON document"))?;
    let node = value.node()?;
    let kind = kind(&node);
    out.push(kind as u8);
    match node {
        Node::Null => {}
        Node::Bool(v) => out.push(v.into()),
        Node::String(text) => escaped(text, out),
        Node::Container(c) if c.is_object() => {
            out.extend_from_slice(&(c.len() as u32).to_be_bytes());
            for i in 0..c.len() {
                escaped(c.key(i)?, out);
                sort_key_within(c.value(i)?, levels, out)?;
            }
        }
        Node::Container(c) => {
            for i in 0..c.len() {
                sort_key_within(c.value(i)?, levels, out)?;
            }
            out.push(0);
        }
        Node::Opaque(_, bytes) if (TypePrecedence::Date..=TypePrecedence::DateTime).contains(&kind) => {
            let packed = packed(bytes).ok_or(RowError::Malformed("JSON document"))?;
            out.extend_from_slice(&(packed as u64 ^ 1 << 63).to_be_bytes());
        }
        Node::Opaque(_, bytes) if kind != TypePrecedence::Number => escaped(bytes, out),
        number => number_key(&number, out),
    }
    Ok(())
}

fn escaped(bytes: &[u8], out: &mut Vec<u8>) {
    for &b in bytes {
        out.push(b);
        if b == 0 {
            out.push(0xff);
        }
    }
    out.extend_from_slice(&[0, 0]);
}

/// Sign, power of ten, digits: the same for a number of any kind.
fn number_key(node: &Node<'_>, out: &mut Vec<u8>) {
    let text = match number(node) {
        Number::Integer(v) => format!("{v}"),
        Number::Double(v) => format!("{v:e}"),
        Number::Decimal(v) => v.to_string(),
    };
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (negative, mantissa) = match mantissa.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, mantissa),
    };
    let (integer, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits: Vec<u8> = integer.bytes().chain(fraction.bytes()).collect();
    let leading = digits.iter().take_while(|&&b| b == b'0').count();
    let digits = digits[leading..].trim_ascii_end();
    let end = digits.iter().rposition(|&b| b != b'0').map_or(0, |i| i + 1);
    if end == 0 {
        return out.push(1);
    }
    let exponent = exponent.parse::<i32>().unwrap_or(0) + integer.len() as i32 - leading as i32;
    let flip = if negative { 0xff } else { 0 };
    out.push(if negative { 0 } else { 2 });
    out.extend((exponent as u32 ^ 1 << 31).to_be_bytes().map(|b| b ^ flip));
    out.extend(digits[..end].iter().map(|b| b ^ flip));
    out.push(flip);
}
