//! A store, a model of it, and random steps for both.
#![allow(dead_code, reason = "each test program uses a part")]

use binlog::{FileNumber, LogPosition};
use env::{Env, OpenMode, SimEnv};
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use stdx::random::Random;
use storage::{LogDurability, Snapshot, Store, StoreError, StoreOptions, TreeId, WriteBatch};

/// `n` seeds, or the one that `SEED` names. Each test prints the seed of a failure through the
/// panics below.
pub(crate) fn seeds(n: u64) -> impl Iterator<Item = u64> {
    let chosen = std::env::var("SEED").ok().map(|s| s.parse().unwrap());
    let count = std::env::var("SEEDS").ok().map_or(n, |s| s.parse().unwrap());
    let range = chosen.map_or(0..count, |seed| seed..seed + 1);
    range.inspect(|seed| eprintln!("seed {seed}"))
}

/// A new machine; every other one takes rare paths.
pub(crate) fn machine(seed: u64) -> SimEnv {
    let env = SimEnv::new(seed);
    if seed.is_multiple_of(2) { env } else { env.with_rare_paths() }
}

type Row = (Vec<u8>, Vec<u8>);

/// All versions ever written.
/// One version: who wrote it, and the value unless it is a deletion.
type Version = (LogPosition, Option<Vec<u8>>);

#[derive(Default)]
pub(crate) struct Model {
    /// Versions of each key, oldest first.
    versions: BTreeMap<(u32, Vec<u8>), Vec<Version>>,
    drops: BTreeMap<u32, Vec<LogPosition>>,
}

impl Model {
    fn floor(&self, tree: u32, at: LogPosition) -> LogPosition {
        let drops = self.drops.get(&tree).map(Vec::as_slice).unwrap_or_default();
        drops.iter().copied().filter(|p| *p <= at).max().unwrap_or(LogPosition::ZERO)
    }

    fn newest(&self, tree: u32, key: &[u8], at: LogPosition) -> Option<Version> {
        let versions = self.versions.get(&(tree, key.to_vec()))?;
        let newest = versions.iter().rev().find(|(p, _)| *p <= at)?;
        (newest.0 >= self.floor(tree, at)).then(|| newest.clone())
    }

    fn rows(&self, tree: u32, at: LogPosition) -> Vec<Row> {
        let keys = self.versions.range((tree, Vec::new())..(tree + 1, Vec::new())).map(|((_, key), _)| key);
        keys.filter_map(|key| Some((key.clone(), self.newest(tree, key, at)?.1?))).collect()
    }

    fn cut(&mut self, end: LogPosition) {
        for versions in self.versions.values_mut() {
            versions.retain(|(p, _)| *p <= end);
        }
        for drops in self.drops.values_mut() {
            drops.retain(|p| *p <= end);
        }
    }
}

/// A log that is durable as far as it was asked to be.
#[derive(Default)]
struct Log {
    written: Mutex<LogPosition>,
    durable: Mutex<LogPosition>,
}

impl LogDurability for Log {
    fn ensure_durable(&self, position: LogPosition) -> io::Result<()> {
        assert!(position <= *self.written.lock(), "the log has no {position}");
        let mut durable = self.durable.lock();
        *durable = position.max(*durable);
        Ok(())
    }
}

pub(crate) struct Harness {
    pub(crate) env: SimEnv,
    pub(crate) random: Random,
    seed: u64,
    store: Option<Arc<Store>>,
    model: Model,
    log: Arc<Log>,
    visible: Arc<Mutex<LogPosition>>,
    snapshots: Vec<Snapshot>,
    last: LogPosition,
    /// Every position written, and the notes that belong to it.
    boundaries: BTreeSet<LogPosition>,
    /// The newest checkpoint that was reported as done.
    acknowledged: LogPosition,
    next_append: u64,
}

const DIR: &str = "/data/store";
const TREES: u64 = 4;
/// Keys of this tree only grow.
const APPENDED: u32 = 9;

