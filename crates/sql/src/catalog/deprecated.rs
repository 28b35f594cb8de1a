//! What column definitions say that MySQL has announced to remove: warnings, and nothing else. The texts are the server's;
//! the manual tells of each in "Numeric Type Syntax" and "Character Sets".

use crate::ast::{Charset, DataType, IntegerSize, Sign};
use crate::error::{self, SqlError};

const ZEROFILL: &str = "The ZEROFILL attribute is deprecated and will be removed in a future release. Use the LPAD \
    function to zero-pad numbers, or store the formatted numbers in a CHAR column.";
const DISPLAY_WIDTH: &str = "Integer display width is deprecated and will be removed in a future release.";
const DIGITS: &str = "Specifying number of digits for floating point data types is deprecated and will be removed in a \
    future release.";
const UNSIGNED: &str = "UNSIGNED for decimal and floating point data types is deprecated and support for it will be \
    removed in a future release.";

/// The warnings that a column's type is worth, in MySQL's order.
pub fn warnings_of(ty: &DataType) -> Vec<SqlError> {
    use DataType as D;
    let mut out = Vec::new();
    let mut warn = |is: bool, text: &str| {
        if is {
            out.push(error::WARN_DEPRECATED_SYNTAX_NO_REPLACEMENT.with(&[&text]));
        }
    };
    match ty {
        D::Integer { size, width, sign } => {
            warn(sign.zerofill, ZEROFILL);
            // BOOL is a TINYINT(1), too, and goes on.
            let is_bool = *size == IntegerSize::Tiny && *width == Some(1) && *sign == Sign::default();
            warn(width.is_some() && !is_bool, DISPLAY_WIDTH);
        }
        D::Decimal { sign, .. } => {
            warn(sign.zerofill, ZEROFILL);
            warn(sign.unsigned && !sign.zerofill, UNSIGNED);
        }
        D::Float { scale, sign, .. } | D::Double { scale, sign, .. } => {
            warn(sign.zerofill, ZEROFILL);
            warn(scale.is_some(), DIGITS);
            warn(sign.unsigned && !sign.zerofill, UNSIGNED);
        }
        D::Char { charset, .. }
        | D::Varchar { charset, .. }
        | D::Text { charset, .. }
        | D::Enum { charset, .. }
        | D::Set { charset, .. } => of_charset(charset, &mut out),
        _ => {}
    }
    out
}

fn of_charset(charset: &Charset, out: &mut Vec<SqlError>) {
    out.extend(charset.charset.as_ref().and_then(|name| of_charset_name(name)));
    if charset.binary {
        let instead = "a CHARACTER SET clause with _bin collation";
        out.push(error::WARN_DEPRECATED_SYNTAX.with(&[&"BINARY as attribute of a type", &instead]));
    }
    out.extend(charset.collation.as_ref().and_then(|name| of_collation_name(name)));
}

/// The warning for the short name of utf8mb3.
pub fn of_charset_name(name: &str) -> Option<SqlError> {
    name.eq_ignore_ascii_case("utf8").then(|| error::DEPRECATED_UTF8_ALIAS.plain())
}

/// The warning for a collation of utf8mb3.
pub fn of_collation_name(name: &str) -> Option<SqlError> {
    let lower = name.to_ascii_lowercase();
    let is_short = lower.starts_with("utf8mb3_") || lower.starts_with("utf8_");
    is_short.then(|| error::DEPRECATED_UTF8MB3_COLLATION.with(&[&lower]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn booleans_are_no_display_widths() {
        let integer = |size, width, sign| warnings_of(&DataType::Integer { size, width, sign }).len();
        assert_eq!(integer(IntegerSize::Tiny, Some(1), Sign::default()), 0);
        assert_eq!(integer(IntegerSize::Int, Some(1), Sign::default()), 1);
        assert_eq!(integer(IntegerSize::Int, Some(5), Sign { unsigned: true, zerofill: true }), 2);
        assert_eq!(integer(IntegerSize::Big, None, Sign::default()), 0);
    }
}
