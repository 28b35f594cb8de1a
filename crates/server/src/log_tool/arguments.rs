//! The command line of each command: options by name, and files.

use super::ToolError;
use binlog::gtid::GtidSet;
use env::UnixMicros;
use stdx::suggest;

/// An option that a command has.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Takes {
    /// `--name`.
    Nothing(&'static str),
    /// `--name=VALUE` or `--name VALUE`.
    Value(&'static str),
}

impl Takes {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Nothing(name) | Self::Value(name) => name,
        }
    }
}

/// What was given to a command.
#[derive(Debug, Default)]
pub(crate) struct Arguments {
    command: &'static str,
    options: Vec<(&'static str, String)>,
    /// What is no option: files.
    pub(crate) files: Vec<String>,
    /// How many `-v`.
    pub(crate) verbose: usize,
}

impl Arguments {
    /// Understands `args`; `short` are one-letter names, with the options that they stand for.
    pub(crate) fn parse(
        command: &'static str,
        args: &[String],
        options: &[Takes],
        short: &[(&str, &str)],
    ) -> Result<Self, ToolError> {
        let mut found = Self { command, ..Self::default() };
        let mut rest = args.iter();
        while let Some(arg) = rest.next() {
            if arg == "--" {
                found.files.extend(rest.by_ref().cloned());
            } else if matches!(arg.as_str(), "-v" | "--verbose") {
                found.verbose += 1;
            } else if arg == "-vv" {
                found.verbose += 2;
            } else if let Some((_, name)) = short.iter().find(|(letter, _)| arg == letter) {
                found.take(name, None, &mut rest, options)?;
            } else if let Some(option) = arg.strip_prefix("--") {
                match option.split_once('=') {
                    Some((name, value)) => found.take(name, Some(value), &mut rest, options)?,
                    None => found.take(option, None, &mut rest, options)?,
                }
            } else if arg.starts_with('-') && arg != "-" {
                return Err(found.wrong(format!("unknown option '{arg}'")));
            } else {
                found.files.push(arg.clone());
            }
        }
        Ok(found)
    }

    fn take(
        &mut self,
        name: &str,
        value: Option<&str>,
        rest: &mut std::slice::Iter<'_, String>,
        options: &[Takes],
    ) -> Result<(), ToolError> {
        // As MySQL's programs: an underscore is as good as a dash.
        let written = name.replace('_', "-");
        let Some(option) = options.iter().find(|o| o.name() == written) else {
            let names = options.iter().map(|o| o.name());
            let hint = suggest::nearest(&written, names).map(|n| format!("; did you mean '--{n}'?"));
            return Err(self.wrong(format!("unknown option '--{name}'{}", hint.unwrap_or_default())));
        };
        let value = match (option, value) {
            (Takes::Nothing(_), None) => String::new(),
            (Takes::Nothing(_), Some(_)) => return Err(self.wrong(format!("'--{name}' takes no value"))),
            (Takes::Value(_), Some(value)) => value.to_owned(),
            (Takes::Value(_), None) => {
                rest.next().cloned().ok_or_else(|| self.wrong(format!("option '--{name}' needs a value")))?
            }
        };
        self.options.push((option.name(), value));
        Ok(())
    }

    /// True if the option was given.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.options.iter().any(|(n, _)| *n == name)
    }

