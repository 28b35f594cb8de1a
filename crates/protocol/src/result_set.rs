//! Result sets: column definitions, and rows of text written value by value.
//!
//! ```text
//! lenenc number of columns
//! one packet per column (definition 41): lenenc strings catalog "def", schema, table, original table, name, original
//!     name; 0x0c, 2 collation, 4 length, 1 type, 2 flags, 1 decimals, 2 zeros
//! EOF, unless DEPRECATE_EOF
//! one packet per row: each value as a lenenc string, or fb for NULL
//! EOF, or OK with header fe
//! ```
//!
//! Rows of prepared statements are [`BinaryRow`](crate::binary::BinaryRow)s; the rest of a result
//! set is the same.

use crate::packet::{FLUSH_AT, Packets};
use std::io;
use stdx::cursor::put_lenenc_bytes;

/// A column of a result set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ColumnDefinition<'a> {
    /// The database, empty for an expression.
    pub schema: &'a [u8],
    /// The table's alias.
    pub table: &'a [u8],
    /// The table's own name.
    pub original_table: &'a [u8],
    /// The column's alias.
    pub name: &'a [u8],
    /// The column's own name, empty for an expression.
    pub original_name: &'a [u8],
    /// Collation id of the values; 63 (binary) for numbers and times.
    pub collation: u16,
    /// The greatest length of a value, in bytes.
    pub length: u32,
    /// `MYSQL_TYPE_*`.
    pub column_type: u8,
    /// `NOT_NULL_FLAG` and so on: see [`column_flags`].
    pub flags: u16,
    /// Digits after the decimal point; 31 for floating ones.
    pub decimals: u8,
}

/// Bits of [`ColumnDefinition::flags`] that are set here; SQL has the others.
pub mod column_flags {
    /// Binary collation.
    pub const BINARY: u16 = 1 << 7;
    /// A number, for clients.
    pub const NUM: u16 = 1 << 15;
}

impl ColumnDefinition<'_> {
    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        put_lenenc_bytes(out, b"def");
        for name in [self.schema, self.table, self.original_table, self.name, self.original_name] {
            put_lenenc_bytes(out, name);
        }
        out.push(0x0c);
        out.extend_from_slice(&self.collation.to_le_bytes());
        out.extend_from_slice(&self.length.to_le_bytes());
        out.push(self.column_type);
        out.extend_from_slice(&self.flags.to_le_bytes());
        out.extend_from_slice(&[self.decimals, 0, 0]);
    }
}

/// A row being written: one call per column, in order, then [`RowWriter::end`]. Nothing is
/// allocated but the reply's buffer itself. A row dropped before its end was never there.
pub struct RowWriter<'a> {
    packets: &'a mut Packets,
    ended: bool,
}

impl Drop for RowWriter<'_> {
    fn drop(&mut self) {
        if !self.ended {
            self.packets.cancel_packet();
        }
    }
}

impl<'a> RowWriter<'a> {
    pub(crate) fn new(packets: &'a mut Packets) -> Self {
        packets.begin_packet();
        Self { packets, ended: false }
    }

    /// One byte, 0xfb, instead of a value.
    pub fn null(&mut self) {
        self.packets.packet().push(0xfb);
    }

    /// A value as text, or a string of bytes.
    pub fn bytes(&mut self, value: &[u8]) {
        put_lenenc_bytes(self.packets.packet(), value);
    }

    /// A signed integer.
    pub fn int(&mut self, value: i64) {
        if value < 0 {
            let digits = Digits::of(value.unsigned_abs());
            let out = self.packets.packet();
            out.push(digits.text().len() as u8 + 1);
            out.push(b'-');
            out.extend_from_slice(digits.text());
        } else {
            self.uint(value.unsigned_abs());
        }
    }

    /// An unsigned integer.
    pub fn uint(&mut self, value: u64) {
        self.bytes(Digits::of(value).text());
    }

    /// Completes the row, and sends what is buffered once it is much.
    pub fn end(mut self) -> io::Result<()> {
        self.ended = true;
        self.packets.end_packet();
        if self.packets.buffered() >= FLUSH_AT { self.packets.flush() } else { Ok(()) }
    }
}

/// The decimal digits of a number.
struct Digits {
    buffer: [u8; 20],
    from: usize,
}

impl Digits {
    fn of(mut value: u64) -> Self {
        let mut digits = Self { buffer: [0; 20], from: 20 };
        loop {
            digits.from -= 1;
            digits.buffer[digits.from] = b'0' + (value % 10) as u8;
            value /= 10;
            if value == 0 {
                return digits;
            }
        }
    }

    fn text(&self) -> &[u8] {
        &self.buffer[self.from..]
    }
}
