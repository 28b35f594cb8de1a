//! `duramen binlog rewrite`: a file once more, with other database names, without a table's rows,
//! without checksums.
//!
//! Statements' texts stay as they are. What changes in length changes its transaction's length,
//! which the GTID event at its start says; so each transaction is gone through twice, by two
//! readers in step, and memory stays that of one event.

use super::arguments::{Arguments, Takes};
use super::group::{GroupMembership, Groups};
use super::input::{LogFile, log_files, opens_group};
use super::output::NewFile;
use super::{EXPANDED_MAX, Outcome, ToolError};
use binlog::event::{
    CHECKSUM_LEN, ChecksumAlgorithm, Decoder, EncodeEvent, Event, EventError, EventHeader, EventType,
    FormatDescription, MAGIC, RowsData, RowsEvent, RowsKind, TableMapEvent, TransactionPayloadEvent,
    UpdatedDatabases, append_event, flags, move_event, rows_flags,
};
use binlog::file::{FileError, FileReader};
use env::Env;
use std::borrow::Cow;
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

const OPTIONS: [Takes; 4] = [
    Takes::Value("output"),
    Takes::Value("rewrite-db"),
    Takes::Value("drop-table"),
    Takes::Nothing("strip-checksums"),
];

pub(super) fn run(env: &Arc<dyn Env>, args: &[String]) -> Result<Outcome, ToolError> {
    let arguments = Arguments::parse("rewrite", args, &OPTIONS, &[("-o", "output")])?;
    let rules = Rules::of(&arguments)?;
    let files = log_files(env, &arguments)?;
    let ([file], Some(path)) = (files.as_slice(), arguments.value("output").map(Path::new)) else {
        return Err(arguments.wrong("one file is rewritten, and --output says which to make".to_owned()));
    };
    if file.path.is_none() {
        return Err(ToolError::Refused("a pipe can't be rewritten: the file is read twice".into()));
    }
    let mut out = NewFile::create(&**env, path)?;
    let done = out.append(&MAGIC).and_then(|()| Walk::new(&**env, file, &rules, out)?.all());
    match done {
        Ok((transactions, bytes)) => {
            println!("{}: {transactions} transactions, {bytes} bytes", path.display())
        }
        Err(error) => {
            if let Err(e) = env.remove_file(path) {
                eprintln!("duramen binlog rewrite: can't remove '{}': {e}", path.display());
            }
            return Err(error);
        }
    }
    Ok(Outcome::Done)
}

/// What is asked for.
#[derive(Default)]
struct Rules {
    /// Old and new names of databases.
    renames: Vec<(Vec<u8>, Vec<u8>)>,
    /// Databases and tables, by their old names.
    dropped: Vec<(Vec<u8>, Vec<u8>)>,
    strips_checksums: bool,
}

impl Rules {
    fn of(arguments: &Arguments) -> Result<Self, ToolError> {
        let pair = |option: &str, separator: &str, form: &str, value: &str| match value.split_once(separator)
        {
            Some((a, b)) if !a.is_empty() && !b.is_empty() => {
                Ok((a.as_bytes().to_vec(), b.as_bytes().to_vec()))
            }
            _ => Err(arguments.wrong(format!("'{value}' is no value for --{option}: {form}"))),
        };
        let rename = |value| pair("rewrite-db", "->", "OLD->NEW", value);
        let drop = |value| pair("drop-table", ".", "DATABASE.TABLE", value);
        let rules = Self {
            renames: arguments.values("rewrite-db").map(rename).collect::<Result<_, _>>()?,
            dropped: arguments.values("drop-table").map(drop).collect::<Result<_, _>>()?,
            strips_checksums: arguments.has("strip-checksums"),
        };
        match rules.changes_content() || rules.strips_checksums {
            true => Ok(rules),
            false => {
                Err(arguments
                    .wrong("nothing to do: --rewrite-db, --drop-table or --strip-checksums".to_owned()))
            }
        }
    }

    fn changes_content(&self) -> bool {
        !self.renames.is_empty() || !self.dropped.is_empty()
    }

    fn renamed(&self, database: &[u8]) -> Option<&[u8]> {
        self.renames.iter().find(|(old, _)| old == database).map(|(_, new)| new.as_slice())
    }
}

/// The state of one pass over the file.
struct Rewriter<'a> {
    rules: &'a Rules,
    decoder: Decoder,
    /// The numbers of dropped tables in this statement.
    dropped: HashSet<u64>,
    /// The statement has row events that are kept.
    has_rows: bool,
}

