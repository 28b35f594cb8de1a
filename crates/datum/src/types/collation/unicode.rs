//! Orders of Unicode text: characters weigh what a table says, on one level or three.
//!
//! Texts compare by their primary weights; where these are equal, by the secondary ones, and so on,
//! as far as the collation goes. Weights of zero don't count. A language's collation changes what
//! some characters weigh ([`Tailoring`]); only there do characters weigh otherwise together than
//! one by one.
//!
//! (W1) An ASCII character with a byte in `ascii` has one primary weight, whatever follows it. Of
//!      two that differ, where nothing before them forms a contraction with them, the different
//!      bytes decide; equal bytes say that they differ on later levels only, if at all.
//! (W2) Where a text is cut before and after characters that `joins` does not have, no contraction
//!      is.

use std::cmp::Ordering;

use smallvec::SmallVec;
use storage::key::collation::Weights;

use super::elements::{self, Elements, Missing};
use super::key_code::{KeyCode, LEVEL_END, append_minor};
use super::search;
use super::table::Table;
use super::tailoring::Tailoring;
use crate::bounds::{self, Ticker};
use crate::error::Result;

/// An order of Unicode text.
#[derive(Debug)]
pub(super) struct UnicodeOrder {
    table: &'static Table,
    missing: Missing,
    /// What a language changes.
    tailoring: Option<Tailoring>,
    levels: u8,
    /// The weight of a space, if texts compare as if they went on with spaces.
    padding: Option<u16>,
    code: KeyCode,
    /// The key's byte for each ASCII character; 0 for those that have not one weight, and for those
    /// that may begin a contraction.
    ascii: [u8; 128],
    /// The key's byte for each byte of a text that is all ASCII, with [`UNUSUAL`] for those that
    /// have none there.
    bytes: [u16; 256],
    /// The ASCII characters that stand in a contraction, but at its end.
    joins: u128,
}

/// Marks a byte whose key is not one byte.
const UNUSUAL: u16 = 0x100;

impl UnicodeOrder {
    pub(super) fn new(table: &'static Table, missing: Missing, levels: u8, pad_space: bool) -> Self {
        Self::build(table, missing, None, levels, pad_space)
    }

    /// The same as a language has it, by a file of `data/tailorings`.
    pub(super) fn tailored(
        table: &'static Table,
        missing: Missing,
        file: &str,
        levels: u8,
        pad_space: bool,
    ) -> Self {
        Self::build(table, missing, Some(Tailoring::parse(file)), levels, pad_space)
    }

    fn build(
        table: &'static Table,
        missing: Missing,
        tailoring: Option<Tailoring>,
        levels: u8,
        pad_space: bool,
    ) -> Self {
        let mut order = Self {
            table,
            missing,
            tailoring,
            levels,
            padding: None,
            code: KeyCode::new(&[]),
            ascii: [0; 128],
            bytes: [UNUSUAL; 256],
            joins: 0,
        };
        let weights: Vec<Option<u16>> = (0..0x80)
            .map(|c| Some(order.elements(c)).filter(|e| e.as_slice().len() == 1))
            .map(|elements| order.weight(&elements?, 0, 0))
            .collect();
        let mut short: Vec<u16> = weights.iter().copied().flatten().collect();
        short.sort_unstable();
        short.dedup();
        order.code = KeyCode::new(&short);
        for (c, weight) in weights.into_iter().enumerate() {
            if let Some(weight) = weight {
                order.ascii[c] = order.code.append(weight, &mut Vec::new());
                order.bytes[c] = order.ascii[c].into();
            }
        }
        for text in order.tailoring.iter().flat_map(Tailoring::contracted) {
            let (Some((_, inner)), Some(&head)) = (text.split_last(), text.first()) else { continue };
            inner.iter().filter(|b| b.is_ascii()).for_each(|&b| order.joins |= 1 << b);
            if head.is_ascii() {
                order.ascii[usize::from(head)] = 0;
                if text.is_ascii() {
                    order.bytes[usize::from(head)] = UNUSUAL;
                }
            }
        }
        if pad_space {
            order.padding = order.elements(0x20).as_slice().first().map(|&e| elements::weight(e, 0));
        }
        order
    }

    /// True if a weight of zero is one.
    fn all_count(&self) -> bool {
        self.missing == Missing::CodePoint
    }

    /// What a character weighs by itself.
    fn elements(&self, c: u32) -> Elements {
        let Some(tailoring) = &self.tailoring else { return elements::of(self.table, self.missing, c) };
        tailoring.single(c).unwrap_or_else(|| tailoring.change(elements::of(self.table, self.missing, c)))
    }

