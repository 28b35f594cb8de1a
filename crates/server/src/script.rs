//! A script as the client `mysql` reads it: statements up to a delimiter that `DELIMITER` changes.
//!
//! Quotes and comments are known, so that a delimiter in them ends nothing. What is handed on is
//! the text with its comments, for the server's parser knows which of them are code.

use std::fmt;
use std::io::{self, BufRead};
use std::sync::Arc;

/// Where the next byte is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Inside {
    Code,
    /// A string or a quoted name, up to this quote.
    Quotes(u8),
    /// `/* .. */`
    Comment,
}

/// A statement, and where it is from.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Statement {
    /// The script, or the object of a server.
    pub(crate) source: Arc<str>,
    /// The line on which it begins, from 1.
    pub(crate) line: u64,
    pub(crate) text: Vec<u8>,
}

/// Where something stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SourcePlace {
    pub(crate) source: Arc<str>,
    /// From 1.
    pub(crate) line: u64,
}

impl fmt::Display for SourcePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.source, self.line)
    }
}

impl Statement {
    /// Where it begins.
    pub(crate) fn here(&self) -> SourcePlace {
        self.at(self.line)
    }

    /// A line of it.
    pub(crate) fn at(&self, line: u64) -> SourcePlace {
        SourcePlace { source: self.source.clone(), line }
    }
}

/// A script that is read from its beginning to its end.
pub(crate) struct Script<R> {
    name: Arc<str>,
    reader: R,
    /// The line that is read, and its number, from 1.
    line: Vec<u8>,
    number: u64,
    /// So much of it was read.
    at: usize,
    inside: Inside,
    delimiter: Vec<u8>,
    statement: Vec<u8>,
    /// The line of the statement's first code.
    begins: Option<u64>,
    /// Files that the script names with `source`, and where.
    files: Vec<(u64, String)>,
}

impl<R: BufRead> Script<R> {
    /// `name` is what people call it.
    pub(crate) fn new(name: &str, reader: R) -> Self {
        Script {
            name: name.into(),
            reader,
            line: Vec::new(),
            number: 0,
            at: 0,
            inside: Inside::Code,
            delimiter: b";".to_vec(),
            statement: Vec::new(),
            begins: None,
            files: Vec::new(),
        }
    }

    /// Files that the script includes, which were not read, with the lines that name them.
    pub(crate) fn files(self) -> Vec<(u64, String)> {
        self.files
    }

    /// True if the script, which was read to its end, ends within quotes or a comment.
    pub(crate) fn is_unfinished(&self) -> bool {
        self.inside != Inside::Code
    }

    /// The next statement; `None` at the end. The last one needs no delimiter.
    pub(crate) fn next_statement(&mut self) -> io::Result<Option<Statement>> {
        loop {
            if self.at == self.line.len() {
                self.line.clear();
                self.at = 0;
                if self.reader.read_until(b'\n', &mut self.line)? == 0 {
                    return Ok(self.take());
                }
                self.number += 1;
                if self.inside == Inside::Code && self.begins.is_none() && self.is_command() {
                    self.at = self.line.len();
                    continue;
                }
            }
            while self.at < self.line.len() {
                if self.step()
                    && let Some(statement) = self.take()
                {
                    return Ok(Some(statement));
                }
            }
        }
    }

    /// The statement that was read, unless it has no code.
    fn take(&mut self) -> Option<Statement> {
        let text = std::mem::take(&mut self.statement);
        let line = self.begins.take()?;
        Some(Statement { source: self.name.clone(), line, text: text.trim_ascii().to_vec() })
    }

    /// Reads on by some bytes; true behind a delimiter.
    fn step(&mut self) -> bool {
        let rest = &self.line[self.at..];
        let len = match self.inside {
            Inside::Code if rest.starts_with(&self.delimiter) => {
                self.at += self.delimiter.len();
                return true;
            }
            Inside::Code => match rest {
                [b'#', ..] => rest.len(),
                [b'-', b'-', next, ..] if next.is_ascii_whitespace() || next.is_ascii_control() => rest.len(),
                [b'/', b'*', b'!', ..] => {
                    self.inside = Inside::Comment;
                    self.begins.get_or_insert(self.number);
                    3
                }
                [b'/', b'*', ..] => {
                    self.inside = Inside::Comment;
                    2
                }
                [quote @ (b'\'' | b'"' | b'`'), ..] => {
                    self.inside = Inside::Quotes(*quote);
                    self.begins.get_or_insert(self.number);
                    1
                }
                [byte, ..] => {
                    if !byte.is_ascii_whitespace() {
                        self.begins.get_or_insert(self.number);
                    }
                    1
                }
                [] => 0,
            },
            Inside::Quotes(quote) => match rest {
                [b'\\', _, ..] if quote != b'`' => 2,
                // A doubled quote ends a string and begins another, which is the same for us.
                [byte, ..] if *byte == quote => {
                    self.inside = Inside::Code;
                    1
                }
                _ => 1,
            },
            Inside::Comment if rest.starts_with(b"*/") => {
                self.inside = Inside::Code;
                2
            }
            Inside::Comment => 1,
        };
        self.statement.extend_from_slice(&rest[..len]);
        self.at += len;
        false
    }

