//! Prepared XA transactions, the first half of the two-phase commit of XA: they survive whatever
//! happens to their session and to the server, until they are finished.
//!
//! 1. prepare  The transaction's events join the log as a group of their own. Its changes go to the
//!    store at that group's position, but as records of a tree of their own ([`TREE`]): nobody sees
//!    them, and its row locks stay.
//! 2. finish   XA COMMIT is a group that holds nothing but that statement. At its position the
//!    changes go to their trees, and the records go away; XA ROLLBACK does only the latter. Then
//!    the locks are released.
//! 3. restart  The records say which transactions are prepared, what they change and which keys
//!    they lock. Being rows like others they are in checkpoints, and replay makes them again: the
//!    log before the checkpoint is not needed for them. Shared locks and range locks are released,
//!    as by InnoDB: a prepared transaction reads nothing any more, and no other can be serialized
//!    between its reads and its writes: whoever reads what it changed waits for its exclusive
//!    locks.

use std::collections::BTreeMap;
use std::sync::Arc;

use binlog::LogPosition;
use stdx::cursor::{Cursor as Bytes, Truncated, put_lenenc_bytes};

use crate::batch::{BatchOp, WriteBatch};
use crate::entry::TreeId;
use crate::error::StoreError;
use crate::lock::{LockError, LockMode, TransactionLocks, WaitPolicy};
use crate::store::Store;

/// Where the records are: a key is the XID and a number (u32, big-endian).
pub(crate) const TREE: TreeId = TreeId(2);

/// The name of an XA transaction.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Xid {
    /// The format's number.
    pub format: u32,
    /// Global transaction id, at most 64 bytes.
    pub gtrid: Vec<u8>,
    /// Branch qualifier, at most 64 bytes.
    pub bqual: Vec<u8>,
}

/// The longest part of an XID, in bytes.
pub const XID_PART_MAX: usize = 64;

impl Xid {
    /// `X'6162',X'',1`, as the log has it.
    pub fn text(&self) -> String {
        let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
        format!("X'{}',X'{}',{}", hex(&self.gtrid), hex(&self.bqual), self.format)
    }

    /// What [`Self::text`] wrote.
    pub fn parse(text: &[u8]) -> Option<Xid> {
        let text = std::str::from_utf8(text).ok()?;
        let mut parts = text.split(',');
        let mut part = || unhex(parts.next()?.strip_prefix("X'")?.strip_suffix('\'')?);
        let (gtrid, bqual) = (part()?, part()?);
        let format = parts.next()?.trim().parse().ok()?;
        Some(Xid { format, gtrid, bqual })
    }

    fn key(&self, number: u32) -> Vec<u8> {
        let mut key = self.format.to_be_bytes().to_vec();
        for part in [&self.gtrid, &self.bqual] {
            key.push(part.len() as u8);
            key.extend_from_slice(part);
        }
        key.extend_from_slice(&number.to_be_bytes());
        key
    }

    fn of_key(key: &[u8]) -> Result<Xid, Truncated> {
        let mut c = Bytes::new(key);
        let format = u32::from_be_bytes(c.take(4)?.try_into().map_err(|_| Truncated)?);
        let mut part = || -> Result<Vec<u8>, Truncated> {
            let length = c.u8()?;
            Ok(c.take(length.into())?.to_vec())
        };
        Ok(Xid { format, gtrid: part()?, bqual: part()? })
    }
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    let pair = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    (digits.len().is_multiple_of(2)).then(|| digits.chunks(2).map(pair).collect::<Option<_>>())?
}

/// What a prepared transaction is.
#[derive(Debug, Default, Clone)]
pub(crate) struct Content {
    /// What it changes when it is committed.
    pub batch: WriteBatch,
    /// The keys that nobody else may touch before.
    pub locks: Vec<(TreeId, Vec<u8>)>,
    /// The tables that must stay as they are: database, name.
    pub tables: Vec<(String, String)>,
    /// How many records it has; none if it changes nothing.
    records: u32,
}

/// A prepared transaction and the locks that it holds.
pub(crate) struct Prepared {
    pub(crate) content: Arc<Content>,
    pub(crate) locks: TransactionLocks,
}

const MARK: u8 = 0;
const TABLE: u8 = 1;
const LOCK: u8 = 2;
const PUT: u8 = 3;
const DELETE: u8 = 4;

impl Content {
    /// What is prepared.
    pub(crate) fn new(
        batch: WriteBatch,
        locks: Vec<(TreeId, Vec<u8>)>,
        tables: Vec<(String, String)>,
    ) -> Self {
        let records = 1 + batch.len() + locks.len() + tables.len();
        Self { batch, locks, tables, records: u32::try_from(records).unwrap_or(u32::MAX) }
    }

    /// A transaction that changes nothing: as in MySQL it is not logged, and a crash forgets it.
    pub(crate) fn of_nothing(tables: Vec<(String, String)>) -> Self {
        Self { tables, ..Self::default() }
    }

    /// False if it changes nothing.
    pub(crate) fn is_logged(&self) -> bool {
        self.records > 0
    }

