//! What is in a data directory: the log, the store, the catalog. Reads everything, changes nothing.
//!
//! 1. log      Examined as a start does. Where tables have to be made from it, or all is asked for,
//!    every closed file is read too.
//! 2. store    Every block of every table file.
//! 3. catalog  Its records, as the store has them; what can't be read is what a start sets aside.
//!
//! (M1) The log has everything if it goes back to its first file, and all of it is whole: then
//!      nothing in the store is lost, however damaged. Otherwise what is lost is said of each
//!      finding.

use super::rehearse::{Rehearsed, rehearse};
use super::report::{FileState, Finding, Object, Report, Severity};
use super::survey::Survey;
use crate::datadir::NoUuid;
use crate::log_tool::ToolError;
use crate::progress::{Progress, Unit};
use crate::tool::{log_number, name_of};
use binlog::event::{Event, decode, decode_format_description};
use binlog::file::{FileReader, Input};
use binlog::gtid::{Gtid, GtidSet};
use binlog::log::{Examined, InFront, IndexState, LogError, Loss};
use binlog::{FileNumber, LogPosition};
use env::Env;
use sql::catalog::{CatalogState, record};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use storage::TreeId;
use storage::check::{Damage, StoreFiles};

/// The store's folder.
pub(super) const STORE: &str = "store";

/// Where a log file's first event is, in bytes.
const FIRST_EVENT: u64 = 4;

/// More than a Stop event takes, with its checksum, and less than any transaction, in bytes.
const STOP_EVENT_MAX: u64 = 40;

/// A data directory, examined. Its lock is held.
pub(super) struct Examination {
    pub(super) report: Report,
    pub(super) base_name: String,
    pub(super) log: Log,
    /// What each log file says by itself; only if all files were read.
    pub(super) survey: Option<Survey>,
    /// What a start would come to with the log's statements.
    pub(super) rehearsed: Rehearsed,
    /// Of the catalog.
    records: Vec<record::Record>,
    pub(super) store: StoreState,
    /// `None` if it can't be read.
    pub(super) catalog: Option<CatalogState>,
    /// Objects that are set aside, or a catalog that can't be read.
    pub(super) catalog_is_damaged: bool,
    /// The catalog has lost records, and it is unknown which.
    pub(super) catalog_lost_records: bool,
    /// Log files of before a reset, next to those of the log that was begun then.
    pub(super) of_before_reset: Vec<String>,
    /// Those of them that have the name of a file of the log, by its index, or may have.
    pub(super) replaced: Vec<String>,
    /// Tables and log don't belong together.
    pub(super) is_apart: bool,
    /// The tables were made of another log, which has the same positions.
    pub(super) is_other_log: bool,
    _locks: Vec<Box<dyn Send + Sync>>,
}

pub(super) struct Log {
    /// Names of the files that belong to it, oldest first.
    pub(super) files: Vec<String>,
    pub(super) examined: Option<Examined>,
    /// What stops a start: the end, or what would be replayed.
    pub(super) damage: Option<LogError>,
    /// The first damage anywhere; only if all files were read.
    pub(super) damage_anywhere: Option<LogError>,
    /// It goes back to its first file.
    pub(super) reaches_back: bool,
}

/// The tables on disk.
pub(super) enum StoreState {
    /// There are none.
    None,
    /// It can't be said which tables there are.
    Unreadable {
        /// A crash in the first checkpoint leaves it so.
        in_first_checkpoint: bool,
    },
    Read(StoreFiles, Vec<Damage>),
}

/// What each tree is.
struct Trees(BTreeMap<TreeId, Tree>);

#[derive(Clone)]
struct Tree {
    name: String,
    /// It can be made anew from the rows.
    is_secondary: bool,
}

/// How much is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Depth {
    /// What a start reads.
    Start,
    /// Every block of every table too.
    Tables,
    /// Every file of the log too.
    Everything,
}

