//! Which names the actions of an ALTER TABLE mean.
//!
//! (N1) ALTER COLUMN, ALTER INDEX, ALTER CHECK and ALTER CONSTRAINT name what the table had before
//!      the statement and what no other action of it drops, renames or, for columns, changes too.
//!      What the statement adds, or gives that name, is not meant. A replica of MySQL would stop
//!      at a statement that breaks this.
//! (N2) Errors come in MySQL's order: constraints and checks, columns, then indexes, which are
//!      looked for after what the statement drops and renames.
//!
//! Statements of the log are not asked: older versions took them, and replay makes the same of them
//! as those did.

use super::draft::no_column;
use crate::catalog::TableDef;
use crate::catalog::draft::Draft;
use datum::error::{self, Result};
use syntax::ast::AlterAction as A;

/// Checks what the table alone tells: errors 3940, 3941, 3821 and 1054.
pub(super) fn check_before(old: &TableDef, actions: &[&A]) -> Result<()> {
    let is_check = |name: &str| old.check_named(name).is_some();
    let is_key = |name: &str| {
        old.index_named(name).is_some_and(|index| old.indexes[index].unique)
            || old.foreign_key_named(name).is_some()
    };
    for action in actions {
        match action {
            A::DropConstraint(name) | A::SetCheckEnforced { name, any_kind: true, .. }
                if !is_check(name) && !is_key(name) =>
            {
                return Err(error::CONSTRAINT_NOT_FOUND.with(&[name]));
            }
            A::SetCheckEnforced { name, any_kind: true, .. } if !is_check(name) => {
                return Err(error::ALTER_CONSTRAINT_ENFORCEMENT_NOT_SUPPORTED.with(&[name]));
            }
            _ => {}
        }
    }
    for action in actions {
        let A::SetCheckEnforced { name, .. } = action else { continue };
        let drops = |action: &&A| match action {
            A::DropCheck(dropped) | A::DropConstraint(dropped) => dropped.eq_ignore_ascii_case(name),
            _ => false,
        };
        if !is_check(name) || actions.iter().any(drops) {
            return Err(error::CHECK_CONSTRAINT_NOT_FOUND.with(&[name]));
        }
    }
    check_columns(old, actions)
}

fn check_columns(old: &TableDef, actions: &[&A]) -> Result<()> {
    // Hidden ones too: the log's text renames a row id that makes way.
    let is_there = |name: &str| old.columns.iter().any(|column| column.name.eq_ignore_ascii_case(name));
    for action in actions {
        if let A::RenameColumn { old: name, .. } | A::ChangeColumn { old: name, .. } = action
            && !is_there(name)
        {
            return Err(no_column(name, old));
        }
    }
    let mut altered: Vec<&str> = Vec::new();
    for action in actions {
        let Some(name) = altered_column(action) else { continue };
        let is_it = |other: &str| other.eq_ignore_ascii_case(name);
        let is_meant_elsewhere = |action: &&A| match action {
            A::DropColumn(other) => is_it(other),
            A::RenameColumn { old: other, .. } | A::ChangeColumn { old: other, .. } => is_it(other),
            _ => false,
        };
        if old.column_index(name).is_none()
            || altered.iter().any(|other| is_it(other))
            || actions.iter().any(is_meant_elsewhere)
        {
            return Err(no_column(name, old));
        }
        altered.push(name);
    }
    Ok(())
}

fn altered_column(action: &A) -> Option<&str> {
    match action {
        A::SetDefault { column, .. } | A::DropDefault(column) | A::SetColumnVisible { column, .. } => {
            Some(column)
        }
        _ => None,
    }
}

/// Checks what is left once the statement has dropped and renamed, and added nothing yet: errors
/// 3821 and 1176.
pub(super) fn check_left(old: &TableDef, draft: &Draft, actions: &[&A]) -> Result<()> {
    for action in actions {
        match action {
            A::SetCheckEnforced { name, .. } => {
                let is_it = |check: &str| check.eq_ignore_ascii_case(name);
                if !draft.checks.iter().any(|check| check.name.as_deref().is_some_and(is_it)) {
                    return Err(error::CHECK_CONSTRAINT_NOT_FOUND.with(&[name]));
                }
            }
            A::SetIndexVisible { name, .. } => {
                let is_new = |action: &&A| match action {
                    A::RenameKey { new, .. } => new.eq_ignore_ascii_case(name),
                    _ => false,
                };
                if draft.find_key(name).is_none() || actions.iter().any(is_new) {
                    return Err(error::KEY_DOES_NOT_EXIST.with(&[name, &old.name]));
                }
            }
            _ => {}
        }
    }
    Ok(())
}
