//! JSON text to a tree, in one pass, by hand: MySQL says a client the byte where the text stops
//! being JSON and why, in words that applications match on, which no general parser would give; and
//! strings without escapes are borrowed.

use std::borrow::Cow;

use binlog::row::json::{DEPTH_MAX, Tree};

use crate::bounds::Ticker;

/// Why text is no document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParseError {
    /// What is wrong, and at which byte.
    Syntax(&'static str, usize),
    /// More levels than a document may have.
    TooDeep,
    /// The statement was killed or has too much memory: [`crate::bounds::check`] says which.
    Ended,
}

type Parsed<T> = Result<T, ParseError>;

/// Reads a document. `text` is UTF-8.
pub fn parse(text: &[u8]) -> Parsed<Tree<'_>> {
    let mut parser = Parser { text, at: 0, ticker: Ticker::default() };
    parser.skip_space();
    if parser.peek().is_none() {
        return Err(parser.error("The document is empty."));
    }
    let tree = parser.value(DEPTH_MAX)?;
    parser.skip_space();
    match parser.peek() {
        None => Ok(tree),
        Some(_) => Err(parser.error("The document root must not be followed by other values.")),
    }
}

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
    ticker: Ticker,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn error(&self, message: &'static str) -> ParseError {
        ParseError::Syntax(message, self.at)
    }

    fn skip_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    /// Takes `byte` if it is next.
    fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// `levels`: how many more containers may be opened.
    fn value(&mut self, levels: usize) -> Parsed<Tree<'a>> {
        self.ticker.step().map_err(|_| ParseError::Ended)?;
        match self.peek() {
            Some(b'{') => self.object(levels.checked_sub(1).ok_or(ParseError::TooDeep)?),
            Some(b'[') => self.array(levels.checked_sub(1).ok_or(ParseError::TooDeep)?),
            Some(b'"') => self.string().map(Tree::String),
            Some(b'n') => self.word(b"null", Tree::Null),
            Some(b't') => self.word(b"true", Tree::Bool(true)),
            Some(b'f') => self.word(b"false", Tree::Bool(false)),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => Err(self.error("Invalid value.")),
        }
    }

    fn word(&mut self, word: &[u8], value: Tree<'a>) -> Parsed<Tree<'a>> {
        for &b in word {
            if !self.eat(b) {
                return Err(self.error("Invalid value."));
            }
        }
        Ok(value)
    }

    fn array(&mut self, levels: usize) -> Parsed<Tree<'a>> {
        self.at += 1;
        let mut elements = Vec::new();
        self.skip_space();
        if self.eat(b']') {
            return Ok(Tree::Array(elements));
        }
        loop {
            elements.push(self.value(levels)?);
            self.skip_space();
            if self.eat(b']') {
                return Ok(Tree::Array(elements));
            }
            if !self.eat(b',') {
                return Err(self.error("Missing a comma or ']' after an array element."));
            }
            self.skip_space();
        }
    }

    fn object(&mut self, levels: usize) -> Parsed<Tree<'a>> {
        self.at += 1;
        let mut members = Vec::new();
        self.skip_space();
        if self.eat(b'}') {
            return Ok(Tree::Object(members));
        }
        loop {
            if self.peek() != Some(b'"') {
                return Err(self.error("Missing a name for object member."));
            }
            let name = self.string()?;
            self.skip_space();
            if !self.eat(b':') {
                return Err(self.error("Missing a colon after a name of object member."));
            }
            self.skip_space();
            members.push((name, self.value(levels)?));
            self.skip_space();
            if self.eat(b'}') {
                return Ok(Tree::object(members));
            }
            if !self.eat(b',') {
                return Err(self.error("Missing a comma or '}' after an object member."));
            }
            self.skip_space();
        }
    }

    fn string(&mut self) -> Parsed<Cow<'a, [u8]>> {
        self.at += 1;
        let start = self.at;
        let mut made: Option<Vec<u8>> = None;
        loop {
            let from = self.at;
            let plain = self.text[from..].iter().position(|&b| b == b'"' || b == b'\\' || b < b' ');
            self.at = plain.map_or(self.text.len(), |n| from + n);
            if let Some(made) = &mut made {
                made.extend_from_slice(&self.text[from..self.at]);
            }
            match self.peek() {
                Some(b'"') => {
                    let end = self.at;
                    self.at += 1;
                    return Ok(made.map_or(Cow::Borrowed(&self.text[start..end]), Cow::Owned));
                }
                Some(b'\\') => {
                    let made = made.get_or_insert_with(|| self.text[start..self.at].to_vec());
                    escape(self.text, &mut self.at, made)?;
                }
                None | Some(0) => return Err(self.error("Missing a closing quotation mark in string.")),
                Some(_) => return Err(self.error("Invalid encoding in string.")),
            }
        }
    }

    fn number(&mut self) -> Parsed<Tree<'a>> {
        let start = self.at;
        let negative = self.eat(b'-');
        match self.peek() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits(),
            _ => return Err(self.error("Invalid value.")),
        }
        let mut whole = true;
        if self.eat(b'.') {
            whole = false;
            self.some_digits("Miss fraction part in number.")?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            whole = false;
            self.at += 1;
            let _ = self.eat(b'+') || self.eat(b'-');
            self.some_digits("Miss exponent in number.")?;
        }
        // Only ASCII was taken.
        let text = std::str::from_utf8(&self.text[start..self.at]).unwrap_or("0");
        if whole && let Some(value) = integer(text, negative) {
            return Ok(value);
        }
        match text.parse::<f64>() {
            Ok(v) if v.is_finite() => Ok(Tree::Double(v)),
            _ => Err(ParseError::Syntax("Number too big to be stored in double.", start)),
        }
    }

    fn digits(&mut self) {
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
    }

    fn some_digits(&mut self, missing: &'static str) -> Parsed<()> {
        let start = self.at;
        self.digits();
        if self.at == start { Err(self.error(missing)) } else { Ok(()) }
    }
}

