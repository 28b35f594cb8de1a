//! The JSON functions, and what they share: documents, paths and values as arguments.
//!
//! A document argument is a JSON value or text; constant text is parsed, and a constant path
//! compiled, when the call is resolved ([`Role`]).
//!
//! - [`inspect`]: what reads documents. [`make`]: what makes and merges them. [`change`]: what
//!   changes them at paths. [`search`]: JSON_SEARCH. [`value`]: JSON_VALUE.

pub(crate) mod change;
pub(crate) mod inspect;
pub(crate) mod make;
pub(crate) mod search;
pub(crate) mod value;

use std::borrow::Cow;

pub(crate) use value::JsonValue;

use super::{Call, Function, MANY, Typing, bounded, f, int};
use crate::expression::{Expr, Node};
use crate::session::Context;
use datum::error::{self, Result, SqlError};
use datum::types::{Charset, Coercibility, Collation, Type};
use datum::value::Datum;
use datum::value::json::convert::{self, Origin, Unsuitable};
use datum::value::json::{self, Json, ParseError, Path, Tree};

/// What an argument is to a JSON function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// A document, or its text.
    Document,
    /// Text such as `$.a[0]`.
    Path,
    /// A SQL value that becomes JSON; text becomes a string.
    Value,
    /// A value that belongs to the argument before it: a call may not end there.
    PairedValue,
    /// Anything else.
    Plain,
}

fn documents(_: usize) -> Role {
    Role::Document
}

fn values(_: usize) -> Role {
    Role::Value
}

fn plain(_: usize) -> Role {
    Role::Plain
}

/// A document, then paths.
fn paths(i: usize) -> Role {
    if i == 0 { Role::Document } else { Role::Path }
}

/// A document, then paths with values.
fn path_values(i: usize) -> Role {
    match i {
        0 => Role::Document,
        i if i % 2 == 1 => Role::Path,
        _ => Role::PairedValue,
    }
}

fn name_values(i: usize) -> Role {
    if i.is_multiple_of(2) { Role::Plain } else { Role::PairedValue }
}

/// Two documents, then a path.
fn two_documents(i: usize) -> Role {
    if i < 2 { Role::Document } else { Role::Path }
}

/// A document, a word, then paths.
fn word_paths(i: usize) -> Role {
    match i {
        0 => Role::Document,
        1 => Role::Plain,
        _ => Role::Path,
    }
}

/// A document, a word, a pattern, its escape, then paths.
fn search_roles(i: usize) -> Role {
    match i {
        0 => Role::Document,
        1..=3 => Role::Plain,
        _ => Role::Path,
    }
}

/// A value, then a document.
fn member_roles(i: usize) -> Role {
    if i == 0 { Role::Value } else { Role::Document }
}

fn json_type(_: &[Expr], _: &Typing) -> Type {
    Type::JSON
}

fn boolean(_: &[Expr], _: &Typing) -> Type {
    Type::BOOL
}

/// What JSON_PRETTY makes is no longer than this, in characters.
const PRETTY_MAX: u32 = 16 * 1024 * 1024;

fn pretty_text(_: &[Expr], _: &Typing) -> Type {
    Type::text(Collation::UTF8MB4_BIN, Coercibility::Literal, PRETTY_MAX)
}

/// A text with all characters escaped, as `\u1234`, and quoted.
fn quoted_text(arguments: &[Expr], _: &Typing) -> Type {
    let length = arguments[0].ty.text_length().saturating_mul(6).saturating_add(2);
    Type::text(Collation::UTF8MB4_BIN, Coercibility::Literal, length)
}

fn unquoted_text(arguments: &[Expr], _: &Typing) -> Type {
    Type::text(Collation::UTF8MB4_BIN, Coercibility::Literal, arguments[0].ty.text_length())
}

fn short_text(_: &[Expr], _: &Typing) -> Type {
    Type::text(Collation::UTF8MB4_BIN, Coercibility::Literal, 17)
}

/// The JSON functions with plain arguments.
pub(crate) static FUNCTIONS: &[Function] = &[
    f("json_array", (0, MANY), json_type, make::array).with_roles(values),
    f("json_array_append", (3, MANY), json_type, change::array_append).with_roles(path_values),
    f("json_array_insert", (3, MANY), json_type, change::array_insert).with_roles(path_values),
    f("json_contains", (2, 3), boolean, inspect::contains).with_roles(two_documents),
    f("json_contains_path", (3, MANY), boolean, inspect::contains_path).with_roles(word_paths),
    f("json_depth", (1, 1), int, inspect::depth).with_roles(documents),
    f("json_extract", (2, MANY), json_type, inspect::extract).with_roles(paths),
    f("json_insert", (3, MANY), json_type, change::insert).with_roles(path_values),
    f("json_keys", (1, 2), json_type, inspect::keys).with_roles(paths),
    f("json_length", (1, 2), int, inspect::length).with_roles(paths),
    f("json_merge", (2, MANY), json_type, make::merge).with_roles(documents),
    f("json_merge_patch", (2, MANY), json_type, make::merge_patch).with_roles(documents),
    f("json_merge_preserve", (2, MANY), json_type, make::merge_preserve).with_roles(documents),
    f("json_object", (0, MANY), json_type, make::object).with_roles(name_values),
    f("json_overlaps", (2, 2), boolean, inspect::overlaps).with_roles(documents),
    f("json_pretty", (1, 1), pretty_text, inspect::pretty).with_roles(documents),
    f("json_quote", (1, 1), quoted_text, make::quote).with_roles(plain),
    f("json_remove", (2, MANY), json_type, change::remove).with_roles(paths),
    f("json_replace", (3, MANY), json_type, change::replace).with_roles(path_values),
    f("json_search", (3, MANY), json_type, search::search).with_roles(search_roles),
    f("json_set", (3, MANY), json_type, change::set).with_roles(path_values),
    f("json_storage_free", (1, 1), int, inspect::storage_free).with_roles(documents),
    f("json_storage_size", (1, 1), int, inspect::storage_size).with_roles(documents),
    f("json_type", (1, 1), short_text, inspect::type_name).with_roles(documents),
    f("json_unquote", (1, 1), unquoted_text, make::unquote).with_roles(plain),
    f("json_valid", (1, 1), boolean, inspect::valid).with_roles(plain),
];

