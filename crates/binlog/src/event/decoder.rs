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

/// Bytes of memory that one statement's table maps may take.
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
            Event::TableMap(table) => self.remember(table)?,
            Event::Rows(rows) => self.statement_ended = rows.flags & rows_flags::STMT_END != 0,
            // A group's end, whatever came of its statements.
            Event::Xid(_) | Event::Gtid(_) | Event::MariadbGtid(_) => self.forget_tables(),
            _ => {}
        }
        Ok((header, event))
    }

    fn remember(&mut self, table: &TableMapEvent) -> Result<(), EventError> {
        self.table_bytes += table.memory();
        if self.table_bytes > TABLE_MAPS_MAX {
            return Err(EventError::Malformed("table maps of one statement take too much memory"));
        }
        let before = self.tables.insert(table.table_id, Arc::new(table.clone()));
        self.table_bytes -= before.map_or(0, |table| table.memory());
        Ok(())
    }

    fn forget_tables(&mut self) {
        self.tables.clear();
        self.table_bytes = 0;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::event::{ChecksumAlgorithm, EventOrigin, MetadataField, OptionalMetadata, append_event};
    use crate::row::{ColumnType, code};

    fn decode(decoder: &mut Decoder, map: &TableMapEvent) -> Result<(), EventError> {
        let mut bytes = Vec::new();
        append_event(&mut bytes, map, EventOrigin::default(), 4, ChecksumAlgorithm::Crc32);
        decoder.decode(&bytes).map(drop)
    }

    fn map(table_id: u64, names: usize) -> TableMapEvent {
        TableMapEvent {
            table_id,
            columns: vec![ColumnType::new(code::LONG, 0)],
            nullable: vec![0],
            metadata: OptionalMetadata(vec![MetadataField::ColumnNames(vec![vec![b'a']; names])]),
            ..TableMapEvent::default()
        }
    }

    /// 64 MiB of such events took 2 GiB.
    #[test]
    fn table_maps_of_one_statement_are_bounded_by_the_memory_that_they_take() {
        let mut decoder = Decoder::new(FormatDescription::new("9.7.0", 0));
        let names = 32_000;
        let count = (0..).take_while(|&id| decode(&mut decoder, &map(id, names)).is_ok()).count();
        let memory = count * map(0, names).memory();
        assert!(memory <= TABLE_MAPS_MAX && memory > TABLE_MAPS_MAX / 2, "{count} of {memory} bytes");
        assert!(decoder.tables.len() == count);
    }

    #[test]
    fn one_table_map_has_a_bounded_number_of_names() {
        let mut decoder = Decoder::new(FormatDescription::new("9.7.0", 0));
        assert!(decode(&mut decoder, &map(1, 100_000)).is_ok());
        let error = decode(&mut decoder, &map(2, 2_000_000)).unwrap_err();
        assert!(error.to_string().contains("too many names"), "{error}");
    }
}
