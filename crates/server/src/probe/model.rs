//! What rate to expect: a model of the commit path with four measured numbers.
//!
//! A client's commit takes its round trip, the processor's time for it, a wait for the next flush
//! to begin, and that flush. N clients that each send the next commit when the last is answered are
//! a closed queueing network: the processors are its one queue, all else is delay. Its throughput
//! is found by mean value analysis (Reiser and Lavenberg 1980); several processors count as one
//! that is as fast as all, and a delay that makes a single job no faster (Seidmann 1987).
//!
//! - **Group size** is the rate times the time between two flushes; a flush's own processor time is
//!   shared by its group.
//! - **Overlap**: with k flushes at a time, each takes as long as was measured with k at a time,
//!   and one begins k times as often, but not more often than the server lets them. The k is taken
//!   that answers soonest.
//! - **Wait**: a commit that comes while no flush may begin yet waits for the rest of the time
//!   between two, which is what the client's own work leaves of it; half of it at least. One client
//!   alone never waits.
//! - **Sleeping processors**: where clients and server leave the processors idle now and then,
//!   a thread that is woken waits for one to come back, which on a virtual machine takes longer
//!   than a small commit. A busy processor answers at once.
//! - **Durability**: a commit that does not wait for the flush has none of these delays; the
//!   background's flush takes processor time all the same. What a power cut takes is what was
//!   answered since the last flush that is over began.
//! - **Every Nth group** that waits for its flush makes all others wait behind it, for flushes take
//!   turns then: with many clients and a slow disk that is about as fast as full durability, whose
//!   flushes overlap.
//!
//! (M1) The rate is below clients ÷ (what one commit takes alone), and below processors ÷ processor
//!      time.
//! (M2) No durability is never slower than any; a faster disk, network or processor is never
//!      slower.

/// No processor takes longer to come back, in seconds.
const SLEEP_MAX: f64 = 500e-6;
/// How often what explains a rate is brought twice as near.
const HALVINGS: usize = 24;
/// How often the fixed point of rate and group size is improved.
const ROUNDS: usize = 64;

/// When a commit is answered, by `sync_binlog` and `innodb_flush_log_at_trx_commit`: the stricter
/// of the two wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Durability {
    /// When it is flushed.
    Every,
    /// When it is written; each N-th group when it is flushed.
    Nth(u32),
    /// When it is written.
    Never,
}

impl Durability {
    /// What the two settings mean together.
    pub(crate) fn of(sync_binlog: u32, trx_commit: u8) -> Self {
        match (sync_binlog, trx_commit) {
            (_, 1) | (1, _) => Self::Every,
            (0, _) => Self::Never,
            (n, _) => Self::Nth(n),
        }
    }
}

/// What was measured. Times are in seconds.
#[derive(Debug, Clone)]
pub(super) struct Machine {
    /// Processors that server and clients share.
    pub(crate) processors: f64,
    /// Of a round trip, what is no processor's time.
    pub(crate) wire: f64,
    /// Processor time of a commit with one client, server's and client's, without its flush.
    pub(crate) commit_alone: f64,
    /// The same with many clients.
    pub(crate) commit_together: f64,
    /// What is added where many wait for one flush and are woken.
    pub(crate) waking: f64,
    /// What sleeping processors add to a commit that waits for its flush, were they asleep whenever
    /// one is woken.
    pub sleep: f64,
    /// Processor time of one write and flush.
    pub(crate) flush_work: f64,
    /// How long a write and flush takes, with how many at a time; ascending, the first with one.
    pub flushes: Vec<(usize, f64)>,
    /// A slow flush: 99 % are faster.
    pub(crate) flush_late: f64,
    /// Flushes that the server has going at a time, at most.
    pub(crate) overlap: usize,
    /// How long the background leaves written bytes before it flushes them.
    pub(crate) background_pause: f64,
}

/// What to expect.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Expected {
    /// Commits per second.
    pub(crate) rate: f64,
    /// Commits per flush.
    pub group: f64,
    /// Commits that were answered and that a power cut may take, at most.
    pub(crate) lost_commits: f64,
    /// The seconds before the power cut in which they were answered.
    pub(crate) lost_time: f64,
}

/// How a commit waits for its flush.
#[derive(Debug, Clone, Copy)]
struct Flushing {
    wait: f64,
    takes: f64,
    /// From the start of one to the start of the next.
    interval: f64,
}

impl Machine {
    /// Takes what so many clients fall short of at full durability for the time until sleeping
    /// processors come back, as far as that can be.
    pub(crate) fn explain(&mut self, clients: usize, rate: f64) {
        let (mut low, mut high) = (0.0, SLEEP_MAX);
        for _ in 0..HALVINGS {
            self.sleep = (low + high) / 2.0;
            if self.predict(Durability::Every, clients).rate > rate {
                low = self.sleep;
            } else {
                high = self.sleep;
            }
        }
        self.sleep = low;
    }

