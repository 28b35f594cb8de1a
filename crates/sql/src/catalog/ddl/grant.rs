//! GRANT and REVOKE: changes of what accounts may do, for everything, for databases and for
//! routines.

use std::sync::Arc;

use super::user::{check_administrator_remains, resolve};
use super::{Plan, Settings};
use crate::catalog::account::{UserAtHost, UserDef};
use crate::catalog::database_or;
use crate::catalog::objects::CatalogState;
use crate::catalog::record::Change;
use crate::catalog::set_aside::ObjectKey;
use crate::privilege::{Dynamic, Grants, OF_ROUTINE, Privileges, RoutineName, find};
use datum::error::{self, Result, SqlError};
use syntax::ast::{Grant, GrantObject, GrantWhat, Privilege, Revoke};

/// Privileges of one statement, resolved.
struct Wanted {
    fixed: Privileges,
    dynamic: Dynamic,
    /// Of `fixed`, what is named one by one, not by ALL: REVOKE finds each of these.
    named: Privileges,
    level: Level,
}

/// What privileges are for.
enum Level {
    Everything,
    Database(String),
    Routine(RoutineName),
}

/// Every account's grants changed by `change`, which returns whether there was anything to change.
fn each(
    accounts: &[syntax::ast::Account],
    settings: &Settings,
    mut one: impl FnMut(UserAtHost) -> Result<Option<Change>>,
) -> Result<Plan> {
    let mut plan = Plan::default();
    for account in accounts {
        plan.changes.extend(one(resolve(account, settings))?);
    }
    Ok(plan)
}

fn changed(user: &UserDef, change: impl FnOnce(&mut Grants)) -> Change {
    let mut grants = (*user.grants).clone();
    change(&mut grants);
    grants.databases.retain(|_, set| !set.is_empty());
    grants.routines.retain(|_, set| !set.is_empty());
    Change::PutUser(UserDef { grants: Arc::new(grants), ..user.clone() })
}

pub(super) fn grant(grant: &Grant, state: &CatalogState, settings: &Settings) -> Result<Plan> {
    if grant.grantor.is_some() {
        return Err(SqlError::unsupported("GRANT .. AS"));
    }
    let wanted = wanted(&grant.what, settings)?;
    if let Level::Routine(RoutineName { kind, database, name }) = &wanted.level
        && state.routine(*kind, database, name).is_none()
    {
        return Err(error::SP_DOES_NOT_EXIST.with(&[&kind.name(), name]));
    }
    each(&grant.to, settings, |key| {
        state.check_usable(&ObjectKey::user(&key.user, &key.host))?;
        let user = state.users.get(&key).ok_or_else(|| error::CANT_CREATE_USER_WITH_GRANT.plain())?;
        Ok(Some(changed(user, |grants| give(grants, &wanted, grant.with_option))))
    })
}

fn give(grants: &mut Grants, wanted: &Wanted, with_option: bool) {
    // `GRANT BACKUP_ADMIN .. WITH GRANT OPTION` says nothing of static privileges.
    let only_dynamic = wanted.fixed.is_empty() && !wanted.dynamic.is_empty();
    let option = if with_option && !only_dynamic { Privileges::GRANT } else { Privileges::NONE };
    let set = match &wanted.level {
        Level::Everything => &mut grants.global,
        Level::Database(name) => grants.databases.entry(name.clone()).or_default(),
        Level::Routine(name) => grants.routines.entry(name.clone()).or_default(),
    };
    *set = *set | wanted.fixed | option;
    grants.dynamic = grants.dynamic | wanted.dynamic;
    if with_option {
        grants.grantable = grants.grantable | wanted.dynamic;
    }
}

pub(super) fn revoke(revoke: &Revoke, state: &CatalogState, settings: &Settings) -> Result<Plan> {
    let wanted = match &revoke.what {
        GrantWhat::Everything => None,
        what => Some(wanted(what, settings)?),
    };
    let mut notes = Vec::new();
    let mut plan = each(&revoke.from, settings, |key| {
        state.check_usable(&ObjectKey::user(&key.user, &key.host))?;
        let Some(user) = state.users.get(&key) else {
            let missing = error::USER_DOES_NOT_EXIST.with(&[&key.quoted()]);
            if revoke.ignore_unknown_user || revoke.if_exists {
                notes.push(missing);
                return Ok(None);
            }
            return Err(error::NONEXISTING_GRANT.with(&[&key.user, &key.host]));
        };
        if let Some(e) = wanted.as_ref().and_then(|wanted| missing(user, wanted)) {
            return if revoke.if_exists {
                notes.push(e);
                Ok(None)
            } else {
                Err(e)
            };
        }
        Ok(Some(changed(user, |grants| match &wanted {
            None => *grants = Grants::default(),
            Some(wanted) => take(grants, wanted),
        })))
    })?;
    plan.notes = notes;
    check_administrator_remains("REVOKE", &plan, state)?;
    Ok(plan)
}

/// Error 1141 or 1403 if the account does not have what it is to lose.
fn missing(user: &UserDef, wanted: &Wanted) -> Option<SqlError> {
    let held = match &wanted.level {
        Level::Everything => return None,
        Level::Database(name) => user.grants.databases.get(name),
        Level::Routine(name) => user.grants.routines.get(name),
    };
    if held.is_some_and(|held| held.has(wanted.named)) {
        return None;
    }
    Some(match &wanted.level {
        Level::Routine(routine) => {
            error::NONEXISTING_PROC_GRANT.with(&[&user.user, &user.host, &routine.name])
        }
        _ => error::NONEXISTING_GRANT.with(&[&user.user, &user.host]),
    })
}

