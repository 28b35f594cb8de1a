//! Encryption at rest: files that hold rows, unreadable without a key.
//!
//! [`EncryptingEnv`] is an environment over another one. Who makes a file says what it is to hold
//! ([`OpenMode::CreateNewRows`]); if these rows are to be encrypted, the file begins with a header
//! ([`header`]) and its content is encrypted ([`file`]), at the positions and with the lengths that
//! callers know. Whoever opens a file that begins so, gets what it says; files without a header are
//! read and written as they are. So both may lie next to each other, and turning encryption on or
//! off is a matter of new files.
//!
//! Each file has a random key of its own. The header holds it wrapped by the *master key*, the last
//! one of the key file ([`keyring`]). A rotation of the master key
//!
//! 1. reads the key file again; if its last key is the one that is in use, appends a random one and
//!    replaces the file, durably;
//! 2. uses the last key for new files, and waits until all that were made before have a header;
//! 3. writes the header of each file in the folders anew.
//!
//! Broken off anywhere, each file can be read by a key that the key file still has; the next
//! rotation does all files.
//!
//! What the encryption does not do: find out that somebody who can write to the disk changed files,
//! or put back older ones. The content has the checksums that it always had. Names, lengths and
//! times of files are to be seen, and which blocks of a file changed between two looks at it.
//!
//! Temporary files' keys are wrapped by a master key that is only in memory: nobody can read them
//! once the process has ended.
//!
//! (H1) At any moment one of a header's two copies is whole and unlocks the file by a key of the
//!      key file.
//! (H2) A file's header is durable before its first byte is written, but for temporary files: what
//!      a power cut leaves of a file is never encrypted bytes that look like a plain file's.

mod file;
mod header;
mod keyring;
mod xts;

#[cfg(test)]
mod tests;

pub use keyring::KeyId;

use crate::{Env, File, OpenMode, UnixMicros, Whose};
use file::{EncryptedFile, Shared};
use header::{COPY, HEADER, Header, USED, Unusable};
use keyring::{Keyring, MasterKey};
use parking_lot::{Mutex, RwLock};
use std::collections::HashMap;
use std::fmt;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Weak};
use std::time::Duration;
use xts::{KEY, Xts};

/// What a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rows {
    /// Table files, and the manifest, which has keys of them.
    Tables = 1,
    /// The binary log.
    Log = 2,
    /// Spilled rows and temporary tables: what no later process reads.
    Temporary = 3,
}

impl Rows {
    fn from_number(number: u8) -> Option<Self> {
        [Self::Tables, Self::Log, Self::Temporary].into_iter().find(|rows| *rows as u8 == number)
    }

    fn index(self) -> usize {
        self as usize - 1
    }
}

/// Why an encrypted file, or the key file, can't be read. [`EncryptionError::of`] finds it in an
/// `io::Error`.
#[derive(Debug, Clone)]
pub enum EncryptionError {
    /// The keys at hand don't unlock it.
    UnknownKey {
        /// Where it is.
        path: PathBuf,
        /// What it holds.
        rows: Rows,
        /// The key that would.
        key: KeyId,
        /// True if there is no key at all.
        has_none: bool,
    },
    /// Both copies of its header are damaged.
    Damaged(PathBuf),
    /// A later version of the format.
    Newer(PathBuf),
    /// What was given for a key file has no keys, or something else in it.
    NoKeyFile {
        /// Where it is.
        path: PathBuf,
        /// `is empty`, for instance.
        why: String,
    },
}

impl EncryptionError {
    /// The one that `error` is made of.
    pub fn of(error: &io::Error) -> Option<&Self> {
        error.get_ref()?.downcast_ref()
    }
}

