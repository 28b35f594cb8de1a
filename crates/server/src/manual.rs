//! What there is to say of each command: its help, the completions of shells and the manual's pages
//! are made of the same texts.
//!
//! - [`USAGE`] is `duramen --help`, and has each command's summary.
//! - Each command's help has its options, one at the beginning of a line ([`Command::options`]).
//! - `completions.rs` and `pages.rs` write what was found, for shells and for `man`.

mod completions;
mod pages;

use crate::log_tool::ToolError;
use crate::tool::{asks_for_help, exit, print};
use crate::{backup, check_schema, compare, failover, log_tool, options, probe, repair, replicate};
use sql::replica::FilterRule;
use std::borrow::Cow;
use std::process::ExitCode;

/// `duramen --help`.
pub const USAGE: &str = "\
duramen: a database server that speaks MySQL's protocol and whose binary log is its only log.

    duramen serve            run the server; 'duramen serve --help' tells its options
    duramen probe            tell what full durability will cost on this disk; 'duramen probe --help' tells more
    duramen backup           back up a server, running or not; list, verify and remove backups; 'duramen backup --help' tells how
    duramen restore          make a data directory of a backup, as it was at any moment; 'duramen restore --help' tells how
    duramen binlog           read, verify, cut and replay binary log files; 'duramen binlog --help' tells more
    duramen check            examine a data directory that no server runs on: what is sound, damaged, lost
    duramen check-schema     tell what of a schema written for MySQL would be refused or differ, before anything is made
    duramen replicate        copy all databases of a running server and follow it; 'duramen replicate --help' tells how
    duramen compare          tell whether two servers hold the same rows, and which differ
    duramen failover         make a replica the source, planned or because the source is lost; 'duramen failover --help' tells how
    duramen repair           make a new data directory of one that is damaged; 'duramen repair --help' tells how
    duramen upgrade-check    tell whether this version opens a data directory, and what it would upgrade
    duramen completions      print what a shell completes command lines with: bash, zsh or fish
    duramen manual           print a page of the manual, for 'man -l -'
    duramen --version        tell the version
    duramen --help           tell this
";

const COMPLETIONS: &str = "\
Prints what a shell completes command lines with. The Debian package has it where shells look for it.

    duramen completions bash > ~/.local/share/bash-completion/completions/duramen
    duramen completions zsh  > ~/.zfunc/_duramen
    duramen completions fish > ~/.config/fish/completions/duramen.fish

    --help          this text
";

const MANUAL: &str = "\
Prints a page of the manual, in the form that man reads. The Debian package has all of them where man looks for them.

    duramen manual | man -l -
    duramen manual backup | man -l -

    --list          the names of all pages
    --help          this text
";

/// What its help says of a command of the program, or of one of `backup` or `binlog`.
pub(crate) struct Command {
    /// `backup`, `backup list`.
    pub(crate) name: &'static str,
    help: Cow<'static, str>,
}

/// An option in a command's help.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CommandOption {
    /// `datadir`.
    pub(crate) name: String,
    /// A value follows it.
    pub(crate) takes_value: bool,
    /// The first line of what is said of it.
    pub(crate) summary: String,
}

/// The names of all commands, those of commands left out.
pub fn names() -> impl Iterator<Item = &'static str> {
    commands().into_iter().map(|command| command.name).filter(|name| !name.contains(' '))
}

/// All commands, each behind the one that it is of.
pub(crate) fn commands() -> Vec<Command> {
    let text = |name, help| Command { name, help: Cow::Borrowed(help) };
    let mut all = vec![
        Command { name: "serve", help: options::help::text(true).into() },
        text("probe", probe::HELP),
        text("backup", backup::BACKUP),
        text("backup list", backup::BACKUP),
        text("backup verify", backup::BACKUP),
        text("backup prune", backup::BACKUP),
        text("restore", backup::RESTORE),
    ];
    all.extend(log_tool::helps().map(|(name, help)| text(name, help)));
    all.extend([
        text("check", repair::CHECK),
        text("check-schema", check_schema::HELP),
        text("replicate", replicate::HELP),
        text("compare", compare::HELP),
        text("failover", failover::HELP),
        text("repair", repair::REPAIR),
        text("upgrade-check", repair::UPGRADE_CHECK),
        text("completions", COMPLETIONS),
        text("completions bash", COMPLETIONS),
        text("completions zsh", COMPLETIONS),
        text("completions fish", COMPLETIONS),
        text("manual", MANUAL),
    ]);
    all
}

impl Command {
    /// What [`USAGE`] says of it, or the help of the command that it is of.
    pub(crate) fn summary(&self) -> String {
        let wanted = format!("    duramen {} ", self.name);
        let overview = self.parent().map_or(USAGE, |_| &*self.help);
        let overviews = [overview, log_tool::OVERVIEW];
        let mut lines = overviews.iter().flat_map(|text| text.lines());
        let line = lines.find_map(|line| line.strip_prefix(&wanted)).map_or("", str::trim_start);
        // Options stand between the command and what it does, which may be in the next line.
        let line = match line.starts_with('-') {
            true => line.split_once("  ").map_or_else(|| lines.next().unwrap_or_default(), |(_, rest)| rest),
            false => line,
        };
        line.split("; 'duramen").next().unwrap_or_default().trim().to_owned()
    }

