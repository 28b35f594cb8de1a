//! Sorting records by the bytes of their keys, in memory as long as that is enough.
//!
//! Records lie one after the other in chunks of memory, and small entries that point to them are
//! sorted. Beyond the budget they are written as a sorted run; the runs are merged in the end
//! ([`super::merge`]).
//!
//! A sort of which only the first rows are wanted keeps at most twice as many, and from then on
//! refuses what would come after them.
//!
//! What a sort in memory had is left to the next one of any session ([`SortMemory`]).
//!
//! (O1) Records with equal keys come out in the order in which they came.

use std::cmp::Ordering;

use super::Budget;
use super::file::SpillFile;
use super::merge::{self, Merge};
use super::stream::{Stream, Writer};
use datum::error::{self, Result};

/// The smallest and the largest chunk, in bytes; one very large record has one of its own.
const CHUNK_MIN: usize = 1 << 10;
const CHUNK_MAX: usize = 1 << 20;

/// So many bytes of chunks and so many entries are left to another sort: enough for a few hundred
/// rows.
const CHUNK_BYTES_RECYCLED: usize = 32 << 10;
const ENTRIES_RECYCLED: usize = 256;

/// Entries beyond twice the limit before the sort drops those that are not wanted.
const SLACK: usize = 1024;

/// Where a record lies.
#[derive(Debug, Clone, Copy)]
struct Entry {
    /// The part of the key after what all keys begin with.
    prefix: u64,
    chunk: u32,
    at: u32,
    key_len: u32,
    len: u32,
}

/// Records in memory.
#[derive(Debug, Default)]
struct Arena {
    chunks: Vec<Vec<u8>>,
    /// How many of the chunks are in use. Those after are empty, of an earlier sort, and not
    /// charged yet.
    used: usize,
}

/// Memory that a sort recycles: empty chunks and room for entries.
#[derive(Debug, Default)]
pub(crate) struct SortMemory {
    chunks: Vec<Vec<u8>>,
    entries: Vec<Entry>,
}

impl SortMemory {
    /// What is recycled of these: the first chunks.
    fn recycled(mut arena: Arena, mut entries: Vec<Entry>) -> Self {
        let mut bytes = 0;
        arena.chunks.retain_mut(|chunk| {
            chunk.clear();
            bytes += chunk.capacity();
            bytes <= CHUNK_BYTES_RECYCLED
        });
        arena.chunks.shrink_to(CHUNK_BYTES_RECYCLED / CHUNK_MIN);
        entries.clear();
        entries.shrink_to(ENTRIES_RECYCLED);
        Self { chunks: arena.chunks, entries }
    }
}

impl Arena {
    /// Memory that another record of so many bytes takes.
    fn growth(&self, len: usize, chunk_max: usize) -> usize {
        let last = self.used.checked_sub(1).map(|last| &self.chunks[last]);
        if last.is_some_and(|last| last.capacity() - last.len() >= len) {
            return 0;
        }
        let wanted = last.map_or(CHUNK_MIN, |last| last.capacity().saturating_mul(2));
        let wanted = wanted.min(chunk_max).max(len);
        // Of the memory of an earlier sort, what is no larger than new memory would be.
        let left = self.chunks.get(self.used).map(Vec::capacity);
        left.filter(|left| (len..=wanted).contains(left)).unwrap_or(wanted)
    }

    /// Keeps a record, and returns its entry and how much memory was taken for it.
    fn push(&mut self, key: &[u8], payload: &[u8], chunk_max: usize) -> (Entry, usize) {
        let len = key.len() + payload.len();
        let grown = self.growth(len, chunk_max);
        if grown > 0 || self.used == 0 {
            if self.chunks.get(self.used).is_none_or(|chunk| chunk.capacity() != grown) {
                self.chunks.truncate(self.used);
                self.chunks.push(Vec::with_capacity(grown));
            }
            self.used += 1;
        }
        let number = self.used - 1;
        let chunk = &mut self.chunks[number];
        let at = chunk.len();
        chunk.extend_from_slice(key);
        chunk.extend_from_slice(payload);
        let (chunk, at, key_len, len) = (number as u32, at as u32, key.len() as u32, len as u32);
        (Entry { prefix: 0, chunk, at, key_len, len }, grown)
    }

