//! A simulated machine that loses power, tears writes, fails flushes and fills up, as a seed says.
//!
//! A test runs its code over a [`SimEnv`], ends it with [`SimEnv::power_cut`] (or lets
//! [`SimEnv::cut_at`] end it in the middle of any operation), and goes on in the machine that
//! [`SimEnv::reboot`] returns. What was not flushed by then was kept, dropped or torn as the
//! contract's E1 to E5 allow ([`disk`]). Several reboots with different seeds from one cut show
//! different outcomes of the same run.
//!
//! - [`SimEnv::fail`]: the n-th write or flush fails with EIO.
//! - [`SimEnv::set_capacity`]: the disk is full at so many bytes; raise it, or remove files, and it
//!   works again.
//! - [`SimEnv::hold_syncs`]: flushes wait until they are released;
//!   [`SimEnv::set_sync_time`]: they take time.
//! - [`SimEnv::counters`]: what was asked of the disk so far.
//! - [`SimEnv::encrypted`]: files that hold rows are encrypted; so are those of all machines if
//!   `DURAMEN_SIM_ENCRYPTED` is set.
//!
//! The clock stands still unless asked (a microsecond) or moved by [`SimEnv::advance`]. Everything
//! is under one latch: operations are atomic towards each other and towards the power cut, so an
//! operation that returned `Ok` happened before the cut. Renames go inside one folder only; a
//! folder that is renamed takes no file's name, and another folder's only if that is empty.

mod disk;

use crate::encryption::{EncryptingEnv, Encryption, KeyId, Rotated};
use crate::{Env, File, OpenMode, Rows, UnixMicros, Whose};
use disk::{FileState, Folder, Inode, NameChange, Node};
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use stdx::random::Random;

/// 2026-01-01 00:00:00 UTC: where a simulated wall clock starts.
const EPOCH: UnixMicros = 1_767_225_600_000_000;
const EIO: i32 = 5;

/// A simulated machine; clones are the same machine.
#[derive(Clone)]
pub struct SimEnv {
    shared: Arc<Shared>,
    encryption: Option<Arc<Encryption>>,
}

struct Shared {
    seed: u64,
    state: Mutex<SimState>,
}

/// An operation that [`SimEnv::fail`] can choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// A write fails; the sectors before a random one of it were written.
    Write,
    /// A file's flush fails; some of its unflushed changes are lost for good (E4).
    Sync,
    /// A wait for writes fails, and they have as a failed flush's.
    Await,
    /// A folder's flush fails; some of its unflushed changes are lost for good.
    SyncDir,
    /// Cutting or extending a file fails and does nothing.
    SetLen,
    /// Creating, renaming or removing a file fails and does nothing.
    Name,
}

/// What was asked of a file, or of the whole disk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Writes that were asked for, those that a fault failed too.
    pub writes: u64,
    /// Bytes in them.
    pub written_bytes: u64,
    /// Flushes of files, data and all.
    pub syncs: u64,
    /// Waits for writes.
    pub awaits: u64,
    /// Flushes of folders.
    pub dir_syncs: u64,
    /// Cuts and extensions.
    pub set_lens: u64,
    /// Creations, renames and removals.
    pub names: u64,
}

struct PlannedFault {
    fault: Fault,
    /// Only operations on paths that contain this count.
    matching: String,
    /// Lets so many pass first.
    after: u64,
}

struct SimState {
    root: Folder,
    fate: Random,
    entropy: Random,
    /// Draws the rare paths, if they are taken.
    rare: Option<Random>,
    monotonic: Duration,
    powered: bool,
    operations: u64,
    cut_at: Option<u64>,
    faults: Vec<PlannedFault>,
    capacity: Option<u64>,
    counters: HashMap<Arc<Path>, Counters>,
    locked: HashSet<PathBuf>,
    /// Signalled when syncs are released, one begins to wait, or the power goes.
    held_syncs_changed: Arc<Condvar>,
    holds_syncs: bool,
    held_syncs: usize,
    /// Syncs that have begun to wait since [`SimEnv::hold_syncs`], and which of them may go on.
    hold_arrivals: u64,
    released_syncs: Vec<u64>,
    sync_time: Duration,
}

