//! One transaction's part of the log: built by its session, stamped by the group-commit leader.
//!
//! 1. The session appends events to a [`GroupBuilder`] as its statements change rows. Rows of one
//!    statement, table and kind share an event up to `binlog_row_event_max_size`. A savepoint is a
//!    [`Mark`]; going back to it cuts the bytes.
//! 2. At commit the builder becomes an [`EventGroup`]: every event complete but for `end_log_pos`
//!    (0), the CRC of each large one computed over that, in parallel with other sessions.
//! 3. The leader stamps it: writes the GTID event, copies the bytes once, and for each event
//!    patches `end_log_pos` and sets the CRC: of a small event by summing it, of a large one by
//!    moving the session's CRC along with one multiplication (`event/checksum.rs`). So it never
//!    reads a large body, and a group of a gigabyte costs the leader its memcpy;
//!    [`EventGroup::stamp_in_place`] saves even that, where the log writes the group's own buffer
//!    after the GTID event.
//!
//! A transaction that memory should not hold goes another way from step 1 on: its finished events
//! move to a file of their own (`spilled.rs`), which becomes a part of the log as it is
//! (`log/large.rs`).
//!
//! (B1) `stamped_len_max` is known before the GTID is, and exact for one without a tag.
//! (B2) Bytes before a mark never change by what follows it, except the length of the rows event
//!      that was open at the mark, which is written again when that event is closed, and what
//!      stamping sets.

mod finished;
mod payload;
mod spilled;

use std::num::NonZeroU32;

use crate::event::checksum::position_factor;
use crate::event::{
    CHECKSUM_LEN, EncodeEvent, EncodedTableMap, EventHeader, EventType, QueryEvent, RowsKind, RowsQueryEvent,
    XidEvent, rows_flags,
};
use finished::{Body, Boundary};
use smallvec::SmallVec;
use spilled::Spilled;

pub use finished::{EventGroup, GtidStamp};

/// What all events of a group share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupContext {
    /// `server_id`; of the first server where a replica applies its transactions.
    pub server_id: u32,
    /// When the statement (or transaction) started, seconds since 1970: every event's timestamp.
    pub timestamp: u32,
    /// This server's version as a number, 80408 for 8.4.8.
    pub server_version: u32,
    /// When and by which version the transaction was first committed, where that was another
    /// server.
    pub original: Option<OriginalCommit>,
    /// `binlog_row_metadata=FULL`: maps of tables say all of their columns.
    pub full_metadata: bool,
    /// `binlog_transaction_compression`: its events go into one, compressed.
    pub compress: bool,
    /// What the statement asks of an applier of its rows: [`rows_flags::NO_FOREIGN_KEY_CHECKS`],
    /// [`rows_flags::RELAXED_UNIQUE_CHECKS`].
    pub rows_flags: u16,
    /// `binlog_row_event_max_size`: a rows event ends before it has more bytes of rows, unless one
    /// row has.
    pub row_event_max_size: usize,
}

/// The first commit of a replicated transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OriginalCommit {
    /// Microseconds since 1970.
    pub timestamp: u64,
    /// That server's version as a number.
    pub server_version: u32,
}

impl GroupContext {
    /// MySQL's default of `binlog_row_event_max_size`.
    pub(crate) const ROW_EVENT_MAX_SIZE: usize = 8192;

    /// A transaction of this server.
    pub fn new(server_id: u32, timestamp: u32, server_version: u32) -> Self {
        Self {
            server_id,
            timestamp,
            server_version,
            original: None,
            full_metadata: false,
            compress: false,
            rows_flags: 0,
            row_event_max_size: Self::ROW_EVENT_MAX_SIZE,
        }
    }
}

/// What the rows of an event have in common.
#[derive(Clone, Copy)]
struct RowsShape<'a> {
    table_id: u64,
    /// How many the table has.
    columns: usize,
    /// Bitmaps of the columns that are in the images, before and after; `None` if all are.
    present: Option<&'a [u8]>,
}

