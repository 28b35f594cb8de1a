//! What the disk does: writes and flushes, one at a time and several, into space made ahead and at
//! the end of a file.

use super::{ProbeError, Watch};
use env::{File, OpenMode, Whose};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use stdx::percentile::percentile;

/// The sizes that are written, in bytes.
pub(super) const SIZES: [usize; 4] = [512, 4 << 10, 16 << 10, 64 << 10];
/// How many flushes run at a time.
pub(super) const SIDE_BY_SIDE: [usize; 5] = [1, 2, 4, 8, 16];
/// What is written between two flushes when several run: about what a group of small commits takes.
const GROUP: usize = 4 << 10;
/// The length of the file that is written into, and the most that is appended to one. Bytes.
const FILE: u64 = 16 << 20;
/// The file is made in pieces of this many bytes.
const PIECE: usize = 1 << 20;
/// Measured writes of one kind, at the most.
const WRITES_MAX: usize = 20_000;

/// Times that were measured, in seconds, ascending.
#[derive(Debug, Clone, Default)]
pub(super) struct Times(Vec<f64>);

impl Times {
    pub(super) fn new(mut times: Vec<f64>) -> Self {
        times.sort_by(f64::total_cmp);
        Self(times)
    }

    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    /// The `q`-quantile (0 to 1); 0 if nothing was measured.
    pub(super) fn quantile(&self, q: f64) -> f64 {
        percentile(&self.0, q).unwrap_or(0.0)
    }

    pub(super) fn mean(&self) -> f64 {
        self.0.iter().sum::<f64>() / self.0.len().max(1) as f64
    }
}

/// Writes and flushes of one size, one after the other.
#[derive(Debug, Clone)]
pub(super) struct Series {
    pub(super) bytes: usize,
    /// Into space made ahead, as the log writes; else at the end of the file.
    pub(super) ahead: bool,
    pub(super) times: Times,
}

/// Writes and flushes side by side.
#[derive(Debug, Clone)]
pub(super) struct Parallel {
    pub(super) at_a_time: usize,
    pub(super) times: Times,
    /// All of them together, flushes per second.
    pub(super) rate: f64,
}

/// What was measured of a disk.
#[derive(Debug, Clone)]
pub(super) struct Disk {
    pub(super) series: Vec<Series>,
    pub(super) parallel: Vec<Parallel>,
    /// Processor time of a write and flush, in seconds.
    pub(super) work: f64,
}

/// Measures the disk that holds `folder`, for about `time`.
pub(super) fn measure(watch: &Watch, folder: &Path, time: Duration) -> Result<Disk, ProbeError> {
    let failed = |e| ProbeError::io("write and flush in", folder, e);
    let each = time / (2 * SIZES.len() + SIDE_BY_SIDE.len()) as u32;
    let path = folder.join("space");
    let made = make_ahead(watch, &path).map_err(failed)?;
    let mut disk = Disk { series: Vec::new(), parallel: Vec::new(), work: 0.0 };
    for bytes in SIZES {
        watch.check()?;
        let worked = watch.env.processor_time(Whose::Thread);
        let times = one_by_one(watch, made.as_ref(), bytes, each).map_err(failed)?;
        let worked = watch.env.processor_time(Whose::Thread).saturating_sub(worked);
        if bytes == GROUP {
            disk.work = worked.as_secs_f64() / times.count().max(1) as f64;
        }
        disk.series.push(Series { bytes, ahead: true, times });
        let grown_path = folder.join("grown");
        let grown = watch.env.open(&grown_path, OpenMode::CreateNew).map_err(failed)?;
        let times = one_by_one(watch, grown.as_ref(), bytes, each).map_err(failed)?;
        watch.env.remove_file(&grown_path).map_err(failed)?;
        disk.series.push(Series { bytes, ahead: false, times });
    }
    for at_a_time in SIDE_BY_SIDE {
        watch.check()?;
        disk.parallel.push(side_by_side(watch, &path, at_a_time, each).map_err(failed)?);
    }
    watch.env.remove_file(&path).map_err(failed)?;
    Ok(disk)
}

