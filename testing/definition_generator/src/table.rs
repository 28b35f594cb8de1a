//! CREATE TABLE in all its forms, and rows.

use super::foreign_key::{Added, foreign_key};
use super::text::{between, characters, name, pick};
use super::types::{Values, any_type, default_charset, integer};
use super::{Session, Try, alter, expression, trigger, view};
use stdx::random::Random;

/// A column that a table has.
#[derive(Debug, Clone)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) ty: String,
    pub(super) values: Values,
    pub(super) is_generated: bool,
    pub(super) is_auto: bool,
}

/// A table that the server accepted.
#[derive(Debug, Clone)]
pub(super) struct Table {
    pub(super) name: String,
    pub(super) columns: Vec<Column>,
    pub(super) keys: Vec<String>,
    pub(super) checks: Vec<String>,
    /// The names that foreign keys were given.
    pub(super) foreign_keys: Vec<String>,
    /// The columns of unique keys that foreign keys may refer to.
    pub(super) unique: Vec<Vec<Column>>,
    /// Numbers that no name of it has.
    pub(super) next_number: u64,
    pub(super) has_primary: bool,
}

/// A table, tables that refer to it in half of the cases, rows, changes of the definitions with
/// rows between them, and copies.
pub(super) fn tables(session: &Session, random: &mut Random, run: &mut Try<'_>) {
    let mut tables: Vec<Table> = Vec::new();
    let count = if random.chance(1, 2) { between(random, 2, 3) } else { 1 };
    for number in 0..count {
        let attempts = 3 * number..3 * (number + 1);
        let made = attempts.into_iter().find_map(|attempt| create(session, random, attempt, &tables, run));
        tables.extend(made);
    }
    if tables.is_empty() {
        return;
    }
    for table in &tables {
        rows(session, random, table, run);
    }
    if random.chance(1, 4) {
        trigger::triggers(session, random, &tables, run);
    }
    let pick_one = |random: &mut Random, tables: &[Table]| random.below(tables.len() as u64) as usize;
    for _ in 0..random.below(3 + 3 * tables.len() as u64) {
        let at = pick_one(random, &tables);
        let mut table = tables[at].clone();
        alter::any(session, random, &mut table, &tables, run);
        tables[at] = table;
        if random.chance(1, 2) {
            let at = pick_one(random, &tables);
            rows(session, random, &tables[at], run);
        }
        if tables.len() > 1 && random.chance(1, 15) {
            run(pick(random, &["SET foreign_key_checks = 0", "SET foreign_key_checks = 1"]));
        }
    }
    let at = pick_one(random, &tables);
    if tables.len() > 1 && random.chance(1, 6) {
        let table = session.quote(random, &tables[at].name);
        run(&format!("{} {table}", pick(random, &["DROP TABLE", "TRUNCATE TABLE", "DELETE FROM"])));
        return;
    }
    if random.chance(1, 4) {
        view::views(session, random, &tables, run);
    }
    let table = tables.swap_remove(at);
    if random.chance(1, 6) {
        copy(session, random, &table, run);
    }
}

fn create(
    session: &Session,
    random: &mut Random,
    attempt: u64,
    others: &[Table],
    run: &mut Try<'_>,
) -> Option<Table> {
    let name = name(random, attempt);
    let mut table = Table {
        name,
        columns: Vec::new(),
        keys: Vec::new(),
        checks: Vec::new(),
        foreign_keys: Vec::new(),
        unique: Vec::new(),
        next_number: 0,
        has_primary: false,
    };
    let mut lines: Vec<String> = Vec::new();
    // What refers to another table has little besides, for that to be accepted.
    let count = match random.below(40) {
        _ if !others.is_empty() => between(random, 1, 3),
        0 => between(random, 1014, 1018),
        1 => between(random, 60, 200),
        _ => between(random, 1, 9),
    };
    let is_wide = count > 20;
    for at in 0..count {
        if is_wide && at > 4 {
            let column = plain_column(&mut table, is_wide && random.chance(1, 2));
            lines.push(format!("`{}` {}", column.name, column.ty));
            table.columns.push(column);
        } else {
            let (column, text) = column(session, random, &mut table);
            lines.push(text);
            table.columns.push(column);
        }
    }
    lines.extend(primary(session, random, &mut table));
    let keys = match random.below(30) {
        _ if !others.is_empty() => random.below(2),
        0 => between(random, 60, 65),
        _ => random.below(4),
    };
    for _ in 0..keys {
        lines.extend(key(session, random, &mut table));
    }
    let checks = if others.is_empty() { random.below(3) } else { random.below(6) / 5 };
    for _ in 0..checks {
        lines.push(check(session, random, &mut table));
    }
    let foreign_keys = if others.is_empty() { random.below(8) / 6 } else { random.below(3) };
    for _ in 0..foreign_keys {
        let added = foreign_key(session, random, &mut table, others);
        lines.extend(added.into_iter().flat_map(Added::into_lines));
    }
    let text = format!(
        "CREATE TABLE {} ({}){}",
        session.quote(random, &table.name),
        lines.join(", "),
        options(session, random)
    );
    run(&text).then_some(table)
}

