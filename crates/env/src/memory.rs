//! How the C library's allocator is to behave, which no safe crate offers.
//!
//! It puts small blocks that are freed aside (its *fast bins*) and joins them with their neighbours later, all at once, in the
//! middle of somebody's request, with the lock of that part of memory held. After a transaction of a million rows that takes a
//! tenth of a second, in which whoever shares that part, maybe the log's leader, cannot allocate.
#![allow(unsafe_code, reason = "one call without pointers")]

/// Has freed memory joined with its neighbours at once, each block by whoever frees it. To be called first, before there are
/// other threads. Does nothing with another allocator than that of the GNU C library.
pub fn join_freed_at_once() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        // SAFETY: the call takes numbers only, and sets a limit that the allocator reads under its own locks.
        let is_set = unsafe { libc::mallopt(libc::M_MXFAST, 0) };
        debug_assert_eq!(is_set, 1, "0 is in the range that is allowed");
    }
}
