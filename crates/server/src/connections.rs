//! Who is connected: connection slots are counted here, and every socket can be shut from here.
//!
//! (N1) At most `max_connections` + 1 connections have a slot; the last slot is reserved for an
//!      administrator.
//! (N2) A slot is free again when its connection ends, however it ends.

use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::net::SendFlags;
use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// The far end of a connection that was just accepted.
pub(crate) enum Peer {
    /// Over TCP, from this address.
    Tcp(TcpStream, IpAddr),
    /// Over the Unix socket.
    Unix(UnixStream),
}

impl Peer {
    /// What accounts are matched with. Loopback is `localhost`, over TCP too.
    pub(crate) fn host(&self) -> String {
        match self {
            Peer::Tcp(_, from) if !from.is_loopback() => from.to_string(),
            _ => "localhost".into(),
        }
    }

    /// The port of this server that it came to.
    pub(crate) fn port(&self) -> Option<u16> {
        match self {
            Peer::Tcp(stream, _) => stream.local_addr().ok().map(|address| address.port()),
            Peer::Unix(_) => None,
        }
    }

    fn handle(&self) -> io::Result<Handle> {
        match self {
            Peer::Tcp(stream, _) => stream.try_clone().map(Handle::Tcp),
            Peer::Unix(stream) => stream.try_clone().map(Handle::Unix),
        }
    }
}

/// A second handle of a connection's socket.
enum Handle {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Handle {
    fn socket(&self) -> BorrowedFd<'_> {
        match self {
            Handle::Tcp(stream) => stream.as_fd(),
            Handle::Unix(stream) => stream.as_fd(),
        }
    }

    /// Wakes a thread that reads or writes; errors mean that the connection was over before.
    fn shut(&self, how: Shutdown) {
        let _ = match self {
            Handle::Tcp(stream) => stream.shutdown(how),
            Handle::Unix(stream) => stream.shutdown(how),
        };
    }

    fn wait_readable(&self, other: BorrowedFd<'_>, patience: Duration) -> io::Result<(bool, bool)> {
        let poll = |fd| PollFd::from_borrowed_fd(fd, PollFlags::IN | PollFlags::RDHUP);
        let mut asked = [poll(self.socket()), poll(other)];
        let patience =
            Timespec { tv_sec: patience.as_secs() as i64, tv_nsec: i64::from(patience.subsec_nanos()) };
        match rustix::event::poll(&mut asked, Some(&patience)) {
            Ok(_) => Ok((!asked[0].revents().is_empty(), !asked[1].revents().is_empty())),
            Err(Errno::INTR) => Ok((false, false)),
            Err(e) => Err(e.into()),
        }
    }

    /// True if the far end sends no more; unread bytes may remain.
    fn has_ended(&self) -> bool {
        let mut asked = [PollFd::from_borrowed_fd(self.socket(), PollFlags::RDHUP)];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        // An error of `poll` says nothing about the peer.
        rustix::event::poll(&mut asked, Some(&at_once)).is_ok_and(|n| n > 0)
    }
}

/// All connections.
#[derive(Default)]
pub struct Connections {
    live: Mutex<HashMap<u64, Arc<Live>>>,
    most: AtomicU64,
}

/// A live connection, as others see it.
struct Live {
    handle: Handle,
    /// It runs a statement now. A flag for each, so that statements of different sessions touch
    /// nothing in common.
    running: AtomicBool,
}

/// One of the `max_connections` + 1 slots, free again when dropped (N2).
pub(crate) struct ConnectionSlot {
    connections: Arc<Connections>,
    id: u64,
    live: Arc<Live>,
    /// The slot reserved for an administrator (N1).
    pub(crate) is_reserved: bool,
}

impl Connections {
    /// A slot for the connection `id`; `None` if all are taken.
    pub(crate) fn admit(
        self: &Arc<Self>,
        id: u64,
        peer: &Peer,
        max: u64,
    ) -> io::Result<Option<ConnectionSlot>> {
        let live = Arc::new(Live { handle: peer.handle()?, running: AtomicBool::new(false) });
        let mut slots = self.live.lock();
        let taken = slots.len() as u64;
        if taken > max {
            return Ok(None);
        }
        slots.insert(id, live.clone());
        self.most.fetch_max(taken + 1, Relaxed);
        Ok(Some(ConnectionSlot { connections: self.clone(), id, live, is_reserved: taken == max }))
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.live.lock().len() as u64
    }