impl Harness {
    pub(crate) fn new(env: SimEnv, seed: u64) -> Harness {
        let mut harness = Harness {
            env,
            random: Random::new(seed),
            seed,
            store: None,
            model: Model::default(),
            log: Arc::default(),
            visible: Arc::default(),
            snapshots: Vec::new(),
            last: LogPosition::new(FileNumber(1), 4),
            boundaries: BTreeSet::from([LogPosition::ZERO]),
            acknowledged: LogPosition::ZERO,
            next_append: 0,
        };
        harness.open().unwrap();
        harness
    }

    pub(crate) fn store(&self) -> &Store {
        self.store.as_ref().unwrap()
    }

    fn open(&mut self) -> Result<(), StoreError> {
        let options = StoreOptions {
            memtable_size: 24 << 10,
            memtables_max: 4,
            block_cache_size: 64 << 10,
            log_distance_max: 40 << 10,
            background: false,
            durability: self.log.clone(),
        };
        let store = Store::open(Arc::new(self.env.clone()), Path::new(DIR), options)?;
        let visible = self.visible.clone();
        store.set_visible_source(move || *visible.lock());
        store.set_notes_source(|position| position.to_string().into_bytes());
        self.store = Some(store);
        Ok(())
    }

    /// One random step, which succeeds.
    pub(crate) fn step(&mut self) {
        if let Some(error) = self.step_or_failure() {
            panic!("seed {}: {error}", self.seed);
        }
    }

    /// One random step; what went wrong, if something did.
    pub(crate) fn step_or_failure(&mut self) -> Option<StoreError> {
        match self.random.below(100) {
            0..60 => self.write(),
            60..66 => self.move_visible(),
            66..72 => return self.store().flush_once().err(),
            72..86 => return self.store().compact_once().err(),
            86..88 => return self.checkpoint().err(),
            88..92 => self.snapshots.push(self.store().snapshot_visible()),
            92..95 => {
                let n = self.random.below(self.snapshots.len() as u64) as usize;
                if n < self.snapshots.len() {
                    self.snapshots.swap_remove(n);
                }
            }
            _ if self.env.is_powered() => return self.check_something().err(),
            _ => {}
        }
        None
    }

    /// Trees that are made and dropped again in turns, some of them in each flush; the number of
    /// table files at the end.
    pub(crate) fn make_and_drop_trees(&mut self, turns: u32) -> usize {
        for turn in 0..turns {
            let made = 100 + 3 * turn..103 + 3 * turn;
            let mut batch = WriteBatch::new();
            self.advance();
            for tree in made.clone() {
                self.add(&mut batch, tree, b"row".to_vec(), Some(b"value".to_vec()));
                self.add(&mut batch, tree, b"gone".to_vec(), None);
            }
            self.write_batch(&batch);
            *self.visible.lock() = self.last;
            self.checkpoint().unwrap();
            self.advance();
            let mut batch = WriteBatch::new();
            for tree in made {
                batch.drop_tree(TreeId(tree));
                self.model.drops.entry(tree).or_default().push(self.last);
            }
            self.write_batch(&batch);
            *self.visible.lock() = self.last;
        }
        self.checkpoint().unwrap();
        let mut compactions = 0;
        while self.store().compact_once().unwrap() {
            compactions += 1;
            assert!(compactions < 100 * turns, "seed {}: compactions without end", self.seed);
        }
        let files = self.env.read_dir(Path::new(DIR)).unwrap();
        files.iter().filter(|path| path.extension().is_some_and(|e| e == "table")).count()
    }

    fn advance(&mut self) {
        self.last = LogPosition::new(self.last.file(), self.last.offset() + 100);
    }

    fn write_batch(&mut self, batch: &WriteBatch) {
        *self.log.written.lock() = self.last;
        self.store().write(batch, self.last);
        self.boundaries.insert(self.last);
    }

