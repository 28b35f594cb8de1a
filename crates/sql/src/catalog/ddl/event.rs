//! CREATE, ALTER and DROP EVENT.
//!
//! The statement comes with moments and numbers in its schedule: a client's expressions are
//! evaluated by [`crate::executor::create_event`], which a session must do.

use std::sync::{Arc, OnceLock};

use super::{LoggedText, Plan, Settings, TextForm, check_name, check_not_system, table};
use crate::catalog::account::UserAtHost;
use crate::catalog::event::{EventDef, Interval, Schedule, status_clause};
use crate::catalog::objects::CatalogState;
use crate::catalog::record::Change;
use crate::catalog::set_aside::ObjectKey;
use crate::catalog::show::{quote, quote_text_for};
use datum::error::{self, Result, SqlError};
use datum::value::temporal::SECOND;
use datum::value::temporal_text;
use syntax::ast::{
    Account, AlterEvent, CreateEvent, EventSchedule, EventStatus, EventTimes, Expr, ExprKind, Literal,
    ObjectName,
};

/// CREATE EVENT. One whose schedule is over is dropped at once, or disabled.
///
/// # Errors
/// 1537 for a name that is taken; 1542 and 1543 for its schedule; those of its body.
pub(super) fn create(
    create: &CreateEvent,
    text: &[u8],
    state: &CatalogState,
    settings: &Settings,
) -> Result<Plan> {
    let (database, name) = settings.object(&create.name)?;
    check_name(name, error::SP_WRONG_NAME)?;
    if crate::system_schemas::is_reserved(database) && !database.eq_ignore_ascii_case("mysql") {
        let UserAtHost { user, host } = &settings.account;
        return Err(error::DBACCESS_DENIED_ERROR.with(&[user, host, &database]));
    }
    check_not_system(database)?;
    let database_collation = table::existing_database(state, database)?;
    state.check_usable(&ObjectKey::event(database, name))?;
    if let Some(known) = state.event(database, name) {
        let e = error::EVENT_ALREADY_EXISTS.with(&[&known.name]);
        return if create.if_not_exists { Ok(Plan::nothing(e)) } else { Err(e) };
    }
    let preserve = create.options.preserve.unwrap_or(false);
    let mut event = EventDef {
        database: database.to_owned(),
        name: name.to_owned(),
        definer: definer(create.definer.as_ref(), settings),
        schedule: schedule(&create.schedule, settings)?,
        preserve,
        status: create.options.status.unwrap_or(EventStatus::Enabled),
        comment: create.options.comment.as_ref().map_or(String::new(), |c| c.to_str_lossy().into_owned()),
        body: text[create.body.span.range()].to_vec(),
        sql_mode: settings.sql_mode,
        client: settings.client,
        connection: settings.connection,
        database_collation,
        zone: settings.zone.name(),
        created: settings.moment.div_euclid(SECOND),
        altered: settings.moment.div_euclid(SECOND),
        compiled: OnceLock::new(),
    };
    let mut notes = Vec::new();
    if is_past(&event.schedule, settings) {
        if !preserve {
            return Ok(Plan::nothing(error::EVENT_CANNOT_CREATE_IN_THE_PAST.plain()));
        }
        if event.status == EventStatus::Enabled {
            event.status = EventStatus::Disabled;
            notes.push(error::EVENT_EXEC_TIME_IN_THE_PAST.plain());
        }
    }
    check_program(&event, settings)?;
    notes.extend(missing_definer(&event, state));
    let logged = Some(LoggedText { sql: event.logged_text(), form: TextForm::Program });
    Ok(Plan { notes, logged, ..Plan::one(Change::PutEvent(Arc::new(event))) })
}

