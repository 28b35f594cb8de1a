//! `duramen binlog replay`: point-in-time recovery.
//!
//! The log is the database's only log, so a copy of the data directory and the log files after it
//! are all that any later state is made of: recovery at a start replays what the tables lack.
//!
//! 1. plan     The base's log and the later files are put in one row; each must go on where the one
//!    before ends (`chain`). The point is looked for in what the base lacks.
//! 2. copy     Base and log files go to a folder next to the new data directory, the last file up
//!    to the point (`copy`).
//! 3. recover  The database is opened there and closed again: tables and log are at the point.
//! 4. name     The folder gets its name.
//!
//! (P1) The base and the log files are read only.
//! (P2) The new data directory has its name only when it is whole and recovery has succeeded. Until
//!      that is durable a file in it says so, and nothing starts on it (`unfinished.rs`).
//! (P3) No file that recovery reads comes from two histories: each file's Previous_gtids are what
//!      is before it, and a file that the base has too begins with what the base has of it.

use super::arguments::{Arguments, Takes};
use super::point::{UNTIL, Until};
use super::{Outcome, ToolError};
use crate::datadir::Datadir;
use crate::options::{self, Command, Options};
use crate::stop::Stop;
use binlog::json_lines::moment;
use chain::{Chain, Plan};
use copy::Copy;
use env::Env;
use sql::status::Status;
use sql::variables::ids;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

mod chain;
pub(crate) mod copy;
mod unfinished;

pub(crate) use unfinished::{Unfinished, is_unfinished, refuse_unreadable};

const OPTIONS: [Takes; 8] = [
    Takes::Value("base"),
    Takes::Value("logs"),
    Takes::Value("datadir"),
    Takes::Nothing("keep-uuid"),
    Takes::Nothing("in-place"),
    UNTIL[0],
    UNTIL[1],
    UNTIL[2],
];

pub(super) fn run(env: &Arc<dyn Env>, args: &[String]) -> Result<Outcome, ToolError> {
    let arguments = Arguments::parse("replay", args, &OPTIONS, &[])?;
    if arguments.has("in-place") {
        let why = "the base is never changed, so that another point can be tried; --datadir says where to make the new one";
        return Err(arguments.wrong(format!("'--in-place' is not supported: {why}")));
    }
    let needed = |name: &str, what: &str| {
        let value = arguments.value(name).map(PathBuf::from);
        value.ok_or_else(|| arguments.wrong(format!("--{name} is missing: {what}")))
    };
    let base = needed("base", "the copy of a data directory to start from")?;
    let target = needed("datadir", "the data directory to make")?;
    let until = Until::of(&arguments)?;
    let logs = arguments.values("logs").chain(arguments.files.iter().map(String::as_str));
    let logs: Vec<PathBuf> = logs.map(PathBuf::from).collect();
    let begun = env.monotonic();
    say("looking through the log");
    let chain = Chain::of(&**env, &base, &logs)?;
    let plan = chain.plan(&**env, until)?;
    let unfinished = Unfinished::begin(env.clone(), &target)?;
    Copy::new(&**env, &base, &unfinished.path).all(&plan, arguments.has("keep-uuid"))?;
    recover(env, &unfinished.path, &plan)?;
    unfinished.finish(&target)?;
    print_summary(&plan, &target, (env.monotonic() - begun).as_secs_f64());
    Ok(Outcome::Done)
}

/// What a data directory was put together of, before it is recovered: the log that its tables
/// belong to.
pub(crate) struct Base<'a> {
    /// What log files are called before their number.
    pub(crate) log_name: &'a str,
    /// The last log file of the base, and where the base's log ends in it.
    pub(crate) last: &'a str,
    pub(crate) end: u64,
    /// What was executed up to there.
    pub(crate) executed: &'a binlog::gtid::GtidSet,
}

/// What a recovery came to.
pub(crate) struct Recovered {
    /// Transactions behind the base.
    pub(crate) transactions: u64,
    /// The last log file, and where it ends.
    pub(crate) last_name: String,
    pub(crate) last_end: u64,
    /// The last transaction, in words.
    pub(crate) ended_with: String,
    pub(crate) executed: binlog::gtid::GtidSet,
    /// The command that starts it.
    pub(crate) start_line: String,
}

