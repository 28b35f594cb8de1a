//! What the log has of a session besides the rows it changes: its statements, with the settings
//! that they depend on.
//!
//! A replica's applier keeps the settings of one statement until the next one changes them. So a
//! DDL statement carries all that its meaning depends on, the usual values too; `BEGIN`, whose rows
//! mean the same everywhere, carries less.

use std::sync::Arc;

use binlog::event::{Account, EncodedQuery, QueryEvent, StatusVars, UpdatedDatabases, flags2, rows_flags};
use binlog::group::{GroupContext, OriginalCommit};
use storage::transaction::RowImages;

use super::Context;
use super::variables::put_charsets;
use crate::catalog::ddl::{LoggedText, TextForm};
use crate::catalog::set_aside::ObjectKind;
use crate::catalog::settings_of;
use crate::catalog::{Change, UserAtHost};
use crate::locale;
use crate::variables::{ORIGIN_UNKNOWN, SessionVariables, VERSION_UNKNOWN, Value, ids, sql_mode};
use datum::types::Collation;
use syntax::parser::VERSION;
use syntax::versioned::{self, Executed};

/// `binlog_row_metadata` by its list of words.
const FULL_METADATA: u64 = 1;

impl Context {
    /// What the events of a transaction that begins now have in common.
    pub(crate) fn group_context(&self) -> GroupContext {
        let globals = self.instance.globals();
        let mut context =
            GroupContext::new(globals.uint(ids::SERVER_ID) as u32, self.statement.timestamp(), VERSION);
        context.row_event_max_size = globals.uint(ids::BINLOG_ROW_EVENT_MAX_SIZE) as usize;
        context.compress = self.settings.variables().bool(ids::BINLOG_TRANSACTION_COMPRESSION);
        context.rows_flags = self.settings.decoded().rows_flags;
        context.original = self.original_commit();
        if let Some(origin) = &self.log.origin {
            context.server_id = origin.server_id;
            context.original = origin.commit;
        }
        context.full_metadata = globals.uint(ids::BINLOG_ROW_METADATA) == FULL_METADATA;
        context
    }

    /// What SET says of the next transaction: that it was committed elsewhere before.
    fn original_commit(&self) -> Option<OriginalCommit> {
        let timestamp = self.settings.variables().uint(ids::ORIGINAL_COMMIT_TIMESTAMP);
        if timestamp == ORIGIN_UNKNOWN {
            return None;
        }
        let server_version = match self.settings.variables().uint(ids::ORIGINAL_SERVER_VERSION) {
            VERSION_UNKNOWN => VERSION,
            version => version as u32,
        };
        Some(OriginalCommit { timestamp, server_version })
    }

    /// The transaction for which it was said is in the log.
    pub(crate) fn forget_original_commit(&mut self) {
        if self.settings.variables().uint(ids::ORIGINAL_COMMIT_TIMESTAMP) != ORIGIN_UNKNOWN {
            self.change_variables(|v| {
                v.put(ids::ORIGINAL_COMMIT_TIMESTAMP, Value::UInt(ORIGIN_UNKNOWN));
                v.put(ids::ORIGINAL_SERVER_VERSION, Value::UInt(VERSION_UNKNOWN));
            });
        }
    }

    /// `pseudo_thread_id`: the connection's number, or what was set.
    pub(crate) fn logged_thread_id(&self) -> u64 {
        match self.settings.variables().uint(ids::PSEUDO_THREAD_ID) {
            0 => self.connection.id,
            set => set,
        }
    }

    pub(super) fn begin_event(&mut self) -> Arc<EncodedQuery> {
        if let Some(event) = &self.log.begin_event {
            return event.clone();
        }
        let event = Arc::new(EncodedQuery::from(&self.bracket_event(b"BEGIN".to_vec())));
        self.log.begin_event = Some(event.clone());
        event
    }

