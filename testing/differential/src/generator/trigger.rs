//! Triggers: of every event, before and after it, several of one event, that note what happens,
//! give columns other values, refuse rows, and change other tables, whose triggers run then.
//!
//! What they do to a row depends on nothing but that row, for no server says in what order an
//! UPDATE or a DELETE comes to its rows.

use super::schema::{KEY, Table};
use super::{Generator, Statement, unordered};
use crate::tree::{Sql, sql, text};

/// What triggers write to; rows without a key, so that their order is nobody's.
pub(super) const AUDIT: &str = "audit";

/// A trigger that is there.
pub(super) struct Trigger {
    name: String,
    table: String,
    when: &'static str,
}

impl Generator {
    /// The table that triggers write to.
    pub(super) fn new_audit(&mut self, script: &mut Vec<Statement>) {
        let definition = format!("CREATE TABLE {AUDIT} (what VARCHAR(20), k INT, old TEXT, new TEXT)");
        script.push(unordered(text(definition)));
    }

    /// Makes a trigger, or removes one.
    pub(super) fn new_trigger(&mut self, script: &mut Vec<Statement>) {
        let bases: Vec<_> = self.tables.iter().filter(|t| !t.is_temporary).cloned().collect();
        if bases.is_empty() {
            return;
        }
        if !self.triggers.is_empty() && self.percent(15) {
            let number = self.below(self.triggers.len() as u64) as usize;
            let name = self.triggers.swap_remove(number).name;
            return script.push(unordered(text(format!("DROP TRIGGER {name}"))));
        }
        let table = self.pick(&bases);
        let when = self.pick(&[
            "BEFORE INSERT",
            "BEFORE INSERT",
            "AFTER INSERT",
            "BEFORE UPDATE",
            "BEFORE UPDATE",
            "AFTER UPDATE",
            "BEFORE DELETE",
            "AFTER DELETE",
        ]);
        let name = self.name("tr");
        let fellows = self.triggers.iter().filter(|t| t.table == table.name && t.when == when);
        let fellows: Vec<_> = fellows.map(|t| t.name.clone()).collect();
        let place = match fellows.is_empty() || self.percent(50) {
            true => String::new(),
            false => format!("{} {} ", self.pick(&["FOLLOWS", "PRECEDES"]), self.pick(&fellows)),
        };
        let body = self.body(&table, &name, when, &bases);
        let pattern = format!("CREATE TRIGGER {name} {when} ON {} FOR EACH ROW {place}{{}}", table.name);
        script.push(unordered(sql(&pattern, [body])));
        self.triggers.push(Trigger { name, table: table.name, when });
    }

    fn body(&mut self, table: &Table, name: &str, when: &str, bases: &[Table]) -> Sql {
        if self.percent(55) {
            return self.step(table, name, when, bases);
        }
        let (first, second) = (self.step(table, name, when, bases), self.step(table, name, when, bases));
        if self.percent(50) {
            return sql("BEGIN {}; {}; END", [first, second]);
        }
        let condition = self.condition(&self.rows_of(table, when), 1);
        sql("BEGIN IF {} THEN {}; ELSE {}; END IF; END", [condition, first, second])
    }

    /// The columns of OLD and NEW.
    fn rows_of(&self, table: &Table, when: &str) -> Vec<super::expression::Visible> {
        let new = if when.ends_with("DELETE") { Vec::new() } else { self.seen(table, "NEW") };
        let old = if when.ends_with("INSERT") { Vec::new() } else { self.seen(table, "OLD") };
        [new, old].concat()
    }

    /// A statement of a body.
    fn step(&mut self, table: &Table, name: &str, when: &str, bases: &[Table]) -> Sql {
        let row = if when.ends_with("DELETE") { "OLD" } else { "NEW" };
        let may_set = when.starts_with("BEFORE") && row == "NEW";
        if self.with_routines && self.percent(25) {
            let scope = self.rows_of(table, when);
            if let Some(statement) = self.routine_of_trigger(&scope) {
                return statement;
            }
        }
        match self.below(10) {
            0..=3 if may_set => self.set_new(table, when),
            4 => {
                let rest = self.below(7);
                text(format!(
                    "IF {row}.{KEY} % 7 = {rest} THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no'; END IF"
                ))
            }
            5 | 6 => self.change_other(table, row, bases),
            _ => self.note(table, name, when, row),
        }
    }

    fn set_new(&mut self, table: &Table, when: &str) -> Sql {
        let column = self.pick(&table.settable());
        let scope = self.rows_of(table, when);
        let value = match self.below(3) {
            0 => self.value(&column.ty),
            1 if when.ends_with("UPDATE") => text(format!("OLD.{}", column.name)),
            _ => self.expression(column.ty.class, &scope, 1),
        };
        sql(&format!("SET NEW.{} = {{}}", column.name), [value])
    }

    /// A row of the table of notes.
    fn note(&mut self, table: &Table, name: &str, when: &str, row: &str) -> Sql {
        let column = self.pick(&table.columns).name;
        let old = if when.ends_with("INSERT") { "NULL".to_owned() } else { format!("OLD.{column}") };
        let new = if when.ends_with("DELETE") { "NULL".to_owned() } else { format!("NEW.{column}") };
        // A number that is not given yet is 0.
        text(format!("INSERT INTO {AUDIT} VALUES ('{name}', {row}.{KEY}, {old}, {new})"))
    }

    /// A change of another table, of one row of it.
    fn change_other(&mut self, table: &Table, row: &str, bases: &[Table]) -> Sql {
        let others: Vec<_> = bases.iter().filter(|t| t.name != table.name).cloned().collect();
        if others.is_empty() {
            return text(format!("DELETE FROM {AUDIT} WHERE k = {row}.{KEY}"));
        }
        let other = self.pick(&others);
        let column = self.pick(&other.settable());
        match self.below(4) {
            0 => text(format!("DELETE FROM {} WHERE {KEY} = {row}.{KEY} + 1", other.name)),
            1 => {
                let value = self.value(&column.ty);
                // No IGNORE, which MySQL's triggers do not heed.
                let pattern = format!(
                    "INSERT INTO {} ({KEY}, {}) VALUES ({row}.{KEY} + 50, {{}}) ON DUPLICATE KEY UPDATE {KEY} = {KEY}",
                    other.name, column.name
                );
                sql(&pattern, [value])
            }
            _ => {
                let value = self.value(&column.ty);
                let pattern =
                    format!("UPDATE {} SET {} = {{}} WHERE {KEY} = {row}.{KEY}", other.name, column.name);
                sql(&pattern, [value])
            }
        }
    }
}
