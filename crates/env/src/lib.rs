//! The only door to files, directories, clock and randomness.
//!
//! Everything above asks an [`Env`], so that one run meets the real machine ([`RealEnv`]) and the
//! next one a simulated disk that loses power, tears writes, fails flushes and fills up
//! ([`SimEnv`]), with a seed that repeats it.
//!
//! Reading order: this file (the contract), [`real`], [`sim`], [`encryption`] between the two and
//! who uses them; [`trail`] is for writing much in the background, [`memory`] for the program's
//! first line, [`processor`] for threads that hand work to each other, [`INVARIANTS`] and
//! [`rarely`] for builds that check what they claim.
//!
//! What callers may rely on, and what they must not:
//!
//! (E1) Written bytes are readable at once through any handle, and lost by a power cut until
//!      [`File::sync_data`] or [`File::sync_all`] of that file returned `Ok`.
//! (E2) A file's length is durable after `sync_data` too (as `fdatasync` promises where the length
//!      is needed to read the data). Its *name* is not: a creation, rename or removal is durable
//!      after [`Env::sync_dir`] of the folder.
//! (E3) An unflushed write may survive wholly, in part (any subset of its 512-byte sectors) or not
//!      at all, in any order with others.
//! (E4) After a failed sync nothing is known of the unflushed writes, and a later sync that returns
//!      `Ok` does not make them durable. Callers latch. The failure is reported once through each
//!      handle that was open before it: of several concurrent syncs through one handle any one
//!      returns it, the others return `Ok`.
//! (E5) A rename replaces its target atomically: after a power cut either the old or the new file
//!      has the name.

#![warn(clippy::missing_errors_doc)]

mod clock;
pub mod encryption;
mod lease;
pub mod memory;
pub mod processor;
mod rare;
mod real;
mod sim;
mod trail;
mod writeback;

pub use encryption::Rows;
pub use rare::{INVARIANTS, rarely};
pub use real::RealEnv;
pub use sim::{Fault, SimEnv};
pub use trail::{PIECE, Trail};

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// How to open a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenMode {
    /// The file must exist; writing to it fails.
    Read,
    /// The file must exist; read and write.
    ReadWrite,
    /// Made if missing, never truncated; read and write.
    Create,
    /// Must not exist yet; read and write.
    CreateNew,
    /// As [`OpenMode::CreateNew`], and from its first moment on only the owner may open it (mode
    /// 0600): for private keys.
    CreateNewPrivate,
    /// As [`OpenMode::CreateNew`], for a file that holds rows: it is encrypted if the environment
    /// encrypts these ([`Env::encrypts`]).
    CreateNewRows(Rows),
}

/// Whose processor time is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// All threads of the process.
    Process,
    /// The calling thread.
    Thread,
}

/// Bytes of a large file that are given back to the file system at once.
pub(crate) const FREED_AT_ONCE: u64 = 4 << 20;

/// Microseconds since 1970-01-01 00:00:00 UTC.
pub type UnixMicros = u64;

