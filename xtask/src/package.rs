//! `cargo xtask package`: what users install.
//!
//! - `deb`   the Debian package, in `target/package` ([`deb`]).
//! - `test`  the package installed, used, upgraded, removed and purged in a clean root ([`trial`]).
//! - `systemd-test`  the same where systemd has booted, in a container ([`booted`]).
//! - `image`  the OCI image, in `target/package` ([`image`]).
//! - `image-test`  a container of it: refused, used, stopped, backed up ([`container`]).
//!
//! - `licences`  whether all dependencies have licences and sources that `deny.toml` permits, and no
//!   known fault ([`components`]).
//!
//! What goes into the package is listed in `crates/server/Cargo.toml`; its own files are in
//! `packaging`.

mod booted;
mod components;
mod container;
mod deb;
mod image;
mod root;
mod service;
mod syscalls;
mod trial;

use crate::Result;

const HELP: &str = "\
cargo xtask package deb          the Debian package of this machine's architecture, in target/package
cargo xtask package test         the package in a clean root: installed, used, upgraded, removed, purged. Needs root
cargo xtask package systemd-test   the package in a Debian that systemd has booted, in a container. Needs root
cargo xtask package image        the OCI image, an archive in target/package
cargo xtask package image-test   a container of the image, run by podman. Needs root
cargo xtask package licences     what deny.toml permits of dependencies: licences, sources, known faults
    --profile=NAME               builds with this profile: release, or for the tests checked
    --deb-version=VERSION        of the package, if not the workspace's version
";

/// What the command line says.
struct Asked {
    profile: Option<String>,
    version: Option<String>,
}

/// Does what `args` ask.
pub fn run(args: &[String]) -> Result<()> {
    let mut asked = Asked { profile: None, version: None };
    for arg in args.iter().skip(1) {
        match arg.split_once('=') {
            Some(("--profile", name)) => asked.profile = Some(name.to_owned()),
            Some(("--deb-version", version)) => asked.version = Some(version.to_owned()),
            _ => return Err(format!("`cargo xtask package` knows no `{arg}`\n{HELP}").into()),
        }
    }
    match args.first().map(String::as_str) {
        Some("deb") => {
            let profile = asked.profile.as_deref().unwrap_or("release");
            deb::build(profile)?;
            println!("{}", deb::package(profile, asked.version.as_deref())?.display());
            Ok(())
        }
        Some("test") => trial::run(asked.profile.as_deref().unwrap_or("checked")),
        Some("systemd-test") => booted::run(asked.profile.as_deref().unwrap_or("checked")),
        Some("image") => {
            println!("{}", image::build(asked.profile.as_deref().unwrap_or("release"))?.display());
            Ok(())
        }
        Some("image-test") => container::run(asked.profile.as_deref().unwrap_or("checked")),
        Some("licences") => components::check(),
        None | Some("help" | "--help" | "-h") => {
            print!("{HELP}");
            Ok(())
        }
        Some(other) => Err(format!("`cargo xtask package` knows no `{other}`\n{HELP}").into()),
    }
}

/// Says which part of a test begins.
fn step(what: &str) {
    println!("== {what}");
}

/// Says what a test has seen; an error if it is not so.
fn expect(is_so: bool, what: &str) -> Result<()> {
    match is_so {
        true => {
            println!("  ok: {what}");
            Ok(())
        }
        false => Err(format!("not so: {what}").into()),
    }
}
