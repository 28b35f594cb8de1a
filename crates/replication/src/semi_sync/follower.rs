//! One replica of a semi-synchronous source: what it is asked, and what it answers.
//!
//! ```text
//! in front of each event: ef, then 01 to ask for an answer, else 00
//! the answer:             ef, position (8 bytes, little-endian), file name
//! ```
//!
//! MySQL's format, which MariaDB has too. An answer is a packet that begins a sequence of its own;
//! the event after one that asks has the number 1.

use super::SemiSync;
use binlog::LogPosition;
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// What events and answers begin with.
const MAGIC: u8 = 0xef;
/// Magic and position.
const NAME_AT: usize = 9;
/// The longest answer: MySQL's longest file name after magic and position.
pub const ANSWER_MAX: usize = NAME_AT + 512;
/// The most questions that wait for an answer. The replica is asked no more until it has answered
/// some.
const ASKED_MAX: usize = 1024;

/// A stream to a replica that acknowledges; detached when it is dropped.
pub struct Follower {
    semi_sync: Arc<SemiSync>,
    id: u64,
    /// Where what it was asked for ends, and when that was found durable; oldest first.
    asked: VecDeque<(LogPosition, Duration)>,
    has_asked: bool,
}

impl Follower {
    pub(super) fn new(semi_sync: Arc<SemiSync>, id: u64) -> Self {
        Self { semi_sync, id, asked: VecDeque::new(), has_asked: false }
    }

    /// What to send in front of an event.
    pub fn prefix(asks: bool) -> [u8; 2] {
        [MAGIC, asks.into()]
    }

    /// The replica said that it has all up to here before it asked for more.
    pub fn holds(&mut self, position: LogPosition) {
        if !self.has_asked {
            self.semi_sync.acknowledge(self.id, position, None);
        }
    }

    /// Whether to ask for an answer with the event that ends at `position`, which was found durable
    /// at `since` (monotonic).
    pub fn ask(&mut self, position: LogPosition, since: Duration) -> bool {
        let asks = self.asked.len() < ASKED_MAX;
        if asks {
            self.asked.push_back((position, since));
            self.has_asked = true;
        }
        asks
    }

    /// Takes an answer. One for what was not asked changes nothing (Y1).
    ///
    /// # Errors
    /// It is no answer.
    pub fn answered(&mut self, packet: &[u8]) -> io::Result<()> {
        let (at, file) = parse(packet).ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidData, "a replica's acknowledgement is malformed")
        })?;
        // One answer for one question, in their order. A replica that counts lengths itself may say
        // a little more.
        let name = |position| self.semi_sync.name(position);
        let is_it = |position: LogPosition| position.offset() <= at && name(position).as_bytes() == file;
        if let Some(&(position, since)) = self.asked.front()
            && is_it(position)
        {
            self.asked.pop_front();
            let lag = self.semi_sync.env.monotonic().saturating_sub(since);
            self.semi_sync.acknowledge(self.id, position, Some(lag));
        }
        Ok(())
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.semi_sync.detach(self.id);
    }
}

/// Position and file name.
fn parse(packet: &[u8]) -> Option<(u64, &[u8])> {
    let (&magic, remaining) = packet.split_first()?;
    let (position, file) = remaining.split_first_chunk()?;
    let is_answer = magic == MAGIC && packet.len() <= ANSWER_MAX && !file.is_empty();
    // A name may be ended as in C.
    let file = file.split(|&byte| byte == 0).next()?;
    is_answer.then(|| (u64::from_le_bytes(*position), file))
}
