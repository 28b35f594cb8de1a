//! The columns of system tables: name, type, whether they can be NULL.

use super::{SystemSchema, SystemTable};
use crate::catalog::ColumnDef;
use crate::catalog::table::Default;
use crate::output::OutputColumn;
use datum::types::{Collation, DataType};
use datum::value::{Datum, json};
use syntax::ast::{IntegerSize, Sign};

/// `utf8mb3_bin`: names of schemas and tables differ in case.
pub(super) const NAMES: Collation = Collation(83);
/// `utf8mb3_general_ci`: everything else does not.
pub(super) const WORDS: Collation = Collation(33);
/// `ascii_general_ci`: hosts.
pub(super) const ASCII: Collation = Collation(11);
/// `utf8mb4_0900_ai_ci`: texts of `performance_schema`.
pub(super) const MB4: Collation = Collation::UTF8MB4_0900_AI_CI;
/// `utf8mb4_bin`: its accounts.
pub(super) const MB4_BIN: Collation = Collation(46);

/// The members of switches.
pub(super) const N_Y: &[&str] = &["N", "Y"];
/// The members of switches in `performance_schema`.
pub(super) const YES_NO: &[&str] = &["YES", "NO"];

/// A document of its text; `None` if the text is none.
fn json(text: &[u8]) -> Option<Vec<u8>> {
    json::encode(&json::parse(text).ok()?).ok()
}

/// A column of a system table.
#[derive(Debug)]
pub(crate) struct SystemColumn {
    pub(crate) name: &'static str,
    /// Its type.
    pub kind: SystemColumnType,
    /// It can be NULL.
    pub nullable: bool,
}

/// The types that columns of system tables have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SystemColumnType {
    /// The name of a schema or table.
    Name,
    /// CHAR of so many characters.
    Char(u8, Collation),
    /// VARCHAR of so many characters.
    Varchar(u16),
    /// The same, of another collation.
    VarcharOf(u16, Collation),
    /// At most 65,535 bytes.
    TextOf(Collation),
    /// At most 65,535 bytes.
    Blob,
    /// LONGTEXT.
    Text,
    /// LONGTEXT that differs in case.
    CaseText,
    /// LONGTEXT of another collation.
    LongtextOf(Collation),
    /// ENUM of these members. Rows have them as texts.
    Enum(&'static [&'static str], Collation),
    /// SET of these members. Rows have them as texts.
    Set(&'static [&'static str], Collation),
    /// Signed, one byte.
    Tinyint,
    /// TINYINT UNSIGNED.
    Utinyint,
    /// TINYINT(1).
    Boolean,
    /// SMALLINT UNSIGNED.
    Usmallint,
    /// Signed, four bytes.
    Int,
    /// INT UNSIGNED.
    Uint,
    /// Signed, eight bytes.
    Bigint,
    /// BIGINT UNSIGNED.
    Biguint,
    /// Single precision.
    Float,
    /// Double precision.
    Double,
    /// DECIMAL of so many digits, some of them after the point.
    Decimal(u8, u8),
    /// The same without negative numbers.
    UnsignedDecimal(u8, u8),
    /// TIME, whole seconds.
    Time,
    /// At most 16 MiB.
    Mediumtext(Collation),
    /// Whole seconds, no time zone.
    Datetime,
    /// Whole seconds, shown in the session's time zone.
    Timestamp,
    /// TIMESTAMP(2).
    Timestamp2,
    /// TIMESTAMP(6).
    Timestamp6,
    /// TIME(6).
    Time6,
    /// JSON. Rows have its text.
    Json,
}

/// `columns! { NAME: SystemColumnType, OTHER: SystemColumnType(1) or_null, }`
macro_rules! columns {
    ($($name:ident : $kind:ident $(($($of:expr),*))? $($null:ident)?),* $(,)?) => {
        &[$($crate::system_tables::column::SystemColumn {
            name: stringify!($name),
            kind: $crate::system_tables::column::SystemColumnType::$kind $(($($of),*))?,
            nullable: !stringify!($($null)?).is_empty(),
        }),*]
    };
}
pub(super) use columns;

