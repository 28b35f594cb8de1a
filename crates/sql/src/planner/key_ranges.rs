//! The key ranges of an access path: its keys are evaluated, encoded as the index has them, and
//! combined, when the path is opened, or while the planner estimates how many rows it has.
//!
//! A value that a column can't hold exactly makes no narrower range: the ranges go by the columns
//! before it (A1 of `executor/access.rs`).

use std::ops::Bound;

use binlog::row::RowImageBuilder;
use smallvec::{SmallVec, smallvec};
use storage::key::KeyBytes;
use storage::schema::Index;
use storage::transaction::KeyRange;

use super::access::{AccessPath, Key};
use crate::catalog::TableDef;
use crate::expression::Expr;
use crate::expression::compare::By;
use crate::expression::frame::{self, Frame};
use crate::session::Context;
use datum::error::{Diagnostics, Result, SqlError};
use datum::types::{Charset, DataType};
use datum::value::{Datum, image, store};

/// A column's bytes in a row image. Those of a number need no memory of their own.
type Raw = SmallVec<[u8; 16]>;

/// Most paths have a single range, with one value for each of a few columns.
pub(crate) type KeyRanges = SmallVec<[KeyRange; 1]>;
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

/// The ranges of a path whose keys read no row.
pub(crate) fn without_rows(cx: &mut Context, table: &TableDef, path: &AccessPath) -> Result<Vec<KeyRange>> {
    let frame = Frame::new(std::iter::empty());
    let mut made = Ranges::of(cx, &frame, table, path)?;
    made.ranges.extend(made.point.map(|key| KeyRange::prefix(&key)));
    Ok(made.ranges.into_vec())
}

/// The ranges of a path, as they are made.
pub(crate) struct Ranges<'a> {
    cx: &'a mut Context,
    frame: &'a Frame,
    table: &'a TableDef,
    path: &'a AccessPath,
    /// A single row at most: its primary key.
    pub(crate) point: Option<Vec<u8>>,
    pub(crate) ranges: KeyRanges,
    /// All values so far are integers that their columns hold exactly.
    pub(crate) is_exact: bool,
}

impl<'a> Ranges<'a> {
    /// Evaluates the path's keys for the frame.
    pub(crate) fn of(
        cx: &'a mut Context,
        frame: &'a Frame,
        table: &'a TableDef,
        path: &'a AccessPath,
    ) -> Result<Self> {
        let mut made = Self { cx, frame, table, path, point: None, ranges: KeyRanges::new(), is_exact: true };
        made.make()?;
        Ok(made)
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
            None => smallvec![Ends { lower: None, upper: None }],
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
        for Ends { lower, upper } in &narrowing.ends {
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
            let lower = match self.end(column, range.lower.as_ref())? {
                End::NoRow => continue,
                end => end.value(),
            };
            let upper = match self.end(column, range.upper.as_ref())? {
                End::NoRow => continue,
                end => end.value(),
            };
            ends.push(Ends { lower, upper });
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

    fn end(&mut self, column: usize, end: Option<&(By, Expr)>) -> Result<End> {
        let Some((by, expr)) = end else { return Ok(End::Unbounded) };
        Ok(match self.encoded(column, *by, expr)? {
            Encoded::Is(Some(raw)) => End::At(raw),
            Encoded::Is(None) => End::NoRow,
            Encoded::Nowhere | Encoded::Inexact => {
                self.is_exact = false;
                End::Unbounded
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
        let charset = expr.ty.text_charset();
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

/// One end of a range of one column.
enum End {
    Unbounded,
    At(Raw),
    /// It is NULL: the condition accepts no row.
    NoRow,
}

impl End {
    fn value(self) -> Option<Raw> {
        if let End::At(raw) = self { Some(raw) } else { None }
    }
}

/// The ends of a range of one column, as a row image has them; `None` for no end.
struct Ends {
    lower: Option<Raw>,
    upper: Option<Raw>,
}

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
