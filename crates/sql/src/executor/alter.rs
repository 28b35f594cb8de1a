//! Executing ALTER TABLE, CREATE INDEX and DROP INDEX.
//!
//! The statement holds the table's upgradable lock throughout: other DDL waits, users come and go.
//! What they do to rows depends on what there is to do ([`Work`]):
//!
//! - a new definition: the lock is made exclusive, the statement is logged, the definition is
//!   published.
//! - indexes ([`build`]): writers are made to maintain the new trees, the rows of a snapshot are
//!   put under what they write, and with the lock exclusive once more the statement is logged.
//! - all rows anew ([`copy`]): nobody writes, while rows go into new trees, in runs that are no
//!   transaction; at the end the lock is exclusive.
//!
//! (A1) Whatever is built is in tables on disk, and a checkpoint describes it, before the statement
//!      is logged. So after a crash replay finds the old table, or the new one with all its trees.
//!      Only where the store is older than that checkpoint it builds them again ([`replayed`]).
//! (A2) Until it is logged nothing but memory knows of the change. After a failure the table is
//!      what it was, and the trees are dropped, now or at the next start.

mod build;
pub(super) mod copy;
pub(crate) mod replayed;

use std::sync::Arc;

use binlog::event::QueryEvent;
use storage::TreeId;
use storage::transaction::{Direction, KeyRange, ReadMode};

use crate::catalog::computed::Computed;
use crate::catalog::ddl::alter::{self, Alter, AlterWork};
use crate::catalog::ddl::{LoggedText, Plan, TextForm};
use crate::catalog::metadata_lock::{Guard, MetadataLockType};
use crate::catalog::read_back::checked_records;
use crate::catalog::show::quote;
use crate::catalog::{BuiltTrees, Change, TableDef, counted_value, engine_name, statement_hash};
use crate::session::Context;
use datum::error::{self, Result, SqlError};
use syntax::ast::{IN_ORDER, Span, Statement, StatementKind};

/// The statement, and what it holds.
pub(super) struct Running<'s> {
    statement: &'s Statement,
    text: &'s [u8],
    form: TextForm,
    /// What the log's text has in front of the statement's actions.
    actions_in_front: Option<String>,
    /// See [`Alter::placed_in_order`].
    placed_in_order: bool,
    /// See [`Alter::instead_of_first`].
    instead_of_first: Option<String>,
    /// The table as it was at the beginning.
    table: Arc<TableDef>,
    /// Keeps other DDL away.
    upgradable: Option<Guard>,
}

/// Executes one. What was open is committed already.
pub(super) fn execute(cx: &mut Context, statement: &Statement, text: &[u8], form: TextForm) -> Result<()> {
    loop {
        let first = plan(cx, statement)?;
        let upgradable = cx.lock_to_alter(&first.old)?;
        if !cx.catalog().is_current(&first.old) {
            continue;
        }
        let alter = plan(cx, statement)?;
        check_expressions(cx, &alter.finished.table)?;
        if let Some(process) = cx.instance.process(cx.connection.id) {
            process.set_state("altering table");
        }
        let actions_in_front = alter.actions_in_front.clone();
        let table = alter.old.clone();
        let mut running = Running {
            statement,
            text,
            form,
            actions_in_front,
            placed_in_order: alter.placed_in_order,
            instead_of_first: alter.instead_of_first.clone(),
            table,
            upgradable,
        };
        if !matches!(alter.work, AlterWork::Definition { .. }) {
            running.check_definition(cx, &alter)?;
        }
        let rows = match &alter.work {
            AlterWork::Definition { .. } => {
                let _alone = running.alone(cx)?;
                let (_related, rows) = running.related(cx, &alter)?;
                running.commit(cx, &[], alter.auto_increment.map_or(Counting::On, Counting::From))?;
                rows
            }
            AlterWork::Indexes { .. } => build::run(cx, &running, &alter)?,
            AlterWork::Copy => copy::run(cx, &mut running)?,
        };
        report_counts(cx, alter, rows);
        return Ok(());
    }
}

