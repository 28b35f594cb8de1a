//! Texts that a source logs and that this server has other words for, or none.
//!
//! | text | here |
//! | --- | --- |
//! | FLUSH, ALTER INSTANCE, RESET QUERY CACHE; what makes histograms, tablespaces, spatial reference systems | without effect: it is about the source's own caches, files and keys, or about what no table here has |
//! | MariaDB's CREATE OR REPLACE, but of views | two statements: DROP .. IF EXISTS comes first |
//! | MariaDB's IF [NOT] EXISTS of columns and indexes | without these words; where the statement does one thing, its error is passed over that says that it is done |
//! | MariaDB's SET STATEMENT .. FOR | what comes after FOR |
//! | sequences, packages, libraries, loadable functions | 1235, by name |

use syntax::ast::{
    AlterAction, AlterTable, ColumnDefinition, DataType, ObjectName, RoutineKind, StatementKind, TableContent,
};

use super::pieces::{Piece, pieces};
use crate::catalog::parse_one;
use datum::error::{self, Code, SqlError};

/// What becomes of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Treatment {
    /// It is run as it is.
    AsIs,
    /// It changes nothing here.
    NoEffect,
    /// 1235 with this name.
    Refused(&'static str),
    /// Another text is run.
    Rewritten(Rewritten),
}

/// A text in this server's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rewritten {
    /// It is run first.
    pub(super) before: Option<String>,
    pub(super) sql: Vec<u8>,
    /// Errors that say that it is done already.
    pub(super) passes_over: Vec<Code>,
}

/// Words of a text with their places, without comments and what is in quotes.
struct Words<'a> {
    sql: &'a [u8],
    words: Vec<(usize, usize)>,
}

impl<'a> Words<'a> {
    fn of(sql: &'a [u8]) -> Self {
        let words = pieces(sql).filter(|(piece, _)| *piece == Piece::Word);
        Self { sql, words: words.map(|(_, range)| (range.start, range.end)).collect() }
    }

    fn is(&self, number: usize, word: &str) -> bool {
        let found = self.words.get(number).map(|&(start, end)| &self.sql[start..end]);
        found.is_some_and(|found| found.eq_ignore_ascii_case(word.as_bytes()))
    }

    fn begin_with(&self, words: &str) -> bool {
        words.split(' ').enumerate().all(|(number, word)| self.is(number, word))
    }

    fn find(&self, word: &str) -> Option<usize> {
        (0..self.words.len()).find(|&number| self.is(number, word))
    }

    /// True for a word up to the first one that says what kind of object the statement is about, as
    /// in CREATE OR REPLACE ALGORITHM=UNDEFINED DEFINER=user@host SQL SECURITY DEFINER VIEW.
    fn names(&self, word: &str) -> bool {
        const OBJECTS: [&str; 14] = [
            "TABLE",
            "TABLES",
            "VIEW",
            "PROCEDURE",
            "FUNCTION",
            "TRIGGER",
            "EVENT",
            "PACKAGE",
            "DATABASE",
            "SCHEMA",
            "INDEX",
            "USER",
            "ROLE",
            "SERVER",
        ];
        let object =
            (0..self.words.len()).find(|&number| OBJECTS.iter().any(|object| self.is(number, object)));
        self.find(word).is_some_and(|number| object.is_none_or(|object| number <= object))
    }
}

/// What a text does, as far as its words say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextKind {
    /// It defines tables, databases or accounts, or is about transactions.
    Definition,
    /// It defines what has statements in it: views, routines, triggers, events, tables of a query.
    Program,
    /// It changes rows.
    Change,
}

/// What a statement of the source's log does.
pub(super) fn kind_of(sql: &[u8]) -> TextKind {
    const CHANGES: [&str; 10] =
        ["INSERT", "UPDATE", "DELETE", "REPLACE", "LOAD", "WITH", "CALL", "SELECT", "DO", "VALUES"];
    const PROGRAMS: [&str; 5] = ["VIEW", "PROCEDURE", "FUNCTION", "TRIGGER", "EVENT"];
    let sql = after_set_statement(sql);
    let words = Words::of(&sql[..sql.len().min(HEAD_MAX)]);
    let is_of = |verbs: &[&str], number| verbs.iter().any(|verb| words.is(number, verb));
    match () {
        () if is_of(&CHANGES, 0) => TextKind::Change,
        () if !is_of(&["CREATE", "ALTER"], 0) => TextKind::Definition,
        () if PROGRAMS.iter().any(|program| words.names(program)) => TextKind::Program,
        () if Words::of(sql).find("SELECT").is_some() => TextKind::Program,
        () => TextKind::Definition,
    }
}

