//! EXPLAIN FORMAT=JSON: the query blocks with their operations, tables and costs, in the keys of
//! MySQL's first version of that format (`explain_json_format_version=1`).
//!
//! A block is `query_block`; within it stand, from the outside in, `duplicates_removal`,
//! `ordering_operation`, `windowing` and `grouping_operation`, and then its `table`, or
//! `nested_loop` with one table after the other. Costs are those of the planner, in rows read:
//! `read_cost` of finding a table's rows, `prefix_cost` of the join up to there.

mod value;

use super::path::{self, JoinType};
use super::units::{Nested, SelectNumbers, SubqueryClause, nested, subqueries};
use super::{Subject, Verb};
use crate::expression::{Expr, Node, OrderTerm};
use crate::planner::access::Candidate;
use crate::planner::expression_text::{all, text};
use crate::planner::names::Around;
use crate::planner::names::Names;
use crate::planner::windows::{WindowStep, Windows};
use crate::planner::{Block, Body, Duplicates, JoinKind, Maker, Operator, Query, Rows, TableAccess};
use storage::transaction::Direction;
use syntax::ast::{IndexHintScope, SetOp};
use value::{Object, Value};

/// The document of a statement. `closed` says which blocks' conditions let nothing through.
pub(crate) fn document(
    subject: &Subject,
    numbers: &SelectNumbers,
    closed: &dyn Fn(&Block) -> bool,
) -> String {
    let mut writer = Writer { numbers, closed, changed: None };
    let block = match subject {
        Subject::Query(query) => writer.query(query, None),
        Subject::Change { verb, query, changed } => {
            writer.changed = Some((*verb, *changed));
            writer.query(query, None)
        }
        Subject::Insert { verb, table, source } => {
            let mut target = Object::default();
            target.add(if *verb == Verb::Replace { "replace" } else { "insert" }, true);
            target.add("table_name", &**table);
            target.add("access_type", "ALL");
            let mut block = Object::default();
            block.add("select_id", 1_u64);
            block.add("table", target);
            if let Some(query) = source {
                let mut from = Object::default();
                from.add("query_block", writer.query(query, None));
                block.add("insert_from", from);
            }
            block
        }
    };
    let mut document = Object::default();
    document.add("query_block", block);
    Value::Object(document).to_string()
}

struct Writer<'a> {
    numbers: &'a SelectNumbers,
    closed: &'a dyn Fn(&Block) -> bool,
    /// What becomes of the rows of the outermost block, and of which slots.
    changed: Option<(Verb, u64)>,
}

/// A table of a block's join, as it is put together.
struct Table {
    slot: usize,
    object: Object,
    /// What its rows, and those joined up to there, must fulfil.
    conditions: Vec<String>,
    /// What stands after the conditions.
    subqueries: Vec<Value>,
}

/// The join so far.
#[derive(Clone, Copy)]
struct Prefix {
    filled: u64,
    rows: f64,
    cost: f64,
}

