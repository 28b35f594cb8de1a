//! The data directory: made at the first start, owned by one server at a time, with its UUID and
//! process id.
//!
//! - `duramen.lock`, and the directory itself, are locked as long as the server runs, so that no
//!   second one opens the same files. Once a start has made or opened tables and binary log, a line
//!   in it says so: a start that finds neither any more would be a new, empty server under the
//!   UUID of the old one. Copies of a directory don't have the file.
//! - `auto.cnf` keeps `server_uuid`, in MySQL's form, with a checksum in a comment: a server with
//!   another UUID would give out GTIDs of a server that does not exist.
//! - `duramen.pid` (or `--pid-file`) holds the process id; removed at the end.

use env::{Env, OpenMode};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use storage::STORE_FOLDER;
use thiserror::Error;

/// Why a data directory can't be used.
#[derive(Debug, Error)]
pub enum DatadirError {
    /// Another server runs on it.
    #[error("another server is running in '{}'{}; stop it first, or give --datadir another directory",
        .dir.display(), .pid.as_deref().map(|p| format!(" (process {p})")).unwrap_or_default())]
    InUse {
        /// The directory.
        dir: PathBuf,
        /// The other's process id, if it wrote one.
        pid: Option<String>,
    },
    /// The operating system said no.
    #[error("can't {action} '{}': {source}", .path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On which file.
        path: PathBuf,
        /// What was said.
        source: io::Error,
    },
    /// The file of `--pid-file` is some other file.
    #[error("'{}' is no file with a process id: it stays as it is. Name another one with --pid-file, or remove it if nobody needs it", .0.display())]
    NoPidFile(PathBuf),
    /// Tables and binary log are gone.
    #[error("'{}' had a database, as duramen.lock says, and now has neither tables ('store') nor a binary log; a start would make an \
        empty one that gives out the GTIDs of server_uuid {} again. Put back what is missing; if the \
        database is gone on purpose, remove auto.cnf: the new server then gets a UUID of its own", .dir.display(), .server_uuid)]
    Emptied {
        /// The directory.
        dir: PathBuf,
        /// What `auto.cnf` holds.
        server_uuid: String,
    },
    /// `auto.cnf` holds no UUID.
    #[error("'{}' has no line server-uuid=UUID; remove the file to give this server a new identity", .0.display())]
    NoUuid(PathBuf),
    /// `auto.cnf` has another UUID than its checksum says.
    #[error("the server-uuid in '{}' is not the one that its checksum is of: the file is damaged, or somebody has changed it. Restore it \
        from a copy; or, if the server is to have this UUID, remove the line with the checksum", .0.display())]
    ChangedUuid(PathBuf),
}

/// The file whose lock says that the directory is taken.
const LOCK: &str = "duramen.lock";

/// What is in [`LOCK`] once the directory had a database.
const HAS_DATABASE: &str = "This directory has had tables and a binary log.\n";

/// A data directory that is ours until this is dropped.
pub struct Datadir {
    env: Arc<dyn Env>,
    path: PathBuf,
    pid_file: PathBuf,
    server_uuid: String,
    is_new: bool,
    /// `auto.cnf` is missing.
    is_unwritten: bool,
    /// `duramen.lock` says that there was a database.
    had_database: bool,
    _lock: Box<dyn Send + Sync>,
}

