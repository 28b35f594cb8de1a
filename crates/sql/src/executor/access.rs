//! How a statement gets at a table's rows: by which index, over which ranges, in which direction.
//!
//! 1. The condition's conjuncts that compare a bare column with something that does not depend on the row become
//!    [`Term`]s.
//! 2. For each index, equalities bind its leading columns, and the next column may have a range. The best index wins: one
//!    that names a single row, else the one that binds most, else the primary key, which is a scan.
//! 3. [`Rows`] walks the ranges.
//!
//! (A1) A path gives every row that the condition accepts, and perhaps others: the whole condition is tested again. So a
//!      value that a column can't hold exactly makes no term, instead of a rounded one.

use std::ops::Bound;
use std::sync::Arc;

use storage::transaction::{Access, Direction, IndexScan, KeyRange, LockedRow};
use storage::{TableSchema, Value};

use crate::ast::{BinaryOp, IndexHint, IndexHintAction};
use crate::catalog::TableDef;
use crate::error::{self, Diagnostics, Result};
use crate::expression::compare::{self, By};
use crate::expression::row::{ImageRow, Offsets};
use crate::expression::{Expr, Node, Row};
use crate::session::Context;
use crate::types::{Charset, DataType, Type};
use crate::value::{Datum, image, store};

/// A path to rows.
#[derive(Debug, Clone)]
pub struct Path {
    /// Which index.
    pub index: usize,
    /// Which ranges of it, in the order of the walk.
    pub ranges: Vec<KeyRange>,
    /// A single row at most: its whole primary key.
    pub point: Option<Vec<u8>>,
    /// Which way.
    pub direction: Direction,
    /// How many leading columns of the index have one value each.
    pub bound: usize,
}

/// A condition on one column.
struct Term {
    column: usize,
    kind: Kind,
}

enum Kind {
    /// One of these values, as a row image has them; `None` is NULL.
    Equal(Vec<Option<Vec<u8>>>),
    /// Not below, or above.
    Lower(Vec<u8>),
    /// Not above, or below.
    Upper(Vec<u8>),
}

/// The most ranges that one IN makes.
const RANGES_MAX: usize = 1000;

/// Chooses a path for a condition.
pub fn choose(
    cx: &mut Context,
    table: &TableDef,
    filter: Option<&Expr>,
    hints: &[IndexHint],
) -> Result<Path> {
    let mut terms = Vec::new();
    if let Some(filter) = filter {
        collect(cx, table, filter, &mut terms);
    }
    let mut best = full_scan();
    let mut best_score = 0;
    for index in 0..table.indexes.len() {
        if !is_allowed(table, index, hints)? {
            continue;
        }
        if let Some((path, score)) = try_index(table, index, &terms)
            && score > best_score
        {
            (best, best_score) = (path, score);
        }
    }
    Ok(best)
}

/// All rows by primary key.
pub fn full_scan() -> Path {
    Path { index: 0, ranges: vec![KeyRange::all()], point: None, direction: Direction::Forward, bound: 0 }
}

/// What the hints say; error 1176 for an index that there is not.
fn is_allowed(table: &TableDef, index: usize, hints: &[IndexHint]) -> Result<bool> {
    let mut allowed = table.indexes[index].visible;
    let mut named = false;
    let mut used = false;
    for hint in hints {
        for name in &hint.indexes {
            let i = table.index_named(name);
            let i = i.ok_or_else(|| error::KEY_DOES_NOT_EXIST.with(&[name, &table.name]))?;
            match hint.action {
                IndexHintAction::Ignore if i == index => allowed = false,
                IndexHintAction::Ignore => {}
                _ => named |= i == index,
            }
        }
        used |= hint.action != IndexHintAction::Ignore;
    }
    Ok(allowed && (!used || named))
}

