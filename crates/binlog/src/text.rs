//! Events as text, the way `mysqlbinlog -vv --base64-output=decode-rows` prints them.
//!
//! Each event gets a line with its offset, a line with its header and what it is, and whatever SQL
//! or rows it holds. Rows are pseudo-SQL with columns by number, for the default row metadata has
//! no names. The text is for people and for comparisons; it is not made to be run.

use std::io::Write as _;

use crate::event::{
    CommitInfo, Decoder, Depth, Event, EventError, EventHeader, EventType, GtidEvent, MariadbGtidEvent,
    QueryEvent, RowsEvent, RowsKind, StatusVars, TableMapEvent, mariadb, rows_flags,
};
use crate::row::RowImage;
use crate::row::temporal::date_of_day;

mod value;

pub use value::write_value;

/// Takes text that was made so far, and empties it.
pub type Drain<'a> = &'a mut dyn FnMut(&mut Vec<u8>);

/// Text of so many bytes is offered for draining.
pub(crate) const DRAIN_SIZE: usize = 1 << 20;

/// How much is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Detail {
    /// No rows, as without `-v`.
    Headers,
    /// Rows, as with `-v`.
    Rows,
    /// The statements that rows come from, and each column's type, as with `-vv`.
    Types,
}

/// Prints the events of a file or stream, in their order.
#[derive(Debug)]
pub struct TextPrinter {
    decoder: Decoder,
    /// Bytes that compressed content may have.
    limit: usize,
    detail: Detail,
    database: Option<Vec<u8>>,
}

impl TextPrinter {
    /// Starts with a decoder; compressed statements, rows and payloads are printed if what each
    /// holds has at most `limit` bytes.
    pub fn new(decoder: Decoder, limit: usize) -> Self {
        Self { decoder, limit, detail: Detail::Types, database: None }
    }

    /// The same for one database only: tables' events and statements of others are left out.
    pub fn with_database(self, database: Option<&str>) -> Self {
        Self { database: database.map(|name| name.as_bytes().to_vec()), ..self }
    }

    /// The same with other detail than all.
    pub fn with_detail(self, detail: Detail) -> Self {
        Self { detail, ..self }
    }

    /// Appends the text of the event that starts at `offset` of its file.
    ///
    /// # Errors
    /// Those of decoding.
    pub fn print(&mut self, offset: u64, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), EventError> {
        self.print_draining(offset, bytes, out, &mut |_| {})
    }

    /// As [`Self::print`]; `drain` may empty the text now and then, so that one of many gigabytes
    /// takes little memory.
    ///
    /// # Errors
    /// Those of decoding.
    pub fn print_draining(
        &mut self,
        offset: u64,
        bytes: &[u8],
        out: &mut Vec<u8>,
        drain: Drain<'_>,
    ) -> Result<(), EventError> {
        let (header, event) = self.decoder.decode(bytes)?;
        let checksum = (self.decoder.format().checksum_len() > 0).then(|| &bytes[bytes.len() - 4..]);
        let outer_end = header.end_log_pos;
        self.decoder.walk(&header, &event, self.limit, |decoder, header, event, depth| {
            if self.database.as_ref().is_some_and(|name| !concerns(decoder, event, name)) {
                return Ok(());
            }
            // Places inside a payload are those of the payload.
            let header = EventHeader { end_log_pos: outer_end, ..*header };
            match depth {
                Depth::File => print_head(offset, &header, checksum, out),
                Depth::Payload => print_head(outer_end.into(), &header, None, out),
            }
            self.print_event(decoder, &header, event, out, drain)
        })?;
        if matches!(event, Event::TransactionPayload(_)) {
            line(out, format_args!("# End of compressed events."));
        }
        Ok(())
    }

