//! `duramen upgrade-check`: does this version open a data directory that another one has written?
//!
//! 1. foreign  Files that only MySQL or MariaDB makes are told.
//! 2. formats  The header of each log file, the footer of each table file, the catalog's record of
//!    its format. Newer ones end the check: what follows can't be understood.
//! 3. examine  What a start reads is read as a start does, `examine.rs` with [`Depth::Start`]:
//!    damage, and statements of the log that this version can't follow.
//!
//! (V1) The directory is only read: nothing in it is made, changed or removed.

use super::examine::{self, Depth};
use super::help;
use super::report::Severity;
use crate::log_tool::ToolError;
use crate::log_tool::arguments::{Arguments, Takes};
use crate::log_tool::replay::refuse_unreadable;
use crate::tool::{asks_for_help, folder, name_of, print};
use env::{Env, OpenMode};
use sql::catalog::record;
use sql::replica::Channels;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::Arc;
use storage::check::{StoreFiles, TABLE_FORMAT};

const OPTIONS: [Takes; 2] = [Takes::Value("datadir"), Takes::Value("log-bin")];

/// The version of binary log files: MySQL 5.0's and all since.
const LOG_FORMAT: u32 = 4;

/// So many files of newer formats are named.
const NAMED_MAX: usize = 10;

/// What only MySQL and MariaDB make, the surest first, and whose it is.
const FOREIGN: [(&str, &str); 5] = [
    ("aria_log_control", "MariaDB"),
    ("mysql.ibd", "MySQL"),
    ("#innodb_redo", "MySQL"),
    ("ibdata1", "MySQL or MariaDB"),
    ("ib_logfile0", "MySQL or MariaDB"),
];

/// One kind of file.
struct Format {
    what: &'static str,
    /// How many files have which format.
    found: BTreeMap<u32, usize>,
    reads: RangeInclusive<u32>,
    /// Files of other formats: name and what is wrong.
    refused: Vec<(String, String)>,
    /// Files whose format can't be read, likewise.
    damaged: Vec<(String, String)>,
}

impl Format {
    fn new(what: &'static str, reads: RangeInclusive<u32>) -> Self {
        Self { what, found: BTreeMap::new(), reads, refused: Vec::new(), damaged: Vec::new() }
    }

    fn add(&mut self, file: String, format: u32) {
        *self.found.entry(format).or_default() += 1;
        if !self.reads.contains(&format) {
            let of = if format > *self.reads.end() { "newer" } else { "much older" };
            let why = format!("format {format} of a {of} version than this one, which reads {}", self.read());
            self.refused.push((file, why));
        }
    }

    fn read(&self) -> String {
        match self.reads.start() == self.reads.end() {
            true => self.reads.end().to_string(),
            false => format!("{} to {}", self.reads.start(), self.reads.end()),
        }
    }

    /// Something is written in a newer format than it has.
    fn is_upgraded(&self) -> bool {
        self.refused.is_empty() && self.found.keys().any(|format| format < self.reads.end())
    }

    fn line(&self) -> String {
        let found: Vec<String> =
            self.found.iter().map(|(format, files)| format!("format {format} ({files})")).collect();
        let found = if found.is_empty() { "none".to_owned() } else { found.join(", ") };
        let writes = self.reads.end();
        let mut line = format!("{}: {found}; this version reads {}, writes {writes}", self.what, self.read());
        if self.is_upgraded() {
            line += "\n    upgraded when it is written next; versions that do not read the new format refuse it from then on";
        }
        line
    }
}

pub(super) fn run(env: &Arc<dyn Env>, args: &[String]) -> Result<u8, ToolError> {
    if asks_for_help(args) {
        return print(help::UPGRADE_CHECK).map(|()| 0);
    }
    let arguments = Arguments::parse("upgrade-check", args, &OPTIONS, &[])?;
    let dir = folder(&arguments, "datadir", "the data directory to check")?;
    refuse_unreadable(&**env, &dir)?;
    if let Some((file, whose)) = foreign(&**env, &dir) {
        print(&format!(
            "{}: a data directory of {whose}, by its {file}\nverdict: this version does not open it; 'duramen replicate' copies a \
             running server\n",
            dir.display()
        ))?;
        return Ok(2);
    }
    let (text, code) = checked(env, &dir, arguments.value("log-bin"))?;
    print(&text)?;
    Ok(code)
}

fn foreign(env: &dyn Env, dir: &Path) -> Option<(&'static str, &'static str)> {
    let is_ours = env.exists(&dir.join(examine::STORE));
    FOREIGN.into_iter().find(|(file, _)| !is_ours && env.exists(&dir.join(file)))
}

