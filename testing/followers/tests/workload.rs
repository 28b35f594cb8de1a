//! The workload and the comparison, on servers that follow nobody.
#![allow(clippy::unwrap_used)]

use followers::workload::{Features, Workload, prepare};
use followers::{compare, connect, proxy::Proxy, seed};
use mysql::prelude::Queryable;
use servers::{Address, Launch, ServerKind};
use std::time::Duration;

#[test]
fn a_source_works_and_says_why_where_it_refuses() {
    let folder = tempfile::tempdir().unwrap();
    let source = Launch::new(ServerKind::Duramen, folder.path()).unwrap().start().unwrap();
    prepare(source.address(), Features::ALL).unwrap();
    let work = Workload::start(source.address(), Features::ALL, 4, seed().unwrap());
    std::thread::sleep(Duration::from_secs(4));
    let report = work.stop().unwrap();
    println!("{report}");
    assert!(report.statements > 200);
    assert_eq!(report.lost, 0);
    // Locks, duplicates, and names that others took away.
    let expected = [
        1007, 1008, 1050, 1051, 1054, 1060, 1061, 1062, 1072, 1091, 1141, 1146, 1205, 1213, 1304, 1305, 1359,
        1360, 1364, 1396, 1410, 1412, 1451, 1452, 3572, 4100,
    ];
    for (code, example) in &report.refused {
        assert!(expected.contains(code), "{code}: {example:?}");
    }
}

#[test]
fn a_difference_is_seen() {
    let folder = tempfile::tempdir().unwrap();
    let server =
        |name: &str| Launch::new(ServerKind::Duramen, &folder.path().join(name)).unwrap().start().unwrap();
    let (one, other) = (server("one"), server("other"));
    let mut conns = [one.address(), other.address()].map(|address| connect(address).unwrap());
    for conn in &mut conns {
        for statement in
            ["CREATE DATABASE d", "CREATE TABLE d.t (a INT)", "INSERT INTO d.t VALUES (1), (2), (2)"]
        {
            conn.query_drop(statement).unwrap();
        }
    }
    let [ours, theirs] = &mut conns;
    assert_eq!(compare::differences(ours, theirs).unwrap(), Vec::<String>::new());
    theirs.query_drop("DELETE FROM d.t WHERE a = 2 LIMIT 1").unwrap();
    assert_eq!(compare::differences(ours, theirs).unwrap().len(), 1);
    ours.query_drop("CREATE TABLE d.u (a INT)").unwrap();
    assert_eq!(compare::differences(ours, theirs).unwrap().len(), 2);
}

#[test]
fn a_cut_is_felt_and_heals() {
    let folder = tempfile::tempdir().unwrap();
    let server = Launch::new(ServerKind::Duramen, folder.path()).unwrap().start().unwrap();
    let proxy = Proxy::to(server.port()).unwrap();
    let through = Address::tcp("127.0.0.1", proxy.port(), "root", "");
    let mut conn = connect(&through).unwrap();
    conn.query_drop("DO 1").unwrap();
    proxy.cut();
    assert!(conn.query_drop("DO 1").is_err());
    proxy.block(true);
    assert!(connect(&through).is_err());
    proxy.block(false);
    connect(&through).unwrap().query_drop("DO 1").unwrap();
    assert!(proxy.passed() > 0);
}
