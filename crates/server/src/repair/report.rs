//! What was found in a data directory, as sentences and as one JSON object.

use std::fmt::Write as _;

/// How bad something is; the worst is the verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Severity {
    /// Nothing is wrong: a thing to know.
    Note,
    /// Damaged, and nothing is lost: a start or a repair makes it anew.
    Repairable,
    /// What is there does not suffice to make it anew.
    Loss,
}

impl Severity {
    fn word(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Repairable => "damaged, can be repaired",
            Self::Loss => "DAMAGED WITH LOSS",
        }
    }

    /// As JSON has it.
    pub(super) fn verdict(self) -> &'static str {
        match self {
            Self::Note => "sound",
            Self::Repairable => "repairable",
            Self::Loss => "loss",
        }
    }
}

/// A thing that was found.
#[derive(Debug, Clone)]
pub(super) struct Finding {
    pub(super) severity: Severity,
    /// The file's path from the data directory on; empty where it is about no one file.
    pub(super) file: String,
    /// Bytes from the file's start.
    pub(super) offset: Option<u64>,
    pub(super) what: String,
    /// What can be done about it.
    pub(super) remedy: String,
    /// Whose bytes they are.
    pub(super) objects: Vec<String>,
}

/// A file that was read.
#[derive(Debug, Clone)]
pub(super) struct FileState {
    pub(super) name: String,
    pub(super) kind: &'static str,
    pub(super) bytes: u64,
    /// How much of it was read.
    pub(super) read: &'static str,
}

/// A table, function or account that is not as it should be.
#[derive(Debug, Clone)]
pub(super) struct Object {
    pub(super) name: String,
    pub(super) state: &'static str,
    pub(super) why: String,
}

/// All of it.
#[derive(Debug, Clone, Default)]
pub(super) struct Report {
    pub(super) datadir: String,
    pub(super) findings: Vec<Finding>,
    pub(super) files: Vec<FileState>,
    pub(super) objects: Vec<Object>,
    /// What is sound, in sentences.
    pub(super) sound: Vec<String>,
    /// `None` where it could not be said.
    pub(super) gtid_executed: Option<String>,
    pub(super) log_end: Option<String>,
    pub(super) tables_at: Option<String>,
    /// True if all tables can be made anew from the log.
    pub(super) log_has_everything: bool,
}

impl Report {
    pub(super) fn verdict(&self) -> Severity {
        self.findings.iter().map(|f| f.severity).max().unwrap_or(Severity::Note)
    }

    /// For people.
    pub(super) fn text(&self) -> String {
        let mut out = String::new();
        for sentence in &self.sound {
            let _ = writeln!(out, "sound: {sentence}");
        }
        for finding in &self.findings {
            let place = match (finding.file.as_str(), finding.offset) {
                ("", _) => String::new(),
                (file, Some(offset)) => format!("{file}: at {offset}: "),
                (file, None) => format!("{file}: "),
            };
            let whose = match finding.objects.as_slice() {
                [] => String::new(),
                names => format!(" ({})", names.join("; ")),
            };
            let _ = writeln!(out, "{}: {place}{}{whose}", finding.severity.word(), finding.what);
            if !finding.remedy.is_empty() {
                let _ = writeln!(out, "    {}", finding.remedy);
            }
        }
        let verdict = match self.verdict() {
            Severity::Note => "the data directory is sound",
            Severity::Repairable => "damaged, and everything can be repaired",
            Severity::Loss => "damaged, and something is lost: see above",
        };
        let _ = writeln!(out, "verdict: {verdict}");
        out
    }

    /// The members of a JSON object, without its braces.
    pub(super) fn json_members(&self) -> String {
        let findings = self.findings.iter().map(|f| {
            object(&[
                ("severity", quoted(f.severity.verdict())),
                ("file", if f.file.is_empty() { "null".into() } else { quoted(&f.file) }),
                ("offset", f.offset.map_or("null".into(), |n| n.to_string())),
                ("what", quoted(&f.what)),
                ("remedy", quoted(&f.remedy)),
                ("objects", array(f.objects.iter().map(|o| quoted(o)))),
            ])
        });
        let files = self.files.iter().map(|f| {
            object(&[
                ("name", quoted(&f.name)),
                ("kind", quoted(f.kind)),
                ("bytes", f.bytes.to_string()),
                ("read", quoted(f.read)),
            ])
        });
        let objects = self.objects.iter().map(|o| {
            object(&[("name", quoted(&o.name)), ("state", quoted(o.state)), ("why", quoted(&o.why))])
        });
        let text = |value: &Option<String>| value.as_deref().map_or("null".into(), quoted);
        members(&[
            ("datadir", quoted(&self.datadir)),
            ("verdict", quoted(self.verdict().verdict())),
            ("gtid_executed", text(&self.gtid_executed)),
            ("log_end", text(&self.log_end)),
            ("tables_at", text(&self.tables_at)),
            ("log_has_everything", self.log_has_everything.to_string()),
            ("findings", array(findings)),
            ("objects", array(objects)),
            ("files", array(files)),
        ])
    }
}

/// Members of a JSON object; the values are JSON already.
pub(crate) fn members(members: &[(&str, String)]) -> String {
    let all: Vec<String> = members.iter().map(|(name, value)| format!("{}: {value}", quoted(name))).collect();
    all.join(", ")
}

pub(crate) fn object(all: &[(&str, String)]) -> String {
    format!("{{{}}}", members(all))
}

pub(crate) fn array(values: impl Iterator<Item = String>) -> String {
    format!("[{}]", values.collect::<Vec<_>>().join(", "))
}

pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_escaped_for_json() {
        assert_eq!(quoted("a\"b\\c\nd\u{1}ü"), "\"a\\\"b\\\\c\\nd\\u0001ü\"");
        assert_eq!(
            object(&[("a", "1".into()), ("b", array(["2".into()].into_iter()))]),
            r#"{"a": 1, "b": [2]}"#
        );
    }
}
