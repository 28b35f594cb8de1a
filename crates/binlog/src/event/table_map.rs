//! The table map event: which table a number stands for in the row events after it, and what its
//! columns are.
//!
//! | bytes | field |
//! | --- | --- |
//! | 6 | table id |
//! | 2 | flags |
//! | 1+n+1 | database: length, name, NUL |
//! | 1+n+1 | table: the same |
//! | 1..9 | number of columns, length-encoded |
//! | n | type number of each column |
//! | 1..9 + n | metadata: length-encoded length, then 0 to 2 bytes for each column |
//! | (columns+7)/8 | bit for each column that may be NULL |
//! | rest | optional metadata, see [`OptionalMetadata`] |

use stdx::cursor::{Cursor, put_lenenc};

use super::metadata::OptionalMetadata;
use super::{EncodeEvent, EventError, EventType};
use crate::row::{ColumnType, code};

/// Which table a number stands for in the row events that follow. The module's head has its bytes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TableMapEvent {
    /// The table's number, 48 bits; says nothing beyond the event group.
    pub table_id: u64,
    /// 1 in all that MySQL writes ("the length of BIT columns is exact"); 4: has a generated
    /// invisible primary key.
    pub flags: u16,
    /// The database, at most 64 characters (255 bytes).
    pub database: Vec<u8>,
    /// The table, at most 64 characters (255 bytes).
    pub table: Vec<u8>,
    /// The columns' types. Sign and character set come from the optional metadata, where that has
    /// them.
    pub columns: Vec<ColumnType>,
    /// A bit for each column: it may be NULL. Unused bits are as they were read; written as 0.
    pub nullable: Vec<u8>,
    /// What `binlog_row_metadata` adds.
    pub metadata: OptionalMetadata,
}

/// A table map as the log has it: made once for a table, and written before its rows ever after.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EncodedTableMap(Box<[u8]>);

impl From<&TableMapEvent> for EncodedTableMap {
    fn from(map: &TableMapEvent) -> Self {
        let mut body = Vec::new();
        map.encode_body(&mut body);
        Self(body.into())
    }
}

impl EncodeEvent for EncodedTableMap {
    fn event_type(&self) -> EventType {
        EventType::TABLE_MAP
    }

    fn encode_body(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0);
    }
}

/// More columns than any MySQL or MariaDB table has.
const COLUMNS_MAX: u64 = 65_535;

impl TableMapEvent {
    /// Flag: lengths of BIT columns are exact.
    pub const FLAG_BIT_LENGTH_EXACT: u16 = 1;
    /// Flag: the first column is a generated invisible primary key.
    pub const FLAG_GENERATED_INVISIBLE_PK: u16 = 4;
    /// The number that no table has: MySQL ends statements without any changes with it.
    pub const DUMMY_TABLE_ID: u64 = 0xff_ffff;

    /// True if the column may be NULL.
    pub fn is_nullable(&self, column: usize) -> bool {
        crate::row::bit(&self.nullable, column)
    }

    /// Bytes of memory that it takes.
    pub(super) fn memory(&self) -> usize {
        size_of::<Self>()
            + self.database.len()
            + self.table.len()
            + size_of_val(self.columns.as_slice())
            + self.nullable.len()
            + self.metadata.memory()
    }

    /// Reads the body. `id_len` is 6, or 4 in files of servers before 5.1.4.
    pub(super) fn decode(body: &[u8], id_len: usize) -> Result<Self, EventError> {
        let mut c = Cursor::new(body);
        let table_id = c.uint(id_len)?;
        let flags = c.u16()?;
        let database = name(&mut c)?;
        let table = name(&mut c)?;
        let count = c.lenenc()?;
        if count > COLUMNS_MAX {
            return Err(EventError::Malformed("table has too many columns"));
        }
        let codes = c.take(count as usize)?;
        let mut meta = Cursor::new(c.lenenc_bytes()?);
        let mut columns =
            codes.iter().map(|&code| decode_type(code, &mut meta)).collect::<Result<Vec<_>, _>>()?;
        if !meta.is_empty() {
            return Err(EventError::Malformed("table map has metadata without columns"));
        }
        let nullable = c.take(codes.len().div_ceil(8))?.to_vec();
        let metadata = OptionalMetadata::decode(c.take_remaining())?;
        metadata.apply(&mut columns)?;
        Ok(Self { table_id, flags, database, table, columns, nullable, metadata })
    }
}

impl EncodeEvent for TableMapEvent {
    fn event_type(&self) -> EventType {
        EventType::TABLE_MAP
    }

