//! The list behind `SHOW WARNINGS` and `SHOW ERRORS`.
//!
//! A statement that uses a table starts with an empty list; notes, warnings and the error it ends
//! with are added in order. The list is bounded by `max_error_count`; what does not fit is counted
//! all the same.
//!
//! A handler of a stored program starts with the list of the statement that it handles. What is
//! still in it from there when the handler ends has been handled, and goes
//! ([`Diagnostics::end_handler`]).

use super::SqlError;

/// How bad a condition is, with MySQL's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Nothing went wrong, but the user may want to know.
    Note,
    /// The statement went on with another value than was given.
    Warning,
    /// The statement failed.
    Error,
}

impl Level {
    /// The name in `SHOW WARNINGS`.
    pub fn name(self) -> &'static str {
        match self {
            Level::Note => "Note",
            Level::Warning => "Warning",
            Level::Error => "Error",
        }
    }
}

/// One line of `SHOW WARNINGS`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// How bad it is.
    pub level: Level,
    /// What it is.
    pub error: SqlError,
    /// What SIGNAL and RESIGNAL said of it; `None` for all other conditions.
    pub items: Option<Box<ConditionItems>>,
}

/// Items of a condition that has a text and no effect: `CLASS_ORIGIN` and its like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum ConditionItem {
    ClassOrigin,
    SubclassOrigin,
    ConstraintCatalog,
    ConstraintSchema,
    ConstraintName,
    CatalogName,
    SchemaName,
    TableName,
    ColumnName,
    CursorName,
}

/// The texts of all [`ConditionItem`]s of one condition, empty where nothing was said.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ConditionItems([String; 10]);

impl ConditionItems {
    /// The text of an item.
    pub fn get(&self, item: ConditionItem) -> &str {
        &self.0[item as usize]
    }

    /// Gives an item its text.
    pub fn set(&mut self, item: ConditionItem, text: String) {
        self.0[item as usize] = text;
    }
}

impl Condition {
    /// One that no statement has described further.
    pub fn new(level: Level, error: SqlError) -> Self {
        Self { level, error, items: None }
    }
}

/// The conditions of the last statement.
#[derive(Debug, Clone)]
pub struct Diagnostics {
    conditions: Vec<Condition>,
    /// How many of the conditions are those that a handler handles; they come first.
    handled: usize,
    warnings: u64,
    errors: u64,
    /// The counts of warnings and of errors that the statement before had.
    before: (u64, u64),
    kept_max: usize,
    with_notes: bool,
}

impl Default for Diagnostics {
    fn default() -> Self {
        Self {
            conditions: Vec::new(),
            handled: 0,
            warnings: 0,
            errors: 0,
            before: (0, 0),
            kept_max: 1024,
            with_notes: true,
        }
    }
}

impl Diagnostics {
    /// Takes `max_error_count` and `sql_notes` into effect.
    pub fn configure(&mut self, kept_max: usize, with_notes: bool) {
        self.kept_max = kept_max;
        self.with_notes = with_notes;
    }

    /// A statement begins, which may ask how many conditions the one before had.
    pub fn begin_statement(&mut self) {
        self.before = (self.warnings, self.errors);
        self.clear();
    }

    /// How many conditions the statement before had, and how many of these were errors.
    pub fn counts_before(&self) -> (u64, u64) {
        self.before
    }

    /// Forgets the conditions.
    pub fn clear(&mut self) {
        self.conditions.clear();
        self.handled = 0;
        self.warnings = 0;
        self.errors = 0;
    }

    /// Adds a condition.
    pub fn push(&mut self, level: Level, error: SqlError) {
        self.push_condition(Condition::new(level, error));
    }

    /// Adds a condition as SIGNAL has described it.
    pub fn push_condition(&mut self, condition: Condition) {
        self.warnings += 1;
        self.errors += u64::from(condition.level == Level::Error);
        if self.conditions.len() < self.kept_max {
            self.conditions.push(condition);
        }
    }

