//! Making a backup: what of a data directory the repository lacks is copied there, then the
//! backup's manifest says what belongs to it.

use super::backend::inside;
use super::choose;
use super::key::to_hex;
use super::logs::{self, ArchivedLog, Archiving};
use super::manifest::{Manifest, StoredFile};
use super::piece::Content;
use super::rate::Rate;
use super::repository::{Repository, TABLES, backup_folder, table_name};
use super::source::{Opened, Source};
use crate::log_tool::ToolError;
use crate::log_tool::end_of_log;
use crate::progress::{Progress, Unit};
use crate::tool::{in_threads, log_number, name_of};
use aws_lc_rs::digest::{SHA256, digest};
use parking_lot::Mutex;
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

/// Read at once, in bytes.
const PIECE: usize = 1 << 20;
/// So much of a table's end tells it from others: its index and its properties are there.
const TAIL: u64 = 64 << 10;

/// What a backup came to.
pub(super) struct Taken {
    pub(super) manifest: Manifest,
    /// Bytes of tables that were copied.
    pub(super) copied: u64,
    /// The log, as it was archived for it.
    pub(super) log: ArchivedLog,
}

/// Makes a backup, with so many threads. The repository is locked. `is_first`: this program has not
/// compared it with the server yet.
pub(super) fn take(
    repository: &Repository,
    source: &Source<'_>,
    jobs: usize,
    is_first: bool,
) -> Result<Taken, ToolError> {
    let env = &**source.env;
    let ids = repository.ids()?;
    let mut id = id_of(env.now());
    // Backups are named by the second.
    while ids.contains(&id) {
        std::thread::sleep(Duration::from_millis(100));
        id = id_of(env.now());
    }
    let folder = backup_folder(&id);
    repository.sweep(false)?;
    let known = choose::latest(repository, "backup")?;
    check_server(known.as_ref(), source)?;
    let store = source.store()?;
    let mut files = Vec::new();
    for (path, bytes) in source.small_files()?.into_iter().chain(store.small) {
        files.push(put_small(repository, &folder, path, &bytes)?);
    }
    repository.files.sync(&folder)?;
    let (tables, copied) = copy_tables(repository, known, &store.tables, &source.rate, jobs)?;
    repository.files.sync(TABLES)?;
    let archiving = Archiving { is_first, is_locked: true, tables: store.position };
    let log = logs::archive(repository, source, archiving)?;
    let manifest = finish(
        source,
        &log,
        Manifest {
            id,
            until: 0,
            server_uuid: source.server_uuid()?,
            log_name: source.log_name.clone(),
            files,
            tables,
            ..Manifest::default()
        },
    )?;
    repository.put_manifest(&manifest)?;
    Ok(Taken { manifest, copied, log })
}

/// `20261128T021500Z`.
fn id_of(now: u64) -> String {
    let moment = binlog::json_lines::moment(now);
    let digits: String = moment.chars().filter(char::is_ascii_digit).take(14).collect();
    let (date, time) = digits.split_at(digits.len().min(8));
    format!("{date}T{time}Z")
}

/// A repository is one server's.
fn check_server(known: Option<&Manifest>, source: &Source<'_>) -> Result<(), ToolError> {
    let uuid = source.server_uuid()?;
    match known {
        Some(last) if last.server_uuid != uuid => Err(ToolError::Refused(format!(
            "the repository holds backups of the server {}, and this one is {uuid}: each needs a repository of its own",
            last.server_uuid
        ))),
        _ => Ok(()),
    }
}

/// Where the log ends, and what it needs in front.
fn finish(source: &Source<'_>, log: &ArchivedLog, manifest: Manifest) -> Result<Manifest, ToolError> {
    let nothing = || ToolError::Refused(format!("'{}' has no log file yet", source.path.display()));
    let position_number =
        |name: &String| log_number(name, &source.log_name).map(|number| i64::from(number) + log.shift);
    let first = match log.needed {
        Some(wanted) => log.names.iter().find(|name| position_number(name) == Some(i64::from(wanted))),
        None => log.names.first(),
    };
    let log_first = first.cloned().ok_or_else(|| match log.needed {
        Some(number) => ToolError::Refused(format!(
            "the log file that the tables need, number {number} in positions, is not flushed yet or is missing: try again"
        )),
        None => nothing(),
    })?;
    let log_last = log.names.last().cloned().ok_or_else(nothing)?;
    let env = &**source.env;
    let end = end_of_log(env, &source.path.join(&log_last), log.end)?;
    let mut until = end.last_commit;
    // A file may have no transaction.
    for name in log.names.iter().rev().skip(1) {
        if until.is_none() {
            until = end_of_log(env, &source.path.join(name), u64::MAX)?.last_commit;
        }
    }
    Ok(Manifest {
        until: until.unwrap_or(0),
        log_first,
        log_last,
        log_end: end.end,
        gtid_executed: end.executed.to_string().replace('\n', ""),
        gtid_last: end.last_gtid.to_string(),
        ..manifest
    })
}