impl SimEnv {
    /// A machine with an empty disk.
    pub fn new(seed: u64) -> Self {
        let env = Self::with_disk(seed, Folder::default(), Duration::ZERO, false);
        if std::env::var_os("DURAMEN_SIM_ENCRYPTED").is_some() { env.encrypted() } else { env }
    }

    /// This machine, and those that it becomes, encrypts all files that hold rows, by a key that
    /// all tests know.
    pub fn encrypted(self) -> Self {
        Self { encryption: Some(Arc::new(Encryption::of_a_test())), ..self }
    }

    /// This machine as if nothing was encrypted: files are what the disk has.
    pub fn unencrypted(&self) -> Self {
        Self { shared: self.shared.clone(), encryption: None }
    }

    /// This machine's files, through its keys.
    fn through_keys(&self) -> Option<EncryptingEnv> {
        let encryption = self.encryption.clone()?;
        Some(EncryptingEnv::new(Arc::new(self.unencrypted()), encryption))
    }

    /// This machine, and those that it becomes, takes rare paths by its seed ([`crate::rarely`]).
    pub fn with_rare_paths(self) -> Self {
        self.shared.state.lock().rare = Some(Random::new(self.shared.seed ^ 0x7a7e));
        self
    }

    fn with_disk(seed: u64, root: Folder, monotonic: Duration, takes_rare_paths: bool) -> Self {
        let state = SimState {
            root,
            fate: Random::new(seed ^ 0xfa7e),
            entropy: Random::new(seed ^ 0xe47f_0139),
            rare: takes_rare_paths.then(|| Random::new(seed ^ 0x7a7e)),
            monotonic,
            powered: true,
            operations: 0,
            cut_at: None,
            faults: Vec::new(),
            capacity: None,
            counters: HashMap::new(),
            locked: HashSet::new(),
            held_syncs_changed: Arc::default(),
            holds_syncs: false,
            held_syncs: 0,
            hold_arrivals: 0,
            released_syncs: Vec::new(),
            sync_time: Duration::ZERO,
        };
        Self { shared: Arc::new(Shared { seed, state: Mutex::new(state) }), encryption: None }
    }

    /// The seed that repeats this machine's fates, as far as the threads running over it repeat
    /// theirs.
    pub fn seed(&self) -> u64 {
        self.shared.seed
    }

    /// Ends this machine: every later operation fails, through any handle.
    pub fn power_cut(&self) {
        let mut state = self.shared.state.lock();
        state.powered = false;
        state.held_syncs_changed.notify_all();
    }

    /// Cuts the power in the middle of the `n`-th operation from now that changes the disk (1 is
    /// the next one): it fails, and may have happened, wholly, in part or not at all.
    pub fn cut_at(&self, n: u64) {
        let mut state = self.shared.state.lock();
        state.cut_at = Some(state.operations + n);
    }

    /// False after a power cut.
    pub fn is_powered(&self) -> bool {
        self.shared.state.lock().powered
    }

    /// Cuts the power if it is still on, and returns the machine as it starts again, its fates
    /// drawn from this one's seed.
    pub fn reboot(&self) -> SimEnv {
        self.reboot_with(self.shared.seed.wrapping_mul(0x2545_f491_4f6c_dd1d).wrapping_add(1))
    }

    /// As [`SimEnv::reboot`], with fates drawn from `seed`. May be called more than once.
    pub fn reboot_with(&self, seed: u64) -> SimEnv {
        self.power_cut();
        let state = self.shared.state.lock();
        let mut random = Random::new(seed);
        let root = state.root.lock().reboot(&mut random);
        self.successor(&state, seed, root)
    }

    /// Another machine with this one's disk as a power cut now would leave it; this one goes on.
    pub fn copy_after_cut(&self, seed: u64) -> SimEnv {
        let state = self.shared.state.lock();
        let root = state.root.lock().reboot(&mut Random::new(seed));
        self.successor(&state, seed, root)
    }

