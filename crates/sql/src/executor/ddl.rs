//! Executing DDL: plan, lock, commit, publish (the story is in [`crate::catalog`]).

use std::sync::Arc;

use storage::WriteBatch;

use crate::ast::{
    Account, AlterUser, Authentication, Secret, Statement, StatementKind, Text, UserOptions, UserSpec,
};
use crate::catalog::ddl::{self, Plan};
use crate::catalog::{TableDef, record};
use crate::error::Result;
use crate::session::{Context, lock_tables};
use crate::status::Counter;

/// Executes a DDL statement. What was open is committed already.
pub(super) fn execute(cx: &mut Context, statement: &Statement, text: &[u8]) -> Result<()> {
    count(cx, &statement.kind);
    if needs_administrator(cx, &statement.kind) {
        cx.need_administrator("CREATE USER")?;
    }
    run(cx, statement, text)
}

fn run(cx: &mut Context, statement: &Statement, text: &[u8]) -> Result<()> {
    let database = cx.database.clone();
    let settings = cx.settings();
    loop {
        let hasher = |plugin: &str, password: &[u8]| database.hash_password(plugin, password);
        // Before the locks: whom to lock. The plan is made again under the latch, for what was seen may be gone by then.
        let first = ddl::plan(statement, text, &cx.catalog().state(), &settings, &hasher)?;
        let tables = first.tables();
        let _locks = lock_tables(cx, tables.clone())?;
        let catalog = database.catalog();
        let _one_at_a_time = catalog.lock_ddl();
        let plan = ddl::plan(statement, text, &catalog.state(), &settings, &hasher)?;
        if !same_tables(&tables, &plan.tables()) {
            continue;
        }
        for note in &plan.notes {
            cx.diagnostics.note(note.clone());
        }
        cx.status.affected = plan.affected;
        commit(cx, &plan, statement.span.of(text))?;
        catalog.publish(&plan.changes);
        forget_database(cx, &statement.kind);
        return Ok(());
    }
}

fn same_tables(a: &[Arc<TableDef>], b: &[Arc<TableDef>]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| Arc::ptr_eq(a, b))
}

/// Logs the statement and writes the catalog's records, at one position.
fn commit(cx: &Context, plan: &Plan, own: &[u8]) -> Result<()> {
    if plan.changes.is_empty() {
        return Ok(());
    }
    let mut batch = WriteBatch::new();
    plan.changes.iter().for_each(|change| record::write(change, &mut batch));
    let sql = plan.logged.clone().unwrap_or_else(|| own.to_vec());
    let mut event = cx.query_event(sql);
    if is_about_routines_or_users(plan) {
        let (user, host) = &cx.account;
        event.status.invoker = Some(binlog::event::Account {
            user: user.as_bytes().to_vec().into(),
            host: host.as_bytes().to_vec().into(),
        });
    }
    cx.database.engine().commit_ddl(cx.group_context(), &event, batch, None)?;
    Ok(())
}

fn is_about_routines_or_users(plan: &Plan) -> bool {
    use crate::catalog::Change as C;
    plan.changes
        .iter()
        .any(|c| matches!(c, C::PutFunction(_) | C::DropFunction(..) | C::PutUser(_) | C::DropUser(..)))
}

/// The default database is gone with its database.
fn forget_database(cx: &mut Context, kind: &StatementKind) {
    if let StatementKind::DropDatabase { name, .. } = kind
        && cx.default_database() == Some(name.as_str())
    {
        cx.set_default_database(None);
    }
}

/// SET PASSWORD is ALTER USER.
pub(super) fn set_password(cx: &mut Context, user: Option<&Account>, password: Option<&[u8]>) -> Result<()> {
    cx.count(Counter::ComSetPassword);
    let secret = password.map_or(Secret::Random, |p| Secret::Password(Text::new(p)));
    let spec = UserSpec {
        user: user.cloned().unwrap_or(Account::CurrentUser),
        factors: vec![Authentication { plugin: None, secret }],
        replace: None,
        retain_current: false,
        discard_old: false,
    };
    let alter = AlterUser {
        if_exists: false,
        users: vec![spec],
        default_role: None,
        options: UserOptions::default(),
    };
    if !is_own_password(cx, &alter) {
        cx.need_administrator("CREATE USER")?;
    }
    let kind = StatementKind::AlterUser(Box::new(alter));
    run(cx, &Statement { kind, span: crate::ast::Span::default(), parameters: 0 }, &[])
}

fn needs_administrator(cx: &Context, kind: &StatementKind) -> bool {
    use StatementKind as S;
    match kind {
        S::AlterUser(alter) => !is_own_password(cx, alter),
        S::CreateUser(_) | S::DropUser { .. } | S::RenameUser(_) | S::Grant(_) | S::Revoke(_) => true,
        _ => false,
    }
}

/// Everybody may change their own password, and nothing else of their account.
fn is_own_password(cx: &Context, alter: &AlterUser) -> bool {
    let is_own = |account: &Account| match account {
        Account::CurrentUser => true,
        Account::Named { user, host } => {
            **user == *cx.account.0.as_bytes() && **host == *cx.account.1.as_bytes()
        }
    };
    alter.options == UserOptions::default()
        && alter.default_role.is_none()
        && alter.users.iter().all(|spec| is_own(&spec.user))
}

fn count(cx: &Context, kind: &StatementKind) {
    use StatementKind as S;
    cx.count(match kind {
        S::CreateDatabase(_) => Counter::ComCreateDb,
        S::AlterDatabase { .. } => Counter::ComAlterDatabase,
        S::DropDatabase { .. } => Counter::ComDropDb,
        S::CreateTable(_) => Counter::ComCreateTable,
        S::DropTable(_) => Counter::ComDropTable,
        S::TruncateTable(_) => Counter::ComTruncate,
        S::RenameTable(_) => Counter::ComRenameTable,
        S::CreateRoutine(_) => Counter::ComCreateFunction,
        S::DropRoutine { .. } => Counter::ComDropFunction,
        S::CreateUser(_) => Counter::ComCreateUser,
        S::AlterUser(_) => Counter::ComAlterUser,
        S::DropUser { .. } => Counter::ComDropUser,
        S::RenameUser(_) => Counter::ComRenameUser,
        S::Revoke(_) => Counter::ComRevoke,
        _ => Counter::ComGrant,
    });
}
