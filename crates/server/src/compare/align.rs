//! Snapshots of both servers at one place of the first one's log.

use super::{Options, Side};
use crate::log_tool::ToolError;
use crate::remote::definitions::string_literal;
use crate::remote::place::{Flavor, LogPlace, Reached, major_minor};
use crate::remote::snapshot::Snapshot;
use crate::remote::{RemoteSession, Runs};
use binlog::gtid::GtidSet;
use env::Env;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// How both come to one place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Alignment {
    /// The replica gets there by itself.
    Wait,
    /// Its applier is stopped there.
    Pause,
    /// Nobody writes.
    WithoutWriters,
}

/// So often a snapshot of the source is taken until the replica's is at its place.
const TRIES: u32 = 5;

/// How often a replica is asked how far it is.
const POLL: Duration = Duration::from_millis(20);

/// Sessions on both servers that read the same state, if they hold the same.
pub(super) struct Aligned {
    pub(super) source: Vec<RemoteSession>,
    pub(super) replica: Vec<RemoteSession>,
    /// Where in the source's log; `None` if no places were compared.
    pub(super) place: Option<LogPlace>,
    /// What the replica has executed that the source has not.
    pub(super) extra: Option<GtidSet>,
}

/// Takes them.
///
/// # Errors
/// Of a server; the replica does not get there, or goes on from there.
pub(super) fn align(
    env: &Arc<dyn Env>,
    source: &Side,
    replica: &Side,
    options: &Options,
) -> Result<Aligned, ToolError> {
    let threads = options.threads;
    if options.alignment == Alignment::WithoutWriters {
        let (source, replica) = (without_writers(source, threads)?, without_writers(replica, threads)?);
        return Ok(Aligned { source, replica, place: None, extra: None });
    }
    let mut follower = Follower { session: replica.remote.session()?, replica, source, env, options };
    match options.alignment {
        Alignment::Pause => follower.paused(threads),
        _ => follower.waited_for(threads),
    }
}

/// A snapshot of a server that nobody writes to: where it has a log, that tells.
fn without_writers(side: &Side, threads: usize) -> Result<Vec<RemoteSession>, ToolError> {
    let mut session = side.remote.session()?;
    let place = || match side.facts.has_log {
        true => LogPlace::of_log(&mut session, &side.facts).map(Some),
        false => Ok(None),
    };
    match Snapshot::without_writers(&side.remote, threads, place)? {
        Some((sessions, _)) => Ok(sessions),
        None => Err(ToolError::Refused(format!(
            "{}: it is written to, in spite of --at-rest",
            side.remote.server()
        ))),
    }
}

/// The replica, and who asks it.
struct Follower<'a> {
    session: RemoteSession,
    replica: &'a Side,
    source: &'a Side,
    env: &'a Arc<dyn Env>,
    options: &'a Options,
}

