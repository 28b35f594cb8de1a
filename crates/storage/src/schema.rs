//! Tables as the engine sees them: columns by type, indexes by their trees, and what a changed row
//! means for both.
//!
//! A row is its full binlog row image: the null bitmap over all columns, then the values. It is
//! stored under its primary key; each secondary index holds its own key followed by the primary
//! key, with an empty value. Every table has a primary key; where SQL gives none, a hidden
//! `my_row_id` column is one, which is a column like others here.
//!
//! (T1) What a row change does to the trees is a function of the schema and the images before and
//!      after, and of nothing else ([`row_changes`]). Commit and replay share it, so tables hold
//!      what the log says.

mod parts;

use std::mem::take;
use std::ops::Range;
use std::sync::Arc;

use binlog::event::{EncodedTableMap, OptionalMetadata, TableDetails, TableMapEvent};
use binlog::row::{ColumnType, Width};

use parking_lot::Mutex;
use smallvec::SmallVec;

use crate::batch::WriteBatch;
use crate::entry::TreeId;
use crate::key::collation::Collations;
use crate::key::{KeyError, PART_LEN_MAX, PARTS_MAX, PartCodec};
use crate::write_set::WriteSet;

/// A table's definition, as far as rows and keys need it.
#[derive(Debug)]
pub struct TableSchema {
    /// The table's number in table map events; 6 bytes there.
    pub id: u64,
    /// The database's name.
    pub database: String,
    /// Without its database, as table maps have it.
    pub name: String,
    /// The columns, in the order of the row image.
    pub columns: Vec<Column>,
    /// The primary key; its tree holds the rows.
    pub primary: Index,
    /// The other indexes.
    pub secondary: Vec<Index>,
    table_maps: TableMaps,
    types: Vec<ColumnType>,
    /// How long the columns' values are, up to the last one that is in a key.
    key_widths: Vec<Width>,
    /// See [`Self::log_whole_rows`].
    logs_whole_rows: bool,
}

/// The events that precede the table's rows in the log.
#[derive(Debug, Clone, Default)]
struct TableMaps {
    minimal: EncodedTableMap,
    full: EncodedTableMap,
}

/// What table maps and keys need to know of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// For error messages; table maps get theirs from [`TableDetails`].
    pub name: String,
    /// Its type, as a table map has it.
    pub ty: ColumnType,
    /// True if it can be NULL.
    pub nullable: bool,
}

/// A column's part in an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyPart {
    /// The column's number in the table.
    pub column: usize,
    /// Only so many characters of it (bytes of a binary string).
    pub prefix_len: Option<u32>,
    /// `DESC`.
    pub descending: bool,
}

impl KeyPart {
    /// A whole column, ascending.
    pub fn ascending(column: usize) -> Self {
        Self { column, prefix_len: None, descending: false }
    }
}

/// What an index is to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexDefinition {
    /// Its name, `PRIMARY` for the primary key.
    pub name: String,
    /// Where its keys are.
    pub tree: TreeId,
    /// What its keys are made of.
    pub parts: Vec<KeyPart>,
    /// True if no two rows may have the same key without NULL.
    pub unique: bool,
}

/// A checked [`IndexDefinition`], with what encodes its keys.
#[derive(Debug)]
pub struct Index {
    definition: IndexDefinition,
    codecs: Vec<PartCodec>,
    /// It is being built concurrently with writers.
    building: Option<Arc<Building>>,
}

/// An index in the making: writers keep it, readers don't use it. A duplicate key that a writer
/// makes is the build's failure, not the writer's.
#[derive(Debug, Default)]
pub struct Building {
    /// The first duplicate: the index, and the image of the row that was to have a key which
    /// another has.
    duplicate: Mutex<Option<(usize, Vec<u8>)>>,
}

impl Building {
    /// A row has a unique key that another has.
    pub(crate) fn fail(&self, index: usize, image: &[u8]) {
        self.duplicate.lock().get_or_insert_with(|| (index, image.to_vec()));
    }

    /// The first duplicate that writers met: the index by its number, and the row.
    pub fn duplicate(&self) -> Option<(usize, Vec<u8>)> {
        self.duplicate.lock().clone()
    }
}

