//! Row locks: who may touch a key until its transaction's place in the log is fixed.
//!
//! 1. request  A transaction asks for a key, shared (S) or exclusive (X). Nearly always nobody else
//!    holds it: one latch, one hash probe, no allocation once the table is warm.
//! 2. wait     Otherwise it joins the key's queue, and at once the wait-for graph is walked
//!    (`deadlock.rs`). If the new wait closes a cycle, the lightest transaction of the cycle gets
//!    [`LockError::Deadlock`].
//! 3. grant    Whoever releases a lock hands it to the front of the queue before anyone else can
//!    ask for it.
//! 4. release  All locks of a transaction go together, when the log has fixed its place or it rolls
//!    back. Releasing neither fails nor waits for another transaction, so a commit hook may do it.
//!
//! (L1) A key has any number of S holders or one X holder.
//! (L2) A queue is served in order: a request waits for those before it even if it is compatible
//!      with the holders. Only an upgrade (S to X) goes before the others, for they wait for its
//!      owner anyway.
//! (L3) A queue that isn't empty has a front that its holders don't admit. Every removal from an
//!      entry re-establishes this before the shard's latch is given back.
//! (L4) A transaction waits for one key at a time, and waits begin one after another, under the
//!      graph's latch; so a cycle is found by the wait that closes it, and what a walk sees can
//!      only shrink meanwhile.
//! (L5) Latch order: graph, then one shard, then one session's [`Interrupt`]; the latest deadlock
//!      is a leaf under the graph. None is held across a wait.
//!
//! Keys are index keys of a tree: row keys of a primary key, or the prefix of a unique secondary
//! key. Range locks (gap locks) are in `range.rs`, the placement of sessions that update one hot
//! row in `gather.rs`.

mod deadlock;
mod gather;
mod interrupt;
mod listing;
mod range;
mod shard;
#[cfg(test)]
mod tests;

use std::cell::Cell;
use std::fmt;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use env::Env;
use hashbrown::DefaultHashBuilder;
use parking_lot::Mutex;
use smallvec::SmallVec;

use crate::TreeId;
pub use deadlock::{BlockedWait, Deadlock};
use deadlock::{WaitGraph, WaitSlot};
use gather::{Gathering, Wait};
use interrupt::Outcome;
pub use interrupt::{Interrupt, Killed};
pub use listing::{ListedLock, LockPlace};
pub use range::{NAMES, Span};
use shard::{Request, Shard, Waiting};

/// How much a lock excludes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LockMode {
    /// Others may hold it shared too.
    Shared,
    /// Nobody else may hold it.
    Exclusive,
}

/// What to do when somebody else holds the lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitPolicy {
    /// Wait, at most this long (`innodb_lock_wait_timeout`).
    Wait(Duration),
    /// Fail at once with [`LockError::WouldBlock`] (`NOWAIT`, `SKIP LOCKED`).
    NoWait,
}

/// Why a lock was not granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LockError {
    /// The wait closed a cycle of the wait-for graph and this transaction is the victim; it must
    /// roll back (1213).
    #[error("deadlock found when trying to get lock; try restarting transaction")]
    Deadlock,
    /// The wait took longer than the policy allows; the statement fails, the transaction goes on
    /// (1205).
    #[error("lock wait timeout exceeded; try restarting transaction")]
    WaitTimeout,
    /// Somebody else holds it, and the policy is not to wait (3572 for `NOWAIT`).
    #[error("lock could not be acquired immediately")]
    WouldBlock,
    /// The statement or connection was killed while it waited (1317).
    #[error("lock wait interrupted")]
    Interrupted,
    /// The transaction failed before, in a way that only a rollback ends (1213).
    #[error("the transaction can only be rolled back")]
    Aborted,
    /// The transaction holds as many locks as one may (1206).
    #[error("the total number of locks exceeds the lock table size")]
    TooManyLocks,
}

impl LockError {
    /// True if the whole transaction must roll back, not just the statement.
    pub(crate) fn ends_transaction(self) -> bool {
        matches!(self, LockError::Deadlock | LockError::Aborted)
    }
}

