//! Random statements: their text, and what they do to the model.

use std::fmt::Write;

use super::model::{Action, COLUMNS, Cell, ForeignKey, Index, Model, NotChanged, Row, Table};
use stdx::random::Random;

/// Values are below this, so that rows meet.
const VALUES: u64 = 7;

/// What a column is set to.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Value {
    Constant(Cell),
    Plus(usize, i64),
}

/// Which rows a statement means.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Filter {
    All,
    Equals(usize, i64),
    IsNull(usize),
    Below(usize, i64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnDuplicate {
    Fail,
    Replace,
    Update,
}

/// A statement that changes rows of one table.
#[derive(Debug, Clone)]
pub(crate) struct Statement {
    table: usize,
    ignores: bool,
    body: StatementBody,
}

#[derive(Debug, Clone)]
enum StatementBody {
    Insert { rows: Vec<Row>, on_duplicate: OnDuplicate, assignments: Vec<(usize, Value)> },
    Update { assignments: Vec<(usize, Value)>, filter: Filter, descends: bool },
    Delete { filter: Filter, descends: bool },
}

/// Draws tables and statements.
pub(crate) struct Writer {
    pub(crate) random: Random,
}

impl Writer {
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.random.below(n)
    }

    fn one_of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len() as u64) as usize]
    }

    /// Tables and their foreign keys, and the statements that make them. With `lax`, keys that are
    /// not unique are referred to as well.
    pub(crate) fn definitions(&mut self, lax: bool) -> (Model, Vec<String>) {
        let mut texts = Vec::new();
        let mut tables = Vec::new();
        for number in 0..3 + self.below(2) {
            let primary = Index { columns: vec![0], is_unique: true };
            let mut table = Table { indexes: vec![primary], ..Table::default() };
            let mut text = format!("CREATE TABLE t{number} (id INT PRIMARY KEY, a INT, b INT, c INT");
            let (unique, plain): (&[&[usize]], &[&[usize]]) =
                (&[&[1], &[1, 2], &[2, 1], &[3]], &[&[1], &[2], &[3, 1], &[2, 3], &[1, 0]]);
            for (list, is_unique, share) in [(unique, true, 3), (plain, false, 4)] {
                for columns in list {
                    if self.random.chance(1, share) {
                        let word = if is_unique { "UNIQUE KEY" } else { "KEY" };
                        write!(text, ", {word} ({})", names(columns)).unwrap();
                        table.indexes.push(Index { columns: columns.to_vec(), is_unique });
                    }
                }
            }
            texts.push(text + ")");
            tables.push(table);
        }
        let mut model = Model { tables, keys: Vec::new(), checks: true };
        for _ in 0..2 + self.below(6) {
            let Some(key) = self.foreign_key(&model, lax) else { continue };
            if model.keys.iter().any(|other| other.name == key.name) {
                continue;
            }
            texts.push(definition(&key));
            let child = &mut model.tables[key.child];
            if child.index_on(&key.columns).is_none() {
                child.indexes.push(Index { columns: key.columns.clone(), is_unique: false });
            }
            model.keys.push(key);
        }
        model.keys.sort_by(|a, b| a.name.cmp(&b.name));
        (model, texts)
    }

    fn foreign_key(&mut self, model: &Model, lax: bool) -> Option<ForeignKey> {
        let count = model.tables.len() as u64;
        let child = self.below(count) as usize;
        let parent = if self.random.chance(1, 4) { child } else { self.below(count) as usize };
        let indexes = &model.tables[parent].indexes;
        let index = &indexes[self.below(indexes.len() as u64) as usize];
        let parent_columns = match (index.is_unique, lax) {
            (true, false) => index.columns.clone(),
            (false, false) => return None,
            (_, true) => index.columns[..1 + self.below(index.columns.len() as u64) as usize].to_vec(),
        };
        let mut columns: Vec<usize> = (0..COLUMNS.len()).collect();
        while columns.len() > parent_columns.len() {
            let at = self.below(columns.len() as u64) as usize;
            columns.remove(at);
        }
        if self.random.chance(1, 2) {
            columns.reverse();
        }
        // A column that refers to itself is no foreign key (6125).
        if child == parent && columns == parent_columns {
            return None;
        }
        let actions = match columns.contains(&0) {
            true => &[Action::Restrict, Action::Cascade] as &[Action],
            false => &[Action::Restrict, Action::Cascade, Action::Cascade, Action::SetNull],
        };
        let name = format!("k{}", 10 + self.below(90));
        let (on_delete, on_update) = (self.one_of(actions), self.one_of(actions));
        Some(ForeignKey { name, child, columns, parent, parent_columns, on_delete, on_update })
    }

    pub(crate) fn statement(&mut self, model: &Model) -> Statement {
        let table = self.below(model.tables.len() as u64) as usize;
        let ignores = self.random.chance(1, 4);
        let descends = self.random.chance(1, 2);
        let body = match self.below(12) {
            0..=5 => {
                let on_duplicate = self.one_of(&[
                    OnDuplicate::Fail,
                    OnDuplicate::Fail,
                    OnDuplicate::Replace,
                    OnDuplicate::Update,
                ]);
                let rows = (0..1 + self.below(4)).map(|_| self.row(model, table)).collect();
                let assignments = self.assignments(model, table);
                StatementBody::Insert { rows, on_duplicate, assignments }
            }
            6..=8 => {
                let (assignments, filter) = (self.assignments(model, table), self.filter(model, table));
                StatementBody::Update { assignments, filter, descends }
            }
            9 | 10 => StatementBody::Delete { filter: self.filter(model, table), descends },
            _ => return self.chain(model).unwrap_or_else(|| self.statement(model)),
        };
        let ignores = match body {
            StatementBody::Insert { on_duplicate: OnDuplicate::Replace, .. } => false,
            _ => ignores,
        };
        Statement { table, ignores, body }
    }

    /// Rows each of which refers to the one before.
    fn chain(&mut self, model: &Model) -> Option<Statement> {
        let is_one =
            |key: &&ForeignKey| key.child == key.parent && key.parent_columns == [0] && key.columns != [0];
        let key = model.keys.iter().find(is_one)?;
        let first = 10 + self.below(3) as i64 * 20;
        let length = 10 + self.below(10) as i64;
        let row = |number| {
            let mut row: Row = [Some(number), None, None, None];
            row[key.columns[0]] = Some(number - 1).filter(|&before| before >= first);
            row
        };
        let rows = (first..first + length).map(row).collect();
        let body = StatementBody::Insert { rows, on_duplicate: OnDuplicate::Fail, assignments: Vec::new() };
        Some(Statement { table: key.child, ignores: true, body })
    }

    fn cell(&mut self) -> Cell {
        (!self.random.chance(1, 5)).then(|| self.below(VALUES) as i64)
    }

    /// A row whose parents are there, mostly.
    fn row(&mut self, model: &Model, table: usize) -> Row {
        let mut row: Row = [Some(self.below(VALUES) as i64), self.cell(), self.cell(), self.cell()];
        for key in model.keys.iter().filter(|key| key.child == table) {
            let parents = &model.tables[key.parent].rows;
            if parents.is_empty() || self.random.chance(1, 4) {
                continue;
            }
            let parent = parents.values().nth(self.below(parents.len() as u64) as usize);
            let Some(parent) = parent else { continue };
            for (&to, &from) in key.columns.iter().zip(&key.parent_columns) {
                if to != 0 || parent[from].is_some() {
                    row[to] = parent[from];
                }
            }
        }
        row
    }

    fn assignments(&mut self, model: &Model, table: usize) -> Vec<(usize, Value)> {
        let row = self.row(model, table);
        let count = 1 + self.below(2);
        let assign = |writer: &mut Self| {
            let column = writer.below(COLUMNS.len() as u64) as usize;
            let value = match writer.below(3) {
                0 if column == 0 => Value::Plus(0, 1 + writer.below(3) as i64),
                0 => Value::Plus(writer.below(COLUMNS.len() as u64) as usize, writer.below(3) as i64),
                _ => Value::Constant(row[column]),
            };
            (column, value)
        };
        let mut assignments: Vec<(usize, Value)> = (0..count).map(|_| assign(self)).collect();
        assignments.dedup_by_key(|(column, _)| *column);
        assignments
    }

    /// Mostly one that a row is accepted by.
    fn filter(&mut self, model: &Model, table: usize) -> Filter {
        let column = self.below(COLUMNS.len() as u64) as usize;
        let rows = &model.tables[table].rows;
        let row = rows.values().nth(self.below(rows.len() as u64 + 1) as usize);
        let value = row.and_then(|row| row[column]).unwrap_or_else(|| self.below(VALUES) as i64);
        match self.below(8) {
            0 => Filter::All,
            1 => Filter::IsNull(column),
            2 => Filter::Below(column, value),
            3 => Filter::Equals(0, 10 + self.below(60) as i64),
            _ => Filter::Equals(column, value),
        }
    }
}

