//! A set of keys that is probed often: the values of IN.
//!
//! Beyond its budget it is a file of sorted keys, of which the first one of each block is in
//! memory.

use std::collections::HashSet;

use parking_lot::Mutex;

use super::file::SpillFile;
use super::sort::Sorter;
use super::stream::{Reader, Stream, Writer};
use super::{Budget, KEY_OVERHEAD};
use crate::status::Counter;
use datum::error::Result;

/// Encoded values, in memory or in a file. Filled first, then probed.
#[derive(Debug)]
pub(crate) struct KeySet {
    keys: HashSet<Vec<u8>>,
    budget: Budget,
    /// While it is made: the keys that were too many.
    sorter: Option<Sorter>,
    sorted: Option<Sorted>,
}

/// Sorted keys in a file.
#[derive(Debug)]
struct Sorted {
    file: SpillFile,
    stream: Stream,
    /// The first key of each block.
    firsts: Vec<Vec<u8>>,
    reader: Mutex<Reader>,
}

impl KeySet {
    /// No key.
    pub(crate) fn new(budget: Budget) -> Self {
        Self { keys: HashSet::new(), budget, sorter: None, sorted: None }
    }

    /// Adds a key.
    pub(crate) fn insert(&mut self, key: Vec<u8>) -> Result<()> {
        if let Some(sorter) = &mut self.sorter {
            return sorter.push(&key, &[]);
        }
        let grown = key.len() + KEY_OVERHEAD;
        if self.keys.insert(key) && !self.budget.charge(grown) {
            self.budget.count(Counter::CreatedTmpDiskTables);
            let mut sorter = Sorter::new(self.budget.another(), u64::MAX).unique();
            for key in std::mem::take(&mut self.keys) {
                self.budget.release(key.len() + KEY_OVERHEAD);
                sorter.push(&key, &[])?;
            }
            self.sorter = Some(sorter);
        }
        Ok(())
    }

    /// No further key comes.
    pub(crate) fn finish(&mut self) -> Result<()> {
        let Some(sorter) = self.sorter.take() else { return Ok(()) };
        let mut sorted = sorter.finish()?;
        let (mut file, mut writer) = (self.budget.file()?, Writer::new(self.budget.block_size()));
        let mut firsts = Vec::new();
        while let Some((key, _)) = sorted.advance()? {
            if writer.push(&mut file, key, &[])? {
                self.budget.charge(key.len() + KEY_OVERHEAD);
                firsts.push(key.to_vec());
            }
        }
        let stream = writer.finish(&mut file)?;
        self.sorted = Some(Sorted { file, stream, firsts, reader: Mutex::default() });
        Ok(())
    }

    /// True if the key is among them.
    pub(crate) fn contains(&self, key: &[u8]) -> Result<bool> {
        match &self.sorted {
            None => Ok(self.keys.contains(key)),
            Some(sorted) => sorted.contains(key),
        }
    }
}

impl Sorted {
    fn contains(&self, key: &[u8]) -> Result<bool> {
        let next = self.firsts.partition_point(|first| first.as_slice() <= key);
        let Some(block) = next.checked_sub(1) else { return Ok(false) };
        let mut reader = self.reader.lock();
        reader.seek(&self.file, &self.stream, block)?;
        while reader.advance(&self.file, &self.stream)? {
            match reader.key().cmp(key) {
                std::cmp::Ordering::Less if !reader.is_at_block_end() => {}
                order => return Ok(order.is_eq()),
            }
        }
        Ok(false)
    }
}
