//! What a statement's text brings besides what the statement does: warnings of syntax that MySQL
//! means to remove, and optimizer hints about the whole statement.

use super::SetItem;
use crate::error::{self, SqlError};

/// As many remarks as `max_error_count` can show, so that no text makes more memory of them than it
/// takes itself.
const REMARKS_MAX: usize = 65_535;

/// The remarks on a statement. All are equal to each other: two texts that do the same are.
#[derive(Debug, Clone, Default)]
pub struct Remarks {
    /// The warnings, in the order of the text.
    pub list: Vec<Remark>,
    /// The hints that count.
    pub hints: Vec<Hint>,
}

/// A warning that a text is worth.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remark {
    /// `&&`
    AndSign,
    /// `||` as OR
    OrSign,
    /// `!`
    NotSign,
    /// `BINARY expr`
    BinaryPrefix,
    /// `@name := value` in an expression
    Assignment,
    /// `FOUND_ROWS()`
    FoundRows,
    /// `SQL_CALC_FOUND_ROWS`
    CalcFoundRows,
    /// `SQL_NO_CACHE`
    NoCache,
    /// `YEAR(4)`
    YearWidth,
    /// `utf8` for utf8mb3
    Utf8,
    /// A collation of utf8mb3, in lower case.
    Utf8Collation(Box<str>),
    /// `NATIONAL CHAR`, `n'x'`
    National,
    /// A variable that will be removed.
    Variable(&'static str),
    /// `/*!80000SELECT */`
    TightComment,
    /// `SHOW PROCESSLIST`
    ProcessList,
    /// Something that will be removed, and what to say instead.
    Instead(&'static str, &'static str),
    /// Something that will be removed: the message.
    Removed(&'static str),
    /// INTO before a locking clause
    InnerInto,
    /// A hint that can't be read: the text from there on, and its line.
    HintSyntax(Box<str>, usize),
    /// A hint that another one says already.
    HintRepeated(Box<str>),
    /// A hint that is for top-level SELECT statements, elsewhere.
    HintMisplaced(&'static str),
}

/// An optimizer hint about how the whole statement is run.
#[derive(Debug, Clone, PartialEq)]
pub enum Hint {
    /// `MAX_EXECUTION_TIME(milliseconds)`
    MaxExecutionTime(u64),
    /// `SET_VAR(name = value)`: the assignment, and how it is written in messages.
    SetVariable(SetItem),
}

impl PartialEq for Remarks {
    fn eq(&self, _: &Remarks) -> bool {
        true
    }
}

impl Remarks {
    /// Adds a warning.
    pub fn add(&mut self, remark: Remark) {
        if self.list.len() < REMARKS_MAX {
            self.list.push(remark);
        }
    }
}

impl Remark {
    /// The warning that the client gets.
    pub fn warning(&self) -> SqlError {
        let instead = |what: &str, instead: &str| error::WARN_DEPRECATED_SYNTAX.with(&[&what, &instead]);
        let advice = |text: &str| error::WARN_DEPRECATED_WITH_ADVICE.with(&[&text]);
        let removed = |text: &str| error::WARN_DEPRECATED_SYNTAX_NO_REPLACEMENT.with(&[&text]);
        match self {
            Remark::AndSign => instead("&&", "AND"),
            Remark::OrSign => instead("|| as a synonym for OR", "OR"),
            Remark::NotSign => instead("!", "NOT"),
            Remark::BinaryPrefix => instead("BINARY expr", "CAST"),
            Remark::Assignment => advice(
                "Setting user variables within expressions is deprecated and will be removed in a future release. \
                 Consider alternatives: 'SET variable=expression, ...', or 'SELECT expression(s) INTO variables(s)'.",
            ),
            Remark::FoundRows => advice(
                "FOUND_ROWS() is deprecated and will be removed in a future release. Consider using COUNT(*) instead.",
            ),
            Remark::CalcFoundRows => advice(
                "SQL_CALC_FOUND_ROWS is deprecated and will be removed in a future release. Consider using two separate \
                 queries instead.",
            ),
            Remark::NoCache => {
                removed("'SQL_NO_CACHE' is deprecated and will be removed in a future release.")
            }
            Remark::Removed(text) => removed(text),
            Remark::Instead(what, other) => instead(what, other),
            Remark::Variable(name) => {
                advice(&format!("'@@{name}' is deprecated and will be removed in a future release."))
            }
            Remark::TightComment => error::WARN_NO_SPACE_VERSION_COMMENT.plain(),
            Remark::ProcessList => {
                instead("INFORMATION_SCHEMA.PROCESSLIST", "performance_schema.processlist")
            }
            Remark::National => error::DEPRECATED_NATIONAL.plain(),
            Remark::Utf8Collation(name) => error::DEPRECATED_UTF8MB3_COLLATION.with(&[name]),
            Remark::YearWidth => instead("YEAR(4)", "YEAR"),
            Remark::Utf8 => error::DEPRECATED_UTF8_ALIAS.plain(),
            Remark::InnerInto => error::WARN_DEPRECATED_INNER_INTO.plain(),
            Remark::HintSyntax(near, line) => error::WARN_OPTIMIZER_HINT_SYNTAX_ERROR.with(&[near, line]),
            Remark::HintRepeated(hint) => error::WARN_CONFLICTING_HINT.with(&[hint]),
            Remark::HintMisplaced(name) => error::WARN_UNSUPPORTED_MAX_EXECUTION_TIME.with(&[name]),
        }
    }
}
