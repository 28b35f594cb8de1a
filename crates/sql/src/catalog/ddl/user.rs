//! CREATE, ALTER, DROP and RENAME USER; GRANT in its simplest form.
//!
//! An account has all privileges (`GRANT ALL ON *.*`), or those of an ordinary user: everything but administration. Finer
//! privileges are refused, so that nobody relies on what is not enforced. In the log passwords are what the plugin keeps.

use super::{PasswordHasher, Plan, Settings, quoted_account};
use crate::ast::{
    Account, AlterUser, Authentication, CreateUser, Grant, GrantObject, GrantWhat, Revoke, Secret,
    UserOptions, UserSpec,
};
use crate::catalog::objects::{State, UserDef};
use crate::catalog::record::Change;
use crate::catalog::show;
use crate::error::{self, Result, SqlError};

const DEFAULT_PLUGIN: &str = "caching_sha2_password";
const PLUGINS: [&str; 2] = [DEFAULT_PLUGIN, "mysql_native_password"];

/// User and host.
fn resolve(account: &Account, settings: &Settings) -> (String, String) {
    match account {
        Account::CurrentUser => settings.account.clone(),
        Account::Named { user, host } => {
            (user.to_str_lossy().into_owned(), host.to_str_lossy().to_ascii_lowercase())
        }
    }
}

fn refuse_options(options: &UserOptions) -> Result<()> {
    let refused = if options.require.as_ref().is_some_and(|r| *r != crate::ast::Require::None) {
        "REQUIRE"
    } else if options.resources.iter().any(|(_, n)| *n > 0) {
        "resource limits of accounts"
    } else if !options.password.is_empty() {
        "password options of accounts"
    } else if options.comment.is_some() || options.attribute.is_some() {
        "COMMENT and ATTRIBUTE of accounts"
    } else {
        return Ok(());
    };
    Err(SqlError::unsupported(refused))
}

fn authenticate(user: &mut UserDef, spec: &UserSpec, hasher: PasswordHasher<'_>) -> Result<()> {
    if spec.retain_current || spec.discard_old {
        return Err(SqlError::unsupported("dual passwords"));
    }
    let factor = match spec.factors.as_slice() {
        [] => return Ok(()),
        [one] => one,
        _ => return Err(SqlError::unsupported("several authentication factors")),
    };
    let Authentication { plugin, secret } = factor;
    if let Some(plugin) = plugin {
        let known = PLUGINS.iter().find(|p| plugin.is(p));
        let e = || error::PLUGIN_IS_NOT_LOADED.with(&[plugin]);
        user.plugin = (*known.ok_or_else(e)?).to_owned();
    }
    user.auth_string = match secret {
        Secret::None => Vec::new(),
        Secret::Password(password) if password.is_empty() => Vec::new(),
        Secret::Password(password) => hasher(&user.plugin, password)?,
        Secret::Hash(hash) => hash.to_vec(),
        Secret::Random => return Err(SqlError::unsupported("random passwords")),
    };
    Ok(())
}

/// `'user'@'host' IDENTIFIED WITH 'plugin' AS 'hash'`
fn identified(user: &UserDef) -> String {
    let hash = String::from_utf8_lossy(&user.auth_string).into_owned();
    let account = quoted_account((&user.user, &user.host));
    let plugin = show::quote_text(&user.plugin);
    if hash.is_empty() {
        return format!("{account} IDENTIFIED WITH {plugin}");
    }
    format!("{account} IDENTIFIED WITH {plugin} AS {}", show::quote_text(&hash))
}

/// The text of CREATE USER, as SHOW CREATE USER and the log have it.
pub fn text(verb: &str, users: &[UserDef], lock: Option<bool>) -> String {
    let users: Vec<String> = users.iter().map(identified).collect();
    let lock = match lock {
        Some(true) => " ACCOUNT LOCK",
        Some(false) => " ACCOUNT UNLOCK",
        None => "",
    };
    format!("{verb} USER {}{lock}", users.join(", "))
}

fn failed(operation: &str, accounts: &[(String, String)]) -> SqlError {
    let shown: Vec<String> = accounts.iter().map(|(u, h)| quoted_account((u, h))).collect();
    error::CANNOT_USER.with(&[&operation, &shown.join(",")])
}

pub(super) fn create(
    create: &CreateUser,
    state: &State,
    settings: &Settings,
    hasher: PasswordHasher<'_>,
) -> Result<Plan> {
    refuse_options(&create.options)?;
    if !create.default_roles.is_empty() {
        return Err(SqlError::unsupported("roles"));
    }
    let mut plan = Plan::default();
    let (mut made, mut present) = (Vec::new(), Vec::new());
    for spec in &create.users {
        let (user, host) = resolve(&spec.user, settings);
        if state.users.contains_key(&(user.clone(), host.clone())) {
            present.push((user, host));
            continue;
        }
        let mut new = UserDef {
            user,
            host,
            plugin: DEFAULT_PLUGIN.to_owned(),
            auth_string: Vec::new(),
            locked: create.options.locked == Some(true),
            administrator: false,
        };
        authenticate(&mut new, spec, hasher)?;
        plan.changes.push(Change::PutUser(new.clone()));
        made.push(new);
    }
    if !present.is_empty() {
        if !create.if_not_exists {
            return Err(failed("CREATE USER", &present));
        }
        let note = |(u, h): &(String, String)| error::USER_ALREADY_EXISTS.with(&[&quoted_account((u, h))]);
        plan.notes = present.iter().map(note).collect();
    }
    plan.logged = Some(text("CREATE", &made, create.options.locked).into_bytes());
    Ok(plan)
}

