//! Texts of several collations in one operation, and values of several types in one result.
//!
//! The manual's "Collation Coercibility in Expressions": the strongest operand's collation wins; between equals a `_bin`
//! one, or the Unicode one of two character sets. The losers' texts are converted to the winner's character set.

use crate::error::{self, Result, SqlError};
use crate::expression::functions::Typing;
use crate::expression::{Expr, Node, cast};
use crate::types::expression_type::NOT_FIXED;
use crate::types::{Charset, Coercibility, Collation, Family, Type, code};
use crate::value::Datum;

/// The character set that a value's text is in: numbers and dates print in ASCII, which every set contains.
pub fn charset_of(ty: &Type, typing: Typing) -> Charset {
    match ty.family {
        Family::Json => Charset::Utf8mb4,
        family if family.is_text() => ty.collation.charset(),
        _ => typing.connection.charset(),
    }
}

/// Brings the texts of `list` to one collation to compare them by, and returns it; the connection's if there is no text.
///
/// # Errors
/// 1267 to 1271 if none of their collations is stronger than the others; 3854 for a literal that can't be converted.
pub fn unify(list: &mut [Expr], typing: Typing, operation: &str) -> Result<Collation> {
    let Some(winner) = common_collation(list) else { return Ok(typing.connection) };
    if winner.coercibility != Coercibility::Explicit
        && (has_conflict(list) || winner.coercibility == Coercibility::None)
    {
        return Err(illegal_mix(list, operation));
    }
    adopt(list, winner)
}

/// True if none of two is stronger, though a third one might be stronger than both.
fn has_conflict(list: &[Expr]) -> bool {
    let mut texts = list.iter().filter(|e| e.ty.family.is_text()).map(|e| e.ty);
    let Some(mut best) = texts.next() else { return false };
    texts.any(|ty| {
        let known = best.coercibility != Coercibility::None && ty.coercibility != Coercibility::None;
        best = stronger(best, ty);
        known && best.coercibility == Coercibility::None
    })
}

/// Like [`unify`], for texts that are joined or chosen from: where no collation is stronger, the result has none.
pub fn join(list: &mut [Expr], typing: Typing) -> Result<Collation> {
    match common_collation(list) {
        None => Ok(typing.connection),
        Some(winner) => adopt(list, winner),
    }
}

fn common_collation(list: &[Expr]) -> Option<Type> {
    list.iter().filter(|e| e.ty.family.is_text()).map(|e| e.ty).reduce(stronger)
}

fn adopt(list: &mut [Expr], winner: Type) -> Result<Collation> {
    for expr in list.iter_mut().filter(|e| e.ty.family.is_text()) {
        transcode(expr, winner.collation)?;
        expr.ty.collation = winner.collation;
        if winner.coercibility == Coercibility::None {
            expr.ty.coercibility = Coercibility::None;
        }
    }
    Ok(winner.collation)
}

/// The one whose collation wins; where none does, the set's `_bin` one with coercibility `None`, which loses to all.
fn stronger(a: Type, b: Type) -> Type {
    match (a.coercibility, b.coercibility) {
        (Coercibility::None, Coercibility::None) => return a,
        // The same collation does not make good the lack of one.
        (Coercibility::None, other) if a.collation == b.collation && other != Coercibility::Explicit => {
            return a;
        }
        (other, Coercibility::None) if a.collation == b.collation && other != Coercibility::Explicit => {
            return b;
        }
        (Coercibility::None, _) => return b,
        (_, Coercibility::None) => return a,
        (x, y) if x != y => return if x < y { a } else { b },
        _ if a.collation == b.collation => return a,
        _ => {}
    }
    let unicode = |t: &Type| matches!(t.collation.charset(), Charset::Utf8mb4 | Charset::Utf8mb3);
    let (ca, cb) = (a.collation.charset(), b.collation.charset());
    let by_code = |t: &Type| t.collation.name().ends_with("_bin");
    match (a, b) {
        _ if a.coercibility == Coercibility::Explicit => {}
        _ if ca == Charset::Binary => return a,
        _ if cb == Charset::Binary => return b,
        _ if ca == cb && by_code(&a) && !by_code(&b) => return a,
        _ if ca == cb && by_code(&b) && !by_code(&a) => return b,
        _ if ca == Charset::Utf8mb4 && cb != ca => return a,
        _ if cb == Charset::Utf8mb4 && cb != ca => return b,
        _ if unicode(&a) && !unicode(&b) || cb == Charset::Ascii && ca != cb => return a,
        _ if unicode(&b) && !unicode(&a) || ca == Charset::Ascii && ca != cb => return b,
        _ => {}
    }
    Type { collation: ca.binary_collation(), coercibility: Coercibility::None, ..a }
}

