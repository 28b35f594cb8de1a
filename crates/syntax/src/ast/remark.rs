//! What a statement's text brings besides what the statement does: warnings of syntax that MySQL
//! means to remove, and optimizer hints about the whole statement.

use super::SetItem;

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
    /// The function is called, which MySQL deprecates.
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
    /// A variable that will be removed, and its name of today.
    RenamedVariable(&'static str, &'static str),
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
    /// A hint of that name is about a query block that there is not.
    HintBlockUnknown(Box<str>, &'static str),
    /// A hint of that name is about a table that its block does not have.
    HintNameUnknown(Box<str>, &'static str),
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
    pub(crate) fn add(&mut self, remark: Remark) {
        if self.list.len() < REMARKS_MAX {
            self.list.push(remark);
        }
    }
}
