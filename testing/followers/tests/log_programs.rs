//! The programs that read the log as files and over the wire: `mariadb-binlog`, and MySQL's
//! `mysqlbinlog` where `DURAMEN_MYSQLBINLOG` names it (a command with its arguments, spaces
//! between). Where it does not, that is said, and nothing is shown of it.
#![allow(clippy::unwrap_used)]

use followers::await_that;
use servers::{Launch, Running, ServerKind};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

/// A program, and whether it is MariaDB's.
struct Program {
    command: Vec<String>,
    is_mariadb: bool,
}

impl Program {
    fn command(&self) -> Command {
        let mut command = Command::new(&self.command[0]);
        command.args(&self.command[1..]).arg("--verify-binlog-checksum");
        command
    }

    /// Connected to the server.
    fn remote(&self, source: &Running) -> Command {
        let mut command = self.command();
        let port = format!("--port={}", source.port());
        command.args(["--read-from-remote-server", "--host=127.0.0.1", &port, "--user=reader"]);
        command.arg("--password=secret");
        command
    }

    fn read(&self, command: &mut Command) -> String {
        let output = command.output().unwrap();
        assert!(output.status.success(), "{command:?}: {}", errors(&output));
        events(&output)
    }
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The lines that begin an event: time, server, end, checksum and kind.
fn events(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stdout);
    let is_event = |line: &&str| line.starts_with('#') && line.contains(" server id ");
    let mut lines: Vec<&str> = text.lines().filter(is_event).collect();
    lines.push("");
    lines.join("\n")
}

fn programs() -> Vec<Program> {
    let mut all = vec![Program { command: vec!["mariadb-binlog".into()], is_mariadb: true }];
    match std::env::var("DURAMEN_MYSQLBINLOG") {
        Ok(command) => {
            all.push(Program { command: command.split(' ').map(str::to_owned).collect(), is_mariadb: false });
        }
        Err(_) => println!("DURAMEN_MYSQLBINLOG is not set: nothing is shown of MySQL's mysqlbinlog"),
    }
    all
}

/// A program that copies the log as it grows.
struct Copier(Child);

impl Copier {
    fn start(program: &Program, source: &Running, folder: &Path) -> Self {
        std::fs::create_dir_all(folder).unwrap();
        let mut command = program.remote(source);
        command.args(["--raw", "--stop-never"]).arg(format!("--result-file={}/", folder.display()));
        let id = if program.is_mariadb {
            "--stop-never-slave-server-id=911"
        } else {
            "--connection-server-id=912"
        };
        Self(command.args([id, "binlog.000001"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Copier {
    fn drop(&mut self) {
        // One that has ended needs neither.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn script(source: &Running, name: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("readers/workload").join(name);
    source.sql(&std::fs::read_to_string(path).unwrap()).unwrap();
}

/// The closed files of the log, and the one that is being written.
fn files(source: &Running, folder: &Path) -> (Vec<PathBuf>, PathBuf) {
    let names = source.sql("SHOW BINARY LOGS").unwrap();
    let path = |line: &str| folder.join("duramen/data").join(line.split('\t').next().unwrap());
    let mut files: Vec<PathBuf> = names.lines().map(path).collect();
    let active = files.pop().unwrap();
    (files, active)
}

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

#[test]
fn the_log_is_read_as_files_over_the_wire_and_copied_as_it_grows() {
    let folder = tempfile::tempdir().unwrap();
    let launch = Launch::new(ServerKind::Duramen, folder.path()).unwrap();
    let source = launch.arg("--binlog-large-commit-threshold=1M").start().unwrap();
    source.sql("CREATE USER reader IDENTIFIED BY 'secret'").unwrap();
    source.sql("GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO reader").unwrap();
    let programs = programs();
    let copy = |program: &Program| {
        folder.path().join(if program.is_mariadb { "copied-by-mariadb" } else { "copied-by-mysql" })
    };
    let copiers: Vec<Copier> = programs.iter().map(|p| Copier::start(p, &source, &copy(p))).collect();
    let mut load = source.address().sysbench();
    load.args(["oltp_insert", "--mysql-db=sbtest", "--threads=2", "--time=600", "--rate=200"]);
    source.sql("CREATE DATABASE sbtest").unwrap();
    let prepare = |what: &str| {
        let mut load = source.address().sysbench();
        load.args(["oltp_insert", "--mysql-db=sbtest", what]).stdout(Stdio::null());
        assert!(load.status().unwrap().success());
    };
    prepare("prepare");
    let mut load = load.arg("run").stdout(Stdio::null()).spawn().unwrap();
    for name in ["1-all-types.sql", "2-changes.sql", "3-definitions.sql"] {
        script(&source, name);
    }
    load.kill().unwrap();
    load.wait().unwrap();
    source.sql("FLUSH BINARY LOGS").unwrap();
    source.sql("INSERT INTO cdc.numbers (id) VALUES (1000), (1001)").unwrap();

    let (closed, active) = files(&source, folder.path());
    assert!(closed.len() >= 3, "{closed:?}");
    for program in &programs {
        // A copy is complete once the next one has begun.
        let next = copy(program).join(name(&active));
        await_that("the log is copied", Duration::from_secs(30), || Ok(next.exists())).unwrap();
        closed_files(program, &source, &closed, &copy(program));
        active_file(program, &source, &active);
    }
    drop(copiers);
}

/// What is read over the wire is what is in the files, and the copies are complete.
fn closed_files(program: &Program, source: &Running, closed: &[PathBuf], copy: &Path) {
    for file in closed {
        let copied = copy.join(name(file));
        let read = program.read(program.command().arg(file));
        let remote = program.read(program.remote(source).arg(name(file)));
        let copied_events = program.read(program.command().arg(&copied));
        assert_eq!(remote, copied_events, "{copied:?}");
        assert_eq!(read, remote, "{file:?}");
        assert!(std::fs::read(file).unwrap() == std::fs::read(&copied).unwrap(), "{copied:?} differs");
    }
}

/// Over the wire the file that is being written ends where the log does. As a file it ends in
/// zeros, of which programs complain, but not before they have read all events.
fn active_file(program: &Program, source: &Running, active: &Path) {
    let remote = program.read(program.remote(source).arg(name(active)));
    let read = program.command().arg(active).output().unwrap();
    let count = |text: &str| text.matches("Write_rows").count();
    assert_eq!(count(&remote), 1, "{remote}");
    assert_eq!(count(&events(&read)), 1, "{}", errors(&read));
    assert_eq!(read.status.success(), program.is_mariadb, "{}", errors(&read));
}
