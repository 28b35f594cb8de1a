//! Pauses: when no commit was answered though some were under way, and what the server's threads
//! did then.
//!
//! A watcher reads the writers' last answer all the time. Once that is too long ago it samples
//! the server's threads as the operating system shows them, again and again until the next answer:
//! which run, which are in which system call, with which file, and where in the kernel they wait
//! there. What was seen in most samples is what the pause was made of.
//!
//! The watcher reports how late it was woken itself, and how idle the machine was: a pause in which
//! no thread got a processor is the machine's.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// Between two samples.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(2);
/// Pauses of a window that are printed one by one, the longest ones.
const SHOWN_MAX: usize = 4;
/// What a thread did is printed if it was seen in this part of the samples, at least.
const SHARE_MIN: usize = 5;

/// The system calls that a server stands still in (x86-64), and whether their first argument is a
/// file.
const CALLS: &[(u64, &str, bool)] = &[
    (0, "read", true),
    (1, "write", true),
    (3, "close", true),
    (9, "mmap", false),
    (11, "munmap", false),
    (17, "pread", true),
    (18, "pwrite", true),
    (28, "madvise", false),
    (74, "fsync", true),
    (75, "fdatasync", true),
    (77, "ftruncate", true),
    (82, "rename", false),
    (87, "unlink", false),
    (221, "fadvise", true),
    (257, "open", false),
    (277, "sync_file_range", true),
    (285, "fallocate", true),
];

/// Where in the kernel a thread waits that has nothing to do, or waits for another one.
const IDLE: &[&str] = &["unix_stream", "futex", "accept", "skb_wait", "poll", "kjournald2", "nanosleep"];

/// A time without an answer.
#[derive(Debug, Clone)]
pub struct Pause {
    /// Since the window began.
    at: Duration,
    length: Duration,
    samples: usize,
    /// The longest time that the watcher wanted to sleep less.
    late: Duration,
    /// The part of the machine's processors that had nothing to do.
    idle: f64,
    /// How many threads were seen at what, in all samples.
    seen: BTreeMap<String, usize>,
}

/// The threads of a server, as the operating system shows them.
pub struct Threads {
    process: PathBuf,
    /// The file system's journal, as threads of the kernel; none if they can't be seen.
    journals: Vec<PathBuf>,
    names: HashMap<PathBuf, String>,
}

impl Threads {
    /// Those of process `pid`.
    pub fn of(pid: u32) -> Self {
        let is_journal = |path: &PathBuf| text(path, "comm").starts_with("jbd2/");
        let journals = entries(Path::new("/proc")).filter(is_journal).collect();
        Self { process: format!("/proc/{pid}").into(), journals, names: HashMap::new() }
    }

    /// What each thread does that does not merely wait for a client or for another thread.
    fn sample(&mut self, seen: &mut BTreeMap<String, usize>) {
        let tasks: Vec<PathBuf> = entries(&self.process.join("task")).collect();
        for task in tasks.iter().chain(&self.journals) {
            let name = self.names.entry(task.clone()).or_insert_with(|| text(task, "comm"));
            let call = text(task, "syscall");
            let Some(doing) = doing(&self.process, &call, &text(task, "wchan")) else { continue };
            *seen.entry(format!("{name} {doing}")).or_default() += 1;
        }
    }
}

/// A thread's system call in words, from the kernel's words for it; `None` if it waits for a client
/// or for another thread.
fn doing(process: &Path, call: &str, place: &str) -> Option<String> {
    let mut words = call.split(' ');
    let number = match words.next()? {
        "running" => return Some("runs".into()),
        number => number.parse::<u64>().unwrap_or(u64::MAX),
    };
    if IDLE.iter().any(|idle| place.contains(idle)) {
        return None;
    }
    // A thread of the kernel is in no call.
    let (_, name, has_file) = CALLS.iter().find(|call| call.0 == number).unwrap_or(&(0, "waits", false));
    let fd = words.next().and_then(|word| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok());
    let file = fd.filter(|_| *has_file).map(|fd| process.join(format!("fd/{fd}")));
    let file =
        file.and_then(|link| Some(fs::read_link(link).ok()?.file_name()?.to_string_lossy().into_owned()));
    let file = file.map_or_else(String::new, |file| format!(" {file}"));
    Some(format!("{name}{file} ({place})"))
}

