//! How much memory there is, and how the C library's allocator is to behave, which no safe crate
//! offers.
//!
//! It puts small blocks that are freed aside (its *fast bins*) and joins them with their neighbours
//! later, all at once, in the middle of a request, with the arena's lock held. After a transaction
//! of a million rows that takes a tenth of a second, in which other threads of the arena, maybe the
//! log's leader, cannot allocate.
#![allow(unsafe_code, reason = "calls without pointers")]

use std::sync::LazyLock;

/// Bytes of memory that this process may use: the machine's, or what its control group is limited
/// to. Without either it is taken for 4 GiB.
pub fn total() -> u64 {
    static TOTAL: LazyLock<u64> = LazyLock::new(|| {
        const UNKNOWN: u64 = 4 << 30;
        let limits = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
        let limits = limits.iter().filter_map(|file| std::fs::read_to_string(file).ok()?.trim().parse().ok());
        limits.chain(machine()).min().unwrap_or(UNKNOWN)
    });
    *TOTAL
}

/// Bytes of memory that the machine has.
fn machine() -> Option<u64> {
    // SAFETY: the calls take a number and give one.
    let (pages, page) = unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    u64::try_from(pages).ok()?.checked_mul(u64::try_from(page).ok()?).filter(|&bytes| bytes > 0)
}

/// Has freed memory joined with its neighbours at once, each block by the thread that frees it. To
/// be called first, before there are other threads. Does nothing with another allocator than that
/// of the GNU C library.
pub fn join_freed_at_once() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        // SAFETY: the call takes numbers only, and sets a limit that the allocator reads under its
        // own locks.
        let is_set = unsafe { libc::mallopt(libc::M_MXFAST, 0) };
        debug_assert_eq!(is_set, 1, "0 is in the range that is allowed");
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn there_is_memory() {
        assert!((64 << 20..1 << 50).contains(&super::total()), "{}", super::total());
    }
}
