//! The ordered list inside a memtable: one writer, readers without any lock.
//!
//! A skip list whose nodes lie in an arena. A node is written completely before the first link to it is stored, never
//! changes after that except for its links, and lives as long as the list. A list that was filled before its entries'
//! position was known has that for all of them (S6).
//! So a reader needs nothing but `Acquire` loads of links, and slices of keys and values stay valid as long as the list is
//! borrowed or shared.
//!
//! Bytes of a node, eight-byte aligned:
//!
//! | offset | size | what |
//! | --- | --- | --- |
//! | 0 | 8 | position |
//! | 8 | 8 | link back, a hint (S3) |
//! | 16 | 4 | key length (24 bits), then tower height (7 bits), then [`OLDER`] |
//! | 20 | 4 | value length, or [`DELETED`] |
//! | 24 | 8 × height | links forward, lowest first |
//! | | 0 or 8 | link to the key's oldest version, where [`OLDER`] says so (S5) |
//! | | | key, then value |
//!
//! (S1) A link is stored with `Release` after all bytes of the node it leads to; it is loaded with `Acquire`.
//! (S2) Nodes are never unlinked or moved, and the arena is freed with the list only.
//! (S3) The link back leads to *some* node in front: the right one, or an earlier one for a moment during an insertion.
//!      A reader walks forward from there.
//! (S4) Only the holder of [`Writer`] (one at a time, by a latch) stores links or allocates.
//! (S5) A version that was put in front of others of its key knows the oldest of them, so that a walk leaves a row with many
//!      versions in one step. Versions come in the order of the log, hence nothing is put behind the oldest; were it so,
//!      a walk would meet it.
//!
//! (S6) An entry's position is the greater one of its node's and of the list's. A list has one, once and before it is shared,
//!      only if its nodes have none; nothing is inserted after that. So a large transaction is stamped by one store.
//!
//! (S7) A memtable has a directory beside it (`newest.rs`), which leads from a key to its newest version without a search.
//!
//! `crossbeam-skiplist` lost: it allocates each node and each key, counts references on every step, and has no way
//! back in less than a search. This is the only module of the crate with unsafe code.
#![allow(unsafe_code, reason = "nodes of varying size linked by atomics; see S1 to S4")]

mod ahead;
mod newest;
mod together;

use crate::entry::{Entry, order};
use ahead::Ahead;
use binlog::position::LogPosition;
use newest::{Known, Newest};
use parking_lot::{Mutex, MutexGuard};
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::cmp::Ordering::Less;
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

const HEIGHT_MAX: usize = 12;
/// A tower grows with a chance of one in four: 12 levels serve 16 million nodes.
const GROW_MASK: u32 = 3;
const HEADER: usize = 24;
const ALIGN: usize = 8;
/// Stands for a value's length where the key was deleted.
const DELETED: u32 = u32::MAX;
const KEY_LEN_MASK: u32 = (1 << 24) - 1;
/// Says that a node has a link to its key's oldest version.
const OLDER: u32 = 1 << 31;
/// Cache lines of a node that a walk fetches ahead.
const PREFETCH_LINES: usize = 3;
/// As many hold the header and the beginning of the key.
const SEARCH_LINES: usize = 2;
/// What an entry takes, for the size of a directory.
const ENTRY_BYTES: usize = 256;
const CHUNK_MIN: usize = 16 << 10;
const CHUNK_MAX: usize = 1 << 20;

/// A node's address. Copies of it are what links hold; null stands for "none".
#[derive(Clone, Copy, PartialEq, Eq)]
struct Node(*mut u8);

impl Node {
    const NONE: Node = Node(null_mut());

    fn is_none(self) -> bool {
        self.0.is_null()
    }

    /// # Safety
    /// `self` is a node of a living list, and `level` is below its height.
    unsafe fn link<'a>(self, level: usize) -> &'a AtomicPtr<u8> {
        // SAFETY: the tower starts behind the header and holds `height` aligned pointers that are only ever accessed
        // as atomics once the node is linked.
        unsafe { &*self.0.add(HEADER + level * ALIGN).cast::<AtomicPtr<u8>>() }
    }

    /// # Safety
    /// `self` is a node of a living list.
    unsafe fn link_back<'a>(self) -> &'a AtomicPtr<u8> {
        // SAFETY: as in `link`; the field lies at its fixed, aligned place.
        unsafe { &*self.0.add(8).cast::<AtomicPtr<u8>>() }
    }

