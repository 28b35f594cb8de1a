//! From what was assigned to the variable's own kind.

use super::definition::{Variable, VariableType};
use super::error::{VariableError, Warning};
use super::value::Value;
use datum::types::{Charset, Collation};
use datum::value::zone::Zone;
use syntax::sql_mode;

/// The right side of `SET name = ..`.
#[derive(Debug, Clone, PartialEq)]
pub enum Assigned {
    /// The word DEFAULT.
    Default,
    /// Few variables can be set to it.
    Null,
    /// A signed integer, TRUE or FALSE.
    Int(i64),
    /// An unsigned integer.
    UInt(u64),
    /// An exact or approximate number with a fraction.
    Double(f64),
    /// Text, or a bare word such as ON or utf8mb4.
    Text(String),
}

/// The value in the variable's kind, and whether it had to be adjusted to the range.
pub(super) struct Converted {
    pub(super) value: Value,
    pub(super) warning: Option<Warning>,
}

impl From<Value> for Converted {
    fn from(value: Value) -> Self {
        Converted { value, warning: None }
    }
}

/// Converts anything but DEFAULT. `strict` (STRICT_ALL_TABLES) refuses what would be adjusted.
pub(super) fn convert(var: &Variable, assigned: &Assigned, strict: bool) -> Result<Converted, VariableError> {
    match var.kind {
        VariableType::Bool(_) => switch(var, assigned).map(Into::into),
        VariableType::UInt { min, max, block, .. } => unsigned(var, assigned, min, max, block, strict),
        VariableType::Int { min, max, .. } => signed(var, assigned, min, max, strict),
        VariableType::Double { min, max, .. } => double(var, assigned, min, max, strict),
        VariableType::Enum { names, .. } => word(var, assigned, names).map(Into::into),
        VariableType::Set { names, .. } => set(var, assigned, names, |_| None).map(Into::into),
        VariableType::SqlMode(_) => modes(var, assigned).map(Into::into),
        VariableType::Text(default) => text(var, assigned, default.is_none()).map(Into::into),
        VariableType::Charset { nullable, .. } => charset_name(var, assigned, nullable).map(Into::into),
        VariableType::Collation(_) => collation_name(var, assigned).map(Into::into),
        VariableType::TimeZone(_) => time_zone(var, assigned).map(Into::into),
    }
}

impl Assigned {
    pub(crate) fn as_text(&self) -> String {
        match self {
            Assigned::Default => "DEFAULT".into(),
            Assigned::Null => "NULL".into(),
            Assigned::Int(v) => v.to_string(),
            Assigned::UInt(v) => v.to_string(),
            Assigned::Double(v) => v.to_string(),
            Assigned::Text(v) => v.clone(),
        }
    }
}

fn wrong_value(var: &Variable, assigned: &Assigned) -> VariableError {
    VariableError::WrongValue { name: var.name, value: assigned.as_text() }
}

/// The words that a switch takes, on the command line too.
pub(super) fn parse_switch(word: &str) -> Option<bool> {
    if ["ON", "TRUE", "1"].iter().any(|w| word.eq_ignore_ascii_case(w)) {
        Some(true)
    } else if ["OFF", "FALSE", "0"].iter().any(|w| word.eq_ignore_ascii_case(w)) {
        Some(false)
    } else {
        None
    }
}

fn switch(var: &Variable, assigned: &Assigned) -> Result<Value, VariableError> {
    match assigned {
        Assigned::Int(v @ 0..=1) => Ok(Value::Bool(*v == 1)),
        Assigned::UInt(v @ 0..=1) => Ok(Value::Bool(*v == 1)),
        Assigned::Text(t) => parse_switch(t).map(Value::Bool).ok_or_else(|| wrong_value(var, assigned)),
        Assigned::Double(_) => Err(VariableError::WrongType(var.name)),
        _ => Err(wrong_value(var, assigned)),
    }
}

/// A `sql_mode`, without the one that is not implemented: it would change answers.
fn modes(var: &Variable, assigned: &Assigned) -> Result<Value, VariableError> {
    let value = set(var, assigned, &sql_mode::NAMES, sql_mode::expand)?;
    match value {
        Value::UInt(modes) if modes & sql_mode::PAD_CHAR_TO_FULL_LENGTH != 0 => {
            Err(VariableError::Unsupported { name: var.name, value: "PAD_CHAR_TO_FULL_LENGTH" })
        }
        _ => Ok(value),
    }
}

/// The value as it was adjusted: an error where the session is strict, else a warning.
fn adjusted(
    var: &Variable,
    assigned: &Assigned,
    value: Value,
    changed: bool,
    strict: bool,
) -> Result<Converted, VariableError> {
    match (changed, strict) {
        (false, _) => Ok(value.into()),
        (true, true) => Err(wrong_value(var, assigned)),
        (true, false) => Ok(Converted { value, warning: Some(Warning::truncated(var, &assigned.as_text())) }),
    }
}

fn unsigned(
    var: &Variable,
    assigned: &Assigned,
    min: u64,
    max: u64,
    block: u64,
    strict: bool,
) -> Result<Converted, VariableError> {
    let (given, negative) = match *assigned {
        Assigned::Int(v) => (u64::try_from(v).unwrap_or(0), v < 0),
        Assigned::UInt(v) => (v, false),
        _ => return Err(VariableError::WrongType(var.name)),
    };
    let clamped = given.clamp(min, max);
    let value = (clamped - clamped % block).max(min);
    adjusted(var, assigned, Value::UInt(value), negative || value != given, strict)
}