    /// The option's last value.
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        self.options.iter().rev().find(|(n, _)| *n == name).map(|(_, value)| value.as_str())
    }

    /// All values of an option that may be repeated.
    pub(crate) fn values(&self, name: &str) -> impl Iterator<Item = &str> {
        self.options.iter().filter(move |(n, _)| *n == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn number(&self, name: &str) -> Result<Option<u64>, ToolError> {
        let read = |value: &str| {
            value.parse().map_err(|_| self.wrong(format!("'{value}' is no value for --{name}: a number")))
        };
        self.value(name).map(read).transpose()
    }

    /// A number that can't be 0.
    pub(crate) fn positive(&self, name: &str) -> Result<Option<u64>, ToolError> {
        match self.number(name)? {
            Some(0) => Err(self.wrong(format!("--{name} is at least 1"))),
            number => Ok(number),
        }
    }

    pub(crate) fn gtids(&self, name: &str) -> Result<Option<GtidSet>, ToolError> {
        let read = |value: &str| {
            value.parse().map_err(|_| {
                self.wrong(format!("'{value}' is no value for --{name}: a GTID set, UUID:1-5 for instance"))
            })
        };
        self.value(name).map(read).transpose()
    }

    pub(crate) fn moment(&self, name: &str) -> Result<Option<UnixMicros>, ToolError> {
        let read = |value: &str| {
            moment(value).ok_or_else(|| {
                self.wrong(format!(
                    "'{value}' is no value for --{name}: a time in UTC, '2026-11-22 03:15:00.5' for instance"
                ))
            })
        };
        self.value(name).map(read).transpose()
    }

    /// Refuses a command line without files.
    pub(crate) fn need_files(&self) -> Result<(), ToolError> {
        if self.files.is_empty() {
            return Err(self.wrong("which files? Name binary log files, a data directory, or '-'".to_owned()));
        }
        Ok(())
    }

    /// A mistake, and where help is.
    pub(crate) fn wrong(&self, text: String) -> ToolError {
        const OWN: [&str; 13] = [
            "backup",
            "backup list",
            "backup prune",
            "backup run",
            "backup verify",
            "check",
            "check-schema",
            "compare",
            "failover",
            "repair",
            "replicate",
            "restore",
            "upgrade-check",
        ];
        let tool = if OWN.contains(&self.command) { "duramen" } else { "duramen binlog" };
        ToolError::Options(format!("{text}; '{tool} {} --help' tells more", self.command))
    }
}

/// `2026-11-22 03:15:00.5`, the date alone, or with `T` and `Z` as ISO 8601 has it, in UTC.
fn moment(text: &str) -> Option<UnixMicros> {
    let text = text.strip_suffix('Z').unwrap_or(text);
    let (date, time) = text.split_once([' ', 'T']).unwrap_or((text, "00:00:00"));
    let mut date = date.splitn(3, '-').map(|part| part.parse::<u32>());
    let (year, month, day) = (date.next()?.ok()?, date.next()?.ok()?, date.next()?.ok()?);
    let (time, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let mut time = time.splitn(3, ':').map(|part| part.parse::<u64>());
    let (hour, minute) = (time.next()?.ok()?, time.next()?.ok()?);
    let second = time.next().unwrap_or(Ok(0)).ok()?;
    let is_digits = fraction.len() <= 6 && fraction.bytes().all(|b| b.is_ascii_digit());
    let ok = (1970..=2105).contains(&year)
        && (1..=12).contains(&month)
        && (1..=days_in(year, month)).contains(&day);
    if !ok || !is_digits || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let micros: u64 = format!("{fraction:0<6}").parse().ok()?;
    let seconds =
        (days_before(year, month)? + u64::from(day) - 1) * 86_400 + hour * 3600 + minute * 60 + second;
    Some(seconds * 1_000_000 + micros)
}

fn is_leap(year: u32) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

/// Days of a month, 1 to 12.
fn days_in(year: u32, month: u32) -> u32 {
    match month {
        2 => 28 + u32::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970-01-01 to the first of a month.
fn days_before(year: u32, month: u32) -> Option<u64> {
    const BEFORE: [u64; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
    let leap_days =
        (1970..year).filter(|&y| is_leap(y)).count() as u64 + u64::from(month > 2 && is_leap(year));
    Some(u64::from(year - 1970) * 365 + leap_days + BEFORE.get(month as usize - 1)?)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const OPTIONS: [Takes; 2] = [Takes::Nothing("json"), Takes::Value("start-position")];

    fn parsed(text: &str) -> Result<Arguments, String> {
        let args: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        Arguments::parse("print", &args, &OPTIONS, &[("-j", "start-position")]).map_err(|e| e.to_string())
    }

    #[test]
    fn options_may_come_in_each_form() {
        let found = parsed("-vv a --json --start_position=5 -j 7 - -v").unwrap();
        assert!(found.has("json"));
        assert_eq!((found.verbose, found.number("start-position").unwrap()), (3, Some(7)));
        assert_eq!(found.files, ["a", "-"]);
        assert_eq!(parsed("-- --json").unwrap().files, ["--json"]);
    }

    #[test]
    fn mistakes_are_told_with_a_way_out() {
        let check = |text, expected: &str| {
            let error = parsed(text).unwrap_err();
            assert!(error.contains(expected) && error.contains("duramen binlog print --help"), "{error}");
        };
        check("--start-positon=3", "did you mean '--start-position'?");
        check("--json=1", "takes no value");
        check("--start-position", "needs a value");
        check("-x", "unknown option '-x'");
        assert!(parsed("-j x").unwrap().number("start-position").is_err());
    }

    #[test]
    fn times_are_read_in_utc() {
        let check = |text, expected: Option<u64>| assert_eq!(moment(text), expected, "{text}");
        check("1970-01-01", Some(0));
        check("1970-01-02 00:00:01", Some(86_401_000_000));
        check("2026-11-21T01:51:11.366707Z", Some(1_795_225_871_366_707));
        check("2026-11-21 01:51:11.3", Some(1_795_225_871_300_000));
        check("2000-03-01", Some(951_868_800_000_000));
        for bad in ["", "2026", "2026-13-01", "2026-01-01 25:00:00", "2026-01-01 1:2:3.1234567", "x-y-z"] {
            check(bad, None);
        }
    }
}
