//! Storing: any value becomes one of a column's type.
//!
//! [`fit`] gives the value in the form that the column's row image has: integers in range, decimals with the column's
//! digits, text in its character set and length, labels with their number, time stamps in UTC. Where the value doesn't
//! fit, strict sessions fail (1264, 1265, 1292, 1366, 1406) and others go on with the nearest value and a warning of
//! the same number.

use std::borrow::Cow;

use super::temporal::{DateRules, DateTime, SECOND};
use super::{Datum, Decimal, temporal_text, text};
use crate::ast::IntegerSize;
use crate::error::{self, Diagnostics, Result, SqlError};
use crate::types::data_type::lob_length_max;
use crate::types::{Charset, Collation, DataType};
use crate::value::zone::Zone;

/// What a session says about storing.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    /// STRICT_TRANS_TABLES or STRICT_ALL_TABLES, and no IGNORE.
    pub strict: bool,
    /// Which incomplete dates are allowed.
    pub dates: DateRules,
    /// The session's time zone.
    pub zone: Zone,
    /// PAD_CHAR_TO_FULL_LENGTH and others have no part in storing; TIME_TRUNCATE_FRACTIONAL has.
    pub truncate_fraction: bool,
}

/// Where a value goes, for the messages; and who hears of it.
pub struct Target<'d> {
    /// The column's name.
    pub column: &'d str,
    /// The table's name; empty for a routine's variable.
    pub table: &'d str,
    /// The row's number in its statement, from 1.
    pub row: u64,
    /// The session's rules.
    pub rules: Rules,
    /// Takes the warnings.
    pub diagnostics: &'d mut Diagnostics,
}

impl Target<'_> {
    /// Fails, or warns and goes on with `instead`.
    fn complain<T>(&mut self, e: SqlError, instead: T) -> Result<T> {
        if self.rules.strict {
            return Err(e);
        }
        self.diagnostics.warn(e);
        Ok(instead)
    }

    fn out_of_range<T>(&mut self, instead: T) -> Result<T> {
        self.complain(error::WARN_DATA_OUT_OF_RANGE.with(&[&self.column, &self.row]), instead)
    }

    fn truncated<T>(&mut self, instead: T) -> Result<T> {
        self.complain(error::WARN_DATA_TRUNCATED.with(&[&self.column, &self.row]), instead)
    }

    fn note_truncated(&mut self) {
        self.diagnostics.note(error::WARN_DATA_TRUNCATED.with(&[&self.column, &self.row]));
    }

    /// A part of the value that does not fit is left out: no error, only a note.
    fn note_incorrect(&mut self, kind: &str, given: &Datum<'_>) {
        if !self.rules.strict {
            return self.note_truncated();
        }
        let shown = printable(&given.to_bytes());
        self.diagnostics.note(error::INCORRECT_VALUE.with(&[&kind, &shown, &self.column, &self.row]));
    }

    /// Text that goes on behind a date or time.
    fn trailing(&mut self, kind: &str, given: &Datum<'_>) -> Result<()> {
        if !self.rules.strict {
            return self.truncated(());
        }
        let shown = printable(&given.to_bytes());
        Err(error::INCORRECT_VALUE.with(&[&kind, &shown, &self.column, &self.row]))
    }

    /// Text that is no integer, or goes on behind one.
    fn bad_integer(&mut self, given: &Datum<'_>) -> Result<()> {
        if super::number::scan(&given.to_bytes()).is_some() {
            return self.truncated(());
        }
        self.bad_number("integer", given)
    }

    /// Text that is no number.
    fn bad_number(&mut self, kind: &str, given: &Datum<'_>) -> Result<()> {
        let bytes = given.to_bytes();
        let shown = printable(&bytes);
        let e = error::TRUNCATED_WRONG_VALUE_FOR_FIELD.with(&[&kind, &shown, &self.column, &self.row]);
        self.complain(e, ())
    }
}

