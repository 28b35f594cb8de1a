//! Arithmetic: integers with 64 bits of either sign, exact decimals, doubles; and the bit
//! operators.
//!
//! The kind of numbers is chosen from the operands' types: a double makes it double, else a decimal
//! makes it decimal, else integers. The bit operators work on 64 bits, but on byte strings bit by
//! bit ([`bits`]). What leaves the range of the result's type is error 1690. Division by zero is
//! NULL, with warning or error 1365 as the sql_mode has it.

pub(crate) mod bits;

use super::Expr;
use crate::session::Context;
use datum::error::{self, NumberType, Result};
use datum::types::NOT_FIXED;
use datum::types::{Family, Type};
use datum::value::{Datum, Decimal};
use syntax::ast::BinaryOp;

/// The kind of numbers an operation works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Numbers {
    /// 64-bit integers; the result is unsigned if either operand is.
    Integer {
        /// The result's sign.
        unsigned: bool,
    },
    /// Exact decimals.
    Decimal,
    /// Approximate numbers of 64 bits.
    Double,
    /// Byte strings, of the bit operators.
    Bytes,
}

/// An operator and the numbers that it works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Operation {
    /// The operator.
    pub op: BinaryOp,
    pub(crate) numbers: Numbers,
    /// Digits after the point that a division of decimals adds: `div_precision_increment`.
    pub(crate) increment: u8,
    /// Digits after the point of a result that is a decimal.
    pub scale: u8,
    /// An operand has no sign, and so has none what DIV gives.
    pub(crate) is_unsigned: bool,
}

/// What kind of number a value of this type counts as.
fn class(ty: &Type) -> Family {
    match ty.family {
        Family::Integer | Family::Bit | Family::Year => Family::Integer,
        Family::Decimal => Family::Decimal,
        Family::Date => Family::Integer,
        Family::Time | Family::DateTime if ty.decimals == 0 => Family::Integer,
        Family::Time | Family::DateTime => Family::Decimal,
        // NULL counts as a text.
        Family::Null | Family::Label | Family::Text | Family::Float | Family::Double | Family::Json => {
            Family::Double
        }
    }
}

/// The operation on these operands, and the result's type. A division of decimals adds `increment`
/// digits.
pub(crate) fn choose(op: BinaryOp, left: &Expr, right: &Expr, increment: u8) -> (Operation, Type) {
    use BinaryOp as B;
    let operation = |numbers| Operation { op, numbers, increment, scale: 0, is_unsigned: false };
    if bits::is_bitwise(op) {
        return match bits::bytes_type(op, left, right) {
            Some(ty) => (operation(Numbers::Bytes), ty),
            None => {
                let nullable = left.ty.nullable || right.ty.nullable;
                (operation(Numbers::Integer { unsigned: true }), Type { nullable, ..Type::UINT })
            }
        };
    }
    let (left, right) = (&number_type(left), &number_type(right));
    let (a, b) = (class(left), class(right));
    let double = a == Family::Double || b == Family::Double;
    let unsigned = left.unsigned || right.unsigned;
    let integers = a == Family::Integer && b == Family::Integer;
    let numbers = match op {
        B::IntDivide if integers => Numbers::Integer { unsigned },
        B::IntDivide => Numbers::Decimal,
        _ if double => Numbers::Double,
        B::Divide => Numbers::Decimal,
        B::Modulo if integers => Numbers::Integer { unsigned: left.unsigned },
        _ if integers => Numbers::Integer { unsigned },
        _ => Numbers::Decimal,
    };
    let ty = match numbers {
        _ if op == B::IntDivide => integer_quotient_type(left, right, unsigned),
        Numbers::Double => {
            let unsigned = op == B::Modulo && left.unsigned;
            Type { unsigned, ..double_type(op, left, right, increment) }
        }
        Numbers::Integer { unsigned } => integer_type(op, left, right, unsigned),
        Numbers::Decimal => decimal_type(op, left, right, increment),
        Numbers::Bytes => Type::NULL,
    };
    // There is no quotient by zero.
    let may_divide = matches!(op, B::Divide | B::IntDivide | B::Modulo);
    let ty = Type { nullable: may_divide || left.nullable || right.nullable, ..ty };
    (Operation { scale: ty.decimals, is_unsigned: unsigned, ..operation(numbers) }, ty)
}

