//! Events as JSON lines: one object for each event, for programs.
//!
//! The form is documented, field by field, in docs/formats/binlog-json.md. What an event says is
//! kept with its type: a number stays a number, a DECIMAL is a string of its digits, bytes that are
//! no text are base64, NULL is null, and a column that an image lacks is absent.

use std::fmt::Display;
use std::io::Write as _;

use crate::event::{
    CommitInfo, Decoder, Depth, Event, EventError, EventHeader, EventType, GtidEvent, MariadbGtidEvent,
    QueryEvent, RowsEvent, RowsKind, TableMapEvent, TransactionPayloadEvent, flags, mariadb, rows_flags,
};
use crate::row::json::base64;
use crate::row::temporal::Timestamp;
use crate::text::{DRAIN_SIZE, Drain, concerns};

mod value;

use value::{Names, write_image, write_text};

/// Prints the events of a file or stream, in their order.
#[derive(Debug)]
pub struct JsonPrinter {
    decoder: Decoder,
    /// Bytes that compressed content may have.
    limit: usize,
    database: Option<Vec<u8>>,
}

impl JsonPrinter {
    /// Starts with a decoder; compressed statements, rows and payloads are printed if what each
    /// holds has at most `limit` bytes.
    pub fn new(decoder: Decoder, limit: usize) -> Self {
        Self { decoder, limit, database: None }
    }

    /// The same for one database only: tables' events and statements of others are left out.
    pub fn with_database(self, database: Option<&str>) -> Self {
        Self { database: database.map(|name| name.as_bytes().to_vec()), ..self }
    }

    /// Appends the line of the event that starts at `offset` of the file `file`, and lines of what
    /// is compressed in it. `drain` may empty the text now and then.
    ///
    /// # Errors
    /// Those of decoding. Lines that were complete before are in `out`.
    pub fn print(
        &mut self,
        file: &str,
        offset: u64,
        bytes: &[u8],
        out: &mut Vec<u8>,
        drain: Drain<'_>,
    ) -> Result<(), EventError> {
        let (header, event) = self.decoder.decode(bytes)?;
        let (start, end) = (offset, offset + bytes.len() as u64);
        self.decoder.walk(&header, &event, self.limit, |decoder, header, event, depth| {
            self.print_event(decoder, EventLocation { file, start, end, depth }, header, event, out, drain)
        })
    }

    fn print_event(
        &self,
        decoder: &Decoder,
        location: EventLocation<'_>,
        header: &EventHeader,
        event: &Event<'_>,
        out: &mut Vec<u8>,
        drain: Drain<'_>,
    ) -> Result<(), EventError> {
        if self.database.as_ref().is_some_and(|name| !concerns(decoder, event, name)) {
            return Ok(());
        }
        let mut object = Object::open(out);
        print_head(&mut object, location, header);
        match event {
            Event::Rows(rows) => print_rows(decoder, self.limit, rows, &mut object, drain)?,
            Event::MariadbQueryCompressed(query) => print_query(&mut object, &query.uncompress(self.limit)?),
            event => print_body(&mut object, event),
        }
        object.close();
        out.push(b'\n');
        drain(out);
        Ok(())
    }
}

/// Where an event is.
#[derive(Clone, Copy)]
struct EventLocation<'a> {
    file: &'a str,
    start: u64,
    end: u64,
    /// In a compressed payload the location is the payload's.
    depth: Depth,
}

/// One object that is being written.
struct Object<'a> {
    out: &'a mut Vec<u8>,
    is_empty: bool,
}

impl<'a> Object<'a> {
    fn open(out: &'a mut Vec<u8>) -> Self {
        out.push(b'{');
        Self { out, is_empty: true }
    }

    /// A member's name; its value is to follow.
    fn name(&mut self, name: &str) -> &mut Vec<u8> {
        if !std::mem::take(&mut self.is_empty) {
            self.out.push(b',');
        }
        put(self.out, format_args!("\"{name}\":"));
        self.out
    }

