//! What is known of a value before it is computed, and where it may go without a conversion that
//! MariaDB does in its own way.

use std::borrow::Cow;

use super::Checked;
use datum::types::{Charset, Collation, DataType};

/// What is known of an expression's value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Value<'a> {
    Null,
    /// The number, of a literal.
    Integer(Option<u64>),
    Decimal {
        precision: u32,
        scale: u32,
    },
    /// A literal with a point and no exponent, of so many digits, and so many behind the point. A
    /// prepared statement's parameter of type DOUBLE is one, too, and computed as a DOUBLE there.
    DecimalLiteral {
        precision: u32,
        scale: u32,
    },
    Double,
    /// A literal in quotes.
    Literal {
        bytes: &'a [u8],
        charset: Charset,
    },
    /// Any other text.
    Text(Collation),
    Bytes,
    /// A literal of bits.
    Bits,
    Date,
    /// With digits behind the second.
    Time(u8),
    /// With digits behind the second.
    DateTime(u8),
    /// The statement's time, or what a TIMESTAMP holds: it fits any TIMESTAMP.
    Moment(u8),
    /// Of a column whose values go to columns of the same type only.
    Of(&'a DataType),
}

use Value as V;

impl<'a> Value<'a> {
    pub(super) fn of_column(ty: &'a DataType) -> Self {
        match ty {
            DataType::Integer { .. } => V::Integer(None),
            &DataType::Decimal { precision, scale, .. } => {
                V::Decimal { precision: precision.into(), scale: scale.into() }
            }
            DataType::Floating { double: true, digits: None, .. } => V::Double,
            DataType::Char { collation, .. }
            | DataType::VarChar { collation, .. }
            | DataType::Lob { collation, .. } => {
                if *collation == Collation::BINARY {
                    V::Bytes
                } else {
                    V::Text(*collation)
                }
            }
            DataType::Date => V::Date,
            &DataType::Time(fsp) => V::Time(fsp),
            &DataType::DateTime(fsp) => V::DateTime(fsp),
            &DataType::Timestamp(fsp) => V::Moment(fsp),
            DataType::Floating { .. }
            | DataType::Bit(_)
            | DataType::Enum { .. }
            | DataType::Set { .. }
            | DataType::Year
            | DataType::Json => V::Of(ty),
        }
    }

    /// Checks that a column of this type keeps the same of it here as there.
    pub(super) fn check_stored(&self, ty: &DataType) -> Checked {
        let is_kept = match (*self, ty) {
            (V::Null, _) => true,
            (V::Of(of), ty) => of == ty,
            (
                V::Integer(_),
                DataType::Integer { .. } | DataType::Decimal { .. } | DataType::Floating { .. },
            ) => true,
            (V::Integer(Some(number)), DataType::Year) => (1901..=2155).contains(&number),
            (V::Integer(Some(_)), DataType::Bit(_)) => true,
            (V::Integer(Some(_)), ty) => is_text(ty),
            (V::Decimal { .. }, DataType::Integer { .. } | DataType::Decimal { .. }) => true,
            (V::DecimalLiteral { .. }, DataType::Decimal { .. }) => true,
            (V::Decimal { .. } | V::DecimalLiteral { .. } | V::Double, DataType::Floating { digits, .. }) => {
                digits.is_none()
            }
            (V::Literal { bytes, charset }, ty) => keeps_literal(ty, bytes, charset),
            (V::Text(from), ty) => is_text(ty) && holds(ty.collation().charset(), from.charset()),
            (V::Bytes, ty) => is_string(ty) && ty.collation() == Collation::BINARY,
            (V::Bits, DataType::Bit(_)) => true,
            (V::Date | V::DateTime(_) | V::Moment(_), DataType::Date | DataType::DateTime(_)) => true,
            (V::Moment(_), DataType::Timestamp(_)) => true,
            (V::Time(_), DataType::Time(_)) => true,
            _ => false,
        };
        if is_kept { Ok(()) } else { Err(Cow::Borrowed("a conversion to a column's type")) }
    }

