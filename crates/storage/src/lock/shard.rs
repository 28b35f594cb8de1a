//! One shard of the lock table: entries, their holders and queues. Pure data, guarded by the
//! shard's latch.
//!
//! Entries lie in a slab, so that a transaction remembers a held lock in 8 bytes and releases it
//! without hashing. Short keys and single holders lie in the entry itself, and a freed entry's
//! allocations are recycled, so that a lock rarely allocates.

use std::collections::VecDeque;
use std::sync::Arc;

use hashbrown::HashTable;
use smallvec::SmallVec;

use super::interrupt::{Interrupt, Outcome};
use super::listing::{KEY_LISTED_MAX, LISTED_AT_ONCE, ListedLock, LockPlace};
use super::{Acquired, LockMode, NAMES, OwnerId};
use crate::TreeId;

/// Keys up to this length, in bytes, lie in the entry: integers and dates, two or three of them.
const KEY_LEN_INLINE: usize = 24;
/// Longer key buffers of a freed entry are freed, not recycled. In bytes.
const KEY_RECYCLED_MAX: usize = 128;
/// A shard that becomes empty with more entries than this is freed.
const FREE_ENTRIES_MAX: usize = 4096;

#[derive(Debug, Default)]
pub(super) struct Shard {
    index: HashTable<u32>,
    entries: Vec<Entry>,
    free: Vec<u32>,
}

#[derive(Debug)]
struct Entry {
    hash: u64,
    tree: TreeId,
    key: SmallVec<[u8; KEY_LEN_INLINE]>,
    holders: SmallVec<[Holder; 1]>,
    queue: VecDeque<Waiting>,
}

#[derive(Debug, Clone, Copy)]
struct Holder {
    owner: OwnerId,
    mode: LockMode,
}

/// A request in a queue.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) owner: OwnerId,
    pub(super) mode: LockMode,
    /// The owner holds the key shared already.
    pub(super) upgrade: bool,
    pub(super) session: Arc<Interrupt>,
}

/// The answer to a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Request {
    Granted { slot: u32, acquired: Acquired },
    Conflict { slot: u32, upgrade: bool },
}

impl Shard {
    /// Grants the lock if nobody stands in the way; otherwise changes nothing.
    pub(super) fn request(
        &mut self,
        hash: u64,
        tree: TreeId,
        key: &[u8],
        owner: OwnerId,
        mode: LockMode,
    ) -> Request {
        let Some(slot) = self.find(hash, tree, key) else {
            let slot = self.insert(hash, tree, key, Holder { owner, mode });
            return Request::Granted { slot, acquired: Acquired::New };
        };
        let entry = &mut self.entries[slot as usize];
        let held = entry.holders.iter().position(|h| h.owner == owner);
        if let Some(held) = held {
            if entry.holders[held].mode >= mode {
                return Request::Granted { slot, acquired: Acquired::Already };
            }
            if entry.holders.len() == 1 {
                entry.holders[held].mode = mode;
                return Request::Granted { slot, acquired: Acquired::Upgraded };
            }
            return Request::Conflict { slot, upgrade: true };
        }
        if !entry.queue.is_empty() || !entry.admits(owner, mode) {
            return Request::Conflict { slot, upgrade: false };
        }
        entry.holders.push(Holder { owner, mode });
        Request::Granted { slot, acquired: Acquired::New }
    }

    /// Joins the queue after a [`Request::Conflict`] (L2); returns how many hold the lock or waited
    /// already.
    pub(super) fn enqueue(&mut self, slot: u32, waiting: Waiting) -> usize {
        let Entry { holders, queue, .. } = &mut self.entries[slot as usize];
        let ahead = holders.len() + queue.len();
        if waiting.upgrade {
            let upgrades = queue.iter().take_while(|w| w.upgrade).count();
            queue.insert(upgrades, waiting);
        } else {
            queue.push_back(waiting);
        }
        self.entries[slot as usize].check_served();
        ahead
    }

    /// Ends a hold and serves the queue; whoever got the lock is added to `woken`.
    pub(super) fn release(&mut self, slot: u32, owner: OwnerId, woken: &mut Vec<Arc<Interrupt>>) {
        let entry = &mut self.entries[slot as usize];
        let held = entry.holders.iter().position(|h| h.owner == owner);
        let held = held.expect("a lock that a transaction remembers is held by it");
        entry.holders.swap_remove(held);
        entry.serve(woken);
        entry.check_served();
        if entry.holders.is_empty() {
            assert!(entry.queue.is_empty(), "L3: nobody waits for a key that nobody holds");
            self.remove(slot);
        }
    }

