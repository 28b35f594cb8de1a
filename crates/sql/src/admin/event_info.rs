//! What SHOW BINLOG EVENTS says of an event, in MySQL's words.

use binlog::event::{Compression, Event, EventHeader, QueryEvent, TableMapEvent, flags, rows_flags};

/// The Info column.
pub(super) fn info(header: &EventHeader, event: &Event<'_>) -> Vec<u8> {
    match event {
        Event::Query(query) => query_info(header, query),
        Event::RowsQuery(query) => [b"# ", query.sql].concat(),
        Event::FormatDescription(f) => {
            format!("Server ver: {}, Binlog ver: 4", f.server_version).into_bytes()
        }
        Event::PreviousGtids(set) => set.0.to_string().into_bytes(),
        Event::Gtid(gtid) => {
            let next = match &gtid.gtid {
                Some(gtid) => gtid.to_string(),
                None => "ANONYMOUS".to_owned(),
            };
            format!("SET @@SESSION.GTID_NEXT= '{next}'").into_bytes()
        }
        Event::TableMap(table) => format!("table_id: {} ({})", table.table_id, name_of(table)).into_bytes(),
        Event::Rows(rows) => format!("table_id: {}{}", rows.table_id, flag_names(rows.flags)).into_bytes(),
        Event::Xid(xid) => format!("COMMIT /* xid={} */", xid.0).into_bytes(),
        Event::Rotate(rotate) => [rotate.file_name, format!(";pos={}", rotate.position).as_bytes()].concat(),
        Event::Intvar(v) => {
            let name = if v.kind == 1 { "LAST_INSERT_ID" } else { "INSERT_ID" };
            format!("{name}={}", v.value).into_bytes()
        }
        Event::TransactionPayload(payload) => {
            let compression = match payload.compression {
                Compression::Zstd => "ZSTD",
                Compression::None => "NONE",
            };
            let size = payload.uncompressed_size;
            format!("compression='{compression}', decompressed_size={size} bytes").into_bytes()
        }
        Event::XaPrepare(end) => {
            let hex = |part: &[u8]| part.iter().map(|b| format!("{b:02x}")).collect::<String>();
            let xid = format!("X'{}',X'{}',{}", hex(end.gtrid), hex(end.bqual), end.format_id);
            let text = if end.one_phase {
                format!("XA COMMIT {xid} ONE PHASE")
            } else {
                format!("XA PREPARE {xid}")
            };
            text.into_bytes()
        }
        _ => Vec::new(),
    }
}

fn query_info(header: &EventHeader, query: &QueryEvent<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    // A transaction's BEGIN carries its database for filters only.
    let says_use = !query.database.is_empty() && header.flags & flags::SUPPRESS_USE == 0;
    if says_use && *query.sql != *b"BEGIN" {
        out.extend_from_slice(b"use `");
        for &byte in &*query.database {
            out.extend_from_slice(if byte == b'`' { b"``" } else { std::slice::from_ref(&byte) });
        }
        out.extend_from_slice(b"`; ");
    }
    out.extend_from_slice(&query.sql);
    if let Some(xid) = query.status.ddl_xid {
        out.extend_from_slice(format!(" /* xid={xid} */").as_bytes());
    }
    out
}

fn name_of(table: &TableMapEvent) -> String {
    format!("{}.{}", String::from_utf8_lossy(&table.database), String::from_utf8_lossy(&table.table))
}

fn flag_names(flags: u16) -> String {
    const NAMES: [(u16, &str); 4] = [
        (rows_flags::STMT_END, " STMT_END_F"),
        (rows_flags::NO_FOREIGN_KEY_CHECKS, " NO_FOREIGN_KEY_CHECKS_F"),
        (rows_flags::RELAXED_UNIQUE_CHECKS, " RELAXED_UNIQUE_CHECKS_F"),
        (rows_flags::COMPLETE_ROWS, " COMPLETE_ROWS_F"),
    ];
    let set: String = NAMES.iter().filter(|(bit, _)| flags & bit != 0).map(|(_, name)| *name).collect();
    if set.is_empty() { set } else { format!(" flags:{set}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use binlog::event::{EventType, QueryEvent, RotateEvent, StatusVars, XidEvent};

    fn check(event: &Event<'_>, expected: &str) {
        let header = EventHeader {
            timestamp: 0,
            event_type: EventType::QUERY,
            server_id: 1,
            event_length: 0,
            end_log_pos: 0,
            flags: 0,
        };
        assert_eq!(String::from_utf8(info(&header, event)).unwrap(), expected);
    }

    fn query<'a>(database: &'a str, sql: &'a str) -> Event<'a> {
        Event::Query(QueryEvent {
            thread_id: 1,
            exec_time: 0,
            error_code: 0,
            status: StatusVars::default(),
            database: database.as_bytes().into(),
            sql: sql.as_bytes().into(),
            suppress_use: false,
        })
    }

    #[test]
    fn events_in_mysqls_words() {
        check(&query("", "CREATE DATABASE d"), "CREATE DATABASE d");
        check(&query("d`x", "DROP TABLE t"), "use `d``x`; DROP TABLE t");
        check(&query("d", "BEGIN"), "BEGIN");
        check(&Event::Xid(XidEvent(7)), "COMMIT /* xid=7 */");
        check(
            &Event::Rotate(RotateEvent { position: 4, file_name: b"binlog.000002" }),
            "binlog.000002;pos=4",
        );
        check(&Event::Stop, "");
    }
}
