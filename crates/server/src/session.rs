//! One connection from accept to end, on a thread of its own.
//!
//! 1. admit     a connection slot, or error 1040 instead of the greeting.
//! 2. log in    greeting, TLS, authentication (`protocol`), then a session of the account (`sql`).
//! 3. commands  read one, run it ([`crate::dispatch`]), send the reply in one write, or defer it
//!    until the commit is durable ([`crate::deferred_reply`]). This ends when the client quits,
//!    exceeds a timeout, breaks the protocol, or is killed.
//! 4. end       the session is dropped, which rolls back the open transaction; the slot is free
//!    again.
//!
//! (T1) A panic ends this connection and no other: it is logged, and the session is dropped like
//!      any other.

use crate::connections::{ConnectionSlot, Peer};
use crate::deferred_reply::Outbox;
use crate::dispatch::{self, Next};
use crate::dump::{self, Reader};
use crate::results;
use crate::server::Server;
use crate::socket::Counted;
use crate::statements::Statements;
use protocol::{
    Connection, ErrorReply, Greeting, HandshakeError, Limits, Login, OkReply, ReadError, Socket, Status,
    Timeouts,
};
use sql::UserAtHost;
use sql::status::{Counter, Counters};
use sql::variables::{SessionVariables, ids};
use sql::{Kill, Session, TlsSession};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

/// The state of one connection's thread.
pub(crate) struct Client<'a> {
    /// What all connections share.
    pub server: &'a Arc<Server>,
    /// The wire.
    pub connection: Connection,
    /// The SQL side.
    pub session: Session,
    /// Its prepared statements.
    pub(crate) statements: Statements,
    /// What this connection counts.
    pub counters: Arc<Counters>,
    pub(crate) slot: &'a ConnectionSlot,
    id: u64,
    limits: Limits,
    /// The number that the session's settings had when the limits were made of them.
    limits_of: Option<u64>,
    /// Who it is that may ask for the log.
    pub(crate) reader: Reader,
    outbox: Arc<Outbox>,
    /// The last reply was deferred, and may not be sent yet.
    reply_is_deferred: bool,
}

/// Gives a connection that was just accepted a thread, or refuses it.
pub(crate) fn start(server: &Arc<Server>, peer: Peer) {
    server.status.count(Counter::Connections);
    let id = server.database.reserve_id();
    let slot = match server.connections.admit(id, &peer, server.variables.uint(ids::MAX_CONNECTIONS)) {
        Ok(Some(slot)) => slot,
        Ok(None) => {
            server.status.count(Counter::ConnectionErrorsMaxConnections);
            return refuse(server, peer, &ErrorReply::too_many_connections());
        }
        Err(e) => {
            server.status.count(Counter::ConnectionErrorsInternal);
            return tracing::warn!("a connection was lost: {e}");
        }
    };
    let stack = usize::try_from(server.variables.uint(ids::THREAD_STACK)).unwrap_or(2 << 20);
    let cache = usize::try_from(server.variables.uint(ids::THREAD_CACHE_SIZE)).unwrap_or(0);
    let shared = server.clone();
    if let Err(e) = server.threads.run(stack, cache, move || run(&shared, peer, slot, id)) {
        server.status.count(Counter::ConnectionErrorsInternal);
        tracing::error!("can't start a thread for a connection: {e}");
    }
}

fn refuse(server: &Server, peer: Peer, error: &ErrorReply) {
    let host = peer.host();
    let limits = Limits {
        timeouts: Timeouts { write: Duration::from_secs(1), ..Timeouts::default() },
        ..Limits::default()
    };
    // If the error can't be sent the client is gone already.
    let _ = Connection::new(socket(peer), host, server.env.clone(), limits).and_then(|c| c.refuse(error));
}

fn socket(peer: Peer) -> Box<dyn Socket> {
    match peer {
        Peer::Tcp(stream, _) => Box::new(stream),
        Peer::Unix(stream) => Box::new(stream),
    }
}

