//! Power cuts in the middle of backup, archiving, prune and restore: what was archived when a
//! command said that it was done is there afterwards, and can be restored; what was broken off is
//! no backup, and the next one goes on.
//!
//! The disk keeps any part of what was not flushed, and any of the names that were not.
//!
//! `DURAMEN_POWER_CUTS` cuts, 40 by default; `DURAMEN_SEED` draws them.

use super::super::folder::Folder;
use super::super::logs::{self, Archiving};
use super::super::prune::{self, Keep};
use super::super::repository::Repository;
use super::super::restore::{self, Wanted};
use super::super::{take, verify};
use super::machine::Machine;
use crate::log_tool::ToolError;
use crate::log_tool::point::Until;
use crate::log_tool::replay::is_unfinished;
use env::{Env, SimEnv};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use stdx::random::Random;

fn number_of(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |value| value.parse().unwrap())
}

/// The machine that holds the backups.
struct Disk {
    sim: SimEnv,
    env: Arc<dyn Env>,
}

impl Disk {
    fn new(sim: SimEnv) -> Self {
        Self { env: Arc::new(sim.clone()), sim }
    }

    fn folder(&self) -> Box<Folder> {
        Box::new(Folder::new(&self.env, Path::new("/backup")))
    }

    fn made(&self) -> Result<Repository, ToolError> {
        Repository::open_or_make(&self.env, self.folder(), None)
    }

    fn restored(&self) -> Result<usize, String> {
        let repository = Repository::open(&self.env, self.folder(), None).map_err(|e| e.to_string())?;
        let wanted = Wanted { target: Path::new("/new"), until: Until::End, keep_uuid: false, jobs: 1 };
        restore::restore(&repository, None, &wanted).map_err(|e| e.to_string())?;
        // The restored server's disk is a copy: this one's power may be cut yet.
        let mut machine = Machine::start(&self.sim.copy(1), "/new")?;
        let rows = machine.rows();
        machine.stop();
        Ok(rows)
    }
}

/// What a command that is broken off does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Doing {
    Backup,
    Archiving,
    Prune,
    Restore,
}

/// What is known to be archived.
#[derive(Default)]
struct Acknowledged {
    /// Transactions that some command has said are archived.
    archived: usize,
    /// A backup was taken.
    has_backup: bool,
}

fn work(doing: Doing, disk: &Disk, machine: &Machine, known: &mut Acknowledged) -> Result<(), ToolError> {
    match doing {
        Doing::Backup => {
            let repository = disk.made()?;
            let _lock = repository.lock()?;
            let taken = take::take(&repository, &machine.source(), 1, true)?;
            let (name, end) = taken.log.end();
            known.archived = machine.count_at(name.unwrap(), end);
            known.has_backup = true;
        }
        Doing::Archiving => {
            let repository = disk.made()?;
            let _lock = repository.lock()?;
            let archiving = Archiving { is_first: true, is_locked: true, tables: None };
            let log = logs::archive(&repository, &machine.source(), archiving)?;
            let (name, end) = log.end();
            known.archived = name.map_or(0, |name| machine.count_at(name, end));
        }
        Doing::Prune => {
            let repository = Repository::open(&disk.env, disk.folder(), None)?;
            let _lock = repository.lock()?;
            prune::prune(&repository, Keep { last: Some(1), days: None })?;
        }
        Doing::Restore => {
            let repository = Repository::open(&disk.env, disk.folder(), None)?;
            let wanted = Wanted { target: Path::new("/killed"), until: Until::End, keep_uuid: true, jobs: 1 };
            restore::restore(&repository, None, &wanted)?;
        }
    }
    Ok(())
}

/// After a cut: all that is there is good, and all that is known to be archived is there.
fn check(disk: &Disk, machine: &Machine, known: &Acknowledged, what: &str) {
    // A restore that was broken off has made nothing, or everything, or what no server starts on
    // and the next one replaces.
    let killed = Path::new("/killed");
    if disk.env.exists(killed) && !is_unfinished(&*disk.env, killed) {
        let mut restored = Machine::start(&disk.sim.copy(1), "/killed")
            .unwrap_or_else(|e| panic!("{what}: what was restored does not start: {e}"));
        restored.rows();
        restored.stop();
        disk.env.remove_tree(killed).unwrap();
        disk.env.sync_dir(Path::new("/")).unwrap();
    }
    if !known.has_backup {
        return;
    }
    let repository = Repository::open(&disk.env, disk.folder(), None).unwrap();
    let backups = repository.backups().unwrap();
    assert!(backups.unreadable.is_empty() && !backups.readable.is_empty(), "{what}");
    let wrong = verify::read_all(&repository, &backups.readable).unwrap();
    assert!(wrong.is_empty(), "{what}: {wrong:?}");
    let restored = disk.restored().unwrap_or_else(|e| panic!("{what}: {e}"));
    assert!(
        (known.archived..=machine.count()).contains(&restored),
        "{what}: {restored} transactions, and {} were archived of {}",
        known.archived,
        machine.count()
    );
    disk.env.remove_tree(Path::new("/new")).unwrap();
    disk.env.sync_dir(Path::new("/")).unwrap();
}

