//! What all sessions share: the engine, the catalog, the server's variables, and the list of
//! sessions.

mod open_error;

pub use open_error::OpenError;

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use binlog::event::QueryEvent;
use binlog::group::GroupContext;
use binlog::log::Log;
use env::Env;
use parking_lot::{Mutex, RwLock};
use storage::check::{Damage, StoreFiles};
use storage::engine::Replicated;
use storage::lock::Killed;
use storage::{Cause, Engine, Interrupt, STORE_FOLDER, StoreError, TreeId, Xid};

use crate::catalog::change_times::ChangeTimes;
use crate::catalog::ddl::{self, Settings};
use crate::catalog::metadata_lock::barrier::Barrier;
use crate::catalog::metadata_lock::waits::Waits;
use crate::catalog::metadata_lock::{Guard, MetadataLockType, Waiter};
use crate::catalog::read_back::checked_records;
use crate::catalog::set_aside::{ObjectKind, SetAside};
use crate::catalog::{Catalog, CatalogState, Rehearsal, Replay, UserAtHost, parse_one, record};
use crate::events::EventTimes;
use crate::expression::functions::uuid;
use crate::index_use::IndexUses;
use crate::replica::Channels;
use crate::replica::applier::committed_position;
use crate::replicas::Replicas;
use crate::session::deadline::Deadlines;
use crate::session::gtid_next::OwnedGtids;
use crate::session::named_locks::NamedLocks;
use crate::session::open_transaction::OpenTransaction;
use crate::session::read_only::may_stay_offline;
use crate::session::xa::Branches;
use crate::session::{Connection, Session, UserVariables};
use crate::spill::Spill;
use crate::statement_digests::StatementDigests;
use crate::statement_events::{SessionEvents, StatementEvents};
use crate::statement_log::StatementLogs;
use crate::status::{self, Status};
use crate::variables::{self, GlobalVariables, ids};
use datum::error::{self, Result, SqlError};
use datum::types::{Charset, Collation};
use datum::value::zone::Zone;

/// Where queries' temporary files lie in the data directory.
const SPILL_FOLDER: &str = "spill";

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
    /// `ACCOUNT LOCK` was said: nobody can log in.
    pub locked: bool,
    /// REQUIRE SSL.
    pub require_tls: bool,
}

/// What a session is asked to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kill {
    /// The statement that runs now.
    Query,
    /// The whole session, and the statement that runs now.
    Connection,
}

/// A session as others see it: for SHOW PROCESSLIST and KILL.
pub struct Process {
    /// The connection's id.
    pub id: u64,
    /// The name that the client gave, and where it comes from.
    user: UserAtHost,
    account: UserAtHost,
    interrupt: Arc<Interrupt>,
    transaction: Arc<OpenTransaction>,
    user_variables: Arc<UserVariables>,
    events: Arc<SessionEvents>,
    on_kill: Box<dyn Fn(Kill) + Send + Sync>,
    running: Mutex<Running>,
}

/// What a session does, and since when (monotonic, coarse).
struct Running {
    /// The start of the text that runs, or ran last: its memory is kept from statement to
    /// statement.
    statement: Vec<u8>,
    is_running: bool,
    since: Duration,
    /// The default database, as of the last statement.
    database: Option<String>,
    /// What it is about, in SHOW PROCESSLIST's words.
    state: &'static str,
}

impl Running {
    fn show(&mut self, text: &[u8]) {
        self.statement.clear();
        self.statement.extend_from_slice(&text[..text.len().min(PROCESSLIST_TEXT_MAX)]);
    }
}

/// What others may use of a session.
pub(crate) struct SessionHandles {
    pub(crate) interrupt: Arc<Interrupt>,
    pub(crate) transaction: Arc<OpenTransaction>,
    pub(crate) user_variables: Arc<UserVariables>,
    pub(crate) events: Arc<SessionEvents>,
}

/// Bytes of a statement that SHOW FULL PROCESSLIST shows.
const PROCESSLIST_TEXT_MAX: usize = 1024;

