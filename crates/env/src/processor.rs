//! Which processor a thread runs on.
//!
//! Nothing depends on it but time: a simulated machine needs no answer of its own.

use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};
use std::marker::PhantomData;

/// The number of the processor that the calling thread runs on at this moment.
pub fn current() -> usize {
    sched_getcpu()
}

/// The calling thread stays on one processor as long as this lives, and afterwards may run where it
/// was allowed to before.
#[derive(Debug)]
pub struct Stay {
    processor: usize,
    before: CpuSet,
    /// It is the thread's own, and is dropped on it.
    _own: PhantomData<*const ()>,
}

impl Stay {
    /// Moves the calling thread there. `None` if it may not run there, or the system does not say
    /// where it may.
    pub fn on(processor: usize) -> Option<Stay> {
        let before = sched_getaffinity(None).ok()?;
        if processor >= CpuSet::MAX_CPU || !before.is_set(processor) {
            return None;
        }
        let mut only = CpuSet::new();
        only.set(processor);
        sched_setaffinity(None, &only).ok()?;
        Some(Stay { processor, before, _own: PhantomData })
    }

    /// Where the thread stays.
    pub fn processor(&self) -> usize {
        self.processor
    }
}

impl Drop for Stay {
    fn drop(&mut self) {
        // Fails where the system took all of these processors from the program since: it has chosen
        // others itself then.
        let _ = sched_setaffinity(None, &self.before);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn allowed() -> Vec<usize> {
        let set = sched_getaffinity(None).unwrap();
        (0..CpuSet::MAX_CPU).filter(|&n| set.is_set(n)).collect()
    }

    #[test]
    fn a_thread_stays_where_it_is_told_and_is_free_afterwards() {
        let before = allowed();
        for &processor in &before {
            let stay = Stay::on(processor).unwrap();
            assert_eq!((current(), stay.processor()), (processor, processor));
            assert_eq!(allowed(), [processor]);
            drop(stay);
            assert_eq!(allowed(), before);
        }
    }

    #[test]
    fn a_processor_that_is_not_there_is_refused() {
        let before = allowed();
        assert!(Stay::on(CpuSet::MAX_CPU - 1).is_none() || before.contains(&(CpuSet::MAX_CPU - 1)));
        assert!(Stay::on(usize::MAX).is_none());
        assert_eq!(allowed(), before);
    }
}
