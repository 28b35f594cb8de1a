//! The folder that holds backups.
//!
//! | name | what |
//! | --- | --- |
//! | `repository` | what this folder is, for people and for programs |
//! | `repository.lock` | locked while backups are made or removed |
//! | `tables/NAME-SIZE-HASH.piece` | a table file, whichever backups need it |
//! | `logs/NAME/FROM-TO.piece` | the bytes of a log file from one offset to another |
//! | `backups/TIME/` | a backup: small files, each a piece, and `backup.piece`, which says what belongs to it and is written last |
//!
//! (R1) A piece has its name only when it is whole and durable, and is never changed.
//! (R2) `backup.piece` is written when all that it names is durable: a backup that was broken off
//!      is none, and what it left is used by the next one.
//! (R3) Pieces are removed only after the backups that name them.

use super::manifest::Manifest;
use super::piece::{Key, PieceReader, PieceWriter};
use crate::log_tool::ToolError;
use crate::tool::name_of;
use env::Env;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const TITLE: &str = "duramen backup repository 1";

/// An open repository.
pub(super) struct Repository {
    pub(super) env: Arc<dyn Env>,
    path: PathBuf,
    pub(super) key: Option<Key>,
}

/// Bytes of a log file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) path: PathBuf,
}

impl Repository {
    /// Opens one that is there.
    pub(super) fn open(env: &Arc<dyn Env>, path: &Path, key: Option<Key>) -> Result<Self, ToolError> {
        let found = Self { env: env.clone(), path: path.to_owned(), key };
        let title = found.path.join("repository");
        let text = env.read_file(&title).map_err(|e| match e.kind() {
            std::io::ErrorKind::NotFound => {
                ToolError::Refused(format!("'{}' is no repository of backups", path.display()))
            }
            _ => ToolError::io("read", &title, e),
        })?;
        match String::from_utf8_lossy(&text).lines().next() {
            Some(TITLE) => Ok(found),
            Some(line) if line.starts_with("duramen backup repository ") => Err(ToolError::Refused(format!(
                "'{}' is of a format that this version of duramen does not know: {line}",
                path.display()
            ))),
            _ => Err(ToolError::Refused(format!("'{}' is no repository of backups", path.display()))),
        }
    }

    /// Opens it, or makes one of a folder that is empty or not there.
    pub(super) fn open_or_make(env: &Arc<dyn Env>, path: &Path, key: Option<Key>) -> Result<Self, ToolError> {
        let is_empty = env.read_dir(path).is_ok_and(|inside| inside.is_empty());
        if env.exists(path) && !is_empty {
            return Self::open(env, path, key);
        }
        for folder in ["", "tables", "logs", "backups"] {
            let folder = path.join(folder);
            env.create_dir_all(&folder).map_err(|e| ToolError::io("make the folder", &folder, e))?;
        }
        let text = format!(
            "{TITLE}\n\nBackups of a Duramen server. 'duramen backup list --from=FOLDER' tells which, 'duramen restore --help' how\n\
             to get one back. Nothing here is to be changed or removed by hand; 'duramen backup prune' removes old ones.\n"
        );
        let title = path.join("repository");
        env.replace_file(&title, text.as_bytes()).map_err(|e| ToolError::io("write", &title, e))?;
        Self::open(env, path, key)
    }

    /// Keeps other programs from making and removing backups.
    pub(super) fn lock(&self) -> Result<Box<dyn Send + Sync>, ToolError> {
        let lock = self.path.join("repository.lock");
        self.env.lock_file(&lock).map_err(|e| match e.kind() {
            std::io::ErrorKind::WouldBlock => ToolError::Refused(format!(
                "another backup or prune is running in '{}'; one that is to wait for it begins again later",
                self.path.display()
            )),
            _ => ToolError::io("lock", &lock, e),
        })
    }

    pub(super) fn tables(&self) -> PathBuf {
        self.path.join("tables")
    }

    pub(super) fn table(&self, piece: &str) -> PathBuf {
        self.tables().join(piece)
    }

    pub(super) fn log(&self, name: &str) -> PathBuf {
        self.path.join("logs").join(name)
    }

    pub(super) fn backup(&self, id: &str) -> PathBuf {
        self.path.join("backups").join(id)
    }

    /// A folder for files that are needed for a moment.
    pub(super) fn scratch(&self) -> PathBuf {
        self.path.join("scratch")
    }