    fn print_event(
        &self,
        decoder: &Decoder,
        header: &EventHeader,
        event: &Event<'_>,
        out: &mut Vec<u8>,
        drain: Drain<'_>,
    ) -> Result<(), EventError> {
        match event {
            Event::FormatDescription(f) => {
                let created = moment(header.timestamp);
                line(out, format_args!("Start: binlog v 4, server v {} created {created}", f.server_version));
            }
            Event::PreviousGtids(set) => {
                line(out, format_args!("Previous-GTIDs"));
                for part in set.0.to_string().lines() {
                    line(out, format_args!("# {part}"));
                }
            }
            Event::Gtid(gtid) => print_gtid(gtid, out),
            Event::Query(query) => print_query("Query", query, header, out),
            Event::MariadbQueryCompressed(query) => {
                print_query("Query_compressed", &query.uncompress(self.limit)?, header, out);
            }
            Event::TableMap(table) => {
                line(out, format_args!("Table_map: {} mapped to number {}", name_of(table), table.table_id));
            }
            Event::Rows(rows) => self.print_rows(decoder, rows, out, drain)?,
            Event::Xid(xid) => line(out, format_args!("Xid = {}\nCOMMIT/*!*/;", xid.0)),
            Event::Rotate(rotate) => {
                let file = lossy(rotate.file_name);
                line(out, format_args!("Rotate to {file}  pos: {}", rotate.position));
            }
            Event::Stop => line(out, format_args!("Stop")),
            Event::RowsQuery(query) if self.detail == Detail::Types => {
                print_comment("Rows_query", "# ", query.sql, out);
            }
            Event::RowsQuery(_) => line(out, format_args!("Rows_query")),
            Event::MariadbAnnotateRows(sql) => print_comment("Annotate_rows:", "#Q> ", sql, out),
            Event::Heartbeat(h) => {
                line(out, format_args!("Heartbeat at {} pos: {}", lossy(h.file_name), h.position));
            }
            Event::XaPrepare(xa) => {
                let end = if xa.one_phase { "XA COMMIT" } else { "XA PREPARE" };
                let phase = if xa.one_phase { " ONE PHASE" } else { "" };
                let xid = xid_text(xa.gtrid, xa.bqual, xa.format_id.into());
                line(out, format_args!("{end} {xid}{phase}\n{end} {xid}{phase}\n/*!*/;"));
            }
            Event::Intvar(v) => {
                let variable = if v.kind == 1 { "LAST_INSERT_ID" } else { "INSERT_ID" };
                line(out, format_args!("Intvar\nSET {variable}={}/*!*/;", v.value));
            }
            Event::Rand(r) => {
                line(out, format_args!("Rand\nSET @@RAND_SEED1={}, @@RAND_SEED2={}/*!*/;", r.seed1, r.seed2));
            }
            Event::UserVar(v) => line(out, format_args!("User_var\n# @{}", lossy(v.name))),
            Event::LoadBlock(b) => {
                let name = if b.begins { "Begin_load_query" } else { "Append_block" };
                line(out, format_args!("\n#{name}: file_id: {}  block_len: {}", b.file_id, b.block.len()));
            }
            Event::LoadDelete(d) => line(out, format_args!("\n#Delete_file: file_id={}", d.file_id)),
            Event::LoadQuery(load) => {
                let (sql, id) = (lossy(&load.query.sql), load.file_id);
                line(out, format_args!("Execute_load_query\n# {sql}\n# file_id: {id} "));
            }
            Event::TransactionPayload(p) => line(
                out,
                format_args!(
                    "Transaction_Payload\t\tpayload_size={}\tcompression_type={}\tuncompressed_size={}\n\
                     # Start of compressed events.",
                    p.payload.len(),
                    format!("{:?}", p.compression).to_uppercase(),
                    p.uncompressed_size
                ),
            ),
            Event::MariadbGtid(gtid) => print_mariadb_gtid(gtid, out),
            Event::MariadbGtidList(list) => {
                let gtids: Vec<_> = list.gtids.iter().map(|g| g.to_string()).collect();
                line(out, format_args!("Gtid list [{}]", gtids.join(",\n# ")));
            }
            Event::MariadbBinlogCheckpoint(file) => {
                line(out, format_args!("Binlog checkpoint {}", lossy(file)))
            }
            Event::MariadbStartEncryption(e) => {
                line(
                    out,
                    format_args!("Start encryption: scheme {}, key version {}", e.scheme, e.key_version),
                );
            }
            Event::Ignorable(_) => line(out, format_args!("Ignorable")),
            Event::Unknown(_) => {
                line(out, format_args!("{} (type {})", header.event_type.name(), header.event_type.0))
            }
        }
        Ok(())
    }

