//! Temporary tables' rows: a store of their own, without a log.
//!
//! What is in a temporary table is its session's alone, is not replicated, and is gone after a
//! restart. So its trees must neither reach the log nor hold a position of it: they lie in a second
//! store next to the first, whose positions are counted by itself and mean nothing elsewhere. It
//! spills to disk, compacts and is bounded in memory as the first one; it never waits for a log.
//! Transactions write to both ([`crate::transaction`]): the write set holds both kinds of trees,
//! and the changes of temporary trees are written once the logged changes are committed.
//!
//! (E1) Trees from [`FIRST`] on are temporary, and no others. A number is given out again once its
//!      tree was dropped.
//! (E2) A tree is read and written by one session at a time, so reads take the newest versions;
//!      there is no visible position to wait for.
//! (E3) Nothing here outlives the process: the folder is emptied at the start, and the store is
//!      made when the first temporary table is.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use binlog::LogPosition;
use env::Env;
use parking_lot::Mutex;

use crate::batch::WriteBatch;
use crate::entry::TreeId;
use crate::error::StoreError;
use crate::store::{LogDurability, Store, StoreOptions};

/// The first number of temporary trees.
pub const FIRST: u32 = 3 << 30;

/// Memory for one memtable of the temporary store, in bytes, at most.
const MEMTABLE_SIZE_MAX: usize = 8 << 20;
/// How many of them there may be.
const MEMTABLES_MAX: usize = 4;

impl TreeId {
    /// True for a tree of a temporary table (E1).
    pub fn is_temporary(self) -> bool {
        self.0 >= FIRST
    }
}

/// The store of temporary tables.
pub struct Temporary {
    env: Arc<dyn Env>,
    folder: PathBuf,
    options: StoreOptions,
    store: OnceLock<Arc<Store>>,
    numbers: Mutex<TreeNumbers>,
}

/// The numbers of temporary trees, and the store's position.
struct TreeNumbers {
    /// The last position written.
    position: u64,
    /// The next number of a tree that was never given out.
    next: u32,
    /// Numbers of dropped trees.
    free: Vec<TreeId>,
}

/// There is no log to wait for.
struct NoLog;

impl LogDurability for NoLog {
    fn ensure_durable(&self, _: LogPosition) -> io::Result<()> {
        Ok(())
    }
}

impl Temporary {
    /// Removes an earlier process's files from `folder` (E3). `options` are those of the first
    /// store.
    pub(crate) fn new(
        env: Arc<dyn Env>,
        folder: &Path,
        options: &StoreOptions,
    ) -> Result<Temporary, StoreError> {
        let failed = |e| StoreError::io(format!("empty {}", folder.display()), e);
        if env.exists(folder) {
            for path in env.read_dir(folder).map_err(failed)? {
                env.remove_file(&path).map_err(failed)?;
            }
        }
        let options = StoreOptions {
            memtable_size: options.memtable_size.min(MEMTABLE_SIZE_MAX),
            memtables_max: MEMTABLES_MAX,
            block_cache_size: options.block_cache_size / 8,
            log_distance_max: u64::MAX,
            background: options.background,
            durability: Arc::new(NoLog),
        };
        let numbers = Mutex::new(TreeNumbers { position: 0, next: FIRST, free: Vec::new() });
        Ok(Temporary { env, folder: folder.to_owned(), options, store: OnceLock::new(), numbers })
    }

    /// The store, if there ever was a temporary table.
    pub(crate) fn store(&self) -> Option<&Arc<Store>> {
        self.store.get()
    }

    /// Numbers for a table's trees, which are empty.
    ///
    /// # Errors
    /// Those of [`Store::open`], at the first table.
    pub fn new_trees(&self, count: usize) -> Result<Vec<TreeId>, StoreError> {
        let mut numbers = self.numbers.lock();
        if self.store.get().is_none() {
            let store = Store::open(self.env.clone(), &self.folder, self.options.clone())?;
            // Its latch is held: nobody else has set it.
            let _ = self.store.set(store);
        }
        let mut trees = Vec::with_capacity(count);
        while trees.len() < count {
            let tree = match numbers.free.pop() {
                Some(tree) => tree,
                None if numbers.next < u32::MAX => {
                    numbers.next += 1;
                    TreeId(numbers.next - 1)
                }
                None => {
                    numbers.free.append(&mut trees);
                    let full = io::Error::other("too many temporary tables");
                    return Err(StoreError::io("number a temporary table", full));
                }
            };
            trees.push(tree);
        }
        Ok(trees)
    }

    /// Drops a table's trees; no transaction has changes of them any more.
    pub fn drop_trees(&self, trees: &[TreeId]) {
        let mut batch = WriteBatch::new();
        trees.iter().for_each(|tree| batch.drop_tree(*tree));
        self.write(&batch);
        self.numbers.lock().free.extend_from_slice(trees);
    }

    /// What [`Store::admit`] is for a store's writers.
    pub(crate) fn admit(&self, batch: &WriteBatch) -> Result<(), StoreError> {
        match self.store.get() {
            Some(store) if !batch.is_empty() => store.admit(batch.size()),
            _ => Ok(()),
        }
    }

    /// Applies a transaction's changes of temporary trees.
    pub(crate) fn write(&self, batch: &WriteBatch) {
        let Some(store) = self.store.get().filter(|_| !batch.is_empty()) else { return };
        let mut numbers = self.numbers.lock();
        numbers.position += 1;
        store.write(batch, LogPosition::from_u64(numbers.position));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::store::testing::options;
    use env::RealEnv;

    #[test]
    fn a_number_given_out_again_is_an_empty_tree() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("temporary");
        let temporary = Temporary::new(Arc::new(RealEnv), &folder, &options()).unwrap();
        assert!(temporary.store().is_none() && !folder.exists());
        let first = temporary.new_trees(2).unwrap();
        assert_eq!(first, [TreeId(FIRST), TreeId(FIRST + 1)]);
        let mut batch = WriteBatch::new();
        batch.put(first[0], b"k", b"v");
        temporary.write(&batch);
        let get = |tree, key: &[u8]| {
            let found = temporary.store().unwrap().latest(tree, key).unwrap();
            found.and_then(|(_, value)| value).map(|value| value.to_vec())
        };
        assert_eq!(get(first[0], b"k"), Some(b"v".to_vec()));
        temporary.drop_trees(&first);
        let mut again = temporary.new_trees(2).unwrap();
        again.sort();
        assert_eq!(again, first);
        assert_eq!(get(first[0], b"k"), None);
        temporary.write(&batch);
        assert_eq!(get(first[0], b"k"), Some(b"v".to_vec()));
    }

    #[test]
    fn what_was_left_over_goes_at_the_start() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("temporary");
        let temporary = Temporary::new(Arc::new(RealEnv), &folder, &options()).unwrap();
        temporary.new_trees(1).unwrap();
        temporary.store().unwrap().checkpoint(&[]).unwrap();
        drop(temporary);
        let file_count = |folder: &Path| RealEnv.read_dir(folder).unwrap().len();
        assert!(file_count(&folder) > 0);
        Temporary::new(Arc::new(RealEnv), &folder, &options()).unwrap();
        assert_eq!(file_count(&folder), 0);
    }
}
