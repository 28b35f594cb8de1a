//! Changes of a definition that is there.

use super::foreign_key::foreign_key;
use super::table::{Column, Table, attributes, check, column, comment, key, key_options, options};
use super::text::{name, pick};
use super::types::{any_type, default_charset};
use super::{Session, Try};
use stdx::random::Random;

/// Changes the table in one way or two, and `table` with it where the server accepts.
pub(super) fn any(
    session: &Session,
    random: &mut Random,
    table: &mut Table,
    others: &[Table],
    run: &mut Try<'_>,
) {
    let mut changed = table.clone();
    let quoted = session.quote(random, &table.name);
    if random.chance(1, 8) {
        changed.next_number += 1;
        changed.name = name(random, changed.next_number);
        let to = session.quote(random, &changed.name);
        let is_renamed = match random.below(2) {
            0 => run(&format!("RENAME TABLE {quoted} TO {to}")),
            _ => run(&format!("ALTER TABLE {quoted} RENAME TO {to}")),
        };
        if is_renamed {
            *table = changed;
        }
        return;
    }
    if random.chance(1, 10) {
        if let Some(text) = index(session, random, &mut changed, &quoted)
            && run(&text)
        {
            *table = changed;
        }
        return;
    }
    let count = if random.chance(1, 5) { 2 } else { 1 };
    let changes: Vec<String> = (0..count).map(|_| change(session, random, &mut changed, others)).collect();
    let how = pick(
        random,
        &[
            "",
            "",
            "",
            "",
            ", ALGORITHM = COPY",
            ", ALGORITHM = INPLACE",
            ", ALGORITHM = INSTANT",
            ", LOCK = NONE",
        ],
    );
    if run(&format!("ALTER TABLE {quoted} {}{how}", changes.join(", "))) {
        *table = changed;
    }
}

fn index(session: &Session, random: &mut Random, table: &mut Table, quoted: &str) -> Option<String> {
    if !table.keys.is_empty() && random.chance(1, 3) {
        let name = table.keys.remove(random.below(table.keys.len() as u64) as usize);
        return Some(format!("DROP INDEX {} ON {quoted}", session.quote(random, &name)));
    }
    // CREATE INDEX has the parts after the table.
    let text = key(session, random, table)?;
    let name = table.keys.last()?.clone();
    let (head, parts) = text.split_once(" (")?;
    let word = if head.starts_with("UNIQUE") { "UNIQUE INDEX" } else { "INDEX" };
    Some(format!("CREATE {word} {} ON {quoted} ({parts}", session.quote(random, &name)))
}

