//! Files made ahead (`binlog_prealloc_num`).
//!
//! A file of the pool has its whole length in zeros that were really written and flushed. A commit
//! that overwrites them changes neither the file's length nor its blocks, so its flush writes data
//! alone and no file system journal.
//!
//! The background makes them, one piece at a time, each waited for ([`Trail`]) so that it never
//! queues many dirty pages before a commit's flush, and pauses between pieces while commits come
//! in: a disk that takes one flush at a time would otherwise do every second one for the pool. A
//! rotation takes a file if there is one, and never waits (P1). Files of an earlier run are reused
//! if they hold nothing but zeros: a rotation that a power cut broke off may have written a header
//! to one. So are they only if they are encrypted, or not, as new files are to be.
//!
//! (P1) Nothing here makes a commit wait: `take` holds the latch for a few instructions.
//! (P2) A file in `ready` is all zeros and flushed; its name need not be durable.

use super::names::Folder;
use super::status::LogStatus;
use env::{Env, File, OpenMode, PIECE, Rows, Trail};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Called after each piece, with the time that it took: may sleep, then returns whether to stop.
pub(super) type StopOrPause<'a> = &'a dyn Fn(Duration) -> bool;

/// A file of zeros.
pub(super) struct PoolFile {
    pub(super) path: PathBuf,
    pub(super) file: Arc<dyn File>,
    pub(super) len: u64,
}

pub(super) struct Pool {
    folder: Folder,
    state: Mutex<PoolState>,
    /// `binlog_prealloc_num`. Like `file_size` a plain setting: no order with anything is needed.
    wanted: AtomicU32,
    file_size: AtomicU64,
}

#[derive(Default)]
struct PoolState {
    ready: VecDeque<PoolFile>,
    /// Serial numbers of an earlier run's files, not looked at yet.
    leftover: Vec<u64>,
    next_serial: u64,
}

impl Pool {
    pub(super) fn new(folder: Folder, wanted: u32, file_size: u64, leftover: Vec<u64>) -> Self {
        let next_serial = leftover.iter().max().map_or(1, |&n| n.saturating_add(1));
        let state = PoolState { ready: VecDeque::new(), leftover, next_serial };
        let (wanted, file_size) = (AtomicU32::new(wanted), AtomicU64::new(file_size));
        Self { folder, state: Mutex::new(state), wanted, file_size }
    }

    pub(super) fn set_wanted(&self, files: u32) {
        self.wanted.store(files, Relaxed);
    }

    pub(super) fn set_file_size(&self, bytes: u64) {
        self.file_size.store(bytes, Relaxed);
    }

    pub(super) fn is_wanted(&self) -> bool {
        self.wanted.load(Relaxed) > 0
    }

    pub(super) fn ready(&self) -> usize {
        self.state.lock().ready.len()
    }

    /// A file, if one is ready (P1).
    pub(super) fn take(&self) -> Option<PoolFile> {
        if !self.is_wanted() {
            return None;
        }
        let mut state = self.state.lock();
        let at = state.ready.iter().position(|file| self.is_fit(file.file.as_ref()))?;
        state.ready.remove(at)
    }

    /// False of a file that was made while others were to be encrypted.
    fn is_fit(&self, file: &dyn File) -> bool {
        file.is_encrypted() == self.folder.env.encrypts(Rows::Log)
    }

