//! What a commit takes of processor and wire: a server of its own, for a moment, in this process.
//!
//! Clients and server share the process, so that what it takes of the processor is what a commit
//! costs both; what the clients' threads take is the clients' part. Flushes that fall into the
//! measurement are taken off, for the model adds its own.

use super::disk::Disk;
use super::load::{Load, Target};
use super::model::Machine;
use super::{ProbeError, Watch};
use crate::notify::Notifier;
use crate::options::{self, Command, Options};
use crate::server::Running;
use crate::stop::Stop;
use binlog::log::{FLUSH_DELAY, FLUSHES_MAX, LogStatus, SEQUENTIAL_FLUSH_MAX};
use env::Whose;
use std::path::Path;
use std::thread;
use std::time::Duration;

/// Clients that are few enough to let processors sleep, and do not wait for their own alone.
const FEW: usize = 4;
/// The clients of the measurement with many.
const MANY: usize = 16;
/// And of the one at full durability: enough that they share flushes, on a slow disk too. A flush's
/// share of the sixteen's time would be taken for theirs.
const CROWD: usize = 64;

/// The model's numbers, and those that only the report shows.
#[derive(Debug, Clone)]
pub(super) struct Measured {
    pub(super) machine: Machine,
    /// A round trip, in seconds.
    pub(super) round_trip: f64,
    /// Processor time of the clients for a commit, with many, in seconds.
    pub(super) client_work: f64,
    /// Processors of the machine; the model has those that were available.
    pub(super) installed: usize,
}

/// Starts a server in `folder`, measures it for about `time`, and stops it.
pub(super) fn measure(
    watch: &Watch,
    folder: &Path,
    disk: &Disk,
    time: Duration,
) -> Result<Measured, ProbeError> {
    let stop = Stop::default();
    let running = Running::start(watch.env.clone(), &options(watch, folder)?, stop.clone())?;
    let address = running.address().ok_or(ProbeError::NoAddress)?;
    let server = running.server().clone();
    let notifier = Notifier::none(watch.env.clone());
    let serving = thread::spawn(move || running.wait(&notifier));
    let target =
        Target { address, user: "root".into(), password: String::new(), database: "duramen_probe".into() };
    let measured = costs(watch, &target, server.database.log().status(), disk, time / 5);
    stop.request("the probe has what it wants");
    drop(server);
    serving.join().map_err(|_| ProbeError::Panicked)?;
    measured
}

fn options(watch: &Watch, folder: &Path) -> Result<Options, ProbeError> {
    let datadir = format!("--datadir={}", folder.join("data").display());
    let args = [&*datadir, "--port=0", "--bind-address=127.0.0.1"].map(str::to_owned);
    match options::parse(&*watch.env, &args).map_err(|e| ProbeError::Options(e.to_string()))? {
        Command::Serve(options) => Ok(options),
        Command::Help { .. } | Command::Version => Err(ProbeError::NoAddress),
    }
}

fn costs(
    watch: &Watch,
    target: &Target,
    log: &LogStatus,
    disk: &Disk,
    each: Duration,
) -> Result<Measured, ProbeError> {
    target.prepare(watch)?;
    let (ping, ping_work) = worked(watch, || target.round_trips(watch, each))?;
    // A load, the processor time of each commit, and the processors that all of it kept busy.
    let cost = |clients| -> Result<(Load, f64, f64), ProbeError> {
        let flushes = log.flushes.get();
        let (load, work) = worked(watch, || target.commits(watch, clients, each))?;
        let flushes = (log.flushes.get() - flushes) as f64;
        let flushing = disk.work * flushes / load.times.count().max(1) as f64;
        let busy = work * load.rate;
        Ok((load, (work - flushing).max(0.0), busy))
    };
    let set = |sync_binlog, trx_commit| {
        target.run(
            watch,
            &[
                format!("SET GLOBAL sync_binlog = {sync_binlog}"),
                format!("SET GLOBAL innodb_flush_log_at_trx_commit = {trx_commit}"),
            ],
        )
    };
    set(0, 2)?;
    let (_, commit_alone, _) = cost(1)?;
    let (together, commit_together, busy) = cost(MANY)?;
    set(1, 1)?;
    let (_, commit_durable, _) = cost(CROWD)?;
    let (few, ..) = cost(FEW)?;
    let installed = thread::available_parallelism().map_or(1, |n| n.get());
    let round_trip = ping.times.quantile(0.5);
    let flushes: Vec<_> = disk.parallel.iter().map(|p| (p.at_a_time, p.times.mean())).collect();
    let mut machine = Machine {
        processors: to_be_had(installed, busy),
        wire: (round_trip - ping_work).max(0.0),
        commit_alone,
        commit_together,
        waking: (commit_durable - commit_together).max(0.0),
        sleep: 0.0,
        flush_work: disk.work,
        overlap: overlap(&flushes),
        flushes,
        flush_late: disk.parallel.first().map_or(0.0, |p| p.times.quantile(0.99)),
        background_pause: FLUSH_DELAY.as_secs_f64(),
    };
    machine.explain(FEW, few.rate);
    Ok(Measured { machine, round_trip, client_work: together.client_work, installed })
}

/// How many flushes the server has going at a time: those that are soon over take turns.
fn overlap(flushes: &[(usize, f64)]) -> usize {
    let alone = flushes.first().map_or(0.0, |(_, time)| *time);
    if alone > SEQUENTIAL_FLUSH_MAX.as_secs_f64() { FLUSHES_MAX } else { 1 }
}

/// Other work on the machine takes its share of the processors: what is left is what many clients
/// who wait for nothing kept busy, where they are enough for all.
fn to_be_had(installed: usize, busy: f64) -> f64 {
    let all = installed as f64;
    if 2 * installed <= MANY { busy.clamp(0.1, all) } else { all }
}

/// A load, and the processor time that each of its requests took, the clients' included.
fn worked(watch: &Watch, load: impl FnOnce() -> Result<Load, ProbeError>) -> Result<(Load, f64), ProbeError> {
    let before = watch.env.processor_time(Whose::Process);
    let load = load()?;
    let took = watch.env.processor_time(Whose::Process).saturating_sub(before).as_secs_f64();
    let each = took / load.times.count().max(1) as f64;
    Ok((load, each))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flushes_that_are_soon_over_take_turns() {
        assert_eq!(overlap(&[(1, 150e-6), (16, 150e-6)]), 1);
        assert_eq!(overlap(&[(1, 600e-6), (16, 600e-6)]), FLUSHES_MAX);
    }

    #[test]
    fn other_work_takes_its_share_of_the_processors() {
        assert_eq!(to_be_had(2, 0.7), 0.7);
        assert_eq!(to_be_had(2, 2.3), 2.0);
        assert_eq!(to_be_had(64, 9.0), 64.0, "the clients are too few to tell");
    }
}
