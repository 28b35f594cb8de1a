//! SHOW of what the catalog holds.

use std::sync::Arc;

use super::{Listing, optional, text};
use crate::ast::{Account, ObjectName, RoutineKind};
use crate::catalog::{TableDef, database_or, show};
use crate::error::{self, Result};
use crate::executor::output::OutputColumn;
use crate::session::Context;
use crate::value::Datum;

pub(super) fn databases(cx: &Context) -> Listing {
    let mut listing = Listing::of_texts(&["Database"]);
    listing.push(vec![text("information_schema")]);
    for name in cx.catalog().state().databases.keys() {
        listing.push(vec![text(name.as_str())]);
    }
    listing
}

fn tables_of(cx: &Context, database: Option<&str>) -> Result<(String, Vec<Arc<TableDef>>)> {
    let name = database_or(database, cx.default_database())?.to_owned();
    if name.eq_ignore_ascii_case("information_schema") {
        return Ok((name, Vec::new()));
    }
    let state = cx.catalog().state();
    let found = state.database(&name).ok_or_else(|| error::BAD_DB_ERROR.with(&[&name]))?;
    let tables = found.tables.values().cloned().collect();
    Ok((name, tables))
}

pub(super) fn tables(cx: &Context, database: Option<&str>, full: bool) -> Result<Listing> {
    let (name, tables) = tables_of(cx, database)?;
    let first = format!("Tables_in_{name}");
    let names: &[&str] = if full { &[&first, "Table_type"] } else { &[&first] };
    let mut listing = Listing::of_texts(names);
    for table in tables {
        let mut row = vec![text(table.name.as_str())];
        if full {
            row.push(text("BASE TABLE"));
        }
        listing.push(row);
    }
    Ok(listing)
}

pub(super) fn table_status(cx: &Context, database: Option<&str>) -> Result<Listing> {
    let mut listing = Listing::of_texts(&[
        "Name",
        "Engine",
        "Version",
        "Row_format",
        "Rows",
        "Avg_row_length",
        "Data_length",
        "Max_data_length",
        "Index_length",
        "Data_free",
        "Auto_increment",
        "Create_time",
        "Update_time",
        "Check_time",
        "Collation",
        "Checksum",
        "Create_options",
        "Comment",
    ]);
    for table in tables_of(cx, database)?.1 {
        let auto =
            table.auto_column.filter(|&c| table.columns[c].visible).map(|_| table.counter.next().to_string());
        let mut row = vec![text(table.name.as_str()), text("InnoDB"), text("10"), text("Dynamic")];
        // Nobody counts rows or bytes of a table.
        row.extend((0..6).map(|_| Datum::Null));
        row.push(optional(auto));
        row.extend((0..3).map(|_| Datum::Null));
        row.push(text(table.collation.name()));
        row.push(Datum::Null);
        row.push(text(table.options.trim()));
        row.push(text(table.comment.as_str()));
        listing.push(row);
    }
    Ok(listing)
}

fn find(cx: &Context, name: &ObjectName) -> Result<Arc<TableDef>> {
    let database = database_or(name.database.as_deref(), cx.default_database())?;
    cx.catalog().table(database, &name.name)
}

pub(super) fn columns(cx: &Context, name: &ObjectName, full: bool) -> Result<Listing> {
    let table = find(cx, name)?;
    let names: &[&str] = if full {
        &["Field", "Type", "Collation", "Null", "Key", "Default", "Extra", "Privileges", "Comment"]
    } else {
        &["Field", "Type", "Null", "Key", "Default", "Extra"]
    };
    let mut listing = Listing::of_texts(names);
    for (number, column) in table.columns.iter().enumerate() {
        let mut row = vec![text(column.name.as_str()), text(column.ty.to_string())];
        if full {
            row.push(optional(column.ty.is_character().then(|| column.ty.collation().name())));
        }
        row.push(text(if column.nullable { "YES" } else { "NO" }));
        row.push(text(key_word(&table, number)));
        row.push(optional(show::plain_default(column, cx.zone())));
        row.push(text(extra(&table, number)));
        if full {
            row.push(text("select,insert,update,references"));
            row.push(text(column.comment.as_str()));
        }
        listing.push(row);
    }
    Ok(listing)
}

