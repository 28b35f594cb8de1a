//! A session: one client's state, and the statements it runs.
//!
//! 1. parse   [`Session::execute`] takes the statements off the text, one by one.
//! 2. begin   Each starts a new moment and an empty list of warnings.
//! 3. execute It is executed ([`crate::executor`]). A result set's rows go to the [`ResultSink`] as
//!    they are found, before it is known how the statement ends; the error comes after them.
//! 4. end     Outside of a longer transaction its changes are rolled back if it failed, and else
//!    enqueued for the log.
//! 5. reply   The end of the reply is written to the sink ([`ResultSink::finish`]). It may be sent
//!    once the commit is as durable as the settings ask. By default the session waits for that
//!    before it writes. Where the caller allows it ([`Session::allow_deferred_replies`]) and the
//!    statement permits it, the session writes at once, and the caller holds the reply back until
//!    what [`Session::take_pending_reply`] returns is complete.
//!
//! Who sends the OK then, and when: the head of `server/src/deferred_reply.rs`. What a statement
//! knows of its session is in [`Context`].

mod context;
pub(crate) mod deadline;
mod event_run;
mod grants;
pub(crate) mod gtid_next;
mod hints;
mod logged;
pub(crate) mod named_locks;
pub(crate) mod open_transaction;
mod pending_reply;
mod prepared;
pub(crate) mod read_only;
pub(crate) mod replicated;
pub(crate) mod series;
mod statement_cache;
pub(crate) mod table_locks;
mod temporary;
pub(crate) mod tracking;
pub(crate) mod transaction;
mod trigger_locks;
mod used_tables;
pub(crate) mod variables;
mod views;
pub(crate) mod xa;

use std::borrow::Cow;
use std::sync::Arc;

use crate::catalog::UserAtHost;
use crate::catalog::metadata_lock;
use crate::client_text;
use crate::executor;
use crate::instance::{Instance, Kill, Process, SessionHandles};
use crate::planner::plan::CachedPlan;
use crate::spill::Purpose;
use crate::spill::queue::RecordQueue;
use crate::statement_class;
use crate::statement_digests::{StatementDigests, StatementOutcome, TallyCache};
use crate::statement_log;
use crate::status::Counter;
use crate::variables::{SessionVariables, ids};
use datum::bounds::parse_options;
use datum::error::{self, Naming, Result, SqlError};
use datum::sink::{OkInfo, ResultSink, StateChange, status_flag};
use datum::types::{Charset, Collation};
use datum::value::Datum;
use deadline::Deadline;
use statement_cache::{Noted, StatementCache};
use syntax::ast::{Statement, StatementKind};
use syntax::versioned::{self, Executed};
use syntax::{ParseOptions, Parser};

pub(crate) use context::read_locks::ReadLocks;
pub(crate) use context::{
    Context, Examined, OutOfRange, ParameterTargets, StatementStatus, UserVariables, statement_memory_max,
};
pub use pending_reply::PendingReply;
pub use prepared::Parameter;

/// Bytes of a text whose tree is given back behind the reply.
const LARGE_TEXT: usize = 1 << 20;

/// What a connection's TLS is like, for SHOW STATUS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TlsSession {
    /// `Ssl_version`
    pub version: &'static str,
    /// `Ssl_cipher`
    pub cipher: &'static str,
    /// An earlier TLS session was resumed.
    pub resumed: bool,
}

