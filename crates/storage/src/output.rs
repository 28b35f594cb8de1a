//! The tables that a flush or a compaction writes.
//!
//! (U1) Output is cut between keys only (T2 of `sstable.rs`).
//! (U2) A tree with more than a little output has tables of its own. Small trees share tables, but
//!      no table reaches from a small tree into the middle of a big one: so rows appended to one
//!      table never overlap what is on disk and sink to deeper levels without being rewritten, and
//!      a dropped tree's tables go as a whole.
//!
//! To know whether a tree is small, its first entries are buffered while the open table belongs to
//! other trees.

use crate::entry::{Entry, TreeId};
use crate::error::StoreError;
use crate::sstable::{Compression, Table, TableBuilder, TableContext, TableMeta};
use crate::survivors::Sink;
use binlog::LogPosition;
use env::{OpenMode, Rows};
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;

/// A tree with more output than this has tables of its own (U2), in bytes.
const SMALL_TREE: usize = 256 << 10;
/// Flushes of finished tables under way at a time.
const FLUSHES_MAX: usize = 2;

/// How output is cut into tables.
pub(crate) struct OutputOptions {
    pub(crate) compression: Compression,
    /// A table ends when it has grown to this, in bytes.
    pub(crate) table_size: u64,
    /// The tables of the level below the one written to: an output that overlaps too many of them
    /// would be dear to merge down later.
    pub(crate) below: Vec<Arc<Table>>,
    /// Flush finished tables in threads, while the next ones are built.
    pub(crate) overlap_flushes: bool,
}

/// Writes entries into as many tables as it takes.
pub(crate) struct Output<'a> {
    context: &'a TableContext,
    next_number: &'a AtomicU64,
    options: OutputOptions,
    builder: Option<TableBuilder>,
    tree: Option<TreeId>,
    held: Held,
    /// Tables of `below` that lie before the last key; bytes of those that the open table
    /// overlaps.
    below_passed: usize,
    below_overlap: u64,
    started: Vec<u64>,
    finished: Vec<TableMeta>,
    flushes: Vec<JoinHandle<io::Result<()>>>,
}

/// Entries that are buffered, back to back.
#[derive(Default)]
struct Held {
    bytes: Vec<u8>,
    entries: Vec<HeldEntry>,
}

struct HeldEntry {
    key: Range<usize>,
    position: LogPosition,
    value: Option<Range<usize>>,
    is_outlived: bool,
}

