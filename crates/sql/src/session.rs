//! A session: one client's state, and the statements it runs.

use std::sync::Arc;

use crate::database::{Database, Kill};
use crate::error::{Result, SqlError};
use crate::sink::{ResultSink, status_flag};
use crate::value::Datum;
use crate::variables::SessionVariables;

/// What is known of a client when it has authenticated.
pub struct Connection {
    /// The id, as the handshake told it: from [`Database::reserve_id`].
    pub id: u64,
    /// The name that the client gave.
    pub user: String,
    /// Where it comes from: `localhost`, or an address.
    pub host: String,
    /// The account that it was authenticated as: user and host pattern.
    pub account: (String, String),
    /// The database to use, if the client named one.
    pub database: Option<String>,
    /// The collation id of the client's character set.
    pub collation: u16,
    /// CLIENT_FOUND_ROWS: UPDATE counts matched rows.
    pub found_rows: bool,
    /// CLIENT_MULTI_STATEMENTS: a text may hold several statements.
    pub multi_statements: bool,
    /// Called from another thread when someone kills this session, after its interrupt flag was set. For
    /// [`Kill::Connection`] it should wake a read that waits for the next command.
    pub on_kill: Box<dyn Fn(Kill) + Send + Sync>,
}

/// One client's state.
pub struct Session {
    database: Arc<Database>,
    id: u64,
    variables: SessionVariables,
    multi_statements: bool,
}

impl Session {
    pub(crate) fn new(database: Arc<Database>, connection: Connection) -> Result<Self> {
        let variables = SessionVariables::new(database.globals());
        Ok(Self { database, id: connection.id, variables, multi_statements: connection.multi_statements })
    }

    /// The connection's id.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Runs the statements of `text`, one after the other, until one fails.
    pub fn execute(&mut self, text: &[u8], sink: &mut dyn ResultSink) -> Result<()> {
        let _ = (text, sink, &self.database, self.multi_statements);
        Err(SqlError::unsupported("statements"))
    }

    /// COM_INIT_DB, and USE.
    pub fn use_database(&mut self, name: &str) -> Result<()> {
        Err(SqlError::unsupported(format_args!("USE {name}")))
    }

    /// COM_RESET_CONNECTION: rolls back, and makes everything as it was right after the connect.
    pub fn reset(&mut self) -> Result<()> {
        self.variables = SessionVariables::new(self.database.globals());
        Ok(())
    }

    /// COM_SET_OPTION.
    pub fn set_multi_statements(&mut self, on: bool) {
        self.multi_statements = on;
    }

    /// Status flags for a packet that is no statement's.
    pub fn status(&self) -> u16 {
        status_flag::AUTOCOMMIT
    }

    /// True once someone killed the connection: the server closes it.
    pub fn is_killed(&self) -> bool {
        false
    }

    /// The session's variables.
    pub fn variables(&self) -> &SessionVariables {
        &self.variables
    }

    /// A user variable's value; NULL if it was never set. `name` is without `@`.
    pub fn user_variable(&self, _name: &str) -> Datum<'static> {
        Datum::Null
    }
}
