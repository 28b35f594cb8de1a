//! SET: variables of the server, of the session, of the user, and of the next transaction.
//!
//! 1. check    Every item is evaluated and converted, without changing anything but a copy of the
//!    session's variables. The first that fails fails the statement.
//! 2. apply    Then all take effect: the server's first, whose hooks are the last that can refuse,
//!    then the session's, then the user's.
//!
//! (A1) Values are those before the statement: `SET @a = 1, @b = @a` gives `@b` the old `@a`.

use std::sync::Arc;
use std::time::Duration;

use binlog::gtid::{GtidSet, GtidSpecification};

use super::binary_log;
use crate::expression::{Node, Resolver, Row};
use crate::privilege::Privileges;
use crate::replica::Channel;
use crate::routine;
use crate::session::{Context, gtid_next, statement_memory_max};
use crate::variables::{self, Asks, Assigned, SessionVariables, Value, VariableId, Warning, ids, sql_mode};
use datum::error::{self, Result, SqlError};
use datum::types::{Charset, Collation, DataType, Type};
use datum::value::{Datum, store};
use syntax::ast::{self, ExprKind, Isolation, Remark, SetItem, VariableName, VariableScope};

/// A checked item that is not of the session's variables.
enum SetAction {
    Global(VariableId, Assigned),
    Local(usize, DataType, Datum<'static>, Type),
    User(Box<str>, Datum<'static>, Type),
    NextTransaction { isolation: Option<Isolation>, read_only: Option<bool> },
    LastInsertId(u64),
    GtidNext(GtidSpecification),
    GtidPurged { adds: bool, set: GtidSet },
}

/// What a SET statement will do.
struct Plan<'t> {
    session: SessionVariables,
    actions: Vec<SetAction>,
    warnings: Vec<Warning>,
    /// `sql_mode` after each assignment.
    modes: Vec<u64>,
    /// The session's variables that are assigned.
    assigned: Vec<VariableId>,
    /// The statement's text, for a transaction that a stored function opens.
    text: &'t [u8],
    in_statement: bool,
}

/// Does all items, or none. `text` is the statement's.
pub(crate) fn set(cx: &mut Context, items: &[SetItem], text: &[u8]) -> Result<()> {
    let session = cx.settings.variables().clone();
    let (actions, warnings, assigned) = (Vec::new(), Vec::new(), Vec::new());
    let modes = Vec::new();
    let mut plan = Plan { session, actions, warnings, modes, assigned, text, in_statement: false };
    let checked = items.iter().try_for_each(|item| plan.check(cx, item));
    if plan.in_statement {
        cx.end_statement(checked.is_ok());
    }
    checked?;
    plan.apply(cx)
}

impl Plan<'_> {
    fn check(&mut self, cx: &mut Context, item: &SetItem) -> Result<()> {
        match item {
            SetItem::UserVariable { name, value } => {
                let (value, ty) = self.evaluate(cx, value)?;
                self.actions.push(SetAction::User(name.as_str().into(), value, ty));
                Ok(())
            }
            SetItem::Variable { scope, name, value } => {
                if let (None, None, Some((place, ty))) =
                    (scope, &name.component, routine::find_local(cx, &name.name))
                {
                    return self.local(cx, place, ty, value.as_ref());
                }
                let id = find(name)?;
                let assigned = match value {
                    None => Assigned::Default,
                    Some(value) => self.assigned(cx, value)?,
                };
                self.variable(cx, *scope, id, assigned)
            }
            SetItem::Names { charset, collation } => self.names(cx, charset.as_deref(), collation.as_deref()),
            SetItem::CharacterSet(charset) => self.character_set(cx, charset.as_deref()),
            SetItem::Transaction { scope, isolation, read_only } => {
                self.transaction(cx, *scope, *isolation, *read_only)
            }
            SetItem::Password { .. } => Err(SqlError::unsupported("SET PASSWORD among other assignments")),
            SetItem::ResourceGroup(_) => Err(SqlError::unsupported("resource groups")),
        }
    }

