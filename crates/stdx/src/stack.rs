//! How much stack a thread has left, so that recursive code can stop before it has none.
//!
//! 1. begin  A thread says how large its stack is, once, in its first function ([`begin`]).
//! 2. ask    Recursive code asks at each level whether enough is left ([`is_short`]), and returns
//!    an error if not.
//!
//! The place in the stack is the address of a local variable. What a thread uses above the frame of
//! [`begin`], and the guard page below the stack, are a few KiB; margins have to cover them.
//!
//! (K1) A thread that never said how large its stack is counts as one of 2 MiB, which is what the
//!      standard library gives, from where it asks first.

use std::cell::Cell;

/// What the standard library gives to threads that ask for nothing else, in bytes.
const USUAL: usize = 2 << 20;

#[derive(Clone, Copy)]
struct Bounds {
    /// The highest address; 0 before it is known.
    base: usize,
    /// Bytes from there downwards.
    size: usize,
}

thread_local! {
    static BOUNDS: Cell<Bounds> = const { Cell::new(Bounds { base: 0, size: 0 }) };
}

/// The address of something on the stack.
#[inline(always)]
fn here() -> usize {
    let marker = 0_u8;
    std::ptr::from_ref(std::hint::black_box(&marker)).addr()
}

/// Says that the calling thread has a stack of `size` bytes, of which it has used next to nothing
/// so far.
pub fn begin(size: usize) {
    BOUNDS.set(Bounds { base: here(), size });
}

/// The stack of the calling thread: bytes used, and its size.
#[inline]
pub fn used() -> (usize, usize) {
    let here = here();
    let mut bounds = BOUNDS.get();
    if bounds.base == 0 {
        bounds = Bounds { base: here, size: USUAL };
        BOUNDS.set(bounds);
    }
    (bounds.base.saturating_sub(here), bounds.size)
}

/// True if fewer than `margin` bytes are left.
#[inline]
pub fn is_short(margin: usize) -> bool {
    let (used, size) = used();
    used.saturating_add(margin) > size
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Recurses until the stack is short; how deep that was.
    fn descend(margin: usize, depth: u32) -> u32 {
        let filling = std::hint::black_box([0_u8; 1024]);
        if is_short(margin) {
            return depth;
        }
        descend(margin, depth + 1) + u32::from(filling[0])
    }

    fn on_a_stack_of(size: usize, margin: usize) -> u32 {
        let run = move || {
            begin(size);
            descend(margin, 0)
        };
        let thread = std::thread::Builder::new().stack_size(size).spawn(run);
        thread.ok().and_then(|thread| thread.join().ok()).expect("the thread ends well")
    }

    #[test]
    fn recursion_ends_before_the_stack_does() {
        let small = on_a_stack_of(256 << 10, 32 << 10);
        let large = on_a_stack_of(4 << 20, 32 << 10);
        assert!(small > 50 && large > 10 * small, "{small} {large}");
    }

    #[test]
    fn a_larger_margin_ends_it_earlier() {
        assert!(on_a_stack_of(1 << 20, 512 << 10) < on_a_stack_of(1 << 20, 64 << 10));
    }

    #[test]
    fn a_thread_that_said_nothing_has_the_usual_stack() {
        let depth = std::thread::spawn(|| descend(64 << 10, 0)).join();
        assert!(depth.is_ok_and(|depth| depth > 100));
    }
}
