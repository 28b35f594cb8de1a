//! JSON columns as MariaDB has them: a LONGTEXT with the document's text.
//!
//! MariaDB reads no binary JSON out of row events. The Table_map event that a replica is sent
//! declares such columns as BLOBs of four bytes' length, as its own are, and each row's documents
//! become texts. Tables without them cost a test of their map's columns.

use binlog::event::{EventError, OptionalMetadata, RowsData, RowsEvent, TableMapEvent};
use binlog::row::{ColumnType, RowError, RowImage, RowImageBuilder, Value, code, json};

/// A text of JSON is a BLOB of so many bytes' length.
const LONG_BLOB: ColumnType = ColumnType::new(code::BLOB, 4);

/// The tables with JSON columns whose maps the statement under way has.
#[derive(Debug, Default)]
pub(super) struct Documents {
    tables: Vec<(TableMapEvent, Vec<ColumnType>)>,
}

impl Documents {
    /// Notes a table for the row events after its map. Returns the map that the replica is sent
    /// instead; `None` if it is sent this one.
    pub(super) fn map(&mut self, map: TableMapEvent) -> Option<TableMapEvent> {
        self.tables.retain(|(known, _)| known.table_id != map.table_id);
        if map.columns.iter().all(|ty| ty.code != code::JSON) {
            return None;
        }
        let as_text = |ty: &ColumnType| if ty.code == code::JSON { LONG_BLOB } else { *ty };
        let columns: Vec<ColumnType> = map.columns.iter().map(as_text).collect();
        // The metadata counts columns by their kinds, of which there are others now; MariaDB
        // applies rows without.
        let translated =
            TableMapEvent { columns: columns.clone(), metadata: OptionalMetadata::default(), ..map.clone() };
        self.tables.push((map, columns));
        Some(translated)
    }

    /// True if no table is noted.
    pub(super) fn is_empty(&self) -> bool {
        self.tables.is_empty()
    }

    /// True if row events of this table are to be changed.
    pub(super) fn has(&self, table_id: u64) -> bool {
        self.tables.iter().any(|(map, _)| map.table_id == table_id)
    }

    /// Forgets all tables, at the end of a group.
    pub(super) fn clear(&mut self) {
        self.tables.clear();
    }

    /// The rows of an event with texts for documents.
    pub(super) fn rows(&self, event: &RowsEvent<'_>) -> Result<Vec<u8>, EventError> {
        let table = self.tables.iter().find(|(map, _)| map.table_id == event.table_id);
        let (map, columns) = table.ok_or(EventError::Malformed("rows of a table without a map"))?;
        let RowsData::Plain(bytes) = event.rows else {
            return Err(EventError::Unsupported("compressed rows of a table with JSON columns"));
        };
        let mut out = Vec::with_capacity(bytes.len());
        let after = if event.present_after.is_empty() { event.present } else { event.present_after };
        for change in event.iter(map, bytes)? {
            let change = change?;
            let presents = [event.present, after];
            for (image, present) in [change.before, change.after].iter().zip(presents) {
                if let Some(image) = image {
                    put_image(image, columns, present, &mut out)?;
                }
            }
        }
        Ok(out)
    }
}

fn put_image(
    image: &RowImage<'_>,
    columns: &[ColumnType],
    present: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), RowError> {
    let mut builder = RowImageBuilder::with_present(columns, Some(present), out);
    let mut text = Vec::new();
    for field in image.fields() {
        match field.value()? {
            Value::Json(document) => {
                text.clear();
                json::write_text(document, &mut text)?;
                builder.push(&Value::Bytes(&text))?;
            }
            _ => builder.push_raw(field.raw)?,
        }
    }
    builder.finish()
}
