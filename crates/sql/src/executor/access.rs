//! Walking an access path: its keys are evaluated and encoded when it is opened, then its ranges
//! are walked.
//!
//! (A1) A path gives every row that the conditions accept, and perhaps others: the conditions are
//!      tested again. So a value that a column can't hold exactly makes no narrower range: the walk
//!      goes by the columns before it.
//! (A2) A condition that the keys imply ([`TableAccess::implied_by_keys`]) is not tested, if all of
//!      them are held exactly, and the row that is read is the one that the key led to.

use std::ops::Bound;

use binlog::row::RowImageBuilder;
use smallvec::{SmallVec, smallvec};
use storage::key::KeyBytes;
use storage::schema::Index;
use storage::transaction::{Direction, IndexScan, KeyRange, LockedRow, ReadMode};

use crate::catalog::TableDef;
use crate::expression::Expr;
use crate::expression::compare::By;
use crate::expression::frame::{self, Frame};
use crate::planner::TableAccess;
use crate::planner::access::{AccessPath, Key};
use crate::session::Context;
use crate::status::Counter;
use datum::error::{Diagnostics, Result, SqlError};
use datum::types::{Charset, DataType};
use datum::value::{Datum, image, store};

/// A walk over a path's rows.
pub(crate) struct Scan<'p> {
    plan: &'p TableAccess,
    mode: ReadMode,
    /// A single row at most: its primary key, until it was looked up.
    point: Option<Vec<u8>>,
    ranges: KeyRanges,
    next_range: usize,
    scan: Option<IndexScan>,
    /// Rows come from the index's entries, and are made here.
    covered: bool,
    /// The conditions that need no test (A2); those after the end do.
    implied_by_keys: &'p [bool],
    image: Vec<u8>,
    /// The next row of the range is its first, which the search for the range has found.
    at_first: bool,
}

/// A column's bytes in a row image. Those of a number need no memory of their own.
type Raw = SmallVec<[u8; 16]>;

/// Most paths have a single range, with one value for each of a few columns.
type KeyRanges = SmallVec<[KeyRange; 1]>;
type Prefix = SmallVec<[Option<Raw>; 2]>;
type Values = SmallVec<[Option<Raw>; 1]>;

/// What a key's value is for a column.
enum Encoded {
    /// Its bytes in a row image; `None` for NULL.
    Is(Option<Raw>),
    /// No row has it.
    Nowhere,
    /// The column can't hold it, but may hold what compares as equal.
    Inexact,
}

impl<'p> Scan<'p> {
    /// A walk that is not open yet.
    pub(crate) fn new(plan: &'p TableAccess) -> Self {
        Scan {
            plan,
            mode: ReadMode::Snapshot,
            point: None,
            ranges: KeyRanges::new(),
            next_range: 0,
            scan: None,
            covered: false,
            implied_by_keys: &[],
            image: Vec::new(),
            at_first: false,
        }
    }

    /// Starts anew, with keys for the rows that the frame holds now.
    pub(crate) fn open(&mut self, cx: &mut Context, frame: &Frame) -> Result<()> {
        let autocommit = !cx.transaction().explicit;
        self.mode = match self.plan.locking {
            Some(locking) => ReadMode::Locking(locking),
            None => cx.storage_transaction().plain_read_mode(autocommit),
        };
        // A row that is to be locked is looked up.
        self.covered = self.plan.covering.is_some() && self.mode == ReadMode::Snapshot;
        self.scan = None;
        self.next_range = 0;
        self.ranges.clear();
        self.point = None;
        self.implied_by_keys = &[];
        let path = &self.plan.path;
        if path.is_full() {
            cx.statistics.examined.full_scans += 1;
            self.ranges.push(KeyRange::all());
            return Ok(());
        }
        let mut made = Ranges::new(cx, frame, self.plan);
        made.make()?;
        let Ranges { point, mut ranges, is_exact, .. } = made;
        if is_exact && point.is_none() && (path.index == 0 || self.mode == ReadMode::Snapshot) {
            self.implied_by_keys = self.plan.implied_by_keys();
        }
        if path.direction == Direction::Backward {
            ranges.reverse();
        }
        (self.point, self.ranges) = (point, ranges);
        Ok(())
    }

    /// Puts the next row that the conditions accept into the frame; false after the last one.
    pub(crate) fn next(&mut self, cx: &mut Context, frame: &mut Frame) -> Result<bool> {
        loop {
            frame.tick(cx)?;
            if !self.step(cx, frame)? {
                return Ok(false);
            }
            let lock = cx.storage_transaction().row_lock();
            if self.accepts(cx, frame)? {
                if self.has_lock() || self.wait_for_row(cx, frame)? {
                    return Ok(true);
                }
            } else if matches!(self.mode, ReadMode::Locking(_)) && self.has_lock() {
                cx.storage_transaction().reject_row(lock);
            }
        }
    }