/// True for a rollback to a savepoint.
pub(super) fn is_rollback_to_savepoint(sql: &[u8]) -> bool {
    sql.get(..8).is_some_and(|start| start.eq_ignore_ascii_case(b"ROLLBACK"))
}

/// True if a text makes or drops a temporary table.
pub(super) fn is_about_temporary(sql: &[u8]) -> bool {
    let words = Words::of(&sql[..sql.len().min(HEAD_MAX)]);
    (words.is(0, "CREATE") || words.is(0, "DROP")) && words.names("TEMPORARY")
}

/// DROP TABLE and DROP VIEW that failed for some names have dropped the others: the text with IF
/// EXISTS.
pub(super) fn with_if_exists(sql: &[u8], error_code: u16) -> Option<Vec<u8>> {
    let words = Words::of(&sql[..sql.len().min(HEAD_MAX)]);
    let number = if words.is(1, "TEMPORARY") { 2 } else { 1 };
    let is_drop =
        words.is(0, "DROP") && ["TABLE", "TABLES", "VIEW"].iter().any(|what| words.is(number, what));
    if !is_drop || error_code != error::BAD_TABLE_ERROR.number || words.is(number + 1, "IF") {
        return None;
    }
    let end = words.words[number].1;
    Some([&sql[..end], b" IF EXISTS", &sql[end..]].concat())
}

/// What becomes of a statement of the source's log.
pub(super) fn treatment(sql: &[u8], sql_mode: u64, is_mariadb: bool) -> Treatment {
    // What most are: changes and definitions.
    let words = Words::of(&sql[..sql.len().min(HEAD_MAX)]);
    const WITHOUT_EFFECT: [&str; 12] = [
        "ALTER INSTANCE",
        "FLUSH",
        "RESET QUERY CACHE",
        "CREATE SPATIAL REFERENCE",
        "CREATE OR REPLACE SPATIAL REFERENCE",
        "DROP SPATIAL REFERENCE",
        "CREATE TABLESPACE",
        "ALTER TABLESPACE",
        "DROP TABLESPACE",
        "CREATE LOGFILE GROUP",
        "ALTER LOGFILE GROUP",
        "DROP LOGFILE GROUP",
    ];
    if WITHOUT_EFFECT.iter().any(|text| words.begin_with(text)) {
        return Treatment::NoEffect;
    }
    if is_mariadb && let Some(name) = refused_of_mariadb(sql) {
        return Treatment::Refused(name);
    }
    if words.begin_with("ANALYZE")
        && (words.find("HISTOGRAM").is_some() || words.find("PERSISTENT").is_some())
    {
        return Treatment::NoEffect;
    }
    if let Some(name) = refused(&words) {
        return Treatment::Refused(name);
    }
    if is_mariadb { of_mariadb(sql, sql_mode) } else { Treatment::AsIs }
}

/// Bytes of a text in which its kind is looked for.
const HEAD_MAX: usize = 1024;

/// True for a routine or view whose name, which sources put into the text in UTF-8 whatever
/// character set that has, is not ASCII.
pub(super) fn has_name_in_utf8(sql: &[u8]) -> bool {
    if sql.is_ascii() {
        return false;
    }
    let words = Words::of(&sql[..sql.len().min(HEAD_MAX)]);
    let kinds = ["PROCEDURE", "FUNCTION", "VIEW"];
    let kind = kinds.iter().find(|kind| words.names(kind)).and_then(|kind| words.find(kind));
    let Some(kind) = kind.filter(|_| words.is(0, "CREATE") || words.is(0, "ALTER")) else { return false };
    let (_, mut at) = words.words[kind];
    let start = at;
    // Up to a routine's parameters, or AS and what a view reads.
    let is_view = words.is(kind, "VIEW");
    let next =
        words.words[kind + 1..].iter().position(|&(from, to)| sql[from..to].eq_ignore_ascii_case(b"AS"));
    let as_word = next.map_or(sql.len(), |number| words.words[kind + 1 + number].0);
    while at < sql.len() {
        at += match sql[at] {
            b'`' => syntax::quoted::length_of(&sql[at..], b'`'),
            b'(' if !is_view => break,
            _ if is_view && at >= as_word => break,
            _ => 1,
        };
    }
    !sql[start..at.min(sql.len())].is_ascii()
}