/// Examines the directory.
pub(super) fn examine(
    env: &Arc<dyn Env>,
    dir: &Path,
    base_name: Option<&str>,
    depth: Depth,
) -> Result<Examination, ToolError> {
    let full = depth == Depth::Everything;
    let inside = env.read_dir(dir).map_err(|e| ToolError::io("read the folder", dir, e))?;
    let locks = lock(&**env, dir)?;
    let base_name = base_name.map_or_else(|| base_name_of(&inside), str::to_owned);
    let report = Report { datadir: dir.display().to_string(), ..Report::default() };
    let names = log_names(&inside, &base_name);
    if names.is_empty() && !env.exists(&dir.join(STORE)) {
        let had_database = crate::datadir::had_database(&**env, dir).unwrap_or(false);
        let dir = dir.display();
        if had_database {
            return Err(ToolError::Refused(format!(
                "'{dir}' had a database, as duramen.lock says, and has neither tables ('{STORE}') nor a binary log \
                 ({base_name}.NNNNNN): nothing can be made of it. Put back what is missing, or restore a backup"
            )));
        }
        return Err(ToolError::Refused(format!(
            "'{dir}' is no data directory: it has neither log files {base_name}.NNNNNN nor a folder '{STORE}'; \
             --log-bin=NAME says what log files are called"
        )));
    }
    let mut found = Examination {
        report,
        base_name,
        log: Log { files: names, examined: None, damage: None, damage_anywhere: None, reaches_back: false },
        survey: None,
        rehearsed: Rehearsed::default(),
        records: Vec::new(),
        store: StoreState::None,
        catalog: None,
        catalog_is_damaged: false,
        catalog_lost_records: false,
        of_before_reset: Vec::new(),
        replaced: Vec::new(),
        is_apart: false,
        is_other_log: false,
        _locks: locks,
    };
    let store_error = found.read_store(env, dir, depth);
    found.read_catalog();
    found.examine_log(env, dir);
    found.rehearse(&**env, dir);
    let is_sound = matches!(&found.store, StoreState::Read(_, damage) if damage.is_empty())
        && !found.catalog_is_damaged
        && found.log.damage.is_none();
    if full || !is_sound {
        found.read_all_of_the_log();
        let (names, tables) = (log_names(&inside, &found.base_name), found.tables_at());
        found.survey = Some(Survey::read(&**env, dir, &names, &found.base_name, tables));
        found.find_gaps();
    }
    found.report_log(env, dir, full || !is_sound);
    found.report_store(store_error);
    found.report_catalog();
    found.report_identity(&**env, dir);
    Ok(found)
}

/// The locks that a server holds; nothing is made or written for them.
pub(super) fn lock(env: &dyn Env, dir: &Path) -> Result<Vec<Box<dyn Send + Sync>>, ToolError> {
    let mut locks = Vec::new();
    for path in [dir.join("duramen.lock"), dir.join(STORE).join("LOCK")] {
        if !env.exists(&path) {
            continue;
        }
        match env.lock_file(&path) {
            Ok(lock) => locks.push(lock),
            Err(e) if e.kind() == ErrorKind::WouldBlock => {
                let dir = dir.display();
                return Err(ToolError::Refused(format!(
                    "a server is running in '{dir}'; stop it first, or examine a copy of the directory"
                )));
            }
            // A directory that can only be read: no server runs in it that could write.
            Err(e) if matches!(e.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem) => {}
            Err(e) => return Err(ToolError::io("lock", &path, e)),
        }
    }
    Ok(locks)
}

pub(super) fn log_names(inside: &[PathBuf], base_name: &str) -> Vec<String> {
    let mut names: Vec<String> = inside.iter().map(|path| name_of(path)).collect();
    names.retain(|name| log_number(name, base_name).is_some());
    names.sort_by_key(|name| log_number(name, base_name));
    names
}

/// What log files are called, by the index file, or else by a file with a number.
pub(super) fn base_name_of(inside: &[PathBuf]) -> String {
    let names: Vec<String> = inside.iter().map(|path| name_of(path)).collect();
    let index = names.iter().find_map(|name| name.strip_suffix(".index"));
    let numbered = || {
        names.iter().find_map(|name| {
            let (base, _) = name.rsplit_once('.')?;
            log_number(name, base).map(|_| base)
        })
    };
    index.or_else(numbered).unwrap_or("binlog").to_owned()
}

/// The names in the log's index; `None` if it can't be read.
fn listed(env: &dyn Env, dir: &Path, base: &str) -> Option<Vec<String>> {
    let text = env.read_file(&dir.join(format!("{base}.index"))).ok()?;
    let names = String::from_utf8(text).ok()?;
    let names: Vec<String> =
        names.lines().map(|line| line.trim().trim_start_matches("./").to_owned()).collect();
    names.iter().all(|name| log_number(name, base).is_some()).then_some(names)
}

/// True if a log that begins so has all that an empty store needs.
fn reaches_back(examined: &Examined) -> bool {
    let first = examined.recovered.files.first().copied();
    let needed = match examined.recovered.reset {
        Some(reset) if reset.tables == LogPosition::ZERO => reset.first,
        _ => FileNumber(1),
    };
    first.is_some_and(|first| first <= needed)
}

