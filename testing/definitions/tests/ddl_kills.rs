//! Four sessions that rebuild, index, rename and drop while the server is killed.
//! `DURAMEN_KILL_ROUNDS` says how often, `DURAMEN_SEED` repeats the statements and about the
//! moments.
#![allow(clippy::unwrap_used)]

use definitions::kills::{Options, run};
use definitions::launch;
use servers::arguments::seed_of_the_clock;

#[test]
fn every_acknowledged_definition_is_there_after_a_kill() {
    let rounds = std::env::var("DURAMEN_KILL_ROUNDS").map_or(8, |n| n.parse().unwrap());
    let seed =
        std::env::var("DURAMEN_SEED").map_or_else(|_| seed_of_the_clock().unwrap(), |s| s.parse().unwrap());
    println!("DURAMEN_SEED={seed}, {rounds} rounds");
    let folder = tempfile::tempdir().unwrap();
    let outcome = run(launch(folder.path(), None).unwrap(), &Options { rounds, seed, sessions: 4 });
    let outcome = outcome.unwrap_or_else(|e| panic!("DURAMEN_SEED={seed}: {e}"));
    println!("{outcome:?}");
    assert!(outcome.acknowledged > rounds * 10, "only {outcome:?}");
}