fn put_small(
    repository: &Repository,
    folder: &str,
    path: String,
    bytes: &[u8],
) -> Result<StoredFile, ToolError> {
    let piece = format!("{}.piece", path.replace('/', "-"));
    let mut writer = repository.write(&inside(folder, &piece), bytes.len() as u64)?;
    writer.append(bytes)?;
    Ok(StoredFile { path, piece, content: writer.finish()? })
}

/// Copies the tables that the repository lacks; returns all, and the bytes that were copied.
/// `known` is the latest backup: a table that it does not have was made after it.
fn copy_tables(
    repository: &Repository,
    known: Option<Manifest>,
    tables: &[Opened],
    rate: &Rate,
    jobs: usize,
) -> Result<(Vec<StoredFile>, u64), ToolError> {
    let known = known.into_iter().flat_map(|backup| backup.tables);
    let known: HashMap<String, Content> = known.map(|stored| (stored.piece, stored.content)).collect();
    let present: HashSet<String> = repository.files.list(TABLES)?.into_iter().collect();
    let total = tables.iter().map(|table| table.len).sum();
    let progress = Mutex::new(Progress::new(&*repository.env, "copying tables", Unit::Bytes, total));
    let next = AtomicUsize::new(0);
    let stored: Mutex<Vec<(usize, StoredFile)>> = Mutex::new(Vec::new());
    let copied = Mutex::new(0);
    let work = || -> Result<(), ToolError> {
        loop {
            let number = next.fetch_add(1, Relaxed);
            let Some(table) = tables.get(number) else { return Ok(()) };
            let piece = piece_of(table)?;
            let path = table_name(&piece);
            let content = match (known.get(&piece), present.contains(&piece)) {
                (Some(content), true) => {
                    progress.lock().add(table.len);
                    *content
                }
                // A backup that was broken off has left it: it is read, for nobody has noted what
                // it is.
                (None, true) => match repository.read(&path)?.read_all(&mut |_| Ok(())) {
                    Ok(content) => {
                        progress.lock().add(table.len);
                        content
                    }
                    Err(_) => copy_table(repository, table, rate, &path, &progress, &copied)?,
                },
                _ => copy_table(repository, table, rate, &path, &progress, &copied)?,
            };
            stored.lock().push((number, StoredFile { path: table.path.clone(), piece, content }));
        }
    };
    in_threads(jobs, work)?;
    let mut stored = stored.into_inner();
    stored.sort_by_key(|(number, _)| *number);
    Ok((stored.into_iter().map(|(_, stored)| stored).collect(), copied.into_inner()))
}

/// The name of the piece that holds this table, and no other: the numbers of tables may be given
/// again where an older state was restored.
fn piece_of(table: &Opened) -> Result<String, ToolError> {
    let failed = |e| ToolError::io("read", Path::new(&table.path), e);
    let from = table.len.saturating_sub(TAIL);
    let mut tail = vec![0; (table.len - from) as usize];
    table.file.read_exact_at(&mut tail, from).map_err(failed)?;
    let hash = to_hex(&digest(&SHA256, &tail).as_ref()[..8]);
    let name = name_of(Path::new(&table.path));
    Ok(format!("{}-{}-{hash}.piece", name.trim_end_matches(".table"), table.len))
}

fn copy_table(
    repository: &Repository,
    table: &Opened,
    rate: &Rate,
    name: &str,
    progress: &Mutex<Progress<'_>>,
    copied: &Mutex<u64>,
) -> Result<Content, ToolError> {
    let failed = |e| ToolError::io("read", Path::new(&table.path), e);
    let mut writer = repository.write(name, table.len)?;
    let (mut bytes, mut at) = (vec![0; PIECE], 0);
    while at < table.len {
        let n = PIECE.min((table.len - at) as usize);
        rate.wait(&*repository.env, n as u64);
        table.file.read_exact_at(&mut bytes[..n], at).map_err(failed)?;
        writer.append(&bytes[..n])?;
        at += n as u64;
        progress.lock().add(n as u64);
    }
    *copied.lock() += table.len;
    writer.finish()
}