impl Examination {
    fn read_store(&mut self, env: &Arc<dyn Env>, dir: &Path, depth: Depth) -> Option<String> {
        match StoreFiles::read(env, &dir.join(STORE)) {
            Ok(None) => None,
            Ok(Some(files)) if depth < Depth::Tables => {
                self.store = StoreState::Read(files, Vec::new());
                None
            }
            Ok(Some(files)) => {
                let list = files.files();
                let mut progress = Progress::new(
                    &**env,
                    "reading table files",
                    Unit::Bytes,
                    list.iter().map(|f| f.size).sum(),
                );
                let damage = files.check(&mut |bytes| progress.add(bytes));
                drop(progress);
                self.report.files.extend(list.iter().map(|file| FileState {
                    name: format!("{STORE}/{}", name_of(&file.path)),
                    kind: "table file",
                    bytes: file.size,
                    read: "all",
                }));
                self.store = StoreState::Read(files, damage);
                None
            }
            Err(error) => {
                let in_first_checkpoint =
                    StoreFiles::in_first_checkpoint(env, &dir.join(STORE)).unwrap_or(false);
                self.store = StoreState::Unreadable { in_first_checkpoint };
                Some(error.to_string())
            }
        }
    }

    fn read_catalog(&mut self) {
        let StoreState::Read(files, _) = &self.store else { return };
        let (mut records, mut damage) = (Vec::new(), Vec::new());
        files.read_tree(record::TREE, &mut damage, &mut |key, value, position| {
            records.push((key.to_vec(), value.to_vec(), position));
        });
        self.catalog_lost_records =
            damage.iter().any(|found| found.trees().is_some_and(|range| range.contains(&record::TREE)));
        let loaded = record::load_records(&records);
        self.records = records;
        match loaded {
            Ok(state) => {
                self.catalog_is_damaged = !state.set_aside.is_empty() || !damage.is_empty();
                self.catalog = Some(state);
            }
            Err(error) => {
                self.catalog_is_damaged = true;
                self.find(Severity::Loss, "", None, format!("the catalog can't be read: {error}"));
            }
        }
    }

    fn find(&mut self, severity: Severity, file: &str, offset: Option<u64>, what: String) -> &mut Finding {
        let finding = Finding {
            severity,
            file: file.to_owned(),
            offset,
            what,
            remedy: String::new(),
            objects: Vec::new(),
        };
        self.report.findings.push(finding);
        self.report.findings.last_mut().expect("just pushed")
    }

    /// Where the tables are; zero without tables.
    pub(super) fn tables_at(&self) -> LogPosition {
        match &self.store {
            StoreState::Read(files, _) => files.position(),
            _ => LogPosition::ZERO,
        }
    }

    /// As a start does.
    fn examine_log(&mut self, env: &Arc<dyn Env>, dir: &Path) {
        let tables = self.tables_at();
        match binlog::log::examine(env.clone(), dir, &self.base_name) {
            Ok(examined) => {
                let proof = format!("the tables hold what the log had up to {tables}");
                let checked = examined
                    .check()
                    .and_then(|()| examined.require_durable(tables, &proof))
                    .and_then(|()| examined.verify_from(tables));
                self.log.damage = checked.err();
                self.log.reaches_back = reaches_back(&examined);
                let strays: Vec<String> = examined.strays.iter().map(|path| name_of(path)).collect();
                self.log.files.retain(|name| !strays.contains(name));
                self.log.examined = Some(examined);
            }
            Err(error) => {
                let first = self.log.files.first().and_then(|name| log_number(name, &self.base_name));
                self.log.reaches_back = first == Some(1);
                self.log.damage = Some(error);
            }
        }
        self.log.damage_anywhere = self.log.damage.clone();
    }

    fn read_all_of_the_log(&mut self) {
        if let Some(examined) = &self.log.examined
            && let Err(error) = examined.verify_from(LogPosition::ZERO)
        {
            // The oldest damage comes first.
            self.log.damage_anywhere = Some(error);
        }
        self.report.log_has_everything = self.log.reaches_back && self.log.damage_anywhere.is_none();
    }

    /// As a start does; where tables have to be made of the log, from its beginning.
    fn rehearse(&mut self, env: &dyn Env, dir: &Path) {
        let Some(examined) = &self.log.examined else { return };
        let records = std::mem::take(&mut self.records);
        let (from, records) = match self.tables_are_sound() {
            true => (self.tables_at(), records),
            false if self.log.reaches_back => (LogPosition::ZERO, Vec::new()),
            false => return,
        };
        self.rehearsed = rehearse(env, dir, examined, from, records);
        for (name, why) in self.rehearsed.aside.clone() {
            let what =
                format!("a start will set {name} aside: a statement of the log can't be replayed: {why}");
            let finding = self.find(Severity::Loss, "", None, what);
            finding.remedy =
                "start the version that wrote it, or restore it from a backup; everything else works".into();
            finding.objects = vec![name];
        }
        if let Some(stop) = &self.rehearsed.stops
            && self.log.damage.is_none()
        {
            let loss = Loss {
                last_good: None,
                last_good_end: (stop.file.clone(), stop.start),
                whole_groups_after: 0,
                last_gtid_after: None,
            };
            let why = format!("the statement that ends at {} can't be replayed: {}", stop.end, stop.why);
            self.log.damage = Some(LogError::Corrupt {
                file: stop.file.as_str().into(),
                offset: stop.start,
                why: why.into(),
                loss: Some(Arc::new(loss)),
                stops_start: true,
            });
            self.log.damage_anywhere = self.log.damage.clone();
        }
    }

