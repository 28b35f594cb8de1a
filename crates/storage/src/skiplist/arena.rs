//! Where nodes are made.

use super::HEIGHT_MAX;
use super::node::{ALIGN, DELETED, HEADER, KEY_LEN_MASK, Node, OLDER};
use binlog::LogPosition;
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A tower grows with a chance of one in four: 12 levels serve 16 million nodes.
const GROW_MASK: u32 = 3;
/// Memory is taken in chunks that double.
const CHUNK_MIN: usize = 16 << 10;
const CHUNK_MAX: usize = 1 << 20;

/// Where nodes are made; belongs to the writer.
pub(super) struct Arena {
    chunks: Vec<(NonNull<u8>, Layout)>,
    free: *mut u8,
    left: usize,
    random: u32,
    /// The nodes before the place of the last insertion that was searched for, per level: the
    /// next one is often right after it.
    pub(super) before: [Node; HEIGHT_MAX],
}

// SAFETY: the raw pointers lead into chunks that the arena itself owns.
unsafe impl Send for Arena {}

/// What a new node links to.
pub(super) struct NodeLinks {
    /// Levels of the list that the node is in.
    pub(super) height: usize,
    /// The node of the key's oldest version, if this is a newer one.
    pub(super) oldest: Option<Node>,
}

impl Arena {
    /// One that has made a list's head.
    pub(super) fn new(bytes: &AtomicUsize) -> (Arena, Node) {
        let before = [Node::NONE; HEIGHT_MAX];
        let mut arena = Arena { chunks: Vec::new(), free: null_mut(), left: 0, random: 0x9e37_79b9, before };
        let head =
            arena.node(NodeLinks { height: HEIGHT_MAX, oldest: None }, &[], LogPosition::ZERO, None, bytes);
        arena.before = [head; HEIGHT_MAX];
        (arena, head)
    }

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
        // SAFETY: `size <= left`, so the result is inside or just after the chunk.
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
    pub(super) fn node(
        &mut self,
        NodeLinks { height, oldest }: NodeLinks,
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
        // SAFETY: the allocation is fresh, aligned and as long as the sum of the parts written
        // here.
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

    pub(super) fn random_height(&mut self) -> usize {
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
