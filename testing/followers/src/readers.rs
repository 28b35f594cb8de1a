//! Change-data readers: programs of other languages that follow the log with a library of their
//! language, rebuild every table from the rows they are shown, and write down what they have.
//!
//! The programs are in `testing/followers/readers`; `cargo xtask readers` fetches what they need.
//! All get the same, by variables of their environment:
//!
//! - `READER_PORT`, `READER_USER`, `READER_PASSWORD`: the server; `READER_TLS`: the file of its CA,
//!   where TLS is asked for;
//! - `READER_SERVER_ID`: the id to follow under;
//! - `READER_STATE`: the file that keeps the reader's position and tables from run to run;
//! - `READER_START`: file, position and GTID set of the first run's start, a space between each;
//! - `READER_BY`: `position` or `gtid`, by which of its two positions a run goes on;
//! - `READER_MARK`: the run ends with the transaction that writes this number into `cdc.marks`;
//! - `READER_OUT`: where to write the rebuilt rows: `schema.table` and each value, tabs between, in
//!   the words of [`tables`].

pub mod tables;

use crate::Result;
use servers::Running;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// How long a run may take, with everything else that goes on next to it.
const PATIENCE: Duration = Duration::from_secs(120);

/// A program that follows, and how what it shows differs from what the source has. None of these
/// differences is the source's: each is shown of a MySQL source, too.
#[derive(Debug)]
pub struct Reader {
    /// Its name in messages.
    pub name: &'static str,
    /// How it is run, but for the variables.
    pub command: Vec<String>,
    /// Variables of its own.
    pub variables: Vec<(String, String)>,
    /// The id it follows under.
    pub server_id: u32,
    /// Values that it has no word for, or another one: column, the source's text, the reader's.
    pub differences: Vec<(&'static str, &'static str, &'static str)>,
    /// Tables whose rows it misses, because it asks for definitions too late.
    pub misses: Vec<&'static str>,
}

/// By which of its two positions a reader goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResumeBy {
    /// File and position.
    Position,
    /// A GTID set.
    Gtid,
}

/// A reader's files, and where it is to start.
#[derive(Debug)]
pub struct Follower<'r> {
    reader: &'r Reader,
    folder: PathBuf,
    start: String,
}

/// One run of a reader's program.
#[derive(Debug)]
pub struct Run<'r> {
    reader: &'r Reader,
    child: Child,
}

impl<'r> Follower<'r> {
    /// A reader that will start where `source` is now.
    pub fn new(reader: &'r Reader, source: &Running, folder: &Path) -> Result<Self> {
        let status = source.sql("SHOW BINARY LOG STATUS")?;
        let fields: Vec<&str> = status.split('\t').collect();
        let [file, position, _, _, gtids] = fields[..] else {
            return Err(format!("SHOW BINARY LOG STATUS has other columns: {status}").into());
        };
        let start = format!("{file} {position} {}", gtids.replace("\\n", ""));
        Ok(Self { reader, folder: folder.into(), start })
    }

    /// Starts a run that ends with `mark`.
    pub fn run(
        &self,
        source: &Running,
        resume_by: ResumeBy,
        ca: Option<&Path>,
        mark: u32,
    ) -> Result<Run<'r>> {
        let (program, args) = self.reader.command.split_first().ok_or("no program")?;
        let mut command = Command::new(program);
        command
            .args(args)
            .envs(self.reader.variables.iter().cloned())
            .env("READER_PORT", source.port().to_string())
            .env("READER_USER", "reader")
            .env("READER_PASSWORD", "secret")
            .env("READER_SERVER_ID", self.reader.server_id.to_string())
            .env("READER_STATE", self.folder.join("state"))
            .env("READER_OUT", self.out())
            .env("READER_START", &self.start)
            .env("READER_BY", if resume_by == ResumeBy::Gtid { "gtid" } else { "position" })
            .env("READER_MARK", mark.to_string());
        if let Some(ca) = ca {
            command.env("READER_TLS", ca);
        }
        let said = std::fs::File::create(self.folder.join("said"))?;
        let child = command.stdin(Stdio::null()).stdout(said.try_clone()?).stderr(said).spawn();
        let child = child.map_err(|e| format!("{program}: {e}"))?;
        Ok(Run { reader: self.reader, child })
    }

    /// Waits for the run's end, which has to be a good one.
    pub fn await_end(&self, mut run: Run<'_>) -> Result<()> {
        let name = run.reader.name;
        let ended = crate::await_that("the reader comes to the mark", PATIENCE, || {
            Ok(run.child.try_wait()?.is_some())
        });
        let said = std::fs::read_to_string(self.folder.join("said"))?;
        ended.map_err(|e| format!("{name}: {e}\n{said}"))?;
        let status = run.child.wait()?;
        if status.success() && said.lines().any(|line| line.starts_with("ok ")) {
            Ok(())
        } else {
            Err(format!("{name} ended with {status}\n{said}").into())
        }
    }

    /// Where the rebuilt tables are after a run.
    pub fn out(&self) -> PathBuf {
        self.folder.join("out")
    }
}

impl Drop for Run<'_> {
    fn drop(&mut self) {
        // A run that has ended needs neither.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