    /// What to expect with so many clients.
    pub(crate) fn predict(&self, durability: Durability, clients: usize) -> Expected {
        let clients = clients.max(1);
        let (rate, group) = match durability {
            Durability::Every => self.solve(clients, true, 1.0),
            Durability::Nth(n) => self.in_cycles(n, clients),
            Durability::Never => self.solve(clients, false, 0.0),
        };
        let lost_commits = self.lost_commits(durability, rate, clients);
        Expected { rate, group, lost_commits, lost_time: lost_commits / rate }
    }

    /// The fixed point of rate and group size, where each commit waits for its flush or none does;
    /// `woken` is the part of them whose clients are woken by a flush.
    fn solve(&self, clients: usize, waits: bool, woken: f64) -> (f64, f64) {
        // The time of one commit without the wait for its flush.
        let commit = self.commit(woken, clients);
        let mut own = self.wire + commit;
        let mut rate = 1.0 / own;
        let mut group = 1.0;
        for _ in 0..ROUNDS {
            let flushing = self.flushing(clients, own);
            let (per_flush, delay) = if waits {
                let busy = rate * (commit + self.flush_work / group) / self.processors;
                let asleep = others(clients) * (1.0 - busy).max(0.0) * self.sleep;
                // A flush's own processor time is in the work.
                let delay = flushing.wait + (flushing.takes - self.flush_work).max(0.0) + asleep;
                ((rate * flushing.interval).min(clients as f64), delay)
            } else {
                (rate * (self.background_pause + flushing.takes), 0.0)
            };
            group = (group + per_flush.max(1.0)) / 2.0;
            let work = commit + self.flush_work / group;
            rate = (rate + throughput(clients, self.processors, work, self.wire + delay)) / 2.0;
            own = clients as f64 / rate - delay;
        }
        (rate, group)
    }

    /// Of N groups one waits for its flush, and everybody else waits behind it: flushes do not
    /// overlap then. So all come together in the group after it; those up to the next flush are as
    /// small as they get.
    fn in_cycles(&self, n: u32, clients: usize) -> (f64, f64) {
        let others = (clients - 1) as f64;
        let commits = f64::from(n) + others;
        let (free, _) = self.solve(clients, false, others / commits);
        (commits / (self.flush_with(1) + commits / free), commits)
    }

    /// Processor time of a commit: what it costs alone turns into what it costs among many.
    fn commit(&self, woken: f64, clients: usize) -> f64 {
        let others = others(clients);
        (1.0 - others) * self.commit_alone + others * (self.commit_together + woken * self.waking)
    }

    /// The number of flushes at a time that answers soonest, when a client's own work takes `own`
    /// of each turn.
    fn flushing(&self, clients: usize, own: f64) -> Flushing {
        let most = self.overlap.min(clients).max(1);
        let others = others(clients);
        let with = |at_a_time: usize| {
            let takes = self.flush_with(at_a_time);
            let apart = if at_a_time > 1 { self.flush_with(1) / self.overlap as f64 } else { 0.0 };
            let interval = (takes / at_a_time as f64).max(apart);
            let wait = others * (interval - own.max(0.0)).max(interval / 2.0);
            Flushing { wait, takes, interval }
        };
        let soonest = |a: &Flushing, b: &Flushing| (a.wait + a.takes).total_cmp(&(b.wait + b.takes));
        (1..=most).map(with).min_by(soonest).unwrap_or_else(|| with(1))
    }

    /// How long a flush takes with so many at a time, between the measured numbers by a straight
    /// line.
    fn flush_with(&self, at_a_time: usize) -> f64 {
        let after = self.flushes.partition_point(|&(n, _)| n < at_a_time);
        match (after.checked_sub(1).and_then(|i| self.flushes.get(i)), self.flushes.get(after)) {
            (Some(&(low, fast)), Some(&(high, slow))) => {
                fast + (slow - fast) * (at_a_time - low) as f64 / (high - low) as f64
            }
            (None, Some(&(_, time))) | (Some(&(_, time)), None) => time,
            (None, None) => 0.0,
        }
    }

    /// A group written just after the background's flush began is safe when that one, the pause and
    /// its own are over. Of each N groups one waits: less than N of them are answered and not
    /// flushed.
    fn lost_commits(&self, durability: Durability, rate: f64, clients: usize) -> f64 {
        let unflushed = rate * (self.background_pause + 2.0 * self.flush_late);
        match durability {
            Durability::Every => 0.0,
            Durability::Nth(n) => unflushed.min(f64::from(n.saturating_sub(1)) * clients as f64),
            Durability::Never => unflushed,
        }
    }
}

/// The part of so many clients that one meets.
fn others(clients: usize) -> f64 {
    1.0 - 1.0 / clients as f64
}

/// Turns per second of `clients`, each of which takes `work` of one of the processors and `delay`
/// elsewhere.
fn throughput(clients: usize, processors: f64, work: f64, delay: f64) -> f64 {
    let each = work / processors;
    let delay = delay + work - each;
    let (mut rate, mut queued) = (0.0, 0.0);
    for n in 1..=clients {
        let stay = each * (1.0 + queued);
        rate = n as f64 / (delay + stay);
        queued = rate * stay;
    }
    rate
}

#[cfg(test)]
mod tests;