    /// # Safety
    /// As [`Self::link`].
    unsafe fn next(self, level: usize) -> Node {
        // SAFETY: passed on to the caller. `Acquire` pairs with the `Release` of `Writer::insert` (S1).
        Node(unsafe { self.link(level) }.load(Ordering::Acquire))
    }

    /// # Safety
    /// `self` is a node of a living list.
    unsafe fn height(self) -> usize {
        // SAFETY: the header was written before the node was linked (S1) and never changes (S2).
        unsafe { height_in(self.0.add(16).cast::<u32>().read()) }
    }

    /// The oldest version of its key, if that is not itself (S5).
    ///
    /// # Safety
    /// As [`Self::entry`].
    unsafe fn oldest(self) -> Option<Node> {
        // SAFETY: the header and this link were written before the node was linked (S1) and never change; the link lies
        // behind the tower where the header says that there is one.
        unsafe {
            let lengths = self.0.add(16).cast::<u32>().read();
            let link = self.0.add(HEADER + height_in(lengths) * ALIGN).cast::<*mut u8>();
            (lengths & OLDER != 0).then(|| Node(link.read()))
        }
    }

    /// Its entry, in a list of position `stamped` (S6).
    ///
    /// # Safety
    /// `self` is a linked node (not the head) of a list that lives for `'a`.
    unsafe fn entry<'a>(self, stamped: LogPosition) -> Entry<'a> {
        // SAFETY: the header was written before the node was linked (S1) and never changes (S2); key and value lie
        // where the header says, inside the node's allocation.
        unsafe {
            let position = LogPosition::from_u64(self.0.cast::<u64>().read());
            let lengths = self.0.add(16).cast::<u32>().read();
            let value_len = self.0.add(20).cast::<u32>().read();
            let links = height_in(lengths) + usize::from(lengths & OLDER != 0);
            let key = self.0.add(HEADER + links * ALIGN);
            let key_len = (lengths & KEY_LEN_MASK) as usize;
            let value = (value_len != DELETED)
                .then(|| std::slice::from_raw_parts(key.add(key_len), value_len as usize));
            let key = std::slice::from_raw_parts(key, key_len);
            Entry { key, position: position.max(stamped), value }
        }
    }

    /// Asks the processor to fetch the node's header, key and the value's beginning: a walk's next node is known while
    /// the present one is still looked at, and a miss of the cache costs more than everything else in a step.
    fn prefetch(self) {
        self.prefetch_lines(PREFETCH_LINES);
    }

    #[allow(unused_variables, reason = "other processors fetch for themselves")]
    fn prefetch_lines(self, lines: usize) {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        for line in 0..lines {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            // SAFETY: a prefetch reads nothing, whatever the address; `wrapping_add` makes no promise about it either.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(self.0.wrapping_add(line * 64).cast()) };
        }
    }

    /// Asks the processor to fetch what a search compares: while the last node of one level is still looked at, the first
    /// one of the level below is on its way.
    ///
    /// # Safety
    /// As [`Self::link`].
    unsafe fn prefetch_below(self, level: usize) {
        if level > 0 {
            // SAFETY: passed on to the caller. Nothing is read through the link, so that its order does not matter.
            Node(unsafe { self.link(level - 1) }.load(Ordering::Relaxed)).prefetch_lines(SEARCH_LINES);
        }
    }

    /// # Safety
    /// As [`Self::entry`].
    unsafe fn is_before(self, key: &[u8], position: LogPosition, stamped: LogPosition) -> bool {
        // SAFETY: passed on to the caller.
        let entry = unsafe { self.entry(stamped) };
        order(entry.key, entry.position, key, position) == Less
    }
}

/// The height of a tower, from the lengths in its node's header.
fn height_in(lengths: u32) -> usize {
    ((lengths & !OLDER) >> 24) as usize
}

/// Where nodes are made; belongs to the writer.
struct Arena {
    chunks: Vec<(NonNull<u8>, Layout)>,
    free: *mut u8,
    left: usize,
    random: u32,
    /// The nodes in front of the place of the last insertion that was searched for, per level: the next one is often right
    /// behind it.
    before: [Node; HEIGHT_MAX],
}

