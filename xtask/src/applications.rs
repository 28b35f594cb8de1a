//! `cargo xtask applications`: installs applications from their registries' packages, lets them
//! make their schemas on a running server and uses them, and writes what came of it into
//! `docs/compatibility.md`, between its markers.
//!
//! 1. install  each application's packages, pinned ones, into a folder of the build (`install.rs`).
//! 2. migrate  its program in `xtask/applications/` makes the schema, as the application does.
//! 3. use      the program writes, searches, changes and deletes by the application's own code, and
//!    prints what it saw.
//! 4. compare  with `--beside` the same on a server of MySQL: what both print must be equal, and
//!    statements that fail there too are the application's own.
//!
//! A recorder between program and server notes the statements that fail (`recorder.rs`); some are
//! caught by the application, and would go unnoticed otherwise.

mod catalogue;
mod install;
mod recorder;
mod report;

use crate::{Result, packages};
use catalogue::{APPLICATIONS, Application};
use recorder::{Failure, Recorder};
use servers::{Address, Launch, ServerKind};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const HELP: &str = "\
cargo xtask applications [--profile NAME] [--beside user:password@host:port] [NAME ..]
  NAME                applications to run; all unless any is named
  --profile NAME      the server's build; dev unless it is said
  --beside ADDRESS    a MySQL to compare with; its databases of the applications' names are dropped
";

/// The account that the applications use; they have no TLS, so its password is none to keep.
const ACCOUNT: &str = "applications";

/// What one application did on one server.
#[derive(Debug)]
pub struct Outcome {
    migration: Duration,
    statements: u64,
    failures: Vec<Failure>,
    /// What its program printed.
    printed: Vec<String>,
    /// The last line of its complaint, if it did not get to its end, and what it was doing.
    stopped: Option<String>,
}

/// Runs the chore.
pub fn run(args: &[String]) -> Result<()> {
    let mut profile = "dev";
    let mut beside = None;
    let mut names = Vec::new();
    let mut args = args.iter().map(String::as_str);
    while let Some(arg) = args.next() {
        match arg {
            "--profile" => profile = args.next().ok_or(HELP)?,
            "--beside" => beside = Some(Address::parse(args.next().ok_or(HELP)?)?),
            name if APPLICATIONS.iter().any(|a| a.name == name) => names.push(name),
            other => {
                let known: Vec<_> = APPLICATIONS.iter().map(|a| a.name).collect();
                return Err(format!("`{other}`?\n{HELP}\nthe applications: {}", known.join(", ")).into());
            }
        }
    }
    packages::ensure(packages::FOR_TESTS)?;
    packages::ensure(packages::FOR_LANGUAGES)?;
    let build = ["build", "--profile", profile, "--bin", "duramen"];
    if !Command::new(env!("CARGO")).args(build).status()?.success() {
        return Err("building the server failed".into());
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    let binary = target.join(if profile == "dev" { "debug" } else { profile }).join("duramen");
    let server = Launch::new(ServerKind::Duramen, &target.join("applications"))?.binary(binary).start()?;
    server.sql(&format!(
        "CREATE USER {ACCOUNT} IDENTIFIED BY '{ACCOUNT}'; GRANT ALL ON *.* TO {ACCOUNT} WITH GRANT OPTION;
         SET GLOBAL log_bin_trust_function_creators = ON"
    ))?;
    let recorder = Recorder::start("127.0.0.1", server.port())?;
    let peer = beside.as_ref().map(Peer::new).transpose()?;
    let (mut rows, mut missing) = (Vec::new(), Vec::new());
    for application in APPLICATIONS.iter().filter(|a| names.is_empty() || names.contains(&a.name)) {
        println!("== {}", application.title);
        let installed = match install::install(application) {
            Ok(installed) => installed,
            Err(e) => {
                missing.push(format!("{}: {e}", application.name));
                continue;
            }
        };
        let here = exercise(application, &installed, &recorder, (ACCOUNT, ACCOUNT))?;
        let there = match &peer {
            Some(peer) => Some(exercise(application, &installed, &peer.recorder, peer.login())?),
            None => None,
        };
        let version = version(application, &installed)?;
        rows.push(report::Row::new(application, version, &here, there.as_ref()));
        if let Some(row) = rows.last() {
            println!("{row}");
        }
    }
    server.stop()?;
    report::write(&rows)?;
    if missing.is_empty() { Ok(()) } else { Err(format!("not installed:\n{}", missing.join("\n")).into()) }
}

/// The server to compare with.
struct Peer<'a> {
    address: &'a Address,
    recorder: Recorder,
}

impl<'a> Peer<'a> {
    fn new(address: &'a Address) -> Result<Self> {
        let (host, port) = address.host_and_port().ok_or("no host")?;
        Ok(Self { address, recorder: Recorder::start(host, port)? })
    }

    fn login(&self) -> (&str, &str) {
        self.address.login()
    }
}

/// Runs an application's program against the server behind `recorder`.
fn exercise(
    application: &Application,
    installed: &Path,
    recorder: &Recorder,
    (user, password): (&str, &str),
) -> Result<Outcome> {
    let database = Address::tcp("127.0.0.1", recorder.port(), user, password);
    database.sql(&format!("DROP DATABASE IF EXISTS {0}; CREATE DATABASE {0}", application.name))?;
    let scratch = installed.join("scratch");
    // Missing is as good as removed.
    let _ = fs::remove_dir_all(&scratch);
    fs::create_dir_all(&scratch)?;
    recorder.take();
    let mut outcome = Outcome {
        migration: Duration::ZERO,
        statements: 0,
        failures: Vec::new(),
        printed: Vec::new(),
        stopped: None,
    };
    for step in ["migrate", "use"] {
        let started = Instant::now();
        let complaints = scratch.join(format!("{step}.err"));
        let output = install::program(application, installed)?
            .arg(step)
            .env("APPLICATION_FOLDER", &scratch)
            .env("DB_HOST", "127.0.0.1")
            .env("DB_PORT", recorder.port().to_string())
            .env("DB_USER", user)
            .env("DB_PASSWORD", password)
            .env("DB_NAME", application.name)
            .stdin(Stdio::null())
            .stderr(fs::File::create(&complaints)?)
            .output()?;
        if step == "migrate" {
            outcome.migration = started.elapsed();
        } else {
            outcome.printed.extend(String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned));
        }
        if !output.status.success() {
            let said = String::from_utf8_lossy(&fs::read(&complaints)?).into_owned();
            let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("nothing was said");
            println!("{step}: {}: {last}", complaints.display());
            outcome.stopped = Some(format!("{step}: {last}"));
            break;
        }
    }
    let recorded = recorder.take();
    outcome.statements = recorded.statements;
    outcome.failures = recorded.failures;
    Ok(outcome)
}

/// What the application's program calls its version.
fn version(application: &Application, installed: &Path) -> Result<String> {
    let output = install::program(application, installed)?.arg("version").stderr(Stdio::null()).output()?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
