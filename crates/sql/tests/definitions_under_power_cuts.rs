//! Generated definitions at the edges under power cuts with concurrent DDL: the server starts from
//! whatever it accepted, and shows it unchanged (R1 of ARCHITECTURE.md).
//!
//! Each round is a simulated machine of its own. Two or three sessions run generated cases
//! (`definition_generator`), each case in a database of its own; another thread makes checkpoints
//! and rotates the log. The power is cut at a random operation of the disk, and in some rounds
//! again during the start. Then:
//!
//! 1. the server starts, no object is set aside, and CHECK TABLE answers OK for every table;
//! 2. for each case it shows what it showed right after the last acknowledged statement. If a
//!    statement was in flight, it may instead show what a second server shows that ran this
//!    statement too;
//! 3. after a clean stop and another start it shows the same again.
//!
//! `DURAMEN_DEFINITIONS=n` ends the test after so many accepted definitions; `DURAMEN_SEED=n` is
//! the first round's seed. A seed repeats a round's statements, not the order of its threads.
#![allow(clippy::unwrap_used)]

mod common;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use common::{Server, run};
use datum::sink::{ColumnMeta, OkInfo, ResultSink};
use definition_generator::PREFIX;
use env::SimEnv;
use sql::{Datum, Session, SqlError};
use stdx::random::Random;

type Row = Vec<Option<Vec<u8>>>;

/// Rows as bytes: names may have any characters.
#[derive(Default)]
struct Bytes(Vec<Row>);

impl ResultSink for Bytes {
    fn columns(&mut self, _: &[ColumnMeta]) -> io::Result<()> {
        Ok(())
    }

    fn row(&mut self, values: &[Datum<'_>]) -> io::Result<()> {
        self.0.push(values.iter().map(|d| (!d.is_null()).then(|| d.to_bytes().to_vec())).collect());
        Ok(())
    }

    fn finish(&mut self, _: &OkInfo<'_>) -> io::Result<()> {
        Ok(())
    }
}

fn ask(session: &mut Session, sql: &str) -> Result<Vec<Row>, SqlError> {
    let mut rows = Bytes::default();
    session.execute(sql.as_bytes(), &mut rows).map(|()| rows.0)
}

/// information_schema's columns that depend on definitions; `counter:` marks next values of
/// AUTO_INCREMENT.
const SCHEMA_QUERIES: [(&str, &str); 8] = [
    (
        "columns",
        "SELECT table_name, column_name, ordinal_position, column_default, is_nullable, data_type, \
         character_maximum_length, character_octet_length, numeric_precision, numeric_scale, \
         datetime_precision, character_set_name, collation_name, column_type, column_key, extra, \
         column_comment, generation_expression \
         FROM information_schema.columns WHERE table_schema = ",
    ),
    (
        "statistics",
        "SELECT table_name, non_unique, index_name, seq_in_index, column_name, collation, sub_part, \
         nullable, index_type, index_comment, is_visible, expression \
         FROM information_schema.statistics WHERE table_schema = ",
    ),
    (
        "tables",
        "SELECT table_name, engine, row_format, CONCAT('counter:', auto_increment), table_collation, \
         create_options, table_comment, create_time FROM information_schema.tables WHERE table_schema = ",
    ),
    (
        "check_constraints",
        "SELECT constraint_name, check_clause FROM information_schema.check_constraints \
         WHERE constraint_schema = ",
    ),
    (
        "referential_constraints",
        "SELECT table_name, constraint_name, unique_constraint_name, match_option, update_rule, \
         delete_rule, referenced_table_name \
         FROM information_schema.referential_constraints WHERE constraint_schema = ",
    ),
    (
        "key_column_usage",
        "SELECT table_name, constraint_name, column_name, ordinal_position, \
         position_in_unique_constraint, referenced_table_name, referenced_column_name \
         FROM information_schema.key_column_usage WHERE constraint_schema = ",
    ),
    (
        "routines",
        "SELECT routine_name, routine_type, dtd_identifier, routine_definition, is_deterministic, \
         sql_data_access, security_type, sql_mode, routine_comment, definer, character_set_client, \
         collation_connection, database_collation \
         FROM information_schema.routines WHERE routine_schema = ",
    ),
    (
        "parameters",
        "SELECT specific_name, ordinal_position, parameter_name, dtd_identifier, character_set_name, \
         collation_name FROM information_schema.parameters WHERE specific_schema = ",
    ),
];

/// All that a session can see of one case: answers as text, by question.
#[derive(Default, Clone, PartialEq, Eq)]
struct Snapshot {
    things: BTreeMap<String, String>,
    /// A query of the snapshot failed.
    has_errors: bool,
}

impl Snapshot {
    fn take(session: &mut Session, case: u64) -> Self {
        let mut snapshot = Self::default();
        let like = format!("LIKE '{PREFIX}{case}\\_%'");
        let schemata =
            format!("SELECT schema_name FROM information_schema.schemata WHERE schema_name {like}");
        for database in snapshot.names(session, &schemata) {
            snapshot.database(session, &database);
        }
        let accounts = format!("SELECT user, host FROM mysql.user WHERE user {like}");
        for account in snapshot.rows(session, "accounts", &accounts) {
            let account = account.into_iter().map(|name| quote(&text(name))).collect::<Vec<_>>().join("@");
            snapshot.add(session, &format!("SHOW CREATE USER {account}"));
            snapshot.add(session, &format!("SHOW GRANTS FOR {account}"));
        }
        snapshot
    }

