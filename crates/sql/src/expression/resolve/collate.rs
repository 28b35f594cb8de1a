//! Texts of several collations in one operation, and values of several types in one result.
//!
//! The manual's "Collation Coercibility in Expressions": the strongest operand's collation wins; between equals a `_bin`
//! one, or the Unicode one of two character sets. The losers' texts are converted to the winner's character set.

use crate::error::{self, Result};
use crate::expression::functions::Typing;
use crate::expression::{Expr, Node, cast};
use crate::types::expression_type::NOT_FIXED;
use crate::types::{Charset, Coercibility, Collation, Family, Type};
use crate::value::Datum;

/// The character set that a value's text is in: numbers and dates print in ASCII, which every set contains.
pub fn charset_of(ty: &Type, typing: Typing) -> Charset {
    match ty.family {
        Family::Json => Charset::Utf8mb4,
        family if family.is_text() => ty.collation.charset(),
        _ => typing.connection.charset(),
    }
}

/// Brings the texts of `list` to one collation, and returns it; the connection's if there is no text.
pub fn unify(list: &mut [Expr], typing: Typing, operation: &str) -> Result<Collation> {
    let mut winner: Option<Type> = None;
    for ty in list.iter().filter(|e| e.ty.family.is_text()).map(|e| e.ty) {
        winner = Some(match winner {
            None => ty,
            Some(best) => stronger(best, ty, operation)?,
        });
    }
    let Some(winner) = winner else { return Ok(typing.connection) };
    for expr in list.iter_mut().filter(|e| e.ty.family.is_text()) {
        transcode(expr, winner.collation);
        expr.ty.collation = winner.collation;
    }
    Ok(winner.collation)
}

fn stronger(a: Type, b: Type, operation: &str) -> Result<Type> {
    if a.collation == b.collation {
        return Ok(if a.coercibility <= b.coercibility { a } else { b });
    }
    if a.coercibility != b.coercibility {
        return Ok(if a.coercibility < b.coercibility { a } else { b });
    }
    let unicode = |t: &Type| matches!(t.collation.charset(), Charset::Utf8mb4 | Charset::Utf8mb3);
    let (ca, cb) = (a.collation.charset(), b.collation.charset());
    match (a, b) {
        _ if a.coercibility == Coercibility::Explicit => {}
        _ if ca == Charset::Binary => return Ok(a),
        _ if cb == Charset::Binary => return Ok(b),
        _ if ca == cb && a.collation == ca.binary_collation() => return Ok(a),
        _ if ca == cb && b.collation == cb.binary_collation() => return Ok(b),
        _ if ca == Charset::Utf8mb4 && cb != ca => return Ok(a),
        _ if cb == Charset::Utf8mb4 && cb != ca => return Ok(b),
        _ if unicode(&a) && !unicode(&b) || cb == Charset::Ascii && ca != cb => return Ok(a),
        _ if unicode(&b) && !unicode(&a) || ca == Charset::Ascii && ca != cb => return Ok(b),
        _ => {}
    }
    let show = |t: &Type| format!("{},{}", t.collation.name(), strength(t.coercibility));
    Err(error::CANT_AGGREGATE_2COLLATIONS.with(&[&show(&a), &show(&b), &operation]))
}

fn strength(c: Coercibility) -> &'static str {
    match c {
        Coercibility::Explicit => "EXPLICIT",
        Coercibility::None => "NONE",
        Coercibility::Implicit => "IMPLICIT",
        Coercibility::System => "SYSCONST",
        Coercibility::Literal => "COERCIBLE",
        Coercibility::Numeric => "NUMERIC",
        Coercibility::Ignorable => "IGNORABLE",
    }
}

fn transcode(expr: &mut Expr, to: Collation) {
    let (from, to) = (expr.ty.collation.charset(), to.charset());
    if from == to || to == Charset::Binary || from == Charset::Binary || from == Charset::Ascii {
        return;
    }
    if let Node::Constant(Datum::Bytes(text)) = &mut expr.node {
        *text = from.convert(std::mem::take(text), to).0;
        return;
    }
    let inner = std::mem::replace(&mut expr.node, Node::Constant(Datum::Null));
    let inner = Expr { node: inner, ty: expr.ty };
    expr.node = Node::Transcode(from, to, Box::new(inner));
}

