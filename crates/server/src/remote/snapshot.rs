//! Several sessions of a server that read one state of it, and the place of that state in its log.
//!
//! On a Duramen a snapshot tells its place: sessions take theirs until all are the same. Elsewhere,
//! and on a Duramen that is written to too fast, the server is locked against writes for the moment
//! in which they begin, as `mysqldump` and `mydumper` do it.

use super::place::{Facts, Flavor, LogPlace};
use super::{Remote, RemoteSession, Runs, text};
use crate::log_tool::ToolError;
use std::time::Duration;

/// So often sessions of a Duramen try to read the same state before they lock.
const TRIES: u32 = 20;

/// How long the lock may be waited for, in seconds: who waits behind it waits as long.
const LOCK_WAIT: u32 = 10;

/// A statement that runs for so many seconds is a long one; how often, and with which pauses, its
/// end is looked for.
const LONG: u32 = 5;
const LONG_TRIES: u32 = 60;
const LONG_PAUSE: Duration = Duration::from_secs(1);

/// How often, and with which pauses, a moment without prepared branches is looked for.
const BRANCH_TRIES: u32 = 600;
const BRANCH_PAUSE: Duration = Duration::from_millis(50);

/// Sessions that read the state at `place`.
pub(crate) struct Snapshot {
    pub(crate) sessions: Vec<RemoteSession>,
    pub(crate) place: LogPlace,
}

impl Snapshot {
    /// Takes one with so many sessions.
    ///
    /// # Errors
    /// The server's: without the privilege RELOAD it can't be locked.
    pub(crate) fn take(remote: &Remote, facts: &Facts, sessions: usize) -> Result<Self, ToolError> {
        let mut sessions = (0..sessions.max(1)).map(|_| prepared(remote)).collect::<Result<Vec<_>, _>>()?;
        if facts.flavor == Flavor::Duramen {
            for _ in 0..TRIES {
                let places = begin(&mut sessions, facts)?;
                if let Some(place) = same(places) {
                    return Ok(Self { sessions, place });
                }
            }
        }
        let mut locker = locker(remote)?;
        await_long_statements(&mut locker)?;
        Self::locked(&mut locker, sessions, facts)
    }

    /// The same of a state in which no branch of XA is prepared: what such a branch has changed is
    /// in no snapshot, and the log has it before the snapshot's place.
    ///
    /// # Errors
    /// As [`Snapshot::take`]; there is a branch all the time.
    pub(crate) fn take_without_branches(
        remote: &Remote,
        facts: &Facts,
        sessions: usize,
    ) -> Result<Self, ToolError> {
        let mut locker = locker(remote)?;
        for _ in 0..BRANCH_TRIES {
            await_long_statements(&mut locker)?;
            locker.rows("FLUSH TABLES WITH READ LOCK")?;
            let branches = locker.rows("XA RECOVER");
            if branches.as_ref().is_ok_and(Vec::is_empty) {
                let sessions =
                    (0..sessions.max(1)).map(|_| prepared(remote)).collect::<Result<Vec<_>, _>>()?;
                return Self::locked(&mut locker, sessions, facts);
            }
            locker.rows("UNLOCK TABLES")?;
            branches.map_err(|e| {
                ToolError::Refused(format!(
                    "{e}; the account needs XA_RECOVER_ADMIN to see prepared transactions"
                ))
            })?;
            std::thread::sleep(BRANCH_PAUSE);
        }
        Err(ToolError::Refused(format!(
            "{}: XA transactions are prepared all the time (XA RECOVER lists them), and no snapshot has their changes: end \
             them, or try again",
            remote.server()
        )))
    }

    /// Locks the server, again if it is, for the moment in which the sessions begin.
    fn locked(
        locker: &mut RemoteSession,
        mut sessions: Vec<RemoteSession>,
        facts: &Facts,
    ) -> Result<Self, ToolError> {
        locker.rows("FLUSH TABLES WITH READ LOCK")?;
        let begun = begin_all(&mut sessions).and_then(|()| LogPlace::of_log(locker, facts));
        let unlocked = locker.rows("UNLOCK TABLES");
        let place = begun?;
        unlocked?;
        Ok(Self { sessions, place })
    }