impl RowsShape<'_> {
    fn full(table_id: u64, columns: usize) -> Self {
        Self { table_id, columns, present: None }
    }
}

/// The rows event that more rows may be added to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct OpenRows {
    kind: RowsKind,
    table_id: u64,
    columns: usize,
    /// Its images lack columns.
    is_partial: bool,
    start: usize,
    rows_start: usize,
}

/// Summing this many bytes takes as long as moving a sum along, some 20 ns (`benches/events.rs`).
const SUMMED_BY_LEADER_MAX: usize = 512;

/// A place to go back to: a savepoint, or a statement's start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    bytes: usize,
    events: usize,
    open: Option<OpenRows>,
    keys: usize,
}

/// Room that a group begins with: a transaction of a few small rows needs no more, and does not
/// grow step by step.
const SMALL_BYTES: usize = 1024;
/// The same for the ends of its events.
const SMALL_EVENTS: usize = 16;
/// However large a group is expected to be, more room is made only when it is needed.
const ROOM_MAX: usize = 8 << 10;

/// Collects a transaction's events. Offsets count from the first byte of the group, wherever it is.
#[derive(Debug)]
pub struct GroupBuilder {
    context: GroupContext,
    /// What is in memory: all, or what is after the spilled events.
    bytes: Vec<u8>,
    /// The room that `bytes` begins with.
    room: usize,
    /// Ends of the finished events in memory.
    events: Vec<Boundary>,
    open: Option<OpenRows>,
    /// The events in front of those in memory.
    spilled: Option<Box<Spilled>>,
    /// Hashes of keys that its rows have or had; more than [`KEYS_MAX`] are not all.
    keys: Keys,
    /// It changes more than rows.
    defines: bool,
}

/// Hashes of keys. Those of a small transaction need no memory of their own.
type Keys = SmallVec<[u64; 4]>;

/// A transaction that writes more keys does not report them: what follows depends on it, whatever
/// it wrote.
const KEYS_MAX: usize = 1 << 16;

/// Offset of the flags in a rows event: header, table id.
const ROWS_FLAGS_OFFSET: usize = EventHeader::LEN + 6;
/// Rows events v2 have two bytes of extra data at least: their own length.
const NO_EXTRA_DATA: [u8; 2] = [2, 0];

impl GroupBuilder {
    /// An empty group.
    pub fn new(context: GroupContext) -> Self {
        let (bytes, events) = (Vec::new(), Vec::new());
        let room = SMALL_BYTES;
        Self { context, bytes, room, events, open: None, spilled: None, keys: Keys::new(), defines: false }
    }

    /// Says how many bytes the group will about have, as the one before had: then it need not grow
    /// on the way.
    pub fn expect(&mut self, bytes: usize) {
        // Texts differ in length, and the last event is yet to come.
        self.room = (bytes.min(ROOM_MAX) * 9 / 8 + 64).min(ROOM_MAX);
    }

    /// True before the first event.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes so far.
    pub fn len(&self) -> usize {
        self.base() + self.bytes.len()
    }

    /// Of these, the bytes in memory, and what is kept with them.
    pub fn memory(&self) -> usize {
        self.bytes.len() + size_of_val(&self.keys[..])
    }

    /// Bytes that are not in memory.
    fn base(&self) -> usize {
        self.spilled.as_ref().map_or(0, |s| s.len())
    }

    /// The session's context; its timestamp is that of the events to come, its flags those of rows
    /// events to be finished.
    pub fn context_mut(&mut self) -> &mut GroupContext {
        &mut self.context
    }

    /// `BEGIN`, once, before the first row event.
    pub fn begin(&mut self, query: &impl EncodeEvent) {
        self.bytes.reserve(self.room);
        self.events.reserve(SMALL_EVENTS);
        self.event(query);
    }

    /// The statement that the rows after come from.
    pub fn rows_query(&mut self, sql: &[u8]) {
        self.event(&RowsQueryEvent { sql });
    }

    /// The table that rows after it are in: once for each table of a statement, before its rows.
    pub fn table_map(&mut self, table: &EncodedTableMap) {
        self.event(table);
    }

