//! How far a column's type is from the source's, by MySQL's rules, and how errors name the types.

use std::cmp::Ordering;

use binlog::row::{BINARY_COLLATION, ColumnType, code};

use datum::types::{Charset, Collation, DataType};

/// What a conversion asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Difference {
    /// Nothing.
    Free,
    /// `ALL_NON_LOSSY`
    NonLossy,
    /// `ALL_LOSSY`
    Lossy,
    /// There is none.
    Impossible,
}

impl Difference {
    /// The source's column is so much larger than the table's.
    fn of(order: Ordering) -> Self {
        match order {
            Ordering::Less => Self::NonLossy,
            Ordering::Equal => Self::Free,
            Ordering::Greater => Self::Lossy,
        }
    }
}

/// The character set of a collation by its number, MariaDB's own collations included.
pub(super) fn charset_of(number: u16) -> Option<Charset> {
    /// Those without padding are so much above those with.
    const NOPAD: u16 = 1024;
    match number {
        NOPAD..2048 => Collation::by_id(number - NOPAD).map(Collation::charset),
        // UCA 14.0.0
        2048..2304 => Some(Charset::Utf8mb3),
        2304..2560 => Some(Charset::Utf8mb4),
        _ => Collation::by_id(number).map(Collation::charset),
    }
}

/// True if both columns' values have the same bytes, and these mean the same.
pub(super) fn is_same(from: &ColumnType, to: &ColumnType) -> bool {
    // What an ENUM or SET has is a number.
    let has_text = matches!(from.code, code::STRING | code::VARCHAR | code::VAR_STRING | code::BLOB);
    let is_known = has_text && from.charset != 0 && to.charset != 0;
    from.code == to.code
        && from.meta == to.meta
        && (!is_known || from.charset == to.charset || charset_of(from.charset) == charset_of(to.charset))
}

/// What it takes to convert values of `from`, which is not the same as `to`, the column type of
/// `ty`.
pub(super) fn difference(from: &ColumnType, to: &ColumnType, ty: &DataType, is_mariadb: bool) -> Difference {
    use Difference::{Free, Impossible, Lossy, NonLossy};
    match (from.code, to.code) {
        (a, b) if integer_width(a).is_some() && integer_width(b).is_some() => {
            Difference::of(integer_width(a).cmp(&integer_width(b)))
        }
        (code::NEWDECIMAL, code::NEWDECIMAL) => {
            let digits = |ty: &ColumnType| (ty.meta >> 8, ty.meta & 0xff);
            Difference::of(digits(from).cmp(&digits(to)))
        }
        (code::NEWDECIMAL, code::FLOAT | code::DOUBLE) | (code::FLOAT | code::DOUBLE, code::NEWDECIMAL) => {
            Lossy
        }
        (code::FLOAT, code::DOUBLE) => NonLossy,
        (code::DOUBLE, code::FLOAT) => Lossy,
        (code::BIT, code::BIT) | (code::ENUM, code::ENUM) | (code::SET, code::SET) => {
            Difference::of(from.meta.cmp(&to.meta))
        }
        (code::TIME2, code::TIME2)
        | (code::DATETIME2, code::DATETIME2)
        | (code::TIMESTAMP2, code::TIMESTAMP2) => Difference::of(from.fixed_len().cmp(&to.fixed_len())),
        // Before MySQL 5.6.4, and MariaDB by a setting.
        (code::TIME, code::TIME2)
        | (code::DATETIME, code::DATETIME2)
        | (code::TIMESTAMP, code::TIMESTAMP2) => {
            if to.meta == 0 {
                Free
            } else {
                NonLossy
            }
        }
        (code::BLOB, code::JSON) if is_mariadb && from.meta == 4 && is_mariadb_json(from) => Free,
        (a, b) if is_text(a) && is_text(b) => {
            let by_length = match (text_code(a), text_code(b)) {
                (a, b) if a == b => Difference::of(from.meta.cmp(&to.meta)),
                _ => match longest(from).cmp(&longest_here(to, ty)) {
                    Ordering::Greater => Lossy,
                    _ => NonLossy,
                },
            };
            by_length.max(by_charset(from, to))
        }
        _ => Impossible,
    }
}

/// MariaDB's JSON is a LONGTEXT of utf8mb4; a BLOB is none.
fn is_mariadb_json(from: &ColumnType) -> bool {
    from.charset == 0 || charset_of(from.charset) == Some(Charset::Utf8mb4)
}

fn integer_width(code: u8) -> Option<u8> {
    match code {
        code::TINY => Some(1),
        code::SHORT => Some(2),
        code::INT24 => Some(3),
        code::LONG => Some(4),
        code::LONGLONG => Some(8),
        _ => None,
    }
}

fn is_text(code: u8) -> bool {
    matches!(code, code::STRING | code::VARCHAR | code::VAR_STRING | code::BLOB)
}

/// An old VARCHAR is a VARCHAR.
fn text_code(code: u8) -> u8 {
    if code == code::VAR_STRING { code::VARCHAR } else { code }
}

/// The longest value of the source's column, in bytes.
fn longest(from: &ColumnType) -> u64 {
    match from.code {
        code::BLOB => (1 << (8 * u64::from(from.meta.min(4)))) - 1,
        _ => from.meta.into(),
    }
}

/// The longest value here: a TEXT counts as characters for this, as in MySQL.
fn longest_here(to: &ColumnType, ty: &DataType) -> u64 {
    match to.code {
        code::BLOB => longest(to) * u64::from(ty.collation().charset().char_len_max()),
        _ => longest(to),
    }
}