fn plain_column(table: &mut Table, is_short: bool) -> Column {
    table.next_number += 1;
    let name =
        format!("{}{}", if is_short { "n" } else { "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnn" }, table.next_number);
    Column {
        name,
        ty: "INT".into(),
        values: Values::Integer { bits: 32, unsigned: false },
        is_generated: false,
        is_auto: false,
    }
}

/// A new column and its definition.
pub(super) fn column(session: &Session, random: &mut Random, table: &mut Table) -> (Column, String) {
    table.next_number += 1;
    let name = name(random, table.next_number);
    let (ty, values) = any_type(session, random);
    let quoted = session.quote(random, &name);
    let is_generated = !table.columns.is_empty() && random.chance(1, 7);
    let mut text = format!("{quoted} {ty}");
    if is_generated {
        let sources: Vec<Column> = table.columns.iter().filter(|c| !c.is_auto).take(20).cloned().collect();
        let expr = if random.chance(1, 5) {
            expression::deep(session, random, &sources)
        } else {
            expression::any(session, random, &sources, 2)
        };
        text += &format!(
            " {}({expr}){}",
            pick(random, &["AS ", "GENERATED ALWAYS AS "]),
            pick(random, &["", " STORED", " VIRTUAL"])
        );
    }
    text += &attributes(session, random, &values, is_generated);
    if random.chance(1, 12) {
        table.next_number += 1;
        let inner = Column {
            name: name.clone(),
            ty: ty.clone(),
            values: values.clone(),
            is_generated,
            is_auto: false,
        };
        text += &format!(" CHECK ({})", expression::condition(session, random, &[inner]));
    }
    (Column { name, ty, values, is_generated, is_auto: false }, text)
}

/// What stands after a column's type.
pub(super) fn attributes(
    session: &Session,
    random: &mut Random,
    values: &Values,
    is_generated: bool,
) -> String {
    let mut out = String::new();
    if random.chance(1, 4) {
        out += pick(random, &[" NOT NULL", " NULL"]);
    }
    if !is_generated && random.chance(1, 2) {
        out += &format!(" DEFAULT {}", values.default(session, random));
    }
    if random.chance(1, 12) {
        out += pick(random, &[" INVISIBLE", " VISIBLE"]);
    }
    if random.chance(1, 5) {
        out += &format!(" COMMENT {}", session.any_literal(random, 1024));
    }
    if random.chance(1, 40) {
        out += pick(
            random,
            &[
                " UNIQUE",
                " COLUMN_FORMAT DYNAMIC",
                " STORAGE DISK",
                " ENGINE_ATTRIBUTE '{\"a\": \"\\\\'\"}'",
                " UNIQUE KEY",
            ],
        );
    }
    out
}

fn primary(session: &Session, random: &mut Random, table: &mut Table) -> Option<String> {
    match random.below(4) {
        0 => None,
        1 | 2 => {
            table.next_number += 1;
            let name = name(random, table.next_number);
            let (ty, values) = integer(random);
            let quoted = session.quote(random, &name);
            let automatic = random.chance(2, 3);
            let auto = if automatic { " AUTO_INCREMENT" } else { "" };
            let invisible = if random.chance(1, 10) { " INVISIBLE" } else { "" };
            let column = Column { name, ty: ty.clone(), values, is_generated: false, is_auto: automatic };
            table.unique.push(vec![column.clone()]);
            table.columns.push(column);
            table.has_primary = true;
            Some(if random.chance(1, 6) && automatic {
                format!("{quoted} {ty}{auto} UNIQUE{invisible}")
            } else {
                format!("{quoted} {ty}{auto} PRIMARY KEY{invisible}")
            })
        }
        _ => {
            let usable: Vec<&Column> =
                table.columns.iter().filter(|c| is_keyable(c) && !c.is_generated).collect();
            if usable.is_empty() {
                return None;
            }
            let most = usable.len().min(17) as u64;
            let count = between(random, 1, most);
            let usable = &usable[..count as usize];
            let parts: Vec<String> = usable.iter().map(|c| part(session, random, c)).collect();
            let unique: Vec<Column> = usable.iter().map(|&c| c.clone()).collect();
            if parts.iter().all(|part| is_whole(part)) {
                table.unique.push(unique);
            }
            table.has_primary = true;
            Some(format!("PRIMARY KEY ({})", parts.join(", ")))
        }
    }
}

