//! Histories made by hand: one for each anomaly, and some that have none.

use super::*;

/// A transaction of its own session: `r1[5,6]` reads, `a1:7` appends.
fn transaction(begun: u64, outcome: Outcome, text: &str) -> Transaction {
    let operations = text.split_whitespace().map(|word| match word.split_once('[') {
        Some((list, elements)) => {
            let elements = elements.trim_end_matches(']').split(',').filter(|text| !text.is_empty());
            Operation::Read {
                list: list[1..].parse().unwrap(),
                elements: elements.map(|text| text.parse().unwrap()).collect(),
            }
        }
        None => {
            let (list, element) = word[1..].split_once(':').unwrap();
            Operation::Append { list: list.parse().unwrap(), element: element.parse().unwrap() }
        }
    });
    Transaction { session: begun, begun, ended: begun + 10, outcome, operations: operations.collect() }
}

/// Transactions that all run at once.
fn at_once(texts: &[&str]) -> Vec<Transaction> {
    let one = |(number, text): (usize, &&str)| {
        let (outcome, text) = match text.strip_prefix('!') {
            Some(text) => (Outcome::Aborted, text),
            None => (text.strip_prefix('?').map_or(Outcome::Committed, |_| Outcome::Unknown), *text),
        };
        transaction(number as u64, outcome, text.trim_start_matches('?'))
    };
    texts.iter().enumerate().map(one).collect()
}

fn anomalies(history: &[Transaction], in_real_time: bool) -> Vec<Anomaly> {
    let mut found: Vec<Anomaly> = check(history, in_real_time).iter().map(|found| found.anomaly).collect();
    found.sort_unstable();
    found.dedup();
    found
}

fn check_anomalies(texts: &[&str], expected: &[Anomaly]) {
    let found = check(&at_once(texts), false);
    assert_eq!(anomalies(&at_once(texts), false), expected, "{texts:?}: {found:?}");
}

#[test]
fn serial_histories_have_none() {
    check_anomalies(&["a1:1 r1[1]", "r1[1] a1:2", "a2:1 r1[1,2]", "r2[1] r1[1,2] a1:3 r1[1,2,3]"], &[]);
    // It was committed though its session was never told.
    check_anomalies(&["?a1:1", "r1[1]"], &[]);
    check_anomalies(&["!a1:1", "r1[]"], &[]);
    // Who reads an old version alone comes before.
    check_anomalies(&["a1:1", "a1:2", "r1[1]", "r1[1,2]"], &[]);
}

#[test]
fn what_needs_no_order() {
    check_anomalies(&["a1:1", "r1[1,9]"], &[Anomaly::UnknownElement]);
    check_anomalies(&["a1:1", "r1[1,1]"], &[Anomaly::Duplicate]);
    check_anomalies(&["a1:1", "a1:2", "r1[1,2]", "r1[2]"], &[Anomaly::IncompatibleOrders]);
    check_anomalies(&["!a1:1", "r1[1]"], &[Anomaly::G1a]);
    // It did not see the second one either.
    check_anomalies(&["a1:1 a1:2", "r1[1]", "r1[1,2]"], &[Anomaly::G1b, Anomaly::GSingle]);
}

#[test]
fn transactions_see_themselves() {
    check_anomalies(&["a1:1 r1[]", "r1[1]"], &[Anomaly::Internal]);
    check_anomalies(&["a1:1", "r1[] r1[1]"], &[Anomaly::Internal, Anomaly::GSingle]);
    check_anomalies(&["a1:1", "a1:2 r1[1,2]"], &[]);
    // MySQL's REPEATABLE READ: the write is after another one's that the reads did not see.
    check_anomalies(&["a1:1", "r1[] a1:2 r1[1,2]"], &[Anomaly::Internal, Anomaly::GSingle]);
}

#[test]
fn cycles() {
    check_anomalies(&["a1:1 a2:2", "a1:2 a2:1", "r1[1,2] r2[1,2]"], &[Anomaly::G0]);
    check_anomalies(&["a1:1 r2[1]", "r1[1] a2:1"], &[Anomaly::G1c]);
    // It read one list before, and the other one after.
    check_anomalies(&["a1:1 a2:1", "r1[] r2[1]", "r1[1]"], &[Anomaly::GSingle]);
    // Two readers see two writers in different orders: no snapshots do.
    check_anomalies(&["a1:1", "a2:1", "r1[1] r2[]", "r2[1] r1[]"], &[Anomaly::GNonadjacent]);
    // Each writes what the other one did not see.
    check_anomalies(&["r1[] a2:1", "r2[] a1:1", "r1[1] r2[1]"], &[Anomaly::G2]);
}

#[test]
fn appends_that_are_in_no_later_read_are_lost() {
    let append = transaction(0, Outcome::Committed, "a1:1");
    let mut history = vec![append, transaction(5, Outcome::Committed, "r1[]")];
    assert_eq!(anomalies(&history, false), []);
    history.push(transaction(20, Outcome::Committed, "r1[]"));
    assert_eq!(anomalies(&history, false), [Anomaly::LostAppend]);
    // It was only not seen yet by those who read a copy that lags.
    history.push(transaction(40, Outcome::Committed, "r1[1]"));
    assert_eq!(anomalies(&history, false), []);
    let found = check(&history, true);
    assert!(found.iter().all(|found| found.in_real_time && found.anomaly == Anomaly::GSingle), "{found:?}");
    assert_eq!(found.len(), 1);
}

#[test]
fn what_only_the_moments_forbid() {
    let history = [transaction(0, Outcome::Committed, "r1[1]"), transaction(20, Outcome::Committed, "a1:1")];
    assert_eq!(anomalies(&history, false), []);
    let found = check(&history, true);
    assert_eq!((found.len(), found[0].anomaly, found[0].in_real_time), (1, Anomaly::G1c, true));
}

/// Random serial histories have nothing; so have those whose transactions only overlap.
#[test]
fn random_serial_histories_are_clean() {
    for seed in 1..200_u64 {
        let mut state = seed;
        let mut below = |n: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % n
        };
        let mut lists = vec![Vec::new(); 3];
        let mut history = Vec::new();
        for number in 0..40 {
            let mut one = transaction(number * 20, Outcome::Committed, "");
            for _ in 0..=below(4) {
                let list = below(3);
                if below(2) == 0 {
                    lists[list as usize].push(number * 100 + one.operations.len() as u64);
                    let element = *lists[list as usize].last().unwrap();
                    one.operations.push(Operation::Append { list, element });
                } else {
                    let elements = lists[list as usize].clone();
                    one.operations.push(Operation::Read { list, elements });
                }
            }
            history.push(one);
        }
        let found = check(&history, true);
        assert!(found.is_empty(), "seed {seed}: {found:?}");
    }
}
