//! The servers of a group, and what they say of themselves.

use super::plan::{Answers, Channel, Member, SemiSync};
use crate::log_tool::ToolError;
use crate::remote::place::{Facts, Flavor, major_minor};
use crate::remote::{Remote, RemoteSession, Runs, text};
use binlog::gtid::GtidSet;
use std::collections::HashMap;

/// A server that was named, and the session on it.
pub(super) struct Server {
    pub(super) remote: Remote,
    pub(super) session: RemoteSession,
    pub(super) facts: Facts,
    /// It was a replica when it was asked first.
    pub(super) is_replica: bool,
}

/// The lock that keeps two failovers apart.
const LOCK: &str = "duramen failover";

/// Logs in everywhere; a server that can't be reached is no error.
///
/// # Errors
/// A server of another kind, or one on which another failover runs.
pub(super) fn connect(remotes: Vec<Remote>) -> Result<(Vec<Option<Server>>, Vec<Member>), ToolError> {
    let (mut servers, mut members) = (Vec::new(), Vec::new());
    for remote in remotes {
        let name = remote.server();
        let (server, answers) = match remote.session() {
            Ok(session) => {
                let mut server = Server::of(remote, session)?;
                let answers = server.answers()?;
                server.is_replica = !answers.channels.is_empty();
                (Some(server), Ok(answers))
            }
            // It is there, and may take writes: who can't ask it can't take it for lost.
            Err(why) if remote.greets() => {
                return Err(ToolError::Refused(format!("{why}. That server runs: mend the login first")));
            }
            Err(why) => (None, Err(without_address(&why.to_string(), &name))),
        };
        servers.push(server);
        members.push(Member { name, answers });
    }
    Ok((servers, members))
}

/// An error that a sentence about the server ends with.
fn without_address(error: &str, server: &str) -> String {
    match error.split_once(&format!("can't connect to {server} as ")) {
        Some((_, rest)) => format!("as {rest}"),
        None => error.to_owned(),
    }
}

/// Who holds the lock: the connection, its account, and how to end it.
fn holder(session: &mut RemoteSession) -> Result<String, ToolError> {
    let sql = format!(
        "SELECT id, user, host FROM performance_schema.processlist WHERE id = IS_USED_LOCK('{LOCK}')"
    );
    Ok(match session.first(&sql)? {
        [Some(id), user, host] => format!(
            "connection {id} of {}@{} holds the lock '{LOCK}' there (KILL {id} ends it)",
            user.unwrap_or_default(),
            host.unwrap_or_default()
        ),
        // It has gone meanwhile, or this account may not see others.
        _ => match session.first(&format!("SELECT IS_USED_LOCK('{LOCK}')"))? {
            [Some(id)] => format!("connection {id} holds the lock '{LOCK}' there"),
            [None] => format!("the lock '{LOCK}' was held there until now"),
        },
    })
}

impl Server {
    fn of(remote: Remote, mut session: RemoteSession) -> Result<Self, ToolError> {
        let facts = Facts::of(&mut session)?;
        let refused =
            |why: &str| Err(ToolError::Refused(format!("{}: {} {why}", remote.server(), facts.name())));
        match facts.flavor {
            Flavor::MariaDb => return refused("has other GTIDs than MySQL's, by which this command works"),
            Flavor::Mysql if major_minor(&facts.version) < (8, 4) => {
                return refused("is older than 8.4, whose statements this command uses");
            }
            _ if !facts.has_gtids || !facts.has_log => {
                return refused("has no log with GTIDs (gtid_mode and log_bin have to be ON)");
            }
            _ => {}
        }
        let [lock] = session.first(&format!("SELECT GET_LOCK('{LOCK}', 0)"))?;
        if lock.as_deref() != Some("1") {
            let holder = holder(&mut session)?;
            return refused(&format!("is being changed by another failover: {holder}"));
        }
        Ok(Self { remote, session, facts, is_replica: false })
    }

    pub(super) fn name(&self) -> String {
        self.remote.server()
    }

    /// What it says now.
    ///
    /// # Errors
    /// The server's.
    pub(super) fn answers(&mut self) -> Result<Answers, ToolError> {
        let [read_only, super_read_only] =
            self.session.first("SELECT @@global.read_only, @@global.super_read_only")?;
        let is_on = |value: Option<String>| value.as_deref() == Some("1");
        Ok(Answers {
            uuid: self.facts.server_uuid.clone(),
            server_id: self.facts.server_id,
            takes_writes: !is_on(read_only) && !is_on(super_read_only),
            executed: self.executed()?,
            channels: self.channels()?,
            semi_sync: self.semi_sync()?,
        })
    }

