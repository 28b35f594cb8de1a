//! A statement's literals as the parameters of a prepared statement, and what that answers,
//! compared with its text.

use crate::answer::Answer;
use crate::peers::{How, read};
use crate::tree::Sql;
use mysql::prelude::Queryable;
use mysql::{Conn, Params, Value};

/// Runs a query as text, and prepared and executed twice. The answer is the text's, unless another
/// one is different.
///
/// # Errors
/// The text's, or that of the connection.
pub fn compare(conn: &mut Conn, sql: &Sql, how: How) -> mysql::Result<Answer> {
    let by_text = read(conn.query_iter(sql.to_string())?, how)?;
    let Answer::Rows(rows) = &by_text else { return Ok(by_text) };
    let (text, values) = of(sql);
    let statement = match conn.prep(&text) {
        Ok(statement) => statement,
        Err(e) => return Ok(Answer::Lost(format!("{text} is not prepared: {e}"))),
    };
    let mut expected: Vec<Vec<String>> =
        rows.iter().skip(usize::from(how.with_types)).map(|row| normal_texts(row)).collect();
    expected.sort_unstable();
    for _ in 0..2 {
        let found: mysql::Result<Vec<mysql::Row>> = conn.exec(&statement, Params::Positional(values.clone()));
        let mut found: Vec<Vec<String>> = match found {
            Ok(rows) => rows.into_iter().map(|row| row.unwrap().iter().map(normal_value).collect()).collect(),
            Err(e) => return Ok(Answer::Lost(format!("{text} with {values:?} fails: {e}"))),
        };
        found.sort_unstable();
        if found != expected {
            return Ok(Answer::Lost(format!("{text} with {values:?} gives {found:?}, as text {expected:?}")));
        }
    }
    Ok(by_text)
}

/// Makes a change with its literals as parameters.
///
/// # Errors
/// Those of the statement and of the connection.
pub fn change(conn: &mut Conn, sql: &Sql) -> mysql::Result<Answer> {
    let (text, values) = of(sql);
    let statement = conn.prep(text)?;
    let result = conn.exec_iter(&statement, Params::Positional(values))?;
    Ok(Answer::Done(result.affected_rows()))
}

fn normal_texts(row: &[Option<Vec<u8>>]) -> Vec<String> {
    row.iter()
        .map(|v| v.as_ref().map_or("NULL".into(), |v| normal_text(&String::from_utf8_lossy(v))))
        .collect()
}

/// A value as the text protocol might write it, numbers and fractions of seconds without needless
/// zeros.
fn normal_value(value: &Value) -> String {
    match value {
        Value::NULL => "NULL".into(),
        Value::Bytes(bytes) => normal_text(&String::from_utf8_lossy(bytes)),
        Value::Int(v) => normal_text(&v.to_string()),
        Value::UInt(v) => normal_text(&v.to_string()),
        Value::Float(v) => normal_text(&v.to_string()),
        Value::Double(v) => normal_text(&v.to_string()),
        Value::Date(year, month, day, hour, minute, second, micros) => normal_text(&format!(
            "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{micros:06}"
        )),
        Value::Time(negative, days, hours, minutes, seconds, micros) => {
            let hours = days * 24 + u32::from(*hours);
            let sign = if *negative { "-" } else { "" };
            normal_text(&format!("{sign}{hours:02}:{minutes:02}:{seconds:02}.{micros:06}"))
        }
    }
}

fn normal_text(text: &str) -> String {
    let is_temporal = text.len() >= 8 && text.bytes().all(|b| b.is_ascii_digit() || b" :-.".contains(&b));
    if is_temporal && (text.contains(':') || text[1..].contains('-')) {
        let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text };
        return text.trim_end_matches(" 00:00:00").to_owned();
    }
    if !text.is_empty() && text.bytes().all(|b| b == b'0') {
        return "0".into();
    }
    match text.parse::<f64>() {
        Ok(number) if text.bytes().any(|b| b.is_ascii_digit()) && !text.starts_with('0') => {
            format!("{number:e}")
        }
        _ => text.to_owned(),
    }
}

/// The statement with `?` for each literal of an expression, and the values. Literals that no
/// parameter's type stands for, such as DECIMAL's, stay.
pub fn of(sql: &Sql) -> (String, Vec<Value>) {
    let mut values = Vec::new();
    let mut text = String::new();
    write(sql, &mut text, &mut values);
    (text, values)
}

fn write(sql: &Sql, text: &mut String, values: &mut Vec<Value>) {
    match sql {
        Sql::Text(words) => text.push_str(words),
        Sql::Sequence(pieces) => pieces.iter().for_each(|p| write(p, text, values)),
        Sql::Optional(piece) => write(piece, text, values),
        Sql::List { items, separator, .. } => {
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    text.push_str(separator);
                }
                write(item, text, values);
            }
        }
        Sql::Expression { whole, .. } => match &**whole {
            Sql::Text(words) => match value(words) {
                Some(value) => {
                    text.push('?');
                    values.push(value);
                }
                None => text.push_str(words),
            },
            whole => write(whole, text, values),
        },
    }
}

/// The value of a literal.
fn value(literal: &str) -> Option<Value> {
    if let Some(quoted) = literal.strip_prefix('\'').and_then(|l| l.strip_suffix('\'')) {
        let plain = quoted.replace("\'\'", "'");
        return (!plain.contains('\\')).then(|| Value::Bytes(plain.into_bytes()));
    }
    if let Some(digits) = literal.strip_suffix("e0") {
        return digits.parse().ok().map(Value::Double);
    }
    literal.parse().ok().map(Value::Int)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::{expression, sql, text};

    #[test]
    fn literals_become_parameters() {
        let leaf = |s: &'static str| expression(text(s), "1");
        let all = ["7", "a.b", "'it''s'", "1.5", "2.25e0", "NULL"].map(leaf);
        let (text, values) = of(&sql("SELECT {}, {}, {}, {}, {}, {}", all));
        assert_eq!(text, "SELECT ?, a.b, ?, 1.5, ?, NULL");
        assert_eq!(values, [Value::Int(7), Value::Bytes(b"it's".to_vec()), Value::Double(2.25)]);
    }
}