    /// Checks that it compares with another one here as there.
    pub(super) fn check_compared(&self, other: &Self) -> Checked {
        let is_same = self.compares_with(other) || other.compares_with(self);
        if is_same { Ok(()) } else { Err(Cow::Borrowed("a comparison of values of several types")) }
    }

    /// One of the two orders of the operands. A constant is one that the column may have: MariaDB
    /// looks others up in an index as the nearest one.
    fn compares_with(&self, other: &Self) -> bool {
        /// Digits of which a double keeps all.
        const EXACT: u32 = 15;
        match (*self, *other) {
            (V::Null, _) => true,
            (V::Integer(_), V::Integer(_)) => true,
            (V::Decimal { .. }, V::Decimal { .. } | V::Integer(_)) => true,
            (V::Decimal { precision, scale }, V::DecimalLiteral { precision: digits, scale: behind }) => {
                behind <= scale && precision.max(digits) <= EXACT
            }
            (V::Double, V::Double | V::DecimalLiteral { .. }) => true,
            (V::Double, V::Integer(Some(number))) => number < 10_u64.pow(EXACT),
            // Both become doubles.
            (V::Integer(None), V::Literal { bytes, .. }) => is_integer(bytes, EXACT as usize),
            (V::Text(collation), V::Literal { bytes, charset }) => {
                compares_literal(collation, bytes, charset)
            }
            (V::Of(ty @ (DataType::Enum { .. } | DataType::Set { .. })), V::Literal { bytes, charset }) => {
                compares_literal(ty.collation(), bytes, charset)
            }
            (V::Of(DataType::Bit(_)), V::Integer(_) | V::Bits) => true,
            (V::Of(DataType::Year), V::Integer(Some(number))) => (1901..=2155).contains(&number),
            (V::Text(a), V::Text(b)) => a == b && is_portable(a),
            (V::Bytes, V::Bytes | V::Literal { .. }) => true,
            (V::Date, V::Date) => true,
            (V::Date, V::Literal { bytes, .. }) => is_date(bytes),
            (V::DateTime(_) | V::Moment(_), V::DateTime(_) | V::Moment(_)) => true,
            (V::DateTime(fsp) | V::Moment(fsp), V::Literal { bytes, .. }) => {
                is_date(bytes) || is_date_time(bytes, fsp)
            }
            (V::Time(_), V::Time(_)) => true,
            (V::Time(fsp), V::Literal { bytes, .. }) => is_time(bytes, fsp),
            _ => false,
        }
    }

    /// What a value is that is either of the two.
    pub(super) fn or(self, other: Self) -> Checked<Self> {
        Ok(match (self, other) {
            (V::Null, other) | (other, V::Null) => other,
            (V::Integer(_), V::Integer(_)) => V::Integer(None),
            (V::Integer(_) | V::Decimal { .. }, V::Integer(_) | V::Decimal { .. }) => {
                let [(a, b), (c, d)] = [self, other].map(Self::digits);
                V::Decimal { precision: (a - b).max(c - d) + b.max(d), scale: b.max(d) }
            }
            (V::Text(a), V::Literal { bytes, charset }) | (V::Literal { bytes, charset }, V::Text(a))
                if compares_literal(a, bytes, charset) =>
            {
                V::Text(a)
            }
            (V::Literal { charset: a, .. }, V::Literal { charset: b, .. })
                if a == b || a == Charset::Ascii || b == Charset::Ascii =>
            {
                V::Text(if a == Charset::Ascii { b } else { a }.default_collation())
            }
            (a, b) if a == b && !matches!(a, V::Of(_)) => a,
            _ => return Err(Cow::Borrowed("a value that has one of several types")),
        })
    }

    /// Digits before and after the point together, and after it.
    fn digits(self) -> (u32, u32) {
        match self {
            V::Decimal { precision, scale } => (precision, scale),
            _ => (20, 0),
        }
    }

