//! The drivers that `crates/server/tests/drivers.rs` talks to the server with: each comes by its language's own package
//! manager, into a folder of the build. `cargo xtask drivers` fetches what is missing; so does `cargo xtask test`.

use crate::{Result, packages};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const SOURCES: &str = "crates/server/tests/drivers";

/// Fetches what is missing and builds the programs of compiled languages.
pub fn run() -> Result<()> {
    packages::ensure(packages::FOR_DRIVERS)?;
    packages::ensure_libraries(&["python3-pymysql", "python3-mysqldb"])?;
    let sources = fs::canonicalize(SOURCES)?;
    let folder = folder();
    fs::create_dir_all(&folder)?;
    let folder = fs::canonicalize(folder)?;
    python(&folder.join("python"))?;
    node(&sources.join("node"), &folder.join("node"))?;
    java(&sources.join("java"), &folder.join("java"))?;
    go(&sources.join("go"), &folder.join("go"))?;
    rust(&sources.join("rust"), &folder.join("rust"))
}

/// Where cargo lets integration tests keep things.
fn folder() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    target.join("tmp/drivers")
}

fn python(folder: &Path) -> Result<()> {
    const PACKAGE: &str = "mysql-connector-python==26.10.0";
    if folder.join("mysql/connector").exists() {
        return Ok(());
    }
    let target = format!("--target={}", folder.display());
    // Debian's interpreter: the packages of its drivers are for that one.
    command("/usr/bin/python3", &["-m", "pip", "install", "--quiet", "--no-deps", &target, PACKAGE], folder)
}

fn node(sources: &Path, folder: &Path) -> Result<()> {
    if folder.join("node_modules/mysql2").exists() {
        return Ok(());
    }
    fs::create_dir_all(folder)?;
    for file in ["package.json", "package-lock.json"] {
        fs::copy(sources.join(file), folder.join(file))?;
    }
    command("npm", &["ci", "--silent", "--no-audit", "--no-fund"], folder)
}

fn java(sources: &Path, folder: &Path) -> Result<()> {
    if folder.exists() {
        return Ok(());
    }
    let output = format!("-DoutputDirectory={}", folder.display());
    command("mvn", &["-q", "-B", "dependency:copy-dependencies", &output], sources)
}

fn go(sources: &Path, folder: &Path) -> Result<()> {
    let program = folder.join("driver");
    command("go", &["build", "-o", &program.to_string_lossy(), "."], sources)
}

fn rust(sources: &Path, folder: &Path) -> Result<()> {
    let target = folder.to_string_lossy();
    command(env!("CARGO"), &["build", "--quiet", "--locked", "--target-dir", &target], sources)
}

fn command(program: &str, args: &[&str], folder: &Path) -> Result<()> {
    println!("{program} {}", args.join(" "));
    let folder = if folder.exists() { folder } else { Path::new(".") };
    let done = Command::new(program).args(args).current_dir(folder).stdout(Stdio::null()).status();
    match done {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err(format!("`{program} {}` failed", args.join(" ")).into()),
        Err(e) => Err(format!("{program}: {e}").into()),
    }
}
