//! COM_BINLOG_DUMP and COM_BINLOG_DUMP_GTID: a session becomes a stream of the log.
//!
//! Who reads the log so needs REPLICATION SLAVE, and nothing else.
//!
//! What the reader can do, it said before in user variables: `@source_binlog_checksum` and
//! `@source_heartbeat_period` (nanoseconds), or the same with `master`, their names of old; and
//! `@rpl_semi_sync_replica` or `.._slave`, that it acknowledges (`acknowledged.rs`).

mod acknowledged;
pub(crate) mod mariadb;

use crate::connections::ConnectionSlot;
use crate::dispatch::Next;
use crate::results::{self, Results};
use crate::session::{Client, End};
use acknowledged::Acknowledged;
use binlog::LogPosition;
use binlog::gtid::GtidSet;
use binlog::log::Log;
use datum::sink::{ColumnMeta, OkInfo, ResultSink};
use datum::types::{Collation, code};
use protocol::{BinlogDump, Connection, ErrorReply, Login, RegisterReplica};
use replication::source::{self, ChecksumWish, DumpError, Request, Stream};
use sql::variables::ids;
use sql::{Datum, Kill, Replica, Session};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// MySQL's number for whatever ends a dump.
const FATAL: u16 = 1236;
/// What a stream ends with whose replica has come again.
const REPLACED: &str =
    "A replica with the same server_uuid/server_id as this replica has connected to the source";
/// How long a stream may take to notice that it is replaced, before its connection is cut.
const REPLACE_PATIENCE: Duration = Duration::from_secs(1);

/// COM_REGISTER_SLAVE: SHOW REPLICAS lists it from now on.
pub(crate) fn register(client: &mut Client<'_>, replica: &RegisterReplica<'_>) {
    if let Err(error) = client.session.need_privilege("REPLICATION SLAVE") {
        return client.connection.write_error(&results::error(&error, None));
    }
    let replica = Replica {
        server_id: replica.server_id,
        host: String::from_utf8_lossy(replica.host).into_owned(),
        port: replica.port,
        uuid: uuid(&client.session),
    };
    client.server.database.replicas().register(client.id(), replica);
    client.ok();
}

/// COM_BINLOG_DUMP
pub(crate) fn by_position(client: &mut Client<'_>, request: &BinlogDump<'_>) -> Next {
    run(client, request, None)
}

/// COM_BINLOG_DUMP_GTID: the reader says which transactions it has.
pub(crate) fn by_gtids(client: &mut Client<'_>, request: &BinlogDump<'_>) -> Next {
    let has = match request.gtids {
        [] => Ok(GtidSet::new()),
        bytes => GtidSet::decode(bytes),
    };
    match has {
        Ok(has) => run(client, request, Some(has)),
        Err(_) => {
            client.connection.write_error(&ErrorReply::malformed_packet());
            Next::Reply
        }
    }
}

/// What ends the connection of a replica that did not say what it is. The client library in MySQL's
/// and MariaDB's servers makes a lost connection again by itself, in the middle of what they say
/// before they ask for the log. Of an error they would never come again; of a lost connection they
/// do, and say it all.
const SAYS_NOTHING: &str = "its replica has not said what it reads";