/// The type that holds the values of all of `types`, as CASE, IF, COALESCE and the like have it.
pub fn common_type<'t>(types: impl Iterator<Item = &'t Type> + Clone, connection: Collation) -> Type {
    let mut common: Option<Type> = None;
    for ty in types.clone().filter(|t| t.family != Family::Null) {
        common = Some(match common {
            None => Type { family: plain_family(ty.family), ..*ty },
            Some(so_far) => pair_type(&so_far, ty, connection),
        });
    }
    let nullable = types.clone().any(|t| t.nullable || t.family == Family::Null);
    Type { nullable, ..common.unwrap_or(Type::NULL) }
}

/// Labels and bits are text and numbers once they leave their column.
fn plain_family(family: Family) -> Family {
    match family {
        Family::Label => Family::Text,
        Family::Bit => Family::Integer,
        Family::Float => Family::Double,
        other => other,
    }
}

fn pair_type(a: &Type, b: &Type, connection: Collation) -> Type {
    use Family as F;
    let (fa, fb) = (plain_family(a.family), plain_family(b.family));
    let length = a.length.max(b.length);
    let decimals = a.decimals.max(b.decimals);
    let digits = || {
        let scale = |t: &Type| if t.decimals == NOT_FIXED { 0 } else { t.decimals };
        let scale = scale(a).max(scale(b));
        Type::decimal((a.integer_digits().max(b.integer_digits()) + u32::from(scale)).min(65), scale)
    };
    match (fa, fb) {
        (F::Json, F::Json) => Type::JSON,
        (F::Integer | F::Year, F::Integer | F::Year) if a.unsigned == b.unsigned => {
            Type { family: F::Integer, length, ..*a }
        }
        (F::Integer | F::Year | F::Decimal, F::Integer | F::Year | F::Decimal) => digits(),
        (x, y) if x.is_numeric() && y.is_numeric() => Type::DOUBLE,
        (F::Date, F::Date) => Type::DATE,
        (F::Time, F::Time) => Type::time(decimals),
        (F::Date | F::Time | F::DateTime, F::Date | F::Time | F::DateTime) => Type::datetime(decimals),
        _ => {
            let text = |t: &Type| t.family.is_text() || t.family == F::Json;
            let (collation, coercibility) = match (text(a), text(b)) {
                (true, true) if b.coercibility < a.coercibility => (b.collation, b.coercibility),
                (true, _) => (a.collation, a.coercibility),
                (_, true) => (b.collation, b.coercibility),
                _ => (connection, Coercibility::Literal),
            };
            Type::text(collation, coercibility, length)
        }
    }
}

/// The expression, its values converted to `ty`'s family where they are of another.
pub fn coerce(expr: Expr, ty: &Type, typing: Typing) -> Expr {
    let from = plain_family(expr.ty.family);
    let to = match ty.family {
        _ if from == ty.family && expr.ty.family == from || from == Family::Null => return expr,
        Family::Text if expr.ty.family == Family::Label => return expr,
        Family::Integer if ty.unsigned => cast::To::Unsigned,
        Family::Integer => cast::To::Signed,
        Family::Decimal => cast::To::Decimal(65, ty.decimals),
        Family::Double => cast::To::Double,
        Family::Text => {
            let charset = charset_of(&expr.ty, typing);
            cast::To::Char(charset, ty.collation.charset(), None)
        }
        Family::DateTime => cast::To::DateTime(ty.decimals),
        _ => return expr,
    };
    Expr { ty: *ty, node: Node::Cast(to, Box::new(expr)) }
}

/// The expression with its values brought to `ty`, character set included.
pub fn convert(expr: Expr, ty: &Type, typing: Typing) -> Expr {
    let mut expr = if expr.ty.family == Family::Label && ty.family == Family::Text {
        let charset = charset_of(&expr.ty, typing);
        Expr {
            node: Node::Cast(cast::To::Char(charset, charset, None), Box::new(expr.clone())),
            ty: Type { family: Family::Text, ..expr.ty },
        }
    } else {
        coerce(expr, ty, typing)
    };
    if expr.ty.family == Family::Text && ty.family == Family::Text {
        transcode(&mut expr, ty.collation);
    }
    expr.ty = *ty;
    expr
}