#[test]
fn power_cuts_lose_nothing_that_was_archived() {
    let (cuts, seed) = (number_of("DURAMEN_POWER_CUTS", 40), number_of("DURAMEN_SEED", 1));
    println!("DURAMEN_SEED={seed}");
    let mut random = Random::new(seed);
    let (mut done, mut by_command) = (0, BTreeMap::<Doing, u64>::new());
    while done < cuts {
        let mut machine = Machine::with_table(&SimEnv::new(seed + done));
        let mut disk = Disk::new(SimEnv::new(seed + done));
        let mut known = Acknowledged::default();
        machine.insert();
        // Some cuts, one after the other, of one folder.
        for _ in 0..8 {
            for _ in 0..random.below(60) {
                machine.insert();
            }
            if random.below(4) == 0 {
                machine.sql("flush binary logs");
                machine.insert();
            }
            machine.await_mark();
            // Backups are named by the second.
            machine.sim.advance(Duration::from_secs(1 + random.below(1000)));
            disk.sim.advance(Duration::from_secs(1 + random.below(1000)));
            let doing = match random.below(8) {
                _ if !known.has_backup => Doing::Backup,
                0..=2 => Doing::Backup,
                3..=4 => Doing::Archiving,
                5 => Doing::Prune,
                _ => Doing::Restore,
            };
            let within = match doing {
                Doing::Backup => 90,
                Doing::Archiving => 20,
                Doing::Prune => 40,
                Doing::Restore => 120,
            };
            disk.sim.cut_at(1 + random.below(within));
            let outcome = work(doing, &disk, &machine, &mut known);
            let what = format!("cut {done}, {doing:?} ({outcome:?})");
            assert!(outcome.is_ok() || !disk.sim.is_powered(), "{what}");
            if !disk.sim.is_powered() {
                done += 1;
                *by_command.entry(doing).or_default() += 1;
            }
            // Also after it was done: what is not flushed vanishes.
            disk = Disk::new(disk.sim.reboot_with(random.below(u64::MAX)));
            check(&disk, &machine, &known, &what);
        }
        // What was broken off does not keep the next ones from their work.
        machine.sim.advance(Duration::from_secs(1));
        work(Doing::Backup, &disk, &machine, &mut known).unwrap();
        assert_eq!(known.archived, machine.count());
        work(Doing::Prune, &disk, &machine, &mut known).unwrap();
        check(&disk, &machine, &known, "the end");
        machine.stop();
    }
    println!("{done} power cuts: {by_command:?}");
}

/// Where the power went between the last two steps, or while what an earlier one had left was being
/// removed, the next restore refused the folder as somebody else's.
#[test]
fn a_restore_that_was_broken_off_anywhere_is_called_again() {
    let mut machine = Machine::with_table(&SimEnv::new(1));
    let disk = Disk::new(SimEnv::new(1));
    let mut known = Acknowledged::default();
    (0..100).for_each(|_| machine.insert());
    machine.await_mark();
    work(Doing::Backup, &disk, &machine, &mut known).unwrap();
    // The second time something is removed first, and cut again.
    let (mut cut, mut is_done) = (0, false);
    while !is_done {
        cut += 1;
        for seed in 0..3 {
            let first = Disk::new(disk.sim.copy(seed));
            first.sim.cut_at(cut);
            is_done = work(Doing::Restore, &first, &machine, &mut known).is_ok();
            let second = Disk::new(first.sim.reboot_with(seed));
            check(&second, &machine, &known, &format!("cut {cut}, seed {seed}"));
            second.sim.cut_at(1 + (cut * 7 + seed * 31) % 90);
            let _ = work(Doing::Restore, &second, &machine, &mut known);
            let third = Disk::new(second.sim.reboot_with(seed));
            check(&third, &machine, &known, &format!("cut {cut} and again, seed {seed}"));
            work(Doing::Restore, &third, &machine, &mut known)
                .unwrap_or_else(|e| panic!("cut {cut}, seed {seed}: {e}"));
            assert!(!is_unfinished(&*third.env, Path::new("/killed")));
        }
    }
    println!("a restore of {cut} operations");
    machine.stop();
}

/// It was no repository then, and nobody could make it one.
#[test]
fn a_repository_whose_making_was_broken_off_is_made_by_the_next_backup() {
    for seed in 0..40 {
        for cut in 1..20 {
            let disk = Disk::new(SimEnv::new(seed));
            disk.sim.cut_at(cut);
            let made = disk.made();
            assert!(made.is_ok() || !disk.sim.is_powered());
            let after = Disk::new(disk.sim.reboot_with(seed));
            if let Err(e) = after.made() {
                panic!("seed {seed}, cut {cut}: {e}");
            }
            assert!(made.is_err() || after.env.exists(Path::new("/backup/repository")));
        }
    }
}