    fn key(&self, e: &Entry) -> &[u8] {
        &self.chunks[e.chunk as usize][e.at as usize..][..e.key_len as usize]
    }

    fn payload(&self, e: &Entry) -> &[u8] {
        &self.chunks[e.chunk as usize][e.at as usize..][e.key_len as usize..e.len as usize]
    }

    /// The order of two entries whose prefixes are set (O1).
    fn compare(&self, a: &Entry, b: &Entry) -> Ordering {
        let by_key = || self.key(a).cmp(self.key(b));
        a.prefix.cmp(&b.prefix).then_with(by_key).then((a.chunk, a.at).cmp(&(b.chunk, b.at)))
    }

    /// Sets the prefixes: the eight bytes after what all keys have in common.
    fn set_prefixes(&self, entries: &mut [Entry]) {
        let Some(first) = entries.first() else { return };
        let first = self.key(first);
        let same = |common: usize, key: &[u8]| {
            if key.starts_with(&first[..common]) {
                return common;
            }
            first[..common].iter().zip(key).take_while(|(a, b)| a == b).count()
        };
        let common = entries.iter().fold(first.len(), |common, e| same(common, self.key(e)));
        for e in entries {
            let rest = &self.key(e)[common..];
            let mut prefix = [0; 8];
            let len = rest.len().min(8);
            prefix[..len].copy_from_slice(&rest[..len]);
            e.prefix = u64::from_be_bytes(prefix);
        }
    }
}

/// Sorts records.
#[derive(Debug)]
pub(crate) struct Sorter {
    budget: Budget,
    limit: usize,
    /// Only the first of equal keys is wanted.
    unique: bool,
    arena: Arena,
    entries: Vec<Entry>,
    /// The smallest key that is known not to be wanted.
    bound: Option<Vec<u8>>,
    written: Option<Written>,
}

/// Runs in a file.
#[derive(Debug)]
struct Written {
    file: SpillFile,
    runs: Vec<Stream>,
}

impl Sorter {
    /// A sorter that gives at most `limit` records.
    pub(crate) fn new(budget: Budget, limit: u64) -> Self {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let SortMemory { chunks, entries } = budget.sort_memory();
        let arena = Arena { chunks, used: 0 };
        Self { budget, limit, unique: false, arena, entries, bound: None, written: None }
    }

    /// The same of keys that differ: the first record of each. There is no limit then.
    pub(crate) fn unique(self) -> Self {
        Self { unique: true, limit: usize::MAX, ..self }
    }

    /// The budget that it keeps to.
    pub(crate) fn budget(&self) -> &Budget {
        &self.budget
    }

    /// Takes a record in.
    ///
    /// # Errors
    /// 1038 for one of more than 4 GiB; those of its file.
    pub(crate) fn push(&mut self, key: &[u8], payload: &[u8]) -> Result<()> {
        if self.limit == 0 || self.bound.as_ref().is_some_and(|bound| key >= bound.as_slice()) {
            return Ok(());
        }
        if key.len().saturating_add(payload.len()) > u32::MAX as usize {
            return Err(error::OUT_OF_SORTMEMORY.plain());
        }
        if !self.entries.is_empty() && !self.budget.has_room(self.growth(key.len() + payload.len())) {
            self.overflow()?;
        }
        let mut fits = self.append(key, payload);
        if self.entries.len() >= self.limit.saturating_mul(2).saturating_add(SLACK) {
            fits = self.cut();
        }
        if fits { Ok(()) } else { self.overflow() }
    }

    fn chunk_max(&self) -> usize {
        (self.budget.limit() / 16).clamp(CHUNK_MIN, CHUNK_MAX)
    }

