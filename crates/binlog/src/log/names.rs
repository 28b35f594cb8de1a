//! The names of the log's files in their folder.
//!
//! The number in a name is the file's number in positions, less a shift that a reset of the log has
//! set (`reset.rs`): names begin anew then, while positions only grow.
//!
//! | name | what |
//! | --- | --- |
//! | `binlog.000001` | a log file; six digits or more |
//! | `binlog.index` | the log files' names, one on a line, as `./binlog.000001` |
//! | `binlog.new` | the next log file, not yet named |
//! | `binlog.reset` | the first file of a log that begins anew, while the old log's files go |
//! | `binlog.prealloc-1` | a file of zeros, to become a log file |
//! | `binlog.prealloc-1.tmp` | the same, not yet complete |
//! | `binlog.large-1` | the events of a large transaction that is not committed |
//! | `binlog.durable` | up to where the log was flushed (`mark.rs`) |
//! | `binlog.000008.cut`, `binlog.000008.cut-2` | what a start cut off the end of `binlog.000008` |
//! | `binlog.cut.tmp` | the same, not yet complete |

use crate::event::MAGIC;
use crate::position::FileNumber;
use env::{Env, OpenMode};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::SeqCst};

/// The largest number that a file's name may have, as in MySQL.
const NAMED_MAX: u32 = 0x7fff_ffff;

/// The folder, and what the names in it start with.
#[derive(Clone)]
pub(super) struct Folder {
    pub(super) env: Arc<dyn Env>,
    pub(super) dir: PathBuf,
    base: String,
    /// What is added to the number in a name. Set before other threads know of the log, and by a
    /// reset.
    shift: Arc<AtomicI64>,
}

impl fmt::Debug for Folder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Folder").field("dir", &self.dir).field("base", &self.base).finish_non_exhaustive()
    }
}

impl Folder {
    pub(super) fn new(env: Arc<dyn Env>, dir: &Path, base: &str) -> Self {
        Self { env, dir: dir.to_owned(), base: base.to_owned(), shift: Arc::default() }
    }

    /// From now on the name with number `named` is that of the file `first`.
    pub(super) fn set_shift(&self, first: FileNumber, named: u32) {
        self.shift.store(i64::from(first.0) - i64::from(named), SeqCst);
    }

    /// The name of a file; one of before a reset has the number 0.
    pub(super) fn log_name(&self, number: FileNumber) -> String {
        self.numbered((i64::from(number.0) - self.shift.load(SeqCst)).max(0))
    }

    /// What the names of its log files start with.
    pub(super) fn base(&self) -> &str {
        &self.base
    }

    /// A file of a log in this folder that has another name, if there is one, and the name: a log
    /// file or, where there is none, an index.
    pub(super) fn other_log(&self) -> io::Result<Option<(String, String)>> {
        if !self.env.exists(&self.dir) {
            return Ok(None);
        }
        let mut paths = self.env.read_dir(&self.dir)?;
        paths.sort_unstable();
        let mut found = None;
        for path in paths {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let Some((base, end)) = name.split_once('.') else { continue };
            let other = Folder::new(self.env.clone(), &self.dir, base);
            if base.is_empty() || base == self.base {
                continue;
            }
            let begins_with = |bytes: &[u8]| -> io::Result<bool> {
                let mut begin = vec![0; bytes.len()];
                let n = self.env.open(&path, OpenMode::Read)?.read_at(&mut begin, 0)?;
                Ok(begin[..n] == *bytes)
            };
            if other.named(&name).is_some() && begins_with(&MAGIC)? {
                return Ok(Some((name.clone(), base.to_owned())));
            }
            if end == "index" && found.is_none() && begins_with(format!("./{base}.").as_bytes())? {
                found = Some((name.clone(), base.to_owned()));
            }
        }
        Ok(found)
    }

    /// The name with this number.
    pub(super) fn numbered(&self, number: i64) -> String {
        format!("{}.{number:06}", self.base)
    }

    pub(super) fn log_path(&self, number: FileNumber) -> PathBuf {
        self.dir.join(self.log_name(number))
    }

    /// The file that has this name, with or without a folder before it.
    pub(super) fn log_number(&self, name: &str) -> Option<FileNumber> {
        let number = i64::from(self.named(name)?) + self.shift.load(SeqCst);
        let number = u32::try_from(number).ok().filter(|&n| n > 0).map(FileNumber)?;
        (number <= FileNumber::MAX).then_some(number)
    }

    /// The number in a log file's name, with or without a folder before it.
    pub(super) fn named(&self, name: &str) -> Option<u32> {
        let name = name.rsplit('/').next()?;
        let digits = name.strip_prefix(&self.base)?.strip_prefix('.')?;
        let decimal = digits.len() >= 6 && digits.bytes().all(|b| b.is_ascii_digit());
        let number: u32 = digits.parse().ok().filter(|&n| decimal && n > 0 && n <= NAMED_MAX)?;
        (self.numbered(number.into()) == name).then_some(number)
    }

