//! What other sessions may know of a session's transaction, for monitoring (`INNODB_TRX`,
//! `metadata_locks`).
//!
//! The session alone writes, by relaxed stores into memory of its own: no statement waits for who
//! looks. A reader that reads while a transaction ends and the next begins may see something of
//! both.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use storage::transaction::Isolation;

use crate::catalog::metadata_lock::{MetadataLock, MetadataLockType};

/// So many tables in use are listed.
const TABLES_MAX: usize = 8;
/// The bits of a lock's address that say how it is held.
const KIND_BITS: usize = 0b111;
const _: () = assert!(align_of::<MetadataLock>() > KIND_BITS);

const EXPLICIT: u64 = 1;
const READ_ONLY: u64 = 2;
const ISOLATION: u64 = 4;

/// The transaction that a session has open.
#[derive(Debug, Default)]
pub(crate) struct OpenTransaction {
    /// Its name in the lock table; 0 while there is none.
    owner: AtomicU64,
    /// Microseconds since 1970.
    since: AtomicU64,
    rows_changed: AtomicU64,
    traits: AtomicU64,
    table_count: AtomicUsize,
    /// Addresses of metadata locks, with [`KIND_BITS`].
    tables: [AtomicUsize; TABLES_MAX],
}

/// What is known of a transaction at one moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TransactionInfo {
    /// Its name in the lock table.
    pub owner: u64,
    /// When the first statement that has used a table began, in microseconds since 1970.
    pub since: u64,
    /// Rows changed, as of the last statement that ended.
    pub(crate) rows_changed: u64,
    /// It outlives its statements.
    pub(crate) explicit: bool,
    /// START TRANSACTION READ ONLY.
    pub(crate) read_only: bool,
    /// Its isolation level.
    pub(crate) isolation: Isolation,
}

impl OpenTransaction {
    /// True if others know of it.
    pub(super) fn has_begun(&self) -> bool {
        self.owner.load(Relaxed) != 0
    }

    pub(super) fn begin(
        &self,
        owner: u64,
        since: u64,
        isolation: Isolation,
        explicit: bool,
        read_only: bool,
    ) {
        let level = match isolation {
            Isolation::ReadCommitted => 0,
            Isolation::RepeatableRead => 1,
            Isolation::Serializable => 2,
        };
        let bit = |is_set, bit| if is_set { bit } else { 0 };
        let traits = (level * ISOLATION) | bit(explicit, EXPLICIT) | bit(read_only, READ_ONLY);
        self.since.store(since, Relaxed);
        self.rows_changed.store(0, Relaxed);
        self.traits.store(traits, Relaxed);
        self.owner.store(owner, Relaxed);
    }

    pub(super) fn set_rows_changed(&self, rows: u64) {
        self.rows_changed.store(rows, Relaxed);
    }

    /// Its transaction has a metadata lock, read or write.
    pub(super) fn holds(&self, lock: &MetadataLock, kind: MetadataLockType) {
        let count = self.table_count.load(Relaxed);
        if let Some(table) = self.tables.get(count) {
            table.store(
                std::ptr::from_ref(lock).addr() | usize::from(kind == MetadataLockType::Write),
                Relaxed,
            );
        }
        self.table_count.store(count + 1, Relaxed);
    }

    pub(super) fn end(&self) {
        self.owner.store(0, Relaxed);
        self.table_count.store(0, Relaxed);
    }

    /// The transaction that is open now, if it has used a table or taken its snapshot.
    pub(crate) fn now(&self) -> Option<TransactionInfo> {
        let traits = self.traits.load(Relaxed);
        let seen = TransactionInfo {
            owner: self.owner.load(Relaxed),
            since: self.since.load(Relaxed),
            rows_changed: self.rows_changed.load(Relaxed),
            explicit: traits & EXPLICIT != 0,
            read_only: traits & READ_ONLY != 0,
            isolation: match traits / ISOLATION {
                0 => Isolation::ReadCommitted,
                1 => Isolation::RepeatableRead,
                _ => Isolation::Serializable,
            },
        };
        (seen.owner != 0).then_some(seen)
    }

    /// How many metadata locks it holds.
    pub(crate) fn table_count(&self) -> usize {
        self.table_count.load(Relaxed)
    }

    /// The addresses of the first of them, and how they are held. A lock may be gone by now.
    pub(crate) fn tables(&self) -> impl Iterator<Item = (usize, MetadataLockType)> {
        let count = self.table_count().min(TABLES_MAX);
        self.tables[..count].iter().map(|table| {
            let word = table.load(Relaxed);
            (
                word & !KIND_BITS,
                if word & KIND_BITS == 0 { MetadataLockType::Read } else { MetadataLockType::Write },
            )
        })
    }
}
