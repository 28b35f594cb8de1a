//! Merging sorted runs: as many at once as their blocks fit into memory, in as many passes as that
//! takes.

use super::Budget;
use super::file::SpillFile;
use super::stream::{Reader, Stream, Writer};
use crate::status::Counter;
use datum::error::Result;

/// Runs merged at once, at most.
const WAYS_MAX: usize = 128;

/// Several runs of a file as one.
#[derive(Debug)]
pub(super) struct Merge {
    file: SpillFile,
    runs: Vec<(Stream, Reader)>,
    /// The runs that are not at their end, as a binary heap: the one with the smallest record
    /// first, the earlier run of equal ones.
    heap: Vec<usize>,
    started: bool,
    /// The key of the last record, where only the first of equal keys is wanted.
    last: Option<Vec<u8>>,
    _budget: Option<Budget>,
}

/// Merges runs, the last time while they are read.
pub(super) fn merge(
    mut budget: Budget,
    mut file: SpillFile,
    mut runs: Vec<Stream>,
    unique: bool,
) -> Result<Merge> {
    let block = budget.block_size();
    // Half of the memory; a block is written meanwhile.
    let ways = (budget.limit() / block / 2).clamp(2, WAYS_MAX);
    budget.charge((runs.len().min(ways) + 1) * block);
    while runs.len() > ways {
        let mut merged = Vec::new();
        let mut output = budget.file()?;
        let mut runs_left = runs.into_iter().peekable();
        while runs_left.peek().is_some() {
            let some: Vec<Stream> = runs_left.by_ref().take(ways).collect();
            let mut merge = Merge::new(file, some, unique);
            budget.count(Counter::SortMergePasses);
            let mut writer = Writer::new(block);
            while merge.advance()? {
                let (key, payload) = merge.record();
                writer.push(&mut output, key, payload)?;
            }
            merged.push(writer.finish(&mut output)?);
            file = merge.file;
        }
        // The file of the pass before goes here.
        (file, runs) = (output, merged);
    }
    budget.count(Counter::SortMergePasses);
    Ok(Merge { _budget: Some(budget), ..Merge::new(file, runs, unique) })
}

impl Merge {
    fn new(file: SpillFile, runs: Vec<Stream>, unique: bool) -> Self {
        let runs: Vec<_> = runs.into_iter().map(|run| (run, Reader::default())).collect();
        let last = unique.then(Vec::new);
        Self { file, runs, heap: Vec::new(), started: false, last, _budget: None }
    }

    /// Goes on to the next record; false after the last one.
    pub(super) fn advance(&mut self) -> Result<bool> {
        let Some(mut last) = self.last.take() else { return self.step() };
        let first = !self.started;
        let mut more = self.step()?;
        while more && !first && self.record().0 == last {
            more = self.step()?;
        }
        last.clear();
        last.extend_from_slice(self.record().0);
        self.last = Some(last);
        Ok(more)
    }

    fn step(&mut self) -> Result<bool> {
        if !self.started {
            self.start()?;
        } else if let Some(&run) = self.heap.first() {
            let (stream, reader) = &mut self.runs[run];
            if !reader.advance(&self.file, stream)? {
                self.heap.swap_remove(0);
            }
            self.sift_down(0);
        }
        Ok(!self.heap.is_empty())
    }

    pub(super) fn record(&self) -> (&[u8], &[u8]) {
        match self.heap.first() {
            Some(&run) => (self.runs[run].1.key(), self.runs[run].1.payload()),
            None => (&[], &[]),
        }
    }

    fn start(&mut self) -> Result<()> {
        self.started = true;
        for (run, (stream, reader)) in self.runs.iter_mut().enumerate() {
            if reader.advance(&self.file, stream)? {
                self.heap.push(run);
            }
        }
        (0..self.heap.len() / 2).rev().for_each(|at| self.sift_down(at));
        Ok(())
    }

    fn is_before(&self, a: usize, b: usize) -> bool {
        let (a, b) = (self.heap[a], self.heap[b]);
        self.runs[a].1.key().cmp(self.runs[b].1.key()).then(a.cmp(&b)).is_lt()
    }

    fn sift_down(&mut self, mut at: usize) {
        loop {
            let (left, right) = (2 * at + 1, 2 * at + 2);
            if left >= self.heap.len() {
                return;
            }
            let smaller = if right < self.heap.len() && self.is_before(right, left) { right } else { left };
            if !self.is_before(smaller, at) {
                return;
            }
            self.heap.swap(at, smaller);
            at = smaller;
        }
    }
}