    fn database(&mut self, session: &mut Session, database: &str) {
        let (schema, literal) = (quote(database), literal(database));
        self.add(session, &format!("SHOW CREATE DATABASE {schema}"));
        for (what, query) in SCHEMA_QUERIES {
            self.add_rows(session, &format!("information_schema.{what}"), &format!("{query}{literal}"));
        }
        for name in self.names(session, &format!("SHOW TABLES FROM {schema}")) {
            self.table(session, database, &name);
        }
        let functions =
            format!("SELECT routine_name FROM information_schema.routines WHERE routine_schema = {literal}");
        for name in self.names(session, &functions) {
            self.add(session, &format!("SHOW CREATE FUNCTION {schema}.{}", quote(&name)));
        }
    }

    fn table(&mut self, session: &mut Session, database: &str, name: &str) {
        let table = format!("{}.{}", quote(database), quote(name));
        self.add(session, &format!("SHOW CREATE TABLE {table}"));
        let shown = self.rows(session, &table, &format!("SHOW COLUMNS FROM {table}"));
        let mut columns = Vec::new();
        for mut row in shown {
            let is_counting = row.last().cloned().is_some_and(|extra| text(extra).contains("auto_increment"));
            let column = quote(&text(row.swap_remove(0)));
            if is_counting {
                // Also where the counter itself may be lower than before: no row has the next
                // value.
                let next = format!(
                    "SELECT (SELECT auto_increment FROM information_schema.tables WHERE table_schema = {} \
                     AND table_name = {}) > (SELECT IFNULL(MAX({column}), 0) FROM {table})",
                    literal(database),
                    literal(name)
                );
                self.add_rows(session, &format!("next value of {table} is new"), &next);
            }
            columns.push(column);
        }
        let select = format!("SELECT {} FROM {table}", columns.join(", "));
        self.add_rows(session, &format!("{ROWS}{table}"), &select);
    }

    /// The rows of a query; if it fails, none, and its error is kept under `what`.
    fn rows(&mut self, session: &mut Session, what: &str, sql: &str) -> Vec<Row> {
        ask(session, sql).unwrap_or_else(|e| {
            self.has_errors = true;
            self.things.insert(format!("error of {what}"), format!("{e}: {sql}"));
            Vec::new()
        })
    }

    fn names(&mut self, session: &mut Session, sql: &str) -> Vec<String> {
        self.rows(session, sql, sql).into_iter().map(|mut row| text(row.swap_remove(0))).collect()
    }

