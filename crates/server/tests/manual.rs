//! Completions and the manual have each command and option that `--help` tells, and the programs
//! that read them accept them.
#![allow(clippy::unwrap_used)]

mod common;

use common::run;
use std::io::Write as _;
use std::process::{Command, Stdio};

fn printed(args: &[&str]) -> String {
    let (status, text, error) = run(args);
    assert!(status.success(), "{args:?}: {error}");
    text
}

/// What `duramen --help` lists, and of `binlog` and `backup` what theirs do.
fn commands() -> Vec<Vec<String>> {
    let listed = |args: &[&str]| -> Vec<String> {
        let (help, head) =
            (printed(&[args, &["--help"]].concat()), ["duramen", ""].join(" ") + &args.join(" "));
        let names = help
            .lines()
            .filter_map(|line| line.strip_prefix("    ")?.strip_prefix(head.trim())?.strip_prefix(' '));
        let names = names.map(|rest| rest.split(' ').next().unwrap().to_owned());
        let mut names: Vec<String> =
            names.filter(|name| name.starts_with(|c: char| c.is_ascii_lowercase())).collect();
        names.dedup();
        names
    };
    let mut all = Vec::new();
    for name in listed(&[]) {
        all.push(vec![name.clone()]);
        if ["binlog", "backup"].contains(&&*name) {
            all.extend(listed(&[&name]).into_iter().map(|part| vec![name.clone(), part]));
        }
    }
    assert!(all.len() > 20, "{all:?}");
    all
}

/// The options at the beginning of a help's lines.
fn options(command: &[String]) -> Vec<String> {
    let command: Vec<&str> = command.iter().map(String::as_str).collect();
    let more: &[&str] = if command == ["serve"] { &["--verbose", "--help"] } else { &["--help"] };
    let help = printed(&[&command, more].concat());
    let mut found = Vec::new();
    for line in help.lines().filter(|line| line.starts_with(' ') && line.trim_start().starts_with('-')) {
        let head = line.trim_start().split("  ").next().unwrap();
        for word in head.split([' ', ',']).filter(|word| word.starts_with("--") && word.len() > 2) {
            found.push(word.split('=').next().unwrap().to_owned());
        }
    }
    assert!(found.contains(&"--help".to_owned()) || command == ["binlog"], "{command:?}");
    found
}

#[test]
fn each_command_and_option_is_in_completions_and_manual() {
    let [bash, zsh, fish] = ["bash", "zsh", "fish"].map(|shell| printed(&["completions", shell]));
    let line_of = |text: &str, head: &str| {
        let found = text.lines().find(|line| line.trim_start().starts_with(head) && line.contains("--help"));
        found.unwrap_or_else(|| panic!("nothing begins with {head}")).to_owned()
    };
    let mut count = 0;
    for command in commands() {
        let name = command.join(" ");
        let page = printed(&["manual", &command[0]]);
        let in_bash = line_of(&bash, &format!("'{name}') "));
        let in_zsh = line_of(&zsh, &format!("('{name}') "));
        let condition = command.iter().map(|word| format!("__fish_seen_subcommand_from {word}"));
        let in_fish = format!("-n '{}' -l ", condition.collect::<Vec<_>>().join("; and "));
        for option in options(&command) {
            let bare = option.trim_start_matches('-');
            assert!(
                in_bash.split([' ', '\'']).any(|w| w.trim_end_matches('=') == option),
                "bash: {name} {option}"
            );
            let zsh_forms = [format!("'{option}:"), format!("'{option}=:")];
            assert!(zsh_forms.iter().any(|form| in_zsh.contains(form)), "zsh: {name} {option}");
            assert!(fish.contains(&format!("{in_fish}{bare} ")), "fish: {name} {option}");
            assert!(page.contains(&option.replace('-', "\\-")), "page: {name} {option}");
            count += 1;
        }
    }
    assert!(count > 400, "{count} options");
}

/// Runs a program with a text as its input: true if it is there, and what it printed.
fn piped(program: &str, args: &[&str], input: &str) -> Option<(bool, String)> {
    let mut command = Command::new(program);
    command.args(args).env("MANWIDTH", "100").env("LC_ALL", "C.UTF-8");
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let Ok(mut child) = child else {
        println!("{program} is not installed: not tested");
        return None;
    };
    let (mut pipe, input) = (child.stdin.take().unwrap(), input.to_owned());
    let writing = std::thread::spawn(move || pipe.write_all(input.as_bytes()));
    let output = child.wait_with_output().unwrap();
    // It need not have read all.
    let _ = writing.join().unwrap();
    let text = String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned();
    Some((output.status.success(), text))
}

#[test]
fn shells_take_the_completions() {
    for shell in ["bash", "zsh", "fish"] {
        let text = printed(&["completions", shell]);
        if let Some((is_good, said)) = piped(shell, &["-n", "/dev/stdin"], &text) {
            assert!(is_good && said.is_empty(), "{shell}: {said}");
        }
    }
    let complete = |words: &str, expected: &str| {
        let count = words.split(' ').count() - 1;
        let script = format!(
            "{}\ncompopt() {{ :; }}\nCOMP_WORDS=({words}) COMP_CWORD={count}; _duramen; echo \"${{COMPREPLY[@]}}\"\n",
            printed(&["completions", "bash"])
        );
        let (_, said) = piped("bash", &[], &script).unwrap();
        assert_eq!(said.trim(), expected, "{words}");
    };
    complete("duramen upg", "upgrade-check");
    complete("duramen binlog ver", "verify");
    complete("duramen binlog print --stop-p", "--stop-position=");
    complete("duramen check --datadir=/x --f", "--full");
    complete("duramen serve --sync-b", "--sync-binlog=");
    let quoted = |text: &str| format!("complete -C {text:?}\n");
    for (words, expected) in [("duramen upg", "upgrade-check"), ("duramen backup list --fro", "--from")] {
        let script = printed(&["completions", "fish"]) + &quoted(words);
        if let Some((_, said)) = piped("fish", &["--no-config"], &script) {
            assert!(said.lines().any(|line| line.split('\t').next() == Some(expected)), "{words}: {said}");
        }
    }
}

#[test]
fn man_takes_each_page_without_a_warning() {
    let pages = printed(&["manual", "--list"]);
    assert!(pages.lines().count() > 13 && pages.starts_with("duramen\nduramen-serve\n"), "{pages}");
    for page in pages.lines() {
        let text = printed(&["manual", page]);
        let Some((is_good, shown)) = piped("man", &["--warnings", "-E", "UTF-8", "-l", "-"], &text) else {
            return;
        };
        assert!(is_good, "{page}: {shown}");
        let warning = shown.lines().find(|line| line.contains("warning:") || line.contains("error:"));
        assert_eq!(warning, None, "{page}");
        assert!(shown.contains("SYNOPSIS"), "{page}: {shown}");
    }
}

#[test]
fn what_is_not_there_is_told() {
    for args in
        [&["completions"][..], &["completions", "tcsh"], &["manual", "nothing"], &["manual", "a", "b"]]
    {
        let (status, _, error) = run(args);
        let hint = format!("'duramen {} --help' tells more", args[0]);
        assert!(status.code() == Some(3) && error.contains(&hint), "{args:?}: {error}");
    }
}
