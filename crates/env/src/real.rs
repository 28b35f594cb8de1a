//! The real machine.
#![allow(clippy::disallowed_methods, reason = "this module is what the ban points to")]

use crate::{Env, File, OpenMode, UnixMicros, Whose, clock, cuts, lease, rare};
use rustix::time::{ClockId, clock_gettime};
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, FileExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Files are for their owner to write and for the group to read, whatever more the umask would let
/// others do.
const FILE_MODE: u32 = 0o640;
/// The same of folders.
const FOLDER_MODE: u32 = 0o750;

/// The machine this process runs on.
#[derive(Debug, Default, Clone, Copy)]
pub struct RealEnv;

impl Env for RealEnv {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        let mut options = fs::OpenOptions::new();
        options.read(true).mode(FILE_MODE);
        match mode {
            // Opening a pipe would wait for one that writes to it.
            OpenMode::Read => options.custom_flags(libc::O_NONBLOCK),
            OpenMode::ReadWrite => options.write(true),
            OpenMode::Create => options.write(true).create(true),
            OpenMode::CreateNew | OpenMode::CreateNewRows(_) => options.write(true).create_new(true),
            OpenMode::CreateNewPrivate => options.write(true).create_new(true).mode(0o600),
        };
        let file = options.open(path)?;
        if mode == OpenMode::Read && file.metadata()?.file_type().is_fifo() {
            return Err(io::Error::new(ErrorKind::InvalidInput, "it is a pipe (FIFO), and no file"));
        }
        Ok(Arc::new(RealFile(file)))
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        fs::DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn remove_file_of_others(&self, path: &Path) -> io::Result<()> {
        // For others' sake only: whatever fails about it, the name goes.
        let file = fs::OpenOptions::new().write(true).custom_flags(libc::O_NONBLOCK).open(path);
        fs::remove_file(path)?;
        if let Ok(file) = file
            && let Ok(what) = file.metadata()
            && what.nlink() == 0
            && lease::has_no_other_reader(&file)
        {
            let _ = cuts(what.len()).try_for_each(|end| file.set_len(end));
        }
        Ok(())
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir(path)
    }

    fn read_dir(&self, path: &Path) -> io::Result<Vec<PathBuf>> {
        let mut found = fs::read_dir(path)?.map(|e| e.map(|e| e.path())).collect::<io::Result<Vec<_>>>()?;
        found.sort();
        Ok(found)
    }

    fn exists(&self, path: &Path) -> bool {
        path.exists()
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        fs::File::open(path)?.sync_all()
    }

    fn lock_file(&self, path: &Path) -> io::Result<Box<dyn Send + Sync>> {
        let file = self.lock_file_alone(path)?;
        Ok(Box::new((file, lock_folder(path)?)))
    }

    fn lock_file_alone(&self, path: &Path) -> io::Result<Box<dyn Send + Sync>> {
        let file = fs::OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(FILE_MODE)
            .open(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Box::new(file)),
            Err(fs::TryLockError::WouldBlock) => Err(ErrorKind::WouldBlock.into()),
            Err(fs::TryLockError::Error(e)) => Err(e),
        }
    }

    fn now(&self) -> UnixMicros {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
    }

    fn monotonic(&self) -> Duration {
        clock::precise()
    }

    fn monotonic_coarse(&self) -> Duration {
        clock::coarse()
    }

    fn processor_time(&self, of: Whose) -> Duration {
        let time = clock_gettime(match of {
            Whose::Process => ClockId::ProcessCPUTime,
            Whose::Thread => ClockId::ThreadCPUTime,
        });
        Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
    }

    fn random(&self, out: &mut [u8]) {
        getrandom::fill(out).expect("the operating system's random source works once the machine has booted");
    }

    fn takes_rare_path(&self, one_in: u64) -> bool {
        rare::real(one_in)
    }
}

