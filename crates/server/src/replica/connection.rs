//! The receiver's connection to its source: login, what both must know of each other, and the
//! command that starts the stream.

use crate::remote::place::major_minor;
use crate::server::Server;
use binlog::gtid::GtidSet;
use protocol::Timeouts;
use protocol::client::{Client, ClientError, ConnectOptions, Tls};
use protocol::compression::Algorithm;
use sql::replica::coordinates::Coordinates;
use sql::replica::{Channel, SourceConfig};
use sql::variables::ids;
use std::net::{TcpStream, ToSocketAddrs};
use std::path::Path;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

const COM_BINLOG_DUMP: u8 = 0x12;
const COM_REGISTER_REPLICA: u8 = 0x15;
const COM_BINLOG_DUMP_GTID: u8 = 0x1e;
/// A file name comes before the GTIDs, and GTIDs come.
const THROUGH_POSITION: u16 = 2;
const THROUGH_GTID: u16 = 4;
/// MariaDB: the statements that rows come from are sent too.
const ANNOTATE_ROWS: u16 = 2;

/// Why a source can't be followed now.
#[derive(Debug)]
pub(super) struct SourceError {
    pub(super) number: u16,
    pub(super) message: String,
    /// It is of no use to try again.
    pub(super) is_fatal: bool,
}

impl SourceError {
    pub(super) fn fatal(number: u16, message: impl Into<String>) -> Self {
        Self { number, message: message.into(), is_fatal: true }
    }

    pub(super) fn passing(number: u16, message: impl Into<String>) -> Self {
        Self { number, message: message.into(), is_fatal: false }
    }
}

const CR_CONN_HOST_ERROR: u16 = 2003;
const CR_UNKNOWN_HOST: u16 = 2005;
const CR_SERVER_LOST: u16 = 2013;
const CR_SSL_CONNECTION_ERROR: u16 = 2026;
pub(super) const FATAL_ERROR: u16 = 13117;
const EQUAL_SERVER_UUIDS: u16 = 13118;
const UNKNOWN_SYSTEM_VARIABLE: u16 = 1193;

/// A source that has answered.
pub(super) struct SourceConnection {
    pub(super) client: Client,
    pub(super) is_mariadb: bool,
    /// The source is semi-synchronous, and so is this replica.
    pub(super) acknowledges: bool,
}

/// Bytes of a source's answer to one of a receiver's few questions.
const ANSWER_MAX: usize = 1 << 20;

/// What ends a read of a connection: both directions are shut.
pub(super) fn shutter(socket: &TcpStream) -> Option<Box<dyn Fn() + Send>> {
    let socket = socket.try_clone().ok()?;
    Some(Box::new(move || {
        // It may be gone already.
        let _ = socket.shutdown(std::net::Shutdown::Both);
    }))
}

/// Does what takes the source's answers, on a socket that `shut` ends when it takes longer than
/// `patience`: a source that sends a byte now and then never lets a single wait end.
pub(super) fn within<T>(
    shut: Option<Box<dyn Fn() + Send>>,
    patience: Duration,
    work: impl FnOnce() -> Result<T, SourceError>,
) -> Result<T, SourceError> {
    std::thread::scope(|scope| {
        let (done, is_done) = std::sync::mpsc::channel::<()>();
        let watch = move || {
            if is_done.recv_timeout(patience) == Err(RecvTimeoutError::Timeout)
                && let Some(shut) = shut
            {
                shut();
            }
        };
        let watcher = std::thread::Builder::new().name("replica-login".into()).spawn_scoped(scope, watch);
        watcher
            .map_err(|e| SourceError::passing(CR_CONN_HOST_ERROR, format!("no thread for the login: {e}")))?;
        let outcome = work();
        drop(done);
        outcome
    })
}

