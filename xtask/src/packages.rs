//! The programs of others that tests and benchmarks run, installed from Debian's packages where
//! they are missing.

use crate::Result;
use servers::find;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// A program and the package that brings it.
pub struct Program {
    name: &'static str,
    package: &'static str,
}

/// A program, and the package that brings it.
pub const fn program(name: &'static str, package: &'static str) -> Program {
    Program { name, package }
}

/// What the tests run.
pub const FOR_TESTS: &[Program] = &[
    program("mariadb", "mariadb-client"),
    program("mariadb-slap", "mariadb-client"),
    program("mariadb-binlog", "mariadb-server-core"),
    program("mariadbd", "mariadb-server"),
    program("mydumper", "mydumper"),
    program("sysbench", "sysbench"),
    program("strace", "strace"),
    program("pt-online-schema-change", "percona-toolkit"),
    program("chromium", "chromium"),
    program("cc", "gcc"),
    program("cmake", "cmake"),
];

/// What the benchmarks run.
pub const FOR_BENCH: &[Program] = &[
    program("mariadb", "mariadb-client"),
    program("mariadb-slap", "mariadb-client"),
    program("mariadbd", "mariadb-server"),
    program("mariadb-install-db", "mariadb-server"),
    program("mariadb-dump", "mariadb-client"),
    program("sysbench", "sysbench"),
    program("cc", "gcc"),
    program("valgrind", "valgrind"),
];

/// What programs of other languages are made and run with.
pub const FOR_LANGUAGES: &[Program] = &[
    program("/usr/bin/python3", "python3"),
    program("pip3", "python3-pip"),
    program("node", "nodejs"),
    program("npm", "npm"),
    program("go", "golang-go"),
    program("java", "default-jdk-headless"),
    program("mvn", "maven"),
];

/// Installs libraries by their packages' names, unless dpkg has them.
pub fn ensure_libraries(names: &[&str]) -> Result<()> {
    let is_there = |name: &&str| {
        let state = Command::new("dpkg-query").args(["-W", "-f=${db:Status-Status}", name]).output();
        state.is_ok_and(|o| o.stdout == b"installed")
    };
    let missing: Vec<&str> = names.iter().copied().filter(|name| !is_there(name)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    println!("installing {}", missing.join(", "));
    apt(&["update", "-qq"])?;
    apt(&[&["install", "-y", "-qq", "--no-install-recommends"], &missing[..]].concat())
}

/// Unpacks packages into `folder`, unless they are there; nothing of them is configured or started.
pub fn unpack(names: &[&str], folder: &Path) -> Result<()> {
    let unpacked = folder.join("unpacked");
    if fs::read_to_string(&unpacked).is_ok_and(|there| there == names.join(" ")) {
        return Ok(());
    }
    println!("unpacking {}", names.join(", "));
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    let downloads = folder.join("downloads");
    fs::create_dir_all(&downloads)?;
    apt(&["update", "-qq"])?;
    let done = Command::new("apt-get")
        .args(["download", "-qq"])
        .args(names)
        .current_dir(&downloads)
        .stderr(Stdio::null())
        .status()?;
    if !done.success() {
        return Err(format!("apt-get download {} failed", names.join(" ")).into());
    }
    for package in fs::read_dir(&downloads)? {
        let done = Command::new("dpkg-deb").arg("-x").arg(package?.path()).arg(folder).status()?;
        if !done.success() {
            return Err("dpkg-deb failed".into());
        }
    }
    fs::write(unpacked, names.join(" "))?;
    Ok(())
}

/// Installs what is missing of `programs`; says what it does. Needs root (or `sudo`) only then.
pub fn ensure(programs: &[Program]) -> Result<()> {
    let mut missing: Vec<_> = programs.iter().filter(|p| find(p.name).is_none()).map(|p| p.package).collect();
    missing.sort_unstable();
    missing.dedup();
    if missing.is_empty() {
        return Ok(());
    }
    println!("installing {}", missing.join(", "));
    // A server that the package would start on its own is not wanted: policy-rc.d is Debian's way
    // to say so.
    apt(&["update", "-qq"])?;
    let mut install = vec!["install", "-y", "-qq", "--no-install-recommends"];
    install.extend(missing);
    apt(&install)?;
    match programs.iter().find(|p| find(p.name).is_none()) {
        Some(p) => Err(format!("`{}` is still missing after installing {}", p.name, p.package).into()),
        None => Ok(()),
    }
}

fn apt(args: &[&str]) -> Result<()> {
    let mut command = if is_root() { Command::new("apt-get") } else { Command::new("sudo") };
    if !is_root() {
        command.arg("apt-get");
    }
    let done = command.args(args).env("DEBIAN_FRONTEND", "noninteractive").stdout(Stdio::null()).status()?;
    if done.success() { Ok(()) } else { Err(format!("apt-get {} failed", args.join(" ")).into()) }
}

fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|o| o.stdout.trim_ascii() == b"0")
}
