//! Moving over one table, and over a whole level as if it were one table.

use super::Handle;
use super::block::{Block, BlockCursor};
use super::table::Table;
use crate::entry::Entry;
use crate::error::StoreError;
use binlog::LogPosition;
use std::ops::Range;
use std::sync::Arc;

/// A place in a table.
pub(crate) struct TableCursor {
    table: Arc<Table>,
    /// Index block, loaded by the first seek.
    index: Option<Block>,
    /// Which data block `data` is, by its place in the index.
    block: usize,
    handle: Handle,
    data: Option<BlockCursor>,
    is_valid: bool,
    fill: bool,
}

impl TableCursor {
    /// A cursor that stands nowhere yet. `fill`: blocks read go into the cache.
    pub(crate) fn new(table: Arc<Table>, fill: bool) -> TableCursor {
        let handle = Handle { offset: 0, len: 0 };
        TableCursor { table, index: None, block: usize::MAX, handle, data: None, is_valid: false, fill }
    }

    pub(crate) fn entry(&self) -> Option<Entry<'_>> {
        if self.is_valid { self.data.as_ref().map(BlockCursor::entry) } else { None }
    }

    /// Key and position of the entry.
    #[inline]
    pub(crate) fn internal_key(&self) -> Option<(&[u8], LogPosition)> {
        if self.is_valid { self.data.as_ref().map(BlockCursor::internal_key) } else { None }
    }

    /// Moves to the first entry at or after `(key, position)`.
    pub(crate) fn seek(&mut self, key: &[u8], position: LogPosition) -> Result<(), StoreError> {
        self.is_valid = false;
        let index = self.index()?;
        let block = index.search(key, position).map_err(|_| self.damaged("index"))?;
        if block == index.count() {
            return Ok(());
        }
        let entries = self.load(&index, block)?;
        let entry = entries.search(key, position).map_err(|_| self.damaged("block"))?;
        // The index says that the block's last entry is not before the place.
        if entry == entries.count() {
            return Err(self.damaged("index"));
        }
        self.stand_on(entries, block, entry)
    }

    /// Moves to the last entry before `(key, position)`.
    pub(crate) fn seek_before(&mut self, key: &[u8], position: LogPosition) -> Result<(), StoreError> {
        self.is_valid = false;
        let index = self.index()?;
        let block = index.search(key, position).map_err(|_| self.damaged("index"))?;
        if block < index.count() {
            let entries = self.load(&index, block)?;
            let entry = entries.search(key, position).map_err(|_| self.damaged("block"))?;
            if entry > 0 {
                return self.stand_on(entries, block, entry - 1);
            }
        }
        self.enter_block_before(&index, block)
    }

    /// Moves on by one entry.
    pub(crate) fn next(&mut self) -> Result<(), StoreError> {
        let Some(data) = self.data.as_mut().filter(|_| self.is_valid) else { return Ok(()) };
        if data.next().map_err(|_| self.table.damaged(self.handle, "block"))? {
            return Ok(());
        }
        self.is_valid = false;
        let index = self.index()?;
        let block = self.block + 1;
        if block == index.count() {
            return Ok(());
        }
        let entries = self.load(&index, block)?;
        self.stand_on(entries, block, 0)
    }

    /// Moves back by one entry.
    pub(crate) fn previous(&mut self) -> Result<(), StoreError> {
        let Some(data) = self.data.as_mut().filter(|_| self.is_valid) else { return Ok(()) };
        if data.previous().map_err(|_| self.table.damaged(self.handle, "block"))? {
            return Ok(());
        }
        self.is_valid = false;
        let index = self.index()?;
        self.enter_block_before(&index, self.block)
    }

    /// Moves to the last entry of the block before `block`, if there is one.
    fn enter_block_before(&mut self, index: &Block, block: usize) -> Result<(), StoreError> {
        let Some(block) = block.checked_sub(1) else { return Ok(()) };
        let entries = self.load(index, block)?;
        let last = entries.count() - 1;
        self.stand_on(entries, block, last)
    }

    fn index(&mut self) -> Result<Block, StoreError> {
        if let Some(index) = &self.index {
            return Ok(index.clone());
        }
        let index = self.table.index()?;
        self.index = Some(index.clone());
        Ok(index)
    }

    /// Data block number `block`: the one at hand, or from cache or disk.
    fn load(&mut self, index: &Block, block: usize) -> Result<Block, StoreError> {
        if let Some(data) = self.data.as_ref().filter(|_| block == self.block) {
            return Ok(data.block().clone());
        }
        let value = index.value(block).map_err(|_| self.damaged("index"))?;
        self.handle = self.table.handle(&index.bytes()[value])?;
        self.table.data(self.handle, self.fill)
    }

    fn stand_on(&mut self, entries: Block, block: usize, entry: usize) -> Result<(), StoreError> {
        let moved = match &mut self.data {
            Some(data) if block == self.block => data.set(entry),
            Some(data) => data.change(entries, entry),
            None => BlockCursor::new(entries, entry).map(|data| self.data = Some(data)),
        };
        // After a failure nothing is known of `data`.
        self.block = usize::MAX;
        moved.map_err(|_| self.damaged("block"))?;
        self.block = block;
        self.is_valid = true;
        Ok(())
    }

    fn damaged(&self, what: &str) -> StoreError {
        self.table.damaged(self.handle, what)
    }
}

