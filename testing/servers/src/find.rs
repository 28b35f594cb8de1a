//! Where programs are: those of others on the PATH, the server of this project beside the program that runs.

use crate::Result;
use std::path::{Path, PathBuf};

/// The full path of a program on the PATH or in the system's folders for servers.
pub fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var("PATH").unwrap_or_default();
    path.split(':')
        .chain(["/usr/sbin", "/usr/local/sbin"])
        .map(|d| Path::new(d).join(name))
        .find(|p| p.is_file())
}

/// The binary `duramen` of the build that the running program is of: beside it, or one folder up from a test.
pub fn duramen() -> Result<PathBuf> {
    let program = std::env::current_exe()?;
    let found = program.ancestors().skip(1).take(2).map(|d| d.join("duramen")).find(|p| p.is_file());
    found.ok_or_else(|| "build the server first: `cargo build --bin duramen`, in the same profile".into())
}
