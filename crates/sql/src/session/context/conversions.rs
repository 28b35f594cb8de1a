//! Values as numbers, and the warnings on the way; strict mode makes errors of some.

use super::Context;
use datum::error::{self, Level, Result, SqlError};
use datum::value::{Datum, Decimal};

impl Context {
    /// Adds a warning. Where a strict session stores, some are errors, and fail the statement at
    /// its end: [`super::statement::StatementState::take_strict_error`].
    pub(crate) fn warn(&mut self, e: SqlError) {
        if self.statement.storing && self.settings.decoded().modes.strict && is_strict(e.number) {
            if self.statement.strict_error.is_none() {
                self.statement.strict_error = Some(e.clone());
            }
            return self.statement.diagnostics.push(Level::Error, e);
        }
        self.statement.diagnostics.warn(e);
    }

    /// Runs something whose warnings nobody is to see.
    pub(crate) fn without_diagnostics<T>(&mut self, run: impl FnOnce(&mut Self) -> T) -> T {
        let kept = (std::mem::take(&mut self.statement.diagnostics), self.statement.strict_error.take());
        let misread = std::mem::take(&mut self.statement.misread);
        let outcome = run(self);
        (self.statement.diagnostics, self.statement.strict_error) = kept;
        self.statement.misread = misread;
        outcome
    }

    /// Text that is no number: warning 1292, or the error where a strict session stores.
    pub(crate) fn truncated(&mut self, kind: &str, value: &Datum<'_>) -> Result<()> {
        let bytes = value.to_bytes();
        let shown: String = String::from_utf8_lossy(&bytes).chars().take(128).collect();
        let e = match value {
            Datum::Json(_) => error::INVALID_JSON_VALUE_FOR_CAST.with(&[&kind, &"", &1]),
            _ => error::TRUNCATED_WRONG_VALUE.with(&[&kind, &shown]),
        };
        if self.statement.storing && self.settings.decoded().modes.strict {
            return Err(e);
        }
        self.warn(e);
        Ok(())
    }

    /// A value as a double.
    pub(crate) fn double(&mut self, value: &Datum<'_>) -> Result<f64> {
        let converted = value.to_f64();
        // Nothing but spaces is zero without a warning.
        if !converted.whole && !matches!(value, Datum::Bytes(text) if text.trim_ascii().is_empty()) {
            self.truncated("DOUBLE", value)?;
        }
        Ok(converted.value)
    }

    /// A value as an exact decimal.
    pub(crate) fn decimal(&mut self, value: &Datum<'_>) -> Result<Decimal> {
        let converted = value.to_decimal();
        if !converted.whole {
            self.truncated("DECIMAL", value)?;
        }
        Ok(converted.value)
    }

    /// A value as an integer.
    pub(crate) fn integer(&mut self, value: &Datum<'_>) -> Result<i128> {
        let converted = value.to_integer();
        if !converted.whole {
            self.truncated("INTEGER", value)?;
        }
        Ok(converted.value)
    }

    /// Division by zero: NULL, with a warning, or the error where a strict session stores.
    pub(crate) fn division_by_zero<'a>(&mut self) -> Result<Datum<'a>> {
        if self.settings.decoded().modes.error_for_division_by_zero {
            if self.statement.storing && self.settings.decoded().modes.strict {
                return Err(error::DIVISION_BY_ZERO.plain());
            }
            self.warn(error::DIVISION_BY_ZERO.plain());
        }
        Ok(Datum::Null)
    }
}

/// The warnings that strict mode makes errors of where data is changed.
fn is_strict(number: u16) -> bool {
    [
        error::WARN_DATA_OUT_OF_RANGE,
        error::TRUNCATED_WRONG_VALUE,
        error::DATETIME_FUNCTION_OVERFLOW,
        error::WRONG_VALUE_FOR_TYPE,
        error::INVALID_ARGUMENT_FOR_LOGARITHM,
    ]
    .iter()
    .any(|e| e.number == number)
}