/// A file of zeros that were really written, as the log's pool makes them.
fn make_ahead(watch: &Watch, path: &Path) -> io::Result<Arc<dyn File>> {
    let file = watch.env.open(path, OpenMode::CreateNew)?;
    let zeros = vec![0; PIECE];
    for at in (0..FILE).step_by(PIECE) {
        file.write_at(&zeros, at)?;
    }
    file.sync_all()?;
    Ok(file)
}

/// Writes and flushes until the time is over or the file is full.
fn one_by_one(watch: &Watch, file: &dyn File, bytes: usize, time: Duration) -> io::Result<Times> {
    let end = watch.env.monotonic() + time;
    Ok(Times::new(flushes(watch, file, &vec![1; bytes], (0..FILE).step_by(bytes), end)?))
}

/// Writes at one offset after the other and flushes each time, once at least, until `end`; the
/// seconds that each took.
fn flushes(
    watch: &Watch,
    file: &dyn File,
    content: &[u8],
    places: impl Iterator<Item = u64>,
    end: Duration,
) -> io::Result<Vec<f64>> {
    let mut times = Vec::new();
    for at in places.take(WRITES_MAX) {
        let before = watch.env.monotonic();
        if before >= end && !times.is_empty() || watch.is_over() {
            break;
        }
        file.write_at(content, at)?;
        file.sync_data()?;
        times.push(watch.env.monotonic().saturating_sub(before).as_secs_f64());
    }
    Ok(times)
}

/// As many threads, each with a handle of its own on the same file and a part of it to itself.
fn side_by_side(watch: &Watch, path: &Path, at_a_time: usize, time: Duration) -> io::Result<Parallel> {
    let part = FILE / at_a_time as u64;
    let begun = watch.env.monotonic();
    let flush = |from: u64| -> io::Result<Vec<f64>> {
        let file = watch.env.open(path, OpenMode::ReadWrite)?;
        let places = (from..from + part).step_by(GROUP).cycle();
        flushes(watch, file.as_ref(), &[2; GROUP], places, begun + time)
    };
    let times = thread::scope(|scope| {
        let threads: Vec<_> = (0..at_a_time as u64).map(|n| scope.spawn(move || flush(n * part))).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().map_err(|_| io::Error::other("a measuring thread panicked"))?)
            .collect::<io::Result<Vec<_>>>()
    })?;
    let times = Times::new(times.concat());
    let took = watch.env.monotonic().saturating_sub(begun).as_secs_f64();
    Ok(Parallel { at_a_time, rate: times.count() as f64 / took.max(1e-9), times })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn quantiles_are_measured_values() {
        let times = Times::new(vec![3.0, 1.0, 2.0, 5.0, 4.0]);
        assert_eq!([0.0, 0.5, 0.9, 1.0].map(|q| times.quantile(q)), [1.0, 3.0, 5.0, 5.0]);
        assert_eq!((times.mean(), times.count()), (3.0, 5));
        assert_eq!(Times::default().quantile(0.5), 0.0);
    }

    #[test]
    fn a_disk_is_measured_in_time_and_left_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let watch = Watch::default();
        let begun = watch.env.monotonic();
        let disk = measure(&watch, folder.path(), Duration::from_millis(300)).unwrap();
        assert!(watch.env.monotonic() - begun < Duration::from_secs(60));
        assert_eq!(disk.series.len(), 2 * SIZES.len());
        assert!(disk.series.iter().all(|s| s.times.count() > 0 && s.times.quantile(0.0) > 0.0));
        assert!(disk.parallel.iter().all(|p| p.times.count() >= p.at_a_time && p.rate > 0.0));
        assert!(disk.work > 0.0);
        assert_eq!(watch.env.read_dir(folder.path()).unwrap().len(), 0);
    }

    #[test]
    fn a_folder_that_is_not_there_is_named() {
        let error = measure(&Watch::default(), Path::new("/nowhere/at/all"), Duration::ZERO).unwrap_err();
        assert!(error.to_string().contains("/nowhere/at/all"), "{error}");
    }
}
