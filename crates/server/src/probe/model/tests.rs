//! Cases that can be computed by hand, and what must hold for any machine.

use super::*;
use stdx::random::Random;

const CLIENTS: [usize; 7] = [1, 2, 4, 16, 64, 256, 1000];
const DURABILITIES: [Durability; 5] =
    [Durability::Every, Durability::Nth(2), Durability::Nth(10), Durability::Nth(1000), Durability::Never];

/// 100 µs of processor time and 50 µs of wire for a commit; processors for any number of clients.
fn wide(flush: f64) -> Machine {
    Machine {
        processors: 1e6,
        wire: 50e-6,
        commit_alone: 100e-6,
        commit_together: 100e-6,
        waking: 0.0,
        sleep: 0.0,
        flush_work: 0.0,
        flushes: vec![(1, flush), (16, flush)],
        flush_late: flush,
        overlap: 1,
        background_pause: 2e-3,
    }
}

fn check(actual: f64, expected: f64) {
    assert!((actual / expected - 1.0).abs() < 0.02, "{actual} is not {expected}");
}

#[test]
fn one_client_takes_a_round_trip_its_work_and_one_flush() {
    check(wide(20e-3).predict(Durability::Every, 1).rate, 1.0 / 20.15e-3);
    check(wide(20e-3).predict(Durability::Never, 1).rate, 1.0 / 150e-6);
    check(wide(20e-3).predict(Durability::Nth(10), 1).rate, 1.0 / (150e-6 + 2e-3));
}

#[test]
fn a_slow_disk_with_one_flush_at_a_time_has_every_second_flush_for_a_client() {
    let e = wide(20e-3).predict(Durability::Every, 64);
    check(e.rate, 64.0 / 40e-3);
    check(e.group, 32.0);
}

#[test]
fn flushes_that_overlap_well_give_each_client_one_flush() {
    let machine = Machine { overlap: 16, ..wide(20e-3) };
    let rate = machine.predict(Durability::Every, 64).rate;
    assert!(rate > 0.9 * 64.0 / 20.15e-3, "{rate}");
    let serial = Machine { overlap: 16, flushes: vec![(1, 20e-3), (16, 320e-3)], ..wide(20e-3) };
    check(serial.predict(Durability::Every, 64).rate, wide(20e-3).predict(Durability::Every, 64).rate);
}

/// As measured of a server on a disk of 3.5 ms with sync_binlog=10: three to six times as much was
/// predicted when each client was taken to wait for flushes of its own.
#[test]
fn every_nth_flush_makes_all_clients_wait() {
    let machine = Machine {
        processors: 1.6,
        wire: 4e-6,
        commit_alone: 12e-6,
        commit_together: 35e-6,
        waking: 20e-6,
        overlap: 16,
        ..wide(4.1e-3)
    };
    for (clients, measured) in [(4, 2860.0), (16, 5820.0), (64, 15_200.0), (256, 27_900.0)] {
        let expected = machine.predict(Durability::Nth(10), clients).rate;
        assert!((0.67..1.5).contains(&(measured / expected)), "{clients}: {expected}");
    }
}

#[test]
fn what_a_few_clients_fall_short_of_is_explained_and_does_not_slow_one_or_many() {
    let plain = Machine { processors: 2.0, commit_alone: 20e-6, commit_together: 20e-6, ..wide(130e-6) };
    let mut explained = plain.clone();
    let rate = |machine: &Machine, clients| machine.predict(Durability::Every, clients).rate;
    explained.explain(4, 0.6 * rate(&plain, 4));
    check(rate(&explained, 4), 0.6 * rate(&plain, 4));
    check(rate(&explained, 1), rate(&plain, 1));
    assert!(rate(&explained, 256) > 0.95 * rate(&plain, 256));
    let mut better = plain.clone();
    better.explain(4, 2.0 * rate(&plain, 4));
    check(rate(&better, 4), rate(&plain, 4));
}

#[test]
fn many_clients_are_bound_by_the_processors() {
    let machine = Machine { processors: 2.0, ..wide(100e-6) };
    check(machine.predict(Durability::Never, 256).rate, 2.0 / 100e-6);
    check(machine.predict(Durability::Every, 256).rate, 2.0 / 100e-6);
}

#[test]
fn a_power_cut_takes_what_was_answered_and_not_flushed() {
    let machine = wide(1e-3);
    assert_eq!(machine.predict(Durability::Every, 16).lost_commits, 0.0);
    let never = machine.predict(Durability::Never, 16);
    check(never.lost_time, 4e-3);
    check(never.lost_commits, never.rate * 4e-3);
    check(machine.predict(Durability::Nth(2), 1).lost_commits, 1.0);
}

#[test]
fn the_stricter_setting_wins() {
    let check = |sync_binlog, trx_commit, expected| {
        assert_eq!(Durability::of(sync_binlog, trx_commit), expected);
    };
    check(1, 1, Durability::Every);
    check(1, 0, Durability::Every);
    check(0, 1, Durability::Every);
    check(100, 2, Durability::Nth(100));
    check(0, 2, Durability::Never);
    check(0, 0, Durability::Never);
}

fn any_machine(random: &mut Random) -> Machine {
    let mut time = |most: f64| most * (1 + random.below(1000)) as f64 / 1000.0;
    let (flush, together) = (time(25e-3), time(300e-6));
    let slowed = 1.0 + time(20.0);
    Machine {
        processors: 1.0 + time(63.0).floor(),
        wire: time(1e-3),
        commit_alone: together + time(100e-6),
        commit_together: together,
        waking: time(50e-6),
        sleep: time(200e-6),
        flush_work: flush.min(time(50e-6)),
        flushes: vec![(1, flush), (4, flush * slowed.sqrt()), (16, flush * slowed)],
        flush_late: flush + time(25e-3),
        overlap: 1 + time(16.0) as usize,
        background_pause: 2e-3,
    }
}

#[test]
fn bounds_and_orders_hold_for_any_machine() {
    for seed in 0..50 {
        let mut random = Random::new(seed);
        let machine = any_machine(&mut random);
        for clients in CLIENTS {
            let rates = DURABILITIES.map(|d| machine.predict(d, clients).rate);
            let context = format!("seed {seed}, {clients} clients: {rates:?} {machine:?}");
            let (first, last) = (rates[0], rates[4]);
            let commit = machine.commit(0.0, clients);
            let alone = machine.wire + commit;
            // (M1)
            assert!(last <= clients as f64 / alone * 1.001, "{context}");
            assert!(last <= machine.processors / commit * 1.001, "{context}");
            assert!(first <= clients as f64 / (alone + machine.flushes[0].1) * 1.001, "{context}");
            // (M2)
            assert!(rates.iter().all(|r| *r <= last * 1.001), "{context}");
            assert!(rates[1..].is_sorted_by(|a, b| *a <= b * 1.001), "{context}");
            let mut faster = machine.clone();
            faster.flushes.iter_mut().for_each(|(_, time)| *time *= 0.7);
            faster.wire *= 0.7;
            assert!(faster.predict(Durability::Every, clients).rate >= first * 0.98, "{context}");
        }
        let durable = CLIENTS.map(|n| machine.predict(Durability::Every, n));
        assert!(durable.windows(2).all(|w| w[1].rate >= w[0].rate * 0.98), "seed {seed}: {durable:?}");
        let in_groups = |(e, n): (&Expected, &usize)| e.group >= 1.0 && e.group <= *n as f64;
        assert!(durable.iter().zip(&CLIENTS).all(in_groups), "seed {seed}: {durable:?}");
    }
}
