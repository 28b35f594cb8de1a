//! What a running statement knows of its session: settings, the moment, variables, the transaction, and where warnings
//! go. Expressions and executors are given it; nothing else of a session is theirs.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use binlog::event::QueryEvent;
use storage::Interrupt;
use storage::lock::Killed;

use super::series::SeededRandom;
use super::transaction::Open;
use crate::ast::SystemVariable;
use crate::catalog::Catalog;
use crate::catalog::ddl::Settings;
use crate::database::Database;
use crate::error::{self, Diagnostics, Result, SqlError};
use crate::expression::functions::locale::{self, Locale};
use crate::expression::functions::regexp;
use crate::expression::subquery::Kept;
use crate::routine::{Frame, Routine};
use crate::status::{Counter, Counters};
use crate::types::{Charset, Coercibility, Collation, Type};
use crate::value::temporal::{DateRules, SECOND};
use crate::value::zone::Zone;
use crate::value::{Date, DateTime, Datum, Decimal, json, store};
use crate::variables::{SessionVariables, Value, ids, sql_mode};

/// What the sql_mode means to values and expressions.
#[derive(Debug, Clone, Copy, Default)]
pub struct Modes {
    /// STRICT_TRANS_TABLES or STRICT_ALL_TABLES.
    pub strict: bool,
    /// ERROR_FOR_DIVISION_BY_ZERO.
    pub error_for_division_by_zero: bool,
    /// NO_UNSIGNED_SUBTRACTION.
    pub no_unsigned_subtraction: bool,
    /// NO_BACKSLASH_ESCAPES.
    pub no_backslash_escapes: bool,
    /// NO_AUTO_VALUE_ON_ZERO.
    pub no_auto_value_on_zero: bool,
    /// ONLY_FULL_GROUP_BY.
    pub only_full_group_by: bool,
    /// TIME_TRUNCATE_FRACTIONAL.
    pub truncate_fraction: bool,
    /// Which incomplete dates are allowed.
    pub dates: DateRules,
}

impl Modes {
    /// From the bits of `sql_mode`.
    pub fn from_bits(bits: u64) -> Self {
        let has = |bit| bits & bit != 0;
        Self {
            strict: has(sql_mode::STRICT_TRANS_TABLES | sql_mode::STRICT_ALL_TABLES),
            error_for_division_by_zero: has(sql_mode::ERROR_FOR_DIVISION_BY_ZERO),
            no_unsigned_subtraction: has(sql_mode::NO_UNSIGNED_SUBTRACTION),
            no_backslash_escapes: has(sql_mode::NO_BACKSLASH_ESCAPES),
            no_auto_value_on_zero: has(sql_mode::NO_AUTO_VALUE_ON_ZERO),
            only_full_group_by: has(sql_mode::ONLY_FULL_GROUP_BY),
            truncate_fraction: has(sql_mode::TIME_TRUNCATE_FRACTIONAL),
            dates: DateRules {
                no_zero_in_date: has(sql_mode::NO_ZERO_IN_DATE),
                no_zero_date: has(sql_mode::NO_ZERO_DATE),
                allow_invalid: has(sql_mode::ALLOW_INVALID_DATES),
            },
        }
    }
}

/// What a statement did, for the client and for ROW_COUNT() and its like.
#[derive(Debug, Clone, Default)]
pub struct StatementStatus {
    /// ROW_COUNT(): of the statement before.
    pub row_count: i64,
    /// FOUND_ROWS().
    pub found_rows: u64,
    /// LAST_INSERT_ID(): of the last statement that made one.
    pub last_insert_id: u64,
    /// What this statement's OK tells.
    pub insert_id: u64,
    /// Rows changed by this statement.
    pub affected: u64,
    /// `Records: 1 ...`
    pub info: String,
}

/// Settings in the form that expressions want, made of the session's variables.
#[derive(Debug, Clone, Copy)]
struct Settled {
    modes: Modes,
    zone: Zone,
    client: Charset,
    connection: Collation,
    results: Option<Charset>,
    max_allowed_packet: usize,
}

