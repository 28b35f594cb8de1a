//! The log as a stream.
//!
//! [`source`] sends the log to replicas and to `mysqlbinlog`. No packets live here: `server` hands
//! in a [`Stream`]. [`semi_sync`] has commits wait until replicas have them. The replica's
//! side is in `sql` (the applier) and `server` (the receiver).

#![warn(clippy::missing_errors_doc)]

pub mod semi_sync;
pub mod source;

pub use source::{ChecksumWish, DumpError, Request, Stream};