/// A place in a level whose tables follow each other without overlap.
pub(crate) struct LevelCursor {
    tables: Arc<[Arc<Table>]>,
    /// It stays in these, by their places.
    range: Range<usize>,
    /// Which table `cursor` is in.
    table: usize,
    cursor: Option<TableCursor>,
    fill: bool,
}

impl LevelCursor {
    /// A cursor that stands nowhere yet, over tables in key order.
    pub(crate) fn new(tables: Arc<[Arc<Table>]>, fill: bool) -> LevelCursor {
        LevelCursor { range: 0..tables.len(), tables, table: usize::MAX, cursor: None, fill }
    }

    /// The same in the tables of a range alone: those outside of it are not even opened.
    pub(crate) fn within(tables: Arc<[Arc<Table>]>, range: Range<usize>, fill: bool) -> LevelCursor {
        LevelCursor { range, ..LevelCursor::new(tables, fill) }
    }

    pub(crate) fn entry(&self) -> Option<Entry<'_>> {
        self.cursor.as_ref().and_then(TableCursor::entry)
    }

    /// Key and position of the entry.
    pub(crate) fn internal_key(&self) -> Option<(&[u8], LogPosition)> {
        self.cursor.as_ref().and_then(TableCursor::internal_key)
    }

    pub(crate) fn seek(&mut self, key: &[u8], position: LogPosition) -> Result<(), StoreError> {
        let table = self.tables.partition_point(|t| t.meta.largest.as_slice() < key);
        self.enter(table.max(self.range.start));
        if let Some(cursor) = &mut self.cursor {
            cursor.seek(key, position)?;
        }
        self.skip_exhausted_forward()
    }

    pub(crate) fn seek_before(&mut self, key: &[u8], position: LogPosition) -> Result<(), StoreError> {
        let end = self.tables.partition_point(|t| t.meta.smallest.as_slice() <= key);
        self.enter(end.min(self.range.end).wrapping_sub(1));
        if let Some(cursor) = &mut self.cursor {
            cursor.seek_before(key, position)?;
        }
        self.skip_exhausted_backward()
    }

    pub(crate) fn next(&mut self) -> Result<(), StoreError> {
        if let Some(cursor) = &mut self.cursor {
            cursor.next()?;
        }
        self.skip_exhausted_forward()
    }

    pub(crate) fn previous(&mut self) -> Result<(), StoreError> {
        if let Some(cursor) = &mut self.cursor {
            cursor.previous()?;
        }
        self.skip_exhausted_backward()
    }

    /// A cursor in table number `table`, if there is such a table.
    fn enter(&mut self, table: usize) {
        if table != self.table || self.cursor.is_none() {
            self.table = table;
            let table = self.range.contains(&table).then(|| self.tables[table].clone());
            self.cursor = table.map(|table| TableCursor::new(table, self.fill));
        }
    }

    fn skip_exhausted_forward(&mut self) -> Result<(), StoreError> {
        while self.cursor.as_ref().is_some_and(|c| c.internal_key().is_none()) {
            self.enter(self.table + 1);
            if let Some(cursor) = &mut self.cursor {
                cursor.seek(&[], LogPosition::MAX)?;
            }
        }
        Ok(())
    }

    fn skip_exhausted_backward(&mut self) -> Result<(), StoreError> {
        while self.cursor.as_ref().is_some_and(|c| c.internal_key().is_none()) {
            self.enter(self.table.wrapping_sub(1));
            if let Some(cursor) = &mut self.cursor {
                let largest = self.tables[self.table].meta.largest.clone();
                cursor.seek_before(&largest, LogPosition::ZERO)?;
            }
        }
        Ok(())
    }
}