    /// Brings the pool to its wanted size. Called by one thread at a time; gives up soon after
    /// `stop` says so.
    pub(super) fn fill(&self, status: &LogStatus, stop: StopOrPause<'_>) -> io::Result<()> {
        loop {
            let (ready, leftover, serial) = {
                let mut state = self.state.lock();
                let serial = state.next_serial;
                let unfit = state.ready.iter().position(|file| !self.is_fit(file.file.as_ref()));
                if let Some(unfit) = unfit.and_then(|at| state.ready.remove(at)) {
                    drop(state);
                    self.folder.env.remove_file(&unfit.path)?;
                    continue;
                }
                let leftover = state.leftover.pop();
                (state.ready.len(), leftover, serial)
            };
            let wanted = self.wanted.load(Relaxed) as usize;
            if stop(Duration::ZERO) {
                return Ok(());
            }
            let made = match leftover {
                Some(serial) if ready < wanted => self.take_over(serial, stop)?,
                Some(serial) => {
                    self.folder.env.remove_file(&self.folder.pool_file(serial))?;
                    None
                }
                None if ready < wanted => {
                    self.state.lock().next_serial += 1;
                    self.make(serial, stop)?
                }
                None if ready > wanted => {
                    let surplus = self.state.lock().ready.pop_back();
                    surplus.map_or(Ok(()), |file| self.folder.env.remove_file(&file.path))?;
                    None
                }
                None => return Ok(()),
            };
            if let Some(file) = made {
                status.pool_made.add(1);
                self.state.lock().ready.push_back(file);
            }
        }
    }

    /// Makes a file of zeros; `None` if stopped on the way. What a failure leaves is removed.
    fn make(&self, serial: u64, stop: StopOrPause<'_>) -> io::Result<Option<PoolFile>> {
        let env = &self.folder.env;
        let unfinished = self.folder.unfinished_pool_file(serial);
        let file = env.open(&unfinished, OpenMode::CreateNewRows(Rows::Log))?;
        let len = self.file_size.load(Relaxed);
        match write_zeros(env.as_ref(), file.as_ref(), len, stop) {
            Ok(true) => {}
            stopped_or_failed => {
                env.remove_file(&unfinished)?;
                return stopped_or_failed.map(|_| None);
            }
        }
        let path = self.folder.pool_file(serial);
        env.rename(&unfinished, &path)?;
        Ok(Some(PoolFile { path, file, len }))
    }

    /// Takes an earlier run's file if it is fit, else removes it.
    fn take_over(&self, serial: u64, stop: StopOrPause<'_>) -> io::Result<Option<PoolFile>> {
        let path = self.folder.pool_file(serial);
        let file = self.folder.env.open(&path, OpenMode::ReadWrite)?;
        let len = file.len()?;
        if !self.is_fit(file.as_ref()) {
            return self.remove(&path, stop);
        }
        if len == self.file_size.load(Relaxed) && is_zeros(file.as_ref(), len, stop)? {
            return Ok(Some(PoolFile { path, file, len }));
        }
        self.remove(&path, stop)
    }

    fn remove(&self, path: &Path, stop: StopOrPause<'_>) -> io::Result<Option<PoolFile>> {
        if !stop(Duration::ZERO) {
            self.folder.env.remove_file(path)?;
        }
        Ok(None)
    }
}

/// False if stopped.
fn write_zeros(env: &dyn Env, file: &dyn File, len: u64, stop: StopOrPause<'_>) -> io::Result<bool> {
    let zeros = vec![0; PIECE.min(usize::try_from(len).unwrap_or(PIECE))];
    let (mut trail, mut at) = (Trail::default(), 0);
    while at < len {
        let (n, begun) = ((len - at).min(PIECE as u64), env.monotonic());
        trail.write(file, &zeros[..n as usize], at)?;
        at += n;
        if stop(env.monotonic().saturating_sub(begun)) {
            return Ok(false);
        }
    }
    file.sync_all()?;
    Ok(true)
}

/// False also if stopped.
fn is_zeros(file: &dyn File, len: u64, stop: StopOrPause<'_>) -> io::Result<bool> {
    let mut piece = vec![0; PIECE];
    let mut at = 0;
    while at < len {
        let n = file.read_at(&mut piece, at)?;
        if stop(Duration::ZERO) || n == 0 || piece[..n].iter().any(|&b| b != 0) {
            return Ok(false);
        }
        at += n as u64;
    }
    Ok(true)
}
