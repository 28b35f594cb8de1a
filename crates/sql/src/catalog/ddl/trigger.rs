//! CREATE and DROP TRIGGER: another definition of the trigger's table.

use std::sync::{Arc, OnceLock};

use super::{LoggedText, Plan, Settings, TextForm, check_name, table};
use crate::catalog::UserAtHost;
use crate::catalog::objects::CatalogState;
use crate::catalog::record::Change;
use crate::catalog::set_aside::ObjectKey;
use crate::catalog::show::quote;
use crate::catalog::table::TableDef;
use crate::catalog::trigger::{TriggerDef, Triggers};
use crate::routine::Routine;
use datum::error::{self, Result};
use datum::value::temporal::SECOND;
use syntax::ast::{Account, CreateTrigger, ObjectName, TriggerOrder};

/// Microseconds in what [`TriggerDef::created`] counts.
const HUNDREDTH: i64 = SECOND / 100;

/// CREATE TRIGGER.
///
/// # Errors
/// 1435 for a trigger in another database than its table; 1465, 1347 and 1361 for tables that have
/// none; 1359 and 4100 for a name that is taken; 3011 for FOLLOWS and PRECEDES of what is not
/// there; those of its body.
pub(super) fn create(
    create: &CreateTrigger,
    text: &[u8],
    state: &CatalogState,
    settings: &Settings,
) -> Result<Plan> {
    let (database, table_name) = settings.object(&create.table)?;
    if create.name.database.as_ref().is_some_and(|named| **named != *database) {
        return Err(error::TRG_IN_WRONG_SCHEMA.plain());
    }
    let name = create.name.name.as_str();
    check_name(name, error::SP_WRONG_NAME)?;
    if database.eq_ignore_ascii_case("mysql") || database.eq_ignore_ascii_case("sys") {
        return Err(error::NO_TRIGGERS_ON_SYSTEM_SCHEMA.plain());
    }
    if crate::system_schemas::is_reserved(database) {
        let UserAtHost { user, host } = &settings.account;
        return Err(error::DBACCESS_DENIED_ERROR.with(&[user, host, &database]));
    }
    if settings.temporary.get(database, table_name).is_some() {
        return Err(error::TRG_ON_VIEW_OR_TEMP_TABLE.with(&[&table_name]));
    }
    if state.view(database, table_name).is_some() {
        return Err(error::WRONG_OBJECT.with(&[&database, &table_name, &"BASE TABLE"]));
    }
    state.check_usable(&ObjectKey::table(database, table_name))?;
    let old = table::existing(state, database, table_name)?;
    if let Some((of, known)) = state.trigger(database, name) {
        return match create.if_not_exists {
            true if of.name == old.name => {
                let note = error::IF_NOT_EXISTS_TRIGGER_EXISTS_ON_TABLE;
                Ok(Plan::nothing(note.with(&[&known.name, &database, &of.name])))
            }
            true => {
                let e = error::IF_NOT_EXISTS_UNSUPPORTED_TRIGGER_EXISTS_ON_DIFFERENT_TABLE;
                Err(e.with(&[&database, &known.name]))
            }
            false => Err(error::TRG_ALREADY_EXISTS.plain()),
        };
    }
    let definer = match &create.definer {
        None | Some(Account::CurrentUser) => settings.account.clone(),
        Some(Account::Named { user, host }) => {
            UserAtHost::new(user.to_str_lossy(), host.to_str_lossy().to_ascii_lowercase())
        }
    };
    let database_collation = table::existing_database(state, database)?;
    let trigger = TriggerDef {
        name: name.to_owned(),
        definer,
        time: create.time,
        event: create.event,
        body: text[create.body.span.range()].to_vec(),
        sql_mode: settings.sql_mode,
        client: settings.client,
        connection: settings.connection,
        database_collation,
        created: settings.moment.div_euclid(HUNDREDTH),
    };
    let (at, order) = place(create, &old.triggers)?;
    let compiled = Routine::compile_trigger(&trigger, &old)?;
    // Older versions may have taken what is refused here.
    if settings.from_client {
        compiled.check_variables()?;
    }
    let mut notes = Vec::new();
    if !state.users.contains_key(&trigger.definer) {
        let UserAtHost { user, host } = &trigger.definer;
        notes.push(error::NO_SUCH_USER.with(&[user, host]));
    }
    let sql = match settings.database.as_deref() == Some(database) {
        true => trigger.text_in_order(table_name, &order),
        false => trigger.logged_text(database, table_name, &order),
    };
    // The body is the client's text, so all of it is for the session's settings, which the trigger
    // keeps.
    let logged = Some(LoggedText { sql, form: TextForm::Program });
    let triggers = old.triggers.with(trigger, at);
    Ok(Plan { notes, logged, ..replaced(&old, triggers, state) })
}

/// The place of a new trigger in the list, and the words that say so in the log.
fn place(create: &CreateTrigger, triggers: &Triggers) -> Result<(usize, String)> {
    let (word, named, after) = match &create.order {
        None => return Ok((triggers.list().len(), String::new())),
        Some(TriggerOrder::Follows(named)) => ("FOLLOWS", named, 1),
        Some(TriggerOrder::Precedes(named)) => ("PRECEDES", named, 0),
    };
    let is_it = |known: &Arc<TriggerDef>| {
        known.is_of(create.time, create.event)
            && triggers.named(named).is_some_and(|found| Arc::ptr_eq(found, known))
    };
    let found = triggers.list().iter().position(is_it);
    let at = found.ok_or_else(|| error::REFERENCED_TRG_DOES_NOT_EXIST.with(&[named]))?;
    Ok((at + after, format!("{word} {} ", quote(named))))
}

/// DROP TRIGGER.
///
/// # Errors
/// 1360 for one that is not there; 1049 for its database.
pub(super) fn drop(
    name: &ObjectName,
    if_exists: bool,
    state: &CatalogState,
    settings: &Settings,
) -> Result<Plan> {
    let (database, trigger) = settings.object(name)?;
    if let Some((table, _)) = state.trigger(database, trigger) {
        return Ok(replaced(table, table.triggers.without(trigger), state));
    }
    // It went out of sight with its table, as replay finds it.
    if !settings.from_client && state.tables_set_aside(database).next().is_some() {
        return Ok(Plan::default());
    }
    let e = match state.database(database) {
        Some(_) => error::TRG_DOES_NOT_EXIST.plain(),
        None => error::BAD_DB_ERROR.with(&[&database]),
    };
    if if_exists { Ok(Plan::nothing(e)) } else { Err(e) }
}

/// The table with other triggers.
fn replaced(old: &Arc<TableDef>, triggers: Triggers, state: &CatalogState) -> Plan {
    let new = TableDef { triggers, trigger_programs: OnceLock::new(), ..TableDef::clone(old) };
    Plan::one(Change::AlterTable(old.clone(), Arc::new(new), state.next))
}