impl Writer<'_> {
    fn query<'p>(&mut self, query: &'p Query, around: Option<Around<'p>>) -> Object {
        self.body(&query.body, around)
    }

    fn body<'p>(&mut self, body: &'p Body, around: Option<Around<'p>>) -> Object {
        if !self.numbers.has_room() {
            return Object::default();
        }
        match body {
            Body::Block(block) => self.block(self.numbers.first(body), block, around),
            Body::Nested(query) => self.query(query, around),
            Body::Values(_) => message(self.numbers.first(body), "No tables used"),
            Body::Set(set) => {
                let name = match set.op {
                    SetOp::Union => "union",
                    SetOp::Intersect => "intersect",
                    SetOp::Except => "except",
                };
                let numbers = [self.numbers.first(&set.left.body), self.numbers.first(&set.right.body)];
                let mut result = Object::default();
                let needs_table = set.op != SetOp::Union || !set.all;
                result.add("using_temporary_table", needs_table);
                if needs_table {
                    result.add("table_name", format!("<{name}{},{}>", numbers[0], numbers[1]));
                    result.add("access_type", "ALL");
                }
                let sides = [&set.left.body, &set.right.body].map(|side| {
                    let mut specification = Object::default();
                    specification.add("dependent", around.is_some_and(|around| !around.values.is_empty()));
                    specification.add("cacheable", true);
                    specification.add("query_block", self.body(side, around));
                    Value::Object(specification)
                });
                result.add("query_specifications", Value::Array(sides.into()));
                let mut object = Object::default();
                object.add(format!("{name}_result"), result);
                object
            }
        }
    }

    fn block<'p>(&mut self, id: u64, block: &'p Block, around: Option<Around<'p>>) -> Object {
        let names = Names::of_block(block, around);
        let changed = self.changed.take();
        if (self.closed)(block) {
            return message(id, "Impossible WHERE");
        }
        let mut prefix = Prefix { filled: 0, rows: 1.0, cost: 0.0 };
        let mut tables = Vec::new();
        self.operator(&block.from, &names, &mut prefix, &mut tables);
        let mut object = if tables.is_empty() {
            message(id, "No tables used")
        } else {
            let mut object = Object::default();
            object.add("select_id", id);
            object.add("cost_info", costs([("query_cost", prefix.cost)]));
            object
        };
        if !tables.is_empty() {
            if let Some((verb, slots)) = changed {
                let is_changed = |table: &&mut Table| slots >> table.slot & 1 == 1;
                tables.iter_mut().filter(is_changed).for_each(|table| {
                    table.object.first(if verb == Verb::Update { "update" } else { "delete" }, true);
                });
            }
            operations(block, &mut object, tables, &names);
        }
        self.subqueries(block, &names, &mut object);
        object
    }

    /// The subqueries that stand in no table's condition.
    fn subqueries(&mut self, block: &Block, names: &Names<'_>, object: &mut Object) {
        let is_in_table = |inner: &Nested<'_>| {
            let mut found = false;
            conditions_of(&block.from, &mut |e| found |= stands_in(inner, e));
            found
        };
        let others: Vec<Nested<'_>> =
            nested(block).into_iter().filter(|n| !n.place.is_source() && !is_in_table(n)).collect();
        for (place, key) in [
            (SubqueryClause::Projection, "select_list_subqueries"),
            (SubqueryClause::Condition, "attached_subqueries"),
        ] {
            let list: Vec<Value> =
                others.iter().filter(|n| n.place == place).map(|n| self.subquery(n, names)).collect();
            if !list.is_empty() {
                object.add(key, Value::Array(list));
            }
        }
    }

    fn subquery(&mut self, inner: &Nested<'_>, names: &Names<'_>) -> Value {
        let mut object = Object::default();
        object.add("dependent", !inner.parameters.is_empty());
        object.add("cacheable", !inner.is_volatile);
        object.add("query_block", self.query(inner.query, Some(Around { names, values: &inner.parameters })));
        Value::Object(object)
    }

    fn operator(
        &mut self,
        operator: &Operator,
        names: &Names<'_>,
        prefix: &mut Prefix,
        out: &mut Vec<Table>,
    ) {
        match operator {
            Operator::One(_) => {}
            Operator::TableAccess(access) => out.push(self.access(access, names, prefix)),
            Operator::Rows(rows) => out.push(self.rows(rows, names, prefix)),
            Operator::Loop(join) => {
                self.operator(&join.outer, names, prefix, out);
                let first = out.len();
                self.operator(&join.inner, names, prefix, out);
                joined(out, first, join.kind, names, &join.filter);
                prefix.rows = join.rows;
            }
            Operator::Hash(join) => {
                self.operator(&join.outer, names, prefix, out);
                let (first, before) = (out.len(), *prefix);
                let mut inner = Prefix { rows: 1.0, ..before };
                self.operator(&join.inner, names, &mut inner, out);
                *prefix = Prefix { filled: inner.filled, rows: join.rows, cost: operator.cost() };
                if let Some(last) = out.last_mut() {
                    last.object.add("using_join_buffer", "hash join");
                    let keys = join.keys.iter();
                    let equal = |(outer, inner, _): &(Expr, Expr, _)| {
                        format!("({} = {})", text(names, inner), text(names, outer))
                    };
                    last.conditions.extend(keys.map(equal));
                    last.conditions.extend(join.on.iter().map(|e| text(names, e)));
                }
                joined(out, first, join.kind, names, &join.filter);
            }
        }
    }

    fn access(&mut self, access: &TableAccess, names: &Names<'_>, prefix: &mut Prefix) -> Table {
        let mut object = Object::default();
        object.add("table_name", names.source(access.slot));
        describe_path(access, names, prefix.filled, &mut object);
        let scanned = prefix.rows * access.rows;
        let produced = scanned * access.accepted;
        prefix.cost += prefix.rows * access.cost;
        object.add("rows_examined_per_scan", (access.rows.ceil() as u64).max(1));
        object.add("rows_produced_per_join", produced.ceil() as u64);
        object.add("filtered", format!("{:.2}", access.accepted * 100.0));
        if access.covering.is_some() {
            object.add("using_index", true);
        }
        if access.path.direction == Direction::Backward && !access.path.is_point(&access.table) {
            object.add("backward_index_scan", true);
        }
        let (read, eval) = ((access.cost - access.rows).max(0.0), access.rows.min(access.cost));
        let [read, eval] = [read, eval].map(|cost| cost * prefix.rows);
        object.add(
            "cost_info",
            costs([("read_cost", read), ("eval_cost", eval), ("prefix_cost", prefix.cost)]),
        );
        if let Some(columns) = &access.covering {
            let name = |&column: &usize| Value::from(access.table.columns[column].name.as_str());
            object.add("used_columns", Value::Array(columns.iter().map(name).collect()));
        }
        prefix.rows = produced;
        prefix.filled |= 1 << access.slot;
        let conditions = match access.is_narrowed_by_keys_only() {
            true => Vec::new(),
            false => vec![all(names, &access.filter)],
        };
        let subqueries = self.attached(&access.filter, names);
        Table { slot: access.slot, object, conditions, subqueries }
    }

    fn rows(&mut self, rows: &Rows, names: &Names<'_>, prefix: &mut Prefix) -> Table {
        let mut object = Object::default();
        object.add("table_name", names.source(rows.slot));
        object.add("access_type", "ALL");
        object.add("rows_examined_per_scan", rows.rows.ceil() as u64);
        prefix.cost += prefix.rows * rows.rows;
        prefix.rows *= rows.rows;
        object.add("rows_produced_per_join", prefix.rows.ceil() as u64);
        object.add("filtered", "100.00");
        object.add("cost_info", costs([("prefix_cost", prefix.cost)]));
        match &rows.maker {
            Maker::Provider(_) => {}
            Maker::Json(_) => {
                object.add("table_function", "json_table");
                object.add("using_temporary_table", true);
            }
            Maker::Derived(derived) => {
                let mut inner = Object::default();
                inner.add("using_temporary_table", true);
                inner.add("dependent", !derived.parameters.is_empty());
                inner.add("cacheable", !derived.is_volatile);
                inner.add(
                    "query_block",
                    self.query(&derived.plan, Some(Around { names, values: &derived.parameters })),
                );
                object.add("materialized_from_subquery", inner);
            }
        }
        prefix.filled |= 1 << rows.slot;
        let conditions = if rows.filter.is_empty() { Vec::new() } else { vec![all(names, &rows.filter)] };
        let subqueries = self.attached(&rows.filter, names);
        Table { slot: rows.slot, object, conditions, subqueries }
    }

    /// The subqueries in a table's conditions.
    fn attached(&mut self, filter: &[Expr], names: &Names<'_>) -> Vec<Value> {
        let mut found = Vec::new();
        filter.iter().for_each(|e| subqueries(e, SubqueryClause::Condition, &mut found));
        found.iter().map(|inner| self.subquery(inner, names)).collect()
    }
}

