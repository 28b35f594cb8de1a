//! A SELECT becomes a query block: its clauses bound in the order in which names become known.

use super::covering::ColumnsRead;
use super::from::{self, List, Slot};
use super::hinted::HintedOrder;
use super::order::Together;
use super::reuse::Clauses;
use super::windows::Windows;
use super::{
    Body, Derived, Duplicates, Grouping, Limit, Maker, Query, grouping, join, order, reuse, semi_join,
    simplify,
};
use crate::catalog::show::quote;
use crate::expression::aggregate::Aggregate;
use crate::expression::resolve::windows::WindowPlace;
use crate::expression::resolve::{Columns, Source};
use crate::expression::window::WindowCall;
use crate::expression::{Expr, Node, OrderTerm, Resolver};
use crate::output::OutputColumn;
use datum::error::{self, Result};
use datum::types::{Coercibility, DataType, Type};
use storage::LockMode;
use storage::transaction::{Locking, OnLocked};
use syntax::ast::{self, AggregateFunction, LockStrength, LockWait, SelectItem};

/// A block whose names are bound, before its join is planned.
pub(crate) struct Bound {
    /// What fills the slots.
    pub slots: Vec<Slot>,
    /// FROM and WHERE.
    pub list: List,
    /// The select list.
    pub items: Vec<Expr>,
    /// What the select list is called.
    pub columns: Vec<OutputColumn>,
    /// GROUP BY and aggregates.
    pub group: Option<Grouping>,
    pub(crate) having: Option<Expr>,
    /// Window functions.
    pub(crate) windows: Vec<WindowCall>,
    pub(crate) order: Vec<OrderTerm>,
    /// SELECT DISTINCT.
    pub distinct: bool,
    pub(crate) limit: Limit,
    /// How each slot's rows are locked.
    pub(crate) locking: Vec<Option<Locking>>,
    /// SELECT STRAIGHT_JOIN, or hints say in which order tables are joined.
    pub straight: bool,
    /// The optimizer hints, and what its sources are called if some order them.
    pub(crate) hints: (Vec<ast::PlanHint>, Vec<(Box<str>, u64)>),
    /// The terms of GROUP BY and ORDER BY that are select items to be computed once.
    pub(crate) repeated: reuse::Repeated,
    /// SQL_CALC_FOUND_ROWS.
    pub(crate) counts_all: bool,
}

/// `TABLE t`: `SELECT * FROM t`.
pub(crate) fn whole_table(name: &ast::ObjectName, _: ast::Span) -> ast::Select {
    let factor =
        ast::TableFactor { name: name.clone(), partitions: Vec::new(), alias: None, hints: Vec::new() };
    ast::Select {
        hints: Vec::new(),
        options: ast::SelectOptions::default(),
        items: vec![SelectItem::All],
        from: vec![ast::TableReference::Table(factor)],
        filter: None,
        group_by: Vec::new(),
        with_rollup: false,
        having: None,
        windows: Vec::new(),
    }
}