/// Steps 1, 3 and 4 for files that lie in `unfinished` already, the log without its index: it is
/// cut there.
pub(crate) fn recover_to(
    env: &Arc<dyn Env>,
    unfinished: Unfinished,
    target: &Path,
    base: &Base<'_>,
    until: Until,
) -> Result<Recovered, ToolError> {
    let chain = Chain::of_files(&**env, &unfinished.path, base)?;
    let plan = chain.plan(&**env, until)?;
    copy::cut_in_place(&**env, &unfinished.path, &plan)?;
    recover(env, &unfinished.path, &plan)?;
    unfinished.finish(target)?;
    Ok(Recovered {
        transactions: plan.transactions,
        last_name: plan.last_name().to_owned(),
        last_end: plan.last_end,
        ended_with: plan.ended_with(),
        start_line: start_line(&plan.base_name, target),
        executed: plan.executed,
    })
}

/// What a server's log files are called without `--log-bin`.
const DEFAULT_LOG_NAME: &str = "binlog";

/// Progress: on standard error.
fn say(text: impl std::fmt::Display) {
    eprintln!("duramen binlog replay: {text}");
}

fn print_summary(plan: &Plan, target: &Path, seconds: f64) {
    let added = plan.transactions;
    println!(
        "replayed {added} transactions behind the base, {} bytes of log, in {seconds:.1} s",
        plan.bytes_after_base
    );
    println!("ended at {}:{}, {}", plan.last_name(), plan.last_end, plan.ended_with());
    println!("gtid_executed: {}", plan.executed.to_string().replace('\n', ""));
    println!("start it with: {}", start_line(&plan.base_name, target));
}

/// The command that starts a server on a new data directory whose log is called `log_name`.
fn start_line(log_name: &str, datadir: &Path) -> String {
    let log_bin = match log_name {
        DEFAULT_LOG_NAME => String::new(),
        other => format!(" --log-bin={other}"),
    };
    format!("duramen serve --datadir={}{log_bin}", datadir.display())
}

impl Plan {
    /// The last transaction, in words.
    fn ended_with(&self) -> String {
        match &self.last {
            Some(last) => format!("behind {}, committed {} UTC", last.name, moment(last.committed)),
            None => "where the base ends".to_owned(),
        }
    }
}

/// Step 3. What recovery found must be what was planned.
fn recover(env: &Arc<dyn Env>, path: &Path, plan: &Plan) -> Result<(), ToolError> {
    let wrong =
        |what: String| ToolError::Refused(format!("recovery of the new data directory failed: {what}"));
    let args = [format!("--datadir={}", path.display()), format!("--log-bin={}", plan.base_name)];
    let options = match options::parse(&**env, &args) {
        Ok(Command::Serve(options)) => options,
        Ok(_) => return Err(wrong("its options are not understood".into())),
        Err(e) => return Err(wrong(e.to_string())),
    };
    say(format_args!("replaying {} bytes of log", plan.bytes_after_base));
    let report = |seconds| say(format_args!("replaying, {seconds} s"));
    let executed =
        while_reporting(report, || open_and_close(env, path, &options)).map_err(|e| wrong(e.to_string()))?;
    if executed != plan.executed {
        return Err(wrong(format!("it ended at gtid_executed {executed}, not at {}", plan.executed)));
    }
    Ok(())
}

fn open_and_close(
    env: &Arc<dyn Env>,
    path: &Path,
    options: &Options,
) -> Result<binlog::gtid::GtidSet, crate::server::StartError> {
    let datadir = Datadir::open(env.clone(), path, &options.path(ids::PID_FILE))?;
    let database =
        crate::database::open(env, options, &datadir, &Arc::<Status>::default(), &Stop::default())?;
    let executed = database.engine().log().gtid_executed();
    crate::database::close(&database).map_err(crate::server::StartError::Close)?;
    Ok(executed)
}

/// Tells every few seconds that something goes on, and for how many it has.
pub(crate) fn while_reporting<T>(report: impl Fn(u64) + Send, work: impl FnOnce() -> T) -> T {
    const PAUSE: Duration = Duration::from_secs(5);
    let (done, over) = channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let mut seconds = 0;
            while let Err(RecvTimeoutError::Timeout) = over.recv_timeout(PAUSE) {
                seconds += PAUSE.as_secs();
                report(seconds);
            }
        });
        let result = work();
        drop(done);
        result
    })
}
