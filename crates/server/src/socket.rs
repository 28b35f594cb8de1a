//! A socket that counts what goes through it.

use protocol::Socket;
use sql::status::{Counter, Counters};
use std::io::{self, IoSlice, Read, Write};
use std::sync::Arc;
use std::time::Duration;

/// Counts `Bytes_received` and `Bytes_sent`.
pub(crate) struct Counted {
    socket: Box<dyn Socket>,
    counters: Arc<Counters>,
}

impl Counted {
    /// Counts into `counters` from now on.
    pub(crate) fn new(socket: Box<dyn Socket>, counters: Arc<Counters>) -> Self {
        Self { socket, counters }
    }

    fn sent(&self, done: io::Result<usize>) -> io::Result<usize> {
        if let Ok(n) = done {
            self.counters.add(Counter::BytesSent, n as u64);
        }
        done
    }
}

impl Read for Counted {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = self.socket.read(buf)?;
        self.counters.add(Counter::BytesReceived, n as u64);
        Ok(n)
    }
}

impl Write for Counted {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let done = self.socket.write(buf);
        self.sent(done)
    }

    fn write_vectored(&mut self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        let done = self.socket.write_vectored(bufs);
        self.sent(done)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

impl Socket for Counted {
    fn set_read_timeout(&self, limit: Option<Duration>) -> io::Result<()> {
        self.socket.set_read_timeout(limit)
    }

    fn set_write_timeout(&self, limit: Option<Duration>) -> io::Result<()> {
        self.socket.set_write_timeout(limit)
    }

    fn is_local(&self) -> bool {
        self.socket.is_local()
    }

    fn shutdown(&self) -> io::Result<()> {
        self.socket.shutdown()
    }
}
