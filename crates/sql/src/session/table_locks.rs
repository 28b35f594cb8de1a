//! LOCK TABLES, FLUSH TABLES WITH READ LOCK, LOCK INSTANCE FOR BACKUP: locks that a session asks
//! for by name.
//!
//! - LOCK TABLES commits, gives the session's earlier table locks back, and takes the new ones all
//!   at once. Until UNLOCK TABLES or START TRANSACTION the session may use these tables only, under
//!   these names, and write those that it locked to write (errors 1100, 1099).
//! - FLUSH TABLES WITH READ LOCK lets nobody commit changes or change definitions until UNLOCK
//!   TABLES; nor may the session itself (1223).
//! - LOCK INSTANCE FOR BACKUP keeps DDL of others away until UNLOCK INSTANCE.

use std::cell::Cell;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use super::Context;
use super::trigger_locks::LockOrder;
use crate::catalog::metadata_lock::barrier::{Closed, Pass};
use crate::catalog::metadata_lock::{Guard, MetadataLock, MetadataLockType, Waiter};
use crate::catalog::{Change, TableDef, ViewDef, database_or};
use crate::privilege::{UsedTable, Uses, uses_of};
use crate::routine::Routine;
use crate::system_schemas;
use datum::bounds::Ticker;
use datum::error::{self, Result};
use syntax::ast::{Ident, LockTable, ObjectName, StatementKind, TableLock};

/// What a session has locked by name.
#[derive(Default)]
pub(crate) struct TableLocks {
    /// LOCK TABLES, FLUSH TABLES t WITH READ LOCK.
    tables: Option<Locked>,
    /// FLUSH TABLES WITH READ LOCK.
    global: Option<Closed>,
    /// LOCK INSTANCE FOR BACKUP.
    backup: Option<Closed>,
}

struct Locked {
    names: Vec<Name>,
    guards: Vec<Guard>,
    /// With a table locked to write, FLUSH TABLES WITH READ LOCK waits.
    _writes: Option<Pass>,
}

/// A name that a table may be used under.
struct Name {
    database: String,
    table: String,
    alias: String,
    write: bool,
}

impl TableLocks {
    /// True between LOCK TABLES and UNLOCK TABLES.
    pub(crate) fn has_tables(&self) -> bool {
        self.tables.is_some()
    }

    /// True between FLUSH TABLES WITH READ LOCK and UNLOCK TABLES.
    pub(super) fn has_global(&self) -> bool {
        self.global.is_some()
    }

    /// The kind that LOCK TABLES holds a table's lock in.
    pub(super) fn kind_of(&self, lock: &Arc<MetadataLock>) -> Option<MetadataLockType> {
        self.guards().find(|guard| guard.is_of(lock)).map(Guard::kind)
    }

    pub(super) fn guards(&self) -> impl Iterator<Item = &Guard> {
        self.tables.iter().flat_map(|locked| &locked.guards)
    }
}

impl Context {
    /// Takes a table's metadata lock.
    pub(crate) fn lock_metadata(
        &self,
        lock: &Arc<MetadataLock>,
        kind: MetadataLockType,
        holds_already: bool,
        others: &[Guard],
    ) -> Result<Guard> {
        let held = || {
            let own = self.transactions.open.iter().flat_map(|open| open.metadata());
            own.chain(self.locks.tables.guards()).chain(others).map(Guard::held).collect()
        };
        let began = Cell::new(Duration::ZERO);
        let waiter = Waiter {
            session: self.connection.id,
            interrupt: &self.interrupt,
            timeout: self.settings.metadata_timeout(),
            waits: self.instance.metadata_waits(),
            held: &held,
            on_wait: &|begins| {
                let now = self.instance.env().monotonic();
                match begins {
                    true => began.set(now),
                    false => storage::lock::note_wait(now.saturating_sub(began.get())),
                }
                if let Some(process) = self.instance.process(self.connection.id) {
                    process.set_state(if begins { "Waiting for table metadata lock" } else { "executing" });
                }
            },
        };
        lock.lock(kind, holds_already, &waiter)
    }

