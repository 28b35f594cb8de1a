//! Which rows of a chunk differ: by the digests of each row, found by key.

use super::report::Difference;
use super::work::Sides;
use crate::log_tool::ToolError;
use crate::remote::checksum::{Compared, sum};
use crate::remote::chunks::{Chunk, literal};
use crate::remote::tables::{Class, Column};
use crate::remote::{RemoteSession, Runs, text};
use protocol::client::Row;
use std::collections::BTreeMap;

/// A chunk of more rows is looked at in parts, by the beginning of the rows' digests.
const PART_ROWS: u64 = 100_000;

/// Characters of a digest that make a part.
const PREFIX: usize = 4;

/// What was found in a chunk.
#[derive(Default)]
pub(super) struct Found {
    pub(super) differences: Vec<Difference>,
    /// There are more.
    pub(super) is_cut: bool,
}

/// Finds rows that differ, at most `room`, in a chunk of so many rows.
///
/// # Errors
/// The servers'.
pub(super) fn differing(
    sides: &Sides<'_>,
    chunk: &Chunk,
    rows: u64,
    room: usize,
    source: &mut RemoteSession,
    replica: &mut RemoteSession,
) -> Result<Found, ToolError> {
    let condition = chunk.condition(&sides.source.table.chunk_key);
    let mut found = Found::default();
    if rows <= PART_ROWS {
        part(sides, &condition, room, source, replica, &mut found)?;
        return Ok(found);
    }
    // A row that differs is in one part on one server and in another one on the other: it is told
    // once, for its key.
    let (ours, theirs) =
        (parts(&sides.source, &condition, source)?, parts(&sides.replica, &condition, replica)?);
    let mut names: Vec<&String> = ours.keys().chain(theirs.keys()).collect();
    names.sort_unstable();
    names.dedup();
    for name in names.into_iter().filter(|name| ours.get(*name) != theirs.get(*name)) {
        if found.differences.len() >= room {
            found.is_cut = true;
            break;
        }
        let within = |compared: &Compared<'_>| {
            format!("{condition} AND LEFT({}, {PREFIX}) = '{name}'", compared.row_digest())
        };
        let (ours, theirs) = (within(&sides.source), within(&sides.replica));
        let left = room - found.differences.len();
        part_of(sides, (&ours, &theirs), left, source, replica, &mut found)?;
    }
    found.differences = merged(found.differences);
    Ok(found)
}

/// One difference for each key.
fn merged(all: Vec<Difference>) -> Vec<Difference> {
    let mut by_key: BTreeMap<String, Difference> = BTreeMap::new();
    for difference in all {
        let key = difference.key.clone();
        match by_key.remove(&key) {
            Some(_) => by_key.insert(key.clone(), Difference::differs(key, Vec::new())),
            None => by_key.insert(key, difference),
        };
    }
    by_key.into_values().collect()
}

/// Count and sum of each part.
fn parts(
    compared: &Compared<'_>,
    condition: &str,
    server: &mut RemoteSession,
) -> Result<BTreeMap<String, Row>, ToolError> {
    let digest = compared.row_digest();
    let sql = format!(
        "SELECT LEFT({digest}, {PREFIX}) AS part, COUNT(*), {} FROM {} WHERE {condition} GROUP BY part",
        sum(&digest),
        compared.table.quoted()
    );
    let rows = server.rows(&sql)?;
    Ok(rows.into_iter().map(|mut row| (row.remove(0).map(text).unwrap_or_default(), row)).collect())
}

fn part(
    sides: &Sides<'_>,
    condition: &str,
    room: usize,
    source: &mut RemoteSession,
    replica: &mut RemoteSession,
    found: &mut Found,
) -> Result<(), ToolError> {
    part_of(sides, (condition, condition), room, source, replica, found)
}

