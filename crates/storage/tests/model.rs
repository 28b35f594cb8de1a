//! The store against an ordered map of versions.
//!
//! Random writes, tree drops, snapshots, flushes, compactions, restarts, power cuts, failing and
//! full disks, each run repeated by its seed. Whatever the store answers must be what the map
//! answers; after a restart, what the map held at the store's checkpoint.
#![allow(clippy::unwrap_used)]

mod support;

use env::Fault;
use support::{Harness, machine, seeds};

#[test]
fn equals_the_model_through_flush_compaction_and_restart() {
    for seed in seeds(40) {
        let mut harness = Harness::new(machine(seed), seed);
        for _ in 0..400 {
            harness.step();
        }
        harness.check_everything();
        harness.restart();
        harness.check_everything();
    }
}

/// Where tables are made and dropped all the time, in a test suite or for reports, the files of
/// what is gone go, too, though no level is ever full.
#[test]
fn files_of_dropped_trees_do_not_gather() {
    for seed in seeds(4) {
        let mut harness = Harness::new(machine(seed), seed);
        let files = harness.make_and_drop_trees(150);
        assert!(files <= 8, "seed {seed}: {files} files");
        harness.check_everything();
        harness.restart();
        harness.check_everything();
    }
}

#[test]
fn holds_exactly_its_checkpoint_after_a_power_cut() {
    for seed in seeds(300) {
        let env = machine(seed);
        let mut harness = Harness::new(env.clone(), seed);
        let steps = harness.random.below(80);
        for _ in 0..steps {
            harness.step();
        }
        env.cut_at(1 + harness.random.below(120));
        while env.is_powered() {
            harness.step_or_failure();
        }
        harness.reboot();
        harness.check_everything();
        for _ in 0..30 {
            harness.step();
        }
        harness.check_everything();
    }
}

#[test]
fn goes_on_after_failed_writes_and_flushes() {
    for seed in seeds(100) {
        let env = machine(seed);
        let mut harness = Harness::new(env.clone(), seed);
        for _ in 0..8 {
            for _ in 0..harness.random.below(30) {
                harness.step();
            }
            let faults = [Fault::Write, Fault::Sync, Fault::SyncDir, Fault::Name];
            for _ in 0..=harness.random.below(3) {
                let fault = faults[harness.random.below(4) as usize];
                env.fail(fault, "", harness.random.below(10));
            }
            for _ in 0..20 {
                harness.step_or_failure();
            }
            env.clear_faults();
            harness.check_everything();
            if harness.random.chance(1, 2) {
                harness.checkpoint().unwrap();
            }
            if harness.random.chance(1, 3) {
                harness.reboot();
                harness.check_everything();
            }
        }
    }
}

#[test]
fn a_full_disk_recovers_when_there_is_room() {
    for seed in seeds(60) {
        let env = machine(seed);
        let mut harness = Harness::new(env.clone(), seed);
        for _ in 0..60 {
            harness.step();
        }
        env.set_capacity(Some(env.used() + harness.random.below(20_000)));
        let mut was_full = false;
        for _ in 0..60 {
            was_full |= harness.step_or_failure().is_some_and(|e| e.is_disk_full());
        }
        was_full |= harness.checkpoint().is_err_and(|e| e.is_disk_full());
        harness.check_everything();
        env.set_capacity(None);
        harness.checkpoint().unwrap();
        while harness.store().compact_once().unwrap() {}
        harness.check_everything();
        harness.restart();
        harness.check_everything();
        assert!(was_full || seed % 7 != 0, "seed {seed}: the disk was never full");
    }
}

#[test]
fn damaged_files_are_reported_and_never_believed() {
    for seed in seeds(150) {
        let env = machine(seed);
        let mut harness = Harness::new(env.clone(), seed);
        for _ in 0..60 {
            harness.step();
        }
        harness.checkpoint().unwrap();
        harness.damage_and_read();
    }
}
