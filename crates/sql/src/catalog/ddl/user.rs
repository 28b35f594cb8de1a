//! CREATE, ALTER, DROP and RENAME USER. In the log passwords are what the plugin keeps.

use std::sync::Arc;

use super::{LoggedText, PasswordHasher, Plan, Settings};
use crate::catalog::account::{AccountOptions, UserAtHost, UserDef};
use crate::catalog::objects::CatalogState;
use crate::catalog::record::Change;
use crate::catalog::set_aside::ObjectKey;
use crate::catalog::show;
use datum::error::{self, Result, SqlError};
use datum::value::json::{self, Tree};
use syntax::ast::{
    Account, AlterUser, Authentication, CreateUser, PasswordOption, Require, Secret, UserOptions, UserSpec,
};

const DEFAULT_PLUGIN: &str = "caching_sha2_password";
const PLUGINS: [&str; 2] = [DEFAULT_PLUGIN, "mysql_native_password"];

/// The account that was named.
pub(super) fn resolve(account: &Account, settings: &Settings) -> UserAtHost {
    match account {
        Account::CurrentUser => settings.account.clone(),
        Account::Named { user, host } => {
            UserAtHost::new(user.to_str_lossy(), host.to_str_lossy().to_ascii_lowercase())
        }
    }
}

/// What the statement says of its accounts, on top of what is known of one.
fn apply(given: &UserOptions, options: &mut AccountOptions) -> Result<()> {
    match &given.require {
        None => {}
        Some(Require::None) => options.require_tls = false,
        Some(Require::Ssl) => options.require_tls = true,
        Some(Require::X509 | Require::Items(_)) => {
            return Err(SqlError::unsupported("certificates of clients"));
        }
    }
    for (name, number) in &given.resources {
        match name.is("MAX_USER_CONNECTIONS") {
            true => options.connections_max = u32::try_from(*number).unwrap_or(u32::MAX),
            false if *number == 0 => {}
            false => return Err(SqlError::unsupported(format_args!("the resource limit {name}"))),
        }
    }
    for rule in &given.password {
        match rule {
            PasswordOption::Expire => options.expired = true,
            PasswordOption::ExpireDefault => options.expires_never = false,
            PasswordOption::ExpireNever => options.expires_never = true,
            PasswordOption::History(None)
            | PasswordOption::ReuseInterval(None)
            | PasswordOption::RequireCurrent(None)
            | PasswordOption::FailedLoginAttempts(0)
            | PasswordOption::LockTime(Some(0)) => {}
            _ => return Err(SqlError::unsupported("rules for passwords")),
        }
    }
    let comment = given.comment.as_ref().map(|comment| comment.to_str_lossy());
    let comment = comment.map(|comment| format!("{{\"comment\": {}}}", json_string(&comment)));
    let attribute = given.attribute.as_ref().map(|attribute| attribute.to_str_lossy().into_owned());
    for patch in attribute.iter().chain(&comment) {
        options.attribute = Some(merged(options.attribute.as_deref(), patch)?);
    }
    options.locked = given.locked.unwrap_or(options.locked);
    Ok(())
}

/// An account's attribute with another laid over it (RFC 7396); error 3982 unless that is an
/// object.
fn merged(kept: Option<&str>, patch: &str) -> Result<String> {
    let invalid = || error::INVALID_USER_ATTRIBUTE_JSON.plain();
    let kept = json::parse(kept.unwrap_or("{}").as_bytes()).map_err(|_| invalid())?;
    let patch = json::parse(patch.as_bytes()).ok().filter(Tree::is_object).ok_or_else(invalid)?;
    let all = json::merge::patch(kept, patch)?;
    Ok(String::from_utf8_lossy(&json::to_text(&json::encode(&all)?)).into_owned())
}

fn json_string(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out += "\\n",
            '\r' => out += "\\r",
            '\t' => out += "\\t",
            c if c < ' ' => out += &format!("\\u{:04x}", u32::from(c)),
            c => out.push(c),
        }
    }
    out + "\""
}