impl Follower<'_> {
    /// How far it is, and by which channel it follows.
    fn applied(&mut self) -> Result<(LogPlace, Option<String>), ToolError> {
        let applied = LogPlace::applied(&mut self.session, &self.replica.facts, &self.source.facts)?;
        applied.ok_or_else(|| self.follows_not())
    }

    fn follows_not(&self) -> ToolError {
        ToolError::Refused(format!(
            "{} does not follow {}: name the source first; --at-rest compares servers to which nobody writes",
            self.replica.remote.server(),
            self.source.remote.server()
        ))
    }

    /// Waits until it has applied the source's log up to `place`.
    fn wait_for(&mut self, place: &LogPlace) -> Result<(), ToolError> {
        let deadline = self.env.monotonic() + self.options.wait;
        loop {
            let (applied, channel) = self.applied()?;
            if applied.compared_to(place) != Reached::Before {
                return Ok(());
            }
            if channel.is_none() {
                return Err(self.follows_not());
            }
            if self.env.monotonic() > deadline {
                return Err(ToolError::Refused(format!(
                    "{} is at {applied} and did not get to {place}, where {} is, within {} s: does it run? See SHOW REPLICA STATUS; \
                     --wait=SECONDS waits longer",
                    self.replica.remote.server(),
                    self.source.remote.server(),
                    self.options.wait.as_secs()
                )));
            }
            std::thread::sleep(POLL);
        }
    }

    /// Its snapshot, if it is at `place` while that is taken.
    fn snapshot(
        &mut self,
        place: &LogPlace,
        threads: usize,
    ) -> Result<Option<Vec<RemoteSession>>, ToolError> {
        let remote = self.replica.remote.clone();
        let taken = Snapshot::without_writers(&remote, threads, || Ok(self.applied()?.0))?;
        let Some((mut sessions, at)) = taken else { return Ok(None) };
        if at.compared_to(place) != Reached::There {
            return Ok(None);
        }
        if self.replica.facts.flavor == Flavor::Duramen && place.gtids.is_some() {
            // What is executed may be ahead of what a snapshot reads by a flush: the snapshot says
            // itself where it is.
            for session in &mut sessions {
                let read = LogPlace::of_log(session, &self.replica.facts)?;
                if read.compared_to(place) != Reached::There {
                    return Ok(None);
                }
            }
        }
        Ok(Some(sessions))
    }

    fn aligned(&mut self, taken: Snapshot, replica: Vec<RemoteSession>) -> Result<Aligned, ToolError> {
        let extra = self.applied()?.0.extra(&taken.place);
        Ok(Aligned { source: taken.sessions, replica, place: Some(taken.place), extra })
    }

    fn waited_for(&mut self, threads: usize) -> Result<Aligned, ToolError> {
        for _ in 0..TRIES {
            let taken = Snapshot::take(&self.source.remote, &self.source.facts, threads)?;
            self.wait_for(&taken.place)?;
            if let Some(replica) = self.snapshot(&taken.place, threads)? {
                return self.aligned(taken, replica);
            }
        }
        Err(ToolError::Refused(format!(
            "{} goes on while its snapshot is taken: --pause stops its applier for that moment",
            self.replica.remote.server()
        )))
    }

    fn paused(&mut self, threads: usize) -> Result<Aligned, ToolError> {
        let channel = self.applied()?.1.ok_or_else(|| self.follows_not())?;
        // Who interrupts this is heard once the applier runs again.
        let (interrupted, is_over) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        for signal in [SIGINT, SIGTERM] {
            flag::register_conditional_default(signal, is_over.clone())?;
            flag::register(signal, interrupted.clone())?;
        }
        self.applier("STOP", &channel, "")?;
        let aligned = self.stopped(&channel, threads);
        // In any case: a replica that stays behind is worse than an answer that is lost.
        let started = self.applier("START", &channel, "");
        is_over.store(true, Relaxed);
        if interrupted.load(Relaxed) {
            return Err(ToolError::Refused("interrupted; the replica's applier is started again".into()));
        }
        let aligned = aligned?;
        started?;
        Ok(aligned)
    }

    fn stopped(&mut self, channel: &str, threads: usize) -> Result<Aligned, ToolError> {
        let taken = Snapshot::take(&self.source.remote, &self.source.facts, threads)?;
        let place = &taken.place;
        if self.applied()?.0.compared_to(place) == Reached::Before {
            let until = match (&place.gtids, self.replica.facts.flavor) {
                (Some(gtids), _) => format!("UNTIL SQL_AFTER_GTIDS = '{gtids}'"),
                (None, Flavor::MariaDb) => {
                    format!("UNTIL MASTER_LOG_FILE = '{}', MASTER_LOG_POS = {}", place.file, place.offset)
                }
                (None, _) => {
                    format!("UNTIL SOURCE_LOG_FILE = '{}', SOURCE_LOG_POS = {}", place.file, place.offset)
                }
            };
            self.applier("START", channel, &until)?;
            self.wait_for(place)?;
            self.applier("STOP", channel, "")?;
        }
        match self.snapshot(place, threads)? {
            Some(replica) => self.aligned(taken, replica),
            None => Err(ToolError::Refused(format!(
                "{} is not at {place} though its applier is stopped: does somebody else write to it?",
                self.replica.remote.server()
            ))),
        }
    }

    /// Starts or stops the applier.
    fn applier(&mut self, what: &str, channel: &str, until: &str) -> Result<(), ToolError> {
        let facts = &self.replica.facts;
        let name = string_literal(channel);
        let sql = match facts.flavor {
            Flavor::MariaDb if channel.is_empty() => format!("{what} SLAVE SQL_THREAD {until}"),
            Flavor::MariaDb => format!("{what} SLAVE {name} SQL_THREAD {until}"),
            Flavor::Mysql if major_minor(&facts.version) < (8, 1) => {
                let until = until.replace("SOURCE_", "MASTER_");
                format!("{what} SLAVE SQL_THREAD {until} FOR CHANNEL {name}")
            }
            _ => format!("{what} REPLICA SQL_THREAD {until} FOR CHANNEL {name}"),
        };
        self.session.rows(&sql).map(drop)
    }
}