impl fmt::Display for EncryptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownKey { path, key, has_none: true, .. } => write!(
                f,
                "'{}' is encrypted, and no key file was given: its master key is {key}",
                path.display()
            ),
            Self::UnknownKey { path, key, .. } => write!(
                f,
                "'{}' is encrypted with master key {key}, which is not in the key file",
                path.display()
            ),
            Self::Damaged(path) => {
                write!(f, "'{}' is encrypted, and both copies of its header are damaged", path.display())
            }
            Self::Newer(path) => {
                write!(f, "'{}' is encrypted in a way that a later version has", path.display())
            }
            Self::NoKeyFile { path, why } => write!(
                f,
                "'{}' is no key file, for it {why}: each line has 64 hexadecimal digits, which 'openssl rand \
                 -hex 32' makes",
                path.display()
            ),
        }
    }
}

impl std::error::Error for EncryptionError {}

impl From<EncryptionError> for io::Error {
    fn from(error: EncryptionError) -> Self {
        io::Error::other(error)
    }
}

/// What a rotation of the master key did.
#[derive(Debug, Clone, Copy)]
pub struct Rotated {
    /// The key that is in use now.
    pub key: KeyId,
    /// Files whose header was written anew.
    pub files: u64,
}

/// The keys, and what is encrypted with them.
pub struct Encryption {
    key_file: Option<PathBuf>,
    /// The latch is held shared while a file is made, which is thus known to step 3 of a rotation.
    keys: RwLock<Keys>,
    /// There are keys for new files; that stays so.
    has_keys: bool,
    /// Held by a rotation until the key file is replaced: two of them don't both append a key.
    key_file_latch: Mutex<()>,
    encrypts: [AtomicBool; 3],
    watches_other_writers: AtomicBool,
    /// Files that are open.
    open: Mutex<HashMap<[u8; 16], Weak<Shared>>>,
}

struct Keys {
    keyring: Option<Keyring>,
    /// For new files, by what they hold.
    current: [Option<MasterKey>; 3],
}

impl Keys {
    /// These keys, and those that were in the key file before: files may still need them.
    fn add(&mut self, mut now: Keyring) {
        let dropped = self.keyring.iter().flat_map(|old| &old.0);
        let dropped: Vec<_> = dropped.filter(|old| now.find(old.id).is_none()).cloned().collect();
        now.0.splice(0..0, dropped);
        self.keyring = Some(now);
    }
}

impl Encryption {
    /// Without keys: encrypted files are recognized, and refused by name.
    pub fn without_key() -> Self {
        Self::new(None, None, None)
    }

    /// With the keys of this file; nothing is encrypted yet.
    ///
    /// # Errors
    /// Those of reading; [`EncryptionError::NoKeyFile`].
    pub fn with_key_file(env: &dyn Env, path: &Path) -> io::Result<Self> {
        let (keyring, _) = Keyring::read(env, path)?;
        let mut temporary = [0; 32];
        env.random(&mut temporary);
        Ok(Self::new(Some(path.to_owned()), Some(keyring), Some(MasterKey::new(temporary))))
    }

    fn new(key_file: Option<PathBuf>, keyring: Option<Keyring>, temporary: Option<MasterKey>) -> Self {
        let last = keyring.as_ref().map(|keyring| keyring.last().clone());
        Self {
            key_file,
            has_keys: last.is_some(),
            keys: RwLock::new(Keys { keyring, current: [last.clone(), last, temporary] }),
            key_file_latch: Mutex::new(()),
            encrypts: Default::default(),
            watches_other_writers: AtomicBool::new(false),
            open: Mutex::default(),
        }
    }

    /// A key that all tests know, with which everything is encrypted.
    pub fn of_a_test() -> Self {
        let encryption = Self::new(None, Some(Keyring(vec![MasterKey::new([42; 32])])), None);
        encryption.keys.write().current[Rows::Temporary.index()] = Some(MasterKey::new([43; 32]));
        for rows in [Rows::Tables, Rows::Log, Rows::Temporary] {
            encryption.set(rows, true);
        }
        encryption
    }

    /// Says whether new files with these rows are encrypted; without keys they are not.
    pub fn set(&self, rows: Rows, encrypts: bool) {
        self.encrypts[rows.index()].store(encrypts, Relaxed);
    }

    /// True if there are keys.
    pub fn has_keys(&self) -> bool {
        self.has_keys
    }