/// What [`TransactionLocks::lock`] changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Acquired {
    /// The transaction held nothing on this key before.
    New,
    /// It held the key shared and has it exclusive now.
    Upgraded,
    /// It held it in this mode or a stronger one already.
    Already,
}

/// Names a transaction in the lock table; never reused.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OwnerId(pub u64);

impl fmt::Debug for OwnerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "transaction {}", self.0)
    }
}

/// A transaction of this weight is never a deadlock's victim unless all others in the cycle have
/// it too: an applier, on the replica's side, which is not built yet.
pub const WEIGHT_MAX: u64 = u64::MAX;

thread_local! {
    static WAITED: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

/// How long the calling thread has waited for locks so far, on rows and on whatever else was noted.
pub fn waited_by_thread() -> Duration {
    WAITED.get()
}

/// The calling thread has waited for a lock.
pub fn note_wait(waited: Duration) {
    WAITED.set(WAITED.get().saturating_add(waited));
}

/// Counters for SHOW STATUS; independent statistics, so every access is relaxed.
#[derive(Debug, Default)]
pub struct LockStatus {
    /// Waits begun (`Innodb_row_lock_waits`).
    pub waits: AtomicU64,
    /// Waits going on now (`Innodb_row_lock_current_waits`).
    pub waiting_now: AtomicU64,
    /// Time waited, in microseconds (`Innodb_row_lock_time` is in milliseconds).
    pub wait_micros: AtomicU64,
    /// The longest wait, in microseconds.
    pub wait_micros_max: AtomicU64,
    /// Cycles broken (`Innodb_deadlocks`).
    pub deadlocks: AtomicU64,
    /// Waits that ended by their timeout.
    pub timeouts: AtomicU64,
    /// Times that a session moved to the processor of others who wait for the same row.
    pub gathered: AtomicU64,
}

const SHARDS: usize = 64;
const _: () = assert!(SHARDS <= 1 << u16::BITS, "a transaction remembers a shard in 16 bits");
/// Keys of a shard that a transaction releases before others get the latch: some ten microseconds.
const RELEASED_AT_ONCE: usize = 256;

/// A shard on cache lines of its own: neighbours' latches would otherwise fight over one line.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Slot(Mutex<Shard>);

/// The table of all row locks. Shared by all sessions.
pub struct LockManager {
    shards: Box<[Slot]>,
    graph: Mutex<WaitGraph>,
    ranges: range::Ranges,
    gathering: Gathering,
    latest_deadlock: Mutex<Option<Deadlock>>,
    hasher: DefaultHashBuilder,
    next_owner: AtomicU64,
    env: Arc<dyn Env>,
    status: LockStatus,
}

impl LockManager {
    /// An empty table; `env` measures waits.
    pub fn new(env: Arc<dyn Env>) -> Arc<Self> {
        Arc::new(Self {
            shards: (0..SHARDS).map(|_| Slot::default()).collect(),
            graph: Mutex::default(),
            ranges: range::Ranges::default(),
            gathering: Gathering::new(SHARDS),
            latest_deadlock: Mutex::default(),
            hasher: DefaultHashBuilder::default(),
            next_owner: AtomicU64::new(1),
            env,
            status: LockStatus::default(),
        })
    }

    /// The locks of a new transaction, none yet. `interrupt` belongs to the session that will wait
    /// for them; `locks_max` bounds how many keys the transaction may hold.
    pub fn begin(self: &Arc<Self>, interrupt: Arc<Interrupt>, locks_max: usize) -> TransactionLocks {
        let owner = OwnerId(self.next_owner.fetch_add(1, Relaxed));
        TransactionLocks {
            manager: self.clone(),
            owner,
            interrupt,
            held: SmallVec::new(),
            locks_max,
            weight: 0,
            range_trees: SmallVec::new(),
            writer: None,
            note_bytes: 0,
        }
    }

    /// The counters.
    pub fn status(&self) -> &LockStatus {
        &self.status
    }

    /// Whether sessions that wait for the same row over and over gather on one processor
    /// (`duramen_gather_hot_rows`).
    pub fn set_gathering(&self, is_on: bool) {
        self.gathering.set(is_on);
    }

    /// The latest deadlock, for `SHOW ENGINE INNODB STATUS`.
    pub fn latest_deadlock(&self) -> Option<Deadlock> {
        self.latest_deadlock.lock().clone()
    }

    /// Who holds this key, for an applier that wants to abort them ([`Interrupt::abort`]).
    pub fn holders(&self, tree: TreeId, key: &[u8]) -> Vec<(OwnerId, LockMode)> {
        let hash = self.hash(tree, key);
        self.shards[shard_of(hash)].0.lock().holders(hash, tree, key)
    }

    /// The number of keys locked now.
    pub fn len(&self) -> usize {
        self.shards.iter().map(|s| s.0.lock().len()).sum()
    }

    /// True if no key is locked, and no range.
    pub fn is_empty(&self) -> bool {
        self.len() == 0 && self.ranges.is_empty()
    }

    /// Walks the whole table and asserts L1 to L4. Costly; for tests.
    pub fn check_invariants(&self) {
        // No wait begins meanwhile, and none that ended is forgotten.
        let graph = self.graph.lock();
        for (number, shard) in self.shards.iter().enumerate() {
            let shard = shard.0.lock();
            shard.check_invariants();
            let places = shard.waiters().map(|(slot, owner)| (owner, WaitSlot { shard: number, slot }));
            places.for_each(|(owner, place)| graph.check_wait(owner, place));
        }
        graph.check_no_cycle(&self.shards);
    }

    fn hash(&self, tree: TreeId, key: &[u8]) -> u64 {
        self.hasher.hash_one((tree.0, key))
    }

    /// Joins the queue of a key that was held a moment ago, then searches for a cycle (L4).
    fn begin_wait(&self, wanted: &Wanted<'_>, locks: &TransactionLocks) -> Result<Begun, LockError> {
        let mut graph = self.graph.lock();
        let number = shard_of(wanted.hash);
        let (slot, upgrade, ahead) = {
            let mut shard = self.shards[number].0.lock();
            match shard.request(wanted.hash, wanted.tree, wanted.key, locks.owner, wanted.mode) {
                Request::Granted { slot, acquired } => return Ok(Begun::Granted { slot, acquired }),
                Request::Conflict { slot, upgrade } => {
                    locks.interrupt.begin_wait();
                    let session = locks.interrupt.clone();
                    let waiting = Waiting { owner: locks.owner, mode: wanted.mode, upgrade, session };
                    let ahead = shard.enqueue(slot, waiting);
                    (slot, upgrade, ahead)
                }
            }
        };
        let place = WaitSlot { shard: number, slot };
        graph.insert(locks.owner, place, locks.weight, self.env.now());
        self.status.waits.fetch_add(1, Relaxed);
        while let Some((waits, victim)) = graph.deadlock(locks.owner, &self.shards) {
            self.status.deadlocks.fetch_add(1, Relaxed);
            *self.latest_deadlock.lock() = Some(Deadlock { at: self.env.now(), waits, victim });
            self.expel(&mut graph, victim, Outcome::Deadlock);
            if victim == locks.owner {
                return Err(LockError::Deadlock);
            }
        }
        let is_first = locks.is_empty();
        let wait = Wait { lock: wanted.hash, shard: number, is_first, ahead };
        Ok(Begun::Waiting { slot, upgrade, wait })
    }

    /// Takes a waiter out of its queue with this outcome; false if its wait has ended already.
    fn expel(&self, graph: &mut WaitGraph, owner: OwnerId, outcome: Outcome) -> bool {
        let Some(place) = graph.remove(owner) else { return false };
        let mut woken = Vec::new();
        let expelled = self.shards[place.shard].0.lock().expel(place.slot, owner, outcome, &mut woken);
        woken.iter().for_each(|session| session.wake());
        expelled
    }

    /// Sleeps until the wait's outcome is known, and forgets the wait.
    fn finish_wait(&self, locks: &TransactionLocks, wait: &Wait, timeout: Duration) -> Result<(), LockError> {
        self.status.waiting_now.fetch_add(1, Relaxed);
        if self.gathering.before(wait) {
            self.status.gathered.fetch_add(1, Relaxed);
        }
        let begun = self.env.monotonic();
        let mut outcome = locks.interrupt.sleep_until_outcome(timeout);
        if outcome.is_some() {
            self.graph.lock().remove(locks.owner);
        } else if self.expel(&mut self.graph.lock(), locks.owner, Outcome::GivenUp) {
            outcome = Some(Outcome::GivenUp);
        } else {
            outcome = locks.interrupt.outcome(); // granted, or chosen as a victim, at the last moment
        }
        let waited = self.env.monotonic() - begun;
        note_wait(waited);
        let micros = waited.as_micros() as u64;
        self.status.waiting_now.fetch_sub(1, Relaxed);
        self.status.wait_micros.fetch_add(micros, Relaxed);
        self.status.wait_micros_max.fetch_max(micros, Relaxed);
        match outcome.expect("a wait that is in no queue has an outcome") {
            Outcome::Granted => {
                self.gathering.after(wait, waited);
                Ok(())
            }
            Outcome::Deadlock => Err(LockError::Deadlock),
            Outcome::GivenUp => Err(self.why_given_up(locks)),
        }
    }

    fn why_given_up(&self, locks: &TransactionLocks) -> LockError {
        match () {
            () if locks.interrupt.killed().is_some() => LockError::Interrupted,
            () => {
                self.status.timeouts.fetch_add(1, Relaxed);
                LockError::WaitTimeout
            }
        }
    }
}

/// The high bits choose the shard; the hash table inside uses the low ones and the topmost seven.
fn shard_of(hash: u64) -> usize {
    (hash >> 40) as usize % SHARDS
}

struct Wanted<'a> {
    hash: u64,
    tree: TreeId,
    key: &'a [u8],
    mode: LockMode,
}

