//! A session's transaction, and what it should do to the rows.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::time::Duration;

use stdx::random::Random;
use storage::TableSchema;
use storage::lock::{Interrupt, LockError};
use storage::transaction::{
    Direction, Isolation, KeyRange, Locking, ReadMode, RowImages, Savepoint, Transaction, TransactionBuffers,
    TransactionError,
};

use super::{Rows, Tables};
use crate::database::{BY_V, Database, Row, id_range, primary_key, rows, transaction_options};

const IDS: u64 = 40;
const UNIQUES: u64 = 25;

/// What a transaction did to rows.
#[derive(Debug, Clone, Default)]
struct Changes {
    /// By table and id; `None` for a deleted row.
    rows: BTreeMap<(String, i64), Option<Row>>,
    /// The largest id that it logged.
    id_max: i64,
}

pub struct Session {
    transaction: Box<Transaction>,
    changes: Changes,
    savepoint: Option<(Savepoint, Changes)>,
    isolation: Isolation,
    /// What its snapshot holds, once it has one.
    seen: Option<Tables>,
}

/// What a session may know of the world when it runs a statement.
pub struct Now<'a> {
    pub database: &'a Database,
    /// The state after the last transaction that was queued: what locking reads see.
    pub newest: &'a Tables,
    /// The state after the last one that was acknowledged: what a snapshot taken now sees.
    pub visible: &'a Tables,
}

impl Session {
    pub fn begin(database: &Database, buffers: TransactionBuffers, random: &mut Random) -> Session {
        let isolation = [Isolation::ReadCommitted, Isolation::RepeatableRead][random.below(2) as usize];
        let mut options = transaction_options(isolation, Duration::ZERO);
        // How it is logged is drawn independently of the run's lots, which decide what it does.
        let mut lots = Random::new(database.engine.log().ordered().to_u64());
        options.context.compress = lots.chance(1, 2);
        let mut transaction = database.engine.begin(Arc::new(Interrupt::new()), options);
        transaction.reuse_buffers(buffers);
        transaction
            .set_row_images([RowImages::Minimal, RowImages::NoBlob, RowImages::Full][lots.below(3) as usize]);
        Session { transaction, changes: Changes::default(), savepoint: None, isolation, seen: None }
    }

    pub fn rollback(self) {
        self.transaction.rollback();
    }

    /// The transaction, and the state after it if it commits on top of `before`.
    pub fn finish(self, before: &Tables) -> (Box<Transaction>, Tables) {
        let mut after = before.clone();
        for ((table, id), row) in self.changes.rows {
            let rows = Arc::make_mut(after.tables.get_mut(&table).expect("DDL waits for transactions"));
            match row {
                Some(row) => rows.insert(id, row),
                None => rows.remove(&id),
            };
        }
        after.id_max = after.id_max.max(self.changes.id_max);
        (self.transaction, after)
    }

    /// One statement, or a savepoint; false if it ended the transaction.
    pub fn statement(&mut self, now: &Now<'_>, random: &mut Random) -> Result<bool, TransactionError> {
        let (database, state) = (now.database, now.newest);
        let names: Vec<&String> = state.tables.keys().collect();
        let Some(name) = names.get(random.below(names.len() as u64) as usize) else { return Ok(true) };
        match random.below(16) {
            0 => {
                self.savepoint = Some((self.transaction.savepoint(), self.changes.clone()));
                return Ok(true);
            }
            1 => {
                if let Some((savepoint, changes)) = &self.savepoint {
                    self.transaction.rollback_to(*savepoint);
                    self.changes = changes.clone();
                }
                return Ok(true);
            }
            2..6 => return self.consistent_read(now, name, random).map(|()| true),
            _ => {}
        }
        let schema = database.table(name);
        let view = self.with_own_changes(state, name);
        // What is queued can't be scanned yet, though its rows are locked.
        let all_visible = std::ptr::eq(now.newest, now.visible);
        let before = self.changes.clone();
        let ids = database.id_max.clone();
        self.transaction.begin_statement(1_767_225_600, random.chance(1, 4).then_some(b"a statement"));
        let mut work = Work { session: self, name, schema: &schema, view, all_visible, ids, random };
        let outcome = work.some_rows();
        match outcome {
            Ok(()) => {
                self.transaction.end_statement();
                Ok(true)
            }
            Err(error) => {
                self.transaction.rollback_statement();
                self.changes = before;
                match error {
                    TransactionError::Lock(LockError::WaitTimeout)
                    | TransactionError::DuplicateKey { .. } => Ok(true),
                    TransactionError::Lock(LockError::Deadlock) => Ok(false),
                    error => Err(error),
                }
            }
        }
    }
}