impl Datadir {
    /// Makes the directory if it is not there, takes possession, and writes the process id.
    pub fn open(env: Arc<dyn Env>, path: &Path, pid_file: &Path) -> Result<Self, DatadirError> {
        make_dir(&*env, path).map_err(|e| failed("make the data directory", path, e))?;
        let lock_path = path.join(LOCK);
        let lock = lock(&*env, &lock_path).map_err(|e| match e.kind() {
            ErrorKind::WouldBlock => in_use(&*env, path, pid_file),
            _ => failed("lock", &lock_path, e),
        })?;
        let auto = path.join("auto.cnf");
        let has_uuid = env.exists(&auto);
        let is_new = !has_uuid && !env.exists(&path.join(STORE_FOLDER));
        let had_database = had_database(&*env, path)?;
        if has_uuid && had_database && !has_database(&*env, path)? {
            let (dir, server_uuid) = (path.to_owned(), read_uuid(&*env, &auto)?);
            return Err(DatadirError::Emptied { dir, server_uuid });
        }
        write_pid(&*env, pid_file)?;
        let server_uuid = if has_uuid { read_uuid(&*env, &auto)? } else { make_uuid(&*env) };
        if is_new {
            write_uuid(&*env, &auto, &server_uuid)?;
        }
        if !has_uuid && !is_new {
            tracing::warn!(
                "{} is missing, so this server has a new server_uuid: {server_uuid}. Its next transactions have GTIDs of \
                 that; replicas take it for another server. Put the file back before the next start if that is not wanted",
                auto.display()
            );
        }
        let (path, pid_file) = (path.to_owned(), pid_file.to_owned());
        let is_unwritten = !has_uuid && !is_new;
        Ok(Self { env, path, pid_file, server_uuid, is_new, is_unwritten, had_database, _lock: lock })
    }

    /// Tables and log are open, and nothing stops the start any more: writes that down, and
    /// `auto.cnf` if it was missing in a directory that is not new. Before, it would have changed
    /// something in a start that is refused (R2 of ARCHITECTURE.md); later, a transaction would
    /// have its GTID.
    ///
    /// # Errors
    /// [`DatadirError::Io`]
    pub(crate) fn record_database(&self) -> Result<(), DatadirError> {
        if self.is_unwritten {
            write_uuid(&*self.env, &self.path.join("auto.cnf"), &self.server_uuid)?;
        }
        match self.had_database {
            true => Ok(()),
            false => self.record_in_lock().map_err(|e| failed("write", &self.path.join(LOCK), e)),
        }
    }

