//! Step 2 of a replay: the new data directory's files.
//!
//! Not copied: what only a running server has (lock, process id, socket, temporary files), what is
//! made ahead, and the server's UUID, unless it is asked for: a database that goes on from an
//! earlier point is another one, and must not give out the GTIDs again that the first gave to other
//! transactions.

use super::super::ToolError;
use super::super::output::NewFile;
use super::chain::Plan;
use super::say;
use crate::tool::name_of;
use env::{Env, OpenMode};
use std::path::Path;
use std::time::Duration;

/// Read and written at once, in bytes.
const PIECE: usize = 1 << 20;
/// How often progress is printed.
const PAUSE: Duration = Duration::from_secs(2);

pub(super) struct Copy<'a> {
    env: &'a dyn Env,
    base: &'a Path,
    target: &'a Path,
    done: u64,
    total: u64,
    reported_at: Duration,
}

impl<'a> Copy<'a> {
    pub(super) fn new(env: &'a dyn Env, base: &'a Path, target: &'a Path) -> Self {
        Self { env, base, target, done: 0, total: 0, reported_at: env.monotonic() }
    }

    /// Copies all, durably.
    pub(super) fn all(mut self, plan: &Plan, keep_uuid: bool) -> Result<(), ToolError> {
        let is_wanted = |name: &str| is_data(name, &plan.base_name) && (keep_uuid || name != "auto.cnf");
        let logs = plan.files.iter().filter_map(|file| file.path.as_deref());
        self.total = self.size(self.base, &is_wanted)?;
        for path in logs.clone() {
            self.total += self.length(path)?;
        }
        say(format_args!("copying {} MB", self.total / 1_000_000));
        self.folder(self.base, self.target, &is_wanted)?;
        for (i, (file, path)) in plan.files.iter().zip(logs).enumerate() {
            let is_last = i + 1 == plan.files.len();
            let end = if is_last { plan.last_end } else { u64::MAX };
            self.file(path, &self.target.join(&file.name), end)?;
        }
        write_index(self.env, self.target, plan)?;
        self.sync(self.target)
    }

    fn size(&self, folder: &Path, is_wanted: &dyn Fn(&str) -> bool) -> Result<u64, ToolError> {
        let mut size = 0;
        for path in self.list(folder)?.into_iter().filter(|p| is_wanted(&name_of(p))) {
            size += match self.env.read_dir(&path) {
                Ok(_) => self.size(&path, &|_| true)?,
                Err(_) => self.length(&path)?,
            };
        }
        Ok(size)
    }

    fn length(&self, path: &Path) -> Result<u64, ToolError> {
        let file = self.env.open(path, OpenMode::Read).map_err(|e| ToolError::io("open", path, e))?;
        file.len().map_err(|e| ToolError::io("read", path, e))
    }

    fn list(&self, folder: &Path) -> Result<Vec<std::path::PathBuf>, ToolError> {
        self.env.read_dir(folder).map_err(|e| ToolError::io("read the folder", folder, e))
    }

    fn folder(&mut self, from: &Path, to: &Path, is_wanted: &dyn Fn(&str) -> bool) -> Result<(), ToolError> {
        self.env.create_dir_all(to).map_err(|e| ToolError::io("make the folder", to, e))?;
        for path in self.list(from)? {
            let name = name_of(&path);
            if !is_wanted(&name) {
                continue;
            }
            let target = to.join(&name);
            match self.env.read_dir(&path) {
                Ok(_) => self.folder(&path, &target, &|name| name != "LOCK" && !name.ends_with(".tmp"))?,
                Err(_) => self.file(&path, &target, u64::MAX)?,
            }
        }
        self.sync(to)
    }

    /// Copies a file's first `end` bytes.
    fn file(&mut self, from: &Path, to: &Path, end: u64) -> Result<(), ToolError> {
        let failed = |e| ToolError::io("read", from, e);
        let source = self.env.open(from, OpenMode::Read).map_err(|e| ToolError::io("open", from, e))?;
        let is_private = name_of(from).ends_with("key.pem");
        let mut copy = if is_private {
            NewFile::create_private(self.env, to)?
        } else {
            NewFile::create_data(self.env, to)?
        };
        let mut piece = vec![0; PIECE];
        let mut at = 0;
        while at < end {
            let wanted = piece.len().min(usize::try_from(end - at).unwrap_or(usize::MAX));
            let n = source.read_at(&mut piece[..wanted], at).map_err(failed)?;
            if n == 0 {
                break;
            }
            copy.append(&piece[..n])?;
            at += n as u64;
            self.progress(n as u64);
        }
        copy.finish()?;
        Ok(())
    }

    fn progress(&mut self, bytes: u64) {
        self.done += bytes;
        let now = self.env.monotonic();
        if now.saturating_sub(self.reported_at) >= PAUSE {
            self.reported_at = now;
            say(format_args!("copied {} of {} MB", self.done / 1_000_000, self.total / 1_000_000));
        }
    }

    fn sync(&self, folder: &Path) -> Result<(), ToolError> {
        self.env.sync_dir(folder).map_err(|e| ToolError::io("flush the folder", folder, e))
    }
}

/// Makes the log in `folder` what the plan says: files that it does not have go, the last one is
/// cut, and the index is written.
pub(super) fn cut_in_place(env: &dyn Env, folder: &Path, plan: &Plan) -> Result<(), ToolError> {
    let inside = env.read_dir(folder).map_err(|e| ToolError::io("read the folder", folder, e))?;
    let log_names = format!("{}.", plan.base_name);
    for path in inside {
        let name = name_of(&path);
        if name.starts_with(&log_names) && !plan.files.iter().any(|file| file.name == name) {
            env.remove_file(&path).map_err(|e| ToolError::io("remove", &path, e))?;
        }
    }
    if let Some(last) = plan.files.last() {
        let path = folder.join(&last.name);
        let cut = env.open(&path, OpenMode::ReadWrite).and_then(|file| {
            if file.len()? > plan.last_end {
                file.set_len(plan.last_end)?;
            }
            file.sync_all()
        });
        cut.map_err(|e| ToolError::io("cut", &path, e))?;
    }
    write_index(env, folder, plan)?;
    env.sync_dir(folder).map_err(|e| ToolError::io("flush the folder", folder, e))
}

fn write_index(env: &dyn Env, folder: &Path, plan: &Plan) -> Result<(), ToolError> {
    let index: String = plan.files.iter().map(|file| format!("./{}\n", file.name)).collect();
    let path = folder.join(format!("{}.index", plan.base_name));
    env.replace_file(&path, index.as_bytes()).map_err(|e| ToolError::io("write", &path, e))
}

/// False for what a copy must not have, or makes itself: the log.
pub(crate) fn is_data(name: &str, base_name: &str) -> bool {
    let is_log = name.strip_prefix(base_name).is_some_and(|rest| rest.starts_with('.'));
    let is_running = matches!(name, "duramen.lock" | "temporary" | "spill")
        || [".pid", ".sock", ".tmp"].iter().any(|end| name.ends_with(end));
    !is_log && !is_running
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_a_running_server_has_is_not_copied() {
        for name in ["store", "auto.cnf", "server-key.pem", "binlogs-of-mine"] {
            assert!(is_data(name, "binlog"), "{name}");
        }
        for name in [
            "binlog.000001",
            "binlog.index",
            "binlog.prealloc-1",
            "duramen.lock",
            "duramen.pid",
            "duramen.sock",
            "spill",
        ] {
            assert!(!is_data(name, "binlog"), "{name}");
        }
    }
}