    fn add(&mut self, session: &mut Session, sql: &str) {
        self.add_rows(session, sql, sql);
    }

    fn add_rows(&mut self, session: &mut Session, what: &str, sql: &str) {
        let rows = self.rows(session, what, sql);
        let line = |row: Row| row.into_iter().map(text).collect::<Vec<_>>().join(" | ");
        let mut lines: Vec<String> = rows.into_iter().map(line).collect();
        lines.sort_unstable();
        self.things.insert(what.to_owned(), lines.join("\n"));
    }

    /// Tables, functions, accounts and databases.
    fn definitions(&self) -> u64 {
        self.things.keys().filter(|name| name.starts_with("SHOW CREATE")).count() as u64
    }

    /// What differs in `found`, in lines; `None` if nothing does.
    fn difference(&self, found: &Self, leniency: Leniency) -> Option<String> {
        let nothing = String::from("(nothing)");
        let mut all = String::new();
        let mut names: Vec<&String> = self.things.keys().chain(found.things.keys()).collect();
        names.sort_unstable();
        names.dedup();
        for name in names {
            let (expected, found) =
                (self.things.get(name).unwrap_or(&nothing), found.things.get(name).unwrap_or(&nothing));
            let is_same = match leniency {
                _ if expected == found => true,
                Leniency { counters: true, .. } if without_counters(expected) == without_counters(found) => {
                    true
                }
                Leniency { values: true, .. } if name.starts_with(ROWS) => *found != nothing,
                Leniency { values: true, .. } if name.starts_with("SHOW CREATE USER") => {
                    after_password(expected) == after_password(found)
                }
                _ => false,
            };
            if !is_same {
                let only = |some: &str, others: &str, sign: &str| -> String {
                    let lines: Vec<&str> = others.lines().collect();
                    let mine = some.lines().filter(|line| !lines.contains(line));
                    mine.map(|line| format!("  {sign}: {}\n", line.chars().take(1500).collect::<String>()))
                        .collect()
                };
                all += &format!(
                    "{name}\n{}",
                    only(expected, found, "expected") + &only(found, expected, "found")
                );
            }
        }
        (!all.is_empty()).then_some(all)
    }
}

const ROWS: &str = "rows of ";

/// What two snapshots need not agree on.
#[derive(Clone, Copy, Default)]
struct Leniency {
    /// Next values of AUTO_INCREMENT.
    counters: bool,
    /// Which rows a table has, and an account's password.
    values: bool,
}

fn quote(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}

/// A value; bytes that are no UTF-8 in hexadecimal.
fn text(value: Option<Vec<u8>>) -> String {
    let hex = |bytes: Vec<u8>| bytes.iter().fold("0x".to_owned(), |hex, byte| hex + &format!("{byte:02X}"));
    value.map_or("NULL".to_owned(), |bytes| String::from_utf8(bytes).unwrap_or_else(|e| hex(e.into_bytes())))
}

/// A text without next values of AUTO_INCREMENT: those of SHOW CREATE TABLE, and those that
/// [`SCHEMA_QUERIES`] marks.
fn without_counters(text: &str) -> String {
    [" AUTO_INCREMENT=", "counter:"].iter().fold(text.to_owned(), |text, mark| {
        let mut pieces = text.split(mark);
        let first = pieces.next().unwrap_or_default().to_owned();
        pieces.fold(first, |out, piece| out + piece.trim_start_matches(|c: char| c.is_ascii_digit()))
    })
}

/// What SHOW CREATE USER shows after the password.
fn after_password(text: &str) -> &str {
    text.split_once(" REQUIRE ").map_or(text, |(_, after)| after)
}

/// A session that takes snapshots: no conversion of results, and no mode that changes how
/// definitions are shown.
fn watcher(server: &Server) -> Session {
    let mut session = server.session();
    run(&mut session, "SET sql_mode = '', time_zone = '+00:00', character_set_results = NULL").unwrap();
    session
}

/// A case that ran until its end or until the power was cut.
#[derive(Default)]
struct Case {
    number: u64,
    /// What was answered, and whether it was accepted.
    answered: Vec<(String, bool)>,
    /// What the server showed after the last accepted statement.
    shown: Snapshot,
    /// The power was cut before the snapshot after that statement was complete.
    lacks_snapshot: bool,
    /// The statement that failed because the power was cut; it may have happened.
    in_flight: Option<String>,
}

impl Case {
    fn run(server: &Server, seed: u64, number: u64) -> Self {
        let mut case = Self { number, ..Self::default() };
        if !server.env.is_powered() {
            return case;
        }
        let (mut session, mut watcher) = (server.session(), watcher(server));
        definition_generator::case(seed, number, &mut |sql| {
            if case.in_flight.is_some() || !server.env.is_powered() {
                return false;
            }
            match ask(&mut session, sql) {
                Ok(_) => {
                    case.answered.push((sql.to_owned(), true));
                    if !sql.starts_with("SET ") && !sql.starts_with("USE ") {
                        let shown = Snapshot::take(&mut watcher, number);
                        case.lacks_snapshot = shown.has_errors && !server.env.is_powered();
                        if !case.lacks_snapshot {
                            case.shown = shown;
                        }
                    }
                    true
                }
                Err(_) if server.env.is_powered() => {
                    case.answered.push((sql.to_owned(), false));
                    false
                }
                Err(_) => {
                    case.in_flight = Some(sql.to_owned());
                    false
                }
            }
        });
        case
    }

