//! A source that changes, with semi-synchronous acknowledgement: nothing that a client was told is
//! committed is missing afterwards.
//!
//! Planned: the source takes no more changes, its replica catches up and is the source from then
//! on, and the old source follows it. Unplanned: the source is killed in the middle of its work and
//! lost with all its data, the replica (which may be killed with it) is the source, and an empty
//! server becomes its replica. The load goes on all the time, at whoever is the source.

use crate::load::{Acknowledged, Load, Share, prepare_writers};
use crate::node::{Node, Spec, column};
use crate::run::patience;
use crate::{Options, Outcome, Result};
use followers::workload::{Features, Suffix};
use followers::{await_that, compare, connect};
use servers::ServerKind;
use std::collections::BTreeMap;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};
use stdx::random::Random;

/// The topologies of this file: who is the first source, and who its replica. After each loss of a
/// source the new server is of the lost one's kind.
pub const NAMES: [&str; 2] = ["switch", "switch-with-mysql"];

const DATABASE: &str = "appended";

/// Runs the switches of this name. What it finds is in the outcome; an error is a finding as well.
pub fn run(name: &str, options: &Options) -> Outcome {
    let other = if name == "switch" { ServerKind::Duramen } else { ServerKind::MySql };
    let mut outcome = Outcome::default();
    if let Err(e) = switches(other, options, &mut outcome) {
        outcome.findings.push(e.to_string());
    }
    outcome
}

/// A server that stands in for a lost one needs a `server_id` of its own: a replica passes over
/// what has its own.
fn start(folder: &Path, kind: ServerKind, name: &'static str, id: u32, options: &Options) -> Result<Node> {
    let args = match kind {
        // What it has acknowledged is in its relay log, and nowhere else once the source is lost.
        ServerKind::MySql => vec![
            "--plugin-load-add=semisync_source.so;semisync_replica.so".to_owned(),
            "--relay-log-recovery=OFF".to_owned(),
        ],
        _ => Vec::new(),
    };
    let spec = Spec { name, kind, id, for_mariadb: false, args, binary: options.binary.clone() };
    let node = Node::start(folder, spec)?;
    if kind == ServerKind::Duramen {
        node.sql("INSTALL PLUGIN rpl_semi_sync_replica SONAME 'semisync_replica.so'")?;
    }
    Ok(node)
}

/// Follows as a replica that acknowledges.
fn follow(replica: &mut Node, source: &Node) -> Result<()> {
    replica.sql(
        "SET GLOBAL rpl_semi_sync_source_enabled = OFF; SET GLOBAL rpl_semi_sync_replica_enabled = ON",
    )?;
    replica.follow(source, "")
}

/// From now on its commits wait until a replica has them.
fn promote(node: &Node) -> Result<()> {
    node.sql(
        "SET GLOBAL rpl_semi_sync_source_timeout = 600000; SET GLOBAL rpl_semi_sync_source_enabled = ON;
         SET GLOBAL super_read_only = OFF; SET GLOBAL read_only = OFF",
    )
    .map(drop)
}

fn await_clients(source: &Node) -> Result<()> {
    await_that("a replica that acknowledges", Duration::from_secs(60), || {
        let row = source.sql("SHOW STATUS LIKE 'Rpl_semi_sync_source_clients'")?;
        Ok(row.split('\t').nth(1).map(str::trim) == Some("1"))
    })
}

/// The source, its replica, and who works.
struct Pair {
    source: Node,
    replica: Node,
    load: Load,
    random: Random,
    met: BTreeMap<&'static str, u64>,
    begun: Instant,
    /// What the source said of [`gave_up`] when it became the source: a MySQL counts the end of its
    /// time as a source, too.
    gave_up_before: String,
}

/// So often the source has stopped waiting for its replica.
fn gave_up(source: &Node) -> Result<String> {
    source.sql("SHOW STATUS LIKE 'Rpl_semi_sync_source_no_times'")
}

fn switches(other: ServerKind, options: &Options, outcome: &mut Outcome) -> Result<()> {
    let source = start(&options.folder, other, "left", 41, options)?;
    let mut replica = start(&options.folder, ServerKind::Duramen, "right", 42, options)?;
    // A MySQL whose account statement waits for an acknowledgement lets nobody log in, nor the
    // replica that would acknowledge.
    let features = Features { xa: false, accounts: other != ServerKind::MySql, ..Features::ALL };
    let share = Share { features, suffix: Suffix(""), first_writer: 1, database: DATABASE };
    prepare_writers(source.address()?, DATABASE)?;
    share.prepare(source.address()?)?;
    follow(&mut replica, &source)?;
    promote(&source)?;
    await_clients(&source)?;
    let load = Load::start(source.address()?, share, options.seed);
    let mut pair = Pair {
        gave_up_before: gave_up(&source)?,
        source,
        replica,
        load,
        random: Random::new(options.seed),
        met: BTreeMap::new(),
        begun: Instant::now(),
    };
    let mut troubled = Ok(());
    while pair.begun.elapsed() < options.time && troubled.is_ok() {
        thread::sleep(Duration::from_millis(500 + pair.random.below(3000)));
        // Whoever waits for a replica that has stopped waits for ever.
        troubled = pair.replica.check();
        if troubled.is_err() {
            break;
        }
        troubled = if pair.random.chance(1, 2) {
            pair.planned(options, outcome)
        } else {
            pair.lost(options, outcome)
        };
    }
    pair.end(options, outcome, troubled)
}

