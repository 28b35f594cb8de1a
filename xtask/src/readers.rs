//! The change readers that `testing/followers/tests/readers.rs` runs as followers of the server.
//! `cargo xtask readers` fetches what is missing; so does `cargo xtask test`.

use crate::{Result, languages, packages};
use std::fs;

const SOURCES: &str = "testing/followers/readers";

/// Fetches what is missing and builds the programs of compiled languages.
pub fn run() -> Result<()> {
    packages::ensure(packages::FOR_LANGUAGES)?;
    // What pymysql asks for where a password goes over a connection without TLS.
    packages::ensure_libraries(&["python3-cryptography"])?;
    let sources = fs::canonicalize(SOURCES)?;
    let folder = languages::folder("readers")?;
    let python = ["mysql-replication==1.0.17", "PyMySQL==1.1.1", "packaging==24.2"];
    languages::python(&python, "pymysqlreplication", &folder.join("python"))?;
    languages::node(&sources.join("node"), "@vlasky/zongji", &folder.join("node"))?;
    languages::java(&sources.join("java"), &folder.join("java"))?;
    languages::go(&sources.join("go"), &folder.join("go/reader"))
}
