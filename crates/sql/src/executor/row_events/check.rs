//! Values of row events, which clients send as bytes: what no statement could have stored is
//! refused.

use binlog::row::{Field, Value, json};

use crate::catalog::ColumnDef;
use datum::types::DataType;
use datum::value::Decimal;

/// Levels of a JSON document.
const DEPTH_MAX: usize = 100;

/// True if the column may have the value.
pub(super) fn is_good(column: &ColumnDef, field: &Field<'_>) -> bool {
    let Ok(value) = field.value() else { return false };
    match value {
        Value::Null => column.nullable,
        Value::Float(v) => v.is_finite(),
        Value::Double(v) => v.is_finite(),
        Value::Decimal(d) => {
            let mut again = Vec::new();
            let text = Decimal::from_binary(d.bytes, d.precision, d.scale).to_string();
            binlog::row::Decimal::encode_text(&text, d.precision, d.scale, &mut again).is_ok()
                && again == d.bytes
        }
        Value::Bytes(bytes) => text_fits(column, field.ty.meta, bytes),
        Value::Date(d) => d.month <= 12 && d.day <= 31 && d.year <= 9999,
        Value::Time(t) => t.hours <= 838 && t.minutes < 60 && t.seconds < 60 && t.micros < 1_000_000,
        Value::DateTime(t) => {
            let clock = t.hour < 24 && t.minute < 60 && t.second < 60 && t.micros < 1_000_000;
            clock && t.date.month <= 12 && t.date.day <= 31 && t.date.year <= 9999
        }
        Value::Timestamp(t) => t.micros < 1_000_000,
        Value::Enum(n) => usize::from(n) <= members(&column.ty),
        Value::Set(bits) => match members(&column.ty) {
            64.. => true,
            count => bits >> count == 0,
        },
        Value::Json(document) => is_document(document),
        Value::JsonDiffs(_) => true, // checked when they are applied
        Value::Bit(bits) => match field.ty.meta {
            64.. => true,
            width => bits >> width == 0,
        },
        Value::Int(_) | Value::UInt(_) | Value::Year(_) => true,
        Value::Geometry(_) => false,
    }
}

/// True if the bytes are a JSON document that can be walked.
pub(super) fn is_document(document: &[u8]) -> bool {
    let Ok(root) = json::Json::document(document) else { return false };
    root.check().is_ok() && root.depth().is_ok_and(|depth| depth <= DEPTH_MAX)
}

fn text_fits(column: &ColumnDef, meta: u16, bytes: &[u8]) -> bool {
    let characters = match &column.ty {
        DataType::Char { length, .. } => usize::from(*length),
        DataType::VarChar { length, .. } => usize::from(*length),
        _ => usize::MAX,
    };
    let charset = column.ty.collation().charset();
    (characters == usize::MAX || bytes.len() <= usize::from(meta))
        && charset.valid_prefix(bytes) == bytes.len()
        && charset.char_count(bytes) <= characters
}

fn members(ty: &DataType) -> usize {
    match ty {
        DataType::Enum { members, .. } | DataType::Set { members, .. } => members.len(),
        _ => 0,
    }
}
