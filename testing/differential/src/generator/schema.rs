//! Column types and tables.

use super::query::visible;
use super::{Generator, Statement, unordered};
use crate::tree::{Sql, commas, optional, sql, text};

/// What an expression over a column of a type may do with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Integer,
    Decimal,
    /// FLOAT and DOUBLE; values are quarters, so that sums are exact in any order.
    Double,
    Text,
    Bytes,
    Date,
    Time,
    DateTime,
}

impl Class {
    pub(super) const ALL: [Class; 8] = [
        Class::Integer,
        Class::Decimal,
        Class::Double,
        Class::Text,
        Class::Bytes,
        Class::Date,
        Class::Time,
        Class::DateTime,
    ];

    /// The simplest literal.
    pub(super) fn simplest(self) -> &'static str {
        match self {
            Class::Integer => "1",
            Class::Decimal => "1.5",
            Class::Double => "1e0",
            Class::Text => "'a'",
            Class::Bytes => "x'61'",
            Class::Date => "DATE'2024-01-01'",
            Class::Time => "TIME'01:00:00'",
            Class::DateTime => "TIMESTAMP'2024-01-01 00:00:00'",
        }
    }
}

/// The simplest condition.
pub(super) const TRUE: &str = "TRUE";

/// A column type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Type {
    pub(super) class: Class,
    pub(super) kind: ValueKind,
    /// As in CREATE TABLE.
    pub(super) sql: String,
}

/// What literals of a type have to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueKind {
    /// Least and greatest value.
    Integer(i64, i64),
    Year,
    /// How many there are.
    Bit(u32),
    /// Digits before and after the point.
    Decimal(u32, u32),
    Double,
    /// Longest text.
    Text(u32),
    Bytes(u32),
    Enum,
    Set,
    Date,
    Time,
    DateTime,
    Timestamp,
}

/// The members of every ENUM and SET.
pub(super) const MEMBERS: [&str; 4] = ["red", "green", "blue", "Grey"];

/// A column of a table, or of a row source in a query.
#[derive(Debug, Clone)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) ty: Type,
    /// It is computed from the others: statements give it nothing but DEFAULT.
    pub(super) is_generated: bool,
    /// Of what class it is depends on the rows, so that expressions leave it alone.
    pub(super) is_vague: bool,
}

impl Column {
    pub(super) fn new(name: String, ty: Type) -> Column {
        Column { name, ty, is_generated: false, is_vague: false }
    }

    /// True for a TEXT or BLOB, which MariaDB gives defaults.
    pub(super) fn takes_no_default(&self) -> bool {
        ["TEXT", "BLOB"].iter().any(|ty| self.ty.sql.contains(ty))
    }
}

/// A table that is there.
#[derive(Debug, Clone)]
pub(super) struct Table {
    pub(super) name: String,
    /// The first is the primary key: an INT with values of its own.
    pub(super) columns: Vec<Column>,
    pub(super) indexes: Vec<String>,
    /// Its key has AUTO_INCREMENT.
    pub(super) counts: bool,
    pub(super) is_temporary: bool,
}

impl Table {
    /// The columns that an UPDATE may set, the key apart.
    pub(super) fn settable(&self) -> Vec<Column> {
        self.columns.iter().filter(|c| c.name != KEY && !c.is_generated).cloned().collect()
    }
}

/// The name of the primary key in every table.
pub(super) const KEY: &str = "id";

/// How names of columns begin that refer to another table's key.
const REFERENCE: &str = "p";

impl Generator {
    /// Makes a table and fills it.
    pub(super) fn new_table(&mut self, script: &mut Vec<Statement>) {
        let mut table = self.table();
        let made = self.create_table(&mut table);
        script.push(unordered(made));
        for _ in 0..1 + self.below(3) {
            let rows = 1 + self.below(6);
            let rows = self.rows(&table, rows, false);
            script.push(unordered(sql(&format!("INSERT INTO {} VALUES {{}}", table.name), [rows])));
        }
        self.tables.push(table);
    }

    fn table(&mut self) -> Table {
        let mut columns = vec![Column::new(KEY.into(), integer("INT", i32::MIN.into(), i32::MAX.into()))];
        for _ in 0..2 + self.below(5) {
            let ty = self.column_type();
            columns.push(Column::new(self.name("c"), ty));
        }
        Table {
            name: self.name("t"),
            columns,
            indexes: Vec::new(),
            counts: self.percent(30),
            is_temporary: self.percent(10),
        }
    }

    fn create_table(&mut self, table: &mut Table) -> Sql {
        let counts = if table.counts { " AUTO_INCREMENT" } else { "" };
        let mut items = vec![text(format!("{KEY} INT NOT NULL{counts} PRIMARY KEY"))];
        for column in &table.columns[1..] {
            items.push(self.definition_of(column));
        }
        if self.foreign_keys && !table.is_temporary && self.percent(70) {
            self.reference(table, &mut items);
        }
        if self.percent(25) {
            let (column, definition) = self.generated_column(table);
            table.columns.push(column);
            items.push(definition);
        }
        for _ in 0..self.below(3) {
            let index = self.index(table);
            items.push(index);
        }
        if self.percent(15) {
            items.push(self.check(table));
        }
        let temporary = if table.is_temporary { "TEMPORARY " } else { "" };
        sql(&format!("CREATE {temporary}TABLE {} ({{}})", table.name), [commas(items)])
    }