    /// Takes a waiter out of the queue; false if it isn't in it (any more).
    pub(super) fn expel(
        &mut self,
        slot: u32,
        owner: OwnerId,
        outcome: Outcome,
        woken: &mut Vec<Arc<Interrupt>>,
    ) -> bool {
        let Some(entry) = self.entries.get_mut(slot as usize) else { return false };
        let Some(at) = entry.queue.iter().position(|w| w.owner == owner) else { return false };
        let waiting = entry.queue.remove(at).expect("the position was just found");
        waiting.session.resolve(outcome);
        woken.push(waiting.session);
        entry.serve(woken);
        entry.check_served();
        true
    }

    /// The holders of a slot, if `waiter` is in its queue.
    pub(super) fn holders_if_waiting(&self, slot: u32, waiter: OwnerId, out: &mut Vec<OwnerId>) -> bool {
        let Some(entry) = self.entries.get(slot as usize) else { return false };
        let waits = entry.queue.iter().any(|w| w.owner == waiter);
        if waits {
            out.extend(entry.holders.iter().map(|h| h.owner));
        }
        waits
    }

    /// What `waiter` waits for in a slot's queue.
    pub(super) fn wanted(&self, slot: u32, waiter: OwnerId) -> Option<(TreeId, Vec<u8>, LockMode)> {
        let entry = self.entries.get(slot as usize)?;
        let waiting = entry.queue.iter().find(|w| w.owner == waiter)?;
        Some((entry.tree, entry.key.to_vec(), waiting.mode))
    }

    /// The key of a slot, if `owner` holds it exclusively.
    pub(super) fn exclusive_key(&self, slot: u32, owner: OwnerId) -> Option<(TreeId, Vec<u8>)> {
        let entry = self.entries.get(slot as usize)?;
        let exclusive = |h: &Holder| h.owner == owner && h.mode == LockMode::Exclusive;
        entry.holders.iter().any(exclusive).then(|| (entry.tree, entry.key.to_vec()))
    }

    pub(super) fn holders(&self, hash: u64, tree: TreeId, key: &[u8]) -> Vec<(OwnerId, LockMode)> {
        let slot = self.find(hash, tree, key);
        slot.map_or(Vec::new(), |s| {
            self.entries[s as usize].holders.iter().map(|h| (h.owner, h.mode)).collect()
        })
    }

    /// Copies the locks of some entries, from the slot `from` on; the slot where the next call goes
    /// on, unless these were the last.
    pub(super) fn list(&self, shard: usize, from: usize, out: &mut Vec<ListedLock>) -> Option<usize> {
        let until = (from + LISTED_AT_ONCE).min(self.entries.len());
        for (at, entry) in self.entries.get(from..until)?.iter().enumerate() {
            if entry.tree == NAMES && entry.queue.is_empty() {
                continue; // each transaction that writes holds its name
            }
            let key = &entry.key[..entry.key.len().min(KEY_LISTED_MAX)];
            let listed = |owner, mode, waits_for| {
                let place = LockPlace { shard, slot: from + at };
                ListedLock { owner, tree: entry.tree, key: key.to_vec(), mode, place, waits_for }
            };
            out.extend(entry.holders.iter().map(|holder| listed(holder.owner, holder.mode, None)));
            for (number, waiting) in entry.queue.iter().enumerate() {
                let excludes = |(owner, mode): &(OwnerId, LockMode)| {
                    let shared = *mode == LockMode::Shared && waiting.mode == LockMode::Shared;
                    *owner != waiting.owner && !shared
                };
                let holders = entry.holders.iter().map(|h| (h.owner, h.mode));
                let mut others: Vec<_> = holders.filter(excludes).collect();
                if others.is_empty() {
                    // The holders would admit it, but for one that came first (L2).
                    let mut before = entry.queue.iter().take(number).map(|w| (w.owner, w.mode));
                    others.extend(before.find(excludes));
                }
                out.push(listed(waiting.owner, waiting.mode, Some(others)));
            }
        }
        (until < self.entries.len()).then_some(until)
    }

    pub(super) fn len(&self) -> usize {
        self.index.len()
    }

    #[cfg(test)]
    pub(super) fn slab_len(&self) -> usize {
        self.entries.len()
    }