// SAFETY: the raw pointers lead into chunks that the arena itself owns.
unsafe impl Send for Arena {}

impl Arena {
    /// Room for `size` bytes, aligned; adds what was taken from the system to `bytes`.
    fn allocate(&mut self, size: usize, bytes: &AtomicUsize) -> *mut u8 {
        let size = size.next_multiple_of(ALIGN);
        if size > self.left {
            let grown = self.chunks.last().map_or(CHUNK_MIN, |(_, l)| (l.size() * 2).min(CHUNK_MAX));
            if size > grown / 4 {
                return self.chunk(size, bytes);
            }
            self.free = self.chunk(grown, bytes);
            self.left = grown;
        }
        let place = self.free;
        // SAFETY: `size <= left`, so the result is inside or just behind the chunk.
        self.free = unsafe { place.add(size) };
        self.left -= size;
        place
    }

    fn chunk(&mut self, size: usize, bytes: &AtomicUsize) -> *mut u8 {
        let layout = Layout::from_size_align(size, ALIGN).expect("chunk sizes are far below isize::MAX");
        // SAFETY: `size` is not zero: a node has a header, a chunk at least CHUNK_MIN bytes.
        let Some(chunk) = NonNull::new(unsafe { alloc(layout) }) else { handle_alloc_error(layout) };
        self.chunks.push((chunk, layout));
        bytes.fetch_add(size, Ordering::Relaxed);
        chunk.as_ptr()
    }

    /// Writes a node that nothing leads to yet, its links empty but for that to the oldest version.
    fn node(
        &mut self,
        (height, oldest): (usize, Option<Node>),
        key: &[u8],
        position: LogPosition,
        value: Option<&[u8]>,
        bytes: &AtomicUsize,
    ) -> Node {
        let value_len = value.map_or(DELETED, |v| v.len() as u32);
        let value = value.unwrap_or_default();
        assert!(key.len() <= KEY_LEN_MASK as usize && value.len() < DELETED as usize, "entry too long");
        let (tower, older) = (height * ALIGN, oldest.map_or(0, |_| OLDER));
        let links = tower + oldest.map_or(0, |_| ALIGN);
        let place = self.allocate(HEADER + links + key.len() + value.len(), bytes);
        // SAFETY: the allocation is fresh, aligned and as long as the sum of the parts written here.
        unsafe {
            place.cast::<u64>().write(position.to_u64());
            place.add(8).cast::<*mut u8>().write(null_mut());
            place.add(16).cast::<u32>().write(older | (height as u32) << 24 | key.len() as u32);
            place.add(20).cast::<u32>().write(value_len);
            for level in 0..height {
                place.add(HEADER + level * ALIGN).cast::<*mut u8>().write(null_mut());
            }
            if let Some(oldest) = oldest {
                place.add(HEADER + tower).cast::<*mut u8>().write(oldest.0);
            }
            let data = place.add(HEADER + links);
            data.copy_from_nonoverlapping(key.as_ptr(), key.len());
            data.add(key.len()).copy_from_nonoverlapping(value.as_ptr(), value.len());
        }
        Node(place)
    }

    fn random_height(&mut self) -> usize {
        // xorshift32: only the shape of the list depends on it.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 17;
        self.random ^= self.random << 5;
        let mut height = 1;
        let mut bits = self.random;
        while height < HEIGHT_MAX && bits & GROW_MASK == 0 {
            height += 1;
            bits >>= 2;
        }
        height
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        for &(chunk, layout) in &self.chunks {
            // SAFETY: allocated with this layout in `chunk`, and freed here only.
            unsafe { dealloc(chunk.as_ptr(), layout) };
        }
    }
}

/// The list. Shared by `Arc` between its writer and readers.
pub(crate) struct SkipList {
    head: Node,
    /// The position of all entries, if they have no own (S6).
    stamped: LogPosition,
    /// The tallest tower so far; a reader that sees an old value only searches longer.
    height: AtomicUsize,
    bytes: AtomicUsize,
    len: AtomicUsize,
    newest: Option<Newest>,
    arena: Mutex<Arena>,
}

// SAFETY: what raw pointers lead to is shared by the rules S1 to S4; the arena itself is behind its latch.
unsafe impl Send for SkipList {}
// SAFETY: as above.
unsafe impl Sync for SkipList {}

