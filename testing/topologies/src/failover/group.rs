//! Three servers set up as docs/failover.md says, each in a network of its own.

use super::network::{LinkEnd, Network};
use crate::Result;
use servers::{Address, Launch, Running, ServerKind};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

pub(super) const MEMBERS: usize = 3;
const PORT: u16 = 3306;
const ACCOUNTS: &str = "
    CREATE USER app@'%' IDENTIFIED WITH mysql_native_password BY 'secret';
    GRANT ALL ON *.* TO app@'%';
    CREATE USER admin@'%' IDENTIFIED BY 'secret';
    GRANT ALL ON *.* TO admin@'%';
    CREATE USER repl@'%' IDENTIFIED BY 'secret';
    GRANT REPLICATION SLAVE ON *.* TO repl@'%';";

/// Servers, some of which may be down or stopped.
#[derive(Debug)]
pub(super) struct Group {
    // Servers end before their network goes.
    members: Vec<Member>,
    pub(super) network: Network,
    folder: PathBuf,
    binary: PathBuf,
    /// So often a member was made anew.
    made_anew: u64,
}

#[derive(Debug)]
struct Member {
    server: Option<Running>,
    /// By SIGSTOP.
    is_frozen: bool,
}

/// What `duramen failover` came to.
#[derive(Debug)]
pub(super) struct Done {
    pub(super) code: Option<i32>,
    pub(super) said: String,
}

impl Done {
    /// Done, perhaps with warnings.
    pub(super) fn is_done(&self) -> bool {
        matches!(self.code, Some(0 | 1))
    }
}

impl Group {
    /// Starts all; the first one is the source.
    pub(super) fn start(folder: &Path, binary: Option<&Path>) -> Result<Self> {
        let binary = match binary {
            Some(binary) => binary.to_owned(),
            None => servers::duramen()?,
        };
        let network = Network::new(MEMBERS)?;
        let mut group =
            Self { members: Vec::new(), network, folder: folder.to_owned(), binary, made_anew: 0 };
        for number in 0..MEMBERS {
            let server = Some(group.fresh(number)?);
            group.members.push(Member { server, is_frozen: false });
        }
        group.sql(0, "SET GLOBAL super_read_only = OFF; SET GLOBAL read_only = OFF")?;
        group.sql(0, ACCOUNTS)?;
        for number in 1..MEMBERS {
            group.follow(number, 0)?;
        }
        group.sql(
            0,
            "SET GLOBAL rpl_semi_sync_source_timeout = 4294967295; SET GLOBAL rpl_semi_sync_source_enabled = ON",
        )?;
        Ok(group)
    }

    /// A server without anything. One that stands in for a lost one needs a `server_id` of its own:
    /// a replica passes over what has its own.
    fn fresh(&self, number: usize) -> Result<Running> {
        let id = 71 + number as u64 + self.made_anew * MEMBERS as u64;
        let server = Launch::new(ServerKind::Duramen, &self.folder.join(format!("member{number}")))?
            .binary(&self.binary)
            .under(self.network.tool(number))
            .arg(format!("--server-id={id}"))
            .arg("--bind-address=0.0.0.0")
            .arg(format!("--port={PORT}"))
            .arg(format!("--report-host={}", self.network.address(LinkEnd::Member(number))))
            .arg("--super-read-only=ON")
            .arg("--replica-net-timeout=4")
            .arg("--innodb-buffer-pool-size=128M")
            .start()?;
        server.sql(
            "SET GLOBAL super_read_only = OFF;
             INSTALL PLUGIN rpl_semi_sync_source SONAME 'semisync_source.so';
             INSTALL PLUGIN rpl_semi_sync_replica SONAME 'semisync_replica.so';
             RESET BINARY LOGS AND GTIDS;
             SET GLOBAL super_read_only = ON",
        )?;
        Ok(server)
    }

    fn follow(&self, replica: usize, source: usize) -> Result<()> {
        self.sql(
            replica,
            &format!(
                "CHANGE REPLICATION SOURCE TO SOURCE_HOST = '{}', SOURCE_PORT = {PORT}, SOURCE_USER = 'repl',
                     SOURCE_PASSWORD = 'secret', GET_SOURCE_PUBLIC_KEY = 1, SOURCE_AUTO_POSITION = 1,
                     SOURCE_CONNECT_RETRY = 1, SOURCE_RETRY_COUNT = 1000000, SOURCE_HEARTBEAT_PERIOD = 1;
                 SET GLOBAL rpl_semi_sync_replica_enabled = ON;
                 START REPLICA",
                self.network.address(LinkEnd::Member(source))
            ),
        )
        .map(drop)
    }

    /// Runs a script over the member's own socket, which no cut reaches.
    pub(super) fn sql(&self, number: usize, script: &str) -> Result<String> {
        let member = &self.members[number];
        let server = member.server.as_ref().ok_or("it is down")?;
        if member.is_frozen {
            return Err("it is frozen".into());
        }
        server.sql(script).map_err(|e| format!("member {number}: {e}").into())
    }

