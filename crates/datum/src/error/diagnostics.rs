//! The list behind `SHOW WARNINGS` and `SHOW ERRORS`.
//!
//! A statement that uses a table starts with an empty list; notes, warnings and the error it ends
//! with are added in order. The list is bounded by `max_error_count`; what does not fit is counted
//! all the same.

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
}

/// The conditions of the last statement.
#[derive(Debug)]
pub struct Diagnostics {
    conditions: Vec<Condition>,
    warnings: u64,
    errors: u64,
    kept_max: usize,
    with_notes: bool,
}

impl Default for Diagnostics {
    fn default() -> Self {
        Self { conditions: Vec::new(), warnings: 0, errors: 0, kept_max: 1024, with_notes: true }
    }
}

impl Diagnostics {
    /// Takes `max_error_count` and `sql_notes` into effect.
    pub fn configure(&mut self, kept_max: usize, with_notes: bool) {
        self.kept_max = kept_max;
        self.with_notes = with_notes;
    }

    /// Forgets everything, at the start of a statement.
    pub fn clear(&mut self) {
        self.conditions.clear();
        self.warnings = 0;
        self.errors = 0;
    }

    /// Adds a condition.
    pub fn push(&mut self, level: Level, error: SqlError) {
        self.warnings += 1;
        self.errors += u64::from(level == Level::Error);
        if self.conditions.len() < self.kept_max {
            self.conditions.push(Condition { level, error });
        }
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
