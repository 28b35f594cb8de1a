//! A disk of one's choosing under a real server: slow, failing or full, and changed while the
//! server runs. A preload library, `disk.c`, stands between the server and the C library and takes
//! its orders from a page that both map.

use crate::Result;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const SOURCE: &str = include_str!("disk.c");
/// The words of the page, as `disk.c` has them.
const DELAY: u64 = 0;
const FAIL: u64 = 1;
const FULL: u64 = 2;
const FLUSHES: u64 = 3;
const OF_LOG: usize = 9;
const WORDS: usize = 10;

/// The disk that programs started with [`variables`](Self::variables) see.
#[derive(Debug, Clone)]
pub struct Disk {
    library: PathBuf,
    page: PathBuf,
}

/// What the library saw so far. Programs may flush in ways that it cannot see.
#[derive(Debug, Clone, Copy, Default)]
pub struct Seen {
    /// Flushes: calls that flush, writes that flush by themselves, ranges that were waited for.
    pub flushes: u64,
    /// Those of a file of the binary log.
    pub of_log: u64,
    /// What they took, delays included; side by side they count each.
    pub time: Duration,
}

impl Disk {
    /// Compiles the library in `folder`. The disk is a good one until it is set otherwise.
    pub fn new(folder: &Path) -> Result<Self> {
        let folder = std::path::absolute(folder)?;
        fs::create_dir_all(&folder)?;
        let disk = Self { library: folder.join("disk.so"), page: folder.join("disk.page") };
        let source = folder.join("disk.c");
        fs::write(&source, SOURCE)?;
        let made = Command::new("cc")
            .args(["-std=gnu11", "-O2", "-Wall", "-fPIC", "-shared", "-o"])
            .args([&disk.library, &source])
            .arg("-ldl")
            .output()?;
        if !made.status.success() {
            return Err(format!("cc {}: {}", source.display(), String::from_utf8_lossy(&made.stderr)).into());
        }
        fs::write(&disk.page, [0; WORDS * size_of::<u64>()])?;
        Ok(disk)
    }

    /// The environment of a program that is to see this disk.
    pub fn variables(&self) -> [(String, String); 2] {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        [("LD_PRELOAD".into(), text(&self.library)), ("DURAMEN_DISK".into(), text(&self.page))]
    }

    /// From now on each flush takes so much longer than the true disk's.
    pub fn delay_flushes(&self, by: Duration) -> Result<()> {
        self.set(DELAY, u64::try_from(by.as_nanos())?)
    }

    /// From now on each flush fails with EIO, or none does.
    pub fn fail_flushes(&self, fail: bool) -> Result<()> {
        self.set(FAIL, fail.into())
    }

    /// From now on the disk is full, or has room.
    pub fn fill(&self, full: bool) -> Result<()> {
        self.set(FULL, full.into())
    }

    /// What was asked of it so far.
    pub fn seen(&self) -> Result<Seen> {
        let page = fs::read(&self.page)?;
        let words: Vec<u64> =
            page.as_chunks::<{ size_of::<u64>() }>().0.iter().map(|w| u64::from_ne_bytes(*w)).collect();
        let pairs = words.get(FLUSHES as usize..).unwrap_or_default().as_chunks::<2>().0;
        Ok(Seen {
            flushes: pairs.iter().map(|[n, _]| n).sum(),
            of_log: words.get(OF_LOG).copied().unwrap_or_default(),
            time: Duration::from_nanos(pairs.iter().map(|[_, ns]| ns).sum()),
        })
    }

    fn set(&self, word: u64, value: u64) -> Result<()> {
        let page = File::options().write(true).open(&self.page)?;
        Ok(page.write_all_at(&value.to_ne_bytes(), word * size_of::<u64>() as u64)?)
    }
}

impl Seen {
    /// What was seen since `before`.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        Self {
            flushes: self.flushes - before.flushes,
            of_log: self.of_log - before.of_log,
            time: self.time - before.time,
        }
    }

    /// What one flush took; none if there was none.
    pub fn mean(&self) -> Option<Duration> {
        Some(self.time / u32::try_from(self.flushes).ok().filter(|n| *n > 0)?)
    }
}
