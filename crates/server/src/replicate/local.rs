//! The database that becomes the copy, in this process and without a listener: nobody else writes
//! to it.

use crate::database;
use crate::datadir::Datadir;
use crate::log_tool::ToolError;
use crate::options::Options;
use crate::remote::Runs;
use crate::stop::Stop;
use env::Env;
use protocol::client::Row;
use sql::variables::ids;
use sql::{ColumnMeta, Connection, Datum, Instance, OkInfo, ResultSink, Session, SqlError};
use std::io;
use std::sync::Arc;

/// The stack that statements have, in bytes: that of a session of the largest `thread_stack`.
const STACK: usize = 64 << 20;

/// So many bytes of a statement are shown with its error.
const SHOWN_MAX: usize = 200;

/// An open data directory.
pub(super) struct Local {
    instance: Arc<Instance>,
    datadir: Datadir,
}

impl Local {
    /// Opens or makes it.
    ///
    /// # Errors
    /// Those of a server's start.
    pub(super) fn open(env: &Arc<dyn Env>, options: &Options) -> Result<Self, ToolError> {
        let refused = |e: &dyn std::fmt::Display| ToolError::Refused(e.to_string());
        let datadir = Datadir::open(env.clone(), &options.path(ids::DATADIR), &options.path(ids::PID_FILE))
            .map_err(|e| refused(&e))?;
        let instance = database::open(env, options, &datadir, &Arc::default(), &Stop::default())
            .map_err(|e| refused(&e))?;
        datadir.record_database().map_err(|e| refused(&e))?;
        Ok(Self { instance, datadir })
    }

    pub(super) fn server_uuid(&self) -> &str {
        self.datadir.server_uuid()
    }

    /// A session that takes rows as they are in the source.
    ///
    /// # Errors
    /// The database's.
    pub(super) fn session(&self) -> Result<LocalSession, ToolError> {
        let connection = Connection::local(self.instance.reserve_id(), "root");
        let session = self.instance.connect(connection).map_err(|e| ToolError::Refused(e.to_string()))?;
        let mut session = LocalSession { session };
        session.settings()?;
        Ok(session)
    }

    /// Runs with a session on a thread whose stack carries what statements need.
    ///
    /// # Errors
    /// Those of `work`.
    pub(super) fn with_session<T: Send>(
        &self,
        work: impl FnOnce(&mut LocalSession) -> Result<T, ToolError> + Send,
    ) -> Result<T, ToolError> {
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().name("replicate".into()).stack_size(STACK);
            let thread = thread.spawn_scoped(scope, || {
                stdx::stack::begin(STACK);
                work(&mut self.session()?)
            });
            let thread = thread.map_err(|e| ToolError::Refused(format!("no thread: {e}")))?;
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// Checkpoints the tables and closes the log.
    ///
    /// # Errors
    /// The database's.
    pub(super) fn close(self) -> Result<(), ToolError> {
        database::close(&self.instance).map_err(|e| ToolError::Refused(e.to_string()))
    }
}

/// A session of the administrator.
pub(super) struct LocalSession {
    session: Session,
}

impl LocalSession {
    /// Settings under which values are stored as they are written.
    fn settings(&mut self) -> Result<(), ToolError> {
        for sql in [
            "SET NAMES utf8mb4",
            "SET SESSION time_zone = '+00:00'",
            "SET SESSION sql_mode = 'NO_AUTO_VALUE_ON_ZERO,NO_BACKSLASH_ESCAPES'",
            "SET SESSION foreign_key_checks = 0",
            "SET SESSION unique_checks = 0",
        ] {
            self.run(sql)?;
        }
        Ok(())
    }

    /// From now on it takes definitions, in any order, as a server shows them: with backslashes as
    /// escapes.
    ///
    /// # Errors
    /// The database's.
    pub(super) fn takes_definitions(&mut self) -> Result<(), ToolError> {
        self.settings()?;
        self.run("SET SESSION sql_mode = ''")
    }

    /// Runs a statement.
    ///
    /// # Errors
    /// The database's, with the statement's beginning.
    pub(super) fn run(&mut self, sql: &str) -> Result<(), ToolError> {
        self.rows(sql).map(drop)
    }

    /// The same, again if it was the victim of a deadlock with another session of ours.
    ///
    /// # Errors
    /// As [`LocalSession::run`].
    pub(super) fn run_again(&mut self, sql: &str) -> Result<(), ToolError> {
        const TRIES: u32 = 20;
        for _ in 1..TRIES {
            match self.try_run(sql) {
                Err(e) if e.is(datum::error::LOCK_DEADLOCK) => {}
                outcome => return outcome.map_err(|e| refused(&e, sql)),
            }
        }
        self.run(sql)
    }

    /// The same, with the error as it is.
    ///
    /// # Errors
    /// The database's.
    pub(super) fn try_run(&mut self, sql: &str) -> Result<(), SqlError> {
        let mut ignore = |_: Row| Ok(());
        let mut rows = Rows { each: &mut ignore, failed: None };
        self.session.execute(sql.as_bytes(), &mut rows)
    }
}

impl Runs for LocalSession {
    fn each_row(
        &mut self,
        sql: &str,
        each: &mut dyn FnMut(Row) -> Result<(), ToolError>,
    ) -> Result<(), ToolError> {
        let mut rows = Rows { each, failed: None };
        let outcome = self.session.execute(sql.as_bytes(), &mut rows);
        if let Some(failed) = rows.failed {
            return Err(failed);
        }
        outcome.map_err(|e| refused(&e, sql))
    }
}

/// An error with the statement's beginning.
fn refused(e: &SqlError, sql: &str) -> ToolError {
    let shown = &sql[..sql.floor_char_boundary(SHOWN_MAX)];
    ToolError::Refused(format!("{}: {} ({shown})", e.number, e.message))
}

/// Hands on what a statement returns.
struct Rows<'a> {
    each: &'a mut dyn FnMut(Row) -> Result<(), ToolError>,
    failed: Option<ToolError>,
}

impl ResultSink for Rows<'_> {
    fn columns(&mut self, _: &[ColumnMeta]) -> io::Result<()> {
        Ok(())
    }

    fn row(&mut self, values: &[Datum<'_>]) -> io::Result<()> {
        let cell = |datum: &Datum<'_>| (!datum.is_null()).then(|| datum.to_bytes().into_owned());
        match (self.each)(values.iter().map(cell).collect()) {
            Ok(()) => Ok(()),
            Err(e) => {
                self.failed = Some(e);
                Err(io::Error::other("the rows are not wanted"))
            }
        }
    }

    fn finish(&mut self, _: &OkInfo<'_>) -> io::Result<()> {
        Ok(())
    }
}
