//! A source of replicas: tables made anew, a dump of them, a backlog, and the places in its log.

use crate::Result;
use crate::bench::workload::Durability;
use crate::bench::{SERVERS, sysbench};
use servers::disk::Disk;
use servers::{Address, Launch, Running, ServerKind, free_port};
use std::path::Path;
use std::time::{Duration, Instant};

pub const TABLES: u32 = 4;
pub const TABLE_SIZE: u64 = 10_000;
/// The account of replicas; MariaDB's client does not know MySQL's newest plugin everywhere.
const USER: &str = "replica";
const NATIVE_USER: &str = "replica_native";
const PASSWORD: &str = "secret";

/// A server that replicas follow.
pub struct Source {
    kind: ServerKind,
    running: Running,
    disk: Disk,
    /// Where a Duramen speaks MariaDB's GTIDs.
    mariadb_port: u16,
}

/// A place in its log, in each of the languages that replicas know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogPlace {
    /// MySQL's set of executed GTIDs; of a MariaDB nothing.
    pub gtids: String,
    /// MariaDB's GTID.
    pub mariadb_gtid: String,
    pub file: String,
    pub offset: u64,
    /// Transactions in the log so far.
    pub transactions: u64,
}

/// What replicas begin with: the tables, and where in the log they were so.
pub struct Snapshot {
    pub dump: String,
    pub place: LogPlace,
}

impl Source {
    /// Starts it on a disk of its own.
    pub fn start(kind: ServerKind, duramen: &Path) -> Result<Self> {
        let folder = Path::new(SERVERS).join("source");
        let disk = Disk::new(&folder.join(format!("{}-disk", kind.name())))?;
        let (mariadb_port, server_id) = (free_port()?, server_id(kind));
        let mut launch = Launch::new(kind, &folder)?.binary(duramen).variables(disk.variables());
        launch = launch.arg(format!("--server-id={server_id}"));
        launch = match kind {
            ServerKind::Duramen => launch.arg(format!("--duramen-mariadb-port={mariadb_port}")),
            ServerKind::MySql => launch.arg("--performance-schema=OFF"),
            ServerKind::MariaDb => launch,
        };
        let source = Self { kind, running: launch.start()?, disk, mariadb_port };
        let account = |user: &str, how: &str| {
            format!("CREATE USER {user}@'%' IDENTIFIED {how}; GRANT REPLICATION SLAVE ON *.* TO {user}@'%';")
        };
        let native = account(NATIVE_USER, &format!("WITH mysql_native_password BY '{PASSWORD}'"));
        let newest = account(USER, &format!("WITH caching_sha2_password BY '{PASSWORD}'"));
        source.sql(&match kind {
            ServerKind::Duramen => newest + &native,
            ServerKind::MySql => newest,
            ServerKind::MariaDb => account(USER, &format!("BY '{PASSWORD}'")),
        })?;
        Ok(source)
    }

    pub fn kind(&self) -> ServerKind {
        self.kind
    }

    pub fn address(&self) -> &Address {
        self.running.address()
    }

    pub fn sql(&self, script: &str) -> Result<String> {
        self.running.sql(script).map_err(|e| format!("the source: {e}").into())
    }

    /// Port, user and password for a replica of this kind.
    pub fn login_of(&self, replica: ServerKind) -> (u16, &'static str, &'static str) {
        match (self.kind, replica) {
            (ServerKind::Duramen, ServerKind::MariaDb) => (self.mariadb_port, NATIVE_USER, PASSWORD),
            _ => (self.running.port(), USER, PASSWORD),
        }
    }

    /// How it commits from now on.
    pub fn set(&self, durability: Durability, flushes_longer_by: Duration) -> Result<()> {
        let Durability { sync_binlog, trx_commit } = durability;
        self.sql(&format!(
            "SET GLOBAL sync_binlog={sync_binlog}; SET GLOBAL innodb_flush_log_at_trx_commit={trx_commit}"
        ))?;
        self.disk.delay_flushes(flushes_longer_by)
    }

