//! The client's side: enough of one to log in by every method, run text queries, and read what a
//! server streams.
//!
//! Tests talk to the server with it, and a replica to its source.

use crate::auth::{Challenge, caching_sha2, native};
use crate::channel::{Channel, TlsSession};
use crate::compression::Algorithm;
use crate::error::{ErrorReply, ReadError};
use crate::flags::Capabilities;
use crate::identity;
use crate::packet::Packets;
use crate::socket::{Line, Socket, Timeouts, Wait};
use env::Env;
use rustls::{ClientConnection, StreamOwned};
use std::io;
use std::sync::Arc;
use stdx::cursor::{Cursor, Truncated, put_lenenc_bytes};
use thiserror::Error;

mod reply;
mod tls;

pub use reply::{OkPacket, QueryResult, Row};
use reply::{read_eof, read_error, read_ok, read_row};
pub use tls::Tls;

/// The longest packet taken from a server: the protocol's own bound.
const PACKET_MAX: usize = 1 << 30;
/// The longest packet taken before the server has let this client in: whoever listens there could
/// have its memory otherwise. A public key has a few KiB; certificates go below the packets.
const LOGIN_PACKET_MAX: usize = 64 * 1024;

/// How to log in.
#[derive(Debug, Clone)]
pub struct ConnectOptions<'a> {
    /// The account's user part, in UTF-8; the server adds the host by itself.
    pub user: &'a [u8],
    /// The password; empty for none.
    pub password: &'a [u8],
    /// The default database; empty for none.
    pub database: &'a [u8],
    /// Whether the connection is secured.
    pub tls: Tls<'a>,
    /// The plugin to answer the greeting with; `None` for the one that it proposes.
    pub plugin: Option<&'a str>,
    /// Without TLS: whether to ask the server for the key that the password is sent with. Who sits
    /// between can give another one.
    pub requests_public_key: bool,
    /// Connection attributes.
    pub attributes: &'a [(&'a [u8], &'a [u8])],
    /// How to compress, if the server can.
    pub compression: Option<Algorithm>,
    /// Capabilities not to use.
    pub without: Capabilities,
    /// Limits of every wait.
    pub timeouts: Timeouts,
    /// The longest answer to a query, in bytes.
    pub answer_max: usize,
    /// Whether to go on at a server of this version; asked before anything is sent.
    pub takes_version: fn(&str) -> bool,
}

impl Default for ConnectOptions<'_> {
    fn default() -> Self {
        Self {
            user: b"root",
            password: b"",
            database: b"",
            tls: Tls::Off,
            plugin: None,
            requests_public_key: true,
            attributes: &[],
            compression: None,
            without: Capabilities(0),
            timeouts: Timeouts::default(),
            answer_max: usize::MAX,
            takes_version: |_| true,
        }
    }
}

