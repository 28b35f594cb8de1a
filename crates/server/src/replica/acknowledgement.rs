//! What a semi-synchronous source is told: up to where its transactions are durable here.
//!
//! MySQL's replicas acknowledge what is in their relay log. Here a transaction is acknowledged when
//! it is committed, in this server's log and as durable as the settings ask. The receiver goes on
//! reading while there is more to read, so that one flush serves many transactions.

use super::connection::{SourceConnection, SourceError, lost};
use sql::replica::channel::SourcePosition;
use sql::replica::{Channel, ReplicaThread};
use std::collections::VecDeque;
use std::net::TcpStream;
use std::time::Duration;

/// The first byte in front of an event, and of an answer.
const MAGIC: u8 = 0xef;
const ASKS: u8 = 1;

/// The number of the packet after one that asks.
const AFTER_QUESTION: u8 = 1;
/// So many questions are answered though there is more to read.
const TOGETHER: usize = 64;

/// How long a wait for the applier goes on before the receiver looks whether it is still wanted.
const PATIENCE: Duration = Duration::from_millis(200);

/// Takes the two bytes off that precede an event: whether the source asks for an answer. `None` if
/// they are not there.
pub(super) fn strip(bytes: &[u8]) -> Option<(&[u8], bool)> {
    match bytes {
        [MAGIC, flag, event @ ..] => Some((event, flag & ASKS != 0)),
        _ => None,
    }
}

/// What a source waits for.
struct Question {
    position: SourcePosition,
    /// The event is one that this server passes over: there is nothing to become durable.
    is_passed: bool,
}

impl Question {
    fn is_answered_by(&self, executed: &SourcePosition) -> bool {
        let asked = &self.position;
        self.is_passed
            || executed.file == asked.file && executed.offset >= asked.offset
            || (executed.file.len(), &executed.file) > (asked.file.len(), &asked.file)
    }

    fn answer(&self) -> Vec<u8> {
        let mut answer = vec![MAGIC];
        answer.extend_from_slice(&self.position.offset.to_le_bytes());
        answer.extend_from_slice(self.position.file.as_bytes());
        answer
    }
}

/// The answers that a source waits for: one for each question, in their order, for a source may
/// count them.
pub(super) struct Acknowledgement {
    /// For looking whether more has come.
    socket: Option<TcpStream>,
    asked: VecDeque<Question>,
}

impl Acknowledgement {
    pub(super) fn new(socket: Option<TcpStream>) -> Self {
        Self { socket, asked: VecDeque::new() }
    }

    /// The source asks for an answer once the event that ends at `position` is durable.
    pub(super) fn is_asked(
        &mut self,
        connection: &mut SourceConnection,
        position: SourcePosition,
        is_passed: bool,
    ) {
        // The source counts anew as soon as it has asked, not when it is answered.
        connection.client.expect_number(AFTER_QUESTION);
        self.asked.push_back(Question { position, is_passed });
    }

    /// Before the next read: answers what is durable; if the read would wait, waits for what is not
    /// before. False if the receiver is no longer wanted.
    pub(super) fn send_if_due(
        &mut self,
        channel: &Channel,
        connection: &mut SourceConnection,
    ) -> Result<bool, SourceError> {
        while let Some(first) = self.asked.front() {
            let has_more = connection.client.has_unread() || self.socket.as_ref().is_some_and(has_more);
            if has_more && self.asked.len() < TOGETHER {
                return Ok(true);
            }
            if !has_more {
                channel.wait_until(PATIENCE, |state| first.is_answered_by(&state.progress.executed));
            }
            let executed = channel.with(|state| state.progress.executed.clone());
            let count = self.asked.iter().take_while(|question| question.is_answered_by(&executed)).count();
            let answers = self.asked.drain(..count).map(|question| question.answer());
            if count > 0 {
                connection.client.send_aside(answers).map_err(lost)?;
            }
            if has_more {
                return Ok(true);
            }
            if !channel.is_wanted(ReplicaThread::Receiver) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// True if a read would not wait.
fn has_more(socket: &TcpStream) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let mut fds = [PollFd::new(socket, PollFlags::IN)];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut fds, Some(&at_once)).is_ok_and(|ready| ready > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_of_a_semi_synchronous_source_has_two_bytes_in_front() {
        assert_eq!(strip(&[MAGIC, 1, 7, 8]), Some((&[7, 8][..], true)));
        assert_eq!(strip(&[MAGIC, 0]), Some((&[][..], false)));
        assert_eq!(strip(&[0, 0, 7]), None);
        assert_eq!(strip(&[MAGIC]), None);
    }
}