    /// The batch that makes it prepared.
    pub(crate) fn record(&self, xid: &Xid) -> WriteBatch {
        let mut out = WriteBatch::new();
        let mut number = 0;
        let mut put = |value: Vec<u8>| {
            out.put(TREE, &xid.key(number), &value);
            number += 1;
        };
        put(vec![MARK]);
        for (database, name) in &self.tables {
            let mut value = vec![TABLE];
            put_lenenc_bytes(&mut value, database.as_bytes());
            put_lenenc_bytes(&mut value, name.as_bytes());
            put(value);
        }
        for (tree, key) in &self.locks {
            put(keyed(LOCK, *tree, key));
        }
        for operation in self.batch.iter() {
            put(match operation {
                BatchOp::Put { tree, key, value } => {
                    let mut record = keyed(PUT, tree, key);
                    record.extend_from_slice(value);
                    record
                }
                BatchOp::Delete { tree, key } => keyed(DELETE, tree, key),
                BatchOp::DropTree { .. } => unreachable!("a transaction of rows drops no trees"),
            });
        }
        out
    }

    /// The batch that finishes it.
    pub(crate) fn finish(&self, xid: &Xid, commit: bool) -> WriteBatch {
        let mut out = if commit { self.batch.clone() } else { WriteBatch::new() };
        (0..self.records).for_each(|number| out.delete(TREE, &xid.key(number)));
        out
    }

    /// Acquires the locks again that it had when it was prepared; nobody else holds any yet.
    pub(crate) fn relock(&self, locks: &mut TransactionLocks) -> Result<(), LockError> {
        for (tree, key) in &self.locks {
            locks.lock(*tree, key, LockMode::Exclusive, WaitPolicy::NoWait)?;
        }
        locks.begin_writing()?;
        for operation in self.batch.iter() {
            if let BatchOp::Put { tree, key, .. } = operation {
                let entered = locks.enter_ranges(tree, key);
                debug_assert!(entered.is_ok(), "somebody has read a range before all locks are taken again");
            }
        }
        Ok(())
    }

    fn add(&mut self, record: &[u8]) -> Result<(), Truncated> {
        let mut c = Bytes::new(record);
        let kind = c.u8()?;
        match kind {
            MARK => {}
            TABLE => {
                let mut text = || String::from_utf8(c.lenenc_bytes()?.to_vec()).map_err(|_| Truncated);
                self.tables.push((text()?, text()?));
            }
            LOCK | PUT | DELETE => {
                let tree = TreeId(c.u32()?);
                let key = c.lenenc_bytes()?;
                match kind {
                    LOCK => self.locks.push((tree, key.to_vec())),
                    PUT => self.batch.put(tree, key, c.take_remaining()),
                    _ => self.batch.delete(tree, key),
                }
            }
            _ => return Err(Truncated),
        }
        self.records += 1;
        Ok(())
    }
}

fn keyed(kind: u8, tree: TreeId, key: &[u8]) -> Vec<u8> {
    let mut out = vec![kind];
    out.extend_from_slice(&tree.0.to_le_bytes());
    put_lenenc_bytes(&mut out, key);
    out
}

/// The transactions that are prepared at a position of the store. `Err(None)`: a record is damaged.
pub(crate) fn load(
    store: &Arc<Store>,
    at: LogPosition,
) -> Result<BTreeMap<Xid, Content>, Option<StoreError>> {
    let mut all = BTreeMap::<Xid, Content>::new();
    let mut cursor = store.cursor(TREE, at);
    cursor.seek_first().map_err(Some)?;
    while cursor.valid() {
        let xid = Xid::of_key(cursor.key()).map_err(|_| None)?;
        all.entry(xid).or_default().add(cursor.value()).map_err(|_| None)?;
        cursor.next().map_err(Some)?;
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn names_are_read_back() {
        for (gtrid, bqual, format) in [("a", "", 1), ("\u{1}\0'", "b,b", 7)] {
            let xid = Xid { format, gtrid: gtrid.into(), bqual: bqual.into() };
            assert_eq!(Xid::parse(xid.text().as_bytes()), Some(xid.clone()));
            assert_eq!(Xid::of_key(&xid.key(3)).unwrap(), xid);
        }
        assert_eq!(Xid::parse(b"X'1',X'',1"), None);
    }

    #[test]
    fn records_hold_all_of_it() {
        let xid = Xid { format: 1, gtrid: b"g".to_vec(), bqual: b"b".to_vec() };
        let mut batch = WriteBatch::new();
        batch.put(TreeId(300), b"k", b"v");
        batch.delete(TreeId(301), b"gone");
        let content =
            Content::new(batch, vec![(TreeId(300), b"k".to_vec())], vec![("d".to_owned(), "t".to_owned())]);
        let mut read = Content::default();
        for operation in content.record(&xid).iter() {
            let BatchOp::Put { value, .. } = operation else { panic!("{operation:?}") };
            read.add(value).unwrap();
        }
        assert!(read.batch.iter().eq(content.batch.iter()));
        assert_eq!(
            (read.locks, read.tables, read.records),
            (content.locks.clone(), content.tables.clone(), 5)
        );
        assert_eq!(content.finish(&xid, true).len(), 7);
        assert_eq!(content.finish(&xid, false).len(), 5);
    }
}
