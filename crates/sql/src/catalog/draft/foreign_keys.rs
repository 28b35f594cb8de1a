//! The foreign keys of a table in the making, as far as the table alone decides: names, columns,
//! and the keys that are made for them. What the parent has to say is asked later
//! (`ddl/foreign_keys.rs`).
//!
//! As in MySQL, every foreign key brings a key of its own, which goes again if another key begins
//! with its columns.

use syntax::ast::{self, Ident, KeyKind, ReferenceAction};

use super::super::build::check_constraint_name;
use super::super::foreign_key::{ForeignKeyDef, TableName, acts};
use super::expressions::reads_column;
use super::{Draft, DraftKey, DraftPart};
use datum::error::{self, Result};

/// A foreign key in the making.
#[derive(Debug, Clone)]
pub(crate) struct DraftForeignKey {
    /// Its name, if one was given.
    pub name: Option<String>,
    /// The columns that refer.
    pub columns: Vec<String>,
    /// The table that is referred to.
    pub parent: TableName,
    /// Its columns; empty for those of its primary key.
    pub parent_columns: Vec<String>,
    /// `NoAction` if nothing is said.
    pub on_delete: ReferenceAction,
    /// As above.
    pub on_update: ReferenceAction,
}

impl Draft {
    /// Adds a FOREIGN KEY of a table of `database`, and the key that it brings.
    pub(crate) fn add_foreign_key(&mut self, ast: &ast::ForeignKey, database: &str) -> Result<()> {
        let name = ast.name.as_ref().map(ToString::to_string).filter(|name| !name.is_empty());
        if let Some(name) = &name {
            check_constraint_name(name)?;
        }
        let references = &ast.references;
        if !references.columns.is_empty() && references.columns.len() != ast.columns.len() {
            let shown = name.as_deref().unwrap_or("foreign key without name");
            let what = "Key reference and table reference don't match";
            return Err(error::WRONG_FK_DEF.with(&[&shown, &what]));
        }
        let part =
            |column: &Ident| DraftPart { column: column.to_string(), prefix_len: None, descending: false };
        self.keys.push(DraftKey {
            name: name.clone().or_else(|| ast.index.as_ref().map(ToString::to_string)),
            kind: KeyKind::Index,
            parts: ast.columns.iter().map(part).collect(),
            comment: String::new(),
            visible: true,
            generated: true,
            declared: false,
            origin: None,
        });
        let of_parent = references.table.database.as_ref().map_or(database, |database| database);
        self.foreign_keys.push(DraftForeignKey {
            name,
            columns: ast.columns.iter().map(ToString::to_string).collect(),
            parent: TableName { database: of_parent.to_owned(), name: references.table.name.to_string() },
            parent_columns: references.columns.iter().map(ToString::to_string).collect(),
            on_delete: references.on_delete.unwrap_or(ReferenceAction::NoAction),
            on_update: references.on_update.unwrap_or(ReferenceAction::NoAction),
        });
        Ok(())
    }

    /// `REFERENCES` after a column: a foreign key of that column.
    pub(crate) fn add_reference(
        &mut self,
        column: &str,
        ast: &ast::References,
        database: &str,
    ) -> Result<()> {
        let key = ast::ForeignKey {
            name: None,
            index: None,
            columns: vec![Ident::new(column)],
            references: ast.clone(),
        };
        self.add_foreign_key(&key, database)
    }

    /// The place of a foreign key.
    pub(crate) fn find_foreign_key(&self, name: &str) -> Option<usize> {
        let is_it = |own: &str| own.eq_ignore_ascii_case(name);
        self.foreign_keys.iter().position(|key| key.name.as_deref().is_some_and(is_it))
    }

    /// Takes out the keys that foreign keys brought and others make needless: those whose columns
    /// another key begins with. Of two that are equal the later one stays.
    pub(super) fn drop_needless_keys(&mut self) {
        let mut number = 0;
        while number < self.keys.len() {
            let key = &self.keys[number];
            let serves = |(other, it): (usize, &DraftKey)| {
                // The server's own text has the key and what brought it.
                let goes_first = it.parts.len() > key.parts.len() || other > number;
                other != number
                    && begins_with(it, key)
                    && (!it.generated || it.declared || !key.declared && goes_first)
            };
            match key.generated && self.keys.iter().enumerate().any(serves) {
                true => drop(self.keys.remove(number)),
                false => number += 1,
            }
        }
    }

    /// The names that foreign keys were given follow the table's.
    pub(crate) fn rename_foreign_keys(&mut self, from: &str, to: &str) {
        for name in self.foreign_keys.iter_mut().filter_map(|key| key.name.as_mut()) {
            if let Some(new) = renamed(name, from, to) {
                *name = new;
            }
        }
    }

