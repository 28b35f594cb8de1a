//! What was found in a schema, as lines and as one JSON object.

use super::trial::Warning;
use crate::repair::report::{array, object, quoted};
use crate::script::SourcePlace;
use sql::SqlError;
use std::fmt::Write as _;

/// So many bytes of a statement are shown.
const SHOWN_MAX: usize = 100;

/// How a statement fares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is taken, and means something else than in MySQL.
    Differs,
    /// A client would see the error.
    Refused,
    /// It needs what another statement could not make.
    Follows,
}

impl Verdict {
    fn word(self) -> &'static str {
        match self {
            Verdict::Differs => "differs",
            Verdict::Refused => "refused",
            Verdict::Follows => "refused behind another",
        }
    }
}

/// One thing to know before the schema is loaded.
#[derive(Debug)]
pub(super) struct Finding {
    place: SourcePlace,
    verdict: Verdict,
    /// The statement, or the part of it that is meant.
    statement: String,
    error: u16,
    text: String,
    way_out: Option<String>,
}

impl Finding {
    pub(super) fn refused(place: SourcePlace, statement: &[u8], e: &SqlError) -> Finding {
        let way_out = way_out(e.number, &e.message).map(str::to_owned);
        let (statement, text) = (shown(statement), e.message.clone());
        Finding { place, verdict: Verdict::Refused, statement, error: e.number, text, way_out }
    }

    pub(super) fn follows(
        place: SourcePlace,
        statement: &[u8],
        e: &SqlError,
        first: &SourcePlace,
    ) -> Finding {
        let way_out = Some(format!("what it needs is refused in {first}"));
        let (statement, text) = (shown(statement), e.message.clone());
        Finding { place, verdict: Verdict::Follows, statement, error: e.number, text, way_out }
    }

    pub(super) fn differs(place: SourcePlace, statement: &[u8], warning: &Warning) -> Finding {
        let way_out = way_out(warning.number, &warning.message).map(str::to_owned);
        let (statement, text) = (shown(statement), warning.message.clone());
        Finding { place, verdict: Verdict::Differs, statement, error: warning.number, text, way_out }
    }

    /// The same, refused.
    pub(super) fn refuse(self) -> Finding {
        Finding { verdict: Verdict::Refused, ..self }
    }
}

/// The beginning of a text, on one line.
fn shown(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ").replace(char::is_control, " ");
    match line.len() > SHOWN_MAX {
        true => format!("{} ..", &line[..line.floor_char_boundary(SHOWN_MAX)]),
        false => line,
    }
}

/// What a person can do about an error; of several that fit the first counts.
const WAYS_OUT: [(u16, &str, &str); 19] = [
    (
        1235,
        "partition",
        "leave the partitions out: rows and queries are the same; DROP PARTITION becomes a DELETE",
    ),
    (
        1235,
        "FULLTEXT",
        "leave the index out; MATCH .. AGAINST is refused too: search with LIKE, or beside the database",
    ),
    (1235, "SPATIAL", "leave the index out; there are no spatial types: keep coordinates in DOUBLE columns"),
    (1235, "spatial", "there are no spatial types: keep coordinates in DOUBLE columns, or WKB in a BLOB"),
    (
        1235,
        "ENGINE=",
        "an ordinary table would hold other rows than that engine's: leave the table out, or make it InnoDB",
    ),
    (1235, "roles", "grant the role's privileges to its users"),
    (1235, "privileges on single", "grant the privileges on the database"),
    (1235, "VIRTUAL column", "make it STORED, or let it not depend on a TIMESTAMP"),
    (1235, "", "docs/what-is-missing.md has what can't be done yet"),
    (1101, "", "put the default into parentheses: it is an expression then"),
    (1064, "near 'uuid", "there is no type uuid: make it CHAR(36) at the MariaDB first"),
    (1064, "near 'inet", "there are no types of addresses: make it VARCHAR(43) at the MariaDB first"),
    (1273, "", "name another collation: 'SHOW COLLATION' lists them; utf8mb4_0900_ai_ci is MySQL's default"),
    (1115, "", "utf8mb4 holds every character: take it for the column or table"),
    (1286, "", "leave ENGINE out, or say InnoDB"),
    (1075, "", "let the AUTO_INCREMENT column be the first of a key; MyISAM alone counts in a second one"),
    (1067, "", "zero dates need an sql_mode without NO_ZERO_DATE and NO_ZERO_IN_DATE, as in MySQL"),
    (
        1418,
        "",
        "SET GLOBAL log_bin_trust_function_creators = ON for the time of loading, or say DETERMINISTIC",
    ),
    (
        1266,
        "",
        "docs/differences-to-mysql.md tells what a program may notice, under 'Tables of other engines'",
    ),
];

