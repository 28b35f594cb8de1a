//! What databases hold: SHOW DATABASES, TABLES, COLUMNS, INDEX, TABLE STATUS and their like.

use std::sync::Arc;

use crate::catalog::event::status_word;
use crate::catalog::objects::RoutineDef;
use crate::catalog::trigger::{event_word, time_word};
use crate::catalog::{ColumnDef, TableDef, database_or, show};
use crate::executor::view_columns::{self, view_columns};
use crate::listing::definitions::{
    as_shown, column_extra, column_key, key_part, schedule_cells, sees_routine, sees_triggers, sizes,
    time_of_trigger, times, times_of_routine, view_extra, yes_no,
};
use crate::listing::{Column, Listing, cells, int, moment, moment_with_hundredths, name, text, uint};
use crate::session::Context;
use crate::system_tables::{self, SystemSchema, SystemTable};
use crate::variables::{Value, ids};
use datum::error::{self, Result, SqlError};
use datum::value::Datum;
use syntax::ast::{ObjectName, RoutineKind};

/// The database that was named, or the default one; error 1049 if there is none of this name.
fn database(cx: &Context, given: Option<&str>) -> Result<String> {
    let name = database_or(given, cx.default_database())?;
    match (cx.catalog().state().database(name), system_tables::schema(name)) {
        (None, None) => Err(error::BAD_DB_ERROR.with(&[&name])),
        _ => Ok(name.to_owned()),
    }
}

/// The table that was named; errors 1046, 1049 and 1146.
pub(super) fn table(cx: &Context, given: &ObjectName) -> Result<Arc<TableDef>> {
    let database = database_or(given.database.as_deref(), cx.default_database())?;
    match system_tables::find(database, &given.name)? {
        Some((schema, table)) => {
            Err(SqlError::unsupported(format_args!("SHOW CREATE of {}.{}", schema.name, table.name)))
        }
        None => Ok(as_shown(cx, cx.visible_table(Some(database), &given.name)?)),
    }
}

/// The columns of the table that was named; those of a system table too.
enum Columns {
    Stored(Arc<TableDef>),
    View(Vec<ColumnDef>),
    System(Vec<ColumnDef>),
}

impl Columns {
    fn of(cx: &mut Context, given: &ObjectName) -> Result<Self> {
        let database = database_or(given.database.as_deref(), cx.default_database())?;
        Ok(match system_tables::find(database, &given.name)? {
            Some((_, table)) => Columns::System(table.definitions()),
            None => match cx.visible_view(given.database.as_deref(), &given.name) {
                Some(view) => Columns::View(view_columns(cx, &view)?),
                None => Columns::Stored(table(cx, given)?),
            },
        })
    }

    fn list(&self) -> &[ColumnDef] {
        match self {
            Columns::Stored(table) => &table.columns,
            Columns::View(columns) | Columns::System(columns) => columns,
        }
    }

    /// The cells Key and Extra of a column.
    fn key_and_extra(&self, number: usize) -> (&'static str, String) {
        match self {
            Columns::Stored(table) => (column_key(table, number), column_extra(table, number)),
            Columns::View(columns) => ("", view_extra(&columns[number]).to_owned()),
            Columns::System(_) => ("", String::new()),
        }
    }
}

/// The system tables that are listed, by name: those of accounts only if the schema is `named`
/// (T2 of `system_tables.rs`).
fn listed_tables(schema: &SystemSchema, named: bool) -> Vec<&'static SystemTable> {
    let mut tables: Vec<_> =
        if named { schema.all_tables().collect() } else { schema.carried_tables().collect() };
    tables.sort_by_key(|table| table.name);
    tables
}