fn collect(cx: &mut Context, table: &TableDef, filter: &Expr, terms: &mut Vec<Term>) {
    match &filter.node {
        Node::And(list) => list.iter().for_each(|e| collect(cx, table, e, terms)),
        Node::Compare(op, by, pair) => {
            let (column, other, op) = match (pair[0].as_column(), pair[1].as_column()) {
                (Some(column), _) if pair[1].is_row_independent() => (column, &pair[1], *op),
                (_, Some(column)) if pair[0].is_row_independent() => (column, &pair[0], mirrored(*op)),
                _ => return,
            };
            let Some(raw) = exact(cx, table, column, *by, other) else { return };
            let kind = match op {
                BinaryOp::Equal => Kind::Equal(vec![Some(raw)]),
                BinaryOp::Greater | BinaryOp::GreaterOrEqual => Kind::Lower(raw),
                BinaryOp::Less | BinaryOp::LessOrEqual => Kind::Upper(raw),
                _ => return,
            };
            terms.push(Term { column, kind });
        }
        Node::Between(three, by, false) => {
            let [x, low, high] = &**three;
            let Some(column) = x.as_column() else { return };
            let ends = [(low, by[0], Kind::Lower as fn(Vec<u8>) -> Kind), (high, by[1], Kind::Upper)];
            for (end, by, kind) in ends {
                if end.is_row_independent()
                    && let Some(raw) = exact(cx, table, column, by, end)
                {
                    terms.push(Term { column, kind: kind(raw) });
                }
            }
        }
        Node::In(x, list, false) if list.len() <= RANGES_MAX => {
            let Some(column) = x.as_column() else { return };
            let mut values = Vec::with_capacity(list.len());
            for (by, candidate) in list {
                if !candidate.is_row_independent() {
                    return;
                }
                let Some(raw) = exact(cx, table, column, *by, candidate) else { return };
                values.push(Some(raw));
            }
            terms.push(Term { column, kind: Kind::Equal(values) });
        }
        Node::Is(x, crate::ast::Truth::Null, false) => {
            if let Some(column) = x.as_column().filter(|&c| table.columns[c].nullable) {
                terms.push(Term { column, kind: Kind::Equal(vec![None]) });
            }
        }
        _ => {}
    }
}

fn mirrored(op: BinaryOp) -> BinaryOp {
    match op {
        BinaryOp::Less => BinaryOp::Greater,
        BinaryOp::LessOrEqual => BinaryOp::GreaterOrEqual,
        BinaryOp::Greater => BinaryOp::Less,
        BinaryOp::GreaterOrEqual => BinaryOp::LessOrEqual,
        other => other,
    }
}

/// The bytes that a row image has for the value, if the column can hold it exactly and compares as the condition does.
fn exact(cx: &mut Context, table: &TableDef, column: usize, by: By, value: &Expr) -> Option<Vec<u8>> {
    let definition = &table.columns[column];
    let ty = Type::of_column(&definition.ty, definition.nullable);
    let comparable = match by {
        By::Text(collation) => {
            collation == definition.ty.collation() && definition.ty.is_character()
                || collation == definition.ty.collation() && ty.family.is_text()
        }
        By::Integer | By::Decimal | By::Double => {
            ty.family.is_numeric() && !matches!(definition.ty, DataType::Year)
        }
        By::DateTime => {
            matches!(definition.ty, DataType::Date | DataType::DateTime(_) | DataType::Timestamp(_))
        }
        By::Time => matches!(definition.ty, DataType::Time(_)),
        By::Json => false,
    };
    // A label's order in keys is that of its numbers, its comparison that of its text.
    if !comparable || matches!(definition.ty, DataType::Enum { .. } | DataType::Set { .. }) {
        return None;
    }
    let given = value.eval(cx, Row::None).ok()?;
    if given.is_null() {
        return None;
    }
    let charset = if value.ty.family.is_text() { value.ty.collation.charset() } else { Charset::Ascii };
    let mut raw = encode(cx, &given, charset, table, column)?;
    // What comes back must be the same for the comparison that the condition makes.
    let back = image::read(&raw, &table.column_types[column], &definition.ty, cx.zone()).ok()?;
    match compare::By::compare(by, cx, &back, &given) {
        Ok(Some(order)) if order.is_eq() => {}
        _ => return None,
    }
    raw.shrink_to_fit();
    Some(raw)
}

fn encode(
    cx: &mut Context,
    value: &Datum<'_>,
    charset: Charset,
    table: &TableDef,
    column: usize,
) -> Option<Vec<u8>> {
    let definition = &table.columns[column];
    let mut diagnostics = Diagnostics::default();
    let rules = store::Rules { strict: true, ..cx.store_rules(false) };
    let mut target =
        store::Target { column: &definition.name, table: "", row: 1, rules, diagnostics: &mut diagnostics };
    let fitted = store::fit(value.borrow(), charset, &definition.ty, &mut target).ok()?;
    let types = std::slice::from_ref(&table.column_types[column]);
    let mut out = Vec::new();
    let mut builder = binlog::row::RowImageBuilder::new(types, &mut out);
    image::push(&mut builder, &fitted, &definition.ty).ok()?;
    builder.finish().ok()?;
    // The bitmap of one column comes first.
    Some(out.split_off(1))
}

