//! The set of tables, in memory and in the manifest, and its one way to change.
//!
//! 1. A flush or compaction has written its tables and made them durable.
//! 2. The edit that names them goes into the manifest.
//! 3. The view with the new version is published.
//! 4. Tables that are not named any more are retired: each file goes with its last reader.
//!
//! At a start the folder is *examined* first, which changes nothing ([`Examined`]), and *adopted*
//! once log and store were found to belong together ([`Tables::adopt`]): only then files go that no
//! manifest names.
//!
//! Commits are serialised by a latch that is held across I/O; neither readers nor writers take it.

use crate::cache::BlockCache;
use crate::entry::TreeId;
use crate::error::StoreError;
use crate::manifest::{Manifest, manifest_name, manifest_number, manifest_path};
use crate::memtable::Checkpoint;
use crate::skiplist::SkipList;
use crate::sstable::table::{table_number, table_path};
use crate::sstable::{Graveyard, Table, TableContext, TableMeta};
use crate::version::{Edit, Version};
use crate::view::{CurrentView, Drops, View};
use binlog::LogPosition;
use env::{Env, OpenMode};
use parking_lot::Mutex;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
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
    /// Tables named by edits that failed: they may be named or not (N2 of `manifest.rs`).
    doubtful: Vec<u64>,
}

/// A store's folder, as it was found. Nothing was changed.
pub(crate) struct Examined {
    pub(crate) checkpoint: Checkpoint,
    added: Vec<(usize, TableMeta)>,
    drops: Drops,
    /// Tables that the manifest's last record removed.
    last_removed: HashSet<u64>,
    files: Files,
    /// The manifest's number; 0 if there is none.
    manifest: u64,
    /// See [`Found::torn_at`](crate::manifest::Found).
    pub(crate) torn_at: Option<u64>,
    /// See [`Found::instead_of`](crate::manifest::Found).
    pub(crate) instead_of: Option<StoreError>,
    /// See [`Found::doubt`](crate::manifest::Found).
    pub(crate) doubt: Option<StoreError>,
    /// Manifests that are newer than the one that counts (N5 of `manifest.rs`).
    pub(crate) newer: Vec<Newer>,
}

/// A manifest that is newer than the one that `CURRENT` names, and sound.
pub(crate) struct Newer {
    /// Its file's name.
    pub(crate) name: String,
    /// Its checkpoint.
    pub(crate) position: LogPosition,
    /// Tables that are there, which it names and the manifest that counts does not.
    pub(crate) tables: usize,
}

impl Examined {
    /// True if there are files of tables.
    pub(crate) fn has_tables(&self) -> bool {
        !self.files.tables.is_empty()
    }

    /// Reads what the manifest says, and whether all tables that it names are there. Changes
    /// nothing.
    pub(crate) fn read(env: &Arc<dyn Env>, dir: &Path) -> Result<Examined, StoreError> {
        let files = Files::list(&**env, dir)?;
        let found = Manifest::examine(&**env, dir, &files.manifests, files.tables.len())?;
        let last_removed = found.edits.last().into_iter().flat_map(|e| &e.removed).map(|r| r.1).collect();
        let (checkpoint, added, drops) = replay(found.edits);
        let there: HashSet<u64> = files.tables.iter().copied().collect();
        if let Some((_, missing)) = added.iter().find(|(_, meta)| !there.contains(&meta.number)) {
            let manifest = manifest_path(dir, found.number);
            let manifest = manifest.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let mut what = format!("it is missing, though {manifest} names it");
            if let Some(offset) = found.torn_at {
                // The record that took the table away would be that one.
                what += &format!(
                    ". The last record of {manifest}, at byte {offset}, can't be read: it is damaged, probably, and not the table"
                );
            }
            if files.manifests.iter().any(|number| *number > found.number) {
                // A table goes once `CURRENT` durably names a manifest without it.
                what += ". A later manifest is there, too: CURRENT is an old one, probably, and no table is missing";
            }
            return Err(StoreError::Corrupt { file: table_path(dir, missing.number), offset: 0, what });
        }
        let is_named = |number: u64| added.iter().any(|(_, meta)| meta.number == number);
        let newer = found.newer.into_iter().map(|(number, edits)| {
            let (checkpoint, added, _) = replay(edits);
            let tables = added.iter().map(|(_, meta)| meta.number);
            let tables = tables.filter(|number| there.contains(number) && !is_named(*number)).count();
            Newer { name: manifest_name(number), position: checkpoint.position, tables }
        });
        let newer = newer.collect();
        let manifest = found.number;
        let (torn_at, instead_of, doubt) = (found.torn_at, found.instead_of, found.doubt);
        let examined = Examined {
            checkpoint,
            added,
            drops,
            last_removed,
            files,
            manifest,
            torn_at,
            instead_of,
            doubt,
            newer,
        };
        let (cache, graveyard) = (BlockCache::new(0), Graveyard::default());
        let context = Arc::new(TableContext { env: env.clone(), dir: dir.to_owned(), cache, graveyard });
        examined.version(&context).check_invariants(&context)?;
        Ok(examined)
    }

