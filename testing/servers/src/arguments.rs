//! The command line of the testing programs: `--name value`, and help.

use crate::Result;

/// Gives each option to `set`, which says if it knows the name. False if help was asked for, which
/// is printed.
pub fn options(args: &[String], help: &str, mut set: impl FnMut(&str, &str) -> Result<bool>) -> Result<bool> {
    let mut args = args.iter();
    while let Some(name) = args.next() {
        if matches!(name.as_str(), "help" | "--help" | "-h") {
            print!("{help}");
            return Ok(false);
        }
        let value = args.next().ok_or_else(|| format!("{name} wants a value\n{help}"))?;
        if !set(name, value)? {
            return Err(format!("no option is called `{name}`\n{help}").into());
        }
    }
    Ok(true)
}

/// A seed for runs that were given none.
pub fn seed_of_the_clock() -> Result<u64> {
    let clock = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?;
    Ok(u64::from(clock.subsec_nanos()))
}

/// For options of the form `name=yes`; anything else is an error that quotes it.
pub fn yes_or_no(value: &str) -> Result<bool> {
    match value {
        "yes" => Ok(true),
        "no" => Ok(false),
        other => Err(format!("neither yes nor no: `{other}`").into()),
    }
}