/// The names of a database's tables and views. `named` says that the statement names the database.
fn table_names(cx: &Context, database: &str, named: bool) -> Vec<String> {
    match system_tables::schema(database) {
        Some(schema) => listed_tables(schema, named).iter().map(|table| table.name.to_owned()).collect(),
        None => {
            let state = cx.catalog().state();
            let mut names: Vec<String> =
                state.database(database).map_or(Vec::new(), |held| held.tables.keys().cloned().collect());
            names.extend(state.tables_set_aside(database).map(|object| object.key.name.clone()));
            names.extend(state.database(database).iter().flat_map(|held| held.views.keys().cloned()));
            names.sort_unstable();
            names
        }
    }
}

/// SHOW DATABASES.
pub(super) fn databases(cx: &Context) -> Listing {
    let mut out = Listing::new([name("Database")]).showing_pattern();
    let state = cx.catalog().state();
    let stored =
        state.databases.keys().map(String::as_str).filter(|name| cx.grants_now().sees_database(name));
    let mut names: Vec<&str> = stored.chain(system_tables::listed(cx).map(|schema| schema.name)).collect();
    names.sort_unstable();
    names.into_iter().for_each(|name| out.push(cells![name]));
    out
}

/// SHOW TABLES.
pub(super) fn tables(cx: &Context, given: Option<&str>, full: bool) -> Result<Listing> {
    let database = database(cx, given)?;
    let mut columns = vec![name(format!("Tables_in_{database}"))];
    if full {
        columns.push(text("Table_type", 11));
    }
    let mut out = Listing::new(columns).showing_pattern();
    let kind = match system_tables::schema(&database) {
        Some(schema) => schema.table_type(),
        None => "BASE TABLE",
    };
    // By a privilege that is not about tables one may know of the database, not of what is in it.
    let names = match cx.grants_now().sees_definitions(&database) {
        true => table_names(cx, &database, given.is_some()),
        false => Vec::new(),
    };
    let state = cx.catalog().state();
    for name in names {
        let kind = if state.view(&database, &name).is_some() { "VIEW" } else { kind };
        out.push(if full { cells![name, kind] } else { cells![name] });
    }
    Ok(out)
}

/// SHOW OPEN TABLES: a definition is in memory as long as its table is there, and nobody locks
/// names.
pub(super) fn open_tables(cx: &Context, given: Option<&str>) -> Listing {
    let mut out =
        Listing::new([name("Database"), name("Table"), int("In_use"), int("Name_locked")]).pattern_on(1);
    for (database, held) in &cx.catalog().state().databases {
        if given.is_none_or(|g| g == database) && cx.grants_now().sees_definitions(database) {
            for table in held.tables.keys() {
                out.push(cells![database.as_str(), table.as_str(), 0_i64, 0_i64]);
            }
        }
    }
    out
}

/// SHOW TABLE STATUS.
pub(super) fn table_status(cx: &mut Context, given: Option<&str>) -> Result<Listing> {
    let database = database(cx, given)?;
    let mut out = Listing::new([
        name("Name"),
        text("Engine", 64).or_null(),
        int("Version").or_null(),
        text("Row_format", 10).or_null(),
        uint("Rows").or_null(),
        uint("Avg_row_length").or_null(),
        uint("Data_length").or_null(),
        uint("Max_data_length").or_null(),
        uint("Index_length").or_null(),
        uint("Data_free").or_null(),
        uint("Auto_increment").or_null(),
        moment("Create_time").or_null(),
        moment("Update_time").or_null(),
        moment("Check_time").or_null(),
        text("Collation", 64).or_null(),
        int("Checksum").or_null(),
        text("Create_options", 256).or_null(),
        text("Comment", 2048),
    ]);
    if !cx.grants_now().sees_definitions(&database) {
        return Ok(out);
    }
    if let Some(schema) = system_tables::schema(&database) {
        for table in listed_tables(schema, given.is_some()) {
            let Some(engine) = schema.engine_of(table) else { continue };
            let mut row = cells![table.name, engine, 10_i64, "Dynamic"];
            row.extend((0..10).map(|_| Datum::Null));
            row.extend(cells![schema.collation.name(), None::<i64>, "", ""]);
            out.push(row);
        }
    }
    let state = cx.catalog().state();
    for table in state.database(&database).iter().flat_map(|held| held.tables.values()) {
        let table = as_shown(cx, table.clone());
        let mut row = cells![table.name.as_str(), "InnoDB", 10_i64, "Dynamic"];
        row.extend(sizes(cx, &table));
        row.extend(cells![table.shown_counter()]);
        row.extend(times(cx, &table));
        row.extend(cells![table.collation.name(), None::<i64>, table.options.trim(), table.comment.as_str()]);
        out.push(row);
    }
    for view in state.database(&database).iter().flat_map(|held| held.views.values()) {
        let mut row = cells![view.name.as_str()];
        row.extend((0..16).map(|_| Datum::Null));
        let fault = view_columns::fault(cx, view);
        row.extend(cells![fault.as_ref().map_or("VIEW", |fault| &fault.message)]);
        if let Some(fault) = fault {
            cx.statement.diagnostics.warn(fault);
        }
        out.push(row);
    }
    for object in state.tables_set_aside(&database) {
        let mut row = cells![object.key.name.as_str()];
        row.extend((0..16).map(|_| Datum::Null));
        row.extend(cells![object.error().message]);
        out.push(row);
    }
    Ok(out)
}

