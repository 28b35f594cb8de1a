//! `duramen probe`: what will full durability cost here?
//!
//! 1. disk     Writes and flushes, of several sizes, one at a time and side by side (`disk`).
//! 2. machine  A server in this process, loaded without waiting for the disk: what a round trip and
//!    a commit take of the processor (`machine`, `load`).
//! 3. predict  The [`model`] puts the two together, for each setting and number of clients.
//! 4. check    With `--server`: the same load on a real server, beside the prediction for its
//!    settings.
//! 5. report   Tables and a plot (`report`, `plot`).
//!
//! (Q1) Time and disk are bounded, and whatever was made is removed, after errors and SIGINT too; a
//!      server that is checked keeps its settings and loses the probe's database.
//!
//! The model is described in docs/probe.md.

mod arguments;
mod check;
mod disk;
mod load;
mod machine;
mod model;
mod plot;
mod report;

pub(crate) use arguments::HELP;

use crate::server::StartError;
use crate::stop::Stop;
use arguments::Arguments;
use disk::Times;
use env::{Env, OpenMode, RealEnv};
use protocol::client::ClientError;
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;

/// The default data directory of a server.
const DATADIR: &str = "duramen-data";

/// Why there is no answer.
#[derive(Debug, Error)]
pub enum ProbeError {
    /// The command line.
    #[error("{0}")]
    Options(String),
    /// A file.
    #[error("can't {action} '{}': {source}", .path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// Where.
        path: PathBuf,
        /// What was said.
        source: io::Error,
    },
    /// The probe's own server.
    #[error("can't start a server to measure: {0}")]
    Start(#[from] StartError),
    /// It has no TCP socket.
    #[error("can't start a server to measure: it does not listen on loopback")]
    NoAddress,
    /// A connection.
    #[error("can't connect to {address}: {source}")]
    Connect {
        /// Where to.
        address: SocketAddr,
        /// What was said.
        source: ClientError,
    },
    /// The server answered with an error, or the connection broke.
    #[error("{source} (in: {sql})")]
    Statement {
        /// What was asked.
        sql: String,
        /// What was said.
        source: ClientError,
    },
    /// A commit of the load.
    #[error("the load broke off: {0}")]
    Load(ClientError),
    /// SIGINT or SIGTERM.
    #[error("interrupted")]
    Interrupted,
    /// A fault of the program.
    #[error("a thread of the measurement panicked")]
    Panicked,
}

impl ProbeError {
    fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io { action, path: path.to_owned(), source }
    }
}

/// Clock, files, and whether to go on.
#[derive(Clone)]
struct Watch {
    env: Arc<dyn Env>,
    stop: Stop,
}

impl Default for Watch {
    fn default() -> Self {
        Self { env: Arc::new(RealEnv), stop: Stop::default() }
    }
}

impl Watch {
    fn is_over(&self) -> bool {
        self.stop.is_requested()
    }

    fn check(&self) -> Result<(), ProbeError> {
        if self.is_over() { Err(ProbeError::Interrupted) } else { Ok(()) }
    }
}

/// The probe's folder, removed when dropped (Q1).
struct Folder<'a> {
    watch: &'a Watch,
    path: PathBuf,
}

impl<'a> Folder<'a> {
    /// Makes it on the disk that is to be measured.
    fn make(watch: &'a Watch, parent: &Path) -> Result<Self, ProbeError> {
        // A mistyped name would be another disk's.
        if !watch.env.exists(parent) {
            let parent = parent.display();
            return Err(ProbeError::Options(format!(
                "there is no folder '{parent}' whose disk could be measured"
            )));
        }
        let path = parent.join(format!("duramen-probe-{}", std::process::id()));
        watch.env.create_dir_all(&path).map_err(|e| ProbeError::io("make the folder", &path, e))?;
        Ok(Self { watch, path })
    }
}

impl Drop for Folder<'_> {
    fn drop(&mut self) {
        if let Err(e) = self.watch.env.remove_tree(&self.path) {
            eprintln!("duramen probe: can't remove '{}': {e}", self.path.display());
        }
    }
}

