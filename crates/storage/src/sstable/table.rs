//! One table: opening it when first read, reading its blocks, gets.

use super::block::{Block, Damaged};
use super::{
    BlockCursor, FOOTER_LEN, FORMAT_VERSION, Handle, MAGIC, PACKED_LZ4, PACKED_NOT, TRAILER_LEN, TableMeta,
    checksum, filter, key_hash,
};
use crate::cache::{BlockCache, Cached};
use crate::entry::{Value, order};
use crate::error::StoreError;
use crate::view::Found;
use binlog::LogPosition;
use env::{Env, File, OpenMode};
use parking_lot::Mutex;
use std::cmp::Ordering;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering as AtomicOrdering;
use std::sync::{Arc, OnceLock};
use stdx::cursor::Cursor;

/// What tables need of their store.
pub(crate) struct TableContext {
    pub(crate) env: Arc<dyn Env>,
    pub(crate) dir: PathBuf,
    pub(crate) cache: BlockCache,
    pub(crate) graveyard: Graveyard,
}

/// Numbers of tables that nobody names or reads any more: their files can go. The last reader only
/// adds the number here, so that no session ever waits for the removal of a file.
#[derive(Default)]
pub(crate) struct Graveyard(Mutex<Vec<u64>>);

impl Graveyard {
    pub(crate) fn take(&self) -> Vec<u64> {
        std::mem::take(&mut self.0.lock())
    }

    pub(crate) fn add(&self, number: u64) {
        self.0.lock().push(number);
    }
}

impl TableContext {
    /// The file of table `number`.
    pub(crate) fn table_path(&self, number: u64) -> PathBuf {
        table_path(&self.dir, number)
    }
}

/// The file of table `number` in a store's folder.
pub(crate) fn table_path(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("{number:06}.table"))
}

/// The number in a table's file name.
pub(crate) fn table_number(path: &Path) -> Option<u64> {
    if path.extension()? != "table" {
        return None;
    }
    path.file_stem()?.to_str()?.parse().ok()
}

/// An immutable table. Its file is opened by the first read and stays open; it is removed once the
/// manifest does not name the table any more ([`Table::retire`]) and the last reader let go of it.
pub(crate) struct Table {
    pub(crate) meta: TableMeta,
    context: Arc<TableContext>,
    opened: OnceLock<Opened>,
    is_retired: AtomicBool,
}

struct Opened {
    file: Arc<dyn File>,
    index: Handle,
    filter: Handle,
    properties: Handle,
}

impl Table {
    /// A table that the manifest names; no file is touched.
    pub(crate) fn new(context: Arc<TableContext>, meta: TableMeta) -> Table {
        Table { meta, context, opened: OnceLock::new(), is_retired: AtomicBool::new(false) }
    }

    /// Marks the file as not needed any more; it goes with the last reader.
    pub(crate) fn retire(&self) {
        self.is_retired.store(true, AtomicOrdering::Release);
    }

    /// The newest version of `key` at or below `at`. A key that is not in any table before is
    /// `expected`: its filter is asked only before a block has to be read from disk.
    pub(crate) fn get(
        &self,
        key: &[u8],
        hash: u64,
        at: LogPosition,
        expected: bool,
    ) -> Result<Found, StoreError> {
        let opened = self.opened()?;
        let may_contain = || self.filter(opened).map(|filter| filter::may_contain(&filter, hash));
        if !expected && !may_contain()? {
            return Ok(None);
        }
        let index = self.entries_block(opened, opened.index, true)?;
        let place = index.get_at_or_after(key, at).map_err(|_| self.damaged(opened.index, "index"))?;
        let Some(range) = place else { return Ok(None) };
        let handle = self.handle(&index.bytes()[range])?;
        let block = match self.context.cache.get(self.meta.number, handle.offset) {
            Some(Cached::Block(block)) => block,
            _ if expected && !may_contain()? => return Ok(None),
            _ => self.read_block(opened, handle, true)?,
        };
        let found = block.get(key, at).map_err(|_| self.damaged(handle, "block"))?;
        Ok(found.map(|(position, range)| {
            (position, range.map(|range| Value::shared(block.bytes().clone(), range)))
        }))
    }

    /// The index block; what it holds for a data block is read by [`Self::handle`].
    pub(crate) fn index(&self) -> Result<Block, StoreError> {
        let opened = self.opened()?;
        self.entries_block(opened, opened.index, true)
    }

    /// A data block; a read that is one of many in a row does not `fill` the cache.
    pub(crate) fn data(&self, handle: Handle, fill: bool) -> Result<Block, StoreError> {
        self.entries_block(self.opened()?, handle, fill)
    }

    /// A value of the index.
    pub(crate) fn handle(&self, value: &[u8]) -> Result<Handle, StoreError> {
        Handle::decode(&mut Cursor::new(value)).map_err(|_| self.corrupt(0, "index without a place"))
    }