    /// Takes off a text what weighs together: a character or a contraction.
    fn take(&self, text: &mut &[u8]) -> Option<Elements> {
        let mut rest = *text;
        let c = next_char(&mut rest)?;
        let contraction = self.tailoring.as_ref().and_then(|tailoring| tailoring.contraction(c, text));
        match contraction {
            Some((elements, len)) => {
                *text = &text[len..];
                Some(elements)
            }
            None => {
                *text = rest;
                Some(self.elements(c))
            }
        }
    }

    pub(super) fn has_contractions(&self) -> bool {
        self.tailoring.as_ref().is_some_and(Tailoring::has_contractions)
    }

    /// The weight of the element at a place on a level; `None` if it has none there.
    fn weight(&self, elements: &Elements, at: usize, level: u8) -> Option<u16> {
        if let Some(tailoring) = &self.tailoring {
            return tailoring.weight(elements, at, level);
        }
        let weight = elements::weight(*elements.as_slice().get(at)?, level);
        (weight != 0 || self.all_count()).then_some(weight)
    }

    /// The weights of `text` on a level, those that count.
    fn weights<'a>(&'a self, text: &'a [u8], level: u8) -> impl Iterator<Item = u16> + 'a {
        Scan { order: self, text, elements: Elements::default(), at: 0, level }
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
                    // W2: `cH` may be two letters where `ch` is one.
                    _ if same > 0 && (self.is_joining(a[same - 1]) || self.is_joining(b[same - 1])) => break,
                    (p, q) if p == q => {}
                    (p, q) => return p.cmp(&q),
                }
            }
            same += 1;
        }
        if same == a.len() && same == b.len() {
            return Ordering::Equal;
        }
        // W2: what is the same on both sides may weigh otherwise with what follows.
        while same > 0 && (self.is_joining(a[same - 1]) || self.is_joining(b[same - 1])) {
            same -= 1;
        }
        self.compare_level(&a[same..], &b[same..], 0)
    }

    fn is_joining(&self, byte: u8) -> bool {
        byte.is_ascii() && self.joins & 1 << byte != 0
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
    /// levels. Linear, but where characters form contractions.
    pub(super) fn find(&self, text: &[u8], needle: &[u8]) -> Result<Option<usize>> {
        if self.has_contractions() {
            return self.find_by_trying(text, needle);
        }
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

    /// The same, where a place may be within a contraction, as MySQL has it: what weighs together
    /// depends on where one begins.
    fn find_by_trying(&self, text: &[u8], needle: &[u8]) -> Result<Option<usize>> {
        let mut rest = text;
        let mut ticker = Ticker::default();
        loop {
            let weights = |level| {
                self.weights(needle, level)
                    .zip(self.weights(rest, level).map(Some).chain(std::iter::repeat(None)))
            };
            let mut is_found = true;
            'levels: for level in 0..self.levels {
                for (wanted, weight) in weights(level) {
                    ticker.step()?;
                    if weight != Some(wanted) {
                        is_found = false;
                        break 'levels;
                    }
                }
            }
            if is_found {
                return Ok(Some(text.len() - rest.len()));
            }
            ticker.step()?;
            if next_char(&mut rest).is_none() {
                return Ok(None);
            }
        }
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
        if self.all_count() {
            return self.weights(a, 0).eq(self.weights(b, 0));
        }
        let is_tailored = |c| self.tailoring.as_ref().is_some_and(|t| t.single(c).is_some());
        let tabled = |c| elements::tabled(self.table, c).is_some() || is_tailored(c);
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
        while let [first, after @ ..] = rest {
            match self.ascii.get(usize::from(*first)) {
                Some(&byte) if byte != 0 => {
                    rest = after;
                    if byte == space_byte {
                        spaces += 1;
                        continue;
                    }
                    let follows = if byte < space_byte { BEFORE_LOWER } else { BEFORE_HIGHER };
                    flush_spaces(&mut spaces, follows, out);
                    out.push(byte);
                }
                _ => {
                    for weight in self.primary_weights(self.take(&mut rest).unwrap_or_default()) {
                        if weight == space {
                            spaces += 1;
                            continue;
                        }
                        let follows = if weight < space { BEFORE_LOWER } else { BEFORE_HIGHER };
                        flush_spaces(&mut spaces, follows, out);
                        self.code.append(weight, out);
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
        while let [first, after @ ..] = rest {
            match self.ascii.get(usize::from(*first)) {
                Some(&byte) if byte != 0 => {
                    rest = after;
                    out.push(byte);
                }
                _ => {
                    for weight in self.primary_weights(self.take(&mut rest).unwrap_or_default()) {
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
        (0..elements.as_slice().len()).filter_map(move |at| self.weight(&elements, at, 0))
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

/// The weights of one level, those that count.
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
            while self.at < self.elements.as_slice().len() {
                self.at += 1;
                if let Some(weight) = self.order.weight(&self.elements, self.at - 1, self.level) {
                    return Some(weight);
                }
            }
            self.elements = self.order.take(&mut self.text)?;
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
