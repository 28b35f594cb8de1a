//! EXPLAIN's table: a row for each source of each SELECT, in the order in which they are read.

use super::path::{self, JoinType};
use super::units::{Nested, SelectNumbers, SubqueryClause, nested};
use super::{Subject, Verb};
use crate::listing::{Column, Listing, cells, text, uint};
use crate::planner::access::Candidate;
use crate::planner::names::Around;
use crate::planner::names::Names;
use crate::planner::{Block, Body, Duplicates, Grouping, JoinKind, Maker, Operator, Query, TableAccess};
use datum::types::Type;
use datum::value::Datum;
use storage::transaction::Direction;
use syntax::ast::{IndexHintScope, SetOp};

/// The columns.
pub(crate) fn listing() -> Listing {
    Listing::new([
        uint("id").or_null(),
        text("select_type", 19),
        text("table", 64).or_null(),
        text("partitions", 10_240).or_null(),
        text("type", 10).or_null(),
        text("possible_keys", 4096).or_null(),
        text("key", 64).or_null(),
        text("key_len", 4096).or_null(),
        text("ref", 1024).or_null(),
        uint("rows").or_null(),
        share("filtered").or_null(),
        text("Extra", 255).or_null(),
    ])
}

fn share(name: &'static str) -> Column {
    Column { name: name.into(), ty: Type { decimals: 2, ..Type::DOUBLE } }
}

/// The rows of a statement. `closed` says which blocks' conditions let nothing through.
pub(crate) fn rows(subject: &Subject, numbers: &SelectNumbers, closed: &dyn Fn(&Block) -> bool) -> Listing {
    let mut table = Table { listing: listing(), numbers, closed, changed: None, is_lookup: false };
    match subject {
        Subject::Query(query) => {
            let role = if numbers.are_several() { "PRIMARY" } else { "SIMPLE" };
            table.query(query, role, None);
        }
        Subject::Change { verb, query, changed } => {
            table.changed = Some((*verb, *changed));
            table.query(query, if numbers.are_several() { "PRIMARY" } else { "SIMPLE" }, None);
        }
        Subject::Insert { verb, table: name, source } => {
            let row = Row { table: Some(name.to_string()), kind: Some("ALL"), ..Row::default() };
            table.push(1, verb.name(), row);
            if let Some(query) = source {
                let role = if numbers.are_several() { "PRIMARY" } else { "SIMPLE" };
                table.query(query, role, None);
            }
        }
    }
    table.listing
}

#[derive(Default)]
struct Row {
    table: Option<String>,
    kind: Option<&'static str>,
    possible: Option<String>,
    key: Option<String>,
    key_len: Option<String>,
    reference: Option<String>,
    rows: Option<u64>,
    filtered: Option<f64>,
    extra: Vec<String>,
    slot: Option<usize>,
    /// The length of the primary key that a whole table is read by.
    whole_len: Option<u32>,
}

impl Row {
    /// A table's rows that the operands of IN are looked up in are called so.
    fn become_lookup(&mut self) {
        self.kind = match self.kind {
            Some("const" | "eq_ref") => Some("unique_subquery"),
            Some("ref") => Some("index_subquery"),
            other => other,
        };
    }
}

struct Table<'a> {
    listing: Listing,
    numbers: &'a SelectNumbers,
    closed: &'a dyn Fn(&Block) -> bool,
    /// What becomes of the rows of the outermost block, and of which slots.
    changed: Option<(Verb, u64)>,
    /// The next block is a subquery whose rows are looked up by the operands of IN.
    is_lookup: bool,
}

