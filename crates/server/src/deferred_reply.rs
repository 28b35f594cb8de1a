//! Deferred replies: who sends the OK of a commit, and when.
//!
//! A session that commits need not wait for the flush. Were it to wait, it would have to be woken,
//! send the OK, and sleep again in `recv`: two more context switches for every commit, which cost
//! more than all the other work of a small one. Instead it goes straight to reading the client's
//! next command, and the thread that makes the commit durable sends the reply. Four layers take
//! part:
//!
//! 1. server  The session executes the statement and writes its OK into the connection's buffer.
//! 2. sql     The session has a pending reply instead of an outcome, where the statement allows it
//!    (`sql/src/session/pending_reply.rs`): it holds the metadata locks and the commit's pass until
//!    the outcome is known.
//! 3. server  [`Outbox::defer`] detaches the written packets from the connection and registers
//!    [`Outbox::on_outcome`] as the completion. The session waits for the next command.
//! 4. storage The pending commit releases what the transaction still holds, and calls the
//!    completion (`storage/src/engine/pending.rs`).
//! 5. binlog  The group commit leader calls the completions of its group when the group is
//!    published: as durable as `sync_binlog` and `innodb_flush_log_at_trx_commit` ask, visible, and
//!    acknowledged by replicas if commits wait for them (steps 7 to 9 of
//!    `binlog/src/log/commit.rs`).
//! 6. server  The completion, on the leader's thread, sends the packets; a failed commit's OK is
//!    replaced by the error first.
//!
//! The same way goes a statement that has read, through locks, what is not durable yet: its reply
//! waits for the position that it has read (C5 of ARCHITECTURE.md). Where a reply can't be
//! deferred (TLS, compression, a COMMIT with CHAIN or RELEASE, ..) the session itself waits, then
//! sends it. The decision and its figures: `docs/decisions/2026-11-22-async-commit-replies.md`.
//!
//! A command of several statements has a reply of several packets. All that are not sent yet go out
//! together, once the last statement's outcome is known; only the last packet depends on that.
//!
//! (W1) While a reply is deferred no other thread writes to the socket: the session executes no
//!      command, and does not end before the reply is sent.
//! (W2) A completion never blocks on the client: if the socket's buffer is full, a thread of its
//!      own sends what remains.

use crate::connections::{ConnectionSlot, Sender};
use crate::results;
use crate::threads::Threads;
use parking_lot::{Condvar, Mutex};
use protocol::{Connection, DeferredReply};
use sql::status::{Counter, Counters};
use sql::{PendingReply, SqlError};
use std::io;
use std::sync::Arc;

/// Holds a connection's deferred reply until its commit's outcome is known.
pub(crate) struct Outbox {
    socket: Sender,
    slot: Mutex<Slot>,
    sent: Condvar,
    counters: Arc<Counters>,
    threads: Arc<Threads>,
}

#[derive(Default)]
struct Slot {
    reply: DeferredReply,
    /// A completion is registered that has not sent the reply yet.
    is_deferred: bool,
}

/// The stack of a thread that only sends, in bytes.
const STACK: usize = 64 << 10;

impl Outbox {
    pub(crate) fn new(
        connection: &ConnectionSlot,
        counters: Arc<Counters>,
        threads: Arc<Threads>,
    ) -> Arc<Self> {
        let (slot, sent) = (Mutex::default(), Condvar::new());
        Arc::new(Self { socket: connection.sender(), slot, sent, counters, threads })
    }

    /// Detaches what was written to the connection, to be sent once the outcome is known.
    ///
    /// # Errors
    /// The connection's output can't be detached; the client gets no reply then.
    pub(crate) fn defer(
        self: &Arc<Self>,
        connection: &mut Connection,
        pending: PendingReply,
    ) -> io::Result<()> {
        let mut slot = self.slot.lock();
        if !connection.detach_reply(&mut slot.reply) {
            return Err(io::ErrorKind::Unsupported.into());
        }
        slot.is_deferred = true;
        drop(slot);
        let outbox = self.clone();
        pending.on_complete(move |outcome| outbox.on_outcome(outcome));
        Ok(())
    }

    /// Waits until the deferred reply, if there is one, is sent (W1).
    pub(crate) fn await_sent(&self) {
        let mut slot = self.slot.lock();
        while slot.is_deferred {
            self.sent.wait(&mut slot);
        }
    }

    fn on_outcome(self: &Arc<Self>, outcome: Result<(), SqlError>) {
        let mut slot = self.slot.lock();
        if let Err(e) = outcome {
            slot.reply.replace(&results::error(&e, None));
        }
        let length = slot.reply.bytes().len();
        let sent = match self.socket.send_some(slot.reply.bytes()) {
            Ok(sent) => sent,
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => 0,
            Err(_) => {
                // The session notices when it reads the next command.
                self.socket.shut();
                length
            }
        };
        if sent >= length {
            return self.end(&mut slot);
        }
        drop(slot);
        let outbox = self.clone();
        let spawned = self.threads.run(STACK, 0, move || outbox.send_remaining(sent));
        if spawned.is_err() {
            // Without a thread the reply can't be sent: a closed connection is better than a silent
            // one.
            self.socket.shut();
            self.end(&mut self.slot.lock());
        }
    }

    /// Sends what the socket's buffer had no room for (W2), on a thread of its own.
    fn send_remaining(&self, from: usize) {
        let remaining = self.slot.lock().reply.bytes()[from..].to_vec();
        if self.socket.send_all(&remaining).is_err() {
            self.socket.shut();
        }
        self.end(&mut self.slot.lock());
    }

    fn end(&self, slot: &mut Slot) {
        self.counters.add(Counter::BytesSent, slot.reply.bytes().len() as u64);
        slot.reply.clear();
        slot.is_deferred = false;
        self.sent.notify_all();
    }
}