/// Takes an event without its checksum, its length that of these bytes.
type Emit<'a> = &'a mut dyn FnMut(Vec<u8>) -> Result<(), ToolError>;

impl<'a> Rewriter<'a> {
    fn new(rules: &'a Rules) -> Self {
        let decoder = Decoder::new(FormatDescription::new("", 0));
        Self { rules, decoder, dropped: HashSet::new(), has_rows: false }
    }

    /// Gives what becomes of an event to `emit`; `Err` is the event's.
    fn event(&mut self, bytes: &[u8], emit: Emit<'_>) -> Result<Result<(), EventError>, ToolError> {
        let decoded = self.decoder.decode(bytes);
        let (header, event) = match decoded {
            Ok(decoded) => decoded,
            Err(e) => return Ok(Err(e)),
        };
        if let (Event::TransactionPayload(payload), true) = (&event, self.rules.changes_content()) {
            return self.payload(payload, emit);
        }
        let plain = match header.event_type {
            EventType::FORMAT_DESCRIPTION => bytes.to_vec(),
            _ => match without_checksum(bytes, self.decoder.format()) {
                Ok(plain) => plain,
                Err(e) => return Ok(Err(e)),
            },
        };
        let changed = match self.changed(&header, &event, plain) {
            Ok(changed) => changed,
            Err(e) => return Ok(Err(e)),
        };
        changed.into_iter().try_for_each(emit).map(Ok)
    }

    /// The events inside come as they are.
    fn payload(
        &mut self,
        payload: &TransactionPayloadEvent<'_>,
        emit: Emit<'_>,
    ) -> Result<Result<(), EventError>, ToolError> {
        let mut inside = Decoder::new(TransactionPayloadEvent::inner_format(self.decoder.format()));
        std::mem::swap(&mut self.decoder, &mut inside);
        let done = self.payload_events(payload, emit);
        std::mem::swap(&mut self.decoder, &mut inside);
        done
    }

    fn payload_events(
        &mut self,
        payload: &TransactionPayloadEvent<'_>,
        emit: Emit<'_>,
    ) -> Result<Result<(), EventError>, ToolError> {
        let mut events = match payload.events(EXPANDED_MAX) {
            Ok(events) => events,
            Err(e) => return Ok(Err(e)),
        };
        loop {
            let bytes = match events.next_event() {
                Ok(Some(bytes)) => bytes,
                Ok(None) => return Ok(Ok(())),
                Err(e) => return Ok(Err(e)),
            };
            if EventHeader::decode(bytes).is_ok_and(|h| h.event_type == EventType::TRANSACTION_PAYLOAD) {
                return Ok(Err(EventError::Malformed("transaction payload inside another")));
            }
            // Inside a payload there are no offsets; outside there are.
            let mut bytes = bytes.to_vec();
            let end = EventHeader::END_LOG_POS_OFFSET;
            if let Some(place) = bytes.get_mut(end..end + 4) {
                place.copy_from_slice(&1_u32.to_le_bytes());
            }
            if let Err(e) = self.event(&bytes, emit)? {
                return Ok(Err(e));
            }
        }
    }