fn names(columns: &[usize]) -> String {
    columns.iter().map(|&column| COLUMNS[column]).collect::<Vec<_>>().join(", ")
}

fn definition(key: &ForeignKey) -> String {
    let action = |action| match action {
        Action::Restrict => "RESTRICT",
        Action::Cascade => "CASCADE",
        Action::SetNull => "SET NULL",
    };
    format!(
        "ALTER TABLE t{} ADD CONSTRAINT {} FOREIGN KEY ({}) REFERENCES t{} ({}) ON DELETE {} ON UPDATE {}",
        key.child,
        key.name,
        names(&key.columns),
        key.parent,
        names(&key.parent_columns),
        action(key.on_delete),
        action(key.on_update)
    )
}

fn shown(cell: Cell) -> String {
    cell.map_or("NULL".to_owned(), |value| value.to_string())
}

impl Value {
    fn text(self) -> String {
        match self {
            Value::Constant(cell) => shown(cell),
            Value::Plus(column, n) => format!("{} + {n}", COLUMNS[column]),
        }
    }
}

impl Filter {
    fn text(self) -> String {
        match self {
            Filter::All => String::new(),
            Filter::Equals(column, value) => format!(" WHERE {} = {value}", COLUMNS[column]),
            Filter::IsNull(column) => format!(" WHERE {} IS NULL", COLUMNS[column]),
            Filter::Below(column, value) => format!(" WHERE {} < {value}", COLUMNS[column]),
        }
    }

