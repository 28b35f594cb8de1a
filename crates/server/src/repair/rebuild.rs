//! Step 4 of a repair: the tables.
//!
//! Salvage writes all entries that can be read into a new store, at the position that the tables
//! were at, but for secondary indexes that have lost entries, or whose rows have: those are built
//! from the rows. Recovery then does what any start does: it executes what the tables lack of the
//! log, all of it if there are none.
//!
//! Where rows were lost, recovery changes others than the log's transactions did: older versions of
//! rows whose newest one is gone. It removes the index entries of the rows that the log tells of,
//! not those of the rows that it finds. So all secondary indexes are built once more behind it
//! ([`build_indexes_anew`]).

use super::examine::{Examination, STORE};
use crate::datadir::Datadir;
use crate::log_tool::ToolError;
use crate::log_tool::replay::while_reporting;
use crate::options::{self, Command};
use crate::progress::{Progress, Unit};
use crate::stop::Stop;
use binlog::LogPosition;
use binlog::gtid::GtidSet;
use env::Env;
use sql::catalog::TableDef;
use sql::status::Status;
use sql::variables::ids;
use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::sync::Arc;
use storage::check::{Damage, Lost, StoreFiles};
use storage::{LogDurability, Store, StoreOptions, TreeId};

/// What became of the tables.
#[derive(Debug, Default)]
pub(super) struct Rebuilt {
    /// Entries that could not be read and were not made anew.
    pub(super) lost: u64,
    /// What could not be read, in words.
    pub(super) damaged: Vec<String>,
    /// Rows that may be out of date, in words.
    pub(super) doubtful: Vec<String>,
    /// Indexes that were made anew.
    pub(super) indexes: Vec<String>,
    /// Objects that recovery set aside, with the reasons.
    pub(super) set_aside: Vec<String>,
    pub(super) executed: GtidSet,
    /// The tables as they are behind recovery.
    tables: Vec<Arc<TableDef>>,
    /// Rows were lost, so that older ones may have come to light.
    has_lost_rows: bool,
}

/// The log that the new store belongs to is copied and durable.
struct CopiedLog;

impl LogDurability for CopiedLog {
    fn ensure_durable(&self, _: LogPosition) -> io::Result<()> {
        Ok(())
    }
}

/// Indexes to be made anew from the rows.
struct Indexes {
    tables: Vec<(Arc<TableDef>, Vec<usize>)>,
    trees: BTreeSet<TreeId>,
}

impl Indexes {
    fn of(found: &Examination, damage: &[Damage]) -> Indexes {
        let mut indexes = Indexes { tables: Vec::new(), trees: BTreeSet::new() };
        let is_damaged =
            |tree: TreeId| damage.iter().any(|d| d.trees().is_some_and(|range| range.contains(&tree)));
        let databases = found.catalog.iter().flat_map(|state| state.databases.values());
        for table in databases.flat_map(|database| database.tables.values()) {
            let lacks_rows = is_damaged(table.schema.primary.tree());
            indexes.add(table, &|tree| lacks_rows || is_damaged(tree));
        }
        indexes
    }

    /// The table's secondary indexes whose tree is wanted.
    fn add(&mut self, table: &Arc<TableDef>, is_wanted: &dyn Fn(TreeId) -> bool) {
        let secondary = || table.schema.indexes().enumerate().skip(1);
        let wanted = || secondary().filter(|(_, index)| is_wanted(index.tree()));
        self.trees.extend(wanted().map(|(_, index)| index.tree()));
        let numbers: Vec<usize> = wanted().map(|(number, _)| number).collect();
        if !numbers.is_empty() {
            self.tables.push((table.clone(), numbers));
        }
    }
}