    /// The sum, difference or product of exact numbers, and the sum of doubles: a product may be a
    /// negative zero.
    pub(super) fn arithmetic(self, other: Self, multiplies: bool) -> Checked<Self> {
        const INEXACT: &str = "arithmetic that is not exact";
        match (self, other) {
            (V::Null, V::Integer(_) | V::Decimal { .. } | V::Double | V::Null)
            | (V::Integer(_) | V::Decimal { .. } | V::Double, V::Null) => Ok(V::Null),
            (V::Integer(_), V::Integer(_)) => Ok(V::Integer(None)),
            (V::Double, V::Double | V::Integer(_)) | (V::Integer(_), V::Double) if !multiplies => {
                Ok(V::Double)
            }
            (V::Integer(_) | V::Decimal { .. }, V::Integer(_) | V::Decimal { .. }) => {
                let [(a, b), (c, d)] = [self, other].map(Self::digits);
                let (precision, scale) = match multiplies {
                    true => (a + c, b + d),
                    false => ((a - b).max(c - d) + b.max(d) + 1, b.max(d)),
                };
                const PRECISION_MAX: u32 = 65;
                const SCALE_MAX: u32 = 30;
                if precision > PRECISION_MAX || scale > SCALE_MAX {
                    return Err(Cow::Borrowed(INEXACT));
                }
                Ok(V::Decimal { precision, scale })
            }
            _ => Err(Cow::Borrowed(INEXACT)),
        }
    }

    pub(super) fn is_integer(&self) -> bool {
        matches!(self, V::Null | V::Integer(_))
    }

    pub(super) fn has_date(&self) -> bool {
        matches!(self, V::Null | V::Date | V::DateTime(_) | V::Moment(_))
    }

    pub(super) fn is_text(&self) -> bool {
        matches!(self, V::Null | V::Literal { .. } | V::Text(_))
    }
}

/// Checks that ALTER TABLE makes the same values of a column's.
pub(super) fn check_altered(old: &DataType, new: &DataType) -> Checked {
    use DataType as D;
    let is_the_same = match (old, new) {
        (D::Integer { .. }, D::Integer { .. } | D::Decimal { .. })
        | (D::Decimal { .. }, D::Decimal { .. } | D::Integer { .. })
        | (D::Date | D::DateTime(_), D::DateTime(_))
        | (D::Time(_), D::Time(_))
        | (D::Timestamp(_), D::Timestamp(_))
        | (D::Bit(_), D::Bit(_))
        | (D::Year, D::Year)
        | (D::Json, D::Json)
        | (D::Enum { .. }, D::Enum { .. })
        | (D::Set { .. }, D::Set { .. }) => true,
        (D::Floating { double: a, digits: None, .. }, D::Floating { double: b, digits: None, .. }) => a == b,
        (old, new) if old == new => true,
        (old, new) if is_string(old) && is_string(new) => {
            let [from, into] = [old, new].map(|ty| ty.collation().charset());
            holds(into, from) && (from != Charset::Binary || into == Charset::Binary)
        }
        // MariaDB's JSON.
        (old, D::Json) => is_text(old),
        _ => false,
    };
    if is_the_same { Ok(()) } else { Err(Cow::Borrowed("a column that gets another type")) }
}

/// True for CHAR, TEXT and BLOB types.
fn is_string(ty: &DataType) -> bool {
    matches!(ty, DataType::Char { .. } | DataType::VarChar { .. } | DataType::Lob { .. })
}

fn is_text(ty: &DataType) -> bool {
    is_string(ty) && ty.collation() != Collation::BINARY
}

/// True if each text of `other` is one of `charset`, too.
fn holds(charset: Charset, other: Charset) -> bool {
    charset == other || charset == Charset::Utf8mb4 && other != Charset::Binary || other == Charset::Ascii
}

/// True for a literal that is valid in its own set, and has all its characters in this one.
fn fits(bytes: &[u8], charset: Charset, into: Charset) -> bool {
    let is_valid = charset != Charset::Binary && charset.valid_prefix(bytes) == bytes.len();
    bytes.is_ascii() || is_valid && !charset.convert(bytes.into(), into).1
}

/// Collations by which both order all texts in the same way.
fn is_portable(collation: Collation) -> bool {
    let name = collation.name();
    name == "latin1_swedish_ci"
        || ["_bin", "_general_ci", "_unicode_ci", "_unicode_520_ci"].iter().any(|end| name.ends_with(end))
}

/// Those under which both find the same by LIKE: one weight for each character.
pub(super) fn is_portable_in_like(collation: Collation) -> bool {
    is_portable(collation) && !collation.name().contains("_unicode_")
}

