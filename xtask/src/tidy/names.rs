//! Names of types, functions, modules and constants have no word that this project once used for
//! many things (`docs/glossary.md` has the words that it uses). Tests are called by sentences, so
//! they may.

use std::path::Path;

/// A word that no name has, in all its forms, and what to say instead.
const RETIRED: &[(&[&str], &str)] = &[
    (&["leave", "leaves", "leaver"], "defer, complete, recycle, deregister or skip"),
    (&["settle", "settles", "settled", "unsettled"], "pending, await, convert or imply"),
    (&["rest", "rests", "resting"], "remaining, park, wait or recycle"),
    (&["kept"], "cached, retained or captured"),
    (&["gate", "gates"], "barrier or filter"),
    (&["turn", "turns"], "role or latch"),
    (&["seat", "seats"], "waiter or slot"),
    (&["tell", "tells", "told"], "notify, report, log or acknowledge"),
    (&["hear", "heard"], "receive or acknowledge"),
    (&["behind"], "after, later or lag"),
    (&["beside"], "next to, or concurrent"),
    (&["circle", "circles"], "cycle"),
    (&["look", "looks", "looking"], "lookup, examine, inspect or scan"),
];

/// What is called by a word of SQL itself.
const OF_SQL: &[&str] = &["compile_leave"];

/// What a type is not called if that is all of its name: one can't search for it.
const NAMELESS: &[&str] = &["Place", "Kind", "State", "Way", "Step", "Known", "Own", "Kept", "Told", "Look"];

/// What begins an item whose name is checked.
const ITEMS: &[&str] = &["fn", "struct", "enum", "union", "trait", "type", "mod", "const", "static"];

/// Complains of names with retired words.
pub fn check(file: &Path, text: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    let mut is_test = false;
    for (i, line) in text.lines().enumerate() {
        let line = line.trim_start();
        if line.starts_with("#[") || line.starts_with("//") {
            is_test |= line.starts_with("#[test]");
            continue;
        }
        let Some((item, name)) = named(line) else {
            is_test &= line.is_empty();
            continue;
        };
        let at = format!("{}:{}", file.display(), i + 1);
        let is_sentence = std::mem::take(&mut is_test);
        if !is_sentence && !OF_SQL.contains(&name) {
            for word in words(name) {
                if let Some((_, instead)) = RETIRED.iter().find(|(forms, _)| forms.contains(&&*word)) {
                    complaints.push(format!("{at}: `{name}`: say {instead} for `{word}`"));
                }
            }
        }
        if ["struct", "enum", "union", "trait", "type"].contains(&item) && NAMELESS.contains(&name) {
            complaints.push(format!("{at}: `{name}`: say of what, so that it can be searched for"));
        }
    }
    complaints
}

/// The kind and the name of the item that a line begins.
fn named(line: &str) -> Option<(&str, &str)> {
    let mut words = line.split_whitespace();
    let item = loop {
        let word = words.next()?;
        let is_const_fn = word == "const" && line.contains("const fn");
        match word {
            "pub" | "async" | "unsafe" | "extern" | "default" | "\"C\"" => {}
            _ if word.starts_with("pub(") || word.ends_with(')') && line.starts_with("pub(") => {}
            _ if is_const_fn => {}
            _ if ITEMS.contains(&word) => break word,
            _ => return None,
        }
    };
    let name = words.next()?;
    let end = name.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(name.len());
    let name = &name[..end];
    (!name.is_empty() && name != "_" && name != "mut").then_some((item, name))
}

/// The words of a name, in small letters: `KeyRange` and `key_range` have two.
pub fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_small = false;
    for c in name.chars() {
        if c == '_' || c.is_uppercase() && was_small {
            words.push(String::new());
        }
        was_small = c.is_lowercase() || c.is_numeric();
        if c != '_'
            && let Some(word) = words.last_mut()
        {
            word.extend(c.to_lowercase());
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(text: &str) -> usize {
        check(Path::new("a.rs"), text).len()
    }

    #[test]
    fn a_retired_word_is_found_in_every_kind_of_name() {
        for text in [
            "fn settle_all() {",
            "pub(crate) struct SeatList;",
            "    pub(in crate::log) const fn take_turn(&self) {",
            "const REST_MAX: usize = 5;",
            "mod gate;",
            "type StopOrRest = u8;",
            "pub enum Kind {",
            "struct State<T> {",
        ] {
            assert_eq!(complaints(text), 1, "{text}");
        }
    }

    #[test]
    fn parts_of_words_and_tests_are_none() {
        for text in [
            "fn restart() {",
            "struct Aggregate;",
            "fn lookup() {",
            "enum AlterKind {",
            "#[test]\nfn a_gap_is_told() {",
            "    /// kept\n    #[test]\n    #[ignore]\n    fn what_is_kept() {",
            "let rest = told;",
        ] {
            assert_eq!(complaints(text), 0, "{text}");
        }
        assert_eq!(complaints("#[test]\nfn a_gap_is_told() {\n}\nfn tell() {}"), 1);
    }
}