/// `value`, which is not NULL, as the column has it; NULL stays NULL.
///
/// `charset` is the set that text in `value` is in.
pub fn fit<'a>(value: Datum<'a>, charset: Charset, ty: &DataType, to: &mut Target<'_>) -> Result<Datum<'a>> {
    if value.is_null() {
        return Ok(value);
    }
    let value = match value {
        Datum::Json(document) if *ty != DataType::Json => match unpack(&document, ty, to)? {
            Some(scalar) => scalar,
            None => return Ok(implicit_default(ty).into_owned()),
        },
        other => other,
    };
    match ty {
        DataType::Json => document(value, charset, to),
        DataType::Integer { size, sign, .. } => integer(&value, *size, sign.unsigned, to),
        DataType::Decimal { precision, scale, sign } => {
            decimal(&value, *precision, *scale, sign.unsigned, to)
        }
        DataType::Floating { double, digits, sign } => floating(&value, *double, *digits, sign.unsigned, to),
        DataType::Bit(width) => bit(&value, *width, to),
        DataType::Char { length, collation: Collation::BINARY } => {
            let mut bytes = limit(value.into_bytes(), Charset::Binary, usize::from(*length), to)?;
            if bytes.len() < usize::from(*length) {
                bytes.to_mut().resize(usize::from(*length), 0);
            }
            Ok(Datum::Bytes(bytes))
        }
        DataType::Char { length, collation } => {
            // Trailing spaces are not part of the value, however many there are.
            let bytes = trim_end_spaces(transcode(value, charset, *collation, to)?);
            Ok(Datum::Bytes(limit(bytes, collation.charset(), usize::from(*length), to)?))
        }
        DataType::VarChar { length, collation } => {
            let bytes = transcode(value, charset, *collation, to)?;
            Ok(Datum::Bytes(limit(bytes, collation.charset(), usize::from(*length), to)?))
        }
        DataType::Lob { length_bytes, collation } => {
            let bytes = transcode(value, charset, *collation, to)?;
            Ok(Datum::Bytes(limit_bytes(bytes, *collation, lob_length_max(*length_bytes), to)?))
        }
        DataType::Enum { members, collation } => {
            let label = transcode(value.borrow(), charset, *collation, to);
            enumeration(&value, label, members, *collation, to)
        }
        DataType::Set { members, collation } => set(value, charset, members, *collation, to),
        DataType::Date => date(&value, to),
        DataType::Time(fsp) => time(&value, *fsp, to),
        DataType::DateTime(fsp) => datetime(&value, *fsp, to).map(Datum::DateTime),
        DataType::Timestamp(fsp) => timestamp(&value, *fsp, to),
        DataType::Year => year(&value, to),
    }
}

/// A document; 3140 for text that is not JSON, 3144 for byte strings.
fn document<'a>(value: Datum<'a>, charset: Charset, to: &Target<'_>) -> Result<Datum<'a>> {
    use super::json::convert::{Unsuitable, document};
    use super::json::parse::ParseError;
    let invalid = |message: &str, at: usize| {
        let column =
            if to.table.is_empty() { to.column.to_owned() } else { format!("{}.{}", to.table, to.column) };
        error::INVALID_JSON_TEXT.with(&[&message, &at, &column])
    };
    document(value, charset).map(Datum::Json).map_err(|e| match e {
        Unsuitable::Text(ParseError::Syntax(message, at)) => invalid(message, at),
        Unsuitable::Text(ParseError::TooDeep) => error::JSON_DOCUMENT_TOO_DEEP.plain(),
        Unsuitable::Binary => error::INVALID_JSON_CHARSET.with(&[&"binary"]),
        Unsuitable::NoText => invalid("not a JSON text, may need CAST", 0),
        Unsuitable::Other(e) => e,
    })
}

/// A document on its way into a column of another type: text columns get its text, others its scalar. `None` where it has
/// no value of such a type and that is only a warning.
fn unpack(document: &[u8], ty: &DataType, to: &mut Target<'_>) -> Result<Option<Datum<'static>>> {
    use super::json::{self, convert};
    let kind = match ty {
        DataType::Integer { .. } | DataType::Bit(_) | DataType::Year => "INTEGER",
        DataType::Decimal { .. } => "DECIMAL",
        DataType::Floating { .. } => "DOUBLE",
        DataType::Date => "DATE",
        DataType::Time(_) => "TIME",
        DataType::DateTime(_) | DataType::Timestamp(_) => "DATETIME/TIMESTAMP",
        _ => return Ok(Some(Datum::owned(json::to_text(document)))),
    };
    let scalar = match kind {
        "INTEGER" | "DECIMAL" | "DOUBLE" => convert::document_scalar(document).filter(|d| d.to_f64().whole),
        _ => convert::to_temporal(document),
    };
    match scalar {
        Some(scalar) => Ok(Some(scalar.into_owned())),
        None => to.complain(error::INVALID_JSON_VALUE_FOR_CAST.with(&[&kind, &to.column, &to.row]), None),
    }
}

/// The range of an integer type.
pub fn integer_range(size: IntegerSize, unsigned: bool) -> (i128, i128) {
    let bits = match size {
        IntegerSize::Tiny => 8,
        IntegerSize::Small => 16,
        IntegerSize::Medium => 24,
        IntegerSize::Int => 32,
        IntegerSize::Big => 64,
    };
    if unsigned { (0, (1 << bits) - 1) } else { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) }
}

