//! What a running statement knows of its session: settings, the moment, variables, the transaction,
//! and where warnings go. Expressions and executors are given it; nothing else of a session is
//! theirs.

mod connection;
mod conversions;
mod functions;
mod locks;
mod log;
mod moment;
mod scratch;
mod settings;
mod statistics;
mod transactions;
mod variables;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use parking_lot::Mutex;
use storage::Interrupt;

use super::series::SeededRandom;
use crate::catalog::Catalog;
use crate::expression::Expr;
use crate::expression::subquery::SubqueryResult;
use crate::instance::Instance;
use crate::routine::Frame;
use crate::status::Counter;
use crate::variables::{SessionVariables, Value, ids};
use connection::ConnectionInfo;
use datum::error::{self, Diagnostics, Result, SqlError};
use datum::types::{Charset, Collation, Type};
use datum::value::Datum;
use functions::FunctionState;
use locks::SessionLocks;
use log::LogState;
use scratch::Scratch;
use settings::{SessionSettings, session_settings_of};
use statistics::Statistics;
use transactions::TransactionState;

pub(crate) use statistics::Examined;

pub use settings::{Modes, statement_memory_max};

/// What a statement did, for the client and for ROW_COUNT() and its like.
#[derive(Debug, Clone, Default)]
pub struct StatementStatus {
    /// ROW_COUNT(): of the statement before.
    pub row_count: i64,
    pub(crate) found_rows: u64,
    /// LAST_INSERT_ID(): of the last statement that made one.
    pub last_insert_id: u64,
    /// What this statement's OK says.
    pub insert_id: u64,
    /// Rows changed by this statement.
    pub affected: u64,
    /// `Records: 1 ...`
    pub info: String,
}

impl StatementStatus {
    /// The OK packet's text of counts by name: `Records: 1  Duplicates: 0  Warnings: 0`.
    pub fn set_info(&mut self, counts: &[(&str, u64)]) {
        self.info.clear();
        for (name, count) in counts {
            let between = if self.info.is_empty() { "" } else { "  " };
            self.info.extend([between, name, ": "]);
            push_digits(&mut self.info, *count);
        }
    }
}

/// For every UPDATE there is: formatting does the same in several times as many instructions.
fn push_digits(out: &mut String, number: u64) {
    if number >= 10 {
        push_digits(out, number / 10);
    }
    out.push(char::from(b'0' + (number % 10) as u8));
}

