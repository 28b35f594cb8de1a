//! Names and string literals at the edges: lengths, quotes, escapes, characters of two to four
//! bytes.

use super::Session;
use stdx::random::Random;

/// Pieces of names. What ends in a space is refused, and so is U+10000 and beyond: a little of that
/// is wanted.
const NAME_PIECES: &[&str] = &[
    "a", "B", "z9", "_", "$", "%", " ", "`", "\"", "'", "\\", "\\n", "\n", "\t", ".", ",", ";", "--", "/*",
    "*/", "#", "é", "ß", "漢", "Я", "\u{301}", "select", "null", "?", "@", ":", "0x", "\u{7f}",
];

/// Pieces of texts, as characters.
const TEXT_PIECES: &[&str] = &[
    "a", "Z", "0", " ", "  ", "'", "''", "\"", "`", "\\", "\\\\", "\\n", "\\'", "\n", "\r\n", "\t", "%", "_",
    "\\%", "\\_", ",", "(", ")", ";", "--", "/*", "*/", "#", "é", "ÿ", "ß", "漢字", "€", "Я", "e\u{301}",
    "😀", "\u{1a}", "\u{feff}", "\u{2028}", "NULL", "0", "-1",
];

/// Escape sequences, where backslashes escape.
const ESCAPES: &[&str] = &[
    "\\n", "\\t", "\\\\", "\\'", "\\\"", "\\0", "\\Z", "\\b", "\\r", "\\%", "\\_", "\\x", "\\é", "\\ ", "''",
];

/// One of them.
pub(super) fn pick<'a, T: ?Sized>(random: &mut Random, from: &[&'a T]) -> &'a T {
    from[random.below(from.len() as u64) as usize]
}

/// A number in `low..=high`.
pub(super) fn between(random: &mut Random, low: u64, high: u64) -> u64 {
    low + random.below(high - low + 1)
}

/// A name of at most 64 characters, mostly; `number` makes it unlike the others where there is
/// room.
pub(super) fn name(random: &mut Random, number: u64) -> String {
    let length = match random.below(10) {
        0 => between(random, 1, 3),
        1..=3 => between(random, 57, 64),
        4 => between(random, 30, 56),
        _ => between(random, 2, 12),
    } as usize;
    let plain = random.chance(1, 3);
    let mut out: Vec<char> = format!("n{number}").chars().collect();
    while out.len() < length {
        out.extend(if plain { "xyz" } else { pick(random, NAME_PIECES) }.chars());
    }
    // A short name of many digits stays whole: two columns of one name are refused, and too often.
    out.truncate(length.max(format!("n{number}").len()));
    if random.chance(1, 60) {
        out.pop();
        out.push('😀');
    }
    if out.last() == Some(&' ') && !random.chance(1, 50) {
        out.pop();
        out.push('e');
    }
    out.into_iter().collect()
}

/// A text of so many characters at most.
pub(super) fn characters(random: &mut Random, most: u64) -> String {
    let length = match random.below(8) {
        0 => 0,
        1 => most,
        2 => most.saturating_sub(random.below(3)),
        _ => between(random, 0, most.min(12)),
    } as usize;
    let mut out: Vec<char> = Vec::new();
    while out.len() < length {
        out.extend(pick(random, TEXT_PIECES).chars());
    }
    out.truncate(length);
    out.into_iter().collect()
}

/// The rest of a database's or an account's name: no space at its end.
pub(super) fn tail(random: &mut Random, most: usize) -> String {
    let text = characters(random, most as u64).replace(['😀', '\u{1a}'], "é");
    text.trim_end_matches([' ', '.']).to_owned()
}

impl Session {
    /// A name as an identifier.
    pub(super) fn quote(&self, random: &mut Random, name: &str) -> String {
        let is_plain = name.starts_with('n') && name.bytes().all(|b| b.is_ascii_alphanumeric());
        if is_plain && random.chance(1, 3) {
            name.to_owned()
        } else if self.ansi_quotes && random.chance(1, 2) {
            format!("\"{}\"", name.replace('"', "\"\""))
        } else {
            format!("`{}`", name.replace('`', "``"))
        }
    }

    /// A string literal of these characters.
    pub(super) fn literal(&self, random: &mut Random, text: &str) -> String {
        let text = if self.no_backslash { text.to_owned() } else { text.replace('\\', "\\\\") };
        if !self.ansi_quotes && random.chance(1, 4) {
            return format!("\"{}\"", text.replace('"', "\"\""));
        }
        let quote = if self.no_backslash || random.chance(1, 2) { "''" } else { "\\'" };
        format!("'{}'", text.replace('\'', quote))
    }

    /// A string literal of at most so many characters, written in any way that the mode has.
    pub(super) fn any_literal(&self, random: &mut Random, most: u64) -> String {
        if self.no_backslash || !random.chance(1, 3) || most < 2 {
            let text = characters(random, most);
            return self.literal(random, &text);
        }
        let count = random.below(most.min(6)) + 1;
        let mut out = String::from("'");
        for _ in 0..count {
            if random.chance(1, 2) {
                out += pick(random, ESCAPES);
            } else {
                out += &pick(random, TEXT_PIECES).replace(['\\', '\''], "q");
            }
        }
        out + "'"
    }
}
