//! Metadata locks: a table's definition, and its rows under LOCK TABLES, stay as they are as long
//! as a session uses them.
//!
//! Statements hold a table's lock until their transaction ends: to read or to write. DDL and LOCK
//! TABLES .. WRITE hold it exclusively, LOCK TABLES .. READ against writers. ALTER TABLE keeps
//! other DDL away as long as it runs, and users only where it must. A waiter for one of the
//! latter keeps new users out. A lock outlives its table; a session that gets one asks the catalog
//! again whether the table is still the same.
//!
//! (M1) DDL takes several exclusive locks in the order of their names, and holds no other lock but
//!      those of LOCK TABLES.
//! (M2) Waits that wait for each other are found when the last of them begins ([`waits`]): one of
//!      them gets error 1213. A cycle that goes through row locks too is ended by their timeout.

pub(crate) mod barrier;
pub(crate) mod waits;

use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex, MutexGuard};
use smallvec::SmallVec;
use storage::Interrupt;

use super::TableDef;
use datum::error::{self, Result};
use waits::Waits;

/// What a lock lets its holder do, and keeps others from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MetadataLockType {
    /// A statement that reads.
    Read,
    /// A statement that writes.
    Write,
    /// LOCK TABLES .. READ: nobody writes.
    ReadOnly,
    /// DDL, LOCK TABLES .. WRITE: nobody else does anything.
    Exclusive,
    /// ALTER TABLE while it runs: no other DDL. Its holder may have the two below too.
    Upgradable,
    /// ALTER TABLE that copies rows: nobody writes.
    NoWrite,
    /// ALTER TABLE as it begins and ends: nobody else does anything.
    Upgraded,
}

impl MetadataLockType {
    /// True if two sessions may not hold these at once.
    pub(crate) fn excludes(self, other: MetadataLockType) -> bool {
        use MetadataLockType as K;
        match (self, other) {
            (K::Exclusive, _) | (_, K::Exclusive) => true,
            (K::Upgraded, K::Read | K::Write | K::ReadOnly) => true,
            (K::Read | K::Write | K::ReadOnly, K::Upgraded) => true,
            (K::Write, K::ReadOnly | K::NoWrite) | (K::ReadOnly | K::NoWrite, K::Write) => true,
            // One statement at a time has any of the three.
            (K::Upgradable, K::Upgradable) | (K::NoWrite, K::NoWrite) | (K::Upgraded, K::Upgraded) => true,
            (K::Upgradable | K::NoWrite | K::Upgraded, K::Upgradable | K::NoWrite | K::Upgraded) => false,
            (K::Upgradable | K::NoWrite, K::Read | K::ReadOnly) | (K::Upgradable, K::Write) => false,
            (K::Read | K::ReadOnly, K::Upgradable | K::NoWrite) | (K::Write, K::Upgradable) => false,
            (K::Read | K::Write, K::Read | K::Write) | (K::ReadOnly, K::Read | K::ReadOnly) => false,
            (K::Read, K::ReadOnly) => false,
        }
    }

    /// True if the lock itself knows who has it: statements' locks are listed by their sessions.
    fn is_named(self) -> bool {
        !matches!(self, MetadataLockType::Read | MetadataLockType::Write)
    }

    /// True for DDL.
    fn is_definition(self) -> bool {
        matches!(
            self,
            MetadataLockType::Exclusive
                | MetadataLockType::Upgradable
                | MetadataLockType::NoWrite
                | MetadataLockType::Upgraded
        )
    }

    /// True if a waiter for this keeps new ones of the other kind out, so as not to wait for
    /// ever.
    fn goes_before(self, other: MetadataLockType) -> bool {
        matches!(
            self,
            MetadataLockType::Exclusive
                | MetadataLockType::ReadOnly
                | MetadataLockType::NoWrite
                | MetadataLockType::Upgraded
        ) && matches!(other, MetadataLockType::Read | MetadataLockType::Write)
            && self.excludes(other)
    }
}

/// One table's lock.
#[derive(Debug, Default)]
pub struct MetadataLock {
    state: Mutex<LockState>,
    changed: Condvar,
}

/// Holders by kind, and sessions that wait for the kinds that go before others.
#[derive(Debug, Default)]
struct LockState {
    holders: [u32; 7],
    waiting: [u32; 7],
    /// The sessions that hold it in another way than statements do: there are few.
    named: Vec<(u64, MetadataLockType)>,
}

const KINDS: [MetadataLockType; 7] = [
    MetadataLockType::Read,
    MetadataLockType::Write,
    MetadataLockType::ReadOnly,
    MetadataLockType::Exclusive,
    MetadataLockType::Upgradable,
    MetadataLockType::NoWrite,
    MetadataLockType::Upgraded,
];