    /// The most there were at one time.
    pub(crate) fn most(&self) -> u64 {
        self.most.load(Relaxed)
    }

    /// How many run a statement now.
    pub(crate) fn running(&self) -> u64 {
        self.live.lock().values().filter(|l| l.running.load(Relaxed)).count() as u64
    }

    /// Shuts a connection's socket.
    pub(crate) fn shut(&self, id: u64) {
        let live = self.live.lock().get(&id).cloned();
        if let Some(live) = live {
            live.handle.shut(Shutdown::Both);
        }
    }

    /// Ends every connection: no command is read any more, replies still go out. With
    /// `Shutdown::Both` not even those.
    pub(crate) fn shut_all(&self, how: Shutdown) {
        for live in self.live.lock().values() {
            live.handle.shut(how);
        }
    }

    /// Waits until all connections have ended, at most for `patience`. True if they have.
    pub(crate) fn await_none(&self, patience: Duration) -> bool {
        let pause = Duration::from_millis(5);
        let mut waited = Duration::ZERO;
        while self.count() > 0 && waited < patience {
            std::thread::sleep(pause);
            waited += pause;
        }
        self.count() == 0
    }
}

impl ConnectionSlot {
    /// Waits until the client has sent something or closed the connection, or `other` can be read,
    /// for `patience` at the most; returns which of the two.
    pub(crate) fn wait_readable(
        &self,
        other: BorrowedFd<'_>,
        patience: Duration,
    ) -> io::Result<(bool, bool)> {
        self.live.handle.wait_readable(other, patience)
    }

    /// True if the client closed the connection, for those who send and do not read.
    pub(crate) fn peer_has_closed(&self) -> bool {
        self.live.handle.has_ended()
    }

    /// A second handle of the connection's socket, for a deferred reply.
    pub(crate) fn sender(&self) -> Sender {
        Sender(self.live.clone())
    }

    /// Counts this connection as running a statement until the guard is dropped.
    pub(crate) fn run(&self) -> Running<'_> {
        self.live.running.store(true, Relaxed);
        Running(&self.live)
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.connections.live.lock().remove(&self.id);
    }
}

/// Sends through a connection's socket from another thread than the session's.
pub(crate) struct Sender(Arc<Live>);

impl Sender {
    /// Sends as much as the socket takes at once.
    pub(crate) fn send_some(&self, bytes: &[u8]) -> io::Result<usize> {
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        Ok(rustix::net::send(self.0.handle.socket(), bytes, flags)?)
    }

    /// Sends everything, within `net_write_timeout` for each step.
    pub(crate) fn send_all(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match rustix::net::send(self.0.handle.socket(), bytes, SendFlags::NOSIGNAL) {
                Ok(sent) => bytes = &bytes[sent..],
                Err(rustix::io::Errno::INTR) => {}
                Err(e) => return Err(e.into()),
            }
        }
        Ok(())
    }

    /// Ends the connection.
    pub(crate) fn shut(&self) {
        self.0.handle.shut(Shutdown::Both);
    }
}

/// A statement is running.
pub(crate) struct Running<'a>(&'a Live);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.running.store(false, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::io::Read;

    #[test]
    fn slots_are_counted_and_one_more_is_reserved() {
        let connections = Arc::<Connections>::default();
        let pair = || UnixStream::pair().unwrap();
        let ((a, mut a_far), (b, _), (c, _)) = (pair(), pair(), pair());
        let first = connections.admit(1, &Peer::Unix(a), 1).unwrap().unwrap();
        let second = connections.admit(2, &Peer::Unix(b), 1).unwrap().unwrap();
        assert!(!first.is_reserved && second.is_reserved);
        assert!(connections.admit(3, &Peer::Unix(c), 1).unwrap().is_none());
        drop(second);
        assert_eq!((connections.count(), connections.most()), (1, 2));
        let running = first.run();
        assert_eq!(connections.running(), 1);
        drop(running);
        assert_eq!(connections.running(), 0);
        assert!(!first.peer_has_closed());
        connections.shut(1);
        assert_eq!(a_far.read(&mut [0]).unwrap(), 0, "the far end sees the end");
        drop(a_far);
        assert!(first.peer_has_closed());
        connections.shut_all(Shutdown::Both);
        assert!(!connections.await_none(Duration::from_millis(5)));
        drop(first);
        assert!(connections.await_none(Duration::ZERO));
    }
}