/// What is known of a client when it has authenticated.
pub struct Connection {
    /// The id, as the handshake sent it: from [`Instance::reserve_id`].
    pub id: u64,
    /// The name that the client gave.
    pub user: String,
    /// Where it comes from: `localhost`, or an address.
    pub host: String,
    /// The account that it was authenticated as.
    pub account: UserAtHost,
    /// True if the account has a password, so that the client has given it.
    pub with_password: bool,
    /// The database to use, if the client named one.
    pub database: Option<String>,
    /// The collation id of the client's character set.
    pub collation: u16,
    /// What TLS is like on it, if it has TLS.
    pub tls: Option<TlsSession>,
    /// CLIENT_FOUND_ROWS: UPDATE counts matched rows.
    pub found_rows: bool,
    /// CLIENT_MULTI_STATEMENTS: a text may hold several statements.
    pub multi_statements: bool,
    /// CLIENT_MULTI_RESULTS: a CALL may have several results.
    pub multi_results: bool,
    /// The server's own start runs it, before there are clients: `read_only` and `super_read_only`
    /// do not bind it.
    pub is_startup: bool,
    /// Called from another thread when someone kills this session, after its interrupt flag was
    /// set. For [`Kill::Connection`] it should wake a read that waits for the next command.
    pub on_kill: Box<dyn Fn(Kill) + Send + Sync>,
}

impl Connection {
    /// One of `user` from this machine, without a password and what clients may ask for.
    pub fn local(id: u64, user: &str) -> Connection {
        Connection {
            id,
            user: user.to_owned(),
            host: "localhost".to_owned(),
            account: UserAtHost::new(user, "localhost"),
            with_password: false,
            database: None,
            collation: Collation::UTF8MB4_0900_AI_CI.0,
            tls: None,
            found_rows: false,
            multi_statements: false,
            multi_results: true,
            is_startup: false,
            on_kill: Box::new(|_| {}),
        }
    }
}

/// One client's state. Dropping it rolls back what is open.
pub struct Session {
    cx: Context,
    cache: StatementCache,
    process: Arc<Process>,
    collation: Collation,
    multi_statements: bool,
    /// RELEASE: the connection is to be closed.
    released: bool,
    interactive: bool,
    /// Replies that have to wait may be left to others.
    may_defer_reply: bool,
    /// What runs is a prepared statement.
    executes_prepared: bool,
    /// The tallies of statements that are not cached.
    digests_found: TallyCache,
}

impl Session {
    pub(crate) fn new(instance: Arc<Instance>, connection: Connection) -> Result<Self> {
        let mut cx = Context::new(instance.clone(), &connection);
        let collation = Collation::by_id(connection.collation).unwrap_or(Collation::UTF8MB4_0900_AI_CI);
        variables::put_charsets(&mut cx, collation.charset(), collation);
        cx.set_default_database(None);
        let user = UserAtHost::new(connection.user, connection.host);
        let handles = SessionHandles {
            interrupt: cx.interrupt.clone(),
            transaction: cx.transactions.published.clone(),
            user_variables: cx.settings.shared_user_variables().clone(),
            events: cx.statistics.events.clone(),
        };
        let process = Process::new(connection.id, user, connection.account, handles, connection.on_kill);
        let process = Arc::new(process);
        instance.register(process.clone())?;
        let mut session = Session {
            cx,
            cache: StatementCache::default(),
            process,
            collation,
            multi_statements: connection.multi_statements,
            released: false,
            interactive: false,
            may_defer_reply: false,
            executes_prepared: false,
            digests_found: TallyCache::default(),
        };
        if let Some(name) = connection.database.filter(|name| !name.is_empty()) {
            session.use_database(&name)?;
        }
        session.log_connect();
        Ok(session)
    }

    fn log_connect(&self) {
        let logs = self.cx.instance.statement_logs();
        if logs.enabled() & statement_log::GENERAL == 0 {
            return;
        }
        let user = &self.cx.connection.user;
        let way = if self.cx.connection.tls.is_some() { " using SSL/TLS" } else { "" };
        let database = self.cx.default_database().unwrap_or_default();
        logs.command(&self.cx, "Connect", format!("{user} on {database}{way}").as_bytes());
    }

    /// A command that is no statement, for the general log.
    pub fn log_command(&self, command: &'static str, text: &[u8]) {
        self.cx.instance.statement_logs().command(&self.cx, command, text);
    }

