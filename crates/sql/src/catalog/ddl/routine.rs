//! CREATE, ALTER and DROP of functions and procedures.

use std::sync::{Arc, OnceLock};

use super::{LoggedText, Plan, Settings, TextForm, check_name, check_not_system, grant};
use crate::catalog::UserAtHost;
use crate::catalog::objects::{CatalogState, RoutineDef, RoutineTimes};
use crate::catalog::record::Change;
use crate::catalog::set_aside::ObjectKey;
use crate::catalog::show;
use crate::privilege::RoutineName;
use datum::error::{self, Result};
use datum::types::DataType;
use datum::value::temporal::SECOND;
use syntax::ast::{Account, Characteristics, CreateRoutine, ObjectName, RoutineKind};

pub(super) fn create(
    create: &CreateRoutine,
    text: &[u8],
    state: &CatalogState,
    settings: &Settings,
) -> Result<Plan> {
    let (database, name) = settings.object(&create.name)?;
    check_name(name, error::SP_WRONG_NAME)?;
    check_not_system(database)?;
    let collation = state.database(database).ok_or_else(|| error::BAD_DB_ERROR.with(&[&database]))?.collation;
    state.check_usable(&ObjectKey::routine(create.kind, database, name))?;
    if state.routine(create.kind, database, name).is_some() {
        let e = error::SP_ALREADY_EXISTS.with(&[&create.kind.name(), &name]);
        return if create.if_not_exists { Ok(Plan::nothing(e)) } else { Err(e) };
    }
    let returns = create.returns.as_ref().map(|declared| DataType::resolve(declared, name, collation));
    let returns = returns.transpose()?.map_or(String::new(), |returns| {
        let collation = returns.collation();
        match (returns.names_charset(), collation.is_default()) {
            (false, _) => returns.to_string(),
            (true, true) => format!("{returns} CHARSET {}", collation.charset().name()),
            (true, false) => {
                format!("{returns} CHARSET {} COLLATE {}", collation.charset().name(), collation.name())
            }
        }
    });
    let definer = match &create.definer {
        None | Some(Account::CurrentUser) => settings.account.clone(),
        Some(Account::Named { user, host }) => UserAtHost::new(user.to_str_lossy(), host.to_str_lossy()),
    };
    let parameters = String::from_utf8_lossy(create.parameters_span.of(text).trim_ascii()).into_owned();
    let body = text[create.body.span.range()].to_vec();
    let now = settings.moment.div_euclid(SECOND);
    let function = RoutineDef {
        kind: create.kind,
        database: database.to_owned(),
        name: name.to_owned(),
        definer,
        parameters,
        returns,
        characteristics: create.characteristics.clone(),
        body,
        sql_mode: settings.sql_mode,
        connection: settings.connection,
        database_collation: collation,
        times: Some(RoutineTimes { created: now, altered: now }),
        compiled: OnceLock::new(),
    };
    // What does not compile is no routine.
    let compiled = crate::routine::Routine::compile(&function)?;
    // Older versions took what is refused here, and logs have it.
    if settings.from_client {
        compiled.check_variables()?;
    }
    // The body is the client's text, so all of it is for the session's settings, which the function
    // keeps.
    let logged = LoggedText { sql: log_text(&function, settings), form: TextForm::Program };
    let is_there = state.users.contains_key(&function.definer);
    let nobody =
        (!is_there).then(|| error::NO_SUCH_USER.with(&[&function.definer.user, &function.definer.host]));
    let notes = nobody.into_iter().collect();
    let name = RoutineName::new(create.kind, database, name);
    let given = grant::of_new_routine(&name, state, &settings.account);
    let mut plan = Plan { logged: Some(logged), notes, ..Plan::one(Change::PutRoutine(Arc::new(function))) };
    plan.changes.extend(given);
    Ok(plan)
}

/// With its definer, and with its database where that is not the default one.
fn log_text(function: &RoutineDef, settings: &Settings) -> Vec<u8> {
    let text = function.text();
    if settings.database.as_deref() == Some(&function.database) {
        return text;
    }
    let kind = function.kind.name();
    let name = format!(" {kind} {}(", show::quote(&function.name));
    let qualified = format!(" {kind} {}.{}(", show::quote(&function.database), show::quote(&function.name));
    let at = text.windows(name.len()).position(|w| w == name.as_bytes());
    match at {
        Some(at) => [&text[..at], qualified.as_bytes(), &text[at + name.len()..]].concat(),
        None => text,
    }
}

pub(super) fn drop(
    kind: RoutineKind,
    name: &ObjectName,
    if_exists: bool,
    state: &CatalogState,
    settings: &Settings,
) -> Result<Plan> {
    let word = kind.name();
    let (database, name) = match settings.object(name) {
        Ok(found) => found,
        // Without a database there is no function to drop.
        Err(e) if !if_exists => return Err(e),
        Err(_) => ("", name.name.as_str()),
    };
    let shown = format!("{database}.{name}");
    match state.routine(kind, database, name) {
        Some(found) => {
            let mut plan = Plan::one(Change::DropRoutine(kind, database.to_owned(), found.name.clone()));
            plan.changes.extend(grant::of_dropped_routine(&RoutineName::new(kind, database, name), state));
            Ok(plan)
        }
        None if let Some(object) = state.set_aside(&ObjectKey::routine(kind, database, name)) => {
            Ok(Plan::one(Change::DropSetAside(object.clone())))
        }
        None if if_exists => Ok(Plan::nothing(error::SP_DOES_NOT_EXIST.with(&[&word, &shown]))),
        None => Err(error::SP_DOES_NOT_EXIST.with(&[&word, &shown])),
    }
}

/// ALTER FUNCTION and ALTER PROCEDURE, which change what was said of a routine, and not what it
/// does.
pub(super) fn alter(
    kind: RoutineKind,
    name: &ObjectName,
    said: &Characteristics,
    state: &CatalogState,
    settings: &Settings,
) -> Result<Plan> {
    let (database, name) = settings.object(name)?;
    let shown = format!("{database}.{name}");
    state.check_usable(&ObjectKey::routine(kind, database, name))?;
    let found = state.routine(kind, database, name);
    let found = found.ok_or_else(|| error::SP_DOES_NOT_EXIST.with(&[&kind.name(), &shown]))?;
    let before = &found.characteristics;
    let characteristics = Characteristics {
        comment: said.comment.clone().or_else(|| before.comment.clone()),
        language: None,
        // It is no characteristic that ALTER could change.
        deterministic: before.deterministic,
        data_access: said.data_access.or(before.data_access),
        security: said.security.or(before.security),
    };
    let now = settings.moment.div_euclid(SECOND);
    let altered = RoutineDef {
        kind,
        database: found.database.clone(),
        name: found.name.clone(),
        definer: found.definer.clone(),
        parameters: found.parameters.clone(),
        returns: found.returns.clone(),
        characteristics,
        body: found.body.clone(),
        sql_mode: found.sql_mode,
        connection: found.connection,
        database_collation: found.database_collation,
        times: found.times.map(|times| RoutineTimes { altered: now, ..times }),
        compiled: OnceLock::new(),
    };
    Ok(Plan::one(Change::PutRoutine(Arc::new(altered))))
}
