//! What a semi-synchronous source is told: up to where its transactions are durable here.
//!
//! MySQL's replicas acknowledge what is in their relay log. Here a transaction is acknowledged when
//! it is committed, in this server's log and as durable as the settings ask. The receiver goes on
//! reading while there is more to read, so that one flush and one answer serve many transactions.

use super::connection::{SourceConnection, SourceError, lost};
use sql::replica::channel::SourcePosition;
use sql::replica::{Channel, ReceivedEvent, ReplicaThread};
use std::net::TcpStream;
use std::time::Duration;

/// The first byte in front of an event, and of an answer.
const MAGIC: u8 = 0xef;
const ASKS: u8 = 1;

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

/// The answer that a source waits for.
pub(super) struct Acknowledgement {
    /// For looking whether more has come.
    socket: Option<TcpStream>,
    asked: Option<SourcePosition>,
}

impl Acknowledgement {
    pub(super) fn new(socket: Option<TcpStream>) -> Self {
        Self { socket, asked: None }
    }

    /// The source asks for an answer once this event is durable.
    pub(super) fn is_asked(&mut self, event: &ReceivedEvent) {
        self.asked = Some(SourcePosition { file: event.file.to_string(), offset: event.end });
    }

    /// Before the next read: if that would wait, and the source waits for an answer, waits until
    /// all that was asked for is durable, and answers. False if the receiver is no longer wanted.
    pub(super) fn send_if_due(
        &mut self,
        channel: &Channel,
        connection: &mut SourceConnection,
    ) -> Result<bool, SourceError> {
        let Some(asked) = &self.asked else { return Ok(true) };
        if self.socket.as_ref().is_some_and(has_more) {
            return Ok(true);
        }
        let is_there = |executed: &SourcePosition| {
            executed.file == asked.file && executed.offset >= asked.offset
                || (executed.file.len(), &executed.file) > (asked.file.len(), &asked.file)
        };
        while !channel.wait_until(PATIENCE, |state| is_there(&state.progress.executed)) {
            if !channel.is_wanted(ReplicaThread::Receiver) {
                return Ok(false);
            }
            if self.socket.as_ref().is_some_and(has_more) {
                return Ok(true);
            }
        }
        let mut answer = vec![MAGIC];
        answer.extend_from_slice(&asked.offset.to_le_bytes());
        answer.extend_from_slice(asked.file.as_bytes());
        connection.client.send_command(&answer).map_err(lost)?;
        self.asked = None;
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
