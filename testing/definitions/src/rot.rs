//! Bit rot on the real server: one file of a data directory is damaged, and the server started on
//! it (R2 of ARCHITECTURE.md).
//!
//! Two directories are made once: one after a clean stop, one as a kill leaves it. Each trial
//! copies one of them, flips a bit, changes a byte, or cuts one file, and starts the server. It may
//! - answer right, as if nothing had been;
//! - refuse to start, name the file, and change nothing that was there;
//! - start and answer the rest right, with an error for what it can't read and the file's name in
//!   the error log;
//! - after a kill, take the damaged last event group for the torn end of the log, if it says so.
//!
//! Anything else is a finding: another answer without an error, a file gone, a panic.

use crate::batch::TestBed;
use crate::snapshot::{Difference, Snapshot};
use crate::{Result, connect, kills, launch};
use mysql::Row;
use mysql::prelude::Queryable;
use servers::{Launch, Running};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use stdx::random::Random;

/// How it goes.
#[derive(Debug, Clone)]
pub struct Options {
    /// How many files are damaged, one at a time.
    pub trials: u64,
    /// Files and damages draw from this.
    pub seed: u64,
}

/// What it came to.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Trials by what became of them.
    pub counts: BTreeMap<Verdict, u64>,
    /// What must not be, in words.
    pub findings: Vec<String>,
}

/// What became of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Everything is there.
    Right,
    /// The server didn't start, named the file, and left all files as they were.
    Refused,
    /// The server started, and answers with an error for what is damaged.
    SetAside,
    /// The last event group was taken for torn.
    TornEnd,
    /// What must not be.
    Finding,
}

/// What is written last, and may be lost as the torn end of the log: the database of this case.
const LAST_CASE: u64 = 9;

/// A data directory, and what a server shows that starts on it.
struct Template {
    name: &'static str,
    launch: Launch,
    snapshot: Snapshot,
}

/// Damages files and starts servers; `report` gets each finding at once.
pub fn run(test_bed: &TestBed, options: &Options, mut report: impl FnMut(&str)) -> Result<Outcome> {
    let templates = templates(test_bed)?;
    let mut random = Random::new(options.seed);
    let mut outcome = Outcome::default();
    for trial in 1..=options.trials {
        let template = &templates[random.below(templates.len() as u64) as usize];
        let launch = kills::arguments(launch(&test_bed.folder.join("trial"), test_bed.binary.as_ref())?);
        copy(&template.launch.data(), &launch)?;
        let damage = Damage::draw(&mut random, &launch.data())?;
        damage.apply()?;
        let (verdict, text) = judge(launch, template, &damage)?;
        *outcome.counts.entry(verdict).or_default() += 1;
        if verdict == Verdict::Finding {
            let finding = format!("seed {} trial {trial}, {}, {damage}: {text}", options.seed, template.name);
            report(&finding);
            outcome.findings.push(finding);
        }
    }
    Ok(outcome)
}

/// One directory after a clean stop, and one as a kill leaves it: both with table files, several
/// log files and a log after them.
fn templates(test_bed: &TestBed) -> Result<Vec<Template>> {
    let launch_of = |name: &str| -> Result<Launch> {
        Ok(kills::arguments(launch(&test_bed.folder.join(name), test_bed.binary.as_ref())?))
    };
    let server = launch_of("clean")?.start()?;
    fill(&server, 1)?;
    let clean = server.launch().clone();
    server.stop()?;
    let server = clean.clone().start_again()?;
    let first = snapshot(&server)?;
    server.stop()?;
    let killed = launch_of("killed")?;
    copy(&clean.data(), &killed)?;
    let mut server = killed.clone().start_again()?;
    fill(&server, 2)?;
    connect(&server)?.query_drop(format!("CREATE DATABASE c{LAST_CASE}_last"))?;
    let second = snapshot(&server)?;
    await_mark(&server)?;
    server.kill()?;
    Ok(vec![
        Template { name: "after a clean stop", launch: clean, snapshot: first },
        Template { name: "after a kill", launch: killed, snapshot: second },
    ])
}