    /// Another machine with this one's disk as everybody reads it now, flushed: what a process
    /// leaves that dies while the machine goes on. This one goes on too.
    pub fn copy(&self, seed: u64) -> SimEnv {
        let state = self.shared.state.lock();
        let root = state.root.lock().copy();
        self.successor(&state, seed, root)
    }

    /// Lets `after` operations of this kind pass, on files whose path contains `matching`, then
    /// fails the next one with EIO. Several plans may be pending.
    pub fn fail(&self, fault: Fault, matching: &str, after: u64) {
        self.shared.state.lock().faults.push(PlannedFault { fault, matching: matching.to_owned(), after });
    }

    /// Forgets the planned faults.
    pub fn clear_faults(&self) {
        self.shared.state.lock().faults.clear();
    }

    /// Limits the sum of the lengths of all files, in bytes. What is over it already stays.
    pub fn set_capacity(&self, bytes: Option<u64>) {
        self.shared.state.lock().capacity = bytes;
    }

    /// The most bytes of a file, in whole pages, that were written at any time and neither waited
    /// for nor flushed; `None` if it is not there.
    pub fn backlog_max(&self, path: &Path) -> Option<u64> {
        let file = self.powered().and_then(|state| state.find_file(path));
        file.ok().map(|inode| inode.lock().backlog_max())
    }

    /// The sum of the lengths of all files, in bytes.
    pub fn used(&self) -> u64 {
        self.shared.state.lock().root.lock().used()
    }

    /// From now on flushes of files wait until they are released; those of folders don't.
    pub fn hold_syncs(&self) {
        let mut state = self.shared.state.lock();
        state.holds_syncs = true;
        state.hold_arrivals = 0;
        state.released_syncs.clear();
    }

    /// Releases the n-th flush that waits since [`SimEnv::hold_syncs`] (1 is the first).
    pub fn release_sync(&self, n: u64) {
        let mut state = self.shared.state.lock();
        state.released_syncs.push(n);
        state.held_syncs_changed.notify_all();
    }

    /// Has each flush of a file take so long, by this machine's clock and by the real one; others
    /// go on meanwhile.
    pub fn set_sync_time(&self, time: Duration) {
        self.shared.state.lock().sync_time = time;
    }

    /// Releases all flushes, and holds no more.
    pub fn release_syncs(&self) {
        let mut state = self.shared.state.lock();
        state.holds_syncs = false;
        state.held_syncs_changed.notify_all();
    }

    /// Waits until `n` flushes are held.
    pub fn wait_for_held_syncs(&self, n: usize) {
        let mut state = self.shared.state.lock();
        let changed = state.held_syncs_changed.clone();
        while state.held_syncs < n && state.powered {
            changed.wait(&mut state);
        }
    }

    /// Moves the clocks.
    pub fn advance(&self, by: Duration) {
        self.shared.state.lock().monotonic += by;
    }

    /// Operations that changed the disk so far; what [`SimEnv::cut_at`] counts.
    pub fn operations(&self) -> u64 {
        self.shared.state.lock().operations
    }

    /// What was asked of the whole disk so far.
    pub fn counters(&self) -> Counters {
        self.counters_of("")
    }

    /// What was asked so far of files and folders whose path contained `matching` then.
    pub fn counters_of(&self, matching: &str) -> Counters {
        let state = self.shared.state.lock();
        let mut sum = Counters::default();
        for (_, c) in state.counters.iter().filter(|(path, _)| path.to_string_lossy().contains(matching)) {
            sum.writes += c.writes;
            sum.written_bytes += c.written_bytes;
            sum.syncs += c.syncs;
            sum.awaits += c.awaits;
            sum.dir_syncs += c.dir_syncs;
            sum.set_lens += c.set_lens;
            sum.names += c.names;
        }
        sum
    }
}

/// What becomes of an operation.
enum Verdict {
    Go,
    Eio,
    /// It may happen, but no caller learns of it.
    PowerCut,
}

impl SimState {
    fn check_power(&self) -> io::Result<()> {
        if self.powered { Ok(()) } else { Err(power_is_off()) }
    }

