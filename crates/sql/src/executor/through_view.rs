//! INSERT, UPDATE and DELETE of a view: which table they change, what the view's columns are there,
//! and which rows it has.
//!
//! A view can be changed if it is mergeable and reads one table, or one such view. Each level's
//! select list and condition become expressions over the table's columns, so a statement is planned
//! as one of the table, with other names and a condition more.
//!
//! (T1) A row that WITH CHECK OPTION guards is tested as it will be written, numbers and computed
//!      columns included: CASCADED asks for the conditions of the view and of all below it, LOCAL
//!      for the view's own and what views below it ask for themselves.
//! (T2) Each level's table is changed with the rights of the view that names it.

use std::sync::Arc;

use crate::catalog::table::Default;
use crate::catalog::view::merged_select;
use crate::catalog::{TableDef, ViewDef};
use crate::expression::resolve::{Columns, Source};
use crate::expression::row::{ImageRow, Offsets};
use crate::expression::{Expr, Node, Resolver, Row, Scope};
use crate::output::OutputColumn;
use crate::planner::plan::Basis;
use crate::planner::view::Opened;
use crate::planner::{self, merge};
use crate::privilege::Privileges;
use crate::session::Context;
use datum::error::{self, Result, SqlError};
use syntax::ast::{CheckOption, Ident, ObjectName, SelectItem, TableReference, ViewAlgorithm};

/// A view whose rows a statement changes.
pub(super) struct ChangedView {
    view: Arc<ViewDef>,
    /// The table, open to be written.
    pub(super) table: Arc<TableDef>,
    columns: Arc<[OutputColumn]>,
    /// What the columns are, over the table as source 0.
    exprs: Arc<[Expr]>,
    /// What its rows fulfil.
    pub(super) conditions: Vec<Expr>,
    /// What rows that are written have to fulfil; `None` if they may be any.
    pub(super) check: Option<Arc<ViewCheck>>,
}

/// WITH CHECK OPTION.
pub(super) struct ViewCheck {
    database: String,
    view: String,
    conditions: Vec<Expr>,
}

/// What a statement does to the view.
#[derive(Clone, Copy)]
pub(super) struct Change<'a> {
    /// INSERT, UPDATE or DELETE, for messages.
    pub(super) verb: &'static str,
    pub(super) privileges: Privileges,
    /// What the statement calls the view.
    pub(super) shown: &'a str,
    /// An INSERT names the columns that it gives.
    pub(super) names_columns: bool,
}

/// A view, as far as it was followed.
struct Level {
    table: Arc<TableDef>,
    columns: Vec<OutputColumn>,
    exprs: Vec<Expr>,
    conditions: Vec<Expr>,
    checks: Vec<Expr>,
}

impl ChangedView {
    /// The view of this name; the statement was told that it is no table.
    ///
    /// # Errors
    /// 1146 if it is no view any more; 1288 for one that can't be changed, 1471 for INSERT; for one
    /// of a join 1394 or 1395 where it can't be changed so, else 1235.
    pub(super) fn open(
        cx: &mut Context,
        basis: &mut Basis,
        name: &ObjectName,
        change: Change<'_>,
    ) -> Result<ChangedView> {
        let found = cx.open_view(name.database.as_deref(), &name.name)?;
        let Some(view) = found else {
            let database = name.database.as_deref().or(cx.default_database()).unwrap_or_default();
            return Err(error::NO_SUCH_TABLE.with(&[&database, &name.name]));
        };
        let mut resolver = Resolver::new(cx, Scope::empty());
        let level = follow(&mut resolver, &view, change, &view)?;
        basis.reads(&mut resolver);
        let (database, table) = (level.table.database.clone(), level.table.name.clone());
        let table = cx.open_shared_table_to_write(&database, &table)?;
        cx.check_writable_table(&table)?;
        basis.writes(&table);
        let all = level.exprs.iter().chain(&level.conditions).chain(&level.checks);
        all.for_each(|e| basis.evaluates(e));
        let check = (!level.checks.is_empty()).then(|| {
            let (database, view) = (view.database.clone(), view.name.clone());
            Arc::new(ViewCheck { database, view, conditions: level.checks })
        });
        Ok(ChangedView {
            columns: level.columns.into(),
            exprs: level.exprs.into(),
            conditions: level.conditions,
            table,
            check,
            view,
        })
    }

