//! The bottom: a stream socket and its time limits.
//!
//! Between commands a client may be silent for `wait_timeout`, inside a packet for
//! `net_read_timeout` only, and the whole handshake has to be over by a deadline, however slowly
//! its bytes drip. All three are the one receive timeout of the kernel's socket, set anew only when
//! it changes: a command that arrives in one piece never changes it (P1).

use env::Env;
use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

/// A connected stream socket.
pub trait Socket: Read + Write + Send {
    /// How long a read may wait; `None` is for ever.
    fn set_read_timeout(&self, limit: Option<Duration>) -> io::Result<()>;
    /// How long a write may wait; `None` is for ever.
    fn set_write_timeout(&self, limit: Option<Duration>) -> io::Result<()>;
    /// True if no network is involved, so that passwords may be sent as cleartext (P5).
    fn is_local(&self) -> bool;
    /// Ends both directions, which also wakes a thread that reads from a handle of the same socket.
    fn shutdown(&self) -> io::Result<()>;
}

impl Socket for TcpStream {
    fn set_read_timeout(&self, limit: Option<Duration>) -> io::Result<()> {
        TcpStream::set_read_timeout(self, limit)
    }

    fn set_write_timeout(&self, limit: Option<Duration>) -> io::Result<()> {
        TcpStream::set_write_timeout(self, limit)
    }

    fn is_local(&self) -> bool {
        false
    }

    fn shutdown(&self) -> io::Result<()> {
        TcpStream::shutdown(self, Shutdown::Both)
    }
}

impl Socket for UnixStream {
    fn set_read_timeout(&self, limit: Option<Duration>) -> io::Result<()> {
        UnixStream::set_read_timeout(self, limit)
    }

    fn set_write_timeout(&self, limit: Option<Duration>) -> io::Result<()> {
        UnixStream::set_write_timeout(self, limit)
    }

    fn is_local(&self) -> bool {
        true
    }

    fn shutdown(&self) -> io::Result<()> {
        UnixStream::shutdown(self, Shutdown::Both)
    }
}

/// How long each kind of waiting may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// `connect_timeout`: the whole handshake.
    pub connect: Duration,
    /// `wait_timeout` or `interactive_timeout`: from a reply to the next command.
    pub idle: Duration,
    /// `net_read_timeout`: for more bytes of a packet that has begun.
    pub read: Duration,
    /// `net_write_timeout`: for the client to take more bytes.
    pub write: Duration,
}

impl Default for Timeouts {
    /// MySQL's defaults.
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self { connect: seconds(10), idle: seconds(28_800), read: seconds(30), write: seconds(60) }
    }
}

/// What the next read waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    /// A new command.
    Command,
    /// The remaining bytes of a packet, or the next packet of an exchange.
    Remaining,
}

/// A socket under its time limits.
pub(crate) struct Line {
    socket: Box<dyn Socket>,
    env: Arc<dyn Env>,
    timeouts: Timeouts,
    wait: Wait,
    /// While the handshake lasts: when it has to be over, on the monotonic clock.
    deadline: Option<Duration>,
    /// The receive timeout the kernel knows of.
    armed: Option<Duration>,
    /// Bytes read from the socket already that belong to TLS (P6).
    pushed_back: Vec<u8>,
}

impl Line {
    pub(crate) fn new(socket: Box<dyn Socket>, env: Arc<dyn Env>, timeouts: Timeouts) -> io::Result<Self> {
        socket.set_write_timeout(Some(at_least_a_milli(timeouts.write)))?;
        let (wait, deadline, armed) = (Wait::Remaining, None, None);
        Ok(Self { socket, env, timeouts, wait, deadline, armed, pushed_back: Vec::new() })
    }

    pub(crate) fn is_local(&self) -> bool {
        self.socket.is_local()
    }

    pub(crate) fn set_timeouts(&mut self, timeouts: Timeouts) -> io::Result<()> {
        if timeouts.write != self.timeouts.write {
            self.socket.set_write_timeout(Some(at_least_a_milli(timeouts.write)))?;
        }
        self.timeouts = timeouts;
        Ok(())
    }

    /// From now to [`Line::end_handshake`] all reads together may take `timeouts.connect`.
    pub(crate) fn begin_handshake(&mut self) {
        self.deadline = Some(self.env.monotonic().saturating_add(self.timeouts.connect));
    }

    pub(crate) fn end_handshake(&mut self) {
        self.deadline = None;
    }

    /// Says what the following reads wait for.
    pub(crate) fn set_wait(&mut self, wait: Wait) {
        self.wait = wait;
    }

    /// Gives bytes back that were read too far; the next reads find them.
    pub(crate) fn push_back(&mut self, bytes: &[u8]) {
        self.pushed_back.extend_from_slice(bytes);
    }

    pub(crate) fn shutdown(&self) -> io::Result<()> {
        self.socket.shutdown()
    }

    fn arm(&mut self) -> io::Result<()> {
        let limit = match (self.deadline, self.wait) {
            (Some(deadline), _) => {
                let left = deadline.saturating_sub(self.env.monotonic());
                if left.is_zero() {
                    return Err(ErrorKind::TimedOut.into());
                }
                left
            }
            (None, Wait::Command) => self.timeouts.idle,
            (None, Wait::Remaining) => self.timeouts.read,
        };
        let limit = at_least_a_milli(limit);
        if self.armed != Some(limit) {
            self.socket.set_read_timeout(Some(limit))?;
            self.armed = Some(limit);
        }
        Ok(())
    }
}

/// The kernel takes a timeout of zero for none at all.
fn at_least_a_milli(limit: Duration) -> Duration {
    limit.max(Duration::from_millis(1))
}

/// A socket whose timeout ran out says that it would block, which TLS takes for an invitation to
/// try something else.
fn would_block_is_timeout(e: io::Error) -> io::Error {
    if e.kind() == ErrorKind::WouldBlock { ErrorKind::TimedOut.into() } else { e }
}

impl Read for Line {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if !self.pushed_back.is_empty() {
            let n = buf.len().min(self.pushed_back.len());
            buf[..n].copy_from_slice(&self.pushed_back[..n]);
            self.pushed_back.drain(..n);
            return Ok(n);
        }
        loop {
            self.arm()?;
            match self.socket.read(buf) {
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                done => return done.map_err(would_block_is_timeout),
            }
        }
    }
}

impl Write for Line {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.socket.write(buf).map_err(would_block_is_timeout)
    }

    fn write_vectored(&mut self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        self.socket.write_vectored(bufs).map_err(would_block_is_timeout)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}
