//! Orders of Unicode text: characters weigh what a table says, on one level or three.
//!
//! Texts compare by their primary weights; where these are equal, by the secondary ones, and so on,
//! as far as the collation goes. Weights of zero don't count. No character changes the weight of
//! another: MySQL's root collations know no contractions.
//!
//! (W1) An ASCII character has one primary weight or none, and different ASCII characters of one
//!      primary weight differ on later levels only, if at all. So the first different pair of ASCII
//!      characters may decide at once.

use std::cmp::Ordering;

use smallvec::SmallVec;
use storage::key::collation::Weights;

use super::elements::{self, Elements, Missing};
use super::key_code::{KeyCode, LEVEL_END, append_minor};
use super::search;
use super::table::Table;
use crate::bounds::{self, Ticker};
use crate::error::Result;

/// An order of Unicode text.
#[derive(Debug)]
pub(super) struct UnicodeOrder {
    table: &'static Table,
    missing: Missing,
    levels: u8,
    /// The weight of a space, if texts compare as if they went on with spaces.
    padding: Option<u16>,
    code: KeyCode,
    /// The key's byte for each ASCII character; 0 for those without weight.
    ascii: [u8; 128],
    /// The same for each byte, with [`UNUSUAL`] for those without weight and those that are not
    /// ASCII.
    bytes: [u16; 256],
}

/// Marks a byte whose key is not one byte.
const UNUSUAL: u16 = 0x100;

impl UnicodeOrder {
    pub(super) fn new(table: &'static Table, missing: Missing, levels: u8, pad_space: bool) -> Self {
        let primary = |c: u32| {
            let elements = elements::of(table, missing, c);
            elements.as_slice().first().map(|&e| elements::weight(e, 0))
        };
        let mut short: Vec<u16> = (0..0x80).filter_map(primary).collect();
        short.sort_unstable();
        short.dedup();
        let code = KeyCode::new(&short);
        let mut ascii = [0; 128];
        for (c, byte) in (0..).zip(&mut ascii) {
            *byte = primary(c).map_or(0, |weight| code.append(weight, &mut Vec::new()));
        }
        let mut bytes = [UNUSUAL; 256];
        for (&weight, byte) in ascii.iter().zip(&mut bytes).filter(|(weight, _)| **weight != 0) {
            *byte = weight.into();
        }
        let padding = if pad_space { primary(0x20) } else { None };
        Self { table, missing, levels, padding, code, ascii, bytes }
    }

    fn elements(&self, c: u32) -> Elements {
        elements::of(self.table, self.missing, c)
    }

    /// The weights of `text` on a level, those that count.
    fn weights<'a>(&'a self, text: &'a [u8], level: u8) -> impl Iterator<Item = u16> + 'a {
        let all_count = self.missing == Missing::CodePoint;
        Scan { order: self, text, elements: Elements::default(), at: 0, level }
            .filter(move |&weight| weight != 0 || all_count)
    }

