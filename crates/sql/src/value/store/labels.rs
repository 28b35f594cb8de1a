//! ENUM and SET: members by their texts and numbers.

use std::borrow::Cow;

use super::Target;
use crate::error::Result;
use crate::types::data_type::trim_member;
use crate::types::{Charset, Collation};
use crate::value::Datum;

fn find_member(members: &[Box<[u8]>], collation: Collation, text: &[u8]) -> Option<usize> {
    members.iter().position(|member| collation.compare(member, text).is_eq())
}

/// A member by its text or its number. What the member's character set has no form for is no member.
pub(super) fn enumeration<'a>(
    v: &Datum<'_>,
    charset: Charset,
    members: &[Box<[u8]>],
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
            let number = find_member(members, collation, trimmed).map(|i| i as u64 + 1);
            match number.or_else(|| digits(trimmed)) {
                Some(0) => return Ok(label(0, Vec::new())),
                number => number,
            }
        }
        other => u64::try_from(cut(other)).ok(),
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
fn cut(v: &Datum<'_>) -> i64 {
    match v {
        Datum::Double(n) => *n as i64,
        Datum::Float(n) => *n as i64,
        Datum::Decimal(d) => d.truncate(0).to_f64() as i64,
        other => i64::try_from(other.to_integer().value).unwrap_or(i64::MAX),
    }
}

pub(super) fn label<'a>(number: u64, text: Vec<u8>) -> Datum<'a> {
    Datum::Label(number, Cow::Owned(text))
}

/// The text of a SET's bits.
pub fn set_text(bits: u64, members: &[Box<[u8]>]) -> Vec<u8> {
    let on = members.iter().enumerate().filter(|(i, _)| bits >> i & 1 == 1);
    on.map(|(_, m)| &**m).collect::<Vec<_>>().join(&b","[..])
}

/// Members by their texts, with commas between them, or the number of their bits.
pub(super) fn set<'a>(
    v: Datum<'_>,
    charset: Charset,
    members: &[Box<[u8]>],
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
            let bits = cut(&other) as u64;
            (bits & all, bits & !all == 0)
        }
    };
    let value = label(bits, set_text(bits, members));
    if known { Ok(value) } else { to.truncated(value) }
}

/// The members that a text names, or its number; false if some are not known. Spaces alone name none, and are not nothing.
fn words(text: &[u8], members: &[Box<[u8]>], collation: Collation, all: u64) -> (u64, bool) {
    let named = trim_member(text, collation);
    if named.is_empty() {
        return (0, text.is_empty());
    }
    let found: Vec<_> = named.split(|&b| b == b',').map(|w| find_member(members, collation, w)).collect();
    let bits = found.iter().flatten().fold(0, |bits, i| bits | 1 << i);
    match digits(text).filter(|n| n & !all == 0) {
        _ if found.iter().all(Option::is_some) => (bits, true),
        Some(number) => (number, true),
        None => (bits, false),
    }
}
