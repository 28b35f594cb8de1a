//! What forms have cost, in few bytes for each: to find those that took the most time since an
//! earlier moment, without making a row of every form.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use super::{Form, StatementDigests, Sum, Summary};

/// How often statements of one form ran, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FormCost {
    /// The same for the same form, as long as it is counted.
    pub(crate) id: u64,
    pub(crate) count: u64,
    /// Picoseconds.
    pub(crate) time: u64,
}

impl FormCost {
    /// Another form may get the memory of one that TRUNCATE has freed, but later.
    fn id_of(form: &Arc<Form>) -> u64 {
        (Arc::as_ptr(form).addr() as u64).rotate_left(20) ^ form.first_seen
    }

    fn of(form: &Arc<Form>) -> Self {
        let tallies = form.tallies.lock();
        let (count, time) = (Sum::Count as usize, Sum::TimerWait as usize);
        let mut cost = Self {
            id: Self::id_of(form),
            count: tallies.ended.sums[count].load(Relaxed),
            time: tallies.ended.sums[time].load(Relaxed),
        };
        let living: Vec<_> = tallies.living.iter().filter_map(std::sync::Weak::upgrade).collect();
        for tally in &living {
            cost.count = cost.count.wrapping_add(tally.sums.sums[count].load(Relaxed));
            cost.time = cost.time.wrapping_add(tally.sums.sums[time].load(Relaxed));
        }
        // The last owner of a tally takes the latch.
        drop(tallies);
        drop(living);
        cost
    }
}

impl StatementDigests {
    /// What each form has cost so far, without those that run for the first time; in no order.
    pub(crate) fn costs(&self) -> Vec<FormCost> {
        let costs = self.forms().iter().map(FormCost::of).collect::<Vec<_>>();
        costs.into_iter().filter(|cost| cost.count > 0).collect()
    }

    /// The rows of some forms, by the ids of their costs. Forms that are gone have none.
    pub(crate) fn summaries_of(&self, ids: &[u64]) -> Vec<(u64, Summary)> {
        let of = |form: &Arc<Form>| {
            let id = FormCost::id_of(form);
            ids.contains(&id).then(|| (id, Summary::of(form)))
        };
        self.forms().iter().filter_map(of).collect()
    }

    pub(super) fn forms(&self) -> Vec<Arc<Form>> {
        let forms = self.forms.lock();
        forms.others.iter().chain(forms.table.iter()).cloned().collect()
    }
}