/// What is said, and the exit code.
fn checked(env: &Arc<dyn Env>, dir: &Path, base_name: Option<&str>) -> Result<(String, u8), ToolError> {
    let inside = env.read_dir(dir).map_err(|e| ToolError::io("read the folder", dir, e))?;
    let locks = examine::lock(&**env, dir)?;
    let base_name = base_name.map_or_else(|| examine::base_name_of(&inside), str::to_owned);
    let names = examine::log_names(&inside, &base_name);
    let mut text = String::new();
    let (log, writer) = log_format(&**env, dir, &names);
    let writer = writer.map_or_else(String::new, |writer| format!(", written last by {writer}"));
    let _ = writeln!(text, "{}{writer}; this is duramen {}", dir.display(), env!("CARGO_PKG_VERSION"));
    let mut formats = vec![log];
    // What can't be read is told below, with what else is wrong.
    if let Ok(Some(files)) = StoreFiles::read(env, &dir.join(examine::STORE)) {
        let tables = table_format(&files);
        let is_readable = tables.refused.is_empty() && tables.damaged.is_empty();
        formats.push(tables);
        if is_readable {
            formats.push(catalog_format(&files));
        }
    }
    for format in &formats {
        let _ = writeln!(text, "{}", format.line());
    }
    let refused: Vec<_> = formats.iter().flat_map(|format| &format.refused).collect();
    for (file, why) in refused.iter().take(NAMED_MAX) {
        let _ = writeln!(text, "refused: {file}: {why}");
    }
    if refused.len() > NAMED_MAX {
        let _ = writeln!(text, "refused: {} more files", refused.len() - NAMED_MAX);
    }
    if !refused.is_empty() {
        text += "verdict: this version does not open it; take the version that wrote it, or a newer one\n";
        return Ok((text, 2));
    }
    // The examination takes them itself.
    drop(locks);
    let found = examine::examine(env, dir, Some(&base_name), Depth::Start)?;
    let damaged: Vec<_> = formats.iter().flat_map(|format| &format.damaged).collect();
    for (file, what) in damaged.iter().take(NAMED_MAX) {
        let _ = writeln!(text, "damaged: {file}: {what}");
    }
    let channels = Channels::file_error(env.clone(), dir);
    if let Some((file, why)) = &channels {
        let _ = writeln!(text, "damaged: {file}, or of a newer version, and no channel is known then: {why}");
    }
    let is_sound = found.report.verdict() == Severity::Note && damaged.is_empty() && channels.is_none();
    for finding in found.report.findings.iter().filter(|finding| finding.severity > Severity::Note) {
        let file = if finding.file.is_empty() { String::new() } else { format!("{}: ", finding.file) };
        let _ = writeln!(text, "damaged: {file}{}", finding.what);
    }
    let is_upgraded = formats.iter().any(Format::is_upgraded);
    let (verdict, code) = match (is_sound, is_upgraded) {
        (false, _) => (
            "this version does not open it as it is, or not all of it; 'duramen check' tells more, and what can be done",
            2,
        ),
        (true, true) => ("this version opens it, and upgrades what is told above; make a backup first", 1),
        (true, false) => ("this version opens it, and all formats stay", 0),
    };
    let _ = writeln!(text, "verdict: {verdict}");
    Ok((text, code))
}

/// The format of log files, and the server that wrote the last one.
fn log_format(env: &dyn Env, dir: &Path, names: &[String]) -> (Format, Option<String>) {
    let mut format = Format::new("binary log", LOG_FORMAT..=LOG_FORMAT);
    let mut writer = None;
    for name in names {
        // A header that is no header is damage, of which the examination tells.
        if let Ok(Some((version, server))) = header(env, &dir.join(name)) {
            format.add(name.clone(), version);
            writer = Some(server);
        }
    }
    (format, writer)
}

/// The version in a log file's format description event, and the server's; `None` if it does not
/// begin with one.
fn header(env: &dyn Env, path: &Path) -> io::Result<Option<(u32, String)>> {
    /// Magic number and common header; the event's type in it.
    const BODY: usize = 4 + 19;
    const TYPE: usize = 4 + 4;
    const FORMAT_DESCRIPTION: u8 = 15;
    const SERVER_LEN: usize = 50;
    let mut bytes = [0; BODY + 2 + SERVER_LEN];
    env.open(path, OpenMode::Read)?.read_exact_at(&mut bytes, 0)?;
    if !bytes.starts_with(b"\xfebin") || bytes[TYPE] != FORMAT_DESCRIPTION {
        return Ok(None);
    }
    let version = u16::from_le_bytes([bytes[BODY], bytes[BODY + 1]]);
    let server = &bytes[BODY + 2..];
    let server = server.split(|&b| b == 0).next().unwrap_or_default();
    let printable = server.iter().filter(|b| b.is_ascii_graphic()).map(|&b| char::from(b));
    Ok(Some((version.into(), printable.collect())))
}

fn table_format(files: &StoreFiles) -> Format {
    let mut format = Format::new("tables", TABLE_FORMAT..=TABLE_FORMAT);
    files.formats(&mut |path, found| {
        let name = format!("{}/{}", examine::STORE, name_of(&path));
        match found {
            Ok(found) => format.add(name, found),
            Err(error) => format.damaged.push((name, error.to_string())),
        }
    });
    format
}

fn catalog_format(files: &StoreFiles) -> Format {
    let mut format = Format::new("catalog", 0..=record::FORMAT.into());
    let (mut records, mut damage) = (Vec::new(), Vec::new());
    files.read_tree(record::TREE, &mut damage, &mut |key, value, position| {
        records.push((key.to_vec(), value.to_vec(), position));
    });
    match damage.first() {
        Some(found) => {
            let name = format!("{}/{}", examine::STORE, name_of(&found.file));
            format.damaged.push((name, format!("at {}: {}", found.offset, found.what)));
        }
        None if records.is_empty() => {}
        None => format.add("the catalog".to_owned(), record::format_of(&records).into()),
    }
    format
}
