//! Prepared statements: parsed once, run many times with other values.
//!
//! A statement is named by a number (the binary protocol) or by a name (PREPARE); both kinds live
//! as long as the session and count towards `max_prepared_stmt_count` of all sessions together.
//!
//! 1. prepare  The text is parsed. What gives rows is run up to its columns, which the client is
//!    reported; so unknown names fail here. What can't be prepared is error 1295.
//! 2. execute  The values become the context's parameters, and the tree runs like any other
//!    statement.
//!
//! The plan of the last execution is cached with the tree; whether it is still good is asked each
//! time ([`crate::planner::plan`]), so a change of the tables by DDL is nothing that could be
//! missed.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use parking_lot::Mutex;

use super::{Context, ParameterTargets, Session};
use crate::client_text;
use crate::executor;
use crate::executor::create_start;
use crate::planner::plan::CachedPlan;
use crate::statement_class;
use crate::statement_digests::Tally;
use crate::statement_log;
use crate::status::Counter;
use crate::variables::ids;
use datum::bounds::parse_options;
use datum::error::{self, Result, SqlError};
use datum::sink::{ColumnMeta, OkInfo, ResultSink};
use datum::types::{Charset, Coercibility, Type};
use datum::value::Datum;
use syntax::ParseOptions;
use syntax::ast::{Explain, Ident, PrepareSource, Statement, StatementKind};
use syntax::parser;

/// A parameter's value in one execution, and its type.
#[derive(Debug, Clone)]
pub struct Parameter {
    /// The value; text is in the character set of the type's collation.
    pub value: Datum<'static>,
    /// Its type.
    pub ty: Type,
}

/// Memory for at most so many parameters is reused.
const PARAMETERS_CAPACITY_MAX: usize = 64;

/// A text with one statement, parsed.
#[derive(Debug)]
pub(super) struct Parsed {
    /// What the tree's spans point into.
    pub text: Box<[u8]>,
    /// The tree.
    pub statement: Statement,
    /// The plan of its last execution.
    pub(crate) cached_plan: Mutex<CachedPlan>,
    /// Where its executions are counted.
    pub(crate) tally: Mutex<Option<Arc<Tally>>>,
}

impl Parsed {
    /// A statement without a plan.
    pub(super) fn new(text: &[u8], statement: Statement) -> Self {
        Self { text: text.into(), statement, cached_plan: Mutex::default(), tally: Mutex::default() }
    }
}

/// What is reported to the client of a statement that was prepared.
#[derive(Debug, Clone, Default)]
pub struct Description {
    /// The number to execute it by.
    pub id: u32,
    /// How many parameters it has.
    pub parameters: usize,
    /// The columns of its rows, as far as they are known before it runs.
    pub columns: Vec<ColumnMeta>,
}

/// The prepared statements of one session.
pub(super) struct PreparedStatements {
    by_id: BTreeMap<u32, Arc<Parsed>>,
    by_name: HashMap<String, Arc<Parsed>>,
    /// The names that EXECUTE runs now, each in a routine that the one before calls.
    executing: Vec<String>,
    last_id: u32,
    /// How many all sessions have.
    total: Arc<AtomicU64>,
}

impl PreparedStatements {
    pub(super) fn new(total: Arc<AtomicU64>) -> Self {
        Self { by_id: BTreeMap::new(), by_name: HashMap::new(), executing: Vec::new(), last_id: 0, total }
    }

    /// Error 1461 if all sessions together have as many as they may.
    fn reserve(&self, max: u64) -> Result<()> {
        let counted = self.total.fetch_update(Relaxed, Relaxed, |n| (n < max).then_some(n + 1));
        counted.map(drop).map_err(|_| error::MAX_PREPARED_STMT_COUNT_REACHED.with(&[&max]))
    }

    fn add(&mut self, parsed: Arc<Parsed>) -> u32 {
        loop {
            self.last_id = self.last_id.wrapping_add(1).max(1);
            if !self.by_id.contains_key(&self.last_id) {
                self.by_id.insert(self.last_id, parsed);
                return self.last_id;
            }
        }
    }

