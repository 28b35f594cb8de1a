//! What a text means by default at its source, said in words that mean the same here.
//!
//! - `/*!50700 .. */` and `/*M! .. */` are part of the statement where the source is such a server
//!   of that version, and a comment where it is not.
//! - The collation of utf8mb4 that nothing else says is `utf8mb4_general_ci` in MariaDB, in MySQL
//!   5.7, and in MySQL where `default_collation_for_utf8mb4` says so.
//! - MariaDB takes constants as defaults of TEXT, BLOB and JSON columns, MySQL expressions only.
//! - MariaDB logs RETURNING, which changes nothing.

use std::ops::Range;

use super::pieces::{self, Piece};
use crate::catalog::parse_one;
use syntax::ast::{
    AlterAction, ColumnDefault, ColumnDefinition, DataType, ExprKind, Literal, StatementKind, TableContent,
};

/// A server's version as a number: 8.4.10 is 80410.
pub(super) fn number_of(version: &str) -> u32 {
    // MariaDB tells old clients that it is a MySQL of version 5.5.5.
    let version = version.strip_prefix("5.5.5-").unwrap_or(version);
    let mut parts = version.split(|c: char| !c.is_ascii_digit()).map(|part| part.parse::<u32>().unwrap_or(0));
    let mut next = || parts.next().unwrap_or(0).min(99);
    next() * 10_000 + next() * 100 + next()
}

/// The text with what such comments have, and without those that are comments at the source;
/// `None` if that is the text itself.
pub(super) fn without_versions(sql: &[u8], version: u32, is_mariadb: bool) -> Option<Vec<u8>> {
    if !sql.windows(3).any(|three| three == b"/*!" || three == b"/*M") {
        return None;
    }
    let mut out = Vec::with_capacity(sql.len());
    let (mut at, mut open, mut is_changed) = (0, 0_usize, false);
    while let Some(&first) = sql.get(at) {
        let rest = &sql[at..];
        let executed = executed(rest, version, is_mariadb);
        let (len, is_left_out) = match first {
            b'\'' | b'"' | b'`' => (syntax::quoted::length_of(rest, first), false),
            _ if let Some(head) = executed => {
                open += 1;
                (head, true)
            }
            b'*' if open > 0 && rest.starts_with(b"*/") => {
                open -= 1;
                (2, true)
            }
            b'/' if rest.starts_with(b"/*!") => (pieces::comment_len(rest), true),
            b'/' if rest.starts_with(b"/*") => (pieces::comment_len(rest), false),
            b'#' | b'-' => (pieces::line_comment_len(rest).unwrap_or(1), false),
            _ => (1, false),
        };
        let len = len.clamp(1, rest.len());
        if is_left_out {
            out.push(b' ');
            is_changed = true;
        } else {
            out.extend_from_slice(&rest[..len]);
        }
        at += len;
    }
    is_changed.then_some(out)
}

/// The length of what begins a comment that is part of the statement at such a server; `None` where
/// none begins.
fn executed(text: &[u8], version: u32, is_mariadb: bool) -> Option<usize> {
    let is_of_all = text.starts_with(b"/*!");
    let head = match () {
        () if is_of_all => 3,
        () if is_mariadb && text.starts_with(b"/*M!") => 4,
        () => return None,
    };
    let digits = text[head..].iter().take(6).take_while(|byte| byte.is_ascii_digit()).count();
    // Five digits, or six.
    let digits = if digits < 5 { 0 } else { digits };
    let needed = std::str::from_utf8(&text[head..head + digits]).ok()?.parse::<u32>().unwrap_or(0);
    // MariaDB leaves out what MySQL has had since they parted.
    let is_of_mysql = is_of_all && (50_700..=99_999).contains(&needed);
    (needed <= version && !(is_mariadb && is_of_mysql)).then_some(head + digits)
}

