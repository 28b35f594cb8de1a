//! EXPLAIN FORMAT=TREE and EXPLAIN ANALYZE: the operators of a plan, each before those that it
//! takes its rows from, with what they are expected to cost and give, and what they did.

use super::path::{self, JoinType};
use super::units::{SelectNumbers, SubqueryClause, nested};
use super::{Subject, Verb};
use crate::executor::profile::{Actual, PlanStage, Profile};
use crate::expression::{Expr, OrderTerm};
use crate::planner::expression_text::{aggregate, all, text, window};
use crate::planner::names::{Around, Names};
use crate::planner::windows::{WindowStep, Windows};
use crate::planner::{
    Block, Body, Duplicates, Hash, JoinKind, Limit, Loop, Maker, Operator, Query, Rows, TableAccess,
};
use storage::transaction::Direction;
use syntax::ast::SetOp;

/// The tree of a statement. `closed` says which blocks' conditions let nothing through.
pub(crate) fn tree(
    subject: &Subject,
    numbers: &SelectNumbers,
    closed: &dyn Fn(&Block) -> bool,
    profile: Option<&Profile>,
) -> String {
    let mut tree = Tree { out: String::new(), numbers, closed, profile };
    match subject {
        Subject::Query(query) => tree.query(0, query, None),
        Subject::Change { verb, query, changed } => {
            let names = match &query.body {
                Body::Block(block) => block.names.iter().enumerate(),
                _ => [].iter().enumerate(),
            };
            let names: Vec<&str> = names.filter(|(i, _)| changed >> i & 1 == 1).map(|(_, n)| &**n).collect();
            let what = if *verb == Verb::Update { "Update" } else { "Delete from" };
            let line = format!("{what} {} (immediate)", names.join(", "));
            tree.plain(0, &line);
            tree.query(1, query, None);
        }
        Subject::Insert { verb, table, source } => {
            let what = if *verb == Verb::Replace { "Replace" } else { "Insert" };
            tree.plain(0, &format!("{what} into {table}"));
            if let Some(query) = source {
                tree.query(1, query, None);
            }
        }
    }
    tree.out
}

/// What is known of a step's execution.
#[derive(Clone, Copy)]
enum Execution {
    /// Nothing: the statement did not run, or the step is a part of another one.
    NotMeasured,
    /// The statement ran, and never came to it.
    Never,
    Measured(Actual),
}

/// What the planner expects of a step.
#[derive(Clone, Copy)]
struct Expected {
    cost: f64,
    rows: f64,
}

struct Tree<'a> {
    out: String,
    numbers: &'a SelectNumbers,
    closed: &'a dyn Fn(&Block) -> bool,
    profile: Option<&'a Profile>,
}

