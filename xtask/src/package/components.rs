//! What the program is made of: which crates, of which licences, with which known faults.
//!
//! - `cargo auditable` builds the program with the list of its crates inside, which scanners of
//!   packages and images read.
//! - `cargo cyclonedx` writes the same as a bill of materials (SBOM), which the package has.
//! - `cargo deny` holds both against `deny.toml`.
//!
//! Each is a program of its own that `cargo install` brings; what is missing is said with the
//! command that installs it.

use super::deb::done;
use crate::Result;
use std::path::Path;
use std::process::{Command, Stdio};

/// What the bills are called while they are made.
const BILL: &str = "duramen-bill";

/// Builds in this way, so that the program lists its crates.
pub(super) fn build_command() -> Result<Command> {
    installed("auditable")?;
    let mut build = Command::new(env!("CARGO"));
    build.args(["auditable", "build", "--locked"]);
    Ok(build)
}

/// Writes the bill of materials of the server, in CycloneDX's JSON.
///
/// # Errors
/// `cargo cyclonedx` is missing, or fails.
pub(super) fn write_bill(to: &Path) -> Result<()> {
    installed("cyclonedx")?;
    let mut write = Command::new(env!("CARGO"));
    write.args(["cyclonedx", "-qq", "--format", "json", "--override-filename", BILL]);
    // Neither the time nor a number of its own, so that the same sources give the same bytes.
    done(write.args(["--manifest-path", "crates/server/Cargo.toml"]).env("SOURCE_DATE_EPOCH", "0"))?;
    let file = format!("{BILL}.json");
    let bill = std::fs::read_to_string(Path::new("crates/server").join(&file));
    // It writes one into the folder of each crate of the workspace.
    for folder in ["crates", "testing"] {
        for member in std::fs::read_dir(folder)? {
            remove(&member?.path().join(&file))?;
        }
    }
    remove(&Path::new("xtask").join(&file))?;
    let here = std::env::current_dir()?;
    Ok(std::fs::write(to, bill?.replace(&*here.to_string_lossy(), "/duramen"))?)
}

fn remove(file: &Path) -> std::io::Result<()> {
    match std::fs::remove_file(file) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(()),
        outcome => outcome,
    }
}

/// Holds the dependencies against `deny.toml`. Advisories are left out, and that is said, where
/// their database can't be fetched.
///
/// # Errors
/// `cargo deny` is missing, or finds something.
pub(super) fn check() -> Result<()> {
    installed("deny")?;
    let deny = |what: &[&str]| Command::new(env!("CARGO")).args(["deny", "check"]).args(what).status();
    if !deny(&["licenses", "bans", "sources"])?.success() {
        return Err("`cargo deny` does not permit all dependencies".into());
    }
    let fetched = Command::new(env!("CARGO")).args(["deny", "fetch", "db"]).stderr(Stdio::null()).status()?;
    if !fetched.success() {
        println!("known faults were not looked for: RustSec's database can't be fetched from here");
        return Ok(());
    }
    match deny(&["advisories"])?.success() {
        true => Ok(()),
        false => Err("a dependency has a known fault".into()),
    }
}

/// # Errors
/// Cargo has no such command.
fn installed(command: &str) -> Result<()> {
    let asked = Command::new(env!("CARGO")).args([command, "--version"]).output()?;
    match asked.status.success() {
        true => Ok(()),
        false => {
            Err(format!("`cargo {command}` is missing: `cargo install cargo-{command} --locked` installs it")
                .into())
        }
    }
}
