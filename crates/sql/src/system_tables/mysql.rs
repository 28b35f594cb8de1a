//! What tools read of `mysql`: accounts and their privileges, by the names of the manual's grant tables; and logs.

use super::column::columns;
use super::{Each, SystemTable, Wanted, none};
use crate::admin::listing::cells;
use crate::error::Result;
use crate::privilege::Privileges as P;
use crate::session::Context;
use crate::value::Datum;

const NOTHING: [&str; 2] = ["", ""];

/// The logs that MySQL can keep in tables; nothing is logged there.
pub(super) const LOGS: &[SystemTable] = &[
    SystemTable {
        name: "general_log",
        columns: columns! {
            event_time: Timestamp, user_host: Text, thread_id: Biguint, server_id: Uint, command_type: Varchar(64),
            argument: Text,
        },
        keys: NOTHING,
        rows: none,
    },
    SystemTable {
        name: "slow_log",
        columns: columns! {
            start_time: Timestamp, user_host: Text, query_time: Time, lock_time: Time, rows_sent: Int,
            rows_examined: Int, db: Varchar(512), last_insert_id: Int, insert_id: Int, server_id: Uint, sql_text: Text,
            thread_id: Biguint,
        },
        keys: NOTHING,
        rows: none,
    },
];

/// The grant tables, by name.
pub(super) const ACCOUNTS: &[SystemTable] = &[
    SystemTable {
        name: "db",
        columns: columns! {
            Host: Varchar(255), Db: Name, User: Varchar(32), Select_priv: Varchar(1), Insert_priv: Varchar(1),
            Update_priv: Varchar(1), Delete_priv: Varchar(1), Create_priv: Varchar(1), Drop_priv: Varchar(1),
            Grant_priv: Varchar(1), References_priv: Varchar(1), Index_priv: Varchar(1), Alter_priv: Varchar(1),
            Create_tmp_table_priv: Varchar(1), Lock_tables_priv: Varchar(1), Create_view_priv: Varchar(1),
            Show_view_priv: Varchar(1), Create_routine_priv: Varchar(1), Alter_routine_priv: Varchar(1),
            Execute_priv: Varchar(1), Event_priv: Varchar(1), Trigger_priv: Varchar(1),
        },
        keys: NOTHING,
        rows: databases,
    },
    SystemTable {
        name: "default_roles",
        columns: columns! {
            HOST: Varchar(255), USER: Varchar(32), DEFAULT_ROLE_HOST: Varchar(255), DEFAULT_ROLE_USER: Varchar(32),
        },
        keys: NOTHING,
        rows: none,
    },
    SystemTable {
        name: "global_grants",
        columns: columns! {
            USER: Varchar(32), HOST: Varchar(255), PRIV: Varchar(32), WITH_GRANT_OPTION: Varchar(1),
        },
        keys: NOTHING,
        rows: global_grants,
    },
    SystemTable {
        name: "role_edges",
        columns: columns! {
            FROM_HOST: Varchar(255), FROM_USER: Varchar(32), TO_HOST: Varchar(255), TO_USER: Varchar(32),
            WITH_ADMIN_OPTION: Varchar(1),
        },
        keys: NOTHING,
        rows: none,
    },
    SystemTable {
        name: "user",
        columns: columns! {
            Host: Varchar(255), User: Varchar(32), Select_priv: Varchar(1), Insert_priv: Varchar(1),
            Update_priv: Varchar(1), Delete_priv: Varchar(1), Create_priv: Varchar(1), Drop_priv: Varchar(1),
            Reload_priv: Varchar(1), Shutdown_priv: Varchar(1), Process_priv: Varchar(1), File_priv: Varchar(1),
            Grant_priv: Varchar(1), References_priv: Varchar(1), Index_priv: Varchar(1), Alter_priv: Varchar(1),
            Show_db_priv: Varchar(1), Super_priv: Varchar(1), Create_tmp_table_priv: Varchar(1),
            Lock_tables_priv: Varchar(1), Execute_priv: Varchar(1), Repl_slave_priv: Varchar(1),
            Repl_client_priv: Varchar(1), Create_view_priv: Varchar(1), Show_view_priv: Varchar(1),
            Create_routine_priv: Varchar(1), Alter_routine_priv: Varchar(1), Create_user_priv: Varchar(1),
            Event_priv: Varchar(1), Trigger_priv: Varchar(1), Create_tablespace_priv: Varchar(1),
            ssl_type: Varchar(9), ssl_cipher: Text, x509_issuer: Text, x509_subject: Text, max_questions: Uint,
            max_updates: Uint, max_connections: Uint, max_user_connections: Uint, plugin: Varchar(64),
            authentication_string: CaseText or_null, password_expired: Varchar(1),
            password_last_changed: Timestamp or_null, password_lifetime: Uint or_null, account_locked: Varchar(1),
            Create_role_priv: Varchar(1), Drop_role_priv: Varchar(1), Password_reuse_history: Uint or_null,
            Password_reuse_time: Uint or_null, Password_require_current: Varchar(1) or_null,
            User_attributes: Text or_null,
        },
        keys: NOTHING,
        rows: users,
    },
];