    fn changed(
        &mut self,
        header: &EventHeader,
        event: &Event<'_>,
        plain: Vec<u8>,
    ) -> Result<Option<Vec<u8>>, EventError> {
        let rules = self.rules;
        match event {
            Event::FormatDescription(format) if rules.strips_checksums => Ok(Some(encoded(
                header,
                &FormatDescription { checksum: ChecksumAlgorithm::Off, ..format.clone() },
            ))),
            Event::TableMap(table) => {
                if rules.dropped.iter().any(|(d, t)| *d == table.database && *t == table.table) {
                    self.dropped.insert(table.table_id);
                    return Ok(None);
                }
                self.dropped.remove(&table.table_id);
                Ok(Some(match rules.renamed(&table.database) {
                    Some(new) => encoded(header, &TableMapEvent { database: new.to_vec(), ..table.clone() }),
                    None => plain,
                }))
            }
            Event::Rows(rows) => Ok(self.rows(header, rows, plain)),
            Event::Query(query) => {
                let renames = |name: &Cow<'_, [u8]>| rules.renamed(name).is_some();
                let updated = query.status.updated_databases.as_ref();
                let names =
                    updated.is_some_and(|u| matches!(u, UpdatedDatabases::Names(n) if n.iter().any(renames)));
                if !names && !renames(&query.database) {
                    return Ok(Some(plain));
                }
                let mut query = query.clone();
                let rename = |name: &mut Cow<'_, [u8]>| {
                    if let Some(new) = rules.renamed(name) {
                        *name = Cow::Owned(new.to_vec());
                    }
                };
                rename(&mut query.database);
                if let Some(UpdatedDatabases::Names(names)) = &mut query.status.updated_databases {
                    names.iter_mut().for_each(rename);
                }
                Ok(Some(encoded(header, &query)))
            }
            Event::MariadbQueryCompressed(event) if rules.renamed(&event.query.database).is_some() => {
                Err(EventError::Unsupported("a compressed statement in a database that gets another name"))
            }
            _ => Ok(Some(plain)),
        }
    }

    fn rows(&mut self, header: &EventHeader, rows: &RowsEvent<'_>, plain: Vec<u8>) -> Option<Vec<u8>> {
        let ends = rows.flags & rows_flags::STMT_END != 0;
        let is_dropped = self.dropped.contains(&rows.table_id);
        let had_rows = self.has_rows;
        self.has_rows = !ends && (had_rows || !is_dropped);
        if ends {
            self.dropped.clear();
        }
        match (is_dropped, ends && had_rows) {
            (false, _) => Some(plain),
            // Another table's rows still need their statement's end.
            (true, true) => Some(encoded(header, &statement_end())),
            (true, false) => None,
        }
    }
}

/// The event that only ends a statement.
fn statement_end() -> RowsEvent<'static> {
    RowsEvent {
        kind: RowsKind::Write,
        event_type: EventType::WRITE_ROWS,
        table_id: TableMapEvent::DUMMY_TABLE_ID,
        flags: rows_flags::STMT_END,
        extra: &[],
        columns: 0,
        present: &[],
        present_after: &[],
        rows: RowsData::Plain(&[]),
    }
}

/// An event instead of the one with this header.
fn encoded(header: &EventHeader, event: &impl EncodeEvent) -> Vec<u8> {
    let mut bytes = Vec::new();
    append_event(&mut bytes, event, header.origin(), 0, ChecksumAlgorithm::Off);
    bytes
}

fn without_checksum(bytes: &[u8], format: &FormatDescription) -> Result<Vec<u8>, EventError> {
    let end = bytes.len().checked_sub(format.checksum_len()).ok_or(EventError::Truncated)?;
    let mut plain = bytes.get(..end).ok_or(EventError::Truncated)?.to_vec();
    set_length(&mut plain);
    Ok(plain)
}

fn set_length(event: &mut [u8]) {
    let length = event.len() as u32;
    if let Some(field) = event.get_mut(EventHeader::LENGTH_OFFSET..EventHeader::LENGTH_OFFSET + 4) {
        field.copy_from_slice(&length.to_le_bytes());
    }
}