impl Table<'_> {
    fn push(&mut self, id: u64, role: &str, row: Row) {
        self.listing.push(cells![
            Some(id),
            role,
            row.table,
            None::<&str>,
            row.kind,
            row.possible,
            row.key,
            row.key_len,
            row.reference,
            row.rows,
            row.filtered.map(|f| (f * 10_000.0).round() / 100.0),
            (!row.extra.is_empty()).then(|| row.extra.join("; ")),
        ]);
    }

    fn query<'p>(&mut self, query: &'p Query, role: &'static str, around: Option<Around<'p>>) {
        self.body(&query.body, role, around);
    }

    fn body<'p>(&mut self, body: &'p Body, role: &'static str, around: Option<Around<'p>>) {
        if !self.numbers.has_room() {
            return;
        }
        let id = self.numbers.first(body);
        match body {
            Body::Block(block) => self.block(id, block, role, around),
            Body::Nested(query) => self.query(query, role, around),
            Body::Values(_) => {
                let extra = vec!["No tables used".to_owned()];
                self.push(id, role, Row { extra, ..Row::default() });
            }
            Body::Set(set) => {
                self.body(&set.left.body, role, around);
                let dependent = around.is_some_and(|around| !around.values.is_empty());
                let (plain, needs) = match set.op {
                    SetOp::Union => ("UNION", "DEPENDENT UNION"),
                    SetOp::Intersect => ("INTERSECT", "DEPENDENT INTERSECT"),
                    SetOp::Except => ("EXCEPT", "DEPENDENT EXCEPT"),
                };
                self.body(&set.right.body, if dependent { needs } else { plain }, around);
                if set.op != SetOp::Union || !set.all {
                    let right = self.numbers.first(&set.right.body);
                    let name = plain.to_lowercase();
                    let row = Row {
                        table: Some(format!("<{name}{id},{right}>")),
                        kind: Some("ALL"),
                        extra: vec!["Using temporary".to_owned()],
                        ..Row::default()
                    };
                    let role = match set.op {
                        SetOp::Union => "UNION RESULT",
                        SetOp::Intersect => "INTERSECT RESULT",
                        SetOp::Except => "EXCEPT RESULT",
                    };
                    self.listing.push(result_row(role, row));
                }
            }
        }
    }

    fn block<'p>(&mut self, id: u64, block: &'p Block, role: &'static str, around: Option<Around<'p>>) {
        let names = Names::of_block(block, around);
        let changed = self.changed.take();
        let is_lookup = std::mem::take(&mut self.is_lookup);
        let mut leaves = Vec::new();
        let mut filled = 0;
        if (self.closed)(block) {
            leaves.push(Row { extra: vec!["Impossible WHERE".to_owned()], ..Row::default() });
        } else {
            self.operator(&block.from, &names, &mut filled, &mut leaves);
        }
        if let Some(first) = leaves.first_mut() {
            block_extra(block, first);
        }
        if let ([only], true) = (leaves.as_mut_slice(), is_lookup) {
            only.become_lookup();
        }
        for row in leaves {
            let role = match (changed, row.slot) {
                (Some((verb, slots)), Some(slot)) if slots >> slot & 1 == 1 => verb.name(),
                _ => role,
            };
            self.push(id, role, row);
        }
        for inner in nested(block) {
            self.is_lookup = inner.is_lookup;
            self.query(
                inner.query,
                role_of(&inner),
                Some(Around { names: &names, values: &inner.parameters }),
            );
        }
    }

    fn operator(&self, operator: &Operator, names: &Names<'_>, filled: &mut u64, out: &mut Vec<Row>) {
        match operator {
            Operator::One(_) => {
                if *filled == 0 {
                    out.push(Row { extra: vec!["No tables used".to_owned()], ..Row::default() });
                }
            }
            Operator::TableAccess(access) => {
                out.push(access_row(access, names, *filled));
                *filled |= 1 << access.slot;
            }
            Operator::Rows(rows) => {
                let (table, extra) = match &rows.maker {
                    Maker::Derived(derived) => {
                        let what = if derived.size.is_some() { "subquery" } else { "derived" };
                        (format!("<{what}{}>", self.numbers.first(&derived.plan.body)), None)
                    }
                    Maker::Provider(_) => (names.source(rows.slot).to_owned(), None),
                    Maker::Json(_) => (
                        names.source(rows.slot).to_owned(),
                        Some("Table function: json_table; Using temporary".to_owned()),
                    ),
                };
                let mut row = Row {
                    table: Some(table),
                    kind: Some("ALL"),
                    rows: Some(rows.rows.ceil() as u64),
                    filtered: Some(1.0),
                    slot: Some(rows.slot),
                    extra: extra.into_iter().collect(),
                    ..Row::default()
                };
                if !rows.filter.is_empty() {
                    row.extra.push("Using where".to_owned());
                }
                out.push(row);
                *filled |= 1 << rows.slot;
            }
            Operator::Loop(join) => {
                self.outer(&join.outer, names, filled, out);
                let first = out.len();
                self.operator(&join.inner, names, filled, out);
                join_extra(out, first, join.kind, !join.filter.is_empty(), false);
            }
            Operator::Hash(join) => {
                self.outer(&join.outer, names, filled, out);
                let first = out.len();
                self.operator(&join.inner, names, filled, out);
                join_extra(out, first, join.kind, true, true);
            }
        }
    }

    /// The outer side of a join: one without sources is no row of the table.
    fn outer(&self, operator: &Operator, names: &Names<'_>, filled: &mut u64, out: &mut Vec<Row>) {
        if !matches!(operator, Operator::One(_)) {
            self.operator(operator, names, filled, out);
        }
    }
}

