//! Foreign keys: to tables that were made before, and to the table itself.

use super::Session;
use super::table::{Column, Table};
use super::text::{name, pick};
use stdx::random::Random;

/// A foreign key's parts, as they stand in CREATE TABLE; after ADD each.
pub(super) struct Added {
    /// Columns that the table gets for it.
    pub(super) columns: Vec<String>,
    /// The constraint; none if a column's definition has it.
    pub(super) constraint: Option<String>,
}

impl Added {
    /// All of it.
    pub(super) fn into_lines(self) -> impl Iterator<Item = String> {
        self.columns.into_iter().chain(self.constraint)
    }
}

/// A foreign key to one of `others` or to the table itself, mostly by new columns of the types that
/// a unique key there has.
pub(super) fn foreign_key(
    session: &Session,
    random: &mut Random,
    table: &mut Table,
    others: &[Table],
) -> Option<Added> {
    let others: Vec<&Table> = others.iter().filter(|other| other.name != table.name).collect();
    let at = random.below(others.len() as u64 + 1) as usize;
    let parent = others.get(at).map_or_else(|| table.clone(), |&other| other.clone());
    if parent.unique.is_empty() {
        return None;
    }
    let key = &parent.unique[random.below(parent.unique.len() as u64) as usize];
    // The server's own name for the constraint may be too long: a little of that is wanted.
    let is_long = table.name.chars().count() > 64 - "_ibfk_1".len() && !random.chance(1, 8);
    let is_inline = key.len() == 1 && !is_long && random.chance(1, 3);
    let mut columns = Vec::new();
    let mut own = Vec::new();
    for referred in key {
        let is_like = |column: &&Column| column.ty == referred.ty && !column.is_generated;
        let like = table.columns.iter().find(is_like).filter(|_| !is_inline && random.chance(1, 3));
        let column = like.cloned().unwrap_or_else(|| {
            table.next_number += 1;
            let name = name(random, table.next_number);
            let quoted = session.quote(random, &name);
            let not_null = if random.chance(1, 12) { " NOT NULL" } else { "" };
            columns.push(format!("{quoted} {}{not_null}", referred.ty));
            let column = Column { name, is_auto: false, is_generated: false, ..referred.clone() };
            table.columns.push(column.clone());
            column
        });
        own.push(session.quote(random, &column.name));
    }
    let to = references(session, random, &parent, key);
    if is_inline && let [column] = &mut columns[..] {
        *column += &to;
        return Some(Added { columns, constraint: None });
    }
    let named = match random.below(3) {
        0 if !is_long => String::new(),
        1 if !is_long => "CONSTRAINT ".to_owned(),
        _ => {
            table.next_number += 1;
            // Names are unique in the database.
            let name = name(random, 100 * (1 + others.len() as u64) + table.next_number);
            table.foreign_keys.push(name.clone());
            format!("CONSTRAINT {} ", session.quote(random, &name))
        }
    };
    let index = match random.below(4) {
        0 => {
            table.next_number += 1;
            let name = name(random, table.next_number);
            table.keys.push(name.clone());
            format!(" {}", session.quote(random, &name))
        }
        _ => String::new(),
    };
    let constraint = format!("{named}FOREIGN KEY{index} ({}){to}", own.join(", "));
    Some(Added { columns, constraint: Some(constraint) })
}

/// What a foreign key refers to, and what it does.
fn references(session: &Session, random: &mut Random, parent: &Table, key: &[Column]) -> String {
    let table = session.quote(random, &parent.name);
    // Without a list the primary key is meant.
    let list = match random.chance(1, 12) {
        true => String::new(),
        false => {
            let columns: Vec<String> = key.iter().map(|c| session.quote(random, &c.name)).collect();
            format!(" ({})", columns.join(", "))
        }
    };
    let mut out = format!(" REFERENCES {table}{list}");
    if random.chance(1, 15) {
        out += pick(random, &[" MATCH SIMPLE", " MATCH FULL", " MATCH PARTIAL"]);
    }
    let actions = &["CASCADE", "CASCADE", "SET NULL", "SET NULL", "RESTRICT", "NO ACTION", "SET DEFAULT"];
    let [first, second] = if random.chance(1, 2) { ["DELETE", "UPDATE"] } else { ["UPDATE", "DELETE"] };
    for event in [first, second] {
        if random.chance(1, 2) {
            out += &format!(" ON {event} {}", pick(random, actions));
        }
    }
    out
}
