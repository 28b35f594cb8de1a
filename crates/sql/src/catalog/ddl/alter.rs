//! ALTER TABLE, CREATE INDEX and DROP INDEX: what becomes of the table, and what that takes.
//!
//! 1. draft      The table as it is becomes a [`Draft`]; the actions change it.
//! 2. classify   Old and new are compared ([`work`]): is it a matter of the definition alone, are
//!    indexes to be built, or is every row to be written anew; and is that what ALGORITHM and LOCK
//!    ask for.
//! 3. plan       Once the trees are built, the definition is made with them.
//!
//! Nothing here touches a row: see [`crate::executor`].

mod charset;
mod draft;
mod existing_names;
mod rename;
mod row_id;
mod work;

use std::sync::Arc;

use storage::TreeId;
use storage::layout::Layouts;

pub(crate) use work::{AlterWork, filler};

use super::foreign_keys::Redefinition;
use super::table::{check_comments, check_names_of_checks, check_required_key, put_next, repeated_indexes};
use super::{Plan, Settings, check_name, check_not_system};
use crate::catalog::TableDef;
use crate::catalog::build::{Numbers, Options};
use crate::catalog::draft::{
    Draft, DraftColumn, Finished, conversion_note, has_disallowed_zero_date, is_unrepeatable,
    zero_date_warning,
};
use crate::catalog::foreign_key::TableName;
use crate::catalog::objects::CatalogState;
use crate::catalog::record::Change;
use crate::catalog::set_aside::ObjectKey;
use binlog::LogPosition;
use datum::error::{self, Result, SqlError};
use syntax::ast::{AlterAction, AlterAlgorithm, AlterTable, CreateIndex, DropIndex, StatementKind};

/// Definitions whose rows may lie side by side; then the table is written anew, as InnoDB does.
const LAYOUTS_MAX: usize = 64;

/// What an ALTER TABLE does.
pub(crate) struct Alter {
    /// The table as it is.
    pub old: Arc<TableDef>,
    /// What has to be done before it can be committed.
    pub work: AlterWork,
    /// The client gets the number of rows: MySQL would have copied them.
    pub(crate) counts_rows: bool,
    /// For the client.
    pub warnings: Vec<SqlError>,
    /// The table as it will be, but for its trees and numbers.
    pub(crate) finished: Finished,
    draft: Draft,
    options: Options,
    database: String,
    name: String,
    /// AUTO_INCREMENT was given.
    pub(crate) auto_increment: Option<u64>,
    /// What becomes of the row id, and where numbers begin, as actions that the log's text has in
    /// front of the statement's own ([`row_id`]).
    pub(crate) actions_in_front: Option<String>,
    /// The log is to say that columns are placed in the order of the actions.
    pub(crate) placed_in_order: bool,
    /// What the log says where the statement says FIRST, if not that
    /// ([`row_id::instead_of_first`]).
    pub(crate) instead_of_first: Option<String>,
    /// It renames the table, or asks for nothing: MySQL says no number of rows then.
    pub(crate) is_renaming: bool,
    /// What becomes [`TableDef::created`]: now, unless only the name changes.
    created: Option<u32>,
    /// Tables whose rows mean something else from then on, besides this one.
    pub related: Vec<Arc<TableDef>>,
    /// What becomes of the foreign keys of others that refer to it.
    followers: Vec<Change>,
    /// Its foreign keys, by their numbers in the new table, that the rows which are there may
    /// break.
    pub new_foreign_keys: Vec<usize>,
}

/// The statement as an ALTER TABLE; `None` if it is none.
pub(crate) fn of(kind: &StatementKind, state: &CatalogState, settings: &Settings) -> Option<Result<Alter>> {
    match kind {
        StatementKind::AlterTable(alter) => Some(Alter::new(alter, state, settings)),
        StatementKind::CreateIndex(create) => Some(Alter::new(&create_index(create), state, settings)),
        StatementKind::DropIndex(drop) => Some(Alter::new(&drop_index(drop), state, settings)),
        _ => None,
    }
}

fn create_index(create: &CreateIndex) -> AlterTable {
    AlterTable {
        name: create.table.clone(),
        actions: vec![AlterAction::AddKey(create.key.clone())],
        algorithm: create.algorithm,
        lock: create.lock,
        validation: None,
        name_end: 0,
        in_order: false,
    }
}

