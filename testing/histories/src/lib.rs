//! Isolation anomalies in a history of transactions that read lists and append to them.
//!
//! Each element is appended once, so a list that was read tells who wrote what it holds, and in
//! which order: that is the list's version order, and from it follows who depends on whom. The
//! method is that of Kingsbury and Alvaro, "Elle: Inferring Isolation Anomalies from Experimental
//! Observations" (2020); the anomalies have the names of Adya's thesis (1999).
//!
//! 1. [`versions`] orders the elements of each list, and finds what no order explains: elements
//!    that are lost, that are there twice, that were read from a transaction that rolled back.
//! 2. [`dependencies`] makes a graph of the transactions.
//! 3. [`cycles`] finds its cycles, and names each by the edges that it needs.

mod cycles;
mod dependencies;
mod versions;

use std::fmt;

/// What a session did between BEGIN and the end of its transaction.
#[derive(Debug, Clone)]
pub struct Transaction {
    /// Who ran it.
    pub session: u64,
    /// When it was begun: any clock that all sessions share.
    pub begun: u64,
    /// When its end was acknowledged.
    pub ended: u64,
    /// How it ended.
    pub outcome: Outcome,
    /// In the order in which it did them.
    pub operations: Vec<Operation>,
}

/// How a transaction ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The server acknowledged its COMMIT.
    Committed,
    /// It was rolled back.
    Aborted,
    /// The connection was lost at its COMMIT.
    Unknown,
}

/// What is done to a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operation {
    /// Puts an element at its end, one that nobody else appends.
    Append {
        /// Which list.
        list: u64,
        /// What is appended.
        element: u64,
    },
    /// Sees all of its elements, in their order.
    Read {
        /// Which list.
        list: u64,
        /// What it holds.
        elements: Vec<u64>,
    },
}

/// What a history should not have, from the worst on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Anomaly {
    /// An element that nobody appended.
    UnknownElement,
    /// An element is in a list twice.
    Duplicate,
    /// A committed append is in no later version of its list.
    LostAppend,
    /// Two reads of a list, neither of which is the other's beginning.
    IncompatibleOrders,
    /// Read from a transaction that rolled back.
    G1a,
    /// Read in the middle of a transaction that appended more.
    G1b,
    /// A transaction did not see its own changes, or saw a list change under it.
    Internal,
    /// Writes that follow each other in a circle.
    G0,
    /// Writes and reads that follow each other in a circle.
    G1c,
    /// A circle in which one transaction did not see another's write.
    GSingle,
    /// A circle of several such, no two of them next to each other: no snapshots explain it.
    GNonadjacent,
    /// A circle of several such: write skew.
    G2,
}

impl Anomaly {
    /// As it is called in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::UnknownElement => "unknown element",
            Self::Duplicate => "duplicate element",
            Self::LostAppend => "lost append",
            Self::IncompatibleOrders => "incompatible orders",
            Self::G1a => "G1a (aborted read)",
            Self::G1b => "G1b (intermediate read)",
            Self::Internal => "internal",
            Self::G0 => "G0 (dirty write)",
            Self::G1c => "G1c (circular information flow)",
            Self::GSingle => "G-single (read skew)",
            Self::GNonadjacent => "G-nonadjacent",
            Self::G2 => "G2-item (write skew)",
        }
    }
}

impl fmt::Display for Anomaly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An anomaly of a history.
#[derive(Debug, Clone)]
pub struct Found {
    /// Which.
    pub anomaly: Anomaly,
    /// It is one only because of the moments: a transaction that began after another one's end does
    /// not come after it.
    pub in_real_time: bool,
    /// Who did what, in words. Transactions are named by their numbers in the history.
    pub text: String,
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let when = if self.in_real_time { ", in real time" } else { "" };
        write!(f, "{}{when}: {}", self.anomaly, self.text)
    }
}

/// What is wrong with a history. `in_real_time`: a transaction that began after the end of another
/// one has to come after it, as in one that is strictly serializable.
pub fn check(history: &[Transaction], in_real_time: bool) -> Vec<Found> {
    let mut found = Vec::new();
    let versions = versions::Versions::of(history, &mut found);
    let graph = dependencies::Graph::of(history, &versions, in_real_time);
    cycles::find(&graph, &mut found);
    found
}

#[cfg(test)]
mod tests;