/// Both readers, and the new file.
struct Walk<'a> {
    file: &'a LogFile,
    measuring: (FileReader, Rewriter<'a>),
    writing: (FileReader, Rewriter<'a>),
    rules: &'a Rules,
    groups: Groups,
    out: NewFile,
    /// The new file's.
    checksum: ChecksumAlgorithm,
    transactions: u64,
}

impl<'a> Walk<'a> {
    fn new(env: &dyn Env, file: &'a LogFile, rules: &'a Rules, out: NewFile) -> Result<Self, ToolError> {
        let pass = || Ok::<_, ToolError>((file.open(env)?, Rewriter::new(rules)));
        let (measuring, writing) = (pass()?, pass()?);
        let checksum = ChecksumAlgorithm::Off;
        Ok(Self {
            file,
            measuring,
            writing,
            rules,
            groups: Groups::default(),
            out,
            checksum,
            transactions: 0,
        })
    }

    /// Transactions and bytes written.
    fn all(mut self) -> Result<(u64, u64), ToolError> {
        while let Some((end, length)) = self.measure_next()? {
            self.write_up_to(end, length)?;
        }
        Ok((self.transactions, self.out.finish()?))
    }

    /// Goes over one transaction, or an event outside: where it ends, and how many bytes will
    /// follow a GTID event. `None` at the end, which an unfinished transaction is too.
    fn measure_next(&mut self) -> Result<Option<(u64, u64)>, ToolError> {
        let (reader, rewriter) = &mut self.measuring;
        let mut length = 0;
        let file = self.file;
        loop {
            let in_use = reader.in_use();
            let raw = match reader.next_event() {
                Ok(Some(raw)) => raw,
                Ok(None) => return Ok(None),
                Err(e) if in_use && e.is_damage() => return Ok(None),
                Err(e) => return Err(file.error(e)),
            };
            let (start, end) = (raw.start, raw.end());
            if raw.header.event_type == EventType::FORMAT_DESCRIPTION {
                let format = binlog::event::decode_format_description(raw.bytes);
                let format = format.map_err(|source| file.error(FileError::Event { at: start, source }))?;
                self.checksum =
                    if self.rules.strips_checksums { ChecksumAlgorithm::Off } else { format.checksum };
            }
            let added = if self.checksum == ChecksumAlgorithm::Crc32 { CHECKSUM_LEN } else { 0 };
            let is_head = opens_group(raw.header.event_type);
            let mut count = |bytes: Vec<u8>| {
                length += if is_head { 0 } else { (bytes.len() + added) as u64 };
                Ok(())
            };
            let broken = |source| file.error(FileError::Event { at: start, source });
            rewriter.event(raw.bytes, &mut count)?.map_err(broken)?;
            // What the structure says is in the events as they were.
            let format = rewriter.decoder.format();
            let event = binlog::event::decode(raw.bytes, format).map_err(broken)?;
            let wrong = |what| ToolError::Refused(format!("{}: at {start}: {what}", file.name));
            match self.groups.advance(start, end, &event).map_err(wrong)? {
                GroupMembership::Inside => {}
                GroupMembership::Ended => {
                    self.transactions += 1;
                    return Ok(Some((end, length)));
                }
                GroupMembership::Outside => return Ok(Some((end, length))),
            }
        }
    }

    /// Writes what comes up to `end`.
    fn write_up_to(&mut self, end: u64, length: u64) -> Result<(), ToolError> {
        let (reader, rewriter) = &mut self.writing;
        let (out, checksum, file) = (&mut self.out, self.checksum, self.file);
        let strips = self.rules.strips_checksums;
        while reader.at() < end {
            let Some(raw) = reader.next_event().map_err(|e| file.error(e))? else { return Ok(()) };
            let broken = |source| file.error(FileError::Event { at: raw.start, source });
            let kind = raw.header.event_type;
            let mut write = |mut bytes: Vec<u8>| {
                if opens_group(kind) {
                    bytes = with_length(bytes, length, checksum).map_err(broken)?;
                }
                if kind == EventType::FORMAT_DESCRIPTION {
                    // Closed, which its checksum does not count.
                    if let Some(flag) = bytes.get_mut(EventHeader::FLAGS_OFFSET) {
                        *flag &= !(flags::BINLOG_IN_USE as u8);
                    }
                    if strips {
                        move_event(&mut bytes, out.len(), ChecksumAlgorithm::Crc32).map_err(broken)?;
                    }
                    return out.append(&bytes);
                }
                if checksum == ChecksumAlgorithm::Crc32 {
                    bytes.extend_from_slice(&[0; CHECKSUM_LEN]);
                }
                set_length(&mut bytes);
                move_event(&mut bytes, out.len(), checksum).map_err(broken)?;
                out.append(&bytes)
            };
            rewriter.event(raw.bytes, &mut write)?.map_err(broken)?;
        }
        Ok(())
    }
}

/// A GTID event, without checksum, that says the length of its transaction: itself, and `following`
/// bytes after it.
fn with_length(plain: Vec<u8>, following: u64, checksum: ChecksumAlgorithm) -> Result<Vec<u8>, EventError> {
    let format = FormatDescription { checksum: ChecksumAlgorithm::Off, ..FormatDescription::new("", 0) };
    let header = EventHeader::decode(&plain)?;
    let Event::Gtid(mut event) = binlog::event::decode(&plain, &format)? else { return Ok(plain) };
    let added = if checksum == ChecksumAlgorithm::Crc32 { CHECKSUM_LEN as u64 } else { 0 };
    let whole = plain.len() as u64 + added + following;
    let says = event.commit.map(|commit| commit.transaction_length);
    if says.is_none_or(|says| says == 0 || says == whole) {
        return Ok(plain);
    }
    event.set_transaction_length(following, checksum);
    Ok(encoded(&header, &event))
}
