//! Sorting on a simulated disk.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use env::{Env, Fault, PIECE, SimEnv};
use proptest::prelude::*;
use storage::Interrupt;
use storage::lock::Killed;

use super::file::OS_WRITEBACK_MAX;
use super::sort::Sorter;
use super::{Budget, LIMIT_MIN, Purpose, Spill};
use crate::status::{Counter, Counters};
use crate::variables::GlobalVariables;
use datum::error::{self, Result};

const FOLDER: &str = "/spill";

/// A machine, and what its queries share.
pub(super) struct Machine {
    pub(super) env: SimEnv,
    pub(super) shared: Arc<Spill>,
    pub(super) interrupt: Arc<Interrupt>,
    pub(super) counters: Arc<Counters>,
}

impl Machine {
    pub(super) fn new() -> Self {
        let env = SimEnv::new(1);
        let globals = Arc::new(GlobalVariables::new());
        let shared = Spill::new(Arc::new(env.clone()), Path::new(FOLDER), globals).unwrap();
        Self { env, shared, interrupt: Arc::new(Interrupt::new()), counters: Arc::default() }
    }

    pub(super) fn budget(&self, purpose: Purpose) -> Budget {
        self.budget_of(purpose, LIMIT_MIN)
    }

    pub(super) fn budget_of(&self, purpose: Purpose, limit: usize) -> Budget {
        Budget {
            shared: self.shared.clone(),
            interrupt: self.interrupt.clone(),
            counters: self.counters.clone(),
            purpose,
            limit,
            used: 0,
            reserved: 0,
        }
    }

    /// Nothing is left of what ran: neither memory nor files.
    pub(super) fn assert_clean(&self) {
        assert_eq!(self.shared.taken(), 0);
        assert_eq!(self.files(), 0);
    }

    pub(super) fn files(&self) -> usize {
        self.env.read_dir(Path::new(FOLDER)).map_or(0, |files| files.len())
    }

    /// The numbers of `keys` in the order that the sorter gives.
    fn sorted(&self, purpose: Purpose, keys: &[Vec<u8>], limit: u64) -> Result<Vec<usize>> {
        let mut sorter = Sorter::new(self.budget(purpose), limit);
        for (number, key) in keys.iter().enumerate() {
            sorter.push(key, &number.to_le_bytes())?;
        }
        let mut sorted = sorter.finish()?;
        let mut out = Vec::new();
        while let Some((key, payload)) = sorted.advance()? {
            let number = usize::from_le_bytes(payload.try_into().unwrap());
            assert_eq!(key, keys[number]);
            out.push(number);
        }
        Ok(out)
    }
}

/// `n` keys of `len` bytes with many repetitions, by a seed.
fn keys(n: usize, len: usize, seed: u64) -> Vec<Vec<u8>> {
    let mut random = stdx::random::Random::new(seed);
    (0..n).map(|_| vec![(random.next_u64() % 100) as u8; len]).collect()
}

fn expected(keys: &[Vec<u8>], limit: u64) -> Vec<usize> {
    let mut all: Vec<usize> = (0..keys.len()).collect();
    all.sort_by_key(|n| &keys[*n]);
    all.truncate(limit as usize);
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn runs_merge_to_what_a_stable_sort_gives(
        n in 0..3000_usize,
        len in 0..80_usize,
        seed in any::<u64>(),
        limit in prop_oneof![Just(u64::MAX), 0..3000_u64],
    ) {
        let machine = Machine::new();
        let keys = keys(n, len, seed);
        prop_assert_eq!(machine.sorted(Purpose::Sort, &keys, limit).unwrap(), expected(&keys, limit));
        // A cut holds the old chunks and the new ones for a moment.
        prop_assert!(machine.shared.peak() <= 2 * LIMIT_MIN, "{}", machine.shared.peak());
        machine.assert_clean();
    }
}

#[test]
fn a_sort_of_many_times_its_memory_stays_in_it() {
    let machine = Machine::new();
    let keys = keys(100_000, 20, 7);
    assert_eq!(machine.sorted(Purpose::Sort, &keys, u64::MAX).unwrap(), expected(&keys, u64::MAX));
    assert!(machine.shared.peak() <= LIMIT_MIN, "{}", machine.shared.peak());
    assert!(machine.counters.get(Counter::SortMergePasses) > 1, "in several passes");
    machine.assert_clean();
}

