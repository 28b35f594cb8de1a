//! Accounts for authentication, from the catalog.

use protocol::{Account, AccountSource, Plugin};
use sql::Database;

/// The catalog as authentication sees it.
pub struct Accounts<'a>(pub &'a Database);

impl Accounts<'_> {
    /// True if root could come in without a password.
    pub fn root_has_no_password(&self) -> bool {
        self.find(b"root", "localhost").is_some_and(|a| a.authentication_string.is_empty() && !a.locked)
    }
}

impl AccountSource for Accounts<'_> {
    fn find(&self, user: &[u8], host: &str) -> Option<Account> {
        let account = self.0.account(std::str::from_utf8(user).ok()?, host)?;
        // An empty password is for this machine only, whatever the account's host part says.
        if account.auth_string.is_empty() && host != "localhost" && account.user == "root" {
            return None;
        }
        Some(Account {
            user: account.user.into_bytes(),
            host: account.host,
            plugin: Plugin::from_name(&account.plugin),
            authentication_string: account.auth_string,
            locked: account.locked,
            require_tls: account.require_tls,
        })
    }
}
