//! Step 3 of a repair: the new directory's log, and what else belongs there.
//!
//! The log's files are copied whole, then examined where they lie now, and cut in front of the
//! first damage, until nothing is damaged any more. What is cut off stays next to the log as
//! `binlog.NNNNNN.cut`, so that nothing is lost that a person may still read.

use super::examine::Examination;
use super::survey::Survey;
use crate::log_tool::ToolError;
use crate::log_tool::output::NewFile;
use crate::log_tool::replay::copy::is_data;
use crate::options::{self, Command};
use crate::progress::{Progress, Unit};
use crate::tool::{log_number, name_of};
use binlog::gtid::{GtidSet, Uuid};
use binlog::log::{Examined, Log, LogError, LogOptions};
use binlog::{FileNumber, LogPosition};
use env::{Env, OpenMode};
use sql::variables::ids;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Read and written at once, in bytes.
const PIECE: usize = 1 << 20;

/// A position where the log was cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cut {
    pub(super) file: String,
    /// In bytes; 0 for the whole file.
    pub(super) offset: u64,
    pub(super) bytes: u64,
    pub(super) kept_in: String,
}

/// The log in the making.
pub(super) struct NewLog<'a> {
    env: &'a Arc<dyn Env>,
    base_name: &'a str,
    from: &'a Path,
    to: &'a Path,
    files: Vec<String>,
    cuts: Vec<Cut>,
    omitted: Vec<String>,
    /// The file whose end is damage although it looks like a torn tail: the copy has no mark that
    /// says so.
    damaged_end: Option<String>,
    survey: Option<&'a Survey>,
    /// Where the transaction begins that would stop a start.
    stops: Option<(String, u64)>,
}

impl<'a> NewLog<'a> {
    pub(super) fn new(
        env: &'a Arc<dyn Env>,
        found: &'a Examination,
        from: &'a Path,
        to: &'a Path,
    ) -> Result<Self, ToolError> {
        let (base_name, mut files) = (found.base_name.as_str(), found.log.files.clone());
        files.retain(|name| !found.of_before_reset.contains(name));
        if env.exists(&from.join(format!("{base_name}.reset"))) {
            return Err(ToolError::Refused(format!(
                "RESET BINARY LOGS AND GTIDS was broken off ({base_name}.reset is there): start the server once on a copy of \
                 the directory, which finishes it"
            )));
        }
        let damaged_end = match (&found.log.damage, files.last()) {
            (Some(LogError::Corrupt { file, .. }), Some(last)) if **file == **last => Some(last.clone()),
            _ => None,
        };
        let stops = found.rehearsed.stops.as_ref().map(|stop| (stop.file.clone(), stop.start));
        let (cuts, omitted, survey) = (Vec::new(), Vec::new(), found.survey.as_ref());
        Ok(Self { env, base_name, from, to, files, cuts, omitted, damaged_end, survey, stops })
    }

    /// Damage that lies in front of what the tables need goes with all files up to it.
    pub(super) fn omit_damage_before_tables(&mut self, found: &Examination) -> Result<(), ToolError> {
        let Some(examined) = &found.log.examined else {
            return Ok(());
        };
        let mut damage = found.log.damage_anywhere.clone();
        while let Some(LogError::Corrupt { file, .. }) = damage
            && found.is_file_before_tables(&file)
            && let Some(named) = log_number(&file, self.base_name)
            && let Some(number) = found.position_number(named)
        {
            self.omit_up_to(named);
            damage = examined.verify_from(LogPosition::new(FileNumber(number.0 + 1), 0)).err();
        }
        Ok(())
    }

    /// Damage of the copied log that lies in front of the file that the tables' position is in,
    /// which is there: the copied files up to it go, for the tables have what is in them. False if
    /// it lies elsewhere.
    fn removes_front(&mut self, file: &str, tables: LogPosition) -> Result<bool, ToolError> {
        let (Some(survey), Some(named)) = (self.survey, log_number(file, self.base_name)) else {
            return Ok(false);
        };
        let is_tables = |named: u32| survey.position_number(named) == i64::from(tables.file().0);
        let is_there = self.files.iter().any(|name| log_number(name, self.base_name).is_some_and(is_tables));
        if survey.position_number(named) >= i64::from(tables.file().0) || !is_there {
            return Ok(false);
        }
        let (omitted_before, before) = (self.omitted.len(), self.files.len());
        self.omit_up_to(named);
        for name in &self.omitted[omitted_before..] {
            let path = self.to.join(name);
            self.env.remove_file(&path).map_err(|e| ToolError::io("remove", &path, e))?;
        }
        self.write_index()?;
        Ok(self.files.len() < before)
    }