    /// Counts an operation that changes the disk, and decides about it. A caller that gets
    /// `PowerCut` calls [`SimState::lose_power`] when done.
    fn begin(&mut self, fault: Fault, path: &Arc<Path>) -> io::Result<Verdict> {
        self.check_power()?;
        self.operations += 1;
        let counters = match self.counters.get_mut(path) {
            Some(counters) => counters,
            None => self.counters.entry(path.clone()).or_default(),
        };
        match fault {
            Fault::Write => counters.writes += 1,
            Fault::Sync => counters.syncs += 1,
            Fault::Await => counters.awaits += 1,
            Fault::SyncDir => counters.dir_syncs += 1,
            Fault::SetLen => counters.set_lens += 1,
            Fault::Name => counters.names += 1,
        }
        if self.cut_at.is_some_and(|at| self.operations >= at) {
            return Ok(Verdict::PowerCut);
        }
        Ok(if self.hits_fault(fault, path) { Verdict::Eio } else { Verdict::Go })
    }

    fn hits_fault(&mut self, fault: Fault, path: &Path) -> bool {
        if self.faults.is_empty() {
            return false;
        }
        let path = path.to_string_lossy();
        let mut hit = false;
        self.faults.retain_mut(|planned| {
            if hit || planned.fault != fault || !path.contains(&planned.matching) {
                return true;
            }
            hit = planned.after == 0;
            planned.after = planned.after.saturating_sub(1);
            !hit
        });
        hit
    }

    fn lose_power<T>(&mut self) -> io::Result<T> {
        self.powered = false;
        self.held_syncs_changed.notify_all();
        Err(power_is_off())
    }

    /// How many more bytes a file of this length may get.
    fn room(&self) -> u64 {
        match self.capacity {
            None => u64::MAX,
            Some(capacity) => capacity.saturating_sub(self.root.lock().used()),
        }
    }

    fn folder(&self, path: &Path) -> io::Result<Folder> {
        let mut folder = self.root.clone();
        for name in names(path) {
            let node = folder.lock().get(&name);
            folder = match node {
                Some(Node::Folder(inner)) => inner,
                Some(Node::File(_)) => return Err(ErrorKind::NotADirectory.into()),
                None => return Err(not_found(path)),
            };
        }
        Ok(folder)
    }

    /// The folder that holds `path`, and its name there.
    fn parent(&self, path: &Path) -> io::Result<(Folder, OsString)> {
        let name = names(path).last().ok_or(ErrorKind::InvalidInput)?;
        Ok((self.folder(path.parent().unwrap_or(Path::new("")))?, name))
    }

    fn find(&self, path: &Path) -> Option<Node> {
        if names(path).next().is_none() {
            return Some(Node::Folder(self.root.clone()));
        }
        let (folder, name) = self.parent(path).ok()?;
        folder.lock().get(&name)
    }

    fn find_file(&self, path: &Path) -> io::Result<Inode> {
        match self.find(path) {
            Some(Node::File(inode)) => Ok(inode),
            Some(Node::Folder(_)) => Err(ErrorKind::IsADirectory.into()),
            None => Err(not_found(path)),
        }
    }

    /// Changes a name: the one step of creations, renames and removals.
    fn change_name(&mut self, path: &Path, folder: &Folder, change: NameChange) -> io::Result<()> {
        match self.begin(Fault::Name, &path.into())? {
            Verdict::Eio => return Err(eio()),
            verdict => {
                folder.lock().change(change);
                if let Verdict::PowerCut = verdict {
                    return self.lose_power();
                }
            }
        }
        Ok(())
    }
}

/// Components of a path, with `/x`, `./x` and `x` the same.
fn names(path: &Path) -> impl Iterator<Item = OsString> + '_ {
    path.components().filter_map(|c| match c {
        Component::Normal(name) => Some(name.to_owned()),
        _ => None,
    })
}

fn eio() -> io::Error {
    io::Error::from_raw_os_error(EIO)
}

fn power_is_off() -> io::Error {
    io::Error::other("the simulated machine has no power")
}

