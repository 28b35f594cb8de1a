//! Several sessions rebuild tables of their own, as ALTER TABLE does, while checkpoints and flushes
//! overlap and the power goes at any moment.
//!
//! All of it is done on one thread, in steps that the seed puts in order: begin a build, finish it,
//! begin a checkpoint whose notes name its trees, finish that, log the statement. At each flush of
//! a file of the store the seed may let other sessions do a step in the middle of whatever flushes:
//! as other threads do.
//!
//! What must hold after a cut (C4 of `catalog.rs`): the trees of each statement in the log are
//! named by the notes, or by the catalog in the store; they have all rows; every row that was
//! acknowledged is there.
//!
//! `DURAMEN_SEEDS` says how many seeds to run, `DURAMEN_SEED_FIRST` where to begin.
#![allow(clippy::unwrap_used)]

mod database;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::time::Duration;

use binlog::LogPosition;
use binlog::event::QueryEvent;
use database::{Catalog, DIR, Database, Row, all_rows, schema};
use env::{Env, File, OpenMode, SimEnv, UnixMicros, Whose};
use parking_lot::Mutex;
use stdx::random::Random;
use storage::build::TreeBuilder;
use storage::engine::Replicated;
use storage::layout::Layouts;
use storage::schema::TableSchema;
use storage::{BegunCheckpoint, Cause, Engine, ReplayError, ReplayTarget, Store, TreeId, WriteBatch};

type Hook = Arc<Mutex<Option<Box<dyn FnMut() + Send>>>>;

/// A simulated machine that calls a hook before each flush of a file of the store.
#[derive(Clone)]
struct Hooked {
    sim: SimEnv,
    hook: Hook,
}

struct HookedFile {
    file: Arc<dyn File>,
    hook: Option<Hook>,
}

impl HookedFile {
    fn call(&self) {
        // Not inside of itself.
        if let Some(mut hook) = self.hook.as_ref().and_then(|hook| hook.try_lock())
            && let Some(hook) = &mut *hook
        {
            hook();
        }
    }
}

impl File for HookedFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file.read_at(buf, offset)
    }
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.file.write_at(bytes, offset)
    }
    fn sync_data(&self) -> io::Result<()> {
        self.call();
        self.file.sync_data()
    }
    fn sync_all(&self) -> io::Result<()> {
        self.call();
        self.file.sync_all()
    }
    fn await_written(&self, offset: u64, len: u64) -> io::Result<()> {
        self.file.await_written(offset, len)
    }
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }
    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }
}

impl Env for Hooked {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        let hook = path.starts_with("/data/store").then(|| self.hook.clone());
        Ok(Arc::new(HookedFile { file: self.sim.open(path, mode)?, hook }))
    }
    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        self.sim.create_dir_all(path)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.sim.rename(from, to)
    }
    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.sim.remove_file(path)
    }
    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        self.sim.remove_dir(path)
    }
    fn read_dir(&self, path: &Path) -> io::Result<Vec<PathBuf>> {
        self.sim.read_dir(path)
    }
    fn exists(&self, path: &Path) -> bool {
        self.sim.exists(path)
    }
    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.sim.sync_dir(path)
    }
    fn lock_file(&self, path: &Path) -> io::Result<Box<dyn Send + Sync>> {
        self.sim.lock_file(path)
    }
    fn now(&self) -> UnixMicros {
        self.sim.now()
    }
    fn monotonic(&self) -> Duration {
        self.sim.monotonic()
    }
    fn monotonic_coarse(&self) -> Duration {
        self.sim.monotonic_coarse()
    }
    fn processor_time(&self, of: Whose) -> Duration {
        self.sim.processor_time(of)
    }
    fn random(&self, out: &mut [u8]) {
        self.sim.random(out);
    }
}

/// The catalog's tree: name of a table to its first tree.
const CATALOG: TreeId = TreeId(1);
const TABLES: [&str; 4] = ["t0", "t1", "t2", "t3"];
/// Trees of a table.
const TREES: u32 = 3;

/// Trees that were built for statements about to be logged: first trees by table.
type Pending = BTreeMap<u8, u32>;

fn notes(pending: &Pending) -> Vec<u8> {
    pending.iter().flat_map(|(table, tree)| [&[*table][..], &tree.to_be_bytes()].concat()).collect()
}