/// Does what the arguments after `duramen probe` ask.
pub fn run(args: &[String]) -> Result<(), ProbeError> {
    let Some(mut arguments) = arguments::parse(args)? else {
        print!("{HELP}");
        return Ok(());
    };
    if arguments.password.is_empty() {
        arguments.password = std::env::var("MYSQL_PWD").unwrap_or_default();
    }
    let watch = Watch::default();
    let started = watch.stop.on_signals();
    started.map_err(|e| ProbeError::io("catch signals for", Path::new("the probe"), e))?;
    probe(&watch, &arguments)
}

fn probe(watch: &Watch, arguments: &Arguments) -> Result<(), ProbeError> {
    let measured_folder = folder_to_measure(watch, &arguments.folder);
    let folder = Folder::make(watch, &measured_folder)?;
    if let Some(path) = &arguments.svg {
        may_write(watch, path)?;
    }
    let target = arguments.server.as_deref().map(|s| check::Checked::of(s, arguments)).transpose()?;
    if let Some(target) = &target {
        target.try_out(watch)?;
    }
    let (on_disk, on_machine) = (arguments.time.mul_f64(0.5), arguments.time.mul_f64(0.4));
    say(format!("measuring the disk of {} ({:.0} s)", measured_folder.display(), on_disk.as_secs_f64()));
    let disk = disk::measure(watch, &folder.path, on_disk)?;
    say(format!("measuring round trips and commits ({:.0} s)", on_machine.as_secs_f64()));
    let measured = machine::measure(watch, &folder.path, &disk, on_machine)?;
    drop(folder);
    let forecasts = report::forecasts(&measured.machine);
    print_answer(&(report::measured(&measured_folder, &disk, &measured) + &report::settings(&forecasts)))?;
    let mut lines = report::lines(&forecasts);
    if let Some(target) = target {
        let checked = target.check(watch, &measured.machine, arguments.time)?;
        print_answer(&report::checked(&checked))?;
        lines.extend(report::checked_lines(&checked));
    }
    print_answer(&format!("\n{}\n{}", plot::text(&lines), report::answer(&forecasts, &disk)))?;
    if let Some(path) = &arguments.svg {
        write(watch, path, &plot::svg(&lines)).map_err(|e| ProbeError::io("write", path, e))?;
        say(format!("the plot is in {}", path.display()));
    }
    Ok(())
}

/// The folder to measure: the one that was asked for, or the data directory if there is one, or
/// this one.
fn folder_to_measure(watch: &Watch, asked: &Path) -> PathBuf {
    match asked {
        path if path != Path::new("") => path.to_owned(),
        _ if watch.env.exists(Path::new(DATADIR)) => DATADIR.into(),
        _ => ".".into(),
    }
}

/// Progress: on standard error, so that the answer can be kept in a file.
fn say(text: String) {
    eprintln!("duramen probe: {text}");
}

/// The answer: on standard output, whose reader may have read enough.
fn print_answer(text: &str) -> Result<(), ProbeError> {
    match io::stdout().write_all(text.as_bytes()) {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => {
            Err(ProbeError::io("write", Path::new("standard output"), e))
        }
        _ => Ok(()),
    }
}

/// Refuses a file that can't be written, before time is spent on what it is for.
fn may_write(watch: &Watch, path: &Path) -> Result<(), ProbeError> {
    let is_new = !watch.env.exists(path);
    let tried = watch.env.open(path, OpenMode::Create);
    let tried = tried.and_then(|_| if is_new { watch.env.remove_file(path) } else { Ok(()) });
    tried.map_err(|e| ProbeError::io("write", path, e))
}

fn write(watch: &Watch, path: &Path, text: &str) -> io::Result<()> {
    let file = watch.env.open(path, OpenMode::Create)?;
    file.set_len(0)?;
    file.write_at(text.as_bytes(), 0)
}

/// A time that loads share: each of `parts` at least a quarter of a second.
fn share(time: Duration, parts: usize) -> Duration {
    (time / parts.max(1) as u32).max(Duration::from_millis(250))
}