/// Streams the log until its end, if the request does not wait there, or until something ends it.
fn run(client: &mut Client<'_>, request: &BinlogDump<'_>, has: Option<GtidSet>) -> Next {
    if let Err(error) = client.session.need_privilege("REPLICATION SLAVE") {
        client.connection.write_error(&results::error(&error, None));
        return Next::Reply;
    }
    let checksum = checksum_wish(&client.session);
    if checksum == ChecksumWish::Unknown && client.reader == Reader::Replica {
        return Next::Close(End::Server(SAYS_NOTHING));
    }
    // Only MySQL's replicas say which GTIDs they have.
    let mariadb = if has.is_none() { mariadb::wishes(client, request) } else { None };
    let wanted = Request {
        file: request.file,
        offset: request.offset,
        has,
        wait: !request.ends_with_the_log(),
        checksum,
        heartbeat: heartbeat(&client.session),
        heartbeat_v2: request.knows_heartbeat_v2() && mariadb.is_none(),
        server_id: client.server.variables.uint(ids::SERVER_ID) as u32,
    };
    let log = client.server.database.log().clone();
    log_request(client.id(), &wanted);
    let replaced = replace_stream(client, request.server_id, wanted.has.is_some());
    let acknowledges = acknowledges(&client.session);
    let sent = client.server.database.replicas().sent_mark(client.id());
    let mut packets = Packets {
        connection: &mut client.connection,
        session: &client.session,
        stop: &client.server.stop,
        slot: client.slot,
        replaced: &replaced,
        sent,
    };
    let send = |stream: &mut dyn Stream| match mariadb {
        Some(wishes) => source::mariadb::dump(&log, &wanted, wishes, stream),
        None => source::dump(&log, &wanted, stream),
    };
    let ended = if acknowledges {
        let semi_sync = &client.server.semi_sync;
        Acknowledged::new(packets, &log, semi_sync, request.server_id)
            .map_err(DumpError::from)
            .and_then(|mut stream| send(&mut stream))
    } else {
        send(&mut packets)
    };
    client.server.database.replicas().end_stream(client.id());
    match ended {
        Ok(()) => client.end(),
        Err(DumpError::Fatal(text)) => {
            client.connection.write_error(&ErrorReply::new(FATAL, b"HY000", text));
        }
        Err(DumpError::Interrupted) if replaced.load(Relaxed) => {
            client.connection.write_error(&ErrorReply::new(FATAL, b"HY000", REPLACED));
        }
        // After error 1236 a replica would never come again; after a lost connection it does, as
        // soon as it can.
        Err(DumpError::Interrupted) => return Next::Close(End::Server("its reading of the log was ended")),
        // The caller's flush meets the same error and ends the connection.
        Err(DumpError::Stream(_)) => {}
    }
    Next::Reply
}

fn log_request(connection: u64, request: &Request<'_>) {
    let (name, offset) = (String::from_utf8_lossy(request.file), request.offset);
    match &request.has {
        Some(has) => tracing::info!(
            "connection {connection} reads the log from '{name}' on, position {offset}, without '{has}'"
        ),
        None => tracing::info!("connection {connection} reads the log from '{name}' on, position {offset}"),
    }
}

/// Ends the stream that the same replica still has, on a connection that it lost. Returns the mark
/// by which this one learns that it is replaced itself.
fn replace_stream(client: &Client<'_>, server_id: u32, by_gtids: bool) -> Arc<AtomicBool> {
    let replicas = client.server.database.replicas();
    let uuid = uuid(&client.session);
    let (replaced, older) = replicas.begin_stream(client.id(), &uuid, server_id, by_gtids);
    for id in older {
        let (which, is) =
            if uuid.is_empty() { ("server_id", server_id.to_string()) } else { ("UUID", uuid.clone()) };
        tracing::info!(
            "While initializing dump thread for replica with {which} <{is}>, found a zombie dump thread with the same \
             {which}. Source is killing the zombie dump thread({id})."
        );
        let pause = Duration::from_millis(10);
        let mut waited = Duration::ZERO;
        while replicas.is_streaming(id) && waited < REPLACE_PATIENCE {
            std::thread::sleep(pause);
            waited += pause;
        }
        // It has not looked: it waits for a peer that takes nothing.
        if replicas.is_streaming(id)
            && let Some(process) = client.server.database.process(id)
        {
            process.kill(Kill::Connection);
        }
    }
    replaced
}

/// `@replica_uuid`, or `@slave_uuid`, its name of old; empty if the reader did not say.
fn uuid(session: &Session) -> String {
    let value = match session.user_variable("replica_uuid") {
        Datum::Null => session.user_variable("slave_uuid"),
        value => value,
    };
    if value.is_null() {
        String::new()
    } else {
        String::from_utf8_lossy(&value.to_bytes()).to_ascii_lowercase()
    }
}

/// Who reads the log, as far as the login's attributes say. What more there is to know, readers
/// say themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reader {
    /// A server of MySQL or MariaDB, as a replica.
    Replica,
    /// `mariadb-binlog --read-from-remote-server`
    MariadbBinlog,
    /// PyMySQL, with which python-mysql-replication reads the log.
    PyMySql,
    /// Any other client.
    Other,
}

