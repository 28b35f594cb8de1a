//! How long small commits take while the server does something else: `stalls`.
//!
//! Some dozens of clients commit one small row each, all the time, at full durability. First the
//! server is left to that; then, one after another, log files are rotated and purged, checkpoints
//! are made, tables are compacted, a query sorts more than memory takes, and one large transaction
//! runs and commits. For each such window the program prints percentiles of the small commits'
//! times, and how many times the quiet ones they are.
//!
//! Commits are due at fixed moments, at a part of the rate that the server reaches when it is
//! quiet. Next to the time from the sending of a commit the time from its due moment is printed:
//! clients that wait send nothing, so that a stall of a second is hardly seen in the former, while
//! the latter counts it for every commit that it kept waiting.
//!
//! At the end it prints the longest pauses, in which no writer was answered: when they were, and
//! what the server's threads did.
//!
//! Reading order: this file (the windows), [`writers`] (the clients), [`times`] and [`pauses`]
//! (what is printed).

mod pauses;
mod times;
mod writers;

use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder};
use pauses::Threads;
use servers::{Launch, Result, ServerKind, arguments};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};
use writers::{Window, Writers};

const HELP: &str = "\
stalls [OPTIONS]

  --server duramen|mariadb   (default duramen), started here
  --binary PATH              the duramen to start, if not the one beside this program
  --writers N                clients with small commits (default 32)
  --time SECONDS             each window but the last two (default 10)
  --load PERCENT             of the quiet rate, for the moments at which commits are due (default 50)
  --size MIB                 about what the large transaction writes to the log (default 256)
  --pause MS                 no answer for as long is a pause (default 20)
  --prealloc N               binlog_prealloc_num (default 0)
  --threshold MIB            binlog_large_commit_threshold (default 16): a file of its own for what is larger
";

/// A row of the table that the large transaction changes has so many bytes of text.
const TEXT: usize = 1000;

