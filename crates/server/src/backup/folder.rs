//! A repository in a folder of this machine, or in one that is mounted.
//!
//! A file is written as `NAME.tmp`, flushed, and renamed. The lock is the operating system's, which
//! ends with the program.

use super::backend::{Backend, Lock, Output, folder_of, inside};
use crate::log_tool::ToolError;
use crate::log_tool::output::NewFile;
use crate::tool::name_of;
use env::{Env, File, OpenMode};
use parking_lot::Mutex;
use std::collections::HashSet;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(super) struct Folder {
    env: Arc<dyn Env>,
    path: PathBuf,
    /// Folders inside whose names are known to be durable.
    made: Mutex<HashSet<PathBuf>>,
}

impl Folder {
    pub(super) fn new(env: &Arc<dyn Env>, path: &Path) -> Self {
        Self { env: env.clone(), path: path.to_owned(), made: Mutex::default() }
    }

    /// Makes a folder inside, durably. One that is there may have been made by a program that was
    /// ended before it flushed the name.
    fn make_folder(&self, folder: &Path) -> Result<(), ToolError> {
        if self.made.lock().contains(folder) {
            return Ok(());
        }
        self.env.create_dir_all(folder).map_err(|e| ToolError::io("make the folder", folder, e))?;
        self.sync_path(folder.parent().unwrap_or(&self.path))?;
        self.made.lock().insert(folder.to_owned());
        Ok(())
    }

    fn sync_path(&self, folder: &Path) -> Result<(), ToolError> {
        self.env.sync_dir(folder).map_err(|e| ToolError::io("flush the folder", folder, e))
    }

    fn held(&self) -> ToolError {
        ToolError::Refused(format!(
            "another backup or prune is running in '{}'; one that is to wait for it begins again later",
            self.path.display()
        ))
    }
}

impl Backend for Folder {
    fn shown(&self, name: &str) -> PathBuf {
        if name.is_empty() { self.path.clone() } else { self.path.join(name) }
    }

    fn local_folder(&self) -> Option<&Path> {
        Some(&self.path)
    }

    fn make(&self, text: &[u8]) -> Result<(), ToolError> {
        for folder in ["", "tables", "logs", "backups"] {
            let folder = self.shown(folder);
            self.env.create_dir_all(&folder).map_err(|e| ToolError::io("make the folder", &folder, e))?;
        }
        let title = self.path.join("repository");
        self.env.replace_file(&title, text).map_err(|e| ToolError::io("write", &title, e))?;
        for above in self.path.ancestors().skip(1) {
            // Those that were made just now can be opened; others are durable already.
            let _ = self.env.sync_dir(above);
        }
        Ok(())
    }

    fn list(&self, folder: &str) -> Result<Vec<String>, ToolError> {
        let path = self.shown(folder);
        match self.env.read_dir(&path) {
            Ok(found) => Ok(found.iter().map(|path| name_of(path)).collect()),
            // Something else of that name is no folder.
            Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(Vec::new()),
            Err(e) => Err(ToolError::io("read the folder", &path, e)),
        }
    }

    fn list_below(&self, folder: &str) -> Result<Vec<(String, String)>, ToolError> {
        let mut found = Vec::new();
        for inner in self.list(folder)? {
            let files = self.list(&inside(folder, &inner))?;
            found.extend(files.into_iter().map(|name| (inner.clone(), name)));
        }
        Ok(found)
    }

    fn lists_all_at_once(&self) -> bool {
        false
    }

    fn open(&self, name: &str) -> Result<Option<Box<dyn Read + Send>>, ToolError> {
        let path = self.shown(name);
        match self.env.open(&path, OpenMode::Read) {
            Ok(file) => Ok(Some(Box::new(FileInput { file, at: 0 }))),
            Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
            Err(e) => Err(ToolError::io("open", &path, e)),
        }
    }

    fn create(&self, name: &str, _len: u64) -> Result<Box<dyn Output>, ToolError> {
        let env = self.env.clone();
        self.make_folder(&self.shown(folder_of(name)))?;
        let path = self.shown(name);
        let temporary = path.with_extension("tmp");
        if env.exists(&temporary) {
            env.remove_file(&temporary).map_err(|e| ToolError::io("remove", &temporary, e))?;
        }
        let file = NewFile::create_private(&*env, &temporary)?;
        Ok(Box::new(FileOutput { env, path, file }))
    }

    fn sync(&self, folder: &str) -> Result<(), ToolError> {
        let path = self.shown(folder);
        if self.env.exists(&path) { self.sync_path(&path) } else { Ok(()) }
    }

    fn remove(&self, name: &str) -> Result<(), ToolError> {
        let path = self.shown(name);
        match self.env.remove_file_of_others(&path) {
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
            done => done.map_err(|e| ToolError::io("remove", &path, e)),
        }
    }

    fn remove_while_locked(&self, name: &str) -> Result<(), ToolError> {
        self.remove(name)
    }

    fn remove_folder(&self, folder: &str) -> Result<(), ToolError> {
        let path = self.shown(folder);
        self.made.lock().remove(&path);
        self.env.remove_tree(&path).map_err(|e| ToolError::io("remove", &path, e))
    }

    fn sweep(&self, folders: &[String]) -> Result<(), ToolError> {
        for folder in folders {
            for name in self.list(folder)? {
                if name.ends_with(".tmp") {
                    self.remove(&inside(folder, &name))?;
                }
            }
        }
        Ok(())
    }

    fn lock(&self) -> Result<Lock, ToolError> {
        self.try_lock()?.ok_or_else(|| self.held())
    }

    fn try_lock(&self) -> Result<Option<Lock>, ToolError> {
        let lock = self.path.join("repository.lock");
        match self.env.lock_file(&lock) {
            Ok(held) => Ok(Some(held)),
            Err(e) if e.kind() == ErrorKind::WouldBlock => Ok(None),
            Err(e) => Err(ToolError::io("lock", &lock, e)),
        }
    }

    fn check_lock(&self) -> Result<(), ToolError> {
        Ok(())
    }

    fn confirm_lock(&self) -> Result<(), ToolError> {
        Ok(())
    }

    fn is_lock_costly(&self) -> bool {
        false
    }
}

struct FileInput {
    file: Arc<dyn File>,
    at: u64,
}

impl Read for FileInput {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.file.read_at(into, self.at)?;
        self.at += n as u64;
        Ok(n)
    }
}

struct FileOutput {
    env: Arc<dyn Env>,
    path: PathBuf,
    file: NewFile,
}

impl Output for FileOutput {
    fn append(&mut self, bytes: &[u8]) -> Result<(), ToolError> {
        self.file.append(bytes)
    }

    fn finish(self: Box<Self>) -> Result<(), ToolError> {
        let Self { env, path, file } = *self;
        file.finish()?;
        env.rename(&path.with_extension("tmp"), &path).map_err(|e| ToolError::io("name", &path, e))
    }
}
