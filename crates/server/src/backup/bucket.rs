//! A repository in object storage: S3 and what speaks its protocol, Google Cloud Storage, Azure.
//!
//! An object appears as a whole or not at all, and what was written is listed at once: these stores
//! promise both. So a file is one request, or, if it is larger than a part, an upload in parts that
//! becomes an object with its last request.
//!
//! (O1) Every request is tried again for so long, and no longer (`location.rs` says how long). What
//!      was asked twice has the same outcome as once: an object is written whole.
//! (O2) An upload in parts is noted in `uploads/` before its first part, and the note goes when it
//!      has ended: what a kill leaves is aborted by the next backup or prune, which has the lock.
//! (O3) A file is read in ranges of one and the same version of the object: if it is replaced
//!      meanwhile, reading fails.
//!
//! Elsewhere: the lock (`lease.rs`), addresses and credentials (`location.rs`).

use super::backend::{Backend, Lock, Output, inside};
use super::lease::{self, Held};
use crate::log_tool::{ToolError, printable};
use env::Env;
use futures_util::{StreamExt as _, TryStreamExt as _};
use object_store::multipart::{MultipartStore, PartId};
use object_store::path::Path as ObjectPath;
use object_store::{
    Error, GetOptions, GetRange, MultipartUpload, ObjectMeta, ObjectStore, ObjectStoreExt as _, PutMode,
    PutPayload, UpdateVersion,
};
use parking_lot::Mutex;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::runtime::Runtime;

/// Read by one request, in bytes.
const WINDOW: u64 = 8 << 20;
/// Written by one request, in bytes: S3 takes no smaller parts than 5 MiB but for the last.
const PART: u64 = 8 << 20;
/// S3 takes 10,000 parts. A piece is a little longer than its content.
const PARTS_MAX: u64 = 9_000;
/// How often a range is asked for whose bytes did not come whole.
const READ_ATTEMPTS: u32 = 4;
/// Where uploads in parts are noted (O2).
const UPLOADS: &str = "uploads";
/// The longest note, title or lock that is read, in bytes.
const SMALL_MAX: usize = 64 << 10;

/// Object storage under one address.
pub(super) struct Bucket {
    shared: Arc<Shared>,
}

/// What the requests of all threads share.
pub(super) struct Shared {
    pub(super) env: Arc<dyn Env>,
    runtime: Runtime,
    store: Arc<dyn ObjectStore>,
    /// Uploads in parts that have a name; Azure has none, and forgets their parts after a week.
    multipart: Option<Arc<dyn MultipartStore>>,
    /// In front of all names, without `/` at its end.
    prefix: String,
    /// What messages call it.
    address: String,
    /// How long a lock outlives its program.
    pub(super) lease: Duration,
    /// The lock, if this program has it.
    pub(super) held: Mutex<Weak<Held>>,
    /// Another program's lock, as it was seen last.
    pub(super) seen: Mutex<Option<lease::Seen>>,
    /// The store was found to honor conditions.
    pub(super) is_conditional: Mutex<bool>,
}

impl Bucket {
    /// # Errors
    /// `Refused` if the system gives no threads, or the prefix can't be one.
    pub(super) fn new(
        env: &Arc<dyn Env>,
        store: Arc<dyn ObjectStore>,
        multipart: Option<Arc<dyn MultipartStore>>,
        prefix: &str,
        address: String,
        lease: Duration,
    ) -> Result<Self, ToolError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("object-store")
            .enable_all()
            .build()
            .map_err(|e| ToolError::Refused(format!("can't start threads for object storage: {e}")))?;
        let shared = Shared {
            env: env.clone(),
            runtime,
            store,
            multipart,
            prefix: prefix.to_owned(),
            address,
            lease,
            held: Mutex::default(),
            seen: Mutex::default(),
            is_conditional: Mutex::new(false),
        };
        shared.path("")?;
        Ok(Self { shared: Arc::new(shared) })
    }
}

impl Shared {
    /// What a name is called in the store.
    fn path(&self, name: &str) -> Result<ObjectPath, ToolError> {
        let full = match (self.prefix.as_str(), name) {
            ("", name) => name.to_owned(),
            (prefix, "") => prefix.to_owned(),
            (prefix, name) => format!("{prefix}/{name}"),
        };
        ObjectPath::parse(&full)
            .map_err(|e| ToolError::Refused(format!("'{}' can't be an object's name: {e}", printable(&full))))
    }

