//! Sessions that rebuild, index, rename and drop their tables while the server is killed, over and
//! over.
//!
//! Each session owns a database and knows what it must hold: after each acknowledged statement that
//! is one state, and while one is in flight either the state before it or the one after it. After
//! each kill the server must start and show one of the two: tables, columns, indexes, rows, and the
//! rows that each index finds.

use crate::{Result, connect};
use mysql::Conn;
use mysql::prelude::Queryable;
use servers::{Launch, Running};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use stdx::random::Random;

/// How it goes.
#[derive(Debug, Clone)]
pub struct Options {
    /// How often the server is killed.
    pub rounds: u64,
    /// Statements and moments draw from this.
    pub seed: u64,
    /// Sessions at once.
    pub sessions: u64,
}

/// What it came to.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Statements that were acknowledged.
    pub acknowledged: u64,
    /// Those that were in flight when the server was killed, and are there afterwards.
    pub in_flight_done: u64,
    /// Those that are not.
    pub in_flight_undone: u64,
}

/// A table as its session knows it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Table {
    /// Columns after `id` and `v`, in order.
    columns: Vec<String>,
    /// Indexes by name, with their columns; PRIMARY is one.
    indexes: BTreeMap<String, String>,
    rows: BTreeSet<(i64, String)>,
}

type Tables = BTreeMap<String, Table>;

/// A session's tables between rounds, and what it says next.
#[derive(Debug)]
struct Owner {
    number: u64,
    random: Random,
    tables: Tables,
    /// Numbers that no name or row has had.
    serial: i64,
    acknowledged: u64,
    in_flight: Option<(String, Tables)>,
}

/// Rows that a table begins with: enough for a rebuild to take a while.
const ROWS: i64 = 60;
/// Tables of a session.
const TABLES_MAX: usize = 4;

/// Small files and memtables: rotations, flushes and checkpoints fall into every round.
pub fn arguments(launch: Launch) -> Launch {
    [
        "--max-binlog-size=256K",
        "--binlog-prealloc-num=2",
        "--duramen-memtable-size=1M",
        "--duramen-recovery-distance-max=1M",
    ]
    .iter()
    .fold(launch, |launch, arg| launch.arg(*arg))
}

/// Kills the server `options.rounds` times.
///
/// # Errors
/// The first round after which the server doesn't start, or shows what it must not.
pub fn run(launch: Launch, options: &Options) -> Result<Outcome> {
    let mut server = arguments(launch).start()?;
    let mut random = Random::new(options.seed);
    let mut owners: Vec<Owner> =
        (0..options.sessions).map(|number| Owner::new(options.seed, number)).collect();
    let mut conn = connect(&server)?;
    for owner in &owners {
        conn.query_drop(format!("CREATE DATABASE {}", owner.database()))?;
    }
    drop(conn);
    let mut outcome = Outcome::default();
    for round in 1..=options.rounds {
        let life = Duration::from_millis(20 + random.below(500));
        std::thread::scope(|scope| -> Result<()> {
            let (server_ref, mut sessions) = (&server, Vec::new());
            for owner in &mut owners {
                sessions.push(scope.spawn(move || owner.work(server_ref)));
            }
            std::thread::sleep(life);
            // By its number: the sessions still hold the server.
            std::process::Command::new("kill").args(["-9", &server_ref.pid().to_string()]).status()?;
            for session in sessions {
                session.join().map_err(|_| "a session panicked")??;
            }
            Ok(())
        })?;
        server.kill()?;
        let launch = server.launch().clone();
        let messages = launch.messages()?.len();
        server = server.restart().map_err(|e| {
            let summary = launch.messages().unwrap_or_default();
            format!("round {round}: {e}\n{}", summary.get(messages..).unwrap_or_default())
        })?;
        let mut conn = connect(&server)?;
        for owner in &mut owners {
            owner.check(&mut conn, &mut outcome).map_err(|e| format!("round {round}: {e}"))?;
        }
    }
    outcome.acknowledged = owners.iter().map(|owner| owner.acknowledged).sum();
    server.stop()?;
    Ok(outcome)
}

