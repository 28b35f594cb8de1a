//! The tables that statements use which run now, one within the other by stored functions.
//!
//! (U1) A statement of a function changes no table that a statement around it uses: error 1442.
//!      What is read around may be read again.

use crate::catalog::TableDef;
use crate::catalog::metadata_lock::MetadataLockType;
use datum::error::{self, Result};

/// The ids of the tables; the outermost statement's first.
#[derive(Default)]
pub(crate) struct UsedTables {
    ids: Vec<u64>,
    /// Where the innermost statement's begin.
    own: usize,
}

/// Where a statement's tables began.
pub(crate) struct Around(usize);

impl UsedTables {
    /// A client's statement begins.
    pub(crate) fn clear(&mut self) {
        self.ids.clear();
        self.own = 0;
    }

    /// A statement begins within another one; [`Self::pop`] takes what is returned.
    pub(crate) fn push(&mut self) -> Around {
        Around(std::mem::replace(&mut self.own, self.ids.len()))
    }

    /// It has ended.
    pub(crate) fn pop(&mut self, Around(own): Around) {
        self.ids.truncate(self.own);
        self.own = own;
    }

    /// The innermost statement uses a table; error 1442 (U1).
    pub(crate) fn add(&mut self, table: &TableDef, kind: MetadataLockType) -> Result<()> {
        let (around, own) = self.ids.split_at(self.own);
        if kind == MetadataLockType::Write && around.contains(&table.id) {
            return Err(error::CANT_UPDATE_USED_TABLE_IN_SF_OR_TRG.with(&[&table.name]));
        }
        if !own.contains(&table.id) {
            self.ids.push(table.id);
        }
        Ok(())
    }
}
