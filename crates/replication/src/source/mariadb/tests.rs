//! The stream as a replica of MariaDB counts and reads it.
#![allow(clippy::unwrap_used)]

use super::*;
use binlog::event::split;
use binlog::group::{GroupBuilder, GroupContext};
use binlog::gtid::{Gtid, GtidSpecification, Source, Uuid};
use binlog::log::LogOptions;
use env::SimEnv;
use std::path::Path;
use std::sync::Arc;

fn log() -> Arc<Log> {
    let mut options = LogOptions::new(1, Uuid([7; 16]), "8.4.8");
    options.background = false;
    Log::open(Arc::new(SimEnv::new(1)), Path::new("/data"), options).unwrap().0
}

fn builder(server_id: u32) -> GroupBuilder {
    GroupBuilder::new(GroupContext::new(server_id, 1_767_225_600, 80408))
}

/// A transaction of one row that was committed on this server, or on another one first.
fn rows(log: &Log, original: Option<(u32, Gtid)>) -> LogPosition {
    let mut builder = builder(original.map_or(1, |(server_id, _)| server_id));
    builder.begin(&QueryEvent::new(1, b"db", b"BEGIN"));
    builder.write_row(100, 2, &[0, 1]);
    builder.end_statement();
    let group = builder.finish_xid(1);
    match original {
        Some((_, gtid)) => {
            let gtid = GtidSpecification::Assigned(gtid);
            log.enqueue_with_gtid(group, gtid, Box::new(())).wait().unwrap().position
        }
        None => log.commit(group, Box::new(())).unwrap(),
    }
}

fn definition(log: &Log, sql: &str) -> LogPosition {
    let group = builder(1).finish_ddl(&QueryEvent::new(1, b"db", sql.as_bytes()));
    log.commit(group, Box::new(())).unwrap()
}

fn branch(log: &Log, one_phase: bool) -> LogPosition {
    let mut builder = builder(1);
    builder.begin(&QueryEvent::new(1, b"db", b"XA START X'6162',X'',1"));
    builder.write_row(100, 2, &[0, 1]);
    builder.end_statement();
    builder.event(&QueryEvent::new(1, b"db", b"XA END X'6162',X'',1"));
    builder.event(&XaPrepareEvent { one_phase, format_id: 1, gtrid: b"ab", bqual: b"" });
    log.commit(builder.finish(false), Box::new(())).unwrap()
}

/// Counts its position as MariaDB's replicas do, and writes down what it is sent.
struct Replica {
    lines: Vec<String>,
    format: FormatDescription,
    file: String,
    position: u64,
}

