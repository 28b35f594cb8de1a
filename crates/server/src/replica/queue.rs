//! What the receiver hands to the applier: events in the source's order, of bounded size.
//!
//! (K1) No more than the size that is allowed is queued, but for one event that is larger.
//! (K2) A stream begins when the applier has committed, or rolled back, all of the one before: its
//!      start is looked for after that, so nothing is applied twice or left out.

use parking_lot::{Condvar, Mutex};
use sql::replica::ReceivedEvent;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// Events between a receiver and an applier.
pub(super) struct EventQueue {
    state: Mutex<QueueState>,
    changed: Condvar,
}

#[derive(Default)]
struct QueueState {
    events: VecDeque<Arc<ReceivedEvent>>,
    bytes: usize,
    bytes_max: usize,
    /// An applier takes events off.
    has_applier: bool,
    /// The applier has to begin the next stream before it takes events of it.
    begins: bool,
    /// The receiver has to begin a new stream.
    restarts: bool,
    /// Ends the read that a receiver with a stream may be waiting in.
    interrupt: Option<Interrupt>,
}

/// Ends a read.
pub(super) type Interrupt = Box<dyn Fn() + Send>;

/// What an applier does next.
pub(super) enum Next {
    /// End what it has begun, then say [`EventQueue::stream_begun`].
    BeginStream,
    /// These are next, in the source's order.
    Apply(VecDeque<Arc<ReceivedEvent>>),
    /// Nothing came.
    Nothing,
}

/// An event was not queued: the receiver has to begin a new stream.
#[derive(Debug)]
pub(super) struct Restart;

impl QueueState {
    fn interrupt(&self) {
        if let Some(interrupt) = &self.interrupt {
            interrupt();
        }
    }
}

impl EventQueue {
    pub(super) fn new() -> Self {
        Self { state: Mutex::default(), changed: Condvar::new() }
    }

    /// The most bytes of events.
    pub(super) fn set_size(&self, bytes: usize) {
        self.state.lock().bytes_max = bytes;
    }

    /// What is received and not applied takes so many bytes of memory.
    pub(super) fn bytes(&self) -> usize {
        self.state.lock().bytes
    }

    /// The receiver begins a stream: waits until the applier, if there is one, has ended the one
    /// before (K2). False if it is no longer wanted meanwhile. `interrupt` ends its reads, should
    /// an applier start: a source that is idle would keep it waiting.
    pub(super) fn begin_stream(&self, interrupt: Option<Interrupt>, is_wanted: impl Fn() -> bool) -> bool {
        let mut state = self.state.lock();
        state.events.clear();
        state.bytes = 0;
        state.restarts = false;
        state.begins = state.has_applier;
        self.changed.notify_all();
        while state.begins {
            if !is_wanted() {
                return false;
            }
            self.changed.wait_for(&mut state, Duration::from_millis(200));
        }
        state.interrupt = interrupt;
        if state.restarts {
            state.interrupt();
        }
        true
    }

    /// Waits until all that is queued is applied, or there is no applier for it. False if the
    /// receiver is no longer wanted meanwhile.
    pub(super) fn drain(&self, is_wanted: impl Fn() -> bool) -> bool {
        let mut state = self.state.lock();
        while state.has_applier && state.bytes > 0 {
            if !is_wanted() {
                return false;
            }
            self.changed.wait_for(&mut state, Duration::from_millis(200));
        }
        true
    }

    /// The receiver's stream, if it has begun, is over. True if it was interrupted.
    pub(super) fn end_stream(&self) -> bool {
        let mut state = self.state.lock();
        state.interrupt.take().is_some() && state.restarts
    }

    /// Adds an event; waits while the queue is full (K1). `None` if the receiver is no longer
    /// wanted.
    pub(super) fn push(
        &self,
        event: ReceivedEvent,
        is_wanted: impl Fn() -> bool,
    ) -> Option<Result<(), Restart>> {
        let mut state = self.state.lock();
        let size = event.memory();
        while !state.restarts && state.bytes > 0 && state.bytes + size > state.bytes_max {
            if !is_wanted() {
                return None;
            }
            self.changed.wait_for(&mut state, Duration::from_millis(200));
        }
        if state.restarts {
            return Some(Err(Restart));
        }
        state.bytes += size;
        let was_empty = state.events.is_empty();
        state.events.push_back(Arc::new(event));
        drop(state);
        if was_empty {
            self.changed.notify_all();
        }
        Some(Ok(()))
    }

