//! Which reads take shared locks: as in InnoDB, those of a statement that changes or assigns
//! something by what it reads, so that it goes by the newest rows and nobody changes these before
//! the commit. A SELECT reads by the snapshot.

use super::Context;
use storage::transaction::Isolation;
use syntax::ast::{InsertSource, StatementKind, TableReference, Update};

/// Whether reads that ask for no lock themselves take shared ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum ReadLocks {
    #[default]
    Never,
    /// Not under READ COMMITTED, where the statement's snapshot is its own.
    AboveReadCommitted,
    Always,
}

impl ReadLocks {
    /// What a statement asks for.
    pub(crate) fn of(kind: &StatementKind) -> Self {
        use StatementKind as S;
        match kind {
            S::Insert(insert) if matches!(insert.source, InsertSource::Query(_)) => Self::AboveReadCommitted,
            S::Update(update) if is_of_one_table(update) => Self::AboveReadCommitted,
            S::CreateTable(_) => Self::AboveReadCommitted,
            S::Insert(_) | S::Update(_) | S::Delete(_) | S::LoadData(_) => Self::Always,
            S::Set(_) | S::Do(_) | S::Call { .. } => Self::Always,
            _ => Self::Never,
        }
    }

    /// What a statement of a function or trigger asks for, which is part of another statement: one
    /// that changes no rows goes by that.
    pub(crate) fn of_nested(kind: &StatementKind, around: Self) -> Self {
        use StatementKind as S;
        match kind {
            S::Query(_) | S::Insert(_) | S::Update(_) | S::Delete(_) => Self::of(kind),
            _ => around,
        }
    }
}

fn is_of_one_table(update: &Update) -> bool {
    matches!(update.tables[..], [TableReference::Table(_)])
}

impl Context {
    /// Runs something whose reads take these locks.
    pub(crate) fn with_read_locks<T>(&mut self, locks: ReadLocks, run: impl FnOnce(&mut Self) -> T) -> T {
        let around = std::mem::replace(&mut self.statement.read_locks, locks);
        let outcome = run(self);
        self.statement.read_locks = around;
        outcome
    }

    /// True if a read of the transaction that asks for no lock itself takes a shared one.
    pub(crate) fn locks_reads(&mut self) -> bool {
        match self.statement.read_locks {
            ReadLocks::Never => false,
            ReadLocks::AboveReadCommitted => {
                self.storage_transaction().isolation() != Isolation::ReadCommitted
            }
            ReadLocks::Always => true,
        }
    }
}
