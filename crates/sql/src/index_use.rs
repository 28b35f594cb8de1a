//! How often indexes are used: `performance_schema.table_io_waits_summary_by_index_usage`.
//!
//! 1. A walk over an index asks its session for the index's [`Counts`] once ([`SessionUses`]), and
//!    counts each row there.
//! 2. Whoever reads the tables adds up the counts of all sessions, and of those that have ended.
//!
//! (U1) One thread adds to a session's counts: no two sessions share a cache line, and an addition
//!      is no atomic one.
//! (U2) A session holds the counts of [`FOUND_MAX`] indexes at most; then they go to those of the
//!      sessions that have ended. There, indexes that are gone are forgotten.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Weak};

use hashbrown::{HashMap, HashSet};
use parking_lot::Mutex;
use storage::TreeId;

/// Indexes that a session counts by itself.
const FOUND_MAX: usize = 1024;
/// Indexes whose counts are held beyond those that there are, before somebody looks.
const ENDED_MAX: usize = 1 << 16;

/// What is counted of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// Rows read by it.
    Fetched,
    /// Rows read of all of the table, of its primary key.
    Scanned,
    /// Rows of its table, of its primary key.
    Inserted,
    Updated,
    Deleted,
}

/// The counts of an index, by [`Use`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Used(pub(crate) [u64; 5]);

impl Used {
    /// Rows that were used so.
    pub(crate) fn of(&self, what: Use) -> u64 {
        self.0[what as usize]
    }

    /// Adds others.
    pub(crate) fn add(&mut self, other: &Used) {
        self.0.iter_mut().zip(other.0).for_each(|(sum, n)| *sum = sum.wrapping_add(n));
    }

    /// Takes others away.
    fn subtract(&mut self, other: &Used) {
        self.0.iter_mut().zip(other.0).for_each(|(sum, n)| *sum = sum.saturating_sub(n));
    }
}

/// A session's counts of one index.
#[derive(Debug, Default)]
pub(crate) struct Counts([AtomicU64; 5]);

impl Counts {
    /// Counts a row (U1).
    pub(crate) fn count(&self, what: Use) {
        let count = &self.0[what as usize];
        count.store(count.load(Relaxed).wrapping_add(1), Relaxed);
    }

    fn used(&self) -> Used {
        Used(self.0.each_ref().map(|n| n.load(Relaxed)))
    }
}

type Shared = Mutex<Vec<(TreeId, Arc<Counts>)>>;

/// What a session counts.
#[derive(Debug, Default)]
pub(crate) struct SessionUses {
    found: HashMap<TreeId, Arc<Counts>>,
    /// The same for others to read.
    shared: Option<(Arc<Shared>, Arc<IndexUses>)>,
}

impl SessionUses {
    /// The counts of an index.
    pub(crate) fn of(&mut self, all: &Arc<IndexUses>, tree: TreeId) -> Arc<Counts> {
        match self.found.get(&tree) {
            Some(counts) => counts.clone(),
            None => self.add(all, tree),
        }
    }

    /// Counts a row of an index.
    pub(crate) fn count(&mut self, all: &Arc<IndexUses>, tree: TreeId, what: Use) {
        match self.found.get(&tree) {
            Some(counts) => counts.count(what),
            None => self.add(all, tree).count(what),
        }
    }

    #[cold]
    fn add(&mut self, all: &Arc<IndexUses>, tree: TreeId) -> Arc<Counts> {
        if self.found.len() >= FOUND_MAX {
            self.end();
        }
        let (shared, _) = self.shared.get_or_insert_with(|| (all.begin(), all.clone()));
        let counts = Arc::<Counts>::default();
        shared.lock().push((tree, counts.clone()));
        self.found.insert(tree, counts.clone());
        counts
    }

    /// Hands the counts over. Walks that go on count for nobody.
    fn end(&mut self) {
        self.found.clear();
        if let Some((shared, all)) = self.shared.take() {
            all.end(&shared);
        }
    }
}

impl Drop for SessionUses {
    fn drop(&mut self) {
        self.end();
    }
}

/// The counts of all sessions.
#[derive(Debug, Default)]
pub(crate) struct IndexUses(Mutex<Sessions>);

#[derive(Debug, Default)]
struct Sessions {
    living: Vec<Weak<Shared>>,
    ended: HashMap<TreeId, Used>,
    /// What was counted before somebody began anew, which is not shown.
    before: HashMap<TreeId, Used>,
}

