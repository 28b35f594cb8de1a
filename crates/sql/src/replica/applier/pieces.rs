//! The pieces of a text of SQL: words, what is in quotes, comments. Enough to find a word that is
//! one, in texts that may be another server's SQL.

use std::ops::Range;

/// A piece of a text. What is in quotes is one, other characters stand alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece {
    Word,
    Quoted,
    Comment,
    Space,
    Other(u8),
}

/// The pieces of a text, with their places. A text may be as long as a packet, and is not copied.
pub(super) fn pieces(sql: &[u8]) -> impl Iterator<Item = (Piece, Range<usize>)> {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || byte >= 0x80;
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = &sql[at..];
        let first = *rest.first()?;
        let run = |is: &dyn Fn(u8) -> bool| rest.iter().take_while(|&&byte| is(byte)).count();
        let (piece, len) = match first {
            b'\'' | b'"' | b'`' => (Piece::Quoted, syntax::quoted::length_of(rest, first)),
            b'/' if rest.starts_with(b"/*") => (Piece::Comment, comment_len(rest)),
            b'#' | b'-' => match line_comment_len(rest) {
                Some(len) => (Piece::Comment, len),
                None => (Piece::Other(first), 1),
            },
            byte if byte.is_ascii_whitespace() => (Piece::Space, run(&|byte| byte.is_ascii_whitespace())),
            byte if is_word(byte) => (Piece::Word, run(&is_word)),
            byte => (Piece::Other(byte), 1),
        };
        let start = at;
        at += len.clamp(1, rest.len());
        Some((piece, start..at))
    })
}

/// Up to the end of the line, if a comment begins here that goes so far.
pub(super) fn line_comment_len(text: &[u8]) -> Option<usize> {
    let is_one =
        text.starts_with(b"#") || text.starts_with(b"--") && text.get(2).is_none_or(u8::is_ascii_whitespace);
    is_one.then(|| text.iter().position(|&byte| byte == b'\n').unwrap_or(text.len()))
}

/// Up to the end of a comment, in which others may be nested.
pub(super) fn comment_len(text: &[u8]) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < text.len() {
        if text[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if text[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    text.len()
}
