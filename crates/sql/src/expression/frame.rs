//! The row of a query block while it runs: a slot for each source, filled by the block's operators.
//!
//! A slot holds a stored row's image, or a row of a [`RowSet`], or nothing: the null complement of
//! an outer join, whose columns are all NULL. Images are copied into memory that the slot keeps, so
//! that a scan allocates nothing per row and a row stays where it is while other operators move on.

mod pool;
mod rows;
mod saved;

pub(crate) use pool::FramePool;
pub(crate) use rows::{RowReader, RowSet};
pub(crate) use saved::SavedFrames;

use std::sync::Arc;

use super::row::{ImageRow, Offsets, Row};
use crate::catalog::TableDef;
use crate::session::Context;
use crate::spill::codec;
use datum::error::{Result, SqlError};
use datum::value::Datum;
use datum::value::zone::Zone;

/// What a slot that was put away held.
const PUT_NULL: u8 = 0;
const PUT_IMAGE: u8 = 1;
const PUT_VALUES: u8 = 2;

/// What an image that was put away takes besides its bytes, at most: the tag and its length.
const PUT_AROUND: usize = 1 + 5;

/// How many rows are read between two checks for KILL.
const INTERRUPT_STEPS: u64 = 256;

/// So much memory for a row is kept from one execution of a plan to the next.
const IMAGE_RECYCLED: usize = 4 << 10;

/// Empties a row's memory, and keeps a little of it for the next execution of a plan.
pub(crate) fn recycle(image: &mut Vec<u8>) {
    // Before: no more than what is in it can be given back.
    image.clear();
    image.shrink_to(IMAGE_RECYCLED);
}

/// A block's row.
#[derive(Debug, Default)]
pub(crate) struct Frame {
    slots: Vec<Slot>,
    /// The values of the block's aggregates, for a row that stands for a group.
    pub aggregates: Vec<Datum<'static>>,
    /// The values of GROUP BY's expressions under WITH ROLLUP: those that the row is not a sum
    /// over.
    pub(crate) group_keys: Vec<Datum<'static>>,
    /// The values of the block's window functions, as far as they are computed.
    pub(crate) windows: Vec<Datum<'static>>,
    steps: u64,
}

#[derive(Debug, Default)]
struct Slot {
    content: Content,
    table: Option<Arc<TableDef>>,
    image: Vec<u8>,
    offsets: Offsets,
    rows: Option<Arc<RowSet>>,
    reader: RowReader,
    values: Vec<Datum<'static>>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Content {
    /// All columns are NULL.
    #[default]
    Null,
    /// The row in `image`.
    Image,
    Row(usize),
    /// The row in `values`.
    Values,
}

impl Slot {
    /// The row of values that it holds.
    fn values(&self) -> &[Datum<'static>] {
        match self.content {
            Content::Row(number) => self.rows.as_ref().map_or(&[], |rows| rows.row(number)),
            Content::Values => &self.values,
            Content::Null | Content::Image => &[],
        }
    }
}

impl Frame {
    /// A frame of slots without rows: for each source its table, if it is one.
    pub(crate) fn new(tables: impl Iterator<Item = Option<Arc<TableDef>>>) -> Self {
        let slots = tables.map(|table| Slot { table, ..Slot::default() }).collect();
        Self { slots, ..Self::default() }
    }

    /// Puts a stored row into a slot.
    pub(crate) fn set_image(&mut self, source: usize, image: &[u8]) -> Result<()> {
        let slot = &mut self.slots[source];
        slot.image.clear();
        slot.image.extend_from_slice(image);
        if let Some(table) = &slot.table {
            slot.offsets.find(table, &slot.image)?;
        }
        slot.content = Content::Image;
        Ok(())
    }

    /// Puts a row of a set into a slot.
    pub(crate) fn set_row(&mut self, source: usize, rows: &Arc<RowSet>, number: usize) -> Result<()> {
        let slot = &mut self.slots[source];
        if !slot.rows.as_ref().is_some_and(|last| Arc::ptr_eq(last, rows)) {
            slot.rows = Some(rows.clone());
            slot.reader = RowReader::default();
        }
        if rows.is_in_memory() {
            slot.content = Content::Row(number);
            return Ok(());
        }
        rows.read(number, &mut slot.reader)?;
        slot.reader.take(&mut slot.values);
        slot.content = Content::Values;
        Ok(())
    }

    /// Makes all columns of a slot NULL.
    pub(crate) fn set_null(&mut self, source: usize) {
        self.slots[source].content = Content::Null;
    }

    /// Puts it away until the next execution: without rows, and without the memory of large ones.
    pub(crate) fn recycle(&mut self) {
        self.clear();
        for slot in &mut self.slots {
            recycle(&mut slot.image);
            slot.values.clear();
        }
    }

    /// Makes all columns of all slots NULL.
    pub(crate) fn clear(&mut self) {
        self.slots.iter_mut().for_each(|slot| slot.content = Content::Null);
    }

    /// The stored row in a slot, if there is one.
    pub(crate) fn image(&self, source: usize) -> Option<&[u8]> {
        let slot = self.slots.get(source)?;
        (slot.content == Content::Image).then_some(&slot.image)
    }