    fn check_not_executing(&self, key: &str) -> Result<()> {
        let is_executing = self.executing.iter().any(|name| name == key);
        if is_executing { Err(error::PS_NO_RECURSION.plain()) } else { Ok(()) }
    }

    fn release(&self, count: usize) {
        self.total.fetch_sub(count as u64, Relaxed);
    }

    pub(super) fn clear(&mut self) {
        self.release(self.by_id.len() + self.by_name.len());
        self.by_id.clear();
        self.by_name.clear();
    }
}

impl Drop for PreparedStatements {
    fn drop(&mut self) {
        self.clear();
    }
}

impl Parameter {
    /// What stands for a parameter before it has a value: text that may be NULL.
    fn unknown(cx: &Context) -> Self {
        Self {
            value: Datum::Null,
            ty: Type::text(cx.settings.connection_collation(), Coercibility::Literal, 0),
        }
    }

    /// The character set of its text.
    pub fn charset(&self) -> Charset {
        self.ty.text_charset()
    }

    /// A number, a date, a time, or NULL.
    pub fn plain(value: Datum<'static>) -> Self {
        let ty = match &value {
            Datum::Int(_) => Type::INT.not_null(),
            Datum::UInt(_) => Type::UINT.not_null(),
            Datum::Double(_) | Datum::Float(_) => Type::DOUBLE.not_null(),
            Datum::Decimal(d) => Type::decimal(d.digits(), d.shown()).not_null(),
            Datum::Date(_) => Type::DATE.not_null(),
            Datum::Time(t) => Type::time(t.fsp).not_null(),
            Datum::DateTime(d) => Type::datetime(d.fsp).not_null(),
            _ => Type::NULL,
        };
        Self { value, ty }
    }
}

impl Session {
    /// COM_STMT_PREPARE.
    pub fn prepare(&mut self, text: &[u8]) -> Result<Description> {
        let _bounded = self.cx.begin_bounds();
        let client = self.cx.settings.client_charset();
        let shown = client_text::to_utf8_lossy(text, client);
        self.cx.interrupt.statement_begins();
        self.process.begin(&shown, self.cx.instance.env().monotonic_coarse());
        self.cx.begin_moment();
        self.cx.statement.diagnostics.clear();
        let sql_mode = self.cx.settings.variables().uint(ids::SQL_MODE);
        let text = client_text::to_utf8(text, client, sql_mode).map_err(SqlError::from);
        let outcome = text.and_then(|text| self.cx.try_prepare(&text));
        self.process.end(self.cx.instance.env().monotonic_coarse(), self.cx.default_database());
        self.cx.interrupt.statement_ended();
        let (parsed, columns) = outcome.or_else(|e| self.fail(e))?;
        if self.cx.instance.statement_logs().enabled() != 0 {
            let kind = &parsed.statement.kind;
            self.log_command("Prepare", &statement_log::hidden(kind, &parsed.text, sql_mode));
        }
        let parameters = parsed.statement.parameters as usize;
        Ok(Description { id: self.cx.prepared.add(parsed), parameters, columns })
    }

    /// An empty list for the values of [`Session::execute_prepared`], in memory that is kept from
    /// execution to execution.
    pub fn parameters_to_fill(&mut self) -> Vec<Parameter> {
        std::mem::take(&mut self.cx.statement.parameters)
    }

    /// COM_STMT_EXECUTE: runs a prepared statement with a value for each of its parameters. Error
    /// 1243 if there is no such statement, 1210 if the number of values is another.
    pub fn execute_prepared(
        &mut self,
        id: u32,
        parameters: Vec<Parameter>,
        sink: &mut dyn ResultSink,
    ) -> Result<()> {
        let Some(parsed) = self.cx.prepared.by_id.get(&id).cloned() else {
            return self.fail(error::UNKNOWN_STMT_HANDLER.with(&[&id, &"mysqld_stmt_execute"]));
        };
        if parameters.len() != parsed.statement.parameters as usize {
            return self.fail(error::WRONG_ARGUMENTS.with(&[&"mysqld_stmt_execute"]));
        }
        self.cx.interrupt.statement_begins();
        self.process.begin(&parsed.text, self.cx.instance.env().monotonic_coarse());
        self.cx.statement.executed_by = "mysqld_stmt_execute";
        let _bounded = self.cx.begin_bounds();
        let outcome = self.run_parsed(&parsed, parameters, false, sink);
        self.process.end(self.cx.instance.env().monotonic_coarse(), self.cx.default_database());
        self.cx.interrupt.statement_ended();
        outcome
    }

