//! Statements as MariaDB understands them.
//!
//! Definitions are logged as their text, and MySQL's words are not all MariaDB's. What has the same
//! meaning there gets MariaDB's word: the collations `utf8mb4_0900_*` are `utf8mb4_uca1400_nopad_*`
//! (a later version of the same tables of the Unicode Collation Algorithm), `utf8mb4` without a
//! collation gets the one that it has here, and invisible columns are so. `START TRANSACTION`
//! after a CREATE TABLE .. SELECT's definition is omitted: the GTID event says as much. Accounts
//! stay: privileges, plugins and hashes of the two servers are not the same.

use binlog::event::{EventError, QueryEvent, StatusVars};
use std::borrow::Cow;
use storage::Xid;

/// MySQL's collations that MariaDB 10.11 has under other names: name and number here, name and
/// number there.
const COLLATIONS: [(&[u8], u16, &[u8], u16); 4] = [
    (b"utf8mb4_0900_ai_ci", 255, b"utf8mb4_uca1400_nopad_ai_ci", 2308),
    (b"utf8mb4_0900_as_ci", 305, b"utf8mb4_uca1400_nopad_as_ci", 2310),
    (b"utf8mb4_0900_as_cs", 278, b"utf8mb4_uca1400_nopad_as_cs", 2311),
    (b"utf8mb4_0900_bin", 309, b"utf8mb4_nopad_bin", 1070),
];
/// `sql_mode` bits that mean something else, or nothing, in MariaDB: TIME_TRUNCATE_FRACTIONAL and
/// above.
const COMMON_SQL_MODES: u64 = (1 << 32) - 1;

/// Which phase of an XA transaction a statement opens or is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// `XA START`
    First,
    /// `XA COMMIT`, `XA ROLLBACK`
    Second,
}

/// The XA transaction that a group's first statement names.
pub(super) fn xid(sql: &[u8]) -> Result<Option<(Phase, Xid)>, EventError> {
    let starts: [(&[u8], Phase); 3] =
        [(b"XA START ", Phase::First), (b"XA COMMIT ", Phase::Second), (b"XA ROLLBACK ", Phase::Second)];
    for (start, phase) in starts {
        if let Some(text) = sql.strip_prefix(start) {
            let xid = Xid::parse(text).ok_or(EventError::Malformed("XID"))?;
            return Ok(Some((phase, xid)));
        }
    }
    Ok(None)
}

/// True for statements about accounts and their privileges.
pub(super) fn is_of_accounts(sql: &[u8]) -> bool {
    let mut words = Tokens::new(sql).filter(|token| !token.is_blank()).map(|token| token.text);
    let is =
        |word: Option<&[u8]>, other: &str| word.is_some_and(|w| w.eq_ignore_ascii_case(other.as_bytes()));
    let first = words.next();
    if is(first, "GRANT") || is(first, "REVOKE") {
        return true;
    }
    let second = words.next();
    let defines = ["CREATE", "ALTER", "DROP", "RENAME"].iter().any(|word| is(first, word));
    defines && ["USER", "ROLE"].iter().any(|word| is(second, word))
        || is(first, "SET") && is(second, "PASSWORD")
}

/// A statement for MariaDB.
pub(super) fn translated<'a>(query: &'a QueryEvent<'_>) -> QueryEvent<'a> {
    QueryEvent {
        thread_id: query.thread_id,
        exec_time: query.exec_time,
        error_code: query.error_code,
        status: status(&query.status),
        database: Cow::Borrowed(&query.database),
        sql: text(&query.sql),
        suppress_use: query.suppress_use,
    }
}

/// The session's settings, as far as MariaDB knows them.
fn status<'a>(vars: &'a StatusVars<'_>) -> StatusVars<'a> {
    let number = |number: u16| COLLATIONS.iter().find(|c| c.1 == number).map_or(number, |c| c.3);
    StatusVars {
        flags2: vars.flags2,
        sql_mode: vars.sql_mode.map(|mode| mode & COMMON_SQL_MODES),
        catalog: vars.catalog.as_deref().map(Cow::Borrowed),
        auto_increment: vars.auto_increment,
        charset: vars.charset.map(|numbers| numbers.map(number)),
        time_zone: vars.time_zone.as_deref().map(Cow::Borrowed),
        lc_time_names: vars.lc_time_names,
        charset_database: vars.charset_database.map(number),
        table_map_for_update: vars.table_map_for_update,
        mariadb_microseconds: vars.microseconds,
        ..StatusVars::default()
    }
}

