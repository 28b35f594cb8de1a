//! `mariadb-binlog` reads files that this crate writes: checksums hold, and the rows it prints are
//! those written.
#![allow(clippy::unwrap_used)]

use std::borrow::Cow;
use std::io::Write as _;
use std::process::Command;

use binlog::event::{
    ChecksumAlgorithm, Decoder, EncodeEvent, EncodedTableMap, EventHeader, EventOrigin, FormatDescription,
    MAGIC, OptionalMetadata, PreviousGtids, QueryEvent, RotateEvent, StatusVars, StopEvent, TableDetails,
    TableMapEvent, UpdatedDatabases, append_event, decode_format_description, flags,
};
use binlog::group::{GroupBuilder, GroupContext, GtidStamp, OriginalCommit};
use binlog::gtid::{Gtid, GtidSet, Uuid};
use binlog::row::BINARY_COLLATION;
use binlog::row::{ColumnType, Date, DateTime, Decimal, RowImageBuilder, Time, Timestamp, Value, code};
use binlog::text::TextPrinter;

const UUID: Uuid = Uuid([0x3e; 16]);
const NOW: u32 = 1_795_225_863;

/// A log file in memory.
struct LogFile {
    bytes: Vec<u8>,
    gno: u64,
}

impl LogFile {
    fn new(previous: &str) -> Self {
        let mut file = Self { bytes: MAGIC.to_vec(), gno: 0 };
        file.event(&FormatDescription::new("8.4.8-duramen", NOW));
        file.event(&PreviousGtids(previous.parse::<GtidSet>().unwrap()));
        file
    }

    fn event(&mut self, event: &impl EncodeEvent) {
        let origin = EventOrigin { timestamp: NOW, server_id: 7, flags: 0 };
        let start = self.bytes.len() as u64;
        append_event(&mut self.bytes, event, origin, start, ChecksumAlgorithm::Crc32);
    }

    fn group(
        &mut self,
        original: Option<OriginalCommit>,
        build: impl FnOnce(GroupBuilder) -> binlog::group::EventGroup,
    ) {
        let context = GroupContext { original, ..GroupContext::new(7, NOW, 80408) };
        self.gno += 1;
        let stamp = GtidStamp {
            gtid: Some(Gtid::new(UUID, self.gno)),
            last_committed: self.gno - 1,
            sequence_number: self.gno,
            commit_timestamp: u64::from(NOW) * 1_000_000 + 17,
        };
        build(GroupBuilder::new(context)).stamp(&stamp, self.bytes.len() as u64, &mut self.bytes);
    }

    /// What `mariadb-binlog` prints of the file.
    fn printed_by_tool(&self) -> String {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&self.bytes).unwrap();
        let output = Command::new("mariadb-binlog")
            .args(["--no-defaults", "--verify-binlog-checksum", "--base64-output=decode-rows", "-vv"])
            .arg(file.path())
            .env("TZ", "UTC")
            .output()
            .expect("mariadb-binlog is needed: Debian's package mariadb-client");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && errors.is_empty(), "{errors}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn printed_by_us(&self) -> String {
        let mut at = MAGIC.len();
        let length = |at: usize| EventHeader::decode(&self.bytes[at..]).unwrap().event_length as usize;
        let format = decode_format_description(&self.bytes[at..at + length(at)]).unwrap();
        let mut printer = TextPrinter::new(Decoder::new(format), 0);
        let mut out = Vec::new();
        while at < self.bytes.len() {
            let next = at + length(at);
            printer.print(at as u64, &self.bytes[at..next], &mut out).unwrap();
            at = next;
        }
        String::from_utf8_lossy(&out).into_owned()
    }
}

/// Compares the offsets of all events, then all lines of rows. (The tool prints a statement's rows
/// after the headers of all its row events, and escapes no quotes.)
fn assert_same(tool: &str, ours: &str) {
    for start in ["# at ", "###"] {
        let lines = |text: &str| -> Vec<String> {
            let lines = text.lines().filter(|l| l.starts_with(start));
            lines.map(|l| l.replace("\\'", "'").replace("\\\\", "\\")).collect()
        };
        let (tool, ours) = (lines(tool), lines(ours));
        for (i, (tool, ours)) in tool.iter().zip(&ours).enumerate() {
            assert_eq!(tool, ours, "line {i}");
        }
        assert_eq!(tool.len(), ours.len());
    }
}

