//! The stream as replicas of MariaDB read it: the same transactions in MariaDB's events.
//!
//! A [`Translator`] stands between the dump and the connection. What it changes:
//!
//! | in the log | on the stream |
//! | --- | --- |
//! | Format_desc | the same, with the types of MariaDB |
//! | Previous_gtids | Gtid_list: the last GTID before the file |
//! | Gtid, Query (BEGIN or XA START) | MariaDB's Gtid, which stands for both |
//! | XA START to XA_prepare that commits in one phase | as a transaction: MariaDB's replicas know no one phase |
//! | Gtid, Query (any other) | MariaDB's Gtid, Query as MariaDB understands it ([`statements`]) |
//! | Rows_query | Annotate_rows if the replica asked for it, else nothing |
//! | Transaction_payload | the events in it |
//! | Table_map and rows with JSON columns | with columns of texts ([`documents`]) |
//! | anything else | the same |
//!
//! Which GTID a transaction has there, and where one is: [`position`].
//!
//! (M1) Each event's `end_log_pos` is an offset in the log's file. A replica that finds it ahead of
//!      its own count, which adds up events' lengths, goes there; so what is shorter on the stream
//!      than in the file does no harm.
//! (M2) What is longer makes the replica's count run ahead. The stream says where it is, as at a
//!      file's start: Rotate and format description, for which a replica begins a new relay log. So
//!      it does after each such group where the replica goes by file and offset; by GTID only in
//!      front of a heartbeat, which the replica compares with its count.
//! (M3) Transactions have one commit id if none of them depends on another (`last_committed` is
//!      before the first of them): what MariaDB applies side by side.

mod documents;
mod events;
mod position;
mod statements;

use super::{ChecksumWish, DumpError, Request, Stream};
use binlog::LogPosition;
use binlog::event::{
    CHECKSUM_LEN, ChecksumAlgorithm, EncodeEvent, Event, EventError, EventHeader, EventType,
    FormatDescription, GtidEvent, MariadbAnnotateRowsEvent, MariadbGtid, MariadbGtidEvent,
    MariadbGtidListEvent, QueryEvent, RotateEvent, RowsData, RowsEvent, TransactionPayloadEvent,
    XaPrepareEvent, XidEvent, decode, decode_format_description, flags, gtid_flags,
};
use binlog::log::Log;
use binlog::row::code;
use std::io;
use std::time::Duration;

use documents::Documents;
use events::{ends_group, is_translated, put_event};
use position::Start;
use statements::Phase;
use storage::Xid;

pub use position::{DOMAIN, gtid_at, parse};

/// What a replica said of itself before it asked for the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wishes {
    /// Where it wants to begin, GTIDs with commas between them (`@slave_connect_state`); `None` if
    /// it goes by file and offset.
    pub state: Option<String>,
    /// It wants the statements that row events come from.
    pub annotations: bool,
    /// The last GTID that it wants (`START SLAVE UNTIL`).
    pub until: Option<MariadbGtid>,
}

/// Sends the log to a replica of MariaDB, as [`super::dump`] does to MySQL's.
///
/// # Errors
/// [`DumpError::Fatal`] also if the replica's GTIDs are not those of this log, and if what it asks
/// for can't be put into MariaDB's events; otherwise as [`super::dump`].
pub fn dump(
    log: &Log,
    request: &Request<'_>,
    wishes: Wishes,
    stream: &mut dyn Stream,
) -> Result<(), DumpError> {
    let Start { file, offset, before } = match &wishes.state {
        Some(state) => position::by_gtid(log, state)?,
        None => position::by_position(log, request.file, request.offset)?,
    };
    let request = Request { file: file.as_bytes(), offset, has: None, heartbeat_v2: false, ..*request };
    let checksum = request.checksum == ChecksumWish::Crc32;
    let mut translator = Translator::new(log, stream, wishes, request.server_id, before, checksum);
    match super::dump(log, &request, &mut translator) {
        Err(DumpError::Stream(e)) if e.kind() == io::ErrorKind::InvalidData => {
            Err(DumpError::Fatal(e.to_string()))
        }
        ended => ended,
    }
}