enum Begun {
    Granted { slot: u32, acquired: Acquired },
    Waiting { slot: u32, upgrade: bool, wait: Wait },
}

/// The locks of one transaction. Dropping it releases them all.
pub struct TransactionLocks {
    manager: Arc<LockManager>,
    owner: OwnerId,
    interrupt: Arc<Interrupt>,
    /// Where each held key lies: shard and slot, both stable while the key is held.
    held: SmallVec<[(u16, u32); 8]>,
    locks_max: usize,
    weight: u64,
    /// Trees in which it has ranges.
    range_trees: SmallVec<[TreeId; 2]>,
    /// Where it notes the keys to which it puts rows and entries.
    writer: Option<Arc<range::Writer>>,
    note_bytes: usize,
}

impl TransactionLocks {
    /// Names the transaction.
    pub(crate) fn owner(&self) -> OwnerId {
        self.owner
    }

    /// The session's interrupt handle.
    #[cfg(test)]
    pub(crate) fn interrupt(&self) -> &Arc<Interrupt> {
        &self.interrupt
    }

    /// The number of keys held.
    pub fn len(&self) -> usize {
        self.held.len()
    }

    /// True if no key is held.
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// How much work is lost if this transaction gives way in a deadlock: the number of its row
    /// changes, or [`WEIGHT_MAX`].
    pub(crate) fn set_weight(&mut self, weight: u64) {
        self.weight = weight;
    }

