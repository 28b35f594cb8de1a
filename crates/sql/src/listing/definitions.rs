//! What SHOW and `information_schema` both say of tables, columns, keys and functions.

use std::sync::Arc;

use super::cells;
use crate::catalog::event::{EventDef, Schedule};
use crate::catalog::statistics::TableStatistics;
use crate::catalog::table::Default;
use crate::catalog::trigger::TriggerDef;
use crate::catalog::{ColumnDef, IndexDef, RoutineDef, TableDef, show};
use crate::privilege::Privileges;
use crate::session::Context;
use crate::variables::ids;
use datum::value::temporal::SECOND;
use datum::value::{DateTime, Datum};

/// A table as it is shown: the key that it got for want of one is not, unless the session wants
/// that.
pub(crate) fn as_shown(cx: &Context, table: Arc<TableDef>) -> Arc<TableDef> {
    if cx.settings.variables().bool(ids::SHOW_GENERATED_KEY) {
        return table;
    }
    table.without_generated_key().map_or(table, Arc::new)
}

/// What is known of a table's size, in rows and bytes: rows, bytes of a row, of all rows, the limit
/// (there is none), of indexes, and those that are free (space is shared by all tables). NULL where
/// the table can't be read.
pub(crate) fn sizes(cx: &Context, table: &TableDef) -> Vec<Datum<'static>> {
    let Some(known) = table.exact_statistics(&cx.instance) else { return vec![Datum::Null; 6] };
    let average = known.data_length().checked_div(known.rows()).unwrap_or(0);
    cells![known.rows(), average, known.data_length(), 0_u64, known.index_length(), 0_u64]
}

/// When a table was made or altered last, when its rows were changed last since the server started,
/// and when they were checked last, which nobody keeps: CREATE_TIME, UPDATE_TIME, CHECK_TIME.
pub(crate) fn times(cx: &Context, table: &TableDef) -> Vec<Datum<'static>> {
    let shown = |seconds: Option<u32>| {
        let utc = i64::from(seconds?) * SECOND;
        DateTime::from_unix_micros(cx.settings.zone().to_local(utc), 0)
    };
    cells![shown(table.created), shown(cx.instance.change_times().last(table.id)), None::<DateTime>]
}

/// How a column takes part in keys: it is in the primary key, is a unique key, or is the first of a
/// key.
pub(crate) fn column_key(table: &TableDef, column: usize) -> &'static str {
    let first_of = |index: &&IndexDef| index.parts.first().is_some_and(|part| part.column == column);
    // Without a primary key the first unique one without NULL stands for it.
    let has_no_null = |index: &&IndexDef| {
        index.unique
            && index.parts.iter().all(|p| !table.columns[p.column].nullable && p.prefix_len.is_none())
    };
    let primary = table.shown_indexes().find(|index| index.name == "PRIMARY");
    let primary = primary.or_else(|| table.shown_indexes().find(has_no_null));
    if primary.is_some_and(|index| index.parts.iter().any(|part| part.column == column)) {
        return "PRI";
    }
    let mut key = "";
    for index in table.indexes.iter().filter(first_of) {
        match index.unique && index.parts.len() == 1 {
            true => return "UNI",
            false => key = "MUL",
        }
    }
    key
}

/// What else a column is: AUTO_INCREMENT, generated, invisible.
pub(crate) fn column_extra(table: &TableDef, number: usize) -> String {
    let column: &ColumnDef = &table.columns[number];
    let mut words = Vec::new();
    if table.auto_column == Some(number) {
        words.push("auto_increment".to_owned());
    }
    if let Some(generated) = &column.generated {
        words.push(if generated.stored { "STORED GENERATED" } else { "VIRTUAL GENERATED" }.to_owned());
    }
    if matches!(column.default, Default::Now | Default::Expression(_)) {
        words.push("DEFAULT_GENERATED".to_owned());
    }
    if column.on_update_now {
        words.push(match column.ty.decimals() {
            0 => "on update CURRENT_TIMESTAMP".to_owned(),
            digits => format!("on update CURRENT_TIMESTAMP({digits})"),
        });
    }
    if !column.visible {
        words.push("INVISIBLE".to_owned());
    }
    words.join(" ")
}

