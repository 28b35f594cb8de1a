//! The session's privileges: those of its account, as of the statement that runs.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::Context;
use crate::catalog::{Catalog, UserAtHost};
use crate::privilege::Grants;
use datum::error::{self, Result};
use syntax::ast::{SetItem, StatementKind};

/// An account's grants, and the catalog's epoch that they are of.
pub(super) struct CachedGrants {
    /// `None` for a session of the server itself, whose rights do not change.
    epoch: Option<u64>,
    grants: Arc<Grants>,
    /// The password has expired and was not changed since.
    expired: bool,
}

impl CachedGrants {
    pub(super) fn of(catalog: &Catalog, account: &UserAtHost) -> Self {
        // The epoch is read first: what changes after it is looked up again.
        let epoch = catalog.accounts_epoch().load(Ordering::Acquire);
        let state = catalog.state();
        let user = state.users.get(account);
        let grants = user.map(|user| user.grants.clone()).unwrap_or_default();
        Self { epoch: Some(epoch), grants, expired: user.is_some_and(|user| user.options.expired) }
    }
}

impl CachedGrants {
    /// Those of the server itself.
    pub(super) fn everything() -> Self {
        Self { epoch: None, grants: Arc::new(Grants::everything()), expired: false }
    }

    pub(super) fn expired(&self) -> bool {
        self.expired
    }
}

impl Context {
    /// What the account may do now; nothing once it has been dropped.
    pub(crate) fn grants(&mut self) -> &Arc<Grants> {
        let epoch = self.catalog().accounts_epoch().load(Ordering::Acquire);
        if self.connection.cached_grants.epoch.is_some_and(|known| known != epoch) {
            self.connection.cached_grants = CachedGrants::of(self.catalog(), &self.connection.account);
        }
        &self.connection.cached_grants.grants
    }

    /// Error 1820 if the session began with a password that had expired, and has not changed it.
    pub(crate) fn check_password_valid(&mut self, kind: &StatementKind) -> Result<()> {
        use StatementKind as S;
        if !self.connection.began_expired {
            return Ok(());
        }
        self.grants();
        self.connection.began_expired = self.connection.cached_grants.expired;
        match kind {
            S::AlterUser(_) => Ok(()),
            S::Set(items) if matches!(items[..], [SetItem::Password { .. }]) => Ok(()),
            _ if self.connection.began_expired => Err(error::MUST_CHANGE_PASSWORD.plain()),
            _ => Ok(()),
        }
    }

    /// What may be done now: what the account could do when the statement began, or the definer of
    /// the function that runs.
    pub(crate) fn grants_now(&self) -> &Grants {
        let inside = self.statement.frames.last().and_then(|frame| frame.grants());
        inside.unwrap_or(&self.connection.cached_grants.grants)
    }
}
