//! Weights as bytes: in order, without zeros, and one byte for each character of ASCII.
//!
//! A collation's 16-bit weights are cut into ranges. The weight of an ASCII character is a range of
//! its own and is written as one byte. The ranges between and after these take two bytes or three:
//! the first says the range, the rest is the place in it, in base 255 with digits from 1. First
//! bytes ascend with the ranges, so bytes compare as the weights do, and no code begins another.
//! Two bytes reach as far as there are first bytes.

/// Ends a level where another follows; less than all that begins a weight.
pub(super) const LEVEL_END: u8 = 1;
const FIRST: u8 = 2;
const BASE: u32 = 255;

#[derive(Debug, Clone, Copy)]
struct Range {
    start: u16,
    /// The first byte.
    lead: u8,
    /// Digits after the first byte.
    digits: u8,
}

/// How the primary weights of one collation are written.
#[derive(Debug)]
pub(super) struct KeyCode {
    ranges: Vec<Range>,
}

impl KeyCode {
    /// A code that writes each of `short`, ascending, as one byte. There may be about a hundred of
    /// them.
    pub(super) fn new(short: &[u16]) -> Self {
        let mut ranges: Vec<Range> = Vec::new();
        let mut lead = FIRST;
        let mut next = 0;
        let mut push = |start: u32, digits: u8| {
            ranges.push(Range { start: start as u16, lead, digits });
            lead = lead.saturating_add(1);
            u32::from(u8::MAX - lead)
        };
        let mut left = 0;
        for &weight in short {
            let weight = u32::from(weight);
            if next < weight {
                push(next, 2);
            }
            left = push(weight, 0);
            next = weight + 1;
        }
        // One more for the rest of the weights, with three bytes.
        while left > 0 && next <= u32::from(u16::MAX) {
            left = push(next, 1);
            next += BASE;
        }
        if next <= u32::from(u16::MAX) {
            push(next, 2);
        }
        Self { ranges }
    }

    /// Appends the code of a weight. Its first byte is what it returns.
    pub(super) fn append(&self, weight: u16, out: &mut Vec<u8>) -> u8 {
        let after = self.ranges.partition_point(|range| range.start <= weight);
        let Some(range) = after.checked_sub(1).and_then(|at| self.ranges.get(at)) else { return 0 };
        let place = u32::from(weight - range.start);
        out.push(range.lead);
        if range.digits == 2 {
            out.push((place / BASE + 1) as u8);
        }
        if range.digits > 0 {
            out.push((place % BASE + 1) as u8);
        }
        range.lead
    }
}

/// Appends the code of a secondary or tertiary weight, which is below 512 and not zero.
pub(super) fn append_minor(weight: u16, out: &mut Vec<u8>) {
    const LONG: u16 = 0xf0;
    match weight {
        0..LONG => out.push((weight as u8).max(FIRST)),
        _ => {
            let place = weight - LONG;
            out.extend([(LONG + place / 200) as u8, (place % 200 + 1) as u8]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_ascend_without_zeros() {
        let short: Vec<u16> = (0..100).map(|i| 0x200 + i * i).collect();
        for short in [&short[..], &[0, 1, 2], &(0..0x80).collect::<Vec<_>>()] {
            let code = KeyCode::new(short);
            let mut last = Vec::new();
            for weight in 0..=u16::MAX {
                let mut bytes = Vec::new();
                code.append(weight, &mut bytes);
                assert!(last < bytes && !bytes.starts_with(&last) || weight == 0, "{weight:x}");
                assert!(!bytes.contains(&0) && bytes[0] > LEVEL_END);
                assert_eq!(bytes.len() == 1, short.contains(&weight));
                last = bytes;
            }
        }
        let mut last = vec![LEVEL_END];
        for weight in 2..512 {
            let mut bytes = Vec::new();
            append_minor(weight, &mut bytes);
            assert!(last < bytes && !bytes.contains(&0));
            last = bytes;
        }
    }
}