    /// True for a line that is the client's: `DELIMITER`, `source`, and `USE` without a delimiter,
    /// which becomes a statement.
    fn is_command(&mut self) -> bool {
        let line = String::from_utf8_lossy(self.line.trim_ascii()).into_owned();
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((&line, ""));
        let rest = rest.trim();
        match word.to_ascii_lowercase().as_str() {
            "delimiter" | "\\d" if !rest.is_empty() => {
                let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
                self.delimiter = rest.as_bytes()[..end].to_vec();
            }
            "source" | "\\." => self.files.push((self.number, rest.trim_end_matches(';').to_owned())),
            "use" if !self.line.ends_with(&self.delimiter) && !rest.contains(';') => {
                // The client takes the line for the whole statement.
                self.line.truncate(self.line.trim_ascii_end().len());
                self.line.extend_from_slice(&self.delimiter);
                return false;
            }
            _ => return false,
        }
        true
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn statements(text: &str) -> Vec<(u64, String)> {
        let mut script = Script::new("x.sql", text.as_bytes());
        let next = || script.next_statement().unwrap();
        let text = |s: Statement| (s.line, String::from_utf8(s.text).unwrap());
        std::iter::from_fn(next).map(text).collect()
    }

    fn expect(text: &str, expected: &[(u64, &str)]) {
        let expected: Vec<_> = expected.iter().map(|(line, text)| (*line, (*text).to_owned())).collect();
        assert_eq!(statements(text), expected, "{text}");
    }

    #[test]
    fn statements_end_at_delimiters_outside_of_quotes_and_comments() {
        expect("a; b\n;c", &[(1, "a"), (1, "b"), (2, "c")]);
        expect("select ';', \"a\\\";\", `;`; b", &[(1, "select ';', \"a\\\";\", `;`"), (1, "b")]);
        expect("-- a;\n# b;\n/* c;\n */ d -- e;\n;", &[(4, "-- a;\n# b;\n/* c;\n */ d -- e;")]);
        expect("/*!50001 CREATE; */;\n--\n;", &[(1, "/*!50001 CREATE; */")]);
        expect("a--b;", &[(1, "a--b")]);
        expect("", &[]);
        expect("\n\n;;;", &[]);
        expect("'it''s;'", &[(1, "'it''s;'")]);
    }

    #[test]
    fn a_script_that_ends_too_early_is_known() {
        for (text, is_unfinished) in [("a; 'b;", true), ("a; /* b", true), ("a; `b", true), ("a; 'b'", false)]
        {
            let mut script = Script::new("x.sql", text.as_bytes());
            while script.next_statement().unwrap().is_some() {}
            assert_eq!(script.is_unfinished(), is_unfinished, "{text}");
        }
    }

    #[test]
    fn the_delimiter_can_be_another() {
        expect(
            "DELIMITER ;;\nCREATE FUNCTION f() RETURNS INT\nBEGIN a; b; END ;;\ndelimiter ;\nc;",
            &[(2, "CREATE FUNCTION f() RETURNS INT\nBEGIN a; b; END"), (5, "c")],
        );
        expect("delimiter //\na; //b//", &[(2, "a;"), (2, "b")]);
    }

    #[test]
    fn commands_of_the_client_are_known() {
        expect("use d\nCREATE TABLE t (a INT);", &[(1, "use d"), (2, "CREATE TABLE t (a INT)")]);
        expect("USE d; a;", &[(1, "USE d"), (1, "a")]);
        let mut script = Script::new("x.sql", &b"a;\nsource more.sql;\n\\. last.sql\n"[..]);
        while script.next_statement().unwrap().is_some() {}
        assert_eq!(script.files(), [(2, "more.sql".to_owned()), (3, "last.sql".to_owned())]);
    }
}
