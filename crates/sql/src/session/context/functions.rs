//! What functions ask the session for: who it is, chance, locks, time to sleep.

use std::sync::Arc;
use std::time::Duration;

use env::Env;
use stdx::random::Random;
use storage::lock::Killed;

use super::Context;
use crate::catalog::ObjectKey;
use crate::expression::functions::regexp;
use crate::routine::{Routine, RoutinePlans};
use crate::session::series::SeededRandom;
use crate::variables::ids;
use datum::error::{self, Result};
use syntax::ast::RoutineKind;

/// What functions keep from one call to the next, over statements: COM_RESET_CONNECTION keeps it
/// too.
pub(crate) struct FunctionState {
    /// Regular expressions used before.
    pub(crate) regexps: regexp::Cache,
    /// Cached plans of the stored functions that were called.
    pub(crate) plans: RoutinePlans,
    /// What `RAND()` draws from.
    random: Random,
    /// The same once `rand_seed1` or `rand_seed2` was set.
    seeded_random: Option<SeededRandom>,
}

impl FunctionState {
    pub(super) fn new(env: &dyn Env) -> Self {
        let mut seed = [0; 8];
        env.random(&mut seed);
        Self {
            regexps: regexp::Cache::default(),
            plans: RoutinePlans::default(),
            random: Random::new(u64::from_le_bytes(seed)),
            seeded_random: None,
        }
    }

    /// `RAND()`
    pub(crate) fn random(&mut self) -> f64 {
        if let Some(series) = &mut self.seeded_random {
            return series.draw();
        }
        (self.random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

impl Context {
    /// `rand_seed1` or `rand_seed2` was set: `RAND()` goes on from there.
    pub(crate) fn seed_random(&mut self) {
        let variables = self.settings.variables();
        let seeds = (variables.uint(ids::RAND_SEED1), variables.uint(ids::RAND_SEED2));
        self.functions.seeded_random = Some(SeededRandom::of_seeds(seeds.0, seeds.1));
    }

    /// A stored function, compiled; error 1305.
    pub(crate) fn routine(&self, database: &str, name: &str) -> Result<Arc<Routine>> {
        let missing = || {
            let shown = format!("{database}.{name}");
            error::SP_DOES_NOT_EXIST.with(&[&"FUNCTION", &shown])
        };
        let Some(function) = self.catalog().function(database, name) else {
            self.catalog().state().check_usable(&ObjectKey::function(database, name))?;
            return Err(missing());
        };
        if let Some(compiled) = function.compiled.get() {
            return Ok(compiled.clone());
        }
        let compiled = Arc::new(Routine::compile(&function)?);
        Ok(function.compiled.get_or_init(|| compiled).clone())
    }

    /// A stored procedure, compiled; error 1305.
    pub(crate) fn procedure(&self, database: &str, name: &str) -> Result<Arc<Routine>> {
        let kind = RoutineKind::Procedure;
        let Some(procedure) = self.catalog().routine(kind, database, name) else {
            self.catalog().state().check_usable(&ObjectKey::routine(kind, database, name))?;
            let shown = format!("{database}.{name}");
            return Err(error::SP_DOES_NOT_EXIST.with(&[&kind.name(), &shown]));
        };
        if let Some(compiled) = procedure.compiled.get() {
            return Ok(compiled.clone());
        }
        let compiled = Arc::new(Routine::compile(&procedure)?);
        Ok(procedure.compiled.get_or_init(|| compiled).clone())
    }

    pub(crate) fn version(&self) -> String {
        self.instance.globals().text(ids::VERSION).to_string()
    }

    pub(crate) fn set_last_insert_id(&mut self, id: u64) {
        self.statement.status.last_insert_id = id;
        self.statement.status.insert_id = id;
    }

    /// Sixteen random bytes.
    pub(crate) fn random_bytes(&self) -> [u8; 16] {
        let mut bytes = [0; 16];
        self.instance.env().random(&mut bytes);
        bytes
    }

    /// Gives back what GET_LOCK took; how many holds there were.
    pub(crate) fn release_named_locks(&mut self) -> u64 {
        if !std::mem::take(&mut self.locks.holds_named) {
            return 0;
        }
        self.instance.named_locks().release_all(self.connection.id)
    }

    /// `SLEEP(seconds)`: true if it was interrupted.
    pub(crate) fn sleep(&self, seconds: f64) -> bool {
        let duration = Duration::from_secs_f64(seconds.min(1e9));
        !self.interrupt.sleep(duration)
    }

    /// Error 1317 if the connection, not only the statement, was killed.
    pub(crate) fn check_connection(&self) -> Result<()> {
        match self.interrupt.killed() {
            Some(Killed::Connection) => Err(error::QUERY_INTERRUPTED.plain()),
            _ => Ok(()),
        }
    }

    /// Error 1317 if somebody killed the statement.
    pub(crate) fn check_interrupt(&self) -> Result<()> {
        match self.interrupt.killed_at_work() {
            None => Ok(()),
            Some(_) => Err(error::QUERY_INTERRUPTED.plain()),
        }
    }
}
