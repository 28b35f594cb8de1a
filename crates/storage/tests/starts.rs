//! Starts from store folders in which something is missing or damaged.
//!
//! R2: a start that refuses has changed nothing in the store's folder, and names the file. One that
//! goes on has every row, and has removed only what no sound manifest names.
#![allow(clippy::unwrap_used)]

mod database;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use database::{Database, Row, all_rows};
use env::{Env, OpenMode, SimEnv};
use storage::EngineError;

const STORE: &str = "/data/store";
const CURRENT: &str = "/data/store/CURRENT";

/// A database that was stopped, and what its table `t` holds.
struct Stopped {
    env: SimEnv,
    rows: BTreeMap<i64, Row>,
}

fn insert(database: &Database, ids: std::ops::Range<i64>) {
    for id in ids {
        let mut transaction = database.begin();
        transaction.begin_statement(1_767_225_600, None);
        transaction.insert_row(&database.table("t"), &Row::new(id, Some(id), id % 7).image()).unwrap();
        transaction.end_statement();
        transaction.commit().unwrap();
    }
}

/// Four checkpoints, and rows after the last one. `is_purged`: the log does not go back to its
/// first file.
fn stopped(is_purged: bool) -> Stopped {
    let env = SimEnv::new(1);
    let database = Database::with_table(&env, database::options());
    for part in 0..4 {
        insert(&database, part * 10..part * 10 + 10);
        database.engine.checkpoint().unwrap();
        database.engine.log().rotate().unwrap();
    }
    insert(&database, 40..45);
    if is_purged {
        let keep = database.engine.log().files().last().unwrap().number;
        assert!(!database.engine.purge_log_to(keep).unwrap().is_empty());
    }
    let rows = all_rows(&database, "t").unwrap();
    drop(database);
    Stopped { env: env.reboot(), rows }
}

/// The files of the store.
fn files(env: &SimEnv) -> BTreeMap<PathBuf, Vec<u8>> {
    if !env.exists(Path::new(STORE)) {
        return BTreeMap::new();
    }
    let paths = env.read_dir(Path::new(STORE)).unwrap().into_iter();
    paths.map(|path| (path.clone(), env.read_file(&path).unwrap())).collect()
}

fn named(env: &SimEnv, extension: &str) -> Vec<PathBuf> {
    let of = |path: &PathBuf| path.extension().is_some_and(|e| e == extension);
    files(env).into_keys().filter(of).collect()
}

fn put(env: &SimEnv, path: &Path, content: &[u8]) {
    if env.exists(path) {
        env.remove_file(path).unwrap();
    }
    let file = env.open(path, OpenMode::CreateNew).unwrap();
    file.write_at(content, 0).unwrap();
    file.sync_all().unwrap();
    env.sync_dir(Path::new(STORE)).unwrap();
}

fn flip(env: &SimEnv, path: &Path, bit: usize) {
    let mut content = env.read_file(path).unwrap();
    content[bit / 8] ^= 1 << (bit % 8);
    put(env, path, &content);
}

impl Stopped {
    fn copy(&self) -> SimEnv {
        self.env.copy_after_cut(2)
    }

    /// The start goes on, and everything is there; so it is at the next one.
    fn starts(&self, env: SimEnv) -> SimEnv {
        for _ in 0..2 {
            let database = Database::open(&env, database::options()).unwrap();
            assert_eq!(all_rows(&database, "t").unwrap(), self.rows);
            database.engine.checkpoint().unwrap();
        }
        env
    }

    /// The start refuses, names `file`, and leaves the store as it was.
    fn refuses(env: &SimEnv, file: &str) -> EngineError {
        let before = files(env);
        let error = Database::open(env, database::options()).err().expect("it refuses");
        let text = error.to_string();
        assert!(text.contains(file) && text.contains("Nothing was changed"), "{text}");
        assert_eq!(files(env), before, "{text}");
        error
    }

