//! The manual's pages, in the language of `man`: one for the program, one for each command with the
//! commands that it has.

use super::{USAGE, commands, option_line};
use std::fmt::Write as _;

/// The names of all pages: `duramen`, `duramen-backup`.
pub(super) fn names() -> impl Iterator<Item = String> {
    let pages = super::names().map(|name| format!("duramen-{name}"));
    std::iter::once("duramen".to_owned()).chain(pages)
}

/// `duramen(1)`.
pub(super) fn overview() -> String {
    let mut out = head("duramen", "database server of MySQL's protocol whose binary log is its only log");
    out += ".SH SYNOPSIS\n.B duramen\n.I COMMAND\n.RI [ OPTIONS ]\n.SH DESCRIPTION\n";
    out += "Each command has a page of its own, and tells its options with\n.BR \\-\\-help .\n.SH COMMANDS\n";
    for command in commands().iter().filter(|command| command.parent().is_none()) {
        let (name, summary) = (escaped(command.name), line(&command.summary()));
        let _ = writeln!(out, ".TP\n.BR duramen\\-{name} (1)\n{summary}");
    }
    out += ".SH OPTIONS\n";
    for option in USAGE.lines().filter_map(|text| text.trim_start().strip_prefix("duramen --")) {
        let (name, said) = option.split_once(' ').unwrap_or((option, ""));
        let _ = writeln!(out, ".TP\n.B \\-\\-{}\n{}", escaped(name), line(said.trim()));
    }
    out
}

/// The page of a command; `None` if there is none.
pub(super) fn of(name: &str) -> Option<String> {
    let name = name.strip_prefix("duramen-").unwrap_or(name);
    if name == "duramen" {
        return Some(overview());
    }
    let all = commands();
    let command = all.iter().find(|command| command.name == name && command.parent().is_none())?;
    let mut out = head(&format!("duramen-{name}"), &command.summary());
    let _ = writeln!(out, ".SH SYNOPSIS\n.B duramen {}\n.RI [ OPTIONS ]", escaped(name));
    out += ".SH DESCRIPTION\n";
    body(&mut out, &command.help);
    for part in all.iter().filter(|part| part.parent() == Some(name) && part.help != command.help) {
        let _ = writeln!(out, ".SH DURAMEN {}", escaped(&part.name.to_uppercase()));
        body(&mut out, &part.help);
    }
    out += ".SH SEE ALSO\n.BR duramen (1)\n";
    Some(out)
}

fn head(name: &str, summary: &str) -> String {
    let (title, version) = (escaped(&name.to_uppercase()), env!("CARGO_PKG_VERSION"));
    let name = escaped(name);
    let summary = line(summary);
    format!(".TH {title} 1 \"\" \"duramen {version}\" \"Duramen\"\n.SH NAME\n{name} \\- {summary}\n")
}

/// The text of a help: options as a list, examples as they stand, the rest as paragraphs.
fn body(out: &mut String, help: &str) {
    let mut lines = help.lines().peekable();
    let mut column = None;
    while let Some(text) = lines.next() {
        let indent = text.len() - text.trim_start().len();
        if let Some((_, said)) = option_line(text) {
            let heads = text.trim_start();
            let heads = heads.split_once("  ").map_or(heads, |(heads, _)| heads);
            let _ = writeln!(out, ".TP\n.B {}", escaped(heads));
            if !said.is_empty() {
                let _ = writeln!(out, "{}", line(said));
            }
            // What goes on further right belongs to it.
            column = Some(indent + 1);
        } else if text.trim().is_empty() {
            column = None;
            out.push_str(".PP\n");
        } else if column.is_some_and(|column| indent >= column) || indent == 0 {
            let _ = writeln!(out, "{}", line(text.trim()));
            column = column.filter(|_| indent > 0);
        } else {
            column = None;
            let _ = writeln!(out, ".nf\n{}", line(text));
            while let Some(next) =
                lines.next_if(|next| next.starts_with("    ") && option_line(next).is_none())
            {
                let _ = writeln!(out, "{}", line(next));
            }
            out.push_str(".fi\n");
        }
    }
}

/// A line that is text, whatever it begins with.
fn line(text: &str) -> String {
    let escaped = escaped(text);
    if escaped.starts_with(['.', '\'']) { format!("\\&{escaped}") } else { escaped }
}

/// Text in which every character stands for itself.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\e"),
            '-' => out.push_str("\\-"),
            '\'' => out.push_str("\\(aq"),
            '`' => out.push_str("\\(ga"),
            '^' => out.push_str("\\(ha"),
            '~' => out.push_str("\\(ti"),
            c if c.is_ascii() => out.push(c),
            c => {
                let _ = write!(out, "\\[u{:04X}]", u32::from(c));
            }
        }
    }
    out
}