    fn print_rows(
        &self,
        decoder: &Decoder,
        rows: &RowsEvent<'_>,
        out: &mut Vec<u8>,
        drain: Drain<'_>,
    ) -> Result<(), EventError> {
        line(
            out,
            format_args!(
                "{}: table id {}{}",
                rows_name(rows.event_type),
                rows.table_id,
                flag_names(rows.flags)
            ),
        );
        // One without columns is the dummy event that only ends a statement.
        if rows.columns == 0 || self.detail == Detail::Headers {
            return Ok(());
        }
        let table = decoder.table_of(rows)?;
        let bytes = rows.rows.bytes(self.limit)?;
        let verb = match rows.kind {
            RowsKind::Write => "INSERT INTO",
            RowsKind::Update => "UPDATE",
            RowsKind::Delete => "DELETE FROM",
        };
        for change in rows.iter(table, &bytes)? {
            let change = change?;
            line(out, format_args!("### {verb} {}", name_of(table)));
            for (clause, image) in [("WHERE", change.before), ("SET", change.after)] {
                if let Some(image) = image {
                    line(out, format_args!("### {clause}"));
                    self.print_image(table, &image, out)?;
                }
            }
            if out.len() >= DRAIN_SIZE {
                drain(out);
            }
        }
        Ok(())
    }

    fn print_image(
        &self,
        table: &TableMapEvent,
        image: &RowImage<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), EventError> {
        for field in image.fields() {
            put(out, format_args!("###   @{}=", field.column + 1));
            write_value(&field, out)?;
            if self.detail < Detail::Types {
                out.push(b'\n');
                continue;
            }
            let meta = crate::event::table_map::printed_meta(field.ty);
            let nullable = u8::from(table.is_nullable(field.column));
            let is_null = u8::from(field.raw.is_none());
            let name = value::type_name(field.ty);
            line(out, format_args!(" /* {name} meta={meta} nullable={nullable} is_null={is_null} */"));
        }
        Ok(())
    }
}

/// False for row events of other databases' tables, and for statements that ran in another one.
pub(crate) fn concerns(decoder: &Decoder, event: &Event<'_>, database: &[u8]) -> bool {
    match event {
        Event::TableMap(table) => table.database == database,
        Event::Rows(rows) => match decoder.table(rows.table_id) {
            Some(table) => table.database == database,
            None => rows.columns == 0,
        },
        Event::Query(query) => query.database == database || !query.is_in_database(),
        Event::MariadbQueryCompressed(event) => event.query.database == database,
        _ => true,
    }
}

fn print_head(offset: u64, header: &EventHeader, checksum: Option<&[u8]>, out: &mut Vec<u8>) {
    line(out, format_args!("# at {offset}"));
    let (when, id, end) = (moment(header.timestamp), header.server_id, header.end_log_pos);
    put(out, format_args!("#{when} server id {id}  end_log_pos {end} "));
    if let Some(&[a, b, c, d]) = checksum {
        put(out, format_args!("CRC32 {:#010x} ", u32::from_le_bytes([a, b, c, d])));
    }
    out.push(b'\t');
}