    /// `gtid_executed`.
    ///
    /// # Errors
    /// The server's.
    pub(super) fn executed(&mut self) -> Result<GtidSet, ToolError> {
        let [executed] = self.session.first("SELECT @@global.gtid_executed")?;
        self.gtids(&executed.unwrap_or_default())
    }

    fn gtids(&self, written: &str) -> Result<GtidSet, ToolError> {
        let compact: String = written.split_whitespace().collect();
        compact
            .parse()
            .map_err(|_| ToolError::Refused(format!("{}: '{compact}' is no GTID set", self.name())))
    }

    /// `SHOW REPLICA STATUS`.
    ///
    /// # Errors
    /// The server's.
    pub(super) fn channels(&mut self) -> Result<Vec<Channel>, ToolError> {
        const SQL: &str = "SHOW REPLICA STATUS";
        let result = self.session.try_query(SQL).map_err(|e| self.remote.refused(SQL, &e))?;
        let names: Vec<String> = result.columns.into_iter().map(text).collect();
        let mut channels = Vec::new();
        for row in result.rows {
            let cells: HashMap<&str, String> = names
                .iter()
                .map(String::as_str)
                .zip(row.into_iter().map(|cell| cell.map_or_else(String::new, text)))
                .collect();
            let of = |name: &str| cells.get(name).cloned().unwrap_or_default();
            let is_yes = |name| of(name) == "Yes";
            let errors = [of("Last_SQL_Error"), of("Last_IO_Error")];
            let host = of("Source_Host");
            let host = if host.contains(':') { format!("[{host}]") } else { host };
            channels.push(Channel {
                name: of("Channel_Name"),
                source_uuid: of("Source_UUID"),
                source: format!("{host}:{}", of("Source_Port")),
                uses_auto_position: of("Auto_Position") == "1",
                is_receiving: is_yes("Replica_IO_Running"),
                tries_to_receive: of("Replica_IO_Running") != "No",
                is_applying: is_yes("Replica_SQL_Running"),
                error: errors.into_iter().find(|error| !error.is_empty()).unwrap_or_default(),
                retrieved: self.gtids(&of("Retrieved_Gtid_Set"))?,
            });
        }
        Ok(channels)
    }

    /// Settings of semi-synchronous acknowledgement; `None` where its plugin is not installed.
    fn semi_sync(&mut self) -> Result<Option<SemiSync>, ToolError> {
        const SQL: &str = "SHOW GLOBAL VARIABLES WHERE Variable_name LIKE 'rpl_semi_sync_%'";
        let rows = self.session.rows(SQL)?;
        let value = |name: &str| {
            let row = rows
                .iter()
                .find(|row| row.first().is_some_and(|cell| cell.as_deref() == Some(name.as_bytes())));
            row.and_then(|row| row.get(1)?.clone()).map(text)
        };
        let is_on = |value: Option<String>| value.as_deref() == Some("ON");
        let source = value("rpl_semi_sync_source_enabled");
        let replica = value("rpl_semi_sync_replica_enabled");
        if source.is_none() && replica.is_none() {
            return Ok(None);
        }
        let number = |name| value(name).and_then(|value| value.parse::<u64>().ok());
        Ok(Some(SemiSync {
            source_enabled: is_on(source),
            replica_enabled: is_on(replica),
            wait_for: number("rpl_semi_sync_source_wait_for_replica_count").unwrap_or(1) as usize,
            timeout: number("rpl_semi_sync_source_timeout").unwrap_or(10_000),
        }))
    }

    /// Where other servers find it.
    ///
    /// # Errors
    /// The server's.
    pub(super) fn address(&mut self) -> Result<(String, u16), ToolError> {
        let [host, port] = self.session.first("SELECT @@global.report_host, @@global.report_port")?;
        let host = host.filter(|host| !host.is_empty());
        let port = port.and_then(|port| port.parse().ok()).filter(|&port| port != 0);
        Ok(match (host, port) {
            (Some(host), port) => (host, port.unwrap_or(self.remote.port)),
            (None, _) => (self.remote.host.clone(), self.remote.port),
        })
    }
}