/// A session's state, as statements need it.
pub struct Context {
    /// The server.
    pub instance: Arc<Instance>,
    /// The client.
    pub(crate) connection: ConnectionInfo,
    /// What it has counted.
    pub(crate) statistics: Statistics,
    /// What functions keep.
    pub(crate) functions: FunctionState,
    /// The transaction that is open, and the next one.
    pub(crate) transactions: TransactionState,
    /// LOCK TABLES, GET_LOCK() and their like.
    pub(crate) locks: SessionLocks,
    /// Its side of the log.
    pub(crate) log: LogState,
    /// Memory for the next statement.
    pub(crate) scratch: Scratch,
    /// Warnings of the statement.
    pub diagnostics: Diagnostics,
    /// What the statement did.
    pub status: StatementStatus,
    /// Routines that are running, the innermost last.
    pub frames: Vec<Frame>,
    /// The values that the subqueries and derived tables that run take from around them, the
    /// innermost last.
    outer: Vec<Vec<Datum<'static>>>,
    /// Cached results of the statement's subqueries and derived tables, by their ids.
    subquery_results: BTreeMap<u64, SubqueryResult>,
    /// The expression whose value was out of range.
    blamed: Option<Box<Expr>>,
    /// What the parts of the plan that runs did, under EXPLAIN ANALYZE.
    pub profile: Option<Box<crate::executor::profile::Profile>>,
    /// What is reported to the client of changes in the session.
    pub tracker: super::tracking::Tracker,
    /// The plan of the statement that runs, cached from its last execution for its next one; `None`
    /// if the statement is not cached itself.
    pub cached_plan: Option<crate::planner::plan::CachedPlan>,
    /// The number that the settings have now.
    settings_version: u64,
    /// The last number that settings got.
    last_settings: u64,
    /// Values of the prepared statement that runs.
    pub parameters: Vec<super::Parameter>,
    /// Named values that the client sent along with the statement, as utf8mb4 text.
    pub(crate) query_attributes: Vec<(Box<[u8]>, Datum<'static>)>,
    /// The constants that the statement was warned of.
    misread: std::collections::BTreeSet<u64>,
    /// What executes a prepared statement, as error 1210 names it.
    pub(crate) executed_by: &'static str,
    /// The rows of the query that ran last, as FOUND_ROWS() counts them.
    pub(crate) rows_found: u64,
    /// A statement that stores: text that is no number is an error under strict modes.
    pub storing: bool,
    /// What KILL sets.
    pub interrupt: Arc<Interrupt>,
    /// Temporary tables.
    pub(super) temporary: super::temporary::SessionTemporaryTables,
    default_database: Option<String>,
    variables: SessionVariables,
    session_settings: SessionSettings,
    user_variables: Arc<UserVariables>,
    /// The statement's moment: microseconds since 1970, UTC.
    moment: i64,
    seeded: Vec<(usize, SeededRandom)>,
    strict_error: Option<SqlError>,
}

/// The variables of a session, which others may see in
/// `performance_schema.user_variables_by_thread`. The latch is held for one of them, or for a copy.
pub(crate) type UserVariables = Mutex<HashMap<Box<str>, (Datum<'static>, Type)>>;

impl Context {
    pub(super) fn new(instance: Arc<Instance>, connection: &super::Connection) -> Self {
        let variables = SessionVariables::new(instance.globals());
        let session_settings = session_settings_of(&variables);
        Self {
            connection: ConnectionInfo::new(connection, instance.catalog()),
            statistics: Statistics::default(),
            functions: FunctionState::new(&**instance.env()),
            transactions: TransactionState::default(),
            locks: SessionLocks::default(),
            log: LogState::default(),
            scratch: Scratch::default(),
            diagnostics: Diagnostics::default(),
            status: StatementStatus::default(),
            frames: Vec::new(),
            outer: Vec::new(),
            subquery_results: BTreeMap::new(),
            blamed: None,
            profile: None,
            tracker: super::tracking::Tracker::default(),
            cached_plan: None,
            settings_version: 0,
            last_settings: 0,
            parameters: Vec::new(),
            query_attributes: Vec::new(),
            misread: std::collections::BTreeSet::new(),
            executed_by: "EXECUTE",
            rows_found: 0,
            storing: false,
            interrupt: Arc::new(Interrupt::new()),
            temporary: super::temporary::SessionTemporaryTables::default(),
            default_database: None,
            variables,
            session_settings,
            user_variables: Arc::default(),
            moment: instance.env().now() as i64,
            seeded: Vec::new(),
            strict_error: None,
            instance,
        }
    }

    /// The session that DDL statements are done in once more while the log is replayed: nobody's,
    /// and on no list.
    pub(crate) fn of_replay(instance: Arc<Instance>) -> Self {
        let root = ("root".to_owned(), "localhost".to_owned());
        let connection = super::Connection {
            id: 0,
            user: root.0.clone(),
            host: root.1.clone(),
            account: root,
            with_password: false,
            database: None,
            collation: 255,
            found_rows: false,
            multi_statements: false,
            tls: None,
            on_kill: Box::new(|_| {}),
        };
        Self::new(instance, &connection)
    }

    /// The calling thread runs a statement of this session until what is returned is dropped.
    pub(super) fn begin_bounds(&self) -> datum::bounds::Bounded {
        datum::bounds::begin(&self.interrupt, self.session_settings.statement_memory_max)
    }

    pub(crate) fn catalog(&self) -> &Catalog {
        self.instance.catalog()
    }

    /// Counts something.
    pub fn count(&self, counter: Counter) {
        self.statistics.counters.count(counter);
    }

    /// The default database: inside a function the function's own.
    pub fn default_database(&self) -> Option<&str> {
        self.frames.last().map(Frame::database).or(self.default_database.as_deref())
    }

    /// USE, unchecked.
    pub fn set_default_database(&mut self, name: Option<String>) {
        let collation = match &name {
            Some(name) => self.catalog().state().database(name).map(|d| d.collation),
            None => None,
        };
        let collation = collation
            .or_else(|| Collation::by_name(self.variables.text(ids::COLLATION_SERVER)))
            .unwrap_or(Collation::UTF8MB4_0900_AI_CI);
        self.change_variables(|v| {
            v.put(ids::COLLATION_DATABASE, Value::Text(collation.name().into()));
            v.put(ids::CHARACTER_SET_DATABASE, Value::Text(collation.charset().name().into()));
        });
        self.default_database = name;
    }

    // What queries take from those around them.

    /// A value from around the innermost subquery or derived table.
    pub fn outer_value<'a>(&self, number: usize) -> Datum<'a> {
        self.outer.last().and_then(|values| values.get(number)).cloned().unwrap_or_default()
    }

    /// Runs a subquery with the values that it takes from around it.
    pub fn with_parameters<T>(
        &mut self,
        values: Vec<Datum<'static>>,
        run: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        self.outer.push(values);
        let outcome = run(self);
        self.outer.pop();
        outcome
    }

    /// Notes which expression's value is out of range, for what knows its columns' names
    /// ([`crate::explain::blame`]).
    #[cold]
    pub fn blame(&mut self, e: SqlError, expr: &Expr) -> SqlError {
        if e.is(error::DATA_OUT_OF_RANGE) && self.blamed.is_none() {
            self.blamed = Some(Box::new(expr.clone()));
        }
        e
    }

    /// The expression that was blamed last.
    pub fn take_blamed(&mut self) -> Option<Box<Expr>> {
        self.blamed.take()
    }

    /// Cached results of the statement's subqueries and derived tables so far, by their ids.
    pub fn subquery_results(&mut self) -> &mut BTreeMap<u64, SubqueryResult> {
        &mut self.subquery_results
    }

    /// Runs a statement, whose subqueries' results are its own (S1 of `expression/subquery.rs`).
    pub fn with_own_results<T>(&mut self, run: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let around = (std::mem::take(&mut self.subquery_results), std::mem::take(&mut self.misread));
        self.blamed = None;
        let outcome = run(self);
        (self.subquery_results, self.misread) = around;
        outcome
    }

    /// True if the statement was not warned of a constant yet.
    pub fn is_first_of(&mut self, constant: u64) -> bool {
        self.misread.insert(constant)
    }

    /// The value of a prepared statement's parameter.
    pub fn parameter<'a>(&self, number: usize) -> Datum<'a> {
        self.parameters.get(number).map(|p| p.value.clone()).unwrap_or_default()
    }

    /// The value of a prepared statement's parameter, and the character set of its text.
    pub fn parameter_text<'a>(&self, number: usize) -> (Datum<'a>, Charset) {
        (self.parameter(number), self.parameter_charset(number))
    }

    /// The same for a parameter that is asked for only once in an execution.
    pub fn take_parameter<'a>(&mut self, number: usize) -> (Datum<'a>, Charset) {
        let charset = self.parameter_charset(number);
        (self.parameters.get_mut(number).map(|p| std::mem::take(&mut p.value)).unwrap_or_default(), charset)
    }

    fn parameter_charset(&self, number: usize) -> Charset {
        self.parameters.get(number).map_or(Charset::Ascii, super::Parameter::charset)
    }
}