impl Process {
    pub(crate) fn new(
        id: u64,
        user: UserAtHost,
        account: UserAtHost,
        handles: SessionHandles,
        on_kill: Box<dyn Fn(Kill) + Send + Sync>,
    ) -> Self {
        let running = Mutex::new(Running {
            statement: Vec::new(),
            is_running: false,
            since: Duration::ZERO,
            database: None,
            state: "",
        });
        let SessionHandles { interrupt, transaction, user_variables, events } = handles;
        Self { id, user, account, interrupt, transaction, user_variables, events, on_kill, running }
    }

    /// Asks the session to stop.
    pub fn kill(&self, what: Kill) {
        self.interrupt(what);
        (self.on_kill)(what);
    }

    /// The same without a word to the connection, which finds out when its statement has ended.
    pub(crate) fn interrupt(&self, what: Kill) {
        self.interrupt.kill(match what {
            Kill::Query => Killed::Query,
            Kill::Connection => Killed::Connection,
        });
    }

    /// The name that the client gave, and where it comes from.
    pub fn user(&self) -> &UserAtHost {
        &self.user
    }

    /// The account that it was authenticated as.
    pub fn account(&self) -> &UserAtHost {
        &self.account
    }

    pub(crate) fn transaction(&self) -> &OpenTransaction {
        &self.transaction
    }

    /// The statements that it ran last.
    pub(crate) fn events(&self) -> &SessionEvents {
        &self.events
    }

    pub(crate) fn user_variables(&self) -> &UserVariables {
        &self.user_variables
    }

    /// What it runs, if anything, and since when it does or does not (monotonic, coarse).
    pub(crate) fn running(&self) -> (Option<Vec<u8>>, Duration) {
        let running = self.running.lock();
        (running.is_running.then(|| running.statement.clone()), running.since)
    }

    /// Its default database, as of its last statement.
    pub(crate) fn database(&self) -> Option<String> {
        self.running.lock().database.clone()
    }

    /// What the statement is about now: SHOW PROCESSLIST's State.
    pub(crate) fn state(&self) -> &'static str {
        self.running.lock().state
    }

    pub(crate) fn set_state(&self, state: &'static str) {
        self.running.lock().state = state;
    }

    pub(crate) fn begin(&self, text: &[u8], now: Duration) {
        let mut running = self.running.lock();
        running.show(text);
        running.is_running = true;
        running.since = now;
        running.state = "executing";
    }

    /// Shows this text from now on: of several statements the one that runs, and no password.
    pub(crate) fn show(&self, text: &[u8]) {
        self.running.lock().show(text);
    }

    pub(crate) fn end(&self, now: Duration, database: Option<&str>) {
        let mut running = self.running.lock();
        running.is_running = false;
        running.since = now;
        if running.database.as_deref() != database {
            running.database = database.map(str::to_owned);
        }
    }
}

/// Makes what an authentication plugin keeps of a password: plugin, password.
pub(crate) type PasswordHasher = Box<dyn Fn(&str, &[u8]) -> Option<Vec<u8>> + Send + Sync>;

/// One server: everything below its network side.
pub struct Instance {
    env: Arc<dyn Env>,
    globals: Arc<GlobalVariables>,
    engine: Arc<Engine>,
    catalog: Arc<Catalog>,
    processes: Mutex<BTreeMap<u64, Arc<Process>>>,
    next_id: AtomicU64,
    deadlines: Deadlines,
    /// Prepared statements of all sessions.
    prepared: Arc<AtomicU64>,
    status: Arc<Status>,
    on_shutdown: Box<dyn Fn() + Send + Sync>,
    hasher: RwLock<Option<PasswordHasher>>,
    on_flush_privileges: RwLock<Option<Box<dyn Fn() + Send + Sync>>>,
    commit_barrier: Arc<Barrier>,
    ddl_barrier: Arc<Barrier>,
    metadata_waits: Waits,
    change_times: ChangeTimes,
    event_times: EventTimes,
    named_locks: NamedLocks,
    uuids: uuid::Generator,
    branches: Mutex<Branches>,
    spill: Arc<Spill>,
    replicas: Replicas,
    channels: Channels,
    statement_logs: Arc<StatementLogs>,
    statement_digests: StatementDigests,
    index_uses: Arc<IndexUses>,
    statement_events: StatementEvents,
    owned_gtids: OwnedGtids,
}

