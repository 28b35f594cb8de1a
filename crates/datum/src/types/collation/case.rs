//! Upper and lower case, one character for one, as each version of Unicode that MySQL uses has
//! them.

use std::borrow::Cow;

use super::table::Table;
use super::unicode::next_char;

/// Upper and lower case of Unicode text.
#[derive(Debug)]
pub(super) struct CaseMap {
    pub(super) lower: Table,
    pub(super) upper: Table,
}

impl CaseMap {
    /// `text`, valid UTF-8, in upper or in lower case.
    pub(super) fn map(&self, text: &[u8], upper: bool) -> Vec<u8> {
        let table = if upper { &self.upper } else { &self.lower };
        let mut out = Vec::with_capacity(text.len());
        let mut rest = text;
        while let Some(&first) = rest.first() {
            if first < 0x80 {
                out.push(if upper { first.to_ascii_uppercase() } else { first.to_ascii_lowercase() });
                rest = &rest[1..];
                continue;
            }
            let before = rest;
            let mapped = next_char(&mut rest).and_then(|c| table.get(c)).and_then(char::from_u32);
            match mapped {
                Some(c) => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
                None => out.extend_from_slice(&before[..before.len() - rest.len()]),
            }
        }
        out
    }

    /// The same in Turkish, where `I` belongs to the dotless `ı` and `i` to `İ`.
    pub(super) fn map_turkish(&self, text: &[u8], upper: bool) -> Vec<u8> {
        let (special, becomes) = if upper { (b'i', "İ") } else { (b'I', "ı") };
        let mut out = Vec::with_capacity(text.len());
        for (i, part) in text.split(|&byte| byte == special).enumerate() {
            if i > 0 {
                out.extend_from_slice(becomes.as_bytes());
            }
            out.extend(self.map(part, upper));
        }
        out
    }
}

/// `text` of a single-byte set, by a table of its bytes.
pub(super) fn map_bytes<'a>(text: Cow<'a, [u8]>, table: &[u8; 256]) -> Cow<'a, [u8]> {
    if text.iter().all(|&b| table[usize::from(b)] == b) {
        return text;
    }
    let mut text = text.into_owned();
    text.iter_mut().for_each(|b| *b = table[usize::from(*b)]);
    Cow::Owned(text)
}
