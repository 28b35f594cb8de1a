//! From frozen memtables to tables of level 0, and a checkpoint.
//!
//! 1. The log is made durable up to the newest frozen memtable's position (the write-ahead rule).
//! 2. All frozen memtables are merged; what nobody needs is left out.
//! 3. The rest is written to tables, which are made durable.
//! 4. One edit names the tables, the position, its notes and the drops up to there; the memtables leave the view.
//!
//! (F1) Flushes run one at a time, oldest memtables first, so a checkpoint never leaves out an older write.
//! (F2) Whatever fails, the memtables stay until an edit succeeded: a flush that failed is tried again with new files.

use crate::core::Core;
use crate::entry::TreeId;
use crate::error::StoreError;
use crate::memtable::Frozen;
use crate::merge::{Merge, Source};
use crate::output::{Output, OutputOptions};
use crate::skiplist::ListCursor;
use crate::sstable::{Compression, TableMeta};
use crate::survivors::{Retention, pass_survivors};
use crate::version::Edit;
use crate::view::View;
use binlog::position::LogPosition;
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
        let mut edit = Edit {
            added: self.write_level0(&view, position)?,
            checkpoint: Some(newest.checkpoint.clone()),
            ..Edit::default()
        };
        edit.drops_added.extend(view.frozen.iter().rev().flat_map(|f| f.drops.iter().copied()));
        let is_flushed = |f: &mut Frozen| f.checkpoint.position <= position;
        let mut flushed = Vec::new();
        self.tables
            .commit(edit, |view| flushed.extend(view.frozen.extract_if(.., is_flushed).map(|f| f.list)))?;
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

    /// After a failure, lets go of the files that were begun: no edit named them.
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
