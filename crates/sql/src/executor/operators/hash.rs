//! A join by a hash table: the inner side's rows are kept by their keys, the outer rows probe it
//! for partners among them.
//!
//! (H1) The inner side reads nothing of the outer side, so the table is made once, however often
//!      the join is opened.
//! (H2) Joined rows come in the order of the outer rows; from a join that went to files ([`grace`])
//!      only if that is wanted, for they have to be sorted then.

mod grace;
mod table;

use self::grace::{Divider, Grace};
use self::table::{END, Table};
use super::{Running, accepts};
use crate::expression::frame::Frame;
use crate::planner::{Hash, JoinKind};
use crate::session::Context;
use crate::spill::Purpose;
use crate::spill::sort::{Sorted, Sorter};
use datum::error::Result;

/// A join by a hash table, running.
pub(crate) struct HashRun<'p> {
    plan: &'p Hash,
    outer: Running<'p>,
    inner: Inner,
    /// The next partner of the outer row.
    at: u32,
    /// There is an outer row whose partners are being walked.
    inside: bool,
    matched: bool,
    /// The outer row's number, in a join that went to files.
    number: u64,
    /// The joined rows of a join that went to files, in the order of the outer rows.
    sorted: Option<Sorted>,
    /// Joined rows so far, before the filter.
    pub(super) joined: u64,
    key: Vec<u8>,
}

/// The inner side's rows.
enum Inner {
    /// Not read yet.
    Unread,
    /// All in memory.
    Memory(Table),
    /// Divided into files.
    Files(Box<Grace>),
}

impl<'p> HashRun<'p> {
    pub(super) fn new(cx: &Context, plan: &'p Hash) -> Self {
        Self {
            plan,
            outer: Running::new(cx, &plan.outer),
            inner: Inner::Unread,
            at: END,
            inside: false,
            matched: false,
            number: 0,
            sorted: None,
            joined: 0,
            key: Vec::new(),
        }
    }

    pub(super) fn open(&mut self, cx: &mut Context, frame: &mut Frame) -> Result<()> {
        (self.inside, self.sorted) = (false, None);
        match &mut self.inner {
            Inner::Unread => self.inner = self.build(cx, frame)?,
            Inner::Memory(_) => {}
            Inner::Files(grace) => grace.open(),
        }
        self.outer.open(cx, frame)
    }

    fn build(&mut self, cx: &mut Context, frame: &mut Frame) -> Result<Inner> {
        let budget = cx.budget(Purpose::Join);
        let slots = &self.plan.inner_slots;
        let mut table = Table::new(budget.another());
        let mut inner = Running::new(cx, &self.plan.inner);
        inner.open(cx, frame)?;
        let mut key = Vec::new();
        let mut fits = true;
        while fits && inner.next(cx, frame)? {
            if self.key_of(cx, frame, false, &mut key)? {
                fits = table.insert(&key, frame, slots);
            }
        }
        if fits {
            return Ok(Inner::Memory(table));
        }
        let seed = u64::from_le_bytes(cx.random_bytes()[..8].try_into().unwrap_or_default());
        let mut divider = Grace::begin(&table, &budget, seed, slots.len())?;
        drop(table);
        while inner.next(cx, frame)? {
            if self.key_of(cx, frame, false, &mut key)? {
                divider.push_inner(&key, frame, slots)?;
            }
        }
        let mut outer_slots = Vec::new();
        self.plan.outer.slots(&mut outer_slots);
        Ok(Inner::Files(Box::new(Grace::new(divider, budget, slots, outer_slots)?)))
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
        match &self.inner {
            Inner::Files(grace) if self.plan.ordered => {
                let slots = [grace.outer_slots(), &self.plan.inner_slots].concat();
                self.next_sorted(cx, frame, &slots)
            }
            _ => self.next_joined(cx, frame),
        }
    }