    /// Takes the list, and begins an empty one under the same settings: that of a stored program.
    pub fn begin_program(&mut self) -> Diagnostics {
        let empty =
            Diagnostics { kept_max: self.kept_max, with_notes: self.with_notes, ..Diagnostics::default() };
        std::mem::replace(self, empty)
    }

    /// The program has ended: its caller's list goes on, with what the program's last statement
    /// gave at its end.
    pub fn end_program(&mut self, caller: Diagnostics) {
        let own = std::mem::replace(self, caller);
        let unlisted = own.warnings.saturating_sub(own.conditions.len() as u64);
        own.conditions.into_iter().for_each(|condition| self.push_condition(condition));
        self.warnings += unlisted;
    }

    /// A handler begins: it sees the conditions that it handles until its first statement forgets
    /// them. Returns them for RESIGNAL and GET STACKED DIAGNOSTICS.
    pub fn begin_handler(&mut self) -> Diagnostics {
        self.handled = self.conditions.len();
        self.clone()
    }

    /// A handler has ended: what it has handled is no condition any more.
    pub fn end_handler(&mut self) {
        let handled = self.conditions.drain(..std::mem::take(&mut self.handled));
        let (mut warnings, mut errors) = (0, 0);
        for condition in handled {
            warnings += 1;
            errors += u64::from(condition.level == Level::Error);
        }
        self.warnings = self.warnings.saturating_sub(warnings);
        self.errors = self.errors.saturating_sub(errors);
    }

    /// Has a list that RESIGNAL gives back outlive the handler.
    pub fn forget_handled(&mut self) {
        self.handled = 0;
    }

    /// The last condition that is this one, to be changed by RESIGNAL.
    pub fn find_mut(&mut self, wanted: &Condition) -> Option<&mut Condition> {
        self.conditions.iter_mut().rev().find(|condition| *condition == wanted)
    }

    /// Adds the error that ends a statement, unless it was reported when it came up.
    pub fn fail(&mut self, error: &SqlError) {
        let is_told = |c: &Condition| {
            c.level == Level::Error && c.error.number == error.number && c.error.message == error.message
        };
        if !self.conditions.iter().any(is_told) {
            self.push(Level::Error, error.clone());
        }
    }

    /// Adds a warning.
    pub fn warn(&mut self, error: SqlError) {
        self.push(Level::Warning, error);
    }

    /// Adds a note.
    pub fn note(&mut self, error: SqlError) {
        if self.with_notes {
            self.push(Level::Note, error);
        }
    }

    /// The conditions kept, in the order they came.
    pub fn conditions(&self) -> &[Condition] {
        &self.conditions
    }

    /// All conditions counted (`@@warning_count`).
    pub fn warning_count(&self) -> u64 {
        self.warnings
    }

    /// The errors among them (`@@error_count`).
    pub fn error_count(&self) -> u64 {
        self.errors
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error;

    #[test]
    fn a_handler_takes_away_what_it_was_given() {
        let mut list = Diagnostics::default();
        list.warn(error::DIVISION_BY_ZERO.plain());
        list.fail(&error::NO_DB_SELECTED.plain());
        let stacked = list.begin_handler();
        list.warn(error::SP_FETCH_NO_DATA.plain());
        list.end_handler();
        assert_eq!((stacked.conditions().len(), list.conditions().len()), (2, 1));
        assert_eq!((list.warning_count(), list.error_count()), (1, 0));
        list.begin_handler();
        list.clear();
        list.warn(error::DIVISION_BY_ZERO.plain());
        list.end_handler();
        assert_eq!(list.conditions().len(), 1, "a statement of the handler began an own list");
    }

    #[test]
    fn a_programs_last_conditions_follow_its_callers() {
        let mut list = Diagnostics::default();
        list.warn(error::DIVISION_BY_ZERO.plain());
        let caller = list.begin_program();
        assert_eq!(list.warning_count(), 0);
        list.warn(error::SP_FETCH_NO_DATA.plain());
        list.end_program(caller);
        let numbers: Vec<_> = list.conditions().iter().map(|c| c.error.number).collect();
        assert_eq!(numbers, [1365, 1329]);
    }
}