fn run(server: &Arc<Server>, peer: Peer, slot: ConnectionSlot, id: u64) {
    let counters = server.status.join();
    // (T1)
    let ended = catch_unwind(AssertUnwindSafe(|| serve(server, peer, &slot, id, counters.clone())));
    if ended.is_err() {
        counters.count(Counter::AbortedClients);
        tracing::error!("connection {id} was closed after an internal error");
    }
    server.status.deregister(&counters);
}

fn serve(server: &Arc<Server>, peer: Peer, slot: &ConnectionSlot, id: u64, counters: Arc<Counters>) {
    let host = peer.host();
    let version = version(server, &peer);
    let limits = limits(server, &SessionVariables::new(&server.variables));
    let counted = Box::new(Counted::new(socket(peer), counters.clone()));
    let connection = match Connection::new(counted, host, server.env.clone(), limits) {
        Ok(connection) => connection,
        Err(e) => return tracing::warn!("connection {id} was lost: {e}"),
    };
    let Some(mut client) = log_in(server, connection, &version, slot, id, counters, limits) else { return };
    let end = client.commands();
    client.outbox.await_sent();
    if !matches!(end, End::Quit) {
        client.counters.count(Counter::AbortedClients);
        tracing::info!("connection {id} from {} ended: {end}", client.connection.host());
    }
    let _ = client.connection.shutdown();
}

/// The version that a client is greeted with. Replicas of MariaDB go by GTID where that is 10 or
/// more, and it is all that they look at; so there is a port for them, where it is MariaDB's way of
/// saying a version.
fn version(server: &Server, peer: &Peer) -> String {
    let own = server.variables.text(ids::VERSION);
    let port = server.variables.uint(ids::DURAMEN_MARIADB_PORT);
    if port != 0 && peer.port().is_some_and(|at| u64::from(at) == port) {
        return format!("{}{own}", dump::mariadb::VERSION_PREFIX);
    }
    own.to_string()
}

/// Greets, authenticates and opens a session; `None` if the client did not get in, which was
/// counted and logged.
fn log_in<'a>(
    server: &'a Arc<Server>,
    mut connection: Connection,
    version: &str,
    slot: &'a ConnectionSlot,
    id: u64,
    counters: Arc<Counters>,
    limits: Limits,
) -> Option<Client<'a>> {
    let greeting = Greeting {
        version,
        connection_id: id as u32,
        collation: server.collation(),
        status: Status::AUTOCOMMIT,
        // A Unix socket is as safe without, and clients that take whatever is offered spend more on
        // it than on all else of a short connection.
        tls: !connection.is_secure(),
        local_infile: server.variables.bool(ids::LOCAL_INFILE),
        require_secure_transport: server.variables.bool(ids::REQUIRE_SECURE_TRANSPORT),
    };
    let refused = match connection.handshake(&greeting, &server.authenticator, &server.accounts()) {
        Ok(login) if slot.is_reserved && !server.is_administrator(&login) => {
            counters.count(Counter::ConnectionErrorsMaxConnections);
            Some(ErrorReply::too_many_connections())
        }
        Ok(login) => match open_session(server, &connection, &login, id, &counters) {
            Ok(session) => {
                let reader = Reader::of(&login);
                let statements = Statements::new();
                let outbox = Outbox::new(slot, counters.clone(), server.threads.clone());
                let mut client = Client {
                    server,
                    connection,
                    session,
                    statements,
                    counters,
                    slot,
                    id,
                    limits,
                    limits_of: None,
                    reader,
                    outbox,
                    reply_is_deferred: false,
                };
                client.ok();
                return Some(client);
            }
            Err(e) => Some(results::error(&e, None)),
        },
        Err(e) => {
            counters.count(Counter::AbortedConnects);
            // Port scanners and health checks connect and disconnect; that is not logged.
            if !matches!(e, HandshakeError::Read(ReadError::Closed)) {
                tracing::info!("connection {id} from {} was not let in: {e}", connection.host());
            }
            None
        }
    };
    if let Some(error) = refused {
        connection.write_error(&error);
        let _ = connection.flush();
    }
    None
}