    /// A statement that says where a transaction begins or ends.
    pub(super) fn bracket_event(&self, sql: Vec<u8>) -> QueryEvent<'static> {
        QueryEvent { suppress_use: true, ..self.query_event(sql) }
    }

    /// A DDL statement as the log has it, which makes these changes.
    pub(crate) fn ddl_event(&self, text: LoggedText, changes: &[Change]) -> QueryEvent<'static> {
        use Change as C;
        let sql_mode = self.settings.variables().uint(ids::SQL_MODE);
        let same_everywhere = |executed| versioned::same_everywhere(&text.sql, sql_mode, executed);
        let sql = match text.form {
            TextForm::Session => same_everywhere(Executed::Blanked),
            TextForm::Program => same_everywhere(Executed::Kept),
            TextForm::Canonical | TextForm::CanonicalQuery => None,
        };
        let sql = sql.unwrap_or(text.sql);
        let mut event = self.query_event(sql);
        let status = &mut event.status;
        let utf8 = Collation::UTF8MB4_0900_AI_CI.0;
        if matches!(text.form, TextForm::Canonical | TextForm::CanonicalQuery) {
            status.sql_mode = status.sql_mode.map(|mode| mode & !sql_mode::SYNTAX);
        }
        status.charset = status.charset.map(|[client, connection, server]| match text.form {
            TextForm::Session | TextForm::Program => [client, connection, server],
            TextForm::Canonical => [utf8, utf8, server],
            TextForm::CanonicalQuery => [utf8, connection, server],
        });
        status.time_zone = Some(self.settings.zone().name().into_bytes().into());
        status.updated_databases = Some(updated(changes));
        for change in changes {
            match change {
                C::PutTable(..) | C::AlterTable(..) => {
                    // A new trigger keeps its moment in hundredths of seconds.
                    if let C::AlterTable(old, new, _) = change
                        && old.triggers != new.triggers
                    {
                        let micros = self.statement.moment().rem_euclid(1_000_000) as u32;
                        status.microseconds = (micros > 0).then_some(micros);
                    }
                    let explicit = self.settings.variables().bool(ids::EXPLICIT_DEFAULTS_FOR_TIMESTAMP);
                    status.explicit_defaults_for_timestamp = Some(explicit);
                    let required = self.settings.variables().bool(ids::SQL_REQUIRE_PRIMARY_KEY);
                    status.sql_require_primary_key = Some(required.into());
                }
                C::PutDatabase(..) => status.default_table_encryption = Some(0),
                C::PutRoutine(_) | C::DropRoutine(..) | C::PutUser(_) | C::DropUser(..) => {
                    let UserAtHost { user, host } = self.effective_account();
                    status.invoker = Some(Account {
                        user: user.as_bytes().to_vec().into(),
                        host: host.as_bytes().to_vec().into(),
                    });
                }
                C::PutEvent(_) | C::DropEvent(..) => {
                    let UserAtHost { user, host } = &self.connection.account;
                    status.invoker = Some(Account {
                        user: user.as_bytes().to_vec().into(),
                        host: host.as_bytes().to_vec().into(),
                    });
                }
                C::PutView(_) | C::DropView(_) => {}
                C::DropTable(_) | C::DropDatabase(_) | C::PutAside(_) | C::DropSetAside(_) => {}
            }
        }
        // Whoever filters by database goes by the one that the statement is about, which need not
        // exist yet.
        if let Some(C::PutDatabase(name, _) | C::DropDatabase(name)) = changes.last() {
            event.database = name.as_bytes().to_vec().into();
            event.suppress_use = true;
        }
        event
    }

    /// The other way: a DDL statement of the log is about to be done in this session, which gets
    /// the settings that [`Self::ddl_event`] says, and usual ones for what it does not say.
    /// `timestamp` is the event's.
    pub(crate) fn take_over(&mut self, query: &QueryEvent<'_>, timestamp: u32) {
        let settings = settings_of(query, timestamp);
        self.statement.diagnostics.clear();
        put_charsets(self, settings.client, settings.connection);
        let (increment, offset) = query.status.auto_increment.unwrap_or((1, 1));
        let is_known = |number: &u16| usize::from(*number) < locale::NAMES.len();
        let locale = query.status.lc_time_names.filter(is_known).unwrap_or(0);
        self.change_variables(|v| {
            v.put(ids::SQL_MODE, Value::UInt(settings.sql_mode));
            v.put(ids::COLLATION_SERVER, Value::Text(settings.server.name().into()));
            v.put(ids::TIME_ZONE, Value::Text(settings.zone.name().into()));
            v.put(ids::AUTO_INCREMENT_INCREMENT, Value::UInt(increment.into()));
            v.put(ids::AUTO_INCREMENT_OFFSET, Value::UInt(offset.into()));
            v.put(ids::LC_TIME_NAMES, Value::UInt(locale.into()));
            v.put(ids::PSEUDO_THREAD_ID, Value::UInt(query.thread_id.into()));
            v.put(ids::SQL_GENERATE_INVISIBLE_PRIMARY_KEY, Value::Bool(settings.generates_key));
            v.put(ids::SQL_REQUIRE_PRIMARY_KEY, Value::Bool(query.status.sql_require_primary_key == Some(1)));
            v.put(ids::EXPLICIT_DEFAULTS_FOR_TIMESTAMP, Value::Bool(settings.explicit_timestamps));
        });
        self.begin_moment_at(settings.moment);
        self.set_default_database(settings.database);
        // LOAD DATA's files are in it.
        if let Some(collation) = query.status.charset_database.and_then(Collation::by_id) {
            let name = collation.charset().name();
            self.change_variables(|v| v.put(ids::CHARACTER_SET_DATABASE, Value::Text(name.into())));
        }
        self.connection.account = settings.account;
    }

    /// A statement with the settings that any depends on.
    fn query_event(&self, sql: Vec<u8>) -> QueryEvent<'static> {
        let variables = self.settings.variables();
        let number = |id| Collation::by_name(variables.text(id)).map_or(255, |c| c.0);
        let increments = (
            variables.uint(ids::AUTO_INCREMENT_INCREMENT) as u16,
            variables.uint(ids::AUTO_INCREMENT_OFFSET) as u16,
        );
        let off = |id, flag| if variables.bool(id) { 0 } else { flag };
        let locale = variables.uint(ids::LC_TIME_NAMES) as u16;
        let unchecked = off(ids::FOREIGN_KEY_CHECKS, flags2::NO_FOREIGN_KEY_CHECKS)
            | off(ids::UNIQUE_CHECKS, flags2::RELAXED_UNIQUE_CHECKS);
        let status = StatusVars {
            flags2: Some(unchecked),
            sql_mode: Some(variables.uint(ids::SQL_MODE)),
            catalog: Some(b"std".as_slice().into()),
            auto_increment: (increments != (1, 1)).then_some(increments),
            charset: Some([
                self.settings.statement_charset().default_collation().0,
                self.settings.connection_collation().0,
                number(ids::COLLATION_SERVER),
            ]),
            lc_time_names: (locale != 0).then_some(locale),
            default_collation_for_utf8mb4: Some(Collation::UTF8MB4_0900_AI_CI.0),
            ..StatusVars::default()
        };
        QueryEvent {
            thread_id: self.logged_thread_id() as u32,
            exec_time: 0,
            error_code: 0,
            status,
            database: self.default_database().unwrap_or_default().as_bytes().to_vec().into(),
            sql: sql.into(),
            suppress_use: false,
        }
    }
}

