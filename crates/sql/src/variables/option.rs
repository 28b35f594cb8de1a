//! Values as the command line and my.cnf give them.
//!
//! Unlike `SET`, an option takes K, M and G after a number, and nothing is adjusted to the range
//! silently but the block size: a server that starts with another value than the one asked for
//! helps nobody.

use super::convert::{Assigned, convert, parse_switch};
use super::definition::{Variable, VariableType};
use super::value::Value;
use thiserror::Error;

/// A value that the variable does not take. The text says what it does take.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("'{value}' is no value for {name}: {expected}")]
pub struct OptionError {
    /// The variable.
    pub name: &'static str,
    /// The value given.
    pub value: String,
    /// What can be given.
    pub expected: String,
}

impl Variable {
    /// Converts an option's value; none means that the option was given without one.
    pub(crate) fn parse_option(&self, value: Option<&str>) -> Result<Value, OptionError> {
        let refused = || OptionError {
            name: self.name,
            value: value.unwrap_or_default().to_owned(),
            expected: self.expected(),
        };
        let Some(text) = value else {
            return match self.kind {
                VariableType::Bool(_) => Ok(Value::Bool(true)),
                VariableType::Enum { names, .. } if names.contains(&"ON") => self.parse_option(Some("ON")),
                _ => Err(refused()),
            };
        };
        let assigned = match self.kind {
            VariableType::Bool(_) => parse_switch(text).map(|on| Assigned::Int(on.into())),
            VariableType::UInt { min, max, .. } => scaled(text)
                .and_then(|v| u64::try_from(v).ok())
                .filter(|v| (min..=max).contains(v))
                .map(Assigned::UInt),
            VariableType::Int { min, max, .. } => scaled(text)
                .and_then(|v| i64::try_from(v).ok())
                .filter(|v| (min..=max).contains(v))
                .map(Assigned::Int),
            VariableType::Double { min, max, .. } => {
                text.parse().ok().filter(|v| (min..=max).contains(v)).map(Assigned::Double)
            }
            VariableType::Enum { .. } | VariableType::Set { .. } | VariableType::SqlMode(_) => {
                let number = text.parse().ok().map(Assigned::UInt);
                Some(number.unwrap_or_else(|| Assigned::Text(text.to_owned())))
            }
            _ => Some(Assigned::Text(text.to_owned())),
        };
        let converted = assigned.and_then(|a| convert(self, &a, false).ok()).ok_or_else(refused)?;
        if self.is_fixed() && converted.value != self.kind.default_value() {
            return Err(refused());
        }
        Ok(converted.value)
    }

    /// What an option of this kind takes, in words.
    pub fn expected(&self) -> String {
        if self.is_fixed() {
            let only = self.kind.default_value();
            return format!("it is always '{}' here", self.show(&only));
        }
        match self.kind {
            VariableType::Bool(_) => "ON or OFF".into(),
            VariableType::UInt { min, max, .. } => range(min, max),
            VariableType::Int { min, max, .. } => range(min, max),
            VariableType::Double { min, max, .. } => range(min, max),
            VariableType::Enum { names, .. } => format!("one of {}", names.join(", ")),
            VariableType::Set { names, .. } => format!("a list of {}", names.join(", ")),
            VariableType::SqlMode(_) => "a list of SQL modes".into(),
            VariableType::Text(_) => "text".into(),
            VariableType::Charset { .. } => "a character set".into(),
            VariableType::Collation(_) => "a collation".into(),
            VariableType::TimeZone(_) => "SYSTEM or an offset such as +02:00".into(),
        }
    }
}

fn range(min: impl std::fmt::Display, max: impl std::fmt::Display) -> String {
    format!("a number from {min} to {max}")
}

/// A number with an optional K, M, G, T, P or E for powers of 1024.
fn scaled(text: &str) -> Option<i128> {
    let text = text.trim();
    let shift = match text.bytes().last()?.to_ascii_uppercase() {
        b'K' => 10,
        b'M' => 20,
        b'G' => 30,
        b'T' => 40,
        b'P' => 50,
        b'E' => 60,
        _ => {
            return text.parse::<i64>().map(i128::from).or_else(|_| text.parse::<u64>().map(i128::from)).ok();
        }
    };
    let number: i64 = text[..text.len() - 1].parse().ok()?;
    Some(i128::from(number) << shift)
}
