//! Access paths in MySQL's words: the join type, the key and what it is compared with.

use crate::catalog::TableDef;
use crate::expression::compare::By;
use crate::expression::{Expr, Node};
use crate::planner::TableAccess;
use crate::planner::access::{AccessPath, Key, Range};
use crate::planner::expression_text::text;
use crate::planner::names::Names;
use datum::types::DataType;

/// Alternatives that are printed one by one.
const ALTERNATIVES_MAX: usize = 3;

/// How a path finds rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JoinType {
    /// The one row of a key that is known when the statement begins.
    Const,
    /// The one row of a key, for each row before.
    UniqueLookup,
    /// The rows of a key.
    Lookup,
    /// Ranges of an index.
    Range,
    /// All of a secondary index.
    IndexScan,
    /// All rows.
    TableScan,
}

/// How an access finds its rows.
pub(crate) fn kind(access: &TableAccess) -> JoinType {
    let path = &access.path;
    let index = &access.table.indexes[path.index];
    if path.is_full() {
        return if path.index == 0 { JoinType::TableScan } else { JoinType::IndexScan };
    }
    if !path.ranges.is_empty() || path.keys.iter().any(|alternatives| alternatives.len() != 1) {
        return JoinType::Range;
    }
    let whole = path.keys.len() == index.parts.len() && index.parts.iter().all(|p| p.prefix_len.is_none());
    let values = path.keys.iter().flatten().all(|key| matches!(key, Key::Value(..)));
    match index.unique && whole && values {
        true if path.sources() == 0 && !path.keys.iter().flatten().any(is_from_around) => JoinType::Const,
        true => JoinType::UniqueLookup,
        false => JoinType::Lookup,
    }
}

fn is_from_around(key: &Key) -> bool {
    value(key).is_some_and(|e| e.contains(&mut |e| matches!(e.node, Node::Outer(_))))
}

fn value(key: &Key) -> Option<&Expr> {
    match key {
        Key::Null => None,
        Key::Value(_, e) | Key::NullSafe(_, e) => Some(e),
    }
}

impl JoinType {
    /// The column `type` of EXPLAIN.
    pub(crate) fn name(self) -> &'static str {
        match self {
            JoinType::Const => "const",
            JoinType::UniqueLookup => "eq_ref",
            JoinType::Lookup => "ref",
            JoinType::Range => "range",
            JoinType::IndexScan => "index",
            JoinType::TableScan => "ALL",
        }
    }
}

/// Bytes of the key that the path uses, as MySQL counts them; those of all parts for a whole index.
pub(crate) fn key_len(table: &TableDef, path: &AccessPath) -> u32 {
    let parts = &table.indexes[path.index].parts;
    let used = match path.is_full() {
        true => parts.len(),
        false => path.keys.len() + usize::from(!path.ranges.is_empty()),
    };
    let len = |part: &storage::KeyPart| {
        let column = &table.columns[part.column];
        let bytes = match (&column.ty, part.prefix_len) {
            (DataType::VarChar { .. } | DataType::Lob { .. }, prefix) => {
                prefix.map_or(column.ty.byte_length(), |p| p * column.ty.collation().charset().char_len_max())
                    + 2
            }
            (_, Some(prefix)) => prefix * column.ty.collation().charset().char_len_max(),
            (ty, None) => ty.row_bytes(),
        };
        bytes + u32::from(column.nullable)
    };
    parts.iter().take(used).map(len).sum()
}

/// The column `ref`: what the key is compared with.
pub(crate) fn reference(names: &Names<'_>, path: &AccessPath) -> Vec<String> {
    let of = |key: &Key| match value(key).map(|e| &e.node) {
        None | Some(Node::Constant(_) | Node::Misread(_) | Node::Parameter(_)) => "const".to_owned(),
        Some(Node::Column { source, column }) => names.full_column(*source, *column),
        Some(Node::Outer(number)) => match names.outer(*number).map(|(names, e)| (names, &e.node)) {
            Some((names, Node::Column { source, column })) => names.full_column(*source, *column),
            _ => "func".to_owned(),
        },
        Some(_) => "func".to_owned(),
    };
    path.keys.iter().flatten().map(of).collect()
}

/// `a=1, b=t.x`
pub(crate) fn lookup(names: &Names<'_>, access: &TableAccess) -> String {
    let parts = access.table.indexes[access.path.index].parts.iter();
    let terms = parts.zip(&access.path.keys).flat_map(|(part, keys)| {
        let column = &access.table.columns[part.column].name;
        keys.iter().map(move |key| format!("{column}={}", shown(names, key)))
    });
    terms.collect::<Vec<_>>().join(", ")
}

/// `(a = 1 AND 3 <= b <= 9)`; alternatives are printed with OR.
pub(crate) fn ranges(names: &Names<'_>, access: &TableAccess) -> String {
    let parts = &access.table.indexes[access.path.index].parts;
    let column = |number: usize| access.table.columns[parts[number].column].name.as_str();
    let path = &access.path;
    if let ([keys], true) = (path.keys.as_slice(), path.ranges.is_empty()) {
        let mut terms: Vec<String> = keys
            .iter()
            .take(ALTERNATIVES_MAX)
            .map(|k| format!("({} = {})", column(0), shown(names, k)))
            .collect();
        if keys.len() > ALTERNATIVES_MAX {
            terms.push(format!("({} more)", keys.len() - ALTERNATIVES_MAX));
        }
        return terms.join(" OR ");
    }
    let mut terms = Vec::new();
    for (number, keys) in path.keys.iter().enumerate() {
        match keys.as_slice() {
            [key] => terms.push(format!("{} = {}", column(number), shown(names, key))),
            many => {
                let list: Vec<String> = many.iter().map(|k| shown(names, k)).collect();
                terms.push(format!("{} in ({})", column(number), list.join(",")));
            }
        }
    }
    let one = |Range { lower, upper }: &Range| {
        let end = |(_, e): &(By, Expr)| text(names, e);
        let (lower, upper) = (lower.as_ref().map(end), upper.as_ref().map(end));
        let column = column(path.keys.len());
        let range = match (lower, upper) {
            (Some(lower), Some(upper)) if lower == upper => format!("{column} = {lower}"),
            (lower, upper) => {
                let lower = lower.map_or(String::new(), |e| format!("{e} <= "));
                format!("{lower}{column}{}", upper.map_or(String::new(), |e| format!(" <= {e}")))
            }
        };
        format!("({})", terms.iter().cloned().chain([range]).collect::<Vec<_>>().join(" AND "))
    };
    let mut printed: Vec<String> = path.ranges.iter().take(ALTERNATIVES_MAX).map(one).collect();
    match path.ranges.len() {
        0 => format!("({})", terms.join(" AND ")),
        count => {
            printed
                .extend((count > ALTERNATIVES_MAX).then(|| format!("({} more)", count - ALTERNATIVES_MAX)));
            printed.join(" OR ")
        }
    }
}

fn shown(names: &Names<'_>, key: &Key) -> String {
    value(key).map_or("NULL".to_owned(), |e| text(names, e))
}