impl Sessions {
    /// All that was counted of these indexes.
    fn sum(&self, known: &HashSet<TreeId>) -> HashMap<TreeId, Used> {
        let mut all = self.ended.clone();
        let living: Vec<_> = self.living.iter().filter_map(Weak::upgrade).collect();
        for shared in &living {
            for (tree, counts) in shared.lock().iter().filter(|(tree, _)| known.contains(tree)) {
                all.entry(*tree).or_default().add(&counts.used());
            }
        }
        all
    }

    /// Forgets the indexes that there are no more.
    fn forget_others(&mut self, known: &HashSet<TreeId>) {
        self.ended.retain(|tree, _| known.contains(tree));
        self.before.retain(|tree, _| known.contains(tree));
    }
}

impl IndexUses {
    fn begin(&self) -> Arc<Shared> {
        let shared = Arc::<Shared>::default();
        self.0.lock().living.push(Arc::downgrade(&shared));
        shared
    }

    fn end(&self, shared: &Arc<Shared>) {
        let mut sessions = self.0.lock();
        sessions.living.retain(|other| !std::ptr::eq(other.as_ptr(), Arc::as_ptr(shared)));
        for (tree, counts) in shared.lock().iter() {
            if sessions.ended.len() >= ENDED_MAX && !sessions.ended.contains_key(tree) {
                continue;
            }
            sessions.ended.entry(*tree).or_default().add(&counts.used());
        }
    }

    /// What was counted of these indexes; others are forgotten.
    pub(crate) fn now(&self, known: &HashSet<TreeId>) -> HashMap<TreeId, Used> {
        let mut sessions = self.0.lock();
        sessions.forget_others(known);
        let mut all = sessions.sum(known);
        for (tree, before) in &sessions.before {
            if let Some(used) = all.get_mut(tree) {
                used.subtract(before);
            }
        }
        all
    }

    /// Begins to count these indexes anew. Sessions go on adding to their own counts (U1).
    pub(crate) fn clear(&self, known: &HashSet<TreeId>) {
        let mut sessions = self.0.lock();
        sessions.forget_others(known);
        sessions.before = sessions.sum(known);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_added_up_and_outlive_their_session() {
        let all = Arc::<IndexUses>::default();
        let (mut one, mut two) = (SessionUses::default(), SessionUses::default());
        one.of(&all, TreeId(1)).count(Use::Fetched);
        two.of(&all, TreeId(1)).count(Use::Fetched);
        two.of(&all, TreeId(2)).count(Use::Inserted);
        let known = HashSet::from_iter([TreeId(1), TreeId(2)]);
        assert_eq!(all.now(&known)[&TreeId(1)].of(Use::Fetched), 2);
        drop(two);
        assert_eq!(all.now(&known)[&TreeId(1)].of(Use::Fetched), 2);
        assert_eq!(all.now(&known)[&TreeId(2)].of(Use::Inserted), 1);
        one.of(&all, TreeId(1)).count(Use::Fetched);
        assert_eq!(all.now(&HashSet::from_iter([TreeId(1)])).len(), 1);
        assert_eq!(all.now(&known)[&TreeId(1)].of(Use::Fetched), 3);
        assert!(!all.now(&known).contains_key(&TreeId(2)), "it was forgotten");
    }

    #[test]
    fn counting_begins_anew() {
        let all = Arc::<IndexUses>::default();
        let (mut one, mut two) = (SessionUses::default(), SessionUses::default());
        let known = HashSet::from_iter([TreeId(1)]);
        one.of(&all, TreeId(1)).count(Use::Fetched);
        two.of(&all, TreeId(1)).count(Use::Fetched);
        all.clear(&known);
        assert_eq!(all.now(&known)[&TreeId(1)], Used::default());
        one.of(&all, TreeId(1)).count(Use::Fetched);
        drop((one, two));
        assert_eq!(all.now(&known)[&TreeId(1)].of(Use::Fetched), 1);
    }

    #[test]
    fn a_session_with_many_indexes_hands_them_over() {
        let all = Arc::<IndexUses>::default();
        let mut session = SessionUses::default();
        for tree in 0..3000 {
            session.of(&all, TreeId(tree)).count(Use::Fetched);
        }
        assert!(session.found.len() <= FOUND_MAX);
        let known = (0..3000).map(TreeId).collect();
        assert!(all.now(&known).values().all(|used| used.of(Use::Fetched) == 1));
        assert_eq!(all.now(&known).len(), 3000);
    }
}