    /// Says whether another process may write to files while they are read here.
    pub fn set_watches_other_writers(&self, watches: bool) {
        self.watches_other_writers.store(watches, Relaxed);
    }

    pub(crate) fn encrypts(&self, rows: Rows) -> bool {
        self.has_keys && self.encrypts[rows.index()].load(Relaxed)
    }

    pub(crate) fn open(&self, env: &dyn Env, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        match mode {
            OpenMode::CreateNew | OpenMode::CreateNewPrivate => env.open(path, mode),
            OpenMode::CreateNewRows(rows) if self.encrypts(rows) => self.create(env, path, rows),
            OpenMode::CreateNewRows(_) => env.open(path, mode),
            OpenMode::Read | OpenMode::ReadWrite | OpenMode::Create => {
                let inner = env.open(path, mode)?;
                match self.unlock(env, inner.as_ref(), path)? {
                    None => Ok(inner),
                    Some(unlocked) => Ok(self.handle(inner, unlocked.header.file, &unlocked.key)),
                }
            }
        }
    }

    fn create(&self, env: &dyn Env, path: &Path, rows: Rows) -> io::Result<Arc<dyn File>> {
        let (mut number, mut key, mut nonce) = ([0; 16], [0; KEY], [0; 12]);
        env.random(&mut number);
        env.random(&mut key);
        env.random(&mut nonce);
        let keys = self.keys.read();
        let master = keys.current[rows.index()].as_ref().ok_or(ErrorKind::Unsupported)?;
        let header = Header::seal(rows, number, &key, master, nonce);
        let inner = env.open(path, OpenMode::CreateNewRows(rows))?;
        let write = || {
            let mut bytes = vec![0; HEADER as usize];
            for at in [0, COPY as usize] {
                bytes[at..at + USED].copy_from_slice(header.bytes());
            }
            inner.write_at(&bytes, 0)?;
            // Step H2.
            if rows == Rows::Temporary { Ok(()) } else { inner.sync_data() }
        };
        if let Err(e) = write() {
            // Nobody would know it for what it is.
            let _ = env.remove_file(path);
            return Err(e);
        }
        drop(keys);
        Ok(self.handle(inner, number, &key))
    }

    fn handle(&self, inner: Arc<dyn File>, number: [u8; 16], key: &[u8; KEY]) -> Arc<dyn File> {
        let mut open = self.open.lock();
        let shared = match open.get(&number).and_then(Weak::upgrade) {
            Some(shared) => shared,
            None => {
                let shared = Arc::new(Shared::new(Xts::new(key)));
                if open.len() == open.capacity() {
                    open.retain(|_, file| file.strong_count() > 0);
                }
                open.insert(number, Arc::downgrade(&shared));
                shared
            }
        };
        let watches_other_writers = self.watches_other_writers.load(Relaxed);
        Arc::new(EncryptedFile { inner, shared, watches_other_writers })
    }

    /// The header of a file and its key; `None` if it is not encrypted. For one that is unknown
    /// the key file is read again: another process may have rotated the master key.
    fn unlock(&self, env: &dyn Env, file: &dyn File, path: &Path) -> io::Result<Option<Unlocked>> {
        let unlocked = self.try_unlock(file, path);
        let is_unknown = |e: &io::Error| match EncryptionError::of(e) {
            Some(EncryptionError::UnknownKey { rows, .. }) => *rows != Rows::Temporary,
            _ => false,
        };
        match (unlocked, &self.key_file) {
            (Err(e), Some(key_file)) if is_unknown(&e) => {
                let Ok((now, _)) = Keyring::read(env, key_file) else { return Err(e) };
                self.keys.write().add(now);
                self.try_unlock(file, path)
            }
            (unlocked, _) => unlocked,
        }
    }

