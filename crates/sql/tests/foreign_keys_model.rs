//! Random changes of tables with random foreign keys, against a model in memory: after each
//! statement rows and error are the same, and no row refers to nothing unless the checks were off.
//!
//! `DURAMEN_SEEDS=n` asks for a fifth of so many runs, `DURAMEN_SEED_FIRST=n` says where to begin.
#![allow(clippy::unwrap_used)]

mod common;
mod foreign_keys_model {
    pub(crate) mod model;
    pub(crate) mod statement;
}

use std::collections::BTreeMap;

use common::{Server, rows, run};
use foreign_keys_model::model::{Model, Row, Table};
use foreign_keys_model::statement::Writer;
use sql::Session;
use stdx::random::Random;

/// How often statements ended how.
#[derive(Debug, Default)]
struct Outcomes {
    /// By their errors' numbers, 0 for none.
    errors: BTreeMap<u16, usize>,
    /// Rows of more tables than one changed.
    followed: usize,
}

/// The tables' rows as the server has them.
fn shown(session: &mut Session, table: usize) -> BTreeMap<i64, Row> {
    let list = rows(session, &format!("SELECT id, a, b, c FROM t{table}"));
    let row = |row: Vec<String>| {
        let cells = [0, 1, 2, 3].map(|column: usize| row[column].parse().ok());
        (cells[0].unwrap(), cells)
    };
    list.into_iter().map(row).collect()
}

fn compare(session: &mut Session, model: &Model, what: &str) {
    for (number, table) in model.tables.iter().enumerate() {
        let found = shown(session, number);
        assert_eq!(found, table.rows, "t{number} after {what}");
    }
}

/// One statement that is no change of rows: transactions and the checks.
fn step(writer: &mut Writer, model: &mut Model, saved: &mut Saved, breaks: bool) -> Option<&'static str> {
    Some(match writer.below(60) {
        0 if breaks => {
            model.checks = !model.checks;
            if model.checks { "SET foreign_key_checks = 1" } else { "SET foreign_key_checks = 0" }
        }
        1..=3 => {
            *saved = Saved { begin: Some(model.tables.clone()), savepoint: None };
            "BEGIN"
        }
        4 => {
            *saved = Saved::default();
            "COMMIT"
        }
        5 => {
            if let Some(tables) = std::mem::take(saved).begin {
                model.tables = tables;
            }
            "ROLLBACK"
        }
        6 | 7 if saved.begin.is_some() => {
            saved.savepoint = Some(model.tables.clone());
            "SAVEPOINT s"
        }
        8 | 9 => {
            model.tables = saved.savepoint.clone()?;
            "ROLLBACK TO s"
        }
        _ => return None,
    })
}

/// What ROLLBACK leads back to.
#[derive(Default)]
struct Saved {
    begin: Option<Vec<Table>>,
    savepoint: Option<Vec<Table>>,
}

fn one_run(seed: u64, outcomes: &mut Outcomes) {
    let mut writer = Writer { random: Random::new(seed) };
    let server = Server::new(seed);
    let mut session = server.session();
    run(&mut session, "CREATE DATABASE d; USE d").unwrap();
    let lax = seed.is_multiple_of(3);
    if lax {
        run(&mut session, "SET restrict_fk_on_non_standard_key = OFF").unwrap();
    }
    let (mut model, texts) = writer.definitions(lax);
    let mut said = texts.join(";\n");
    for text in &texts {
        run(&mut session, text).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{said}"));
    }
    let breaks = seed.is_multiple_of(4);
    let mut saved = Saved::default();
    for _ in 0..80 {
        if let Some(text) = step(&mut writer, &mut model, &mut saved, breaks) {
            said = format!("{said};\n{text}");
            run(&mut session, text).unwrap();
            compare(&mut session, &model, &format!("seed {seed}:\n{said}"));
            continue;
        }
        let statement = writer.statement(&model);
        let text = statement.text();
        said = format!("{said};\n{text}");
        let before = model.tables.clone();
        let expected = statement.run(&mut model).err();
        let changed = before.iter().zip(&model.tables).filter(|(old, new)| old.rows != new.rows).count();
        outcomes.followed += usize::from(changed > 1);
        let found = run(&mut session, &text).err();
        let number = found.as_ref().map(|e| e.number);
        assert_eq!(number, expected, "seed {seed}: {found:?}\n{said}");
        compare(&mut session, &model, &format!("seed {seed}:\n{said}"));
        *outcomes.errors.entry(expected.unwrap_or(0)).or_default() += 1;
        if !breaks {
            assert_eq!(model.orphans(), [], "seed {seed}:\n{said}");
        }
    }
    run(&mut session, "COMMIT").unwrap();
    let tables: Vec<String> = (0..model.tables.len()).map(|number| format!("t{number}")).collect();
    for row in rows(&mut session, &format!("CHECK TABLE {}", tables.join(", "))) {
        assert_eq!(row.last().map(String::as_str), Some("OK"), "seed {seed}: {row:?}\n{said}");
    }
    drop(session);
    // The log has all of it.
    let server = server.power_cut();
    let mut session = server.session();
    run(&mut session, "USE d").unwrap();
    compare(&mut session, &model, &format!("a power cut, seed {seed}:\n{said}"));
}

#[test]
fn changes_follow_foreign_keys_as_the_model_does() {
    let number = |name: &str| std::env::var(name).ok().and_then(|n| n.parse().ok());
    let first: u64 = number("DURAMEN_SEED_FIRST").unwrap_or(1);
    let seeds = number("DURAMEN_SEEDS").unwrap_or(2000) / 5;
    let mut outcomes = Outcomes::default();
    for seed in first..first + seeds {
        println!("seed {seed}");
        one_run(seed, &mut outcomes);
    }
    println!("{outcomes:?}");
    if seeds >= 100 {
        // 1761 is too rare to be asked for.
        for number in [0, 1062, 1451, 1452, 3008] {
            assert!(outcomes.errors.get(&number).is_some_and(|count| *count > 1), "{number}: {outcomes:?}");
        }
        assert!(outcomes.followed > 100, "{outcomes:?}");
    }
}

/// DELETE found its rows as they were when it began, and failed at those that went along with one
/// before, or were changed with it.
#[test]
fn a_delete_meets_rows_that_went_along_and_rows_that_were_changed() {
    let server = Server::new(1);
    let mut session = server.session();
    run(&mut session, "CREATE DATABASE d; USE d").unwrap();
    for (action, order, deleted) in
        [("CASCADE", "id", 2), ("CASCADE", "id DESC", 4), ("SET NULL", "id", 4), ("SET NULL", "id DESC", 4)]
    {
        run(
            &mut session,
            &format!(
                "CREATE TABLE t (id INT PRIMARY KEY, up INT, FOREIGN KEY (up) REFERENCES t (id) ON DELETE {action}); \
                 INSERT INTO t VALUES (1, NULL), (2, 1), (3, 2), (4, NULL)"
            ),
        )
        .unwrap();
        let done = run(&mut session, &format!("DELETE FROM t ORDER BY {order}")).unwrap();
        assert_eq!(done.ok[0].affected_rows, deleted, "{action} {order}");
        for index in ["PRIMARY", "up"] {
            let left = rows(&mut session, &format!("SELECT id FROM t FORCE INDEX ({index})"));
            assert!(left.is_empty(), "{action} {order}: {left:?}");
        }
        run(&mut session, "DROP TABLE t").unwrap();
    }
}
