//! The session's side of transactions: when they begin, what they hold, how they end.
//!
//! A statement that touches tables opens a transaction if none is open. With autocommit, and unless
//! BEGIN opened it, the transaction ends with the statement; else with COMMIT, ROLLBACK, or a
//! statement that commits implicitly.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use binlog::gtid::GtidSpecification;
use binlog::log::Published;
use smallvec::SmallVec;
use storage::transaction::{Isolation, Savepoint};
use storage::{Transaction, TransactionOptions};

use super::Context;
use super::pending_reply::PendingReply;
use crate::catalog::TableDef;
use crate::catalog::foreign_key::TableName;
use crate::catalog::metadata_lock::{Guard, Guards, MetadataLockType};
use crate::status::Counter;
use crate::variables::ids;
use datum::error::{self, Result, SqlError};
use datum::value::temporal::SECOND;
use syntax::ast;

/// The session's open transaction.
pub(crate) struct SessionTransaction {
    /// The storage engine's side: snapshot, row locks, write set.
    pub(crate) storage_transaction: Box<Transaction>,
    /// BEGIN opened it, or autocommit is off: it outlives its statements.
    pub(crate) explicit: bool,
    /// BEGIN opened it, or a statement has used a table: else it goes with the statement,
    /// autocommit or not.
    pub used: bool,
    /// What SET TRANSACTION had said of it.
    characteristics: Characteristics,
    /// START TRANSACTION READ ONLY.
    pub(crate) read_only: bool,
    /// What its snapshot holds of the log, if it began WITH CONSISTENT SNAPSHOT.
    pub start: Option<Published>,
    /// Savepoints by name, the newest last.
    pub(crate) savepoints: Vec<(String, Savepoint)>,
    /// Tables in use.
    pub(super) tables: Guards,
    /// What it has done that ROLLBACK does not take back.
    pub(crate) lasting: LastingChanges,
}

/// Temporary tables come and go at once, whatever becomes of the transaction.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LastingChanges {
    /// CREATE TEMPORARY TABLE.
    pub(crate) made: bool,
    /// DROP TEMPORARY TABLE of one that was there.
    pub(crate) dropped: bool,
}

/// What SET TRANSACTION says of the next one.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Characteristics {
    /// Its isolation level.
    pub(crate) isolation: Option<ast::Isolation>,
    /// READ ONLY, READ WRITE.
    pub(crate) read_only: Option<bool>,
}

impl Characteristics {
    fn is_default(&self) -> bool {
        self.isolation.is_none() && self.read_only.is_none()
    }
}

impl SessionTransaction {
    /// The engine's transaction and the metadata locks.
    pub(super) fn into_parts(self) -> (Box<Transaction>, Guards) {
        (self.storage_transaction, self.tables)
    }

    /// The metadata locks that it holds.
    pub(super) fn metadata(&self) -> impl Iterator<Item = &Guard> {
        self.tables.iter()
    }
}

impl Context {
    /// The open transaction, opened now if there is none.
    pub(crate) fn transaction(&mut self) -> &mut SessionTransaction {
        if self.transactions.open.is_none() {
            let explicit = !self.settings.autocommit();
            self.open_transaction(explicit, None);
        }
        self.transactions.open.as_mut().expect("it was opened above")
    }

    /// The storage engine's side of the open transaction, opened now if there is none.
    pub(crate) fn storage_transaction(&mut self) -> &mut Transaction {
        &mut self.transaction().storage_transaction
    }

