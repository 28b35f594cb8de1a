//! Threads that flush and compact, and how writers wait for them.
//!
//! One thread flushes, one compacts. Each does what there is to do, then sleeps until woken. After
//! a failure it tries again after a pause, for ever: a full disk may get room, and nothing is lost
//! meanwhile (F2 of `flush.rs`). [`Store::admit`](crate::Store::admit) and the statistics report
//! the last failure.
//!
//! A compaction that fails for anything but a full disk stops no writer: a damaged table can't be
//! compacted, now or later, and reads get slower instead, which the error log reports.
//!
//! Writers are slowed down, then stopped, by *pressure*: the fullest of the memory for memtables,
//! the depth of level 0 and the distance to replay, each against its limit. From [`SLOW`] on each
//! writer waits a little, more with more pressure; from 1 on it waits for a flush or compaction to
//! end. A transaction that is larger than a memtable presses as one does, and its way in the log
//! not at all: it is in memory already, and the small ones do not wait for it. The next one of its
//! kind does, until it is flushed.

use crate::core::Core;
use crate::error::StoreError;
use crate::skiplist::SkipList;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Duration;

/// Pressure from which writers are slowed down.
const SLOW: f64 = 0.75;
/// The longest wait of a writer that is slowed down only.
const SLOW_WAIT_MAX: Duration = Duration::from_millis(5);
/// Level 0 tables that one key may lie in before writers are stopped.
const LEVEL0_DEPTH_MAX: usize = 24;
/// Pause after a failure.
const RETRY_PAUSE: Duration = Duration::from_millis(500);
/// A thread checks for work this often even if nobody wakes it: snapshots may have been dropped.
const IDLE: Duration = Duration::from_secs(2);

/// As often while a memtable that was flushed is still read.
const UNREAD_SOON: Duration = Duration::from_millis(100);

#[derive(Clone, Copy)]
enum Work {
    Flush,
    Compact,
}

/// Starts the threads; they end once `closing` is set.
pub(crate) fn start(core: &Arc<Core>) -> Result<Vec<JoinHandle<()>>, StoreError> {
    let spawn = |name: &str, work: Work| {
        let core = core.clone();
        let thread = std::thread::Builder::new().name(name.into());
        thread.spawn(move || run(&core, work)).map_err(|e| StoreError::io(format!("start thread {name}"), e))
    };
    Ok(vec![spawn("store-flush", Work::Flush)?, spawn("store-compact", Work::Compact)?])
}

/// Stops the threads, and waits for them.
pub(crate) fn stop(core: &Core, threads: Vec<JoinHandle<()>>) {
    core.signals.closing.store(true, Ordering::Release);
    core.signals.wake_background();
    for thread in threads {
        if thread.join().is_err() {
            tracing::error!("a background thread of the store panicked");
        }
    }
}

fn run(core: &Core, work: Work) {
    while !core.signals.closing.load(Ordering::Acquire) {
        let done = match work {
            Work::Flush => core.flush_once(),
            Work::Compact => core.compact_once(),
        };
        core.bury();
        let pause = match &done {
            Ok(true) => None,
            Ok(false) if !core.retired.is_empty() => Some(UNREAD_SOON),
            Ok(false) => Some(IDLE),
            Err(_) => Some(RETRY_PAUSE),
        };
        if matches!(done, Ok(true)) {
            // A flush makes work for the compaction.
            core.signals.wake_background();
        }
        report(core, work, done);
        let mut failures = core.signals.failures.lock();
        core.signals.progress.notify_all();
        if let Some(pause) = pause
            && !core.signals.closing.load(Ordering::Acquire)
            && (failures_of(&failures, work).is_some() || !core.has_work(work))
        {
            core.signals.work.wait_for(&mut failures, pause);
        }
    }
}

type Failures = (Option<StoreError>, Option<StoreError>);

fn failures_of(failures: &Failures, work: Work) -> &Option<StoreError> {
    match work {
        Work::Flush => &failures.0,
        Work::Compact => &failures.1,
    }
}

/// Stores the outcome; the first failure and the recovery are logged.
fn report(core: &Core, work: Work, done: Result<bool, StoreError>) {
    let mut failures = core.signals.failures.lock();
    let (known, name) = match work {
        Work::Flush => (&mut failures.0, "flush"),
        Work::Compact => (&mut failures.1, "compaction"),
    };
    match (&*known, &done) {
        (None, Err(error)) => tracing::error!("{name} failed, will be tried again: {error}"),
        (Some(_), Ok(_)) => tracing::info!("{name} works again"),
        _ => {}
    }
    *known = done.err();
}

impl Core {
    fn has_work(&self, work: Work) -> bool {
        // A compaction's work can't be seen this cheaply; it is woken by each flush, after it
        // published.
        matches!(work, Work::Flush) && !self.current.peek().frozen.is_empty()
    }

