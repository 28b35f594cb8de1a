//! The data directory of a server, running or not, as a backup reads it. Nothing in it is locked,
//! made, changed or removed.
//!
//! 1. `store/CURRENT`, then the manifest that it names: which tables there are, and up to which
//!    position of the log.
//! 2. The tables, all opened at once. A compaction may remove one between the two: then begin
//!    again. Once it is open it stays, whoever removes its name.
//! 3. The log's index and files, likewise. The log has all up to the tables' position, since tables
//!    are never made beyond what the log holds durably.

use super::manifest::is_plain;
use super::rate::Rate;
use crate::log_tool::replay::copy::is_data;
use crate::log_tool::replay::refuse_unreadable;
use crate::log_tool::{ToolError, printable};
use crate::tool::{listed_logs, log_index, name_of};
use binlog::LogPosition;
use binlog::event::{Event, EventType, FormatDescription, LogResetEvent, decode, decode_format_description};
use binlog::file::{FileReader, Input};
use env::{Env, File, OpenMode, SimEnv};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use storage::STORE_FOLDER;
use storage::check::StoreFiles;

/// How often it is begun again if tables were removed meanwhile.
const ATTEMPTS: usize = 50;

/// A file that is open.
pub(super) struct Opened {
    /// Its path in the data directory.
    pub(super) path: String,
    pub(super) file: Arc<dyn File>,
    /// In bytes.
    pub(super) len: u64,
}

/// What the tables are made of, at one moment.
#[derive(Default)]
pub(super) struct Store {
    /// `store/CURRENT` and the manifest.
    pub(super) small: Vec<(String, Vec<u8>)>,
    pub(super) tables: Vec<Opened>,
    /// Up to where the tables have everything; `None` without tables.
    pub(super) position: Option<LogPosition>,
}

/// A log file.
pub(super) struct OpenedLog {
    pub(super) name: String,
    pub(super) file: Arc<dyn File>,
}

pub(super) struct Source<'a> {
    pub(super) env: &'a Arc<dyn Env>,
    pub(super) path: &'a Path,
    /// What log files are called before their number.
    pub(super) log_name: String,
    /// Of copying tables.
    pub(super) rate: Rate,
}

