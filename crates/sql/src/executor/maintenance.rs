//! ANALYZE, CHECK, OPTIMIZE and REPAIR TABLE: a row or two for each table that is named, whatever
//! becomes of the others.
//!
//! - ANALYZE samples all indexes anew ([`TableDef::analyze`]).
//! - CHECK reads the files that the table is in, every block of them by its checksum and past the
//!   cache; then rows by their structure at one snapshot, and every index by what the rows say that
//!   it should hold ([`check`]).
//! - OPTIMIZE writes all rows anew (`ALTER TABLE .. FORCE`), as InnoDB does, and analyzes them.
//! - CACHE INDEX and LOAD INDEX INTO CACHE are for MyISAM's key caches, as InnoDB says and we do.
//! - REPAIR is for engines that can't recover by themselves; InnoDB says so, and so do we.

use std::hash::{DefaultHasher, Hasher};
use std::sync::Arc;

use storage::TreeId;
use storage::transaction::{Direction, KeyRange, ReadMode};

use super::{Done, ROWS, ddl, in_statement, view_columns};
use crate::catalog::{TableDef, ViewDef, database_or, parse_one};
use crate::expression::row::Offsets;
use crate::listing::{Listing, cells, text};
use crate::session::Context;
use crate::status::Counter;
use datum::error::{self, Result, SqlError};
use datum::sink::ResultSink;
use syntax::ast::{MaintenanceVerb, ObjectName, TableMaintenance};

/// So many rows or entries are read between two checks whether the statement has to end.
const INTERRUPT_STEPS: u64 = 1024;

/// Runs the statement `own`.
pub(super) fn execute(
    cx: &mut Context,
    maintenance: &TableMaintenance,
    own: &[u8],
    sink: &mut dyn ResultSink,
) -> Result<Done> {
    let (counter, operation) = match maintenance.verb {
        MaintenanceVerb::Analyze => (Counter::ComAnalyze, "analyze"),
        MaintenanceVerb::Check => (Counter::ComCheck, "check"),
        MaintenanceVerb::Optimize => (Counter::ComOptimize, "optimize"),
        MaintenanceVerb::Repair => (Counter::ComRepair, "repair"),
        MaintenanceVerb::AssignToKeycache => (Counter::ComAssignToKeycache, "assign_to_keycache"),
        MaintenanceVerb::PreloadKeys => (Counter::ComPreloadKeys, "preload_keys"),
        MaintenanceVerb::Checksum => return Err(SqlError::unsupported("CHECKSUM TABLE")),
    };
    if maintenance.histogram.is_some() {
        return Err(SqlError::unsupported("histograms"));
    }
    cx.count(counter);
    if let Some(cache) = maintenance.key_cache.as_ref().filter(|name| !name.is("default")) {
        return Err(error::UNKNOWN_KEY_CACHE.with(&[cache]));
    }
    let listing =
        Listing::new([text("Table", 128), text("Op", 10), text("Msg_type", 10), text("Msg_text", 393_216)]);
    let mut report = Report { listing, operation, table: String::new() };
    for name in &maintenance.tables {
        let database = database_or(name.database.as_deref(), cx.default_database())?.to_owned();
        report.table = format!("{database}.{}", name.name);
        let done = match maintenance.verb {
            MaintenanceVerb::Optimize => optimize(cx, &database, name, &mut report),
            _ => in_statement(cx, own, |cx| check_or_analyze(cx, maintenance, name, &mut report)),
        };
        match done {
            Ok(()) => {}
            // The statement's own end is no table's fault.
            Err(e) if cx.check_interrupt().is_err() => return Err(e),
            Err(e) => {
                report.add("Error", &e.message);
                report.add("status", "Operation failed");
            }
        }
    }
    cx.statement.status.affected = 0;
    cx.statement.status.info.clear();
    report.listing.send(cx, sink)?;
    Ok(ROWS)
}

/// The rows of the result.
struct Report {
    listing: Listing,
    operation: &'static str,
    /// The table that is at hand.
    table: String,
}

impl Report {
    fn add(&mut self, kind: &str, message: &str) {
        self.listing.push(cells![self.table.as_str(), self.operation, kind, message]);
    }
}

/// CHECK, ANALYZE and the verbs that InnoDB does not support.
fn check_or_analyze(
    cx: &mut Context,
    maintenance: &TableMaintenance,
    name: &ObjectName,
    report: &mut Report,
) -> Result<()> {
    if let Some(view) = cx.visible_view(name.database.as_deref(), &name.name) {
        return check_view(cx, maintenance.verb, &view, report);
    }
    let table = cx.open_table(name.database.as_deref(), &name.name)?;
    match maintenance.verb {
        // Key caches are MyISAM's.
        MaintenanceVerb::AssignToKeycache | MaintenanceVerb::PreloadKeys if maintenance.partitions => {
            return Err(error::PARTITION_MGMT_ON_NONPARTITIONED.plain());
        }
        MaintenanceVerb::AssignToKeycache | MaintenanceVerb::PreloadKeys => {
            let operation = report.operation;
            report.add("note", &format!("The storage engine for the table doesn't support {operation}"));
            return Ok(());
        }
        MaintenanceVerb::Repair => {
            report.add("note", "The storage engine for the table doesn't support repair");
            return Ok(());
        }
        MaintenanceVerb::Check => {
            let faults = match check(cx, &table) {
                Ok(faults) => faults,
                Err(e) if cx.check_interrupt().is_err() => return Err(e),
                Err(e) => vec![e.message],
            };
            if !faults.is_empty() {
                faults.iter().for_each(|fault| report.add("Warning", fault));
                report.add("error", "Corrupt");
                return Ok(());
            }
        }
        _ => drop(table.analyze(&cx.instance)?),
    }
    report.add("status", "OK");
    Ok(())
}

