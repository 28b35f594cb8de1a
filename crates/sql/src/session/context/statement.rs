//! What is of the statement that runs, and of those inside it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::read_locks::ReadLocks;
use crate::executor::foreign_keys::References;
use crate::executor::profile::Profile;
use crate::expression::Expr;
use crate::expression::members::CachedSet;
use crate::expression::subquery::SubqueryResult;
use crate::planner::plan::CachedPlan;
use crate::routine::Frame;
use crate::session::Parameter;
use crate::session::series::SeededRandom;
use crate::session::used_tables::UsedTables;
use datum::error::{Diagnostics, Naming, NumberType, SqlError};
use datum::types::Charset;
use datum::value::Datum;
use datum::value::temporal::SECOND;
use syntax::ast::StatementKind;

/// The expression whose value is out of range, for error 1690.
pub(crate) struct OutOfRange {
    /// What it is out of range of.
    pub(crate) ty: NumberType,
    pub(crate) expr: Box<Expr>,
}

/// What a statement did, for the client and for ROW_COUNT() and its like.
#[derive(Debug, Clone, Default)]
pub(crate) struct StatementStatus {
    /// ROW_COUNT(): of the statement before.
    pub(crate) row_count: i64,
    pub(crate) found_rows: u64,
    /// LAST_INSERT_ID(): of the last statement that made one.
    pub last_insert_id: u64,
    /// What this statement's OK says.
    pub(crate) insert_id: u64,
    /// Rows changed by this statement.
    pub(crate) affected: u64,
    /// `Records: 1 ...`
    pub info: String,
}

impl StatementStatus {
    /// The OK packet's text of counts by name: `Records: 1  Duplicates: 0  Warnings: 0`.
    pub(crate) fn set_info(&mut self, counts: &[(&str, u64)]) {
        self.info.clear();
        for (name, count) in counts {
            let between = if self.info.is_empty() { "" } else { "  " };
            self.info.extend([between, name, ": "]);
            push_digits(&mut self.info, *count);
        }
    }

    /// What the next statement asks for of this one stays.
    fn begin(&mut self) {
        let Self { row_count: _, found_rows: _, last_insert_id: _, insert_id, affected, info } = self;
        *insert_id = 0;
        *affected = 0;
        info.clear();
    }
}

/// For every UPDATE there is: formatting does the same in several times as many instructions.
fn push_digits(out: &mut String, number: u64) {
    if number >= 10 {
        push_digits(out, number / 10);
    }
    out.push(char::from(b'0' + (number % 10) as u8));
}

/// Where the values of OUT parameters go for which a `?` stands.
#[derive(Debug, Clone)]
pub(crate) enum ParameterTargets {
    /// To the client, as a result set.
    Client,
    /// To the user variables that EXECUTE .. USING names.
    Variables(Arc<[Box<str>]>),
}

