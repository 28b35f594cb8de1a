//! A server's log over the network, as `mysqlbinlog --read-from-remote-server` reads it: by
//! COM_BINLOG_DUMP, to its end.
//!
//! A file comes as the bytes that it has on the server: what the server makes up for replicas, the
//! events of its stream that are in no file, is omitted, and the stream ends where the next file
//! begins.

use super::ToolError;
use crate::remote::Remote;
use binlog::event::{EventHeader, EventType, MAGIC, flags};
use protocol::client::{Client, ClientError};
use std::io::{self, Read};

const COM_BINLOG_DUMP: u8 = 0x12;
/// The stream ends with the log.
const NON_BLOCK: u16 = 1;
/// MariaDB: the statements that rows come from are sent too.
const ANNOTATE_ROWS: u16 = 2;
/// What a reader calls itself that is no replica.
const SERVER_ID: u32 = 0;

impl Remote {
    /// The names of its log files, oldest first.
    pub(super) fn files(&self) -> Result<Vec<String>, ToolError> {
        let result =
            self.connect()?.query("SHOW BINARY LOGS").map_err(|e| self.refused("SHOW BINARY LOGS", &e))?;
        let name = |row: &Vec<Option<Vec<u8>>>| {
            row.first().and_then(Option::as_ref).map(|name| String::from_utf8_lossy(name).into_owned())
        };
        Ok(result.rows.iter().filter_map(name).collect())
    }

    /// One file's bytes.
    pub(super) fn open(&self, file: &str) -> Result<Box<dyn Read>, ToolError> {
        let mut client = self.connect()?;
        // Checksums and events as they are in the file.
        let (flags, sql) = if client.server_version.contains("MariaDB") {
            (
                NON_BLOCK | ANNOTATE_ROWS,
                "SET @mariadb_slave_capability = 4, @master_binlog_checksum = @@global.binlog_checksum",
            )
        } else {
            (
                NON_BLOCK,
                "SET @source_binlog_checksum = @@global.binlog_checksum, @master_binlog_checksum = @@global.binlog_checksum",
            )
        };
        client.query(sql).map_err(|e| self.refused(sql, &e))?;
        let mut packet = vec![COM_BINLOG_DUMP];
        packet.extend_from_slice(&(MAGIC.len() as u32).to_le_bytes());
        packet.extend_from_slice(&flags.to_le_bytes());
        packet.extend_from_slice(&SERVER_ID.to_le_bytes());
        packet.extend_from_slice(file.as_bytes());
        client.send_command(&packet).map_err(|e| self.refused("COM_BINLOG_DUMP", &e))?;
        Ok(Box::new(Stream { client, bytes: MAGIC.to_vec(), at: 0, has_events: false, is_over: false }))
    }
}

/// The bytes of one file, as they come.
struct Stream {
    client: Client,
    /// What was not read yet is after `at`.
    bytes: Vec<u8>,
    at: usize,
    /// An event of the file came.
    has_events: bool,
    is_over: bool,
}

impl Stream {
    /// Takes the next event of the file, if there is one.
    fn next(&mut self) -> Result<(), ClientError> {
        const EVENT: u8 = 0x00;
        const EOF: u8 = 0xfe;
        let packet = self.client.read_packet()?;
        let event = match packet.split_first() {
            Some((&EVENT, event)) => event,
            Some((&EOF, _)) => {
                self.is_over = true;
                return Ok(());
            }
            _ => return Err(ClientError::Unexpected("neither an event nor the stream's end")),
        };
        let header = EventHeader::decode(event).map_err(|_| ClientError::Unexpected("no event"))?;
        let made_up = header.flags & flags::ARTIFICIAL != 0
            || matches!(header.event_type, EventType::HEARTBEAT | EventType::HEARTBEAT_V2);
        if header.event_type == EventType::ROTATE && made_up {
            // The first one names this file, the next one the file after it.
            self.is_over = self.has_events;
        } else if !made_up {
            self.has_events = true;
            self.bytes.clear();
            self.bytes.extend_from_slice(event);
            self.at = 0;
        }
        Ok(())
    }
}

impl Read for Stream {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.at == self.bytes.len() && !self.is_over {
            self.next().map_err(|e| io::Error::other(format!("from the server: {e}")))?;
        }
        let n = self.bytes[self.at..].len().min(out.len());
        out[..n].copy_from_slice(&self.bytes[self.at..self.at + n]);
        self.at += n;
        Ok(n)
    }
}
