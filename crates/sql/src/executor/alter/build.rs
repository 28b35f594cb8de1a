//! Building indexes concurrently with writers.
//!
//! 1. announce  With the table to itself for a moment, the statement publishes a definition whose
//!    writers keep the new trees, and takes a snapshot: every row is of the snapshot, or written by
//!    somebody who knows.
//! 2. fill      The snapshot's rows are put into the trees, under what writers do meanwhile.
//! 3. verify    For unique indexes: once no writer is left who began before the trees were full,
//!    two entries with one key are looked for; writers from now on find out themselves
//!    ([`storage::schema::Building`]).
//! 4. commit    With the table to itself again.

use std::sync::Arc;

use storage::build::BuildError;
use storage::schema::{Building, TableSchema};
use storage::transaction::{Direction, KeyRange, ReadMode};
use storage::{KeyPart, Snapshot, TreeId};

use super::{Counting, INTERRUPT_STEPS, Running, discard};
use crate::catalog::collations::KeyCollations;
use crate::catalog::ddl::alter::Alter;
use crate::catalog::draft::definition_of;
use crate::catalog::{IndexDef, TableDef};
use crate::executor::writer::duplicate_entry;
use crate::session::Context;
use datum::error::{Result, SqlError};

/// A table some of whose indexes are being built.
pub(super) struct Interim {
    /// As its users see it.
    pub(super) table: Arc<TableDef>,
    /// With the new indexes among the others, as the schema numbers them: for errors.
    shown: TableDef,
    building: Arc<Building>,
    trees: Vec<TreeId>,
}

/// Returns how many rows were looked at for new foreign keys.
pub(super) fn run(cx: &mut Context, running: &Running<'_>, alter: &Alter) -> Result<u64> {
    let store = cx.instance.engine().store().clone();
    let trees: Vec<TreeId> = alter.to_build().iter().map(|_| store.new_tree()).collect();
    let interim = Interim::new(alter, trees)?;
    let outcome = build(cx, running, alter, &interim);
    if outcome.is_err() {
        // Who keeps the trees now goes on until its transaction ends, for nothing.
        cx.catalog().replace(&alter.old);
        discard(cx, &interim.trees);
    }
    outcome
}

fn build(cx: &mut Context, running: &Running<'_>, alter: &Alter, interim: &Interim) -> Result<u64> {
    let engine = cx.instance.engine().clone();
    let store = engine.store().clone();
    let mut transaction = cx.scratch_transaction();
    let alone = running.alone(cx)?;
    let snapshot = transaction.snapshot().clone();
    let mut builder = store.build_trees(interim.trees.clone(), snapshot);
    cx.catalog().replace(&interim.table);
    drop(alone);

    let schema = &interim.table.schema;
    let mut scan = transaction.scan_index(schema, 0, KeyRange::all(), Direction::Forward, ReadMode::Snapshot);
    let mut rows = 0_u64;
    while scan.next(&mut transaction)? {
        rows += 1;
        if rows.is_multiple_of(INTERRUPT_STEPS) {
            cx.check_interrupt()?;
        }
        let keys = schema.keys(scan.row()).map_err(SqlError::internal)?;
        for (tree, number) in interim.numbered() {
            builder.put(tree, keys.of(number), &[]).map_err(no_duplicate)?;
        }
    }
    drop(scan);
    drop(transaction);
    builder.finish().map_err(no_duplicate)?;

    let alone = running.alone(cx)?;
    store.forget_gaps(&interim.trees);
    let snapshot = engine.snapshot();
    drop(alone);
    for (tree, number) in interim.numbered() {
        let found = find_duplicate(cx, schema, tree, number, &snapshot)?;
        if let Some(key) = found {
            let row = row_of(cx, schema, &key, &snapshot)?;
            return Err(duplicate_entry(cx, &interim.shown, number, &row)?);
        }
    }
    drop(snapshot);

    let _alone = running.alone(cx)?;
    if let Some((number, row)) = interim.building.duplicate() {
        return Err(duplicate_entry(cx, &interim.shown, number, &row)?);
    }
    let (_related, rows) = running.related(cx, alter)?;
    running.commit(cx, &interim.trees, Counting::On)?;
    Ok(rows)
}