/// The state of the client's statement that runs. [`StatementState::begin`] starts it; the
/// statements of stored functions, and those that are executed for others, run in the same one.
pub(crate) struct StatementState {
    /// Warnings.
    pub(crate) diagnostics: Diagnostics,
    pub(crate) status: StatementStatus,
    /// It stores: text that is no number is an error under strict modes.
    pub(crate) storing: bool,
    /// What does not fit a function's parameter is only a warning under strict modes: DO, and
    /// changes with IGNORE.
    pub(crate) lenient_calls: bool,
    /// Whether what it reads is locked.
    pub(crate) read_locks: ReadLocks,
    /// The first warning that is an error.
    pub(super) strict_error: Option<SqlError>,
    /// Its moment: microseconds since 1970, UTC.
    pub(super) moment: i64,
    /// Values of the prepared statement that runs.
    pub(crate) parameters: Vec<Parameter>,
    /// Where the values of OUT parameters go for which a `?` stands.
    pub(crate) parameter_targets: ParameterTargets,
    /// A COMMIT or ROLLBACK of a procedure has said RELEASE.
    pub(crate) releases: bool,
    /// What executes a prepared statement, as error 1210 names it.
    pub(crate) executed_by: &'static str,
    /// Named values that the client sent along with the statement, as utf8mb4 text.
    pub(crate) query_attributes: Vec<(Box<[u8]>, Datum<'static>)>,
    /// Its plan, cached from its last execution for its next one; `None` if it is not cached
    /// itself.
    pub(crate) cached_plan: Option<CachedPlan>,
    /// What the parts of the plan that runs did, under EXPLAIN ANALYZE.
    pub(crate) profile: Option<Box<Profile>>,
    /// Routines that are running, the innermost last.
    pub(crate) frames: Vec<Frame>,
    /// The tables that it uses, and those that the statements inside it do.
    pub(crate) used_tables: UsedTables,
    /// What the tables that it changes refer to, and what refers to them, by the tables' numbers.
    pub(crate) references: Vec<(u64, Arc<References>)>,
    /// The rows that it applies were checked where they come from, and what follows from them comes
    /// too.
    pub(crate) ignores_foreign_keys: bool,
    /// A statement within this one has changed rows by foreign keys, which it may have found
    /// before.
    pub(crate) cascaded_within: bool,
    /// The values that the subqueries and derived tables that run take from around them, the
    /// innermost last.
    pub(super) outer: Vec<Vec<Datum<'static>>>,
    /// Cached results of its subqueries and derived tables, by their ids.
    pub(super) subquery_results: BTreeMap<u64, SubqueryResult>,
    /// Sets of its lists of constants, by the lists' numbers.
    pub(super) member_sets: BTreeMap<u64, CachedSet>,
    /// The constants that it was warned of.
    pub(super) misread: BTreeSet<u64>,
    /// The expression whose value was out of range last.
    pub(super) blamed: Option<OutOfRange>,
    /// The rows of the query that ran last, as FOUND_ROWS() counts them.
    pub(crate) rows_found: u64,
    /// Series of `RAND(seed)`, by their calls.
    seeded: Vec<(usize, SeededRandom)>,
}

impl StatementState {
    /// What ROW_COUNT() gives after a statement that has succeeded; GET DIAGNOSTICS and
    /// RESIGNAL leave it alone.
    pub(crate) fn set_row_count(&mut self, kind: &StatementKind, has_rows: bool) {
        self.status.row_count = match kind {
            StatementKind::GetDiagnostics(_) => return,
            StatementKind::Signal(signal) if signal.resignal => return,
            _ if has_rows => -1,
            _ => self.status.affected as i64,
        };
    }

    pub(super) fn new(moment: i64) -> Self {
        Self {
            diagnostics: Diagnostics::default(),
            status: StatementStatus::default(),
            storing: false,
            lenient_calls: false,
            read_locks: ReadLocks::Never,
            strict_error: None,
            moment,
            parameters: Vec::new(),
            parameter_targets: ParameterTargets::Client,
            releases: false,
            executed_by: "EXECUTE",
            query_attributes: Vec::new(),
            cached_plan: None,
            profile: None,
            frames: Vec::new(),
            used_tables: UsedTables::default(),
            references: Vec::new(),
            ignores_foreign_keys: false,
            cascaded_within: false,
            outer: Vec::new(),
            subquery_results: BTreeMap::new(),
            member_sets: BTreeMap::new(),
            misread: BTreeSet::new(),
            blamed: None,
            rows_found: 0,
            seeded: Vec::new(),
        }
    }

    /// A statement of the client begins. The pattern has every field, so that who adds one says
    /// here what becomes of it.
    pub(in crate::session) fn begin(&mut self, moment: i64, keeps_diagnostics: bool) {
        let Self {
            diagnostics,
            status,
            storing,
            lenient_calls,
            strict_error,
            moment: begins,
            // Set for this statement before it begins.
            parameters: _,
            parameter_targets: _,
            releases,
            executed_by: _,
            query_attributes: _,
            cached_plan: _,
            // Put back by who sets them: empty between statements.
            read_locks: _,
            profile: _,
            frames: _,
            used_tables,
            references,
            member_sets,
            ignores_foreign_keys,
            cascaded_within,
            outer: _,
            // Begun by `Context::with_own_results`, for each statement of a function too.
            subquery_results: _,
            misread: _,
            blamed: _,
            // Set by each query that runs.
            rows_found: _,
            // Forgotten at the end.
            seeded: _,
        } = self;
        used_tables.clear();
        references.clear();
        member_sets.clear();
        *ignores_foreign_keys = false;
        *cascaded_within = false;
        *releases = false;
        if !keeps_diagnostics {
            diagnostics.begin_statement();
        }
        status.begin();
        *storing = false;
        *lenient_calls = false;
        *strict_error = None;
        *begins = moment;
    }