    /// The replication filters, of which the help of `serve` has the ends only.
    fn filters(&self) -> Vec<CommandOption> {
        let rules = FilterRule::ALL.iter().filter(|_| self.name == "serve");
        let option = |rule: &FilterRule| CommandOption {
            name: rule.option().replace('_', "-"),
            takes_value: true,
            summary: "leave out what a source sends".to_owned(),
        };
        rules.map(option).collect()
    }

    fn parent(&self) -> Option<&'static str> {
        self.name.split_once(' ').map(|(parent, _)| parent)
    }

    /// The options that its help tells: at a line's beginning, one or several.
    pub(crate) fn options(&self) -> Vec<CommandOption> {
        let mut found = self.filters();
        let mut lines = self.help.lines().peekable();
        while let Some(line) = lines.next() {
            let Some((heads, said)) = option_line(line) else { continue };
            let said = if said.is_empty() { lines.peek().map_or("", |next| next.trim()) } else { said };
            for head in heads {
                let (name, value) = head.split_once('=').map_or((head, None), |(n, v)| (n, Some(v)));
                let name = name.trim_start_matches('-');
                if !found.iter().any(|option| option.name == name) {
                    let (name, takes_value) = (name.to_owned(), value.is_some());
                    found.push(CommandOption { name, takes_value, summary: said.to_owned() });
                }
            }
        }
        if !found.iter().any(|option| option.name == "help") {
            let summary = "tell what it does, and its options".to_owned();
            found.push(CommandOption { name: "help".to_owned(), takes_value: false, summary });
        }
        found
    }
}

/// The options that a line begins with, and what it says of them; `None` if it begins with none.
fn option_line(line: &str) -> Option<(Vec<&str>, &str)> {
    let text = line.trim_start();
    if !text.starts_with('-') || text.len() == line.len() {
        return None;
    }
    let (heads, said) = text.split_once("  ").unwrap_or((text, ""));
    let heads: Vec<&str> = heads.split([',', ' ']).filter(|head| head.starts_with("--")).collect();
    let is_name = |head: &&str| head.len() > 2 && head.as_bytes()[2].is_ascii_lowercase();
    (!heads.is_empty() && heads.iter().all(is_name)).then(|| (heads, said.trim()))
}

/// Does what the arguments after `duramen completions` ask.
pub fn run_completions(args: &[String]) -> ExitCode {
    let outcome = match args {
        _ if asks_for_help(args) => print(COMPLETIONS),
        [shell] => {
            completions::of(shell).ok_or_else(|| wrong("completions", args)).and_then(|text| print(&text))
        }
        _ => Err(wrong("completions", args)),
    };
    exit("completions", outcome.map(|()| 0))
}

/// Does what the arguments after `duramen manual` ask.
pub fn run_manual(args: &[String]) -> ExitCode {
    let outcome = match args {
        _ if asks_for_help(args) => print(MANUAL),
        [] => print(&pages::overview()),
        [list] if list == "--list" => {
            print(&pages::names().map(|name| format!("{name}\n")).collect::<String>())
        }
        [name] => pages::of(name).ok_or_else(|| wrong("manual", args)).and_then(|text| print(&text)),
        _ => Err(wrong("manual", args)),
    };
    exit("manual", outcome.map(|()| 0))
}

fn wrong(command: &str, args: &[String]) -> ToolError {
    let given = args.join(" ");
    ToolError::Options(format!("'{given}' is nothing that it has; 'duramen {command} --help' tells more"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_found_at_the_beginning_of_lines() {
        assert_eq!(option_line("    -v, --verbose     rows too"), Some((vec!["--verbose"], "rows too")));
        assert_eq!(
            option_line("    --keep-last=N, --keep-days=N   prune: what remains"),
            Some((vec!["--keep-last=N", "--keep-days=N"], "prune: what remains"))
        );
        for none in
            ["--help  in no block", "    duramen check --full", "    - a point of a list", "    -- x", ""]
        {
            assert_eq!(option_line(none), None, "{none}");
        }
    }

    #[test]
    fn every_command_has_a_summary_and_options() {
        for command in commands() {
            let summary = command.summary();
            assert!(!summary.is_empty() && summary != command.name, "{}: {summary:?}", command.name);
            assert!(command.options().iter().any(|option| option.name == "help"), "{}", command.name);
        }
        let listed = USAGE.lines().filter_map(|line| line.strip_prefix("    duramen ")?.split(' ').next());
        let listed: Vec<&str> = listed.filter(|name| !name.starts_with('-')).collect();
        assert_eq!(names().collect::<Vec<_>>(), listed);
    }
}
