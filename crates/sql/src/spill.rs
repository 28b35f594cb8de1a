//! Memory of queries, and the temporary files beyond it.
//!
//! The memory of a sort, a grouping, a hash join or a materialized set of rows:
//!
//! 1. charge   It charges every byte that it keeps to its [`Budget`].
//! 2. encode   Once that says no, its rows go to a temporary file ([`file`]) as records
//!    ([`stream`]) of encoded values ([`codec`]), and their memory is free again.
//! 3. order    Records that must meet are brought together by sorting ([`sort`], [`merge`]): equal
//!    keys of a DISTINCT, the rows of a group, both operands of a set operation. A hash join
//!    divides both sides by their keys instead (`executor/operators/hash/`).
//! 4. read     They come back block by block, and the file goes.
//!
//! (S1) What an operation keeps is at most its limit and one row, whatever it is given:
//!      `sort_buffer_size` for a sort, `join_buffer_size` for a hash join, `tmp_table_size` for all
//!      else, and never less than [`LIMIT_MIN`]. What did not fit takes as much again, at most
//!      twice, while it is put in order.
//! (S2) All operations of all sessions together take `temptable_max_ram`; when that is taken, each
//!      has [`LIMIT_MIN`]. Memory that sorts recycle ([`sort::SortMemory`]) is not charged to
//!      any budget: its total is bounded and small.
//! (S3) A file's name goes when its owner does, however the statement ends; files of a crashed
//!      server are removed at the next start.
//! (S4) KILL and `max_execution_time` are seen at each block that is written or read.
//! (S5) Files are written to the disk in pieces as they grow ([`env::Trail`]), but for the first
//!      megabytes: small commits during a large query do not wait behind the operating system's
//!      write-back.
//! (S6) Rows come out as if memory had been enough: sorts are stable; DISTINCT keeps the first of
//!      equal rows, in its place. Only groups come in another order, which SQL leaves open.

pub(crate) mod codec;
pub(crate) mod file;
pub(crate) mod key_set;
mod merge;
pub(crate) mod put_off;
pub(crate) mod queue;
pub(crate) mod sort;
pub(crate) mod stream;
#[cfg(test)]
mod tests;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use env::Env;
use parking_lot::Mutex;
use storage::Interrupt;

use self::file::SpillFile;
use self::sort::SortMemory;
use crate::status::{Counter, Counters};
use crate::variables::{GlobalVariables, SessionVariables, VariableId, ids};
use datum::error::{self, Result};

/// What an operation may keep whatever the settings say, in bytes: MySQL's least
/// `sort_buffer_size`.
pub(crate) const LIMIT_MIN: usize = 32 << 10;

/// The smallest and the largest block of a temporary file, in bytes.
const BLOCK_MIN: usize = 512;
const BLOCK_MAX: usize = 64 << 10;

/// What is taken of the server's memory at once, in bytes.
const STEP_MIN: usize = 1 << 10;
const STEP_MAX: usize = 256 << 10;

/// Memory that a key of a hash table takes besides its bytes: the vector, its allocation, its place
/// in the table. In bytes.
pub(crate) const KEY_OVERHEAD: usize = 64;

/// What all queries share: the folder of their files, and their memory.
pub struct Spill {
    env: Arc<dyn Env>,
    folder: PathBuf,
    globals: Arc<GlobalVariables>,
    next: AtomicU64,
    taken: AtomicUsize,
    peak: AtomicUsize,
    /// Bytes in all files.
    on_disk: AtomicU64,
    /// Memory that sorts have left, for the next one of any session: what was left last is still
    /// near the processor.
    sort_memory: Mutex<Vec<SortMemory>>,
}

/// As many sorts that run at once have their memory from those before.
const SORT_MEMORIES_MAX: usize = 16;

impl Spill {
    /// Empties `folder`, if it is there, of what an earlier process left (S3).
    pub(crate) fn new(
        env: Arc<dyn Env>,
        folder: &Path,
        globals: Arc<GlobalVariables>,
    ) -> io::Result<Arc<Self>> {
        if env.exists(folder) {
            for path in env.read_dir(folder)? {
                env.remove_file(&path)?;
            }
        }
        let (next, taken, peak, on_disk, sort_memory) = Default::default();
        Ok(Arc::new(Self {
            env,
            folder: folder.to_owned(),
            globals,
            next,
            taken,
            peak,
            on_disk,
            sort_memory,
        }))
    }

    /// Bytes of memory that running queries have taken.
    pub fn taken(&self) -> usize {
        self.taken.load(Relaxed)
    }

    /// The most that they ever had at once, since [`Self::restart_peak`].
    pub fn peak(&self) -> usize {
        self.peak.load(Relaxed)
    }

    /// Forgets the peak so far.
    pub fn restart_peak(&self) {
        self.peak.store(self.taken(), Relaxed);
    }

    /// Takes memory; false if that is more than there may be.
    fn take(&self, bytes: usize) -> bool {
        let taken = self.taken.fetch_add(bytes, Relaxed) + bytes;
        self.peak.fetch_max(taken, Relaxed);
        taken as u64 <= self.globals.uint(ids::TEMPTABLE_MAX_RAM)
    }
}

