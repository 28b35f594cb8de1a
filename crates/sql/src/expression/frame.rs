//! The row of a query block while it runs: a slot for each source, filled by the block's operators.
//!
//! A slot holds a stored row's image, or a row of a [`RowSet`], or nothing: the null complement of an outer join, whose
//! columns are all NULL. Images are copied into memory that the slot keeps, so that a scan allocates nothing per row and
//! a row stays where it is while other operators move on.

use std::sync::Arc;

use super::row::{ImageRow, Offsets, Row};
use crate::catalog::TableDef;
use crate::error::{self, Result, SqlError};
use crate::executor::spill::codec;
use crate::session::Context;
use crate::value::Datum;
use crate::value::zone::Zone;

/// Bytes that one sorting, grouping, or set of rows may take.
pub const MEMORY_MAX: usize = 256 << 20;

/// What a slot that was put away held.
const PUT_NULL: u8 = 0;
const PUT_IMAGE: u8 = 1;
const PUT_VALUES: u8 = 2;

/// How many rows are walked between two looks at KILL's mark.
const INTERRUPT_STEPS: u64 = 256;

/// A block's row.
#[derive(Debug, Default)]
pub struct Frame {
    slots: Vec<Slot>,
    /// The values of the block's aggregates, for a row that stands for a group.
    pub aggregates: Vec<Datum<'static>>,
    /// The values of GROUP BY's expressions under WITH ROLLUP: those that the row is not a sum over.
    pub group_keys: Vec<Datum<'static>>,
    steps: u64,
}

#[derive(Debug, Default)]
struct Slot {
    content: Content,
    table: Option<Arc<TableDef>>,
    image: Vec<u8>,
    offsets: Offsets,
    rows: Arc<RowSet>,
    values: Vec<Datum<'static>>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Content {
    /// All columns are NULL.
    #[default]
    Null,
    /// The row in `image`.
    Image,
    /// This one of `rows`.
    Row(usize),
    /// The row in `values`.
    Values,
}

impl Frame {
    /// A frame of slots without rows: for each source its table, if it is one.
    pub fn new(tables: impl Iterator<Item = Option<Arc<TableDef>>>) -> Self {
        let slots = tables.map(|table| Slot { table, ..Slot::default() }).collect();
        Self { slots, ..Self::default() }
    }

    /// Puts a stored row into a slot.
    pub fn set_image(&mut self, source: usize, image: &[u8]) -> Result<()> {
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
    pub fn set_row(&mut self, source: usize, rows: &Arc<RowSet>, number: usize) {
        let slot = &mut self.slots[source];
        if !Arc::ptr_eq(&slot.rows, rows) {
            slot.rows = rows.clone();
        }
        slot.content = Content::Row(number);
    }

    /// Makes all columns of a slot NULL.
    pub fn set_null(&mut self, source: usize) {
        self.slots[source].content = Content::Null;
    }

    /// Makes all columns of all slots NULL.
    pub fn clear(&mut self) {
        self.slots.iter_mut().for_each(|slot| slot.content = Content::Null);
    }

    /// The stored row in a slot, if there is one.
    pub fn image(&self, source: usize) -> Option<&[u8]> {
        let slot = self.slots.get(source)?;
        (slot.content == Content::Image).then_some(&slot.image)
    }

    /// A source's column.
    pub fn column(&self, source: usize, column: usize, zone: Zone) -> Result<Datum<'_>> {
        let slot = self.slots.get(source);
        let slot = slot.ok_or_else(|| SqlError::internal("a column of a source that is not there"))?;
        match (slot.content, &slot.table) {
            (Content::Image, Some(table)) => {
                ImageRow { table, image: &slot.image, offsets: &slot.offsets }.column(column, zone)
            }
            (Content::Row(number), _) => {
                Ok(slot.rows.row(number).get(column).map_or(Datum::Null, Datum::borrow))
            }
            (Content::Values, _) => Ok(slot.values.get(column).map_or(Datum::Null, Datum::borrow)),
            _ => Ok(Datum::Null),
        }
    }

    /// A column's bytes as the image has them, where the slot holds an image; the inner `None` is NULL.
    pub fn raw(&self, source: usize, column: usize) -> Option<Option<&[u8]>> {
        let slot = self.slots.get(source)?;
        match slot.content {
            Content::Image => Some(slot.offsets.raw(&slot.image, column)),
            _ => None,
        }
    }

    /// Appends what the slots hold, for a temporary file: for each a tag, and its image or its values behind their length.
    pub fn put(&self, slots: &[usize], out: &mut Vec<u8>) {
        let mut row = Vec::new();
        for &source in slots {
            let slot = &self.slots[source];
            let values = match slot.content {
                Content::Null => {
                    out.push(PUT_NULL);
                    continue;
                }
                Content::Image => {
                    out.push(PUT_IMAGE);
                    codec::put_text(&slot.image, out);
                    continue;
                }
                Content::Row(number) => slot.rows.row(number),
                Content::Values => &slot.values,
            };
            row.clear();
            codec::put_row(values, &mut row);
            out.push(PUT_VALUES);
            codec::put_text(&row, out);
        }
    }

