//! Statements of other programs, recorded with what the programs read of the answers, and replayed
//! at two servers: `source`, and `replica`, which follows it.
//!
//! A text has steps, one after the other. Lines that begin with `#` are comments.
//!
//! ```text
//! account NAME PASSWORD        who the sessions log in as from here on
//! source> STATEMENT            its session `tool`; lines indented by four blanks go on with it
//! replica/SESSION> STATEMENT   another session; `root` has all privileges
//! source/SESSION&> STATEMENT   sends it only ..
//! source/SESSION<              .. and reads the answer here
//! = ok                         no result set (a step without any line like this only has to succeed)
//! = changed 3                  so many rows were changed
//! = error 1193
//! = no rows
//! = columns a | b              these columns
//! = row 1 | *                  these rows and no others, a line for each
//! = has 1 | x                  a row among others begins so
//! = Column: value              the only row has this there
//! = let name = Column          {name} stands for its value below
//! = until ..                   any of the four before: the statement is said again until it holds
//! = duramen only               MySQL 9.7 refuses the statement, or answers in another way
//! ```
//!
//! In values `*` stands for any text, NULL for NULL and `''` for an empty one. `{source.port}` and
//! `{source.uuid}`, and those of the replica, are known from the start.

use super::{DURAMEN, now};
use protocol::client::{Client, ClientError, ConnectOptions, QueryResult};
use servers::{Launch, Running, ServerKind};
use std::collections::HashMap;
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// How long an answer may take to be as it should.
const PATIENCE: Duration = Duration::from_secs(30);
/// After so many complaints the rest would only repeat them.
const COMPLAINTS_MAX: usize = 5;
/// The session with all privileges, and the account that is made for it.
const ROOT: &str = "root";
const ROOT_ACCOUNT: &str = "recorder";

/// One statement, and what its answer has to be.
struct RecordedStep<'a> {
    line: usize,
    server: &'a str,
    session: &'a str,
    action: Action,
    sql: String,
    expectations: Vec<Expectation<'a>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Action {
    Run,
    Send,
    Receive,
    LogInAs,
}

struct Expectation<'a> {
    /// The statement is said again until it holds.
    waits: bool,
    text: &'a str,
}

/// Two servers of one kind, the second of which follows the first.
pub struct Pair {
    kind: ServerKind,
    source: Running,
    replica: Running,
}

/// A fresh server that names its address to its source, with an empty log and MySQL's semi-sync
/// plugins, which are switched off.
pub fn start(kind: ServerKind, folder: &Path, id: u32) -> Running {
    let launch = Launch::new(kind, folder).unwrap().binary(DURAMEN);
    let server = launch.arg(format!("--server-id={id}")).arg("--report-host=127.0.0.1").start().unwrap();
    let set_up = format!(
        "CREATE USER {ROOT_ACCOUNT}@'%'; GRANT ALL ON *.* TO {ROOT_ACCOUNT}@'%' WITH GRANT OPTION;
         INSTALL PLUGIN rpl_semi_sync_source SONAME 'semisync_source.so';
         INSTALL PLUGIN rpl_semi_sync_replica SONAME 'semisync_replica.so';
         RESET BINARY LOGS AND GTIDS"
    );
    server.sql(&set_up).unwrap();
    server
}

/// Makes the account that replicas log in as.
pub fn let_replicas_in(source: &Running) {
    let account = "CREATE USER repl@'%' IDENTIFIED BY 'repl'; GRANT REPLICATION SLAVE ON *.* TO repl@'%'";
    source.sql(account).unwrap();
}

/// Has a server follow another one, by GTID and without TLS, and take no writes.
pub fn follow(replica: &Running, source: &Running) {
    let follow = format!(
        "CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = {}, SOURCE_USER = 'repl',
         SOURCE_PASSWORD = 'repl', GET_SOURCE_PUBLIC_KEY = 1, SOURCE_SSL = 0, SOURCE_AUTO_POSITION = 1,
         SOURCE_CONNECT_RETRY = 1; START REPLICA; SET GLOBAL super_read_only = ON",
        source.port()
    );
    replica.sql(&follow).unwrap();
}

impl Pair {
    /// Fresh servers in `folder`. The replica is read-only, and waits for nothing.
    pub fn start(kind: ServerKind, folder: &Path) -> Pair {
        let source = start(kind, &folder.join("source"), 1);
        let replica = start(kind, &folder.join("replica"), 2);
        let_replicas_in(&source);
        follow(&replica, &source);
        Pair { kind, source, replica }
    }

    /// The server that is followed.
    pub fn source(&self) -> &Running {
        &self.source
    }

    /// The one that follows.
    pub fn replica(&self) -> &Running {
        &self.replica
    }

