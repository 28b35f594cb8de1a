//! REPLACE in the log of a MariaDB. Where it finds a row it may log an update, and with a
//! `binlog_row_image` that is not FULL this has the columns that the statement names: those that
//! got their defaults are missing in it, as if they had kept their values.
//!
//! Such an update gives all columns of a unique key, which an UPDATE seldom does. What tells them
//! from each other is the statement's text, which the source sends before the rows. It is that of
//! the first statement that logged something, a trigger's, say.

use binlog::event::{RowsEvent, RowsKind, TableMapEvent};

use super::pieces::{Piece, pieces};

/// True if the rows may be those of a REPLACE that lack columns which it has changed; `text` is
/// what the source said of the statement, and empty if it said nothing.
pub(super) fn may_lack_defaults(text: &[u8], rows: &RowsEvent<'_>, map: &TableMapEvent) -> bool {
    rows.kind == RowsKind::Update
        && !(0..rows.columns).all(|column| rows.has_after(column))
        && !changes(text, &map.table)
}

/// True for an UPDATE of the table, or an INSERT into it.
fn changes(text: &[u8], table: &[u8]) -> bool {
    const MODIFIERS: [&[u8]; 5] = [b"LOW_PRIORITY", b"DELAYED", b"HIGH_PRIORITY", b"IGNORE", b"INTO"];
    let mut pieces = pieces(text)
        .filter(|(piece, _)| !matches!(piece, Piece::Space | Piece::Comment))
        .map(|(piece, range)| (piece, &text[range]));
    let is_table = |(piece, name): (Piece, &[u8])| match piece {
        Piece::Word => name.eq_ignore_ascii_case(table),
        // A name that has a backquote itself is not seen.
        Piece::Quoted => name
            .strip_prefix(b"`")
            .is_some_and(|name| name.strip_suffix(b"`").is_some_and(|name| name.eq_ignore_ascii_case(table))),
        _ => false,
    };
    let is_word =
        |piece: &(Piece, &[u8]), word: &[u8]| piece.0 == Piece::Word && piece.1.eq_ignore_ascii_case(word);
    match pieces.next() {
        Some(first) if is_word(&first, b"UPDATE") => {
            pieces.take_while(|piece| !is_word(piece, b"SET")).any(is_table)
        }
        Some(first) if is_word(&first, b"INSERT") => {
            let mut named = pieces.skip_while(|piece| MODIFIERS.iter().any(|word| is_word(piece, word)));
            let name = named.next();
            match named.next() {
                Some((Piece::Other(b'.'), _)) => named.next().is_some_and(is_table),
                _ => name.is_some_and(is_table),
            }
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_that_name_what_they_change() {
        let check = |text: &str, expected| assert_eq!(changes(text.as_bytes(), b"t1"), expected, "{text}");
        check("UPDATE `t1` SET a = 1", true);
        check("update low_priority x, d.`T1` set a = 1", true);
        check("UPDATE x SET a = (SELECT 1 FROM `t1`)", false);
        check("INSERT IGNORE INTO `d`.`t1` (a) VALUES (1) ON DUPLICATE KEY UPDATE a = 2", true);
        check("/* why */ INSERT `t1` SET a = 1", true);
        check("INSERT INTO audit SELECT 't1' FROM `t1`", false);
        check("INSERT INTO `t1`.x VALUES (1)", false);
        check("REPLACE INTO `t1` VALUES (1)", false);
        check("", false);
    }
}