/// Files, directories, clock and randomness. Shared by all threads.
pub trait Env: Send + Sync + 'static {
    /// Opens a file.
    ///
    /// # Errors
    /// The operating system's: `NotFound`, `AlreadyExists` for the two modes that create, and
    /// others. `InvalidInput` for a pipe that is to be read.
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>>;
    /// Makes a directory and those above it; no error if it is there.
    ///
    /// # Errors
    /// The operating system's.
    fn create_dir_all(&self, path: &Path) -> io::Result<()>;
    /// Renames a file, replacing the target if there is one (E5).
    ///
    /// # Errors
    /// The operating system's.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file's name; handles that are open stay usable.
    ///
    /// # Errors
    /// The operating system's: `NotFound`, and others.
    fn remove_file(&self, path: &Path) -> io::Result<()>;
    /// Removes a folder, which must be empty.
    ///
    /// # Errors
    /// The operating system's: also if the folder is not empty.
    fn remove_dir(&self, path: &Path) -> io::Result<()>;
    /// Full paths of the files and folders directly inside a folder, sorted.
    ///
    /// # Errors
    /// The operating system's: also if `path` is no folder.
    fn read_dir(&self, path: &Path) -> io::Result<Vec<PathBuf>>;
    /// True if a file or folder has this name.
    fn exists(&self, path: &Path) -> bool;
    /// Makes creations, renames and removals inside this folder durable (E2).
    ///
    /// # Errors
    /// The operating system's: what was to become durable may be lost then.
    fn sync_dir(&self, path: &Path) -> io::Result<()>;
    /// Takes an advisory lock on the file `path` (made if missing) and on the folder that it is in,
    /// against other processes and other callers, held until the guard is dropped. `WouldBlock` if
    /// another holds either. If the file is removed meanwhile the folder stays locked; but a folder
    /// of which the system takes no locks (NFS) is not locked.
    ///
    /// # Errors
    /// `WouldBlock` if another holds the file or the folder; others are the operating system's.
    fn lock_file(&self, path: &Path) -> io::Result<Box<dyn Send + Sync>>;
    /// As [`Env::lock_file`], of the file alone: who has it may yet lock the folder.
    ///
    /// # Errors
    /// Those of [`Env::lock_file`].
    fn lock_file_alone(&self, path: &Path) -> io::Result<Box<dyn Send + Sync>> {
        self.lock_file(path)
    }

    /// The wall clock.
    fn now(&self) -> UnixMicros;
    /// A clock that never goes back; its zero is arbitrary.
    fn monotonic(&self) -> Duration;
    /// The same clock as of the system's last tick, some milliseconds ago at most: it costs a
    /// fraction, and suffices for times in seconds.
    fn monotonic_coarse(&self) -> Duration;
    /// The processor's time that this process, or the calling thread, took so far.
    fn processor_time(&self, of: Whose) -> Duration;
    /// Fills `out` with random bytes: from the operating system's secure source on the real side,
    /// from the seed on the simulated one.
    fn random(&self, out: &mut [u8]);
    /// True if new files with these rows are encrypted.
    fn encrypts(&self, rows: Rows) -> bool {
        let _ = rows;
        false
    }
    /// Has new files with these rows encrypted, or not; what is there stays as it is. False if
    /// there are no keys to do so.
    fn set_encrypts(&self, rows: Rows, encrypts: bool) -> bool {
        let _ = rows;
        !encrypts
    }
    /// Which master key unlocks the file; `None` if it is not encrypted.
    ///
    /// # Errors
    /// Those of [`Env::open`].
    fn master_key_of(&self, path: &Path) -> io::Result<Option<encryption::KeyId>> {
        self.open(path, OpenMode::Read).map(|_| None)
    }
    /// Has a new master key wrap the keys of all files in `folders` that hold `rows`, and of those
    /// that are made from now on ([`encryption`] has the steps); folders in them are not looked at.
    ///
    /// # Errors
    /// `Unsupported` without a key file; those of reading and replacing the key file, when nothing
    /// is changed; those of the files, when some have the new key and all are readable.
    fn rotate_master_key(&self, rows: Rows, folders: &[&Path]) -> io::Result<encryption::Rotated> {
        let _ = (rows, folders);
        Err(io::ErrorKind::Unsupported.into())
    }
    /// Answers for [`rarely`], which is what to call. Always false, unless rare paths are enabled.
    fn takes_rare_path(&self, one_in: u64) -> bool {
        let _ = one_in;
        false
    }

    /// Reads a whole file that is known to be small.
    ///
    /// # Errors
    /// Those of opening and reading; `UnexpectedEof` if the file becomes shorter meanwhile.
    fn read_file(&self, path: &Path) -> io::Result<Vec<u8>> {
        let file = self.open(path, OpenMode::Read)?;
        let mut content = vec![0; usize::try_from(file.len()?).map_err(io::Error::other)?];
        file.read_exact_at(&mut content, 0)?;
        Ok(content)
    }

    /// Removes a file that may be large and that nothing reads, no backup program either: it
    /// frees its blocks in pieces, and readers that have it open find it cut. Some file systems
    /// discard freed blocks on the disk (TRIM), which takes half a millisecond a megabyte and
    /// delays all flushes. A power cut in between leaves the file under its name, but shorter.
    ///
    /// # Errors
    /// Those of [`Env::remove_file`].
    fn remove_large_file(&self, path: &Path) -> io::Result<()> {
        // For others' sake only: whatever fails here, the name goes.
        if let Ok(file) = self.open(path, OpenMode::ReadWrite)
            && let Ok(len) = file.len()
        {
            let _ = cuts(len).try_for_each(|end| file.set_len(end));
        }
        self.remove_file(path)
    }

    /// Removes a file that may be large and that others may have open, or under another name: they
    /// keep it whole. If there are none, its blocks are freed in pieces, as
    /// [`Env::remove_large_file`] does, but after its name is removed.
    ///
    /// # Errors
    /// Those of [`Env::remove_file`].
    fn remove_file_of_others(&self, path: &Path) -> io::Result<()> {
        self.remove_file(path)
    }

    /// Removes a folder with all that is in it.
    ///
    /// # Errors
    /// The operating system's, at the first one: what was removed by then is gone.
    fn remove_tree(&self, path: &Path) -> io::Result<()> {
        for inner in self.read_dir(path)? {
            match self.read_dir(&inner) {
                Ok(_) => self.remove_tree(&inner)?,
                Err(_) => self.remove_file(&inner)?,
            }
        }
        self.remove_dir(path)
    }

    /// Replaces a small file's content so that a power cut leaves the old or the new content, and
    /// the new one once this returned `Ok`: temporary file written, flushed, renamed, folder
    /// flushed.
    ///
    /// # Errors
    /// Those of each step. The file has its old content if its temporary one could not be renamed,
    /// and either after that.
    fn replace_file(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        replace_file(self, path, content, OpenMode::CreateNew)
    }

    /// As [`Env::replace_file`], and only the owner may open the file: for private keys.
    ///
    /// # Errors
    /// Those of [`Env::replace_file`].
    fn replace_private_file(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        replace_file(self, path, content, OpenMode::CreateNewPrivate)
    }
}