impl Instance {
    /// The environment it runs in.
    pub fn env(&self) -> &Arc<dyn Env> {
        &self.env
    }

    /// The server's variables.
    pub fn globals(&self) -> &Arc<GlobalVariables> {
        &self.globals
    }

    /// Trees and transactions, and through it the binary log.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// Memory of queries, and the temporary files beyond it.
    pub fn spill(&self) -> &Arc<Spill> {
        &self.spill
    }

    /// All definitions: a statement reads them by [`Catalog::state`].
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// Passed by commits of changes and by DDL; FLUSH TABLES WITH READ LOCK closes it.
    pub(crate) fn commit_barrier(&self) -> &Arc<Barrier> {
        &self.commit_barrier
    }

    /// Passed by DDL; LOCK INSTANCE FOR BACKUP closes it.
    pub(crate) fn ddl_barrier(&self) -> &Arc<Barrier> {
        &self.ddl_barrier
    }

    /// A branch is prepared: its tables keep their definitions until
    /// [`Self::release_branch_locks`].
    pub(crate) fn hold_branch_locks(&self, xid: &Xid, guards: Vec<Guard>) {
        self.branches.lock().insert(xid.clone(), guards);
    }

    pub(crate) fn release_branch_locks(&self, xid: &Xid) {
        self.branches.lock().remove(xid);
    }

    /// At the start: the tables of branches that are prepared are locked again, before anybody can
    /// ask for them.
    fn guard_prepared(&self) -> Result<(), OpenError> {
        for (xid, tables) in self.engine.prepared() {
            match self.lock_tables(tables) {
                Ok(guards) => self.hold_branch_locks(&xid, guards),
                Err(error) => return Err(OpenError::Prepared { xid, error }),
            }
        }
        Ok(())
    }

    /// Locks tables, by database and name, of which nobody can have asked yet.
    fn lock_tables(&self, tables: Vec<(String, String)>) -> Result<Vec<Guard>> {
        let (calm, held) = (Interrupt::new(), Vec::new);
        tables
            .into_iter()
            .map(|(database, name)| {
                let table = self.catalog.table(&database, &name)?;
                let waiter = Waiter {
                    session: 0,
                    interrupt: &calm,
                    timeout: Duration::ZERO,
                    waits: &self.metadata_waits,
                    held: &held,
                    on_wait: &|_| (),
                };
                table.lock.lock(MetadataLockType::Write, true, &waiter)
            })
            .collect()
    }

    /// Sessions that wait for metadata locks.
    pub(crate) fn metadata_waits(&self) -> &Waits {
        &self.metadata_waits
    }

    /// When rows of tables were changed last.
    pub(crate) fn change_times(&self) -> &ChangeTimes {
        &self.change_times
    }

    /// What SHOW STATUS shows.
    pub fn status(&self) -> &Status {
        &self.status
    }

    /// Who follows this server.
    pub fn replicas(&self) -> &Replicas {
        &self.replicas
    }

    /// Whom this server follows.
    pub fn channels(&self) -> &Channels {
        &self.channels
    }

    /// What statements of each form have cost.
    pub(crate) fn statement_digests(&self) -> &StatementDigests {
        &self.statement_digests
    }

    /// The statements that ran last.
    pub(crate) fn statement_events(&self) -> &StatementEvents {
        &self.statement_events
    }

    /// How often indexes were used.
    pub(crate) fn index_uses(&self) -> &Arc<IndexUses> {
        &self.index_uses
    }

    /// The general log and the slow query log.
    pub(crate) fn statement_logs(&self) -> &Arc<StatementLogs> {
        &self.statement_logs
    }

    /// GTIDs that sessions have set as their next.
    pub(crate) fn owned_gtids(&self) -> &OwnedGtids {
        &self.owned_gtids
    }

    /// When events were run last.
    pub(crate) fn event_times(&self) -> &EventTimes {
        &self.event_times
    }

    /// The locks of GET_LOCK.
    pub(crate) fn named_locks(&self) -> &NamedLocks {
        &self.named_locks
    }