    /// Where clients reach it.
    pub(super) fn address(&self, number: usize) -> Address {
        Address::tcp(&self.network.address(LinkEnd::Member(number)), PORT, "app", "secret")
    }

    pub(super) fn addresses(&self) -> Vec<Address> {
        (0..MEMBERS).map(|number| self.address(number)).collect()
    }

    /// Its local address, for those who read everything in the end.
    pub(super) fn socket(&self, number: usize) -> Result<Address> {
        Ok(self.members[number].server.as_ref().ok_or("it is down")?.address().clone())
    }

    /// Those that take writes.
    pub(super) fn sources(&self) -> Vec<usize> {
        let takes_writes = |number: &usize| {
            self.sql(*number, "SELECT @@GLOBAL.super_read_only OR @@GLOBAL.read_only")
                .is_ok_and(|on| on == "0")
        };
        (0..MEMBERS).filter(takes_writes).collect()
    }

    pub(super) fn kill(&mut self, number: usize) -> Result<()> {
        match self.members[number].server.as_mut() {
            Some(server) => server.kill(),
            None => Ok(()),
        }
    }

    /// SIGSTOP, as a machine that hangs.
    pub(super) fn freeze(&mut self, number: usize, freezes: bool) -> Result<()> {
        let member = &mut self.members[number];
        let Some(server) = member.server.as_ref().filter(|_| member.is_frozen != freezes) else {
            return Ok(());
        };
        let signal = if freezes { "-STOP" } else { "-CONT" };
        Command::new("kill").args([signal, &server.pid().to_string()]).status()?;
        member.is_frozen = freezes;
        Ok(())
    }

    /// Everything works again: links, frozen servers, and those that were killed.
    pub(super) fn mend(&mut self) -> Result<()> {
        self.network.heal()?;
        for number in 0..MEMBERS {
            self.freeze(number, false)?;
            let member = &mut self.members[number];
            if let Some(server) = &mut member.server
                && !server.is_up()?
            {
                let server = member.server.take().ok_or("it is down")?;
                member.server = Some(server.restart()?);
            }
        }
        Ok(())
    }

    /// Runs `duramen failover` for all members.
    pub(super) fn failover(&self, options: &[String]) -> Result<Done> {
        let names = (0..MEMBERS).map(|number| self.name(number));
        let output = Command::new(&self.binary)
            .arg("failover")
            .args(names)
            .args(["--user=admin", "--password=secret", "--wait=5"])
            .args(["--replication-user=repl", "--replication-password=secret"])
            .args(options)
            .output()?;
        let said = [output.stdout, output.stderr].concat();
        Ok(Done { code: output.status.code(), said: String::from_utf8_lossy(&said).into_owned() })
    }

    /// As the command calls it.
    pub(super) fn name(&self, number: usize) -> String {
        format!("{}:{PORT}", self.network.address(LinkEnd::Member(number)))
    }

    /// Makes each member anew that has executed what the source has not: nobody was told of that.
    pub(super) fn make_anew(&mut self, source: usize) -> Result<bool> {
        let executed = "SELECT REPLACE(@@GLOBAL.gtid_executed, CHAR(10), '')";
        let mut has_made = false;
        for number in (0..MEMBERS).filter(|number| *number != source) {
            let its = self.sql(number, executed)?;
            if self.sql(source, &format!("SELECT GTID_SUBSET('{its}', @@GLOBAL.gtid_executed)"))? == "1" {
                continue;
            }
            self.made_anew += 1;
            self.members[number].server = None;
            self.members[number].server = Some(self.fresh(number)?);
            self.follow(number, source)?;
            has_made = true;
        }
        Ok(has_made)
    }

    /// Starts those again that take writes beside the source.
    pub(super) fn restart_other_sources(&mut self, source: usize) -> Result<()> {
        for number in self.sources().into_iter().filter(|other| *other != source) {
            self.kill(number)?;
        }
        self.mend()
    }

    pub(super) fn made_anew(&self) -> u64 {
        self.made_anew
    }

    /// Whether all follow the source and have what it has; meanwhile sessions may work.
    pub(super) fn is_whole(&self, source: usize) -> Result<bool> {
        let clients = self.sql(source, "SHOW STATUS LIKE 'Rpl_semi_sync_source_clients'")?;
        Ok(clients.split('\t').nth(1) == Some(&(MEMBERS - 1).to_string()))
    }

    /// Waits until a member has all that the source has.
    pub(super) fn await_all(&self, number: usize, source: usize) -> Result<()> {
        let executed = self.sql(source, "SELECT REPLACE(@@GLOBAL.gtid_executed, CHAR(10), '')")?;
        followers::await_that("all that the source has", Duration::from_secs(60), || {
            Ok(self.sql(number, &format!("SELECT WAIT_FOR_EXECUTED_GTID_SET('{executed}', 1)"))? == "0")
        })
    }
}