    /// The same, with where its columns lie.
    pub(crate) fn image_row(&self, source: usize) -> Option<ImageRow<'_>> {
        let slot = self.slots.get(source).filter(|slot| slot.content == Content::Image)?;
        Some(ImageRow { table: slot.table.as_ref()?, image: &slot.image, offsets: &slot.offsets })
    }

    /// The row in a slot, stored or made; one of NULLs where there is none.
    pub(crate) fn row_of(&self, source: usize) -> Row<'_> {
        match self.image_row(source) {
            Some(row) => Row::Image(row),
            None => Row::Values(self.slots.get(source).map_or(&[], Slot::values)),
        }
    }

    /// A source's column.
    pub(crate) fn column(&self, source: usize, column: usize, zone: Zone) -> Result<Datum<'_>> {
        let slot = self.slots.get(source);
        let slot = slot.ok_or_else(|| SqlError::internal("a column of a source that is not there"))?;
        match (slot.content, &slot.table) {
            (Content::Image, Some(table)) => {
                ImageRow { table, image: &slot.image, offsets: &slot.offsets }.column(column, zone)
            }
            (Content::Row(_) | Content::Values, _) => {
                Ok(slot.values().get(column).map_or(Datum::Null, Datum::borrow))
            }
            _ => Ok(Datum::Null),
        }
    }

    /// Appends what the slots hold, for a temporary file: for each a tag, and its image or its
    /// values after their length.
    pub(crate) fn put(&self, slots: &[usize], out: &mut Vec<u8>) {
        let mut row = Vec::new();
        for &source in slots {
            let slot = &self.slots[source];
            match slot.content {
                Content::Null => out.push(PUT_NULL),
                Content::Image => {
                    out.reserve(slot.image.len() + PUT_AROUND);
                    out.push(PUT_IMAGE);
                    codec::put_text(&slot.image, out);
                }
                Content::Row(_) | Content::Values => {
                    row.clear();
                    codec::put_row(slot.values(), &mut row);
                    out.push(PUT_VALUES);
                    codec::put_text(&row, out);
                }
            }
        }
    }

    /// Puts back into the slots what [`Self::put`] took from them.
    pub(crate) fn take(&mut self, slots: &[usize], mut bytes: &[u8]) -> Result<()> {
        for &source in slots {
            let (tag, rest) = bytes.split_first().unwrap_or((&PUT_NULL, &[]));
            bytes = rest;
            match *tag {
                PUT_NULL => self.set_null(source),
                PUT_IMAGE => self.set_image(source, codec::take_text(&mut bytes)?)?,
                _ => self.set_values(source, codec::take_text(&mut bytes)?)?,
            }
        }
        Ok(())
    }

    /// Appends the whole row for a temporary file, with what its group and windows gave.
    pub(crate) fn put_row(&self, slots: &[usize], out: &mut Vec<u8>) {
        let mut row = Vec::new();
        for values in [&self.aggregates, &self.group_keys, &self.windows] {
            row.clear();
            codec::put_row(values, &mut row);
            codec::put_text(&row, out);
        }
        self.put(slots, out);
    }

    /// Puts back what [`Self::put_row`] took.
    pub(crate) fn take_row(&mut self, slots: &[usize], mut bytes: &[u8]) -> Result<()> {
        for values in [&mut self.aggregates, &mut self.group_keys, &mut self.windows] {
            let mut row = codec::take_text(&mut bytes)?;
            values.clear();
            while !row.is_empty() {
                values.push(codec::take(&mut row)?.into_owned());
            }
        }
        self.take(slots, bytes)
    }

    /// Puts a row of encoded values into a slot.
    pub(crate) fn set_values(&mut self, source: usize, mut row: &[u8]) -> Result<()> {
        let slot = &mut self.slots[source];
        slot.values.clear();
        while !row.is_empty() {
            slot.values.push(codec::take(&mut row)?.into_owned());
        }
        slot.content = Content::Values;
        Ok(())
    }

    /// Puts values that were computed for the row into a slot.
    pub(crate) fn set_computed(&mut self, source: usize, values: Vec<Datum<'static>>) {
        if let Some(slot) = self.slots.get_mut(source) {
            slot.values = values;
            slot.content = Content::Values;
        }
    }

    /// How many slots it has.
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(crate) fn row(&self) -> Row<'_> {
        Row::Frame(self)
    }

    /// Rows that were examined.
    pub(crate) fn steps(&self) -> u64 {
        self.steps
    }

    /// Counts a row that was examined; error 1317 if somebody killed the statement, 3170 if it
    /// takes too much memory.
    pub(crate) fn tick(&mut self, cx: &Context) -> Result<()> {
        self.steps = self.steps.wrapping_add(1);
        datum::bounds::check()?;
        if self.steps.is_multiple_of(INTERRUPT_STEPS) {
            cx.check_interrupt()?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recycled_memory_is_little_of_a_large_row_and_all_of_a_small_one() {
        let mut frame = Frame { slots: vec![Slot::default(), Slot::default()], ..Frame::default() };
        frame.slots[0].image = vec![1; 1 << 20];
        frame.slots[1].image = Vec::with_capacity(100);
        frame.recycle();
        assert_eq!(frame.slots[0].image.capacity(), IMAGE_RECYCLED);
        assert_eq!(frame.slots[1].image.capacity(), 100);
    }
}