impl LockState {
    fn admits(&self, kind: MetadataLockType, holds_already: bool) -> bool {
        KINDS.iter().all(|&other| {
            let held = self.holders[other as usize] > 0 && kind.excludes(other);
            // Who holds the table already must not wait for one that waits for it.
            let must_queue = !holds_already && self.waiting[other as usize] > 0 && other.goes_before(kind);
            !held && !must_queue
        })
    }
}

impl LockState {
    /// Asserts that no two hold it that exclude each other, and that those who hold it by name are
    /// known by it.
    fn check_invariants(&self) {
        for (kind, other) in KINDS.iter().flat_map(|kind| KINDS.iter().map(move |other| (*kind, *other))) {
            let both = match kind == other {
                true => self.holders[kind as usize] > 1,
                false => self.holders[kind as usize] > 0 && self.holders[other as usize] > 0,
            };
            assert!(!both || !kind.excludes(other), "{kind:?} and {other:?} are held at once: {self:?}");
        }
        for kind in KINDS.into_iter().filter(|kind| kind.is_named()) {
            let named = self.named.iter().filter(|(_, held)| *held == kind).count();
            assert_eq!(named, self.holders[kind as usize] as usize, "who holds it as {kind:?}: {self:?}");
        }
    }
}

/// A lock, given back when dropped.
#[derive(Debug)]
pub(crate) struct Guard {
    lock: Arc<MetadataLock>,
    kind: MetadataLockType,
    session: u64,
    /// Where the definition is that it keeps; 0 if that is not known.
    definition: usize,
}

/// What a transaction holds: few need no memory of their own.
pub(crate) type Guards = SmallVec<[Guard; 2]>;

/// A session that may have to wait.
pub(crate) struct Waiter<'a> {
    /// The connection's id.
    pub session: u64,
    /// What KILL sets.
    pub(crate) interrupt: &'a Interrupt,
    /// `lock_wait_timeout`
    pub timeout: Duration,
    /// Who waits now.
    pub waits: &'a Waits,
    /// What the session holds; asked for only if it has to wait.
    pub held: &'a dyn Fn() -> Vec<(Arc<MetadataLock>, MetadataLockType)>,
    /// Told when the wait begins (true) and when it is over: SHOW PROCESSLIST says so.
    pub(crate) on_wait: &'a dyn Fn(bool),
}

/// How often a waiter checks whether it was killed.
const KILL_CHECK: Duration = Duration::from_millis(50);

impl MetadataLock {
    /// Takes the lock. `holds_already` says that the session has it in another kind.
    ///
    /// # Errors
    /// 1205 when the time is over, 1213 to break a cycle, 1317 when killed.
    pub(crate) fn lock(
        self: &Arc<Self>,
        kind: MetadataLockType,
        holds_already: bool,
        waiter: &Waiter<'_>,
    ) -> Result<Guard> {
        let mut state = self.state.lock();
        if !state.admits(kind, holds_already) {
            state.waiting[kind as usize] += 1;
            drop(state);
            (waiter.on_wait)(true);
            let waited = self.wait(kind, holds_already, waiter);
            (waiter.on_wait)(false);
            state = self.state.lock();
            state.waiting[kind as usize] -= 1;
            let still = waited.and_then(|()| match state.admits(kind, holds_already) {
                true => Ok(()),
                false => self.wait_in(&mut state, kind, holds_already, waiter),
            });
            if let Err(e) = still {
                self.changed.notify_all();
                return Err(e);
            }
        }
        state.holders[kind as usize] += 1;
        if kind.is_named() {
            state.named.push((waiter.session, kind));
        }
        if env::INVARIANTS {
            state.check_invariants();
        }
        drop(state);
        Ok(Guard { lock: self.clone(), kind, session: waiter.session, definition: 0 })
    }

    #[cold]
    fn wait(
        self: &Arc<Self>,
        kind: MetadataLockType,
        holds_already: bool,
        waiter: &Waiter<'_>,
    ) -> Result<()> {
        let _listed = waiter.waits.begin(waiter.session, self, kind, (waiter.held)())?;
        let mut state = self.state.lock();
        self.wait_in(&mut state, kind, holds_already, waiter)
    }

    fn wait_in(
        &self,
        state: &mut MutexGuard<'_, LockState>,
        kind: MetadataLockType,
        holds_already: bool,
        waiter: &Waiter<'_>,
    ) -> Result<()> {
        let mut left = waiter.timeout;
        while !state.admits(kind, holds_already) {
            if waiter.interrupt.killed().is_some() {
                return Err(error::QUERY_INTERRUPTED.plain());
            }
            if waiter.waits.is_victim(waiter.session) {
                return Err(error::LOCK_DEADLOCK.plain());
            }
            if left.is_zero() {
                return Err(error::LOCK_WAIT_TIMEOUT.plain());
            }
            let step = left.min(KILL_CHECK);
            if self.changed.wait_for(state, step).timed_out() {
                left -= step;
            }
        }
        Ok(())
    }