/// The type of a sum, difference, product or remainder of integers: its digits follow from the
/// operands'.
fn integer_type(op: BinaryOp, left: &Type, right: &Type, unsigned: bool) -> Type {
    let (a, b) = (left.integer_digits(), right.integer_digits());
    match op {
        BinaryOp::Multiply => Type { unsigned, length: a + b + u32::from(!unsigned), ..Type::INT },
        BinaryOp::Modulo => Type { unsigned, length: a.max(b) + 1, ..Type::INT },
        _ => Type::integer_of(a.max(b) + 1, unsigned),
    }
}

/// The type of a DIV: the digits that the left operand has before the point, and those that the
/// right one has after it.
fn integer_quotient_type(left: &Type, right: &Type, unsigned: bool) -> Type {
    let before = match left.family {
        Family::Null => 0,
        Family::Text | Family::Label | Family::Json | Family::Double | Family::Float => left.length,
        _ => left.integer_digits(),
    };
    let fraction = match right.family {
        Family::Text | Family::Label | Family::Json | Family::Double | Family::Float => right.length,
        Family::Decimal | Family::Time | Family::DateTime => right.decimals.into(),
        _ => 0,
    };
    let digits = before.saturating_add(fraction).min(21);
    Type { unsigned, length: (digits + u32::from(!unsigned)).max(1), ..Type::INT }
}

/// The width of a double of a fixed number of digits, without these.
const DOUBLE_DIGITS: u32 = 17;

/// A double with so many digits after the point, if their number is fixed.
pub(crate) fn double_of(digits: Option<u8>) -> Type {
    match digits.filter(|&digits| digits < NOT_FIXED) {
        Some(digits) => Type::fixed_double(DOUBLE_DIGITS + u32::from(digits), digits),
        None => Type::DOUBLE,
    }
}

/// The type of an operation on doubles. Those of a fixed number of digits have their operands'
/// width.
fn double_type(op: BinaryOp, left: &Type, right: &Type, increment: u8) -> Type {
    let decimals = double_digits(op, left, right, increment);
    if decimals == NOT_FIXED {
        return Type::DOUBLE;
    }
    let length = match op {
        BinaryOp::Divide => {
            let before = left.length.saturating_sub(left.decimals.into());
            (before + u32::from(decimals)).min(DOUBLE_DIGITS + u32::from(decimals))
        }
        BinaryOp::Modulo => {
            let before = |t: &Type| t.length.saturating_sub(t.decimals.into());
            before(left).max(before(right)) + u32::from(decimals)
        }
        _ => left.length.max(right.length),
    };
    Type::fixed_double(length, decimals)
}

/// Digits after the point of a double: as many as shown where both operands have a fixed number of
/// them.
fn double_digits(op: BinaryOp, left: &Type, right: &Type, increment: u8) -> u8 {
    let fixed = |ty: &Type| if ty.family.is_temporal() { Some(ty.decimals) } else { ty.fixed_digits() };
    match fixed(left).zip(fixed(right)).map(|(a, b)| a.max(b)) {
        Some(digits) if op == BinaryOp::Divide => (digits + increment).min(NOT_FIXED),
        Some(digits) => digits,
        None => NOT_FIXED,
    }
}

