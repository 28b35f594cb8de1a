//! Accounts: whose rights, and which.

use crate::admin::listing::{Listing, cells, text};
use crate::admin::need;
use crate::ast::Account;
use crate::catalog::show;
use crate::error::{self, Result};
use crate::session::Context;

/// User and host of the account that was named. Other accounts than one's own are an administrator's business.
pub(super) fn named(cx: &Context, account: &Account) -> Result<(String, String)> {
    let Account::Named { user, host } = account else { return Ok(cx.account.clone()) };
    let key = (user.to_str_lossy().into_owned(), host.to_str_lossy().into_owned());
    if key != cx.account {
        need(cx, "SELECT on the accounts")?;
    }
    Ok(key)
}

/// SHOW GRANTS: an account may do everything, or work with all data but not administrate the server.
pub(super) fn grants(cx: &Context, account: &Account) -> Result<Listing> {
    let key = named(cx, account)?;
    let state = cx.catalog().state();
    let (user, host) = &key;
    let found = state.users.get(&key).ok_or_else(|| error::NONEXISTING_GRANT.with(&[user, host]))?;
    let mut out = Listing::new([text(format!("Grants for {user}@{host}"), 1024)]);
    let account = format!("{}@{}", show::quote(user), show::quote(host));
    out.push(match found.administrator {
        true => cells![format!("GRANT ALL PRIVILEGES ON *.* TO {account} WITH GRANT OPTION")],
        false => cells![format!("GRANT USAGE ON *.* TO {account}")],
    });
    Ok(out)
}

/// SHOW PRIVILEGES: those that are enforced.
pub(super) fn privileges() -> Listing {
    let mut out = Listing::new([text("Privilege", 64), text("Context", 128), text("Comment", 256)]);
    out.push(cells!["All", "Server Admin", "To do everything"]);
    out.push(cells!["Usage", "Server Admin", "To connect, and to work with all databases"]);
    out
}
