//! Triggers on tables that the server accepted: names, definers, bodies and orders of every sort.
//!
//! What they do fails for no row by itself: the rows that come later are as they would be, or are
//! refused for a column that an ALTER took.

use super::table::{Column, Table};
use super::text::{name, pick};
use super::{Session, Try};
use stdx::random::Random;

const POINTS: [(&str, &str); 6] = [
    ("BEFORE", "INSERT"),
    ("AFTER", "INSERT"),
    ("BEFORE", "UPDATE"),
    ("AFTER", "UPDATE"),
    ("BEFORE", "DELETE"),
    ("AFTER", "DELETE"),
];

/// Up to four triggers of the tables, in orders that are asked for; one is dropped at times, and
/// made again.
pub(super) fn triggers(session: &Session, random: &mut Random, tables: &[Table], run: &mut Try<'_>) {
    let mut made: Vec<(usize, String)> = Vec::new();
    for number in 0..=random.below(4) {
        let table = &tables[random.below(tables.len() as u64) as usize];
        // Few points, so that several triggers meet at one.
        let point = random.below(3) as usize * 2 + usize::from(random.chance(1, 3));
        let trigger = name(random, 800 + number);
        let quoted = session.quote(random, &trigger);
        let text = trigger_text(session, random, table, point, &quoted, &made);
        if !run(&text) {
            continue;
        }
        if random.chance(1, 6) && run(&format!("DROP TRIGGER {quoted}")) && !run(&text) {
            continue;
        }
        made.push((point, trigger));
    }
}

fn trigger_text(
    session: &Session,
    random: &mut Random,
    table: &Table,
    point: usize,
    quoted: &str,
    made: &[(usize, String)],
) -> String {
    let (time, event) = POINTS[point];
    let definer = pick(
        random,
        &["", "", "", "DEFINER = CURRENT_USER ", "DEFINER = root@localhost ", "DEFINER = `no\\'one`@`%` "],
    );
    let other = made.iter().rev().find(|(of, _)| *of == point).map(|(_, name)| name.clone());
    let order = match other {
        Some(other) if random.chance(1, 2) => {
            let word = pick(random, &["FOLLOWS", "PRECEDES"]);
            format!("{word} {} ", session.quote(random, &other))
        }
        _ => String::new(),
    };
    let of = session.quote(random, &table.name);
    let body = body(session, random, table, point);
    format!("CREATE {definer}TRIGGER {quoted} {time} {event} ON {of} FOR EACH ROW {order}{body}")
}

fn body(session: &Session, random: &mut Random, table: &Table, point: usize) -> String {
    let (time, event) = POINTS[point];
    let row = if event == "DELETE" { "OLD" } else { "NEW" };
    let may_set = |column: &&Column| !column.is_generated && !column.is_auto;
    let named = table.columns.iter().filter(may_set).take(20).nth(random.below(4) as usize);
    let Some(column) = named else { return "SET @a = 1".to_owned() };
    let column = format!("{row}.{}", session.quote(random, &column.name));
    match random.below(6) {
        0 => format!("SET @`v``1` = {column}"),
        1 if (time, row) == ("BEFORE", "NEW") => format!("SET {column} = {column}"),
        2 => format!("BEGIN -- it's \\ a comment\n IF {column} IS NULL THEN SET @b = 1; END IF; END"),
        3 => format!(
            "`l``1`: BEGIN DECLARE `v 1` VARCHAR(10) CHARACTER SET latin1 DEFAULT {}; SET @c = `v 1`; END",
            session.any_literal(random, 5)
        ),
        4 => format!("DO (SELECT COUNT(*) FROM (SELECT {column} AS `x``y`) AS d)"),
        _ => format!("SET @d = {}", session.any_literal(random, 40)),
    }
}