/// Digits of a decimal result, as MySQL derives them.
fn decimal_type(op: BinaryOp, left: &Type, right: &Type, increment: u8) -> Type {
    let scale = |t: &Type| if t.decimals == NOT_FIXED { 0 } else { t.decimals };
    let (ls, rs) = (scale(left), scale(right));
    let (li, ri) = (left.integer_digits(), right.integer_digits());
    let (digits, scale) = match op {
        BinaryOp::Multiply => (li + ri, ls + rs),
        BinaryOp::Divide => (li + u32::from(rs), ls + increment),
        // As many digits in all as the longer operand has.
        BinaryOp::Modulo => {
            let scale = ls.max(rs);
            let digits = (li + u32::from(ls)).max(ri + u32::from(rs));
            let ty = Type::decimal(digits.min(65), scale.min(30));
            return Type { unsigned: left.unsigned, ..ty };
        }
        _ => (li.max(ri) + 1, ls.max(rs)),
    };
    let scale = scale.min(30);
    let ty = Type::decimal((digits + u32::from(scale)).min(65), scale);
    if op == BinaryOp::Divide && left.unsigned && right.unsigned {
        return Type { unsigned: true, length: ty.length - 1, ..ty };
    }
    ty
}

impl Operation {
    /// True if the right operand is evaluated though the left one is NULL: of decimals it is not.
    pub(crate) fn evaluates_both(self) -> bool {
        matches!(self.numbers, Numbers::Integer { .. } | Numbers::Double) && !bits::is_bitwise(self.op)
    }

    /// Reads an operand as a number though the other one is NULL, for what is wrong with it to be
    /// said.
    pub(crate) fn read(self, cx: &mut Context, operand: &Datum<'_>) -> Result<()> {
        match self.numbers {
            _ if !operand.is_text() => {}
            Numbers::Integer { .. } => drop(cx.integer(operand)?),
            Numbers::Decimal => drop(cx.decimal(operand)?),
            Numbers::Double => drop(cx.double(operand)?),
            Numbers::Bytes => {}
        }
        Ok(())
    }

