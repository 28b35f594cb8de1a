//! The sessions of a round, and the databases that they work in.

use super::application;
use crate::Result;
use crate::node::Node;
use differential::generator::{Episodes, episode};
use followers::connect;
use mysql::prelude::Queryable;
use mysql::{Conn, Error};
use servers::{Address, ServerKind};
use std::thread;
use stdx::random::Random;

const SESSIONS: u64 = 4;
/// ER_DB_DROP_RMDIR
const DIRECTORY_NOT_EMPTY: u16 = 1010;

/// What one round did.
#[derive(Debug, Default)]
pub(super) struct Round {
    /// Its databases, as they are called.
    pub(super) databases: Vec<String>,
    pub(super) statements: u64,
    pub(super) refused: u64,
}

impl Round {
    /// Lets all sessions of round `number` work to their end.
    pub(super) fn run(source: &Node, kind: ServerKind, seed: u64, number: u64) -> Result<Self> {
        let (address, mut round) = (source.address()?.clone(), Self::default());
        let done: Vec<Result<(u64, u64)>> = thread::scope(|scope| {
            let sessions = (0..SESSIONS).map(|session| {
                let address = &address;
                scope.spawn(move || one(address, kind, seed, number * SESSIONS + session))
            });
            let sessions: Vec<_> = sessions.collect();
            sessions
                .into_iter()
                .map(|s| s.join().unwrap_or_else(|_| Err("a session panicked".into())))
                .collect()
        });
        for counts in done {
            let (statements, refused) = counts?;
            round.statements += statements;
            round.refused += refused;
        }
        let databases: Vec<String> = connect(&address)?.query("SHOW DATABASES")?;
        round.databases = databases.into_iter().filter(|name| is_of_a_session(name)).collect();
        Ok(round)
    }

    /// Removes what the sessions made.
    pub(super) fn drop_databases(&self, source: &Node) -> Result<()> {
        let mut conn = connect(source.address()?)?;
        conn.query_drop("SET foreign_key_checks = 0")?;
        for database in &self.databases {
            match conn.query_drop(format!("DROP DATABASE IF EXISTS {}", quoted(database))) {
                // A MariaDB leaves files of tables behind now and then, and with them the folder.
                Err(Error::MySqlError(e)) if e.code == DIRECTORY_NOT_EMPTY => println!("{database}: {e}"),
                outcome => outcome?,
            }
        }
        Ok(())
    }
}

/// A name as an identifier.
pub(super) fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

fn is_of_a_session(name: &str) -> bool {
    let name = name.strip_prefix(['r', 'c']).unwrap_or_default();
    name.starts_with(|c: char| c.is_ascii_digit())
}

/// Runs session `number`: how many statements it said, and how many of them were refused.
fn one(address: &Address, kind: ServerKind, seed: u64, number: u64) -> Result<(u64, u64)> {
    let mut conn = connect(address)?;
    let mut counts = (0, 0);
    let mut run = |sql: &str| -> bool {
        counts.0 += 1;
        let is_done = match conn.query_drop(sql) {
            Ok(()) => true,
            // Of several result sets the first is enough.
            Err(Error::MySqlError(_)) => false,
            Err(e) => {
                println!("session {number}: {e} at {sql}");
                if let Ok(anew) = connect(address) {
                    conn = anew;
                }
                false
            }
        };
        counts.1 += u64::from(!is_done);
        is_done
    };
    if number % 3 == 2 {
        definition_generator::case(seed, number, &mut run);
        run("COMMIT");
        return Ok(counts);
    }
    let mut random = Random::new(seed ^ number.wrapping_mul(0x9e37_79b9));
    for statement in begin(kind, &mut random, number) {
        run(&statement);
    }
    if number % 3 == 1 {
        for statement in application::statements(&mut random) {
            run(&statement);
        }
        run("COMMIT");
        return Ok(counts);
    }
    let what = Episodes {
        for_mysql: kind != ServerKind::MariaDb,
        queries_alone: false,
        foreign_keys: random.chance(1, 3),
        views: random.chance(1, 3),
        triggers: random.chance(1, 3),
        routines: random.chance(1, 3),
    };
    for statement in episode(random.next_u64(), what) {
        let sql = statement.sql.to_string();
        // Functions may change rows in queries, too; others only cost time.
        if what.routines || !sql.starts_with("SELECT") && !sql.starts_with("SHOW") {
            run(&sql);
        }
    }
    run("COMMIT");
    Ok(counts)
}

/// A session's settings, and its database.
fn begin(kind: ServerKind, random: &mut Random, number: u64) -> Vec<String> {
    let mut statements = vec![
        "SET lock_wait_timeout = 10, innodb_lock_wait_timeout = 10".to_owned(),
        format!("CREATE DATABASE r{number} CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci"),
        format!("USE r{number}"),
    ];
    if kind == ServerKind::MariaDb {
        // A procedure may go round for ever.
        statements.push("SET max_statement_time = 20".to_owned());
    }
    let mut perhaps = |text: &str| {
        if random.chance(1, 4) {
            statements.push(text.to_owned());
        }
    };
    perhaps("SET sql_mode = ''");
    perhaps("SET time_zone = '+05:30'");
    perhaps("SET timestamp = 1700000000");
    perhaps("SET NAMES latin1");
    perhaps("SET auto_increment_increment = 7, auto_increment_offset = 2");
    perhaps("SET foreign_key_checks = 0, unique_checks = 0");
    if kind != ServerKind::MariaDb {
        perhaps("SET sql_generate_invisible_primary_key = ON");
        perhaps("SET binlog_row_image = MINIMAL");
        perhaps("SET binlog_row_value_options = PARTIAL_JSON");
        perhaps("SET binlog_transaction_compression = ON");
        perhaps("SET explicit_defaults_for_timestamp = OFF");
    } else {
        perhaps("SET binlog_format = STATEMENT");
        perhaps("SET binlog_format = ROW");
        perhaps("SET binlog_row_image = MINIMAL");
    }
    statements
}

/// Used by those who compare.
pub(super) fn conn_of(node: &Node) -> Result<Conn> {
    let mut conn = connect(node.address()?)?;
    conn.query_drop("SET time_zone = '+00:00'")?;
    Ok(conn)
}
