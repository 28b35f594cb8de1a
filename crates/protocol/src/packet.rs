//! Framing: packets of any length over a channel, both ways buffered.
//!
//! ```text
//! 3 bytes  payload length n, little-endian
//! 1 byte   sequence number: 0 in a command's first packet, then one up with each packet of either side, modulo 256
//! n bytes  payload; n = 2^24 - 1 says that the payload goes on in the next packet, which may be empty
//! ```
//!
//! Reading takes whatever has arrived into a fixed buffer, so that a small command costs one read
//! and pipelined ones none; a payload larger than the buffer is read straight into the caller's.
//! Writing collects packets until [`Packets::flush`]. After a large packet either side's memory
//! shrinks back (P2).

use crate::channel::Channel;
use crate::compression::Algorithm;
use crate::error::ReadError;
use crate::socket::{Line, Wait};
use std::io::{self, ErrorKind, Read, Write};

/// Length and number, in front of each payload.
pub(crate) const HEADER: usize = 4;
/// A payload of this length is continued in the next packet.
pub(crate) const PAYLOAD_MAX: usize = 0xff_ffff;
const _: () = assert!(HEADER == 3 + 1, "length and sequence number");
const _: () = assert!(PAYLOAD_MAX == (1 << 24) - 1, "what three bytes can say");
const _: () =
    assert!(BUFFER <= SHRINK_ABOVE && FLUSH_AT <= SHRINK_ABOVE, "buffers of ordinary packets are kept");
/// Size of the read buffer, and what write and packet buffers shrink back to.
pub(crate) const BUFFER: usize = 16 * 1024;
/// Buffers that grew beyond this shrink back once they are empty.
pub(crate) const SHRINK_ABOVE: usize = 64 * 1024;
/// A row that is complete is sent on when this much is buffered.
pub(crate) const FLUSH_AT: usize = 32 * 1024;
/// How much of a packet that is too large is read and thrown away before the connection is simply
/// dropped. Without reading it the close would be a reset, and the client would not see why.
const SKIP_MAX: usize = 1 << 30;

/// Packets over a channel.
pub(crate) struct Packets {
    pub(crate) channel: Channel,
    input: Box<[u8]>,
    /// Unread bytes are `input[start..end]`.
    start: usize,
    end: usize,
    output: Vec<u8>,
    /// Where the header of the packet being written is in `output`.
    open_at: usize,
    /// The number of the next packet, whichever side sends it.
    sequence: u8,
    /// The longest payload that is read.
    pub(crate) payload_max: usize,
}

impl Packets {
    pub(crate) fn new(line: Line, payload_max: usize) -> Self {
        let input = vec![0; BUFFER].into_boxed_slice();
        let output = Vec::with_capacity(BUFFER);
        let channel = Channel::Plain(line);
        Self { channel, input, start: 0, end: 0, output, open_at: 0, sequence: 0, payload_max }
    }

    /// The next packet, in either direction, has this number: 0 begins a command.
    pub(crate) fn continue_sequence(&mut self, number: u8) {
        self.sequence = number;
        if number == 0 {
            self.channel.restart();
        }
    }

    /// The number of the next packet, in either direction.
    pub(crate) fn sequence(&self) -> u8 {
        self.sequence
    }

    /// Sets that number, and nothing of a compressed layer's own.
    pub(crate) fn set_sequence(&mut self, number: u8) {
        self.sequence = number;
    }

    /// What is read and written from now on is compressed.
    pub(crate) fn start_compression(&mut self, algorithm: Algorithm) {
        let early = self.take_unread();
        self.channel.start_compression(algorithm, early);
    }

    /// Takes the buffered bytes away, for the layer that is put under this one.
    pub(crate) fn take_unread(&mut self) -> Vec<u8> {
        let unread = self.input[self.start..self.end].to_vec();
        (self.start, self.end) = (0, 0);
        unread
    }

    /// Reads one payload into `payload`, joined if it came in several packets.
    pub(crate) fn read(&mut self, payload: &mut Vec<u8>, wait: Wait) -> Result<(), ReadError> {
        payload.clear();
        if payload.capacity() > SHRINK_ABOVE {
            payload.shrink_to(BUFFER);
        }
        let mut n = self.read_header(wait)?;
        loop {
            if payload.len() + n > self.payload_max {
                self.skip(n)?;
                return Err(ReadError::TooLarge);
            }
            self.read_payload(n, payload)?;
            if n < PAYLOAD_MAX {
                return Ok(());
            }
            n = self.read_header(Wait::Remaining)?;
        }
    }