fn is_keyable(column: &Column) -> bool {
    column.values != Values::Json
}

/// A column as a key's part; long ones by a prefix.
fn part(session: &Session, random: &mut Random, column: &Column) -> String {
    let quoted = session.quote(random, &column.name);
    let prefix = match &column.values {
        Values::Lob { .. } => format!("({})", between(random, 1, 60)),
        Values::Text { most, .. } if *most > 100 || (*most > 1 && random.chance(1, 3)) => {
            format!("({})", between(random, 1, (*most - 1).clamp(1, 191)))
        }
        _ => String::new(),
    };
    format!("{quoted}{prefix}{}", pick(random, &["", "", " DESC", " ASC"]))
}

/// True for a part that is a whole column, going up.
fn is_whole(part: &str) -> bool {
    !part.contains('(') && !part.ends_with(" DESC")
}

/// A key of the table, as it stands in CREATE TABLE and after ADD.
pub(super) fn key(session: &Session, random: &mut Random, table: &mut Table) -> Option<String> {
    let usable: Vec<Column> = table.columns.iter().filter(|c| is_keyable(c)).cloned().collect();
    if usable.is_empty() {
        return None;
    }
    let count = match random.below(10) {
        0 => between(random, 14, 17),
        _ => between(random, 1, 3),
    };
    let mut left: Vec<&Column> = usable.iter().collect();
    let mut parts: Vec<String> = Vec::new();
    let mut taken: Vec<Column> = Vec::new();
    while (parts.len() as u64) < count && !left.is_empty() {
        let column = left.swap_remove(random.below(left.len() as u64) as usize);
        taken.push(column.clone());
        parts.push(if random.chance(1, 10) {
            format!("(({}))", functional(session, random, column))
        } else {
            part(session, random, column)
        });
    }
    let name = if random.chance(1, 5) {
        String::new()
    } else {
        table.next_number += 1;
        let name = name(random, table.next_number);
        table.keys.push(name.clone());
        session.quote(random, &name)
    };
    let word = pick(random, &["KEY", "INDEX", "KEY", "UNIQUE", "UNIQUE KEY", "UNIQUE INDEX"]);
    if word.starts_with("UNIQUE") && parts.iter().all(|part| is_whole(part)) {
        table.unique.push(taken);
    }
    Some(format!("{word} {name} ({}){}", parts.join(", "), key_options(session, random)))
}

fn functional(session: &Session, random: &mut Random, column: &Column) -> String {
    let columns = [column.clone()];
    let quoted = session.quote(random, &column.name);
    match random.below(6) {
        0 => format!("ABS({quoted})"),
        1 => format!("{quoted} + 1"),
        2 => format!("CAST({quoted} AS CHAR(20))"),
        3 => format!("CONCAT({quoted}, '\\\\', '''')"),
        4 => expression::deep(session, random, &columns),
        _ => expression::any(session, random, &columns, 2),
    }
}

/// What stands after a key's parts.
pub(super) fn key_options(session: &Session, random: &mut Random) -> String {
    let mut out =
        pick(random, &["", "", "", " USING BTREE", " USING HASH", " INVISIBLE", " KEY_BLOCK_SIZE = 8"])
            .to_owned();
    if random.chance(1, 5) {
        out += &format!(" COMMENT {}", session.any_literal(random, 1024));
    }
    out
}

/// A CHECK, as it stands in CREATE TABLE and after ADD.
pub(super) fn check(session: &Session, random: &mut Random, table: &mut Table) -> String {
    let columns: Vec<Column> = table.columns.iter().filter(|c| !c.is_auto).take(20).cloned().collect();
    let expr = if random.chance(1, 3) {
        expression::deep(session, random, &columns)
    } else {
        expression::condition(session, random, &columns)
    };
    let named = match random.below(3) {
        0 => {
            table.next_number += 1;
            let name = name(random, table.next_number);
            table.checks.push(name.clone());
            format!("CONSTRAINT {} ", session.quote(random, &name))
        }
        1 => "CONSTRAINT ".to_owned(),
        _ => String::new(),
    };
    format!("{named}CHECK ({expr}){}", pick(random, &["", "", " NOT ENFORCED", " ENFORCED"]))
}