    /// A file after which transactions are missing that a later file's header names.
    fn find_gaps(&mut self) {
        let Some(survey) = &self.survey else { return };
        let gap = |from| survey.gap(&self.log.files, from);
        let (needed, any) = (gap(self.tables_at()), gap(LogPosition::ZERO));
        let damage = |(file, lacking): (String, GtidSet)| LogError::Corrupt {
            file: file.into(),
            offset: FIRST_EVENT,
            why: format!("it says that {} came before it, which no file has", one_line(&lacking)).into(),
            loss: None,
            stops_start: true,
        };
        self.report.log_has_everything &= any.is_none();
        if let Some(gap) = needed
            && self.log.damage.is_none()
        {
            self.log.damage = Some(damage(gap));
        }
        if let Some(gap) = any
            && self.log.damage_anywhere.is_none()
        {
            self.log.damage_anywhere = Some(damage(gap));
        }
    }

    fn report_log(&mut self, env: &Arc<dyn Env>, dir: &Path, is_read: bool) {
        let files = self.log.files.clone();
        let count = files.len();
        for (i, name) in files.iter().enumerate() {
            let file = env.open(&dir.join(name), env::OpenMode::Read).and_then(|file| file.len());
            let read = if is_read || i + 1 == count { "all" } else { "from the tables' position on" };
            let bytes = file.unwrap_or(0);
            self.report.files.push(FileState { name: name.clone(), kind: "binary log", bytes, read });
        }
        let range = match (files.first(), files.last()) {
            (Some(first), Some(last)) => format!("{first} to {last}"),
            _ => "no files".to_owned(),
        };
        if let Some(examined) = self.log.examined.clone() {
            let recovered = &examined.recovered;
            let executed = one_line(&recovered.gtid_executed);
            let last = files.last().cloned().unwrap_or_default();
            self.report.gtid_executed = Some(executed);
            self.report.log_end = Some(format!("{last}:{}", recovered.end.offset()));
            for finding in examined.findings.iter().filter(|f| !f.is_damage) {
                let is_index = finding.file.ends_with(".index") && examined.index != IndexState::Sound;
                let is_mark = finding.file.ends_with(".durable");
                let severity = if is_index || is_mark { Severity::Repairable } else { Severity::Note };
                let found = self.find(severity, &finding.file, finding.offset, finding.what.clone());
                if severity == Severity::Repairable {
                    found.remedy = "a start makes it anew from the log files; so does a repair".to_owned();
                }
            }
            for path in &examined.cut_files {
                let what = "an earlier start or repair cut this off the log and kept it".to_owned();
                self.find(Severity::Note, &name_of(path), None, what);
            }
        }
        let before_reset = self.survey.as_ref().map(Survey::before_reset).unwrap_or_default();
        let old: Vec<String> = before_reset.into_iter().filter(|name| files.contains(name)).collect();
        if !old.is_empty() && self.log.damage.is_some() {
            let what = format!(
                "{} are of the log before RESET BINARY LOGS AND GTIDS, beside files of the log that was begun then",
                old.join(", ")
            );
            let listed = listed(&**env, dir, &self.base_name);
            let is_listed = |name: &&String| listed.as_ref().is_none_or(|listed| listed.contains(*name));
            self.replaced = old.iter().filter(is_listed).cloned().collect();
            let remedy = match self.replaced.is_empty() {
                true => {
                    "move them away: they hold nothing that the log has or needs; 'duramen repair --accept-loss' leaves them out"
                        .to_owned()
                }
                false => format!(
                    "{} lie where files of the log were, by its index: put those back from a backup. 'duramen repair --accept-loss' \
                     ends the log in front of them, and what was in them is lost",
                    self.replaced.join(", ")
                ),
            };
            self.find(Severity::Loss, "", None, what).remedy = remedy;
            self.of_before_reset = old;
        }
        let mut reported = Vec::new();
        for damage in [self.log.damage_anywhere.clone(), self.log.damage.clone()].into_iter().flatten() {
            // The files of before lie where others would be missing.
            if !self.of_before_reset.is_empty() && matches!(damage, LogError::Missing { .. }) {
                continue;
            }
            let text = damage.to_string();
            if reported.contains(&text) {
                continue;
            }
            reported.push(text);
            self.report_log_damage(&damage);
        }
        if self.log.damage_anywhere.is_none() {
            let back = if self.log.reaches_back { "to its first file" } else { "not to its first file" };
            let read = if is_read { "all of it was read" } else { "read from the tables' position on" };
            self.report.sound.push(format!("the binary log, {range}, which goes back {back}; {read}"));
        }
        self.check_tables_match_log();
    }