    /// Reads one payload of `max` bytes at the most whose sequence numbers are independent of what
    /// is written.
    pub(crate) fn read_aside(&mut self, payload: &mut Vec<u8>, max: usize) -> Result<(), ReadError> {
        let (sequence, payload_max) = (self.sequence, self.payload_max);
        (self.sequence, self.payload_max) = (0, max);
        let read = self.read(payload, Wait::Remaining);
        (self.sequence, self.payload_max) = (sequence, payload_max);
        read
    }

    /// True if bytes are buffered that are not read yet.
    pub(crate) fn has_unread(&self) -> bool {
        self.start < self.end
    }

    /// Reads a header, checks its sequence number (P3), returns the payload's length.
    fn read_header(&mut self, wait: Wait) -> Result<usize, ReadError> {
        if self.start == self.end {
            self.set_wait(wait);
            let filled = self.fill();
            self.set_wait(Wait::Remaining);
            match filled {
                Ok(0) => return Err(ReadError::Closed),
                Ok(_) => {}
                Err(e) if e.kind() == ErrorKind::UnexpectedEof => return Err(ReadError::Closed),
                Err(e) => return Err(Self::unanswered(e.into(), wait)),
            }
        }
        while self.end - self.start < 4 {
            if self.fill()? == 0 {
                return Err(ReadError::Aborted);
            }
        }
        let header = &self.input[self.start..self.start + 4];
        let n = u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize;
        let found = header[3];
        self.start += 4;
        let expected = self.sequence;
        // A reply is counted on from what the peer sent, right or wrong, so that it can read the
        // complaint.
        self.sequence = found.wrapping_add(1);
        if found == expected || self.channel.counts() {
            Ok(n)
        } else {
            Err(ReadError::OutOfOrder { expected, found })
        }
    }

    /// The error of a wait during which nothing arrived. An idle client is sent why it is
    /// disconnected in a packet that answers no command: its sequence number is 0, by which drivers
    /// recognize it.
    fn unanswered(e: ReadError, wait: Wait) -> ReadError {
        match (e, wait) {
            (ReadError::Timeout, Wait::Command) => ReadError::IdleTimeout,
            (e, _) => e,
        }
    }

    fn set_wait(&mut self, wait: Wait) {
        if let Some(line) = self.channel.line() {
            line.set_wait(wait);
        }
    }

    /// One read into the buffer's free end.
    fn fill(&mut self) -> io::Result<usize> {
        self.input.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        let n = self.channel.read(&mut self.input[self.end..])?;
        self.end += n;
        Ok(n)
    }

    /// Appends `n` bytes to `payload`: what is buffered, then from the channel in steps that grow
    /// with what arrived.
    fn read_payload(&mut self, n: usize, payload: &mut Vec<u8>) -> Result<(), ReadError> {
        let mut missing = n;
        loop {
            let here = missing.min(self.end - self.start);
            payload.extend_from_slice(&self.input[self.start..self.start + here]);
            self.start += here;
            missing -= here;
            if missing == 0 {
                return Ok(());
            }
            if missing >= BUFFER {
                let step = (missing).min(payload.len().max(SHRINK_ABOVE));
                payload.try_reserve(step).map_err(|_| ReadError::Io(ErrorKind::OutOfMemory.into()))?;
                if (&mut self.channel).take(step as u64).read_to_end(payload)? < step {
                    return Err(ReadError::Aborted);
                }
                missing -= step;
            } else if self.fill()? == 0 {
                return Err(ReadError::Aborted);
            }
        }
    }

    /// Reads the remaining packets of a payload, of which one of `n` bytes comes next, and discards
    /// them.
    fn skip(&mut self, mut n: usize) -> Result<(), ReadError> {
        let mut skipped = 0;
        loop {
            let mut missing = n;
            loop {
                let here = missing.min(self.end - self.start);
                self.start += here;
                missing -= here;
                if missing == 0 {
                    break;
                }
                if self.fill()? == 0 {
                    return Err(ReadError::Aborted);
                }
            }
            skipped += n;
            if n < PAYLOAD_MAX || skipped > SKIP_MAX {
                return Ok(());
            }
            n = self.read_header(Wait::Remaining)?;
        }
    }