    /// Compares two texts.
    pub(super) fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        self.compare_primary(a, b).then_with(|| {
            (1..self.levels)
                .map(|level| self.compare_level(a, b, level))
                .find(|o| o.is_ne())
                .unwrap_or(Ordering::Equal)
        })
    }

    fn compare_primary(&self, a: &[u8], b: &[u8]) -> Ordering {
        let mut same = 0;
        for (&x, &y) in a.iter().zip(b) {
            if x | y >= 0x80 {
                break;
            }
            if x != y {
                match (self.ascii[usize::from(x)], self.ascii[usize::from(y)]) {
                    (0, _) | (_, 0) => break,
                    (p, q) if p == q => {}
                    (p, q) => return p.cmp(&q),
                }
            }
            same += 1;
        }
        if same == a.len() && same == b.len() {
            return Ordering::Equal;
        }
        self.compare_level(&a[same..], &b[same..], 0)
    }

    fn compare_level(&self, a: &[u8], b: &[u8], level: u8) -> Ordering {
        let (mut a, mut b) = (self.weights(a, level), self.weights(b, level));
        let Some(space) = self.padding else { return a.cmp(b) };
        loop {
            match (a.next(), b.next()) {
                (None, None) => return Ordering::Equal,
                (x, y) => match x.unwrap_or(space).cmp(&y.unwrap_or(space)) {
                    Ordering::Equal => {}
                    unequal => return unequal,
                },
            }
        }
    }

    /// The first place where the weights of the rest of `text` begin with those of `needle`, on all
    /// levels.
    pub(super) fn find(&self, text: &[u8], needle: &[u8]) -> Result<Option<usize>> {
        let mut rest = text;
        // Characters without weight belong to the one after them: a place before them is earlier.
        let mut begin = 0;
        let weights = std::iter::from_fn(move || {
            let elements = self.elements(next_char(&mut rest)?);
            let at = begin;
            let mut weights: SmallVec<[(usize, bool, u16); 8]> = SmallVec::new();
            for weight in self.primary_weights(elements) {
                weights.push((at, weights.is_empty(), weight));
            }
            if !weights.is_empty() {
                begin = text.len() - rest.len();
            }
            Some(weights)
        });
        let has_primary = self.weights(needle, 0).next().is_some();
        // On other levels characters count that have no weight on the first one.
        let accept = |mut at: usize| {
            if self.levels == 1 {
                return Ok(Some(at));
            }
            loop {
                bounds::check()?;
                let mut rest = &text[at..];
                if self.begins_with(rest, needle) {
                    return Ok(Some(at));
                }
                let Some(c) = next_char(&mut rest) else { return Ok(None) };
                if has_primary && self.primary_weights(self.elements(c)).next().is_some() {
                    return Ok(None);
                }
                at = text.len() - rest.len();
            }
        };
        search::find(weights.flatten(), self.weights(needle, 0), accept)
    }

    /// True if the weights of `text` begin with those of `needle`, on all levels.
    pub(super) fn begins_with(&self, text: &[u8], needle: &[u8]) -> bool {
        (0..self.levels).all(|level| {
            let mut weights = self.weights(text, level);
            self.weights(needle, level).all(|weight| weights.next() == Some(weight))
        })
    }

    /// True if a pattern's character stands for a text's: LIKE compares one by one, and characters
    /// without a place in the table are like themselves only.
    pub(super) fn same_character(&self, a: &[u8], b: &[u8]) -> bool {
        if a == b {
            return true;
        }
        let (mut x, mut y) = (a, b);
        let (Some(x), Some(y)) = (next_char(&mut x), next_char(&mut y)) else { return false };
        if self.missing == Missing::CodePoint {
            return self.weights(a, 0).eq(self.weights(b, 0));
        }
        let tabled = |c| elements::tabled(self.table, c).is_some();
        tabled(x)
            && tabled(y)
            && (0..self.levels).all(|level| self.weights(a, level).eq(self.weights(b, level)))
    }

    /// WEIGHT_STRING(): the weights in big-endian order, levels divided by a zero.
    pub(super) fn weight_string(&self, text: &[u8], out: &mut Vec<u8>, max: usize) {
        for level in 0..self.levels {
            if level > 0 {
                out.extend([0, 0]);
            }
            let left = max.saturating_sub(out.len()) / 2 + 1;
            let mut ticker = Ticker::default();
            let weights = self.weights(text, level).take(left).take_while(|_| ticker.step().is_ok());
            out.extend(weights.flat_map(u16::to_be_bytes));
        }
    }

    fn append_padded(&self, text: &[u8], space: u16, out: &mut Vec<u8>) {
        let space_byte = self.ascii[usize::from(b' ')];
        // How many spaces wait for what follows them.
        let mut spaces = 0;
        let flush_spaces = |spaces: &mut usize, follows: u8, out: &mut Vec<u8>| {
            (0..std::mem::take(spaces)).for_each(|_| out.extend([space_byte, follows]));
        };
        let mut rest = text;
        while let Some(c) = next_char(&mut rest) {
            match self.ascii.get(c as usize) {
                Some(0) => {}
                Some(&byte) if byte == space_byte => spaces += 1,
                Some(&byte) => {
                    flush_spaces(
                        &mut spaces,
                        if byte < space_byte { BEFORE_LOWER } else { BEFORE_HIGHER },
                        out,
                    );
                    out.push(byte);
                }
                None => {
                    for weight in self.primary_weights(self.elements(c)) {
                        if weight == space {
                            spaces += 1;
                        } else {
                            flush_spaces(
                                &mut spaces,
                                if weight < space { BEFORE_LOWER } else { BEFORE_HIGHER },
                                out,
                            );
                            self.code.append(weight, out);
                        }
                    }
                }
            }
        }
        out.extend([space_byte, END_OF_TEXT]);
    }

    fn append_unpadded(&self, text: &[u8], out: &mut Vec<u8>) {
        if self.append_ascii(text, out) {
            return;
        }
        let mut rest = text;
        while let Some(c) = next_char(&mut rest) {
            match self.ascii.get(c as usize) {
                Some(0) => {}
                Some(&byte) => out.push(byte),
                None => {
                    for weight in self.primary_weights(self.elements(c)) {
                        self.code.append(weight, out);
                    }
                }
            }
        }
    }

    /// Appends what most texts are, ASCII characters that all have a weight, in one pass without a
    /// branch; false, and nothing, for any other text.
    fn append_ascii(&self, text: &[u8], out: &mut Vec<u8>) -> bool {
        let begin = out.len();
        out.resize(begin + text.len(), 0);
        let mut all = 0;
        let mut weigh = |weight: &mut u8, byte: u8| {
            let key = self.bytes[usize::from(byte)];
            *weight = key as u8;
            all |= key;
        };
        let (weights, weights_left) = out[begin..].as_chunks_mut::<8>();
        let (bytes, bytes_left) = text.as_chunks::<8>();
        for (weights, bytes) in weights.iter_mut().zip(bytes) {
            (0..8).for_each(|i| weigh(&mut weights[i], bytes[i]));
        }
        weights_left.iter_mut().zip(bytes_left).for_each(|(weight, &byte)| weigh(weight, byte));
        let is_done = all & UNUSUAL == 0;
        if !is_done {
            out.truncate(begin);
        }
        is_done
    }

    fn primary_weights(&self, elements: Elements) -> impl Iterator<Item = u16> {
        let all_count = self.missing == Missing::CodePoint;
        let weights =
            (0..elements.as_slice().len()).map(move |i| elements::weight(elements.as_slice()[i], 0));
        weights.filter(move |&weight| weight != 0 || all_count)
    }
}

