//! What LOCK TABLES locks besides the tables that are named: those that their triggers use.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::Context;
use crate::privilege::{UsedTable, Uses};
use crate::routine::{Routine, trigger};
use datum::error::Result;
use syntax::ast::ObjectName;

/// Tables by database and name, each with whether it is locked to be written.
pub(super) type LockOrder = BTreeMap<(String, String), bool>;

impl Context {
    /// Adds the tables that the triggers of those use which are to be written, and so on.
    pub(super) fn add_tables_of_triggers(&self, order: &mut LockOrder) -> Result<()> {
        let mut known = BTreeSet::new();
        loop {
            let writes = order.iter().filter(|(_, write)| **write).map(|(name, _)| name.clone());
            let next: Vec<(String, String)> = writes.filter(|name| !known.contains(name)).collect();
            if next.is_empty() {
                return Ok(());
            }
            for (database, name) in next {
                datum::bounds::check()?;
                known.insert((database.clone(), name.clone()));
                let Ok(table) = self.catalog().table(&database, &name) else { continue };
                if table.triggers.is_empty() {
                    continue;
                }
                for program in trigger::programs(&table).iter().flatten() {
                    self.add_tables_of(program, order)?;
                }
            }
        }
    }

    /// Adds what a trigger uses, and the functions that it calls.
    fn add_tables_of(&self, program: &Arc<Routine>, order: &mut LockOrder) -> Result<()> {
        let mut called = vec![program.clone()];
        let mut next = 0;
        while let Some(routine) = called.get(next).cloned() {
            datum::bounds::check()?;
            next += 1;
            let owns = |name: &ObjectName, column: &str| self.has_column_in(&routine, name, column);
            let all: Vec<Uses<'_>> = routine.uses(&owns).collect();
            for uses in all {
                uses.tables.iter().try_for_each(|used| self.add_used(used, routine.database(), order))?;
                self.add_routines(&mut called, &uses, Some(routine.database()));
            }
        }
        Ok(())
    }

    /// One that is not there fails when the trigger comes to it.
    fn add_used(&self, used: &UsedTable<'_>, default: &str, order: &mut LockOrder) -> Result<()> {
        let database = used.name.database.as_deref().unwrap_or(default);
        let name = used.name.name.as_str();
        let is_there =
            self.catalog().table(database, name).is_ok() || self.catalog().view(database, name).is_some();
        if !is_there {
            return Ok(());
        }
        *order.entry((database.to_owned(), name.to_owned())).or_default() |= used.writes;
        for below in self.below_view(database, name)? {
            *order.entry(below).or_default() |= used.writes;
        }
        Ok(())
    }

    /// True if a table that a routine names has a column.
    pub(super) fn has_column_in(&self, routine: &Routine, name: &ObjectName, column: &str) -> bool {
        let database = name.database.clone().or_else(|| Some(routine.database().into()));
        self.has_column(&ObjectName { database, name: name.name.clone() }, column)
    }
}
