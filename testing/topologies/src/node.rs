//! A server of a topology: how it is started, whom it follows, what it says of that, and how it is
//! killed.
//!
//! Its followers reach it through a [`Proxy`], whose port stays when the server is started again.

use followers::proxy::Proxy;
use followers::{Result, await_that, connect, mariadb};
use mysql::prelude::Queryable;
use mysql::{Row, Value};
use servers::{Address, Launch, Running, ServerKind};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// Errors of a receiver that pass by themselves: the connection is lost, and made again.
const PASSING: [&str; 10] = ["0", "2002", "2003", "2005", "2013", "2026", "1158", "1159", "1160", "1161"];
/// A replica that has executed nothing new for so long has applied what it has received.
const APPLIED_AFTER: Duration = Duration::from_secs(3);
/// MariaDB's number for a lost connection to a source whose log it then finds unfinished; it
/// connects again.
const MARIADB_PASSING: [&str; 2] = ["1236", "1595"];

/// How a server is started.
#[derive(Debug, Clone)]
pub struct Spec {
    /// Of its folder, and in reports.
    pub name: &'static str,
    /// Which server.
    pub kind: ServerKind,
    /// Its `server_id`, which is in its replication account's name as well.
    pub id: u32,
    /// A MariaDB follows it.
    pub for_mariadb: bool,
    /// More options.
    pub args: Vec<String>,
    /// The Duramen to start, if not the one next to this program.
    pub binary: Option<PathBuf>,
}

/// One row of SHOW REPLICA STATUS, by column.
pub type Status = HashMap<String, String>;

/// A server that is up.
#[derive(Debug)]
pub struct Node {
    spec: Spec,
    server: Option<Running>,
    proxy: Proxy,
    for_mariadb: Option<Proxy>,
    follows: bool,
}

impl Node {
    /// Starts it with a fresh data directory, and makes the account for its replicas.
    pub fn start(folder: &Path, spec: Spec) -> Result<Self> {
        let mut launch = Launch::new(spec.kind, &folder.join(spec.name))?
            .arg(format!("--server-id={}", spec.id))
            .arg("--max-binlog-size=4M")
            .arg("--max-allowed-packet=1G")
            .arg("--innodb-buffer-pool-size=128M");
        let mariadb_port = if spec.for_mariadb { servers::free_port()? } else { 0 };
        if spec.for_mariadb {
            launch = launch.arg(mariadb::port_option(mariadb_port));
        }
        if let Some(binary) = &spec.binary {
            launch = launch.binary(binary);
        }
        let options = of_kind(spec.kind).iter().map(|option| (*option).to_owned());
        let launch = options.chain(spec.args.iter().cloned()).fold(launch, Launch::arg);
        let server = launch.start()?;
        let proxy = Proxy::to(server.port())?;
        let for_mariadb = spec.for_mariadb.then(|| Proxy::to(mariadb_port)).transpose()?;
        let node = Self { spec, server: Some(server), proxy, for_mariadb, follows: false };
        node.sql(&format!(
            "CREATE USER {name}@'%' IDENTIFIED {plugin} BY 'secret'; GRANT REPLICATION SLAVE ON *.* TO {name}@'%'",
            name = node.account(),
            plugin = match node.spec.kind {
                ServerKind::MariaDb => "",
                // MariaDB's client has no other on every machine.
                _ if node.spec.for_mariadb => "WITH mysql_native_password",
                _ => "WITH caching_sha2_password",
            }
        ))?;
        Ok(node)
    }

    fn account(&self) -> String {
        format!("replica_{}", self.spec.id)
    }

