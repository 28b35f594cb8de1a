//! What the tests of transactions share: a small table, a catalog that DDL changes, and engines
//! over any disk.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::time::Duration;

use binlog::LogPosition;
use binlog::event::{EncodedQuery, QueryEvent};
use binlog::group::GroupContext;
use binlog::gtid::{GtidSpecification, Uuid};
use binlog::log::LogOptions;
use binlog::row::{ColumnType, Fields, RowImageBuilder, Value, code};
use env::{Env, SimEnv};
use parking_lot::Mutex;
use storage::engine::Replicated;
use storage::key::collation::BinaryCollations;
use storage::lock::Interrupt;
use storage::schema::{Column, IndexDefinition, KeyPart, TableSchema};
use storage::transaction::{
    Direction, Isolation, KeyRange, ReadMode, Transaction, TransactionError, TransactionOptions,
};
use storage::{
    Cause, Engine, EngineError, EngineOptions, ReplayError, ReplayTarget, Store, StoreError, TreeId,
    WriteBatch,
};

pub const UUID: Uuid = Uuid([7; 16]);
pub const DIR: &str = "/data";

/// A row of
/// `CREATE TABLE t (id BIGINT PRIMARY KEY, u INT UNIQUE, v INT NOT NULL, s BLOB NOT NULL, KEY (v))`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Row {
    pub id: i64,
    pub u: Option<i64>,
    pub v: i64,
    pub s: Vec<u8>,
}

impl fmt::Debug for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = self.s.iter().take(4).copied().collect::<Vec<_>>();
        write!(f, "({}, {:?}, {}, {} bytes {s:?})", self.id, self.u, self.v, self.s.len())
    }
}

pub const BY_U: usize = 1;
pub const BY_V: usize = 2;

fn types() -> [ColumnType; 4] {
    [
        ColumnType::new(code::LONGLONG, 0),
        ColumnType::new(code::LONG, 0),
        ColumnType::new(code::LONG, 0),
        ColumnType::new(code::BLOB, 4).with_charset(63),
    ]
}

impl Row {
    pub fn new(id: i64, u: Option<i64>, v: i64) -> Self {
        Self { id, u, v, s: Vec::new() }
    }

    pub fn image(&self) -> Vec<u8> {
        let types = types();
        let mut image = Vec::new();
        let mut builder = RowImageBuilder::new(&types, &mut image);
        builder.push(&Value::Int(self.id)).unwrap();
        builder.push(&self.u.map_or(Value::Null, Value::Int)).unwrap();
        builder.push(&Value::Int(self.v)).unwrap();
        builder.push(&Value::Bytes(&self.s)).unwrap();
        builder.finish().unwrap();
        image
    }

    pub fn from_image(image: &[u8]) -> Self {
        let types = types();
        let fields = Fields::new(&types, None, None, image).unwrap();
        let values: Vec<_> = fields.map(|f| f.value().unwrap()).collect();
        match values[..] {
            [Value::Int(id), u, Value::Int(v), Value::Bytes(s)] => {
                let u = if let Value::Int(u) = u { Some(u) } else { None };
                Row { id, u, v, s: s.to_vec() }
            }
            _ => panic!("{values:?}"),
        }
    }
}

/// The key of a row in the primary key's tree.
pub fn primary_key(schema: &TableSchema, id: i64) -> Vec<u8> {
    let mut key = Vec::new();
    schema.primary.encode_values(&[Some(&id.to_le_bytes())], &mut key).unwrap();
    key
}

/// The schema of table `name`, whose three trees begin at `tree`.
pub fn schema(name: &str, tree: u32) -> Arc<TableSchema> {
    let [id, u, v, s] = types();
    let column = |name: &str, ty, nullable| Column { name: name.into(), ty, nullable };
    let columns =
        vec![column("id", id, false), column("u", u, true), column("v", v, false), column("s", s, false)];
    let index = |name: &str, n: u32, column, unique| IndexDefinition {
        name: name.into(),
        tree: TreeId(tree + n),
        parts: vec![KeyPart::ascending(column)],
        unique,
    };
    let primary = index("PRIMARY", 0, 0, true);
    let secondary = vec![index("u", 1, 1, true), index("v", 2, 2, false)];
    let schema = TableSchema::new(tree.into(), "d", name, columns, primary, secondary, &BinaryCollations);
    Arc::new(schema.unwrap())
}

/// The catalog's own tree: table name to the number of its first tree.
const CATALOG: TreeId = TreeId(1);
/// Where the next free tree number is stored.
const NEXT_TREE: &[u8] = b"";

/// Tables by name. DDL is `CREATE t`, `DROP t`, `TRUNCATE t`.
#[derive(Debug, Default, Clone)]
pub struct Catalog {
    pub tables: BTreeMap<String, Arc<TableSchema>>,
    next_tree: u32,
    /// The largest id that any row had: what AUTO_INCREMENT must not give out again.
    pub id_max: i64,
    /// What the checkpoint's notes said of it.
    pub noted: i64,
}

