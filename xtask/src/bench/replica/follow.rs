//! A server as a replica: put at a place of a source's log, started, awaited, compared. In the
//! words of MySQL, which are Duramen's, or in MariaDB's.

use super::source::{LogPlace, Snapshot, Source, sums};
use crate::Result;
use crate::bench::contender::{Contender, FILES_AHEAD};
use crate::bench::session;
use crate::bench::workload::Who;
use servers::ServerKind;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// After so long without the whole backlog, whether it still runs is looked at.
const SLICE_SECONDS: u32 = 2;
/// The longest that is waited for a backlog.
const PATIENCE: Duration = Duration::from_secs(3600);
/// Both threads in the rows of `SHOW REPLICA STATUS` and of MariaDB's `SHOW SLAVE STATUS`.
const RECEIVER_RUNS: usize = 10;
const APPLIER_RUNS: usize = 11;

/// A replica with a session that waits for it.
pub struct Following<'a> {
    server: &'a Contender,
    source: &'a Source,
    kind: ServerKind,
    session: UnixStream,
}

/// Which of the servers it is.
fn kind_of(who: Who) -> Result<ServerKind> {
    match who {
        Who::Duramen => Ok(ServerKind::Duramen),
        Who::MariaDb => Ok(ServerKind::MariaDb),
        Who::MySql { .. } => Ok(ServerKind::MySql),
        _ => Err("no replica is made of this server".into()),
    }
}

/// What a server needs to be started with to be a replica that writes a log of its own, in the
/// source's order.
pub fn arguments(who: Who) -> Vec<String> {
    match who {
        Who::Duramen => vec!["--server-id=21".into()],
        Who::MariaDb => vec![
            "--server-id=22".into(),
            "--log-slave-updates=ON".into(),
            "--slave-parallel-threads=8".into(),
            "--slave-parallel-mode=optimistic".into(),
        ],
        Who::MySql { workers } => vec![
            format!("--server-id={}", 30 + workers),
            format!("--replica-parallel-workers={workers}"),
            "--replica-preserve-commit-order=ON".into(),
            "--log-replica-updates=ON".into(),
            "--skip-replica-start=ON".into(),
            "--performance-schema=OFF".into(),
        ],
        _ => Vec::new(),
    }
}

impl<'a> Following<'a> {
    /// Makes the server a replica that has the snapshot and does not run yet.
    pub fn at(server: &'a Contender, source: &'a Source, snapshot: &Snapshot) -> Result<Self> {
        let kind = kind_of(server.who)?;
        let (forget, new_log) = match kind {
            ServerKind::MariaDb => ("STOP SLAVE; RESET SLAVE ALL", "RESET MASTER"),
            _ => ("STOP REPLICA; RESET REPLICA ALL", "RESET BINARY LOGS AND GTIDS"),
        };
        server.sql(&format!("{forget}; DROP DATABASE IF EXISTS sbtest"))?;
        server.sql(&snapshot.dump)?;
        server.sql(new_log)?;
        let following = Self { server, source, kind, session: session::log_in(server.address())? };
        server.sql(&following.change(&snapshot.place))?;
        // Those of the new log are made by now.
        server.set_files_ahead(FILES_AHEAD)?;
        Ok(following)
    }

    /// The statements that say whom to follow, and from where on.
    fn change(&self, from: &LogPlace) -> String {
        let (port, user, password) = self.source.login_of(self.kind);
        if self.kind == ServerKind::MariaDb {
            return format!(
                "SET GLOBAL gtid_slave_pos='{}';
                 CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT={port}, MASTER_USER='{user}', MASTER_PASSWORD='{password}',
                 MASTER_USE_GTID=slave_pos",
                from.mariadb_gtid
            );
        }
        let (purged, place) = if self.source.kind() == ServerKind::MariaDb {
            (String::new(), format!("SOURCE_LOG_FILE='{}', SOURCE_LOG_POS={}", from.file, from.offset))
        } else {
            (format!("SET GLOBAL gtid_purged='{}';", from.gtids), "SOURCE_AUTO_POSITION=1".to_owned())
        };
        format!(
            "{purged} CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT={port}, SOURCE_USER='{user}',
             SOURCE_PASSWORD='{password}', SOURCE_SSL=0, GET_SOURCE_PUBLIC_KEY=1, {place}"
        )
    }

    /// From the snapshot on, or from where it was stopped.
    pub fn start(&mut self) -> Result<()> {
        let start = if self.kind == ServerKind::MariaDb { "START SLAVE" } else { "START REPLICA" };
        session::query(&mut self.session, start)
    }

    /// Returns as soon as it has all up to this place; fails where it stops before.
    pub fn wait_for(&mut self, place: &LogPlace) -> Result<()> {
        let wait = match (self.kind, self.source.kind()) {
            (ServerKind::MariaDb, _) => {
                format!("SELECT MASTER_GTID_WAIT('{}', {SLICE_SECONDS})", place.mariadb_gtid)
            }
            (_, ServerKind::MariaDb) => {
                format!("SELECT SOURCE_POS_WAIT('{}', {}, {SLICE_SECONDS})", place.file, place.offset)
            }
            _ => format!("SELECT WAIT_FOR_EXECUTED_GTID_SET('{}', {SLICE_SECONDS})", place.gtids),
        };
        // Of a position it may be how many events were waited for; of a set, 1 is that time is
        // over.
        let is_by_position = wait.contains("POS_WAIT");
        let began = Instant::now();
        while began.elapsed() < PATIENCE {
            let answer: Option<i64> =
                session::value(&mut self.session, &wait)?.map(|n| n.parse()).transpose()?;
            if answer.is_some_and(|n| n == 0 || n > 0 && is_by_position) {
                return Ok(());
            }
            self.check()?;
        }
        Err(format!("{} has not caught up in {} s", self.server.name, PATIENCE.as_secs()).into())
    }

    /// An error where one of its threads has ended.
    fn check(&self) -> Result<()> {
        let show = if self.kind == ServerKind::MariaDb { "SHOW SLAVE STATUS" } else { "SHOW REPLICA STATUS" };
        let status = self.server.sql(show)?;
        let columns: Vec<&str> = status.split('\t').collect();
        let says = |n: usize, what: &str| columns.get(n).is_some_and(|column| *column == what);
        if says(RECEIVER_RUNS, "No") || !says(APPLIER_RUNS, "Yes") {
            return Err(format!("{} has stopped: {status}", self.server.name).into());
        }
        Ok(())
    }

    /// Stops it, and compares its rows with the source's.
    pub fn stop(self) -> Result<()> {
        self.server.sql(if self.kind == ServerKind::MariaDb { "STOP SLAVE" } else { "STOP REPLICA" })?;
        let (ours, theirs) = (self.server.sql(&sums())?, self.source.rows()?);
        if ours == theirs {
            Ok(())
        } else {
            Err(format!("{} has other rows than its source: {ours} and {theirs}", self.server.name).into())
        }
    }
}
