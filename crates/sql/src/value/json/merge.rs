//! JSON_MERGE_PRESERVE and JSON_MERGE_PATCH.

use binlog::row::RowError;
use binlog::row::json::view::key_order;

use super::Tree;

/// Both documents' values: arrays are joined, objects merged member by member, everything else is
/// wrapped into arrays first.
pub fn preserve<'a>(mut a: Tree<'a>, mut b: Tree<'a>) -> Result<Tree<'a>, RowError> {
    a.open()?;
    b.open()?;
    Ok(match (a, b) {
        (Tree::Object(mut members), Tree::Object(others)) => {
            for (key, value) in others {
                match members.binary_search_by(|(own, _)| key_order(own, &key)) {
                    Ok(i) => {
                        let own = std::mem::replace(&mut members[i].1, Tree::Null);
                        members[i].1 = preserve(own, value)?;
                    }
                    Err(i) => members.insert(i, (key, value)),
                }
            }
            Tree::Object(members)
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
pub fn joined(documents: &[Box<[u8]>]) -> crate::error::Result<Vec<u8>> {
    let mut elements = Vec::with_capacity(documents.len());
    let mut members = Vec::new();
    for document in documents {
        let Some(container) = super::root(document)?.container() else { continue };
        for i in 0..container.len() {
            let value = container.value(i).map(Tree::Stored).map_err(super::damaged)?;
            match container.is_object() {
                true => members.push((container.key(i).map_err(super::damaged)?.into(), value)),
                false => elements.push(value),
            }
        }
    }
    super::encode(&if members.is_empty() { Tree::Array(elements) } else { Tree::object(members) })
}

/// The document changed by the patch (RFC 7396): members replaced, those that the patch has as null
/// removed.
pub fn patch<'a>(mut document: Tree<'a>, mut patch_: Tree<'a>) -> Result<Tree<'a>, RowError> {
    patch_.open()?;
    let Tree::Object(changes) = patch_ else { return Ok(patch_) };
    document.open()?;
    let mut members = match document {
        Tree::Object(members) => members,
        _ => Vec::new(),
    };
    for (key, mut change) in changes {
        if !change.is_object() {
            change.open_scalar()?;
        }
        let place = members.binary_search_by(|(own, _)| key_order(own, &key));
        match (place, change) {
            (Ok(i), Tree::Null) => drop(members.remove(i)),
            (Err(_), Tree::Null) => {}
            (Ok(i), change) => {
                let own = std::mem::replace(&mut members[i].1, Tree::Null);
                members[i].1 = patch(own, change)?;
            }
            (Err(i), change) => members.insert(i, (key, patch(Tree::Null, change)?)),
        }
    }
    Ok(Tree::Object(members))
}
