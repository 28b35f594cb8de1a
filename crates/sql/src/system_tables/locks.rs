//! Who holds which lock, who waits for whom, and in which transactions: `data_locks`,
//! `data_lock_waits`, `metadata_locks`, `INNODB_TRX`.
//!
//! Nothing is kept for these tables but a few words that each session writes about itself
//! ([`OpenTransaction`]) and what the lock tables have anyway. They are read piece by piece, so
//! that no commit waits for long; rows are of about one moment.
//!
//! - A row lock is exclusive or shared, without the gap: `X,REC_NOT_GAP`. A range that a
//!   transaction keeps free of new rows is `S,GAP`. Who wants to insert into it waits for the
//!   other's end: `X,INSERT_INTENTION`, on no index. Of keys the beginning is shown, as they are
//!   stored.
//! - A thread has the number of its connection. Transactions that XA has prepared have none.
//!
//! [`OpenTransaction`]: crate::session::open_transaction::OpenTransaction

use std::collections::HashMap;
use std::sync::Arc;

use storage::TreeId;
use storage::lock::{ListedLock, LockMode, LockPlace, NAMES, Span};
use storage::transaction::Isolation;

use super::{Each, Wanted};
use crate::catalog::TableDef;
use crate::catalog::metadata_lock::MetadataLockType;
use crate::instance::Process;
use crate::listing::cells;
use crate::session::Context;
use crate::session::open_transaction::TransactionInfo;
use datum::error::{Result, SqlError};
use datum::value::{DateTime, Datum};

/// The numbers of the sessions whose transactions have these numbers.
fn threads_of(cx: &Context) -> HashMap<u64, u64> {
    let seen = |process: &Arc<Process>| Some((process.transaction().now()?.owner, process.id));
    cx.instance.processes().iter().filter_map(seen).collect()
}

/// The tables of indexes, and the indexes' names, by their trees.
struct Indexes(HashMap<TreeId, (Arc<TableDef>, String)>);

impl Indexes {
    fn of(cx: &Context) -> Self {
        let state = cx.catalog().state();
        let tables = state.databases.values().flat_map(|database| database.tables.values());
        let indexes = tables.flat_map(|table| {
            table.schema.indexes().map(|index| (index.tree(), (table.clone(), index.name().to_owned())))
        });
        Self(indexes.collect())
    }

    /// OBJECT_SCHEMA, OBJECT_NAME, PARTITION_NAME, SUBPARTITION_NAME, INDEX_NAME.
    fn cells(&self, tree: TreeId) -> Vec<Datum<'static>> {
        match self.0.get(&tree) {
            Some((table, index)) => cells![
                table.database.as_str(),
                table.name.as_str(),
                None::<&str>,
                None::<&str>,
                index.as_str()
            ],
            None => vec![Datum::Null; 5],
        }
    }
}

fn letter(mode: LockMode) -> &'static str {
    match mode {
        LockMode::Shared => "S",
        LockMode::Exclusive => "X",
    }
}

/// ENGINE_LOCK_ID: whose it is, where, and how.
fn lock_id(owner: u64, LockPlace { shard, slot }: LockPlace, mode: LockMode) -> String {
    format!("{owner}:{shard}:{slot}:{}", letter(mode))
}

fn id_of(lock: &ListedLock) -> String {
    lock_id(lock.owner.0, lock.place, lock.mode)
}

/// OBJECT_INSTANCE_BEGIN: a number of the place in the lock table.
fn instance(LockPlace { shard, slot }: LockPlace) -> u64 {
    (shard as u64) << 32 | slot as u64
}

/// Bytes of a key that are shown.
const KEY_SHOWN: usize = 64;

fn hex(key: &[u8]) -> String {
    key.iter().take(KEY_SHOWN).fold("0x".to_owned(), |text, byte| format!("{text}{byte:02x}"))
}

