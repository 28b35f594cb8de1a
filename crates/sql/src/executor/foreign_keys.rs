//! Foreign keys at work: what a changed row means for the rows that it refers to, and for those
//! that refer to it.
//!
//! Whoever changes rows does so by [`insert_row`], [`update_row`] and [`delete_row`]. A table
//! without references pays one look at two empty lists.
//!
//! 1. change    The row itself is changed first, so that a row may refer to itself.
//! 2. parents   Each foreign key whose columns are new, and none of them NULL, must find its parent
//!    (error 1452), which keeps its key from then on.
//! 3. children  Rows that referred to a key which is gone follow: CASCADE and SET NULL change them,
//!    each by these same steps; otherwise there may be none (error 1451).
//!
//! As in MySQL, NO ACTION and RESTRICT are tested row by row, and the foreign keys are asked one
//! after the other, in the order of their names. What follows is rows of the same statement in the
//! log: replicas and readers see each, and are told not to do it once more.
//!
//! (K1) A key that is referred to is given up under its reference lock, exclusively, before anybody
//!      looks for rows that refer to it (X7 of `storage/src/transaction/references.rs`).
//! (K2) The tables are looked up once for a statement, and their definitions stay as they are until
//!      the transaction ends.
//! (K3) Actions that lead on to other rows end after [`DEPTH_MAX`] steps: error 3008. A table that
//!      ON UPDATE has changed rows of already is not changed again, but asked, as InnoDB does it.

use std::borrow::Cow;
use std::sync::Arc;

use binlog::row::RowImageBuilder;
use smallvec::SmallVec;
use storage::TransactionError;
use storage::transaction::{Locking, Transaction};
use syntax::ast::ReferenceAction;

use super::{RowRules, computed, writer};
use crate::catalog::foreign_key::{ForeignKeyDef, acts, have_same_bytes};
use crate::catalog::metadata_lock::MetadataLockType;
use crate::catalog::{TableDef, show};
use crate::expression::row::{ImageRow, Offsets};
use crate::session::Context;
use datum::error::{self, Diagnostics, Result, SqlError};
use datum::types::{Charset, DataType};
use datum::value::{Datum, image, store};

/// Rows on the way from the one that a statement changes to one that follows, both counted, as in
/// InnoDB.
const DEPTH_MAX: usize = 15;

/// Why a row was not changed.
pub(super) enum NotChanged {
    /// Another row has the key: the index, and that row's primary key.
    Duplicate {
        index: usize,
        existing: Vec<u8>,
    },
    /// Errors 1451 and 1452: under IGNORE the row is left as it was, with a warning.
    Reference(SqlError),
    Failed(SqlError),
}

impl From<TransactionError> for NotChanged {
    fn from(e: TransactionError) -> Self {
        match e {
            TransactionError::DuplicateKey { index, existing, .. } => {
                NotChanged::Duplicate { index, existing }
            }
            e => NotChanged::Failed(e.into()),
        }
    }
}

impl From<SqlError> for NotChanged {
    fn from(e: SqlError) -> Self {
        NotChanged::Failed(e)
    }
}

impl NotChanged {
    /// The statement's error. Fails itself, with that, where IGNORE makes no warning of it; `after`
    /// is the row that was to be.
    pub(super) fn into_error(self, cx: &Context, table: &TableDef, after: &[u8]) -> Result<SqlError> {
        match self {
            NotChanged::Duplicate { index, .. } => writer::duplicate_entry(cx, table, index, after),
            NotChanged::Reference(e) => Ok(e),
            NotChanged::Failed(e) => Err(e),
        }
    }
}

impl Context {
    /// True if foreign keys are checked, and act, in the running statement.
    fn checks_foreign_keys(&self) -> bool {
        self.settings.foreign_key_checks() && !self.statement.rows_have_references
    }
}

type Changed = std::result::Result<(), NotChanged>;