    /// One or the other.
    fn starts_or_refuses(&self, env: SimEnv, file: &str) -> bool {
        let before = files(&env);
        match Database::open(&env, database::options()) {
            Ok(database) => {
                assert_eq!(all_rows(&database, "t").unwrap(), self.rows);
                true
            }
            Err(error) => {
                assert!(error.to_string().contains(file), "{error}");
                assert_eq!(files(&env), before, "{error}");
                false
            }
        }
    }
}

/// `store/CURRENT` was missing: that was taken for a new store, every table and manifest was
/// removed, and then the start refused.
#[test]
fn a_missing_current_is_made_again() {
    for is_purged in [false, true] {
        let stopped = stopped(is_purged);
        let env = stopped.copy();
        env.remove_file(Path::new(CURRENT)).unwrap();
        let env = stopped.starts(env);
        assert!(env.exists(Path::new(CURRENT)));
    }
}

#[test]
fn any_bit_of_current() {
    let stopped = stopped(true);
    let len = stopped.env.read_file(Path::new(CURRENT)).unwrap().len();
    for bit in 0..len * 8 {
        let env = stopped.copy();
        flip(&env, Path::new(CURRENT), bit);
        assert!(stopped.starts_or_refuses(env, "CURRENT"), "there is one manifest only: bit {bit}");
    }
}

#[test]
fn bytes_all_over_the_manifest() {
    for is_purged in [false, true] {
        let stopped = stopped(is_purged);
        let [manifest] = &named(&stopped.env, "manifest")[..] else { panic!("one manifest") };
        let len = stopped.env.read_file(manifest).unwrap().len();
        let (mut started, mut refused) = (0, 0);
        for byte in (usize::from(is_purged)..len).step_by(3) {
            let env = stopped.copy();
            flip(&env, manifest, byte * 8 + byte % 8);
            // Without its last record the manifest stands for a place that a purged log does not go
            // back to.
            let file = if is_purged { "" } else { "manifest" };
            match stopped.starts_or_refuses(env, file) {
                true => started += 1,
                false => refused += 1,
            }
        }
        assert!(refused > started, "{started} {refused}");
    }
}

#[test]
fn a_table_that_is_missing() {
    let stopped = stopped(false);
    for table in named(&stopped.env, "table") {
        let env = stopped.copy();
        env.remove_file(&table).unwrap();
        Stopped::refuses(&env, &table.display().to_string());
    }
}

#[test]
fn a_store_that_is_missing() {
    let stopped = stopped(false);
    let env = stopped.copy();
    env.remove_tree(Path::new(STORE)).unwrap();
    stopped.starts(env);
    // A log that does not go back to its first file is no database.
    let stopped = self::stopped(true);
    let env = stopped.copy();
    env.remove_tree(Path::new(STORE)).unwrap();
    let error = Stopped::refuses(&env, "store");
    assert!(matches!(error, EngineError::Apart { .. }), "{error}");
    assert!(!env.exists(Path::new(STORE)), "nor is the folder made");
}

#[test]
fn tables_without_any_manifest() {
    let without = |stopped: &Stopped| {
        let env = stopped.copy();
        env.remove_file(Path::new(CURRENT)).unwrap();
        named(&env, "manifest").iter().for_each(|path| env.remove_file(path).unwrap());
        env
    };
    let stopped = stopped(false);
    let env = without(&stopped);
    let tables = named(&env, "table");
    let database = Database::open(&env, database::options()).unwrap();
    assert_eq!(all_rows(&database, "t").unwrap(), stopped.rows, "the log has everything");
    assert!(tables.iter().all(|table| env.exists(table)), "and no table was removed");
    drop(database);
    Stopped::refuses(&without(&self::stopped(true)), "CURRENT");
}