/// A block without tables.
fn message(id: u64, message: &str) -> Object {
    let mut object = Object::default();
    object.add("select_id", id);
    object.add("message", message);
    object
}

/// Which index, and how much of it.
fn describe_path(access: &TableAccess, names: &Names<'_>, filled: u64, object: &mut Object) {
    let (table, path) = (&*access.table, &access.path);
    let kind = path::kind(access);
    object.add("access_type", kind.name());
    let candidate = Candidate {
        table,
        slot: access.slot,
        available: filled,
        hints: &[],
        scope: IndexHintScope::Join,
        forced: false,
        read: None,
    };
    let name = |index: usize| Value::from(table.indexes[index].name.as_str());
    let possible: Vec<Value> = candidate.possible(access.filter.iter()).into_iter().map(name).collect();
    if !possible.is_empty() {
        object.add("possible_keys", Value::Array(possible));
    }
    if kind == JoinType::TableScan {
        return;
    }
    object.add("key", name(path.index));
    let parts = &table.indexes[path.index].parts;
    let used = match path.is_full() {
        true => parts.len(),
        false => path.keys.len() + usize::from(!path.ranges.is_empty()),
    };
    let columns = parts.iter().take(used).map(|p| Value::from(table.columns[p.column].name.as_str()));
    object.add("used_key_parts", Value::Array(columns.collect()));
    object.add("key_length", path::key_len(table, path).to_string());
    if matches!(kind, JoinType::Const | JoinType::UniqueLookup | JoinType::Lookup) {
        let compared = path::reference(names, path).into_iter().map(Value::from);
        object.add("ref", Value::Array(compared.collect()));
    }
}

/// What a join does with the rows of its inner side, the tables from `first` on.
fn joined(out: &mut [Table], first: usize, kind: JoinKind, names: &Names<'_>, filter: &[Expr]) {
    let before = out[..first].last().map(|table| names.source(table.slot).to_owned());
    let Some(last) = out[first..].last_mut() else { return };
    last.conditions.extend(filter.iter().map(|e| text(names, e)));
    match kind {
        JoinKind::Anti => last.object.add("not_exists", true),
        JoinKind::Semi => last.object.add("first_match", before.unwrap_or_default()),
        JoinKind::Inner | JoinKind::Left => {}
    }
}

