//! Foreign keys and triggers under concurrent changes: several sessions add children, delete
//! parents and give them other keys, with cascades and chains of triggers, under both isolation
//! levels. In the end, and after a power cut in the middle, no child is without its parent, and no
//! cascade and no chain is half done.
//!
//! `DURAMEN_SEEDS=n` asks for a tenth of so many power cuts, `DURAMEN_SEED_FIRST=n` says where to
//! begin. A seed repeats the sessions' statements, not the order of the threads.
#![allow(clippy::unwrap_used)]

mod common;

use std::collections::BTreeMap;
use std::thread;

use common::{Server, rows, run, value};
use env::SimEnv;
use sql::Session;
use stdx::random::Random;

const SESSIONS: u64 = 6;

/// Every parent has three parts from its transaction on, which only follow it. Children come and
/// go, and have children of their own; a guard keeps its parent.
const DEFINITIONS: &str = "CREATE DATABASE d; USE d;
CREATE TABLE parent (id INT PRIMARY KEY, u INT UNIQUE, n INT NOT NULL DEFAULT 0);
CREATE TABLE part (id INT PRIMARY KEY AUTO_INCREMENT, p INT NOT NULL,
    FOREIGN KEY (p) REFERENCES parent (id) ON DELETE CASCADE ON UPDATE CASCADE);
CREATE TABLE child (id INT PRIMARY KEY AUTO_INCREMENT, p INT NOT NULL, u INT, c INT,
    FOREIGN KEY (p) REFERENCES parent (id) ON DELETE CASCADE ON UPDATE CASCADE,
    FOREIGN KEY (u) REFERENCES parent (u) ON DELETE SET NULL ON UPDATE CASCADE,
    FOREIGN KEY (c) REFERENCES child (id) ON DELETE SET NULL);
CREATE TABLE grandchild (id INT PRIMARY KEY AUTO_INCREMENT, c INT NOT NULL, p INT,
    FOREIGN KEY (c) REFERENCES child (id) ON DELETE CASCADE,
    FOREIGN KEY (p) REFERENCES child (p) ON DELETE SET NULL ON UPDATE SET NULL);
CREATE TABLE guard (id INT PRIMARY KEY AUTO_INCREMENT, p INT, FOREIGN KEY (p) REFERENCES parent (id));
CREATE TABLE trail (id INT PRIMARY KEY AUTO_INCREMENT, child INT, guard INT, total INT NOT NULL, KEY (child));
CREATE TABLE totals (id INT PRIMARY KEY, n INT NOT NULL);
INSERT INTO totals VALUES (0, 0), (1, 0), (2, 0), (3, 0), (4, 0), (5, 0), (6, 0), (7, 0);
CREATE TRIGGER child_ai AFTER INSERT ON child FOR EACH ROW
    INSERT INTO trail (child) VALUES (NEW.id), (NEW.id);
CREATE TRIGGER guard_ad AFTER DELETE ON guard FOR EACH ROW INSERT INTO trail (guard) VALUES (OLD.id);
CREATE TRIGGER trail_bi BEFORE INSERT ON trail FOR EACH ROW SET NEW.total = IFNULL(NEW.child, NEW.guard) % 8;
CREATE TRIGGER trail_ai AFTER INSERT ON trail FOR EACH ROW
    UPDATE totals SET n = n + 1 WHERE id = NEW.total";

/// Foreign keys: child, its column, parent, its column.
const KEYS: [(&str, &str, &str, &str); 7] = [
    ("part", "p", "parent", "id"),
    ("child", "p", "parent", "id"),
    ("child", "u", "parent", "u"),
    ("child", "c", "child", "id"),
    ("grandchild", "c", "child", "id"),
    ("grandchild", "p", "child", "p"),
    ("guard", "p", "parent", "id"),
];

/// Errors that statements may end with: no parent, children in the way, a key that is there, in a
/// child too, a deadlock, a wait that was too long.
const EXPECTED: [u16; 6] = [1452, 1451, 1062, 1761, 1213, 1205];

fn prepare(server: &Server) {
    let mut session = server.session();
    run(&mut session, "SET restrict_fk_on_non_standard_key = OFF").unwrap();
    run(&mut session, DEFINITIONS).unwrap();
}

/// What a session does: the statements of a transaction.
fn transaction(random: &mut Random) -> Vec<String> {
    let mut list = Vec::new();
    for _ in 0..1 + random.below(3) {
        let (id, other) = (random.below(12), random.below(12));
        let some = "SELECT id FROM child ORDER BY id DESC LIMIT 1";
        match random.below(16) {
            0..=2 => {
                list.push(format!("INSERT INTO parent (id, u) VALUES ({id}, {other})"));
                list.push(format!("INSERT INTO part (p) VALUES ({id}), ({id}), ({id})"));
            }
            3..=5 => list.push(format!("INSERT INTO child (p, u) VALUES ({id}, {other}), ({other}, NULL)")),
            6 => list.push(format!("INSERT INTO child (p, c) SELECT {id}, id FROM ({some}) x")),
            7 => list.push(format!("INSERT INTO grandchild (c, p) SELECT id, {other} FROM ({some}) x")),
            8 => list.push(format!("INSERT INTO guard (p) VALUES ({id})")),
            9 => list.push(format!("DELETE FROM guard WHERE p = {id}")),
            10 | 11 => list.push(format!("DELETE FROM parent WHERE id = {id}")),
            12 => list.push(format!("UPDATE parent SET id = {other} WHERE id = {id}")),
            13 => list.push(format!("UPDATE parent SET u = {other} WHERE id = {id}")),
            14 => list.push(format!("DELETE FROM child WHERE p = {id}")),
            _ => list.push(format!("UPDATE parent SET n = n + 1 WHERE id = {id}")),
        }
    }
    list
}

