//! What bounds the statement that a thread runs: KILL, `MAX_EXECUTION_TIME` and
//! `duramen_statement_memory_max`.
//!
//! A session notes both bounds when a statement begins ([`begin`]), before its text is parsed.
//! Whatever works on data or texts of a client's size asks now and then whether it may go on
//! ([`check`]), without being handed anything: the parser for each expression; resolving, planning
//! and each operation of an expression that is evaluated ([`crate::stack::check`] asks here, too);
//! loops over long texts and lists, by an [`Ticker`]; and code that is about to take much memory at
//! once ([`reserve`]).
//!
//! Memory is counted by the allocator for each thread ([`stdx::memory`]): all that the statement's
//! thread has taken since it began counts, whatever for: tree, plan, values, groups, the
//! transaction's changes. Blocks in the shared cache don't.
//!
//! (B1) One question costs a few loads from memory that the thread owns, or that only KILL writes.
//! (B2) Nobody asks where a change is put in force that the log has already.

use std::cell::RefCell;
use std::sync::Arc;

use storage::Interrupt;
use syntax::{ParseError, ParseOptions};

use crate::error::{self, Result, SqlError};

/// The system variable that bounds a statement's memory.
pub(crate) const MEMORY_VARIABLE: &str = "duramen_statement_memory_max";

/// Loops ask once for so many steps.
const STEPS: u32 = 1024;

#[derive(Clone)]
struct Bounds {
    interrupt: Arc<Interrupt>,
    /// Bytes that the statement may take.
    memory_max: usize,
    /// What the thread had taken when it began.
    taken_before: isize,
}

thread_local! {
    static CURRENT: RefCell<Option<Bounds>> = const { RefCell::new(None) };
}

/// The bounds hold until this is dropped; then those hold again that held before.
#[must_use]
pub struct Bounded(Option<Bounds>);

impl Drop for Bounded {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

/// From now on the calling thread runs a statement with these bounds; `memory_max` is in bytes.
pub fn begin(interrupt: &Arc<Interrupt>, memory_max: usize) -> Bounded {
    let bounds = Bounds { interrupt: interrupt.clone(), memory_max, taken_before: stdx::memory::taken() };
    Bounded(CURRENT.replace(Some(bounds)))
}

/// Error 1317 if somebody killed the statement, 3170 if it has taken more memory than it may.
#[inline]
pub fn check() -> Result<()> {
    check_for(0)
}

/// The same for a statement that is about to take `bytes` more.
#[inline]
pub fn check_for(bytes: usize) -> Result<()> {
    CURRENT.with_borrow(|bounds| match bounds {
        Some(bounds) => bounds.check(bytes),
        None => Ok(()),
    })
}

impl Bounds {
    #[inline]
    fn check(&self, more: usize) -> Result<()> {
        let taken = stdx::memory::taken().saturating_sub(self.taken_before).max(0) as usize;
        let too_much = taken.saturating_add(more) > self.memory_max;
        if !too_much && self.interrupt.killed().is_none() {
            return Ok(());
        }
        self.refuse(too_much)
    }

    #[cold]
    fn refuse(&self, too_much: bool) -> Result<()> {
        if too_much {
            return Err(exceeded(self.memory_max));
        }
        // The session releases it behind the reply.
        stdx::memory::defer_releases();
        Err(error::QUERY_INTERRUPTED.plain())
    }
}

/// Error 3170.
fn exceeded(memory_max: usize) -> SqlError {
    error::CAPACITY_EXCEEDED.with(&[&memory_max, &MEMORY_VARIABLE, &"The statement was ended."])
}

/// Options of a parser under `sql_mode` that asks [`check`].
pub fn parse_options(sql_mode: u64) -> ParseOptions {
    let check = || check().map_err(|e| ParseError::new(e.number, &e.sqlstate, e.message, 0));
    ParseOptions { sql_mode, check, ..ParseOptions::default() }
}

/// Memory for `len` bytes more, whose number a client chose: error 3170 if the statement may not
/// have it, 1041 where there is none, for this statement alone.
pub fn reserve(out: &mut Vec<u8>, len: usize) -> Result<()> {
    check_for(len)?;
    out.try_reserve(len).map_err(|_| error::OUT_OF_RESOURCES.plain())
}

/// What [`check`] said to a loop that has no error of its own for it.
pub fn ended() -> SqlError {
    check().err().unwrap_or_else(|| error::QUERY_INTERRUPTED.plain())
}

/// Asks [`check`] once for many steps of a loop.
#[derive(Debug, Default)]
pub struct Ticker(u32);

impl Ticker {
    /// Called for each of them; its errors are those of [`check`].
    #[inline]
    pub fn step(&mut self) -> Result<()> {
        self.0 += 1;
        if self.0 < STEPS {
            return Ok(());
        }
        self.0 = 0;
        check()
    }
}

#[cfg(test)]
mod tests {
    use storage::lock::Killed;

    use super::*;

    #[test]
    fn bounds_hold_while_the_statement_runs_and_for_its_thread_only() {
        let interrupt = Arc::new(Interrupt::new());
        interrupt.kill(Killed::Query);
        assert!(check().is_ok());
        let bounded = begin(&interrupt, usize::MAX);
        assert!(check().is_err_and(|e| e.is(error::QUERY_INTERRUPTED)));
        assert!(std::thread::spawn(|| check().is_ok()).join().unwrap());
        let inner = begin(&Arc::default(), 1000);
        assert!(check().is_ok());
        assert!(check_for(2000).is_err_and(|e| e.is(error::CAPACITY_EXCEEDED)));
        assert!(reserve(&mut Vec::new(), 2000).is_err());
        drop(inner);
        assert!(check().is_err());
        drop(bounded);
        assert!(check().is_ok());
    }

    #[test]
    fn a_ticker_asks_in_time() {
        let interrupt = Arc::new(Interrupt::new());
        let _bounded = begin(&interrupt, usize::MAX);
        interrupt.kill(Killed::Query);
        let mut ticker = Ticker::default();
        assert!((0..STEPS).any(|_| ticker.step().is_err()));
    }
}