    fn omit_up_to(&mut self, last: u32) {
        let base_name = self.base_name;
        let is_after = |name: &String| log_number(name, base_name).is_some_and(|n| n > last);
        let (remaining, gone) = self.files.drain(..).partition(is_after);
        self.files = remaining;
        self.omitted.extend::<Vec<String>>(gone);
    }

    /// Copies the files, durably.
    pub(super) fn copy(&mut self) -> Result<(), ToolError> {
        let length = |name: &String| {
            let path = self.from.join(name);
            let file = self.env.open(&path, OpenMode::Read).and_then(|file| file.len());
            file.map_err(|e| ToolError::io("read", &path, e))
        };
        let total = self.files.iter().map(length).sum::<Result<u64, _>>()?;
        let mut progress = Progress::new(&**self.env, "copying the binary log", Unit::Bytes, total);
        for name in &self.files {
            copy_file(&**self.env, &self.from.join(name), &self.to.join(name), &mut progress)?;
        }
        self.write_index()
    }

    /// Cuts the log in front of the first damage at or after `from`, again and again.
    pub(super) fn cut_damage(&mut self, from: LogPosition) -> Result<Examined, ToolError> {
        // What lies after a gap can't follow what lies in front of it.
        if let Some((name, _)) = self.survey.and_then(|survey| survey.gap(&self.files, from)) {
            self.cut(&name, 0)?;
        }
        if let Some((name, start)) = self.stops.take_if(|(name, _)| self.files.contains(name)) {
            self.cut(&name, start)?;
        }
        loop {
            let examined = binlog::log::examine(self.env.clone(), self.to, self.base_name);
            let checked = examined.and_then(|examined| {
                examined.check()?;
                let ends_before = examined.recovered.end < from;
                // After the log's end nothing is to be read: the caller sees that it ends there.
                if !ends_before {
                    examined.verify_from(from)?;
                }
                Ok(examined)
            });
            let (file, offset) = match checked {
                Ok(examined) => {
                    let end = (examined.recovered.cut_bytes > 0).then_some(examined.recovered.end.offset());
                    match (end, self.damaged_end.take_if(|name| self.files.last() == Some(name))) {
                        (Some(end), Some(name)) => (name, end),
                        _ => return Ok(examined),
                    }
                }
                Err(LogError::Corrupt { loss: Some(loss), .. }) => loss.last_good_end.clone(),
                Err(LogError::Corrupt { file, .. }) => (file.to_string(), 0),
                Err(LogError::Missing { file, .. }) => (file.to_string(), 0),
                Err(error) => {
                    return Err(ToolError::Refused(format!("the copied log can't be read: {error}")));
                }
            };
            if from > LogPosition::ZERO && self.removes_front(&file, from)? {
                continue;
            }
            self.cut(&file, offset)?;
            if self.files.is_empty() && from == LogPosition::ZERO {
                return Err(ToolError::Refused(
                    "nothing of the log is left in front of the damage: there is nothing to make a database of. Restore a \
                     backup or a copy of a replica"
                        .to_owned(),
                ));
            }
        }
    }

    /// All that is left of the log is kept next to it.
    pub(super) fn cut_all(&mut self) -> Result<(), ToolError> {
        match self.files.first().cloned() {
            Some(first) => self.cut(&first, 0),
            None => Ok(()),
        }
    }