/// What becomes of accounts when a routine is made: who makes it may execute, alter and drop it.
pub(super) fn of_new_routine(
    routine: &RoutineName,
    state: &CatalogState,
    maker: &UserAtHost,
) -> Option<Change> {
    let user = state.users.get(maker)?;
    let has = user.grants.on_routine(routine.kind, &routine.database, &routine.name);
    (!has.has(OF_ROUTINE)).then(|| {
        changed(user, |grants| {
            let set = grants.routines.entry(routine.clone()).or_default();
            *set = *set | OF_ROUTINE;
        })
    })
}

/// What becomes of accounts when a routine is dropped: what was granted on it goes.
pub(super) fn of_dropped_routine(routine: &RoutineName, state: &CatalogState) -> Vec<Change> {
    let holders = state.users.values().filter(|user| user.grants.routines.contains_key(routine));
    let without = |user: &UserDef| {
        changed(user, |grants| {
            grants.routines.remove(routine);
        })
    };
    holders.map(without).collect()
}

fn take(grants: &mut Grants, wanted: &Wanted) {
    match &wanted.level {
        Level::Everything => grants.global = grants.global.without(wanted.fixed),
        Level::Database(name) => {
            if let Some(set) = grants.databases.get_mut(name) {
                *set = set.without(wanted.fixed);
            }
        }
        Level::Routine(name) => {
            if let Some(set) = grants.routines.get_mut(name) {
                *set = set.without(wanted.fixed);
            }
        }
    }
    grants.dynamic = grants.dynamic.without(wanted.dynamic);
    grants.grantable = grants.grantable.without(wanted.dynamic);
}

/// What is named, and where; 1235 for what is finer than a database.
fn wanted(what: &GrantWhat, settings: &Settings) -> Result<Wanted> {
    let (privileges, object) = match what {
        GrantWhat::Privileges { privileges, object } => (privileges, object),
        GrantWhat::Roles(_) => return Err(SqlError::unsupported("roles")),
        GrantWhat::Proxy(_) => return Err(SqlError::unsupported("proxy accounts")),
        GrantWhat::Everything => return Err(SqlError::internal("GRANT of everything names a level")),
    };
    check_level(privileges, object)?;
    let level = match object {
        GrantObject::Global => Level::Everything,
        GrantObject::Database(name) => {
            let name = database_or(name.as_deref(), settings.database.as_deref())?;
            // Everybody may read it, and nobody is granted anything in it.
            if name.eq_ignore_ascii_case("information_schema") {
                let UserAtHost { user, host } = &settings.account;
                return Err(error::DBACCESS_DENIED_ERROR.with(&[user, host, &name]));
            }
            Level::Database(name.to_owned())
        }
        GrantObject::Table(_) => return Err(SqlError::unsupported("privileges on single tables")),
        GrantObject::Routine(kind, name) => {
            let (database, name) = settings.object(name)?;
            Level::Routine(RoutineName::new(*kind, database, name))
        }
    };
    let mut wanted =
        Wanted { fixed: Privileges::NONE, dynamic: Dynamic::NONE, named: Privileges::NONE, level };
    privileges.iter().try_for_each(|privilege| wanted.add(privilege))?;
    Ok(wanted)
}

/// Error 3619 for what is no static privilege anywhere but ON *.*, whether it is a dynamic one or
/// none: it names the privileges at a database, what they are for at a table or routine.
fn check_level(privileges: &[Privilege], object: &GrantObject) -> Result<()> {
    let is_static = |privilege: &&Privilege| privilege.name.is("ALL") || find(&privilege.name).is_some();
    let mut others = privileges.iter().filter(|privilege| !is_static(privilege)).peekable();
    if others.peek().is_none() {
        return Ok(());
    }
    let shown = match object {
        GrantObject::Global => return Ok(()),
        GrantObject::Database(_) => {
            others.map(|privilege| privilege.name.to_ascii_uppercase()).collect::<Vec<_>>().join(",")
        }
        GrantObject::Table(name) | GrantObject::Routine(_, name) => name.name.to_string(),
    };
    Err(error::ILLEGAL_PRIVILEGE_LEVEL.with(&[&shown]))
}

impl Wanted {
    fn add(&mut self, privilege: &Privilege) -> Result<()> {
        if !privilege.columns.is_empty() {
            return Err(SqlError::unsupported("privileges on single columns"));
        }
        let global = matches!(self.level, Level::Everything);
        let of_routine = matches!(self.level, Level::Routine(_));
        if privilege.name.is("ALL") {
            let all = match self.level {
                Level::Everything => Privileges::ALL,
                Level::Database(_) => Privileges::OF_DATABASE,
                Level::Routine(_) => OF_ROUTINE,
            };
            self.fixed = self.fixed | all;
            self.dynamic = if global { Dynamic::ALL } else { self.dynamic };
            return Ok(());
        }
        match (find(&privilege.name), Dynamic::named(&privilege.name)) {
            (Some(fixed), _) => {
                if of_routine && !(OF_ROUTINE | Privileges::GRANT).has(fixed) {
                    return Err(error::ILLEGAL_GRANT_FOR_TABLE.plain());
                }
                if !global && !(Privileges::OF_DATABASE | Privileges::GRANT).has(fixed) {
                    return Err(error::WRONG_USAGE.with(&[&"DB GRANT", &"GLOBAL PRIVILEGES"]));
                }
                self.fixed = self.fixed | fixed;
                self.named = self.named | fixed;
            }
            (None, Some(dynamic)) => self.dynamic = self.dynamic | dynamic,
            (None, None) => return Err(error::SYNTAX_ERROR.plain()),
        }
        Ok(())
    }
}