impl Interim {
    pub(super) fn new(alter: &Alter, trees: Vec<TreeId>) -> Result<Interim> {
        let old = &alter.old;
        let building = Arc::new(Building::default());
        let mut shown = TableDef::clone(old);
        let mut definitions = Vec::with_capacity(trees.len());
        for (index, tree) in alter.to_build().into_iter().zip(&trees) {
            let new = &alter.finished.table.indexes[index];
            let part = |part: &KeyPart| {
                let column = alter.finished.columns[part.column];
                column.map(|column| KeyPart { column, ..*part })
            };
            let parts: Option<Vec<KeyPart>> = new.parts.iter().map(part).collect();
            let parts =
                parts.ok_or_else(|| SqlError::internal("an index on a column that is not there yet"))?;
            let index = IndexDef { parts, ..new.clone() };
            definitions.push(definition_of(&index, *tree));
            shown.indexes.push(index);
        }
        let schema = old
            .schema
            .with_building(definitions, &building, &KeyCollations)
            .map_err(|e| SqlError::unsupported(format_args!("this index: {e}")))?;
        let table = TableDef { schema: Arc::new(schema), ..TableDef::clone(old) };
        Ok(Interim { table: Arc::new(table), shown, building, trees })
    }

    /// The new trees, and the numbers of their indexes in the schema.
    pub(super) fn numbered(&self) -> impl Iterator<Item = (TreeId, usize)> {
        let first = self.shown.indexes.len() - self.trees.len();
        self.trees.iter().enumerate().map(move |(i, tree)| (*tree, first + i))
    }
}

pub(super) fn no_duplicate(e: BuildError) -> SqlError {
    match e {
        BuildError::Store(e) => e.into(),
        BuildError::Duplicate { .. } => SqlError::internal(e),
    }
}

/// The primary key of a row that has the same key as another in a unique index's tree; `number` is
/// the index's in the schema.
pub(super) fn find_duplicate(
    cx: &Context,
    schema: &TableSchema,
    tree: TreeId,
    number: usize,
    snapshot: &Snapshot,
) -> Result<Option<Vec<u8>>> {
    let Some(index) = schema.index(number).filter(|index| index.unique()) else { return Ok(None) };
    let mut cursor = cx.instance.engine().store().cursor(tree, snapshot.position());
    cursor.seek_first()?;
    let mut last: Vec<u8> = Vec::new();
    let mut rows = 0_u64;
    while cursor.valid() {
        rows += 1;
        if rows.is_multiple_of(INTERRUPT_STEPS) {
            cx.check_interrupt()?;
        }
        let key = cursor.key();
        if let Some(part) = index.unique_part(key).map_err(SqlError::internal)? {
            if !last.is_empty() && part == last {
                return Ok(Some(index.primary_key_in(key).map_err(SqlError::internal)?.to_vec()));
            }
            last.clear();
            last.extend_from_slice(part);
        }
        cursor.next()?;
    }
    Ok(None)
}

fn row_of(cx: &mut Context, schema: &TableSchema, key: &[u8], snapshot: &Snapshot) -> Result<Vec<u8>> {
    let engine = cx.instance.engine();
    let tree = schema.primary.tree();
    let found = engine.store().version(tree, key, snapshot.position())?;
    let gone = || SqlError::internal("an index has an entry without a row");
    let (position, row) = found.ok_or_else(gone)?;
    let row = row.ok_or_else(gone)?;
    let upgraded = match engine.layouts(tree) {
        Some(layouts) => layouts.upgrade(position, &row).map_err(SqlError::internal)?,
        None => None,
    };
    Ok(upgraded.unwrap_or(row).to_vec())
}