    /// The error for a block that contradicts itself although its checksum is right.
    pub(crate) fn damaged(&self, handle: Handle, what: &str) -> StoreError {
        self.corrupt(handle.offset, &format!("{what} contradicts itself"))
    }

    /// The error for an index block that contradicts itself.
    pub(crate) fn index_damaged(&self) -> StoreError {
        self.corrupt(0, "index contradicts itself")
    }

    /// Reads the whole file, past the cache: every block by its checksum (T3), what the properties
    /// say, the order of the entries (T1), and that the filter lets every key through. `go_on` is
    /// asked between blocks; after a no the remaining blocks are skipped.
    pub(crate) fn verify(&self, go_on: &mut dyn FnMut() -> bool) -> Result<(), StoreError> {
        let opened = self.open()?;
        let (bytes, len) = self.read(&opened, opened.properties)?;
        let properties = TableMeta::decode(&mut Cursor::new(&bytes[..len]));
        // They are written before the file's length is known.
        if properties != Ok(TableMeta { size: 0, ..self.meta.clone() }) {
            return Err(
                self.corrupt(opened.properties.offset, "the properties are not what the manifest says")
            );
        }
        let (bytes, len) = self.read(&opened, opened.filter)?;
        let filter = &bytes[..len];
        let index = self.read_block(&opened, opened.index, false)?;
        let mut last: Option<(Vec<u8>, LogPosition)> = None;
        let mut entries = 0;
        for block in 0..index.count() {
            if !go_on() {
                return Ok(());
            }
            let place = index.value(block).map_err(|_| self.damaged(opened.index, "index"))?;
            let handle = self.handle(&index.bytes()[place])?;
            let damaged = |_| self.damaged(handle, "block");
            let mut cursor =
                BlockCursor::new(self.read_block(&opened, handle, false)?, 0).map_err(damaged)?;
            loop {
                let (key, position) = cursor.internal_key();
                if let Some((key_before, before)) = &mut last {
                    if order(key_before, *before, key, position) != Ordering::Less {
                        return Err(self.corrupt(handle.offset, "entries are out of order"));
                    }
                    key_before.clear();
                    key_before.extend_from_slice(key);
                    *before = position;
                } else {
                    last = Some((key.to_vec(), position));
                }
                if !filter::may_contain(filter, key_hash(key)) {
                    return Err(self.corrupt(opened.filter.offset, "the filter hides a key"));
                }
                entries += 1;
                if !cursor.next().map_err(damaged)? {
                    break;
                }
            }
        }
        match entries == self.meta.entries {
            true => Ok(()),
            false => Err(self.corrupt(opened.index.offset, "the index does not lead to all entries")),
        }
    }

    /// True for the offset of a part that rows can be read without: the filter, the properties.
    pub(crate) fn is_filter_or_properties(&self, offset: u64) -> bool {
        self.opened().is_ok_and(|opened| [opened.filter.offset, opened.properties.offset].contains(&offset))
    }

    fn filter(&self, opened: &Opened) -> Result<Arc<[u8]>, StoreError> {
        let cache = &self.context.cache;
        if let Some(Cached::Filter(filter)) = cache.get(self.meta.number, opened.filter.offset) {
            return Ok(filter);
        }
        let (bytes, len) = self.read(opened, opened.filter)?;
        let filter: Arc<[u8]> = bytes[..len].into();
        cache.insert(self.meta.number, opened.filter.offset, Cached::Filter(filter.clone()));
        Ok(filter)
    }

    fn entries_block(&self, opened: &Opened, handle: Handle, fill: bool) -> Result<Block, StoreError> {
        let cache = &self.context.cache;
        match cache.get(self.meta.number, handle.offset) {
            Some(Cached::Block(block)) => Ok(block),
            _ => self.read_block(opened, handle, fill),
        }
    }

    /// A block from disk; with `fill` into the cache.
    fn read_block(&self, opened: &Opened, handle: Handle, fill: bool) -> Result<Block, StoreError> {
        let (bytes, len) = self.read(opened, handle)?;
        let mut block = Block::new(bytes, len).map_err(|Damaged| self.damaged(handle, "block"))?;
        if fill {
            block = block.with_heads().map_err(|Damaged| self.damaged(handle, "block"))?;
            self.context.cache.insert(self.meta.number, handle.offset, Cached::Block(block.clone()));
        }
        Ok(block)
    }