    /// What names find: the view's columns under the statement's name for it.
    pub(super) fn source(&self, alias: &str) -> Source {
        Source {
            alias: alias.into(),
            database: self.view.database.as_str().into(),
            columns: Columns::Merged(self.columns.clone(), self.exprs.clone()),
            slot: 0,
            nullable: false,
        }
    }

    /// The table's columns that an INSERT gives values, by number.
    ///
    /// # Errors
    /// 1471 for a view that has anything but columns, or one twice; 1054 and 1110 for the names;
    /// 1423 for a column that the view lacks and that has no default.
    pub(super) fn inserted(
        &self,
        names: &[Ident],
        refuses_missing: bool,
        change: Change<'_>,
    ) -> Result<Vec<usize>> {
        let not_insertable = || error::NON_INSERTABLE_TABLE.with(&[&change.shown, &change.verb]);
        let mut numbers = Vec::with_capacity(self.exprs.len());
        for expr in self.exprs.iter() {
            let Node::Column { source: 0, column } = expr.node else { return Err(not_insertable()) };
            if numbers.contains(&column) {
                return Err(not_insertable());
            }
            numbers.push(column);
        }
        let is_missing = |number: usize| {
            let column = &self.table.columns[number];
            let has_value = column.generated.is_some() || self.table.auto_column == Some(number);
            matches!(column.default, Default::None) && !has_value && !numbers.contains(&number)
        };
        if refuses_missing && (0..self.table.columns.len()).any(is_missing) {
            return Err(error::NO_DEFAULT_FOR_VIEW_FIELD.with(&[&self.view.database, &self.view.name]));
        }
        if names.is_empty() {
            return Ok(numbers);
        }
        let mut given = Vec::with_capacity(names.len());
        for name in names {
            let at = self.columns.iter().position(|column| name.is(&column.meta.name));
            let at = at.ok_or_else(|| error::BAD_FIELD_ERROR.with(&[name, &"field list"]))?;
            if given.contains(&numbers[at]) {
                return Err(error::FIELD_SPECIFIED_TWICE.with(&[name]));
            }
            given.push(numbers[at]);
        }
        Ok(given)
    }
}

impl ViewCheck {
    /// Error 1369 for a row that the view would not have; with IGNORE a warning, and false.
    pub(super) fn passes(
        &self,
        cx: &mut Context,
        table: &Arc<TableDef>,
        image: &[u8],
        ignore: bool,
    ) -> Result<bool> {
        let mut offsets = Offsets::default();
        offsets.find(table, image)?;
        let row = Row::Image(ImageRow { table, image, offsets: &offsets });
        for condition in &self.conditions {
            if condition.truth(cx, row)? == Some(true) {
                continue;
            }
            let e = error::VIEW_CHECK_FAILED.with(&[&self.database, &self.view]);
            if !ignore {
                return Err(e);
            }
            cx.warn(e);
            return Ok(false);
        }
        Ok(true)
    }
}

/// What is said of a change of a view that reads several tables.
fn of_join(change: Change<'_>, named: &ViewDef) -> SqlError {
    match change.verb {
        "DELETE" => error::VIEW_DELETE_MERGE_VIEW.with(&[&named.database, &named.name]),
        "INSERT" if !change.names_columns => {
            error::VIEW_NO_INSERT_FIELD_LIST.with(&[&named.database, &named.name])
        }
        _ => SqlError::unsupported("INSERT and UPDATE through views of joins"),
    }
}

