//! Who may make, change and remove accounts, and give and take privileges.
//!
//! (S1) An account with SYSTEM_USER is changed, killed and named as a definer only by accounts that
//!      have SYSTEM_USER.

use super::check::Checker;
use super::find;
use super::set::{Dynamic, Privileges as P};
use crate::catalog::UserAtHost;
use crate::session::Context;
use datum::error::{self, Result};
use syntax::ast::{
    Account, AlterUser, GrantObject, GrantWhat, Privilege, Secret, StatementKind, UserOptions, UserSpec,
};

const SYSTEM_USER: &str = "SYSTEM_USER";

impl Checker<'_> {
    /// Statements about accounts.
    pub(super) fn accounts(&self, kind: &StatementKind) -> Result<()> {
        use StatementKind as S;
        match kind {
            S::CreateUser(create) => {
                self.account_right(P::INSERT)?;
                let named = create.users.iter().map(|spec| &spec.user);
                named.clone().try_for_each(|account| self.over_named(account))?;
                named.into_iter().try_for_each(|account| self.not_definer("CREATE USER", account))
            }
            S::AlterUser(alter) if is_own_password(self.cx, alter) => Ok(()),
            S::AlterUser(alter) => {
                self.account_right(P::UPDATE)?;
                alter.users.iter().try_for_each(|spec| self.over_named(&spec.user))
            }
            S::DropUser { names: users, .. } => {
                self.account_right(P::DELETE)?;
                users.iter().try_for_each(|account| self.over_named(account))?;
                users.iter().try_for_each(|account| self.not_definer("DROP USER", account))
            }
            S::RenameUser(pairs) => {
                self.account_right(P::UPDATE)?;
                pairs.iter().try_for_each(|(from, _)| self.over_named(from))?;
                pairs.iter().try_for_each(|(from, _)| self.not_definer("RENAME USER", from))
            }
            S::CreateRole { .. } => self.global(P::CREATE_ROLE | P::CREATE_USER, "CREATE USER, CREATE ROLE"),
            S::DropRole { names, .. } => {
                self.global(P::DROP_ROLE | P::CREATE_USER, "CREATE USER, DROP ROLE")?;
                names.iter().try_for_each(|account| self.over_named(account))?;
                // DROP ROLE alone is for roles, which are locked accounts; who lacks CREATE USER is
                // not shown what it is.
                match names.iter().any(|account| self.is_unlocked(account)) {
                    true => self.global(P::CREATE_USER, "CREATE USER"),
                    false => Ok(()),
                }
            }
            S::Grant(grant) => {
                self.gives(&grant.what)?;
                grant.to.iter().try_for_each(|account| self.over_named(account))
            }
            S::Revoke(revoke) => {
                match &revoke.what {
                    GrantWhat::Privileges { privileges, object: GrantObject::Global }
                        if privileges.iter().any(|p| p.name.is("ALL")) =>
                    {
                        self.account_right(P::UPDATE)?;
                    }
                    what => self.gives(what)?,
                }
                revoke.from.iter().try_for_each(|account| self.over_named(account))
            }
            _ => Ok(()),
        }
    }

    /// CREATE USER, or this privilege on the tables of accounts.
    fn account_right(&self, of_table: P) -> Result<()> {
        match self.grants.in_database("mysql").has(of_table) {
            true => Ok(()),
            false => self.global(P::CREATE_USER, "CREATE USER"),
        }
    }

    /// SET PASSWORD of an account.
    pub(super) fn set_password(&self, alter: &AlterUser) -> Result<()> {
        if is_own_password(self.cx, alter) {
            return Ok(());
        }
        if !self.grants.in_database("mysql").has(P::UPDATE) {
            return Err(self.no_database("mysql"));
        }
        alter.users.iter().try_for_each(|spec| self.over_named(&spec.user))
    }

    pub(super) fn key_of(&self, account: &Account) -> UserAtHost {
        match account {
            Account::CurrentUser => self.cx.connection.account.clone(),
            Account::Named { user, host } => {
                UserAtHost::new(user.to_str_lossy(), host.to_str_lossy().to_ascii_lowercase())
            }
        }
    }

    fn over_named(&self, account: &Account) -> Result<()> {
        self.over(&self.key_of(account))
    }

    /// True if there is such an account, and it may log in.
    fn is_unlocked(&self, account: &Account) -> bool {
        let key = self.key_of(account);
        self.cx.catalog().state().users.get(&key).is_some_and(|user| !user.options.locked)
    }

    /// (S1)
    pub(super) fn over(&self, account: &UserAtHost) -> Result<()> {
        match is_system_user(self.cx, account) {
            true => self.any(P::NONE, SYSTEM_USER, SYSTEM_USER),
            false => Ok(()),
        }
    }

    /// Error 4006: who takes or frees the name of a definer decides whose rights its functions
    /// and views have.
    fn not_definer(&self, verb: &str, account: &Account) -> Result<()> {
        let key = self.key_of(account);
        let state = self.cx.catalog().state();
        let mut functions = state
            .databases
            .values()
            .flat_map(|database| database.functions.values().chain(database.procedures.values()));
        let mut views = state.databases.values().flat_map(|database| database.views.values());
        let what = if functions.any(|function| function.definer == key) {
            "a stored routine"
        } else if views.any(|view| view.definer == key) {
            "a view"
        } else {
            return Ok(());
        };
        if self.any(P::NONE, "ALLOW_NONEXISTENT_DEFINER", "").is_ok() {
            return Ok(());
        }
        let shown = format!("'{}'@'{}'", key.user, key.host);
        Err(error::CANNOT_USER_REFERENCED_AS_DEFINER.with(&[&verb, &shown, &what]))
    }

    /// One can give and take only what one has, with GRANT OPTION.
    fn gives(&self, what: &GrantWhat) -> Result<()> {
        match what {
            GrantWhat::Privileges { privileges, object: GrantObject::Global } => {
                self.gives_global(privileges)
            }
            GrantWhat::Privileges { privileges, object: GrantObject::Database(name) } => {
                let Some(name) = self.named(name.as_deref()) else { return Ok(()) };
                let wanted = static_set(privileges, P::OF_DATABASE);
                match self.grants.in_databases_like(name).has(wanted | P::GRANT) {
                    true => Ok(()),
                    false => Err(self.no_database(name)),
                }
            }
            GrantWhat::Privileges { privileges, object: GrantObject::Routine(kind, name) } => {
                let wanted = static_set(privileges, super::OF_ROUTINE);
                self.routine(wanted | P::GRANT, *kind, name)
            }
            GrantWhat::Everything => self.account_right(P::UPDATE),
            _ => Ok(()), // refused by name
        }
    }

    fn gives_global(&self, privileges: &[Privilege]) -> Result<()> {
        let wanted = static_set(privileges, P::ALL);
        let only_dynamic = privileges.iter().all(|p| Dynamic::named(&p.name).is_some());
        if !only_dynamic && !self.grants.global.has(wanted | P::GRANT) {
            return Err(self.access_denied());
        }
        // ALL is every dynamic one too: nobody gives away what they do not have.
        let mut named = privileges.iter().flat_map(|p| match Dynamic::named(&p.name) {
            Some(dynamic) => dynamic.names().collect::<Vec<_>>(),
            None if p.name.is("ALL") => Dynamic::ALL.names().collect(),
            None => Vec::new(),
        });
        let lacks = |name: &&str| Dynamic::named(name).is_some_and(|d| !self.grants.grantable.has(d));
        match named.find(lacks) {
            Some(lacking) => {
                let shown = format!("GRANT OPTION for {lacking}");
                Err(error::SPECIFIC_ACCESS_DENIED_ERROR.with(&[&shown]))
            }
            None => Ok(()),
        }
    }
}

