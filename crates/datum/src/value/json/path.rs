//! Paths: `$`, then legs: `.name`, `."any name"`, `.*`, `[n]`, `[last-n]`, `[m to n]`, `[*]`, `**`.
//!
//! A value that is no array counts as an array of one where a leg names a cell or a range, as in
//! MySQL. A path is compiled once; what it finds are places in the document, in the document's
//! order, each once.

use std::collections::HashSet;

use binlog::row::RowError;

use super::{Json, Node, parse};

/// A compiled path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    legs: Vec<Leg>,
    /// It may find several values.
    is_multiple: bool,
    has_ellipsis: bool,
}

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Leg {
    /// `.name`
    Member(Box<[u8]>),
    /// `[n]`
    Cell(Index),
    /// `[m to n]`
    Range(Index, Index),
    /// `.*`
    AnyMember,
    /// `[*]`
    AnyCell,
    /// `**`
    Ellipsis,
}

/// A place in an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Index {
    /// Cells from the start, or from the last one back.
    pub offset: u32,
    /// `last-n`
    pub from_last: bool,
}

impl Index {
    /// The cell among `len`, if there is one.
    pub(crate) fn within(self, len: usize) -> Option<usize> {
        let offset = self.offset as usize;
        let at = if self.from_last { len.checked_sub(offset + 1)? } else { offset };
        (at < len).then_some(at)
    }

    /// Cells before it among `len`, at most all.
    pub(crate) fn clamped(self, len: usize) -> usize {
        let offset = self.offset as usize;
        if self.from_last { len.saturating_sub(offset.saturating_add(1)) } else { offset.min(len) }
    }
}

/// Legs that a path may have; documents have no more levels than this anyway.
const LEGS_MAX: usize = 1000;

impl Path {
    /// Compiles a path.
    ///
    /// # Errors
    /// The byte at which it stops being one.
    pub fn parse(text: &[u8]) -> Result<Path, usize> {
        Parser { text, at: 0 }.path()
    }

    /// What follows the `$`; empty for the whole document.
    pub fn legs(&self) -> &[Leg] {
        &self.legs
    }

    /// True if it has wildcards or ranges, and so may find several values.
    pub fn is_multiple(&self) -> bool {
        self.is_multiple
    }

    /// What it finds, for a path that is not [multiple](Self::is_multiple); of others the first.
    pub fn find_one<'a>(&self, root: Json<'a>) -> Result<Option<Json<'a>>, RowError> {
        if self.is_multiple {
            return Ok(self.find(root)?.first().copied());
        }
        let mut value = root;
        for leg in &self.legs {
            let next = match (leg, value.node()?) {
                (Leg::Member(name), Node::Container(object)) => object.find(name)?,
                (Leg::Cell(index), Node::Container(array)) if !array.is_object() => {
                    index.within(array.len()).map(|i| array.value(i)).transpose()?
                }
                (Leg::Cell(index), _) => index.within(1).map(|_| value),
                _ => None,
            };
            let Some(next) = next else { return Ok(None) };
            value = next;
        }
        Ok(Some(value))
    }

    /// All that it finds, in the document's order.
    pub fn find<'a>(&self, root: Json<'a>) -> Result<Vec<Json<'a>>, RowError> {
        let mut found = vec![root];
        for leg in &self.legs {
            let mut next = Vec::new();
            if *leg == Leg::Ellipsis {
                let mut seen = HashSet::new();
                for value in &found {
                    descend(*value, 0, &mut seen, &mut next)?;
                }
            } else {
                for value in &found {
                    step(leg, *value, &mut next)?;
                }
                if self.has_ellipsis {
                    let mut seen = HashSet::new();
                    next.retain(|value| seen.insert(value.place()));
                }
            }
            found = next;
        }
        Ok(found)
    }
}

/// What one leg finds in one value.
fn step<'a>(leg: &Leg, value: Json<'a>, found: &mut Vec<Json<'a>>) -> Result<(), RowError> {
    let node = value.node()?;
    let container = if let Node::Container(c) = &node { Some(c) } else { None };
    let array = container.filter(|c| !c.is_object());
    match (leg, container, array) {
        (Leg::Member(name), Some(object), None) => found.extend(object.find(name)?),
        (Leg::AnyMember, Some(all), None) | (Leg::AnyCell, _, Some(all)) => {
            for i in 0..all.len() {
                found.push(all.value(i)?);
            }
        }
        (Leg::Cell(index), _, Some(array)) => {
            if let Some(i) = index.within(array.len()) {
                found.push(array.value(i)?);
            }
        }
        (Leg::Range(from, to), _, Some(array)) => {
            for i in range(*from, *to, array.len()) {
                found.push(array.value(i)?);
            }
        }
        (Leg::Cell(index), _, None) if index.within(1).is_some() => found.push(value),
        (Leg::Range(from, to), _, None) if !range(*from, *to, 1).is_empty() => found.push(value),
        _ => {}
    }
    Ok(())
}

/// The cells of a range among `len`.
pub fn range(from: Index, to: Index, len: usize) -> std::ops::Range<usize> {
    let start = from.clamped(len);
    let end = match to.from_last {
        true => len.saturating_sub(to.offset as usize),
        false => len.min((to.offset as usize).saturating_add(1)),
    };
    start..end
}

