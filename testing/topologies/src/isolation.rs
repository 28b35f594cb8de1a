//! Which isolation anomalies a server has at each level, and whether they are those that the
//! documentation names.

use crate::appends::{self, Appends};
use crate::node::{Node, Spec};
use crate::{Options, Outcome, Result};
use histories::Anomaly;
use servers::ServerKind;
use std::collections::BTreeMap;
use std::thread;

/// The levels, and what a Duramen may show at each.
const LEVELS: [(&str, &[Anomaly]); 4] = [
    ("READ UNCOMMITTED", &OF_WEAK_LEVELS),
    ("READ COMMITTED", &OF_WEAK_LEVELS),
    ("REPEATABLE READ", &OF_WEAK_LEVELS),
    ("SERIALIZABLE", &[]),
];
/// Levels below SERIALIZABLE differ in how often these come about.
const OF_WEAK_LEVELS: [Anomaly; 4] =
    [Anomaly::Internal, Anomaly::GSingle, Anomaly::GNonadjacent, Anomaly::G2];
const SESSIONS: u64 = 12;

/// Runs each level for a quarter of the time. What a Duramen may not show, or shows only because
/// of the moments at SERIALIZABLE, is a finding; of other servers everything is only told.
pub fn run(kind: ServerKind, options: &Options) -> Outcome {
    let mut outcome = Outcome::default();
    if let Err(e) = levels(kind, options, &mut outcome) {
        outcome.findings.push(e.to_string());
    }
    outcome
}

fn levels(kind: ServerKind, options: &Options, outcome: &mut Outcome) -> Result<()> {
    for (level, allowed) in LEVELS {
        let spec = Spec {
            name: "server",
            kind,
            id: 61,
            for_mariadb: false,
            args: Vec::new(),
            binary: options.binary.clone(),
        };
        let node = Node::start(&options.folder, spec)?;
        appends::prepare(node.address()?)?;
        let sessions = Appends::start(vec![node.address()?.clone()], level, SESSIONS, options.seed);
        thread::sleep(options.time / LEVELS.len() as u32);
        let history = sessions.stop(node.address()?)?;
        let [committed, aborted, unknown] = history.counts();
        let found = history.check(level == "SERIALIZABLE");
        let mut counts: BTreeMap<Anomaly, u64> = BTreeMap::new();
        for one in &found {
            *counts.entry(one.anomaly).or_default() += 1;
        }
        let shown: Vec<String> =
            counts.iter().map(|(anomaly, count)| format!("{anomaly}: {count}")).collect();
        outcome.lines.push(format!(
            "{} at {level}: {committed} committed, {aborted} rolled back, {unknown} unknown; {}",
            kind.name(),
            if shown.is_empty() { "no anomaly".to_owned() } else { shown.join(", ") }
        ));
        for anomaly in counts.keys() {
            let example = found.iter().find(|one| one.anomaly == *anomaly);
            let text = example.map(|one| format!("{level}: {one}")).unwrap_or_default();
            if kind == ServerKind::Duramen && !allowed.contains(anomaly) {
                outcome.findings.push(text);
            } else {
                outcome.lines.push(text);
            }
        }
    }
    Ok(())
}
