//! A hash join whose inner side is larger than memory: the Grace hash join (Kitsuregawa, Tanaka and
//! Moto-oka, 1983).
//!
//! Both sides are divided by their keys into parts, each in a temporary file; a part of one side
//! finds all its partners in the same part of the other. A part that is too large still is divided
//! again, by other bits. One whose rows mostly have the same key cannot be: its inner rows go
//! through memory in several rounds, and its outer rows pass by in each.

use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::table::{END, Table};
use crate::expression::frame::Frame;
use crate::spill::Budget;
use crate::spill::file::SpillFile;
use crate::spill::stream::{Reader, Stream, Writer};
use datum::error::Result;

/// Parts that a side is divided into.
const PARTS: usize = 16;
/// How often a part is divided again.
const DEPTH_MAX: u64 = 6;

/// What an outer row begins with: whether it has a key, and its number (8 bytes, big-endian).
/// Without a key it has no partner.
const OUTER_HEAD: usize = 9;

/// A part of one side.
#[derive(Clone)]
struct HashPartition {
    file: Arc<SpillFile>,
    stream: Arc<Stream>,
}

impl HashPartition {
    fn advance(&self, reader: &mut Reader) -> Result<bool> {
        reader.advance(&self.file, &self.stream)
    }
}

/// Divides one side's rows.
pub(super) struct Divider {
    file: SpillFile,
    writers: Vec<Writer>,
    seed: u64,
    rows: u64,
    record: Vec<u8>,
    _budget: Budget,
}

impl Divider {
    fn new(budget: &Budget, seed: u64) -> Result<Self> {
        let mut blocks = budget.another();
        blocks.charge(PARTS * budget.block_size());
        let writers = (0..PARTS).map(|_| Writer::new(budget.block_size())).collect();
        Ok(Self { file: budget.file()?, writers, seed, rows: 0, record: Vec::new(), _budget: blocks })
    }

    fn push(&mut self, key: &[u8], record: &[u8]) -> Result<()> {
        let part = xxh3_64_with_seed(key, self.seed) as usize % PARTS;
        self.writers[part].push(&mut self.file, key, record).map(|_| ())
    }

    /// Takes an inner row in.
    pub(super) fn push_inner(&mut self, key: &[u8], frame: &Frame, slots: &[usize]) -> Result<()> {
        let mut record = std::mem::take(&mut self.record);
        record.clear();
        frame.put(slots, &mut record);
        self.push(key, &record)?;
        self.record = record;
        Ok(())
    }

    /// Takes an outer row in.
    pub(super) fn push_outer(&mut self, key: Option<&[u8]>, frame: &Frame, slots: &[usize]) -> Result<()> {
        let mut record = std::mem::take(&mut self.record);
        record.clear();
        record.push(key.is_some().into());
        record.extend_from_slice(&self.rows.to_be_bytes());
        self.rows += 1;
        frame.put(slots, &mut record);
        self.push(key.unwrap_or_default(), &record)?;
        self.record = record;
        Ok(())
    }

    fn finish(mut self) -> Result<Vec<HashPartition>> {
        let mut streams = Vec::with_capacity(PARTS);
        for writer in self.writers {
            streams.push(Arc::new(writer.finish(&mut self.file)?));
        }
        let file = Arc::new(self.file);
        Ok(streams.into_iter().map(|stream| HashPartition { file: file.clone(), stream }).collect())
    }
}

/// Two parts with the same keys.
struct Pair {
    inner: HashPartition,
    outer: HashPartition,
    depth: u64,
}

/// The pair that is being joined.
struct Current {
    pair: Pair,
    inner: Reader,
    outer: Reader,
    /// The inner rows of this round.
    table: Table,
    /// There are no more inner rows.
    last_round: bool,
    /// The outer row's number in its part.
    row: usize,
    /// The outer rows that have found a partner, one bit each, if there are several rounds.
    matched: Option<Vec<u64>>,
}

/// An outer row that is in the frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OuterRow {
    /// Its first partner of this round.
    pub(super) at: u32,
    /// It had one in an earlier round.
    pub(super) matched: bool,
    /// Its number among all.
    pub(super) number: u64,
}

/// A divided join.
pub(super) struct Grace {
    budget: Budget,
    seed: u64,
    /// The inner side, for as often as the join is opened.
    inner: Vec<HashPartition>,
    inner_slots: Vec<usize>,
    outer_slots: Vec<usize>,
    /// The outer side has been divided.
    divided: bool,
    /// What is still to be joined, the next one last.
    pending: Vec<Pair>,
    current: Option<Current>,
}

impl Grace {
    /// Divides what the table holds already; the other inner rows are to follow.
    pub(super) fn begin(table: &Table, budget: &Budget, seed: u64, slots: usize) -> Result<Divider> {
        let mut divider = Divider::new(budget, seed)?;
        table.each(slots, |key, record| divider.push(key, record))?;
        Ok(divider)
    }

    /// A join with the inner side divided.
    pub(super) fn new(
        inner: Divider,
        budget: Budget,
        inner_slots: &[usize],
        outer_slots: Vec<usize>,
    ) -> Result<Self> {
        let seed = inner.seed;
        Ok(Self {
            budget,
            seed,
            inner: inner.finish()?,
            inner_slots: inner_slots.to_vec(),
            outer_slots,
            divided: false,
            pending: Vec::new(),
            current: None,
        })
    }

