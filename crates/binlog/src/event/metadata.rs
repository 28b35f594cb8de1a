//! What a table map says beyond types: the optional metadata, a list of type (1 byte), length,
//! value.
//!
//! `binlog_row_metadata=MINIMAL` (the default) writes signedness, character sets and geometry
//! types; `FULL` adds names, ENUM and SET elements, the primary key and visibility. Fields are kept
//! as they came, in their order, so that encoding gives the same bytes again; what a reader needs
//! is offered in decoded form.

use stdx::cursor::{Cursor, put_lenenc, put_lenenc_bytes};

use super::EventError;
use crate::row::bit;
use crate::row::{ColumnType, code};

/// Names, members and numbers that one table map may have: MySQL's largest tables, of 4096 columns,
/// some of them of 65535 members, are far below.
const ELEMENTS_MAX: usize = 1 << 20;
/// What a text takes in addition to its bytes: its place in a list, and the allocator's part.
const TEXT_MEMORY: usize = size_of::<Vec<u8>>() + 24;

/// How many more elements may come.
struct Room(usize);

impl Room {
    fn take_one(&mut self) -> Result<(), EventError> {
        let beyond = EventError::Malformed("table map with too many names, members or other elements");
        self.0 = self.0.checked_sub(1).ok_or(beyond)?;
        Ok(())
    }
}

/// One field of the optional metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MetadataField {
    /// 1: a bit for each numeric column, from the highest bit of each byte: unsigned.
    Signedness(Vec<u8>),
    /// 2: the collation of character columns, and those (by their number among them) that have
    /// another.
    DefaultCharset(DefaultCharset),
    /// 3: the collation of each character column.
    ColumnCharset(Vec<u64>),
    /// 4: the columns' names.
    ColumnNames(Vec<Vec<u8>>),
    /// 5: the elements of each SET column.
    SetValues(Vec<Vec<Vec<u8>>>),
    /// 6: the elements of each ENUM column.
    EnumValues(Vec<Vec<Vec<u8>>>),
    /// 7: the subtype of each GEOMETRY column: 0 any, 1 point, 2 line string, 3 polygon, 4 to 6
    /// their multiples, 7 collection.
    GeometryTypes(Vec<u64>),
    /// 8: the columns of the primary key, which are whole.
    SimplePrimaryKey(Vec<u64>),
    /// 9: the columns of the primary key and the characters of each that count (0: all).
    PrefixPrimaryKey(Vec<(u64, u64)>),
    /// 10: as 2, for ENUM and SET columns.
    EnumAndSetDefaultCharset(DefaultCharset),
    /// 11: as 3, for ENUM and SET columns.
    EnumAndSetColumnCharset(Vec<u64>),
    /// 12: a bit for each column, from the highest bit of each byte: visible.
    Visibility(Vec<u8>),
    /// 13: the number of elements of each VECTOR column.
    VectorDimensions(Vec<u64>),
    /// Any other: its number and bytes.
    Unknown(u8, Vec<u8>),
}

/// A collation for most columns, and exceptions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefaultCharset {
    /// The collation of the columns that are not named.
    pub default: u64,
    /// Number of the column among those of its class, and its collation.
    pub(crate) exceptions: Vec<(u64, u64)>,
}

/// The optional metadata of a table map.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OptionalMetadata(pub Vec<MetadataField>);

impl OptionalMetadata {
    pub(super) fn decode(bytes: &[u8]) -> Result<Self, EventError> {
        let mut c = Cursor::new(bytes);
        let mut fields = Vec::new();
        let mut room = Room(ELEMENTS_MAX);
        while !c.is_empty() {
            room.take_one()?;
            let kind = c.u8()?;
            fields.push(MetadataField::decode(kind, c.lenenc_bytes()?, &mut room)?);
        }
        Ok(Self(fields))
    }

    /// Bytes of memory that it takes: a text of one byte takes many more.
    pub(super) fn memory(&self) -> usize {
        self.0.iter().map(|field| size_of::<MetadataField>() + field.memory()).sum()
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        let mut value = Vec::new();
        for field in &self.0 {
            value.clear();
            out.push(field.encode(&mut value));
            put_lenenc_bytes(out, &value);
        }
    }