fn put(batch: &mut WriteBatch, tables: &mut BTreeMap<String, Arc<TableSchema>>, name: &str, tree: u32) {
    if let Some(old) = tables.insert(name.to_owned(), schema(name, tree)) {
        old.indexes().for_each(|index| batch.drop_tree(index.tree()));
    }
    batch.put(CATALOG, name.as_bytes(), &tree.to_be_bytes());
}

/// What replay knows. Statements are `CREATE t` and `REBUILD t`.
#[derive(Default)]
struct Target {
    tables: BTreeMap<String, Arc<TableSchema>>,
    pending: Pending,
}

impl ReplayTarget for Target {
    fn begin(&mut self, store: &Arc<Store>) -> Result<(), ReplayError> {
        let mut cursor = store.cursor(CATALOG, LogPosition::MAX);
        cursor.seek_first()?;
        while cursor.valid() {
            let name = std::str::from_utf8(cursor.key()).unwrap();
            let tree = u32::from_be_bytes(cursor.value().try_into().unwrap());
            self.tables.insert(name.to_owned(), schema(name, tree));
            cursor.next()?;
        }
        let notes = store.checkpoint_notes();
        let of = |note: &[u8]| (note[0], u32::from_be_bytes(note[1..].try_into().unwrap()));
        self.pending = notes.chunks(5).map(of).collect();
        store.find_built_trees()?;
        let named = self.tables.values().flat_map(|table| table.indexes().map(|index| index.tree().0));
        let noted = self.pending.values().map(|tree| tree + TREES - 1);
        let built = |tree: &u32| *tree >= storage::build::FIRST_BUILT;
        named.chain(noted).filter(built).for_each(|tree| store.tree_in_use(TreeId(tree)));
        Ok(())
    }

    fn ddl(
        &mut self,
        query: &QueryEvent<'_>,
        _: u32,
        _: LogPosition,
        batch: &mut WriteBatch,
    ) -> Result<(), Cause> {
        let (verb, name) = std::str::from_utf8(&query.sql).unwrap().split_once(' ').unwrap();
        let number = TABLES.iter().position(|table| *table == name).unwrap() as u8;
        let tree = match verb {
            "CREATE" => 100 + 10 * u32::from(number),
            _ => {
                let unknown = || Cause::text(format!("the trees built for {name} are not known"));
                self.pending.remove(&number).ok_or_else(unknown)?
            }
        };
        put(batch, &mut self.tables, name, tree);
        Ok(())
    }

    fn table(&mut self, _: &str, name: &str) -> Option<Arc<TableSchema>> {
        self.tables.get(name).cloned()
    }

    fn set_aside(
        &mut self,
        database: &str,
        name: &str,
        reason: &str,
        position: LogPosition,
        _batch: &mut WriteBatch,
    ) {
        panic!("{database}.{name} can't follow the log at {position}: {reason}");
    }

    fn layouts(&mut self, _: &TableSchema) -> Option<Arc<Layouts>> {
        None
    }

    fn row_seen(&mut self, _: &TableSchema, _: &[u8]) {}

    fn notes(&self) -> Vec<u8> {
        notes(&self.pending)
    }
}

/// How far a session is with its ALTER TABLE.
enum Stage {
    Idle,
    /// The rows are put.
    Built(u32, TreeBuilder),
    /// The trees are in tables.
    Finished(u32),
    /// The notes name them.
    Begun(u32, BegunCheckpoint),
    /// A checkpoint has the notes.
    Noted(u32),
}

/// What all sessions share. A session at work has taken its stage out.
struct World {
    database: Database,
    pending: Arc<Mutex<Pending>>,
    stages: Vec<Option<Stage>>,
    random: Random,
    /// Rows by table: acknowledged, and tried.
    rows: [(i64, i64); TABLES.len()],
    /// Statements logged, and steps done in the middle of a flush.
    rebuilds: u64,
    nested: u64,
}

fn row(id: i64) -> Row {
    Row { s: vec![id as u8; (id % 50) as usize * 20], ..Row::new(id, Some(id), id % 5) }
}

