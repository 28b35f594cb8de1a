//! Texts of several collations in one operation, and values of several types in one result.
//!
//! The manual's "Collation Coercibility in Expressions": the strongest operand's collation wins;
//! between equals a `_bin` one, or the Unicode one of two character sets. The losers' texts are
//! converted to the winner's character set.

use crate::expression::functions::Typing;
use crate::expression::{Expr, Node, cast};
use datum::bounds::{self, Ticker};
use datum::error::{self, Result, SqlError};
use datum::types::{Charset, Coercibility, Collation, Family, Made, NOT_FIXED, Type, code};
use datum::value::Datum;

/// The character set that a value's text is in: numbers and dates print in ASCII, which every set
/// contains.
pub(crate) fn charset_of(ty: &Type, typing: Typing) -> Charset {
    match ty.family {
        Family::Json => Charset::Utf8mb4,
        family if family.is_text() => ty.collation.charset(),
        _ => typing.connection.charset(),
    }
}

/// Brings the texts of `list` to one collation to compare them by, and returns it; the connection's
/// if there is no text.
///
/// # Errors
/// 1267 to 1271 if none of their collations is stronger than the others; 3854 for a literal that
/// can't be converted.
pub(crate) fn unify(list: &mut [Expr], typing: Typing, operation: &str) -> Result<Collation> {
    bounds::check()?;
    let Some(winner) = common_collation(list) else { return Ok(typing.connection) };
    bounds::check()?;
    // A first text without a collation is not made good by another one of the collation that it was
    // given.
    let first = list.iter().find(|e| e.ty.family.is_text()).map(|e| e.ty);
    let lacks_one = first.is_some_and(|first| {
        first.coercibility == Coercibility::None
            && winner.coercibility != Coercibility::Explicit
            && list.iter().all(|e| !e.ty.family.is_text() || e.ty.collation == first.collation)
    });
    // One text alone is compared as a number or a date.
    if list.iter().filter(|e| e.ty.family.is_text()).count() == 1 {
        return Ok(winner.collation);
    }
    if lacks_one || winner.coercibility == Coercibility::None || explicit_ones_differ(list) {
        return Err(illegal_mix(list, operation));
    }
    adopt(list, winner)
}

/// Like [`unify`], for texts that are joined or chosen from: where no collation is stronger, the
/// result has none.
///
/// # Errors
/// 1267 to 1271 if several are said by COLLATE, and differ, or if two order by codes, one of them
/// padding with spaces.
pub(crate) fn join(list: &mut [Expr], typing: Typing, operation: &str) -> Result<Collation> {
    match joined_collation(list) {
        None => Ok(typing.connection),
        Some(_) if explicit_ones_differ(list) || codes_differ(list) => Err(illegal_mix(list, operation)),
        Some(winner) => adopt(list, winner),
    }
}

/// The texts whose collations are the strongest ones.
fn strongest(list: &[Expr]) -> impl Iterator<Item = Type> + '_ {
    let texts = || list.iter().map(|e| e.ty).filter(|ty| ty.family.is_text());
    let most = texts().map(|ty| weakness(ty.coercibility)).min();
    texts().filter(move |ty| Some(weakness(ty.coercibility)) == most)
}

/// The lack of a collation is weaker than any.
fn weakness(coercibility: Coercibility) -> u8 {
    if coercibility == Coercibility::None { u8::MAX } else { coercibility as u8 }
}

fn common_collation(list: &[Expr]) -> Option<Type> {
    strongest(list).reduce(stronger)
}

