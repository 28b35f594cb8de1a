//! What a simulated disk remembers of a file and of a folder: what everybody reads now, what a
//! power cut would leave for certain, and the operations in between.
//!
//! A file is its `durable` content and a list of unflushed changes. A sync applies the list to the
//! durable content. A power cut applies, for each 512-byte sector, the changes up to one chosen at
//! random: a page cache writes a sector as it is at some moment, so a sector never shows a later
//! change without the earlier ones, while two sectors of one write have nothing to do with each
//! other. The length is one more such thing.
//!
//! A folder is its `durable` names and a list of unflushed operations, of which a power cut keeps
//! any subset, each as a whole.

use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsString;
use std::sync::Arc;
use stdx::random::Random;

/// What a device writes whole or not at all, in bytes.
pub(super) const SECTOR: u64 = 512;

/// What the system's cache holds and writes as one, in bytes.
const PAGE: u64 = 4096;

/// The pages that hold these bytes.
fn pages(offset: u64, len: u64) -> std::ops::Range<u64> {
    offset / PAGE..(offset + len).div_ceil(PAGE)
}

/// How a power cut deals with the unflushed changes of one file or folder.
#[derive(Debug, Clone, Copy)]
enum Fate {
    /// All of them vanish.
    Drop,
    /// All of them survive.
    Keep,
    /// Each survives or vanishes as a whole.
    Whole,
    /// Each sector decides for itself.
    Torn,
    /// Those before one of them survive, it is torn, the rest vanish: what an ordered journal or a
    /// busy device leaves.
    Prefix(usize),
}

impl Fate {
    fn draw(random: &mut Random, changes: usize) -> Fate {
        match random.below(8) {
            0 => Fate::Drop,
            1 => Fate::Keep,
            2 | 3 => Fate::Whole,
            4 | 5 => Fate::Torn,
            _ => Fate::Prefix(random.below(changes as u64) as usize),
        }
    }
}

/// The content of a file, and what of it is durable.
#[derive(Debug, Default)]
pub(super) struct FileState {
    live: Vec<u8>,
    durable: Arc<Vec<u8>>,
    unflushed: Vec<Change>,
    /// Changes ever made; `unflushed` holds the last `unflushed.len()` of them.
    changes: u64,
    /// Syncs that failed, which each handle reports.
    failures: u64,
    /// Pages written and not waited for, and the most of them at any time.
    backlog: BTreeSet<u64>,
    backlog_max: usize,
}

#[derive(Debug)]
enum Change {
    Write { offset: u64, bytes: Box<[u8]> },
    SetLen(u64),
}

pub(super) type Inode = Arc<Mutex<FileState>>;

impl FileState {
    pub(super) fn len(&self) -> u64 {
        self.live.len() as u64
    }

    pub(super) fn read_at(&self, buf: &mut [u8], offset: u64) -> usize {
        let from = usize::try_from(offset).unwrap_or(usize::MAX).min(self.live.len());
        let n = buf.len().min(self.live.len() - from);
        buf[..n].copy_from_slice(&self.live[from..from + n]);
        n
    }

    pub(super) fn write_at(&mut self, bytes: &[u8], offset: u64) {
        if !bytes.is_empty() {
            write(&mut self.live, bytes, offset);
            self.push(Change::Write { offset, bytes: bytes.into() });
            self.backlog.extend(pages(offset, bytes.len() as u64));
            self.backlog_max = self.backlog_max.max(self.backlog.len());
        }
    }

    pub(super) fn set_len(&mut self, len: u64) {
        self.live.resize(len as usize, 0);
        self.push(Change::SetLen(len));
    }

    /// Somebody waited for these bytes to be written.
    pub(super) fn catch_up(&mut self, offset: u64, len: u64) {
        for page in pages(offset, len) {
            self.backlog.remove(&page);
        }
    }

    pub(super) fn backlog_max(&self) -> u64 {
        self.backlog_max as u64 * PAGE
    }

    fn push(&mut self, change: Change) {
        self.unflushed.push(change);
        self.changes += 1;
    }

    /// The changes made so far: what a sync that starts now has to make durable.
    pub(super) fn changes(&self) -> u64 {
        self.changes
    }

    /// Makes the changes before number `upto` durable.
    pub(super) fn sync(&mut self, upto: u64) {
        let flushed = self.changes - self.unflushed.len() as u64;
        let count = (upto.saturating_sub(flushed) as usize).min(self.unflushed.len());
        if count == self.unflushed.len() {
            self.backlog.clear();
        }
        if count == 0 {
            return;
        }
        let durable = Arc::make_mut(&mut self.durable);
        for change in self.unflushed.drain(..count) {
            match change {
                Change::Write { offset, bytes } => write(durable, &bytes, offset),
                Change::SetLen(len) => durable.resize(len as usize, 0),
            }
        }
    }