    /// True if the conditions hold that the keys do not imply.
    fn accepts(&self, cx: &mut Context, frame: &Frame) -> Result<bool> {
        for (number, condition) in self.plan.filter.iter().enumerate() {
            let is_implied = self.implied_by_keys.get(number) == Some(&true);
            if !is_implied && condition.truth(cx, frame.row())? != Some(true) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn has_lock(&self) -> bool {
        self.scan.as_ref().is_none_or(IndexScan::is_locked)
    }

    /// Waits for a row that somebody else has locked, which the conditions accept as it was; true
    /// if they still do.
    fn wait_for_row(&mut self, cx: &mut Context, frame: &mut Frame) -> Result<bool> {
        let Some(scan) = &mut self.scan else { return Ok(true) };
        if !scan.wait_for_row(cx.storage_transaction())? {
            return Ok(false);
        }
        frame.set_image(self.plan.slot, scan.row())?;
        let lock = cx.storage_transaction().row_lock();
        let accepted = super::operators::accepts(cx, &self.plan.filter, frame)?;
        if !accepted {
            cx.storage_transaction().reject_row(lock);
        }
        Ok(accepted)
    }

    fn step(&mut self, cx: &mut Context, frame: &mut Frame) -> Result<bool> {
        if let Some(mut key) = self.point.take() {
            let found = self.get(cx, &key, frame);
            frame::recycle(&mut key);
            cx.scratch.key = key;
            return found;
        }
        loop {
            if let Some(scan) = self.scan.as_mut().filter(|_| self.covered) {
                let found = scan.next_entry(cx.storage_transaction())?;
                self.count_step(cx, found);
                if found {
                    return self.set_entry(frame).map(|()| true);
                }
                self.close(cx);
            } else if let Some(scan) = &mut self.scan {
                if scan.next(cx.storage_transaction())? {
                    frame.set_image(self.plan.slot, scan.row())?;
                    self.count_step(cx, true);
                    return Ok(true);
                }
                self.count_step(cx, false);
                self.close(cx);
            }
            let Some(range) = self.ranges.get_mut(self.next_range) else { return Ok(false) };
            let range = std::mem::replace(range, KeyRange::all());
            self.next_range += 1;
            let path = &self.plan.path;
            self.count_search(cx);
            let transaction = cx.storage_transaction();
            let schema = &self.plan.table.schema;
            self.scan = Some(transaction.scan_index(schema, path.index, range, path.direction, self.mode));
        }
    }

    /// Counts the search for a range, as MySQL's storage engines are counted.
    fn count_search(&mut self, cx: &Context) {
        let path = &self.plan.path;
        cx.count(Counter::HandlerReadKey);
        if path.is_full() {
            let backward = path.direction == Direction::Backward;
            cx.count(if backward { Counter::HandlerReadLast } else { Counter::HandlerReadFirst });
        }
        self.at_first = !self.is_table_scan();
    }

    /// Counts a step to the next row of a range, or to its end.
    fn count_step(&mut self, cx: &mut Context, found: bool) {
        cx.statistics.examined.rows += u64::from(found);
        if std::mem::take(&mut self.at_first) {
            return;
        }
        let path = &self.plan.path;
        cx.count(match path.direction {
            Direction::Backward => Counter::HandlerReadPrev,
            Direction::Forward if self.is_table_scan() => Counter::HandlerReadRndNext,
            // Where a unique key has led to a row, there is nothing to go on to.
            Direction::Forward if !found && self.has_unique_keys() => return,
            Direction::Forward => Counter::HandlerReadNext,
        });
    }

    fn is_table_scan(&self) -> bool {
        let path = &self.plan.path;
        path.is_full() && path.index == 0 && path.direction == Direction::Forward
    }

    fn has_unique_keys(&self) -> bool {
        let (table, path) = (&self.plan.table, &self.plan.path);
        table
            .indexes
            .get(path.index)
            .is_some_and(|index| index.unique && path.keys.len() == index.parts.len())
    }

    /// Ends the walk of the range at hand. Who asks for no further rows does so for the sake of its
    /// memory.
    pub(crate) fn close(&mut self, cx: &mut Context) {
        if let Some(scan) = self.scan.take() {
            scan.end(cx.storage_transaction());
        }
    }

    /// Puts what the entry at hand says of its row into the frame.
    fn set_entry(&mut self, frame: &mut Frame) -> Result<()> {
        let (Some(scan), Some(columns)) = (&self.scan, &self.plan.covering) else { return Ok(()) };
        let schema = &self.plan.table.schema;
        let index = schema.index(self.plan.path.index);
        let index = index.ok_or_else(|| SqlError::internal("a path by no index"))?;
        self.image.clear();
        schema.decode_key(index, columns, scan.key(), &mut self.image).map_err(SqlError::internal)?;
        frame.set_image(self.plan.slot, &self.image)
    }

    /// Reads one row by its primary key.
    fn get(&self, cx: &mut Context, key: &[u8], frame: &mut Frame) -> Result<bool> {
        let tree = self.plan.table.schema.primary.tree();
        let transaction = cx.storage_transaction();
        let row = match self.mode {
            ReadMode::Locking(locking) => match transaction.get_locked(tree, key, locking)? {
                LockedRow::Locked { row, .. } => row,
                LockedRow::Skipped => None,
            },
            ReadMode::Snapshot | ReadMode::Newest => transaction.get(tree, key)?,
        };
        cx.count(Counter::HandlerReadKey);
        cx.statistics.examined.rows += u64::from(row.is_some());
        match row {
            Some(row) => frame.set_image(self.plan.slot, &row).map(|()| true),
            None => Ok(false),
        }
    }
}

/// The ranges of a path whose keys read no row.
pub(crate) fn ranges(cx: &mut Context, table: &TableDef, path: &AccessPath) -> Result<Vec<KeyRange>> {
    let frame = Frame::new(std::iter::empty());
    let mut made =
        Ranges { cx, frame: &frame, table, path, point: None, ranges: KeyRanges::new(), is_exact: true };
    made.make()?;
    made.ranges.extend(made.point.map(|key| KeyRange::prefix(&key)));
    Ok(made.ranges.into_vec())
}

/// The ranges of a path, as they are made.
struct Ranges<'a> {
    cx: &'a mut Context,
    frame: &'a Frame,
    table: &'a TableDef,
    path: &'a AccessPath,
    point: Option<Vec<u8>>,
    ranges: KeyRanges,
    /// All values so far are integers that their columns hold exactly.
    is_exact: bool,
}

impl<'a> Ranges<'a> {
    fn new(cx: &'a mut Context, frame: &'a Frame, plan: &'a TableAccess) -> Self {
        let (table, path) = (&*plan.table, &plan.path);
        Self { cx, frame, table, path, point: None, ranges: KeyRanges::new(), is_exact: true }
    }

