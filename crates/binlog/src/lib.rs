//! The MySQL binary log: events, files, group commit, recovery, readers. No SQL, no sockets. Usable
//! alone.
//!
//! Formats are those of MySQL 8.4's binary log version 4, as its source-code documentation and the
//! manual's chapter on the binary log describe them.

#![warn(clippy::missing_errors_doc)]

pub mod event;
pub mod file;
pub mod group;
pub mod gtid;
pub mod json_lines;
pub mod log;
mod position;
pub mod row;
pub mod text;

pub use position::{FileNumber, LogPosition};