fn integer<'a>(v: &Datum<'_>, size: IntegerSize, unsigned: bool, to: &mut Target<'_>) -> Result<Datum<'a>> {
    let converted = v.to_integer();
    if !converted.whole {
        to.bad_integer(v)?;
    }
    let (low, high) = integer_range(size, unsigned);
    let value = match converted.value {
        n if n < low => to.out_of_range(low)?,
        n if n > high => to.out_of_range(high)?,
        n => n,
    };
    // Within the range of the column's type by now.
    Ok(if unsigned { Datum::UInt(value as u64) } else { Datum::Int(value as i64) })
}

fn decimal<'a>(
    v: &Datum<'_>,
    precision: u8,
    scale: u8,
    unsigned: bool,
    to: &mut Target<'_>,
) -> Result<Datum<'a>> {
    let converted = v.to_decimal();
    if !converted.whole {
        match super::number::scan(&v.to_bytes()) {
            Some(_) if !to.rules.strict => to.note_truncated(),
            _ => to.bad_number("decimal", v)?,
        }
    }
    if unsigned && converted.value.is_negative() {
        return to.out_of_range(Datum::Decimal(Decimal::ZERO.round(scale)));
    }
    let rounded = converted.value.round(scale);
    if rounded.digits() > u32::from(precision) || rounded.shown() != scale {
        let limit = Decimal::largest(precision, scale, converted.value.is_negative() && !unsigned);
        return to.out_of_range(Datum::Decimal(limit));
    }
    if rounded != converted.value && converted.whole {
        to.note_truncated();
    }
    Ok(Datum::Decimal(rounded))
}

fn floating<'a>(
    v: &Datum<'_>,
    double: bool,
    digits: Option<(u8, u8)>,
    unsigned: bool,
    to: &mut Target<'_>,
) -> Result<Datum<'a>> {
    let converted = v.to_f64();
    // Spaces are zero to an expression, but not to a column.
    let blank = matches!(v, Datum::Bytes(text) if text.trim_ascii().is_empty());
    if blank || !converted.whole {
        to.bad_number(if double { "DOUBLE" } else { "FLOAT" }, v)?;
    }
    let mut value = converted.value;
    if double && value.abs() == f64::MAX && super::number::overflows_f64(&v.to_bytes()) {
        value = to.out_of_range(value)?;
    }
    if unsigned && value < 0.0 {
        value = to.out_of_range(0.0)?;
    }
    if let Some((m, d)) = digits {
        let unit = 10_f64.powi(d.into());
        let scaled = (value * unit).round_ties_even() / unit;
        value = if scaled.is_finite() { scaled } else { value };
        let limit = 10_f64.powi(i32::from(m) - i32::from(d)) - 1.0 / unit;
        if value.abs() > limit {
            value = to.out_of_range(limit.copysign(value))?;
        }
    }
    if double {
        return Ok(Datum::Double(value));
    }
    if value.abs() > f64::from(f32::MAX) {
        value = to.out_of_range(f64::from(f32::MAX).copysign(value))?;
    }
    Ok(Datum::Float(value as f32))
}

fn bit<'a>(v: &Datum<'_>, width: u8, to: &mut Target<'_>) -> Result<Datum<'a>> {
    let max = if width == 64 { u64::MAX } else { (1 << width) - 1 };
    let value = match v {
        Datum::Bytes(b) | Datum::Bits(b) => {
            let digits = &b[b.iter().take_while(|&&b| b == 0).count()..];
            if digits.len() > 8 { None } else { Some(super::bits_to_u64(digits)) }
        }
        other => {
            let n = other.to_integer().value;
            // Negative numbers are their two's complement.
            i64::try_from(n).map(|n| n as u64).or_else(|_| u64::try_from(n)).ok()
        }
    };
    match value.filter(|&n| n <= max) {
        Some(n) => Ok(Datum::UInt(n)),
        None if to.rules.strict => Err(error::DATA_TOO_LONG.with(&[&to.column, &to.row])),
        None => to.out_of_range(Datum::UInt(max)),
    }
}