    /// No layer between this and the socket.
    pub(crate) fn is_plain(&self) -> bool {
        matches!(self.channel, Channel::Plain(_))
    }

    /// Moves what is buffered to the empty `into`, and returns where in it the last packet's header
    /// begins. `None` if nothing is buffered.
    pub(crate) fn take_output(&mut self, into: &mut Vec<u8>) -> Option<usize> {
        if self.output.is_empty() {
            return None;
        }
        std::mem::swap(&mut self.output, into);
        self.output.clear();
        Some(self.open_at)
    }

    /// Opens a packet: append its payload to what is returned, then [`Packets::end_packet`].
    pub(crate) fn begin_packet(&mut self) -> &mut Vec<u8> {
        self.open_at = self.output.len();
        self.output.extend_from_slice(&[0; 4]);
        &mut self.output
    }

    /// The buffer of the packet that is open.
    pub(crate) fn packet(&mut self) -> &mut Vec<u8> {
        &mut self.output
    }

    /// Takes the open packet back.
    pub(crate) fn cancel_packet(&mut self) {
        self.output.truncate(self.open_at);
    }

    /// Completes the open packet; a long payload is split.
    pub(crate) fn end_packet(&mut self) {
        let n = self.output.len() - self.open_at - 4;
        if n >= PAYLOAD_MAX {
            self.make_room_for_headers(n);
        }
        let (mut at, mut left) = (self.open_at, n);
        loop {
            let here = left.min(PAYLOAD_MAX);
            let header = self.next_header(here);
            self.output[at..at + 4].copy_from_slice(&header);
            if here < PAYLOAD_MAX {
                return;
            }
            at += 4 + here;
            left -= here;
        }
    }

    /// Moves the pieces of the open payload of `n` bytes apart, the last one first.
    fn make_room_for_headers(&mut self, n: usize) {
        let (first, extra) = (self.open_at + 4, n / PAYLOAD_MAX);
        self.output.resize(self.output.len() + 4 * extra, 0);
        for piece in (1..=extra).rev() {
            let from = first + piece * PAYLOAD_MAX;
            let to = (from + PAYLOAD_MAX).min(first + n);
            self.output.copy_within(from..to, from + 4 * piece);
        }
    }

    fn next_header(&mut self, n: usize) -> [u8; 4] {
        let [a, b, c, ..] = (n as u32).to_le_bytes();
        let sequence = self.sequence;
        self.sequence = sequence.wrapping_add(1);
        [a, b, c, sequence]
    }

    /// Writes a packet of `first`, a few bytes, and then `rest`; a large `rest` goes to the channel
    /// without being copied.
    pub(crate) fn put(&mut self, first: &[u8], rest: &[u8]) -> io::Result<()> {
        if rest.len() < FLUSH_AT {
            let out = self.begin_packet();
            out.extend_from_slice(first);
            out.extend_from_slice(rest);
            self.end_packet();
            return Ok(());
        }
        let (mut first, mut rest) = (first, rest);
        loop {
            let n = (first.len() + rest.len()).min(PAYLOAD_MAX);
            let header = self.next_header(n);
            self.output.extend_from_slice(&header);
            let (now, later) = rest.split_at(n - first.len());
            self.output.extend_from_slice(std::mem::take(&mut first));
            self.flush()?;
            self.channel.write_all(now)?;
            rest = later;
            if n < PAYLOAD_MAX {
                return Ok(());
            }
        }
    }

    /// The number of bytes written and not yet sent.
    pub(crate) fn buffered(&self) -> usize {
        self.output.len()
    }

    /// Sends what is buffered.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        let sent = self.channel.write_all(&self.output).and_then(|()| self.channel.flush());
        self.output.clear();
        if self.output.capacity() > SHRINK_ABOVE {
            self.output.shrink_to(BUFFER);
        }
        sent
    }
}

#[cfg(test)]
pub(crate) mod tests;