    fn run_parsed(
        &mut self,
        parsed: &Parsed,
        parameters: Vec<Parameter>,
        more: bool,
        sink: &mut dyn ResultSink,
    ) -> Result<()> {
        self.cx.statement.parameters = parameters;
        let nested = std::mem::replace(&mut self.executes_prepared, true);
        let outcome = self.run_cached_statement(parsed, more, sink);
        self.executes_prepared = nested;
        self.cx.statement.parameters.clear();
        self.cx.statement.parameters.shrink_to(PARAMETERS_CAPACITY_MAX);
        outcome
    }

    /// False for CALL, whose result sets all come at once, cursor or not.
    pub fn may_have_cursor(&self, id: u32) -> bool {
        let parsed = self.cx.prepared.by_id.get(&id);
        parsed.is_none_or(|parsed| !matches!(parsed.statement.kind, StatementKind::Call { .. }))
    }

    /// COM_STMT_CLOSE: forgets a statement; true if there was one.
    pub fn close_prepared(&mut self, id: u32) -> bool {
        let found = self.cx.prepared.by_id.remove(&id).is_some();
        self.cx.prepared.release(found.into());
        found
    }

    /// Text that a client sent as a parameter, brought to the connection's character set.
    pub fn text_parameter(&self, bytes: &[u8]) -> Parameter {
        let collation = self.cx.settings.connection_collation();
        let (from, to) = (self.cx.settings.client_charset(), collation.charset());
        let bytes = if from == to || from == Charset::Binary {
            bytes.into()
        } else {
            from.convert(bytes.into(), to).0
        };
        let length = to.char_count(&bytes) as u32;
        let ty = Type::text(collation, Coercibility::Literal, length).not_null();
        Parameter { value: Datum::owned(bytes), ty }
    }

    /// Bytes that a client sent as a parameter.
    pub fn binary_parameter(&self, bytes: &[u8]) -> Parameter {
        let ty = Type::text(datum::types::Collation::BINARY, Coercibility::Literal, bytes.len() as u32);
        Parameter { value: Datum::owned(bytes), ty: ty.not_null() }
    }

    /// Query attributes: named values that the client sends along with the statements that it runs
    /// next. They hold until others are given.
    pub fn set_query_attributes<'a>(&mut self, attributes: impl Iterator<Item = (&'a [u8], Parameter)>) {
        let client = self.cx.settings.client_charset();
        let as_text = |Parameter { value, ty }: Parameter| match value {
            Datum::Null => Datum::Null,
            value => {
                let text = value.into_bytes();
                Datum::owned(ty.collation.charset().convert(text, Charset::Utf8mb4).0)
            }
        };
        let named = attributes.map(|(name, parameter)| {
            let name = client.convert(name.into(), Charset::Utf8mb4).0;
            (name.into_owned().into(), as_text(parameter))
        });
        self.cx.statement.query_attributes = named.collect();
    }

    /// EXECUTE name USING.
    pub(super) fn execute_named(
        &mut self,
        name: &Ident,
        using: &[Ident],
        more: bool,
        sink: &mut dyn ResultSink,
    ) -> Result<()> {
        let parsed = match self.cx.begin_named(name, using) {
            Ok(parsed) => parsed,
            Err(e) => return self.fail(e),
        };
        let value = |name: &Ident| Parameter {
            value: self.cx.settings.user_variable(name),
            ty: self.cx.settings.user_variable_type(name),
        };
        let parameters = using.iter().map(value).collect();
        self.cx.statement.executed_by = "EXECUTE";
        self.cx.statement.parameter_targets = targets(using);
        let outcome = self.run_parsed(&parsed, parameters, more, sink);
        self.cx.statement.parameter_targets = ParameterTargets::Client;
        self.cx.prepared.executing.pop();
        outcome
    }
}

