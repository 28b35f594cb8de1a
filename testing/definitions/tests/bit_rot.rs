//! Damaged files: the right answer, or a refusal that names the file and changes nothing.
//! `DURAMEN_ROT_TRIALS` says how many files are damaged, `DURAMEN_SEED` repeats which and how.
#![allow(clippy::unwrap_used)]

use definitions::batch::TestBed;
use definitions::rot::{Options, run};
use servers::arguments::seed_of_the_clock;

#[test]
fn a_damaged_file_is_never_answered_from_or_destroyed() {
    let trials = std::env::var("DURAMEN_ROT_TRIALS").map_or(20, |n| n.parse().unwrap());
    let seed =
        std::env::var("DURAMEN_SEED").map_or_else(|_| seed_of_the_clock().unwrap(), |s| s.parse().unwrap());
    println!("DURAMEN_SEED={seed}, {trials} trials");
    let folder = tempfile::tempdir().unwrap();
    let test_bed = TestBed { folder: folder.path().to_owned(), binary: None, replays: false };
    let outcome = run(&test_bed, &Options { trials, seed }, |finding| println!("\n{finding}")).unwrap();
    println!("\n{outcome}");
    assert!(outcome.findings.is_empty(), "DURAMEN_SEED={seed}: see above");
}