/// A GTID event of the log that was not sent yet.
struct HeldGtid {
    header: EventHeader,
    gtid: GtidEvent,
}

/// A stream that translates events to MariaDB's and passes them to the connection's stream.
struct Translator<'a> {
    log: &'a Log,
    stream: &'a mut dyn Stream,
    wishes: Wishes,
    /// This server's id, for the events that are not in the log.
    server_id: u32,
    format: FormatDescription,
    /// How many transactions are in the files before this one.
    before: u64,
    file: Vec<u8>,
    /// Where the replica believes itself to be in the file.
    count: u64,
    /// A GTID event whose group shows its kind by the next event.
    held: Option<HeldGtid>,
    /// The transaction whose events are under way.
    current: Option<MariadbGtid>,
    /// It is one of XA that commits in one phase.
    one_phase: bool,
    /// How the payload ends that is under way: in one phase of XA or not.
    payload_in_one_phase: Option<bool>,
    documents: Documents,
    /// The first of the transactions that have one commit id, by its number in the file; 0 for
    /// none.
    batch: u64,
    /// The last wanted transaction was sent.
    ended: bool,
    out: Vec<u8>,
}

impl Stream for Translator<'_> {
    fn event(&mut self, event: &[u8]) -> io::Result<()> {
        if self.ended {
            return Ok(());
        }
        self.translate(event).map_err(|e| match e {
            Failure::Stream(e) => e,
            Failure::Event(e) => io::Error::new(io::ErrorKind::InvalidData, e.to_string()),
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }

    fn is_interrupted(&mut self) -> bool {
        self.stream.is_interrupted()
    }

    fn is_gone(&mut self) -> bool {
        self.stream.is_gone()
    }

    fn is_awaited(&self) -> bool {
        self.stream.is_awaited()
    }

    fn reaches(&mut self, end: LogPosition) {
        self.stream.reaches(end);
    }

    fn holds(&mut self, position: LogPosition) {
        self.stream.holds(position);
    }

    fn wait_for_more(&mut self, log: &Log, from: LogPosition, patience: Duration) -> io::Result<bool> {
        self.stream.wait_for_more(log, from, patience)
    }
}

enum Failure {
    Stream(io::Error),
    Event(EventError),
}

impl From<io::Error> for Failure {
    fn from(e: io::Error) -> Self {
        Self::Stream(e)
    }
}

impl From<EventError> for Failure {
    fn from(e: EventError) -> Self {
        Self::Event(e)
    }
}

impl<'a> Translator<'a> {
    /// Translates for `stream`. `before` is the number of transactions in front of the file that
    /// the stream begins in.
    fn new(
        log: &'a Log,
        stream: &'a mut dyn Stream,
        wishes: Wishes,
        server_id: u32,
        before: u64,
        checksum: bool,
    ) -> Self {
        let mut format = FormatDescription::new("", 0);
        format.checksum = if checksum { ChecksumAlgorithm::Crc32 } else { ChecksumAlgorithm::Off };
        Self {
            log,
            stream,
            wishes,
            server_id,
            format,
            before,
            file: Vec::new(),
            count: 0,
            held: None,
            current: None,
            one_phase: false,
            payload_in_one_phase: None,
            documents: Documents::default(),
            batch: 0,
            ended: false,
            out: Vec::new(),
        }
    }

    fn translate(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let header = EventHeader::decode(bytes)?;
        match header.event_type {
            EventType::FORMAT_DESCRIPTION => return self.format_description(&header, bytes),
            EventType::ROTATE => {
                if let Event::Rotate(rotate) = decode(bytes, &self.format)? {
                    self.file = rotate.file_name.to_vec();
                    self.count = rotate.position;
                }
                self.batch = 0;
                return Ok(self.stream.event(bytes)?);
            }
            EventType::HEARTBEAT => {
                self.correct(header.end_log_pos)?;
                return Ok(self.stream.event(bytes)?);
            }
            EventType::STOP => return Ok(self.stream.event(bytes)?),
            EventType::IGNORABLE => return Ok(()),
            _ => {}
        }
        let ends_one_phase = self.one_phase && header.event_type == EventType::XA_PREPARE;
        let translated =
            ends_one_phase || self.has_documents(&header, bytes) || is_translated(header.event_type);
        if self.held.is_none() && !translated {
            self.stream.event(bytes)?;
            self.counted(&header);
            return if ends_group(header.event_type) { self.end_of_group(&header) } else { Ok(()) };
        }
        let format = self.format.clone();
        match decode(bytes, &format)? {
            Event::PreviousGtids(previous) => {
                self.before = position::count(&previous.0).ok_or(EventError::Malformed("too many GTIDs"))?;
                self.gtid_list(header.end_log_pos)
            }
            Event::Gtid(gtid) => {
                self.held = Some(HeldGtid { header, gtid });
                Ok(())
            }
            Event::TransactionPayload(payload) => self.payload(&header, &payload),
            Event::Query(query) => match self.held.take() {
                Some(held) => self.first_of_group(held, &header, &query),
                // XA END
                None if self.one_phase => Ok(()),
                None => {
                    self.query(&header, &query)?;
                    // An empty transaction's end.
                    if &query.sql[..] == b"COMMIT" { self.end_of_group(&header) } else { Ok(()) }
                }
            },
            Event::TableMap(map) => match self.documents.map(map) {
                Some(translated) => self.send(&header, &translated, header.end_log_pos),
                None => {
                    self.stream.event(bytes)?;
                    self.counted(&header);
                    Ok(())
                }
            },
            Event::Rows(rows) => {
                let images = self.documents.rows(&rows)?;
                let rows = RowsEvent { rows: RowsData::Plain(&images), ..rows };
                self.send(&header, &rows, header.end_log_pos)
            }
            Event::XaPrepare(_) => {
                self.send(&header, &XidEvent(0), header.end_log_pos)?;
                self.end_of_group(&header)
            }
            Event::RowsQuery(rows_query) if self.wishes.annotations => {
                self.send(&header, &MariadbAnnotateRowsEvent { sql: rows_query.sql }, header.end_log_pos)
            }
            Event::RowsQuery(_) => Ok(()),
            // A group that begins with neither BEGIN nor a statement: none is written here.
            _ => Err(EventError::Unsupported("event group without a statement at its start").into()),
        }
    }

    /// True for the map of a table that may have JSON columns, and for rows of one that has.
    fn has_documents(&self, header: &EventHeader, bytes: &[u8]) -> bool {
        const TABLE_ID_LEN: usize = 6;
        if header.event_type == EventType::TABLE_MAP {
            // The number of the type, or one by chance.
            return bytes.contains(&code::JSON);
        }
        let id = bytes.get(EventHeader::LEN..EventHeader::LEN + TABLE_ID_LEN);
        !self.documents.is_empty()
            && RowsEvent::is_rows(header.event_type)
            && id.is_some_and(|id| self.documents.has(id.iter().rev().fold(0, |n, &b| n << 8 | u64::from(b))))
    }

    /// The file's format with MariaDB's types. It is longer than in the file, and so has no place
    /// there.
    fn format_description(&mut self, header: &EventHeader, bytes: &[u8]) -> Result<(), Failure> {
        self.format = decode_format_description(bytes)?;
        let wide = self.format.clone().with_mariadb_types();
        let header = EventHeader { flags: header.flags & !flags::BINLOG_IN_USE, ..*header };
        self.send(&header, &wide, 0)
    }

    fn gtid_list(&mut self, end_log_pos: u32) -> Result<(), Failure> {
        let last = MariadbGtid { domain_id: DOMAIN, server_id: self.server_id, sequence: self.before };
        let gtids = if self.before > 0 { vec![last] } else { Vec::new() };
        self.send_artificial(&MariadbGtidListEvent { flags: 0, gtids }, end_log_pos)
    }

    /// A GTID event's group shows what it is: rows, definitions, a phase of XA.
    fn first_of_group(
        &mut self,
        HeldGtid { header, gtid }: HeldGtid,
        first: &EventHeader,
        query: &QueryEvent<'_>,
    ) -> Result<(), Failure> {
        let sql = &query.sql[..];
        let mut event = self.gtid_event(&header, &gtid);
        self.current = Some(event.gtid);
        let xid = statements::xid(sql)?;
        if let Some((phase, xid)) = &xid {
            let in_one_phase =
                || self.payload_in_one_phase.unwrap_or_else(|| self.ends_in_one_phase(&header, &gtid, xid));
            self.one_phase = *phase == Phase::First && in_one_phase();
            event.flags |= match phase {
                Phase::First if self.one_phase => 0,
                Phase::First => gtid_flags::PREPARED_XA,
                Phase::Second => gtid_flags::COMPLETED_XA | gtid_flags::STANDALONE,
            };
            event.xid = (!self.one_phase).then_some((xid.format, &xid.gtrid, &xid.bqual));
        }
        let opens = sql == b"BEGIN" || matches!(&xid, Some((Phase::First, _)));
        if gtid.may_have_statements && xid.is_none() {
            self.batch = 0;
            event.commit_id = None;
            event.flags = gtid_flags::DDL | gtid_flags::ALLOW_PARALLEL;
            event.flags |= if opens { 0 } else { gtid_flags::STANDALONE };
        }
        if opens {
            return self.send(&header, &event, first.end_log_pos);
        }
        if statements::is_of_accounts(sql) {
            event.flags = gtid_flags::TRANSACTIONAL | gtid_flags::ALLOW_PARALLEL;
            self.send(&header, &event, header.end_log_pos)?;
            self.send(first, &XidEvent(0), first.end_log_pos)?;
            return self.end_of_group(first);
        }
        self.send(&header, &event, header.end_log_pos)?;
        self.query(first, query)?;
        self.end_of_group(first)
    }

    /// Whether an XA transaction's group, of which this is the first event, ends in one phase:
    /// reads its last event, whose offset follows from the lengths.
    fn ends_in_one_phase(&self, header: &EventHeader, gtid: &GtidEvent, xid: &Xid) -> bool {
        let start = header.end_log_pos.wrapping_sub(header.event_length);
        // The count may lag behind by what was omitted, or be ahead by what grew.
        let ahead = (self.count as u32).wrapping_sub(start) as i32;
        let start = self.count.wrapping_add_signed(-i64::from(ahead));
        let last = XaPrepareEvent {
            one_phase: true,
            format_id: xid.format as i32,
            gtrid: &xid.gtrid,
            bqual: &xid.bqual,
        };
        let mut bytes = Vec::new();
        last.encode_body(&mut bytes);
        let length = (EventHeader::LEN + bytes.len() + CHECKSUM_LEN) as u64;
        let files = self.log.files();
        let file = files.iter().find(|file| file.name.as_bytes() == self.file);
        let (Some(file), Some(commit)) = (file, gtid.commit) else { return false };
        let Some(at) = (start + commit.transaction_length).checked_sub(length) else { return false };
        // Where no event begins there, the group ends in another way.
        let Ok(mut reader) = self.log.reader(LogPosition::new(file.number, at)) else { return false };
        match reader.next(Duration::ZERO) {
            Ok(Some(event)) => {
                matches!(decode(event.bytes, event.fde), Ok(Event::XaPrepare(found)) if found == last)
            }
            _ => false,
        }
    }

    /// The event of a transaction of rows (M3).
    fn gtid_event<'b>(&mut self, header: &EventHeader, gtid: &GtidEvent) -> MariadbGtidEvent<'b> {
        if self.batch == 0 || gtid.last_committed >= self.batch {
            self.batch = gtid.sequence_number;
        }
        let sequence = self.before + gtid.sequence_number;
        MariadbGtidEvent {
            gtid: MariadbGtid { domain_id: DOMAIN, server_id: header.server_id, sequence },
            flags: gtid_flags::TRANSACTIONAL | gtid_flags::ALLOW_PARALLEL,
            commit_id: Some(self.before + self.batch),
            xid: None,
            extra_flags: 0,
        }
    }

    fn query(&mut self, header: &EventHeader, query: &QueryEvent<'_>) -> Result<(), Failure> {
        self.send(header, &statements::translated(query), header.end_log_pos)
    }

    /// A payload's events. They have no offsets of their own in the file; all carry the payload's
    /// end.
    fn payload(
        &mut self,
        header: &EventHeader,
        payload: &TransactionPayloadEvent<'_>,
    ) -> Result<(), Failure> {
        let limit = binlog::event::EVENT_LENGTH_MAX as usize;
        self.payload_in_one_phase = Some(events::ends_in_one_phase(&mut payload.events(limit)?)?);
        let mut events = payload.events(limit)?;
        while let Some(inner) = events.next_event()? {
            let inner_header = EventHeader::decode(inner)?;
            let mut whole = Vec::with_capacity(inner.len() + CHECKSUM_LEN);
            put_event(&mut whole, &inner_header, header.end_log_pos, self.format.checksum, |out| {
                out.extend_from_slice(&inner[EventHeader::LEN..]);
            });
            self.translate(&whole)?;
        }
        self.payload_in_one_phase = None;
        Ok(())
    }

    /// After a group's last event: (M2), and the end of what is wanted.
    fn end_of_group(&mut self, last: &EventHeader) -> Result<(), Failure> {
        self.one_phase = false;
        self.documents.clear();
        if self.wishes.state.is_none() {
            self.correct(last.end_log_pos)?;
        }
        if let (Some(gtid), Some(until)) = (self.current.take(), self.wishes.until)
            && gtid.sequence >= until.sequence
        {
            self.ended = true;
            let flags = MariadbGtidListEvent::UNTIL_REACHED;
            self.send_artificial(&MariadbGtidListEvent { flags, gtids: vec![gtid] }, last.end_log_pos)?;
        }
        Ok(())
    }

    /// (M2), where the log's offset is `end_log_pos`.
    fn correct(&mut self, end_log_pos: u32) -> Result<(), Failure> {
        let ahead = (self.count as u32).wrapping_sub(end_log_pos) as i32;
        if ahead != 0 {
            let position = self.count.wrapping_add_signed(-i64::from(ahead));
            let file_name = std::mem::take(&mut self.file);
            self.send_artificial(&RotateEvent { position, file_name: &file_name }, 0)?;
            (self.file, self.count) = (file_name, position);
            let mut format = self.format.clone().with_mariadb_types();
            format.create_timestamp = 0;
            self.send_artificial(&format, 0)?;
        }
        Ok(())
    }

    /// Sends an event instead of one that has this header.
    fn send(
        &mut self,
        header: &EventHeader,
        event: &impl EncodeEvent,
        end_log_pos: u32,
    ) -> Result<(), Failure> {
        let mut out = std::mem::take(&mut self.out);
        out.clear();
        let of = EventHeader {
            event_type: event.event_type(),
            flags: header.flags & !flags::IGNORABLE | event.header_flags(),
            ..*header
        };
        put_event(&mut out, &of, end_log_pos, self.format.checksum, |out| event.encode_body(out));
        self.stream.event(&out)?;
        let sent = EventHeader { event_length: out.len() as u32, end_log_pos, ..of };
        self.out = out;
        self.counted(&sent);
        Ok(())
    }

    /// Sends an event that is in no file.
    fn send_artificial(&mut self, event: &impl EncodeEvent, end_log_pos: u32) -> Result<(), Failure> {
        let header = EventHeader {
            timestamp: 0,
            event_type: event.event_type(),
            server_id: self.server_id,
            event_length: 0,
            end_log_pos,
            flags: flags::ARTIFICIAL,
        };
        self.send(&header, event, end_log_pos)
    }

    /// What the replica's count becomes by an event: (M1).
    fn counted(&mut self, header: &EventHeader) {
        let end = u64::from(header.end_log_pos);
        self.count = match header.event_type {
            EventType::FORMAT_DESCRIPTION | EventType::ROTATE => self.count,
            EventType::MARIADB_GTID_LIST => self.count.max(end),
            _ => (self.count + u64::from(header.event_length)).max(end),
        };
    }
}

#[cfg(test)]
mod tests;
