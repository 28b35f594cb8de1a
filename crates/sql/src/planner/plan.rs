//! Plans that are cached from one execution of a statement to the next.
//!
//! Names are resolved and paths chosen by the tables' definitions, the session's settings and the
//! types of parameters and variables. A cached plan is valid as long as these are the same; what it
//! evaluates is evaluated anew by each execution (P1).
//!
//! 1. The owner of a cached statement puts the plan of its last execution into
//!    [`Context::cached_plan`] before it runs: the session for prepared and repeated statements, a
//!    stored function's frame for those of its body.
//! 2. [`run`] takes it, or makes another one if there is none or it is no longer valid, and runs
//!    it.
//! 3. It puts the plan back into the cache.
//!
//! (K1) While a plan is made, its [`Basis`] notes everything that the plan was made for. A
//!      plan for what can change without notice (types of system variables), or whose making
//!      warned, is not cached.
//! (K2) A plan belongs to one session: the numbers of its settings are the session's own.
//! (K3) Tables that grow or shrink may want other paths: a plan ends when a table's statistics were
//!      made anew, and every so often asks whether they should be.

use std::any::Any;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::Query;
use crate::catalog::metadata_lock::MetadataLockType;
use crate::catalog::{TableDef, ViewDef};
use crate::expression::resolve::Source;
use crate::expression::{Expr, Node, Resolver};
use crate::routine::Routine;
use crate::session::Context;
use datum::error::Result;
use datum::types::{Family, Type};
use syntax::ast;

/// What is cached of a statement between two executions.
#[derive(Default)]
pub(crate) struct CachedPlan {
    /// The plan, if there is one.
    plan: Option<Box<dyn Any + Send + Sync>>,
    /// When the account was found to have the privileges that the statement needs.
    pub(crate) granted: Option<crate::privilege::Stamp>,
}

impl std::fmt::Debug for CachedPlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CachedPlan").field("planned", &self.plan.is_some()).finish()
    }
}

/// So many executions of a plan go by before it asks whether its tables' sizes have changed (K3).
const SIZES_CHECK_INTERVAL: u32 = 64;

/// A statement that is being planned.
pub(crate) struct Planning<'a> {
    /// Notes what the plan is made for.
    pub(crate) basis: &'a mut Basis,
    /// What the tree's spans point into.
    pub(crate) text: &'a [u8],
}

/// What a plan was made for, noted while it is made.
#[derive(Debug, Default)]
pub(crate) struct Basis {
    /// The tables that it reads.
    read: Vec<Arc<TableDef>>,
    /// The views that lead to some of them.
    views: Vec<Arc<ViewDef>>,
    /// The table that it changes.
    written: Option<Arc<TableDef>>,
    /// The stored functions that it calls.
    routines: Vec<Arc<Routine>>,
    /// The user variables that it reads, and their types.
    variables: Vec<(Box<str>, Type)>,
    /// Parameters whose types do not matter.
    untyped: Vec<usize>,
    /// The subqueries whose expressions were noted. An expression that ORDER BY names is there
    /// twice, with its subqueries: noted each time, they would double the work with each level of
    /// nesting.
    subqueries: HashSet<u64>,
    /// (K1)
    changes_unnoticed: bool,
}

/// A plan, and what it was made for.
struct Plan<T> {
    work: T,
    basis: Basis,
    /// The version of the settings.
    settings: u64,
    /// The number that the catalog's definitions had when its tables were found to be what they
    /// were.
    definitions: u64,
    /// The parameters' types, where they matter.
    parameters: Vec<Option<Type>>,
    /// The versions of its tables' statistics (K3).
    statistics: Vec<u64>,
    uses: u32,
}

/// Runs what `make` has planned: now, or in an earlier execution of the same statement.
pub(crate) fn run<T: Send + Sync + 'static, R>(
    cx: &mut Context,
    make: impl FnOnce(&mut Context, &mut Basis) -> Result<T>,
    run: impl FnOnce(&mut Context, &mut T) -> Result<R>,
) -> Result<R> {
    let Some(mut cached) = cx.statement.cached_plan.take() else {
        let mut work = make(cx, &mut Basis::default())?;
        return run(cx, &mut work);
    };
    let plan = cached.plan.take().and_then(|plan| plan.downcast::<Plan<T>>().ok());
    let mut plan = match plan {
        Some(mut plan) => match plan.is_valid(cx)? {
            true => plan,
            false => Box::new(Plan::new(cx, make)?),
        },
        None => Box::new(Plan::new(cx, make)?),
    };
    let outcome = run(cx, &mut plan.work);
    if !plan.basis.changes_unnoticed {
        cached.plan = Some(plan);
    }
    cx.statement.cached_plan = Some(cached);
    outcome
}

/// Plans a query. `text` is what the tree's spans point into; columns are named after it.
pub(crate) fn query(cx: &mut Context, basis: &mut Basis, query: &ast::Query, text: &[u8]) -> Result<Query> {
    query_with_sources(cx, basis, query, text).map(|(query, _)| query)
}

/// The same with the sources of the query's first SELECT, by which its columns can be named.
pub(crate) fn query_with_sources(
    cx: &mut Context,
    basis: &mut Basis,
    query: &ast::Query,
    text: &[u8],
) -> Result<(Query, Vec<Source>)> {
    let scope = crate::routine::scope(cx);
    let mut resolver = Resolver::new(cx, scope).with_text(text);
    let query = super::query(&mut resolver, query)?;
    datum::bounds::check()?;
    let sources = std::mem::take(&mut resolver.first_sources);
    basis.reads(&mut resolver);
    query.each_expr(&mut |e| basis.evaluates(e));
    Ok((query, sources))
}