/// Why a definition is no schema.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    /// An index names a column that there is not.
    #[error("index {index} names column {column}, which the table does not have")]
    NoSuchColumn {
        /// The index's name.
        index: String,
        /// The column's number.
        column: usize,
    },
    /// An index without columns, or with too many.
    #[error("index {0} must have 1 to {PARTS_MAX} columns")]
    Parts(String),
    /// The primary key is not declared unique, or a column of it can be NULL.
    #[error("the primary key must be unique, of columns that can't be NULL")]
    Primary,
    /// A column that can't be in a key.
    #[error("column {column} in index {index}: {source}")]
    Key {
        /// The index's name.
        index: String,
        /// The column's name.
        column: String,
        /// Why not.
        source: KeyError,
    },
}

impl TableSchema {
    /// Checks a definition and makes it ready for use.
    ///
    /// # Errors
    /// [`SchemaError`] says what is wrong with which index.
    pub fn new(
        id: u64,
        database: impl Into<String>,
        name: impl Into<String>,
        columns: Vec<Column>,
        primary: IndexDefinition,
        secondary: Vec<IndexDefinition>,
        collations: &dyn Collations,
    ) -> Result<Self, SchemaError> {
        let primary = Index::new(primary, &columns, collations)?;
        if !primary.unique() || primary.codecs.iter().any(PartCodec::nullable) {
            return Err(SchemaError::Primary);
        }
        let secondary = secondary.into_iter().map(|d| Index::new(d, &columns, collations));
        let secondary = secondary.collect::<Result<Vec<_>, _>>()?;
        let parts = secondary.iter().chain([&primary]).flat_map(|index| &index.codecs);
        let key_columns = parts.map(|part| part.column + 1).max().unwrap_or(0);
        let types: Vec<_> = columns.iter().map(|c| c.ty).collect();
        let key_widths = types.iter().take(key_columns).map(ColumnType::width).collect();
        let (database, name) = (database.into(), name.into());
        let table_maps = TableMaps::default();
        let mut schema = Self {
            id,
            database,
            name,
            columns,
            primary,
            secondary,
            table_maps,
            types,
            key_widths,
            logs_whole_rows: false,
        };
        schema.table_maps.minimal = schema.encode_map(0, OptionalMetadata::minimal(&schema.types));
        schema.table_maps.full = schema.table_maps.minimal.clone();
        Ok(schema)
    }

    /// The same table with indexes that are being built, numbered after its own.
    ///
    /// # Errors
    /// Those of [`Self::new`].
    pub fn with_building(
        &self,
        definitions: Vec<IndexDefinition>,
        building: &Arc<Building>,
        collations: &dyn Collations,
    ) -> Result<TableSchema, SchemaError> {
        let own = self.secondary.iter().map(|index| index.definition.clone());
        let secondary = own.chain(definitions).collect();
        let primary = self.primary.definition.clone();
        let (database, name, columns) = (self.database.clone(), self.name.clone(), self.columns.clone());
        let mut schema = TableSchema::new(self.id, database, name, columns, primary, secondary, collations)?;
        schema.table_maps = self.table_maps.clone();
        schema.logs_whole_rows = self.logs_whole_rows;
        for index in &mut schema.secondary[self.secondary.len()..] {
            index.building = Some(building.clone());
        }
        Ok(schema)
    }

    /// Has the log contain whole rows whatever `binlog_row_image` says: the primary key is one that
    /// other copies of the table do not share, so that it says nothing about their rows.
    pub fn log_whole_rows(&mut self) {
        self.logs_whole_rows = true;
    }

    /// True after [`Self::log_whole_rows`].
    pub(crate) fn logs_whole_rows(&self) -> bool {
        self.logs_whole_rows
    }

    /// Adds what table maps say under `binlog_row_metadata=FULL`.
    pub fn describe(&mut self, details: TableDetails) {
        // Replicas judge their own table by the same criteria, and skip the column where only one
        // side has it.
        let is_generated = details.names.first().is_some_and(|name| name == b"my_row_id")
            && details.visible.first() == Some(&false)
            && details.primary_key == [(0, 0)];
        let flags = if is_generated { TableMapEvent::FLAG_GENERATED_INVISIBLE_PK } else { 0 };
        self.table_maps.minimal = self.encode_map(flags, OptionalMetadata::minimal(&self.types));
        self.table_maps.full = self.encode_map(flags, OptionalMetadata::full(&self.types, details));
    }

