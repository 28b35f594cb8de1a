//! The order of each list's elements, and what needs no order to be wrong.

use crate::{Anomaly, Found, Operation, Outcome, Transaction};
use std::collections::{HashMap, HashSet};

/// What the reads of a history say of its lists.
#[derive(Debug, Default)]
pub(crate) struct Versions {
    /// The elements of each list, in the order in which they were appended.
    pub(crate) orders: HashMap<u64, Vec<u64>>,
    /// Who appended each element, as its number in the history.
    pub(crate) writers: HashMap<(u64, u64), usize>,
}

impl Versions {
    pub(crate) fn of(history: &[Transaction], found: &mut Vec<Found>) -> Self {
        let mut versions = Self::default();
        for (number, transaction) in history.iter().enumerate() {
            for operation in &transaction.operations {
                if let Operation::Append { list, element } = operation {
                    versions.writers.insert((*list, *element), number);
                }
            }
        }
        for (_, list, elements) in committed_reads(history) {
            let longest = versions.orders.entry(list).or_default();
            if elements.len() > longest.len() {
                *longest = elements.to_vec();
            }
        }
        versions.check_reads(history, found);
        versions.check_appends(history, found);
        history.iter().enumerate().for_each(|(number, one)| check_within(number, one, found));
        versions
    }

    /// Whether a read is a version of its list.
    pub(crate) fn is_version(&self, list: u64, elements: &[u64]) -> bool {
        self.orders.get(&list).is_some_and(|order| order.starts_with(elements))
    }

    fn check_reads(&self, history: &[Transaction], found: &mut Vec<Found>) {
        let mut last_of: HashMap<(usize, u64), u64> = HashMap::new();
        for (number, transaction) in history.iter().enumerate() {
            for operation in &transaction.operations {
                if let Operation::Append { list, element } = operation {
                    last_of.insert((number, *list), *element);
                }
            }
        }
        for (number, list, elements) in committed_reads(history) {
            let mut tell = |anomaly, text: String| {
                let text = format!("T{number} read {text} in list {list}");
                found.push(Found { anomaly, in_real_time: false, text });
            };
            let mut seen = HashSet::new();
            for element in elements {
                if !seen.insert(element) {
                    tell(Anomaly::Duplicate, format!("{element} twice"));
                }
                match self.writers.get(&(list, *element)) {
                    None => tell(Anomaly::UnknownElement, format!("{element}, which nobody appended,")),
                    Some(&writer) if history[writer].outcome == Outcome::Aborted => {
                        tell(Anomaly::G1a, format!("{element} of T{writer}, which rolled back,"));
                    }
                    Some(_) => {}
                }
            }
            if !self.is_version(list, elements) {
                let longest = shown(&self.orders[&list]);
                tell(Anomaly::IncompatibleOrders, format!("{} where others read {longest}", shown(elements)));
            }
            let Some(last) = elements.last() else { continue };
            if let Some(&writer) = self.writers.get(&(list, *last))
                && writer != number
                && last_of.get(&(writer, list)) != Some(last)
            {
                tell(Anomaly::G1b, format!("up to {last} of T{writer}, which appended more,"));
            }
        }
    }

    /// Committed appends that are in no version, though the list was read later.
    fn check_appends(&self, history: &[Transaction], found: &mut Vec<Found>) {
        let mut last_read: HashMap<u64, u64> = HashMap::new();
        for (number, list, _) in committed_reads(history) {
            let begun = last_read.entry(list).or_default();
            *begun = (*begun).max(history[number].begun);
        }
        let present: HashSet<(u64, u64)> = self
            .orders
            .iter()
            .flat_map(|(list, elements)| elements.iter().map(|element| (*list, *element)))
            .collect();
        for (number, transaction) in history.iter().enumerate() {
            if transaction.outcome != Outcome::Committed {
                continue;
            }
            for operation in &transaction.operations {
                let Operation::Append { list, element } = operation else { continue };
                let is_read_later = last_read.get(list).is_some_and(|&begun| begun > transaction.ended);
                if is_read_later && !present.contains(&(*list, *element)) {
                    let text = format!("T{number} appended {element} to list {list}");
                    found.push(Found { anomaly: Anomaly::LostAppend, in_real_time: false, text });
                }
            }
        }
    }
}

/// Reads of committed transactions: who, which list, and what it held.
pub(crate) fn committed_reads(history: &[Transaction]) -> impl Iterator<Item = (usize, u64, &[u64])> {
    let committed = |one: &&(usize, &Transaction)| one.1.outcome == Outcome::Committed;
    let all: Vec<(usize, &Transaction)> = history.iter().enumerate().collect();
    let those: Vec<(usize, &Transaction)> = all.iter().filter(committed).copied().collect();
    those.into_iter().flat_map(|(number, transaction)| {
        transaction.operations.iter().filter_map(move |operation| match operation {
            Operation::Read { list, elements } => Some((number, *list, elements.as_slice())),
            Operation::Append { .. } => None,
        })
    })
}

/// A transaction sees what it has done and read before.
fn check_within(number: usize, transaction: &Transaction, found: &mut Vec<Found>) {
    if transaction.outcome != Outcome::Committed {
        return;
    }
    let mut known: HashMap<u64, Vec<u64>> = HashMap::new();
    let mut own: HashMap<u64, Vec<u64>> = HashMap::new();
    for operation in &transaction.operations {
        match operation {
            Operation::Append { list, element } => match known.get_mut(list) {
                Some(elements) => elements.push(*element),
                None => own.entry(*list).or_default().push(*element),
            },
            Operation::Read { list, elements } => {
                let is_right = match (known.get(list), own.get(list)) {
                    (Some(known), _) => known == elements,
                    (None, Some(own)) => elements.ends_with(own),
                    (None, None) => true,
                };
                if !is_right {
                    let expected = known.get(list).or(own.get(list)).map(|known| shown(known));
                    let text = format!(
                        "T{number} read {} in list {list}, and should have {}",
                        shown(elements),
                        expected.unwrap_or_default()
                    );
                    found.push(Found { anomaly: Anomaly::Internal, in_real_time: false, text });
                }
                known.insert(*list, elements.clone());
            }
        }
    }
}

/// The end of a list is what tells versions from each other.
fn shown(elements: &[u64]) -> String {
    const SHOWN: usize = 8;
    let last = &elements[elements.len().saturating_sub(SHOWN)..];
    if last.len() < elements.len() {
        format!("{} elements, at last {last:?}", elements.len())
    } else {
        format!("{last:?}")
    }
}
