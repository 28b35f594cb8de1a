//! A database, a model of it, and random steps for both, on one thread: sessions take turns, and
//! several commits are queued before the first of them is waited for, so that they share a group.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used)]

mod session;

use std::collections::BTreeMap;
use std::sync::Arc;

use binlog::event::{Event, FormatDescription, RowsEvent, TableMapEvent, TransactionPayloadEvent, decode};
use binlog::log::{CommitError, Committed, LogError};
use binlog::row::{RowImage, Value};
use binlog::{FileNumber, LogPosition};
use env::SimEnv;
use stdx::random::Random;
use storage::transaction::{TransactionBuffers, TransactionError};
use storage::{EngineError, EngineOptions, PendingCommit, Snapshot};

use crate::database::{self, Database, Row, all_rows};
use session::{Now, Session};

pub type Rows = BTreeMap<i64, Row>;

/// What the tables hold between two transactions.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tables {
    pub tables: BTreeMap<String, Arc<Rows>>,
    /// The largest id that a row ever had.
    pub id_max: i64,
}

/// What became of an action.
pub enum Outcome {
    /// It did or did not do what it should, but the world goes on.
    GoesOn,
    /// The power is gone, or the log has latched: nothing more can be done here.
    Ended,
}

/// The database and everything that is known of it from outside.
pub struct World {
    pub env: SimEnv,
    pub random: Random,
    pub database: Database,
    /// The state after each transaction in commit order, the empty database first; the last ones
    /// are pending.
    pub history: Vec<Tables>,
    /// The position of each of them that was acknowledged.
    pub positions: Vec<LogPosition>,
    /// How many of them no crash may take back.
    pub certain: usize,
    pending: Vec<PendingCommit>,
    /// What the last transaction has left for the next one.
    buffers: TransactionBuffers,
    sessions: Vec<Option<Session>>,
    snapshots: Vec<(Snapshot, usize)>,
    /// Attempts to begin the log anew: its first file then, and how many transactions are in front
    /// of that.
    resets: BTreeMap<FileNumber, usize>,
    /// How many transactions are before the log.
    before_log: usize,
    options: EngineOptions,
    pub acknowledged: u64,
    /// Transactions refused by the log.
    pub refused: u64,
    /// Disk operations may fail: so may what needs them.
    pub faulty: bool,
}

const SESSIONS: usize = 5;
const TABLES: [&str; 2] = ["t", "u"];

impl World {
    /// A new database with all tables.
    pub fn new(env: SimEnv, mut random: Random) -> World {
        let options = random_options(&mut random);
        let database = Database::open(&env, options.clone()).unwrap();
        let mut world = World {
            env,
            random,
            database,
            history: vec![Tables::default()],
            positions: vec![LogPosition::ZERO],
            certain: 0,
            pending: Vec::new(),
            buffers: TransactionBuffers::default(),
            sessions: (0..SESSIONS).map(|_| None).collect(),
            snapshots: Vec::new(),
            resets: BTreeMap::new(),
            before_log: 0,
            options,
            acknowledged: 0,
            refused: 0,
            faulty: false,
        };
        for name in TABLES {
            world.ddl(&format!("CREATE {name}")).unwrap();
        }
        world
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.random.chance(percent, 100)
    }

    /// One random step.
    pub fn step(&mut self) -> Outcome {
        let outcome = match self.random.below(100) {
            0..75 => self.session_step(),
            75..85 => self.wait_for_pending(),
            85..87 => self.ddl_step(),
            87..90 => self.read_snapshot(),
            _ => self.chore(),
        };
        self.learn_durable();
        match outcome {
            Ok(()) => Outcome::GoesOn,
            Err(Ended) => Outcome::Ended,
        }
    }

    /// What the log says is durable is certain: replicas may have it (C3 of ARCHITECTURE.md).
    fn learn_durable(&mut self) {
        let durable = self.database.engine.log().durable();
        self.certain = self.certain.max(self.positions.partition_point(|&p| p <= durable) - 1);
    }

