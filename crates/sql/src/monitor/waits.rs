//! Which sessions wait for locks, for whom, and which transactions are open the longest.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use env::UnixMicros;
use storage::TreeId;
use storage::lock::{LockMode, NAMES};

use super::LOCKS_EXAMINED_MAX;
use crate::Instance;
use crate::catalog::TableDef;
use crate::catalog::metadata_lock::{MetadataLock, MetadataLockType};
use crate::instance::Process;
use crate::session::open_transaction::TransactionInfo;

/// Sessions that are listed for one wait.
const BLOCKERS_MAX: usize = 8;
/// Bytes of a running statement that are there to be normalized: of a longer one the end is
/// missing, maybe in the middle of a value.
const STATEMENT_MAX: usize = 1024;

/// What a session waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WaitTarget {
    /// A lock on a row, or on a range of an index.
    Row {
        /// Database, table and index, unless these are gone or were not found (M1).
        index: Option<(String, String, String)>,
        /// To change it, not only to read it.
        is_exclusive: bool,
    },
    /// A table's metadata lock.
    Metadata {
        /// Database and table, unless it is gone.
        table: Option<(String, String)>,
    },
}

/// A session that waits for a lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockedSession {
    /// Its id in SHOW PROCESSLIST.
    pub session: Option<u64>,
    /// Those that it waits for: empty if they were not found (M1), or are XA transactions that are
    /// prepared.
    pub blockers: Vec<u64>,
    /// Since when, in microseconds since 1970, if that is known.
    pub since: Option<UnixMicros>,
    /// What it waits for.
    pub target: WaitTarget,
    /// The normalized text of its statement.
    pub statement: Option<String>,
}

/// A transaction that has used a table or taken its snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransactionSummary {
    /// Its session's id in SHOW PROCESSLIST.
    pub session: u64,
    /// The name that the client gave, and where it comes from.
    pub user: String,
    /// Microseconds since 1970.
    pub since: UnixMicros,
    /// As of its last statement that ended.
    pub rows_changed: u64,
    /// Of which it holds metadata locks.
    pub tables: usize,
    /// The normalized text of the statement that runs; `None` while the session waits for its
    /// client.
    pub statement: Option<String>,
    /// SHOW PROCESSLIST's State.
    pub state: &'static str,
}

/// Metadata locks by their addresses.
type TablesByLock = HashMap<usize, (String, String)>;

impl Instance {
    /// The sessions that wait for locks, those that wait longest first; `max` at most.
    pub fn blocked_sessions(&self, max: usize) -> Vec<BlockedSession> {
        let processes = self.processes();
        let mut blocked = self.row_waits(&processes, max);
        blocked.sort_by_key(|wait| wait.since);
        let room = max - blocked.len();
        blocked.extend(self.metadata_waits_of(&processes, room));
        blocked
    }

    /// The transactions that are open the longest, the oldest first, `max` at most, and how many
    /// there are in all.
    pub fn oldest_transactions(&self, max: usize) -> (Vec<TransactionSummary>, usize) {
        let processes = self.processes();
        let mut open: Vec<(TransactionInfo, &Arc<Process>)> =
            processes.iter().filter_map(|process| Some((process.transaction().now()?, process))).collect();
        open.sort_by_key(|(seen, _)| seen.since);
        let of = |(seen, process): &(TransactionInfo, &Arc<Process>)| TransactionSummary {
            session: process.id,
            user: format!("{}@{}", process.user().user, process.user().host),
            since: seen.since,
            rows_changed: seen.rows_changed,
            tables: process.transaction().table_count(),
            statement: Self::running_form(process),
            state: if process.running().0.is_some() { process.state() } else { "" },
        };
        (open.iter().take(max).map(of).collect(), open.len())
    }

    /// Since when the oldest open transaction is open, in microseconds since 1970.
    pub fn oldest_transaction(&self) -> Option<UnixMicros> {
        self.processes().iter().filter_map(|process| Some(process.transaction().now()?.since)).min()
    }

    /// The normalized text of what a session runs (M2).
    fn running_form(process: &Process) -> Option<String> {
        let text = process.running().0?;
        // Where a value ends after a backslash, the session's sql_mode decides.
        if text.len() >= STATEMENT_MAX || text.contains(&b'\\') {
            return Some("(not shown: long, or with a backslash)".to_owned());
        }
        // Without ANSI_QUOTES: what stands in double quotes may be a value.
        syntax::digest::normalized(&text, 0, STATEMENT_MAX, || true)
    }

