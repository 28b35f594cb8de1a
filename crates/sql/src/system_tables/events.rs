//! EVENTS.

use super::schemas::CATALOG;
use super::{Each, Wanted};
use crate::catalog::event::status_word;
use crate::listing::cells;
use crate::listing::definitions::schedule_cells;
use crate::privilege::Privileges;
use crate::session::Context;
use crate::variables::{Value, ids};
use datum::error::Result;
use datum::value::temporal::SECOND;
use datum::value::{DateTime, Datum};

pub(super) fn events(cx: &mut Context, wanted: &Wanted, each: Each<'_>) -> Result<()> {
    let state = cx.catalog().state();
    let own = cx.settings.zone();
    for (database, held) in &state.databases {
        if !wanted.schema(database) || !cx.grants_now().in_database(database).has(Privileges::EVENT) {
            continue;
        }
        for event in held.events.values() {
            let zone = event.zone();
            let shown = |seconds: i64| DateTime::from_unix_micros(own.to_local(seconds * SECOND), 0);
            let last = cx.instance.event_times().last(event);
            let last = last
                .and_then(|utc| DateTime::from_unix_micros(zone.to_local(utc - utc.rem_euclid(SECOND)), 0));
            let mut schedule = schedule_cells(event);
            let times: Vec<Datum<'static>> = schedule.split_off(schedule.len() - 2);
            let mut row = cells![
                CATALOG,
                database.as_str(),
                event.name.as_str(),
                event.definer.to_string(),
                event.zone.as_str(),
                "SQL",
                event.body.clone(),
            ];
            row.extend(schedule);
            row.extend(cells![ids::SQL_MODE.variable().show(&Value::UInt(event.sql_mode))]);
            row.extend(times);
            row.extend(cells![
                status_word(event.status),
                if event.preserve { "PRESERVE" } else { "NOT PRESERVE" },
                shown(event.created),
                shown(event.altered),
                last,
                event.comment.as_str(),
                cx.instance.globals().uint(ids::SERVER_ID),
                event.client.name(),
                event.connection.name(),
                event.database_collation.name(),
            ]);
            each(row)?;
        }
    }
    Ok(())
}
