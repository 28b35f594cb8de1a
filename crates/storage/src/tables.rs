//! The set of tables, in memory and in the manifest, and its one way to change.
//!
//! 1. A flush or compaction has written its tables and made them durable.
//! 2. The edit that names them goes into the manifest.
//! 3. The view with the new version is published.
//! 4. Tables that are not named any more are retired: each file goes with its last reader.
//!
//! Commits are serialised by a latch that is held across I/O; neither readers nor writers take it.

use crate::entry::TreeId;
use crate::error::StoreError;
use crate::manifest::{Manifest, manifest_number};
use crate::memtable::Checkpoint;
use crate::sstable::table::table_number;
use crate::sstable::{Table, TableContext};
use crate::version::{Edit, Version};
use crate::view::{CurrentView, Drops, View};
use binlog::position::LogPosition;
use parking_lot::Mutex;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The set of tables.
pub(crate) struct Tables {
    pub(crate) context: Arc<TableContext>,
    pub(crate) next_number: AtomicU64,
    current: Arc<CurrentView>,
    durable: Mutex<Durable>,
}

/// What the manifest says, and what it may say after a failure.
struct Durable {
    manifest: Manifest,
    checkpoint: Checkpoint,
    /// Drops at or before the checkpoint.
    drops: Drops,
    /// Tables named by edits that failed: they may be named or not (N2).
    doubtful: Vec<u64>,
}

impl Tables {
    /// Reads the manifest, begins a new one, then removes files that it doesn't name. In this order: the last record
    /// read may not be durable yet, so nothing is removed on its word.
    pub(crate) fn open(context: Arc<TableContext>) -> Result<(Tables, Arc<CurrentView>), StoreError> {
        let (edits, manifest) = Manifest::read(&context.env, &context.dir)?;
        let checkpoint = Checkpoint { position: LogPosition::ZERO, notes: [].into() };
        let (mut whole, mut drops) =
            (Edit { checkpoint: Some(checkpoint), ..Edit::default() }, Drops::default());
        for edit in edits {
            whole.added.retain(|(level, meta)| !edit.removed.contains(&(*level, meta.number)));
            whole.added.extend(edit.added);
            whole.checkpoint = edit.checkpoint.or(whole.checkpoint);
            edit.drops_added.iter().for_each(|&(tree, position)| drops.add(tree, position));
            edit.drops_removed.iter().for_each(|&(tree, position)| drops.remove(tree, position));
        }
        let version = Version::default().apply(&whole, &context);
        version.check_invariants(&context)?;
        let next_number = last_number(&context, &version)? + 1;
        let view = View {
            active: Arc::default(),
            frozen: Vec::new(),
            version: Arc::new(version),
            drops: Arc::new(drops.clone()),
        };
        let current = Arc::new(CurrentView::new(view));
        let manifest = Manifest::new(context.env.clone(), &context.dir, manifest);
        let checkpoint = whole.checkpoint.expect("set above, and never unset");
        let durable = Durable { manifest, checkpoint, drops, doubtful: Vec::new() };
        let tables = Tables {
            context,
            next_number: AtomicU64::new(next_number),
            current: current.clone(),
            durable: Mutex::new(durable),
        };
        tables.commit(Edit::default(), |_| {})?;
        tables.remove_orphans()?;
        Ok((tables, current))
    }

    /// The last durable checkpoint.
    pub(crate) fn checkpoint(&self) -> Checkpoint {
        self.durable.lock().checkpoint.clone()
    }

    /// Tree drops that are durable.
    pub(crate) fn durable_drops(&self) -> Drops {
        self.durable.lock().drops.clone()
    }