    /// What UUID() draws from.
    pub(crate) fn uuids(&self) -> &uuid::Generator {
        &self.uuids
    }

    /// A session connected now.
    pub fn process(&self, id: u64) -> Option<Arc<Process>> {
        self.processes.lock().get(&id).cloned()
    }

    /// The sessions connected now, by id.
    pub fn processes(&self) -> Vec<Arc<Process>> {
        self.processes.lock().values().cloned().collect()
    }

    /// When statements have to end.
    pub(crate) fn deadlines(&self) -> &Deadlines {
        &self.deadlines
    }

    /// How many prepared statements all sessions have.
    pub(crate) fn prepared_count(&self) -> &Arc<AtomicU64> {
        &self.prepared
    }

    /// Puts a session on the list. Error 1226 if its account has as many as it may
    /// (MAX_USER_CONNECTIONS), 1203 if it may have as many as others and has them
    /// (`max_user_connections`).
    pub(crate) fn register(&self, process: Arc<Process>) -> Result<()> {
        let own = self.catalog.state().users.get(&process.account).map_or(0, |u| u.options.connections_max);
        let limit = if own > 0 { own.into() } else { self.globals.uint(ids::MAX_USER_CONNECTIONS) };
        let users = &self.catalog.state().users;
        let may_stay = users.get(&process.account).is_some_and(|user| may_stay_offline(&user.grants));
        let mut processes = self.processes.lock();
        // Under the latch of the list that `offline_mode` goes through when it was set.
        if !may_stay && self.globals.bool(ids::OFFLINE_MODE) {
            return Err(error::SERVER_OFFLINE_MODE.plain());
        }
        // A session that takes another's place on the same connection (COM_CHANGE_USER) is none
        // more.
        let others = |p: &&Arc<Process>| p.id != process.id && p.account == process.account;
        if limit > 0 && processes.values().filter(others).count() as u64 >= limit {
            let name = &process.account.user;
            return Err(match own {
                0 => error::TOO_MANY_USER_CONNECTIONS.with(&[name]),
                _ => error::USER_LIMIT_REACHED.with(&[name, &"max_user_connections", &limit]),
            });
        }
        processes.insert(process.id, process);
        Ok(())
    }

    /// Takes a session off the list; not one that took its place on the same connection
    /// (COM_CHANGE_USER).
    pub(crate) fn unregister(&self, process: &Arc<Process>) {
        let mut processes = self.processes.lock();
        if processes.get(&process.id).is_some_and(|listed| Arc::ptr_eq(listed, process)) {
            processes.remove(&process.id);
            self.replicas.deregister(process.id);
        }
    }

    /// The id of the next connection, for its handshake.
    pub fn reserve_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    /// A new session of an authenticated user.
    pub fn connect(self: &Arc<Self>, connection: Connection) -> Result<Session> {
        Session::new(self.clone(), connection)
    }

    /// Says how passwords become what the catalog keeps of them; without it `IDENTIFIED BY` is
    /// refused.
    pub fn set_password_hasher(&self, hasher: PasswordHasher) {
        *self.hasher.write() = Some(hasher);
    }

    pub(crate) fn hash_password(&self, plugin: &str, password: &[u8]) -> Result<Vec<u8>> {
        let hashed = self.hasher.read().as_ref().and_then(|hash| hash(plugin, password));
        hashed.ok_or_else(|| SqlError::unsupported(format_args!("passwords of plugin {plugin}")))
    }

    /// Says what FLUSH PRIVILEGES calls: whoever remembers what accounts look like forgets it.
    pub fn set_on_flush_privileges(&self, hook: Box<dyn Fn() + Send + Sync>) {
        *self.on_flush_privileges.write() = Some(hook);
    }

    pub(crate) fn flush_privileges(&self) {
        if let Some(hook) = &*self.on_flush_privileges.read() {
            hook();
        }
    }

    pub(crate) fn request_shutdown(&self) {
        (self.on_shutdown)();
    }
}