pub(super) fn salvage(
    env: &Arc<dyn Env>,
    found: &Examination,
    files: &StoreFiles,
    damage: &[Damage],
    target: &Path,
    rebuilt: &mut Rebuilt,
) -> Result<(), ToolError> {
    let dir = target.join(STORE);
    env.create_dir_all(&dir).map_err(|e| ToolError::io("make the folder", &dir, e))?;
    let indexes = Indexes::of(found, damage);
    let total = files.files().iter().map(|file| file.size).sum();
    let mut progress = Progress::new(&**env, "writing tables", Unit::Bytes, total);
    let failed = |e: storage::StoreError| ToolError::Refused(format!("the new tables can't be written: {e}"));
    let omits = |tree: TreeId| indexes.trees.contains(&tree);
    let salvaged = files.salvage(&dir, &omits, &mut |bytes| progress.add(bytes)).map_err(failed)?;
    drop(progress);
    let name = |tree: TreeId| name_of(found, tree);
    if salvaged.damage.iter().any(|damage| found.loses_rows(damage)) {
        rebuilt.lost = salvaged.lost;
    }
    for damage in &salvaged.damage {
        let Some(range) = damage.trees().filter(|_| found.loses_rows(damage)) else { continue };
        let (Lost::Block { after: first, last } | Lost::Table { first, last, .. }) = &damage.lost else {
            continue;
        };
        rebuilt.damaged.push(format!(
            "{} at {}: {} to {}, keys {} to {}",
            crate::tool::name_of(&damage.file),
            damage.offset,
            name(*range.start()),
            name(*range.end()),
            hex(first),
            hex(last)
        ));
    }
    for (tree, count) in &salvaged.doubtful {
        if !indexes.trees.contains(tree) {
            rebuilt.doubtful.push(format!(
                "{count} of {}: they may have been changed or deleted by what could not be read",
                name(*tree)
            ));
        }
    }
    rebuilt.has_lost_rows = !rebuilt.damaged.is_empty() || !rebuilt.doubtful.is_empty();
    make_indexes(env, &dir, &indexes, rebuilt)
}

/// A key without its tree.
fn hex(full_key: &[u8]) -> String {
    full_key.iter().skip(4).map(|byte| format!("{byte:02x}")).collect()
}

fn name_of(found: &Examination, tree: TreeId) -> String {
    let tables =
        found.catalog.iter().flat_map(|state| state.databases.values()).flat_map(|d| d.tables.values());
    for table in tables {
        for (number, index) in table.schema.indexes().enumerate() {
            if index.tree() == tree {
                let table = format!("{}.{}", table.database, table.name);
                return match number {
                    0 => format!("the rows of {table}"),
                    _ => format!("index {} of {table}", index.name()),
                };
            }
        }
    }
    match tree {
        sql::catalog::record::TREE => "the catalog".to_owned(),
        TreeId(number) => format!("tree {number}"),
    }
}

fn make_indexes(
    env: &Arc<dyn Env>,
    dir: &Path,
    indexes: &Indexes,
    rebuilt: &mut Rebuilt,
) -> Result<(), ToolError> {
    if indexes.tables.is_empty() {
        return Ok(());
    }
    let failed = |e: storage::StoreError| ToolError::Refused(format!("the new tables can't be written: {e}"));
    let options = StoreOptions {
        memtable_size: 32 << 20,
        memtables_max: 2,
        block_cache_size: 32 << 20,
        log_distance_max: u64::MAX,
        background: false,
        durability: Arc::new(CopiedLog),
    };
    let store = Store::open(env.clone(), dir, options).map_err(failed)?;
    for (table, numbers) in &indexes.tables {
        let name = format!("{}.{}", table.database, table.name);
        let broken = |e: &dyn std::fmt::Display| {
            ToolError::Refused(format!("the indexes of {name} can't be made anew from its rows: {e}"))
        };
        let wanted: Vec<(usize, TreeId)> =
            numbers.iter().filter_map(|&n| Some((n, table.schema.index(n)?.tree()))).collect();
        let snapshot = store.snapshot_visible();
        let mut cursor = store.cursor(table.schema.primary.tree(), snapshot.position());
        let trees = wanted.iter().map(|(_, tree)| *tree).collect();
        let mut builder = store.build_trees(trees, snapshot);
        cursor.seek_first().map_err(failed)?;
        while cursor.valid() {
            let upgraded = match &table.layouts {
                Some(layouts) => {
                    layouts.upgrade(cursor.position(), cursor.value()).map_err(|e| broken(&e))?
                }
                None => None,
            };
            let image = upgraded.as_deref().unwrap_or_else(|| cursor.value());
            let keys = table.schema.keys(image).map_err(|e| broken(&e))?;
            for &(number, tree) in &wanted {
                builder.put(tree, keys.of(number), &[]).map_err(|e| broken(&e))?;
            }
            cursor.next().map_err(failed)?;
        }
        builder.finish().map_err(|e| broken(&e))?;
        let names = numbers
            .iter()
            .filter_map(|&n| Some(format!("index {} of {name}", table.schema.index(n)?.name())));
        rebuilt.indexes.extend(names);
    }
    Ok(())
}