    fn find(&self, hash: u64, tree: TreeId, key: &[u8]) -> Option<u32> {
        let same = |&slot: &u32| {
            let entry = &self.entries[slot as usize];
            entry.hash == hash && entry.tree == tree && entry.key.as_slice() == key
        };
        self.index.find(hash, same).copied()
    }

    fn insert(&mut self, hash: u64, tree: TreeId, key: &[u8], holder: Holder) -> u32 {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.entries.push(Entry::new(hash, tree));
            u32::try_from(self.entries.len() - 1).expect("a shard of 2^32 locks does not fit into memory")
        });
        let entry = &mut self.entries[slot as usize];
        (entry.hash, entry.tree) = (hash, tree);
        entry.key.extend_from_slice(key);
        entry.holders.push(holder);
        self.index.insert_unique(hash, slot, |&s| self.entries[s as usize].hash);
        slot
    }

    fn remove(&mut self, slot: u32) {
        let entry = &mut self.entries[slot as usize];
        let occupied = self.index.find_entry(entry.hash, |&s| s == slot);
        occupied.expect("an entry with holders is in the index").remove();
        entry.key.clear();
        if entry.key.capacity() > KEY_RECYCLED_MAX {
            entry.key = SmallVec::new();
        }
        entry.queue = VecDeque::new();
        self.free.push(slot);
        if self.index.is_empty() && self.entries.len() > FREE_ENTRIES_MAX {
            *self = Self::default(); // a huge transaction's locks; no slot is remembered by anyone
        }
    }

    pub(super) fn check_invariants(&self) {
        assert_eq!(self.index.len() + self.free.len(), self.entries.len());
        for &slot in &self.index {
            self.entries[slot as usize].check_invariants();
        }
    }

    /// Those that wait, and for which slot.
    pub(super) fn waiters(&self) -> impl Iterator<Item = (u32, OwnerId)> {
        self.index.iter().flat_map(|&slot| {
            self.entries[slot as usize].queue.iter().map(move |waiting| (slot, waiting.owner))
        })
    }
}

impl Entry {
    fn new(hash: u64, tree: TreeId) -> Self {
        Self { hash, tree, key: SmallVec::new(), holders: SmallVec::new(), queue: VecDeque::new() }
    }

    /// True if this mode is compatible with the other holders' (L1).
    fn admits(&self, owner: OwnerId, mode: LockMode) -> bool {
        let shared = mode == LockMode::Shared;
        self.holders.iter().all(|h| h.owner == owner || (shared && h.mode == LockMode::Shared))
    }

    /// What holds whenever the shard's latch is given back, in builds that check it.
    fn check_served(&self) {
        if env::INVARIANTS && !self.holders.is_empty() {
            self.check_invariants();
        }
    }

    /// Asserts L1 to L3 of a key that is held.
    fn check_invariants(&self) {
        assert!(!self.holders.is_empty(), "an entry without holders is freed");
        let exclusive = self.holders.iter().any(|h| h.mode == LockMode::Exclusive);
        assert!(!exclusive || self.holders.len() == 1, "L1: an exclusive holder is alone");
        for (at, holder) in self.holders.iter().enumerate() {
            let again = self.holders[..at].iter().any(|other| other.owner == holder.owner);
            assert!(!again, "L1: a transaction holds a key once");
        }
        if let Some(front) = self.queue.front() {
            assert!(!self.admits(front.owner, front.mode), "L3: who can be granted the key does not wait");
        }
        for w in &self.queue {
            let holds = self.holders.iter().any(|h| h.owner == w.owner);
            assert_eq!(w.upgrade, holds, "L2: who holds the key and waits wants more of it");
        }
        let upgrades = self.queue.iter().take_while(|w| w.upgrade).count();
        assert!(
            self.queue.iter().skip(upgrades).all(|w| !w.upgrade),
            "L2: only holders go before the others"
        );
    }

    /// Grants from the front while the holders admit it (L3).
    fn serve(&mut self, woken: &mut Vec<Arc<Interrupt>>) {
        while let Some(front) = self.queue.front() {
            if !self.admits(front.owner, front.mode) {
                break;
            }
            let Waiting { owner, mode, upgrade, session } =
                self.queue.pop_front().expect("the front was just seen");
            if upgrade {
                let held = self.holders.iter_mut().find(|h| h.owner == owner);
                held.expect("an upgrade's owner holds the key").mode = mode;
            } else {
                self.holders.push(Holder { owner, mode });
            }
            session.resolve(Outcome::Granted);
            woken.push(session);
        }
    }
}
