//! SELECT from one table or none.
//!
//! 1. [`plan`] resolves the query: select list, condition, grouping, order, limit; it chooses the path to the rows and finds
//!    out whether the path gives the order already.
//! 2. [`Plan::run`] walks: each row that the condition accepts goes to its group, to the sorter, or straight out.
//!
//! A grouped row is two sources side by side: one of the group's rows, and the group's aggregates (see
//! [`crate::expression::resolve::GROUP`]), so that expressions over groups are like others.
//!
//! (Q1) Memory is bounded: sorting, grouping and DISTINCT give error 1038 beyond [`MEMORY_MAX`] instead of growing on.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use storage::LockMode;
use storage::transaction::{Access, Locking, OnLocked};

use super::access::{self, Path, Rows};
use super::output::{Output, OutputColumn};
use super::{Done, OK, ROWS};
use crate::ast::{
    self, IntoTarget, IntoVariable, LockStrength, LockWait, QueryBody, SelectItem, TableReference,
};
use crate::catalog::TableDef;
use crate::error::{self, Result, SqlError};
use crate::expression::aggregate::{self, Aggregate, State};
use crate::expression::resolve::{GROUP, Scope, Source};
use crate::expression::row::{ImageRow, Offsets};
use crate::expression::{Expr, Node, Resolver, Row};
use crate::session::Context;
use crate::sink::ResultSink;
use crate::types::Type;
use crate::value::Datum;

/// Bytes that one statement's sorting or grouping may take.
const MEMORY_MAX: usize = 256 << 20;

/// A query, ready to run.
struct Plan {
    table: Option<Arc<TableDef>>,
    sources: Vec<Source>,
    path: Path,
    locking: Option<Locking>,
    items: Vec<(String, Expr)>,
    filter: Option<Expr>,
    /// GROUP BY's expressions and the aggregates; present if the query groups.
    group: Option<(Vec<Expr>, Vec<Aggregate>)>,
    having: Option<Expr>,
    order: Vec<(Expr, bool)>,
    distinct: bool,
    limit: u64,
    offset: u64,
}

/// Runs a query and sends its rows to the client, or where INTO says.
pub(super) fn execute(
    cx: &mut Context,
    query: &ast::Query,
    text: &[u8],
    sink: &mut dyn ResultSink,
) -> Result<Done> {
    let plan = plan(cx, query, text)?;
    if let Some(into) = &query.into {
        return into_variables(cx, &plan, into).map(|()| OK);
    }
    let columns = plan.items.iter().map(|(name, expr)| OutputColumn::of_expr(expr, name, &plan.sources));
    let mut output = Output::begin(cx, sink, columns.collect())?;
    let locks = plan.locking.is_some();
    let sent = plan.run(cx, &mut |cx, values| {
        if locks {
            cx.await_locked_reads()?; // a long result is on its way before the statement ends
        }
        output.row(values)
    })?;
    cx.status.found_rows = sent;
    Ok(ROWS)
}