/// Opens the new directory as a server does, closes it, and reads every block.
pub(super) fn recover(
    env: &Arc<dyn Env>,
    target: &Path,
    base_name: &str,
    rebuilt: &mut Rebuilt,
) -> Result<(), ToolError> {
    let wrong =
        |what: String| ToolError::Refused(format!("recovery of the new data directory failed: {what}"));
    let args = [format!("--datadir={}", target.display()), format!("--log-bin={base_name}")];
    let options = match options::parse(&**env, &args) {
        Ok(Command::Serve(options)) => options,
        Ok(_) => return Err(wrong("its options are not understood".into())),
        Err(e) => return Err(wrong(e.to_string())),
    };
    eprintln!("duramen repair: recovery runs on the new directory");
    let pid_file = options.path(ids::PID_FILE);
    let datadir = Datadir::open(env.clone(), target, &pid_file).map_err(|e| wrong(e.to_string()))?;
    let (status, never) = (Arc::<Status>::default(), Stop::default());
    let report = |seconds| eprintln!("duramen repair: recovery runs, {seconds} s");
    let database =
        while_reporting(report, || crate::database::open(env, &options, &datadir, &status, &never));
    let database = database.map_err(|e| wrong(e.to_string()))?;
    rebuilt.executed = database.engine().log().gtid_executed();
    let state = database.catalog().state();
    rebuilt.tables = state.databases.values().flat_map(|d| d.tables.values().cloned()).collect();
    rebuilt.set_aside = state.set_aside.values().map(|o| format!("{}: {}", o.key, o.reason)).collect();
    drop(state);
    crate::database::close(&database).map_err(|e| wrong(e.to_string()))?;
    drop(database);
    drop(datadir);
    if rebuilt.has_lost_rows {
        build_indexes_anew(env, target, rebuilt)?;
    }
    let files = StoreFiles::read(env, &target.join(STORE)).map_err(|e| wrong(e.to_string()))?;
    let Some(files) = files else { return Ok(()) };
    let total = files.files().iter().map(|file| file.size).sum();
    let mut progress = Progress::new(&**env, "reading the new tables", Unit::Bytes, total);
    match files.check(&mut |bytes| progress.add(bytes)).first() {
        None => Ok(()),
        Some(damage) => {
            Err(wrong(format!("{} at {}: {}", damage.file.display(), damage.offset, damage.what)))
        }
    }
}

/// Writes the tables behind recovery once more, and builds all secondary indexes from their rows.
fn build_indexes_anew(env: &Arc<dyn Env>, target: &Path, rebuilt: &mut Rebuilt) -> Result<(), ToolError> {
    let (store, old) = (target.join(STORE), target.join("store.tmp"));
    let rename = |from: &Path, to: &Path| env.rename(from, to).map_err(|e| ToolError::io("rename", from, e));
    rename(&store, &old)?;
    env.create_dir_all(&store).map_err(|e| ToolError::io("make the folder", &store, e))?;
    let mut indexes = Indexes { tables: Vec::new(), trees: BTreeSet::new() };
    rebuilt.tables.iter().for_each(|table| indexes.add(table, &|_| true));
    let failed = |e: storage::StoreError| ToolError::Refused(format!("the new tables can't be written: {e}"));
    let files = StoreFiles::read(env, &old).map_err(failed)?;
    if let Some(files) = files {
        let total = files.files().iter().map(|file| file.size).sum();
        let mut progress = Progress::new(&**env, "writing tables behind recovery", Unit::Bytes, total);
        let omits = |tree: TreeId| indexes.trees.contains(&tree);
        let written = files.salvage(&store, &omits, &mut |bytes| progress.add(bytes)).map_err(failed)?;
        if let Some(damage) = written.damage.first() {
            let (file, what) = (damage.file.display(), &damage.what);
            return Err(ToolError::Refused(format!("{file} was just written, and is damaged: {what}")));
        }
    }
    rebuilt.indexes.clear();
    make_indexes(env, &store, &indexes, rebuilt)?;
    for path in env.read_dir(&old).map_err(|e| ToolError::io("read the folder", &old, e))? {
        env.remove_file(&path).map_err(|e| ToolError::io("remove", &path, e))?;
    }
    env.remove_dir(&old).map_err(|e| ToolError::io("remove", &old, e))
}