impl World {
    /// A step that waits for no latch of the store; the session is not in the middle of another
    /// one. `None` if the power went.
    fn quick_step(&mut self, number: usize, stage: Stage) -> Option<Stage> {
        let name = TABLES[number];
        let (engine, table) = (self.database.engine.clone(), self.database.table(name));
        let store = engine.store();
        Some(match stage {
            Stage::Idle if self.random.chance(1, 2) => {
                let id = self.rows[number].0;
                self.rows[number].1 = id + 1;
                let mut transaction = self.database.begin();
                transaction.begin_statement(1_767_225_600, None);
                transaction.insert_row(&table, &row(id).image()).ok()?;
                transaction.end_statement();
                transaction.commit().ok()?;
                self.rows[number].0 = id + 1;
                Stage::Idle
            }
            Stage::Idle => {
                let trees: Vec<TreeId> = (0..TREES).map(|_| store.new_tree()).collect();
                let snapshot = engine.snapshot();
                let mut builder = store.build_trees(trees.clone(), snapshot.clone());
                let mut cursor = store.cursor(table.primary.tree(), snapshot.position());
                cursor.seek_first().ok()?;
                while cursor.valid() {
                    let keys = table.keys(cursor.value()).unwrap();
                    for (index, tree) in trees.iter().enumerate() {
                        let value = if index == 0 { cursor.value() } else { &[] };
                        builder.put(*tree, keys.of(index), value).ok()?;
                    }
                    cursor.next().ok()?;
                }
                Stage::Built(trees[0].0, builder)
            }
            Stage::Finished(tree) => {
                self.pending.lock().insert(number as u8, tree);
                let pending = self.pending.clone();
                Stage::Begun(tree, store.begin_checkpoint(|_| notes(&pending.lock())))
            }
            Stage::Noted(tree) => {
                let mut batch = WriteBatch::new();
                let mut tables = self.database.catalog.lock().tables.clone();
                put(&mut batch, &mut tables, name, tree);
                let sql = format!("REBUILD {name}");
                let query = QueryEvent::new(1, b"d", sql.as_bytes());
                engine.commit_ddl(database::context(), &query, batch, Replicated::default()).ok()?;
                self.pending.lock().remove(&(number as u8));
                self.database.catalog.lock().tables = tables;
                self.rebuilds += 1;
                Stage::Idle
            }
            // These flush.
            stage @ (Stage::Built(..) | Stage::Begun(..)) => stage,
        })
    }

    /// Steps of sessions that are not at work; false once the power is gone.
    fn nested_steps(&mut self) -> bool {
        for _ in 0..self.random.below(3) {
            let number = self.random.below(TABLES.len() as u64) as usize;
            let Some(stage) = self.stages[number].take() else { continue };
            self.nested += 1;
            let Some(stage) = self.quick_step(number, stage) else { return false };
            self.stages[number] = Some(stage);
        }
        true
    }
}

/// One step from outside; false once the power is gone.
fn step(world: &Arc<Mutex<World>>, env: &SimEnv) -> bool {
    let mut w = world.lock();
    let engine = w.database.engine.clone();
    let store = engine.store().clone();
    let number = w.random.below(TABLES.len() as u64) as usize;
    let done = match w.random.below(20) {
        0 => {
            drop(w);
            store.flush_once().is_ok()
        }
        1 => {
            drop(w);
            store.compact_once().is_ok()
        }
        2 => {
            drop(w);
            engine.checkpoint().is_ok()
        }
        3 => engine.log().rotate().is_ok(),
        _ => {
            let Some(stage) = w.stages[number].take() else { return env.is_powered() };
            let next = match stage {
                Stage::Built(tree, builder) => {
                    drop(w);
                    builder.finish().ok().map(|()| Stage::Finished(tree))
                }
                Stage::Begun(tree, begun) => {
                    drop(w);
                    store.finish_checkpoint(&begun).ok().map(|()| Stage::Noted(tree))
                }
                stage => {
                    let next = w.quick_step(number, stage);
                    drop(w);
                    next
                }
            };
            let is_done = next.is_some();
            world.lock().stages[number] = next;
            is_done
        }
    };
    assert!(done || !env.is_powered(), "it failed, and the power is on");
    done && env.is_powered()
}

