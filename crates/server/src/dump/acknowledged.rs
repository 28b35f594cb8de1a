//! The stream to a semi-synchronous replica: events that ask, and the replica's answers in between.
//!
//! The session's thread does both: it waits for the socket and for the log at once, by a
//! listener that the log calls. The last event of a transaction is held back until it is known
//! whether another transaction follows in the batch: only of the last one the replica is asked.

use super::Packets;
use binlog::LogPosition;
use binlog::event::EventType;
use binlog::log::{DurableListener, Log};
use replication::Stream;
use replication::semi_sync::{ANSWER_MAX, Follower, SemiSync};
use rustix::event::{EventfdFlags, eventfd};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

/// What [`Packets`] sends, with two bytes in front of each event.
pub(super) struct Acknowledged<'a> {
    packets: Packets<'a>,
    log: Arc<Log>,
    /// None over a compressed connection: its packets have numbers that answers would disturb, so
    /// it is asked nothing.
    follower: Option<Follower>,
    listener: DurableListener,
    /// Readable once the listener was called.
    rung: Arc<OwnedFd>,
    /// An event that may be a transaction's last.
    held: Vec<u8>,
    /// Where it ends.
    held_end: LogPosition,
    /// Where the next event ends.
    next_end: LogPosition,
    /// When the batch that is being sent was found durable.
    since: Duration,
    answer: Vec<u8>,
    name: String,
}

impl<'a> Acknowledged<'a> {
    pub(super) fn new(
        packets: Packets<'a>,
        log: &Arc<Log>,
        semi_sync: &Arc<SemiSync>,
        server_id: u32,
    ) -> io::Result<Self> {
        let rung = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let rings = rung.clone();
        let listener: DurableListener = Arc::new(move || {
            // It can only fail because it has rung without end.
            let _ = rustix::io::write(&*rings, &1_u64.to_ne_bytes());
        });
        log.add_durable_listener(listener.clone());
        let follower = (!packets.connection.is_compressed()).then(|| semi_sync.attach(server_id));
        let name = format!("replica (server_id: {server_id})");
        tracing::info!("Start semi-sync binlog_dump to {name}");
        let (since, answer, held) = (log.monotonic(), Vec::new(), Vec::new());
        Ok(Self {
            packets,
            log: log.clone(),
            follower,
            listener,
            rung,
            held,
            held_end: LogPosition::ZERO,
            next_end: LogPosition::ZERO,
            since,
            answer,
            name,
        })
    }

    fn send(&mut self, event: &[u8], asks: bool) -> io::Result<()> {
        self.packets.connection.write_event_to_acknowledge(Follower::prefix(asks), event, asks)
    }

    /// Sends what was held back.
    fn release(&mut self, is_reserved: bool) -> io::Result<()> {
        if self.held.is_empty() {
            return Ok(());
        }
        let (held, end, since) = (std::mem::take(&mut self.held), self.held_end, self.since);
        let asks = is_reserved && self.follower.as_mut().is_some_and(|follower| follower.ask(end, since));
        self.send(&held, asks)?;
        self.held = held;
        self.held.clear();
        Ok(())
    }

    fn read_answers(&mut self) -> io::Result<()> {
        loop {
            self.packets.connection.read_answer(&mut self.answer, ANSWER_MAX).map_err(io::Error::other)?;
            if let Some(follower) = &mut self.follower {
                follower.answered(&self.answer)?;
            }
            if !self.packets.connection.has_unread() {
                return Ok(());
            }
        }
    }
}

/// Whether an event of this type may end a transaction.
fn may_be_last(event_type: EventType) -> bool {
    matches!(
        event_type,
        EventType::QUERY | EventType::XID | EventType::XA_PREPARE | EventType::TRANSACTION_PAYLOAD
    )
}

impl Stream for Acknowledged<'_> {
    fn event(&mut self, event: &[u8]) -> io::Result<()> {
        let event_type = event.get(4).map_or(EventType(0), |&code| EventType(code));
        // After a transaction comes another one, or the file's end.
        self.release(matches!(event_type, EventType::ROTATE | EventType::STOP))?;
        if may_be_last(event_type) {
            self.held.extend_from_slice(event);
            self.held_end = self.next_end;
            return Ok(());
        }
        self.send(event, false)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.release(true)?;
        self.packets.flush()
    }

    fn is_interrupted(&mut self) -> bool {
        self.packets.is_interrupted()
    }

    fn is_gone(&mut self) -> bool {
        self.packets.is_gone()
    }

    fn is_awaited(&self) -> bool {
        self.follower.is_some()
    }

    fn reaches(&mut self, end: LogPosition) {
        self.next_end = end;
        self.packets.reaches(end);
    }

    fn holds(&mut self, position: LogPosition) {
        if let Some(follower) = &mut self.follower {
            follower.holds(position);
        }
    }

    fn wait_for_more(&mut self, log: &Log, from: LogPosition, patience: Duration) -> io::Result<bool> {
        self.packets.note_sent(from);
        let patience = if log.durable() > from { Duration::ZERO } else { patience };
        let (has_answer, has_rung) = self.packets.slot.wait_readable(self.rung.as_fd(), patience)?;
        if has_rung {
            // The counter of an eventfd is reset by reading; only this thread reads it.
            let _ = rustix::io::read(&*self.rung, &mut [0; 8]);
        }
        self.since = log.monotonic();
        if has_answer || self.packets.connection.has_unread() {
            self.read_answers()?;
        }
        Ok(has_answer || log.durable() > from)
    }
}

impl Drop for Acknowledged<'_> {
    fn drop(&mut self) {
        self.log.remove_durable_listener(&self.listener);
        tracing::info!("Stop semi-sync binlog_dump to {}", self.name);
    }
}
