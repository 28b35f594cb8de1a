//! The store whose write-ahead log is the binary log, and the transactions on it.
//!
//! Tables live in one keyspace: an index is a *tree*, a four-byte prefix of the keys. Each version
//! of a row is stamped with the log position of the transaction that wrote it. The store below
//! knows nothing of rows and transactions; what is above it knows nothing of files.
//!
//! Reading order of the store: [`entry`] (what is stored, and its order), [`batch`], `skiplist`,
//! `memtable` and `large` (where writes go), `merge` and [`cursor`] (how versions become rows),
//! `gaps` (scans skip runs of tombstones), [`snapshot`] and `survivors` (which versions stay),
//! `estimate`, `sstable` (tables on disk), `version` and `view` (which tables there are, and what a
//! reader reads), `manifest` and `tables` (how that changes), `output`, `flush`, `compaction`,
//! `background`, `core`, [`store`], [`build`] (new trees, concurrently with writers), [`check`] (a
//! store that is damaged, read without opening it).
//!
//! Reading order of transactions: [`key`] and [`schema`] (what a row is to its trees), [`layout`]
//! (what it was before ALTER TABLE), [`statistics`] (what an index holds), [`lock`], [`write_set`],
//! [`transaction`], [`engine`] (commit), [`temporary`] (tables without a log), [`prepared`] (XA),
//! [`replay`] (recovery).

#![warn(clippy::missing_errors_doc)]

mod background;
mod batch;
pub mod build;
mod cache;
pub mod check;
mod compaction;
mod core;
mod cursor;
pub mod engine;
mod entry;
mod error;
mod estimate;
mod flush;
mod gaps;
pub mod key;
mod large;
pub mod layout;
pub mod lock;
mod manifest;
mod memtable;
mod merge;
mod output;
mod prepared;
mod replay;
pub mod schema;
mod skiplist;
mod snapshot;
pub mod source_position;
mod sstable;
mod statistics;
mod store;
mod survivors;
mod tables;
pub mod temporary;
#[cfg(test)]
mod testing;
pub mod transaction;
mod version;
mod view;
mod write_set;

pub use batch::{BatchOp, WriteBatch};
pub use cursor::Cursor;
pub use engine::{
    Engine, EngineError, EngineOptions, FinishedBranch, PendingCommit, STORE_FOLDER, TEMPORARY_FOLDER,
};
pub use entry::{TreeId, Value};
pub use error::StoreError;
pub use lock::{Interrupt, LockError, LockManager, LockMode, WaitPolicy};
pub use prepared::{XID_PART_MAX, Xid};
pub use replay::{Cause, ReplayError, ReplayTarget};
pub use schema::{Column, IndexDefinition, KeyPart, TableSchema};
pub use snapshot::Snapshot;
pub use statistics::IndexSample;
pub use store::{BegunCheckpoint, ExaminedStore, GapsDue, LogDurability, Store, StoreOptions, StoreStats};
pub use transaction::{Transaction, TransactionError, TransactionOptions};