/// Runs transactions; how the statements ended, by their errors' numbers, or `None` once the disk
/// is gone.
fn work(session: &mut Session, random: &mut Random, count: u64) -> Option<BTreeMap<u16, u64>> {
    let mut outcomes = BTreeMap::new();
    run(session, "USE d; SET innodb_lock_wait_timeout = 5").ok()?;
    for _ in 0..count {
        let level = if random.chance(1, 2) { "READ COMMITTED" } else { "REPEATABLE READ" };
        run(session, &format!("SET TRANSACTION ISOLATION LEVEL {level}")).ok()?;
        run(session, "BEGIN").ok()?;
        let mut commits = !random.chance(1, 8);
        for text in transaction(random) {
            let number = run(session, &text).err().map_or(0, |e| e.number);
            if number != 0 && !EXPECTED.contains(&number) {
                println!("{text}: {number}");
                return None;
            }
            *outcomes.entry(number).or_default() += 1;
            if number != 0 {
                // A parent without its parts is no whole one.
                commits = false;
                break;
            }
        }
        run(session, if commits { "COMMIT" } else { "ROLLBACK" }).ok()?;
    }
    Some(outcomes)
}

/// Runs all sessions at once.
fn work_all(server: &Server, seed: u64, count: u64) -> Vec<Option<BTreeMap<u16, u64>>> {
    thread::scope(|scope| {
        let start = |number| {
            let mut session = server.session();
            let mut random = Random::new(seed * 100 + number);
            scope.spawn(move || work(&mut session, &mut random, count))
        };
        let running: Vec<_> = (0..SESSIONS).map(start).collect();
        running.into_iter().map(|session| session.join().unwrap()).collect()
    })
}

fn check(server: &Server, what: &str) {
    let mut session = server.session();
    run(&mut session, "USE d").unwrap();
    for (child, column, parent, key) in KEYS {
        let orphans = rows(
            &mut session,
            &format!(
                "SELECT c.* FROM {child} c LEFT JOIN {parent} p ON c.{column} = p.{key} \
                 WHERE c.{column} IS NOT NULL AND p.id IS NULL"
            ),
        );
        assert!(orphans.is_empty(), "{what}: {child}.{column} without its parent: {orphans:?}");
    }
    let halves = "SELECT p.id, COUNT(t.id) FROM parent p LEFT JOIN part t ON t.p = p.id \
                  GROUP BY p.id HAVING COUNT(t.id) <> 3";
    assert_eq!(rows(&mut session, halves), Vec::<Vec<String>>::new(), "{what}: parents without their parts");
    let untold = "SELECT c.id, COUNT(t.id) FROM child c LEFT JOIN trail t ON t.child = c.id \
                  GROUP BY c.id HAVING COUNT(t.id) <> 2";
    assert_eq!(rows(&mut session, untold), Vec::<Vec<String>>::new(), "{what}: children without their trail");
    let miscounted = "SELECT x.id, n, COUNT(t.id) FROM totals x LEFT JOIN trail t ON t.total = x.id \
                      GROUP BY x.id, n HAVING n <> COUNT(t.id)";
    assert_eq!(
        rows(&mut session, miscounted),
        Vec::<Vec<String>>::new(),
        "{what}: trails without their total"
    );
    for row in rows(&mut session, "CHECK TABLE parent, part, child, grandchild, guard, trail, totals") {
        assert_eq!(row.last().map(String::as_str), Some("OK"), "{what}: {row:?}");
    }
}

#[test]
fn many_sessions_leave_no_child_without_its_parent() {
    let server = Server::new(1);
    prepare(&server);
    let mut all = BTreeMap::<u16, u64>::new();
    for round in 0..4 {
        for outcomes in work_all(&server, round, 250) {
            for (number, count) in outcomes.expect("no other errors") {
                *all.entry(number).or_default() += count;
            }
        }
        check(&server, &format!("round {round}"));
    }
    println!("{all:?}");
    for number in [0, 1451, 1452, 1062] {
        assert!(all.get(&number).is_some_and(|count| *count > 5), "{number}: {all:?}");
    }
    let locks = value(&mut server.session(), "SELECT COUNT(*) FROM performance_schema.data_locks");
    assert_eq!(locks, "0", "all transactions have ended");
    check(&server.power_cut(), "after a restart");
}

#[test]
fn a_power_cut_among_them_leaves_whole_cascades() {
    let number = |name: &str| std::env::var(name).ok().and_then(|n| n.parse().ok());
    let first: u64 = number("DURAMEN_SEED_FIRST").unwrap_or(1);
    for seed in first..first + number("DURAMEN_SEEDS").unwrap_or(600) / 10 {
        println!("seed {seed}");
        let env = SimEnv::new(seed);
        let server = Server::open(env.clone());
        prepare(&server);
        work_all(&server, seed, 10);
        env.cut_at(env.operations() + 1 + Random::new(seed).below(200));
        // Until the disk is gone.
        let cut = work_all(&server, seed + 1000, u64::MAX);
        assert!(cut.iter().all(Option::is_none), "seed {seed}");
        let server = server.power_cut();
        check(&server, &format!("seed {seed}"));
        // It goes on from there, and once more with what is on the disk.
        let outcomes = work_all(&server, seed + 2000, 10);
        assert!(outcomes.iter().all(Option::is_some), "seed {seed}");
        check(&server.restart(), &format!("seed {seed}, after a restart"));
    }
}
