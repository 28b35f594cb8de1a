//! Rows written before an ALTER TABLE, read as the table is now.
//!
//! A row is stored as the row image of the table as it was when the row was written, and it stays
//! so: an instant ALTER TABLE touches no row. The version's position says which definition that
//! was: the position of each ALTER is stored, and a version written before it has the columns of
//! before. So rows carry no version number of their own, and the log's row events are stored as
//! they are (the position is the version).
//!
//! (L1) Whoever reads a row through a transaction gets it with the columns of now. Below, in store
//!      and log, it has those of its place.
//! (L2) What a row is to its indexes is the same before and after: a column of a key is changed by
//!      no instant ALTER.
//!
//! How the catalog keeps layouts stands in `docs/formats/tables.md`.

use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use binlog::LogPosition;
use binlog::row::{ColumnType, RowError, RowImageBuilder};

use crate::entry::{TreeId, Value};

/// Where a column of now comes from in an older row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ColumnSource {
    /// It was that column, and its bytes are the same.
    Column(usize),
    /// It was not there: this is what it had been given, as a row image has it; `None` for NULL.
    Constant(Option<Box<[u8]>>),
}

/// The columns of rows written before a position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// Where the ALTER TABLE stands that ended it.
    pub until: LogPosition,
    /// The columns' types then.
    pub types: Vec<ColumnType>,
    /// The columns of now, in their order.
    pub sources: Vec<ColumnSource>,
}

/// What a table's columns were, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Layouts {
    list: Vec<Layout>,
}

impl Layouts {
    /// From layouts in the order of their ends.
    pub fn new(list: Vec<Layout>) -> Self {
        Self { list }
    }

    /// The layouts, oldest first.
    pub fn list(&self) -> &[Layout] {
        &self.list
    }

    /// What they are after another ALTER at `until`, which found the columns `types` and made
    /// those of `sources` of them.
    pub fn followed_by(
        &self,
        until: LogPosition,
        types: Vec<ColumnType>,
        sources: Vec<ColumnSource>,
    ) -> Layouts {
        let through = |older: &Layout| {
            let source = |s: &ColumnSource| match s {
                ColumnSource::Column(c) => older.sources[*c].clone(),
                constant => constant.clone(),
            };
            Layout { sources: sources.iter().map(source).collect(), ..older.clone() }
        };
        let mut list: Vec<Layout> = self.list.iter().map(through).collect();
        list.push(Layout { until, types, sources });
        Layouts { list }
    }

    /// A row written at `position` with the columns of now; `None` if it has them.
    ///
    /// # Errors
    /// If the image is not one of the columns of then.
    pub fn upgrade(&self, position: LogPosition, image: &[u8]) -> Result<Option<Value>, RowError> {
        let first = self.list.partition_point(|layout| layout.until < position);
        self.list.get(first).map(|layout| layout.upgrade(image)).transpose()
    }
}

impl Layout {
    fn upgrade(&self, image: &[u8]) -> Result<Value, RowError> {
        let mut old = Vec::with_capacity(self.types.len());
        let mut at = self.types.len().div_ceil(8);
        for (number, ty) in self.types.iter().enumerate() {
            if image.get(number / 8).ok_or(RowError::Truncated)? >> (number % 8) & 1 == 1 {
                old.push(None);
                continue;
            }
            let rest = image.get(at..).ok_or(RowError::Truncated)?;
            let len = ty.value_len(rest)?;
            old.push(Some(rest.get(..len).ok_or(RowError::Truncated)?));
            at += len;
        }
        let mut out = vec![0; self.sources.len().div_ceil(8)];
        for (number, source) in self.sources.iter().enumerate() {
            let raw = match source {
                ColumnSource::Column(column) => old.get(*column).copied().flatten(),
                ColumnSource::Constant(constant) => constant.as_deref(),
            };
            match raw {
                Some(raw) => out.extend_from_slice(raw),
                None => out[number / 8] |= 1 << (number % 8),
            }
        }
        Ok(Value::copied(&out))
    }
}

/// The layouts of all tables that have any, by the trees of their rows.
#[derive(Default)]
pub(crate) struct LayoutRegistry(ArcSwap<HashMap<TreeId, Arc<Layouts>>>);

impl LayoutRegistry {
    pub(crate) fn of(&self, tree: TreeId) -> Option<Arc<Layouts>> {
        let all = self.0.load();
        if all.is_empty() { None } else { all.get(&tree).cloned() }
    }

    pub(crate) fn set(&self, tree: TreeId, layouts: Option<Arc<Layouts>>) {
        self.0.rcu(|all| {
            let mut all = HashMap::clone(all);
            match &layouts {
                Some(layouts) => drop(all.insert(tree, layouts.clone())),
                None => drop(all.remove(&tree)),
            }
            all
        });
    }
}

/// A column's value as bytes, for [`ColumnSource::Constant`]: what a builder made of one column's
/// image.
pub fn constant(ty: &ColumnType, push: impl FnOnce(&mut RowImageBuilder<'_>)) -> Option<Box<[u8]>> {
    let mut out = Vec::new();
    push(&mut RowImageBuilder::new(std::slice::from_ref(ty), &mut out));
    (out.first() == Some(&0)).then(|| out[1..].into())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use binlog::row::{Value as Field, code};

    fn at(n: u64) -> LogPosition {
        LogPosition::from_u64(n)
    }

    fn image(types: &[ColumnType], values: &[Field<'_>]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut builder = RowImageBuilder::new(types, &mut out);
        values.iter().for_each(|v| builder.push(v).unwrap());
        builder.finish().unwrap();
        out
    }

    #[test]
    fn a_row_goes_through_all_alters_after_it() {
        let int = ColumnType::new(code::LONG, 0);
        let text = ColumnType::new(code::VARCHAR, 20);
        let seven = constant(&int, |b| b.push(&Field::Int(7)).unwrap());
        // (a, b) at 10 became (new, a, b), at 20 (b, null, new).
        let first = Layouts::default().followed_by(
            at(10),
            vec![int, text],
            vec![ColumnSource::Constant(seven), ColumnSource::Column(0), ColumnSource::Column(1)],
        );
        let both = first.followed_by(
            at(20),
            vec![int, int, text],
            vec![ColumnSource::Column(2), ColumnSource::Constant(None), ColumnSource::Column(0)],
        );
        let now = [text, int, int];
        let oldest = image(&[int, text], &[Field::Int(1), Field::Bytes(b"x")]);
        let upgraded = both.upgrade(at(9), &oldest).unwrap().unwrap();
        assert_eq!(*upgraded, *image(&now, &[Field::Bytes(b"x"), Field::Null, Field::Int(7)]));
        let middle = image(&[int, int, text], &[Field::Int(8), Field::Int(1), Field::Null]);
        let upgraded = both.upgrade(at(15), &middle).unwrap().unwrap();
        assert_eq!(*upgraded, *image(&now, &[Field::Null, Field::Null, Field::Int(8)]));
        assert_eq!(both.upgrade(at(21), &middle).unwrap(), None);
        assert!(both.upgrade(at(9), &oldest[..3]).is_err());
    }
}