fn not_found(path: &Path) -> io::Error {
    io::Error::new(ErrorKind::NotFound, format!("{} does not exist on the simulated disk", path.display()))
}

impl SimEnv {
    /// The machine with this disk, a second later.
    fn successor(&self, state: &SimState, seed: u64, root: Folder) -> SimEnv {
        let monotonic = state.monotonic + Duration::from_secs(1);
        let successor = Self::with_disk(seed, root, monotonic, state.rare.is_some());
        // Not the same keys, but the same again: no file of this machine is open on the next.
        if self.encryption.is_some() { successor.encrypted() } else { successor }
    }

    /// The state, the power being on.
    fn powered(&self) -> io::Result<MutexGuard<'_, SimState>> {
        let state = self.shared.state.lock();
        state.check_power()?;
        Ok(state)
    }

    fn handle(&self, path: &Path, inode: Inode, writable: bool) -> Arc<dyn File> {
        let reported_failures = AtomicU64::new(inode.lock().failures());
        Arc::new(SimFile { env: self.clone(), path: path.into(), inode, writable, reported_failures })
    }
}

impl Env for SimEnv {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        if let Some(env) = self.through_keys() {
            return env.open(path, mode);
        }
        use OpenMode as M;
        let mut state = self.powered()?;
        let inode = match (state.find_file(path), mode) {
            (Ok(_), M::CreateNew | M::CreateNewPrivate | M::CreateNewRows(_)) => {
                return Err(ErrorKind::AlreadyExists.into());
            }
            (Ok(inode), _) => inode,
            (Err(e), M::Create | M::CreateNew | M::CreateNewPrivate | M::CreateNewRows(_))
                if e.kind() == ErrorKind::NotFound =>
            {
                let (folder, name) = state.parent(path)?;
                let inode = Inode::default();
                state.change_name(path, &folder, NameChange::Add(name, Node::File(inode.clone())))?;
                inode
            }
            (Err(e), _) => return Err(e),
        };
        Ok(self.handle(path, inode, mode != OpenMode::Read))
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        let mut state = self.powered()?;
        let mut folder = state.root.clone();
        for name in names(path) {
            let node = folder.lock().get(&name);
            folder = match node {
                Some(Node::Folder(inner)) => inner,
                Some(Node::File(_)) => return Err(ErrorKind::NotADirectory.into()),
                None => {
                    let inner = Folder::default();
                    state.change_name(path, &folder, NameChange::Add(name, Node::Folder(inner.clone())))?;
                    inner
                }
            };
        }
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.powered()?;
        let node = state.find(from).ok_or_else(|| not_found(from))?;
        let (source, old) = state.parent(from)?;
        let (target, new) = state.parent(to)?;
        if !Arc::ptr_eq(&source, &target) {
            return Err(io::Error::new(
                ErrorKind::Unsupported,
                "the simulated disk renames inside one folder only",
            ));
        }
        // A folder replaces an empty one alone.
        match (&node, state.find(to)) {
            (Node::File(_), Some(Node::Folder(_))) => return Err(ErrorKind::IsADirectory.into()),
            (Node::Folder(_), Some(Node::File(_))) => return Err(ErrorKind::NotADirectory.into()),
            (Node::Folder(_), Some(Node::Folder(replaced))) if replaced.lock().names().next().is_some() => {
                return Err(ErrorKind::DirectoryNotEmpty.into());
            }
            _ => {}
        }
        state.change_name(to, &source, NameChange::Rename(old, new, node))
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        let mut state = self.powered()?;
        let inode = state.find_file(path)?;
        let (folder, name) = state.parent(path)?;
        state.change_name(path, &folder, NameChange::Remove(name, Node::File(inode)))
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        let mut state = self.powered()?;
        let removed = state.folder(path)?;
        if removed.lock().names().next().is_some() {
            return Err(ErrorKind::DirectoryNotEmpty.into());
        }
        let (folder, name) = state.parent(path)?;
        state.change_name(path, &folder, NameChange::Remove(name, Node::Folder(removed)))
    }

    fn read_dir(&self, path: &Path) -> io::Result<Vec<PathBuf>> {
        let state = self.powered()?;
        let folder = state.folder(path)?;
        let found = folder.lock().names().map(|name| path.join(name)).collect();
        Ok(found)
    }

    fn exists(&self, path: &Path) -> bool {
        self.powered().is_ok_and(|state| state.find(path).is_some())
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        let mut state = self.powered()?;
        let folder = state.folder(path)?;
        match state.begin(Fault::SyncDir, &path.into())? {
            Verdict::Go => folder.lock().sync(),
            Verdict::PowerCut => return state.lose_power(),
            Verdict::Eio => {
                folder.lock().fail_sync(&mut state.fate);
                return Err(eio());
            }
        }
        Ok(())
    }

    fn lock_file(&self, path: &Path) -> io::Result<Box<dyn Send + Sync>> {
        self.open(path, OpenMode::Create)?;
        if !self.powered()?.locked.insert(path.to_owned()) {
            return Err(ErrorKind::WouldBlock.into());
        }
        Ok(Box::new(LockGuard { env: self.clone(), path: path.to_owned() }))
    }

    fn now(&self) -> UnixMicros {
        EPOCH + self.monotonic().as_micros() as u64
    }

    fn monotonic(&self) -> Duration {
        let mut state = self.shared.state.lock();
        state.monotonic += Duration::from_micros(1);
        state.monotonic
    }

    fn monotonic_coarse(&self) -> Duration {
        self.monotonic()
    }

    /// Work takes no time here.
    fn processor_time(&self, _: Whose) -> Duration {
        Duration::ZERO
    }

    fn random(&self, out: &mut [u8]) {
        self.shared.state.lock().entropy.fill(out);
    }

    fn encrypts(&self, rows: Rows) -> bool {
        self.encryption.as_ref().is_some_and(|encryption| encryption.encrypts(rows))
    }

    fn set_encrypts(&self, rows: Rows, encrypts: bool) -> bool {
        self.through_keys().map_or(!encrypts, |env| env.set_encrypts(rows, encrypts))
    }

    fn master_key_of(&self, path: &Path) -> io::Result<Option<KeyId>> {
        match self.through_keys() {
            Some(env) => env.master_key_of(path),
            None => self.open(path, OpenMode::Read).map(|_| None),
        }
    }

    fn rotate_master_key(&self, rows: Rows, folders: &[&Path]) -> io::Result<Rotated> {
        self.through_keys().ok_or(ErrorKind::Unsupported)?.rotate_master_key(rows, folders)
    }

    fn takes_rare_path(&self, one_in: u64) -> bool {
        self.shared.state.lock().rare.as_mut().is_some_and(|rare| rare.chance(1, one_in))
    }
}