/// What a table's rows refer to, and what refers to them: opened for a statement (K2).
pub(crate) struct References {
    /// One for each of the table's foreign keys.
    parents: Vec<Parent>,
    children: Vec<Child>,
}

/// What one of the table's foreign keys refers to.
struct Parent {
    /// The foreign key, by its number in the table.
    number: usize,
    /// The table that is referred to and how its index is asked; `None` where either is missing.
    key: Option<KeyOf>,
}

/// A foreign key of another table, or of the table itself, to it.
struct Child {
    /// The foreign key, by its number in the child.
    number: usize,
    /// The table's columns that are referred to.
    columns: Vec<usize>,
    /// How the child's index finds the rows that refer.
    key: KeyOf,
    /// The index of the table that has the key which is referred to: for its lock.
    own: KeyOf,
}

/// How a row's columns become the beginning of a key in an index, of another table perhaps.
struct KeyOf {
    table: Arc<TableDef>,
    index: usize,
    /// Columns of the row that is at hand.
    from: Vec<usize>,
    /// Columns of `table`, which the index begins with.
    to: Vec<usize>,
}

/// A row that DELETE has found, as it is now: those that went before it may have changed it, or
/// have taken it along. `None` if it is gone.
pub(super) fn row_now<'i>(
    cx: &mut Context,
    table: &TableDef,
    image: &'i [u8],
) -> Result<Option<Cow<'i, [u8]>>> {
    if table.referenced_by.is_empty() || !cx.checks_foreign_keys() {
        return Ok(Some(Cow::Borrowed(image)));
    }
    let keys = table.schema.keys(image).map_err(SqlError::internal)?;
    let tree = table.schema.primary.tree();
    let now = cx.storage_transaction().get_newest_for_update(tree, keys.primary())?;
    Ok(now.map(|row| Cow::Owned(row.to_vec())))
}

/// Inserts a row, which must find its parents.
pub(super) fn insert_row(cx: &mut Context, table: &Arc<TableDef>, image: &[u8]) -> Changed {
    if table.foreign_keys.is_empty() || !cx.checks_foreign_keys() {
        log_references(cx, table);
        return Ok(cx.storage_transaction().insert_row(&table.schema, image)?);
    }
    whole_or_not(cx, table, |cx| {
        cx.storage_transaction().insert_row(&table.schema, image)?;
        let references = References::of(cx, table)?;
        check_parents(cx, table, &references, image, None)
    })
}

/// Changes a row that was read under its lock.
pub(super) fn update_row(cx: &mut Context, table: &Arc<TableDef>, before: &[u8], after: &[u8]) -> Changed {
    if !table.has_references() || !cx.checks_foreign_keys() {
        log_references(cx, table);
        return Ok(cx.storage_transaction().update_row(&table.schema, before, after)?);
    }
    whole_or_not(cx, table, |cx| {
        map_together(cx, table)?;
        Cascade::default().update(cx, table, before, after)
    })
}

/// Deletes a row that was read under its lock.
pub(super) fn delete_row(cx: &mut Context, table: &Arc<TableDef>, before: &[u8]) -> Changed {
    delete(cx, table, before, None)
}

/// Deletes a row in whose place another one is put: as in MySQL, who refers to a key that the new
/// row has too goes on doing so.
pub(super) fn delete_replaced(
    cx: &mut Context,
    table: &Arc<TableDef>,
    before: &[u8],
    after: &[u8],
) -> Changed {
    delete(cx, table, before, Some(after))
}

fn delete(cx: &mut Context, table: &Arc<TableDef>, before: &[u8], after: Option<&[u8]>) -> Changed {
    if table.referenced_by.is_empty() || !cx.checks_foreign_keys() {
        log_references(cx, table);
        return Ok(cx.storage_transaction().delete_row(&table.schema, before)?);
    }
    whole_or_not(cx, table, |cx| {
        map_together(cx, table)?;
        Cascade::default().delete(cx, table, before, after)
    })
}

