//! Random statements on a source, and a Duramen that follows it: its tables are equal, or it stops
//! with an error that names what it lacks.
//!
//! 1. In each round some sessions, side by side, each run an episode of the differential tester, a
//!    case of the definition generator, or what applications say, in a database of its own.
//! 2. The replica gets the time to apply all of it. Where it stops, the reason is noted, the
//!    transaction is skipped, and what comes later about the same database is no longer of
//!    interest. The report has the first reasons, and which of them are not [`REFUSALS`].
//! 3. The other databases are compared: rows, names and order of columns, and which views,
//!    triggers, routines and events there are. Where one differs, a replica of the source's own
//!    kind is asked: where both replicas are the same, the source's log says so. Then all are
//!    dropped.

mod application;
mod replica;
mod sessions;
mod tables;

use crate::node::{Node, Spec};
use crate::{Options, Outcome, Result};
use followers::await_that;
use replica::{Reasons, await_round, await_witness, pass_stop};
use servers::ServerKind;
use sessions::Round;
use std::time::{Duration, Instant};

/// What a Duramen stops with that lacks something: not supported, an unknown character set,
/// collation or engine, other types (MariaDB's JSON), an event that is not known, an unknown
/// authentication plugin, characters that a name can't have (MySQL writes `?` for them), deep
/// nesting.
pub const REFUSALS: [u16; 11] = [1235, 1115, 1273, 1286, 1677, 1594, 1524, 3675, 1300, 3854, 1436];

/// Findings after which a run ends.
const MOST: usize = 30;

/// Runs random statements on a source of this kind until the time is over.
pub fn run(kind: ServerKind, options: &Options) -> Outcome {
    let mut outcome = Outcome::default();
    if let Err(e) = rounds(kind, options, &mut outcome) {
        outcome.findings.push(e.to_string());
    }
    outcome
}

/// What a difference is about: a table, or definitions.
fn subject(difference: &str) -> &str {
    difference.lines().next().unwrap_or_default().split(": ").next().unwrap_or_default()
}

fn rounds(kind: ServerKind, options: &Options, outcome: &mut Outcome) -> Result<()> {
    let of_source = match kind {
        ServerKind::MariaDb => vec!["--binlog-format=MIXED".to_owned(), "--event-scheduler=OFF".to_owned()],
        _ => vec!["--event-scheduler=OFF".to_owned()],
    };
    let spec = |name, kind, id, args| Spec {
        name,
        kind,
        id,
        for_mariadb: false,
        args,
        binary: options.binary.clone(),
    };
    // A function that the source took is taken here, too.
    let of_replica =
        ["--event-scheduler=OFF", "--log-bin-trust-function-creators=ON"].map(str::to_owned).to_vec();
    let source = Node::start(&options.folder, spec("source", kind, 51, of_source))?;
    let mut replica = Node::start(&options.folder, spec("replica", ServerKind::Duramen, 52, of_replica))?;
    replica.follow(&source, "")?;
    let of_witness = vec!["--slave-skip-errors=all".to_owned(), "--event-scheduler=OFF".to_owned()];
    let mut witness = Node::start(&options.folder, spec("witness", kind, 53, of_witness))?;
    witness.follow(&source, "")?;
    let mut rounds =
        Rounds { source, replica, witness, reasons: Reasons::default(), statements: [0; 2], compared: 0 };
    let (begun, mut number, mut crashes) = (Instant::now(), 0, 0);
    while begun.elapsed() < options.time && outcome.findings.len() < MOST {
        match rounds.round(kind, options.seed, number, outcome) {
            // Random statements crash a MySQL now and then; what it has committed counts.
            Err(_) if kind != ServerKind::Duramen && has_crashed(&mut rounds.source)? => {
                rounds.source.kill()?;
                rounds.source.restart()?;
                crashes += 1;
            }
            outcome => outcome?,
        }
        number += 1;
    }
    let Rounds { replica, reasons, statements, compared, .. } = rounds;
    outcome.lines.push(format!(
        "{number} rounds, {} statements, {} of them refused by the source; {compared} databases compared; the source crashed {crashes} times",
        statements[0], statements[1]
    ));
    reasons.report(outcome);
    let panics = replica.server()?.messages()?;
    outcome.findings.extend(panics.lines().filter(|line| line.contains("panick")).map(str::to_owned));
    Ok(())
}

/// Whether a server is down; its clients notice that before it has ended.
fn has_crashed(server: &mut Node) -> Result<bool> {
    let ended = await_that("its end", Duration::from_secs(2), || Ok(!server.is_up()?));
    Ok(ended.is_ok() || !server.is_up()?)
}

/// The servers, and what was counted.
struct Rounds {
    source: Node,
    replica: Node,
    witness: Node,
    reasons: Reasons,
    /// Those that were run, and those of them that the source refused.
    statements: [u64; 2],
    /// Databases.
    compared: usize,
}

impl Rounds {
    /// Runs statements on the source, and compares what the replica has of them.
    fn round(&mut self, kind: ServerKind, seed: u64, number: u64, outcome: &mut Outcome) -> Result<()> {
        let Self { source, replica, witness, .. } = self;
        pass_stop(source, witness)?;
        let round = Round::run(source, kind, seed, number)?;
        self.statements[0] += round.statements;
        self.statements[1] += round.refused;
        let tainted = await_round(source, replica, &round, &mut self.reasons)?;
        for database in round.databases.iter().filter(|database| !tainted.contains(*database)) {
            self.compared += 1;
            let found = tables::differences(source, replica, database)?;
            if found.is_empty() {
                continue;
            }
            let named = |text| format!("round {number}, {database}: {text}");
            // Where the witness does not come so far, nobody else is like the replica.
            let unlike_witness = match await_witness(source, witness) {
                Ok(()) => tables::differences(witness, replica, database)?,
                Err(_) => found.clone(),
            };
            let (own, shared) = found.into_iter().partition::<Vec<_>, _>(|text| {
                unlike_witness.iter().any(|other| subject(other) == subject(text))
            });
            let at_both = |text| format!("a {} replica has it, too: {}", kind.name(), named(text));
            outcome.lines.extend(shared.into_iter().map(at_both));
            for finding in own.into_iter().map(named) {
                eprintln!("{finding}\n");
                outcome.findings.push(finding);
            }
        }
        round.drop_databases(source)?;
        await_round(source, replica, &round, &mut Reasons::default()).map(drop)
    }
}