/// True for a table that MySQL gave an invisible primary key, and wrote the text of: in UTF-8,
/// whatever character set the text is said to have.
pub(super) fn has_generated_key(sql: &[u8]) -> bool {
    const KEY: &[u8] = b"`my_row_id` bigint unsigned NOT NULL AUTO_INCREMENT /*!80023 INVISIBLE */";
    sql[..sql.len().min(HEAD_MAX)].windows(KEY.len()).any(|window| window == KEY)
}

/// True for a definition of a table that looks as MySQL and MariaDB write it themselves, as SHOW
/// CREATE TABLE does: with each backslash of a string twice, under NO_BACKSLASH_ESCAPES as well.
pub(super) fn may_double_backslashes(sql: &[u8]) -> bool {
    let has = |part: &[u8]| sql.windows(part.len()).any(|window| window == part);
    sql.starts_with(b"CREATE ") && has(b"` (\n  `") && has(b"\\\\")
}

/// True for a text that asks whether something is NULL, which finds the row inserted last under
/// `sql_auto_is_null`; also for one that may do so in a versioned comment.
pub(super) fn asks_is_null(sql: &[u8]) -> bool {
    let mut is_before = false;
    pieces(sql).any(|(piece, range)| {
        let text = &sql[range];
        let is = |word: &str| piece == Piece::Word && text.eq_ignore_ascii_case(word.as_bytes());
        match piece {
            Piece::Space => false,
            Piece::Comment => text.starts_with(b"/*!") || text.starts_with(b"/*M!"),
            _ => {
                let asks = is("ISNULL") || is_before && is("NULL");
                is_before = is("IS");
                asks
            }
        }
    })
}

/// True for a definition of a generated TIMESTAMP column that says neither NULL nor NOT NULL.
pub(super) fn generates_timestamp(sql: &[u8], sql_mode: u64) -> bool {
    let is_such = |column: &ColumnDefinition| {
        matches!(column.ty, DataType::Timestamp { .. })
            && column.attributes.generated.is_some()
            && column.attributes.nullable.is_none()
    };
    match parse_one(sql, sql_mode).map(|statement| statement.kind) {
        Ok(StatementKind::CreateTable(table)) => match &table.content {
            TableContent::Definition(table) => table.columns.iter().any(is_such),
            TableContent::Like(_) => false,
        },
        Ok(StatementKind::AlterTable(alter)) => alter.actions.iter().any(|action| match action {
            AlterAction::AddColumns(columns) => columns.iter().any(|(column, _)| is_such(column)),
            AlterAction::ChangeColumn { definition, .. } => is_such(definition),
            _ => false,
        }),
        _ => false,
    }
}

/// What this server has not, and has no word for.
fn refused(words: &Words<'_>) -> Option<&'static str> {
    let defines = ["CREATE", "ALTER", "DROP"].iter().any(|verb| words.is(0, verb));
    if !defines {
        return None;
    }
    let second = if words.begin_with("CREATE OR REPLACE") { 3 } else { 1 };
    for (word, name) in [("SEQUENCE", "sequences"), ("LIBRARY", "libraries"), ("PACKAGE", "packages")] {
        if words.is(second, word) {
            return Some(name);
        }
    }
    match () {
        () if words.names("DEFINER") && words.names("PACKAGE") => Some("packages"),
        () if words.names("AGGREGATE") && words.names("FUNCTION") => Some("aggregate functions"),
        () if words.names("FUNCTION") && words.find("SONAME").is_some() => Some("loadable functions"),
        () if words.find("DUALITY").is_some() && words.find("VIEW").is_some() => Some("JSON duality views"),
        () => None,
    }
}

/// What a MariaDB reads or runs in another way than its text says.
fn refused_of_mariadb(sql: &[u8]) -> Option<&'static str> {
    let inner = after_set_statement(sql);
    let words = Words::of(&inner[..inner.len().min(HEAD_MAX)]);
    let is_of_table = (1..=2).any(|number| words.is(number, "TABLE") || words.is(number, "TABLES"));
    if words.is(0, "ANALYZE") && !is_of_table {
        return Some("ANALYZE of a statement, which a MariaDB runs");
    }
    // They hold in the log already where the statement was read, and did not yet at the source.
    let settings = &sql[..sql.len() - inner.len()];
    let settings = Words::of(settings);
    let is_of_reading = |&(from, to): &(usize, usize)| {
        let word = settings.sql[from..to].to_ascii_lowercase();
        [b"sql_mode".as_slice(), b"character_set", b"collation"].iter().any(|name| word.starts_with(name))
    };
    settings.words.iter().any(is_of_reading).then_some("SET STATEMENT of what a statement is read by")
}