impl Session {
    /// A table's rows as of `state`, with what this transaction did to them.
    fn with_own_changes(&self, state: &Tables, name: &str) -> Rows {
        let mut view = (*state.tables[name]).clone();
        for ((table, id), row) in &self.changes.rows {
            match row {
                _ if table != name => None,
                Some(row) => view.insert(*id, row.clone()),
                None => view.remove(id),
            };
        }
        view
    }

    /// A consistent read: it sees its snapshot and its own changes, whatever happened since.
    fn consistent_read(
        &mut self,
        now: &Now<'_>,
        name: &str,
        random: &mut Random,
    ) -> Result<(), TransactionError> {
        let schema = now.database.table(name);
        self.transaction.begin_statement(1_767_225_600, None);
        if self.isolation == Isolation::ReadCommitted {
            self.seen = None;
        }
        let seen = self.seen.get_or_insert_with(|| now.visible.clone()).clone();
        let expected = self.with_own_changes(&seen, name);
        let (from, to) = (random.below(IDS) as i64, random.below(IDS) as i64);
        let index = random.below(3) as usize;
        let range = if index == 0 { id_range(&schema, from, to) } else { KeyRange::all() };
        let direction = [Direction::Forward, Direction::Backward][random.below(2) as usize];
        let mut found = rows(&mut self.transaction, &schema, index, range, direction, ReadMode::Snapshot)?;
        found.sort();
        let inside = |row: &&Row| index != 0 || (from..to).contains(&row.id);
        let expected_rows: Vec<Row> = expected.values().filter(inside).cloned().collect();
        assert_eq!(found, expected_rows, "a consistent read of {name} by index {index}, {direction:?}");
        let got = self.transaction.get(schema.primary.tree(), &primary_key(&schema, from))?;
        assert_eq!(got.map(|image| Row::from_image(&image)).as_ref(), expected.get(&from));
        self.transaction.end_statement();
        Ok(())
    }
}

/// A statement at work on one table.
struct Work<'a> {
    session: &'a mut Session,
    name: &'a str,
    schema: &'a Arc<TableSchema>,
    /// The rows as the transaction should see them through locks.
    view: Rows,
    all_visible: bool,
    ids: Arc<AtomicI64>,
    random: &'a mut Random,
}

