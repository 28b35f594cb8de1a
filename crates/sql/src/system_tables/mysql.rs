//! What tools read of `mysql`: accounts and their privileges, by the names of the manual's grant
//! tables; and logs.

use std::time::Duration;

use super::column::{ASCII, N_Y, NAMES, WORDS, columns};
use super::{Each, SystemTable, Wanted, channels, none};
use crate::listing::cells;
use crate::privilege::Privileges as P;
use crate::session::Context;
use datum::error::Result;
use datum::value::Datum;
use datum::value::temporal::{DateTime, Time};

const NOTHING: [&str; 2] = ["", ""];

/// The statement logs, if `log_output` has TABLE.
pub(super) const LOGS: &[SystemTable] = &[
    SystemTable {
        name: "general_log",
        columns: columns! {
            event_time: Timestamp6, user_host: Text, thread_id: Biguint, server_id: Uint, command_type: Varchar(64),
            argument: Text,
        },
        keys: NOTHING,
        rows: general_log,
    },
    SystemTable {
        name: "slow_log",
        columns: columns! {
            start_time: Timestamp6, user_host: Text, query_time: Time6, lock_time: Time6, rows_sent: Int,
            rows_examined: Int, db: Varchar(512), last_insert_id: Int, insert_id: Int, server_id: Uint, sql_text: Text,
            thread_id: Biguint,
        },
        keys: NOTHING,
        rows: slow_log,
    },
];

pub(super) fn moment(cx: &Context, at: u64) -> Datum<'static> {
    let local = cx.settings.zone().to_local(i64::try_from(at).unwrap_or(i64::MAX));
    DateTime::from_unix_micros(local, 6).map_or(Datum::Null, Datum::DateTime)
}

fn general_log(cx: &mut Context, _: &Wanted, each: Each<'_>) -> Result<()> {
    for row in cx.instance.statement_logs().general_rows() {
        each(vec![
            moment(cx, row.at),
            Datum::owned(row.user_host.as_bytes().to_vec()),
            Datum::UInt(row.thread),
            Datum::UInt(row.server),
            Datum::owned(row.command.as_bytes().to_vec()),
            Datum::owned(row.text.to_vec()),
        ])?;
    }
    Ok(())
}

fn time(duration: Duration) -> Datum<'static> {
    let seconds = u32::try_from(duration.as_secs()).unwrap_or(u32::MAX);
    let (hours, minutes) = ((seconds / 3600).min(838), seconds / 60 % 60);
    Datum::Time(Time::new(false, hours, minutes, seconds % 60, duration.subsec_micros(), 6))
}

fn slow_log(cx: &mut Context, _: &Wanted, each: Each<'_>) -> Result<()> {
    // Some columns of MySQL's are no wider than this.
    let int = |n: u64| Datum::Int(i64::from(i32::try_from(n).unwrap_or(i32::MAX)));
    for row in cx.instance.statement_logs().slow_rows() {
        each(vec![
            moment(cx, row.at),
            Datum::owned(row.user_host.as_bytes().to_vec()),
            time(row.took),
            time(row.lock_time),
            int(row.rows_sent),
            int(row.rows_examined),
            Datum::owned(row.database.as_bytes().to_vec()),
            int(row.last_insert_id),
            int(row.insert_id),
            Datum::UInt(row.server),
            Datum::owned(row.text.to_vec()),
            Datum::UInt(row.thread),
        ])?;
    }
    Ok(())
}

