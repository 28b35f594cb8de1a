//! The applier's thread: takes events off the queue and applies them.

use super::queue::{EventQueue, Next};
use crate::server::Server;
use sql::replica::{Applied, Applier, ApplyError, Channel, ReplicaThread, ThreadError};
use std::sync::Arc;
use std::time::Duration;

/// How long it waits for events before it looks whether it is still wanted.
const PATIENCE: Duration = Duration::from_millis(200);

const THREAD: ReplicaThread = ReplicaThread::Applier;

/// Applies until it is no longer wanted, UNTIL is reached, or something can't be applied.
pub(super) fn run(
    server: &Arc<Server>,
    channel: &Arc<Channel>,
    queue: &Arc<EventQueue>,
) -> Result<(), ThreadError> {
    let error = |number: u16, message: String| ThreadError { number, message, at: server.env.now() };
    let applier = Applier::new(&server.database, channel);
    let mut applier = applier.map_err(|e| error(e.number, e.message))?;
    channel.set_wake(THREAD, Some(Box::new(applier.interrupter())));
    let _attached = Attached::new(queue);
    channel.with(|state| state.applier.state = IDLE);
    let stopped = apply_all(channel, queue, &mut applier);
    let finished = applier.finish();
    match stopped.and(finished) {
        // STOP REPLICA has interrupted it.
        Err(ApplyError { number: QUERY_INTERRUPTED, .. }) if !channel.is_wanted(THREAD) => Ok(()),
        outcome => outcome.map_err(|ApplyError { number, message }| error(number, message)),
    }
}

const QUERY_INTERRUPTED: u16 = 1317;

const IDLE: &str = "Replica has read all relay log; waiting for more updates";
const BUSY: &str = "Applying batch of row changes";

fn apply_all(
    channel: &Arc<Channel>,
    queue: &Arc<EventQueue>,
    applier: &mut Applier,
) -> Result<(), ApplyError> {
    if applier.is_until_reached()? {
        channel.with(|state| state.applier.wanted = false);
    }
    let mut is_idle = true;
    while channel.is_wanted(THREAD) {
        let events = match queue.next(PATIENCE) {
            Next::BeginStream => {
                applier.begin_stream()?;
                queue.stream_begun();
                continue;
            }
            Next::Nothing => {
                applier.idle()?;
                if !is_idle {
                    is_idle = true;
                    channel.with(|state| state.applier.state = IDLE);
                }
                continue;
            }
            Next::Apply(events) => events,
        };
        if is_idle {
            is_idle = false;
            channel.with(|state| state.applier.state = BUSY);
        }
        for event in events {
            let size = event.memory();
            // A stream that has ended is fetched again from what is committed.
            let is_void = queue.is_beginning() || !channel.is_wanted(THREAD);
            let outcome = if is_void { Ok(Applied::Done) } else { applier.apply(&event) };
            drop(event);
            queue.applied(size);
            if outcome? == Applied::UntilReached {
                channel.with(|state| state.applier.wanted = false);
                return Ok(());
            }
        }
    }
    Ok(())
}

/// The queue has an applier until this is dropped.
struct Attached<'a>(&'a EventQueue);

impl<'a> Attached<'a> {
    fn new(queue: &'a EventQueue) -> Self {
        queue.attach_applier();
        Self(queue)
    }
}

impl Drop for Attached<'_> {
    fn drop(&mut self) {
        self.0.detach_applier();
    }
}
