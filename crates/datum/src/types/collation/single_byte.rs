//! Orders of single-byte character sets: a weight for each byte, padded with spaces.

use std::cmp::Ordering;

use storage::key::collation::Weights;

/// A weight for each byte.
#[derive(Debug)]
pub(super) struct SingleByteOrder {
    weights: &'static [u8; 256],
}

impl SingleByteOrder {
    pub(super) const fn new(weights: &'static [u8; 256]) -> Self {
        Self { weights }
    }

    /// What a byte weighs.
    pub(super) fn weight(&self, byte: u8) -> u8 {
        self.weights[usize::from(byte)]
    }

    /// Compares two texts, the shorter padded with spaces.
    pub(super) fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        let common = a.len().min(b.len());
        let differ = a.iter().zip(b).map(|(&x, &y)| self.weight(x).cmp(&self.weight(y))).find(|o| o.is_ne());
        let with_spaces = |rest: &[u8]| {
            rest.iter()
                .map(|&x| self.weight(x).cmp(&self.weight(b' ')))
                .find(|o| o.is_ne())
                .unwrap_or(Ordering::Equal)
        };
        differ.unwrap_or_else(|| with_spaces(&a[common..]).then(with_spaces(&b[common..]).reverse()))
    }

    /// True if `text` begins with `needle`.
    pub(super) fn begins_with(&self, text: &[u8], needle: &[u8]) -> bool {
        let head = text.get(..needle.len());
        head.is_some_and(|head| head.iter().zip(needle).all(|(&x, &y)| self.weight(x) == self.weight(y)))
    }

    pub(super) fn weight_string(&self, text: &[u8], out: &mut Vec<u8>) {
        out.extend(text.iter().map(|&b| self.weight(b)));
    }
}

/// A space's weight is followed by what says what follows the run of spaces it begins: see
/// `storage::key::collation`, whose trick this is.
const BEFORE_LOWER: u8 = 1;
const END_OF_TEXT: u8 = 2;
const BEFORE_HIGHER: u8 = 3;

impl Weights for SingleByteOrder {
    fn append(&self, text: &[u8], out: &mut Vec<u8>) {
        out.reserve(text.len() + 3);
        let space = self.weight(b' ');
        let mut spaces = 0;
        for weight in text.iter().map(|&b| self.weight(b)) {
            if weight == space {
                spaces += 1;
                continue;
            }
            let follows = if weight < space { BEFORE_LOWER } else { BEFORE_HIGHER };
            (0..std::mem::take(&mut spaces)).for_each(|_| append_code(space, out, Some(follows)));
            append_code(weight, out, None);
        }
        append_code(space, out, Some(END_OF_TEXT));
    }
}

/// Weights from 1 on stand for themselves plus one, as far as that goes: no zeros.
fn append_code(weight: u8, out: &mut Vec<u8>, marker: Option<u8>) {
    match weight {
        0..=0xfd => out.push(weight + 1),
        _ => out.extend([0xff, weight - 0xfd]),
    }
    out.extend(marker);
}