/// Tells the engine what it has to know of the catalog's tables: what their rows were before, and
/// which trees are in use; others that a crash left in the making go.
fn take_up_tables(state: &CatalogState, engine: &Engine) -> Result<(), StoreError> {
    let tables = || state.databases.values().flat_map(|d| d.tables.values());
    for table in tables().filter(|table| table.layouts.is_some()) {
        engine.set_layouts(table.schema.primary.tree(), table.layouts.clone());
    }
    let mut trees: HashSet<TreeId> =
        tables().flat_map(|table| table.schema.indexes().map(|index| index.tree())).collect();
    trees.extend(state.set_aside.values().flat_map(|object| object.trees.iter().flatten()));
    // A table whose record does not even say which trees it has: any may be its own.
    let is_unknown = |o: &SetAside| o.key.kind == ObjectKind::Table && o.trees.is_none();
    let keeps_all = state.set_aside.values().any(is_unknown);
    let built = trees.iter().filter(|tree| tree.0 >= storage::build::FIRST_BUILT);
    built.for_each(|tree| engine.store().tree_in_use(*tree));
    let orphans = engine.store().drop_orphans(|tree| keeps_all || trees.contains(&tree))?;
    if !orphans.is_empty() {
        tracing::info!(trees = orphans.len(), "trees of an unfinished ALTER TABLE dropped");
    }
    Ok(())
}

/// The catalog's records as of the store's checkpoint; `None` if the store can't be read, which the
/// engine's own examination says. Fails if the catalog's blocks can't be read, or if they are of a
/// newer version: nothing could be started from the rest, so nothing is changed
/// (R2 of ARCHITECTURE.md).
fn examine_catalog(env: &Arc<dyn Env>, datadir: &Path) -> Result<Option<Vec<record::Record>>, OpenError> {
    let files = match StoreFiles::read(env, &datadir.join(STORE_FOLDER)) {
        Ok(Some(files)) => files,
        Ok(None) => return Ok(Some(Vec::new())),
        Err(_) => return Ok(None),
    };
    let (mut records, mut damage) = (Vec::new(), Vec::new());
    files.read_tree(record::TREE, &mut damage, &mut |key, value, position| {
        records.push((key.to_vec(), value.to_vec(), position));
    });
    let format = record::format_of(&records);
    if format > record::FORMAT {
        return Err(OpenError::NewerCatalog { format });
    }
    // One that is missing the engine's examination says better: it knows which manifest names it.
    let is_there = |d: &&Damage| env.exists(&d.file);
    let of_catalog = |d: &&Damage| d.trees().is_some_and(|trees| trees.contains(&record::TREE));
    match damage.iter().filter(is_there).find(of_catalog) {
        None if damage.iter().all(|d| env.exists(&d.file)) => Ok(Some(records)),
        None => Ok(None),
        Some(damage) => Err(OpenError::CatalogBlock(damage.clone())),
    }
}

/// What an instance is opened with.
pub struct OpenOptions {
    /// The data directory, which exists and is locked.
    pub datadir: PathBuf,
    /// The log files' name in front of their number.
    pub log_base_name: String,
    /// As in `auto.cnf`: the source of the GTIDs that this server gives.
    pub server_uuid: String,
    /// The server's variables, at their start values; `open` adds its hooks.
    pub globals: Arc<GlobalVariables>,
    /// What SHOW STATUS shows; `open` adds the log's and the store's counters.
    pub status: Arc<Status>,
    /// Called by SHUTDOWN.
    pub on_shutdown: Box<dyn Fn() + Send + Sync>,
}