/// `value MEMBER OF (document)`, which the grammar knows apart.
pub(crate) static MEMBER_OF: Function =
    f("member of", (2, 2), boolean, inspect::member_of).with_roles(member_roles);

/// The document that an argument is; the errors name the argument, from 1, and the function.
pub(crate) fn document<'a>(
    value: Datum<'a>,
    charset: Charset,
    argument: usize,
    function: &str,
) -> Result<Cow<'a, [u8]>> {
    convert::document(value, charset).map_err(|e| unsuitable(e, argument, function))
}

fn unsuitable(e: Unsuitable, argument: usize, function: &str) -> SqlError {
    match e {
        Unsuitable::Text(ParseError::Syntax(message, at)) => {
            error::INVALID_JSON_TEXT_IN_PARAM.with(&[&argument, &function, &message, &at])
        }
        Unsuitable::Text(ParseError::TooDeep) => error::JSON_DOCUMENT_TOO_DEEP.plain(),
        Unsuitable::Text(ParseError::Ended) => datum::bounds::ended(),
        Unsuitable::Binary => error::INVALID_JSON_CHARSET.with(&[&"binary"]),
        Unsuitable::NoText => error::INVALID_TYPE_FOR_JSON.with(&[&argument, &function]),
        Unsuitable::Other(e) => e,
    }
}

impl<'a> Call<'a> {
    /// A document argument; `None` for NULL.
    fn document(&self, cx: &mut Context, i: usize, function: &str) -> Result<Option<Cow<'a, [u8]>>> {
        let value = self.value(cx, i)?;
        if value.is_null() {
            return Ok(None);
        }
        let charset = Origin::of(&self.arguments[i].ty).charset;
        document(value, charset, i + 1, function).map(Some)
    }

    /// A path argument; `None` for NULL.
    fn path(&self, cx: &mut Context, i: usize) -> Result<Option<Cow<'a, Path>>> {
        match &self.arguments[i].node {
            Node::JsonPath(_, path) => Ok(Some(Cow::Borrowed(path))),
            _ => match self.text(cx, i)? {
                None => Ok(None),
                Some(text) => {
                    let charset = Origin::of(&self.arguments[i].ty).charset;
                    let text = convert::utf8(text, charset)?;
                    Path::parse(&text).map(|p| Some(Cow::Owned(p))).map_err(bad_path)
                }
            },
        }
    }

    /// A path argument without wildcards; `None` for NULL.
    fn single_path(&self, cx: &mut Context, i: usize) -> Result<Option<Cow<'a, Path>>> {
        let path = self.path(cx, i)?;
        if path.as_ref().is_some_and(|p| p.is_multiple()) {
            return Err(error::INVALID_JSON_PATH_WILDCARD.plain());
        }
        Ok(path)
    }

    /// A value argument as JSON. `before` are the bytes of the values before it: all of them are in
    /// what is made.
    fn json(&self, cx: &mut Context, i: usize, before: &mut usize) -> Result<Tree<'a>> {
        let value = self.arguments[i].eval_with_own_digits(cx, self.row)?;
        add_up(cx, before, value.text_len())?;
        convert::from_datum(value, Origin::of(&self.arguments[i].ty))
    }

    /// True for `all`, false for `one`; `None` for NULL.
    fn one_or_all(&self, cx: &mut Context, i: usize, function: &str) -> Result<Option<bool>> {
        match self.text(cx, i)? {
            None => Ok(None),
            Some(word) if word.eq_ignore_ascii_case(b"all") => Ok(Some(true)),
            Some(word) if word.eq_ignore_ascii_case(b"one") => Ok(Some(false)),
            Some(_) => Err(error::JSON_BAD_ONE_OR_ALL_ARG.with(&[&function])),
        }
    }
}

/// The error of a path that is none.
pub(crate) fn bad_path(at: usize) -> SqlError {
    error::INVALID_JSON_PATH.with(&[&at])
}

/// Adds the bytes of what becomes a part of a document to those of the parts before it; error 1301
/// if they are too many.
fn add_up(cx: &Context, before: &mut usize, bytes: usize) -> Result<()> {
    *before = before.saturating_add(bytes);
    if *before > cx.settings.max_allowed_packet() { Err(bounded::document_too_long(cx)) } else { Ok(()) }
}

/// A document that was made, if it is not too long.
fn finish<'a>(cx: &Context, tree: &Tree<'_>) -> Result<Datum<'a>> {
    match json::encode_within(tree, cx.settings.max_allowed_packet())? {
        Some(document) => Ok(Datum::Json(document.into())),
        None => Err(bounded::document_too_long(cx)),
    }
}

/// A part of a document as a document.
fn own<'a>(value: Json<'_>) -> Result<Datum<'a>> {
    let mut out = Vec::new();
    value.write_document(&mut out).map_err(json::damaged)?;
    Ok(Datum::Json(out.into()))
}

/// Several values as an array; NULL if there are none.
fn array_of<'a>(cx: &Context, found: Vec<Json<'_>>) -> Result<Datum<'a>> {
    if found.is_empty() {
        return Ok(Datum::Null);
    }
    finish(cx, &Tree::Array(found.into_iter().map(Tree::Stored).collect()))
}