impl Tree<'_> {
    /// A line without figures.
    fn plain(&mut self, depth: usize, what: &str) {
        self.line(depth, what, None, Execution::NotMeasured);
    }

    fn line(&mut self, depth: usize, what: &str, expected: Option<Expected>, done: Execution) {
        self.out.extend(std::iter::repeat_n("    ", depth));
        self.out.push_str("-> ");
        self.out.push_str(what);
        if let Some(Expected { cost, rows }) = expected {
            self.out.push_str(&format!("  (cost={} rows={})", figure(cost), figure(rows)));
        }
        match done {
            Execution::NotMeasured => {}
            Execution::Never => self.out.push_str(" (never executed)"),
            Execution::Measured(actual) => {
                let loops = actual.loops.max(1) as f64;
                let each = |time: std::time::Duration| figure(time.as_secs_f64() * 1000.0 / loops);
                self.out.push_str(&format!(
                    " (actual time={}..{} rows={} loops={})",
                    each(actual.first),
                    each(actual.total),
                    figure(actual.rows as f64 / loops),
                    actual.loops
                ));
            }
        }
        self.out.push('\n');
    }

    fn done<T>(&self, part: &T, step: PlanStage) -> Execution {
        let Some(profile) = self.profile else { return Execution::NotMeasured };
        profile.of(part, step).map_or(Execution::Never, Execution::Measured)
    }

    fn query<'p>(&mut self, mut depth: usize, query: &'p Query, around: Option<Around<'p>>) {
        let names = Names::of_columns(query, around);
        if query.limit.is_some() {
            self.plain(depth, &limit_text(&names, &query.limit));
            depth += 1;
        }
        if !query.order.is_empty() {
            self.plain(depth, &sort_text(&names, &query.order, &query.limit));
            depth += 1;
        }
        self.body(depth, &query.body, around);
    }

    fn body<'p>(&mut self, depth: usize, body: &'p Body, around: Option<Around<'p>>) {
        if !self.numbers.has_room() {
            return;
        }
        match body {
            Body::Block(block) => self.block(depth, block, around),
            Body::Nested(query) => self.query(depth, query, around),
            Body::Values(rows) => {
                self.line(
                    depth,
                    "Rows fetched before execution",
                    Some(Expected { cost: 0.0, rows: rows.len() as f64 }),
                    Execution::NotMeasured,
                );
            }
            Body::Set(set) => {
                let what = match (set.op, set.all) {
                    (SetOp::Union, true) => "Append",
                    (SetOp::Union, false) => "Union materialize with deduplication",
                    (SetOp::Intersect, true) => "Intersect all materialize",
                    (SetOp::Intersect, false) => "Intersect materialize with deduplication",
                    (SetOp::Except, true) => "Except all materialize",
                    (SetOp::Except, false) => "Except materialize with deduplication",
                };
                self.plain(depth, what);
                self.body(depth + 1, &set.left.body, around);
                self.body(depth + 1, &set.right.body, around);
            }
        }
    }

    fn block<'p>(&mut self, top: usize, block: &'p Block, around: Option<Around<'p>>) {
        let names = Names::of_block(block, around);
        if (self.closed)(block) && block.group.is_none() {
            self.line(
                top,
                "Zero rows (Impossible WHERE)",
                Some(Expected { cost: 0.0, rows: 0.0 }),
                Execution::NotMeasured,
            );
        } else {
            self.steps(top, block, &names);
        }
        for inner in nested(block).into_iter().filter(|n| !n.place.is_source()) {
            let place = if inner.place == SubqueryClause::Projection { "projection" } else { "condition" };
            let how = match (inner.parameters.is_empty(), inner.is_volatile) {
                (_, true) => "uncacheable",
                (true, _) => "run only once",
                (false, _) => "dependent",
            };
            let number = self.numbers.first(&inner.query.body);
            self.plain(top, &format!("Select #{number} (subquery in {place}; {how})"));
            self.query(top + 1, inner.query, Some(Around { names: &names, values: &inner.parameters }));
        }
    }

    /// What a block does with its rows, the last step first.
    fn steps(&mut self, mut depth: usize, block: &Block, names: &Names<'_>) {
        let mut step = |tree: &mut Self, what: &str, done: Execution| {
            tree.line(depth, what, None, done);
            depth += 1;
        };
        let output = self.done(block, PlanStage::Output);
        if block.limit.is_some() {
            step(self, &limit_text(names, &block.limit), output);
        }
        match block.duplicates {
            _ if !block.distinct => {}
            Duplicates::Anywhere => step(self, "Temporary table with deduplication", output),
            Duplicates::Adjacent => step(self, "Group (no aggregates)", output),
            Duplicates::Sorted => {}
        }
        if !block.order.is_empty() {
            let limit = if block.distinct { &Limit::default() } else { &block.limit };
            let mut what = sort_text(names, &block.order, limit);
            if block.distinct && block.duplicates == Duplicates::Sorted {
                what = what.replacen("Sort", "Sort with duplicate removal", 1);
            }
            step(self, &what, self.done(block, PlanStage::Sort));
        }
        if let Some(windows) = &block.windows {
            let mut done = self.done(block, PlanStage::Windows);
            for (what, terms) in window_steps(names, windows) {
                step(self, &what, std::mem::replace(&mut done, Execution::NotMeasured));
                if let Some(terms) = terms {
                    step(self, &sort_text(names, terms, &Limit::default()), Execution::NotMeasured);
                }
            }
        }
        if let Some(having) = &block.having {
            step(self, &format!("Filter: {}", text(names, having)), Execution::NotMeasured);
        }
        if let Some(group) = &block.group {
            let aggregates: Vec<String> = group.aggregates.iter().map(|a| aggregate(names, a)).collect();
            let what = match (group.keys.is_empty(), group.adjacent) {
                (true, _) => format!("Aggregate: {}", aggregates.join(", ")),
                (false, true) if aggregates.is_empty() => "Group (no aggregates)".to_owned(),
                (false, true) => format!("Group aggregate: {}", aggregates.join(", ")),
                (false, false) => "Aggregate using temporary table".to_owned(),
            };
            step(self, &what, self.done(block, PlanStage::Groups));
            if block.first_only {
                step(self, "Limit: 1 row(s)", Execution::NotMeasured);
            }
        }
        if !block.constant_filter.is_empty() {
            let open: Vec<&Expr> =
                block.constant_filter.iter().filter(|e| e.as_constant().is_none()).collect();
            if !open.is_empty() {
                step(
                    self,
                    &format!("Filter: {}", all(names, &block.constant_filter)),
                    Execution::NotMeasured,
                );
            }
        }
        self.operator(depth, &block.from, names);
    }

    fn operator(&mut self, mut depth: usize, operator: &Operator, names: &Names<'_>) {
        let output = self.done(operator, PlanStage::Output);
        let filter = operator.filter();
        let has_keys_only = match operator {
            Operator::TableAccess(access) => access.is_narrowed_by_keys_only(),
            _ => filter.is_empty(),
        };
        let mut done = output;
        if !has_keys_only {
            let line = format!("Filter: {}", all(names, filter));
            self.line(depth, &line, Some(Expected { cost: operator.cost(), rows: operator.rows() }), output);
            depth += 1;
            done = self.done(operator, PlanStage::Source);
        }
        match operator {
            Operator::One(_) => self.line(
                depth,
                "Rows fetched before execution",
                Some(Expected { cost: 0.0, rows: 1.0 }),
                done,
            ),
            Operator::TableAccess(access) => {
                self.line(
                    depth,
                    &access_text(names, access),
                    Some(Expected { cost: access.cost, rows: access.rows }),
                    done,
                );
            }
            Operator::Rows(rows) => self.made(depth, rows, names, done),
            Operator::Loop(join) => self.nested_loop(depth, operator, join, names, done),
            Operator::Hash(join) => self.hash(depth, operator, join, names, done),
        }
    }

    fn made(&mut self, depth: usize, rows: &Rows, names: &Names<'_>, done: Execution) {
        let expected = Some(Expected { cost: rows.rows, rows: rows.rows });
        let name = names.source(rows.slot);
        match &rows.maker {
            Maker::Provider(_) => self.line(depth, &format!("Table scan on {name}"), expected, done),
            Maker::Json(_) => self.line(depth, "Materialize table function", expected, done),
            Maker::Derived(derived) => {
                self.line(depth, &format!("Table scan on {name}"), expected, done);
                let again =
                    if derived.parameters.is_empty() { "" } else { " (invalidate on row from outer)" };
                self.plain(depth + 1, &format!("Materialize{again}"));
                self.query(depth + 2, &derived.plan, Some(Around { names, values: &derived.parameters }));
            }
        }
    }

    fn nested_loop(
        &mut self,
        mut depth: usize,
        operator: &Operator,
        join: &Loop,
        names: &Names<'_>,
        done: Execution,
    ) {
        let kind = match join.kind {
            JoinKind::Inner => "inner join",
            JoinKind::Left => "left join",
            JoinKind::Semi => "semijoin (FirstMatch)",
            JoinKind::Anti => "antijoin",
        };
        let what = format!("Nested loop {kind}");
        self.line(depth, &what, Some(Expected { cost: operator.cost(), rows: join.rows }), done);
        depth += 1;
        self.operator(depth, &join.outer, names);
        if matches!(join.kind, JoinKind::Semi | JoinKind::Anti) {
            self.plain(depth, "Limit: 1 row(s)");
            depth += 1;
        }
        self.operator(depth, &join.inner, names);
    }

    fn hash(&mut self, depth: usize, operator: &Operator, join: &Hash, names: &Names<'_>, done: Execution) {
        let kind = match join.kind {
            JoinKind::Inner => "Inner hash join",
            JoinKind::Left => "Left hash join",
            JoinKind::Semi => "Hash semijoin",
            JoinKind::Anti => "Hash antijoin",
        };
        let keys = join.keys.iter().map(|(a, b, _)| format!("({} = {})", text(names, b), text(names, a)));
        let mut what = format!("{kind} {}", keys.collect::<Vec<_>>().join(", "));
        if !join.on.is_empty() {
            what.push_str(&format!(", extra conditions: {}", all(names, &join.on)));
        }
        self.line(depth, &what, Some(Expected { cost: operator.cost(), rows: join.rows }), done);
        self.operator(depth + 1, &join.outer, names);
        self.plain(depth + 1, "Hash");
        self.operator(depth + 2, &join.inner, names);
    }
}

