//! The general log and the slow query log: statements as they come, and those that took long.
//!
//! 1. ask     Each statement loads one number ([`StatementLogs::enabled`]); 0 is all that there is
//!    to it while both logs are off.
//! 2. text    What a statement says of passwords becomes `<secret>` ([`secrets`]).
//! 3. write   A line goes to the log's file, a row to the log's table in memory, or both, as
//!    `log_output` says.
//!
//! (Q1) A log that can't be written stops no statement: the error log says so once, until a write
//!      succeeds again.
//! (Q2) The tables `mysql.general_log` and `mysql.slow_log` are in memory and bounded: the oldest
//!      rows go. They are neither in the binary log nor kept over a restart. See
//!      `docs/decisions/2026-11-23-general-and-slow-log-storage.md`.
//! (Q3) A file's latch is held while a line is written, and by nobody who does anything else
//!      meanwhile.

mod parameters;
mod secrets;
mod sink;
mod variables;

pub(crate) use parameters::with_parameters;
pub(crate) use secrets::hidden;
pub(crate) use sink::LogRow;
pub use variables::may_be_statement_log;

use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use std::time::Duration;

use env::Env;

use crate::catalog::UserAtHost;
use crate::session::{Context, Examined};
use crate::status::Counter;
use crate::variables::{GlobalVariables, Value, ids};
use datum::sink::{ColumnMeta, OkInfo, ResultSink};
use datum::value::Datum;
use sink::LogSink;
use syntax::ast::StatementKind;

/// A bit of [`StatementLogs::enabled`]: statements go to the general log.
pub(crate) const GENERAL: u8 = 1;
/// Another: statements that take long go to the slow query log.
pub(crate) const SLOW: u8 = 2;

/// Both logs of a server.
pub(crate) struct StatementLogs {
    env: Arc<dyn Env>,
    globals: Arc<GlobalVariables>,
    /// [`GENERAL`] and [`SLOW`]. Relaxed: a statement that begins while a log is turned on may miss
    /// it.
    enabled: AtomicU8,
    general: LogSink,
    slow: LogSink,
}

impl StatementLogs {
    /// As the variables say now; [`StatementLogs::follow`] keeps it so.
    pub(crate) fn new(env: Arc<dyn Env>, globals: Arc<GlobalVariables>, datadir: &Path) -> Arc<Self> {
        let sink = |name| LogSink::new(env.clone(), datadir, name);
        let (general, slow) = (sink("general log"), sink("slow query log"));
        general.set_path(&globals.text(ids::GENERAL_LOG_FILE));
        slow.set_path(&globals.text(ids::SLOW_QUERY_LOG_FILE));
        let logs = Arc::new(Self { env, globals, enabled: AtomicU8::new(0), general, slow });
        let on = |id| logs.globals.bool(id);
        logs.switch(on(ids::GENERAL_LOG), on(ids::SLOW_QUERY_LOG), logs.globals.uint(ids::LOG_OUTPUT));
        logs
    }

    fn switch(&self, general: bool, slow: bool, output: u64) {
        let goes_anywhere = output & variables::NONE == 0;
        let bit = |on: bool, bit: u8| if on && goes_anywhere { bit } else { 0 };
        self.enabled.store(bit(general, GENERAL) | bit(slow, SLOW), Relaxed);
    }

    /// Which logs are on.
    pub(crate) fn enabled(&self) -> u8 {
        self.enabled.load(Relaxed)
    }

    /// The rows of `mysql.general_log`, oldest first.
    pub(crate) fn general_rows(&self) -> Vec<Arc<LogRow>> {
        self.general.rows()
    }

    /// The rows of `mysql.slow_log`, oldest first.
    pub(crate) fn slow_rows(&self) -> Vec<Arc<LogRow>> {
        self.slow.rows()
    }

    /// TRUNCATE of a log's table. False if it is none.
    pub(crate) fn truncate(&self, table: &str) -> bool {
        match table.to_ascii_lowercase().as_str() {
            "general_log" => self.general.clear(),
            "slow_log" => self.slow.clear(),
            _ => return false,
        }
        true
    }

    /// FLUSH GENERAL LOGS: the file is opened again, which may have been renamed.
    pub(crate) fn reopen_general(&self) {
        self.general.close_file();
    }

    /// FLUSH SLOW LOGS.
    pub(crate) fn reopen_slow(&self) {
        self.slow.close_file();
    }

    /// A command of a session, if the general log is on for it.
    pub(crate) fn command(&self, cx: &Context, command: &'static str, text: &[u8]) {
        if self.enabled() & GENERAL == 0 || cx.settings.variables().bool(ids::SQL_LOG_OFF) {
            return;
        }
        let row = LogRow {
            at: self.env.now(),
            user_host: user_host(cx),
            thread: cx.connection.id,
            command,
            text: text.into(),
            ..LogRow::default()
        };
        let row = LogRow { server: self.globals.uint(ids::SERVER_ID), ..row };
        self.general.write(&self.globals, row, LogRow::general_line);
    }