    /// LOCK TABLES. What was open is committed.
    pub(crate) fn lock_tables(&mut self, tables: &[LockTable]) -> Result<()> {
        self.locks.tables.tables = None;
        if self.locks.tables.global.is_some() && tables.iter().any(|t| t.mode == TableLock::Write) {
            return Err(error::CANT_UPDATE_WITH_READLOCK.plain());
        }
        let (mut names, mut known, mut ticker) = (Vec::new(), HashSet::new(), Ticker::default());
        for table in tables {
            ticker.step()?;
            if self.temporary_table(table.table.database.as_deref(), &table.table.name).is_some() {
                continue; // which nobody else sees anyway
            }
            let name = self.lock_name(&table.table, table.alias.as_ref(), table.mode == TableLock::Write)?;
            if !known.insert((name.database.clone(), name.alias.to_ascii_lowercase())) {
                return Err(error::NONUNIQ_TABLE.with(&[&name.alias]));
            }
            names.push(name);
        }
        self.take_tables(names)
    }

    /// FLUSH TABLES t WITH READ LOCK.
    pub(crate) fn lock_flushed(&mut self, tables: &[ObjectName]) -> Result<()> {
        if self.locks.tables.has_tables() || self.locks.tables.global.is_some() {
            return Err(error::LOCK_OR_ACTIVE_TRANSACTION.plain());
        }
        let names = tables.iter().map(|table| self.lock_name(table, None, false)).collect::<Result<_>>()?;
        self.take_tables(names)
    }

    fn lock_name(&self, table: &ObjectName, alias: Option<&Ident>, write: bool) -> Result<Name> {
        let database = database_or(table.database.as_deref(), self.default_database())?.to_owned();
        let alias = alias.unwrap_or(&table.name).to_string();
        Ok(Name { database, table: table.name.to_string(), alias, write })
    }

    /// Takes the locks in the order of the names (M1 of `catalog/metadata_lock.rs`), each once, in
    /// the strongest kind asked for.
    fn take_tables(&mut self, mut names: Vec<Name>) -> Result<()> {
        let mut order = LockOrder::new();
        for name in &names {
            *order.entry((name.database.clone(), name.table.clone())).or_default() |= name.write;
            // What a view reads is locked as the view is, though under no name of its own.
            for below in self.below_view(&name.database, &name.table)? {
                *order.entry(below).or_default() |= name.write;
            }
        }
        let asked: Vec<(String, String)> = order.keys().cloned().collect();
        self.add_tables_of_triggers(&mut order)?;
        // What triggers use may be named, too.
        let of_triggers = order.iter().filter(|(name, _)| !asked.contains(name));
        names.extend(of_triggers.map(|((database, table), &write)| Name {
            database: database.clone(),
            table: table.clone(),
            alias: table.clone(),
            write,
        }));
        let writes = match order.values().any(|write| *write) {
            true => Some(
                self.instance.commit_barrier().enter(&self.interrupt, self.settings.metadata_timeout())?,
            ),
            false => None,
        };
        let mut guards: Vec<Guard> = Vec::new();
        for ((database, table), write) in order {
            let kind = if write { MetadataLockType::Exclusive } else { MetadataLockType::ReadOnly };
            guards.push(self.take_table(&database, &table, kind, &guards)?);
        }
        self.locks.tables.tables = Some(Locked { names, guards, _writes: writes });
        Ok(())
    }

    fn take_table(
        &self,
        database: &str,
        name: &str,
        kind: MetadataLockType,
        others: &[Guard],
    ) -> Result<Guard> {
        loop {
            if let Some(view) = self.catalog().view(database, name) {
                let guard = self.lock_metadata(&view.lock, kind, false, others)?;
                if self.is_current_view(&view) {
                    return Ok(guard);
                }
                continue;
            }
            let table = self.catalog().table(database, name)?;
            let guard = self.lock_metadata(&table.lock, kind, false, others)?;
            // DDL may have been faster.
            if self.catalog().is_current(&table) {
                return Ok(guard);
            }
        }
    }

