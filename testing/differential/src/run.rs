//! A run: episode after episode until enough statements were compared.

use crate::Result;
use crate::answer::Answer;
use crate::definition::Differences;
use crate::generator::{self, Episodes, Statement};
use crate::known_differences::{self, Case, KnownDifference};
use crate::partition;
use crate::peers::Peers;
use crate::reduce::{reduce, reduce_alone};
use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, Instant};

/// How a run goes.
#[derive(Debug, Clone)]
pub struct Options {
    /// Statements to compare, about.
    pub statements: u64,
    /// What the episodes are drawn from.
    pub seed: u64,
    /// Runs this episode alone, by the seed that its finding printed.
    pub episode: Option<u64>,
    /// How long a finding is reduced.
    pub reduction: Duration,
    /// Findings after which the run ends.
    pub most: usize,
    /// Compares queries only, of tables that are filled once.
    pub queries_alone: bool,
    /// Tables have foreign keys.
    pub foreign_keys: bool,
    /// There are views, which are read and changed as tables are.
    pub views: bool,
    /// Tables have triggers.
    pub triggers: bool,
    /// There are stored functions and procedures.
    pub routines: bool,
    /// No episode begins later than this after the first.
    pub time: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            statements: 2_000,
            seed: 1,
            episode: None,
            reduction: Duration::from_secs(20),
            most: 20,
            queries_alone: false,
            foreign_keys: false,
            views: false,
            triggers: false,
            routines: false,
            time: Duration::MAX,
        }
    }
}

/// A difference that is not known.
#[derive(Debug)]
pub struct Finding {
    /// The seed of its episode.
    pub episode: u64,
    /// What is left of the episode; the last statement differs.
    pub script: Vec<Statement>,
    duramen: Answer,
    reference: Answer,
    mysql: Option<Answer>,
    /// The name of what Duramen was compared with.
    name: &'static str,
}

impl Finding {
    /// What its last statement is like, apart from names, numbers and texts: findings of one shape
    /// have one cause, mostly.
    fn shape(&self) -> String {
        self.script.last().map(shape).unwrap_or_default()
    }

    /// True if a MySQL was asked and answers as Duramen does: then a known difference is missing,
    /// and no code is wrong.
    pub fn mysql_agrees(&self) -> bool {
        let is_ordered = self.script.last().is_some_and(|s| s.is_ordered);
        self.mysql.as_ref().is_some_and(|mysql| self.duramen.agrees_with(mysql, is_ordered))
    }
}

fn shape(statement: &Statement) -> String {
    let sql = statement.sql.to_string();
    let without_texts: String = sql.split('\'').step_by(2).collect();
    without_texts.chars().filter(|c| !c.is_ascii_digit()).collect()
}

/// What a run came to.
#[derive(Debug, Default)]
pub struct Summary {
    /// Statements that both answered.
    pub compared: u64,
    /// Of these, those that both answered with errors.
    pub errors: u64,
    /// What Duramen refuses with 1235, by its message.
    pub unsupported: BTreeMap<String, u64>,
    /// How often each known difference was met.
    pub known: BTreeMap<&'static str, u64>,
    /// How definitions of columns and warnings differ.
    pub definitions: Differences,
    /// What is neither.
    pub findings: Vec<Finding>,
    /// More of them, of a shape that was found before.
    pub repeated: u64,
    /// Lines of Duramen's error log that report panics.
    pub panics: Vec<String>,
}

/// Runs episodes; `report` gets each finding when it is made.
pub fn run(peers: &mut Peers, options: &Options, mut report: impl FnMut(&Finding)) -> Result<Summary> {
    let mut summary = Summary::default();
    let mut seeds = stdx::random::Random::new(options.seed);
    let begun = Instant::now();
    while summary.compared < options.statements
        && summary.findings.len() < options.most
        && begun.elapsed() < options.time
    {
        let seed = options.episode.unwrap_or_else(|| seeds.next_u64());
        if let Some(finding) = episode(peers, seed, options, &mut summary)? {
            if summary.findings.iter().any(|f| f.shape() == finding.shape()) {
                summary.repeated += 1;
            } else {
                report(&finding);
                summary.findings.push(finding);
            }
        }
        if options.episode.is_some() {
            break;
        }
    }
    summary.panics = peers.panics()?;
    Ok(summary)
}