    fn make(&mut self) -> Result<()> {
        let parts = &self.table.indexes[self.path.index].parts;
        if let [part] = parts.as_slice()
            && let [keys] = self.path.keys.as_slice()
            && self.path.is_point(self.table)
        {
            return self.make_point(part.column, &keys[0]);
        }
        let mut prefixes: SmallVec<[Prefix; 1]> = smallvec![Prefix::new()];
        let mut whole = true;
        for (part, alternatives) in parts.iter().zip(&self.path.keys) {
            let Some(mut values) = self.values(part.column, alternatives)? else {
                whole = false;
                break;
            };
            match values.as_mut_slice() {
                [] => return Ok(()),
                [value] => {
                    let (last, others) = prefixes.split_last_mut().unzip();
                    others.into_iter().flatten().for_each(|p: &mut Prefix| p.push(value.clone()));
                    last.into_iter().for_each(|p: &mut Prefix| p.push(value.take()));
                }
                values => prefixes = product(&prefixes, values),
            }
        }
        let part = parts.get(self.path.keys.len()).filter(|_| whole && !self.path.ranges.is_empty());
        let ends = match part {
            Some(part) => self.ends(part.column)?,
            // No range: all of what the keys lead to.
            None => smallvec![(None, None)],
        };
        let ends = Narrowing { ends, is_descending: part.is_some_and(|part| part.descending) };
        let is_point = whole && prefixes.len() == 1 && self.path.is_point(self.table);
        let mut key = std::mem::take(&mut self.cx.scratch.key);
        for prefix in &prefixes {
            let values: SmallVec<[Option<&[u8]>; 4]> = prefix.iter().map(Option::as_deref).collect();
            key.clear();
            self.index()?.encode_values(&values, &mut key).map_err(SqlError::internal)?;
            if is_point {
                self.point = Some(key);
                return Ok(());
            }
            self.add(prefix.len(), &mut key, &ends)?;
        }
        frame::recycle(&mut key);
        self.cx.scratch.key = key;
        if self.ranges.len() > 1 {
            self.ranges.sort_by(|a, b| lower_bytes(a).cmp(lower_bytes(b)));
            self.ranges.dedup_by(|next, before| is_joined(before, next));
        }
        Ok(())
    }

