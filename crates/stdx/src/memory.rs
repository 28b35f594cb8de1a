//! How much memory each thread has allocated, to bound the memory of a piece of work.
//!
//! 1. count  The program makes [`Counting`] its allocator. Each allocation adds its size to a
//!    number of the thread that makes it, each release subtracts it from that of the thread that
//!    makes it: no atomics, nothing shared.
//! 2. ask    A piece of work on one thread notes [`taken`] when it begins, and compares later.
//! 3. except What outlives the work and has a bound of its own, such as a block of a shared cache,
//!    is left out ([`uncounted`], [`hand_over`]).
//!
//! (M1) Without the allocator all numbers stay 0: a comparison finds that nothing was allocated.
//! (M2) A number may be negative: memory may be released by another thread than the one that took
//!      it.
#![allow(unsafe_code, reason = "an allocator passes its calls on to the system's")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static TAKEN: Cell<isize> = const { Cell::new(0) };
}

/// The system's allocator, counting what each thread takes.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counting;

/// What the system's allocator takes for a block of `size` bytes: a header, and sizes are multiples
/// of 16.
#[inline]
const fn block(size: usize) -> isize {
    const HEADER: usize = 8;
    const SMALLEST: usize = 32;
    // A layout's size is at most isize::MAX, less than one unit from overflow of usize.
    let size = (size + HEADER + 15) & !15;
    (if size < SMALLEST { SMALLEST } else { size }) as isize
}

#[inline]
fn add(bytes: isize) {
    // Constant and without a destructor, so that it is there for as long as the thread is.
    let _ = TAKEN.try_with(|taken| taken.set(taken.get().wrapping_add(bytes)));
}

// SAFETY: all calls go to the system's allocator as they are; counting neither allocates nor
// unwinds.
unsafe impl GlobalAlloc for Counting {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise about `layout` is the one that the system's allocator asks
        // for.
        let memory = unsafe { System.alloc(layout) };
        if !memory.is_null() {
            add(block(layout.size()));
        }
        memory
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        let memory = unsafe { System.alloc_zeroed(layout) };
        if !memory.is_null() {
            add(block(layout.size()));
        }
        memory
    }

    #[inline]
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: `memory` came from the system's allocator, by one of these calls, with this
        // layout.
        unsafe { System.dealloc(memory, layout) };
        add(-block(layout.size()));
    }

    #[inline]
    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as for `dealloc`, and the caller promises that `size` is one that a layout may
        // have.
        let moved = unsafe { System.realloc(memory, layout, size) };
        if !moved.is_null() {
            add(block(size).wrapping_sub(block(layout.size())));
        }
        moved
    }
}

/// The bytes that the calling thread has taken and not released.
#[inline]
pub fn taken() -> isize {
    TAKEN.get()
}

/// Does what takes memory that is not the calling work's own: what it takes and releases is not
/// counted.
#[inline]
pub fn uncounted<T>(work: impl FnOnce() -> T) -> T {
    let before = TAKEN.get();
    let done = work();
    TAKEN.set(before);
    done
}

/// Says that `bytes` that the calling thread has taken belong to something shared from now on.
pub fn hand_over(bytes: usize) {
    add(-block(bytes));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[global_allocator]
    static ALLOCATOR: Counting = Counting;

    #[test]
    fn what_is_taken_is_counted_until_it_is_released() {
        let before = taken();
        let mut bytes = vec![0_u8; 1 << 20];
        assert!((1 << 20..(1 << 20) + 64).contains(&(taken() - before)));
        bytes.resize(3 << 20, 1);
        assert!(taken() - before >= 3 << 20);
        bytes.truncate(10);
        bytes.shrink_to_fit();
        assert!((10..=64).contains(&(taken() - before)));
        drop(bytes);
        assert_eq!(taken(), before);
    }

    #[test]
    fn small_blocks_cost_what_the_system_takes_for_them() {
        let before = taken();
        let boxes: [Box<u8>; 4] = std::array::from_fn(|i| Box::new(i as u8));
        assert_eq!(taken() - before, 4 * 32);
        drop(boxes);
    }

    #[test]
    fn threads_count_for_themselves() {
        let before = taken();
        let other = std::thread::spawn(|| {
            let before = taken();
            let bytes = vec![0_u8; 1 << 20];
            (taken() - before, bytes)
        });
        let (counted, bytes) = other.join().expect("it ends well");
        assert!(counted >= 1 << 20);
        assert!(taken() - before < 1 << 20, "it was the other one's");
        drop(bytes);
        assert!(taken() - before <= -(1 << 20) + 4096, "this thread released it");
    }

    #[test]
    fn what_is_excepted_is_not_counted() {
        let before = taken();
        let bytes = uncounted(|| vec![0_u8; 1 << 20]);
        assert_eq!(taken(), before);
        uncounted(|| drop(bytes));
        assert_eq!(taken(), before);
        let bytes = vec![0_u8; 1 << 20];
        hand_over(bytes.len());
        assert_eq!(taken(), before);
    }
}
