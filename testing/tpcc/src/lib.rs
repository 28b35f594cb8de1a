//! TPC-C, written from the specification (revision 5.11), against any server that speaks MySQL's
//! protocol.
//!
//! 1. [`schema`] makes the nine tables; [`load`] fills them with the cardinalities and random
//!    values of clause 4.3.
//! 2. [`terminal`] is an emulated user: it draws transactions from a deck with the standard mix and
//!    waits for each; the five transactions are in [`transactions`].
//! 3. [`consistency`] is clause 3.3.2: twelve conditions that hold whenever nothing runs.
//! 4. [`report`] prints the New-Order transactions per minute and the times of all.
//!
//! What departs from the specification, and why: keying and think times are off unless asked for (a
//! benchmark of the server, not of patience); a Delivery runs at once, not from a queue; tables are
//! scaled down for tests; the foreign keys, which the specification describes but does not ask a
//! server to enforce, are there if asked for. A result is no audited tpmC.

pub mod consistency;
pub mod load;
pub mod random;
pub mod report;
pub mod scale;
pub mod schema;
pub mod session;
pub mod terminal;
pub mod transactions;

/// What went wrong, in words for the person at the terminal.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;