    /// The connection's id.
    pub fn id(&self) -> u64 {
        self.cx.connection.id
    }

    /// Runs the statements of `text`, one after the other, until one fails.
    pub fn execute(&mut self, text: &[u8], sink: &mut dyn ResultSink) -> Result<()> {
        // Who runs statements without a server waits for no reply.
        stdx::memory::release_deferred();
        let text = without_terminator(text);
        let shown = client_text::to_utf8_lossy(text, self.cx.settings.client_charset());
        self.cx.interrupt.statement_begins();
        self.process.begin(&shown, self.cx.instance.env().monotonic_coarse());
        let outcome = self.statements(text, sink);
        self.process.end(self.cx.instance.env().monotonic_coarse(), self.cx.default_database());
        self.cx.interrupt.statement_ended();
        outcome
    }

    fn statements(&mut self, text: &[u8], sink: &mut dyn ResultSink) -> Result<()> {
        let mut at = 0;
        // Where the bytes that are not ASCII end: looked for once for all statements, and only if
        // it matters.
        let mut ascii_from = None;
        let mut bounded = None;
        let find_ascii = || text.iter().rposition(|byte| !byte.is_ascii()).map_or(0, |last| last + 1);
        loop {
            // The settings may change from statement to statement, and the parser goes by them.
            drop(bounded.take());
            bounded = Some(self.cx.begin_bounds());
            let sql_mode = self.cx.settings.variables().uint(ids::SQL_MODE);
            let client = self.cx.settings.client_charset();
            let rest = &text[at..];
            if at > 0 {
                self.process.show(rest);
            }
            let converted =
                client != client.of_statements() && at < *ascii_from.get_or_insert_with(find_ascii);
            // A cached statement is found by the client's bytes, which mean something else in
            // another character set.
            let key = if converted { None } else { StatementCache::key(rest, sql_mode) };
            if let Some(parsed) = key.and_then(|key| self.cache.find(key, rest)).cloned() {
                return self.run_cached_statement(&parsed, false, sink);
            }
            self.cx.statement.cached_plan = None;
            let options = ParseOptions { from_client: true, ..parse_options(sql_mode) };
            let (own, converted_end) = match converted {
                true => {
                    let end = first_statement(rest, &options);
                    match client_text::to_utf8(&rest[..end], client, sql_mode) {
                        Ok(own) => (own, Some(end)),
                        Err(e) => return self.fail(e.into()),
                    }
                }
                false => (Cow::Borrowed(rest), None),
            };
            let mut parser = Parser::new(&own, &options);
            let parsed = parser.next_statement().map_err(SqlError::from);
            let end = converted_end.unwrap_or_else(|| parser.position());
            let last = rest[end..].iter().all(|b| b.is_ascii_whitespace() || *b == b';');
            let statement = match parsed {
                Ok(Some(statement)) if statement.parameters > 0 => {
                    // Outside of a prepared statement `?` is no expression.
                    let sign = own.iter().position(|&b| b == b'?').unwrap_or(0);
                    return self.fail(syntax_error(&String::from_utf8_lossy(&own[sign..])));
                }
                Ok(Some(statement)) if last || self.multi_statements => statement,
                Ok(Some(_)) => {
                    let near = client_text::to_utf8_lossy(&rest[end..], client);
                    let near = String::from_utf8_lossy(&near).trim().to_owned();
                    return self.fail(syntax_error(&near));
                }
                Ok(None) if has_comment(rest) => return self.nothing(sink),
                Ok(None) => return self.fail(error::EMPTY_QUERY.plain()),
                Err(e) => return self.fail(e),
            };
            if let (Some(key), true) = (key, last && statement_class::can_be_cached(&statement.kind)) {
                return match self.cache.note(key, rest, statement) {
                    Noted::Cached(parsed) => self.run_cached_statement(&parsed, false, sink),
                    Noted::Seen(statement) => self.statement(&statement, rest, None, false, sink),
                };
            }
            let statement = stdx::memory::Unfinished::new(statement);
            if !last {
                self.process.show(statement.span.of(&own));
            }
            let of_statement = if converted { &own[..] } else { &own[..end] };
            let kept = program_text(&statement.kind, of_statement, sql_mode);
            let outcome = self.statement(&statement, kept.as_deref().unwrap_or(&own), None, !last, sink);
            if last && rest.len() >= LARGE_TEXT {
                // The reply goes out before a tree of millions of small blocks is given back.
                stdx::memory::defer_releases();
            }
            outcome?;
            if last {
                return Ok(());
            }
            at += end;
        }
    }

