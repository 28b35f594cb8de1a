//! my.cnf: groups of `name` or `name = value` lines.
//!
//! - The groups `[mysqld]`, `[server]`, `[duramen]` and `[mysqld-8.4]` are ours; others belong to
//!   other programs.
//! - A line that begins with `#` or `;` is a comment, and so is what follows ` #` outside of
//!   quotes.
//! - Values may stand in `'` or `"`; `\b \t \n \r \\ \s` stand for a character each.
//! - `!include FILE` and `!includedir DIR` (its `*.cnf`, by name) read more, relative to the file's
//!   folder.

use super::{OptionsError, Origin, Written};
use env::Env;
use std::path::Path;

const GROUPS: [&str; 4] = ["mysqld", "server", "duramen", "mysqld-8.4"];
const INCLUDE_DEPTH_MAX: usize = 10;
const SIZE_MAX: usize = 1 << 20;

/// Adds the options of the file at `path`, and of those it includes, to `found`.
pub(super) fn read(env: &dyn Env, path: &Path, found: &mut Vec<Written>) -> Result<(), OptionsError> {
    read_at_depth(env, path, found, 0)
}

fn read_at_depth(
    env: &dyn Env,
    path: &Path,
    found: &mut Vec<Written>,
    depth: usize,
) -> Result<(), OptionsError> {
    if depth > INCLUDE_DEPTH_MAX {
        return Err(at(path, 1, "files include each other too deeply"));
    }
    let content = env
        .read_file(path)
        .map_err(|e| OptionsError::Other(format!("can't read option file '{}': {e}", path.display())))?;
    if content.len() > SIZE_MAX {
        return Err(at(path, 1, "the file is larger than 1 MiB"));
    }
    let text = std::str::from_utf8(&content).map_err(|_| at(path, 1, "the file is not UTF-8 text"))?;
    let mut ours = false;
    for (number, line) in text.lines().enumerate().map(|(i, line)| (i + 1, line.trim())) {
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(directive) = line.strip_prefix('!') {
            include(env, path, number, directive, found, depth)?;
        } else if let Some(group) = line.strip_prefix('[') {
            let end = group.find(']').ok_or_else(|| at(path, number, "a group's name ends with ']'"))?;
            ours = GROUPS.contains(&group[..end].trim());
        } else if ours {
            let (name, value) = option(line).map_err(|why| at(path, number, why))?;
            found.push(Written { name, value, origin: Origin::File { path: path.to_owned(), line: number } });
        }
    }
    Ok(())
}

fn at(path: &Path, line: usize, why: &str) -> OptionsError {
    OptionsError::Other(format!("{why} (in {}, line {line})", path.display()))
}

fn include(
    env: &dyn Env,
    path: &Path,
    line: usize,
    directive: &str,
    found: &mut Vec<Written>,
    depth: usize,
) -> Result<(), OptionsError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    if let Some(dir) = directive.strip_prefix("includedir ") {
        let dir = folder.join(dir.trim());
        let files = env
            .read_dir(&dir)
            .map_err(|e| at(path, line, &format!("can't read directory '{}': {e}", dir.display())))?;
        for file in files.iter().filter(|f| f.extension().is_some_and(|e| e == "cnf")) {
            read_at_depth(env, file, found, depth + 1)?;
        }
        Ok(())
    } else if let Some(file) = directive.strip_prefix("include ") {
        read_at_depth(env, &folder.join(file.trim()), found, depth + 1)
    } else {
        Err(at(path, line, "only !include and !includedir begin with '!'"))
    }
}

/// A line of a group, as name and value.
fn option(line: &str) -> Result<(String, Option<String>), &'static str> {
    let end = line.find(['=', '#']).unwrap_or(line.len());
    let name = line[..end].trim();
    if name.is_empty() || name.contains(char::is_whitespace) {
        return Err("an option is written name=value");
    }
    match line[end..].strip_prefix('=') {
        Some(rest) => Ok((name.to_owned(), Some(value(rest.trim())?))),
        None => Ok((name.to_owned(), None)),
    }
}

fn value(text: &str) -> Result<String, &'static str> {
    if let Some(quote) = text.chars().next().filter(|c| matches!(c, '\'' | '"')) {
        let inner = &text[1..];
        let end = closing_quote(inner, quote).ok_or("the value's quote is not closed")?;
        let behind = inner[end + 1..].trim_start();
        return match behind.is_empty() || behind.starts_with('#') {
            true => Ok(unescape(&inner[..end])),
            false => Err("only a comment may follow the value's closing quote"),
        };
    }
    let end = text.find(" #").or_else(|| text.find("\t#")).unwrap_or(text.len());
    let end = if text.starts_with('#') { 0 } else { end };
    Ok(unescape(text[..end].trim_end()))
}

/// Where `quote` stands without a backslash before it.
fn closing_quote(text: &str, quote: char) -> Option<usize> {
    let mut escaped = false;
    text.char_indices().find_map(|(i, c)| {
        let ends = c == quote && !escaped;
        escaped = c == '\\' && !escaped;
        ends.then_some(i)
    })
}

fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('b') => out.push('\u{8}'),
            Some('t') => out.push('\t'),
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some('s') => out.push(' '),
            Some(c @ ('\\' | '\'' | '"')) => out.push(c),
            Some(other) => out.extend(['\\', other]),
            None => out.push('\\'),
        }
    }
    out
}
