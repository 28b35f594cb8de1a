//! Batch after batch; what fails is narrowed down to one case and the statements that it takes.

use crate::batch::{Case, Counts, Failure, Statement, TestBed, Verdict, draw, draws, examine, replay};
use crate::reduce::reduce;
use crate::{Result, batch};
use std::collections::BTreeSet;
use std::fmt;
use std::time::{Duration, Instant};

/// How a run goes.
#[derive(Debug, Clone)]
pub struct Options {
    /// Cases draw from this and their number.
    pub seed: u64,
    /// The first case's number.
    pub first: u64,
    /// Ends the run when so many definitions were accepted.
    pub definitions: u64,
    /// Ends the run after this time.
    pub time: Duration,
    /// Cases in a batch.
    pub batch: u64,
    /// Findings after which the run ends.
    pub most: usize,
    /// How often a finding's statements are run again to make them fewer.
    pub attempts: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            seed: 1,
            first: 1,
            definitions: 10_000,
            time: Duration::from_secs(3600),
            batch: 200,
            most: 10,
            attempts: 150,
        }
    }
}

/// A case that the server didn't keep, and how to see it.
#[derive(Debug)]
pub struct Finding {
    /// The case's number.
    pub case: u64,
    /// What happened, and the script.
    pub text: String,
}

/// What a run came to.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Cases that ran.
    pub cases: u64,
    /// Tables, functions, accounts and databases that were compared.
    pub compared: u64,
    /// Rows in these tables, together.
    pub rows: u64,
    /// Statements.
    pub counts: Counts,
    /// What must not be.
    pub findings: Vec<Finding>,
}

/// Runs batches until one of the bounds is met; `report` gets each finding at once.
pub fn run(test_bed: &TestBed, options: &Options, mut report: impl FnMut(&Finding)) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let until = Instant::now() + options.time;
    let mut next = options.first;
    while outcome.counts.definitions < options.definitions
        && Instant::now() < until
        && outcome.findings.len() < options.most
    {
        let cases = one_batch(test_bed, options, next, &mut outcome, &mut report)?;
        for case in &cases {
            outcome.counts.add(case);
        }
        outcome.cases += cases.len() as u64;
        next += options.batch;
    }
    Ok(outcome)
}

fn one_batch(
    test_bed: &TestBed,
    options: &Options,
    first: u64,
    outcome: &mut Outcome,
    report: &mut impl FnMut(&Finding),
) -> Result<Vec<Case>> {
    let server = test_bed.start()?;
    let mut cases = Vec::new();
    for number in first..first + options.batch {
        match draw(&server, options.seed, number) {
            Ok(case) => cases.push(case),
            Err(e) => {
                let finding = Finding { case: number, text: format!("case {number} broke off: {e}") };
                report(&finding);
                outcome.findings.push(finding);
                return Ok(cases);
            }
        }
    }
    let drawn = drawn(cases.iter());
    let verdict = examine(test_bed, server, &drawn)?;
    outcome.compared += verdict.snapshot.definitions();
    outcome.rows += verdict.snapshot.rows();
    if verdict.failures.is_empty() {
        return Ok(cases);
    }
    let mut suspects: Vec<&Case> = Vec::new();
    let mut changed: Vec<u64> = verdict.failures.iter().flat_map(Failure::cases).collect();
    changed.sort_unstable();
    changed.dedup();
    suspects.extend(cases.iter().filter(|case| changed.contains(&case.number)));
    if verdict.failures.iter().any(|failure| matches!(failure, Failure::NoStart(..))) {
        suspects.extend(unstartable(test_bed, cases.iter().collect())?);
    }
    suspects.dedup_by_key(|case| case.number);
    if suspects.is_empty() {
        let text = format!("no case alone does it: {:#?}", verdict.failures);
        let finding = Finding { case: first, text };
        report(&finding);
        outcome.findings.push(finding);
    }
    for case in suspects {
        let finding = reduced(test_bed, options, case, &verdict)?;
        report(&finding);
        outcome.findings.push(finding);
        if outcome.findings.len() >= options.most {
            break;
        }
    }
    Ok(cases)
}

