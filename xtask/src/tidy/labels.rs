//! Labels of promises: `(G2)` in a comment names a numbered promise of a module's story.
//!
//! A line of a file's story that begins with `(G2)` defines it, as does one of `ARCHITECTURE.md`
//! that begins with `- **R1`. A comment cites it as `(G2)` in the module that defines it and those
//! inside, and elsewhere as ``(G2 of `log/commit.rs`)``, by the end of the file's path.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Where each label is defined.
#[derive(Default)]
pub struct Labels(BTreeMap<String, BTreeSet<PathBuf>>);

impl Labels {
    /// Takes note of what a file defines; complains of a label that it defines twice.
    pub fn define(&mut self, file: &Path, text: &str) -> Vec<String> {
        let mut complaints = Vec::new();
        for (i, line) in text.lines().enumerate() {
            let Some(label) = defined(line) else { continue };
            if !self.0.entry(label.to_owned()).or_default().insert(file.to_owned()) {
                let name = file.display();
                complaints
                    .push(format!("{name}:{}: {label} is defined above: give it another number", i + 1));
            }
        }
        complaints
    }

    /// Complains of citations that no definition answers.
    pub fn check(&self, file: &Path, text: &str) -> Vec<String> {
        let mut complaints = Vec::new();
        for (i, line) in text.lines().enumerate() {
            let Some(comment) = line.trim_start().strip_prefix("//") else { continue };
            // After what the line defines itself.
            let from = defined(line).and_then(|_| comment.find(')')).map_or(0, |end| end + 1);
            for (label, of) in cited(&comment[from..]) {
                if !self.resolves(file, label, of) {
                    complaints.push(format!(
                        "{}:{}: ({label}) is not defined {}: cite it as `({label} of `the/file.rs`)`",
                        file.display(),
                        i + 1,
                        of.map_or("here nor in a parent module".to_owned(), |of| format!("in {of}")),
                    ));
                }
            }
        }
        complaints
    }

    fn resolves(&self, file: &Path, label: &str, of: Option<&str>) -> bool {
        let Some(files) = self.0.get(label) else { return false };
        match of {
            Some(of) => files.iter().any(|defining| defining.ends_with(of)),
            None => files.iter().any(|defining| file == defining || is_parent(defining, file)),
        }
    }
}

/// True if the module of one file contains that of the other.
fn is_parent(parent: &Path, file: &Path) -> bool {
    let stem = parent.file_stem().and_then(|s| s.to_str()).unwrap_or_default();
    let folder = match stem {
        "mod" | "lib" | "main" => parent.parent().unwrap_or(parent).to_owned(),
        _ => parent.with_extension(""),
    };
    file.starts_with(folder)
}

/// The label that a line defines.
fn defined(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix("//! (").or_else(|| line.strip_prefix("- **"))?;
    let (label, after) = rest.split_at(label_len(rest)?);
    after.starts_with([')', ' ']).then_some(label)
}

/// The labels in parentheses, each with the file that it is said to be of. Code in a comment cites
/// nothing.
fn cited(comment: &str) -> impl Iterator<Item = (&str, Option<&str>)> {
    let opened = comment.match_indices('(').filter(|(at, _)| !comment[..*at].ends_with('`'));
    opened.filter_map(|(at, _)| {
        let rest = &comment[at + 1..];
        let (label, after) = rest.split_at(label_len(rest)?);
        let of = after.strip_prefix(" of ").map(|of| {
            let end = of.find([',', ')', ' ', ';']).unwrap_or(of.len());
            of[..end].trim_matches('`')
        });
        after.starts_with([')', ',', ' ', ';']).then_some((label, of))
    })
}

/// The length of a capital letter, or two, and a number at a text's start.
fn label_len(text: &str) -> Option<usize> {
    let letters = text.bytes().take_while(u8::is_ascii_uppercase).count();
    let digits = text.bytes().skip(letters).take_while(u8::is_ascii_digit).count();
    let is_label = (1..=2).contains(&letters) && (1..=2).contains(&digits);
    let ends = !text[letters + digits..].starts_with(|c: char| c.is_ascii_alphanumeric());
    (is_label && ends).then_some(letters + digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(file: &str, text: &str) -> usize {
        let mut labels = Labels::default();
        let commit = "//! (G2) Nothing is visible before.\n//! (G3) A failed flush latches.\n";
        assert!(labels.define(Path::new("crates/binlog/src/log/commit.rs"), commit).is_empty());
        assert!(labels.define(Path::new("ARCHITECTURE.md"), "- **R1 What was accepted.**").is_empty());
        labels.check(Path::new(file), text).len()
    }

    #[test]
    fn a_citation_needs_a_definition_in_sight() {
        assert_eq!(complaints("crates/binlog/src/log/commit.rs", "// as it must be (G2)"), 0);
        assert_eq!(complaints("crates/binlog/src/log/commit/queue.rs", "/// (G3), and more"), 0);
        assert_eq!(complaints("crates/binlog/src/log/order.rs", "// as it must be (G2)"), 1);
        assert_eq!(complaints("crates/binlog/src/log/order.rs", "// it must (G2 of `log/commit.rs`)."), 0);
        assert_eq!(complaints("crates/binlog/src/log/order.rs", "// it must (G7 of `log/commit.rs`)."), 1);
        assert_eq!(complaints("crates/sql/src/lib.rs", "// started from (R1 of ARCHITECTURE.md, and so)"), 0);
        assert_eq!(complaints("crates/sql/src/lib.rs", "// (R9 of ARCHITECTURE.md)"), 1);
        assert_eq!(complaints("crates/sql/src/lib.rs", "// (U8) f(UTF16) (a B1) `(G2)`"), 1);
    }

    #[test]
    fn a_label_is_defined_once_in_a_file() {
        let twice = "//! (A1) One.\n//! (A1) Two.\n";
        assert_eq!(Labels::default().define(Path::new("a.rs"), twice).len(), 1);
    }
}