impl Work<'_> {
    fn some_rows(&mut self) -> Result<(), TransactionError> {
        match self.random.below(10) {
            0..4 => (0..=self.random.below(3)).try_for_each(|_| self.insert()),
            4..6 => self.delete(),
            9 if self.all_visible => self.update_range(),
            _ => self.update(),
        }
    }

    fn id(&mut self) -> i64 {
        self.random.below(IDS) as i64
    }

    fn row(&mut self, id: i64) -> Row {
        self.ids.fetch_max(id, Relaxed);
        let len = match self.random.below(200) {
            0 => 200_000,
            1..10 => 3000,
            _ => self.random.below(50),
        };
        let mut s = vec![0; len as usize];
        self.random.fill(&mut s);
        let u = self.random.chance(2, 3).then(|| self.random.below(UNIQUES) as i64);
        Row { id, u, v: self.random.below(10) as i64, s }
    }

    fn insert(&mut self) -> Result<(), TransactionError> {
        let id = self.id();
        let row = self.row(id);
        let outcome = self.session.transaction.insert_row(self.schema, &row.image());
        self.expect_duplicate(&outcome, None, &row);
        outcome?;
        self.note(None, Some(row));
        Ok(())
    }

    fn delete(&mut self) -> Result<(), TransactionError> {
        let id = self.id();
        let Some(row) = self.lock(id)? else { return Ok(()) };
        self.session.transaction.delete_row(self.schema, &row.image())?;
        self.note(Some(row), None);
        Ok(())
    }

    fn update(&mut self) -> Result<(), TransactionError> {
        let id = self.id();
        let Some(before) = self.lock(id)? else { return Ok(()) };
        let after_id = if self.random.chance(1, 4) { self.id() } else { id };
        let after = self.row(after_id);
        self.change(before, after)
    }

    fn change(&mut self, before: Row, after: Row) -> Result<(), TransactionError> {
        let outcome = self.session.transaction.update_row(self.schema, &before.image(), &after.image());
        self.expect_duplicate(&outcome, Some(&before), &after);
        outcome?;
        self.note(Some(before), Some(after));
        Ok(())
    }

    /// Changes all rows of a range by a locking scan, by one index or another.
    fn update_range(&mut self) -> Result<(), TransactionError> {
        let (from, to) = (self.id(), self.id());
        let by_id = self.random.chance(1, 2);
        let (index, range) =
            if by_id { (0, id_range(self.schema, from, to)) } else { (BY_V, KeyRange::all()) };
        let direction = [Direction::Forward, Direction::Backward][self.random.below(2) as usize];
        let mode = ReadMode::Locking(Locking::UPDATE);
        let mut found = rows(&mut self.session.transaction, self.schema, index, range, direction, mode)?;
        found.sort();
        let inside = |row: &&Row| !by_id || (from..to).contains(&row.id);
        let expected: Vec<Row> = self.view.values().filter(inside).cloned().collect();
        assert_eq!(found, expected, "a locking scan missed a row");
        for before in found {
            let after = Row { v: before.v + 1, ..before.clone() };
            self.change(before, after)?;
        }
        Ok(())
    }

    fn lock(&mut self, id: i64) -> Result<Option<Row>, TransactionError> {
        let key = primary_key(self.schema, id);
        let row = self.session.transaction.get_for_update(self.schema.primary.tree(), &key)?;
        // A statement reads as of its start; these change each row once, and read it before that.
        let row = row.map(|image| Row::from_image(&image));
        assert_eq!(row.as_ref(), self.view.get(&id), "a locking read saw something else");
        Ok(row)
    }

    fn expect_duplicate(&self, outcome: &Result<(), TransactionError>, before: Option<&Row>, after: &Row) {
        let others = || self.view.values().filter(|row| Some(row.id) != before.map(|b| b.id));
        let is_duplicate = others().any(|row| row.id == after.id || (row.u.is_some() && row.u == after.u));
        match outcome {
            Ok(()) => assert!(!is_duplicate, "a duplicate was let in: {after:?}"),
            Err(TransactionError::DuplicateKey { .. }) => assert!(is_duplicate, "no duplicate: {after:?}"),
            Err(_) => {}
        }
    }

    fn note(&mut self, before: Option<Row>, after: Option<Row>) {
        if let Some(before) = before {
            self.view.remove(&before.id);
            self.session.changes.rows.insert((self.name.to_owned(), before.id), None);
        }
        if let Some(after) = after {
            self.session.changes.id_max = self.session.changes.id_max.max(after.id);
            self.view.insert(after.id, after.clone());
            self.session.changes.rows.insert((self.name.to_owned(), after.id), Some(after));
        }
    }
}
