//! A file that is being made, from front to back.

use super::ToolError;
use crate::encryption::rows_in;
use env::{Env, File, OpenMode};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Written in pieces of so many bytes.
const PIECE: usize = 1 << 20;

pub(crate) struct NewFile {
    path: PathBuf,
    file: Arc<dyn File>,
    pending: Vec<u8>,
    written: u64,
}

impl NewFile {
    /// Makes it; it must not be there.
    pub(crate) fn create(env: &dyn Env, path: &Path) -> Result<Self, ToolError> {
        Self::open(env, path, OpenMode::CreateNew)
    }

    /// As [`Self::create`], in a data directory: what holds rows is encrypted if there is a key.
    pub(crate) fn create_data(env: &dyn Env, path: &Path) -> Result<Self, ToolError> {
        Self::open(env, path, rows_in(path).map_or(OpenMode::CreateNew, OpenMode::CreateNewRows))
    }

    /// As [`Self::create`], for its owner alone.
    pub(crate) fn create_private(env: &dyn Env, path: &Path) -> Result<Self, ToolError> {
        Self::open(env, path, OpenMode::CreateNewPrivate)
    }

    fn open(env: &dyn Env, path: &Path, mode: OpenMode) -> Result<Self, ToolError> {
        let file = env.open(path, mode).map_err(|e| ToolError::io("make", path, e))?;
        Ok(Self { path: path.to_owned(), file, pending: Vec::new(), written: 0 })
    }

    /// Its length so far, in bytes.
    pub(crate) fn len(&self) -> u64 {
        self.written + self.pending.len() as u64
    }

    pub(crate) fn append(&mut self, bytes: &[u8]) -> Result<(), ToolError> {
        self.pending.extend_from_slice(bytes);
        if self.pending.len() >= PIECE { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> Result<(), ToolError> {
        self.try_write().map_err(|e| ToolError::io("write", &self.path, e))
    }

    fn try_write(&mut self) -> io::Result<()> {
        self.file.write_at(&self.pending, self.written)?;
        self.written += self.pending.len() as u64;
        self.pending.clear();
        Ok(())
    }

    /// Makes it durable, its name not.
    pub(crate) fn finish(mut self) -> Result<u64, ToolError> {
        self.write()?;
        self.file.sync_all().map_err(|e| ToolError::io("flush", &self.path, e))?;
        Ok(self.written)
    }
}
