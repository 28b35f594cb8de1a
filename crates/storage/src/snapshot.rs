//! Which versions must stay: the snapshots (InnoDB's read views) that are alive.
//!
//! A snapshot is a log position; it sees, of each key, the newest version at or below it. Flush and
//! compaction drop a version only if no snapshot sees it, none alive and none that could still be
//! taken.
//!
//! (W1) A snapshot is taken at the visible position, which never goes back. Position and
//!      registration happen under one latch, and flush and compaction read both under it
//!      ([`Snapshots::horizon`]). So a snapshot taken later is at or after the visible position
//!      that a horizon saw.

use binlog::LogPosition;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The snapshots that are alive, with how often each was taken.
#[derive(Debug, Default)]
pub(crate) struct Snapshots {
    alive: Mutex<BTreeMap<LogPosition, usize>>,
}

/// What versions are needed for; see [`Horizon::needs`].
#[derive(Debug, Clone, Default)]
pub(crate) struct Horizon {
    /// Positions of live snapshots, ascending.
    snapshots: Vec<LogPosition>,
    /// Snapshots taken from now on are at or after this.
    visible: LogPosition,
}

/// Keeps every version that it sees until it is dropped. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Snapshot {
    guard: Arc<Guard>,
}

#[derive(Debug)]
struct Guard {
    owner: Arc<Snapshots>,
    position: LogPosition,
}

impl Snapshots {
    /// Takes a snapshot at the position that `visible` returns, which is called under the latch
    /// (W1).
    pub(crate) fn take(self: &Arc<Self>, visible: impl FnOnce() -> LogPosition) -> Snapshot {
        let mut alive = self.alive.lock();
        let position = visible();
        *alive.entry(position).or_default() += 1;
        Snapshot { guard: Arc::new(Guard { owner: self.clone(), position }) }
    }

    /// Which versions have to be retained from now on; `visible` is called under the latch (W1).
    pub(crate) fn horizon(&self, visible: impl FnOnce() -> LogPosition) -> Horizon {
        let alive = self.alive.lock();
        Horizon { snapshots: alive.keys().copied().collect(), visible: visible() }
    }

    /// The number of different positions alive, and the oldest of them.
    pub(crate) fn summary(&self) -> (usize, Option<LogPosition>) {
        let alive = self.alive.lock();
        (alive.len(), alive.keys().next().copied())
    }
}

impl Horizon {
    /// No snapshot, alive or future, is below this.
    pub(crate) fn oldest(&self) -> LogPosition {
        self.snapshots.first().map_or(self.visible, |&first| first.min(self.visible))
    }

    /// True if a version written at `position` and replaced at `replaced` can be seen by a live or
    /// a future snapshot.
    pub(crate) fn needs(&self, position: LogPosition, replaced: LogPosition) -> bool {
        if position >= replaced {
            return false;
        }
        if replaced > self.visible {
            return true;
        }
        let first = self.snapshots.partition_point(|&s| s < position);
        self.snapshots.get(first).is_some_and(|&s| s < replaced)
    }
}

impl Snapshot {
    /// The newest position that it sees.
    pub fn position(&self) -> LogPosition {
        self.guard.position
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let mut alive = self.owner.alive.lock();
        if let Some(count) = alive.get_mut(&self.position) {
            *count -= 1;
            if *count == 0 {
                alive.remove(&self.position);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(n: u64) -> LogPosition {
        LogPosition::from_u64(n)
    }

    #[test]
    fn a_version_is_needed_while_a_snapshot_lies_in_its_time() {
        let snapshots = Arc::new(Snapshots::default());
        let old = snapshots.take(|| at(20));
        let horizon = snapshots.horizon(|| at(50));
        let needs = |from, to| horizon.needs(at(from), at(to));
        assert!(needs(10, 30) && needs(20, 21) && needs(5, 51) && needs(60, 70));
        assert!(!needs(10, 20) && !needs(21, 50) && !needs(21, 30) && !needs(50, 50));
        let copy = old.clone();
        drop(old);
        assert!(snapshots.horizon(|| at(50)).needs(at(10), at(30)));
        drop(copy);
        assert!(!snapshots.horizon(|| at(50)).needs(at(10), at(30)));
        assert_eq!(snapshots.summary(), (0, None));
    }
}