/// Table options.
pub(super) fn options(session: &Session, random: &mut Random) -> String {
    let mut out = String::new();
    for _ in 0..random.below(3) {
        out += " ";
        out += &match random.below(8) {
            0 => format!("COMMENT = {}", session.any_literal(random, 2048)),
            1 | 2 => format!("DEFAULT CHARSET = {}", default_charset(random)),
            3 => format!(
                "AUTO_INCREMENT = {}",
                pick(
                    random,
                    &[
                        "0",
                        "1",
                        "126",
                        "127",
                        "32766",
                        "8388606",
                        "2147483646",
                        "2147483647",
                        "4294967295",
                        "9223372036854775807",
                        "18446744073709551614",
                        "18446744073709551615",
                        "1000"
                    ]
                )
            ),
            4 => pick(
                random,
                &[
                    "ROW_FORMAT = DYNAMIC",
                    "ROW_FORMAT = COMPRESSED",
                    "KEY_BLOCK_SIZE = 8",
                    "ROW_FORMAT = REDUNDANT",
                ],
            )
            .to_owned(),
            5 => pick(
                random,
                &[
                    "STATS_PERSISTENT = 1",
                    "STATS_AUTO_RECALC = DEFAULT",
                    "STATS_SAMPLE_PAGES = 65535",
                    "MAX_ROWS = 18446744073709551615",
                    "MIN_ROWS = 1",
                    "AVG_ROW_LENGTH = 4294967295",
                    "CHECKSUM = 1",
                    "DELAY_KEY_WRITE = 1",
                    "PACK_KEYS = 1",
                ],
            )
            .to_owned(),
            6 => pick(random, &["ENGINE = InnoDB", "ENGINE 'MyISAM'", "ENGINE = `memory`", "ENGINE archive"])
                .to_owned(),
            _ => pick(
                random,
                &[
                    "COLLATE utf8mb4_0900_as_ci",
                    "COLLATE latin1_bin",
                    "ENCRYPTION = 'N'",
                    "COMPRESSION = 'none'",
                    "TABLESPACE = innodb_file_per_table",
                ],
            )
            .to_owned(),
        };
    }
    out
}

/// Inserts a few rows at the extremes.
pub(super) fn rows(session: &Session, random: &mut Random, table: &Table, run: &mut Try<'_>) {
    let quoted = session.quote(random, &table.name);
    for _ in 0..between(random, 1, 3) {
        if random.chance(1, 6) {
            run(&format!("INSERT INTO {quoted} () VALUES ()"));
            continue;
        }
        let columns: Vec<&Column> = table
            .columns
            .iter()
            .filter(|c| !c.is_generated && (!c.is_auto || random.chance(1, 4)))
            .take(40)
            .collect();
        let names: Vec<String> = columns.iter().map(|c| session.quote(random, &c.name)).collect();
        let values: Vec<String> = columns
            .iter()
            .map(|c| match random.below(8) {
                0 => "DEFAULT".to_owned(),
                1 => "NULL".to_owned(),
                _ => c.values.literal(session, random),
            })
            .collect();
        let word = pick(random, &["INSERT INTO", "INSERT IGNORE INTO", "INSERT IGNORE INTO", "REPLACE INTO"]);
        run(&format!("{word} {quoted} ({}) VALUES ({})", names.join(", "), values.join(", ")));
    }
}

/// CREATE TABLE .. LIKE, .. SELECT and RENAME TABLE to another name at the edges.
fn copy(session: &Session, random: &mut Random, table: &Table, run: &mut Try<'_>) {
    let from = session.quote(random, &table.name);
    let name = name(random, 77);
    let to = session.quote(random, &name);
    let made = match random.below(4) {
        0 => run(&format!("CREATE TABLE {to} LIKE {from}")),
        1 => run(&format!("CREATE TABLE {to} SELECT * FROM {from}")),
        2 => {
            let column = table.columns.first().map_or_else(|| "1".into(), |c| session.quote(random, &c.name));
            run(&format!(
                "CREATE TABLE {to} (id INT AUTO_INCREMENT PRIMARY KEY) {} SELECT {column}, {} AS `e \\\\ x` FROM {from}",
                pick(random, &["", "IGNORE", "REPLACE"]),
                expression::any(session, random, &table.columns, 1)
            ))
        }
        _ => run(&format!("RENAME TABLE {from} TO {to}")),
    };
    if made {
        let copy = Table { name, ..table.clone() };
        rows(session, random, &copy, run);
    }
}

/// A text for comments, as characters: a table's may have 2048.
pub(super) fn comment(session: &Session, random: &mut Random, most: u64) -> String {
    let text = characters(random, most);
    session.literal(random, &text)
}
