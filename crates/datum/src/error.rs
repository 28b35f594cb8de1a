//! What a statement can fail with, as a client sees it.
//!
//! Every error that leaves this crate is a [`SqlError`]: a MySQL error number, its SQLSTATE and a
//! message. It is always built from one entry of the [catalogue](catalogue), so a number never
//! travels with a foreign SQLSTATE. Errors of the layers below (parser, storage, log) are folded in
//! by `From`, here and nowhere else.
//!
//! [`Diagnostics`] is the session's list of conditions behind `SHOW WARNINGS`.

mod catalogue;
mod diagnostics;
mod from;
pub mod remark;

pub use catalogue::*;
pub use diagnostics::{Condition, ConditionItem, ConditionItems, Diagnostics, Level};

use std::fmt;

/// The result of anything that can fail towards a client.
pub type Result<T, E = SqlError> = std::result::Result<T, E>;

/// One entry of the catalogue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Code {
    /// MySQL's error number.
    pub number: u16,
    /// The five characters of the SQLSTATE.
    pub sqlstate: [u8; 5],
    /// MySQL's symbol for it.
    pub symbol: &'static str,
    /// The message; each `%` is filled with an argument.
    pub(crate) shape: &'static str,
}

impl Code {
    /// The error with its message's gaps filled in order; gaps without an argument stay empty.
    pub fn with(&self, arguments: &[&dyn fmt::Display]) -> SqlError {
        use fmt::Write;
        let mut message = String::with_capacity(self.shape.len() + 16 * arguments.len());
        let mut arguments = arguments.iter();
        for (i, part) in self.shape.split('%').enumerate() {
            if i > 0
                && let Some(argument) = arguments.next()
            {
                write!(message, "{argument}").expect("writing to a String cannot fail");
            }
            message.push_str(part);
        }
        SqlError { number: self.number, sqlstate: self.sqlstate, naming: Naming::Complete, message }
    }

    /// The error of a message without gaps.
    pub fn plain(&self) -> SqlError {
        self.with(&[])
    }
}

/// The types of numbers whose range a result can leave, as error 1690 names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NumberType {
    /// Sixty-four bits with a sign.
    BigInt,
    /// Sixty-four bits without one.
    BigIntUnsigned,
    /// As many digits as a DECIMAL has at the most.
    Decimal,
    /// Finite doubles.
    Double,
}

impl fmt::Display for NumberType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NumberType::BigInt => "BIGINT",
            NumberType::BigIntUnsigned => "BIGINT UNSIGNED",
            NumberType::Decimal => "DECIMAL",
            NumberType::Double => "DOUBLE",
        })
    }
}

/// Whether an error's message names the expression that failed: for [`DATA_OUT_OF_RANGE`], which
/// operators and functions raise without knowing how their operands are written.
///
/// 1. [`out_of_range`] raises it as `Unnamed`.
/// 2. Whoever evaluates the operator keeps the expression, and the error becomes `Noted`.
/// 3. Whoever knows the columns' names puts the expression into the message, which makes it
///    `Complete`.
///
/// Only step 1 makes an error `Unnamed`, so one that comes out of an operand, a subquery or a
/// stored function is never taken for the operator's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Naming {
    /// The message is final.
    #[default]
    Complete,
    /// The message has the operands' values in place of the expression: a result left the range of
    /// this type.
    Unnamed(NumberType),
    /// The message as before; the session knows type and expression.
    Noted,
}

/// Error 1690 of an operator or function: its result leaves the range of `ty`. `operand` stands for
/// the expression until that is named.
pub fn out_of_range(ty: NumberType, operand: impl fmt::Display) -> SqlError {
    SqlError { naming: Naming::Unnamed(ty), ..DATA_OUT_OF_RANGE.with(&[&ty, &operand]) }
}

/// An error as MySQL's protocol carries it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqlError {
    /// MySQL's error number.
    pub number: u16,
    /// The five characters of the SQLSTATE.
    pub sqlstate: [u8; 5],
    /// Whether the message says which expression failed.
    pub naming: Naming,
    /// What went wrong, for people.
    pub message: String,
}

impl SqlError {
    /// Error 1235: MySQL has this, Duramen does not yet.
    pub fn unsupported(what: impl fmt::Display) -> Self {
        NOT_SUPPORTED_YET.with(&[&what])
    }

    /// An error of our own logic or of the machine below, which has no number of its own in MySQL.
    pub fn internal(what: impl fmt::Display) -> Self {
        INTERNAL_ERROR.with(&[&what])
    }

    /// True if this is the error that `code` makes.
    pub fn is(&self, code: Code) -> bool {
        self.number == code.number
    }

    /// The error with the message that it has as its final one.
    pub fn complete(self) -> Self {
        SqlError { naming: Naming::Complete, ..self }
    }

    /// True for errors after which the whole transaction is gone, not only the statement.
    pub fn ends_transaction(&self) -> bool {
        self.is(LOCK_DEADLOCK)
    }

    /// The SQLSTATE as text.
    pub(crate) fn state(&self) -> &str {
        std::str::from_utf8(&self.sqlstate).unwrap_or("HY000")
    }
}

impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ERROR {} ({}): {}", self.number, self.state(), self.message)
    }
}

impl std::error::Error for SqlError {}

// Results are passed up through every expression: what an error knows beside its message fits into
// the bytes that were padding.
const _: () = assert!(size_of::<SqlError>() == size_of::<String>() + 8);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_is_filled_in_order() {
        let e = NO_SUCH_TABLE.with(&[&"d", &"t"]);
        assert_eq!(e.to_string(), "ERROR 1146 (42S02): Table 'd.t' doesn't exist");
        assert_eq!(NO_DB_SELECTED.plain().message, "No database selected");
        assert_eq!(DUP_ENTRY.with(&[&"50%"]).message, "Duplicate entry '50%' for key ''");
    }

    #[test]
    fn symbols_are_unique_and_states_well_formed() {
        let mut symbols = std::collections::BTreeSet::new();
        for code in ALL {
            assert!(symbols.insert(code.symbol), "{} twice", code.symbol);
            assert!(code.sqlstate.iter().all(|b| b.is_ascii_digit() || b.is_ascii_uppercase()));
        }
        assert!(ALL.is_sorted_by_key(|c| c.number), "sorted by number");
    }
}