/// CHECK of a view, which is sound if it can be used; nothing else is for views.
fn check_view(
    cx: &mut Context,
    verb: MaintenanceVerb,
    view: &Arc<ViewDef>,
    report: &mut Report,
) -> Result<()> {
    if verb != MaintenanceVerb::Check {
        return Err(error::WRONG_OBJECT.with(&[&view.database, &view.name, &"BASE TABLE"]));
    }
    match view_columns::fault(cx, view) {
        None => report.add("status", "OK"),
        Some(fault) => {
            report.add("Error", &fault.message);
            report.add("error", "Corrupt");
        }
    }
    Ok(())
}

fn optimize(cx: &mut Context, database: &str, name: &ObjectName, report: &mut Report) -> Result<()> {
    if let Some(view) = cx.visible_view(Some(database), &name.name) {
        return Err(error::WRONG_OBJECT.with(&[&view.database, &view.name, &"BASE TABLE"]));
    }
    cx.visible_table(Some(database), &name.name)?;
    let quoted = |name: &str| format!("`{}`", name.replace('`', "``"));
    let rebuild = format!("ALTER TABLE {}.{} FORCE", quoted(database), quoted(&name.name));
    let statement = parse_one(rebuild.as_bytes(), 0)?;
    ddl::rebuild(cx, &statement, rebuild.as_bytes())?;
    cx.visible_table(Some(database), &name.name)?.analyze(&cx.instance)?;
    report.add("note", "Table does not support optimize, doing recreate + analyze instead");
    report.add("status", "OK");
    Ok(())
}

/// What an index holds, without regard to order: how many entries, and the sum of their hashes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Contents {
    entries: u64,
    sum: u64,
}

impl Contents {
    fn add(&mut self, key: &[u8]) {
        let mut hasher = DefaultHasher::new();
        hasher.write(key);
        self.entries += 1;
        self.sum = self.sum.wrapping_add(hasher.finish());
    }
}

/// Reads a whole table and says what is wrong with it. Rows and entries are compared as sets, by
/// hashes: a row without an entry and an entry without a row go unnoticed together once in 2^64
/// times.
fn check(cx: &mut Context, table: &Arc<TableDef>) -> Result<Vec<String>> {
    let schema = &table.schema;
    let trees: Vec<TreeId> = schema.indexes().map(storage::schema::Index::tree).collect();
    let store = cx.instance.engine().store_of(schema.primary.tree()).clone();
    let damaged = store.verify_trees(&trees, &mut || cx.check_interrupt().is_ok());
    cx.check_interrupt()?;
    if !damaged.is_empty() {
        return Ok(damaged.iter().map(ToString::to_string).collect());
    }
    let mut faults = Vec::new();
    let mut wanted = vec![Contents::default(); table.indexes.len()];
    let mut offsets = Offsets::default();
    let mut misplaced = 0_u64;
    each_entry(cx, table, 0, |key, image| {
        offsets.find(table, image)?;
        let keys = schema.keys(image).map_err(SqlError::internal)?;
        misplaced += u64::from(keys.primary() != key);
        wanted.iter_mut().enumerate().for_each(|(number, contents)| contents.add(keys.of(number)));
        Ok(())
    })?;
    if misplaced > 0 {
        faults.push(format!("{misplaced} rows are not where their primary key belongs."));
    }
    for (number, wanted) in wanted.iter().enumerate().skip(1) {
        let name = &table.indexes[number].name;
        let Some(index) = schema.index(number) else { continue };
        let (mut found, mut before, mut duplicates) = (Contents::default(), None::<Vec<u8>>, 0_u64);
        each_entry(cx, table, number, |key, _| {
            found.add(key);
            let part = index.unique_part(key).map_err(SqlError::internal)?;
            duplicates += u64::from(part.is_some() && part == before.as_deref());
            before = part.map(<[u8]>::to_vec);
            Ok(())
        })?;
        if found.entries != wanted.entries {
            let (found, wanted) = (found.entries, wanted.entries);
            faults.push(format!("Index '{name}' contains {found} entries, should be {wanted}."));
        } else if found != *wanted {
            faults.push(format!("Index '{name}' does not agree with the rows."));
        }
        if duplicates > 0 {
            faults.push(format!("Index '{name}' is unique, and contains {duplicates} duplicates."));
        }
    }
    Ok(faults)
}

/// Calls `each` with the keys and values of an index, in their order.
fn each_entry(
    cx: &mut Context,
    table: &TableDef,
    index: usize,
    mut each: impl FnMut(&[u8], &[u8]) -> Result<()>,
) -> Result<()> {
    let Some(tree) = table.schema.index(index).map(storage::schema::Index::tree) else { return Ok(()) };
    let mut scan =
        cx.storage_transaction().scan(tree, KeyRange::all(), Direction::Forward, ReadMode::Snapshot);
    let mut steps = 0_u64;
    while scan.next(cx.storage_transaction())? {
        each(scan.key(), scan.value())?;
        steps += 1;
        if steps.is_multiple_of(INTERRUPT_STEPS) {
            cx.check_interrupt()?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_are_sets() {
        let of = |keys: &[&str]| {
            let mut contents = Contents::default();
            keys.iter().for_each(|key| contents.add(key.as_bytes()));
            contents
        };
        assert_eq!(of(&["a", "b", "c"]), of(&["c", "a", "b"]));
        assert_ne!(of(&["a", "b"]), of(&["a", "c"]));
        assert_ne!(of(&["ab", "c"]), of(&["a", "bc"]));
        assert_ne!(of(&["a", "b"]), of(&["a", "b", "b"]));
    }
}
