//! How the server is asked to stop: SIGTERM, SIGINT, SHUTDOWN. SIGHUP is taken note of and changes
//! nothing: there is no log file to open again.

use parking_lot::{Condvar, Mutex};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// A request to stop, shared by all who may make it.
#[derive(Clone, Default)]
pub struct Stop(Arc<Request>);

#[derive(Default)]
struct Request {
    /// True once there is a reason; read by every session after every command. It only ends loops,
    /// so it is relaxed.
    requested: AtomicBool,
    reason: Mutex<Option<String>>,
    made: Condvar,
}

impl Stop {
    /// Asks the server to stop; the first reason is kept.
    pub(crate) fn request(&self, reason: impl Into<String>) {
        self.0.reason.lock().get_or_insert_with(|| reason.into());
        self.0.requested.store(true, Relaxed);
        self.0.made.notify_all();
    }

    /// True once someone asked.
    pub(crate) fn is_requested(&self) -> bool {
        self.0.requested.load(Relaxed)
    }

    /// Waits for a request, for `patience` at the most, and gives its reason.
    pub(crate) fn wait_for(&self, patience: Duration) -> Option<String> {
        let mut reason = self.0.reason.lock();
        self.0.made.wait_while_for(&mut reason, |reason| reason.is_none(), patience);
        reason.clone()
    }

    /// Turns SIGTERM and SIGINT into requests. A second one ends the process at once, as a crash
    /// would.
    pub(crate) fn on_signals(&self) -> io::Result<()> {
        let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP])?;
        let stop = self.clone();
        std::thread::Builder::new().name("signals".into()).spawn(move || {
            for signal in signals.forever() {
                if signal == SIGHUP {
                    tracing::info!("SIGHUP: nothing to read or open again");
                    continue;
                }
                if stop.is_requested() {
                    tracing::warn!("asked to stop once more: ending at once; the next start recovers");
                    std::process::exit(1);
                }
                stop.request(if signal == SIGINT { "SIGINT" } else { "SIGTERM" });
            }
        })?;
        Ok(())
    }
}
