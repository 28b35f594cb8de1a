//! Grouping: aggregates by the bytes of the group's key.
//!
//! 1. add     Each row goes into its group, which a hash table finds by its key.
//! 2. put off Once the groups take more memory than there may be, no further one is begun: rows of
//!    other groups are put off, sorted by their keys. Where a group's aggregates grow with its rows
//!    (GROUP_CONCAT, DISTINCT), so are those of groups that were begun.
//! 3. finish  The groups come out; with rows put off, in the order of their keys, one being made at
//!    a time.
//!
//! Where the rows of a group come one after the other, each group is finished when the next one
//! begins, and nothing else is kept.
//!
//! What DISTINCT remembers of one group may itself be too much: then its further values are put off
//! and sorted ([`Values`]).

use hashbrown::HashMap;
use smallvec::{SmallVec, smallvec};

use crate::expression::aggregate::{self, Accumulator, PutOff};
use crate::expression::frame::{Frame, SavedFrames};
use crate::planner::Grouping;
use crate::session::Context;
use crate::spill::sort::Sorter;
use crate::spill::{Budget, KEY_OVERHEAD, Purpose, codec};
use crate::status::Counter;
use datum::error::Result;

/// What the key of a sum over all values ends with: the key of a value begins with 0 or 1.
const AFTER_VALUES: u8 = 2;

/// Groups in the order they were met, or under WITH ROLLUP and where rows were put off in the order
/// of their keys: each before the sum that it is a part of. Each is represented by the first of its
/// rows.
pub(crate) struct Groups<'p> {
    plan: &'p Grouping,
    /// The rows of a group come one after the other; without GROUP BY all do.
    adjacent: bool,
    slots: SmallVec<[usize; 8]>,
    /// Aggregates grow with their groups.
    gathers: bool,
    numbers: HashMap<Vec<u8>, usize>,
    list: Vec<Group>,
    saved: SavedFrames,
    budget: Budget,
    key: Vec<u8>,
    /// Rows put off: by the group's key its level (4 bytes, little-endian) and the frame.
    put_off: Option<Sorter>,
    record: Vec<u8>,
    /// The group that the rows are of now, where groups come one after the other.
    making: Option<Making>,
    /// Values put off, of the group that is emitted.
    values: Option<Values>,
    /// Rows of the groups that were emitted, of each level for each aggregate.
    rows: SmallVec<[usize; 8]>,
}

#[derive(Default)]
struct Group {
    states: Vec<Accumulator>,
    /// How many of the keys it has one value of; the others are summed over.
    level: usize,
    /// Where its first row was saved; it had none if this is absent.
    row: Option<usize>,
}

impl<'p> Groups<'p> {
    /// No group yet; rows have so many slots.
    pub(crate) fn new(cx: &Context, plan: &'p Grouping, slots: usize) -> Self {
        if !plan.adjacent {
            cx.count(Counter::CreatedTmpTables);
        }
        Self {
            plan,
            adjacent: plan.adjacent || plan.keys.is_empty(),
            slots: (0..slots).collect(),
            gathers: plan.aggregates.iter().any(|a| a.gathers()),
            numbers: HashMap::new(),
            list: Vec::new(),
            saved: SavedFrames::default(),
            budget: cx.budget(Purpose::Table),
            key: Vec::new(),
            put_off: None,
            record: Vec::new(),
            making: None,
            values: None,
            rows: smallvec![0; (plan.keys.len() + 1) * plan.aggregates.len()],
        }
    }