/// A definition's text with `COLLATE utf8mb4_general_ci` wherever it names utf8mb4 and no
/// collation; `None` if that is the text itself.
pub(super) fn with_general_collation(sql: &[u8]) -> Option<Vec<u8>> {
    let has_name = sql.windows(7).any(|seven| seven.eq_ignore_ascii_case(b"utf8mb4"));
    if !has_name {
        return None;
    }
    let is_of_use = |(piece, _): &(Piece, Range<usize>)| {
        !matches!(piece, Piece::Space | Piece::Comment | Piece::Other(b'='))
    };
    let pieces: Vec<_> = pieces::pieces(sql).filter(is_of_use).collect();
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
    let definitions = definitions(&pieces);
    let mut has_collation = vec![false; definitions.iter().max().map_or(0, |last| last + 1)];
    for (number, &definition) in definitions.iter().enumerate() {
        has_collation[definition] |= is(number, "COLLATE");
    }
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
            && !has_collation[definitions[number]]
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

/// A definition's text with constants as defaults of TEXT, BLOB and JSON columns in parentheses,
/// where they are expressions; `None` if that is the text itself.
pub fn with_expression_defaults(sql: &[u8], sql_mode: u64) -> Option<Vec<u8>> {
    if !sql.windows(7).any(|seven| seven.eq_ignore_ascii_case(b"DEFAULT")) {
        return None;
    }
    let statement = parse_one(sql, sql_mode).ok()?;
    let mut columns: Vec<&ColumnDefinition> = Vec::new();
    match &statement.kind {
        StatementKind::CreateTable(create) => match &create.content {
            TableContent::Definition(definition) => columns.extend(&definition.columns),
            TableContent::Like(_) => return None,
        },
        StatementKind::AlterTable(alter) => {
            for action in &alter.actions {
                match action {
                    AlterAction::AddColumns(added) => columns.extend(added.iter().map(|(column, _)| column)),
                    AlterAction::ChangeColumn { definition, .. } => columns.push(definition),
                    _ => {}
                }
            }
        }
        _ => return None,
    }
    let mut constants: Vec<Range<usize>> = columns.into_iter().filter_map(constant_of_long_text).collect();
    constants.sort_unstable_by_key(|range| range.start);
    let mut out = Vec::with_capacity(sql.len() + 2 * constants.len());
    let mut from = 0;
    for range in &constants {
        out.extend_from_slice(sql.get(from..range.start)?);
        out.push(b'(');
        out.extend_from_slice(sql.get(range.clone())?);
        out.push(b')');
        from = range.end;
    }
    out.extend_from_slice(&sql[from..]);
    (!constants.is_empty()).then_some(out)
}

/// Where the constant is that a TEXT, BLOB or JSON column has as its default.
fn constant_of_long_text(column: &ColumnDefinition) -> Option<Range<usize>> {
    let is_long = matches!(column.ty, DataType::Text { .. } | DataType::Blob { .. } | DataType::Json);
    match &column.attributes.default {
        Some(ColumnDefault::Literal(value)) if !matches!(value.kind, ExprKind::Literal(Literal::Null)) => {
            is_long.then(|| value.span.range())
        }
        _ => None,
    }
}

/// INSERT, REPLACE or DELETE without its RETURNING, which says what the client gets; `None` if it
/// has none.
pub(super) fn without_returning(sql: &[u8]) -> Option<Vec<u8>> {
    if !sql.windows(9).any(|nine| nine.eq_ignore_ascii_case(b"RETURNING")) {
        return None;
    }
    let mut depth = 0_usize;
    for (piece, range) in pieces::pieces(sql) {
        match piece {
            Piece::Other(b'(') => depth += 1,
            Piece::Other(b')') => depth = depth.saturating_sub(1),
            // It is a reserved word.
            Piece::Word if depth == 0 && sql[range.clone()].eq_ignore_ascii_case(b"RETURNING") => {
                return Some(sql[..range.start].trim_ascii_end().to_vec());
            }
            _ => {}
        }
    }
    None
}

/// For each piece the number of the definition that it stands in: parentheses have definitions of
/// their own, and commas and semicolons are between two.
fn definitions(pieces: &[(Piece, Range<usize>)]) -> Vec<usize> {
    let (mut last, mut outer, mut present) = (0, Vec::new(), 0);
    let number = |(piece, _): &(Piece, Range<usize>)| {
        match piece {
            Piece::Other(b'(') => {
                outer.push(present);
                last += 1;
                present = last;
            }
            Piece::Other(b')') => present = outer.pop().unwrap_or(present),
            Piece::Other(b',' | b';') => {
                last += 1;
                present = last;
            }
            _ => {}
        }
        present
    };
    pieces.iter().map(number).collect()
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
        check("SELECT 1 # /*!1\n/*!1 +1*/", 90_704, false, "SELECT 1 # /*!1\n 1 +1 ");
        // As deep as one likes, without a stack.
        let deep = "/*!".repeat(300_000);
        check(&deep, 90_704, false, &" ".repeat(300_000));
    }

    #[test]
    fn constants_of_long_texts_become_expressions() {
        let check = |sql: &str, expected: Option<&str>| {
            let found = with_expression_defaults(sql.as_bytes(), 0);
            let found = found.map(|found| String::from_utf8_lossy(&found).into_owned());
            assert_eq!(found.as_deref(), expected, "{sql}");
        };
        check(
            "CREATE TABLE t (a text DEFAULT 'x' NOT NULL, `text` CHAR(3) DEFAULT 'y', j json DEFAULT '{\"a\": 1}', b BLOB DEFAULT NULL)",
            Some(
                "CREATE TABLE t (a text DEFAULT ('x') NOT NULL, `text` CHAR(3) DEFAULT 'y', j json DEFAULT ('{\"a\": 1}'), b BLOB DEFAULT NULL)",
            ),
        );
        check(
            "ALTER TABLE t ADD COLUMN s longtext DEFAULT 'é' NOT NULL, MODIFY b blob DEFAULT -1 AFTER a",
            Some(
                "ALTER TABLE t ADD COLUMN s longtext DEFAULT ('é') NOT NULL, MODIFY b blob DEFAULT (-1) AFTER a",
            ),
        );
        check("CREATE TABLE t (a text DEFAULT ('x'), b INT DEFAULT 5)", None);
        check("CREATE TABLE t LIKE u -- DEFAULT", None);
    }

    #[test]
    fn returning_is_left_out() {
        let check = |sql: &str, expected: Option<&str>| {
            let found = without_returning(sql.as_bytes());
            let found = found.map(|found| String::from_utf8_lossy(&found).into_owned());
            assert_eq!(found.as_deref(), expected, "{sql}");
        };
        check(
            "INSERT INTO t (a) VALUES (1), ('RETURNING') RETURNING id, a",
            Some("INSERT INTO t (a) VALUES (1), ('RETURNING')"),
        );
        check("DELETE FROM t WHERE a = 1\nreturning *", Some("DELETE FROM t WHERE a = 1"));
        check("INSERT INTO t SELECT `returning` FROM u /* RETURNING */", None);
        check("INSERT INTO t VALUES (1)", None);
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