    /// Writes [`HAS_DATABASE`] into an empty lock file, and over nothing: the name may lead to some
    /// other file.
    fn record_in_lock(&self) -> io::Result<()> {
        let file = self.env.open(&self.path.join(LOCK), OpenMode::ReadWrite)?;
        if file.len()? > 0 {
            return Ok(());
        }
        file.write_at(HAS_DATABASE.as_bytes(), 0)?;
        file.sync_all()
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// `@@server_uuid`: from `auto.cnf`, or made at this start if that was missing.
    pub(crate) fn server_uuid(&self) -> &str {
        &self.server_uuid
    }

    /// True if this is its first start.
    pub(crate) fn is_new(&self) -> bool {
        self.is_new
    }
}

impl Drop for Datadir {
    fn drop(&mut self) {
        // A file that remained would only mislead: the lock decides who owns the directory.
        if self.env.read_file(&self.pid_file).is_ok_and(|text| text == own_pid().as_bytes()) {
            let _ = self.env.remove_file(&self.pid_file);
        }
    }
}

/// Makes the directory, and those above it, so that a power cut does not take their names back.
pub(crate) fn make_dir(env: &dyn Env, path: &Path) -> io::Result<()> {
    let is_missing = |p: &&Path| !p.as_os_str().is_empty() && !env.exists(p);
    let missing = path.ancestors().take_while(is_missing).count();
    env.create_dir_all(path)?;
    for made in path.ancestors().take(missing) {
        let above = made.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        env.sync_dir(above)?;
    }
    Ok(())
}

/// True if the directory's lock file says that it had a database.
pub(crate) fn had_database(env: &dyn Env, dir: &Path) -> Result<bool, DatadirError> {
    let path = dir.join(LOCK);
    match env.read_file(&path) {
        Ok(text) => Ok(text == HAS_DATABASE.as_bytes()),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(false),
        Err(e) => Err(failed("read", &path, e)),
    }
}

/// True if there are tables, or a file with the name of a log file, whatever the log is called.
fn has_database(env: &dyn Env, dir: &Path) -> Result<bool, DatadirError> {
    let is_log = |path: &PathBuf| {
        let number = path.extension().unwrap_or_default().as_encoded_bytes();
        number.len() >= 6 && number.iter().all(u8::is_ascii_digit)
    };
    let inside = env.read_dir(dir).map_err(|e| failed("read the folder", dir, e))?;
    Ok(env.exists(&dir.join(STORE_FOLDER)) || inside.iter().any(is_log))
}

fn failed(action: &'static str, path: &Path, source: io::Error) -> DatadirError {
    DatadirError::Io { action, path: path.to_owned(), source }
}

/// Takes the lock. A server that was just killed has it until the system has taken its process
/// apart, so a start right behind `kill -9` waits for that a while, as InnoDB does.
fn lock(env: &dyn Env, path: &Path) -> io::Result<Box<dyn Send + Sync>> {
    const TRIES: u32 = 150;
    const PAUSE: Duration = Duration::from_millis(20);
    for _ in 1..TRIES {
        match env.lock_file(path) {
            Err(e) if e.kind() == ErrorKind::WouldBlock => std::thread::sleep(PAUSE),
            taken_or_failed => return taken_or_failed,
        }
    }
    env.lock_file(path)
}

fn in_use(env: &dyn Env, path: &Path, pid_file: &Path) -> DatadirError {
    let pid = env.read_file(pid_file).ok().and_then(|text| String::from_utf8(text).ok());
    DatadirError::InUse { dir: path.to_owned(), pid: pid.map(|p| p.trim().to_owned()) }
}

fn make_uuid(env: &dyn Env) -> String {
    let mut bytes = [0; 16];
    env.random(&mut bytes);
    // A random UUID (RFC 9562): version 4, variant 10.
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

/// Gives a directory that is being made a UUID of its own.
pub(crate) fn write_new_uuid(env: &dyn Env, dir: &Path) -> Result<(), DatadirError> {
    write_uuid(env, &dir.join("auto.cnf"), &make_uuid(env))
}

fn write_uuid(env: &dyn Env, auto: &Path, uuid: &str) -> Result<(), DatadirError> {
    let text = format!("[auto]\nserver-uuid={uuid}\n{CHECKSUM}{:08x}\n", crc32fast::hash(uuid.as_bytes()));
    env.replace_file(auto, text.as_bytes()).map_err(|e| failed("write", auto, e))
}

fn read_uuid(env: &dyn Env, auto: &Path) -> Result<String, DatadirError> {
    let content = env.read_file(auto).map_err(|e| failed("read", auto, e))?;
    match uuid_in(&String::from_utf8_lossy(&content)) {
        Ok(uuid) => Ok(uuid),
        Err(NoUuid::Missing) => Err(DatadirError::NoUuid(auto.to_owned())),
        Err(NoUuid::Changed) => Err(DatadirError::ChangedUuid(auto.to_owned())),
    }
}

/// What the checksum follows.
const CHECKSUM: &str = "# checksum of server-uuid: ";

/// Why an `auto.cnf` gives no UUID.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoUuid {
    /// It has none.
    Missing,
    /// It has another one than its checksum is of.
    Changed,
}

/// The server's UUID in the text of an `auto.cnf`. One that another server or a person wrote has no
/// checksum.
pub(crate) fn uuid_in(text: &str) -> Result<String, NoUuid> {
    let uuid = text.lines().find_map(|line| {
        let (name, value) = line.split_once('=')?;
        matches!(name.trim(), "server-uuid" | "server_uuid").then(|| value.trim().to_ascii_lowercase())
    });
    let uuid = uuid.filter(|u| is_uuid(u)).ok_or(NoUuid::Missing)?;
    let checksum = text.lines().find_map(|line| line.strip_prefix(CHECKSUM));
    match checksum.map(|sum| u32::from_str_radix(sum.trim(), 16)) {
        None => Ok(uuid),
        Some(Ok(sum)) if sum == crc32fast::hash(uuid.as_bytes()) => Ok(uuid),
        Some(_) => Err(NoUuid::Changed),
    }
}

fn is_uuid(text: &str) -> bool {
    let groups: Vec<_> = text.split('-').collect();
    groups.iter().map(|g| g.len()).eq([8, 4, 4, 4, 12])
        && groups.iter().all(|g| g.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// Writes our process id over another one, over nothing else: the option may name a file of the
/// database, or of somebody else.
fn write_pid(env: &dyn Env, path: &Path) -> Result<(), DatadirError> {
    let failed = |e| failed("write", path, e);
    if env.exists(path) && !holds_pid(env, path).map_err(failed)? {
        return Err(DatadirError::NoPidFile(path.to_owned()));
    }
    let file = env.open(path, OpenMode::Create).map_err(failed)?;
    file.set_len(0).map_err(failed)?;
    file.write_at(own_pid().as_bytes(), 0).map_err(failed)
}

fn own_pid() -> String {
    format!("{}\n", std::process::id())
}

/// True if the file holds a process id, or nothing, as a power cut leaves it.
fn holds_pid(env: &dyn Env, path: &Path) -> io::Result<bool> {
    /// The longest process id, and the end of its line.
    const LEN_MAX: u64 = 20;
    let len = env.open(path, OpenMode::Read)?.len()?;
    let is_pid = |text: &[u8]| text.trim_ascii_end().iter().all(u8::is_ascii_digit);
    Ok(len <= LEN_MAX && is_pid(&env.read_file(path)?))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use env::{RealEnv, SimEnv};

    /// A power cut once took a new data directory away whole, with what was acknowledged in it.
    #[test]
    fn a_new_directory_outlives_a_power_cut() {
        for seed in 0..20 {
            println!("seed {seed}");
            let env = SimEnv::new(seed);
            make_dir(&env, Path::new("/a/b/data")).unwrap();
            env.power_cut();
            assert!(env.reboot().exists(Path::new("/a/b/data")));
        }
    }

    /// `kill -9` returns before its process is gone: the start behind it was refused.
    #[test]
    fn a_start_waits_for_a_server_that_is_ending() {
        let env: Arc<dyn Env> = Arc::new(RealEnv);
        let folder = tempfile::tempdir().unwrap();
        let pid_file = folder.path().join("duramen.pid");
        let first = Datadir::open(env.clone(), folder.path(), &pid_file).unwrap();
        let ending = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(200));
            drop(first);
        });
        let second = Datadir::open(env, folder.path(), &pid_file);
        ending.join().unwrap();
        assert!(second.is_ok(), "{:?}", second.err());
    }