pub(super) fn alter(
    alter: &AlterUser,
    state: &State,
    settings: &Settings,
    hasher: PasswordHasher<'_>,
) -> Result<Plan> {
    refuse_options(&alter.options)?;
    if alter.default_role.is_some() {
        return Err(SqlError::unsupported("roles"));
    }
    let mut plan = Plan::default();
    let (mut changed, mut missing) = (Vec::new(), Vec::new());
    for spec in &alter.users {
        let (user, host) = resolve(&spec.user, settings);
        let Some(found) = state.users.get(&(user.clone(), host.clone())) else {
            missing.push((user, host));
            continue;
        };
        let mut new = found.clone();
        authenticate(&mut new, spec, hasher)?;
        new.locked = alter.options.locked.unwrap_or(new.locked);
        plan.changes.push(Change::PutUser(new.clone()));
        changed.push(new);
    }
    if !missing.is_empty() {
        if !alter.if_exists {
            return Err(failed("ALTER USER", &missing));
        }
        let note = |(u, h): &(String, String)| error::USER_DOES_NOT_EXIST.with(&[&quoted_account((u, h))]);
        plan.notes = missing.iter().map(note).collect();
    }
    plan.logged = Some(text("ALTER", &changed, alter.options.locked).into_bytes());
    Ok(plan)
}

pub(super) fn drop(names: &[Account], if_exists: bool, state: &State, settings: &Settings) -> Result<Plan> {
    let mut plan = Plan::default();
    let mut missing = Vec::new();
    for name in names {
        let (user, host) = resolve(name, settings);
        if state.users.contains_key(&(user.clone(), host.clone())) {
            plan.changes.push(Change::DropUser(user, host));
        } else {
            missing.push((user, host));
        }
    }
    keep_administrator("DROP USER", &plan, state)?;
    if missing.is_empty() {
        return Ok(plan);
    }
    if !if_exists {
        return Err(failed("DROP USER", &missing));
    }
    let note = |(u, h): &(String, String)| error::USER_DOES_NOT_EXIST.with(&[&quoted_account((u, h))]);
    plan.notes = missing.iter().map(note).collect();
    Ok(plan)
}

pub(super) fn rename(pairs: &[(Account, Account)], state: &State, settings: &Settings) -> Result<Plan> {
    let mut plan = Plan::default();
    let mut users = state.users.clone();
    for (from, to) in pairs {
        let (from, to) = (resolve(from, settings), resolve(to, settings));
        if users.contains_key(&to) {
            return Err(failed("RENAME USER", &[from]));
        }
        let Some(mut user) = users.remove(&from) else { return Err(failed("RENAME USER", &[from])) };
        user.user = to.0.clone();
        user.host = to.1.clone();
        users.insert(to, user.clone());
        plan.changes.push(Change::DropUser(from.0, from.1));
        plan.changes.push(Change::PutUser(user));
    }
    Ok(plan)
}

fn is_everything(what: &GrantWhat) -> bool {
    match what {
        GrantWhat::Privileges { privileges, object: GrantObject::Global } => {
            privileges.len() == 1 && privileges[0].name.is("ALL") && privileges[0].columns.is_empty()
        }
        GrantWhat::Everything => true,
        _ => false,
    }
}

pub(super) fn revoke(revoke: &Revoke, state: &State, settings: &Settings) -> Result<Plan> {
    if !is_everything(&revoke.what) {
        return Err(SqlError::unsupported("REVOKE of anything but ALL ON *.*"));
    }
    let mut plan = Plan::default();
    for account in &revoke.from {
        let key = resolve(account, settings);
        match state.users.get(&key) {
            Some(user) => {
                plan.changes.push(Change::PutUser(UserDef { administrator: false, ..user.clone() }))
            }
            None if revoke.ignore_unknown_user => {
                plan.notes.push(error::USER_DOES_NOT_EXIST.with(&[&quoted_account((&key.0, &key.1))]));
            }
            None => return Err(error::NONEXISTING_GRANT.with(&[&key.0, &key.1])),
        }
    }
    keep_administrator("REVOKE", &plan, state)?;
    Ok(plan)
}

/// Error 1396 if nobody would be left who can change accounts.
fn keep_administrator(operation: &str, plan: &Plan, state: &State) -> Result<()> {
    let mut users = state.users.clone();
    for change in &plan.changes {
        match change {
            Change::DropUser(user, host) => {
                users.remove(&(user.clone(), host.clone()));
            }
            Change::PutUser(user) => {
                users.insert((user.user.clone(), user.host.clone()), user.clone());
            }
            _ => {}
        }
    }
    let before = state.users.iter().filter(|(_, user)| user.administrator);
    match users.values().any(|user| user.administrator) {
        true => Ok(()),
        false => Err(failed(operation, &before.map(|(key, _)| key.clone()).collect::<Vec<_>>())),
    }
}

pub(super) fn grant(grant: &Grant, state: &State, settings: &Settings) -> Result<Plan> {
    if !is_everything(&grant.what) {
        return Err(SqlError::unsupported("GRANT of anything but ALL ON *.*"));
    }
    let mut plan = Plan::default();
    for account in &grant.to {
        let key = resolve(account, settings);
        let user = state.users.get(&key).ok_or_else(|| error::CANT_CREATE_USER_WITH_GRANT.plain())?;
        plan.changes.push(Change::PutUser(UserDef { administrator: true, ..user.clone() }));
    }
    Ok(plan)
}