/// A power cut while a manifest is replaced leaves two; which one counts `CURRENT` says.
#[test]
fn two_manifests() {
    // (checkpoints after the second manifest was begun, what becomes of CURRENT)
    let prepare = |checkpoints: u32| {
        let mut stopped = stopped(false);
        let old = named(&stopped.env, "manifest").remove(0);
        let (content, current) =
            (stopped.env.read_file(&old).unwrap(), stopped.env.read_file(Path::new(CURRENT)).unwrap());
        let database = Database::open(&stopped.env, database::options()).unwrap();
        for n in 0..i64::from(checkpoints) {
            insert(&database, 50 + n..51 + n);
            database.engine.checkpoint().unwrap();
        }
        stopped.rows = all_rows(&database, "t").unwrap();
        drop(database);
        put(&stopped.env, &old, &content);
        let new = named(&stopped.env, "manifest").remove(1);
        (stopped, current, new)
    };
    for checkpoints in [1, 2] {
        let (stopped, old_current, new) = prepare(checkpoints);
        stopped.starts(stopped.copy());
        // Without CURRENT the newer one counts, for it is sound.
        let env = stopped.copy();
        env.remove_file(Path::new(CURRENT)).unwrap();
        stopped.starts(env);
        // If it is not, nobody knows.
        let env = stopped.copy();
        env.remove_file(Path::new(CURRENT)).unwrap();
        flip(&env, &new, 8 * 30);
        Stopped::refuses(&env, &new.display().to_string());
        // CURRENT may still name the older one, but not once the newer one was in use.
        let env = stopped.copy();
        put(&env, Path::new(CURRENT), &old_current);
        match checkpoints {
            1 => drop(stopped.starts(env)),
            _ => drop(Stopped::refuses(&env, "CURRENT")),
        }
    }
}

/// `CURRENT`, its manifest and the log are those of an older copy: the newer manifest's tables have
/// what nothing else has. The start removed them.
#[test]
fn a_newer_manifest_that_the_log_does_not_reach() {
    let logs = |env: &SimEnv| -> BTreeMap<PathBuf, Vec<u8>> {
        let paths = env.read_dir(Path::new("/data")).unwrap();
        paths.into_iter().filter_map(|path| env.read_file(&path).ok().map(|bytes| (path, bytes))).collect()
    };
    let mut stopped = stopped(false);
    let (old_store, old_logs) = (files(&stopped.env), logs(&stopped.env));
    let database = Database::open(&stopped.env, database::options()).unwrap();
    insert(&database, 50..55);
    database.engine.checkpoint().unwrap();
    stopped.rows = all_rows(&database, "t").unwrap();
    drop(database);
    for (path, content) in old_store {
        let is_manifest = path.extension().is_some_and(|extension| extension == "manifest");
        if is_manifest || path == Path::new(CURRENT) {
            put(&stopped.env, &path, &content);
        }
    }
    stopped.starts(stopped.copy());
    for path in logs(&stopped.env).into_keys() {
        stopped.env.remove_file(&path).unwrap();
    }
    for (path, content) in old_logs {
        put(&stopped.env, &path, &content);
    }
    Stopped::refuses(&stopped.env, "CURRENT");
}

/// A power cut while the very first manifest is written: `CURRENT` is not there, and the manifest
/// is torn.
#[test]
fn a_first_manifest_that_is_torn() {
    let env = SimEnv::new(1);
    let database = Database::with_table(&env, database::options());
    insert(&database, 0..20);
    let rows = all_rows(&database, "t").unwrap();
    database.engine.checkpoint().unwrap();
    drop(database);
    let stopped = Stopped { env: env.reboot(), rows };
    let [manifest] = &named(&stopped.env, "manifest")[..] else { panic!("one manifest") };
    let content = stopped.env.read_file(manifest).unwrap();
    for len in [0, 7, content.len() - 1, content.len()] {
        let env = stopped.copy();
        env.remove_file(Path::new(CURRENT)).unwrap();
        put(&env, manifest, &content[..len]);
        stopped.starts(env);
    }
}