/// SHOW COLUMNS, DESCRIBE.
pub(super) fn columns(cx: &mut Context, given: &ObjectName, full: bool) -> Result<Listing> {
    let table = Columns::of(cx, given)?;
    let mut columns = vec![
        text("Field", 64),
        text("Type", 65_535),
        text("Null", 3),
        text("Key", 3),
        text("Default", 65_535).or_null(),
        text("Extra", 256),
    ];
    if full {
        columns.insert(2, text("Collation", 64).or_null());
        columns.extend([text("Privileges", 154), text("Comment", 1024)]);
    }
    let mut out = Listing::new(columns);
    let database = given.database.as_deref().or(cx.default_database()).unwrap_or_default();
    let privileges = cx.grants_now().of_columns(database);
    for (number, column) in table.list().iter().enumerate().filter(|(_, column)| !column.is_hidden()) {
        let (key, extra) = table.key_and_extra(number);
        let mut row = cells![
            column.name.as_str(),
            column.ty.to_string(),
            yes_no(column.nullable),
            key,
            show::plain_default(column, cx.settings.zone()),
            extra,
        ];
        if full {
            let collation = column.ty.is_character().then(|| column.ty.collation().name());
            row.splice(2..2, cells![collation]);
            row.extend(cells![privileges.as_str(), column.comment.as_str()]);
        }
        out.push(row);
    }
    Ok(out)
}

/// SHOW INDEX: a row for each part of each index.
pub(super) fn indexes(cx: &mut Context, given: &ObjectName) -> Result<Listing> {
    let columns = Columns::of(cx, given)?;
    let mut out = Listing::new([
        name("Table"),
        int("Non_unique"),
        text("Key_name", 64).or_null(),
        uint("Seq_in_index"),
        text("Column_name", 64).or_null(),
        text("Collation", 1).or_null(),
        int("Cardinality").or_null(),
        int("Sub_part").or_null(),
        text("Packed", 0).or_null(),
        text("Null", 3),
        text("Index_type", 11),
        text("Comment", 8),
        text("Index_comment", 2048),
        text("Visible", 3),
        text("Expression", 65_535).or_null(),
    ]);
    let Columns::Stored(table) = columns else { return Ok(out) };
    let known = table.exact_statistics(&cx.instance);
    for index in table.shown_indexes() {
        for number in 0..index.parts.len() {
            let mut row = cells![table.name.as_str(), i64::from(!index.unique), index.name.as_str()];
            row.extend(key_part(&table, index, number, known.as_deref()));
            out.push(row);
        }
    }
    Ok(out)
}

fn session_columns() -> [Column; 3] {
    [text("character_set_client", 64), text("collation_connection", 64), text("Database Collation", 64)]
}