/// Text in the column's set. Bytes that are no text of it: 1366.
fn transcode<'a>(
    v: Datum<'a>,
    from: Charset,
    collation: Collation,
    to: &mut Target<'_>,
) -> Result<Cow<'a, [u8]>> {
    let charset = collation.charset();
    let from = if matches!(v, Datum::Bytes(_) | Datum::Label(..)) { from } else { Charset::Ascii };
    let bytes = match v {
        Datum::Bits(b) => return check_text(b, charset, to),
        v => v.into_bytes(),
    };
    if charset == Charset::Binary || bytes.is_ascii() {
        return Ok(bytes);
    }
    if from == Charset::Binary || from == charset {
        return check_text(bytes, charset, to);
    }
    let bytes = check_text(bytes, from, to)?;
    let original = bytes.clone();
    let (converted, lost) = from.convert(bytes, charset);
    if lost {
        return incorrect_string(&original, 0, converted, to);
    }
    Ok(converted)
}

fn check_text<'a>(bytes: Cow<'a, [u8]>, charset: Charset, to: &mut Target<'_>) -> Result<Cow<'a, [u8]>> {
    let valid = charset.valid_prefix(&bytes);
    if valid == bytes.len() {
        return Ok(bytes);
    }
    let kept = match &bytes {
        Cow::Borrowed(b) => Cow::Borrowed(&b[..valid]),
        Cow::Owned(b) => Cow::Owned(b[..valid].to_vec()),
    };
    incorrect_string(&bytes, valid, kept, to)
}

fn incorrect_string<'a>(
    bytes: &[u8],
    from: usize,
    instead: Cow<'a, [u8]>,
    to: &mut Target<'_>,
) -> Result<Cow<'a, [u8]>> {
    let from = if from == 0 { bytes.iter().position(|b| !b.is_ascii()).unwrap_or(0) } else { from };
    let shown = escape(&bytes[from..]);
    let e = error::TRUNCATED_WRONG_VALUE_FOR_FIELD.with(&[&"string", &shown, &to.column, &to.row]);
    to.complain(e, instead)
}

/// At most six bytes, what isn't printable as `\xNN`, as MySQL shows wrong strings.
pub fn escape(bytes: &[u8]) -> String {
    let mut out = String::new();
    for &b in bytes.iter().take(6) {
        match b {
            b' '..=b'~' => out.push(char::from(b)),
            _ => out.push_str(&format!("\\x{b:02X}")),
        }
    }
    out + if bytes.len() > 6 { "..." } else { "" }
}

fn printable(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.chars().take(128).collect()
}

fn trim_end_spaces(bytes: Cow<'_, [u8]>) -> Cow<'_, [u8]> {
    let end = bytes.iter().rposition(|&b| b != b' ').map_or(0, |i| i + 1);
    cut(bytes, end)
}

fn cut(bytes: Cow<'_, [u8]>, end: usize) -> Cow<'_, [u8]> {
    match bytes {
        Cow::Borrowed(b) => Cow::Borrowed(&b[..end.min(b.len())]),
        Cow::Owned(mut b) => {
            b.truncate(end);
            Cow::Owned(b)
        }
    }
}

fn limit<'a>(
    bytes: Cow<'a, [u8]>,
    charset: Charset,
    chars: usize,
    to: &mut Target<'_>,
) -> Result<Cow<'a, [u8]>> {
    if bytes.len() <= chars {
        return Ok(bytes);
    }
    let end = charset.char_offset(&bytes, chars);
    let rest = &bytes[end..];
    if rest.is_empty() {
        return Ok(bytes);
    }
    if charset != Charset::Binary && rest.iter().all(|&b| b == b' ') {
        to.note_truncated();
    } else {
        too_long(to)?;
    }
    Ok(cut(bytes, end))
}