impl Owner {
    fn new(seed: u64, number: u64) -> Self {
        let random = Random::new(seed.wrapping_mul(31).wrapping_add(number + 1));
        Self { number, random, tables: Tables::new(), serial: 0, acknowledged: 0, in_flight: None }
    }

    fn database(&self) -> String {
        format!("owner{}", self.number)
    }

    /// Says statements until the server is gone. An error is what the server must not answer.
    fn work(&mut self, server: &Running) -> Result<()> {
        // The server may be gone before the session is there.
        let Ok(mut conn) = connect(server) else { return Ok(()) };
        if conn.query_drop(format!("USE {}", self.database())).is_err() {
            return Ok(());
        }
        loop {
            let (sql, after) = self.next();
            match conn.query_drop(&sql) {
                Ok(()) => {
                    self.tables = after;
                    self.acknowledged += 1;
                }
                Err(mysql::Error::MySqlError(e)) => {
                    return Err(
                        format!("{} refused: {} {}: {sql}", self.database(), e.code, e.message).into()
                    );
                }
                Err(_) => {
                    self.in_flight = Some((sql, after));
                    return Ok(());
                }
            }
        }
    }

    fn pick(&mut self) -> String {
        let at = self.random.below(self.tables.len() as u64) as usize;
        self.tables.keys().nth(at).cloned().unwrap_or_default()
    }

    fn fresh(&mut self) -> i64 {
        self.serial += 1;
        self.serial
    }

    /// A statement, and the tables when it is done.
    fn next(&mut self) -> (String, Tables) {
        let mut after = self.tables.clone();
        if self.tables.len() < 2 {
            return (self.create(&mut after), after);
        }
        let name = self.pick();
        let serial = self.fresh();
        let table = after.entry(name.clone()).or_default();
        let sql = match self.random.below(20) {
            0 if self.tables.len() < TABLES_MAX => self.create(&mut after),
            0 | 1 => {
                after.remove(&name);
                format!("DROP TABLE {name}")
            }
            2 | 3 => {
                let to = format!("r{serial}");
                let moved = after.remove(&name).unwrap_or_default();
                after.insert(to.clone(), moved);
                format!("RENAME TABLE {name} TO {to}")
            }
            4..=6 => {
                let column = if self.random.chance(1, 2) { "v" } else { "id" };
                table.indexes.insert(format!("i{serial}"), column.to_owned());
                format!("CREATE INDEX i{serial} ON {name} ({column})")
            }
            7 | 8 => match table.indexes.keys().find(|index| *index != "PRIMARY").cloned() {
                Some(index) => {
                    table.indexes.remove(&index);
                    format!("DROP INDEX {index} ON {name}")
                }
                None => format!("ALTER TABLE {name} FORCE"),
            },
            9 => {
                table.columns.push(format!("c{serial}"));
                format!("ALTER TABLE {name} ADD COLUMN c{serial} INT DEFAULT {serial}")
            }
            10 => match table.columns.pop() {
                Some(column) => format!("ALTER TABLE {name} DROP COLUMN {column}"),
                None => format!("OPTIMIZE TABLE {name}"),
            },
            11 => {
                table.rows.clear();
                format!("TRUNCATE TABLE {name}")
            }
            12 | 13 => {
                let count = self.random.below(20) as i64 + 1;
                let rows: Vec<(i64, String)> = (0..count).map(|_| self.row()).collect();
                let text = insert(&name, &rows);
                after.entry(name).or_default().rows.extend(rows);
                text
            }
            14 => {
                table.columns.push(format!("g{serial}"));
                format!("ALTER TABLE {name} ADD COLUMN g{serial} INT AS (id + 1) STORED, ALGORITHM=COPY")
            }
            15 => format!("ALTER TABLE {name} MODIFY v VARCHAR({})", 200 + self.random.below(100)),
            _ => format!("ALTER TABLE {name} FORCE"),
        };
        (sql, after)
    }

    fn row(&mut self) -> (i64, String) {
        let serial = self.fresh();
        (serial, format!("{serial}{}", "x".repeat(self.random.below(150) as usize)))
    }

