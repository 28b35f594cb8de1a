//! A server that takes part: started here on a disk that can be slowed, or given by its address.

use super::options::Options;
use super::workload::{Durability, Who};
use super::{SERVERS, callgrind};
use crate::Result;
use servers::disk::{Disk, Seen};
use servers::{Address, Launch, Running, ServerKind};
use std::cell::Cell;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// A server that takes part.
pub struct Contender {
    pub who: Who,
    pub name: String,
    address: Address,
    local: Option<Local>,
    /// What a server given by address had before.
    before: Option<String>,
    /// What [`set_files_ahead`](Self::set_files_ahead) was set to last.
    files_ahead: Cell<Option<u32>>,
}

struct Local {
    running: Running,
    disk: Disk,
}

/// What is counted while work runs.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counts {
    /// What the preload library saw of the disk.
    pub disk: Option<Seen>,
    /// The server's processor time, its own and the kernel's for it.
    pub cpu: Option<Duration>,
    /// The whole machine's: what its processors worked, and could have.
    pub machine: (u64, u64),
    /// Transactions in the binary log, groups they went in, and their bytes.
    pub commits: u64,
    pub groups: u64,
    pub bytes: u64,
    /// New log files that were to come from those made ahead, and did, and did not.
    pub pool_hits: u64,
    pub pool_misses: u64,
}

/// What workloads make.
const DROP_ALL: &str = "DROP DATABASE IF EXISTS sbtest; DROP DATABASE IF EXISTS zwx; \
                        DROP DATABASE IF EXISTS test_case_9; DROP DATABASE IF EXISTS mysqlslap";

/// Files that Duramen makes ahead, except where a workload says otherwise.
pub const FILES_AHEAD: u32 = 2;
const FILES_MADE_WITHIN: Duration = Duration::from_secs(120);

impl Contender {
    /// Starts it with further arguments, or finds it at its address.
    pub fn new(who: Who, options: &Options, args: Vec<String>) -> Result<Self> {
        let names: Vec<&str> = options.peers.iter().map(|p| p.name.as_str()).collect();
        let name = who.name(&names);
        let folder = Path::new(SERVERS);
        if let Who::Peer(n) = who {
            let address = options.peers[n].address.clone();
            let before = address
                .sql("SELECT CONCAT('SET GLOBAL sync_binlog=', @@sync_binlog, ', innodb_flush_log_at_trx_commit=', @@innodb_flush_log_at_trx_commit)")
                .map_err(|e| format!("{name}: {e}"))?;
            return Ok(Self {
                who,
                name,
                address,
                local: None,
                before: Some(before),
                files_ahead: Cell::new(None),
            });
        }
        let folder = folder.join(match who {
            Who::DuramenCounted => "counted".to_owned(),
            Who::MariaDbWithoutLog => "without-log".to_owned(),
            // There may be several.
            Who::MySql { workers } => format!("workers-{workers}"),
            _ => "with-log".to_owned(),
        });
        let kind = match who {
            Who::Duramen | Who::DuramenCounted => ServerKind::Duramen,
            Who::MySql { .. } => ServerKind::MySql,
            _ => ServerKind::MariaDb,
        };
        let disk = Disk::new(&folder.join(format!("{}-disk", kind.name())))?;
        let mut launch = Launch::new(kind, &folder)?.binary(options.duramen()).variables(disk.variables());
        launch = match who {
            Who::DuramenCounted => launch.under(callgrind::COMMAND.map(str::to_owned)),
            Who::MariaDbWithoutLog => launch.arg("--skip-log-bin"),
            _ => launch,
        };
        let running = args.into_iter().fold(launch, Launch::arg).start()?;
        let address = if options.peers.is_empty() { running.address().clone() } else { tcp(&running)? };
        Ok(Self {
            who,
            name,
            address,
            local: Some(Local { running, disk }),
            before: None,
            files_ahead: Cell::new(None),
        })
    }

    /// The arguments of client programs.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Runs a script through `mariadb`.
    pub fn sql(&self, script: &str) -> Result<String> {
        self.address.sql(script).map_err(|e| format!("{}: {e}", self.name).into())
    }

    /// What it calls itself.
    pub fn version(&self) -> Result<String> {
        Ok(format!("{} {}", self.name, self.sql("SELECT VERSION()")?))
    }

    /// The environment of a program that is to see this server's disk; none where that is not
    /// known.
    pub fn disk_variables(&self) -> Option<[(String, String); 2]> {
        self.local.as_ref().map(|local| local.disk.variables())
    }

    /// Its process, if it was started here.
    pub fn pid(&self) -> Option<u32> {
        self.local.as_ref().map(|local| local.running.pid())
    }

    /// Sets both settings, for the next commit on.
    pub fn set_durability(&self, durability: Durability) -> Result<()> {
        let Durability { sync_binlog, trx_commit } = durability;
        let script =
            format!("SET GLOBAL sync_binlog={sync_binlog}, innodb_flush_log_at_trx_commit={trx_commit}");
        self.sql(&script).map(drop)
    }

