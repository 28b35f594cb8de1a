//! What statements of the same form have cost:
//! `performance_schema.events_statements_summary_by_digest`.
//!
//! 1. find    A statement's form is its text without values ([`syntax::digest`]), under its default
//!    database. A cached text, prepared or repeated, knows its tally; others are found by a
//!    hash of their tokens that is cheaper to make.
//! 2. run     What the session counts anyway is read before and after.
//! 3. count   The difference is added to the session's own [`Tally`] of the form.
//! 4. read    The table sums the tallies of all sessions, and of those that have ended.
//!
//! (D1) One thread adds to a tally: no two sessions share a cache line, and an addition is no
//!      atomic one.
//! (D2) There are `performance_schema_digests_size` forms at most; all others are counted together
//!      in a row without a name. 0 turns all of it off.
//! (D3) TRUNCATE begins a new generation: tallies of earlier ones are counted no more.

mod costs;
mod quick;
mod summary;

pub(crate) use costs::FormCost;
pub(crate) use summary::{Summary, digest_of};

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Weak};
use std::time::Duration;

use hashbrown::HashTable;
use parking_lot::Mutex;
use xxhash_rust::xxh3::xxh3_64;

use crate::session::{Context, Examined};
use crate::statement_events;
use crate::status::Counter;
use datum::error::SqlError;
use syntax::ast::StatementKind;
use syntax::digest;

/// A normalized text has so many bytes at most, as has the text that is shown as an example.
const TEXT_MAX: usize = statement_events::TEXT_MAX;
/// Forms that a session finds by their tokens.
const FOUND_MAX: usize = 256;
/// Bounds of the histogram of times in each octave of microseconds, and how many there are in all.
const BUCKETS_OF_OCTAVE: u32 = 4;
const BUCKETS: usize = 104;

/// The counters whose changes are summed, in the order of the table's columns.
pub(crate) const COUNTED: [Counter; 11] = [
    Counter::CreatedTmpDiskTables,
    Counter::CreatedTmpTables,
    Counter::SelectFullJoin,
    Counter::SelectFullRangeJoin,
    Counter::SelectRange,
    Counter::SelectRangeCheck,
    Counter::SelectScan,
    Counter::SortMergePasses,
    Counter::SortRange,
    Counter::SortRows,
    Counter::SortScan,
];

/// What is summed of statements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is named as its column is")]
pub(crate) enum Sum {
    Count,
    TimerWait,
    LockTime,
    Errors,
    Warnings,
    RowsAffected,
    RowsSent,
    RowsExamined,
    NoIndexUsed,
}

const SUMS: usize = Sum::NoIndexUsed as usize + 1;

/// What statements of one form have cost in one session (D1), or in all that have ended.
#[derive(Debug)]
pub(crate) struct Sums {
    sums: [AtomicU64; SUMS],
    counted: [AtomicU64; COUNTED.len()],
    /// Picoseconds; the least one is stored as its difference to the greatest number.
    least: AtomicU64,
    most: AtomicU64,
    /// Microseconds since 1970.
    last_seen: AtomicU64,
    times: [AtomicU32; BUCKETS],
}

impl Default for Sums {
    fn default() -> Self {
        Self {
            sums: [const { AtomicU64::new(0) }; SUMS],
            counted: [const { AtomicU64::new(0) }; COUNTED.len()],
            least: AtomicU64::new(0),
            most: AtomicU64::new(0),
            last_seen: AtomicU64::new(0),
            times: [const { AtomicU32::new(0) }; BUCKETS],
        }
    }
}

fn raise(most: &AtomicU64, value: u64) {
    if most.load(Relaxed) < value {
        most.store(value, Relaxed);
    }
}

impl Sums {
    fn add(&self, sum: Sum, n: u64) {
        let sum = &self.sums[sum as usize];
        sum.store(sum.load(Relaxed).wrapping_add(n), Relaxed);
    }

    /// The caller is the only one who adds here (D1), or holds a latch.
    fn add_all(&self, other: &Sums) {
        let pairs = self.sums.iter().zip(&other.sums).chain(self.counted.iter().zip(&other.counted));
        for (sum, n) in pairs {
            sum.store(sum.load(Relaxed).wrapping_add(n.load(Relaxed)), Relaxed);
        }
        for (sum, n) in self.times.iter().zip(&other.times) {
            sum.store(sum.load(Relaxed).saturating_add(n.load(Relaxed)), Relaxed);
        }
        raise(&self.least, other.least.load(Relaxed));
        raise(&self.most, other.most.load(Relaxed));
        raise(&self.last_seen, other.last_seen.load(Relaxed));
    }
}

