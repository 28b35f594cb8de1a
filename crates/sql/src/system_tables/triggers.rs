//! TRIGGERS.

use super::schemas::CATALOG;
use super::{Each, Wanted};
use crate::catalog::trigger::{event_word, time_word};
use crate::listing::cells;
use crate::listing::definitions::{sees_triggers, time_of_trigger};
use crate::session::Context;
use crate::variables::{Value, ids};
use datum::error::Result;

pub(super) fn triggers(cx: &mut Context, wanted: &Wanted, each: Each<'_>) -> Result<()> {
    let state = cx.catalog().state();
    for (database, held) in &state.databases {
        if !wanted.schema(database) || !sees_triggers(cx, database) {
            continue;
        }
        for table in held.tables.values().filter(|table| wanted.table(&table.name)) {
            for (number, trigger) in table.triggers.in_order() {
                each(cells![
                    CATALOG,
                    database.as_str(),
                    trigger.name.as_str(),
                    event_word(trigger.event),
                    CATALOG,
                    database.as_str(),
                    table.name.as_str(),
                    number,
                    None::<&str>,
                    trigger.body.clone(),
                    "ROW",
                    time_word(trigger.time),
                    None::<&str>,
                    None::<&str>,
                    "OLD",
                    "NEW",
                    time_of_trigger(cx, trigger),
                    ids::SQL_MODE.variable().show(&Value::UInt(trigger.sql_mode)),
                    trigger.definer.to_string(),
                    trigger.client.name(),
                    trigger.connection.name(),
                    trigger.database_collation.name(),
                ])?;
            }
        }
    }
    Ok(())
}
