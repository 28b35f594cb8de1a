//! What a running statement knows of its session: settings, the moment, variables, the transaction,
//! and where warnings go. Expressions and executors are given it; nothing else of a session is
//! theirs.
//!
//! It is grouped by how long things hold: for the connection (`connection`, `statistics`,
//! `functions`, `scratch`), until they are set again (`settings`, `locks`, `temporary`), for a
//! transaction (`transactions`, `log`), for a statement (`statement`). Each group says what resets
//! it. Methods that need one group only are the group's.

mod connection;
mod conversions;
mod functions;
mod locks;
mod log;
mod moment;
pub(crate) mod read_locks;
mod scratch;
mod settings;
mod statement;
mod statistics;
mod transactions;
mod variables;

use std::sync::Arc;

use storage::Interrupt;

use crate::catalog::{Catalog, TableDef, UserAtHost};
use crate::index_use::Use;
use crate::instance::Instance;
use crate::routine::Frame;
use crate::spill::{Budget, Purpose};
use crate::status::Counter;
use crate::variables::{Value, ids};
use connection::ConnectionInfo;
use datum::error::Result;
use datum::types::Collation;
use datum::value::Datum;
use functions::FunctionState;
use locks::SessionLocks;
use log::LogState;
use scratch::Scratch;
use settings::SettingsState;
use statement::StatementState;
use statistics::Statistics;
use transactions::TransactionState;

pub(crate) use statistics::Examined;

pub(crate) use settings::UserVariables;
pub(crate) use settings::statement_memory_max;
pub(crate) use statement::{OutOfRange, ParameterTargets, StatementStatus};

/// A session's state, as statements need it.
pub(crate) struct Context {
    /// The server.
    pub(crate) instance: Arc<Instance>,
    /// The client.
    pub(crate) connection: ConnectionInfo,
    /// What it has counted.
    pub(crate) statistics: Statistics,
    /// What functions keep.
    pub(crate) functions: FunctionState,
    /// What SET and USE have said.
    pub(crate) settings: SettingsState,
    /// The statement that runs.
    pub(crate) statement: StatementState,
    /// The transaction that is open, and the next one.
    pub(crate) transactions: TransactionState,
    /// LOCK TABLES, GET_LOCK() and their like.
    pub(crate) locks: SessionLocks,
    /// Its side of the log.
    pub(crate) log: LogState,
    /// Memory for the next statement.
    pub(crate) scratch: Scratch,
    /// What is reported to the client of changes in the session.
    pub(crate) tracker: super::tracking::Tracker,
    /// Statements that it has prepared.
    pub(super) prepared: super::prepared::PreparedStatements,
    /// What KILL sets.
    pub(crate) interrupt: Arc<Interrupt>,
    /// Temporary tables.
    pub(super) temporary: super::temporary::SessionTemporaryTables,
}

impl Context {
    pub(super) fn new(instance: Arc<Instance>, connection: &super::Connection) -> Self {
        Self {
            connection: ConnectionInfo::new(connection, instance.catalog()),
            statistics: Statistics::default(),
            functions: FunctionState::new(&**instance.env()),
            settings: SettingsState::new(instance.globals()),
            statement: StatementState::new(instance.env().now() as i64),
            transactions: TransactionState::default(),
            locks: SessionLocks::default(),
            log: LogState::default(),
            scratch: Scratch::default(),
            tracker: super::tracking::Tracker::default(),
            prepared: super::prepared::PreparedStatements::new(instance.prepared_count().clone()),
            interrupt: Arc::new(Interrupt::new()),
            temporary: super::temporary::SessionTemporaryTables::default(),
            instance,
        }
    }

    /// The session that DDL statements are done in once more while the log is replayed: nobody's,
    /// and on no list.
    pub(crate) fn of_replay(instance: Arc<Instance>) -> Self {
        Self::new(instance, &super::Connection::local(0, "root"))
    }

    /// The calling thread runs a statement of this session until what is returned is dropped.
    pub(super) fn begin_bounds(&self) -> datum::bounds::Bounded {
        datum::bounds::begin(&self.interrupt, self.settings.decoded().statement_memory_max)
    }

    /// The budget of an operation of the statement that runs.
    pub(crate) fn budget(&self, purpose: Purpose) -> Budget {
        let variables = self.settings.variables();
        Budget::new(self.instance.spill(), purpose, variables, &self.interrupt, &self.statistics.counters)
    }

    pub(crate) fn catalog(&self) -> &Catalog {
        self.instance.catalog()
    }

    /// Counts something.
    pub(crate) fn count(&self, counter: Counter) {
        self.statistics.counters.count(counter);
    }

    /// Counts a row that was written, changed or deleted.
    pub(crate) fn count_change(&mut self, table: &TableDef, change: Use) {
        self.count(match change {
            Use::Updated => Counter::HandlerUpdate,
            Use::Deleted => Counter::HandlerDelete,
            Use::Inserted | Use::Fetched | Use::Scanned => Counter::HandlerWrite,
        });
        let tree = table.schema.primary.tree();
        self.statistics.uses.count(self.instance.index_uses(), tree, change);
    }

    /// The default database: inside a function the function's own.
    pub(crate) fn default_database(&self) -> Option<&str> {
        self.statement.frames.last().map(Frame::database).or(self.settings.default_database.as_deref())
    }

    /// True if USE has said this one.
    pub(crate) fn is_default_database(&self, name: &str) -> bool {
        self.settings.default_database.as_deref() == Some(name)
    }

    /// The account in whose name it does what it does now: that of the definer whose rights the
    /// stored program has that runs.
    pub(crate) fn effective_account(&self) -> &UserAtHost {
        let definer = self.statement.frames.iter().rev().find_map(Frame::definer);
        definer.unwrap_or(&self.connection.account)
    }

    /// USE, unchecked.
    pub(crate) fn set_default_database(&mut self, name: Option<String>) {
        let collation = match &name {
            Some(name) => self.catalog().state().database(name).map(|d| d.collation),
            None => None,
        };
        let collation = collation
            .or_else(|| Collation::by_name(self.settings.variables().text(ids::COLLATION_SERVER)))
            .unwrap_or(Collation::UTF8MB4_0900_AI_CI);
        self.change_variables(|v| {
            v.put(ids::COLLATION_DATABASE, Value::Text(collation.name().into()));
            v.put(ids::CHARACTER_SET_DATABASE, Value::Text(collation.charset().name().into()));
        });
        self.settings.default_database = name;
    }

    /// Runs a subquery with the values that it takes from around it.
    pub(crate) fn with_parameters<T>(
        &mut self,
        values: Vec<Datum<'static>>,
        run: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        self.statement.outer.push(values);
        let outcome = run(self);
        self.statement.outer.pop();
        outcome
    }

    /// Runs a statement, whose subqueries' results are its own (S1 of `expression/subquery.rs`).
    pub(crate) fn with_own_results<T>(&mut self, run: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let around = (
            std::mem::take(&mut self.statement.subquery_results),
            std::mem::take(&mut self.statement.member_sets),
            std::mem::take(&mut self.statement.misread),
        );
        self.statement.blamed = None;
        let outcome = run(self);
        let state = &mut self.statement;
        (state.subquery_results, state.member_sets, state.misread) = around;
        outcome
    }
}
