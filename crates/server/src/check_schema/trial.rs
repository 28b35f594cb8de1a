//! The database in which statements are tried.

use super::elements::{self, Elements};
use super::report::{Finding, Report};
use crate::datadir::Datadir;
use crate::log_tool::ToolError;
use crate::options::{self, Command};
use crate::script::{SourcePlace, Statement};
use crate::stop::Stop;
use datum::error::NOT_SUPPORTED_YET;
use env::{Env, RealEnv};
use sql::{ColumnMeta, Connection, Datum, Instance, OkInfo, ResultSink, Session, SqlError};
use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use syntax::ast::StatementKind;
use syntax::{ParseOptions, Parser};

/// The database that statements are in which name none.
const DATABASE: &str = "schema";

/// So many pieces are taken out of one statement at most.
const CAUSES_MAX: usize = 100;

/// Warnings that say that a definition means something else here than in MySQL.
const DIFFERENCES: [u16; 2] = [datum::error::WARN_USING_OTHER_HANDLER.number, NOT_SUPPORTED_YET.number];

/// An empty database, and a session of its administrator.
pub(super) struct Trial {
    session: Session,
    /// Objects that could not be made, in lower case, with the place of their statement.
    missing: HashMap<String, SourcePlace>,
    /// Definitions of a server that will be followed: what has other rows here is refused.
    for_replica: bool,
    instance: Arc<Instance>,
    _datadir: Datadir,
    /// Removed when this is dropped.
    _folder: tempfile::TempDir,
}

impl Trial {
    /// Makes one in the folder for temporary files.
    pub(super) fn begin() -> Result<Trial, ToolError> {
        let refused = |e: &dyn std::fmt::Display| ToolError::Refused(format!("no database to try in: {e}"));
        let env: Arc<dyn Env> = Arc::new(RealEnv);
        let folder = tempfile::Builder::new().prefix("duramen-check-schema-").tempdir();
        let folder = folder.map_err(|e| ToolError::io("make a folder in", &std::env::temp_dir(), e))?;
        let path = folder.path().join("data");
        let args = ["--no-defaults".to_owned(), format!("--datadir={}", path.display())];
        let parsed = options::parse(&*env, &args).map_err(|e| refused(&e))?;
        let Command::Serve(options) = parsed else {
            return Err(refused(&"its options ask for something else"));
        };
        let datadir = Datadir::open(env.clone(), &path, &path.join("trial.pid")).map_err(|e| refused(&e))?;
        let instance = crate::database::open(&env, &options, &datadir, &Arc::default(), &Stop::default())
            .map_err(|e| refused(&e))?;
        let session = instance.connect(Connection::local(instance.reserve_id(), "root"));
        let session = session.map_err(|e| refused(&e))?;
        let mut trial = Trial {
            session,
            missing: HashMap::new(),
            for_replica: false,
            instance,
            _datadir: datadir,
            _folder: folder,
        };
        for sql in [format!("CREATE DATABASE `{DATABASE}`"), format!("USE `{DATABASE}`")] {
            trial.run(sql.as_bytes()).map_err(|e| refused(&e))?;
        }
        Ok(trial)
    }

    /// One for the definitions of a server that will be followed.
    pub(super) fn for_replica() -> Result<Trial, ToolError> {
        let mut trial = Self::begin()?;
        trial.for_replica = true;
        Ok(trial)
    }

    pub(super) fn is_for_replica(&self) -> bool {
        self.for_replica
    }