fn query<'a>(database: &'a [u8], sql: &'a [u8]) -> QueryEvent<'a> {
    let status = StatusVars {
        flags2: Some(0),
        sql_mode: Some(0x45a0_0020),
        catalog: Some(Cow::Borrowed(b"std")),
        charset: Some([45, 45, 45]), // MariaDB does not know 255
        time_zone: Some(Cow::Borrowed(b"SYSTEM")),
        updated_databases: Some(UpdatedDatabases::Names(vec![Cow::Borrowed(b"shop")])),
        ddl_xid: Some(5),
        default_collation_for_utf8mb4: Some(255),
        sql_require_primary_key: Some(0),
        default_table_encryption: Some(0),
        ..StatusVars::default()
    };
    QueryEvent { status, ..QueryEvent::new(3, database, sql) }
}

fn columns() -> Vec<ColumnType> {
    vec![
        ColumnType::new(code::LONGLONG, 0).unsigned(),
        ColumnType::new(code::TINY, 0),
        ColumnType::new(code::SHORT, 0),
        ColumnType::new(code::INT24, 0),
        ColumnType::new(code::LONG, 0),
        ColumnType::new(code::FLOAT, 4),
        ColumnType::new(code::DOUBLE, 8),
        ColumnType::new(code::NEWDECIMAL, 20 << 8 | 5),
        ColumnType::new(code::YEAR, 0).unsigned(),
        ColumnType::new(code::DATE, 0),
        ColumnType::new(code::TIME2, 3),
        ColumnType::new(code::DATETIME2, 6),
        ColumnType::new(code::TIMESTAMP2, 1),
        ColumnType::new(code::BIT, 17),
        ColumnType::new(code::ENUM, 1).with_charset(255),
        ColumnType::new(code::SET, 1).with_charset(255),
        ColumnType::new(code::STRING, 400).with_charset(255),
        ColumnType::new(code::VARCHAR, 1000).with_charset(255),
        ColumnType::new(code::BLOB, 2).with_charset(BINARY_COLLATION),
        ColumnType::new(code::GEOMETRY, 4),
    ]
}

fn details(n: usize) -> TableDetails {
    let elements = |names: &[&str]| vec![names.iter().map(|n| n.as_bytes().to_vec()).collect()];
    TableDetails {
        names: (0..n).map(|i| format!("column_{i}").into_bytes()).collect(),
        set_values: elements(&["x", "y", "z"]),
        enum_values: elements(&["a", "b"]),
        primary_key: vec![(0, 0)],
        visible: vec![true; n],
    }
}

fn row(columns: &[ColumnType], id: u64, sign: i64) -> Vec<u8> {
    let mut decimal = Vec::new();
    let text = if sign < 0 { "-123456789012345.00001" } else { "0.5" };
    Decimal::encode_text(text, 20, 5, &mut decimal).unwrap();
    let negative = sign < 0;
    let date = Date { year: 2026, month: 11, day: 21 };
    let values = [
        Value::UInt(id),
        Value::Int(sign * 100),
        Value::Int(sign * 30_000),
        Value::Int(sign * 8_000_000),
        Value::Int(sign * 2_000_000_000),
        Value::Float(1.5 * sign as f32),
        Value::Double(-2.25e-7 * sign as f64),
        Value::Decimal(Decimal { bytes: &decimal, precision: 20, scale: 5 }),
        Value::Year(2026),
        Value::Date(date),
        Value::Time(Time { negative, hours: 838, minutes: 1, seconds: 2, micros: 345_000, digits: 3 }),
        Value::DateTime(DateTime { date, hour: 23, minute: 59, second: 58, micros: 999_999, digits: 6 }),
        Value::Timestamp(Timestamp { seconds: NOW, micros: 500_000, digits: 1 }),
        Value::Bit(0b1_0101_0101_0101_0101),
        Value::Enum(2),
        Value::Set(5),
        Value::Bytes("'日本' \\ ".as_bytes()),
        if negative { Value::Null } else { Value::Bytes(&[b'v'; 700]) },
        Value::Bytes(&[0, 255, 16]),
        Value::Geometry(&[0, 0, 0, 0, 1, 1, 0, 0, 0]),
    ];
    let mut out = Vec::new();
    let mut builder = RowImageBuilder::new(columns, &mut out);
    values.iter().for_each(|v| builder.push(v).unwrap());
    builder.finish().unwrap();
    out
}

