//! MySQL's binary JSON, read: a document to text, and the changes of a partial update.
//!
//! A value is a type byte and its data. Objects and arrays hold offsets to their members (2 bytes each in the small
//! form, 4 in the large one), or small values in the offset's place. Offsets may point anywhere, so a hostile document
//! could name one member a thousand times at a thousand levels: reading stops when it has looked at more bytes than a
//! correct document of that length has, and at MySQL's own limit of 100 levels.
//!
//! Source: MySQL source documentation, `json_binary.h`.

use std::fmt::Write;

use stdx::cursor::Cursor;

use super::RowError;
use super::decimal::Decimal;
use super::number::write_json_double;
use super::temporal::{DateTime, Time};
use super::value::ByteWriter;
use crate::row::column_type::code;

const SMALL_OBJECT: u8 = 0x0;
const LARGE_OBJECT: u8 = 0x1;
const SMALL_ARRAY: u8 = 0x2;
const LARGE_ARRAY: u8 = 0x3;
const LITERAL: u8 = 0x4;
const INT16: u8 = 0x5;
const UINT16: u8 = 0x6;
const INT32: u8 = 0x7;
const UINT32: u8 = 0x8;
const INT64: u8 = 0x9;
const UINT64: u8 = 0xa;
const DOUBLE: u8 = 0xb;
const STRING: u8 = 0xc;
const OPAQUE: u8 = 0xf;

const DEPTH_MAX: usize = 100;
const DAMAGED: RowError = RowError::Malformed("JSON document");

/// Appends the document's text as MySQL prints it: `{"a": 1, "b": [true, null]}`. No bytes at all are JSON null.
pub fn write_text(document: &[u8], out: &mut Vec<u8>) -> Result<(), RowError> {
    let Some((&kind, data)) = document.split_first() else {
        out.extend_from_slice(b"null");
        return Ok(());
    };
    Printer { out, budget: document.len(), depth: 0 }.value(kind, data)
}

struct Printer<'a> {
    out: &'a mut Vec<u8>,
    /// Bytes that may still be looked at.
    budget: usize,
    depth: usize,
}

/// Where a container's entries are.
struct Container<'a> {
    bytes: &'a [u8],
    count: usize,
    /// Width of counts and offsets.
    width: usize,
    is_object: bool,
}

impl<'a> Container<'a> {
    fn new(kind: u8, data: &'a [u8]) -> Result<Self, RowError> {
        let width = if matches!(kind, LARGE_OBJECT | LARGE_ARRAY) { 4 } else { 2 };
        let is_object = matches!(kind, SMALL_OBJECT | LARGE_OBJECT);
        let mut c = Cursor::new(data);
        let (count, size) = (c.uint(width)? as usize, c.uint(width)? as usize);
        let bytes = data.get(..size).ok_or(DAMAGED)?;
        Ok(Self { bytes, count, width, is_object })
    }

    fn key_entry_len(&self) -> usize {
        if self.is_object { self.width + 2 } else { 0 }
    }

    fn key(&self, i: usize) -> Result<&'a [u8], RowError> {
        let at = 2 * self.width + i * self.key_entry_len();
        let mut c = Cursor::new(self.bytes.get(at..).ok_or(DAMAGED)?);
        let (offset, len) = (c.uint(self.width)? as usize, usize::from(c.u16()?));
        self.bytes.get(offset..).and_then(|b| b.get(..len)).ok_or(DAMAGED)
    }

    /// A member's type and data.
    fn value(&self, i: usize) -> Result<(u8, &'a [u8]), RowError> {
        let at = 2 * self.width + self.count * self.key_entry_len() + i * (1 + self.width);
        let mut c = Cursor::new(self.bytes.get(at..).ok_or(DAMAGED)?);
        let kind = c.u8()?;
        let inline = match kind {
            LITERAL | INT16 | UINT16 => true,
            INT32 | UINT32 => self.width == 4,
            _ => false,
        };
        if inline {
            return Ok((kind, c.take(self.width)?));
        }
        let offset = c.uint(self.width)? as usize;
        Ok((kind, self.bytes.get(offset..).ok_or(DAMAGED)?))
    }
}

