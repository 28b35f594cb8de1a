//! The log as a stream.
//!
//! [`source`] sends the log to replicas and to `mysqlbinlog`. No packets live here: `server` hands in a [`Stream`].
//! Not here yet: the replica's side, semi-synchronous replication.

pub mod source;

pub use source::{ChecksumWish, DumpError, Request, Stream};