    /// Memory that another record of so many bytes takes, besides that which is taken already.
    fn growth(&self, len: usize) -> usize {
        let full = self.entries.len() == self.entries.capacity();
        let entries = if full { self.entries.len() * std::mem::size_of::<Entry>() } else { 0 };
        entries + self.arena.growth(len, self.chunk_max())
    }

    /// False if the memory is used up.
    fn append(&mut self, key: &[u8], payload: &[u8]) -> bool {
        let (entry, mut grown) = self.arena.push(key, payload, self.chunk_max());
        // Room of an earlier sort is charged with the first entry.
        let before = if self.entries.is_empty() { 0 } else { self.entries.capacity() };
        self.entries.push(entry);
        grown += (self.entries.capacity() - before) * std::mem::size_of::<Entry>();
        grown == 0 || self.budget.charge(grown)
    }

    /// Drops the records that are not wanted; false if the memory is used up all the same.
    fn cut(&mut self) -> bool {
        if self.entries.len() <= self.limit {
            return false;
        }
        self.arena.set_prefixes(&mut self.entries);
        let arena = &self.arena;
        self.entries.select_nth_unstable_by(self.limit - 1, |a, b| arena.compare(a, b));
        self.entries.truncate(self.limit);
        self.bound = Some(arena.key(&self.entries[self.limit - 1]).to_vec());
        // In the order in which they came, which is the order of their places (O1).
        let mut remaining = std::mem::take(&mut self.entries);
        remaining.sort_unstable_by_key(|e| (e.chunk, e.at));
        let (arena, before) = (std::mem::take(&mut self.arena), self.budget.used());
        remaining.iter().for_each(|e| {
            self.append(arena.key(e), arena.payload(e));
        });
        self.budget.release(before);
        self.budget.fits()
    }

    fn overflow(&mut self) -> Result<()> {
        let half = self.budget.limit() / 2;
        if self.entries.len() > self.limit && self.cut() && self.budget.used() < half {
            return Ok(());
        }
        let mut written = match self.written.take() {
            Some(written) => written,
            None => Written { file: self.budget.file()?, runs: Vec::new() },
        };
        self.write_run(&mut written)?;
        self.written = Some(written);
        Ok(())
    }

    fn sort(&mut self) {
        self.arena.set_prefixes(&mut self.entries);
        let arena = &self.arena;
        self.entries.sort_unstable_by(|a, b| arena.compare(a, b));
        if self.unique {
            self.entries.dedup_by(|b, a| a.prefix == b.prefix && arena.key(a) == arena.key(b));
        }
        if self.entries.len() > self.limit {
            self.entries.truncate(self.limit);
        }
    }

    /// Writes what is in memory as a run.
    fn write_run(&mut self, written: &mut Written) -> Result<()> {
        self.budget.check_interrupt()?;
        self.sort();
        let mut writer = Writer::new(self.budget.block_size());
        for e in &self.entries {
            writer.push(&mut written.file, self.arena.key(e), self.arena.payload(e))?;
        }
        written.runs.push(writer.finish(&mut written.file)?);
        if self.entries.len() == self.limit {
            self.bound = self.entries.last().map(|e| self.arena.key(e).to_vec());
        }
        self.arena = Arena::default();
        self.entries = Vec::new();
        self.budget.release_all();
        Ok(())
    }

    /// The records in order.
    pub(crate) fn finish(mut self) -> Result<Sorted> {
        let Some(mut written) = self.written.take() else {
            self.budget.check_interrupt()?;
            self.sort();
            let Self { budget, arena, entries, .. } = self;
            return Ok(Sorted(From::Memory { budget, arena, entries, next: 0 }));
        };
        if !self.entries.is_empty() {
            self.write_run(&mut written)?;
        }
        let merge = merge::merge(self.budget, written.file, written.runs, self.unique)?;
        Ok(Sorted(From::Merge { merge: Box::new(merge), left: self.limit }))
    }
}

/// Sorted records.
#[derive(Debug)]
pub(crate) struct Sorted(From);

