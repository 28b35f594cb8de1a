//! DECIMAL in its memory-comparable binary form.
//!
//! Digits are grouped by nine from the point outwards; a full group takes four bytes big-endian, a
//! shorter one (first of the whole part, last of the fraction) 1 to 4. The sign flips the first
//! bit, a negative number all bits, so that byte order is number order. Source: MySQL source
//! documentation, `decimal2bin`.

use std::fmt;

use super::RowError;

const DIGITS_PER_GROUP: usize = 9;
/// Bytes of a group by its number of digits.
const GROUP_LEN: [usize; DIGITS_PER_GROUP + 1] = [0, 1, 1, 2, 2, 3, 3, 4, 4, 4];
/// DECIMAL(65, 30) takes 30 bytes; no other takes more than 32.
const ENCODED_MAX: usize = 40;

/// Bytes that a DECIMAL(precision, scale) takes.
pub const fn encoded_len(precision: u8, scale: u8) -> usize {
    let whole = precision.saturating_sub(scale) as usize;
    digits_len(whole) + digits_len(scale as usize)
}

const fn digits_len(digits: usize) -> usize {
    digits / DIGITS_PER_GROUP * 4 + GROUP_LEN[digits % DIGITS_PER_GROUP]
}

/// A DECIMAL value as it stands in a row image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decimal<'a> {
    /// The binary form, [`encoded_len`] bytes.
    pub bytes: &'a [u8],
    /// Digits in all, 1 to 65.
    pub precision: u8,
    /// Digits after the point, 0 to 30.
    pub scale: u8,
}

impl Decimal<'_> {
    /// True for numbers below zero.
    pub(crate) fn is_negative(&self) -> bool {
        self.bytes.first().is_some_and(|&b| b & 0x80 == 0)
    }

    /// All digits, `precision` many, as ASCII into `out`: those of the whole part (leading zeros
    /// kept), then those of the fraction. Returns how many were written; bytes that are no digits
    /// of a DECIMAL give other characters' counts but never more than 9 for a group.
    fn digits(&self, out: &mut [u8; 9 * 16]) -> usize {
        let whole = usize::from(self.precision.saturating_sub(self.scale));
        let scale = usize::from(self.scale);
        let first = whole % DIGITS_PER_GROUP;
        let mut groups = Groups { decimal: self, at: 0, out, written: 0 };
        groups.take(first);
        for _ in 0..whole / DIGITS_PER_GROUP + scale / DIGITS_PER_GROUP {
            groups.take(DIGITS_PER_GROUP);
        }
        groups.take(scale % DIGITS_PER_GROUP);
        groups.written
    }

    /// Encodes a number from its text (`-12.5`), exactly.
    ///
    /// # Errors
    /// If it has characters other than a sign, digits and a point, or does not fit precision and
    /// scale; trailing zeros may be missing or more than `scale`.
    pub fn encode_text(text: &str, precision: u8, scale: u8, out: &mut Vec<u8>) -> Result<(), RowError> {
        let bad = RowError::OutOfRange("DECIMAL");
        let (negative, unsigned) = match text.as_bytes().first() {
            Some(b'-') => (true, &text[1..]),
            Some(b'+') => (false, &text[1..]),
            _ => (false, text),
        };
        let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
        let whole = whole.trim_start_matches('0').as_bytes();
        let fraction = fraction.trim_end_matches('0').as_bytes();
        let whole_max = usize::from(precision.saturating_sub(scale));
        let digits_only = whole.iter().chain(fraction).all(u8::is_ascii_digit);
        if unsigned.is_empty()
            || !digits_only
            || whole.len() > whole_max
            || fraction.len() > usize::from(scale)
        {
            return Err(bad);
        }
        let start = out.len();
        let digit = |i: usize| match i.checked_sub(whole_max) {
            None => {
                let missing = whole_max - whole.len();
                i.checked_sub(missing).map_or(0, |i| whole[i] - b'0')
            }
            Some(i) => fraction.get(i).map_or(0, |d| d - b'0'),
        };
        let mut at = 0;
        let mut put = |digits: usize| {
            let group = (at..at + digits).fold(0_u32, |sum, i| sum * 10 + u32::from(digit(i)));
            out.extend_from_slice(&group.to_be_bytes()[4 - GROUP_LEN[digits]..]);
            at += digits;
        };
        put(whole_max % DIGITS_PER_GROUP);
        (0..whole_max / DIGITS_PER_GROUP + usize::from(scale) / DIGITS_PER_GROUP)
            .for_each(|_| put(DIGITS_PER_GROUP));
        put(usize::from(scale) % DIGITS_PER_GROUP);
        // Minus zero is zero.
        if negative && out[start..].iter().any(|&b| b != 0) {
            out[start..].iter_mut().for_each(|b| *b = !*b);
        }
        if let Some(first) = out.get_mut(start) {
            *first ^= 0x80;
        }
        Ok(())
    }
}

