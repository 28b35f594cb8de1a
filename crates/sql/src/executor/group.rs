//! Grouping: aggregates by the bytes of the group's key.

use std::collections::HashMap;

use crate::error::{self, Result};
use crate::expression::aggregate::{self, State};
use crate::expression::frame::{Frame, MEMORY_MAX, SavedFrames};
use crate::planner::Grouping;
use crate::session::Context;

/// Groups in the order they were met. Each is represented by the first of its rows.
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
        for expr in &self.plan.keys {
            let value = expr.eval(cx, frame.row())?;
            aggregate::sort_key(&value, &expr.ty, &mut key)?;
        }
        let number = match self.numbers.get(&key) {
            Some(&number) => number,
            None => {
                self.memory += key.len() + 256;
                let row = self.saved.save(frame, &self.slots)?;
                self.begin(Some(row));
                self.numbers.insert(key.clone(), self.list.len() - 1);
                self.list.len() - 1
            }
        };
        self.key = key;
        for (state, aggregate) in self.list[number].states.iter_mut().zip(&self.plan.aggregates) {
            self.memory += state.add(aggregate, cx, frame.row())?;
        }
        if self.memory + self.saved.memory() > MEMORY_MAX {
            return Err(error::OUT_OF_SORTMEMORY.plain());
        }
        Ok(())
    }

    fn begin(&mut self, row: Option<usize>) {
        let states = self.plan.aggregates.iter().map(State::new).collect();
        self.list.push(Group { states, row });
    }

    /// Puts each group into the frame, as its first row and its aggregates, and calls `each`, until that says false.
    pub fn finish(
        mut self,
        cx: &mut Context,
        frame: &mut Frame,
        each: &mut dyn FnMut(&mut Context, &mut Frame) -> Result<bool>,
    ) -> Result<()> {
        if self.plan.keys.is_empty() && self.list.is_empty() {
            // Without GROUP BY there is one group, even of no rows.
            self.begin(None);
        }
        for group in std::mem::take(&mut self.list) {
            let made = group.states.into_iter().zip(&self.plan.aggregates).map(|(s, a)| s.finish(a, cx));
            frame.aggregates.clear();
            frame.aggregates.extend(made);
            match group.row {
                Some(row) => self.saved.restore(row, frame, &self.slots)?,
                None => frame.clear(),
            }
            if !each(cx, frame)? {
                break;
            }
        }
        Ok(())
    }
}