    /// Its name in reports.
    pub fn name(&self) -> &'static str {
        self.spec.name
    }

    /// Which server it is.
    pub fn kind(&self) -> ServerKind {
        self.spec.kind
    }

    /// How it was started.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// The process.
    ///
    /// # Errors
    /// If it is down.
    pub fn server(&self) -> Result<&Running> {
        self.server.as_ref().ok_or_else(|| format!("{} is down", self.spec.name).into())
    }

    /// Where clients reach it.
    pub fn address(&self) -> Result<&Address> {
        Ok(self.server()?.address())
    }

    /// Runs a script.
    pub fn sql(&self, script: &str) -> Result<String> {
        self.server()?.sql(script).map_err(|e| format!("{}: {e}", self.spec.name).into())
    }

    /// Follows `source` from wherever it is, on a channel of this name.
    pub fn follow(&mut self, source: &Node, channel: &str) -> Result<()> {
        let (way, port) = match (self.kind(), source.kind()) {
            (ServerKind::MariaDb, ServerKind::MariaDb) => ("MASTER_USE_GTID=slave_pos", source.proxy.port()),
            (ServerKind::MariaDb, _) => {
                let proxy = source.for_mariadb.as_ref().ok_or("the source has no port for a MariaDB")?;
                ("MASTER_USE_GTID=slave_pos", proxy.port())
            }
            (_, ServerKind::MariaDb) => ("SOURCE_AUTO_POSITION=0", source.proxy.port()),
            _ => ("GET_SOURCE_PUBLIC_KEY=1, SOURCE_AUTO_POSITION=1", source.proxy.port()),
        };
        let account = source.account();
        let channel = if channel.is_empty() { String::new() } else { format!("FOR CHANNEL '{channel}'") };
        self.sql(&match self.kind() {
            ServerKind::MariaDb => format!(
                "CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT={port}, MASTER_USER='{account}',
                 MASTER_PASSWORD='secret', MASTER_CONNECT_RETRY=1, MASTER_HEARTBEAT_PERIOD=0.5, {way};
                 START SLAVE;"
            ),
            _ => format!(
                "CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT={port}, SOURCE_USER='{account}',
                 SOURCE_PASSWORD='secret', SOURCE_CONNECT_RETRY=1, SOURCE_RETRY_COUNT=100000,
                 SOURCE_HEARTBEAT_PERIOD=0.5, {way} {channel};
                 START REPLICA {channel};"
            ),
        })?;
        self.follows = true;
        Ok(())
    }

    /// Follows nobody from now on.
    pub fn unfollow(&mut self) -> Result<()> {
        self.follows = false;
        self.sql("STOP REPLICA; RESET REPLICA ALL").map(drop)
    }

    /// SHOW REPLICA STATUS of each channel.
    pub fn statuses(&self) -> Result<Vec<Status>> {
        let statement =
            if self.kind() == ServerKind::MariaDb { "SHOW SLAVE STATUS" } else { "SHOW REPLICA STATUS" };
        let rows: Vec<Row> = connect(self.address()?)?.query(statement)?;
        Ok(rows.into_iter().map(by_column).collect())
    }

    /// An error where replication has stopped, but for what its operator mends.
    pub fn check(&self) -> Result<()> {
        if !self.follows {
            return Ok(());
        }
        let statuses = self.statuses()?;
        if statuses.is_empty() {
            return Err(format!("{} follows nobody any more", self.name()).into());
        }
        for status in &statuses {
            let (of_receiver, of_applier) =
                (column(status, "Last_IO_Errno"), column(status, "Last_SQL_Errno"));
            let passes = PASSING.contains(&of_receiver)
                || self.kind() == ServerKind::MariaDb && MARIADB_PASSING.contains(&of_receiver);
            // A MariaDB alone is followed by file and offset; nobody else may tear a file.
            let is_of_mariadb = self.kind() == ServerKind::Duramen && column(status, "Auto_Position") == "0";
            let file = file_after_torn(column(status, "Last_IO_Error"));
            if of_applier == "0"
                && let Some(file) = file.filter(|_| is_of_mariadb)
            {
                self.go_on_at(status, &file)?;
            } else if of_applier != "0" || !passes {
                return Err(format!("{} stopped: {}", self.name(), shown(status)).into());
            }
        }
        Ok(())
    }

    /// Receives from the beginning of this file, once all is applied that was received.
    fn go_on_at(&self, status: &Status, file: &str) -> Result<()> {
        let channel = column(status, "Channel_Name");
        let mut last = None;
        loop {
            let executed = self.statuses()?.into_iter().find(|s| column(s, "Channel_Name") == channel);
            let executed = executed.map(|status| {
                ["Relay_Source_Log_File", "Exec_Source_Log_Pos"].map(|name| column(&status, name).to_owned())
            });
            if last == Some(executed.clone()) {
                break;
            }
            last = Some(executed);
            thread::sleep(APPLIED_AFTER);
        }
        self.sql(&format!(
            "STOP REPLICA FOR CHANNEL '{channel}';
             CHANGE REPLICATION SOURCE TO SOURCE_LOG_FILE='{file}', SOURCE_LOG_POS=4 FOR CHANNEL '{channel}';
             START REPLICA FOR CHANNEL '{channel}';"
        ))?;
        Ok(())
    }

    /// The executed GTIDs, in one line.
    pub fn executed(&self) -> Result<String> {
        self.sql("SELECT REPLACE(@@GLOBAL.gtid_executed, CHAR(10), '')")
    }

    /// Waits until it holds all that `source` has. No session may change that meanwhile.
    pub fn await_source(&self, source: &Node, patience: Duration) -> Result<()> {
        let waited = match (self.kind(), source.kind()) {
            (ServerKind::MariaDb, kind) => {
                let is_same = kind == ServerKind::MariaDb;
                let end =
                    source.sql(if is_same { "SHOW MASTER STATUS" } else { "SHOW BINARY LOG STATUS" })?;
                let mut columns = end.split('\t');
                let (file, position) = (columns.next().unwrap_or(""), columns.next().unwrap_or(""));
                let there = format!("SELECT MASTER_POS_WAIT('{file}', {position}, 1)");
                await_that(&format!("{file}:{position}"), patience, || {
                    self.check()?;
                    Ok(!["-1", "NULL"].contains(&self.sql(&there)?.as_str()))
                })
            }
            (_, ServerKind::MariaDb) => {
                let end = source.sql("SHOW MASTER STATUS")?;
                let end: Vec<&str> = end.split('\t').take(2).collect();
                await_that(&format!("{end:?}"), patience, || {
                    self.check()?;
                    let is_at = |status: &Status| {
                        [column(status, "Relay_Source_Log_File"), column(status, "Exec_Source_Log_Pos")]
                            == *end
                    };
                    Ok(self.statuses()?.iter().any(is_at))
                })
            }
            _ => self.await_executed(&source.executed()?, patience),
        };
        waited.map_err(|e| {
            let statuses = self.statuses().unwrap_or_default();
            let shown: Vec<String> = statuses.iter().map(shown).collect();
            format!("{} has not all of {}: {e}; {}", self.name(), source.name(), shown.join("; ")).into()
        })
    }

    /// Waits until it has executed these GTIDs.
    pub fn await_executed(&self, gtids: &str, patience: Duration) -> Result<()> {
        let there = format!("SELECT WAIT_FOR_EXECUTED_GTID_SET('{gtids}', 1)");
        await_that(gtids, patience, || {
            self.check()?;
            Ok(self.sql(&there)? == "0")
        })
    }

    /// Ends all connections of its followers.
    pub fn cut(&self) {
        self.proxy.cut();
        self.for_mariadb.iter().for_each(Proxy::cut);
    }

    /// Kills it in the middle of whatever it does (SIGKILL).
    pub fn kill(&mut self) -> Result<()> {
        self.server.as_mut().ok_or("it is down already")?.kill()
    }

    /// True while its process runs.
    pub fn is_up(&mut self) -> Result<bool> {
        self.server.as_mut().ok_or("it is down already")?.is_up()
    }

    /// Starts it again on what it left behind; where it runs it is ended as an operator would.
    pub fn restart(&mut self) -> Result<()> {
        let server = self.server.take().ok_or("it could not be started")?;
        let server = server.restart()?;
        self.proxy.point_to(server.port());
        self.server = Some(server);
        Ok(())
    }

    /// Commits or takes back the branches of XA that kills left prepared, of the load with this
    /// suffix: others are replicated, and for their own source to end.
    pub fn end_branches(&self, suffix: &str, mut commits: impl FnMut() -> bool) -> Result<usize> {
        let mut conn = connect(self.address()?)?;
        let mut branches: Vec<(i32, usize, usize, Vec<u8>)> = conn.query("XA RECOVER")?;
        branches.retain(|(.., data)| String::from_utf8_lossy(data).contains(&format!("{suffix}-")));
        let count = branches.len();
        for (format, length, _, data) in branches {
            let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02X}")).collect::<String>();
            let (global, branch) = data.split_at(length.min(data.len()));
            let verb = if commits() { "COMMIT" } else { "ROLLBACK" };
            conn.query_drop(format!("XA {verb} X'{}',X'{}',{format}", hex(global), hex(branch)))?;
        }
        Ok(count)
    }

    /// The GTIDs of its log, in order, each as often as it is there.
    pub fn logged_gtids(&self) -> Result<Vec<String>> {
        let mut conn = connect(self.address()?)?;
        let files: Vec<Row> = conn.query("SHOW BINARY LOGS")?;
        let mut gtids = Vec::new();
        for file in files {
            let name: String = file.get(0).ok_or("a log file without a name")?;
            for row in conn.query_iter(format!("SHOW BINLOG EVENTS IN '{name}'"))? {
                let row = row?;
                let info: String = row.get(5).unwrap_or_default();
                let named = info.split_once("GTID_NEXT= '").and_then(|(_, rest)| rest.split_once('\''));
                gtids.extend(named.map(|(gtid, _)| gtid.to_owned()).filter(|gtid| gtid.contains(':')));
            }
        }
        Ok(gtids)
    }

    /// What is wrong with its log, by itself: a GTID that is there twice, or that is not executed,
    /// or is executed and not there. It may go on working.
    pub fn check_log(&self) -> Result<Vec<String>> {
        let before = self.executed()?;
        let gtids = self.logged_gtids()?;
        let (mut seen, mut wrong) = (HashSet::new(), Vec::new());
        for gtid in &gtids {
            if !seen.insert(gtid) {
                wrong.push(format!("{}: {gtid} is in the log twice", self.name()));
            }
        }
        let all = as_set(&gtids)?;
        let after = self.executed()?;
        let purged = self.sql("SELECT REPLACE(@@GLOBAL.gtid_purged, CHAR(10), '')")?;
        let lacks = self.sql(&format!("SELECT GTID_SUBTRACT('{before}', '{purged},{all}')"))?;
        let more = self.sql(&format!("SELECT GTID_SUBTRACT('{all}', '{after}')"))?;
        for (what, set) in [("executed and not in the log", lacks), ("in the log and not executed", more)] {
            if !set.is_empty() {
                wrong.push(format!("{}: {set} {what}", self.name()));
            }
        }
        Ok(wrong)
    }
}