impl Instance {
    /// Recovers log and tables, and makes what a new data directory needs.
    ///
    /// # Errors
    /// What stops the start. Nothing was changed where the message says so.
    pub fn open(env: Arc<dyn Env>, options: OpenOptions) -> Result<Arc<Self>, OpenError> {
        let uuid = options.server_uuid.parse().map_err(|_| OpenError::ServerUuid)?;
        let engine_options =
            variables::engine::engine_options(&options.globals, &options.log_base_name, uuid);
        let mut rehearsal = examine_catalog(&env, &options.datadir)?.map(Rehearsal::new);
        let engine =
            Engine::open_rehearsed(env.clone(), &options.datadir, engine_options, &mut |query, at, end| {
                let Some(rehearsal) = &mut rehearsal else { return Ok(()) };
                rehearsal.statement(query, at, end).map_err(Cause::from)
            })?;
        drop(rehearsal);
        let prepared = Arc::<AtomicU64>::default();
        let count = prepared.clone();
        options
            .status
            .add_source(move |rows| rows.gauge("Prepared_stmt_count", count.load(Ordering::Relaxed)));
        let uuids = uuid::Generator::new(&*env);
        let spill_folder = options.datadir.join(SPILL_FOLDER);
        let spill = Spill::new(env.clone(), &spill_folder, options.globals.clone());
        let spill = spill.map_err(OpenError::SpillFolder)?;
        let statement_logs = StatementLogs::new(env.clone(), options.globals.clone(), &options.datadir);
        statement_logs.follow(&options.globals);
        let digests = options.globals.uint(ids::PERFORMANCE_SCHEMA_DIGESTS_SIZE);
        let statement_digests = StatementDigests::new(usize::try_from(digests).unwrap_or(usize::MAX));
        let size = |id| usize::try_from(options.globals.uint(id)).unwrap_or(usize::MAX);
        let statement_events = StatementEvents::new(
            size(ids::PERFORMANCE_SCHEMA_EVENTS_STATEMENTS_HISTORY_SIZE),
            size(ids::PERFORMANCE_SCHEMA_EVENTS_STATEMENTS_HISTORY_LONG_SIZE),
        );
        let channels = Channels::open(env.clone(), &options.datadir);
        let instance = Arc::new(Self {
            env,
            globals: options.globals,
            engine,
            catalog: Arc::default(),
            processes: Mutex::default(),
            next_id: AtomicU64::new(1),
            deadlines: Deadlines::default(),
            prepared,
            status: options.status,
            on_shutdown: options.on_shutdown,
            hasher: RwLock::new(None),
            on_flush_privileges: RwLock::new(None),
            commit_barrier: Arc::default(),
            ddl_barrier: Arc::default(),
            metadata_waits: Waits::default(),
            change_times: ChangeTimes::default(),
            event_times: EventTimes::default(),
            named_locks: NamedLocks::default(),
            uuids,
            branches: Mutex::default(),
            spill,
            replicas: Replicas::default(),
            channels,
            owned_gtids: OwnedGtids::default(),
            statement_logs,
            statement_digests,
            index_uses: Arc::default(),
            statement_events,
        });
        instance.replay()?;
        instance.guard_prepared()?;
        instance.place_channels();
        instance.make_root().map_err(OpenError::FirstAccount)?;
        instance.log_set_aside();
        Ok(instance)
    }

    /// The tables become what the log says, the catalog with them; from then on both follow what
    /// sessions do.
    fn replay(self: &Arc<Self>) -> Result<(), OpenError> {
        let engine = &self.engine;
        engine.replay(&mut Replay::new(self))?;
        take_up_tables(&self.catalog.state(), engine).map_err(OpenError::Orphans)?;
        let counters = self.catalog.clone();
        engine.set_notes_source(move |_| counters.notes());
        variables::engine::follow(&self.globals, engine.log());
        variables::engine::follow_locks(&self.globals, engine.locks());
        status::engine::register(&self.status, engine);
        Ok(())
    }

    /// Channels are where their last transactions in the log say, before a thread runs: for SHOW
    /// REPLICA STATUS, and CHANGE REPLICATION SOURCE, which may keep the file's name.
    fn place_channels(&self) {
        for channel in self.channels.all() {
            // What can't be read stops the channel's threads, not the start.
            let Ok(reached) = committed_position(self, &channel) else { continue };
            if reached.position.file.is_empty() {
                continue;
            }
            channel.with(|state| {
                state.progress.read = reached.position.clone();
                state.progress.executed = reached.position;
            });
        }
    }

    /// What can't be used is said at every start.
    fn log_set_aside(&self) {
        for object in self.catalog.state().set_aside.values() {
            tracing::error!(
                "SET ASIDE: {}: {}. Statements that name it fail; everything else works; no log file is purged \
                 meanwhile. `duramen repair` may bring it back from the log into a new data directory; DROP gives it up",
                object.key,
                object.reason
            );
        }
    }