/// The value and everything in it that has not been seen.
fn descend<'a>(
    value: Json<'a>,
    depth: usize,
    seen: &mut HashSet<usize>,
    found: &mut Vec<Json<'a>>,
) -> Result<(), RowError> {
    if depth > binlog::row::json::DEPTH_MAX {
        return Err(RowError::Malformed("JSON document"));
    }
    if !seen.insert(value.place()) {
        return Ok(());
    }
    found.push(value);
    if let Node::Container(container) = value.node()? {
        for i in 0..container.len() {
            descend(container.value(i)?, depth + 1, seen, found)?;
        }
    }
    Ok(())
}

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while self.peek().is_some_and(|b| b.is_ascii_whitespace() || b == 0x0b) {
            self.at += 1;
        }
    }

    /// Takes `byte`; fails after whatever else stands there.
    fn expect(&mut self, byte: u8) -> Result<(), usize> {
        let next = self.peek();
        self.at += usize::from(next.is_some());
        if next == Some(byte) { Ok(()) } else { Err(self.at) }
    }

    fn path(mut self) -> Result<Path, usize> {
        self.skip_space();
        self.expect(b'$')?;
        let mut legs = Vec::new();
        loop {
            self.skip_space();
            let Some(next) = self.peek() else { break };
            legs.push(match next {
                b'.' => self.member()?,
                b'[' => self.cell()?,
                b'*' => self.ellipsis()?,
                _ => return Err(self.at),
            });
            if legs.len() > LEGS_MAX {
                return Err(self.at);
            }
        }
        if legs.last() == Some(&Leg::Ellipsis) {
            return Err(self.at);
        }
        let is_multiple = legs.iter().any(|leg| !matches!(leg, Leg::Member(_) | Leg::Cell(_)));
        let has_ellipsis = legs.contains(&Leg::Ellipsis);
        Ok(Path { legs, is_multiple, has_ellipsis })
    }

    fn ellipsis(&mut self) -> Result<Leg, usize> {
        self.at += 1;
        self.expect(b'*')?;
        match self.peek() {
            None | Some(b'*') => Err(self.at),
            Some(_) => Ok(Leg::Ellipsis),
        }
    }

    fn member(&mut self) -> Result<Leg, usize> {
        self.at += 1;
        self.skip_space();
        match self.peek() {
            None => Err(self.at),
            Some(b'*') => {
                self.at += 1;
                Ok(Leg::AnyMember)
            }
            Some(b'"') => self.quoted_name(),
            Some(_) => self.name(),
        }
    }

    fn quoted_name(&mut self) -> Result<Leg, usize> {
        let start = self.at;
        self.at += 1;
        loop {
            match self.peek() {
                None => return Err(self.at),
                Some(b'"') => break,
                Some(b'\\') => self.at = (self.at + 2).min(self.text.len()),
                Some(_) => self.at += 1,
            }
        }
        self.at += 1;
        match parse::parse(&self.text[start..self.at]) {
            Ok(super::Tree::String(name)) => Ok(Leg::Member(name.into())),
            _ => Err(self.at),
        }
    }

    /// A name without quotes is an ECMAScript identifier.
    fn name(&mut self) -> Result<Leg, usize> {
        let start = self.at;
        while self.peek().is_some_and(|b| !b.is_ascii_whitespace() && !matches!(b, b'.' | b'[' | b'*')) {
            self.at += 1;
        }
        let name = &self.text[start..self.at];
        if !is_identifier(name) {
            return Err(self.at);
        }
        Ok(Leg::Member(name.into()))
    }

    fn cell(&mut self) -> Result<Leg, usize> {
        self.at += 1;
        self.skip_space();
        let leg = if self.peek() == Some(b'*') {
            self.at += 1;
            Leg::AnyCell
        } else {
            let from = self.index()?;
            self.skip_space();
            let rest = &self.text[self.at..];
            if rest.starts_with(b"to") && rest.get(2).is_some_and(u8::is_ascii_whitespace) {
                self.at += 2;
                self.skip_space();
                let to = self.index()?;
                self.skip_space();
                let backwards = from.from_last == to.from_last
                    && if from.from_last { from.offset < to.offset } else { from.offset > to.offset };
                if backwards {
                    return Err(self.at);
                }
                Leg::Range(from, to)
            } else {
                Leg::Cell(from)
            }
        };
        self.skip_space();
        self.expect(b']')?;
        Ok(leg)
    }

    fn index(&mut self) -> Result<Index, usize> {
        if !self.text[self.at..].starts_with(b"last") {
            return Ok(Index { offset: self.number()?, from_last: false });
        }
        self.at += 4;
        self.skip_space();
        if self.peek() != Some(b'-') {
            return Ok(Index { offset: 0, from_last: true });
        }
        self.at += 1;
        self.skip_space();
        Ok(Index { offset: self.number()?, from_last: true })
    }

    fn number(&mut self) -> Result<u32, usize> {
        let start = self.at;
        while self.peek().is_some_and(|b| b.is_ascii_digit()) {
            self.at += 1;
        }
        let digits = std::str::from_utf8(&self.text[start..self.at]).unwrap_or_default();
        digits.parse().map_err(|_| start)
    }
}

/// True for a name that a path takes without quotes.
pub fn is_identifier(name: &[u8]) -> bool {
    let Ok(name) = std::str::from_utf8(name) else { return false };
    let start = |c: char| c.is_alphabetic() || c == '_' || c == '$';
    let mut chars = name.chars();
    chars.next().is_some_and(start)
        && chars.all(|c| start(c) || c.is_numeric() || matches!(c, '\u{200c}' | '\u{200d}'))
}
