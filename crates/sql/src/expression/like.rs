//! The operator LIKE; [`crate::like`] matches.

use super::Expr;
use crate::like;
use datum::error::Result;
use datum::types::Collation;

/// Operands and clauses of the operator.
#[derive(Debug, Clone)]
pub(crate) struct Like {
    /// The text.
    pub operand: Expr,
    pub(crate) pattern: Expr,
    /// The escape character; `None` if there is none.
    pub(crate) escape: Option<u8>,
    /// How characters compare.
    pub collation: Collation,
    /// NOT LIKE.
    pub negated: bool,
}

impl Like {
    /// True if the text matches; error 1317 if the statement was killed, 3170 if it may not have
    /// the memory.
    pub(crate) fn matches(&self, text: &[u8], pattern: &[u8]) -> Result<bool> {
        like::matches(text, pattern, self.escape, self.collation)
    }
}
