//! The most memory that a thread had at once: an allocator that watches the counting one.
#![allow(unsafe_code, reason = "an allocator passes its calls on")]

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;

use stdx::memory::{Counting, taken};

thread_local! {
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

/// [`Counting`], and the highest that it came to.
pub(crate) struct Peaked;

fn note() {
    let _ = PEAK.try_with(|peak| peak.set(peak.get().max(taken())));
}

// SAFETY: all calls go to the counting allocator as they are; noting neither allocates nor unwinds.
unsafe impl GlobalAlloc for Peaked {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise is the one that is asked for.
        let memory = unsafe { Counting.alloc(layout) };
        note();
        memory
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        let memory = unsafe { Counting.alloc_zeroed(layout) };
        note();
        memory
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { Counting.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        let moved = unsafe { Counting.realloc(memory, layout, size) };
        note();
        moved
    }
}

/// What `work` gives, and the most memory that the thread had meanwhile beyond what it had before,
/// in bytes.
pub(crate) fn peak_of<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = taken();
    PEAK.set(before);
    let done = work();
    (done, usize::try_from(PEAK.get() - before).unwrap_or(0))
}