/// Runs an episode up to its end or its first finding.
fn episode(
    peers: &mut Peers,
    seed: u64,
    options: &Options,
    summary: &mut Summary,
) -> Result<Option<Finding>> {
    let what = Episodes {
        for_mysql: peers.is_mysql(),
        queries_alone: options.queries_alone,
        foreign_keys: options.foreign_keys,
        views: options.views,
        triggers: options.triggers,
        routines: options.routines,
    };
    let script = generator::episode(seed, what);
    peers.begin()?;
    for (i, statement) in script.iter().enumerate() {
        match compare(peers, statement) {
            Comparison::Unsupported(message) => {
                *summary.unsupported.entry(message).or_default() += 1;
                // What stood before the statement that is refused was done by one server alone.
                if statement.sql.to_string().starts_with("CALL") {
                    return Ok(None);
                }
            }
            Comparison::Same { is_error } => {
                if peers.how.with_definitions && !is_error {
                    let sql = statement.sql.to_string();
                    summary.definitions.add(peers.differences_of_definitions(&sql), &sql);
                }
                summary.compared += 1;
                summary.errors += u64::from(is_error);
            }
            Comparison::Known(known) => {
                summary.compared += 1;
                *summary.known.entry(known.name).or_default() += 1;
                // After a change that differs, so does the rest.
                if has_side_effects(statement) {
                    return Ok(None);
                }
            }
            // Those who fill the tables are another run's question.
            Comparison::Different { .. } if options.queries_alone && is_filling(statement) => {
                return Ok(None);
            }
            Comparison::Different { duramen, reference } => {
                summary.compared += 1;
                let kind = DifferenceKind::of(&duramen, &reference);
                let mut script = script[..=i].to_vec();
                if is_query(statement)
                    && kind != DifferenceKind::Lost
                    && let Some(last) = script.pop()
                {
                    // A query changes nothing, so that it is made simpler first, on what is there.
                    let still = |s: &Statement| difference_kind(compare(peers, s)) == Some(kind);
                    let last = reduce_alone(last, options.reduction, still);
                    if summary.findings.iter().any(|f| f.shape() == shape(&last)) {
                        summary.repeated += 1;
                        continue;
                    }
                    script.push(last);
                }
                let script = reduce(script, options.reduction, |script| differs(peers, script) == Some(kind));
                let (duramen, reference) = answers(peers, &script).unwrap_or((duramen, reference));
                let mysql = peers.judgement(&script);
                return Ok(Some(Finding {
                    episode: seed,
                    script,
                    duramen,
                    reference,
                    mysql,
                    name: peers.name(),
                }));
            }
        }
    }
    Ok(None)
}

enum Comparison {
    Same { is_error: bool },
    Unsupported(String),
    Known(&'static KnownDifference),
    Different { duramen: Answer, reference: Answer },
}

/// Runs a statement on both, unless Duramen refuses it.
fn compare(peers: &mut Peers, statement: &Statement) -> Comparison {
    let sql = statement.sql.to_string();
    peers.note(&sql);
    let duramen = peers.duramen(&statement.sql);
    if let Answer::Error { message, .. } = &duramen
        && duramen.is_unsupported()
    {
        return Comparison::Unsupported(message.clone());
    }
    let reference = peers.reference(&statement.sql);
    if let Answer::Error { message, .. } = &reference
        && reference.is_unsupported()
        && peers.is_mysql()
    {
        return Comparison::Unsupported(format!("by MySQL: {message}"));
    }
    if duramen.agrees_with(&reference, statement.is_ordered) {
        if let Some(contradiction) = partition::contradiction(&sql, |part| peers.duramen_text(part)) {
            return Comparison::Different { duramen: contradiction, reference };
        }
        return Comparison::Same { is_error: duramen.error().is_some() };
    }
    let case = Case {
        sql: &sql,
        is_ordered: statement.is_ordered,
        duramen: &duramen,
        reference: &reference,
        made: peers.made(),
    };
    match known_differences::find(&case, peers.is_mysql()) {
        Some(known) => Comparison::Known(known),
        None => Comparison::Different { duramen, reference },
    }
}

/// In what way answers differ; a reduction keeps to it, lest it end at another finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DifferenceKind {
    Rows,
    Affected,
    Errors(Option<u16>, Option<u16>),
    Lost,
}