    /// A column that refers to the key of a table, at times of this one.
    fn reference(&mut self, table: &mut Table, items: &mut Vec<Sql>) {
        let lasting = self.tables.iter().filter(|t| !t.is_temporary).map(|t| t.name.clone());
        let mut parents: Vec<String> = lasting.collect();
        parents.push(table.name.clone());
        let (parent, name) = (self.pick(&parents), self.name(REFERENCE));
        // Keys that are drawn again and again are below this.
        let column = Column::new(name.clone(), integer("INT", 0, 40));
        const ACTIONS: [&str; 5] = ["", " RESTRICT", " NO ACTION", " CASCADE", " SET NULL"];
        let mut action = |event: &str| match self.pick(&ACTIONS) {
            "" => String::new(),
            action => format!(" ON {event}{action}"),
        };
        let actions = action("DELETE") + &action("UPDATE");
        items.push(text(format!("{name} INT")));
        items.push(text(format!(
            "CONSTRAINT {} FOREIGN KEY ({name}) REFERENCES {parent} ({KEY}){actions}",
            self.name("f")
        )));
        table.columns.push(column);
    }

    /// A column as CREATE and ALTER TABLE have it.
    pub(super) fn definition_of(&mut self, column: &Column) -> Sql {
        // IS NULL finds the zero dates that IGNORE lets through, and so does IS NOT NULL: parts are
        // no whole then. What an ENUM has for such a NULL is another member in MariaDB.
        let is_date = matches!(column.ty.kind, ValueKind::Date | ValueKind::DateTime);
        let may_be_not_null = !column.ty.sql.ends_with("NULL")
            && !is_date
            && (self.for_mysql || column.ty.kind != ValueKind::Enum);
        let null = if self.percent(20) && may_be_not_null { optional(text(" NOT NULL")) } else { text("") };
        let default = self.default_of(column);
        sql(&format!("{} {}{{}}{{}}", column.name, column.ty.sql), [null, default])
    }

    /// A constant default, at times.
    fn default_of(&mut self, column: &Column) -> Sql {
        if column.takes_no_default() || !self.percent(20) {
            return text("");
        }
        let value = self.good_value(&column.ty);
        optional(sql(" DEFAULT {}", [value]))
    }

    /// A column that is computed from those that are not, with its definition.
    pub(super) fn generated_column(&mut self, table: &Table) -> (Column, Sql) {
        let scope: Vec<_> = visible(table, &table.name)
            .into_iter()
            .zip(table.columns.iter().filter(|c| !c.is_vague))
            // MariaDB refuses AUTO_INCREMENT columns too, with another number.
            .filter(|(_, column)| !column.is_generated && column.name != KEY)
            .map(|(visible, _)| visible)
            .collect();
        let ty = self.column_type();
        let column = Column { is_generated: true, ..Column::new(self.name("g"), ty) };
        // MariaDB does not check whether a virtual value fits.
        let kind = if self.for_mysql { self.pick(&["VIRTUAL", "STORED"]) } else { "STORED" };
        let value = self.plain_expression(column.ty.class, &scope);
        let definition =
            format!("{} {} GENERATED ALWAYS AS ({{}}) {kind}", column.name, without_null(&column.ty.sql));
        (column, sql(&definition, [value]))
    }

    /// A CHECK that most rows pass. Of a YEAR the others remember the constant's century, when it
    /// is one no more.
    pub(super) fn check(&mut self, table: &Table) -> Sql {
        let is_number =
            |c: &&Column| c.ty.class == Class::Integer && c.ty.kind != ValueKind::Year && c.name != KEY;
        let numbers: Vec<_> = table.columns.iter().filter(is_number).collect();
        let condition = match numbers.is_empty() {
            true => format!("{KEY} <> 13"),
            false => format!("{} <> 7", self.pick(&numbers).name),
        };
        let condition = if table.counts && numbers.is_empty() { "1 = 1".to_owned() } else { condition };
        text(format!("CONSTRAINT {} CHECK ({condition})", self.name("x")))
    }

    /// A secondary index over one or two columns, sometimes unique, of prefixes or descending.
    fn index(&mut self, table: &Table) -> Sql {
        let unique = if self.percent(15) { "UNIQUE " } else { "" };
        let parts = 1 + self.below(2);
        let mut names: Vec<String> = Vec::new();
        let columns = self.indexable(table);
        for _ in 0..parts {
            let column = self.pick(&columns);
            let part = self.key_part(&column);
            if !names.iter().any(|n| n.starts_with(&column.name)) {
                names.push(part);
            }
        }
        // MySQL 9.7 looks for no parent where the index that a reference uses has further columns,
        // and one of these is NULL.
        if self.for_mysql && names[0].starts_with(REFERENCE) {
            names.truncate(1);
        }
        text(format!("{unique}KEY {} ({})", self.name("k"), names.join(", ")))
    }

