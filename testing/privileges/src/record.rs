//! What a MySQL answered, kept in files: for each case its outcomes, and by which sets.
//!
//! ```text
//! = SELECT v FROM pa.t
//! 1142
//! ok: SELECT; SELECT@pa; all; all but *
//! ```
//! The first line without sets is the outcome of all that are not named. `all but *` stands for all
//! but each that no line names. Who is not tried is not in it: [`crate::run`] knows whom a case
//! spares.

use crate::Result;
use crate::cases::File;
use crate::run::{Cells, Matrix, Outcome};
use crate::sets::Set;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// What is kept of one case.
#[derive(Debug, Default)]
pub struct RecordedCase {
    otherwise: Option<Outcome>,
    all_but: Option<Outcome>,
    named: BTreeMap<String, Outcome>,
}

impl RecordedCase {
    /// The outcome that is kept for a set.
    pub fn outcome(&self, set: &Set) -> Option<&Outcome> {
        let of_family = if matches!(set, Set::AllBut(_)) { self.all_but.as_ref() } else { None };
        self.named.get(&set.to_string()).or(of_family).or(self.otherwise.as_ref())
    }
}

/// Writes the matrix, a file for each file of cases.
pub fn write(folder: &Path, files: &[File], matrix: &Matrix, of: &str) -> Result<()> {
    fs::create_dir_all(folder)?;
    for (file, cells) in files.iter().zip(&matrix.files) {
        let mut out = format!("# Recorded with {of}.\n");
        for (place, case) in file.cases.iter().enumerate() {
            let mine: Vec<_> = cells.range((place, 0)..(place + 1, 0)).collect();
            let _ = writeln!(out, "\n= {}", case.statement);
            out += &one(&mine, &matrix.sets);
        }
        fs::write(folder.join(format!("{}.txt", file.name)), out)?;
    }
    Ok(())
}

fn one(cells: &[(&(usize, usize), &Outcome)], sets: &[Set]) -> String {
    let is_all_but = |number: usize| matches!(sets[number], Set::AllBut(_));
    let of = |wanted: bool| cells.iter().filter(move |((_, set), _)| is_all_but(*set) == wanted);
    let otherwise = most_frequent(of(false).map(|(_, o)| *o));
    let all_but = most_frequent(of(true).map(|(_, o)| *o));
    let mut named: BTreeMap<&Outcome, Vec<String>> = BTreeMap::new();
    for ((_, set), outcome) in cells.iter().copied() {
        let usual = if is_all_but(*set) { all_but } else { otherwise };
        if usual != Some(outcome) {
            named.entry(outcome).or_default().push(sets[*set].to_string());
        }
    }
    if let Some(outcome) = all_but {
        named.entry(outcome).or_default().push("all but *".to_owned());
    }
    let mut out = String::new();
    if let Some(outcome) = otherwise {
        let _ = writeln!(out, "{outcome}");
    }
    for (outcome, sets) in named {
        let _ = writeln!(out, "{outcome}: {}", sets.join("; "));
    }
    out
}

fn most_frequent<'o>(outcomes: impl Iterator<Item = &'o Outcome>) -> Option<&'o Outcome> {
    let mut counts: BTreeMap<&Outcome, usize> = BTreeMap::new();
    outcomes.for_each(|outcome| *counts.entry(outcome).or_default() += 1);
    counts.into_iter().max_by_key(|(_, count)| *count).map(|(outcome, _)| outcome)
}

/// What is kept for a file of cases, by statement.
pub fn read(folder: &Path, name: &str) -> Result<BTreeMap<String, RecordedCase>> {
    let path = folder.join(format!("{name}.txt"));
    let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let mut all: BTreeMap<String, RecordedCase> = BTreeMap::new();
    let mut statement = None;
    for line in text.lines().filter(|l| !l.is_empty() && !l.starts_with('#')) {
        if let Some(of) = line.strip_prefix("= ") {
            all.insert(of.to_owned(), RecordedCase::default());
            statement = Some(of);
            continue;
        }
        let recorded = statement.and_then(|of| all.get_mut(of)).ok_or("an outcome before any statement")?;
        match line.rsplit_once(": ") {
            None => recorded.otherwise = Some(Outcome::parse(line)?),
            Some((outcome, sets)) => {
                let outcome = Outcome::parse(outcome)?;
                for set in sets.split("; ") {
                    match set {
                        "all but *" => recorded.all_but = Some(outcome.clone()),
                        set => {
                            recorded.named.insert(set.to_owned(), outcome.clone());
                        }
                    }
                }
            }
        }
    }
    Ok(all)
}

/// The cells that are kept, as a run of the same files gives them.
pub fn cells(folder: &Path, file: &File, like: &Cells, sets: &[Set]) -> Result<Cells> {
    let recorded = read(folder, &file.name)?;
    let mut cells = Cells::new();
    for &(place, set) in like.keys() {
        let case = &file.cases[place];
        let outcome = recorded.get(&case.statement).and_then(|recorded| recorded.outcome(&sets[set]));
        if let Some(outcome) = outcome {
            cells.insert((place, set), outcome.clone());
        }
    }
    Ok(cells)
}