    fn session_step(&mut self) -> Result<(), Ended> {
        let number = self.random.below(SESSIONS as u64) as usize;
        let Some(mut session) = self.sessions[number].take() else {
            self.sessions[number] =
                Some(Session::begin(&self.database, std::mem::take(&mut self.buffers), &mut self.random));
            return Ok(());
        };
        match self.random.below(10) {
            0..6 => {
                let newest = self.history.last().expect("the empty state is there");
                let visible = &self.history[self.positions.len() - 1];
                let now = Now { database: &self.database, newest, visible };
                match session.statement(&now, &mut self.random) {
                    Ok(true) => self.sessions[number] = Some(session),
                    Ok(false) => {}
                    Err(error) => self.failed(&error)?,
                }
                Ok(())
            }
            6 => {
                session.rollback();
                Ok(())
            }
            _ => self.enqueue(session),
        }
    }

    fn enqueue(&mut self, session: Session) -> Result<(), Ended> {
        // A large transaction is refused by itself, while those after it in the queue are not.
        let is_alone = self.faulty && self.options.log.binlog_large_commit_threshold < 1 << 20;
        if is_alone {
            self.wait_for_pending()?;
        }
        let (transaction, after) = session.finish(self.history.last().expect("the empty state is there"));
        match transaction.enqueue(&mut self.buffers) {
            Ok(Some(pending)) => {
                self.pending.push(pending);
                self.history.push(after);
                // A large transaction writes before it is queued, so the power may have gone.
                let is_over = !self.env.is_powered();
                if is_over || is_alone || self.chance(40) { self.wait_for_pending() } else { Ok(()) }
            }
            Ok(None) => Ok(()),
            Err(error) => self.failed(&error),
        }
    }

    /// Waits for all that is queued: one group.
    fn wait_for_pending(&mut self) -> Result<(), Ended> {
        let first = self.history.len() - self.pending.len();
        let outcomes: Vec<_> = self.pending.drain(..).map(PendingCommit::wait).collect();
        let mut result = Ok(());
        for outcome in outcomes {
            match outcome {
                Ok(Committed { position, .. }) => {
                    assert!(
                        self.positions.last() < Some(&position),
                        "commits are acknowledged in their order"
                    );
                    assert!(self.database.engine.log().visible() >= position);
                    if self.is_strict() {
                        assert!(self.database.engine.log().durable() >= position, "G2");
                    }
                    self.positions.push(position);
                    self.acknowledged += 1;
                }
                Err(TransactionError::Commit(CommitError::Refused(_))) if self.env.is_powered() => {
                    // The whole group is gone, and will never come back.
                    assert_eq!(self.positions.len(), first, "a part of a group was refused");
                    assert!(self.faulty, "refused for no reason");
                    self.history.truncate(first);
                    self.refused += 1;
                }
                Err(_) => result = Err(Ended),
            }
        }
        self.check_log_works(result)
    }

    fn is_strict(&self) -> bool {
        self.options.log.sync_binlog == 1 || self.options.log.trx_commit == 1
    }

    /// A failure is excused by the power, a latched log, or a full disk.
    fn failed(&mut self, error: &TransactionError) -> Result<(), Ended> {
        match error {
            TransactionError::Store(_) | TransactionError::Log(_) if self.faulty => Ok(()),
            _ if !self.env.is_powered() => Err(Ended),
            _ => panic!("{error}"),
        }
    }

    fn check_log_works(&self, result: Result<(), Ended>) -> Result<(), Ended> {
        if self.env.is_powered() && self.database.engine.log().check().is_ok() { result } else { Err(Ended) }
    }

    /// DDL has its tables for itself: open transactions end first.
    fn ddl_step(&mut self) -> Result<(), Ended> {
        self.sessions.iter_mut().for_each(|session| *session = None);
        self.wait_for_pending()?;
        let name = TABLES[self.random.below(2) as usize];
        let verb = match self.database.catalog.lock().tables.contains_key(name) {
            true if self.random.chance(1, 2) => "TRUNCATE",
            true => "DROP",
            false => "CREATE",
        };
        self.ddl(&format!("{verb} {name}"))
    }

