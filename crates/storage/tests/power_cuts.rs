//! Log, store and transactions together in foul weather: power cuts, failing flushes, full disks.
//!
//! C2: after a restart tables and log hold exactly the same transactions, and these are a prefix of the commit order,
//! with everything in it that was durable; at `sync_binlog=1` or `innodb_flush_log_at_trx_commit=1` that is everything
//! that was acknowledged.
//!
//! `DURAMEN_SEEDS` says how many seeds to run, `DURAMEN_SEED_FIRST` where to begin.
#![allow(clippy::unwrap_used)]

mod database;
mod world;

use env::SimEnv;
use stdx::random::Random;
use world::{Outcome, World};

/// The power is cut in the middle of some operation, several times a run; now and then it ends cleanly instead.
#[test]
fn tables_and_log_hold_the_same_transactions_after_a_power_cut() {
    let (mut cuts, mut lost, mut acknowledged) = (0, 0, 0);
    for seed in database::seeds(500) {
        println!("seed {seed}");
        let mut random = Random::new(seed);
        let env = SimEnv::new(seed);
        let mut world = World::new(env, random.clone());
        for _ in 0..=random.below(4) {
            let clean = random.chance(1, 8);
            if !clean {
                let soon = [20, 150, 150, 1500][random.below(4) as usize];
                world.env.cut_at(1 + random.below(soon));
            }
            for _ in 0..random.below(800) {
                if let Outcome::Ended = world.step() {
                    break;
                }
            }
            let before = world.history.len();
            let clean = clean && world.env.is_powered();
            world = world.restart(clean);
            cuts += u64::from(!clean);
            lost += before - world.history.len();
        }
        acknowledged += world.acknowledged;
    }
    println!(
        "{cuts} power cuts, {acknowledged} transactions acknowledged, {lost} lost before they were durable"
    );
}