/// Has the log name the tables together whose rows may change with one of this table.
fn map_together(cx: &mut Context, table: &Arc<TableDef>) -> Changed {
    let references = References::of(cx, table)?;
    if !references.children.iter().any(|child| child.definition().has_action()) {
        return Ok(());
    }
    let mut tables = vec![table.clone()];
    let mut next = 0;
    while let Some(of) = tables.get(next).cloned() {
        next += 1;
        let references = References::of(cx, &of)?;
        for child in references.children.iter().filter(|child| child.definition().has_action()) {
            if !tables.iter().any(|known| known.id == child.key.table.id) {
                tables.push(child.key.table.clone());
            }
        }
    }
    cx.storage_transaction().map_together(tables.iter().map(|table| &*table.schema));
    Ok(())
}

/// Replicas are told that they need not look at the table's foreign keys.
fn log_references(cx: &mut Context, table: &TableDef) {
    if table.has_references() {
        cx.storage_transaction().log_references();
    }
}

/// Takes back what was done where a reference is in the way of it: the statement may go on.
fn whole_or_not(cx: &mut Context, table: &TableDef, change: impl FnOnce(&mut Context) -> Changed) -> Changed {
    log_references(cx, table);
    let before = cx.storage_transaction().savepoint();
    let outcome = change(cx);
    if let Err(NotChanged::Reference(_)) = &outcome {
        cx.storage_transaction().rollback_to(before);
    }
    outcome
}

/// Foreign keys that a table gets while it has rows, and where their parents are found. Nobody else
/// uses the tables meanwhile.
pub(super) struct NewForeignKeys {
    table: Arc<TableDef>,
    parents: Vec<(usize, Option<KeyOf>)>,
}

impl NewForeignKeys {
    /// Those of `new` with these numbers; `old` is the table as its rows still are.
    ///
    /// # Errors
    /// 1235 for one that refers to an index of the table itself which is not there yet.
    pub(super) fn of(
        cx: &Context,
        new: &Arc<TableDef>,
        old: &Arc<TableDef>,
        numbers: &[usize],
    ) -> Result<Self> {
        let mut parents = Vec::with_capacity(numbers.len());
        for &number in numbers {
            let key = &new.foreign_keys[number];
            let is_own = key.parent == new.qualified_name();
            let parent = match is_own {
                true => Some(old.clone()),
                false => cx.catalog().state().table(&key.parent.database, &key.parent.name).cloned(),
            };
            let found = parent.and_then(|parent| {
                let (index, to) = (key.parent_index(&parent)?, key.numbers_in(&parent)?);
                Some(KeyOf { table: parent, index, from: key.columns.clone(), to })
            });
            if is_own && found.is_none() {
                return Err(SqlError::unsupported("a foreign key to an index that the same statement makes"));
            }
            parents.push((number, found));
        }
        Ok(Self { table: new.clone(), parents })
    }

    /// Error 1452 unless a row, as it is to be, has its parents.
    pub(super) fn check(&self, cx: &mut Context, reader: &mut Transaction, image: &[u8]) -> Result<()> {
        let mut offsets = Offsets::default();
        offsets.find(&self.table, image)?;
        let row = ImageRow { table: &self.table, image, offsets: &offsets };
        for (number, key) in &self.parents {
            let definition = &self.table.foreign_keys[*number];
            if definition.columns.iter().any(|&column| offsets.raw(image, column).is_none()) {
                continue;
            }
            let bytes = match key {
                Some(key) => key.encode(cx, row)?.map(|bytes| (key, bytes)),
                None => None,
            };
            let found = match bytes {
                Some((key, bytes)) => reader.has_key(&key.table.schema, key.index, &bytes)?,
                None => false,
            };
            if !found {
                return Err(without_parent(cx, &self.table, definition));
            }
        }
        Ok(())
    }
}

