//! A dump as its reader sees it.
#![allow(clippy::unwrap_used)]

use super::*;
use binlog::event::{
    ChecksumAlgorithm, Event, FormatDescription, QueryEvent, decode, decode_format_description, flags, split,
};
use binlog::group::{GroupBuilder, GroupContext};
use binlog::gtid::Uuid;
use binlog::log::LogOptions;
use env::SimEnv;
use std::path::Path;
use std::sync::Arc;

fn log() -> Arc<Log> {
    let mut options = LogOptions::new(1, Uuid([7; 16]), "8.4.8");
    options.background = false;
    Log::open(Arc::new(SimEnv::new(1)), Path::new("/data"), options).unwrap().0
}

fn commit(log: &Log, xid: u64) -> LogPosition {
    let mut builder = GroupBuilder::new(GroupContext::new(1, 1_767_225_600, 80408));
    builder.begin(&QueryEvent::new(1, b"db", b"BEGIN"));
    builder.write_row(100, 2, &[0, 1]);
    builder.end_statement();
    log.commit(builder.finish_xid(xid), Box::new(())).unwrap()
}

/// Reads the stream as a replica does, from its first Rotate on: a line for each event.
struct Replica {
    lines: Vec<String>,
    fde: FormatDescription,
    polls: u32,
    unflushed: bool,
    gone: bool,
}

impl Replica {
    fn new(checksum: ChecksumAlgorithm) -> Self {
        let mut fde = FormatDescription::new("8.4.8", 0);
        fde.checksum = checksum;
        Self { lines: Vec::new(), fde, polls: 0, unflushed: false, gone: false }
    }
}

impl Stream for Replica {
    fn event(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.unflushed = true;
        let (header, _) = split(bytes, &self.fde).unwrap();
        assert_eq!(header.flags & flags::BINLOG_IN_USE, 0, "no replica should wait for a file to be closed");
        let moved = if header.end_log_pos == 0 { " (own)" } else { "" };
        if header.event_type == EventType::FORMAT_DESCRIPTION {
            self.fde = decode_format_description(bytes).unwrap();
        }
        self.lines.push(match decode(bytes, &self.fde).unwrap() {
            Event::Rotate(r) => {
                format!("rotate {} {}{moved}", String::from_utf8_lossy(r.file_name), r.position)
            }
            Event::Xid(xid) => format!("xid {}", xid.0),
            Event::FormatDescription(f) => format!("format {}{moved}", f.create_timestamp),
            Event::Heartbeat(h) => {
                format!("heartbeat {} {}", String::from_utf8_lossy(h.file_name), h.position)
            }
            _ => return Ok(()),
        });
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.unflushed = false;
        Ok(())
    }

    fn is_interrupted(&mut self) -> bool {
        self.polls += 1;
        self.polls > 40
    }

    fn is_gone(&mut self) -> bool {
        self.gone
    }
}

/// Auto-position: what a replica asks that has these transactions.
fn auto_position(has: &str) -> Request<'static> {
    let uuid = Uuid([7; 16]).to_string();
    Request { has: Some(has.replace('U', &uuid).parse().unwrap()), ..request("", 4) }
}

fn request(file: &str, offset: u64) -> Request<'_> {
    Request {
        file: file.as_bytes(),
        offset,
        has: None,
        wait: false,
        checksum: ChecksumWish::None,
        heartbeat: None,
        heartbeat_v2: false,
        server_id: 1,
    }
}

fn lines(log: &Log, request: &Request<'_>) -> Result<Vec<String>, String> {
    let first = match request.checksum {
        ChecksumWish::Crc32 => ChecksumAlgorithm::Crc32,
        _ => ChecksumAlgorithm::Off,
    };
    let mut replica = Replica::new(first);
    dump(log, request, &mut replica).map_err(|e| e.to_string())?;
    assert!(!replica.unflushed, "(D2)");
    Ok(replica.lines)
}

#[test]
fn all_files_from_the_start_each_with_its_preamble() {
    let log = log();
    commit(&log, 11);
    log.rotate().unwrap();
    commit(&log, 12);
    for checksum in [ChecksumWish::None, ChecksumWish::Crc32] {
        let found = lines(&log, &Request { checksum, ..request("", 4) }).unwrap();
        assert_eq!(found[0], "rotate binlog.000001 4 (own)");
        assert!(found[1].starts_with("format ") && !found[1].ends_with("(own)"), "{}", found[1]);
        assert_eq!(
            found[2..],
            ["xid 11", "rotate binlog.000002 4", "rotate binlog.000002 4 (own)", "format 0", "xid 12"]
        );
    }
}

