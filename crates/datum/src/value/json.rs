//! JSON values: a document travels through a statement in MySQL's binary form, as it lies in its
//! row image.
//!
//! Reading ([`binlog::row::json::Json`]) looks at what is asked for and copies nothing; making and
//! changing goes through a [`Tree`], which copies what it does not touch. The binary form is the
//! binary log's business; here stands what SQL makes of it.
//!
//! - [`parse`]: text to a tree, with MySQL's words for what is wrong. [`path`]: `$.a[last]`, and
//!   what it finds. [`edit`]: changes at a path. [`merge`]: two documents become one. [`compare`]:
//!   MySQL's order of all JSON values, as comparison and as sort key. [`convert`]: between JSON and
//!   SQL values. [`table`]: the rows of JSON_TABLE.

pub mod compare;
pub mod convert;
pub mod edit;
pub mod merge;
mod parse;
pub mod path;
pub mod table;
#[cfg(test)]
mod tests;

pub use binlog::row::json::{
    Container, EncodeError, Json, Node, Tree, write_pretty, write_quoted, write_text,
};
pub use parse::{ParseError, parse};
pub use path::Path;

use crate::error::{self, Result, SqlError};

/// The document's bytes; 3157 if it is nested too deeply, 3151 for a key that is too long.
pub fn encode(tree: &Tree<'_>) -> Result<Vec<u8>> {
    encode_within(tree, usize::MAX)?.ok_or_else(|| error::JSON_VALUE_TOO_BIG.plain())
}

/// The same; `None` if they are more than `max`.
pub fn encode_within(tree: &Tree<'_>, max: usize) -> Result<Option<Vec<u8>>> {
    let goes_on = || crate::bounds::check().is_ok();
    match tree.encode_within(max, &goes_on) {
        Ok(document) => Ok(Some(document)),
        Err(EncodeError::GivenUp) => crate::bounds::check().map(|()| None),
        Err(EncodeError::TooDeep) => Err(error::JSON_DOCUMENT_TOO_DEEP.plain()),
        Err(EncodeError::KeyTooLong) => Err(error::JSON_KEY_TOO_BIG.plain()),
        Err(EncodeError::TooBig) => Err(error::JSON_VALUE_TOO_BIG.plain()),
        Err(EncodeError::Damaged(e)) => Err(damaged(e)),
    }
}

/// The root of a document.
pub fn root(document: &[u8]) -> Result<Json<'_>> {
    Json::document(document).map_err(damaged)
}

/// The error of a stored document that is none.
pub fn damaged(e: binlog::row::RowError) -> SqlError {
    SqlError::internal(format_args!("a stored JSON document is damaged: {e}"))
}

/// True unless the document is the number 0, as a condition has it.
pub(crate) fn is_true(document: &[u8]) -> bool {
    let zero = |node: &Node<'_>| match node {
        Node::Int(v) => *v == 0,
        Node::UInt(v) => *v == 0,
        Node::Double(v) => *v == 0.0,
        Node::Opaque(binlog::row::code::NEWDECIMAL, bytes) => {
            convert::decimal(bytes).is_some_and(|d| d.is_zero())
        }
        _ => false,
    };
    !Json::document(document).and_then(|root| root.node()).is_ok_and(|node| zero(&node))
}

/// A document's text.
pub fn to_text(document: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(document.len() + document.len() / 4);
    // A damaged document ends where the damage is.
    write_text(document, &mut out).unwrap_or_default();
    out
}

/// The string that a document is, without quotes; the text of any other.
pub fn unquoted(document: &[u8]) -> std::borrow::Cow<'_, [u8]> {
    match root(document).map(|root| root.node()) {
        Ok(Ok(Node::String(text))) => text.into(),
        Ok(Ok(Node::Opaque(..))) => {
            let text = to_text(document);
            match text.strip_prefix(b"\"").and_then(|t| t.strip_suffix(b"\"")) {
                Some(inner) => inner.to_vec().into(),
                None => text.into(),
            }
        }
        _ => to_text(document).into(),
    }
}