    fn encode_map(&self, flags: u16, metadata: OptionalMetadata) -> EncodedTableMap {
        EncodedTableMap::from(&TableMapEvent {
            table_id: self.id,
            flags: TableMapEvent::FLAG_BIT_LENGTH_EXACT | flags,
            database: self.database.clone().into_bytes(),
            table: self.name.clone().into_bytes(),
            columns: self.types.clone(),
            nullable: bitmap(self.columns.iter().map(|c| c.nullable)),
            metadata,
        })
    }

    /// The event that precedes the table's rows in the log; `full` is `binlog_row_metadata=FULL`.
    pub fn table_map(&self, full: bool) -> &EncodedTableMap {
        if full { &self.table_maps.full } else { &self.table_maps.minimal }
    }

    /// The columns' types, in order.
    pub fn types(&self) -> &[ColumnType] {
        &self.types
    }

    /// The primary key as number 0, the others from 1.
    pub fn index(&self, number: usize) -> Option<&Index> {
        match number {
            0 => Some(&self.primary),
            _ => self.secondary.get(number - 1),
        }
    }

    /// All indexes, the primary key first.
    pub fn indexes(&self) -> impl Iterator<Item = &Index> {
        std::iter::once(&self.primary).chain(&self.secondary)
    }

    /// True if its rows are a session's own, and not logged.
    pub fn is_temporary(&self) -> bool {
        self.primary.tree().is_temporary()
    }

    /// The keys of a row in all indexes.
    ///
    /// # Errors
    /// If the image is not one of the table's columns.
    pub fn keys(&self, image: &[u8]) -> Result<RowKeys, KeyError> {
        self.keys_in(Vec::new(), image)
    }

    /// As [`Self::keys`], in a buffer that was used before.
    pub(crate) fn keys_in(&self, buffer: Vec<u8>, image: &[u8]) -> Result<RowKeys, KeyError> {
        let mut columns = KeyColumns::default();
        columns.split(self, image)?;
        self.keys_of(&columns, buffer)
    }

    /// The keys of a row as it was and as it is, in buffers that were used before; `None` for those
    /// of now if the key columns have not changed.
    pub(crate) fn keys_before_and_after(
        &self,
        buffers: &mut [Vec<u8>; 2],
        before: &[u8],
        after: &[u8],
    ) -> Result<(RowKeys, Option<RowKeys>), KeyError> {
        let (mut columns_before, mut columns_after) = (KeyColumns::default(), KeyColumns::default());
        columns_before.split(self, before)?;
        columns_after.split(self, after)?;
        let is_same = columns_before.0 == columns_after.0;
        let old = self.keys_of(&columns_before, take(&mut buffers[0]))?;
        let new = if is_same { None } else { Some(self.keys_of(&columns_after, take(&mut buffers[1]))?) };
        Ok((old, new))
    }

    fn keys_of(&self, columns: &KeyColumns<'_>, mut buffer: Vec<u8>) -> Result<RowKeys, KeyError> {
        buffer.clear();
        buffer.reserve(KEYS_LEN);
        let mut keys = RowKeys { bytes: buffer, keys: SmallVec::with_capacity(1 + self.secondary.len()) };
        for index in self.indexes() {
            let start = keys.bytes.len();
            let has_null = index.encode(columns, &mut keys.bytes)?;
            let unique_end = keys.bytes.len();
            if !keys.keys.is_empty() {
                keys.bytes.extend_from_within(keys.keys[0].whole.clone());
            }
            let unique_len = (index.unique() && !has_null).then_some(unique_end - start);
            keys.keys.push(KeyRange { whole: start..keys.bytes.len(), unique_len });
        }
        Ok(keys)
    }
}

