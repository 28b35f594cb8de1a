//! A join by a hash table: the inner side's rows are kept by their keys, the outer rows look for partners among them.
//!
//! (H1) The inner side reads nothing of the outer side, so the table is made once, however often the join is opened.

use std::collections::HashMap;

use super::{Running, accepts};
use crate::error::{self, Result};
use crate::expression::frame::{Frame, MEMORY_MAX, SavedFrames};
use crate::planner::{Hash, JoinKind};
use crate::session::Context;

/// No further row in a chain.
const END: u32 = u32::MAX;

/// A join by a hash table, running.
pub struct HashRun<'p> {
    plan: &'p Hash,
    outer: Running<'p>,
    table: Option<Table>,
    /// The next partner of the outer row.
    at: u32,
    /// There is an outer row whose partners are being walked.
    inside: bool,
    matched: bool,
    /// Joined rows so far, before the filter.
    pub(super) joined: u64,
    key: Vec<u8>,
}

/// The inner side's rows.
#[derive(Default)]
struct Table {
    saved: SavedFrames,
    /// Where each row was saved, and the row before it with the same key.
    rows: Vec<(usize, u32)>,
    last: HashMap<Box<[u8]>, u32>,
}

impl<'p> HashRun<'p> {
    pub(super) fn new(cx: &Context, plan: &'p Hash) -> Self {
        let outer = Running::new(cx, &plan.outer);
        Self { plan, outer, table: None, at: END, inside: false, matched: false, joined: 0, key: Vec::new() }
    }

    pub(super) fn open(&mut self, cx: &mut Context, frame: &mut Frame) -> Result<()> {
        if self.table.is_none() {
            self.table = Some(self.build(cx, frame)?);
        }
        self.inside = false;
        self.outer.open(cx, frame)
    }

    fn build(&mut self, cx: &mut Context, frame: &mut Frame) -> Result<Table> {
        let mut table = Table::default();
        let mut memory = 0;
        let mut inner = Running::new(cx, &self.plan.inner);
        inner.open(cx, frame)?;
        let mut key = Vec::new();
        while inner.next(cx, frame)? {
            if !self.key_of(cx, frame, false, &mut key)? {
                continue;
            }
            let number = table.rows.len() as u32;
            let saved = table.saved.save(frame, &self.plan.inner_slots);
            let before = match table.last.get_mut(key.as_slice()) {
                Some(last) => std::mem::replace(last, number),
                None => {
                    memory += key.len() + 64;
                    table.last.insert(key.as_slice().into(), number);
                    END
                }
            };
            table.rows.push((saved, before));
            memory += 16;
            if memory + table.saved.memory() > MEMORY_MAX || number == END - 1 {
                return Err(error::OUT_OF_SORTMEMORY.plain());
            }
        }
        Ok(table)
    }

    /// Makes the key of one side's row; false if a part is NULL, which equals nothing.
    fn key_of(&self, cx: &mut Context, frame: &Frame, outer: bool, key: &mut Vec<u8>) -> Result<bool> {
        key.clear();
        for (left, right, by) in &self.plan.keys {
            let value = if outer { left } else { right }.eval(cx, frame.row())?;
            if value.is_null() {
                return Ok(false);
            }
            by.key(cx, &value, key)?;
        }
        Ok(true)
    }

    pub(super) fn next(&mut self, cx: &mut Context, frame: &mut Frame) -> Result<bool> {
        loop {
            if !self.inside {
                if !self.outer.next(cx, frame)? {
                    return Ok(false);
                }
                let mut key = std::mem::take(&mut self.key);
                let whole = self.key_of(cx, frame, true, &mut key)?;
                let table = self.table.as_ref().filter(|_| whole);
                self.at = table.and_then(|t| t.last.get(key.as_slice())).copied().unwrap_or(END);
                self.key = key;
                (self.inside, self.matched) = (true, false);
            }
            frame.tick(cx)?;
            if !self.advance(cx, frame)? {
                continue;
            }
            self.joined += 1;
            if accepts(cx, &self.plan.filter, frame)? {
                return Ok(true);
            }
        }
    }

    /// Goes on with the outer row's partners; true if there is a joined row.
    fn advance(&mut self, cx: &mut Context, frame: &mut Frame) -> Result<bool> {
        let kind = self.plan.kind;
        if let (Some(table), true) = (&self.table, self.at != END) {
            let (saved, before) = table.rows[self.at as usize];
            self.at = before;
            table.saved.restore(saved, frame, &self.plan.inner_slots)?;
            if !accepts(cx, &self.plan.on, frame)? {
                return Ok(false);
            }
            self.matched = true;
            self.inside = matches!(kind, JoinKind::Inner | JoinKind::Left);
            return Ok(kind != JoinKind::Anti);
        }
        self.inside = false;
        let complemented = !self.matched && matches!(kind, JoinKind::Left | JoinKind::Anti);
        if complemented {
            self.plan.inner_slots.iter().for_each(|&slot| frame.set_null(slot));
        }
        Ok(complemented)
    }
}