    #[test]
    fn a_directory_keeps_its_uuid_and_has_one_owner() {
        let env: Arc<dyn Env> = Arc::new(RealEnv);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data");
        let pid_file = path.join("duramen.pid");
        let first = Datadir::open(env.clone(), &path, &pid_file).unwrap();
        assert!(first.is_new() && is_uuid(first.server_uuid()));
        let second = Datadir::open(env.clone(), &path, &pid_file).err().unwrap().to_string();
        assert!(second.contains(&format!("(process {})", std::process::id())), "{second}");
        // An operator removes the lock file as stale.
        env.remove_file(&path.join("duramen.lock")).unwrap();
        let second = Datadir::open(env.clone(), &path, &pid_file).err();
        assert!(matches!(second, Some(DatadirError::InUse { .. })), "the directory itself is locked");
        let uuid = first.server_uuid().to_owned();
        drop(first);
        assert!(!env.exists(&pid_file));
        let again = Datadir::open(env.clone(), &path, &pid_file).unwrap();
        assert!(!again.is_new());
        assert_eq!(again.server_uuid(), uuid);
        drop(again);
        // Another identity, but the directory is no new one: it has tables.
        env.create_dir_all(&path.join(STORE_FOLDER)).unwrap();
        env.remove_file(&path.join("auto.cnf")).unwrap();
        let other = Datadir::open(env.clone(), &path, &pid_file).unwrap();
        assert!(!other.is_new() && is_uuid(other.server_uuid()) && other.server_uuid() != uuid);
        assert!(!env.exists(&path.join("auto.cnf")), "a start that is refused changes nothing");
        other.record_database().unwrap();
        let other_uuid = other.server_uuid().to_owned();
        drop(other);
        assert_eq!(Datadir::open(env.clone(), &path, &pid_file).unwrap().server_uuid(), other_uuid);
        env.replace_file(&path.join("auto.cnf"), b"[auto]\nserver-uuid=x\n").unwrap();
        assert!(matches!(Datadir::open(env.clone(), &path, &pid_file), Err(DatadirError::NoUuid(_))));
    }

