//! SET: variables of the server, of the session, of the user, and of the next transaction.
//!
//! 1. check    Every item is evaluated and converted, without changing anything but a copy of the session's variables.
//!    The first that fails fails the statement.
//! 2. apply    Then all take effect: the server's first, whose hooks are the last that can refuse, then the session's,
//!    then the user's.
//!
//! (A1) Values are those before the statement: `SET @a = 1, @b = @a` gives `@b` the old `@a`.

use binlog::gtid::{Gtid, GtidSet};

use super::binary_log;
use crate::ast::{self, ExprKind, Isolation, SetItem, VariableName, VariableScope};
use crate::error::{self, Result, SqlError};
use crate::expression::{Node, Resolver, Row};
use crate::privilege::Privileges;
use crate::routine;
use crate::session::{Context, gtid_next};
use crate::types::{Charset, Collation, DataType, Type};
use crate::value::Datum;
use crate::variables::{self, Assigned, SessionVariables, VariableId, Warning, ids, sql_mode};

/// A checked item that is not of the session's variables.
enum Step {
    Global(VariableId, Assigned),
    Local(usize, DataType, Datum<'static>, Type),
    User(Box<str>, Datum<'static>, Type),
    NextTransaction { isolation: Option<Isolation>, read_only: Option<bool> },
    LastInsertId(u64),
    GtidNext(Option<Gtid>),
    GtidPurged { adds: bool, set: GtidSet },
}

/// What a SET statement will do.
struct Plan<'t> {
    session: SessionVariables,
    steps: Vec<Step>,
    warnings: Vec<Warning>,
    /// The session's variables that are assigned.
    assigned: Vec<VariableId>,
    /// The statement's text, for a transaction that a stored function opens.
    text: &'t [u8],
    in_statement: bool,
}

/// Does all items, or none. `text` is the statement's.
pub fn set(cx: &mut Context, items: &[SetItem], text: &[u8]) -> Result<()> {
    let session = cx.variables().clone();
    let (steps, warnings, assigned) = (Vec::new(), Vec::new(), Vec::new());
    let mut plan = Plan { session, steps, warnings, assigned, text, in_statement: false };
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
                self.steps.push(Step::User(name.as_str().into(), value, ty));
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
        if calls && !self.in_statement && cx.frames.is_empty() {
            cx.begin_statement(self.text);
            self.in_statement = true;
        }
        Ok((expr.eval(cx, Row::None)?.into_owned(), expr.ty))
    }

