//! Storing: any value becomes one of a column's type.
//!
//! [`fit`] gives the value in the form that the column's row image has: integers in range, decimals
//! with the column's digits, text in its character set and length, labels with their number, time
//! stamps in UTC. Where the value doesn't fit, strict sessions fail (1264, 1265, 1292, 1366, 1406)
//! and others go on with the nearest value and a warning of the same number.

mod copied;
mod labels;
mod numbers;
mod temporal;

use std::borrow::Cow;

pub use copied::copied;
pub(crate) use labels::set_text;
pub use numbers::integer_range;

use self::labels::label;
use super::temporal::{Date, DateRules, DateTime};
use super::{Datum, Decimal, bits_to_u64, number, text};
use crate::error::{self, Diagnostics, Result, SqlError};
use crate::types::{Charset, Collation, DataType, Type, code, lob_length_max};
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
    /// The statement's moment, microseconds since 1970, UTC: a time without a date is of its day.
    pub moment: i64,
    /// TIME_TRUNCATE_FRACTIONAL
    pub truncate_fraction: bool,
}

impl Rules {
    /// The statement's day in the session's time zone.
    pub(crate) fn today(&self) -> Date {
        DateTime::from_unix_micros(self.zone.to_local(self.moment), 0).unwrap_or(DateTime::ZERO).date
    }
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

    /// Text that goes on after a date or time.
    fn trailing(&mut self, kind: &str, given: &Datum<'_>) -> Result<()> {
        if !self.rules.strict {
            return self.truncated(());
        }
        let shown = printable(&given.to_bytes());
        Err(error::INCORRECT_VALUE.with(&[&kind, &shown, &self.column, &self.row]))
    }

    /// Text that is no integer, or goes on after one.
    fn bad_integer(&mut self, given: &Datum<'_>) -> Result<()> {
        if number::parse_integer(&given.to_bytes()).len > 0 {
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

/// The value of an expression of type `ty` on its way to [`fit`], which has to tell two values of
/// the same number and text apart: what an ENUM holds for what it could not take, which other ENUMs
/// take, and a SET without members, whose empty text is no member of most. No bits at all stand for
/// the latter.
pub fn of_expression<'a>(value: Datum<'a>, ty: &Type) -> Datum<'a> {
    match value {
        Datum::Label(0, text) if ty.code == code::SET => Datum::Bits(text),
        other => other,
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
        Datum::Bits(bits) => bits_as(bits, charset, ty),
        moment @ (Datum::Date(_) | Datum::Time(_) | Datum::DateTime(_))
            if matches!(ty, DataType::Enum { .. } | DataType::Set { .. }) =>
        {
            Datum::Bytes(moment.into_bytes())
        }
        other => other,
    };
    match ty {
        DataType::Json => document(value, charset, to),
        DataType::Integer { size, sign, .. } => numbers::integer(&value, *size, sign.unsigned, to),
        DataType::Decimal { precision, scale, sign } => {
            numbers::decimal(&value, *precision, *scale, sign.unsigned, to)
        }
        DataType::Floating { double, digits, sign } => {
            numbers::floating(&value, *double, *digits, sign.unsigned, to)
        }
        DataType::Bit(width) => numbers::bit(&value, *width, to),
        DataType::Char { length, collation: Collation::BINARY } => {
            let value = numbers::in_width(value, usize::from(*length));
            let mut bytes = limit(value.into_bytes(), Charset::Binary, usize::from(*length), to)?;
            if bytes.len() < usize::from(*length) {
                bytes.to_mut().resize(usize::from(*length), 0);
            }
            Ok(Datum::Bytes(bytes))
        }
        DataType::Char { length, collation } => {
            // Trailing spaces are not part of the value, however many there are.
            let value = numbers::in_width(value, usize::from(*length));
            let bytes = trim_end_spaces(transcode(value, charset, *collation, to)?);
            let bytes = limit(bytes, collation.charset(), usize::from(*length), to)?;
            Ok(Datum::Bytes(trim_end_spaces(bytes)))
        }
        DataType::VarChar { length, collation } => {
            let value = numbers::in_width(value, usize::from(*length));
            let bytes = transcode(value, charset, *collation, to)?;
            Ok(Datum::Bytes(limit(bytes, collation.charset(), usize::from(*length), to)?))
        }
        DataType::Lob { length_bytes, collation } => {
            let bytes = transcode(value, charset, *collation, to)?;
            Ok(Datum::Bytes(limit_bytes(bytes, *collation, lob_length_max(*length_bytes), to)?))
        }
        DataType::Enum { members, collation } => {
            labels::enumeration(&value, charset, members, *collation, to)
        }
        DataType::Set { members, collation } => labels::set(value, charset, members, *collation, to),
        DataType::Date => temporal::date(&value, to),
        DataType::Time(fsp) => temporal::time(&value, *fsp, to),
        DataType::DateTime(fsp) => temporal::datetime(&value, *fsp, to).map(Datum::DateTime),
        DataType::Timestamp(fsp) => temporal::timestamp(&value, *fsp, to),
        DataType::Year => temporal::year(&value, to),
    }
}

/// A hexadecimal literal, which is in the set `binary`, is a text to all but numbers; a BIT
/// column's value is a number to all but byte strings without a length.
fn bits_as<'a>(bits: Cow<'a, [u8]>, charset: Charset, ty: &DataType) -> Datum<'a> {
    use DataType as D;
    match ty {
        // A SET without members, of `of_expression`.
        D::Enum { .. } if bits.is_empty() => Datum::Bytes(bits),
        _ if bits.is_empty() && charset != Charset::Binary => Datum::Label(0, bits),
        D::Enum { .. } | D::Set { .. } | D::Date | D::Time(_) | D::DateTime(_) | D::Timestamp(_)
            if charset == Charset::Binary =>
        {
            Datum::Bytes(bits)
        }
        D::Bit(_) | D::Lob { .. } | D::Json => Datum::Bits(bits),
        _ if charset == Charset::Binary => Datum::Bits(bits),
        _ => Datum::UInt(bits_to_u64(&bits)),
    }
}

