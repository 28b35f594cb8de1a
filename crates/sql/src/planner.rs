//! From a query's tree to a plan.
//!
//! 1. bind     Names become sources, columns and subqueries; a SELECT becomes a *query block*
//!    ([`block`], [`from`]), set operations join blocks ([`set_operation`]). Derived tables that
//!    are nothing but a join with a condition are merged into the block around them.
//! 2. simplify Outer joins whose complement the condition rejects become inner ones ([`simplify`]).
//!    Equalities that follow from others are added ([`propagate`]).
//! 3. order    The sources are brought into the cheapest order, each with its access path
//!    ([`join`], [`access`]).
//! 4. plan     A [`Query`] of [`Operator`]s comes out, which [`crate::executor::query`] runs.
//!
//! What optimizer hints ask of 3: [`hinted`].
//!
//! How a subquery of IN that stays an operand finds its rows: [`lookup`].
//!
//! What messages and EXPLAIN call a plan's places and expressions: [`names`], [`expression_text`].
//!
//! (P1) Nothing is evaluated here that a later execution could see differently: keys of access
//!      paths, limits, parameters, variables and what subqueries give stay expressions.
//! (P2) What a subquery or derived table takes from around it is a parameter of its plan: a plan
//!      never reads beyond its own sources.

pub(crate) mod access;
pub(crate) mod block;
pub(crate) mod covering;
pub(crate) mod expression_text;
pub(crate) mod from;
pub(crate) mod grouping;
pub(crate) mod hinted;
pub(crate) mod join;
pub(crate) mod json_table;
pub(crate) mod key_ranges;
pub(crate) mod lookup;
pub(crate) mod merge;
pub(crate) mod names;
mod operator;
pub(crate) mod order;
pub(crate) mod plan;
pub(crate) mod propagate;
pub(crate) mod recorded;
pub(crate) mod reuse;
pub(crate) mod semi_join;
pub(crate) mod set_operation;
pub(crate) mod simplify;
pub(crate) mod size;
pub(crate) mod statistics;
pub(crate) mod subquery;
pub(crate) mod view;
pub(crate) mod view_target;
pub(crate) mod windows;

use std::sync::{Arc, OnceLock};

use storage::transaction::Locking;

use crate::catalog::TableDef;
use crate::expression::aggregate::Aggregate;
use crate::expression::{Expr, Node, OrderTerm, Resolver};
use crate::output::{Described, OutputColumn};
use crate::session::Context;
use datum::error::{Result, SqlError};
use datum::types::Type;
use datum::value::Datum;
use datum::value::json::table::JsonTable;
use syntax::ast::{self, QueryBody, SetOp};

/// A query expression, ready to run.
#[derive(Debug)]
pub(crate) struct Query {
    /// Where its rows come from.
    pub body: Body,
    /// What they are.
    pub columns: Vec<OutputColumn>,
    /// The same as it is reported to clients, once it was.
    pub described: OnceLock<Arc<Described>>,
    /// ORDER BY of what is no block, over the rows' values.
    pub order: Vec<OrderTerm>,
    /// LIMIT of what is no block.
    pub limit: Limit,
    /// SQL_CALC_FOUND_ROWS of what is no block: rows are counted beyond LIMIT.
    pub counts_all: bool,
}

impl Query {
    /// False for a SELECT without FROM.
    pub(crate) fn reads_tables(&self) -> bool {
        !matches!(&self.body, Body::Block(block) if matches!(block.from, Operator::One(_)))
    }

    /// True for a SELECT without FROM that nothing keeps from giving its row.
    pub(crate) fn gives_one_row(&self) -> bool {
        let Body::Block(block) = &self.body else { return false };
        let one_group = block.group.as_ref().is_none_or(|group| group.keys.is_empty());
        let is_limited = block.limit.count.is_some() || self.limit.count.is_some();
        let has_filter = !block.constant_filter.is_empty() || block.having.is_some();
        one_group
            && !is_limited
            && !has_filter
            && matches!(&block.from, Operator::One(filter) if filter.is_empty())
    }
}

/// LIMIT's count and offset.
#[derive(Debug, Default)]
pub(crate) struct Limit {
    /// The most rows; all if absent.
    pub count: Option<Expr>,
    /// Rows left out first.
    pub offset: Option<Expr>,
}