/// Why a client gave up.
#[derive(Debug, Error)]
pub enum ClientError {
    /// The server said no.
    #[error("{}", String::from_utf8_lossy(&.0.message))]
    Server(ErrorReply),
    /// Nothing could be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Nothing could be written.
    #[error(transparent)]
    Write(#[from] io::Error),
    /// The server has a version that is not taken.
    #[error("a server of version '{0}'")]
    Version(String),
    /// The connection has to be secured, and the server can't do that.
    #[error("SSL connection error: SSL is required but the server doesn't support it")]
    NoTls,
    /// It can't be secured as it has to be: the certificate, above all.
    #[error("SSL connection error: {0}")]
    Tls(String),
    /// The server's bytes make no sense, or it asks for what this client doesn't do.
    #[error("unexpected packet: {0}")]
    Unexpected(&'static str),
}

impl ClientError {
    /// The error number, if the server said no.
    pub fn number(&self) -> Option<u16> {
        match self {
            Self::Server(error) => Some(error.number),
            _ => None,
        }
    }
}

impl From<Truncated> for ClientError {
    fn from(_: Truncated) -> Self {
        Self::Unexpected("it ends too early")
    }
}

/// What a client says that may neither send a password as it is nor ask for a key.
const NEEDS_SECURITY: &str = "Authentication plugin 'caching_sha2_password' reported error: Authentication requires secure \
     connection.";

/// A connection to a server.
pub struct Client {
    packets: Packets,
    capabilities: Capabilities,
    /// `@@version`, from the greeting.
    pub server_version: String,
    /// What `CONNECTION_ID()` returns, from the greeting: for KILL.
    pub connection_id: u32,
    packet: Vec<u8>,
    answer_max: usize,
}

impl Client {
    /// Logs in over a connected socket.
    pub fn connect(
        socket: Box<dyn Socket>,
        env: Arc<dyn Env>,
        options: &ConnectOptions<'_>,
    ) -> Result<Self, ClientError> {
        let packets = Packets::new(Line::new(socket, env, options.timeouts)?, LOGIN_PACKET_MAX);
        let mut client = Self {
            packets,
            capabilities: Capabilities::default(),
            server_version: String::new(),
            connection_id: 0,
            packet: Vec::new(),
            answer_max: options.answer_max,
        };
        // All of it together has to be over in time, at a server that hangs as well.
        if let Some(line) = client.packets.channel.line() {
            line.begin_handshake();
        }
        let (challenge, proposed) = client.read_greeting(options)?;
        let plugin = options.plugin.map_or(proposed, str::to_owned);
        client.send_response(options, &plugin, &challenge)?;
        client.prove(options.password, challenge, options.requests_public_key)?;
        client.packets.payload_max = PACKET_MAX;
        if let Some(line) = client.packets.channel.line() {
            line.end_handshake();
        }
        if let Some(algorithm) = Algorithm::of(client.capabilities) {
            client.packets.start_compression(algorithm);
        }
        Ok(client)
    }

    fn read_greeting(&mut self, options: &ConnectOptions<'_>) -> Result<(Challenge, String), ClientError> {
        self.read()?;
        let mut c = Cursor::new(&self.packet);
        match c.u8()? {
            10 => {}
            0xff => return Err(ClientError::Server(read_error(&self.packet)?)),
            _ => return Err(ClientError::Unexpected("not protocol 10")),
        }
        self.server_version = String::from_utf8_lossy(c.take_nul()?).into_owned();
        if !(options.takes_version)(&self.server_version) {
            return Err(ClientError::Version(self.server_version.clone()));
        }
        self.connection_id = c.u32()?;
        let first = c.take(8)?;
        c.u8()?;
        let low = c.u16()?;
        c.take(3)?;
        let high = c.u16()?;
        c.take(11)?;
        let challenge = challenge_of(&[first, c.take(13)?].concat())?;
        let plugin = String::from_utf8_lossy(c.take_nul()?).into_owned();

        let offered = Capabilities(u32::from(high) << 16 | u32::from(low));
        let mut wanted = Capabilities::SERVER.without(
            Capabilities::NO_SCHEMA | Capabilities::ODBC | Capabilities::OPTIONAL_RESULTSET_METADATA,
        );
        wanted = wanted.without(Capabilities::COMPRESS | Capabilities::ZSTD_COMPRESSION);
        match options.compression {
            Some(Algorithm::Zlib) => wanted = wanted | Capabilities::COMPRESS,
            Some(Algorithm::Zstd) => wanted = wanted | Capabilities::ZSTD_COMPRESSION,
            None => {}
        }
        wanted = wanted
            .without(Capabilities::INTERACTIVE | Capabilities::CONNECT_WITH_DB)
            .without(options.without);
        if !options.database.is_empty() {
            wanted = wanted | Capabilities::CONNECT_WITH_DB;
        }
        if !matches!(options.tls, Tls::Off) {
            if !offered.has(Capabilities::SSL) {
                return Err(ClientError::NoTls);
            }
            wanted = wanted | Capabilities::SSL;
        }
        self.capabilities = wanted & offered;
        Ok((challenge, plugin))
    }

    /// The handshake response, in TLS after a request for it.
    fn send_response(
        &mut self,
        options: &ConnectOptions<'_>,
        plugin: &str,
        challenge: &Challenge,
    ) -> Result<(), ClientError> {
        let mut fixed = self.capabilities.0.to_le_bytes().to_vec();
        fixed.extend_from_slice(&(PACKET_MAX as u32).to_le_bytes());
        fixed.push(255);
        fixed.extend_from_slice(&[0; 23]);
        if let Some((config, name)) = options.tls.config()? {
            self.send_packet(&fixed)?;
            let session = ClientConnection::new(config, name).map_err(|e| ClientError::Tls(e.to_string()))?;
            self.packets
                .channel
                .start_tls(|line| Channel::TlsClient(Box::new(StreamOwned::new(session, line))))
                .map_err(not_secured)?;
        }
        let mut response = fixed;
        put_nul(&mut response, options.user);
        let answer = first_answer(plugin, options.password, challenge).unwrap_or_default();
        if self.capabilities.has(Capabilities::PLUGIN_AUTH_LENENC) {
            put_lenenc_bytes(&mut response, &answer);
        } else {
            response.push(answer.len() as u8);
            response.extend_from_slice(&answer);
        }
        if self.capabilities.has(Capabilities::CONNECT_WITH_DB) {
            put_nul(&mut response, options.database);
        }
        if self.capabilities.has(Capabilities::PLUGIN_AUTH) {
            put_nul(&mut response, plugin.as_bytes());
        }
        if self.capabilities.has(Capabilities::CONNECT_ATTRS) {
            let mut all = Vec::new();
            for (name, value) in options.attributes {
                put_lenenc_bytes(&mut all, name);
                put_lenenc_bytes(&mut all, value);
            }
            put_lenenc_bytes(&mut response, &all);
        }
        if self.capabilities.has(Capabilities::ZSTD_COMPRESSION) {
            response.push(3); // the level
        }
        self.send_packet(&response)
    }

    /// Answers what the server asks until it says OK or ERR, a few times.
    fn prove(
        &mut self,
        password: &[u8],
        mut challenge: Challenge,
        requests_public_key: bool,
    ) -> Result<(), ClientError> {
        /// More than any method of authentication asks.
        const QUESTIONS_MAX: u32 = 32;
        for _ in 0..QUESTIONS_MAX {
            self.read()?;
            let mut c = Cursor::new(&self.packet);
            let answer = match c.u8()? {
                0x00 => return Ok(()),
                0xff => return Err(ClientError::Server(read_error(&self.packet)?)),
                0xfe => {
                    let plugin = String::from_utf8_lossy(c.take_nul()?).into_owned();
                    challenge = challenge_of(c.remaining_slice())?;
                    first_answer(&plugin, password, &challenge)
                        .ok_or(ClientError::Unexpected("unknown authentication plugin"))?
                }
                0x01 if c.remaining_slice() == [3] => continue,
                0x01 if c.remaining_slice() == [4] && self.packets.channel.is_secure() => {
                    [password, &[0]].concat()
                }
                0x01 if c.remaining_slice() == [4] && !requests_public_key => {
                    return Err(ClientError::Unexpected(NEEDS_SECURITY));
                }
                0x01 if c.remaining_slice() == [4] => vec![2],
                0x01 => {
                    let mut text = [password, &[0]].concat();
                    caching_sha2::mask(&mut text, &challenge);
                    identity::encrypt(c.remaining_slice(), &text)
                        .ok_or(ClientError::Unexpected("no usable public key"))?
                }
                _ => return Err(ClientError::Unexpected("in the login")),
            };
            self.send_packet(&answer)?;
        }
        Err(ClientError::Unexpected("a login without an end"))
    }

    /// Logs in as another user, or the same once more.
    pub fn change_user(&mut self, user: &[u8], password: &[u8], database: &[u8]) -> Result<(), ClientError> {
        let plugin = "mysql_native_password";
        let mut packet = vec![0x11];
        put_nul(&mut packet, user);
        packet.push(0);
        put_nul(&mut packet, database);
        packet.extend_from_slice(&255_u16.to_le_bytes());
        put_nul(&mut packet, plugin.as_bytes());
        self.packets.continue_sequence(0);
        self.send_packet(&packet)?;
        self.prove(password, Challenge::default(), true)
    }

    /// Runs one statement, or the first of several; the others' results are read by
    /// [`Client::next_result`].
    pub fn query(&mut self, sql: impl AsRef<[u8]>) -> Result<QueryResult, ClientError> {
        self.send_query(sql)?;
        self.next_result()
    }

    /// Sends a query without waiting for its reply.
    pub fn send_query(&mut self, sql: impl AsRef<[u8]>) -> Result<(), ClientError> {
        let attributed = self.capabilities.has(Capabilities::QUERY_ATTRIBUTES);
        let head: &[u8] = if attributed { &[0x03, 0, 1] } else { &[0x03] };
        self.send_command(&[head, sql.as_ref()].concat())
    }

    /// Reads the result of the oldest of several queries that were sent and not yet answered.
    pub fn next_pipelined_result(&mut self) -> Result<QueryResult, ClientError> {
        self.packets.continue_sequence(1);
        self.next_result()
    }

    /// Reads a packet that answers no command, such as the reason why the server ends the
    /// connection.
    pub fn read_unasked(&mut self) -> Result<&[u8], ClientError> {
        self.packets.continue_sequence(0);
        self.read_packet()
    }

    /// Runs one statement, and calls `each` with every row as it comes, until it says false: what
    /// follows is read and dropped. The result has no rows then.
    pub fn query_rows(
        &mut self,
        sql: impl AsRef<[u8]>,
        each: &mut dyn FnMut(Row) -> bool,
    ) -> Result<QueryResult, ClientError> {
        self.send_query(sql)?;
        self.read_result(each)
    }

    /// Reads a result: the reply to [`Client::send_query`], or the next one after one with
    /// [`Status::MORE_RESULTS_EXISTS`](crate::Status::MORE_RESULTS_EXISTS).
    pub fn next_result(&mut self) -> Result<QueryResult, ClientError> {
        let mut rows = Vec::new();
        let result = self.read_result(&mut |row| {
            rows.push(row);
            true
        })?;
        Ok(QueryResult { rows, ..result })
    }

    fn read_result(&mut self, each: &mut dyn FnMut(Row) -> bool) -> Result<QueryResult, ClientError> {
        self.read_reply()?;
        if self.packet.first() == Some(&0) {
            let ok = read_ok(&self.packet, self.capabilities)?;
            return Ok(QueryResult { ok, ..QueryResult::default() });
        }
        let mut result = QueryResult::default();
        let mut left = self.answer_max;
        for _ in 0..Cursor::new(&self.packet).lenenc()? {
            self.read()?;
            left = self.left_of_answer(left)?;
            let mut c = Cursor::new(&self.packet);
            for _ in 0..4 {
                c.lenenc_bytes()?;
            }
            result.columns.push(c.lenenc_bytes()?.to_vec());
        }
        let deprecated_eof = self.capabilities.has(Capabilities::DEPRECATE_EOF);
        if !deprecated_eof {
            self.read()?;
        }
        let mut is_wanted = true;
        loop {
            self.read_reply()?;
            if self.packet.first() == Some(&0xfe) && self.packet.len() < 0xff_ffff {
                result.ok = if deprecated_eof {
                    read_ok(&self.packet, self.capabilities)?
                } else {
                    read_eof(&self.packet)?
                };
                return Ok(result);
            }
            left = self.left_of_answer(left)?;
            if is_wanted {
                is_wanted = each(read_row(&self.packet, result.columns.len())?);
            }
        }
    }

    /// How much may still come of an answer after the present packet.
    fn left_of_answer(&self, left: usize) -> Result<usize, ClientError> {
        left.checked_sub(self.packet.len())
            .ok_or(ClientError::Unexpected("a longer answer than was asked for"))
    }

    /// Sends a command's packet as it is.
    pub fn send_command(&mut self, packet: &[u8]) -> Result<(), ClientError> {
        self.packets.continue_sequence(0);
        self.send_packet(packet)
    }

    /// Sends packets that each begin a sequence of their own, between packets that are read: those
    /// go on with the number that they had.
    pub fn send_aside(&mut self, packets: impl Iterator<Item = impl AsRef<[u8]>>) -> Result<(), ClientError> {
        let next = self.packets.sequence();
        for packet in packets {
            self.packets.continue_sequence(0);
            self.packets.begin_packet().extend_from_slice(packet.as_ref());
            self.packets.end_packet();
        }
        self.packets.flush()?;
        self.packets.set_sequence(next);
        Ok(())
    }

    /// The next packet that is read has this number.
    pub fn expect_number(&mut self, number: u8) {
        self.packets.set_sequence(number);
    }

    /// True if bytes are buffered that are not read yet.
    pub fn has_unread(&self) -> bool {
        self.packets.has_unread()
    }

    /// Sends a command whose answer is OK, EOF or ERR, by its bytes.
    pub fn command(&mut self, packet: &[u8]) -> Result<OkPacket, ClientError> {
        self.send_command(packet)?;
        self.read_reply()?;
        match self.packet.first() {
            Some(0xfe) if self.packet.len() == 5 => read_eof(&self.packet),
            _ => read_ok(&self.packet, self.capabilities),
        }
    }

    /// Reads one packet that is no error, such as an event of the log's stream after its 00.
    pub fn read_packet(&mut self) -> Result<&[u8], ClientError> {
        self.read_reply()?;
        Ok(&self.packet)
    }

    /// Sends bytes as they are, for tests that misbehave.
    pub fn send_raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        use std::io::Write;
        self.packets.channel.write_all(bytes)?;
        self.packets.channel.flush()
    }

    /// Says goodbye.
    pub fn quit(mut self) -> Result<(), ClientError> {
        self.send_command(&[0x01])
    }

    /// TLS version and cipher.
    pub fn tls(&self) -> Option<TlsSession> {
        self.packets.channel.tls()
    }

    /// Sends a packet in the middle of a command, such as a piece of a local file.
    pub fn send_packet(&mut self, packet: &[u8]) -> Result<(), ClientError> {
        self.packets.begin_packet().extend_from_slice(packet);
        self.packets.end_packet();
        Ok(self.packets.flush()?)
    }

    fn read(&mut self) -> Result<(), ClientError> {
        Ok(self.packets.read(&mut self.packet, Wait::Remaining)?)
    }

    fn read_reply(&mut self) -> Result<(), ClientError> {
        self.read()?;
        match self.packet.first() {
            Some(0xff) => Err(ClientError::Server(read_error(&self.packet)?)),
            Some(_) => Ok(()),
            None => Err(ClientError::Unexpected("empty")),
        }
    }
}

/// Why TLS was not begun: its own reason, or the connection's.
fn not_secured(e: io::Error) -> ClientError {
    match e.get_ref().is_some_and(|inner| inner.is::<rustls::Error>()) {
        true => ClientError::Tls(e.to_string()),
        false => ReadError::from(e).into(),
    }
}

fn put_nul(out: &mut Vec<u8>, text: &[u8]) {
    out.extend_from_slice(text);
    out.push(0);
}

fn challenge_of(bytes: &[u8]) -> Result<Challenge, ClientError> {
    let bytes = bytes.strip_suffix(&[0]).unwrap_or(bytes);
    bytes.try_into().map_err(|_| ClientError::Unexpected("a challenge of another length"))
}

fn first_answer(plugin: &str, password: &[u8], challenge: &Challenge) -> Option<Vec<u8>> {
    match plugin {
        "mysql_native_password" => Some(native::answer(password, challenge)),
        "caching_sha2_password" => Some(caching_sha2::answer(password, challenge)),
        _ => None,
    }
}
