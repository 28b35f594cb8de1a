//! The columns of system tables: name, type, whether they can be NULL.

use super::{SystemSchema, SystemTable};
use crate::ast::{IntegerSize, Sign};
use crate::catalog::ColumnDef;
use crate::catalog::table::Default;
use crate::executor::output::OutputColumn;
use crate::types::{Collation, DataType};
use crate::value::Datum;

/// `utf8mb3_bin`: names of schemas and tables differ in case.
const NAMES: Collation = Collation(83);
/// `utf8mb3_general_ci`: everything else does not.
const WORDS: Collation = Collation(33);

/// A column of a system table.
#[derive(Debug)]
pub struct SystemColumn {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub kind: Kind,
    /// It can be NULL.
    pub nullable: bool,
}

/// The types that columns of system tables have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The name of a schema or table.
    Name,
    /// VARCHAR of so many characters.
    Varchar(u16),
    /// LONGTEXT.
    Text,
    /// LONGTEXT that differs in case.
    CaseText,
    /// INT.
    Int,
    /// INT UNSIGNED.
    Uint,
    /// BIGINT.
    Bigint,
    /// BIGINT UNSIGNED.
    Biguint,
    /// DATETIME.
    Datetime,
    /// TIMESTAMP.
    Timestamp,
    /// TIME.
    Time,
    /// JSON.
    Json,
}

/// `columns! { NAME: Kind, OTHER: Kind(1) or_null, }`
macro_rules! columns {
    ($($name:ident : $kind:ident $(($length:literal))? $($null:ident)?),* $(,)?) => {
        &[$($crate::system_tables::column::SystemColumn {
            name: stringify!($name),
            kind: $crate::system_tables::column::Kind::$kind $(($length))?,
            nullable: !stringify!($($null)?).is_empty(),
        }),*]
    };
}
pub(super) use columns;

impl Kind {
    fn data_type(self) -> DataType {
        let integer = |size, unsigned| DataType::Integer {
            size,
            sign: Sign { unsigned, zerofill: false },
            width: None,
        };
        match self {
            Kind::Name => DataType::VarChar { length: 64, collation: NAMES },
            Kind::Varchar(length) => DataType::VarChar { length, collation: WORDS },
            Kind::Text => DataType::Lob { length_bytes: 4, collation: WORDS },
            Kind::CaseText => DataType::Lob { length_bytes: 4, collation: NAMES },
            Kind::Int => integer(IntegerSize::Int, false),
            Kind::Uint => integer(IntegerSize::Int, true),
            Kind::Bigint => integer(IntegerSize::Big, false),
            Kind::Biguint => integer(IntegerSize::Big, true),
            Kind::Datetime => DataType::DateTime(0),
            Kind::Timestamp => DataType::Timestamp(0),
            Kind::Time => DataType::Time(0),
            Kind::Json => DataType::Json,
        }
    }
}

impl SystemColumn {
    /// The column as a definition.
    pub fn definition(&self) -> ColumnDef {
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

    /// The column as a client is told of it.
    pub fn output(&self, schema: &SystemSchema, table: &SystemTable, alias: &str) -> OutputColumn {
        let mut column = OutputColumn::defined(&self.definition(), self.name);
        column.meta.database = schema.name.to_owned();
        column.meta.table = alias.to_owned();
        column.meta.org_table = table.name.to_owned();
        column
    }
}