/// What a query's rows come from.
#[derive(Debug)]
pub(crate) enum Body {
    /// SELECT.
    Block(Box<Block>),
    /// `VALUES ROW(..), ..`
    Values(Vec<Vec<Expr>>),
    /// UNION, INTERSECT, EXCEPT.
    Set(Box<SetOperation>),
    /// A query in parentheses with an order or limit of its own.
    Nested(Box<Query>),
}

/// Two bodies and what is made of their rows.
#[derive(Debug)]
pub(crate) struct SetOperation {
    /// Which one.
    pub op: SetOp,
    /// Duplicates stay.
    pub all: bool,
    /// The first operand.
    pub left: Side,
    /// The second operand.
    pub right: Side,
    /// The types of the result.
    pub types: Vec<Type>,
}

/// An operand of a set operation.
#[derive(Debug)]
pub(crate) struct Side {
    /// Where its rows come from.
    pub body: Body,
    /// How its values become those of the result, where the types differ.
    pub convert: Option<Vec<Expr>>,
}

/// A query block: one SELECT.
#[derive(Debug)]
pub(crate) struct Block {
    /// The table of each of the frame's slots, if it is one.
    pub slots: Vec<Option<Arc<TableDef>>>,
    /// What the query calls the source of each slot.
    pub names: Vec<Box<str>>,
    /// Conditions that read no source: evaluated once; if one is not true, there are no rows.
    pub constant_filter: Vec<Expr>,
    /// FROM and WHERE.
    pub from: Operator,
    /// The select list.
    pub items: Vec<Expr>,
    /// GROUP BY's expressions and the aggregates, if it groups.
    pub group: Option<Grouping>,
    /// The first row that comes is all that the groups need: it has the smallest value, or the
    /// largest.
    pub first_only: bool,
    pub(crate) having: Option<Expr>,
    /// Window functions.
    pub(crate) windows: Option<Box<windows::Windows>>,
    /// ORDER BY, unless the rows come so already; true for descending.
    pub order: Vec<OrderTerm>,
    /// ORDER BY asks for the order in which the rows come.
    pub comes_ordered: bool,
    /// SELECT DISTINCT.
    pub distinct: bool,
    /// Where DISTINCT finds rows that are equal.
    pub duplicates: Duplicates,
    pub(crate) limit: Limit,
    /// It locks the rows that it reads.
    pub locks: bool,
    /// Derived tables that are made before any row is read, though they may give other rows each
    /// time.
    pub made_first: Vec<Arc<Derived>>,
    /// Select items that ORDER BY or GROUP BY goes by and that are computed once for it.
    pub reused: Option<Box<reuse::Reused>>,
    /// The select list is computed after the sort: what it does, it does in that order.
    pub late_items: bool,
    /// SQL_CALC_FOUND_ROWS: rows are counted beyond LIMIT.
    pub counts_all: bool,
}

/// Where DISTINCT finds rows that are equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Duplicates {
    /// Anywhere among the others.
    Anywhere,
    /// ORDER BY goes by the same as DISTINCT: of rows that are sorted alike the first is the only
    /// one.
    Sorted,
    /// The rows come with equal ones side by side.
    Adjacent,
}

/// How a block groups.
#[derive(Debug)]
pub(crate) struct Grouping {
    /// GROUP BY's expressions; without any, all rows are one group.
    pub keys: Vec<Expr>,
    /// What is computed of each group.
    pub aggregates: Vec<Aggregate>,
    /// WITH ROLLUP: there are sums over the last of the keys, over the last two, and so on.
    pub rollup: bool,
    /// The rows of a group come one after the other.
    pub(crate) adjacent: bool,
}

/// A step of a block's join. Each fills slots of the frame; all of them read what those before it
/// have filled.
#[derive(Debug)]
pub(crate) enum Operator {
    /// One row without sources.
    One(Vec<Expr>),
    /// A table's rows.
    TableAccess(Box<TableAccess>),
    /// Rows made by a query or a provider.
    Rows(Box<Rows>),
    /// For each row of the first the rows of the second.
    Loop(Box<Loop>),
    /// The rows of both that have the same keys.
    Hash(Box<Hash>),
}