    /// The foreign keys by name, those without one named `table_ibfk_1` and on.
    pub(super) fn canonical_foreign_keys(&self, table: &str) -> Result<Vec<ForeignKeyDef>> {
        // As in MySQL, names that the statement itself gives are not looked at.
        let mut last = self.last_foreign_key;
        let mut keys: Vec<ForeignKeyDef> = Vec::with_capacity(self.foreign_keys.len());
        for key in &self.foreign_keys {
            datum::bounds::check()?;
            let name = key.name.clone().unwrap_or_else(|| {
                last += 1;
                format!("{table}{GENERATED}{last}")
            });
            // One that is made of the table's name may be too long.
            check_constraint_name(&name)?;
            if keys.iter().any(|other| other.name.eq_ignore_ascii_case(&name)) {
                return Err(error::FK_DUP_NAME.with(&[&name]));
            }
            let column = |column: &String| {
                let found = self.find(column).filter(|&number| !self.columns[number].def.is_hidden());
                found.ok_or_else(|| error::KEY_COLUMN_DOES_NOT_EXIST.with(&[column]))
            };
            let columns = key.columns.iter().map(column).collect::<Result<Vec<usize>>>()?;
            let made = ForeignKeyDef {
                name,
                columns,
                parent: key.parent.clone(),
                parent_columns: key.parent_columns.clone(),
                on_delete: key.on_delete,
                on_update: key.on_update,
            };
            if self.environment.from_client {
                self.check_foreign_key(&made)?;
            }
            keys.push(made);
        }
        sort(&mut keys);
        Ok(keys)
    }

    /// What the columns' own definitions forbid: errors 1830, 3733, 3104, 1215 and 3823.
    fn check_foreign_key(&self, key: &ForeignKeyDef) -> Result<()> {
        let clauses = [("ON DELETE", key.on_delete), ("ON UPDATE", key.on_update)];
        let sets_null = clauses.iter().any(|(_, action)| *action == ReferenceAction::SetNull);
        for &number in &key.columns {
            let column = &self.columns[number].def;
            if sets_null && !column.nullable {
                return Err(error::FK_COLUMN_NOT_NULL.with(&[&column.name, &key.name]));
            }
            let Some(generated) = &column.generated else { continue };
            if !generated.stored {
                return Err(error::FK_CANNOT_USE_VIRTUAL_COLUMN.with(&[&key.name, &column.name]));
            }
            for (clause, action) in clauses {
                let what = match action {
                    ReferenceAction::Cascade if clause == "ON UPDATE" => "CASCADE",
                    ReferenceAction::SetNull => "SET NULL",
                    _ => continue,
                };
                let what = format!("{clause} {what}");
                return Err(error::WRONG_FK_OPTION_FOR_GENERATED_COLUMN.with(&[&what]));
            }
        }
        let changes_columns = sets_null || key.on_update == ReferenceAction::Cascade;
        if !acts(key.on_delete) && !acts(key.on_update) {
            return Ok(());
        }
        for &number in &key.columns {
            let name = &self.columns[number].def.name;
            let is_read = |column: &&super::DraftColumn| {
                let stored = column.def.generated.as_ref().is_some_and(|generated| generated.stored);
                stored && column.expr.as_ref().is_some_and(|expr| reads_column(expr, name))
            };
            if self.columns.iter().any(|column| is_read(&column)) {
                return Err(error::CANNOT_ADD_FOREIGN.plain());
            }
            let reads = |check: &&super::DraftCheck| changes_columns && reads_column(&check.expr, name);
            if let Some(check) = self.checks.iter().find(reads) {
                let check = check.name.clone().unwrap_or_default();
                return Err(error::CHECK_CONSTRAINT_CLAUSE_USING_FK_REFER_ACTION_COLUMN
                    .with(&[name, &check, &key.name]));
            }
        }
        Ok(())
    }
}

/// What stands between the table's name and the number in a name that the server gives.
const GENERATED: &str = "_ibfk_";

/// The number in a name that the server has given, or could have.
pub(super) fn number_of(name: &str, table: &str) -> Option<u32> {
    let digits = name.strip_prefix(table)?.strip_prefix(GENERATED)?;
    let number: u32 = digits.parse().ok()?;
    (digits == number.to_string() && number < u32::MAX).then_some(number)
}

/// Puts foreign keys in the order in which they are shown and asked: by name, in any case.
pub(crate) fn sort(keys: &mut [ForeignKeyDef]) {
    keys.sort_by_cached_key(|key| (key.name.to_lowercase(), key.name.clone()));
}

/// The name of a foreign key that was made of its table's, where that has a new name.
pub(crate) fn renamed(name: &str, from: &str, to: &str) -> Option<String> {
    number_of(name, from).map(|number| format!("{to}{GENERATED}{number}"))
}

/// True if `key` begins with the parts of `other`.
fn begins_with(key: &DraftKey, other: &DraftKey) -> bool {
    let is_same = |(a, b): (&DraftPart, &DraftPart)| {
        a.column.eq_ignore_ascii_case(&b.column)
            && a.prefix_len == b.prefix_len
            && a.descending == b.descending
    };
    let is_ordered = matches!(key.kind, KeyKind::Primary | KeyKind::Unique | KeyKind::Index);
    is_ordered && key.parts.len() >= other.parts.len() && key.parts.iter().zip(&other.parts).all(is_same)
}