/// ALTER EVENT. Whoever alters it is its definer from then on, unless another one is said.
///
/// # Errors
/// 1539 for one that is not there; 1537 and 1551 for its new name; 1589 for a schedule that is
/// over.
pub(super) fn alter(
    alter: &AlterEvent,
    text: &[u8],
    state: &CatalogState,
    settings: &Settings,
) -> Result<Plan> {
    let (database, name) = settings.object(&alter.name)?;
    check_not_system(database)?;
    table::existing_database(state, database)?;
    state.check_usable(&ObjectKey::event(database, name))?;
    let old = state.event(database, name);
    let old = old.ok_or_else(|| error::EVENT_DOES_NOT_EXIST.with(&[&name]))?;
    let mut event = old.copy();
    event.definer = definer(alter.definer.as_ref(), settings);
    event.altered = settings.moment.div_euclid(SECOND);
    let mut said = String::new();
    let mut notes = Vec::new();
    if let Some(preserve) = alter.options.preserve {
        event.preserve = preserve;
    }
    if let Some(status) = alter.options.status {
        event.status = status;
    }
    if let Some(times) = &alter.schedule {
        event.schedule = schedule(times, settings)?;
        event.zone = settings.zone.name();
        if is_past(&event.schedule, settings) {
            if !event.preserve {
                return Err(error::EVENT_CANNOT_ALTER_IN_THE_PAST.plain());
            }
            if event.status == EventStatus::Enabled {
                event.status = EventStatus::Disabled;
                notes.push(error::EVENT_EXEC_TIME_IN_THE_PAST.plain());
            }
        }
        said += &format!(" ON SCHEDULE {}", event.schedule.text(settings.zone));
    }
    if event.preserve != old.preserve {
        said += if event.preserve { " ON COMPLETION PRESERVE" } else { " ON COMPLETION NOT PRESERVE" };
    }
    if let Some(to) = &alter.rename {
        let (database, name) = settings.object(to)?;
        check_not_system(database)?;
        event.database_collation = table::existing_database(state, database)?;
        check_name(name, error::SP_WRONG_NAME)?;
        if (database, name) == (&*old.database, &*old.name) {
            return Err(error::EVENT_SAME_NAME.plain());
        }
        state.check_usable(&ObjectKey::event(database, name))?;
        let is_other = |known: &&Arc<EventDef>| !Arc::ptr_eq(known, old);
        if let Some(known) = state.event(database, name).filter(is_other) {
            return Err(error::EVENT_ALREADY_EXISTS.with(&[&known.name]));
        }
        (event.database, event.name) = (database.to_owned(), name.to_owned());
        said += &format!(" RENAME TO {}.{}", quote(database), quote(name));
    }
    said += &format!(" {}", status_clause(event.status));
    if let Some(comment) = &alter.options.comment {
        event.comment = comment.to_str_lossy().into_owned();
        said += &format!(" COMMENT {}", quote_text_for(&event.comment, settings.sql_mode));
    }
    let mut body = Vec::new();
    if let Some(statement) = &alter.body {
        event.body = text[statement.span.range()].to_vec();
        event.sql_mode = settings.sql_mode;
        (event.client, event.connection) = (settings.client, settings.connection);
        body = [b" DO ", &event.body[..]].concat();
    }
    check_program(&event, settings)?;
    notes.extend(missing_definer(&event, state));
    let UserAtHost { user, host } = &event.definer;
    let (user, host, database, name) = (quote(user), quote(host), quote(&old.database), quote(&old.name));
    let mut sql = format!("ALTER DEFINER={user}@{host} EVENT {database}.{name}{said}").into_bytes();
    sql.extend(body);
    let logged = Some(LoggedText { sql, form: TextForm::Program });
    let mut changes = Vec::new();
    if alter.rename.is_some() {
        changes.push(Change::DropEvent(old.database.clone(), old.name.clone()));
    }
    changes.push(Change::PutEvent(Arc::new(event)));
    Ok(Plan { changes, notes, logged, ..Plan::default() })
}