/// Reads a table.
#[derive(Debug)]
pub(crate) struct TableAccess {
    /// The slot that it fills.
    pub slot: usize,
    pub(crate) table: Arc<TableDef>,
    /// How it finds the rows.
    pub path: access::AccessPath,
    /// What the rows must fulfil.
    pub filter: Vec<Expr>,
    /// The columns to be read from the index's entries, if they hold all that the query reads: no
    /// row is looked up then.
    pub(crate) covering: Option<Box<[usize]>>,
    /// See [`Self::implied_by_keys`].
    pub(crate) implied_by_keys: OnceLock<Box<[bool]>>,
    /// How it locks them; not at all for a plain SELECT.
    pub(crate) locking: Option<Locking>,
    /// Rows that the path is expected to give.
    pub rows: f64,
    /// The share of them that the filter is expected to accept.
    pub(crate) accepted: f64,
    /// What opening and reading it is expected to cost, in rows read.
    pub cost: f64,
}

/// Reads rows that are made as a whole.
#[derive(Debug)]
pub(crate) struct Rows {
    /// The slot that it fills.
    pub slot: usize,
    /// What makes them.
    pub(crate) maker: Maker,
    /// For each of a provider's keys the value that is wanted, where only one is.
    pub keys: Vec<Option<Expr>>,
    /// What the rows must fulfil.
    pub filter: Vec<Expr>,
    /// Rows that are expected.
    pub rows: f64,
}

/// What makes rows that are no table's.
#[derive(Debug, Clone)]
pub(crate) enum Maker {
    /// A derived table: what it takes from around it, and its query.
    Derived(Arc<Derived>),
    /// A virtual table.
    Provider(Arc<dyn Provider>),
    /// JSON_TABLE.
    Json(Arc<JsonSource>),
}

/// The rows of a JSON document.
#[derive(Debug, Clone)]
pub(crate) struct JsonSource {
    pub(crate) document: Expr,
    /// What becomes rows and columns.
    pub table: JsonTable,
    pub(crate) columns: Vec<OutputColumn>,
}

/// A derived table.
#[derive(Debug)]
pub(crate) struct Derived {
    /// Tells it from all other derived tables and subqueries.
    pub id: u64,
    /// What it runs.
    pub plan: Query,
    /// What it takes from around it.
    pub parameters: Vec<Expr>,
    /// It may give other rows each time: made again for each row around it that it takes something
    /// from, and once in a statement if it takes nothing.
    pub(crate) is_volatile: bool,
    /// How large it is, if it is a subquery of the block that was materialized.
    pub size: Option<Size>,
}

/// What is expected of rows that are made as a whole.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Size {
    /// How many there are.
    pub rows: f64,
    /// What making them costs, in rows read.
    pub cost: f64,
}

/// A table whose rows are made when asked for: `information_schema` and its like.
pub(crate) trait Provider: Send + Sync + std::fmt::Debug {
    /// Names and types, in the order of the rows.
    fn columns(&self) -> Vec<OutputColumn>;

    /// The columns that it can look rows up by. They compare byte by byte, but for spaces at the
    /// end.
    fn keys(&self) -> Vec<usize>;