impl Default for SkipList {
    fn default() -> SkipList {
        SkipList::new()
    }
}

impl SkipList {
    /// An empty list.
    pub(crate) fn new() -> SkipList {
        let bytes = AtomicUsize::new(0);
        let before = [Node::NONE; HEIGHT_MAX];
        let mut arena = Arena { chunks: Vec::new(), free: null_mut(), left: 0, random: 0x9e37_79b9, before };
        let head = arena.node((HEIGHT_MAX, None), &[], LogPosition::ZERO, None, &bytes);
        arena.before = [head; HEIGHT_MAX];
        SkipList {
            head,
            stamped: LogPosition::ZERO,
            height: AtomicUsize::new(1),
            bytes,
            len: AtomicUsize::new(0),
            newest: None,
            arena: Mutex::new(arena),
        }
    }

    /// An empty list with a directory (S7), for about so many bytes of entries.
    pub(crate) fn with_directory(bytes: usize) -> SkipList {
        SkipList { newest: Some(Newest::new(bytes / ENTRY_BYTES)), ..SkipList::new() }
    }

    /// Gives all entries, which have none yet, their position.
    pub(crate) fn stamp(&mut self, position: LogPosition) {
        self.stamped = position;
    }

    /// Memory taken from the system, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Number of entries that every reader meets from now on.
    pub(crate) fn len(&self) -> usize {
        self.len.load(Ordering::Acquire)
    }

    /// True if nothing was inserted yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The right to insert; held by one thread at a time (S4).
    pub(crate) fn writer(&self) -> Writer<'_> {
        assert!(self.stamped == LogPosition::ZERO, "S6: nothing is inserted into a list with a position");
        Writer { list: self, arena: self.arena.lock() }
    }

    /// The first entry at or behind `(key, position)`.
    pub(crate) fn seek(&self, key: &[u8], position: LogPosition) -> Option<Entry<'_>> {
        let (_, node) = self.around(key, position);
        // SAFETY: a node of this list, which is borrowed for the entry's lifetime.
        (!node.is_none()).then(|| unsafe { node.entry(self.stamped) })
    }

    /// The newest version of `key` at or below `position`.
    pub(crate) fn version(&self, key: &[u8], position: LogPosition) -> Option<Entry<'_>> {
        match self.newest.as_ref().map(|newest| newest.find(key)) {
            Some(Known::Nothing) => return None,
            Some(Known::Newest(node)) => {
                // SAFETY: a linked node of this list, which is borrowed for the entry's lifetime.
                let entry = unsafe { node.entry(self.stamped) };
                if entry.position <= position {
                    return Some(entry);
                }
            }
            Some(Known::Unknown) | None => {}
        }
        self.seek(key, position).filter(|entry| entry.key == key)
    }

    /// The neighbours of the place `(key, position)`: the last node in front of it, or the head, and the first one at or
    /// behind it, or none. Both as they were met: asking the first for its link again could lead to a node that was
    /// put in between meanwhile, and still is in front of the place.
    fn around(&self, key: &[u8], position: LogPosition) -> (Node, Node) {
        let mut node = self.head;
        let mut behind = Node::NONE;
        for level in (0..self.height.load(Ordering::Relaxed)).rev() {
            loop {
                // SAFETY: `node` is the head or was reached on this level or a higher one, so its tower has it.
                let next = unsafe { node.next(level) };
                // SAFETY: as above.
                unsafe { node.prefetch_below(level) };
                // SAFETY: `next` is a linked node where it is not none.
                if next.is_none() || next == behind || !unsafe { next.is_before(key, position, self.stamped) }
                {
                    behind = next;
                    break;
                }
                node = next;
            }
        }
        (node, behind)
    }

    /// Roughly the number of entries from the full key `first` up to `behind`: counted on the highest level that has
    /// enough of them.
    pub(crate) fn count_between(&self, first: &[u8], behind: &[u8]) -> usize {
        let (_, level, count) = self.between(first, behind);
        // A quarter of the nodes reaches the next level.
        count << (2 * level)
    }

    /// About the entry that has this share (0 to 1) of those from `first` up to `behind` in front of it, if there are any.
    pub(crate) fn entry_between(&self, first: &[u8], behind: &[u8], share: f64) -> Option<Entry<'_>> {
        let (mut node, level, count) = self.between(first, behind);
        if count == 0 {
            return None;
        }
        for _ in 0..((count as f64 * share) as usize).min(count - 1) {
            // SAFETY: a node of this list that was met on this level; the links behind it only gain nodes.
            node = unsafe { node.next(level) };
        }
        // SAFETY: as above; `between` counted this many nodes from the first one on.
        Some(unsafe { node.entry(self.stamped) })
    }

    /// The nodes from `first` up to `behind` on the highest level that has enough of them: the first, the level, how many.
    fn between(&self, first: &[u8], behind: &[u8]) -> (Node, usize, usize) {
        const ENOUGH: usize = 32;
        let mut node = self.head;
        for level in (0..self.height.load(Ordering::Relaxed)).rev() {
            let mut count = 0;
            // SAFETY: as in `around`: every node met was reached on this level or a higher one.
            let start = unsafe {
                let mut next = node.next(level);
                while !next.is_none() && next.is_before(first, LogPosition::MAX, self.stamped) {
                    node = next;
                    next = node.next(level);
                }
                let start = next;
                while !next.is_none() && next.is_before(behind, LogPosition::MAX, self.stamped) {
                    count += 1;
                    next = next.next(level);
                }
                start
            };
            if count >= ENOUGH || level == 0 {
                return (start, level, count);
            }
        }
        (Node::NONE, 0, 0)
    }

    /// The node in front of `node`, exactly (S3), or the head.
    fn previous(&self, node: Node) -> Node {
        // SAFETY: all nodes met are linked nodes of this list or its head.
        unsafe {
            let mut before = Node(node.link_back().load(Ordering::Acquire));
            loop {
                let next = before.next(0);
                if next == node {
                    return before;
                }
                before = next;
            }
        }
    }
}