    /// Replays a text: what differs from it.
    pub fn replay(&self, text: &str) -> Vec<String> {
        let mut values = HashMap::new();
        for (name, server) in [("source", &self.source), ("replica", &self.replica)] {
            values.insert(format!("{name}.port"), server.port().to_string());
            let uuid = server.sql("SELECT @@server_uuid").unwrap();
            values.insert(format!("{name}.uuid"), uuid.trim().to_owned());
        }
        let mut replay = Replay { pair: self, values, account: String::new(), sessions: HashMap::new() };
        let mut complaints = Vec::new();
        for step in parse(text) {
            if let Err(complaint) = replay.step(&step) {
                complaints.push(format!("line {}: {}: {complaint}", step.line, step.sql));
            }
            if complaints.len() == COMPLAINTS_MAX {
                break;
            }
        }
        complaints
    }
}

fn parse(text: &str) -> Vec<RecordedStep<'_>> {
    let mut steps = Vec::<RecordedStep<'_>>::new();
    for (at, line) in text.lines().enumerate() {
        let line_number = at + 1;
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(expected) = line.strip_prefix("= ") {
            let step = steps.last_mut().unwrap_or_else(|| panic!("line {line_number} is about no statement"));
            let text = expected.strip_prefix("until ");
            let waits = text.is_some();
            step.expectations.push(Expectation { waits, text: text.unwrap_or(expected) });
            continue;
        }
        if let Some(more) = line.strip_prefix("    ") {
            let step = steps.last_mut().unwrap_or_else(|| panic!("line {line_number} goes on with nothing"));
            step.sql = format!("{} {}", step.sql, more.trim());
            continue;
        }
        let (place, action, sql) = if let Some(account) = line.strip_prefix("account ") {
            ("", Action::LogInAs, account)
        } else if let Some(place) = line.strip_suffix('<') {
            (place, Action::Receive, "")
        } else {
            let (place, sql) =
                line.split_once("> ").unwrap_or_else(|| panic!("line {line_number} is no step"));
            match place.strip_suffix('&') {
                Some(place) => (place, Action::Send, sql),
                None => (place, Action::Run, sql),
            }
        };
        let (server, session) = place.split_once('/').unwrap_or((place, "tool"));
        let sql = sql.to_owned();
        steps.push(RecordedStep {
            line: line_number,
            server,
            session,
            action,
            sql,
            expectations: Vec::new(),
        });
    }
    steps
}

struct Replay<'a> {
    pair: &'a Pair,
    values: HashMap<String, String>,
    /// Name and password, with a blank between them.
    account: String,
    sessions: HashMap<(String, String), Client>,
}

