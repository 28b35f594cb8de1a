//! What the collation of a language changes in the table of all characters.
//!
//! A file of `data/tailorings` is text. `#` begins a comment; any other line says what some
//! characters weigh, in hexadecimal:
//!
//! ```text
//! 010D = 0E6E.0020.0002 0000.0021.0002        a character
//! 0063 0068 = 0EE7                            a contraction: characters that weigh as one
//! 0307 0300 = zero.0025.0002                  a weight of zero that counts
//! reorder 1C7A..1FB5 1C47                     primary weights that move, to where the first goes
//! upper first                                 upper case before lower case
//! ```
//!
//! Elements are divided by spaces, the weights of their levels by dots; other weights of zero are
//! none.
//! `cargo xtask collations tailor` makes the files from recordings of MySQL, which builds these
//! weights from the rules of CLDR 30 over UCA 9.0.0, and from older rules over UCA 4.0.0.
//!
//! (T1) Of several contractions that a text goes on with, the longest counts.
//! (T2) Weights of the tables in `data` are changed by `reorder`, those of the file are not.

use super::elements::{self, Elements};

/// The changes of one collation.
#[derive(Debug, Default)]
pub(super) struct Tailoring {
    /// By character.
    singles: Vec<(u32, Elements)>,
    pages: Pages,
    /// As UTF-8, in the order of the bytes.
    contractions: Vec<(Box<[u8]>, Elements)>,
    heads: Pages,
    reordered: Vec<Reordered>,
    upper_first: bool,
}

/// What an element is, beyond its weights.
#[derive(Debug, Clone, Copy)]
enum Mark {
    None,
    /// Upper case, where that is first: 100 is added to its tertiary weight. 300 is to other ones.
    Upper,
    /// A contraction of both cases, where upper case is first: 200.
    Mixed,
    /// Its primary weight of zero counts.
    Zero,
}

/// Primary weights from `first` to `last` that become those from `becomes` on.
#[derive(Debug, Clone, Copy)]
struct Reordered {
    first: u16,
    last: u16,
    becomes: u16,
}

impl Tailoring {
    /// Reads a file. It is part of the program, and tests read all of them: lines that cannot be
    /// read are ignored.
    pub(super) fn parse(file: &str) -> Self {
        let mut tailoring = Self::default();
        for line in file.lines() {
            let line = line.split('#').next().unwrap_or_default().trim();
            let is_read = line.is_empty() || tailoring.parse_line(line).is_some();
            debug_assert!(is_read, "{line}");
        }
        tailoring.singles.sort_by_key(|(c, _)| *c);
        tailoring.contractions.sort_by(|a, b| a.0.cmp(&b.0));
        tailoring
    }

    fn parse_line(&mut self, line: &str) -> Option<()> {
        if line == "upper first" {
            self.upper_first = true;
            return Some(());
        }
        if let Some(range) = line.strip_prefix("reorder ") {
            let (from, becomes) = range.split_once(' ')?;
            let (first, last) = from.split_once("..")?;
            let weight = |digits| u16::from_str_radix(digits, 16).ok();
            let moved = Reordered { first: weight(first)?, last: weight(last)?, becomes: weight(becomes)? };
            self.reordered.push(moved);
            return Some(());
        }
        let (chars, weights) = line.split_once('=')?;
        let chars = chars.split_whitespace().map(|c| u32::from_str_radix(c, 16).ok());
        let chars: Vec<u32> = chars.collect::<Option<_>>()?;
        let mut list = Elements::default();
        for element in weights.split_whitespace() {
            let mut levels = [0; 3];
            let mut mark = Mark::None;
            for (level, digits) in levels.iter_mut().zip(element.split('.')) {
                match digits {
                    "zero" => mark = Mark::Zero,
                    _ => *level = u32::from_str_radix(digits, 16).ok()?,
                }
            }
            match levels[2] & 0x300 {
                0x100 => mark = Mark::Upper,
                0x200 => mark = Mark::Mixed,
                _ => {}
            }
            list.push_marked(elements::pack_tailored(levels[0], levels[1], levels[2]), mark as u16);
        }
        match chars[..] {
            [] => return None,
            [c] => {
                self.singles.push((c, list));
                self.pages.insert(c);
            }
            [head, ..] => {
                let text: String = chars.iter().map(|&c| char::from_u32(c)).collect::<Option<_>>()?;
                self.contractions.push((text.into_bytes().into(), list));
                self.heads.insert(head);
            }
        }
        Some(())
    }

