//! The source: who it is, and whether it can be followed.

use crate::log_tool::ToolError;
use crate::options::Options;
use crate::remote::definitions;
use crate::remote::place::{Facts, Flavor};
use crate::remote::{Remote, RemoteSession, Runs, text};
use sql::variables::ids;

/// A server that can be followed.
pub(super) struct Source {
    session: RemoteSession,
    pub(super) facts: Facts,
}

impl Source {
    /// Asks it.
    ///
    /// # Errors
    /// It can't be reached, or can't be followed: the text says what to do.
    pub(super) fn ask(remote: &Remote, options: &Options) -> Result<Self, ToolError> {
        let refused = |what: String| Err(ToolError::Refused(format!("{}: {what}", remote.server())));
        let mut session = remote.session()?;
        let facts = Facts::of(&mut session)?;
        if !facts.has_log {
            return refused(
                "it has no binary log: start it with log_bin, or there is nothing to follow".into(),
            );
        }
        let own_id = options.variables.uint(ids::SERVER_ID);
        if facts.server_id == own_id {
            return refused(format!(
                "its server_id is {own_id}, and so is this one's: add --server-id=N with another number, here and at each later start"
            ));
        }
        let needed = ["REPLICATION SLAVE", "REPLICATION REPLICA", "ALL PRIVILEGES ON *.*"];
        let grants = session.rows("SHOW GRANTS")?;
        let has = grants
            .into_iter()
            .flatten()
            .flatten()
            .map(text)
            .any(|grant| needed.iter().any(|n| grant.contains(n)));
        if !has {
            return refused(format!(
                "'{}' can't follow it: GRANT REPLICATION SLAVE ON *.* TO that account",
                remote.user
            ));
        }
        Ok(Self { session, facts })
    }

    /// What to do at a MariaDB that logs changes as texts, of which a replica runs only some.
    ///
    /// # Errors
    /// The server's.
    pub(super) fn advice(&mut self) -> Result<Option<String>, ToolError> {
        if !self.is_mariadb() {
            return Ok(None);
        }
        let [format] = self.session.first("SELECT @@global.binlog_format")?;
        let format = format.filter(|format| format != "ROW");
        Ok(format.map(|format| {
            format!(
                "warning: it logs changes as texts (binlog_format = {format}), and a replica stops at those that may mean something \
                 else here: SET GLOBAL binlog_format = ROW there first, and let its clients connect anew"
            )
        }))
    }

    /// The databases that are not its own.
    ///
    /// # Errors
    /// The server's.
    pub(super) fn databases(&mut self) -> Result<Vec<String>, ToolError> {
        definitions::databases(&mut self.session)
    }

    /// What it is known by: its UUID, or its address if it has none.
    pub(super) fn name(&self) -> String {
        match self.facts.server_uuid.is_empty() {
            true => self.session.remote().server(),
            false => self.facts.server_uuid.clone(),
        }
    }

    /// True if the connection is encrypted.
    pub(super) fn has_tls(&self) -> bool {
        self.session.has_tls()
    }

    /// True for a MariaDB, which is followed by file and offset.
    pub(super) fn is_mariadb(&self) -> bool {
        self.facts.flavor == Flavor::MariaDb
    }
}