/// The static ones of a list; `ALL` means `all`.
fn static_set(privileges: &[Privilege], all: P) -> P {
    let one = |p: &Privilege| if p.name.is("ALL") { Some(all) } else { find(&p.name) };
    privileges.iter().filter_map(one).fold(P::NONE, |sum, one| sum | one).without(P::GRANT)
}

/// True if the account has SYSTEM_USER.
fn is_system_user(cx: &Context, account: &UserAtHost) -> bool {
    let system_user = Dynamic::named(SYSTEM_USER).unwrap_or(Dynamic::NONE);
    cx.catalog().state().users.get(account).is_some_and(|user| user.grants.dynamic.has(system_user))
}

pub(super) fn is_own(cx: &Context, account: &Account) -> bool {
    match account {
        Account::CurrentUser => true,
        Account::Named { user, host } => {
            **user == *cx.connection.account.user.as_bytes()
                && host.to_str_lossy().eq_ignore_ascii_case(&cx.connection.account.host)
        }
    }
}

/// Everybody may change their own password, and nothing else of their account: neither its plugin
/// nor the hash as such, of which nobody knows a password.
fn is_own_password(cx: &Context, alter: &AlterUser) -> bool {
    let is_password = |spec: &UserSpec| {
        spec.factors
            .iter()
            .all(|f| f.plugin.is_none() && matches!(f.secret, Secret::Password(_) | Secret::Random))
    };
    alter.options == UserOptions::default()
        && alter.users.iter().all(|spec| is_own(cx, &spec.user) && is_password(spec))
}

impl Context {
    /// Error 1227 unless the session's account may do what it likes with this one (S1).
    pub(crate) fn need_power_over(&self, account: &UserAtHost) -> Result<()> {
        Checker { cx: self, grants: self.grants_now() }.over(account)
    }
}