    /// An applier starts: the receiver begins a new stream, if it runs.
    pub(super) fn attach_applier(&self) {
        let mut state = self.state.lock();
        state.has_applier = true;
        state.begins = false;
        state.restarts = true;
        state.events.clear();
        state.bytes = 0;
        state.interrupt();
        drop(state);
        self.changed.notify_all();
    }

    /// It ends.
    pub(super) fn detach_applier(&self) {
        let mut state = self.state.lock();
        state.has_applier = false;
        state.begins = false;
        drop(state);
        self.changed.notify_all();
    }

    /// What the applier does next.
    pub(super) fn next(&self, patience: Duration) -> Next {
        let mut state = self.state.lock();
        let is_idle = |state: &QueueState| !state.begins && (state.restarts || state.events.is_empty());
        if is_idle(&state) {
            self.changed.wait_while_for(&mut state, |state| is_idle(state), patience);
        }
        if state.begins {
            return Next::BeginStream;
        }
        if is_idle(&state) {
            return Next::Nothing;
        }
        let events = std::mem::take(&mut state.events);
        drop(state);
        Next::Apply(events)
    }

    /// Events that [`Self::next`] gave are applied, or thrown away: there is room for others.
    pub(super) fn applied(&self, bytes: usize) {
        let mut state = self.state.lock();
        state.bytes = state.bytes.saturating_sub(bytes);
        drop(state);
        self.changed.notify_all();
    }

    /// The receiver has begun another stream: what [`Self::next`] gave is to be thrown away.
    pub(super) fn is_beginning(&self) -> bool {
        self.state.lock().begins
    }

    /// The applier has ended the stream before.
    pub(super) fn stream_begun(&self) {
        let mut state = self.state.lock();
        state.begins = false;
        drop(state);
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(size: usize) -> ReceivedEvent {
        ReceivedEvent { bytes: vec![0; size], file: "b.000001".into(), end: 0 }
    }

    #[test]
    fn an_event_that_is_larger_than_the_queue_is_taken_alone() {
        let queue = EventQueue::new();
        queue.set_size(10);
        queue.attach_applier();
        queue.detach_applier();
        assert!(queue.begin_stream(None, || true));
        assert!(matches!(queue.push(event(100), || false), Some(Ok(()))));
        assert!(queue.push(event(1), || false).is_none(), "it is full");
        let Next::Apply(events) = queue.next(Duration::ZERO) else { panic!("it has one") };
        queue.applied(events[0].memory());
        assert!(matches!(queue.push(event(1), || false), Some(Ok(()))));
    }

    #[test]
    fn what_is_queued_is_applied_before_it_is_drained() {
        let queue = EventQueue::new();
        queue.set_size(1000);
        assert!(queue.begin_stream(None, || true));
        assert!(matches!(queue.push(event(1), || true), Some(Ok(()))));
        assert!(queue.drain(|| true), "nobody applies it");
        queue.attach_applier();
        queue.stream_begun();
        let mut state = queue.state.lock();
        state.restarts = false;
        drop(state);
        assert!(matches!(queue.push(event(1), || true), Some(Ok(()))));
        assert!(!queue.drain(|| false), "it waits to be applied");
        let Next::Apply(events) = queue.next(Duration::ZERO) else { panic!("it has one") };
        assert!(!queue.drain(|| false), "it is being applied");
        queue.applied(events[0].memory());
        assert!(queue.drain(|| false));
    }

    #[test]
    fn a_stream_begins_after_the_applier_has_ended_the_one_before() {
        let queue = EventQueue::new();
        queue.set_size(1000);
        queue.attach_applier();
        assert!(matches!(queue.push(event(1), || true), Some(Err(Restart))));
        assert!(!queue.begin_stream(None, || false), "the applier has not begun it");
        assert!(matches!(queue.next(Duration::ZERO), Next::BeginStream));
        queue.stream_begun();
        assert!(matches!(queue.next(Duration::ZERO), Next::Nothing));
        assert!(matches!(queue.push(event(1), || true), Some(Ok(()))));
        assert!(matches!(queue.next(Duration::ZERO), Next::Apply(events) if events.len() == 1));
    }
}
