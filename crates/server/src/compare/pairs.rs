//! The tables of both servers, and what of them can be compared.

use super::Options;
use super::align::Aligned;
use super::report::Report;
use crate::log_tool::ToolError;
use crate::remote::chunks::Chunks;
use crate::remote::definitions;
use crate::remote::tables::{self, Class, Column, Table};
use parking_lot::Mutex;
use std::collections::BTreeSet;

/// A table that both have.
pub(super) struct Pair {
    pub(super) source: Table,
    pub(super) replica: Table,
    /// Where each column that is compared stands in both.
    pub(super) columns: Vec<(usize, usize)>,
    /// What is not handed out yet.
    pub(super) chunks: Mutex<Chunks>,
}

/// Finds them; what only one server has goes into the report.
///
/// # Errors
/// The servers'.
pub(super) fn find(
    aligned: &mut Aligned,
    options: &Options,
    report: &mut Report,
) -> Result<Vec<Pair>, ToolError> {
    let (source, replica) = (&mut aligned.source[0], &mut aligned.replica[0]);
    let wanted = |databases: Vec<String>| -> BTreeSet<String> {
        let of_tables = |name: &str| options.tables.iter().any(|t| t.split('.').next() == Some(name));
        let is_wanted = |name: &String| match (options.databases.is_empty(), options.tables.is_empty()) {
            (true, true) => true,
            _ => options.databases.contains(name) || of_tables(name),
        };
        databases.into_iter().filter(is_wanted).collect()
    };
    let ours = wanted(definitions::databases(source)?);
    let theirs = wanted(definitions::databases(replica)?);
    let asked = options.databases.iter().cloned();
    let mut asked = asked.chain(options.tables.iter().filter_map(|t| Some(t.split_once('.')?.0.to_owned())));
    let is_known = |name: &String| ours.contains(name) || theirs.contains(name);
    if let Some(name) = asked.find(|name| !is_known(name)) {
        return Err(ToolError::Refused(format!("no server has a database '{name}'")));
    }
    let mut pairs = Vec::new();
    for database in ours.union(&theirs) {
        let mut theirs = tables::of(replica, database)?;
        for table in tables::of(source, database)? {
            let at = theirs.iter().position(|other| other.name == table.name);
            let other = at.map(|at| theirs.remove(at));
            if !is_wanted(&table, options) {
                continue;
            }
            match other {
                Some(other) => pairs.push(pair(table, other, options, report)),
                None => report.only_on_source(table.place()),
            }
        }
        theirs.iter().filter(|t| is_wanted(t, options)).for_each(|t| report.only_on_replica(t.place()));
    }
    let named = |name: &&String| pairs.iter().any(|p| p.source.place() == **name) || report.names(name);
    match options.tables.iter().find(|name| !named(name)) {
        Some(name) => {
            Err(ToolError::Refused(format!("no server has a table '{name}': name it DATABASE.TABLE")))
        }
        None => Ok(pairs),
    }
}

fn is_wanted(table: &Table, options: &Options) -> bool {
    options.tables.is_empty()
        || options.tables.contains(&table.place())
        || options.databases.contains(&table.database)
}

fn pair(source: Table, replica: Table, options: &Options, report: &mut Report) -> Pair {
    let place = source.place();
    let mut columns = Vec::new();
    for (at, column) in source.columns.iter().enumerate() {
        let other = replica.columns.iter().position(|c| c.name.eq_ignore_ascii_case(&column.name));
        match other.map(|other| (other, &replica.columns[other])) {
            None => report.column_only_on_source(&place, &column.name),
            Some((_, theirs)) if is_json_text(column, theirs) => report.not_compared(
                &place,
                &column.name,
                "JSON here is a text there, whose spaces and order of keys are its own",
            ),
            Some((other, _)) => columns.push((at, other)),
        }
    }
    for column in &replica.columns {
        if !source.columns.iter().any(|c| c.name.eq_ignore_ascii_case(&column.name)) {
            report.column_only_on_replica(&place, &column.name);
        }
    }
    let chunks = Chunks::of_both(&source, &replica, options.chunk_rows);
    Pair { source, replica, columns, chunks: Mutex::new(chunks) }
}

/// MariaDB's JSON is a LONGTEXT.
fn is_json_text(a: &Column, b: &Column) -> bool {
    (a.class == Class::Json) != (b.class == Class::Json)
}