    fn report_log_damage(&mut self, damage: &LogError) {
        let (file, offset, what) = match damage {
            LogError::Corrupt { file, offset, why, loss, .. } => {
                let mut what = format!("the binary log is damaged: {why}");
                if let Some(loss) = loss {
                    let (name, end) = &loss.last_good_end;
                    what += &match loss.last_good {
                        Some(gtid) => {
                            format!(". The last good transaction is {gtid}, which ends at {name}:{end}")
                        }
                        None => format!(". It is good up to {name}:{end}"),
                    };
                    what += &match (loss.whole_groups_after, loss.last_gtid_after) {
                        (0, _) if self.rehearsed.stops.is_some() => String::new(),
                        (0, _) => "; no whole transaction lies behind the damage in this file".to_owned(),
                        (n, None) => format!("; {n} whole transactions lie behind the damage in this file"),
                        (n, Some(last)) => {
                            format!(
                                "; {n} whole transactions lie behind the damage in this file, up to {last}"
                            )
                        }
                    };
                }
                (file.to_string(), Some(*offset), what)
            }
            LogError::Missing { file, proof } => {
                (file.to_string(), None, format!("this binary log file is missing, though {proof}"))
            }
            other => (String::new(), None, format!("the binary log can't be read: {other}")),
        };
        let remedy = if self.is_before_tables(damage) && self.tables_are_sound() {
            "the tables have all of it, so no row is lost: 'duramen repair --accept-loss' leaves this part of the log out. \
             Replicas that have not read it, and recovery to a point in it, need the file from a backup"
        } else if self.log.damage.is_none() && self.is_in_front_of_tables(damage) {
            "the tables have it, and no start reads it, so no row is lost. Replicas that have not read it, and recovery to a point in it, \
             need the file from a backup; purge it when the log has gone on"
        } else if self.tables_are_sound() && self.is_in_front_of_tables(damage) {
            "the tables have what is in front of their position, so no row up to there is lost: 'duramen repair --accept-loss' keeps \
             them and begins the log anew. Replicas that have not read the old log have to be made anew"
        } else {
            "put the file back from a backup, or copy a replica; 'duramen repair --accept-loss' keeps tables that are sound, ends the \
             log in front of the damage, and writes down what is lost"
        };
        self.find(Severity::Loss, &file, offset, what).remedy = remedy.to_owned();
    }

    /// True if the damage lies in a log file that is older than the one that replay begins with.
    pub(super) fn is_before_tables(&self, damage: &LogError) -> bool {
        matches!(damage, LogError::Corrupt { file, .. } if self.is_file_before_tables(file))
    }

    pub(super) fn is_file_before_tables(&self, file: &str) -> bool {
        let Some(number) = log_number(file, &self.base_name) else { return false };
        self.position_number(number).is_some_and(|number| number < self.tables_at().file())
    }

    /// True if the damage lies in the file that the tables' position is in, and in front of it.
    pub(super) fn is_in_front_of_tables(&self, damage: &LogError) -> bool {
        let LogError::Corrupt { file, offset, .. } = damage else { return false };
        let number = log_number(file, &self.base_name).and_then(|named| self.position_number(named));
        let tables = self.tables_at();
        number == Some(tables.file()) && *offset < tables.offset()
    }

    /// The number in positions of the log file with this number in its name: a reset of the log
    /// makes them differ.
    pub(super) fn position_number(&self, named: u32) -> Option<FileNumber> {
        let last = self.log.examined.as_ref()?.recovered.files.last()?.0;
        let last_named = log_number(self.log.files.last()?, &self.base_name)?;
        Some(FileNumber((i64::from(named) + i64::from(last) - i64::from(last_named)).try_into().ok()?))
    }

    /// True if this log begins after the position that the tables need it from.
    pub(super) fn lacks_front(&self, examined: &Examined) -> bool {
        let (recovered, tables) = (&examined.recovered, self.tables_at());
        let needed = match recovered.reset {
            Some(reset) if tables >= reset.tables => tables.file().max(reset.first),
            _ => tables.file().max(FileNumber(1)),
        };
        recovered.files.first().is_some_and(|&first| first > needed)
    }