    fn open_transaction(&mut self, explicit: bool, read_only: Option<bool>) {
        let next = std::mem::take(&mut self.transactions.next);
        if !next.is_default() {
            self.tracker.transactions.one_shot_used();
        }
        let isolation = match next.isolation {
            Some(isolation) => isolation_of(isolation),
            // By the variable's list of words.
            None => match self.settings.variables().uint(ids::TRANSACTION_ISOLATION) {
                0 | 1 => Isolation::ReadCommitted,
                2 => Isolation::RepeatableRead,
                _ => Isolation::Serializable,
            },
        };
        let read_only = read_only
            .or(next.read_only)
            .unwrap_or(self.settings.variables().bool(ids::TRANSACTION_READ_ONLY));
        let options = TransactionOptions {
            isolation,
            lock_wait_timeout: self.settings.lock_wait_timeout(),
            context: self.group_context(),
            begin: self.begin_event(),
            gtid: self.log.gtid(),
        };
        let mut storage_transaction = self.instance.engine().begin(self.interrupt.clone(), options);
        storage_transaction.reuse_buffers(std::mem::take(&mut self.scratch.transaction));
        self.transactions.open = Some(SessionTransaction {
            storage_transaction,
            explicit,
            used: false,
            characteristics: next,
            read_only,
            start: None,
            savepoints: Vec::new(),
            tables: Guards::new(),
            lasting: LastingChanges::default(),
        });
    }

    /// Notes what a statement has done that ROLLBACK of its transaction does not take back.
    pub(crate) fn note_lasting(&mut self, LastingChanges { made, dropped }: LastingChanges) {
        let is_alone = !self.transactions.is_explicit() && self.settings.autocommit();
        if is_alone || !made && !dropped {
            return;
        }
        let open = self.transaction();
        open.used = true;
        open.lasting.made |= made;
        open.lasting.dropped |= dropped;
    }

    /// A second transaction, besides the session's own, for reading what is committed now.
    pub(crate) fn scratch_transaction(&mut self) -> Box<Transaction> {
        self.second_transaction(GtidSpecification::default())
    }

    /// A second transaction, besides the session's own, which is logged under the name that the
    /// session's next one has.
    pub(crate) fn logged_transaction(&mut self) -> Box<Transaction> {
        self.second_transaction(self.log.gtid())
    }

    fn second_transaction(&mut self, gtid: GtidSpecification) -> Box<Transaction> {
        let options = TransactionOptions {
            isolation: Isolation::RepeatableRead,
            lock_wait_timeout: self.settings.lock_wait_timeout(),
            context: self.group_context(),
            begin: self.begin_event(),
            gtid,
        };
        self.instance.engine().begin(self.interrupt.clone(), options)
    }

    /// A table for a statement that reads it: its definition stays as it is until the transaction
    /// ends.
    pub(crate) fn open_table(&mut self, database: Option<&str>, name: &str) -> Result<Arc<TableDef>> {
        self.open(database, name, MetadataLockType::Read)
    }

    /// A table for a statement that changes its rows.
    pub(crate) fn open_table_to_write(
        &mut self,
        database: Option<&str>,
        name: &str,
    ) -> Result<Arc<TableDef>> {
        match self.open_to_change(database, name)? {
            Some(table) => Ok(table),
            None => Err(SqlError::unsupported("this change of rows through a view")),
        }
    }

    /// The same; `None` for a view.
    pub(crate) fn open_to_change(
        &mut self,
        database: Option<&str>,
        name: &str,
    ) -> Result<Option<Arc<TableDef>>> {
        match self.open(database, name, MetadataLockType::Write) {
            Err(e) if e.is(error::NO_SUCH_TABLE) && self.visible_view(database, name).is_some() => Ok(None),
            opened => opened.map(Some),
        }
    }

    fn open(&mut self, database: Option<&str>, name: &str, kind: MetadataLockType) -> Result<Arc<TableDef>> {
        let database = crate::catalog::database_or(database, self.default_database())?.to_owned();
        crate::catalog::check_not_system(&database)?;
        self.track_table(kind);
        self.publish_transaction();
        if let Some(table) = self.temporary_table(Some(&database), name) {
            let table = table.clone();
            self.check_temporary()?;
            self.transaction();
            return Ok(table);
        }
        self.open_stored(&database, name, kind)
    }

    /// A table that a foreign key leads to, whatever the session's own tables are called and LOCK
    /// TABLES has locked; `None` if it is not there.
    pub(crate) fn open_related(
        &mut self,
        name: &TableName,
        kind: MetadataLockType,
    ) -> Result<Option<Arc<TableDef>>> {
        match self.open_held(&name.database, &name.name, kind) {
            Ok(table) => Ok(Some(table)),
            Err(e) if e.is(error::NO_SUCH_TABLE) || e.is(error::BAD_DB_ERROR) => Ok(None),
            Err(e) => Err(e),
        }
    }

