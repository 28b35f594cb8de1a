//! The Debian package, made by `cargo deb` of the metadata in `crates/server/Cargo.toml`.

use super::components;
use crate::Result;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Cargo's folder for what is built.
pub(super) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from)
}

/// Builds the server, and has it write its manual and the completions of shells next to it, where
/// the package's metadata has them.
pub(super) fn build(profile: &str) -> Result<()> {
    compile(profile)?;
    let folder = target().join(if profile == "dev" { "debug" } else { profile });
    let print = |args: &[&str]| -> Result<Vec<u8>> {
        let output = Command::new(folder.join("duramen")).args(args).output()?;
        match output.status.success() {
            true => Ok(output.stdout),
            false => Err(format!("duramen {args:?}: {}", String::from_utf8_lossy(&output.stderr)).into()),
        }
    };
    for made in ["manual", "completions"] {
        let made = folder.join(made);
        if made.exists() {
            std::fs::remove_dir_all(&made)?;
        }
        std::fs::create_dir_all(&made)?;
    }
    for page in String::from_utf8(print(&["manual", "--list"])?)?.lines() {
        let file = folder.join(format!("manual/{page}.1"));
        std::fs::write(&file, print(&["manual", page])?)?;
        // Without name and time, so that the same page gives the same bytes.
        done(Command::new("gzip").arg("-9n").arg(file))?;
    }
    components::write_bill(&folder.join("duramen.cdx.json"))?;
    for (shell, file) in [("bash", "duramen"), ("zsh", "_duramen"), ("fish", "duramen.fish")] {
        std::fs::write(folder.join("completions").join(file), print(&["completions", shell])?)?;
    }
    Ok(())
}

fn compile(profile: &str) -> Result<()> {
    let mut build = components::build_command()?;
    done(build.args(["--profile", profile, "-p", "server", "--bin", "duramen"]))
}

/// Packs what was built with this profile; the package's path.
pub(super) fn package(profile: &str, version: Option<&str>) -> Result<PathBuf> {
    let is_there = Command::new(env!("CARGO")).args(["deb", "--version"]).output()?.status.success();
    if !is_there {
        return Err("`cargo deb` is missing: `cargo install cargo-deb --locked` installs it".into());
    }
    let into = target().join("package");
    std::fs::create_dir_all(&into)?;
    let mut command = Command::new(env!("CARGO"));
    command.args(["deb", "--quiet", "--no-build", "--strip", "-p", "server", "--profile", profile, "-o"]);
    command.arg(&into).args(version.map(|v| format!("--deb-version={v}")));
    let output = command.output()?;
    if !output.status.success() {
        return Err(format!("cargo deb failed: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    let path = String::from_utf8(output.stdout)?.lines().last().map(PathBuf::from);
    let path = path.filter(|path| path.is_file());
    path.ok_or_else(|| "cargo deb did not say where the package is".into())
}

/// The same package with a higher version and another `my.cnf`: its path.
pub(super) fn newer(package: &Path) -> Result<PathBuf> {
    let folder = tempfile::tempdir()?;
    done(Command::new("dpkg-deb").arg("-R").arg(package).arg(folder.path()))?;
    let change = |file: &str, change: &dyn Fn(&str) -> String| -> Result<()> {
        let path = folder.path().join(file);
        Ok(std::fs::write(&path, change(&std::fs::read_to_string(&path)?))?)
    };
    let version = format!("Version: {}", field(package, "Version")?);
    change("DEBIAN/control", &|text| text.replace(&version, &format!("{version}+newer")))?;
    change("etc/duramen/my.cnf", &|text| format!("{text}\n# A newer default.\n"))?;
    let newer = target().join("package/newer.deb");
    done(Command::new("dpkg-deb").args(["--root-owner-group", "-b"]).arg(folder.path()).arg(&newer))?;
    Ok(newer)
}

/// What `dpkg-deb` says of a field of a package.
pub(super) fn field(package: &Path, name: &str) -> Result<String> {
    let output = Command::new("dpkg-deb").arg("-f").arg(package).arg(name).output()?;
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

/// Runs a command to its end, which has to be a good one.
pub(super) fn done(command: &mut Command) -> Result<()> {
    let status = command.status()?;
    if status.success() { Ok(()) } else { Err(format!("{command:?}: {status}").into()) }
}