impl Pair {
    fn meets(&mut self, what: &'static str, outcome: &mut Outcome) {
        *self.met.entry(what).or_default() += 1;
        let seconds = self.begun.elapsed().as_secs_f64();
        outcome.lines.push(format!("{seconds:.1} s, source {}: {what}", self.source.name()));
    }

    /// The replica becomes the source while both are up.
    fn planned(&mut self, options: &Options, outcome: &mut Outcome) -> Result<()> {
        self.meets("planned", outcome);
        self.source.sql("SET GLOBAL super_read_only = ON")?;
        self.replica.await_source(&self.source, patience(options))?;
        self.replica.unfollow()?;
        self.source.sql("SET GLOBAL rpl_semi_sync_source_enabled = OFF")?;
        promote(&self.replica)?;
        self.gave_up_before = gave_up(&self.replica)?;
        std::mem::swap(&mut self.source, &mut self.replica);
        self.load.moved(self.source.address()?);
        // Sessions that stay at the old source are only refused; a new one is at the new.
        let ids =
            "SELECT id FROM information_schema.processlist WHERE user = 'root' AND id <> CONNECTION_ID()";
        for id in self.replica.sql(ids)?.lines() {
            // It may have ended.
            let _ = self.replica.sql(&format!("KILL {id}"));
        }
        follow(&mut self.replica, &self.source)?;
        await_clients(&self.source)
    }

    /// The source is lost with its data.
    fn lost(&mut self, options: &Options, outcome: &mut Outcome) -> Result<()> {
        let gave_up_now = gave_up(&self.source)?;
        if gave_up_now != self.gave_up_before {
            return Err(format!("{} did not wait for its replica: {gave_up_now}", self.source.name()).into());
        }
        let spec = self.source.spec().clone();
        self.source.kill()?;
        let acknowledged = self.load.acknowledged_so_far();
        let is_killed = self.random.chance(1, 3);
        self.meets(if is_killed { "lost, replica killed" } else { "lost" }, outcome);
        if is_killed {
            self.replica.kill()?;
            self.replica.restart()?;
        }
        // What it has received it applies by itself, a MySQL from its relay log.
        self.await_applied(options)?;
        let mut conn = connect(self.replica.address()?)?;
        for of_writer in acknowledged {
            let lost = of_writer.missing_at(&mut conn, DATABASE)?;
            outcome
                .findings
                .extend(lost.map(|text| format!("after a loss, {}: {text}", self.replica.name())));
        }
        self.replica.unfollow()?;
        promote(&self.replica)?;
        self.gave_up_before = gave_up(&self.replica)?;
        let fresh = start(&options.folder, spec.kind, spec.name, spec.id + 2, options)?;
        self.source = std::mem::replace(&mut self.replica, fresh);
        // What was acknowledged before is on one machine only, until the new one has it.
        let held = self.source.executed()?;
        self.load.moved(self.source.address()?);
        follow(&mut self.replica, &self.source)?;
        await_clients(&self.source)?;
        self.replica.await_executed(&held, patience(options))
    }

    fn await_applied(&self, options: &Options) -> Result<()> {
        await_that("what was received", patience(options), || {
            let status = self.replica.statuses()?.pop().ok_or("no status")?;
            let (received, executed) =
                (column(&status, "Retrieved_Gtid_Set"), column(&status, "Executed_Gtid_Set"));
            let one_line = |set: &str| set.replace('\n', "");
            let subset = format!("SELECT GTID_SUBSET('{}', '{}')", one_line(received), one_line(executed));
            if column(&status, "Last_SQL_Errno") != "0" {
                return Err(format!(
                    "{} stopped: {}",
                    self.replica.name(),
                    column(&status, "Last_SQL_Error")
                )
                .into());
            }
            // A Duramen has in its log what it acknowledged: what it has received beyond is lost
            // with a source that is gone.
            let is_idle = column(&status, "Replica_SQL_Running_State").contains("waiting for more updates");
            Ok(is_idle || self.replica.sql(&subset)? == "1")
        })
    }

    fn end(self, options: &Options, outcome: &mut Outcome, troubled: Result<()>) -> Result<()> {
        if troubled.is_err() {
            // Its clients wait for a replica that does not answer.
            self.source.sql("SET GLOBAL rpl_semi_sync_source_enabled = OFF")?;
        }
        let done = self.load.stop()?;
        let count: usize = done.acknowledged.iter().map(Acknowledged::count).sum();
        outcome.lines.push(format!("{:?}; {count} acknowledged appends, {}", self.met, done.report));
        troubled?;
        self.replica.await_source(&self.source, patience(options))?;
        let differences = compare::differences(
            &mut connect(self.source.address()?)?,
            &mut connect(self.replica.address()?)?,
        )?;
        outcome.findings.extend(differences);
        for node in [&self.source, &self.replica] {
            node.check()?;
            outcome.findings.extend(node.check_log()?);
            let mut conn = connect(node.address()?)?;
            for of_writer in &done.acknowledged {
                let wrong = of_writer.wrong_at(&mut conn, DATABASE)?;
                outcome.findings.extend(wrong.into_iter().map(|text| format!("{}: {text}", node.name())));
            }
        }
        Ok(())
    }
}
