//! Grouping: aggregates by the bytes of the group's key.

use std::collections::HashMap;

use crate::error::{self, Result};
use crate::expression::aggregate::{self, State};
use crate::expression::frame::{Frame, MEMORY_MAX, SavedFrames};
use crate::planner::Grouping;
use crate::session::Context;

/// What the key of a sum over all values ends with: the key of a value begins with 0 or 1.
const BEHIND_VALUES: u8 = 2;

/// Groups in the order they were met, or under WITH ROLLUP in the order of their keys, each before the sum that it is a
/// part of. Each is represented by the first of its rows.
pub struct Groups<'p> {
    plan: &'p Grouping,
    slots: Vec<usize>,
    numbers: HashMap<Vec<u8>, usize>,
    list: Vec<Group>,
    saved: SavedFrames,
    memory: usize,
    key: Vec<u8>,
}

struct Group {
    states: Vec<State>,
    /// How many of the keys it has one value of; the others are summed over.
    level: usize,
    /// Its key, where the groups are to be sorted by it.
    key: Vec<u8>,
    /// Where its first row was saved; it had none if this is absent.
    row: Option<usize>,
}

impl<'p> Groups<'p> {
    /// No group yet; rows have so many slots.
    pub fn new(plan: &'p Grouping, slots: usize) -> Self {
        Self {
            plan,
            slots: (0..slots).collect(),
            numbers: HashMap::new(),
            list: Vec::new(),
            saved: SavedFrames::default(),
            memory: 0,
            key: Vec::new(),
        }
    }

    /// Takes the frame's row into its group.
    ///
    /// # Errors
    /// 1038 if the groups take more memory than there may be.
    pub fn add(&mut self, cx: &mut Context, frame: &Frame) -> Result<()> {
        let mut key = std::mem::take(&mut self.key);
        key.clear();
        let mut ends = [0].to_vec();
        for expr in &self.plan.keys {
            let value = expr.eval(cx, frame.row())?;
            aggregate::sort_key(&value, &expr.ty, &mut key)?;
            if self.plan.rollup {
                ends.push(key.len());
            }
        }
        let level = self.plan.keys.len();
        self.add_to(cx, frame, &key, level)?;
        if self.plan.rollup {
            for (level, end) in ends.into_iter().enumerate().take(level).rev() {
                // Behind all values of the key that it is a sum over.
                key.truncate(end);
                key.push(BEHIND_VALUES);
                self.add_to(cx, frame, &key, level)?;
            }
        }
        self.key = key;
        Ok(())
    }

    /// Takes the frame's row into one group.
    fn add_to(&mut self, cx: &mut Context, frame: &Frame, key: &[u8], level: usize) -> Result<()> {
        let number = match self.numbers.get(key) {
            Some(&number) => number,
            None => {
                self.memory += key.len() + 256;
                let row = self.saved.save(frame, &self.slots)?;
                self.begin(Some(row), level);
                if self.plan.rollup {
                    self.memory += key.len();
                    self.list.last_mut().expect("it was begun above").key = key.to_vec();
                }
                self.numbers.insert(key.to_vec(), self.list.len() - 1);
                self.list.len() - 1
            }
        };
        for (state, aggregate) in self.list[number].states.iter_mut().zip(&self.plan.aggregates) {
            self.memory += state.add(aggregate, cx, frame.row())?;
        }
        if self.memory + self.saved.memory() > MEMORY_MAX {
            return Err(error::OUT_OF_SORTMEMORY.plain());
        }
        Ok(())
    }

    fn begin(&mut self, row: Option<usize>, level: usize) {
        let states = self.plan.aggregates.iter().map(State::new).collect();
        self.list.push(Group { states, row, level, key: Vec::new() });
    }

    /// Puts each group into the frame, as its first row and its aggregates, and calls `each`, until that says false.
    pub fn finish(
        mut self,
        cx: &mut Context,
        frame: &mut Frame,
        each: &mut dyn FnMut(&mut Context, &mut Frame) -> Result<bool>,
    ) -> Result<()> {
        if (self.plan.keys.is_empty() || self.plan.rollup) && self.list.is_empty() {
            // Without GROUP BY there is one group, even of no rows, and WITH ROLLUP there is a sum over all.
            self.begin(None, 0);
        }
        let mut list = std::mem::take(&mut self.list);
        if self.plan.rollup {
            list.sort_by(|a, b| a.key.cmp(&b.key));
        }
        for group in list {
            let made = group.states.into_iter().zip(&self.plan.aggregates).map(|(s, a)| s.finish(a, cx));
            frame.aggregates.clear();
            frame.aggregates.extend(made);
            match group.row {
                Some(row) => self.saved.restore(row, frame, &self.slots)?,
                None => frame.clear(),
            }
            if self.plan.rollup {
                let mut keys = Vec::with_capacity(group.level);
                for expr in &self.plan.keys[..group.level] {
                    keys.push(expr.eval(cx, frame.row())?.into_owned());
                }
                frame.group_keys = keys;
            }
            if !each(cx, frame)? {
                break;
            }
        }
        Ok(())
    }
}