/// A statement's text in MariaDB's words.
fn text(sql: &[u8]) -> Cow<'_, [u8]> {
    let sql = sql.strip_suffix(b" START TRANSACTION").unwrap_or(sql);
    let tokens: Vec<Token<'_>> = Tokens::new(sql).collect();
    let mut out: Option<Vec<u8>> = None;
    let mut written = 0;
    let mut replace = |from: usize, to: usize, with: &[u8]| {
        let out = out.get_or_insert_default();
        out.extend_from_slice(&sql[written..from]);
        out.extend_from_slice(with);
        written = to;
    };
    let mut casts = Casts::default();
    for (i, token) in tokens.iter().enumerate() {
        casts.see(token);
        let end = token.start + token.text.len();
        if let Some(words) = of_mysql(token.text) {
            replace(token.start, end, words);
        } else if let Some(collation) = COLLATIONS.iter().find(|c| c.0.eq_ignore_ascii_case(token.text)) {
            replace(token.start, end, collation.2);
        } else if token.is("utf8mb4")
            && !casts.inside()
            && names_charset(&tokens[..i])
            && !is_collated(&tokens, i)
        {
            replace(end, end, b" COLLATE utf8mb4_uca1400_nopad_ai_ci");
        }
    }
    match out {
        Some(mut out) => {
            out.extend_from_slice(&sql[written..]);
            Cow::Owned(out)
        }
        None => Cow::Borrowed(sql),
    }
}

/// The words in a comment for MySQL 8 alone (`/*!80023 INVISIBLE */`), if MariaDB knows them too.
fn of_mysql(token: &[u8]) -> Option<&[u8]> {
    let words = token.strip_prefix(b"/*!80023")?.strip_suffix(b"*/")?.trim_ascii();
    words.eq_ignore_ascii_case(b"INVISIBLE").then_some(words)
}

/// True after `CHARACTER SET` or `CHARSET`, and an equals sign or not.
fn names_charset(before: &[Token<'_>]) -> bool {
    let mut words = before.iter().rev().filter(|token| !token.is_blank()).skip_while(|token| token.is("="));
    match words.next() {
        Some(token) if token.is("CHARSET") => true,
        Some(token) if token.is("SET") => {
            words.next().is_some_and(|token| token.is("CHARACTER") || token.is("CHAR"))
        }
        _ => false,
    }
}

/// True if the column or the list of options that token `at` is part of has a collation.
fn is_collated(tokens: &[Token<'_>], at: usize) -> bool {
    let element = |tokens: &mut dyn Iterator<Item = &Token<'_>>, opens: &str, closes: &str| {
        let mut depth = 0;
        for token in tokens {
            if token.is(opens) {
                depth += 1;
            } else if token.is(closes) {
                if depth == 0 {
                    return false;
                }
                depth -= 1;
            } else if depth == 0 && (token.is(",") || token.is(";")) {
                return false;
            } else if depth == 0 && token.is("COLLATE") {
                return true;
            }
        }
        false
    };
    element(&mut tokens[at..].iter(), "(", ")") || element(&mut tokens[..at].iter().rev(), ")", "(")
}

/// Whether a token is among the operands of CAST or CONVERT, where no collation may be.
#[derive(Default)]
struct Casts {
    /// For each open parenthesis, if it is one's.
    open: Vec<bool>,
    after_cast: bool,
}

impl Casts {
    fn see(&mut self, token: &Token<'_>) {
        if token.is_blank() {
            return;
        }
        if token.is("(") {
            self.open.push(self.after_cast);
        } else if token.is(")") {
            self.open.pop();
        }
        self.after_cast = token.is("CAST") || token.is("CONVERT");
    }

    fn inside(&self) -> bool {
        self.open.contains(&true)
    }
}

/// A piece of a statement: a word, a quoted text, a comment, blanks, or a sign.
#[derive(Debug, Clone, Copy)]
struct Token<'a> {
    start: usize,
    text: &'a [u8],
}

impl Token<'_> {
    fn is(&self, word: &str) -> bool {
        self.text.eq_ignore_ascii_case(word.as_bytes())
    }

    /// Blanks and comments; the text of a versioned comment (`/*!80000 .. */`) is one too.
    fn is_blank(&self) -> bool {
        self.text[0].is_ascii_whitespace()
            || self.text.starts_with(b"/*")
            || self.text.starts_with(b"--")
            || self.text[0] == b'#'
    }
}

/// Takes a statement apart without understanding it.
struct Tokens<'a> {
    sql: &'a [u8],
    at: usize,
}

