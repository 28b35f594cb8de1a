//! The bit operators on byte strings: as long as their operands, bit by bit.
//!
//! The manual's "Bit Functions and Operators": an operand counts as a byte string if it is one and
//! not a hexadecimal or bit literal; a literal next to a byte string is one too.

use crate::expression::cast::To;
use crate::expression::{Expr, Node};
use crate::session::Context;
use datum::error::{self, Result};
use datum::types::{Coercibility, Collation, Family, Type};
use datum::value::Datum;
use syntax::ast::BinaryOp;

/// True for the bit operators.
pub(crate) fn is_bitwise(op: BinaryOp) -> bool {
    use BinaryOp as B;
    matches!(op, B::BitAnd | B::BitOr | B::BitXor | B::ShiftLeft | B::ShiftRight)
}

/// An operand as bits: a choice between integers that only a decimal holds all of gives the bits of
/// the one that is chosen.
pub(crate) fn by_branch(mut operand: Expr) -> Expr {
    if operand.ty.family != Family::Decimal {
        return operand;
    }
    match &mut operand.node {
        Node::Case(case) => {
            let results = case.branches.iter_mut().map(|(_, then)| then);
            results.chain(&mut case.otherwise).for_each(as_integer);
        }
        Node::Switch(switch) => {
            let results = switch.branches.iter_mut().map(|(.., then)| then);
            results.chain(&mut switch.otherwise).for_each(as_integer);
        }
        _ => {}
    }
    operand
}

/// The integer that was made a decimal.
fn as_integer(result: &mut Expr) {
    if let Node::Cast(To::ChosenNumber(Family::Decimal, _), inner) = &mut result.node
        && inner.ty.family == Family::Integer
    {
        *result = std::mem::replace(&mut **inner, Expr::constant(Datum::Null, Type::NULL));
    }
}

/// True for an operand that is a byte string by itself.
pub(crate) fn is_byte_string(operand: &Expr) -> bool {
    let ty = &operand.ty;
    ty.family == Family::Text
        && ty.collation == Collation::BINARY
        && !matches!(operand.as_constant(), Some(Datum::Bits(_)))
}

/// The result's type if the operator works on byte strings here.
pub(crate) fn bytes_type(op: BinaryOp, left: &Expr, right: &Expr) -> Option<Type> {
    let shifts = matches!(op, BinaryOp::ShiftLeft | BinaryOp::ShiftRight);
    let literal = |e: &Expr| matches!(e.as_constant(), Some(Datum::Bits(_) | Datum::Null));
    let (a, b) = (is_byte_string(left), is_byte_string(right));
    let on_bytes = if shifts { a } else { a && (b || literal(right)) || literal(left) && b };
    let length = if shifts { left.ty.length } else { left.ty.length.max(right.ty.length) };
    on_bytes.then(|| Type::text(Collation::BINARY, Coercibility::Implicit, length))
}

/// Applies it to operands that are not NULL; error 3513 if they differ in length.
pub(super) fn apply<'a>(
    op: BinaryOp,
    cx: &mut Context,
    left: &Datum<'_>,
    right: &Datum<'_>,
) -> Result<Datum<'a>> {
    let mut bytes = left.to_bytes().into_owned();
    if matches!(op, BinaryOp::ShiftLeft | BinaryOp::ShiftRight) {
        let count = super::to_bits(cx, right)?;
        shift(&mut bytes, count, op == BinaryOp::ShiftLeft);
        return Ok(Datum::owned(bytes));
    }
    combine(op, &mut bytes, &right.to_bytes())?;
    Ok(Datum::owned(bytes))
}

/// `bytes op other` into `bytes`; error 3513 if they differ in length.
pub(crate) fn combine(op: BinaryOp, bytes: &mut [u8], other: &[u8]) -> Result<()> {
    if bytes.len() != other.len() {
        return Err(error::INVALID_BITWISE_OPERANDS_SIZE.plain());
    }
    for (byte, other) in bytes.iter_mut().zip(other) {
        match op {
            BinaryOp::BitAnd => *byte &= other,
            BinaryOp::BitOr => *byte |= other,
            _ => *byte ^= other,
        }
    }
    Ok(())
}

/// `~bytes`
pub(crate) fn complement<'a>(value: Datum<'_>) -> Datum<'a> {
    let mut bytes = value.into_bytes().into_owned();
    bytes.iter_mut().for_each(|byte| *byte = !*byte);
    Datum::owned(bytes)
}

fn shift(bytes: &mut [u8], count: u64, left: bool) {
    let len = bytes.len();
    let whole = usize::try_from(count / 8).map_or(len, |n| n.min(len));
    let part = (count % 8) as u32;
    // A byte of the result comes from two neighbours, `whole` bytes away.
    let at = |bytes: &[u8], i: Option<usize>| i.and_then(|i| bytes.get(i).copied()).unwrap_or(0);
    let made = |bytes: &[u8], i: usize| {
        if left {
            let pair = u16::from_be_bytes([at(bytes, Some(i + whole)), at(bytes, Some(i + whole + 1))]);
            (pair << part >> 8) as u8
        } else {
            let near = i.checked_sub(whole);
            let far = near.and_then(|near| near.checked_sub(1));
            (u16::from_be_bytes([at(bytes, far), at(bytes, near)]) >> part) as u8
        }
    };
    if left {
        (0..len).for_each(|i| bytes[i] = made(bytes, i));
    } else {
        (0..len).rev().for_each(|i| bytes[i] = made(bytes, i));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shifts_are_those_of_one_long_number() {
        for bytes in [[0x12_u8, 0x34, 0x56, 0x78], [0x80, 0, 0, 0x01], [0xff; 4]] {
            let number = u32::from_be_bytes(bytes);
            for count in 0..40 {
                let expected = |f: fn(u32, u32) -> Option<u32>| f(number, count).unwrap_or(0).to_be_bytes();
                let (mut left, mut right) = (bytes, bytes);
                shift(&mut left, count.into(), true);
                shift(&mut right, count.into(), false);
                assert_eq!(left, expected(u32::checked_shl), "{bytes:x?} << {count}");
                assert_eq!(right, expected(u32::checked_shr), "{bytes:x?} >> {count}");
            }
        }
    }
}