/// A session's sums of one form.
#[derive(Debug)]
pub(crate) struct Tally {
    sums: Sums,
    form: Arc<Form>,
    generation: u64,
}

impl Tally {
    fn of_form(form: Arc<Form>, generation: u64) -> Arc<Tally> {
        let tally = Arc::new(Tally { sums: Sums::default(), form, generation });
        tally.form.tallies.lock().living.push(Arc::downgrade(&tally));
        tally
    }
}

impl Drop for Tally {
    fn drop(&mut self) {
        let mut all = self.form.tallies.lock();
        all.living.retain(|tally| tally.strong_count() > 0);
        all.ended.add_all(&self.sums);
    }
}

/// Statements of one form.
#[derive(Debug)]
pub(crate) struct Form {
    /// The default database, and the normalized text; `None` for all forms for which there was no
    /// room (D2).
    name: Option<(Option<Box<str>>, Box<str>)>,
    /// Microseconds since 1970.
    first_seen: u64,
    tallies: Mutex<Tallies>,
    /// The time in picoseconds of the statement that is shown as an example: the slowest.
    sample_time: AtomicU64,
    sample: Mutex<Sample>,
}

#[derive(Debug, Default)]
struct Tallies {
    living: Vec<Weak<Tally>>,
    ended: Sums,
}

#[derive(Debug, Default, Clone)]
struct Sample {
    text: Box<[u8]>,
    seen: u64,
}

impl Form {
    fn new(name: Option<(Option<Box<str>>, Box<str>)>, first_seen: u64) -> Arc<Self> {
        let (tallies, sample_time, sample) = Default::default();
        Arc::new(Self { name, first_seen, tallies, sample_time, sample })
    }
}

/// The forms of a server's statements.
pub(crate) struct StatementDigests {
    size: usize,
    /// Relaxed: a statement that begins during a TRUNCATE may be counted on either side of it.
    generation: AtomicU64,
    forms: Mutex<Forms>,
}

#[derive(Default)]
struct Forms {
    table: HashTable<Arc<Form>>,
    /// Those for which there was no room.
    others: Option<Arc<Form>>,
}

impl Forms {
    /// `now`: microseconds since 1970, when the first of them was seen.
    fn others(&mut self, now: u64) -> Arc<Form> {
        self.others.get_or_insert_with(|| Form::new(None, now)).clone()
    }
}

/// What a session keeps to find its tallies.
#[derive(Debug, Default)]
pub(crate) struct TallyCache(HashMap<u128, Arc<Tally>>);

/// What a session had counted when a statement began.
pub(crate) struct StatementStart {
    at: Duration,
    waited: Duration,
    examined: Examined,
    counted: [u64; COUNTED.len()],
}

impl StatementDigests {
    /// Room for so many forms; 0 turns them off.
    pub(crate) fn new(size: usize) -> Self {
        Self { size, generation: AtomicU64::new(0), forms: Mutex::default() }
    }

    /// True if statements are counted.
    pub(crate) fn is_on(&self) -> bool {
        self.size > 0
    }

    /// Forgets all forms.
    pub(crate) fn clear(&self) {
        let mut forms = self.forms.lock();
        self.generation.fetch_add(1, Relaxed);
        let old = std::mem::take(&mut *forms);
        drop(forms);
        drop(old);
    }

    /// The tally of a cached statement: the one that it had before, if it is still good.
    pub(crate) fn of_cached(
        &self,
        cx: &Context,
        cached: &mut Option<Arc<Tally>>,
        text: &[u8],
        sql_mode: u64,
    ) -> Arc<Tally> {
        if let Some(tally) = cached
            && self.is_good(tally, cx)
        {
            return tally.clone();
        }
        let Some(tally) = self.tally(cx, text, sql_mode) else { return self.tally_of_others(cx) };
        *cached = Some(tally.clone());
        tally
    }

    /// The tally of a statement that is not cached.
    pub(crate) fn of_text(
        &self,
        cx: &Context,
        found: &mut TallyCache,
        text: &[u8],
        sql_mode: u64,
    ) -> Arc<Tally> {
        let Some(key) = quick::key(text, sql_mode) else { return self.tally_of_others(cx) };
        if let Some(tally) = found.0.get(&key)
            && self.is_good(tally, cx)
        {
            return tally.clone();
        }
        let Some(tally) = self.tally(cx, text, sql_mode) else { return self.tally_of_others(cx) };
        if found.0.len() >= FOUND_MAX {
            found.0.clear();
        }
        found.0.insert(key, tally.clone());
        tally
    }

