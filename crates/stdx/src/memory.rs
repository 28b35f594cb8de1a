//! How much memory each thread has allocated, to bound the memory of a piece of work.
//!
//! 1. count  The program makes [`Counting`] its allocator. Each allocation adds its size to a
//!    number of the thread that makes it, each release subtracts it from that of the thread that
//!    makes it: no atomics, nothing shared.
//! 2. ask    A piece of work on one thread notes [`taken`] when it begins, and compares later.
//! 3. except What outlives the work and has a bound of its own, such as a block of a shared cache,
//!    is left out ([`uncounted`], [`hand_over`]).
//! 4. defer  Work that is given up releases millions of small blocks before anybody hears of it.
//!    After [`defer_releases`] its thread only lists them, and gives them back in
//!    [`release_deferred`]. Large values that were being made, [`Unfinished`], are then not even
//!    walked before that.
//!
//! (M1) Without the allocator all numbers stay 0: a comparison finds that nothing was allocated.
//! (M2) A number may be negative: memory may be released by another thread than the one that took
//!      it.
//! (M3) What is listed is what was taken before, at most: a thread that goes on allocating gives
//!      back at once what goes beyond that.
#![allow(unsafe_code, reason = "an allocator passes its calls on to the system's")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::ops::{Deref, DerefMut};
use std::ptr;

thread_local! {
    static TAKEN: Cell<isize> = const { Cell::new(0) };
    /// The last of the blocks that are listed; null if there is none.
    static DEFERRED: Cell<*mut Released> = const { Cell::new(ptr::null_mut()) };
    /// So many bytes more are listed (M3).
    static DEFERRED_LEFT: Cell<isize> = const { Cell::new(0) };
    /// Values that were given up while releases were deferred.
    static GIVEN_UP: RefCell<Vec<Box<dyn Any>>> = const { RefCell::new(Vec::new()) };
}

/// What stands in a block that was released and not given back yet.
struct Released {
    before: *mut Released,
    layout: Layout,
}

/// The layout that a block gets: each has room for [`Released`].
#[inline]
fn widened(layout: Layout) -> Option<Layout> {
    const OWN: Layout = Layout::new::<Released>();
    let (size, align) = (layout.size(), layout.align());
    let size = if size < OWN.size() { OWN.size() } else { size };
    let align = if align < OWN.align() { OWN.align() } else { align };
    Layout::from_size_align(size, align).ok()
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

/// True if the block was listed, to be given back later.
#[inline]
fn is_deferred(memory: *mut u8, layout: Layout) -> bool {
    let left = DEFERRED_LEFT.try_with(Cell::get).unwrap_or(0);
    left > 0 && defer(memory.cast(), layout, left)
}

#[cold]
fn defer(memory: *mut Released, layout: Layout, left: isize) -> bool {
    DEFERRED_LEFT.set(left - block(layout.size()));
    let released = Released { before: DEFERRED.get(), layout };
    // SAFETY: the block is nobody's any more, and as large and aligned as `widened` says.
    unsafe { memory.write(released) };
    DEFERRED.set(memory);
    true
}

// SAFETY: all calls go to the system's allocator, each with the layout that `widened` makes of the
// caller's, so that a block is given back as it was taken; counting neither allocates nor unwinds.
unsafe impl GlobalAlloc for Counting {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let Some(wide) = widened(layout) else { return ptr::null_mut() };
        // SAFETY: its size is not 0.
        let memory = unsafe { System.alloc(wide) };
        if !memory.is_null() {
            add(block(layout.size()));
        }
        memory
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let Some(wide) = widened(layout) else { return ptr::null_mut() };
        // SAFETY: as above.
        let memory = unsafe { System.alloc_zeroed(wide) };
        if !memory.is_null() {
            add(block(layout.size()));
        }
        memory
    }

    #[inline]
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        add(-block(layout.size()));
        // A block of a layout that can't be widened was never made.
        let wide = widened(layout).unwrap_or(layout);
        if !is_deferred(memory, wide) {
            // SAFETY: `memory` came from the system's allocator, by one of these calls, with this
            // layout.
            unsafe { System.dealloc(memory, wide) };
        }
    }

    #[inline]
    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let wanted = Layout::from_size_align(size, layout.align()).ok().and_then(widened);
        let (Some(wide), Some(wanted)) = (widened(layout), wanted) else { return ptr::null_mut() };
        // SAFETY: as for `dealloc`; the new size is one that a layout of this alignment has.
        let moved = unsafe { System.realloc(memory, wide, wanted.size()) };
        if !moved.is_null() {
            add(block(size).wrapping_sub(block(layout.size())));
        }
        moved
    }
}

/// From now on the calling thread lists what it releases, as much as it has taken by now (M3),
/// until [`release_deferred`]: its work was given up, and nobody is to wait for that.
pub fn defer_releases() {
    if DEFERRED_LEFT.get() == 0 {
        DEFERRED_LEFT.set(TAKEN.get().max(0));
    }
}

/// A large value that is being made, or was made and is not needed any more. Dropped while its
/// thread defers releases, it is kept whole until [`release_deferred`]: walking a tree of millions
/// of nodes takes a while, too.
#[derive(Debug)]
pub struct Unfinished<T: 'static>(Option<T>);

