//! The numbers of column types in the protocol: those of table map events, and one that only
//! clients see. Source: the manual's protocol pages.

pub use binlog::row::code::*;

/// LONGTEXT and LONGBLOB; table maps call every length of them a BLOB.
pub const LONG_BLOB: u8 = 251;

/// MEDIUMTEXT and MEDIUMBLOB; likewise.
pub const MEDIUM_BLOB: u8 = 250;