/// Waits until the mark of what was flushed has all of the log. It is written after the flushes,
/// and a busy machine is late with it; damage after it can't be distinguished from the torn end of
/// a log.
fn await_mark(server: &Running) -> Result<()> {
    let status: Option<Row> = connect(server)?.query_first("SHOW BINARY LOG STATUS")?;
    let (file, position): (String, u64) =
        status.and_then(|row| Some((row.get(0)?, row.get(1)?))).ok_or("the log has no position")?;
    let wanted = format!("{file}:{position}");
    for _ in 0..1000 {
        let mark = std::fs::read(server.launch().data().join("binlog.durable"))?;
        if String::from_utf8_lossy(&mark).split_whitespace().any(|word| word == wanted) {
            return Ok(());
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    Err(format!("binlog.durable does not get to {wanted}").into())
}

fn fill(server: &Running, case: u64) -> Result<()> {
    let mut conn = connect(server)?;
    let database = format!("c{case}_");
    for sql in [
        format!("CREATE DATABASE {database}"),
        format!("USE {database}"),
        "CREATE TABLE a (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(300), n INT DEFAULT 7, KEY (v), CHECK (n > 0))".into(),
        "CREATE TABLE b (e ENUM('x','y'), j JSON, t TEXT)".into(),
        "CREATE FUNCTION f(x INT) RETURNS INT DETERMINISTIC RETURN x + 1".into(),
        format!("CREATE USER c{case}_u@'%' IDENTIFIED BY 'p'"),
        format!("GRANT SELECT ON *.* TO c{case}_u@'%'"),
    ] {
        conn.query_drop(sql)?;
    }
    for group in 0..30 {
        let rows: Vec<String> = (0..20).map(|at| format!("('{group} {at} {}')", "x".repeat(200))).collect();
        conn.query_drop(format!("INSERT INTO a (v) VALUES {}", rows.join(",")))?;
        conn.query_drop(format!("INSERT INTO b VALUES ('x', '[{group}]', REPEAT('{group}', 300))"))?;
        if group % 10 == 4 {
            conn.query_drop("FLUSH BINARY LOGS")?;
        }
    }
    conn.query_drop("UPDATE a SET n = 8 WHERE id % 3 = 0")?;
    Ok(conn.query_drop("ALTER TABLE b ADD COLUMN extra INT DEFAULT 5")?)
}

/// Asks who the server is.
const ASK_UUID: &str = "SELECT @@server_uuid";

/// All that can be asked, and what only damaged files would show: the log's identity, each index,
/// and rows one by one.
fn snapshot(server: &Running) -> Result<Snapshot> {
    let mut snapshot = Snapshot::take(server)?;
    let mut conn = connect(server)?;
    let mut ask = |what: String| -> Result<()> {
        let text = match conn.query::<Row, _>(&what) {
            Ok(rows) => rows.into_iter().map(|row| format!("{:?}\n", row.unwrap())).collect(),
            Err(mysql::Error::MySqlError(e)) => format!("error {}: {}", e.code, e.message),
            Err(e) => return Err(e.into()),
        };
        snapshot.add(0, what, &text);
        Ok(())
    };
    ask(ASK_UUID.into())?;
    for table in ["c1_.a", "c2_.a"] {
        ask(format!("SELECT COUNT(*) FROM {table} FORCE INDEX (v) WHERE v > ''"))?;
        for id in (1..600).step_by(23) {
            ask(format!("SELECT v FROM {table} WHERE id = {id}"))?;
        }
    }
    Ok(snapshot)
}

/// What is done to which file.
#[derive(Debug)]
struct Damage {
    file: PathBuf,
    what: What,
}

#[derive(Debug)]
enum What {
    Bit { offset: u64, bit: u8 },
    Byte { offset: u64, value: u8 },
    Cut { length: u64 },
    Gone,
}

impl Damage {
    /// Any file, small or large; most damage is a bit.
    fn draw(random: &mut Random, data: &Path) -> Result<Self> {
        let files: Vec<PathBuf> = files(data)?.into_keys().collect();
        loop {
            let file = files[random.below(files.len() as u64) as usize].clone();
            let length = std::fs::metadata(&file)?.len();
            if length == 0 {
                continue;
            }
            let offset = random.below(length);
            let what = match random.below(8) {
                0 => What::Cut { length: offset },
                1 => What::Byte { offset, value: random.below(256) as u8 },
                2 if random.chance(1, 4) => What::Gone,
                _ => What::Bit { offset, bit: random.below(8) as u8 },
            };
            return Ok(Self { file, what });
        }
    }

    fn apply(&self) -> Result<()> {
        if matches!(self.what, What::Gone) {
            return Ok(std::fs::remove_file(&self.file)?);
        }
        let mut bytes = std::fs::read(&self.file)?;
        match self.what {
            What::Bit { offset, bit } => bytes[offset as usize] ^= 1 << bit,
            What::Byte { offset, value } => bytes[offset as usize] = value,
            What::Cut { length } => bytes.truncate(length as usize),
            What::Gone => {}
        }
        Ok(std::fs::write(&self.file, bytes)?)
    }

    fn name(&self) -> String {
        self.file.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {:?}", self.name(), self.what)
    }
}

fn judge(launch: Launch, template: &Template, damage: &Damage) -> Result<(Verdict, String)> {
    let before = files(&launch.data())?;
    let started = launch.clone().start_again();
    let told = launch.messages().unwrap_or_default();
    let last: Vec<&str> = told.lines().rev().take(6).collect();
    let last: String = last.iter().rev().map(|line| format!("\n  {line}")).collect();
    if told.contains("panick") {
        return Ok((Verdict::Finding, format!("a panic{last}")));
    }
    let names_file = |told: &str| told.contains(&damage.name());
    let server = match started {
        Err(_) => {
            let changed = changed(&before, &files(&launch.data())?);
            return Ok(if !changed.is_empty() {
                (Verdict::Finding, format!("refused, and changed {}{last}", changed.join(", ")))
            } else if !names_file(&told) {
                (Verdict::Finding, format!("refused without the file's name{last}"))
            } else {
                (Verdict::Refused, String::new())
            });
        }
        Ok(server) => server,
    };
    let after = snapshot(&server);
    let told = server.messages()?;
    let gone = logs_gone(&before, &files(&launch.data())?);
    let is_up = server.stop().is_ok();
    if told.contains("panick") || !is_up {
        return Ok((Verdict::Finding, format!("a panic after the start{last}")));
    }
    if !gone.is_empty() {
        return Ok((Verdict::Finding, format!("gone after the start: {}{last}", gone.join(", "))));
    }
    let differences = template.snapshot.differences(&after?);
    if differences.is_empty() {
        return Ok((Verdict::Right, String::new()));
    }
    let text: String = differences.iter().map(|d| format!("\n{}", d.text)).collect();
    // As in MySQL, a server without auto.cnf has a new identity; it is to say so.
    if differences.iter().all(|d| d.text.starts_with(ASK_UUID)) && names_file(&told) {
        return Ok((Verdict::Right, String::new()));
    }
    let is_error = |d: &Difference| d.text.contains("after:  error ");
    Ok(if differences.iter().all(|d| d.case == LAST_CASE) && names_file(&told) {
        (Verdict::TornEnd, String::new())
    } else if differences.iter().all(is_error) && (names_file(&told) || names_file(&text)) {
        (Verdict::SetAside, String::new())
    } else {
        let shown: String = text.chars().take(1500).collect();
        (Verdict::Finding, format!("another answer{last}{shown}"))
    })
}

/// All files below a folder, with what they hold.
fn files(folder: &Path) -> Result<BTreeMap<PathBuf, Vec<u8>>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(files(&path)?);
        } else {
            found.insert(path.clone(), std::fs::read(&path)?);
        }
    }
    Ok(found)
}

