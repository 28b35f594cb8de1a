//! A port in front of a server that notes which statements fail.
//!
//! 1. accept   each connection gets one of its own to the server.
//! 2. greet    the server's greeting loses its offers of TLS and compression, so that packets can
//!    be read; it is changed in nothing else.
//! 3. relay    a thread for each direction copies packet by packet. The first packet of a command
//!    (sequence number 0) tells the statement, an ERR packet that it failed.
//!
//! A prepared statement's text is remembered by the number that the server gives it.

use crate::Result;
use std::collections::HashMap;
use std::io::{self, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

const COM_QUERY: u8 = 0x03;
const COM_STMT_PREPARE: u8 = 0x16;
const COM_STMT_EXECUTE: u8 = 0x17;
const ERR: u8 = 0xff;
const CLIENT_COMPRESS: u16 = 0x20;
const CLIENT_SSL: u16 = 0x800;
/// `CLIENT_ZSTD_COMPRESSION_ALGORITHM`, in the upper half of the capabilities.
const CLIENT_ZSTD: u16 = 0x400;
/// Bytes of a statement that are kept; programs load megabytes in one.
const TEXT_MAX: usize = 4096;

/// A statement that failed, or one that the server ended a connection for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// MySQL's error number.
    pub error: u16,
    pub message: String,
    pub statement: String,
}

/// What went through since the last [`Recorder::take`].
#[derive(Debug, Default)]
pub struct Recorded {
    pub statements: u64,
    pub failures: Vec<Failure>,
}

#[derive(Debug, Default)]
struct Notes {
    statements: AtomicU64,
    failures: Mutex<Vec<Failure>>,
    ended: AtomicBool,
}

/// Listens until it is dropped.
#[derive(Debug)]
pub struct Recorder {
    port: u16,
    notes: Arc<Notes>,
}

/// What both directions of a connection know.
#[derive(Debug, Default)]
struct Conversation {
    command: u8,
    statement: String,
    prepared: HashMap<u32, String>,
}

impl Recorder {
    /// Listens on a free port of 127.0.0.1 for the server at `host:port`.
    pub fn start(host: &str, port: u16) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let recorder = Self { port: listener.local_addr()?.port(), notes: Arc::default() };
        let (host, notes) = (host.to_owned(), Arc::clone(&recorder.notes));
        thread::spawn(move || {
            for client in listener.incoming() {
                // Relaxed: only the connection that wakes this loop needs to see it, and the
                // flag is set before that is made.
                if notes.ended.load(Ordering::Relaxed) {
                    return;
                }
                let Ok(client) = client else { continue };
                let Ok(server) = TcpStream::connect((host.as_str(), port)) else { continue };
                let notes = Arc::clone(&notes);
                // A connection that breaks is the program's to notice.
                thread::spawn(move || drop(relay(&client, &server, &notes)));
            }
        });
        Ok(recorder)
    }

    /// Its port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// What was recorded so far; counts from zero again.
    pub fn take(&self) -> Recorded {
        let statements = self.notes.statements.swap(0, Ordering::Relaxed);
        Recorded { statements, failures: std::mem::take(&mut *locked(&self.notes.failures)) }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.notes.ended.store(true, Ordering::Relaxed);
        // Wakes the listening thread; if that fails, it ends with the process.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

fn relay(client: &TcpStream, server: &TcpStream, notes: &Arc<Notes>) -> io::Result<()> {
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let mut from_server = BufReader::new(server.try_clone()?);
    let mut greeting = packet(&mut from_server)?;
    withdraw_offers(&mut greeting);
    (&*client).write_all(&greeting)?;
    let conversation = Arc::new(Mutex::new(Conversation::default()));
    let (to_client, shared, noted) = (client.try_clone()?, Arc::clone(&conversation), Arc::clone(notes));
    let answers = thread::spawn(move || {
        let mut to = io::BufWriter::new(to_client);
        while let Ok(packet) = packet(&mut from_server) {
            answer(&packet, &shared, &noted);
            if to.write_all(&packet).is_err() || (from_server.buffer().is_empty() && to.flush().is_err()) {
                break;
            }
        }
        let _ = to.flush();
        let _ = to.get_ref().shutdown(std::net::Shutdown::Both);
    });
    let mut from_client = BufReader::new(client.try_clone()?);
    let mut to_server = server.try_clone()?;
    while let Ok(packet) = packet(&mut from_client) {
        command(&packet, &conversation, notes);
        if to_server.write_all(&packet).is_err() {
            break;
        }
    }
    let _ = server.shutdown(std::net::Shutdown::Write);
    let _ = answers.join();
    Ok(())
}

/// One packet with its header.
fn packet(from: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; 4];
    from.read_exact(&mut bytes)?;
    let length = usize::from(bytes[0]) | usize::from(bytes[1]) << 8 | usize::from(bytes[2]) << 16;
    bytes.resize(4 + length, 0);
    from.read_exact(&mut bytes[4..])?;
    Ok(bytes)
}

