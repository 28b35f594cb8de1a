//! What a text means by default at its source, said in words that mean the same here.
//!
//! - `/*!50700 .. */` and `/*M! .. */` are part of the statement where the source is such a server
//!   of that version, and a comment where it is not.
//! - The collation of utf8mb4 that nothing else says is `utf8mb4_general_ci` in MariaDB, in MySQL
//!   5.7, and in MySQL where `default_collation_for_utf8mb4` says so.

use std::ops::Range;

/// A server's version as a number: 8.4.10 is 80410.
pub(super) fn number_of(version: &str) -> u32 {
    // MariaDB tells old clients that it is a MySQL of version 5.5.5.
    let version = version.strip_prefix("5.5.5-").unwrap_or(version);
    let mut parts = version.split(|c: char| !c.is_ascii_digit()).map(|part| part.parse::<u32>().unwrap_or(0));
    let mut next = || parts.next().unwrap_or(0).min(99);
    next() * 10_000 + next() * 100 + next()
}

/// A piece of a text. What is in quotes is one, other characters stand alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Piece {
    Word,
    Quoted,
    Comment,
    Space,
    Other(u8),
}

/// The pieces of a text, with their places.
fn pieces(sql: &[u8]) -> Vec<(Piece, Range<usize>)> {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || byte >= 0x80;
    let mut pieces = Vec::new();
    let mut at = 0;
    while let Some((&first, _)) = sql.get(at..).and_then(<[u8]>::split_first) {
        let rest = &sql[at..];
        let line = || rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
        let run = |is: &dyn Fn(u8) -> bool| rest.iter().take_while(|&&byte| is(byte)).count();
        let (piece, len) = match first {
            b'\'' | b'"' | b'`' => (Piece::Quoted, syntax::quoted::length_of(rest, first)),
            b'/' if rest.starts_with(b"/*") => (Piece::Comment, comment_len(rest)),
            b'#' => (Piece::Comment, line()),
            b'-' if rest.starts_with(b"--") && rest.get(2).is_none_or(u8::is_ascii_whitespace) => {
                (Piece::Comment, line())
            }
            byte if byte.is_ascii_whitespace() => (Piece::Space, run(&|byte| byte.is_ascii_whitespace())),
            byte if is_word(byte) => (Piece::Word, run(&is_word)),
            byte => (Piece::Other(byte), 1),
        };
        let len = len.clamp(1, rest.len());
        pieces.push((piece, at..at + len));
        at += len;
    }
    pieces
}