    /// Without stored functions nothing is needed of the engine, and no transaction is opened.
    fn evaluate(&mut self, cx: &mut Context, ast: &ast::Expr) -> Result<(Datum<'static>, Type)> {
        let scope = routine::scope(cx);
        let expr = Resolver::new(cx, scope).expr(ast)?;
        let mut calls = false;
        expr.walk(&mut |e| calls |= matches!(e.node, Node::Stored(..)));
        if calls && !self.in_statement && !routine::is_in_function(cx) {
            cx.begin_statement(self.text);
            self.in_statement = true;
        }
        Ok((expr.eval_with_own_digits(cx, Row::None)?.into_owned(), expr.ty))
    }

    /// The right side of an assignment. A bare word that names nothing stands for itself: ON,
    /// utf8mb4.
    fn assigned(&mut self, cx: &mut Context, value: &ast::Expr) -> Result<Assigned> {
        let word = match &value.kind {
            ExprKind::Column(name) if name.table.is_none() => Some(&name.column),
            _ => None,
        };
        match (self.evaluate(cx, value), word) {
            (Err(e), Some(word)) if e.is(error::BAD_FIELD_ERROR) => Ok(Assigned::Text(word.to_string())),
            (evaluated, _) => evaluated.map(|(value, ty)| of_datum(value, &ty)),
        }
    }

    /// A routine's variable; DEFAULT is NULL.
    fn local(
        &mut self,
        cx: &mut Context,
        place: usize,
        of: DataType,
        value: Option<&ast::Expr>,
    ) -> Result<()> {
        let (value, ty) = match value {
            Some(value) => self.evaluate(cx, value)?,
            None => (Datum::Null, Type::NULL),
        };
        self.actions.push(SetAction::Local(place, of, value, ty));
        Ok(())
    }

    fn variable(
        &mut self,
        cx: &mut Context,
        scope: Option<VariableScope>,
        id: VariableId,
        assigned: Assigned,
    ) -> Result<()> {
        if let Assigned::Text(text) = &assigned {
            self.warnings.extend(of_utf8mb3(id, text));
        }
        match scope {
            Some(VariableScope::Global) => self.global(cx, id, assigned),
            Some(VariableScope::Persist | VariableScope::PersistOnly) => {
                Err(SqlError::unsupported("SET PERSIST"))
            }
            Some(VariableScope::Session) | None => self.session(cx, id, assigned),
        }
    }

    fn session(&mut self, cx: &mut Context, id: VariableId, assigned: Assigned) -> Result<()> {
        match id {
            ids::GTID_NEXT => may_set_gtid_next(cx, &assigned)?,
            _ => may_set(cx, id.variable().asks())?,
        }
        if routine::is_in_function(cx) {
            check_in_function(id)?;
        }
        if id == ids::GTID_NEXT {
            return self.gtid_next(cx, &assigned);
        }
        if id == ids::SQL_LOG_BIN && cx.transactions.open.is_some() {
            return Err(error::INSIDE_TRANSACTION_PREVENTS_SWITCH_SQL_LOG_BIN.plain());
        }
        if id == ids::SESSION_TRACK_GTIDS && cx.transactions.is_explicit() {
            return Err(error::VARIABLE_NOT_SETTABLE_IN_TRANSACTION.with(&[&id.variable().name()]));
        }
        let warning = self.session.set(cx.instance.globals(), id, &assigned)?;
        if id == ids::DURAMEN_STATEMENT_MEMORY_MAX {
            // The server's limit is there for all: no account sets itself above it.
            let server = statement_memory_max(cx.instance.globals().uint(id));
            if statement_memory_max(self.session.uint(id)) > server {
                may_set(cx, Asks::Admin)?;
            }
        }
        self.warnings.extend(warning);
        if id == ids::SQL_MODE {
            self.modes.push(self.session.uint(id));
        }
        self.assigned.push(id);
        if id == ids::LAST_INSERT_ID || id == ids::IDENTITY {
            self.actions.push(SetAction::LastInsertId(self.session.uint(id)));
        }
        Ok(())
    }