/// The right to insert into a [`SkipList`].
pub(crate) struct Writer<'a> {
    list: &'a SkipList,
    arena: MutexGuard<'a, Arena>,
}

impl Writer<'_> {
    /// Adds an entry. It stands in front of one with the same key and position, so that readers meet the last one
    /// inserted and skip the older one as an older version.
    pub(crate) fn insert(&mut self, key: &[u8], position: LogPosition, value: Option<&[u8]>) {
        let height = self.arena.random_height();
        match self.newest_version(key, position) {
            Some(newest) if height == 1 => self.insert_in_front_of(newest, key, position, value),
            _ => {
                self.find_before(key, position);
                self.insert_behind(height, key, position, value);
            }
        }
    }

    /// The newest version of the key, if it is known without a search and `position` belongs in front of it.
    fn newest_version(&self, key: &[u8], position: LogPosition) -> Option<Node> {
        let Known::Newest(node) = self.list.newest.as_ref()?.find(key) else { return None };
        // SAFETY: a linked node of this list.
        (unsafe { node.entry(LogPosition::ZERO) }.position <= position).then_some(node)
    }

    /// Adds a version with a tower of one level: all that has to be known is the node in front, to which the newest one so far
    /// has an exact link back while nobody inserts.
    fn insert_in_front_of(&mut self, newest: Node, key: &[u8], position: LogPosition, value: Option<&[u8]>) {
        // SAFETY: a linked node.
        let oldest = unsafe { newest.oldest() }.unwrap_or(newest);
        let node = self.arena.node((1, Some(oldest)), key, position, value, &self.list.bytes);
        // SAFETY: as in `insert_behind`; the link back leads to the head or a linked node.
        unsafe {
            let before = Node(newest.link_back().load(Ordering::Relaxed));
            node.link_back().store(before.0, Ordering::Relaxed);
            node.link(0).store(newest.0, Ordering::Relaxed);
            before.link(0).store(node.0, Ordering::Release);
            newest.link_back().store(node.0, Ordering::Release);
        }
        self.count(key, Some(node));
    }

    /// Adds an entry behind `before`, which are the nodes in front of its place.
    fn insert_behind(&mut self, height: usize, key: &[u8], position: LogPosition, value: Option<&[u8]>) {
        let list = self.list;
        let oldest = self.oldest_of(key);
        let is_newest = !self.is_behind_a_version_of(key);
        let node = self.arena.node((height, oldest), key, position, value, &list.bytes);
        if height > list.height.load(Ordering::Relaxed) {
            list.height.store(height, Ordering::Relaxed);
        }
        let before = &mut self.arena.before;
        // SAFETY: `before[level]` is the head or a node of at least `level + 1` levels; the new node is not linked yet,
        // and each link to it is stored with `Release` after everything in it (S1). Its own link back is set before.
        unsafe {
            node.link_back().store(before[0].0, Ordering::Relaxed);
            for (level, before) in before.iter_mut().enumerate().take(height) {
                let next = before.next(level);
                node.link(level).store(next.0, Ordering::Relaxed);
                before.link(level).store(node.0, Ordering::Release);
                if level == 0 && !next.is_none() {
                    next.link_back().store(node.0, Ordering::Release);
                }
                *before = node;
            }
        }
        self.count(key, is_newest.then_some(node));
    }

    /// An entry is linked, which may be the newest version of its key.
    fn count(&self, key: &[u8], newest: Option<Node>) {
        if let (Some(node), Some(directory)) = (newest, &self.list.newest) {
            directory.set(key, node);
        }
        self.list.len.fetch_add(1, Ordering::Release);
    }

    /// True if a version of the key is in front of the place: it did not come in the order of the log.
    fn is_behind_a_version_of(&self, key: &[u8]) -> bool {
        let before = self.arena.before[0];
        // SAFETY: `before` is the head or a linked node.
        before != self.list.head && unsafe { before.entry(LogPosition::ZERO) }.key == key
    }

    /// The oldest version of the key that the place is in front of, if that is this one (S5).
    fn oldest_of(&self, key: &[u8]) -> Option<Node> {
        // SAFETY: `before` is the head or a linked node; what its link leads to is linked.
        unsafe {
            let behind = self.arena.before[0].next(0);
            let same = !behind.is_none() && behind.entry(LogPosition::ZERO).key == key;
            same.then(|| behind.oldest().unwrap_or(behind))
        }
    }

    /// Sets `before` to the last node in front of the place, on every level.
    fn find_before(&mut self, key: &[u8], position: LogPosition) {
        // SAFETY: nodes met are the head or linked, and are only asked for levels that they were reached on.
        unsafe {
            let last = self.arena.before[0];
            let behind = last.next(0);
            let fits = (last == self.list.head || last.is_before(key, position, LogPosition::ZERO))
                && (behind.is_none() || !behind.is_before(key, position, LogPosition::ZERO));
            if fits {
                return;
            }
            let mut node = self.list.head;
            let mut behind = Node::NONE;
            for level in (0..self.list.height.load(Ordering::Relaxed)).rev() {
                loop {
                    let next = node.next(level);
                    node.prefetch_below(level);
                    if next.is_none() || next == behind || !next.is_before(key, position, LogPosition::ZERO) {
                        behind = next;
                        break;
                    }
                    node = next;
                }
                self.arena.before[level] = node;
            }
        }
    }
}