    /// True if a manifest counts.
    pub(crate) fn has_manifest(&self) -> bool {
        self.manifest > 0
    }

    pub(crate) fn manifest_path(&self, dir: &Path) -> PathBuf {
        manifest_path(dir, self.manifest)
    }

    fn version(&self, context: &Arc<TableContext>) -> Version {
        Version::default().apply(&Edit { added: self.added.clone(), ..Edit::default() }, context)
    }
}

impl Tables {
    /// Takes over what was found: removes files that the manifest doesn't name. The view begins
    /// with this memtable.
    pub(crate) fn adopt(
        context: Arc<TableContext>,
        active: Arc<SkipList>,
        examined: Examined,
    ) -> Result<(Tables, Arc<CurrentView>), StoreError> {
        if examined.instead_of.is_some() {
            Manifest::make_current(&*context.env, &context.dir, examined.manifest)?;
        }
        let version = examined.version(&context);
        let next_number = examined.files.numbers().chain(version.numbers()).max().unwrap_or(0) + 1;
        let drops = examined.drops;
        let view =
            View { active, frozen: Vec::new(), version: Arc::new(version), drops: Arc::new(drops.clone()) };
        let current = Arc::new(CurrentView::new(view));
        let manifest = Manifest::new(context.env.clone(), &context.dir, examined.manifest);
        let durable = Durable { manifest, checkpoint: examined.checkpoint, drops, doubtful: Vec::new() };
        let tables = Tables {
            context,
            next_number: AtomicU64::new(next_number),
            current: current.clone(),
            durable: Mutex::new(durable),
        };
        if examined.doubt.is_none() {
            tables.remove_orphans(examined.files, &examined.last_removed)?;
        }
        Ok((tables, current))
    }

    /// Removes orphaned files: those that a sound manifest does not name.
    ///
    /// The process before this one may have ended between writing and flushing, so what was read
    /// may not be durable: the last record of the manifest, or `CURRENT` itself if two manifests
    /// are there. So tables that the last record removed stay until the next commit succeeded, and
    /// with two manifests a new one is begun first.
    fn remove_orphans(&self, files: Files, last_removed: &HashSet<u64>) -> Result<(), StoreError> {
        let is_doubtful = files.manifests.len() > 1;
        if is_doubtful {
            self.commit(Edit::default(), |_| {})?;
        }
        let named: HashSet<u64> = self.current.load().version.numbers().collect();
        let durable = &mut *self.durable.lock();
        for number in files.tables.into_iter().filter(|n| !named.contains(n)) {
            match !is_doubtful && last_removed.contains(&number) {
                true => durable.doubtful.push(number),
                false => self.context.graveyard.add(number),
            }
        }
        self.bury();
        let old_manifests = files.manifests.into_iter().filter(|n| *n != durable.manifest.number());
        for path in old_manifests.map(|n| manifest_path(&self.context.dir, n)).chain(files.temporary) {
            // As with tables: what can't be removed now goes another time.
            let _ = self.context.env.remove_file(&path);
        }
        Ok(())
    }

    /// The last durable checkpoint.
    pub(crate) fn checkpoint(&self) -> Checkpoint {
        self.durable.lock().checkpoint.clone()
    }

    /// Tree drops that are durable.
    pub(crate) fn durable_drops(&self) -> Drops {
        self.durable.lock().drops.clone()
    }

    /// Makes `edit` durable, then publishes it; `change` alters the view in the same step. After a
    /// failure the store goes on as if the edit had not been tried.
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
        assert!(
            checkpoint.position >= durable.checkpoint.position,
            "F1: a checkpoint at {} does not follow one at {}",
            checkpoint.position,
            durable.checkpoint.position
        );
        if env::INVARIANTS {
            self.check_added(&edit, &old);
        }
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