    /// A text of comments is a statement that does nothing: the `mysql` client sends those that it
    /// reads.
    fn nothing(&mut self, sink: &mut dyn ResultSink) -> Result<()> {
        self.cx.statement.diagnostics.clear();
        self.cx.statement.status = StatementStatus {
            last_insert_id: self.cx.statement.status.last_insert_id,
            ..StatementStatus::default()
        };
        let ok = self.ok(false);
        sink.finish(&ok).map_err(client_gone)
    }

    /// A statement that could not even begin.
    fn fail<T>(&mut self, e: SqlError) -> Result<T> {
        self.cx.statement.diagnostics.clear();
        self.cx.statement.diagnostics.fail(&e);
        self.cx.statement.status.row_count = -1;
        Err(e)
    }

    /// Runs a cached statement, by the plan of its last execution if that is still good.
    fn run_cached_statement(
        &mut self,
        parsed: &prepared::Parsed,
        more: bool,
        sink: &mut dyn ResultSink,
    ) -> Result<()> {
        // What a plan calls is noted when it is made.
        let cached = match self.cx.tracker.transactions.is_on() {
            true => CachedPlan::default(),
            false => std::mem::take(&mut *parsed.cached_plan.lock()),
        };
        self.cx.statement.cached_plan = Some(cached);
        let outcome = self.statement(&parsed.statement, &parsed.text, Some(parsed), more, sink);
        *parsed.cached_plan.lock() = self.cx.statement.cached_plan.take().unwrap_or_default();
        outcome
    }

    fn statement(
        &mut self,
        statement: &Statement,
        text: &[u8],
        parsed: Option<&prepared::Parsed>,
        more: bool,
        sink: &mut dyn ResultSink,
    ) -> Result<()> {
        if let StatementKind::Execute { name, using } = &statement.kind {
            let own = statement.span.of(text);
            self.cx.instance.statement_logs().command(&self.cx, "Query", own);
            return self.execute_named(name, using, more, sink);
        }
        let sql_mode = self.cx.settings.variables().uint(ids::SQL_MODE);
        let own = statement.span.of(text);
        let shown = statement_log::hidden(&statement.kind, own, sql_mode);
        if let Cow::Owned(shown) = &shown {
            self.process.show(shown);
        }
        let digests = self.cx.instance.statement_digests();
        if !digests.is_on() {
            return self.uncounted_statement(statement, text, more, sink);
        }
        let tally = match parsed {
            Some(parsed) => digests.of_cached(&self.cx, &mut parsed.tally.lock(), own, sql_mode),
            None => digests.of_text(&self.cx, &mut self.digests_found, own, sql_mode),
        };
        let executed = self.executes_prepared.then_some(match self.cx.statement.executed_by {
            "EXECUTE" => "statement/sql/execute_sql",
            _ => "statement/com/Execute",
        });
        let begun = StatementDigests::begin(&self.cx);
        let mut counted = statement_log::Counted { sink, rows: 0 };
        let outcome = self.uncounted_statement(statement, text, more, &mut counted);
        let ended = StatementOutcome { executed, rows_sent: counted.rows, error: outcome.as_ref().err() };
        begun.end(&self.cx, &tally, &shown, &statement.kind, ended);
        outcome
    }

