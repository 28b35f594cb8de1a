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
//! (R4) A piece is read under the path alone that it was written as (`piece.rs`).

use super::key::Key;
use super::manifest::Manifest;
use super::piece::{PieceReader, PieceWriter};
use crate::log_tool::{ToolError, printable};
use crate::tool::name_of;
use env::Env;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const TITLE: &str = "duramen backup repository 2";
const TITLES: &str = "duramen backup repository ";

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

/// A gap in what is archived of a log file, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Gap {
    pub(super) from: u64,
    pub(super) to: u64,
}

/// The backups of a repository.
pub(super) struct Backups {
    /// Oldest first.
    pub(super) readable: Vec<Manifest>,
    /// The folders of those whose manifest can't be read, and why.
    pub(super) unreadable: Vec<(PathBuf, ToolError)>,
}

impl Backups {
    /// Those that can be read; the others are told.
    pub(super) fn warned(self, command: &str) -> Vec<Manifest> {
        for (_, why) in &self.unreadable {
            eprintln!("duramen {command}: warning: {why}. This backup is left out");
        }
        self.readable
    }
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
            Some(line) if line.starts_with(TITLES) => Err(ToolError::Refused(format!(
                "'{}' is of format {}, and this version of duramen knows format {} alone: back up to a new folder, and keep the \
                 version that made this one as long as you need its backups",
                path.display(),
                printable(&line[TITLES.len()..]),
                &TITLE[TITLES.len()..]
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

    pub(super) fn path(&self) -> &Path {
        &self.path
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
        PieceReader::open(&*self.env, path, &self.name_in(path), self.key.as_ref())
    }

    pub(super) fn write(&self, path: &Path) -> Result<PieceWriter<'_>, ToolError> {
        PieceWriter::create(&*self.env, path, &self.name_in(path), self.key.as_ref())
    }

    /// What a piece is called in its head: its path, from the repository's folder on (R4).
    fn name_in(&self, path: &Path) -> String {
        path.strip_prefix(&self.path).unwrap_or(path).to_string_lossy().into_owned()
    }

    /// The names of log files of which something is archived, oldest first. A folder without a
    /// piece, which a kill or a full disk leaves, is none.
    pub(super) fn log_names(&self) -> Result<Vec<String>, ToolError> {
        let mut names = Vec::new();
        for folder in self.list(&self.path.join("logs"))? {
            let name = name_of(&folder);
            if is_log_name(&name) && !self.all_segments(&name)?.is_empty() {
                names.push(name);
            }
        }
        names.sort_by(|a, b| log_order(a).cmp(&log_order(b)));
        Ok(names)
    }

    /// The oldest of [`Self::log_names`].
    pub(super) fn oldest_log(&self) -> Result<Option<String>, ToolError> {
        let mut names: Vec<_> =
            self.list(&self.path.join("logs"))?.iter().map(|path| name_of(path)).collect();
        names.retain(|name| is_log_name(name));
        names.sort_by(|a, b| log_order(a).cmp(&log_order(b)));
        for name in names {
            if !self.all_segments(&name)?.is_empty() {
                return Ok(Some(name));
            }
        }
        Ok(None)
    }

    /// What is archived of a log file, from its first byte on and without gaps.
    pub(super) fn segments(&self, name: &str) -> Result<Vec<Segment>, ToolError> {
        Ok(self.chain(name)?.0)
    }

    /// The same, of several segments that begin at one place the longest; and where the first gap
    /// is: there a piece is missing, since later ones are there.
    pub(super) fn chain(&self, name: &str) -> Result<(Vec<Segment>, Option<Gap>), ToolError> {
        let mut found = self.all_segments(name)?;
        found.sort_by_key(|segment| (segment.from, std::cmp::Reverse(segment.to)));
        let (mut chain, mut end, mut gap): (Vec<Segment>, u64, Option<Gap>) = (Vec::new(), 0, None);
        for segment in found {
            if segment.from == end && segment.to > end {
                end = segment.to;
                chain.push(segment);
            } else if segment.to > end && gap.is_none() {
                gap = Some(Gap { from: end, to: segment.from });
            }
        }
        Ok((chain, gap))
    }

    /// All segments of a log file, also those that others cover.
    pub(super) fn all_segments(&self, name: &str) -> Result<Vec<Segment>, ToolError> {
        let inside = match self.env.read_dir(&self.log(name)) {
            // Something else of that name is none.
            Err(e) if e.kind() == std::io::ErrorKind::NotADirectory => Vec::new(),
            _ => self.list(&self.log(name))?,
        };
        Ok(inside.into_iter().filter_map(segment).collect())
    }

    /// Removes what backups that were broken off left half-written. The repository is locked.
    pub(super) fn sweep(&self) -> Result<(), ToolError> {
        let mut folders = vec![self.tables()];
        for above in ["logs", "backups"] {
            folders.extend(self.list(&self.path.join(above))?);
        }
        for folder in folders {
            let Ok(inside) = self.env.read_dir(&folder) else { continue };
            for path in inside {
                if path.extension().is_some_and(|extension| extension == "tmp") {
                    self.remove(&path)?;
                }
            }
        }
        Ok(())
    }

    /// Hands over the bytes of a log file's segments, and says how many there are.
    pub(super) fn read_log(
        &self,
        segments: &[Segment],
        take: &mut dyn FnMut(&[u8]) -> Result<(), ToolError>,
    ) -> Result<u64, ToolError> {
        let mut end = 0;
        for segment in segments {
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

    /// All whole backups, oldest first; of those that can't be read, why. It is an error if none
    /// can be read, though there are some: the key may be another one.
    pub(super) fn backups(&self) -> Result<Backups, ToolError> {
        let mut all = Backups { readable: Vec::new(), unreadable: Vec::new() };
        for folder in self.list(&self.path.join("backups"))? {
            if !self.env.exists(&folder.join(MANIFEST)) {
                continue;
            }
            match self.manifest(&name_of(&folder)) {
                Ok(manifest) => all.readable.push(manifest),
                Err(e) => all.unreadable.push((folder, e)),
            }
        }
        if all.readable.is_empty() && !all.unreadable.is_empty() {
            return Err(all.unreadable.swap_remove(0).1);
        }
        all.readable.sort_by(|a, b| a.id.cmp(&b.id));
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

/// True for a name of a log file, whatever comes before its number.
fn is_log_name(name: &str) -> bool {
    let number = name.rsplit_once('.').map_or("", |(_, number)| number);
    number.len() >= 6 && number.bytes().all(|b| b.is_ascii_digit())
}

fn segment(path: PathBuf) -> Option<Segment> {
    let name = name_of(&path);
    let (from, to) = name.strip_suffix(".piece")?.split_once('-')?;
    Some(Segment { from: from.parse().ok()?, to: to.parse().ok()?, path })
}
