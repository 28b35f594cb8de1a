//! What the figures were measured on and with: a benchmark without it says nothing.

use super::SERVERS;
use super::contender::FILES_AHEAD;
use super::flush;
use super::options::Options;
use crate::Result;
use std::fs;
use std::path::Path;
use std::process::Command;

/// The machine and the settings, as a paragraph.
pub struct Machine {
    text: String,
}

impl Machine {
    /// Examines this machine; measures its flushes for a second.
    pub fn of_this(options: &Options) -> Result<Self> {
        let cpus = std::thread::available_parallelism()?;
        let flush = flush::of_this_disk()?.latency.unwrap_or_default();
        let text = format!(
            "{cpus} processors ({}) for servers and clients together, {} GiB of memory, Linux {}, {}; write and fdatasync of 512 \
             bytes into space made ahead take {:.3} ms ({:.3} ms at the 99th percentile). sysbench 1.0 and Debian's \
             mariadb-slap {}. Duramen is {}. All servers: 512 MiB of buffer pool, log files of 64 MiB, rows in \
             the log with CRC32; Duramen makes {FILES_AHEAD} files ahead where nothing else is said. {} of {} s each, in turn; \
             with 16 clients and more behind a second for each 32 of them, in which sysbench compiles its script in \
             each thread. `a/b` stands for sync_binlog=a, innodb_flush_log_at_trx_commit=b. Where a slower flush is \
             named, a preload library makes each flush of the server take so much longer.",
            processor()?,
            memory_gib()?,
            kernel()?,
            file_system()?,
            flush.p50,
            flush.p99,
            if options.peers.is_empty() {
                "connect over Unix sockets, without TLS"
            } else {
                "connect over TCP on loopback, without TLS"
            },
            build_of(options)?,
            rounds(options.rounds),
            options.time,
        );
        Ok(Self { text })
    }

    /// The paragraph.
    pub fn text(&self) -> &str {
        &self.text
    }
}

fn rounds(n: usize) -> String {
    if n == 1 { "One round".into() } else { format!("{n} rounds, the median of them told,") }
}

fn processor() -> Result<String> {
    let info = fs::read_to_string("/proc/cpuinfo")?;
    let model = info.lines().find_map(|l| l.strip_prefix("model name")?.split_once(':'));
    Ok(model.map_or_else(|| std::env::consts::ARCH.to_owned(), |(_, name)| name.trim().to_owned()))
}

fn memory_gib() -> Result<u64> {
    let info = fs::read_to_string("/proc/meminfo")?;
    let total = info.lines().find_map(|l| l.strip_prefix("MemTotal:")).ok_or("no MemTotal")?;
    let kib: u64 = total.trim().trim_end_matches(" kB").parse()?;
    Ok((kib + (1 << 19)) >> 20)
}

/// The version without what the distribution adds.
fn kernel() -> Result<String> {
    let release = first_line("uname", &["-r"])?;
    Ok(release.split('-').next().unwrap_or_default().to_owned())
}

/// Of the servers' data. With a journal, a flush that makes a file longer costs a second write.
fn file_system() -> Result<String> {
    let found = first_line("findmnt", &["--noheadings", "--output=SOURCE,FSTYPE", "--target", SERVERS])?;
    let (source, kind) = found.split_once(' ').unwrap_or(("", "an unknown file system"));
    let device = source.rsplit('/').next().unwrap_or_default();
    Ok(match kind.trim() {
        // The kernel names a journal after its device and its inode.
        "ext4" if Path::new(&format!("/proc/fs/jbd2/{device}-8")).exists() => "ext4 with a journal".into(),
        "ext4" => "ext4 without a journal".into(),
        kind => kind.into(),
    })
}

fn revision() -> Result<String> {
    let revision = first_line("git", &["rev-parse", "--short", "HEAD"])?;
    let changed = !first_line("git", &["status", "--porcelain", "--untracked-files=no"])?.is_empty();
    Ok(if changed { format!("{revision} with changes") } else { revision })
}

fn first_line(program: &str, args: &[&str]) -> Result<String> {
    let done = Command::new(program).args(args).output()?;
    Ok(String::from_utf8_lossy(&done.stdout).lines().next().unwrap_or_default().trim().to_owned())
}

fn build_of(options: &Options) -> Result<String> {
    match &options.duramen {
        Some(_) => Ok("a binary built before".into()),
        None => Ok(format!("the build `{}` of {}", options.profile, revision()?)),
    }
}
