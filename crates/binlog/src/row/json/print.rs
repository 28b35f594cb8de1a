//! Printing: `{"a": 1, "b": [true, null]}`, MySQL's spacing, and the indented form of JSON_PRETTY.

use std::fmt::Write;

use super::view::{Container, Json, Node};
use super::{DAMAGED, DEPTH_MAX};
use crate::row::RowError;
use crate::row::column_type::code;
use crate::row::decimal::Decimal;
use crate::row::number::write_json_double;
use crate::row::temporal::{DateTime, Time};
use crate::row::value::ByteWriter;

/// Appends the document's text as MySQL prints it: `{"a": 1, "b": [true, null]}`. No bytes at all
/// are JSON null.
///
/// # Errors
/// [`RowError::Malformed`] if the document is damaged, or the text too long.
pub fn write_text(document: &[u8], out: &mut Vec<u8>) -> Result<(), RowError> {
    print(document, false, usize::MAX, out)
}

/// Appends the document's text with a line for each member and element, indented by two spaces a
/// level. Fails once `out` has more than `max` bytes, soon after.
///
/// # Errors
/// [`RowError::Malformed`] if the document is damaged, or the text too long.
pub fn write_pretty(document: &[u8], max: usize, out: &mut Vec<u8>) -> Result<(), RowError> {
    print(document, true, max, out)?;
    if out.len() > max { Err(TOO_LONG) } else { Ok(()) }
}

const TOO_LONG: RowError = RowError::Malformed("JSON document whose text is too long");

fn print(document: &[u8], pretty: bool, max: usize, out: &mut Vec<u8>) -> Result<(), RowError> {
    let value = Json::document(document)?;
    Printer { out, budget: document.len().max(1), depth: 0, pretty, max }.value(value)
}

struct Printer<'a> {
    out: &'a mut Vec<u8>,
    /// Bytes that may still be read.
    budget: usize,
    depth: usize,
    pretty: bool,
    /// The most bytes that are wanted.
    max: usize,
}

impl Printer<'_> {
    fn spend(&mut self, bytes: usize) -> Result<(), RowError> {
        self.budget = self.budget.checked_sub(bytes).ok_or(DAMAGED)?;
        Ok(())
    }

    fn value(&mut self, value: Json<'_>) -> Result<(), RowError> {
        self.spend(1)?;
        if self.out.len() > self.max {
            return Err(TOO_LONG);
        }
        match value.node()? {
            Node::Null => self.out.extend_from_slice(b"null"),
            Node::Bool(true) => self.out.extend_from_slice(b"true"),
            Node::Bool(false) => self.out.extend_from_slice(b"false"),
            Node::Int(v) => self.display(v),
            Node::UInt(v) => self.display(v),
            Node::Double(v) => write_json_double(&mut ByteWriter(self.out), v).unwrap_or_default(),
            Node::String(text) => {
                self.spend(text.len())?;
                if self.out.len().saturating_add(text.len()) > self.max {
                    self.out.extend_from_slice(text);
                    return Err(TOO_LONG);
                }
                write_quoted(text, self.out);
            }
            Node::Opaque(field_type, bytes) => {
                self.spend(bytes.len())?;
                self.out.reserve(bytes.len());
                return self.opaque(field_type, bytes);
            }
            Node::Container(container) => return self.container(&container),
        }
        Ok(())
    }

    fn container(&mut self, container: &Container<'_>) -> Result<(), RowError> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(RowError::Malformed("JSON document is nested too deeply"));
        }
        let (open, close) = if container.is_object() { (b'{', b'}') } else { (b'[', b']') };
        self.out.push(open);
        for i in 0..container.len() {
            if i > 0 {
                self.out.extend_from_slice(if self.pretty { b"," } else { b", " });
            }
            self.new_line(self.depth);
            if container.is_object() {
                let key = container.key(i)?;
                self.spend(key.len())?;
                write_quoted(key, self.out);
                self.out.extend_from_slice(b": ");
            }
            self.value(container.value(i)?)?;
        }
        self.depth -= 1;
        if !container.is_empty() {
            self.new_line(self.depth);
        }
        self.out.push(close);
        Ok(())
    }

    fn new_line(&mut self, depth: usize) {
        if self.pretty {
            self.out.push(b'\n');
            self.out.resize(self.out.len() + 2 * depth, b' ');
        }
    }

    fn display(&mut self, v: impl std::fmt::Display) {
        write!(ByteWriter(self.out), "{v}").unwrap_or_default();
    }

    /// Values of SQL types. Dates and times are strings, decimals numbers, the rest base64 with its
    /// type's number.
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
}

/// Appends a JSON string with its quotes and escapes.
pub fn write_quoted(text: &[u8], out: &mut Vec<u8>) {
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
