//! A real server in a directory of its own, and the clients that talk to it.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used)]

pub mod backups;
pub mod recorded;
pub mod records;
pub mod replication;
pub mod shop;

use protocol::client::{Client, ConnectOptions};
use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tempfile::TempDir;

/// The binary under test.
pub const DURAMEN: &str = env!("CARGO_BIN_EXE_duramen");
/// How long anything may take before the test gives up.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// A running server.
pub struct Server {
    process: Child,
    /// Where it listens on loopback.
    pub port: u16,
    /// From the start of the process to its "ready for connections".
    pub start_time: Duration,
    datadir: Arc<TempDir>,
    messages: Arc<Mutex<Vec<String>>>,
}

/// Starts a server in a new directory, on a free port.
pub fn start(args: &[&str]) -> Server {
    Server::start_in(&Arc::new(tempfile::tempdir().unwrap()), args)
}

/// Runs the binary to its end, for starts that should fail.
pub fn run(args: &[&str]) -> (ExitStatus, String, String) {
    let output = Command::new(DURAMEN).args(args).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status, text(output.stdout), text(output.stderr))
}

impl Server {
    /// Starts a server in a directory that may have been used before.
    pub fn start_in(datadir: &Arc<TempDir>, args: &[&str]) -> Server {
        Server::start_with(datadir, args, &[])
    }

    /// Starts a server with environment variables of its own.
    pub fn start_with(datadir: &Arc<TempDir>, args: &[&str], variables: &[(String, String)]) -> Server {
        let begun = now();
        let mut process = Command::new(DURAMEN)
            .args(["serve", "--port=0", &format!("--datadir={}", datadir.path().display())])
            .args(args)
            .envs(variables.iter().cloned())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let messages = Arc::<Mutex<Vec<String>>>::default();
        let ready = collect(&mut process, messages.clone());
        let line = ready.recv_timeout(PATIENCE).unwrap_or_else(|_| {
            panic!("the server did not start: {:#?}", messages.lock().unwrap());
        });
        let start_time = now() - begun;
        let port = line.split("-P ").nth(1).and_then(|rest| rest.split(' ').next()?.parse().ok());
        let port = port.unwrap_or(0);
        Server { process, port, start_time, datadir: datadir.clone(), messages }
    }

    /// The data directory.
    pub fn datadir(&self) -> &Arc<TempDir> {
        &self.datadir
    }

    /// A file in the data directory.
    pub fn file(&self, name: &str) -> PathBuf {
        self.datadir.path().join(name)
    }

    /// The process id.
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// What it logged so far.
    pub fn messages(&self) -> Vec<String> {
        self.messages.lock().unwrap().clone()
    }

    /// Waits until a message contains `text`.
    pub fn await_message(&self, text: &str) {
        let begun = now();
        while !self.messages().iter().any(|m| m.contains(text)) {
            assert!(now() - begun < PATIENCE, "no message with {text:?}: {:#?}", self.messages());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Memory in use, in KiB.
    pub fn resident_kib(&self) -> u64 {
        self.memory_kib("VmRSS:")
    }

    /// The most memory that was in use at one time, in KiB.
    pub fn peak_resident_kib(&self) -> u64 {
        self.memory_kib("VmHWM:")
    }

    fn memory_kib(&self, field: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        let line = status.lines().find_map(|l| l.strip_prefix(field)).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }

    /// Runs one of MariaDB's client programs as root over TCP.
    pub fn client(&self, program: &str, args: &[&str]) -> Output {
        let port = format!("--port={}", self.port);
        let common = ["--no-defaults", "--host=127.0.0.1", &port, "--protocol=tcp", "--user=root"];
        Command::new(program).args(common).args(args).output().unwrap_or_else(|e| panic!("{program}: {e}"))
    }

    /// Runs statements with the `mariadb` client: its output, or panics with its error.
    pub fn sql(&self, statements: &str) -> String {
        let output = self.client("mariadb", &["--batch", "--skip-column-names", "-e", statements]);
        assert!(output.status.success(), "{statements}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs statements that should fail: the client's error text.
    pub fn sql_error(&self, statements: &str) -> String {
        let output = self.client("mariadb", &["--batch", "--skip-column-names", "-e", statements]);
        assert!(!output.status.success(), "{statements} did not fail");
        String::from_utf8(output.stderr).unwrap()
    }

    /// Logs in as root over TCP.
    pub fn connect(&self) -> Client {
        self.connect_as(&ConnectOptions::default())
    }

    /// Logs in over TCP.
    pub fn connect_as(&self, options: &ConnectOptions<'_>) -> Client {
        Client::connect(Box::new(self.tcp()), Arc::new(env::RealEnv), options).unwrap()
    }

    /// A bare TCP connection.
    pub fn tcp(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// True if a new client is served.
    pub fn is_well(&self) -> bool {
        self.client("mariadb-admin", &["ping"]).status.success()
    }

    /// Fails unless a new client is served.
    pub fn check_well(&self) {
        let output = self.client("mariadb-admin", &["ping"]);
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains("alive"), "{text} {}", String::from_utf8_lossy(&output.stderr));
    }

    /// Sends SIGTERM and waits for the end.
    pub fn terminate(mut self) -> (ExitStatus, Vec<String>) {
        let pid = rustix::process::Pid::from_child(&self.process);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        let status = self.process.wait().unwrap();
        // The last messages may still be in the pipe: the thread that collects them ends after
        // them.
        let begun = now();
        while Arc::strong_count(&self.messages) > 1 {
            assert!(now() - begun < PATIENCE, "somebody else has the server's standard error");
            std::thread::sleep(Duration::from_millis(1));
        }
        (status, self.messages())
    }

    /// Kills the process as a crash would.
    pub fn kill(&self) {
        let pid = rustix::process::Pid::from_child(&self.process);
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    }

    /// Kills the process as a crash would, and starts it again on the same directory.
    pub fn crash_and_restart(mut self, args: &[&str]) -> Server {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        Server::start_in(&self.datadir, args)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
        if std::thread::panicking() {
            eprintln!("the server's messages: {:#?}", self.messages());
        }
    }
}

/// Gathers the error log; the receiver gets the "ready" line.
fn collect(process: &mut Child, messages: Arc<Mutex<Vec<String>>>) -> Receiver<String> {
    let (sender, receiver) = channel();
    let stderr = process.stderr.take().unwrap();
    std::thread::spawn(move || {
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            messages.lock().unwrap().push(line.clone());
            if line.contains("ready for connections") {
                // Nobody may wait any more.
                let _ = sender.send(line);
            }
        }
    });
    receiver
}

/// A clock that never goes back.
pub fn now() -> Duration {
    env::Env::monotonic(&env::RealEnv)
}

/// True if a path is there.
pub fn exists(path: &Path) -> bool {
    path.exists()
}
