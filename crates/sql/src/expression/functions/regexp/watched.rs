//! A text for the library's matcher, which asks for its bytes at each step: that is where KILL and
//! the other bounds of the statement are heeded.
//!
//! The library has no way to be stopped. It is left by unwinding, without a panic's message, and
//! with nothing broken: what a search needs goes back to its pool on the way.

use std::cell::Cell;
use std::ops::Range;
use std::panic::{self, AssertUnwindSafe};

use datum::bounds;
use datum::error::{Result, SqlError};

/// What so many bytes' steps may cost is done between two questions whether to go on: a step may
/// read all of the text.
const BYTES: usize = 1 << 18;

/// A text that is being matched.
pub(super) struct Watched<'t> {
    text: &'t str,
    /// Bytes that may be read until the next question.
    left: Cell<usize>,
}

/// What is thrown to leave the library.
struct Ended(SqlError);

impl Watched<'_> {
    #[inline]
    fn step(&self) {
        // A step costs something even in an empty text.
        match self.left.get().checked_sub(64 + self.text.len() / 16) {
            Some(left) => self.left.set(left),
            None => self.ask(),
        }
    }

    #[cold]
    fn ask(&self) {
        self.left.set(BYTES);
        if let Err(e) = bounds::check() {
            panic::resume_unwind(Box::new(Ended(e)));
        }
    }
}

/// What the library's matcher says of a text; error 1317 if the statement is killed meanwhile.
pub(super) fn watched<T>(text: &str, search: impl FnOnce(&Watched<'_>) -> T) -> Result<T> {
    let watched = Watched { text, left: Cell::new(BYTES) };
    // A pattern and its pool are whole after unwinding; a search's own state is gone.
    panic::catch_unwind(AssertUnwindSafe(|| search(&watched))).map_err(|payload| {
        match payload.downcast::<Ended>() {
            Ok(ended) => ended.0,
            Err(panic) => panic::resume_unwind(panic),
        }
    })
}

impl fancy_regex::Input for Watched<'_> {
    type Match<'m>
        = Range<usize>
    where
        Self: 'm;

    fn len(&self) -> usize {
        self.text.len()
    }

    fn as_bytes(&self) -> &[u8] {
        self.step();
        self.text.as_bytes()
    }

    fn is_char_boundary(&self, at: usize) -> bool {
        self.text.is_char_boundary(at)
    }

    fn is_ascii(&self) -> bool {
        self.text.is_ascii()
    }

    fn prev_codepoint_ix(&self, at: usize) -> usize {
        self.step();
        self.text.floor_char_boundary(at.saturating_sub(1))
    }

    fn make_match(&self, start: usize, end: usize) -> Range<usize> {
        start..end
    }

    fn advance_position(&self, at: usize) -> usize {
        self.text.ceil_char_boundary((at + 1).min(self.text.len())).max(at + 1)
    }
}