/// The cases whose counters may come back lower after a kill.
fn drawn<'a>(cases: impl IntoIterator<Item = &'a Case>) -> BTreeSet<u64> {
    cases.into_iter().filter(|case| draws(&case.statements)).map(|case| case.number).collect()
}

/// The cases after which a server doesn't start, by halves.
fn unstartable<'a>(test_bed: &TestBed, cases: Vec<&'a Case>) -> Result<Vec<&'a Case>> {
    let server = test_bed.start()?;
    for case in &cases {
        replay(&server, &case.statements)?;
    }
    let verdict = examine(test_bed, server, &drawn(cases.iter().copied()))?;
    if !verdict.failures.iter().any(|failure| matches!(failure, Failure::NoStart(..))) {
        return Ok(Vec::new());
    }
    if let [_] = cases[..] {
        return Ok(cases);
    }
    let (left, right) = cases.split_at(cases.len() / 2);
    let mut found = unstartable(test_bed, left.to_vec())?;
    found.extend(unstartable(test_bed, right.to_vec())?);
    Ok(found)
}

/// Reports a case that fails, reduced to what it takes.
fn reduced(test_bed: &TestBed, options: &Options, case: &Case, of_batch: &Verdict) -> Result<Finding> {
    let examined = |statements: &[Statement]| -> Result<Verdict> {
        let server = test_bed.start()?;
        match replay(&server, statements) {
            Ok(()) => examine(test_bed, server, &drawn([case])),
            Err(e) => Ok(Verdict { failures: vec![Failure::Broke(e.to_string())], ..Verdict::default() }),
        }
    };
    let accepted: Vec<Statement> = case.statements.iter().filter(|s| s.refused.is_none()).cloned().collect();
    let (mut statements, mut verdict) = (accepted, Verdict::default());
    if options.attempts > 0 {
        verdict = examined(&statements)?;
        if verdict.failures.is_empty() {
            statements.clone_from(&case.statements);
            verdict = examined(&statements)?;
        }
        if !verdict.failures.is_empty() {
            statements =
                reduce(statements, options.attempts, &mut |fewer| Ok(!examined(fewer)?.failures.is_empty()))?;
            verdict = examined(&statements)?;
        }
    }
    let (how, failed) = if verdict.failures.is_empty() {
        (" (as its batch showed it)", &of_batch.failures)
    } else {
        ("", &verdict.failures)
    };
    let script: String = statements.iter().map(|s| format!("{};\n", s.sql)).collect();
    let (number, seed) = (case.number, options.seed);
    let text = format!("--seed {seed} --case {number}{how}:\n{script}{}", failures(failed, number));
    Ok(Finding { case: number, text })
}

fn failures(all: &[Failure], case: u64) -> String {
    let mut out = String::new();
    for failure in all {
        match failure {
            Failure::Broke(text) => out += &format!("== broke off: {text}\n"),
            Failure::NoStart(route, text) => out += &format!("== {route:?}: no start: {text}\n"),
            Failure::Changed(route, differences) => {
                for difference in differences.iter().filter(|d| d.case == case) {
                    out += &format!("== {route:?}: {}", difference.text);
                }
            }
        }
    }
    out
}

impl batch::Failure {
    /// The cases that it names.
    fn cases(&self) -> Vec<u64> {
        match self {
            Failure::Changed(_, differences) => differences.iter().map(|d| d.case).collect(),
            _ => Vec::new(),
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = &self.counts;
        writeln!(f, "{} cases, {} statements accepted", self.cases, counts.accepted)?;
        writeln!(
            f,
            "{} definitions accepted, {} refused; {} things and {} rows compared",
            counts.definitions, counts.refused_definitions, self.compared, self.rows
        )?;
        let mut refused: Vec<_> = counts.refused.iter().collect();
        refused.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
        for ((number, _), (count, example)) in refused {
            writeln!(f, "  {count} times {number}: {}", example.chars().take(160).collect::<String>())?;
        }
        for refused in &counts.read_back {
            let shown: String = refused.chars().take(400).collect();
            writeln!(f, "refused, for it reads back as something else: {shown}")?;
        }
        write!(f, "{} findings", self.findings.len())
    }
}