fn lock_row(lock: &ListedLock, thread: Option<u64>, indexes: &Indexes) -> Vec<Datum<'static>> {
    let is_name = lock.tree == NAMES;
    let mode = match (is_name, lock.mode) {
        (true, LockMode::Shared) => "X,INSERT_INTENTION",
        (true, LockMode::Exclusive) => "S,GAP",
        (false, LockMode::Shared) => "S,REC_NOT_GAP",
        (false, LockMode::Exclusive) => "X,REC_NOT_GAP",
    };
    let mut row = cells!["INNODB", id_of(lock), lock.owner.0, thread, None::<u64>];
    row.extend(indexes.cells(lock.tree));
    row.extend(cells![instance(lock.place), "RECORD", mode]);
    row.extend(cells![if lock.waits_for.is_some() { "WAITING" } else { "GRANTED" }]);
    row.extend(cells![(!is_name).then(|| hex(&lock.key))]);
    row
}

pub(super) fn locks(cx: &mut Context, _: &Wanted, each: Each<'_>) -> Result<()> {
    let (threads, indexes) = (threads_of(cx), Indexes::of(cx));
    let thread = |owner: u64| threads.get(&owner).copied();
    let locks = cx.instance.engine().locks();
    locks.list(|lock| each(lock_row(&lock, thread(lock.owner.0), &indexes)))?;
    for tree in indexes.0.keys() {
        for (number, (owner, Span { lower, upper })) in locks.list_ranges(*tree).into_iter().enumerate() {
            let until = upper.map_or("supremum pseudo-record".to_owned(), |upper| hex(&upper));
            let id = format!("{}:{}:range:{number}", owner.0, tree.0);
            let mut row = cells!["INNODB", id, owner.0, thread(owner.0), None::<u64>];
            row.extend(indexes.cells(*tree));
            row.extend(cells![u64::from(tree.0), "RECORD", "S,GAP", "GRANTED"]);
            row.extend(cells![format!("{} .. {until}", hex(&lower))]);
            each(row)?;
        }
    }
    Ok(())
}

pub(super) fn waits(cx: &mut Context, _: &Wanted, each: Each<'_>) -> Result<()> {
    let threads = threads_of(cx);
    let thread = |owner: u64| threads.get(&owner).copied();
    cx.instance.engine().locks().list(|lock| {
        for (other, mode) in lock.waits_for.iter().flatten() {
            let mut row = cells!["INNODB", id_of(&lock), lock.owner.0, thread(lock.owner.0)];
            row.extend(cells![None::<u64>, instance(lock.place), lock_id(other.0, lock.place, *mode)]);
            row.extend(cells![other.0, thread(other.0), None::<u64>, instance(lock.place)]);
            each(row)?;
        }
        Ok(())
    })
}

/// How a metadata lock is called, and how long it is held.
fn kind_of_metadata(kind: MetadataLockType) -> (&'static str, &'static str) {
    match kind {
        MetadataLockType::Read => ("SHARED_READ", "TRANSACTION"),
        MetadataLockType::Write => ("SHARED_WRITE", "TRANSACTION"),
        MetadataLockType::ReadOnly => ("SHARED_READ_ONLY", "EXPLICIT"),
        MetadataLockType::Exclusive | MetadataLockType::Upgraded => ("EXCLUSIVE", "TRANSACTION"),
        MetadataLockType::Upgradable => ("SHARED_UPGRADABLE", "TRANSACTION"),
        MetadataLockType::NoWrite => ("SHARED_NO_WRITE", "TRANSACTION"),
    }
}