    fn ddl(&mut self, sql: &str) -> Result<(), Ended> {
        let mut after = self.history.last().expect("the empty state is there").clone();
        let (verb, name) = sql.split_once(' ').expect("verb and name");
        after.tables.remove(name);
        if verb != "DROP" {
            after.tables.insert(name.to_owned(), Arc::default());
        }
        match self.database.ddl(sql) {
            Ok(position) => {
                self.history.push(after);
                self.positions.push(position);
                self.acknowledged += 1;
                Ok(())
            }
            Err(TransactionError::Commit(CommitError::Refused(_))) if self.env.is_powered() => {
                self.check_log_works(Ok(()))
            }
            Err(TransactionError::Commit(_)) => {
                self.history.push(after);
                Err(Ended)
            }
            Err(error) => self.failed(&error),
        }
    }

    /// Takes a snapshot, or reads through one that was taken a while ago.
    fn read_snapshot(&mut self) -> Result<(), Ended> {
        if self.snapshots.len() < 3 && self.chance(50) {
            let snapshot = self.database.engine.snapshot();
            assert!(
                self.positions.last() <= Some(&snapshot.position()),
                "all that is acknowledged is visible"
            );
            self.snapshots.push((snapshot, self.positions.len() - 1));
            return Ok(());
        }
        let Some((snapshot, number)) = self.snapshots.pop() else { return Ok(()) };
        let (then, now) = (&self.history[number], self.database.catalog.lock().clone());
        for (name, rows) in &then.tables {
            // A table that was dropped or truncated since has another tree, or none.
            let alive = |state: &Tables| state.tables.contains_key(name);
            let Some(schema) = now.tables.get(name).filter(|_| self.history[number..].iter().all(alive))
            else {
                continue;
            };
            let mut cursor = self.database.engine.store().cursor(schema.primary.tree(), snapshot.position());
            let mut seen = Rows::new();
            if cursor.seek_first().is_err() {
                return self.check_log_works(Err(Ended));
            }
            while cursor.valid() {
                let row = Row::from_image(cursor.value());
                seen.insert(row.id, row);
                if cursor.next().is_err() {
                    return self.check_log_works(Err(Ended));
                }
            }
            if !self.truncated_since(name, number) {
                assert_eq!(&seen, &**rows, "a snapshot changed");
            }
        }
        Ok(())
    }

    /// TRUNCATE gives a table new trees, in which an old snapshot sees nothing.
    fn truncated_since(&self, name: &str, number: usize) -> bool {
        let states = &self.history[number..];
        states.windows(2).any(|pair| {
            let (before, after) = (&pair[0].tables[name], &pair[1].tables[name]);
            after.is_empty() && !Arc::ptr_eq(before, after)
        })
    }

    fn chore(&mut self) -> Result<(), Ended> {
        let engine = self.database.engine.clone();
        let done: Result<(), EngineError> = match self.random.below(11) {
            0 if self.random.chance(1, 2) => self.reset_log(),
            0 => engine.log().rotate().map_err(EngineError::from),
            1 | 2 => engine.log().maintain().map_err(EngineError::from),
            3 | 4 => engine.checkpoint().map(drop),
            5 | 6 => engine.store().flush_once().map(drop).map_err(EngineError::from),
            7 => engine.store().compact_once().map(drop).map_err(EngineError::from),
            8 => {
                let files = engine.log().files();
                let keep = files[self.random.below(files.len() as u64) as usize].number;
                engine.purge_log_to(keep).map(drop)
            }
            _ => {
                self.options.log.sync_binlog = [0, 1, 1, 2, 5][self.random.below(5) as usize];
                self.options.log.trx_commit = [0, 1, 2][self.random.below(3) as usize];
                engine.log().set_sync_binlog(self.options.log.sync_binlog);
                engine.log().set_trx_commit(self.options.log.trx_commit);
                engine.log().set_prealloc_num(self.random.below(3) as u32);
                Ok(())
            }
        };
        match done {
            Err(EngineError::Log(LogError::InUse(file))) => {
                panic!("file {} is not purged, for no reason", file.0)
            }
            _ => self.check_log_works(Ok(())),
        }
    }

    fn reset_log(&mut self) -> Result<(), EngineError> {
        let engine = self.database.engine.clone();
        let log = engine.log();
        let before = self.before_log + log.gtid_ordered().count() as usize;
        self.resets.insert(log.end().file().next(), before);
        engine.reset_log(1)?;
        self.before_log = before;
        Ok(())
    }

