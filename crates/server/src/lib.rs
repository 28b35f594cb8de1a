//! The server: options, sessions, the life of the process. See ARCHITECTURE.md for how the crates meet.
//!
//! Reading order: [`options`] (what it starts with).

pub mod options;