fn key_word(table: &TableDef, column: usize) -> &'static str {
    let mut word = "";
    for (i, index) in table.indexes.iter().enumerate() {
        if i == 0 && index.parts.iter().any(|p| p.column == column) {
            return "PRI";
        }
        if index.parts[0].column == column {
            word = match (word, index.unique && index.parts.len() == 1) {
                (_, true) => "UNI",
                ("", false) => "MUL",
                (word, false) => word,
            };
        }
    }
    word
}

fn extra(table: &TableDef, number: usize) -> String {
    let column = &table.columns[number];
    let mut words = Vec::new();
    if table.auto_column == Some(number) {
        words.push("auto_increment".to_owned());
    }
    if matches!(column.default, crate::catalog::table::Default::Now) {
        words.push("DEFAULT_GENERATED".to_owned());
    }
    if column.on_update_now {
        let fsp = column.ty.decimals();
        let digits = if fsp == 0 { String::new() } else { format!("({fsp})") };
        words.push(format!("on update CURRENT_TIMESTAMP{digits}"));
    }
    if !column.visible {
        words.push("INVISIBLE".to_owned());
    }
    words.join(" ")
}

pub(super) fn indexes(cx: &Context, name: &ObjectName) -> Result<Listing> {
    let table = find(cx, name)?;
    let mut listing = Listing::of_texts(&[
        "Table",
        "Non_unique",
        "Key_name",
        "Seq_in_index",
        "Column_name",
        "Collation",
        "Cardinality",
        "Sub_part",
        "Packed",
        "Null",
        "Index_type",
        "Comment",
        "Index_comment",
        "Visible",
        "Expression",
    ]);
    for index in &table.indexes {
        for (i, part) in index.parts.iter().enumerate() {
            let column = &table.columns[part.column];
            listing.push(vec![
                text(table.name.as_str()),
                text(if index.unique { "0" } else { "1" }),
                text(index.name.as_str()),
                text((i + 1).to_string()),
                text(column.name.as_str()),
                text(if part.descending { "D" } else { "A" }),
                Datum::Null,
                optional(part.prefix_len.map(|n| n.to_string())),
                Datum::Null,
                text(if column.nullable { "YES" } else { "" }),
                text("BTREE"),
                text(""),
                text(index.comment.as_str()),
                text(if index.visible { "YES" } else { "NO" }),
                Datum::Null,
            ]);
        }
    }
    Ok(listing)
}

pub(super) fn create_database(cx: &Context, name: &str, if_not_exists: bool) -> Result<Listing> {
    let state = cx.catalog().state();
    let database = state.database(name).ok_or_else(|| error::BAD_DB_ERROR.with(&[&name]))?;
    let mut listing = Listing::of_texts(&["Database", "Create Database"]);
    listing.push(vec![text(name), text(show::create_database(name, database.collation, if_not_exists))]);
    Ok(listing)
}

pub(super) fn create_table(cx: &Context, name: &ObjectName) -> Result<Listing> {
    let table = find(cx, name)?;
    let hidden = table.auto_column.is_none_or(|c| !table.columns[c].visible);
    let next = if hidden { 1 } else { table.counter.next() };
    let mut listing = Listing::of_texts(&["Table", "Create Table"]);
    listing.columns[1] = OutputColumn::text("Create Table", 65_536);
    listing.push(vec![text(table.name.as_str()), text(show::create_table(&table, next, cx.zone()))]);
    Ok(listing)
}

