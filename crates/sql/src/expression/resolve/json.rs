//! What JSON operands need: SQL values next to them become JSON, constant documents and paths are
//! read once, and where only text will do they become text.

use std::sync::Arc;

use super::Resolver;
use crate::expression::functions;
use crate::expression::functions::json::value::Answer;
use crate::expression::functions::json::{self, JsonValue, Role};
use crate::expression::{Expr, Node, cast};
use datum::error::{self, Result, SqlError};
use datum::types::{Charset, Coercibility, Collation, DataType, Family, Type, code};
use datum::value::Datum;
use datum::value::json::convert::{self, Origin};
use datum::value::json::{Path, encode};
use syntax::ast::{self, AggregateFunction};

/// A JSON expression as its text; others stay as they are.
pub(super) fn as_text(expr: &mut Expr) {
    if expr.ty.family != Family::Json {
        return;
    }
    let to = cast::To::Char(Charset::Utf8mb4, Charset::Utf8mb4, None);
    let ty = cast::result_type(&to, &Type::JSON, Collation::UTF8MB4_BIN);
    wrap(expr, to, Type { code: code::LONG_BLOB, ..ty });
}

/// True for the aggregates that make one document of a group.
pub(super) fn is_gathering(function: AggregateFunction) -> bool {
    matches!(function, AggregateFunction::JsonArrayAgg | AggregateFunction::JsonObjectAgg)
}

/// A condition: of JSON, IF and CASE take the number that it is.
pub(super) fn as_condition(mut expr: Expr) -> Expr {
    if expr.ty.family == Family::Json {
        wrap(&mut expr, cast::To::Double, Type::DOUBLE);
    }
    expr
}

fn wrap(expr: &mut Expr, to: cast::To, ty: Type) {
    let nullable = expr.ty.nullable;
    let inner = std::mem::replace(expr, Expr::constant(Datum::Null, Type::NULL));
    *expr = Expr { node: Node::Cast(to, Box::new(inner)), ty: Type { nullable, ..ty } };
}

/// Reads constant documents and paths. What is wrong with them is reported when the call is
/// evaluated, if ever.
pub(super) fn prepare(arguments: &mut [Expr], roles: fn(usize) -> Role) {
    for (i, argument) in arguments.iter_mut().enumerate() {
        let Some(Datum::Bytes(text)) = argument.as_constant() else { continue };
        let charset = argument.ty.collation.charset();
        match roles(i) {
            Role::Document => {
                if let Ok(document) = convert::document(Datum::borrowed(text), charset) {
                    let document = Datum::Json(document.into_owned().into());
                    *argument = Expr::constant(document, Type::JSON.not_null());
                }
            }
            Role::Path => {
                if let Ok(text) = convert::utf8(text.as_ref().into(), charset)
                    && let Ok(path) = Path::parse(&text)
                {
                    argument.node = Node::JsonPath(text.into_owned().into(), Arc::new(path));
                }
            }
            _ => {}
        }
    }
}