fn signed(
    var: &Variable,
    assigned: &Assigned,
    min: i64,
    max: i64,
    strict: bool,
) -> Result<Converted, VariableError> {
    let (given, above) = match *assigned {
        Assigned::Int(v) => (v, false),
        Assigned::UInt(v) => (i64::try_from(v).unwrap_or(i64::MAX), i64::try_from(v).is_err()),
        _ => return Err(VariableError::WrongType(var.name)),
    };
    let value = given.clamp(min, max);
    adjusted(var, assigned, Value::Int(value), above || value != given, strict)
}

fn double(
    var: &Variable,
    assigned: &Assigned,
    min: f64,
    max: f64,
    strict: bool,
) -> Result<Converted, VariableError> {
    let given = match *assigned {
        Assigned::Int(v) => v as f64,
        Assigned::UInt(v) => v as f64,
        Assigned::Double(v) if !v.is_nan() => v,
        _ => return Err(VariableError::WrongType(var.name)),
    };
    let value = given.clamp(min, max);
    adjusted(var, assigned, Value::Double(value), value != given, strict)
}

fn word(var: &Variable, assigned: &Assigned, names: &[&str]) -> Result<Value, VariableError> {
    let place = match assigned {
        Assigned::Int(v) => usize::try_from(*v).ok(),
        Assigned::UInt(v) => usize::try_from(*v).ok(),
        Assigned::Text(t) => word_named(names, t),
        Assigned::Double(_) => return Err(VariableError::WrongType(var.name)),
        _ => None,
    };
    match place {
        Some(i) if i < names.len() => Ok(Value::UInt(i as u64)),
        _ => Err(wrong_value(var, assigned)),
    }
}

/// A word by its name; ON and OFF, TRUE and FALSE stand for each other where an enum has them.
pub(super) fn word_named(names: &[&str], word: &str) -> Option<usize> {
    let place = |w: &str| names.iter().position(|n| n.eq_ignore_ascii_case(w));
    place(word).or_else(|| place(if parse_switch(word)? { "ON" } else { "OFF" }))
}

fn set(
    var: &Variable,
    assigned: &Assigned,
    names: &[&str],
    expand: impl Fn(&str) -> Option<u64>,
) -> Result<Value, VariableError> {
    let all = if names.len() == 64 { u64::MAX } else { (1 << names.len()) - 1 };
    let bits = match assigned {
        Assigned::Int(v) => u64::try_from(*v).ok(),
        Assigned::UInt(v) => Some(*v),
        Assigned::Text(t) => {
            return set_named(names, t, expand)
                .map(Value::UInt)
                .map_err(|word| VariableError::WrongValue { name: var.name, value: word });
        }
        Assigned::Double(_) => return Err(VariableError::WrongType(var.name)),
        _ => None,
    };
    match bits {
        Some(bits) if bits & !all == 0 => Ok(Value::UInt(bits)),
        _ => Err(wrong_value(var, assigned)),
    }
}

/// The bits of a list of words, or the first word that is not known.
pub(super) fn set_named(
    names: &[&str],
    list: &str,
    expand: impl Fn(&str) -> Option<u64>,
) -> Result<u64, String> {
    let mut bits = 0;
    for word in list.split(',').map(str::trim).filter(|w| !w.is_empty()) {
        let place = names.iter().position(|n| n.eq_ignore_ascii_case(word));
        bits |= expand(word).or(place.map(|i| 1 << i)).ok_or(word)?;
    }
    Ok(bits)
}

fn text(var: &Variable, assigned: &Assigned, nullable: bool) -> Result<Value, VariableError> {
    match assigned {
        Assigned::Text(t) => Ok(Value::Text(t.as_str().into())),
        Assigned::Null if nullable => Ok(Value::Null),
        Assigned::Null => Err(wrong_value(var, assigned)),
        _ => Err(VariableError::WrongType(var.name)),
    }
}

fn charset_name(var: &Variable, assigned: &Assigned, nullable: bool) -> Result<Value, VariableError> {
    match assigned {
        Assigned::Text(t) => match Charset::by_name(t) {
            Some(found) => Ok(Value::Text(found.name().into())),
            None => Err(VariableError::UnknownCharset(t.clone())),
        },
        Assigned::Null if nullable => Ok(Value::Null),
        Assigned::Null => Err(wrong_value(var, assigned)),
        // A number is a collation's, as the log has it.
        Assigned::Int(_) | Assigned::UInt(_) => {
            let number = assigned.as_text();
            match number.parse().ok().and_then(Collation::by_id) {
                Some(found) => Ok(Value::Text(found.charset().name().into())),
                None => Err(VariableError::UnknownCharset(number)),
            }
        }
        _ => Err(VariableError::WrongType(var.name)),
    }
}

fn collation_name(var: &Variable, assigned: &Assigned) -> Result<Value, VariableError> {
    let found = match assigned {
        Assigned::Text(t) => Collation::by_name(t),
        Assigned::Int(v) => u16::try_from(*v).ok().and_then(Collation::by_id),
        Assigned::UInt(v) => u16::try_from(*v).ok().and_then(Collation::by_id),
        Assigned::Null => return Err(wrong_value(var, assigned)),
        _ => return Err(VariableError::WrongType(var.name)),
    };
    found
        .map(|c| Value::Text(c.name().into()))
        .ok_or_else(|| VariableError::UnknownCollation(assigned.as_text()))
}

fn time_zone(var: &Variable, assigned: &Assigned) -> Result<Value, VariableError> {
    let name = match assigned {
        Assigned::Text(name) => name,
        Assigned::Null => return Err(wrong_value(var, assigned)),
        _ => return Err(VariableError::WrongType(var.name)),
    };
    if name.eq_ignore_ascii_case("SYSTEM") {
        return Ok(Value::Text("SYSTEM".into()));
    }
    match Zone::by_name(name) {
        Some(zone) => Ok(Value::Text(zone.name().into())),
        None => Err(VariableError::UnknownTimeZone(name.clone())),
    }
}
