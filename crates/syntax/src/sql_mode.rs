//! The bits of `sql_mode`; their numbers are in the binary log, so they are MySQL's.
#![allow(missing_docs, reason = "each name is the mode's own")]

pub const REAL_AS_FLOAT: u64 = 1 << 0;
pub const PIPES_AS_CONCAT: u64 = 1 << 1;
pub const ANSI_QUOTES: u64 = 1 << 2;
pub const IGNORE_SPACE: u64 = 1 << 3;
pub const ONLY_FULL_GROUP_BY: u64 = 1 << 5;
pub const NO_UNSIGNED_SUBTRACTION: u64 = 1 << 6;
pub const NO_DIR_IN_CREATE: u64 = 1 << 7;
pub const ANSI: u64 = 1 << 18;
pub const NO_AUTO_VALUE_ON_ZERO: u64 = 1 << 19;
pub const NO_BACKSLASH_ESCAPES: u64 = 1 << 20;
pub const STRICT_TRANS_TABLES: u64 = 1 << 21;
pub const STRICT_ALL_TABLES: u64 = 1 << 22;
pub const NO_ZERO_IN_DATE: u64 = 1 << 23;
pub const NO_ZERO_DATE: u64 = 1 << 24;
pub const ALLOW_INVALID_DATES: u64 = 1 << 25;
pub const ERROR_FOR_DIVISION_BY_ZERO: u64 = 1 << 26;
pub const TRADITIONAL: u64 = 1 << 27;
pub const HIGH_NOT_PRECEDENCE: u64 = 1 << 29;
pub const NO_ENGINE_SUBSTITUTION: u64 = 1 << 30;
pub const PAD_CHAR_TO_FULL_LENGTH: u64 = 1 << 31;
pub const TIME_TRUNCATE_FRACTIONAL: u64 = 1 << 32;

/// The default of MySQL 8.4.
pub const DEFAULT: u64 = ONLY_FULL_GROUP_BY
    | STRICT_TRANS_TABLES
    | NO_ZERO_IN_DATE
    | NO_ZERO_DATE
    | ERROR_FOR_DIVISION_BY_ZERO
    | NO_ENGINE_SUBSTITUTION;

/// What changes how a text is read: which characters quote, escape and join, what binds closer,
/// what a type's name means.
pub const SYNTAX: u64 = REAL_AS_FLOAT
    | PIPES_AS_CONCAT
    | ANSI_QUOTES
    | IGNORE_SPACE
    | ANSI
    | NO_BACKSLASH_ESCAPES
    | HIGH_NOT_PRECEDENCE;

/// The words by bit; bits that no mode has any more are `NOT_USED_n`.
pub const NAMES: [&str; 33] = [
    "REAL_AS_FLOAT",
    "PIPES_AS_CONCAT",
    "ANSI_QUOTES",
    "IGNORE_SPACE",
    "NOT_USED",
    "ONLY_FULL_GROUP_BY",
    "NO_UNSIGNED_SUBTRACTION",
    "NO_DIR_IN_CREATE",
    "NOT_USED_9",
    "NOT_USED_10",
    "NOT_USED_11",
    "NOT_USED_12",
    "NOT_USED_13",
    "NOT_USED_14",
    "NOT_USED_15",
    "NOT_USED_16",
    "NOT_USED_17",
    "NOT_USED_18",
    "ANSI",
    "NO_AUTO_VALUE_ON_ZERO",
    "NO_BACKSLASH_ESCAPES",
    "STRICT_TRANS_TABLES",
    "STRICT_ALL_TABLES",
    "NO_ZERO_IN_DATE",
    "NO_ZERO_DATE",
    "ALLOW_INVALID_DATES",
    "ERROR_FOR_DIVISION_BY_ZERO",
    "TRADITIONAL",
    "NOT_USED_29",
    "HIGH_NOT_PRECEDENCE",
    "NO_ENGINE_SUBSTITUTION",
    "PAD_CHAR_TO_FULL_LENGTH",
    "TIME_TRUNCATE_FRACTIONAL",
];

/// The bits that a combined mode's word stands for, its own with them; `None` for words of a single
/// mode.
pub fn expand(word: &str) -> Option<u64> {
    if word.eq_ignore_ascii_case("ANSI") {
        Some(ANSI | REAL_AS_FLOAT | PIPES_AS_CONCAT | ANSI_QUOTES | IGNORE_SPACE | ONLY_FULL_GROUP_BY)
    } else if word.eq_ignore_ascii_case("TRADITIONAL") {
        Some(
            TRADITIONAL
                | STRICT_TRANS_TABLES
                | STRICT_ALL_TABLES
                | NO_ZERO_IN_DATE
                | NO_ZERO_DATE
                | ERROR_FOR_DIVISION_BY_ZERO
                | NO_ENGINE_SUBSTITUTION,
        )
    } else if word.eq_ignore_ascii_case("NO_AUTO_CREATE_USER") {
        // GRANT never makes accounts; dumps of servers where it could say so.
        Some(0)
    } else {
        None
    }
}