/// Error 1452 unless each parent is there.
fn check_parents(
    cx: &mut Context,
    table: &TableDef,
    references: &References,
    image: &[u8],
    only: Option<&[usize]>,
) -> Changed {
    let mut offsets = Offsets::default();
    offsets.find(table, image)?;
    let row = ImageRow { table, image, offsets: &offsets };
    for parent in &references.parents {
        let definition = &table.foreign_keys[parent.number];
        let is_asked = only.is_none_or(|only| only.contains(&parent.number));
        if !is_asked || definition.columns.iter().any(|&column| offsets.raw(image, column).is_none()) {
            continue;
        }
        let found = match &parent.key {
            Some(key) => match key.encode(cx, row)? {
                Some(bytes) => cx.storage_transaction().refer_to(&key.table.schema, key.index, &bytes)?,
                None => false,
            },
            None => false,
        };
        if !found {
            return Err(NotChanged::Reference(without_parent(cx, table, definition)));
        }
    }
    Ok(())
}

/// Error 1452; 1216 for who may not know of the parent.
fn without_parent(cx: &mut Context, table: &TableDef, key: &ForeignKeyDef) -> SqlError {
    match cx.grants().sees_definitions(&key.parent.database) {
        true => error::NO_REFERENCED_ROW_2.with(&[&constraint(table, key)]),
        false => error::NO_REFERENCED_ROW.plain(),
    }
}

/// A foreign key as errors 1451 and 1452 name it.
fn constraint(table: &TableDef, key: &ForeignKeyDef) -> String {
    let (database, name) = (show::quote(&table.database), show::quote(&table.name));
    let mut key = key.clone();
    for action in [&mut key.on_delete, &mut key.on_update] {
        if *action == ReferenceAction::SetDefault {
            *action = ReferenceAction::NoAction;
        }
    }
    format!("{database}.{name}, {}", show::foreign_key(table, &key))
}

/// The way from the row that a statement changes to the one that follows now.
#[derive(Default)]
struct Cascade {
    /// How many steps it is long.
    depth: usize,
    /// The tables whose rows ON UPDATE changes on it, by their numbers.
    updated: SmallVec<[u64; 4]>,
}

/// What becomes of a key that is referred to.
#[derive(Clone, Copy)]
enum ParentChange<'a> {
    Deleted,
    /// The row's image now.
    Updated(&'a [u8]),
}

impl Cascade {
    /// Deletes a row, and what follows. `instead` is the row that comes in its place.
    fn delete(
        &mut self,
        cx: &mut Context,
        table: &Arc<TableDef>,
        before: &[u8],
        instead: Option<&[u8]>,
    ) -> Changed {
        let references = References::of(cx, table)?;
        let lost = LostKeys::of(cx, table, &references, before, instead)?;
        lost.give_up(cx, &references)?;
        cx.storage_transaction().delete_row(&table.schema, before)?;
        self.children(cx, table, &references, &lost, before, ParentChange::Deleted)
    }

    /// Changes a row, and what follows.
    fn update(&mut self, cx: &mut Context, table: &Arc<TableDef>, before: &[u8], after: &[u8]) -> Changed {
        let references = References::of(cx, table)?;
        let lost = LostKeys::of(cx, table, &references, before, Some(after))?;
        lost.give_up(cx, &references)?;
        cx.storage_transaction().update_row(&table.schema, before, after)?;
        let changed = changed_keys(table, before, after)?;
        if !changed.is_empty() {
            check_parents(cx, table, &references, after, Some(&changed))?;
        }
        self.children(cx, table, &references, &lost, before, ParentChange::Updated(after))
    }