    fn row_waits(&self, processes: &[Arc<Process>], max: usize) -> Vec<BlockedSession> {
        let locks = self.engine().locks();
        let mut waits = locks.waits();
        if waits.is_empty() {
            return Vec::new();
        }
        waits.sort_by_key(|(_, since)| *since);
        waits.truncate(max);
        let wanted: HashSet<u64> = waits.iter().map(|(owner, _)| owner.0).collect();
        let by_owner: HashMap<u64, &Arc<Process>> = processes
            .iter()
            .filter_map(|process| Some((process.transaction().now()?.owner, process)))
            .collect();
        let mut found = HashMap::new();
        let mut examined = 0;
        // It ends when all are found, or too much was read.
        let _ = locks.list(|lock| {
            examined += 1;
            if let Some(others) = lock.waits_for
                && wanted.contains(&lock.owner.0)
            {
                let blockers: Vec<u64> = others.iter().map(|(owner, _)| owner.0).take(BLOCKERS_MAX).collect();
                found.insert(lock.owner.0, (lock.tree, lock.mode == LockMode::Exclusive, blockers));
            }
            if found.len() < wanted.len() && examined < LOCKS_EXAMINED_MAX { Ok(()) } else { Err(()) }
        });
        let names = self.index_names(found.values().map(|(tree, ..)| *tree).collect());
        let of = |(owner, since): &(storage::lock::OwnerId, UnixMicros)| {
            let (tree, is_exclusive, blockers) = found.remove(&owner.0).unwrap_or((NAMES, true, Vec::new()));
            let process = by_owner.get(&owner.0);
            BlockedSession {
                session: process.map(|process| process.id),
                blockers: blockers.iter().filter_map(|owner| Some(by_owner.get(owner)?.id)).collect(),
                since: Some(*since),
                target: WaitTarget::Row { index: names.get(&tree).cloned(), is_exclusive },
                statement: process.and_then(|process| Self::running_form(process)),
            }
        };
        waits.iter().map(of).collect()
    }

    /// Database, table and index of trees.
    fn index_names(&self, trees: HashSet<TreeId>) -> HashMap<TreeId, (String, String, String)> {
        let state = self.catalog().state();
        let tables = state.databases.values().flat_map(|database| database.tables.values());
        let names = |table: &Arc<TableDef>| {
            let wanted = table.schema.indexes().filter(|index| trees.contains(&index.tree()));
            let name = |index: &str| (table.database.clone(), table.name.clone(), index.to_owned());
            wanted.map(|index| (index.tree(), name(index.name()))).collect::<Vec<_>>()
        };
        tables.flat_map(names).collect()
    }

    fn metadata_waits_of(&self, processes: &[Arc<Process>], max: usize) -> Vec<BlockedSession> {
        let mut waits = self.metadata_waits().list();
        waits.truncate(max);
        if waits.is_empty() {
            return Vec::new();
        }
        let state = self.catalog().state();
        let tables = state.databases.values().flat_map(|database| database.tables.values());
        let address = |table: &TableDef| Arc::as_ptr(&table.lock).addr();
        let names: TablesByLock =
            tables.map(|table| (address(table), (table.database.clone(), table.name.clone()))).collect();
        let of = |(session, lock, _): &(u64, Arc<MetadataLock>, MetadataLockType)| {
            let at = Arc::as_ptr(lock).addr();
            let holds = |process: &&Arc<Process>| {
                process.transaction().tables().any(|(held, _)| held == at) && process.id != *session
            };
            let mut blockers: Vec<u64> = processes.iter().filter(holds).map(|process| process.id).collect();
            let named = lock.named_holders();
            blockers.extend(named.iter().map(|(holder, _)| *holder).filter(|holder| holder != session));
            blockers.truncate(BLOCKERS_MAX);
            let process = processes.iter().find(|process| process.id == *session);
            BlockedSession {
                session: Some(*session),
                blockers,
                // As long as its statement runs, it may have done other things before.
                since: None,
                target: WaitTarget::Metadata { table: names.get(&at).cloned() },
                statement: process.and_then(|process| Self::running_form(process)),
            }
        };
        waits.iter().map(of).collect()
    }
}