    fn uncounted_statement(
        &mut self,
        statement: &Statement,
        text: &[u8],
        more: bool,
        sink: &mut dyn ResultSink,
    ) -> Result<()> {
        match self.cx.instance.statement_logs().enabled() {
            0 => self.unlogged_statement(statement, text, more, sink),
            logs => self.logged_statement(logs, statement, text, more, sink),
        }
    }

    /// For the general log and the slow query log.
    fn logged_statement(
        &mut self,
        logs: u8,
        statement: &Statement,
        text: &[u8],
        more: bool,
        sink: &mut dyn ResultSink,
    ) -> Result<()> {
        let sql_mode = self.cx.settings.variables().uint(ids::SQL_MODE);
        let own = statement.span.of(text);
        let (command, own) = match self.executes_prepared {
            true => {
                let len_max = self.cx.settings.max_allowed_packet();
                (
                    "Execute",
                    statement_log::with_parameters(own, &self.cx.statement.parameters, sql_mode, len_max),
                )
            }
            false => ("Query", Cow::Borrowed(own)),
        };
        let own = statement_log::hidden(&statement.kind, &own, sql_mode);
        self.cx.instance.statement_logs().command(&self.cx, command, &own);
        if logs & statement_log::SLOW == 0 {
            return self.unlogged_statement(statement, text, more, sink);
        }
        let timing = statement_log::Timing::begin(&self.cx);
        let mut counted = statement_log::Counted { sink, rows: 0 };
        let outcome = self.unlogged_statement(statement, text, more, &mut counted);
        timing.end(&self.cx, &statement.kind, &own, counted.rows);
        outcome
    }

    fn unlogged_statement(
        &mut self,
        statement: &Statement,
        text: &[u8],
        more: bool,
        sink: &mut dyn ResultSink,
    ) -> Result<()> {
        let cx = &mut self.cx;
        assert!(
            cx.log.pending_reply.is_none(),
            "L1 of pending_reply.rs: a statement runs once the one before is complete"
        );
        cx.begin_client_statement(&statement.kind);
        cx.count(Counter::Questions);
        let remarks = &statement.remarks;
        remarks
            .list
            .iter()
            .for_each(|remark| cx.statement.diagnostics.warn(datum::error::remark::warning(remark)));
        let before = if remarks.hints.is_empty() { None } else { hints::apply(cx, &remarks.hints) };
        cx.tracker.statement_begins();
        cx.set_may_defer_reply(self.may_defer_reply && !more, &statement.kind);
        let deadline = self.deadline(statement);
        let outcome = self.run(statement, text, sink);
        let outcome = self.end_deadline(deadline, outcome);
        let cx = &mut self.cx;
        let outcome = finish_transaction(cx, outcome);
        cx.statement.end();
        hints::restore(cx, before);
        match outcome {
            Ok(done) => {
                let cx = &mut self.cx;
                cx.statement.set_row_count(&statement.kind, done.has_rows);
                self.released |= done.release;
                let ended =
                    !cx.transactions.is_explicit() && !matches!(statement.kind, StatementKind::Rollback(_));
                cx.tracker.statement_ends(done.has_rows, ended);
                let mut ok = self.ok(more);
                if let StatementKind::DropDatabase { .. } = statement.kind {
                    ok.status |= status_flag::DB_DROPPED;
                }
                if statement_class::keeps_diagnostics(&statement.kind) {
                    ok.warnings = 0; // those it showed are not its own
                }
                sink.finish(&ok).map_err(client_gone)
            }
            Err(e) => {
                self.cx.statement.status.row_count = -1;
                if !e.is(error::GET_STACKED_DA_WITHOUT_ACTIVE_HANDLER) {
                    self.cx.statement.diagnostics.fail(&e);
                }
                Err(e)
            }
        }
    }

