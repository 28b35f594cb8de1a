//! The warnings that a statement's text is worth ([`Remark`]).

use syntax::ast::Remark;

use super::{self as error, SqlError};

/// The warning that the client gets.
pub fn warning(remark: &Remark) -> SqlError {
    let instead = |what: &str, instead: &str| error::WARN_DEPRECATED_SYNTAX.with(&[&what, &instead]);
    let advice = |text: &str| error::WARN_DEPRECATED_WITH_ADVICE.with(&[&text]);
    let removed = |text: &str| error::WARN_DEPRECATED_SYNTAX_NO_REPLACEMENT.with(&[&text]);
    match remark {
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
        Remark::NoCache => removed("'SQL_NO_CACHE' is deprecated and will be removed in a future release."),
        Remark::Removed(text) => removed(text),
        Remark::Instead(what, other) => instead(what, other),
        Remark::Variable(name) => {
            advice(&format!("'@@{name}' is deprecated and will be removed in a future release."))
        }
        Remark::RenamedVariable(name, today) => advice(&format!(
            "'@@{name}' is deprecated and will be removed in a future release. Please use {today} instead."
        )),
        Remark::TightComment => error::WARN_NO_SPACE_VERSION_COMMENT.plain(),
        Remark::ProcessList => instead("INFORMATION_SCHEMA.PROCESSLIST", "performance_schema.processlist"),
        Remark::National => error::DEPRECATED_NATIONAL.plain(),
        Remark::Utf8Collation(name) => error::DEPRECATED_UTF8MB3_COLLATION.with(&[name]),
        Remark::YearWidth => instead("YEAR(4)", "YEAR"),
        Remark::Utf8 => error::DEPRECATED_UTF8_ALIAS.plain(),
        Remark::InnerInto => error::WARN_DEPRECATED_INNER_INTO.plain(),
        Remark::HintSyntax(near, line) => error::WARN_OPTIMIZER_HINT_SYNTAX_ERROR.with(&[near, line]),
        Remark::HintRepeated(hint) => error::WARN_CONFLICTING_HINT.with(&[hint]),
        Remark::HintBlockUnknown(block, hint) => error::WARN_UNKNOWN_QB_NAME.with(&[block, hint]),
        Remark::HintNameUnknown(name, hint) => error::UNRESOLVED_HINT_NAME.with(&[name, hint]),
        Remark::HintMisplaced(name) => error::WARN_UNSUPPORTED_MAX_EXECUTION_TIME.with(&[name]),
    }
}