impl Stream for Replica {
    fn event(&mut self, bytes: &[u8]) -> io::Result<()> {
        let (header, _) = split(bytes, &self.format).unwrap();
        let end = u64::from(header.end_log_pos);
        if header.event_type == EventType::FORMAT_DESCRIPTION {
            self.format = decode_format_description(bytes).unwrap();
            assert_eq!((end, self.format.post_header_lengths.len()), (0, 171));
            return Ok(());
        }
        let event = decode(bytes, &self.format).unwrap();
        if let Event::Rotate(rotate) = &event {
            (self.file, self.position) =
                (String::from_utf8_lossy(rotate.file_name).into_owned(), rotate.position);
            return Ok(());
        }
        let counted = self.position + bytes.len() as u64;
        self.position =
            if let Event::MariadbGtidList(_) = event { end } else { counted }.max(self.position).max(end);
        self.lines.push(match event {
            Event::MariadbGtidList(list) => format!("list {:?} {}", list.gtids.first(), list.flags),
            Event::MariadbGtid(e) => format!("{} {:#x} {:?}", e.gtid, e.flags, e.commit_id),
            Event::Query(query) => String::from_utf8_lossy(&query.sql).into_owned(),
            _ => header.event_type.name().into(),
        });
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn is_interrupted(&mut self) -> bool {
        false
    }

    fn is_gone(&mut self) -> bool {
        false
    }
}

fn read(log: &Log, file: &str, offset: u64, wishes: Wishes) -> Result<Replica, String> {
    let format = FormatDescription::new("8.4.8", 0);
    let mut replica = Replica { lines: Vec::new(), format, file: String::new(), position: 0 };
    let request = Request {
        file: file.as_bytes(),
        offset,
        has: None,
        wait: false,
        checksum: ChecksumWish::Crc32,
        heartbeat: None,
        heartbeat_v2: false,
        server_id: 1,
    };
    dump(log, &request, wishes, &mut replica).map_err(|e| e.to_string())?;
    Ok(replica)
}

fn wishes(state: Option<&str>) -> Wishes {
    Wishes { state: state.map(str::to_owned), annotations: false, until: None }
}

/// The lines of the stream for a replica that has everything up to this GTID.
fn stream_after(log: &Log, state: &str) -> Result<Vec<String>, String> {
    read(log, "", 4, wishes(Some(state))).map(|replica| replica.lines)
}

#[test]
fn each_groups_event_says_what_it_is() {
    let log = log();
    rows(&log, None);
    definition(&log, "CREATE TABLE t (a TEXT COLLATE utf8mb4_0900_bin)");
    definition(&log, "CREATE USER u");
    branch(&log, false);
    definition(&log, "XA COMMIT X'6162',X'',1");
    branch(&log, true);
    let lines = read(&log, "binlog.000001", 4, wishes(None)).unwrap().lines;
    let expected = [
        "list None 0",
        "0-1-1 0xe Some(1)",
        "Write_rows",
        "Xid",
        "0-1-2 0x29 None",
        "CREATE TABLE t (a TEXT COLLATE utf8mb4_nopad_bin)",
        "0-1-3 0xc None",
        "Xid",
        "0-1-4 0x4e Some(4)",
        "Write_rows",
        "XA END X'6162',X'',1",
        "XA_prepare",
        "0-1-5 0x8f Some(5)",
        "XA COMMIT X'6162',X'',1",
        "0-1-6 0xe Some(6)",
        "Write_rows",
        "Xid",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn a_replica_counts_to_where_the_log_is_also_over_what_grew() {
    let log = log();
    let columns: Vec<String> = (0..40).map(|n| format!("c{n} TEXT CHARACTER SET utf8mb4")).collect();
    let long = format!("CREATE TABLE t ({})", columns.join(", "));
    let steps: [&dyn Fn() -> LogPosition; 5] = [
        &|| rows(&log, None),
        &|| definition(&log, &long),
        &|| branch(&log, true),
        &|| definition(&log, "DROP USER u"),
        &|| definition(&log, &long),
    ];
    for step in steps {
        let end = step();
        let replica = read(&log, "binlog.000001", 4, wishes(None)).unwrap();
        assert_eq!((replica.file.as_str(), replica.position), ("binlog.000001", end.offset()));
    }
}

#[test]
fn numbers_follow_the_logs_order_whatever_the_gtids_are() {
    let log = log();
    let foreign = |tag: &str, gno| {
        let source = Source { uuid: Uuid([9; 16]), tag: tag.parse().unwrap() };
        Some((9, Gtid::new(source, gno)))
    };
    rows(&log, None);
    rows(&log, foreign("tag", 700));
    log.rotate().unwrap();
    rows(&log, foreign("", 3));
    rows(&log, None);
    let first =
        |state: &str| stream_after(&log, state).unwrap().into_iter().find(|line| line.starts_with("0-"));
    let starts = |state: &str, gtid: &str| assert!(first(state).unwrap().starts_with(gtid), "{state}");
    starts("", "0-1-1 ");
    starts("0-1-1", "0-9-2 ");
    starts("5-5-5,0-9-2", "0-9-3 ");
    starts("0-9-3", "0-1-4 ");
    assert_eq!(first("0-1-4"), None);
    let refused = |state: &str| stream_after(&log, state).unwrap_err();
    assert!(refused("0-1-5").ends_with("start from GTID 0-1-5, which is not in the master's binlog"));
    assert!(refused("0-1-3").contains("the slave has diverged"));
    assert!(refused("0-1").starts_with("Could not parse GTID list"));
    log.set_purge_floor(log.durable());
    log.purge_to(log.durable().file()).unwrap();
    starts("0-9-2", "0-9-3 ");
    assert!(
        refused("0-1-1").starts_with("Could not find GTID state requested by slave in any binlog files.")
    );
    let position = gtid_at(&log, b"binlog.000002", log.durable().offset()).unwrap();
    assert_eq!(position.unwrap().to_string(), "0-1-4");
}

#[test]
fn the_stream_ends_behind_the_last_wanted_transaction() {
    let log = log();
    for _ in 0..4 {
        rows(&log, None);
    }
    let until = Wishes { until: parse("0-1-3"), ..wishes(Some("0-1-1")) };
    let lines = read(&log, "", 4, until).unwrap().lines;
    let gtids: Vec<&String> = lines.iter().filter(|line| line.starts_with("0-")).collect();
    assert_eq!(gtids.len(), 2);
    assert!(lines.last().unwrap().ends_with(" 1"), "{lines:?}");
}
