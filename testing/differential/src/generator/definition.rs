//! Changes of definitions, and queries of what they came to.

use super::schema::{Class, Column, Table};
use super::{Generator, Statement, unordered};
use crate::tree::{sql, text};

impl Generator {
    /// A change of a definition, outside of transactions, which it would end.
    pub(super) fn definition(&mut self, script: &mut Vec<Statement>) {
        if self.in_transaction {
            return;
        }
        if self.with_views && self.percent(40) {
            return self.new_view(script);
        }
        if self.with_triggers && self.percent(50) {
            return self.new_trigger(script);
        }
        if self.with_routines && self.percent(30) {
            return self.define_routine(script);
        }
        let index = self.below(self.tables.len() as u64) as usize;
        match self.below(12) {
            0 | 1 => self.create_index(index, script),
            2 => self.drop_index(index, script),
            3 => self.add_column(index, script),
            4 => self.drop_column(index, script),
            5 => self.copy_table(index, script),
            // A function of the old name's would be missed sooner or later.
            6 if !self.with_routines => self.rename_table(index, script),
            7 | 8 => self.change_column(index, script),
            9 => self.change_default(index, script),
            10 => self.set_counter(index, script),
            _ => script.push(unordered(text(format!("TRUNCATE TABLE {}", self.tables[index].name)))),
        }
        let index = index.min(self.tables.len() - 1);
        self.read_definition(index, script);
    }

    fn create_index(&mut self, index: usize, script: &mut Vec<Statement>) {
        let table = self.tables[index].clone();
        let columns = self.indexable(&table);
        let column = self.pick(&columns);
        let key = self.name("k");
        let part = self.key_part(&column);
        script.push(unordered(text(format!("CREATE INDEX {key} ON {} ({part})", table.name))));
        self.tables[index].indexes.push(key);
    }

    fn drop_index(&mut self, index: usize, script: &mut Vec<Statement>) {
        if let Some(key) = self.tables[index].indexes.pop() {
            script.push(unordered(text(format!("DROP INDEX {key} ON {}", self.tables[index].name))));
        }
    }

    fn add_column(&mut self, index: usize, script: &mut Vec<Statement>) {
        let table = self.tables[index].clone();
        let (column, definition) = match self.percent(20) {
            true => self.generated_column(&table),
            false => {
                let ty = self.column_type();
                let column = Column::new(self.name("c"), ty);
                let definition = self.definition_of(&column);
                (column, definition)
            }
        };
        script.push(unordered(sql(&format!("ALTER TABLE {} ADD COLUMN {{}}", table.name), [definition])));
        self.tables[index].columns.push(column);
    }

    fn drop_column(&mut self, index: usize, script: &mut Vec<Statement>) {
        if self.tables[index].columns.len() <= 3 {
            return;
        }
        if let Some(column) = self.tables[index].columns.pop() {
            let name = &self.tables[index].name;
            script.push(unordered(text(format!("ALTER TABLE {name} DROP COLUMN {}", column.name))));
        }
    }

    fn copy_table(&mut self, index: usize, script: &mut Vec<Statement>) {
        let table = self.tables[index].clone();
        let copy = Table { name: self.name("t"), indexes: Vec::new(), is_temporary: false, ..table.clone() };
        script.push(unordered(text(format!("CREATE TABLE {} LIKE {}", copy.name, table.name))));
        let columns = table.columns.iter().filter(|c| !c.is_generated).map(|c| c.name.as_str());
        let columns = columns.collect::<Vec<_>>().join(", ");
        let fill = format!("INSERT INTO {} ({columns}) SELECT {columns} FROM {}", copy.name, table.name);
        script.push(unordered(text(fill)));
        self.tables.push(copy);
    }

    fn rename_table(&mut self, index: usize, script: &mut Vec<Statement>) {
        let new = self.name("t");
        script.push(unordered(text(format!("ALTER TABLE {} RENAME TO {new}", self.tables[index].name))));
        self.tables[index].name = new;
    }

