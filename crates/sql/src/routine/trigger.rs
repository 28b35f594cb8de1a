//! Triggers as routines: the columns of the rows OLD and NEW are variables.
//!
//! Only the columns that the body names have a place in the frame. They are filled when the trigger
//! is called, each with its column's value, and what the body assigns to those of NEW is taken back
//! when it has ended.

use std::sync::Arc;

use super::call::ProgramSink;
use super::compile::Compiler;
use super::{Action, ProgramKind, Routine, rights, run_frame};
use crate::catalog::trigger::{TriggerDef, TriggerPrograms};
use crate::catalog::{TableDef, parse_one};
use crate::executor::{Discard, computed};
use crate::expression::row::ImageRow;
use crate::session::{Context, ReadLocks};
use datum::error::{self, Result, SqlError};
use datum::types::DataType;
use datum::value::{Datum, bits_to_u64};
use syntax::ast::visit::{self, Visitor};
use syntax::ast::{ColumnName, Expr, ExprKind, StatementKind, TriggerEvent, TriggerTime, VariableName};

/// One of the two rows that a trigger sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum RowVersion {
    Old,
    New,
}

/// A column of one of the rows, which is a variable.
#[derive(Debug)]
pub(super) struct RowColumn {
    /// Its place in the frame.
    pub(super) place: usize,
    pub(super) version: RowVersion,
    pub(super) column: usize,
}

/// What a trigger is called for; `None` for the row that its event does not have.
#[derive(Clone, Copy)]
pub(crate) struct TriggerRows<'a> {
    pub(crate) old: Option<ImageRow<'a>>,
    pub(crate) new: Option<ImageRow<'a>>,
}

impl RowVersion {
    /// The row that a qualifier names.
    pub(super) fn named(table: &str) -> Option<Self> {
        match () {
            () if table.eq_ignore_ascii_case("NEW") => Some(Self::New),
            () if table.eq_ignore_ascii_case("OLD") => Some(Self::Old),
            () => None,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Old => "OLD",
            Self::New => "NEW",
        }
    }
}

/// The trigger that is compiled, and its table.
#[derive(Clone, Copy)]
pub(super) struct Subject<'a> {
    pub(super) trigger: &'a TriggerDef,
    pub(super) table: &'a TableDef,
}

impl Subject<'_> {
    /// The number of a row's column.
    ///
    /// # Errors
    /// 1363 for a row that the event does not have, 1054 for a column that the table does not have.
    fn column(&self, version: RowVersion, name: &str) -> Result<usize> {
        let has_row = match version {
            RowVersion::Old => self.trigger.event != TriggerEvent::Insert,
            RowVersion::New => self.trigger.event != TriggerEvent::Delete,
        };
        if !has_row {
            let event = crate::catalog::trigger::event_word(self.trigger.event);
            return Err(error::TRG_NO_SUCH_ROW_IN_TRG.with(&[&version.name(), &event]));
        }
        let found = self.table.column_index(name);
        found.ok_or_else(|| error::BAD_FIELD_ERROR.with(&[&name, &version.name()]))
    }
}

impl Routine {
    /// Compiles a trigger for a definition of its table; errors are those that CREATE TRIGGER
    /// gives.
    pub(crate) fn compile_trigger(trigger: &TriggerDef, table: &TableDef) -> Result<Routine> {
        let text = trigger.text(&table.name);
        let StatementKind::CreateTrigger(create) = parse_one(&text, trigger.sql_mode)?.kind else {
            return Err(SqlError::internal("a trigger's text makes no trigger"));
        };
        let mut compiler =
            Compiler::new(trigger.database_collation, ProgramKind::Trigger).of(Subject { trigger, table });
        compiler.statement(create.body)?;
        let (variables, row_columns, program, code) = compiler.into_parts();
        Ok(Routine {
            kind: ProgramKind::Trigger,
            name: trigger.name.clone(),
            database: table.database.clone(),
            parameters: 0,
            returns: None,
            row_columns,
            variables: Arc::new(variables),
            program,
            code,
            text,
            sql_mode: trigger.sql_mode,
            connection: trigger.connection,
            definer: Some(trigger.definer.clone()),
        })
    }

    /// True if it names columns of its rows.
    pub(super) fn reads_rows(&self) -> bool {
        !self.row_columns.is_empty()
    }

    /// True if it assigns to columns of NEW.
    pub(super) fn assigns_rows(&self) -> bool {
        let is_of_row = |place: usize| self.row_columns.iter().any(|of| of.place == place);
        self.code.iter().any(|action| matches!(action, Action::Assign(place, _) if is_of_row(*place)))
    }
}

