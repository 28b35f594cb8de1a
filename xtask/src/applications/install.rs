//! Installs an application's packages, and says how its program is run.

use super::catalogue::{Application, Packages};
use crate::{Result, languages, packages};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const SOURCES: &str = "xtask/applications";

/// Where `run.php` and PHP's own modules come from.
const PHP: &[&str] = &[
    "php-cli",
    "php-mysql",
    "php-xml",
    "php-mbstring",
    "php-gd",
    "php-curl",
    "php-intl",
    "php-zip",
    "php-ldap",
    "php-gmp",
    "php-snmp",
    "php-bcmath",
];

/// Installs what is missing; the folder that has it.
pub fn install(application: &Application) -> Result<PathBuf> {
    let sources = sources(application)?;
    let folder = languages::folder("applications")?.join(application.name);
    fs::create_dir_all(&folder)?;
    match application.packages {
        Packages::Python(needed) => {
            packages::ensure_libraries(needed)?;
            languages::environment(&sources, &folder)?;
        }
        Packages::Node => languages::node(&sources, "mysql2", &folder)?,
        Packages::NodeApplication(package) => languages::node_application(package, &folder)?,
        Packages::Go => languages::go(&sources, &folder.join("run"))?,
        Packages::Java => {
            languages::java(&sources, &folder.join("libraries"))?;
            languages::java_classes(&sources.join("Run.java"), &folder)?;
        }
        Packages::JavaApplication(artifact) => languages::java_application(artifact, &folder.join("root"))?,
        Packages::Php(names) => {
            packages::ensure_libraries(PHP)?;
            packages::unpack(names, &folder.join("root"))?;
        }
        Packages::Ruby(names, libraries) => {
            packages::ensure_libraries(libraries)?;
            packages::unpack(names, &folder.join("root"))?;
        }
    }
    Ok(folder)
}

/// The program, without arguments; it runs in `scratch` inside `installed`.
pub fn program(application: &Application, installed: &Path) -> Result<Command> {
    let sources = sources(application)?;
    let mut command = match application.packages {
        Packages::Python(_) => {
            let mut command = Command::new(installed.join("bin/python"));
            command.arg("-B").arg(sources.join("run.py"));
            command
        }
        Packages::Node | Packages::NodeApplication(_) => {
            let root = if matches!(application.packages, Packages::Node) { "" } else { "package" };
            let mut command = Command::new("node");
            command.arg(sources.join("run.js")).env("NODE_PATH", installed.join(root).join("node_modules"));
            command
        }
        Packages::Go => Command::new(installed.join("run")),
        Packages::Java => {
            let mut command = Command::new("java");
            let path = format!("{0}/libraries/*:{0}/classes", installed.display());
            command.args(["-cp", &path, "Run"]);
            command
        }
        Packages::JavaApplication(_) => {
            let mut command = Command::new("/usr/bin/python3");
            command.arg("-B").arg(sources.join("run.py")).env("APPLICATION_ROOT", installed.join("root"));
            command
        }
        Packages::Php(_) => {
            let mut command = Command::new("php");
            command.arg(sources.join("run.php")).env("APPLICATION_ROOT", installed.join("root"));
            command
        }
        Packages::Ruby(..) => {
            // Debian's interpreter: the libraries' packages are for that one.
            let mut command = Command::new("/usr/bin/ruby");
            command.arg(sources.join("run.rb")).env("APPLICATION_ROOT", installed.join("root"));
            command
        }
    };
    command.current_dir(installed.join("scratch")).env("APPLICATION_SOURCES", sources);
    Ok(command)
}

fn sources(application: &Application) -> Result<PathBuf> {
    Ok(fs::canonicalize(Path::new(SOURCES).join(application.name))?)
}
