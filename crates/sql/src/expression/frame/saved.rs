//! Rows of a block kept for later, in memory.

use std::sync::Arc;

use super::{Content, Frame, PUT_IMAGE, PUT_NULL, PUT_VALUES, RowSet};
use crate::spill::codec;
use datum::error::Result;

/// Rows of a block kept for later: those of a hash join, the representatives of groups, rows to be
/// changed.
#[derive(Debug, Default)]
pub(crate) struct SavedFrames {
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
    /// Keeps what the slots hold, and returns the place to find it at. Every frame is saved with
    /// the same slots.
    pub(crate) fn save(&mut self, frame: &Frame, slots: &[usize]) -> usize {
        let at = self.entries.len();
        for &source in slots {
            let slot = &frame.slots[source];
            self.entries.push(match slot.content {
                Content::Null => Saved::Null,
                Content::Row(number) => {
                    slot.rows.as_ref().map_or(Saved::Null, |rows| Saved::Row(rows.clone(), number))
                }
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
    pub(crate) fn restore(&self, at: usize, frame: &mut Frame, slots: &[usize]) -> Result<()> {
        for (&source, saved) in slots.iter().zip(&self.entries[at..]) {
            match saved {
                Saved::Null => frame.set_null(source),
                Saved::Row(rows, number) => frame.set_row(source, rows, *number)?,
                Saved::Image(start, end) => frame.set_image(source, &self.bytes[*start..*end])?,
                Saved::Values(start, end) => frame.set_values(source, &self.bytes[*start..*end])?,
            }
        }
        Ok(())
    }

    /// Appends what was saved of so many slots, as [`Frame::put`] would have done.
    pub(crate) fn put(&self, at: usize, slots: usize, out: &mut Vec<u8>) {
        let mut row = Vec::new();
        for saved in &self.entries[at..at + slots] {
            let (tag, content) = match saved {
                Saved::Null => {
                    out.push(PUT_NULL);
                    continue;
                }
                Saved::Image(start, end) => (PUT_IMAGE, &self.bytes[*start..*end]),
                Saved::Values(start, end) => (PUT_VALUES, &self.bytes[*start..*end]),
                Saved::Row(rows, number) => {
                    row.clear();
                    codec::put_row(rows.row(*number), &mut row);
                    (PUT_VALUES, &row[..])
                }
            };
            out.push(tag);
            codec::put_text(content, out);
        }
    }

    /// Bytes that it takes.
    pub(crate) fn memory(&self) -> usize {
        self.bytes.len() + self.entries.len() * std::mem::size_of::<Saved>()
    }
}
