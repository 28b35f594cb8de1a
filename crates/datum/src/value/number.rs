//! Numbers in text: where they start and end, and what they are as integer or double.

/// The parts of a number at the start of a text.
#[derive(Debug, Clone, Copy)]
pub struct Number<'a> {
    /// It has a minus sign.
    pub negative: bool,
    /// Digits before the point.
    pub integer: &'a [u8],
    /// Digits after the point.
    pub fraction: &'a [u8],
    /// The exponent, saturated.
    pub exponent: i32,
    /// Bytes read, white space before it included.
    pub len: usize,
}

impl<'a> Number<'a> {
    /// All digits, the point left out.
    pub(crate) fn digits(&self) -> impl Iterator<Item = &'a u8> + use<'a> {
        self.integer.iter().chain(self.fraction)
    }
}

/// Finds the number that `text` starts with; `None` if it does not start with one.
pub fn scan(text: &[u8]) -> Option<Number<'_>> {
    let mut at = count(text, |b| b.is_ascii_whitespace());
    let negative = text.get(at) == Some(&b'-');
    at += usize::from(matches!(text.get(at), Some(b'-' | b'+')));
    let integer = &text[at..at + count(&text[at..], |b| b.is_ascii_digit())];
    at += integer.len();
    let mut fraction: &[u8] = &[];
    if text.get(at) == Some(&b'.') {
        fraction = &text[at + 1..at + 1 + count(&text[at + 1..], |b| b.is_ascii_digit())];
        at += if integer.is_empty() && fraction.is_empty() { 0 } else { 1 + fraction.len() };
    }
    if integer.is_empty() && fraction.is_empty() {
        return None;
    }
    let (exponent, exponent_len) = scan_exponent(&text[at..]);
    Some(Number { negative, integer, fraction, exponent, len: at + exponent_len })
}

fn scan_exponent(text: &[u8]) -> (i32, usize) {
    if !matches!(text.first(), Some(b'e' | b'E')) {
        return (0, 0);
    }
    let signed = usize::from(matches!(text.get(1), Some(b'-' | b'+')));
    let digits = &text[1 + signed..];
    let digits = &digits[..count(digits, |b| b.is_ascii_digit())];
    if digits.is_empty() {
        return (0, 0);
    }
    let value = digits.iter().fold(0_i32, |v, d| (v * 10 + i32::from(d - b'0')).min(100_000));
    (if text[1] == b'-' { -value } else { value }, 1 + signed + digits.len())
}

fn count(text: &[u8], is: impl Fn(u8) -> bool) -> usize {
    text.iter().take_while(|&&b| is(b)).count()
}

/// The double that `text` starts with, and the bytes read (0 if there is none).
pub(crate) fn parse_f64(text: &[u8]) -> (f64, usize) {
    let Some(number) = scan(text) else { return (0.0, 0) };
    let start = count(text, |b| b.is_ascii_whitespace());
    let digits = std::str::from_utf8(&text[start..number.len]).unwrap_or("0");
    let value: f64 = digits.parse().unwrap_or(0.0);
    (value.clamp(f64::MIN, f64::MAX), number.len)
}

/// True if the number that `text` starts with is too large for a double.
pub(crate) fn overflows_f64(text: &[u8]) -> bool {
    let number = scan(text).map_or(&b""[..], |number| &text[..number.len]).trim_ascii();
    std::str::from_utf8(number)
        .ok()
        .and_then(|digits| digits.parse::<f64>().ok())
        .is_some_and(f64::is_infinite)
}

/// An integer read from text: its magnitude saturates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Integer {
    /// The value, in a type that holds every 64-bit integer.
    pub value: i128,
    /// Bytes read, 0 if the text does not start with a number.
    pub len: usize,
}

/// The integer that `text` starts with, digits after the point and an exponent rounded in. Spaces
/// and tabs may precede it; other white space does where a double is read alone, as in MySQL.
pub fn parse_integer(text: &[u8]) -> Integer {
    let blank = blanks(text);
    let number = match text.get(blank) {
        Some(b) if b.is_ascii_whitespace() => None,
        _ => scan(text),
    };
    let Some(number) = number else { return Integer { value: 0, len: 0 } };
    if number.fraction.is_empty() && number.exponent == 0 && number.integer.len() <= 37 {
        let magnitude = number.integer.iter().fold(0_i128, |v, d| v * 10 + i128::from(d - b'0'));
        return Integer { value: if number.negative { -magnitude } else { magnitude }, len: number.len };
    }
    let (decimal, len) = super::Decimal::parse(text);
    let value = match (decimal.to_i64(), decimal.to_u64()) {
        (Some(v), _) => v.into(),
        (_, Some(v)) => v.into(),
        _ if decimal.is_negative() => i128::MIN,
        _ => i128::MAX,
    };
    Integer { value, len }
}

/// Bytes of white space that may precede an integer in a text: spaces and tabs, as in MySQL.
pub fn blanks(text: &[u8]) -> usize {
    count(text, |b| matches!(b, b' ' | b'\t'))
}

/// True if nothing but white space follows the first `len` bytes.
pub(crate) fn is_whole(text: &[u8], len: usize) -> bool {
    text[len..].iter().all(u8::is_ascii_whitespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_end_where_mysql_ends_them() {
        for (text, value, len) in [
            ("12", 12.0, 2),
            (" -1.5e2x", -150.0, 7),
            ("1e", 1.0, 1),
            ("1e+", 1.0, 1),
            (".5", 0.5, 2),
            ("5.", 5.0, 2),
            (".", 0.0, 0),
            ("-", 0.0, 0),
            ("", 0.0, 0),
            ("1e999", f64::MAX, 5),
        ] {
            assert_eq!(parse_f64(text.as_bytes()), (value, len), "{text:?}");
        }
    }

    #[test]
    fn integers_round_and_saturate() {
        assert_eq!(parse_integer(b"1.5").value, 2);
        assert_eq!(parse_integer(b"-1.5").value, -2);
        assert_eq!(parse_integer(b"1e3").value, 1000);
        assert_eq!(parse_integer(b" \t9"), Integer { value: 9, len: 3 });
        for other in ["\n9", "\r9", " \n9", "\x0b9", "\x0c9"] {
            assert_eq!(parse_integer(other.as_bytes()), Integer { value: 0, len: 0 });
        }
        assert_eq!(parse_integer(b"18446744073709551615").value, i128::from(u64::MAX));
        assert!(parse_integer("9".repeat(100).as_bytes()).value > i128::from(u64::MAX));
        assert!(parse_integer(format!("-{}", "9".repeat(100)).as_bytes()).value < i128::from(i64::MIN));
    }
}
