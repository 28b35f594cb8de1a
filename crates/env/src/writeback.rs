//! Waiting for the system to write part of a file, which no safe crate offers.
#![allow(unsafe_code, reason = "one system call without pointers")]

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// Has these bytes written, and waits for it: neither the file system's journal nor the disk's own
/// cache is waited for.
pub(crate) fn await_written(file: &File, offset: u64, len: u64) -> io::Result<()> {
    const WRITE_AND_WAIT: libc::c_uint =
        libc::SYNC_FILE_RANGE_WAIT_BEFORE | libc::SYNC_FILE_RANGE_WRITE | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    let (offset, len) = (i64::try_from(offset), i64::try_from(len));
    let (Ok(offset), Ok(len)) = (offset, len) else { return Err(io::ErrorKind::InvalidInput.into()) };
    // SAFETY: the call takes numbers only, and the descriptor is open as long as `file` is
    // borrowed.
    let done = unsafe { libc::sync_file_range(file.as_raw_fd(), offset, len, WRITE_AND_WAIT) };
    match done {
        0 => Ok(()),
        _ => match io::Error::last_os_error() {
            // Systems that have no such call write as they like.
            error if error.raw_os_error() == Some(libc::ENOSYS) => Ok(()),
            error => Err(error),
        },
    }
}