/// Binds a SELECT with the ORDER BY, LIMIT and locking clauses of its query.
pub(crate) fn bind(resolver: &mut Resolver<'_>, select: &ast::Select, query: &ast::Query) -> Result<Bound> {
    datum::stack::check()?;
    let is_first = !resolver.beyond_first && resolver.scope.parent.is_none();
    check_options(resolver, &select.options, is_first)?;
    let options = from::JoinOptions { straight: select.options.straight_join, hints: &select.hints };
    let from::From { slots, mut list, names } = from::bind(resolver, &select.from, options)?;

    resolver.scope.clause = "where clause";
    if let Some(filter) = &select.filter {
        let filter = resolver.expr(filter)?;
        super::conjuncts(filter, &mut list.conditions);
        datum::bounds::check()?;
    }

    resolver.scope.clause = "field list";
    resolver.scope.aggregates = Some(Vec::new());
    if !select.windows.is_empty() {
        resolver.name_windows(&select.windows)?;
    }
    resolver.scope.windows.place = WindowPlace::Allowed;
    let mut items = items(resolver, &select.items)?;
    resolver.scope.windows.place = WindowPlace::Refused;
    datum::bounds::check()?;
    let alias = |(number, (name, e)): (usize, &(String, Expr))| {
        (name.as_str().into(), reuse::reference(number, e, select.with_rollup))
    };
    // They are copies of the items.
    if !select.group_by.is_empty() || select.having.is_some() || !query.order_by.is_empty() {
        resolver.scope.aliases = items.iter().enumerate().map(alias).collect();
    }

    resolver.scope.clause = "group statement";
    let aggregates = resolver.scope.aggregates.take();
    let mut keys = Vec::with_capacity(select.group_by.len());
    for ast in &select.group_by {
        let key = match position(ast, &items, "group statement", select.with_rollup)? {
            Some(item) => item,
            None => resolver.expr(ast)?,
        };
        let is_later = |e: &Expr| matches!(e.node, Node::Aggregate(_) | Node::Window(_));
        if reuse::resolved(&key, &items).contains(&mut |e| is_later(e)) {
            return Err(error::WRONG_GROUP_FIELD
                .with(&[&String::from_utf8_lossy(ast.span.of(resolver.text).trim_ascii())]));
        }
        keys.push(key);
    }
    resolver.scope.aggregates = aggregates;
    resolver.scope.clause = "having clause";
    resolver.scope.aliases_first = true;
    let mut having = None;
    if let Some(condition) = &select.having {
        let aliases = resolver.scope.aliases.clone();
        resolver.scope.aliases.retain(|(alias, expr)| {
            let is_one = |key: &Expr| reuse::resolved(key, &items).is_same(reuse::resolved(expr, &items));
            !is_hidden(alias, &select.group_by, &keys, is_one)
        });
        let selected =
            items.iter().map(|(_, e)| e).chain(keys.iter().map(|key| reuse::resolved(key, &items)));
        resolver.scope.having_columns = Some(selected.cloned().collect());
        let mut condition = resolver.expr(condition)?;
        // What is the same for all groups is read, and warned of, once.
        condition.transform(&mut |e| {
            if matches!(e.node, Node::Arithmetic(..)) && e.is_row_independent() {
                e.children_mut().into_iter().for_each(Expr::read_once);
            }
        });
        having = Some(condition);
        resolver.scope.having_columns = None;
        resolver.scope.aliases = aliases;
    }

    resolver.scope.clause = "order clause";
    let is_aggregated = !keys.is_empty() || resolver.scope.aggregates.as_ref().is_some_and(|a| !a.is_empty());
    resolver.scope.windows.place = WindowPlace::Allowed;
    let mut order = order_terms(resolver, &query.order_by, &items, select.with_rollup)?;
    let mut windows = resolver.scope.windows.take_calls()?;
    if !is_aggregated {
        check_plain_order(&order)?;
    }
    order.retain(|term| !is_plain_constant(&term.expr));
    let mut aggregates = resolver.scope.aggregates.take().unwrap_or_default();
    aggregates.iter_mut().flat_map(Aggregate::expressions_mut).for_each(|e| reuse::restore(e, &items));
    windows.iter_mut().flat_map(WindowCall::expressions_mut).for_each(|e| reuse::restore(e, &items));
    let repeated =
        reuse::Repeated::find(&mut items, &mut keys, select.with_rollup, having.as_mut(), &mut order);
    let mut having = having.map(super::subquery::by_extremes);
    let limit = Limit::resolve(resolver, query.limit.as_ref())?;

    if keys.is_empty() && aggregates.iter().all(|a| a.function == AggregateFunction::AnyValue) {
        let all = items
            .iter_mut()
            .map(|(_, e)| e)
            .chain(&mut having)
            .chain(windows.iter_mut().flat_map(WindowCall::expressions_mut))
            .chain(order.iter_mut().map(|term| &mut term.expr));
        all.for_each(|e| each_value(e, &aggregates));
        aggregates.clear();
    }
    let groups = !aggregates.is_empty() || !keys.is_empty();
    let grouped = items
        .iter_mut()
        .map(|(_, e)| e)
        .chain(&mut having)
        .chain(windows.iter_mut().flat_map(WindowCall::expressions_mut))
        .chain(order.iter_mut().map(|term| &mut term.expr));
    for e in grouped {
        grouping::finish(e, &keys, select.with_rollup, &repeated)?;
    }
    if groups && resolver.cx.settings.modes().only_full_group_by {
        let clauses = grouping::Clauses { items: &items, windows: &windows, order: &order };
        grouping::check(&slots, &list, clauses, &keys, select.with_rollup)?;
    }
    if select.options.distinct
        && resolver.cx.settings.modes().only_full_group_by
        && (!groups || !keys.is_empty())
    {
        grouping::check_distinct(&slots, &items, &order)?;
    }
    let sources = &resolver.scope.sources;
    let locking = locking(&slots, sources, query)?;
    let columns = items
        .iter()
        .map(|(name, expr)| of_derived(output_column(expr, name, &slots), expr, sources))
        .collect::<Vec<OutputColumn>>();
    let items = items.into_iter().map(|(_, e)| e).collect();
    if is_first {
        resolver.first_sources = std::mem::take(&mut resolver.scope.sources);
    }
    // The scope is the next block's of the same query.
    resolver.scope.reset();
    Ok(Bound {
        slots,
        list,
        items,
        columns,
        group: groups.then_some(Grouping { keys, aggregates, rollup: select.with_rollup, adjacent: false }),
        having,
        windows,
        order,
        distinct: select.options.distinct,
        limit,
        locking,
        straight: select.options.straight_join || !names.is_empty(),
        hints: if names.is_empty() { Default::default() } else { (select.hints.clone(), names) },
        repeated,
        counts_all: select.options.calc_found_rows,
    })
}

