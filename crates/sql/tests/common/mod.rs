//! A database over a simulated disk, and sessions that print what they get.
#![allow(dead_code, unreachable_pub, reason = "each test uses its part")]

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use binlog::LogPosition;
use datum::sink::{ColumnMeta, OkInfo, ResultSink};
use env::{Env, SimEnv};
use sql::catalog::UserAtHost;
use sql::replica::ReceivedEvent;
use sql::status::Status;
use sql::variables::GlobalVariables;
use sql::{Connection, Datum, Instance, OpenOptions, Session, SqlError};

const UUID: &str = "11111111-2222-3333-4444-555555555555";

/// A database on a machine of its own.
pub struct Server {
    pub env: SimEnv,
    pub instance: Arc<Instance>,
}

impl Server {
    /// A new data directory.
    pub fn new(seed: u64) -> Self {
        Self::open(SimEnv::new(seed))
    }

    /// Whatever is on the machine's disk.
    pub fn open(env: SimEnv) -> Self {
        Self::try_open(env).unwrap()
    }

    /// The same where the start may fail.
    pub fn try_open(env: SimEnv) -> Result<Self, SqlError> {
        Self::try_open_with(env, Arc::new(GlobalVariables::new()))
    }

    /// The same with these variables.
    pub fn try_open_with(env: SimEnv, globals: Arc<GlobalVariables>) -> Result<Self, SqlError> {
        let datadir = PathBuf::from("/data");
        env.create_dir_all(&datadir).map_err(SqlError::internal)?;
        // The name of the folder itself is to survive a power cut too.
        env.sync_dir(std::path::Path::new("/")).map_err(SqlError::internal)?;
        let options = OpenOptions {
            datadir,
            log_base_name: "binlog".to_owned(),
            server_uuid: UUID.to_owned(),
            globals,
            status: Arc::new(Status::default()),
            on_shutdown: Box::new(|| {}),
        };
        let instance = Instance::open(Arc::new(env.clone()), options)?;
        instance.set_password_hasher(Box::new(|_, password| Some([b"hash of ", password].concat())));
        Ok(Self { env, instance })
    }

    /// A session of root.
    pub fn session(&self) -> Session {
        self.session_of("root")
    }

    /// A session of a user from this machine.
    pub fn session_of(&self, user: &str) -> Session {
        let found = self.instance.account(user, "localhost");
        let with_password = found.as_ref().is_some_and(|a| !a.auth_string.is_empty());
        let account = found.map_or(UserAtHost::new(user, "localhost"), |a| UserAtHost::new(a.user, a.host));
        let connection = Connection {
            account,
            with_password,
            multi_statements: true,
            ..Connection::local(self.instance.reserve_id(), user)
        };
        self.instance.connect(connection).unwrap()
    }

    /// Stops and starts again.
    pub fn restart(self) -> Self {
        self.instance.close().unwrap();
        drop(self.instance);
        Self::open(self.env)
    }

    /// The machine loses power, and starts again.
    pub fn power_cut(self) -> Self {
        self.env.power_cut();
        drop(self.instance);
        Self::open(self.env.reboot())
    }
}

/// Keeps everything as text.
#[derive(Debug, Default)]
pub struct Printed {
    pub columns: Vec<ColumnMeta>,
    pub rows: Vec<Vec<Option<String>>>,
    pub ok: Vec<OkInfo<'static>>,
    /// All result sets, in their order.
    pub text: String,
}

impl ResultSink for Printed {
    fn columns(&mut self, columns: &[ColumnMeta]) -> io::Result<()> {
        let names: Vec<_> = columns.iter().map(|c| c.name.as_str()).collect();
        self.text += &format!("{}\n", names.join(" | "));
        self.columns = columns.to_vec();
        Ok(())
    }

    fn row(&mut self, values: &[Datum<'_>]) -> io::Result<()> {
        let text = |d: &Datum<'_>| (!d.is_null()).then(|| printable(&d.to_bytes()));
        let row: Vec<_> = values.iter().map(text).collect();
        let cells: Vec<_> = row.iter().map(|c| c.as_deref().unwrap_or("NULL")).collect();
        self.text += &format!("{}\n", cells.join(" | "));
        self.rows.push(row);
        Ok(())
    }

    fn finish(&mut self, ok: &OkInfo<'_>) -> io::Result<()> {
        self.ok.push(OkInfo {
            affected_rows: ok.affected_rows,
            last_insert_id: ok.last_insert_id,
            status: ok.status,
            warnings: ok.warnings,
            info: ok.info.to_string().into(),
            changes: ok.changes.clone(),
        });
        Ok(())
    }
}

fn printable(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.contains(|c: char| c.is_control() && c != '\n') => text.replace('\n', "\\n"),
        _ => bytes.iter().map(|b| format!("\\x{b:02x}")).collect(),
    }
}

/// Runs a text.
pub fn run(session: &mut Session, sql: &str) -> Result<Printed, SqlError> {
    let mut printed = Printed::default();
    session.execute(sql.as_bytes(), &mut printed).map(|()| printed)
}

/// The rows of a query, cells as text, NULL as `NULL`.
pub fn rows(session: &mut Session, sql: &str) -> Vec<Vec<String>> {
    let printed = run(session, sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
    let cell = |c: Option<String>| c.unwrap_or_else(|| "NULL".to_owned());
    printed.rows.into_iter().map(|row| row.into_iter().map(cell).collect()).collect()
}

/// The only value of a query.
pub fn value(session: &mut Session, sql: &str) -> String {
    rows(session, sql).swap_remove(0).swap_remove(0)
}

/// What a statement prints in a script.
pub fn describe(session: &mut Session, sql: &str) -> String {
    let mut out = String::new();
    let mut printed = Printed::default();
    match session.execute(sql.as_bytes(), &mut printed) {
        Ok(()) => {
            out += &printed.text;
            for ok in &printed.ok {
                out += &summary(ok, printed.columns.is_empty());
            }
            if printed.ok.iter().any(|ok| ok.warnings > 0) && !sql.to_lowercase().starts_with("show") {
                for row in rows(session, "SHOW WARNINGS") {
                    out += &format!("  {}\n", row.join(" "));
                }
            }
        }
        Err(e) => {
            // What a procedure sent before it failed.
            if !printed.ok.is_empty() {
                out += &printed.text;
            }
            out += &format!("{e}\n");
        }
    }
    out
}

fn summary(ok: &OkInfo, is_plain: bool) -> String {
    let mut words = Vec::new();
    if is_plain {
        words.push(format!("ok, {} affected", ok.affected_rows));
    }
    if ok.last_insert_id > 0 {
        words.push(format!("id {}", ok.last_insert_id));
    }
    if !ok.info.is_empty() {
        words.push(ok.info.to_string());
    }
    if words.is_empty() { String::new() } else { format!("{}\n", words.join(", ")) }
}

/// The source's log, as a receiver hands it over.
pub fn log_of(source: &Server) -> Vec<Arc<ReceivedEvent>> {
    let log = source.instance.log();
    let first = log.files().first().unwrap().number;
    let mut reader = log.reader(LogPosition::new(first, 0)).unwrap();
    let mut events = Vec::new();
    while let Some(event) = reader.next(Duration::ZERO).unwrap() {
        let file = log.file_name(event.file).into();
        events.push(Arc::new(ReceivedEvent { bytes: event.bytes.to_vec(), file, end: event.end().offset() }));
    }
    events
}