/// Follows a view to its table.
fn follow(
    resolver: &mut Resolver<'_>,
    view: &Arc<ViewDef>,
    change: Change<'_>,
    named: &ViewDef,
) -> Result<Level> {
    let not_updatable = || match change.verb {
        "INSERT" => error::NON_INSERTABLE_TABLE.with(&[&change.shown, &change.verb]),
        verb => error::NON_UPDATABLE_TABLE.with(&[&change.shown, &verb]),
    };
    if view.algorithm == ViewAlgorithm::TempTable {
        return Err(not_updatable());
    }
    let mut level = resolver.in_view(view, |resolver, tree| {
        let select = merged_select(tree).ok_or_else(not_updatable)?;
        let factor = match &select.from[..] {
            [TableReference::Table(factor)] => factor,
            [TableReference::Derived(_) | TableReference::JsonTable(_)] => return Err(not_updatable()),
            _ => return Err(of_join(change, named)),
        };
        if factor.name.database.as_deref().is_none_or(crate::system_schemas::is_reserved) {
            return Err(not_updatable());
        }
        resolver.check_change_in_view(&factor.name, change.privileges)?;
        let alias = factor.alias.as_deref().unwrap_or(&factor.name.name);
        let (below, source) = match resolver.open_source(factor)? {
            Opened::Table(table) => (Level::of(&table), Source::table(table, alias, 0)),
            Opened::View(view) => {
                let below = follow(resolver, &view, change, named)?;
                let columns = Columns::Merged(below.columns.clone().into(), below.exprs.clone().into());
                let database = view.database.as_str().into();
                (below, Source { alias: alias.into(), database, columns, slot: 0, nullable: false })
            }
        };
        let around =
            std::mem::replace(&mut resolver.scope, Scope { sources: vec![source], ..Scope::empty() });
        // What its subqueries read may not be what is changed.
        let targets = std::mem::replace(&mut resolver.targets, vec![below.table.clone()]);
        let bound = bind(resolver, select);
        resolver.targets = targets;
        resolver.scope = around;
        let (columns, exprs, own) = bound?;
        let checks = match view.check_option {
            None => below.checks,
            Some(CheckOption::Local) => [below.checks, own.clone()].concat(),
            Some(CheckOption::Cascaded) => [below.conditions.clone(), own.clone()].concat(),
        };
        let conditions = [below.conditions, own].concat();
        Ok(Level { table: below.table, columns, exprs, conditions, checks })
    })?;
    // Each use copies them, here and on every level above.
    if !level.exprs.iter().all(merge::is_small) {
        return Err(SqlError::unsupported("changes through views of long expressions"));
    }
    for (column, name) in level.columns.iter_mut().zip(&view.columns) {
        column.meta.name.clone_from(name);
    }
    Ok(level)
}

impl Level {
    /// A table, whose names are its source's.
    fn of(table: &Arc<TableDef>) -> Level {
        Level {
            table: table.clone(),
            columns: Vec::new(),
            exprs: Vec::new(),
            conditions: Vec::new(),
            checks: Vec::new(),
        }
    }
}

/// The columns of a SELECT, what they are, and its condition.
fn bind(
    resolver: &mut Resolver<'_>,
    select: &syntax::ast::Select,
) -> Result<(Vec<OutputColumn>, Vec<Expr>, Vec<Expr>)> {
    let (mut columns, mut exprs, mut conditions) = (Vec::new(), Vec::new(), Vec::new());
    for item in &select.items {
        let SelectItem::Expr { expr, alias: Some(alias) } = item else {
            return Err(SqlError::internal("a view's column without a name"));
        };
        let expr = resolver.expr(expr)?;
        columns.push(OutputColumn::computed(alias, expr.ty));
        exprs.push(expr);
    }
    resolver.scope.clause = "where clause";
    if let Some(filter) = &select.filter {
        planner::conjuncts(resolver.expr(filter)?, &mut conditions);
    }
    Ok((columns, exprs, conditions))
}