    /// A number or truth value.
    fn plain(&mut self, name: &str, value: impl Display) {
        put(self.name(name), format_args!("{value}"));
    }

    fn maybe(&mut self, name: &str, value: Option<impl Display>) {
        if let Some(value) = value {
            self.plain(name, value);
        }
    }

    /// A string of plain characters.
    fn word(&mut self, name: &str, value: impl Display) {
        put(self.name(name), format_args!("\"{value}\""));
    }

    /// Text of a server: a name, a statement.
    fn text(&mut self, name: &str, value: &[u8]) {
        write_text(value, self.name(name));
    }

    fn base64(&mut self, name: &str, value: &[u8]) {
        let out = self.name(name);
        out.push(b'"');
        base64(value, out);
        out.push(b'"');
    }

    /// Strings of plain characters.
    fn words<T: Display>(&mut self, name: &str, values: impl IntoIterator<Item = T>) {
        let out = self.name(name);
        list(out, values, |out, value| put(out, format_args!("\"{value}\"")));
    }

    fn close(self) {
        self.out.push(b'}');
    }
}

fn list<T>(out: &mut Vec<u8>, values: impl IntoIterator<Item = T>, mut write: impl FnMut(&mut Vec<u8>, T)) {
    out.push(b'[');
    for (i, value) in values.into_iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        write(out, value);
    }
    out.push(b']');
}

fn put(out: &mut Vec<u8>, args: std::fmt::Arguments<'_>) {
    out.write_fmt(args).expect("writing to a Vec does not fail");
}

fn print_head(object: &mut Object<'_>, location: EventLocation<'_>, header: &EventHeader) {
    object.text("file", location.file.as_bytes());
    object.plain("position", location.start);
    object.plain("end", location.end);
    if location.depth == Depth::Payload {
        object.plain("payload", true);
    }
    object.word("type", header.event_type.name());
    object.plain("type_code", header.event_type.0);
    object.plain("timestamp", header.timestamp);
    object.plain("server_id", header.server_id);
    let names = [
        (flags::THREAD_SPECIFIC, "thread_specific"),
        (flags::SUPPRESS_USE, "suppress_use"),
        (flags::ARTIFICIAL, "artificial"),
        (flags::RELAY_LOG, "relay_log"),
        (flags::IGNORABLE, "ignorable"),
        (flags::MARIADB_SKIP_REPLICATION, "skip_replication"),
    ];
    let in_use =
        header.event_type == EventType::FORMAT_DESCRIPTION && header.flags & flags::BINLOG_IN_USE != 0;
    let set = names.iter().filter(|(bit, _)| header.flags & bit != 0).map(|(_, name)| *name);
    let set: Vec<_> = in_use.then_some("in_use").into_iter().chain(set).collect();
    if !set.is_empty() {
        object.words("flags", set);
    }
}