/// The grant tables, by name. Accounts have privileges for everything and for databases; those of
/// tables, columns and routines, proxies, roles and loadable functions there are none.
pub(super) const GRANT_TABLES: &[SystemTable] = &[
    SystemTable {
        name: "columns_priv",
        columns: columns! {
            Host: Char(255, ASCII), Db: Char(64, NAMES), User: Char(32, NAMES), Table_name: Char(64, NAMES),
            Column_name: Char(64, NAMES), Timestamp: Timestamp,
            Column_priv: Set(&["Select", "Insert", "Update", "References"], WORDS),
        },
        keys: NOTHING,
        rows: none,
    },
    SystemTable {
        name: "db",
        columns: columns! {
            Host: Char(255, ASCII), Db: Char(64, NAMES), User: Char(32, NAMES), Select_priv: Enum(N_Y, WORDS),
            Insert_priv: Enum(N_Y, WORDS), Update_priv: Enum(N_Y, WORDS), Delete_priv: Enum(N_Y, WORDS),
            Create_priv: Enum(N_Y, WORDS), Drop_priv: Enum(N_Y, WORDS), Grant_priv: Enum(N_Y, WORDS),
            References_priv: Enum(N_Y, WORDS), Index_priv: Enum(N_Y, WORDS), Alter_priv: Enum(N_Y, WORDS),
            Create_tmp_table_priv: Enum(N_Y, WORDS), Lock_tables_priv: Enum(N_Y, WORDS),
            Create_view_priv: Enum(N_Y, WORDS), Show_view_priv: Enum(N_Y, WORDS),
            Create_routine_priv: Enum(N_Y, WORDS), Alter_routine_priv: Enum(N_Y, WORDS),
            Execute_priv: Enum(N_Y, WORDS), Event_priv: Enum(N_Y, WORDS), Trigger_priv: Enum(N_Y, WORDS),
        },
        keys: NOTHING,
        rows: databases,
    },
    SystemTable {
        name: "default_roles",
        columns: columns! {
            HOST: Char(255, ASCII), USER: Char(32, NAMES), DEFAULT_ROLE_HOST: Char(255, ASCII),
            DEFAULT_ROLE_USER: Char(32, NAMES),
        },
        keys: NOTHING,
        rows: none,
    },
    SystemTable {
        name: "func",
        columns: columns! {
            name: Char(64, NAMES), ret: Tinyint, dl: Char(128, NAMES),
            type: Enum(&["function", "aggregate"], WORDS),
        },
        keys: NOTHING,
        rows: none,
    },
    SystemTable {
        name: "global_grants",
        columns: columns! {
            USER: Char(32, NAMES), HOST: Char(255, ASCII), PRIV: Char(32, WORDS),
            WITH_GRANT_OPTION: Enum(N_Y, WORDS),
        },
        keys: NOTHING,
        rows: global_grants,
    },
    SystemTable {
        name: "procs_priv",
        columns: columns! {
            Host: Char(255, ASCII), Db: Char(64, NAMES), User: Char(32, NAMES), Routine_name: Char(64, WORDS),
            Routine_type: Enum(&["FUNCTION", "PROCEDURE", "LIBRARY"], NAMES), Grantor: VarcharOf(288, NAMES),
            Proc_priv: Set(&["Execute", "Alter Routine", "Grant"], WORDS), Timestamp: Timestamp,
        },
        keys: NOTHING,
        rows: routine_grants,
    },
    SystemTable {
        name: "proxies_priv",
        columns: columns! {
            Host: Char(255, ASCII), User: Char(32, NAMES), Proxied_host: Char(255, ASCII),
            Proxied_user: Char(32, NAMES), With_grant: Boolean, Grantor: VarcharOf(288, NAMES),
            Timestamp: Timestamp,
        },
        keys: NOTHING,
        rows: none,
    },
    SystemTable {
        name: "replication_asynchronous_connection_failover",
        columns: columns! {
            Channel_name: Char(64, WORDS), Host: Char(255, ASCII), Port: Uint,
            Network_namespace: Char(64, WORDS), Weight: Utinyint, Managed_name: Char(64, WORDS),
        },
        keys: NOTHING,
        rows: channels::failover_sources,
    },
    SystemTable {
        name: "replication_asynchronous_connection_failover_managed",
        columns: columns! {
            Channel_name: Char(64, WORDS), Managed_name: Char(64, WORDS), Managed_type: Char(64, WORDS),
            Configuration: Json or_null,
        },
        keys: NOTHING,
        rows: none,
    },
    SystemTable {
        name: "role_edges",
        columns: columns! {
            FROM_HOST: Char(255, ASCII), FROM_USER: Char(32, NAMES), TO_HOST: Char(255, ASCII),
            TO_USER: Char(32, NAMES), WITH_ADMIN_OPTION: Enum(N_Y, WORDS),
        },
        keys: NOTHING,
        rows: none,
    },
    SystemTable {
        name: "tables_priv",
        columns: columns! {
            Host: Char(255, ASCII), Db: Char(64, NAMES), User: Char(32, NAMES), Table_name: Char(64, NAMES),
            Grantor: VarcharOf(288, NAMES), Timestamp: Timestamp,
            Table_priv: Set(&["Select", "Insert", "Update", "Delete", "Create", "Drop", "Grant", "References", "Index", "Alter", "Create View", "Show view", "Trigger"], WORDS),
            Column_priv: Set(&["Select", "Insert", "Update", "References"], WORDS),
        },
        keys: NOTHING,
        rows: none,
    },
    SystemTable {
        name: "user",
        columns: columns! {
            Host: Char(255, ASCII), User: Char(32, NAMES), Select_priv: Enum(N_Y, WORDS),
            Insert_priv: Enum(N_Y, WORDS), Update_priv: Enum(N_Y, WORDS), Delete_priv: Enum(N_Y, WORDS),
            Create_priv: Enum(N_Y, WORDS), Drop_priv: Enum(N_Y, WORDS), Reload_priv: Enum(N_Y, WORDS),
            Shutdown_priv: Enum(N_Y, WORDS), Process_priv: Enum(N_Y, WORDS), File_priv: Enum(N_Y, WORDS),
            Grant_priv: Enum(N_Y, WORDS), References_priv: Enum(N_Y, WORDS), Index_priv: Enum(N_Y, WORDS),
            Alter_priv: Enum(N_Y, WORDS), Show_db_priv: Enum(N_Y, WORDS), Super_priv: Enum(N_Y, WORDS),
            Create_tmp_table_priv: Enum(N_Y, WORDS), Lock_tables_priv: Enum(N_Y, WORDS),
            Execute_priv: Enum(N_Y, WORDS), Repl_slave_priv: Enum(N_Y, WORDS),
            Repl_client_priv: Enum(N_Y, WORDS), Create_view_priv: Enum(N_Y, WORDS),
            Show_view_priv: Enum(N_Y, WORDS), Create_routine_priv: Enum(N_Y, WORDS),
            Alter_routine_priv: Enum(N_Y, WORDS), Create_user_priv: Enum(N_Y, WORDS),
            Event_priv: Enum(N_Y, WORDS), Trigger_priv: Enum(N_Y, WORDS),
            Create_tablespace_priv: Enum(N_Y, WORDS), ssl_type: Enum(&["", "ANY", "X509", "SPECIFIED"], WORDS),
            ssl_cipher: Blob, x509_issuer: Blob, x509_subject: Blob, max_questions: Uint, max_updates: Uint,
            max_connections: Uint, max_user_connections: Uint, plugin: Char(64, NAMES),
            authentication_string: TextOf(NAMES) or_null, password_expired: Enum(N_Y, WORDS),
            password_last_changed: Timestamp or_null, password_lifetime: Usmallint or_null,
            account_locked: Enum(N_Y, WORDS), Create_role_priv: Enum(N_Y, WORDS),
            Drop_role_priv: Enum(N_Y, WORDS), Password_reuse_history: Usmallint or_null,
            Password_reuse_time: Usmallint or_null, Password_require_current: Enum(N_Y, WORDS) or_null,
            User_attributes: Json or_null,
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

/// Who has granted what when is not kept.
fn routine_grants(cx: &mut Context, _: &Wanted, each: Each<'_>) -> Result<()> {
    const NAMES: [(P, &str); 3] =
        [(P::EXECUTE, "Execute"), (P::ALTER_ROUTINE, "Alter Routine"), (P::GRANT, "Grant")];
    let state = cx.catalog().state();
    for user in state.users.values() {
        for (routine, set) in &user.grants.routines {
            let held: Vec<&str> = NAMES.iter().filter(|(p, _)| set.has(*p)).map(|(_, name)| *name).collect();
            each(cells![
                user.host.as_str(),
                routine.database.as_str(),
                user.user.as_str(),
                routine.name.as_str(),
                routine.kind.name(),
                "",
                held.join(","),
                None::<&str>,
            ])?;
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