    pub(super) fn index(&self) -> PathBuf {
        self.dir.join(format!("{}.index", self.base))
    }

    pub(super) fn new_file(&self) -> PathBuf {
        self.dir.join(format!("{}.new", self.base))
    }

    pub(super) fn reset_file(&self) -> PathBuf {
        self.dir.join(format!("{}.reset", self.base))
    }

    pub(super) fn large_file(&self, serial: u64) -> PathBuf {
        self.dir.join(format!("{}.large-{serial}", self.base))
    }

    /// True for the name of a file that [`Self::large_file`] names.
    pub(super) fn is_large_file(&self, name: &str) -> bool {
        let serial = name.strip_prefix(&self.base).and_then(|remaining| remaining.strip_prefix(".large-"));
        serial.is_some_and(|digits| digits.parse::<u64>().is_ok())
    }

    pub(super) fn durable_mark(&self) -> PathBuf {
        self.dir.join(format!("{}.durable", self.base))
    }

    /// What the `nth` cut of a file's end is saved to; the first is 1.
    pub(super) fn cut_file(&self, number: FileNumber, nth: u32) -> PathBuf {
        let name = self.log_name(number);
        self.dir.join(if nth == 1 { format!("{name}.cut") } else { format!("{name}.cut-{nth}") })
    }

    /// True for the name of a file that [`Self::cut_file`] names.
    pub(super) fn is_cut_file(&self, name: &str) -> bool {
        name.split_once(".cut").is_some_and(|(log, nth)| {
            let is_nth = nth.strip_prefix('-').is_some_and(|n| n.parse::<u32>().is_ok_and(|n| n > 1));
            self.named(log).is_some() && (nth.is_empty() || is_nth)
        })
    }

    pub(super) fn unfinished_cut_file(&self) -> PathBuf {
        self.dir.join(format!("{}.cut.tmp", self.base))
    }

    pub(super) fn pool_file(&self, serial: u64) -> PathBuf {
        self.dir.join(format!("{}.prealloc-{serial}", self.base))
    }

    pub(super) fn unfinished_pool_file(&self, serial: u64) -> PathBuf {
        self.dir.join(format!("{}.prealloc-{serial}.tmp", self.base))
    }

    /// The serial number in a pool file's name, and whether the file is complete.
    pub(super) fn pool_serial(&self, name: &str) -> Option<(u64, bool)> {
        let remaining = name.strip_prefix(&self.base)?.strip_prefix(".prealloc-")?;
        let (digits, complete) = match remaining.strip_suffix(".tmp") {
            Some(digits) => (digits, false),
            None => (remaining, true),
        };
        Some((digits.parse().ok()?, complete))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use env::SimEnv;

    #[test]
    fn tells_log_files_from_others() {
        let folder = Folder::new(Arc::new(SimEnv::new(1)), Path::new("/db"), "binlog");
        let check = |name: &str, expected: Option<u32>| {
            assert_eq!(folder.log_number(name), expected.map(FileNumber), "{name}");
        };
        check("binlog.000001", Some(1));
        check("./binlog.000012", Some(12));
        check("binlog.1000000", Some(1_000_000));
        check("binlog.0000001", None);
        check("binlog.000000", None);
        check("binlog.00001", None);
        check("binlog.99999999999", None);
        check("binlog.00000a", None);
        check("binlog.+00001", None);
        check("binlog.index", None);
        check("other.000001", None);
        folder.set_shift(FileNumber(8), 2);
        check("binlog.000002", Some(8));
        check("binlog.16777210", None);
        assert_eq!(folder.log_name(FileNumber(9)), "binlog.000003");
        assert_eq!(folder.log_name(FileNumber(5)), "binlog.000000", "of before the reset");
        folder.set_shift(FileNumber(8), 2_000_000_000);
        check("binlog.2000000001", Some(9));
        check("binlog.000001", None);
        assert_eq!(folder.pool_serial("binlog.prealloc-7"), Some((7, true)));
        assert_eq!(folder.pool_serial("binlog.prealloc-7.tmp"), Some((7, false)));
        assert_eq!(folder.pool_serial("binlog.000001"), None);
        let cut = |nth| folder.cut_file(FileNumber(9), nth).file_name().unwrap().to_owned();
        folder.set_shift(FileNumber(8), 7);
        assert_eq!((cut(1), cut(2)), ("binlog.000008.cut".into(), "binlog.000008.cut-2".into()));
        for name in ["binlog.000008.cut", "binlog.000008.cut-2"] {
            assert!(folder.is_cut_file(name) && folder.named(name).is_none(), "{name}");
        }
        for name in ["binlog.cut.tmp", "binlog.000008.cut-1", "binlog.000008.cutx", "binlog.000008", "a.cut"]
        {
            assert!(!folder.is_cut_file(name), "{name}");
        }
        assert!(folder.is_large_file("binlog.large-12"));
        assert!(!folder.is_large_file("binlog.large-x") && !folder.is_large_file("other.large-1"));
    }
}
