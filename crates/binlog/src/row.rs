//! The row image codec: how a row's values lie in row events, and in the tables of this server.
//!
//! 1. [`ColumnType`] is what a table map says of a column.
//! 2. [`RowImage`] finds the columns' bytes inside an image, without decoding or allocating.
//! 3. [`Value`] is one of them decoded; [`RowImageBuilder`] writes an image from values or from raw
//!    bytes.
//!
//! (R1) An image that this server writes is full: a NULL bitmap over all columns, then the values.
//!      Unused bits of the bitmap are 0.
//! (R2) Decoding a value and encoding it again gives the same bytes, for every byte string that
//!      MySQL writes.
//! (R3) Damage is a [`RowError`], never a panic; nothing is read outside the image.

mod column_type;
pub mod decimal;
mod image;
pub mod json;
pub(crate) mod number;
pub(crate) mod temporal;
pub(crate) mod value;

pub use column_type::{BINARY_COLLATION, ColumnType, Width, code};
pub use decimal::Decimal;
pub use image::{Field, Fields, RowImage, RowImageBuilder};
pub use temporal::{Date, DateTime, Time, Timestamp};
pub use value::Value;

use stdx::cursor::Truncated;

/// Why bytes are no row, or values no image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RowError {
    /// The image ends inside a value.
    #[error("row image is truncated")]
    Truncated,
    /// The image goes on after its last column.
    #[error("row image has bytes behind its last column")]
    TrailingBytes,
    /// A type that no row event holds.
    #[error("unknown column type {0}")]
    UnknownType(u8),
    /// A table map says something impossible of a column: type and metadata.
    #[error("column type {0} with metadata {1}")]
    BadMetadata(u8, u16),
    /// A value that the column can't hold.
    #[error("{0} out of range for its column")]
    OutOfRange(&'static str),
    /// A value of another type than the column of this type number.
    #[error("value does not suit column type {0}")]
    WrongValue(u8),
    /// More values than columns.
    #[error("more values than columns")]
    TooManyValues,
    /// Fewer values than columns.
    #[error("fewer values than columns")]
    TooFewValues,
    /// The value itself is damaged.
    #[error("malformed {0}")]
    Malformed(&'static str),
}

impl From<Truncated> for RowError {
    fn from(_: Truncated) -> Self {
        RowError::Truncated
    }
}

/// Bit `i` of a bitmap; bits after its end are clear.
#[inline]
pub(crate) fn bit(bits: &[u8], i: usize) -> bool {
    bits.get(i / 8).is_some_and(|byte| byte >> (i % 8) & 1 != 0)
}