/// SHOW FUNCTION STATUS, SHOW PROCEDURE STATUS.
pub(super) fn routines(cx: &Context, kind: RoutineKind) -> Listing {
    let mut columns = vec![
        name("Db"),
        text("Name", 64),
        text("Type", 9),
        text("Definer", 288),
        moment("Modified").or_null(),
        moment("Created").or_null(),
        text("Security_type", 7),
        text("Comment", 65_535),
    ];
    columns.extend(session_columns());
    let mut out = Listing::new(columns).pattern_on(1);
    let state = cx.catalog().state();
    let all = state.databases.values().flat_map(|d| d.routines(kind).values());
    for function in all.filter(|function| sees_routine(cx, function)) {
        out.push(routine(cx, function));
    }
    out
}

fn routine(cx: &Context, function: &RoutineDef) -> Vec<Datum<'static>> {
    let invoker = function.characteristics.security == Some(syntax::ast::SqlSecurity::Invoker);
    let comment = function.characteristics.comment.as_ref().map(|c| c.to_str_lossy().into_owned());
    let (created, altered) = times_of_routine(cx, function);
    cells![
        function.database.as_str(),
        function.name.as_str(),
        function.kind.name(),
        function.definer.to_string(),
        altered,
        created,
        if invoker { "INVOKER" } else { "DEFINER" },
        comment.unwrap_or_default(),
        function.connection.charset().name(),
        function.connection.name(),
        function.database_collation.name(),
    ]
}

/// SHOW TRIGGERS.
pub(super) fn triggers(cx: &Context, given: Option<&str>) -> Result<Listing> {
    let database = database(cx, given)?;
    let mut columns = vec![
        text("Trigger", 64),
        text("Event", 6),
        name("Table"),
        text("Statement", 65_535),
        text("Timing", 6),
        moment_with_hundredths("Created").or_null(),
        text("sql_mode", 512),
        text("Definer", 288),
    ];
    columns.extend(session_columns());
    let mut out = Listing::new(columns).pattern_on(2);
    if !sees_triggers(cx, &database) {
        return Ok(out);
    }
    let state = cx.catalog().state();
    for table in state.database(&database).iter().flat_map(|held| held.tables.values()) {
        for (_, trigger) in table.triggers.in_order() {
            out.push(cells![
                trigger.name.as_str(),
                event_word(trigger.event),
                table.name.as_str(),
                trigger.body.clone(),
                time_word(trigger.time),
                time_of_trigger(cx, trigger),
                ids::SQL_MODE.variable().show(&Value::UInt(trigger.sql_mode)),
                trigger.definer.to_string(),
                trigger.client.name(),
                trigger.connection.name(),
                trigger.database_collation.name(),
            ]);
        }
    }
    Ok(out)
}

/// SHOW EVENTS.
pub(super) fn events(cx: &Context, given: Option<&str>) -> Result<Listing> {
    let database = database(cx, given)?;
    let mut columns = vec![
        name("Db"),
        text("Name", 64),
        text("Definer", 288),
        text("Time zone", 64),
        text("Type", 9),
        moment("Execute at").or_null(),
        text("Interval value", 256).or_null(),
        text("Interval field", 18).or_null(),
        moment("Starts").or_null(),
        moment("Ends").or_null(),
        text("Status", 21),
        uint("Originator"),
    ];
    columns.extend(session_columns());
    let mut out = Listing::new(columns).pattern_on(1);
    let state = cx.catalog().state();
    for event in state.database(&database).iter().flat_map(|held| held.events.values()) {
        let mut row = cells![
            event.database.as_str(),
            event.name.as_str(),
            event.definer.to_string(),
            event.zone.as_str(),
        ];
        row.extend(schedule_cells(event));
        row.extend(cells![
            status_word(event.status),
            cx.instance.globals().uint(ids::SERVER_ID),
            event.client.name(),
            event.connection.name(),
            event.database_collation.name(),
        ]);
        out.push(row);
    }
    Ok(out)
}