/// What replicas need not check in rows either.
pub(super) fn rows_flags(variables: &SessionVariables) -> u16 {
    let off = |id, flag| if variables.bool(id) { 0 } else { flag };
    off(ids::FOREIGN_KEY_CHECKS, rows_flags::NO_FOREIGN_KEY_CHECKS)
        | off(ids::UNIQUE_CHECKS, rows_flags::RELAXED_UNIQUE_CHECKS)
}

/// `binlog_row_image`, by its list of words.
pub(super) fn row_images(variables: &SessionVariables) -> RowImages {
    match variables.uint(ids::BINLOG_ROW_IMAGE) {
        0 => RowImages::Minimal,
        1 => RowImages::NoBlob,
        _ => RowImages::Full,
    }
}

/// The databases in which something changes; accounts are in `mysql`.
fn updated(changes: &[Change]) -> UpdatedDatabases<'static> {
    use Change as C;
    let mut names: Vec<&str> = Vec::new();
    for change in changes {
        match change {
            C::PutDatabase(name, _) | C::DropDatabase(name) | C::DropRoutine(_, name, _) => names.push(name),
            C::PutTable(table, _) | C::DropTable(table) => names.push(&table.database),
            C::AlterTable(from, to, _) => names.extend([&*from.database, &*to.database]),
            C::PutRoutine(function) => names.push(&function.database),
            C::PutEvent(event) => names.push(&event.database),
            C::DropEvent(name, _) => names.push(name),
            C::PutView(view) | C::DropView(view) => names.push(&view.database),
            C::PutUser(_) | C::DropUser(..) => names.push("mysql"),
            C::PutAside(object) | C::DropSetAside(object) => match object.key.kind {
                ObjectKind::User => names.push("mysql"),
                _ => names.push(&object.key.database),
            },
        }
    }
    names.sort_unstable();
    names.dedup();
    UpdatedDatabases::Names(names.into_iter().map(|name| name.as_bytes().to_vec().into()).collect())
}
