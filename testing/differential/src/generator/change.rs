//! Changes of rows.

use super::Generator;
use super::schema::{Class, Column, KEY, TRUE, Table};
use crate::tree::{Sql, commas, expression, optional, sql, text};

/// Keys are drawn below this, so that some are there already.
const KEYS: u64 = 40;

impl Generator {
    /// A change of rows.
    pub(super) fn change(&mut self) -> Sql {
        let tables = self.changeable();
        let table = self.pick(&tables);
        if self.foreign_keys && self.percent(15) {
            return self.update_key(&table);
        }
        match self.below(20) {
            0 => self.insert_some(&table),
            1..=4 => {
                let rows = self.some_rows(&table);
                let ignore = if self.percent(15) && self.may_ignore(&table) { "IGNORE " } else { "" };
                sql(&format!("INSERT {ignore}INTO {} VALUES {{}}", table.name), [rows])
            }
            5 | 6 => self.insert_or_update(&table),
            // MariaDB's temporary tables lose the rows that a REPLACE has replaced when it fails.
            7 | 8 if self.for_mysql || !table.is_temporary => {
                let rows = self.some_rows(&table);
                sql(&format!("REPLACE INTO {} VALUES {{}}", table.name), [rows])
            }
            9 => self.insert_select(&table),
            10..=15 => self.update(&table),
            16 => self.update_joined(&table),
            17 => self.delete_joined(&table),
            _ => self.delete(&table),
        }
    }

    /// Where MariaDB's temporary tables lose rows, in the ROLLBACK of a DELETE and an INSERT,
    /// others are changed if there are any.
    fn changeable(&self) -> Vec<Table> {
        let may_lose = self.in_transaction && !self.for_mysql;
        let mut lasting = self.readable();
        lasting.retain(|t| !may_lose || !t.is_temporary);
        if lasting.is_empty() { self.tables.clone() } else { lasting }
    }

    /// MariaDB's generated dates read the zero date that a wrong one becomes as NULL.
    fn may_ignore(&self, table: &Table) -> bool {
        let is_date = |c: &Column| c.is_generated && matches!(c.ty.class, Class::Date | Class::DateTime);
        self.for_mysql || !table.columns.iter().any(is_date)
    }

    fn some_rows(&mut self, table: &Table) -> Sql {
        let count = 1 + self.below(4);
        self.rows(table, count, true)
    }

    /// Rows in parentheses. Keys are new ones, unless they may `collide`.
    pub(super) fn rows(&mut self, table: &Table, count: u64, collide: bool) -> Sql {
        let rows = (0..count)
            .map(|_| {
                let values = table.columns.iter().map(|c| self.value_of(c, collide)).collect();
                sql("({})", [Sql::List { items: values, separator: ", ", least: table.columns.len() }])
            })
            .collect();
        commas(rows)
    }

    fn value_of(&mut self, column: &Column, collide: bool) -> Sql {
        if column.is_generated || self.percent(2) {
            return text("DEFAULT");
        }
        if column.name != KEY {
            return self.value(&column.ty);
        }
        self.names += 1;
        let key = if collide { self.below(KEYS) } else { u64::from(self.names) };
        text(key.to_string())
    }

    /// An INSERT that names some columns, or sets them one by one.
    fn insert_some(&mut self, table: &Table) -> Sql {
        let is_given = |generator: &mut Self, c: &Column| {
            !c.is_generated && (c.name == KEY && !table.counts || generator.percent(60))
        };
        let mut columns: Vec<_> = table.columns.iter().filter(|c| is_given(self, c)).cloned().collect();
        if columns.is_empty() {
            columns = table.settable();
        }
        let words = &["INSERT", "INSERT IGNORE", "REPLACE"];
        let word = self.pick(if self.for_mysql || !table.is_temporary { words } else { &words[..2] });
        let word = if word == "INSERT IGNORE" && !self.may_ignore(table) { "INSERT" } else { word };
        if self.percent(40) {
            let sets = columns.iter().map(|c| sql(&format!("{} = {{}}", c.name), [self.value_of(c, true)]));
            let sets = commas(sets.collect());
            return sql(&format!("{word} INTO {} SET {{}}", table.name), [sets]);
        }
        let names: Vec<_> = columns.iter().map(|c| c.name.as_str()).collect();
        let pattern = format!("{word} INTO {} ({}) VALUES {{}}", table.name, names.join(", "));
        let rows = Table { columns: columns.clone(), ..table.clone() };
        let count = 1 + self.below(3);
        sql(&pattern, [self.rows(&rows, count, true)])
    }