    /// Tries a statement, and reports what is found.
    pub(super) fn examine(&mut self, statement: &Statement, report: &mut Report) {
        if !is_tried(&statement.text) {
            report.not_tried += 1;
            return;
        }
        report.tried += 1;
        let mut text = statement.text.clone();
        let mut outcome = self.run(&text);
        for _ in 0..CAUSES_MAX {
            let Err(e) = &outcome else { break };
            let Some(cause) = self.cause(&text, e) else { break };
            let line = line_of(statement, cause.piece.start);
            report.push(Finding::refused(statement.at(line), &text[cause.piece], e));
            (text, outcome) = (cause.without, cause.outcome);
        }
        match outcome {
            Ok(warnings) => {
                for warning in warnings {
                    let finding = Finding::differs(statement.here(), &statement.text, &warning);
                    let is_refused = self.for_replica && warning.number == NOT_SUPPORTED_YET.number;
                    report.push(if is_refused { finding.refuse() } else { finding });
                }
            }
            Err(e) => {
                let needs = self.missing_in(&e);
                if let Some(name) = object(&statement.text) {
                    self.missing.entry(name.to_lowercase()).or_insert_with(|| statement.here());
                }
                report.push(match needs {
                    Some(first) => Finding::follows(statement.here(), &statement.text, &e, &first),
                    None => Finding::refused(statement.here(), &statement.text, &e),
                });
            }
        }
    }

    /// The piece of the statement without which it is taken, or fails in another way than by `e`.
    fn cause(&mut self, text: &[u8], e: &SqlError) -> Option<Cause> {
        let elements = Elements::of(text, actions(text))?;
        for piece in elements.optional() {
            let without = elements.without(&piece);
            let outcome = self.run(&without);
            let is_other =
                outcome.as_ref().map_or_else(|o| (o.number, &o.message) != (e.number, &e.message), |_| true);
            // What breaks the grammar, or takes away what others name, is no cause.
            let breaks = outcome.as_ref().err().is_some_and(|o| BROKEN.contains(&o.number));
            if is_other && !breaks {
                return Some(Cause { piece, without, outcome });
            }
        }
        None
    }

    /// Runs a text; the warnings that tell of a difference.
    fn run(&mut self, text: &[u8]) -> Result<Vec<Warning>, SqlError> {
        match self.session.execute(text, &mut Rows::default()) {
            Err(e) if e.number == NO_SUCH_USER && self.make_definer(&e.message) => {
                self.session.execute(text, &mut Rows::default())?;
            }
            outcome => outcome?,
        }
        let mut warnings = Rows::default();
        self.session.execute(b"SHOW WARNINGS", &mut warnings)?;
        Ok(warnings.0.into_iter().filter(|warning| DIFFERENCES.contains(&warning.number)).collect())
    }

    /// Makes the account that an error says a definer is: accounts are no part of a schema.
    fn make_definer(&mut self, message: &str) -> bool {
        let (from, to) = (message.find("('"), message.find("')"));
        let Some(account) = from.zip(to).and_then(|(from, to)| message.get(from + 1..=to)) else {
            return false;
        };
        let statements = [format!("CREATE USER {account}"), format!("GRANT ALL ON *.* TO {account}")];
        statements.iter().all(|sql| self.session.execute(sql.as_bytes(), &mut Rows::default()).is_ok())
    }

    /// The place of the statement that could not make what the error says is missing.
    fn missing_in(&self, e: &SqlError) -> Option<SourcePlace> {
        let message = e.message.to_lowercase();
        let names = message.split(['\'', '`']).map(|part| part.rsplit('.').next().unwrap_or(part));
        names.filter_map(|name| self.missing.get(name)).next().cloned()
    }
}

impl Drop for Trial {
    fn drop(&mut self) {
        // Its folder goes in any case.
        let _ = self.instance.close();
    }
}

/// Why a statement is refused.
struct Cause {
    /// The part of its text.
    piece: Range<usize>,
    /// The statement without it.
    without: Vec<u8>,
    /// What became of that.
    outcome: Result<Vec<Warning>, SqlError>,
}

/// `ER_NO_SUCH_USER`: the definer of a view that another one reads.
const NO_SUCH_USER: u16 = 1449;

/// 1064, and errors of names that the rest of a statement lacks once a piece is out.
const BROKEN: [u16; 5] = [1064, 1072, 1054, 1090, 1113];