impl Index {
    fn new(
        definition: IndexDefinition,
        columns: &[Column],
        collations: &dyn Collations,
    ) -> Result<Self, SchemaError> {
        let codec = |part: &KeyPart| {
            let no_column =
                || SchemaError::NoSuchColumn { index: definition.name.clone(), column: part.column };
            let column = columns.get(part.column).ok_or_else(no_column)?;
            let KeyPart { column: number, prefix_len, descending } = *part;
            PartCodec::new(number, &column.ty, column.nullable, prefix_len, descending, collations).map_err(
                |source| SchemaError::Key {
                    index: definition.name.clone(),
                    column: column.name.clone(),
                    source,
                },
            )
        };
        let codecs = definition.parts.iter().map(codec).collect::<Result<Vec<_>, _>>()?;
        if !(1..=PARTS_MAX).contains(&codecs.len()) {
            return Err(SchemaError::Parts(definition.name));
        }
        Ok(Self { definition, codecs, building: None })
    }

    /// `PRIMARY` for the primary key.
    pub fn name(&self) -> &str {
        &self.definition.name
    }

    /// What it was made of.
    pub fn definition(&self) -> &IndexDefinition {
        &self.definition
    }

    /// Set while it is being built.
    pub fn building(&self) -> Option<&Building> {
        self.building.as_deref()
    }

    /// Where its keys are.
    pub fn tree(&self) -> TreeId {
        self.definition.tree
    }

    /// What its keys are made of.
    pub(crate) fn parts(&self) -> &[KeyPart] {
        &self.definition.parts
    }

    /// True if no two rows may have the same key without NULL.
    pub fn unique(&self) -> bool {
        self.definition.unique
    }

    /// Appends the key that begins with these values, given as a row image has them (`None` for
    /// NULL): as many as one likes of the index's parts, for a point or a range.
    ///
    /// # Errors
    /// [`KeyError::Malformed`] if there are more values than parts, or one does not fit its column.
    pub fn encode_values(&self, values: &[Option<&[u8]>], out: &mut Vec<u8>) -> Result<(), KeyError> {
        if values.len() > self.codecs.len() {
            return Err(KeyError::Malformed);
        }
        self.codecs.iter().zip(values).try_for_each(|(codec, value)| codec.encode(*value, out))
    }

    /// Appends one part more of such a key: the part of this number, after those before it.
    ///
    /// # Errors
    /// [`KeyError::Malformed`] if there is no such part, or the value does not fit its column.
    pub fn encode_part(&self, part: usize, value: &[u8], out: &mut Vec<u8>) -> Result<(), KeyError> {
        self.codecs.get(part).ok_or(KeyError::Malformed)?.encode(Some(value), out)
    }

    /// The key of a row, without what a secondary index adds; true if a part is NULL.
    fn encode(&self, columns: &KeyColumns<'_>, out: &mut Vec<u8>) -> Result<bool, KeyError> {
        let mut has_null = false;
        for codec in &self.codecs {
            let raw = columns.0[codec.column];
            has_null |= raw.is_none();
            codec.encode(raw, out)?;
        }
        Ok(has_null)
    }

    /// The part of a key of this index that no other row may have; `None` if others may (not
    /// unique, or a NULL).
    ///
    /// # Errors
    /// If the key is not one of this index.
    pub fn unique_part<'k>(&self, key: &'k [u8]) -> Result<Option<&'k [u8]>, KeyError> {
        let mut rest = key;
        for codec in &self.codecs {
            if codec.is_null(rest) {
                return Ok(None);
            }
            rest = &rest[codec.skip(rest)?..];
        }
        Ok(self.unique().then(|| &key[..key.len() - rest.len()]))
    }

    /// The row's primary key in a key of this index, if it is a secondary one: what follows the
    /// index's own parts.
    ///
    /// # Errors
    /// If the key is not one of this index.
    pub fn primary_key_in<'k>(&self, key: &'k [u8]) -> Result<&'k [u8], KeyError> {
        self.codecs.iter().try_fold(key, |rest, codec| Ok(&rest[codec.skip(rest)?..]))
    }
}

/// A bit for each column, from the lowest bit of each byte.
fn bitmap(bits: impl Iterator<Item = bool>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (i, bit) in bits.enumerate() {
        if i % 8 == 0 {
            bytes.push(0);
        }
        bytes[i / 8] |= u8::from(bit) << (i % 8);
    }
    bytes
}

