//! What a server is asked for a chunk: how many rows, and a sum that is the same wherever they are
//! the same.
//!
//! Each row is a text in which no two rows are equal that differ: lengths stand before what has
//! any, long values are their digest. The sum over rows is of 60 bits of each row's digest: it does
//! not depend on their order, and a row that is there twice counts twice. The digest is SHA2, for
//! MySQL has had no MD5() since 9.6.

use super::chunks::Chunk;
use super::tables::{Class, Column, Table};
use super::{Runs, text};
use crate::log_tool::ToolError;

/// Rows of a chunk, and their sum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Checksum {
    pub(crate) rows: u64,
    sum: String,
}

/// What of a table is compared: columns by name, in the order of the first server.
#[derive(Debug)]
pub(crate) struct Compared<'a> {
    pub(crate) table: &'a Table,
    pub(crate) columns: Vec<&'a Column>,
}

impl<'a> Compared<'a> {
    /// All columns of a table.
    pub(crate) fn all(table: &'a Table) -> Self {
        Self { table, columns: table.columns.iter().collect() }
    }

    /// The digest of a row, as an expression.
    pub(crate) fn row_digest(&self) -> String {
        let parts: Vec<String> = self.columns.iter().map(|column| part(column)).collect();
        format!("SHA2(CONCAT_WS('#', {}), 256)", parts.join(", "))
    }

    /// Counts and sums the rows of a chunk.
    ///
    /// # Errors
    /// The server's.
    pub(crate) fn checksum(
        &self,
        server: &mut dyn Runs,
        key: &[Column],
        chunk: &Chunk,
    ) -> Result<Checksum, ToolError> {
        let digest = self.row_digest();
        let sql = format!(
            "SELECT COUNT(*), COUNT({digest}), COALESCE({}, 0) FROM {} WHERE {}",
            sum(&digest),
            self.table.quoted(),
            chunk.condition(key)
        );
        let mut cells = server.rows(&sql)?.into_iter().next().unwrap_or_default().into_iter();
        let mut next = || cells.next().flatten().map(text);
        let (rows, digests, sum) = (next(), next(), next());
        let unusable = || ToolError::Refused(format!("no checksum of {}", self.table.place()));
        let number = |text: Option<String>| text?.parse::<u64>().ok();
        let (rows, digests) = number(rows).zip(number(digests)).ok_or_else(unusable)?;
        // A server gives NULL for a text that is longer than its max_allowed_packet.
        if digests != rows {
            return Err(ToolError::Refused(format!(
                "{} has rows that are longer than the server's max_allowed_packet: raise it there",
                self.table.place()
            )));
        }
        Ok(Checksum { rows, sum: sum.ok_or_else(unusable)? })
    }
}

/// The sum over rows of a digest.
pub(crate) fn sum(digest: &str) -> String {
    format!("SUM(CAST(CONV(LEFT({digest}, 15), 16, 10) AS UNSIGNED))")
}

/// A column's part of a row's text.
fn part(column: &Column) -> String {
    let name = column.quoted();
    let part = match column.class {
        Class::Number | Class::Time => name,
        Class::Numbered => column.exact(),
        // Versions differ in how they write small numbers in a text, and in the room for a sign.
        // Multiplied by 2^1000, which loses nothing, small ones are written with an exponent by
        // all.
        Class::Float | Class::Double => format!(
            "CONCAT(SIGN({name}), IF(ABS({name}) < 1e-3, 's', 'e'), \
             IF(ABS({name}) < 1e-3, ABS({name}) * 1.0715086071862673e301, ABS({name}) + 0e0))"
        ),
        Class::Text | Class::Bytes => format!("CONCAT(LENGTH({name}), ':', CAST({name} AS BINARY))"),
        Class::Long => format!("SHA2({name}, 256)"),
        Class::Json => format!("SHA2(CAST({name} AS CHAR), 256)"),
        Class::Other if column.data_type.starts_with("geom") || column.data_type.ends_with("point") => {
            format!("SHA2(ST_AsBinary({name}), 256)")
        }
        Class::Other => format!("SHA2({name}, 256)"),
    };
    match column.is_nullable {
        true => format!("COALESCE({part}, 'N')"),
        false => part,
    }
}