#[test]
fn from_the_middle_the_format_description_moves_nothing() {
    let log = log();
    let middle = commit(&log, 11);
    commit(&log, 12);
    let found = lines(&log, &request("binlog.000001", middle.offset())).unwrap();
    let rotate = format!("rotate binlog.000001 {} (own)", middle.offset());
    assert_eq!(found, [&*rotate, "format 0 (own)", "xid 12"]);
}

#[test]
fn nothing_that_could_still_be_lost_is_sent() {
    let log = log();
    commit(&log, 11);
    log.set_sync_binlog(0);
    log.set_trx_commit(2);
    let durable = log.durable();
    commit(&log, 12);
    assert_eq!(log.durable(), durable);
    let found = lines(&log, &request("", 4)).unwrap();
    assert_eq!(found.last().unwrap(), "xid 11");
    let beyond = lines(&log, &request("", log.end().offset())).unwrap_err();
    assert_eq!(beyond, "Client requested source to start replication from position > file size");
}

#[test]
fn wrong_places_are_refused_in_words_that_replicas_know() {
    let log = log();
    let end = commit(&log, 11).offset();
    let refused = |file, offset| lines(&log, &request(file, offset)).unwrap_err();
    assert_eq!(refused("binlog.000009", 4), NO_SUCH_FILE);
    assert_eq!(refused("../etc/passwd", 4), NO_SUCH_FILE);
    assert_eq!(refused("", 3), "Client requested source to start replication from position < 4");
    assert!(refused("", end + 1).ends_with("> file size"));
    for offset in 5..end {
        if let Err(text) = lines(&log, &request("", offset)) {
            assert!(
                text.starts_with("bogus data in log event; the first event 'binlog.000001' at "),
                "{offset}"
            );
        }
    }
    let there = "'./binlog.000001' at 5";
    let text = format!(
        "bogus data in log event; the first event 'binlog.000001' at 5, the last event read from {there}, the last byte \
         read from {there}."
    );
    assert_eq!(refused("", 5), text);
    let unknown = Request { checksum: ChecksumWish::Unknown, ..request("", 4) };
    assert!(lines(&log, &unknown).unwrap_err().contains("checksum"));
}

#[test]
fn a_reader_that_waits_gets_heartbeats_and_new_events_and_can_be_interrupted() {
    let log = log();
    let end = commit(&log, 11).offset();
    let writer = log.clone();
    let thread = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(30));
        commit(&writer, 12);
    });
    let mut replica = Replica::new(ChecksumAlgorithm::Off);
    let heartbeat = Some(Duration::from_millis(5));
    let request = Request { wait: true, heartbeat, ..request("binlog.000001", end) };
    let error = dump(&log, &request, &mut replica).unwrap_err();
    thread.join().unwrap();
    assert!(matches!(error, DumpError::Interrupted));
    assert_eq!(replica.lines[2], format!("heartbeat binlog.000001 {end}"));
    assert!(replica.lines.contains(&"xid 12".to_owned()), "{:?}", replica.lines);
}

#[test]
fn a_reader_that_left_is_noticed_while_it_waits() {
    let log = log();
    commit(&log, 11);
    let mut replica = Replica { gone: true, ..Replica::new(ChecksumAlgorithm::Off) };
    let error = dump(&log, &Request { wait: true, ..request("", 4) }, &mut replica).unwrap_err();
    assert!(matches!(error, DumpError::Stream(_)));
    assert_eq!(replica.lines.last().unwrap(), "xid 11");
}

