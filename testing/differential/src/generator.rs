//! Random statements that mean something: typed expressions over tables that are there.
//!
//! Reading order: [`schema`] (types, tables), [`literal`], [`expression`], [`query`], [`change`]
//! (rows), [`definition`] (tables), [`view`], [`trigger`], [`routine`]. Everything is drawn from one
//! seed; an episode repeats exactly.

mod change;
mod definition;
mod expression;
mod functions;
mod literal;
mod query;
mod routine;
mod schema;
mod trigger;
mod view;

use crate::tree::{Sql, text};
pub use routine::CHANGING;
use schema::Table;
use stdx::random::Random;

/// A statement of an episode.
#[derive(Debug, Clone)]
pub struct Statement {
    /// In pieces, so that a failure can be made smaller.
    pub sql: Sql,
    /// True if its ORDER BY leaves no choice, so that the order of rows is compared.
    pub is_ordered: bool,
}

/// Statements after an episode's tables are made and filled.
const BODY: u64 = 60;

/// The statements of an episode that are queries alone.
const QUERIES: u64 = 200;

/// What episodes are like.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Episodes {
    /// With what a MariaDB has not, or has otherwise by design.
    pub for_mysql: bool,
    /// Tables are only read once they are filled.
    pub queries_alone: bool,
    /// Tables refer to each other and to themselves, and keys that others refer to change.
    pub foreign_keys: bool,
    /// Views stand where tables do.
    pub views: bool,
    /// Changes of tables run triggers.
    pub triggers: bool,
    /// There are stored functions and procedures.
    pub routines: bool,
}

/// The statements of an episode.
pub fn episode(seed: u64, what: Episodes) -> Vec<Statement> {
    let Episodes { for_mysql, foreign_keys, views: with_views, triggers: with_triggers, .. } = what;
    let random = Random::new(seed);
    let mut generator = Generator {
        random,
        tables: Vec::new(),
        views: Vec::new(),
        names: 0,
        in_transaction: false,
        for_mysql,
        foreign_keys,
        with_views,
        triggers: Vec::new(),
        with_triggers,
        routines: Vec::new(),
        with_routines: what.routines,
    };
    let mut script = Vec::new();
    for _ in 0..2 + generator.below(2) {
        generator.new_table(&mut script);
    }
    if with_views {
        (0..5).for_each(|_| generator.new_view(&mut script));
    }
    if with_triggers {
        generator.new_audit(&mut script);
        (0..6).for_each(|_| generator.new_trigger(&mut script));
    }
    if what.routines {
        (0..8).for_each(|_| generator.new_routine(&mut script));
    }
    if what.queries_alone {
        generator.finish(&mut script);
        script.extend((0..QUERIES).map(|_| generator.query()));
        return script;
    }
    for _ in 0..BODY {
        generator.next_statements(&mut script);
    }
    generator.finish(&mut script);
    script
}

/// What an episode is drawn from.
struct Generator {
    random: Random,
    tables: Vec<Table>,
    views: Vec<Table>,
    /// Counts names given, so that none is given twice.
    names: u32,
    in_transaction: bool,
    for_mysql: bool,
    foreign_keys: bool,
    with_views: bool,
    triggers: Vec<trigger::Trigger>,
    with_triggers: bool,
    routines: Vec<routine::Routine>,
    with_routines: bool,
}

impl Generator {
    fn below(&mut self, n: u64) -> u64 {
        self.random.below(n)
    }

    fn percent(&mut self, n: u64) -> bool {
        self.random.chance(n, 100)
    }

    /// One of `choices`.
    fn pick<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize].clone()
    }

    fn name(&mut self, prefix: &str) -> String {
        self.names += 1;
        format!("{prefix}{}", self.names)
    }

    /// The next statement of the body.
    fn next_statements(&mut self, script: &mut Vec<Statement>) {
        if self.with_routines && self.percent(70) {
            return self.use_routine(script);
        }
        match self.below(100) {
            0..=59 => {
                let query = self.query();
                script.push(query);
            }
            60..=94 => {
                let change = self.change();
                script.push(unordered(change));
                self.read_change(script);
                // What it did is seen at once, or blamed on a later statement.
                self.read_table(script);
            }
            95 | 96 => self.transaction_statement(script),
            _ => self.definition(script),
        }
    }

    /// Ends the transaction and reads all that remains.
    fn finish(&mut self, script: &mut Vec<Statement>) {
        if self.in_transaction {
            script.push(unordered(text("COMMIT")));
        }
        for table in self.readable() {
            script.push(unordered(text(format!("SELECT * FROM {}", table.name))));
        }
        self.read_audit(script);
    }

    fn read_audit(&mut self, script: &mut Vec<Statement>) {
        if self.with_triggers {
            script.push(unordered(text(format!("SELECT * FROM {}", trigger::AUDIT))));
        }
    }

    fn read_table(&mut self, script: &mut Vec<Statement>) {
        if self.with_triggers && self.percent(30) {
            self.read_audit(script);
        }
        if self.percent(20) {
            let tables = self.readable();
            script.push(unordered(text(format!("SELECT * FROM {}", self.pick(&tables).name))));
        }
    }

    fn transaction_statement(&mut self, script: &mut Vec<Statement>) {
        let statement = match (self.in_transaction, self.below(4)) {
            (false, _) => {
                self.in_transaction = true;
                "START TRANSACTION"
            }
            (true, 0) => "SAVEPOINT s",
            (true, 1) => "ROLLBACK TO SAVEPOINT s",
            (true, n) => {
                self.in_transaction = false;
                if n == 2 { "COMMIT" } else { "ROLLBACK" }
            }
        };
        script.push(unordered(text(statement)));
    }
}

fn unordered(sql: Sql) -> Statement {
    Statement { sql, is_ordered: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_episode_repeats_from_its_seed() {
        let mysql = Episodes {
            for_mysql: true,
            foreign_keys: true,
            views: true,
            triggers: true,
            routines: true,
            ..Episodes::default()
        };
        let statements = |seed| episode(seed, mysql).iter().map(|s| s.sql.to_string()).collect::<Vec<_>>();
        assert_eq!(statements(3), statements(3));
        assert_ne!(statements(3), statements(4));
    }
}
