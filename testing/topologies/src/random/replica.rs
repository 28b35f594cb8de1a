//! The replica's stops: why, about which database, and how it goes on.

use super::REFUSALS;
use super::sessions::Round;
use crate::node::{Node, Status, column};
use crate::{Outcome, Result};
use servers::ServerKind;
use std::collections::{BTreeMap, HashSet};
use std::thread;
use std::time::{Duration, Instant};

/// How long a round may take to be applied.
pub(super) const PATIENCE: Duration = Duration::from_secs(120);
/// So much of a reason is shown.
const SHOWN: usize = 700;

/// Why the replica stopped: how often each error was the first of a database, and an example.
#[derive(Debug, Default)]
pub(super) struct Reasons(BTreeMap<(u16, String), (u64, String)>);

impl Reasons {
    fn add(&mut self, number: u16, text: &str) {
        let example = || (0, text.to_owned());
        self.0.entry((number, shape(text))).or_insert_with(example).0 += 1;
    }

    /// Each reason in a line: those first that no lack explains.
    pub(super) fn report(&self, outcome: &mut Outcome) {
        let (lacks, others): (Vec<_>, Vec<_>) =
            self.0.iter().partition(|((number, _), _)| REFUSALS.contains(number));
        for (what, reasons) in [("another error", others), ("a lack", lacks)] {
            let databases: u64 = reasons.iter().map(|(_, (count, _))| count).sum();
            outcome.lines.push(format!("in {databases} databases {what} stopped it first:"));
            for ((number, _), (count, example)) in reasons {
                let short: String = example.chars().take(SHOWN).collect();
                outcome.lines.push(format!("{count} x {number}: {short}"));
            }
        }
    }
}

/// The words of the reason alone, without names and numbers.
fn shape(text: &str) -> String {
    let reason = text.split_once("; ").map_or(text, |(_, reason)| reason);
    let reason = reason.split_once(" on query").map_or(reason, |(reason, _)| reason);
    reason.chars().filter(|c| !c.is_ascii_digit()).take(150).collect()
}

/// Waits until the replica has done, or skipped, all that the source did. The databases in which
/// something was skipped.
pub(super) fn await_round(
    source: &Node,
    replica: &Node,
    round: &Round,
    reasons: &mut Reasons,
) -> Result<HashSet<String>> {
    let mut tainted = HashSet::new();
    let end = End::of(source)?;
    // Since it was seen to do something.
    let mut begun = Instant::now();
    loop {
        let status = replica.statuses()?.pop().ok_or("the replica follows nobody any more")?;
        let (number, text) = (column(&status, "Last_SQL_Errno").parse()?, column(&status, "Last_SQL_Error"));
        if number != 0 {
            let named: Vec<&String> = round.databases.iter().filter(|name| is_named(text, name)).collect();
            let named = if named.is_empty() { round.databases.iter().collect() } else { named };
            if named.iter().any(|name| !tainted.contains(*name)) {
                reasons.add(number, text);
            }
            tainted.extend(named.into_iter().cloned());
            end.skip(replica)?;
            begun = Instant::now();
        } else if end.is_reached(replica, &status)? {
            return Ok(tainted);
        } else if column(&status, "Replica_SQL_Running") != "Yes" {
            return Err(format!("the applier stopped without an error: {status:?}").into());
        } else if begun.elapsed() > PATIENCE {
            return Err(format!("the replica hangs: {status:?}").into());
        } else {
            thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Leaves out the transaction at which the witness has stopped; true if it had. Options make it
/// pass over most errors, not over those that its engine makes of a commit.
pub(super) fn pass_stop(source: &Node, witness: &Node) -> Result<bool> {
    let status = witness.statuses()?.pop().ok_or("the witness follows nobody any more")?;
    let has_stopped = column(&status, "Last_SQL_Errno") != "0";
    if has_stopped {
        End::of(source)?.skip(witness)?;
    }
    Ok(has_stopped)
}

/// Waits until the witness has done all that the source did, but for transactions at which it
/// stops.
pub(super) fn await_witness(source: &Node, witness: &Node) -> Result<()> {
    let begun = Instant::now();
    loop {
        let waited = witness.await_source(source, PATIENCE);
        if waited.is_ok() || begun.elapsed() > PATIENCE || !pass_stop(source, witness)? {
            return waited;
        }
    }
}

/// Whether an error's text is about a database.
fn is_named(text: &str, database: &str) -> bool {
    // `r1` is not in `r12`.
    text.match_indices(database).any(|(at, name)| {
        let next = text[at + name.len()..].chars().next();
        let before = text[..at].chars().next_back();
        !next.is_some_and(|c| c.is_ascii_alphanumeric()) && !before.is_some_and(|c| c.is_ascii_alphanumeric())
    })
}

/// Where the source's log ends.
enum End {
    Gtids(String),
    Position(Vec<String>),
}

impl End {
    fn of(source: &Node) -> Result<Self> {
        if source.kind() == ServerKind::MariaDb {
            let end = source.sql("SHOW MASTER STATUS")?;
            return Ok(Self::Position(end.split('\t').take(2).map(str::to_owned).collect()));
        }
        Ok(Self::Gtids(source.executed()?))
    }

    fn is_reached(&self, replica: &Node, status: &Status) -> Result<bool> {
        match self {
            Self::Position(end) => {
                Ok([column(status, "Relay_Source_Log_File"), column(status, "Exec_Source_Log_Pos")]
                    == end[..])
            }
            Self::Gtids(all) => {
                let subset = format!("SELECT GTID_SUBSET('{all}', @@GLOBAL.gtid_executed)");
                Ok(replica.sql(&subset)? == "1")
            }
        }
    }

    /// Leaves out the transaction that the applier stopped at.
    fn skip(&self, replica: &Node) -> Result<()> {
        match self {
            Self::Position(_) if replica.kind() == ServerKind::MariaDb => {
                replica.sql("STOP SLAVE; SET GLOBAL sql_slave_skip_counter = 1; START SLAVE")?;
            }
            Self::Position(_) => {
                replica.sql("STOP REPLICA; SET GLOBAL sql_replica_skip_counter = 1; START REPLICA")?;
            }
            Self::Gtids(all) => {
                let missing = format!("SELECT GTID_SUBTRACT('{all}', @@GLOBAL.gtid_executed)");
                let missing = replica.sql(&missing)?;
                let (source, numbers) = missing.split_once(':').ok_or("nothing is missing")?;
                let first = numbers.split(['-', ':', ',']).next().unwrap_or_default();
                replica.sql(&format!(
                    "STOP REPLICA; SET gtid_next = '{source}:{first}'; BEGIN; COMMIT; SET gtid_next = AUTOMATIC; START REPLICA"
                ))?;
            }
        }
        Ok(())
    }
}