impl Context {
    /// Parses, describes and counts a statement that is to be cached.
    fn try_prepare(&mut self, text: &[u8]) -> Result<(Arc<Parsed>, Vec<ColumnMeta>)> {
        let mut parsed = parse(self, text)?;
        // Its executions are not reported again.
        for remark in std::mem::take(&mut parsed.statement.remarks.list) {
            self.statement.diagnostics.warn(datum::error::remark::warning(&remark));
        }
        let columns = describe(self, &parsed)?;
        // What came since its columns were known is meant for it, not for its execution.
        datum::bounds::check()?;
        self.prepared.reserve(self.instance.globals().uint(ids::MAX_PREPARED_STMT_COUNT))?;
        Ok((Arc::new(parsed), columns))
    }

    /// PREPARE name FROM: a statement that had the name is forgotten first, even if this one fails.
    pub(crate) fn prepare_named(&mut self, name: &Ident, source: &PrepareSource) -> Result<()> {
        self.count(Counter::ComPrepareSql);
        self.forget(name)?;
        let text = match source {
            PrepareSource::Text(text) => text.to_vec(),
            PrepareSource::Variable(variable) => match self.settings.user_variable(variable) {
                Datum::Null => b"NULL".to_vec(),
                value => {
                    let charset = self.settings.user_variable_type(variable).collation.charset();
                    charset.convert(value.into_bytes(), Charset::Utf8mb4).0.into_owned()
                }
            },
        };
        let (parsed, _) = self.try_prepare(&text)?;
        self.prepared.by_name.insert(name.to_lowercase(), parsed);
        self.tracker.state();
        Ok(())
    }

    /// EXECUTE name USING in a procedure: a statement among its others.
    pub(crate) fn execute_nested(
        &mut self,
        name: &Ident,
        using: &[Ident],
        sink: &mut dyn ResultSink,
    ) -> Result<executor::Done> {
        datum::stack::check()?;
        let parsed = self.begin_named(name, using)?;
        let value = |name: &Ident| Parameter {
            value: self.settings.user_variable(name),
            ty: self.settings.user_variable_type(name),
        };
        let own: Vec<Parameter> = using.iter().map(value).collect();
        let cached = std::mem::take(&mut *parsed.cached_plan.lock());
        let statement = &mut self.statement;
        let parameters = std::mem::replace(&mut statement.parameters, own);
        let targets = std::mem::replace(&mut statement.parameter_targets, targets(using));
        let executed_by = std::mem::replace(&mut statement.executed_by, "EXECUTE");
        let around = statement.cached_plan.replace(cached);
        let hidden = statement.frames.last_mut().is_some_and(|frame| frame.set_dynamic(true));
        let outcome = executor::execute(self, &parsed.statement, &parsed.text, sink);
        let statement = &mut self.statement;
        statement.frames.last_mut().map(|frame| frame.set_dynamic(hidden));
        let cached = std::mem::replace(&mut statement.cached_plan, around);
        statement.executed_by = executed_by;
        statement.parameter_targets = targets;
        statement.parameters = parameters;
        *parsed.cached_plan.lock() = cached.unwrap_or_default();
        self.prepared.executing.pop();
        outcome
    }

    /// The statement of a name, which is executing from here on: who asked pops its name.
    fn begin_named(&mut self, name: &Ident, using: &[Ident]) -> Result<Arc<Parsed>> {
        self.count(Counter::ComExecuteSql);
        let key = name.to_lowercase();
        let parsed = self.prepared.by_name.get(&key).cloned();
        let parsed = parsed.ok_or_else(|| error::UNKNOWN_STMT_HANDLER.with(&[name, &"EXECUTE"]))?;
        if using.len() != parsed.statement.parameters as usize {
            return Err(error::WRONG_ARGUMENTS.with(&[&"EXECUTE"]));
        }
        self.prepared.check_not_executing(&key)?;
        self.prepared.executing.push(key);
        Ok(parsed)
    }

