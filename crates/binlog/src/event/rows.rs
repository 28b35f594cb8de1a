//! Row events: which rows of a table were written, changed, deleted.
//!
//! | bytes | field |
//! | --- | --- |
//! | 6 | table id, as the table map before says |
//! | 2 | flags |
//! | 2+n | version 2: length of extra data (itself included), extra data |
//! | 1..9 | number of columns, length-encoded |
//! | (columns+7)/8 | present columns: of the row before (update, delete) or after (write) |
//! | (columns+7)/8 | updates: present columns of the row after |
//! | rest | rows, each an image, or two in updates |
//!
//! In a partial update each image after is preceded by a length-encoded integer of options; if its
//! bit 0 is set, bits for all JSON columns follow, which say whether the column holds changes
//! instead of a document.

use std::borrow::Cow;

use stdx::cursor::{Cursor, put_lenenc};

use super::compressed::Compressed;
use super::{EncodeEvent, EventError, EventType, TableMapEvent};
use crate::row::{ColumnType, code};
use crate::row::{RowError, RowImage};

/// What a row event does to its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RowsKind {
    /// Rows were inserted: images after.
    Write,
    /// Rows were changed: images before and after.
    Update,
    /// Rows were deleted: images before.
    Delete,
}

/// Bits of [`RowsEvent::flags`].
pub mod rows_flags {
    /// The statement's last row event.
    pub const STMT_END: u16 = 0x1;
    /// `foreign_key_checks` is off.
    pub const NO_FOREIGN_KEY_CHECKS: u16 = 0x2;
    /// `unique_checks` is off.
    pub const RELAXED_UNIQUE_CHECKS: u16 = 0x4;
    /// All columns are in the images.
    pub const COMPLETE_ROWS: u16 = 0x8;
    /// MySQL 9: foreign keys act in the SQL layer, their cascades are row events of their own.
    pub const USE_SQL_FOREIGN_KEY: u16 = 0x10;
    /// MariaDB: `check_constraint_checks` is off.
    pub const NO_CHECK_CONSTRAINT_CHECKS: u16 = 0x80;
}

/// A row event of any kind and version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowsEvent<'a> {
    /// What it does.
    pub kind: RowsKind,
    /// The header's type, which also says the version, and whether the event was compressed or is
    /// partial.
    pub event_type: EventType,
    /// The table's number.
    pub table_id: u64,
    /// See [`rows_flags`].
    pub flags: u16,
    /// Version 2's extra data: partitions, or what NDB adds.
    pub extra: &'a [u8],
    /// The number of columns.
    pub columns: usize,
    /// Present columns of the image before (update, delete) or after (write).
    pub present: &'a [u8],
    /// Present columns of an update's image after; empty otherwise.
    pub present_after: &'a [u8],
    /// The rows' images.
    pub rows: RowsData<'a>,
}

impl RowsEvent<'_> {
    /// True if an update's images after have this column.
    pub fn has_after(&self, column: usize) -> bool {
        crate::row::bit(self.present_after, column)
    }
}

/// The images of a row event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RowsData<'a> {
    /// As they are.
    Plain(&'a [u8]),
    /// In MariaDB's compressed events.
    Compressed(Compressed<'a>),
}

impl<'a> RowsData<'a> {
    /// The images; compressed ones are uncompressed if they have at most `limit` bytes then.
    ///
    /// # Errors
    /// Those of uncompressing.
    pub fn bytes(&self, limit: usize) -> Result<Cow<'a, [u8]>, EventError> {
        match self {
            RowsData::Plain(bytes) => Ok(Cow::Borrowed(bytes)),
            RowsData::Compressed(data) => data.uncompress(limit).map(Cow::Owned),
        }
    }
}

/// One row of a row event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowChange<'a> {
    /// The row before; `None` in writes.
    pub before: Option<RowImage<'a>>,
    /// The row after; `None` in deletes.
    pub after: Option<RowImage<'a>>,
}

impl<'a> RowsEvent<'a> {
    /// True for the types that this structure holds.
    pub fn is_rows(event_type: EventType) -> bool {
        Layout::of(event_type).is_some()
    }

    /// Reads the body of an event of type `event_type`, whose table id has `id_len` bytes.
    pub(super) fn decode(event_type: EventType, body: &'a [u8], id_len: usize) -> Result<Self, EventError> {
        let layout = Layout::of(event_type).ok_or(EventError::Unsupported("rows event"))?;
        let mut c = Cursor::new(body);
        let table_id = c.uint(id_len)?;
        let flags = c.u16()?;
        let extra = if layout.has_extra {
            let len = usize::from(c.u16()?);
            c.take(len.checked_sub(2).ok_or(EventError::Malformed("length of a rows event's extra data"))?)?
        } else {
            &[]
        };
        let columns = usize::try_from(c.lenenc()?).unwrap_or(usize::MAX);
        let bitmap = columns.div_ceil(8);
        let present = c.take(bitmap)?;
        let present_after = if layout.kind == RowsKind::Update { c.take(bitmap)? } else { &[] };
        let remaining = c.take_remaining();
        let rows = if layout.is_compressed {
            RowsData::Compressed(Compressed::new(remaining)?)
        } else {
            RowsData::Plain(remaining)
        };
        Ok(Self {
            kind: layout.kind,
            event_type,
            table_id,
            flags,
            extra,
            columns,
            present,
            present_after,
            rows,
        })
    }

