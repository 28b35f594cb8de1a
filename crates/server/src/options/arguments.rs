//! The command line, cut into options.
//!
//! `--name=value`, `--name value` where a value is needed, and `--name` alone; `-` and `_` are the
//! same. mysqld's short forms that still make sense here: `-P port`, `-?` (also `-h`), `-V`, `-v`.

use super::{OptionsError, Origin, Written, names};

pub(super) fn parse(args: &[String]) -> Result<Vec<Written>, OptionsError> {
    let mut found = Vec::new();
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        let (name, mut value) = cut(arg)?;
        if value.is_none() && names::needs_value(&name) {
            value = rest.next().cloned();
            if value.is_none() {
                return Err(OptionsError::Other(format!("option '--{name}' needs a value")));
            }
        }
        found.push(Written { name, value, origin: Origin::CommandLine });
    }
    Ok(found)
}

fn cut(arg: &str) -> Result<(String, Option<String>), OptionsError> {
    if let Some(long) = arg.strip_prefix("--").filter(|long| !long.is_empty()) {
        return Ok(match long.split_once('=') {
            Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
            None => (long.to_owned(), None),
        });
    }
    let short = |name: &str| Ok((name.to_owned(), None));
    match arg {
        "-?" | "-h" => short("help"),
        "-V" => short("version"),
        "-v" => short("verbose"),
        "-P" => short("port"),
        _ if arg.starts_with("-P") => Ok(("port".into(), Some(arg[2..].to_owned()))),
        _ => Err(OptionsError::Other(format!(
            "'{arg}' is no option; options are written --name=value, and 'duramen serve --help' lists them"
        ))),
    }
}
