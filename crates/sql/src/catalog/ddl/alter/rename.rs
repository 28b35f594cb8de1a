//! RENAME COLUMN, CHANGE COLUMN's new name, and RENAME INDEX.

use std::collections::{HashMap, HashSet};

use super::draft::{Changed, no_column};
use super::row_id::is_generated_key;
use crate::catalog::TableDef;
use crate::catalog::build;
use datum::error::{self, Result};
use syntax::ast::AlterAction as A;

impl Changed {
    /// RENAME COLUMN and CHANGE COLUMN. All of them mean the columns as the statement finds them,
    /// so that two may swap their names.
    pub(super) fn rename_columns(&mut self, old: &TableDef, actions: &[&A]) -> Result<()> {
        let mut renamed: Vec<(usize, &str)> = Vec::new();
        for action in actions {
            let (from, to) = match action {
                A::RenameColumn { old: from, new } => (from, new),
                A::ChangeColumn { old: from, definition, .. } => (from, &definition.name),
                _ => continue,
            };
            let number = self.draft.find(from).ok_or_else(|| no_column(from, old))?;
            if renamed.iter().any(|(other, _)| *other == number) {
                return Err(no_column(from, old));
            }
            build::check_name(to, error::WRONG_COLUMN_NAME)?;
            let is_another = !from.eq_ignore_ascii_case(to);
            if is_another && self.draft.environment.from_client && is_generated_primary_key(old, from) {
                return Err(error::GIPK_FAILED_CHANGE_NOT_ALLOWED.plain());
            }
            self.check_rename(number, to, &old.name)?;
            renamed.push((number, to));
        }
        let stays = |number: usize| !renamed.iter().any(|(other, _)| *other == number);
        renamed.iter().for_each(|(_, to)| self.draft.make_way(to));
        let mut taken: HashSet<String> = HashSet::new();
        for (_, to) in &renamed {
            if self.draft.find(to).is_some_and(stays) || !taken.insert(to.to_ascii_lowercase()) {
                return Err(error::DUP_FIELDNAME.with(&[to]));
            }
        }
        let to_of: HashMap<String, &str> = renamed
            .iter()
            .map(|(n, to)| (self.draft.columns[*n].def.name.to_ascii_lowercase(), *to))
            .collect();
        let new_name = |name: &mut String| {
            if let Some(to) = to_of.get(&name.to_ascii_lowercase()) {
                *name = (*to).to_owned();
            }
        };
        self.draft.auto_column.iter_mut().for_each(new_name);
        self.draft.keys.iter_mut().flat_map(|k| &mut k.parts).map(|p| &mut p.column).for_each(new_name);
        let own = old.qualified_name();
        for key in &mut self.draft.foreign_keys {
            key.columns.iter_mut().for_each(new_name);
            if key.parent == own {
                key.parent_columns.iter_mut().for_each(new_name);
            }
        }
        self.draft.columns.iter_mut().map(|c| &mut c.def.name).for_each(new_name);
        Ok(())
    }

    /// Errors for a column that something computed reads by its name.
    fn check_rename(&self, number: usize, to: &str, table: &str) -> Result<()> {
        let from = &self.draft.columns[number].def.name;
        if from.eq_ignore_ascii_case(to) {
            return Ok(());
        }
        self.check_readers(number, table)?;
        match self.draft.checks.iter().find(|c| Self::reads(&c.expr, from)) {
            Some(check) => {
                let shown = check.name.clone().unwrap_or_default();
                Err(error::DEPENDENT_BY_CHECK_CONSTRAINT.with(&[&shown, from]))
            }
            None => Ok(()),
        }
    }

    /// RENAME INDEX: as with columns, all of them mean the indexes as the statement finds them.
    pub(super) fn rename_keys(&mut self, old: &TableDef, actions: &[&A]) -> Result<()> {
        let mut renamed: Vec<(usize, &str)> = Vec::new();
        for action in actions {
            let A::RenameKey { old: from, new: to } = action else { continue };
            let found = self.draft.find_key(from).filter(|key| renamed.iter().all(|(other, _)| other != key));
            let key = found.ok_or_else(|| error::KEY_DOES_NOT_EXIST.with(&[from, &old.name]))?;
            if from.eq_ignore_ascii_case("PRIMARY") {
                return Err(error::WRONG_NAME_FOR_INDEX.with(&[from]));
            }
            renamed.push((key, to));
        }
        let stays = |key: usize| !renamed.iter().any(|(other, _)| *other == key);
        for (place, (_, to)) in renamed.iter().enumerate() {
            let twice = renamed[..place].iter().any(|(_, other)| other.eq_ignore_ascii_case(to));
            if twice || self.draft.find_key(to).is_some_and(stays) {
                return Err(error::DUP_KEYNAME.with(&[to]));
            }
        }
        for (key, to) in renamed {
            let key = &mut self.draft.keys[key];
            // What a person has named is no longer the server's to drop.
            (key.name, key.generated) = (Some(to.to_owned()), false);
        }
        Ok(())
    }
}

/// True for the primary key of `sql_generate_invisible_primary_key`, or one that looks like it.
fn is_generated_primary_key(table: &TableDef, name: &str) -> bool {
    let Some(column) = table.auto_column.filter(|&column| column == 0) else { return false };
    let key = table.indexes.first().filter(|index| index.name == "PRIMARY");
    let definition = &table.columns[column];
    definition.name.eq_ignore_ascii_case(name)
        && !definition.is_row_id()
        && is_generated_key(definition)
        && key.is_some_and(|key| matches!(&key.parts[..], [part] if part.column == column))
}