    /// What follows for the rows that referred to keys which are gone, one foreign key after the
    /// other: they change, or there may be none.
    fn children(
        &mut self,
        cx: &mut Context,
        table: &Arc<TableDef>,
        references: &References,
        lost: &LostKeys,
        before: &[u8],
        change: ParentChange<'_>,
    ) -> Changed {
        for (child, key) in references.children.iter().zip(&lost.keys) {
            let Some(key) = key else { continue };
            let action = self.action(table, child, change);
            if acts(action) {
                if !key.is_equal || action == ReferenceAction::Cascade {
                    self.follow(cx, table, child, &key.in_child, action, change)?;
                }
            } else if !key.is_equal && self.is_referred_to(cx, table, child, &key.in_child, before, change)? {
                return Err(NotChanged::Reference(child.is_in_the_way(cx)));
            }
        }
        Ok(())
    }

    /// What becomes of the rows that referred to a key which is gone (K3).
    fn action(&self, table: &TableDef, child: &Child, change: ParentChange<'_>) -> ReferenceAction {
        let of_child = child.key.table.id;
        match change {
            ParentChange::Deleted => child.definition().on_delete,
            ParentChange::Updated(_) if of_child == table.id || self.updated.contains(&of_child) => {
                ReferenceAction::Restrict
            }
            ParentChange::Updated(_) => child.definition().on_update,
        }
    }

    /// Changes the rows of a child that referred to a key.
    fn follow(
        &mut self,
        cx: &mut Context,
        parent: &Arc<TableDef>,
        child: &Child,
        key: &[u8],
        action: ReferenceAction,
        change: ParentChange<'_>,
    ) -> Changed {
        let table = &child.key.table;
        let mut scan = cx.storage_transaction().scan_referring(&table.schema, child.key.index, key)?;
        while let Some(row) = scan.next(cx.storage_transaction(), Locking::UPDATE)? {
            datum::bounds::check()?;
            cx.check_interrupt()?;
            self.depth += 1;
            if self.depth == DEPTH_MAX {
                return Err(NotChanged::Failed(error::FK_DEPTH_EXCEEDED.with(&[&DEPTH_MAX])));
            }
            match (action, change) {
                (ReferenceAction::Cascade, ParentChange::Deleted) => self.delete(cx, table, &row, None),
                (_, change) => {
                    let after = child.changed_row(cx, parent, &row, action, change)?;
                    let way = self.updated.len();
                    if let ParentChange::Updated(_) = change {
                        self.updated.push(parent.id);
                    }
                    let outcome = self.update(cx, table, &row, &after);
                    self.updated.truncate(way);
                    outcome.map_err(|e| duplicate_of_child(cx, parent, child, &after, e))
                }
            }?;
            self.depth -= 1;
        }
        scan.end(cx.storage_transaction());
        Ok(())
    }

    /// True if a row refers to a key that is gone.
    fn is_referred_to(
        &self,
        cx: &mut Context,
        table: &Arc<TableDef>,
        child: &Child,
        key: &[u8],
        before: &[u8],
        change: ParentChange<'_>,
    ) -> std::result::Result<bool, NotChanged> {
        // A row that refers to itself is in its own way, as in MySQL.
        if child.key.table.id == table.id && matches!(change, ParentChange::Deleted) {
            let own = table.schema.keys(before).map_err(SqlError::internal)?;
            if own.of(child.key.index).starts_with(key) {
                return Ok(true);
            }
        }
        let mut scan =
            cx.storage_transaction().scan_referring(&child.key.table.schema, child.key.index, key)?;
        let found = scan.next(cx.storage_transaction(), Locking::SHARE)?.is_some();
        scan.end(cx.storage_transaction());
        Ok(found)
    }
}

