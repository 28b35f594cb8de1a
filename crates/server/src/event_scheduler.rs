//! Runs events when they are due ([`sql::EventQueue`]): one thread that looks at the clock, and a
//! thread for each event that runs.
//!
//! It looks once a second, for that is how exact an event's time is, and at once when one is due
//! sooner; not at all while `event_scheduler` is OFF.

use crate::server::Server;
use sql::variables::ids;
use sql::{DueEvent, EventQueue, Kill, runs_events};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long it sleeps at the most.
const SCAN_INTERVAL: Duration = Duration::from_secs(1);

/// So many events run at once; others wait.
const RUNNING_MAX: usize = 64;

/// The scheduler's thread.
pub(crate) struct EventScheduler(JoinHandle<()>);

impl EventScheduler {
    /// Starts it; `None` with `event_scheduler=DISABLED`.
    ///
    /// # Errors
    /// The system gives no thread.
    pub(crate) fn start(server: &Arc<Server>) -> std::io::Result<Option<Self>> {
        const DISABLED: u64 = 2;
        if server.variables.uint(ids::EVENT_SCHEDULER) == DISABLED {
            return Ok(None);
        }
        let server = server.clone();
        let thread = std::thread::Builder::new().name("event-scheduler".into());
        Ok(Some(Self(thread.spawn(move || schedule(&server))?)))
    }

    /// Waits until it has ended, and the events that run have. The stop must have been requested
    /// before.
    pub(crate) fn end(self) {
        // A panic in it was logged.
        let _ = self.0.join();
    }
}

fn schedule(server: &Arc<Server>) {
    let running = Arc::new(AtomicUsize::new(0));
    let mut threads: Vec<JoinHandle<()>> = Vec::new();
    let mut queue = EventQueue::default();
    loop {
        let mut patience = SCAN_INTERVAL;
        if runs_events(&server.database) {
            let free = RUNNING_MAX.saturating_sub(running.load(Relaxed));
            for event in queue.take_due(&server.database, free) {
                threads.extend(start(server, &running, event));
            }
            patience = queue.patience(&server.database).map_or(SCAN_INTERVAL, |due| due.min(SCAN_INTERVAL));
        } else {
            queue.clear();
        }
        threads.retain(|thread| !thread.is_finished());
        if server.stop.wait_for(patience.max(Duration::from_millis(1))).is_some() {
            break;
        }
    }
    // What began after the sessions were ended is ended too.
    while running.load(Relaxed) > 0 {
        server.database.processes().iter().for_each(|process| process.kill(Kill::Connection));
        std::thread::sleep(Duration::from_millis(10));
    }
    threads.into_iter().for_each(|thread| drop(thread.join()));
}

/// A thread that runs an event; `None`, and told, if there is none to be had.
fn start(server: &Arc<Server>, running: &Arc<AtomicUsize>, event: DueEvent) -> Option<JoinHandle<()>> {
    let stack = usize::try_from(server.variables.uint(ids::THREAD_STACK)).unwrap_or(2 << 20);
    let (server, running) = (server.clone(), Running::count(running));
    let shown = event.shown();
    let thread = std::thread::Builder::new().name("event".into()).stack_size(stack).spawn(move || {
        let _running = running;
        stdx::stack::begin(stack);
        if let Err(e) = event.run(&server.database) {
            tracing::error!("Event Scheduler: {} {e}", event.shown());
        }
    });
    match thread {
        Ok(thread) => Some(thread),
        Err(e) => {
            tracing::error!("Event Scheduler: {shown} can't be run, for there is no thread: {e}");
            None
        }
    }
}

/// Counts an event that runs, for as long as it is there.
struct Running(Arc<AtomicUsize>);

impl Running {
    fn count(all: &Arc<AtomicUsize>) -> Self {
        all.fetch_add(1, Relaxed);
        Self(all.clone())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}