    /// A new data directory has one account: root, from this machine, without a password.
    fn make_root(&self) -> Result<()> {
        const STATEMENTS: [&str; 2] = [
            "CREATE USER IF NOT EXISTS 'root'@'localhost' IDENTIFIED WITH 'caching_sha2_password'",
            "GRANT ALL ON *.* TO 'root'@'localhost' WITH GRANT OPTION",
        ];
        if let Some(object) = self.catalog.state().set_aside.values().find(|o| o.key.kind == ObjectKind::User)
            && !self.catalog.state().users.values().any(|u| u.grants.is_administrator())
        {
            // A new root without password would open the server to anybody.
            tracing::error!("no administrator can log in: {} is set aside", object.key);
            return Ok(());
        }
        // Without an administrator nobody could make one. The second may be missing after a crash
        // between the two.
        if self.catalog.state().users.values().any(|u| u.grants.is_administrator()) {
            return Ok(());
        }
        let server_id = self.globals.uint(variables::ids::SERVER_ID) as u32;
        let seconds = (self.env.now() / 1_000_000) as u32;
        for sql in STATEMENTS {
            let settings = Settings {
                generates_key: false,
                requires_key: false,
                explicit_timestamps: true,
                foreign_key_checks: false,
                restricts_foreign_keys: false,
                disabled_engines: "".into(),
                is_replicated: false,
                from_client: false,
                temporary: crate::catalog::temporary::TemporaryTables::default(),
                database: None,
                sql_mode: 0,
                client: Charset::Utf8mb4,
                connection: Collation::UTF8MB4_0900_AI_CI,
                server: Collation::UTF8MB4_0900_AI_CI,
                zone: Zone::UTC,
                moment: self.env.now() as i64,
                account: UserAtHost::new("root", "localhost"),
            };
            let statement = parse_one(sql.as_bytes(), 0)?;
            let state = self.catalog.state();
            let plan = ddl::plan(&statement, sql.as_bytes(), &state, &settings, &ddl::no_passwords)?;
            if plan.changes.is_empty() {
                continue;
            }
            let context = GroupContext::new(server_id, seconds, syntax::parser::VERSION);
            let event = QueryEvent::new(0, b"", sql.as_bytes());
            let batch = checked_records(&plan.changes, &event, seconds, &state, &[])?;
            drop(state);
            let position = self.engine.commit_ddl(context, &event, batch, Replicated::default())?.position;
            self.catalog.publish(&plan.changes, position);
        }
        Ok(())
    }

    /// Checkpoints the tables and closes the log, once no session is left.
    pub fn close(&self) -> Result<()> {
        self.engine.close().map_err(SqlError::internal)
    }

    /// The log: for dumps.
    pub fn log(&self) -> &Arc<Log> {
        self.engine.log()
    }

    /// True if the account may do everything.
    pub fn is_administrator(&self, user: &str, host: &str) -> bool {
        self.catalog.state().user(user, host).is_some_and(|found| found.grants.is_administrator())
    }

    /// True if the account's password has to be changed before anything else.
    pub fn has_expired_password(&self, user: &str, host: &str) -> bool {
        let state = self.catalog.state();
        state.users.get(&UserAtHost::new(user, host)).is_some_and(|found| found.options.expired)
    }

    /// How many accounts there are, and how many of them have this authentication plugin.
    pub fn count_accounts(&self, plugin: &str) -> (u64, u64) {
        let state = self.catalog.state();
        let of_plugin = state.users.values().filter(|user| user.plugin == plugin).count();
        (state.users.len() as u64, of_plugin as u64)
    }

    /// The account that MySQL's matching picks for a user name and a client's host.
    pub fn account(&self, user: &str, host: &str) -> Option<Account> {
        let state = self.catalog.state();
        let found = state.user(user, host)?;
        Some(Account {
            user: found.user.clone(),
            host: found.host.clone(),
            plugin: found.plugin.clone(),
            auth_string: found.auth_string.clone(),
            locked: found.options.locked,
            require_tls: found.options.require_tls,
        })
    }
}