fn access_text(names: &Names<'_>, access: &TableAccess) -> String {
    let line = looked_up_text(names, access);
    match access.covering.is_some() {
        // "Covering index scan", "Single-row covering index lookup"
        true => match line.strip_prefix("Single-row ") {
            Some(rest) => format!("Single-row covering {rest}"),
            None => line.replacen("Index", "Covering index", 1),
        },
        false => line,
    }
}

fn looked_up_text(names: &Names<'_>, access: &TableAccess) -> String {
    let name = names.source(access.slot);
    let index = &access.table.indexes[access.path.index].name;
    let backward = access.path.direction == Direction::Backward;
    let reverse = if backward { " (reverse)" } else { "" };
    match path::kind(access) {
        JoinType::TableScan if backward => format!("Index scan on {name} using {index} (reverse)"),
        JoinType::TableScan => format!("Table scan on {name}"),
        JoinType::IndexScan => format!("Index scan on {name} using {index}{reverse}"),
        JoinType::Range => {
            let over = path::ranges(names, access);
            format!("Index range scan on {name} using {index} over {over}{reverse}")
        }
        JoinType::Lookup => {
            format!("Index lookup on {name} using {index} ({}){reverse}", path::lookup(names, access))
        }
        JoinType::Const | JoinType::UniqueLookup => {
            format!("Single-row index lookup on {name} using {index} ({})", path::lookup(names, access))
        }
    }
}