    /// Locks a key; on return it is held in `mode` or a stronger one. After an error nothing has
    /// changed.
    ///
    /// # Errors
    /// [`LockError`] says why the key was not granted.
    pub fn lock(
        &mut self,
        tree: TreeId,
        key: &[u8],
        mode: LockMode,
        policy: WaitPolicy,
    ) -> Result<Acquired, LockError> {
        let hash = self.manager.hash(tree, key);
        let number = shard_of(hash);
        let (slot, acquired) = match policy {
            // As if whoever held it let go of it before the wait began.
            WaitPolicy::Wait(timeout) if env::rarely(&*self.manager.env, 32) => {
                self.wait(&Wanted { hash, tree, key, mode }, timeout)?
            }
            _ => {
                let request = self.manager.shards[number].0.lock().request(hash, tree, key, self.owner, mode);
                match (request, policy) {
                    (Request::Granted { slot, acquired }, _) => (slot, acquired),
                    (Request::Conflict { .. }, WaitPolicy::NoWait) => return Err(LockError::WouldBlock),
                    (Request::Conflict { .. }, WaitPolicy::Wait(timeout)) => {
                        self.wait(&Wanted { hash, tree, key, mode }, timeout)?
                    }
                }
            }
        };
        if acquired == Acquired::New {
            self.held.push((number as u16, slot));
            if self.held.len() > self.locks_max {
                self.unlock_newest();
                return Err(LockError::TooManyLocks);
            }
        }
        Ok(acquired)
    }