/// What events of all other kinds say.
fn print_body(object: &mut Object<'_>, event: &Event<'_>) {
    match event {
        Event::FormatDescription(f) => {
            object.text("server_version", f.server_version.as_bytes());
            object.plain("created", f.create_timestamp);
            object.plain("checksum", f.checksum_len() > 0);
        }
        Event::PreviousGtids(set) => object.word("gtids", set.0.to_string().replace('\n', "")),
        Event::Gtid(gtid) => print_gtid(object, gtid),
        Event::MariadbGtid(gtid) => print_mariadb_gtid(object, gtid),
        Event::MariadbGtidList(list) => object.words("gtids", &list.gtids),
        Event::Query(query) => print_query(object, query),
        Event::TableMap(table) => print_table(object, table),
        Event::Xid(xid) => object.plain("xid", xid.0),
        Event::Rotate(rotate) => {
            object.text("next_file", rotate.file_name);
            object.plain("next_position", rotate.position);
        }
        Event::RowsQuery(query) => object.text("sql", query.sql),
        Event::MariadbAnnotateRows(sql) => object.text("sql", sql),
        Event::Heartbeat(h) => {
            object.text("source_file", h.file_name);
            object.plain("source_position", h.position);
        }
        Event::XaPrepare(xa) => {
            object.plain("one_phase", xa.one_phase);
            print_xid(object, i64::from(xa.format_id), xa.gtrid, xa.bqual);
        }
        Event::Intvar(v) => {
            object.word("variable", if v.kind == 1 { "last_insert_id" } else { "insert_id" });
            object.plain("value", v.value);
        }
        Event::Rand(r) => {
            object.plain("seed1", r.seed1);
            object.plain("seed2", r.seed2);
        }
        Event::UserVar(v) => object.text("name", v.name),
        Event::LoadBlock(b) => {
            object.plain("file_id", b.file_id);
            object.base64("block", b.block);
        }
        Event::LoadDelete(d) => object.plain("file_id", d.file_id),
        Event::LoadQuery(load) => {
            object.plain("file_id", load.file_id);
            print_query(object, &load.query);
        }
        Event::TransactionPayload(p) => print_payload(object, p),
        Event::MariadbBinlogCheckpoint(file) => object.text("oldest_file", file),
        Event::MariadbStartEncryption(e) => {
            object.plain("scheme", e.scheme);
            object.plain("key_version", e.key_version);
        }
        Event::Ignorable(body) => object.plain("bytes", body.len()),
        Event::Unknown(body) => object.base64("body", body),
        // These two are printed by the caller.
        Event::Stop | Event::Rows(_) | Event::MariadbQueryCompressed(_) => {}
    }
}

fn print_payload(object: &mut Object<'_>, payload: &TransactionPayloadEvent<'_>) {
    object.word("compression", format!("{:?}", payload.compression).to_lowercase());
    object.plain("compressed_size", payload.payload.len());
    object.plain("uncompressed_size", payload.uncompressed_size);
}

fn print_xid(object: &mut Object<'_>, format_id: i64, gtrid: &[u8], bqual: &[u8]) {
    object.plain("xa_format_id", format_id);
    object.base64("xa_gtrid", gtrid);
    object.base64("xa_bqual", bqual);
}

fn print_gtid(object: &mut Object<'_>, event: &GtidEvent) {
    match event.gtid {
        Some(gtid) => object.word("gtid", gtid),
        None => object.plain("gtid", "null"),
    }
    object.plain("last_committed", event.last_committed);
    object.plain("sequence_number", event.sequence_number);
    object.plain("may_have_statements", event.may_have_statements);
    if let Some(commit) = &event.commit {
        print_commit(object, commit);
    }
}

fn print_commit(object: &mut Object<'_>, commit: &CommitInfo) {
    let immediate = commit.immediate_commit_timestamp;
    object.plain("original_commit_timestamp", commit.original_commit_timestamp.unwrap_or(immediate));
    object.plain("immediate_commit_timestamp", immediate);
    object.plain("transaction_length", commit.transaction_length);
    object
        .maybe("original_server_version", commit.original_server_version.or(commit.immediate_server_version));
    object.maybe("immediate_server_version", commit.immediate_server_version);
}

fn print_mariadb_gtid(object: &mut Object<'_>, event: &MariadbGtidEvent<'_>) {
    use mariadb::gtid_flags as bits;
    object.word("gtid", event.gtid);
    object.maybe("commit_id", event.commit_id);
    let names = [
        (bits::STANDALONE, "standalone"),
        (bits::TRANSACTIONAL, "transactional"),
        (bits::ALLOW_PARALLEL, "allow_parallel"),
        (bits::WAITED, "waited"),
        (bits::DDL, "ddl"),
        (bits::PREPARED_XA, "prepared_xa"),
        (bits::COMPLETED_XA, "completed_xa"),
    ];
    object.words("gtid_flags", names.iter().filter(|(bit, _)| event.flags & bit != 0).map(|(_, name)| name));
    if let Some((format_id, gtrid, bqual)) = event.xid {
        print_xid(object, format_id.into(), gtrid, bqual);
    }
}