/// Options that are for the whole of a query are taken by its first SELECT only; error 1234.
fn check_options(resolver: &mut Resolver<'_>, options: &ast::SelectOptions, is_first: bool) -> Result<()> {
    resolver.beyond_first = true;
    let of_whole = [
        (options.high_priority, "HIGH_PRIORITY"),
        (options.buffer_result, "SQL_BUFFER_RESULT"),
        (options.calc_found_rows, "SQL_CALC_FOUND_ROWS"),
    ];
    match of_whole.into_iter().find(|(is_set, _)| *is_set && !is_first) {
        Some((_, name)) => Err(error::CANT_USE_OPTION_HERE.with(&[&name])),
        None => Ok(()),
    }
}

/// Error 3029 for an aggregate in the ORDER BY of a block that has none elsewhere.
fn check_plain_order(order: &[OrderTerm]) -> Result<()> {
    let is_aggregate = |term: &OrderTerm| term.expr.contains(&mut |e| matches!(e.node, Node::Aggregate(_)));
    match order.iter().position(is_aggregate) {
        Some(number) => Err(error::AGGREGATE_ORDER_NON_AGG_QUERY.with(&[&(number + 1)])),
        None => Ok(()),
    }
}

/// A derived table that is one row without tables, and may be another one each time: MySQL makes it
/// before it reads anything, so that `(SELECT @n := 0) AS i` goes before what counts.
fn made_first(slot: &Slot) -> Option<std::sync::Arc<Derived>> {
    let Slot::Rows(Maker::Derived(derived), _) = slot else { return None };
    let is_one = match &derived.plan.body {
        Body::Block(block) => matches!(block.from, super::Operator::One(_)),
        _ => false,
    };
    (derived.is_volatile && derived.parameters.is_empty() && is_one).then(|| derived.clone())
}

/// ANY_VALUE() alone groups nothing: it is its argument.
fn each_value(e: &mut Expr, aggregates: &[Aggregate]) {
    e.transform(&mut |e| {
        if let Node::Aggregate(number) = e.node
            && let Aggregate { argument: Some(argument), ty, .. } = &aggregates[number]
        {
            // Its value, but no column.
            *e = Expr { node: Node::Coalesce(vec![argument.clone()]), ty: *ty };
        }
    });
}