    /// Puts back into the slots what [`Self::put`] took from them.
    pub fn take(&mut self, slots: &[usize], mut bytes: &[u8]) -> Result<()> {
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

    /// Puts a row of encoded values into a slot.
    pub fn set_values(&mut self, source: usize, mut row: &[u8]) -> Result<()> {
        let slot = &mut self.slots[source];
        slot.values.clear();
        while !row.is_empty() {
            slot.values.push(codec::take(&mut row)?.into_owned());
        }
        slot.content = Content::Values;
        Ok(())
    }

    /// The frame as a row.
    pub fn row(&self) -> Row<'_> {
        Row::Frame(self)
    }

    /// Rows that were looked at.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Counts a row that was looked at; error 1317 if somebody killed the statement.
    pub fn tick(&mut self, cx: &Context) -> Result<()> {
        self.steps = self.steps.wrapping_add(1);
        if self.steps.is_multiple_of(INTERRUPT_STEPS) {
            cx.check_interrupt()?;
        }
        Ok(())
    }
}

/// Rows of a block kept for later: those of a hash join, the representatives of groups, rows to be changed.
#[derive(Debug, Default)]
pub struct SavedFrames {
    bytes: Vec<u8>,
    entries: Vec<Saved>,
}

#[derive(Debug)]
enum Saved {
    Null,
    Image(usize, usize),
    Row(Arc<RowSet>, usize),
    Values(usize, usize),
}

impl SavedFrames {
    /// Keeps what the slots hold, and returns the place to find it at. Every frame is saved with the same slots.
    pub fn save(&mut self, frame: &Frame, slots: &[usize]) -> usize {
        let at = self.entries.len();
        for &source in slots {
            let slot = &frame.slots[source];
            self.entries.push(match slot.content {
                Content::Null => Saved::Null,
                Content::Row(number) => Saved::Row(slot.rows.clone(), number),
                Content::Image => {
                    let start = self.bytes.len();
                    self.bytes.extend_from_slice(&slot.image);
                    Saved::Image(start, self.bytes.len())
                }
                Content::Values => {
                    let start = self.bytes.len();
                    codec::put_row(&slot.values, &mut self.bytes);
                    Saved::Values(start, self.bytes.len())
                }
            });
        }
        at
    }

    /// Puts what was saved back into the slots.
    pub fn restore(&self, at: usize, frame: &mut Frame, slots: &[usize]) -> Result<()> {
        for (&source, saved) in slots.iter().zip(&self.entries[at..]) {
            match saved {
                Saved::Null => frame.set_null(source),
                Saved::Row(rows, number) => frame.set_row(source, rows, *number),
                Saved::Image(start, end) => frame.set_image(source, &self.bytes[*start..*end])?,
                Saved::Values(start, end) => frame.set_values(source, &self.bytes[*start..*end])?,
            }
        }
        Ok(())
    }

    /// Bytes that it takes.
    pub fn memory(&self) -> usize {
        self.bytes.len() + self.entries.len() * std::mem::size_of::<Saved>()
    }

    /// True if nothing was saved.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

/// Rows of values: what a derived table or a subquery gives.
#[derive(Debug, Default)]
pub struct RowSet {
    width: usize,
    length: usize,
    values: Vec<Datum<'static>>,
    text: usize,
}

impl RowSet {
    /// An empty set of rows with so many columns.
    pub fn new(width: usize) -> Self {
        Self { width, ..Self::default() }
    }

    /// Adds a row.
    ///
    /// # Errors
    /// 1038 if the rows take more memory than there may be.
    pub fn push(&mut self, values: &mut [Datum<'_>]) -> Result<()> {
        self.length += 1;
        for value in values {
            self.text += text_len(value);
            self.values.push(std::mem::take(value).into_owned());
        }
        if self.text + self.values.len() * std::mem::size_of::<Datum<'_>>() > MEMORY_MAX {
            return Err(error::OUT_OF_SORTMEMORY.plain());
        }
        Ok(())
    }

    /// A row.
    pub fn row(&self, number: usize) -> &[Datum<'static>] {
        self.values.get(number * self.width..(number + 1) * self.width).unwrap_or_default()
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.length
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }
}

/// Bytes of text in a value.
pub fn text_len(value: &Datum<'_>) -> usize {
    match value {
        Datum::Bytes(b) | Datum::Bits(b) | Datum::Label(_, b) | Datum::Json(b) => b.len(),
        _ => 0,
    }
}