    /// DROP TABLE under LOCK TABLES gives the table's lock back at once: a session that waits for
    /// the name goes on, and waits for what else it needs. A table that was replaced under the same
    /// name keeps its lock.
    pub(crate) fn unlock_dropped(&mut self, tables: &[Arc<TableDef>]) {
        let catalog = self.instance.catalog().state();
        let Some(locked) = &mut self.locks.tables.tables else { return };
        for table in tables.iter().filter(|t| catalog.table(&t.database, &t.name).is_none()) {
            locked.guards.retain(|guard| !guard.is_of(&table.lock));
            locked.names.retain(|n| (&*n.database, &*n.table) != (&*table.database, &*table.name));
        }
    }

    /// UNLOCK TABLES: commits if there are locks of LOCK TABLES.
    pub(crate) fn unlock_tables(&mut self) -> Result<()> {
        if self.locks.tables.has_tables() {
            self.commit()?;
            self.locks.tables.tables = None;
        }
        self.locks.tables.global = None;
        Ok(())
    }

    /// START TRANSACTION gives table locks back, though not the global one.
    pub(super) fn forget_locked_tables(&mut self) {
        self.locks.tables.tables = None;
    }

    /// COM_RESET_CONNECTION.
    pub(super) fn forget_all_locks(&mut self) {
        self.locks.tables = TableLocks::default();
    }

    /// True between LOCK TABLES, or FLUSH TABLES WITH READ LOCK, and UNLOCK TABLES.
    pub(crate) fn has_locks(&self) -> bool {
        self.locks.tables.has_tables() || self.locks.tables.has_global()
    }

    /// FLUSH TABLES WITH READ LOCK.
    pub(crate) fn lock_global(&mut self) -> Result<()> {
        if self.locks.tables.has_tables() {
            return Err(error::LOCK_OR_ACTIVE_TRANSACTION.plain());
        }
        if self.locks.tables.global.is_none() {
            let closed =
                self.instance.commit_barrier().close(&self.interrupt, self.settings.metadata_timeout())?;
            self.locks.tables.global = Some(closed);
        }
        Ok(())
    }

    /// Ends what the session has open, its GTID too, and keeps everybody's commits away: the log is
    /// about to begin anew.
    pub(crate) fn begin_reset(&mut self) -> Result<Closed> {
        if self.locks.tables.has_tables() {
            return Err(error::LOCK_OR_ACTIVE_TRANSACTION.plain());
        }
        self.commit()?;
        self.gtid_used();
        self.instance.commit_barrier().close(&self.interrupt, self.settings.metadata_timeout())
    }

    /// LOCK INSTANCE FOR BACKUP.
    pub(crate) fn lock_instance(&mut self) -> Result<()> {
        if self.locks.tables.backup.is_none() {
            let closed =
                self.instance.ddl_barrier().close(&self.interrupt, self.settings.metadata_timeout())?;
            self.locks.tables.backup = Some(closed);
        }
        Ok(())
    }

    pub(crate) fn unlock_instance(&mut self) {
        self.locks.tables.backup = None;
    }

    /// Before a statement that changes rows: error 1223 under the session's own global read lock, a
    /// wait under another's.
    pub(super) fn pass_global_lock(&self) -> Result<()> {
        if self.locks.tables.global.is_some() {
            return Err(error::CANT_UPDATE_WITH_READLOCK.plain());
        }
        match self.locks.tables.has_tables() {
            true => Ok(()), // its own pass keeps the barrier open
            false => {
                self.instance.commit_barrier().wait_open(&self.interrupt, self.settings.metadata_timeout())
            }
        }
    }

    /// What a commit of changes holds while it is written.
    pub(super) fn enter_commit(&self) -> Result<Option<Pass>> {
        match self.locks.tables.has_tables() {
            true => Ok(None),
            false => self
                .instance
                .commit_barrier()
                .enter(&self.interrupt, self.settings.metadata_timeout())
                .map(Some),
        }
    }

