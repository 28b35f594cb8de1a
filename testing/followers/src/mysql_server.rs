//! A replica that speaks MySQL's statements: a MySQL that applies in parallel, or a Duramen. It
//! goes by auto-position, or by file and offset where the source is a MariaDB.

use crate::{Result, await_that, compare, connect, row_by_column};
use servers::{Launch, Running, ServerKind};
use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

/// Errors of the receiver that pass by themselves: the connection is lost, and made again.
const PASSING: [&str; 10] = ["0", "2002", "2003", "2005", "2013", "2026", "1158", "1159", "1160", "1161"];

/// False, with the reason printed, where no MySQL can be started.
///
/// # Panics
/// If one is named (`DURAMEN_MYSQLD`) and can't be started.
pub fn is_at_hand() -> bool {
    match servers::mysqld() {
        Ok(_) => true,
        Err(reason) => {
            assert!(std::env::var_os("DURAMEN_MYSQLD").is_none(), "{reason}");
            println!("NOT TESTED: {reason}");
            eprintln!("NOT TESTED: {reason}");
            false
        }
    }
}

/// Makes the account that replicas log in with, with the only password plugin that MySQL 9 has.
pub fn let_in(source: &Running) -> Result<()> {
    source.sql(
        "CREATE USER replica@'%' IDENTIFIED WITH caching_sha2_password BY 'secret';
         GRANT REPLICATION SLAVE ON *.* TO replica@'%';",
    )?;
    Ok(())
}

/// A replica that runs.
#[derive(Debug)]
pub struct Replica {
    server: Running,
}

impl Replica {
    /// A fresh server with a log of its own and `workers` appliers.
    pub fn start(folder: &Path, workers: u32) -> Result<Self> {
        let launch = Launch::new(ServerKind::MySql, folder)?
            .arg("--server-id=3")
            .arg("--relay-log-recovery=ON")
            .arg("--log-bin-trust-function-creators=ON")
            .arg("--max-allowed-packet=1G")
            .arg("--replica-net-timeout=10")
            .arg("--innodb-buffer-pool-size=128M")
            .arg("--replica-preserve-commit-order=ON")
            .arg("--replica-transaction-retries=1000")
            .arg(format!("--replica-parallel-workers={workers}"));
        Ok(Self { server: launch.start()? })
    }

    /// A fresh Duramen; `args` are further options.
    pub fn duramen(folder: &Path, args: &[&str]) -> Result<Self> {
        let launch = Launch::new(ServerKind::Duramen, folder)?
            .arg("--server-id=4")
            .arg("--replica-net-timeout=10")
            .arg("--replica-transaction-retries=1000");
        let launch = args.iter().fold(launch, |launch, arg| launch.arg(*arg));
        Ok(Self { server: launch.start()? })
    }

    /// The running process, to connect to, stop or kill.
    pub fn server(&self) -> &Running {
        &self.server
    }

    /// Follows the server on `port` from wherever it is.
    pub fn follow(&self, port: u16) -> Result<()> {
        self.server.sql(&format!(
            "CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT={port}, SOURCE_USER='replica',
             SOURCE_PASSWORD='secret', GET_SOURCE_PUBLIC_KEY=1, SOURCE_AUTO_POSITION=1, SOURCE_CONNECT_RETRY=1,
             SOURCE_RETRY_COUNT=100000, SOURCE_HEARTBEAT_PERIOD=0.5;
             START REPLICA;"
        ))?;
        Ok(())
    }

    /// Follows a MariaDB from its log's beginning.
    pub fn follow_mariadb(&self, port: u16) -> Result<()> {
        self.server.sql(&format!(
            "CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT={port}, SOURCE_USER='replica',
             SOURCE_PASSWORD='secret', SOURCE_CONNECT_RETRY=1, SOURCE_RETRY_COUNT=100000, SOURCE_HEARTBEAT_PERIOD=0.5;
             START REPLICA;"
        ))?;
        Ok(())
    }