fn compares_literal(collation: Collation, bytes: &[u8], charset: Charset) -> bool {
    is_portable(collation) && fits(bytes, charset, collation.charset())
}

/// True if a column keeps a literal as it shows it then, or as any text of its set.
fn keeps_literal(ty: &DataType, bytes: &[u8], charset: Charset) -> bool {
    match ty {
        ty if is_string(ty) => {
            ty.collation() == Collation::BINARY || fits(bytes, charset, ty.collation().charset())
        }
        DataType::Integer { .. } => is_integer(bytes, 20),
        DataType::Decimal { .. } => is_decimal(bytes),
        DataType::Floating { digits: None, .. } => {
            // There is a negative zero.
            is_decimal(bytes) && (bytes[0] != b'-' || bytes.iter().any(|byte| (b'1'..=b'9').contains(byte)))
        }
        DataType::Date => is_date(bytes),
        DataType::Time(_) => is_time(bytes, 6),
        DataType::DateTime(_) => is_date(bytes) || is_date_time(bytes, 6),
        // MariaDB 11.5 has later ones than MySQL.
        DataType::Timestamp(_) => {
            (is_date(bytes) || is_date_time(bytes, 6)) && &bytes[..4] < b"2038".as_slice()
        }
        DataType::Year => bytes.len() == 4 && matches!(bytes, [b'1' | b'2', ..]) && is_integer(bytes, 4),
        DataType::Enum { members, .. } => bytes.is_ascii() && members.iter().any(|member| **member == *bytes),
        DataType::Set { members, .. } => {
            let is_member = |part: &[u8]| members.iter().any(|member| **member == *part);
            bytes.is_ascii() && (bytes.is_empty() || bytes.split(|&byte| byte == b',').all(is_member))
        }
        // A document, as rows of MariaDB's JSON columns are.
        DataType::Json => fits(bytes, charset, Charset::Utf8mb4),
        _ => false,
    }
}

/// `-12`, of so many digits at most.
fn is_integer(text: &[u8], digits_max: usize) -> bool {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    (1..=digits_max).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit)
}

/// `-12` or `-12.50`, of as many digits as a DECIMAL has.
fn is_decimal(text: &[u8]) -> bool {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let mut parts = digits.split(|&byte| byte == b'.');
    let is_part = |part: Option<&[u8]>| part.is_some_and(|part| is_integer(part, 30) && part[0] != b'-');
    is_part(parts.next()) && (!digits.contains(&b'.') || is_part(parts.next())) && parts.next().is_none()
}

/// True if a text has this form, in which `0` stands for a digit.
fn has_form(text: &[u8], form: &[u8]) -> bool {
    text.len() == form.len()
        && text
            .iter()
            .zip(form)
            .all(|(&byte, &form)| if form == b'0' { byte.is_ascii_digit() } else { byte == form })
}

pub(super) fn is_date(text: &[u8]) -> bool {
    has_form(text, b"0000-00-00")
}

/// With so many digits of a second's fraction at most.
pub(super) fn is_date_time(text: &[u8], fsp: u8) -> bool {
    let is_one =
        |text: &[u8]| has_form(text, b"0000-00-00 00:00:00") || has_form(text, b"0000-00-00T00:00:00");
    without_fraction(text, fsp).is_some_and(is_one)
}

/// The same, below the largest hour that a TIME has.
pub(super) fn is_time(text: &[u8], fsp: u8) -> bool {
    const HOURS_END: &[u8] = b"838";
    let text = text.strip_prefix(b"-").unwrap_or(text);
    let is_one =
        |text: &[u8]| has_form(text, b"00:00:00") || has_form(text, b"000:00:00") && &text[..3] < HOURS_END;
    without_fraction(text, fsp).is_some_and(is_one)
}

fn without_fraction(text: &[u8], fsp: u8) -> Option<&[u8]> {
    let Some(point) = text.iter().position(|&byte| byte == b'.') else { return Some(text) };
    let digits = &text[point + 1..];
    let is_fraction = (1..=usize::from(fsp)).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit);
    is_fraction.then_some(&text[..point])
}
