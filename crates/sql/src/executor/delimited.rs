//! Reading delimited text: the lines and fields of LOAD DATA's file.
//!
//! The file comes in pieces and is read once, from front to back; only the line at hand is kept.
//! The rules are those of the manual's "LOAD DATA Statement": a field that begins with the ENCLOSED
//! BY character ends at the next one that a delimiter or the file's end follows, a doubled one
//! stands for itself; the escape character makes the next one plain, or one of `\0 \b \n \r \t \Z`;
//! `\N` alone is NULL, and so is a bare `NULL` where fields may be enclosed.

use super::server_file::Delimiters;
use datum::error::{self, Result};

/// Where the bytes come from.
pub(super) trait Pieces {
    /// Appends the next bytes; nothing at the end.
    fn next(&mut self, out: &mut Vec<u8>) -> Result<()>;
}

/// A field of the line at hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Field {
    start: usize,
    end: usize,
    /// It stands for NULL.
    pub(super) is_null: bool,
    /// It stands without quotes.
    pub(super) is_bare: bool,
}

/// Reads a file's lines.
pub(super) struct Lines<'p> {
    pieces: &'p mut dyn Pieces,
    delimiters: Delimiters,
    /// Bytes that came and were not read yet start at `at`.
    buffer: Vec<u8>,
    at: usize,
    ended: bool,
    /// Bytes that are none of those that mean something.
    is_plain: [bool; 256],
    /// The fields' text, one after the other.
    text: Vec<u8>,
    fields: Vec<Field>,
    /// Bytes of a line at most.
    line_max: usize,
}

impl<'p> Lines<'p> {
    /// A reader at the file's start.
    pub(super) fn new(pieces: &'p mut dyn Pieces, delimiters: Delimiters, line_max: usize) -> Self {
        let mut is_plain = [true; 256];
        let starts = [delimiters.field.first(), delimiters.line.first()];
        let marks = [delimiters.enclosed.as_ref(), delimiters.escape.as_ref()];
        for byte in starts.into_iter().chain(marks).flatten() {
            is_plain[usize::from(*byte)] = false;
        }
        let (buffer, text, fields) = (Vec::new(), Vec::new(), Vec::new());
        Self { pieces, delimiters, buffer, at: 0, ended: false, is_plain, text, fields, line_max }
    }

    /// Reads the next line; false at the end.
    pub(super) fn next(&mut self) -> Result<bool> {
        self.text.clear();
        self.fields.clear();
        if !self.find_start()? || self.peek()?.is_none() {
            return Ok(false);
        }
        loop {
            let more = self.field()?;
            if !more || self.peek()?.is_none() {
                return Ok(true);
            }
        }
    }

    /// Passes over a line, whatever is in it.
    pub(super) fn skip(&mut self) -> Result<()> {
        while self.peek()?.is_some() {
            if self.takes_line_end()? {
                break;
            }
            self.at += 1;
        }
        Ok(())
    }

    pub(super) fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// How many fields the line has; a terminator after the last one, with nothing after it,
    /// makes no other.
    pub(super) fn count(&self, wanted: usize) -> usize {
        let is_nothing = |field: &Field| field.start == field.end && field.is_bare && !field.is_null;
        let ends_so = self.fields.len() == wanted + 1 && self.fields.last().is_some_and(is_nothing);
        self.fields.len() - usize::from(ends_so)
    }

    /// A field's text.
    pub(super) fn text(&self, field: Field) -> &[u8] {
        &self.text[field.start..field.end]
    }

    /// Passes over what stands before the LINES STARTING BY text; false if that does not come any
    /// more.
    fn find_start(&mut self) -> Result<bool> {
        let start = std::mem::take(&mut self.delimiters.start);
        let mut found = start.is_empty();
        while !found && self.peek()?.is_some() {
            found = self.takes(&start)?;
            self.at += usize::from(!found);
        }
        self.delimiters.start = start;
        Ok(found)
    }

    /// Reads a field; true if another one follows in the line.
    fn field(&mut self) -> Result<bool> {
        let start = self.text.len();
        let enclosed = self.delimiters.enclosed;
        let is_enclosed = enclosed.is_some() && self.peek()? == enclosed;
        self.at += usize::from(is_enclosed);
        let mut escaped_n = false;
        let more = loop {
            self.plain_run();
            if self.text.len() > self.line_max {
                return Err(error::NET_PACKET_TOO_LARGE.plain());
            }
            let Some(byte) = self.peek()? else { break false };
            if Some(byte) == self.delimiters.escape && !(is_enclosed && enclosed == Some(byte)) {
                self.at += 1;
                escaped_n |= self.escaped(byte)?;
                continue;
            }
            if is_enclosed && Some(byte) == enclosed {
                self.at += 1;
                if self.peek()? == enclosed {
                    self.at += 1; // doubled
                } else if self.peek()?.is_none() || self.takes_line_end()? {
                    break false;
                } else if self.takes_field_end()? {
                    break true;
                }
                self.text.push(byte);
                continue;
            }
            if !is_enclosed && self.takes_field_end()? {
                break true;
            }
            if !is_enclosed && self.takes_line_end()? {
                break false;
            }
            self.text.push(byte);
            self.at += 1;
        };
        let end = self.text.len();
        let word = !is_enclosed && enclosed.is_some() && self.text[start..] == *b"NULL";
        let is_null = word || escaped_n && end - start == 1;
        self.fields.push(Field { start, end, is_null, is_bare: !is_enclosed });
        Ok(more)
    }

    /// Takes bytes that mean nothing but themselves.
    fn plain_run(&mut self) {
        let rest = &self.buffer[self.at..];
        let len = rest.iter().position(|b| !self.is_plain[usize::from(*b)]).unwrap_or(rest.len());
        self.text.extend_from_slice(&rest[..len]);
        self.at += len;
    }