/// An integer has the sign that MySQL's parser gives it: unsigned only from 2^32 up.
fn integer(text: &str, negative: bool) -> Option<Tree<'static>> {
    if negative {
        return text.parse().ok().map(Tree::Int);
    }
    let v: u64 = text.parse().ok()?;
    Some(if v <= u32::MAX.into() { Tree::Int(v as i64) } else { Tree::UInt(v) })
}

/// Reads the escape at `at`, and appends what it means.
fn escape(text: &[u8], at: &mut usize, out: &mut Vec<u8>) -> Parsed<()> {
    let start = *at;
    *at += 2;
    out.push(match text.get(start + 1) {
        Some(b'"') => b'"',
        Some(b'\\') => b'\\',
        Some(b'/') => b'/',
        Some(b'b') => 8,
        Some(b'f') => 12,
        Some(b'n') => b'\n',
        Some(b'r') => b'\r',
        Some(b't') => b'\t',
        Some(b'u') => return unicode(text, start, at, out),
        _ => return Err(ParseError::Syntax("Invalid escape character in string.", start)),
    });
    Ok(())
}

fn unicode(text: &[u8], start: usize, at: &mut usize, out: &mut Vec<u8>) -> Parsed<()> {
    let bad_pair = ParseError::Syntax("The surrogate pair in string is invalid.", start);
    let mut code = hex4(text, start, at)?;
    if (0xd800..0xdc00).contains(&code) {
        if text.get(*at..*at + 2) != Some(b"\\u") {
            return Err(bad_pair);
        }
        *at += 2;
        let low = hex4(text, start, at)?;
        if !(0xdc00..0xe000).contains(&low) {
            return Err(bad_pair);
        }
        code = 0x1_0000 + ((code - 0xd800) << 10 | (low - 0xdc00));
    }
    let c = char::from_u32(code).ok_or(bad_pair)?;
    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
    Ok(())
}

fn hex4(text: &[u8], start: usize, at: &mut usize) -> Parsed<u32> {
    let bad = ParseError::Syntax("Incorrect hex digit after \\u escape in string.", start);
    let digits = text.get(*at..*at + 4).ok_or(bad)?;
    *at += 4;
    digits.iter().try_fold(0, |code, &b| Ok(code << 4 | char::from(b).to_digit(16).ok_or(bad)?))
}