    /// Takes the frame's row into its group. Where groups come one after the other, one goes to
    /// `each` once the next begins; false if no more are wanted then.
    pub(crate) fn add(&mut self, cx: &mut Context, frame: &mut Frame, each: EachGroup<'_>) -> Result<bool> {
        let mut key = std::mem::take(&mut self.key);
        key.clear();
        let mut ends = Vec::new();
        for expr in &self.plan.keys {
            if self.plan.rollup {
                ends.push(key.len());
            }
            let value = expr.eval(cx, frame.row())?;
            aggregate::sort_key(&value, &expr.ty, &mut key)?;
        }
        if self.adjacent {
            let more = self.add_next(cx, frame, &key, each);
            self.key = key;
            return more;
        }
        self.add_to(cx, frame, &key, self.plan.keys.len())?;
        for (level, end) in ends.into_iter().enumerate().rev() {
            // After all values of the key that it is a sum over.
            key.truncate(end);
            key.push(AFTER_VALUES);
            self.add_to(cx, frame, &key, level)?;
        }
        self.key = key;
        Ok(true)
    }

    /// Takes the frame's row into the group at hand, or begins the next one.
    fn add_next(
        &mut self,
        cx: &mut Context,
        frame: &mut Frame,
        key: &[u8],
        each: EachGroup<'_>,
    ) -> Result<bool> {
        let mut more = true;
        if self.making.as_ref().is_none_or(|making| making.key != key) {
            let group = new_group(self.plan, self.plan.keys.len(), None);
            let mut next = Making::new(key, group, self.budget.another());
            frame.put(&self.slots, &mut next.first);
            if let Some(done) = self.making.take() {
                more = self.emit_made(cx, frame, done, each)?;
                frame.take(&self.slots, &next.first)?;
            }
            self.making = Some(next);
        }
        if let Some(making) = &mut self.making {
            making.add(cx, self.plan, frame)?;
        }
        Ok(more)
    }

    /// Takes the frame's row into one group, or puts it off.
    fn add_to(&mut self, cx: &mut Context, frame: &Frame, key: &[u8], level: usize) -> Result<()> {
        let known = self.numbers.get(key).copied();
        if let Some(put_off) = &mut self.put_off
            && (known.is_none() || self.gathers)
        {
            self.record.clear();
            self.record.extend_from_slice(&(level as u32).to_le_bytes());
            frame.put(&self.slots, &mut self.record);
            return put_off.push(key, &self.record);
        }
        let mut grown = 0;
        let number = match known {
            Some(number) => number,
            None => {
                let before = self.saved.memory();
                let row = self.saved.save(frame, &self.slots);
                self.list.push(new_group(self.plan, level, Some(row)));
                self.numbers.insert(key.to_vec(), self.list.len() - 1);
                grown += self.saved.memory() - before + key.len() + KEY_OVERHEAD;
                grown += std::mem::size_of::<Group>()
                    + self.plan.aggregates.len() * std::mem::size_of::<Accumulator>();
                self.list.len() - 1
            }
        };
        grown += add_row(cx, self.plan, &mut self.list[number].states, frame, &mut self.values)?;
        if grown > 0 && !self.budget.charge(grown) {
            self.overflow();
        }
        Ok(())
    }

    /// The groups are as many as there may be.
    fn overflow(&mut self) {
        if self.put_off.is_none() {
            self.budget.count(Counter::CreatedTmpDiskTables);
            self.put_off = Some(Sorter::new(self.budget.another(), u64::MAX));
        }
    }

    /// Puts each group into the frame, as its first row and its aggregates, and calls `each`, until
    /// that says false.
    pub(crate) fn finish(mut self, cx: &mut Context, frame: &mut Frame, each: EachGroup<'_>) -> Result<()> {
        if let Some(done) = self.making.take() {
            return self.emit_made(cx, frame, done, each).map(|_| ());
        }
        if (self.plan.keys.is_empty() || self.plan.rollup) && self.list.is_empty() {
            // Without GROUP BY there is one group, even of no rows, and WITH ROLLUP there is a sum
            // over all.
            self.list.push(new_group(self.plan, 0, None));
        }
        if let Some(put_off) = self.put_off.take() {
            return self.finish_sorted(cx, frame, put_off, each);
        }
        let list = std::mem::take(&mut self.list);
        if !self.plan.rollup {
            for group in list {
                if !self.emit(cx, frame, group, each)? {
                    break;
                }
            }
            return Ok(());
        }
        let mut list: Vec<_> = list.into_iter().map(Some).collect();
        if self.numbers.is_empty() {
            // The sum over no rows.
            self.numbers.insert(Vec::new(), 0);
        }
        for (_, number) in self.by_key() {
            if let Some(group) = list[number].take()
                && !self.emit(cx, frame, group, each)?
            {
                break;
            }
        }
        Ok(())
    }