/// After a space that other weights follow, and after the one that stands for the text's end and
/// all the spaces it could be padded with: see `storage::key::collation`, whose trick this is.
const BEFORE_LOWER: u8 = 1;
const END_OF_TEXT: u8 = 2;
const BEFORE_HIGHER: u8 = 3;

impl Weights for UnicodeOrder {
    fn append(&self, text: &[u8], out: &mut Vec<u8>) {
        out.reserve(text.len() + 3);
        match self.padding {
            Some(space) => self.append_padded(text, space, out),
            None => self.append_unpadded(text, out),
        }
        for level in 1..self.levels {
            out.push(LEVEL_END);
            self.weights(text, level).for_each(|weight| append_minor(weight, out));
        }
    }
}

/// The weights of one level, zeros too.
struct Scan<'a> {
    order: &'a UnicodeOrder,
    text: &'a [u8],
    elements: Elements,
    at: usize,
    level: u8,
}

impl Iterator for Scan<'_> {
    type Item = u16;

    fn next(&mut self) -> Option<u16> {
        loop {
            if let Some(&element) = self.elements.as_slice().get(self.at) {
                self.at += 1;
                return Some(elements::weight(element, self.level));
            }
            self.elements = self.order.elements(next_char(&mut self.text)?);
            self.at = 0;
        }
    }
}

/// Takes a character off UTF-8 text. A byte that begins none is one of its own, U+FFFD.
pub(super) fn next_char(text: &mut &[u8]) -> Option<u32> {
    let (c, len) = match **text {
        [] => return None,
        [a @ 0..0x80, ..] => (u32::from(a), 1),
        [a @ 0xc2..0xe0, b, ..] => (bits(a, 0x1f, 6) | bits(b, 0x3f, 0), 2),
        [a @ 0xe0..0xf0, b, c, ..] => (bits(a, 0x0f, 12) | bits(b, 0x3f, 6) | bits(c, 0x3f, 0), 3),
        [a @ 0xf0..0xf5, b, c, d, ..] => {
            (bits(a, 0x07, 18) | bits(b, 0x3f, 12) | bits(c, 0x3f, 6) | bits(d, 0x3f, 0), 4)
        }
        _ => (0xfffd, 1),
    };
    *text = &text[len..];
    Some(c)
}

fn bits(byte: u8, mask: u8, shift: u32) -> u32 {
    u32::from(byte & mask) << shift
}
