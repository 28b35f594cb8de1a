//! How much memory there is, and how the C library's allocator is to behave, which no safe crate
//! offers.
//!
//! It puts small blocks that are freed aside (its *fast bins*) and joins them with their neighbours
//! later, all at once, in the middle of a request, with the arena's lock held. After a transaction
//! of a million rows that takes a tenth of a second, in which other threads of the arena, maybe the
//! log's leader, cannot allocate.
//!
//! It also keeps what is freed: blocks of up to 32 MiB once one of that size was freed, and
//! millions of small ones in front of one that stays. Each of its arenas then stays as large as it
//! ever was, so that a few clients with texts of 30 MB grew the server by gigabytes that nothing
//! used.
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

/// Has freed memory joined with its neighbors at once, each block by the thread that frees it, and
/// blocks of 4 MiB and more mapped one by one, which are the system's again when they are freed. To
/// be called first, before there are other threads. Does nothing with another allocator than that
/// of the GNU C library.
pub fn configure_allocator() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    for (setting, value) in [
        (libc::M_MXFAST, 0),
        (libc::M_MMAP_THRESHOLD, 4 << 20),
        // Setting the other one fixed this at 128 KiB: each transaction would give back, and ask
        // again for, what it used.
        (libc::M_TRIM_THRESHOLD, 32 << 20),
    ] {
        // SAFETY: the call takes numbers only, and sets a limit that the allocator reads under its
        // own locks.
        let is_set = unsafe { libc::mallopt(setting, value) };
        debug_assert_eq!(is_set, 1, "{value} is in the range that is allowed");
    }
}

/// Gives all free pages back to the system. That walks over the free blocks of all arenas, each
/// under its lock: milliseconds for a gigabyte, so it is for the end of work that took at least as
/// long. Does nothing with another allocator than that of the GNU C library.
pub fn release_free_pages() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        // SAFETY: the call takes a number, and touches free memory only, under the allocator's
        // locks.
        unsafe { libc::malloc_trim(0) };
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn there_is_memory() {
        assert!((64 << 20..1 << 50).contains(&super::total()), "{}", super::total());
    }
}