    pub(super) fn tables_are_sound(&self) -> bool {
        matches!(&self.store, StoreState::Read(_, damage) if damage.is_empty()) && !self.catalog_is_damaged
    }

    /// Whether tables and log belong together.
    fn check_tables_match_log(&mut self) {
        let Some(examined) = self.log.examined.clone() else { return };
        let (recovered, tables) = (&examined.recovered, self.tables_at());
        let start = recovered.files.first().copied().unwrap_or(FileNumber(1));
        let is_store = matches!(self.store, StoreState::Read(..));
        if is_store && (tables > recovered.end || self.lacks_front(&examined)) && self.log.damage.is_none() {
            let what = format!(
                "the tables are at position {tables} of the log, which goes from file {} to {}: log files are missing, or \
                 the tables or the log are those of another time or server",
                start.0, recovered.end
            );
            self.is_apart = true;
            self.find(Severity::Loss, "", None, what).remedy =
                "put the missing log files back, or restore a backup or a copy of a replica".to_owned();
            return;
        }
        let fingerprint = match &self.store {
            StoreState::Read(files, _) => files.log_fingerprint(),
            _ => None,
        };
        let in_front = fingerprint.map(|fingerprint| examined.in_front(tables, fingerprint));
        if self.log.damage.is_none() && matches!(in_front, Some(Ok(InFront::Other))) {
            let file = examined.file_name(tables.file());
            let what = format!(
                "in front of position {tables}, up to which the tables hold the log, it has other transactions than the \
                 tables were made of: the tables or the log are those of another time or server"
            );
            self.is_other_log = true;
            self.find(Severity::Loss, &file, Some(tables.offset()), what).remedy =
                "put back the files that belong together, or restore a backup or a copy of a replica"
                    .to_owned();
        }
    }

    /// Tells of manifests that are newer than the one that `CURRENT` names.
    fn report_newer_manifests(&mut self) {
        let StoreState::Read(files, _) = &self.store else { return };
        let (newer, end) = (files.newer().to_vec(), self.log.examined.as_ref().map(|log| log.recovered.end));
        for newer in newer {
            let (name, position) = (&newer.name, newer.position);
            let what = format!(
                "{name} is newer than the manifest that it names, and sound; its tables are at {position}"
            );
            let current = format!("{STORE}/CURRENT");
            match end.is_some_and(|end| position > end) {
                true => {
                    let what = format!(
                        "{what}, which is more than the binary log has: CURRENT or the log is an old copy"
                    );
                    self.find(Severity::Loss, &current, None, what).remedy =
                        "put back the files that belong together, or restore a backup or a copy of a replica"
                            .to_owned();
                }
                false => {
                    let what =
                        format!("{what}. A start goes on without it: the binary log has all that is in them");
                    self.find(Severity::Note, &current, None, what);
                }
            }
        }
    }