impl Replay<'_> {
    fn step(&mut self, step: &RecordedStep<'_>) -> Result<(), String> {
        if step.action == Action::LogInAs {
            self.account.clone_from(&step.sql);
            self.sessions.retain(|(_, session), _| session == ROOT);
            return Ok(());
        }
        let is_only_here = step.expectations.iter().any(|expected| expected.text == "duramen only");
        if is_only_here && self.pair.kind != ServerKind::Duramen {
            return Ok(());
        }
        let sql = self.fill_in(&step.sql);
        let session = self.session(step.server, step.session)?;
        if step.action == Action::Send {
            return session.send_query(sql).map_err(|e| e.to_string());
        }
        if step.action == Action::Receive {
            let answer = session.next_result();
            return self.check_all(step, &answer);
        }
        let begun = now();
        loop {
            let answer = self.session(step.server, step.session)?.query(&sql);
            match self.check_all(step, &answer) {
                Err(_) if step.expectations.iter().any(|e| e.waits) && now() - begun < PATIENCE => {
                    std::thread::sleep(Duration::from_millis(50));
                }
                outcome => return outcome,
            }
        }
    }

    fn session(&mut self, server: &str, session: &str) -> Result<&mut Client, String> {
        let key = (server.to_owned(), session.to_owned());
        if !self.sessions.contains_key(&key) {
            let server = match server {
                "source" => &self.pair.source,
                "replica" => &self.pair.replica,
                other => return Err(format!("there is no server {other}")),
            };
            let (user, password) = match session {
                ROOT => (ROOT_ACCOUNT, ""),
                _ => self.account.split_once(' ').ok_or("no account is named")?,
            };
            let client = connect(server, user, password).map_err(|e| e.to_string())?;
            self.sessions.insert(key.clone(), client);
        }
        Ok(self.sessions.get_mut(&key).expect("it is there now"))
    }

    /// The text with values for the names in braces. Others, as JSON has them, stay.
    fn fill_in(&self, text: &str) -> String {
        self.values
            .iter()
            .fold(text.to_owned(), |text, (name, value)| text.replace(&format!("{{{name}}}"), value))
    }

    fn check_all(
        &mut self,
        step: &RecordedStep<'_>,
        answer: &Result<QueryResult, ClientError>,
    ) -> Result<(), String> {
        let texts = step.expectations.iter().map(|expected| expected.text);
        let wants_error = step.expectations.iter().any(|expected| expected.text.starts_with("error "));
        let answer = match answer {
            Err(error) if wants_error => {
                let number = error.number().map(|number| format!("error {number}"));
                return match number.is_some_and(|number| texts.into_iter().any(|text| text == number)) {
                    true => Ok(()),
                    false => Err(format!("another error: {error}")),
                };
            }
            Err(error) => return Err(error.to_string()),
            Ok(_) if wants_error => return Err("no error".to_owned()),
            Ok(answer) => answer,
        };
        let rows: Vec<String> =
            texts.clone().filter_map(|text| text.strip_prefix("row ")).map(|row| self.fill_in(row)).collect();
        if !rows.is_empty() {
            let is_same = rows.len() == answer.rows.len()
                && rows
                    .iter()
                    .zip(&answer.rows)
                    .all(|(row, found)| cells(row).count() == found.len() && begins_with(found, row));
            if !is_same {
                return Err(format!("the rows are {}", show(answer)));
            }
        }
        texts.into_iter().try_for_each(|text| self.check(text, answer))
    }

    fn check(&mut self, text: &str, answer: &QueryResult) -> Result<(), String> {
        let wrong = || Err(format!("not '{text}' but {}", show(answer)));
        let holds = |it: bool| if it { Ok(()) } else { wrong() };
        if text == "duramen only" || text.starts_with("row ") {
            return Ok(());
        }
        if text == "ok" {
            return holds(answer.columns.is_empty());
        }
        if let Some(count) = text.strip_prefix("changed ") {
            return holds(answer.columns.is_empty() && answer.ok.affected_rows.to_string() == count);
        }
        if text == "no rows" {
            return holds(!answer.columns.is_empty() && answer.rows.is_empty());
        }
        if let Some(columns) = text.strip_prefix("columns ") {
            let found = answer.columns.iter().map(|name| String::from_utf8_lossy(name));
            return holds(found.eq(columns.split(" | ")));
        }
        if let Some(row) = text.strip_prefix("has ") {
            let row = self.fill_in(row);
            return holds(answer.rows.iter().any(|found| begins_with(found, &row)));
        }
        let (column, value) = match text.strip_prefix("let ") {
            Some(named) => named.split_once(" = ").map(|(name, column)| (column, Value::Into(name))),
            None => text.split_once(": ").map(|(column, value)| (column, Value::Is(self.fill_in(value)))),
        }
        .ok_or_else(|| format!("'{text}' is no expectation"))?;
        let place = answer.columns.iter().position(|name| name == column.as_bytes());
        let [row] = &*answer.rows else { return wrong() };
        let Some(cell) = place.map(|place| &row[place]) else { return wrong() };
        match value {
            Value::Is(value) => match fits(cell.as_deref(), &value) {
                true => Ok(()),
                false => Err(format!("not '{text}' but {}", show_cell(cell.as_deref()))),
            },
            Value::Into(name) => {
                let value = cell.as_ref().map_or_else(wrong_null, |v| Ok(String::from_utf8_lossy(v)))?;
                self.values.insert(name.to_owned(), value.into_owned());
                Ok(())
            }
        }
    }
}

enum Value<'a> {
    Is(String),
    Into(&'a str),
}

fn wrong_null<T>() -> Result<T, String> {
    Err("NULL has no name".to_owned())
}

/// A connection with all privileges.
pub fn connect_as_root(server: &Running) -> Result<Client, ClientError> {
    connect(server, ROOT_ACCOUNT, "")
}

/// A connection as an account, over TCP.
pub fn connect(server: &Running, user: &str, password: &str) -> Result<Client, ClientError> {
    let stream = TcpStream::connect(("127.0.0.1", server.port()))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let (user, password) = (user.as_bytes(), password.as_bytes());
    let options = ConnectOptions { user, password, ..ConnectOptions::default() };
    Client::connect(Box::new(stream), Arc::new(env::RealEnv), &options)
}

fn cells(row: &str) -> impl Iterator<Item = &str> {
    row.split(" | ")
}

fn begins_with(found: &[Option<Vec<u8>>], row: &str) -> bool {
    cells(row).count() <= found.len()
        && cells(row).zip(found).all(|(pattern, cell)| fits(cell.as_deref(), pattern))
}

/// Whether a value is one of those that the pattern stands for.
fn fits(value: Option<&[u8]>, pattern: &str) -> bool {
    let Some(value) = value else { return pattern == "NULL" };
    let value = String::from_utf8_lossy(value);
    if pattern == "''" {
        return value.is_empty();
    }
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = value.strip_prefix(first) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

fn show_cell(cell: Option<&[u8]>) -> String {
    cell.map_or("NULL".to_owned(), |value| format!("'{}'", String::from_utf8_lossy(value)))
}

fn show(answer: &QueryResult) -> String {
    if answer.columns.is_empty() {
        return format!("{} rows changed", answer.ok.affected_rows);
    }
    let names = answer.columns.iter().map(|name| String::from_utf8_lossy(name).into_owned());
    let row = |row: &Vec<Option<Vec<u8>>>| {
        row.iter().map(|cell| show_cell(cell.as_deref())).collect::<Vec<_>>().join(" | ")
    };
    let lines = std::iter::once(names.collect::<Vec<_>>().join(" | ")).chain(answer.rows.iter().map(row));
    lines.collect::<Vec<_>>().join("\n    ")
}
