//! Which transaction depends on which.

use crate::versions::Versions;
use crate::{Operation, Outcome, Transaction};

/// Why one transaction comes before another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dependency {
    /// It appended the element before.
    WriteWrite,
    /// The other one read what it appended.
    WriteRead,
    /// It did not see what the other one appended.
    ReadWrite,
    /// It ended before the other one began.
    Time,
}

/// One transaction before another one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Edge {
    pub(crate) to: usize,
    pub(crate) kind: Dependency,
    /// The list and the element that say so.
    pub(crate) why: (u64, u64),
}

/// Transactions, and after them moments: each is after the one before it.
#[derive(Debug)]
pub(crate) struct Graph {
    pub(crate) edges: Vec<Vec<Edge>>,
    pub(crate) transactions: usize,
}

impl Graph {
    pub(crate) fn of(history: &[Transaction], versions: &Versions, in_real_time: bool) -> Self {
        let mut graph = Self { edges: vec![Vec::new(); history.len()], transactions: history.len() };
        for (list, order) in &versions.orders {
            for pair in order.windows(2) {
                graph.add(versions, Dependency::WriteWrite, Ends::Elements(pair[0], pair[1]), *list);
            }
        }
        for (number, transaction) in history.iter().enumerate() {
            if transaction.outcome == Outcome::Committed {
                graph.reads(number, transaction, versions);
            }
        }
        if in_real_time {
            graph.moments(history);
        }
        graph
    }

    /// Of the reads before a transaction's own appends to the list: later ones follow from those.
    fn reads(&mut self, number: usize, transaction: &Transaction, versions: &Versions) {
        let mut own = Vec::new();
        for operation in &transaction.operations {
            match operation {
                Operation::Append { list, .. } => own.push(*list),
                Operation::Read { list, elements } => {
                    if own.contains(list) || !versions.is_version(*list, elements) {
                        continue;
                    }
                    if let Some(last) = elements.last() {
                        self.add(versions, Dependency::WriteRead, Ends::To(*last, number), *list);
                    }
                    if let Some(next) = versions.orders[list].get(elements.len()) {
                        self.add(versions, Dependency::ReadWrite, Ends::From(number, *next), *list);
                    }
                }
            }
        }
    }

    fn add(&mut self, versions: &Versions, kind: Dependency, ends: Ends, list: u64) {
        let writer = |element: u64| versions.writers.get(&(list, element)).copied();
        let (from, to, element) = match ends {
            Ends::Elements(from, to) => (writer(from), writer(to), to),
            Ends::To(from, to) => (writer(from), Some(to), from),
            Ends::From(from, to) => (Some(from), writer(to), to),
        };
        if let (Some(from), Some(to)) = (from, to)
            && from != to
        {
            self.edges[from].push(Edge { to, kind, why: (list, element) });
        }
    }

    /// A transaction leads to the moment of its end, and the last moment before its beginning leads
    /// to it.
    fn moments(&mut self, history: &[Transaction]) {
        let is_committed = |one: &(usize, &Transaction)| one.1.outcome == Outcome::Committed;
        let mut ends: Vec<(u64, usize)> = history
            .iter()
            .enumerate()
            .filter(is_committed)
            .map(|(number, one)| (one.ended, number))
            .collect();
        ends.sort_unstable();
        let first = self.transactions;
        let edge = |to| Edge { to, kind: Dependency::Time, why: (0, 0) };
        for (place, (_, number)) in ends.iter().enumerate() {
            self.edges[*number].push(edge(first + place));
            let next = (place + 1 < ends.len()).then(|| edge(first + place + 1));
            self.edges.push(next.into_iter().collect());
        }
        for (number, one) in history.iter().enumerate() {
            let before = ends.partition_point(|(ended, _)| *ended < one.begun);
            if one.outcome != Outcome::Aborted && before > 0 {
                self.edges[first + before - 1].push(edge(number));
            }
        }
    }
}

/// The ends of an edge: elements stand for who appended them.
enum Ends {
    Elements(u64, u64),
    To(u64, usize),
    From(usize, u64),
}