    /// Walks the rows in `bytes`, which [`RowsData::bytes`] gave, by the columns of the event's
    /// table map.
    ///
    /// # Errors
    /// If the table map has another number of columns.
    pub fn iter<'b>(&self, table: &'b TableMapEvent, bytes: &'b [u8]) -> Result<RowChanges<'b>, EventError>
    where
        'a: 'b,
    {
        if table.columns.len() != self.columns {
            return Err(EventError::Malformed("rows event and table map differ in their columns"));
        }
        Ok(RowChanges {
            kind: self.kind,
            is_partial: self.event_type == EventType::PARTIAL_UPDATE_ROWS,
            types: &table.columns,
            present: self.present,
            present_after: self.present_after,
            remaining: bytes,
        })
    }
}

/// What an event type says of the body.
struct Layout {
    kind: RowsKind,
    has_extra: bool,
    is_compressed: bool,
}

impl Layout {
    fn of(event_type: EventType) -> Option<Self> {
        let (kind, version, is_compressed) = match event_type {
            EventType::WRITE_ROWS => (RowsKind::Write, 2, false),
            EventType::UPDATE_ROWS | EventType::PARTIAL_UPDATE_ROWS => (RowsKind::Update, 2, false),
            EventType::DELETE_ROWS => (RowsKind::Delete, 2, false),
            EventType::WRITE_ROWS_V1 => (RowsKind::Write, 1, false),
            EventType::UPDATE_ROWS_V1 => (RowsKind::Update, 1, false),
            EventType::DELETE_ROWS_V1 => (RowsKind::Delete, 1, false),
            EventType::MARIADB_WRITE_ROWS_COMPRESSED => (RowsKind::Write, 2, true),
            EventType::MARIADB_UPDATE_ROWS_COMPRESSED => (RowsKind::Update, 2, true),
            EventType::MARIADB_DELETE_ROWS_COMPRESSED => (RowsKind::Delete, 2, true),
            EventType::MARIADB_WRITE_ROWS_COMPRESSED_V1 => (RowsKind::Write, 1, true),
            EventType::MARIADB_UPDATE_ROWS_COMPRESSED_V1 => (RowsKind::Update, 1, true),
            EventType::MARIADB_DELETE_ROWS_COMPRESSED_V1 => (RowsKind::Delete, 1, true),
            _ => return None,
        };
        Some(Self { kind, has_extra: version == 2, is_compressed })
    }
}

/// The rows of a row event, one by one. Ends after the first error.
#[derive(Debug, Clone)]
pub struct RowChanges<'a> {
    kind: RowsKind,
    is_partial: bool,
    types: &'a [ColumnType],
    present: &'a [u8],
    present_after: &'a [u8],
    remaining: &'a [u8],
}

impl<'a> RowChanges<'a> {
    fn next_change(&mut self) -> Result<RowChange<'a>, RowError> {
        let first = self.image(self.present)?;
        Ok(match self.kind {
            RowsKind::Write => RowChange { before: None, after: Some(first) },
            RowsKind::Delete => RowChange { before: Some(first), after: None },
            RowsKind::Update => {
                let partial = if self.is_partial { self.partial_bits()? } else { None };
                let after = self.image(self.present_after)?;
                let after = partial.map_or(after, |bits| after.with_partial(bits));
                RowChange { before: Some(first), after: Some(after) }
            }
        })
    }

    fn image(&mut self, present: &'a [u8]) -> Result<RowImage<'a>, RowError> {
        let (image, remaining) = RowImage::split(self.types, Some(present), self.remaining)?;
        self.remaining = remaining;
        Ok(image)
    }

    fn partial_bits(&mut self) -> Result<Option<&'a [u8]>, RowError> {
        const PARTIAL_JSON: u64 = 1;
        let mut c = Cursor::new(self.remaining);
        let options = c.lenenc()?;
        if options & !PARTIAL_JSON != 0 {
            return Err(RowError::Malformed("options of a partial update"));
        }
        let json = self.types.iter().filter(|ty| ty.code == code::JSON).count();
        let bits = if options & PARTIAL_JSON != 0 { Some(c.take(json.div_ceil(8))?) } else { None };
        self.remaining = c.remaining_slice();
        Ok(bits)
    }
}

impl<'a> Iterator for RowChanges<'a> {
    type Item = Result<RowChange<'a>, RowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.remaining.is_empty() {
            return None;
        }
        let before = self.remaining.len();
        let change = self.next_change();
        // Rows without any bytes would never end.
        let change = if self.remaining.len() == before {
            change.and(Err(RowError::Malformed("row without bytes")))
        } else {
            change
        };
        if change.is_err() {
            self.remaining = &[];
        }
        Some(change)
    }
}

/// Writes version 2 (or 1, as the type says); compressed rows are written as they were read.
impl EncodeEvent for RowsEvent<'_> {
    fn event_type(&self) -> EventType {
        self.event_type
    }

    fn encode_body(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.table_id.to_le_bytes()[..6]);
        out.extend_from_slice(&self.flags.to_le_bytes());
        if Layout::of(self.event_type).is_some_and(|layout| layout.has_extra) {
            out.extend_from_slice(&(self.extra.len() as u16 + 2).to_le_bytes());
            out.extend_from_slice(self.extra);
        }
        put_lenenc(out, self.columns as u64);
        out.extend_from_slice(self.present);
        out.extend_from_slice(self.present_after);
        match &self.rows {
            RowsData::Plain(bytes) => out.extend_from_slice(bytes),
            RowsData::Compressed(data) => out.extend_from_slice(data.stored()),
        }
    }
}