    /// Tables and log were removed by hand, and the next start was an empty server that gave out
    /// the GTIDs of the old one again.
    #[test]
    fn a_directory_whose_database_is_gone_is_no_new_one() {
        let env: Arc<dyn Env> = Arc::new(SimEnv::new(1));
        let (path, pid_file) = (Path::new("/data"), Path::new("/data/pid"));
        let first = Datadir::open(env.clone(), path, pid_file).unwrap();
        drop(first);
        // A first start that ended before there was a database.
        let second = Datadir::open(env.clone(), path, pid_file).unwrap();
        second.record_database().unwrap();
        let uuid = second.server_uuid().to_owned();
        drop(second);
        let refused = Datadir::open(env.clone(), path, pid_file).err().unwrap().to_string();
        assert!(refused.contains(&uuid) && refused.contains("remove auto.cnf"), "{refused}");
        assert!(!env.exists(pid_file));
        for (is_folder, part) in [(true, "store"), (false, "binlog.000003"), (false, "mysql-bin.1000000")] {
            let part = path.join(part);
            if is_folder {
                env.create_dir_all(&part).unwrap();
                drop(Datadir::open(env.clone(), path, pid_file).unwrap());
                env.remove_dir(&part).unwrap();
            } else {
                env.replace_file(&part, b"").unwrap();
                drop(Datadir::open(env.clone(), path, pid_file).unwrap());
                env.remove_file(&part).unwrap();
            }
        }
        assert!(Datadir::open(env.clone(), path, pid_file).is_err());
        // Somebody else's file under the name of the lock's.
        let lock = path.join(LOCK);
        env.replace_file(&lock, b"theirs").unwrap();
        Datadir::open(env.clone(), path, pid_file).unwrap().record_database().unwrap();
        assert_eq!(env.read_file(&lock).unwrap(), b"theirs");
        env.remove_file(&path.join("auto.cnf")).unwrap();
        assert_ne!(Datadir::open(env, path, pid_file).unwrap().server_uuid(), uuid);
    }

    #[test]
    fn only_a_process_id_is_written_over_and_only_our_own_removed() {
        let env: Arc<dyn Env> = Arc::new(SimEnv::new(1));
        let path = Path::new("/data");
        let named = path.join("binlog.000001");
        env.create_dir_all(path).unwrap();
        for content in [&b"\xfebin"[..], b"12 monkeys", b"123456789012345678901234567890"] {
            env.replace_file(&named, content).unwrap();
            let refused = Datadir::open(env.clone(), path, &named).err().unwrap();
            assert!(matches!(refused, DatadirError::NoPidFile(_)), "{refused}");
            assert_eq!(env.read_file(&named).unwrap(), content);
            assert!(!env.exists(&path.join("auto.cnf")));
        }
        for content in [&b""[..], b"4711\n"] {
            env.replace_file(&named, content).unwrap();
            let opened = Datadir::open(env.clone(), path, &named).unwrap();
            assert_eq!(env.read_file(&named).unwrap(), own_pid().as_bytes());
            drop(opened);
            assert!(!env.exists(&named));
        }
        let opened = Datadir::open(env.clone(), path, &named).unwrap();
        env.replace_file(&named, b"4711\n").unwrap();
        drop(opened);
        assert_eq!(env.read_file(&named).unwrap(), b"4711\n");
    }

    #[test]
    fn a_uuid_that_was_damaged_is_not_taken_for_another_server() {
        let env = SimEnv::new(1);
        let auto = Path::new("/auto.cnf");
        let uuid = make_uuid(&env);
        write_uuid(&env, auto, &uuid).unwrap();
        let text = String::from_utf8(env.read_file(auto).unwrap()).unwrap();
        assert_eq!(uuid_in(&text), Ok(uuid.clone()));
        let other = uuid.replace(&uuid[..1], if uuid.starts_with('7') { "8" } else { "7" });
        assert_eq!(uuid_in(&text.replacen(&uuid, &other, 1)), Err(NoUuid::Changed));
        let sum = text.trim_end().len() - 1;
        assert_eq!(uuid_in(&text[..sum]), Err(NoUuid::Changed), "a checksum cut short");
        // Without the line, as MySQL writes the file, it is what it says.
        assert_eq!(uuid_in(&format!("[auto]\nserver-uuid={other}\n")), Ok(other));
    }
}
