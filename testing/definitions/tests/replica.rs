//! A bounded run with a real replica: MySQL where `DURAMEN_MYSQLD` or the PATH has one.
//! `cargo xtask definitions --replica mysql` is the long one. Where there is none the test says so
//! and has shown nothing. A MariaDB replica follows too (`--replica mariadb`), but shows types with
//! display widths, which the comparison does not bring to one form yet.
#![allow(clippy::unwrap_used)]

use definitions::replica::{Wanted, run};
use definitions::run::Options;
use std::time::Duration;

fn follows(kind: &str) {
    let wanted = Wanted::parse(kind).unwrap();
    if let Some(reason) = wanted.is_missing() {
        println!("NOT TESTED: {reason}");
        eprintln!("NOT TESTED: {reason}");
        return;
    }
    let options = Options {
        definitions: 600,
        time: Duration::from_secs(60),
        batch: 50,
        most: 1,
        attempts: 40,
        ..Options::default()
    };
    let folder = tempfile::tempdir().unwrap();
    let tell = |finding: &definitions::run::Finding| println!("\n{}", finding.text);
    let outcome = run(folder.path(), None, &wanted, &options, tell).unwrap();
    println!("\n{outcome}");
    assert!(outcome.findings.is_empty(), "see above");
    assert!(outcome.compared > 50, "only {} definitions were compared", outcome.compared);
}

#[test]
fn a_mysql_replica_follows_and_shows_the_same() {
    follows("mysql");
}