/// Where they come from.
#[derive(Debug)]
enum From {
    /// All were in memory.
    Memory { budget: Budget, arena: Arena, entries: Vec<Entry>, next: usize },
    /// From runs.
    Merge { merge: Box<Merge>, left: usize },
}

impl Sorted {
    /// Goes on to the next record, and returns its key and payload.
    pub(crate) fn advance(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        match &mut self.0 {
            From::Memory { arena, entries, next, .. } => {
                let Some(e) = entries.get(*next) else { return Ok(None) };
                *next += 1;
                Ok(Some((arena.key(e), arena.payload(e))))
            }
            From::Merge { merge, left } => {
                if *left == 0 || !merge.advance()? {
                    return Ok(None);
                }
                *left -= 1;
                Ok(Some(merge.record()))
            }
        }
    }
}

impl Drop for Sorted {
    fn drop(&mut self) {
        if let From::Memory { budget, arena, entries, .. } = &mut self.0 {
            budget.recycle(SortMemory::recycled(std::mem::take(arena), std::mem::take(entries)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::SORT_MEMORIES_MAX;
    use super::super::tests::Machine;
    use super::*;
    use crate::spill::Purpose;

    /// A sort of records of `len` bytes with so much memory; what it had charged.
    fn sort(machine: &Machine, records: u32, len: usize, limit: usize) -> (Sorted, usize) {
        let mut sorter = Sorter::new(machine.budget_of(Purpose::Sort, limit), u64::MAX);
        for number in (0..records).rev() {
            sorter.push(&number.to_be_bytes(), &vec![number as u8; len]).unwrap();
        }
        let charged = sorter.budget.used();
        (sorter.finish().unwrap(), charged)
    }

    fn numbers(mut sorted: Sorted) -> Vec<u32> {
        let mut numbers = Vec::new();
        while let Some((key, payload)) = sorted.advance().unwrap() {
            let number = u32::from_be_bytes(key.try_into().unwrap());
            assert!(payload.iter().all(|&b| b == number as u8));
            numbers.push(number);
        }
        numbers
    }

    fn left(machine: &Machine) -> Vec<(usize, usize)> {
        let left = machine.shared.sort_memory.lock();
        let bytes = |memory: &SortMemory| memory.chunks.iter().map(Vec::capacity).sum();
        left.iter().map(|memory| (bytes(memory), memory.entries.capacity())).collect()
    }

    #[test]
    fn a_sort_in_memory_of_an_earlier_one_gives_and_charges_the_same() {
        let machine = Machine::new();
        for (records, len) in
            [(100, 300), (100, 300), (10, 3000), (100, 300), (3, 100_000), (200, 50), (0, 0)]
        {
            let fresh = sort(&Machine::new(), records, len, 1 << 20);
            let (sorted, charged) = sort(&machine, records, len, 1 << 20);
            assert!(charged >= records as usize * (len + 4), "what it keeps is charged");
            assert!(charged <= fresh.1 + ENTRIES_RECYCLED * std::mem::size_of::<Entry>(), "and little else");
            assert_eq!(numbers(sorted), numbers(fresh.0));
            assert_eq!(left(&machine).len(), 1);
        }
        machine.assert_clean();
    }

    #[test]
    fn what_sorts_leave_is_little() {
        let machine = Machine::new();
        let sorts: Vec<_> =
            (0..2 * SORT_MEMORIES_MAX).map(|_| sort(&machine, 5000, 100, 1 << 20).0).collect();
        drop(sorts);
        let left = left(&machine);
        assert_eq!(left.len(), SORT_MEMORIES_MAX);
        for (bytes, entries) in left {
            assert!(
                (CHUNK_BYTES_RECYCLED / 2..=CHUNK_BYTES_RECYCLED).contains(&bytes) || bytes == 0,
                "{bytes}"
            );
            assert!(entries <= ENTRIES_RECYCLED);
        }
        machine.assert_clean();
    }
}