    pub(super) fn open_stored(
        &mut self,
        database: &str,
        name: &str,
        kind: MetadataLockType,
    ) -> Result<Arc<TableDef>> {
        let table = self.open_held(database, name, kind)?;
        self.use_table(&table, kind)?;
        Ok(table)
    }

    /// Opens a table without a statement's using it.
    fn open_held(&mut self, database: &str, name: &str, kind: MetadataLockType) -> Result<Arc<TableDef>> {
        loop {
            let table = self.catalog().table(database, name)?;
            let own = self.transaction().tables.iter().filter(|guard| guard.is_of(&table.lock));
            let (mut held, mut enough) = (false, false);
            for guard in own {
                held = true;
                enough |= guard.kind() == kind || kind == MetadataLockType::Read;
            }
            // LOCK TABLES has said already what may be done with the table.
            if enough || self.locks.tables.kind_of(&table.lock).is_some() {
                return Ok(table);
            }
            let guard = self.lock_metadata(&table.lock, kind, held, &[])?;
            // DDL may have been faster.
            if held || self.catalog().is_current(&table) {
                self.hold(guard, &table);
                return Ok(table);
            }
        }
    }

    /// From its first table on, or its snapshot, others may know of the transaction.
    pub(super) fn publish_transaction(&mut self) {
        if self.transactions.published.has_begun() {
            return;
        }
        let moment = self.real_moment() as u64;
        let SessionTransaction { storage_transaction, explicit, read_only, .. } = self.transaction();
        let (owner, isolation, explicit, read_only) =
            (storage_transaction.owner().0, storage_transaction.isolation(), *explicit, *read_only);
        self.transactions.published.begin(owner, moment, isolation, explicit, read_only);
    }

    /// Keeps a table's definition as it is until the transaction ends.
    fn hold(&mut self, mut guard: Guard, table: &Arc<TableDef>) {
        guard.pin_definition(table);
        self.transactions.published.holds(&table.lock, guard.kind());
        self.transaction().tables.push(guard);
    }

    /// The statement uses the table. Error 1412 if it is to be read as of a snapshot that is older
    /// than its rows' trees; changes read what is there now. Error 1442 (U1 of `used_tables.rs`).
    fn use_table(&mut self, table: &TableDef, kind: MetadataLockType) -> Result<()> {
        self.statement.used_tables.add(table, kind)?;
        match self.transaction().storage_transaction.snapshot_position() {
            Some(snapshot) if kind == MetadataLockType::Read && snapshot < table.readable_from => {
                Err(error::TABLE_DEF_CHANGED.plain())
            }
            _ => Ok(()),
        }
    }

    pub(super) fn track_table(&mut self, kind: MetadataLockType) {
        let autocommit = self.settings.autocommit();
        self.tracker.transactions.table(kind == MetadataLockType::Write, autocommit);
        self.transaction().used = true;
    }

    /// Opens a table once more, for a plan that was made for this definition of it; false if that
    /// is not known to be its definition now. It was when the catalog's definitions had the number
    /// `definitions`. An error if the table can't be had: who planned again would wait for it once
    /// more.
    pub(crate) fn reopen(
        &mut self,
        table: &Arc<TableDef>,
        kind: MetadataLockType,
        definitions: u64,
    ) -> Result<bool> {
        // The catalog does not know of temporary tables: that they are gone, or have taken this
        // one's name.
        let is_of_catalog = !table.is_temporary() && !self.has_temporary_tables();
        if !is_of_catalog || self.locks.tables.has_tables() || !self.rehold(table, kind, definitions)? {
            let now = self.open(Some(&table.database), &table.name, kind);
            return Ok(now.is_ok_and(|now| Arc::ptr_eq(&now, table)));
        }
        self.track_table(kind);
        Ok(true)
    }