    /// Leaves the engine without closing it, as a crash does.
    fn abandon(&mut self) {
        self.sessions.iter_mut().for_each(|session| *session = None);
        self.pending.clear();
        self.snapshots.clear();
    }

    /// Cuts the power and starts again, or closes cleanly and starts again; then checks everything.
    pub fn restart(mut self, clean: bool) -> World {
        self.abandon();
        if clean {
            self.database.engine.close().expect("a clean end");
            self.certain = self.positions.len() - 1;
        }
        let World { env, mut random, database, mut history, positions, certain, acknowledged, .. } = self;
        let mut resets = self.resets;
        drop(database);
        let mut env = if clean { env } else { env.reboot_with(random.next_u64()) };
        let options = random_options(&mut random);
        let database = loop {
            // Recovery itself may be cut short, again and again.
            if random.chance(1, 3) && !clean {
                env.cut_at(1 + random.below(30));
            }
            match Database::open(&env, options.clone()) {
                Ok(database) if env.is_powered() => break database,
                Ok(database) => drop(database),
                Err(error) => assert!(!env.is_powered(), "{error}"),
            }
            env = env.reboot_with(random.next_u64());
        };
        env.cut_at(u64::MAX / 2);
        let reset = database.engine.recovered().reset.map(|reset| reset.first);
        resets.retain(|first, _| Some(*first) <= reset);
        let before_log = reset.map_or(0, |first| resets[&first]);
        let found = before_log + found_transactions(&database);
        assert!(found >= certain, "{found} transactions are left, {certain} were certain");
        assert!(found < history.len(), "{found} transactions are left of {}", history.len() - 1);
        history.truncate(found + 1);
        let mut positions = positions;
        // Those that were queued when the power went have no known position; any below the new file
        // will do.
        positions.resize(found + 1, database.engine.log().visible());
        positions.truncate(found + 1);
        let world = World {
            env,
            random,
            database,
            history,
            positions,
            certain: found,
            buffers: TransactionBuffers::default(),
            pending: Vec::new(),
            sessions: (0..SESSIONS).map(|_| None).collect(),
            snapshots: Vec::new(),
            resets,
            before_log,
            options,
            acknowledged,
            refused: 0,
            faulty: false,
        };
        world.check(clean);
        world
    }

    /// Whatever happened to the disk, reads see what was visible.
    pub fn check_reads(&mut self) {
        let _ = self.wait_for_pending();
        self.abandon();
        let visible = self.database.engine.log().visible();
        let state = &self.history[self.positions.partition_point(|&p| p <= visible) - 1];
        for (name, rows) in &state.tables {
            assert_eq!(all_rows(&self.database, name).unwrap(), **rows, "table {name}");
        }
    }

    /// A commit that must be refused.
    pub fn check_refuses(&mut self) {
        let outcome = self.database.ddl("CREATE never");
        assert!(matches!(outcome, Err(TransactionError::Commit(_))), "{outcome:?}");
    }

    /// C2: tables and log hold exactly the same transactions.
    fn check(&self, clean: bool) {
        self.database.engine.store().check_invariants().unwrap();
        self.database.engine.locks().check_invariants();
        let expected = self.history.last().expect("the empty state is there");
        let tables = self.database.catalog.lock().tables.clone();
        assert_eq!(tables.keys().collect::<Vec<_>>(), expected.tables.keys().collect::<Vec<_>>());
        for name in tables.keys() {
            let rows = all_rows(&self.database, name).unwrap();
            assert_eq!(rows, *expected.tables[name], "table {name}");
        }
        let id_max = self.database.catalog.lock().id_max;
        assert!(id_max >= expected.id_max, "an id could be given out again");
        if clean {
            assert_eq!(self.database.engine.replayed().groups, 0, "a clean end leaves nothing to replay");
        }
        if self.database.engine.recovered().files[0].0 == 1 {
            assert_eq!(&in_log(&self.database), expected, "the log differs from the tables");
        }
    }
}

/// The world has ended.
#[derive(Debug)]
pub struct Ended;