    /// Waits until it has applied all of a MariaDB's log; no session may change that meanwhile.
    pub fn await_mariadb(&self, source: &Running, patience: Duration) -> Result<()> {
        let status = row_by_column(source.address(), "SHOW MASTER STATUS")?;
        let there = |name: &str| status.get(name).cloned().unwrap_or_default();
        let end = (there("File"), there("Position"));
        await_that(&format!("all up to {end:?}"), patience, || {
            self.check()?;
            let status = self.status()?;
            let here = |name: &str| status.get(name).cloned().unwrap_or_default();
            Ok((here("Relay_Source_Log_File"), here("Exec_Source_Log_Pos")) == end)
        })
    }

    /// `SHOW REPLICA STATUS`, by column.
    pub fn status(&self) -> Result<HashMap<String, String>> {
        row_by_column(self.server.address(), "SHOW REPLICA STATUS")
    }

    /// An error where replication has stopped, with what its workers say of it.
    pub fn check(&self) -> Result<()> {
        let status = self.status()?;
        let told = |name: &str| status.get(name).map_or("", String::as_str);
        if told("Last_SQL_Errno") != "0" {
            let workers = self.server.sql(
                "SELECT last_error_number, last_error_message
                 FROM performance_schema.replication_applier_status_by_worker WHERE last_error_number <> 0",
            )?;
            return Err(format!("applier: {} {workers}", told("Last_SQL_Error")).into());
        }
        if !PASSING.contains(&told("Last_IO_Errno")) {
            return Err(format!("receiver: {} {}", told("Last_IO_Errno"), told("Last_IO_Error")).into());
        }
        Ok(())
    }

    /// Waits until it holds all that `source` has; no session may change that meanwhile. Then it
    /// may not lag.
    pub fn await_source(&self, source: &Running, patience: Duration) -> Result<()> {
        let all = source.sql("SELECT REPLACE(@@GLOBAL.gtid_executed, CHAR(10), '')")?;
        let there = format!("SELECT WAIT_FOR_EXECUTED_GTID_SET('{all}', 1)");
        let waited = await_that(&format!("all of {all}"), patience, || {
            self.check()?;
            Ok(self.server.sql(&there)? == "0")
        });
        if let Err(e) = waited {
            let status = self.status()?;
            let told =
                ["Replica_IO_State", "Last_IO_Error", "Replica_SQL_Running_State", "Executed_Gtid_Set"];
            let told: Vec<&String> = told.iter().filter_map(|name| status.get(*name)).collect();
            return Err(format!("{e}; {told:?}").into());
        }
        await_that("no lag", Duration::from_secs(10), || {
            self.check()?;
            Ok(self.status()?.get("Seconds_Behind_Source").is_some_and(|lag| lag == "0"))
        })
    }

    /// What differs from the tables of `source`, and which transactions only this server has.
    pub fn differences(&self, source: &Running) -> Result<Vec<String>> {
        let found =
            compare::differences(&mut connect(source.address())?, &mut connect(self.server.address())?);
        let mut found = found?;
        let all = source.sql("SELECT REPLACE(@@GLOBAL.gtid_executed, CHAR(10), '')")?;
        // A new Duramen has logged its first account.
        let first = match self.server.kind() {
            ServerKind::Duramen => format!(",{}:1-2", self.server.sql("SELECT @@server_uuid")?),
            _ => String::new(),
        };
        let own =
            self.server.sql(&format!("SELECT GTID_SUBTRACT(@@GLOBAL.gtid_executed, '{all}{first}')"))?;
        if !own.is_empty() {
            found.push(format!("transactions {own} are at the replica only"));
        }
        Ok(found)
    }

    /// Kills it in the middle of whatever it does and starts it again on what it left behind; it
    /// follows on by itself.
    pub fn crash(mut self) -> Result<Self> {
        self.server.kill()?;
        Ok(Self { server: self.server.restart()? })
    }

    /// Ends it as an operator would and starts it again.
    pub fn restart(self) -> Result<Self> {
        Ok(Self { server: self.server.restart()? })
    }
}
