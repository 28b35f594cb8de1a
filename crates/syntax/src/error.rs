//! Why a text is no statement.

use std::fmt;

/// The most bytes of the text that a message quotes.
const NEAR_MAX: usize = 80;

/// An error of the parser, as MySQL numbers and words it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError {
    /// MySQL's error number: 1064 for most.
    pub number: u16,
    /// The SQLSTATE that belongs to it.
    pub sqlstate: [u8; 5],
    /// The text for the client.
    pub message: String,
    /// Where in the text; what follows the statement can't be parsed then.
    pub offset: usize,
}

impl ParseError {
    /// 1064 at `offset` of a statement that begins at `start`: the text from there on, at most 80
    /// bytes of it.
    pub(crate) fn syntax(text: &[u8], start: usize, offset: usize) -> Box<ParseError> {
        let line = 1 + text[start.min(offset)..offset].iter().filter(|&&byte| byte == b'\n').count();
        let message = format!(
            "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version for \
             the right syntax to use near '{}' at line {line}",
            near(&text[offset..])
        );
        ParseError::new(1064, b"42000", message, offset)
    }

    /// An error at `offset` of the text.
    pub fn new(number: u16, sqlstate: &[u8; 5], message: String, offset: usize) -> Box<ParseError> {
        Box::new(ParseError { number, sqlstate: *sqlstate, message, offset })
    }
}

/// The text's start, cut at a character.
pub(crate) fn near(text: &[u8]) -> String {
    let cut = &text[..text.len().min(NEAR_MAX)];
    let whole = match std::str::from_utf8(cut) {
        Err(error) if error.error_len().is_none() => &cut[..error.valid_up_to()],
        _ => cut,
    };
    String::from_utf8_lossy(whole).into_owned()
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ParseError {}