fn random_options(random: &mut Random) -> EngineOptions {
    let mut options = database::options();
    let mut choose = |from: &[u64]| from[random.below(from.len() as u64) as usize];
    options.log.max_binlog_size = choose(&[4 << 10, 16 << 10, 128 << 10]);
    options.log.sync_binlog = choose(&[0, 1, 1, 2, 5]) as u32;
    options.log.trx_commit = choose(&[0, 1, 2]) as u8;
    options.log.binlog_prealloc_num = choose(&[0, 0, 2]) as u32;
    options.log.binlog_large_commit_threshold = choose(&[300, 2000, 1 << 20]);
    options.memtable_size = choose(&[4 << 10, 16 << 10, 256 << 10]) as usize;
    options.log_distance_max = choose(&[8 << 10, 64 << 10, 1 << 20]);
    options
}

/// How many transactions the log knows, those in purged files too, since it was begun anew.
fn found_transactions(database: &Database) -> usize {
    let executed = database.engine.log().gtid_executed();
    let count = executed.next_gno(database::UUID) as usize - 1;
    assert_eq!(executed.count(), count as u128, "the log's transactions have gaps");
    count
}

/// What the log alone says that the tables hold, from its first file on.
fn in_log(database: &Database) -> Tables {
    let mut reader = Reader::default();
    let log = database.engine.log();
    let replayed = log.replay::<LogError>(LogPosition::ZERO, &mut |replayed| {
        reader.event(replayed.event.bytes, replayed.event.fde);
        Ok(())
    });
    replayed.unwrap();
    reader.state
}

/// Makes of events what a replica would.
#[derive(Default)]
struct Reader {
    state: Tables,
    maps: BTreeMap<u64, TableMapEvent>,
}

impl Reader {
    fn event(&mut self, bytes: &[u8], fde: &FormatDescription) {
        match decode(bytes, fde).unwrap() {
            Event::Query(query) if &*query.sql == b"BEGIN" => {}
            Event::Query(query) => {
                let sql = std::str::from_utf8(&query.sql).unwrap();
                let (verb, name) = sql.split_once(' ').unwrap();
                self.state.tables.remove(name);
                if verb != "DROP" {
                    self.state.tables.insert(name.to_owned(), Arc::default());
                }
            }
            Event::TableMap(map) => drop(self.maps.insert(map.table_id, map)),
            Event::Rows(event) => self.rows(&event),
            Event::TransactionPayload(payload) => {
                let format = TransactionPayloadEvent::inner_format(fde);
                let mut inside = payload.events(usize::MAX).unwrap();
                while let Some(bytes) = inside.next_event().unwrap() {
                    self.event(bytes, &format);
                }
            }
            _ => {}
        }
    }

    fn rows(&mut self, event: &RowsEvent<'_>) {
        let map = &self.maps[&event.table_id];
        let name = std::str::from_utf8(&map.table).unwrap();
        let rows = Arc::make_mut(self.state.tables.get_mut(name).unwrap());
        let bytes = event.rows.bytes(usize::MAX).unwrap();
        for change in event.iter(map, &bytes).unwrap() {
            let change = change.unwrap();
            let mut row = Row::new(0, None, 0);
            if let Some(before) = change.before {
                let named = overlaid(row, &before);
                row = rows.remove(&named.id).expect("a row that is changed is there");
                assert_eq!(overlaid(row.clone(), &before), row);
            }
            if let Some(after) = change.after.map(|image| overlaid(row, &image)) {
                self.state.id_max = self.state.id_max.max(after.id);
                assert_eq!(rows.insert(after.id, after), None);
            }
        }
    }
}

/// A row with the values that an image has.
fn overlaid(mut row: Row, image: &RowImage<'_>) -> Row {
    for field in image.fields() {
        match (field.column, field.value().unwrap()) {
            (0, Value::Int(id)) => row.id = id,
            (1, Value::Int(u)) => row.u = Some(u),
            (1, Value::Null) => row.u = None,
            (2, Value::Int(v)) => row.v = v,
            (3, Value::Bytes(s)) => row.s = s.to_vec(),
            other => panic!("{other:?}"),
        }
    }
    row
}