    fn write(&mut self) {
        self.last = if self.random.chance(1, 50) {
            LogPosition::new(self.last.file().next(), 4 + self.random.below(500))
        } else {
            LogPosition::new(self.last.file(), self.last.offset() + 1 + self.random.below(2000))
        };
        let mut batch = WriteBatch::new();
        for _ in 0..self.random.below(20) {
            self.add_operation(&mut batch);
        }
        self.write_batch(&batch);
        if self.random.chance(2, 3) {
            *self.visible.lock() = self.last;
        }
    }

    fn add_operation(&mut self, batch: &mut WriteBatch) {
        let tree = match self.random.below(TREES + 1) {
            TREES => APPENDED,
            tree => tree as u32,
        };
        if self.random.chance(1, 200) {
            // Like a queue: the head goes.
            let first = self.random.below(self.next_append + 1);
            for number in first.saturating_sub(60)..first {
                self.add(batch, APPENDED, number.to_be_bytes().to_vec(), None);
            }
            return;
        }
        if self.random.chance(1, 300) {
            // A drop takes effect before the other operations of its batch.
            batch.drop_tree(TreeId(tree));
            let drops = self.model.drops.entry(tree).or_default();
            if drops.last() != Some(&self.last) {
                drops.push(self.last);
            }
            return;
        }
        let key = self.key(tree, true);
        let value = (!self.random.chance(1, 4)).then(|| self.value());
        self.add(batch, tree, key, value);
    }

    fn add(&mut self, batch: &mut WriteBatch, tree: u32, key: Vec<u8>, value: Option<Vec<u8>>) {
        match &value {
            Some(value) => batch.put(TreeId(tree), &key, value),
            None => batch.delete(TreeId(tree), &key),
        }
        let versions = self.model.versions.entry((tree, key)).or_default();
        versions.retain(|(p, _)| *p != self.last);
        versions.push((self.last, value));
    }

    fn key(&mut self, tree: u32, is_write: bool) -> Vec<u8> {
        if tree == APPENDED && is_write && self.random.chance(1, 8) {
            // Like a queue: most of what is deleted is old.
            return self.random.below(self.next_append / 2 + 1).to_be_bytes().to_vec();
        }
        if tree == APPENDED && is_write && self.random.chance(3, 4) {
            self.next_append += 1;
            return self.next_append.to_be_bytes().to_vec();
        }
        if tree == APPENDED {
            return self.random.below(self.next_append + 2).to_be_bytes().to_vec();
        }
        // Few keys are hot.
        let span = if self.random.chance(1, 3) { 4 } else { 400 };
        let number = self.random.below(span);
        let mut key = format!("k{number:03}").into_bytes();
        key.truncate(4 - number as usize % 3);
        key
    }

    fn value(&mut self) -> Vec<u8> {
        let len = if self.random.chance(1, 200) { 20_000 } else { self.random.below(300) };
        let mut value = vec![0; len as usize];
        self.random.fill(&mut value);
        value
    }

    fn move_visible(&mut self) {
        *self.visible.lock() = self.last;
    }

    pub(crate) fn checkpoint(&mut self) -> Result<(), StoreError> {
        let notes = self.last.to_string();
        let done = self.store().checkpoint(notes.as_bytes())?;
        self.acknowledged = done;
        assert_eq!(self.store().checkpoint_position(), done);
        Ok(())
    }

    /// Ends the process and starts it again, power on.
    pub(crate) fn restart(&mut self) {
        self.snapshots.clear();
        self.store = None;
        self.open().unwrap();
        self.meet_checkpoint();
    }

    /// Cuts the power and starts again.
    pub(crate) fn reboot(&mut self) {
        self.snapshots.clear();
        self.store = None;
        self.env = self.env.reboot();
        if let Err(error) = self.open() {
            panic!("seed {}: after a power cut: {error}", self.seed);
        }
        self.meet_checkpoint();
    }

