//! What all sessions share: the engine, the catalog, the server's variables, and the list of sessions.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use binlog::LogPosition;
use binlog::event::QueryEvent;
use binlog::log::Log;
use env::Env;
use parking_lot::{Mutex, RwLock};
use storage::{Engine, ReplayError, ReplayTarget, Store, TableSchema, WriteBatch};

use crate::error::{Result, SqlError};
use crate::session::{Connection, Session};
use crate::status::{self, Status};
use crate::variables::{self, GlobalVariables};

/// A user account, as authentication needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// The user's name; empty for the anonymous user.
    pub user: String,
    /// The host pattern: `localhost`, `127.0.0.1`, `10.%`, `%`.
    pub host: String,
    /// The authentication plugin.
    pub plugin: String,
    /// What the plugin keeps of the password; empty for an empty password.
    pub auth_string: Vec<u8>,
    /// ACCOUNT LOCK.
    pub locked: bool,
}

/// What a session is asked to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kill {
    /// The statement that runs now.
    Query,
    /// The connection.
    Connection,
}

/// Counters that the layers around this crate show in SHOW STATUS.
pub type StatusSource = Box<dyn Fn() -> Vec<(String, String)> + Send + Sync>;

/// A session as others see it: for SHOW PROCESSLIST and KILL.
pub struct Process {
    /// The connection's id.
    pub id: u64,
    interrupt: Arc<AtomicU8>,
    on_kill: Box<dyn Fn(Kill) + Send + Sync>,
}

impl Process {
    /// Asks the session to stop.
    pub fn kill(&self, what: Kill) {
        self.interrupt.fetch_max(if what == Kill::Query { 1 } else { 2 }, Ordering::Relaxed);
        (self.on_kill)(what);
    }
}

/// The server's side of SQL.
pub struct Database {
    env: Arc<dyn Env>,
    globals: Arc<GlobalVariables>,
    engine: Arc<Engine>,
    processes: Mutex<BTreeMap<u64, Arc<Process>>>,
    next_id: AtomicU64,
    status: RwLock<Vec<StatusSource>>,
}

impl Database {
    /// The environment it runs in.
    pub fn env(&self) -> &Arc<dyn Env> {
        &self.env
    }

    /// The server's variables.
    pub fn globals(&self) -> &Arc<GlobalVariables> {
        &self.globals
    }

    /// Adds counters to SHOW STATUS.
    pub fn add_status_source(&self, source: StatusSource) {
        self.status.write().push(source);
    }

    /// The sessions connected now, by id.
    pub fn processes(&self) -> Vec<Arc<Process>> {
        self.processes.lock().values().cloned().collect()
    }

    /// The id of the next connection, for its handshake.
    pub fn reserve_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    /// A new session of an authenticated user.
    pub fn connect(self: &Arc<Self>, connection: Connection) -> Result<Session> {
        Session::new(self.clone(), connection)
    }
}

/// What a database is opened with.
pub struct OpenOptions {
    /// The data directory, which exists and is locked.
    pub datadir: PathBuf,
    /// The log files' name in front of their number.
    pub log_base_name: String,
    /// `server_uuid`.
    pub server_uuid: String,
    /// The server's variables, at their start values; `open` adds its hooks.
    pub globals: Arc<GlobalVariables>,
    /// What SHOW STATUS shows; `open` adds the log's and the store's counters.
    pub status: Arc<Status>,
    /// Called by SHUTDOWN.
    pub on_shutdown: Box<dyn Fn() + Send + Sync>,
}

impl Database {
    /// Recovers log and tables, and makes what a new data directory needs.
    pub fn open(env: Arc<dyn Env>, options: OpenOptions) -> Result<Arc<Self>> {
        let uuid = options.server_uuid.parse().map_err(|_| SqlError::internal("server_uuid is no UUID"))?;
        let engine_options =
            variables::engine::engine_options(&options.globals, &options.log_base_name, uuid);
        let engine = Engine::open(env.clone(), &options.datadir, engine_options, &mut NoTables)
            .map_err(SqlError::internal)?;
        variables::engine::follow(&options.globals, engine.log());
        status::engine::register(&options.status, &engine);
        Ok(Arc::new(Self {
            env,
            globals: options.globals,
            engine,
            processes: Mutex::default(),
            next_id: AtomicU64::new(1),
            status: RwLock::default(),
        }))
    }

    /// Checkpoints the tables and closes the log, once no session is left.
    pub fn close(&self) -> Result<()> {
        self.engine.close().map_err(SqlError::internal)
    }

    /// The log: for dumps.
    pub fn log(&self) -> &Arc<Log> {
        self.engine.log()
    }

    /// The account that MySQL's matching picks for a user name and a client's host.
    pub fn account(&self, user: &str, host: &str) -> Option<Account> {
        let root = user == "root" && host == "localhost";
        root.then(|| Account {
            user: "root".into(),
            host: "localhost".into(),
            plugin: "caching_sha2_password".into(),
            auth_string: Vec::new(),
            locked: false,
        })
    }
}

/// The catalog of a database without any table.
struct NoTables;

impl ReplayTarget for NoTables {
    fn begin(&mut self, _store: &Arc<Store>) -> Result<(), ReplayError> {
        Ok(())
    }

    fn ddl(
        &mut self,
        _query: &QueryEvent<'_>,
        _position: LogPosition,
        _batch: &mut WriteBatch,
    ) -> Result<(), String> {
        Err("DDL is not supported yet".into())
    }

    fn table(&mut self, _database: &str, _name: &str) -> Option<Arc<TableSchema>> {
        None
    }

    fn row_seen(&mut self, _schema: &TableSchema, _after: &[u8]) {}

    fn notes(&self) -> Vec<u8> {
        Vec::new()
    }
}