impl Reader {
    pub(crate) fn of(login: &Login) -> Self {
        let value = |name: &[u8]| login.attributes.iter().find(|(n, _)| n == name).map(|(_, v)| &v[..]);
        let is_replica_of_mysql = value(b"_client_role") == Some(b"binary_log_listener");
        match (value(b"_client_name"), value(b"program_name")) {
            _ if is_replica_of_mysql => Self::Replica,
            // Programs have a name, and no other client says which server it means: MariaDB's
            // servers do.
            (Some(b"libmysql"), None) if value(b"_server_host").is_some() => Self::Replica,
            (Some(b"libmariadb"), Some(b"mysqlbinlog" | b"mariadb-binlog")) => Self::MariadbBinlog,
            (Some(b"pymysql"), _) => Self::PyMySql,
            _ => Self::Other,
        }
    }
}

/// Tells MariaDB's reader of remote logs this server's version with `5.5.5-` in front.
///
/// It refuses whatever does not begin with a version of its own past (1, 3, 4, 5), and reads
/// nothing else out of it: how the events are to be read it learns from the format description.
/// MariaDB's servers put the same prefix before their own version, for replicas that knew of
/// nothing later.
pub(crate) fn answer_version(client: &mut Client<'_>) {
    let version = format!("5.5.5-{}", client.server.variables.text(ids::VERSION));
    answer(client, "VERSION()", Some(&version));
}

/// Answers with one row of one text, or NULL.
fn answer(client: &mut Client<'_>, name: &str, text: Option<&str>) {
    let column = ColumnMeta {
        name: name.into(),
        collation: Collation::UTF8MB4_0900_AI_CI.0,
        length: 4 * text.map_or(0, str::len) as u32,
        type_code: code::VAR_STRING,
        ..ColumnMeta::default()
    };
    let value = text.map_or(Datum::Null, |text| Datum::borrowed(text.as_bytes()));
    let status = client.session.status();
    let mut results = Results::new(&mut client.connection, status);
    let written = results
        .columns(&[column])
        .and_then(|()| results.row(&[value]))
        .and_then(|()| results.finish(&OkInfo { status, ..OkInfo::default() }));
    if let Err(e) = written {
        tracing::debug!("connection {}: {e}", client.id());
    }
}

/// Either name of a user variable that replicas set.
fn replica_variable(session: &Session, name: &str) -> Datum<'static> {
    match session.user_variable(&format!("source_{name}")) {
        Datum::Null => session.user_variable(&format!("master_{name}")),
        value => value,
    }
}

fn checksum_wish(session: &Session) -> ChecksumWish {
    match replica_variable(session, "binlog_checksum") {
        Datum::Null => ChecksumWish::Unknown,
        value if value.to_bytes().eq_ignore_ascii_case(b"CRC32") => ChecksumWish::Crc32,
        _ => ChecksumWish::None,
    }
}

/// Whether it is a semi-synchronous replica, which acknowledges.
fn acknowledges(session: &Session) -> bool {
    let says = |name| session.user_variable(name).to_integer().value != 0;
    says("rpl_semi_sync_replica") || says("rpl_semi_sync_slave")
}

fn heartbeat(session: &Session) -> Option<Duration> {
    let nanos = replica_variable(session, "heartbeat_period").to_integer().value;
    // Less than a millisecond is no sign of life but a flood.
    let nanos = u64::try_from(nanos).ok().filter(|&n| n > 0)?;
    Some(Duration::from_nanos(nanos).max(Duration::from_millis(1)))
}

struct Packets<'a> {
    connection: &'a mut Connection,
    session: &'a Session,
    stop: &'a crate::stop::Stop,
    slot: &'a ConnectionSlot,
    replaced: &'a AtomicBool,
    /// For monitoring: how far the reader was sent the log.
    sent: Arc<AtomicU64>,
}

impl Packets<'_> {
    /// The reader was sent all before `position` that it lacks.
    fn note_sent(&self, position: LogPosition) {
        self.sent.store(position.to_u64(), Relaxed);
    }
}

impl Stream for Packets<'_> {
    fn event(&mut self, event: &[u8]) -> io::Result<()> {
        self.connection.write_event(event)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.connection.flush()
    }

    fn is_interrupted(&mut self) -> bool {
        self.session.is_killed() || self.stop.is_requested() || self.replaced.load(Relaxed)
    }

    fn is_gone(&mut self) -> bool {
        self.slot.peer_has_closed()
    }

    fn reaches(&mut self, end: LogPosition) {
        self.note_sent(end);
    }

    fn wait_for_more(&mut self, log: &Log, from: LogPosition, patience: Duration) -> io::Result<bool> {
        self.note_sent(from);
        Ok(log.wait_durable_past(from, patience))
    }
}