impl Printer<'_> {
    fn spend(&mut self, bytes: usize) -> Result<(), RowError> {
        self.budget = self.budget.checked_sub(bytes).ok_or(DAMAGED)?;
        Ok(())
    }

    fn value(&mut self, kind: u8, data: &[u8]) -> Result<(), RowError> {
        self.spend(1)?;
        let mut c = Cursor::new(data);
        match kind {
            SMALL_OBJECT | LARGE_OBJECT | SMALL_ARRAY | LARGE_ARRAY => {
                return self.container(&Container::new(kind, data)?);
            }
            LITERAL => self.out.extend_from_slice(match c.u8()? {
                0 => b"null",
                1 => b"true",
                2 => b"false",
                _ => return Err(DAMAGED),
            }),
            INT16 => self.display(c.u16()? as i16),
            UINT16 => self.display(c.u16()?),
            INT32 => self.display(c.u32()? as i32),
            UINT32 => self.display(c.u32()?),
            INT64 => self.display(c.u64()? as i64),
            UINT64 => self.display(c.u64()?),
            DOUBLE => drop(write_json_double(&mut ByteWriter(self.out), f64::from_bits(c.u64()?))),
            STRING => {
                let n = variable_len(&mut c)?;
                let text = c.take(n)?;
                self.spend(n)?;
                self.quoted(text);
            }
            OPAQUE => {
                let field_type = c.u8()?;
                let n = variable_len(&mut c)?;
                let bytes = c.take(n)?;
                self.spend(n)?;
                return self.opaque(field_type, bytes);
            }
            _ => return Err(DAMAGED),
        }
        Ok(())
    }

    fn container(&mut self, container: &Container<'_>) -> Result<(), RowError> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(RowError::Malformed("JSON document is nested too deeply"));
        }
        let (open, close) = if container.is_object { (b'{', b'}') } else { (b'[', b']') };
        self.out.push(open);
        for i in 0..container.count {
            if i > 0 {
                self.out.extend_from_slice(b", ");
            }
            if container.is_object {
                let key = container.key(i)?;
                self.spend(key.len())?;
                self.quoted(key);
                self.out.extend_from_slice(b": ");
            }
            let (kind, data) = container.value(i)?;
            self.value(kind, data)?;
        }
        self.out.push(close);
        self.depth -= 1;
        Ok(())
    }

    fn display(&mut self, v: impl std::fmt::Display) {
        write!(ByteWriter(self.out), "{v}").unwrap_or_default();
    }

    /// Values of SQL types. Dates and times are strings, decimals numbers, the rest base64 with its type's number.
    fn opaque(&mut self, field_type: u8, bytes: &[u8]) -> Result<(), RowError> {
        let packed = || bytes.first_chunk::<8>().map(|b| i64::from_le_bytes(*b)).ok_or(DAMAGED);
        match field_type {
            code::NEWDECIMAL => {
                let [precision, scale, digits @ ..] = bytes else { return Err(DAMAGED) };
                let (precision, scale) = (*precision, *scale);
                if precision > 65 || scale > 30 || scale > precision {
                    return Err(DAMAGED);
                }
                self.display(Decimal { bytes: digits, precision, scale });
            }
            code::DATE => {
                let day = DateTime::from_i64(packed()?).date;
                self.display(format_args!("\"{day}\""));
            }
            code::TIME => {
                let time = Time::from_i64(packed()?);
                self.display(format_args!("\"{time}\""));
            }
            code::DATETIME | code::TIMESTAMP => {
                let moment = DateTime::from_i64(packed()?);
                self.display(format_args!("\"{moment}\""));
            }
            _ => {
                self.display(format_args!("\"base64:type{field_type}:"));
                base64(bytes, self.out);
                self.out.push(b'"');
            }
        }
        Ok(())
    }

    fn quoted(&mut self, text: &[u8]) {
        write_quoted(text, self.out);
    }
}

