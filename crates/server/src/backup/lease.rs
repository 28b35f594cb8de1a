//! The lock of a repository in object storage: an object that one program writes again and again.
//!
//! 1. take    `repository.lock` is written on the condition that it is not there. It has a token of
//!    its owner, and how long it is good for.
//! 2. renew   A thread writes it again, on the condition that it is the version that it knows.
//! 3. give up It is removed.
//! 4. seize   A program that was ended leaves it. Another one that sees the same version for as
//!    long as it is good for writes its own over it, on the condition that it is that version.
//!
//! (K1) No clocks are compared: each program measures with its own how long a version was there.
//! (K2) Who could not renew the lock in time does not trust it any more, and neither makes a backup
//!      nor removes one ([`check`]), until it was renewed. The time of a version runs from the
//!      moment before it was written first, whenever its writer hears of it.
//! (K3) A store that ignores conditions is found out when the first lock is taken, and refused.
//! (K4) A clock may stand still, with its machine. So a backup counts only if the lock was renewed
//!      once more after its manifest was written ([`confirm`]): then nobody else had it meanwhile.

use super::backend::Lock;
use super::bucket::{Shared, Trouble};
use crate::log_tool::ToolError;
use env::Env;
use object_store::{Error, PutMode, UpdateVersion};
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

const NAME: &str = "repository.lock";
/// A lock is renewed after so many parts of its time.
const RENEWALS: u32 = 4;
/// Whatever another program's lock says, it is good for no longer.
const LEASE_MAX: Duration = Duration::from_secs(3600);
/// How often a lock that was removed meanwhile is tried for, and a request whose answer was lost.
const ATTEMPTS: u32 = 10;
const PAUSE: Duration = Duration::from_millis(50);

/// Another program's lock.
pub(super) struct Seen {
    version: UpdateVersion,
    /// On the clock of `Env::monotonic`.
    since: Duration,
    lease: Duration,
}

/// The lock that this program has.
pub(super) struct Held {
    shared: Arc<Shared>,
    token: String,
    state: Mutex<Lease>,
    wake: Condvar,
    /// One at a time renews it. Taken before `state`.
    renewing: Mutex<()>,
}

struct Lease {
    version: UpdateVersion,
    /// On the clock of `Env::monotonic`: until then no other program takes it.
    until: Duration,
    /// Another program has it.
    is_lost: bool,
    is_released: bool,
}

/// Removes the lock when it is dropped.
struct Guard {
    held: Arc<Held>,
    renewer: Option<JoinHandle<()>>,
}

/// What nobody else has drawn.
pub(super) fn token(env: &dyn Env) -> String {
    let mut bytes = [0; 16];
    env.random(&mut bytes);
    super::key::to_hex(&bytes)
}

/// The content of a lock. Each is another one: S3 makes an object's version of its content.
fn text(shared: &Shared, owner: &str) -> Vec<u8> {
    let text = format!(
        "{owner}\n{}\n{}\n\nA duramen backup or prune is at work. If it was ended, the next one goes on after so many milliseconds.\n",
        shared.lease.as_millis(),
        token(&*shared.env)
    );
    text.into_bytes()
}

/// The token and the time of a lock; of one that is not understood the longest time.
fn parse(content: &[u8]) -> (String, Duration) {
    let content = String::from_utf8_lossy(content);
    let mut lines = content.lines();
    let token = lines.next().unwrap_or_default().to_owned();
    let millis = lines.next().and_then(|line| line.parse().ok());
    (token, millis.map_or(LEASE_MAX, Duration::from_millis).min(LEASE_MAX))
}

/// Takes the lock. If another program has it, waits until that has renewed it, which is an error,
/// or was found to be ended.
pub(super) fn lock(shared: &Arc<Shared>) -> Result<Lock, ToolError> {
    let mut first: Option<UpdateVersion> = None;
    loop {
        if let Some(lock) = try_lock(shared)? {
            return Ok(lock);
        }
        let (version, lease) = match &*shared.seen.lock() {
            Some(seen) => (seen.version.clone(), seen.lease),
            None => continue,
        };
        match &first {
            None => {
                eprintln!(
                    "duramen backup: '{}' is there: waiting up to {} s, to see if its program is at work",
                    shared.shown(NAME).display(),
                    lease.as_secs() + 1
                );
                first = Some(version);
            }
            Some(first) if *first == version => {}
            Some(_) => {
                return Err(ToolError::Refused(format!(
                    "another backup or prune is running in '{}'; one that is to wait for it begins again later",
                    shared.shown("").display()
                )));
            }
        }
        std::thread::sleep((lease / 20).clamp(Duration::from_millis(10), Duration::from_secs(2)));
    }
}