/// Options of a server that is source and replica at once. Only processes are killed, which loses
/// nothing that the system was given: the peers do not wait for the disk, or they never catch up.
fn of_kind(kind: ServerKind) -> &'static [&'static str] {
    match kind {
        ServerKind::Duramen => &[
            "--binlog-large-commit-threshold=1M",
            "--replica-net-timeout=10",
            "--replica-transaction-retries=1000",
        ],
        ServerKind::MySql => &[
            "--log-bin-trust-function-creators=ON",
            "--relay-log-recovery=ON",
            "--replica-net-timeout=10",
            "--replica-parallel-workers=4",
            "--replica-preserve-commit-order=ON",
            "--replica-transaction-retries=1000",
            "--sync-binlog=0",
            "--innodb-flush-log-at-trx-commit=2",
        ],
        ServerKind::MariaDb => &[
            "--sync-binlog=0",
            "--innodb-flush-log-at-trx-commit=2",
            "--log-slave-updates=ON",
            "--log-bin-trust-function-creators=ON",
            "--relay-log-recovery=ON",
            "--innodb-log-file-size=64M",
            "--slave-net-timeout=10",
            "--slave-transaction-retries=1000",
        ],
    }
}

fn by_column(row: Row) -> Status {
    let names: Vec<String> = row.columns_ref().iter().map(|c| c.name_str().into_owned()).collect();
    let values = row.unwrap().into_iter().map(|value| match value {
        Value::NULL => "NULL".into(),
        Value::Bytes(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        other => other.as_sql(true),
    });
    names.into_iter().zip(values).collect()
}

/// GTIDs as one set, with ranges.
fn as_set(gtids: &[String]) -> Result<String> {
    let mut numbers: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for gtid in gtids {
        let (source, number) = gtid.rsplit_once(':').ok_or("a GTID without a number")?;
        numbers.entry(source).or_default().push(number.parse()?);
    }
    let mut set = Vec::new();
    for (source, mut numbers) in numbers {
        numbers.sort_unstable();
        let ranges = numbers.chunk_by(|a, b| b - a <= 1);
        let ranges = ranges.filter_map(|range| Some(format!(":{}-{}", range.first()?, range.last()?)));
        set.push(format!("{source}{}", ranges.collect::<String>()));
    }
    Ok(set.join(","))
}

/// A column of a status; empty where the server has none of the name.
pub fn column<'a>(status: &'a Status, name: &str) -> &'a str {
    status.get(name).map_or("", String::as_str)
}