    /// Without asking the catalog: true if the transaction keeps the definition already, or
    /// does from now on.
    fn rehold(&mut self, table: &Arc<TableDef>, kind: MetadataLockType, definitions: u64) -> Result<bool> {
        self.publish_transaction();
        let own = self.transaction().tables.iter().filter(|guard| guard.is_of(&table.lock));
        let (mut held, mut pinned) = (false, false);
        for guard in own {
            held = true;
            pinned |= guard.pins(table);
            if guard.pins(table) && (guard.kind() == kind || kind == MetadataLockType::Read) {
                self.use_table(table, kind)?;
                return Ok(true);
            }
        }
        if held && !pinned {
            return Ok(false);
        }
        let guard = self.lock_metadata(&table.lock, kind, held, &[])?;
        let is_same = pinned || self.catalog().definitions_epoch().load(Ordering::Acquire) == definitions;
        if is_same {
            self.use_table(table, kind)?;
            self.hold(guard, table);
        }
        Ok(is_same)
    }

    /// [`Self::check_writable`] for a table whose rows are to change: a temporary one is no matter
    /// of the transaction's.
    pub(crate) fn check_writable_table(&mut self, table: &TableDef) -> Result<()> {
        if table.is_temporary() { Ok(()) } else { self.check_writable() }
    }

    /// Error 1792 in a read-only transaction; and what a global read lock means for a statement
    /// that changes rows.
    pub(crate) fn check_writable(&mut self) -> Result<()> {
        if self.transaction().read_only {
            return Err(error::CANT_EXECUTE_IN_READ_ONLY_TRANSACTION.plain());
        }
        self.check_server_writable()?;
        self.pass_global_lock()
    }

    /// SET TRANSACTION holds for the next transaction: an implicit commit counts as one.
    pub(crate) fn forget_next_transaction(&mut self) {
        if !std::mem::take(&mut self.transactions.next).is_default() {
            self.tracker.transactions.one_shot_used();
        }
    }

    /// Error 1792 for a definition, or what is like one, in a transaction that is READ ONLY, or if
    /// the next one would be. What commits implicitly has done so: what counts then is the session.
    pub(crate) fn check_definition_writable(&self, kind: &ast::StatementKind) -> Result<()> {
        use ast::{MaintenanceVerb as V, SetItem, StatementKind as S, TableLock};
        let own =
            |name: &ast::ObjectName| self.temporary_table(name.database.as_deref(), &name.name).is_some();
        let changes = match kind {
            S::TableMaintenance(maintenance) => {
                matches!(maintenance.verb, V::Analyze | V::Optimize | V::Repair)
            }
            S::LockTables(tables) => tables.iter().any(|t| t.mode == TableLock::Write && !own(&t.table)),
            S::Set(items) => {
                matches!(items.as_slice(), [SetItem::Password { .. }]) && self.transactions.open.is_none()
            }
            kind => crate::statement_class::is_ddl(kind),
        };
        if !changes {
            return Ok(());
        }
        let read_only = match &self.transactions.open {
            Some(open) => open.read_only,
            None => {
                let next = self.transactions.next.read_only;
                next.unwrap_or_else(|| self.settings.variables().bool(ids::TRANSACTION_READ_ONLY))
            }
        };
        match read_only {
            true => Err(error::CANT_EXECUTE_IN_READ_ONLY_TRANSACTION.plain()),
            false => Ok(()),
        }
    }

    /// BEGIN, START TRANSACTION.
    pub(crate) fn begin(&mut self, options: ast::TransactionOptions) -> Result<()> {
        self.commit()?;
        self.forget_locked_tables();
        let next = self.transactions.next;
        let characteristics = Characteristics { read_only: options.read_only.or(next.read_only), ..next };
        self.open_transaction(true, options.read_only);
        self.transaction().used = true;
        self.tracker.transactions.began(characteristics, options.consistent_snapshot);
        if options.consistent_snapshot {
            if self.storage_transaction().isolation() == Isolation::RepeatableRead {
                self.take_consistent_snapshot();
            } else {
                self.warn(error::CONSISTENT_SNAPSHOT_IGNORED.plain());
            }
        }
        Ok(())
    }