impl Resolver<'_> {
    /// A SQL value that is compared with JSON becomes JSON; text becomes a string.
    pub(super) fn json_scalar(&mut self, expr: &mut Expr) -> Result<()> {
        if matches!(expr.ty.family, Family::Json | Family::Null) {
            return Ok(());
        }
        let source = Origin::of(&expr.ty);
        if let Some(value) = expr.as_constant() {
            let document = encode(&convert::from_datum(value.borrow(), source)?)?;
            let ty = Type { nullable: expr.ty.nullable, ..Type::JSON };
            let value = if value.is_null() { Datum::Null } else { Datum::Json(document.into()) };
            *expr = Expr::constant(value, ty);
        } else {
            wrap(expr, cast::To::JsonScalar(source), Type::JSON);
        }
        Ok(())
    }

    /// `value MEMBER OF (document)`
    pub(super) fn member_of(&mut self, value: Expr, document: Expr) -> Result<Expr> {
        let mut arguments = vec![value, document];
        let function = &json::MEMBER_OF;
        if let Some(roles) = function.roles {
            prepare(&mut arguments, roles);
        }
        let ty = functions::results::type_of(function, &arguments, self.typing(), Type::BOOL);
        Ok(Expr { node: Node::Call(function, arguments), ty })
    }

    /// What JSON_ARRAYAGG and JSON_OBJECTAGG gather: for each row an array of one element, an
    /// object of one member.
    pub(super) fn gathered(&mut self, ast: &ast::Aggregate) -> Result<Expr> {
        let arguments = self.list(&ast.arguments)?;
        let name = if arguments.len() == 1 { "json_array" } else { "json_object" };
        let function = functions::find(name).ok_or_else(|| SqlError::internal(name))?;
        Ok(Expr { node: Node::Call(function, arguments), ty: Type::JSON.not_null() })
    }

    /// `JSON_VALUE(document, path [RETURNING type] [.. ON EMPTY] [.. ON ERROR])`
    pub(super) fn json_value(&mut self, ast: &ast::JsonValue) -> Result<Expr> {
        let mut arguments = vec![self.expr(&ast.document)?, self.expr(&ast.path)?];
        // Other JSON functions say when they are evaluated.
        if !matches!(arguments[0].ty.family, Family::Text | Family::Json | Family::Null) {
            return Err(error::INVALID_TYPE_FOR_JSON.with(&[&1, &"json_value"]));
        }
        prepare(&mut arguments, |i| if i == 0 { Role::Document } else { Role::Path });
        let path = match &arguments[1].node {
            Node::JsonPath(_, path) => path.clone(),
            Node::Constant(Datum::Bytes(text)) => match Path::parse(text) {
                Ok(path) => Arc::new(path),
                Err(at) => return Err(json::bad_path(at)),
            },
            _ => return Err(SqlError::unsupported("a path of JSON_VALUE() that is no constant")),
        };
        let (returning, ty) = self.returning(ast.returning.as_ref())?;
        let ty = if ty.family.is_text() { Type { coercibility: Coercibility::Literal, ..ty } } else { ty };
        let on_empty = self.answer(ast.on_empty.as_ref(), &returning, &ty)?;
        let on_error = self.answer(ast.on_error.as_ref(), &returning, &ty)?;
        let document = arguments.swap_remove(0);
        let call = JsonValue { document, path, returning, on_empty, on_error };
        Ok(Expr { node: Node::JsonValue(Box::new(call)), ty })
    }

    /// What JSON_VALUE returns: VARCHAR(512) unless a type is named.
    fn returning(&mut self, declared: Option<&ast::DataType>) -> Result<(cast::To, Type)> {
        use ast::DataType as D;
        let connection = self.cx.settings.connection_collation();
        // Told apart by case, unless a character set is named.
        let mut collation = Collation::by_name("utf8mb4_0900_bin").unwrap_or(Collation::UTF8MB4_BIN);
        let to = match declared {
            None => cast::To::Char(Charset::Utf8mb4, Charset::Utf8mb4, Some(512)),
            Some(D::Integer { sign, .. }) if sign.unsigned => cast::To::Unsigned,
            Some(D::Integer { .. }) => cast::To::Signed,
            Some(D::Json) => cast::To::Json(Origin::PLAIN),
            Some(D::Char { length, charset }) => {
                collation = datum::types::resolve_collation(charset, connection)?;
                let length = length.map(|n| n.min(u64::from(u32::MAX)) as u32);
                cast::To::Char(Charset::Utf8mb4, collation.charset(), length)
            }
            Some(other) => {
                let ty = DataType::resolve(other, "json_value", connection)?;
                let to = cast::To::of(&ty);
                to.ok_or_else(|| SqlError::unsupported(format_args!("JSON_VALUE() RETURNING {ty}")))?
            }
        };
        let of = Type { length: u32::MAX, ..Type::NULL };
        let ty = cast::result_type(&to, &of, collation);
        Ok((to, ty))
    }

    fn answer(&mut self, on: Option<&ast::JsonOn>, to: &cast::To, ty: &Type) -> Result<Answer> {
        Ok(match on {
            None | Some(ast::JsonOn::Null) => Answer::Null,
            Some(ast::JsonOn::Error) => Answer::Error,
            Some(ast::JsonOn::Default(default)) => {
                let default = self.expr(default)?;
                let Some(value) = default.as_constant() else {
                    return Err(error::WRONG_ARGUMENTS.with(&[&"DEFAULT"]));
                };
                let value = cast::cast(self.cx, value.clone(), to)?.into_owned();
                Answer::Default(Expr::constant(value, *ty))
            }
        })
    }
}
