//! Names and strings in quotes: what stands between them, with its doubled quotes and escapes
//! undone.

use crate::sql_mode;

/// The content of a quoted token of the lexer, a name's or a string's (`sql_mode`: how strings are
/// escaped).
pub fn content_of(token: &[u8], is_name: bool, sql_mode: u64) -> Vec<u8> {
    let open = token.iter().position(|byte| matches!(byte, b'\'' | b'"' | b'`')).unwrap_or(0);
    let quote = token[open];
    let content = &token[open + 1..token.len() - 1];
    let is_name = is_name || quote == b'`';
    let escapes = !is_name && sql_mode & sql_mode::NO_BACKSLASH_ESCAPES == 0;
    if !content.iter().any(|&byte| byte == quote || byte == b'\\' && escapes) {
        return content.to_vec();
    }
    unescape(content, quote, escapes)
}

/// How many bytes the quoted text has that `text` begins with, both quotes included; all of it if
/// it does not end. A backslash counts as an escape in all but names.
pub fn length_of(text: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while at < text.len() {
        match text[at] {
            b'\\' if quote != b'`' => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    text.len()
}

fn unescape(content: &[u8], quote: u8, escapes: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(content.len());
    let mut rest = content.iter().copied();
    while let Some(byte) = rest.next() {
        if byte == quote {
            rest.next(); // doubled
            out.push(quote);
        } else if byte == b'\\' && escapes {
            match rest.next() {
                Some(b'0') => out.push(0),
                Some(b'b') => out.push(0x08),
                Some(b'n') => out.push(b'\n'),
                Some(b'r') => out.push(b'\r'),
                Some(b't') => out.push(b'\t'),
                Some(b'Z') => out.push(0x1a),
                // These stay as they are: LIKE gives them their meaning.
                Some(wildcard @ (b'%' | b'_')) => out.extend([b'\\', wildcard]),
                Some(other) => out.push(other),
                None => out.push(b'\\'),
            }
        } else {
            out.push(byte);
        }
    }
    out
}