    /// `max_execution_time` and the hint of that name, which are for queries only.
    fn deadline(&self, statement: &Statement) -> Option<Deadline> {
        let hinted = hints::time_limit(&statement.remarks.hints).filter(|limit| !limit.is_zero());
        let limit = hinted.unwrap_or(self.cx.settings.decoded().max_execution_time);
        let instance = &self.cx.instance;
        let limited = !limit.is_zero() && matches!(statement.kind, StatementKind::Query(_));
        limited.then(|| instance.deadlines().set(instance.env(), &self.cx.interrupt, limit))
    }

    /// A statement that was interrupted because its time was over says so.
    fn end_deadline<T>(&self, deadline: Option<Deadline>, outcome: Result<T>) -> Result<T> {
        let passed = deadline.is_some_and(|d| d.has_passed());
        if !passed {
            return outcome;
        }
        self.cx.interrupt.statement_ended();
        outcome.map_err(|e| if e.is(error::QUERY_INTERRUPTED) { error::QUERY_TIMEOUT.plain() } else { e })
    }

    /// The statements about prepared statements are the session's own; all others are the
    /// executor's.
    fn run(
        &mut self,
        statement: &Statement,
        text: &[u8],
        sink: &mut dyn ResultSink,
    ) -> Result<executor::Done> {
        match &statement.kind {
            StatementKind::Prepare { name, source } => {
                self.cx.prepare_named(name, source)?;
                self.cx.statement.status.info.push_str("Statement prepared");
            }
            StatementKind::Deallocate(name) => self.cx.deallocate(name)?,
            _ => return executor::execute(&mut self.cx, statement, text, sink),
        }
        Ok(executor::Done::default())
    }