impl<T> Unfinished<T> {
    /// Begins with `value`.
    pub fn new(value: T) -> Unfinished<T> {
        Unfinished(Some(value))
    }

    /// The value, which is made.
    pub fn finish(mut self) -> T {
        self.0.take().expect("it is there until it is finished")
    }
}

impl<T> Deref for Unfinished<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_ref().expect("it is there until it is finished")
    }
}

impl<T> DerefMut for Unfinished<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.0.as_mut().expect("it is there until it is finished")
    }
}

impl<T> Drop for Unfinished<T> {
    fn drop(&mut self) {
        if DEFERRED_LEFT.get() > 0
            && let Some(value) = self.0.take()
        {
            GIVEN_UP.with_borrow_mut(|values| values.push(Box::new(value)));
        }
    }
}

/// What `map` makes of each of `list`, or its first error; what was made by then and what is left
/// is [`Unfinished`].
pub fn try_map<T, U, E>(list: Vec<T>, mut map: impl FnMut(T) -> Result<U, E>) -> Result<Vec<U>, E>
where
    T: 'static,
    U: 'static,
{
    let mut made = Unfinished::new(Vec::with_capacity(list.len()));
    let mut left = Unfinished::new(list.into_iter());
    for value in left.by_ref() {
        made.push(map(value)?);
    }
    Ok(made.finish())
}

/// Gives back what the calling thread has listed since [`defer_releases`], and lists nothing more.
pub fn release_deferred() {
    DEFERRED_LEFT.set(0);
    drop(GIVEN_UP.take());
    let mut next = DEFERRED.replace(ptr::null_mut());
    while !next.is_null() {
        // SAFETY: `defer` wrote it there, into a block that nobody else has.
        let released = unsafe { next.read() };
        // SAFETY: the block came from the system's allocator with this layout.
        unsafe { System.dealloc(next.cast(), released.layout) };
        next = released.before;
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
    fn unfinished_values_are_kept_while_releases_are_deferred() {
        struct Noted(std::rc::Rc<Cell<u32>>);
        impl Drop for Noted {
            fn drop(&mut self) {
                self.0.set(self.0.get() + 1);
            }
        }
        let dropped = std::rc::Rc::new(Cell::new(0));
        let noted = || Noted(dropped.clone());
        drop(Unfinished::new(noted()));
        assert_eq!(dropped.get(), 1);
        let ballast = vec![0_u8; 1 << 16];
        defer_releases();
        let mut list = Unfinished::new(vec![noted()]);
        list.push(noted());
        drop(list);
        drop(Unfinished::new(vec![noted()]).finish());
        assert_eq!(dropped.get(), 2, "the list waits, what was finished does not");
        release_deferred();
        assert_eq!(dropped.get(), 4);
        drop(Unfinished::new(noted()));
        assert_eq!(dropped.get(), 5);
        drop(ballast);
    }

    #[test]
    fn small_blocks_cost_what_the_system_takes_for_them() {
        let before = taken();
        let boxes: [Box<u8>; 4] = std::array::from_fn(|i| Box::new(i as u8));
        assert_eq!(taken() - before, 4 * 32);
        drop(boxes);
    }

    #[test]
    fn what_is_deferred_is_released_once_and_at_most_what_was_taken() {
        let before = taken();
        let texts: Vec<String> = (0..10_000).map(|n| n.to_string()).collect();
        let count = || {
            let mut listed = 0;
            let mut next = DEFERRED.get();
            while !next.is_null() {
                listed += 1;
                // SAFETY: as in `release_deferred`.
                next = unsafe { (*next).before };
            }
            listed
        };
        drop(texts.clone());
        assert_eq!(count(), 0);
        defer_releases();
        drop(texts);
        assert_eq!(taken(), before, "they are counted as released");
        let listed = count();
        assert!((10_001..=10_003).contains(&listed), "{listed}");
        for _ in 0..100 {
            drop(vec![0_u8; 1 << 20]);
        }
        assert!(count() - listed <= 2, "only as much as was taken when it began");
        release_deferred();
        assert_eq!(count(), 0);
        drop(vec![0_u8; 100]);
        assert_eq!(count(), 0);
    }

    #[test]
    fn blocks_of_all_sizes_and_alignments_hold_what_is_written() {
        for align in [1, 2, 8, 16, 64, 4096] {
            for size in [1, 7, 23, 24, 25, 4097] {
                let layout = Layout::from_size_align(size, align).expect("a layout");
                // SAFETY: the layout's size is not 0; the block is written within its size, and
                // given back with the layout that it then has.
                unsafe {
                    let memory = ALLOCATOR.alloc_zeroed(layout);
                    assert_eq!(memory.align_offset(align), 0);
                    memory.write_bytes(7, size);
                    let memory = ALLOCATOR.realloc(memory, layout, size + 100);
                    assert!((0..size).all(|i| *memory.add(i) == 7));
                    defer_releases();
                    let layout = Layout::from_size_align(size + 100, align).expect("a layout");
                    ALLOCATOR.dealloc(memory, layout);
                    release_deferred();
                }
            }
        }
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
