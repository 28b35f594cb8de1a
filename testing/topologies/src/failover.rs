//! Three servers whose source changes by `duramen failover`, under sessions that append to lists,
//! while servers are killed, hang, and are cut off from each other and from their clients.
//!
//! A program as an operator would write it runs the command until it succeeds, and then again until
//! all servers follow the new source. In the end nothing that was acknowledged is missing, and what
//! the sessions read has no isolation anomaly: two sources that took writes at once would be one.

mod group;
mod network;

use crate::appends::{self, Appends};
use crate::{Options, Outcome, Result};
use followers::compare;
use followers::connect;
use group::{Group, MEMBERS};
use network::LinkEnd;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use stdx::random::Random;

const SESSIONS: u64 = 8;
/// How long the command may be tried.
const PATIENCE: Duration = Duration::from_secs(120);

/// What happens to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trouble {
    Planned,
    SourceKilled,
    SourceFrozen,
    /// From clients, operator and replicas.
    SourceCutOff,
    /// Its clients and the operator still reach it.
    SourceCutFromReplicas,
    ReplicaKilled,
    ReplicaFrozen,
    ReplicaCutOff,
}

impl Trouble {
    const ALL: [Trouble; 8] = {
        use Trouble::*;
        [
            Planned,
            SourceKilled,
            SourceFrozen,
            SourceCutOff,
            SourceCutFromReplicas,
            ReplicaKilled,
            ReplicaFrozen,
            ReplicaCutOff,
        ]
    };

    fn loses_source(self) -> bool {
        matches!(self, Self::SourceKilled | Self::SourceFrozen | Self::SourceCutOff)
    }
}

/// Runs it. What it finds is in the outcome; an error is a finding as well.
pub fn run(options: &Options) -> Outcome {
    let mut outcome = Outcome::default();
    if let Err(e) = failovers(options, &mut outcome) {
        outcome.findings.push(e.to_string());
    }
    outcome
}

/// When acknowledged writes went on, as somebody sees who looks each few milliseconds. It ends when
/// it is dropped.
struct Pulse {
    stop: Arc<AtomicBool>,
    moments: Arc<Mutex<Vec<Instant>>>,
}

impl Pulse {
    fn of(committed: impl Fn() -> u64 + Send + 'static) -> Self {
        let pulse = Self { stop: Arc::default(), moments: Arc::default() };
        let (stop, moments) = (pulse.stop.clone(), pulse.moments.clone());
        thread::spawn(move || {
            let mut last = 0;
            while !stop.load(Relaxed) {
                let now = committed();
                if now > last {
                    last = now;
                    lock(&moments).push(Instant::now());
                }
                thread::sleep(Duration::from_millis(5));
            }
        });
        pulse
    }

    /// The longest time without a write since then; `None` if there was none at all.
    fn longest_gap(&self, since: Instant) -> Option<Duration> {
        let moments = lock(&self.moments);
        let later: Vec<Instant> = moments.iter().copied().filter(|moment| *moment >= since).collect();
        let first = later.first()?.duration_since(since);
        let gaps = later.windows(2).map(|pair| pair[1].duration_since(pair[0]));
        Some(gaps.max().unwrap_or_default().max(first))
    }

    /// Waits for the next write.
    fn await_write(&self) -> Result<()> {
        let before = lock(&self.moments).len();
        followers::await_that("a write", PATIENCE, || Ok(lock(&self.moments).len() > before))
    }
}

impl Drop for Pulse {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
    }
}

fn lock<T>(of_all: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    of_all.lock().unwrap_or_else(PoisonError::into_inner)
}

fn failovers(options: &Options, outcome: &mut Outcome) -> Result<()> {
    let mut group = Group::start(&options.folder, options.binary.as_deref())?;
    appends::prepare(&group.socket(0)?)?;
    for replica in 1..MEMBERS {
        group.await_all(replica, 0)?;
    }
    let sessions = Appends::start(group.addresses(), "SERIALIZABLE", SESSIONS, options.seed);
    let pulse = Pulse::of(sessions.counter());
    pulse.await_write()?;
    let mut random = Random::new(options.seed);
    let (begun, mut source) = (Instant::now(), 0);
    let mut gaps: BTreeMap<String, Vec<Duration>> = BTreeMap::new();
    while begun.elapsed() < options.time && outcome.findings.is_empty() {
        thread::sleep(Duration::from_millis(1000 + random.below(3000)));
        let trouble = Trouble::ALL[random.below(Trouble::ALL.len() as u64) as usize];
        let since = Instant::now();
        let at = begun.elapsed().as_secs_f64();
        let mut troubled = Troubled { group: &mut group, random: &mut random, pulse: &pulse };
        match troubled.meet(trouble, source) {
            Ok(new) => {
                source = new;
                let gap = pulse.longest_gap(since).unwrap_or_default();
                println!("  {at:.1} s: {trouble:?}, no write for {} ms", gap.as_millis());
                gaps.entry(format!("{trouble:?}")).or_default().push(gap);
            }
            Err(e) => outcome.findings.push(format!("{at:.1} s, {trouble:?}: {e}")),
        }
    }
    if !outcome.findings.is_empty() {
        // Who is the source now is not known.
        return Ok(());
    }
    group.mend()?;
    let history = sessions.stop(&group.socket(source)?)?;
    let [committed, aborted, unknown] = history.counts();
    outcome.lines.push(format!(
        "{committed} transactions committed, {aborted} rolled back, {unknown} unknown; {} servers made anew",
        group.made_anew()
    ));
    for (trouble, mut all) in gaps {
        all.sort_unstable();
        let of = |part: usize| all[(all.len() - 1) * part / 100].as_millis();
        let worst = all.last().map_or(0, Duration::as_millis);
        outcome.lines.push(format!(
            "{trouble}: {} times; without a write: {} ms half of them, {} ms 9 of 10, {worst} ms at most",
            all.len(),
            of(50),
            of(90)
        ));
        let all: Vec<String> = all.iter().map(|gap| gap.as_millis().to_string()).collect();
        outcome.lines.push(format!("{trouble}, ms: {}", all.join(" ")));
    }
    // Reads of a source that was replaced, and does not know it, are old: that is no finding.
    outcome.findings.extend(history.check(false).into_iter().map(|found| found.to_string()));
    for replica in (0..MEMBERS).filter(|number| *number != source) {
        group.await_all(replica, source)?;
        outcome.findings.extend(compare::differences(
            &mut connect(&group.socket(source)?)?,
            &mut connect(&group.socket(replica)?)?,
        )?);
    }
    Ok(())
}