/// What becomes of the AUTO_INCREMENT counter that the new definition begins with. It is so before
/// the statement is logged, for a checkpoint may note it from then on.
#[derive(Clone, Copy)]
enum Counting {
    /// It stays.
    On,
    /// Rows have numbers up to this one.
    Behind(u64),
    /// AUTO_INCREMENT = n, perhaps below what was given out: numbers go on after the largest that
    /// a row has.
    From(u64),
}

impl Counting {
    /// Does it to the counter of `new`; `old` is the table, which the caller has to itself.
    fn apply(self, cx: &mut Context, old: &Arc<TableDef>, new: &TableDef) -> Result<()> {
        match self {
            Counting::On => {}
            Counting::Behind(largest) => new.counter.used(largest),
            Counting::From(asked) => {
                if new.counter.has_passed(asked)
                    && let Some(largest) = largest_number(cx, old)?
                {
                    new.counter.restart(asked.max(largest.saturating_add(1)));
                }
            }
        }
        Ok(())
    }
}

/// The largest AUTO_INCREMENT value that a row has, 0 if none has a positive one; `None` without an
/// index that says.
pub(super) fn largest_number(cx: &mut Context, table: &Arc<TableDef>) -> Result<Option<u64>> {
    let Some((index, direction)) = counting_index(table) else { return Ok(None) };
    let mut reader = cx.scratch_transaction();
    let mut scan = reader.scan_index(&table.schema, index, KeyRange::all(), direction, ReadMode::Snapshot);
    let has_rows = scan.next(&mut reader)?;
    Ok(Some(if has_rows { counted_value(table, scan.row()).unwrap_or(0) } else { 0 }))
}

/// The index that the AUTO_INCREMENT column leads, and which way its largest value comes first.
fn counting_index(table: &TableDef) -> Option<(usize, Direction)> {
    let column = table.auto_column?;
    let index = table.indexes.iter().position(|index| index.parts[0].column == column)?;
    let descends = table.indexes[index].parts[0].descending;
    Some((index, if descends { Direction::Forward } else { Direction::Backward }))
}

/// What is reported to the client.
pub(super) fn report_counts(cx: &mut Context, alter: Alter, rows: u64) {
    let rows = if alter.counts_rows { rows } else { 0 };
    for warning in alter.warnings {
        // DISABLE KEYS is for engines that build indexes later.
        let is_note = warning.is(error::ILLEGAL_HA) || warning.is(error::AUTO_CONVERT);
        if is_note { cx.statement.diagnostics.note(warning) } else { cx.warn(warning) }
    }
    cx.statement.status.affected = rows;
    if alter.is_renaming {
        return;
    }
    let warnings = cx.statement.diagnostics.warning_count();
    cx.statement.status.set_info(&[("Records", rows), ("Duplicates", 0), ("Warnings", warnings)]);
}

pub(super) fn plan(cx: &Context, statement: &Statement) -> Result<Alter> {
    alter::of(&statement.kind, &cx.catalog().state(), &cx.ddl_settings())
        .unwrap_or_else(|| Err(SqlError::internal("a statement that alters no table")))
}

/// What does not compile is no definition. What means something else than in MySQL is told.
pub(super) fn check_expressions(cx: &mut Context, table: &TableDef) -> Result<()> {
    if !table.is_plain()
        && let Some(e) = Computed::of(cx, &Arc::new(table.clone()))?.time_zone_error(table)
    {
        cx.warn(e);
    }
    Ok(())
}

