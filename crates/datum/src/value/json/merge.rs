//! JSON_MERGE_PRESERVE and JSON_MERGE_PATCH.

use std::borrow::Cow;
use std::cmp::Ordering;

use binlog::row::json::key_order;

use super::{Tree, damaged};
use crate::bounds::Ticker;
use crate::error::Result;

/// Members of an object, in the order of [`key_order`].
type Members<'a> = Vec<(Cow<'a, [u8]>, Tree<'a>)>;

/// Both objects' members in one, by one walk over both: what `both` makes of two of one name, and
/// `other` of those that only `others` has; without those that these make nothing of.
fn merge_members<'a>(
    own: Members<'a>,
    others: Members<'a>,
    mut both: impl FnMut(Tree<'a>, Tree<'a>) -> Result<Option<Tree<'a>>>,
    mut other: impl FnMut(Tree<'a>) -> Result<Option<Tree<'a>>>,
) -> Result<Members<'a>> {
    let mut ticker = Ticker::default();
    let mut members = Vec::with_capacity(own.len().max(others.len()));
    let (mut own, mut others) = (own.into_iter().peekable(), others.into_iter().peekable());
    loop {
        ticker.step()?;
        let order = match (own.peek(), others.peek()) {
            (Some((a, _)), Some((b, _))) => key_order(a, b),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => return Ok(members),
        };
        let own = if order.is_le() { own.next() } else { None };
        let others = if order.is_ge() { others.next() } else { None };
        let (key, value) = match (own, others) {
            (Some((key, a)), Some((_, b))) => (key, both(a, b)?),
            (Some((key, a)), None) => (key, Some(a)),
            (None, Some((key, b))) => (key, other(b)?),
            (None, None) => continue,
        };
        members.extend(value.map(|value| (key, value)));
    }
}

/// Both documents' values: arrays are joined, objects merged member by member, everything else is
/// wrapped into arrays first.
///
/// # Errors
/// If a stored document is damaged, and those of [`crate::bounds::check`].
pub fn preserve<'a>(mut a: Tree<'a>, mut b: Tree<'a>) -> Result<Tree<'a>> {
    a.open().map_err(damaged)?;
    b.open().map_err(damaged)?;
    Ok(match (a, b) {
        (Tree::Object(members), Tree::Object(others)) => {
            let both = |own, other| preserve(own, other).map(Some);
            Tree::Object(merge_members(members, others, both, |other| Ok(Some(other)))?)
        }
        (a, b) => {
            let mut elements = into_elements(a);
            elements.extend(into_elements(b));
            Tree::Array(elements)
        }
    })
}

fn into_elements(tree: Tree<'_>) -> Vec<Tree<'_>> {
    match tree {
        Tree::Array(elements) => elements,
        other => vec![other],
    }
}

/// The elements of arrays, or the members of objects, in one: JSON_ARRAYAGG and JSON_OBJECTAGG.
pub fn joined(documents: &[Box<[u8]>]) -> Result<Vec<u8>> {
    let mut elements = Vec::with_capacity(documents.len());
    let (mut members, mut ticker) = (Vec::new(), Ticker::default());
    for document in documents {
        let Some(container) = super::root(document)?.container() else { continue };
        for i in 0..container.len() {
            ticker.step()?;
            let value = container.value(i).map(Tree::Stored).map_err(damaged)?;
            match container.is_object() {
                true => members.push((container.key(i).map_err(damaged)?.into(), value)),
                false => elements.push(value),
            }
        }
    }
    super::encode(&if members.is_empty() { Tree::Array(elements) } else { Tree::object(members) })
}

/// The document changed by the patch (RFC 7396): members replaced, those that the patch has as null
/// removed.
///
/// # Errors
/// As [`preserve`].
pub fn patch<'a>(mut document: Tree<'a>, mut patch_: Tree<'a>) -> Result<Tree<'a>> {
    patch_.open().map_err(damaged)?;
    let Tree::Object(changes) = patch_ else { return Ok(patch_) };
    document.open().map_err(damaged)?;
    let members = match document {
        Tree::Object(members) => members,
        _ => Vec::new(),
    };
    let change = |own: Tree<'a>, mut change: Tree<'a>| {
        if !change.is_object() {
            change.open_scalar().map_err(damaged)?;
        }
        if change == Tree::Null { Ok(None) } else { patch(own, change).map(Some) }
    };
    Ok(Tree::Object(merge_members(members, changes, change, |other| change(Tree::Null, other))?))
}
