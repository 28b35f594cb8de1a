//! A clean root folder with a minimal Debian, to install packages in.

use super::deb::{done, target};
use crate::Result;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// A root folder, which goes when this is dropped.
pub(super) struct Root {
    folder: TempDir,
}

/// A minimal Debian of this machine's release with these packages, which the first call makes in
/// the folder of this name in `target/package`.
///
/// # Errors
/// Debian's archive can't be reached, or this is not root.
pub(super) fn minimal_system(name: &str, include: &str) -> Result<PathBuf> {
    let base = target().join("package").join(name);
    let complete = target().join("package").join(format!("{name}.complete"));
    if std::fs::read_to_string(&complete).is_ok_and(|there| there == include) {
        return Ok(base);
    }
    let release = std::fs::read_to_string("/etc/os-release")?;
    let codename = release.lines().find_map(|line| line.strip_prefix("VERSION_CODENAME="));
    let codename = codename.ok_or("no Debian: /etc/os-release has no VERSION_CODENAME")?;
    println!("making a minimal {codename} in {}", base.display());
    if base.exists() {
        std::fs::remove_dir_all(&base)?;
    }
    let include_option = format!("--include={include}");
    let args = ["--variant=minbase", &include_option, codename];
    done(Command::new("debootstrap").args(args).arg(&base).stdout(std::process::Stdio::null()))?;
    std::fs::write(complete, include)?;
    Ok(base)
}

impl Root {
    /// Copies the minimal system, which the first call makes in `target/package`.
    ///
    /// # Errors
    /// Debian's archive can't be reached, or this is not root.
    pub(super) fn new() -> Result<Self> {
        let base = minimal_system("base", "adduser,init-system-helpers")?;
        // A short path: those of sockets are limited.
        let folder = tempfile::Builder::new().prefix("duramen").tempdir()?;
        done(Command::new("cp").arg("-a").arg(base.join(".")).arg(folder.path()))?;
        Ok(Self { folder })
    }

    /// A path in it, as seen from outside.
    pub(super) fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join(path.trim_start_matches('/'))
    }

    /// A command that runs in it, in mounts of its own, as this user and group.
    pub(super) fn command(&self, user: &str) -> Command {
        let mut command = Command::new("unshare");
        let script = "mount --bind /proc \"$1/proc\"; root=$1; user=$2; shift 2; \
                      exec chroot --userspec=\"$user:$user\" \"$root\" \"$@\"";
        command.args(["--mount", "--propagation", "private", "sh", "-ec", script, "sh"]);
        command.arg(self.folder.path()).arg(user);
        command.env_clear();
        command.envs([
            ("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"),
            ("LC_ALL", "C"),
            ("DEBIAN_FRONTEND", "noninteractive"),
        ]);
        command
    }

    /// Runs a command in it as root, to its end.
    pub(super) fn run(&self, args: &[&str]) -> Result<Output> {
        Ok(self.command("root").args(args).output()?)
    }

    /// Calls dpkg: what it printed.
    ///
    /// # Errors
    /// It failed.
    pub(super) fn dpkg(&self, args: &[&str]) -> Result<String> {
        let output = self.run(&[&["dpkg"], args].concat())?;
        let text = String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned();
        print!("{text}");
        if output.status.success() { Ok(text) } else { Err(format!("dpkg {args:?} failed").into()) }
    }

    /// Copies a package into it and installs that.
    pub(super) fn install(&self, package: &Path) -> Result<String> {
        self.install_with(package, &[])
    }

    /// The same, with options for dpkg.
    pub(super) fn install_with(&self, package: &Path, options: &[&str]) -> Result<String> {
        std::fs::copy(package, self.at("/package.deb"))?;
        self.dpkg(&[options, &["-i", "/package.deb"]].concat())
    }

    /// Mode and owner of a file, as `640 root:duramen`.
    pub(super) fn mode(&self, path: &str) -> Result<String> {
        let output = self.run(&["stat", "-c", "%a %U:%G", path])?;
        Ok(String::from_utf8(output.stdout)?.trim().to_owned())
    }
}