    fn is_good(&self, tally: &Tally, cx: &Context) -> bool {
        let schema = tally.form.name.as_ref().map(|(schema, _)| schema.as_deref());
        tally.generation == self.generation.load(Relaxed)
            && schema.is_none_or(|schema| schema == cx.default_database())
    }

    /// `None` if the statement was killed before its form was known.
    fn tally(&self, cx: &Context, text: &[u8], sql_mode: u64) -> Option<Arc<Tally>> {
        let may_go_on = || datum::bounds::check().is_ok();
        let normalized = digest::normalized(text, sql_mode, TEXT_MAX, may_go_on)?;
        let schema = cx.default_database();
        let is_same = |form: &Arc<Form>| {
            form.name.as_ref().is_some_and(|(s, t)| **t == *normalized && s.as_deref() == schema)
        };
        let hash_of = |schema: Option<&str>, text: &str| {
            xxh3_64(text.as_bytes()) ^ schema.map_or(1, |schema| xxh3_64(schema.as_bytes()).rotate_left(1))
        };
        let hash = hash_of(schema, &normalized);
        let now = cx.real_moment() as u64;
        let mut forms = self.forms.lock();
        let generation = self.generation.load(Relaxed);
        let form = match forms.table.find(hash, is_same) {
            Some(form) => form.clone(),
            None if forms.table.len() < self.size => {
                let form = Form::new(Some((schema.map(Into::into), normalized.into())), now);
                let rehash = |form: &Arc<Form>| {
                    form.name.as_ref().map_or(0, |(schema, text)| hash_of(schema.as_deref(), text))
                };
                forms.table.insert_unique(hash, form.clone(), rehash);
                form
            }
            None => forms.others(now),
        };
        drop(forms);
        Some(Tally::of_form(form, generation))
    }

    /// The tally of a statement that was killed before its form was known.
    fn tally_of_others(&self, cx: &Context) -> Arc<Tally> {
        let mut forms = self.forms.lock();
        let generation = self.generation.load(Relaxed);
        let form = forms.others(cx.real_moment() as u64);
        drop(forms);
        Tally::of_form(form, generation)
    }

    /// What a statement's event shows of its form: the default database, the digest and the
    /// normalized text.
    pub(crate) fn form_of(tally: &Tally) -> FormNames {
        match &tally.form.name {
            None => (None, None),
            Some((schema, text)) => (schema.clone(), Some((summary::digest_of(text), text.clone()))),
        }
    }

    pub(crate) fn begin(cx: &Context) -> StatementStart {
        StatementStart {
            at: cx.instance.env().monotonic(),
            waited: storage::lock::waited_by_thread(),
            examined: cx.statistics.examined,
            counted: COUNTED.map(|counter| cx.statistics.counters.get(counter)),
        }
    }

    /// The forms with what their statements have cost.
    pub(crate) fn summaries(&self) -> Vec<Summary> {
        let mut all: Vec<_> = self.forms().iter().map(|form| Summary::of(form)).collect();
        // Those that run for the first time have cost nothing yet.
        all.retain(|summary| summary.sum(Sum::Count) > 0);
        all.sort_by_key(|summary| summary.first_seen);
        all
    }
}

/// A default database, and a digest with its normalized text.
pub(crate) type FormNames = (Option<Box<str>>, Option<(String, Box<str>)>);

/// How a statement ended.
pub(crate) struct StatementOutcome<'e> {
    /// EVENT_NAME of what executed it, if it was prepared.
    pub(crate) executed: Option<&'static str>,
    pub(crate) rows_sent: u64,
    pub(crate) error: Option<&'e SqlError>,
}

