//! What ALTER TABLE does to the row id of a table without primary key.
//!
//! Clients are not shown the row id, while replicas have it as a column like others: the table's
//! primary key. A statement that gives the table another primary key, or takes that away, means
//! something about the row id that only this server knows. So these actions are put in front of the
//! statement's own; with them it is executed, and with them the log has it.

use super::draft::{Changed, cannot_drop, no_column};
use crate::catalog::build::{GENERATED_KEY, ROW_ID_COMMENT};
use crate::catalog::draft::Draft;
use crate::catalog::show::{quote, quote_text};
use crate::catalog::{ColumnDef, TableDef};
use datum::bounds::parse_options;
use datum::error::{Result, SqlError};
use syntax::ast::{AlterAction as A, AlterTable, ColumnDefinition, ColumnPlace, KeyKind, StatementKind};
use syntax::parser::parse;
use syntax::sql_mode;

/// The actions that the statement needs besides its own, as SQL, where `draft` is what its own make
/// of the table. `None` if the row id stays as it is, or the statement names these actions itself:
/// then it was read from a log.
///
/// # Errors
///
/// 1235 if a replica would number the rows otherwise.
pub(super) fn actions(old: &TableDef, draft: &Draft, alter: &AlterTable) -> Result<Option<String>> {
    let before = old.columns.iter().find(|column| column.is_row_id());
    let after = draft.columns.iter().map(|column| &column.def).find(|column| column.is_row_id());
    let has_key = draft.keys.iter().any(|key| key.kind == KeyKind::Primary && !draft.is_row_id_key(key));
    Ok(match (before, after) {
        (None, None) if !has_key => {
            let Some(auto) = &draft.auto_column else {
                // A column of that name may go in the same statement: MySQL confuses the two.
                let name = draft.free_row_id_name(|name| old.column_index(name).is_some());
                let definition = definition(&name, "AUTO_INCREMENT");
                return Ok(Some(format!("ADD COLUMN {definition} PRIMARY KEY")));
            };
            let leads = |part: &str| part.eq_ignore_ascii_case(auto);
            if draft.keys.iter().any(|key| key.parts.first().is_some_and(|part| leads(&part.column))) {
                let what = "a table that loses its primary key and keeps an AUTO_INCREMENT column";
                return Err(SqlError::unsupported(what));
            }
            None // Error 1075 follows.
        }
        (Some(before), Some(_)) if has_key => {
            Some(format!("DROP PRIMARY KEY, DROP COLUMN {}", quote(&before.name)))
        }
        (Some(before), Some(after)) if !alter.actions.iter().any(|action| changes(action, before)) => {
            let counts =
                |name: &str| draft.auto_column.as_deref().is_some_and(|a| a.eq_ignore_ascii_case(name));
            let counted = old.auto_column.is_some_and(|column| old.columns[column].is_row_id());
            let (from, to) = (quote(&before.name), quote(&after.name));
            // MySQL takes the key's column for the one that comes, unless that stands after all
            // others (1089).
            let takes_name = |(column, place): &(ColumnDefinition, ColumnPlace)| {
                column.name.eq_ignore_ascii_case(&before.name) && *place != ColumnPlace::Last
            };
            if before.name != after.name
                && alter
                    .actions
                    .iter()
                    .any(|a| matches!(a, A::AddColumns(added) if added.iter().any(takes_name)))
            {
                return Err(SqlError::unsupported("FIRST or AFTER of a column that takes the row id's name"));
            }
            // Other servers compute no number that is not in a row event, but refuse a column of
            // whose values they know nothing.
            let definition = definition(&after.name, "DEFAULT 0");
            match (before.name == after.name, counted && !counts(&after.name)) {
                (true, false) => None,
                (false, false) => Some(format!("RENAME COLUMN {from} TO {to}")),
                (_, true) => Some(format!("CHANGE COLUMN {from} {definition}")),
            }
        }
        _ => None,
    })
}

/// Where the numbers begin that rows get in a column which is newly AUTO_INCREMENT, if the column
/// that was it stays. MySQL goes on with the table's counter then; a replica's counter knows of no
/// number that was given out and not used, and of a row id's. `None` if nothing is to be said: rows
/// get no numbers, from 1 on, or the statement names the first one.
pub(super) fn first_number(old: &TableDef, changed: &Changed) -> Option<u64> {
    let draft = &changed.draft;
    let before = old.auto_column?;
    let now = draft.find(draft.auto_column.as_deref()?)?;
    let stays = draft.columns.iter().any(|column| column.origin == Some(before));
    if changed.auto_increment.is_some() || draft.columns[now].origin == Some(before) || !stays {
        return None;
    }
    let of_row_id = old.columns[before].is_row_id() || draft.columns[now].def.is_row_id();
    Some(if of_row_id { 1 } else { old.counter.next() })
}

