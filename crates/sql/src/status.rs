//! Status: what `SHOW STATUS` shows.
//!
//! 1. Each session counts into [`Counters`] of its own, so no two threads share a cache line.
//! 2. When it ends, [`Status::deregister`] adds them to those of all ended sessions.
//! 3. `SHOW GLOBAL STATUS` sums the living and the ended, and asks each [`Source`] for what is
//!    counted elsewhere: the log, the store, the list of connections.
//!
//! (S1) A counter never goes back: a session is in the sum either as living or as ended, under one
//!      latch.
//! (S2) Counters are statistics. Every access is relaxed and orders nothing.
//! (S3) One thread at a time counts into one of a session's counters: its own, or the one that
//!      sends its reply while it sends nothing itself. Those of all ended sessions are counted
//!      under the latch. So an addition need not be atomic, which would cost more than all else
//!      about it.

mod counter;
pub(crate) mod engine;
mod rows;

pub(crate) use counter::COUNTERS;
pub use counter::Counter;
pub use rows::{Distribution, MetricKind, Rows, Value};

use parking_lot::{Mutex, RwLock};
use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What one session, or all ended ones, counted.
#[derive(Debug)]
pub struct Counters([AtomicU64; COUNTERS]);

impl Default for Counters {
    fn default() -> Self {
        Self([const { AtomicU64::new(0) }; COUNTERS])
    }
}

impl Counters {
    /// [`Counters::add`] of one (S3).
    pub fn count(&self, counter: Counter) {
        self.add(counter, 1);
    }

    /// Counts `n` (S3).
    pub fn add(&self, counter: Counter, n: u64) {
        let sum = &self.0[counter as usize];
        sum.store(sum.load(Relaxed).wrapping_add(n), Relaxed);
    }

    /// What was counted so far.
    pub fn get(&self, counter: Counter) -> u64 {
        self.0[counter as usize].load(Relaxed)
    }

    fn add_all(&self, other: &Counters) {
        for (sum, n) in self.0.iter().zip(&other.0) {
            sum.fetch_add(n.load(Relaxed), Relaxed);
        }
    }
}

/// Adds rows of what is counted elsewhere.
pub(crate) type Source = Box<dyn Fn(&mut Rows) + Send + Sync>;

/// The counters of all sessions, and where else to ask.
#[derive(Default)]
pub struct Status {
    sessions: Mutex<Sessions>,
    sources: RwLock<Vec<Source>>,
}

#[derive(Default)]
struct Sessions {
    living: Vec<Arc<Counters>>,
    ended: Counters,
}

impl Status {
    /// Counters for a new session; to be given back to [`Status::deregister`].
    pub fn join(&self) -> Arc<Counters> {
        let counters = Arc::<Counters>::default();
        self.sessions.lock().living.push(counters.clone());
        counters
    }

    /// Ends a session's counting (S1).
    pub fn deregister(&self, counters: &Arc<Counters>) {
        let mut sessions = self.sessions.lock();
        if let Some(place) = sessions.living.iter().position(|c| Arc::ptr_eq(c, counters)) {
            sessions.living.swap_remove(place);
            sessions.ended.add_all(counters);
        }
    }

    /// A session counts from nothing again (FLUSH STATUS); what it counted stays in the sum (S1),
    /// if it was in it.
    pub(crate) fn restart(&self, counters: &Arc<Counters>) {
        let sessions = self.sessions.lock();
        let is_living = sessions.living.iter().any(|c| Arc::ptr_eq(c, counters));
        for (sum, n) in sessions.ended.0.iter().zip(&counters.0) {
            let counted = n.swap(0, Relaxed);
            if is_living {
                sum.fetch_add(counted, Relaxed);
            }
        }
    }

    /// Counts for the server itself, outside of any session.
    pub fn count(&self, counter: Counter) {
        self.sessions.lock().ended.count(counter);
    }

    /// Adds a place to ask for more rows.
    pub fn add_source(&self, source: impl Fn(&mut Rows) + Send + Sync + 'static) {
        self.sources.write().push(Box::new(source));
    }

    /// What all sessions counted.
    pub fn total(&self) -> Counters {
        let total = Counters::default();
        let sessions = self.sessions.lock();
        total.add_all(&sessions.ended);
        for counters in &sessions.living {
            total.add_all(counters);
        }
        total
    }

    /// The rows of `SHOW GLOBAL STATUS` (no session) or `SHOW SESSION STATUS`, in the order of
    /// their names.
    ///
    /// What is only counted for the whole server is shown in both, as MySQL does.
    pub fn rows(&self, session: Option<&Counters>) -> Vec<(Cow<'static, str>, String)> {
        self.gather(session).into_listing()
    }

    /// What [`Status::rows`] shows, with its kinds, in the order of its making.
    pub fn gather(&self, session: Option<&Counters>) -> Rows {
        let total = self.total();
        let mut rows = Rows::default();
        for counter in Counter::ALL {
            let counters = session.filter(|_| !counter.is_global()).unwrap_or(&total);
            rows.push(counter.name(), counters.get(counter));
        }
        for source in &*self.sources.read() {
            source(&mut rows);
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stdx::histogram::Histogram;

    fn value(rows: &[(Cow<'static, str>, String)], name: &str) -> String {
        rows.iter().find(|(n, _)| n == name).map_or("none".into(), |(_, v)| v.clone())
    }

    #[test]
    fn the_sum_keeps_what_ended_sessions_counted() {
        let status = Status::default();
        let (a, b) = (status.join(), status.join());
        a.add(Counter::BytesSent, 10);
        b.add(Counter::BytesSent, 5);
        status.deregister(&a);
        status.deregister(&a);
        status.restart(&b);
        b.add(Counter::BytesSent, 2);
        assert_eq!(value(&status.rows(None), "Bytes_sent"), "17");
        assert_eq!(value(&status.rows(Some(&b)), "Bytes_sent"), "2");
    }

    #[test]
    fn sources_and_histograms_add_rows_in_the_order_of_names() {
        let status = Status::default();
        let flushes = Histogram::default();
        flushes.record(100);
        status.add_source(move |rows| rows.push_histogram("Duramen_flush_us", "Flushes.", &flushes));
        status.add_source(|rows| rows.gauge("Uptime", 3_u64));
        let rows = status.rows(None);
        assert!(rows.windows(2).all(|w| w[0].0 < w[1].0), "sorted, and no name twice");
        assert_eq!(value(&rows, "Duramen_flush_us_p99_below"), "128");
        assert_eq!(value(&rows, "Uptime"), "3");
    }
}
