//! A table in pieces of some thousand rows: ranges of a key, which begin before its least value and
//! end behind its greatest, so that together they are the whole table on any server.

use super::definitions::hex;
use super::tables::{Class, Column, Table};
use super::{Runs, text};
use crate::log_tool::ToolError;

/// Rows of a chunk, at most, and bytes as statistics have them.
const ROWS_MAX: u64 = 10_000;
const BYTES: u64 = 4 << 20;

/// A range of a key: behind `after`, up to and with `to`; `None` is beyond all values.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Chunk {
    /// A literal for each column of the key.
    after: Option<Vec<String>>,
    to: Option<Vec<String>>,
}

impl Chunk {
    /// The condition of its rows, as it stands behind WHERE.
    pub(crate) fn condition(&self, key: &[Column]) -> String {
        let names: Vec<String> = key.iter().map(Column::quoted).collect();
        let mut parts = Vec::new();
        // The first column alone says a range that every planner sees.
        if let Some(after) = &self.after {
            parts.push(format!("{} >= {}", names[0], after[0]));
            parts.push(beyond(&names, after));
        }
        if let Some(to) = &self.to {
            parts.push(format!("{} <= {}", names[0], to[0]));
            parts.push(up_to(&names, to));
        }
        match parts.is_empty() {
            true => "TRUE".to_owned(),
            false => parts.join(" AND "),
        }
    }
}

/// `(a, b) > (x, y)`, in terms that use an index everywhere.
fn beyond(names: &[String], bound: &[String]) -> String {
    let (name, value) = (&names[0], &bound[0]);
    match names.len() {
        1 => format!("{name} > {value}"),
        _ => format!("({name} > {value} OR ({name} = {value} AND {}))", beyond(&names[1..], &bound[1..])),
    }
}

/// `(a, b) <= (x, y)`.
fn up_to(names: &[String], bound: &[String]) -> String {
    let (name, value) = (&names[0], &bound[0]);
    match names.len() {
        1 => format!("{name} <= {value}"),
        _ => format!("({name} < {value} OR ({name} = {value} AND {}))", up_to(&names[1..], &bound[1..])),
    }
}

/// Cuts one table from its beginning to its end.
#[derive(Debug)]
pub(crate) struct Chunks {
    key: Vec<Column>,
    rows: u64,
    after: Option<Vec<String>>,
    is_over: bool,
}

impl Chunks {
    /// `rows` for each; by the size of rows if it is `None`.
    pub(crate) fn of(table: &Table, rows: Option<u64>) -> Self {
        let by_size = (BYTES / table.row_length.max(1)).clamp(1, ROWS_MAX);
        let rows = rows.unwrap_or(by_size).max(1);
        Self { key: table.chunk_key.clone(), rows, after: None, is_over: false }
    }

    /// The same for a table that two servers have: where their orders differ, one chunk has all
    /// rows.
    pub(crate) fn of_both(table: &Table, other: &Table, rows: Option<u64>) -> Self {
        let is_ordered_alike = |column: &Column| {
            let theirs = other.columns.iter().find(|c| c.name.eq_ignore_ascii_case(&column.name));
            theirs.is_some_and(|theirs| theirs.class == column.class && theirs.collation == column.collation)
        };
        match table.chunk_key.iter().all(is_ordered_alike) {
            true => Self::of(table, rows),
            false => Self { key: Vec::new(), rows: 1, after: None, is_over: false },
        }
    }

    /// The next chunk, whose end `server` knows; `None` behind the last one.
    ///
    /// # Errors
    /// The server's.
    pub(crate) fn next(&mut self, server: &mut dyn Runs, table: &Table) -> Result<Option<Chunk>, ToolError> {
        if self.is_over {
            return Ok(None);
        }
        let to = match self.key.is_empty() {
            true => None,
            false => self.end(server, table)?,
        };
        self.is_over = to.is_none();
        let after = std::mem::replace(&mut self.after, to.clone());
        Ok(Some(Chunk { after, to }))
    }

