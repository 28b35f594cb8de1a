//! Changes of rows and of definitions.

use super::query::visible;
use super::schema::{Column, KEY, TRUE, Table};
use super::{Generator, Statement, unordered};
use crate::tree::{Sql, commas, expression, optional, sql, text};

/// Keys are drawn below this, so that some are there already.
const KEYS: u64 = 40;

impl Generator {
    /// A change of rows.
    pub(super) fn change(&mut self) -> Sql {
        let tables = self.tables.clone();
        let table = self.pick(&tables);
        match self.below(20) {
            0..=4 => {
                let rows = self.some_rows(&table);
                let ignore = if self.percent(15) { "IGNORE " } else { "" };
                sql(&format!("INSERT {ignore}INTO {} VALUES {{}}", table.name), [rows])
            }
            5 | 6 => self.insert_or_update(&table),
            7 | 8 => {
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
        if column.name != KEY {
            return self.value(&column.ty);
        }
        self.names += 1;
        let key = if collide { self.below(KEYS) } else { u64::from(self.names) };
        text(key.to_string())
    }

    fn insert_or_update(&mut self, table: &Table) -> Sql {
        let rows = self.some_rows(table);
        let column = self.pick(&table.columns[1..]);
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
        let scope = visible(table, "a");
        let filter = self.filter(&scope);
        let columns: Vec<_> = table.columns[1..].iter().map(|c| format!("a.{}", c.name)).collect();
        let shift = 40 + self.below(1000);
        sql(
            &format!(
                "INSERT INTO {0} SELECT a.id + {shift}, {1} FROM {0} AS a{{}}",
                table.name,
                columns.join(", ")
            ),
            [filter],
        )
    }

    fn update(&mut self, table: &Table) -> Sql {
        let scope = visible(table, &table.name);
        let mut sets = Vec::new();
        for _ in 0..1 + self.below(2) {
            let column = self.pick(&table.columns[1..]);
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

    /// UPDATE of the rows that have partners of the same key in another table.
    fn update_joined(&mut self, table: &Table) -> Sql {
        let tables = self.tables.clone();
        let other = self.pick(&tables);
        let scope = [visible(table, "a"), visible(&other, "b")].concat();
        let column = self.pick(&table.columns[1..]);
        let new = self.expression(column.ty.class, &scope, 1);
        let filter = self.filter(&scope);
        let pattern = format!(
            "UPDATE {} AS a JOIN {} AS b ON a.id = b.id SET a.{} = {{}}{{}}",
            table.name, other.name, column.name
        );
        sql(&pattern, [new, filter])
    }

    fn delete_joined(&mut self, table: &Table) -> Sql {
        let tables = self.tables.clone();
        let other = self.pick(&tables);
        let scope = [visible(table, "a"), visible(&other, "b")].concat();
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
        let scope = visible(table, &table.name);
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

    /// A change of a definition, outside of transactions, which it would end.
    pub(super) fn definition(&mut self, script: &mut Vec<Statement>) {
        if self.in_transaction {
            return;
        }
        let index = self.below(self.tables.len() as u64) as usize;
        let table = self.tables[index].clone();
        let name = &table.name;
        match self.below(8) {
            0 | 1 => {
                let column = self.pick(&table.columns);
                let key = self.name("k");
                let part = self.key_part(&column);
                script.push(unordered(text(format!("CREATE INDEX {key} ON {name} ({part})"))));
                self.tables[index].indexes.push(key);
            }
            2 => {
                if let Some(key) = self.tables[index].indexes.pop() {
                    script.push(unordered(text(format!("DROP INDEX {key} ON {name}"))));
                }
            }
            3 => {
                let column = Column { name: self.name("c"), ty: self.column_type() };
                let definition = self.definition_of(&column);
                script.push(unordered(sql(&format!("ALTER TABLE {name} ADD COLUMN {{}}"), [definition])));
                self.tables[index].columns.push(column);
            }
            4 if table.columns.len() > 3 => {
                if let Some(column) = self.tables[index].columns.pop() {
                    script.push(unordered(text(format!("ALTER TABLE {name} DROP COLUMN {}", column.name))));
                }
            }
            5 => {
                let copy = Table { name: self.name("t"), indexes: Vec::new(), ..table.clone() };
                script.push(unordered(text(format!("CREATE TABLE {} LIKE {name}", copy.name))));
                script.push(unordered(text(format!("INSERT INTO {} SELECT * FROM {name}", copy.name))));
                self.tables.push(copy);
            }
            6 => {
                let new = self.name("t");
                script.push(unordered(text(format!("ALTER TABLE {name} RENAME TO {new}"))));
                self.tables[index].name = new;
            }
            _ => script.push(unordered(text(format!("TRUNCATE TABLE {name}")))),
        }
    }
}