    /// Definitions that were accepted, as `cargo xtask definitions` counts them.
    fn definitions(&self) -> u64 {
        let is_definition = |sql: &str| {
            let word = sql.split(' ').next().unwrap_or_default();
            matches!(word, "CREATE" | "ALTER" | "RENAME" | "DROP" | "GRANT" | "REVOKE")
        };
        self.answered.iter().filter(|(sql, is_accepted)| *is_accepted && is_definition(sql)).count() as u64
    }

    /// The statements, with what became of them.
    fn script(&self) -> String {
        let mut out = format!("case {}:\n", self.number);
        for (sql, is_accepted) in &self.answered {
            writeln!(out, "{}{sql};", if *is_accepted { "" } else { "-- refused: " }).unwrap();
        }
        if let Some(sql) = &self.in_flight {
            writeln!(out, "-- in flight: {sql};").unwrap();
        }
        out
    }

    /// What a server shows that has run what was answered, and `more`.
    fn reference(&self, more: Option<&str>) -> Snapshot {
        let server = Server::new(1);
        prepare(&server);
        let mut session = server.session();
        for sql in self.answered.iter().map(|(sql, _)| sql.as_str()).chain(more) {
            // What was refused is refused here too.
            let _ = run(&mut session, sql);
        }
        Snapshot::take(&mut watcher(&server), self.number)
    }

    /// Compares what a server shows after the power cut with what was acknowledged. True if it
    /// shows the effect of the statement in flight.
    ///
    /// # Errors
    /// The differences, in lines.
    fn check(&self, found: &Snapshot) -> Result<bool, String> {
        // Values of AUTO_INCREMENT that no committed row has may be given again after a power cut.
        let writes = |sql: &str| sql.starts_with("INSERT") || sql.starts_with("REPLACE");
        let draws = |(sql, is_accepted): &(String, bool)| {
            writes(sql) && (!is_accepted || sql.starts_with("INSERT IGNORE"))
        };
        let counters =
            self.answered.iter().any(draws) || self.in_flight.as_ref().is_some_and(|sql| writes(sql));
        let mut leniency = Leniency { counters, values: false };
        let late;
        let before = if self.lacks_snapshot {
            late = self.reference(None);
            leniency.values = self.has_other_values_each_time();
            &late
        } else {
            &self.shown
        };
        let Some(lost) = before.difference(found, leniency) else { return Ok(false) };
        let Some(in_flight) = &self.in_flight else { return Err(lost) };
        leniency.values = self.has_other_values_each_time();
        match self.reference(Some(in_flight)).difference(found, leniency) {
            None => Ok(true),
            Some(half) => Err(format!("without the statement in flight:\n{lost}with it:\n{half}")),
        }
    }