impl<'a> Source<'a> {
    pub(super) fn open(env: &'a Arc<dyn Env>, path: &'a Path, rate: Rate) -> Result<Self, ToolError> {
        let inside = env.read_dir(path).map_err(|e| ToolError::io("read the data directory", path, e))?;
        refuse_unreadable(&**env, path)?;
        let Some(index) = log_index(&inside) else {
            let path = path.display();
            return Err(ToolError::Refused(format!(
                "'{path}' is no data directory: it has not one file *.index that lists binary logs"
            )));
        };
        let log_name = index.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Self { env, path, log_name, rate })
    }

    fn read(&self, path: &Path) -> Result<Vec<u8>, ToolError> {
        self.env.read_file(path).map_err(|e| ToolError::io("read", path, e))
    }

    /// The server's identity, as `auto.cnf` has it.
    pub(super) fn server_uuid(&self) -> Result<String, ToolError> {
        let path = self.path.join("auto.cnf");
        let text = self.read(&path)?;
        let text = String::from_utf8_lossy(&text).into_owned();
        let uuid = text.lines().find_map(|line| line.trim().strip_prefix("server-uuid="));
        uuid.map(str::to_owned)
            .ok_or_else(|| ToolError::Refused(format!("'{}' has no line server-uuid=UUID", path.display())))
    }

    /// The small files beside log and tables: identity, certificates, channels.
    pub(super) fn small_files(&self) -> Result<Vec<(String, Vec<u8>)>, ToolError> {
        let mut found = Vec::new();
        let inside = self.env.read_dir(self.path);
        for path in inside.map_err(|e| ToolError::io("read the data directory", self.path, e))? {
            let name = name_of(&path);
            // Logs of statements and errors are no data, and may be large.
            let is_wanted =
                is_data(&name, &self.log_name) && !name.ends_with(".log") && !name.ends_with(".err");
            if !is_wanted || self.env.read_dir(&path).is_ok() {
                continue;
            }
            if !is_plain(&name) {
                return Err(ToolError::Refused(format!(
                    "'{}' has a name that a backup can't hold: rename or remove it",
                    printable(&path.display().to_string())
                )));
            }
            match self.env.read_file(&path) {
                Ok(content) => found.push((name, content)),
                // It was a temporary one.
                Err(e) if e.kind() == ErrorKind::NotFound => {}
                Err(e) => return Err(ToolError::io("read", &path, e)),
            }
        }
        Ok(found)
    }

    /// Steps 1 and 2.
    pub(super) fn store(&self) -> Result<Store, ToolError> {
        let mut last = None;
        for _ in 0..ATTEMPTS {
            match self.try_store()? {
                Ok(store) => return Ok(store),
                Err(gone) => last = Some(gone),
            }
        }
        let gone = last.unwrap_or_default();
        Err(ToolError::Refused(format!(
            "'{}' is missing, though the manifest names it, again and again: is the data directory damaged? 'duramen check' tells more",
            gone.display()
        )))
    }

    /// The table that is gone is told.
    fn try_store(&self) -> Result<Result<Store, PathBuf>, ToolError> {
        let folder = self.path.join(STORE_FOLDER);
        let current = match self.env.read_file(&folder.join("CURRENT")) {
            Ok(current) => current,
            // No tables were made yet: the log is all that there is.
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Ok(Store::default())),
            Err(e) => return Err(ToolError::io("read", &folder.join("CURRENT"), e)),
        };
        let name = String::from_utf8_lossy(&current).trim().to_owned();
        if name.contains(['/', '\0']) || name.is_empty() {
            let path = folder.join("CURRENT");
            return Err(ToolError::Refused(format!("'{}' is damaged: it names no manifest", path.display())));
        }
        let manifest = match self.env.read_file(&folder.join(&name)) {
            Ok(manifest) => manifest,
            // A new one was begun meanwhile.
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Err(folder.join(&name))),
            Err(e) => return Err(ToolError::io("read", &folder.join(&name), e)),
        };
        // What is read is what is copied, so it is read from memory; the data directory's may be
        // another one by now, and nothing of it is to be on a disk that is not encrypted.
        let memory: Arc<dyn Env> = Arc::new(SimEnv::new(0).unencrypted());
        let made = memory.create_dir_all(&folder).and_then(|()| {
            memory.replace_file(&folder.join(&name), &manifest)?;
            memory.replace_file(&folder.join("CURRENT"), &current)
        });
        made.map_err(|e| ToolError::io("take a copy in memory of", &folder, e))?;
        let found = StoreFiles::read(&memory, &folder)
            .map_err(|e| ToolError::Refused(format!("{e}. 'duramen check' tells more")))?;
        let Some(found) = found else { return Ok(Ok(Store::default())) };
        let mut tables = Vec::new();
        for table in found.files() {
            let (name, path) = (name_of(&table.path), folder.join(name_of(&table.path)));
            let file = match self.env.open(&path, OpenMode::Read) {
                Ok(file) => file,
                Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Err(path)),
                Err(e) => return Err(ToolError::io("open", &path, e)),
            };
            let len = file.len().map_err(|e| ToolError::io("read", &path, e))?;
            if len != table.size {
                return Err(ToolError::Refused(format!(
                    "'{}' has {len} bytes, and {} by the manifest: it is damaged. 'duramen check' tells more",
                    path.display(),
                    table.size
                )));
            }
            tables.push(Opened { path: format!("{STORE_FOLDER}/{name}"), file, len });
        }
        let small =
            vec![(format!("{STORE_FOLDER}/CURRENT"), current), (format!("{STORE_FOLDER}/{name}"), manifest)];
        Ok(Ok(Store { small, tables, position: Some(found.position()) }))
    }

    /// Step 3: the files that the index lists, oldest first.
    pub(super) fn log(&self) -> Result<Vec<OpenedLog>, ToolError> {
        let index = self.path.join(format!("{}.index", self.log_name));
        'again: for _ in 0..ATTEMPTS {
            let mut files = Vec::new();
            for name in listed_logs(&self.read(&index)?) {
                let path = self.path.join(&name);
                match self.env.open(&path, OpenMode::Read) {
                    Ok(file) => files.push(OpenedLog { name, file }),
                    // It was purged meanwhile.
                    Err(e) if e.kind() == ErrorKind::NotFound => continue 'again,
                    Err(e) => return Err(ToolError::io("open", &path, e)),
                }
            }
            return Ok(files);
        }
        Err(ToolError::Refused(format!(
            "'{}' names files that are not there: 'duramen check' tells more",
            index.display()
        )))
    }
}

impl OpenedLog {
    fn error(&self, e: impl std::fmt::Display) -> ToolError {
        ToolError::Refused(format!("{}: {e}", self.name))
    }

    /// Where its last whole event ends. All before `from` is known to be whole.
    pub(super) fn end(&self, from: u64) -> Result<u64, ToolError> {
        let mut reader = FileReader::new(Input::file(self.file.clone())).map_err(|e| self.error(e))?;
        // The format, which says how to read the others.
        match reader.next_event() {
            Ok(_) => {}
            Err(e) if e.is_damage() => return Ok(0),
            Err(e) => return Err(self.error(e)),
        }
        reader.skip_to(from).map_err(|e| self.error(e))?;
        loop {
            match reader.next_event() {
                Ok(Some(_)) => {}
                Ok(None) => return Ok(reader.at()),
                // What is being written.
                Err(e) if e.is_damage() => return Ok(reader.at()),
                Err(e) => return Err(self.error(e)),
            }
        }
    }

    /// How the log was begun anew, if it was: names and positions have other numbers then.
    pub(super) fn reset(&self) -> Result<Option<LogResetEvent>, ToolError> {
        let mut reader = FileReader::new(Input::file(self.file.clone())).map_err(|e| self.error(e))?;
        let mut format = FormatDescription::new("", 0);
        while let Some(raw) = reader.next_event().map_err(|e| self.error(e))? {
            let kind = raw.header.event_type;
            match kind {
                EventType::FORMAT_DESCRIPTION => {
                    format = decode_format_description(raw.bytes).map_err(|e| self.error(e))?;
                }
                EventType::PREVIOUS_GTIDS => {}
                EventType::IGNORABLE => {
                    let event = decode(raw.bytes, &format).map_err(|e| self.error(e))?;
                    if let Event::Ignorable(body) = event
                        && let Some(reset) = LogResetEvent::decode(body).map_err(|e| self.error(e))?
                    {
                        return Ok(Some(reset));
                    }
                }
                _ => break,
            }
        }
        Ok(None)
    }
}