    /// What a DDL statement holds while it runs.
    pub(crate) fn enter_definition(&self) -> Result<(Option<Pass>, Option<Pass>)> {
        self.pass_global_lock()?;
        let definitions = match self.locks.tables.backup.is_some() {
            true => None,
            false => {
                Some(self.instance.ddl_barrier().enter(&self.interrupt, self.settings.metadata_timeout())?)
            }
        };
        Ok((definitions, self.enter_commit()?))
    }

    /// Under LOCK TABLES: errors 1100 and 1099 unless the statement's tables are locked for what it
    /// does with them, and those that the functions use which it calls, whether these come to it or
    /// not. A lock is one use of the table: the statement and its functions share none, nor do two
    /// functions. Definitions of what LOCK TABLES can't lock for a change are error 1192: they
    /// would wait for a lock that the session itself may hold.
    pub(crate) fn check_locked(&self, kind: &StatementKind) -> Result<()> {
        use StatementKind as S;
        let Some(locked) = &self.locks.tables.tables else { return Ok(()) };
        if let S::CreateDatabase(_)
        | S::AlterDatabase { .. }
        | S::DropDatabase { .. }
        | S::CreateView(_)
        | S::DropView { .. }
        | S::CreateRoutine(_)
        | S::CreateEvent(_)
        | S::AlterEvent(_)
        | S::DropEvent { .. }
        | S::AlterRoutine { .. }
        | S::DropRoutine { .. } = kind
        {
            return Err(error::LOCK_OR_ACTIVE_TRANSACTION.plain());
        }
        if let S::DropTrigger { name, .. } = kind {
            return self.check_locked_for_drop(locked, name);
        }
        let owns = |name: &ObjectName, column: &str| self.has_column(name, column);
        let uses = uses_of(kind, &owns);
        let mut taken = HashSet::new();
        for used in &uses.tables {
            let Ok(database) = database_or(used.name.database.as_deref(), self.default_database()) else {
                continue; // which has an error of its own
            };
            taken.extend(self.check_use(locked, used, database, &HashSet::new())?);
        }
        let mut called = Vec::new();
        self.add_routines(&mut called, &uses, self.default_database());
        let mut next = 0;
        while let Some(routine) = called.get(next).cloned() {
            datum::bounds::check()?;
            next += 1;
            let owns = |name: &ObjectName, column: &str| self.has_column_in(&routine, name, column);
            let mut own = HashSet::new();
            for uses in routine.uses(&owns) {
                for used in &uses.tables {
                    let database = used.name.database.as_deref().unwrap_or(routine.database());
                    own.extend(self.check_use(locked, used, database, &taken)?);
                }
                self.add_routines(&mut called, &uses, Some(routine.database()));
            }
            taken.extend(own);
        }
        Ok(())
    }

    /// The same for DROP TRIGGER, which does not name its table.
    fn check_locked_for_drop(&self, locked: &Locked, trigger: &ObjectName) -> Result<()> {
        let Ok(database) = database_or(trigger.database.as_deref(), self.default_database()) else {
            return Ok(());
        };
        let state = self.catalog().state();
        let Some((table, _)) = state.trigger(database, &trigger.name) else { return Ok(()) };
        let name = ObjectName { database: Some(database.into()), name: table.name.as_str().into() };
        let used = UsedTable { name: &name, alias: None, writes: true, defines: true };
        self.check_use(locked, &used, database, &HashSet::new()).map(|_| ())
    }

    /// Adds the stored functions that are called and not in the list yet.
    pub(super) fn add_routines(&self, list: &mut Vec<Arc<Routine>>, uses: &Uses<'_>, default: Option<&str>) {
        for (database, name) in &uses.functions {
            let Some(database) = database.map(|d| d.as_str()).or(default) else { continue };
            if let Ok(routine) = self.routine(database, name)
                && !list.iter().any(|known| Arc::ptr_eq(known, &routine))
            {
                list.push(routine);
            }
        }
    }

