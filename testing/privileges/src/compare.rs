//! Duramen's outcomes held against MySQL's.

use crate::cases::{Case, File};
use crate::run::{Cells, Matrix, Outcome};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// How an outcome stands to MySQL's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// The same.
    Equal,
    /// Both refuse it for want of a privilege, with different numbers.
    OtherNumber,
    /// This server refuses it to everybody.
    Unsupported,
    /// Both let the account pass; the statement's answer differs for another reason.
    OtherAnswer,
    /// MySQL asks for less.
    Stricter,
    /// MySQL asks for more.
    Laxer,
    /// There is nothing to compare it with.
    Unknown,
}

/// Errors for want of a privilege; 1356 is one that a view lacks.
const DENIED: &[u16] = &[
    1044, 1045, 1095, 1131, 1132, 1133, 1142, 1143, 1227, 1345, 1356, 1370, 1410, 1419, 1449, 1698, 3530,
    3619, 3879, 3891, 4006,
];

/// Not supported yet, a plugin's statement, a syntax that is none here.
const UNSUPPORTED: &[u16] = &[1235, 1064, 1289];

fn denied(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Error(number) if DENIED.contains(number))
}

/// How Duramen's outcome stands to MySQL's.
pub fn verdict(duramen: &Outcome, mysql: &Outcome) -> Verdict {
    if duramen == mysql {
        return Verdict::Equal;
    }
    if matches!(duramen, Outcome::Error(number) if UNSUPPORTED.contains(number)) {
        return Verdict::Unsupported;
    }
    match (denied(duramen), denied(mysql)) {
        (true, true) => Verdict::OtherNumber,
        (true, false) => Verdict::Stricter,
        (false, true) => Verdict::Laxer,
        (false, false) => rows(duramen, mysql),
    }
}

/// Rows that MySQL does not show are laxer; fewer are stricter. A count of none is no row.
fn rows(duramen: &Outcome, mysql: &Outcome) -> Verdict {
    let (Outcome::Done(Some(duramen)), Outcome::Done(Some(mysql))) = (duramen, mysql) else {
        return Verdict::OtherAnswer;
    };
    let set = |text: &str| {
        text.split('|')
            .filter(|row| !row.is_empty() && *row != "0")
            .map(str::to_owned)
            .collect::<BTreeSet<_>>()
    };
    let (duramen, mysql) = (set(duramen), set(mysql));
    if duramen.is_subset(&mysql) { Verdict::Stricter } else { Verdict::Laxer }
}

/// A case's cells of one verdict and pair of outcomes.
#[derive(Debug)]
pub struct Finding {
    /// Its text, as the case has it.
    pub statement: String,
    /// How they stand.
    pub verdict: Verdict,
    /// Duramen's outcome.
    pub duramen: Outcome,
    /// MySQL's.
    pub mysql: Option<Outcome>,
    /// Whose they are.
    pub sets: Vec<String>,
    /// Why it is so, if that is known.
    pub reason: Option<String>,
}

/// The figures, and what is not equal.
#[derive(Debug, Default)]
pub struct Summary {
    /// Cells by verdict.
    pub counts: BTreeMap<Verdict, usize>,
    /// Cases that were tried.
    pub cases: usize,
    /// All but the equal ones.
    pub findings: Vec<Finding>,
}

/// Compares a run with the kept cells of the same files.
pub fn compare(files: &[File], duramen: &Matrix, kept: &[Cells]) -> Summary {
    let mut summary = Summary::default();
    for ((file, ours), theirs) in files.iter().zip(&duramen.files).zip(kept) {
        summary.cases += file.cases.len();
        for (place, case) in file.cases.iter().enumerate() {
            let mut groups: BTreeMap<_, Vec<String>> = BTreeMap::new();
            for (key, outcome) in ours.range((place, 0)..(place + 1, 0)) {
                let mysql = theirs.get(key);
                let verdict = mysql.map_or(Verdict::Unknown, |mysql| verdict(outcome, mysql));
                *summary.counts.entry(verdict).or_default() += 1;
                if verdict != Verdict::Equal {
                    let group = (verdict, outcome.clone(), mysql.cloned());
                    groups.entry(group).or_default().push(duramen.sets[key.1].to_string());
                }
            }
            summary.findings.extend(groups.into_iter().map(|((verdict, duramen, mysql), sets)| Finding {
                statement: case.statement.clone(),
                verdict,
                duramen,
                mysql,
                sets,
                reason: reason(case, verdict),
            }));
        }
    }
    summary.findings.sort_by_key(|finding| std::cmp::Reverse(finding.verdict));
    summary
}

fn reason(case: &Case, verdict: Verdict) -> Option<String> {
    match verdict {
        Verdict::Stricter => case.stricter.clone(),
        Verdict::OtherAnswer | Verdict::OtherNumber => case.other.clone(),
        _ => None,
    }
}

impl Summary {
    /// Cells of a verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.counts.get(&verdict).copied().unwrap_or_default()
    }

    /// What must not be: laxer, unknown, and stricter or other answers without a reason.
    pub fn wrong(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| match finding.verdict {
            Verdict::Laxer | Verdict::Unknown => true,
            Verdict::Stricter | Verdict::OtherAnswer => finding.reason.is_none(),
            _ => false,
        })
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mysql = self.mysql.as_ref().map_or("not recorded".to_owned(), Outcome::to_string);
        write!(
            f,
            "{:?}: {}\n    Duramen {}, MySQL {mysql}\n    ",
            self.verdict, self.statement, self.duramen
        )?;
        match self.sets.len() {
            0..=8 => write!(f, "{}", self.sets.join("; "))?,
            many => write!(f, "{}; .. ({many})", self.sets[..8].join("; "))?,
        }
        match &self.reason {
            Some(reason) => write!(f, "\n    known: {reason}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all: usize = self.counts.values().sum();
        write!(
            f,
            "{} statements, {all} cells: {} equal to MySQL, {} refused with another number, {} not supported here, {} let \
             pass and answered otherwise, {} stricter, {} laxer, {} not recorded",
            self.cases,
            self.count(Verdict::Equal),
            self.count(Verdict::OtherNumber),
            self.count(Verdict::Unsupported),
            self.count(Verdict::OtherAnswer),
            self.count(Verdict::Stricter),
            self.count(Verdict::Laxer),
            self.count(Verdict::Unknown)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_mysql_allows_is_laxer() {
        let done = |rows: &str| Outcome::Done(Some(rows.to_owned()));
        let error = Outcome::Error;
        for (duramen, mysql, expected) in [
            (Outcome::Done(None), error(1142), Verdict::Laxer),
            (error(1146), error(1142), Verdict::Laxer),
            (error(1142), Outcome::Done(None), Verdict::Stricter),
            (error(1044), error(1142), Verdict::OtherNumber),
            (error(1235), error(1142), Verdict::Unsupported),
            (error(1146), Outcome::Done(None), Verdict::OtherAnswer),
            (done("a|b"), done("a"), Verdict::Laxer),
            (done("a"), done("a|b"), Verdict::Stricter),
            (done("a"), done("a"), Verdict::Equal),
        ] {
            assert_eq!(verdict(&duramen, &mysql), expected, "{duramen} {mysql}");
        }
    }
}
