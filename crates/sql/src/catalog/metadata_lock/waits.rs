//! Who waits for which metadata lock, and what the waiting sessions hold: enough to see that some
//! wait for each other.
//!
//! Only sessions that wait are here, so that a lock that is free costs nothing. A cycle is closed
//! by the wait that begins last. It is broken by ending the wait of a statement rather than that of
//! DDL, as MySQL weighs them.

use std::sync::Arc;

use parking_lot::Mutex;

use super::{MetadataLock, MetadataLockType};
use datum::error::{self, Result};

/// The waits of all sessions. The latch is a leaf, taken inside of the locks' own.
#[derive(Default)]
pub(crate) struct Waits(Mutex<Vec<Wait>>);

struct Wait {
    session: u64,
    lock: Arc<MetadataLock>,
    kind: MetadataLockType,
    held: Vec<(Arc<MetadataLock>, MetadataLockType)>,
    /// Chosen to break a cycle.
    victim: bool,
}

/// A wait that is listed; not any more when dropped.
pub(super) struct Listed<'a> {
    waits: &'a Waits,
    session: u64,
}

impl Waits {
    /// The sessions that wait, for what, and how they want it.
    pub(crate) fn list(&self) -> Vec<(u64, Arc<MetadataLock>, MetadataLockType)> {
        self.0.lock().iter().map(|wait| (wait.session, wait.lock.clone(), wait.kind)).collect()
    }

    /// Lists a wait. Error 1213 if it closes a cycle and is the one to give way.
    pub(super) fn begin(
        &self,
        session: u64,
        lock: &Arc<MetadataLock>,
        kind: MetadataLockType,
        held: Vec<(Arc<MetadataLock>, MetadataLockType)>,
    ) -> Result<Listed<'_>> {
        let mut waits = self.0.lock();
        waits.push(Wait { session, lock: lock.clone(), kind, held, victim: false });
        let listed = Listed { waits: self, session };
        let (mut to_wake, mut gives_way) = (Vec::new(), false);
        while let Some(circle) = cycle(&waits) {
            let is_ddl = |&at: &usize| waits[at].kind.is_definition();
            let last = waits.len() - 1;
            let other = circle.iter().copied().find(|at| !is_ddl(at) && *at != last);
            let Some(victim) = other.filter(|_| is_ddl(&last)) else {
                // Others need not give way to a wait that ends here.
                waits[last].victim = true;
                gives_way = true;
                break;
            };
            waits[victim].victim = true;
            to_wake.push(waits[victim].lock.clone());
        }
        if env::INVARIANTS && !gives_way {
            check_invariants(&waits);
        }
        drop(waits);
        // Only now: a waiter holds its lock's latch while it asks whether it is the victim.
        to_wake.iter().for_each(|lock| lock.wake());
        if gives_way { Err(error::LOCK_DEADLOCK.plain()) } else { Ok(listed) }
    }

    /// True if the session's wait was chosen to end.
    pub(super) fn is_victim(&self, session: u64) -> bool {
        self.0.lock().iter().any(|wait| wait.session == session && wait.victim)
    }
}

impl Drop for Listed<'_> {
    fn drop(&mut self) {
        self.waits.0.lock().retain(|wait| wait.session != self.session);
    }
}

/// Asserts M2: none of those that go on waiting waits for itself, through others. A session waits
/// once.
fn check_invariants(waits: &[Wait]) {
    for (at, wait) in waits.iter().enumerate() {
        let again = waits[..at].iter().any(|other| other.session == wait.session);
        assert!(!again, "M2: session {} waits twice", wait.session);
        let mut path = vec![at];
        let is_cycle = !wait.victim && search(waits, at, &mut vec![false; waits.len()], &mut path);
        assert!(!is_cycle, "M2: a cycle of waits is broken by the wait that closes it: {path:?}");
    }
}

/// True if `a` can't go on before `b` does.
fn waits_for(a: &Wait, b: &Wait) -> bool {
    let same = |lock: &Arc<MetadataLock>| Arc::ptr_eq(lock, &a.lock);
    let holds = b.held.iter().any(|(lock, kind)| same(lock) && kind.excludes(a.kind));
    let mine = a.held.iter().any(|(lock, _)| same(lock));
    holds || (same(&b.lock) && !mine && b.kind.goes_before(a.kind))
}

/// The waits of a cycle that the last one is part of, without those that are about to end.
fn cycle(waits: &[Wait]) -> Option<Vec<usize>> {
    let last = waits.len().checked_sub(1)?;
    let mut seen = vec![false; waits.len()];
    let mut path = vec![last];
    search(waits, last, &mut seen, &mut path).then_some(path)
}

fn search(waits: &[Wait], target: usize, seen: &mut [bool], path: &mut Vec<usize>) -> bool {
    let at = path[path.len() - 1];
    for next in 0..waits.len() {
        if next == at || waits[next].victim || !waits_for(&waits[at], &waits[next]) {
            continue;
        }
        if next == target {
            return true;
        }
        if !std::mem::replace(&mut seen[next], true) {
            path.push(next);
            if search(waits, target, seen, path) {
                return true;
            }
            path.pop();
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_a_cycle_fails_unless_it_is_ddl() {
        let (a, b) = (Arc::<MetadataLock>::default(), Arc::<MetadataLock>::default());
        for (kind, told) in [(MetadataLockType::Read, true), (MetadataLockType::Exclusive, false)] {
            let waits = Waits::default();
            let first = waits
                .begin(1, &a, MetadataLockType::Write, vec![(b.clone(), MetadataLockType::Exclusive)])
                .unwrap();
            let second = waits.begin(2, &b, kind, vec![(a.clone(), MetadataLockType::Exclusive)]);
            assert_eq!(second.is_err(), told);
            assert_eq!(waits.is_victim(1), !told);
            drop((first, second));
            assert!(waits.0.lock().is_empty());
        }
    }

    #[test]
    fn who_waits_behind_ddl_waits_for_it() {
        let (a, b) = (Arc::<MetadataLock>::default(), Arc::<MetadataLock>::default());
        let waits = Waits::default();
        // DDL holds `b` and waits for readers of `a`; a reader of `b` waits, and a new reader of
        // `a` after the DDL.
        let _ddl = waits
            .begin(1, &a, MetadataLockType::Exclusive, vec![(b.clone(), MetadataLockType::Exclusive)])
            .unwrap();
        let _new = waits.begin(2, &a, MetadataLockType::Read, Vec::new()).unwrap();
        assert!(waits.begin(3, &b, MetadataLockType::Read, Vec::new()).is_ok());
        assert!(
            waits.begin(4, &b, MetadataLockType::Read, vec![(a.clone(), MetadataLockType::Read)]).is_err()
        );
    }

    /// A waiter asks whether it is the victim while it holds its lock's latch; breaking the cycle
    /// wakes it by that latch. Both waited for each other once.
    #[test]
    fn a_victim_may_ask_while_it_is_chosen() {
        let (a, b) = (Arc::<MetadataLock>::default(), Arc::<MetadataLock>::default());
        let waits = Waits::default();
        let _first = waits
            .begin(1, &a, MetadataLockType::Write, vec![(b.clone(), MetadataLockType::Exclusive)])
            .unwrap();
        std::thread::scope(|scope| {
            let latch = a.state.lock();
            let breaker = scope.spawn(|| {
                waits
                    .begin(2, &b, MetadataLockType::Exclusive, vec![(a.clone(), MetadataLockType::Exclusive)])
                    .is_ok()
            });
            while !waits.is_victim(1) {
                std::thread::yield_now();
            }
            drop(latch);
            assert!(breaker.join().unwrap());
        });
    }
}