    pub(super) fn shown(&self, name: &str) -> PathBuf {
        match name {
            "" => PathBuf::from(&self.address),
            _ => PathBuf::from(format!("{}/{name}", self.address)),
        }
    }

    pub(super) fn failed(&self, action: &'static str, name: &str, error: &Error) -> ToolError {
        ToolError::io(action, &self.shown(name), io_error(error))
    }

    /// The name of an object, without what the store has in front.
    fn name_of<'a>(&self, path: &'a ObjectPath) -> &'a str {
        let full = path.as_ref();
        full.strip_prefix(&self.prefix).unwrap_or(full).trim_start_matches('/')
    }

    /// Writes an object on a condition; returns its version.
    pub(super) fn put(&self, name: &str, content: Vec<u8>, mode: PutMode) -> Result<UpdateVersion, Trouble> {
        let path = self.path(name).map_err(Trouble::Tool)?;
        let payload = PutPayload::from(content);
        let put = self.runtime.block_on(self.store.put_opts(&path, payload, mode.into()));
        put.map(UpdateVersion::from).map_err(Trouble::Store)
    }

    fn put_whole(&self, name: &str, content: Vec<u8>) -> Result<(), ToolError> {
        self.put(name, content, PutMode::Overwrite).map_err(|e| e.tool(self, "write", name)).map(|_| ())
    }

    /// An object that is known to be small, with its version; `None` if it is not there.
    pub(super) fn get(&self, name: &str) -> Result<Option<(Vec<u8>, UpdateVersion)>, ToolError> {
        let path = self.path(name)?;
        let got = self.runtime.block_on(async {
            let got = self.store.get(&path).await?;
            let version = UpdateVersion { e_tag: got.meta.e_tag.clone(), version: got.meta.version.clone() };
            if got.meta.size > SMALL_MAX as u64 {
                return Ok(None);
            }
            Ok(Some((got.bytes().await?.to_vec(), version)))
        });
        match got {
            Ok(Some(found)) => Ok(Some(found)),
            Ok(None) => Err(ToolError::Refused(format!("'{}' is too long", self.shown(name).display()))),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(e) => Err(self.failed("read", name, &e)),
        }
    }

    pub(super) fn remove(&self, name: &str) -> Result<(), ToolError> {
        let path = self.path(name)?;
        match self.runtime.block_on(self.store.delete(&path)) {
            Ok(()) | Err(Error::NotFound { .. }) => Ok(()),
            Err(e) => Err(self.failed("remove", name, &e)),
        }
    }

    /// As [`Self::remove`], by the program that has the lock: what takes so long that another one
    /// may have it is given up.
    pub(super) fn remove_while_locked(&self, name: &str) -> Result<(), ToolError> {
        lease::check(self)?;
        let path = self.path(name)?;
        let left = lease::time_left(self).unwrap_or_default();
        let removed =
            self.runtime.block_on(async { tokio::time::timeout(left, self.store.delete(&path)).await });
        match removed {
            Ok(Ok(()) | Err(Error::NotFound { .. })) => Ok(()),
            Ok(Err(e)) => Err(self.failed("remove", name, &e)),
            Err(_) => Err(ToolError::io("remove", &self.shown(name), ErrorKind::TimedOut.into())),
        }
    }

    /// Part of an object; `None` if it is not there. Fewer bytes only at its end.
    fn get_range(&self, path: &ObjectPath, from: u64, e_tag: Option<&str>) -> Result<Option<Range>, Error> {
        for attempt in 1.. {
            let options = GetOptions {
                range: Some(GetRange::Bounded(from..from + WINDOW)),
                if_match: e_tag.map(str::to_owned),
                ..GetOptions::default()
            };
            let got = match self.runtime.block_on(self.store.get_opts(path, options)) {
                Ok(got) => got,
                Err(Error::NotFound { .. }) => return Ok(None),
                // No range of an object without a byte can be had.
                Err(Error::Generic { .. }) if from == 0 && self.is_empty(path)? => {
                    return Ok(Some(Range { bytes: Vec::new(), size: 0, e_tag: None }));
                }
                Err(e) => return Err(e),
            };
            let (size, e_tag, range) = (got.meta.size, got.meta.e_tag.clone(), got.range.clone());
            // The request was tried again as often as that is of use; its bytes were not.
            match self.runtime.block_on(got.bytes()) {
                Ok(bytes) if range.start == from && bytes.len() as u64 == range.end - range.start => {
                    return Ok(Some(Range { bytes: bytes.to_vec(), size, e_tag }));
                }
                Err(e) if attempt == READ_ATTEMPTS => return Err(e),
                Ok(_) if attempt == READ_ATTEMPTS => break,
                _ => {}
            }
        }
        let source = "other bytes came than were asked for".into();
        Err(Error::Generic { store: "object storage", source })
    }

    fn is_empty(&self, path: &ObjectPath) -> Result<bool, Error> {
        self.runtime.block_on(self.store.head(path)).map(|meta| meta.size == 0)
    }

    /// All objects under a folder, by their names in the repository.
    fn list_all(&self, folder: &str) -> Result<Vec<String>, ToolError> {
        let path = self.path(folder)?;
        let listed = self.runtime.block_on(async {
            self.store.list(Some(&path)).map_ok(|meta| meta.location).try_collect::<Vec<_>>().await
        });
        let listed = listed.map_err(|e| self.failed("list", folder, &e))?;
        Ok(listed.iter().map(|location| self.name_of(location).to_owned()).collect())
    }
}