    /// The groups' keys in order, with their numbers.
    fn by_key(&mut self) -> Vec<(Vec<u8>, usize)> {
        let mut keys: Vec<_> = std::mem::take(&mut self.numbers).into_iter().collect();
        keys.sort_unstable();
        keys
    }

    /// The groups in memory and those of the rows that were put off, both in the order of their
    /// keys.
    fn finish_sorted(
        mut self,
        cx: &mut Context,
        frame: &mut Frame,
        put_off: Sorter,
        each: EachGroup<'_>,
    ) -> Result<()> {
        let mut known = self.by_key().into_iter().peekable();
        let mut making: Option<Making> = None;
        let mut sorted = put_off.finish()?;
        while let Some((key, record)) = sorted.advance()? {
            let (level, row) = record.split_first_chunk().unwrap_or((&[0; 4], &[]));
            if making.as_ref().is_none_or(|making| making.key != key) {
                if let Some(done) = making.take()
                    && !self.emit_made(cx, frame, done, each)?
                {
                    return Ok(());
                }
                while let Some((_, number)) = known.next_if(|(known, _)| known.as_slice() < key) {
                    let group = std::mem::take(&mut self.list[number]);
                    if !self.emit(cx, frame, group, each)? {
                        return Ok(());
                    }
                }
                let begun = known.next_if(|(known, _)| known == key);
                let group = match begun {
                    Some((_, number)) => std::mem::take(&mut self.list[number]),
                    None => new_group(self.plan, u32::from_le_bytes(*level) as usize, None),
                };
                let mut next = Making::new(key, group, self.budget.another());
                next.first.extend_from_slice(row);
                making = Some(next);
            }
            if let Some(making) = &mut making {
                frame.take(&self.slots, row)?;
                frame.tick(cx)?;
                making.add(cx, self.plan, frame)?;
            }
        }
        if let Some(done) = making
            && !self.emit_made(cx, frame, done, each)?
        {
            return Ok(());
        }
        for (_, number) in known {
            let group = std::mem::take(&mut self.list[number]);
            if !self.emit(cx, frame, group, each)? {
                break;
            }
        }
        Ok(())
    }

    /// Emits a group that was made of rows that came one after the other.
    fn emit_made(
        &mut self,
        cx: &mut Context,
        frame: &mut Frame,
        made: Making,
        each: EachGroup<'_>,
    ) -> Result<bool> {
        self.values = made.values;
        if made.group.row.is_none() {
            frame.take(&self.slots, &made.first)?;
            return self.emit_here(cx, frame, made.group, each);
        }
        self.emit(cx, frame, made.group, each)
    }

    /// Emits a group whose first row was saved.
    fn emit(
        &mut self,
        cx: &mut Context,
        frame: &mut Frame,
        group: Group,
        each: EachGroup<'_>,
    ) -> Result<bool> {
        match group.row {
            Some(row) => self.saved.restore(row, frame, &self.slots)?,
            None => frame.clear(),
        }
        self.emit_here(cx, frame, group, each)
    }