#[test]
fn a_replica_that_goes_by_gtids_is_sent_what_it_lacks() {
    let log = log();
    let first_end = commit(&log, 11).offset();
    let second_end = commit(&log, 12).offset();
    commit(&log, 13);
    log.rotate().unwrap();
    let last_end = commit(&log, 14).offset();
    let found = |has: &str| {
        let lines = lines(&log, &auto_position(has)).unwrap();
        lines.into_iter().filter(|l| !l.starts_with("format")).collect::<Vec<_>>()
    };
    let heartbeat = |file, end| format!("heartbeat binlog.00000{file} {end}");
    let (one, two) = ("rotate binlog.000001 4 (own)".to_owned(), "rotate binlog.000002 4 (own)".to_owned());
    let rotate = "rotate binlog.000002 4".to_owned();
    let xid = |n| format!("xid {n}");
    let whole = [one.clone(), xid(11), xid(12), xid(13), rotate.clone(), two.clone(), xid(14)];
    assert_eq!(found(""), whole);
    assert_eq!(found("00000000-0000-0000-0000-000000000001:1-9"), whole, "others' transactions say nothing");
    // The position moves over what is skipped: before the next event, and at the end.
    let from_third = [one.clone(), heartbeat(1, second_end), xid(13), rotate.clone(), two.clone(), xid(14)];
    assert_eq!(found("U:1-2"), from_third);
    let hole = [one, xid(11), heartbeat(1, second_end), xid(13), rotate, two.clone(), heartbeat(2, last_end)];
    assert_eq!(found("U:2:4"), hole);
    assert_eq!(found("U:1-3"), [two.clone(), xid(14)]);
    assert_eq!(found("U:1-4"), [two, heartbeat(2, last_end)]);
    // With a file's name, the position is this and the transactions are skipped all the same.
    let named = Request { file: b"binlog.000001", offset: first_end, ..auto_position("U:2-4") };
    let named = lines(&log, &named).unwrap();
    assert!(!named.iter().any(|line| line.starts_with("xid")), "{named:?}");
}

#[test]
fn a_file_that_is_gone_on_with_was_not_made_now() {
    let log = log();
    commit(&log, 11);
    let format = |has: &str| lines(&log, &auto_position(has)).unwrap()[1].clone();
    assert_ne!(format(""), "format 0");
    assert_eq!(format("U:1"), "format 0");
}

#[test]
fn heartbeats_of_the_second_version_have_the_place_too() {
    let log = log();
    let end = commit(&log, 11).offset();
    let request = Request { heartbeat_v2: true, ..auto_position("U:1") };
    let found = lines(&log, &request).unwrap();
    assert_eq!(found.last().unwrap(), &format!("heartbeat binlog.000001 {end}"));
}

#[test]
fn what_cannot_be_sent_any_more_is_refused() {
    let log = log();
    commit(&log, 11);
    log.rotate().unwrap();
    let kept = commit(&log, 12);
    log.set_purge_floor(kept);
    log.purge_to(kept.file()).unwrap();
    let refused = |has: &str| lines(&log, &auto_position(has)).unwrap_err();
    let uuid = Uuid([7; 16]);
    let sets =
        format!("The GTID set sent by the replica is '', and the missing transactions are '{uuid}:1'.");
    assert!(refused("").starts_with("Cannot replicate because the source purged required binary logs. "));
    assert!(refused("").ends_with(&sets), "{}", refused(""));
    assert!(lines(&log, &auto_position("U:1")).is_ok());
    assert!(refused("U:1-3").starts_with("Replica has more GTIDs than the source has"));
}

/// A replica in front of which the log begins anew once it has everything.
struct Outlived<'a> {
    replica: Replica,
    log: &'a Log,
}

impl Stream for Outlived<'_> {
    fn event(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.replica.event(bytes)?;
        if self.replica.lines.last().is_some_and(|line| line == "xid 11") {
            assert!(self.log.reset(1, self.log.ordered(), self.log.ordered()).unwrap());
            commit(self.log, 12);
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.replica.flush()
    }

    fn is_interrupted(&mut self) -> bool {
        self.replica.is_interrupted()
    }

    fn is_gone(&mut self) -> bool {
        self.replica.is_gone()
    }
}

/// The first transaction of the new log has the GTID of one that the replica has: it must not go on
/// by itself.
#[test]
fn a_replica_of_a_log_that_began_anew_is_told() {
    let log = log();
    let end = commit(&log, 11).offset();
    let mut stream = Outlived { replica: Replica::new(ChecksumAlgorithm::Off), log: &log };
    let refused = dump(&log, &Request { wait: true, ..request("", 4) }, &mut stream).unwrap_err();
    let place = format!("'./binlog.000001' at {end}");
    assert_eq!(
        refused.to_string(),
        format!(
            "could not find next log; the first event 'binlog.000001' at 4, the last event read from {place}, the last \
             byte read from {place}."
        )
    );
    assert_eq!(lines(&log, &auto_position("")).unwrap().last().unwrap(), "xid 12");
    assert!(lines(&log, &auto_position("U:1-2")).unwrap_err().starts_with("Replica has more GTIDs"));
}
