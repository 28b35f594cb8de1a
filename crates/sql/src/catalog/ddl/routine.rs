//! CREATE and DROP FUNCTION.

use std::sync::{Arc, OnceLock};

use super::{LoggedText, Plan, Settings, TextForm, check_name, check_not_system};
use crate::catalog::UserAtHost;
use crate::catalog::objects::{CatalogState, FunctionDef};
use crate::catalog::record::Change;
use crate::catalog::set_aside::ObjectKey;
use crate::catalog::show;
use datum::error::{self, Result, SqlError};
use datum::types::DataType;
use syntax::ast::{Account, CreateRoutine, ObjectName, RoutineKind};

pub(super) fn create(
    create: &CreateRoutine,
    text: &[u8],

    state: &CatalogState,
    settings: &Settings,
) -> Result<Plan> {
    let (database, name) = settings.object(&create.name)?;
    if create.kind == RoutineKind::Procedure {
        return Err(SqlError::unsupported("stored procedures"));
    }
    check_name(name, error::SP_WRONG_NAME)?;
    check_not_system(database)?;
    let collation = state.database(database).ok_or_else(|| error::BAD_DB_ERROR.with(&[&database]))?.collation;
    state.check_usable(&ObjectKey::function(database, name))?;
    if state.function(database, name).is_some() {
        let e = error::SP_ALREADY_EXISTS.with(&[&"FUNCTION", &name]);
        return if create.if_not_exists { Ok(Plan::nothing(e)) } else { Err(e) };
    }
    let declared = create.returns.as_ref().ok_or_else(|| SqlError::internal("a function without RETURNS"))?;
    let returns = DataType::resolve(declared, name, collation)?;
    let definer = match &create.definer {
        None | Some(Account::CurrentUser) => settings.account.clone(),
        Some(Account::Named { user, host }) => UserAtHost::new(user.to_str_lossy(), host.to_str_lossy()),
    };
    let parameters = String::from_utf8_lossy(create.parameters_span.of(text).trim_ascii()).into_owned();
    let charset = if returns.names_charset() {
        format!(" CHARSET {}", returns.collation().charset().name())
    } else {
        String::new()
    };
    let body = text[create.body.span.range()].to_vec();
    let function = FunctionDef {
        database: database.to_owned(),
        name: name.to_owned(),
        definer,
        parameters,
        returns: format!("{returns}{charset}"),
        characteristics: create.characteristics.clone(),
        body,
        sql_mode: settings.sql_mode,
        connection: settings.connection,
        database_collation: collation,
        compiled: OnceLock::new(),
    };
    // What does not compile is no function.
    let compiled = crate::routine::Routine::compile(&function)?;
    // Older versions took what is refused here, and logs have it.
    if settings.from_client {
        compiled.check_variables()?;
    }
    // The body is the client's text, so all of it is for the session's settings, which the function
    // keeps.
    let logged = LoggedText { sql: log_text(&function, settings), form: TextForm::Session };
    Ok(Plan { logged: Some(logged), ..Plan::one(Change::PutFunction(Arc::new(function))) })
}

/// With its definer, and with its database where that is not the default one.
fn log_text(function: &FunctionDef, settings: &Settings) -> Vec<u8> {
    let text = function.text();
    if settings.database.as_deref() == Some(&function.database) {
        return text;
    }
    let name = format!(" FUNCTION {}(", show::quote(&function.name));
    let qualified = format!(" FUNCTION {}.{}(", show::quote(&function.database), show::quote(&function.name));
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
    let word = if kind == RoutineKind::Function { "FUNCTION" } else { "PROCEDURE" };
    let (database, name) = match settings.object(name) {
        Ok(found) => found,
        // Without a database there is no function to drop.
        Err(e) if !if_exists => return Err(e),
        Err(_) => ("", name.name.as_str()),
    };
    let shown = format!("{database}.{name}");
    let found = state.function(database, name).filter(|_| kind == RoutineKind::Function);
    match found {
        Some(function) => Ok(Plan::one(Change::DropFunction(database.to_owned(), function.name.clone()))),
        None if let Some(object) = state.set_aside(&ObjectKey::function(database, name)) => {
            Ok(Plan::one(Change::DropSetAside(object.clone())))
        }
        None if if_exists => Ok(Plan::nothing(error::SP_DOES_NOT_EXIST.with(&[&word, &shown]))),
        None => Err(error::SP_DOES_NOT_EXIST.with(&[&word, &shown])),
    }
}