    /// Any event that belongs between the GTID and the end.
    pub fn event(&mut self, event: &impl EncodeEvent) {
        self.close_rows(0);
        let start = self.start_event(event.event_type(), event.header_flags());
        event.encode_body(&mut self.bytes);
        self.finish_event(start);
    }

    /// A row that was inserted: its full image.
    pub fn write_row(&mut self, table_id: u64, columns: usize, after: &[u8]) {
        self.open_rows(RowsKind::Write, RowsShape::full(table_id, columns), after.len());
        self.bytes.extend_from_slice(after);
    }

    /// A row that was changed: its full images before and after.
    pub fn update_row(&mut self, table_id: u64, columns: usize, before: &[u8], after: &[u8]) {
        self.open_rows(RowsKind::Update, RowsShape::full(table_id, columns), before.len() + after.len());
        self.bytes.extend_from_slice(before);
        self.bytes.extend_from_slice(after);
    }

    /// A row that was changed: images of the columns whose bits are set in `present`, which has a
    /// bitmap for the row before and one for the row after.
    pub fn update_columns(
        &mut self,
        table_id: u64,
        columns: usize,
        present: &[u8],
        before: &[u8],
        after: &[u8],
    ) {
        self.open_rows(
            RowsKind::Update,
            RowsShape { table_id, columns, present: Some(present) },
            before.len() + after.len(),
        );
        self.bytes.extend_from_slice(before);
        self.bytes.extend_from_slice(after);
    }

    /// A row that was deleted: the image of the columns whose bits are set in `present`.
    pub fn delete_columns(&mut self, table_id: u64, columns: usize, present: &[u8], before: &[u8]) {
        self.open_rows(
            RowsKind::Delete,
            RowsShape { table_id, columns, present: Some(present) },
            before.len(),
        );
        self.bytes.extend_from_slice(before);
    }

    /// A row that was deleted: its full image.
    pub fn delete_row(&mut self, table_id: u64, columns: usize, before: &[u8]) {
        self.open_rows(RowsKind::Delete, RowsShape::full(table_id, columns), before.len());
        self.bytes.extend_from_slice(before);
    }

    /// The hash of a key that a row had or has: a primary key, or a unique one that is taken or
    /// given up. A transaction that wrote a key of the same hash before is what this one depends
    /// on.
    pub fn writes_key(&mut self, hash: u64) {
        if self.keys.len() <= KEYS_MAX && self.keys.last() != Some(&hash) {
            self.keys.push(hash);
        }
    }

    /// A statement that makes tables, before their rows.
    pub fn define(&mut self, query: &QueryEvent<'_>) {
        self.defines = true;
        self.event(query);
    }

    /// Ends a statement: its last rows event says so, and the tables mapped for it are forgotten by
    /// readers.
    pub fn end_statement(&mut self) {
        self.close_rows(rows_flags::STMT_END);
    }

    /// Where the group is now, for [`Self::truncate`].
    pub fn mark(&self) -> Mark {
        let spilled = self.spilled.as_ref().map_or(0, |s| s.events());
        Mark {
            bytes: self.len(),
            events: spilled + self.events.len(),
            open: self.open,
            keys: self.keys.len(),
        }
    }

    /// Forgets what came after the mark. Marks taken after it are void.
    pub fn truncate(&mut self, to: Mark) {
        if to.bytes < self.base() {
            self.truncate_spilled(to);
        } else {
            let spilled = self.spilled.as_ref().map_or(0, |s| s.events());
            self.bytes.truncate(to.bytes - self.base());
            self.events.truncate(to.events - spilled);
        }
        self.open = to.open;
        self.keys.truncate(to.keys);
    }

    /// Completes a transaction of row changes with its XID.
    pub fn finish_xid(mut self, xid: u64) -> EventGroup {
        self.event(&XidEvent(xid));
        self.finish(false)
    }

