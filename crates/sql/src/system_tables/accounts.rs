//! Accounts and their privileges. Who may not read `mysql` sees only themselves.

use super::schemas::CATALOG;
use super::{Each, Wanted};
use crate::catalog::UserDef;
use crate::listing::cells;
use crate::privilege::Privileges as P;
use crate::session::Context;
use datum::error::Result;

/// The accounts that the session's may know of.
fn known(cx: &Context) -> Vec<UserDef> {
    let all = cx.grants_now().in_database("mysql").has(P::SELECT);
    let state = cx.catalog().state();
    let users = state.users.iter().filter(|(key, _)| all || **key == *cx.effective_account());
    users.map(|(_, user)| user.clone()).collect()
}

fn grantee(user: &UserDef) -> String {
    format!("'{}'@'{}'", user.user, user.host)
}

fn yes_no(yes: bool) -> &'static str {
    if yes { "YES" } else { "NO" }
}

/// The names of a set, `USAGE` if it is empty.
fn names(set: P) -> Vec<&'static str> {
    let names: Vec<_> = set.names().collect();
    if names.is_empty() { vec!["USAGE"] } else { names }
}

pub(super) fn user_privileges(cx: &mut Context, _: &Wanted, each: Each<'_>) -> Result<()> {
    for user in known(cx) {
        let grants = &user.grants;
        let grantable = grants.global.has(P::GRANT);
        for name in names(grants.global.without(P::GRANT)) {
            each(cells![grantee(&user), CATALOG, name, yes_no(grantable)])?;
        }
        for name in grants.dynamic.names() {
            let grantable = grants.grantable.names().any(|other| other == name);
            each(cells![grantee(&user), CATALOG, name, yes_no(grantable)])?;
        }
    }
    Ok(())
}

pub(super) fn schema_privileges(cx: &mut Context, _: &Wanted, each: Each<'_>) -> Result<()> {
    for user in known(cx) {
        for (database, set) in &user.grants.databases {
            for name in names(set.without(P::GRANT)) {
                each(cells![grantee(&user), CATALOG, database.as_str(), name, yes_no(set.has(P::GRANT))])?;
            }
        }
    }
    Ok(())
}

pub(super) fn user_attributes(cx: &mut Context, _: &Wanted, each: Each<'_>) -> Result<()> {
    for user in known(cx) {
        each(cells![user.user.as_str(), user.host.as_str(), user.options.attribute.as_deref()])?;
    }
    Ok(())
}