/// Up to the end of a comment, in which others may be nested.
fn comment_len(text: &[u8]) -> usize {
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

/// The text with what such comments have, where they are none at the source; `None` if that is the
/// text itself.
pub(super) fn without_versions(sql: &[u8], version: u32, is_mariadb: bool) -> Option<Vec<u8>> {
    if !sql.windows(3).any(|three| three == b"/*!" || three == b"/*M") {
        return None;
    }
    let mut out = Vec::with_capacity(sql.len());
    let mut is_changed = false;
    for (piece, range) in pieces(sql) {
        let text = &sql[range];
        match (piece == Piece::Comment).then(|| executed(text, version, is_mariadb)).flatten() {
            Some(inner) => {
                out.push(b' ');
                out.extend_from_slice(
                    &without_versions(inner, version, is_mariadb).unwrap_or(inner.to_vec()),
                );
                out.push(b' ');
                is_changed = true;
            }
            None if piece == Piece::Comment && text.get(2) == Some(&b'!') => {
                // It is a comment there, and may be none here.
                out.push(b' ');
                is_changed = true;
            }
            None => out.extend_from_slice(text),
        }
    }
    is_changed.then_some(out)
}

/// What a comment has that is part of the statement at such a server.
fn executed(comment: &[u8], version: u32, is_mariadb: bool) -> Option<&[u8]> {
    let inner = comment.strip_suffix(b"*/")?;
    let inner = match inner.strip_prefix(b"/*!") {
        Some(inner) => inner,
        None if is_mariadb => inner.strip_prefix(b"/*M!")?,
        None => return None,
    };
    let digits = inner.iter().take_while(|byte| byte.is_ascii_digit()).count().min(6);
    // Five digits, or six.
    let digits = if digits < 5 { 0 } else { digits };
    let needed = std::str::from_utf8(&inner[..digits]).ok()?.parse::<u32>().unwrap_or(0);
    // MariaDB leaves out what MySQL has had since they parted.
    let is_of_mysql = comment.starts_with(b"/*!") && (50_700..=99_999).contains(&needed);
    (needed <= version && !(is_mariadb && is_of_mysql)).then(|| &inner[digits..])
}

/// A definition's text with `COLLATE utf8mb4_general_ci` wherever it names utf8mb4 and no
/// collation; `None` if that is the text itself.
pub(super) fn with_general_collation(sql: &[u8]) -> Option<Vec<u8>> {
    let has_name = sql.windows(7).any(|seven| seven.eq_ignore_ascii_case(b"utf8mb4"));
    if !has_name {
        return None;
    }
    let mut pieces = pieces(sql);
    pieces.retain(|(piece, _)| !matches!(piece, Piece::Space | Piece::Comment | Piece::Other(b'=')));
    let is = |number: usize, word: &str| {
        let found = pieces.get(number).filter(|(piece, _)| *piece == Piece::Word);
        found.is_some_and(|(_, range)| sql[range.clone()].eq_ignore_ascii_case(word.as_bytes()))
    };
    let is_utf8mb4 = |number: usize| {
        let Some((piece, range)) = pieces.get(number) else { return false };
        let text = &sql[range.clone()];
        match piece {
            Piece::Word => text.eq_ignore_ascii_case(b"utf8mb4"),
            Piece::Quoted => text[1..text.len().saturating_sub(1).max(1)].eq_ignore_ascii_case(b"utf8mb4"),
            _ => false,
        }
    };
    let mut ends = Vec::new();
    for number in 0..pieces.len() {
        let is_set = (is(number, "CHARACTER") || is(number, "CHAR")) && is(number + 1, "SET");
        let name = if is_set { number + 2 } else { number + 1 };
        // CAST takes no COLLATE.
        let casts = |at: usize| number >= at && is(number - at, "AS") && is(number - at + 1, "CHAR");
        let is_cast = casts(2) || casts(5);
        if (is_set || is(number, "CHARSET"))
            && is_utf8mb4(name)
            && !is_cast
            && !has_collation(sql, &pieces, number, name)
        {
            ends.push(pieces[name].1.end);
        }
    }
    let mut out = Vec::with_capacity(sql.len());
    let mut from = 0;
    for end in &ends {
        out.extend_from_slice(&sql[from..*end]);
        out.extend_from_slice(b" COLLATE utf8mb4_general_ci");
        from = *end;
    }
    out.extend_from_slice(&sql[from..]);
    (!ends.is_empty()).then_some(out)
}

/// Whether COLLATE stands in the same definition as the pieces from `first` to `last`.
fn has_collation(sql: &[u8], pieces: &[(Piece, Range<usize>)], first: usize, last: usize) -> bool {
    let is_collate = |(piece, range): &(Piece, Range<usize>)| {
        *piece == Piece::Word && sql[range.clone()].eq_ignore_ascii_case(b"COLLATE")
    };
    let in_definition = |others: &mut dyn Iterator<Item = &(Piece, Range<usize>)>, opens: u8, closes: u8| {
        let mut depth = 0_usize;
        for piece in others {
            match piece.0 {
                Piece::Other(byte) if byte == opens => depth += 1,
                Piece::Other(byte) if byte == closes && depth == 0 => return false,
                Piece::Other(byte) if byte == closes => depth -= 1,
                Piece::Other(b',' | b';') if depth == 0 => return false,
                _ if depth == 0 && is_collate(piece) => return true,
                _ => {}
            }
        }
        false
    };
    in_definition(&mut pieces[last..].iter(), b'(', b')')
        || in_definition(&mut pieces[..first].iter().rev(), b')', b'(')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_numbers() {
        for (version, number) in
            [("8.4.10", 80410), ("10.11.19-MariaDB-log", 101_119), ("5.5.5-10.5.2-MariaDB", 100_502), ("", 0)]
        {
            assert_eq!(number_of(version), number, "{version}");
        }
    }

    #[test]
    fn comments_with_versions_are_those_of_the_source() {
        let check = |sql: &str, version, is_mariadb, expected: &str| {
            let found = without_versions(sql.as_bytes(), version, is_mariadb);
            let found = found.map_or(sql.to_owned(), |found| String::from_utf8_lossy(&found).into_owned());
            assert_eq!(found, expected, "{version} {is_mariadb}");
        };
        let sql = "DELETE FROM t /*M! WHERE a = 9 */ /* x */";
        check(sql, 101_119, true, "DELETE FROM t   WHERE a = 9   /* x */");
        check(sql, 90_704, false, sql);
        check("SELECT 1 /*!90000 +1 */", 90_704, false, "SELECT 1   +1  ");
        check("SELECT 1 /*!90000 +1 */", 80_410, false, "SELECT 1  ");
        check("SELECT 1 /*!80000 +1 */", 101_119, true, "SELECT 1  ");
        check("SELECT 1 /*!100200 +1 */", 101_119, true, "SELECT 1   +1  ");
        check("SELECT 1 /*!40100 +1 /*!50000 +1 */ */", 101_119, true, "SELECT 1   +1   +1    ");
        check("SELECT '/*!90000 +1 */', `/*!1`", 90_704, false, "SELECT '/*!90000 +1 */', `/*!1`");
        check("SELECT 1 /*!40100", 90_704, false, "SELECT 1  ");
    }

    #[test]
    fn utf8mb4_gets_a_collation_where_it_has_none() {
        let check = |sql: &str, expected: &str| {
            let found = with_general_collation(sql.as_bytes());
            let found = found.map_or(sql.to_owned(), |found| String::from_utf8_lossy(&found).into_owned());
            assert_eq!(found, expected.replace('@', " COLLATE utf8mb4_general_ci"));
        };
        check("CREATE DATABASE d CHARACTER SET = utf8mb4", "CREATE DATABASE d CHARACTER SET = utf8mb4@");
        check(
            "CREATE DATABASE d COLLATE utf8mb4_bin CHARSET utf8mb4",
            "CREATE DATABASE d COLLATE utf8mb4_bin CHARSET utf8mb4",
        );
        check(
            "CREATE TABLE t (a CHAR(3) CHARSET utf8mb4, b TEXT CHARSET 'utf8mb4' NOT NULL COLLATE utf8mb4_bin) CHARSET=utf8mb4 COMMENT 'x'",
            "CREATE TABLE t (a CHAR(3) CHARSET utf8mb4@, b TEXT CHARSET 'utf8mb4' NOT NULL COLLATE utf8mb4_bin) CHARSET=utf8mb4@ COMMENT 'x'",
        );
        check(
            "ALTER TABLE t CONVERT TO CHARACTER SET utf8mb4",
            "ALTER TABLE t CONVERT TO CHARACTER SET utf8mb4@",
        );
        check(
            "CREATE TABLE t (a TEXT AS (CAST(b AS CHAR CHARSET utf8mb4)))",
            "CREATE TABLE t (a TEXT AS (CAST(b AS CHAR CHARSET utf8mb4)))",
        );
        check(
            "CREATE TABLE t (a TEXT AS (CAST(b AS CHAR(5) CHARACTER SET utf8mb4)))",
            "CREATE TABLE t (a TEXT AS (CAST(b AS CHAR(5) CHARACTER SET utf8mb4)))",
        );
        check(
            "CREATE TABLE t (a INT COMMENT 'CHARSET utf8mb4')",
            "CREATE TABLE t (a INT COMMENT 'CHARSET utf8mb4')",
        );
    }
}
