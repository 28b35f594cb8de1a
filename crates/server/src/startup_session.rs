//! Statements that the server's own start runs, as root, before any socket is opened.
//!
//! (S1) They run after the recovery and before semi-synchronous commits wait for replicas, none of
//!      which can connect yet.
//! (S2) `read_only` and `super_read_only` do not bind them: a server that is configured to start
//!      with these is made by them.

use sql::{ColumnMeta, Connection, Datum, Instance, OkInfo, ResultSink, Session};
use std::io;
use std::sync::Arc;

/// The stack that the statements have, in bytes: that of a session of the largest `thread_stack`.
const STACK: usize = 64 << 20;

/// A session of root@localhost that throws results away.
pub(crate) struct StartupSession(Session);

impl StartupSession {
    /// Runs `statements` with a session, on a thread with a session's stack.
    ///
    /// # Errors
    /// What `statements` returns, as text; the system gives no thread.
    pub(crate) fn run(
        database: &Arc<Instance>,
        statements: impl FnOnce(&mut Self) -> Result<(), String> + Send,
    ) -> Result<(), String> {
        let body = || {
            stdx::stack::begin(STACK);
            let connection =
                Connection { is_startup: true, ..Connection::local(database.reserve_id(), "root") };
            let session = database.connect(connection).map_err(|e| e.to_string())?;
            statements(&mut Self(session))
        };
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().name("startup-session".into()).stack_size(STACK);
            let thread = thread.spawn_scoped(scope, body).map_err(|e| e.to_string())?;
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// Runs one statement to its end.
    ///
    /// # Errors
    /// The statement's, as the client would see it.
    pub(crate) fn execute(&mut self, statement: &[u8]) -> Result<(), String> {
        self.0.execute(statement, &mut NoRows).map_err(|e| e.to_string())
    }
}

/// For results that nobody reads.
struct NoRows;

impl ResultSink for NoRows {
    fn columns(&mut self, _: &[ColumnMeta]) -> io::Result<()> {
        Ok(())
    }

    fn row(&mut self, _: &[Datum<'_>]) -> io::Result<()> {
        Ok(())
    }

    fn finish(&mut self, _: &OkInfo<'_>) -> io::Result<()> {
        Ok(())
    }
}