    /// Another type for a column, mostly one of the same class: rows that do not fit fail it.
    fn change_column(&mut self, index: usize, script: &mut Vec<Statement>) {
        let table = self.tables[index].clone();
        let number = 1 + self.below(table.columns.len() as u64 - 1) as usize;
        let column = &table.columns[number];
        if column.is_generated {
            return;
        }
        let mut ty = self.column_type();
        for _ in 0..20 {
            if ty.class == column.ty.class || self.percent(4) {
                break;
            }
            ty = self.column_type();
        }
        // A time's number is rounded, not cut as in MariaDB.
        let is_time = matches!(column.ty.class, Class::Time | Class::DateTime);
        if is_time && matches!(ty.class, Class::Integer | Class::Decimal) && !self.for_mysql {
            return;
        }
        let changed = Column { ty, ..column.clone() };
        let definition = self.definition_of(&changed);
        script.push(unordered(sql(&format!("ALTER TABLE {} MODIFY COLUMN {{}}", table.name), [definition])));
        // What the type is now depends on the rows; literals of either are good enough.
        self.tables[index].columns[number].is_vague |= changed.ty.class != column.ty.class && !self.for_mysql;
        if changed.ty.class == column.ty.class && changed.ty.class != Class::Bytes {
            self.tables[index].columns[number] = changed;
        }
    }

    fn change_default(&mut self, index: usize, script: &mut Vec<Statement>) {
        let table = self.tables[index].clone();
        let column = self.pick(&table.settable());
        if column.takes_no_default() && !self.for_mysql {
            return;
        }
        let action = match self.below(3) {
            0 => text("DROP DEFAULT"),
            _ => sql("SET DEFAULT {}", [self.good_value(&column.ty)]),
        };
        script.push(unordered(sql(
            &format!("ALTER TABLE {} ALTER COLUMN {} {{}}", table.name, column.name),
            [action],
        )));
    }

    /// AUTO_INCREMENT, below the largest number or above.
    fn set_counter(&mut self, index: usize, script: &mut Vec<Statement>) {
        if self.tables[index].counts {
            let next = self.below(200);
            let name = &self.tables[index].name;
            script.push(unordered(text(format!("ALTER TABLE {name} AUTO_INCREMENT = {next}"))));
        }
    }

    /// How MySQL shows a definition is compared with a MySQL only.
    fn read_definition(&mut self, index: usize, script: &mut Vec<Statement>) {
        if !self.for_mysql {
            return;
        }
        let name = self.tables[index].name.clone();
        let columns = "COLUMN_NAME, ORDINAL_POSITION, COLUMN_DEFAULT, IS_NULLABLE, DATA_TYPE, \
                       CHARACTER_MAXIMUM_LENGTH, CHARACTER_OCTET_LENGTH, NUMERIC_PRECISION, NUMERIC_SCALE, \
                       DATETIME_PRECISION, CHARACTER_SET_NAME, COLLATION_NAME, COLUMN_TYPE, COLUMN_KEY, EXTRA, \
                       GENERATION_EXPRESSION";
        let parts = "NON_UNIQUE, INDEX_NAME, SEQ_IN_INDEX, COLUMN_NAME, COLLATION, SUB_PART, NULLABLE, \
                     IS_VISIBLE, EXPRESSION";
        let of = |view: &str, columns: &str| {
            format!(
                "SELECT {columns} FROM information_schema.{view} WHERE TABLE_SCHEMA = DATABASE() AND \
                 TABLE_NAME = '{name}'"
            )
        };
        let query = match self.below(4) {
            0 | 1 => format!("SHOW CREATE TABLE {name}"),
            2 => of("COLUMNS", columns),
            _ => of("STATISTICS", parts),
        };
        script.push(unordered(text(query)));
    }

    /// What a change warned of, and which numbers it gave: compared with a MySQL only.
    pub(super) fn read_change(&mut self, script: &mut Vec<Statement>) {
        if self.for_mysql && self.percent(20) {
            let query = self.pick(&["SHOW WARNINGS", "SELECT ROW_COUNT(), LAST_INSERT_ID()"]);
            script.push(unordered(text(query)));
        }
    }
}
