//! Accounts: whose rights, and which.

use crate::catalog::UserAtHost;
use crate::listing::{Listing, cells, text};
use crate::privilege::{DYNAMIC, Privileges, STATIC};
use crate::session::Context;
use datum::error::{self, Result};
use syntax::ast::Account;

/// The account that was named. Other accounts than one's own are for those who may
/// read `mysql`.
pub(super) fn named(cx: &Context, account: &Account) -> Result<UserAtHost> {
    let Account::Named { user, host } = account else { return Ok(cx.connection.account.clone()) };
    let key = UserAtHost::new(user.to_str_lossy(), host.to_str_lossy());
    if key != cx.connection.account && !cx.grants_now().in_database("mysql").has(Privileges::SELECT) {
        let UserAtHost { user, host } = &cx.connection.account;
        return Err(error::DBACCESS_DENIED_ERROR.with(&[user, host, &"mysql"]));
    }
    Ok(key)
}

/// SHOW GRANTS.
pub(super) fn grants(cx: &Context, account: &Account) -> Result<Listing> {
    let key = named(cx, account)?;
    let state = cx.catalog().state();
    let UserAtHost { user, host } = &key;
    let found = state.users.get(&key).ok_or_else(|| error::NONEXISTING_GRANT.with(&[user, host]))?;
    let mut out = Listing::new([text(format!("Grants for {user}@{host}"), 1024)]);
    for statement in found.grants.statements(user, host) {
        out.push(cells![statement]);
    }
    Ok(out)
}

/// SHOW PRIVILEGES.
pub(super) fn privileges() -> Listing {
    let mut out = Listing::new([text("Privilege", 64), text("Context", 128), text("Comment", 256)]);
    let mut rows: Vec<_> = STATIC.iter().map(|p| (capitalized(p.name), p.context, p.comment)).collect();
    let of_grants = "Databases,Tables,Functions,Procedures";
    rows.push(("Grant option".to_owned(), of_grants, "To give to other users those privileges you possess"));
    rows.push(("Usage".to_owned(), "Server Admin", "No privileges - allow connect only"));
    rows.sort();
    for (name, context, comment) in rows {
        out.push(cells![name, context, comment]);
    }
    for name in DYNAMIC {
        out.push(cells![*name, "Server Admin", ""]);
    }
    out
}

/// `CREATE USER` as `Create user`.
fn capitalized(name: &str) -> String {
    let (first, rest) = name.split_at(1);
    first.to_owned() + &rest.to_ascii_lowercase()
}
