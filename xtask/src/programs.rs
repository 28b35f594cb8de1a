//! Chores that are programs of their own in `testing/`: built with the server, as tests are, and
//! run with the arguments as they are.

use crate::{Result, packages};
use std::path::Path;
use std::process::Command;

/// Runs the program of this name. `--profile NAME` chooses another build than `profile`.
pub fn run(name: &str, profile: &str, args: &[String]) -> Result<()> {
    packages::ensure(packages::FOR_TESTS)?;
    let (profile, args) = match args {
        [flag, profile, rest @ ..] if flag == "--profile" => (profile.as_str(), rest),
        all => (profile, all),
    };
    let build = ["build", "--profile", profile, "--bin", "duramen", "--bin", name];
    if !Command::new(env!("CARGO")).args(build).status()?.success() {
        return Err(format!("building {name} failed").into());
    }
    let folder = if profile == "dev" { "debug" } else { profile };
    let program = Path::new("target").join(folder).join(name);
    if Command::new(program).args(args).status()?.success() {
        Ok(())
    } else {
        Err(format!("{name} failed").into())
    }
}
