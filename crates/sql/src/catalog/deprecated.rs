//! What column definitions say without effect. What MySQL has announced to remove, the parser
//! remarks.

use datum::error::{self, SqlError};
use syntax::ast::{ColumnDefault, ColumnDefinition, DataType, Expr, ExprKind, Literal};

/// The warning that the empty default of a TEXT or BLOB is none.
pub(crate) fn of_column(column: &ColumnDefinition) -> Option<SqlError> {
    if let Some(ColumnDefault::Literal(literal)) = &column.attributes.default
        && matches!(column.ty, DataType::Text { .. } | DataType::Blob { .. })
        && is_empty_text(literal)
    {
        return Some(error::BLOB_CANT_HAVE_DEFAULT.with(&[&column.name]));
    }
    None
}

/// `''`, and `X''`.
pub(crate) fn is_empty_text(literal: &Expr) -> bool {
    match &literal.kind {
        ExprKind::Literal(
            Literal::String { bytes, .. } | Literal::Hex { bytes, .. } | Literal::Bit { bytes, .. },
        ) => bytes.is_empty(),
        _ => false,
    }
}