    fn try_unlock(&self, file: &dyn File, path: &Path) -> io::Result<Option<Unlocked>> {
        let first = match read_copy(file, 0) {
            Ok(copy) => copy,
            // A folder: what is read of it fails as it always did.
            Err(e) if e.kind() == ErrorKind::IsADirectory => return Ok(None),
            Err(e) => return Err(e),
        };
        let first = match first {
            Ok(header) => match self.key_of(&header) {
                Some(key) => return Ok(Some(Unlocked { header, key })),
                None => Ok(header),
            },
            damaged => damaged,
        };
        if let Ok(header) = read_copy(file, COPY)?
            && let Some(key) = self.key_of(&header)
        {
            return Ok(Some(Unlocked { header, key }));
        }
        let path = path.to_owned();
        Err(match first {
            // Whatever is in the middle of a plain file is content.
            Err(Unusable::NotOne) => return Ok(None),
            Err(Unusable::Damaged) => EncryptionError::Damaged(path),
            Err(Unusable::Newer) => EncryptionError::Newer(path),
            Ok(header) => EncryptionError::UnknownKey {
                path,
                rows: header.rows,
                key: header.master,
                has_none: !self.has_keys(),
            },
        }
        .into())
    }

    fn key_of(&self, header: &Header) -> Option<[u8; KEY]> {
        let keys = self.keys.read();
        let of_temporary =
            keys.current[Rows::Temporary.index()].as_ref().filter(|key| key.id == header.master);
        let master =
            keys.keyring.as_ref().and_then(|keyring| keyring.find(header.master)).or(of_temporary)?;
        header.unlock(master)
    }

    fn rotate(&self, env: &dyn Env, rows: Rows, folders: &[&Path]) -> io::Result<Rotated> {
        let path = self.key_file.as_ref().ok_or(ErrorKind::Unsupported)?;
        let key_file = self.key_file_latch.lock();
        let (mut keyring, text) = Keyring::read(env, path)?;
        let in_use = self.keys.read().current[rows.index()].as_ref().map(|key| key.id);
        if in_use == Some(keyring.last().id) {
            let mut key = [0; 32];
            env.random(&mut key);
            env.replace_private_file(path, &keyring::with_new_key(text, &key))?;
            keyring.0.push(MasterKey::new(key));
        }
        let current = keyring.last().clone();
        // Files that are being made have the old key; they are there when this latch is granted.
        let mut keys = self.keys.write();
        keys.add(keyring);
        keys.current[rows.index()] = Some(current.clone());
        drop(keys);
        drop(key_file);
        let mut files = 0;
        for folder in folders {
            for path in env.read_dir(folder)? {
                files += u64::from(self.wrap_anew(env, &path, rows, &current)?);
            }
        }
        Ok(Rotated { key: current.id, files })
    }

    /// Step 3 of a rotation, for one file; false if it is none of those, or is gone.
    fn wrap_anew(&self, env: &dyn Env, path: &Path, rows: Rows, master: &MasterKey) -> io::Result<bool> {
        let file = match env.open(path, OpenMode::Read) {
            Ok(file) => file,
            Err(e) if is_no_file(&e) => return Ok(false),
            Err(e) => return Err(e),
        };
        let Some(Unlocked { header, key }) = self.unlock(env, file.as_ref(), path)? else { return Ok(false) };
        if header.rows != rows {
            return Ok(false);
        }
        let mut nonce = [0; 12];
        env.random(&mut nonce);
        let header = Header::seal(rows, header.file, &key, master, nonce);
        let file = match env.open(path, OpenMode::ReadWrite) {
            Ok(file) => file,
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(false),
            Err(e) => return Err(e),
        };
        // In this order, so that one copy is whole at any time (H1).
        for at in [COPY, 0] {
            file.write_at(header.bytes(), at)?;
            file.sync_data()?;
        }
        Ok(true)
    }
}

/// It is gone, or is a socket or a pipe.
fn is_no_file(error: &io::Error) -> bool {
    let is_socket = error.raw_os_error() == Some(libc::ENXIO);
    is_socket || matches!(error.kind(), ErrorKind::NotFound | ErrorKind::InvalidInput)
}

struct Unlocked {
    header: Header,
    key: [u8; KEY],
}