fn print_gtid(event: &GtidEvent, out: &mut Vec<u8>) {
    let kind = if event.gtid.is_some() { "GTID" } else { "Anonymous_GTID" };
    let rbr_only = if event.may_have_statements { "no" } else { "yes" };
    let (last, sequence) = (event.last_committed, event.sequence_number);
    put(out, format_args!("{kind}\tlast_committed={last}\tsequence_number={sequence}\trbr_only={rbr_only}"));
    if let Some(commit) = &event.commit {
        print_commit_info(commit, out);
    } else {
        out.push(b'\n');
    }
    match event.gtid {
        Some(gtid) => line(out, format_args!("SET @@SESSION.GTID_NEXT= '{gtid}'/*!*/;")),
        None => line(out, format_args!("SET @@SESSION.GTID_NEXT= 'ANONYMOUS'/*!*/;")),
    }
}

fn print_commit_info(commit: &CommitInfo, out: &mut Vec<u8>) {
    let immediate = commit.immediate_commit_timestamp;
    let original = commit.original_commit_timestamp.unwrap_or(immediate);
    put(
        out,
        format_args!("\toriginal_committed_timestamp={original}\timmediate_commit_timestamp={immediate}"),
    );
    line(out, format_args!("\ttransaction_length={}", commit.transaction_length));
    for (name, time) in [("original", original), ("immediate", immediate)] {
        let when = crate::json_lines::moment(time);
        line(out, format_args!("# {name}_commit_timestamp={time} ({when} UTC)"));
    }
    if let Some(immediate) = commit.immediate_server_version {
        let original = commit.original_server_version.unwrap_or(immediate);
        line(out, format_args!("/*!80014 SET @@session.original_server_version={original}*//*!*/;"));
        line(out, format_args!("/*!80014 SET @@session.immediate_server_version={immediate}*//*!*/;"));
    }
}

fn print_mariadb_gtid(event: &MariadbGtidEvent<'_>, out: &mut Vec<u8>) {
    use mariadb::gtid_flags as bits;
    put(out, format_args!("GTID {}", event.gtid));
    if let Some(id) = event.commit_id {
        put(out, format_args!(" cid={id}"));
    }
    for (bit, name) in [(bits::DDL, " ddl"), (bits::TRANSACTIONAL, " trans"), (bits::WAITED, " waited")] {
        if event.flags & bit != 0 {
            put(out, format_args!("{name}"));
        }
    }
    out.push(b'\n');
    if let Some((format_id, gtrid, bqual)) = event.xid {
        let verb = if event.flags & bits::PREPARED_XA != 0 { "XA START" } else { "XA END" };
        line(out, format_args!("{verb} {}/*!*/;", xid_text(gtrid, bqual, format_id.into())));
    } else if event.begins_transaction() {
        line(out, format_args!("START TRANSACTION\n/*!*/;"));
    }
}

fn print_query(name: &str, query: &QueryEvent<'_>, header: &EventHeader, out: &mut Vec<u8>) {
    let (thread, time, error) = (query.thread_id, query.exec_time, query.error_code);
    put(out, format_args!("{name}\tthread_id={thread}\texec_time={time}\terror_code={error}"));
    if let Some(xid) = query.status.ddl_xid {
        put(out, format_args!("\tXid = {xid}"));
    }
    if let Some(xid) = query.status.mariadb_xid {
        put(out, format_args!("\txid={xid}"));
    }
    out.push(b'\n');
    if !query.database.is_empty() && header.flags & crate::event::flags::SUPPRESS_USE == 0 {
        line(out, format_args!("use {}/*!*/;", quoted_name(&query.database)));
    }
    line(out, format_args!("SET TIMESTAMP={}/*!*/;", header.timestamp));
    if query.is_in_database() {
        print_settings(&query.status, out);
    }
    out.extend_from_slice(&query.sql);
    out.extend_from_slice(b"\n/*!*/;\n");
}