struct LockGuard {
    env: SimEnv,
    path: PathBuf,
}

impl Drop for LockGuard {
    fn drop(&mut self) {
        self.env.shared.state.lock().locked.remove(&self.path);
    }
}

struct SimFile {
    env: SimEnv,
    /// The name it was opened by; a rename does not change it.
    path: Arc<Path>,
    inode: Inode,
    writable: bool,
    /// Failures of the file that were reported through this handle (E4).
    reported_failures: AtomicU64,
}

impl SimFile {
    fn writable(&self) -> io::Result<MutexGuard<'_, SimState>> {
        if self.writable { self.env.powered() } else { Err(ErrorKind::PermissionDenied.into()) }
    }

    /// True if a sync has failed that this handle has not reported; it reports it now (E4).
    fn learns_of_failure(&self) -> bool {
        let failures = self.inode.lock().failures();
        self.reported_failures.swap(failures, Ordering::Relaxed) < failures
    }

    /// Takes the time that a sync takes, without the latch.
    fn pass_time(state: &mut MutexGuard<'_, SimState>) -> io::Result<()> {
        let time = state.sync_time;
        if !time.is_zero() {
            MutexGuard::unlocked(state, || std::thread::sleep(time));
            state.monotonic += time;
        }
        state.check_power()
    }

    /// Waits while syncs are held, without the latch.
    fn wait_while_held(state: &mut MutexGuard<'_, SimState>) -> io::Result<()> {
        if !state.holds_syncs {
            return Ok(());
        }
        state.held_syncs += 1;
        state.hold_arrivals += 1;
        let number = state.hold_arrivals;
        let changed = state.held_syncs_changed.clone();
        changed.notify_all();
        while state.holds_syncs && state.powered && !state.released_syncs.contains(&number) {
            changed.wait(state);
        }
        state.held_syncs -= 1;
        state.check_power()
    }
}