    fn global(&mut self, cx: &mut Context, id: VariableId, assigned: Assigned) -> Result<()> {
        may_set_global(cx, id)?;
        if id == ids::GTID_PURGED {
            return self.gtid_purged(cx, &assigned);
        }
        let value = cx.instance.globals().check(id, &assigned, is_strict(cx))?;
        if id == ids::READ_ONLY || sets_read_only(cx, id, &value) {
            cx.check_may_set_read_only()?;
        }
        self.actions.push(SetAction::Global(id, assigned));
        Ok(())
    }

    fn gtid_next(&mut self, cx: &mut Context, assigned: &Assigned) -> Result<()> {
        cx.check_gtid_next_settable()?;
        let gtid = match assigned {
            Assigned::Default => GtidSpecification::default(),
            Assigned::Text(text) => gtid_next::parse(text)?,
            other => return Err(wrong_value("gtid_next", other)),
        };
        self.assigned.push(ids::GTID_NEXT);
        self.actions.push(SetAction::GtidNext(gtid));
        Ok(())
    }

    fn gtid_purged(&mut self, cx: &mut Context, assigned: &Assigned) -> Result<()> {
        if cx.transactions.open.is_some() {
            return Err(error::VARIABLE_NOT_SETTABLE_IN_TRANSACTION.with(&[&"gtid_purged"]));
        }
        let Assigned::Text(text) = assigned else { return Err(wrong_value("gtid_purged", assigned)) };
        let parsed = binary_log::parse_purged(text);
        let (adds, set) = parsed.ok_or_else(|| wrong_value("gtid_purged", assigned))?;
        if set.intervals().any(|(source, _)| !source.tag.is_none()) {
            cx.need_any(Privileges::NONE, GTID_TAG, "TRANSACTION_GTID_TAG and SYSTEM_VARIABLES_ADMIN")?;
        }
        self.actions.push(SetAction::GtidPurged { adds, set });
        Ok(())
    }

    /// The client's, the results' and the connection's character set in one.
    fn names(&mut self, cx: &mut Context, charset: Option<&str>, collation: Option<&str>) -> Result<()> {
        let assigned = charset.map_or(Assigned::Default, |name| Assigned::Text(name.to_owned()));
        let all = [ids::CHARACTER_SET_CLIENT, ids::CHARACTER_SET_RESULTS, ids::CHARACTER_SET_CONNECTION];
        for id in all {
            self.session(cx, id, assigned.clone())?;
        }
        match (charset, collation) {
            (_, None) => Ok(()),
            (charset, Some(name)) => {
                let found =
                    Collation::by_name(name).ok_or_else(|| error::UNKNOWN_COLLATION.with(&[&name]))?;
                let charset = charset.and_then(Charset::by_name);
                if let Some(charset) = charset.filter(|c| *c != found.charset()) {
                    return Err(error::COLLATION_CHARSET_MISMATCH.with(&[&name, &charset.name()]));
                }
                self.session(cx, ids::COLLATION_CONNECTION, Assigned::Text(name.to_owned()))
            }
        }
    }

    /// The client's and the results' character set; the connection gets the default database's.
    fn character_set(&mut self, cx: &mut Context, charset: Option<&str>) -> Result<()> {
        let assigned = charset.map_or(Assigned::Default, |name| Assigned::Text(name.to_owned()));
        self.session(cx, ids::CHARACTER_SET_CLIENT, assigned.clone())?;
        self.session(cx, ids::CHARACTER_SET_RESULTS, assigned)?;
        let database = self.session.text(ids::COLLATION_DATABASE).to_owned();
        self.session(cx, ids::COLLATION_CONNECTION, Assigned::Text(database))
    }