/// Chooses how a bound block runs.
pub(crate) fn plan(resolver: &mut Resolver<'_>, bound: Bound) -> Result<Query> {
    datum::stack::check()?;
    let Bound {
        mut slots,
        mut list,
        mut items,
        columns,
        mut group,
        mut having,
        windows,
        mut order,
        distinct,
        limit,
        mut locking,
        repeated,
        counts_all,
        hints: (hints, names),
        ..
    } = bound;
    simplify::simplify(&mut list);
    let semi_joins = semi_join::flatten(resolver, &mut slots, &mut locking, &mut list)?;
    let constant_filter = take_constant_filter(&mut list);
    let locks = locking.iter().any(Option::is_some);
    let read = {
        let grouped =
            group.iter().flat_map(|g| g.keys.iter().chain(g.aggregates.iter().flat_map(|a| a.expressions())));
        let windows = windows.iter().flat_map(WindowCall::expressions);
        let order = order.iter().map(|term| &term.expr);
        let others = items.iter().chain(grouped).chain(&having).chain(windows).chain(order);
        let others = others.chain(&constant_filter);
        ColumnsRead::new(&slots, &list, others)
    };
    let has_windows = !windows.is_empty();
    let extreme = extreme(&slots, &list, group.as_ref(), &items, having.as_ref());
    let extreme = extreme.filter(|_| !locks && !has_windows);
    let (ordered, wanted) = match &extreme {
        Some(order) => (std::slice::from_ref(order), Some(1.0)),
        None if group.is_some() || has_windows => (&[][..], None),
        None => (order.as_slice(), order::wanted(resolver.cx, &limit).filter(|_| !distinct && !counts_all)),
    };
    let hinted = HintedOrder::new(resolver.cx, &hints, &slots, &names, &semi_joins);
    let cx = std::cell::RefCell::new(&mut *resolver.cx);
    let joiner = join::Joiner::new(&cx, &slots, &locking, read).with_order(hinted);
    let list = joiner.with_semi_joins(list, &semi_joins.materialized, wanted.filter(|_| ordered.is_empty()));
    let mut from = joiner.plan(list, ordered, wanted)?;
    let first_only = extreme.is_some_and(|order| finds_first(&mut from, order));
    let alike = match &group {
        Some(group) if !group.rollup => group.keys.as_slice(),
        None if distinct && !has_windows => items.as_slice(),
        _ => &[],
    };
    // Windows bring the rows into orders of their own.
    let comes_in = if has_windows { &[] } else { order.as_slice() };
    let together = joiner.bring_together(&mut from, alike, comes_in);
    let comes_ordered = !comes_in.is_empty()
        && match (&group, together) {
            (_, Together::Ordered) => true,
            (None, _) => order::gives_order(&mut from, &order),
            (Some(_), _) => false,
        };
    if comes_ordered {
        order.clear();
    }
    let duplicates = match &group {
        None if together.is_so() && order.is_empty() && !has_windows => Duplicates::Adjacent,
        _ if sorts_distinct(&items, &order) => Duplicates::Sorted,
        _ => Duplicates::Anywhere,
    };
    if let Some(group) = &mut group {
        group.adjacent = together.is_so();
    }
    let mut names: Vec<Box<str>> = slots.iter().map(Slot::name).collect();
    let mut tables: Vec<_> = slots.iter().map(Slot::table).collect();
    let clauses = Clauses { group: group.as_mut(), having: having.as_mut(), order: &mut order };
    let reused = repeated.apply(&mut items, &columns, clauses, slots.len());
    if reused.is_some() {
        names.resize(slots.len() + 2, "".into());
        tables.resize(slots.len() + 2, None);
    }
    let is_plain = group.is_none() && !distinct && !has_windows;
    let late_items = is_plain && reused.is_none() && reuse::is_late(&items, &order);
    let block = super::Block {
        slots: tables,
        names,
        constant_filter,
        from,
        items,
        group,
        first_only,
        having,
        windows: Windows::of(windows),
        order,
        comes_ordered,
        distinct,
        duplicates,
        limit,
        locks,
        made_first: slots.iter().filter_map(made_first).collect(),
        reused: reused.map(Box::new),
        late_items,
        counts_all,
    };
    Ok(Query { counts_all, ..Query::new(Body::Block(Box::new(block)), columns) })
}

/// True if rows are sorted by all that they consist of, and by nothing else.
fn sorts_distinct(items: &[Expr], order: &[OrderTerm]) -> bool {
    let is_one = |item: &Expr, e: &Expr| item.is_same(e) && item.ty.collation == e.ty.collation;
    let is_sorted = |item: &Expr| order.iter().any(|term| is_one(item, &term.expr));
    let is_item = |e: &Expr| !e.is_volatile() && items.iter().any(|item| is_one(item, e));
    items.iter().all(is_sorted) && order.iter().all(|term| is_item(&term.expr))
}

