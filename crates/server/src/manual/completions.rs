//! Completions for bash, zsh and fish: the commands, and each one's options. Values are completed
//! as names of files.

use super::{Command, commands};
use std::fmt::Write as _;

/// What a shell reads; `None` for a shell that is not known.
pub(super) fn of(shell: &str) -> Option<String> {
    match shell {
        "bash" => Some(bash()),
        "zsh" => Some(zsh()),
        "fish" => Some(fish()),
        _ => None,
    }
}

/// The commands of a command, or those of the program.
fn commands_of(all: &[Command], parent: Option<&str>) -> Vec<&'static str> {
    let of_it = all.iter().filter(|command| command.parent() == parent);
    of_it.map(|command| command.name.rsplit(' ').next().unwrap_or_default()).collect()
}

/// `--name`, or `--name=` where a value follows.
fn written(command: &Command) -> Vec<String> {
    let options = command.options().into_iter();
    options.map(|o| format!("--{}{}", o.name, if o.takes_value { "=" } else { "" })).collect()
}

fn bash() -> String {
    let all = commands();
    let mut out = String::from(
        "# bash completion for duramen: 'duramen completions bash' has made it.\n\
         _duramen() {\n    \
             local word command= words=\n    \
             local current=${COMP_WORDS[COMP_CWORD]}\n    \
             for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n        \
                 case \"$command $word\" in\n",
    );
    for command in &all {
        let before = command.parent().unwrap_or_default();
        let word = command.name.rsplit(' ').next().unwrap_or_default();
        let _ = writeln!(out, "            '{before} {word}') command='{}' ;;", command.name);
    }
    out += "        esac\n    done\n    case \"$command\" in\n";
    let top = commands_of(&all, None).join(" ");
    let _ = writeln!(out, "        '') words='{top} --help --version' ;;");
    for command in &all {
        let mut words =
            commands_of(&all, Some(command.name)).iter().map(|w| (*w).to_owned()).collect::<Vec<_>>();
        words.extend(written(command));
        let _ = writeln!(out, "        '{}') words='{}' ;;", command.name, words.join(" "));
    }
    out += "    esac\n    \
                COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n    \
                if [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]]; then\n        \
                    compopt -o nospace\n    \
                fi\n\
            }\n\
            complete -o bashdefault -o default -F _duramen duramen\n";
    out
}

/// A text between single quotes of zsh and bash.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

fn zsh() -> String {
    let all = commands();
    let mut out = String::from(
        "#compdef duramen\n\
         # zsh completion for duramen: 'duramen completions zsh' has made it.\n\
         _duramen() {\n    \
             local word command=\n    \
             local -a commands options\n    \
             for word in ${words[2,CURRENT-1]}; do\n        \
                 case \"$command $word\" in\n",
    );
    for command in &all {
        let before = command.parent().unwrap_or_default();
        let word = command.name.rsplit(' ').next().unwrap_or_default();
        let _ = writeln!(out, "            ('{before} {word}') command='{}' ;;", command.name);
    }
    out += "        esac\n    done\n    case \"$command\" in\n";
    let described = |parent: Option<&str>| {
        let of_it = all.iter().filter(|command| command.parent() == parent);
        let words = of_it.map(|command| {
            let word = command.name.rsplit(' ').next().unwrap_or_default();
            quoted(&format!("{word}:{}", command.summary().replace(':', "\\:")))
        });
        words.collect::<Vec<_>>().join(" ")
    };
    let _ = writeln!(
        out,
        "        ('') commands=({}) options=('--help:tell the commands' '--version:tell the version') ;;",
        described(None)
    );
    for command in &all {
        let options = command.options().into_iter().map(|option| {
            let end = if option.takes_value { "=" } else { "" };
            quoted(&format!("--{}{end}:{}", option.name, option.summary.replace(':', "\\:")))
        });
        let options = options.collect::<Vec<_>>().join(" ");
        let commands = described(Some(command.name));
        let _ = writeln!(out, "        ('{}') commands=({commands}) options=({options}) ;;", command.name);
    }
    out += "    esac\n    \
                if [[ $PREFIX == *=* ]]; then\n        \
                    compset -P '*='\n        \
                    _files\n    \
                elif [[ $PREFIX == -* ]]; then\n        \
                    _describe -o option options -S ''\n    \
                elif (( $#commands )); then\n        \
                    _describe command commands\n    \
                else\n        \
                    _files\n    \
                fi\n\
            }\n\
            _duramen \"$@\"\n";
    out
}

fn fish() -> String {
    let all = commands();
    let mut out = String::from("# fish completion for duramen: 'duramen completions fish' has made it.\n");
    let quoted = |text: &str| format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"));
    let tops = commands_of(&all, None).join(" ");
    let none = format!("not __fish_seen_subcommand_from {tops}");
    let _ = writeln!(out, "complete -c duramen -n '{none}' -l help -d 'tell the commands'");
    let _ = writeln!(out, "complete -c duramen -n '{none}' -l version -d 'tell the version'");
    for command in &all {
        let word = command.name.rsplit(' ').next().unwrap_or_default();
        let condition = match command.parent() {
            None => none.clone(),
            Some(parent) => {
                let others = commands_of(&all, Some(parent)).join(" ");
                format!("__fish_seen_subcommand_from {parent}; and not __fish_seen_subcommand_from {others}")
            }
        };
        let summary = quoted(&command.summary());
        let _ = writeln!(out, "complete -c duramen -n '{condition}' -f -a {word} -d {summary}");
        let condition = match command.parent() {
            None => format!("__fish_seen_subcommand_from {word}"),
            Some(parent) => {
                format!("__fish_seen_subcommand_from {parent}; and __fish_seen_subcommand_from {word}")
            }
        };
        for option in command.options() {
            let value = if option.takes_value { " -r" } else { "" };
            let summary = quoted(&option.summary);
            let _ =
                writeln!(out, "complete -c duramen -n '{condition}' -l {}{value} -d {summary}", option.name);
        }
    }
    out
}