fn drop_index(drop: &DropIndex) -> AlterTable {
    AlterTable {
        name: drop.table.clone(),
        actions: vec![AlterAction::DropKey(drop.name.clone())],
        algorithm: drop.algorithm,
        lock: drop.lock,
        validation: None,
        name_end: 0,
        in_order: false,
    }
}

impl Alter {
    fn new(alter: &AlterTable, state: &CatalogState, settings: &Settings) -> Result<Alter> {
        // `sql_generate_invisible_primary_key` is about CREATE TABLE.
        let settings = &Settings { generates_key: false, ..settings.clone() };
        let (database, name) = settings.object(&alter.name)?;
        check_not_system(database)?;
        let old = settings.existing(state, database, name)?;
        let collation = state.database(database).map_or(old.collation, |d| d.collation);
        let mut changed = draft::change(&old, alter, settings, collation)?;
        let mut actions_in_front = None;
        if settings.from_client && !old.is_temporary() {
            actions_in_front = row_id::actions(&old, &changed.draft, alter)?;
        }
        let with = |actions: &str| -> Result<_> {
            let actions = row_id::in_front(actions, &alter.actions)?;
            draft::change(&old, &AlterTable { actions, ..alter.clone() }, settings, collation)
        };
        if let Some(actions) = &actions_in_front {
            changed = with(actions)?;
        }
        if settings.from_client && !old.is_temporary() {
            let drops = row_id::drops_of_key_parts(&old, &changed.draft);
            if !drops.is_empty() {
                let actions = actions_in_front.into_iter().chain(drops).collect::<Vec<_>>().join(", ");
                changed = with(&actions)?;
                actions_in_front = Some(actions);
            }
        }
        // Logs of older versions do not say it: then it is 1.
        if settings.from_client
            && let Some(first) = row_id::first_number(&old, &changed)
        {
            let first = format!("AUTO_INCREMENT = {first}");
            let actions = actions_in_front.map_or(first.clone(), |actions| format!("{actions}, {first}"));
            changed = with(&actions)?;
            actions_in_front = Some(actions);
        }
        let (mut to_database, mut to_name) = (database.to_owned(), name.to_owned());
        if let Some(to) = &changed.rename {
            let to = (to.database.as_deref().unwrap_or(database), to.name.as_str());
            check_not_system(to.0)?;
            check_name(to.1, error::WRONG_TABLE_NAME)?;
            if state.database(to.0).is_none() {
                return Err(error::BAD_DB_ERROR.with(&[&to.0]));
            }
            state.check_usable(&ObjectKey::table(to.0, to.1))?;
            state.check_usable(&ObjectKey::view(to.0, to.1))?;
            let taken = match old.is_temporary() {
                true => settings.temporary.get(to.0, to.1).is_some(),
                false => state.table(to.0, to.1).is_some() || state.view(to.0, to.1).is_some(),
            };
            if to != (database, name) && taken {
                return Err(error::TABLE_EXISTS_ERROR.with(&[&to.1]));
            }
            super::table::check_schema_of_triggers(&old, to.0)?;
            (to_database, to_name) = (to.0.to_owned(), to.1.to_owned());
        }
        changed.draft.rename_checks(name, &to_name);
        changed.draft.rename_foreign_keys(name, &to_name);
        let (own, renamed) =
            (old.qualified_name(), TableName { database: to_database.clone(), name: to_name.clone() });
        for key in changed.draft.foreign_keys.iter_mut().filter(|key| key.parent == own) {
            key.parent = renamed.clone();
        }
        let auto =
            |name: &str| old.auto_column.is_some_and(|c| old.columns[c].name.eq_ignore_ascii_case(name));
        if changed.auto_increment.is_none() && !changed.draft.auto_column.as_deref().is_some_and(auto) {
            // Another column counts from now on.
            changed.options.auto_increment = 1;
        }
        let mut finished = changed.draft.clone().finish(
            &to_database,
            &to_name,
            changed.options.clone(),
            Numbers { table: old.id, trees: crate::catalog::build::Trees::From(0) },
            |_, place| TreeId(place as u32 + if old.is_temporary() { storage::temporary::FIRST } else { 0 }),
        )?;
        let only_renames = |action: &AlterAction| {
            matches!(action, AlterAction::Rename(_) | AlterAction::EnableKeys | AlterAction::DisableKeys)
        };
        let keeps_all = alter.actions.iter().all(only_renames);
        // A copy is reported, also where nothing but the name changes.
        let is_renaming = keeps_all && !old.is_temporary() && alter.algorithm != Some(AlterAlgorithm::Copy);
        if !keeps_all {
            if settings.from_client {
                changed.warnings.extend(check_dates(&finished.table, settings)?);
                check_new_defaults(&changed.draft, &old)?;
            }
            check_required_key(&finished.table, |index| finished.indexes[index].is_none(), settings)?;
        }
        if !old.is_temporary() {
            check_comments(&finished.table, Some(&old), settings)?;
            check_names_of_checks(&finished.table, Some(&old), state, settings)?;
        }
        let (mut related, mut followers) = (Vec::new(), Vec::new());
        let mut made = Redefinition { old: Some(&old), new: &mut finished.table, origins: &finished.columns };
        if !old.is_temporary() || !made.new.foreign_keys.is_empty() {
            if settings.from_client {
                made.check_dropped(state, settings)?;
            }
            made.complete(state, settings)?;
            if settings.from_client {
                made.check_changed(state, settings)?;
            }
            related = made.related(state);
            followers = made.followers(state);
        }
        let new_foreign_keys = match settings.foreign_key_checks && settings.from_client {
            true => made.unchecked(),
            false => Vec::new(),
        };
        let adds_checked = alter.actions.iter().any(|action| matches!(action, AlterAction::AddForeignKey(_)))
            && settings.foreign_key_checks
            && settings.from_client;
        if let Some(asked @ (AlterAlgorithm::Inplace | AlterAlgorithm::Instant)) = alter.algorithm
            && adds_checked
            && !settings.is_replicated
        {
            let (asked, instead) = match asked {
                AlterAlgorithm::Inplace => ("INPLACE", "ALGORITHM=COPY"),
                _ => ("INSTANT", "ALGORITHM=COPY/INPLACE"),
            };
            return Err(error::ALTER_OPERATION_NOT_SUPPORTED_REASON.with(&[
                &format_args!("ALGORITHM={asked}"),
                &"Adding foreign keys needs foreign_key_checks=OFF",
                &instead,
            ]));
        }
        let (work, counts_rows) = work::classify(&old, &finished, &changed, alter, settings)?;
        // MySQL would copy the rows.
        let counts_rows = counts_rows || adds_checked;
        let mut warnings = changed.warnings;
        for action in &alter.actions {
            let note = |column| conversion_note(column, &finished.table);
            match action {
                AlterAction::AddColumns(columns) => {
                    warnings.extend(columns.iter().filter_map(|(column, _)| note(column)));
                }
                AlterAction::ChangeColumn { definition, .. } => warnings.extend(note(definition)),
                _ => {}
            }
        }
        warnings.extend(repeated_indexes(&finished.table, |index| finished.indexes[index].is_none()));
        let only_renames = alter.actions.iter().all(|action| matches!(action, AlterAction::Rename(_)));
        let created = match only_renames && !alter.actions.is_empty() {
            true => old.created,
            false => settings.created(),
        };
        Ok(Alter {
            created,
            is_renaming,
            instead_of_first: row_id::instead_of_first(&old, &finished.table)
                .filter(|_| settings.from_client),
            placed_in_order: settings.from_client && draft::places_added_and_changed(alter),
            old,
            work,
            counts_rows,
            warnings,
            finished,
            draft: changed.draft,
            options: changed.options,
            database: to_database,
            name: to_name,
            auto_increment: changed.auto_increment,
            actions_in_front,
            related,
            followers,
            new_foreign_keys,
        })
    }