    /// Puts signs and collations into the columns' types.
    pub(super) fn apply(&self, columns: &mut [ColumnType]) -> Result<(), EventError> {
        for field in &self.0 {
            match field {
                MetadataField::Signedness(bits) => {
                    for (i, ty) in columns.iter_mut().filter(|ty| ty.is_numeric()).enumerate() {
                        ty.unsigned = high_bit_first(bits, i);
                    }
                }
                MetadataField::DefaultCharset(d) => apply_default(d, columns, ColumnType::is_character)?,
                MetadataField::EnumAndSetDefaultCharset(d) => {
                    apply_default(d, columns, ColumnType::is_enum_or_set)?
                }
                MetadataField::ColumnCharset(list) => apply_each(list, columns, ColumnType::is_character)?,
                MetadataField::EnumAndSetColumnCharset(list) => {
                    apply_each(list, columns, ColumnType::is_enum_or_set)?
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The columns' names, where the writer gave them.
    pub fn column_names(&self) -> Option<&[Vec<u8>]> {
        self.0.iter().find_map(|f| match f {
            MetadataField::ColumnNames(names) => Some(names.as_slice()),
            _ => None,
        })
    }

    /// The columns of the primary key with their prefix lengths in characters (0: whole), where the
    /// writer gave them.
    pub fn primary_key(&self) -> Option<Vec<(u64, u64)>> {
        self.0.iter().find_map(|f| match f {
            MetadataField::SimplePrimaryKey(columns) => Some(columns.iter().map(|&c| (c, 0)).collect()),
            MetadataField::PrefixPrimaryKey(columns) => Some(columns.clone()),
            _ => None,
        })
    }

    /// The elements of the `n`th ENUM column (from 0, among the ENUM columns).
    pub fn enum_values(&self, n: usize) -> Option<&[Vec<u8>]> {
        self.0.iter().find_map(|f| match f {
            MetadataField::EnumValues(all) => all.get(n).map(Vec::as_slice),
            _ => None,
        })
    }

    /// The elements of the `n`th SET column (from 0, among the SET columns).
    pub(crate) fn set_values(&self, n: usize) -> Option<&[Vec<u8>]> {
        self.0.iter().find_map(|f| match f {
            MetadataField::SetValues(all) => all.get(n).map(Vec::as_slice),
            _ => None,
        })
    }

    /// What `binlog_row_metadata=MINIMAL`, the default, writes: signedness, collations, geometry
    /// types (of which all are "any" here).
    pub fn minimal(columns: &[ColumnType]) -> Self {
        let mut fields = Vec::new();
        let unsigned = |ty: &ColumnType| ty.unsigned || ty.code == code::YEAR;
        let signs: Vec<bool> = columns.iter().filter(|ty| ty.is_numeric()).map(unsigned).collect();
        if !signs.is_empty() {
            fields.push(MetadataField::Signedness(pack_bits(&signs)));
        }
        fields.extend(match charsets(columns, ColumnType::is_character) {
            Charsets::None => None,
            Charsets::Default(d) => Some(MetadataField::DefaultCharset(d)),
            Charsets::Each(list) => Some(MetadataField::ColumnCharset(list)),
        });
        let geometries = columns.iter().filter(|ty| ty.code == code::GEOMETRY).count();
        if geometries > 0 {
            fields.push(MetadataField::GeometryTypes(vec![0; geometries]));
        }
        Self(fields)
    }

    /// What `binlog_row_metadata=FULL` writes.
    pub fn full(columns: &[ColumnType], details: TableDetails) -> Self {
        let mut fields = Self::minimal(columns).0;
        fields.push(MetadataField::ColumnNames(details.names));
        fields.extend(match charsets(columns, ColumnType::is_enum_or_set) {
            Charsets::None => None,
            Charsets::Default(d) => Some(MetadataField::EnumAndSetDefaultCharset(d)),
            Charsets::Each(list) => Some(MetadataField::EnumAndSetColumnCharset(list)),
        });
        if !details.set_values.is_empty() {
            fields.push(MetadataField::SetValues(details.set_values));
        }
        if !details.enum_values.is_empty() {
            fields.push(MetadataField::EnumValues(details.enum_values));
        }
        if details.primary_key.iter().any(|(_, prefix)| *prefix != 0) {
            fields.push(MetadataField::PrefixPrimaryKey(details.primary_key));
        } else if !details.primary_key.is_empty() {
            let columns = details.primary_key.into_iter().map(|(column, _)| column).collect();
            fields.push(MetadataField::SimplePrimaryKey(columns));
        }
        fields.push(MetadataField::Visibility(pack_bits(&details.visible)));
        Self(fields)
    }
}

/// What full metadata says of a table in addition to its columns' types.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TableDetails {
    /// The columns' names.
    pub names: Vec<Vec<u8>>,
    /// The elements of each SET column.
    pub set_values: Vec<Vec<Vec<u8>>>,
    /// The elements of each ENUM column.
    pub enum_values: Vec<Vec<Vec<u8>>>,
    /// The primary key's columns and how many characters of each count (0: all).
    pub primary_key: Vec<(u64, u64)>,
    /// Whether each column is visible.
    pub visible: Vec<bool>,
}

impl MetadataField {
    fn decode(kind: u8, bytes: &[u8], room: &mut Room) -> Result<Self, EventError> {
        Ok(match kind {
            1 => Self::Signedness(bytes.to_vec()),
            2 => Self::DefaultCharset(DefaultCharset::decode(bytes, room)?),
            3 => Self::ColumnCharset(integers(bytes, room)?),
            4 => Self::ColumnNames(strings(bytes, room)?),
            5 => Self::SetValues(string_lists(bytes, room)?),
            6 => Self::EnumValues(string_lists(bytes, room)?),
            7 => Self::GeometryTypes(integers(bytes, room)?),
            8 => Self::SimplePrimaryKey(integers(bytes, room)?),
            9 => Self::PrefixPrimaryKey(pairs(Cursor::new(bytes), room)?),
            10 => Self::EnumAndSetDefaultCharset(DefaultCharset::decode(bytes, room)?),
            11 => Self::EnumAndSetColumnCharset(integers(bytes, room)?),
            12 => Self::Visibility(bytes.to_vec()),
            13 => Self::VectorDimensions(integers(bytes, room)?),
            _ => Self::Unknown(kind, bytes.to_vec()),
        })
    }

    fn memory(&self) -> usize {
        let texts = |list: &[Vec<u8>]| list.iter().map(|text| TEXT_MEMORY + text.len()).sum::<usize>();
        match self {
            Self::Signedness(bytes) | Self::Visibility(bytes) | Self::Unknown(_, bytes) => bytes.len(),
            Self::DefaultCharset(charset) | Self::EnumAndSetDefaultCharset(charset) => {
                size_of_val(charset.exceptions.as_slice())
            }
            Self::ColumnNames(names) => texts(names),
            Self::SetValues(lists) | Self::EnumValues(lists) => {
                lists.iter().map(|list| TEXT_MEMORY + texts(list)).sum()
            }
            Self::ColumnCharset(list)
            | Self::EnumAndSetColumnCharset(list)
            | Self::GeometryTypes(list)
            | Self::SimplePrimaryKey(list)
            | Self::VectorDimensions(list) => size_of_val(list.as_slice()),
            Self::PrefixPrimaryKey(list) => size_of_val(list.as_slice()),
        }
    }

    /// Appends the value and returns the field's number.
    fn encode(&self, out: &mut Vec<u8>) -> u8 {
        match self {
            Self::Signedness(bits) => put_bytes(out, bits, 1),
            Self::DefaultCharset(d) => d.encode(out, 2),
            Self::ColumnCharset(list) => put_integers(out, list, 3),
            Self::ColumnNames(names) => {
                names.iter().for_each(|name| put_lenenc_bytes(out, name));
                4
            }
            Self::SetValues(lists) => put_string_lists(out, lists, 5),
            Self::EnumValues(lists) => put_string_lists(out, lists, 6),
            Self::GeometryTypes(list) => put_integers(out, list, 7),
            Self::SimplePrimaryKey(list) => put_integers(out, list, 8),
            Self::PrefixPrimaryKey(list) => put_pairs(out, list, 9),
            Self::EnumAndSetDefaultCharset(d) => d.encode(out, 10),
            Self::EnumAndSetColumnCharset(list) => put_integers(out, list, 11),
            Self::Visibility(bits) => put_bytes(out, bits, 12),
            Self::VectorDimensions(list) => put_integers(out, list, 13),
            Self::Unknown(kind, bytes) => put_bytes(out, bytes, *kind),
        }
    }
}

impl DefaultCharset {
    fn decode(bytes: &[u8], room: &mut Room) -> Result<Self, EventError> {
        let mut c = Cursor::new(bytes);
        Ok(Self { default: c.lenenc()?, exceptions: pairs(c, room)? })
    }

    fn encode(&self, out: &mut Vec<u8>, kind: u8) -> u8 {
        put_lenenc(out, self.default);
        put_pairs(out, &self.exceptions, kind)
    }
}

/// Bits from the highest of each byte on, as signedness and visibility have them.
pub(crate) fn pack_bits(bits: &[bool]) -> Vec<u8> {
    let mut bytes = vec![0; bits.len().div_ceil(8)];
    for (i, _) in bits.iter().enumerate().filter(|(_, on)| **on) {
        bytes[i / 8] |= 0x80 >> (i % 8);
    }
    bytes
}

fn high_bit_first(bits: &[u8], i: usize) -> bool {
    bit(bits, i ^ 7)
}

/// The collations of one class of columns, in the form that takes fewer bytes.
enum Charsets {
    None,
    Default(DefaultCharset),
    Each(Vec<u64>),
}

fn charsets(columns: &[ColumnType], class: fn(&ColumnType) -> bool) -> Charsets {
    let list: Vec<u64> = columns.iter().filter(|ty| class(ty)).map(|ty| ty.charset.into()).collect();
    let times = |c: u64| list.iter().filter(|&&other| other == c).count();
    // The first of the commonest.
    let Some(default) = list.iter().copied().rev().max_by_key(|&c| times(c)) else { return Charsets::None };
    let others = list.iter().enumerate().filter(|(_, c)| **c != default);
    let exceptions: Vec<_> = others.map(|(i, &c)| (i as u64, c)).collect();
    if 2 * exceptions.len() < list.len() {
        Charsets::Default(DefaultCharset { default, exceptions })
    } else {
        Charsets::Each(list)
    }
}

fn apply_default(
    charset: &DefaultCharset,
    columns: &mut [ColumnType],
    class: fn(&ColumnType) -> bool,
) -> Result<(), EventError> {
    let mut exceptions = charset.exceptions.iter().peekable();
    for (i, ty) in columns.iter_mut().filter(|ty| class(ty)).enumerate() {
        let exception = exceptions.next_if(|(column, _)| *column == i as u64);
        ty.charset = collation(exception.map_or(charset.default, |(_, c)| *c))?;
    }
    Ok(())
}

fn apply_each(
    list: &[u64],
    columns: &mut [ColumnType],
    class: fn(&ColumnType) -> bool,
) -> Result<(), EventError> {
    for (ty, &charset) in columns.iter_mut().filter(|ty| class(ty)).zip(list) {
        ty.charset = collation(charset)?;
    }
    Ok(())
}

fn collation(number: u64) -> Result<u16, EventError> {
    u16::try_from(number).map_err(|_| EventError::Malformed("collation number"))
}

fn integers(bytes: &[u8], room: &mut Room) -> Result<Vec<u64>, EventError> {
    let mut c = Cursor::new(bytes);
    let mut list = Vec::new();
    while !c.is_empty() {
        room.take_one()?;
        list.push(c.lenenc()?);
    }
    Ok(list)
}

fn pairs(mut c: Cursor<'_>, room: &mut Room) -> Result<Vec<(u64, u64)>, EventError> {
    let mut list = Vec::new();
    while !c.is_empty() {
        room.take_one()?;
        list.push((c.lenenc()?, c.lenenc()?));
    }
    Ok(list)
}

fn strings(bytes: &[u8], room: &mut Room) -> Result<Vec<Vec<u8>>, EventError> {
    let mut c = Cursor::new(bytes);
    let mut list = Vec::new();
    while !c.is_empty() {
        room.take_one()?;
        list.push(c.lenenc_bytes()?.to_vec());
    }
    Ok(list)
}

fn string_lists(bytes: &[u8], room: &mut Room) -> Result<Vec<Vec<Vec<u8>>>, EventError> {
    let mut c = Cursor::new(bytes);
    let mut lists = Vec::new();
    while !c.is_empty() {
        room.take_one()?;
        let mut list = Vec::new();
        for _ in 0..c.lenenc()? {
            room.take_one()?;
            list.push(c.lenenc_bytes()?.to_vec());
        }
        lists.push(list);
    }
    Ok(lists)
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8], kind: u8) -> u8 {
    out.extend_from_slice(bytes);
    kind
}

fn put_integers(out: &mut Vec<u8>, list: &[u64], kind: u8) -> u8 {
    list.iter().for_each(|&v| put_lenenc(out, v));
    kind
}

fn put_pairs(out: &mut Vec<u8>, list: &[(u64, u64)], kind: u8) -> u8 {
    for &(a, b) in list {
        put_lenenc(out, a);
        put_lenenc(out, b);
    }
    kind
}

fn put_string_lists(out: &mut Vec<u8>, lists: &[Vec<Vec<u8>>], kind: u8) -> u8 {
    for list in lists {
        put_lenenc(out, list.len() as u64);
        list.iter().for_each(|s| put_lenenc_bytes(out, s));
    }
    kind
}