    fn report_store(&mut self, error: Option<String>) {
        let from_log = self.report.log_has_everything;
        let severity = if from_log { Severity::Repairable } else { Severity::Loss };
        let from_log_text =
            "a repair makes all tables anew from the binary log, which has everything".to_owned();
        let position = self.tables_at();
        let (damage, instead_of, count, bytes) = match &self.store {
            StoreState::Unreadable { in_first_checkpoint: true } if from_log && self.log.damage.is_none() => {
                let what = format!(
                    "{}: as after a crash in the first checkpoint. A start makes all tables of the binary log, \
                     which has everything, and removes no file",
                    error.unwrap_or_default()
                );
                self.find(Severity::Note, STORE, None, what);
                return;
            }
            StoreState::Unreadable { .. } => {
                let what = format!(
                    "it can't be said which table files make up the tables: {}",
                    error.unwrap_or_default()
                );
                self.find(severity, STORE, None, what).remedy = match from_log {
                    true => from_log_text,
                    false => "restore a backup or a copy of a replica".to_owned(),
                };
                return;
            }
            StoreState::None => {
                let has_rows = self.log.examined.as_ref().is_some_and(|e| !e.recovered.files.is_empty());
                if from_log || !has_rows {
                    let what =
                        "there are no tables on disk yet; a start makes them from the binary log".to_owned();
                    self.find(Severity::Note, STORE, None, what);
                } else {
                    let what = "there are no tables on disk, and the log does not go back to its first file"
                        .to_owned();
                    self.find(Severity::Loss, STORE, None, what).remedy =
                        "restore a backup or a copy of a replica".to_owned();
                }
                return;
            }
            StoreState::Read(files, damage) => {
                let list = files.files();
                let bytes: u64 = list.iter().map(|file| file.size).sum();
                (damage.clone(), files.instead_of().map(ToString::to_string), list.len(), bytes)
            }
        };
        self.report.tables_at = Some(position.to_string());
        if let Some(what) = instead_of {
            self.find(Severity::Repairable, &format!("{STORE}/CURRENT"), None, what).remedy =
                "the newest manifest is sound and counts: a start makes CURRENT anew, and so does a repair"
                    .to_owned();
        }
        self.report_newer_manifests();
        if damage.is_empty() {
            let text =
                format!("{count} table files, {bytes} bytes, every block; the tables are at {position}");
            self.report.sound.push(text);
        }
        let trees = Trees::of(self.catalog.as_ref());
        for found in damage {
            let (names, loses_rows) = trees.of_damage(&found);
            let of_catalog = found.trees().is_some_and(|range| range.contains(&record::TREE));
            let (severity, remedy) = match (loses_rows, from_log) {
                (false, _) => (
                    Severity::Repairable,
                    "no row is lost: a repair makes it anew from the rows".to_owned(),
                ),
                (true, true) => (Severity::Repairable, from_log_text.clone()),
                (true, false) if of_catalog => (
                    Severity::Loss,
                    "which tables there were can't be said any more, and the log does not go back far enough to tell: restore a \
                     backup, or copy a replica"
                        .to_owned(),
                ),
                (true, false) => (
                    Severity::Loss,
                    "the log does not go back far enough to make these rows anew: restore a backup, or copy a replica; \
                     'duramen repair --accept-loss' keeps all rows but those of this block"
                        .to_owned(),
                ),
            };
            let file = format!("{STORE}/{}", name_of(&found.file));
            let what = match &found.lost {
                storage::check::Lost::Nothing => format!("{} (a filter or properties)", found.what),
                storage::check::Lost::Table { entries, .. } => {
                    format!("{}; none of the {entries} entries of this file can be read", found.what)
                }
                storage::check::Lost::Block { .. } => format!("{} of a block of rows or keys", found.what),
            };
            let finding = self.find(severity, &file, Some(found.offset), what);
            finding.remedy = remedy;
            finding.objects = names.clone();
            for name in names {
                if !self.report.objects.iter().any(|o| o.name == name) {
                    self.report.objects.push(Object { name, state: "damaged", why: found.what.clone() });
                }
            }
        }
    }

    fn report_catalog(&mut self) {
        let from_log = self.report.log_has_everything;
        // What was found first, before it was known what the log has.
        for finding in &mut self.report.findings {
            if finding.what.starts_with("the catalog can't be read") && from_log {
                finding.severity = Severity::Repairable;
                finding.remedy =
                    "a repair makes all tables anew from the binary log, which has everything".into();
            }
        }
        let Some(state) = self.catalog.clone() else { return };
        let tables: usize = state.databases.values().map(|d| d.tables.len()).sum();
        let functions: usize = state.databases.values().map(|d| d.functions.len() + d.procedures.len()).sum();
        let users = state.users.len();
        self.report.sound.push(format!(
            "the definitions of {tables} tables, {functions} stored routines and {users} accounts can be read"
        ));
        for object in state.set_aside.values() {
            let severity = if from_log { Severity::Repairable } else { Severity::Loss };
            let what = format!("{} is set aside by a start: {}", object.key, object.reason);
            let finding = self.find(severity, "", None, what);
            finding.remedy = match from_log {
                true => "a repair makes all tables anew from the binary log; it tells if that brings this one back".into(),
                false => "its record and rows are kept as they are; restore it from a backup, or DROP it".into(),
            };
            finding.objects = vec![object.key.to_string()];
            let (name, why) = (object.key.to_string(), object.reason.clone());
            self.report.objects.push(Object { name, state: "set aside", why });
        }
    }

    /// The server's UUID.
    fn report_identity(&mut self, env: &dyn Env, dir: &Path) {
        let auto = dir.join("auto.cnf");
        let text = env.read_file(&auto).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let what = match text {
            Ok(text) => match crate::datadir::uuid_in(&text) {
                Ok(_) => return,
                Err(NoUuid::Missing) => "it holds no server_uuid, and the server does not start with it",
                Err(NoUuid::Changed) => {
                    "its checksum is of another server_uuid than it holds, and the server does not start with it"
                }
            },
            Err(e) if e.kind() == ErrorKind::NotFound => {
                "it is missing: a start gives the server another server_uuid"
            }
            Err(_) => "it can't be read",
        };
        self.find(Severity::Repairable, "auto.cnf", None, what.to_owned()).remedy =
            "a repair gives the server a new server_uuid; nothing else depends on it".to_owned();
    }