    /// Errors 1100 and 1099; the database and the alias if the table needs a lock, which must not
    /// be taken already.
    fn check_use(
        &self,
        locked: &Locked,
        used: &UsedTable<'_>,
        database: &str,
        taken: &HashSet<(String, String)>,
    ) -> Result<Option<(String, String)>> {
        let own = self.temporary_table(Some(database), &used.name.name).is_some();
        if own || system_schemas::is_system(database) {
            return Ok(None);
        }
        let alias = used.alias.unwrap_or(&used.name.name);
        let named = |n: &&Name| {
            n.database == database && *n.table == *used.name.name && n.alias.eq_ignore_ascii_case(alias)
        };
        let by_definition = |n: &&Name| n.database == database && *n.table == *used.name.name;
        let found = match used.defines {
            true => locked.names.iter().filter(by_definition).max_by_key(|n| n.write),
            false => locked.names.iter().find(named),
        };
        let key = (database.to_owned(), alias.to_ascii_lowercase());
        match found.filter(|_| !taken.contains(&key)) {
            None => Err(error::TABLE_NOT_LOCKED.with(&[alias])),
            Some(name) if used.writes && !name.write => Err(error::TABLE_NOT_LOCKED_FOR_WRITE.with(&[alias])),
            Some(_) => Ok(Some(key)),
        }
    }

    /// After RENAME and ALTER TABLE under LOCK TABLES: the table's locks are of its new name. One
    /// without an alias is used under the new name, others under the alias as before.
    pub(crate) fn rename_locked(&mut self, changes: &[Change]) {
        let Some(locked) = &mut self.locks.tables.tables else { return };
        for change in changes {
            let Change::AlterTable(old, new, _) = change else { continue };
            for name in &mut locked.names {
                if (&name.database, &name.table) == (&old.database, &old.name) {
                    if name.alias == name.table {
                        name.alias.clone_from(&new.name);
                    }
                    name.database.clone_from(&new.database);
                    name.table.clone_from(&new.name);
                }
            }
        }
    }

    /// Exclusive locks of the tables and views that a DDL statement changes, in the order of their
    /// names (M1 of `catalog/metadata_lock.rs`); LOCK TABLES may have them already.
    pub(crate) fn lock_definitions(
        &self,
        tables: &[Arc<TableDef>],
        views: &[Arc<ViewDef>],
    ) -> Result<Vec<Guard>> {
        let mut order: Vec<(&str, &str, &Arc<MetadataLock>)> =
            tables.iter().map(|table| (&*table.database, &*table.name, &table.lock)).collect();
        // A view that gets another name is there under both.
        let mut known = HashSet::new();
        let once = views.iter().filter(|view| known.insert(Arc::as_ptr(&view.lock)));
        order.extend(once.map(|view| (&*view.database, &*view.name, &view.lock)));
        order.sort_by_key(|(database, name, _)| (*database, *name));
        let mut guards: Vec<Guard> = Vec::new();
        for (_, _, lock) in order {
            if self.locks.tables.kind_of(lock) != Some(MetadataLockType::Exclusive) {
                guards.push(self.lock_metadata(lock, MetadataLockType::Exclusive, false, &guards)?);
            }
        }
        Ok(guards)
    }

    /// What ALTER TABLE holds as long as it runs; `None` if LOCK TABLES has the table to itself
    /// already.
    pub(crate) fn lock_to_alter(&self, table: &TableDef) -> Result<Option<Guard>> {
        match self.locks.tables.kind_of(&table.lock) {
            Some(MetadataLockType::Exclusive) => Ok(None),
            _ => self.lock_metadata(&table.lock, MetadataLockType::Upgradable, false, &[]).map(Some),
        }
    }

    /// What its holder takes besides; `None` as above.
    pub(crate) fn lock_further(
        &self,
        table: &TableDef,
        kind: MetadataLockType,
        upgradable: &Option<Guard>,
    ) -> Result<Option<Guard>> {
        match upgradable {
            None => Ok(None),
            Some(_) => self.lock_metadata(&table.lock, kind, true, upgradable.as_slice()).map(Some),
        }
    }
}
