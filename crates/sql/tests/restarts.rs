//! What is there after a power cut: everything that was acknowledged, and of the statement that ran
//! all or nothing.
//!
//! A random run of changes and DDL is done against the database and against a plain model. The
//! machine loses power in the middle of any operation on the disk; what the restarted database
//! shows must be the model before or after the last statement. `DURAMEN_SEEDS=n` sets how many runs
//! there are.
#![allow(clippy::unwrap_used)]

mod common;

use std::collections::BTreeMap;

use common::{Server, rows, run, value};
use env::SimEnv;
use sql::Session;
use stdx::random::Random;

/// Tables by name: rows by key. A table that is not there has no entry.
type Model = BTreeMap<String, BTreeMap<i64, (i64, String)>>;

const TABLES: [&str; 3] = ["a", "b", "c"];

/// A random statement, and what it does to the model.
fn step(random: &mut Random, model: &mut Model) -> String {
    let table = TABLES[random.below(3) as usize];
    let key = random.below(20) as i64;
    let n = random.below(1000) as i64;
    let text = "x".repeat(random.below(300) as usize);
    let Some(rows) = model.get_mut(table) else {
        model.insert(table.to_owned(), BTreeMap::new());
        return format!("CREATE TABLE {table} (id INT PRIMARY KEY, n INT, s VARBINARY(400), KEY (n))");
    };
    match random.below(20) {
        0 => {
            rows.clear();
            format!("TRUNCATE TABLE {table}")
        }
        1 => {
            model.remove(table);
            format!("DROP TABLE {table}")
        }
        2..=5 => {
            rows.remove(&key);
            format!("DELETE FROM {table} WHERE id = {key}")
        }
        6..=9 => {
            rows.values_mut().filter(|r| r.0 < n).for_each(|r| r.0 += 1);
            format!("UPDATE {table} SET n = n + 1 WHERE n < {n}")
        }
        _ => {
            rows.insert(key, (n, text.clone()));
            format!("REPLACE INTO {table} VALUES ({key}, {n}, '{text}')")
        }
    }
}

/// What the database shows: by primary key, and the same by the secondary index.
fn shown(session: &mut Session) -> Model {
    let mut model = Model::new();
    if rows(session, "SHOW DATABASES LIKE 'd'").is_empty() {
        return model;
    }
    run(session, "USE d").unwrap();
    for table in rows(session, "SHOW TABLES") {
        let name = table[0].clone();
        let by_key = rows(session, &format!("SELECT id, n, s FROM {name}"));
        let by_index = value(session, &format!("SELECT COUNT(*) FROM {name} FORCE INDEX (n) WHERE n >= -1"));
        assert_eq!(by_index, by_key.len().to_string(), "index and rows of {name} agree");
        let row = |r: Vec<String>| (r[0].parse().unwrap(), (r[1].parse().unwrap(), r[2].clone()));
        model.insert(name, by_key.into_iter().map(row).collect());
    }
    model
}

/// The model with texts as their lengths.
fn brief(model: &Model) -> String {
    let table = |(name, rows): (&String, &BTreeMap<i64, (i64, String)>)| {
        let rows: Vec<_> = rows.iter().map(|(id, (n, s))| format!("{id}:{n}:{}", s.len())).collect();
        format!("{name}[{}]", rows.join(" "))
    };
    model.iter().map(table).collect::<Vec<_>>().join(" ")
}

fn one_run(seed: u64) {
    let mut random = Random::new(seed);
    let env = SimEnv::new(seed);
    let server = Server::open(env.clone());
    let mut session = server.session();
    run(&mut session, "CREATE DATABASE d; USE d").unwrap();
    // Logs of all kinds: with compressed transactions in every other run, and with rows that lack
    // columns in most.
    run(&mut session, &format!("SET binlog_transaction_compression = {}", seed % 2)).unwrap();
    let image = ["MINIMAL", "NOBLOB", "FULL"][random.below(3) as usize];
    run(&mut session, &format!("SET binlog_row_image = {image}")).unwrap();
    env.cut_at(env.operations() + 1 + random.below(400));
    let mut model = Model::new();
    let mut before = model.clone();
    for _ in 0..300 {
        before = model.clone();
        let sql = step(&mut random, &mut model);
        if run(&mut session, &sql).is_err() {
            break;
        }
        before = model.clone();
        if random.chance(1, 40) {
            // Checkpoints move the place where replay begins.
            let _ = server.instance.engine().checkpoint();
        }
    }
    drop(session);
    let server = server.power_cut();
    let mut session = server.session();
    let found = shown(&mut session);
    assert!(
        found == before || found == model,
        "seed {seed}\n found  {}\n before {}\n after  {}",
        brief(&found),
        brief(&before),
        brief(&model)
    );
    // It goes on working.
    run(&mut session, "CREATE TABLE d.more (a INT PRIMARY KEY)").unwrap();
    run(&mut session, "INSERT INTO d.more VALUES (1)").unwrap();
    drop(session);
    let server = server.restart();
    assert_eq!(value(&mut server.session(), "SELECT COUNT(*) FROM d.more"), "1");
}

#[test]
fn a_power_cut_leaves_what_was_acknowledged() {
    let seeds: u64 = std::env::var("DURAMEN_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(150);
    for seed in 1..=seeds {
        println!("seed {seed}");
        one_run(seed);
    }
}