    /// Makes `edit` durable, then publishes it; `change` alters the view in the same step. After a failure the store
    /// goes on as if the edit had not been tried.
    pub(crate) fn commit(&self, mut edit: Edit, change: impl FnOnce(&mut View)) -> Result<(), StoreError> {
        let durable = &mut *self.durable.lock();
        let old = self.current.load().version.clone();
        let new = Arc::new(old.apply(&edit, &self.context));
        new.check_invariants(&self.context)?;
        let mut drops = durable.drops.clone();
        edit.drops_added.iter().for_each(|&(tree, position)| drops.add(tree, position));
        edit.drops_removed = useless_drops(&drops, &new);
        edit.drops_removed.iter().for_each(|&(tree, position)| drops.remove(tree, position));
        let checkpoint = edit.checkpoint.clone().unwrap_or_else(|| durable.checkpoint.clone());
        let number = || self.next_number.fetch_add(1, Ordering::Relaxed);
        let written = durable.manifest.commit(&edit, || whole(&new, &drops, &checkpoint), number);
        if let Err(error) = written {
            let is_new = |number: &u64| !old.tables().any(|(_, t)| t.meta.number == *number);
            durable.doubtful.extend(edit.added.iter().map(|(_, meta)| meta.number).filter(is_new));
            return Err(error);
        }
        durable.drops = drops;
        durable.checkpoint = checkpoint;
        self.current.update(|view| {
            view.version = new.clone();
            if !edit.drops_removed.is_empty() {
                let drops = Arc::make_mut(&mut view.drops);
                edit.drops_removed.iter().for_each(|&(tree, position)| drops.remove(tree, position));
            }
            change(view);
        });
        self.retire(&old, &new, &mut durable.doubtful);
        Ok(())
    }

    /// Lets go of tables that `new` does not name any more, and of those that failed edits left over.
    fn retire(&self, old: &Version, new: &Version, doubtful: &mut Vec<u64>) {
        let named: HashSet<u64> = new.tables().map(|(_, t)| t.meta.number).collect();
        old.tables().filter(|(_, t)| !named.contains(&t.meta.number)).for_each(|(_, t)| Table::retire(t));
        for number in doubtful.drain(..).filter(|n| !named.contains(n)) {
            self.context.graveyard.add(number);
        }
    }

    /// Removes tables and manifests that are left over from before.
    fn remove_orphans(&self) -> Result<(), StoreError> {
        let context = &self.context;
        let failed = |e| StoreError::io(format!("clean up {}", context.dir.display()), e);
        let view = self.current.load();
        let named: HashSet<u64> = view.version.tables().map(|(_, t)| t.meta.number).collect();
        let manifest = self.durable.lock().manifest.number();
        for path in context.env.read_dir(&context.dir).map_err(failed)? {
            let is_orphan = match (table_number(&path), manifest_number(&path)) {
                (Some(number), _) => !named.contains(&number),
                (_, Some(number)) => number != manifest,
                _ => path.extension().is_some_and(|e| e == "tmp"),
            };
            if is_orphan {
                context.env.remove_file(&path).map_err(failed)?;
            }
        }
        Ok(())
    }

    /// Removes files of retired tables that nobody reads any more.
    pub(crate) fn bury(&self) {
        for number in self.context.graveyard.take() {
            // A file that can't be removed now goes at the next start.
            let _ = self.context.env.remove_file(&self.context.table_path(number));
        }
    }
}

/// Everything in one edit.
fn whole(version: &Version, drops: &Drops, checkpoint: &Checkpoint) -> Edit {
    Edit {
        added: version.tables().map(|(level, t)| (level, t.meta.clone())).collect(),
        checkpoint: Some(checkpoint.clone()),
        drops_added: drops.iter().collect(),
        ..Edit::default()
    }
}

/// Drops that hide nothing, since no table has older versions of their tree. (Memtables have none either: a drop is
/// durable once all that was written before it is in tables.)
fn useless_drops(drops: &Drops, version: &Version) -> Vec<(TreeId, LogPosition)> {
    let is_useless = |&(tree, position): &(TreeId, LogPosition)| {
        !version.tables().any(|(_, t)| t.meta.may_hold(tree) && t.meta.position_min < position)
    };
    drops.iter().filter(is_useless).collect()
}

/// The largest number that any file has or that the manifest names.
fn last_number(context: &TableContext, version: &Version) -> Result<u64, StoreError> {
    let failed = |e| StoreError::io(format!("list {}", context.dir.display()), e);
    let paths = context.env.read_dir(&context.dir).map_err(failed)?;
    let of_files = paths.iter().filter_map(|path| table_number(path).or_else(|| manifest_number(path)));
    let named = version.tables().map(|(_, t)| t.meta.number);
    let last = of_files.chain(named).max().unwrap_or(0);
    // A name from elsewhere must not make numbers overflow.
    if last < u64::MAX / 2 {
        Ok(last)
    } else {
        Err(failed(std::io::Error::other("a file's number is too large")))
    }
}
