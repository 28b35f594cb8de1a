//! The command line of `duramen probe`, and its help.

use super::ProbeError;
use std::path::PathBuf;
use std::time::Duration;
use stdx::suggest;

/// What `duramen probe --help` prints.
pub(crate) const HELP: &str = "\
Measures this machine and tells what full durability will cost on it: the rate of small commits to expect for 1 to 256
clients with each setting of sync_binlog and innodb_flush_log_at_trx_commit, and what a power cut would take.

    duramen probe                               the disk of ./duramen-data, or of this folder if there is none
    duramen probe /srv/duramen                  the disk of that folder
    duramen probe --server=127.0.0.1:3306       loads that server too, and shows predicted beside measured
    duramen probe --svg=probe.svg               draws the plot into a file as well

It writes small pieces and flushes them, alone and several at a time; then it starts a server of its own on loopback and
counts what a round trip and a commit take of the processor. All its files are in one folder of the measured one,
duramen-probe-PROCESS, take less than 200 MiB, and are removed at the end, also after Ctrl-C. Other work on the machine
is part of what is measured: on a busy one the figures are lower, and spread.

    --time=SECONDS      how long to measure, 2 to 60; 10 unless told. --server takes about as long once more
    --server=HOST:PORT  a server whose data are on the measured disk, on this machine if round trips shall agree. The
                        probe makes a database duramen_probe_PROCESS there, commits rows to it, and drops it. Settings
                        are left as they are: the prediction is for those that it has
    --user=NAME         whom to log in as there; root unless told. It has to make and drop databases
    --password=TEXT     its password; MYSQL_PWD in the environment otherwise
    --svg=FILE          where to draw the plot, on log axes
    --help              this text

How the rate is computed: docs/probe.md.
";

/// What was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Arguments {
    /// The folder whose disk is measured.
    pub(super) folder: PathBuf,
    pub(super) time: Duration,
    /// HOST:PORT.
    pub(super) server: Option<String>,
    pub(super) user: String,
    pub(super) password: String,
    pub(super) svg: Option<PathBuf>,
}

const NAMES: [&str; 7] = ["time", "server", "user", "password", "svg", "datadir", "help"];

/// Understands the arguments after `duramen probe`; `None` if they ask for help.
pub(super) fn parse(args: &[String]) -> Result<Option<Arguments>, ProbeError> {
    let mut folder = None;
    let mut found = Arguments {
        folder: PathBuf::new(),
        time: Duration::from_secs(10),
        server: None,
        user: "root".into(),
        password: String::new(),
        svg: None,
    };
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        if matches!(&**arg, "--help" | "-h" | "-?") {
            return Ok(None);
        }
        let Some(option) = arg.strip_prefix("--") else {
            if arg.starts_with('-') || folder.replace(PathBuf::from(arg)).is_some() {
                return Err(wrong(format!("'{arg}' is no option, and one folder is measured at a time")));
            }
            continue;
        };
        let (name, value) = match option.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (option, rest.next().cloned()),
        };
        if !NAMES.contains(&name) {
            let hint = suggest::nearest(name, NAMES).map(|n| format!("; did you mean '--{n}'?"));
            return Err(wrong(format!("unknown option '--{name}'{}", hint.unwrap_or_default())));
        }
        let value = value.ok_or_else(|| wrong(format!("option '--{name}' needs a value")))?;
        match name {
            "time" => found.time = seconds(&value)?,
            "server" => found.server = Some(value),
            "user" => found.user = value,
            "password" => found.password = value,
            "svg" => found.svg = Some(value.into()),
            "datadir" => folder = Some(value.into()),
            _ => return Err(wrong(format!("'--{name}' takes no value"))),
        }
    }
    found.folder = folder.unwrap_or_default();
    Ok(Some(found))
}

fn seconds(value: &str) -> Result<Duration, ProbeError> {
    let seconds = value.parse().ok().filter(|s| (2.0..=60.0).contains(s));
    seconds
        .map(Duration::from_secs_f64)
        .ok_or_else(|| wrong(format!("'{value}' is no value for --time: a number of seconds, 2 to 60")))
}

fn wrong(text: String) -> ProbeError {
    ProbeError::Options(format!("{text}; 'duramen probe --help' tells more"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn parsed(text: &str) -> Result<Option<Arguments>, String> {
        let args: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        parse(&args).map_err(|e| e.to_string())
    }

    #[test]
    fn options_may_come_in_both_forms() {
        let found = parsed("--time=3 /data --server 127.0.0.1:3306 --svg a.svg --user=bob").unwrap().unwrap();
        assert_eq!(found.folder, PathBuf::from("/data"));
        assert_eq!((found.time, found.user.as_str()), (Duration::from_secs(3), "bob"));
        assert_eq!(found.server.as_deref(), Some("127.0.0.1:3306"));
        assert_eq!(parsed("--time=3 --help"), Ok(None));
    }

    #[test]
    fn mistakes_are_told_with_a_way_out() {
        let check = |text, expected: &str| {
            let error = parsed(text).unwrap_err();
            assert!(error.contains(expected) && error.contains("duramen probe --help"), "{error}");
        };
        check("--tine=3", "did you mean '--time'?");
        check("--time=0.1", "2 to 60");
        check("--time", "needs a value");
        check("/a /b", "one folder");
        check("-x", "'-x' is no option");
    }
}
