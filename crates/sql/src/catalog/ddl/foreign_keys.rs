//! Which foreign keys may be made, and what else changes with a table that has some, or is
//! referred to by some.
//!
//! 1. complete   A new definition's foreign keys get what only the parent knows, and are checked
//!    with it: errors 1824, 3734, 3780, 6125, 1822, 1826.
//! 2. follow     A table that others refer to got another name, or columns with other names: their
//!    definitions follow, as changes of the same statement.
//! 3. related    Tables whose rows mean something else from now on, besides the one that is
//!    defined: nobody may be using them when the statement is committed
//!    (F3 of `catalog/foreign_key.rs`).

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Settings;
use crate::catalog::foreign_key::{
    ForeignKeyDef, TableName, are_compatible, index_on, keeps_values, unique_index_on,
};
use crate::catalog::objects::CatalogState;
use crate::catalog::record::Change;
use crate::catalog::{IndexDef, TableDef, show};
use datum::error::{self, Result};

/// A table as a statement finds it, and as it makes it.
pub(super) struct Redefinition<'a> {
    /// The table as it was; `None` if it is new.
    pub(super) old: Option<&'a TableDef>,
    pub(super) new: &'a mut TableDef,
    /// For each new column its number in the old table.
    pub(super) origins: &'a [Option<usize>],
}

