//! SHOW of the binary log: its files, its end, its events.

use std::time::Duration;

use binlog::LogPosition;
use binlog::event::{Event, RowsEvent, decode, rows_flags};

use super::{Listing, text};
use crate::ast::LogEvents;
use crate::error::{self, Result};
use crate::executor::admin::file_named;
use crate::executor::output::OutputColumn;
use crate::executor::select::resolve_limit;
use crate::session::Context;
use crate::value::Datum;

pub(super) fn files(cx: &Context) -> Result<Listing> {
    cx.need_administrator("SUPER, REPLICATION CLIENT")?;
    let mut listing = Listing::of_texts(&["Log_name", "File_size", "Encrypted"]);
    listing.columns[1] = OutputColumn::number("File_size");
    for file in cx.database.log().files() {
        listing.push(vec![text(file.name), Datum::UInt(file.size), text("No")]);
    }
    Ok(listing)
}

pub(super) fn status(cx: &Context) -> Result<Listing> {
    cx.need_administrator("SUPER, REPLICATION CLIENT")?;
    let mut listing =
        Listing::of_texts(&["File", "Position", "Binlog_Do_DB", "Binlog_Ignore_DB", "Executed_Gtid_Set"]);
    listing.columns[1] = OutputColumn::number("Position");
    let log = cx.database.log();
    let end = log.end();
    listing.push(vec![
        text(log.file_name(end.file())),
        Datum::UInt(end.offset()),
        text(""),
        text(""),
        text(log.gtid_executed().to_string()),
    ]);
    Ok(listing)
}

/// Where a file's first event stands.
const FIRST_EVENT: u64 = 4;

pub(super) fn events(cx: &mut Context, wanted: &LogEvents) -> Result<Listing> {
    cx.need_administrator("REPLICATION SLAVE")?;
    let (count, offset) = resolve_limit(cx, wanted.limit.as_ref())?;
    let mut listing =
        Listing::of_texts(&["Log_name", "Pos", "Event_type", "Server_id", "End_log_pos", "Info"]);
    for number in [1, 3, 4] {
        let name = listing.columns[number].meta.name.clone();
        listing.columns[number] = OutputColumn::number(&name);
    }
    let log = cx.database.log().clone();
    let failed =
        |e: &dyn std::fmt::Display| error::ERROR_WHEN_EXECUTING_COMMAND.with(&[&"SHOW BINLOG EVENTS", e]);
    let file = match &wanted.file {
        Some(name) => {
            let name = name.to_str_lossy();
            file_named(cx, &name).map_err(|_| failed(&"Could not find target log"))?
        }
        None => log.files().first().map(|f| f.number).ok_or_else(|| failed(&"no log file"))?,
    };
    let start = wanted.from.unwrap_or(FIRST_EVENT).max(FIRST_EVENT);
    // What was committed is to be seen, whatever the flush policy.
    log.ensure_durable(log.ordered())?;
    let mut reader = log.reader(LogPosition::new(file, start)).map_err(|e| failed(&e))?;
    let mut skipped = 0;
    while (listing.rows.len() as u64) < count {
        cx.check_interrupt()?;
        let Some(event) = reader.next(Duration::ZERO).map_err(|e| failed(&e))? else { break };
        if event.file != file {
            break;
        }
        if skipped < offset {
            skipped += 1;
            continue;
        }
        let info = decode(event.bytes, event.fde).map_or_else(|e| e.to_string(), |e| info(&e));
        listing.push(vec![
            text(log.file_name(file)),
            Datum::UInt(event.start),
            text(event.header.event_type.name()),
            Datum::UInt(event.header.server_id.into()),
            Datum::UInt(event.end().offset()),
            text(info),
        ]);
    }
    Ok(listing)
}

/// What an event says, in MySQL's words.
fn info(event: &Event<'_>) -> String {
    let lossy = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match event {
        Event::FormatDescription(f) => format!("Server ver: {}, Binlog ver: 4", f.server_version),
        Event::PreviousGtids(set) => set.0.to_string(),
        Event::Gtid(gtid) => match &gtid.gtid {
            Some(id) => format!("SET @@SESSION.GTID_NEXT= '{id}'"),
            None => "SET @@SESSION.GTID_NEXT= 'ANONYMOUS'".to_owned(),
        },
        Event::Query(query) => {
            let sql = lossy(&query.sql);
            let bare = query.database.is_empty() || matches!(sql.as_str(), "BEGIN" | "COMMIT" | "ROLLBACK");
            if bare { sql } else { format!("use `{}`; {sql}", lossy(&query.database)) }
        }
        Event::TableMap(map) => {
            format!("table_id: {} ({}.{})", map.table_id, lossy(&map.database), lossy(&map.table))
        }
        Event::Rows(rows) => rows_info(rows),
        Event::Xid(xid) => format!("COMMIT /* xid={} */", xid.0),
        Event::Rotate(rotate) => format!("{};pos={}", lossy(rotate.file_name), rotate.position),
        Event::RowsQuery(query) => format!("# {}", lossy(query.sql)),
        _ => String::new(),
    }
}

fn rows_info(rows: &RowsEvent<'_>) -> String {
    let end = if rows.flags & rows_flags::STMT_END != 0 { " flags: STMT_END_F" } else { "" };
    format!("table_id: {}{end}", rows.table_id)
}
