//! Accounts for authentication, from the catalog.

use std::borrow::Cow;

use datum::types::Collation;
use protocol::{Account, AccountSource, Decoys, Plugin};
use sql::Instance;
use sql::variables::ids;

/// The catalog as authentication sees it.
pub(crate) struct Accounts<'a>(pub &'a Instance);

impl Accounts<'_> {
    /// True if root could come in without a password.
    pub(crate) fn root_has_no_password(&self) -> bool {
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

    fn name<'a>(&self, name: &'a [u8], collation: Option<u16>) -> Cow<'a, [u8]> {
        match collation.and_then(Collation::by_id) {
            Some(collation) => sql::to_utf8_lossy(name, collation.charset()),
            None => name.into(),
        }
    }

    fn decoys(&self) -> Decoys {
        let (accounts, native) = self.0.count_accounts(Plugin::Native.name());
        // Only clients that have logged in get the server's UUID.
        let secret = self.0.globals().text(ids::SERVER_UUID).as_bytes().to_vec();
        Decoys { accounts, native, secret }
    }
}