    fn accepts(self, row: &Row) -> bool {
        match self {
            Filter::All => true,
            Filter::Equals(column, value) => row[column] == Some(value),
            Filter::IsNull(column) => row[column].is_none(),
            Filter::Below(column, value) => row[column].is_some_and(|own| own < value),
        }
    }
}

fn assigned(assignments: &[(usize, Value)], row: &Row) -> Row {
    let mut after = *row;
    for &(column, value) in assignments {
        after[column] = match value {
            Value::Constant(cell) => cell,
            Value::Plus(from, n) => after[from].map(|old| old + n),
        };
    }
    after
}

fn set(assignments: &[(usize, Value)]) -> String {
    let one = |&(column, value): &(usize, Value)| format!("{} = {}", COLUMNS[column], value.text());
    assignments.iter().map(one).collect::<Vec<_>>().join(", ")
}

impl Statement {
    pub(crate) fn text(&self) -> String {
        let (table, ignore) = (self.table, if self.ignores { "IGNORE " } else { "" });
        let order = |descends| if descends { " ORDER BY id DESC" } else { " ORDER BY id" };
        match &self.body {
            StatementBody::Insert { rows, on_duplicate, assignments } => {
                let verb = if *on_duplicate == OnDuplicate::Replace { "REPLACE" } else { "INSERT" };
                let row = |row: &Row| format!("({})", row.map(shown).join(", "));
                let rows = rows.iter().map(row).collect::<Vec<_>>().join(", ");
                let update = match on_duplicate {
                    OnDuplicate::Update => format!(" ON DUPLICATE KEY UPDATE {}", set(assignments)),
                    _ => String::new(),
                };
                format!("{verb} {ignore}INTO t{table} VALUES {rows}{update}")
            }
            StatementBody::Update { assignments, filter, descends } => {
                let (set, filter) = (set(assignments), filter.text());
                format!("UPDATE {ignore}t{table} SET {set}{filter}{}", order(*descends))
            }
            StatementBody::Delete { filter, descends } => {
                format!("DELETE {ignore}FROM t{table}{}{}", filter.text(), order(*descends))
            }
        }
    }

