//! Where programs are: those of others on the PATH, the server of this project next to the program
//! that runs.

use crate::Result;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The full path of a program on the PATH or in the system's folders for servers.
pub fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var("PATH").unwrap_or_default();
    path.split(':')
        .chain(["/usr/sbin", "/usr/local/sbin"])
        .map(|d| Path::new(d).join(name))
        .find(|p| p.is_file())
}

/// The binary `duramen` of the build that the running program is of: next to it, or one folder up
/// from a test.
pub fn duramen() -> Result<PathBuf> {
    let program = std::env::current_exe()?;
    let found = program.ancestors().skip(1).take(2).map(|d| d.join("duramen")).find(|p| p.is_file());
    found.ok_or_else(|| "build the server first: `cargo build --bin duramen`, in the same profile".into())
}

/// MySQL's server: the program that `DURAMEN_MYSQLD` names, or `mysqld` on the PATH where that is
/// not MariaDB's by its old name.
///
/// # Errors
/// The reason why there is none, for the log of what was not tested.
pub fn mysqld() -> Result<PathBuf> {
    let named = std::env::var_os("DURAMEN_MYSQLD").map(PathBuf::from);
    let program = named
        .or_else(|| find("mysqld"))
        .ok_or("no MySQL at hand: DURAMEN_MYSQLD names none, and no `mysqld` is on the PATH")?;
    let told = Command::new(&program).args(["--no-defaults", "--version"]).output();
    let told = told.map_err(|e| format!("no MySQL at hand: {}: {e}", program.display()))?;
    let version = String::from_utf8_lossy(&told.stdout);
    if !told.status.success() || !version.contains("Ver ") || version.contains("MariaDB") {
        return Err(format!("no MySQL at hand: {} says {:?}", program.display(), version.trim()).into());
    }
    Ok(program)
}