fn illegal_mix(list: &[Expr], operation: &str) -> SqlError {
    let texts = list.iter().map(|e| e.ty).filter(|ty| ty.family.is_text());
    let shown: Vec<String> =
        texts.map(|t| format!("{},{}", t.collation.name(), strength(t.coercibility))).collect();
    match &shown[..] {
        _ if operation == "UNION" => error::CANT_AGGREGATE_NCOLLATIONS.with(&[&operation]),
        [a, b] => error::CANT_AGGREGATE_2COLLATIONS.with(&[a, b, &operation]),
        [a, b, c] => error::CANT_AGGREGATE_3COLLATIONS.with(&[a, b, c, &operation]),
        _ => error::CANT_AGGREGATE_NCOLLATIONS.with(&[&operation]),
    }
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

fn transcode(expr: &mut Expr, to: Collation) -> Result<()> {
    let (from, to) = (expr.ty.collation.charset(), to.charset());
    if from == to || to == Charset::Binary || from == Charset::Ascii {
        return Ok(());
    }
    if from == Charset::Binary {
        // Bytes of no row that are no text of the set are an error once they are needed.
        let may_be_wrong = match expr.as_constant() {
            Some(Datum::Bytes(bytes) | Datum::Bits(bytes)) => to.valid_prefix(bytes) < bytes.len(),
            Some(_) => false,
            None => expr.is_row_independent(),
        };
        if may_be_wrong {
            wrap_transcode(expr, from, to);
        }
        return Ok(());
    }
    if let Node::Constant(Datum::Bytes(text)) = &mut expr.node {
        let (converted, lost) = from.convert(text.clone(), to);
        if lost {
            let shown = crate::value::store::escape(text);
            return Err(error::CANNOT_CONVERT_STRING.with(&[&shown, &from.name(), &to.name()]));
        }
        *text = converted;
        return Ok(());
    }
    wrap_transcode(expr, from, to);
    Ok(())
}

fn wrap_transcode(expr: &mut Expr, from: Charset, to: Charset) {
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
            let code = if a.code == b.code { a.code } else { 0 };
            Type { family: F::Integer, length, code, ..*a }
        }
        // Signed integers hold what smaller ones without a sign hold.
        (F::Integer | F::Year, F::Integer | F::Year) if !is_unsigned_big(a) && !is_unsigned_big(b) => {
            Type { length, ..Type::INT }
        }
        (F::Integer | F::Year | F::Decimal, F::Integer | F::Year | F::Decimal) => digits(),
        (x, y) if x.is_numeric() && y.is_numeric() => {
            let fixed = a.fixed_digits().zip(b.fixed_digits()).map(|(a, b)| a.max(b));
            let is_single = |family, ty: &Type| match family {
                F::Float | F::Year => true,
                // All but INT, whose values FLOAT would cut most often.
                F::Integer => ty.code != code::LONG,
                _ => false,
            };
            let family = if is_single(x, a) && is_single(y, b) { F::Float } else { F::Double };
            Type { family, decimals: fixed.unwrap_or(NOT_FIXED), ..Type::DOUBLE }
        }
        (F::DateTime, F::DateTime) if a.code == b.code => Type { code: a.code, ..Type::datetime(decimals) },
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

fn is_unsigned_big(ty: &Type) -> bool {
    ty.unsigned && ty.family == Family::Integer && matches!(ty.code, 0 | code::LONGLONG)
}

/// The expression, its values converted to `ty`'s family where they are of another, times to its digits of a second.
pub fn coerce(expr: Expr, ty: &Type, typing: Typing) -> Expr {
    let from = plain_family(expr.ty.family);
    let other_digits = expr.ty.decimals != ty.decimals;
    let to = match ty.family {
        Family::Time if from == Family::Time && other_digits => cast::To::Time(ty.decimals),
        Family::DateTime if from == Family::DateTime && other_digits => cast::To::Moment(ty.decimals),
        _ if from == ty.family && expr.ty.family == from || from == Family::Null => return expr,
        Family::Text if expr.ty.family == Family::Label => return expr,
        Family::Integer if ty.unsigned => cast::To::Unsigned,
        Family::Integer => cast::To::Signed,
        Family::Decimal => cast::To::Decimal(65, ty.decimals),
        Family::Double => cast::To::Double,
        Family::Float => cast::To::Float,
        Family::Text => {
            let charset = charset_of(&expr.ty, typing);
            cast::To::Char(charset, ty.collation.charset(), None)
        }
        Family::DateTime if from.is_temporal() => cast::To::Moment(ty.decimals),
        Family::DateTime => cast::To::DateTime(ty.decimals),
        _ => return expr,
    };
    Expr { ty: *ty, node: Node::Cast(to, Box::new(expr)) }
}

/// Gives a decimal's values so many digits behind the point, whichever each of them has.
pub fn with_digits(expr: &mut Expr, digits: u8) {
    let is_so = match &expr.node {
        Node::Column { .. } => expr.ty.decimals == digits,
        Node::Constant(Datum::Decimal(value)) => value.shown() == digits,
        _ => expr.ty.family == Family::Null,
    };
    if !is_so {
        let inner = std::mem::replace(expr, Expr::constant(Datum::Null, Type::NULL));
        let ty = Type { decimals: digits, ..inner.ty };
        *expr = Expr { node: Node::Cast(cast::To::Decimal(65, digits), Box::new(inner)), ty };
    }
}

/// The expression with its values brought to `ty`, character set included.
///
/// # Errors
/// 3854 for a literal that the character set lacks.
pub fn convert(expr: Expr, ty: &Type, typing: Typing) -> Result<Expr> {
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
        transcode(&mut expr, ty.collation)?;
    }
    expr.ty = *ty;
    Ok(expr)
}