    /// Adds the ranges of the keys that begin with `key`, which has so many parts.
    fn add(&mut self, parts: usize, key: &mut Vec<u8>, narrowing: &Narrowing) -> Result<()> {
        let (index, len) = (self.index()?, key.len());
        for (lower, upper) in &narrowing.ends {
            key.truncate(len);
            let mut narrowed = KeyRange::prefix(key);
            let (first, last) = if narrowing.is_descending { (upper, lower) } else { (lower, upper) };
            if let Some(raw) = first {
                index.encode_part(parts, raw, key).map_err(SqlError::internal)?;
                narrowed.lower = Bound::Included(KeyBytes::from_slice(key));
                key.truncate(len);
            }
            if let Some(raw) = last {
                index.encode_part(parts, raw, key).map_err(SqlError::internal)?;
                narrowed.upper = KeyRange::prefix_end(key);
            }
            self.ranges.push(narrowed);
        }
        Ok(())
    }

    /// What most statements of OLTP ask for: the row of one value of a primary key of one column.
    fn make_point(&mut self, column: usize, key: &Key) -> Result<()> {
        match self.value(column, key)? {
            Encoded::Is(value) => {
                let mut key = std::mem::take(&mut self.cx.scratch.key);
                key.clear();
                self.index()?.encode_values(&[value.as_deref()], &mut key).map_err(SqlError::internal)?;
                self.point = Some(key);
            }
            Encoded::Nowhere => {}
            Encoded::Inexact => self.ranges.push(KeyRange::all()),
        }
        Ok(())
    }

    fn index(&self) -> Result<&'a Index> {
        let index = self.table.schema.index(self.path.index);
        index.ok_or_else(|| SqlError::internal("a path by no index"))
    }

    /// The ends of the path's ranges that may hold rows.
    fn ends(&mut self, column: usize) -> Result<SmallVec<[Ends; 1]>> {
        let path = self.path;
        let mut ends = SmallVec::with_capacity(path.ranges.len());
        for range in &path.ranges {
            let Some(lower) = self.end(column, range.lower.as_ref())? else { continue };
            let Some(upper) = self.end(column, range.upper.as_ref())? else { continue };
            ends.push((lower, upper));
        }
        Ok(ends)
    }

    /// What a column may equal; `None` if that can't be said in keys.
    fn values(&mut self, column: usize, keys: &[Key]) -> Result<Option<Values>> {
        let mut values = Values::with_capacity(keys.len());
        for key in keys {
            match self.value(column, key)? {
                Encoded::Is(value) => values.push(value),
                Encoded::Nowhere => {}
                Encoded::Inexact => return Ok(None),
            }
        }
        Ok(Some(values))
    }

    /// The one value that a column may equal by a key.
    fn value(&mut self, column: usize, key: &Key) -> Result<Encoded> {
        let (by, expr, null_safe) = match key {
            Key::Null => return Ok(Encoded::Is(None)),
            Key::Value(by, expr) => (*by, expr, false),
            Key::NullSafe(by, expr) => (*by, expr, true),
        };
        Ok(match self.encoded(column, by, expr)? {
            Encoded::Is(None) if !null_safe || !self.table.columns[column].nullable => Encoded::Nowhere,
            encoded => encoded,
        })
    }

    /// One end of a range: the inner `None` is no end, the outer one no row at all.
    fn end(&mut self, column: usize, end: Option<&(By, Expr)>) -> Result<Option<Option<Raw>>> {
        let Some((by, expr)) = end else { return Ok(Some(None)) };
        Ok(match self.encoded(column, *by, expr)? {
            Encoded::Is(Some(raw)) => Some(Some(raw)),
            Encoded::Is(None) => None,
            Encoded::Nowhere | Encoded::Inexact => {
                self.is_exact = false;
                Some(None)
            }
        })
    }

    fn encoded(&mut self, column: usize, by: By, expr: &Expr) -> Result<Encoded> {
        let frame = self.frame;
        let value = expr.eval(self.cx, frame.row())?;
        if value.is_null() {
            return Ok(Encoded::Is(None));
        }
        let is_integer = matches!(value, Datum::Int(_) | Datum::UInt(_));
        self.is_exact &= is_integer && matches!(self.table.columns[column].ty, DataType::Integer { .. });
        let charset = if expr.ty.family.is_text() { expr.ty.collation.charset() } else { Charset::Ascii };
        encode(self.cx, self.table, column, by, &value, charset)
    }
}

