//! ENUM and SET: members by their texts and numbers.

use std::borrow::Cow;

use super::Target;
use crate::error::Result;
use crate::types::{Charset, Collation, Members, trim_member};
use crate::value::Datum;

/// A member by its text or its number. What the member's character set has no form for is no
/// member.
pub(super) fn enumeration<'a>(
    v: &Datum<'_>,
    charset: Charset,
    members: &Members,
    collation: Collation,
    to: &mut Target<'_>,
) -> Result<Datum<'a>> {
    let number = match v {
        // What another ENUM holds for what it could not take.
        Datum::Label(0, text) if text.is_empty() => return Ok(label(0, Vec::new())),
        Datum::Bytes(text) | Datum::Label(_, text) => {
            let (text, _) = charset.convert(Cow::Borrowed(text), collation.charset());
            let trimmed = trim_member(&text, collation);
            // A number in text names a member too, or none.
            let number = members.find(trimmed, collation).map(|i| i as u64 + 1);
            match number.or_else(|| digits(trimmed)) {
                Some(0) => return Ok(label(0, Vec::new())),
                number => number,
            }
        }
        other => u64::try_from(whole(other)).ok(),
    };
    match number.and_then(|n| usize::try_from(n).ok()) {
        Some(n) if (1..=members.len()).contains(&n) => Ok(label(n as u64, members[n - 1].to_vec())),
        _ => to.truncated(label(0, Vec::new())),
    }
}

/// A number in text: digits and nothing else, but spaces before them.
fn digits(text: &[u8]) -> Option<u64> {
    let text = text.trim_ascii_start();
    std::str::from_utf8(text).ok().filter(|t| t.bytes().all(|b| b.is_ascii_digit()))?.parse().ok()
}

/// A number without its fraction.
fn whole(v: &Datum<'_>) -> i128 {
    match v {
        Datum::Double(n) => *n as i128,
        Datum::Float(n) => f64::from(*n) as i128,
        Datum::Decimal(d) => Datum::Decimal(d.truncate(0)).to_integer().value,
        other => other.to_integer().value,
    }
}

pub(super) fn label<'a>(number: u64, text: Vec<u8>) -> Datum<'a> {
    Datum::Label(number, Cow::Owned(text))
}

/// The text of a SET's bits.
pub(crate) fn set_text(bits: u64, members: &[Box<[u8]>]) -> Vec<u8> {
    let on = members.iter().enumerate().filter(|(i, _)| bits >> i & 1 == 1);
    on.map(|(_, m)| &**m).collect::<Vec<_>>().join(&b","[..])
}

/// Members by their texts, with commas between them, or the number of their bits.
pub(super) fn set<'a>(
    v: Datum<'_>,
    charset: Charset,
    members: &Members,
    collation: Collation,
    to: &mut Target<'_>,
) -> Result<Datum<'a>> {
    let all = if members.len() == 64 { u64::MAX } else { (1 << members.len()) - 1 };
    let (bits, known) = match v {
        Datum::Bytes(text) | Datum::Label(_, text) => {
            let (text, _) = charset.convert(text, collation.charset());
            words(&text, members, collation, all)
        }
        other => {
            let number = whole(&other);
            let bits = match i64::try_from(number) {
                Ok(number) => number as u64,
                Err(_) => u64::try_from(number).unwrap_or(u64::MAX),
            };
            (bits & all, bits & !all == 0 && u64::try_from(number).is_ok_and(|n| n == bits))
        }
    };
    let value = label(bits, set_text(bits, members));
    if known { Ok(value) } else { to.truncated(value) }
}

/// The members that a text names, or its number; false if some are not known. Spaces alone name
/// none, and are not nothing.
fn words(text: &[u8], members: &Members, collation: Collation, all: u64) -> (u64, bool) {
    let named = trim_member(text, collation);
    if named.is_empty() {
        return (0, text.is_empty());
    }
    let found: Vec<_> = named.split(|&b| b == b',').map(|w| members.find(w, collation)).collect();
    let bits = found.iter().flatten().fold(0, |bits, i| bits | 1 << i);
    match digits(text).filter(|n| n & !all == 0) {
        _ if found.iter().all(Option::is_some) => (bits, true),
        Some(number) => (number, true),
        None => (bits, false),
    }
}
