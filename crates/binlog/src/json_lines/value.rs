//! A row's values as JSON.

use super::{Object, list, put};
use crate::event::{EventError, TableMapEvent};
use crate::row::json::{JsonOperation, base64, diffs, write_quoted};
use crate::row::{BINARY_COLLATION, ColumnType, code};
use crate::row::{Field, RowImage, Value, json};

/// What a table's columns, and the elements of its ENUM and SET columns, are called.
pub(super) struct Names<'a> {
    table: &'a TableMapEvent,
    /// Each column's name as a JSON string.
    columns: Vec<Vec<u8>>,
    /// Each column's number among the ENUM columns, or among the SET columns.
    ordinals: Vec<usize>,
}

impl<'a> Names<'a> {
    pub(super) fn of(table: &'a TableMapEvent) -> Self {
        let names = table.metadata.column_names().unwrap_or_default();
        let (mut enums, mut sets) = (0, 0);
        let mut found = Self { table, columns: Vec::new(), ordinals: Vec::new() };
        for (i, ty) in table.columns.iter().enumerate() {
            let mut name = Vec::new();
            match names.get(i) {
                Some(given) => write_quoted(String::from_utf8_lossy(given).as_bytes(), &mut name),
                None => put(&mut name, format_args!("\"@{}\"", i + 1)),
            }
            found.columns.push(name);
            let counter = if ty.code == code::ENUM { &mut enums } else { &mut sets };
            found.ordinals.push(*counter);
            *counter += usize::from(ty.is_enum_or_set());
        }
        found
    }

    fn elements(&self, field: &Field<'_>) -> Option<&'a [Vec<u8>]> {
        let n = *self.ordinals.get(field.column)?;
        if field.ty.code == code::ENUM {
            self.table.metadata.enum_values(n)
        } else {
            self.table.metadata.set_values(n)
        }
    }
}

/// Appends an object of the image's columns.
pub(super) fn write_image(
    names: &Names<'_>,
    image: &RowImage<'_>,
    out: &mut Vec<u8>,
) -> Result<(), EventError> {
    out.push(b'{');
    for (i, field) in image.fields().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        out.extend_from_slice(names.columns.get(field.column).map_or(b"\"\"", Vec::as_slice));
        out.push(b':');
        write_value(names, &field, out)?;
    }
    out.push(b'}');
    Ok(())
}

fn write_value(names: &Names<'_>, field: &Field<'_>, out: &mut Vec<u8>) -> Result<(), EventError> {
    match field.value()? {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Int(v) => put(out, format_args!("{v}")),
        Value::UInt(v) => put(out, format_args!("{v}")),
        Value::Float(v) if v.is_finite() => put(out, format_args!("{v:?}")),
        Value::Double(v) if v.is_finite() => put(out, format_args!("{v:?}")),
        Value::Float(v) => put(out, format_args!("\"{v}\"")),
        Value::Double(v) => put(out, format_args!("\"{v}\"")),
        Value::Decimal(v) => put(out, format_args!("\"{v}\"")),
        Value::Bytes(b) => write_string(field.ty, b, out),
        Value::Geometry(b) => write_base64(b, out),
        Value::Date(v) => put(out, format_args!("\"{v}\"")),
        Value::Time(v) => put(out, format_args!("\"{v}\"")),
        Value::DateTime(v) => put(out, format_args!("\"{v}\"")),
        Value::Timestamp(v) => put(out, format_args!("\"{}\"", v.utc())),
        Value::Year(v) => put(out, format_args!("{v}")),
        Value::Bit(v) => put(out, format_args!("{v}")),
        Value::Enum(v) => match names.elements(field).and_then(|all| all.get(usize::from(v).wrapping_sub(1)))
        {
            Some(element) => write_string(field.ty, element, out),
            None => put(out, format_args!("{v}")),
        },
        Value::Set(v) => match names.elements(field) {
            Some(all) => {
                let chosen = all.iter().take(64).enumerate().filter(|(i, _)| v >> i & 1 != 0);
                list(out, chosen, |out, (_, element)| write_string(field.ty, element, out));
            }
            None => put(out, format_args!("{v}")),
        },
        Value::Json(document) => write_document(document, out)?,
        Value::JsonDiffs(bytes) => write_diffs(bytes, out)?,
    }
    Ok(())
}

/// A stored document. Strings in it that are no UTF-8, which no server writes, get the replacement
/// character.
fn write_document(document: &[u8], out: &mut Vec<u8>) -> Result<(), EventError> {
    let start = out.len();
    json::write_text(document, out)?;
    let written = out.get(start..).unwrap_or_default();
    if let std::borrow::Cow::Owned(mended) = String::from_utf8_lossy(written) {
        out.truncate(start);
        out.extend_from_slice(mended.as_bytes());
    }
    Ok(())
}