fn part_of(
    sides: &Sides<'_>,
    conditions: (&str, &str),
    room: usize,
    source: &mut RemoteSession,
    replica: &mut RemoteSession,
    found: &mut Found,
) -> Result<(), ToolError> {
    let key = key_of(sides);
    let mut ours = digests(&sides.source, &key, conditions.0, source)?;
    let theirs = digests(&sides.replica, &key, conditions.1, replica)?;
    let mut add = |difference: Difference| match found.differences.len() < room {
        true => found.differences.push(difference),
        false => found.is_cut = true,
    };
    let mut changed = Vec::new();
    for (values, digest) in theirs {
        match ours.remove(&values) {
            Some(same) if same == digest => {}
            Some(_) if !key.is_empty() => changed.push(values),
            _ => add(Difference::only_on_replica(shown(&key, &values, &digest))),
        }
    }
    for (values, digest) in ours {
        add(Difference::only_on_source(shown(&key, &values, &digest)));
    }
    for values in changed.into_iter().take(room) {
        let columns = differing_columns(sides, &key, &values, source, replica)?;
        add(Difference::differs(shown(&key, &values, &Digests::default()), columns));
    }
    Ok(())
}

/// The key by which rows are found on both; none if a table has none, or not all of its columns are
/// compared.
fn key_of<'a>(sides: &Sides<'a>) -> Vec<&'a Column> {
    let key = &sides.source.table.unique_key;
    let known = |column: &Column| sides.source.columns.iter().any(|c| c.name == column.name);
    match key.iter().all(known) {
        true => key.iter().collect(),
        false => Vec::new(),
    }
}

/// The digests of rows with one key; several where there is none.
type Digests = BTreeMap<String, u64>;

/// The rows' digests by the values of their key, or, without a key, by themselves.
fn digests(
    compared: &Compared<'_>,
    key: &[&Column],
    condition: &str,
    server: &mut RemoteSession,
) -> Result<BTreeMap<Row, Digests>, ToolError> {
    let list: String = key.iter().map(|column| format!("{}, ", column.exact())).collect();
    let sql =
        format!("SELECT {list}{} FROM {} WHERE {condition}", compared.row_digest(), compared.table.quoted());
    let mut found: BTreeMap<Row, Digests> = BTreeMap::new();
    server.each_row(&sql, &mut |mut row| {
        let digest = row.pop().flatten();
        if key.is_empty() {
            row.push(digest.clone());
        }
        *found.entry(row).or_default().entry(digest.map(text).unwrap_or_default()).or_insert(0) += 1;
        Ok(())
    })?;
    Ok(found)
}

/// The columns in which a row differs, of those that are compared.
fn differing_columns(
    sides: &Sides<'_>,
    key: &[&Column],
    values: &Row,
    source: &mut RemoteSession,
    replica: &mut RemoteSession,
) -> Result<Vec<String>, ToolError> {
    let terms: Vec<String> = key
        .iter()
        .zip(values)
        .map(|(column, value)| {
            format!("{} = {}", column.quoted(), literal(column, value.as_deref().unwrap_or_default()))
        })
        .collect();
    let condition = terms.join(" AND ");
    let row = |compared: &Compared<'_>, server: &mut RemoteSession| -> Result<Row, ToolError> {
        let list: Vec<String> = compared.columns.iter().map(|c| c.quoted()).collect();
        let sql = format!("SELECT {} FROM {} WHERE {condition}", list.join(", "), compared.table.quoted());
        Ok(server.rows(&sql)?.into_iter().next().unwrap_or_default())
    };
    let (ours, theirs) = (row(&sides.source, source)?, row(&sides.replica, replica)?);
    let names = sides.source.columns.iter().zip(ours.iter().zip(&theirs));
    Ok(names.filter(|(_, (a, b))| a != b).map(|(column, _)| column.name.clone()).collect())
}

/// A row's key for people.
fn shown(key: &[&Column], values: &Row, digests: &Digests) -> String {
    if key.is_empty() {
        let times = digests.values().sum::<u64>();
        let digest = values.first().cloned().flatten().map(text).unwrap_or_default();
        return format!("a row without key whose digest is {digest}, {times} times");
    }
    let value = |(column, value): (&&Column, &Option<Vec<u8>>)| {
        let value = value.clone().unwrap_or_default();
        let shown = match column.class {
            Class::Bytes | Class::Other => literal(column, &value),
            Class::Text | Class::Long | Class::Json => format!("'{}'", text(value)),
            _ => text(value),
        };
        format!("{} = {shown}", column.name)
    };
    key.iter().zip(values).map(value).collect::<Vec<_>>().join(", ")
}