    /// Applies it; NULL if either operand is.
    pub(crate) fn apply<'a>(
        self,
        cx: &mut Context,
        left: &Datum<'_>,
        right: &Datum<'_>,
    ) -> Result<Datum<'a>> {
        if left.is_null() || right.is_null() {
            return Ok(Datum::Null);
        }
        use BinaryOp as B;
        match (self.op, self.numbers) {
            (_, Numbers::Bytes) => bits::apply(self.op, cx, left, right),
            (B::BitAnd | B::BitOr | B::BitXor | B::ShiftLeft | B::ShiftRight, _) => {
                self.bits(to_bits(cx, left)?, to_bits(cx, right)?)
            }
            (_, Numbers::Integer { unsigned }) => self.integers(cx, left, right, unsigned),
            (B::IntDivide, _) => self.integer_quotient(cx, left, right),
            (_, Numbers::Decimal) => self.decimals(cx, left, right),
            (_, Numbers::Double) => self.doubles(cx, left, right),
        }
    }

    fn bits<'a>(self, a: u64, b: u64) -> Result<Datum<'a>> {
        let shift = |f: fn(u64, u32) -> Option<u64>| u32::try_from(b).ok().and_then(|n| f(a, n)).unwrap_or(0);
        Ok(Datum::UInt(match self.op {
            BinaryOp::BitAnd => a & b,
            BinaryOp::BitOr => a | b,
            BinaryOp::BitXor => a ^ b,
            BinaryOp::ShiftLeft => shift(u64::checked_shl),
            _ => shift(u64::checked_shr),
        }))
    }

    fn integers<'a>(
        self,
        cx: &mut Context,
        left: &Datum<'_>,
        right: &Datum<'_>,
        unsigned: bool,
    ) -> Result<Datum<'a>> {
        // Sixty-four bits of either sign, so no sum, difference or product leaves 128 bits.
        let (a, b) = (cx.integer(left)?, cx.integer(right)?);
        let signed_difference = self.op == BinaryOp::Subtract && cx.settings.modes().no_unsigned_subtraction;
        let unsigned = unsigned && !signed_difference;
        let exact = match self.op {
            BinaryOp::Add => a + b,
            BinaryOp::Subtract => a - b,
            BinaryOp::Multiply => a.saturating_mul(b),
            _ if b == 0 => return cx.division_by_zero(),
            BinaryOp::Modulo => a % b,
            _ => a / b,
        };
        integer_result(exact, unsigned).ok_or_else(|| self.out_of_range(left, right, unsigned))
    }

    fn integer_quotient<'a>(
        self,
        cx: &mut Context,
        left: &Datum<'_>,
        right: &Datum<'_>,
    ) -> Result<Datum<'a>> {
        let (a, b) = (cx.decimal(left)?, cx.decimal(right)?);
        if b.is_zero() {
            return cx.division_by_zero();
        }
        let quotient = a.div(&b, 0).map(|q| q.truncate(0));
        let value = quotient.and_then(|q| match self.is_unsigned {
            true => q.to_u64().map(Datum::UInt),
            false => q.to_i64().map(Datum::Int),
        });
        match value {
            Some(value) => Ok(value),
            None => Err(self.out_of_range(left, right, self.is_unsigned)),
        }
    }

    fn decimals<'a>(self, cx: &mut Context, left: &Datum<'_>, right: &Datum<'_>) -> Result<Datum<'a>> {
        let (a, b) = (cx.decimal(left)?, cx.decimal(right)?);
        let result = match self.op {
            BinaryOp::Add => a.add(&b),
            BinaryOp::Subtract => a.sub(&b),
            BinaryOp::Multiply => a.mul(&b),
            _ if b.is_zero() => return cx.division_by_zero(),
            // What goes on computing with it has the digits that are shown, and no more.
            BinaryOp::Divide => a.div(&b, self.increment).map(|quotient| quotient.round(self.scale)),
            _ => a.rem(&b),
        };
        result.map(|result| Datum::Decimal(with_scale(result, self.scale))).ok_or_else(|| {
            let shown = self.show(left, right);
            error::out_of_range(NumberType::Decimal, shown)
        })
    }

    fn doubles<'a>(self, cx: &mut Context, left: &Datum<'_>, right: &Datum<'_>) -> Result<Datum<'a>> {
        let (a, b) = (cx.double(left)?, cx.double(right)?);
        let result = match self.op {
            BinaryOp::Add => a + b,
            BinaryOp::Subtract => a - b,
            BinaryOp::Multiply => a * b,
            _ if b == 0.0 => return cx.division_by_zero(),
            BinaryOp::Divide => a / b,
            _ => a % b,
        };
        if result.is_finite() {
            return Ok(Datum::Double(result));
        }
        Err(error::out_of_range(NumberType::Double, self.show(left, right)))
    }

    fn out_of_range(self, left: &Datum<'_>, right: &Datum<'_>, unsigned: bool) -> error::SqlError {
        let ty = if unsigned { NumberType::BigIntUnsigned } else { NumberType::BigInt };
        error::out_of_range(ty, self.show(left, right))
    }

    fn show(self, left: &Datum<'_>, right: &Datum<'_>) -> String {
        let sign = match self.op {
            BinaryOp::Add => "+",
            BinaryOp::Subtract => "-",
            BinaryOp::Multiply => "*",
            BinaryOp::Divide => "/",
            BinaryOp::IntDivide => "DIV",
            _ => "%",
        };
        let text = |d: &Datum<'_>| String::from_utf8_lossy(&d.to_bytes()).into_owned();
        format!("({} {sign} {})", text(left), text(right))
    }
}

/// A result in the range of its type, or `None`.
pub(crate) fn integer_result<'a>(exact: i128, unsigned: bool) -> Option<Datum<'a>> {
    if unsigned {
        u64::try_from(exact).ok().map(Datum::UInt)
    } else {
        i64::try_from(exact).ok().map(Datum::Int)
    }
}