impl File for SimFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let _state = self.env.powered()?;
        Ok(self.inode.lock().read_at(buf, offset))
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let mut state = self.writable()?;
        let verdict = state.begin(Fault::Write, &self.path)?;
        let mut file = self.inode.lock();
        let end = offset + bytes.len() as u64;
        let grows = end.saturating_sub(file.len());
        let missing = if grows == 0 { 0 } else { self.missing(&state, &mut file, grows) };
        let part = match verdict {
            Verdict::Eio => {
                let sectors = state.fate.below(end.div_ceil(disk::SECTOR) - offset / disk::SECTOR + 1);
                (sectors * disk::SECTOR).saturating_sub(offset % disk::SECTOR)
            }
            _ => (bytes.len() as u64).saturating_sub(missing),
        };
        let part = &bytes[..(part as usize).min(bytes.len())];
        file.write_at(part, offset);
        if let Some(counters) = state.counters.get_mut(&self.path) {
            counters.written_bytes += part.len() as u64;
        }
        match verdict {
            Verdict::PowerCut => {
                drop(file);
                state.lose_power()
            }
            Verdict::Eio => Err(eio()),
            Verdict::Go if missing > 0 => Err(ErrorKind::StorageFull.into()),
            Verdict::Go => Ok(()),
        }
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut state = self.env.powered()?;
        let upto = self.inode.lock().changes();
        let verdict = state.begin(Fault::Sync, &self.path)?;
        if let Verdict::Eio = verdict {
            self.inode.lock().fail_sync(&mut state.fate);
        }
        // Reported early, so that of two syncs through one handle the one that came first can be
        // the last to return.
        let failed = self.learns_of_failure();
        Self::pass_time(&mut state)?;
        Self::wait_while_held(&mut state)?;
        if let Verdict::PowerCut = verdict {
            return state.lose_power();
        }
        if failed || self.learns_of_failure() {
            return Err(eio());
        }
        self.inode.lock().sync(upto);
        Ok(())
    }

    fn sync_all(&self) -> io::Result<()> {
        self.sync_data()
    }

    fn await_written(&self, offset: u64, len: u64) -> io::Result<()> {
        let mut state = self.env.powered()?;
        match state.begin(Fault::Await, &self.path)? {
            Verdict::Eio => self.inode.lock().fail_sync(&mut state.fate),
            Verdict::PowerCut => return state.lose_power(),
            Verdict::Go => {}
        }
        if self.learns_of_failure() {
            return Err(eio());
        }
        self.inode.lock().catch_up(offset, len);
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        let _state = self.env.powered()?;
        Ok(self.inode.lock().len())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut state = self.writable()?;
        let verdict = state.begin(Fault::SetLen, &self.path)?;
        let mut file = self.inode.lock();
        let grows = len.saturating_sub(file.len());
        if grows > 0 && self.missing(&state, &mut file, grows) > 0 {
            return Err(ErrorKind::StorageFull.into());
        }
        if let Verdict::Eio = verdict {
            return Err(eio());
        }
        file.set_len(len);
        drop(file);
        if let Verdict::PowerCut = verdict { state.lose_power() } else { Ok(()) }
    }
}

impl SimFile {
    /// How many of the bytes by which this file is about to grow don't fit the disk.
    fn missing(&self, state: &SimState, file: &mut MutexGuard<'_, FileState>, grows: u64) -> u64 {
        if state.capacity.is_none() {
            return 0;
        }
        // Counting takes every file's latch, this one's too.
        MutexGuard::unlocked(file, || grows.saturating_sub(state.room()))
    }
}

#[cfg(test)]
mod tests;