/// Error 1761: a row that follows would have another row's key.
fn duplicate_of_child(
    cx: &Context,
    parent: &TableDef,
    child: &Child,
    after: &[u8],
    e: NotChanged,
) -> NotChanged {
    let NotChanged::Duplicate { index, .. } = e else { return e };
    let table = &child.key.table;
    let values = || -> Result<String> {
        let mut offsets = Offsets::default();
        offsets.find(table, after)?;
        let row = ImageRow { table, image: after, offsets: &offsets };
        let mut shown = Vec::with_capacity(child.key.to.len());
        for &column in &child.key.to {
            let value = row.column(column, cx.settings.zone())?;
            shown.push(String::from_utf8_lossy(&value.to_bytes()).into_owned());
        }
        Ok(shown.join("-"))
    };
    match values() {
        Ok(values) => {
            let key = &table.indexes[index].name;
            let e =
                error::FOREIGN_DUPLICATE_KEY_WITH_CHILD_INFO.with(&[&parent.name, &values, &table.name, key]);
            NotChanged::Failed(e)
        }
        Err(e) => NotChanged::Failed(e),
    }
}

/// The keys that a row had and has no longer.
struct LostKeys {
    /// One for each of [`References::children`]; `None` if the row keeps it, or had a NULL in it.
    keys: Vec<Option<LostKey>>,
}

struct LostKey {
    /// As the row's own index has it, for its lock.
    own: Vec<u8>,
    /// As the child's index has it.
    in_child: Vec<u8>,
    /// It compares as the same, though its bytes changed: no row lost its parent, but CASCADE
    /// brings the new bytes.
    is_equal: bool,
}

impl LostKeys {
    fn of(
        cx: &mut Context,
        table: &Arc<TableDef>,
        references: &References,
        before: &[u8],
        after: Option<&[u8]>,
    ) -> Result<Self> {
        let (mut offsets, mut offsets_after) = (Offsets::default(), Offsets::default());
        offsets.find(table, before)?;
        let row = ImageRow { table, image: before, offsets: &offsets };
        let row_after = match after {
            Some(after) => {
                offsets_after.find(table, after)?;
                Some(ImageRow { table, image: after, offsets: &offsets_after })
            }
            None => None,
        };
        let mut keys = Vec::with_capacity(references.children.len());
        for child in &references.children {
            let is_same = |after: &ImageRow<'_>| {
                let same = |&column: &usize| {
                    row.offsets.raw(before, column) == after.offsets.raw(after.image, column)
                };
                child.columns.iter().all(same)
            };
            if row_after.as_ref().is_some_and(is_same) {
                keys.push(None);
                continue;
            }
            let own = child.own.encode(cx, row)?;
            let in_child = child.key.encode(cx, row)?;
            let (Some(own), Some(in_child)) = (own, in_child) else {
                keys.push(None);
                continue;
            };
            let is_equal = match row_after {
                Some(after) => child.own.encode(cx, after)?.as_ref() == Some(&own),
                None => false,
            };
            keys.push(Some(LostKey { own, in_child, is_equal }));
        }
        Ok(Self { keys })
    }

    /// Takes the locks (K1).
    fn give_up(&self, cx: &mut Context, references: &References) -> Changed {
        for (child, key) in references.children.iter().zip(&self.keys) {
            if let Some(key) = key.as_ref().filter(|key| !key.is_equal) {
                let own = &child.own;
                cx.storage_transaction().give_up_referenced(&own.table.schema, own.index, &key.own)?;
            }
        }
        Ok(())
    }
}

/// The foreign keys, by their numbers, whose columns a change of a row changes.
fn changed_keys(table: &TableDef, before: &[u8], after: &[u8]) -> Result<SmallVec<[usize; 4]>> {
    if table.foreign_keys.is_empty() {
        return Ok(SmallVec::new());
    }
    let (mut old, mut new) = (Offsets::default(), Offsets::default());
    old.find(table, before)?;
    new.find(table, after)?;
    let changes = |key: &ForeignKeyDef| key.columns.iter().any(|&c| old.raw(before, c) != new.raw(after, c));
    let all = table.foreign_keys.iter().enumerate();
    Ok(all.filter(|(_, key)| changes(key)).map(|(number, _)| number).collect())
}

