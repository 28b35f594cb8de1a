//! Rows of values, kept as a whole: what a derived table or a subquery gives.
//!
//! They are values in memory, and beyond the budget encoded rows in the blocks of a temporary file,
//! each row after its length. Where each block begins is kept, so that any row can be read; a
//! [`RowReader`] keeps the block that it read last.

use std::ops::Range;

use crate::session::Context;
use crate::spill::file::{SpillBlock, SpillFile};
use crate::spill::{Budget, Purpose, codec};
use crate::status::Counter;
use datum::error::Result;
use datum::value::Datum;

/// Rows of values.
#[derive(Debug, Default)]
pub(crate) struct RowSet {
    width: usize,
    length: usize,
    values: Vec<Datum<'static>>,
    budget: Option<Budget>,
    written: Option<Written>,
}

/// Rows that went to a file.
#[derive(Debug)]
struct Written {
    file: SpillFile,
    /// The first row of each block, and where it lies.
    blocks: Vec<(usize, SpillBlock)>,
    /// The first row of the block that is being made.
    first: usize,
    block: Vec<u8>,
    row: Vec<u8>,
    block_size: usize,
}

/// What is read of rows in a file.
#[derive(Debug, Default)]
pub(crate) struct RowReader {
    block: Vec<u8>,
    /// The rows in the block.
    rows: Range<usize>,
    /// The row after the one that was read last, and where it begins.
    next: usize,
    at: usize,
    /// Where every [`MARK_EVERY`]th row of the block begins, of those that were passed.
    marks: Vec<usize>,
    /// The row whose values these are.
    decoded: Option<usize>,
    values: Vec<Datum<'static>>,
}

/// Rows of a block have lengths, not places: to go back costs as many as lie between two marks.
const MARK_EVERY: usize = 16;

impl RowSet {
    /// An empty set of rows with so many columns.
    pub(crate) fn new(cx: &Context, width: usize) -> Self {
        Self { width, budget: Some(cx.budget(Purpose::Table)), ..Self::default() }
    }

    /// Adds a row.
    pub(crate) fn push(&mut self, values: &mut [Datum<'_>]) -> Result<()> {
        self.length += 1;
        if let Some(written) = &mut self.written {
            return written.push(values, self.length - 1);
        }
        let mut grown = std::mem::size_of_val(values);
        for value in values {
            grown += text_len(value);
            self.values.push(std::mem::take(value).into_owned());
        }
        let full = self.budget.as_mut().is_some_and(|budget| !budget.charge(grown));
        if full && self.width > 0 { self.overflow() } else { Ok(()) }
    }

    /// Writes all rows to a file.
    fn overflow(&mut self) -> Result<()> {
        let Some(budget) = &mut self.budget else { return Ok(()) };
        budget.count(Counter::CreatedTmpDiskTables);
        let block_size = budget.block_size();
        let (blocks, block, row) = Default::default();
        let mut written = Written { file: budget.file()?, blocks, first: 0, block, row, block_size };
        for (number, row) in self.values.chunks(self.width).enumerate() {
            written.push(row, number)?;
        }
        self.values = Vec::new();
        budget.release_all();
        budget.charge(block_size);
        self.written = Some(written);
        Ok(())
    }

    /// True if rows are read without a file.
    pub(crate) fn is_in_memory(&self) -> bool {
        self.written.is_none()
    }

    /// A row of a set in memory.
    pub(crate) fn row(&self, number: usize) -> &[Datum<'static>] {
        self.values.get(number * self.width..(number + 1) * self.width).unwrap_or_default()
    }

    /// A row, wherever it is. A reader is one set's.
    pub(crate) fn read<'r>(
        &'r self,
        number: usize,
        reader: &'r mut RowReader,
    ) -> Result<&'r [Datum<'static>]> {
        let Some(written) = &self.written else { return Ok(self.row(number)) };
        if !reader.rows.contains(&number) {
            written.load(number, self.length, reader)?;
        }
        reader.seek(number)?;
        Ok(&reader.values)
    }

    /// How many rows there are.
    pub(crate) fn len(&self) -> usize {
        self.length
    }

    /// True if there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.length == 0
    }
}

impl Written {
    fn push(&mut self, values: &[Datum<'_>], number: usize) -> Result<()> {
        self.row.clear();
        codec::put_row(values, &mut self.row);
        codec::put_text(&self.row, &mut self.block);
        if self.block.len() >= self.block_size {
            self.blocks.push((self.first, self.file.append(&self.block)?));
            self.first = number + 1;
            self.block.clear();
        }
        Ok(())
    }

    /// Has the reader hold the block of a row.
    fn load(&self, number: usize, length: usize, reader: &mut RowReader) -> Result<()> {
        (reader.rows, reader.at, reader.decoded) = (0..0, 0, None);
        reader.marks.clear();
        if number >= self.first {
            reader.block.clear();
            reader.block.extend_from_slice(&self.block);
            reader.rows = self.first..length;
        } else {
            let next = self.blocks.partition_point(|(first, _)| *first <= number);
            let end = self.blocks.get(next).map_or(self.first, |(first, _)| *first);
            if let Some((first, place)) = next.checked_sub(1).and_then(|block| self.blocks.get(block)) {
                self.file.read(*place, &mut reader.block)?;
                reader.rows = *first..end;
            }
        }
        reader.next = reader.rows.start;
        Ok(())
    }
}

impl RowReader {
    /// Decodes a row of the block.
    fn seek(&mut self, number: usize) -> Result<()> {
        if self.decoded == Some(number) {
            return Ok(());
        }
        if number < self.next {
            let mark = number.saturating_sub(self.rows.start) / MARK_EVERY;
            self.at = self.marks.get(mark).copied().unwrap_or(0);
            self.next = self.rows.start + mark * MARK_EVERY;
        }
        let mut rest = self.block.get(self.at..).unwrap_or_default();
        let mut row: &[u8] = &[];
        while self.next <= number {
            if self.next == self.rows.start + self.marks.len() * MARK_EVERY {
                self.marks.push(self.block.len() - rest.len());
            }
            row = codec::take_text(&mut rest)?;
            self.next += 1;
        }
        self.at = self.block.len() - rest.len();
        self.decoded = None;
        self.values.clear();
        while !row.is_empty() {
            self.values.push(codec::take(&mut row)?.into_owned());
        }
        self.decoded = Some(number);
        Ok(())
    }

    /// Hands over the row that was read.
    pub(super) fn take(&mut self, values: &mut Vec<Datum<'static>>) {
        std::mem::swap(&mut self.values, values);
        self.decoded = None;
    }
}

/// Bytes of text in a value.
fn text_len(value: &Datum<'_>) -> usize {
    match value {
        Datum::Bytes(b) | Datum::Bits(b) | Datum::Label(_, b) | Datum::Json(b) => b.len(),
        _ => 0,
    }
}
