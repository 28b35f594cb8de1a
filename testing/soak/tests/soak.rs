//! A short soak; `cargo xtask soak` is the long one.
#![allow(clippy::unwrap_used)]

use soak::Options;
use std::time::Duration;

#[test]
fn the_server_stays() {
    let folder = tempfile::tempdir().unwrap();
    let seed = std::env::var("DURAMEN_SEED").map_or(1, |s| s.parse().unwrap());
    let options = Options {
        time: Duration::from_secs(15),
        sessions: 6,
        hostile: 2,
        text_max: 1_000_000,
        // A second in a release build; this one is slower, and so may the machine be.
        grace: Duration::from_secs(20),
        seed,
        memory_mib_max: 4096,
    };
    let outcome = soak::run(folder.path(), &options).unwrap();
    println!("seed {seed}\n{outcome}");
    assert!(outcome.findings.is_empty(), "seed {seed}: {:#?}", outcome.findings);
    assert!(outcome.successes > 100, "only {} statements went well: {:?}", outcome.successes, outcome.errors);
}
