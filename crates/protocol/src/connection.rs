//! A client's connection, from the server's side: what `server` drives.

use crate::auth::{AccountSource, Authenticator, Candidate, Challenge};
use crate::binary::code;
use crate::channel::{Channel, TlsSession};
use crate::command::ChangeUser;
use crate::compression::Algorithm;
use crate::error::{ErrorReply, HandshakeError, ReadError};
use crate::flags::{Capabilities, Status};
use crate::handshake::{Greeting, HANDSHAKE_PACKET_MAX, Login, Response, ResponseLogin, to_owned_attributes};
use crate::identity::{Identity, TlsCounters};
use crate::packet::Packets;
use crate::reply::{DeferredReply, OkReply, put_eof, put_error, put_ok};
use crate::result_set::{ColumnDefinition, RowWriter, column_flags};
use crate::socket::{Line, Socket, Timeouts, Wait};
use crate::statement::{Prepared, put_prepared};
use env::Env;
use rustls::{ServerConnection, StreamOwned};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use stdx::cursor::put_lenenc;

/// What a connection may take.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// `max_allowed_packet`: the longest command, in bytes.
    pub packet_max: usize,
    /// How long it may keep silent.
    pub timeouts: Timeouts,
}

impl Default for Limits {
    /// MySQL's defaults.
    fn default() -> Self {
        Self { packet_max: 64 << 20, timeouts: Timeouts::default() }
    }
}

/// One client.
pub struct Connection {
    packets: Packets,
    /// Where the client is, as accounts and messages name it.
    host: String,
    capabilities: Capabilities,
    challenge: Challenge,
    limits: Limits,
    without_metadata: bool,
}

impl Connection {
    /// Takes over a socket that was just accepted. `host` is what accounts are matched with: an
    /// address, or `localhost`. For TCP, set `TCP_NODELAY` first: replies are whole writes already.
    pub fn new(
        socket: Box<dyn Socket>,
        host: impl Into<String>,
        env: Arc<dyn Env>,
        limits: Limits,
    ) -> io::Result<Self> {
        let line = Line::new(socket, env, limits.timeouts)?;
        let packets = Packets::new(line, HANDSHAKE_PACKET_MAX);
        let (capabilities, challenge) = (Capabilities::default(), Challenge::default());
        Ok(Self { packets, host: host.into(), capabilities, challenge, limits, without_metadata: false })
    }

    /// Sends an error instead of the greeting, such as [`ErrorReply::too_many_connections`].
    pub fn refuse(mut self, error: &ErrorReply) -> io::Result<()> {
        self.write_error(error);
        self.flush()
    }

    /// Greets the client, goes over to TLS if it asks, and finds out who it is. A refusal has been
    /// sent when this returns an error. After `Ok` the client waits for an OK, or for an error if
    /// the server refuses it after all.
    pub fn handshake(
        &mut self,
        greeting: &Greeting<'_>,
        authenticator: &Authenticator,
        accounts: &dyn AccountSource,
    ) -> Result<Login, HandshakeError> {
        if let Some(line) = self.packets.channel.line() {
            line.begin_handshake();
        }
        let login = self.try_handshake(greeting, authenticator, accounts);
        if let Some(line) = self.packets.channel.line() {
            line.end_handshake();
        }
        self.packets.payload_max = self.limits.packet_max;
        self.report_failure(login)
    }