/// Connects a socket.
pub(super) fn open(source: &SourceConfig, patience: Duration) -> Result<TcpStream, SourceError> {
    let (host, port) = (source.host.as_str(), source.port);
    let unknown = |e: &dyn std::fmt::Display| format!("Unknown MySQL server host '{host}' ({e})");
    let addresses: Vec<_> = (host, port)
        .to_socket_addrs()
        .map_err(|e| SourceError::passing(CR_UNKNOWN_HOST, unknown(&e)))?
        .collect();
    let mut last = SourceError::passing(CR_UNKNOWN_HOST, unknown(&"no address"));
    for address in addresses {
        match TcpStream::connect_timeout(&address, patience) {
            Ok(socket) => {
                let settled = socket.set_nodelay(true);
                settled.map_err(|e| SourceError::passing(CR_CONN_HOST_ERROR, e.to_string()))?;
                return Ok(socket);
            }
            Err(e) => {
                let number = e.raw_os_error().unwrap_or(0);
                last = SourceError::passing(
                    CR_CONN_HOST_ERROR,
                    format!("Can't connect to MySQL server on '{host}:{port}' ({number})"),
                );
            }
        }
    }
    Err(last)
}

/// Whether a server of this version can be a source, as far as is known: all that answer to none of
/// MySQL's before 5.7. A MariaDB of version 10 says 5.5.5 first, for the sake of old replicas.
fn can_be_followed(version: &str) -> bool {
    let own = version.strip_prefix("5.5.5-").filter(|own| own.contains("MariaDB"));
    major_minor(own.unwrap_or(version)) >= (5, 7)
}

fn unknown_version(version: &str) -> SourceError {
    const SHOWN_MAX: usize = 60;
    let shown: String = version.chars().take(SHOWN_MAX).flat_map(char::escape_debug).collect();
    SourceError::fatal(
        FATAL_ERROR,
        format!(
            "Fatal error: Source reported unrecognized MySQL version: '{shown}'; MySQL can be followed from version 5.7 \
             on, MariaDB from 10.5 on."
        ),
    )
}

/// How far the source has to prove who it is, as in MySQL: an authority that is named is asked,
/// and `SOURCE_SSL_VERIFY_SERVER_CERT` asks for the host's name in the certificate, too.
fn tls<'a>(source: &'a SourceConfig, ca: &'a [u8]) -> Result<Tls<'a>, SourceError> {
    match (source.tls, source.tls_verify, source.tls_ca.is_empty()) {
        (false, ..) => Ok(Tls::Off),
        (true, true, true) => Err(SourceError::passing(
            CR_SSL_CONNECTION_ERROR,
            "SSL connection error: CA certificate is required if ssl-mode is VERIFY_CA or VERIFY_IDENTITY",
        )),
        (true, true, false) => Ok(Tls::Verified { ca, server_name: &source.host }),
        (true, false, false) => Ok(Tls::Signed { ca }),
        (true, false, true) => Ok(Tls::Unverified),
    }
}

impl SourceConnection {
    /// Says who this server is, by the account of CHANGE REPLICATION SOURCE; `patience` bounds
    /// each wait. The caller bounds the whole ([`within`]).
    pub(super) fn log_in(
        server: &Server,
        source: &SourceConfig,
        socket: TcpStream,
        patience: Duration,
    ) -> Result<Self, SourceError> {
        let ca = match source.tls_ca.is_empty() {
            true => Vec::new(),
            false => server.env.read_file(Path::new(&source.tls_ca)).map_err(|e| {
                SourceError::passing(
                    CR_SSL_CONNECTION_ERROR,
                    format!("SSL connection error: {}: {e}", source.tls_ca),
                )
            })?,
        };
        let tls = tls(source, &ca)?;
        let compression = match source.compression.as_str() {
            list if list.contains("zstd") => Some(Algorithm::Zstd),
            list if list.contains("zlib") => Some(Algorithm::Zlib),
            _ => None,
        };
        let options = ConnectOptions {
            user: source.user.as_bytes(),
            password: source.password.as_bytes(),
            tls,
            requests_public_key: source.get_public_key,
            compression,
            timeouts: Timeouts { idle: patience, read: patience, write: patience, connect: patience },
            answer_max: ANSWER_MAX,
            takes_version: can_be_followed,
            attributes: &[(b"program_name", b"duramen"), (b"_client_role", b"binary_log_listener")],
            ..ConnectOptions::default()
        };
        let client = Client::connect(Box::new(socket), server.env.clone(), &options);
        let client = client.map_err(|e| match e {
            ClientError::Version(version) => unknown_version(&version),
            e => lost(e),
        })?;
        let is_mariadb = client.server_version.contains("MariaDB");
        Ok(Self { client, is_mariadb, acknowledges: false })
    }