    /// Reads, verifies (T3) and unpacks a block: a buffer, and how many of its bytes are the block.
    fn read(&self, opened: &Opened, handle: Handle) -> Result<(Arc<[u8]>, usize), StoreError> {
        let len = handle.len as usize;
        let is_inside = handle.offset.checked_add(handle.len.into()).is_some_and(|end| end <= self.meta.size);
        if !is_inside || len < TRAILER_LEN {
            return Err(self.corrupt(handle.offset, "block outside of the file"));
        }
        let mut stored = zeroed(len);
        let buffer = Arc::get_mut(&mut stored).expect("just made");
        opened.file.read_exact_at(buffer, handle.offset).map_err(|e| self.io(handle.offset, e))?;
        let (content, sum) = stored.split_last_chunk::<8>().expect("longer than a trailer");
        if checksum(self.meta.number, handle.offset, content) != u64::from_le_bytes(*sum) {
            return Err(self.corrupt(handle.offset, "checksum differs"));
        }
        let (payload, trailer) = content.split_at(len - TRAILER_LEN);
        let unpacked_len = u32::from_le_bytes([trailer[1], trailer[2], trailer[3], trailer[4]]) as usize;
        match trailer[0] {
            PACKED_NOT if unpacked_len == payload.len() => Ok((stored, unpacked_len)),
            PACKED_LZ4 => Ok((self.unpack(handle, payload, unpacked_len)?, unpacked_len)),
            _ => Err(self.corrupt(handle.offset, "unknown packing")),
        }
    }

    fn unpack(&self, handle: Handle, packed: &[u8], len: usize) -> Result<Arc<[u8]>, StoreError> {
        // lz4 can't grow anything by more than 255 times.
        if len > packed.len().saturating_mul(255) + 64 {
            return Err(self.corrupt(handle.offset, "impossible length"));
        }
        let mut bytes = zeroed(len);
        let buffer = Arc::get_mut(&mut bytes).expect("just made");
        match lz4_flex::block::decompress_into(packed, buffer) {
            Ok(n) if n == len => Ok(bytes),
            _ => Err(self.corrupt(handle.offset, "can't be unpacked")),
        }
    }

    fn opened(&self) -> Result<&Opened, StoreError> {
        if let Some(opened) = self.opened.get() {
            return Ok(opened);
        }
        // Two readers may both do it; one wins, and the other's handle is closed.
        let opened = self.open()?;
        Ok(self.opened.get_or_init(|| opened))
    }

    fn open(&self) -> Result<Opened, StoreError> {
        let Footer { file, handles: [index, filter, properties], format, offset } = self.footer()?;
        if format != FORMAT_VERSION {
            let what = format!(
                "the file has format {format}, of a newer version of Duramen than this one, which reads {FORMAT_VERSION}"
            );
            return Err(self.corrupt(offset, &what));
        }
        Ok(Opened { file, index, filter, properties })
    }

    /// The format that the footer states, which may be a newer one than can be read.
    pub(crate) fn format(&self) -> Result<u32, StoreError> {
        Ok(self.footer()?.format)
    }

    fn footer(&self) -> Result<Footer, StoreError> {
        let path = self.path();
        let failed = |e| StoreError::io(format!("open {}", path.display()), e);
        let file = self.context.env.open(&path, OpenMode::Read).map_err(failed)?;
        let len = file.len().map_err(failed)?;
        let offset = self.meta.size.saturating_sub(FOOTER_LEN as u64);
        if len != self.meta.size || len < FOOTER_LEN as u64 {
            return Err(self.corrupt(0, &format!("{len} bytes long, not {}", self.meta.size)));
        }
        let mut footer = [0; FOOTER_LEN];
        file.read_exact_at(&mut footer, offset).map_err(|e| self.io(offset, e))?;
        let truncated = |_| self.corrupt(offset, "short footer");
        let mut input = Cursor::new(&footer[..]);
        let content = &footer[..FOOTER_LEN - 16];
        let index = Handle::decode(&mut input).map_err(truncated)?;
        let filter = Handle::decode(&mut input).map_err(truncated)?;
        let properties = Handle::decode(&mut input).map_err(truncated)?;
        let format = input.u32().map_err(truncated)?;
        let sum = input.u64().map_err(truncated)?;
        if input.remaining_slice() != MAGIC {
            return Err(self.corrupt(offset, "not a table"));
        }
        if checksum(self.meta.number, offset, content) != sum {
            return Err(self.corrupt(offset, "footer's checksum differs"));
        }
        Ok(Footer { file, handles: [index, filter, properties], format, offset })
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.context.table_path(self.meta.number)
    }

    fn io(&self, offset: u64, source: std::io::Error) -> StoreError {
        StoreError::io(format!("read {} at byte {offset}", self.path().display()), source)
    }

    fn corrupt(&self, offset: u64, what: &str) -> StoreError {
        StoreError::Corrupt { file: self.path(), offset, what: what.to_owned() }
    }
}

/// A table file's last bytes.
struct Footer {
    file: Arc<dyn File>,
    /// Of index, filter and properties.
    handles: [Handle; 3],
    format: u32,
    /// Where the footer begins, in bytes.
    offset: u64,
}

impl Drop for Table {
    fn drop(&mut self) {
        if self.is_retired.load(AtomicOrdering::Acquire) {
            self.context.graveyard.add(self.meta.number);
        }
    }
}

/// A shared buffer that is written once before it is shared.
fn zeroed(len: usize) -> Arc<[u8]> {
    vec![0; len].into()
}