    fn try_handshake(
        &mut self,
        greeting: &Greeting<'_>,
        authenticator: &Authenticator,
        accounts: &dyn AccountSource,
    ) -> Result<Login, HandshakeError> {
        let identity =
            authenticator.identity.as_deref().filter(|identity| greeting.tls && identity.may_have_tls());
        let offered = greeting.capabilities(identity.is_some());
        self.challenge = authenticator.new_challenge();
        let plugin = authenticator.default_plugin();
        greeting.put(self.packets.begin_packet(), &self.challenge, plugin.name(), offered);
        self.packets.end_packet();
        self.packets.flush()?;

        let mut packet = Vec::new();
        self.packets.read(&mut packet, Wait::Remaining)?;
        let mut response = Response::parse(&packet, offered)?;
        if response.login.is_none() {
            self.start_tls(identity.ok_or(HandshakeError::Malformed)?)?;
            self.packets.read(&mut packet, Wait::Remaining)?;
            response = Response::parse(&packet, offered)?;
        }
        self.capabilities = response.capabilities;
        let login = response.login.ok_or(HandshakeError::Malformed)?;
        if greeting.require_secure_transport && !self.is_secure() {
            let reply = ErrorReply::secure_transport_required();
            let denial =
                crate::handshake::Denial { user: login.user.to_vec(), host: self.host.clone(), reply };
            return Err(HandshakeError::Denied(Box::new(denial)));
        }
        self.log_in(
            &login,
            Some(response.collation.into()),
            Some(login.auth_response),
            authenticator,
            accounts,
        )
    }

    fn start_tls(&mut self, identity: &Identity) -> Result<(), HandshakeError> {
        let config = identity.tls().ok_or(HandshakeError::Malformed)?;
        let count = |which: fn(&TlsCounters) -> &AtomicU64| {
            identity.tls_facts().map(|facts| which(&facts.counters).fetch_add(1, Relaxed));
        };
        count(|counters| &counters.accepts);
        let session = ServerConnection::new(Arc::clone(config)).map_err(io::Error::other)?;
        let unread = self.packets.take_unread();
        self.packets
            .channel
            .start_tls(|mut line| {
                line.push_back(&unread);
                Channel::TlsServer(Box::new(StreamOwned::new(session, line)))
            })
            .map_err(ReadError::from)?;
        count(|counters| &counters.finished_accepts);
        Ok(())
    }

    fn log_in(
        &mut self,
        login: &ResponseLogin<'_>,
        collation: Option<u16>,
        answer: Option<&[u8]>,
        authenticator: &Authenticator,
        accounts: &dyn AccountSource,
    ) -> Result<Login, HandshakeError> {
        let host = self.host.clone();
        let user = accounts.name(login.user, collation);
        let candidate = Candidate {
            user: &user,
            host: &host,
            plugin: login.plugin,
            answer,
            is_secure: self.is_secure(),
            tls: self.tls().is_some(),
        };
        let account = authenticator.authenticate(&mut self.packets, self.challenge, &candidate, accounts)?;
        Ok(Login {
            user: user.to_vec(),
            account,
            database: login.database.map(|name| accounts.name(name, collation).into_owned()),
            collation,
            attributes: to_owned_attributes(&login.attributes),
            interactive: self.capabilities.has(Capabilities::INTERACTIVE),
        })
    }

    /// Answers COM_CHANGE_USER: the same conversation over again, with a new challenge where the
    /// client knows of plugins. As after [`Connection::handshake`], the final OK is the caller's;
    /// after an error the connection is to be closed.
    pub fn change_user(
        &mut self,
        request: &ChangeUser<'_>,
        authenticator: &Authenticator,
        accounts: &dyn AccountSource,
    ) -> Result<Login, HandshakeError> {
        let login = ResponseLogin {
            user: request.user,
            auth_response: request.auth_response,
            database: Some(request.database).filter(|name| !name.is_empty()),
            plugin: request.plugin,
            attributes: request.attributes.clone(),
        };
        // Clients disagree about which challenge they answer here, so one that can be asked again
        // always is.
        let answer = if request.plugin.is_some() { None } else { Some(request.auth_response) };
        self.packets.payload_max = HANDSHAKE_PACKET_MAX;
        let login = self.log_in(&login, request.collation, answer, authenticator, accounts);
        self.packets.payload_max = self.limits.packet_max;
        self.report_failure(login)
    }