impl StatementStart {
    /// Adds up what it took, sent and examined, for its digest. `text` is without passwords.
    pub(crate) fn end(
        self,
        cx: &Context,
        tally: &Arc<Tally>,
        text: &[u8],
        kind: &StatementKind,
        StatementOutcome { executed, rows_sent, error }: StatementOutcome<'_>,
    ) {
        let failed = error.is_some();
        let took = cx.instance.env().monotonic().saturating_sub(self.at);
        let sums = &tally.sums;
        let picoseconds =
            |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX).saturating_mul(1000);
        let time = picoseconds(took);
        sums.add(Sum::Count, 1);
        sums.add(Sum::TimerWait, time);
        let waited = storage::lock::waited_by_thread().saturating_sub(self.waited);
        sums.add(Sum::LockTime, picoseconds(waited));
        sums.add(Sum::Errors, failed.into());
        // As in MySQL, the error is no warning here.
        let warnings = if failed { 0 } else { cx.statement.diagnostics.warning_count() };
        sums.add(Sum::Warnings, warnings);
        let affected = if failed { 0 } else { cx.statement.status.affected };
        sums.add(Sum::RowsAffected, affected);
        sums.add(Sum::RowsSent, rows_sent);
        let examined = cx.statistics.examined.rows - self.examined.rows;
        sums.add(Sum::RowsExamined, examined);
        let scanned = cx.statistics.examined.full_scans > self.examined.full_scans;
        sums.add(Sum::NoIndexUsed, u64::from(scanned));
        let mut all_counted = [0; COUNTED.len()];
        let counters = COUNTED.into_iter().zip(self.counted).zip(&mut all_counted);
        for (sum, ((counter, before), counted)) in sums.counted.iter().zip(counters) {
            *counted = cx.statistics.counters.get(counter).wrapping_sub(before);
            // FLUSH STATUS may have reset the counter.
            if *counted >= u64::MAX / 2 {
                *counted = 0;
            }
            if *counted != 0 {
                sum.store(sum.load(Relaxed).wrapping_add(*counted), Relaxed);
            }
        }
        raise(&sums.least, u64::MAX - time);
        raise(&sums.most, time);
        raise(&sums.last_seen, cx.real_moment() as u64);
        let bucket = &sums.times[bucket_of(took)];
        bucket.store(bucket.load(Relaxed).saturating_add(1), Relaxed);
        let sample_time = &tally.form.sample_time;
        if sample_time.load(Relaxed) < time {
            sample_time.store(time, Relaxed);
            let text = statement_events::whole_characters(&text[..text.len().min(TEXT_MAX)]);
            *tally.form.sample.lock() = Sample { text: text.into(), seen: cx.real_moment() as u64 };
        }
        let events = cx.instance.statement_events();
        if events.is_on() {
            events.add(cx.connection.id, &cx.statistics.events, |event| {
                event.name = executed.unwrap_or_else(|| statement_events::event_name(kind));
                (event.began, event.took, event.waited) = (self.at, took, waited);
                event.set_text(text);
                if !event.tally.as_ref().is_some_and(|noted| Arc::ptr_eq(noted, tally)) {
                    event.tally = Some(tally.clone());
                }
                event.error = error.map(|e| (e.number, e.sqlstate));
                event.set_message(error.map_or(&cx.statement.status.info, |e| &e.message));
                (event.warnings, event.affected) = (warnings, affected);
                (event.sent, event.examined, event.scanned) = (rows_sent, examined, scanned);
                event.counted = all_counted;
            });
        }
    }
}

/// The bucket of a time: the octave of its microseconds, and a quarter of it.
fn bucket_of(time: Duration) -> usize {
    let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX).max(1);
    let octave = micros.ilog2();
    // The two bits after the first one.
    let quarter = (micros << 2 >> octave) as u32 & (BUCKETS_OF_OCTAVE - 1);
    ((octave * BUCKETS_OF_OCTAVE + quarter) as usize).min(BUCKETS - 1)
}

/// The end of a bucket, in microseconds.
fn end_of(bucket: usize) -> u64 {
    let (octave, quarter) = (bucket as u32 / BUCKETS_OF_OCTAVE, bucket as u64 % u64::from(BUCKETS_OF_OCTAVE));
    ((5 + quarter) << octave) >> 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_end_where_the_next_ones_begin() {
        for micros in [1, 2, 3, 4, 5, 7, 8, 100, 1000, 123_456, 5_000_000, 30_000_000] {
            let bucket = bucket_of(Duration::from_micros(micros));
            let end = end_of(bucket);
            assert!(micros < end.max(2) || micros < 4, "{micros} is in {bucket}, which ends at {end}");
            assert!(end <= micros * 2, "{micros} is in {bucket}, which ends at {end}");
        }
        assert_eq!(bucket_of(Duration::MAX), BUCKETS - 1);
    }
}
