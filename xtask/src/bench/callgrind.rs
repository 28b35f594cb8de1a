//! Instructions of a server, counted by callgrind, for machines whose own counters cannot be read.

use super::contender::Contender;
use crate::Result;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// What the server is run under. Fair: else a thread that waits for its turn may wait for seconds.
pub const COMMAND: [&str; 5] = [
    "valgrind",
    "--tool=callgrind",
    "--fair-sched=yes",
    PIPES,
    "--callgrind-out-file=target/bench/servers/callgrind.%p",
];

/// Where the server is spoken to: by itself it would be in its own folder for temporary files.
const PIPES: &str = "--vgdb-prefix=target/bench/servers/vgdb";

/// The instructions since this was asked last, or since the start.
pub fn instructions(server: &Contender) -> Result<u64> {
    let pid = server.pid().ok_or_else(|| format!("{} was not started here", server.name))?.to_string();
    let done = Command::new("callgrind_control").args([PIPES, "--dump", &pid]).output()?;
    if !done.status.success() {
        return Err(format!("callgrind_control: {}", String::from_utf8_lossy(&done.stderr)).into());
    }
    let dumps = dumps(&pid)?;
    if dumps.is_empty() {
        return Err(format!("no dump of callgrind: {}", String::from_utf8_lossy(&done.stdout)).into());
    }
    let mut sum = 0;
    for dump in dumps {
        let text = fs::read_to_string(&dump)?;
        let totals = text.lines().find_map(|l| l.strip_prefix("totals:"));
        sum +=
            totals.and_then(|t| t.trim().parse::<u64>().ok()).ok_or("a dump of callgrind without totals")?;
        // Each dump counts from the one before.
        fs::remove_file(dump)?;
    }
    Ok(sum)
}

/// `callgrind.PID.1` and so on; `callgrind.PID` itself is written at the end.
fn dumps(pid: &str) -> Result<Vec<PathBuf>> {
    let prefix = format!("callgrind.{pid}.");
    let files = fs::read_dir("target/bench/servers")?.collect::<std::io::Result<Vec<_>>>()?;
    let is_dump = |path: &PathBuf| path.file_name().is_some_and(|n| n.to_string_lossy().starts_with(&prefix));
    Ok(files.into_iter().map(|f| f.path()).filter(is_dump).collect())
}