impl<'a> Tokens<'a> {
    fn new(sql: &'a [u8]) -> Self {
        Self { sql, at: 0 }
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        let rest = self.sql.get(self.at..).filter(|rest| !rest.is_empty())?;
        let length = match rest[0] {
            quote @ (b'\'' | b'"' | b'`') => quoted(rest, quote),
            b'#' => line(rest),
            b'-' if rest.starts_with(b"-- ") => line(rest),
            b'/' if rest.starts_with(b"/*") => {
                rest.windows(2).skip(2).position(|two| two == b"*/").map_or(rest.len(), |at| at + 4)
            }
            c if is_word(c) => rest.iter().take_while(|&&c| is_word(c)).count(),
            c if c.is_ascii_whitespace() => rest.iter().take_while(|c| c.is_ascii_whitespace()).count(),
            _ => 1,
        };
        let token = Token { start: self.at, text: &rest[..length] };
        self.at += length;
        Some(token)
    }
}

fn is_word(c: u8) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, b'_' | b'$' | b'@') || c >= 0x80
}

fn line(rest: &[u8]) -> usize {
    rest.iter().position(|&c| c == b'\n').unwrap_or(rest.len())
}

/// The length of a quoted text. Doubled quotes are two texts for this purpose. A backslash hides
/// what follows, as it does unless NO_BACKSLASH_ESCAPES is on.
fn quoted(rest: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while let Some(&c) = rest.get(at) {
        at += 1;
        if c == quote {
            return at;
        }
        if c == b'\\' && quote != b'`' {
            at += 1;
        }
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(sql: &str, expected: &str) {
        assert_eq!(String::from_utf8_lossy(&text(sql.as_bytes())), expected);
    }

    #[test]
    fn collations_get_mariadbs_names() {
        check("CREATE TABLE t (a INT)", "CREATE TABLE t (a INT)");
        check(
            "CREATE TABLE t (a TEXT COLLATE utf8mb4_0900_ai_ci, b TEXT COLLATE Utf8mb4_0900_BIN)",
            "CREATE TABLE t (a TEXT COLLATE utf8mb4_uca1400_nopad_ai_ci, b TEXT COLLATE utf8mb4_nopad_bin)",
        );
        check(
            "CREATE TABLE `utf8mb4_0900_bin` (a TEXT DEFAULT ('utf8mb4_0900_bin'))",
            "CREATE TABLE `utf8mb4_0900_bin` (a TEXT DEFAULT ('utf8mb4_0900_bin'))",
        );
    }

    #[test]
    fn a_character_set_alone_gets_its_collation() {
        let with = "CHARACTER SET utf8mb4 COLLATE utf8mb4_uca1400_nopad_ai_ci";
        check("CREATE DATABASE d CHARACTER SET utf8mb4", &format!("CREATE DATABASE d {with}"));
        check(
            "CREATE TABLE t (a CHAR(9) CHARACTER SET utf8mb4 NOT NULL, b CHAR(1) CHARACTER SET utf8mb4 NOT NULL COLLATE utf8mb4_bin) DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_as_cs",
            &format!(
                "CREATE TABLE t (a CHAR(9) {with} NOT NULL, b CHAR(1) CHARACTER SET utf8mb4 NOT NULL COLLATE utf8mb4_bin) DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_uca1400_nopad_as_cs"
            ),
        );
        let cast = "CREATE TABLE t (a INT, b CHAR(9) AS (CAST(a AS CHAR(9) CHARACTER SET utf8mb4)))";
        check(cast, cast);
    }

    #[test]
    fn invisible_columns_are_invisible_there() {
        check(
            "CREATE TABLE t (a INT /*!80023 INVISIBLE */, b INT)",
            "CREATE TABLE t (a INT INVISIBLE, b INT)",
        );
        let other = "CREATE TABLE t (a INT /*!80016 DEFAULT ENCRYPTION='N' */) /* INVISIBLE */";
        check(other, other);
    }

    #[test]
    fn the_mark_of_a_filled_table_is_left_out() {
        check("CREATE TABLE t (a INT) START TRANSACTION", "CREATE TABLE t (a INT)");
    }

    #[test]
    fn statements_of_accounts_are_known() {
        for sql in [
            "CREATE USER a",
            "grant all on *.* to a",
            "/* x */ DROP  USER IF EXISTS a",
            "SET PASSWORD FOR a = 'b'",
        ] {
            assert!(is_of_accounts(sql.as_bytes()), "{sql}");
        }
        for sql in ["CREATE TABLE user (a INT)", "DROP TABLE grants", "SET @a = 1", "", "'grant"] {
            assert!(!is_of_accounts(sql.as_bytes()), "{sql}");
        }
    }
}
