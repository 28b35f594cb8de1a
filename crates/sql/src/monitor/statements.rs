//! The forms of statements that took the most time since an earlier moment.

use std::cmp::Reverse;
use std::collections::HashMap;

use crate::Instance;
use crate::statement_digests::{FormCost, Sum};

/// Forms whose costs are remembered: those that have taken the most time.
const REMEMBERED_MAX: usize = 10_000;

/// What forms had cost at one moment: at most [`REMEMBERED_MAX`] of them, of 24 bytes each.
#[derive(Debug, Default)]
pub struct StatementCosts(Vec<FormCost>);

/// What statements of one form have cost in a span of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StatementCost {
    /// Statements that ended in it.
    pub count: u64,
    /// Microseconds that these took.
    pub time_us: u64,
}

/// A form of statements, as `events_statements_summary_by_digest` has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopStatement {
    /// The default database.
    pub schema: Option<String>,
    /// `DIGEST` and `DIGEST_TEXT`; `None` for all forms for which there was no room.
    pub digest: Option<(String, String)>,
    /// Since the earlier moment.
    pub recent: StatementCost,
    /// Since the start.
    pub total: StatementCost,
    /// `QUANTILE_95`, in microseconds, since the start.
    pub p95_us: u64,
    /// `MAX_TIMER_WAIT`, in microseconds.
    pub most_us: u64,
    /// `SUM_LOCK_TIME`, in microseconds.
    pub lock_us: u64,
    /// `SUM_ERRORS`
    pub errors: u64,
    /// `SUM_ROWS_EXAMINED`
    pub rows_examined: u64,
    /// `SUM_ROWS_SENT`
    pub rows_sent: u64,
}

/// Picoseconds in a microsecond.
const MICROSECOND: u64 = 1_000_000;

impl StatementCosts {
    /// What this form has cost since; all of it, if it was not counted then, or is counted anew.
    fn since(&self, now: &FormCost) -> FormCost {
        let before = self.0.binary_search_by_key(&now.id, |cost| cost.id).ok().map(|at| self.0[at]);
        let before = before.filter(|before| before.count <= now.count && before.time <= now.time);
        before.map_or(*now, |before| FormCost {
            id: now.id,
            count: now.count - before.count,
            time: now.time - before.time,
        })
    }
}

impl Instance {
    /// What the forms have cost so far.
    pub fn statement_costs(&self) -> StatementCosts {
        let mut costs = self.statement_digests().costs();
        if costs.len() > REMEMBERED_MAX {
            costs.select_nth_unstable_by_key(REMEMBERED_MAX, |cost| Reverse(cost.time));
            costs.truncate(REMEMBERED_MAX);
            costs.shrink_to_fit();
        }
        costs.sort_unstable_by_key(|cost| cost.id);
        StatementCosts(costs)
    }

    /// The forms that took the most time since `earlier`, `max` at most, the most costly first.
    pub fn top_statements(&self, earlier: &StatementCosts, max: usize) -> Vec<TopStatement> {
        let digests = self.statement_digests();
        let mut recent: Vec<FormCost> = digests.costs().iter().map(|now| earlier.since(now)).collect();
        recent.retain(|cost| cost.count > 0);
        recent.sort_unstable_by_key(|cost| Reverse(cost.time));
        recent.truncate(max);
        let ids: Vec<u64> = recent.iter().map(|cost| cost.id).collect();
        let mut summaries: HashMap<u64, _> = digests.summaries_of(&ids).into_iter().collect();
        let of = |cost: &FormCost| {
            let summary = summaries.remove(&cost.id)?;
            let micros = |sum| summary.sum(sum) / MICROSECOND;
            Some(TopStatement {
                schema: summary.schema.as_deref().map(str::to_owned),
                digest: summary.digest.as_ref().map(|(digest, text)| (digest.clone(), text.to_string())),
                recent: StatementCost { count: cost.count, time_us: cost.time / MICROSECOND },
                total: StatementCost { count: summary.sum(Sum::Count), time_us: micros(Sum::TimerWait) },
                p95_us: summary.quantile(950) / MICROSECOND,
                most_us: summary.times()[2] / MICROSECOND,
                lock_us: micros(Sum::LockTime),
                errors: summary.sum(Sum::Errors),
                rows_examined: summary.sum(Sum::RowsExamined),
                rows_sent: summary.sum(Sum::RowsSent),
            })
        };
        recent.iter().filter_map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_those_since_the_earlier_moment() {
        let cost = |id, count, time| FormCost { id, count, time };
        let earlier = StatementCosts(vec![cost(1, 5, 50), cost(7, 2, 20)]);
        assert_eq!(earlier.since(&cost(7, 3, 90)), cost(7, 1, 70));
        assert_eq!(earlier.since(&cost(1, 5, 50)), cost(1, 0, 0));
        assert_eq!(earlier.since(&cost(3, 4, 40)), cost(3, 4, 40), "it is new");
        assert_eq!(earlier.since(&cost(1, 2, 10)), cost(1, 2, 10), "it is counted anew");
    }
}
