//! Memtable flush: from frozen memtables to tables of level 0, and a checkpoint.
//!
//! 1. The log is made durable up to the newest frozen memtable's position (the WAL rule,
//!    write-ahead logging).
//! 2. All frozen memtables are merged; versions that nobody needs are dropped.
//! 3. The remaining versions are written to tables, which are made durable.
//! 4. One edit names the tables, the position, its notes and the drops up to there; the memtables
//!    are removed from the view.
//!
//! (F1) Flushes run one at a time, oldest memtables first, so a checkpoint never misses an older
//!      write.
//! (F2) Whatever fails, the memtables stay until an edit succeeded: a flush that failed is tried
//!      again with new files.
//! (F3) A memtable is removed from the view only with an edit that was made from it. One that was
//!      frozen during the flush stays, also if it is empty and has the same position: its notes are
//!      not those that the edit made durable.

use crate::core::Core;
use crate::entry::TreeId;
use crate::error::StoreError;
use crate::memtable::Frozen;
use crate::merge::{Merge, Source};
use crate::output::{Output, OutputOptions};
use crate::skiplist::{ListCursor, SkipList};
use crate::sstable::{Compression, TableMeta};
use crate::survivors::{Retention, pass_survivors};
use crate::version::Edit;
use crate::view::View;
use binlog::LogPosition;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Core {
    /// Flushes all frozen memtables; false if there are none.
    pub(crate) fn flush_once(&self) -> Result<bool, StoreError> {
        let _one_at_a_time = self.flushing.lock();
        let view = self.current.load();
        let Some(newest) = view.frozen.first() else { return Ok(false) };
        let position = newest.checkpoint.position;
        self.options
            .durability
            .ensure_durable(position)
            .map_err(|e| StoreError::io(format!("flush the log up to {position}"), e))?;
        let mut checkpoint = newest.checkpoint.clone();
        let fingerprint = self.options.durability.fingerprint(position);
        checkpoint.fingerprint =
            fingerprint.map_err(|e| StoreError::io(format!("read the log before {position}"), e))?;
        let mut edit = Edit {
            added: self.write_level0(&view, position)?,
            checkpoint: Some(checkpoint),
            ..Edit::default()
        };
        edit.drops_added.extend(view.frozen.iter().rev().flat_map(|f| f.drops.iter().copied()));
        let mut flushed = Vec::new();
        self.tables.commit(edit, |now| flushed = take_flushed(&mut now.frozen, &view.frozen))?;
        drop(view);
        self.retired.add(flushed);
        self.counters.flushes.fetch_add(1, Ordering::Relaxed);
        Ok(true)
    }

    fn write_level0(
        &self,
        view: &View,
        position: LogPosition,
    ) -> Result<Vec<(usize, TableMeta)>, StoreError> {
        let lists = view.frozen.iter().map(|f| Source::Memtable(ListCursor::new(f.list.clone())));
        let mut merge = Merge::new(lists.collect());
        merge.seek(&[], LogPosition::MAX)?;
        let building = self.trees_building();
        let retention = Retention {
            horizon: self.horizon(),
            drops: &view.drops.up_to(position),
            older_may_hold: &|key| view.version.may_hold_from(0, key) || building.contains(&TreeId::of(key)),
        };
        let options = OutputOptions {
            compression: Compression::LargeRows,
            table_size: self.options.table_size(),
            below: Vec::new(),
            overlap_flushes: self.options.background,
        };
        let mut output = Output::new(&self.tables.context, &self.tables.next_number, options);
        let written = pass_survivors(&mut merge, &retention, &mut output).and_then(|()| output.finish());
        let tables = self.written_or_removed(written, &output)?;
        Ok(tables.into_iter().map(|meta| (0, meta)).collect())
    }

    /// True while this memtable waits to be flushed.
    pub(crate) fn is_frozen(&self, list: &Arc<SkipList>) -> bool {
        self.current.peek().frozen.iter().any(|frozen| Arc::ptr_eq(&frozen.list, list))
    }

    /// After a failure, removes the files that were begun: no edit named them.
    pub(crate) fn written_or_removed<T>(
        &self,
        written: Result<T, StoreError>,
        output: &Output<'_>,
    ) -> Result<T, StoreError> {
        if written.is_err() {
            output.started().iter().for_each(|&number| self.tables.context.graveyard.add(number));
            self.tables.bury();
        }
        written
    }
}

/// Takes the memtables that were `flushed` out of `frozen` (F3): those at its end, for what was
/// frozen since is at its front.
fn take_flushed(frozen: &mut Vec<Frozen>, flushed: &[Frozen]) -> Vec<Arc<SkipList>> {
    let newer = frozen.len().checked_sub(flushed.len()).expect("only flushes take memtables away (F1)");
    let is_same = |(now, then): (&Frozen, &Frozen)| Arc::ptr_eq(&now.list, &then.list);
    assert!(frozen[newer..].iter().zip(flushed).all(is_same), "F3: the memtables of the edit are the oldest");
    frozen.drain(newer..).map(|frozen| frozen.list).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use crate::batch::WriteBatch;
    use crate::entry::TreeId;
    use crate::store::testing::options;
    use crate::store::{LogDurability, Store};
    use binlog::LogPosition;
    use env::SimEnv;
    use parking_lot::Mutex;
    use std::io;
    use std::path::Path;
    use std::sync::Arc;
    use std::thread::JoinHandle;
    use std::time::Duration;

    /// A log whose flush takes so long that another session begins a checkpoint meanwhile.
    #[derive(Default)]
    struct Slow {
        store: Mutex<Option<Arc<Store>>>,
        other: Mutex<Option<JoinHandle<()>>>,
    }

    impl LogDurability for Slow {
        fn ensure_durable(&self, _position: LogPosition) -> io::Result<()> {
            let Some(store) = self.store.lock().take() else { return Ok(()) };
            let frozen = store.stats().memtables_frozen;
            let other = store.clone();
            *self.other.lock() = Some(std::thread::spawn(move || {
                other.checkpoint(b"the other's").unwrap();
                assert_eq!(other.checkpoint_notes(), b"the other's", "the checkpoint has its notes");
            }));
            while store.stats().memtables_frozen == frozen {
                std::thread::sleep(Duration::from_millis(1));
            }
            Ok(())
        }
    }

    /// Four sessions did ALTER TABLE, each on a table of its own. Two of their checkpoints met: the
    /// second one's memtable was frozen while the first one's was being flushed, at the same
    /// position, and went with it. So the second session logged its statement though no checkpoint
    /// named its trees, and the server never started again.
    #[test]
    fn a_checkpoint_that_begins_during_a_flush_has_its_own_notes() {
        let log = Arc::new(Slow::default());
        let env = Arc::new(SimEnv::new(1));
        let store =
            Store::open(env, Path::new("/s"), crate::StoreOptions { durability: log.clone(), ..options() });
        let store = store.unwrap();
        let mut batch = WriteBatch::new();
        batch.put(TreeId(7), b"a", b"1");
        store.write(&batch, LogPosition::from_u64(10));
        *log.store.lock() = Some(store.clone());
        store.checkpoint(b"the first one's").unwrap();
        log.other.lock().take().unwrap().join().unwrap();
        assert_eq!(store.checkpoint_notes(), b"the other's");
        assert_eq!(store.stats().memtables_frozen, 0);
    }
}
