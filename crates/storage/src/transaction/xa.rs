//! The ends of an XA transaction: prepared, or committed in one phase. The story is in
//! [`crate::prepared`].

use std::sync::Arc;

use binlog::event::{QueryEvent, XaPrepareEvent};
use binlog::group::EventGroup;
use binlog::log::Committed;

use super::{Transaction, TransactionError};
use crate::lock::LockError;
use crate::prepared::{Content, Prepared, Xid};
use crate::schema::TableSchema;
use crate::source_position::SourcePosition;

/// What makes a transaction one of XA.
pub(super) struct Branch {
    xid: Xid,
    /// `XA END`
    end: QueryEvent<'static>,
    /// Tables that it changes.
    tables: Vec<(String, String)>,
}

impl Transaction {
    /// Makes it an XA transaction; before its first change. Its `BEGIN` is `XA START`; `end` is its
    /// `XA END`.
    pub fn set_xa(&mut self, xid: Xid, end: QueryEvent<'static>) {
        self.branch = Some(Box::new(Branch { xid, end, tables: Vec::new() }));
    }

    pub(super) fn note_table(&mut self, schema: &TableSchema) {
        if !self.changed.contains(&schema.id) {
            self.changed.push(schema.id);
        }
        if let Some(branch) = &mut self.branch {
            let same =
                |(database, name): &(String, String)| *database == schema.database && *name == schema.name;
            if !branch.tables.iter().any(same) {
                branch.tables.push((schema.database.clone(), schema.name.clone()));
            }
        }
    }

    /// The last events of an XA transaction.
    pub(super) fn finish_branch(
        group: binlog::group::GroupBuilder,
        branch: &Branch,
        one_phase: bool,
    ) -> EventGroup {
        let mut group = group;
        group.event(&branch.end);
        group.event(&XaPrepareEvent {
            one_phase,
            format_id: branch.xid.format as i32,
            gtrid: &branch.xid.gtrid,
            bqual: &branch.xid.bqual,
        });
        group.finish(false)
    }

    /// XA PREPARE: returns once the log has published it. From then on the engine keeps it.
    /// `None` if it changed nothing, and is not logged. Where the group ends in the log of a source
    /// is true from the preparation on, whatever becomes of the branch.
    ///
    /// # Errors
    /// As [`Self::commit`]. After an error the transaction is gone.
    pub fn prepare(
        mut self: Box<Self>,
        source_position: Option<&SourcePosition>,
    ) -> Result<Option<Committed>, TransactionError> {
        if self.must_roll_back {
            return Err(LockError::Aborted.into());
        }
        let Some(branch) = self.branch.take() else { return Err(LockError::Aborted.into()) };
        if self.group.is_empty() {
            let content = Arc::new(Content::of_nothing(branch.tables));
            self.engine.add_prepared(branch.xid, Prepared { content, locks: self.locks });
            return Ok(None);
        }
        let Branch { xid, tables, .. } = &*branch;
        let content =
            Arc::new(Content::new(self.writes.to_batch(), self.locks.exclusive_keys(), tables.clone()));
        let mut records = content.record(xid);
        if let Some(position) = source_position {
            self.group.end_statement();
            self.group.event(&position.event());
            position.record(&mut records);
        }
        self.engine.store().admit(records.size())?;
        let group = Self::finish_branch(self.group, &branch, false);
        drop(self.snapshot);
        let pending = self.engine.enqueue(group, records, None, self.options.gtid);
        // Its changes are in nobody's way until they are in the store: the locks stay with it
        // whatever happens.
        let prepared = pending.wait()?;
        self.engine.add_prepared(branch.xid, Prepared { content, locks: self.locks });
        Ok(Some(prepared))
    }
}
