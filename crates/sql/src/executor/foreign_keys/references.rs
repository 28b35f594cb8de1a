//! What a table's rows refer to, and what refers to them: opened at their first use in a statement,
//! and whether a row's parents are there.

use std::sync::{Arc, OnceLock};

use storage::transaction::Transaction;
use syntax::ast::ReferenceAction;

use super::key::KeyEncoder;
use super::{Changed, NotChanged};
use crate::catalog::foreign_key::ForeignKeyDef;
use crate::catalog::metadata_lock::MetadataLockType;
use crate::catalog::{TableDef, show};
use crate::expression::row::{ImageRow, Offsets};
use crate::session::Context;
use datum::error::{self, Result, SqlError};

/// What a table's rows refer to, and what refers to them: opened for a statement (K2).
pub(crate) struct References {
    /// One for each of the table's foreign keys.
    pub(super) parents: Vec<Parent>,
    /// In the order in which they are asked.
    pub(super) children: Vec<Child>,
    affected: OnceLock<Affected>,
}

/// Where changes of a table's rows may lead to by CASCADE and SET NULL.
pub(super) struct Affected {
    /// The table itself, and all that its rows lead to.
    pub(super) tables: Vec<Arc<TableDef>>,
    /// They may come back to other rows of the table.
    pub(super) leads_back: bool,
}

/// What one of the table's foreign keys refers to.
pub(super) struct Parent {
    /// The foreign key, by its number in the table.
    pub(super) number: usize,
    /// The table that is referred to and how its index is asked; `None` where either is missing.
    key: Option<KeyEncoder>,
}

/// A foreign key of another table, or of the table itself, to it.
pub(super) struct Child {
    /// The foreign key, by its number in the child.
    number: usize,
    /// The table's columns that are referred to.
    pub(super) columns: Vec<usize>,
    /// The key of the rows that refer, in the child's index.
    pub(super) in_child: KeyEncoder,
    /// The key that is referred to, in the table's own index: for its lock.
    pub(super) in_parent: KeyEncoder,
}

/// What a row's foreign key comes to.
enum Referred<'p> {
    /// A column is NULL.
    Nothing,
    /// There can be no such row.
    Missing,
    /// A row with this key.
    Key(&'p KeyEncoder, Vec<u8>),
}

impl References {
    /// Those of a table, opened at their first use in the statement.
    pub(super) fn of(cx: &mut Context, table: &Arc<TableDef>) -> Result<Arc<References>> {
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
            parents.push(Parent::new(number, key, parent));
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
                let in_child = KeyEncoder { table: child.clone(), index, from, to };
                let (from, to) = (columns.clone(), columns.clone());
                let in_parent = KeyEncoder { table: table.clone(), index: own_index, from, to };
                children.push(Child { number, columns, in_child, in_parent });
            }
        }
        let name =
            |child: &Child| (child.in_child.table.database.clone(), child.definition().name.to_lowercase());
        children.sort_by_cached_key(name);
        Ok(References { parents, children, affected: OnceLock::new() })
    }

    /// Where changes of `table`, whose references these are, lead to.
    pub(super) fn affected(&self, cx: &mut Context, table: &Arc<TableDef>) -> Result<&Affected> {
        if let Some(known) = self.affected.get() {
            return Ok(known);
        }
        let (mut tables, mut leads_back) = (vec![table.clone()], false);
        let mut next = 0;
        while let Some(of) = tables.get(next).cloned() {
            next += 1;
            let references = References::of(cx, &of)?;
            for child in references.children.iter().filter(|child| child.definition().has_action()) {
                let child = &child.in_child.table;
                leads_back |= child.id == table.id;
                if !tables.iter().any(|known| known.id == child.id) {
                    tables.push(child.clone());
                }
            }
        }
        Ok(self.affected.get_or_init(|| Affected { tables, leads_back }))
    }
}

impl Parent {
    fn new(number: usize, key: &ForeignKeyDef, parent: Option<Arc<TableDef>>) -> Self {
        let key = parent.and_then(|parent| {
            let (index, to) = (key.parent_index(&parent)?, key.numbers_in(&parent)?);
            Some(KeyEncoder { table: parent, index, from: key.columns.clone(), to })
        });
        Self { number, key }
    }

    /// What a row of the table, whose foreign key is `definition`, refers to.
    fn referred(
        &self,
        cx: &mut Context,
        definition: &ForeignKeyDef,
        row: ImageRow<'_>,
    ) -> Result<Referred<'_>> {
        if definition.columns.iter().any(|&column| row.offsets.raw(row.image, column).is_none()) {
            return Ok(Referred::Nothing);
        }
        let Some(key) = &self.key else { return Ok(Referred::Missing) };
        Ok(key.encode(cx, row)?.map_or(Referred::Missing, |bytes| Referred::Key(key, bytes)))
    }
}

impl Child {
    /// Error 1451; 1217 for who may not know of the child.
    pub(super) fn is_in_the_way(&self, cx: &mut Context) -> SqlError {
        let table = &self.in_child.table;
        match cx.grants().sees_definitions(&table.database) {
            true => error::ROW_IS_REFERENCED_2.with(&[&constraint(table, self.definition())]),
            false => error::ROW_IS_REFERENCED.plain(),
        }
    }

    pub(super) fn definition(&self) -> &ForeignKeyDef {
        &self.in_child.table.foreign_keys[self.number]
    }
}

/// Error 1452 unless each parent is there.
pub(super) fn check_parents(
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
        if only.is_some_and(|only| !only.contains(&parent.number)) {
            continue;
        }
        let found = match parent.referred(cx, definition, row)? {
            Referred::Nothing => true,
            Referred::Missing => false,
            Referred::Key(key, bytes) => {
                cx.storage_transaction().refer_to(&key.table.schema, key.index, &bytes)?
            }
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

/// Foreign keys that a table gets while it has rows, and where their parents are found. Nobody else
/// uses the tables meanwhile.
pub(in crate::executor) struct NewForeignKeys {
    table: Arc<TableDef>,
    parents: Vec<Parent>,
}

impl NewForeignKeys {
    /// Those of `new` with these numbers; `old` is the table as its rows still are.
    ///
    /// # Errors
    /// 1235 for one that refers to an index of the table itself which is not there yet.
    pub(in crate::executor) fn of(
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
            let parent = Parent::new(number, key, parent);
            if is_own && parent.key.is_none() {
                return Err(SqlError::unsupported("a foreign key to an index that the same statement makes"));
            }
            parents.push(parent);
        }
        Ok(Self { table: new.clone(), parents })
    }

    /// Error 1452 unless a row, as it is to be, has its parents.
    pub(in crate::executor) fn check(
        &self,
        cx: &mut Context,
        reader: &mut Transaction,
        image: &[u8],
    ) -> Result<()> {
        let mut offsets = Offsets::default();
        offsets.find(&self.table, image)?;
        let row = ImageRow { table: &self.table, image, offsets: &offsets };
        for parent in &self.parents {
            let definition = &self.table.foreign_keys[parent.number];
            let found = match parent.referred(cx, definition, row)? {
                Referred::Nothing => true,
                Referred::Missing => false,
                Referred::Key(key, bytes) => reader.has_key(&key.table.schema, key.index, &bytes)?,
            };
            if !found {
                return Err(without_parent(cx, &self.table, definition));
            }
        }
        Ok(())
    }
}