impl Catalog {
    /// Does a statement, and writes what that changes.
    pub fn ddl(&mut self, sql: &str, batch: &mut WriteBatch) -> Result<(), String> {
        let (verb, name) = sql.split_once(' ').ok_or("no statement")?;
        if verb != "CREATE" {
            let old = self.tables.remove(name).ok_or("no such table")?;
            old.indexes().for_each(|index| batch.drop_tree(index.tree()));
            batch.delete(CATALOG, name.as_bytes());
        }
        if verb != "DROP" {
            let tree = self.next_tree.max(100);
            self.next_tree = tree + 10;
            self.tables.insert(name.to_owned(), schema(name, tree));
            batch.put(CATALOG, name.as_bytes(), &tree.to_be_bytes());
            batch.put(CATALOG, NEXT_TREE, &self.next_tree.to_be_bytes());
        }
        Ok(())
    }

    fn load(&mut self, store: &Store) -> Result<(), StoreError> {
        let mut cursor = store.cursor(CATALOG, LogPosition::MAX);
        cursor.seek_first()?;
        while cursor.valid() {
            let tree = u32::from_be_bytes(cursor.value().try_into().unwrap());
            match cursor.key() {
                NEXT_TREE => self.next_tree = tree,
                name => {
                    let name = String::from_utf8(name.to_vec()).unwrap();
                    self.tables.insert(name.clone(), schema(&name, tree));
                }
            }
            cursor.next()?;
        }
        Ok(())
    }
}

impl ReplayTarget for Catalog {
    fn begin(&mut self, store: &Arc<Store>) -> Result<(), ReplayError> {
        self.load(store)?;
        let notes = store.checkpoint_notes();
        self.noted = notes.try_into().map_or(0, i64::from_le_bytes);
        self.id_max = self.noted;
        Ok(())
    }

    fn ddl(
        &mut self,
        query: &QueryEvent<'_>,
        _: u32,
        _: LogPosition,
        batch: &mut WriteBatch,
    ) -> Result<(), Cause> {
        Catalog::ddl(self, std::str::from_utf8(&query.sql).unwrap(), batch).map_err(Cause::text)
    }

    fn table(&mut self, database: &str, name: &str) -> Option<Arc<TableSchema>> {
        assert_eq!(database, "d");
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

    fn layouts(&mut self, _: &TableSchema) -> Option<Arc<storage::layout::Layouts>> {
        None
    }

    fn row_seen(&mut self, _: &TableSchema, after: &[u8]) {
        self.id_max = self.id_max.max(Row::from_image(after).id);
    }

    fn notes(&self) -> Vec<u8> {
        self.id_max.to_le_bytes().to_vec()
    }
}

/// An engine, and the catalog on it.
#[derive(Clone)]
pub struct Database {
    pub engine: Arc<Engine>,
    pub catalog: Arc<Mutex<Catalog>>,
    /// The largest id that was ever used, which checkpoints note.
    pub id_max: Arc<AtomicI64>,
}

/// Small sizes, so that everything happens often; no threads.
pub fn options() -> EngineOptions {
    let mut log = LogOptions::new(1, UUID, "8.4.8");
    log.background = false;
    let mut options = EngineOptions::new(log);
    options.background = false;
    options.memtable_size = 64 << 10;
    options.memtables_max = 8;
    options.block_cache_size = 1 << 20;
    options.log_distance_max = 1 << 20;
    options
}

pub fn context() -> GroupContext {
    GroupContext::new(1, 1_767_225_600, 80408)
}

impl Database {
    pub fn open(env: &(impl Env + Clone), options: EngineOptions) -> Result<Database, EngineError> {
        let mut catalog = Catalog::default();
        let engine = Engine::open(Arc::new(env.clone()), Path::new(DIR), options, &mut catalog)?;
        let id_max = Arc::new(AtomicI64::new(catalog.id_max));
        let noted = id_max.clone();
        engine.set_notes_source(move |_| noted.load(Relaxed).to_le_bytes().to_vec());
        Ok(Database { engine, catalog: Arc::new(Mutex::new(catalog)), id_max })
    }

    /// A database with table `t`.
    pub fn with_table(env: &(impl Env + Clone), options: EngineOptions) -> Database {
        let database = Database::open(env, options).unwrap();
        database.ddl("CREATE t").unwrap();
        database
    }

    pub fn table(&self, name: &str) -> Arc<TableSchema> {
        self.catalog.lock().tables[name].clone()
    }

    pub fn ddl(&self, sql: &str) -> Result<LogPosition, TransactionError> {
        let mut catalog = self.catalog.lock();
        let mut changed = catalog.clone();
        let mut batch = WriteBatch::new();
        changed.ddl(sql, &mut batch).unwrap();
        let query = QueryEvent::new(1, b"d", sql.as_bytes());
        let position = self.engine.commit_ddl(context(), &query, batch, Replicated::default())?.position;
        *catalog = changed;
        Ok(position)
    }