    fn ok(&mut self, more: bool) -> OkInfo<'_> {
        let changes = self.take_changes();
        let status = &self.cx.statement.status;
        OkInfo {
            affected_rows: status.affected,
            last_insert_id: status.insert_id,
            status: self.status() | if more { status_flag::MORE_RESULTS_EXISTS } else { 0 },
            warnings: self.cx.statement.diagnostics.warning_count().min(u16::MAX.into()) as u16,
            info: Cow::Borrowed(&status.info),
            changes,
        }
    }

    /// From here on the caller asks for [`Session::take_pending_reply`] after each command, before
    /// the reply is sent.
    pub fn allow_deferred_replies(&mut self) {
        self.may_defer_reply = true;
    }

    /// What the reply to the command that was just executed waits for, if that was left to the
    /// caller: what was written to the sink holds once it is complete, and the session may run
    /// nothing before.
    pub fn take_pending_reply(&mut self) -> Option<PendingReply> {
        self.cx.log.pending_reply.take()
    }

    /// CLIENT_SESSION_TRACK: the client wants to know what its statements change in the session.
    pub fn set_tracking(&mut self, on: bool) {
        self.cx.switch_tracking(on);
    }

    /// What changed in the session and the client was not yet notified of.
    pub fn take_changes(&mut self) -> Vec<StateChange> {
        tracking::take_changes(&mut self.cx)
    }

    pub(crate) fn use_database(&mut self, name: &str) -> Result<()> {
        executor::use_database(&mut self.cx, name)
    }

    /// COM_INIT_DB: the name comes in the client's character set.
    pub fn use_database_of_client(&mut self, name: &[u8]) -> Result<()> {
        let name = client_text::to_utf8_lossy(name, self.cx.settings.client_charset());
        self.log_command("Init DB", &name);
        self.use_database(&String::from_utf8_lossy(&name))
    }

    /// `character_set_results`; `None` if results are sent as they are.
    pub fn results_charset(&self) -> Option<Charset> {
        self.cx.settings.results_charset()
    }

    /// COM_RESET_CONNECTION: rolls back, and makes everything as it was right after the connect.
    pub fn reset(&mut self) -> Result<()> {
        self.cx.end_branch();
        self.cx.rollback();
        self.cx.forget_gtid();
        self.cx.drop_all_temporary();
        self.cx.forget_all_locks();
        self.cx.release_named_locks();
        let globals = self.cx.instance.globals().clone();
        self.cx.change_variables(|v| *v = SessionVariables::new(&globals));
        variables::put_charsets(&mut self.cx, self.collation.charset(), self.collation);
        let database = self.cx.default_database().map(str::to_owned);
        self.cx.set_default_database(database);
        self.cx.settings.clear_user_variables();
        self.cx.prepared.clear();
        self.cx.transactions.next = transaction::Characteristics::default();
        self.cx.statement.status = StatementStatus::default();
        self.cx.statement.diagnostics.clear();
        self.set_interactive(self.interactive);
        Ok(())
    }

    /// CLIENT_INTERACTIVE: the session's `wait_timeout` starts as `interactive_timeout`.
    pub fn set_interactive(&mut self, interactive: bool) {
        self.interactive = interactive;
        if interactive {
            let idle = self.cx.settings.variables().get(ids::INTERACTIVE_TIMEOUT).clone();
            self.cx.change_variables(|v| v.put(ids::WAIT_TIMEOUT, idle));
        }
    }

    /// Error 1227 unless the account has the privilege, a static or a dynamic one, for everything.
    pub fn need_privilege(&mut self, privilege: &str) -> Result<()> {
        self.cx.grants();
        self.cx.need_privilege(privilege)
    }

    /// COM_SET_OPTION.
    pub fn set_multi_statements(&mut self, on: bool) {
        self.multi_statements = on;
    }

    /// Status flags for a packet that is no statement's.
    pub fn status(&self) -> u16 {
        self.cx.server_status()
    }

    /// True once someone killed the connection, or it released itself: the server closes it.
    pub fn is_killed(&self) -> bool {
        self.released || self.cx.interrupt.killed() == Some(storage::lock::Killed::Connection)
    }

    /// What SET SESSION changes; a new session has the global values.
    pub fn variables(&self) -> &SessionVariables {
        self.cx.settings.variables()
    }

    /// Changes whenever a variable of the session may have changed.
    pub fn settings_version(&self) -> u64 {
        self.cx.settings.version()
    }

    /// A user variable's value; NULL if it was never set. `name` is without `@`.
    pub fn user_variable(&self, name: &str) -> Datum<'static> {
        self.cx.settings.user_variable(name)
    }

    /// What keeps the rows of a cursor: in memory, and beyond `tmp_table_size` in a temporary file.
    pub fn row_queue(&self) -> RecordQueue {
        RecordQueue::new(self.cx.budget(Purpose::Table))
    }

    /// Counts what this session does into `counters` from now on.
    pub fn set_counters(&mut self, counters: Arc<crate::status::Counters>) {
        self.cx.statistics.counters = counters;
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.cx.end_branch();
        self.cx.rollback();
        self.cx.forget_gtid();
        self.cx.drop_all_temporary();
        self.cx.release_named_locks();
        self.cx.instance.unregister(&self.process);
        stdx::memory::release_deferred();
    }
}

impl Context {
    /// What the protocol says of the session in each reply.
    pub(crate) fn server_status(&self) -> u16 {
        let mut flags = 0;
        if self.settings.autocommit() {
            flags |= status_flag::AUTOCOMMIT;
        }
        if let Some(open) = self.transactions.open.as_ref().filter(|t| t.explicit) {
            flags |= status_flag::IN_TRANS;
            if open.read_only {
                flags |= status_flag::IN_TRANS_READONLY;
            }
        }
        if self.settings.modes().no_backslash_escapes {
            flags |= status_flag::NO_BACKSLASH_ESCAPES;
        }
        flags
    }
}