/// What memory is for: it says which setting limits it, and what MySQL would have done beyond.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Limited by `sort_buffer_size`.
    Sort,
    /// A hash join.
    Join,
    /// What MySQL keeps in an internal temporary table: groups, distinct rows, derived tables,
    /// cursors.
    Table,
}

impl Purpose {
    fn limit(self) -> VariableId {
        match self {
            Purpose::Sort => ids::SORT_BUFFER_SIZE,
            Purpose::Join => ids::JOIN_BUFFER_SIZE,
            Purpose::Table => ids::TMP_TABLE_SIZE,
        }
    }
}

/// The memory of one operation, and its way to temporary files.
pub(crate) struct Budget {
    shared: Arc<Spill>,
    interrupt: Arc<Interrupt>,
    counters: Arc<Counters>,
    purpose: Purpose,
    limit: usize,
    used: usize,
    /// Taken of the server's memory: at least what is used.
    reserved: usize,
}

impl std::fmt::Debug for Budget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}: {} of {} bytes", self.purpose, self.used, self.limit)
    }
}

impl Budget {
    /// The budget of an operation of a session that has these variables, is killed by `interrupt`
    /// and counts into `counters`.
    pub(crate) fn new(
        shared: &Arc<Spill>,
        purpose: Purpose,
        variables: &SessionVariables,
        interrupt: &Arc<Interrupt>,
        counters: &Arc<Counters>,
    ) -> Self {
        let limit = usize::try_from(variables.uint(purpose.limit())).unwrap_or(usize::MAX);
        Self {
            shared: shared.clone(),
            interrupt: interrupt.clone(),
            counters: counters.clone(),
            purpose,
            limit: limit.max(LIMIT_MIN),
            used: 0,
            reserved: 0,
        }
    }

    /// Another, concurrent operation's, with the same limit.
    pub(crate) fn another(&self) -> Self {
        Self {
            shared: self.shared.clone(),
            interrupt: self.interrupt.clone(),
            counters: self.counters.clone(),
            used: 0,
            reserved: 0,
            ..*self
        }
    }

    /// Counts bytes that are kept; false if they are more than fit, and rows should go to a file.
    pub(crate) fn charge(&mut self, bytes: usize) -> bool {
        self.used += bytes;
        self.used <= self.reserved || self.reserve()
    }

    #[cold]
    fn reserve(&mut self) -> bool {
        let step = (self.limit / 16).clamp(STEP_MIN, STEP_MAX);
        let wanted = self.used.next_multiple_of(step).min(self.limit.max(self.used));
        let granted = self.shared.take(wanted - self.reserved);
        self.reserved = wanted;
        self.used <= LIMIT_MIN || granted && self.used <= self.limit
    }

    /// Gives back bytes that are kept no longer.
    pub(crate) fn release(&mut self, bytes: usize) {
        self.used = self.used.saturating_sub(bytes);
        if self.used == 0 {
            self.shared.taken.fetch_sub(std::mem::take(&mut self.reserved), Relaxed);
        }
    }

    /// Gives back all.
    pub(crate) fn release_all(&mut self) {
        self.release(self.used);
    }

    /// True if so many bytes more can be kept, as far as its own limit goes.
    pub(crate) fn has_room(&self, bytes: usize) -> bool {
        self.used.saturating_add(bytes) <= self.limit
    }

    /// True if no more bytes are kept than may be.
    pub(crate) fn fits(&self) -> bool {
        self.used <= self.limit
    }

    /// Bytes that are kept.
    pub(crate) fn used(&self) -> usize {
        self.used
    }

    /// Bytes that may be kept.
    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    /// The size of the blocks that it writes, in bytes.
    pub(crate) fn block_size(&self) -> usize {
        (self.limit / 64).clamp(BLOCK_MIN, BLOCK_MAX)
    }

    /// Memory recycled by an earlier sort, if there is any and the latch is free.
    fn sort_memory(&self) -> SortMemory {
        self.shared.sort_memory.try_lock().and_then(|mut pool| pool.pop()).unwrap_or_default()
    }

    /// Recycles memory for a later sort.
    fn recycle(&self, memory: SortMemory) {
        if let Some(mut pool) = self.shared.sort_memory.try_lock()
            && pool.len() < SORT_MEMORIES_MAX
        {
            pool.push(memory);
        }
    }

    /// Counts something of the session's.
    pub(crate) fn count(&self, counter: Counter) {
        self.counters.count(counter);
    }

    /// A new temporary file.
    ///
    /// # Errors
    /// 1004 if it cannot be made.
    pub(crate) fn file(&self) -> Result<SpillFile> {
        SpillFile::new(self)
    }

    /// Error 1317 if somebody killed the statement.
    pub(crate) fn check_interrupt(&self) -> Result<()> {
        match self.interrupt.killed_at_work() {
            None => Ok(()),
            Some(_) => Err(error::QUERY_INTERRUPTED.plain()),
        }
    }
}

impl Drop for Budget {
    fn drop(&mut self) {
        self.shared.taken.fetch_sub(self.reserved, Relaxed);
    }
}