/// MariaDB's SET STATEMENT .. FOR: the statement after FOR; any other text as it is.
fn after_set_statement(sql: &[u8]) -> &[u8] {
    let mut inner = sql;
    loop {
        let words = Words::of(&inner[..inner.len().min(HEAD_MAX)]);
        match words.find("FOR").filter(|_| words.begin_with("SET STATEMENT")) {
            Some(number) => inner = inner[words.words[number].1..].trim_ascii_start(),
            None => return inner,
        }
    }
}

fn of_mariadb(sql: &[u8], sql_mode: u64) -> Treatment {
    let inner = after_set_statement(sql);
    match of_mariadbs_statement(inner, sql_mode) {
        Treatment::AsIs if inner.len() < sql.len() => {
            Treatment::Rewritten(Rewritten { before: None, sql: inner.to_vec(), passes_over: Vec::new() })
        }
        treatment => treatment,
    }
}

fn of_mariadbs_statement(sql: &[u8], sql_mode: u64) -> Treatment {
    let head = Words::of(&sql[..sql.len().min(HEAD_MAX)]);
    if !["CREATE", "ALTER", "DROP"].iter().any(|verb| head.is(0, verb)) {
        return Treatment::AsIs;
    }
    let words = Words::of(sql);
    if words.begin_with("CREATE OR REPLACE") {
        return replacing(sql, &words, sql_mode);
    }
    let is_altered = words.begin_with("ALTER TABLE") || words.begin_with("ALTER TABLE IF EXISTS");
    let is_index = (words.is(0, "CREATE") || words.is(0, "DROP")) && {
        let number = words.find("INDEX");
        number.is_some_and(|number| number <= 2)
    };
    if is_altered || is_index { conditional(sql, &words, sql_mode) } else { Treatment::AsIs }
}

/// CREATE OR REPLACE.
fn replacing(sql: &[u8], words: &Words<'_>, sql_mode: u64) -> Treatment {
    let (create, replace) = (words.words[0].1, words.words[2].1);
    let sql = [&sql[..create], &sql[replace..]].concat();
    let Ok(statement) = parse_one(&sql, sql_mode) else { return Treatment::AsIs };
    let of = |what: &str, name: &ObjectName| format!("DROP {what} IF EXISTS {}", quoted_name(name));
    let before = match &statement.kind {
        StatementKind::CreateTable(table) if table.temporary => of("TEMPORARY TABLE", &table.name),
        StatementKind::CreateTable(table) => of("TABLE", &table.name),
        StatementKind::CreateRoutine(routine) => {
            let is_procedure = routine.kind == RoutineKind::Procedure;
            of(if is_procedure { "PROCEDURE" } else { "FUNCTION" }, &routine.name)
        }
        StatementKind::CreateTrigger(trigger) => of("TRIGGER", &trigger.name),
        StatementKind::CreateEvent(event) => of("EVENT", &event.name),
        StatementKind::CreateDatabase(database) => {
            format!("DROP DATABASE IF EXISTS {}", quoted_word(&database.name))
        }
        StatementKind::CreateIndex(index) => {
            let name = index.key.name.as_deref().unwrap_or_default();
            format!("DROP INDEX {} ON {}", quoted_word(name), quoted_name(&index.table))
        }
        // Views are replaced here, too.
        _ => return Treatment::AsIs,
    };
    Treatment::Rewritten(Rewritten { before: Some(before), sql, passes_over: Vec::new() })
}