/// What a request came to that may have been refused on a condition.
pub(super) enum Trouble {
    Store(Error),
    Tool(ToolError),
}

impl Trouble {
    pub(super) fn tool(self, shared: &Shared, action: &'static str, name: &str) -> ToolError {
        match self {
            Self::Store(e) => shared.failed(action, name, &e),
            Self::Tool(e) => e,
        }
    }
}

/// The store's error, with its causes and without control characters, which a server may have put
/// in its answer.
fn io_error(error: &Error) -> io::Error {
    let kind = match error {
        Error::NotFound { .. } => ErrorKind::NotFound,
        Error::AlreadyExists { .. } | Error::Precondition { .. } => ErrorKind::AlreadyExists,
        Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => ErrorKind::PermissionDenied,
        _ => ErrorKind::Other,
    };
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(source) = cause {
        let more = source.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = source.source();
    }
    // An answer may be a whole page.
    let short: String = text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(1000).collect();
    io::Error::new(kind, printable(&short))
}

impl Backend for Bucket {
    fn shown(&self, name: &str) -> PathBuf {
        self.shared.shown(name)
    }

    fn local_folder(&self) -> Option<&Path> {
        None
    }

    fn make(&self, title: &[u8]) -> Result<(), ToolError> {
        self.shared.put_whole("repository", title.to_vec())
    }

    fn list(&self, folder: &str) -> Result<Vec<String>, ToolError> {
        let shared = &self.shared;
        let path = shared.path(folder)?;
        let listed = shared.runtime.block_on(shared.store.list_with_delimiter(Some(&path)));
        let listed = listed.map_err(|e| shared.failed("list", folder, &e))?;
        let objects = listed.objects.iter().map(|meta| &meta.location);
        let names = objects.chain(&listed.common_prefixes).filter_map(ObjectPath::filename);
        let mut names: Vec<String> = names.map(str::to_owned).collect();
        names.sort();
        names.dedup();
        Ok(names)
    }

    fn list_below(&self, folder: &str) -> Result<Vec<(String, String)>, ToolError> {
        let mut found = Vec::new();
        for name in self.shared.list_all(folder)? {
            let below = name.strip_prefix(folder).map(|name| name.trim_start_matches('/'));
            if let Some((inner, name)) = below.and_then(|below| below.split_once('/'))
                && !name.contains('/')
            {
                found.push((inner.to_owned(), name.to_owned()));
            }
        }
        found.sort();
        Ok(found)
    }

    fn lists_all_at_once(&self) -> bool {
        true
    }

    fn open(&self, name: &str) -> Result<Option<Box<dyn Read + Send>>, ToolError> {
        let path = self.shared.path(name)?;
        let first =
            self.shared.get_range(&path, 0, None).map_err(|e| self.shared.failed("read", name, &e))?;
        let Some(window) = first else { return Ok(None) };
        Ok(Some(Box::new(ObjectInput { shared: self.shared.clone(), path, window, begin: 0, at: 0 })))
    }

    fn create(&self, name: &str, len: u64) -> Result<Box<dyn Output>, ToolError> {
        Ok(Box::new(ObjectOutput {
            shared: self.shared.clone(),
            path: self.shared.path(name)?,
            name: name.to_owned(),
            part: part_size(len),
            pending: Vec::new(),
            sent: 0,
            upload: None,
            before: None,
        }))
    }

    fn sync(&self, _folder: &str) -> Result<(), ToolError> {
        Ok(())
    }

    fn remove(&self, name: &str) -> Result<(), ToolError> {
        self.shared.remove(name)
    }