/// DROP EVENT.
///
/// # Errors
/// 1539 for one that is not there.
pub(super) fn drop(
    name: &ObjectName,
    if_exists: bool,
    state: &CatalogState,
    settings: &Settings,
) -> Result<Plan> {
    let (database, name) = settings.object(name)?;
    if let Some(event) = state.event(database, name) {
        return Ok(Plan::one(Change::DropEvent(event.database.clone(), event.name.clone())));
    }
    if let Some(object) = state.set_aside(&ObjectKey::event(database, name)) {
        return Ok(Plan::one(Change::DropSetAside(object.clone())));
    }
    match if_exists {
        true => Ok(Plan::nothing(error::SP_DOES_NOT_EXIST.with(&[&"Event", &name]))),
        false => Err(error::EVENT_DOES_NOT_EXIST.with(&[&name])),
    }
}

fn definer(said: Option<&Account>, settings: &Settings) -> UserAtHost {
    match said {
        None | Some(Account::CurrentUser) => settings.account.clone(),
        Some(Account::Named { user, host }) => {
            UserAtHost::new(user.to_str_lossy(), host.to_str_lossy().to_ascii_lowercase())
        }
    }
}

/// What does not compile is no event.
fn check_program(event: &EventDef, settings: &Settings) -> Result<()> {
    let program = event.program()?;
    // Older versions may have taken what is refused here.
    if settings.from_client { program.check_variables() } else { Ok(()) }
}

fn missing_definer(event: &EventDef, state: &CatalogState) -> Option<SqlError> {
    let UserAtHost { user, host } = &event.definer;
    (!state.users.contains_key(&event.definer)).then(|| error::NO_SUCH_USER.with(&[user, host]))
}

/// True if the last moment of a schedule is past already.
fn is_past(schedule: &Schedule, settings: &Settings) -> bool {
    let last = match schedule {
        Schedule::At(moment) => Some(*moment),
        Schedule::Every { ends, .. } => *ends,
    };
    last.is_some_and(|last| last < settings.moment.div_euclid(SECOND) * SECOND)
}

fn schedule(said: &EventSchedule, settings: &Settings) -> Result<Schedule> {
    match &said.times {
        EventTimes::At(moment) => Ok(Schedule::At(moment_of(moment, settings)?)),
        EventTimes::Every { value, unit, starts, ends } => {
            let amount = match &value.kind {
                ExprKind::Literal(Literal::Integer(number)) => number.to_string(),
                ExprKind::Literal(Literal::String { bytes, .. }) => {
                    String::from_utf8_lossy(bytes).into_owned()
                }
                _ => return Err(SqlError::internal("an interval that was not evaluated")),
            };
            let interval = Interval::new(&amount, *unit);
            let interval = interval.ok_or_else(|| error::EVENT_INTERVAL_NOT_POSITIVE_OR_TOO_BIG.plain())?;
            let starts = match starts {
                Some(starts) => moment_of(starts, settings)?,
                None => settings.moment.div_euclid(SECOND) * SECOND,
            };
            let ends = ends.as_ref().map(|ends| moment_of(ends, settings)).transpose()?;
            if ends.is_some_and(|ends| ends <= starts) {
                return Err(error::EVENT_ENDS_BEFORE_STARTS.plain());
            }
            Ok(Schedule::Every { interval, starts, ends })
        }
    }
}

/// A moment that is written as a text of the session's time zone.
fn moment_of(expr: &Expr, settings: &Settings) -> Result<i64> {
    let ExprKind::Literal(Literal::String { bytes, .. }) = &expr.kind else {
        return Err(SqlError::internal("a moment that was not evaluated"));
    };
    let wrong = || error::WRONG_VALUE.with(&[&"DATETIME", &String::from_utf8_lossy(bytes)]);
    let read = temporal_text::parse_datetime(bytes).filter(|read| !read.truncated).ok_or_else(wrong)?;
    let local = read.cut().unix_micros().ok_or_else(wrong)?;
    Ok(settings.zone.to_utc(local).micros.div_euclid(SECOND) * SECOND)
}
