//! Decoding one event after another: remembers the format description and the tables that row
//! events refer to.
//!
//! Table maps hold until the row event that ends their statement. How much of them is kept is
//! bounded, for a damaged stream may never end a statement.

use std::collections::HashMap;
use std::sync::Arc;

use super::{
    Event, EventError, EventHeader, EventType, FormatDescription, RowsEvent, TableMapEvent, decode_body,
    decode_format_description, rows_flags, split,
};

/// Bytes of table-map events that one statement may have.
const TABLE_MAPS_MAX: usize = 64 << 20;

/// What is needed to understand the next event of a file or stream.
#[derive(Debug, Clone)]
pub struct Decoder {
    format: FormatDescription,
    tables: HashMap<u64, Arc<TableMapEvent>>,
    table_bytes: usize,
    /// The last row event ended its statement: its tables go when the next event comes.
    statement_ended: bool,
}

impl Decoder {
    /// Starts with a known format: events of any kind may come.
    pub fn new(format: FormatDescription) -> Self {
        Self { format, tables: HashMap::new(), table_bytes: 0, statement_ended: false }
    }

    /// The format of the events that come next.
    pub fn format(&self) -> &FormatDescription {
        &self.format
    }

    /// The table that a row event of the current statement is about.
    pub fn table(&self, table_id: u64) -> Option<&Arc<TableMapEvent>> {
        self.tables.get(&table_id)
    }

    /// The table of a row event.
    ///
    /// # Errors
    /// If no table map of this statement has its number.
    pub fn table_of(&self, rows: &RowsEvent<'_>) -> Result<&Arc<TableMapEvent>, EventError> {
        self.table(rows.table_id).ok_or(EventError::Malformed("rows event without a table map"))
    }

    /// Decodes the next event, whose bytes these are.
    ///
    /// # Errors
    /// Any [`EventError`].
    pub fn decode<'a>(&mut self, bytes: &'a [u8]) -> Result<(EventHeader, Event<'a>), EventError> {
        if std::mem::take(&mut self.statement_ended) {
            self.forget_tables();
        }
        let (header, body) = split(bytes, &self.format)?;
        if header.event_type == EventType::FORMAT_DESCRIPTION {
            self.format = decode_format_description(bytes)?;
            self.forget_tables();
            return Ok((header, Event::FormatDescription(self.format.clone())));
        }
        let event = decode_body(&header, body, &self.format)?;
        match &event {
            Event::TableMap(table) => self.remember(table, bytes.len())?,
            Event::Rows(rows) => self.statement_ended = rows.flags & rows_flags::STMT_END != 0,
            // A group's end, whatever came of its statements.
            Event::Xid(_) | Event::Gtid(_) | Event::MariadbGtid(_) => self.forget_tables(),
            _ => {}
        }
        Ok((header, event))
    }

    fn remember(&mut self, table: &TableMapEvent, bytes: usize) -> Result<(), EventError> {
        self.table_bytes += bytes;
        if self.table_bytes > TABLE_MAPS_MAX {
            return Err(EventError::TooLarge(self.table_bytes as u64));
        }
        self.tables.insert(table.table_id, Arc::new(table.clone()));
        Ok(())
    }

    fn forget_tables(&mut self) {
        self.tables.clear();
        self.table_bytes = 0;
    }
}