    pub(super) fn list(&self, folder: &Path) -> Result<Vec<PathBuf>, ToolError> {
        match self.env.read_dir(folder) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
            found => found.map_err(|e| ToolError::io("read the folder", folder, e)),
        }
    }

    pub(super) fn sync(&self, folder: &Path) -> Result<(), ToolError> {
        self.env.sync_dir(folder).map_err(|e| ToolError::io("flush the folder", folder, e))
    }

    /// Makes a folder inside, durably.
    pub(super) fn make_folder(&self, folder: &Path) -> Result<(), ToolError> {
        if self.env.exists(folder) {
            return Ok(());
        }
        self.env.create_dir_all(folder).map_err(|e| ToolError::io("make the folder", folder, e))?;
        self.sync(folder.parent().unwrap_or(&self.path))
    }

    pub(super) fn remove(&self, path: &Path) -> Result<(), ToolError> {
        self.env.remove_file_of_others(path).map_err(|e| ToolError::io("remove", path, e))
    }

    pub(super) fn read(&self, path: &Path) -> Result<PieceReader, ToolError> {
        PieceReader::open(&*self.env, path, self.key.as_ref())
    }

    pub(super) fn write(&self, path: &Path) -> Result<PieceWriter<'_>, ToolError> {
        PieceWriter::create(&*self.env, path, self.key.as_ref())
    }

    /// The names of log files of which something is archived, oldest first.
    pub(super) fn log_names(&self) -> Result<Vec<String>, ToolError> {
        let mut names: Vec<String> = self.list(&self.path.join("logs"))?.iter().map(|p| name_of(p)).collect();
        names.sort_by(|a, b| log_order(a).cmp(&log_order(b)));
        Ok(names)
    }

    /// What is archived of a log file, from its first byte on and without gaps; of several that
    /// begin at one place the longest. What lies behind a gap is not told.
    pub(super) fn segments(&self, name: &str) -> Result<Vec<Segment>, ToolError> {
        let mut found: Vec<Segment> = self.list(&self.log(name))?.into_iter().filter_map(segment).collect();
        found.sort_by_key(|segment| (segment.from, std::cmp::Reverse(segment.to)));
        let (mut chain, mut end): (Vec<Segment>, u64) = (Vec::new(), 0);
        for segment in found {
            if segment.from == end && segment.to > end {
                end = segment.to;
                chain.push(segment);
            }
        }
        Ok(chain)
    }

    /// All segments of a log file, also those that others cover.
    pub(super) fn all_segments(&self, name: &str) -> Result<Vec<Segment>, ToolError> {
        Ok(self.list(&self.log(name))?.into_iter().filter_map(segment).collect())
    }

    /// Hands over a log file's archived bytes, and says how many there are.
    pub(super) fn read_log(
        &self,
        name: &str,
        take: &mut dyn FnMut(&[u8]) -> Result<(), ToolError>,
    ) -> Result<u64, ToolError> {
        let mut end = 0;
        for segment in self.segments(name)? {
            let content = self.read(&segment.path)?.read_all(take)?;
            if content.len != segment.to - segment.from {
                let path = segment.path.display();
                return Err(ToolError::Refused(format!(
                    "'{path}' is damaged: it has another length than its name says"
                )));
            }
            end = segment.to;
        }
        Ok(end)
    }

    /// All whole backups, oldest first.
    pub(super) fn backups(&self) -> Result<Vec<Manifest>, ToolError> {
        let mut all = Vec::new();
        for folder in self.list(&self.path.join("backups"))? {
            let path = folder.join(MANIFEST);
            if self.env.exists(&path) {
                all.push(self.manifest(&name_of(&folder))?);
            }
        }
        all.sort_by(|a, b| a.id.cmp(&b.id));
        Ok(all)
    }

    /// A backup's manifest.
    pub(super) fn manifest(&self, id: &str) -> Result<Manifest, ToolError> {
        let path = self.backup(id).join(MANIFEST);
        let mut text = Vec::new();
        self.read(&path)?.read_all(&mut |bytes| {
            text.extend_from_slice(bytes);
            // As the largest that can be meant: a line for each of ten million tables.
            if text.len() > 2 << 30 {
                return Err(ToolError::Refused(format!("'{}' is too long", path.display())));
            }
            Ok(())
        })?;
        let manifest = Manifest::parse(id, &String::from_utf8_lossy(&text));
        manifest.ok_or_else(|| {
            ToolError::Refused(format!(
                "'{}' is of a format that this version of duramen does not know",
                path.display()
            ))
        })
    }

    /// Writes a backup's manifest, with which it is one (R2).
    pub(super) fn put_manifest(&self, manifest: &Manifest) -> Result<(), ToolError> {
        let folder = self.backup(&manifest.id);
        let mut writer = self.write(&folder.join(MANIFEST))?;
        writer.append(manifest.text().as_bytes())?;
        writer.finish()?;
        self.sync(&folder)
    }
}

/// The file that makes a backup of a folder.
pub(super) const MANIFEST: &str = "backup.piece";

/// Puts the names of log files in their order: binlog.1000000 comes after binlog.999999.
pub(super) fn log_order(name: &str) -> (usize, &str) {
    (name.len(), name)
}

/// The path of a segment in its log file's folder.
pub(super) fn segment_name(from: u64, to: u64) -> String {
    format!("{from:016}-{to:016}.piece")
}

fn segment(path: PathBuf) -> Option<Segment> {
    let name = name_of(&path);
    let (from, to) = name.strip_suffix(".piece")?.split_once('-')?;
    Some(Segment { from: from.parse().ok()?, to: to.parse().ok()?, path })
}