    /// CREATE TABLE .. SELECT: rows and definition at once.
    fn create(&mut self, after: &mut Tables) -> String {
        let name = format!("t{}", self.fresh());
        let mut table = Table::default();
        let has_primary = self.random.chance(2, 3);
        if has_primary {
            table.indexes.insert("PRIMARY".into(), "id".into());
        }
        let rows: Vec<(i64, String)> = (0..ROWS).map(|_| self.row()).collect();
        let selected: Vec<String> = rows.iter().map(|(id, v)| format!("ROW({id}, '{v}')")).collect();
        table.rows.extend(rows);
        after.insert(name.clone(), table);
        let key = if has_primary { " PRIMARY KEY" } else { "" };
        format!(
            "CREATE TABLE {name} (id BIGINT{key}, v VARCHAR(200)) SELECT column_0 AS id, column_1 AS v FROM (VALUES {}) AS made",
            selected.join(", ")
        )
    }

    /// Holds what the server shows against what was acknowledged, and goes on from there.
    fn check(&mut self, conn: &mut Conn, outcome: &mut Outcome) -> Result<()> {
        let found = self.read(conn)?;
        let in_flight = self.in_flight.take();
        if found == self.tables {
            outcome.in_flight_undone += u64::from(in_flight.is_some());
            return Ok(());
        }
        match in_flight {
            Some((_, after)) if found == after => {
                outcome.in_flight_done += 1;
                self.tables = after;
                Ok(())
            }
            other => {
                let (sql, after) = other.unwrap_or_default();
                Err(format!(
                    "{}: after {sql:?}\nfound  {}\nbefore {}\nafter  {}",
                    self.database(),
                    summary(&found),
                    summary(&self.tables),
                    summary(&after)
                )
                .into())
            }
        }
    }

    fn read(&self, conn: &mut Conn) -> Result<Tables> {
        let database = self.database();
        let names: Vec<String> = conn.query(format!("SHOW TABLES FROM {database}"))?;
        let mut tables = Tables::new();
        for name in names {
            let columns: Vec<String> = conn.query(format!(
                "SELECT column_name FROM information_schema.columns WHERE table_schema = '{database}' AND table_name = '{name}' \
                 ORDER BY ordinal_position"
            ))?;
            let indexes: Vec<(String, String)> = conn.query(format!(
                "SELECT index_name, column_name FROM information_schema.statistics \
                 WHERE table_schema = '{database}' AND table_name = '{name}'"
            ))?;
            let indexes: BTreeMap<String, String> = indexes.into_iter().collect();
            let rows: BTreeSet<(i64, String)> =
                conn.query(format!("SELECT id, v FROM {database}.{name}"))?.into_iter().collect();
            for (index, column) in &indexes {
                let by_index: Vec<i64> = conn.query(format!(
                    "SELECT id FROM {database}.{name} FORCE INDEX ({index}) WHERE {column} > '' OR {column} > 0"
                ))?;
                let by_index: BTreeSet<i64> = by_index.into_iter().collect();
                if by_index != rows.iter().map(|(id, _)| *id).collect() {
                    let (of_index, all) = (by_index.len(), rows.len());
                    return Err(format!("{database}.{name}: {index} finds {of_index} rows of {all}").into());
                }
            }
            let checked: Vec<(String, String, String, String)> =
                conn.query(format!("CHECK TABLE {database}.{name}"))?;
            if let Some((_, _, _, text)) = checked.iter().find(|(_, _, _, text)| text != "OK") {
                return Err(format!("CHECK TABLE {database}.{name}: {text}").into());
            }
            let columns = columns.into_iter().skip(2).collect();
            tables.insert(name, Table { columns, indexes, rows });
        }
        Ok(tables)
    }
}

fn insert(name: &str, rows: &[(i64, String)]) -> String {
    let rows: Vec<String> = rows.iter().map(|(id, v)| format!("({id}, '{v}')")).collect();
    format!("INSERT INTO {name} (id, v) VALUES {}", rows.join(", "))
}

fn summary(tables: &Tables) -> String {
    let all = tables.iter().map(|(name, table)| {
        let (first, last) = (table.rows.first().map(|(id, _)| id), table.rows.last().map(|(id, _)| id));
        format!(
            "{name}{:?}{:?}: {} rows {first:?} to {last:?}",
            table.columns,
            table.indexes,
            table.rows.len()
        )
    });
    all.collect::<Vec<_>>().join("; ")
}
