//! What replicas of MariaDB say and ask before they read the log.
//!
//! They say what they are by `@mariadb_slave_capability`, and where they are by
//! `@slave_connect_state`. They ask for variables and a function that MySQL does not have; only
//! they are answered.

use super::{Client, Reader};
use binlog::event::MariadbGtid;
use protocol::BinlogDump;
use replication::source::mariadb::{self, Wishes};
use sql::{Datum, Session};

/// What stands before this server's version where MariaDB is expected: the prefix of MariaDB's own
/// servers, and the version whose replication this is.
pub(crate) const VERSION_PREFIX: &str = "5.5.5-10.11.0-MariaDB-";
/// The flag of a dump request that asks for the statements of row events.
const ANNOTATIONS: u16 = 2;
/// The server id's domain of all transactions.
const DOMAIN_ID: &[u8] = b"SELECT @@GLOBAL.gtid_domain_id";
/// What replicas that go by file and offset ask, to be able to go by GTID next time.
const GTID_POS: &[u8] = b"SELECT binlog_gtid_pos(";

/// What a replica wants, if it is one of MariaDB.
///
/// Two readers of the log say that they know MariaDB's events to every server, and are sent the log
/// as it is unless they also say where they are by MariaDB's GTIDs: `mariadb-binlog`, whose copies
/// (`--raw`) are to be the log's files, and python-mysql-replication, whose users say which server
/// it is.
pub(super) fn wishes(client: &Client<'_>, request: &BinlogDump<'_>) -> Option<Wishes> {
    let session = &client.session;
    replica_variable(session, "mariadb_slave_capability")?;
    let state = replica_variable(session, "slave_connect_state");
    if state.is_none() && matches!(client.reader, Reader::MariadbBinlog | Reader::PyMySql) {
        return None;
    }
    let until = replica_variable(session, "slave_until_gtid").and_then(|text| {
        let gtids: Vec<MariadbGtid> = text.split(',').filter_map(mariadb::parse).collect();
        gtids.into_iter().find(|gtid| gtid.domain_id == mariadb::DOMAIN)
    });
    Some(Wishes { state, annotations: request.flags & ANNOTATIONS != 0, until })
}

fn replica_variable(session: &Session, name: &str) -> Option<String> {
    match session.user_variable(name) {
        Datum::Null => None,
        value => Some(String::from_utf8_lossy(&value.to_bytes()).into_owned()),
    }
}

/// True for a statement that only [`answer`] knows, of a session that is a replica of MariaDB. It
/// may not have said so: its library makes a lost connection again by itself.
pub(crate) fn is_question(client: &Client<'_>, sql: &[u8]) -> bool {
    (sql == DOMAIN_ID || sql.starts_with(GTID_POS))
        && (client.reader == Reader::Replica
            || !client.session.user_variable("mariadb_slave_capability").is_null())
}

pub(crate) fn answer(client: &mut Client<'_>, sql: &[u8]) {
    let Some(arguments) = sql.strip_prefix(GTID_POS) else {
        return super::answer(client, "@@GLOBAL.gtid_domain_id", Some(&mariadb::DOMAIN.to_string()));
    };
    // It says of the log what the log's readers may know.
    if let Err(e) = client.session.need_privilege("REPLICATION SLAVE") {
        let reply = client.failed(&e);
        return client.connection.write_error(&reply);
    }
    let log = client.server.database.log().clone();
    let found = position_arguments(arguments).map(|(file, offset)| mariadb::gtid_at(&log, file, offset));
    match found {
        Some(Ok(gtid)) => {
            let text = gtid.map_or_else(String::new, |gtid| gtid.to_string());
            super::answer(client, "binlog_gtid_pos()", Some(&text));
        }
        // MariaDB's function gives NULL for a position that is not there.
        _ => super::answer(client, "binlog_gtid_pos()", None),
    }
}

/// The function's arguments as replicas write them: `'file',offset)`.
fn position_arguments(arguments: &[u8]) -> Option<(&[u8], u64)> {
    let rest = arguments.strip_prefix(b"'")?;
    let end = rest.iter().position(|&c| c == b'\'')?;
    let offset = std::str::from_utf8(&rest[end + 1..]).ok()?.strip_prefix(',')?.strip_suffix(')')?;
    Some((&rest[..end], offset.trim().parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_position_is_read_from_the_call() {
        assert_eq!(position_arguments(b"'binlog.000001',4)"), Some((&b"binlog.000001"[..], 4)));
        assert_eq!(position_arguments(b"'b', 197)"), Some((&b"b"[..], 197)));
        for wrong in ["", "'", "'a'", "'a',", "'a',x)", "'a',4", "4)"] {
            assert_eq!(position_arguments(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
