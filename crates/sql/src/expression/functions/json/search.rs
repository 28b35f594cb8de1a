//! JSON_SEARCH: the paths of strings that match a pattern.

use std::collections::HashSet;
use std::io::Write;

use super::super::not_null;
use super::{Call, finish};
use crate::like;
use crate::session::Context;
use datum::bounds;
use datum::error::{self, Result};
use datum::types::Collation;
use datum::value::Datum;
use datum::value::json::convert::{self, Origin};
use datum::value::json::path::is_identifier;
use datum::value::json::{self, Json, Node, Tree, damaged, write_quoted};

pub(super) fn search<'a>(cx: &mut Context, call: Call<'a>) -> Result<Datum<'a>> {
    let document = not_null!(call.document(cx, 0, "json_search"));
    let all = not_null!(call.one_or_all(cx, 1, "json_search"));
    let pattern = not_null!(call.text(cx, 2));
    let pattern = convert::utf8(pattern, Origin::of(&call.arguments[2].ty).charset)?;
    let escape = if call.count() > 3 { call.text(cx, 3)? } else { None };
    let escape = match escape.as_deref() {
        None => Some(b'\\'),
        Some([]) => None,
        Some([b]) => Some(*b),
        Some(_) => return Err(error::WRONG_ARGUMENTS.with(&[&"ESCAPE"])),
    };
    let root = json::root(&document)?;
    // Without paths everything is searched.
    let mut starts = HashSet::new();
    for i in 4..call.count() {
        let path = not_null!(call.path(cx, i));
        starts.extend(path.find(root).map_err(damaged)?.iter().map(Json::place));
    }
    let mut search =
        Search { pattern: &pattern, escape, all, starts, path: b"$".to_vec(), found: Vec::new(), bytes: 0 };
    search.value(cx, root, call.count() <= 4, json_depth_max())?;
    let mut found = search.found;
    match found.len() {
        0 => Ok(Datum::Null),
        1 => finish(cx, &found.swap_remove(0)),
        _ => finish(cx, &Tree::Array(found)),
    }
}

fn json_depth_max() -> usize {
    binlog::row::json::DEPTH_MAX + 1
}

struct Search<'p> {
    pattern: &'p [u8],
    escape: Option<u8>,
    all: bool,
    /// Where a search begins.
    starts: HashSet<usize>,
    /// Where it is now.
    path: Vec<u8>,
    found: Vec<Tree<'static>>,
    /// Bytes of what was found.
    bytes: usize,
}

impl Search<'_> {
    /// Searches a value; `inside`: it is in what is to be searched.
    fn value(&mut self, cx: &Context, value: Json<'_>, inside: bool, levels: usize) -> Result<()> {
        bounds::check()?;
        let inside = inside || self.starts.contains(&value.place());
        let levels = levels.checked_sub(1).ok_or_else(|| error::JSON_DOCUMENT_TOO_DEEP.plain())?;
        match value.node().map_err(damaged)? {
            Node::String(text)
                if inside && like::matches(text, self.pattern, self.escape, Collation::UTF8MB4_BIN)? =>
            {
                super::add_up(cx, &mut self.bytes, self.path.len())?;
                self.found.push(Tree::String(self.path.clone().into()));
            }
            Node::Container(container) => {
                for i in 0..container.len() {
                    if !self.all && !self.found.is_empty() {
                        break;
                    }
                    let len = self.path.len();
                    if container.is_object() {
                        self.enter(container.key(i).map_err(damaged)?);
                    } else {
                        write!(self.path, "[{i}]").unwrap_or_default();
                    }
                    self.value(cx, container.value(i).map_err(damaged)?, inside, levels)?;
                    self.path.truncate(len);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn enter(&mut self, name: &[u8]) {
        self.path.push(b'.');
        if is_identifier(name) {
            self.path.extend_from_slice(name);
        } else {
            write_quoted(name, &mut self.path);
        }
    }
}