impl References {
    /// Those of a table, opened at their first use in the statement.
    fn of(cx: &mut Context, table: &Arc<TableDef>) -> Result<Arc<References>> {
        if let Some(known) = cx.statement.references.iter().find(|(id, _)| *id == table.id) {
            return Ok(known.1.clone());
        }
        let references = Arc::new(Self::open(cx, table)?);
        cx.statement.references.push((table.id, references.clone()));
        Ok(references)
    }

    fn open(cx: &mut Context, table: &Arc<TableDef>) -> Result<References> {
        let own = table.qualified_name();
        let mut parents = Vec::with_capacity(table.foreign_keys.len());
        for (number, key) in table.foreign_keys.iter().enumerate() {
            let parent = match key.parent == own {
                true => Some(table.clone()),
                false => cx.open_related(&key.parent, MetadataLockType::Read)?,
            };
            let key = parent.and_then(|parent| {
                let (index, to) = (key.parent_index(&parent)?, key.numbers_in(&parent)?);
                Some(KeyOf { table: parent, index, from: key.columns.clone(), to })
            });
            parents.push(Parent { number, key });
        }
        let mut children = Vec::new();
        for name in table.referenced_by.iter() {
            let child = match *name == own {
                true => Some(table.clone()),
                false => {
                    // Its rows may have to change.
                    cx.open_related(name, MetadataLockType::Write)?
                }
            };
            let Some(child) = child else { continue };
            for (number, key) in child.foreign_keys.iter().enumerate().filter(|(_, key)| key.parent == own) {
                let found = key.numbers_in(table).zip(key.child_index(&child)).zip(key.parent_index(table));
                let Some(((columns, index), own_index)) = found else { continue };
                let (from, to) = (columns.clone(), key.columns.clone());
                let of_child = KeyOf { table: child.clone(), index, from, to };
                let (from, to) = (columns.clone(), columns.clone());
                let own = KeyOf { table: table.clone(), index: own_index, from, to };
                children.push(Child { number, columns, key: of_child, own });
            }
        }
        let name = |child: &Child| (child.key.table.database.clone(), child.definition().name.to_lowercase());
        children.sort_by_cached_key(name);
        Ok(References { parents, children })
    }
}

impl Child {
    /// Error 1451; 1217 for who may not know of the child.
    fn is_in_the_way(&self, cx: &mut Context) -> SqlError {
        let table = &self.key.table;
        match cx.grants().sees_definitions(&table.database) {
            true => error::ROW_IS_REFERENCED_2.with(&[&constraint(table, self.definition())]),
            false => error::ROW_IS_REFERENCED.plain(),
        }
    }

    fn definition(&self) -> &ForeignKeyDef {
        &self.key.table.foreign_keys[self.number]
    }