/// Runs a query and hands its rows to `each`, with their types.
pub(super) fn for_each(
    cx: &mut Context,
    query: &ast::Query,
    mut each: impl FnMut(&mut Context, &[Datum<'_>], &[Type]) -> Result<()>,
) -> Result<()> {
    let plan = plan(cx, query, &[])?;
    let types: Vec<Type> = plan.items.iter().map(|(_, e)| e.ty).collect();
    plan.run(cx, &mut |cx, values| each(cx, values, &types))?;
    Ok(())
}

fn into_variables(cx: &mut Context, plan: &Plan, into: &IntoTarget) -> Result<()> {
    let IntoTarget::Variables(targets) = into else {
        return Err(SqlError::unsupported("SELECT .. INTO OUTFILE"));
    };
    if targets.len() != plan.items.len() {
        return Err(error::WRONG_NUMBER_OF_COLUMNS_IN_SELECT.plain());
    }
    let mut found: Option<Vec<Datum<'static>>> = None;
    plan.run(cx, &mut |_, values| {
        if found.is_some() {
            return Err(error::TOO_MANY_ROWS.plain());
        }
        found = Some(values.iter().map(|v| v.clone().into_owned()).collect());
        Ok(())
    })?;
    let Some(values) = found else {
        cx.warn(error::SP_FETCH_NO_DATA.plain());
        return Ok(());
    };
    for ((target, value), (_, expr)) in targets.iter().zip(values).zip(&plan.items) {
        match target {
            IntoVariable::User(name) => cx.set_user_variable(name, value, expr.ty),
            IntoVariable::Local(name) => {
                let found = crate::routine::find_local(cx, name);
                let (index, ty) = found.ok_or_else(|| error::SP_UNDECLARED_VAR.with(&[name]))?;
                crate::routine::assign(cx, index, &ty, value, expr.ty.collation.charset())?;
            }
        }
    }
    cx.status.affected = 1;
    Ok(())
}

/// `text` is what the query's spans point into; result columns are named after it.
fn plan(cx: &mut Context, query: &ast::Query, text: &[u8]) -> Result<Plan> {
    if query.with.is_some() {
        return Err(SqlError::unsupported("WITH"));
    }
    let select = match &query.body {
        QueryBody::Select(select) => select,
        QueryBody::Nested(inner) if query.order_by.is_empty() && query.limit.is_none() => {
            return plan(cx, inner, text);
        }
        QueryBody::Nested(_) | QueryBody::SetOperation { .. } => {
            return Err(SqlError::unsupported("UNION, INTERSECT and EXCEPT"));
        }
        QueryBody::Values(_) => return Err(SqlError::unsupported("VALUES as a query")),
        QueryBody::Table(_) => return Err(SqlError::unsupported("TABLE as a query")),
    };
    if !select.windows.is_empty() {
        return Err(SqlError::unsupported("window functions"));
    }
    if select.with_rollup {
        return Err(SqlError::unsupported("WITH ROLLUP"));
    }
    let (table, hints, mut scope) = from(cx, &select.from)?;
    let sources = scope.sources.clone();
    scope.locals = crate::routine::locals(cx);
    let locking = locking(query)?;
    let mut resolver = Resolver::new(cx, scope);

    resolver.scope.clause = "where clause";
    let filter = select.filter.as_ref().map(|f| resolver.expr(f)).transpose()?;

    resolver.scope.clause = "field list";
    resolver.scope.aggregates = Some(Vec::new());
    let items = items(&mut resolver, &select.items, text)?;
    resolver.scope.aliases = items.iter().map(|(n, e)| (n.as_str().into(), e.clone())).collect();

    resolver.scope.clause = "group statement";
    let aggregates = resolver.scope.aggregates.take();
    let mut keys = Vec::with_capacity(select.group_by.len());
    for ast in &select.group_by {
        keys.push(match position(ast, &items, "group statement")? {
            Some(item) => item,
            None => resolver.expr(ast)?,
        });
    }
    resolver.scope.aggregates = aggregates;
    resolver.scope.clause = "having clause";
    let having = select.having.as_ref().map(|h| resolver.expr(h)).transpose()?;

    resolver.scope.clause = "order clause";
    resolver.scope.aliases_first = true;
    let mut order = order_terms(&mut resolver, &query.order_by, &items)?;
    let aggregates = resolver.scope.aggregates.take().unwrap_or_default();
    let cx = resolver.cx;

    let (limit, offset) = resolve_limit(cx, query.limit.as_ref())?;
    let groups = !aggregates.is_empty() || !keys.is_empty();
    if groups && cx.modes().only_full_group_by {
        check_full_group_by(table.as_deref(), &items, &keys, select.group_by.is_empty())?;
    }
    let mut path = match &table {
        Some(table) => access::choose(cx, table, filter.as_ref(), &hints)?,
        None => access::full_scan(),
    };
    if let (Some(table), false) = (&table, groups) {
        let columns: Option<Vec<(usize, bool)>> =
            order.iter().map(|(e, desc)| e.as_column().map(|c| (c, *desc))).collect();
        let wanted = columns.filter(|c| !c.is_empty());
        if let Some(columns) = wanted
            && path.gives_order(table, &columns)
        {
            order.clear();
        }
    }
    Ok(Plan {
        group: groups.then_some((keys, aggregates)),
        distinct: select.options.distinct,
        table,
        sources,
        path,
        locking,
        items,
        filter,
        having,
        order,
        limit,
        offset,
    })
}

type From = (Option<Arc<TableDef>>, Vec<ast::IndexHint>, Scope);

fn from(cx: &mut Context, from: &[TableReference]) -> Result<From> {
    let factor = match from {
        [] => return Ok((None, Vec::new(), Scope::empty())),
        [TableReference::Table(factor)] => factor,
        [TableReference::Derived(_)] => return Err(SqlError::unsupported("derived tables")),
        [TableReference::JsonTable(_)] => return Err(SqlError::unsupported("JSON_TABLE")),
        _ => return Err(SqlError::unsupported("joins")),
    };
    if !factor.partitions.is_empty() {
        return Err(SqlError::unsupported("partitions"));
    }
    if factor.name.database.is_none() && factor.name.name.is("dual") {
        return Ok((None, Vec::new(), Scope::empty()));
    }
    let table = cx.open_table(factor.name.database.as_deref(), &factor.name.name)?;
    let alias = factor.alias.as_deref().unwrap_or(&factor.name.name);
    let scope = Scope::of_table(table.clone(), alias);
    Ok((Some(table), factor.hints.clone(), scope))
}

fn locking(query: &ast::Query) -> Result<Option<Locking>> {
    let Some(first) = query.locking.first() else { return Ok(None) };
    let mode = match first.strength {
        LockStrength::Share => LockMode::Shared,
        LockStrength::Update => LockMode::Exclusive,
    };
    let on_locked = match first.wait {
        LockWait::Wait => OnLocked::Wait,
        LockWait::NoWait => OnLocked::Fail,
        LockWait::SkipLocked => OnLocked::Skip,
    };
    Ok(Some(Locking { mode, on_locked }))
}

fn items(resolver: &mut Resolver<'_>, list: &[SelectItem], text: &[u8]) -> Result<Vec<(String, Expr)>> {
    let mut items = Vec::with_capacity(list.len());
    for item in list {
        match item {
            SelectItem::All => {
                if resolver.scope.sources.is_empty() {
                    return Err(error::NO_TABLES_USED.plain());
                }
                all_columns(&resolver.scope.sources, |_| true, &mut items);
            }
            SelectItem::AllOf(name) => {
                let before = items.len();
                let wanted = |s: &Source| name.name.is(&s.alias);
                all_columns(&resolver.scope.sources, wanted, &mut items);
                if items.len() == before {
                    return Err(error::BAD_TABLE_ERROR.with(&[&name.name]));
                }
            }
            SelectItem::Expr { expr, alias } => {
                let resolved = resolver.expr(expr)?;
                let name = match (alias, &expr.kind) {
                    (Some(alias), _) => alias.to_string(),
                    (None, ast::ExprKind::Column(column)) => column.column.to_string(),
                    (None, ast::ExprKind::Literal(ast::Literal::String { bytes, .. })) => {
                        String::from_utf8_lossy(bytes).into_owned()
                    }
                    _ => String::from_utf8_lossy(expr.span.of(text).trim_ascii()).into_owned(),
                };
                items.push((name, resolved));
            }
        }
    }
    Ok(items)
}

fn all_columns(sources: &[Source], wanted: impl Fn(&Source) -> bool, items: &mut Vec<(String, Expr)>) {
    for (source, s) in sources.iter().enumerate().filter(|(_, s)| wanted(s)) {
        for (column, definition) in s.table.columns.iter().enumerate().filter(|(_, c)| c.visible) {
            let ty = Type::of_column(&definition.ty, definition.nullable);
            items.push((definition.name.clone(), Expr { node: Node::Column { source, column }, ty }));
        }
    }
}

/// `ORDER BY 2`, `GROUP BY 2`: the select item of that number.
fn position(ast: &ast::Expr, items: &[(String, Expr)], clause: &str) -> Result<Option<Expr>> {
    let ast::ExprKind::Literal(ast::Literal::Integer(n)) = ast.kind else { return Ok(None) };
    let item = usize::try_from(n).ok().and_then(|n| items.get(n.checked_sub(1)?));
    match item {
        Some((_, expr)) => Ok(Some(expr.clone())),
        None => Err(error::BAD_FIELD_ERROR.with(&[&n, &clause])),
    }
}

/// ORDER BY's terms, each with its direction.
pub(super) fn order_terms(
    resolver: &mut Resolver<'_>,
    list: &[ast::OrderItem],
    items: &[(String, Expr)],
) -> Result<Vec<(Expr, bool)>> {
    let mut terms = Vec::with_capacity(list.len());
    for item in list {
        let expr = match position(&item.expr, items, "order clause")? {
            Some(expr) if !items.is_empty() => expr,
            _ => resolver.expr(&item.expr)?,
        };
        terms.push((expr, item.descending));
    }
    Ok(terms)
}

/// LIMIT's count and offset.
pub(super) fn resolve_limit(cx: &mut Context, limit: Option<&ast::Limit>) -> Result<(u64, u64)> {
    let Some(limit) = limit else { return Ok((u64::MAX, 0)) };
    let mut number = |ast: &ast::Expr| -> Result<u64> {
        let scope = crate::routine::scope(cx);
        let expr = Resolver::new(cx, scope).expr(ast)?;
        let value = expr.eval(cx, Row::None)?;
        u64::try_from(value.to_integer().value).map_err(|_| error::WRONG_ARGUMENTS.with(&[&"LIMIT"]))
    };
    let count = number(&limit.count)?;
    let offset = limit.offset.as_ref().map(&mut number).transpose()?.unwrap_or(0);
    Ok((count, offset))
}

/// ONLY_FULL_GROUP_BY: a column outside of aggregates must be one of GROUP BY's, or follow from the primary key in it.
fn check_full_group_by(
    table: Option<&TableDef>,
    items: &[(String, Expr)],
    keys: &[Expr],
    implicit: bool,
) -> Result<()> {
    let grouped: HashSet<usize> = keys.iter().filter_map(Expr::as_column).collect();
    if let Some(table) = table
        && table.indexes[0].parts.iter().all(|p| grouped.contains(&p.column))
    {
        return Ok(());
    }
    for (number, (name, item)) in items.iter().enumerate() {
        if keys.iter().any(|key| same(key, item)) {
            continue;
        }
        let mut bad = None;
        item.walk(&mut |e| {
            if let Some(column) = e.as_column().filter(|c| !grouped.contains(c)) {
                bad = Some(column);
            }
        });
        let Some(column) = bad else { continue };
        let column = table.map_or_else(
            || name.clone(),
            |t| format!("{}.{}.{}", t.database, t.name, t.columns[column].name),
        );
        return Err(if implicit {
            error::MIX_OF_GROUP_FUNC_AND_FIELDS.with(&[&(number + 1), &column])
        } else {
            error::WRONG_FIELD_WITH_GROUP.with(&[&(number + 1), &column])
        });
    }
    Ok(())
}

/// The same expression: equal trees print equal.
fn same(a: &Expr, b: &Expr) -> bool {
    format!("{:?}", a.node) == format!("{:?}", b.node)
}

type Each<'e> = &'e mut dyn FnMut(&mut Context, &mut [Datum<'_>]) -> Result<()>;

/// Counts rows off to LIMIT and OFFSET, and drops duplicates.
struct Gate {
    skip: u64,
    left: u64,
    passed: u64,
    seen: Option<HashSet<Vec<u8>>>,
    memory: usize,
}

impl Gate {
    /// True if the row goes out.
    fn admit(&mut self, values: &[Datum<'_>], items: &[(String, Expr)]) -> Result<bool> {
        if let Some(seen) = &mut self.seen {
            let mut key = Vec::new();
            for (value, (_, expr)) in values.iter().zip(items) {
                aggregate::sort_key(value, &expr.ty, &mut key)?;
            }
            self.memory += key.len() + 64;
            if self.memory > MEMORY_MAX {
                return Err(error::OUT_OF_SORTMEMORY.plain());
            }
            if !seen.insert(key) {
                return Ok(false);
            }
        }
        if self.skip > 0 {
            self.skip -= 1;
            return Ok(false);
        }
        Ok(self.left > 0)
    }

    fn count(&mut self) {
        self.left = self.left.saturating_sub(1);
        self.passed += 1;
    }

    fn is_full(&self) -> bool {
        self.left == 0
    }
}

impl Plan {
    /// Runs it; returns how many rows went out.
    fn run(&self, cx: &mut Context, each: Each<'_>) -> Result<u64> {
        let mut gate = Gate {
            skip: self.offset,
            left: self.limit,
            passed: 0,
            seen: self.distinct.then(HashSet::new),
            memory: 0,
        };
        if gate.is_full() {
            return Ok(0);
        }
        let kept = if self.distinct { u64::MAX } else { self.limit.saturating_add(self.offset) };
        let mut sorter = Sorter::new(&self.order, kept);
        match &self.group {
            Some((keys, aggregates)) => {
                self.run_groups(cx, keys, aggregates, &mut sorter, &mut gate, each)?
            }
            None => self.run_rows(cx, &mut sorter, &mut gate, each)?,
        }
        for mut values in sorter.finish() {
            if gate.is_full() {
                break;
            }
            if gate.admit(&values, &self.items)? {
                each(cx, &mut values)?;
                gate.count();
            }
        }
        Ok(gate.passed)
    }

    fn access(&self, cx: &mut Context) -> Access {
        let autocommit = !cx.transaction().explicit;
        match self.locking {
            Some(locking) => Access::Locking(locking),
            None => cx.transaction().engine.plain_access(autocommit),
        }
    }

    fn run_rows(
        &self,
        cx: &mut Context,
        sorter: &mut Sorter<'_>,
        gate: &mut Gate,
        each: Each<'_>,
    ) -> Result<()> {
        let Some(table) = &self.table else {
            if self.accepts(cx, Row::None)? {
                self.emit(cx, Row::None, sorter, gate, each)?;
            }
            return Ok(());
        };
        let mut rows = Rows::new(table.clone(), self.path.clone(), self.access(cx));
        while !gate.is_full() && rows.advance(cx)? {
            let row = rows.row();
            if self.accepts(cx, row)? {
                self.emit(cx, row, sorter, gate, each)?;
            }
        }
        Ok(())
    }

    fn accepts(&self, cx: &mut Context, row: Row<'_>) -> Result<bool> {
        match &self.filter {
            Some(filter) => Ok(filter.truth(cx, row)? == Some(true)),
            None => Ok(true),
        }
    }

    /// A row's way out, or into the sorter.
    fn emit(
        &self,
        cx: &mut Context,
        row: Row<'_>,
        sorter: &mut Sorter<'_>,
        gate: &mut Gate,
        each: Each<'_>,
    ) -> Result<()> {
        if let Some(having) = &self.having
            && having.truth(cx, row)? != Some(true)
        {
            return Ok(());
        }
        let mut values = Vec::with_capacity(self.items.len());
        for (_, expr) in &self.items {
            values.push(expr.eval(cx, row)?);
        }
        if !self.order.is_empty() {
            let owned = values.into_iter().map(Datum::into_owned).collect();
            return sorter.push(cx, row, owned);
        }
        if gate.admit(&values, &self.items)? {
            each(cx, &mut values)?;
            gate.count();
        }
        Ok(())
    }

    fn run_groups(
        &self,
        cx: &mut Context,
        keys: &[Expr],
        aggregates: &[Aggregate],
        sorter: &mut Sorter<'_>,
        gate: &mut Gate,
        each: Each<'_>,
    ) -> Result<()> {
        let mut groups = Groups::default();
        match &self.table {
            Some(table) => {
                let mut rows = Rows::new(table.clone(), self.path.clone(), self.access(cx));
                while rows.advance(cx)? {
                    let row = rows.row();
                    if self.accepts(cx, row)? {
                        groups.add(cx, keys, aggregates, row, rows.image())?;
                    }
                }
            }
            None if self.accepts(cx, Row::None)? => groups.add(cx, keys, aggregates, Row::None, &[])?,
            None => {}
        }
        if keys.is_empty() && groups.list.is_empty() {
            // Without GROUP BY there is one group, even of no rows.
            groups.list.push(Group { states: aggregates.iter().map(State::new).collect(), image: None });
        }
        let mut offsets = Offsets::default();
        for group in groups.list {
            let made = group.states.into_iter().zip(aggregates).map(|(s, a)| s.finish(a));
            let values: Vec<Datum<'static>> = made.collect();
            let first = match (&self.table, &group.image) {
                (Some(table), Some(image)) => {
                    offsets.find(table, image)?;
                    Row::Image(ImageRow { table, image, offsets: &offsets })
                }
                _ => Row::Values(&[]),
            };
            let both = [first, Row::Values(&values)];
            const { assert!(GROUP == 1) };
            if gate.is_full() {
                return Ok(());
            }
            self.emit(cx, Row::Joined(&both), sorter, gate, each)?;
        }
        Ok(())
    }
}

/// Groups in the order they were met.
#[derive(Default)]
struct Groups {
    numbers: HashMap<Vec<u8>, usize>,
    list: Vec<Group>,
    memory: usize,
}

struct Group {
    states: Vec<State>,
    /// One of its rows.
    image: Option<Vec<u8>>,
}

impl Groups {
    fn add(
        &mut self,
        cx: &mut Context,
        keys: &[Expr],
        aggregates: &[Aggregate],
        row: Row<'_>,
        image: &[u8],
    ) -> Result<()> {
        let mut key = Vec::new();
        for expr in keys {
            let value = expr.eval(cx, row)?;
            aggregate::sort_key(&value, &expr.ty, &mut key)?;
        }
        let known =
            if keys.is_empty() { self.list.len().checked_sub(1) } else { self.numbers.get(&key).copied() };
        let number = match known {
            Some(number) => number,
            None => {
                self.memory += key.len() + image.len() + 256;
                let states = aggregates.iter().map(State::new).collect();
                let image = matches!(row, Row::Image(_)).then(|| image.to_vec());
                self.list.push(Group { states, image });
                self.numbers.insert(key, self.list.len() - 1);
                self.list.len() - 1
            }
        };
        for (state, aggregate) in self.list[number].states.iter_mut().zip(aggregates) {
            self.memory += state.add(aggregate, cx, row)?;
        }
        if self.memory > MEMORY_MAX {
            return Err(error::OUT_OF_SORTMEMORY.plain());
        }
        Ok(())
    }
}

/// Sorts rows by their keys; keeps no more than are wanted.
pub(super) struct Sorter<'p> {
    order: &'p [(Expr, bool)],
    limit: usize,
    rows: Vec<(Vec<u8>, usize, Vec<Datum<'static>>)>,
    pushed: usize,
    memory: usize,
}

impl<'p> Sorter<'p> {
    /// A sorter of at most `limit` rows.
    pub(super) fn new(order: &'p [(Expr, bool)], limit: u64) -> Self {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        Sorter { order, limit, rows: Vec::new(), pushed: 0, memory: 0 }
    }

    /// Takes a row in: `values` is what comes out, `row` what its keys are made from.
    pub(super) fn push(&mut self, cx: &mut Context, row: Row<'_>, values: Vec<Datum<'static>>) -> Result<()> {
        let mut key = Vec::new();
        for (expr, descending) in self.order {
            let start = key.len();
            let value = expr.eval(cx, row)?;
            aggregate::sort_key(&value, &expr.ty, &mut key)?;
            if *descending {
                key[start..].iter_mut().for_each(|b| *b = !*b);
            }
        }
        self.memory += key.len() + weight(&values);
        self.rows.push((key, self.pushed, values));
        self.pushed += 1;
        if self.rows.len() >= self.limit.saturating_mul(2).saturating_add(1024) {
            self.cut();
        }
        if self.memory > MEMORY_MAX {
            self.cut();
            if self.memory > MEMORY_MAX {
                return Err(error::OUT_OF_SORTMEMORY.plain());
            }
        }
        Ok(())
    }

    /// Rows with equal keys stay in the order they came.
    fn sort(&mut self) {
        self.rows.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.cmp(&b.1)));
    }

    fn cut(&mut self) {
        if self.rows.len() > self.limit {
            self.sort();
            self.rows.truncate(self.limit);
            self.memory = self.rows.iter().map(|(key, _, values)| key.len() + weight(values)).sum();
        }
    }

    /// The rows in order.
    pub(super) fn finish(mut self) -> impl Iterator<Item = Vec<Datum<'static>>> {
        self.sort();
        self.rows.truncate(self.limit);
        self.rows.into_iter().map(|(_, _, values)| values)
    }
}

fn weight(values: &[Datum<'_>]) -> usize {
    let text = |d: &Datum<'_>| match d {
        Datum::Bytes(b) | Datum::Bits(b) | Datum::Label(_, b) | Datum::Json(b) => b.len(),
        _ => 0,
    };
    values.iter().map(|d| std::mem::size_of::<Datum<'_>>() + text(d)).sum::<usize>() + 64
}