/// A session of the account that logged in.
pub(crate) fn open_session(
    server: &Arc<Server>,
    connection: &Connection,
    login: &Login,
    id: u64,
    counters: &Arc<Counters>,
) -> Result<Session, sql::SqlError> {
    use protocol::Capabilities;
    let connections = server.connections.clone();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let changes_expired = connection.capabilities().has(Capabilities::CAN_HANDLE_EXPIRED_PASSWORDS);
    if !changes_expired
        && server.database.has_expired_password(&text(&login.account.user), &login.account.host)
    {
        return Err(datum::error::MUST_CHANGE_PASSWORD_LOGIN.plain());
    }
    let mut session = server.database.connect(sql::Connection {
        id,
        user: text(&login.user),
        host: connection.host().to_owned(),
        account: UserAtHost::new(text(&login.account.user), &*login.account.host),
        with_password: !login.account.authentication_string.is_empty(),
        database: login.database.as_deref().map(text),
        collation: login.collation.unwrap_or_else(|| server.collation()),
        found_rows: connection.capabilities().has(Capabilities::FOUND_ROWS),
        tls: connection.tls().map(|tls| TlsSession {
            version: tls.version,
            cipher: tls.cipher,
            resumed: tls.resumed,
        }),
        is_startup: false,
        multi_statements: connection.capabilities().has(Capabilities::MULTI_STATEMENTS),
        // Who sends several statements takes several results.
        multi_results: connection.capabilities().has(Capabilities::MULTI_RESULTS)
            || connection.capabilities().has(Capabilities::MULTI_STATEMENTS),
        on_kill: Box::new(move |what| {
            if what == Kill::Connection {
                connections.shut(id);
            }
        }),
    })?;
    session.set_counters(counters.clone());
    session.set_interactive(login.interactive);
    session.set_tracking(connection.capabilities().has(Capabilities::SESSION_TRACK));
    if connection.is_plain() {
        session.allow_deferred_replies();
    }
    Ok(session)
}

/// Why a connection ended.
pub(crate) enum End {
    /// The client said goodbye.
    Quit,
    /// Nothing (more) could be read.
    Read(ReadError),
    /// Nothing (more) could be sent.
    Write(io::Error),
    /// The server closed it, for this reason.
    Server(&'static str),
}

impl std::fmt::Display for End {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            End::Quit => f.write_str("the client left"),
            End::Read(e) => e.fmt(f),
            End::Write(e) => write!(f, "sending failed: {e}"),
            End::Server(why) => f.write_str(why),
        }
    }
}

