//! A year of hourly backups, with the log archived in between, by a simulated clock: restored to
//! random seconds, and how long each command takes with so many backups.
//!
//! `DURAMEN_HOURS` hours, 300 by default (a year has 8,760); `DURAMEN_RESTORES` restores, 12 by
//! default; `DURAMEN_SEED` draws the times.

use super::super::choose::choose;
use super::super::folder::Folder;
use super::super::logs::{self, Archiving};
use super::super::prune::{self, Keep};
use super::super::repository::Repository;
use super::super::restore::{self, Wanted};
use super::super::{take, verify};
use super::machine::Machine;
use crate::log_tool::point::Until;
use env::{Env, RealEnv, SimEnv};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use stdx::random::Random;

fn number_of(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |value| value.parse().unwrap())
}

const HOUR: u64 = 3600;

#[test]
fn a_year_of_hourly_backups_restores_to_any_second() {
    let hours = number_of("DURAMEN_HOURS", 300);
    let (restores, seed) = (number_of("DURAMEN_RESTORES", 12), number_of("DURAMEN_SEED", 1));
    println!("DURAMEN_SEED={seed}");
    let clock = || RealEnv.monotonic();
    let mut random = Random::new(seed);
    let sim = SimEnv::new(seed);
    let env: Arc<dyn Env> = Arc::new(sim.clone());
    let mut machine = Machine::with_table(&sim);
    let folder = || Box::new(Folder::new(&env, Path::new("/backup")));
    let repository = Repository::open_or_make(&env, folder(), None).unwrap();
    // When each transaction was committed at the latest, in microseconds since 1970.
    let mut committed: Vec<u64> = Vec::new();
    let begun = clock();
    let (mut taking, mut first_taking) = (Duration::ZERO, Duration::ZERO);
    let tenth = (hours / 10).max(1);
    for hour in 0..hours {
        let mut second = 0;
        for _ in 0..1 + random.below(3) {
            let pause = 1 + random.below(HOUR / 4);
            second += pause;
            sim.advance(Duration::from_secs(pause));
            machine.insert();
            committed.push(env.now());
            if random.below(4) == 0 {
                machine.await_mark();
                let _lock = repository.lock().unwrap();
                logs::archive(
                    &repository,
                    &machine.source(),
                    Archiving { is_locked: true, ..Archiving::default() },
                )
                .unwrap();
            }
        }
        machine.await_mark();
        sim.advance(Duration::from_secs(HOUR - second));
        let before = clock();
        let _lock = repository.lock().unwrap();
        take::take(&repository, &machine.source(), 1, true).unwrap();
        let took = clock() - before;
        taking += took;
        if hour < tenth {
            first_taking += took;
        }
        if hour + 1 == tenth {
            taking = Duration::ZERO;
        }
        if hour + tenth < hours {
            taking = Duration::ZERO;
        }
    }
    let (first, last) = (first_taking / tenth as u32, taking / tenth as u32);
    println!(
        "{hours} hours, {} transactions in {:.1?}; a backup took {first:.1?} in the first tenth, {last:.1?} in the last",
        machine.count(),
        clock() - begun
    );

    let repository = Repository::open(&env, folder(), None).unwrap();
    let before = clock();
    let backups = repository.backups().unwrap().readable;
    assert_eq!(backups.len() as u64, hours);
    println!("list: {:.1?}", clock() - before);
    let (start, end) = (backups[0].until + 1_000_000, env.now());
    let (mut choosing, mut restoring) = (Duration::ZERO, Duration::ZERO);
    for round in 0..restores {
        let time = start + random.below(end - start);
        let repository = Repository::open(&env, folder(), None).unwrap();
        let before = clock();
        choose(&repository, &Until::Time(time)).unwrap();
        choosing += clock() - before;
        let target = Path::new("/restored");
        let wanted = Wanted { target, until: Until::Time(time), keep_uuid: false, jobs: 1 };
        let before = clock();
        restore::restore(&repository, None, &wanted).unwrap();
        restoring += clock() - before;
        let mut restored = Machine::start(&sim, "/restored").unwrap();
        let expected = committed.partition_point(|at| *at < time);
        assert_eq!(restored.rows(), expected, "restore {round}, to {time}");
        restored.stop();
        env.remove_tree(target).unwrap();
    }
    let each = |sum: Duration| sum / restores as u32;
    println!("{restores} restores: {:.1?} each, of that {:.1?} to choose", each(restoring), each(choosing));

    let before = clock();
    let wrong = verify::read_all(&repository, &backups).unwrap();
    assert!(wrong.is_empty(), "{wrong:?}");
    println!("verify --read-only: {:.1?}", clock() - before);

    let days = hours / 24 / 2;
    let before = clock();
    let repository = Repository::open(&env, folder(), None).unwrap();
    let _lock = repository.lock().unwrap();
    let pruned = prune::prune(&repository, Keep { last: None, days: Some(days.max(1)) }).unwrap();
    println!("prune --keep-days={days}: {pruned:?} in {:.1?}", clock() - before);
    let backups = repository.backups().unwrap().readable;
    assert!(verify::read_all(&repository, &backups).unwrap().is_empty());
    // Every moment of the days that are kept is left.
    let from = end - days.max(1) * 24 * HOUR * 1_000_000;
    for time in [from, from + random.below(end - from)] {
        choose(&repository, &Until::Time(time)).unwrap();
    }
    machine.stop();
    // What grows with the number of backups is a directory's listing.
    assert!(last < first * 10 + Duration::from_millis(100), "{first:?}, then {last:?}");
}