/// Takes the lock, or notes whose it is.
pub(super) fn try_lock(shared: &Arc<Shared>) -> Result<Option<Lock>, ToolError> {
    let token = token(&*shared.env);
    // What an attempt has written may be found by a later one (K2).
    let begun = shared.env.monotonic();
    for attempt in 1..=ATTEMPTS {
        match shared.put(NAME, text(shared, &token), PutMode::Create) {
            Ok(version) => return taken(shared, token, version, begun).map(Some),
            Err(Trouble::Store(Error::AlreadyExists { .. } | Error::Precondition { .. })) => {}
            Err(e) => pause_after(shared, e, begun, attempt)?,
        }
        let Some((content, version)) = shared.get(NAME)? else { continue };
        let (owner, lease) = parse(&content);
        if owner == token {
            // It was written, and its answer was lost.
            return taken(shared, token, version, begun).map(Some);
        }
        let now = shared.env.monotonic();
        let mut seen = shared.seen.lock();
        let is_ended = match &*seen {
            Some(seen) if seen.version == version => now.saturating_sub(seen.since) > seen.lease,
            _ => {
                *seen = Some(Seen { version: version.clone(), since: now, lease });
                false
            }
        };
        drop(seen);
        if !is_ended {
            return Ok(None);
        }
        match shared.put(NAME, text(shared, &token), PutMode::Update(version)) {
            Ok(version) => return taken(shared, token, version, begun).map(Some),
            Err(Trouble::Store(
                Error::AlreadyExists { .. } | Error::Precondition { .. } | Error::NotFound { .. },
            )) => {}
            Err(e) => pause_after(shared, e, begun, attempt)?,
        }
    }
    Ok(None)
}

/// A request on a condition is not tried again by the store's client where its answer was lost: what
/// it would say then is known here alone. An error, unless that may have happened and it is tried
/// again.
fn pause_after(shared: &Shared, trouble: Trouble, begun: Duration, attempt: u32) -> Result<(), ToolError> {
    // An answer that does not come takes its time.
    let is_early = shared.env.monotonic() - begun < shared.lease;
    match trouble {
        Trouble::Store(Error::Generic { .. }) if is_early && attempt < ATTEMPTS => {
            std::thread::sleep(PAUSE);
            Ok(())
        }
        trouble => Err(trouble.tool(shared, "lock with", NAME)),
    }
}

/// True if the lock is not written on a condition that it does not meet.
fn is_refused(shared: &Shared, owner: &str, mode: &PutMode) -> Result<bool, ToolError> {
    let begun = shared.env.monotonic();
    for attempt in 1.. {
        match shared.put(NAME, text(shared, owner), mode.clone()) {
            Ok(_) => return Ok(false),
            Err(Trouble::Store(Error::AlreadyExists { .. } | Error::Precondition { .. })) => return Ok(true),
            Err(e) => pause_after(shared, e, begun, attempt)?,
        }
    }
    unreachable!("the last attempt returns")
}

/// The lock was written in this version.
fn taken(
    shared: &Arc<Shared>,
    token: String,
    version: UpdateVersion,
    begun: Duration,
) -> Result<Lock, ToolError> {
    let lock = guard(shared, token, version.clone(), begun);
    let mut is_conditional = shared.is_conditional.lock();
    if !*is_conditional {
        check_conditions(shared, version)?;
        *is_conditional = true;
    }
    Ok(lock)
}

/// The lock was written: writing it once more on the same condition must fail, and so must writing
/// it on the condition that it is a version that was replaced (K3).
fn check_conditions(shared: &Shared, version: UpdateVersion) -> Result<(), ToolError> {
    let held = shared.held.lock().upgrade().expect("it was taken just now");
    let _renewing = held.renewing.lock();
    let ignored = |condition: &str| {
        Err(ToolError::Refused(format!(
            "'{}' ignores conditions ({condition}), so two programs could work on the backups at a time: use a server that has \
             conditional writes",
            shared.shown("").display()
        )))
    };
    if !is_refused(shared, &held.token, &PutMode::Create)? {
        return ignored("If-None-Match");
    }
    if !held.renew_at_last() {
        return Err(unsure(shared));
    }
    match is_refused(shared, &held.token, &PutMode::Update(version))? {
        true => Ok(()),
        false => ignored("If-Match"),
    }
}