/// What a block does with its joined rows, around its tables.
fn operations(block: &Block, object: &mut Object, tables: Vec<Table>, names: &Names<'_>) {
    let mut inner = Object::default();
    let mut tables: Vec<Object> = tables.into_iter().map(Table::finish).collect();
    match tables.len() {
        1 => inner.add("table", tables.remove(0)),
        _ => {
            let one = |table| {
                let mut object = Object::default();
                object.add("table", table);
                Value::Object(object)
            };
            inner.add("nested_loop", Value::Array(tables.into_iter().map(one).collect()));
        }
    }
    let mut wrap = |key: &str, facts: &[(&str, bool)]| wrap_in(&mut inner, key, facts);
    let with_table = [("using_temporary_table", true), ("using_filesort", false)];
    match block.group.as_ref().filter(|group| !group.keys.is_empty()) {
        Some(group) if group.adjacent => wrap("grouping_operation", &with_table[1..]),
        Some(_) => wrap("grouping_operation", &with_table),
        None => {}
    }
    if let Some(windows) = &block.windows {
        let mut outer = Object::default();
        outer.add(
            "windows",
            Value::Array(windows.steps.iter().map(|step| window(windows, step, names)).collect()),
        );
        outer.append(std::mem::take(&mut inner));
        inner.add("windowing", outer);
    }
    let mut wrap = |key: &str, facts: &[(&str, bool)]| wrap_in(&mut inner, key, facts);
    let is_sorted = !block.order.is_empty();
    match &block.group {
        Some(group) if group.adjacent && is_sorted => {
            wrap("ordering_operation", &[("using_temporary_table", true), ("using_filesort", true)]);
        }
        _ if is_sorted || block.comes_ordered => {
            wrap("ordering_operation", &[("using_filesort", is_sorted)]);
        }
        _ => {}
    }
    match block.duplicates {
        _ if !block.distinct => {}
        Duplicates::Adjacent => wrap("duplicates_removal", &with_table[1..]),
        _ => wrap("duplicates_removal", &with_table),
    }
    object.append(inner);
}

/// What is done with what an object has so far.
fn wrap_in(inner: &mut Object, key: &str, facts: &[(&str, bool)]) {
    let mut outer = Object::default();
    facts.iter().for_each(|(name, value)| outer.add(*name, *value));
    outer.append(std::mem::take(inner));
    inner.add(key, outer);
}

/// A step of window functions.
fn window(windows: &Windows, step: &WindowStep, names: &Names<'_>) -> Value {
    let calls = || step.calls.iter().filter_map(|call| windows.calls.get(call.number));
    let mut object = Object::default();
    object.add("name", calls().next().map_or("", |call| call.window.shown_name()).to_owned());
    if step.sorts {
        let term = |term: &OrderTerm| {
            Value::from(text(names, &term.expr) + if term.descending { " desc" } else { "" })
        };
        object.add("using_filesort", true);
        object.add("filesort_key", Value::Array(step.terms.iter().map(term).collect()));
    }
    if !step.streams {
        let mut buffer = Object::default();
        buffer.add("using_temporary_table", true);
        object.add("frame_buffer", buffer);
    }
    object.add("functions", Value::Array(calls().map(|call| Value::from(call.name().to_owned())).collect()));
    Value::Object(object)
}

impl Table {
    fn finish(mut self) -> Object {
        match self.conditions.len() {
            0 => {}
            1 => self.object.add("attached_condition", self.conditions.remove(0)),
            _ => self.object.add("attached_condition", format!("({})", self.conditions.join(" and "))),
        }
        if !self.subqueries.is_empty() {
            self.object.add("attached_subqueries", Value::Array(self.subqueries));
        }
        self.object
    }
}

/// Costs, with two digits as MySQL has them.
fn costs<const N: usize>(list: [(&str, f64); N]) -> Object {
    let mut object = Object::default();
    list.into_iter().for_each(|(name, cost)| object.add(name, format!("{cost:.2}")));
    object
}

/// Calls `f` with the conditions of all tables of a join.
fn conditions_of<'p>(operator: &'p Operator, f: &mut dyn FnMut(&'p Expr)) {
    if let Operator::TableAccess(_) | Operator::Rows(_) = operator {
        operator.filter().iter().for_each(&mut *f);
    }
    operator.inputs().for_each(|input| conditions_of(input, f));
}

fn stands_in(inner: &Nested<'_>, condition: &Expr) -> bool {
    condition.contains(&mut |e| match &e.node {
        Node::Subquery(subquery) => std::ptr::eq(subquery.main_plan(), inner.query),
        _ => false,
    })
}