    /// A sync failed: some unflushed changes reached the disk, the others never will (E4), yet
    /// everybody still reads them.
    pub(super) fn fail_sync(&mut self, random: &mut Random) {
        self.durable = self.after_power_cut(random);
        self.unflushed.clear();
        self.failures += 1;
    }

    pub(super) fn failures(&self) -> u64 {
        self.failures
    }

    /// Another disk's file, as a power cut now might leave it.
    pub(super) fn reboot(&self, random: &mut Random) -> FileState {
        let durable = self.after_power_cut(random);
        FileState { live: durable.as_ref().clone(), durable, ..FileState::default() }
    }

    /// Another disk's file, as everybody reads this one now.
    fn copy(&self) -> FileState {
        FileState { live: self.live.clone(), durable: Arc::new(self.live.clone()), ..FileState::default() }
    }

    fn after_power_cut(&self, random: &mut Random) -> Arc<Vec<u8>> {
        if self.unflushed.is_empty() {
            return self.durable.clone();
        }
        let fate = Fate::draw(random, self.unflushed.len());
        match fate {
            Fate::Drop => return self.durable.clone(),
            Fate::Keep => return Arc::new(self.after_all()),
            Fate::Whole | Fate::Torn | Fate::Prefix(_) => {}
        }
        let last_surviving = self.last_surviving_by_sector(fate, random);
        let length_changes = match fate {
            Fate::Prefix(n) => n + random.below(2) as usize,
            _ => random.below(self.unflushed.len() as u64 + 1) as usize,
        };
        let mut content = self.durable.as_ref().clone();
        let mut len = content.len() as u64;
        for (i, change) in self.unflushed.iter().enumerate() {
            let length_survives = i < length_changes;
            let survives = |sector| last_surviving.get(&sector).is_some_and(|&last| last >= i);
            match change {
                Change::Write { offset, bytes } => {
                    let end = offset + bytes.len() as u64;
                    for (from, to) in sectors(*offset, end) {
                        if survives(from / SECTOR) {
                            write(
                                &mut content,
                                &bytes[(from - offset) as usize..(to - offset) as usize],
                                from,
                            );
                        }
                    }
                    len = if length_survives { len.max(end) } else { len };
                }
                Change::SetLen(new) => {
                    let old = content.len() as u64;
                    for (from, to) in sectors((*new).min(old), old) {
                        if length_survives || survives(from / SECTOR) {
                            content[from as usize..to as usize].fill(0);
                        }
                    }
                    len = if length_survives { *new } else { len };
                }
            }
        }
        content.resize(len as usize, 0);
        Arc::new(content)
    }

    /// The durable content with every change, which differs from `live` after a failed sync.
    fn after_all(&self) -> Vec<u8> {
        let mut content = self.durable.as_ref().clone();
        for change in &self.unflushed {
            match change {
                Change::Write { offset, bytes } => write(&mut content, bytes, *offset),
                Change::SetLen(len) => content.resize(*len as usize, 0),
            }
        }
        content
    }

    /// For each sector that keeps anything: the index of the last change that it shows.
    fn last_surviving_by_sector(&self, fate: Fate, random: &mut Random) -> HashMap<u64, usize> {
        let mut last_surviving = HashMap::new();
        for (i, change) in self.unflushed.iter().enumerate() {
            let Change::Write { offset, bytes } = change else { continue };
            let whole = random.chance(1, 2);
            for (from, _) in sectors(*offset, offset + bytes.len() as u64) {
                let keep = match fate {
                    Fate::Prefix(n) => i < n || i == n && random.chance(1, 2),
                    Fate::Whole => whole,
                    _ => random.chance(1, 2),
                };
                if keep {
                    last_surviving.insert(from / SECTOR, i);
                }
            }
        }
        last_surviving
    }
}

/// Writes, with zeros in the gap between the old end and `offset`.
fn write(content: &mut Vec<u8>, bytes: &[u8], offset: u64) {
    let (from, to) = (offset as usize, offset as usize + bytes.len());
    if from == content.len() {
        content.extend_from_slice(bytes);
        return;
    }
    if content.len() < to {
        content.resize(to, 0);
    }
    content[from..to].copy_from_slice(bytes);
}

