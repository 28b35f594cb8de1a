//! When rows of tables were changed last, since the server started: `UPDATE_TIME`.
//!
//! A commit stores one word for each table that it has changed, and nothing if the second is still
//! the same. Tables share words by their numbers: of two that do, only the one that changed last is
//! known, as InnoDB forgets the time of a table that leaves its cache. A definition that ALTER
//! TABLE or TRUNCATE makes has a new number, and so no time.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Words; a power of two. Numbers are given in turn, so that so many tables in use have one each.
const WORDS: usize = 8192;

/// The times of all tables.
pub(crate) struct ChangeTimes(Box<[AtomicU64]>);

impl Default for ChangeTimes {
    fn default() -> Self {
        Self((0..WORDS).map(|_| AtomicU64::new(0)).collect())
    }
}

impl ChangeTimes {
    fn word(&self, table: u64) -> &AtomicU64 {
        &self.0[table as usize % WORDS]
    }

    /// Notes that rows of the table of this number were changed, in seconds since 1970.
    pub(crate) fn changed(&self, table: u64, seconds: u32) {
        // The number's low half says whose time it is.
        let value = table << 32 | u64::from(seconds);
        let word = self.word(table);
        if word.load(Relaxed) != value {
            word.store(value, Relaxed);
        }
    }

    /// When rows of the table were changed last, in seconds since 1970, if that is known.
    pub(crate) fn last(&self, table: u64) -> Option<u32> {
        let value = self.word(table).load(Relaxed);
        (value as u32 != 0 && value >> 32 == u64::from(table as u32)).then_some(value as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_those_that_share_a_word_is_known() {
        let times = ChangeTimes::default();
        let (a, b) = (7, 7 + WORDS as u64);
        assert_eq!(times.last(a), None);
        times.changed(a, 100);
        times.changed(a + 1, 101);
        assert_eq!((times.last(a), times.last(a + 1), times.last(b)), (Some(100), Some(101), None));
        times.changed(b, 102);
        assert_eq!((times.last(a), times.last(b)), (None, Some(102)));
    }
}