    /// Sends the client the error if its login failed.
    fn report_failure<T>(&mut self, login: Result<T, HandshakeError>) -> Result<T, HandshakeError> {
        if let Err(e) = &login {
            let reply = match e {
                HandshakeError::Read(e) => e.reply(),
                HandshakeError::Write(_) => None,
                HandshakeError::Malformed => Some(ErrorReply::bad_handshake()),
                HandshakeError::Denied(denial) => Some(denial.reply.clone()),
            };
            if let Some(reply) = reply {
                self.write_error(&reply);
                // The connection ends either way.
                let _ = self.flush();
            }
        }
        login
    }

    /// Waits for the next command and reads it into `packet`, replacing its content. Every error
    /// ends the connection; [`ReadError::reply`] is the error to send before.
    pub fn read_command(&mut self, packet: &mut Vec<u8>) -> Result<(), ReadError> {
        // The login's OK was the last thing to go out as it is.
        if let Some(algorithm) = Algorithm::of(self.capabilities).filter(|_| !self.packets.channel.counts()) {
            self.packets.start_compression(algorithm);
        }
        self.packets.continue_sequence(0);
        self.packets.read(packet, Wait::Command)
    }

    /// Reads a packet of a local file that [`Connection::write_local_infile_request`] asked for; an
    /// empty one ends it.
    pub fn read_local_infile(&mut self, packet: &mut Vec<u8>) -> Result<(), ReadError> {
        self.packets.read(packet, Wait::Remaining)
    }

    /// What both ends agreed on.
    pub fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    /// COM_SET_OPTION: may one query hold several statements from now on?
    pub fn set_multi_statements(&mut self, on: bool) {
        let flag = Capabilities::MULTI_STATEMENTS;
        self.capabilities = if on { self.capabilities.with(flag) } else { self.capabilities.without(flag) };
    }

    /// Where the client is, as given to [`Connection::new`].
    pub fn host(&self) -> &str {
        &self.host
    }

    /// What TLS is like on this connection; `None` without TLS.
    pub fn tls(&self) -> Option<TlsSession> {
        self.packets.channel.tls()
    }

    /// True over TLS or a Unix socket.
    pub fn is_secure(&self) -> bool {
        self.packets.channel.is_secure()
    }

    /// New limits, from the next packet on: the session's variables were set.
    pub fn set_limits(&mut self, limits: Limits) -> io::Result<()> {
        self.limits = limits;
        self.packets.payload_max = limits.packet_max;
        self.packets.channel.line().map_or(Ok(()), |line| line.set_timeouts(limits.timeouts))
    }

    /// Appends an OK packet to the output buffer.
    pub fn write_ok(&mut self, ok: &OkReply<'_>) {
        put_ok(self.packets.begin_packet(), 0, ok, self.capabilities);
        self.packets.end_packet();
    }

    /// Writes ERR: instead of any other reply, or in the middle of a result set's rows.
    pub fn write_error(&mut self, error: &ErrorReply) {
        let agreed = self.capabilities.has(Capabilities::PROTOCOL_41);
        put_error(self.packets.begin_packet(), error, agreed);
        self.packets.end_packet();
    }

    /// Writes a bare string: the answer to COM_STATISTICS.
    pub fn write_text(&mut self, text: &[u8]) {
        self.packets.begin_packet().extend_from_slice(text);
        self.packets.end_packet();
    }