    /// True if what is lost there are more than entries of secondary indexes, which are made anew
    /// from the rows.
    pub(super) fn loses_rows(&self, damage: &Damage) -> bool {
        Trees::of(self.catalog.as_ref()).of_damage(damage).1
    }

    /// True if the tables have all that the log had, damaged or not: nothing but the end of the log
    /// lies after them.
    pub(super) fn tables_have_all(&self, env: &dyn Env, dir: &Path) -> bool {
        let Some(last) = self.log.files.last() else { return false };
        let named = log_number(last, &self.base_name);
        let number = named.and_then(|named| self.position_number(named));
        let len = env.open(&dir.join(last), env::OpenMode::Read).and_then(|file| file.len());
        number == Some(self.tables_at().file())
            && len.is_ok_and(|len| len <= self.tables_at().offset() + STOP_EVENT_MAX)
    }

    /// Every GTID that the log is known to have had.
    pub(super) fn logged_gtids(&self, env: &dyn Env, dir: &Path) -> GtidSet {
        let mut logged =
            self.log.examined.as_ref().map(|e| e.recovered.gtid_executed.clone()).unwrap_or_default();
        self.survey.iter().for_each(|survey| logged.union(&survey.logged_gtids()));
        for damage in [&self.log.damage, &self.log.damage_anywhere].into_iter().flatten() {
            let LogError::Corrupt { loss: Some(loss), .. } = damage else { continue };
            // The damaged transaction itself, if its beginning can be read.
            let (name, end) = &loss.last_good_end;
            gtid_at(env, &dir.join(name), *end).into_iter().for_each(|gtid| logged.add(gtid));
            let (Some(from), Some(to)) = (loss.last_good, loss.last_gtid_after) else {
                loss.last_gtid_after.into_iter().for_each(|gtid| logged.add(gtid));
                continue;
            };
            if from.source == to.source && from.gno < to.gno {
                logged
                    .add_interval(to.source, binlog::gtid::Interval { start: from.gno + 1, end: to.gno + 1 });
            } else {
                logged.add(to);
            }
        }
        logged
    }
}

/// The GTID of the transaction that begins at `offset`.
fn gtid_at(env: &dyn Env, path: &Path, offset: u64) -> Option<Gtid> {
    let file = env.open(path, env::OpenMode::Read).ok()?;
    let mut reader = FileReader::new(Input::file(file)).ok()?;
    let format = decode_format_description(reader.next_event().ok()??.bytes).ok()?;
    reader.skip_to(offset).ok()?;
    match decode(reader.next_event().ok()??.bytes, &format).ok()? {
        Event::Gtid(event) => event.gtid,
        _ => None,
    }
}

pub(super) fn one_line(set: &GtidSet) -> String {
    set.to_string().replace('\n', "")
}

impl Trees {
    fn of(catalog: Option<&CatalogState>) -> Trees {
        let mut trees = BTreeMap::new();
        let mut add = |tree: TreeId, name: String, is_secondary| {
            trees.insert(tree, Tree { name, is_secondary });
        };
        add(record::TREE, "the catalog".to_owned(), false);
        add(TreeId(2), "prepared XA transactions".to_owned(), false);
        let Some(catalog) = catalog else { return Trees(trees) };
        for table in catalog.databases.values().flat_map(|d| d.tables.values()) {
            let name = format!("table {}.{}", table.database, table.name);
            for (number, index) in table.schema.indexes().enumerate() {
                let is_secondary = number > 0;
                let text = match is_secondary {
                    true => format!("index {} of {name}", index.name()),
                    false => format!("rows of {name}"),
                };
                add(index.tree(), text, is_secondary);
            }
        }
        for object in catalog.set_aside.values() {
            for &tree in object.trees.iter().flatten() {
                add(tree, format!("{}, which is set aside", object.key), false);
            }
        }
        Trees(trees)
    }

    /// Whose entries are lost, and whether these are more than index entries.
    fn of_damage(&self, damage: &Damage) -> (Vec<String>, bool) {
        let Some(range) = damage.trees() else { return (Vec::new(), false) };
        let known = || self.0.range(range.clone());
        let is_known = |tree: &TreeId| self.0.contains_key(tree);
        let loses_rows =
            known().any(|(_, tree)| !tree.is_secondary) || !is_known(range.start()) || !is_known(range.end());
        let mut names: Vec<String> = known().map(|(_, tree)| tree.name.clone()).collect();
        if names.is_empty() {
            names.push(format!("unknown, tree {}", range.start().0));
        }
        (names, loses_rows)
    }
}