/// What a block is ordered by whose only group needs one row: it asks for nothing but the smallest
/// or largest value of a number's or time's column of its only table.
fn extreme(
    slots: &[Slot],
    list: &List,
    group: Option<&Grouping>,
    items: &[Expr],
    having: Option<&Expr>,
) -> Option<OrderTerm> {
    let group = group.filter(|group| group.keys.is_empty() && !group.rollup)?;
    let [aggregate] = group.aggregates.as_slice() else { return None };
    let descending = match aggregate.function {
        AggregateFunction::Min => false,
        AggregateFunction::Max => true,
        _ => return None,
    };
    let argument = aggregate.argument.as_ref()?;
    let Node::Column { source: 0, column } = argument.node else { return None };
    let [Slot::Table(table, ..)] = slots else { return None };
    let is_column = |e: &Expr| matches!(e.node, Node::Column { .. });
    let reads_more = items.iter().chain(having).any(|e| e.contains(&mut |e| is_column(e)));
    let fits = list.items.len() == 1 && !reads_more && is_ordered(&table.columns[column].ty);
    fits.then(|| OrderTerm { expr: argument.clone(), descending })
}

/// True if keys of the type are in the order that MIN and MAX go by, and equal values look the
/// same.
fn is_ordered(ty: &DataType) -> bool {
    use DataType as D;
    !matches!(
        ty,
        D::Char { .. } | D::VarChar { .. } | D::Lob { .. } | D::Enum { .. } | D::Set { .. } | D::Json
    )
}

/// True if the rows come in this order, so that the first one says; it is not one of NULL then
/// unless all are.
fn finds_first(from: &mut super::Operator, order: OrderTerm) -> bool {
    let comes = order::gives_order(from, std::slice::from_ref(&order));
    let OrderTerm { expr: argument, descending } = order;
    if comes && !descending && argument.ty.nullable {
        let node = Node::Is(Box::new(argument), ast::Truth::Null, true);
        from.filter_mut().push(Expr { node, ty: Type::BOOL });
    }
    comes
}

/// True if HAVING takes an alias's name for that of a column which GROUP BY names.
fn is_hidden(alias: &str, group_by: &[ast::Expr], keys: &[Expr], is_one: impl Fn(&Expr) -> bool) -> bool {
    group_by.iter().zip(keys).any(|(ast, key)| match &ast.kind {
        ast::ExprKind::Column(name) => name.column.is(alias) && !is_one(key),
        _ => false,
    })
}

/// A block that finds rows to be changed.
pub(crate) fn of_rows(
    slots: &[Slot],
    constant_filter: Vec<Expr>,
    from: super::Operator,
    order: Vec<OrderTerm>,
    limit: Limit,
) -> Query {
    let block = super::Block {
        slots: slots.iter().map(Slot::table).collect(),
        names: slots.iter().map(Slot::name).collect(),
        constant_filter,
        from,
        items: Vec::new(),
        group: None,
        first_only: false,
        having: None,
        windows: None,
        order,
        comes_ordered: false,
        distinct: false,
        duplicates: Duplicates::Anywhere,
        limit,
        locks: true,
        made_first: slots.iter().filter_map(made_first).collect(),
        reused: None,
        late_items: false,
        counts_all: false,
    };
    Query::new(Body::Block(Box::new(block)), Vec::new())
}

/// Takes the conditions that read no source: they are evaluated once, before any row is read.
pub(crate) fn take_constant_filter(list: &mut List) -> Vec<Expr> {
    let (constant_filter, rest) =
        std::mem::take(&mut list.conditions).into_iter().partition(|e| e.sources() == 0 && !e.is_volatile());
    list.conditions = rest;
    constant_filter
}

