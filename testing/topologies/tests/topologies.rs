//! A short round of Duramen alone, with kills; `cargo xtask topologies` is the long one, with MySQL
//! and MariaDB.
#![allow(clippy::unwrap_used)]

use std::time::Duration;
use topologies::{Options, plan, run};

fn round(name: &str) {
    let folder = tempfile::tempdir().unwrap();
    let seed = std::env::var("DURAMEN_SEED").map_or(1, |s| s.parse().unwrap());
    let options = Options {
        time: Duration::from_secs(10),
        seed,
        kills: 4,
        binary: None,
        folder: folder.path().to_owned(),
    };
    let outcome = run(plan::of(name).unwrap(), &options);
    println!("{name}, seed {seed}: {}", outcome.lines.join("\n"));
    assert!(outcome.findings.is_empty(), "{name}, seed {seed}: {}", outcome.findings.join("\n"));
}

#[test]
fn a_chain_of_three() {
    round("duramen");
}

#[test]
fn a_ring_of_two() {
    round("ring");
}