impl Redefinition<'_> {
    /// Completes and checks the foreign keys that are new, and those that new columns and indexes
    /// could break: the table's own, and others' that refer to it.
    pub(super) fn complete(&mut self, state: &CatalogState, settings: &Settings) -> Result<()> {
        let says_columns = |key: &ForeignKeyDef| !key.parent_columns.is_empty();
        if settings.from_client
            && !settings.foreign_key_checks
            && !self.new.foreign_keys.iter().all(says_columns)
        {
            let what = "Key reference and table reference don't match";
            return Err(error::WRONG_FK_DEF.with(&[&"foreign key without name", &what]));
        }
        let parents = self.parents(state);
        for (number, parent) in parents.iter().enumerate() {
            self.name_parent_columns(number, parent.as_deref());
        }
        if !settings.from_client {
            return Ok(());
        }
        if self.new.is_temporary() && !self.new.foreign_keys.is_empty() {
            return Err(error::CANNOT_ADD_FOREIGN.plain());
        }
        self.check_names(state)?;
        for (key, parent) in self.new.foreign_keys.iter().zip(&parents) {
            datum::bounds::check()?;
            match parent.as_deref().or_else(|| self.is_self(key).then_some(&*self.new)) {
                Some(parent) => {
                    let is_new = self.is_new(key);
                    check_parent(self.new, key, parent, settings, is_new)?;
                    if is_new && self.is_self(key) && key.numbers_in(parent).as_ref() == Some(&key.columns) {
                        return Err(match settings.restricts_foreign_keys {
                            true => error::FK_NO_UNIQUE_INDEX_PARENT.with(&[&key.name, &parent.name]),
                            false => error::FK_NO_INDEX_PARENT.with(&[&key.name, &parent.name]),
                        });
                    }
                }
                None if settings.foreign_key_checks && self.is_new(key) => {
                    return Err(error::FK_CANNOT_OPEN_PARENT.with(&[&key.parent.name]));
                }
                None => {}
            }
        }
        self.check_children(state, settings)
    }

    fn is_self(&self, key: &ForeignKeyDef) -> bool {
        key.parent == self.new.qualified_name()
    }

    /// True for a foreign key that the table did not have before.
    fn is_new(&self, key: &ForeignKeyDef) -> bool {
        self.before(key).is_none()
    }

    /// The foreign key of the old table that this one is: the same columns of both tables, whatever
    /// all of them are called now.
    fn before(&self, key: &ForeignKeyDef) -> Option<&ForeignKeyDef> {
        let old = self.old?;
        let origin = |&column: &usize| self.origins.get(column).copied().flatten();
        let columns: Vec<Option<usize>> = key.columns.iter().map(origin).collect();
        let is_it = |before: &&ForeignKeyDef| {
            let was_self = before.parent == old.qualified_name();
            let same_parent = match was_self {
                true => {
                    let of_parent = |numbers: Vec<usize>| numbers.iter().map(origin).collect::<Vec<_>>();
                    let referenced = before.numbers_in(old).map(|n| n.into_iter().map(Some).collect());
                    self.is_self(key) && referenced == key.numbers_in(self.new).map(of_parent)
                }
                false => before.parent == key.parent && before.parent_columns == key.parent_columns,
            };
            same_parent && before.columns.iter().map(|&column| Some(column)).eq(columns.iter().copied())
        };
        old.foreign_keys.iter().find(is_it)
    }

    /// The foreign keys, by their numbers, that the rows which are there may break.
    pub(super) fn unchecked(&self) -> Vec<usize> {
        let is_checked = |key: &ForeignKeyDef| {
            self.before(key).is_some_and(|before| {
                let generated = |table: &TableDef, column: usize| table.columns[column].generated.clone();
                let mut columns = key.columns.iter().zip(&before.columns);
                self.old.is_some_and(|old| {
                    columns.all(|(&now, &then)| generated(self.new, now) == generated(old, then))
                })
            })
        };
        (0..self.new.foreign_keys.len())
            .filter(|&number| !is_checked(&self.new.foreign_keys[number]))
            .collect()
    }

    /// Errors 1832 and 1833 for a column of a foreign key, its own or another table's, whose values
    /// may become others.
    pub(super) fn check_changed(&self, state: &CatalogState, settings: &Settings) -> Result<()> {
        let Some(old) = self.old.filter(|_| settings.foreign_key_checks) else { return Ok(()) };
        let changes = |number: usize| {
            let Some(now) = self.origins.iter().position(|origin| *origin == Some(number)) else {
                return false; // dropped, which has errors of its own
            };
            let (before, after) = (&old.columns[number], &self.new.columns[now]);
            let counts = (old.auto_column == Some(number)) != (self.new.auto_column == Some(now));
            let loses_null = before.nullable && !after.nullable && !settings.is_strict();
            !keeps_values(&before.ty, &after.ty) || counts || loses_null
        };
        for before in &old.foreign_keys {
            let stays = self.new.foreign_keys.iter().any(|key| self.before(key) == Some(before));
            if let Some(&column) = before.columns.iter().find(|&&column| stays && changes(column)) {
                let column = &old.columns[column].name;
                return Err(error::FK_COLUMN_CANNOT_CHANGE.with(&[column, &before.name]));
            }
        }
        let name = old.qualified_name();
        for child in state.referenced_by(&name).iter() {
            let Some(child) = state.table(&child.database, &child.name) else { continue };
            for key in child.foreign_keys.iter().filter(|key| key.parent == name) {
                datum::bounds::check()?;
                let numbers = key.numbers_in(old).unwrap_or_default();
                if let Some(column) = numbers.into_iter().find(|&column| changes(column)) {
                    let column = &old.columns[column].name;
                    return Err(error::FK_COLUMN_CANNOT_CHANGE_CHILD.with(&[column, &key.name, &child.name]));
                }
            }
        }
        Ok(())
    }

    /// The parents as they are, where they are; none for the table itself.
    fn parents(&self, state: &CatalogState) -> Vec<Option<Arc<TableDef>>> {
        let find = |key: &ForeignKeyDef| match self.is_self(key) {
            true => None,
            false => state.table(&key.parent.database, &key.parent.name).cloned(),
        };
        self.new.foreign_keys.iter().map(find).collect()
    }

    /// Columns are named as the parent names them; without a list of them its primary key is meant.
    fn name_parent_columns(&mut self, number: usize, parent: Option<&TableDef>) {
        let is_self = self.is_self(&self.new.foreign_keys[number]);
        let Some(parent) = parent.or_else(|| is_self.then_some(&*self.new)) else { return };
        let given = &self.new.foreign_keys[number].parent_columns;
        if !given.is_empty() {
            let own = |name: &String| {
                let number = parent.column_index(name);
                number.map_or_else(|| name.clone(), |number| parent.columns[number].name.clone())
            };
            let columns = given.iter().map(own).collect();
            self.new.foreign_keys[number].parent_columns = columns;
            return;
        }
        let name = |part: &storage::schema::KeyPart| parent.columns[part.column].name.clone();
        let columns = match parent.has_generated_key() {
            true => Vec::new(),
            false => parent.indexes.first().into_iter().flat_map(|key| &key.parts).map(name).collect(),
        };
        self.new.foreign_keys[number].parent_columns = columns;
    }

    /// Error 1826 for a name that another foreign key of the database has.
    fn check_names(&self, state: &CatalogState) -> Result<()> {
        let in_place = self.old.filter(|old| old.database == self.new.database);
        let is_new =
            |key: &&ForeignKeyDef| in_place.is_none_or(|old| old.foreign_key_named(&key.name).is_none());
        let new: BTreeSet<String> =
            self.new.foreign_keys.iter().filter(is_new).map(|key| key.name.to_lowercase()).collect();
        let Some(database) = state.database(&self.new.database).filter(|_| !new.is_empty()) else {
            return Ok(());
        };
        for other in database.tables.values() {
            datum::bounds::check()?;
            if self.old.is_some_and(|old| old.id == other.id) {
                continue;
            }
            if let Some(key) = other.foreign_keys.iter().find(|key| new.contains(&key.name.to_lowercase())) {
                let named = self.new.foreign_key_named(&key.name).map_or(&key.name, |own| &own.name);
                return Err(error::FK_DUP_NAME.with(&[named]));
            }
        }
        Ok(())
    }

    /// Foreign keys of others to this table must still find what they refer to.
    fn check_children(&self, state: &CatalogState, settings: &Settings) -> Result<()> {
        let name = self.new.qualified_name();
        let mut names: BTreeSet<TableName> = state.referenced_by(&name).iter().cloned().collect();
        let old_name = self.old.map(TableDef::qualified_name);
        names.extend(old_name.iter().flat_map(|name| state.referenced_by(name).to_vec()));
        names.remove(&name);
        old_name.as_ref().map(|name| names.remove(name));
        for child in names.iter().filter_map(|child| state.table(&child.database, &child.name)) {
            for key in &child.foreign_keys {
                datum::bounds::check()?;
                let (is_old, is_new) = (Some(&key.parent) == old_name.as_ref(), key.parent == name);
                let refers = match is_old {
                    true => self.follow(key),
                    false if is_new => key.clone(),
                    false => continue,
                };
                let checked = check_parent(child, &refers, self.new, settings, !is_old);
                match checked {
                    // The child is there, and nothing else names the table that is new.
                    Err(e)
                        if !is_old
                            && settings.foreign_key_checks
                            && !e.is(error::FK_INCOMPATIBLE_COLUMNS) =>
                    {
                        return Err(error::CANNOT_ADD_FOREIGN.plain());
                    }
                    checked => checked?,
                }
            }
        }
        Ok(())
    }

    /// What a foreign key to the old table is with the new one's names.
    fn follow(&self, key: &ForeignKeyDef) -> ForeignKeyDef {
        let mut key = key.clone();
        key.parent = self.new.qualified_name();
        let Some(old) = self.old else { return key };
        for name in &mut key.parent_columns {
            let number = old.column_index(name);
            let column = number.and_then(|number| self.origins.iter().position(|from| *from == Some(number)));
            if let Some(column) = column {
                name.clone_from(&self.new.columns[column].name);
            }
        }
        key
    }

    /// The other tables whose foreign keys name this one otherwise from now on.
    pub(super) fn followers(&self, state: &CatalogState) -> Vec<Change> {
        let Some(old) = self.old.map(TableDef::qualified_name) else { return Vec::new() };
        let mut changes = Vec::new();
        for child in state.referenced_by(&old).iter().filter(|child| **child != old) {
            let Some(child) = state.table(&child.database, &child.name) else { continue };
            let mut new = TableDef::clone(child);
            let of_old = new.foreign_keys.iter_mut().filter(|key| key.parent == old);
            of_old.for_each(|key| *key = self.follow(key));
            if new.foreign_keys != child.foreign_keys {
                changes.push(Change::AlterTable(child.clone(), Arc::new(new), state.next));
            }
        }
        changes
    }

    /// Tables whose sessions must have ended what they do: parents that get a child, children that
    /// get a parent or know it by another name.
    pub(super) fn related(&self, state: &CatalogState) -> Vec<Arc<TableDef>> {
        let name = self.new.qualified_name();
        let had = |parent: &TableName| {
            self.old.is_some_and(|old| old.foreign_keys.iter().any(|key| key.parent == *parent))
        };
        let parents = self.new.foreign_keys.iter().map(|key| &key.parent).filter(|parent| !had(parent));
        let mut names: BTreeSet<TableName> = parents.cloned().collect();
        if self.old.is_none_or(|old| old.qualified_name() != name) {
            names.extend(state.referenced_by(&name).iter().cloned());
        }
        names.remove(&name);
        let old = self.old.map(TableDef::qualified_name);
        old.as_ref().map(|old| names.remove(old));
        let mut tables: Vec<Arc<TableDef>> =
            names.iter().filter_map(|name| state.table(&name.database, &name.name).cloned()).collect();
        for change in self.followers(state) {
            if let Change::AlterTable(child, ..) = change
                && !tables.iter().any(|table| Arc::ptr_eq(table, &child))
            {
                tables.push(child);
            }
        }
        tables
    }

    /// Errors 1829 and 1553 for columns and indexes that are gone and that foreign keys need.
    pub(super) fn check_dropped(&self, state: &CatalogState, settings: &Settings) -> Result<()> {
        let Some(old) = self.old else { return Ok(()) };
        let name = old.qualified_name();
        for child in state.referenced_by(&name).iter() {
            let is_self = *child == name;
            let Some(child) = state.table(&child.database, &child.name) else { continue };
            let stays = |key: &&ForeignKeyDef| {
                key.parent == name && (!is_self || self.new.foreign_key_named(&key.name).is_some())
            };
            for key in child.foreign_keys.iter().filter(stays) {
                datum::bounds::check()?;
                let is_kept = |column: &String| {
                    let number = old.column_index(column);
                    number.is_none() || self.origins.contains(&number)
                };
                if let Some(column) = key.parent_columns.iter().find(|column| !is_kept(column)) {
                    return Err(error::FK_COLUMN_CANNOT_DROP_CHILD.with(&[column, &key.name, &child.name]));
                }
                let Some(before) = key.parent_index(old).map(|before| &old.indexes[before]) else { continue };
                let now = self.follow(key).parent_index(self.new).map(|now| &self.new.indexes[now]);
                let loses_unique =
                    |now: &IndexDef| settings.restricts_foreign_keys && before.unique && !now.unique;
                if now.is_none_or(loses_unique) {
                    return Err(error::DROP_INDEX_FK.with(&[&before.name]));
                }
            }
        }
        for key in &self.new.foreign_keys {
            if key.child_index(self.new).is_none() {
                let before = old.foreign_key_named(&key.name).and_then(|key| key.child_index(old));
                let name = before.map_or(&key.name, |before| &old.indexes[before].name);
                return Err(error::DROP_INDEX_FK.with(&[name]));
            }
        }
        Ok(())
    }
}