    /// The elements of a character, if the language changes them.
    pub(super) fn single(&self, c: u32) -> Option<Elements> {
        if !self.pages.contains(c) {
            return None;
        }
        let at = self.singles.binary_search_by_key(&c, |(c, _)| *c).ok()?;
        self.singles.get(at).map(|(_, elements)| *elements)
    }

    /// True if some characters weigh as one.
    pub(super) fn has_contractions(&self) -> bool {
        !self.contractions.is_empty()
    }

    /// The contraction that `text` begins with, and its length in bytes (T1); `c` is the text's
    /// first character.
    pub(super) fn contraction(&self, c: u32, text: &[u8]) -> Option<(Elements, usize)> {
        if !self.heads.contains(c) {
            return None;
        }
        // In the order of bytes, what a text begins with stands before the text.
        let end = self.contractions.partition_point(|(bytes, _)| **bytes <= *text);
        let candidates = self.contractions.get(..end)?.iter().rev();
        let mut candidates = candidates.take_while(|(bytes, _)| bytes.first() == text.first());
        candidates
            .find(|(bytes, _)| text.starts_with(bytes))
            .map(|(bytes, elements)| (*elements, bytes.len()))
    }

    /// What contractions are made of, as UTF-8.
    pub(super) fn contracted(&self) -> impl Iterator<Item = &[u8]> {
        self.contractions.iter().map(|(bytes, _)| &**bytes)
    }

    /// The elements of a table's character as the language has them (T2).
    pub(super) fn change(&self, elements: Elements) -> Elements {
        if self.reordered.is_empty() && !self.upper_first {
            return elements;
        }
        let mut moved = Elements::default();
        for &element in elements.as_slice() {
            let weight = elements::weight(element, 0);
            let range = self.reordered.iter().find(|range| (range.first..=range.last).contains(&weight));
            let element = match range {
                Some(range) => elements::with_primary(element, weight - range.first + range.becomes),
                None => element,
            };
            // What the Unicode Collation Algorithm has for upper case, and for forms of it.
            let is_upper = matches!(elements::weight(element, 2), 0x08..=0x0c | 0x0e | 0x11 | 0x12 | 0x1d);
            moved.push_marked(element, if is_upper { Mark::Upper } else { Mark::None } as u16);
        }
        moved
    }

    /// The weight of the element at a place on a level; `None` if it has none there.
    pub(super) fn weight(&self, elements: &Elements, at: usize, level: u8) -> Option<u16> {
        let element = *elements.as_slice().get(at)?;
        let mark = elements.mark(at);
        Some(match elements::weight(element, level) {
            0 if level == 0 && mark == Mark::Zero as u16 => 0,
            0 => return None,
            weight if level == 2 && self.upper_first => match mark {
                _ if mark == Mark::Upper as u16 => weight | 0x100,
                _ if mark == Mark::Mixed as u16 => weight | 0x200,
                _ => weight | 0x300,
            },
            weight => weight,
        })
    }
}

/// A set of characters of the basic plane, by pages of 64; it may hold more than was put in.
#[derive(Debug, Default)]
struct Pages([u64; 16]);

impl Pages {
    fn insert(&mut self, c: u32) {
        let page = c as usize / 64 % 1024;
        self.0[page / 64] |= 1 << (page % 64);
    }

    fn contains(&self, c: u32) -> bool {
        let page = c as usize / 64 % 1024;
        self.0[page / 64] & 1 << (page % 64) != 0
    }
}
