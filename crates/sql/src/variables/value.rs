//! The value of a variable, and how it is shown.

use super::definition::{Variable, VariableType};
use std::borrow::Cow;
use std::sync::Arc;
use syntax::sql_mode;

/// A variable's value. Enums hold the word's place, sets their bits.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// NULL, of a text that is not set.
    Null,
    /// ON or OFF.
    Bool(bool),
    /// Signed.
    Int(i64),
    /// Unsigned, a place among an enum's words, or a set's bits.
    UInt(u64),
    /// With a fraction.
    Double(f64),
    /// Of names, paths and other free text.
    Text(Arc<str>),
}

impl Value {
    /// As a number: bits for `Double`, 0 for text.
    pub(crate) fn to_bits(&self) -> u64 {
        match *self {
            Value::Null | Value::Text(_) => 0,
            Value::Bool(b) => b.into(),
            Value::Int(v) => v as u64,
            Value::UInt(v) => v,
            Value::Double(v) => v.to_bits(),
        }
    }
}

impl Variable {
    /// The value as `SHOW VARIABLES` prints it: ON and OFF, words for enums and sets.
    pub fn show<'a>(&self, value: &'a Value) -> Cow<'a, str> {
        match (value, &self.kind) {
            (Value::Null, _) => Cow::Borrowed(""),
            (Value::Text(t), _) => Cow::Borrowed(t),
            (Value::Bool(b), _) => Cow::Borrowed(if *b { "ON" } else { "OFF" }),
            (Value::Int(v), _) => v.to_string().into(),
            (Value::Double(v), _) => format!("{v:.6}").into(),
            (Value::UInt(i), VariableType::Enum { names, .. }) => {
                Cow::Borrowed(names.get(*i as usize).copied().unwrap_or(""))
            }
            (Value::UInt(bits), VariableType::Set { names, .. }) => set_words(*bits, names).into(),
            (Value::UInt(bits), VariableType::SqlMode(_)) => set_words(*bits, &sql_mode::NAMES).into(),
            (Value::UInt(v), _) => v.to_string().into(),
        }
    }

    /// The value as `SELECT @@name` gives it: a number for a switch, text for enums and sets.
    pub(crate) fn select(&self, value: &Value) -> Value {
        match (value, &self.kind) {
            (Value::Bool(b), _) => Value::Int((*b).into()),
            (
                Value::UInt(_),
                VariableType::Enum { .. } | VariableType::Set { .. } | VariableType::SqlMode(_),
            ) => Value::Text(self.show(value).into()),
            _ => value.clone(),
        }
    }
}

fn set_words(bits: u64, names: &[&str]) -> String {
    let on = names.iter().enumerate().filter(|(i, _)| bits >> i & 1 == 1);
    on.map(|(_, name)| *name).collect::<Vec<_>>().join(",")
}