/// A MariaDB that is killed may leave half of an event at a file's end, of a transaction that it
/// takes back when it starts. It sends the file up to there, then an error, to each reader: whoever
/// looks after its replicas names the next file, which this is.
fn file_after_torn(error: &str) -> Option<String> {
    if !error.contains("binlog truncated in the middle of event") {
        return None;
    }
    let (_, torn) = error.split_once("the last event read from '")?;
    let (name, number) = torn.split_once('\'')?.0.rsplit_once('.')?;
    Some(format!("{name}.{:06}", number.parse::<u64>().ok()? + 1))
}

/// What a person wants to see of a status.
fn shown(status: &Status) -> String {
    const NAMES: [&str; 12] = [
        "Channel_Name",
        "Replica_IO_State",
        "Slave_IO_State",
        "Last_IO_Errno",
        "Last_IO_Error",
        "Replica_SQL_Running_State",
        "Slave_SQL_Running_State",
        "Last_SQL_Errno",
        "Last_SQL_Error",
        "Retrieved_Gtid_Set",
        "Executed_Gtid_Set",
        "Exec_Source_Log_Pos",
    ];
    let named = NAMES.iter().filter_map(|name| Some(format!("{name}: {}", status.get(*name)?)));
    named.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::file_after_torn;

    #[test]
    fn the_file_after_a_torn_one_is_the_next() {
        let torn = "Got fatal error 1236 from source when reading data from binary log: 'binlog truncated in the middle of event; \
                    consider out of disk space on master; the first event '.' at 4, the last event read from 'binlog.000999' at 1428713, \
                    the last byte read from 'binlog.000999' at 1428732.'";
        assert_eq!(file_after_torn(torn).as_deref(), Some("binlog.001000"));
        assert_eq!(file_after_torn("Could not find first log file name in binary log index file"), None);
    }
}