fn limit_bytes<'a>(
    bytes: Cow<'a, [u8]>,
    collation: Collation,
    max: u64,
    to: &mut Target<'_>,
) -> Result<Cow<'a, [u8]>> {
    if bytes.len() as u64 <= max {
        return Ok(bytes);
    }
    too_long(to)?;
    let charset = collation.charset();
    let mut end = max as usize;
    while charset != Charset::Binary && charset.valid_prefix(&bytes[..end]) != end {
        end -= 1;
    }
    Ok(cut(bytes, end))
}

fn too_long(to: &mut Target<'_>) -> Result<()> {
    if to.rules.strict {
        return Err(error::DATA_TOO_LONG.with(&[&to.column, &to.row]));
    }
    to.truncated(())
}

fn find_member(members: &[Box<[u8]>], collation: Collation, text: &[u8]) -> Result<Option<usize>> {
    for (i, member) in members.iter().enumerate() {
        if collation.compare(member, text).is_eq() {
            return Ok(Some(i));
        }
    }
    Ok(None)
}

fn enumeration<'a>(
    v: &Datum<'_>,
    text: Result<Cow<'_, [u8]>>,
    members: &[Box<[u8]>],
    collation: Collation,
    to: &mut Target<'_>,
) -> Result<Datum<'a>> {
    let number = match v {
        // What another ENUM holds for what it could not take.
        Datum::Label(0, text) if text.is_empty() => return Ok(label(0, Vec::new())),
        Datum::Bytes(_) | Datum::Label(..) => {
            let text = text?;
            let trimmed = text.trim_ascii_end();
            match find_member(members, collation, trimmed)? {
                Some(i) => Some(i as i128 + 1),
                // A number in text names a member too.
                None => Some(super::number::parse_integer(trimmed))
                    .filter(|n| n.len > 0 && n.len == trimmed.len() && n.value > 0)
                    .map(|n| n.value),
            }
        }
        other => Some(other.to_integer().value),
    };
    match number.and_then(|n| usize::try_from(n).ok()) {
        Some(n) if (1..=members.len()).contains(&n) => Ok(label(n as u64, members[n - 1].to_vec())),
        _ => to.truncated(label(0, Vec::new())),
    }
}

fn label<'a>(number: u64, text: Vec<u8>) -> Datum<'a> {
    Datum::Label(number, Cow::Owned(text))
}

/// The text of a SET's bits.
pub fn set_text(bits: u64, members: &[Box<[u8]>]) -> Vec<u8> {
    let on = members.iter().enumerate().filter(|(i, _)| bits >> i & 1 == 1);
    on.map(|(_, m)| &**m).collect::<Vec<_>>().join(&b","[..])
}

fn set<'a>(
    v: Datum<'_>,
    charset: Charset,
    members: &[Box<[u8]>],
    collation: Collation,
    to: &mut Target<'_>,
) -> Result<Datum<'a>> {
    let all = if members.len() == 64 { u64::MAX } else { (1 << members.len()) - 1 };
    let mut unknown = false;
    let bits = match v {
        Datum::Bytes(_) | Datum::Label(..) => {
            let text = transcode(v, charset, collation, to)?;
            let mut bits = 0;
            for word in text.split(|&b| b == b',').filter(|w| !w.is_empty()) {
                match find_member(members, collation, word)? {
                    Some(i) => bits |= 1 << i,
                    None => unknown = true,
                }
            }
            let number = super::number::parse_integer(&text);
            match u64::try_from(number.value) {
                Ok(n) if unknown && number.len == text.len() && n & !all == 0 => {
                    unknown = false;
                    n
                }
                _ => bits,
            }
        }
        other => match u64::try_from(other.to_integer().value) {
            Ok(n) => {
                unknown = n & !all != 0;
                n & all
            }
            Err(_) => {
                unknown = true;
                0
            }
        },
    };
    let value = label(bits, set_text(bits, members));
    if unknown { to.truncated(value) } else { Ok(value) }
}

/// 1292; where the session isn't strict, 1265 for text that does not read as one at all, else 1264.
fn incorrect<T>(kind: &str, v: &Datum<'_>, zero: T, to: &mut Target<'_>) -> Result<T> {
    if !to.rules.strict {
        let unreadable = v.is_text()
            && match kind {
                "time" => {
                    !v.to_bytes().trim_ascii().starts_with(b"-")
                        && super::number::scan(&v.to_bytes()).is_none()
                }
                _ => temporal_text::parse_datetime(&v.to_bytes()).is_none(),
            };
        return if unreadable { to.truncated(zero) } else { to.out_of_range(zero) };
    }
    let shown = printable(&v.to_bytes());
    Err(error::INCORRECT_VALUE.with(&[&kind, &shown, &to.column, &to.row]))
}

