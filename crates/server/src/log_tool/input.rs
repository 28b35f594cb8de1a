//! Which files are read, and which of their events.
//!
//! A file is named by its path; `-` is standard input; a data directory stands for the files that
//! its index lists; with `--server` names are those of a server's files, all of them if none is
//! given. A file that is in use ends at its last whole event: what follows, zeros or half an
//! event, is not part of the log yet.

use super::ToolError;
use super::arguments::Arguments;
use crate::remote::Remote;
use crate::tool::{listed_logs, log_index};
use binlog::event::{Event, EventType, FormatDescription, decode, decode_format_description};
use binlog::file::{FileError, FileReader, Input, RawEvent};
use binlog::gtid::GtidSet;
use env::{Env, OpenMode, UnixMicros};
use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A binary log file, standard input, or a file of a server.
#[derive(Clone)]
pub(super) struct LogFile {
    /// Its name without the folder.
    pub(super) name: String,
    /// `None` for standard input, and for a server's.
    pub(super) path: Option<PathBuf>,
    remote: Option<Remote>,
}

impl LogFile {
    /// The file of this path.
    pub(super) fn at(path: PathBuf) -> Self {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Self { name, path: Some(path), remote: None }
    }

    pub(super) fn open(&self, env: &dyn Env) -> Result<FileReader, ToolError> {
        let input = match (&self.path, &self.remote) {
            (None, Some(remote)) => Input::stream(remote.open(&self.name)?),
            (None, None) => Input::stream(Box::new(std::io::stdin())),
            (Some(path), _) => {
                Input::file(env.open(path, OpenMode::Read).map_err(|e| ToolError::io("open", path, e))?)
            }
        };
        FileReader::new(input).map_err(|e| self.error(e))
    }

    pub(super) fn error(&self, source: FileError) -> ToolError {
        ToolError::File {
            file: self.path.as_ref().map_or(self.name.clone(), |p| p.display().to_string()),
            source,
        }
    }
}

/// The files that the command line names, in its order.
pub(super) fn log_files(env: &Arc<dyn Env>, arguments: &Arguments) -> Result<Vec<LogFile>, ToolError> {
    if let Some(remote) = Remote::of(env, arguments)? {
        let names = if arguments.files.is_empty() { remote.files()? } else { arguments.files.clone() };
        let file = |name| LogFile { name, path: None, remote: Some(remote.clone()) };
        return Ok(names.into_iter().map(file).collect());
    }
    arguments.need_files()?;
    let env = &**env;
    let mut found = Vec::new();
    for name in &arguments.files {
        let path = Path::new(name);
        if name == "-" {
            found.push(LogFile { name: name.clone(), path: None, remote: None });
        } else if let Ok(inside) = env.read_dir(path) {
            found.extend(indexed(env, path, &inside)?);
        } else {
            found.push(LogFile::at(path.to_owned()));
        }
    }
    Ok(found)
}

/// The files that the index of a data directory lists.
pub(super) fn indexed(env: &dyn Env, dir: &Path, inside: &[PathBuf]) -> Result<Vec<LogFile>, ToolError> {
    let Some(index) = log_index(inside) else {
        let dir = dir.display();
        return Err(ToolError::Refused(format!(
            "'{dir}' has not one file *.index that lists binary logs: name the files"
        )));
    };
    let text = env.read_file(index).map_err(|e| ToolError::io("read", index, e))?;
    Ok(listed_logs(&text).into_iter().map(|name| LogFile::at(dir.join(name))).collect())
}

/// Which events are wanted.
#[derive(Debug, Default)]
pub(super) struct Selection {
    /// Of the first file: events from here on.
    pub(super) start_position: Option<u64>,
    /// Of the last file: events before this.
    pub(super) stop_position: Option<u64>,
    pub(super) start_time: Option<UnixMicros>,
    pub(super) stop_time: Option<UnixMicros>,
    pub(super) include_gtids: Option<GtidSet>,
    pub(super) exclude_gtids: Option<GtidSet>,
}