    /// Starts anew.
    pub(super) fn open(&mut self) {
        (self.divided, self.current) = (false, None);
        self.pending.clear();
    }

    /// True if the outer side has been divided since it was opened.
    pub(super) fn is_divided(&self) -> bool {
        self.divided
    }

    /// What divides the outer side.
    pub(super) fn outer_divider(&self) -> Result<Divider> {
        Divider::new(&self.budget, self.seed)
    }

    /// Takes the divided outer side.
    pub(super) fn set_outer(&mut self, outer: Divider) -> Result<()> {
        self.divided = true;
        let outer = outer.finish()?;
        let inner = self.inner.iter().cloned();
        self.pending = inner.zip(outer).map(|(inner, outer)| Pair { inner, outer, depth: 0 }).collect();
        Ok(())
    }

    /// Where an outer row's slots are.
    pub(super) fn outer_slots(&self) -> &[usize] {
        &self.outer_slots
    }

    /// The inner rows of the current round.
    pub(super) fn table(&self) -> Option<&Table> {
        self.current.as_ref().map(|current| &current.table)
    }

    /// True if no further round comes for the outer row.
    pub(super) fn is_last_round(&self) -> bool {
        self.current.as_ref().is_none_or(|current| current.last_round)
    }

    /// The outer row has found a partner.
    pub(super) fn note_match(&mut self) {
        if let Some(Current { matched: Some(matched), row, .. }) = &mut self.current
            && let Some(word) = matched.get_mut(*row / 64)
        {
            *word |= 1 << (*row % 64);
        }
    }

    /// Puts the next outer row into the frame.
    pub(super) fn next_outer(&mut self, frame: &mut Frame) -> Result<Option<OuterRow>> {
        loop {
            let Some(current) = &mut self.current else {
                let Some(pair) = self.pending.pop() else { return Ok(None) };
                if pair.outer.stream.records() > 0 {
                    self.load(pair, frame)?;
                }
                continue;
            };
            if current.pair.outer.advance(&mut current.outer)? {
                return current.outer_row(frame, &self.outer_slots).map(Some);
            }
            if current.last_round {
                self.current = None;
                continue;
            }
            current.table = Table::new(self.budget.another());
            current.last_round = current.fill(frame, &self.inner_slots)?;
            (current.outer, current.row) = (Reader::default(), usize::MAX);
        }
    }

    /// Begins with a pair, or divides it.
    fn load(&mut self, pair: Pair, frame: &mut Frame) -> Result<()> {
        let mut current = Current {
            inner: Reader::default(),
            outer: Reader::default(),
            table: Table::new(self.budget.another()),
            last_round: true,
            row: usize::MAX,
            matched: None,
            pair,
        };
        current.last_round = current.fill(frame, &self.inner_slots)?;
        if !current.last_round {
            if current.pair.depth < DEPTH_MAX && current.table.is_divisible() {
                return self.divide(current);
            }
            let rows = current.pair.outer.stream.records() as usize;
            current.matched = Some(vec![0; rows.div_ceil(64)]);
            self.budget.charge(rows.div_ceil(8));
        }
        self.current = Some(current);
        Ok(())
    }

    /// Divides a pair again.
    fn divide(&mut self, current: Current) -> Result<()> {
        let Current { pair, inner: mut reader, table, .. } = current;
        let depth = pair.depth + 1;
        let seed = self.seed.wrapping_add(depth);
        let mut inner = Self::begin(&table, &self.budget, seed, self.inner_slots.len())?;
        drop(table);
        while pair.inner.advance(&mut reader)? {
            inner.push(reader.key(), reader.payload())?;
        }
        let inner = inner.finish()?;
        let (mut outer, mut reader) = (Divider::new(&self.budget, seed)?, Reader::default());
        while pair.outer.advance(&mut reader)? {
            outer.push(reader.key(), reader.payload())?;
        }
        let pairs = inner.into_iter().zip(outer.finish()?);
        self.pending.extend(pairs.map(|(inner, outer)| Pair { inner, outer, depth }));
        Ok(())
    }
}

impl Current {
    /// Fills the table with inner rows; true if there are no more.
    fn fill(&mut self, frame: &mut Frame, slots: &[usize]) -> Result<bool> {
        while self.pair.inner.advance(&mut self.inner)? {
            frame.take(slots, self.inner.payload())?;
            if !self.table.insert(self.inner.key(), frame, slots) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Puts the row that the reader is at into the frame.
    fn outer_row(&mut self, frame: &mut Frame, slots: &[usize]) -> Result<OuterRow> {
        self.row = self.row.wrapping_add(1);
        let (head, row) =
            self.outer.payload().split_first_chunk::<OUTER_HEAD>().unwrap_or((&[0; OUTER_HEAD], &[]));
        frame.take(slots, row)?;
        let [has_key, number @ ..] = *head;
        let word = self.matched.as_ref().and_then(|matched| matched.get(self.row / 64));
        Ok(OuterRow {
            at: if has_key == 1 { self.table.find(self.outer.key()) } else { END },
            matched: word.is_some_and(|word| word >> (self.row % 64) & 1 == 1),
            number: u64::from_be_bytes(number),
        })
    }
}