/// The row of a set operation's result, which has no number.
fn result_row(role: &str, row: Row) -> Vec<Datum<'static>> {
    cells![
        None::<u64>,
        role,
        row.table,
        None::<&str>,
        row.kind,
        None::<&str>,
        None::<&str>,
        None::<&str>,
        None::<&str>,
        None::<u64>,
        None::<i64>,
        row.extra.join("; "),
    ]
}

fn role_of(nested: &Nested<'_>) -> &'static str {
    let dependent = !nested.parameters.is_empty();
    match nested.place {
        SubqueryClause::From if dependent => "DEPENDENT DERIVED",
        SubqueryClause::From => "DERIVED",
        SubqueryClause::Materialized => "MATERIALIZED",
        _ if nested.is_volatile => "UNCACHEABLE SUBQUERY",
        _ if dependent => "DEPENDENT SUBQUERY",
        _ => "SUBQUERY",
    }
}

fn access_row(access: &TableAccess, names: &Names<'_>, filled: u64) -> Row {
    let path = &access.path;
    let table = &*access.table;
    let kind = path::kind(access);
    let candidate = Candidate {
        table,
        slot: access.slot,
        available: filled,
        hints: &[],
        scope: IndexHintScope::Join,
        forced: false,
        read: None,
    };
    let possible: Vec<&str> = candidate
        .possible(access.filter.iter())
        .into_iter()
        .map(|index| table.indexes[index].name.as_str())
        .collect();
    let uses_key = kind != JoinType::TableScan;
    let reference = match kind {
        JoinType::Const | JoinType::UniqueLookup | JoinType::Lookup => {
            Some(path::reference(names, path).join(","))
        }
        _ => None,
    };
    let mut extra = Vec::new();
    if !access.is_narrowed_by_keys_only() {
        extra.push("Using where".to_owned());
    }
    if access.covering.is_some() {
        extra.push("Using index".to_owned());
    }
    if path.direction == Direction::Backward && !path.is_point(table) {
        extra.push("Backward index scan".to_owned());
    }
    Row {
        table: Some(names.source(access.slot).to_owned()),
        kind: Some(kind.name()),
        possible: (!possible.is_empty()).then(|| possible.join(",")),
        key: uses_key.then(|| table.indexes[path.index].name.clone()),
        key_len: uses_key.then(|| path::key_len(table, path).to_string()),
        reference,
        rows: Some((access.rows.ceil() as u64).max(1)),
        filtered: Some(access.accepted),
        extra,
        slot: Some(access.slot),
        whole_len: (!uses_key).then(|| path::key_len(table, path)),
    }
}

/// What a block does with the joined rows, printed with its first source.
fn block_extra(block: &Block, first: &mut Row) {
    let adjacent = block.group.as_ref().is_some_and(|g| g.adjacent)
        || block.distinct && block.duplicates == Duplicates::Adjacent;
    if let Some(len) = first.whole_len.filter(|_| block.comes_ordered || adjacent) {
        // The table is its primary key.
        first.kind = Some(JoinType::IndexScan.name());
        (first.key, first.key_len) = (Some("PRIMARY".to_owned()), Some(len.to_string()));
    }
    // Groups that come one after the other are kept if they have to be sorted.
    let keeps = |g: &Grouping| !g.keys.is_empty() && (!g.adjacent || !block.order.is_empty());
    let groups = block.group.as_ref().is_some_and(keeps);
    let tells_apart = block.distinct && block.duplicates != Duplicates::Adjacent;
    if (groups || tells_apart) && first.table.is_some() {
        first.extra.push("Using temporary".to_owned());
    }
    let sorts = block.windows.as_ref().is_some_and(|windows| windows.steps.iter().any(|step| step.sorts));
    if (sorts || !block.order.is_empty()) && first.table.is_some() {
        first.extra.push("Using filesort".to_owned());
    }
}

/// What a join does with the rows of its inner side, the rows from `first` on.
fn join_extra(out: &mut [Row], first: usize, kind: JoinKind, filtered: bool, hash: bool) {
    let before = out[..first].last().and_then(|row| row.table.clone());
    let Some(last) = out[first..].last_mut() else { return };
    if filtered && !last.extra.iter().any(|e| e == "Using where") {
        last.extra.insert(0, "Using where".to_owned());
    }
    match kind {
        JoinKind::Anti => last.extra.push("Not exists".to_owned()),
        JoinKind::Semi => {
            last.extra.push(before.map_or("FirstMatch".to_owned(), |name| format!("FirstMatch({name})")));
        }
        JoinKind::Inner | JoinKind::Left => {}
    }
    if hash {
        last.extra.push("Using join buffer (hash join)".to_owned());
    }
}
