//! SHOW CREATE: the statement that makes an object.

use super::objects;
use crate::catalog::{ViewDef, database_or, show};
use crate::executor::view_columns;
use crate::listing::definitions::{sees_body, sees_routine, sees_triggers, time_of_trigger};
use crate::listing::{Listing, cells, moment_with_hundredths, name, text};
use crate::session::Context;
use crate::system_tables;
use crate::variables::{Value, ids};
use datum::error::{self, Result};
use datum::types::Charset;
use syntax::ast::{Account, ObjectName, RoutineKind};

/// The longest text of a definition that result columns speak of.
const DEFINITION: u32 = 1 << 20;

/// SHOW CREATE DATABASE.
pub(super) fn database(cx: &Context, of: &str, if_not_exists: bool) -> Result<Listing> {
    let state = cx.catalog().state();
    let stored = state.database(of).map(|database| database.collation);
    let collation = stored.or_else(|| system_tables::schema(of).map(|schema| schema.collation));
    let collation = collation.ok_or_else(|| error::BAD_DB_ERROR.with(&[&of]))?;
    let mut out = Listing::new([name("Database"), text("Create Database", 1024)]);
    out.push(cells![of, show::create_database(of, collation, if_not_exists)]);
    Ok(out)
}

/// SHOW CREATE TABLE.
pub(super) fn table(cx: &Context, of: &ObjectName) -> Result<Listing> {
    let mut out = Listing::new([name("Table"), text("Create Table", DEFINITION)]);
    let database = database_or(of.database.as_deref(), cx.default_database())?;
    if let Some((schema, table)) = system_tables::find(database, &of.name)?
        && let Some(engine) = schema.engine_of(table)
    {
        let (columns, collation) = (table.definitions(), schema.collation);
        out.push(cells![table.name, show::system_table(table.name, &columns, collation, engine)]);
        return Ok(out);
    }
    if let Some(found) = cx.visible_view(of.database.as_deref(), &of.name) {
        return Ok(view_listing(cx, &found));
    }
    let table = objects::table(cx, of)?;
    out.push(cells![table.name.as_str(), show::shown_table(&table, cx.settings.zone())]);
    Ok(out)
}

/// SHOW CREATE VIEW.
pub(super) fn view(cx: &mut Context, of: &ObjectName) -> Result<Listing> {
    if let Some(found) = cx.visible_view(of.database.as_deref(), &of.name) {
        // It is shown nevertheless, for somebody to mend it.
        if let Some(fault) = view_columns::fault(cx, &found) {
            cx.statement.diagnostics.warn(fault);
        }
        return Ok(view_listing(cx, &found));
    }
    let table = objects::table(cx, of)?;
    Err(error::WRONG_OBJECT.with(&[&table.database, &table.name, &"VIEW" as &dyn std::fmt::Display]))
}

fn view_listing(cx: &Context, view: &ViewDef) -> Listing {
    let mut out = Listing::new([
        name("View"),
        text("Create View", DEFINITION),
        text("character_set_client", 32),
        text("collation_connection", 32),
    ]);
    out.push(cells![
        view.name.as_str(),
        view.shown(cx.default_database()),
        Charset::Utf8mb4.name(),
        view.connection.name(),
    ]);
    out
}

/// SHOW CREATE FUNCTION and SHOW CREATE PROCEDURE.
pub(super) fn routine(cx: &Context, kind: RoutineKind, of: &ObjectName) -> Result<Listing> {
    let database = database_or(of.database.as_deref(), cx.default_database())?;
    let function = cx.catalog().routine(kind, database, &of.name);
    let function = function.filter(|function| sees_routine(cx, function));
    let function = function.ok_or_else(|| error::SP_DOES_NOT_EXIST.with(&[&kind.name(), &of.name]))?;
    let (kind_column, text_column) = match kind {
        RoutineKind::Function => ("Function", "Create Function"),
        RoutineKind::Procedure => ("Procedure", "Create Procedure"),
    };
    let mut out = Listing::new([
        text(kind_column, 64),
        text("sql_mode", 512),
        text(text_column, DEFINITION).or_null(),
        text("character_set_client", 64),
        text("collation_connection", 64),
        text("Database Collation", 64),
    ]);
    let mode = Value::UInt(function.sql_mode);
    out.push(cells![
        function.name.as_str(),
        ids::SQL_MODE.variable().show(&mode),
        sees_body(cx, &function).then(|| function.text()),
        function.connection.charset().name(),
        function.connection.name(),
        function.database_collation.name(),
    ]);
    Ok(out)
}

/// SHOW CREATE TRIGGER.
pub(super) fn trigger(cx: &Context, of: &ObjectName) -> Result<Listing> {
    let database = database_or(of.database.as_deref(), cx.default_database())?;
    let state = cx.catalog().state();
    if state.database(database).is_none() && system_tables::schema(database).is_none() {
        return Err(error::BAD_DB_ERROR.with(&[&database]));
    }
    let found = state.trigger(database, &of.name);
    let (table, trigger) = found.ok_or_else(|| error::TRG_DOES_NOT_EXIST.plain())?;
    if !sees_triggers(cx, database) {
        return Err(error::SPECIFIC_ACCESS_DENIED_ERROR.with(&[&"TRIGGER"]));
    }
    let mut out = Listing::new([
        text("Trigger", 64),
        text("sql_mode", 512),
        text("SQL Original Statement", DEFINITION),
        text("character_set_client", 64),
        text("collation_connection", 64),
        text("Database Collation", 64),
        moment_with_hundredths("Created").or_null(),
    ]);
    out.push(cells![
        trigger.name.as_str(),
        ids::SQL_MODE.variable().show(&Value::UInt(trigger.sql_mode)),
        trigger.text(&table.name),
        trigger.client.name(),
        trigger.connection.name(),
        trigger.database_collation.name(),
        time_of_trigger(cx, trigger),
    ]);
    Ok(out)
}

/// SHOW CREATE EVENT.
pub(super) fn event(cx: &Context, of: &ObjectName) -> Result<Listing> {
    let database = database_or(of.database.as_deref(), cx.default_database())?;
    let state = cx.catalog().state();
    if state.database(database).is_none() {
        return Err(error::BAD_DB_ERROR.with(&[&database]));
    }
    let event = state.event(database, &of.name);
    let event = event.ok_or_else(|| error::EVENT_DOES_NOT_EXIST.with(&[&of.name]))?;
    let mut out = Listing::new([
        text("Event", 64),
        text("sql_mode", 512),
        text("time_zone", 64),
        text("Create Event", DEFINITION),
        text("character_set_client", 64),
        text("collation_connection", 64),
        text("Database Collation", 64),
    ]);
    out.push(cells![
        event.name.as_str(),
        ids::SQL_MODE.variable().show(&Value::UInt(event.sql_mode)),
        event.zone.as_str(),
        event.text(),
        event.client.name(),
        event.connection.name(),
        event.database_collation.name(),
    ]);
    Ok(out)
}

/// SHOW CREATE USER. Everybody sees their own account.
pub(super) fn user(cx: &Context, of: &Account) -> Result<Listing> {
    let key = super::accounts::named(cx, of)?;
    let state = cx.catalog().state();
    let shown = key.quoted();
    let user =
        state.users.get(&key).ok_or_else(|| error::CANNOT_USER.with(&[&"SHOW CREATE USER", &shown]))?;
    let mut out = Listing::new([text(format!("CREATE USER for {key}"), DEFINITION)]);
    out.push(cells![user.show()]);
    Ok(out)
}