/// The lengths to which a file of `len` bytes is cut on its way to nothing.
fn cuts(len: u64) -> impl Iterator<Item = u64> {
    (1..len.div_ceil(FREED_AT_ONCE)).rev().map(|pieces| pieces * FREED_AT_ONCE)
}

fn replace_file<E: Env + ?Sized>(env: &E, path: &Path, content: &[u8], mode: OpenMode) -> io::Result<()> {
    let temporary = path.with_extension("tmp");
    if env.exists(&temporary) {
        env.remove_file(&temporary)?;
    }
    let file = env.open(&temporary, mode)?;
    file.write_at(content, 0)?;
    file.sync_all()?;
    env.rename(&temporary, path)?;
    env.sync_dir(path.parent().unwrap_or(Path::new(".")))
}

/// An open file; positions are given with each call, so that one handle serves many threads.
pub trait File: Send + Sync {
    /// Reads up to `buf.len()` bytes at `offset`; fewer only at the end of the file.
    ///
    /// # Errors
    /// The operating system's, or the disk's.
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize>;
    /// Writes all of `bytes` at `offset`, extending the file where needed.
    ///
    /// # Errors
    /// The operating system's: some of the bytes may be written then.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;
    /// Makes content and length durable (`fdatasync`).
    ///
    /// # Errors
    /// The disk's: nothing is known of the unflushed writes then (E4).
    fn sync_data(&self) -> io::Result<()>;
    /// Makes content, length and all other attributes durable (`fsync`).
    ///
    /// # Errors
    /// The disk's: nothing is known of the unflushed writes then (E4).
    fn sync_all(&self) -> io::Result<()>;
    /// Asks the system to begin writing these bytes to the disk, and does not wait: a hint, which
    /// keeps a later flush short and the disk free of bursts, and promises nothing (E1).
    fn begin_writing(&self, offset: u64, len: u64) {
        let _ = (offset, len);
    }
    /// Waits until these bytes are written to the disk, maybe to its cache only: a later flush has
    /// less to wait for. Promises nothing about a power cut (E1). An error reported here is not
    /// reported again by a sync through this handle (E4).
    ///
    /// # Errors
    /// The disk's, of writes through any handle; it is reported once (E4).
    fn await_written(&self, offset: u64, len: u64) -> io::Result<()>;
    /// The length in bytes.
    ///
    /// # Errors
    /// The operating system's.
    fn len(&self) -> io::Result<u64>;
    /// Cuts the file, or extends it with zeros.
    ///
    /// # Errors
    /// The operating system's.
    fn set_len(&self, len: u64) -> io::Result<()>;

    /// True if what is written here is encrypted on the disk.
    fn is_encrypted(&self) -> bool {
        false
    }

    /// True if the file holds no byte.
    ///
    /// # Errors
    /// Those of [`File::len`].
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Reads exactly `buf.len()` bytes at `offset`, or fails with `UnexpectedEof`.
    ///
    /// # Errors
    /// `UnexpectedEof` if the file ends before; those of [`File::read_at`].
    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        if self.read_at(buf, offset)? == buf.len() {
            Ok(())
        } else {
            Err(io::ErrorKind::UnexpectedEof.into())
        }
    }
}