    /// Completes a DDL statement's group, which holds nothing else.
    pub fn finish_ddl(mut self, query: &QueryEvent<'_>) -> EventGroup {
        self.event(query);
        self.finish(true)
    }

    /// Completes a group whose last event was appended already. `may_have_statements` is the GTID
    /// event's flag.
    pub fn finish(mut self, may_have_statements: bool) -> EventGroup {
        self.close_rows(0);
        let may_have_statements = may_have_statements || self.defines;
        if self.context.compress && !may_have_statements {
            self.compress();
        }
        let (len, event_count) = (self.len(), self.mark().events + 1);
        let Self { context, mut bytes, mut events, spilled, mut keys, .. } = self;
        if keys.len() > KEYS_MAX || may_have_statements {
            keys = Keys::new();
        }
        if let Some(spilled) = spilled {
            let body = Body::Spilled { spilled, in_memory: bytes, events };
            return EventGroup { context, may_have_statements, len, event_count, keys, body };
        }
        let mut start = 0;
        for Boundary { end, factor } in &mut events {
            bytes[start + EventHeader::END_LOG_POS_OFFSET..][..4].fill(0);
            let (event, crc) = bytes[start..*end].split_at_mut(*end - start - CHECKSUM_LEN);
            start = *end;
            if event.len() > SUMMED_BY_LEADER_MAX {
                crc.copy_from_slice(&crc32fast::hash(event).to_le_bytes());
                // A power of x is never 0: x has an inverse.
                *factor = NonZeroU32::new(position_factor(event.len()));
            }
        }
        let body = Body::Memory { bytes, events };
        EventGroup { context, may_have_statements, len, event_count, keys, body }
    }

    /// Makes sure that an event for such rows is open and has room for `row_len` bytes.
    fn open_rows(&mut self, kind: RowsKind, shape: RowsShape<'_>, row_len: usize) {
        let RowsShape { table_id, columns, present } = shape;
        if let Some(open) = self.open {
            let same = (open.kind, open.table_id, open.columns, open.is_partial)
                == (kind, table_id, columns, present.is_some());
            let same = same && present.is_none_or(|present| self.has_bitmaps(&open, present));
            if same && self.len() - open.rows_start + row_len <= self.context.row_event_max_size {
                return;
            }
            self.close_rows(0);
        }
        let start = self.start_event(rows_type(kind), 0);
        self.bytes.extend_from_slice(&table_id.to_le_bytes()[..6]);
        self.bytes.extend_from_slice(&0_u16.to_le_bytes()); // flags: set when closed
        self.bytes.extend_from_slice(&NO_EXTRA_DATA);
        stdx::cursor::put_lenenc(&mut self.bytes, columns as u64);
        match present {
            Some(present) => self.bytes.extend_from_slice(present),
            None => {
                let bitmaps = if kind == RowsKind::Update { 2 } else { 1 };
                // All columns are present. Like MySQL, unused bits of the last byte are set too.
                self.bytes.resize(self.bytes.len() + bitmaps * columns.div_ceil(8), 0xff);
            }
        }
        let (is_partial, rows_start) = (present.is_some(), self.len());
        self.open = Some(OpenRows { kind, table_id, columns, is_partial, start, rows_start });
    }

    /// True if these stand in front of the rows of an open event.
    fn has_bitmaps(&self, open: &OpenRows, present: &[u8]) -> bool {
        self.bytes[..open.rows_start - self.base()].ends_with(present)
    }

    fn close_rows(&mut self, flags: u16) {
        if let Some(open) = self.open.take() {
            let at = open.start - self.base() + ROWS_FLAGS_OFFSET;
            let flags = flags | self.context.rows_flags;
            self.bytes[at..at + 2].copy_from_slice(&flags.to_le_bytes());
            self.finish_event(open.start);
        }
    }

    fn start_event(&mut self, event_type: EventType, flags: u16) -> usize {
        let start = self.len();
        let header = EventHeader {
            timestamp: self.context.timestamp,
            event_type,
            server_id: self.context.server_id,
            event_length: 0,
            end_log_pos: 0,
            flags,
        };
        self.bytes.extend_from_slice(&header.encode());
        start
    }

