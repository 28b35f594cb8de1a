//! What an applier leaves out, and what it goes on after.

use std::collections::HashMap;

use binlog::event::{QueryEvent, TableMapEvent};

use crate::executor::row_events::apply::RowsOptions;
use crate::instance::Instance;
use crate::replica::{Channel, Filters};
use crate::variables::ids;
use datum::error::SqlError;

/// The channel's filters and the server's settings, as of the applier's start.
pub(super) struct Rules {
    filters: Filters,
    skipped: SkippedErrors,
    idempotent: bool,
    /// By database and name of the source's tables.
    tables: HashMap<(Vec<u8>, Vec<u8>), Fate>,
}

/// What becomes of a table's rows.
enum Fate {
    LeftOut,
    Applied,
    /// In this database.
    Rewritten(String),
}

/// `replica_skip_errors`
#[derive(Debug, PartialEq, Eq)]
enum SkippedErrors {
    All,
    These(Vec<u16>),
}

impl SkippedErrors {
    fn parse(text: &str) -> Self {
        /// What MySQL means by `ddl_exist_errors`: objects that are there already, or are not
        /// there.
        const DDL_EXIST: [u16; 10] = [1007, 1008, 1050, 1051, 1054, 1060, 1061, 1068, 1091, 1146];
        let mut numbers = Vec::new();
        for word in text.split(',').map(str::trim) {
            match word {
                _ if word.eq_ignore_ascii_case("all") => return Self::All,
                _ if word.eq_ignore_ascii_case("ddl_exist_errors") => numbers.extend(DDL_EXIST),
                _ => numbers.extend(word.parse::<u16>()),
            }
        }
        Self::These(numbers)
    }
}

impl Rules {
    pub(super) fn of(instance: &Instance, channel: &Channel) -> Self {
        const IDEMPOTENT: u64 = 1;
        let globals = instance.globals();
        Self {
            filters: channel.with(|state| state.filters.clone()),
            skipped: SkippedErrors::parse(&globals.text(ids::REPLICA_SKIP_ERRORS)),
            idempotent: globals.uint(ids::REPLICA_EXEC_MODE) == IDEMPOTENT,
            tables: HashMap::new(),
        }
    }

    /// How rows of a table are applied that are of a source such as `source` says; `None` if they
    /// are left out.
    pub(super) fn rows_options(
        &mut self,
        map: &TableMapEvent,
        source: RowsOptions<'static>,
    ) -> Option<RowsOptions<'_>> {
        let source = RowsOptions { idempotent: self.idempotent, ..source };
        if self.filters.is_empty() {
            return Some(source);
        }
        let filters = &self.filters;
        let known = self.tables.entry((map.database.clone(), map.table.clone())).or_insert_with(|| {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let (of_source, table) = (text(&map.database), text(&map.table));
            let here = filters.rewritten(&of_source);
            match here {
                here if !filters.takes(here, &table) => Fate::LeftOut,
                here if here != of_source => Fate::Rewritten(here.to_owned()),
                _ => Fate::Applied,
            }
        });
        match known {
            Fate::LeftOut => None,
            Fate::Applied => Some(source),
            Fate::Rewritten(database) => Some(RowsOptions { database: Some(database), ..source }),
        }
    }

    /// Counts what decides about a table map's rows.
    pub(super) fn count(&self, map: &TableMapEvent) {
        if self.filters.is_empty() {
            return;
        }
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (of_source, table) = (text(&map.database), text(&map.table));
        self.filters.count_database(&of_source);
        let here = self.filters.rewritten(&of_source);
        if self.filters.takes_database(here) {
            self.filters.count_table(here, &table);
        }
    }

    /// The database here that a statement has as its default; `None` if the statement is left out.
    pub(super) fn default_database(&self, query: &QueryEvent<'_>) -> Option<Option<String>> {
        if self.filters.is_empty() {
            return Some(None);
        }
        let of_source = String::from_utf8_lossy(&query.database).into_owned();
        self.filters.count_database(&of_source);
        let here = self.filters.rewritten(&of_source);
        // A statement without a default database has none of those that a rule lists.
        self.filters.takes_database(here).then(|| (here != of_source).then(|| here.to_owned()))
    }

    /// True if nothing is left out.
    pub(super) fn takes_all(&self) -> bool {
        self.filters.is_empty()
    }

    /// Whether CREATE, ALTER or DROP DATABASE passes whose database passes itself.
    pub(super) fn takes_database_definition(&self, database: &str) -> bool {
        self.filters.takes_database_definition(database)
    }

    /// Whether a statement passes that changes these tables, given by database and name.
    pub(super) fn takes_tables(&self, tables: &[(&str, &str)]) -> bool {
        self.filters.takes_tables(tables)
    }

    /// The applier goes on after this error (`replica_skip_errors`).
    pub(super) fn passes_over(&self, e: &SqlError) -> bool {
        match &self.skipped {
            SkippedErrors::All => true,
            SkippedErrors::These(numbers) => numbers.contains(&e.number),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_to_go_on_after_are_numbers_or_words() {
        assert_eq!(SkippedErrors::parse("OFF"), SkippedErrors::These(vec![]));
        assert_eq!(SkippedErrors::parse("1032, 1062"), SkippedErrors::These(vec![1032, 1062]));
        assert_eq!(SkippedErrors::parse("1032,ALL"), SkippedErrors::All);
        assert!(
            matches!(SkippedErrors::parse("ddl_exist_errors"), SkippedErrors::These(n) if n.contains(&1050))
        );
    }
}
