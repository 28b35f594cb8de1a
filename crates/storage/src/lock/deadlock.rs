//! Deadlock detection: the wait-for graph, walked when a wait begins.
//!
//! Nodes are transactions; the graph itself only remembers where each waiting one waits. Its edges
//! are read from the lock table: a waiter waits for the key's holders, be it directly or through
//! those who stand before it in the queue, and these wait for nothing but the same key (L4). So a
//! walk goes from a key to its holders, and from each holder that waits to the key it waits for: a
//! hot row with hundreds of waiters costs one step.
//!
//! The victim is the lightest transaction of the cycle, by number of row changes, and among equals
//! the one that closed it. That is InnoDB's rule. Always rolling the requester back would be
//! simpler, but a batch job that changed a million rows would lose to each single-row update that
//! waits for it.
//!
//! A walk holds the graph's latch, so that no wait begins meanwhile; locks may be released under
//! it, which only removes edges (L4). A cycle seen was there when the walk began, and only a
//! timeout or KILL can have broken it since.

use hashbrown::HashMap;

use env::UnixMicros;

use super::{LockMode, OwnerId, Slot};
use crate::TreeId;

/// A cycle of the wait-for graph, as it was found.
#[derive(Debug, Clone)]
pub struct Deadlock {
    /// When.
    pub at: UnixMicros,
    /// Its transactions, the one that closed it first; each waits for the next, the last for the
    /// first.
    pub waits: Vec<BlockedWait>,
    /// The transaction that was rolled back.
    pub victim: OwnerId,
}

/// A transaction of a cycle.
#[derive(Debug, Clone)]
pub struct BlockedWait {
    /// Its name.
    pub owner: OwnerId,
    /// How many rows it had changed.
    pub weight: u64,
    /// The index in which it waits for a key, or [`super::NAMES`].
    pub tree: TreeId,
    /// Without the tree's prefix.
    pub key: Vec<u8>,
    /// How it wants to have it.
    pub mode: LockMode,
}

/// Where a transaction waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct WaitSlot {
    pub(super) shard: usize,
    pub(super) slot: u32,
}

#[derive(Debug, Default)]
pub(super) struct WaitGraph {
    waits: HashMap<OwnerId, Wait>,
}

#[derive(Debug, Clone, Copy)]
struct Wait {
    place: WaitSlot,
    weight: u64,
    since: UnixMicros,
}

impl WaitGraph {
    pub(super) fn insert(&mut self, owner: OwnerId, place: WaitSlot, weight: u64, since: UnixMicros) {
        let before = self.waits.insert(owner, Wait { place, weight, since });
        assert!(before.is_none(), "{owner:?} waits twice");
    }

    pub(super) fn remove(&mut self, owner: OwnerId) -> Option<WaitSlot> {
        self.waits.remove(&owner).map(|w| w.place)
    }

    /// Asserts that this wait is known (L4): it began under the graph's latch, which the caller
    /// holds.
    pub(super) fn check_wait(&self, owner: OwnerId, place: WaitSlot) {
        let known = self.waits.get(&owner).map(|wait| wait.place);
        assert_eq!(known, Some(place), "L4: {owner:?} waits for one key, and the graph knows which");
    }

    /// Asserts that nobody waits for itself, through others.
    pub(super) fn check_no_cycle(&self, shards: &[Slot]) {
        for &owner in self.waits.keys() {
            let cycle = self.find_cycle(owner, shards);
            assert!(cycle.is_none(), "L4: a cycle is broken by the wait that closes it: {cycle:?}");
        }
    }

    /// Those that wait, and since when.
    pub(super) fn since(&self) -> Vec<(OwnerId, UnixMicros)> {
        self.waits.iter().map(|(owner, wait)| (*owner, wait.since)).collect()
    }

    /// True if nobody waits.
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.waits.is_empty()
    }

    /// The cycle that `requester`'s wait closed, and its victim.
    pub(super) fn deadlock(
        &self,
        requester: OwnerId,
        shards: &[Slot],
    ) -> Option<(Vec<BlockedWait>, OwnerId)> {
        let cycle = self.find_cycle(requester, shards)?;
        let weight = |owner: &OwnerId| self.waits.get(owner).map_or(u64::MAX, |w| w.weight);
        // The requester comes first, and of equals the first is taken.
        let victim = cycle.iter().copied().min_by_key(weight)?;
        let waits = cycle.iter().filter_map(|owner| {
            let wait = self.waits.get(owner)?;
            let (tree, key, mode) = shards[wait.place.shard].0.lock().wanted(wait.place.slot, *owner)?;
            Some(BlockedWait { owner: *owner, weight: wait.weight, tree, key, mode })
        });
        Some((waits.collect(), victim))
    }

    /// A cycle through `requester`, which comes first, then the others in the order in which the
    /// first is waited for.
    fn find_cycle(&self, requester: OwnerId, shards: &[Slot]) -> Option<Vec<OwnerId>> {
        let mut walk = Walk { reached: vec![Visited { owner: requester, from: 0 }], holders: Vec::new() };
        let mut next = 0;
        while next < walk.reached.len() {
            let owner = walk.reached[next].owner;
            if let Some(wait) = self.waits.get(&owner)
                && walk.read_holders(wait.place, owner, shards)
            {
                if owner != requester && walk.holders.contains(&requester) {
                    return Some(walk.path(next));
                }
                walk.reach_holders(next);
            }
            next += 1;
        }
        None
    }
}

/// A breadth-first walk; `reached` is both its queue and its tree.
struct Walk {
    reached: Vec<Visited>,
    /// The holders of the key that is being visited.
    holders: Vec<OwnerId>,
}

struct Visited {
    owner: OwnerId,
    /// The index in `reached` of the transaction that waits for this one.
    from: usize,
}

impl Walk {
    fn read_holders(&mut self, place: WaitSlot, waiter: OwnerId, shards: &[Slot]) -> bool {
        self.holders.clear();
        shards[place.shard].0.lock().holders_if_waiting(place.slot, waiter, &mut self.holders)
    }

    fn reach_holders(&mut self, from: usize) {
        for &owner in &self.holders {
            if self.reached.iter().all(|visited| visited.owner != owner) {
                self.reached.push(Visited { owner, from });
            }
        }
    }

    fn path(&self, mut at: usize) -> Vec<OwnerId> {
        let mut path = vec![];
        while at != 0 {
            path.push(self.reached[at].owner);
            at = self.reached[at].from;
        }
        path.push(self.reached[0].owner);
        path.reverse();
        path
    }
}