/// A path by one index, and how good it is; `None` if the condition does not narrow it.
fn try_index(table: &TableDef, number: usize, terms: &[Term]) -> Option<(Path, u32)> {
    let definition = &table.indexes[number];
    let index = table.schema.index(number)?;
    let mut prefixes: Vec<Vec<Option<&[u8]>>> = vec![Vec::new()];
    let mut bound = 0;
    let mut whole = true;
    for part in &definition.parts {
        let equal = terms.iter().filter(|t| t.column == part.column).find_map(|t| match &t.kind {
            Kind::Equal(values) => Some(values),
            _ => None,
        });
        let Some(values) = equal else { break };
        if prefixes.len() * values.len() > RANGES_MAX {
            break;
        }
        prefixes = prefixes
            .iter()
            .flat_map(|p| {
                values.iter().map(move |v| {
                    let mut longer = p.clone();
                    longer.push(v.as_deref());
                    longer
                })
            })
            .collect();
        bound += 1;
        if part.prefix_len.is_some() {
            // Behind a prefix nothing more is known of the order.
            whole = false;
            break;
        }
    }
    let next = definition.parts.get(bound).filter(|_| whole);
    let range = next.and_then(|part| range_of(terms, part));
    if bound == 0 && range.is_none() {
        return None;
    }
    let mut ranges = Vec::with_capacity(prefixes.len());
    for prefix in &prefixes {
        let mut key = Vec::new();
        index.encode_values(prefix, &mut key).ok()?;
        ranges.push(match &range {
            None => KeyRange::prefix(&key),
            Some(range) => bounded(index, prefix, &key, range)?,
        });
    }
    ranges.sort_by(|a, b| lower_bytes(a).cmp(lower_bytes(b)));
    ranges.dedup();
    let complete = whole && bound == definition.parts.len();
    let single = prefixes.len() == 1;
    let point = (number == 0 && complete && single).then(|| lower_bytes(&ranges[0]).to_vec());
    let unique = complete && definition.unique;
    let score = u32::from(point.is_some()) * 1000
        + u32::from(unique) * 500
        + bound as u32 * 20
        + u32::from(range.is_some()) * 10
        + u32::from(number == 0) * 5;
    let bound = if single { bound } else { 0 };
    Some((Path { index: number, ranges, point, direction: Direction::Forward, bound }, score))
}

/// A range on an index's next column.
struct Range<'t> {
    lower: Option<&'t [u8]>,
    upper: Option<&'t [u8]>,
    descending: bool,
}

fn range_of<'t>(terms: &'t [Term], part: &storage::KeyPart) -> Option<Range<'t>> {
    let mut range = Range { lower: None, upper: None, descending: part.descending };
    for term in terms.iter().filter(|t| t.column == part.column) {
        match &term.kind {
            Kind::Lower(raw) => range.lower = Some(raw),
            Kind::Upper(raw) => range.upper = Some(raw),
            Kind::Equal(_) => {}
        }
    }
    (range.lower.is_some() || range.upper.is_some()).then_some(range)
}

/// The keys that begin with `key` and have the next column in the range, both ends included: the condition is tested again.
fn bounded(
    index: &storage::schema::Index,
    prefix: &[Option<&[u8]>],
    key: &[u8],
    range: &Range<'_>,
) -> Option<KeyRange> {
    let encode = |raw: &[u8]| {
        let mut values = prefix.to_vec();
        values.push(Some(raw));
        let mut out = Vec::new();
        index.encode_values(&values, &mut out).ok().map(|()| out)
    };
    let (first, last) =
        if range.descending { (range.upper, range.lower) } else { (range.lower, range.upper) };
    let whole = KeyRange::prefix(key);
    let lower = match first {
        Some(raw) => Bound::Included(encode(raw)?),
        None => whole.lower,
    };
    let upper = match last {
        Some(raw) => KeyRange::prefix(&encode(raw)?).upper,
        None => whole.upper,
    };
    Some(KeyRange { lower, upper })
}