/// What a select item says of itself.
fn output_column(expr: &Expr, name: &str, slots: &[Slot]) -> OutputColumn {
    let mut column = match expr.node {
        Node::Column { source, column } => match &slots[source] {
            Slot::Table(table, _, alias) => OutputColumn::stored(table, alias, column, name),
            Slot::Rows(maker, alias) => {
                let mut column = OutputColumn::renamed(&maker.columns()[column], name);
                if let super::Maker::Derived(_) = maker {
                    column.become_derived(alias);
                }
                column
            }
        },
        Node::Subquery(ref subquery) => match subquery.outer_item() {
            Some(item) => return output_column(item, name, slots),
            None => return OutputColumn::computed(name, expr.ty),
        },
        _ => return OutputColumn::computed(name, expr.ty),
    };
    // COLLATE leaves a column where it is, and makes it another text.
    if expr.ty.coercibility == Coercibility::Explicit && column.ty.coercibility != Coercibility::Explicit {
        return OutputColumn::computed(name, expr.ty);
    }
    if expr.ty.nullable {
        column.ty.nullable = true;
        column.meta.flags &= !datum::sink::column_flag::NOT_NULL;
    }
    column
}

/// A column of a derived table that was merged into the block: the table is called by its alias.
fn of_derived(mut column: OutputColumn, expr: &Expr, sources: &[Source]) -> OutputColumn {
    let is_column = matches!(expr.node, Node::Column { .. });
    for source in sources {
        let Columns::Merged(columns, exprs) = &source.columns else { continue };
        let is_it = |(c, e): (&OutputColumn, &Expr)| {
            (is_column || c.meta.name == column.meta.name) && e.is_same(expr)
        };
        if columns.iter().zip(exprs.iter()).any(is_it) {
            column.meta.table = source.alias.to_string();
            if column.meta.org_name.is_empty() {
                column.meta.org_name = column.meta.name.clone();
            }
            break;
        }
    }
    column
}

/// How the rows of each slot are locked. The tables of a derived table that was merged are locked
/// with all, and can't be named.
///
/// # Errors
///
/// 3568 for a name that is none, 3569 for a table that two clauses, or one twice, lock.
fn locking(slots: &[Slot], sources: &[Source], query: &ast::Query) -> Result<Vec<Option<Locking>>> {
    let mut all = vec![None; slots.len()];
    let own =
        |number: usize| sources.iter().any(|s| s.slot == number && matches!(s.columns, Columns::Table(_)));
    for clause in &query.locking {
        let mode = match clause.strength {
            LockStrength::Share => LockMode::Shared,
            LockStrength::Update => LockMode::Exclusive,
        };
        let on_locked = match clause.wait {
            LockWait::Wait => OnLocked::Wait,
            LockWait::NoWait => OnLocked::Fail,
            LockWait::SkipLocked => OnLocked::Skip,
        };
        let locking = Some(Locking { mode, on_locked });
        for name in &clause.tables {
            let is_named = |(number, slot): &(usize, &Slot)| match slot {
                Slot::Table(table, _, alias) => {
                    own(*number)
                        && name.name.is(alias)
                        && name.database.as_ref().is_none_or(|d| **d == *table.database)
                }
                Slot::Rows(..) => false,
            };
            let shown = || match &name.database {
                Some(database) => format!("{}.{}", quote(database), quote(&name.name)),
                None => quote(&name.name),
            };
            // Of several tables of that name in several databases the first one is meant.
            let named = slots.iter().enumerate().find(is_named);
            let (number, _) = named.ok_or_else(|| error::UNRESOLVED_TABLE_LOCK.with(&[&shown()]))?;
            if all[number].is_some() {
                return Err(error::DUPLICATE_TABLE_LOCK.with(&[&shown()]));
            }
            all[number] = locking;
        }
        for (number, slot) in slots.iter().enumerate().filter(|_| clause.tables.is_empty()) {
            if all[number].is_some() && own(number) {
                return Err(error::DUPLICATE_TABLE_LOCK.with(&[&slot.name()]));
            }
            all[number] = locking;
        }
    }
    Ok(all)
}

/// Columns that a result has at most: the reply to a PREPARE counts them in two bytes. MySQL has no
/// limit, and sends a wrong number there.
const RESULT_COLUMNS_MAX: usize = u16::MAX as usize;