#[test]
fn a_sort_with_a_limit_needs_no_file() {
    let machine = Machine::new();
    let keys = keys(100_000, 10, 7);
    assert_eq!(machine.sorted(Purpose::Sort, &keys, 10).unwrap(), expected(&keys, 10));
    assert_eq!(machine.counters.get(Counter::CreatedTmpFiles), 0);
}

#[test]
fn a_row_larger_than_memory_is_sorted_too() {
    let machine = Machine::new();
    let keys: Vec<_> = (0..10_u8).rev().map(|n| vec![n; 3 * LIMIT_MIN]).collect();
    assert_eq!(machine.sorted(Purpose::Sort, &keys, u64::MAX).unwrap(), expected(&keys, u64::MAX));
    machine.assert_clean();
}

/// Whatever fails, wherever: the error says so, and nothing is left.
#[test]
fn a_full_disk_and_a_failing_one_leave_nothing() {
    let keys = keys(5000, 20, 3);
    let run = |purpose, prepare: &dyn Fn(&Machine)| {
        let machine = Machine::new();
        prepare(&machine);
        let failed = machine.sorted(purpose, &keys, u64::MAX).unwrap_err();
        machine.assert_clean();
        failed
    };
    for room in [0, 100, 20_000, 60_000, 150_000] {
        let full = |machine: &Machine| machine.env.set_capacity(Some(room));
        let e = run(Purpose::Sort, &full);
        assert!(e.is(error::ERROR_ON_WRITE), "{e}");
        assert!(e.message.ends_with("(errno: 28 - No space left on device)"), "{e}");
        let e = run(Purpose::Table, &full);
        assert!(e.is(error::RECORD_FILE_FULL), "{e}");
    }
    for after in [0, 1, 17, 150] {
        let e = run(Purpose::Sort, &|machine| machine.env.fail(Fault::Write, "", after));
        assert!(e.is(error::ERROR_ON_WRITE), "{e}");
        assert!(e.message.ends_with("(errno: 5 - Input/output error)"), "{e}");
    }
    let e = run(Purpose::Sort, &|machine| machine.env.fail(Fault::Name, "tmp", 0));
    assert!(e.is(error::CANT_CREATE_FILE), "{e}");
    let e = run(Purpose::Sort, &|machine| machine.interrupt.kill(Killed::Query));
    assert!(e.is(error::QUERY_INTERRUPTED), "{e}");
}

#[test]
fn what_is_not_small_goes_to_the_disk_in_pieces() {
    let machine = Machine::new();
    let mut file = machine.budget(Purpose::Sort).file().unwrap();
    let block = vec![7; 64 << 10];
    let mut write = |bytes: usize| (0..bytes / block.len()).try_for_each(|_| file.append(&block).map(drop));
    write(OS_WRITEBACK_MAX as usize).unwrap();
    assert_eq!(machine.env.counters().awaits, 0, "it may never get there");
    write(4 << 20).unwrap();
    let pieces = (4 << 20) / PIECE as u64;
    assert_eq!(machine.env.counters().awaits, pieces - 1, "all but the last, which is on its way");
    machine.env.fail(Fault::Await, "", 0);
    let e = write(4 << 20).unwrap_err();
    assert!(e.is(error::ERROR_ON_WRITE), "{e}");
    drop(file);
    assert_eq!(machine.shared.on_disk.load(Relaxed), 0);
    machine.assert_clean();
}

#[test]
fn leftovers_of_a_crash_go_at_the_start() {
    let machine = Machine::new();
    let file = machine.budget(Purpose::Sort).file().unwrap();
    machine.env.sync_dir(Path::new(FOLDER)).unwrap();
    machine.env.sync_dir(Path::new("/")).unwrap();
    let env = machine.env.reboot();
    drop(file);
    assert_eq!(env.read_dir(Path::new(FOLDER)).unwrap().len(), 1);
    Spill::new(Arc::new(env.clone()), Path::new(FOLDER), Arc::new(GlobalVariables::new())).unwrap();
    assert_eq!(env.read_dir(Path::new(FOLDER)).unwrap().len(), 0);
}