/// The privileges that `mysql.user` has columns for, in their order.
const OF_USER: [P; 29] = [
    P::SELECT,
    P::INSERT,
    P::UPDATE,
    P::DELETE,
    P::CREATE,
    P::DROP,
    P::RELOAD,
    P::SHUTDOWN,
    P::PROCESS,
    P::FILE,
    P::GRANT,
    P::REFERENCES,
    P::INDEX,
    P::ALTER,
    P::SHOW_DATABASES,
    P::SUPER,
    P::CREATE_TEMPORARY_TABLES,
    P::LOCK_TABLES,
    P::EXECUTE,
    P::REPLICATION_SLAVE,
    P::REPLICATION_CLIENT,
    P::CREATE_VIEW,
    P::SHOW_VIEW,
    P::CREATE_ROUTINE,
    P::ALTER_ROUTINE,
    P::CREATE_USER,
    P::EVENT,
    P::TRIGGER,
    P::CREATE_TABLESPACE,
];

/// The same for `mysql.db`.
const OF_DATABASE: [P; 19] = [
    P::SELECT,
    P::INSERT,
    P::UPDATE,
    P::DELETE,
    P::CREATE,
    P::DROP,
    P::GRANT,
    P::REFERENCES,
    P::INDEX,
    P::ALTER,
    P::CREATE_TEMPORARY_TABLES,
    P::LOCK_TABLES,
    P::CREATE_VIEW,
    P::SHOW_VIEW,
    P::CREATE_ROUTINE,
    P::ALTER_ROUTINE,
    P::EXECUTE,
    P::EVENT,
    P::TRIGGER,
];

fn yes_no(yes: bool) -> &'static str {
    if yes { "Y" } else { "N" }
}

fn marks(set: P, of: &[P]) -> impl Iterator<Item = Datum<'static>> {
    of.iter().map(move |privilege| Datum::owned(yes_no(set.has(*privilege))))
}

fn users(cx: &mut Context, _: &Wanted, each: Each<'_>) -> Result<()> {
    let state = cx.catalog().state();
    for user in state.users.values() {
        let (o, set) = (&user.options, user.grants.global);
        let mut row = cells![user.host.as_str(), user.user.as_str()];
        row.extend(marks(set, &OF_USER));
        row.extend(cells![if o.require_tls { "ANY" } else { "" }, "", "", ""]);
        row.extend(cells![0_u64, 0_u64, 0_u64, u64::from(o.connections_max)]);
        row.extend(cells![user.plugin.as_str(), user.auth_string.clone(), yes_no(o.expired), None::<&str>]);
        row.extend(cells![o.expires_never.then_some(0_u64), yes_no(o.locked)]);
        row.extend(marks(set, &[P::CREATE_ROLE, P::DROP_ROLE]));
        row.extend(cells![None::<u64>, None::<u64>, None::<&str>]);
        let attributes = o.attribute.as_ref().map(|metadata| format!("{{\"metadata\": {metadata}}}"));
        row.extend(cells![attributes]);
        each(row)?;
    }
    Ok(())
}

fn databases(cx: &mut Context, _: &Wanted, each: Each<'_>) -> Result<()> {
    let state = cx.catalog().state();
    for user in state.users.values() {
        for (database, set) in &user.grants.databases {
            let mut row = cells![user.host.as_str(), database.as_str(), user.user.as_str()];
            row.extend(marks(*set, &OF_DATABASE));
            each(row)?;
        }
    }
    Ok(())
}

fn global_grants(cx: &mut Context, _: &Wanted, each: Each<'_>) -> Result<()> {
    let state = cx.catalog().state();
    for user in state.users.values() {
        for name in user.grants.dynamic.names() {
            let grantable = user.grants.grantable.names().any(|other| other == name);
            each(cells![user.user.as_str(), user.host.as_str(), name, yes_no(grantable)])?;
        }
    }
    Ok(())
}