    /// The right side of an assignment. A bare word that names nothing stands for itself: ON, utf8mb4.
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
        self.steps.push(Step::Local(place, of, value, ty));
        Ok(())
    }

    fn variable(
        &mut self,
        cx: &mut Context,
        scope: Option<VariableScope>,
        id: VariableId,
        assigned: Assigned,
    ) -> Result<()> {
        match scope {
            Some(VariableScope::Global) => self.global(cx, id, assigned),
            Some(VariableScope::Persist | VariableScope::PersistOnly) => {
                Err(SqlError::unsupported("SET PERSIST"))
            }
            Some(VariableScope::Session) | None => self.session(cx, id, assigned),
        }
    }

    fn session(&mut self, cx: &mut Context, id: VariableId, assigned: Assigned) -> Result<()> {
        if id.variable().needs_admin() {
            let shown = "SUPER, SYSTEM_VARIABLES_ADMIN or SESSION_VARIABLES_ADMIN";
            let any = cx.need_any(Privileges::SUPER, "SYSTEM_VARIABLES_ADMIN", shown);
            any.or_else(|_| cx.need_any(Privileges::NONE, "SESSION_VARIABLES_ADMIN", shown))?;
        }
        if id == ids::GTID_NEXT {
            return self.gtid_next(cx, &assigned);
        }
        if id == ids::SQL_LOG_BIN && cx.transaction.is_some() {
            return Err(error::INSIDE_TRANSACTION_PREVENTS_SWITCH_SQL_LOG_BIN.plain());
        }
        if id == ids::AUTOCOMMIT && !cx.frames.is_empty() {
            return Err(error::SP_CANT_SET_AUTOCOMMIT.plain());
        }
        if id == ids::SESSION_TRACK_GTIDS && cx.in_transaction() {
            return Err(error::VARIABLE_NOT_SETTABLE_IN_TRANSACTION.with(&[&id.variable().name()]));
        }
        let warning = self.session.set(cx.database.globals(), id, &assigned)?;
        self.warnings.extend(warning);
        self.assigned.push(id);
        if id == ids::LAST_INSERT_ID || id == ids::IDENTITY {
            self.steps.push(Step::LastInsertId(self.session.uint(id)));
        }
        Ok(())
    }

    fn global(&mut self, cx: &mut Context, id: VariableId, assigned: Assigned) -> Result<()> {
        cx.need_any(Privileges::SUPER, "SYSTEM_VARIABLES_ADMIN", "SUPER or SYSTEM_VARIABLES_ADMIN")?;
        if id == ids::GTID_PURGED {
            return self.gtid_purged(cx, &assigned);
        }
        cx.database.globals().check(id, &assigned, is_strict(cx))?;
        self.steps.push(Step::Global(id, assigned));
        Ok(())
    }

    fn gtid_next(&mut self, cx: &mut Context, assigned: &Assigned) -> Result<()> {
        let shown = "SUPER, SYSTEM_VARIABLES_ADMIN, SESSION_VARIABLES_ADMIN or REPLICATION_APPLIER";
        let names = ["SYSTEM_VARIABLES_ADMIN", "SESSION_VARIABLES_ADMIN", "REPLICATION_APPLIER"];
        if !names.iter().any(|name| cx.need_any(Privileges::SUPER, name, shown).is_ok()) {
            return Err(error::SPECIFIC_ACCESS_DENIED_ERROR.with(&[&shown]));
        }
        cx.check_gtid_next_settable()?;
        let gtid = match assigned {
            Assigned::Default => None,
            Assigned::Text(text) => gtid_next::parse(text)?,
            other => return Err(wrong_value("gtid_next", other)),
        };
        self.assigned.push(ids::GTID_NEXT);
        self.steps.push(Step::GtidNext(gtid));
        Ok(())
    }

    fn gtid_purged(&mut self, cx: &mut Context, assigned: &Assigned) -> Result<()> {
        if cx.transaction.is_some() {
            return Err(error::VARIABLE_NOT_SETTABLE_IN_TRANSACTION.with(&[&"gtid_purged"]));
        }
        let Assigned::Text(text) = assigned else { return Err(wrong_value("gtid_purged", assigned)) };
        let parsed = binary_log::parse_purged(text);
        let (adds, set) = parsed.ok_or_else(|| wrong_value("gtid_purged", assigned))?;
        self.steps.push(Step::GtidPurged { adds, set });
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
            if cx.in_transaction() {
                return Err(error::CANT_CHANGE_TX_CHARACTERISTICS.plain());
            }
            self.steps.push(Step::NextTransaction { isolation, read_only });
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
        if self.session.bool(ids::AUTOCOMMIT) && !cx.autocommit() {
            cx.commit()?;
        }
        let strict = is_strict(cx);
        let mut warnings = self.warnings;
        for step in &self.steps {
            match step {
                Step::Global(id, assigned) => {
                    warnings.extend(cx.database.globals().set(*id, assigned, strict)?);
                }
                Step::GtidPurged { adds, set } => binary_log::set_purged(cx, *adds, set)?,
                Step::GtidNext(gtid) => cx.set_gtid_next(*gtid)?,
                _ => {}
            }
        }
        let session = self.session;
        cx.change_variables(|variables| *variables = session);
        self.assigned.iter().for_each(|&id| cx.tracker.variable(id));
        for step in self.steps {
            match step {
                Step::Global(..) | Step::GtidPurged { .. } | Step::GtidNext(_) => {}
                Step::User(name, value, ty) => cx.set_user_variable(&name, value, ty),
                Step::Local(place, of, value, ty) => {
                    routine::assign(cx, place, &of, value, ty.collation.charset())?;
                }
                Step::LastInsertId(id) => cx.status.last_insert_id = id,
                Step::NextTransaction { isolation, read_only } => {
                    cx.next_transaction.isolation = isolation.or(cx.next_transaction.isolation);
                    cx.next_transaction.read_only = read_only.or(cx.next_transaction.read_only);
                    cx.tracker.transactions.one_shot_set();
                }
            }
        }
        if self.assigned.contains(&ids::SQL_LOG_BIN) && !cx.variables().bool(ids::SQL_LOG_BIN) {
            cx.diagnostics.note(SqlError {
                message: "The log is the database: changes of this session are logged all the same"
                    .to_owned(),
                ..error::NOT_SUPPORTED_YET.plain()
            });
        }
        for warning in warnings {
            let Warning { number, message } = warning;
            cx.warn(SqlError { number, message, ..error::TRUNCATED_WRONG_VALUE.plain() });
        }
        Ok(())
    }
}

fn wrong_value(name: &str, assigned: &Assigned) -> SqlError {
    error::WRONG_VALUE_FOR_VAR.with(&[&name, &assigned.as_text()])
}

fn is_strict(cx: &Context) -> bool {
    cx.variables().uint(ids::SQL_MODE) & sql_mode::STRICT_ALL_TABLES != 0
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
