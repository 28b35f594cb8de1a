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

use super::through_join;
use super::view_check::ViewCheck;
use crate::catalog::view::{is_insertable, is_updatable, merged_select};
use crate::catalog::{TableDef, ViewDef};
use crate::expression::resolve::{Columns, Source};
use crate::expression::{Expr, Node, Resolver, Scope};
use crate::output::OutputColumn;
use crate::planner::plan::Basis;
use crate::planner::view::Opened;
use crate::planner::{self, merge};
use crate::privilege::Privileges;
use crate::session::Context;
use datum::error::{self, Result, SqlError};
use syntax::ast::{self, CheckOption, Ident, ObjectName, SelectItem, TableReference, ViewAlgorithm};

/// The source of columns of a join's tables that an INSERT does not write to.
pub(super) const OTHER_TABLE: usize = crate::planner::from::SOURCES_MAX;

/// A view whose rows a statement changes.
pub(super) struct ChangedView {
    pub(super) view: Arc<ViewDef>,
    /// The table, open to be written.
    pub(super) table: Arc<TableDef>,
    pub(super) columns: Arc<[OutputColumn]>,
    /// What the columns are, over the table as source 0; for an INSERT through a view of a join
    /// also over [`OTHER_TABLE`].
    pub(super) exprs: Arc<[Expr]>,
    /// What its rows fulfil.
    pub(super) conditions: Vec<Expr>,
    /// What rows that are written have to fulfil; `None` if they may be any.
    pub(super) check: Option<Arc<ViewCheck>>,
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
    /// REPLACE: rows go that are in its way.
    pub(super) replaces: bool,
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
    /// of a join 1395 for DELETE, else 1393.
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
        let check = ViewCheck::new(&view, level.checks, 0, table.auto_column);
        Ok(ChangedView {
            columns: level.columns.into(),
            exprs: level.exprs.into(),
            conditions: level.conditions,
            table,
            check,
            view,
        })
    }

    /// The same for INSERT, REPLACE and LOAD DATA, which give the columns `names` of it.
    ///
    /// # Errors
    /// Those of [`Self::open`], 1394 for a view of a join of which no columns are named, and those
    /// of [`through_join::open`].
    pub(super) fn open_to_insert(
        cx: &mut Context,
        basis: &mut Basis,
        name: &ObjectName,
        names: &[Ident],
        change: Change<'_>,
    ) -> Result<ChangedView> {
        match Self::open(cx, basis, name, change) {
            Err(e) if e.is(error::VIEW_MULTIUPDATE) => {
                let view = cx.open_view(name.database.as_deref(), &name.name)?;
                let view = view.ok_or_else(|| error::NO_SUCH_TABLE.with(&[&"", &name.name]))?;
                through_join::open(cx, basis, &view, names, change)
            }
            opened => opened,
        }
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

    /// The same of the row that an INSERT would write, which is source 1. The columns are named
    /// after the view's, or are those that the statement gives, by the names of its row alias.
    pub(super) fn new_row(&self, alias: &ast::RowAlias, given: &[usize]) -> Result<Source> {
        let of = |column: usize, name: &str| {
            let at = self.exprs.iter().position(|e| e.as_column() == Some(column)).unwrap_or_default();
            let (mut shown, mut expr) = (self.columns[at].clone(), self.exprs[at].clone());
            shown.meta.name = name.to_owned();
            expr.node = Node::Column { source: 1, column };
            (shown, expr)
        };
        let (columns, exprs): (Vec<_>, Vec<_>) = match alias.columns.is_empty() {
            false => given.iter().zip(&alias.columns).map(|(column, name)| of(*column, name)).unzip(),
            true => {
                let named = self.exprs.iter().zip(self.columns.iter());
                named.filter_map(|(e, shown)| Some(of(e.as_column()?, &shown.meta.name))).unzip()
            }
        };
        let columns = Columns::Merged(columns.into(), exprs.into());
        Ok(Source {
            alias: alias.name.as_str().into(),
            database: "".into(),
            columns,
            slot: 1,
            nullable: false,
        })
    }

    /// Error 1393 for an expression that reads another table of a join.
    pub(super) fn check_reads(&self, e: &Expr) -> Result<()> {
        match e.contains(&mut |e| matches!(e.node, Node::Column { source: OTHER_TABLE, .. })) {
            true => Err(error::VIEW_MULTIUPDATE.with(&[&self.view.database, &self.view.name])),
            false => Ok(()),
        }
    }

    /// The table's columns that an INSERT gives values, by number.
    ///
    /// # Errors
    /// Those of [`Self::named`]; 1471 for a view that has anything but columns, or one twice.
    pub(super) fn inserted(&self, names: &[Ident], change: Change<'_>) -> Result<Vec<usize>> {
        let given = self.named(names)?;
        let mut seen = Vec::with_capacity(self.exprs.len());
        for expr in self.exprs.iter() {
            let is_column = match expr.node {
                Node::Column { source: 0, column } if seen.contains(&column) => false,
                Node::Column { source: 0, column } => {
                    seen.push(column);
                    true
                }
                Node::Column { .. } => true,
                _ => false,
            };
            if !is_column {
                return Err(error::NON_INSERTABLE_TABLE.with(&[&change.shown, &change.verb]));
            }
        }
        Ok(given)
    }

    /// The table's columns that these of the view are, by number; all of them if none is named.
    ///
    /// # Errors
    /// 1054 and 1110 for the names; 1348 for what is no column of the table, 1393 for one of
    /// another table of a join.
    pub(super) fn named(&self, names: &[Ident]) -> Result<Vec<usize>> {
        let mut given = Vec::with_capacity(names.len());
        let count = if names.is_empty() { self.columns.len() } else { names.len() };
        for number in 0..count {
            let at = match names.get(number) {
                None => number,
                Some(name) => {
                    let at = self.columns.iter().position(|column| name.is(&column.meta.name));
                    at.ok_or_else(|| error::BAD_FIELD_ERROR.with(&[name, &"field list"]))?
                }
            };
            self.check_reads(&self.exprs[at])?;
            let name = &self.columns[at].meta.name;
            let column = self.exprs[at].as_column();
            let column = column.ok_or_else(|| error::NONUPDATEABLE_COLUMN.with(&[name]))?;
            if !names.is_empty() && given.contains(&column) {
                return Err(error::FIELD_SPECIFIED_TWICE.with(&[name]));
            }
            given.push(column);
        }
        Ok(given)
    }
}

/// What is said of a change of a view that reads several tables: of DELETE and REPLACE for good, of
/// UPDATE and INSERT (1393) to who only asked for views of one table.
fn of_join(change: Change<'_>, named: &ViewDef) -> SqlError {
    let code = match change.verb {
        "LOAD" => return error::NON_UPDATABLE_TABLE.with(&[&change.shown, &change.verb]),
        "DELETE" => error::VIEW_DELETE_MERGE_VIEW,
        "INSERT" if !change.names_columns => error::VIEW_NO_INSERT_FIELD_LIST,
        "INSERT" if change.replaces => error::VIEW_DELETE_MERGE_VIEW,
        _ => error::VIEW_MULTIUPDATE,
    };
    code.with(&[&named.database, &named.name])
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
            _ => {
                let state = resolver.cx.catalog().state();
                let is_open = match change.verb {
                    "INSERT" => is_insertable(&state, tree),
                    _ => is_updatable(&state, tree),
                };
                drop(state);
                return Err(if is_open { of_join(change, named) } else { not_updatable() });
            }
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
        let is_read = |e: &SqlError| e.is(error::UPDATE_TABLE_USED);
        let (columns, exprs, own) = bound.map_err(|e| if is_read(&e) { not_updatable() } else { e })?;
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
