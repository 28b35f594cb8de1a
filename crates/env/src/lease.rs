//! Whether a file is open elsewhere.
#![allow(unsafe_code, reason = "one call without pointers")]

use std::fs::File;
use std::os::fd::AsRawFd;

/// True if no other descriptor of this file is open, in this program or another, as the system says
/// by granting a write lease (`fcntl(2)`), which is given back at once: who opens the file while it
/// is held gets this program a signal that would end it. False where there are no leases.
pub(crate) fn has_no_other_reader(file: &File) -> bool {
    let is_granted = set(file, libc::F_WRLCK);
    if is_granted {
        set(file, libc::F_UNLCK);
    }
    is_granted
}

fn set(file: &File, lease: libc::c_int) -> bool {
    // SAFETY: the call takes numbers only, and the descriptor is open as long as the file is
    // borrowed.
    unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, lease) == 0 }
}
