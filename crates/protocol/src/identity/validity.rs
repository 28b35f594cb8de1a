//! When a certificate is valid: two times out of its DER, past all else (RFC 5280, 4.1).
//!
//! `Certificate { TBSCertificate { [0] version, serialNumber, signature, issuer, Validity { notBefore, notAfter }, .. }, .. }`

use stdx::cursor::Cursor;

/// A certificate's first and last moment as OpenSSL prints them: `Nov 23 14:52:18 2026 GMT`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Validity {
    /// Not valid before.
    pub not_before: String,
    /// Not valid after.
    pub not_after: String,
}

const INTEGER: u8 = 0x02;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
const SEQUENCE: u8 = 0x30;
const VERSION: u8 = 0xA0;

/// Reads a certificate; `None` if it is not as it should be.
pub(super) fn of_certificate(der: &[u8]) -> Option<Validity> {
    let mut certificate = Cursor::new(expect(&mut Cursor::new(der), SEQUENCE)?);
    let mut body = Cursor::new(expect(&mut certificate, SEQUENCE)?);
    if body.remaining_slice().first() == Some(&VERSION) {
        expect(&mut body, VERSION)?;
    }
    for tag in [INTEGER, SEQUENCE, SEQUENCE] {
        expect(&mut body, tag)?;
    }
    let mut times = Cursor::new(expect(&mut body, SEQUENCE)?);
    Some(Validity { not_before: time(&mut times)?, not_after: time(&mut times)? })
}

/// The next element's contents, if it has this tag.
fn expect<'a>(der: &mut Cursor<'a>, tag: u8) -> Option<&'a [u8]> {
    let (found, contents) = element(der)?;
    (found == tag).then_some(contents)
}

/// The next element: tag and contents. Lengths have up to four bytes of their own.
fn element<'a>(der: &mut Cursor<'a>) -> Option<(u8, &'a [u8])> {
    let tag = der.u8().ok()?;
    let length = match der.u8().ok()? {
        short @ ..=0x7F => usize::from(short),
        long @ 0x81..=0x84 => {
            let bytes = der.take(usize::from(long & 0x7F)).ok()?;
            bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte))
        }
        _ => return None,
    };
    Some((tag, der.take(length).ok()?))
}

/// `YYMMDDhhmmssZ` or `YYYYMMDDhhmmssZ`, as OpenSSL prints it.
fn time(der: &mut Cursor<'_>) -> Option<String> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let (tag, text) = element(der)?;
    let text = std::str::from_utf8(text).ok()?.strip_suffix('Z')?;
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let (year, rest) = match tag {
        UTC_TIME if text.len() == 12 => {
            let (year, rest) = text.split_at(2);
            // Years from 50 on are of the century before.
            (format!("{}{year}", if year < "50" { 20 } else { 19 }), rest)
        }
        GENERALIZED_TIME if text.len() == 14 => (text[..4].to_owned(), &text[4..]),
        _ => return None,
    };
    let month = MONTHS.get(rest[..2].parse::<usize>().ok()?.checked_sub(1)?)?;
    let day: u8 = rest[2..4].parse().ok()?;
    Some(format!("{month} {day:>2} {}:{}:{} {year} GMT", &rest[4..6], &rest[6..8], &rest[8..10]))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn certificate(not_before: &[u8], not_after: &[u8]) -> Vec<u8> {
        let wrap = |tag: u8, contents: &[u8]| {
            let length = u16::try_from(contents.len()).unwrap().to_be_bytes();
            [&[tag, 0x82][..], &length, contents].concat()
        };
        let times = wrap(SEQUENCE, &[not_before, not_after].concat());
        let names = [wrap(SEQUENCE, b""), wrap(SEQUENCE, &[7; 300])].concat();
        let body = [wrap(VERSION, &[2, 1, 2]), wrap(INTEGER, &[1; 20]), names, times].concat();
        wrap(SEQUENCE, &wrap(SEQUENCE, &body))
    }

    #[test]
    fn both_kinds_of_time_are_read() {
        let der = certificate(b"\x17\x0d261103145218Z", b"\x18\x0f40960101000000Z");
        let validity = of_certificate(&der).unwrap();
        assert_eq!(validity.not_before, "Nov  3 14:52:18 2026 GMT");
        assert_eq!(validity.not_after, "Jan  1 00:00:00 4096 GMT");
        assert!((0..der.len()).all(|end| of_certificate(&der[..end]).is_none()));
        for broken in [&b"\x17\x0d261303145218Z"[..], b"\x17\x0d26110314521xZ", b"\x17\x05hello"] {
            assert_eq!(of_certificate(&certificate(broken, broken)), None);
        }
    }
}
