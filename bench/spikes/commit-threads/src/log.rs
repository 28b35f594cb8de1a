//! The log: one preallocated file, groups, and three ways to flush.

use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::sync::atomic::{AtomicU64, Ordering};

const SIZE: u64 = 256 << 20;

pub enum Flush {
    Fdatasync,
    Direct(Aligned),
    Uring(Box<io_uring::IoUring>),
    None,
}

/// A buffer whose start is aligned for O_DIRECT.
pub struct Aligned(Vec<u8>, usize);

impl Aligned {
    fn new(size: usize) -> Self {
        let buffer = vec![0; size + 4096];
        let skip = buffer.as_ptr().align_offset(4096);
        Self(buffer, skip)
    }
    fn slice(&mut self, n: usize) -> &mut [u8] {
        &mut self.0[self.1..self.1 + n]
    }
}

pub struct Log {
    file: File,
    end: u64,
    flush: Flush,
    buffer: Vec<u8>,
}

pub static FLUSHES: AtomicU64 = AtomicU64::new(0);

impl Log {
    pub fn open(path: &str, flush: &str) -> Self {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(path).unwrap();
        let zeros = vec![0; 1 << 20];
        for at in (0..SIZE).step_by(zeros.len()) {
            file.write_all_at(&zeros, at).unwrap();
        }
        file.sync_all().unwrap();
        let (file, flush) = match flush {
            "fdatasync" => (file, Flush::Fdatasync),
            "none" => (file, Flush::None),
            "uring" => (file, Flush::Uring(Box::new(io_uring::IoUring::new(8).unwrap()))),
            "direct" => {
                let direct =
                    OpenOptions::new().write(true).custom_flags(libc::O_DIRECT | libc::O_DSYNC).open(path);
                (direct.unwrap(), Flush::Direct(Aligned::new(1 << 20)))
            }
            other => panic!("no flush {other}"),
        };
        Self { file, end: 0, flush, buffer: vec![7; 1 << 20] }
    }

    /// Writes and flushes a group of `commits`.
    pub fn write_group(&mut self, commits: usize) {
        let bytes = commits * crate::GROUP_BYTES;
        if self.end + bytes as u64 + 8192 > SIZE {
            self.end = 0;
        }
        match &mut self.flush {
            Flush::None => self.file.write_all_at(&self.buffer[..bytes], self.end).unwrap(),
            Flush::Fdatasync => {
                self.file.write_all_at(&self.buffer[..bytes], self.end).unwrap();
                self.file.sync_data().unwrap();
            }
            Flush::Direct(aligned) => {
                // The block in which the last group ended is written once more.
                let start = self.end & !4095;
                let stop = (self.end + bytes as u64).next_multiple_of(4096);
                self.file.write_all_at(aligned.slice((stop - start) as usize), start).unwrap();
            }
            Flush::Uring(ring) => {
                use io_uring::{opcode, squeue::Flags, types::Fd, types::FsyncFlags};
                let fd = Fd(self.file.as_raw_fd());
                let write =
                    opcode::Write::new(fd, self.buffer.as_ptr(), bytes as u32).offset(self.end).build();
                let sync = opcode::Fsync::new(fd).flags(FsyncFlags::DATASYNC).build();
                // SAFETY: buffer and file outlive the two completions, which are waited for here.
                unsafe {
                    ring.submission().push(&write.flags(Flags::IO_LINK)).unwrap();
                    ring.submission().push(&sync).unwrap();
                }
                ring.submit_and_wait(2).unwrap();
                for done in ring.completion() {
                    assert!(done.result() >= 0, "io_uring: {}", done.result());
                }
            }
        }
        self.end += bytes as u64;
        FLUSHES.fetch_add(1, Ordering::Relaxed);
    }
}