    /// Emits a group whose first row is in the frame; false if no more are wanted.
    fn emit_here(
        &mut self,
        cx: &mut Context,
        frame: &mut Frame,
        mut group: Group,
        each: EachGroup<'_>,
    ) -> Result<bool> {
        if let Some(values) = self.values.take() {
            values.accumulate_distinct(cx, self.plan, &mut group.states)?;
        }
        let rows = self.rows.iter_mut().skip(group.level * self.plan.aggregates.len());
        let states = group.states.into_iter().zip(&self.plan.aggregates).zip(rows);
        let made = states.map(|((state, aggregate), rows)| state.finish(aggregate, cx, rows));
        frame.aggregates.clear();
        frame.aggregates.extend(made);
        if self.plan.rollup {
            let mut keys = Vec::with_capacity(group.level);
            for expr in &self.plan.keys[..group.level] {
                keys.push(expr.eval(cx, frame.row())?.into_owned());
            }
            frame.group_keys = keys;
        }
        each(cx, frame)
    }
}

/// Takes a group; false if no more are wanted.
pub(crate) type EachGroup<'e> = &'e mut dyn FnMut(&mut Context, &mut Frame) -> Result<bool>;

fn new_group(plan: &Grouping, level: usize, row: Option<usize>) -> Group {
    Group { states: plan.aggregates.iter().map(Accumulator::new).collect(), level, row }
}

/// Takes the frame's row into a group's aggregates. Returns the bytes of memory that they grew by.
fn add_row(
    cx: &mut Context,
    plan: &Grouping,
    states: &mut [Accumulator],
    frame: &Frame,
    values: &mut Option<Values>,
) -> Result<usize> {
    let mut grown = 0;
    for (number, (state, aggregate)) in states.iter_mut().zip(&plan.aggregates).enumerate() {
        grown += match values {
            None => state.add(aggregate, cx, frame.row(), None)?,
            Some(values) => {
                let mut put_off = |value: PutOff<'_>| values.push(number, value);
                state.add(aggregate, cx, frame.row(), Some(&mut put_off))?
            }
        };
    }
    Ok(grown)
}

/// A group whose rows come one after the other.
struct Making {
    key: Vec<u8>,
    group: Group,
    /// Its first row among them.
    first: Vec<u8>,
    budget: Budget,
    values: Option<Values>,
}

impl Making {
    fn new(key: &[u8], group: Group, budget: Budget) -> Self {
        Self { key: key.to_vec(), group, first: Vec::new(), budget, values: None }
    }

    fn add(&mut self, cx: &mut Context, plan: &Grouping, frame: &Frame) -> Result<()> {
        let grown = add_row(cx, plan, &mut self.group.states, frame, &mut self.values)?;
        if grown > 0 && !self.budget.charge(grown) && self.values.is_none() {
            self.values = Some(Values::new(self.budget.another()));
        }
        Ok(())
    }
}

/// Values that DISTINCT put off, of the aggregates of one group: the first of each key counts.
struct Values {
    sorter: Sorter,
    key: Vec<u8>,
    record: Vec<u8>,
}

impl Values {
    fn new(budget: Budget) -> Self {
        budget.count(Counter::CreatedTmpDiskTables);
        Self { sorter: Sorter::new(budget, u64::MAX).unique(), key: Vec::new(), record: Vec::new() }
    }

    fn push(&mut self, aggregate: usize, value: PutOff<'_>) -> Result<()> {
        self.key.clear();
        self.key.extend_from_slice(&(aggregate as u32).to_be_bytes());
        self.key.extend_from_slice(value.key);
        self.record.clear();
        codec::put_text(value.order, &mut self.record);
        codec::put(value.value, &mut self.record);
        self.sorter.push(&self.key, &self.record)
    }

    /// Has the group's aggregates take them.
    fn accumulate_distinct(
        self,
        cx: &mut Context,
        plan: &Grouping,
        states: &mut [Accumulator],
    ) -> Result<()> {
        let mut sorted = self.sorter.finish()?;
        while let Some((key, mut record)) = sorted.advance()? {
            let number = key.first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes)) as usize;
            let order = codec::take_text(&mut record)?.to_vec();
            let value = codec::take(&mut record)?;
            if let (Some(state), Some(aggregate)) = (states.get_mut(number), plan.aggregates.get(number)) {
                state.take(aggregate, cx, value, order)?;
            }
        }
        Ok(())
    }
}
