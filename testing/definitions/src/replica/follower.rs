//! A replica by GTID: set up, waited for, and taken over what it stops at.

use super::{ReplicaKind, Wanted};
use crate::Result;
use followers::{mariadb, mysql_server, row_by_column};
use mysql::Conn;
use mysql::prelude::Queryable;
use servers::{Address, Running};
use std::any::Any;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long it may take for what its source did.
const PATIENCE: Duration = Duration::from_secs(180);

/// Where it stopped.
#[derive(Debug)]
pub(super) struct Stop {
    /// The case that the statement is of.
    pub(super) case: Option<u64>,
    /// The error's number.
    pub(super) number: u32,
    /// What it said.
    pub(super) text: String,
}

/// A replica that runs.
pub(super) struct Follower {
    kind: ReplicaKind,
    address: Address,
    /// The server of the replica, if this program started it; dropped with this.
    _server: Option<Box<dyn Any>>,
}

impl Follower {
    /// Follows the source on this port from its beginning.
    pub(super) fn start(folder: &Path, wanted: &Wanted, source: &Running, port: u16) -> Result<Self> {
        let kind = wanted.kind;
        let (server, address) = match (&wanted.at, kind) {
            (Some(address), _) => (None, address.clone()),
            (None, ReplicaKind::MySql) => {
                let replica = mysql_server::Replica::start(folder, 1)?;
                let address = replica.server().address().clone();
                (Some(Box::new(replica) as Box<dyn Any>), address)
            }
            (None, ReplicaKind::MariaDb) => {
                let replica = mariadb::Replica::start(folder, mariadb::Apply::InOrder)?;
                let address = replica.server().address().clone();
                (Some(Box::new(replica) as Box<dyn Any>), address)
            }
        };
        let follower = Self { kind, address, _server: server };
        let mut conn = follower.connect()?;
        let set_up = match kind {
            ReplicaKind::MySql => {
                mysql_server::let_in(source)?;
                vec![
                    "STOP REPLICA".to_owned(),
                    "RESET REPLICA ALL".to_owned(),
                    "DROP USER IF EXISTS replica@'%'".to_owned(),
                    "RESET BINARY LOGS AND GTIDS".to_owned(),
                    format!(
                        "CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT={port}, \
                         SOURCE_USER='replica', SOURCE_PASSWORD='secret', GET_SOURCE_PUBLIC_KEY=1, \
                         SOURCE_AUTO_POSITION=1, SOURCE_CONNECT_RETRY=1, SOURCE_HEARTBEAT_PERIOD=0.5"
                    ),
                    "START REPLICA".to_owned(),
                ]
            }
            ReplicaKind::MariaDb => {
                mariadb::let_in(source)?;
                vec![
                    "STOP SLAVE".to_owned(),
                    "RESET SLAVE ALL".to_owned(),
                    "DROP USER IF EXISTS replica@'%'".to_owned(),
                    "RESET MASTER".to_owned(),
                    "SET GLOBAL gtid_slave_pos = ''".to_owned(),
                    format!(
                        "CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT={port}, MASTER_USER='replica', \
                         MASTER_PASSWORD='secret', MASTER_CONNECT_RETRY=1, MASTER_HEARTBEAT_PERIOD=0.5, \
                         MASTER_USE_GTID=slave_pos"
                    ),
                    "START SLAVE".to_owned(),
                ]
            }
        };
        for statement in set_up {
            conn.query_drop(statement)?;
        }
        Ok(follower)
    }

    pub(super) fn kind(&self) -> ReplicaKind {
        self.kind
    }

    pub(super) fn version(&self) -> Result<String> {
        let version: Option<String> = self.connect()?.query_first("SELECT VERSION()")?;
        Ok(format!("{:?} {}", self.kind, version.unwrap_or_default()))
    }

    pub(super) fn connect(&self) -> Result<Conn> {
        followers::connect(&self.address)
    }