/// The options as the log has them: those that the statement gave.
fn options_text(given: &UserOptions) -> String {
    let mut out = String::new();
    match &given.require {
        Some(Require::Ssl) => out += " REQUIRE SSL",
        Some(_) => out += " REQUIRE NONE",
        None => {}
    }
    let limits: Vec<String> =
        given.resources.iter().map(|(name, number)| format!("{name} {number}")).collect();
    if !limits.is_empty() {
        out += &format!(" WITH {}", limits.join(" "));
    }
    for rule in &given.password {
        out += match rule {
            PasswordOption::Expire => " PASSWORD EXPIRE",
            PasswordOption::ExpireNever => " PASSWORD EXPIRE NEVER",
            PasswordOption::ExpireDefault => " PASSWORD EXPIRE DEFAULT",
            _ => "", // the others say what is so anyhow
        };
    }
    match given.locked {
        Some(true) => out += " ACCOUNT LOCK",
        Some(false) => out += " ACCOUNT UNLOCK",
        None => {}
    }
    if let Some(attribute) = &given.attribute {
        out += &format!(" ATTRIBUTE {}", show::quote_text(&attribute.to_str_lossy()));
    }
    if let Some(comment) = &given.comment {
        out += &format!(" COMMENT {}", show::quote_text(&comment.to_str_lossy()));
    }
    out
}

fn authenticate(user: &mut UserDef, spec: &UserSpec, hasher: PasswordHasher<'_>) -> Result<()> {
    if spec.retain_current || spec.discard_old {
        return Err(SqlError::unsupported("dual passwords"));
    }
    if spec.replace.is_some() {
        return Err(SqlError::unsupported("REPLACE of the current password"));
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
        // The executor has made one, which is reported to the client.
        Secret::Random => return Err(SqlError::internal("a random password has not been chosen")),
    };
    user.options.expired = false;
    Ok(())
}

/// The statement as the log has it: with what the plugins keep in the places of passwords.
fn logged(verb: &str, users: &[UserDef], options: &UserOptions) -> Option<LoggedText> {
    let users: Vec<String> = users.iter().map(UserDef::identified).collect();
    let sql = format!("{verb} USER {}{}", users.join(", "), options_text(options));
    Some(LoggedText::canonical(sql.into_bytes()))
}

fn failed(operation: &str, accounts: &[UserAtHost]) -> SqlError {
    let shown: Vec<String> = accounts.iter().map(UserAtHost::quoted).collect();
    error::CANNOT_USER.with(&[&operation, &shown.join(",")])
}

pub(super) fn create(
    create: &CreateUser,
    state: &CatalogState,
    settings: &Settings,
    hasher: PasswordHasher<'_>,
) -> Result<Plan> {
    if !create.default_roles.is_empty() {
        return Err(SqlError::unsupported("roles"));
    }
    let mut plan = Plan::default();
    let (mut made, mut present) = (Vec::new(), Vec::new());
    for spec in &create.users {
        let key = resolve(&spec.user, settings);
        state.check_usable(&ObjectKey::user(&key.user, &key.host))?;
        if state.users.contains_key(&key) {
            present.push(key);
            continue;
        }
        let mut new = UserDef {
            user: key.user,
            host: key.host,
            plugin: DEFAULT_PLUGIN.to_owned(),
            auth_string: Vec::new(),
            options: AccountOptions::default(),
            grants: Arc::default(),
        };
        authenticate(&mut new, spec, hasher)?;
        apply(&create.options, &mut new.options)?;
        plan.changes.push(Change::PutUser(new.clone()));
        made.push(new);
    }
    if !present.is_empty() {
        if !create.if_not_exists {
            return Err(failed("CREATE USER", &present));
        }
        let note = |key: &UserAtHost| error::USER_ALREADY_EXISTS.with(&[&key.quoted()]);
        plan.notes = present.iter().map(note).collect();
    }
    plan.logged = logged("CREATE", &made, &create.options);
    Ok(plan)
}

