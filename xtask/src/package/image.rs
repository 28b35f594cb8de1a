//! The OCI image: a static program on an empty root, made by `buildah` of `packaging/image`.
//!
//! The program is linked statically against the C library of this machine. Host names are resolved
//! by that library's own `files` and `dns`, which need no other file since glibc 2.34.

use super::components;
use super::deb::{done, target};
use crate::Result;
use crate::packages::{self, Program, program};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The name that the image has in its archive.
pub(super) const NAME: &str = "localhost/duramen";

const PROGRAMS: &[Program] = &[program("buildah", "buildah"), program("strip", "binutils")];

/// The target that is linked statically.
fn triple() -> String {
    format!("{}-unknown-linux-gnu", std::env::consts::ARCH)
}

/// Builds the program and the image, an `oci-archive`: its path.
///
/// # Errors
/// A build fails; `buildah` can't be installed.
pub(super) fn build(profile: &str) -> Result<PathBuf> {
    packages::ensure(PROGRAMS)?;
    let program = compile(profile)?;
    let into = target().join("package");
    let context = into.join("image");
    if context.exists() {
        std::fs::remove_dir_all(&context)?;
    }
    let root = context.join("root");
    for folder in ["root/usr/bin", "root/etc/duramen", "root/tmp", "data", "run"] {
        std::fs::create_dir_all(context.join(folder))?;
    }
    done(Command::new("strip").arg("-o").arg(root.join("usr/bin/duramen")).arg(program))?;
    done(Command::new("chmod").arg("1777").arg(root.join("tmp")))?;
    std::fs::copy("packaging/image/my.cnf", root.join("etc/duramen/my.cnf"))?;
    std::fs::write(
        root.join("etc/passwd"),
        "root:x:0:0:root:/:/sbin/nologin\nduramen:x:999:999:Duramen:/var/lib/duramen:/sbin/nologin\n",
    )?;
    std::fs::write(root.join("etc/group"), "root:x:0:\nduramen:x:999:\n")?;
    let storage = Storage::new(&into)?;
    let mut build = storage.buildah();
    // No user namespaces and no network are needed: nothing runs while it is built.
    build.args(["build", "--isolation", "chroot", "--timestamp", "0", "--tag", NAME, "--file"]);
    done(build.arg("packaging/image/Containerfile").arg(&context))?;
    let archive = into.join(format!("duramen-{}-oci.tar", env!("CARGO_PKG_VERSION")));
    if archive.exists() {
        std::fs::remove_file(&archive)?;
    }
    let to = format!("oci-archive:{}:{NAME}:{}", archive.display(), env!("CARGO_PKG_VERSION"));
    done(storage.buildah().args(["push", NAME, &to]))?;
    Ok(archive)
}

fn compile(profile: &str) -> Result<PathBuf> {
    let triple = triple();
    let mut build = components::build_command()?;
    build.args(["--profile", profile, "-p", "server", "--bin", "duramen", "--target", &triple]);
    let flags = format!("CARGO_TARGET_{}_RUSTFLAGS", triple.to_uppercase().replace('-', "_"));
    done(build.env(flags, "-C target-feature=+crt-static"))?;
    Ok(target().join(triple).join(if profile == "dev" { "debug" } else { profile }).join("duramen"))
}

/// Where images are while they are built and tried: the machine's own are not touched.
pub(super) struct Storage {
    root: PathBuf,
    run: PathBuf,
}

impl Storage {
    /// In the folder for packages.
    pub(super) fn new(packages: &Path) -> Result<Self> {
        // Podman hands paths on to programs in other folders.
        let packages = std::path::absolute(packages)?;
        Ok(Self { root: packages.join("images"), run: packages.join("images-run") })
    }

    /// The builder of images, on this storage alone.
    pub(super) fn buildah(&self) -> Command {
        self.command("buildah")
    }

    /// What runs containers, of the images of this storage.
    pub(super) fn podman(&self) -> Command {
        self.command("podman")
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.arg("--root").arg(&self.root).arg("--runroot").arg(&self.run);
        command
    }
}