impl DifferenceKind {
    fn of(duramen: &Answer, reference: &Answer) -> Self {
        match (duramen, reference) {
            (Answer::Rows(_), Answer::Rows(_)) => Self::Rows,
            (Answer::Done(_), Answer::Done(_)) => Self::Affected,
            (Answer::Lost(_), _) | (_, Answer::Lost(_)) => Self::Lost,
            _ if duramen.error().is_none() && reference.error().is_none() => Self::Rows,
            _ if duramen.error() == reference.error() => Self::Rows,
            _ => Self::Errors(duramen.error(), reference.error()),
        }
    }
}

/// How the last statement of a script differs, if it does and it is not known.
fn differs(peers: &mut Peers, script: &[Statement]) -> Option<DifferenceKind> {
    let (last, before) = script.split_last()?;
    peers.begin().ok()?;
    for statement in before {
        // What goes on from a change that differs is another finding.
        if matches!(compare(peers, statement), Comparison::Different { .. } | Comparison::Known(_))
            && has_side_effects(statement)
        {
            return None;
        }
    }
    difference_kind(compare(peers, last))
}

fn difference_kind(comparison: Comparison) -> Option<DifferenceKind> {
    match comparison {
        Comparison::Different { duramen, reference } => Some(DifferenceKind::of(&duramen, &reference)),
        _ => None,
    }
}

/// True for what makes and fills tables, and for queries of them as a whole.
fn is_filling(statement: &Statement) -> bool {
    !is_query(statement) || statement.sql.to_string().starts_with("SELECT * ")
}

/// True for what changes nothing. Functions that change tables have names of their own.
fn is_query(statement: &Statement) -> bool {
    let sql = statement.sql.to_string();
    (sql.starts_with("SELECT") || sql.starts_with("SHOW")) && !sql.contains(generator::CHANGING)
}

/// True for what changes tables or, as functions do, variables of the session.
fn has_side_effects(statement: &Statement) -> bool {
    let sql = statement.sql.to_string();
    !is_query(statement) || known_differences::calls_functions(&sql) || sql.contains(" fv")
}

fn answers(peers: &mut Peers, script: &[Statement]) -> Option<(Answer, Answer)> {
    let (last, before) = script.split_last()?;
    peers.begin().ok()?;
    for statement in before {
        compare(peers, statement);
    }
    match compare(peers, last) {
        Comparison::Different { duramen, reference } => Some((duramen, reference)),
        _ => None,
    }
}

/// The script, ready to be run in an empty database.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "-- episode {}", self.episode)?;
        for statement in &self.script {
            writeln!(f, "{};", statement.sql)?;
        }
        writeln!(f, "-- Duramen: {}\n-- {}: {}", self.duramen, self.name, self.reference)?;
        match &self.mysql {
            Some(mysql) if self.mysql_agrees() => writeln!(f, "-- MySQL answers as Duramen does: {mysql}"),
            Some(mysql) => writeln!(f, "-- MySQL: {mysql}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} statements compared, {} of them errors on both", self.compared, self.errors)?;
        let refused: u64 = self.unsupported.values().sum();
        writeln!(f, "{refused} refused by Duramen (1235, or no such function), and not run on the other:")?;
        let mut messages: Vec<_> = self.unsupported.iter().collect();
        messages.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        for (message, count) in messages {
            writeln!(f, "  {count:>8}  {message}")?;
        }
        writeln!(f, "known differences:")?;
        for (name, count) in &self.known {
            writeln!(f, "  {count:>8}  {name}")?;
        }
        let definitions = self.definitions.to_string();
        if !definitions.is_empty() {
            let (columns, warnings) = self.definitions.totals();
            writeln!(
                f,
                "{columns} differences of columns' definitions, {warnings} of warnings:\n{definitions}"
            )?;
        }
        for panic in &self.panics {
            writeln!(f, "panic: {panic}")?;
        }
        write!(f, "{} findings, and {} like them", self.findings.len(), self.repeated)
    }
}
