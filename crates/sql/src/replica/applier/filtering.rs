//! Which statements pass the channel's filters, by MySQL's rules:
//!
//! 1. What begins, divides or ends a transaction always passes.
//! 2. The default database, renamed first, must pass the rules of databases.
//! 3. CREATE, ALTER and DROP DATABASE: where no rule lists databases, the patterns of tables decide
//!    that match the name with a dot after it.
//! 4. Of the tables and views that the statement changes, the first decides that a rule names. One
//!    that names tables and changes none is left out; one that names no table passes.
//! 5. A statement about accounts must pass as one that changes MySQL's tables of accounts, too.

use binlog::event::QueryEvent;
use syntax::ast::{GrantObject, GrantWhat, ObjectName, SetItem, StatementKind as S};

use super::Applier;
use crate::catalog::parse_one;
use crate::privilege::tables_used;
use crate::statement_class::StatementClass;

impl Applier {
    /// Whether a statement is run; it gets the default database that it has here. One that can't be
    /// read passes if its default database does, and fails when it is run.
    pub(super) fn passes_filters(&mut self, query: &mut QueryEvent<'_>) -> bool {
        if self.rules.takes_all() {
            return true;
        }
        let statement = parse_one(&query.sql, query.status.sql_mode.unwrap_or(0)).ok();
        let kind = statement.as_ref().map(|statement| &statement.kind);
        if kind.is_some_and(|kind| StatementClass::of(kind) == StatementClass::TransactionControl) {
            return true;
        }
        let Some(database) = self.rules.default_database(query) else { return false };
        if let Some(database) = database {
            query.database = database.into_bytes().into();
        }
        let default = String::from_utf8_lossy(&query.database);
        match kind {
            None => true,
            Some(kind) if changes_accounts(kind) => {
                let object = granted_table(kind)
                    .is_none_or(|name| self.rules.takes_tables(&[named_in(name, &default)]));
                object && self.rules.takes_tables(&ACCOUNT_TABLES.map(|table| ("mysql", table)))
            }
            Some(S::Set(_)) => true,
            Some(S::CreateDatabase(_) | S::AlterDatabase { .. } | S::DropDatabase { .. }) => {
                default.is_empty() || self.rules.takes_database_definition(&default)
            }
            Some(S::DropTrigger { name, .. }) => {
                let database = name.database.as_deref().unwrap_or(&default);
                let cx = self.session.context();
                let state = cx.catalog().state();
                let found = state.trigger(database, &name.name);
                found.is_none_or(|(table, _)| self.rules.takes_tables(&[(&table.database, &table.name)]))
            }
            Some(kind) => tables_updated(kind).is_none_or(|names| {
                let in_database = |name| named_in(name, &default);
                self.rules.takes_tables(&names.into_iter().map(in_database).collect::<Vec<_>>())
            }),
        }
    }
}

/// MySQL's tables of accounts, in the order in which it asks the rules.
const ACCOUNT_TABLES: [&str; 10] = [
    "user",
    "db",
    "tables_priv",
    "columns_priv",
    "procs_priv",
    "proxies_priv",
    "role_edges",
    "default_roles",
    "global_grants",
    "password_history",
];

fn changes_accounts(kind: &S) -> bool {
    match kind {
        S::CreateUser(_) | S::AlterUser(_) | S::DropUser { .. } | S::RenameUser(_) => true,
        S::CreateRole { .. } | S::DropRole { .. } | S::SetDefaultRole { .. } => true,
        S::Grant(_) | S::Revoke(_) => true,
        S::Set(items) => matches!(items.as_slice(), [SetItem::Password { .. }]),
        _ => false,
    }
}

/// The table that GRANT or REVOKE is about.
fn granted_table(kind: &S) -> Option<&ObjectName> {
    let what = match kind {
        S::Grant(grant) => &grant.what,
        S::Revoke(revoke) => &revoke.what,
        _ => return None,
    };
    match what {
        GrantWhat::Privileges { object: GrantObject::Table(name), .. } => Some(name),
        _ => None,
    }
}

fn named_in<'n>(name: &'n ObjectName, default: &'n str) -> (&'n str, &'n str) {
    (name.database.as_deref().unwrap_or(default), &name.name)
}

/// The tables and views that a statement changes, in its order; `None` if it names none at all.
fn tables_updated(kind: &S) -> Option<Vec<&ObjectName>> {
    match kind {
        S::CreateTable(create) => Some(vec![&create.name]),
        S::CreateView(create) => Some(vec![&create.name]),
        S::DropView { names, .. } => Some(names.iter().collect()),
        // MySQL drops it whatever the rules say, lest it stays.
        S::DropTable(drop) if drop.temporary && drop.if_exists => None,
        S::DropTable(drop) => Some(drop.names.iter().collect()),
        S::RenameTable(pairs) => Some(pairs.iter().flat_map(|(from, to)| [from, to]).collect()),
        _ => {
            let used = tables_used(kind, &|_, _| false);
            let is_empty = used.is_empty();
            let updated = used.into_iter().filter(|used| used.writes).map(|used| used.name).collect();
            (!is_empty).then_some(updated)
        }
    }
}