impl Running<'_> {
    /// Keeps everybody else away from the table.
    fn alone(&self, cx: &Context) -> Result<Option<Guard>> {
        cx.lock_further(&self.table, MetadataLockType::Upgraded, &self.upgradable)
    }

    /// Keeps everybody away from the tables whose rows mean something else from then on, and looks
    /// whether the rows that are there have what their new foreign keys refer to (error 1452); also
    /// returns how many it looked at. The caller has the table to itself.
    fn related(&self, cx: &mut Context, alter: &Alter) -> Result<(Vec<Guard>, u64)> {
        let guards = cx.lock_definitions(&alter.related, &[])?;
        let is_current = |table: &Arc<TableDef>| cx.catalog().is_current(table);
        if !alter.related.iter().all(is_current) {
            return Err(error::TABLE_DEF_CHANGED.plain());
        }
        let rows = match alter.new_foreign_keys.is_empty() {
            true => 0,
            false => copy::check_references(cx, alter)?,
        };
        Ok((guards, rows))
    }

    /// Keeps writers away from the table.
    fn without_writers(&self, cx: &Context) -> Result<Option<Guard>> {
        cx.lock_further(&self.table, MetadataLockType::NoWrite, &self.upgradable)
    }

    /// Logs the statement and publishes the new definition, with the trees that were built for it.
    /// The caller has the table to itself.
    fn commit(&self, cx: &mut Context, built: &[TreeId], counting: Counting) -> Result<()> {
        let instance = cx.instance.clone();
        let catalog = instance.catalog();
        let old = plan(cx, self.statement)?.old;
        if !built.is_empty() {
            let statement = Some(statement_hash(&self.logged_text()));
            catalog.put_pending(old.id, BuiltTrees { trees: built.to_vec(), statement });
        }
        let outcome = self.commit_built(cx, &old, built, counting);
        catalog.forget_pending(old.id);
        outcome
    }

    /// The statement's text as the log has it: what it asks of ALGORITHM and LOCK was for this
    /// server. A replica may have to do it in another way than this one can, and is not to stop for
    /// that. What becomes of the row id is named, for replicas have it as a column like others.
    fn logged_text(&self) -> Vec<u8> {
        let (mut out, mut at) = (Vec::new(), self.statement.span.start as usize);
        if let StatementKind::AlterTable(alter) = &self.statement.kind {
            out.extend_from_slice(&self.text[at..alter.name_end as usize]);
            at = alter.name_end as usize;
            if self.placed_in_order && !alter.in_order {
                out.extend_from_slice(IN_ORDER.as_bytes());
            }
        }
        match (&self.actions_in_front, &self.statement.kind) {
            (Some(actions), StatementKind::AlterTable(alter)) => {
                // The mark stays right after the name.
                if alter.in_order {
                    out.extend_from_slice(IN_ORDER.as_bytes());
                    at += IN_ORDER.len();
                }
                out.extend_from_slice(format!(" {actions},").as_bytes());
            }
            // Another statement's only way to it is DROP INDEX.
            (Some(actions), kind) => {
                let (database, name) = (quote(&self.table.database), quote(&self.table.name));
                let dropped = match kind {
                    StatementKind::DropIndex(drop) if !drop.name.eq_ignore_ascii_case("PRIMARY") => {
                        format!("DROP KEY {}", quote(&drop.name))
                    }
                    _ => "DROP PRIMARY KEY".to_owned(),
                };
                return format!("ALTER TABLE {database}.{name} {actions}, {dropped}").into_bytes();
            }
            (None, _) => {}
        }
        let mut words: Vec<(Span, &str)> =
            self.statement.algorithm_and_lock.iter().map(|word| (*word, "DEFAULT")).collect();
        if let (Some(place), StatementKind::AlterTable(alter)) =
            (&self.instead_of_first, &self.statement.kind)
        {
            words.extend(alter.first_words().map(|word| (word, &**place)));
        }
        if let StatementKind::AlterTable(alter) = &self.statement.kind {
            let others = alter.engines().filter(|engine| !engine_name::is_innodb(&engine.name));
            words.extend(others.map(|engine| (engine.span, "InnoDB")));
        }
        words.sort_by_key(|(word, _)| word.start);
        for (word, instead) in words {
            out.extend_from_slice(&self.text[at..word.start as usize]);
            out.extend_from_slice(instead.as_bytes());
            at = word.end as usize;
        }
        out.extend_from_slice(&self.text[at..self.statement.span.end as usize]);
        out
    }

    /// The statement as the log has it.
    fn event(&self, cx: &Context, plan: &Plan) -> QueryEvent<'static> {
        let text = LoggedText { sql: self.logged_text(), form: self.form };
        let mut event = cx.ddl_event(text, &plan.changes);
        let micros = cx.statement.moment().rem_euclid(1_000_000) as u32;
        event.status.microseconds = (micros > 0).then_some(micros);
        // Rows that the statement numbers have consecutive numbers here. In MySQL it depends on how
        // the table is altered which ones of a series they get, so the log names none.
        event.status.auto_increment = None;
        event
    }

    /// Fails as [`Self::commit`] would, before rows are copied for nothing.
    fn check_definition(&self, cx: &Context, alter: &Alter) -> Result<()> {
        let state = cx.catalog().state();
        let built = vec![TreeId(storage::build::FIRST_BUILT); alter.to_build().len()];
        let plan = alter.plan(&built, &state)?;
        checked_records(&plan.changes, &self.event(cx, &plan), cx.statement.timestamp(), &state, &built)
            .map(|_| ())
    }

    fn commit_built(
        &self,
        cx: &mut Context,
        old: &Arc<TableDef>,
        built: &[TreeId],
        counting: Counting,
    ) -> Result<()> {
        let instance = cx.instance.clone();
        let engine = instance.engine();
        if !built.is_empty() {
            // A1
            engine.checkpoint().map_err(SqlError::internal)?;
        }
        let catalog = instance.catalog();
        let _one_at_a_time = catalog.lock_ddl();
        let state = catalog.state();
        let plan = plan(cx, self.statement)?.plan(built, &state)?;
        let event = self.event(cx, &plan);
        let batch = checked_records(&plan.changes, &event, cx.statement.timestamp(), &state, built)?;
        drop(state);
        let altered = plan.changes.iter().find_map(|change| match change {
            Change::AlterTable(_, new, _) if new.auto_column.is_some() => Some(new.clone()),
            _ => None,
        });
        if let Some(new) = &altered {
            counting.apply(cx, old, new)?;
        }
        catalog.put_counters(&plan.changes);
        let committed = engine.commit_ddl(cx.group_context(), &event, batch, cx.log.replicated());
        let committed = committed.inspect_err(|_| catalog.forget_counters())?;
        cx.committed(committed.gtid);
        catalog.publish(&plan.changes, committed.position);
        cx.rename_locked(&plan.changes);
        catalog.forget_counters();
        for change in &plan.changes {
            // Others that refer to the table are among the changes, too.
            if let Change::AlterTable(from, new, _) = change
                && let Ok(new) = catalog.table(&new.database, &new.name)
            {
                engine.set_layouts(new.schema.primary.tree(), new.layouts.clone());
                if new.schema.primary.tree() != from.schema.primary.tree() {
                    engine.set_layouts(from.schema.primary.tree(), None);
                }
            }
        }
        Ok(())
    }
}

/// Drops trees that were built for nothing. If that fails too, the next start does it.
fn discard(cx: &Context, trees: &[TreeId]) {
    let engine = cx.instance.engine();
    // What writers put into them is in memory still.
    let dropped = engine.checkpoint().map_err(SqlError::internal);
    let dropped = dropped.and_then(|_| Ok(engine.store().discard_trees(trees)?));
    if let Err(e) = dropped {
        tracing::warn!(error = %e, "trees of a failed ALTER TABLE stay until the next start");
    }
}

/// How many rows are read between two checks for KILL.
pub(super) const INTERRUPT_STEPS: u64 = 256;
