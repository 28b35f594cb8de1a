//! A client that asks for the log and throws it away.

use crate::Result;
use crate::bench::session::{accepted, log_in, query, read_packet, write_packet};
use servers::Address;
use std::io::Read;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

const COM_BINLOG_DUMP: u8 = 18;

/// It is sent the log from the end on that it has when this starts.
pub struct Follower {
    socket: UnixStream,
    started: Instant,
    received: Arc<Received>,
    reader: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Received {
    bytes: AtomicU64,
    /// When the last of them came, in nanoseconds since the follower started. Written before the
    /// bytes.
    last: AtomicU64,
}

impl Follower {
    /// Begins to follow; one that does not read takes nothing off its socket.
    pub fn start(address: &Address, server_id: u32, reads: bool) -> Result<Self> {
        let mut socket = log_in(address)?;
        query(&mut socket, "SET @source_binlog_checksum = 'CRC32', @master_binlog_checksum = 'CRC32'")?;
        let status = address.sql("SHOW MASTER STATUS").or_else(|_| address.sql("SHOW BINARY LOG STATUS"))?;
        let mut columns = status.split('\t');
        let (file, position) = columns.next().zip(columns.next()).ok_or("the server has no log")?;
        let mut dump = vec![COM_BINLOG_DUMP];
        dump.extend(position.trim().parse::<u32>()?.to_le_bytes());
        dump.extend(0_u16.to_le_bytes());
        dump.extend(server_id.to_le_bytes());
        dump.extend(file.as_bytes());
        write_packet(&mut socket, 0, &dump)?;
        let first = read_packet(&mut socket)?;
        accepted(&first)?;
        let (started, received) = (Instant::now(), Arc::<Received>::default());
        let reader = reads.then(|| swallow(socket.try_clone()?, started, received.clone())).transpose()?;
        Ok(Self { socket, started, received, reader })
    }

    /// Bytes of the stream so far.
    pub fn received(&self) -> u64 {
        self.received.bytes.load(Acquire)
    }

    /// When the last of them came.
    pub fn last(&self) -> Instant {
        self.started + Duration::from_nanos(self.received.last.load(Relaxed))
    }

    /// Leaves.
    pub fn stop(mut self) -> Result<()> {
        self.socket.shutdown(Shutdown::Both)?;
        match self.reader.take().map(JoinHandle::join) {
            Some(Err(_)) => Err("a follower panicked".into()),
            _ => Ok(()),
        }
    }
}

fn swallow(
    mut socket: UnixStream,
    started: Instant,
    received: Arc<Received>,
) -> std::io::Result<JoinHandle<()>> {
    thread::Builder::new().name("follower".into()).spawn(move || {
        let mut buffer = vec![0; 256 << 10];
        while let Ok(n) = socket.read(&mut buffer)
            && n > 0
        {
            received.last.store(started.elapsed().as_nanos() as u64, Relaxed);
            received.bytes.fetch_add(n as u64, Release);
        }
    })
}