/// Text as a string, other bytes as base64.
fn write_string(ty: &ColumnType, bytes: &[u8], out: &mut Vec<u8>) {
    match CharacterSet::of(ty) {
        CharacterSet::Utf8 => write_text(bytes, out),
        CharacterSet::Latin1 => write_quoted(latin1(bytes).as_bytes(), out),
        CharacterSet::Bytes => write_base64(bytes, out),
    }
}

/// A string if the bytes are UTF-8; otherwise base64 in an object.
pub(super) fn write_text(bytes: &[u8], out: &mut Vec<u8>) {
    match std::str::from_utf8(bytes) {
        Ok(text) => write_quoted(text.as_bytes(), out),
        Err(_) => write_base64(bytes, out),
    }
}

/// `{"base64":".."}`
fn write_base64(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"base64\":\"");
    base64(bytes, out);
    out.extend_from_slice(b"\"}");
}

/// How a column's bytes become text.
enum CharacterSet {
    /// As they are: UTF-8, ASCII, or not known.
    Utf8,
    Latin1,
    /// Not at all.
    Bytes,
}

impl CharacterSet {
    /// By the collation's number, as MySQL and MariaDB give them.
    fn of(ty: &ColumnType) -> Self {
        match ty.charset {
            _ if ty.code == code::VECTOR => Self::Bytes,
            BINARY_COLLATION => Self::Bytes,
            5 | 8 | 15 | 31 | 47 | 48 | 49 | 94 => Self::Latin1,
            0 | 11 | 65 => Self::Utf8,                     // not known, ascii
            33 | 76 | 83 | 192..=215 | 223 => Self::Utf8,  // utf8mb3
            45 | 46 | 224..=247 | 255..=323 => Self::Utf8, // utf8mb4
            2048..=2559 => Self::Utf8,                     // MariaDB's uca1400 for utf8mb3 and utf8mb4
            _ => Self::Bytes,
        }
    }
}

/// MySQL's latin1, which is Windows 1252; what that lacks are the control characters of ISO 8859-1.
fn latin1(bytes: &[u8]) -> String {
    const FROM_80: [char; 32] = [
        '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}',
        '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
    ];
    bytes
        .iter()
        .map(|&b| if (0x80..0xa0).contains(&b) { FROM_80[usize::from(b - 0x80)] } else { char::from(b) })
        .collect()
}

/// The changes of a partial update: `[{"op":"replace","path":"$.a","value":1}]`
fn write_diffs(bytes: &[u8], out: &mut Vec<u8>) -> Result<(), EventError> {
    out.push(b'[');
    for (i, diff) in diffs(bytes).enumerate() {
        let diff = diff?;
        if i > 0 {
            out.push(b',');
        }
        let mut object = Object::open(out);
        object.word(
            "op",
            match diff.operation {
                JsonOperation::Replace => "replace",
                JsonOperation::Insert => "insert",
                JsonOperation::Remove => "remove",
            },
        );
        object.text("path", diff.path);
        if diff.operation != JsonOperation::Remove {
            write_document(diff.value, object.name("value"))?;
        }
        object.close();
    }
    out.push(b']');
    Ok(())
}

/// The column's type in SQL's words.
pub(super) fn type_name(ty: &ColumnType) -> String {
    let meta = ty.meta;
    let is_binary = ty.charset == BINARY_COLLATION;
    let either = |binary: &str, text: &str| if is_binary { binary.to_owned() } else { text.to_owned() };
    match ty.code {
        code::TINY => "tinyint".into(),
        code::SHORT => "smallint".into(),
        code::INT24 => "mediumint".into(),
        code::LONG => "int".into(),
        code::LONGLONG => "bigint".into(),
        code::FLOAT => "float".into(),
        code::DOUBLE => "double".into(),
        code::NEWDECIMAL => format!("decimal({},{})", meta >> 8, meta & 0xff),
        code::YEAR => "year".into(),
        code::DATE | code::NEWDATE => "date".into(),
        code::TIME => "time".into(),
        code::DATETIME => "datetime".into(),
        code::TIMESTAMP => "timestamp".into(),
        code::TIME2 => format!("time({meta})"),
        code::DATETIME2 => format!("datetime({meta})"),
        code::TIMESTAMP2 => format!("timestamp({meta})"),
        code::BIT => format!("bit({meta})"),
        code::ENUM => "enum".into(),
        code::SET => "set".into(),
        code::STRING => either("binary", "char"),
        code::VARCHAR | code::VAR_STRING => either("varbinary", "varchar"),
        code::BLOB => match meta {
            1 => either("tinyblob", "tinytext"),
            2 => either("blob", "text"),
            3 => either("mediumblob", "mediumtext"),
            _ => either("longblob", "longtext"),
        },
        code::JSON => "json".into(),
        code::GEOMETRY => "geometry".into(),
        code::VECTOR => "vector".into(),
        other => format!("type {other}"),
    }
}
