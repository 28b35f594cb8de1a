//! GRANT and REVOKE: changes of what accounts may do, for everything and for databases.

use std::sync::Arc;

use super::user::{check_administrator_remains, resolve};
use super::{Plan, Settings};
use crate::catalog::account::{UserAtHost, UserDef};
use crate::catalog::database_or;
use crate::catalog::objects::CatalogState;
use crate::catalog::record::Change;
use crate::catalog::set_aside::ObjectKey;
use crate::privilege::{Dynamic, Grants, Privileges, find};
use datum::error::{self, Result, SqlError};
use syntax::ast::{Grant, GrantObject, GrantWhat, Privilege, Revoke};

/// Privileges of one statement, resolved.
struct Wanted {
    fixed: Privileges,
    dynamic: Dynamic,
    /// Of `fixed`, what is named one by one, not by ALL: REVOKE finds each of these.
    named: Privileges,
    /// `None` for everything.
    database: Option<String>,
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
    Change::PutUser(UserDef { grants: Arc::new(grants), ..user.clone() })
}

pub(super) fn grant(grant: &Grant, state: &CatalogState, settings: &Settings) -> Result<Plan> {
    if grant.grantor.is_some() {
        return Err(SqlError::unsupported("GRANT .. AS"));
    }
    let wanted = wanted(&grant.what, settings)?;
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
    let set = match &wanted.database {
        None => &mut grants.global,
        Some(name) => grants.databases.entry(name.clone()).or_default(),
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
        if let Some(Wanted { database: Some(name), named, .. }) = &wanted
            && !user.grants.databases.get(name).is_some_and(|held| held.has(*named))
        {
            let e = error::NONEXISTING_GRANT.with(&[&key.user, &key.host]);
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

fn take(grants: &mut Grants, wanted: &Wanted) {
    match &wanted.database {
        None => grants.global = grants.global.without(wanted.fixed),
        Some(name) => {
            if let Some(set) = grants.databases.get_mut(name) {
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
    let database = match object {
        GrantObject::Global => None,
        GrantObject::Database(name) => {
            let name = database_or(name.as_deref(), settings.database.as_deref())?;
            // Everybody may read it, and nobody is granted anything in it.
            if name.eq_ignore_ascii_case("information_schema") {
                let UserAtHost { user, host } = &settings.account;
                return Err(error::DBACCESS_DENIED_ERROR.with(&[user, host, &name]));
            }
            Some(name.to_owned())
        }
        GrantObject::Table(_) => return Err(SqlError::unsupported("privileges on single tables")),
        GrantObject::Routine(..) => return Err(SqlError::unsupported("privileges on single routines")),
    };
    let mut wanted =
        Wanted { fixed: Privileges::NONE, dynamic: Dynamic::NONE, named: Privileges::NONE, database };
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
        let global = self.database.is_none();
        if privilege.name.is("ALL") {
            self.fixed = self.fixed | if global { Privileges::ALL } else { Privileges::OF_DATABASE };
            self.dynamic = if global { Dynamic::ALL } else { self.dynamic };
            return Ok(());
        }
        match (find(&privilege.name), Dynamic::named(&privilege.name)) {
            (Some(fixed), _) => {
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