    /// What may stand in a key: MariaDB looks up the empty SET for what is none.
    pub(super) fn indexable(&self, table: &Table) -> Vec<Column> {
        table.columns.iter().filter(|c| self.for_mysql || c.ty.kind != ValueKind::Set).cloned().collect()
    }

    /// A column in a key: of TEXT and BLOB a prefix.
    pub(super) fn key_part(&mut self, column: &Column) -> String {
        let needs_prefix = column.ty.sql.contains("TEXT") || column.ty.sql.contains("BLOB");
        let may_have_prefix = matches!(column.ty.kind, ValueKind::Text(n) | ValueKind::Bytes(n) if n >= 4);
        let prefix = if needs_prefix || may_have_prefix && self.percent(20) { "(3)" } else { "" };
        let order = if self.percent(20) { " DESC" } else { "" };
        format!("{}{prefix}{order}", column.name)
    }

    pub(super) fn column_type(&mut self) -> Type {
        match self.below(10) {
            0..=2 => self.integer_type(),
            3 => {
                let (before, after) = self.pick(&[(4, 2), (1, 0), (10, 5), (20, 10), (0, 4)]);
                let ty = format!("DECIMAL({},{after})", before + after);
                Type { class: Class::Decimal, kind: ValueKind::Decimal(before, after), sql: ty }
            }
            4 => {
                let name = self.pick(&["DOUBLE", "FLOAT"]);
                Type { class: Class::Double, kind: ValueKind::Double, sql: name.into() }
            }
            5..=7 => self.string_type(),
            _ => self.temporal_type(),
        }
    }

    fn integer_type(&mut self) -> Type {
        let (name, bits) =
            self.pick(&[("TINYINT", 8), ("SMALLINT", 16), ("MEDIUMINT", 24), ("INT", 32), ("BIGINT", 64)]);
        if self.percent(8) {
            return Type { class: Class::Integer, kind: ValueKind::Year, sql: "YEAR".into() };
        }
        if self.percent(25) {
            // Unsigned BIGINT goes no further than signed here: literals are of 64 bits with a
            // sign.
            let max = if bits == 64 { i64::MAX } else { (1 << bits) - 1 };
            return integer(&format!("{name} UNSIGNED"), 0, max);
        }
        let max = if bits == 64 { i64::MAX } else { (1 << (bits - 1)) - 1 };
        integer(name, -max - 1, max)
    }

    fn string_type(&mut self) -> Type {
        let bin = match self.below(8) {
            0 | 1 => " COLLATE utf8mb4_bin",
            2 if self.for_mysql => " COLLATE utf8mb4_0900_ai_ci",
            3 if self.for_mysql => " COLLATE utf8mb4_unicode_ci",
            4 if self.for_mysql => " COLLATE utf8mb4_0900_as_cs",
            _ => "",
        };
        let text = |n: u32, sql: String| Type { class: Class::Text, kind: ValueKind::Text(n), sql };
        let bytes = |n: u32, sql: String| Type { class: Class::Bytes, kind: ValueKind::Bytes(n), sql };
        let members = MEMBERS.map(|m| format!("'{m}'")).join(",");
        let n = self.pick(&[1, 4, 12, 40]);
        match self.below(12) {
            0 | 1 => text(n, format!("CHAR({n}){bin}")),
            2..=5 => text(n, format!("VARCHAR({n}){bin}")),
            6 => text(40, format!("TEXT{bin}")),
            7 => Type { class: Class::Text, kind: ValueKind::Enum, sql: format!("ENUM({members})") },
            8 => Type { class: Class::Text, kind: ValueKind::Set, sql: format!("SET({members})") },
            9 => bytes(n, format!("VARBINARY({n})")),
            10 => bytes(n, format!("BINARY({n})")),
            _ => {
                let n = self.pick(&[1, 7, 16]);
                Type { class: Class::Integer, kind: ValueKind::Bit(n), sql: format!("BIT({n})") }
            }
        }
    }

    fn temporal_type(&mut self) -> Type {
        let digits = self.pick(&["", "(3)", "(6)"]);
        let (class, kind, sql) = match self.below(4) {
            0 => (Class::Date, ValueKind::Date, "DATE".to_owned()),
            1 => (Class::Time, ValueKind::Time, format!("TIME{digits}")),
            2 => (Class::DateTime, ValueKind::DateTime, format!("DATETIME{digits}")),
            _ => (Class::DateTime, ValueKind::Timestamp, format!("TIMESTAMP{digits} NULL")),
        };
        Type { class, kind, sql }
    }
}

/// A type without the NULL that TIMESTAMP is given.
fn without_null(sql: &str) -> &str {
    sql.trim_end_matches(" NULL")
}

fn integer(sql: &str, min: i64, max: i64) -> Type {
    Type { class: Class::Integer, kind: ValueKind::Integer(min, max), sql: sql.into() }
}
