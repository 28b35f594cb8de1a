//! What programs of other languages need, by each language's own package manager, into a folder of
//! the build. What is there is left alone.

use crate::Result;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Where cargo lets integration tests keep things.
pub fn folder(name: &str) -> Result<PathBuf> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    let folder = target.join("tmp").join(name);
    fs::create_dir_all(&folder)?;
    Ok(fs::canonicalize(folder)?)
}

/// Installs packages of Python's, pinned ones, unless the `module` that they are for is there.
pub fn python(packages: &[&str], module: &str, folder: &Path) -> Result<()> {
    if folder.join(module).exists() {
        return Ok(());
    }
    let target = format!("--target={}", folder.display());
    // Debian's interpreter: the packages of its drivers are for that one.
    let args = ["-m", "pip", "install", "--quiet", "--no-deps", &target];
    command("/usr/bin/python3", &[&args[..], packages].concat(), folder)
}

/// Makes an environment of Python's with what `requirements.txt` pins, unless it is there.
pub fn environment(sources: &Path, folder: &Path) -> Result<()> {
    let (wanted, there) = (sources.join("requirements.txt"), folder.join("requirements.txt"));
    if fs::read(&there).is_ok_and(|there| fs::read(&wanted).is_ok_and(|wanted| there == wanted)) {
        return Ok(());
    }
    command("/usr/bin/python3", &["-m", "venv", "--clear", "."], folder)?;
    let python = folder.join("bin/python");
    let requirements = wanted.to_string_lossy();
    command(&python.to_string_lossy(), &["-m", "pip", "install", "--quiet", "-r", &requirements], folder)?;
    fs::copy(wanted, there)?;
    Ok(())
}

/// Installs what `package-lock.json` pins, unless the `module` that it is for is there.
pub fn node(sources: &Path, module: &str, folder: &Path) -> Result<()> {
    if folder.join("node_modules").join(module).exists() {
        return Ok(());
    }
    fs::create_dir_all(folder)?;
    for file in ["package.json", "package-lock.json"] {
        fs::copy(sources.join(file), folder.join(file))?;
    }
    command("npm", &["ci", "--silent", "--no-audit", "--no-fund"], folder)
}

/// Fetches the libraries that `pom.xml` names, unless they are there.
pub fn java(sources: &Path, folder: &Path) -> Result<()> {
    let (wanted, there) = (sources.join("pom.xml"), folder.join("pom.xml"));
    if fs::read(&there).is_ok_and(|there| fs::read(&wanted).is_ok_and(|wanted| there == wanted)) {
        return Ok(());
    }
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    let output = format!("-DoutputDirectory={}", folder.display());
    command("mvn", &["-q", "-B", "dependency:copy-dependencies", &output], sources)?;
    fs::copy(wanted, there)?;
    Ok(())
}

/// Unpacks an application that npm has as a package, with what it needs to run but not to be
/// developed, unless it is there; no package's script is run.
pub fn node_application(package: &str, folder: &Path) -> Result<()> {
    let unpacked = folder.join("package");
    let complete = folder.join("complete");
    if fs::read_to_string(&complete).is_ok_and(|there| there == package) {
        return Ok(());
    }
    if unpacked.exists() {
        fs::remove_dir_all(&unpacked)?;
    }
    command("npm", &["pack", "--silent", package], folder)?;
    let archive = format!("{}.tgz", package.replace('@', "-"));
    command("tar", &["xzf", &archive], folder)?;
    command("npm", &["pkg", "delete", "devDependencies", "scripts"], &unpacked)?;
    let install = ["install", "--silent", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund"];
    command("npm", &[&install[..], &["--legacy-peer-deps"]].concat(), &unpacked)?;
    fs::write(complete, package)?;
    Ok(())
}

/// Compiles a program in Java against the libraries in `folder`.
pub fn java_classes(program: &Path, folder: &Path) -> Result<()> {
    let path = folder.join("libraries/*").to_string_lossy().into_owned();
    let classes = folder.join("classes").to_string_lossy().into_owned();
    command(
        "javac",
        &["-proc:none", "-nowarn", "-d", &classes, "-cp", &path, &program.to_string_lossy()],
        folder,
    )
}

/// Unpacks an archive that Maven's registry has under these coordinates, unless it is there.
pub fn java_application(artifact: &str, folder: &Path) -> Result<()> {
    let complete = folder.join("complete");
    if fs::read_to_string(&complete).is_ok_and(|there| there == artifact) {
        return Ok(());
    }
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder)?;
    let goal = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy";
    let output = format!("-DoutputDirectory={}", folder.display());
    command("mvn", &["-q", "-B", goal, &format!("-Dartifact={artifact}"), &output], folder)?;
    for archive in fs::read_dir(folder)? {
        command("jar", &["xf", &archive?.path().to_string_lossy()], folder)?;
    }
    fs::write(complete, artifact)?;
    Ok(())
}

/// Builds a Go program.
pub fn go(sources: &Path, program: &Path) -> Result<()> {
    command("go", &["build", "-o", &program.to_string_lossy(), "."], sources)
}

/// Builds a Rust program that is not of the workspace.
pub fn rust(sources: &Path, folder: &Path) -> Result<()> {
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