    /// Waits until it has all of the source, and returns what it was skipped over.
    pub(super) fn await_source(&self, source: &Running) -> Result<Vec<Stop>> {
        let mut conn = self.connect()?;
        let there = match self.kind {
            ReplicaKind::MySql => {
                let all = source.sql("SELECT REPLACE(@@GLOBAL.gtid_executed, CHAR(10), '')")?;
                format!("SELECT WAIT_FOR_EXECUTED_GTID_SET('{all}', 0.2) = 0")
            }
            ReplicaKind::MariaDb => {
                let end = source.sql("SHOW BINARY LOG STATUS")?;
                let mut columns = end.split('\t');
                let (file, position) = (columns.next().unwrap_or(""), columns.next().unwrap_or(""));
                format!("SELECT MASTER_POS_WAIT('{file}', {position}, 0.2) >= 0")
            }
        };
        let mut stops = Vec::new();
        let start = Instant::now();
        loop {
            // Where the applier has stopped MariaDB answers NULL, and at once.
            if conn.query_first::<Option<bool>, _>(&there)?.flatten() == Some(true) {
                return Ok(stops);
            }
            if let Some(stop) = self.skip_transaction(&mut conn)? {
                stops.push(stop);
            } else if start.elapsed() > PATIENCE {
                return Err(format!("the replica is not there after {} s", PATIENCE.as_secs()).into());
            }
        }
    }

    /// Where it has stopped: skips the transaction, and goes on.
    fn skip_transaction(&self, conn: &mut Conn) -> Result<Option<Stop>> {
        let status = match self.kind {
            ReplicaKind::MySql => row_by_column(&self.address, "SHOW REPLICA STATUS")?,
            ReplicaKind::MariaDb => row_by_column(&self.address, "SHOW SLAVE STATUS")?,
        };
        let field = |name: &str| status.get(name).cloned().unwrap_or_default();
        let number: u32 = field("Last_SQL_Errno").parse().unwrap_or(0);
        if number == 0 {
            let receiver = field("Last_IO_Error");
            let is_up = receiver.is_empty() || field("Last_IO_Errno").starts_with('2');
            return if is_up { Ok(None) } else { Err(format!("receiver: {receiver}").into()) };
        }
        let text = match self.kind {
            ReplicaKind::MySql => self.skip_transaction_mysql(conn)?,
            ReplicaKind::MariaDb => {
                for statement in ["STOP SLAVE", "SET GLOBAL sql_slave_skip_counter = 1", "START SLAVE"] {
                    conn.query_drop(statement)?;
                }
                field("Last_SQL_Error")
            }
        };
        Ok(Some(Stop { case: case_in(&text), number, text }))
    }

    fn skip_transaction_mysql(&self, conn: &mut Conn) -> Result<String> {
        let of_worker: Option<String> = conn.query_first(
            "SELECT last_error_message FROM performance_schema.replication_applier_status_by_worker \
             WHERE last_error_number <> 0",
        )?;
        let text = of_worker.ok_or("a replica stopped, and none of its workers")?;
        let gtid = text.split_once("executing transaction '").and_then(|(_, rest)| rest.split_once('\''));
        let gtid = gtid.ok_or_else(|| format!("no transaction is named: {text}"))?.0;
        for statement in [
            "STOP REPLICA".to_owned(),
            // What it has received and already has is parsed all the same, and this may be what
            // fails.
            "RESET REPLICA".to_owned(),
            format!("SET gtid_next = '{gtid}'"),
            "BEGIN".to_owned(),
            "COMMIT".to_owned(),
            "SET gtid_next = 'AUTOMATIC'".to_owned(),
            "START REPLICA".to_owned(),
        ] {
            conn.query_drop(statement)?;
        }
        Ok(text)
    }
}

/// The case whose database or account a text names.
fn case_in(text: &str) -> Option<u64> {
    let prefix = definition_generator::PREFIX;
    text.match_indices(prefix).find_map(|(at, _)| {
        let is_start = !text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let (number, _) = text[at + prefix.len()..].split_once('_').filter(|_| is_start)?;
        number.parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_case_is_in_the_name() {
        assert_eq!(case_in("Error 'x' on query. Default database: 'c12_a'. Query: 'abc1_'"), Some(12));
        assert_eq!(case_in("table 'c7_x.t', abc12_"), Some(7));
        assert_eq!(case_in("rec12_"), None);
    }
}