    fn encode_body(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.table_id.to_le_bytes()[..6]);
        out.extend_from_slice(&self.flags.to_le_bytes());
        for name in [&self.database, &self.table] {
            let name = &name[..name.len().min(255)];
            out.push(name.len() as u8);
            out.extend_from_slice(name);
            out.push(0);
        }
        put_lenenc(out, self.columns.len() as u64);
        out.extend(self.columns.iter().map(wire_code));
        let metadata_len: usize = self.columns.iter().map(|ty| meta_len(ty.code)).sum();
        put_lenenc(out, metadata_len as u64);
        for ty in &self.columns {
            out.extend_from_slice(&wire_meta(ty)[..meta_len(ty.code)]);
        }
        let bitmap_len = self.columns.len().div_ceil(8);
        out.extend((0..bitmap_len).map(|i| self.nullable.get(i).copied().unwrap_or(0)));
        self.metadata.encode(out);
    }
}

fn name(c: &mut Cursor<'_>) -> Result<Vec<u8>, EventError> {
    let n = usize::from(c.u8()?);
    let name = c.take(n)?.to_vec();
    if c.u8()? != 0 {
        return Err(EventError::Malformed("no NUL behind a name"));
    }
    Ok(name)
}

/// Bytes of metadata that a type number has in the event.
fn meta_len(code: u8) -> usize {
    match code {
        code::FLOAT | code::DOUBLE | code::BLOB | code::JSON | code::GEOMETRY | code::VECTOR => 1,
        code::TIME2 | code::DATETIME2 | code::TIMESTAMP2 => 1,
        code::VARCHAR
        | code::VAR_STRING
        | code::STRING
        | code::BIT
        | code::NEWDECIMAL
        | code::ENUM
        | code::SET => 2,
        _ => 0,
    }
}

/// ENUM and SET call themselves STRING.
fn wire_code(ty: &ColumnType) -> u8 {
    if ty.is_enum_or_set() { code::STRING } else { ty.code }
}

/// The two bytes of metadata as the event has them (the first alone for types that have one).
///
/// A CHAR's length has up to 10 bits: the upper two are in the type byte, inverted, so that lengths
/// below 256 look as they did before longer ones came.
fn wire_meta(ty: &ColumnType) -> [u8; 2] {
    let [low, high] = ty.meta.to_le_bytes();
    match ty.code {
        code::STRING => [code::STRING ^ (high & 3) << 4, low],
        code::ENUM | code::SET => [ty.code, low],
        code::BIT => [(ty.meta % 8) as u8, (ty.meta / 8) as u8],
        code::NEWDECIMAL => [high, low],
        _ => [low, high],
    }
}

/// The two metadata bytes as one number, the way `mysqlbinlog -vv` prints it.
pub(crate) fn printed_meta(ty: &ColumnType) -> u16 {
    let [a, b] = wire_meta(ty);
    match ty.code {
        code::STRING | code::ENUM | code::SET | code::NEWDECIMAL => u16::from_be_bytes([a, b]),
        code::BIT => u16::from_le_bytes([a, b]),
        _ => ty.meta,
    }
}

fn decode_type(wire: u8, meta: &mut Cursor<'_>) -> Result<ColumnType, EventError> {
    let ty = match wire {
        code::STRING => {
            let (kind, len) = (meta.u8()?, meta.u8()?);
            match kind {
                code::ENUM | code::SET => ColumnType::new(kind, len.into()),
                _ if kind | 0x30 != code::STRING => {
                    return Err(EventError::Malformed("unknown kind of string"));
                }
                _ => ColumnType::new(code::STRING, u16::from((kind & 0x30) ^ 0x30) << 4 | u16::from(len)),
            }
        }
        code::BIT => {
            let (bits, bytes) = (u16::from(meta.u8()?), u16::from(meta.u8()?));
            if bits > 7 {
                return Err(EventError::Malformed("length of a BIT column"));
            }
            ColumnType::new(wire, bytes * 8 + bits)
        }
        code::NEWDECIMAL => ColumnType::new(wire, u16::from_be_bytes([meta.u8()?, meta.u8()?])),
        _ => match meta_len(wire) {
            0 => ColumnType::new(wire, 0),
            1 => ColumnType::new(wire, meta.u8()?.into()),
            _ => ColumnType::new(wire, meta.u16()?),
        },
    };
    ty.validate().map_err(|_| EventError::Unsupported("column type"))?;
    Ok(ty)
}