    /// The character after the escape character; true for `N`.
    fn escaped(&mut self, escape: u8) -> Result<bool> {
        let Some(byte) = self.peek()? else {
            self.text.push(escape);
            return Ok(false);
        };
        self.at += 1;
        self.text.push(match byte {
            b'0' => 0,
            b'b' => 8,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'Z' => 26,
            other => other,
        });
        Ok(byte == b'N')
    }

    fn takes_field_end(&mut self) -> Result<bool> {
        let pattern = std::mem::take(&mut self.delimiters.field);
        let found = self.takes(&pattern);
        self.delimiters.field = pattern;
        found
    }

    fn takes_line_end(&mut self) -> Result<bool> {
        let pattern = std::mem::take(&mut self.delimiters.line);
        let found = if pattern.is_empty() { Ok(false) } else { self.takes(&pattern) };
        self.delimiters.line = pattern;
        found
    }

    /// Takes `pattern` if it comes next.
    fn takes(&mut self, pattern: &[u8]) -> Result<bool> {
        while self.buffer.len() - self.at < pattern.len() && !self.ended {
            self.fill()?;
        }
        let found = self.buffer[self.at..].starts_with(pattern);
        self.at += if found { pattern.len() } else { 0 };
        Ok(found)
    }

    /// The next byte.
    fn peek(&mut self) -> Result<Option<u8>> {
        while self.at == self.buffer.len() && !self.ended {
            self.fill()?;
        }
        Ok(self.buffer.get(self.at).copied())
    }

    fn fill(&mut self) -> Result<()> {
        self.buffer.drain(..self.at);
        self.at = 0;
        let before = self.buffer.len();
        self.pieces.next(&mut self.buffer)?;
        self.ended = self.buffer.len() == before;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datum::types::Charset;
    use syntax::ast::{FileFormat, Text};

    /// Gives a text in pieces of one size.
    struct Chunks<'a>(std::slice::Chunks<'a, u8>);

    impl Pieces for Chunks<'_> {
        fn next(&mut self, out: &mut Vec<u8>) -> Result<()> {
            out.extend_from_slice(self.0.next().unwrap_or_default());
            Ok(())
        }
    }

    /// Lines as `a|b`, NULL as `~`, one after the other with `/`; the same in pieces of any size.
    fn check(format: &FileFormat, text: &str, expected: &str) {
        for size in [1, 2, 3, 5, 1000] {
            let mut pieces = Chunks(text.as_bytes().chunks(size));
            let mut lines = Lines::new(
                &mut pieces,
                Delimiters::new(format, Charset::Utf8mb4, Charset::Utf8mb4).unwrap(),
                1 << 20,
            );
            let mut out = Vec::new();
            while lines.next().unwrap() {
                let show = |f: &Field| match f.is_null {
                    true => "~".to_owned(),
                    false => String::from_utf8_lossy(lines.text(*f)).into_owned(),
                };
                out.push(lines.fields().iter().map(show).collect::<Vec<_>>().join("|"));
            }
            assert_eq!(out.join("/"), expected, "{text:?} in pieces of {size}");
        }
    }

    fn text(text: &str) -> Option<Text> {
        Some(Text::new(text.as_bytes()))
    }

    #[test]
    fn tabs_and_escapes() {
        let f = FileFormat::default();
        check(&f, "", "");
        check(&f, "1\t2\n3\t4\n", "1|2/3|4");
        check(&f, "1\t2\n3\t4", "1|2/3|4");
        check(&f, "\n1", "/1");
        check(&f, "a\\tb\\\\\t\\N\t\\Nx\tNULL\n", "a\tb\\|~|Nx|NULL");
        check(&f, "a\\\nb\tc\n", "a\nb|c");
        check(&f, "1\t\n", "1|");
        check(&f, "x\\", "x\\");
    }

    #[test]
    fn a_terminator_at_the_end_makes_no_field() {
        let format =
            FileFormat { fields_terminated: text(","), enclosed: text("\""), ..FileFormat::default() };
        for (line, counted) in
            [("1,a,", 2), ("1,a", 2), ("1,", 2), ("1,a,,", 4), ("1,a,\"\"", 3), ("1,a, ", 3)]
        {
            let line = format!("{line}\n");
            let mut pieces = Chunks(line.as_bytes().chunks(3));
            let delimiters = Delimiters::new(&format, Charset::Utf8mb4, Charset::Utf8mb4).unwrap();
            let mut lines = Lines::new(&mut pieces, delimiters, 1 << 20);
            assert!(lines.next().unwrap());
            assert_eq!(lines.count(2), counted, "{line}");
        }
    }

    #[test]
    fn enclosed_fields() {
        let f = FileFormat {
            fields_terminated: text(","),
            enclosed: text("\""),
            optionally_enclosed: true,
            lines_terminated: text("\r\n"),
            ..FileFormat::default()
        };
        check(&f, "\"a,b\",c\r\n", "a,b|c");
        check(&f, "\"a\"\"b\",NULL,\"NULL\"\r\n", "a\"b|~|NULL");
        check(&f, "\"a\"b\",2\r\n", "a\"b|2");
        check(&f, "\"two\r\nlines\",2\r\nx,y\r\n", "two\r\nlines|2/x|y");
        check(&f, "a\rb,c", "a\rb|c");
    }

    #[test]
    fn starts_and_long_delimiters() {
        let f = FileFormat {
            fields_terminated: text("||"),
            lines_starting: text("xx"),
            lines_terminated: text("<end>"),
            escaped: text(""),
            ..FileFormat::default()
        };
        check(&f, "junkxxa|b||c<end>xxd\\||e<e<end>no", "a|b|c/d\\|e<e");
    }
}