/// A place in a list, which it keeps alive.
pub(crate) struct ListCursor {
    list: Arc<SkipList>,
    node: Node,
    ahead: Ahead,
}

// SAFETY: the node belongs to the list that the cursor keeps alive, and is only read (S1, S2).
unsafe impl Send for ListCursor {}

impl ListCursor {
    /// A cursor that stands nowhere yet.
    pub(crate) fn new(list: Arc<SkipList>) -> ListCursor {
        ListCursor { list, node: Node::NONE, ahead: Ahead::new() }
    }

    /// Moves to the first entry at or behind `(key, position)`.
    pub(crate) fn seek(&mut self, key: &[u8], position: LogPosition) {
        (_, self.node) = self.list.around(key, position);
        self.ahead = Ahead::new();
    }

    /// Moves to the last entry in front of `(key, position)`.
    pub(crate) fn seek_before(&mut self, key: &[u8], position: LogPosition) {
        let (node, _) = self.list.around(key, position);
        self.set(node);
    }

    /// Moves on by one entry, if the cursor stands on one.
    pub(crate) fn next(&mut self) {
        if !self.node.is_none() {
            // SAFETY: a node of the list; every node has the lowest level.
            self.node = unsafe { self.node.next(0) };
            if !self.node.is_none() {
                // SAFETY: as above; the cursor keeps the list alive.
                unsafe { self.ahead.step(self.node) };
            }
        }
    }