/// The parts of `from..to`, cut at sector borders.
fn sectors(from: u64, to: u64) -> impl Iterator<Item = (u64, u64)> {
    let mut at = from;
    std::iter::from_fn(move || {
        (at < to).then(|| {
            let part = (at, to.min((at / SECTOR + 1) * SECTOR));
            at = part.1;
            part
        })
    })
}

/// What a name in a folder stands for.
#[derive(Debug, Clone)]
pub(super) enum Node {
    File(Inode),
    Folder(Arc<Mutex<FolderState>>),
}

impl Node {
    fn is(&self, other: &Node) -> bool {
        match (self, other) {
            (Node::File(a), Node::File(b)) => Arc::ptr_eq(a, b),
            (Node::Folder(a), Node::Folder(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }
}

pub(super) type Folder = Arc<Mutex<FolderState>>;
type Names = BTreeMap<OsString, Node>;

/// The names in a folder, and which of them are durable.
#[derive(Debug, Default)]
pub(super) struct FolderState {
    live: Names,
    durable: Names,
    unflushed: Vec<NameChange>,
}

#[derive(Debug, Clone)]
pub(super) enum NameChange {
    Add(OsString, Node),
    Rename(OsString, OsString, Node),
    Remove(OsString, Node),
}

impl NameChange {
    fn apply(&self, names: &mut Names) {
        match self {
            NameChange::Add(name, node) => {
                names.insert(name.clone(), node.clone());
            }
            NameChange::Rename(from, to, node) => {
                remove(names, from, node);
                names.insert(to.clone(), node.clone());
            }
            NameChange::Remove(name, node) => remove(names, name, node),
        }
    }
}

/// Removes a name if it still stands for `node`: another operation's survival may have given it
/// away.
fn remove(names: &mut Names, name: &OsString, node: &Node) {
    if names.get(name).is_some_and(|found| found.is(node)) {
        names.remove(name);
    }
}

impl FolderState {
    pub(super) fn get(&self, name: &OsString) -> Option<Node> {
        self.live.get(name).cloned()
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &OsString> {
        self.live.keys()
    }

    pub(super) fn change(&mut self, change: NameChange) {
        change.apply(&mut self.live);
        self.unflushed.push(change);
    }

    pub(super) fn sync(&mut self) {
        for change in self.unflushed.drain(..) {
            change.apply(&mut self.durable);
        }
    }

    pub(super) fn fail_sync(&mut self, random: &mut Random) {
        self.durable = self.after_power_cut(random);
        self.unflushed.clear();
    }

    fn after_power_cut(&self, random: &mut Random) -> Names {
        let mut names = self.durable.clone();
        if self.unflushed.is_empty() {
            return names;
        }
        let fate = Fate::draw(random, self.unflushed.len() + 1);
        for (i, change) in self.unflushed.iter().enumerate() {
            let keep = match fate {
                Fate::Drop => false,
                Fate::Keep => true,
                Fate::Prefix(n) => i < n,
                Fate::Whole | Fate::Torn => random.chance(1, 2),
            };
            if keep {
                change.apply(&mut names);
            }
        }
        names
    }

    /// This folder and everything in it, as a power cut now might leave them.
    pub(super) fn reboot(&self, random: &mut Random) -> Folder {
        let names = self.after_power_cut(random).into_iter();
        let durable: Names = names
            .map(|(name, node)| {
                let node = match node {
                    Node::File(inode) => Node::File(Arc::new(Mutex::new(inode.lock().reboot(random)))),
                    Node::Folder(folder) => Node::Folder(folder.lock().reboot(random)),
                };
                (name, node)
            })
            .collect();
        Arc::new(Mutex::new(FolderState { live: durable.clone(), durable, unflushed: Vec::new() }))
    }

    /// This folder and everything in it, as everybody reads them now.
    pub(super) fn copy(&self) -> Folder {
        let copy = |node: &Node| match node {
            Node::File(inode) => Node::File(Arc::new(Mutex::new(inode.lock().copy()))),
            Node::Folder(folder) => Node::Folder(folder.lock().copy()),
        };
        let live: Names = self.live.iter().map(|(name, node)| (name.clone(), copy(node))).collect();
        Arc::new(Mutex::new(FolderState { live: live.clone(), durable: live, unflushed: Vec::new() }))
    }

    /// Bytes in all files below.
    pub(super) fn used(&self) -> u64 {
        self.live
            .values()
            .map(|node| match node {
                Node::File(inode) => inode.lock().len(),
                Node::Folder(folder) => folder.lock().used(),
            })
            .sum()
    }
}