impl Selection {
    fn has_gtids(&self) -> bool {
        self.include_gtids.is_some() || self.exclude_gtids.is_some()
    }

    /// Whether the group that a GTID event opens is wanted; `None` for events that open none.
    fn wants_group(&self, event: &Event<'_>) -> Option<bool> {
        let Event::Gtid(gtid) = event else {
            return matches!(event, Event::MariadbGtid(_)).then_some(self.include_gtids.is_none());
        };
        let Some(id) = gtid.gtid else { return Some(self.include_gtids.is_none()) };
        let is_in = |set: &GtidSet| set.contains(id);
        Some(self.include_gtids.as_ref().is_none_or(is_in) && !self.exclude_gtids.as_ref().is_some_and(is_in))
    }
}

/// Takes an event, and says whether to go on.
pub(super) type Visit<'a> = &'a mut dyn FnMut(&LogFile, RawEvent<'_>) -> Result<ControlFlow<()>, ToolError>;

/// Walks the wanted events of all files, in order, until `visit` breaks off. Each file's format
/// description is among them in any case.
pub(super) fn walk(
    env: &dyn Env,
    files: &[LogFile],
    selection: &Selection,
    visit: Visit<'_>,
) -> Result<(), ToolError> {
    for (i, file) in files.iter().enumerate() {
        let from = selection.start_position.filter(|_| i == 0).unwrap_or(0);
        let to = selection.stop_position.filter(|_| i + 1 == files.len()).unwrap_or(u64::MAX);
        let range = Range { start: from, end: to };
        if walk_file(env, file, selection, range, visit)?.is_break() {
            break;
        }
    }
    Ok(())
}

/// `range` is in bytes; events that begin in it are visited.
fn walk_file(
    env: &dyn Env,
    file: &LogFile,
    selection: &Selection,
    range: Range<u64>,
    visit: Visit<'_>,
) -> Result<ControlFlow<()>, ToolError> {
    let mut reader = file.open(env)?;
    let mut format = FormatDescription::new("", 0);
    let mut skips_group = false;
    loop {
        let in_use = reader.in_use();
        let event = match reader.next_event() {
            Ok(Some(event)) => event,
            Ok(None) => return Ok(ControlFlow::Continue(())),
            Err(e) if in_use && e.is_damage() => {
                eprintln!("duramen binlog: {}: the file is in use; no whole event {e}", file.name);
                return Ok(ControlFlow::Continue(()));
            }
            Err(e) => return Err(file.error(e)),
        };
        let kind = event.header.event_type;
        let broken = |source| file.error(FileError::Event { at: event.start, source });
        if kind == EventType::FORMAT_DESCRIPTION {
            format = decode_format_description(event.bytes).map_err(broken)?;
            let is_first = event.start < range.start;
            if visit(file, event)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
            if is_first {
                reader.skip_to(range.start).map_err(|e| file.error(e))?;
            }
            continue;
        }
        if event.start >= range.end {
            return Ok(ControlFlow::Continue(()));
        }
        let time = u64::from(event.header.timestamp) * 1_000_000;
        if selection.stop_time.is_some_and(|stop| time >= stop) {
            return Ok(ControlFlow::Break(()));
        }
        if selection.has_gtids() && opens_group(kind) {
            let wanted = selection.wants_group(&decode(event.bytes, &format).map_err(broken)?);
            skips_group = wanted == Some(false);
        }
        let is_early = selection.start_time.is_some_and(|start| time < start);
        let ends_file = matches!(kind, EventType::ROTATE | EventType::STOP);
        if !is_early && (!skips_group || ends_file) && visit(file, event)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
}

/// True for the events that open a transaction.
pub(super) fn opens_group(kind: EventType) -> bool {
    kind.is_gtid() || kind == EventType::MARIADB_GTID
}