    /// Changes the model; the error's number, which leaves it as it was.
    pub(crate) fn run(&self, model: &mut Model) -> Result<(), u16> {
        let before = model.tables.clone();
        let outcome = self.run_rows(model);
        if outcome.is_err() {
            model.tables = before;
        }
        outcome
    }

    fn run_rows(&self, model: &mut Model) -> Result<(), u16> {
        match &self.body {
            StatementBody::Insert { rows, on_duplicate, assignments } => {
                rows.iter().try_for_each(|row| self.insert(model, row, *on_duplicate, assignments))
            }
            StatementBody::Update { assignments, filter, descends } => {
                for id in self.found(model, *filter, *descends) {
                    let Some(row) = model.tables[self.table].rows.get(&id).copied() else { continue };
                    let after = assigned(assignments, &row);
                    if after != row {
                        self.skip(model.update(self.table, &row, &after))?;
                    }
                }
                Ok(())
            }
            StatementBody::Delete { filter, descends } => {
                for id in self.found(model, *filter, *descends) {
                    // A row before may have taken it along, or changed it.
                    let now = model.tables[self.table].rows.get(&id).copied();
                    let Some(row) = now.filter(|row| filter.accepts(row)) else { continue };
                    self.skip(model.delete(self.table, &row))?;
                }
                Ok(())
            }
        }
    }

    /// The rows that the condition accepts when the statement begins.
    fn found(&self, model: &Model, filter: Filter, descends: bool) -> Vec<i64> {
        let rows = model.tables[self.table].rows.iter();
        let mut found: Vec<i64> = rows.filter(|(_, row)| filter.accepts(row)).map(|(id, _)| *id).collect();
        if descends {
            found.reverse();
        }
        found
    }

    /// An error's number, unless IGNORE makes a warning of it.
    fn skip(&self, outcome: Result<(), NotChanged>) -> Result<(), u16> {
        match outcome {
            Err(NotChanged::Failed(number)) => Err(number),
            Err(_) if self.ignores => Ok(()),
            Err(NotChanged::Duplicate { .. }) => Err(1062),
            Err(NotChanged::Reference(number)) => Err(number),
            Ok(()) => Ok(()),
        }
    }

    fn insert(
        &self,
        model: &mut Model,
        row: &Row,
        on_duplicate: OnDuplicate,
        assignments: &[(usize, Value)],
    ) -> Result<(), u16> {
        loop {
            let outcome = model.insert(self.table, row);
            let Err(NotChanged::Duplicate { index, existing }) = outcome else {
                return self.skip(outcome);
            };
            let old = model.tables[self.table].rows[&existing];
            match on_duplicate {
                OnDuplicate::Fail => return self.skip(outcome),
                OnDuplicate::Update => {
                    let after = assigned(assignments, &old);
                    if after == old {
                        return Ok(());
                    }
                    return self.skip(model.update(self.table, &old, &after));
                }
                OnDuplicate::Replace => {
                    let indexes = &model.tables[self.table].indexes;
                    let is_last = !indexes.iter().skip(index + 1).any(|index| index.is_unique);
                    let is_referenced = model.keys.iter().any(|key| key.parent == self.table);
                    if is_last && !is_referenced {
                        // No other key can be in the way: the row is changed.
                        return if old == *row {
                            Ok(())
                        } else {
                            self.skip(model.update(self.table, &old, row))
                        };
                    }
                    self.skip(model.delete_replaced(self.table, &old, row))?;
                }
            }
        }
    }
}
