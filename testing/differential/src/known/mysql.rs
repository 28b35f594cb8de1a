//! Rules for a newer MySQL.

use super::Case;
use super::case::without_trailing_zeros;
use crate::answer::Answer;

/// MySQL 9 gives NULL, or error 6527 where data is changed; before, ADDTIME() and SUBTIME() gave the largest time.
pub(super) fn out_of_range(case: &Case<'_>) -> bool {
    case.reference.error() == Some(6527) || case.names(&["ADDTIME(", "SUBTIME(", "TIMEDIFF("])
}

/// MySQL can't read a temporary table twice in one statement.
pub(super) fn temporary_twice(case: &Case<'_>) -> bool {
    case.reference.error() == Some(1137)
}

/// Both refuse a statement, one because something can't be converted.
pub(super) fn conversion_errors(case: &Case<'_>) -> bool {
    let is_conversion = |answer: &Answer| {
        matches!(answer.error(), Some(1048 | 1264 | 1265 | 1292 | 1366 | 1406 | 1411 | 1441 | 1525))
    };
    let both = case.duramen.error().is_some() && case.reference.error().is_some();
    both && (is_conversion(case.duramen) || is_conversion(case.reference))
}

/// MySQL shows what CASE, IF and NULLIF give with the digits of the branch that was taken, unless a temporary table is made.
pub(super) fn digits_of_choice(case: &Case<'_>) -> bool {
    case.names(&["IF(", "CASE "]) && case.is_same_with(without_trailing_zeros)
}