/// A date with a time that the session's rules allow; `None` if there is none in the value.
fn checked_datetime(v: &Datum<'_>, to: &Target<'_>) -> Option<(DateTime, bool)> {
    let (value, truncated) = match v {
        Datum::Bytes(b) | Datum::Label(_, b) => {
            let (text, minutes) = temporal_text::split_offset(b);
            let read = temporal_text::parse_datetime(text)?;
            let value = match minutes {
                Some(minutes) => {
                    to.rules.zone.show(read.value.add_micros(-i64::from(minutes) * 60 * SECOND)?)
                }
                None => read.value,
            };
            (value, read.truncated)
        }
        Datum::Int(0) | Datum::UInt(0) => (DateTime::ZERO, false),
        other => (other.to_datetime(super::Date::ZERO)?, false),
    };
    value.date.check(to.rules.dates).then_some((value, truncated))
}

fn date<'a>(v: &Datum<'_>, to: &mut Target<'_>) -> Result<Datum<'a>> {
    match checked_datetime(v, to) {
        Some((value, truncated)) => {
            if truncated {
                to.trailing("date", v)?;
            } else if value.micros != 0 {
                to.note_incorrect("date", v);
            }
            Ok(Datum::Date(value.date))
        }
        None => incorrect("date", v, Datum::Date(super::Date::ZERO), to),
    }
}

fn datetime(v: &Datum<'_>, fsp: u8, to: &mut Target<'_>) -> Result<DateTime> {
    let zero = DateTime { fsp, ..DateTime::ZERO };
    let Some((value, truncated)) = checked_datetime(v, to) else {
        return incorrect("datetime", v, zero, to);
    };
    if truncated {
        to.trailing("datetime", v)?;
    }
    if to.rules.truncate_fraction {
        return Ok(value.truncate(fsp));
    }
    match value.round(fsp) {
        Some(rounded) => Ok(rounded),
        None if to.rules.strict => Err(error::DATETIME_FUNCTION_OVERFLOW.with(&[&"datetime"])),
        None => incorrect("datetime", v, value.truncate(fsp), to),
    }
}

/// 2038-01-19 03:14:07 UTC.
const TIMESTAMP_MAX: i64 = i32::MAX as i64;

fn timestamp<'a>(v: &Datum<'_>, fsp: u8, to: &mut Target<'_>) -> Result<Datum<'a>> {
    let local = datetime(v, fsp, to)?;
    if local.is_zero() {
        return Ok(Datum::DateTime(local));
    }
    let zero = DateTime { fsp, ..DateTime::ZERO };
    let Some(moment) = local.unix_micros().map(|us| to.rules.zone.to_utc(us)) else {
        return incorrect("datetime", v, Datum::DateTime(zero), to);
    };
    match DateTime::from_unix_micros(moment.micros, fsp) {
        Some(_) if moment.in_gap && to.rules.strict => incorrect("datetime", v, Datum::DateTime(zero), to),
        Some(utc) if (1..=TIMESTAMP_MAX).contains(&moment.micros.div_euclid(SECOND)) => {
            if moment.in_gap {
                to.diagnostics.warn(error::WARN_INVALID_TIMESTAMP.with(&[&to.column, &to.row]));
            }
            Ok(Datum::DateTime(utc))
        }
        _ => incorrect("datetime", v, Datum::DateTime(zero), to),
    }
}