struct Groups<'a, 'b> {
    decimal: &'a Decimal<'b>,
    at: usize,
    out: &'a mut [u8; 9 * 16],
    written: usize,
}

impl Groups<'_, '_> {
    fn take(&mut self, digits: usize) {
        let flip = if self.decimal.is_negative() { 0xff } else { 0 };
        let mut group = 0_u32;
        for _ in 0..GROUP_LEN[digits] {
            let byte = self.decimal.bytes.get(self.at).copied().unwrap_or(0);
            let sign = if self.at == 0 { 0x80 } else { 0 };
            group = group << 8 | u32::from(byte ^ sign ^ flip);
            self.at += 1;
        }
        // A group beyond its digits (damaged data) loses the highest ones.
        for i in (0..digits).rev() {
            self.out[self.written + i] = b'0' + (group % 10) as u8;
            group /= 10;
        }
        self.written += digits;
    }
}

impl fmt::Display for Decimal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut buffer = [b'0'; 9 * 16];
        let n = self.digits(&mut buffer);
        let point = n - usize::from(self.scale).min(n);
        let whole = std::str::from_utf8(&buffer[..point]).expect("only ASCII digits were written");
        let fraction = std::str::from_utf8(&buffer[point..n]).expect("only ASCII digits were written");
        let whole = whole.trim_start_matches('0');
        f.write_str(if self.is_negative() { "-" } else { "" })?;
        f.write_str(if whole.is_empty() { "0" } else { whole })?;
        if !fraction.is_empty() {
            write!(f, ".{fraction}")?;
        }
        Ok(())
    }
}

const _: () =
    assert!(encoded_len(65, 30) == 30 && encoded_len(65, 0) <= ENCODED_MAX && encoded_len(10, 2) == 5);

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn check(text: &str, precision: u8, scale: u8, expected: &str) {
        let mut bytes = Vec::new();
        Decimal::encode_text(text, precision, scale, &mut bytes).unwrap();
        assert_eq!(bytes.len(), encoded_len(precision, scale));
        assert_eq!(Decimal { bytes: &bytes, precision, scale }.to_string(), expected);
    }

    #[test]
    fn text_round_trips() {
        check("1234567890.1234", 14, 4, "1234567890.1234");
        check("-1234567890.1234", 14, 4, "-1234567890.1234");
        check("-0.01", 10, 2, "-0.01");
        check("-0", 10, 2, "0.00");
        check("00012.50", 5, 1, "12.5");
        check("99999", 5, 0, "99999");
        check(".5", 30, 30, "0.500000000000000000000000000000");
        let long = "-99999999999999999999999999999999999.999999999999999999999999999999";
        check(long, 65, 30, long);
    }

    #[test]
    fn bytes_are_mysqls() {
        let mut bytes = Vec::new();
        Decimal::encode_text("1234567890.1234", 14, 4, &mut bytes).unwrap();
        assert_eq!(bytes, [0x81, 0x0d, 0xfb, 0x38, 0xd2, 0x04, 0xd2]);
        bytes.clear();
        Decimal::encode_text("-1234567890.1234", 14, 4, &mut bytes).unwrap();
        assert_eq!(bytes, [0x7e, 0xf2, 0x04, 0xc7, 0x2d, 0xfb, 0x2d]);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for bad in ["", "1000", "1.001", "x", "1e2", "--1", "1.2.3"] {
            assert!(Decimal::encode_text(bad, 5, 2, &mut Vec::new()).is_err(), "{bad}");
        }
    }
}
