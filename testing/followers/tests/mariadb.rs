//! MariaDB replicas of Duramen, as they are: by file and offset and by GTID, with parallel apply, over a network that fails, and
//! with servers that are killed. All tables are equal in the end, nothing was refused, and nothing lags.
//!
//! `DURAMEN_FOLLOW_SECONDS` is how long the source works in each test, `DURAMEN_SEED` what it does.
#![allow(clippy::unwrap_used)]

use followers::mariadb::{Apply, Positions, Replica, let_in};
use followers::workload::{Features, Workload, prepare};
use followers::{seed, working_time};
use servers::{Kind, Launch, Running};
use std::path::Path;
use std::time::Duration;

/// What the source does: all but documents, which MariaDB has as texts.
const FEATURES: Features = Features { json: false, ..Features::ALL };
/// How long a replica may take for what its source did.
const PATIENCE: Duration = Duration::from_secs(120);

fn source(folder: &Path) -> Running {
    let source = Launch::new(Kind::Duramen, folder).unwrap();
    // Several files, and transactions that have their own.
    let source = source.arg("--max-binlog-size=4M").arg("--binlog-large-commit-threshold=1M");
    let source = source.start().unwrap();
    let_in(&source).unwrap();
    source
}

fn check_equal(source: &Running, replica: &Replica) {
    replica.await_source(source, PATIENCE).unwrap();
    assert_eq!(replica.differences(source).unwrap(), Vec::<String>::new());
}

fn follows(positions: Positions, apply: Apply) {
    let folder = tempfile::tempdir().unwrap();
    let source = source(folder.path());
    prepare(source.address(), FEATURES).unwrap();
    let replica = Replica::start(folder.path(), apply).unwrap();
    replica.follow(source.port(), positions).unwrap();
    let work = Workload::start(source.address(), FEATURES, 6, seed().unwrap());
    std::thread::sleep(working_time(Duration::from_secs(6)).unwrap());
    println!("{}", work.stop().unwrap());
    check_equal(&source, &replica);
}

#[test]
fn by_file_and_offset() {
    follows(Positions::File, Apply::InOrder);
}

#[test]
fn by_gtid() {
    follows(Positions::Gtid, Apply::InOrder);
}

#[test]
fn in_parallel_by_group_commits() {
    follows(Positions::Gtid, Apply::Conservative);
}

#[test]
fn in_parallel_optimistically() {
    follows(Positions::Gtid, Apply::Optimistic);
}