impl Client<'_> {
    /// The connection's number.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// `max_allowed_packet`
    pub(crate) fn packet_max(&self) -> usize {
        self.limits.packet_max
    }

    /// COM_CHANGE_USER: another session replaces this one.
    pub(crate) fn change_session(&mut self, session: Session) {
        self.session = session;
        self.statements.clear();
        self.limits_of = None;
    }

    /// Replies OK, with the session's status and tracked changes only.
    pub(crate) fn ok(&mut self) {
        let status = Status(self.session.status());
        let changes = self.session.take_changes();
        let changes: Vec<_> = changes.iter().map(results::change).collect();
        self.connection.write_ok(&OkReply { status, changes: &changes, ..OkReply::default() });
    }

    /// The reply to a statement that failed. One that the server's end interrupts says so: 1053.
    pub(crate) fn failed(&self, error: &sql::SqlError) -> ErrorReply {
        let stops = error.is(datum::error::QUERY_INTERRUPTED) && self.server.stop.is_requested();
        let charset = self.session.results_charset();
        self.server.unsupported.note(error, self.id);
        match stops {
            true => results::error(&datum::error::SERVER_SHUTDOWN.plain(), charset),
            false => results::error(error, charset),
        }
    }

    /// Replies EOF, likewise.
    pub(crate) fn end(&mut self) {
        let status = Status(self.session.status());
        self.connection.write_eof(&OkReply { status, ..OkReply::default() });
    }

    fn commands(&mut self) -> End {
        let mut packet = Vec::new();
        if let Err(e) = self.connection.flush() {
            return End::Write(e);
        }
        loop {
            if let Err(e) = self.apply_limits() {
                return End::Write(e);
            }
            let read = self.connection.read_command(&mut packet);
            if std::mem::take(&mut self.reply_is_deferred) {
                self.outbox.await_sent();
            }
            if let Err(e) = read {
                return self.read_failed(e);
            }
            let next = {
                let _running = self.slot.run();
                dispatch::command(self, &packet)
            };
            if let Next::Close(end) = next {
                return end;
            }
            if let Err(e) = self.reply() {
                return End::Write(e);
            }
            stdx::memory::release_deferred();
            if self.session.is_killed() {
                return End::Server("it was killed");
            }
            if self.server.stop.is_requested() {
                return End::Server("the server stops");
            }
            let is_large = packet.len() >= LARGE_COMMAND;
            shrink(&mut packet);
            if is_large {
                env::memory::release_free_pages();
            }
        }
    }

    /// Sends the reply, or defers it until the commit that it acknowledges is durable.
    fn reply(&mut self) -> io::Result<()> {
        match self.session.take_pending_reply() {
            Some(pending) => {
                self.reply_is_deferred = true;
                self.outbox.defer(&mut self.connection, pending)
            }
            None => self.connection.flush(),
        }
    }

    fn read_failed(&mut self, e: ReadError) -> End {
        if let Some(reply) = e.reply() {
            self.connection.write_error(&reply);
            // The connection ends either way.
            let _ = self.connection.flush();
        }
        End::Read(e)
    }

    /// Time limits and packet size are session variables, which the last command may have set.
    fn apply_limits(&mut self) -> io::Result<()> {
        let settings = Some(self.session.settings_version());
        if self.limits_of == settings {
            return Ok(());
        }
        self.limits_of = settings;
        let variables = self.session.variables();
        self.connection.set_without_metadata(variables.uint(ids::RESULTSET_METADATA) == 0);
        let wanted = limits(self.server, variables);
        let same = wanted.packet_max == self.limits.packet_max && wanted.timeouts == self.limits.timeouts;
        if !same {
            self.connection.set_limits(wanted)?;
            self.limits = wanted;
        }
        Ok(())
    }
}

/// Bytes of a command whose tree takes so much memory, in so small blocks, that free pages are
/// given back behind it. Parsing it takes longer than that. Dumps' INSERTs are shorter.
const LARGE_COMMAND: usize = 4 << 20;

/// A huge statement must not stay in memory while its session idles.
fn shrink(packet: &mut Vec<u8>) {
    const SHRINK_ABOVE: usize = 64 << 10;
    if packet.capacity() > SHRINK_ABOVE {
        packet.clear();
        packet.shrink_to(SHRINK_ABOVE);
    }
}

fn limits(server: &Server, session: &SessionVariables) -> Limits {
    let seconds = |id| Duration::from_secs(session.uint(id));
    Limits {
        packet_max: usize::try_from(session.uint(ids::MAX_ALLOWED_PACKET)).unwrap_or(usize::MAX),
        timeouts: Timeouts {
            connect: Duration::from_secs(server.variables.uint(ids::CONNECT_TIMEOUT)),
            idle: seconds(ids::WAIT_TIMEOUT),
            read: seconds(ids::NET_READ_TIMEOUT),
            write: seconds(ids::NET_WRITE_TIMEOUT),
        },
    }
}