    #[cold]
    fn wait(&self, wanted: &Wanted<'_>, timeout: Duration) -> Result<(u32, Acquired), LockError> {
        let (slot, upgrade, wait) = match self.manager.begin_wait(wanted, self)? {
            Begun::Granted { slot, acquired } => return Ok((slot, acquired)),
            Begun::Waiting { slot, upgrade, wait } => (slot, upgrade, wait),
        };
        self.manager.finish_wait(self, &wait, timeout)?;
        Ok((slot, if upgrade { Acquired::Upgraded } else { Acquired::New }))
    }

    /// Gives back the key that was acquired last, as READ COMMITTED does with a row that its
    /// condition rejects. Only right after a [`TransactionLocks::lock`] that returned
    /// [`Acquired::New`].
    pub(crate) fn unlock_newest(&mut self) {
        if let Some(last) = self.held.len().checked_sub(1) {
            self.unlock(last);
        }
    }

    /// Gives back a key by its place among those held ([`Self::len`] before it was acquired), which
    /// are few since.
    fn unlock(&mut self, place: usize) {
        let (shard, slot) = self.held.remove(place);
        let mut woken = Vec::new();
        self.manager.shards[shard as usize].0.lock().release(slot, self.owner, &mut woken);
        woken.iter().for_each(|session| session.wake());
    }

    /// A key's hash: the same for all transactions while the server runs.
    pub(crate) fn key_hash(&self, tree: TreeId, key: &[u8]) -> u64 {
        self.manager.hash(tree, key)
    }

    /// The keys of indexes that it holds exclusively.
    pub(crate) fn exclusive_keys(&self) -> Vec<(TreeId, Vec<u8>)> {
        let exclusive = |&(shard, slot): &(u16, u32)| {
            self.manager.shards[shard as usize].0.lock().exclusive_key(slot, self.owner)
        };
        self.held.iter().filter_map(exclusive).filter(|(tree, _)| *tree != range::NAMES).collect()
    }

    /// Sorts the held locks by shard, so that [`TransactionLocks::release_all`] latches each shard
    /// once. To be done by the session itself before it commits; pays from some dozens of locks on.
    pub fn prepare_release(&mut self) {
        if self.held.len() > SHARDS / 2 {
            self.held.sort_unstable();
        }
    }

    /// Releases everything, handing each key to those who wait for it. Doesn't fail, doesn't wait
    /// for transactions.
    pub(crate) fn release_all(&mut self) {
        self.release_ranges();
        let mut woken = Vec::new();
        for run in self.held.chunk_by(|a, b| a.0 == b.0) {
            for few in run.chunks(RELEASED_AT_ONCE) {
                let mut shard = self.manager.shards[few[0].0 as usize].0.lock();
                for &(_, slot) in few {
                    shard.release(slot, self.owner, &mut woken);
                }
            }
        }
        self.held.clear();
        woken.iter().for_each(|session| session.wake());
    }
}

impl Drop for TransactionLocks {
    fn drop(&mut self) {
        self.release_all();
    }
}
