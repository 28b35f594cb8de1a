//! Reporting a full disk in the error log. Each client whose commit is refused gets its own error;
//! the error log gets one line, another each minute as long as it lasts, and one when commits work
//! again.

use super::error::LogError;
use parking_lot::Mutex;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// How often it is logged while it lasts.
const AGAIN: Duration = Duration::from_secs(60);
/// How soon it may be logged again after commits have worked in between.
const AGAIN_AFTER_SUCCESS: Duration = Duration::from_secs(5);

#[derive(Default)]
pub(super) struct FullDisk {
    state: Mutex<FullDiskState>,
    /// `state.is_full`, for successful commits to read without the latch: a hint, ordering nothing.
    is_full: AtomicBool,
}

#[derive(Default)]
struct FullDiskState {
    is_full: bool,
    logged_at: Option<Duration>,
    /// Refused since the last line in the error log.
    refused: u64,
    rotation_logged_at: Option<Duration>,
}

impl FullDisk {
    /// So many transactions were refused for `error`, which may be another than a full disk.
    pub(super) fn refused(&self, transactions: usize, error: &LogError, folder: &Path, now: Duration) {
        if !error.is_disk_full() {
            return;
        }
        let mut state = self.state.lock();
        state.refused += transactions as u64;
        let pause = if state.is_full { AGAIN } else { AGAIN_AFTER_SUCCESS };
        state.is_full = true;
        self.is_full.store(true, Relaxed);
        if is_due(&mut state.logged_at, pause, now) {
            let refused = std::mem::take(&mut state.refused);
            tracing::error!(
                folder = %folder.display(), refused, %error,
                "the disk of the binary log is full: transactions are refused (error 1021) until there is room"
            );
        }
    }

    /// A commit found room.
    pub(super) fn worked(&self, folder: &Path) {
        if !self.is_full.load(Relaxed) {
            return;
        }
        let mut state = self.state.lock();
        if std::mem::take(&mut state.is_full) {
            self.is_full.store(false, Relaxed);
            let refused = std::mem::take(&mut state.refused);
            tracing::warn!(
                folder = %folder.display(), refused,
                "the disk of the binary log has room again: transactions are committed"
            );
        }
    }

    /// A file is as long as it should become, and there is no next one.
    pub(super) fn rotation_failed(&self, error: &LogError, now: Duration) {
        // The failure that stopped the log was logged when it happened.
        if matches!(error, LogError::Latched(_) | LogError::Closed) {
            return;
        }
        if is_due(&mut self.state.lock().rotation_logged_at, AGAIN, now) {
            tracing::warn!(
                %error,
                "could not rotate the binary log: commits go on in the same file, and each group tries again"
            );
        }
    }
}

/// True, and notes the time, if it was logged `pause` ago or never.
fn is_due(logged_at: &mut Option<Duration>, pause: Duration, now: Duration) -> bool {
    let is_due = logged_at.is_none_or(|at| now.saturating_sub(at) >= pause);
    if is_due {
        *logged_at = Some(now);
    }
    is_due
}
