//! A column's value and type, as `mysqlbinlog -vv` writes them after `@n=`.

use std::io::Write as _;

use super::put;
use crate::event::EventError;
use crate::row::value::ByteWriter;
use crate::row::{ColumnType, code};
use crate::row::{Field, Value, json, number};

/// Appends a column's value.
///
/// Integers of unsigned columns are printed as `-1 (255)` where their highest bit is set, for the
/// tool this follows does not look at signs; TIMESTAMP is in seconds since 1970, ENUM a number, SET
/// and BIT are bits.
///
/// # Errors
/// If the value is damaged.
pub fn write_value(field: &Field<'_>, out: &mut Vec<u8>) -> Result<(), EventError> {
    let ty = field.ty;
    match field.value()? {
        Value::Null => put(out, format_args!("NULL")),
        Value::Int(v) => write_int(ty, v, out),
        Value::UInt(v) => {
            let unused = 64 - 8 * ty.fixed_len().unwrap_or(8) as u32;
            write_int(ty, ((v << unused) as i64) >> unused, out);
        }
        Value::Float(v) => write_float(v, out),
        Value::Double(v) => write_g(v, 20, out),
        Value::Decimal(v) => put(out, format_args!("{v}")),
        Value::Bytes(b) | Value::Geometry(b) => write_string(b, out),
        Value::Date(d) => put(out, format_args!("'{:04}:{:02}:{:02}'", d.year, d.month, d.day)),
        Value::Time(t) => put(out, format_args!("'{t}'")),
        Value::DateTime(t) => put(out, format_args!("'{t}'")),
        Value::Timestamp(t) => put(out, format_args!("{t}")),
        Value::Year(y) => put(out, format_args!("{y:04}")),
        Value::Bit(v) => put(out, format_args!("b'{v:0width$b}'", width = usize::from(ty.meta))),
        Value::Enum(v) => put(out, format_args!("{v}")),
        Value::Set(v) => put(out, format_args!("b'{v:0width$b}'", width = 8 * usize::from(ty.meta))),
        Value::Json(b) => {
            let mut text = Vec::new();
            json::write_text(b, &mut text)?;
            write_string(&text, out);
        }
        Value::JsonDiffs(b) => write_diffs(b, out)?,
    }
    Ok(())
}

fn write_int(ty: &ColumnType, v: i64, out: &mut Vec<u8>) {
    put(out, format_args!("{v}"));
    if v < 0 {
        let unused = 64 - 8 * ty.fixed_len().unwrap_or(8) as u32;
        put(out, format_args!(" ({})", v as u64 & u64::MAX >> unused));
    }
}

fn write_g(v: f64, precision: usize, out: &mut Vec<u8>) {
    number::write_g(&mut ByteWriter(out), v, precision).expect("writing to a Vec does not fail");
}

/// `%-20g`.
fn write_float(v: f32, out: &mut Vec<u8>) {
    let start = out.len();
    write_g(v.into(), 6, out);
    let end = out.len().max(start + 20);
    out.resize(end, b' ');
}

fn write_string(bytes: &[u8], out: &mut Vec<u8>) {
    out.push(b'\'');
    for &b in bytes {
        match b {
            0..0x20 => put(out, format_args!("\\x{b:02x}")),
            b'\'' | b'\\' => out.extend_from_slice(&[b'\\', b]),
            _ => out.push(b),
        }
    }
    out.push(b'\'');
}

/// `JSON_REPLACE(@n, '$.a', 1)`, without the functions around it: one change after another.
fn write_diffs(bytes: &[u8], out: &mut Vec<u8>) -> Result<(), EventError> {
    for (i, diff) in json::diffs(bytes).enumerate() {
        let diff = diff?;
        let operation = match diff.operation {
            json::JsonOperation::Replace => "JSON_REPLACE",
            json::JsonOperation::Insert => "JSON_INSERT",
            json::JsonOperation::Remove => "JSON_REMOVE",
        };
        write!(out, "{}{operation}(", if i > 0 { ", " } else { "" }).expect("writing to a Vec does not fail");
        write_string(diff.path, out);
        if diff.operation != json::JsonOperation::Remove {
            out.extend_from_slice(b", ");
            json::write_text(diff.value, out)?;
        }
        out.push(b')');
    }
    Ok(())
}

/// `VARSTRING(20)`
pub(super) fn type_name(ty: &ColumnType) -> String {
    let meta = ty.meta;
    match ty.code {
        code::TINY => "TINYINT".into(),
        code::SHORT => "SHORTINT".into(),
        code::INT24 => "MEDIUMINT".into(),
        code::LONG => "INT".into(),
        code::LONGLONG => "LONGINT".into(),
        code::FLOAT => "FLOAT".into(),
        code::DOUBLE => "DOUBLE".into(),
        code::NEWDECIMAL => format!("DECIMAL({},{})", meta >> 8, meta & 0xff),
        code::YEAR => "YEAR".into(),
        code::DATE | code::NEWDATE => "DATE".into(),
        code::TIME => "TIME".into(),
        code::DATETIME => "DATETIME".into(),
        code::TIMESTAMP => "TIMESTAMP".into(),
        code::TIME2 => format!("TIME({meta})"),
        code::DATETIME2 => format!("DATETIME({meta})"),
        code::TIMESTAMP2 => format!("TIMESTAMP({meta})"),
        code::BIT => format!("BIT({meta})"),
        code::ENUM => format!("ENUM({meta} byte{})", if meta == 1 { "" } else { "s" }),
        code::SET => format!("SET({meta} bytes)"),
        code::STRING => format!("STRING({meta})"),
        code::VARCHAR | code::VAR_STRING => format!("VARSTRING({meta})"),
        code::BLOB => match meta {
            1 => "TINYBLOB/TINYTEXT".into(),
            2 => "BLOB/TEXT".into(),
            3 => "MEDIUMBLOB/MEDIUMTEXT".into(),
            _ => "LONGBLOB/LONGTEXT".into(),
        },
        code::JSON => "JSON".into(),
        code::GEOMETRY => "GEOMETRY".into(),
        code::VECTOR => format!("VECTOR({meta})"),
        other => format!("type {other}"),
    }
}
