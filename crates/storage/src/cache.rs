//! Blocks of tables in memory, bounded by bytes.
//!
//! Data blocks, filters and indexes share one cache, so that its size bounds all of them; what is
//! asked for often stays. Blocks of a removed file are never asked for again and age out.

use crate::sstable::block::Block;
use hashbrown::DefaultHashBuilder;
use quick_cache::Weighter;
use quick_cache::sync::{Cache, DefaultLifecycle};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A file's number, and where in the file the block starts.
type Key = (u64, u64);

/// A cached part of a table.
#[derive(Clone)]
pub(crate) enum Cached {
    /// Entries: a data block or the index.
    Block(Block),
    Filter(Arc<[u8]>),
}

/// What the cache stores in addition to the block itself: key, links, the `Arc`'s counters. In
/// bytes.
const OVERHEAD: u64 = 100;

#[derive(Clone)]
struct Size;

impl Weighter<Key, Cached> for Size {
    fn weight(&self, _: &Key, cached: &Cached) -> u64 {
        let bytes = match cached {
            Cached::Block(block) => block.bytes(),
            Cached::Filter(bytes) => bytes,
        };
        bytes.len() as u64 + OVERHEAD
    }
}

/// The block cache. Shared by all threads; a hit takes a shared latch of one shard.
pub(crate) struct BlockCache {
    cache: Cache<Key, Cached, Size, DefaultHashBuilder>,
    hits: AtomicU64,
    misses: AtomicU64,
}

impl BlockCache {
    /// A cache of at most `capacity` bytes.
    pub(crate) fn new(capacity: usize) -> BlockCache {
        // Only a first guess: more would cost memory at once, and time at each start.
        let blocks = (capacity / (8 << 10)).clamp(16, 1024);
        let (hasher, lifecycle) = (DefaultHashBuilder::default(), DefaultLifecycle::default());
        let cache = Cache::with(blocks, capacity as u64, Size, hasher, lifecycle);
        BlockCache { cache, hits: AtomicU64::new(0), misses: AtomicU64::new(0) }
    }

    pub(crate) fn get(&self, number: u64, offset: u64) -> Option<Cached> {
        let found = self.cache.get(&(number, offset));
        let counter = if found.is_some() { &self.hits } else { &self.misses };
        counter.fetch_add(1, Relaxed);
        found
    }

    pub(crate) fn insert(&self, number: u64, offset: u64, cached: Cached) {
        // What a statement reads is the cache's from here on, and so is what goes for it.
        stdx::memory::hand_over(Size.weight(&(number, offset), &cached) as usize);
        stdx::memory::uncounted(|| self.cache.insert((number, offset), cached));
    }

    /// Bytes held, hits, misses.
    pub(crate) fn usage(&self) -> (u64, u64, u64) {
        (self.cache.weight(), self.hits.load(Relaxed), self.misses.load(Relaxed))
    }
}
