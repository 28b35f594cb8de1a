//! What a server answers, and when two answers are the same.

use std::fmt;

/// A row as text, as the text protocol sends it.
pub type Row = Vec<Option<Vec<u8>>>;

/// The answer to one statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// A result set.
    Rows(Vec<Row>),
    /// A change, with the number of affected rows.
    Done(u64),
    /// What a CALL answers that selects: its result sets, and how it ended.
    Several {
        /// In their order; what the statement that failed has sent is left out.
        sets: Vec<Vec<Row>>,
        /// Rows affected, or an error.
        end: Box<Answer>,
    },
    /// The server refused or failed the statement.
    Error {
        /// MySQL's, such as 1062.
        number: u16,
        /// Its text.
        message: String,
    },
    /// No answer: the connection broke or the time was up.
    Lost(String),
}

/// The error for what is not supported yet.
const NOT_SUPPORTED: u16 = 1235;
/// The error for a built-in function that is not there yet; functions of the episodes' own, which
/// have names such as `f7`, may be dropped.
const NO_FUNCTION: u16 = 1305;
/// And one that does not take so many operands yet: episodes give each function what it takes.
const NO_SUCH_OPERANDS: u16 = 1582;

/// Errors that MariaDB numbers in another way: MySQL's number, MariaDB's.
const NUMBERS_OF_MARIADB: &[(u16, u16)] = &[
    (3105, 1906), // a value for a generated column
    (3108, 1054), // a column that a generated one reads is dropped
    (3819, 4025), // a CHECK is violated
];

impl Answer {
    /// True for the refusal of what is not supported.
    pub fn is_unsupported(&self) -> bool {
        match self {
            Self::Error { number, message } => {
                matches!(*number, NOT_SUPPORTED | NO_SUCH_OPERANDS)
                    || *number == NO_FUNCTION && names_built_in(message)
            }
            Self::Several { end, .. } => end.is_unsupported(),
            _ => false,
        }
    }

    /// The error's number.
    pub fn error(&self) -> Option<u16> {
        match self {
            Self::Error { number, .. } => Some(*number),
            Self::Several { end, .. } => end.error(),
            _ => None,
        }
    }

    /// The error's text.
    pub fn message(&self) -> Option<&str> {
        match self {
            Self::Error { message, .. } => Some(message),
            Self::Several { end, .. } => end.message(),
            _ => None,
        }
    }

    /// True if both say the same; `is_ordered` where the order of rows counts.
    pub fn agrees_with(&self, other: &Answer, is_ordered: bool) -> bool {
        match (self, other) {
            (Self::Rows(a), Self::Rows(b)) if !is_ordered => sorted(a) == sorted(b),
            (Self::Rows(a), Self::Rows(b)) => a == b,
            (Self::Done(a), Self::Done(b)) => a == b,
            (Self::Several { sets: a, end: e }, Self::Several { sets: b, end: f }) => {
                a == b && e.agrees_with(f, is_ordered)
            }
            (Self::Error { number: a, .. }, Self::Error { number: b, .. }) => {
                a == b || NUMBERS_OF_MARIADB.contains(&(*a, *b))
            }
            _ => false,
        }
    }
}

/// True if error 1305 is of a function that episodes do not make: theirs are `f7` and `fm8`.
fn names_built_in(message: &str) -> bool {
    let name =
        message.strip_prefix("FUNCTION ").and_then(|m| m.split([' ', '.']).rfind(|w| w.starts_with('f')));
    let digits = name.map(|name| name.trim_start_matches(['f', 'm']));
    message.starts_with("FUNCTION") && !digits.is_some_and(|d| d.bytes().all(|b| b.is_ascii_digit()))
}

/// What SHOW CREATE says, without the name of the account that is the definer: it is another one on
/// each server.
pub fn without_definer(answer: Answer) -> Answer {
    let Answer::Rows(mut rows) = answer else { return answer };
    for value in rows.iter_mut().flatten().flatten() {
        let shown = String::from_utf8_lossy(value);
        if let Some((head, tail)) = shown.split_once("DEFINER=")
            && let Some((_, tail)) = tail.split_once(' ')
        {
            *value = format!("{head}{tail}").into_bytes();
        }
    }
    Answer::Rows(rows)
}

fn sorted(rows: &[Row]) -> Vec<&Row> {
    let mut rows: Vec<_> = rows.iter().collect();
    rows.sort_unstable();
    rows
}

/// Rows that are shown of a large answer.
const SHOWN: usize = 20;

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rows(rows) => {
                write!(f, "{} rows", rows.len())?;
                for row in rows.iter().take(SHOWN) {
                    let values: Vec<_> = row.iter().map(|v| shown(v.as_deref())).collect();
                    write!(f, "\n--     {}", values.join(" | "))?;
                }
                if rows.len() > SHOWN { write!(f, "\n--     ..") } else { Ok(()) }
            }
            Self::Done(affected) => write!(f, "{affected} rows affected"),
            Self::Several { sets, end } => {
                for set in sets {
                    write!(f, "{}\n--   ", Self::Rows(set.clone()))?;
                }
                end.fmt(f)
            }
            Self::Error { number, message } => write!(f, "error {number}: {message}"),
            Self::Lost(why) => write!(f, "no answer: {why}"),
        }
    }
}

fn shown(value: Option<&[u8]>) -> String {
    match value {
        None => "NULL".into(),
        Some(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) if !text.chars().any(char::is_control) => format!("'{text}'"),
            _ => bytes.iter().fold("0x".to_owned(), |hex, b| hex + &format!("{b:02x}")),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(values: &[&str]) -> Answer {
        Answer::Rows(values.iter().map(|v| vec![Some(v.as_bytes().to_vec())]).collect())
    }

    #[test]
    fn multisets_and_lists() {
        assert!(rows(&["a", "b", "a"]).agrees_with(&rows(&["a", "a", "b"]), false));
        assert!(!rows(&["a", "b", "a"]).agrees_with(&rows(&["a", "a", "b"]), true));
        assert!(!rows(&["a", "b"]).agrees_with(&rows(&["a", "a", "b"]), false));
        assert!(!rows(&[]).agrees_with(&Answer::Done(0), false));
    }
}