/// The key columns' values in a row image, as bytes; `None` for NULL.
#[derive(Default)]
struct KeyColumns<'a>(SmallVec<[Option<&'a [u8]>; 8]>);

impl<'a> KeyColumns<'a> {
    /// Takes them from an image.
    fn split(&mut self, schema: &'a TableSchema, image: &'a [u8]) -> Result<(), KeyError> {
        let nulls_len = schema.columns.len().div_ceil(8);
        let (nulls, mut rest) = image.split_at_checked(nulls_len).ok_or(KeyError::Malformed)?;
        for (column, width) in schema.key_widths.iter().enumerate() {
            let is_null = nulls[column / 8] >> (column % 8) & 1 == 1;
            self.0.push(if is_null {
                None
            } else {
                let len = width.value_len(rest).map_err(|_| KeyError::Malformed)?;
                let (raw, after) = rest.split_at(len);
                rest = after;
                Some(raw)
            });
        }
        Ok(())
    }
}

/// Room that the keys of a row begin with, in bytes.
const KEYS_LEN: usize = 64;

/// The keys of one row, in all indexes of its table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowKeys {
    bytes: Vec<u8>,
    /// The primary key first.
    keys: SmallVec<[KeyRange; 3]>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct KeyRange {
    whole: Range<usize>,
    /// The length of the part that no other row may have.
    unique_len: Option<usize>,
}

impl RowKeys {
    /// The key in the tree that holds the rows.
    pub fn primary(&self) -> &[u8] {
        self.of(0)
    }

    /// Their buffer, for those of another row.
    pub(crate) fn into_buffer(self) -> Vec<u8> {
        self.bytes
    }

    /// The whole key in an index, numbered as by [`TableSchema::index`].
    pub fn of(&self, number: usize) -> &[u8] {
        &self.bytes[self.keys[number].whole.clone()]
    }

    /// The part of the key in an index that no other row may have; `None` if others may (not
    /// unique, or a NULL).
    pub fn unique(&self, number: usize) -> Option<&[u8]> {
        self.keys[number].unique_len.map(|len| &self.of(number)[..len])
    }
}

/// What row changes are written to.
pub trait Changes {
    /// Sets a key's value.
    fn put(&mut self, tree: TreeId, key: &[u8], value: &[u8]);
    /// Deletes a key.
    fn delete(&mut self, tree: TreeId, key: &[u8]);
}

impl Changes for WriteBatch {
    fn put(&mut self, tree: TreeId, key: &[u8], value: &[u8]) {
        WriteBatch::put(self, tree, key, value);
    }

    fn delete(&mut self, tree: TreeId, key: &[u8]) {
        WriteBatch::delete(self, tree, key);
    }
}

impl Changes for WriteSet {
    fn put(&mut self, tree: TreeId, key: &[u8], value: &[u8]) {
        WriteSet::put(self, tree, key, value);
    }

    fn delete(&mut self, tree: TreeId, key: &[u8]) {
        WriteSet::delete(self, tree, key);
    }
}

/// A row as it is changed: its image and the keys that [`TableSchema::keys`] made of it.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    /// The full row image.
    pub image: &'a [u8],
    /// In all indexes of the table.
    pub keys: &'a RowKeys,
}

/// Writes to `out` what a row's change from `before` to `after` does to the table's trees (T1).
pub(crate) fn row_changes(
    schema: &TableSchema,
    before: Option<Row<'_>>,
    after: Option<Row<'_>>,
    out: &mut impl Changes,
) {
    for (number, index) in schema.indexes().enumerate() {
        let old = before.map(|row| row.keys.of(number));
        let new = after.map(|row| row.keys.of(number));
        if let Some(old) = old
            && Some(old) != new
        {
            out.delete(index.tree(), old);
        }
        match (new, after) {
            (Some(new), Some(after)) if number == 0 => out.put(index.tree(), new, after.image),
            (Some(new), _) if Some(new) != old => out.put(index.tree(), new, &[]),
            _ => {}
        }
    }
}

const _: () = assert!(2 * PARTS_MAX * PART_LEN_MAX < WriteBatch::KEY_LEN_MAX, "a secondary key fits a batch");