    /// Makes the rows and hands them to `each`, in the order of the columns. For each of
    /// [`Self::keys`] `keys` has the value that is wanted, where only one is; other rows may come
    /// as well.
    fn rows(
        &self,
        cx: &mut Context,
        keys: &[Option<Datum<'static>>],
        each: &mut dyn FnMut(&mut [Datum<'_>]) -> Result<()>,
    ) -> Result<()>;
}

/// Joins by looping.
#[derive(Debug)]
pub(crate) struct Loop {
    /// Its rows come first.
    pub outer: Operator,
    /// It is opened again for each of them.
    pub inner: Operator,
    /// What becomes of an outer row.
    pub kind: JoinKind,
    /// The slots that the inner side fills.
    pub(crate) inner_slots: Vec<usize>,
    /// What the joined rows must fulfil.
    pub filter: Vec<Expr>,
    /// Rows that are expected.
    pub rows: f64,
}

/// Joins by a hash table of the inner side.
#[derive(Debug)]
pub(crate) struct Hash {
    /// Its rows look for partners.
    pub outer: Operator,
    /// Its rows are kept; it reads nothing of the outer side.
    pub inner: Operator,
    /// What becomes of an outer row.
    pub kind: JoinKind,
    /// The slots that the inner side fills.
    pub(crate) inner_slots: Vec<usize>,
    /// What must be equal on both sides, and how it compares: outer, inner.
    pub keys: Vec<(Expr, Expr, crate::expression::compare::By)>,
    /// What partners must fulfil besides.
    pub on: Vec<Expr>,
    /// What the joined rows must fulfil.
    pub filter: Vec<Expr>,
    /// Rows that are expected.
    pub rows: f64,
    /// The outer rows' order is wanted of the joined ones.
    pub ordered: bool,
}

/// What becomes of an outer row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JoinKind {
    /// It comes with each partner.
    Inner,
    /// It comes with each partner, or with the null complement.
    Left,
    /// It comes once if it has a partner.
    Semi,
    /// It comes if it has none.
    Anti,
}

/// Plans a query; the resolver's scope is that of the subquery or statement that it is, without
/// sources.
pub(crate) fn query(resolver: &mut Resolver<'_>, query: &ast::Query) -> Result<Query> {
    datum::stack::check()?;
    let known = resolver.common.len();
    name_common(resolver, query.with.as_deref())?;
    let planned = without_with(resolver, query);
    resolver.common.truncate(known);
    planned
}

/// Makes the tables of WITH known for what is resolved from now on; error 1066 for a name that is
/// given twice.
pub(crate) fn name_common(resolver: &mut Resolver<'_>, with: Option<&ast::With>) -> Result<()> {
    let Some(with) = with else { return Ok(()) };
    if with.recursive {
        return Err(SqlError::unsupported("WITH RECURSIVE"));
    }
    let (mut names, mut ticker) = (std::collections::HashSet::new(), datum::bounds::Ticker::default());
    for table in &with.tables {
        ticker.step()?;
        if !names.insert(table.name.to_ascii_lowercase()) {
            return Err(datum::error::NONUNIQ_TABLE.with(&[&table.name]));
        }
        resolver.common.push(table.clone());
    }
    Ok(())
}

/// Plans a query whose common tables are known.
fn without_with(resolver: &mut Resolver<'_>, query: &ast::Query) -> Result<Query> {
    match &query.body {
        QueryBody::Select(select) => {
            let block = block::bind(resolver, select, query)?;
            datum::bounds::check()?;
            block::plan(resolver, block)
        }
        QueryBody::Table(name) => {
            let select = block::whole_table(name, query.span);
            let block = block::bind(resolver, &select, query)?;
            block::plan(resolver, block)
        }
        QueryBody::Nested(inner) if query.order_by.is_empty() && query.limit.is_none() => {
            self::query(resolver, inner)
        }
        _ => set_operation::plan(resolver, query),
    }
}

impl Limit {
    pub(crate) fn resolve(resolver: &mut Resolver<'_>, limit: Option<&ast::Limit>) -> Result<Limit> {
        let Some(limit) = limit else { return Ok(Limit::default()) };
        Ok(Limit {
            count: Some(resolver.expr(&limit.count)?),
            offset: limit.offset.as_ref().map(|offset| resolver.expr(offset)).transpose()?,
        })
    }

    /// The count and the offset.
    pub(crate) fn eval(&self, cx: &mut Context) -> Result<(u64, u64)> {
        let mut number = |expr: &Option<Expr>, absent: u64| -> Result<u64> {
            let Some(expr) = expr else { return Ok(absent) };
            let value = expr.eval(cx, crate::expression::Row::None)?;
            let is_number = matches!(value, Datum::Int(_) | Datum::UInt(_) | Datum::Null);
            if matches!(expr.node, Node::Parameter(_)) && !is_number {
                return Err(datum::error::WRONG_ARGUMENTS.with(&[&cx.statement.executed_by]));
            }
            u64::try_from(value.to_integer().value)
                .map_err(|_| datum::error::WRONG_ARGUMENTS.with(&[&"LIMIT"]))
        };
        Ok((number(&self.count, u64::MAX)?, number(&self.offset, 0)?))
    }

    /// True if there is one.
    pub(crate) fn is_some(&self) -> bool {
        self.count.is_some()
    }
}

/// Splits a condition into what all must hold.
pub(crate) fn conjuncts(condition: Expr, out: &mut Vec<Expr>) {
    match condition.node {
        Node::And(list) => list.into_iter().for_each(|e| conjuncts(e, out)),
        Node::Not(not) if matches!(not.node, Node::Or(_)) => {
            if let Node::Or(list) = not.node {
                let negated = |e| Expr { node: Node::Not(Box::new(e)), ty: Type::BOOL };
                list.into_iter().for_each(|e| conjuncts(negated(e), out));
            }
        }
        _ => out.push(simplify::zero_date(subquery::by_extremes(condition))),
    }
}