/// IF EXISTS and IF NOT EXISTS of columns, indexes and constraints.
fn conditional(sql: &[u8], words: &Words<'_>, sql_mode: u64) -> Treatment {
    let mut kept = Vec::with_capacity(sql.len());
    let (mut from, mut number) = (0, 0);
    while number < words.words.len() {
        let is_not = words.is(number + 1, "NOT");
        let last = number + 1 + usize::from(is_not);
        if words.is(number, "IF") && words.is(last, "EXISTS") {
            kept.extend_from_slice(&sql[from..words.words[number].0]);
            from = words.words[last].1;
            number = last;
        }
        number += 1;
    }
    if from == 0 {
        return Treatment::AsIs;
    }
    kept.extend_from_slice(&sql[from..]);
    let does_one_thing = match parse_one(&kept, sql_mode).map(|statement| statement.kind) {
        Ok(StatementKind::AlterTable(alter)) => is_one_action(&alter),
        Ok(StatementKind::CreateIndex(_) | StatementKind::DropIndex(_)) => true,
        _ => return Treatment::AsIs,
    };
    let done = [
        error::DUP_FIELDNAME,
        error::DUP_KEYNAME,
        error::CANT_DROP_FIELD_OR_KEY,
        error::BAD_FIELD_ERROR,
        error::CONSTRAINT_NOT_FOUND,
    ];
    let passes_over = if does_one_thing { done.to_vec() } else { Vec::new() };
    Treatment::Rewritten(Rewritten { before: None, sql: kept, passes_over })
}

fn is_one_action(alter: &AlterTable) -> bool {
    alter.actions.len() == 1
}

fn quoted_name(name: &ObjectName) -> String {
    match &name.database {
        Some(database) => format!("{}.{}", quoted_word(database), quoted_word(&name.name)),
        None => quoted_word(&name.name),
    }
}

fn quoted_word(word: &str) -> String {
    format!("`{}`", word.replace('`', "``"))
}

/// What stands before CREATE has nothing to drop.
pub(super) fn is_nothing_to_drop(e: &SqlError) -> bool {
    e.is(error::CANT_DROP_FIELD_OR_KEY)
}

