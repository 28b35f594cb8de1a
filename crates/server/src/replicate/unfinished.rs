//! The file that says that a data directory is not yet a copy of another server:
//! `replicate-unfinished`, lines of text.
//!
//! `source UUID-OR-ADDRESS` says of which one, `table DIGEST DATABASE.TABLE` that a table was made
//! from a definition: one that has changed since is made anew.

use super::source::Source;
use crate::datadir::make_dir;
use crate::log_tool::ToolError;
use env::Env;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const FILE: &str = "replicate-unfinished";

/// True if a copy to this directory was begun and not finished.
pub(crate) fn is_unfinished(env: &dyn Env, datadir: &Path) -> bool {
    env.exists(&datadir.join(FILE))
}

/// The file, and what is in it.
pub(super) struct Unfinished {
    env: Arc<dyn Env>,
    path: PathBuf,
    source: String,
    /// Digests of definitions by tables.
    tables: BTreeMap<String, String>,
}

impl Unfinished {
    /// Writes it into a new directory, before anything else is there, or reads that of an earlier
    /// try.
    ///
    /// # Errors
    /// The directory has something of its own, or is a copy of another server.
    pub(super) fn begin(env: &Arc<dyn Env>, datadir: &Path, source: &Source) -> Result<Self, ToolError> {
        let (path, source) = (datadir.join(FILE), source.name());
        let mut found = Self { env: env.clone(), path, source, tables: BTreeMap::new() };
        if env.exists(&found.path) {
            found.read()?;
            return Ok(found);
        }
        if env.exists(&datadir.join("auto.cnf")) {
            return Err(ToolError::Refused(format!(
                "'{}' is a server's data directory, and no half-made copy: 'duramen serve' starts it",
                datadir.display()
            )));
        }
        if env.read_dir(datadir).is_ok_and(|inside| !inside.is_empty()) {
            return Err(ToolError::Refused(format!(
                "'{}' is not empty: name a directory that is, or that is not there",
                datadir.display()
            )));
        }
        make_dir(&**env, datadir).map_err(|e| ToolError::io("make", datadir, e))?;
        found.write()?;
        Ok(found)
    }

    fn read(&mut self) -> Result<(), ToolError> {
        let bytes = self.env.read_file(&self.path).map_err(|e| ToolError::io("read", &self.path, e))?;
        let mut is_named = false;
        for line in String::from_utf8_lossy(&bytes).lines() {
            match line.split_once(' ') {
                Some(("source", name)) if name == self.source => is_named = true,
                Some(("source", name)) if name != self.source => {
                    return Err(ToolError::Refused(format!(
                        "'{}' has the beginning of a copy of another server, {name}: remove the directory to begin anew",
                        self.path.parent().unwrap_or(&self.path).display()
                    )));
                }
                Some(("table", rest)) => {
                    if let Some((digest, table)) = rest.split_once(' ') {
                        self.tables.insert(table.to_owned(), digest.to_owned());
                    }
                }
                _ => {}
            }
        }
        match is_named {
            true => Ok(()),
            false => Err(ToolError::Refused(format!(
                "'{}' is damaged, and does not say of which server this is the beginning of a copy: remove the directory to \
                 begin anew",
                self.path.display()
            ))),
        }
    }

    fn write(&self) -> Result<(), ToolError> {
        let mut text = format!("source {}\n", self.source);
        for (table, digest) in &self.tables {
            text += &format!("table {digest} {}\n", table.replace('\n', " "));
        }
        let written = self.env.replace_file(&self.path, text.as_bytes());
        written.map_err(|e| ToolError::io("write", &self.path, e))
    }

    /// True if the table was made from this definition.
    pub(super) fn has(&self, table: &str, digest: &str) -> bool {
        self.tables.get(table).is_some_and(|d| d == digest)
    }

    /// The tables that were made.
    pub(super) fn tables(&self) -> impl Iterator<Item = &str> {
        self.tables.keys().map(String::as_str)
    }

    /// Tables are made from these definitions, and from no others.
    ///
    /// # Errors
    /// The operating system's.
    pub(super) fn set_tables(&mut self, tables: BTreeMap<String, String>) -> Result<(), ToolError> {
        self.tables = tables;
        self.write()
    }

    /// The copy is whole.
    ///
    /// # Errors
    /// The operating system's.
    pub(super) fn end(self) -> Result<(), ToolError> {
        let folder = self.path.parent().unwrap_or(&self.path);
        let removed = self.env.remove_file(&self.path).and_then(|()| self.env.sync_dir(folder));
        removed.map_err(|e| ToolError::io("remove", &self.path, e))
    }
}