    /// The same of a server that is at rest while it is taken, as a replica is whose applier is
    /// stopped: without a lock. `place` tells how far it is.
    ///
    /// # Errors
    /// The server's.
    pub(crate) fn without_writers<P: PartialEq>(
        remote: &Remote,
        sessions: usize,
        mut place: impl FnMut() -> Result<P, ToolError>,
    ) -> Result<Option<(Vec<RemoteSession>, P)>, ToolError> {
        let mut sessions = (0..sessions.max(1)).map(|_| prepared(remote)).collect::<Result<Vec<_>, _>>()?;
        let before = place()?;
        begin_all(&mut sessions)?;
        Ok((place()? == before).then_some((sessions, before)))
    }
}

/// Waits until no statement is running for long: the lock would wait for it, and every other
/// statement behind the lock.
fn await_long_statements(session: &mut RemoteSession) -> Result<(), ToolError> {
    let [own] = session.first("SELECT CONNECTION_ID()")?;
    let mut last = None;
    for _ in 0..LONG_TRIES {
        last = long_statement(session, own.as_deref().unwrap_or_default())?;
        if last.is_none() {
            return Ok(());
        }
        std::thread::sleep(LONG_PAUSE);
    }
    Err(ToolError::Refused(format!(
        "{}: {}, and a lock for the snapshot would have all others wait for it: end it, or try again later",
        session.remote().server(),
        last.unwrap_or_default()
    )))
}

/// What runs for long in another session, in words.
fn long_statement(session: &mut RemoteSession, own: &str) -> Result<Option<String>, ToolError> {
    for row in session.rows("SHOW PROCESSLIST")? {
        let mut cells = row.into_iter().map(|cell| cell.map(text).unwrap_or_default());
        let [id, user, _, _, command, seconds] = std::array::from_fn(|_| cells.next().unwrap_or_default());
        let is_statement = ["Query", "Execute"].contains(&&*command);
        let is_of_server = ["system user", "event_scheduler"].contains(&&*user);
        if is_statement && !is_of_server && id != own && seconds.parse().unwrap_or(0) >= LONG {
            return Ok(Some(format!("session {id} of {user} has been running a statement for {seconds} s")));
        }
    }
    Ok(None)
}

/// A session that locks, and does not wait long for it.
fn locker(remote: &Remote) -> Result<RemoteSession, ToolError> {
    let mut locker = prepared(remote)?;
    locker.rows(&format!("SET SESSION lock_wait_timeout = {LOCK_WAIT}"))?;
    Ok(locker)
}

/// Logs in, with settings under which every server writes values in the same way.
fn prepared(remote: &Remote) -> Result<RemoteSession, ToolError> {
    let mut session = remote.session()?;
    for sql in [
        // Texts come in the bytes that they are stored in.
        "SET character_set_results = NULL",
        "SET SESSION time_zone = '+00:00'",
        "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
    ] {
        session.rows(sql)?;
    }
    // Whoever copies for hours says nothing in between.
    for sql in ["SET SESSION net_write_timeout = 86400", "SET SESSION wait_timeout = 86400"] {
        session.rows(sql)?;
    }
    Ok(session)
}

fn begin_all(sessions: &mut [RemoteSession]) -> Result<(), ToolError> {
    for session in sessions {
        session.rows("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")?;
    }
    Ok(())
}

fn begin(sessions: &mut [RemoteSession], facts: &Facts) -> Result<Vec<LogPlace>, ToolError> {
    begin_all(sessions)?;
    sessions.iter_mut().map(|session| LogPlace::of_log(session, facts)).collect()
}

fn same(places: Vec<LogPlace>) -> Option<LogPlace> {
    let mut places = places.into_iter();
    let first = places.next()?;
    places.all(|place| place == first).then_some(first)
}