/// The same of a view's column: of what it is in the table only where its default comes from.
pub(crate) fn view_extra(column: &ColumnDef) -> &'static str {
    match column.default {
        Default::Now | Default::Expression(_) => "DEFAULT_GENERATED",
        Default::None | Default::Value(_) => "",
    }
}

/// What SHOW INDEX and information_schema.STATISTICS describe one part of a key, from its number
/// on.
pub(crate) fn key_part(
    table: &TableDef,
    index: &IndexDef,
    number: usize,
    known: Option<&TableStatistics>,
) -> Vec<Datum<'static>> {
    let cardinality = known.and_then(|known| table.cardinality(known, &index.name, number + 1));
    let part = &index.parts[number];
    let column = &table.columns[part.column];
    let expression = column.key_expression();
    cells![
        number as u64 + 1,
        expression.is_none().then_some(column.name.as_str()),
        if part.descending { "D" } else { "A" },
        cardinality.map(|values| values as i64),
        part.prefix_len.map(i64::from),
        None::<&str>,
        if column.nullable { "YES" } else { "" },
        "BTREE",
        "",
        index.comment.as_str(),
        yes_no(index.visible),
        expression.map(show::plain_expression),
    ]
}

/// True if the account may know of a function: by a privilege on it, or as its definer.
pub(crate) fn sees_routine(cx: &Context, function: &RoutineDef) -> bool {
    cx.grants_now().sees_routine(function.kind, &function.database, &function.name)
        || function.definer == cx.connection.account
}

/// True if it may read the function's text as well.
pub(crate) fn sees_body(cx: &Context, function: &RoutineDef) -> bool {
    cx.grants_now().sees_all_routines() || function.definer == cx.connection.account
}

/// True if the account may know of a database's triggers.
pub(crate) fn sees_triggers(cx: &Context, database: &str) -> bool {
    cx.grants_now().in_database(database).has(Privileges::TRIGGER)
}

/// When a trigger was made, in the session's time zone.
pub(crate) fn time_of_trigger(cx: &Context, trigger: &TriggerDef) -> Option<DateTime> {
    let utc = trigger.created * (SECOND / 100);
    DateTime::from_unix_micros(cx.settings.zone().to_local(utc), 2)
}

/// When a routine was made and altered last, in the session's time zone; NULL where nobody knows.
pub(crate) fn times_of_routine(cx: &Context, routine: &RoutineDef) -> (Option<DateTime>, Option<DateTime>) {
    let zone = cx.settings.zone();
    let shown = |seconds: i64| DateTime::from_unix_micros(zone.to_local(seconds * SECOND), 0);
    let times = routine.times.as_ref();
    (times.and_then(|t| shown(t.created)), times.and_then(|t| shown(t.altered)))
}

/// What both say of an event's schedule, with times of its own zone: its type, the moment, amount
/// and unit of the interval, beginning and end.
pub(crate) fn schedule_cells(event: &EventDef) -> Vec<Datum<'static>> {
    let zone = event.zone();
    let shown = |utc: i64| DateTime::from_unix_micros(zone.to_local(utc), 0);
    match &event.schedule {
        Schedule::At(moment) => {
            cells!["ONE TIME", shown(*moment), None::<&str>, None::<&str>, None::<DateTime>, None::<DateTime>,]
        }
        Schedule::Every { interval, starts, ends } => cells![
            "RECURRING",
            None::<DateTime>,
            interval.shown_amount(),
            interval.unit_word(),
            shown(*starts),
            ends.and_then(shown),
        ],
    }
}

pub(crate) fn yes_no(yes: bool) -> &'static str {
    if yes { "YES" } else { "NO" }
}