    /// Fills the length in and leaves room for the checksum.
    fn finish_event(&mut self, start: usize) {
        self.bytes.extend_from_slice(&[0; CHECKSUM_LEN]);
        let length = u32::try_from(self.len() - start)
            .expect("an event fits 4 GiB: its row is bounded by max_allowed_packet");
        let at = start - self.base() + EventHeader::LENGTH_OFFSET;
        self.bytes[at..at + 4].copy_from_slice(&length.to_le_bytes());
        self.events.push(Boundary::at(self.len()));
    }
}

fn rows_type(kind: RowsKind) -> EventType {
    match kind {
        RowsKind::Write => EventType::WRITE_ROWS,
        RowsKind::Update => EventType::UPDATE_ROWS,
        RowsKind::Delete => EventType::DELETE_ROWS,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::event::{self, Event, FormatDescription};
    use crate::gtid::{Gtid, Source, Tag, Uuid};

    #[test]
    fn a_group_begins_with_the_room_that_is_expected_of_it() {
        for (expected, room) in [(None, SMALL_BYTES), (Some(1600), 1864), (Some(usize::MAX), ROOM_MAX)] {
            let mut group = GroupBuilder::new(GroupContext::new(1, 1, 80_408));
            expected.into_iter().for_each(|bytes| group.expect(bytes));
            group.begin(&QueryEvent::new(1, b"db", b"BEGIN"));
            assert_eq!(group.bytes.capacity(), room);
        }
    }

    fn builder() -> GroupBuilder {
        GroupBuilder::new(GroupContext::new(7, 1_795_225_863, 80408))
    }

    fn stamp() -> GtidStamp {
        let gtid = Some(Gtid::new(Uuid([9; 16]), 5));
        GtidStamp { gtid, last_committed: 2, sequence_number: 3, commit_timestamp: 1_795_225_863_000_001 }
    }

    /// Walks the events, checks lengths, positions and CRCs, and returns their types.
    fn types(bytes: &[u8], start: u64) -> Vec<EventType> {
        let fde = FormatDescription::new("8.4.8", 0);
        let (mut at, mut types) = (0, Vec::new());
        while at < bytes.len() {
            let header = EventHeader::decode(&bytes[at..]).unwrap();
            let event = &bytes[at..at + header.event_length as usize];
            event::decode(event, &fde).unwrap();
            at += event.len();
            assert_eq!(header.end_log_pos, (start + at as u64) as u32);
            types.push(header.event_type);
        }
        types
    }

    #[test]
    fn a_stamped_group_is_whole() {
        for start in [4, 197, u64::from(u32::MAX) - 100, 1 << 39] {
            let mut b = builder();
            b.begin(&QueryEvent::new(1, b"db", b"BEGIN"));
            b.write_row(100, 3, &[0, 1, 2]);
            b.write_row(100, 3, &[0, 3, 4]);
            b.update_row(100, 3, &[0, 3, 4], &[0, 5, 6]);
            b.end_statement();
            b.rows_query(&[b'x'; 1000]); // large enough for a sum that is moved along
            let group = b.finish_xid(77);
            let mut out = vec![1, 2, 3];
            group.stamp(&stamp(), start, &mut out);
            assert_eq!(out.len() - 3, group.stamped_len_max(Tag::NONE));
            let expected = [EventType::GTID, EventType::QUERY, EventType::WRITE_ROWS, EventType::UPDATE_ROWS];
            assert_eq!(
                types(&out[3..], start),
                [&expected[..], &[EventType::ROWS_QUERY, EventType::XID]].concat()
            );
            let mut in_place = vec![1, 2, 3];
            let body = group.stamp_in_place(&stamp(), start, &mut in_place);
            in_place.extend_from_slice(&body);
            assert_eq!(in_place, out);
        }
    }

    /// A stamp with a tag, and numbers of as many bits as these.
    fn tagged_stamp(tag: Tag, bits: u32) -> GtidStamp {
        let (number, source) = ((1 << bits) - 1, Source { uuid: Uuid([0x81; 16]), tag });
        let gtid = Some(Gtid::new(source, number));
        GtidStamp { gtid, last_committed: number - 1, sequence_number: number, ..stamp() }
    }

    #[test]
    fn a_stamped_group_with_a_tag_is_whole() {
        let tags = ["t", "a_tag", "a_tag_of_thirty_two_characters__"].map(|tag| tag.parse().unwrap());
        for (tag, bits) in tags.into_iter().flat_map(|tag| (1..63).map(move |bits| (tag, bits))) {
            let (stamp, start) = (tagged_stamp(tag, bits), 197);
            let mut b = builder();
            b.begin(&QueryEvent::new(1, b"db", b"BEGIN"));
            b.rows_query(&[b'x'; 1000]);
            let group = b.finish_xid(77);
            let mut out = vec![1, 2, 3];
            group.stamp(&stamp, start, &mut out);
            assert!(out.len() - 3 <= group.stamped_len_max(tag));
            let expected = [EventType::GTID_TAGGED, EventType::QUERY, EventType::ROWS_QUERY, EventType::XID];
            assert_eq!(types(&out[3..], start), expected);
            let length = EventHeader::decode(&out[3..]).unwrap().event_length as usize;
            assert_eq!(group.gtid_event_before(start + length as u64, &stamp), out[3..3 + length]);
            let mut in_place = vec![1, 2, 3];
            let body = group.stamp_in_place(&stamp, start, &mut in_place);
            in_place.extend_from_slice(&body);
            assert_eq!(in_place, out);
        }
    }

    #[test]
    fn transaction_length_counts_itself_at_each_width() {
        let fde = FormatDescription::new("8.4.8", 0);
        let tagged = tagged_stamp("tag".parse().unwrap(), 20);
        let lengths = (0..300)
            .chain(16_100..16_384)
            .chain(65_300..65_600)
            .chain(2_096_950..2_096_960)
            .chain(16_777_000..16_777_020)
            .chain([16_777_100, 16_778_000]);
        for (body, stamp) in lengths.flat_map(|body| [(body, stamp()), (body, tagged)]) {
            let sql = vec![b'x'; body];
            let group = builder().finish_ddl(&QueryEvent::new(1, b"", &sql));
            let mut out = Vec::new();
            group.stamp(&stamp, 4, &mut out);
            let length = EventHeader::decode(&out).unwrap().event_length as usize;
            let Event::Gtid(gtid) = event::decode(&out[..length], &fde).unwrap() else { panic!() };
            assert_eq!(gtid.commit.unwrap().transaction_length, out.len() as u64);
            assert_eq!(gtid.gtid, stamp.gtid);
            assert!(gtid.may_have_statements);
        }
    }

    #[test]
    fn going_back_to_a_mark_inside_an_open_event() {
        let build = |go_back: bool| {
            let mut b = builder();
            b.write_row(1, 2, &[0, 1, 1]);
            if go_back {
                let mark = b.mark();
                b.write_row(1, 2, &[0, 9, 9]);
                b.end_statement();
                b.delete_row(1, 2, &[0, 1, 1]);
                b.truncate(mark);
            }
            b.write_row(1, 2, &[0, 2, 2]);
            b.end_statement();
            let mut out = Vec::new();
            b.finish_xid(1).stamp(&stamp(), 4, &mut out);
            out
        };
        assert_eq!(build(true), build(false));
    }

    #[test]
    fn rows_events_end_at_their_maximum() {
        let mut b = builder();
        b.context_mut().row_event_max_size = 10;
        for _ in 0..5 {
            b.write_row(1, 2, &[0, 1, 2, 3]);
        }
        b.write_row(1, 2, &[0; 100]);
        let mut out = Vec::new();
        b.finish_xid(1).stamp(&stamp(), 4, &mut out);
        let rows = types(&out, 4).iter().filter(|&&t| t == EventType::WRITE_ROWS).count();
        assert_eq!(rows, 4);
    }
}