impl Compiler<'_> {
    /// Gives the columns of OLD and NEW that an expression names a place.
    pub(super) fn declare_columns_of(&mut self, expr: &Expr) -> Result<()> {
        self.declare_named(|names| names.expr(expr))
    }

    /// The same for a statement.
    pub(super) fn declare_columns_in(&mut self, kind: &StatementKind) -> Result<()> {
        self.declare_named(|names| walk_statement(names, kind))
    }

    fn declare_named(&mut self, walk: impl FnOnce(&mut RowNames)) -> Result<()> {
        if self.subject.is_none() {
            return Ok(());
        }
        let mut names = RowNames::default();
        walk(&mut names);
        for (version, column) in names.0 {
            self.row_column(version, &column)?;
        }
        Ok(())
    }

    /// The place of a row's column in the frame.
    fn row_column(&mut self, version: RowVersion, name: &str) -> Result<usize> {
        let subject = self.subject.ok_or_else(|| SqlError::internal("a row without a trigger"))?;
        let column = subject.column(version, name)?;
        let known = self.row_columns.iter().find(|known| (known.version, known.column) == (version, column));
        if let Some(known) = known {
            return Ok(known.place);
        }
        let definition = &subject.table.columns[column];
        let place = self.variables.declare_of_row(version, &definition.name, definition.ty.clone());
        self.row_columns.push(RowColumn { place, version, column });
        Ok(place)
    }

    /// The place that `SET NEW.column` assigns to; `None` if the name is another one.
    ///
    /// # Errors
    /// 1362 for OLD, and for NEW after the change; 3105 for a generated column.
    pub(super) fn assigned_of_row(&mut self, name: &VariableName) -> Result<Option<usize>> {
        let named = name.component.as_ref().and_then(|component| RowVersion::named(component));
        let (Some(version), Some(subject)) = (named, self.subject) else { return Ok(None) };
        let column = subject.column(version, &name.name)?;
        match (version, subject.trigger.time) {
            (RowVersion::Old, _) => Err(error::TRG_CANT_CHANGE_ROW.with(&[&version.name(), &""])),
            (RowVersion::New, TriggerTime::After) => {
                Err(error::TRG_CANT_CHANGE_ROW.with(&[&version.name(), &"after "]))
            }
            (RowVersion::New, TriggerTime::Before) => {
                computed::not_generated(subject.table, column)?;
                self.row_column(version, &name.name).map(Some)
            }
        }
    }
}

/// The columns of OLD and NEW that are named.
#[derive(Default)]
struct RowNames(Vec<(RowVersion, String)>);

impl<'a> Visitor<'a> for RowNames {
    fn expr(&mut self, expr: &'a Expr) {
        if let ExprKind::Column(ColumnName { database: None, table: Some(table), column }) = &expr.kind
            && let Some(version) = RowVersion::named(table)
        {
            self.0.push((version, column.to_string()));
        }
        visit::walk_expr(self, expr);
    }
}

/// Walks over everything that a routine's statement reads.
pub(super) fn walk_statement<'a>(visitor: &mut impl Visitor<'a>, kind: &'a StatementKind) {
    use StatementKind as S;
    match kind {
        S::Query(query) => visitor.query(query),
        S::Insert(insert) => visit::walk_insert(visitor, insert),
        S::Update(update) => visit::walk_update(visitor, update),
        S::Delete(delete) => visit::walk_delete(visitor, delete),
        S::LoadData(load) => visit::walk_load(visitor, load),
        _ => visit::expressions_of(kind).into_iter().for_each(|expr| visitor.expr(expr)),
    }
}

/// What the triggers of a table were compiled to; what fails to compile fails when it is to run.
pub(crate) fn programs(table: &TableDef) -> TriggerPrograms {
    let compile = || {
        let compiled = table.triggers.list().iter();
        compiled.map(|trigger| Routine::compile_trigger(trigger, table).map(Arc::new)).collect()
    };
    table.trigger_programs.get_or_init(compile).clone()
}

/// Runs a trigger for a row; returns what it has assigned to columns of NEW. Which these are is
/// added to `columns`, also where it fails.
///
/// # Errors
/// Those of its statements; 1449 and 1142 for its definer.
pub(crate) fn run(
    cx: &mut Context,
    trigger: &Arc<Routine>,
    table: &TableDef,
    rows: TriggerRows<'_>,
    columns: &mut Vec<usize>,
) -> Result<Vec<(usize, Datum<'static>)>> {
    datum::stack::check()?;
    let zone = cx.settings.zone();
    let mut locals = vec![Datum::Null; trigger.variables.len()];
    for of in &trigger.row_columns {
        let row = match of.version {
            RowVersion::Old => rows.old,
            RowVersion::New => rows.new,
        };
        let row = row.ok_or_else(|| SqlError::internal("a trigger without one of its rows"))?;
        locals[of.place] = row.column(of.column, zone)?.into_owned();
    }
    let grants = rights::of_trigger(cx, trigger, table)?;
    // What it was warned of is its own.
    let diagnostics = cx.statement.diagnostics.begin_program();
    let mut discard = Discard;
    let mut sink = ProgramSink::of(&mut discard);
    let (outcome, mut left) =
        cx.with_read_locks(ReadLocks::Always, |cx| run_frame(cx, trigger, locals, Some(grants), &mut sink));
    let assigned = || trigger.row_columns.iter().filter(|of| left.assigned.contains(&of.place));
    columns.extend(assigned().map(|of| of.column));
    match outcome {
        Ok(_) => cx.statement.diagnostics = diagnostics,
        Err(e) => {
            cx.statement.diagnostics.end_program(diagnostics);
            return Err(e);
        }
    }
    let stored = |column: usize, value: Datum<'static>| match (value, &table.columns[column].ty) {
        (Datum::Bits(bits), DataType::Bit(_)) => Datum::UInt(bits_to_u64(&bits)),
        (value, _) => value,
    };
    let assigned: Vec<_> = assigned().collect();
    let locals = &mut left.locals;
    let mut value = |of: &RowColumn| stored(of.column, std::mem::take(&mut locals[of.place]));
    Ok(assigned.into_iter().map(|of| (of.column, value(of))).collect())
}