    fn transaction(
        &mut self,
        cx: &mut Context,
        scope: Option<VariableScope>,
        isolation: Option<Isolation>,
        read_only: Option<bool>,
    ) -> Result<()> {
        let Some(scope) = scope else {
            if cx.transactions.is_explicit() || routine::is_in_function(cx) {
                return Err(error::CANT_CHANGE_TX_CHARACTERISTICS.plain());
            }
            self.actions.push(SetAction::NextTransaction { isolation, read_only });
            return Ok(());
        };
        if let Some(isolation) = isolation {
            let place = Assigned::Int(isolation as i64);
            self.variable(cx, Some(scope), ids::TRANSACTION_ISOLATION, place)?;
        }
        if let Some(read_only) = read_only {
            self.variable(cx, Some(scope), ids::TRANSACTION_READ_ONLY, Assigned::Int(read_only.into()))?;
        }
        Ok(())
    }

    fn apply(self, cx: &mut Context) -> Result<()> {
        if self.session.bool(ids::AUTOCOMMIT) && !cx.settings.autocommit() {
            cx.commit()?;
        }
        let strict = is_strict(cx);
        let (mut warnings, mut modes) = (self.warnings, self.modes);
        for step in &self.actions {
            match step {
                SetAction::Global(id, assigned) => {
                    let value = cx.instance.globals().check(*id, assigned, strict)?;
                    let _closed = if sets_read_only(cx, *id, &value) { cx.close_commits()? } else { None };
                    warnings.extend(cx.instance.globals().set(*id, assigned, strict)?);
                    if *id == ids::SQL_MODE {
                        modes.push(cx.instance.globals().uint(*id));
                    }
                    if *id == ids::REPLICA_NET_TIMEOUT {
                        warn_of_heartbeats(cx);
                    }
                    if *id == ids::OFFLINE_MODE && value == Value::Bool(true) {
                        cx.end_others_for_offline_mode();
                    }
                }
                SetAction::GtidPurged { adds, set } => binary_log::set_purged(cx, *adds, set)?,
                SetAction::GtidNext(gtid) => cx.set_gtid_next(*gtid)?,
                _ => {}
            }
        }
        let session = self.session;
        cx.change_variables(|variables| *variables = session);
        self.assigned.iter().for_each(|&id| cx.tracker.variable(id));
        if self.assigned.iter().any(|&id| matches!(id, ids::RAND_SEED1 | ids::RAND_SEED2)) {
            cx.seed_random();
        }
        for step in self.actions {
            match step {
                SetAction::Global(..) | SetAction::GtidPurged { .. } | SetAction::GtidNext(_) => {}
                SetAction::User(name, value, ty) => cx.set_user_variable(&name, value, ty),
                SetAction::Local(place, of, value, ty) => {
                    let value = store::of_expression(value, &ty);
                    routine::assign(cx, place, &of, value, ty.collation.charset())?;
                }
                SetAction::LastInsertId(id) => cx.statement.status.last_insert_id = id,
                SetAction::NextTransaction { isolation, read_only } => {
                    cx.transactions.next.isolation = isolation.or(cx.transactions.next.isolation);
                    cx.transactions.next.read_only = read_only.or(cx.transactions.next.read_only);
                    cx.tracker.transactions.one_shot_set();
                }
            }
        }
        if self.assigned.contains(&ids::SQL_LOG_BIN) && !cx.settings.variables().bool(ids::SQL_LOG_BIN) {
            cx.statement.diagnostics.note(SqlError {
                message: "The log is the database: changes of this session are logged all the same"
                    .to_owned(),
                ..error::NOT_SUPPORTED_YET.plain()
            });
        }
        modes.into_iter().for_each(|modes| warn_of_modes(cx, modes));
        for warning in warnings {
            let Warning { number, message } = warning;
            cx.warn(SqlError { number, message, ..error::TRUNCATED_WRONG_VALUE.plain() });
        }
        Ok(())
    }
}