pub(super) fn alter(
    alter: &AlterUser,
    state: &CatalogState,
    settings: &Settings,
    hasher: PasswordHasher<'_>,
) -> Result<Plan> {
    if alter.default_role.is_some() {
        return Err(SqlError::unsupported("roles"));
    }
    let mut plan = Plan::default();
    let (mut changed, mut missing) = (Vec::new(), Vec::new());
    for spec in &alter.users {
        let key = resolve(&spec.user, settings);
        state.check_usable(&ObjectKey::user(&key.user, &key.host))?;
        let Some(found) = state.users.get(&key) else {
            missing.push(key);
            continue;
        };
        let mut new = found.clone();
        authenticate(&mut new, spec, hasher)?;
        apply(&alter.options, &mut new.options)?;
        plan.changes.push(Change::PutUser(new.clone()));
        changed.push((new, !spec.factors.is_empty()));
    }
    if !missing.is_empty() {
        if !alter.if_exists {
            return Err(failed("ALTER USER", &missing));
        }
        let note = |key: &UserAtHost| error::USER_DOES_NOT_EXIST.with(&[&key.quoted()]);
        plan.notes = missing.iter().map(note).collect();
    }
    // An account whose password stays is named alone: naming the password would make an expired one
    // valid.
    let users: Vec<String> = changed
        .iter()
        .map(|(user, identified)| match identified {
            true => user.identified(),
            false => user.key().quoted(),
        })
        .collect();
    plan.logged = Some(LoggedText::canonical(
        format!("ALTER USER {}{}", users.join(", "), options_text(&alter.options)).into_bytes(),
    ));
    Ok(plan)
}

pub(super) fn drop(
    names: &[Account],
    if_exists: bool,
    state: &CatalogState,
    settings: &Settings,
) -> Result<Plan> {
    let mut plan = Plan::default();
    let mut missing = Vec::new();
    for name in names {
        let key = resolve(name, settings);
        if state.users.contains_key(&key) {
            plan.changes.push(Change::DropUser(key));
        } else if let Some(object) = state.set_aside(&ObjectKey::user(&key.user, &key.host)) {
            plan.changes.push(Change::DropSetAside(object.clone()));
        } else {
            missing.push(key);
        }
    }
    check_administrator_remains("DROP USER", &plan, state)?;
    if missing.is_empty() {
        return Ok(plan);
    }
    if !if_exists {
        return Err(failed("DROP USER", &missing));
    }
    let note = |key: &UserAtHost| error::USER_DOES_NOT_EXIST.with(&[&key.quoted()]);
    plan.notes = missing.iter().map(note).collect();
    Ok(plan)
}

/// There are no roles; an account that is none stays.
pub(super) fn drop_roles(
    names: &[Account],
    if_exists: bool,
    state: &CatalogState,
    settings: &Settings,
) -> Result<Plan> {
    let names: Vec<_> = names.iter().map(|name| resolve(name, settings)).collect();
    let accounts: Vec<_> = names.iter().filter(|name| state.users.contains_key(name)).cloned().collect();
    match (accounts.is_empty(), if_exists) {
        (false, _) => Err(failed("DROP ROLE", &accounts)),
        (true, false) => Err(failed("DROP ROLE", &names)),
        (true, true) => {
            let note = |key: &UserAtHost| error::USER_DOES_NOT_EXIST.with(&[&key.quoted()]);
            Ok(Plan { notes: names.iter().map(note).collect(), ..Plan::default() })
        }
    }
}

pub(super) fn rename(
    pairs: &[(Account, Account)],
    state: &CatalogState,
    settings: &Settings,
) -> Result<Plan> {
    let mut plan = Plan::default();
    let mut users = state.users.clone();
    for (from, to) in pairs {
        let (from, to) = (resolve(from, settings), resolve(to, settings));
        state.check_usable(&ObjectKey::user(&from.user, &from.host))?;
        state.check_usable(&ObjectKey::user(&to.user, &to.host))?;
        if users.contains_key(&to) {
            return Err(failed("RENAME USER", &[from]));
        }
        let Some(mut user) = users.remove(&from) else { return Err(failed("RENAME USER", &[from])) };
        user.user = to.user.clone();
        user.host = to.host.clone();
        users.insert(to, user.clone());
        plan.changes.push(Change::DropUser(from));
        plan.changes.push(Change::PutUser(user));
    }
    Ok(plan)
}

/// Error 1396 if nobody would be left who can do everything and give that away.
pub(super) fn check_administrator_remains(operation: &str, plan: &Plan, state: &CatalogState) -> Result<()> {
    let mut users = state.users.clone();
    for change in &plan.changes {
        match change {
            Change::DropUser(key) => {
                users.remove(key);
            }
            Change::PutUser(user) => {
                users.insert(user.key(), user.clone());
            }
            _ => {}
        }
    }
    if users.values().any(|user| user.grants.is_administrator()) {
        return Ok(());
    }
    let before = state.users.values().filter(|user| user.grants.is_administrator()).map(UserDef::key);
    match before.collect::<Vec<_>>() {
        // A new data directory has none yet.
        none if none.is_empty() => Ok(()),
        lost => Err(failed(operation, &lost)),
    }
}