    /// The model goes back to where the store's durable state is.
    fn meet_checkpoint(&mut self) {
        let end = self.store().checkpoint_position();
        let seed = self.seed;
        assert!(self.boundaries.contains(&end), "seed {seed}: {end} is inside a transaction");
        assert!(end >= self.acknowledged, "seed {seed}: back to {end} from {}", self.acknowledged);
        assert!(end <= *self.log.durable.lock(), "seed {seed}: {end} is ahead of the log");
        let notes = self.store().checkpoint_notes();
        assert!(
            end == LogPosition::ZERO || notes == end.to_string().into_bytes(),
            "seed {seed}: notes of another position"
        );
        self.model.cut(end);
        self.boundaries.split_off(&end);
        self.boundaries.insert(end);
        if end != LogPosition::ZERO {
            self.last = end;
        }
        *self.visible.lock() = end;
        *self.log.written.lock() = end;
    }

    fn check_something(&mut self) -> Result<(), StoreError> {
        let snapshot = match self.random.below(self.snapshots.len() as u64 + 1) as usize {
            n if n < self.snapshots.len() => self.snapshots[n].clone(),
            _ => self.store().snapshot_visible(),
        };
        let at = snapshot.position();
        let tree = [0, 1, 2, 3, APPENDED][self.random.below(5) as usize];
        for _ in 0..10 {
            let key = self.key(tree, false);
            let found = self.store().get(TreeId(tree), &key, at)?;
            let expected = self.model.newest(tree, &key, at).and_then(|(_, value)| value);
            assert_eq!(
                found.as_deref(),
                expected.as_deref(),
                "seed {}: get {tree} {key:?} at {at}",
                self.seed
            );
            self.check_latest(tree, &key)?;
        }
        self.walk(tree, at)
    }

    fn check_latest(&self, tree: u32, key: &[u8]) -> Result<(), StoreError> {
        let found = self.store().latest(TreeId(tree), key)?;
        let found = found.map(|(p, value)| (p, value.map(|v| v.to_vec())));
        let expected = self.model.newest(tree, key, LogPosition::MAX);
        // A deletion may be gone altogether.
        let is_right =
            found == expected || (found.is_none() && expected.is_some_and(|(_, value)| value.is_none()));
        assert!(is_right, "seed {}: latest of {tree} {key:?}", self.seed);
        Ok(())
    }

    /// Moves a cursor about at random.
    fn walk(&mut self, tree: u32, at: LogPosition) -> Result<(), StoreError> {
        let rows: BTreeMap<Vec<u8>, Vec<u8>> = self.model.rows(tree, at).into_iter().collect();
        let mut cursor = self.store().cursor(TreeId(tree), at);
        let mut place: Option<Vec<u8>> = None;
        for _ in 0..30 {
            let of = |row: Option<(&Vec<u8>, &Vec<u8>)>| row.map(|(key, _)| key.clone());
            match self.random.below(12) {
                0 => {
                    let key = self.key(tree, false);
                    cursor.seek(&key)?;
                    place = of(rows.range(key..).next());
                }
                1 => {
                    let key = self.key(tree, false);
                    cursor.seek_for_prev(&key)?;
                    place = of(rows.range(..=key).next_back());
                }
                2 => {
                    cursor.seek_first()?;
                    place = of(rows.iter().next());
                }
                3 => {
                    cursor.seek_last()?;
                    place = of(rows.iter().next_back());
                }
                4 => cursor.park(),
                5..9 => {
                    cursor.next()?;
                    place = place.and_then(|p| of(rows.range((Bound::Excluded(p), Bound::Unbounded)).next()));
                }
                _ => {
                    cursor.prev()?;
                    place = place.and_then(|p| of(rows.range(..p).next_back()));
                }
            }
            let found = cursor.valid().then(|| (cursor.key().to_vec(), cursor.value().to_vec()));
            let expected = place.clone().map(|key| (key.clone(), rows[&key].clone()));
            assert_eq!(found, expected, "seed {}: cursor in {tree} at {at}", self.seed);
        }
        Ok(())
    }