fn print_query(object: &mut Object<'_>, query: &QueryEvent<'_>) {
    object.plain("thread_id", query.thread_id);
    object.plain("exec_time", query.exec_time);
    object.plain("error_code", query.error_code);
    object.text("database", &query.database);
    object.text("sql", &query.sql);
    let status = &query.status;
    object.maybe("sql_mode", status.sql_mode);
    if let Some([client, connection, server]) = status.charset {
        object.plain("character_set_client", client);
        object.plain("collation_connection", connection);
        object.plain("collation_server", server);
    }
    if let Some(zone) = &status.time_zone {
        object.text("time_zone", zone);
    }
    if let Some((increment, offset)) = status.auto_increment {
        object.plain("auto_increment_increment", increment);
        object.plain("auto_increment_offset", offset);
    }
    object.maybe("microseconds", status.microseconds.or(status.mariadb_microseconds));
    object.maybe("xid", status.ddl_xid.or(status.mariadb_xid));
}

fn print_table(object: &mut Object<'_>, table: &TableMapEvent) {
    object.plain("table_id", table.table_id);
    object.text("database", &table.database);
    object.text("table", &table.table);
    let names = table.metadata.column_names();
    let out = object.name("columns");
    list(out, table.columns.iter().enumerate(), |out, (i, ty)| {
        let mut column = Object::open(out);
        if let Some(name) = names.and_then(|names| names.get(i)) {
            column.text("name", name);
        }
        column.word("type", value::type_name(ty));
        if ty.unsigned {
            column.plain("unsigned", true);
        }
        column.plain("nullable", table.is_nullable(i));
        if ty.charset != 0 {
            column.plain("collation", ty.charset);
        }
        column.close();
    });
    if let Some(key) = table.metadata.primary_key() {
        list(object.name("primary_key"), key, |out, (column, _)| put(out, format_args!("{}", column + 1)));
    }
}

fn print_rows(
    decoder: &Decoder,
    limit: usize,
    rows: &RowsEvent<'_>,
    object: &mut Object<'_>,
    drain: Drain<'_>,
) -> Result<(), EventError> {
    object.plain("table_id", rows.table_id);
    object.plain("statement_end", rows.flags & rows_flags::STMT_END != 0);
    // One without columns only ends a statement.
    if rows.columns == 0 {
        return Ok(());
    }
    let table = decoder.table_of(rows)?;
    object.text("database", &table.database);
    object.text("table", &table.table);
    let operation = match rows.kind {
        RowsKind::Write => "insert",
        RowsKind::Update => "update",
        RowsKind::Delete => "delete",
    };
    object.word("operation", operation);
    let names = Names::of(table);
    let bytes = rows.rows.bytes(limit)?;
    let out = object.name("rows");
    out.push(b'[');
    for (i, change) in rows.iter(table, &bytes)?.enumerate() {
        let change = change?;
        if i > 0 {
            out.push(b',');
        }
        let mut row = Object::open(out);
        for (name, image) in [("before", change.before), ("after", change.after)] {
            if let Some(image) = image {
                write_image(&names, &image, row.name(name))?;
            }
        }
        row.close();
        if out.len() >= DRAIN_SIZE {
            drain(out);
        }
    }
    out.push(b']');
    Ok(())
}

/// Date and time of microseconds since 1970, in UTC.
pub fn moment(micros: u64) -> String {
    let seconds = u32::try_from(micros / 1_000_000).unwrap_or(u32::MAX);
    Timestamp { seconds, micros: (micros % 1_000_000) as u32, digits: 6 }.utc().to_string()
}