/// A group that something happens to.
struct Troubled<'a> {
    group: &'a mut Group,
    random: &'a mut Random,
    pulse: &'a Pulse,
}

impl Troubled<'_> {
    /// Lets it happen, and mends it: the source afterwards.
    fn meet(&mut self, trouble: Trouble, source: usize) -> Result<usize> {
        let replica = (source + 1 + self.random.below(2) as usize) % MEMBERS;
        let lasts = Duration::from_millis(500 + self.random.below(6000));
        let of_source = LinkEnd::Member(source);
        let others: Vec<LinkEnd> =
            (0..MEMBERS).filter(|number| *number != source).map(LinkEnd::Member).collect();
        match trouble {
            Trouble::Planned => {}
            Trouble::SourceKilled => self.group.kill(source)?,
            Trouble::SourceFrozen => self.group.freeze(source, true)?,
            Trouble::SourceCutOff => {
                for other in others.iter().chain(&[LinkEnd::Outside]) {
                    self.group.network.cut(of_source, *other)?;
                }
            }
            Trouble::SourceCutFromReplicas => {
                for other in &others {
                    self.group.network.cut(of_source, *other)?;
                }
            }
            Trouble::ReplicaKilled => self.group.kill(replica)?,
            Trouble::ReplicaFrozen => self.group.freeze(replica, true)?,
            Trouble::ReplicaCutOff => {
                self.group.network.cut(LinkEnd::Member(replica), of_source)?;
                if self.random.chance(1, 2) {
                    self.group.network.cut(LinkEnd::Member(replica), LinkEnd::Outside)?;
                }
            }
        }
        let mut new = source;
        if trouble == Trouble::Planned {
            self.command(&[format!("--to={}", self.group.name(replica))])?;
            new = replica;
        } else if trouble.loses_source() {
            self.command(&[])?;
            new = self.only_source(source)?;
            self.pulse.await_write()?;
        } else {
            thread::sleep(lasts);
        }
        self.group.mend()?;
        self.join_all(new)?;
        self.pulse.await_write()?;
        Ok(new)
    }

    /// Runs the command until it succeeds.
    fn command(&self, options: &[String]) -> Result<()> {
        let begun = Instant::now();
        loop {
            let done = self.group.failover(options)?;
            if done.is_done() {
                return Ok(());
            }
            if begun.elapsed() > PATIENCE {
                return Err(format!("failover {options:?} does not succeed: {}", done.said).into());
            }
            thread::sleep(Duration::from_millis(300));
        }
    }

    /// The one that takes writes, besides `lost`, which may not know yet that it is no source.
    fn only_source(&self, lost: usize) -> Result<usize> {
        let sources: Vec<usize> = self.group.sources().into_iter().filter(|source| *source != lost).collect();
        match sources[..] {
            [source] => Ok(source),
            _ => Err(format!("these take writes: {sources:?}").into()),
        }
    }

    /// All follow the source again.
    fn join_all(&mut self, source: usize) -> Result<()> {
        let begun = Instant::now();
        let to = [format!("--to={}", self.group.name(source))];
        loop {
            let done = self.group.failover(&to)?;
            if done.is_done() && self.group.is_whole(source)? {
                break;
            }
            if done.said.contains("end that server") {
                self.group.restart_other_sources(source)?;
            } else if !done.is_done() {
                self.group.make_anew(source)?;
            }
            if begun.elapsed() > PATIENCE {
                return Err(format!("not all follow member {source}: {}", done.said).into());
            }
            thread::sleep(Duration::from_millis(300));
        }
        let sources = self.group.sources();
        if sources != [source] {
            return Err(format!("these take writes: {sources:?}, not {source} alone").into());
        }
        Ok(())
    }
}