/// The steps of window functions, the last one first, and what each sorts the rows by.
fn window_steps<'p>(names: &Names<'_>, windows: &'p Windows) -> Vec<(String, Option<&'p [OrderTerm]>)> {
    let shown = |step: &'p WindowStep| {
        let calls = step.calls.iter().filter_map(|call| windows.calls.get(call.number));
        let calls: Vec<String> = calls.map(|call| window(names, call)).collect();
        let how = if step.streams { "" } else { " with buffering" };
        let what = format!("Window aggregate{how}: {}", calls.join(", ").trim_end());
        (what, step.sorts.then_some(step.terms.as_slice()))
    };
    windows.steps.iter().rev().map(shown).collect()
}

fn sort_text(names: &Names<'_>, order: &[OrderTerm], limit: &Limit) -> String {
    let term = |term: &OrderTerm| {
        format!("{}{}", text(names, &term.expr), if term.descending { " DESC" } else { "" })
    };
    let terms: Vec<String> = order.iter().map(term).collect();
    let cut = match &limit.count {
        Some(count) if limit.offset.is_none() => {
            format!(", limit input to {} row(s) per chunk", text(names, count))
        }
        _ => String::new(),
    };
    format!("Sort: {}{cut}", terms.join(", "))
}

fn limit_text(names: &Names<'_>, limit: &Limit) -> String {
    let count = limit.count.as_ref().map_or(String::new(), |e| text(names, e));
    match &limit.offset {
        Some(offset) => format!("Limit/Offset: {count}/{} row(s)", text(names, offset)),
        None => format!("Limit: {count} row(s)"),
    }
}

/// A number with three digits that mean something.
fn figure(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    if value >= 1e6 {
        return format!("{value:.2e}").replace('e', "e+");
    }
    let digits = (2 - value.abs().log10().floor() as i32).clamp(0, 6) as usize;
    let text = format!("{value:.digits$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::figure;

    #[test]
    fn numbers_have_three_digits() {
        let cases = [
            (0.0, "0"),
            (1.0, "1"),
            (0.35, "0.35"),
            (1.2345, "1.23"),
            (99.96, "100"),
            (123_456.7, "123457"),
            (9_800_000.0, "9.80e+6"),
            (0.0251, "0.0251"),
        ];
        for (value, text) in cases {
            assert_eq!(figure(value), text);
        }
    }
}
