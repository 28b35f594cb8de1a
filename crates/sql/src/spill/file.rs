//! A temporary file: written at its end, read anywhere, gone with its owner.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use env::{File, OpenMode, Rows, Trail};
use storage::Interrupt;

use super::{Budget, Purpose, Spill};
use crate::status::Counter;
use datum::error::{self, Code, Result, SqlError};

/// Bytes in the files of all queries up to which the system writes them when it likes: mostly
/// never. What goes to the disk is paid for twice, when it is written and when its room is given
/// back.
pub(super) const OS_WRITEBACK_MAX: u64 = 64 << 20;
/// `ENOSPC`, where the operating system's number is not known.
const NO_SPACE: i32 = 28;
/// `EIO`, the same.
const IO_ERROR: i32 = 5;

/// A temporary file of an operation.
pub(crate) struct SpillFile {
    shared: Arc<Spill>,
    interrupt: Arc<Interrupt>,
    purpose: Purpose,
    path: PathBuf,
    file: Arc<dyn File>,
    trail: Trail,
    end: u64,
}

/// A block of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SpillBlock {
    offset: u64,
    len: u32,
}

impl SpillFile {
    pub(super) fn new(budget: &Budget) -> Result<Self> {
        let shared = budget.shared.clone();
        let number = shared.next.fetch_add(1, Relaxed);
        let path = shared.folder.join(format!("{number:08}.tmp"));
        let env = &shared.env;
        let made = env
            .create_dir_all(&shared.folder)
            .and_then(|()| env.open(&path, OpenMode::CreateNewRows(Rows::Temporary)));
        let file = made.map_err(|e| failed(error::CANT_CREATE_FILE, &path, &e))?;
        budget.count(Counter::CreatedTmpFiles);
        let interrupt = budget.interrupt.clone();
        Ok(Self { interrupt, purpose: budget.purpose, path, file, trail: Trail::default(), end: 0, shared })
    }

    /// Writes a block.
    ///
    /// # Errors
    /// 1114 if the disk is full and MySQL would have kept the rows in a table, 1026 if it cannot be
    /// written otherwise, 1317 if the statement was killed.
    pub(crate) fn append(&mut self, block: &[u8]) -> Result<SpillBlock> {
        self.check_interrupt()?;
        let len = u32::try_from(block.len()).map_err(|_| error::OUT_OF_SORTMEMORY.plain())?;
        self.write(block).map_err(|e| match e.kind() {
            io::ErrorKind::StorageFull if self.purpose == Purpose::Table => {
                error::RECORD_FILE_FULL.with(&[&self.path.display()])
            }
            _ => failed(error::ERROR_ON_WRITE, &self.path, &e),
        })?;
        let place = SpillBlock { offset: self.end, len };
        self.end += u64::from(len);
        self.shared.on_disk.fetch_add(u64::from(len), Relaxed);
        Ok(place)
    }

    /// The system may keep what will soon be gone; but what is more than little it would hand to
    /// the disk in one flood, in front of the commits' flushes. An error fails the statement, which
    /// does not look at its file again.
    fn write(&mut self, block: &[u8]) -> io::Result<()> {
        if self.shared.on_disk.load(Relaxed) < OS_WRITEBACK_MAX {
            self.file.write_at(block, self.end)
        } else {
            self.trail.write(&*self.file, block, self.end)
        }
    }

    /// Reads a block.
    ///
    /// # Errors
    /// 1024 if it cannot be read, 1317 if the statement was killed.
    pub(crate) fn read(&self, place: SpillBlock, block: &mut Vec<u8>) -> Result<()> {
        self.check_interrupt()?;
        block.resize(place.len as usize, 0);
        let read = self.file.read_exact_at(block, place.offset);
        read.map_err(|e| failed(error::ERROR_ON_READ, &self.path, &e))
    }

    fn check_interrupt(&self) -> Result<()> {
        match self.interrupt.killed_at_work() {
            None => Ok(()),
            Some(_) => Err(error::QUERY_INTERRUPTED.plain()),
        }
    }
}

impl std::fmt::Debug for SpillFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {} bytes", self.path.display(), self.end)
    }
}

impl Drop for SpillFile {
    fn drop(&mut self) {
        self.shared.on_disk.fetch_sub(self.end, Relaxed);
        if let Err(e) = self.shared.env.remove_large_file(&self.path) {
            tracing::warn!(path = %self.path.display(), error = %e, "a temporary file could not be removed");
        }
    }
}

/// An error about a file, in MySQL's words: its path, the system's number and what that means.
fn failed(code: Code, path: &std::path::Path, e: &io::Error) -> SqlError {
    let number = e.raw_os_error().unwrap_or(match e.kind() {
        io::ErrorKind::StorageFull => NO_SPACE,
        _ => IO_ERROR,
    });
    let meaning = io::Error::from_raw_os_error(number).to_string();
    let meaning = meaning.split(" (os error").next().unwrap_or_default();
    code.with(&[&path.display(), &format_args!("{number} - {meaning}")])
}