fn lower_bytes(range: &KeyRange) -> &[u8] {
    match &range.lower {
        Bound::Included(key) | Bound::Excluded(key) => key,
        Bound::Unbounded => &[],
    }
}

impl Path {
    /// True if rows come in the order of these columns, ascending or all descending; turns the walk round if needed.
    pub fn gives_order(&mut self, table: &TableDef, order: &[(usize, bool)]) -> bool {
        if self.point.is_some() {
            return true;
        }
        let parts = &table.indexes[self.index].parts;
        let mut rest = &parts[self.bound.min(parts.len())..];
        let mut backward = None;
        for &(column, descending) in order {
            if parts[..self.bound.min(parts.len())].iter().any(|p| p.column == column) {
                continue; // one value only
            }
            let Some((part, more)) = rest.split_first() else { return false };
            if part.column != column
                || part.prefix_len.is_some()
                || self.ranges.len() > 1 && self.bound == 0 && parts.len() > 1
            {
                return false;
            }
            let turned = part.descending != descending;
            if *backward.get_or_insert(turned) != turned {
                return false;
            }
            rest = more;
        }
        // Keys of a label are in the order of its numbers, as MySQL sorts them too.
        if backward == Some(true) {
            self.direction = Direction::Backward;
            self.ranges.reverse();
        }
        true
    }
}

/// A walk over a path's rows.
pub struct Rows {
    schema: Arc<TableSchema>,
    table: Arc<TableDef>,
    access: Access,
    path: Path,
    next_range: usize,
    scan: Option<IndexScan>,
    point: Option<Value>,
    /// Where the current row's columns lie.
    offsets: Offsets,
    steps: u32,
}

/// How many rows are walked between two looks at KILL's mark.
const INTERRUPT_STEPS: u32 = 256;

impl Rows {
    /// Starts a walk.
    pub fn new(table: Arc<TableDef>, path: Path, access: Access) -> Self {
        Rows {
            schema: table.schema.clone(),
            table,
            access,
            path,
            next_range: 0,
            scan: None,
            point: None,
            offsets: Offsets::default(),
            steps: 0,
        }
    }

    /// Moves to the next row; false behind the last one.
    pub fn advance(&mut self, cx: &mut Context) -> Result<bool> {
        self.steps += 1;
        if self.steps.is_multiple_of(INTERRUPT_STEPS) {
            cx.check_interrupt()?;
        }
        let found = self.step(cx)?;
        if found {
            let image = match (&self.point, &self.scan) {
                (Some(row), _) => &row[..],
                (None, Some(scan)) => scan.row(),
                (None, None) => return Ok(false),
            };
            self.offsets.find(&self.table, image)?;
        }
        Ok(found)
    }

    fn step(&mut self, cx: &mut Context) -> Result<bool> {
        if let Some(key) = self.path.point.take() {
            self.path.ranges.clear();
            self.point = self.get(cx, &key)?;
            return Ok(self.point.is_some());
        }
        self.point = None;
        loop {
            if let Some(scan) = &mut self.scan {
                if scan.next(&mut cx.transaction().engine)? {
                    return Ok(true);
                }
                self.scan = None;
            }
            let Some(range) = self.path.ranges.get(self.next_range).cloned() else { return Ok(false) };
            self.next_range += 1;
            let (index, direction, access) = (self.path.index, self.path.direction, self.access);
            let engine = &mut cx.transaction().engine;
            self.scan = Some(engine.scan_index(&self.schema, index, range, direction, access));
        }
    }

    fn get(&self, cx: &mut Context, key: &[u8]) -> Result<Option<Value>> {
        let tree = self.schema.primary.tree();
        let engine = &mut cx.transaction().engine;
        Ok(match self.access {
            Access::Locking(locking) => match engine.get_locked(tree, key, locking)? {
                LockedRow::Locked { row, .. } => row,
                LockedRow::Skipped => None,
            },
            Access::Snapshot | Access::Newest => engine.get(tree, key)?,
        })
    }

    /// The current row's image.
    pub fn image(&self) -> &[u8] {
        match (&self.point, &self.scan) {
            (Some(row), _) => row,
            (None, Some(scan)) => scan.row(),
            (None, None) => &[],
        }
    }

    /// The current row.
    pub fn row(&self) -> Row<'_> {
        Row::Image(ImageRow { table: &self.table, image: self.image(), offsets: &self.offsets })
    }
}