fn open(env: &Hooked, random: Random) -> Result<World, storage::EngineError> {
    let mut options = database::options();
    options.memtable_size = 16 << 10;
    options.log_distance_max = 64 << 10;
    options.log.max_binlog_size = 32 << 10;
    let mut target = Target::default();
    let engine = Engine::open(Arc::new(env.clone()), Path::new(DIR), options, &mut target)?;
    let named = |tree| target.tables.values().any(|table| table.indexes().any(|i| i.tree() == tree));
    engine.store().drop_orphans(named)?;
    let pending = Arc::<Mutex<Pending>>::default();
    let noted = pending.clone();
    engine.set_notes_source(move |_| notes(&noted.lock()));
    let mut catalog = Catalog::default();
    catalog.tables = target.tables;
    let database =
        Database { engine, catalog: Arc::new(Mutex::new(catalog)), id_max: Arc::new(AtomicI64::new(0)) };
    Ok(World {
        database,
        pending,
        stages: TABLES.iter().map(|_| Some(Stage::Idle)).collect(),
        random,
        rows: [(0, 0); TABLES.len()],
        rebuilds: 0,
        nested: 0,
    })
}

fn one_run(seed: u64) -> (u64, u64) {
    let mut random = Random::new(seed);
    let mut env = Hooked { sim: SimEnv::new(seed), hook: Hook::default() };
    let mut world = open(&env, Random::new(seed ^ 1)).unwrap();
    for name in TABLES {
        let mut batch = WriteBatch::new();
        let tree = 100 + 10 * u32::from(name.as_bytes()[1] - b'0');
        put(&mut batch, &mut world.database.catalog.lock().tables, name, tree);
        let sql = format!("CREATE {name}");
        let query = QueryEvent::new(1, b"d", sql.as_bytes());
        world.database.engine.commit_ddl(database::context(), &query, batch, Replicated::default()).unwrap();
    }
    let (mut rebuilds, mut nested) = (0, 0);
    for _ in 0..3 {
        env.sim.cut_at(1 + random.below(400));
        let shared = Arc::new(Mutex::new(world));
        let (inner, sim) = (shared.clone(), env.sim.clone());
        // A session that is at work holds no latch of the world's, but for quick steps, which do
        // not flush the store.
        *env.hook.lock() = Some(Box::new(move || {
            if let Some(mut world) = inner.try_lock() {
                assert!(world.nested_steps() || !sim.is_powered(), "a step failed, and the power is on");
            }
        }));
        for _ in 0..300 {
            if !step(&shared, &env.sim) {
                break;
            }
        }
        *env.hook.lock() = None;
        let before = Arc::into_inner(shared).expect("the hook is gone").into_inner();
        rebuilds += before.rebuilds;
        nested += before.nested;
        let rows = before.rows;
        drop(before);
        world = loop {
            env = Hooked { sim: env.sim.reboot_with(random.next_u64()), hook: Hook::default() };
            if random.chance(1, 3) {
                env.sim.cut_at(1 + random.below(30));
            }
            match open(&env, Random::new(random.next_u64())) {
                Ok(world) if env.sim.is_powered() => break world,
                Ok(world) => drop(world),
                Err(error) => assert!(!env.sim.is_powered(), "seed {seed}: {error}"),
            }
        };
        env.sim.cut_at(u64::MAX / 2);
        for (number, name) in TABLES.iter().enumerate() {
            let found = all_rows(&world.database, name).unwrap();
            let (acknowledged, tried) = rows[number];
            let count = found.len() as i64;
            assert!((acknowledged..=tried).contains(&count), "seed {seed}: {name}: {count} {acknowledged}");
            assert!(found.into_iter().eq((0..count).map(|id| (id, row(id)))), "seed {seed}: {name}");
            world.rows[number] = (count, count);
        }
    }
    (rebuilds, nested)
}

#[test]
fn rebuilds_of_several_sessions_survive_power_cuts() {
    let (mut rebuilds, mut nested) = (0, 0);
    for seed in database::seeds(200) {
        println!("seed {seed}");
        let (r, n) = one_run(seed);
        (rebuilds, nested) = (rebuilds + r, nested + n);
    }
    println!("{rebuilds} rebuilds, {nested} steps in the middle of a flush");
    assert!(rebuilds > 0 && nested > 0);
}
