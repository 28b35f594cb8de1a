//! Tables with foreign keys as MySQL's manual has them, in memory: row by row, the constraints in
//! the order of their names.

use std::collections::BTreeMap;

/// A column's value; NULL if there is none.
pub(crate) type Cell = Option<i64>;

/// The columns of every table. The first one is the primary key.
pub(crate) const COLUMNS: [&str; 4] = ["id", "a", "b", "c"];

pub(crate) type Row = [Cell; COLUMNS.len()];

/// Rows on the way to one that follows at which MySQL gives up.
const DEPTH_MAX: usize = 15;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    Restrict,
    Cascade,
    SetNull,
}

#[derive(Debug, Clone)]
pub(crate) struct Index {
    pub(crate) columns: Vec<usize>,
    pub(crate) is_unique: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct ForeignKey {
    pub(crate) name: String,
    pub(crate) child: usize,
    pub(crate) columns: Vec<usize>,
    pub(crate) parent: usize,
    pub(crate) parent_columns: Vec<usize>,
    pub(crate) on_delete: Action,
    pub(crate) on_update: Action,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Table {
    /// The primary key, unique ones, then the others.
    pub(crate) indexes: Vec<Index>,
    pub(crate) rows: BTreeMap<i64, Row>,
}

impl Table {
    /// The first index that begins with these columns.
    pub(crate) fn index_on(&self, columns: &[usize]) -> Option<&Index> {
        self.indexes.iter().find(|index| index.columns.starts_with(columns))
    }
}

/// Why a row was not changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotChanged {
    /// Another row, which has this primary key, has the key of an index.
    Duplicate { index: usize, existing: i64 },
    /// Errors 1451 and 1452.
    Reference(u16),
    /// An error that IGNORE does not change.
    Failed(u16),
}

type Changed = Result<(), NotChanged>;

#[derive(Debug, Clone)]
pub(crate) struct Model {
    pub(crate) tables: Vec<Table>,
    /// In the order of their names.
    pub(crate) keys: Vec<ForeignKey>,
    /// `foreign_key_checks`
    pub(crate) checks: bool,
}

fn values(row: &Row, columns: &[usize]) -> Vec<Cell> {
    columns.iter().map(|&column| row[column]).collect()
}

fn id(row: &Row) -> i64 {
    row[0].expect("a primary key is not NULL")
}

/// What becomes of a key that is referred to.
#[derive(Clone, Copy)]
enum Event<'a> {
    Deleted,
    Updated(&'a Row),
}

/// The way from the row that a statement changes.
#[derive(Default)]
struct Following {
    depth: usize,
    /// Tables whose keys ON UPDATE has changed on it.
    updated: Vec<usize>,
}

impl Model {
    /// The first unique index in which another row than `own` has the row's key.
    fn duplicate(&self, table: usize, row: &Row, own: Option<i64>) -> Changed {
        let table = &self.tables[table];
        for (index, definition) in table.indexes.iter().enumerate().filter(|(_, index)| index.is_unique) {
            let key = values(row, &definition.columns);
            let is_it = |other: &&Row| {
                Some(id(other)) != own && !key.contains(&None) && values(other, &definition.columns) == key
            };
            if let Some(other) = table.rows.values().find(is_it) {
                return Err(NotChanged::Duplicate { index, existing: id(other) });
            }
        }
        Ok(())
    }

    fn has(&self, table: usize, columns: &[usize], key: &[Cell]) -> bool {
        self.tables[table].rows.values().any(|row| values(row, columns) == key)
    }

    /// Error 1452 unless all parents are there of those keys that `before` does not have.
    fn check_parents(&self, table: usize, row: &Row, before: Option<&Row>) -> Changed {
        for key in self.keys.iter().filter(|key| key.child == table) {
            let new = values(row, &key.columns);
            let is_asked = before.is_none_or(|before| values(before, &key.columns) != new);
            if is_asked && !new.contains(&None) && !self.has(key.parent, &key.parent_columns, &new) {
                return Err(NotChanged::Reference(1452));
            }
        }
        Ok(())
    }

    /// The rows that refer to nothing, by their foreign keys.
    pub(crate) fn orphans(&self) -> Vec<(&str, Row)> {
        let mut orphans = Vec::new();
        for key in &self.keys {
            for row in self.tables[key.child].rows.values() {
                let own = values(row, &key.columns);
                if !own.contains(&None) && !self.has(key.parent, &key.parent_columns, &own) {
                    orphans.push((key.name.as_str(), *row));
                }
            }
        }
        orphans
    }

    /// All or nothing of a row's change.
    fn whole_or_not(&mut self, change: impl FnOnce(&mut Self) -> Changed) -> Changed {
        let before = self.tables.clone();
        let outcome = change(self);
        if outcome.is_err() {
            self.tables = before;
        }
        outcome
    }

