//! The statements that sessions ran last: `performance_schema.events_statements_history` and its
//! like.
//!
//! 1. end      A statement that has ended writes what it cost, which its form needs anyway
//!    ([`crate::statement_digests`]), over the oldest event of its session.
//! 2. gather   Where the consumer `events_statements_history_long` is on, it is added to the
//!    server's list, too.
//! 3. read     The tables copy the events of all sessions. What runs now is taken from the list of
//!    sessions, which has its text.
//!
//! (H1) A session's events are its own: nobody else takes their latch but who reads the tables.
//! (H2) Memory is bounded: a session holds `performance_schema_events_statements_history_size`
//!      events, the server `.._history_long_size`, each with [`TEXT_MAX`] bytes of its statement at
//!      most.

mod names;

pub(crate) use names::event_name;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use parking_lot::Mutex;

use crate::statement_digests::{COUNTED, Tally};

/// Bytes of a message that are held: 128 characters are shown.
const MESSAGE_MAX: usize = 512;

/// Bytes of a statement that are held, as `performance_schema_max_sql_text_length` says.
pub(crate) const TEXT_MAX: usize = 1024;

/// The consumers that can be switched, by their bits in [`StatementEvents::consumers`].
pub(crate) const CURRENT: u8 = 1;
pub(crate) const HISTORY: u8 = 2;
pub(crate) const HISTORY_LONG: u8 = 4;

/// A statement that has ended.
#[derive(Debug, Clone, Default)]
pub(crate) struct StatementEvent {
    /// Numbered from 1 in each session.
    pub id: u64,
    /// Of all statements of the server.
    pub(crate) statement: u64,
    pub(crate) name: &'static str,
    /// When it began, monotonic, and how long it took.
    pub(crate) began: Duration,
    pub(crate) took: Duration,
    /// Waits for locks.
    pub(crate) waited: Duration,
    /// Its text, passwords hidden, cut to [`TEXT_MAX`] bytes.
    pub text: Vec<u8>,
    /// Its form, and the default database.
    pub(crate) tally: Option<Arc<Tally>>,
    /// What it failed with, and the message; of one that did not fail what the OK packet says.
    pub(crate) error: Option<(u16, [u8; 5])>,
    pub(crate) message: String,
    pub(crate) warnings: u64,
    pub(crate) affected: u64,
    pub(crate) sent: u64,
    pub(crate) examined: u64,
    /// A table was read from one end to the other.
    pub(crate) scanned: bool,
    /// What the session's counters counted.
    pub(crate) counted: [u64; COUNTED.len()],
}

impl StatementEvent {
    /// Notes a statement's text.
    pub(crate) fn set_text(&mut self, text: &[u8]) {
        self.text.clear();
        self.text.extend_from_slice(&text[..text.len().min(TEXT_MAX)]);
    }

    /// Notes what the client was told.
    pub(crate) fn set_message(&mut self, message: &str) {
        self.message.clear();
        // Most have none.
        if !message.is_empty() {
            self.message.push_str(&message[..message.floor_char_boundary(MESSAGE_MAX)]);
        }
    }

    /// The text for the tables: a character that was cut is left out, other broken ones are U+FFFD.
    pub(crate) fn shown_text(&self) -> String {
        String::from_utf8_lossy(whole_characters(&self.text)).into_owned()
    }
}

/// What is left of a text that was cut at [`TEXT_MAX`] bytes without the character that was cut.
pub(crate) fn whole_characters(text: &[u8]) -> &[u8] {
    if text.len() < TEXT_MAX {
        return text;
    }
    let cut = text.utf8_chunks().last().map_or(0, |last| last.invalid().len());
    &text[..text.len() - cut]
}

/// The last events of a session (H1).
#[derive(Debug, Default)]
pub(crate) struct SessionEvents(Mutex<Ring>);

#[derive(Debug, Default)]
struct Ring {
    events: Vec<StatementEvent>,
    /// Where the next one goes.
    next: usize,
    count: u64,
}

impl SessionEvents {
    /// Lets `fill` write an event over the oldest one.
    fn write(&self, size: usize, fill: impl FnOnce(&mut StatementEvent)) {
        let mut ring = self.0.lock();
        let ring = &mut *ring;
        ring.count += 1;
        if ring.events.len() < size {
            ring.events.push(StatementEvent::default());
        }
        if ring.next >= ring.events.len() {
            ring.next = 0;
        }
        let Some(event) = ring.events.get_mut(ring.next) else { return };
        event.id = ring.count;
        fill(event);
        ring.next += 1;
    }

    /// The events, the oldest first.
    pub(crate) fn list(&self) -> Vec<StatementEvent> {
        let ring = self.0.lock();
        let (newer, older) = ring.events.split_at(ring.next.min(ring.events.len()));
        older.iter().chain(newer).filter(|event| event.id > 0).cloned().collect()
    }

    /// The one that ended last, if one did.
    pub(crate) fn last(&self) -> Option<StatementEvent> {
        let ring = self.0.lock();
        let at = ring.next.checked_sub(1)?;
        ring.events.get(at).filter(|event| event.id > 0).cloned()
    }

