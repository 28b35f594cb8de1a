//! The reply to a commit, or to a statement that has read what is not durable yet: whoever makes it
//! durable sends it for the session.
//!
//! The session's thread waits for the client's next command meanwhile. Were it to wait for the log
//! instead, it would have to be woken for it, send the reply, and go to sleep again: two more
//! switches between threads for every commit, which cost more than all the rest of a small one.
//!
//! A command of several statements has a reply of several packets. All that are not sent yet go out
//! together, once the last statement's outcome is known; only the last packet depends on that.
//!
//! (W1) While a reply is out, nobody else writes to the socket: the session runs no command, and
//!      ends not before it is sent.
//! (W2) Whoever sends it never waits for the client: if the socket takes no more, a thread of its
//!      own goes on.

use crate::connections::{Seat, Sender};
use crate::results;
use crate::threads::Threads;
use parking_lot::{Condvar, Mutex};
use protocol::{Connection, LateReply};
use sql::SqlError;
use sql::session::Unsettled;
use sql::status::{Counter, Counters};
use std::io;
use std::sync::Arc;

/// Where a connection's reply waits.
pub(crate) struct Outbox {
    socket: Sender,
    slot: Mutex<Slot>,
    sent: Condvar,
    counters: Arc<Counters>,
    threads: Arc<Threads>,
}

#[derive(Default)]
struct Slot {
    reply: LateReply,
    /// It was given away, and not sent yet.
    is_out: bool,
}

/// A thread that only sends needs little.
const STACK: usize = 64 << 10;

impl Outbox {
    pub(crate) fn new(seat: &Seat, counters: Arc<Counters>, threads: Arc<Threads>) -> Arc<Self> {
        let (slot, sent) = (Mutex::default(), Condvar::new());
        Arc::new(Self { socket: seat.sender(), slot, sent, counters, threads })
    }

    /// Leaves what was written to the connection to whoever settles what it waits for.
    ///
    /// # Errors
    /// If what was written can't be left; the client is not told then.
    pub(crate) fn leave(
        self: &Arc<Self>,
        connection: &mut Connection,
        unsettled: Unsettled,
    ) -> io::Result<()> {
        let mut slot = self.slot.lock();
        if !connection.take_reply(&mut slot.reply) {
            return Err(io::ErrorKind::Unsupported.into());
        }
        slot.is_out = true;
        drop(slot);
        let outbox = self.clone();
        unsettled.leave(move |outcome| outbox.settled(outcome));
        Ok(())
    }

    /// Waits until nothing is out (W1).
    pub(crate) fn await_sent(&self) {
        let mut slot = self.slot.lock();
        while slot.is_out {
            self.sent.wait(&mut slot);
        }
    }

    fn settled(self: &Arc<Self>, outcome: Result<(), SqlError>) {
        let mut slot = self.slot.lock();
        if let Err(e) = outcome {
            slot.reply.replace(&results::error(&e, None));
        }
        let length = slot.reply.bytes().len();
        let sent = match self.socket.send_some(slot.reply.bytes()) {
            Ok(sent) => sent,
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => 0,
            Err(_) => {
                // The session finds out when it reads.
                self.socket.shut();
                length
            }
        };
        if sent >= length {
            return self.end(&mut slot);
        }
        drop(slot);
        let outbox = self.clone();
        let spawned = self.threads.run(STACK, 0, move || outbox.send_rest(sent));
        if spawned.is_err() {
            // Whoever can't be answered is better left than kept waiting.
            self.socket.shut();
            self.end(&mut self.slot.lock());
        }
    }

    /// The client takes its replies slowly (W2).
    fn send_rest(&self, from: usize) {
        let rest = self.slot.lock().reply.bytes()[from..].to_vec();
        if self.socket.send_all(&rest).is_err() {
            self.socket.shut();
        }
        self.end(&mut self.slot.lock());
    }

    fn end(&self, slot: &mut Slot) {
        self.counters.add(Counter::BytesSent, slot.reply.bytes().len() as u64);
        slot.reply.clear();
        slot.is_out = false;
        self.sent.notify_all();
    }
}
