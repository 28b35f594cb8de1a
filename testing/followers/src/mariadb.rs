//! A MariaDB replica: how it is started, pointed at a source, watched and compared.

use crate::{Result, await_that, compare, connect, row_by_column};
use servers::{Launch, Running, ServerKind};
use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

/// So many lines of the error log are shown where something failed.
const LOG_LINES_SHOWN: usize = 12;

type Error = Box<dyn std::error::Error + Send + Sync>;

/// How the replica remembers where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Positions {
    /// File and offset.
    File,
    /// `MASTER_USE_GTID=slave_pos`
    Gtid,
}

/// How the replica applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Apply {
    /// One transaction after the other.
    InOrder,
    /// Those of one group commit at a time, `slave_parallel_mode=conservative`.
    Conservative,
    /// All at a time, and again where they collide, `slave_parallel_mode=optimistic`.
    Optimistic,
}

/// The option that opens a port for replicas, `port`, where they may go by GTID.
pub fn port_option(port: u16) -> String {
    format!("--duramen-mariadb-port={port}")
}

/// Makes the account that replicas log in with. MariaDB's client has no `caching_sha2_password` on
/// every machine.
pub fn let_in(source: &Running) -> Result<()> {
    source.sql(
        "CREATE USER replica@'%' IDENTIFIED WITH mysql_native_password BY 'secret';
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
    /// A fresh server with a log of its own.
    pub fn start(folder: &Path, apply: Apply) -> Result<Self> {
        let (threads, mode) = match apply {
            Apply::InOrder => (0, "conservative"),
            Apply::Conservative => (4, "conservative"),
            Apply::Optimistic => (4, "optimistic"),
        };
        let launch = Launch::new(ServerKind::MariaDb, folder)?
            .arg("--server-id=2")
            .arg("--log-slave-updates=ON")
            // Whatever the applier reads was received whole, also after a kill.
            .arg("--relay-log-recovery=ON")
            // What the source took without a word about determinism (rows are logged) is defined
            // here, too.
            .arg("--log-bin-trust-function-creators=ON")
            .arg("--sync-binlog=0")
            .arg("--max-allowed-packet=1G")
            .arg("--slave-net-timeout=10")
            .arg("--innodb-buffer-pool-size=128M")
            .arg("--innodb-log-file-size=64M")
            .arg("--slave-transaction-retries=1000")
            .arg(format!("--slave-parallel-threads={threads}"))
            .arg(format!("--slave-parallel-mode={mode}"));
        Ok(Self { server: launch.start()? })
    }

    /// The running process, to connect to, stop or kill.
    pub fn server(&self) -> &Running {
        &self.server
    }

    /// Follows the server on `port` from the start of its log on.
    pub fn follow(&self, port: u16, positions: Positions) -> Result<()> {
        let coordinates = match positions {
            Positions::File => "MASTER_LOG_FILE='binlog.000001', MASTER_LOG_POS=4, MASTER_USE_GTID=no",
            Positions::Gtid => "MASTER_USE_GTID=slave_pos",
        };
        self.server.sql(&format!(
            "CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT={port}, MASTER_USER='replica', MASTER_PASSWORD='secret',
             MASTER_CONNECT_RETRY=1, MASTER_HEARTBEAT_PERIOD=0.5, {coordinates};
             START SLAVE;"
        ))?;
        Ok(())
    }

    /// `SHOW SLAVE STATUS`, by column.
    pub fn status(&self) -> Result<HashMap<String, String>> {
        row_by_column(self.server.address(), "SHOW SLAVE STATUS")
    }

    /// An error where replication has stopped. Where it did so for a cut between a statement's
    /// rows, it is started again.
    pub fn check(&self) -> Result<()> {
        let status = self.status()?;
        if self.is_cut_between_rows(&status)? {
            println!("cut between a statement's rows: started again");
            self.server.sql("START SLAVE IO_THREAD")?;
            return Ok(());
        }
        // A lost connection is made again, whatever was under way; then the receiver runs on.
        let stopped = [
            ("Last_IO_Errno", "Last_IO_Error", status["Slave_IO_Running"] == "No"),
            ("Last_SQL_Errno", "Last_SQL_Error", true),
        ];
        for (number, text, is_over) in stopped {
            if is_over && status[number] != "0" {
                let (number, text) = (&status[number], &status[text]);
                return Err(format!("stopped by {number}: {text}\n{}", self.status_text()?).into());
            }
        }
        Ok(())
    }

    /// MariaDB's receiver expects a statement's last rows after the others. When it connects again
    /// by file and offset it does not forget that, and stops at the Rotate event that every source
    /// sends first (1595). `START SLAVE` goes on at that position. A source that leaves a
    /// statement's end out stops it as well, but anywhere: only the offset of the cut counts.
    fn is_cut_between_rows(&self, status: &HashMap<String, String>) -> Result<bool> {
        if status["Using_Gtid"] != "No" || status["Last_IO_Errno"] != "1595" {
            return Ok(false);
        }
        let log = self.last_messages()?;
        let cut = log.lines().rev().find_map(|line| Some(line.split_once("reconnecting to retry, log ")?.1));
        let expected = log.lines().rev().find_map(|line| {
            let (_, places) = line.split_once("did not receive an expected Rows-log end-of-statement")?;
            Some(places.rsplit_once("before the current one at log ")?.1)
        });
        let cut = cut.map(|position| position.replace("' at position ", "' position "));
        Ok(cut.is_some() && cut.as_deref() == expected)
    }

    /// Waits until it holds all that `source` has; no session may change that meanwhile. Then it
    /// may not lag.
    pub fn await_source(&self, source: &Running, patience: Duration) -> Result<()> {
        let end = source.sql("SHOW BINARY LOG STATUS")?;
        let mut columns = end.split('\t');
        let (file, position) = (columns.next().unwrap_or(""), columns.next().unwrap_or(""));
        let there = format!("SELECT MASTER_POS_WAIT('{file}', {position}, 1)");
        let waited = await_that(&format!("at {file}:{position}"), patience, || {
            self.check()?;
            Ok(!["-1", "NULL"].contains(&self.server.sql(&there)?.as_str()))
        });
        waited.or_else(|e| Err::<(), Error>(format!("{e}; {}", self.status_text()?).into()))?;
        let caught_up = await_that("no lag", Duration::from_secs(10), || {
            self.check()?;
            Ok(self.status()?["Seconds_Behind_Master"] == "0")
        });
        caught_up.or_else(|e| Err(format!("{e}; {}", self.status_text()?).into()))
    }

    /// Where it is, for the error of a wait that timed out.
    fn status_text(&self) -> Result<String> {
        let status = self.status()?;
        let of = |name: &&str| status.get(*name).map(|value| format!("{name} {value}"));
        let names = [
            "Slave_IO_State",
            "Slave_SQL_Running_State",
            "Seconds_Behind_Master",
            "Master_Log_File",
            "Read_Master_Log_Pos",
            "Relay_Master_Log_File",
            "Exec_Master_Log_Pos",
            "Using_Gtid",
            "Gtid_IO_Pos",
        ];
        Ok(names.iter().filter_map(of).chain([self.last_messages()?]).collect::<Vec<_>>().join("\n"))
    }

    /// The end of its error log.
    fn last_messages(&self) -> Result<String> {
        let log = self.server.messages()?;
        let from = log.lines().count().saturating_sub(LOG_LINES_SHOWN);
        Ok(log.lines().skip(from).collect::<Vec<_>>().join("\n"))
    }

    /// What differs from the tables of `source`.
    pub fn differences(&self, source: &Running) -> Result<Vec<String>> {
        compare::differences(&mut connect(source.address())?, &mut connect(self.server.address())?)
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