fn items(resolver: &mut Resolver<'_>, list: &[SelectItem]) -> Result<Vec<(String, Expr)>> {
    if list.len() > RESULT_COLUMNS_MAX {
        return Err(error::TOO_MANY_FIELDS.plain());
    }
    let mut items = Vec::with_capacity(list.len());
    for item in list {
        datum::bounds::check()?;
        match item {
            SelectItem::All => {
                if resolver.scope.sources.is_empty() {
                    return Err(error::NO_TABLES_USED.plain());
                }
                let scope = &resolver.scope;
                match &scope.visible {
                    Some(visible) => {
                        items.extend(visible.iter().map(|v| (v.name.to_string(), v.expr.clone())));
                    }
                    None => scope.sources.iter().for_each(|s| all_columns(s, &mut items)),
                }
                resolver.record_star(item, None);
            }
            SelectItem::AllOf(name) => {
                let wanted = |s: &&Source| {
                    name.name.is(&s.alias) && name.database.as_ref().is_none_or(|d| **d == *s.database)
                };
                let source = resolver.scope.sources.iter().find(wanted);
                let source = source.ok_or_else(|| error::BAD_TABLE_ERROR.with(&[&name.name]))?;
                all_columns(source, &mut items);
                if resolver.recorded.is_some() {
                    let source = source.clone();
                    resolver.record_star(item, Some(&source));
                }
            }
            SelectItem::Expr { expr, alias } => {
                let resolved = resolver.expr(expr)?;
                let own_name = match alias {
                    None => system_name(resolver, expr, &resolved)
                        .or_else(|| merged_name(resolver, expr, &resolved)),
                    Some(_) => None,
                };
                let name = own_name.unwrap_or_else(|| item_name(expr, alias.as_ref(), resolver.text));
                if alias.is_none() {
                    resolver.record_item_name(item, &name);
                }
                items.push((name, resolved));
            }
        }
        if items.len() > RESULT_COLUMNS_MAX {
            return Err(error::TOO_MANY_FIELDS.plain());
        }
    }
    Ok(items)
}

fn all_columns(source: &Source, items: &mut Vec<(String, Expr)>) {
    items.extend(source.visible().map(|v| (v.name.into(), v.expr)));
}

/// A column of `information_schema` is called as it is there, however the query writes it.
fn system_name(resolver: &Resolver<'_>, ast: &ast::Expr, expr: &Expr) -> Option<String> {
    let (ast::ExprKind::Column(_), Node::Column { source, column }) = (&ast.kind, &expr.node) else {
        return None;
    };
    let from =
        resolver.scope.sources.iter().find(|s| s.slot == *source && *s.database == *"information_schema")?;
    match &from.columns {
        Columns::Made(columns) => Some(columns.get(*column)?.meta.name.clone()),
        _ => None,
    }
}

/// True for what is computed of literals alone: there is nothing to order by.
fn is_plain_constant(e: &Expr) -> bool {
    let is_plain = |e: &Expr| {
        matches!(e.node, Node::Constant(_) | Node::Arithmetic(..) | Node::Negate(_) | Node::Cast(..))
    };
    !e.contains(&mut |e| !is_plain(e))
}

/// A column of a derived table that is merged into the block is called as it is there.
fn merged_name(resolver: &Resolver<'_>, ast: &ast::Expr, expr: &Expr) -> Option<String> {
    let ast::ExprKind::Column(name) = &ast.kind else { return None };
    resolver.scope.sources.iter().find_map(|source| {
        let Columns::Merged(columns, exprs) = &source.columns else { return None };
        if name.table.as_ref().is_some_and(|table| !table.is(&source.alias)) {
            return None;
        }
        let is_it = |(column, of): &(&OutputColumn, &Expr)| {
            name.column.is(&column.meta.name) && of.sources() != 0 && of.is_same(expr)
        };
        columns.iter().zip(exprs.iter()).find(is_it).map(|(column, _)| column.meta.name.clone())
    })
}