    /// The tables, at `tables`, are ahead of the log, which was cut: the log begins anew after
    /// them, as RESET BINARY LOGS AND GTIDS would have it, with the GTIDs of `purged` as executed.
    /// The copied files go; what was cut off stays.
    pub(super) fn begin_anew(&mut self, tables: LogPosition, purged: &GtidSet) -> Result<(), ToolError> {
        let failed = |e: LogError| ToolError::Refused(format!("the new log can't be begun: {e}"));
        // What the server's own options are is no matter: no transaction is committed.
        let Ok(Command::Serve(server)) = options::parse(&**self.env, &[]) else {
            return Err(ToolError::Refused("the server's options are not understood".to_owned()));
        };
        let version = server.variables.text(ids::VERSION);
        let options = LogOptions {
            base_name: self.base_name.to_owned(),
            background: false,
            ..LogOptions::new(1, Uuid([0; 16]), &version)
        };
        let (log, _) = Log::open(self.env.clone(), self.to, options).map_err(failed)?;
        // The new log's positions are after those of all rows.
        for _ in 0..FILES_PASSED_MAX {
            if log.ordered().file() >= tables.file() {
                break;
            }
            log.rotate().map_err(failed)?;
        }
        if log.ordered().file() < tables.file() {
            return Err(ToolError::Refused(format!(
                "the log is damaged long before the position {tables} that the tables are at, and no log can go on from there. \
                 Restore a backup or a copy of a replica"
            )));
        }
        let is_reset = log.reset(1, tables, log.ordered()).map_err(failed)?;
        if !is_reset || !log.add_purged(purged).map_err(failed)? {
            return Err(ToolError::Refused("the new log can't be begun".to_owned()));
        }
        log.close().map_err(failed)
    }

    fn cut(&mut self, file: &str, offset: u64) -> Result<(), ToolError> {
        let number = log_number(file, self.base_name);
        let at = self.files.iter().position(|name| log_number(name, self.base_name) >= number);
        let Some(at) = number.and(at) else {
            return Err(ToolError::Refused(format!(
                "the copied log is damaged in {file}, and can't be cut there"
            )));
        };
        let gone = self.files.split_off(at);
        // In front of the first transaction a file holds nothing that is needed.
        let keeps_beginning = gone.first().is_some_and(|name| name == file) && offset > PIECE_OF_HEADER;
        for (i, name) in gone.iter().enumerate() {
            let (path, kept_in) = (self.to.join(name), format!("{name}.cut"));
            let cut_path = self.to.join(&kept_in);
            let offset = if i == 0 && keeps_beginning { offset } else { 0 };
            let bytes = if offset > 0 {
                self.files.push(name.clone());
                self.split(&path, offset, &cut_path)?
            } else {
                let file = self.env.open(&path, OpenMode::Read).and_then(|file| file.len());
                self.env.rename(&path, &cut_path).map_err(|e| ToolError::io("rename", &path, e))?;
                file.map_err(|e| ToolError::io("read", &path, e))?
            };
            if bytes == 0 && offset > 0 {
                if gone.len() == 1 {
                    let why = format!("'{}' ends at {offset}: nothing to cut", path.display());
                    return Err(ToolError::Refused(why));
                }
                continue;
            }
            self.cuts.push(Cut { file: name.clone(), offset, bytes, kept_in });
        }
        self.write_index()
    }

    /// Moves what is after `offset` to a file of its own; how many bytes that are.
    fn split(&self, path: &Path, offset: u64, cut_path: &Path) -> Result<u64, ToolError> {
        let failed = |e| ToolError::io("cut", path, e);
        let file = self.env.open(path, OpenMode::ReadWrite).map_err(failed)?;
        let mut cut_file = NewFile::create_data(&**self.env, cut_path)?;
        let (mut piece, mut at) = (vec![0; PIECE], offset);
        loop {
            let n = file.read_at(&mut piece, at).map_err(failed)?;
            if n == 0 {
                break;
            }
            cut_file.append(&piece[..n])?;
            at += n as u64;
        }
        let bytes = cut_file.finish()?;
        if bytes == 0 {
            // It was cut there already, between two transactions.
            self.env.remove_file(cut_path).map_err(|e| ToolError::io("remove", cut_path, e))?;
            return Ok(0);
        }
        file.set_len(offset).and_then(|()| file.sync_all()).map_err(failed)?;
        Ok(bytes)
    }

