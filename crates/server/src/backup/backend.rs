//! Where the files of a repository are: what a folder and object storage have in common.
//!
//! A file is named by its path in the repository, with `/`; folders are what stands in front of a
//! `/` in names, and need not be made.
//!
//! (F1) A file has its name only when it is whole. It is durable then, in a folder after `sync`.
//! (F2) What has its name is listed; what was removed is not.
//! (F3) Whoever has the lock is the only one who removes backups and what they need.
//!
//! Elsewhere: a folder (`folder.rs`), object storage (`bucket.rs`), and which of them an option
//! means (`location.rs`).

use crate::log_tool::ToolError;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A lock, held until it is dropped.
pub(super) type Lock = Box<dyn Send + Sync>;

/// The files of a repository.
pub(super) trait Backend: Send + Sync {
    /// What messages call a file; the repository itself has the name "".
    fn shown(&self, name: &str) -> PathBuf;

    /// The folder, if it is one of this machine.
    fn local_folder(&self) -> Option<&Path>;

    /// Makes an empty repository with the file `repository`.
    fn make(&self, title: &[u8]) -> Result<(), ToolError>;

    /// Names of files and folders directly inside a folder, sorted; none if it is not there.
    fn list(&self, folder: &str) -> Result<Vec<String>, ToolError>;

    /// All files in the folders of a folder, as pairs of a folder's and a file's name, sorted.
    fn list_below(&self, folder: &str) -> Result<Vec<(String, String)>, ToolError>;

    /// True if [`Self::list_below`] costs hardly more than [`Self::list`].
    fn lists_all_at_once(&self) -> bool;

    /// A file, to be read from front to back; `None` if it is not there.
    fn open(&self, name: &str) -> Result<Option<Box<dyn Read + Send>>, ToolError>;

    /// A file that has its name after [`Output::finish`], and replaces one of that name then. Its
    /// content has about `len` bytes.
    fn create(&self, name: &str, len: u64) -> Result<Box<dyn Output>, ToolError>;

    /// Makes the names of files that were made in a folder, or removed there, durable.
    fn sync(&self, folder: &str) -> Result<(), ToolError>;

    /// Removes a file. It is no error if it is not there.
    fn remove(&self, name: &str) -> Result<(), ToolError>;

    /// As [`Self::remove`], of what the program that has the lock may remove: nothing is removed,
    /// by a request that is still under way either, once another program may have it.
    fn remove_while_locked(&self, name: &str) -> Result<(), ToolError>;

    /// Removes a folder with all that is in it.
    fn remove_folder(&self, folder: &str) -> Result<(), ToolError>;

    /// Removes what broken-off writes left half-written in these folders.
    fn sweep(&self, folders: &[String]) -> Result<(), ToolError>;

    /// Takes the lock. `Refused` if another program has it.
    fn lock(&self) -> Result<Lock, ToolError>;

    /// Takes the lock; `None` if another program has it.
    fn try_lock(&self) -> Result<Option<Lock>, ToolError>;

    /// An error if the lock that was taken may be another program's by now.
    fn check_lock(&self) -> Result<(), ToolError>;

    /// As [`Self::check_lock`], and asks for it: no other program had it since it was taken.
    fn confirm_lock(&self) -> Result<(), ToolError>;

    /// True if a lock costs so much that appending to the log does without it (L4 of `logs.rs`).
    fn is_lock_costly(&self) -> bool;
}

/// A file that is being written, from front to back.
pub(super) trait Output: Send {
    /// Adds to its end.
    fn append(&mut self, bytes: &[u8]) -> Result<(), ToolError>;

    /// Gives it its name (F1).
    fn finish(self: Box<Self>) -> Result<(), ToolError>;
}

/// The folder that a name is in; "" for the repository.
pub(super) fn folder_of(name: &str) -> &str {
    name.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// A name in a folder.
pub(super) fn inside(folder: &str, name: &str) -> String {
    match folder {
        "" => name.to_owned(),
        _ => format!("{folder}/{name}"),
    }
}
