//! The statements, from the files of `cases/`.
//!
//! A line that begins at the margin is a statement; lines below it that are indented say more of
//! it:
//!
//! - `needs: SELECT@pa, LOCK TABLES@pa`: the smallest set; several such lines are alternatives.
//! - `before: ..`: run in the same session first, whatever comes of it.
//! - `undo: ..`: run by the administrator after a success.
//! - `rows`: what it answers counts too.
//! - `reconnect`: a success leaves something in the session that a reset does not take away.
//! - `spare: SHUTDOWN`: is not tried by accounts that have one of these.
//! - `only: SUPER | nothing`: is tried with these sets alone.
//! - `stricter: why`: Duramen asks for more, and why.
//! - `other: why`: where both let the account pass, Duramen answers something else, and why.
//!
//! `{user}` is the account that tries, `{plain}` the number of a connection of an account without
//! privileges, `{system}` that of an account with SYSTEM_USER. Lines that begin with `#` are for
//! people; `for NAME: a b c` repeats the next statement with each of the words instead of
//! `{NAME}`; `~` in a word is a space. `setup: ..` and `teardown: ..` at the margin are run by the
//! administrator before and after the file's cases, for each set anew.

use crate::Result;
use crate::sets::Set;
use std::fs;
use std::path::Path;

/// A statement, and how it is tried.
#[derive(Debug, Clone, Default)]
pub struct Case {
    /// The statement, with its placeholders: also its name.
    pub statement: String,
    /// What suffices, in alternatives.
    pub needs: Vec<Set>,
    /// Statements of the same session before it.
    pub before: Vec<String>,
    /// Statements of the administrator after a success.
    pub undo: Vec<String>,
    /// What it answers counts.
    pub rows: bool,
    /// A success asks for a new connection.
    pub reconnect: bool,
    /// Who has one of these does not try.
    pub spare: Vec<String>,
    /// Tried with these sets alone, if there are any.
    pub only: Vec<Set>,
    /// Why Duramen asks for more.
    pub stricter: Option<String>,
    /// Why Duramen answers something else.
    pub other: Option<String>,
}

/// The cases of one file.
#[derive(Debug)]
pub struct File {
    /// Its name without the ending.
    pub name: String,
    /// In their order.
    pub cases: Vec<Case>,
    /// The administrator's statements before them.
    pub setup: Vec<String>,
    /// And after them.
    pub teardown: Vec<String>,
}

/// All files of a folder, by name.
pub fn read(folder: &Path) -> Result<Vec<File>> {
    let mut paths: Vec<_> =
        fs::read_dir(folder)?.map(|e| e.map(|e| e.path())).collect::<std::io::Result<_>>()?;
    paths.retain(|path| path.extension().is_some_and(|e| e == "txt"));
    paths.sort();
    let mut files = Vec::new();
    for path in paths {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let file = parse(name, &fs::read_to_string(&path)?);
        files.push(file.map_err(|e| format!("{}: {e}", path.display()))?);
    }
    Ok(files)
}

fn parse(name: String, text: &str) -> Result<File> {
    let (mut setup, mut teardown) = (Vec::new(), Vec::new());
    let mut cases: Vec<Case> = Vec::new();
    let mut pending: Option<(String, Vec<String>)> = None;
    let mut words: Option<(String, Vec<String>)> = None;
    for (number, line) in text.lines().enumerate() {
        let wrong = |what: &str| -> Result<()> { Err(format!("line {}: {what}: {line}", number + 1).into()) };
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(more) = line.strip_prefix("  ") {
            let Some(case) = cases.last_mut() else {
                wrong("no statement before")?;
                continue;
            };
            if !set(case, more)? {
                wrong("not understood")?;
            }
            continue;
        }
        if let Some((words, template)) = words.take() {
            expand(&mut cases, template, &words);
        }
        if let Some(sql) = line.strip_prefix("setup: ") {
            setup.push(sql.to_owned());
            continue;
        }
        if let Some(sql) = line.strip_prefix("teardown: ") {
            teardown.push(sql.to_owned());
            continue;
        }
        match line.strip_prefix("for ").and_then(|rest| rest.split_once(": ")) {
            Some((name, list)) => {
                pending = Some((
                    name.to_owned(),
                    list.split_whitespace().map(|word| word.replace('~', " ")).collect(),
                ));
            }
            None => {
                cases.push(Case { statement: line.to_owned(), ..Case::default() });
                words = pending.take();
            }
        }
    }
    if let Some((words, template)) = words.take() {
        expand(&mut cases, template, &words);
    }
    Ok(File { name, cases, setup, teardown })
}

/// The last case once for each word.
fn expand(cases: &mut Vec<Case>, words: Vec<String>, name: &str) {
    let Some(template) = cases.pop() else { return };
    for word in words {
        let put = |text: &String| text.replace(&format!("{{{name}}}"), &word);
        let mut case = template.clone();
        case.statement = put(&case.statement);
        case.before = case.before.iter().map(put).collect();
        case.undo = case.undo.iter().map(put).collect();
        cases.push(case);
    }
}

fn set(case: &mut Case, line: &str) -> Result<bool> {
    let (name, value) = match line.split_once(": ") {
        Some((name, value)) => (name.trim(), value.trim()),
        None => (line.trim(), ""),
    };
    match name {
        "needs" => case.needs.push(Set::parse(value)?),
        "before" => case.before.push(value.to_owned()),
        "undo" => case.undo.push(value.to_owned()),
        "rows" => case.rows = true,
        "reconnect" => case.reconnect = true,
        "spare" => case.spare.extend(value.split(',').map(|p| p.trim().to_owned())),
        "only" => {
            for one in value.split('|') {
                case.only.push(Set::parse(one.trim())?);
            }
        }
        "stricter" => case.stricter = Some(value.to_owned()),
        "other" => case.other = Some(value.to_owned()),
        _ => return Ok(false),
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn cases_are_read_with_what_belongs_to_them() {
        let text =
            "# first\nSELECT 1\n  needs: SELECT@pa, PROCESS\n  undo: DO 1\n\nfor x: a b\nSHOW {x}\n  rows\n";
        let File { cases, setup, .. } = parse(String::new(), &format!("setup: DO 2\n{text}")).unwrap();
        assert_eq!(setup, ["DO 2"]);
        let names: Vec<_> = cases.iter().map(|c| c.statement.as_str()).collect();
        assert_eq!(names, ["SELECT 1", "SHOW a", "SHOW b"]);
        assert_eq!(cases[0].needs[0].to_string(), "SELECT@pa, PROCESS");
        assert!(cases[1].rows && !cases[0].rows);
        let is_wrong = |text| parse(String::new(), text).is_err();
        assert!(is_wrong("  needs: x") && is_wrong("SELECT 1\n  nonsense"));
    }
}