    /// True if a second server may have other values in its rows, or another password, after the
    /// same statements.
    fn has_other_values_each_time(&self) -> bool {
        let all = self.answered.iter().map(|(sql, _)| sql).chain(&self.in_flight);
        let varying = ["UUID", "RAND", "NOW", "CURRENT_T", "CURRENT_DATE", "TIMESTAMP", "SYSDATE", "CURDATE"];
        all.map(|sql| sql.to_uppercase()).any(|sql| varying.iter().any(|word| sql.contains(word)))
    }
}

fn prepare(server: &Server) {
    run(&mut server.session(), "SET GLOBAL log_bin_trust_function_creators = 1").unwrap();
}

/// Sums over all rounds.
#[derive(Default, Debug)]
struct Counts {
    rounds: u64,
    cases: u64,
    definitions: u64,
    /// Tables, functions, accounts and databases that were compared.
    compared: u64,
    /// Rounds in which the power was cut while sessions ran, and starts during which it was.
    cuts: u64,
    cut_starts: u64,
    in_flight_done: u64,
    in_flight_undone: u64,
}

/// Checkpoints and rotations until no session runs.
fn checkpoints(server: &Server, mut random: Random, running: &AtomicU64) {
    let mut session = server.session();
    let mut next = random.below(40);
    while running.load(Ordering::Relaxed) > 0 && server.env.is_powered() {
        if server.env.operations() < next {
            thread::sleep(Duration::from_micros(100));
            continue;
        }
        // They fail if the power is cut meanwhile.
        if random.chance(1, 5) {
            let _ = run(&mut session, "FLUSH BINARY LOGS");
        } else {
            let _ = server.instance.engine().checkpoint();
        }
        next = server.env.operations() + random.below(80);
    }
}

/// Runs a round's sessions until the power is cut or their cases end.
fn sessions(server: &Server, seed: u64, random: &mut Random) -> Vec<Case> {
    let (sessions, cases_each) = (2 + random.below(2), 1 + random.below(3));
    let running = AtomicU64::new(sessions);
    server.env.cut_at(1 + random.below(OPERATIONS * sessions * cases_each));
    thread::scope(|scope| {
        let running = &running;
        let work = |session: u64| {
            let numbers = session * cases_each + 1..=(session + 1) * cases_each;
            let cases: Vec<Case> = numbers.map(|number| Case::run(server, seed, number)).collect();
            running.fetch_sub(1, Ordering::Relaxed);
            cases
        };
        let spawn = |session: u64| {
            let thread = thread::Builder::new().stack_size(STACK / 2);
            let work = move || {
                stdx::stack::begin(STACK / 2);
                work(session)
            };
            thread.spawn_scoped(scope, work).unwrap()
        };
        let all: Vec<_> = (0..sessions).map(spawn).collect();
        let random = Random::new(random.next_u64());
        scope.spawn(move || checkpoints(server, random, running));
        all.into_iter().flat_map(|session| session.join().unwrap()).collect()
    })
}

/// About how many operations change the disk during a case, checkpoints included.
const OPERATIONS: u64 = 24;

fn one_round(seed: u64, counts: &mut Counts) -> Result<(), String> {
    let mut random = Random::new(seed);
    let server = Server::new(seed);
    prepare(&server);
    let cases = sessions(&server, seed, &mut random);
    counts.rounds += 1;
    counts.cuts += u64::from(!server.env.is_powered());
    counts.cases += cases.len() as u64;
    counts.definitions += cases.iter().map(Case::definitions).sum::<u64>();
    let scripts = || cases.iter().map(Case::script).collect::<String>();

    let Server { env, instance } = server;
    env.power_cut();
    drop(instance);
    let mut env = env.reboot();
    while random.chance(1, 3) {
        env.cut_at(1 + random.below(60));
        counts.cut_starts += u64::from(Server::try_open(env.clone()).is_err());
        env = env.reboot();
    }
    let start = |env: SimEnv, when: &str| {
        Server::try_open(env).map_err(|e| format!("no start after {when}: {e}\n{}", scripts()))
    };
    let server = start(env, "a power cut")?;
    let first = shown(&server, &cases).map_err(|e| format!("after a power cut: {e}\n{}", scripts()))?;
    for (case, found) in cases.iter().zip(&first) {
        let is_done = case.check(found).map_err(|e| format!("after a power cut: {e}{}", case.script()))?;
        counts.compared += found.definitions();
        let in_flight = if is_done { &mut counts.in_flight_done } else { &mut counts.in_flight_undone };
        *in_flight += u64::from(case.in_flight.is_some());
    }

    server.instance.close().map_err(|e| format!("no clean stop: {e}\n{}", scripts()))?;
    let Server { env, instance } = server;
    drop(instance);
    let server = start(env, "a clean stop")?;
    let second = shown(&server, &cases).map_err(|e| format!("after a clean stop: {e}\n{}", scripts()))?;
    for ((case, before), found) in cases.iter().zip(&first).zip(&second) {
        if let Some(difference) = before.difference(found, Leniency::default()) {
            return Err(format!("after a clean stop: {difference}{}", case.script()));
        }
    }
    Ok(())
}

/// The snapshots of all cases.
///
/// # Errors
/// The report, if an object is set aside, or the first answer of CHECK TABLE that isn't OK.
fn shown(server: &Server, cases: &[Case]) -> Result<Vec<Snapshot>, String> {
    let mut session = watcher(server);
    let status = ask(&mut session, "SHOW ENGINE DURAMEN STATUS").map_err(|e| e.to_string())?;
    let report = status.concat().into_iter().map(text).collect::<String>();
    if report.contains("SET ASIDE") {
        return Err(report);
    }
    let tables = "SELECT table_schema, table_name FROM information_schema.tables \
                  WHERE table_type = 'BASE TABLE' AND table_schema LIKE 'c%\\_%'";
    for table in ask(&mut session, tables).map_err(|e| e.to_string())? {
        let name = table.into_iter().map(|name| quote(&text(name))).collect::<Vec<_>>().join(".");
        let checked = ask(&mut session, &format!("CHECK TABLE {name}")).map_err(|e| e.to_string())?;
        let answers = checked.into_iter().map(|mut row| text(row.pop().flatten()));
        if let Some(answer) = answers.into_iter().find(|answer| answer != "OK") {
            return Err(format!("CHECK TABLE {name}: {answer}"));
        }
    }
    Ok(cases.iter().map(|case| Snapshot::take(&mut session, case.number)).collect())
}

/// The stack, in bytes, of the thread that starts servers, as large as `duramen` makes it for
/// recovery. Sessions have half of it, the largest `thread_stack`: a snapshot must not fail with
/// error 1436 where CREATE FUNCTION just did not.
const STACK: usize = 128 << 20;

#[test]
fn what_was_accepted_is_there_after_power_cuts() {
    let rounds = || {
        stdx::stack::begin(STACK);
        rounds();
    };
    thread::Builder::new().stack_size(STACK).spawn(rounds).unwrap().join().unwrap();
}

fn rounds() {
    let asked = |name: &str| std::env::var(name).ok().map(|n| n.parse::<u64>().unwrap());
    let definitions = asked("DURAMEN_DEFINITIONS").unwrap_or(300);
    let (mut counts, mut findings) = (Counts::default(), 0);
    for seed in asked("DURAMEN_SEED").unwrap_or(1).. {
        println!("DURAMEN_SEED={seed}");
        if let Err(finding) = one_round(seed, &mut counts) {
            println!("{finding}");
            findings += 1;
        }
        if counts.definitions >= definitions || findings == 10 {
            break;
        }
    }
    println!("{counts:?}");
    assert_eq!(findings, 0, "see above");
    let Counts { cuts, in_flight_done, in_flight_undone, .. } = counts;
    assert!(cuts > 0 && in_flight_done + in_flight_undone > 0, "no statement was in flight: {counts:?}");
}