    /// Has Duramen make so many files ahead, and begin one of them, or a plain one where there are
    /// none; waits until they are there. The others have nothing like it.
    pub fn set_files_ahead(&self, files: u32) -> Result<()> {
        if self.who != Who::Duramen {
            return Ok(());
        }
        if self.files_ahead.replace(Some(files)) != Some(files) {
            self.sql(&format!("SET GLOBAL binlog_prealloc_num={files}"))?;
            self.wait_for_files(files)?;
            self.sql("FLUSH BINARY LOGS")?;
        }
        self.wait_for_files(files)
    }

    fn wait_for_files(&self, files: u32) -> Result<()> {
        let began = Instant::now();
        while began.elapsed() < FILES_MADE_WITHIN {
            let status = self.sql("SHOW GLOBAL STATUS LIKE 'Duramen_prealloc_files'")?;
            if status.split_whitespace().next_back() == Some(&files.to_string()) {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Err(format!("{} has not made {files} files in {} s", self.name, FILES_MADE_WITHIN.as_secs()).into())
    }

    /// Each flush takes so much longer from now on. A server given by address cannot be slowed.
    pub fn delay_flushes(&self, by: Duration) -> Result<()> {
        match &self.local {
            Some(local) => local.disk.delay_flushes(by),
            None if by.is_zero() => Ok(()),
            None => Err(format!("the flushes of {} cannot be slowed from here", self.name).into()),
        }
    }

    /// What was counted so far.
    pub fn counts(&self) -> Result<Counts> {
        let status = self
            .sql("SHOW GLOBAL STATUS LIKE 'Binlog\\_%'; SHOW GLOBAL STATUS LIKE 'Duramen\\_prealloc\\_%'")?;
        let value = |name: &str| {
            let row = status.lines().filter_map(|l| l.split_once('\t')).find(|(n, _)| *n == name);
            row.and_then(|(_, v)| v.parse().ok()).unwrap_or(0)
        };
        let local = self.local.as_ref();
        Ok(Counts {
            disk: local.map(|l| l.disk.seen()).transpose()?,
            cpu: local.map(|l| processor_time(l.running.pid())).transpose()?,
            machine: ticks_of_the_machine()?,
            commits: value("Binlog_commits"),
            groups: value("Binlog_group_commits"),
            bytes: value("Binlog_bytes_written"),
            pool_hits: value("Duramen_prealloc_hits"),
            pool_misses: value("Duramen_prealloc_misses"),
        })
    }

    /// Leaves it as it was found.
    pub fn stop(self) -> Result<()> {
        match (self.local, self.before) {
            (Some(local), _) => local.running.stop(),
            (None, Some(before)) => self.address.sql(&format!("{DROP_ALL}; {before}")).map(drop),
            (None, None) => Ok(()),
        }
    }
}

impl Counts {
    /// What was counted since `before`.
    pub fn since(self, before: Self) -> Self {
        Self {
            disk: self.disk.zip(before.disk).map(|(now, then)| now.since(then)),
            cpu: self.cpu.zip(before.cpu).map(|(now, then)| now.saturating_sub(then)),
            machine: (self.machine.0 - before.machine.0, self.machine.1 - before.machine.1),
            commits: self.commits.saturating_sub(before.commits),
            groups: self.groups.saturating_sub(before.groups),
            bytes: self.bytes.saturating_sub(before.bytes),
            pool_hits: self.pool_hits.saturating_sub(before.pool_hits),
            pool_misses: self.pool_misses.saturating_sub(before.pool_misses),
        }
    }
}

/// The way that servers given by address are reached too: a user that may come over TCP.
fn tcp(running: &Running) -> Result<Address> {
    running.sql(
        "CREATE USER IF NOT EXISTS bench@'%' IDENTIFIED BY 'bench'; GRANT ALL ON *.* TO bench@'%' WITH GRANT OPTION",
    )?;
    Ok(Address::tcp("127.0.0.1", running.port(), "bench", "bench"))
}

/// From `/proc/PID/stat`, whose fields 14 and 15 are ticks of a hundredth of a second; the name
/// before them may have blanks.
fn processor_time(pid: u32) -> Result<Duration> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let after = stat.rsplit_once(')').ok_or("no name in /proc/PID/stat")?.1;
    let ticks = after
        .split_whitespace()
        .skip(11)
        .take(2)
        .map(str::parse::<u64>)
        .sum::<std::result::Result<u64, _>>()?;
    Ok(Duration::from_millis(ticks * 10))
}

/// From the first line of `/proc/stat`, whose fields are ticks: all but the fourth and fifth, idle
/// and waiting for disks, are work; and all of them.
fn ticks_of_the_machine() -> Result<(u64, u64)> {
    let stat = fs::read_to_string("/proc/stat")?;
    let line = stat.lines().next().ok_or("nothing in /proc/stat")?;
    // What guests take is counted in the first two already.
    let ticks: Vec<u64> =
        line.split_whitespace().skip(1).take(8).map(str::parse).collect::<std::result::Result<_, _>>()?;
    let (all, idle) = (ticks.iter().sum::<u64>(), ticks.iter().skip(3).take(2).sum::<u64>());
    Ok((all - idle, all))
}