impl<'a> Output<'a> {
    pub(crate) fn new(
        context: &'a TableContext,
        next_number: &'a AtomicU64,
        options: OutputOptions,
    ) -> Output<'a> {
        Output {
            context,
            next_number,
            options,
            builder: None,
            tree: None,
            held: Held::default(),
            below_passed: 0,
            below_overlap: 0,
            started: Vec::new(),
            finished: Vec::new(),
            flushes: Vec::new(),
        }
    }

    /// Ends the last table, and makes all durable, content and names (N3 of `manifest.rs`).
    pub(crate) fn finish(&mut self) -> Result<Vec<TableMeta>, StoreError> {
        self.release_held()?;
        self.end_table()?;
        self.await_flushes(0)?;
        if !self.finished.is_empty() {
            let dir = &self.context.dir;
            self.context
                .env
                .sync_dir(dir)
                .map_err(|e| StoreError::io(format!("flush {}", dir.display()), e))?;
        }
        Ok(std::mem::take(&mut self.finished))
    }

    /// Numbers of all files begun, for removal after a failure.
    pub(crate) fn started(&self) -> &[u64] {
        &self.started
    }

    fn put(&mut self, entry: &Entry<'_>, is_outlived: bool) -> Result<(), StoreError> {
        if self.builder.as_ref().is_some_and(|b| b.last_key() != entry.key) && self.is_full(entry.key) {
            self.end_table()?;
        }
        let builder = match &mut self.builder {
            Some(builder) => builder,
            None => self.builder.insert(start_table(
                self.context,
                self.next_number,
                self.options.compression,
                &mut self.started,
            )?),
        };
        let added = builder.add(entry);
        if is_outlived {
            builder.count_outlived();
        }
        added.map_err(|e| self.failed(e))
    }

    /// True if the open table is to end before `key`.
    fn is_full(&mut self, key: &[u8]) -> bool {
        while let Some(table) = self.options.below.get(self.below_passed) {
            if table.meta.largest.as_slice() >= key {
                break;
            }
            self.below_overlap += table.meta.size;
            self.below_passed += 1;
        }
        let size = self.builder.as_ref().map_or(0, TableBuilder::size);
        size >= self.options.table_size || self.below_overlap > 10 * self.options.table_size
    }

    fn end_table(&mut self) -> Result<(), StoreError> {
        self.below_overlap = 0;
        if let Some(builder) = self.builder.take() {
            let (meta, file) = builder.finish().map_err(|e| self.failed(e))?;
            self.finished.push(meta);
            if !self.options.overlap_flushes {
                return file.sync_all().map_err(|e| self.failed(e));
            }
            let thread = std::thread::Builder::new().name("store-sync".into());
            let flush = thread.spawn(move || file.sync_all()).map_err(|e| self.failed(e))?;
            self.flushes.push(flush);
            self.await_flushes(FLUSHES_MAX)?;
        }
        Ok(())
    }

    /// Waits until no more than `running_max` flushes are under way.
    fn await_flushes(&mut self, running_max: usize) -> Result<(), StoreError> {
        while self.flushes.len() > running_max {
            let flushed = self.flushes.remove(0).join();
            let flushed = flushed.unwrap_or_else(|_| Err(io::Error::other("the flushing thread panicked")));
            flushed.map_err(|e| self.failed(e))?;
        }
        Ok(())
    }

    /// Called with the first entry of each tree.
    fn start_tree(&mut self, tree: TreeId) -> Result<(), StoreError> {
        self.release_held()?;
        self.tree = Some(tree);
        if self.builder.as_ref().is_some_and(|b| b.size() >= SMALL_TREE as u64) {
            self.end_table()?;
        }
        Ok(())
    }

    /// Moves the buffered entries into the open table.
    fn release_held(&mut self) -> Result<(), StoreError> {
        let held = std::mem::take(&mut self.held);
        for e in &held.entries {
            let value = e.value.clone().map(|range| &held.bytes[range]);
            let entry = Entry { key: &held.bytes[e.key.clone()], position: e.position, value };
            self.put(&entry, e.is_outlived)?;
        }
        Ok(())
    }

    fn failed(&self, error: io::Error) -> StoreError {
        let number = self.started.last().copied().unwrap_or(0);
        StoreError::io(format!("write {}", self.context.table_path(number).display()), error)
    }
}

fn start_table(
    context: &TableContext,
    next_number: &AtomicU64,
    compression: Compression,
    started: &mut Vec<u64>,
) -> Result<TableBuilder, StoreError> {
    let number = next_number.fetch_add(1, Ordering::Relaxed);
    started.push(number);
    let path = context.table_path(number);
    let file = context.env.open(&path, OpenMode::CreateNewRows(Rows::Tables));
    let file = file.map_err(|e| StoreError::io(format!("make {}", path.display()), e))?;
    Ok(TableBuilder::new(file, number, compression))
}

impl Sink for Output<'_> {
    fn add(&mut self, entry: &Entry<'_>, is_outlived: bool) -> Result<(), StoreError> {
        let tree = TreeId::of(entry.key);
        if self.tree != Some(tree) {
            self.start_tree(tree)?;
        }
        let is_open_for_others = self.builder.as_ref().is_some_and(|b| TreeId::of(b.last_key()) != tree);
        if !is_open_for_others {
            return self.put(entry, is_outlived);
        }
        self.held.push(entry, is_outlived);
        if self.held.bytes.len() > SMALL_TREE {
            self.end_table()?;
            self.release_held()?;
        }
        Ok(())
    }
}

impl Held {
    fn push(&mut self, entry: &Entry<'_>, is_outlived: bool) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(entry.key);
        let key = start..self.bytes.len();
        self.bytes.extend_from_slice(entry.value.unwrap_or_default());
        let value = entry.value.map(|_| key.end..self.bytes.len());
        self.entries.push(HeldEntry { key, position: entry.position, value, is_outlived });
    }
}