fn table(metadata: OptionalMetadata) -> TableMapEvent {
    let columns = columns();
    TableMapEvent {
        table_id: 0x1234_5678_9abc,
        flags: TableMapEvent::FLAG_BIT_LENGTH_EXACT,
        database: b"shop".to_vec(),
        table: b"every`type".to_vec(),
        nullable: vec![0xfe, 0xff, 0x0f],
        metadata,
        columns,
    }
}

#[test]
fn rows_of_every_type_with_minimal_and_full_metadata() {
    let columns = columns();
    let minimal = OptionalMetadata::minimal(&columns);
    let full = OptionalMetadata::full(&columns, details(columns.len()));
    let mut file = LogFile::new("3e3e3e3e-3e3e-3e3e-3e3e-3e3e3e3e3e3e:1-3:7");
    for (metadata, original) in [
        (minimal, None),
        (full, Some(OriginalCommit { timestamp: u64::from(NOW) * 1_000_000, server_version: 90704 })),
    ] {
        file.group(original, |mut group| {
            let map = table(metadata);
            group.begin(&query(b"shop", b"BEGIN"));
            group.rows_query(b"INSERT INTO `every``type` VALUES ..\nON TWO LINES");
            group.table_map(&EncodedTableMap::from(&map));
            // More than one row event's worth.
            (0..40).for_each(|id| group.write_row(map.table_id, columns.len(), &row(&columns, id, 1)));
            group.end_statement();
            group.table_map(&EncodedTableMap::from(&map));
            let (before, after) = (row(&columns, 1, 1), row(&columns, 1, -1));
            group.update_row(map.table_id, columns.len(), &before, &after);
            group.delete_row(map.table_id, columns.len(), &after);
            group.end_statement();
            group.finish_xid(99)
        });
    }
    file.event(&RotateEvent { position: 4, file_name: b"binlog.000002" });
    let (tool, ours) = (file.printed_by_tool(), file.printed_by_us());
    assert_same(&tool, &ours);
    assert_eq!(tool.matches("### INSERT INTO").count(), 80);
    assert!(tool.contains("Rotate to binlog.000002  pos: 4"));
}

#[test]
fn ddl_and_stop() {
    let mut file = LogFile::new("");
    file.group(None, |group| group.finish_ddl(&query(b"shop", b"CREATE TABLE t (id INT PRIMARY KEY)")));
    file.group(None, |mut group| {
        group.event(&query(b"", b"CREATE DATABASE other"));
        group.finish(true)
    });
    file.event(&StopEvent);
    let tool = file.printed_by_tool();
    assert!(
        tool.contains("\nCREATE TABLE t (id INT PRIMARY KEY)\n") && tool.contains("use `shop`"),
        "{tool}"
    );
    assert!(tool.contains("SET @@session.sql_mode=1168113696"), "{tool}");
    assert!(tool.contains("\tStop"), "{tool}");
    assert_same(&tool, &file.printed_by_us());
}

#[test]
fn a_file_in_use_has_the_checksum_of_a_closed_one() {
    let mut file = LogFile::new("");
    let at = MAGIC.len() + EventHeader::FLAGS_OFFSET;
    file.bytes[at] |= flags::BINLOG_IN_USE as u8;
    file.printed_by_us();
    file.event(&StopEvent);
    assert!(file.printed_by_tool().contains("\tStop"));
}
