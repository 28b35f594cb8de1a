//! The drivers that `crates/server/tests/drivers.rs` talks to the server with.
//! `cargo xtask drivers` fetches what is missing; so does `cargo xtask test`.

use crate::{Result, languages, packages};
use std::fs;

const SOURCES: &str = "crates/server/tests/drivers";

/// Fetches what is missing and builds the programs of compiled languages.
pub fn run() -> Result<()> {
    packages::ensure(packages::FOR_LANGUAGES)?;
    packages::ensure_libraries(&["python3-pymysql", "python3-mysqldb"])?;
    let sources = fs::canonicalize(SOURCES)?;
    let folder = languages::folder("drivers")?;
    languages::python(&["mysql-connector-python==26.10.0"], "mysql/connector", &folder.join("python"))?;
    languages::node(&sources.join("node"), "mysql2", &folder.join("node"))?;
    languages::java(&sources.join("java"), &folder.join("java"))?;
    languages::go(&sources.join("go"), &folder.join("go/driver"))?;
    languages::rust(&sources.join("rust"), &folder.join("rust"))
}