pub(super) fn metadata(cx: &mut Context, _: &Wanted, each: Each<'_>) -> Result<()> {
    let state = cx.catalog().state();
    let tables: Vec<_> = state.databases.values().flat_map(|database| database.tables.values()).collect();
    let address = |table: &TableDef| Arc::as_ptr(&table.lock).addr();
    let by_lock: HashMap<usize, &TableDef> = tables.iter().map(|table| (address(table), &***table)).collect();
    let mut row = |table: &TableDef, kind: MetadataLockType, status: &str, thread: u64| {
        let (kind, duration) = kind_of_metadata(kind);
        let mut row = cells!["TABLE", table.database.as_str(), table.name.as_str(), None::<&str>];
        row.extend(cells![address(table) as u64, kind, duration, status, None::<&str>, thread, None::<u64>]);
        each(row)
    };
    for process in cx.instance.processes() {
        for (lock, kind) in process.transaction().tables() {
            if let Some(table) = by_lock.get(&lock) {
                row(table, kind, "GRANTED", process.id)?;
            }
        }
    }
    for table in tables {
        for (session, kind) in table.lock.named_holders() {
            row(table, kind, "GRANTED", session)?;
        }
    }
    for (session, lock, kind) in cx.instance.metadata_waits().list() {
        if let Some(table) = by_lock.get(&Arc::as_ptr(&lock).addr()) {
            row(table, kind, "PENDING", session)?;
        }
    }
    Ok(())
}

/// What the lock table has of a transaction.
#[derive(Default)]
struct Locks {
    held: u64,
    wanted: Option<String>,
}

pub(super) fn transactions(cx: &mut Context, _: &Wanted, each: Each<'_>) -> Result<()> {
    let mut locks = HashMap::<u64, Locks>::new();
    let manager = cx.instance.engine().locks();
    manager.list(|lock| {
        let of = locks.entry(lock.owner.0).or_default();
        match &lock.waits_for {
            Some(_) => of.wanted = Some(id_of(&lock)),
            None => of.held += u64::from(lock.tree != NAMES),
        }
        Ok::<(), SqlError>(())
    })?;
    let since: HashMap<u64, u64> =
        manager.waits().into_iter().map(|(owner, since)| (owner.0, since)).collect();
    for process in cx.instance.processes() {
        if let Some(seen) = process.transaction().now() {
            let locks = locks.remove(&seen.owner).unwrap_or_default();
            each(transaction(cx, &process, seen, locks, since.get(&seen.owner).copied()))?;
        }
    }
    Ok(())
}

fn transaction(
    cx: &Context,
    process: &Process,
    seen: TransactionInfo,
    locks: Locks,
    waits_since: Option<u64>,
) -> Vec<Datum<'static>> {
    let shown = |utc: u64| {
        let local = cx.settings.zone().to_local(i64::try_from(utc).unwrap_or(i64::MAX));
        DateTime::from_unix_micros(local, 0)
    };
    // The request is there a moment longer than the wait, or shorter.
    let (wanted, waits_since) = locks.wanted.zip(waits_since).unzip();
    let (statement, _) = process.running();
    let query = statement.map(|text| String::from_utf8_lossy(&text).into_owned());
    let state = process.state();
    let operation = query.as_ref().map(|_| state).filter(|state| !state.is_empty());
    let in_use = if query.is_some() { process.transaction().table_count() as u64 } else { 0 };
    let level = match seen.isolation {
        Isolation::ReadCommitted => "READ COMMITTED",
        Isolation::RepeatableRead => "REPEATABLE READ",
        Isolation::Serializable => "SERIALIZABLE",
    };
    let only_reads = !seen.explicit && locks.held == 0 && seen.rows_changed == 0;
    let mut row = cells![seen.owner, if wanted.is_some() { "LOCK WAIT" } else { "RUNNING" }];
    row.extend(cells![shown(seen.since), wanted, waits_since.and_then(shown)]);
    row.extend(cells![seen.rows_changed + locks.held, process.id, query, operation, in_use]);
    row.extend(cells![process.transaction().table_count() as u64, locks.held, 0_u64, locks.held]);
    row.extend(cells![seen.rows_changed, 0_u64, level, 1_i64, 1_i64, None::<&str>, 0_i64, 0_u64]);
    row.extend(cells![i64::from(seen.read_only), i64::from(only_reads), None::<u64>]);
    row
}