    /// The next joined row, whichever it is.
    fn next_joined(&mut self, cx: &mut Context, frame: &mut Frame) -> Result<bool> {
        loop {
            if !self.inside && !self.next_outer(cx, frame)? {
                return Ok(false);
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

    /// The next joined row in the order of the outer rows (H2).
    fn next_sorted(&mut self, cx: &mut Context, frame: &mut Frame, slots: &[usize]) -> Result<bool> {
        if self.sorted.is_none() {
            let mut sorter = Sorter::new(cx.budget(Purpose::Join), u64::MAX);
            let mut record = Vec::new();
            while self.next_joined(cx, frame)? {
                record.clear();
                frame.put(slots, &mut record);
                sorter.push(&self.number.to_be_bytes(), &record)?;
            }
            self.sorted = Some(sorter.finish()?);
        }
        match self.sorted.as_mut().map(Sorted::advance).transpose()?.flatten() {
            Some((_, record)) => frame.take(slots, record).map(|()| true),
            None => Ok(false),
        }
    }

    /// Goes on to the next outer row.
    fn next_outer(&mut self, cx: &mut Context, frame: &mut Frame) -> Result<bool> {
        match &self.inner {
            Inner::Files(grace) if !grace.is_divided() => self.divide_outer(cx, frame)?,
            _ => {}
        }
        if let Inner::Files(grace) = &mut self.inner {
            let Some(row) = grace.next_outer(frame)? else { return Ok(false) };
            (self.at, self.matched, self.number) = (row.at, row.matched, row.number);
            if self.matched && !self.gives_all() {
                self.at = END;
            }
        } else {
            if !self.outer.next(cx, frame)? {
                return Ok(false);
            }
            let mut key = std::mem::take(&mut self.key);
            let whole = self.key_of(cx, frame, true, &mut key)?;
            self.at = self.table().filter(|_| whole).map_or(END, |table| table.find(&key));
            self.key = key;
            self.matched = false;
        }
        self.inside = true;
        Ok(true)
    }

    fn divide_outer(&mut self, cx: &mut Context, frame: &mut Frame) -> Result<()> {
        let Inner::Files(grace) = &self.inner else { return Ok(()) };
        let slots = grace.outer_slots().to_vec();
        let mut divider: Divider = grace.outer_divider()?;
        let complemented = matches!(self.plan.kind, JoinKind::Left | JoinKind::Anti);
        let mut key = std::mem::take(&mut self.key);
        while self.outer.next(cx, frame)? {
            let whole = self.key_of(cx, frame, true, &mut key)?;
            if whole || complemented {
                divider.push_outer(whole.then_some(&key), frame, &slots)?;
            }
        }
        self.key = key;
        match &mut self.inner {
            Inner::Files(grace) => grace.set_outer(divider),
            _ => Ok(()),
        }
    }

    fn table(&self) -> Option<&Table> {
        match &self.inner {
            Inner::Unread => None,
            Inner::Memory(table) => Some(table),
            Inner::Files(grace) => grace.table(),
        }
    }

    /// True if an outer row comes with each of its partners.
    fn gives_all(&self) -> bool {
        matches!(self.plan.kind, JoinKind::Inner | JoinKind::Left)
    }

    /// Goes on with the outer row's partners; true if there is a joined row.
    fn advance(&mut self, cx: &mut Context, frame: &mut Frame) -> Result<bool> {
        let kind = self.plan.kind;
        if let (Some(table), true) = (self.table(), self.at != END) {
            self.at = table.restore(self.at, frame, &self.plan.inner_slots)?;
            if !accepts(cx, &self.plan.on, frame)? {
                return Ok(false);
            }
            self.matched = true;
            if let Inner::Files(grace) = &mut self.inner {
                grace.note_match();
            }
            self.inside = self.gives_all();
            return Ok(kind != JoinKind::Anti);
        }
        self.inside = false;
        let last = if let Inner::Files(grace) = &self.inner { grace.is_last_round() } else { true };
        let complemented = last && !self.matched && matches!(kind, JoinKind::Left | JoinKind::Anti);
        if complemented {
            self.plan.inner_slots.iter().for_each(|&slot| frame.set_null(slot));
        }
        Ok(complemented)
    }
}