    fn insert_or_update(&mut self, table: &Table) -> Sql {
        let rows = self.some_rows(table);
        let column = self.pick(&table.settable());
        let name = &column.name;
        let new = match self.below(3) {
            0 => text(format!("VALUES({name})")),
            1 => self.value(&column.ty),
            _ => text(name.clone()),
        };
        sql(
            &format!("INSERT INTO {} VALUES {{}} ON DUPLICATE KEY UPDATE {name} = {{}}", table.name),
            [rows, new],
        )
    }

    fn insert_select(&mut self, table: &Table) -> Sql {
        let scope = self.seen(table, "a");
        let filter = self.filter(&scope);
        let columns = table.settable();
        let names: Vec<_> = columns.iter().map(|c| c.name.as_str()).collect();
        let mut values: Vec<_> = names.iter().map(|name| format!("a.{name}")).collect();
        if self.percent(30) {
            // Two columns get each other's values, whatever their types.
            let (a, b) = (self.below(values.len() as u64) as usize, self.below(values.len() as u64) as usize);
            values.swap(a, b);
        }
        let shift = 40 + self.below(1000);
        let (into, of) = (names.join(", "), values.join(", "));
        let pattern = format!(
            "INSERT INTO {0} ({KEY}, {into}) SELECT a.{KEY} + {shift}, {of} FROM {0} AS a{{}} ORDER BY a.{KEY}",
            table.name
        );
        sql(&pattern, [filter])
    }

    fn update(&mut self, table: &Table) -> Sql {
        let scope = self.seen(table, &table.name);
        let mut sets = Vec::new();
        for _ in 0..1 + self.below(2) {
            let column = self.pick(&table.settable());
            let new = if self.percent(50) {
                self.value(&column.ty)
            } else {
                self.expression(column.ty.class, &scope, 2)
            };
            sets.push(sql(&format!("{} = {{}}", column.name), [new]));
        }
        let (filter, order) = (self.filter(&scope), self.some_of());
        sql(&format!("UPDATE {} SET {{}}{{}}{{}}", table.name), [commas(sets), filter, order])
    }

    /// UPDATE of keys that others may refer to.
    fn update_key(&mut self, table: &Table) -> Sql {
        let by = self.pick(&["1", "40", "-1", "1000", "-1000"]);
        let rest = self.below(3);
        text(format!("UPDATE {} SET {KEY} = {KEY} + {by} WHERE {KEY} % 3 = {rest}", table.name))
    }

    /// UPDATE of the rows that have partners of the same key in another table.
    fn update_joined(&mut self, table: &Table) -> Sql {
        let tables = self.readable();
        let other = self.pick(&tables);
        let scope = [self.seen(table, "a"), self.seen(&other, "b")].concat();
        let column = self.pick(&table.settable());
        let new = self.expression(column.ty.class, &scope, 1);
        let filter = self.filter(&scope);
        let pattern = format!(
            "UPDATE {} AS a JOIN {} AS b ON a.id = b.id SET a.{} = {{}}{{}}",
            table.name, other.name, column.name
        );
        sql(&pattern, [new, filter])
    }

    fn delete_joined(&mut self, table: &Table) -> Sql {
        let tables = self.readable();
        let other = self.pick(&tables);
        let scope = [self.seen(table, "a"), self.seen(&other, "b")].concat();
        let condition = self.condition(&scope, 1);
        let how = self.pick(&["JOIN", "LEFT JOIN"]);
        let pattern = format!(
            "DELETE a FROM {} AS a {how} {} AS b ON a.id = b.id + 1 WHERE {{}} AND a.id % 3 = {}",
            table.name,
            other.name,
            self.below(3)
        );
        sql(&pattern, [condition])
    }

    fn delete(&mut self, table: &Table) -> Sql {
        let scope = self.seen(table, &table.name);
        let condition = self.condition(&scope, 2);
        // Not too many: queries want rows.
        let condition =
            sql("({}) AND {}", [condition, expression(text(format!("id % 3 = {}", self.below(3))), TRUE)]);
        let order = self.some_of();
        sql(&format!("DELETE FROM {} WHERE {{}}{{}}", table.name), [condition, order])
    }

    /// ORDER BY the key with a LIMIT, at times.
    fn some_of(&mut self) -> Sql {
        if self.percent(20) {
            optional(text(format!(" ORDER BY {KEY} LIMIT {}", self.below(5))))
        } else {
            text("")
        }
    }
}