    /// What this server has to know of the source, and the source of its replica.
    pub(super) fn introduce(
        &mut self,
        server: &Server,
        channel: &Channel,
        source: &SourceConfig,
    ) -> Result<(), SourceError> {
        let variables = &server.variables;
        let seconds = self.number("SELECT UNIX_TIMESTAMP()")?;
        let ours = (server.env.now() / 1_000_000) as i64;
        let server_id = self.number("SELECT @@GLOBAL.SERVER_ID")? as u32;
        let own_id = variables.uint(ids::SERVER_ID) as u32;
        if server_id == own_id && !variables.bool(ids::REPLICATE_SAME_SERVER_ID) {
            return Err(SourceError::fatal(
                FATAL_ERROR,
                "Fatal error: The replica I/O thread stops because source and replica have equal MySQL server ids; these \
                 ids must be different for replication to work (or the --replicate-same-server-id option must be used on \
                 replica but this does not always make sense; please check the manual before using it).",
            ));
        }
        let own_uuid = variables.text(ids::SERVER_UUID);
        let uuid = if self.is_mariadb { String::new() } else { self.text("SELECT @@GLOBAL.SERVER_UUID")? };
        if !uuid.is_empty() && uuid.eq_ignore_ascii_case(&own_uuid) {
            return Err(SourceError::fatal(
                EQUAL_SERVER_UUIDS,
                "Fatal error: The replica I/O thread stops because source and replica have equal MySQL server UUIDs; \
                 these UUIDs must be different for replication to work.",
            ));
        }
        let time_zone = self.text("SELECT @@GLOBAL.SYSTEM_TIME_ZONE")?;
        let version = self.client.server_version.clone();
        channel.with(|state| {
            let progress = &mut state.progress;
            progress.source_server_id = server_id;
            progress.source_uuid = uuid;
            progress.source_version = version;
            progress.source_time_zone = time_zone;
            progress.clock_difference = seconds.saturating_sub(ours);
        });
        let period = source.heartbeat_period.as_nanos();
        self.run(&format!("SET @master_heartbeat_period = {period}, @source_heartbeat_period = {period}"))?;
        self.run(
            "SET @master_binlog_checksum = @@global.binlog_checksum, @source_binlog_checksum = @@global.binlog_checksum",
        )?;
        if self.is_mariadb {
            self.run("SET @mariadb_slave_capability = 4")?;
        } else {
            self.run(&format!("SET @slave_uuid = '{own_uuid}', @replica_uuid = '{own_uuid}'"))?;
        }
        if variables.bool(ids::RPL_SEMI_SYNC_REPLICA_ENABLED) && self.is_semi_synchronous()? {
            self.run("SET @rpl_semi_sync_replica = 1, @rpl_semi_sync_slave = 1")?;
            self.acknowledges = true;
        }
        self.register(server)
    }

    /// Whether the source can wait for replicas. Whether it does is its own matter: it asks for an
    /// answer when it wants one.
    fn is_semi_synchronous(&mut self) -> Result<bool, SourceError> {
        const NAMES: &str = "SHOW GLOBAL VARIABLES WHERE variable_name IN ('rpl_semi_sync_source_enabled', 'rpl_semi_sync_master_enabled')";
        Ok(!self.client.query(NAMES).map_err(lost)?.rows.is_empty())
    }

    /// COM_REGISTER_SLAVE: the source lists this server among its replicas.
    fn register(&mut self, server: &Server) -> Result<(), SourceError> {
        let variables = &server.variables;
        let mut packet = vec![COM_REGISTER_REPLICA];
        packet.extend_from_slice(&(variables.uint(ids::SERVER_ID) as u32).to_le_bytes());
        for text in [&*variables.text(ids::REPORT_HOST), "", ""] {
            let text = &text.as_bytes()[..text.len().min(255)];
            packet.push(text.len() as u8);
            packet.extend_from_slice(text);
        }
        packet.extend_from_slice(&(variables.uint(ids::REPORT_PORT) as u16).to_le_bytes());
        packet.extend_from_slice(&[0; 8]);
        self.client.command(&packet).map(drop).map_err(lost)
    }