    fn remove_while_locked(&self, name: &str) -> Result<(), ToolError> {
        self.shared.remove_while_locked(name)
    }

    fn remove_folder(&self, folder: &str) -> Result<(), ToolError> {
        let shared = &self.shared;
        let names = shared.list_all(folder)?;
        let paths = names.iter().map(|name| shared.path(name)).collect::<Result<Vec<_>, _>>()?;
        let paths = futures_util::stream::iter(paths.into_iter().map(Ok)).boxed();
        let removed = shared.runtime.block_on(async {
            let mut removed = shared.store.delete_stream(paths);
            while let Some(removed) = removed.next().await {
                match removed {
                    Ok(_) | Err(Error::NotFound { .. }) => {}
                    Err(e) => return Err(e),
                }
            }
            Ok(())
        });
        removed.map_err(|e| shared.failed("remove", folder, &e))
    }

    /// Aborts the uploads that programs have left which were ended (O2). Objects are whole.
    fn sweep(&self, _folders: &[String]) -> Result<(), ToolError> {
        let shared = &self.shared;
        for note in self.list(UPLOADS)? {
            let note = inside(UPLOADS, &note);
            let Some((content, _)) = shared.get(&note)? else { continue };
            let content = String::from_utf8_lossy(&content).into_owned();
            if let (Some((name, id)), Some(multipart)) = (content.split_once('\n'), &shared.multipart) {
                let path = shared.path(name)?;
                match shared.runtime.block_on(multipart.abort_multipart(&path, &id.to_owned())) {
                    // It was ended meanwhile, which some servers call forbidden.
                    Ok(()) | Err(Error::NotFound { .. } | Error::PermissionDenied { .. }) => {}
                    Err(e) => return Err(shared.failed("abort the upload of", name, &e)),
                }
            }
            shared.remove(&note)?;
        }
        Ok(())
    }

    fn lock(&self) -> Result<Lock, ToolError> {
        lease::lock(&self.shared)
    }

    fn try_lock(&self) -> Result<Option<Lock>, ToolError> {
        lease::try_lock(&self.shared)
    }

    fn check_lock(&self) -> Result<(), ToolError> {
        lease::check(&self.shared)
    }

    fn confirm_lock(&self) -> Result<(), ToolError> {
        lease::confirm(&self.shared)
    }

    fn is_lock_costly(&self) -> bool {
        true
    }
}

/// Bytes of one part, if the object has `len`.
fn part_size(len: u64) -> usize {
    len.div_ceil(PARTS_MAX).next_multiple_of(1 << 20).max(PART) as usize
}

/// Part of an object.
struct Range {
    bytes: Vec<u8>,
    /// The whole object's, in bytes.
    size: u64,
    e_tag: Option<String>,
}

/// An object that is read from front to back (O3).
struct ObjectInput {
    shared: Arc<Shared>,
    path: ObjectPath,
    window: Range,
    /// Where the window begins in the object.
    begin: u64,
    /// What was read of the window.
    at: usize,
}

impl Read for ObjectInput {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.at == self.window.bytes.len() {
            let next = self.begin + self.at as u64;
            if next >= self.window.size {
                return Ok(0);
            }
            let e_tag = self.window.e_tag.take();
            let found = self.shared.get_range(&self.path, next, e_tag.as_deref());
            let found = found.map_err(|e| io_error(&e))?;
            let found = found.ok_or_else(|| io::Error::from(ErrorKind::NotFound))?;
            if found.size != self.window.size {
                return Err(io::Error::other("it was replaced while it was read"));
            }
            self.window = Range { e_tag, ..found };
            (self.begin, self.at) = (next, 0);
        }
        let n = into.len().min(self.window.bytes.len() - self.at);
        into[..n].copy_from_slice(&self.window.bytes[self.at..self.at + n]);
        self.at += n;
        Ok(n)
    }
}

/// An upload in parts that has begun.
enum Upload {
    /// With its id, the name of its note, and the parts that were sent.
    Noted {
        id: String,
        note: String,
        parts: Vec<PartId>,
    },
    Plain(Box<dyn MultipartUpload>),
}

/// An object that is being written.
struct ObjectOutput {
    shared: Arc<Shared>,
    path: ObjectPath,
    name: String,
    /// Bytes of a part.
    part: usize,
    pending: Vec<u8>,
    /// Bytes in parts that were sent.
    sent: u64,
    upload: Option<Upload>,
    /// The object of this name that was there before the upload.
    before: Option<ObjectMeta>,
}