/// Warning 1704 for channels whose sources say less often that they are there than is waited for.
fn warn_of_heartbeats(cx: &mut Context) {
    let timeout = Duration::from_secs(cx.instance.globals().uint(ids::REPLICA_NET_TIMEOUT));
    let channels = cx.instance.channels().all();
    let is_late = |c: &Arc<Channel>| c.with(|state| state.source.heartbeat_period > timeout);
    if channels.iter().any(is_late) {
        cx.warn(error::REPLICA_HEARTBEAT_VALUE_OUT_OF_RANGE_MAX.plain());
    }
}

/// The warning for a variable that gets the name of utf8mb3, or of one of its collations.
fn of_utf8mb3(id: VariableId, text: &str) -> Option<Warning> {
    let text = text.to_ascii_lowercase();
    let names_set = [ids::CHARACTER_SET_CLIENT, ids::CHARACTER_SET_CONNECTION, ids::CHARACTER_SET_RESULTS];
    let remark = match text.as_str() {
        "utf8" if names_set.contains(&id) => Remark::Utf8,
        "utf8mb3" if names_set.contains(&id) => Remark::Instead("utf8mb3", "utf8mb4"),
        name if id == ids::COLLATION_CONNECTION && name.starts_with("utf8mb3_") => {
            Remark::Utf8Collation(name.into())
        }
        _ => return None,
    };
    let SqlError { number, message, .. } = datum::error::remark::warning(&remark);
    Some(Warning { number, message })
}

/// The warning that a `sql_mode` is worth: its strict modes belong together.
fn warn_of_modes(cx: &mut Context, now: u64) {
    let strict = sql_mode::STRICT_TRANS_TABLES | sql_mode::STRICT_ALL_TABLES;
    let dates = sql_mode::NO_ZERO_DATE | sql_mode::NO_ZERO_IN_DATE | sql_mode::ERROR_FOR_DIVISION_BY_ZERO;
    let is_whole = now & strict != 0 && now & dates == dates;
    if now & (strict | dates) != 0 && !is_whole {
        cx.warn(error::SQL_MODE_MERGED.plain());
    }
}

/// Errors for the session's variables that a stored function may not set.
fn check_in_function(id: VariableId) -> Result<()> {
    match id.variable().name() {
        "autocommit" => Err(error::SP_CANT_SET_AUTOCOMMIT.plain()),
        "sql_log_bin" => Err(error::STORED_FUNCTION_PREVENTS_SWITCH_SQL_LOG_BIN.plain()),
        "binlog_format" => Err(error::STORED_FUNCTION_PREVENTS_SWITCH_BINLOG_FORMAT.plain()),
        name @ "gtid_next" => Err(error::VARIABLE_NOT_SETTABLE_IN_SF_OR_TRIGGER.with(&[&name])),
        _ => Ok(()),
    }
}

/// Error 1227 unless the account may change a session's variable that asks for this.
fn may_set(cx: &Context, asks: Asks) -> Result<()> {
    let (any, names, shown): (_, &[&str], _) = match asks {
        Asks::Nothing => return Ok(()),
        Asks::Admin => {
            (Privileges::SUPER, &SESSION_ADMIN, "SUPER, SYSTEM_VARIABLES_ADMIN or SESSION_VARIABLES_ADMIN")
        }
        Asks::AdminButSuper => {
            (Privileges::NONE, &SESSION_ADMIN, "SYSTEM_VARIABLES_ADMIN or SESSION_VARIABLES_ADMIN")
        }
        Asks::AdminOrApplier => (
            Privileges::SUPER,
            &APPLIER_ADMIN,
            "SUPER, SYSTEM_VARIABLES_ADMIN, SESSION_VARIABLES_ADMIN or REPLICATION_APPLIER",
        ),
    };
    match names.iter().any(|name| cx.need_any(any, name, shown).is_ok()) {
        true => Ok(()),
        false => Err(error::SPECIFIC_ACCESS_DENIED_ERROR.with(&[&shown])),
    }
}