    /// Begins a result set: the column definitions.
    pub fn write_columns<'c>(
        &mut self,
        columns: impl ExactSizeIterator<Item = ColumnDefinition<'c>>,
        status: Status,
    ) {
        self.write_column_count(columns.len());
        self.write_definitions(columns, status);
    }

    /// Begins the reply of an execution that opened a cursor: its rows are asked for later. `ok`'s
    /// status says so.
    pub fn write_cursor_opened(&mut self, columns: &[ColumnDefinition<'_>], ok: &OkReply<'_>) {
        self.write_column_count(columns.len());
        if self.full_metadata() {
            self.put_definitions(columns.iter().copied());
        }
        self.write_eof(ok);
    }

    /// Answers COM_STMT_PREPARE.
    pub fn write_prepared(&mut self, prepared: &Prepared, columns: &[ColumnDefinition<'_>], status: Status) {
        let count = u16::try_from(columns.len()).unwrap_or(u16::MAX);
        let full = self.full_metadata();
        let optional = self.capabilities.has(Capabilities::OPTIONAL_RESULTSET_METADATA);
        let out = self.packets.begin_packet();
        put_prepared(out, prepared, count);
        if optional {
            out.push(full.into());
        }
        self.packets.end_packet();
        if prepared.parameters > 0 && full {
            let parameter = ColumnDefinition {
                name: b"?",
                collation: 63,
                column_type: code::VAR_STRING,
                flags: column_flags::BINARY,
                ..ColumnDefinition::default()
            };
            for _ in 0..prepared.parameters {
                self.put_definitions([parameter].into_iter());
            }
            self.end_definitions(status);
        }
        if !columns.is_empty() {
            self.write_definitions(columns.iter().copied(), status);
        }
    }

    fn write_column_count(&mut self, count: usize) {
        let full = self.full_metadata();
        let optional = self.capabilities.has(Capabilities::OPTIONAL_RESULTSET_METADATA);
        let out = self.packets.begin_packet();
        if optional {
            out.push(full.into());
        }
        put_lenenc(out, count as u64);
        self.packets.end_packet();
    }

    /// The definitions and what ends them.
    fn write_definitions<'c>(&mut self, columns: impl Iterator<Item = ColumnDefinition<'c>>, status: Status) {
        if self.full_metadata() {
            self.put_definitions(columns);
            self.end_definitions(status);
        }
    }

    fn put_definitions<'c>(&mut self, columns: impl Iterator<Item = ColumnDefinition<'c>>) {
        for column in columns {
            column.put(self.packets.begin_packet());
            self.packets.end_packet();
        }
    }

    fn end_definitions(&mut self, status: Status) {
        if !self.capabilities.has(Capabilities::DEPRECATE_EOF) {
            put_eof(self.packets.begin_packet(), 0, status);
            self.packets.end_packet();
        }
    }

    /// True unless the client can do without definitions and asked to.
    fn full_metadata(&self) -> bool {
        !(self.without_metadata && self.capabilities.has(Capabilities::OPTIONAL_RESULTSET_METADATA))
    }

    /// `resultset_metadata`: definitions are omitted from now on, for a client that knows of it.
    pub fn set_without_metadata(&mut self, without: bool) {
        self.without_metadata = without;
    }

    /// Writes a row that `fill` appends to the buffer it is given, and sends what is buffered once
    /// it is much.
    pub fn write_row(&mut self, fill: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        fill(self.packets.begin_packet());
        self.packets.end_packet();
        if self.buffered() >= crate::packet::FLUSH_AT { self.packets.flush() } else { Ok(()) }
    }

    /// Begins a row of the result set.
    pub fn row(&mut self) -> RowWriter<'_> {
        RowWriter::new(&mut self.packets)
    }

    /// Ends a result set or the log's stream, and answers COM_SET_OPTION and COM_DEBUG. Of `ok`,
    /// clients without [`Capabilities::DEPRECATE_EOF`] see only status and warnings. With
    /// [`Status::MORE_RESULTS_EXISTS`] another result follows in the same reply.
    pub fn write_eof(&mut self, ok: &OkReply<'_>) {
        let out = self.packets.begin_packet();
        if self.capabilities.has(Capabilities::DEPRECATE_EOF) {
            put_ok(out, 0xfe, ok, self.capabilities);
        } else {
            put_eof(out, ok.warnings, ok.status);
        }
        self.packets.end_packet();
    }

    /// Answers COM_FIELD_LIST: column definitions, each with its default value (`None` for NULL),
    /// and the end.
    pub fn write_field_list(&mut self, columns: &[(ColumnDefinition<'_>, Option<&[u8]>)], status: Status) {
        for (column, default) in columns {
            let out = self.packets.begin_packet();
            column.put(out);
            match default {
                Some(value) => stdx::cursor::put_lenenc_bytes(out, value),
                None => out.push(0xfb),
            }
            self.packets.end_packet();
        }
        self.write_eof(&OkReply { status, ..OkReply::default() });
    }

    /// Asks the client for a file of its machine and sends that at once; then comes
    /// [`Connection::read_local_infile`] until an empty packet, then a reply. Only where
    /// [`Capabilities::LOCAL_FILES`] is agreed.
    pub fn write_local_infile_request(&mut self, file: &[u8]) -> io::Result<()> {
        let out = self.packets.begin_packet();
        out.push(0xfb);
        out.extend_from_slice(file);
        self.packets.end_packet();
        self.packets.flush()
    }

    /// Writes an event of the log's stream: 00, and the event as it is in the file. A large one is
    /// sent without being copied; small ones gather until [`Connection::flush`], so flush before
    /// waiting for the log.
    pub fn write_event(&mut self, event: &[u8]) -> io::Result<()> {
        self.put_event(&[0], event)
    }

    /// The same for a replica that acknowledges: 00, two bytes that say whether it is to answer,
    /// and the event. If it is, the next packet has the number 1, and its answer is read with
    /// [`Connection::read_answer`].
    pub fn write_event_to_acknowledge(
        &mut self,
        prefix: [u8; 2],
        event: &[u8],
        asks: bool,
    ) -> io::Result<()> {
        self.put_event(&[0, prefix[0], prefix[1]], event)?;
        if asks {
            self.packets.continue_sequence(1);
        }
        Ok(())
    }

    /// Reads what a replica says while it is sent the log: a packet with a sequence of its own. Of
    /// a packet longer than `max` bytes nothing is stored.
    pub fn read_answer(&mut self, packet: &mut Vec<u8>, max: usize) -> Result<(), ReadError> {
        self.packets.read_aside(packet, max)
    }

    /// True if bytes of the client have come that are not read yet, as far as that is known
    /// without asking the system.
    pub fn has_unread(&self) -> bool {
        self.packets.has_unread()
    }

    /// True if what is sent is compressed.
    pub fn is_compressed(&self) -> bool {
        self.packets.channel.counts()
    }

    fn put_event(&mut self, prefix: &[u8], event: &[u8]) -> io::Result<()> {
        self.packets.put(prefix, event)?;
        if self.buffered() >= crate::packet::FLUSH_AT { self.packets.flush() } else { Ok(()) }
    }

    /// The number of bytes written and not yet sent. Rows are sent on their own once it is some
    /// tens of KiB.
    pub(crate) fn buffered(&self) -> usize {
        self.packets.buffered()
    }

    /// Sends all that was written, in one write.
    pub fn flush(&mut self) -> io::Result<()> {
        self.packets.flush()
    }

    /// True if what is written is sent as it is, without TLS and compression, so that another
    /// thread may send it.
    pub fn is_plain(&self) -> bool {
        self.packets.is_plain() && Algorithm::of(self.capabilities).is_none()
    }

    /// Moves what was written into `reply` instead of flushing it; nothing may be written before
    /// `reply` was sent. `reply` is empty, and lends its memory. False if nothing was written, or
    /// the connection is not plain.
    pub fn detach_reply(&mut self, reply: &mut DeferredReply) -> bool {
        reply.with_sqlstate = self.capabilities.has(Capabilities::PROTOCOL_41);
        let last = if self.is_plain() { self.packets.take_output(&mut reply.bytes) } else { None };
        reply.last_at = last.unwrap_or_default();
        last.is_some()
    }

    /// Ends the connection in both directions, after what was flushed.
    pub fn shutdown(&mut self) -> io::Result<()> {
        self.packets.channel.close()
    }
}