    /// How near the store is to a limit; 1 stops writers. Waits only help if flush or compaction
    /// has work: without frozen memtables memory alone stops nobody.
    fn pressure(&self, bytes: usize) -> f64 {
        let depth = self.current.peek().version.level0_depth as f64 / LEVEL0_DEPTH_MAX as f64;
        depth.max(self.flush_pressure(bytes))
    }

    /// The same, of what flushes relieve: memory and the distance to replay.
    fn flush_pressure(&self, bytes: usize) -> f64 {
        let view = self.current.peek();
        if view.frozen.is_empty() {
            return 0.0;
        }
        let size = self.options.memtable_size;
        let is_huge = |list: &SkipList| list.bytes() > 2 * size;
        if bytes > 2 * size && view.lists().any(|list| is_huge(list)) {
            return 1.0;
        }
        let room = size.saturating_mul(self.options.memtables_max.max(2));
        let taken: usize = view.lists().map(|list| if is_huge(list) { size } else { list.bytes() }).sum();
        let memory = (taken + bytes.min(size)) as f64 / room as f64;
        let small = view.frozen.iter().filter(|f| !is_huge(&f.list));
        let distance: u64 = small.map(|f| f.log_distance).sum();
        let distance = distance as f64 / (2 * self.options.log_distance_max).max(1) as f64;
        memory.max(distance)
    }

    /// Waits as long as pressure asks for.
    pub(crate) fn admit(&self, bytes: usize) -> Result<(), StoreError> {
        if !self.options.background {
            return Ok(());
        }
        let mut pressure = self.pressure(bytes);
        if pressure < SLOW {
            return Ok(());
        }
        let mut failures = self.signals.failures.lock();
        if pressure < 1.0 {
            self.counters.writes_slowed.fetch_add(1, Ordering::Relaxed);
            let wait = SLOW_WAIT_MAX.mul_f64((pressure - SLOW) / (1.0 - SLOW));
            self.signals.progress.wait_for(&mut failures, wait);
            return Ok(());
        }
        self.counters.writes_stopped.fetch_add(1, Ordering::Relaxed);
        while pressure >= 1.0 {
            if self.signals.closing.load(Ordering::Acquire) {
                return Err(StoreError::Closed);
            }
            if let Some(cause) = failures.0.as_ref() {
                return Err(StoreError::Stalled(Box::new(cause.clone())));
            }
            if let Some(cause) = failures.1.as_ref() {
                if cause.is_disk_full() {
                    return Err(StoreError::Stalled(Box::new(cause.clone())));
                }
                // A damaged table can't be compacted, now or later: reads become slower, which is
                // logged, but writes to other tables go on, and so does the DROP TABLE that would
                // end it.
                if self.flush_pressure(bytes) < 1.0 {
                    return Ok(());
                }
            }
            self.signals.progress.wait_for(&mut failures, RETRY_PAUSE);
            pressure = self.pressure(bytes);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::batch::WriteBatch;
    use crate::entry::TreeId;
    use crate::store::testing::options;
    use crate::store::{Store, StoreOptions};
    use binlog::LogPosition;
    use env::{Env, OpenMode, SimEnv};
    use std::path::Path;

    /// One damaged table stopped the writers of all tables as soon as level 0 was deep enough,
    /// until a restart: it can't be compacted, and what was committed meanwhile waited for that.
    #[test]
    fn a_compaction_that_fails_on_damage_stops_no_writer() {
        let env = SimEnv::new(1);
        let options = StoreOptions { background: true, block_cache_size: 0, ..options() };
        let store = Store::open(Arc::new(env.clone()), Path::new("/store"), options).unwrap();
        let write = |n: u64| {
            let mut batch = WriteBatch::new();
            for key in 0..50_u64 {
                batch.put(TreeId(7), &key.to_be_bytes(), &n.to_be_bytes());
            }
            store.admit(batch.size()).unwrap();
            store.write(&batch, LogPosition::from_u64(n));
            store.checkpoint(b"").unwrap();
        };
        write(1);
        let tables = env.read_dir(Path::new("/store")).unwrap();
        let table = tables.iter().find(|path| path.extension().is_some_and(|e| e == "table")).unwrap();
        let file = env.open(table, OpenMode::ReadWrite).unwrap();
        file.write_at(b"?", 40).unwrap();
        // Writers wait until a compaction has failed, and no longer.
        (2..LEVEL0_DEPTH_MAX as u64 + 10).for_each(write);
        let stats = store.stats();
        assert!(stats.tables[0] > LEVEL0_DEPTH_MAX, "{stats:?}");
        assert!(stats.writes_stopped > 0, "{stats:?}");
        let failure = stats.compaction_failure.unwrap().to_string();
        assert!(failure.contains(&table.file_name().unwrap().to_string_lossy()[..]), "{failure}");
        let newest = store.get(TreeId(7), &7_u64.to_be_bytes(), LogPosition::MAX);
        assert!(newest.is_ok(), "what is in sound tables is read");
    }
}