impl SystemColumnType {
    fn data_type(self) -> DataType {
        let sign = |unsigned| Sign { unsigned, zerofill: false };
        let integer = |size, unsigned| DataType::Integer { size, sign: sign(unsigned), width: None };
        let floating = |double| DataType::Floating { double, digits: None, sign: sign(false) };
        let labels = |members: &[&str]| members.iter().map(|m| m.as_bytes().into()).collect();
        match self {
            SystemColumnType::Name => DataType::VarChar { length: 64, collation: NAMES },
            SystemColumnType::Char(length, collation) => DataType::Char { length, collation },
            SystemColumnType::Varchar(length) => DataType::VarChar { length, collation: WORDS },
            SystemColumnType::VarcharOf(length, collation) => DataType::VarChar { length, collation },
            SystemColumnType::TextOf(collation) => DataType::Lob { length_bytes: 2, collation },
            SystemColumnType::Blob => DataType::Lob { length_bytes: 2, collation: Collation::BINARY },
            SystemColumnType::Text => DataType::Lob { length_bytes: 4, collation: WORDS },
            SystemColumnType::CaseText => DataType::Lob { length_bytes: 4, collation: NAMES },
            SystemColumnType::LongtextOf(collation) => DataType::Lob { length_bytes: 4, collation },
            SystemColumnType::Enum(members, collation) => {
                DataType::Enum { members: labels(members), collation }
            }
            SystemColumnType::Set(members, collation) => {
                DataType::Set { members: labels(members), collation }
            }
            SystemColumnType::Tinyint => integer(IntegerSize::Tiny, false),
            SystemColumnType::Utinyint => integer(IntegerSize::Tiny, true),
            SystemColumnType::Boolean => {
                DataType::Integer { size: IntegerSize::Tiny, sign: sign(false), width: Some(1) }
            }
            SystemColumnType::Usmallint => integer(IntegerSize::Small, true),
            SystemColumnType::Int => integer(IntegerSize::Int, false),
            SystemColumnType::Uint => integer(IntegerSize::Int, true),
            SystemColumnType::Bigint => integer(IntegerSize::Big, false),
            SystemColumnType::Biguint => integer(IntegerSize::Big, true),
            SystemColumnType::Decimal(precision, scale) => {
                DataType::Decimal { precision, scale, sign: sign(false) }
            }
            SystemColumnType::UnsignedDecimal(precision, scale) => {
                DataType::Decimal { precision, scale, sign: sign(true) }
            }
            SystemColumnType::Time => DataType::Time(0),
            SystemColumnType::Mediumtext(collation) => DataType::Lob { length_bytes: 3, collation },
            SystemColumnType::Float => floating(false),
            SystemColumnType::Double => floating(true),
            SystemColumnType::Datetime => DataType::DateTime(0),
            SystemColumnType::Timestamp => DataType::Timestamp(0),
            SystemColumnType::Timestamp2 => DataType::Timestamp(2),
            SystemColumnType::Timestamp6 => DataType::Timestamp(6),
            SystemColumnType::Time6 => DataType::Time(6),
            SystemColumnType::Json => DataType::Json,
        }
    }
}

impl SystemColumn {
    /// A value as a stored column of the type has it: members of ENUM and SET with their numbers,
    /// documents encoded.
    pub(crate) fn value(&self, value: Datum<'static>) -> Datum<'static> {
        let Datum::Bytes(text) = value else { return value };
        match self.kind {
            SystemColumnType::Enum(members, _) => {
                let number = members.iter().position(|member| member.as_bytes() == &*text);
                Datum::Label(number.map_or(0, |number| number as u64 + 1), text)
            }
            SystemColumnType::Set(members, _) => {
                let has = |member: &&str| text.split(|b| *b == b',').any(|word| word == member.as_bytes());
                let bits = members.iter().enumerate().filter(|(_, member)| has(member));
                Datum::Label(bits.fold(0, |sum, (number, _)| sum | 1 << number), text)
            }
            SystemColumnType::Json => {
                json(&text).map_or(Datum::Null, |document| Datum::Json(document.into()))
            }
            _ => Datum::Bytes(text),
        }
    }

    pub(crate) fn definition(&self) -> ColumnDef {
        ColumnDef {
            name: self.name.to_owned(),
            ty: self.kind.data_type(),
            nullable: self.nullable,
            default: if self.nullable { Default::Value(Datum::Null) } else { Default::None },
            on_update_now: false,
            comment: String::new(),
            visible: true,
            generated: None,
        }
    }

    /// The column as it is reported to a client.
    pub(crate) fn output(&self, schema: &SystemSchema, table: &SystemTable, alias: &str) -> OutputColumn {
        let mut column = OutputColumn::defined(&self.definition(), self.name);
        column.meta.database = schema.name.to_owned();
        column.meta.table = alias.to_owned();
        column.meta.org_table = table.name.to_owned();
        column
    }
}