    pub fn begin(&self) -> Box<Transaction> {
        self.begin_with(Isolation::RepeatableRead, Duration::ZERO)
    }

    pub fn begin_with(&self, isolation: Isolation, lock_wait_timeout: Duration) -> Box<Transaction> {
        self.engine.begin(Arc::new(Interrupt::new()), transaction_options(isolation, lock_wait_timeout))
    }
}

pub fn transaction_options(isolation: Isolation, lock_wait_timeout: Duration) -> TransactionOptions {
    TransactionOptions {
        isolation,
        lock_wait_timeout,
        context: context(),
        begin: Arc::new(EncodedQuery::from(&QueryEvent::new(1, b"d", b"BEGIN"))),
        gtid: GtidSpecification::default(),
    }
}

/// All rows of a table by one of its indexes, one way or the other.
pub fn rows(
    transaction: &mut Transaction,
    schema: &Arc<TableSchema>,
    index: usize,
    range: KeyRange,
    direction: Direction,
    mode: ReadMode,
) -> Result<Vec<Row>, TransactionError> {
    let mut scan = transaction.scan_index(schema, index, range, direction, mode);
    let mut rows = Vec::new();
    while scan.next(transaction)? {
        rows.push(Row::from_image(scan.row()));
    }
    Ok(rows)
}

/// All rows as a snapshot taken now sees them; both secondary indexes must agree.
pub fn all_rows(database: &Database, name: &str) -> Result<BTreeMap<i64, Row>, TransactionError> {
    let schema = database.table(name);
    let mut transaction = database.begin();
    let mut read = |index, direction| {
        rows(&mut transaction, &schema, index, KeyRange::all(), direction, ReadMode::Snapshot)
    };
    let primary = read(0, Direction::Forward)?;
    let mut backward = read(0, Direction::Backward)?;
    backward.reverse();
    assert_eq!(primary, backward);
    for index in [BY_U, BY_V] {
        let mut secondary = read(index, Direction::Forward)?;
        let order = |row: &Row| if index == BY_U { row.u } else { Some(row.v) };
        assert!(secondary.is_sorted_by_key(order), "index {index} is out of order");
        secondary.sort();
        let lost: Vec<_> = primary.iter().filter(|row| !secondary.contains(row)).collect();
        assert!(primary == secondary, "index {index} and the rows disagree; it lacks {lost:?}");
    }
    Ok(primary.into_iter().map(|row| (row.id, row)).collect())
}

/// The ids from `from` up to, not including, `to`.
pub fn id_range(schema: &TableSchema, from: i64, to: i64) -> KeyRange {
    KeyRange {
        lower: Bound::Included(primary_key(schema, from).into()),
        upper: Bound::Excluded(primary_key(schema, to).into()),
    }
}

/// A new machine; every other one takes rare paths, and one in five encrypts its files.
pub fn machine(seed: u64) -> SimEnv {
    let env = SimEnv::new(seed);
    let env = if seed.is_multiple_of(2) { env.with_rare_paths() } else { env };
    if seed % 10 < 8 { env } else { env.encrypted() }
}

/// How many seeds to run: `DURAMEN_SEEDS`, or `default`.
pub fn seeds(default: u64) -> std::ops::Range<u64> {
    seeds_by("DURAMEN_SEEDS", default)
}

/// The same by a variable of its own: for runs that take longer than others.
pub fn seeds_by(variable: &str, default: u64) -> std::ops::Range<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|v| v.parse().ok());
    let first = number("DURAMEN_SEED_FIRST").unwrap_or(0);
    first..first + number(variable).unwrap_or(default)
}

/// A statement, whose changes are taken back if it fails.
pub fn statement<T>(
    transaction: &mut Transaction,
    work: impl FnOnce(&mut Transaction) -> Result<T, TransactionError>,
) -> Result<T, TransactionError> {
    transaction.begin_statement(1_767_225_600, None);
    let done = work(transaction);
    if done.is_ok() {
        transaction.end_statement()
    } else {
        transaction.rollback_statement()
    }
    done
}

/// Inserts a row whose `u` is a hundred times and whose `v` is ten times its id.
pub fn insert(transaction: &mut Transaction, table: &TableSchema, id: i64) -> Result<(), TransactionError> {
    let row = Row::new(id, Some(id * 100), id * 10);
    statement(transaction, |t| t.insert_row(table, &row.image()))
}

/// True if somebody else kept it waiting for too long.
pub fn waits<T>(outcome: Result<T, TransactionError>) -> bool {
    match outcome {
        Ok(_) => false,
        Err(TransactionError::Lock(storage::lock::LockError::WaitTimeout)) => true,
        Err(error) => panic!("{error}"),
    }
}