fn change(session: &Session, random: &mut Random, table: &mut Table, others: &[Table]) -> String {
    let at = random.below(table.columns.len().max(1) as u64) as usize;
    let Some(old) = table.columns.get(at).cloned() else { return "FORCE".into() };
    let quoted = session.quote(random, &old.name);
    match random.below(30) {
        0..=3 => {
            let (added, text) = column(session, random, table);
            let column_position = column_position(session, random, table);
            table.columns.push(added);
            format!("ADD COLUMN {text}{column_position}")
        }
        4 => {
            table.columns.remove(at);
            format!("DROP COLUMN {quoted}")
        }
        5 | 6 => {
            let (ty, values) = any_type(session, random);
            let text = attributes(session, random, &values, false);
            let column_position = column_position(session, random, table);
            table.columns[at] = Column { ty: ty.clone(), values, is_generated: false, is_auto: false, ..old };
            format!("MODIFY {quoted} {ty}{text}{column_position}")
        }
        7 => {
            table.next_number += 1;
            let new = name(random, table.next_number);
            let to = session.quote(random, &new);
            let (ty, values) = (old.ty.clone(), old.values.clone());
            let text = attributes(session, random, &values, false);
            table.columns[at] =
                Column { name: new, ty: ty.clone(), values, is_generated: false, is_auto: false };
            format!("CHANGE COLUMN {quoted} {to} {ty}{text}")
        }
        8 | 9 => {
            table.next_number += 1;
            let new = name(random, table.next_number);
            let to = session.quote(random, &new);
            let renamed = |column: &&mut Column| column.name == old.name;
            table.unique.iter_mut().flatten().filter(renamed).for_each(|column| column.name.clone_from(&new));
            table.columns[at].name = new;
            format!("RENAME COLUMN {quoted} TO {to}")
        }
        10 | 11 => {
            let default = old.values.default(session, random);
            let default = default.split(" ON UPDATE ").next().unwrap_or_default().to_owned();
            format!("ALTER COLUMN {quoted} SET DEFAULT {default}")
        }
        12 => format!("ALTER COLUMN {quoted} DROP DEFAULT"),
        13 => format!("ALTER COLUMN {quoted} SET {}", pick(random, &["INVISIBLE", "VISIBLE"])),
        14 | 15 => format!("ADD {}", check(session, random, table)),
        16 => match table.checks.pop() {
            Some(name) => {
                let name = session.quote(random, &name);
                format!("{} {name}", pick(random, &["DROP CHECK", "DROP CONSTRAINT"]))
            }
            None => "FORCE".into(),
        },
        17 => match table.checks.last() {
            Some(name) => {
                let name = session.quote(random, name);
                format!("ALTER CHECK {name} {}", pick(random, &["ENFORCED", "NOT ENFORCED"]))
            }
            None => pick(random, &["ENGINE = InnoDB", "ENGINE = 'MyISAM'", "ENGINE `heap`"]).into(),
        },
        18 => key(session, random, table).map_or_else(|| "FORCE".into(), |key| format!("ADD {key}")),
        19 => match table.keys.pop() {
            Some(old) if random.chance(1, 2) => {
                table.next_number += 1;
                let new = name(random, table.next_number);
                let text = format!(
                    "RENAME INDEX {} TO {}",
                    session.quote(random, &old),
                    session.quote(random, &new)
                );
                table.keys.push(new);
                text
            }
            Some(old) => format!(
                "ALTER INDEX {} {}",
                session.quote(random, &old),
                pick(random, &["INVISIBLE", "VISIBLE"])
            ),
            None => "FORCE".into(),
        },
        20 | 21 if !table.has_primary => {
            table.next_number += 1;
            let new = name(random, table.next_number);
            let (ty, values) = super::types::integer(random);
            let text = session.quote(random, &new);
            table.columns.push(Column {
                name: new,
                ty: ty.clone(),
                values,
                is_generated: false,
                is_auto: true,
            });
            table.has_primary = true;
            format!(
                "ADD {text} {ty} AUTO_INCREMENT {}{}",
                pick(random, &["PRIMARY KEY", "PRIMARY KEY", "UNIQUE"]),
                pick(random, &["", " FIRST"])
            )
        }
        20 => {
            table.has_primary = false;
            "DROP PRIMARY KEY".into()
        }
        21 => {
            table.has_primary = true;
            format!("ADD PRIMARY KEY ({quoted}){}", key_options(session, random))
        }
        22 => format!("CONVERT TO CHARACTER SET {}", default_charset(random)),
        23 => format!("COMMENT = {}", comment(session, random, 2048)),
        24 => {
            let options = options(session, random);
            if options.is_empty() { "FORCE".into() } else { options.trim_start().to_owned() }
        }
        25 | 26 => match foreign_key(session, random, table, others) {
            Some(added) => {
                let lines: Vec<String> = added.into_lines().map(|line| format!("ADD {line}")).collect();
                lines.join(", ")
            }
            None => "FORCE".into(),
        },
        27 | 28 => match table.foreign_keys.pop() {
            Some(name) => {
                let name = session.quote(random, &name);
                format!("{} {name}", pick(random, &["DROP FOREIGN KEY", "DROP CONSTRAINT"]))
            }
            None => "FORCE".into(),
        },
        _ => format!(
            "AUTO_INCREMENT = {}",
            pick(random, &["1", "100", "127", "255", "65535", "4294967295", "18446744073709551615", "0"])
        ),
    }
}

fn column_position(session: &Session, random: &mut Random, table: &Table) -> String {
    match random.below(4) {
        0 => " FIRST".into(),
        1 if !table.columns.is_empty() => {
            let column = &table.columns[random.below(table.columns.len() as u64) as usize];
            format!(" AFTER {}", session.quote(random, &column.name))
        }
        _ => String::new(),
    }
}