/// The 64 bits that a bit operator works on: negative numbers are their two's complement.
pub(crate) fn to_bits(cx: &mut Context, v: &Datum<'_>) -> Result<u64> {
    let n = cx.integer(v)?;
    if let Datum::Decimal(_) | Datum::Double(_) | Datum::Float(_) = v {
        // Numbers that are no integers count as signed ones.
        let signed = n.clamp(i64::MIN.into(), i64::MAX.into());
        if signed != n && matches!(v, Datum::Decimal(_)) {
            cx.truncated("DECIMAL", v)?;
        }
        return Ok(signed as i64 as u64);
    }
    Ok(match i64::try_from(n) {
        Ok(n) => n as u64,
        Err(_) => u64::try_from(n).unwrap_or(if n < 0 { 1 << 63 } else { u64::MAX }),
    })
}

/// `-value`.
pub(crate) fn negate<'a>(cx: &mut Context, value: Datum<'_>, ty: &Type) -> Result<Datum<'a>> {
    Ok(match value {
        Datum::Null => Datum::Null,
        Datum::Decimal(d) => Datum::Decimal(with_scale(d.negate(), ty.decimals)),
        Datum::Double(v) => Datum::Double(-v),
        Datum::Float(v) => Datum::Double(-f64::from(v)),
        v if ty.family == Family::Double => Datum::Double(-cx.double(&v)?),
        v if ty.family == Family::Decimal => Datum::Decimal(cx.decimal(&v)?.negate()),
        v => {
            let n = cx.integer(&v)?;
            match integer_result(-n, false) {
                Some(result) => result,
                None => return Err(error::out_of_range(NumberType::BigInt, format_args!("-({n})"))),
            }
        }
    })
}

/// A result with as many digits after the point as its type has at least: an operand that CASE or
/// IF chose may have fewer.
pub(crate) fn with_scale(result: Decimal, scale: u8) -> Decimal {
    if result.shown() < scale { result.round(scale) } else { result }
}

/// The type of an operand; hexadecimal and bit literals are integers where numbers are wanted.
fn number_type(operand: &Expr) -> Type {
    match operand.as_constant() {
        Some(Datum::Bits(bytes)) if operand.ty.family == Family::Text => {
            // As many decimal digits as eight bits for each byte may need.
            let digits = (bytes.len().min(8) * 8 * 30_103).div_ceil(100_000) as u32;
            Type { length: digits, ..Type::UINT.not_null() }
        }
        _ => operand.ty,
    }
}

/// The type of a time or date as an exact number.
pub(crate) fn decimal_of(ty: &Type) -> Type {
    Type::decimal(14 + u32::from(ty.decimals), ty.decimals)
}

/// The type of `-constant`.
pub(crate) fn negated_constant_type(value: &Datum<'_>, ty: &Type) -> Type {
    match beyond_signed(value) {
        Some(digits) => Type { nullable: false, ..Type::decimal(digits, 0) },
        None => negated_type(ty),
    }
}

/// The digits of a constant that leaves the signed integers when negated, or is negative: MySQL
/// takes either for a decimal.
fn beyond_signed(value: &Datum<'_>) -> Option<u32> {
    let digits = |n: u64| n.checked_ilog10().unwrap_or(0) + 1;
    match *value {
        Datum::Int(n) if n < 0 => Some(digits(n.unsigned_abs())),
        Datum::UInt(n) if n > 1 << 63 => Some(digits(n)),
        _ => None,
    }
}

/// The type of `-x`.
pub(crate) fn negated_type(ty: &Type) -> Type {
    match class(ty) {
        Family::Integer if !ty.family.is_temporal() => {
            Type { nullable: ty.nullable, ..Type::integer_of(ty.integer_digits(), false) }
        }
        Family::Integer => Type { nullable: ty.nullable, ..Type::fixed_double(DOUBLE_DIGITS, 0) },
        Family::Decimal if ty.family == Family::Decimal => Type { unsigned: false, ..*ty },
        // A time or date as a number.
        Family::Decimal => Type { nullable: ty.nullable, ..decimal_of(ty) },
        _ => Type { nullable: ty.nullable, ..double_of(ty.fixed_digits()) },
    }
}