fn guard(shared: &Arc<Shared>, token: String, version: UpdateVersion, begun: Duration) -> Lock {
    *shared.seen.lock() = None;
    let state = Lease { version, until: begun + shared.lease, is_lost: false, is_released: false };
    let held = Arc::new(Held {
        shared: shared.clone(),
        token,
        state: Mutex::new(state),
        wake: Condvar::new(),
        renewing: Mutex::default(),
    });
    *shared.held.lock() = Arc::downgrade(&held);
    let renewed = held.clone();
    // Without a thread it is not renewed, and not trusted for long (K2).
    let renewer = std::thread::Builder::new().name("lock-renewer".into()).spawn(move || renewed.renew()).ok();
    Box::new(Guard { held, renewer })
}

/// How long nobody else takes the lock; `None` if somebody may have it by now (K2).
pub(super) fn time_left(shared: &Shared) -> Option<Duration> {
    let held = shared.held.lock().upgrade()?;
    let now = shared.env.monotonic();
    let state = held.state.lock();
    let left = state.until.checked_sub(now + shared.lease / RENEWALS)?;
    (!state.is_lost && !left.is_zero()).then_some(left)
}

/// An error if the lock may be another program's by now (K2).
pub(super) fn check(shared: &Shared) -> Result<(), ToolError> {
    match time_left(shared) {
        Some(_) => Ok(()),
        None => Err(unsure(shared)),
    }
}

/// Renews the lock: if that succeeds, no other program had it since it was taken (K4).
pub(super) fn confirm(shared: &Shared) -> Result<(), ToolError> {
    let held = shared.held.lock().upgrade().ok_or_else(|| unsure(shared))?;
    let _renewing = held.renewing.lock();
    match held.renew_at_last() {
        true => check(shared),
        false => Err(unsure(shared)),
    }
}

fn unsure(shared: &Shared) -> ToolError {
    ToolError::io(
        "be sure of the lock",
        &shared.shown(NAME),
        std::io::Error::other("it could not be renewed in time, and may be another program's by now"),
    )
}

impl Held {
    fn renew(&self) {
        loop {
            let mut state = self.state.lock();
            if !state.is_released {
                self.wake.wait_for(&mut state, self.shared.lease / RENEWALS);
            }
            if state.is_released || state.is_lost {
                return;
            }
            drop(state);
            let _renewing = self.renewing.lock();
            self.renew_once();
        }
    }

    /// As [`Self::renew_once`], which may hear of an earlier renewal first, or of nothing.
    fn renew_at_last(&self) -> bool {
        let begun = self.shared.env.monotonic();
        for _ in 0..ATTEMPTS {
            if self.renew_once() {
                return true;
            }
            if self.state.lock().is_lost || self.shared.env.monotonic() - begun >= self.shared.lease {
                break;
            }
            std::thread::sleep(PAUSE);
        }
        false
    }

    /// Writes the lock again; false if it could not be, or is known not to be this program's any
    /// more. The caller has `renewing`.
    fn renew_once(&self) -> bool {
        let version = {
            let state = self.state.lock();
            if state.is_lost {
                return false;
            }
            state.version.clone()
        };
        let begun = self.shared.env.monotonic();
        let content = text(&self.shared, &self.token);
        let renewed = match self.shared.put(NAME, content.clone(), PutMode::Update(version)) {
            Ok(version) => Some((version, true)),
            Err(Trouble::Store(
                Error::Precondition { .. } | Error::AlreadyExists { .. } | Error::NotFound { .. },
            )) => match self.shared.get(NAME) {
                // It was written, and its answer was lost. If it is what an earlier renewal has
                // written, others know it for longer than `begun` says (K2).
                Ok(Some((found, version))) if parse(&found).0 == self.token => {
                    Some((version, found == content))
                }
                Ok(_) => {
                    self.state.lock().is_lost = true;
                    return false;
                }
                Err(_) => None,
            },
            Err(_) => None,
        };
        let Some((version, is_new)) = renewed else { return false };
        let mut state = self.state.lock();
        state.version = version;
        if is_new {
            state.until = begun + self.shared.lease;
        }
        is_new
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.held.state.lock().is_released = true;
        self.held.wake.notify_all();
        if let Some(renewer) = self.renewer.take() {
            let _ = renewer.join();
        }
        let shared = &self.held.shared;
        // If it fails, the next program waits for the lock's end.
        let _ = shared.remove_while_locked(NAME);
        *shared.held.lock() = std::sync::Weak::new();
    }
}