/// The actions that drop the columns of an index's expressions, which go with the index: replicas
/// have them as columns like others.
pub(super) fn drops_of_key_parts(old: &TableDef, draft: &Draft) -> Vec<String> {
    let is_gone = |number: usize| draft.columns.iter().all(|column| column.origin != Some(number));
    let columns = old.columns.iter().enumerate().filter(|(n, column)| column.is_key_part() && is_gone(*n));
    columns.map(|(_, column)| format!("DROP COLUMN {}", quote(&column.name))).collect()
}

/// True for the column of an index's expression whose index the statement drops.
pub(super) fn goes_with_key(old: &TableDef, actions: &[&A], name: &str) -> bool {
    let mut dropped = actions.iter().filter_map(|action| match action {
        A::DropKey(key) => old.index_named(key).map(|number| &old.indexes[number]),
        _ => None,
    });
    let is_column = |column: &ColumnDef| column.is_key_part() && column.name.eq_ignore_ascii_case(name);
    dropped.any(|index| index.parts.iter().any(|part| is_column(&old.columns[part.column])))
}

fn definition(name: &str, numbers: &str) -> String {
    let comment = quote_text(ROW_ID_COMMENT);
    format!("{} bigint unsigned NOT NULL {numbers} INVISIBLE COMMENT {comment}", quote(name))
}

/// The actions of [`actions`]' text, and those of the statement.
pub(super) fn in_front(text: &str, others: &[A]) -> Result<Vec<A>> {
    let statement = parse(format!("ALTER TABLE t {text}").as_bytes(), &parse_options(sql_mode::DEFAULT))?;
    let Some(StatementKind::AlterTable(alter)) = statement.map(|statement| statement.kind) else {
        return Err(SqlError::internal("the actions on a row id are no ALTER TABLE"));
    };
    Ok([&alter.actions[..], others].concat())
}

fn changes(action: &A, row_id: &ColumnDef) -> bool {
    match action {
        A::RenameColumn { old, .. } | A::ChangeColumn { old, .. } => old.eq_ignore_ascii_case(&row_id.name),
        _ => false,
    }
}

/// FIRST is after a generated key that leads the table, here and in MySQL. MariaDB and readers of
/// the log put the column in front of it, and would take values of one column for another's: they
/// get a place that all understand. `None` if FIRST is where it says.
pub(super) fn instead_of_first(old: &TableDef, new: &TableDef) -> Option<String> {
    let leads = |table: &TableDef| table.columns.first().is_some_and(is_generated_key);
    (leads(old) && leads(new)).then(|| format!("AFTER {}", quote(GENERATED_KEY)))
}

/// True for what MySQL takes for a generated primary key: a column of that name that nobody is
/// shown.
pub(super) fn is_generated_key(column: &ColumnDef) -> bool {
    column.name == GENERATED_KEY && !column.visible
}

/// True if the statement takes the row id away by its name, as the log has it.
pub(super) fn drops(old: &TableDef, actions: &[&A]) -> bool {
    let drops_key = actions.iter().any(|action| matches!(action, A::DropPrimaryKey));
    drops_key && actions.iter().any(|action| matches!(action, A::DropColumn(_)) && is_drop(old, action))
}

/// True for the two actions by which the log takes the row id away.
pub(super) fn is_drop(old: &TableDef, action: &A) -> bool {
    match action {
        A::DropPrimaryKey => true,
        A::DropColumn(name) => is_row_id(old, name),
        _ => false,
    }
}

fn is_row_id(table: &TableDef, name: &str) -> bool {
    table.columns.iter().any(|column| column.is_row_id() && column.name.eq_ignore_ascii_case(name))
}

/// Errors for actions that name the row id otherwise than the log does: who is not shown it doesn't
/// change it.
pub(super) fn check_named(old: &TableDef, actions: &[&A]) -> Result<()> {
    let stays_row_id = |definition: &ColumnDefinition| {
        let attributes = &definition.attributes;
        let comment = attributes.comment.as_ref().is_some_and(|c| **c == *ROW_ID_COMMENT.as_bytes());
        comment && attributes.visible == Some(false)
    };
    for action in actions {
        match action {
            A::RenameColumn { old: name, new } if !new.starts_with(GENERATED_KEY) => unnamed(old, name)?,
            A::ChangeColumn { old: name, definition, .. } if !stays_row_id(definition) => unnamed(old, name)?,
            A::SetDefault { column, .. } | A::DropDefault(column) => unnamed(old, column)?,
            A::SetColumnVisible { column, .. } => unnamed(old, column)?,
            A::DropColumn(name) if is_row_id(old, name) && !drops(old, actions) => {
                return Err(cannot_drop(name));
            }
            _ => {}
        }
    }
    Ok(())
}

fn unnamed(old: &TableDef, name: &str) -> Result<()> {
    if is_row_id(old, name) { Err(no_column(name, old)) } else { Ok(()) }
}