/// MySQL copies the bytes between character sets, whatever these mean. Here texts are converted,
/// and that has to be allowed unless the bytes stay the same.
fn by_charset(from: &ColumnType, to: &ColumnType) -> Difference {
    use Charset::{Ascii, Binary, Latin1, Utf8mb3, Utf8mb4};
    if from.charset == 0 || to.charset == 0 {
        return Difference::Free;
    }
    match (charset_of(from.charset), charset_of(to.charset)) {
        (Some(a), Some(b)) if a == b => Difference::Free,
        (_, Some(Binary)) | (Some(Binary), _) => Difference::Free,
        (Some(Ascii), _) | (Some(Utf8mb3), Some(Utf8mb4)) => Difference::Free,
        (Some(Latin1), Some(Utf8mb3 | Utf8mb4)) => Difference::NonLossy,
        (Some(_), Some(_)) => Difference::Lossy,
        // A character set that is not known here.
        _ => Difference::Impossible,
    }
}

/// The source's type as MySQL names it in error 13146.
pub(super) fn source_text(from: &ColumnType) -> String {
    let meta = from.meta;
    let name = match from.code {
        code::TINY => "tinyint",
        code::SHORT => "smallint",
        code::INT24 => "mediumint",
        code::LONG => "int",
        code::LONGLONG => "bigint",
        code::FLOAT => "float",
        code::DOUBLE => "double",
        code::NULL => "null",
        code::TIMESTAMP | code::TIMESTAMP2 => "timestamp",
        code::DATE | code::NEWDATE => "date",
        code::TIME | code::TIME2 => "time",
        code::DATETIME | code::DATETIME2 => "datetime",
        code::YEAR => "year",
        code::ENUM => "enum",
        code::SET => "set",
        code::JSON => "json",
        code::GEOMETRY => "geometry",
        code::VECTOR => "vector",
        code::BLOB => ["tinyblob", "blob", "mediumblob", "longblob"][usize::from(meta.clamp(1, 4)) - 1],
        code::NEWDECIMAL => return format!("decimal({},{})", meta >> 8, meta & 0xff),
        code::BIT => return format!("bit({meta})"),
        code::STRING => return format!("char({meta}(bytes))"),
        code::VARCHAR | code::VAR_STRING => return format!("varchar({meta}(bytes))"),
        other => return format!("type {other}"),
    };
    name.to_owned()
}

/// The table's type as MySQL names it in error 13146.
pub(super) fn target_text(ty: &DataType) -> String {
    let (name, charset) = match ty {
        DataType::Char { collation, .. } | DataType::VarChar { collation, .. }
            if collation.0 == BINARY_COLLATION =>
        {
            return ty.to_string();
        }
        DataType::VarChar { collation, .. } => ("varchar", collation.charset()),
        DataType::Char { collation, .. }
        | DataType::Enum { collation, .. }
        | DataType::Set { collation, .. } => ("char", collation.charset()),
        other => return other.to_string(),
    };
    format!("{name}({}(bytes) {})", ty.byte_length(), charset.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Types of a table; text columns are utf8mb4.
    fn text(code: u8, meta: u16) -> ColumnType {
        ColumnType::new(code, meta).with_charset(Collation::UTF8MB4_0900_AI_CI.0)
    }

    #[test]
    fn mysqls_order_of_types() {
        use Difference::{Free, Impossible, Lossy, NonLossy};
        let plain = ColumnType::new;
        let json = DataType::Json;
        let check = |from: ColumnType, to: ColumnType, expected| {
            assert_eq!(difference(&from, &to, &json, false), expected, "{from:?} {to:?}");
        };
        check(plain(code::TINY, 0), plain(code::LONGLONG, 0), NonLossy);
        check(plain(code::LONG, 0), plain(code::INT24, 0), Lossy);
        check(plain(code::LONG, 0), plain(code::YEAR, 0), Impossible);
        check(plain(code::NEWDECIMAL, 10 << 8 | 4), plain(code::NEWDECIMAL, 12 << 8 | 2), NonLossy);
        check(plain(code::NEWDECIMAL, 10 << 8 | 4), plain(code::NEWDECIMAL, 10 << 8 | 2), Lossy);
        check(plain(code::NEWDECIMAL, 10 << 8 | 2), plain(code::DOUBLE, 8), Lossy);
        check(plain(code::DATETIME2, 1), plain(code::DATETIME2, 2), Free);
        check(plain(code::DATETIME2, 0), plain(code::DATETIME2, 6), NonLossy);
        check(plain(code::TIME2, 6), plain(code::TIME2, 4), Lossy);
        check(plain(code::TIMESTAMP, 0), plain(code::TIMESTAMP2, 0), Free);
        check(plain(code::DATETIME2, 0), plain(code::TIMESTAMP2, 0), Impossible);
        check(text(code::VARCHAR, 40), text(code::VARCHAR, 80), NonLossy);
        check(text(code::STRING, 40), text(code::VARCHAR, 40), NonLossy);
        check(text(code::BLOB, 2), text(code::VARCHAR, 40), Lossy);
        check(text(code::BLOB, 4), plain(code::JSON, 4), Impossible);
    }

    #[test]
    fn texts_of_other_character_sets() {
        use Difference::{Free, Lossy, NonLossy};
        let of = |name: &str| {
            let collation = Collation::by_name(name).expect("a collation");
            ColumnType::new(code::BLOB, 2).with_charset(collation.0)
        };
        let json = DataType::Json;
        for (from, to, expected) in [
            ("utf8mb3_general_ci", "utf8mb4_bin", Free),
            ("latin1_bin", "utf8mb4_bin", NonLossy),
            ("utf8mb4_bin", "latin1_bin", Lossy),
            ("utf8mb4_bin", "binary", Free),
            ("binary", "latin1_bin", Free),
        ] {
            assert_eq!(difference(&of(from), &of(to), &json, false), expected, "{from} {to}");
        }
    }
}