    /// Moves on by one entry or more, if the cursor stands on one: past all versions of its key that are known to be older
    /// (S5).
    pub(crate) fn leave_key(&mut self) {
        if !self.node.is_none() {
            // SAFETY: a linked node of the list.
            self.node = unsafe { self.node.oldest() }.unwrap_or(self.node);
            self.next();
        }
    }

    /// Moves back by one entry, if the cursor stands on one.
    pub(crate) fn previous(&mut self) {
        if !self.node.is_none() {
            let node = self.list.previous(self.node);
            self.set(node);
        }
    }

    /// The entry that the cursor stands on.
    pub(crate) fn entry(&self) -> Option<Entry<'_>> {
        // SAFETY: a linked node of the list that `self` keeps alive.
        (!self.node.is_none()).then(|| unsafe { self.node.entry(self.list.stamped) })
    }

    fn set(&mut self, node: Node) {
        self.node = if node == self.list.head { Node::NONE } else { node };
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::cmp::Reverse;
    use std::collections::BTreeMap;

    fn at(n: u64) -> LogPosition {
        LogPosition::from_u64(n)
    }

    /// A fixed sequence of numbers that look random.
    fn numbers(seed: u64) -> impl Iterator<Item = u64> {
        let mut x = seed;
        std::iter::repeat_with(move || {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            x >> 33
        })
    }

    const ROUNDS: usize = if cfg!(miri) { 200 } else { 5000 };

    /// Without a directory, with one that loses most keys, and with one that has room for all.
    #[test]
    fn equals_an_ordered_map_both_ways() {
        for list in
            [SkipList::new(), SkipList::with_directory(64 * ENTRY_BYTES), SkipList::with_directory(1 << 20)]
        {
            equals_an_ordered_map(list);
        }
    }

    fn equals_an_ordered_map(list: SkipList) {
        let list = Arc::new(list);
        let mut model = BTreeMap::new();
        let mut random = numbers(1);
        for i in 0..ROUNDS / 8 {
            // Not always in the order of the log.
            let position = at(i as u64 ^ 3);
            let mut keys: Vec<Vec<u8>> = Vec::new();
            for key in random.by_ref().take(1 + i % 20).map(|n| (n % 300).to_be_bytes().to_vec()) {
                if !keys.contains(&key) {
                    keys.push(key);
                }
            }
            let values: Vec<_> = keys.iter().map(|_| random.next().unwrap()).collect();
            let values: Vec<_> =
                values.iter().map(|n| (n % 5 > 0).then(|| vec![i as u8; (n % 40) as usize])).collect();
            let entries = keys.iter().zip(&values).map(|(key, value)| (key.as_slice(), value.as_deref()));
            list.writer().insert_all(entries, position);
            model.extend(keys.into_iter().map(|key| (key, Reverse(position))).zip(values));
        }
        assert_eq!(list.len(), model.len());
        let mut cursor = ListCursor::new(list.clone());
        cursor.seek(&[], LogPosition::MAX);
        for ((key, Reverse(position)), value) in &model {
            assert_eq!(cursor.entry(), Some(Entry { key, position: *position, value: value.as_deref() }));
            cursor.next();
        }
        assert_eq!(cursor.entry(), None);
        cursor.seek_before(&[0xff; 9], LogPosition::MAX);
        for ((key, Reverse(position)), value) in model.iter().rev() {
            assert_eq!(cursor.entry(), Some(Entry { key, position: *position, value: value.as_deref() }));
            cursor.previous();
        }
        assert_eq!(cursor.entry(), None);
        for _ in 0..ROUNDS {
            let key = (random.next().unwrap() % 300).to_be_bytes().to_vec();
            let position = at(random.next().unwrap() % ROUNDS as u64);
            let expected = model.range((key.clone(), Reverse(position))..).next();
            let found = list.seek(&key, position);
            assert_eq!(found.map(|e| (e.key, e.position)), expected.map(|((k, p), _)| (k.as_slice(), p.0)));
            for position in [position, LogPosition::MAX] {
                let expected = model.range((key.clone(), Reverse(position))..).next();
                let expected =
                    expected.filter(|((k, _), _)| *k == key).map(|((_, p), v)| (p.0, v.as_deref()));
                assert_eq!(list.version(&key, position).map(|e| (e.position, e.value)), expected);
            }
        }
    }

    /// A reader once met an entry in front of the place it had asked for: one that was inserted between finding the
    /// node in front and following its link.
    #[test]
    fn a_seek_never_ends_in_front_of_its_place() {
        let list = Arc::new(SkipList::new());
        list.writer().insert(b"b", at(1), Some(b""));
        let (count, is_over) = (if cfg!(miri) { 50 } else { 100_000_u64 }, AtomicUsize::new(0));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for i in 0..count {
                    list.writer().insert(&[b"a".as_slice(), &i.to_be_bytes()].concat(), at(2), Some(b""));
                }
                is_over.store(1, Ordering::Release);
            });
            while is_over.load(Ordering::Acquire) == 0 {
                assert_eq!(list.seek(b"b", LogPosition::MAX).unwrap().key, b"b");
            }
        });
    }

    #[test]
    fn a_key_with_many_versions_is_left_in_one_step() {
        let list = Arc::new(SkipList::new());
        for i in 0..200_u64 {
            let key = [b'a' + (numbers(i).next().unwrap() % 5) as u8];
            list.writer().insert(&key, at(i), Some(&i.to_be_bytes()));
        }
        // Not in the order of the log: it is met, in a step of its own.
        list.writer().insert(b"b", at(0), None);
        let mut cursor = ListCursor::new(list);
        for start in [200, 100, 1] {
            cursor.seek(b"a", at(start));
            let mut met = Vec::new();
            while let Some(entry) = cursor.entry() {
                met.push(entry.key[0]);
                cursor.leave_key();
            }
            assert_eq!(met.iter().filter(|k| **k == b'b').count(), 2, "{met:?}");
            met.dedup();
            assert_eq!(met, (met[0]..=b'e').collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_last_of_equal_places_is_met_first() {
        let list = SkipList::new();
        for value in [b"1", b"2", b"3"] {
            list.writer().insert(b"k", at(7), Some(value));
        }
        assert_eq!(list.seek(b"k", at(7)).unwrap().value, Some(b"3".as_slice()));
    }

    #[test]
    fn who_knows_a_position_finds_what_was_inserted_up_to_it() {
        // Two slots for three keys: now known, now searched for.
        let list = SkipList::with_directory(2 * ENTRY_BYTES);
        let (count, visible) = (if cfg!(miri) { 100 } else { 100_000_u64 }, AtomicUsize::new(0));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for i in 1..=count {
                    list.writer().insert(&[(i % 3) as u8], at(i), Some(b""));
                    visible.store(i as usize, Ordering::Release);
                }
            });
            let mut position = 0;
            while position < count {
                position = visible.load(Ordering::Acquire) as u64;
                for expected in position.saturating_sub(2).max(1)..=position {
                    let found = list.version(&[(expected % 3) as u8], at(position));
                    assert_eq!(found.map(|entry| entry.position), Some(at(expected)));
                }
            }
        });
    }

    #[test]
    fn readers_see_an_ordered_list_while_one_writes() {
        let list = Arc::new(SkipList::new());
        let keys = if cfg!(miri) { 100_u64 } else { 20_000 };
        std::thread::scope(|scope| {
            let writing = list.clone();
            scope.spawn(move || {
                for i in 0..keys {
                    let key = i.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes();
                    writing.writer().insert(&key, at(i), Some(&key));
                }
            });
            for forward in [true, false] {
                let list = list.clone();
                scope.spawn(move || {
                    while list.len() < keys as usize {
                        let (before, mut seen) = (list.len(), 0);
                        let mut cursor = ListCursor::new(list.clone());
                        if forward {
                            cursor.seek(&[], at(0))
                        } else {
                            cursor.seek_before(&[0xff; 9], at(0))
                        }
                        let mut last: Option<Vec<u8>> = None;
                        while let Some(entry) = cursor.entry() {
                            assert_eq!(Some(entry.key), entry.value);
                            assert!(last.as_deref().is_none_or(|l| (l < entry.key) == forward));
                            last = Some(entry.key.to_vec());
                            seen += 1;
                            if forward { cursor.next() } else { cursor.previous() }
                        }
                        assert!(seen >= before, "{seen} of {before} met");
                    }
                });
            }
        });
        assert_eq!(list.len(), keys as usize);
    }
}