impl Rewritten {
    /// The error says that there is nothing to do.
    pub(super) fn is_done(&self, e: &SqlError) -> bool {
        self.passes_over.iter().any(|code| e.is(*code))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(sql: &str) -> (Option<String>, String) {
        match treatment(sql.as_bytes(), 0, true) {
            Treatment::Rewritten(r) => (r.before, String::from_utf8_lossy(&r.sql).into_owned()),
            other => (None, format!("{other:?}")),
        }
    }

    #[test]
    fn create_or_replace_is_two_statements() {
        let check = |sql: &str, before: &str, after: &str| {
            assert_eq!(rewritten(sql), (Some(before.to_owned()), after.to_owned()));
        };
        check(
            "CREATE OR REPLACE TABLE a.`b``` (x INT)",
            "DROP TABLE IF EXISTS `a`.`b```",
            "CREATE TABLE a.`b``` (x INT)",
        );
        check(
            "create or replace DEFINER=`r`@`%` PROCEDURE p() SELECT 1",
            "DROP PROCEDURE IF EXISTS `p`",
            "create DEFINER=`r`@`%` PROCEDURE p() SELECT 1",
        );
        assert_eq!(rewritten("CREATE OR REPLACE VIEW v AS SELECT 1").1, "AsIs");
    }

    #[test]
    fn conditions_go_but_not_those_of_texts() {
        let sql =
            "ALTER TABLE t ADD COLUMN IF NOT EXISTS c INT COMMENT 'IF NOT EXISTS', DROP KEY IF EXISTS k";
        assert_eq!(rewritten(sql).1, "ALTER TABLE t ADD COLUMN  c INT COMMENT 'IF NOT EXISTS', DROP KEY  k");
        assert_eq!(rewritten("ALTER TABLE t ADD `IF EXISTS` INT").1, "AsIs");
        assert_eq!(rewritten("SET STATEMENT a='FOR', b=1 FOR DROP TABLE t").1, "DROP TABLE t");
        // As often as one likes, without a stack.
        let often = "SET STATEMENT a=1 FOR ".repeat(100_000) + "DROP TABLE t";
        assert_eq!(rewritten(&often).1, "DROP TABLE t");
    }

    #[test]
    fn what_a_text_does_is_known_by_its_first_word() {
        let check = |sql: &str, kind| assert_eq!(kind_of(sql.as_bytes()), kind, "{sql}");
        check("/* a */ -- b\n# c\nUPDATE t SET a = 1", TextKind::Change);
        check("SET STATEMENT a=1 FOR DELETE FROM t", TextKind::Change);
        check("CREATE TABLE t (a INT)", TextKind::Definition);
        check("CREATE TABLE t AS SELECT 1", TextKind::Program);
        check("CREATE TABLE t (event INT)", TextKind::Definition);
        check(
            "CREATE OR REPLACE ALGORITHM=MERGE DEFINER=`r`@`%` SQL SECURITY INVOKER VIEW `v` AS TABLE `t`",
            TextKind::Program,
        );
        check("ALTER DEFINER=`r`@`%` EVENT e DISABLE", TextKind::Program);
        check("TRUNCATE t", TextKind::Definition);
    }

    #[test]
    fn names_of_routines_and_views_are_known() {
        let check = |sql: &str, expected| assert_eq!(has_name_in_utf8(sql.as_bytes()), expected, "{sql}");
        check("CREATE DEFINER=`r`@`%` PROCEDURE `é`() SELECT 1", true);
        check("CREATE DEFINER=`r`@`%` PROCEDURE `d`.`é`() SELECT 1", true);
        check("CREATE DEFINER=`r`@`%` FUNCTION `e`(a INT) RETURNS INT RETURN 'é'", false);
        check("CREATE ALGORITHM=UNDEFINED VIEW `v` (`é`) AS SELECT 1", true);
        check("CREATE ALGORITHM=UNDEFINED VIEW `v` (`e`) AS SELECT 'é'", false);
        const HEAD: &str =
            "CREATE OR REPLACE ALGORITHM=UNDEFINED DEFINER=`r`@`localhost` SQL SECURITY DEFINER VIEW";
        check(&format!("{HEAD} `v`(`é`) AS SELECT 1"), true);
        check(&format!("{HEAD} `v`(`e`) AS SELECT 'é'"), false);
        check("CREATE TABLE `é` (a INT)", false);
        check("CREATE VIEW v AS SELECT 1", false);
    }

    #[test]
    fn generated_keys_are_found() {
        const KEY: &str = "`my_row_id` bigint unsigned NOT NULL AUTO_INCREMENT /*!80023 INVISIBLE */";
        let check = |sql: &str, expected| assert_eq!(has_generated_key(sql.as_bytes()), expected, "{sql}");
        check(&format!("CREATE TABLE `é` (\n  {KEY},\n  `a` int"), true);
        check("CREATE TABLE `é` (`my_row_id` INT)", false);
    }

    #[test]
    fn doubled_backslashes_are_found() {
        let check =
            |sql: &str, expected| assert_eq!(may_double_backslashes(sql.as_bytes()), expected, "{sql}");
        check("CREATE TABLE `t` (\n  `e` enum('a\\\\b','c') DEFAULT NULL\n) START TRANSACTION", true);
        check("CREATE OR REPLACE TABLE `t` (\n  `e` varchar(9) COMMENT 'p\\\\q'\n)", true);
        check("CREATE TABLE `t` (\n  `e` enum('a\\b','c') DEFAULT NULL\n) START TRANSACTION", false);
        check("CREATE TABLE t (e enum('a\\\\b'))", false);
    }

    #[test]
    fn generated_timestamps_are_found() {
        let check =
            |sql: &str, expected| assert_eq!(generates_timestamp(sql.as_bytes(), 0), expected, "{sql}");
        check("CREATE TABLE t (a TIMESTAMP, b TIMESTAMP(3) AS (a))", true);
        check("CREATE TABLE t (a TIMESTAMP, b DATETIME AS (a), c TIMESTAMP AS (a) NOT NULL)", false);
        check("ALTER TABLE t ADD (b INT, c TIMESTAMP AS (a))", true);
        check("ALTER TABLE t MODIFY c TIMESTAMP AS (a) STORED", true);
        check("ALTER TABLE t MODIFY c TIMESTAMP", false);
        check("INSERT INTO t VALUES (1)", false);
    }

    #[test]
    fn what_has_no_word_here_is_named() {
        let of = |sql: &str| treatment(sql.as_bytes(), 0, false);
        assert_eq!(of("FLUSH HOSTS"), Treatment::NoEffect);
        assert_eq!(of("flush /* x */ tables"), Treatment::NoEffect);
        assert_eq!(of("ALTER INSTANCE ROTATE INNODB MASTER KEY"), Treatment::NoEffect);
        assert_eq!(of("DROP SEQUENCE `s`"), Treatment::Refused("sequences"));
        assert_eq!(
            of("CREATE FUNCTION f RETURNS STRING SONAME 'x'"),
            Treatment::Refused("loadable functions")
        );
        assert_eq!(of("CREATE TABLE sequence (library INT, package INT)"), Treatment::AsIs);
        assert_eq!(of("INSERT INTO t VALUES ('FLUSH"), Treatment::AsIs);
        assert_eq!(of("CREATE TABLE t /*"), Treatment::AsIs);
    }
}