struct Options {
    kind: ServerKind,
    binary: Option<PathBuf>,
    writers: usize,
    time: Duration,
    load: f64,
    size: usize,
    pause: Duration,
    prealloc: u32,
    threshold: u64,
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("stalls: {e}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &[String]) -> Result<()> {
    let mut options = Options {
        kind: ServerKind::Duramen,
        binary: None,
        writers: 32,
        time: Duration::from_secs(10),
        load: 50.0,
        size: 256,
        pause: Duration::from_millis(20),
        prealloc: 0,
        threshold: 16,
    };
    if !arguments::options(args, HELP, |name, value| options.set(name, value))? {
        return Ok(());
    }
    let mut launch = Launch::new(options.kind, Path::new("target/stalls"))?.arg("--max-binlog-size=256M");
    if let Some(binary) = &options.binary {
        launch = launch.binary(binary);
    }
    if options.kind == ServerKind::Duramen {
        launch = launch
            .arg(format!("--binlog-prealloc-num={}", options.prealloc))
            .arg(format!("--binlog-large-commit-threshold={}M", options.threshold))
            .arg("--duramen-transaction-size-max=16G")
            .arg("--duramen-row-locks-max=16000000");
    }
    let server = launch.start()?;
    println!(
        "{}, {} writers, a large transaction of {} MiB",
        server.version()?,
        options.writers,
        options.size
    );
    measure(&server, &options)?;
    server.stop()?;
    Ok(())
}

fn measure(server: &servers::Running, options: &Options) -> Result<()> {
    let mut control = connect(server.socket())?;
    prepare(&mut control, options)?;
    await_background_writes(server.pid())?;
    let threads = Threads::of(server.pid());
    let writers = Writers::start(server.socket(), options.writers, options.pause, threads)?;
    thread::sleep(Duration::from_secs(2));
    let begun = (Instant::now(), writers.count());
    thread::sleep(options.time.min(Duration::from_secs(5)));
    let rate = (writers.count() - begun.1) as f64 / begun.0.elapsed().as_secs_f64();
    writers.set_rate(rate * options.load / 100.0);
    println!(
        "{rate:.0} commits/s without a pause; {:.0} are due each second from now on\n",
        rate * options.load / 100.0
    );
    thread::sleep(Duration::from_secs(1));
    times::print_head();
    let mut quiet = None;
    let mut pauses = Vec::new();
    let mut window = |name: &str, work: &mut dyn FnMut() -> Result<()>| -> Result<()> {
        writers.begin_window();
        work()?;
        let Window { times, pauses: of_window, .. } = writers.end_window();
        times::print_line(name, &times, quiet.get_or_insert_with(|| times.clone()));
        pauses.push((name.to_owned(), of_window));
        Ok(())
    };
    let time = options.time;
    let rest = |time: Duration| {
        thread::sleep(time);
        Ok(())
    };
    window("quiet", &mut || rest(time))?;
    window("rotation, twice a second", &mut || {
        every(time, Duration::from_millis(500), &mut || Ok(control.query_drop("FLUSH BINARY LOGS")?))
    })?;
    window("rotation, checkpoint, purge", &mut || {
        every(time, Duration::from_secs(1), &mut || {
            control.query_drop("FLUSH BINARY LOGS")?;
            let newest: Vec<mysql::Row> = control.query("SHOW BINARY LOGS")?;
            let name: Option<String> = newest.last().and_then(|row| row.get(0));
            let name = name.ok_or("no log file")?;
            Ok(control.query_drop(format!("PURGE BINARY LOGS TO '{name}'"))?)
        })
    })?;
    let rows = rows(options);
    let mut next = 0;
    window("changes of 2 MB/s: flush, compaction", &mut || {
        every(time, Duration::from_millis(50), &mut || {
            next = (next + 7919) % rows;
            let range = format!("id BETWEEN {next} AND {}", next + 50);
            Ok(control.query_drop(format!("UPDATE big SET n = n + 1 WHERE {range}"))?)
        })
    })?;
    // Without a limit the order of a derived table may be omitted.
    let sorted = "SELECT * FROM big ORDER BY c, id DESC LIMIT 1000000000";
    window("a query that sorts the large table", &mut || {
        Ok(control.query_drop(format!("SELECT COUNT(*), MAX(n) FROM ({sorted}) sorted"))?)
    })?;
    control.query_drop("BEGIN")?;
    window("large transaction running", &mut || Ok(control.query_drop("UPDATE big SET n = n + 1")?))?;
    let mut took = Duration::ZERO;
    window("large transaction committing", &mut || {
        let begun = Instant::now();
        control.query_drop("COMMIT")?;
        took = begun.elapsed();
        rest(Duration::from_millis(100))
    })?;
    println!("    (it took {:.1} s)", took.as_secs_f64());
    window("behind it", &mut || rest(time))?;
    println!("\npauses of {} ms and more, the longest of each window\n", options.pause.as_millis());
    pauses.iter().for_each(|(name, of_window)| pauses::print(name, of_window));
    writers.stop()
}

/// Does something each time that so much time has passed.
fn every(time: Duration, pause: Duration, work: &mut dyn FnMut() -> Result<()>) -> Result<()> {
    let begun = Instant::now();
    while begun.elapsed() < time {
        let started = Instant::now();
        work()?;
        thread::sleep(pause.saturating_sub(started.elapsed()));
    }
    Ok(())
}

/// An update's images, before and after, and what surrounds them.
fn rows(options: &Options) -> usize {
    (options.size << 20) / (2 * (TEXT + 20))
}

fn prepare(control: &mut Conn, options: &Options) -> Result<()> {
    control.query_drop("CREATE DATABASE IF NOT EXISTS stalls")?;
    control.query_drop("USE stalls")?;
    control.query_drop("CREATE TABLE small (id BIGINT AUTO_INCREMENT PRIMARY KEY, c VARCHAR(100))")?;
    control.query_drop("CREATE TABLE big (id INT PRIMARY KEY, n INT NOT NULL, c VARCHAR(2000))")?;
    let rows = rows(options);
    for first in (0..rows).step_by(1000) {
        let values: Vec<String> =
            (first..rows.min(first + 1000)).map(|id| format!("({id},0,REPEAT('x',{TEXT}))")).collect();
        control.query_drop(format!("INSERT INTO big VALUES {}", values.join(",")))?;
    }
    Ok(())
}

/// Waits until the server has written what it had to after the load, for two minutes at the most.
fn await_background_writes(pid: u32) -> Result<()> {
    let mut written = 0;
    for _ in 0..120 {
        let io = std::fs::read_to_string(format!("/proc/{pid}/io"))?;
        let line = io.lines().find_map(|line| line.strip_prefix("write_bytes: ")).ok_or("no write_bytes")?;
        let before = std::mem::replace(&mut written, line.parse::<u64>()?);
        if written - before < 1 << 20 {
            break;
        }
        thread::sleep(Duration::from_secs(1));
    }
    Ok(())
}

fn connect(socket: &Path) -> Result<Conn> {
    let options = OptsBuilder::new().socket(socket.to_str()).user(Some("root")).prefer_socket(true);
    Ok(Conn::new(options)?)
}

impl Options {
    fn set(&mut self, name: &str, value: &str) -> Result<bool> {
        match name {
            "--server" => {
                self.kind = match value {
                    "duramen" => ServerKind::Duramen,
                    "mariadb" => ServerKind::MariaDb,
                    other => return Err(format!("--server is duramen or mariadb, not {other}").into()),
                }
            }
            "--binary" => self.binary = Some(value.into()),
            "--writers" => self.writers = value.parse()?,
            "--time" => self.time = Duration::from_secs(value.parse()?),
            "--load" => self.load = value.parse()?,
            "--size" => self.size = value.parse()?,
            "--pause" => self.pause = Duration::from_millis(value.parse()?),
            "--prealloc" => self.prealloc = value.parse()?,
            "--threshold" => self.threshold = value.parse()?,
            _ => return Ok(false),
        }
        Ok(true)
    }
}