/// Files that hold something else than before, but for the server's own marks of who runs.
fn changed(before: &BTreeMap<PathBuf, Vec<u8>>, after: &BTreeMap<PathBuf, Vec<u8>>) -> Vec<String> {
    let is_mark = |path: &Path| path.extension().is_some_and(|ending| ending == "pid" || ending == "lock");
    let changed = before.iter().filter(|(path, bytes)| after.get(*path) != Some(*bytes) && !is_mark(path));
    changed.map(|(path, _)| path.file_name().unwrap_or_default().to_string_lossy().into_owned()).collect()
}

/// Files of the log that are not there any more.
fn logs_gone(before: &BTreeMap<PathBuf, Vec<u8>>, after: &BTreeMap<PathBuf, Vec<u8>>) -> Vec<String> {
    let gone = before.keys().filter(|path| !after.contains_key(*path));
    let names = gone.map(|path| path.file_name().unwrap_or_default().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with("binlog.") && !name.contains("prealloc")).collect()
}

fn copy(data: &Path, to: &Launch) -> Result<()> {
    let to = to.data();
    let home = to.parent().ok_or("a data directory has a folder")?;
    // Missing is as good as removed.
    let _ = std::fs::remove_dir_all(home);
    std::fs::create_dir_all(home)?;
    if Command::new("cp").arg("-a").arg(data).arg(&to).status()?.success() {
        Ok(())
    } else {
        Err("cp failed".into())
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (verdict, count) in &self.counts {
            writeln!(f, "{count} times {verdict:?}")?;
        }
        write!(f, "{} findings", self.findings.len())
    }
}