/// Watches until `stop`; `waiting` returns for how long no waiting writer was answered, as of now.
/// Returns the pauses of `min` and longer, each with the moment it began.
pub fn watch(
    mut threads: Threads,
    min: Duration,
    stop: impl Fn() -> bool,
    waiting: impl Fn() -> Option<(Instant, Duration)>,
    mut report: impl FnMut(Instant, Pause),
) {
    while !stop() {
        thread::sleep(SAMPLE_INTERVAL);
        let Some((since, mut length)) = waiting().filter(|(_, length)| *length >= min) else { continue };
        let mut pause = Pause::begin();
        let before = processors();
        let mut looked = Instant::now();
        loop {
            threads.sample(&mut pause.seen);
            pause.samples += 1;
            thread::sleep(SAMPLE_INTERVAL);
            pause.late = pause.late.max(looked.elapsed().saturating_sub(SAMPLE_INTERVAL));
            looked = Instant::now();
            match waiting() {
                Some((still, now)) if still == since && !stop() => length = now,
                _ => break,
            }
        }
        pause.length = length;
        let after = processors();
        pause.idle = (after.0 - before.0) as f64 / ((after.1 - before.1).max(1)) as f64;
        report(since, pause);
    }
}

/// Ticks of the machine's processors: idle ones, all.
fn processors() -> (u64, u64) {
    let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
    let line = stat.lines().next().unwrap_or_default();
    let ticks: Vec<u64> = line.split_whitespace().skip(1).filter_map(|n| n.parse().ok()).collect();
    (ticks.iter().skip(3).take(2).sum(), ticks.iter().take(8).sum())
}

fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()))
}

/// A file of the kernel's about a thread; empty if the thread is gone.
fn text(task: &Path, name: &str) -> String {
    fs::read_to_string(task.join(name)).unwrap_or_default().trim_end().to_owned()
}

impl Pause {
    fn begin() -> Self {
        let zero = Duration::ZERO;
        Self { at: zero, length: zero, samples: 0, late: zero, idle: 0.0, seen: BTreeMap::new() }
    }

    /// As seen from a window that began at `begun`.
    #[must_use]
    pub fn since(mut self, began: Instant, begun: Instant) -> Self {
        self.at = began.saturating_duration_since(begun);
        self
    }

    fn line(&self) -> String {
        let mut seen: Vec<_> = self.seen.iter().filter(|(_, n)| **n * SHARE_MIN >= self.samples).collect();
        seen.sort_by_key(|(_, n)| std::cmp::Reverse(**n));
        let samples = self.samples.max(1) as f64;
        let seen: Vec<_> =
            seen.iter().map(|(what, n)| format!("{:.1} x {what}", **n as f64 / samples)).collect();
        format!(
            "at {:.2} s for {:.0} ms (watcher late by {:.0} ms, processors idle {:.0} %): {}",
            self.at.as_secs_f64(),
            self.length.as_secs_f64() * 1e3,
            self.late.as_secs_f64() * 1e3,
            self.idle * 100.0,
            seen.join(", ")
        )
    }
}

/// A window's pauses in words.
pub fn print(name: &str, pauses: &[Pause]) {
    let sum: Duration = pauses.iter().map(|pause| pause.length).sum();
    println!("{name}: {} pauses, {:.0} ms in all", pauses.len(), sum.as_secs_f64() * 1e3);
    let mut longest: Vec<_> = pauses.iter().collect();
    longest.sort_by_key(|pause| std::cmp::Reverse(pause.length));
    longest.iter().take(SHOWN_MAX).for_each(|pause| println!("  {}", pause.line()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_thread_does_is_told_in_words() {
        let process = Path::new("/proc/0");
        let doing = |call: &str, place: &str| doing(process, call, place);
        assert_eq!(doing("running", "0").as_deref(), Some("runs"));
        assert_eq!(
            doing("75 0x9 0x0", "jbd2_log_wait_commit").as_deref(),
            Some("fdatasync (jbd2_log_wait_commit)")
        );
        assert_eq!(doing("45 0x3 0x7f", "unix_stream_read_generic"), None);
        assert_eq!(doing("0 0x0", "folio_wait_bit").as_deref(), Some("read (folio_wait_bit)"));
    }

    #[test]
    fn what_was_seen_seldom_is_not_told() {
        let mut pause = Pause::begin();
        (pause.samples, pause.length) = (10, Duration::from_millis(30));
        pause.seen = [("a fdatasync".to_owned(), 10), ("b runs".to_owned(), 1)].into();
        assert_eq!(
            pause.line(),
            "at 0.00 s for 30 ms (watcher late by 0 ms, processors idle 0 %): 1.0 x a fdatasync"
        );
    }
}