    pub(crate) fn insert(&mut self, table: usize, row: &Row) -> Changed {
        self.whole_or_not(|model| {
            model.duplicate(table, row, None)?;
            model.tables[table].rows.insert(id(row), *row);
            if model.checks { model.check_parents(table, row, None) } else { Ok(()) }
        })
    }

    pub(crate) fn update(&mut self, table: usize, before: &Row, after: &Row) -> Changed {
        self.whole_or_not(|model| Following::default().update(model, table, before, after))
    }

    pub(crate) fn delete(&mut self, table: usize, before: &Row) -> Changed {
        self.whole_or_not(|model| Following::default().delete(model, table, before, None))
    }

    /// Deletes a row for another one: who refers to a key that this has too goes on doing so.
    pub(crate) fn delete_replaced(&mut self, table: usize, before: &Row, after: &Row) -> Changed {
        self.whole_or_not(|model| Following::default().delete(model, table, before, Some(after)))
    }
}

impl Following {
    fn delete(&mut self, model: &mut Model, table: usize, before: &Row, instead: Option<&Row>) -> Changed {
        model.tables[table].rows.remove(&id(before));
        self.children(model, table, before, instead, Event::Deleted)
    }

    fn update(&mut self, model: &mut Model, table: usize, before: &Row, after: &Row) -> Changed {
        model.duplicate(table, after, Some(id(before)))?;
        model.tables[table].rows.remove(&id(before));
        model.tables[table].rows.insert(id(after), *after);
        if model.checks {
            model.check_parents(table, after, Some(before))?;
        }
        self.children(model, table, before, Some(after), Event::Updated(after))
    }

    fn children(
        &mut self,
        model: &mut Model,
        table: usize,
        before: &Row,
        now: Option<&Row>,
        event: Event<'_>,
    ) -> Changed {
        if !model.checks {
            return Ok(());
        }
        for key in model.keys.clone().iter().filter(|key| key.parent == table) {
            let lost = values(before, &key.parent_columns);
            let is_kept = now.is_some_and(|now| values(now, &key.parent_columns) == lost);
            if is_kept || lost.contains(&None) {
                continue;
            }
            let action = match event {
                Event::Deleted => key.on_delete,
                Event::Updated(_) if key.child == table || self.updated.contains(&key.child) => {
                    Action::Restrict
                }
                Event::Updated(_) => key.on_update,
            };
            if action != Action::Restrict {
                self.follow(model, key, &lost, action, event)?;
                continue;
            }
            let own =
                key.child == table && matches!(event, Event::Deleted) && values(before, &key.columns) == lost;
            if own || model.has(key.child, &key.columns, &lost) {
                return Err(NotChanged::Reference(1451));
            }
        }
        Ok(())
    }

    fn follow(
        &mut self,
        model: &mut Model,
        key: &ForeignKey,
        lost: &[Cell],
        action: Action,
        event: Event<'_>,
    ) -> Changed {
        let index = model.tables[key.child].index_on(&key.columns).expect("every foreign key has one");
        let order = index.columns.clone();
        let place = |row: &Row| (values(row, &order), id(row));
        let mut last = None;
        loop {
            let rows = model.tables[key.child].rows.values();
            let left = rows.filter(|row| {
                values(row, &key.columns) == lost && last.as_ref().is_none_or(|last| place(row) > *last)
            });
            let Some(row) = left.min_by_key(|row| place(row)).copied() else { return Ok(()) };
            last = Some(place(&row));
            self.depth += 1;
            if self.depth == DEPTH_MAX {
                return Err(NotChanged::Failed(3008));
            }
            self.change_child(model, key, &row, action, event)?;
            self.depth -= 1;
        }
    }

    fn change_child(
        &mut self,
        model: &mut Model,
        key: &ForeignKey,
        row: &Row,
        action: Action,
        event: Event<'_>,
    ) -> Changed {
        let mut after = *row;
        match (action, event) {
            (Action::Cascade, Event::Deleted) => return self.delete(model, key.child, row, None),
            (Action::Cascade, Event::Updated(parent)) => {
                for (&to, &from) in key.columns.iter().zip(&key.parent_columns) {
                    after[to] = parent[from];
                }
                if after[0].is_none() {
                    return Err(NotChanged::Reference(1451));
                }
            }
            _ => key.columns.iter().for_each(|&column| after[column] = None),
        }
        let length = self.updated.len();
        if let Event::Updated(_) = event {
            self.updated.push(key.parent);
        }
        let outcome = self.update(model, key.child, row, &after);
        self.updated.truncate(length);
        match outcome {
            Err(NotChanged::Duplicate { .. }) => Err(NotChanged::Failed(1761)),
            outcome => outcome,
        }
    }
}
