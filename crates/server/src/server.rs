//! The life of the server: what all connections share, how it starts, how it stops.
//!
//! Start: the error log, the data directory's lock, recovery of log and tables, the listening
//! sockets, "ready". Stop: no connection is accepted any more; sessions are ended and roll back;
//! tables are checkpointed and the log closed, so that the next start has nothing to recover. A
//! service manager is told of both (`notify.rs`).
//!
//! (L1) Whatever was acknowledged is safe without the stop: it only makes the next start faster.

use crate::accounts::Accounts;
use crate::connections::Connections;
use crate::datadir::{Datadir, DatadirError};
use crate::event_scheduler::EventScheduler;
use crate::listener::Listener;
use crate::log_tool::replay::is_unfinished;
use crate::metrics::Endpoint;
use crate::notify::Notifier;
use crate::options::Options;
use crate::replica::ReplicaThreads;
use crate::stop::Stop;
use crate::threads::Threads;
use crate::unsupported::Unsupported;
use crate::{error_log, init_file, resources, root_password, semi_sync, status};
use datum::types::Collation;
use env::Env;
use protocol::identity::{Ahead, GivenFiles};
use protocol::{Authenticator, Identity, Login};
use replication::semi_sync::SemiSync;
use sql::status::Status;
use sql::variables::{GlobalVariables, Value, ids};
use sql::{Instance, OpenError};
use std::net::{Shutdown, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use thiserror::Error;

/// How often the server checks whether the log has rotated.
const ROTATION_CHECK: Duration = Duration::from_secs(1);
/// How long the sessions may take for their last reply at a stop.
const GRACE: Duration = Duration::from_secs(2);
/// How long they may take to end after that. Each has rolled back long before, unless the machine
/// hangs.
const PATIENCE: Duration = Duration::from_secs(30);

/// What stops the start.
#[derive(Debug, Error)]
pub enum StartError {
    /// The data directory.
    #[error(transparent)]
    Datadir(#[from] DatadirError),
    /// The log or the tables.
    #[error("can't open the database: {}", .0.to_sql_error())]
    Open(#[source] OpenError),
    /// It is a copy of another server, and not whole.
    #[error("'{}' is an unfinished copy of another server, made by 'duramen replicate': call that again, it goes on where it \
        stopped; or remove the directory", .0.display())]
    UnfinishedCopy(std::path::PathBuf),
    /// It is not whole yet.
    #[error("'{}' is an unfinished data directory: 'duramen restore', 'duramen binlog replay' or 'duramen repair' was ended before it \
        was whole, or is at work. Call that again, or remove it", .0.display())]
    Unfinished(std::path::PathBuf),
    /// Encryption at rest: a key is missing, or wrong. Nothing was changed.
    #[error("{0}")]
    Encryption(String),
    /// What was opened can't be closed again.
    #[error("can't open the database: {0}")]
    Close(sql::SqlError),
    /// Root's first password can't be set.
    #[error("duramen_root_password_file: {0}")]
    RootPassword(String),
    /// The file of statements can't be read.
    #[error("init_file: {0}")]
    InitFile(String),
    /// A socket; the text says everything.
    #[error("{0}")]
    Listen(String),
    /// The operating system said no to a thread or a signal handler.
    #[error("can't start: {0}")]
    System(#[from] std::io::Error),
}

/// What all connections share.
pub struct Server {
    /// Files and clock.
    pub env: Arc<dyn Env>,
    /// The system variables.
    pub variables: Arc<GlobalVariables>,
    /// Log, tables, catalog.
    pub database: Arc<Instance>,
    /// Who is connected.
    pub connections: Arc<Connections>,
    /// What connections run on.
    pub threads: Arc<Threads>,
    /// What is counted.
    pub status: Arc<Status>,
    /// How clients prove who they are.
    pub authenticator: Authenticator,
    /// Commits that wait for replicas.
    pub semi_sync: Arc<SemiSync>,
    /// What clients were refused.
    pub unsupported: Unsupported,
    /// The request to stop.
    pub stop: Stop,
    started: Duration,
    socket_was_asked_for: bool,
}

impl Server {
    /// How long it has been running.
    pub(crate) fn uptime(&self) -> Duration {
        self.env.monotonic().saturating_sub(self.started)
    }

    /// The collation of clients that name none.
    pub(crate) fn collation(&self) -> u16 {
        let name = self.variables.text(ids::COLLATION_SERVER);
        Collation::by_name(&name).unwrap_or(Collation::UTF8MB4_0900_AI_CI).0
    }

    /// Where accounts are looked up.
    pub(crate) fn accounts(&self) -> Accounts<'_> {
        Accounts(&self.database)
    }

    /// True if this account may take the slot that is reserved for administrators.
    pub(crate) fn is_administrator(&self, login: &Login) -> bool {
        let user = String::from_utf8_lossy(&login.account.user);
        self.database.is_administrator(&user, &login.account.host)
    }
}

/// Runs the server until it is asked to stop.
pub fn run(env: Arc<dyn Env>, options: Options) -> Result<(), StartError> {
    // What is made behind `env`'s back, as the socket is until its modes are set, is no more open
    // than what it makes.
    let given = rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o027));
    rustix::process::umask(given | rustix::fs::Mode::from_raw_mode(0o027));
    error_log::start(env.clone(), options.variables.uint(ids::LOG_ERROR_VERBOSITY));
    let stop = Stop::default();
    stop.on_signals()?;
    let notifier = Notifier::from_environment(env.clone());
    let starting = notifier.starting();
    let running = Running::start(env, &options, stop)?;
    drop(starting);
    notifier.ready();
    running.wait(&notifier);
    Ok(())
}

/// A server that takes connections.
pub struct Running {
    server: Arc<Server>,
    listeners: Vec<Arc<Listener>>,
    accepting: Vec<JoinHandle<()>>,
    metrics: Endpoint,
    events: Option<EventScheduler>,
    replica: Arc<ReplicaThreads>,
    keys_ahead: Ahead,
    /// Ours until the database is closed.
    _datadir: Datadir,
}

impl Running {
    /// Opens the database and listens.
    pub fn start(env: Arc<dyn Env>, options: &Options, stop: Stop) -> Result<Self, StartError> {
        let started = env.monotonic();
        let variables = options.variables.clone();
        for warning in &options.warnings {
            tracing::warn!("{warning}");
        }
        tracing::info!("duramen {} starts, process {}", env!("CARGO_PKG_VERSION"), std::process::id());
        resources::raise_open_files(&variables);
        let dir = options.path(ids::DATADIR);
        if is_unfinished(&*env, &dir) {
            return Err(StartError::Unfinished(dir));
        }
        let env = crate::encryption::of_server(&env, options)?;
        let datadir = Datadir::open(env.clone(), &options.path(ids::DATADIR), &options.path(ids::PID_FILE))?;
        if crate::replicate::is_unfinished(&*env, datadir.path()) {
            return Err(StartError::UnfinishedCopy(datadir.path().to_owned()));
        }
        // A port that is taken is an error before anything is replayed.
        drop(tcp_listeners(&variables)?);
        state_facts(&variables, options, &datadir);
        let (identity, keys_ahead) =
            Identity::start(env.clone(), datadir.path(), given_certificate(&variables, datadir.path()))?;
        let status = Arc::<Status>::default();
        let database = crate::database::open(&env, options, &datadir, &status, &stop)?;
        datadir.record_database()?;
        // Before any socket is opened, and before commits wait for replicas.
        let startup = root_password::set(&env, &database, datadir.path()).map_err(StartError::RootPassword);
        let startup = startup
            .and_then(|()| init_file::run(&*env, &database, datadir.path()).map_err(StartError::InitFile));
        if let Err(e) = startup {
            // What was opened is closed as after any other error of the start.
            crate::database::close(&database).map_err(StartError::Close)?;
            return Err(e);
        }
        let semi_sync = semi_sync::start(database.log(), &env, &variables)?;
        let server = Arc::new(Server {
            semi_sync,
            authenticator: Authenticator::new(env.clone(), Some(identity)),
            connections: Arc::default(),
            threads: Arc::default(),
            env,
            variables,
            database,
            status,
            unsupported: Unsupported::default(),
            stop,
            started,
            socket_was_asked_for: options.socket_was_asked_for,
        });
        status::register(&server);
        let weak = Arc::downgrade(&server);
        server.database.set_on_flush_privileges(Box::new(move || {
            if let Some(server) = weak.upgrade() {
                server.authenticator.forget_digests();
            }
        }));
        let accepted = accept(&server);
        let started = accepted.and_then(|accepted| Ok((accepted, EventScheduler::start(&server)?)));
        match started {
            Ok(((metrics, listeners, accepting), events)) => {
                announce(&server, &listeners, datadir.is_new());
                let replica = ReplicaThreads::start(&server);
                Ok(Self {
                    server,
                    listeners,
                    accepting,
                    metrics,
                    events,
                    replica,
                    keys_ahead,
                    _datadir: datadir,
                })
            }
            Err(e) => {
                close(&server);
                Err(e)
            }
        }
    }

    /// What its connections share.
    pub(crate) fn server(&self) -> &Arc<Server> {
        &self.server
    }

    /// Where it listens, if it does over TCP.
    pub(crate) fn address(&self) -> Option<SocketAddr> {
        self.listeners.iter().find_map(|l| l.address())
    }

    /// Serves until the stop is requested, every session has ended and the database is closed.
    pub(crate) fn wait(self, notifier: &Notifier) {
        let server = &self.server;
        let reason = purge_expired_logs(server);
        let _stopping = notifier.stopping(&reason);
        tracing::info!("stopping: {reason}");
        for listener in &self.listeners {
            listener.close();
        }
        for thread in self.accepting {
            // A panic in it was logged, and there is nothing left to accept.
            let _ = thread.join();
        }
        self.metrics.end();
        self.replica.end();
        end_sessions(server);
        self.events.into_iter().for_each(EventScheduler::end);
        server.threads.close();
        for listener in &self.listeners {
            listener.remove(&*server.env);
        }
        drop(self.keys_ahead);
        close(server);
        tracing::info!("stopped");
    }
}

type Accepting = (Endpoint, Vec<Arc<Listener>>, Vec<JoinHandle<()>>);

/// Listens, with a thread for each socket that accepts.
fn accept(server: &Arc<Server>) -> Result<Accepting, StartError> {
    let listeners = listen(server)?;
    let metrics = Endpoint::start(server).map_err(StartError::Listen)?;
    let threads = listeners.iter().map(|l| l.run(server)).collect::<Result<Vec<_>, _>>()?;
    Ok((metrics, listeners, threads))
}

fn close(server: &Server) {
    if let Err(e) = crate::database::close(&server.database) {
        tracing::error!("the database was not closed cleanly; the next start recovers: {e}");
    }
}

/// Removes expired log files at the start and after each rotation, until the stop is requested;
/// returns why it was.
fn purge_expired_logs(server: &Server) -> String {
    let rotations = || server.database.log().status().rotations.get();
    let mut seen = None;
    loop {
        let now = Some(rotations());
        if seen != now {
            seen = now;
            if let Err(error) = sql::purge_expired_log_files(&server.database) {
                tracing::warn!("expired log files stay until the next rotation: {error}");
            }
        }
        if let Some(reason) = server.stop.wait_for(ROTATION_CHECK) {
            return reason;
        }
    }
}

/// Interrupts what runs and lets each session send its last reply; a client that does not read it
/// is cut off.
fn end_sessions(server: &Server) {
    server.semi_sync.stop();
    let connections = &server.connections;
    connections.shut_all(Shutdown::Read);
    server.database.processes().iter().for_each(|p| p.kill(sql::Kill::Query));
    if connections.await_none(GRACE) {
        return;
    }
    server.database.processes().iter().for_each(|p| p.kill(sql::Kill::Connection));
    connections.shut_all(Shutdown::Both);
    if !connections.await_none(PATIENCE) {
        tracing::warn!("{} sessions did not end in time", connections.count());
    }
}

/// The certificate that `ssl_cert` and `ssl_key` name, relative to the data directory, if they are
/// not left as they were.
fn given_certificate(variables: &GlobalVariables, datadir: &Path) -> Option<GivenFiles> {
    let (certificate, key) = (variables.text(ids::SSL_CERT), variables.text(ids::SSL_KEY));
    let is_given = (&*certificate, &*key) != ("server-cert.pem", "server-key.pem");
    is_given.then(|| GivenFiles { certificate: datadir.join(&*certificate), key: datadir.join(&*key) })
}

/// Variables whose values are only known now.
fn state_facts(variables: &GlobalVariables, options: &Options, datadir: &Datadir) {
    let put = |id, text: &str| variables.put(id, Value::Text(text.into()));
    let path = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let directory = path(datadir.path());
    put(ids::DATADIR, &format!("{}/", directory.display()));
    for id in [ids::SOCKET, ids::PID_FILE] {
        put(id, &path(&options.path(id)).to_string_lossy());
    }
    if variables.text(ids::TMPDIR).is_empty() {
        put(ids::TMPDIR, &directory.to_string_lossy());
    }
    put(ids::SERVER_UUID, datadir.server_uuid());
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    put(ids::HOSTNAME, &host);
    for (id, name) in [
        (ids::GENERAL_LOG_FILE, format!("{host}.log")),
        (ids::SLOW_QUERY_LOG_FILE, format!("{host}-slow.log")),
    ] {
        if variables.text(id).is_empty() {
            put(id, &directory.join(name).to_string_lossy());
        }
    }
    put(ids::LOG_BIN_BASENAME, &directory.join(&options.log_base_name).to_string_lossy());
    put(ids::LOG_BIN_INDEX, &directory.join(format!("{}.index", options.log_base_name)).to_string_lossy());
}

/// The sockets of the clients' port and of the one for MariaDB replicas.
fn tcp_listeners(variables: &GlobalVariables) -> Result<Vec<Listener>, StartError> {
    let mut listeners = Vec::new();
    if variables.bool(ids::SKIP_NETWORKING) {
        return Ok(listeners);
    }
    let hosts = variables.text(ids::BIND_ADDRESS);
    for (id, may_be_zero) in [(ids::PORT, true), (ids::DURAMEN_MARIADB_PORT, false)] {
        let port = u16::try_from(variables.uint(id)).expect("the variable's range is a port's");
        if port != 0 || may_be_zero {
            listeners.extend(Listener::tcp(&hosts, port).map_err(StartError::Listen)?);
        }
    }
    Ok(listeners)
}

fn listen(server: &Server) -> Result<Vec<Arc<Listener>>, StartError> {
    let variables = &server.variables;
    let mut listeners = tcp_listeners(variables)?;
    if let Some(address) = listeners.first().and_then(Listener::address) {
        variables.put(ids::PORT, Value::UInt(address.port().into()));
    }
    if variables.uint(ids::REPORT_PORT) == 0 {
        variables.put(ids::REPORT_PORT, variables.get(ids::PORT));
    }
    match Listener::unix(&*server.env, Path::new(&*variables.text(ids::SOCKET))) {
        Ok(listener) => listeners.push(listener),
        // A data directory deep in the tree: TCP is enough.
        Err(e) if !server.socket_was_asked_for && !listeners.is_empty() => tracing::warn!("{e}"),
        Err(e) => return Err(StartError::Listen(e)),
    }
    Ok(listeners.into_iter().map(Arc::new).collect())
}

fn announce(server: &Server, listeners: &[Arc<Listener>], is_new: bool) {
    let variables = &server.variables;
    let datadir = variables.text(ids::DATADIR);
    if is_new {
        tracing::info!("made the data directory '{datadir}'");
    }
    if server.accounts().root_has_no_password() {
        tracing::warn!(
            "root has an empty password, and can connect from this machine only; set one with ALTER USER"
        );
    }
    let commands: Vec<_> = listeners.iter().map(|l| l.connect_command()).collect();
    let commands = commands.join("   or   ");
    tracing::info!("ready for connections after {} ms: {commands}", server.uptime().as_millis());
}
