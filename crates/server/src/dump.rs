//! COM_BINLOG_DUMP: a session becomes a stream of the log.
//!
//! What the reader can do, it said before in user variables: `@source_binlog_checksum` and `@source_heartbeat_period`
//! (nanoseconds), or the same with `master`, their names of old.

use crate::connections::Seat;
use crate::results::{self, Results};
use crate::session::Client;
use protocol::command::BinlogDump;
use protocol::{Connection, ErrorReply, Login};
use replication::source::{self, ChecksumWish, DumpError, Request, Stream};
use sql::sink::{ColumnMeta, OkInfo, ResultSink};
use sql::types::{Collation, code};
use sql::variables::ids;
use sql::{Datum, Session};
use std::io;
use std::time::Duration;

/// MySQL's number for whatever ends a dump.
const FATAL: u16 = 1236;

/// Streams the log until its end, if the request does not wait there, or until something ends it.
pub(crate) fn run(client: &mut Client<'_>, request: &BinlogDump<'_>) {
    // Who may read the log may read every table. REPLICATION SLAVE comes with the finer privileges.
    if let Err(error) = client.session.need_privilege("REPLICATION SLAVE") {
        return client.connection.write_error(&results::error(&error));
    }
    let request = Request {
        file: request.file,
        offset: request.offset,
        wait: !request.ends_with_the_log(),
        checksum: checksum_wish(&client.session),
        heartbeat: heartbeat(&client.session),
        server_id: client.server.variables.uint(ids::SERVER_ID) as u32,
    };
    let log = client.server.database.log().clone();
    let name = String::from_utf8_lossy(request.file).into_owned();
    tracing::info!("connection {} reads the log from '{name}' on, position {}", client.id(), request.offset);
    let mut packets = Packets {
        connection: &mut client.connection,
        session: &client.session,
        stop: &client.server.stop,
        seat: client.seat,
    };
    match source::dump(&log, &request, &mut packets) {
        Ok(()) => client.end(),
        Err(DumpError::Fatal(text)) => {
            client.connection.write_error(&ErrorReply::new(FATAL, b"HY000", text));
        }
        Err(DumpError::Interrupted) => {
            let text = "the dump was ended by the server";
            client.connection.write_error(&ErrorReply::new(FATAL, b"HY000", text));
        }
        // The caller's flush meets the same error and ends the connection.
        Err(DumpError::Stream(_)) => {}
    }
}

/// True for `mariadb-binlog --read-from-remote-server`.
pub(crate) fn is_mariadb_reader(login: &Login) -> bool {
    let says = |name: &[u8], value: &[u8]| login.attributes.iter().any(|(n, v)| n == name && v == value);
    let program = says(b"program_name", b"mysqlbinlog") || says(b"program_name", b"mariadb-binlog");
    program && says(b"_client_name", b"libmariadb")
}

/// Tells MariaDB's reader of remote logs this server's version with `5.5.5-` in front.
///
/// It refuses whatever does not begin with a version of its own past (1, 3, 4, 5), and reads nothing else out of it:
/// how the events are to be read it learns from the format description. MariaDB's servers put the same prefix before
/// their own version, for replicas that knew of nothing later.
pub(crate) fn answer_version(client: &mut Client<'_>) {
    let version = format!("5.5.5-{}", client.server.variables.text(ids::VERSION));
    let column = ColumnMeta {
        name: "VERSION()".into(),
        collation: Collation::UTF8MB4_0900_AI_CI.0,
        length: 4 * version.len() as u32,
        type_code: code::VAR_STRING,
        ..ColumnMeta::default()
    };
    let status = client.session.status();
    let mut results = Results::new(&mut client.connection, status);
    let written = results
        .columns(&[column])
        .and_then(|()| results.row(&[Datum::borrowed(version.as_bytes())]))
        .and_then(|()| results.finish(&OkInfo { status, ..OkInfo::default() }));
    if let Err(e) = written {
        tracing::debug!("connection {}: {e}", client.id());
    }
}

/// Either name of a user variable that replicas set.
fn told(session: &Session, name: &str) -> Datum<'static> {
    match session.user_variable(&format!("source_{name}")) {
        Datum::Null => session.user_variable(&format!("master_{name}")),
        value => value,
    }
}

fn checksum_wish(session: &Session) -> ChecksumWish {
    match told(session, "binlog_checksum") {
        Datum::Null => ChecksumWish::Unknown,
        value if value.to_bytes().eq_ignore_ascii_case(b"CRC32") => ChecksumWish::Crc32,
        _ => ChecksumWish::None,
    }
}

fn heartbeat(session: &Session) -> Option<Duration> {
    let nanos = told(session, "heartbeat_period").to_integer().value;
    // Less than a millisecond is no sign of life but a flood.
    let nanos = u64::try_from(nanos).ok().filter(|&n| n > 0)?;
    Some(Duration::from_nanos(nanos).max(Duration::from_millis(1)))
}

struct Packets<'a> {
    connection: &'a mut Connection,
    session: &'a Session,
    stop: &'a crate::stop::Stop,
    seat: &'a Seat,
}

impl Stream for Packets<'_> {
    fn event(&mut self, event: &[u8]) -> io::Result<()> {
        self.connection.write_event(event)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.connection.flush()
    }

    fn is_interrupted(&mut self) -> bool {
        self.session.is_killed() || self.stop.is_requested()
    }

    fn is_gone(&mut self) -> bool {
        self.seat.peer_has_left()
    }
}