impl ObjectOutput {
    fn failed(&self, error: &Error) -> ToolError {
        self.shared.failed("write", &self.name, error)
    }

    /// Begins the upload, unless it was.
    fn begin(&mut self) -> Result<(), ToolError> {
        if self.upload.is_some() {
            return Ok(());
        }
        let shared = self.shared.clone();
        self.before = match shared.runtime.block_on(shared.store.head(&self.path)) {
            Ok(meta) => Some(meta),
            Err(Error::NotFound { .. }) => None,
            Err(e) => return Err(self.failed(&e)),
        };
        let Some(multipart) = &shared.multipart else {
            let begun = shared.runtime.block_on(shared.store.put_multipart(&self.path));
            self.upload = Some(Upload::Plain(begun.map_err(|e| self.failed(&e))?));
            return Ok(());
        };
        let begun = shared.runtime.block_on(multipart.create_multipart(&self.path));
        let id = begun.map_err(|e| self.failed(&e))?;
        let note = inside(UPLOADS, &lease::token(&*shared.env));
        let content = format!("{}\n{id}", self.name);
        // If it can't be noted, dropping this aborts it.
        self.upload = Some(Upload::Noted { id, note: note.clone(), parts: Vec::new() });
        shared.put_whole(&note, content.into_bytes())
    }

    fn send(&mut self, bytes: Vec<u8>) -> Result<(), ToolError> {
        self.begin()?;
        let shared = self.shared.clone();
        let len = bytes.len() as u64;
        let payload = PutPayload::from(bytes);
        let sent = match (&mut self.upload, &shared.multipart) {
            (Some(Upload::Noted { id, parts, .. }), Some(multipart)) => {
                let part = multipart.put_part(&self.path, id, parts.len(), payload);
                shared.runtime.block_on(part).map(|part| parts.push(part))
            }
            (Some(Upload::Plain(upload)), _) => shared.runtime.block_on(upload.put_part(payload)),
            _ => unreachable!("begun above"),
        };
        sent.map_err(|e| self.failed(&e))?;
        self.sent += len;
        Ok(())
    }

    /// Makes the parts an object.
    fn complete(&mut self) -> Result<(), ToolError> {
        let shared = self.shared.clone();
        let completed = match (&mut self.upload, &shared.multipart) {
            (Some(Upload::Noted { id, parts, .. }), Some(multipart)) => {
                let parts = std::mem::take(parts);
                shared.runtime.block_on(multipart.complete_multipart(&self.path, id, parts))
            }
            (Some(Upload::Plain(upload)), _) => shared.runtime.block_on(upload.complete()),
            _ => unreachable!("parts were sent"),
        };
        if let Err(e) = completed {
            // It may have been done though its answer was lost: then the upload is not there when
            // it is asked for again, and the object is.
            let found = shared.runtime.block_on(shared.store.head(&self.path));
            let is_new = |meta: &ObjectMeta| self.before.as_ref().is_none_or(|b| b.e_tag != meta.e_tag);
            if !found.is_ok_and(|meta| meta.size == self.sent && is_new(&meta)) {
                return Err(self.failed(&e));
            }
        }
        if let Some(Upload::Noted { note, .. }) = self.upload.take() {
            shared.remove(&note)?;
        }
        Ok(())
    }
}

impl Output for ObjectOutput {
    fn append(&mut self, bytes: &[u8]) -> Result<(), ToolError> {
        self.pending.extend_from_slice(bytes);
        while self.pending.len() > self.part {
            let rest = self.pending.split_off(self.part);
            let part = std::mem::replace(&mut self.pending, rest);
            self.send(part)?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<(), ToolError> {
        let last = std::mem::take(&mut self.pending);
        if self.upload.is_none() {
            return self.shared.put_whole(&self.name, last);
        }
        self.send(last)?;
        self.complete()
    }
}

impl Drop for ObjectOutput {
    /// Aborts an upload that failed; if that fails too, its note remains (O2).
    fn drop(&mut self) {
        let shared = &self.shared;
        match (self.upload.take(), &shared.multipart) {
            (Some(Upload::Noted { id, note, .. }), Some(multipart)) => {
                let aborted = shared.runtime.block_on(multipart.abort_multipart(&self.path, &id));
                if aborted.is_ok() {
                    let _ = shared.remove(&note);
                }
            }
            (Some(Upload::Plain(mut upload)), _) => {
                let _ = shared.runtime.block_on(upload.abort());
            }
            _ => {}
        }
    }
}