/// A session's state, as statements need it.
pub struct Context {
    /// The server.
    pub database: Arc<Database>,
    /// The connection's id.
    pub id: u64,
    /// The name that the client gave, and where it comes from.
    pub user: (String, String),
    /// The account: user and host pattern.
    pub account: (String, String),
    /// True if the client has given a password.
    pub with_password: bool,
    /// CLIENT_FOUND_ROWS.
    pub count_found_rows: bool,
    /// Warnings of the statement.
    pub diagnostics: Diagnostics,
    /// What the statement did.
    pub status: StatementStatus,
    /// Counters for SHOW STATUS.
    pub counters: Arc<Counters>,
    /// The transaction, if one is open.
    pub transaction: Option<Open>,
    /// How the next transaction differs from the session's settings (SET TRANSACTION without scope).
    pub next_transaction: super::transaction::Characteristics,
    /// Routines that are running, the innermost last.
    pub frames: Vec<Frame>,
    /// The values that the subqueries and derived tables that run take from around them, the innermost last.
    outer: Vec<Vec<Datum<'static>>>,
    /// What subqueries and derived tables of the statement gave, by their ids.
    kept: HashMap<u64, Kept>,
    /// What the parts of the plan that runs did, under EXPLAIN ANALYZE.
    pub profile: Option<Box<crate::executor::profile::Profile>>,
    /// What the client will be told of changes in the session.
    pub tracker: super::tracking::Tracker,
    /// The plan of the client's statement that runs, kept from its last execution for its next one.
    pub kept_plan: Option<Arc<crate::planner::Plan>>,
    /// Counts the changes of settings.
    settings_version: u64,
    /// Values of the prepared statement that runs.
    pub parameters: Vec<super::Parameter>,
    /// A statement that stores: text that is no number is an error under strict modes.
    pub storing: bool,
    /// What KILL sets.
    pub interrupt: Arc<Interrupt>,
    /// Regular expressions used before.
    pub(crate) regexps: regexp::Cache,
    /// GET_LOCK was granted, so that there may be locks to give back.
    pub(crate) holds_named_locks: bool,
    /// The `BEGIN` event of transactions, as long as the settings in it stay.
    pub(super) begin_event: Option<Arc<QueryEvent<'static>>>,
    pub(super) known_grants: super::grants::Known,
    /// The XA branch that it runs.
    pub(super) branch: Option<super::xa::Branch>,
    /// LOCK TABLES and its like.
    pub(super) table_locks: super::table_locks::TableLocks,
    /// Temporary tables.
    pub(super) temporary: super::temporary::Own,
    /// The password had expired when the session began.
    pub(super) began_expired: bool,
    default_database: Option<String>,
    variables: SessionVariables,
    settled: Settled,
    user_variables: HashMap<Box<str>, (Datum<'static>, Type)>,
    /// The statement's moment: microseconds since 1970, UTC.
    moment: i64,
    random: stdx::random::Random,
    seeded: Vec<(usize, SeededRandom)>,
    strict_error: Option<SqlError>,
}

impl Context {
    pub(super) fn new(database: Arc<Database>, connection: &super::Connection) -> Self {
        let variables = SessionVariables::new(database.globals());
        let mut seed = [0; 8];
        database.env().random(&mut seed);
        let settled = settle(&variables);
        let known_grants = super::grants::Known::of(database.catalog(), &connection.account);
        Self {
            id: connection.id,
            user: (connection.user.clone(), connection.host.clone()),
            account: connection.account.clone(),
            with_password: connection.with_password,
            count_found_rows: connection.found_rows,
            diagnostics: Diagnostics::default(),
            status: StatementStatus::default(),
            counters: Arc::default(),
            transaction: None,
            next_transaction: super::transaction::Characteristics::default(),
            frames: Vec::new(),
            outer: Vec::new(),
            kept: HashMap::new(),
            profile: None,
            tracker: super::tracking::Tracker::default(),
            kept_plan: None,
            settings_version: 0,
            parameters: Vec::new(),
            storing: false,
            interrupt: Arc::new(Interrupt::new()),
            regexps: regexp::Cache::default(),
            holds_named_locks: false,
            begin_event: None,
            branch: None,
            table_locks: super::table_locks::TableLocks::default(),
            temporary: super::temporary::Own::default(),
            began_expired: known_grants.expired(),
            known_grants,
            default_database: None,
            variables,
            settled,
            user_variables: HashMap::new(),
            moment: database.env().now() as i64,
            random: stdx::random::Random::new(u64::from_le_bytes(seed)),
            seeded: Vec::new(),
            strict_error: None,
            database,
        }
    }

