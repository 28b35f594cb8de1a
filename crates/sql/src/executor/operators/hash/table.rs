//! The inner side's rows, by their keys.

use std::collections::HashMap;

use crate::expression::frame::{Frame, SavedFrames};
use crate::spill::{Budget, KEY_OVERHEAD};
use datum::error::Result;

/// No further row in a chain.
pub(super) const END: u32 = u32::MAX;

/// Rows by their keys.
pub(super) struct Table {
    saved: SavedFrames,
    /// Where each row was saved, and the row before it with the same key.
    rows: Vec<(usize, u32)>,
    last: HashMap<Box<[u8]>, u32>,
    budget: Budget,
}

impl Table {
    /// No row yet.
    pub(super) fn new(budget: Budget) -> Self {
        Self { saved: SavedFrames::default(), rows: Vec::new(), last: HashMap::new(), budget }
    }

    /// Takes the row in the frame's slots in; false if there should be no more.
    pub(super) fn insert(&mut self, key: &[u8], frame: &Frame, slots: &[usize]) -> bool {
        let number = self.rows.len() as u32;
        let before = self.saved.memory();
        let place = self.saved.save(frame, slots);
        let mut grown = self.saved.memory() - before + std::mem::size_of::<(usize, u32)>();
        let earlier = match self.last.get_mut(key) {
            Some(last) => std::mem::replace(last, number),
            None => {
                grown += key.len() + KEY_OVERHEAD;
                self.last.insert(key.into(), number);
                END
            }
        };
        self.rows.push((place, earlier));
        self.budget.charge(grown) && number < END - 1
    }

    /// The last row of a key.
    pub(super) fn find(&self, key: &[u8]) -> u32 {
        self.last.get(key).copied().unwrap_or(END)
    }

    /// Puts a row back into the slots; the row before it with the same key.
    pub(super) fn restore(&self, number: u32, frame: &mut Frame, slots: &[usize]) -> Result<u32> {
        let (place, before) = self.rows[number as usize];
        self.saved.restore(place, frame, slots)?;
        Ok(before)
    }

    /// True if there are different keys.
    pub(super) fn is_divisible(&self) -> bool {
        self.last.len() > 1
    }

    /// Calls `each` with each row's key and what [`Frame::put`] makes of its slots, of which there
    /// are so many.
    pub(super) fn each(&self, slots: usize, mut each: impl FnMut(&[u8], &[u8]) -> Result<()>) -> Result<()> {
        let mut record = Vec::new();
        for (key, &last) in &self.last {
            let mut number = last;
            while number != END {
                let (place, before) = self.rows[number as usize];
                record.clear();
                self.saved.put(place, slots, &mut record);
                each(key, &record)?;
                number = before;
            }
        }
        Ok(())
    }
}
