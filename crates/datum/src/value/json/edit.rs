//! Changes at a path: JSON_SET and its sisters. Containers on the way are opened, everything else
//! stays as it lies.

use binlog::row::RowError;

use super::Tree;
use super::path::{Index, Leg};
use binlog::row::json::key_order;

/// What JSON_SET and its sisters do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Replaces what is there, adds what is not.
    Set,
    /// Only adds.
    Insert,
    /// Only replaces.
    Replace,
}

/// The value at a path without wildcards.
pub(crate) fn locate<'t, 'a>(
    root: &'t mut Tree<'a>,
    legs: &[Leg],
) -> Result<Option<&'t mut Tree<'a>>, RowError> {
    let mut tree = root;
    for leg in legs {
        let next = match leg {
            Leg::Cell(index) if !tree.is_array() => index.within(1).map(|_| tree),
            leg => child(tree, leg)?,
        };
        let Some(next) = next else { return Ok(None) };
        tree = next;
    }
    Ok(Some(tree))
}

fn child<'t, 'a>(tree: &'t mut Tree<'a>, leg: &Leg) -> Result<Option<&'t mut Tree<'a>>, RowError> {
    tree.open()?;
    Ok(match (tree, leg) {
        (Tree::Object(members), Leg::Member(name)) => {
            members.binary_search_by(|(key, _)| key_order(key, name)).ok().map(|i| &mut members[i].1)
        }
        (Tree::Array(elements), Leg::Cell(index)) => index.within(elements.len()).map(|i| &mut elements[i]),
        _ => None,
    })
}

/// JSON_SET, JSON_INSERT, JSON_REPLACE of one path.
pub fn set<'a>(root: &mut Tree<'a>, legs: &[Leg], value: Tree<'a>, mode: Mode) -> Result<(), RowError> {
    if let Some(place) = locate(root, legs)? {
        if mode != Mode::Insert {
            *place = value;
        }
        return Ok(());
    }
    let (Some((last, parents)), true) = (legs.split_last(), mode != Mode::Replace) else { return Ok(()) };
    let Some(parent) = locate(root, parents)? else { return Ok(()) };
    parent.open()?;
    match (parent, last) {
        (Tree::Object(members), Leg::Member(name)) => {
            if let Err(i) = members.binary_search_by(|(key, _)| key_order(key, name)) {
                members.insert(i, (name.to_vec().into(), value));
            }
        }
        (Tree::Array(elements), Leg::Cell(index)) => {
            elements.insert(if index.from_last { 0 } else { elements.len() }, value);
        }
        (scalar, Leg::Cell(index)) => wrap(scalar, *index, value),
        _ => {}
    }
    Ok(())
}

/// A value that is no array becomes one, with `value` before or after it.
fn wrap<'a>(tree: &mut Tree<'a>, index: Index, value: Tree<'a>) {
    let own = std::mem::replace(tree, Tree::Null);
    *tree = Tree::Array(if index.from_last { vec![value, own] } else { vec![own, value] });
}

/// JSON_REMOVE of one path, which has a leg.
pub fn remove(root: &mut Tree<'_>, legs: &[Leg]) -> Result<(), RowError> {
    let Some((last, parents)) = legs.split_last() else { return Ok(()) };
    let Some(parent) = locate(root, parents)? else { return Ok(()) };
    parent.open()?;
    match (parent, last) {
        (Tree::Object(members), Leg::Member(name)) => {
            if let Ok(i) = members.binary_search_by(|(key, _)| key_order(key, name)) {
                members.remove(i);
            }
        }
        (Tree::Array(elements), Leg::Cell(index)) => {
            if let Some(i) = index.within(elements.len()) {
                elements.remove(i);
            }
        }
        // The cell of an array that is none is the value itself.
        (_, Leg::Cell(index)) if index.within(1).is_some() => remove(root, parents)?,
        _ => {}
    }
    Ok(())
}

/// JSON_ARRAY_APPEND at one path.
pub fn append<'a>(root: &mut Tree<'a>, legs: &[Leg], value: Tree<'a>) -> Result<(), RowError> {
    let Some(place) = locate(root, legs)? else { return Ok(()) };
    place.open()?;
    match place {
        Tree::Array(elements) => elements.push(value),
        other => wrap(other, Index { offset: 1, from_last: false }, value),
    }
    Ok(())
}

/// JSON_ARRAY_INSERT at one path, whose last leg is a cell.
pub fn insert<'a>(root: &mut Tree<'a>, legs: &[Leg], value: Tree<'a>) -> Result<(), RowError> {
    let Some((Leg::Cell(index), parents)) = legs.split_last() else { return Ok(()) };
    let Some(parent) = locate(root, parents)? else { return Ok(()) };
    parent.open()?;
    if let Tree::Array(elements) = parent {
        elements.insert(index.clamped(elements.len()), value);
    }
    Ok(())
}
