//! Repeated statements are parsed once: the trees of texts that a session sent before.
//!
//! A table of fixed size with one slot for each hash. A text gets its slot only when it comes the
//! second time, so that statements which never repeat, because their values are in the text, cost a
//! comparison and throw nothing out. A tree depends on the text and on `sql_mode` alone; both are
//! compared, so a hit is exact.

use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::prepared::Parsed;
use syntax::ast::Statement;

/// How many trees a session caches.
const SLOTS: usize = 128;
/// Longer texts are seldom the same twice, and would take the memory of many.
const TEXT_MAX: usize = 2048;

/// The parsed statements of a session, by text.
#[derive(Default)]
pub(super) struct StatementCache {
    slots: Vec<CacheSlot>,
}

#[derive(Default, Clone)]
struct CacheSlot {
    /// The hash of the text that was here last, whether or not it was cached.
    seen: u64,
    cached: Option<(u64, Arc<Parsed>)>,
}

/// What became of a statement that was noted.
pub(super) enum Noted {
    Cached(Arc<Parsed>),
    /// It came for the first time.
    Seen(Statement),
}

/// A text's key: hashed once, for lookup and insertion.
#[derive(Clone, Copy)]
pub(super) struct Key {
    hash: u64,
    sql_mode: u64,
}

impl StatementCache {
    /// The key of a text under a `sql_mode`; `None` if it is too long to be cached.
    pub(super) fn key(text: &[u8], sql_mode: u64) -> Option<Key> {
        (text.len() <= TEXT_MAX).then(|| Key { hash: xxh3_64_with_seed(text, sql_mode), sql_mode })
    }

    /// The statement that is all of `text`, if it was parsed before.
    pub(super) fn find(&self, key: Key, text: &[u8]) -> Option<&Arc<Parsed>> {
        let (sql_mode, parsed) = self.slots.get(key.hash as usize % SLOTS)?.cached.as_ref()?;
        (*sql_mode == key.sql_mode && *parsed.text == *text).then_some(parsed)
    }

    /// Takes note of a text that was parsed; the second time the tree is cached.
    pub(super) fn note(&mut self, key: Key, text: &[u8], statement: Statement) -> Noted {
        if self.slots.is_empty() {
            self.slots.resize(SLOTS, CacheSlot::default());
        }
        let slot = &mut self.slots[key.hash as usize % SLOTS];
        if std::mem::replace(&mut slot.seen, key.hash) != key.hash {
            return Noted::Seen(statement);
        }
        let parsed = Arc::new(Parsed::new(text, statement));
        slot.cached = Some((key.sql_mode, parsed.clone()));
        Noted::Cached(parsed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use syntax::parser::{self, ParseOptions};

    #[test]
    fn kept_at_the_second_time_and_found_by_text_and_mode() {
        let mut cache = StatementCache::default();
        let text = b"SELECT 1 || 2";
        let parse = || parser::parse(text, &ParseOptions::default()).unwrap().unwrap();
        let (plain, pipes) = (StatementCache::key(text, 0).unwrap(), StatementCache::key(text, 2).unwrap());
        assert!(cache.find(plain, text).is_none());
        cache.note(plain, text, parse());
        assert!(cache.find(plain, text).is_none());
        cache.note(plain, text, parse());
        assert!(cache.find(plain, text).is_some());
        assert!(cache.find(pipes, text).is_none());
        assert!(
            cache.find(Key { sql_mode: 2, ..plain }, text).is_none(),
            "the mode is compared, not only hashed"
        );
        assert!(cache.find(plain, b"SELECT 2").is_none(), "and so is the text");
        assert!(StatementCache::key(&[b' '; TEXT_MAX + 1], 0).is_none());
    }

    #[test]
    fn texts_that_do_not_repeat_throw_nothing_out() {
        let mut cache = StatementCache::default();
        let statement = |n: usize| {
            let text = format!("SELECT {n}").into_bytes();
            let parsed = parser::parse(&text, &ParseOptions::default()).unwrap().unwrap();
            (StatementCache::key(&text, 0).unwrap(), text, parsed)
        };
        for _ in 0..2 {
            let (key, text, parsed) = statement(0);
            cache.note(key, &text, parsed);
        }
        for n in 1..10_000 {
            let (key, text, parsed) = statement(n);
            cache.note(key, &text, parsed);
        }
        let (key, text, _) = statement(0);
        assert!(cache.find(key, &text).is_some());
    }
}
