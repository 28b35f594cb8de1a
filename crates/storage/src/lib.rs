//! The store whose write-ahead log is the binary log, and the transactions on it.
//!
//! Tables live in one keyspace: an index is a *tree*, a four-byte prefix of the keys. Each version of a row is stamped
//! with the log position of the transaction that wrote it. The store below knows nothing of rows and transactions;
//! what is above it knows nothing of files.
//!
//! Reading order of the store: [`entry`] (what is stored, and its order), [`batch`], `skiplist` and `memtable` (where
//! writes go), `merge` and [`cursor`] (how versions become rows), [`snapshot`] (which versions must stay), `gaps`
//! (deleted rows are not stepped over twice), [`store`].
//!
//! Reading order of transactions: [`lock`].

#![allow(dead_code, reason = "the disk side lands next")]

pub mod batch;
pub mod cursor;
pub mod entry;
pub mod error;
pub mod lock;
mod memtable;
mod merge;
mod skiplist;
pub mod snapshot;
pub mod store;
mod view;

pub use batch::{BatchOp, WriteBatch};
pub use cursor::Cursor;
pub use entry::{TreeId, Value};
pub use error::StoreError;
pub use lock::{Interrupt, LockError, LockManager, LockMode, WaitPolicy};
pub use snapshot::Snapshot;
pub use store::{LogDurability, Store, StoreOptions};
