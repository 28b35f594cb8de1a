//! The prediction against a server that is there.

use super::arguments::Arguments;
use super::load::{Load, Target};
use super::model::{Durability, Expected, Machine};
use super::report::CLIENTS;
use super::{ProbeError, Watch, say, share};
use std::net::ToSocketAddrs;
use std::time::Duration;

/// A server to check the prediction with.
pub(super) struct Checked {
    target: Target,
}

/// Predicted and measured.
pub(super) struct Comparison {
    pub(super) version: String,
    pub(super) sync_binlog: u32,
    pub(super) trx_commit: u8,
    pub(super) rows: Vec<Row>,
}

/// For one number of clients.
pub(super) struct Row {
    pub(super) clients: usize,
    pub(super) expected: Expected,
    /// `None` if the server takes fewer connections.
    pub(super) measured: Option<Load>,
}

impl Checked {
    /// Understands HOST:PORT.
    pub(super) fn of(server: &str, arguments: &Arguments) -> Result<Self, ProbeError> {
        let address = server.to_socket_addrs().map_err(|e| {
            ProbeError::Options(format!("'{server}' is no server: {e}; write --server=HOST:PORT"))
        })?;
        let no_address = || ProbeError::Options(format!("'{server}' has no address"));
        let address = address.into_iter().next().ok_or_else(no_address)?;
        let database = format!("duramen_probe_{}", std::process::id());
        let (user, password) = (arguments.user.clone(), arguments.password.clone());
        Ok(Self { target: Target { address, user, password, database } })
    }

    /// Makes what will be loaded and takes it away again, so that a wrong password or a missing
    /// privilege is reported before anything is measured.
    pub(super) fn try_out(&self, watch: &Watch) -> Result<(), ProbeError> {
        self.target.prepare(watch)?;
        self.target.clean(watch)
    }

    /// Loads the server, about as long as `time`, with as many clients as the prediction is for.
    pub(super) fn check(
        &self,
        watch: &Watch,
        machine: &Machine,
        time: Duration,
    ) -> Result<Comparison, ProbeError> {
        let target = &self.target;
        let mut client = target.connect(watch)?;
        let sql = "SELECT @@sync_binlog, @@innodb_flush_log_at_trx_commit, @@max_connections";
        let failed = |source| ProbeError::Statement { sql: sql.to_owned(), source };
        let answer = client.query(sql).map_err(failed)?;
        let number = |column: usize| -> u32 {
            let value = answer.rows.first().and_then(|row| row.get(column)?.clone());
            value.and_then(|text| String::from_utf8(text).ok()?.parse().ok()).unwrap_or(1)
        };
        let (sync_binlog, trx_commit) = (number(0), u8::try_from(number(1)).unwrap_or(1));
        say(format!("loading {} ({:.0} s)", target.address, time.as_secs_f64()));
        let durability = Durability::of(sync_binlog, trx_commit);
        let most = number(2) as usize;
        let rows = target.prepare(watch).and_then(|()| self.rows(watch, machine, durability, most, time));
        // Whatever happened, and also after SIGINT (Q1).
        let cleaned = target.clean(watch);
        // MariaDB puts a number of MySQL's before its own.
        let version = client.server_version.trim_start_matches("5.5.5-").to_owned();
        // It has nothing more to say.
        let _ = client.quit();
        let comparison = Comparison { version, sync_binlog, trx_commit, rows: rows? };
        cleaned.map(|()| comparison)
    }

    fn rows(
        &self,
        watch: &Watch,
        machine: &Machine,
        durability: Durability,
        most: usize,
        time: Duration,
    ) -> Result<Vec<Row>, ProbeError> {
        let each = share(time, CLIENTS.len());
        let row = |clients| {
            watch.check()?;
            let expected = machine.predict(durability, clients);
            if clients >= most {
                // Others could not connect meanwhile.
                return Ok(Row { clients, expected, measured: None });
            }
            match self.target.commits(watch, clients, each) {
                Ok(load) => Ok(Row { clients, expected, measured: Some(load) }),
                Err(e) if e.is_full() => Ok(Row { clients, expected, measured: None }),
                Err(e) => Err(e),
            }
        };
        CLIENTS.into_iter().map(row).collect()
    }
}
