//! Views of tables that the server accepted: names and texts at the edges, in every form of the
//! statement. What they compute can't fail, and nothing below them is changed any more: they are
//! read after a restart.

use super::table::Table;
use super::text::{name, pick};
use super::{Session, Try};
use stdx::random::Random;

/// Up to three views of the tables, and of each other; replaced, renamed and dropped at times.
pub(super) fn views(session: &Session, random: &mut Random, tables: &[Table], run: &mut Try<'_>) {
    // What a view may select from, and the columns that are known of it.
    let mut sources: Vec<(String, Vec<String>)> = Vec::new();
    for table in tables {
        let columns = table.columns.iter().map(|column| column.name.clone()).take(5).collect();
        sources.push((table.name.clone(), columns));
    }
    for number in 0..=random.below(3) {
        let (view, columns) = (name(random, 900 + number), column_names(random));
        let quoted = session.quote(random, &view);
        let head = head(random);
        let query = query(session, random, &sources, columns.as_ref().map(Vec::len));
        let list = columns.as_ref().map_or(String::new(), |columns| {
            let columns: Vec<String> = columns.iter().map(|name| session.quote(random, name)).collect();
            format!(" ({})", columns.join(", "))
        });
        let verb = pick(random, &["CREATE", "CREATE", "CREATE OR REPLACE"]);
        if !run(&format!("{verb} {head}VIEW {quoted}{list} AS {query}")) {
            continue;
        }
        let mut view = view;
        match random.below(8) {
            0 => {
                run(&format!("ALTER {head}VIEW {quoted}{list} AS {query}"));
            }
            1 => {
                let renamed = name(random, 950 + number);
                if run(&format!("RENAME TABLE {quoted} TO {}", session.quote(random, &renamed))) {
                    view = renamed;
                }
            }
            2 => {
                run(&format!("DROP VIEW {quoted}"));
                continue;
            }
            _ => {}
        }
        sources.extend(columns.map(|columns| (view, columns)));
    }
}

fn column_names(random: &mut Random) -> Option<Vec<String>> {
    random.chance(2, 3).then(|| (0..=random.below(3)).map(|at| name(random, 980 + at)).collect())
}

fn head(random: &mut Random) -> String {
    let mut out = String::new();
    for choice in [
        &["", "", "ALGORITHM = MERGE ", "ALGORITHM = TEMPTABLE ", "ALGORITHM = UNDEFINED "][..],
        &["", "", "DEFINER = CURRENT_USER ", "DEFINER = root@localhost "],
        &["", "", "SQL SECURITY INVOKER ", "SQL SECURITY DEFINER "],
    ] {
        out += pick(random, choice);
    }
    out
}

/// A query of so many columns, if that is asked for.
fn query(
    session: &Session,
    random: &mut Random,
    sources: &[(String, Vec<String>)],
    columns: Option<usize>,
) -> String {
    let (table, known) = &sources[random.below(sources.len() as u64) as usize];
    let quoted = session.quote(random, table);
    let alias = pick(random, &["", "", " AS `x``y`", " z"]);
    let Some(count) = columns else {
        return match random.below(4) {
            0 => format!("TABLE {quoted}"),
            1 => format!("(SELECT * FROM {quoted}{alias} LIMIT 3)"),
            2 => format!("SELECT * FROM {quoted}{alias} ORDER BY 1 DESC"),
            _ => format!("SELECT * FROM {quoted}{alias}"),
        };
    };
    let items: Vec<String> = (0..count).map(|_| item(session, random, known)).collect();
    let select = format!("SELECT {} FROM {quoted}{alias}", items.join(", "));
    let column = known.first().map(|column| session.quote(random, column));
    match (random.below(6), column) {
        (0, _) => format!("{select} UNION ALL {select}"),
        (1, _) => format!("WITH `c``te` AS ({select}) SELECT * FROM `c``te`"),
        (2, _) => format!("SELECT * FROM ({select}) AS `d``t`"),
        (3, Some(column)) => {
            format!("{select} WHERE {column} IS NOT NULL OR NOT EXISTS (SELECT * FROM {quoted})")
        }
        _ => select,
    }
}

fn item(session: &Session, random: &mut Random, columns: &[String]) -> String {
    let expr = match random.below(5) {
        0 => session.any_literal(random, 40),
        1 => "NULL".to_owned(),
        2 => "_latin1'x\u{e9}' COLLATE latin1_bin".to_owned(),
        _ if columns.is_empty() => "1".to_owned(),
        _ => {
            let at = random.below(columns.len() as u64) as usize;
            session.quote(random, &columns[at])
        }
    };
    if random.chance(1, 2) {
        return expr;
    }
    let number = random.below(1000);
    let alias = name(random, number);
    format!("{expr} AS {}", session.quote(random, &alias))
}