    /// The catalog.
    pub fn catalog(&self) -> &Catalog {
        self.database.catalog()
    }

    // Settings.

    /// The session's variables.
    pub fn variables(&self) -> &SessionVariables {
        &self.variables
    }

    /// Changes the session's variables.
    pub fn change_variables<T>(&mut self, change: impl FnOnce(&mut SessionVariables) -> T) -> T {
        let result = change(&mut self.variables);
        self.settled = settle(&self.variables);
        self.settings_version += 1;
        let kept_max = self.variables.uint(ids::MAX_ERROR_COUNT);
        self.diagnostics.configure(kept_max as usize, self.variables.bool(ids::SQL_NOTES));
        self.begin_event = None;
        result
    }

    /// Changes with every change of a setting that plans may depend on.
    pub fn settings_version(&self) -> u64 {
        self.settings_version
    }

    /// Counts something.
    pub fn count(&self, counter: Counter) {
        self.counters.count(counter);
    }

    /// What the sql_mode means.
    pub fn modes(&self) -> &Modes {
        &self.settled.modes
    }

    /// The session's time zone.
    pub fn zone(&self) -> Zone {
        self.settled.zone
    }

    /// `collation_connection`
    pub fn connection_collation(&self) -> Collation {
        self.settled.connection
    }

    /// `character_set_client`
    pub fn client_charset(&self) -> Charset {
        self.settled.client
    }

    /// `character_set_results`; `None` if results are sent as they are.
    pub fn results_charset(&self) -> Option<Charset> {
        self.settled.results
    }

    /// `max_allowed_packet`
    pub fn max_allowed_packet(&self) -> usize {
        self.settled.max_allowed_packet
    }

    /// `default_week_format`
    pub fn default_week_format(&self) -> u8 {
        self.variables.uint(ids::DEFAULT_WEEK_FORMAT) as u8
    }

    /// `group_concat_max_len`, in bytes; a packet bounds it.
    pub fn group_concat_max_len(&self) -> usize {
        let max = usize::try_from(self.variables.uint(ids::GROUP_CONCAT_MAX_LEN)).unwrap_or(usize::MAX);
        max.min(self.max_allowed_packet())
    }

    /// `div_precision_increment`
    pub fn div_precision_increment(&self) -> u8 {
        self.variables.uint(ids::DIV_PRECISION_INCREMENT) as u8
    }

    /// `lc_time_names`
    pub fn locale(&self) -> &'static Locale {
        locale::at(self.variables.uint(ids::LC_TIME_NAMES) as usize)
    }

    /// What storing a value depends on.
    pub fn store_rules(&self, ignore: bool) -> store::Rules {
        store::Rules {
            strict: self.settled.modes.strict && !ignore,
            dates: self.settled.modes.dates,
            zone: self.settled.zone,
            truncate_fraction: self.settled.modes.truncate_fraction,
        }
    }