    /// A log that begins anew, and new tables in a schema whose collation all servers know.
    pub fn begin(&self) -> Result<Snapshot> {
        self.set(Durability::EACH_SECOND, Duration::ZERO)?;
        self.sql(
            "DROP DATABASE IF EXISTS sbtest; CREATE DATABASE sbtest CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci;
             CREATE TABLE sbtest.probe (id INT PRIMARY KEY)",
        )?;
        self.sysbench("oltp_write_only", "prepare", &sysbench::tables_of(TABLES, TABLE_SIZE, 2))?;
        let new_log =
            if self.kind == ServerKind::MariaDb { "RESET MASTER" } else { "RESET BINARY LOGS AND GTIDS" };
        self.sql(new_log)?;
        // One transaction, so that there is a place to begin at.
        self.sql("INSERT INTO sbtest.probe VALUES (0)")?;
        let done = self
            .address()
            .client("mariadb-dump")
            .args(["--single-transaction", "--databases", "sbtest"])
            .output()?;
        if !done.status.success() {
            return Err(format!("mariadb-dump: {}", String::from_utf8_lossy(&done.stderr)).into());
        }
        Ok(Snapshot { dump: String::from_utf8(done.stdout)?, place: self.place()? })
    }

    /// So many transactions of a test by so many sessions, as fast as they go; the time they took.
    pub fn work(&self, test: &str, sessions: u32, transactions: u32) -> Result<Duration> {
        let mut args = sysbench::tables_of(TABLES, TABLE_SIZE, sessions);
        args.extend([format!("--events={transactions}"), "--time=0".into()]);
        let began = Instant::now();
        self.sysbench(test, "run", &args)?;
        Ok(began.elapsed())
    }

    /// A command of sysbench at this server.
    pub fn sysbench(&self, test: &str, command: &str, args: &[String]) -> Result<String> {
        sysbench::sysbench_at(self.address(), "the source", test, command, args)
    }

    /// The end of its log. Nobody may commit meanwhile.
    pub fn place(&self) -> Result<LogPlace> {
        if self.kind == ServerKind::MariaDb {
            let mariadb_gtid = self.sql("SELECT @@gtid_binlog_pos")?;
            let status = self.sql("SHOW MASTER STATUS")?;
            let mut columns = status.split('\t');
            let (file, offset) = columns.next().zip(columns.next()).ok_or("the source has no log")?;
            let transactions = last_number(&mariadb_gtid)?;
            let (file, offset) = (file.to_owned(), offset.trim().parse()?);
            return Ok(LogPlace { gtids: String::new(), mariadb_gtid, file, offset, transactions });
        }
        let gtids = self.sql("SELECT REPLACE(@@GLOBAL.gtid_executed, CHAR(10), '')")?;
        let transactions = last_number(&gtids)?;
        let mariadb_gtid = format!("0-{}-{transactions}", server_id(self.kind));
        Ok(LogPlace { gtids, mariadb_gtid, file: String::new(), offset: 0, transactions })
    }

    /// Sums over all rows, to compare with a replica's.
    pub fn rows(&self) -> Result<String> {
        self.sql(&sums())
    }
}

/// A query of sums over all rows.
pub fn sums() -> String {
    let of = |n| {
        format!("SELECT COUNT(*), SUM(id), SUM(k), SUM(CRC32(c)), SUM(CRC32(pad)) FROM sbtest.sbtest{n};")
    };
    (1..=TABLES).map(of).collect()
}

fn server_id(kind: ServerKind) -> u32 {
    match kind {
        ServerKind::Duramen => 11,
        ServerKind::MySql => 12,
        ServerKind::MariaDb => 13,
    }
}

/// Of `uuid:1-N` or `domain-server-N`, how many transactions there are: the log has begun anew, and
/// nobody else writes to it.
fn last_number(gtids: &str) -> Result<u64> {
    let last = gtids.rsplit(['-', ':']).next().unwrap_or_default();
    last.trim().parse().map_err(|_| format!("not the GTIDs of one server: `{gtids}`").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transactions_are_the_last_number_of_one_servers_gtids() {
        let counts = [
            "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-51",
            "3e11fa47-71ca-11e1-9e33-c80aa9429562:1",
            "0-13-70",
        ];
        assert_eq!(counts.map(|gtids| last_number(gtids).unwrap()), [51, 1, 70]);
        assert!(last_number("").is_err());
    }
}
