//! A JSON document in the making: its keys stay in the order in which they were added, and its text
//! is indented as MySQL's.

use std::fmt::{self, Display, Formatter};

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    /// `{..}`
    Object(Object),
    /// `[..]`
    Array(Vec<Value>),
    /// `"text"`
    Text(String),
    Number(u64),
    /// `true`, `false`
    Bool(bool),
}

/// Keys and values.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Object(Vec<(String, Value)>);

impl Object {
    /// Adds a key after the others.
    pub(super) fn add(&mut self, key: impl Into<String>, value: impl Into<Value>) {
        self.0.push((key.into(), value.into()));
    }

    /// Adds a key before the others.
    pub(super) fn first(&mut self, key: impl Into<String>, value: impl Into<Value>) {
        self.0.insert(0, (key.into(), value.into()));
    }

    /// Adds all keys of another object.
    pub(super) fn append(&mut self, mut other: Object) {
        self.0.append(&mut other.0);
    }
}

impl From<Object> for Value {
    fn from(object: Object) -> Self {
        Value::Object(object)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Value::Text(text)
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Value::Number(number)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Value::Bool(value)
    }
}

impl Value {
    fn write(&self, f: &mut Formatter<'_>, depth: usize) -> fmt::Result {
        let line = |f: &mut Formatter<'_>, depth: usize| write!(f, "\n{:1$}", "", 2 * depth);
        match self {
            Value::Object(Object(entries)) => {
                f.write_str("{")?;
                for (number, (key, value)) in entries.iter().enumerate() {
                    f.write_str(if number > 0 { "," } else { "" })?;
                    line(f, depth + 1)?;
                    write_text(f, key)?;
                    f.write_str(": ")?;
                    value.write(f, depth + 1)?;
                }
                line(f, depth)?;
                f.write_str("}")
            }
            Value::Array(list) => {
                f.write_str("[")?;
                for (number, value) in list.iter().enumerate() {
                    f.write_str(if number > 0 { "," } else { "" })?;
                    line(f, depth + 1)?;
                    value.write(f, depth + 1)?;
                }
                line(f, depth)?;
                f.write_str("]")
            }
            Value::Text(text) => write_text(f, text),
            Value::Number(number) => write!(f, "{number}"),
            Value::Bool(value) => write!(f, "{value}"),
        }
    }
}

impl Display for Value {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.write(f, 0)
    }
}

fn write_text(f: &mut Formatter<'_>, text: &str) -> fmt::Result {
    f.write_str("\"")?;
    for c in text.chars() {
        match c {
            '"' => f.write_str("\\\"")?,
            '\\' => f.write_str("\\\\")?,
            '\n' => f.write_str("\\n")?,
            c if c < ' ' => write!(f, "\\u{:04x}", u32::from(c))?,
            c => write!(f, "{c}")?,
        }
    }
    f.write_str("\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_indented_and_escaped() {
        let mut inner = Object::default();
        inner.add("a\"b", "x\\y\n\u{1}");
        inner.first("first", true);
        let mut object = Object::default();
        object.add("list", Value::Array(vec![Value::Number(1), inner.into()]));
        let expected = "{\n  \"list\": [\n    1,\n    {\n      \"first\": true,\n      \"a\\\"b\": \"x\\\\y\\n\\u0001\"\n    }\n  ]\n}";
        assert_eq!(Value::Object(object).to_string(), expected);
    }
}