/// The same for `gtid_next`: with a tag it asks for more, for which SUPER is not enough (error
/// 6038).
fn may_set_gtid_next(cx: &Context, assigned: &Assigned) -> Result<()> {
    let is_tagged = |text: &String| gtid_next::parse(text).is_ok_and(|next| !next.tag().is_none());
    if !matches!(assigned, Assigned::Text(text) if is_tagged(text)) {
        return may_set(cx, Asks::AdminOrApplier);
    }
    let has = |name: &str| cx.need_any(Privileges::NONE, name, name).is_ok();
    match has(GTID_TAG) && APPLIER_ADMIN.into_iter().any(has) {
        true => Ok(()),
        false => Err(error::SPECIFIC_ACCESS_DENIED.with(&[
            &"the TRANSACTION_GTID_TAG and at least one of the: SYSTEM_VARIABLES_ADMIN, SESSION_VARIABLES_ADMIN \
              or REPLICATION_APPLIER",
        ])),
    }
}

/// The same for the server's value, which always asks for something.
fn may_set_global(cx: &Context, id: VariableId) -> Result<()> {
    let (one, also, shown): (_, Option<&str>, _) = match id.variable().name() {
        "offline_mode" => (
            "SYSTEM_VARIABLES_ADMIN",
            Some("CONNECTION_ADMIN"),
            "SUPER or SYSTEM_VARIABLES_ADMIN and CONNECTION_ADMIN",
        ),
        "binlog_encryption" => ("BINLOG_ENCRYPTION_ADMIN", None, "SUPER or BINLOG_ENCRYPTION_ADMIN"),
        _ => ("SYSTEM_VARIABLES_ADMIN", None, "SUPER or SYSTEM_VARIABLES_ADMIN"),
    };
    let any = match id.variable().asks() {
        Asks::AdminButSuper => Privileges::NONE,
        _ => Privileges::SUPER,
    };
    cx.need_any(any, one, shown)?;
    also.map_or(Ok(()), |also| cx.need_any(any, also, shown))
}

/// True if the assignment makes the server read only, which it is not yet.
fn sets_read_only(cx: &Context, id: VariableId, value: &Value) -> bool {
    [ids::READ_ONLY, ids::SUPER_READ_ONLY].contains(&id)
        && *value == Value::Bool(true)
        && !cx.instance.globals().bool(id)
}

const GTID_TAG: &str = "TRANSACTION_GTID_TAG";
const APPLIER_ADMIN: [&str; 3] = ["SYSTEM_VARIABLES_ADMIN", "SESSION_VARIABLES_ADMIN", "REPLICATION_APPLIER"];
const SESSION_ADMIN: [&str; 2] = ["SYSTEM_VARIABLES_ADMIN", "SESSION_VARIABLES_ADMIN"];

fn wrong_value(name: &str, assigned: &Assigned) -> SqlError {
    error::WRONG_VALUE_FOR_VAR.with(&[&name, &assigned.as_text()])
}

fn is_strict(cx: &Context) -> bool {
    cx.settings.variables().uint(ids::SQL_MODE) & sql_mode::STRICT_ALL_TABLES != 0
}

fn find(name: &VariableName) -> Result<VariableId> {
    let unknown = |shown: &str| error::UNKNOWN_SYSTEM_VARIABLE.with(&[&shown]);
    match &name.component {
        None => variables::find(&name.name).ok_or_else(|| unknown(&name.name)),
        Some(component) => Err(unknown(&format!("{component}.{}", name.name))),
    }
}

fn of_datum(value: Datum<'_>, ty: &Type) -> Assigned {
    match value {
        Datum::Null => Assigned::Null,
        Datum::Int(v) => Assigned::Int(v),
        Datum::UInt(v) => Assigned::UInt(v),
        Datum::Year(v) => Assigned::Int(v.into()),
        Datum::Double(_) | Datum::Float(_) | Datum::Decimal(_) => Assigned::Double(value.to_f64().value),
        _ => {
            let (text, _) = ty.collation.charset().convert(value.to_bytes(), Charset::Utf8mb4);
            Assigned::Text(String::from_utf8_lossy(&text).into_owned())
        }
    }
}