/// What the statement's meaning depends on, each time that it is said.
fn print_settings(status: &StatusVars<'_>, out: &mut Vec<u8>) {
    if let Some(mode) = status.sql_mode {
        line(out, format_args!("SET @@session.sql_mode={mode}/*!*/;"));
    }
    if let Some((increment, offset)) = status.auto_increment {
        let names = "@@session.auto_increment_increment";
        line(out, format_args!("SET {names}={increment}, @@session.auto_increment_offset={offset}/*!*/;"));
    }
    if let Some([client, connection, server]) = status.charset {
        put(out, format_args!("SET @@session.character_set_client={client},"));
        put(out, format_args!("@@session.collation_connection={connection},"));
        line(out, format_args!("@@session.collation_server={server}/*!*/;"));
    }
    if let Some(zone) = &status.time_zone {
        line(out, format_args!("SET @@session.time_zone='{}'/*!*/;", lossy(zone)));
    }
}

fn print_comment(title: &str, prefix: &str, sql: &[u8], out: &mut Vec<u8>) {
    line(out, format_args!("{title}"));
    for part in sql.split(|&b| b == b'\n') {
        put(out, format_args!("{prefix}"));
        out.extend_from_slice(part);
        out.push(b'\n');
    }
}

fn rows_name(event_type: EventType) -> &'static str {
    match event_type {
        EventType::WRITE_ROWS | EventType::WRITE_ROWS_V1 => "Write_rows",
        EventType::UPDATE_ROWS | EventType::UPDATE_ROWS_V1 => "Update_rows",
        EventType::DELETE_ROWS | EventType::DELETE_ROWS_V1 => "Delete_rows",
        EventType::PARTIAL_UPDATE_ROWS => "Update_rows_partial",
        EventType::MARIADB_WRITE_ROWS_COMPRESSED | EventType::MARIADB_WRITE_ROWS_COMPRESSED_V1 => {
            "Write_compressed_rows"
        }
        EventType::MARIADB_UPDATE_ROWS_COMPRESSED | EventType::MARIADB_UPDATE_ROWS_COMPRESSED_V1 => {
            "Update_compressed_rows"
        }
        _ => "Delete_compressed_rows",
    }
}

fn flag_names(flags: u16) -> String {
    let names = [
        (rows_flags::STMT_END, " STMT_END_F"),
        (rows_flags::NO_FOREIGN_KEY_CHECKS, " NO_FOREIGN_KEY_CHECKS_F"),
        (rows_flags::RELAXED_UNIQUE_CHECKS, " RELAXED_UNIQUE_CHECKS_F"),
        (rows_flags::COMPLETE_ROWS, " COMPLETE_ROWS_F"),
        (rows_flags::USE_SQL_FOREIGN_KEY, " USE_SQL_FOREIGN_KEY_F"),
    ];
    let set: String = names.iter().filter(|(bit, _)| flags & bit != 0).map(|(_, name)| *name).collect();
    if set.is_empty() { set } else { format!(" flags:{set}") }
}

/// `X'7831',X'',1`
fn xid_text(gtrid: &[u8], bqual: &[u8], format_id: i64) -> String {
    let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
    format!("X'{}',X'{}',{format_id}", hex(gtrid), hex(bqual))
}

fn name_of(table: &TableMapEvent) -> String {
    format!("{}.{}", quoted_name(&table.database), quoted_name(&table.table))
}

fn quoted_name(name: &[u8]) -> String {
    format!("`{}`", lossy(name).replace('`', "``"))
}

fn lossy(bytes: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

/// `261121  1:51:03`, in UTC.
fn moment(timestamp: u32) -> String {
    let (day, second) = (date_of_day(timestamp / 86_400), timestamp % 86_400);
    let (hour, minute) = (second / 3600, second / 60 % 60);
    format!("{:02}{:02}{:02} {hour:2}:{minute:02}:{:02}", day.year % 100, day.month, day.day, second % 60)
}

fn put(out: &mut Vec<u8>, args: std::fmt::Arguments<'_>) {
    out.write_fmt(args).expect("writing to a Vec does not fail");
}

fn line(out: &mut Vec<u8>, args: std::fmt::Arguments<'_>) {
    put(out, args);
    out.push(b'\n');
}
