//! The folder that becomes a data directory: `NAME.unfinished`, with a file that says so until it
//! is whole. A server does not start on it; the next one that makes `NAME` removes it, if the one
//! that made it is gone, which a lock on that file tells.

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
    pub(crate) path: PathBuf,
    is_finished: bool,
    _lock: Box<dyn Send + Sync>,
}

impl Unfinished {
    pub(crate) fn begin(env: Arc<dyn Env>, target: &Path) -> Result<Self, ToolError> {
        let name = target.file_name().ok_or_else(|| {
            ToolError::Refused(format!("'{}' is no name for a new data directory", target.display()))
        })?;
        let path = target.with_file_name(format!("{}.unfinished", name.to_string_lossy()));
        refuse_full(&*env, target)?;
        if is_unfinished(&*env, &path) {
            let _lock = lock(&*env, &path)?;
            say(format_args!("removing '{}': what made it was ended before it was whole", path.display()));
            remove(&*env, &path).map_err(|e| ToolError::io("remove", &path, e))?;
        }
        refuse_full(&*env, &path)?;
        env.create_dir_all(&path).map_err(|e| ToolError::io("make the folder", &path, e))?;
        let lock = lock(&*env, &path)?;
        let begun = Self { env, path, is_finished: false, _lock: lock };
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
        let marker = self.path.join(MARKER);
        let unmarked = self.env.remove_file(&marker).and_then(|()| self.env.sync_dir(&self.path));
        unmarked.map_err(|e| ToolError::io("remove", &marker, e))?;
        let named = self.env.rename(&self.path, target).and_then(|()| {
            let above = target.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
            self.env.sync_dir(above)
        });
        named.map_err(|e| ToolError::io("name the new data directory", target, e))?;
        self.is_finished = true;
        Ok(())
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if !self.is_finished
            && let Err(e) = remove(&*self.env, &self.path)
        {
            say(format_args!("can't remove '{}': {e}", self.path.display()));
        }
    }
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
        ErrorKind::WouldBlock => {
            let path = path.display();
            ToolError::Refused(format!(
                "'{path}' is being made by another program: wait for it, or name another one"
            ))
        }
        _ => ToolError::io("lock", &marker, e),
    })
}

/// Removes it, the file that marks it last: what is left of it never looks whole.
fn remove(env: &dyn Env, path: &Path) -> io::Result<()> {
    for inner in env.read_dir(path)? {
        match env.read_dir(&inner) {
            Ok(_) => env.remove_tree(&inner)?,
            Err(_) if name_of(&inner) == MARKER => {}
            Err(_) => env.remove_file(&inner)?,
        }
    }
    env.remove_tree(path)
}