    fn slow_statement(&self, cx: &Context, text: &[u8], timing: &Timing, took: Duration, rows: [u64; 2]) {
        let [rows_sent, rows_examined] = rows;
        let row = LogRow {
            at: self.env.now(),
            began: timing.began,
            user_host: user_host(cx),
            thread: cx.connection.id,
            server: self.globals.uint(ids::SERVER_ID),
            command: "Query",
            took,
            lock_time: storage::lock::waited_by_thread().saturating_sub(timing.waited).min(took),
            rows_sent,
            rows_examined,
            database: cx.default_database().unwrap_or_default().into(),
            last_insert_id: cx.statement.status.last_insert_id,
            insert_id: cx.statement.status.insert_id,
            text: text.into(),
        };
        self.slow.write(&self.globals, row, LogRow::slow_lines);
    }
}

/// When a statement began, and what its session had done by then, for the slow query log.
pub(crate) struct Timing {
    /// The waits for locks of the thread.
    waited: Duration,
    examined: Examined,
    /// By the clock that never goes back.
    start: Duration,
    /// Seconds since 1970.
    began: u64,
}

impl Timing {
    pub(crate) fn begin(cx: &Context) -> Self {
        let env = cx.instance.env();
        let waited = storage::lock::waited_by_thread();
        Self {
            start: env.monotonic(),
            began: env.now() / 1_000_000,
            waited,
            examined: cx.statistics.examined,
        }
    }

    /// The statement has ended, and sent so many rows. As in MySQL statements that administer
    /// tables are logged only where `log_slow_admin_statements` says so.
    pub(crate) fn end(self, cx: &Context, kind: &StatementKind, text: &[u8], rows_sent: u64) {
        use StatementKind as S;
        let took = cx.instance.env().monotonic().saturating_sub(self.start);
        let limit = match cx.settings.variables().get(ids::LONG_QUERY_TIME) {
            Value::Double(seconds) => Duration::try_from_secs_f64(*seconds).unwrap_or(Duration::MAX),
            _ => Duration::MAX,
        };
        let is_slow = took >= limit;
        if is_slow {
            cx.count(Counter::SlowQueries);
        }
        let variables = cx.settings.variables();
        let reads_all = cx.statistics.examined.full_scans > self.examined.full_scans;
        let globals = cx.instance.globals();
        let is_unindexed = || reads_all && globals.bool(ids::LOG_QUERIES_NOT_USING_INDEXES);
        let rows_examined = cx.statistics.examined.rows - self.examined.rows;
        if !is_slow && !is_unindexed() || rows_examined < variables.uint(ids::MIN_EXAMINED_ROW_LIMIT) {
            return;
        }
        let is_administrative =
            matches!(kind, S::AlterTable(_) | S::CreateIndex(_) | S::DropIndex(_) | S::TableMaintenance(_));
        if !is_administrative || globals.bool(ids::LOG_SLOW_ADMIN_STATEMENTS) {
            let rows = [rows_sent, rows_examined];
            cx.instance.statement_logs().slow_statement(cx, text, &self, took, rows);
        }
    }
}

/// `user[account] @ host [address]`
fn user_host(cx: &Context) -> Box<str> {
    let (UserAtHost { user, host: from }, account) = (&cx.connection.user, &cx.connection.account.user);
    let (host, address) = match from.parse::<IpAddr>() {
        Ok(_) => ("", from.as_str()),
        Err(_) => (from.as_str(), ""),
    };
    format!("{user}[{account}] @ {host} [{address}]").into()
}

/// Counts the rows on their way to the client.
pub(crate) struct Counted<'s> {
    pub sink: &'s mut dyn ResultSink,
    pub rows: u64,
}

impl ResultSink for Counted<'_> {
    fn columns(&mut self, columns: &[ColumnMeta]) -> std::io::Result<()> {
        self.sink.columns(columns)
    }

    fn row(&mut self, values: &[Datum<'_>]) -> std::io::Result<()> {
        self.rows += 1;
        self.sink.row(values)
    }

    fn finish(&mut self, ok: &OkInfo<'_>) -> std::io::Result<()> {
        self.sink.finish(ok)
    }

    fn out_parameters(&mut self) {
        self.sink.out_parameters();
    }

    fn request_file(&mut self, name: &[u8]) -> std::io::Result<()> {
        self.sink.request_file(name)
    }

    fn read_file(&mut self, out: &mut Vec<u8>) -> std::io::Result<()> {
        self.sink.read_file(out)
    }
}