/// A document; 3140 for text that is not JSON, 3144 for byte strings.
fn document<'a>(value: Datum<'a>, charset: Charset, to: &Target<'_>) -> Result<Datum<'a>> {
    use super::json::ParseError;
    use super::json::convert::{Unsuitable, document};
    let invalid = |message: &str, at: usize| {
        let column =
            if to.table.is_empty() { to.column.to_owned() } else { format!("{}.{}", to.table, to.column) };
        error::INVALID_JSON_TEXT.with(&[&message, &at, &column])
    };
    document(value, charset).map(Datum::Json).map_err(|e| match e {
        Unsuitable::Text(ParseError::Syntax(message, at)) => invalid(message, at),
        Unsuitable::Text(ParseError::TooDeep) => error::JSON_DOCUMENT_TOO_DEEP.plain(),
        Unsuitable::Text(ParseError::Ended) => crate::bounds::ended(),
        Unsuitable::Binary => error::INVALID_JSON_CHARSET.with(&[&"binary"]),
        Unsuitable::NoText => invalid("not a JSON text, may need CAST", 0),
        Unsuitable::Other(e) => e,
    })
}

/// A document on its way into a column of another type: text columns get its text, others its
/// scalar. `None` where it has no value of such a type and that is only a warning.
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
        let wrong = first_lost(&original, from, charset);
        return incorrect_string(&original, wrong, converted, to);
    }
    Ok(converted)
}

/// Where the first character lies that another character set lacks.
fn first_lost(text: &[u8], from: Charset, to: Charset) -> usize {
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let width = (1..=rest.len().min(from.char_len_max() as usize))
            .find(|&width| from.valid_prefix(&rest[..width]) == width)
            .unwrap_or(1);
        if from.convert(rest[..width].into(), to).1 {
            return at;
        }
        at += width;
    }
    0
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

/// At most 128 characters; bytes that are none as `\xNN`.
fn printable(bytes: &[u8]) -> String {
    let mut out = String::new();
    for chunk in bytes.utf8_chunks() {
        out.push_str(chunk.valid());
        chunk.invalid().iter().for_each(|byte| out.push_str(&format!("\\x{byte:02X}")));
        if out.len() > 512 {
            break; // 128 characters are in it
        }
    }
    out.chars().take(128).collect()
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

/// The value that stands for NULL or a missing one in a NOT NULL column where the session isn't
/// strict.
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
        DataType::Date => Datum::Date(Date::ZERO),
        DataType::Time(fsp) => Datum::Time(super::Time { micros: 0, fsp: *fsp }),
        DataType::DateTime(fsp) | DataType::Timestamp(fsp) => {
            Datum::DateTime(DateTime { fsp: *fsp, ..DateTime::ZERO })
        }
        DataType::Year => Datum::Year(0),
        // The JSON null.
        DataType::Json => Datum::Json(Cow::Borrowed(&[4, 0])),
    }
}

/// The value that stands for a NULL that a NOT NULL column was given where the session isn't
/// strict: of an ENUM, no member.
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
                    b'\r' => out.extend_from_slice(b"\\r"),
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