/// The same for texts that are joined, one after the other: where two are as strong and none of
/// them wins, a third one does that is as strong, but not a weaker one.
fn joined_collation(list: &[Expr]) -> Option<Type> {
    let mut texts = list.iter().map(|e| e.ty).filter(|ty| ty.family.is_text());
    let mut best = texts.next()?;
    let mut level = weakness(best.coercibility);
    for ty in texts {
        let weak = weakness(ty.coercibility);
        if best.coercibility == Coercibility::None {
            // The `_bin` collation that stands for none is not taken for that of a column.
            let is_stand_in = weak == level && level < u8::MAX && ty.collation == best.collation;
            if weak <= level && ty.coercibility != Coercibility::None && !is_stand_in {
                (best, level) = (ty, weak);
            }
        } else if weak < level {
            (best, level) = (ty, weak);
        } else if weak == level {
            best = stronger(best, ty);
        }
    }
    Some(best)
}

fn explicit_ones_differ(list: &[Expr]) -> bool {
    let mut texts = strongest(list);
    let Some(first) = texts.next() else { return false };
    first.coercibility == Coercibility::Explicit && texts.any(|ty| ty.collation != first.collation)
}

/// True if collations that order by codes differ: of the same character set one pads with spaces,
/// the other doesn't.
fn codes_differ(list: &[Expr]) -> bool {
    let mut by_code = strongest(list).filter(orders_by_code);
    let Some(first) = by_code.next() else { return false };
    by_code.any(|ty| ty.collation != first.collation && ty.collation.charset() == first.collation.charset())
}

fn orders_by_code(ty: &Type) -> bool {
    ty.collation.name().ends_with("_bin")
}

fn adopt(list: &mut [Expr], winner: Type) -> Result<Collation> {
    let mut ticker = Ticker::default();
    for expr in list.iter_mut().filter(|e| e.ty.family.is_text()) {
        ticker.step()?;
        transcode(expr, winner.collation)?;
        take_collation(expr, winner.collation);
        if winner.coercibility == Coercibility::None || expr.ty.coercibility == Coercibility::None {
            expr.ty.coercibility = winner.coercibility;
        }
    }
    Ok(winner.collation)
}

/// The collation of a value's text; that of what is none is the connection's, that of bits and NULL
/// is `binary`.
pub(crate) fn collation_of(ty: &Type, typing: Typing) -> Collation {
    match ty.family {
        Family::Null | Family::Bit => Collation::BINARY,
        family if family.is_text() => ty.collation,
        _ => typing.connection,
    }
}

/// A text converted to another collation's character set. Bytes have to be text of it. Constant
/// numbers become texts.
///
/// # Errors
/// 3854 for a literal that the character set lacks; for other texts the expression gives it.
pub(crate) fn convert_text(expr: &mut Expr, collation: Collation) -> Result<()> {
    if let Some(number) = expr.as_constant().filter(|_| expr.ty.family.is_numeric()) {
        let text = number.to_bytes().into_owned();
        let ty = Type::text(collation, Coercibility::Literal, text.len() as u32).not_null();
        *expr = Expr::constant(Datum::owned(text), ty);
        return Ok(());
    }
    if !expr.ty.family.is_text() {
        return Ok(());
    }
    let (from, to) = (expr.ty.collation.charset(), collation.charset());
    if from == Charset::Binary && to != from && expr.as_constant().is_none() {
        wrap_transcode(expr, from, to);
    } else {
        transcode(expr, collation)?;
    }
    take_collation(expr, collation);
    Ok(())
}

/// What becomes bytes is as long as its characters' bytes.
fn take_collation(expr: &mut Expr, collation: Collation) {
    if collation == Collation::BINARY {
        // The text of a document has no end.
        let is_document = expr.ty.length == Type::JSON.length;
        expr.ty.length = if is_document { u32::MAX } else { expr.ty.byte_length() };
    }
    expr.ty.collation = collation;
}