pub(super) fn create_routine(cx: &Context, kind: RoutineKind, name: &ObjectName) -> Result<Listing> {
    let word = if kind == RoutineKind::Function { "FUNCTION" } else { "PROCEDURE" };
    let database = database_or(name.database.as_deref(), cx.default_database())?;
    let missing = || error::SP_DOES_NOT_EXIST.with(&[&word, &name.name]);
    let function = cx.catalog().function(database, &name.name).filter(|_| kind == RoutineKind::Function);
    let function = function.ok_or_else(missing)?;
    let mut listing = Listing::of_texts(&[
        "Function",
        "sql_mode",
        "Create Function",
        "character_set_client",
        "collation_connection",
        "Database Collation",
    ]);
    listing.columns[2] = OutputColumn::text("Create Function", 65_536);
    let mode = crate::variables::ids::SQL_MODE.variable();
    let mode = mode.show(&crate::variables::Value::UInt(function.sql_mode)).into_owned();
    listing.push(vec![
        text(function.name.as_str()),
        text(mode),
        Datum::owned(function.text()),
        text(function.connection.charset().name()),
        text(function.connection.name()),
        text(function.database_collation.name()),
    ]);
    Ok(listing)
}

pub(super) fn create_user(cx: &Context, account: &Account) -> Result<Listing> {
    let (user, host) = match account {
        Account::CurrentUser => cx.account.clone(),
        Account::Named { user, host } => {
            (user.to_str_lossy().into_owned(), host.to_str_lossy().to_ascii_lowercase())
        }
    };
    if (user.as_str(), host.as_str()) != (cx.account.0.as_str(), cx.account.1.as_str()) {
        cx.need_administrator("CREATE USER")?;
    }
    let state = cx.catalog().state();
    let shown = format!("'{user}'@'{host}'");
    let found = state.users.get(&(user.clone(), host.clone()));
    let found = found.ok_or_else(|| error::CANNOT_USER.with(&[&"SHOW CREATE USER", &shown]))?;
    let mut listing = Listing::of_texts(&[&format!("CREATE USER for {user}@{host}")]);
    let words = crate::catalog::ddl::user_text("CREATE", std::slice::from_ref(found), Some(found.locked));
    listing.push(vec![text(words)]);
    Ok(listing)
}

pub(super) fn routine_status(cx: &Context, kind: RoutineKind) -> Listing {
    let mut listing = Listing::of_texts(&[
        "Db",
        "Name",
        "Type",
        "Definer",
        "Modified",
        "Created",
        "Security_type",
        "Comment",
        "character_set_client",
        "collation_connection",
        "Database Collation",
    ]);
    if kind == RoutineKind::Procedure {
        return listing;
    }
    let state = cx.catalog().state();
    for function in state.databases.values().flat_map(|d| d.functions.values()) {
        let invoker = function.characteristics.security == Some(crate::ast::SqlSecurity::Invoker);
        let comment = function.characteristics.comment.as_ref();
        listing.push(vec![
            text(function.database.as_str()),
            text(function.name.as_str()),
            text("FUNCTION"),
            text(format!("{}@{}", function.definer.0, function.definer.1)),
            Datum::Null,
            Datum::Null,
            text(if invoker { "INVOKER" } else { "DEFINER" }),
            text(comment.map_or(String::new(), |c| c.to_str_lossy().into_owned())),
            text(function.connection.charset().name()),
            text(function.connection.name()),
            text(function.database_collation.name()),
        ]);
    }
    listing
}

pub(super) fn triggers() -> Listing {
    Listing::of_texts(&[
        "Trigger",
        "Event",
        "Table",
        "Statement",
        "Timing",
        "Created",
        "sql_mode",
        "Definer",
        "character_set_client",
        "collation_connection",
        "Database Collation",
    ])
}

pub(super) fn events() -> Listing {
    Listing::of_texts(&["Db", "Name", "Definer", "Time zone", "Type", "Status"])
}