/// Error 3730 for a table that is dropped and that a foreign key of a table refers to which stays.
pub(super) fn check_drops(
    dropped: &[&Arc<TableDef>],
    state: &CatalogState,
    settings: &Settings,
) -> Result<()> {
    if !settings.foreign_key_checks {
        return Ok(());
    }
    let names: BTreeSet<TableName> = dropped.iter().map(|table| table.qualified_name()).collect();
    for table in dropped.iter().filter(|table| !table.is_temporary()) {
        datum::bounds::check()?;
        if let Some((child, key)) = referrer(table, state, |child| names.contains(child)) {
            return Err(error::FK_CANNOT_DROP_PARENT.with(&[&table.name, &key.name, &child.name]));
        }
    }
    Ok(())
}

/// Error 1701 for a table that is emptied and that a foreign key of another one refers to.
pub(super) fn check_truncate(table: &TableDef, state: &CatalogState, settings: &Settings) -> Result<()> {
    let own = table.qualified_name();
    match referrer(table, state, |child| *child == own).filter(|_| settings.foreign_key_checks) {
        Some((child, key)) => {
            let name = [&child.database, &child.name].map(|name| show::quote(name)).join(".");
            let what = format!("{name}, CONSTRAINT {}", show::quote(&key.name));
            Err(error::TRUNCATE_ILLEGAL_FK.with(&[&what]))
        }
        None => Ok(()),
    }
}

