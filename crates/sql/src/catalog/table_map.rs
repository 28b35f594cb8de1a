//! What table maps say of a table besides its columns' types: names, members, the primary key, who
//! is visible.
//!
//! Readers of the log that keep no definitions of their own (`binlog_row_metadata=FULL`) read rows
//! by this alone.

use binlog::event::TableDetails;

use super::table::{ColumnDef, IndexDef};
use datum::types::DataType;

/// The details of a table with these columns and this primary key.
pub(super) fn details(columns: &[ColumnDef], primary: &IndexDef) -> TableDetails {
    let copy = |members: &[Box<[u8]>]| members.iter().map(|member| member.to_vec()).collect::<Vec<_>>();
    let mut details = TableDetails {
        names: columns.iter().map(|c| c.name.as_bytes().to_vec()).collect(),
        primary_key: primary
            .parts
            .iter()
            .map(|p| (p.column as u64, p.prefix_len.unwrap_or(0).into()))
            .collect(),
        visible: columns.iter().map(|c| c.visible).collect(),
        ..TableDetails::default()
    };
    for column in columns {
        match &column.ty {
            DataType::Enum { members, .. } => details.enum_values.push(copy(members)),
            DataType::Set { members, .. } => details.set_values.push(copy(members)),
            _ => {}
        }
    }
    details
}