    /// A statement of a procedure begins, which is no part of the calling one.
    pub(super) fn begin_in_procedure(&mut self, moment: i64) {
        self.references.clear();
        self.ignores_foreign_keys = false;
        self.status.begin();
        self.storing = false;
        self.strict_error = None;
        self.moment = moment;
    }

    /// Forgets what is found by the addresses of calls: the plan that has them may go.
    pub(in crate::session) fn end(&mut self) {
        self.seeded.clear();
    }

    /// Seconds since 1970, for events.
    pub(crate) fn timestamp(&self) -> u32 {
        (self.moment / SECOND) as u32
    }

    /// Microseconds since 1970.
    pub(crate) fn moment(&self) -> i64 {
        self.moment
    }

    /// The first warning that is an error in this statement, if there was one.
    pub(crate) fn take_strict_error(&mut self) -> Option<SqlError> {
        self.strict_error.take()
    }

    /// Puts back what was taken, unless another one has come since.
    pub(crate) fn restore_strict_error(&mut self, taken: Option<SqlError>) {
        if self.strict_error.is_none() {
            self.strict_error = taken;
        }
    }

    /// A value from around the innermost subquery or derived table.
    pub(crate) fn outer_value<'a>(&self, number: usize) -> Datum<'a> {
        self.outer.last().and_then(|values| values.get(number)).cloned().unwrap_or_default()
    }

    /// Notes which expression's value is out of range, for what knows its columns' names
    /// (`executor::out_of_range`).
    #[cold]
    pub(crate) fn blame(&mut self, e: SqlError, expr: &Expr) -> SqlError {
        let Naming::Unnamed(ty) = e.naming else { return e };
        self.blamed = Some(OutOfRange { ty, expr: Box::new(expr.clone()) });
        SqlError { naming: Naming::Noted, ..e }
    }

    /// The expression that was blamed last, and what it is out of range of.
    pub(crate) fn take_blamed(&mut self) -> Option<OutOfRange> {
        self.blamed.take()
    }

    /// Cached results of the statement's subqueries and derived tables so far, by their ids.
    pub(crate) fn subquery_results(&mut self) -> &mut BTreeMap<u64, SubqueryResult> {
        &mut self.subquery_results
    }

    /// Sets of the statement's lists of constants so far, by the lists' numbers.
    pub(crate) fn member_sets(&mut self) -> &mut BTreeMap<u64, CachedSet> {
        &mut self.member_sets
    }

    /// True if the statement was not warned of a constant yet.
    pub(crate) fn is_first_of(&mut self, constant: u64) -> bool {
        self.misread.insert(constant)
    }

    /// The value of a prepared statement's parameter.
    pub(crate) fn parameter<'a>(&self, number: usize) -> Datum<'a> {
        self.parameters.get(number).map(|p| p.value.clone()).unwrap_or_default()
    }

    /// The value of a prepared statement's parameter, and the character set of its text.
    pub(crate) fn parameter_text<'a>(&self, number: usize) -> (Datum<'a>, Charset) {
        (self.parameter(number), self.parameter_charset(number))
    }

    /// The same for a parameter that is asked for only once in an execution.
    pub(crate) fn take_parameter<'a>(&mut self, number: usize) -> (Datum<'a>, Charset) {
        let charset = self.parameter_charset(number);
        (self.parameters.get_mut(number).map(|p| std::mem::take(&mut p.value)).unwrap_or_default(), charset)
    }

    fn parameter_charset(&self, number: usize) -> Charset {
        self.parameters.get(number).map_or(Charset::Ascii, Parameter::charset)
    }

    /// A variable or parameter of the innermost routine.
    pub(crate) fn local(&self, index: usize) -> &Datum<'static> {
        const NULL: &Datum<'static> = &Datum::Null;
        self.frames.last().and_then(|frame| frame.locals.get(index)).unwrap_or(NULL)
    }

    /// `RAND(seed)`: a constant seed starts a series in each statement, one for each `call`;
    /// another one is a series of one.
    pub(crate) fn random_from(&mut self, seed: i64, call: Option<usize>) -> f64 {
        let Some(call) = call else { return SeededRandom::new(seed).draw() };
        if let Some((_, series)) = self.seeded.iter_mut().find(|(known, _)| *known == call) {
            return series.draw();
        }
        let mut series = SeededRandom::new(seed);
        let first = series.draw();
        self.seeded.push((call, series));
        first
    }
}