    /// A row of the child as CASCADE and SET NULL make it.
    fn changed_row(
        &self,
        cx: &mut Context,
        parent: &TableDef,
        row: &[u8],
        action: ReferenceAction,
        change: ParentChange<'_>,
    ) -> std::result::Result<Vec<u8>, NotChanged> {
        let table = &self.key.table;
        let mut values: Vec<(usize, Datum<'static>)> = Vec::with_capacity(self.columns.len());
        match change {
            ParentChange::Updated(after) if action == ReferenceAction::Cascade => {
                let mut offsets = Offsets::default();
                offsets.find(parent, after)?;
                let after = ImageRow { table: parent, image: after, offsets: &offsets };
                for (&from, &to) in self.columns.iter().zip(&self.key.to) {
                    let value = fitted(cx, after, from, &table.columns[to].ty)?;
                    let is_good = value.as_ref().is_some_and(|v| !v.is_null() || table.columns[to].nullable);
                    let Some(value) = value.filter(|_| is_good) else {
                        return Err(NotChanged::Reference(self.is_in_the_way(cx)));
                    };
                    values.push((to, value.into_owned()));
                }
            }
            _ => values.extend(self.key.to.iter().map(|&column| (column, Datum::Null))),
        }
        let mut image = super::assignments::rebuild(table, row, &values)?;
        if !table.is_plain() {
            let rules = cx.store_rules(false);
            computed::complete(cx, table, &mut image, &[], RowRules { row: 1, rules }, false)?;
        }
        Ok(image)
    }
}

impl KeyOf {
    /// The beginning of the key that the row's columns are in the index; `None` if one of them is
    /// NULL, or no value of the other column's type.
    fn encode(&self, cx: &mut Context, row: ImageRow<'_>) -> Result<Option<Vec<u8>>> {
        let mut bytes: SmallVec<[Raw<'_>; 4]> = SmallVec::new();
        for (&from, &to) in self.from.iter().zip(&self.to) {
            let Some(raw) = row.offsets.raw(row.image, from) else { return Ok(None) };
            let (of_row, of_index) = (&row.table.columns[from].ty, &self.table.columns[to].ty);
            bytes.push(match have_same_bytes(of_row, of_index) {
                true => Raw::Same(raw),
                false => match fitted(cx, row, from, of_index)? {
                    Some(value) => Raw::Fitted(raw_of(&value, of_index)?),
                    None => return Ok(None),
                },
            });
        }
        let values: SmallVec<[Option<&[u8]>; 4]> = bytes.iter().map(|raw| Some(raw.bytes())).collect();
        let index = self.table.schema.index(self.index);
        let index = index.ok_or_else(|| SqlError::internal("a foreign key by no index"))?;
        let mut key = Vec::new();
        index.encode_values(&values, &mut key).map_err(SqlError::internal)?;
        Ok(Some(key))
    }
}

/// A value's bytes as a row image has them.
enum Raw<'a> {
    Same(&'a [u8]),
    Fitted(Vec<u8>),
}

impl Raw<'_> {
    fn bytes(&self) -> &[u8] {
        match self {
            Raw::Same(bytes) => bytes,
            Raw::Fitted(bytes) => bytes,
        }
    }
}

/// A column's value as another type has it; `None` if that type has no such value.
fn fitted<'a>(
    cx: &mut Context,
    row: ImageRow<'a>,
    column: usize,
    ty: &DataType,
) -> Result<Option<Datum<'static>>> {
    let own = &row.table.columns[column].ty;
    let zone = cx.settings.zone();
    let value = row.column(column, zone)?;
    if value.is_null() {
        return Ok(Some(Datum::Null));
    }
    let rules = store::Rules { strict: true, ..cx.store_rules(false) };
    let fit = |value: Datum<'a>, ty: &DataType, from: &DataType| -> Option<Datum<'static>> {
        let mut diagnostics = Diagnostics::default();
        let mut target =
            store::Target { column: "", table: "", row: 1, rules, diagnostics: &mut diagnostics };
        let charset = if from.is_string() { from.collation().charset() } else { Charset::Ascii };
        store::fit(value, charset, ty, &mut target).ok().map(Datum::into_owned)
    };
    let Some(there) = fit(value, ty, own) else { return Ok(None) };
    // Blanks at the end are no difference to such a collation, and CHAR has none.
    if ty.is_string() && ty.collation().pads_space() {
        return Ok(Some(there));
    }
    let Some(back) = fit(there.clone(), own, ty) else { return Ok(None) };
    let is_same = raw_of(&back, own)?.as_slice() == row.offsets.raw(row.image, column).unwrap_or_default();
    Ok(is_same.then_some(there))
}

/// A value's bytes as a column of its type has them in a row image.
fn raw_of(value: &Datum<'_>, ty: &DataType) -> Result<Vec<u8>> {
    let (types, mut out) = ([ty.column_type()], Vec::new());
    let mut builder = RowImageBuilder::new(&types, &mut out);
    image::push(&mut builder, value, ty)?;
    builder.finish().map_err(SqlError::internal)?;
    // After the null bitmap.
    Ok(out.split_off(1))
}