    /// The sessions that hold it otherwise than to read or to write rows.
    pub(crate) fn named_holders(&self) -> Vec<(u64, MetadataLockType)> {
        self.state.lock().named.clone()
    }

    fn wake(&self) {
        // A waiter that has just checked must be asleep before it is woken.
        drop(self.state.lock());
        self.changed.notify_all();
    }
}

impl Guard {
    /// Notes which definition the table has as long as this is held.
    pub(crate) fn pin_definition(&mut self, table: &Arc<TableDef>) {
        self.definition = Arc::as_ptr(table).addr();
    }

    /// True if it pins this definition.
    pub(crate) fn pins(&self, table: &Arc<TableDef>) -> bool {
        self.definition == Arc::as_ptr(table).addr()
    }

    /// True if it is this table's.
    pub(crate) fn is_of(&self, lock: &Arc<MetadataLock>) -> bool {
        Arc::ptr_eq(&self.lock, lock)
    }

    /// What it lets its holder do.
    pub(crate) fn kind(&self) -> MetadataLockType {
        self.kind
    }

    /// The lock, and how it is held.
    pub(crate) fn held(&self) -> (Arc<MetadataLock>, MetadataLockType) {
        (self.lock.clone(), self.kind)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let mut state = self.lock.state.lock();
        state.holders[self.kind as usize] -= 1;
        if self.kind.is_named() {
            let place = state.named.iter().position(|held| *held == (self.session, self.kind));
            if let Some(place) = place {
                state.named.swap_remove(place);
            }
        }
        if env::INVARIANTS {
            state.check_invariants();
        }
        let waited_for = state.waiting.iter().any(|n| *n > 0);
        drop(state);
        if waited_for {
            self.lock.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn try_lock(lock: &Arc<MetadataLock>, kind: MetadataLockType) -> Result<Guard> {
        let (interrupt, waits) = (Interrupt::new(), Waits::default());
        let timeout = Duration::from_millis(20);
        let held = || Vec::new();
        lock.lock(
            kind,
            false,
            &Waiter {
                session: 1,
                interrupt: &interrupt,
                timeout,
                waits: &waits,
                held: &held,
                on_wait: &|_| (),
            },
        )
    }

    #[test]
    fn ddl_waits_for_users_and_keeps_new_ones_out() {
        let lock = Arc::<MetadataLock>::default();
        let user = try_lock(&lock, MetadataLockType::Read).unwrap();
        assert_eq!(try_lock(&lock, MetadataLockType::Exclusive).unwrap_err().number, 1205);
        let second = try_lock(&lock, MetadataLockType::Write).unwrap();
        drop((user, second));
        let ddl = try_lock(&lock, MetadataLockType::Exclusive).unwrap();
        assert_eq!(try_lock(&lock, MetadataLockType::Read).unwrap_err().number, 1205);
        let waiter = std::thread::spawn({
            let lock = lock.clone();
            move || {
                let (interrupt, waits) = (Interrupt::new(), Waits::default());
                let timeout = Duration::from_secs(60);
                let (waits, held, on_wait) = (&waits, &Vec::new, &|_| ());
                let waiter = Waiter { session: 2, interrupt: &interrupt, timeout, waits, held, on_wait };
                lock.lock(MetadataLockType::Read, false, &waiter).map(drop)
            }
        });
        drop(ddl);
        waiter.join().unwrap().unwrap();
    }

    #[test]
    #[should_panic = "are held at once"]
    fn holders_that_exclude_each_other_are_noticed() {
        let mut state = LockState::default();
        state.holders[MetadataLockType::Write as usize] = 1;
        state.holders[MetadataLockType::Upgraded as usize] = 1;
        state.check_invariants();
    }

    #[test]
    fn what_excludes_what() {
        let allowed = |a: MetadataLockType, b: MetadataLockType| {
            let lock = Arc::<MetadataLock>::default();
            let _first = try_lock(&lock, a).unwrap();
            try_lock(&lock, b).is_ok()
        };
        for a in KINDS {
            for b in KINDS {
                assert_eq!(allowed(a, b), !a.excludes(b), "{a:?} {b:?}");
                assert_eq!(a.excludes(b), b.excludes(a), "{a:?} {b:?}");
            }
        }
        assert!(
            !allowed(MetadataLockType::Write, MetadataLockType::ReadOnly)
                && allowed(MetadataLockType::ReadOnly, MetadataLockType::Read)
        );
    }
}
