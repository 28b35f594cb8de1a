//! The folder that becomes a data directory: `NAME.unfinished`, with a file that says so. Once it
//! is whole it gets its name, and then loses that file: as long as it has it, under either name, no
//! server starts on it, and the next one that makes `NAME` removes it, if the one that made it is
//! gone, which a lock on that file tells. So a power cut at any moment leaves nothing, a data
//! directory, or what is replaced. What is removed loses its name first, so that it is never an empty
//! folder, in which a server would begin a new database.

use super::super::ToolError;
use super::say;
use crate::encryption::refuse_locked;
use crate::tool::name_of;
use env::{Env, OpenMode};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The file in it.
const MARKER: &str = "duramen-unfinished";

const TEXT: &str = "This is the beginning of a data directory: 'duramen restore', 'duramen binlog replay' or 'duramen repair' is \
                    making it, or was ended before it was whole. Then it is of no use.\n";
/// What that begins with, in whichever version.
const TEXT_BEGIN: &[u8] = b"This is the beginning of a data directory";

/// True for a data directory that is not whole yet.
pub(crate) fn is_unfinished(env: &dyn Env, datadir: &Path) -> bool {
    env.exists(&datadir.join(MARKER))
}

/// For commands that read a data directory: it is not whole, or they have not the keys for it.
pub(crate) fn refuse_unreadable(env: &dyn Env, datadir: &Path) -> Result<(), ToolError> {
    if !is_unfinished(env, datadir) {
        return refuse_locked(env, datadir);
    }
    let datadir = datadir.display();
    Err(ToolError::Refused(format!(
        "'{datadir}' is an unfinished data directory: 'duramen restore', 'duramen binlog replay' or 'duramen repair' was ended before \
         it was whole, or is at work. Call that again, or remove it"
    )))
}

/// The folder that becomes the data directory; removed if it does not (P2).
pub(crate) struct Unfinished {
    env: Arc<dyn Env>,
    /// Where it is now.
    pub(crate) path: PathBuf,
    /// `NAME.unfinished`.
    aside: PathBuf,
    is_finished: bool,
    _lock: Box<dyn Send + Sync>,
}

impl Unfinished {
    pub(crate) fn begin(env: Arc<dyn Env>, target: &Path) -> Result<Self, ToolError> {
        let name = target.file_name().ok_or_else(|| {
            ToolError::Refused(format!("'{}' is no name for a new data directory", target.display()))
        })?;
        let path = target.with_file_name(format!("{}.unfinished", name.to_string_lossy()));
        for left in [&path, target] {
            remove_left(&*env, left, &path)?;
            refuse_full(&*env, left)?;
        }
        env.create_dir_all(&path).map_err(|e| ToolError::io("make the folder", &path, e))?;
        let lock = lock(&*env, &path)?;
        let aside = path.clone();
        let begun = Self { env, path, aside, is_finished: false, _lock: lock };
        begun.mark().map_err(|e| ToolError::io("write", &begun.path.join(MARKER), e))?;
        Ok(begun)
    }

    /// The file is durable before anything else in the folder can be.
    fn mark(&self) -> io::Result<()> {
        let file = self.env.open(&self.path.join(MARKER), OpenMode::ReadWrite)?;
        file.write_at(TEXT.as_bytes(), 0)?;
        file.sync_all()?;
        self.env.sync_dir(&self.path)
    }

    pub(crate) fn finish(mut self, target: &Path) -> Result<(), ToolError> {
        let named = rename(&*self.env, &self.path, target);
        named.map_err(|e| ToolError::io("name the new data directory", target, e))?;
        // If it keeps the file, it is none.
        target.clone_into(&mut self.path);
        let marker = self.path.join(MARKER);
        let unmarked = self.env.remove_file(&marker).and_then(|()| self.env.sync_dir(&self.path));
        unmarked.map_err(|e| ToolError::io("remove", &marker, e))?;
        self.is_finished = true;
        Ok(())
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if !self.is_finished
            && let Err(e) = remove(&*self.env, &self.path, &self.aside)
        {
            say(format_args!("can't remove '{}': {e}", self.path.display()));
        }
    }
}

/// Removes what stands under a name that is not whole, if who made it is gone; `aside` is the other
/// name for it.
fn remove_left(env: &dyn Env, path: &Path, aside: &Path) -> Result<(), ToolError> {
    if !is_unfinished(env, path) {
        return Ok(());
    }
    let _lock = lock(env, path)?;
    if !is_left(env, path) {
        return Err(in_the_making(path));
    }
    say(format_args!("removing '{}': what made it was ended before it was whole", path.display()));
    remove(env, path, aside).map_err(|e| ToolError::io("remove", path, e))
}

/// With the lock: false if the other program has finished it since it was looked at. Then the file
/// has gone, or taking the lock has made it again, without a byte; before anything else is in the
/// folder it has all of them ([`Unfinished::mark`]).
fn is_left(env: &dyn Env, path: &Path) -> bool {
    let marker = path.join(MARKER);
    let Ok(text) = env.read_file(&marker) else { return false };
    if text.starts_with(TEXT_BEGIN) {
        return true;
    }
    let is_alone = env.read_dir(path).is_ok_and(|inside| inside.iter().all(|inner| *inner == marker));
    if !is_alone && text.is_empty() {
        let _ = env.remove_file(&marker);
    }
    is_alone
}

fn in_the_making(path: &Path) -> ToolError {
    let path = path.display();
    ToolError::Refused(format!("'{path}' is being made by another program: wait for it, or name another one"))
}

/// Refuses a name under which something is.
fn refuse_full(env: &dyn Env, path: &Path) -> Result<(), ToolError> {
    let is_empty = env.read_dir(path).is_ok_and(|inside| inside.is_empty());
    if !env.exists(path) || is_empty {
        return Ok(());
    }
    let path = path.display();
    Err(ToolError::Refused(format!("'{path}' is there already: name another one, or remove it")))
}

/// The lock of who makes the directory. Recovery locks the folder itself, so this is the file's
/// alone.
fn lock(env: &dyn Env, path: &Path) -> Result<Box<dyn Send + Sync>, ToolError> {
    let marker = path.join(MARKER);
    env.lock_file_alone(&marker).map_err(|e| match e.kind() {
        ErrorKind::WouldBlock => in_the_making(path),
        _ => ToolError::io("lock", &marker, e),
    })
}

/// Gives it another name in the same folder, durably.
fn rename(env: &dyn Env, from: &Path, to: &Path) -> io::Result<()> {
    env.rename(from, to)?;
    let above = to.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
    env.sync_dir(above)
}

/// Removes it under the name `aside`, and the file that marks it last, also on the disk: what is left
/// of it never looks whole.
fn remove(env: &dyn Env, path: &Path, aside: &Path) -> io::Result<()> {
    if path != aside {
        rename(env, path, aside)?;
    }
    let path = aside;
    for inner in env.read_dir(path)? {
        match env.read_dir(&inner) {
            Ok(_) => env.remove_tree(&inner)?,
            Err(_) if name_of(&inner) == MARKER => {}
            Err(_) => env.remove_file(&inner)?,
        }
    }
    env.sync_dir(path)?;
    env.remove_tree(path)
}