    /// Starts the stream behind what is committed here: `reached` by coordinates, `executed` by
    /// GTIDs.
    pub(super) fn request(
        &mut self,
        server: &Server,
        source: &SourceConfig,
        reached: &Coordinates,
        executed: &GtidSet,
    ) -> Result<(), SourceError> {
        let server_id = server.variables.uint(ids::SERVER_ID) as u32;
        if self.is_mariadb && (source.auto_position || !reached.gtids.is_empty()) {
            let state = reached.gtids_text();
            self.run(&format!("SET @slave_connect_state = '{state}'"))?;
            self.run("SET @slave_gtid_strict_mode = 0, @slave_gtid_ignore_duplicates = 0")?;
            return self.dump(server_id, "", 4, ANNOTATE_ROWS);
        }
        if source.auto_position {
            return self.dump_gtids(server_id, executed);
        }
        let (file, offset) = match reached.position.file.is_empty() {
            false => (reached.position.file.as_str(), reached.position.offset),
            true => (source.log_file.as_str(), source.log_position),
        };
        self.dump(server_id, file, offset, if self.is_mariadb { ANNOTATE_ROWS } else { 0 })
    }

    fn dump(&mut self, server_id: u32, file: &str, offset: u64, flags: u16) -> Result<(), SourceError> {
        let offset = u32::try_from(offset).map_err(|_| {
            SourceError::fatal(
                1236,
                format!("the offset {offset} in {file} has more than 32 bits: a source is asked for one by GTIDs only"),
            )
        })?;
        let mut packet = vec![COM_BINLOG_DUMP];
        packet.extend_from_slice(&offset.to_le_bytes());
        packet.extend_from_slice(&flags.to_le_bytes());
        packet.extend_from_slice(&server_id.to_le_bytes());
        packet.extend_from_slice(file.as_bytes());
        self.client.send_command(&packet).map_err(lost)
    }

    fn dump_gtids(&mut self, server_id: u32, executed: &GtidSet) -> Result<(), SourceError> {
        let mut gtids = Vec::new();
        // An older MySQL has no transactions with tags, and can't read a set with them.
        match major_minor(&self.client.server_version) < (8, 3) {
            true => executed.untagged().encode(&mut gtids),
            false => executed.encode(&mut gtids),
        }
        let mut packet = vec![COM_BINLOG_DUMP_GTID];
        packet.extend_from_slice(&(THROUGH_POSITION | THROUGH_GTID).to_le_bytes());
        packet.extend_from_slice(&server_id.to_le_bytes());
        packet.extend_from_slice(&0_u32.to_le_bytes()); // the file's name: none
        packet.extend_from_slice(&4_u64.to_le_bytes());
        packet.extend_from_slice(&(gtids.len() as u32).to_le_bytes());
        packet.extend_from_slice(&gtids);
        self.client.send_command(&packet).map_err(lost)
    }

    fn run(&mut self, sql: &str) -> Result<(), SourceError> {
        match self.client.query(sql) {
            Err(e) if e.number() == Some(UNKNOWN_SYSTEM_VARIABLE) => Ok(()),
            Err(e) => Err(lost(e)),
            Ok(_) => Ok(()),
        }
    }

    fn text(&mut self, sql: &str) -> Result<String, SourceError> {
        let result = self.client.query(sql).map_err(lost)?;
        let cell = result.rows.first().and_then(|row| row.first()).cloned().flatten();
        Ok(String::from_utf8_lossy(&cell.unwrap_or_default()).into_owned())
    }

    fn number(&mut self, sql: &str) -> Result<i64, SourceError> {
        let text = self.text(sql)?;
        let whole = text.split('.').next().unwrap_or_default();
        whole.parse().map_err(|_| SourceError::fatal(1105, format!("the source answers '{text}' to {sql}")))
    }
}

/// An error of the connection, or the source's own; a source that refuses the login may take it
/// later.
pub(super) fn lost(e: ClientError) -> SourceError {
    let number = match &e {
        ClientError::Tls(_) | ClientError::NoTls => CR_SSL_CONNECTION_ERROR,
        e => e.number().unwrap_or(CR_SERVER_LOST),
    };
    SourceError::passing(number, e.to_string())
}