    fn write_index(&self) -> Result<(), ToolError> {
        let text: String = self.files.iter().map(|name| format!("./{name}\n")).collect();
        let path = self.to.join(format!("{}.index", self.base_name));
        if self.files.is_empty() {
            // An index that lists nothing counts as damaged.
            return if self.env.exists(&path) {
                self.env.remove_file(&path).map_err(|e| ToolError::io("remove", &path, e))
            } else {
                Ok(())
            };
        }
        self.env.replace_file(&path, text.as_bytes()).map_err(|e| ToolError::io("write", &path, e))
    }

    /// Where it was cut, and which files were omitted.
    pub(super) fn finish(self) -> Result<(Vec<Cut>, Vec<String>), ToolError> {
        self.env.sync_dir(self.to).map_err(|e| ToolError::io("flush the folder", self.to, e))?;
        Ok((self.cuts, self.omitted))
    }
}

/// So many numbers of log files may be passed over; each takes some flushes.
const FILES_PASSED_MAX: u32 = 10_000;

/// A file that is good up to here at most has no event but perhaps its format description.
const PIECE_OF_HEADER: u64 = 4;

/// True if the directory has a server's UUID.
pub(super) fn has_uuid(env: &dyn Env, dir: &Path) -> bool {
    let text = env.read_file(&dir.join("auto.cnf"));
    text.is_ok_and(|text| crate::datadir::uuid_in(&String::from_utf8_lossy(&text)).is_ok())
}

/// Copies what is no log: keys and certificates, the server's UUID unless it gets a new one, and
/// the store if it is sound.
pub(super) fn others(
    env: &Arc<dyn Env>,
    found: &Examination,
    from: &Path,
    to: &Path,
    new_uuid: bool,
    with_store: bool,
) -> Result<(), ToolError> {
    let total =
        found.report.files.iter().filter(|file| file.kind == "table file").map(|file| file.bytes).sum();
    let mut progress = Progress::new(&**env, "copying tables", Unit::Bytes, total);
    for path in list(&**env, from)? {
        let name = name_of(&path);
        let is_wanted = is_data(&name, &found.base_name) && !(new_uuid && name == "auto.cnf");
        if !is_wanted || name == super::REPORT {
            continue;
        }
        if name == super::examine::STORE {
            if with_store {
                copy_folder(&**env, &path, &to.join(&name), &mut progress)?;
            }
        } else if env.read_dir(&path).is_ok() {
            copy_folder(&**env, &path, &to.join(&name), &mut progress)?;
        } else {
            copy_file(&**env, &path, &to.join(&name), &mut progress)?;
        }
    }
    env.sync_dir(to).map_err(|e| ToolError::io("flush the folder", to, e))
}

fn list(env: &dyn Env, dir: &Path) -> Result<Vec<PathBuf>, ToolError> {
    env.read_dir(dir).map_err(|e| ToolError::io("read the folder", dir, e))
}

fn copy_folder(env: &dyn Env, from: &Path, to: &Path, progress: &mut Progress<'_>) -> Result<(), ToolError> {
    env.create_dir_all(to).map_err(|e| ToolError::io("make the folder", to, e))?;
    for path in list(env, from)? {
        let name = name_of(&path);
        if name == "LOCK" || name.ends_with(".tmp") {
            continue;
        }
        match env.read_dir(&path) {
            Ok(_) => copy_folder(env, &path, &to.join(&name), progress)?,
            Err(_) => copy_file(env, &path, &to.join(&name), progress)?,
        }
    }
    env.sync_dir(to).map_err(|e| ToolError::io("flush the folder", to, e))
}

fn copy_file(env: &dyn Env, from: &Path, to: &Path, progress: &mut Progress<'_>) -> Result<(), ToolError> {
    let source = env.open(from, OpenMode::Read).map_err(|e| ToolError::io("open", from, e))?;
    let is_private = name_of(from).ends_with("key.pem");
    let mut copy =
        if is_private { NewFile::create_private(env, to)? } else { NewFile::create_data(env, to)? };
    let (mut piece, mut at) = (vec![0; PIECE], 0);
    loop {
        let n = source.read_at(&mut piece, at).map_err(|e| ToolError::io("read", from, e))?;
        if n == 0 {
            break;
        }
        copy.append(&piece[..n])?;
        at += n as u64;
        progress.add(n as u64);
    }
    copy.finish()?;
    Ok(())
}