/// The first foreign key to a table, by its own table's name; not of tables that are passed over.
fn referrer(
    table: &TableDef,
    state: &CatalogState,
    passes_over: impl Fn(&TableName) -> bool,
) -> Option<(Arc<TableDef>, ForeignKeyDef)> {
    let name = table.qualified_name();
    let children = state.referenced_by(&name);
    let mut children = children.iter().filter(|child| !passes_over(child));
    children.find_map(|child| {
        let child = state.table(&child.database, &child.name)?;
        let key = child.foreign_keys.iter().find(|key| key.parent == name)?;
        Some((child.clone(), key.clone()))
    })
}

/// Errors 3734, 3780, 6125 and 1822. An index that a foreign key needs and that is `new` no more
/// was asked for when the key was made.
fn check_parent(
    child: &TableDef,
    key: &ForeignKeyDef,
    parent: &TableDef,
    settings: &Settings,
    is_new: bool,
) -> Result<()> {
    let mut numbers = Vec::with_capacity(key.columns.len());
    for name in &key.parent_columns {
        match parent.column_index(name) {
            Some(number) => numbers.push(number),
            None => return Err(error::FK_NO_COLUMN_PARENT.with(&[name, &key.name, &parent.name])),
        }
    }
    if numbers.is_empty() {
        return Err(error::FK_NO_INDEX_PARENT.with(&[&key.name, &parent.name]));
    }
    if numbers.len() != key.columns.len() {
        let what = "Key reference and table reference don't match";
        return Err(error::WRONG_FK_DEF.with(&[&key.name, &what]));
    }
    for (&column, &number) in key.columns.iter().zip(&numbers) {
        let (column, of_parent) = (&child.columns[column], &parent.columns[number]);
        if is_new && of_parent.generated.as_ref().is_some_and(|generated| !generated.stored) {
            return Err(error::FK_CANNOT_USE_VIRTUAL_COLUMN.with(&[&key.name, &of_parent.name]));
        }
        if !are_compatible(&column.ty, &of_parent.ty) {
            return Err(error::FK_INCOMPATIBLE_COLUMNS.with(&[&column.name, &of_parent.name, &key.name]));
        }
    }
    if unique_index_on(&parent.indexes, &numbers).is_some() {
        return Ok(());
    }
    if is_new && settings.restricts_foreign_keys {
        return Err(error::FK_NO_UNIQUE_INDEX_PARENT.with(&[&key.name, &parent.name]));
    }
    match index_on(&parent.indexes, &numbers) {
        Some(_) => Ok(()),
        None => Err(error::FK_NO_INDEX_PARENT.with(&[&key.name, &parent.name])),
    }
}
