//! A client that asks for the log and throws it away, and one that commits, with no more of the
//! protocol than that needs.

use crate::Result;
use servers::Address;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// LONG_PASSWORD, LONG_FLAG, PROTOCOL_41, TRANSACTIONS, SECURE_CONNECTION, PLUGIN_AUTH.
const CAPABILITIES: u32 = 0x0008_a205;
const UTF8MB4: u8 = 45;
const COM_QUERY: u8 = 3;
const COM_BINLOG_DUMP: u8 = 18;
const ERR: u8 = 0xff;
/// An account without password is let in at once, whatever the plugin.
const OK: u8 = 0;

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

/// A session of the server's socket.
pub fn log_in(address: &Address) -> Result<UnixStream> {
    let path = address.socket_path().ok_or("a follower needs the server's socket")?;
    let mut socket = UnixStream::connect(path)?;
    read_packet(&mut socket)?;
    let mut login = CAPABILITIES.to_le_bytes().to_vec();
    login.extend(u32::MAX.to_le_bytes());
    login.push(UTF8MB4);
    login.extend([0; 23]);
    login.extend(b"root\0\0mysql_native_password\0");
    write_packet(&mut socket, 1, &login)?;
    let mut reply = read_packet(&mut socket)?;
    if reply.first() == Some(&0xfe) {
        // Another plugin is asked for; no password is an empty answer to each.
        write_packet(&mut socket, 3, &[])?;
        reply = read_packet(&mut socket)?;
    }
    accepted(&reply)?;
    Ok(socket)
}

/// Runs a statement that returns no rows.
pub fn query(socket: &mut UnixStream, sql: &str) -> Result<()> {
    write_packet(socket, 0, &[&[COM_QUERY], sql.as_bytes()].concat())?;
    accepted(&read_packet(socket)?)
}

fn read_packet(socket: &mut UnixStream) -> Result<Vec<u8>> {
    let mut header = [0; 4];
    socket.read_exact(&mut header)?;
    let mut payload = vec![0; u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize];
    socket.read_exact(&mut payload)?;
    Ok(payload)
}

fn write_packet(socket: &mut UnixStream, sequence: u8, payload: &[u8]) -> Result<()> {
    let [a, b, c, _] = u32::try_from(payload.len())?.to_le_bytes();
    socket.write_all(&[&[a, b, c, sequence], payload].concat())?;
    Ok(())
}

fn accepted(reply: &[u8]) -> Result<()> {
    match reply.first() {
        Some(&OK) => Ok(()),
        Some(&ERR) => Err(String::from_utf8_lossy(reply.get(3..).unwrap_or_default()).into()),
        _ => Err("the server wants more for a login than an account without password gives".into()),
    }
}
