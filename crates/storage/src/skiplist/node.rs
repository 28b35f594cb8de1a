//! A node's bytes, in the layout that `skiplist.rs` describes, and what is read from them.

use crate::entry::{Entry, order};
use binlog::LogPosition;
use std::cmp::Ordering::Less;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

pub(super) const HEADER: usize = 24;
pub(super) const ALIGN: usize = 8;
/// Stands for a value's length where the key was deleted.
pub(super) const DELETED: u32 = u32::MAX;
pub(super) const KEY_LEN_MASK: u32 = (1 << 24) - 1;
/// Says that a node has a link to its key's oldest version.
pub(super) const OLDER: u32 = 1 << 31;
/// Cache lines of a node that a walk fetches ahead.
const PREFETCH_LINES: usize = 3;
/// As many hold the header and the beginning of the key.
pub(super) const SEARCH_LINES: usize = 2;

/// A node's address. Copies of it are what links hold; null stands for "none".
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Node(pub(super) *mut u8);

impl Node {
    pub(super) const NONE: Node = Node(null_mut());

    pub(super) fn is_none(self) -> bool {
        self.0.is_null()
    }

    /// # Safety
    /// `self` is a node of a living list, and `level` is below its height.
    pub(super) unsafe fn link<'a>(self, level: usize) -> &'a AtomicPtr<u8> {
        // SAFETY: the tower starts after the header and holds `height` aligned pointers that are
        // only ever accessed as atomics once the node is linked.
        unsafe { &*self.0.add(HEADER + level * ALIGN).cast::<AtomicPtr<u8>>() }
    }

    /// # Safety
    /// `self` is a node of a living list.
    pub(super) unsafe fn link_back<'a>(self) -> &'a AtomicPtr<u8> {
        // SAFETY: as in `link`; the field lies at its fixed, aligned place.
        unsafe { &*self.0.add(8).cast::<AtomicPtr<u8>>() }
    }

    /// # Safety
    /// As [`Self::link`].
    pub(super) unsafe fn next(self, level: usize) -> Node {
        // SAFETY: passed on to the caller. `Acquire` pairs with the `Release` of `Writer::insert`
        // (S1).
        Node(unsafe { self.link(level) }.load(Ordering::Acquire))
    }

    /// # Safety
    /// `self` is a node of a living list.
    pub(super) unsafe fn height(self) -> usize {
        // SAFETY: the header was written before the node was linked (S1) and never changes (S2).
        unsafe { height_in(self.0.add(16).cast::<u32>().read()) }
    }

    /// The oldest version of its key, if that is not itself (S5).
    ///
    /// # Safety
    /// As [`Self::entry`].
    pub(super) unsafe fn oldest(self) -> Option<Node> {
        // SAFETY: the header and this link were written before the node was linked (S1) and never
        // change; the link lies after the tower where the header says that there is one.
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
    pub(super) unsafe fn entry<'a>(self, stamped: LogPosition) -> Entry<'a> {
        // SAFETY: the header was written before the node was linked (S1) and never changes (S2);
        // key and value lie where the header says, inside the node's allocation.
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

    /// Asks the processor to fetch the node's header, key and the value's beginning: a walk's next
    /// node is known while the present one is still looked at, and a miss of the cache costs more
    /// than everything else in a step.
    pub(super) fn prefetch(self) {
        self.prefetch_lines(PREFETCH_LINES);
    }

    #[allow(unused_variables, reason = "other processors fetch for themselves")]
    pub(super) fn prefetch_lines(self, lines: usize) {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        for line in 0..lines {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            // SAFETY: a prefetch reads nothing, whatever the address; `wrapping_add` makes no
            // promise about it either.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(self.0.wrapping_add(line * 64).cast()) };
        }
    }

    /// Asks the processor to fetch what a search compares: while the last node of one level is
    /// still looked at, the first one of the level below is on its way.
    ///
    /// # Safety
    /// As [`Self::link`].
    pub(super) unsafe fn prefetch_below(self, level: usize) {
        if level > 0 {
            // SAFETY: passed on to the caller. Nothing is read through the link, so that its order
            // does not matter.
            Node(unsafe { self.link(level - 1) }.load(Ordering::Relaxed)).prefetch_lines(SEARCH_LINES);
        }
    }

    /// # Safety
    /// As [`Self::entry`].
    pub(super) unsafe fn is_before(self, key: &[u8], position: LogPosition, stamped: LogPosition) -> bool {
        // SAFETY: passed on to the caller.
        let entry = unsafe { self.entry(stamped) };
        order(entry.key, entry.position, key, position) == Less
    }
}

/// The height of a tower, from the lengths in its node's header.
pub(super) fn height_in(lengths: u32) -> usize {
    ((lengths & !OLDER) >> 24) as usize
}