fn way_out(number: u16, message: &str) -> Option<&'static str> {
    let fits = |(error, part, _): &&(u16, &str, &'static str)| *error == number && message.contains(part);
    WAYS_OUT.iter().find(fits).map(|(_, _, way)| *way)
}

/// All findings of a script.
#[derive(Debug)]
pub(crate) struct Report {
    name: String,
    findings: Vec<Finding>,
    /// Statements that were tried, and those about rows.
    pub(super) tried: u64,
    pub(super) not_tried: u64,
    /// Files that the script includes, with the lines that name them.
    pub(super) not_read: Vec<(u64, String)>,
    /// Objects of a server whose definitions it does not show, with the reason.
    pub(super) not_seen: Vec<String>,
    /// The script ends within quotes or a comment.
    pub(super) is_unfinished: bool,
}

impl Report {
    pub(super) fn new(name: &str) -> Report {
        Report {
            name: name.to_owned(),
            findings: Vec::new(),
            tried: 0,
            not_tried: 0,
            not_read: Vec::new(),
            not_seen: Vec::new(),
            is_unfinished: false,
        }
    }

    pub(super) fn push(&mut self, finding: Finding) {
        self.findings.push(finding);
    }

    fn count(&self, verdict: Verdict) -> usize {
        self.findings.iter().filter(|finding| finding.verdict == verdict).count()
    }

    /// See the help.
    pub(super) fn exit_code(&self) -> u8 {
        match self.count(Verdict::Refused) + self.count(Verdict::Follows) {
            _ if self.tried == 0 => 3,
            _ if self.is_unfinished || !self.not_read.is_empty() || !self.not_seen.is_empty() => 2,
            0 if self.findings.is_empty() => 0,
            0 => 1,
            _ => 2,
        }
    }

    /// The objects of which something is refused.
    pub(crate) fn refused(&self) -> impl Iterator<Item = &str> {
        let refused = self.findings.iter().filter(|finding| finding.verdict != Verdict::Differs);
        refused.map(|finding| &*finding.place.source)
    }

    /// Objects whose definitions a server does not show.
    pub(crate) fn not_seen(&self) -> &[String] {
        &self.not_seen
    }

    /// How many statements were tried.
    pub(crate) fn tried(&self) -> u64 {
        self.tried
    }

    /// For people.
    pub(crate) fn text(&self) -> String {
        let mut out = String::new();
        for finding in &self.findings {
            let Finding { place, statement, error, text, .. } = finding;
            let _ = writeln!(out, "{place}: {}: {statement}", finding.verdict.word());
            let _ = writeln!(out, "    {error}: {text}");
            if let Some(way_out) = &finding.way_out {
                let _ = writeln!(out, "    way out: {way_out}");
            }
        }
        for (line, file) in &self.not_read {
            let _ = writeln!(out, "{}:{line}: not read: {file}, which the script includes", self.name);
        }
        for object in &self.not_seen {
            let _ = writeln!(out, "{}: not seen: {object}", self.name);
        }
        if self.is_unfinished {
            let _ = writeln!(out, "{}: it ends within quotes or a comment: is it whole?", self.name);
        }
        if self.tried == 0 {
            let _ = writeln!(out, "{}: no definition is in it: is it a script of SQL?", self.name);
        }
        let (refused, differs) =
            (self.count(Verdict::Refused) + self.count(Verdict::Follows), self.count(Verdict::Differs));
        let _ = match self.findings.is_empty() {
            true => write!(out, "{} definitions are taken as they are", self.tried),
            false => write!(
                out,
                "{} definitions: {refused} findings of what is refused, {differs} of what differs",
                self.tried
            ),
        };
        let _ = writeln!(out, "; {} statements about rows were not tried", self.not_tried);
        out
    }

    /// For programs.
    pub(super) fn json(&self) -> String {
        let finding = |finding: &Finding| {
            object(&[
                ("source", quoted(&finding.place.source)),
                ("line", finding.place.line.to_string()),
                ("verdict", quoted(finding.verdict.word())),
                ("statement", quoted(&finding.statement)),
                ("error", finding.error.to_string()),
                ("text", quoted(&finding.text)),
                ("way_out", finding.way_out.as_deref().map_or("null".to_owned(), quoted)),
            ])
        };
        let file =
            |(line, file): &(u64, String)| object(&[("line", line.to_string()), ("file", quoted(file))]);
        let all = object(&[
            ("examined", quoted(&self.name)),
            ("definitions", self.tried.to_string()),
            ("not_tried", self.not_tried.to_string()),
            ("findings", array(self.findings.iter().map(finding))),
            ("not_read", array(self.not_read.iter().map(file))),
            ("not_seen", array(self.not_seen.iter().map(|object| quoted(object)))),
        ]);
        all + "\n"
    }
}