/// Locks the folder that a file is in; `None` if the system can't.
fn lock_folder(path: &Path) -> io::Result<Option<fs::File>> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let Ok(folder) = fs::File::open(folder) else { return Ok(None) };
    match folder.try_lock() {
        Ok(()) => Ok(Some(folder)),
        Err(fs::TryLockError::WouldBlock) => Err(ErrorKind::WouldBlock.into()),
        Err(fs::TryLockError::Error(_)) => Ok(None),
    }
}

struct RealFile(fs::File);

impl File for RealFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut done = 0;
        while done < buf.len() {
            match self.0.read_at(&mut buf[done..], offset + done as u64) {
                Ok(0) => break,
                Ok(n) => done += n,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(done)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.0.write_all_at(bytes, offset)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn sync_all(&self) -> io::Result<()> {
        self.0.sync_all()
    }

    fn begin_writing(&self, offset: u64, len: u64) {
        // Dirty pages are queued for writing; those that are clean already leave memory, as who
        // asked for it wants: the system's copy is not what is read next.
        let len = std::num::NonZeroU64::new(len);
        let _ = rustix::fs::fadvise(&self.0, offset, len, rustix::fs::Advice::DontNeed);
    }

    fn await_written(&self, offset: u64, len: u64) -> io::Result<()> {
        crate::writeback::await_written(&self.0, offset, len)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::FREED_AT_ONCE;
    use std::io::Read;

    const LEN: usize = 2 * FREED_AT_ONCE as usize + 5;

    fn large_file() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("large");
        fs::write(&path, vec![7; LEN]).unwrap();
        (dir, path)
    }

    #[test]
    fn who_has_a_removed_file_open_keeps_it_whole() {
        let (_dir, path) = large_file();
        let mut reader = fs::File::open(&path).unwrap();
        RealEnv.remove_file_of_others(&path).unwrap();
        assert!(!path.exists());
        let mut read = Vec::new();
        reader.read_to_end(&mut read).unwrap();
        assert!(read.len() == LEN && read.iter().all(|byte| *byte == 7));
    }

    #[test]
    fn a_removed_file_is_whole_under_its_other_name() {
        let (dir, path) = large_file();
        let backup = dir.path().join("backup");
        fs::hard_link(&path, &backup).unwrap();
        RealEnv.remove_file_of_others(&path).unwrap();
        assert!(!path.exists());
        assert_eq!(fs::metadata(&backup).unwrap().len(), LEN as u64);
    }

    #[test]
    fn a_file_that_nobody_reads_goes_in_pieces() {
        let (_dir, path) = large_file();
        let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
        assert!(lease::has_no_other_reader(&file));
        drop(file);
        assert_eq!(cuts(LEN as u64).collect::<Vec<_>>(), [2 * FREED_AT_ONCE, FREED_AT_ONCE]);
        RealEnv.remove_file_of_others(&path).unwrap();
        assert!(!path.exists());
        assert_eq!(RealEnv.remove_file_of_others(&path).unwrap_err().kind(), ErrorKind::NotFound);
    }

    /// Somebody cleaned up "stale" lock files while a server ran; a second one came in and wrote to
    /// the same files.
    /// Opening it waited until somebody wrote to it.
    #[test]
    fn a_pipe_is_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0)
            .unwrap();
        assert_eq!(RealEnv.open(&path, OpenMode::Read).err().unwrap().kind(), ErrorKind::InvalidInput);
        RealEnv.remove_file_of_others(&path).unwrap();
        assert_eq!(RealEnv.read_file(Path::new("/dev/null")).unwrap(), b"");
    }

    #[test]
    fn a_lock_holds_without_its_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let lock = RealEnv.lock_file(&path).unwrap();
        fs::remove_file(&path).unwrap();
        assert_eq!(RealEnv.lock_file(&path).err().unwrap().kind(), ErrorKind::WouldBlock);
        fs::remove_file(&path).unwrap();
        drop(lock);
        drop(RealEnv.lock_file(&path).unwrap());
        assert!(RealEnv.lock_file(&path).is_ok());
    }

    #[test]
    fn a_reader_is_noticed() {
        let (_dir, path) = large_file();
        let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
        let _reader = fs::File::open(&path).unwrap();
        assert!(!lease::has_no_other_reader(&file));
    }
}