    /// The number that the event of what runs now will have.
    pub(crate) fn next_id(&self) -> u64 {
        self.0.lock().count + 1
    }

    /// Forgets them.
    pub(crate) fn clear(&self) {
        let mut ring = self.0.lock();
        (ring.events, ring.next) = (Vec::new(), 0);
    }
}

/// The statements of all sessions.
#[derive(Debug)]
pub(crate) struct StatementEvents {
    consumers: AtomicU8,
    size: usize,
    size_long: usize,
    /// Statements that were numbered. One number serves a session's statement each: no more is
    /// counted here than the long list asks for.
    statements: AtomicU64,
    /// With the numbers of their sessions.
    long: Mutex<VecDeque<(u64, StatementEvent)>>,
}

impl StatementEvents {
    /// So many events for each session, and so many for all.
    pub(crate) fn new(size: usize, size_long: usize) -> Self {
        let consumers = AtomicU8::new(CURRENT | HISTORY);
        Self { consumers, size, size_long, statements: AtomicU64::new(0), long: Mutex::default() }
    }

    /// Bits of [`CURRENT`], [`HISTORY`] and [`HISTORY_LONG`]: those that are on.
    pub(crate) fn consumers(&self) -> u8 {
        self.consumers.load(Relaxed)
    }

    /// Switches consumers on or off.
    pub(crate) fn switch(&self, consumers: u8, on: bool) {
        match on {
            true => self.consumers.fetch_or(consumers, Relaxed),
            false => self.consumers.fetch_and(!consumers, Relaxed),
        };
    }

    /// True if a statement's event is wanted.
    pub(crate) fn is_on(&self) -> bool {
        self.consumers() != 0 && (self.size > 0 || self.size_long > 0)
    }

    /// Adds a statement's event to its session's, and to all.
    pub(crate) fn add(&self, session: u64, events: &SessionEvents, fill: impl FnOnce(&mut StatementEvent)) {
        let mut copy = None;
        let is_long = self.consumers() & HISTORY_LONG != 0 && self.size_long > 0;
        // The current event is the last one of the history.
        events.write(self.size.max(1), |event| {
            fill(event);
            if is_long {
                event.statement = self.statements.fetch_add(1, Relaxed) + 1;
                copy = Some(event.clone());
            } else {
                event.statement = 0;
            }
        });
        if let Some(event) = copy {
            let mut long = self.long.lock();
            while long.len() >= self.size_long {
                long.pop_front();
            }
            long.push_back((session, event));
        }
    }

    /// The events of all sessions with these sessions' numbers, the oldest first.
    pub(crate) fn long(&self) -> Vec<(u64, StatementEvent)> {
        self.long.lock().iter().cloned().collect()
    }

    /// Forgets those of all sessions.
    pub(crate) fn clear_long(&self) {
        let old = std::mem::take(&mut *self.long.lock());
        drop(old);
    }

    /// Events of a session that are shown: none where the consumer is off.
    pub(crate) fn shown_size(&self) -> usize {
        if self.consumers() & HISTORY == 0 { 0 } else { self.size }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(all: &StatementEvents, session: u64, events: &SessionEvents, text: &str) {
        all.add(session, events, |event| {
            event.text.clear();
            event.text.extend_from_slice(text.as_bytes());
        });
    }

    fn texts(events: &[StatementEvent]) -> Vec<String> {
        events.iter().map(|event| String::from_utf8_lossy(&event.text).into_owned()).collect()
    }

    #[test]
    fn the_last_ones_are_held_in_their_order() {
        let all = StatementEvents::new(3, 4);
        let events = SessionEvents::default();
        assert!(events.list().is_empty() && events.last().is_none());
        for n in 1..=5 {
            run(&all, 7, &events, &format!("s{n}"));
        }
        assert_eq!(texts(&events.list()), ["s3", "s4", "s5"]);
        assert_eq!(events.list().iter().map(|event| event.id).collect::<Vec<_>>(), [3, 4, 5]);
        assert_eq!(events.last().unwrap().id, 5);
        assert_eq!(events.next_id(), 6);
        assert!(all.long().is_empty(), "it is off");
        events.clear();
        run(&all, 7, &events, "again");
        assert_eq!(texts(&events.list()), ["again"]);
    }

    #[test]
    fn the_long_list_is_bounded() {
        let all = StatementEvents::new(1, 4);
        all.switch(HISTORY_LONG, true);
        let (one, two) = (SessionEvents::default(), SessionEvents::default());
        for n in 0..6 {
            run(&all, n % 2, if n % 2 == 0 { &one } else { &two }, &format!("s{n}"));
        }
        let long = all.long();
        assert_eq!(long.iter().map(|(session, _)| *session).collect::<Vec<_>>(), [0, 1, 0, 1]);
        assert_eq!(long.iter().map(|(_, event)| event.statement).collect::<Vec<_>>(), [3, 4, 5, 6]);
        all.clear_long();
        assert!(all.long().is_empty());
    }
}