/// One copy of a file's header.
fn read_copy(file: &dyn File, at: u64) -> io::Result<Result<Header, Unusable>> {
    let mut bytes = [0; USED];
    let n = file.read_at(&mut bytes, at)?;
    Ok(Header::parse(&bytes[..n]))
}

/// Another environment whose files that hold rows are encrypted, if that is wanted.
#[derive(Clone)]
pub struct EncryptingEnv {
    inner: Arc<dyn Env>,
    encryption: Arc<Encryption>,
}

impl EncryptingEnv {
    /// `inner` with these keys.
    pub fn new(inner: Arc<dyn Env>, encryption: Arc<Encryption>) -> Self {
        Self { inner, encryption }
    }
}

/// The first file of these folders that can't be read for want of a key, or for a damaged header;
/// temporary files, which nobody can read, are passed over, and so are folders that are not there.
///
/// # Errors
/// Those of reading.
pub fn first_locked(env: &dyn Env, folders: &[&Path]) -> io::Result<Option<EncryptionError>> {
    for folder in folders {
        let paths = match env.read_dir(folder) {
            Ok(paths) => paths,
            Err(e) if e.kind() == ErrorKind::NotFound => continue,
            Err(e) => return Err(e),
        };
        for path in paths {
            let Err(error) = env.master_key_of(&path) else { continue };
            match EncryptionError::of(&error) {
                Some(EncryptionError::UnknownKey { rows: Rows::Temporary, .. }) | None => {}
                Some(locked) => return Ok(Some(locked.clone())),
            }
        }
    }
    Ok(None)
}

impl Env for EncryptingEnv {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        self.encryption.open(self.inner.as_ref(), path, mode)
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        self.inner.create_dir_all(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.inner.rename(from, to)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.inner.remove_file(path)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        self.inner.remove_dir(path)
    }

    fn read_dir(&self, path: &Path) -> io::Result<Vec<PathBuf>> {
        self.inner.read_dir(path)
    }

    fn exists(&self, path: &Path) -> bool {
        self.inner.exists(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.inner.sync_dir(path)
    }

    fn lock_file(&self, path: &Path) -> io::Result<Box<dyn Send + Sync>> {
        self.inner.lock_file(path)
    }

    fn lock_file_alone(&self, path: &Path) -> io::Result<Box<dyn Send + Sync>> {
        self.inner.lock_file_alone(path)
    }

    fn now(&self) -> UnixMicros {
        self.inner.now()
    }

    fn monotonic(&self) -> Duration {
        self.inner.monotonic()
    }

    fn monotonic_coarse(&self) -> Duration {
        self.inner.monotonic_coarse()
    }

    fn processor_time(&self, of: Whose) -> Duration {
        self.inner.processor_time(of)
    }

    fn random(&self, out: &mut [u8]) {
        self.inner.random(out);
    }

    fn takes_rare_path(&self, one_in: u64) -> bool {
        self.inner.takes_rare_path(one_in)
    }

    fn encrypts(&self, rows: Rows) -> bool {
        self.encryption.encrypts(rows)
    }

    fn set_encrypts(&self, rows: Rows, encrypts: bool) -> bool {
        self.encryption.set(rows, encrypts);
        self.encryption.encrypts(rows) == encrypts
    }

    fn master_key_of(&self, path: &Path) -> io::Result<Option<KeyId>> {
        let file = self.inner.open(path, OpenMode::Read)?;
        Ok(self
            .encryption
            .unlock(self.inner.as_ref(), file.as_ref(), path)?
            .map(|unlocked| unlocked.header.master))
    }

    fn rotate_master_key(&self, rows: Rows, folders: &[&Path]) -> io::Result<Rotated> {
        self.encryption.rotate(self.inner.as_ref(), rows, folders)
    }

    fn remove_large_file(&self, path: &Path) -> io::Result<()> {
        self.inner.remove_large_file(path)
    }

    fn remove_file_of_others(&self, path: &Path) -> io::Result<()> {
        self.inner.remove_file_of_others(path)
    }
}