    fn end(&self, server: &mut dyn Runs, table: &Table) -> Result<Option<Vec<String>>, ToolError> {
        let names: Vec<String> = self.key.iter().map(Column::quoted).collect();
        let rest = Chunk { after: self.after.clone(), to: None };
        let list = names.join(", ");
        let rows = server.rows(&format!(
            "SELECT {list} FROM {} WHERE {} ORDER BY {list} LIMIT 1 OFFSET {}",
            table.quoted(),
            rest.condition(&self.key),
            self.rows - 1
        ))?;
        let Some(row) = rows.into_iter().next() else { return Ok(None) };
        if row.len() != self.key.len() {
            return Err(ToolError::Refused(format!("the key of {} came in pieces", table.place())));
        }
        let literal = |(column, cell): (&Column, Option<Vec<u8>>)| literal(column, &cell.unwrap_or_default());
        Ok(Some(self.key.iter().zip(row).map(literal).collect()))
    }
}

/// A value of a key's column, as a statement has it.
pub(crate) fn literal(column: &Column, value: &[u8]) -> String {
    // What a server says of a number is no part of a statement before it is one.
    let is_made_of = |others: &[u8]| value.iter().all(|b| b.is_ascii_digit() || others.contains(b));
    match column.class {
        Class::Number | Class::Numbered | Class::Float | Class::Double if is_made_of(b"+-.eE") => {
            text(value.to_vec())
        }
        Class::Time if is_made_of(b"-:. ") => format!("'{}'", text(value.to_vec())),
        Class::Number | Class::Numbered | Class::Float | Class::Double | Class::Time => bytes(value),
        Class::Text | Class::Long | Class::Json => match &column.collation {
            Some((charset, _)) if !value.is_empty() => format!("_{charset} 0x{}", hex(value)),
            _ => bytes(value),
        },
        Class::Bytes | Class::Other => bytes(value),
    }
}

/// `0x` alone is no literal.
fn bytes(value: &[u8]) -> String {
    match value.is_empty() {
        true => "''".to_owned(),
        false => format!("0x{}", hex(value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(name: &str) -> Column {
        Column {
            name: name.to_owned(),
            class: Class::Number,
            data_type: "int".to_owned(),
            is_generated: false,
            is_nullable: false,
            collation: None,
        }
    }

    fn bound(values: &[&str]) -> Option<Vec<String>> {
        Some(values.iter().map(|v| (*v).to_owned()).collect())
    }

    #[test]
    fn the_first_chunk_has_no_beginning_and_the_last_one_no_end() {
        let key = [column("a")];
        assert_eq!(Chunk::default().condition(&key), "TRUE");
        let first = Chunk { after: None, to: bound(&["5"]) };
        assert_eq!(first.condition(&key), "`a` <= 5 AND `a` <= 5");
        let last = Chunk { after: bound(&["5"]), to: None };
        assert_eq!(last.condition(&key), "`a` >= 5 AND `a` > 5");
    }

    #[test]
    fn keys_of_several_columns_are_compared_in_their_order() {
        let key = [column("a"), column("b")];
        let chunk = Chunk { after: bound(&["1", "2"]), to: bound(&["3", "4"]) };
        assert_eq!(
            chunk.condition(&key),
            "`a` >= 1 AND (`a` > 1 OR (`a` = 1 AND `b` > 2)) AND `a` <= 3 AND (`a` < 3 OR (`a` = 3 AND `b` <= 4))"
        );
    }

    #[test]
    fn values_of_keys_are_literals() {
        let of = |class, value: &str| {
            let collation = (class == Class::Text).then(|| ("latin1".to_owned(), "latin1_bin".to_owned()));
            literal(&Column { class, collation, ..column("a") }, value.as_bytes())
        };
        assert_eq!(of(Class::Number, "-5"), "-5");
        assert_eq!(of(Class::Number, "1 OR"), "0x31204f52");
        assert_eq!(of(Class::Time, "'"), "0x27");
        assert_eq!(of(Class::Time, "2026-01-01"), "'2026-01-01'");
        assert_eq!(of(Class::Text, "a'"), "_latin1 0x6127");
        assert_eq!(of(Class::Bytes, "a"), "0x61");
        assert_eq!(of(Class::Bytes, ""), "''");
    }
}
