//! What one flush takes: a child of this program writes and flushes a file next to the server's, on
//! the disk that the server sees.

use super::SERVERS;
use super::contender::Contender;
use super::results::Percentiles;
use super::workload::Outcome;
use crate::Result;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// The command by which this program is its own child.
pub const COMMAND: &str = "flushes";

const FILE_BYTES: u64 = 16 << 20;

/// Writes so many bytes into space made ahead and flushes them, one after another, on the server's
/// disk, for so long.
pub fn alone(server: &Contender, bytes: u64, seconds: u32) -> Result<Outcome> {
    let variables =
        server.disk_variables().ok_or_else(|| format!("where is the disk of {}?", server.name))?;
    measure(variables, bytes, seconds)
}

/// The same on the machine's own disk, shortly.
pub fn of_this_disk() -> Result<Outcome> {
    measure([], 512, 1)
}

fn measure(
    variables: impl IntoIterator<Item = (String, String)>,
    bytes: u64,
    seconds: u32,
) -> Result<Outcome> {
    let done = Command::new(std::env::current_exe()?)
        .args(["bench", COMMAND, &format!("{SERVERS}/flushes"), &bytes.to_string(), &seconds.to_string()])
        .envs(variables)
        .output()?;
    if !done.status.success() {
        return Err(format!("measuring flushes: {}", String::from_utf8_lossy(&done.stderr)).into());
    }
    let printed = String::from_utf8(done.stdout)?;
    let times: Vec<(f64, u64)> =
        printed.lines().map(|l| l.parse().map(|ms| (ms, 1))).collect::<std::result::Result<_, _>>()?;
    let sum: f64 = times.iter().map(|(ms, _)| ms).sum();
    let events = times.len() as f64;
    let latency = Percentiles::of(&times);
    Ok(Outcome { per_second: events * 1e3 / sum, events: Some(events), latency, ..Outcome::default() })
}

/// The child: prints the milliseconds of each flush, rising.
pub fn child(args: &[String]) -> Result<()> {
    let [file, bytes, seconds] = args else { return Err("flushes FILE BYTES SECONDS".into()) };
    let (bytes, time) = (bytes.parse::<u64>()?, Duration::from_secs(seconds.parse()?));
    let mut times = flush_for(Path::new(file), bytes.clamp(1, FILE_BYTES), time)?;
    std::fs::remove_file(file)?;
    times.sort_unstable();
    for taken in times {
        println!("{:.6}", taken.as_secs_f64() * 1e3);
    }
    Ok(())
}

fn flush_for(path: &Path, bytes: u64, time: Duration) -> Result<Vec<Duration>> {
    let file = File::create(path)?;
    // Really written: the first flush of blocks that are only reserved commits the file system's
    // journal.
    file.write_all_at(&vec![1; usize::try_from(FILE_BYTES)?], 0)?;
    file.sync_all()?;
    let block = vec![2; usize::try_from(bytes)?];
    let mut times = Vec::new();
    let mut at = 0;
    let began = Instant::now();
    while began.elapsed() < time || times.is_empty() {
        let flush_began = Instant::now();
        file.write_all_at(&block, at)?;
        file.sync_data()?;
        times.push(flush_began.elapsed());
        at = if at + 2 * bytes > FILE_BYTES { 0 } else { at + bytes };
    }
    Ok(times)
}