    /// The snapshot, and its place in the log: a dump's tables and position agree without a lock.
    fn take_consistent_snapshot(&mut self) {
        self.publish_transaction();
        let log = self.instance.log().clone();
        let before = log.published();
        // If the log has stopped the snapshot is of what was visible, and its place is that of the
        // end.
        let _ = log.wait_visible(before.position);
        let position = self.storage_transaction().snapshot().position();
        self.transaction().start = log.published_at(position, before).ok();
    }

    /// What the session sees of the log, once that is durable: a crash could take back what is
    /// behind. In a transaction WITH CONSISTENT SNAPSHOT it is what the snapshot sees.
    pub(crate) fn published_log(&self) -> Result<Published> {
        let log = self.instance.log();
        let published = self.transactions.snapshot_start().cloned().unwrap_or_else(|| log.published());
        log.ensure_durable(published.position).map_err(SqlError::internal)?;
        Ok(published)
    }

    /// AND CHAIN: begins a transaction like the one that has ended.
    pub(crate) fn begin_chained(&mut self, ended: Option<Characteristics>) -> Result<()> {
        self.transactions.next = ended.unwrap_or(self.transactions.next);
        self.begin(ast::TransactionOptions::default())?;
        self.tracker.transactions.chained();
        Ok(())
    }

    /// The open transaction, which ends now.
    pub(super) fn take_transaction(&mut self) -> Option<SessionTransaction> {
        let open = self.transactions.open.take()?;
        self.transactions.published.end();
        self.tracker.transactions.ended();
        Some(open)
    }

    /// Forgets a transaction in which nothing was done, as if it had not been opened: what SET
    /// TRANSACTION said is for the next one.
    pub(super) fn forget_unused(&mut self) {
        let is_unused = |open: &SessionTransaction| {
            !open.used && !open.storage_transaction.has_changes() && open.savepoints.is_empty()
        };
        if self.transactions.open.as_ref().is_some_and(is_unused)
            && self.log.owned_gtid().is_none()
            && let Some(open) = self.transactions.open.take()
        {
            self.transactions.next = open.characteristics;
            open.storage_transaction.rollback();
        }
    }

    /// COMMIT, and what statements that commit implicitly do first.
    pub(crate) fn commit(&mut self) -> Result<()> {
        self.refuse_in_branch()?;
        self.commit_open()
    }

    /// Commits what is open, a branch of XA too.
    pub(super) fn commit_open(&mut self) -> Result<()> {
        let committed = self.enqueue_open().and_then(|open| open.map_or(Ok(None), PendingReply::wait));
        self.drop_retired();
        if let Some(committed) = committed.inspect_err(|_| self.gtid_used())? {
            self.committed(committed.gtid);
        }
        Ok(())
    }

    /// Puts what is open into the log's queue; `None` if nothing is open, or nothing was changed
    /// and what it has read is as durable as the settings ask.
    pub(super) fn enqueue_open(&mut self) -> Result<Option<PendingReply>> {
        let pass = match &self.transactions.open {
            Some(open) if open.storage_transaction.has_changes() => {
                let pass = self.enter_commit()?;
                if let Err(e) = self.check_server_writable() {
                    self.rollback();
                    return Err(e);
                }
                pass
            }
            _ => None,
        };
        let Some(SessionTransaction { storage_transaction, tables, .. }) = self.take_transaction() else {
            return Ok(None);
        };
        if !tables.is_empty() {
            self.count(Counter::HandlerCommit);
        }
        let newest = storage_transaction.newest_read();
        let changed = SmallVec::<[u64; 4]>::from_slice(storage_transaction.changed_tables());
        Ok(match storage_transaction.enqueue(&mut self.scratch.transaction)? {
            Some(pending) => {
                self.note_changes(&changed);
                self.forget_original_commit();
                Some(PendingReply::commit(pending, tables, pass))
            }
            None => PendingReply::read(self.instance.engine(), newest),
        })
    }