    /// The indexes whose trees have to be built, as they are numbered in the new table.
    pub(crate) fn to_build(&self) -> Vec<usize> {
        let all = 0..self.finished.indexes.len();
        match &self.work {
            AlterWork::Copy => all.collect(),
            AlterWork::Indexes { .. } | AlterWork::Definition { .. } => {
                all.filter(|&index| self.tree_of(index).is_none()).collect()
            }
        }
    }

    /// The tree that an index of the new table has already.
    fn tree_of(&self, index: usize) -> Option<TreeId> {
        if matches!(self.work, AlterWork::Copy) {
            return None;
        }
        let origin = self.finished.indexes[index]?;
        let same = work::same_index(&self.old, origin, &self.finished, index);
        same.then(|| self.old.schema.index(origin).map(|i| i.tree())).flatten()
    }

    /// The table with the trees built for [`Self::to_build`], in that order.
    pub(crate) fn plan(&self, built: &[TreeId], state: &CatalogState) -> Result<Plan> {
        if built.len() < self.to_build().len() {
            let what = format_args!("the trees built for table {} are not known", self.old.name);
            return Err(SqlError::internal(what));
        }
        let mut built = built.iter().copied();
        let trees: Vec<TreeId> = (0..self.finished.indexes.len())
            .map(|index| self.tree_of(index).or_else(|| built.next()).unwrap_or(TreeId(0)))
            .collect();
        let numbers =
            Numbers { table: state.next.table, trees: crate::catalog::build::Trees::These(trees.clone()) };
        let (draft, options) = (self.draft.clone(), self.options.clone());
        let finished = draft.finish(&self.database, &self.name, options, numbers, |_, place| trees[place])?;
        let mut new = finished.table;
        // With what the parents had to say.
        new.foreign_keys.clone_from(&self.finished.table.foreign_keys);
        new.lock = self.old.lock.clone();
        new.statistics = self.old.statistics.clone();
        new.readable_from = self.old.readable_from;
        new.created = self.created;
        new.triggers = self.old.triggers.clone();
        self.carry_auto_increment(&mut new);
        new.layouts = match &self.work {
            AlterWork::Copy => None,
            AlterWork::Definition { sources: Some(sources) }
            | AlterWork::Indexes { sources: Some(sources) } => {
                let before = self.old.layouts.as_deref().cloned().unwrap_or_default();
                let types = self.old.column_types.clone();
                Some(Arc::new(before.followed_by(LogPosition::ZERO, types, sources.clone())))
            }
            AlterWork::Definition { sources: None } | AlterWork::Indexes { sources: None } => {
                self.old.layouts.clone()
            }
        };
        let next = put_next(state, &new);
        let mut changes = vec![Change::AlterTable(self.old.clone(), Arc::new(new), next)];
        for change in &self.followers {
            if let Change::AlterTable(from, to, _) = change {
                changes.push(Change::AlterTable(from.clone(), to.clone(), next));
            }
        }
        Ok(Plan { changes, related: self.related.clone(), ..Plan::default() })
    }