/// Commits or takes back what the statement did, unless the transaction goes on after it.
pub(crate) fn finish_transaction<T>(cx: &mut Context, outcome: Result<T>) -> Result<T> {
    let Some(open) = &cx.transactions.open else { return outcome };
    let ends = |e: &SqlError| {
        let timeout = e.is(error::LOCK_WAIT_TIMEOUT);
        e.ends_transaction() || (timeout && cx.instance.globals().bool(ids::INNODB_ROLLBACK_ON_TIMEOUT))
    };
    let lost = open.storage_transaction.must_roll_back() || outcome.as_ref().is_err_and(ends);
    match outcome {
        Err(e) if lost || !open.explicit => {
            cx.rollback();
            cx.branch_lost();
            Err(e)
        }
        Ok(done) if !open.explicit => {
            // A commit that could not even begin leaves the transaction open.
            cx.commit_or_defer().inspect_err(|_| cx.rollback())?;
            Ok(done)
        }
        Ok(done) => {
            cx.await_or_defer_reads()?;
            cx.forget_unused();
            Ok(done)
        }
        failed => failed,
    }
}

/// Where the first statement of a text ends whose character set is not UTF-8; the text's end if it
/// can't be parsed.
fn first_statement(text: &[u8], options: &ParseOptions) -> usize {
    let decode_name = |bytes: &[u8]| Some(bytes.escape_ascii().to_string());
    let options = ParseOptions { decode_name, from_client: false, ..*options };
    let mut parser = Parser::new(text, &options);
    match parser.next_statement() {
        Ok(_) => parser.position(),
        Err(_) => text.len(),
    }
}

/// The text of a definition whose body is kept, if it has comments that other servers take for
/// text: the same without them, in as many bytes.
pub(crate) fn program_text(kind: &StatementKind, text: &[u8], sql_mode: u64) -> Option<Vec<u8>> {
    use StatementKind as S;
    let keeps_body =
        matches!(kind, S::CreateRoutine(_) | S::CreateTrigger(_) | S::CreateEvent(_) | S::AlterEvent(_));
    keeps_body.then(|| versioned::same_everywhere(text, sql_mode, Executed::Kept)).flatten()
}

/// A text may end with a NUL byte, which some clients send with their strings (`mysqlslap` does),
/// and be followed by blanks. One such byte ends it; a second one, or one in the middle, is a
/// character that no statement has.
pub(crate) fn without_terminator(text: &[u8]) -> &[u8] {
    let is_filler = |b: &u8| b.is_ascii_whitespace() || *b == b';';
    let end = text.iter().rposition(|b| !is_filler(b)).unwrap_or(0);
    if text.get(end) == Some(&0) { &text[..end] } else { text }
}

/// Where there is no statement, what is not space is a comment.
fn has_comment(text: &[u8]) -> bool {
    text.iter().any(|b| !b.is_ascii_whitespace() && *b != b';')
}

/// Error 1064 at `near`.
pub(crate) fn syntax_error(near: &str) -> SqlError {
    let near: String = near.trim_start_matches(';').trim_start().chars().take(80).collect();
    let what = "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server \
                version for the right syntax to use";
    error::PARSE_ERROR.with(&[&what, &near, &1])
}

/// The client does not read any more, or its rows cannot be kept for it, which an [`SqlError`]
/// inside says: the statement ends.
pub(crate) fn client_gone(e: std::io::Error) -> SqlError {
    if let Some(e) = e.get_ref().and_then(|e| e.downcast_ref::<SqlError>()) {
        return e.clone();
    }
    SqlError {
        number: 1160,
        sqlstate: *b"08S01",
        naming: Naming::Complete,
        message: format!("Got an error writing communication packets ({e})"),
    }
}

/// Exclusive locks of the tables and views that a DDL statement changes.
pub(crate) fn lock_tables(
    cx: &Context,
    tables: Vec<Arc<crate::catalog::TableDef>>,
    views: Vec<Arc<crate::catalog::ViewDef>>,
) -> Result<Vec<metadata_lock::Guard>> {
    cx.lock_definitions(&tables, &views)
}
