//! The session's variables, and what expressions and definitions make of them.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use storage::transaction::RowImages;

use super::Context;
use crate::catalog::ddl::Settings;
use crate::locale::{self, Locale};
use crate::session::logged;
use crate::variables::{GlobalVariables, SessionVariables, Value, ids, sql_mode};
use datum::types::{Charset, Coercibility, Collation, Type};
use datum::value::Datum;
use datum::value::store;
use datum::value::temporal::{DateRules, SECOND};
use datum::value::zone::Zone;

/// What the sql_mode means to values and expressions.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Modes {
    /// STRICT_TRANS_TABLES or STRICT_ALL_TABLES.
    pub strict: bool,
    pub(crate) error_for_division_by_zero: bool,
    pub(crate) no_unsigned_subtraction: bool,
    pub(crate) no_backslash_escapes: bool,
    pub(crate) no_auto_value_on_zero: bool,
    pub(crate) only_full_group_by: bool,
    /// TIME_TRUNCATE_FRACTIONAL.
    pub(crate) truncate_fraction: bool,
    /// Which incomplete dates are allowed.
    pub dates: DateRules,
}

impl Modes {
    /// From the bits of `sql_mode`.
    pub(crate) fn from_bits(bits: u64) -> Self {
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

/// Settings that every statement asks for, in the form that it wants: made of the session's
/// variables, which lie far apart.
#[derive(Debug, Clone, Copy)]
pub(in crate::session) struct DecodedSettings {
    pub(super) modes: Modes,
    pub(super) zone: Zone,
    pub(super) client: Charset,
    pub(super) connection: Collation,
    pub(super) results: Option<Charset>,
    pub(super) max_allowed_packet: usize,
    pub(in crate::session) statement_memory_max: usize,
    pub(in crate::session) autocommit: bool,
    pub(in crate::session) lock_wait_timeout: Duration,
    pub(in crate::session) max_execution_time: Duration,
    pub(in crate::session) row_images: RowImages,
    pub(in crate::session) rows_flags: u16,
    pub(in crate::session) logs_texts: bool,
    pub(super) safe_updates: bool,
    pub(super) completion: u64,
    /// `timestamp`, if it is set: microseconds.
    pub(super) fixed_moment: Option<i64>,
}

/// The session's settings: what SET changes, and USE. They hold until they are changed again;
/// COM_RESET_CONNECTION gives the variables their global values, and forgets the user variables.
pub(crate) struct SettingsState {
    /// Changed by [`Context::change_variables`] only, since others are made of them.
    variables: SessionVariables,
    decoded: DecodedSettings,
    /// The number that the settings have now.
    version: u64,
    /// The last number that settings got.
    last_version: u64,
    pub(super) default_database: Option<String>,
    pub(super) user_variables: Arc<UserVariables>,
}

/// The variables of a session, which others may see in
/// `performance_schema.user_variables_by_thread`. The latch is held for one of them, or for a copy.
pub(crate) type UserVariables = Mutex<HashMap<Box<str>, (Datum<'static>, Type)>>;

impl SettingsState {
    pub(super) fn new(globals: &GlobalVariables) -> Self {
        let variables = SessionVariables::new(globals);
        Self {
            decoded: decode(&variables),
            variables,
            version: 0,
            last_version: 0,
            default_database: None,
            user_variables: Arc::default(),
        }
    }

    fn change<T>(&mut self, change: impl FnOnce(&mut SessionVariables) -> T) -> T {
        let result = change(&mut self.variables);
        self.decoded = decode(&self.variables);
        self.last_version += 1;
        self.version = self.last_version;
        result
    }

    /// For what each statement asks, in the form that it wants.
    pub(in crate::session) fn decoded(&self) -> &DecodedSettings {
        &self.decoded
    }

    /// The session's variables.
    pub(crate) fn variables(&self) -> &SessionVariables {
        &self.variables
    }

    /// Changes with every change of a setting that plans may depend on.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// Says that all settings are again as they were when they had this number.
    pub(crate) fn are_again(&mut self, version: u64) {
        self.version = version;
    }

    /// What the sql_mode means.
    pub(crate) fn modes(&self) -> &Modes {
        &self.decoded.modes
    }

    /// The session's time zone.
    pub(crate) fn zone(&self) -> Zone {
        self.decoded.zone
    }

    pub(crate) fn connection_collation(&self) -> Collation {
        self.decoded.connection
    }

    /// Puts other settings of texts in the place of `collation_connection` and
    /// `character_set_client`, for a view that is bound, and returns these. Nothing is planned for
    /// them that would have to be planned again: a view has always its own.
    pub(crate) fn swap_texts(&mut self, (connection, client): (Collation, Charset)) -> (Collation, Charset) {
        let decoded = &mut self.decoded;
        (
            std::mem::replace(&mut decoded.connection, connection),
            std::mem::replace(&mut decoded.client, client),
        )
    }

    /// `character_set_client`
    pub(crate) fn client_charset(&self) -> Charset {
        self.decoded.client
    }

    /// The character set of the statement's text, behind the door (see
    /// [`crate::client_text`]).
    pub(crate) fn statement_charset(&self) -> Charset {
        self.decoded.client.of_statements()
    }

    /// `character_set_results`; `None` if results are sent as they are.
    pub(crate) fn results_charset(&self) -> Option<Charset> {
        self.decoded.results
    }

    /// What is reported to clients of texts in `character_set_results`: the connection's collation
    /// if it is one of that set.
    pub(crate) fn results_collation(&self) -> Option<Collation> {
        let results = self.results_charset()?;
        let connection = self.connection_collation();
        Some(if connection.charset() == results { connection } else { results.default_collation() })
    }

    /// `sql_safe_updates`
    pub(crate) fn safe_updates(&self) -> bool {
        self.decoded.safe_updates
    }

    /// Rows' foreign keys are checked, and act.
    pub(crate) fn foreign_key_checks(&self) -> bool {
        self.decoded.rows_flags & binlog::event::rows_flags::NO_FOREIGN_KEY_CHECKS == 0
    }

    /// `completion_type`, by its list of words.
    pub(crate) fn completion_type(&self) -> u64 {
        self.decoded.completion
    }

    pub(crate) fn max_allowed_packet(&self) -> usize {
        self.decoded.max_allowed_packet
    }

    pub(crate) fn default_week_format(&self) -> u8 {
        self.variables.uint(ids::DEFAULT_WEEK_FORMAT) as u8
    }

    /// `group_concat_max_len`, in bytes; a packet bounds it.
    pub(crate) fn group_concat_max_len(&self) -> usize {
        let max = usize::try_from(self.variables.uint(ids::GROUP_CONCAT_MAX_LEN)).unwrap_or(usize::MAX);
        max.min(self.max_allowed_packet())
    }

    pub(crate) fn div_precision_increment(&self) -> u8 {
        self.variables.uint(ids::DIV_PRECISION_INCREMENT) as u8
    }

    /// `lc_time_names`
    pub(crate) fn locale(&self) -> &'static Locale {
        locale::at(self.variables.uint(ids::LC_TIME_NAMES) as usize)
    }

    pub(crate) fn autocommit(&self) -> bool {
        self.decoded.autocommit
    }

    /// `innodb_lock_wait_timeout`
    pub(in crate::session) fn lock_wait_timeout(&self) -> Duration {
        self.decoded.lock_wait_timeout
    }

    /// `lock_wait_timeout`
    pub(in crate::session) fn metadata_timeout(&self) -> Duration {
        Duration::from_secs(self.variables.uint(ids::LOCK_WAIT_TIMEOUT))
    }

    /// `@name`
    pub(crate) fn user_variable<'a>(&self, name: &str) -> Datum<'a> {
        let variables = self.user_variables.lock();
        let found = variables.get(name).or_else(|| variables.get(name.to_ascii_lowercase().as_str()));
        found.map_or(Datum::Null, |(value, _)| value.clone())
    }

    /// The type of `@name`.
    pub(crate) fn user_variable_type(&self, name: &str) -> Type {
        let unset = Type { coercibility: Coercibility::Implicit, ..Type::NULL };
        self.user_variables.lock().get(name.to_ascii_lowercase().as_str()).map_or(unset, |(_, ty)| *ty)
    }

    /// The variables, for others to see.
    pub(crate) fn shared_user_variables(&self) -> &Arc<UserVariables> {
        &self.user_variables
    }

    /// Forgets all user variables.
    pub(crate) fn clear_user_variables(&mut self) {
        self.user_variables.lock().clear();
    }
}

impl Context {
    /// Changes the session's variables.
    pub(crate) fn change_variables<T>(&mut self, change: impl FnOnce(&mut SessionVariables) -> T) -> T {
        let result = self.settings.change(change);
        self.tracker.configure(&self.settings.variables);
        let kept_max = self.settings.variables.uint(ids::MAX_ERROR_COUNT);
        self.statement.diagnostics.configure(kept_max as usize, self.settings.variables.bool(ids::SQL_NOTES));
        self.log.begin_event = None;
        result
    }

    /// CLIENT_SESSION_TRACK: the client is notified of what changes in the session.
    pub(in crate::session) fn switch_tracking(&mut self, on: bool) {
        self.tracker.switch(on);
        self.tracker.configure(&self.settings.variables);
    }

    /// What storing a value depends on.
    pub(crate) fn store_rules(&self, ignore: bool) -> store::Rules {
        store::Rules {
            strict: self.settings.decoded.modes.strict && !ignore,
            dates: self.settings.decoded.modes.dates,
            zone: self.settings.decoded.zone,
            moment: self.statement.moment,
            truncate_fraction: self.settings.decoded.modes.truncate_fraction,
        }
    }

    /// What DDL depends on.
    pub(crate) fn ddl_settings(&self) -> Settings {
        let server = Collation::by_name(self.settings.variables.text(ids::COLLATION_SERVER));
        Settings {
            database: self.default_database().map(str::to_owned),
            sql_mode: self.settings.variables.uint(ids::SQL_MODE),
            client: self.settings.statement_charset(),
            connection: self.settings.decoded.connection,
            server: server.unwrap_or(Collation::UTF8MB4_0900_AI_CI),
            zone: self.settings.decoded.zone,
            moment: self.statement.moment,
            account: self.effective_account().clone(),
            generates_key: self.settings.variables.bool(ids::SQL_GENERATE_INVISIBLE_PRIMARY_KEY),
            requires_key: self.settings.variables.bool(ids::SQL_REQUIRE_PRIMARY_KEY),
            explicit_timestamps: self.settings.variables.bool(ids::EXPLICIT_DEFAULTS_FOR_TIMESTAMP),
            foreign_key_checks: self.settings.variables.bool(ids::FOREIGN_KEY_CHECKS),
            restricts_foreign_keys: self.settings.variables.bool(ids::RESTRICT_FK_ON_NON_STANDARD_KEY),
            disabled_engines: self.instance.globals().text(ids::DISABLED_STORAGE_ENGINES),
            is_replicated: self.is_applier(),
            from_client: true,
            temporary: self.temporary_tables().clone(),
        }
    }
}

/// Made anew whenever a variable of the session changes.
pub(super) fn decode(variables: &SessionVariables) -> DecodedSettings {
    let charset = |id| Charset::by_name(variables.text(id));
    DecodedSettings {
        modes: Modes::from_bits(variables.uint(ids::SQL_MODE)),
        zone: Zone::by_name(variables.text(ids::TIME_ZONE)).unwrap_or(Zone::UTC),
        client: charset(ids::CHARACTER_SET_CLIENT).unwrap_or(Charset::Utf8mb4),
        connection: Collation::by_name(variables.text(ids::COLLATION_CONNECTION))
            .unwrap_or(Collation::UTF8MB4_0900_AI_CI),
        results: charset(ids::CHARACTER_SET_RESULTS),
        max_allowed_packet: usize::try_from(variables.uint(ids::MAX_ALLOWED_PACKET)).unwrap_or(usize::MAX),
        statement_memory_max: statement_memory_max(variables.uint(ids::DURAMEN_STATEMENT_MEMORY_MAX)),
        autocommit: variables.bool(ids::AUTOCOMMIT),
        lock_wait_timeout: Duration::from_secs(variables.uint(ids::INNODB_LOCK_WAIT_TIMEOUT)),
        max_execution_time: Duration::from_millis(variables.uint(ids::MAX_EXECUTION_TIME)),
        row_images: logged::row_images(variables),
        rows_flags: logged::rows_flags(variables),
        logs_texts: variables.bool(ids::BINLOG_ROWS_QUERY_LOG_EVENTS),
        safe_updates: variables.bool(ids::SQL_SAFE_UPDATES),
        completion: variables.uint(ids::COMPLETION_TYPE),
        fixed_moment: match variables.get(ids::TIMESTAMP) {
            Value::Double(seconds) if *seconds > 0.0 => Some((*seconds * SECOND as f64) as i64),
            _ => None,
        },
    }
}

/// `duramen_statement_memory_max`, in bytes: 0 is a quarter of the machine's memory, on small
/// machines up to half of it, so that a plain INSERT of as many rows as a packet can have fits.
pub(crate) fn statement_memory_max(set: u64) -> usize {
    const DEFAULT_WANTED: u64 = 2 << 30;
    /// What the statement takes that sets another value.
    const LEAST: u64 = 1 << 20;
    let machine = env::memory::total();
    let bytes = if set > 0 { set.max(LEAST) } else { (machine / 4).max(DEFAULT_WANTED.min(machine / 2)) };
    usize::try_from(bytes).unwrap_or(usize::MAX)
}