    /// The AUTO_INCREMENT counter goes on, but never below what was asked for. Where it may be set
    /// back, the new definition has one of its own: the statement may never be logged, and the old
    /// table goes on then.
    pub(crate) fn carry_auto_increment(&self, new: &mut TableDef) {
        let origin = new.auto_column.and_then(|c| self.finished.columns.get(c).copied().flatten());
        let same = origin.is_some() && origin == self.old.auto_column;
        match self.auto_increment {
            None if same => new.counter = self.old.counter.clone(),
            Some(n) if same && self.old.counter.has_passed(n) => match self.work {
                AlterWork::Definition { .. } => new.counter = Arc::new(self.old.counter.copy()),
                AlterWork::Indexes { .. } | AlterWork::Copy => new.counter = self.old.counter.clone(),
            },
            _ => {}
        }
    }
}

/// As MySQL, which looks at all columns' defaults: error 1067 for a date with zeros that the
/// session does not take, warnings where its sql_mode is not strict.
fn check_dates(table: &TableDef, settings: &Settings) -> Result<Vec<SqlError>> {
    let rules = settings.dates();
    let wrong: Vec<_> =
        table.columns.iter().filter(|column| has_disallowed_zero_date(column, rules)).collect();
    match wrong.first() {
        Some(column) if settings.is_strict() => Err(error::INVALID_DEFAULT.with(&[&column.name])),
        _ => Ok(wrong.into_iter().map(zero_date_warning).collect()),
    }
}

/// The log has the statement, not the values that it gives to the rows: error 1674 for a new column
/// whose default is another one when the log is replayed, as in MySQL.
fn check_new_defaults(draft: &Draft, old: &TableDef) -> Result<()> {
    let is_wrong = |column: &DraftColumn| {
        let is_default = column.def.generated.is_none();
        column.origin.is_none() && is_default && column.expr.as_ref().is_some_and(is_unrepeatable)
    };
    match !old.is_temporary() && draft.columns.iter().any(is_wrong) {
        true => Err(error::BINLOG_UNSAFE_SYSTEM_FUNCTION.plain()),
        false => Ok(()),
    }
}

/// True if a table has been through as many instant ALTERs as are kept apart.
fn has_all_layouts(layouts: Option<&Arc<Layouts>>) -> bool {
    layouts.is_some_and(|layouts| layouts.list().len() >= LAYOUTS_MAX)
}