    /// Compares all rows of all trees at all snapshots, both ways.
    pub(crate) fn check_everything(&mut self) {
        self.try_check_everything().unwrap_or_else(|e| panic!("seed {}: {e}", self.seed));
    }

    fn try_check_everything(&mut self) -> Result<(), StoreError> {
        self.store().check_invariants()?;
        let mut snapshots = self.snapshots.clone();
        snapshots.push(self.store().snapshot_visible());
        for snapshot in snapshots {
            let at = snapshot.position();
            for tree in [0, 1, 2, 3, APPENDED] {
                let expected = self.model.rows(tree, at);
                let (forward, backward) = self.scan(tree, at)?;
                self.check_rows(&forward, &expected, &format!("tree {tree} at {at}"));
                self.check_rows(&backward, &expected, &format!("tree {tree} at {at}, backward"));
                self.walk(tree, at)?;
            }
        }
        let keys: Vec<_> = self.model.versions.keys().cloned().collect();
        keys.iter().try_for_each(|(tree, key)| self.check_latest(*tree, key))
    }

    /// Compares, and reports the first difference only.
    fn check_rows(&self, found: &[Row], expected: &[Row], what: &str) {
        let differs = found.iter().zip(expected).position(|(a, b)| a != b);
        let at = differs.unwrap_or(found.len().min(expected.len()));
        let (a, b) = (found.get(at), expected.get(at));
        let show = |row: Option<&Row>| row.map(|(k, v)| (String::from_utf8_lossy(k).into_owned(), v.len()));
        assert!(a == b, "seed {}: {what}: row {at} is {:?}, not {:?}", self.seed, show(a), show(b));
    }

    fn scan(&self, tree: u32, at: LogPosition) -> Result<(Vec<Row>, Vec<Row>), StoreError> {
        let mut cursor = self.store().cursor(TreeId(tree), at);
        let (mut forward, mut backward) = (Vec::new(), Vec::new());
        cursor.seek_first()?;
        while cursor.valid() {
            forward.push((cursor.key().to_vec(), cursor.value().to_vec()));
            cursor.next()?;
        }
        cursor.seek_last()?;
        while cursor.valid() {
            backward.push((cursor.key().to_vec(), cursor.value().to_vec()));
            cursor.prev()?;
        }
        backward.reverse();
        Ok((forward, backward))
    }

    /// Changes bytes of a file; whatever is still answered must be right.
    pub(crate) fn damage_and_read(&mut self) {
        self.restart();
        self.store = None;
        let files: Vec<PathBuf> = self.env.read_dir(Path::new(DIR)).unwrap();
        let files: Vec<_> = files.into_iter().filter(|f| !f.ends_with("LOCK")).collect();
        let path = &files[self.random.below(files.len() as u64) as usize];
        let file = self.env.open(path, OpenMode::ReadWrite).unwrap();
        let len = file.len().unwrap();
        if self.random.chance(1, 5) {
            file.set_len(self.random.below(len)).unwrap();
        } else {
            for _ in 0..=self.random.below(3) {
                let offset = self.random.below(len);
                let mut byte = [0];
                file.read_at(&mut byte, offset).unwrap();
                file.write_at(&[byte[0] ^ 1 << self.random.below(8)], offset).unwrap();
            }
        }
        // A damaged last record of the manifest looks like a torn one: the checkpoint before it
        // counts again.
        let outcome = self.open().and_then(|()| {
            self.model.cut(self.store().checkpoint_position());
            self.try_check_everything()
        });
        if let Err(error) = &outcome {
            assert!(
                error.is_corrupt() || matches!(error, StoreError::Io { .. }),
                "seed {}: {error}",
                self.seed
            );
        }
    }
}