    /// What DDL depends on.
    pub fn settings(&self) -> Settings {
        let server = Collation::by_name(self.variables.text(ids::COLLATION_SERVER));
        Settings {
            database: self.default_database.clone(),
            sql_mode: self.variables.uint(ids::SQL_MODE),
            client: self.settled.client,
            connection: self.settled.connection,
            server: server.unwrap_or(Collation::UTF8MB4_0900_AI_CI),
            zone: self.settled.zone,
            moment: self.moment,
            account: self.account.clone(),
            generates_key: self.variables.bool(ids::SQL_GENERATE_INVISIBLE_PRIMARY_KEY),
            temporary: self.temporary_tables().clone(),
        }
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

    // The moment.

    /// Starts a statement: the moment is now, unless `timestamp` is set.
    pub fn begin_moment(&mut self) {
        self.moment = match self.variables.get(ids::TIMESTAMP) {
            Value::Double(seconds) if *seconds > 0.0 => (*seconds * SECOND as f64) as i64,
            _ => self.database.env().now() as i64,
        };
    }

    /// Seconds since 1970, for events.
    pub fn timestamp(&self) -> u32 {
        (self.moment / SECOND) as u32
    }

    /// Microseconds since 1970.
    pub fn moment(&self) -> i64 {
        self.moment
    }

    fn at(&self, micros: i64) -> DateTime {
        DateTime::from_unix_micros(micros, 6).unwrap_or(DateTime::ZERO)
    }

    /// The statement's moment in the session's time zone.
    pub fn now(&self) -> DateTime {
        self.at(self.zone().to_local(self.moment))
    }

    /// The statement's moment in UTC.
    pub fn now_utc(&self) -> DateTime {
        self.at(self.moment)
    }

    /// This very moment in the session's time zone.
    pub fn wall_clock(&self) -> DateTime {
        self.at(self.zone().to_local(self.database.env().now() as i64))
    }

    /// The statement's day in the session's time zone.
    pub fn today(&self) -> Date {
        self.now().date
    }

    // Conversions, with warnings.

    /// Adds a warning. Where a strict session stores, some fail the statement at its end: [`Context::strict_error`].
    pub fn warn(&mut self, e: SqlError) {
        if self.storing && self.settled.modes.strict && self.strict_error.is_none() && is_strict(e.number) {
            self.strict_error = Some(e.clone());
        }
        self.diagnostics.warn(e);
    }

    /// The first warning that is an error in this statement, if there was one.
    pub fn strict_error(&mut self) -> Option<SqlError> {
        self.strict_error.take()
    }

    /// Text that is no number: warning 1292, or the error where a strict session stores.
    pub fn truncated(&mut self, kind: &str, value: &Datum<'_>) -> Result<()> {
        let bytes = value.to_bytes();
        let shown: String = String::from_utf8_lossy(&bytes).chars().take(128).collect();
        let e = match value {
            Datum::Json(_) => error::INVALID_JSON_VALUE_FOR_CAST.with(&[&kind, &"", &1]),
            _ => error::TRUNCATED_WRONG_VALUE.with(&[&kind, &shown]),
        };
        if self.storing && self.settled.modes.strict {
            return Err(e);
        }
        self.warn(e);
        Ok(())
    }

    /// A value as a double.
    pub fn double(&mut self, value: &Datum<'_>) -> Result<f64> {
        let converted = value.to_f64();
        // Nothing but spaces is zero without a warning.
        if !converted.whole && !matches!(value, Datum::Bytes(text) if text.trim_ascii().is_empty()) {
            self.truncated("DOUBLE", value)?;
        }
        Ok(converted.value)
    }

    /// A value as an exact decimal.
    pub fn decimal(&mut self, value: &Datum<'_>) -> Result<Decimal> {
        let converted = value.to_decimal();
        if !converted.whole {
            self.truncated("DECIMAL", value)?;
        }
        Ok(converted.value)
    }

    /// A value as an integer.
    pub fn integer(&mut self, value: &Datum<'_>) -> Result<i128> {
        let converted = value.to_integer();
        if !converted.whole {
            self.truncated("INTEGER", value)?;
        }
        Ok(converted.value)
    }

    /// Division by zero: NULL, with a warning, or the error where a strict session stores.
    pub fn division_by_zero<'a>(&mut self) -> Result<Datum<'a>> {
        if self.settled.modes.error_for_division_by_zero {
            if self.storing && self.settled.modes.strict {
                return Err(error::DIVISION_BY_ZERO.plain());
            }
            self.warn(error::DIVISION_BY_ZERO.plain());
        }
        Ok(Datum::Null)
    }

    // Variables.

    /// `@name`
    pub fn user_variable<'a>(&self, name: &str) -> Datum<'a> {
        let found = self
            .user_variables
            .get(name)
            .or_else(|| self.user_variables.get(name.to_ascii_lowercase().as_str()));
        found.map_or(Datum::Null, |(value, _)| value.clone())
    }

    /// The type of `@name`.
    pub fn user_variable_type(&self, name: &str) -> Type {
        self.user_variables.get(name.to_ascii_lowercase().as_str()).map_or(Type::NULL, |(_, ty)| *ty)
    }

    /// `SET @name = value`
    pub fn set_user_variable(&mut self, name: &str, value: Datum<'static>, ty: Type) {
        self.tracker.state();
        let value = match value {
            Datum::Bits(b) | Datum::Label(_, b) => Datum::Bytes(b),
            Datum::Json(document) => Datum::owned(json::to_text(&document)),
            Datum::Float(v) => Datum::Double(v.into()),
            Datum::Year(y) => Datum::UInt(y.into()),
            Datum::Date(_) | Datum::Time(_) | Datum::DateTime(_) => {
                Datum::owned(value.to_bytes().into_owned())
            }
            other => other,
        };
        use crate::types::Family as F;
        let family = match value {
            Datum::Null if ty.family != F::Null => ty.family,
            Datum::Null => F::Null,
            Datum::Int(_) | Datum::UInt(_) => F::Integer,
            Datum::Double(_) => F::Double,
            Datum::Decimal(_) => F::Decimal,
            _ => F::Text,
        };
        let collation = if ty.family.is_text() || ty.family == F::Json {
            ty.collation
        } else {
            self.connection_collation()
        };
        let ty = Type { family, collation, coercibility: Coercibility::Implicit, nullable: true, ..ty };
        let ty = if family == F::Text { Type { length: ty.length.max(255), ..ty } } else { ty };
        self.user_variables.insert(name.to_ascii_lowercase().into(), (value, ty));
    }

    /// Forgets all user variables.
    pub fn clear_user_variables(&mut self) {
        self.user_variables.clear();
    }

    /// `@@name`
    pub fn system_variable<'a>(&mut self, variable: &SystemVariable) -> Result<Datum<'a>> {
        super::variables::read(self, variable)
    }

    /// The type of `@@name`.
    pub fn system_variable_type(&mut self, variable: &SystemVariable) -> Result<Type> {
        let collation = self.connection_collation();
        Ok(match super::variables::read(self, variable)? {
            Datum::Int(_) => Type::INT,
            Datum::UInt(_) => Type::UINT,
            Datum::Double(_) => Type::DOUBLE,
            Datum::Decimal(d) => Type::decimal(d.digits(), d.shown()),
            text => {
                let length = text.to_bytes().len() as u32;
                Type::text(collation, Coercibility::System, length)
            }
        })
    }

    /// A variable or parameter of the innermost routine.
    pub fn local(&self, index: usize) -> &Datum<'static> {
        const NULL: &Datum<'static> = &Datum::Null;
        self.frames.last().and_then(|frame| frame.locals.get(index)).unwrap_or(NULL)
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

    /// What the statement's subqueries and derived tables gave so far, by their ids.
    pub fn kept_results(&mut self) -> &mut HashMap<u64, Kept> {
        &mut self.kept
    }

    /// Runs a statement, whose subqueries' results are its own (S1).
    pub fn with_own_results<T>(&mut self, run: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let around = std::mem::take(&mut self.kept);
        let outcome = run(self);
        self.kept = around;
        outcome
    }

    /// The value of a prepared statement's parameter.
    pub fn parameter<'a>(&self, number: usize) -> Datum<'a> {
        self.parameters.get(number).map(|p| p.value.clone()).unwrap_or_default()
    }

    // What functions ask.

    /// A stored function, compiled; error 1305.
    pub fn routine(&self, database: &str, name: &str) -> Result<Arc<Routine>> {
        let missing = || {
            let shown = format!("{database}.{name}");
            error::SP_DOES_NOT_EXIST.with(&[&"FUNCTION", &shown])
        };
        let function = self.catalog().function(database, name).ok_or_else(missing)?;
        if let Some(compiled) = function.compiled.get() {
            return Ok(compiled.clone());
        }
        let compiled = Arc::new(Routine::compile(&function)?);
        Ok(function.compiled.get_or_init(|| compiled).clone())
    }

    /// `VERSION()`
    pub fn version(&self) -> String {
        self.database.globals().text(ids::VERSION).to_string()
    }

    /// `USER()`
    pub fn user(&self) -> String {
        format!("{}@{}", self.user.0, self.user.1)
    }

    /// `CURRENT_USER()`
    pub fn current_user(&self) -> String {
        format!("{}@{}", self.account.0, self.account.1)
    }

    /// `CONNECTION_ID()`
    pub fn connection_id(&self) -> u64 {
        self.id
    }

    /// `LAST_INSERT_ID(id)`
    pub fn set_last_insert_id(&mut self, id: u64) {
        self.status.last_insert_id = id;
        self.status.insert_id = id;
    }

    /// `RAND()`
    pub fn random(&mut self) -> f64 {
        unit(&mut self.random)
    }

    /// `RAND(seed)`: a constant seed starts a series in each statement, one for each `call`; another one is a series of one.
    pub fn random_from(&mut self, seed: i64, call: Option<usize>) -> f64 {
        let Some(call) = call else { return SeededRandom::new(seed).draw() };
        if let Some((_, series)) = self.seeded.iter_mut().find(|(known, _)| *known == call) {
            return series.draw();
        }
        let mut series = SeededRandom::new(seed);
        let first = series.draw();
        self.seeded.push((call, series));
        first
    }

    /// Forgets what belongs to one statement only.
    pub fn end_series(&mut self) {
        self.seeded.clear();
    }

    /// Sixteen random bytes.
    pub fn random_bytes(&self) -> [u8; 16] {
        let mut bytes = [0; 16];
        self.database.env().random(&mut bytes);
        bytes
    }

    /// Gives back what GET_LOCK took; how many holds there were.
    pub fn release_named_locks(&mut self) -> u64 {
        if !std::mem::take(&mut self.holds_named_locks) {
            return 0;
        }
        self.database.named_locks().release_all(self.id)
    }

    /// `SLEEP(seconds)`: true if it was interrupted.
    pub fn sleep(&self, seconds: f64) -> bool {
        let duration = Duration::from_secs_f64(seconds.min(1e9));
        !self.interrupt.sleep(duration)
    }

    /// Error 1317 if the connection, not only the statement, was killed.
    pub fn check_connection(&self) -> Result<()> {
        match self.interrupt.killed() {
            Some(Killed::Connection) => Err(error::QUERY_INTERRUPTED.plain()),
            _ => Ok(()),
        }
    }

    /// Error 1317 if somebody killed the statement.
    pub fn check_interrupt(&self) -> Result<()> {
        match self.interrupt.killed() {
            None => Ok(()),
            Some(_) => Err(error::QUERY_INTERRUPTED.plain()),
        }
    }
}

/// The warnings that strict mode makes errors of where data is changed.
fn is_strict(number: u16) -> bool {
    [
        error::WARN_DATA_OUT_OF_RANGE,
        error::TRUNCATED_WRONG_VALUE,
        error::DATETIME_FUNCTION_OVERFLOW,
        error::WRONG_VALUE_FOR_TYPE,
        error::INVALID_ARGUMENT_FOR_LOGARITHM,
    ]
    .iter()
    .any(|e| e.number == number)
}

fn unit(random: &mut stdx::random::Random) -> f64 {
    (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

fn settle(variables: &SessionVariables) -> Settled {
    let charset = |id| Charset::by_name(variables.text(id));
    Settled {
        modes: Modes::from_bits(variables.uint(ids::SQL_MODE)),
        zone: Zone::by_name(variables.text(ids::TIME_ZONE)).unwrap_or(Zone::UTC),
        client: charset(ids::CHARACTER_SET_CLIENT).unwrap_or(Charset::Utf8mb4),
        connection: Collation::by_name(variables.text(ids::COLLATION_CONNECTION))
            .unwrap_or(Collation::UTF8MB4_0900_AI_CI),
        results: charset(ids::CHARACTER_SET_RESULTS),
        max_allowed_packet: usize::try_from(variables.uint(ids::MAX_ALLOWED_PACKET)).unwrap_or(usize::MAX),
    }
}