/// Of two that are as strong: the one whose collation wins. Where none does, the set's `_bin` one
/// with coercibility `None`.
fn stronger(a: Type, b: Type) -> Type {
    let (ca, cb) = (a.collation.charset(), b.collation.charset());
    let unicode = |t: &Type| matches!(t.collation.charset(), Charset::Utf8mb4 | Charset::Utf8mb3);
    match (a, b) {
        _ if a.coercibility == Coercibility::None && cb != Charset::Binary => return a,
        _ if a.collation == b.collation => return a,
        _ if a.coercibility == Coercibility::Explicit => {}
        _ if ca == Charset::Binary => return a,
        _ if cb == Charset::Binary => return b,
        _ if ca == cb && orders_by_code(&a) && !orders_by_code(&b) => return a,
        _ if ca == cb && orders_by_code(&b) && !orders_by_code(&a) => return b,
        _ if ca == Charset::Utf8mb4 && cb != ca => return a,
        _ if cb == Charset::Utf8mb4 && cb != ca => return b,
        _ if unicode(&a) && !unicode(&b) || cb == Charset::Ascii && ca != cb => return a,
        _ if unicode(&b) && !unicode(&a) || ca == Charset::Ascii && ca != cb => return b,
        _ => {}
    }
    Type { collation: ca.binary_collation(), coercibility: Coercibility::None, ..a }
}

/// Error 1267 for a text that is to be compared with others of its kind, where it is made of
/// several that don't go together.
pub(crate) fn check_order(expr: &Expr, operation: &str) -> Result<()> {
    let is_mixed = expr.ty.family.is_text() && expr.ty.coercibility == Coercibility::None;
    if is_mixed { Err(illegal_mix(&[expr.clone(), expr.clone()], operation)) } else { Ok(()) }
}

fn illegal_mix(list: &[Expr], operation: &str) -> SqlError {
    // Lists that are compared are reported with the numbers among them, functions without those of
    // their operands.
    let has_numbers = matches!(operation, "case" | " IN " | "between");
    let shown = |ty: &Type| match ty.family {
        family if family.is_text() => Some(format!("{},{}", ty.collation.name(), strength(ty.coercibility))),
        Family::Null => Some("binary,NULL".to_owned()),
        _ => has_numbers.then(|| "latin1_swedish_ci,NUMERIC".to_owned()),
    };
    let shown: Vec<String> = list.iter().filter_map(|e| shown(&e.ty)).collect();
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
            let shown = datum::value::store::escape(text);
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
pub(crate) fn common_type<'t>(types: impl Iterator<Item = &'t Type> + Clone, connection: Collation) -> Type {
    let mut common: Option<Type> = None;
    for ty in types.clone().filter(|t| t.family != Family::Null) {
        common = Some(match common {
            None => Type { family: plain_family(ty.family), ..ty.computed() },
            Some(so_far) => pair_type(&so_far, ty, connection),
        });
    }
    let nullable = types.clone().any(|t| t.nullable || t.family == Family::Null);
    let mut common = common.map_or(Type::NULL, |ty| chosen_alone(&ty));
    let of_bits = |t: &Type| t.family == Family::Bit;
    if common.family == Family::Text
        && common.coercibility >= Coercibility::Implicit
        && types.clone().any(of_bits)
    {
        let length = types.map(Type::byte_length).max().unwrap_or(0);
        common =
            Type { length, code: common.code, ..Type::text(Collation::BINARY, Coercibility::Implicit, 0) };
    }
    // A truth value that was chosen is a number to JSON.
    Type { nullable, boolean: false, ..common }
}