    /// Notes that rows of these tables are changed, by their numbers.
    pub(crate) fn note_changes(&self, tables: &[u64]) {
        if tables.is_empty() {
            return;
        }
        let seconds = (self.real_moment() / SECOND) as u32;
        tables.iter().for_each(|&table| self.instance.change_times().changed(table, seconds));
    }

    pub(crate) fn rollback(&mut self) {
        if let Some(started) = self.transactions.started_table.take() {
            self.drop_temporary(started.filled());
        }
        if let Some(open) = self.take_transaction() {
            if !open.tables.is_empty() {
                self.count(Counter::HandlerRollback);
            }
            open.storage_transaction.rollback();
            self.drop_retired();
        }
        self.gtid_used();
    }

    pub(crate) fn savepoint(&mut self, name: &str) {
        if !self.transactions.is_explicit() && self.settings.autocommit() {
            return; // it would end with this statement
        }
        self.count(Counter::HandlerSavepoint);
        let open = self.transaction();
        let savepoint = open.storage_transaction.savepoint();
        open.savepoints.retain(|(n, _)| !n.eq_ignore_ascii_case(name));
        open.savepoints.push((name.to_owned(), savepoint));
    }

    fn find_savepoint(&self, name: &str) -> Result<usize> {
        let found = self
            .transactions
            .open
            .as_ref()
            .and_then(|t| t.savepoints.iter().position(|(n, _)| n.eq_ignore_ascii_case(name)));
        found.ok_or_else(|| error::SP_DOES_NOT_EXIST.with(&[&"SAVEPOINT", &name]))
    }

    /// ROLLBACK TO SAVEPOINT.
    pub(crate) fn rollback_to(&mut self, name: &str) -> Result<()> {
        let place = self.find_savepoint(name)?;
        let open = self.transaction();
        open.savepoints.truncate(place + 1);
        let savepoint = open.savepoints[place].1;
        open.storage_transaction.rollback_to(savepoint);
        self.count(Counter::HandlerSavepointRollback);
        Ok(())
    }

    /// RELEASE SAVEPOINT.
    pub(crate) fn release(&mut self, name: &str) -> Result<()> {
        let place = self.find_savepoint(name)?;
        self.transaction().savepoints.truncate(place);
        Ok(())
    }

    /// Begins a statement's part of the transaction.
    pub(crate) fn begin_statement(&mut self, text: &[u8]) {
        let timestamp = self.statement.timestamp();
        let settings = *self.settings.decoded();
        let log_text = settings.logs_texts && !crate::routine::is_in_function(self);
        let transaction = self.storage_transaction();
        transaction.set_lock_wait_timeout(settings.lock_wait_timeout);
        transaction.set_row_images(settings.row_images);
        transaction.set_rows_flags(settings.rows_flags);
        transaction.begin_statement(timestamp, log_text.then_some(text));
    }

    /// The same for an event of a BINLOG statement, which happened at `timestamp`.
    pub(crate) fn begin_row_event(&mut self, timestamp: u32) {
        let settings = *self.settings.decoded();
        let transaction = self.storage_transaction();
        transaction.set_lock_wait_timeout(settings.lock_wait_timeout);
        transaction.set_row_images(settings.row_images);
        transaction.set_rows_flags(settings.rows_flags);
        transaction.begin_statement(timestamp, None);
    }

    /// Ends it: keeps its changes, or takes them back. A lost transaction is rolled back as a
    /// whole.
    pub(crate) fn end_statement(&mut self, succeeded: bool) {
        let Some(open) = &mut self.transactions.open else { return };
        if succeeded {
            open.storage_transaction.end_statement();
        } else {
            open.storage_transaction.rollback_statement();
        }
        self.transactions.published.set_rows_changed(open.storage_transaction.rows_changed());
    }
}

/// READ UNCOMMITTED is READ COMMITTED.
fn isolation_of(isolation: ast::Isolation) -> Isolation {
    match isolation {
        ast::Isolation::ReadUncommitted | ast::Isolation::ReadCommitted => Isolation::ReadCommitted,
        ast::Isolation::RepeatableRead => Isolation::RepeatableRead,
        ast::Isolation::Serializable => Isolation::Serializable,
    }
}