    /// Asserts what can be seen of N3: a new table that an edit names is there, and as long as the
    /// edit says. One that is moved to another level may have been damaged since.
    fn check_added(&self, edit: &Edit, old: &Version) {
        let is_new = |meta: &TableMeta| !old.numbers().any(|number| number == meta.number);
        for (_, meta) in edit.added.iter().filter(|(_, meta)| is_new(meta)) {
            let file = self.context.env.open(&self.context.table_path(meta.number), OpenMode::Read);
            // After a simulated power cut the disk can't be asked.
            if let Ok(len) = file.and_then(|file| file.len()) {
                assert_eq!(len, meta.size, "N3: table {} was written before an edit names it", meta.number);
            }
        }
    }

    /// Asserts that the folder says what is in memory, where that is known (N2 of `manifest.rs`).
    pub(crate) fn check_invariants(&self) -> Result<(), StoreError> {
        let durable = self.durable.lock();
        if !durable.manifest.is_certain() {
            return Ok(());
        }
        let examined = Examined::read(&self.context.env, &self.context.dir)?;
        let sorted = |mut tables: Vec<(usize, TableMeta)>| {
            tables.sort_by_key(|(level, meta)| (*level, meta.number));
            tables
        };
        let view = self.current.load();
        let named = view.version.tables().map(|(level, table)| (level, table.meta.clone())).collect();
        assert_eq!(sorted(examined.added), sorted(named), "N1: the manifest names the tables of the view");
        assert_eq!(examined.checkpoint, durable.checkpoint, "the manifest has the checkpoint");
        assert_eq!(examined.drops, durable.drops, "the manifest has the drops up to the checkpoint");
        view.version.check_invariants(&self.context)
    }

    /// Retires tables that `new` does not name any more, and those that failed edits named.
    fn retire(&self, old: &Version, new: &Version, doubtful: &mut Vec<u64>) {
        let named: HashSet<u64> = new.numbers().collect();
        old.tables().filter(|(_, t)| !named.contains(&t.meta.number)).for_each(|(_, t)| Table::retire(t));
        for number in doubtful.drain(..).filter(|n| !named.contains(n)) {
            self.context.graveyard.add(number);
        }
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

/// Drops that hide nothing, since no table has older versions of their tree. (Memtables have none
/// either: a drop is durable once all that was written before it is in tables.)
fn useless_drops(drops: &Drops, version: &Version) -> Vec<(TreeId, LogPosition)> {
    let is_useless = |&(tree, position): &(TreeId, LogPosition)| {
        !version.tables().any(|(_, t)| t.meta.may_hold(tree) && t.meta.position_min < position)
    };
    drops.iter().filter(is_useless).collect()
}

/// What the edits of a manifest come to: the checkpoint, the tables with their levels, the drops.
pub(crate) fn replay(edits: Vec<Edit>) -> (Checkpoint, Vec<(usize, TableMeta)>, Drops) {
    let mut checkpoint = Checkpoint::new(LogPosition::ZERO, &[]);
    let (mut tables, mut drops) = (Vec::new(), Drops::default());
    for edit in edits {
        tables.retain(|(level, meta): &(usize, TableMeta)| !edit.removed.contains(&(*level, meta.number)));
        tables.extend(edit.added);
        checkpoint = edit.checkpoint.unwrap_or(checkpoint);
        edit.drops_added.iter().for_each(|&(tree, position)| drops.add(tree, position));
        edit.drops_removed.iter().for_each(|&(tree, position)| drops.remove(tree, position));
    }
    (checkpoint, tables, drops)
}

/// The store's files, by kind.
#[derive(Default)]
pub(crate) struct Files {
    pub(crate) tables: Vec<u64>,
    pub(crate) manifests: Vec<u64>,
    temporary: Vec<PathBuf>,
}

impl Files {
    /// Nothing if the folder is not there.
    pub(crate) fn list(env: &dyn Env, dir: &Path) -> Result<Files, StoreError> {
        let failed = |e| StoreError::io(format!("list {}", dir.display()), e);
        let mut files = Files::default();
        let paths = if env.exists(dir) { env.read_dir(dir).map_err(failed)? } else { Vec::new() };
        for path in paths {
            match (table_number(&path), manifest_number(&path)) {
                (Some(number), _) => files.tables.push(number),
                (_, Some(number)) => files.manifests.push(number),
                _ if path.extension().is_some_and(|e| e == "tmp") => files.temporary.push(path),
                _ => {}
            }
        }
        // A name from elsewhere must not make numbers overflow.
        if files.numbers().any(|n| n >= u64::MAX / 2) {
            return Err(failed(std::io::Error::other("a file's number is too large")));
        }
        Ok(files)
    }

    fn numbers(&self) -> impl Iterator<Item = u64> {
        self.tables.iter().chain(&self.manifests).copied()
    }
}