/// A warning of a statement that was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Warning {
    pub(super) number: u16,
    pub(super) message: String,
}

/// Reads the rows of SHOW WARNINGS.
#[derive(Default)]
struct Rows(Vec<Warning>);

impl ResultSink for Rows {
    fn columns(&mut self, _: &[ColumnMeta]) -> io::Result<()> {
        Ok(())
    }

    fn row(&mut self, values: &[Datum<'_>]) -> io::Result<()> {
        if let [_, number, message] = values {
            let text = |datum: &Datum<'_>| String::from_utf8_lossy(&datum.to_bytes()).into_owned();
            self.0.push(Warning { number: text(number).parse().unwrap_or(0), message: text(message) });
        }
        Ok(())
    }

    fn finish(&mut self, _: &OkInfo<'_>) -> io::Result<()> {
        Ok(())
    }
}

/// True for statements that define something, or that later ones depend on.
fn is_tried(text: &[u8]) -> bool {
    const WORDS: [&str; 9] =
        ["CREATE", "ALTER", "DROP", "RENAME", "TRUNCATE", "USE", "SET", "GRANT", "REVOKE"];
    elements::words(text).next().is_some_and(|word| WORDS.iter().any(|w| word.eq_ignore_ascii_case(w)))
}

/// Where the actions of an ALTER TABLE begin.
fn actions(text: &[u8]) -> Option<usize> {
    let options = ParseOptions { from_client: true, ..ParseOptions::default() };
    match Parser::new(text, &options).next_statement().ok()??.kind {
        StatementKind::AlterTable(alter) => Some(alter.name_end as usize),
        _ => None,
    }
}

/// The name of what a CREATE statement makes, without its database.
fn object(text: &[u8]) -> Option<String> {
    const WHAT: [&str; 6] = ["TABLE", "VIEW", "TRIGGER", "PROCEDURE", "FUNCTION", "EVENT"];
    let mut words = elements::words(text).filter(|word| word != "`");
    if !words.next()?.eq_ignore_ascii_case("CREATE") {
        return None;
    }
    words.by_ref().find(|word| WHAT.iter().any(|what| word.eq_ignore_ascii_case(what)))?;
    let is_condition =
        |word: &String| ["IF", "NOT", "EXISTS"].iter().any(|part| word.eq_ignore_ascii_case(part));
    let mut rest = words.skip_while(is_condition);
    let mut name = rest.next()?;
    if rest.next()? == "." {
        name = rest.next()?;
    }
    Some(name)
}

/// The line of the statement's byte `at`.
fn line_of(statement: &Statement, at: usize) -> u64 {
    let piece = &statement.text[at..];
    let blank = piece.iter().take_while(|b| b.is_ascii_whitespace()).count();
    let breaks = statement.text[..at + blank].iter().filter(|b| **b == b'\n').count();
    statement.line + breaks as u64
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_definitions() {
        for (sql, name) in [
            ("CREATE TABLE IF NOT EXISTS `d`.`t` (a INT)", Some("t")),
            (
                "/*!50001 CREATE ALGORITHM=UNDEFINED */\n/*!50013 DEFINER=`u`@`%` */\n/*!50001 VIEW `v` AS SELECT 1*/",
                Some("v"),
            ),
            ("CREATE PROCEDURE p () BEGIN END", Some("p")),
            ("CREATE INDEX i ON t (a)", None),
            ("DROP TABLE t", None),
        ] {
            assert_eq!(object(sql.as_bytes()).as_deref(), name, "{sql}");
        }
    }

    #[test]
    fn rows_are_not_tried() {
        for (sql, tried) in [
            ("/*!40101 SET NAMES utf8 */", true),
            ("create table t (a int)", true),
            ("INSERT INTO t VALUES (1)", false),
            ("SHUTDOWN", false),
            ("LOCK TABLES t WRITE", false),
        ] {
            assert_eq!(is_tried(sql.as_bytes()), tried, "{sql}");
        }
    }
}
