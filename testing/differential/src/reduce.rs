//! Making a finding small: as few statements as differ still, each as simple as it can be.

use crate::generator::Statement;
use std::time::{Duration, Instant};

/// Drops statements, then simplifies those that are left, while `differs` says that the last one
/// still differs. Stops when nothing can go any more, or when the time is up.
pub fn reduce(
    script: Vec<Statement>,
    time: Duration,
    mut differs: impl FnMut(&[Statement]) -> bool,
) -> Vec<Statement> {
    let until = Instant::now() + time;
    let mut script = drop_statements(script, until, &mut differs);
    // From the end: what the last statement does without, others need not make.
    for i in (0..script.len()).rev() {
        simplify(&mut script, i, until, &mut differs);
    }
    drop_statements(script, until, &mut differs)
}

/// Makes one statement simpler where nothing before it need run again; `differs` says whether it
/// still differs.
pub fn reduce_alone(
    statement: Statement,
    time: Duration,
    mut differs: impl FnMut(&Statement) -> bool,
) -> Statement {
    let mut script = [statement];
    simplify(&mut script, 0, Instant::now() + time, &mut |script| differs(&script[0]));
    let [statement] = script;
    statement
}

/// Leaves out runs of statements, long ones first; never the last.
fn drop_statements(
    mut script: Vec<Statement>,
    until: Instant,
    differs: &mut impl FnMut(&[Statement]) -> bool,
) -> Vec<Statement> {
    let mut run = script.len() / 2;
    while run > 0 {
        let mut at = 0;
        while at + run < script.len() && Instant::now() < until {
            let shorter = [&script[..at], &script[at + run..]].concat();
            if differs(&shorter) {
                script = shorter;
            } else {
                at += run;
            }
        }
        run /= 2;
    }
    script
}

/// Takes one step after the other in statement `i`.
fn simplify(
    script: &mut [Statement],
    i: usize,
    until: Instant,
    differs: &mut impl FnMut(&[Statement]) -> bool,
) {
    'step: loop {
        for simpler in script[i].sql.simpler() {
            if Instant::now() >= until {
                return;
            }
            let old = std::mem::replace(&mut script[i].sql, simpler);
            if differs(script) {
                continue 'step;
            }
            script[i].sql = old;
        }
        return;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::{commas, sql, text};

    #[test]
    fn what_matters_is_left() {
        let statement = |s: crate::tree::Sql| Statement { sql: s, is_ordered: false };
        let mut script: Vec<_> = (0..40).map(|i| statement(text(format!("noise {i}")))).collect();
        script[17] = statement(sql("make {}", [commas((0..9).map(|i| text(format!("t{i}"))).collect())]));
        script.push(statement(sql("ask {}", [commas((0..9).map(|i| text(format!("c{i}"))).collect())])));
        let left = reduce(script, Duration::from_secs(10), |script| {
            let all: Vec<_> = script.iter().map(|s| s.sql.to_string()).collect();
            all.iter().any(|s| s.starts_with("make") && s.contains("t4"))
                && all.last().is_some_and(|s| s.contains("c7"))
        });
        let left: Vec<_> = left.iter().map(|s| s.sql.to_string()).collect();
        assert_eq!(left, ["make t4", "ask c7"]);
    }
}
