//! CREATE, ALTER and DROP VIEW, and what RENAME TABLE does to views.
//!
//! The statement comes with its query in canonical form: a client's is brought into it by
//! [`crate::executor::create_view`], which a session must do, and the log has it so. What the
//! statement leaves open (ALGORITHM, DEFINER, SQL SECURITY) is added here.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use super::{LoggedText, Plan, Settings, TextForm, check_name, check_not_system, table};
use crate::catalog::account::UserAtHost;
use crate::catalog::objects::CatalogState;
use crate::catalog::record::Change;
use crate::catalog::set_aside::ObjectKey;
use crate::catalog::view::{ViewDef, ViewVerb};
use datum::error::{self, Result};
use syntax::ast::{Account, CreateView, ObjectName, SqlSecurity, ViewAlgorithm};

/// CREATE VIEW and ALTER VIEW.
///
/// # Errors
/// 1050 for a name that a table has, or a view that is not to be replaced; 1347 for a table that is
/// to be; 1146 for ALTER VIEW of what is not there; 1146 too for a view that would lead to itself.
pub(super) fn create(create: &CreateView, state: &CatalogState, settings: &Settings) -> Result<Plan> {
    let (database, name) = settings.object(&create.name)?;
    check_name(name, error::WRONG_TABLE_NAME)?;
    check_not_system(database)?;
    table::existing_database(state, database)?;
    state.check_usable(&ObjectKey::table(database, name))?;
    state.check_usable(&ObjectKey::view(database, name))?;
    let verb = match (create.alter, create.or_replace) {
        (true, _) => ViewVerb::Alter,
        (false, true) => ViewVerb::CreateOrReplace,
        (false, false) => ViewVerb::Create,
    };
    let existing = state.view(database, name);
    if create.if_not_exists && (existing.is_some() || state.table(database, name).is_some()) {
        return Ok(Plan::nothing(error::TABLE_EXISTS_ERROR.with(&[&name])));
    }
    if state.table(database, name).is_some() {
        return Err(match verb {
            ViewVerb::Create => error::TABLE_EXISTS_ERROR.with(&[&name]),
            _ => error::WRONG_OBJECT.with(&[&database, &name, &"VIEW"]),
        });
    }
    match (verb, existing) {
        (ViewVerb::Create, Some(_)) => return Err(error::TABLE_EXISTS_ERROR.with(&[&name])),
        (ViewVerb::Alter, None) => return Err(error::NO_SUCH_TABLE.with(&[&database, &name])),
        _ => {}
    }
    if state.below_view(&create.query)?.contains(&(database.to_owned(), name.to_owned())) {
        // As MySQL says it.
        return Err(error::NO_SUCH_TABLE.with(&[&database, &name]));
    }
    // ALTER VIEW leaves as it is what it says nothing of.
    let altered = existing.filter(|_| create.alter);
    let definer = match &create.definer {
        Some(Account::Named { user, host }) => {
            UserAtHost::new(user.to_str_lossy(), host.to_str_lossy().to_ascii_lowercase())
        }
        Some(Account::CurrentUser) => settings.account.clone(),
        None => altered.map_or_else(|| settings.account.clone(), |view| view.definer.clone()),
    };
    let algorithm = match create.algorithm {
        Some(algorithm) if algorithm != ViewAlgorithm::Undefined => algorithm,
        _ => altered.map_or(ViewAlgorithm::Undefined, |view| view.algorithm),
    };
    let invoker = match create.security {
        Some(security) => security == SqlSecurity::Invoker,
        None => altered.is_some_and(|view| view.invoker),
    };
    let view = ViewDef {
        database: database.to_owned(),
        name: name.to_owned(),
        columns: create.columns.iter().map(ToString::to_string).collect(),
        query: syntax::unparse::query(&create.query),
        algorithm,
        definer,
        invoker,
        check_option: create.check_option,
        connection: settings.connection,
        strict: settings.is_strict(),
        // Sessions that wait for the view wait for its name.
        lock: existing.map_or_else(Arc::default, |view| view.lock.clone()),
        parsed: OnceLock::new(),
    };
    let logged = LoggedText { sql: view.statement(verb), form: TextForm::CanonicalQuery };
    Ok(Plan { logged: Some(logged), ..Plan::one(Change::PutView(Arc::new(view))) })
}

/// DROP VIEW: all of them, or none.
///
/// # Errors
/// 1051 with the names that are no views', 1347 for a table, 1066 for a name that comes twice.
pub(super) fn drop(
    names: &[ObjectName],
    if_exists: bool,
    state: &CatalogState,
    settings: &Settings,
) -> Result<Plan> {
    let (mut plan, mut seen) = (Plan::default(), BTreeSet::new());
    let (mut missing, mut other) = (Vec::new(), None);
    for name in names {
        let (database, view) = settings.object(name)?;
        check_not_system(database)?;
        if !seen.insert((database, view)) {
            return Err(error::NONUNIQ_TABLE.with(&[&view]));
        }
        if let Some(found) = state.view(database, view) {
            plan.changes.push(Change::DropView(found.clone()));
            continue;
        }
        if let Some(object) = state.set_aside(&ObjectKey::view(database, view)) {
            plan.changes.push(Change::DropSetAside(object.clone()));
            continue;
        }
        let e = match state.table(database, view) {
            Some(_) => other.get_or_insert(error::WRONG_OBJECT.with(&[&database, &view, &"VIEW"])).clone(),
            None => {
                missing.push(format!("{database}.{view}"));
                error::BAD_TABLE_ERROR.with(&[&format!("{database}.{view}")])
            }
        };
        plan.notes.push(e);
    }
    match (if_exists || plan.notes.is_empty(), other) {
        (true, _) => Ok(plan),
        (false, Some(e)) => Err(e),
        (false, None) => Err(error::BAD_TABLE_ERROR.with(&[&missing.join(",")])),
    }
}

/// RENAME TABLE of a view, whose new name is free.
///
/// # Errors
/// 1450 for another database.
pub(super) fn rename(view: &ViewDef, to_database: &str, to_name: &str) -> Result<[Change; 2]> {
    if view.database != to_database {
        return Err(error::FORBID_SCHEMA_CHANGE.with(&[&view.database, &to_database]));
    }
    let renamed = Change::PutView(Arc::new(view.renamed(to_name)));
    // Only its name and where it is are asked of one that is dropped.
    Ok([Change::DropView(Arc::new(view.renamed(&view.name))), renamed])
}

/// The views that have one of the names in a RENAME TABLE now.
pub(crate) fn to_rename(
    pairs: &[(ObjectName, ObjectName)],
    state: &CatalogState,
    settings: &Settings,
) -> Result<Vec<Arc<ViewDef>>> {
    let mut views = Vec::new();
    for name in pairs.iter().flat_map(|(from, to)| [from, to]) {
        let (database, name) = settings.object(name)?;
        views.extend(state.view(database, name).cloned());
    }
    Ok(views)
}