    /// DEALLOCATE PREPARE.
    pub(crate) fn deallocate(&mut self, name: &Ident) -> Result<()> {
        self.count(Counter::ComDeallocSql);
        match self.forget(name)? {
            true => Ok(()),
            false => Err(error::UNKNOWN_STMT_HANDLER.with(&[name, &"DEALLOCATE PREPARE"])),
        }
    }

    fn forget(&mut self, name: &Ident) -> Result<bool> {
        let key = name.to_lowercase();
        self.prepared.check_not_executing(&key)?;
        let found = self.prepared.by_name.remove(&key).is_some();
        self.prepared.release(found.into());
        Ok(found)
    }
}

/// The variables that EXECUTE .. USING names.
fn targets(using: &[Ident]) -> ParameterTargets {
    ParameterTargets::Variables(using.iter().map(|name| name.as_str().into()).collect())
}

fn parse(cx: &Context, text: &[u8]) -> Result<Parsed> {
    let text = super::without_terminator(text);
    let sql_mode = cx.settings.variables().uint(ids::SQL_MODE);
    let options = ParseOptions { from_client: true, ..parse_options(sql_mode) };
    let statement = parser::parse(text, &options)?.ok_or_else(|| error::EMPTY_QUERY.plain())?;
    if !statement_class::can_be_prepared(&statement.kind) || create_start::of(&statement.kind).is_some() {
        return Err(error::UNSUPPORTED_PS.plain());
    }
    if statement.parameters > 0 && statement_class::is_ddl(&statement.kind) {
        return Err(SqlError::unsupported("parameters in definitions"));
    }
    if statement.parameters > u16::MAX.into() {
        return Err(error::PS_MANY_PARAM.plain());
    }
    let kept = super::program_text(&statement.kind, text, sql_mode);
    Ok(Parsed::new(kept.as_deref().unwrap_or(text), statement))
}

/// The columns of a statement's rows: it is run until it names them, with parameters that are NULL.
fn describe(cx: &mut Context, parsed: &Parsed) -> Result<Vec<ColumnMeta>> {
    let has_columns = match &parsed.statement.kind {
        StatementKind::Query(query) => query.into.is_none(),
        StatementKind::Show(_) => true,
        StatementKind::Explain(explain) => !matches!(**explain, Explain::Connection { .. }),
        _ => false,
    };
    if let StatementKind::Call { name, arguments } = &parsed.statement.kind {
        crate::routine::call::find(cx, name, arguments.len())?;
    }
    if !has_columns {
        return Ok(Vec::new());
    }
    let counters = std::mem::take(&mut cx.statistics.counters); // nothing was asked for yet
    let (was_open, next) = (cx.transactions.open.is_some(), cx.transactions.next);
    let unknown = vec![Parameter::unknown(cx); parsed.statement.parameters as usize];
    let parameters = std::mem::replace(&mut cx.statement.parameters, unknown);
    let mut sink = UntilColumns(None);
    // What a procedure prepares does not see its variables.
    let hidden = cx.statement.frames.last_mut().is_some_and(|frame| frame.set_dynamic(true));
    let around = cx.statement.cached_plan.take();
    let outcome = executor::execute(cx, &parsed.statement, &parsed.text, &mut sink);
    cx.statement.cached_plan = around;
    cx.statement.frames.last_mut().map(|frame| frame.set_dynamic(hidden));
    cx.statement.parameters = parameters;
    if !was_open {
        cx.rollback();
        cx.transactions.next = next; // still to come
    }
    cx.statistics.counters = counters;
    match sink.0 {
        Some(columns) => Ok(columns),
        None => outcome.map(|_| Vec::new()),
    }
}

/// Ends a statement as soon as its columns are known.
struct UntilColumns(Option<Vec<ColumnMeta>>);

impl ResultSink for UntilColumns {
    fn columns(&mut self, columns: &[ColumnMeta]) -> std::io::Result<()> {
        self.0 = Some(columns.to_vec());
        Err(std::io::ErrorKind::Interrupted.into())
    }

    fn row(&mut self, _: &[Datum<'_>]) -> std::io::Result<()> {
        Err(std::io::ErrorKind::Interrupted.into())
    }

    fn finish(&mut self, _: &OkInfo<'_>) -> std::io::Result<()> {
        Ok(())
    }
}