/// Appends a JSON string with its quotes and escapes.
pub(crate) fn write_quoted(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    for &b in text {
        match b {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            0x08 => out.extend_from_slice(b"\\b"),
            0x0c => out.extend_from_slice(b"\\f"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            0..0x20 => write!(ByteWriter(out), "\\u{b:04x}").unwrap_or_default(),
            _ => out.push(b),
        }
    }
    out.push(b'"');
}

/// Appends base64 with padding.
pub(crate) fn base64(bytes: &[u8], out: &mut Vec<u8>) {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for chunk in bytes.chunks(3) {
        let group = chunk.iter().enumerate().fold(0_u32, |g, (i, &b)| g | u32::from(b) << (16 - 8 * i));
        for i in 0..4 {
            let digit = ALPHABET[(group >> (18 - 6 * i) & 63) as usize];
            out.push(if i <= chunk.len() { digit } else { b'=' });
        }
    }
}

/// Seven bits a byte, lowest first, the high bit says that more follow; at most 5 bytes.
fn variable_len(c: &mut Cursor<'_>) -> Result<usize, RowError> {
    let mut len = 0_u64;
    for shift in (0..35).step_by(7) {
        let byte = c.u8()?;
        len |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return u32::try_from(len).map(|n| n as usize).map_err(|_| DAMAGED);
        }
    }
    Err(DAMAGED)
}

/// One change to a document in a partial update.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JsonDiff<'a> {
    /// What to do.
    pub operation: JsonOperation,
    /// Where, as a JSON path (`$.a[2]`).
    pub path: &'a [u8],
    /// The new value in binary form; empty for a removal.
    pub value: &'a [u8],
}

/// What a [`JsonDiff`] does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonOperation {
    /// Puts the value in the place of one that is there.
    Replace,
    /// Adds a member or an array element.
    Insert,
    /// Takes the value away.
    Remove,
}

/// Reads a column's changes one by one.
pub fn diffs(bytes: &[u8]) -> impl Iterator<Item = Result<JsonDiff<'_>, RowError>> {
    let mut c = Cursor::new(bytes);
    std::iter::from_fn(move || {
        if c.is_empty() {
            return None;
        }
        let diff = next_diff(&mut c);
        if diff.is_err() {
            c.take_rest();
        }
        Some(diff)
    })
}

fn next_diff<'a>(c: &mut Cursor<'a>) -> Result<JsonDiff<'a>, RowError> {
    let operation = match c.u8()? {
        0 => JsonOperation::Replace,
        1 => JsonOperation::Insert,
        2 => JsonOperation::Remove,
        _ => return Err(RowError::Malformed("JSON change")),
    };
    let path = c.lenenc_bytes()?;
    let value = if operation == JsonOperation::Remove { &[][..] } else { c.lenenc_bytes()? };
    Ok(JsonDiff { operation, path, value })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn text(document: &[u8]) -> Result<String, RowError> {
        let mut out = Vec::new();
        write_text(document, &mut out)?;
        Ok(String::from_utf8(out).unwrap())
    }

    #[test]
    fn scalars() {
        assert_eq!(text(&[]).unwrap(), "null");
        assert_eq!(text(&[LITERAL, 1]).unwrap(), "true");
        assert_eq!(text(&[INT16, 0xfd, 0xff]).unwrap(), "-3");
        assert_eq!(text(&[STRING, 3, b'a', b'"', 1]).unwrap(), "\"a\\\"\\u0001\"");
        let one = [&[DOUBLE][..], &1_f64.to_le_bytes()].concat();
        assert_eq!(text(&one).unwrap(), "1.0");
        assert_eq!(text(&[OPAQUE, 253, 4, 1, 2, 3, 4]).unwrap(), "\"base64:type253:AQIDBA==\"");
        assert_eq!(text(&[OPAQUE, 246, 4, 3, 2, 0x81, 0x32]).unwrap(), "1.50");
    }

    #[test]
    fn a_document_that_names_itself_again_and_again_ends() {
        // An array of 50 members, all of which are the array itself.
        let mut bytes = vec![SMALL_ARRAY, 50, 0, 154, 0];
        (0..50).for_each(|_| bytes.extend_from_slice(&[SMALL_ARRAY, 0, 0]));
        assert!(text(&bytes).is_err());
    }

    #[test]
    fn changes_are_read_one_by_one() {
        let bytes = [&[0, 3][..], b"$.a", &[2, LITERAL, 1, 2, 4], b"$[3]"].concat();
        let all: Vec<_> = diffs(&bytes).map(Result::unwrap).collect();
        assert_eq!(
            all[0],
            JsonDiff { operation: JsonOperation::Replace, path: b"$.a", value: &[LITERAL, 1] }
        );
        assert_eq!(all[1], JsonDiff { operation: JsonOperation::Remove, path: b"$[3]", value: &[] });
        assert!(diffs(&[9]).next().unwrap().is_err());
    }
}