/// Clears capabilities in a greeting: header, protocol version, the server's version up to a zero,
/// connection number, 8 bytes of the scramble, a zero, lower capabilities, collation, status, upper
/// capabilities.
fn withdraw_offers(greeting: &mut [u8]) {
    let Some(version) = greeting.get(5..).and_then(|rest| rest.iter().position(|&b| b == 0)) else { return };
    let lower = 5 + version + 1 + 4 + 8 + 1;
    for (at, unwanted) in [(lower, CLIENT_COMPRESS | CLIENT_SSL), (lower + 5, CLIENT_ZSTD)] {
        if let Some(bytes) = greeting.get_mut(at..at + 2) {
            let offered = u16::from_le_bytes([bytes[0], bytes[1]]) & !unwanted;
            bytes.copy_from_slice(&offered.to_le_bytes());
        }
    }
}

/// What the client sent.
fn command(packet: &[u8], conversation: &Mutex<Conversation>, notes: &Notes) {
    let [_, _, _, 0, command, body @ ..] = packet else { return };
    let mut conversation = locked(conversation);
    conversation.command = *command;
    conversation.statement = match *command {
        COM_QUERY | COM_STMT_PREPARE => {
            // Query attributes, where a client sends any, stand before the text.
            let text = body.strip_prefix(&[0, 1]).unwrap_or(body);
            String::from_utf8_lossy(&text[..text.len().min(TEXT_MAX)]).into_owned()
        }
        COM_STMT_EXECUTE => match body {
            [a, b, c, d, ..] => {
                let number = u32::from_le_bytes([*a, *b, *c, *d]);
                conversation.prepared.get(&number).cloned().unwrap_or_default()
            }
            _ => String::new(),
        },
        other => format!("(command {other})"),
    };
    if matches!(*command, COM_QUERY | COM_STMT_EXECUTE) {
        notes.statements.fetch_add(1, Ordering::Relaxed);
    }
}

/// What the server sent. No row and no column begins with 0xff, so that byte is an error wherever
/// a packet begins.
fn answer(packet: &[u8], conversation: &Mutex<Conversation>, notes: &Notes) {
    let [_, _, _, sequence, body @ ..] = packet else { return };
    match body {
        [ERR, low, high, rest @ ..] if rest.len() < 1024 => {
            let text = if rest.first() == Some(&b'#') { rest.get(6..).unwrap_or_default() } else { rest };
            let failure = Failure {
                error: u16::from_le_bytes([*low, *high]),
                message: String::from_utf8_lossy(text).into_owned(),
                statement: locked(conversation).statement.clone(),
            };
            locked(&notes.failures).push(failure);
        }
        [0, a, b, c, d, ..] if *sequence == 1 => {
            let mut conversation = locked(conversation);
            if conversation.command == COM_STMT_PREPARE {
                let text = conversation.statement.clone();
                conversation.prepared.insert(u32::from_le_bytes([*a, *b, *c, *d]), text);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn framed(sequence: u8, body: &[u8]) -> Vec<u8> {
        let mut packet = vec![u8::try_from(body.len()).unwrap(), 0, 0, sequence];
        packet.extend(body);
        packet
    }

    #[test]
    fn an_error_is_noted_with_the_statement_that_was_prepared() {
        let (conversation, notes) = (Mutex::default(), Notes::default());
        command(&framed(0, b"\x16SELECT ?"), &conversation, &notes);
        answer(&framed(1, &[0, 7, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0]), &conversation, &notes);
        command(&framed(0, b"\x03SELECT 1"), &conversation, &notes);
        command(&framed(0, b"\x17\x07\0\0\0\0\x01\0\0\0"), &conversation, &notes);
        answer(&framed(1, b"\xff\x28\x04#42000no"), &conversation, &notes);
        let failure = Failure { error: 1064, message: "no".into(), statement: "SELECT ?".into() };
        assert_eq!(*locked(&notes.failures), [failure]);
        assert_eq!(notes.statements.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn a_greeting_loses_its_offers_and_nothing_else() {
        let mut greeting = framed(0, b"\x0a8.4.8\0\x01\0\0\0scramble\0\xff\xff\x2d\x02\0\xff\xdf\x15");
        let lower = 4 + 1 + 6 + 4 + 8 + 1;
        let before = greeting.clone();
        withdraw_offers(&mut greeting);
        assert_eq!(greeting[lower..lower + 2], [0xdf, 0xf7]);
        assert_eq!(greeting[lower + 5..lower + 7], [0xff, 0xdb]);
        assert_eq!(greeting[..lower], before[..lower]);
        assert_eq!(greeting[lower + 7..], before[lower + 7..]);
    }

    #[test]
    fn a_greeting_that_is_none_is_left_alone() {
        let mut short = framed(0, b"\xff\x10\x04Too many connections");
        let before = short.clone();
        withdraw_offers(&mut short);
        assert_eq!(short, before);
    }
}