/// The type of what was chosen: numbers lose their column's width, and literals of bits are bytes.
pub(crate) fn chosen_alone(ty: &Type) -> Type {
    if ty.family == Family::Text {
        return Type { decimals: NOT_FIXED, unsigned: false, made: Made::ByLength, ..*ty };
    }
    let is_free = matches!(ty.family, Family::Double | Family::Float) && ty.decimals == NOT_FIXED;
    let length = if is_free { Type::DOUBLE.length } else { ty.length };
    Type { family: plain_family(ty.family), length, boolean: false, ..ty.computed() }
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
        (F::Year, F::Year) => *a,
        (F::Integer | F::Year, F::Integer | F::Year) if a.unsigned == b.unsigned => {
            Type { family: F::Integer, length, code: larger_integer(a, b), ..*a }
        }
        // Signed integers hold what smaller ones without a sign hold.
        (F::Integer | F::Year, F::Integer | F::Year) if !is_unsigned_big(a) && !is_unsigned_big(b) => {
            let is_year = fa == F::Year || fb == F::Year;
            let code = if is_year { larger_integer(a, b) } else { 0 };
            Type { length, code, ..Type::INT }
        }
        (F::Integer | F::Year | F::Decimal, F::Integer | F::Year | F::Decimal) => digits(),
        (x, y) if x.is_numeric() && y.is_numeric() => {
            let fixed = a.fixed_digits().zip(b.fixed_digits()).map(|(a, b)| a.max(b));
            // INT's values FLOAT would cut; of BIGINT, MySQL thinks so only where it comes first.
            let is_single = |family, ty: &Type, is_first: bool| match family {
                F::Float | F::Year => true,
                F::Integer if is_first => matches!(ty.code, code::TINY | code::SHORT | code::INT24),
                F::Integer => ty.code != code::LONG,
                _ => false,
            };
            let both = is_single(x, a, true) && is_single(y, b, false);
            let family = if both { F::Float } else { F::Double };
            match fixed {
                None => Type { family, ..Type::DOUBLE },
                Some(decimals) => {
                    let before = |t: &Type| t.length.saturating_sub(t.decimals.into());
                    let length = before(a).max(before(b)) + u32::from(decimals);
                    Type { family, ..Type::fixed_double(length, decimals) }
                }
            }
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
            let length = match collation {
                Collation::BINARY => a.byte_length().max(b.byte_length()),
                _ => a.text_length().max(b.text_length()),
            };
            Type { code: longer_text(a, b), ..Type::text(collation, coercibility, length) }
        }
    }
}

/// The type that holds the integers of both: by their columns' sizes, BIGINT if one is computed.
fn larger_integer(a: &Type, b: &Type) -> u8 {
    let rank = |ty: &Type| match ty.code {
        code::TINY => 0,
        // A YEAR has two bytes.
        _ if ty.family == Family::Year => 1,
        code::SHORT => 1,
        code::INT24 => 2,
        code::LONG => 3,
        _ => 4,
    };
    let larger = if rank(a) >= rank(b) { a } else { b };
    if larger.family == Family::Year { code::SHORT } else { larger.code }
}

/// True for CHAR, ENUM and SET, and for what is no text.
fn is_of_fixed_length(ty: &Type) -> bool {
    let is_label = matches!(ty.code, code::STRING | code::ENUM | code::SET);
    ty.family != Family::Text && ty.family != Family::Json || is_label
}

/// A choice between texts is described as a BLOB if one of them is, and as CHAR if none of them
/// varies.
fn longer_text(a: &Type, b: &Type) -> u8 {
    let is = |code| a.code == code && a.family.is_text() || b.code == code && b.family.is_text();
    match () {
        () if is(code::LONG_BLOB) => code::LONG_BLOB,
        () if is(code::BLOB) => code::BLOB,
        () if is(code::STRING) && [a, b].iter().all(|ty| is_of_fixed_length(ty)) => code::STRING,
        () => 0,
    }
}

fn is_unsigned_big(ty: &Type) -> bool {
    let is_big = ty.family == Family::Integer && matches!(ty.code, 0 | code::LONGLONG);
    ty.unsigned && (is_big || ty.family == Family::Bit)
}

/// The expression, its values converted to `ty`'s family where they are of another, times to its
/// digits of a second.
pub(crate) fn coerce(expr: Expr, ty: &Type, typing: Typing) -> Expr {
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

/// Gives a decimal's values so many digits after the point, whichever each of them has.
pub(crate) fn with_digits(expr: &mut Expr, digits: u8) {
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
pub(crate) fn convert(expr: Expr, ty: &Type, typing: Typing) -> Result<Expr> {
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