/// What a select item without alias is called: its text.
fn item_name(expr: &ast::Expr, alias: Option<&ast::Ident>, text: &[u8]) -> String {
    if let (None, ast::ExprKind::Function(call)) = (alias, &expr.kind)
        && let Some(name) = given_name(call)
    {
        return name;
    }
    match (alias, &expr.kind) {
        (Some(alias), _) => alias.to_string(),
        (None, ast::ExprKind::Column(column)) => column.column.to_string(),
        (None, ast::ExprKind::Literal(ast::Literal::String { bytes, .. })) => {
            let first = first_string(expr.span.of(text)).unwrap_or(bytes);
            String::from_utf8_lossy(first.trim_ascii_start()).into_owned()
        }
        // Parentheses and a plus are no part of a literal, and NULL is spelt in one way.
        (None, ast::ExprKind::Literal(ast::Literal::Null)) => "NULL".to_owned(),
        (None, ast::ExprKind::Literal(_)) => {
            let literal = expr.span.of(text).trim_ascii();
            let start = literal.iter().position(|b| !matches!(b, b'+' | b'(' | b' ')).unwrap_or(0);
            let literal = literal[start..].trim_ascii();
            let end = literal.iter().rposition(|b| !matches!(b, b')' | b' ')).map_or(0, |last| last + 1);
            String::from_utf8_lossy(&literal[..end]).into_owned()
        }
        _ => String::from_utf8_lossy(expr.span.of(text).trim_ascii()).into_owned(),
    }
}

/// The first argument of `NAME_CONST('name', value)`: what the item is called.
fn given_name(call: &ast::FunctionCall) -> Option<String> {
    let is_given = call.database.is_none() && call.name.is("NAME_CONST");
    let [ast::Expr { kind: ast::ExprKind::Literal(name), .. }, _] = call.arguments.as_slice() else {
        return None;
    };
    match name {
        ast::Literal::String { bytes, .. } if is_given => Some(String::from_utf8_lossy(bytes).into_owned()),
        ast::Literal::Integer(number) if is_given => Some(number.to_string()),
        _ => None,
    }
}

/// The content of the first of several strings side by side, by which they are called; `None` where
/// there is one, or the first has escapes.
fn first_string(literal: &[u8]) -> Option<&[u8]> {
    let start = literal.iter().position(|b| matches!(b, b'\'' | b'"'))?;
    let quote = literal[start];
    let content = &literal[start + 1..];
    let end = content.iter().position(|&b| b == quote)?;
    let after = &content[end + 1..];
    let is_plain = after.first() != Some(&quote) && !content[..end].contains(&b'\\');
    (is_plain && after.iter().any(|b| matches!(b, b'\'' | b'"'))).then_some(&content[..end])
}

/// `ORDER BY 2`, `GROUP BY 2`: the select item of that number.
fn position(
    ast: &ast::Expr,
    items: &[(String, Expr)],
    clause: &str,
    by_number: bool,
) -> Result<Option<Expr>> {
    let ast::ExprKind::Literal(ast::Literal::Integer(n)) = ast.kind else { return Ok(None) };
    let item = usize::try_from(n).ok().and_then(|n| items.get(n.checked_sub(1)?));
    match item {
        Some((_, expr)) => Ok(Some(reuse::reference(n as usize - 1, expr, by_number))),
        None => Err(error::BAD_FIELD_ERROR.with(&[&n, &clause])),
    }
}

/// What rows are sorted by; `ORDER BY 2` names a select item.
pub(crate) fn order_terms(
    resolver: &mut Resolver<'_>,
    list: &[ast::OrderItem],
    items: &[(String, Expr)],
    by_number: bool,
) -> Result<Vec<OrderTerm>> {
    let mut terms = Vec::with_capacity(list.len());
    for item in list {
        let expr = match items.is_empty() {
            true => resolver.expr(&item.expr)?,
            false => match position(&item.expr, items, "order clause", by_number)? {
                Some(expr) => expr,
                None => resolver.expr(&item.expr)?,
            },
        };
        terms.push(OrderTerm { expr, descending: item.descending });
    }
    Ok(terms)
}

impl Source {
    /// Its columns as `*` shows them.
    pub(crate) fn visible(&self) -> Box<dyn Iterator<Item = crate::expression::resolve::Visible> + '_> {
        let named = |column: usize, name: &str| crate::expression::resolve::Visible {
            name: name.into(),
            expr: self.column(column),
        };
        match &self.columns {
            Columns::Table(table) => Box::new(
                table
                    .columns
                    .iter()
                    .enumerate()
                    .filter(|(_, c)| c.visible)
                    .map(move |(i, c)| named(i, &c.name)),
            ),
            Columns::Made(columns) | Columns::Merged(columns, _) => {
                Box::new(columns.iter().enumerate().map(move |(i, c)| named(i, &c.meta.name)))
            }
        }
    }
}