fn product(prefixes: &[Prefix], values: &[Option<Raw>]) -> SmallVec<[Prefix; 1]> {
    let longer = |prefix: &Prefix, value: &Option<Raw>| {
        let mut longer = prefix.clone();
        longer.push(value.clone());
        longer
    };
    prefixes.iter().flat_map(|p| values.iter().map(move |v| longer(p, v))).collect()
}

/// The ends of a range of one column, as a row image has them; `None` for no end.
type Ends = (Option<Raw>, Option<Raw>);

/// The ranges of the column after a prefix.
struct Narrowing {
    ends: SmallVec<[Ends; 1]>,
    /// Its index has the column by descending values.
    is_descending: bool,
}

/// True if `next`, which begins at or after where `before` does, overlaps it: `before` reaches as
/// far as both then.
fn is_joined(before: &mut KeyRange, next: &KeyRange) -> bool {
    let reach = |upper: &Bound<KeyBytes>, key: &[u8]| match upper {
        Bound::Excluded(end) => key < end.as_slice(),
        Bound::Included(end) => key <= end.as_slice(),
        Bound::Unbounded => true,
    };
    if !reach(&before.upper, lower_bytes(next)) {
        return false;
    }
    let is_further = match &next.upper {
        Bound::Excluded(end) | Bound::Included(end) => reach(&before.upper, end),
        Bound::Unbounded => false,
    };
    if !is_further {
        before.upper.clone_from(&next.upper);
    }
    true
}

fn lower_bytes(range: &KeyRange) -> &[u8] {
    match &range.lower {
        Bound::Included(key) | Bound::Excluded(key) => key,
        Bound::Unbounded => &[],
    }
}

/// The bytes that a row image has for a value, if the column can hold what compares as equal to it.
fn encode(
    cx: &mut Context,
    table: &TableDef,
    column: usize,
    by: By,
    value: &Datum<'_>,
    charset: Charset,
) -> Result<Encoded> {
    let definition = &table.columns[column];
    if let (DataType::Integer { size, sign, .. }, Datum::Int(_) | Datum::UInt(_)) = (&definition.ty, value) {
        let number = value.to_integer().value;
        let (low, high) = store::integer_range(*size, sign.unsigned);
        if number < low || number > high {
            return Ok(Encoded::Nowhere);
        }
        return Ok(Encoded::Is(Some(integer_image(number, *size))));
    }
    let raw = fitted(cx, table, column, value, charset);
    let exact = match &raw {
        None => false,
        Some(raw) => {
            // What comes back must be the same for the comparison that the condition makes.
            let back = image::read(raw, &table.column_types[column], &definition.ty, cx.settings.zone())?;
            by.compare(cx, &back, value)?.is_some_and(|order| order.is_eq())
        }
    };
    let exact_numbers = matches!(by, By::Integer | By::Decimal)
        && matches!(definition.ty, DataType::Integer { .. } | DataType::Decimal { .. });
    Ok(match raw {
        Some(raw) if exact => Encoded::Is(Some(raw)),
        _ if exact_numbers => Encoded::Nowhere,
        _ => Encoded::Inexact,
    })
}

/// An integer as a row image has it.
fn integer_image(number: i128, size: syntax::ast::IntegerSize) -> Raw {
    use syntax::ast::IntegerSize as S;
    let len = match size {
        S::Tiny => 1,
        S::Small => 2,
        S::Medium => 3,
        S::Int => 4,
        S::Big => 8,
    };
    Raw::from_slice(&number.to_le_bytes()[..len])
}

fn fitted(
    cx: &mut Context,
    table: &TableDef,
    column: usize,
    value: &Datum<'_>,
    charset: Charset,
) -> Option<Raw> {
    let definition = &table.columns[column];
    let mut diagnostics = Diagnostics::default();
    let rules = store::Rules { strict: true, ..cx.store_rules(false) };
    let mut target =
        store::Target { column: &definition.name, table: "", row: 1, rules, diagnostics: &mut diagnostics };
    let fitted = store::fit(value.borrow(), charset, &definition.ty, &mut target).ok()?;
    let types = std::slice::from_ref(&table.column_types[column]);
    let mut out = Vec::new();
    let mut builder = RowImageBuilder::new(types, &mut out);
    image::push(&mut builder, &fitted, &definition.ty).ok()?;
    builder.finish().ok()?;
    // The bitmap of one column comes first.
    Some(Raw::from_slice(&out[1..]))
}