fn time<'a>(v: &Datum<'_>, fsp: u8, to: &mut Target<'_>) -> Result<Datum<'a>> {
    let read = match v {
        Datum::Bytes(b) | Datum::Label(_, b) if b.trim_ascii().is_empty() => {
            return Ok(Datum::Time(super::Time { micros: 0, fsp }));
        }
        Datum::Bytes(b) | Datum::Label(_, b) => {
            if temporal_text::looks_like_datetime(b.trim_ascii()) {
                to.note_incorrect("time", v);
            }
            temporal_text::parse_time(b)
        }
        other => other.to_time().map(|value| temporal_text::Read { value, truncated: false }),
    };
    let Some(read) = read else {
        let zero = super::Time { micros: 0, fsp };
        return incorrect("time", v, Datum::Time(zero), to);
    };
    if read.truncated {
        if read.value.micros.abs() >= super::temporal::TIME_MAX {
            return incorrect("time", v, Datum::Time(read.value.round(fsp)), to);
        }
        to.trailing("time", v)?;
    }
    let fitted = if to.rules.truncate_fraction { read.value.truncate(fsp) } else { read.value.round(fsp) };
    Ok(Datum::Time(fitted.clamp().0))
}

fn year<'a>(v: &Datum<'_>, to: &mut Target<'_>) -> Result<Datum<'a>> {
    let converted = v.to_integer();
    if !converted.whole && matches!(converted.value, 0..=99 | 1901..=2155) {
        to.bad_integer(v)?;
    }
    let is_text = v.is_text();
    let digits = if is_text { v.to_bytes().trim_ascii().len() } else { 0 };
    match converted.value {
        0 if is_text && (1..3).contains(&digits) => Ok(Datum::Year(2000)),
        0 => Ok(Datum::Year(0)),
        n @ 1..=69 => Ok(Datum::Year(2000 + n as u16)),
        n @ 70..=99 => Ok(Datum::Year(1900 + n as u16)),
        n @ 1901..=2155 => Ok(Datum::Year(n as u16)),
        _ => to.out_of_range(Datum::Year(0)),
    }
}

/// The value that stands for NULL or a missing one in a NOT NULL column where the session isn't strict.
pub fn implicit_default(ty: &DataType) -> Datum<'static> {
    match ty {
        DataType::Integer { sign, .. } if sign.unsigned => Datum::UInt(0),
        DataType::Integer { .. } => Datum::Int(0),
        DataType::Decimal { scale, .. } => Datum::Decimal(Decimal::ZERO.round(*scale)),
        DataType::Floating { double: true, .. } => Datum::Double(0.0),
        DataType::Floating { double: false, .. } => Datum::Float(0.0),
        DataType::Bit(_) => Datum::UInt(0),
        DataType::Char { length, collation: Collation::BINARY } => {
            Datum::owned(vec![0; usize::from(*length)])
        }
        DataType::Char { .. } | DataType::VarChar { .. } | DataType::Lob { .. } => Datum::borrowed(b""),
        DataType::Enum { members, .. } => {
            members.first().map_or(label(0, Vec::new()), |m| label(1, m.to_vec()))
        }
        DataType::Set { .. } => label(0, Vec::new()),
        DataType::Date => Datum::Date(super::Date::ZERO),
        DataType::Time(fsp) => Datum::Time(super::Time { micros: 0, fsp: *fsp }),
        DataType::DateTime(fsp) | DataType::Timestamp(fsp) => {
            Datum::DateTime(DateTime { fsp: *fsp, ..DateTime::ZERO })
        }
        DataType::Year => Datum::Year(0),
        // The JSON null.
        DataType::Json => Datum::Json(Cow::Borrowed(&[4, 0])),
    }
}

/// The value that stands for a NULL that a NOT NULL column was given where the session isn't strict: of an ENUM, no member.
pub fn null_substitute(ty: &DataType) -> Datum<'static> {
    match ty {
        DataType::Enum { .. } => label(0, Vec::new()),
        _ => implicit_default(ty),
    }
}

/// A value as it would be written in a statement: numbers bare, the rest quoted.
pub fn quoted(value: &Datum<'_>, out: &mut Vec<u8>) {
    match value {
        Datum::Null => out.extend_from_slice(b"NULL"),
        Datum::Bytes(_) | Datum::Label(..) | Datum::Bits(_) | Datum::Json(_) => {
            out.push(b'\'');
            for &b in value.to_bytes().iter() {
                match b {
                    b'\'' => out.extend_from_slice(b"''"),
                    b'\\' => out.extend_from_slice(b"\\\\"),
                    0 => out.extend_from_slice(b"\\0"),
                    b'\n' => out.extend_from_slice(b"\\n"),
                    b => out.push(b),
                }
            }
            out.push(b'\'');
        }
        other => {
            out.push(b'\'');
            text::write(other, out);
            out.push(b'\'');
        }
    }
}