/// The same for a plan that is not cached.
pub(crate) fn query_once(cx: &mut Context, query: &ast::Query, text: &[u8]) -> Result<Query> {
    self::query(cx, &mut Basis::default(), query, text)
}

impl Basis {
    /// The plan reads the tables that the resolver met.
    pub(crate) fn reads(&mut self, resolver: &mut Resolver<'_>) {
        self.read.append(&mut resolver.tables);
        self.views.append(&mut resolver.views.used);
    }

    /// The plan changes a table's rows.
    pub(crate) fn writes(&mut self, table: &Arc<TableDef>) {
        self.written = Some(table.clone());
    }

    /// The plan takes a parameter's value as it is, whatever its type.
    pub(crate) fn takes(&mut self, parameter: u32) {
        self.untyped.push(parameter as usize);
    }

    /// The plan evaluates an expression.
    pub(crate) fn evaluates(&mut self, expr: &Expr) {
        expr.walk(&mut |e| match &e.node {
            Node::UserVariable(name) => self.variables.push((name.clone(), e.ty)),
            Node::SystemVariable(_) => self.changes_unnoticed = true,
            Node::Stored(routine, _) => self.routines.push(routine.clone()),
            Node::Subquery(subquery) if self.subqueries.insert(subquery.id) => {
                subquery.plans().for_each(|plan| plan.each_expr(&mut |e| self.evaluates(e)));
            }
            _ => {}
        });
    }

    /// The tables that it reads or changes.
    fn tables(&self) -> impl Iterator<Item = &Arc<TableDef>> {
        self.read.iter().chain(&self.written)
    }

    /// True if tables, functions and variables are what they were when the catalog's definitions
    /// had the number `definitions`; the tables are open, and may be written, then. What is wrong
    /// with them is reported by planning again.
    fn is_current(&self, cx: &mut Context, definitions: u64) -> Result<bool> {
        let is_same_function = |routine: &Arc<Routine>| {
            cx.routine(routine.database(), routine.name()).is_ok_and(|now| Arc::ptr_eq(&now, routine))
        };
        if !self.variables.iter().all(|(name, ty)| is_same_type(ty, &cx.settings.user_variable_type(name)))
            || !self.routines.iter().all(is_same_function)
        {
            return Ok(false);
        }
        if !cx.reopen_views(&self.views, definitions)? {
            return Ok(false);
        }
        if let Some(table) = &self.written
            && !(cx.reopen(table, MetadataLockType::Write, definitions)?
                && cx.check_writable_table(table).is_ok())
        {
            return Ok(false);
        }
        for table in &self.read {
            if !cx.reopen(table, MetadataLockType::Read, definitions)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl<T> Plan<T> {
    fn new(cx: &mut Context, make: impl FnOnce(&mut Context, &mut Basis) -> Result<T>) -> Result<Self> {
        let mut basis = Basis::default();
        let definitions = definitions(cx);
        let warnings = cx.statement.diagnostics.warning_count();
        let work = make(cx, &mut basis)?;
        datum::bounds::check()?;
        basis.changes_unnoticed |= cx.statement.diagnostics.warning_count() != warnings;
        let type_of = |(number, p): (usize, &crate::session::Parameter)| {
            (!basis.untyped.contains(&number)).then_some(p.ty)
        };
        let parameters = cx.statement.parameters.iter().enumerate().map(type_of).collect();
        let statistics = basis.tables().map(|table| table.statistics.version()).collect();
        let (settings, uses) = (cx.settings.version(), 0);
        Ok(Self { settings, definitions, parameters, statistics, uses, work, basis })
    }

    /// True if it can run again as it is; its tables are open then.
    fn is_valid(&mut self, cx: &mut Context) -> Result<bool> {
        let definitions = definitions(cx);
        let is_same = |(ty, now): (&Option<Type>, &crate::session::Parameter)| {
            ty.as_ref().is_none_or(|ty| is_same_type(ty, &now.ty))
        };
        let is_valid = self.settings == cx.settings.version()
            && self.parameters.len() == cx.statement.parameters.len()
            && self.parameters.iter().zip(&cx.statement.parameters).all(is_same)
            && self.basis.is_current(cx, self.definitions)?
            && self.has_current_sizes(cx);
        self.definitions = definitions;
        Ok(is_valid)
    }

    /// (K3)
    fn has_current_sizes(&mut self, cx: &Context) -> bool {
        self.uses = self.uses.wrapping_add(1);
        let is_due = self.uses.is_multiple_of(SIZES_CHECK_INTERVAL);
        self.basis.tables().zip(&self.statistics).all(|(table, version)| {
            if is_due && *version > 0 {
                table.current_statistics(&cx.instance);
            }
            table.statistics.version() == *version
        })
    }
}

/// The number of the catalog's definitions.
fn definitions(cx: &Context) -> u64 {
    cx.catalog().definitions_epoch().load(Ordering::Acquire)
}

/// Text is of one type, however long it is this time.
fn is_same_type(a: &Type, b: &Type) -> bool {
    match a.family {
        Family::Text => Type { length: b.length, ..*a } == *b,
        _ => a == b,
    }
}
