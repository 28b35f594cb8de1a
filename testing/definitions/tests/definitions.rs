//! A bounded run: whatever is accepted is there, unchanged, after stops and kills. `cargo xtask
//! definitions` is the long one; `DURAMEN_DEFINITIONS=100000` makes this one longer, and draws a
//! seed of its own.
#![allow(clippy::unwrap_used)]

use definitions::batch::TestBed;
use definitions::run::{Options, run};
use servers::arguments::seed_of_the_clock;
use std::time::Duration;

#[test]
fn what_was_accepted_is_there_after_stops_and_kills() {
    let longer = std::env::var("DURAMEN_DEFINITIONS").ok().map(|n| n.parse().unwrap());
    let options = match longer {
        Some(definitions) => {
            Options { definitions, seed: seed_of_the_clock().unwrap(), ..Options::default() }
        }
        None => Options {
            definitions: 2_000,
            time: Duration::from_secs(45),
            most: 1,
            attempts: 40,
            ..Options::default()
        },
    };
    println!("seed {}", options.seed);
    let folder = tempfile::tempdir().unwrap();
    let test_bed = TestBed { folder: folder.path().to_owned(), binary: None, replays: false };
    let outcome = run(&test_bed, &options, |finding| println!("\n{}", finding.text)).unwrap();
    println!("\n{outcome}");
    assert!(outcome.findings.is_empty(), "seed {}: see above", options.seed);
    let counts = &outcome.counts;
    assert!(counts.definitions > 100, "only {} definitions were accepted", counts.definitions);
    assert!(counts.refused_definitions * 10 < counts.definitions * 15, "more than 60 % were refused");
}
