//! Real servers for tests and benchmarks: Duramen, and a MariaDB or MySQL next to it, started on
//! loopback in directories of their own, with equal settings, and ended when dropped.
//!
//! [`Launch`] says which server and how; [`Running`] is one that answers. A run may kill it and
//! start it again on what it left behind. [`address`] is the arguments of client programs, [`disk`]
//! puts another disk under a server, [`published`] is what published workloads say, [`arguments`]
//! the testing programs' command line.

pub mod address;
pub mod arguments;
pub mod disk;
mod find;
pub mod published;

pub use address::Address;
pub use find::{duramen, find, mysqld};

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;
use tempfile::TempDir;

/// What went wrong, in words for the person at the terminal.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Which server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ServerKind {
    /// The server of this project.
    Duramen,
    /// The MariaDB that is installed on the machine.
    MariaDb,
    /// The MySQL that [`mysqld`] finds.
    MySql,
}

/// What both get: full durability, one memory budget, rows in the log. A benchmark changes some of
/// it while it runs.
const COMMON: &[&str] = &[
    "--sync-binlog=1",
    "--innodb-flush-log-at-trx-commit=1",
    "--innodb-buffer-pool-size=512M",
    "--max-binlog-size=64M",
    "--max-connections=600",
    "--bind-address=127.0.0.1",
    "--server-id=1",
];

/// What only MariaDB needs to be set: row events as Duramen writes them, and the rest as fast as
/// it goes.
const MARIADB: &[&str] = &[
    "--log-bin=binlog",
    "--binlog-format=ROW",
    "--binlog-checksum=CRC32",
    "--innodb-log-file-size=512M",
    "--skip-name-resolve",
    "--performance-schema=OFF",
    "--thread-cache-size=200",
    "--user=root",
];

/// What only MySQL needs to be set.
const MYSQL: &[&str] = &[
    "--log-bin=binlog",
    "--gtid-mode=ON",
    "--enforce-gtid-consistency=ON",
    "--innodb-redo-log-capacity=512M",
    "--skip-name-resolve",
    "--mysqlx=OFF",
    "--secure-file-priv=NULL",
    "--user=root",
];

/// How long a server may take to answer its first statement.
const START_TENTHS: u32 = 600;

/// How a server is started.
#[derive(Debug, Clone)]
pub struct Launch {
    kind: ServerKind,
    home: PathBuf,
    duramen: Option<PathBuf>,
    args: Vec<String>,
    variables: Vec<(String, String)>,
    tool: Vec<String>,
}

impl Launch {
    /// A server whose data and error log are in `folder`, under its own name.
    pub fn new(kind: ServerKind, folder: &Path) -> Result<Self> {
        let home = std::path::absolute(folder)?.join(kind.name());
        Ok(Self { kind, home, duramen: None, args: Vec::new(), variables: Vec::new(), tool: Vec::new() })
    }

    /// Runs this binary where the server is Duramen, not the one that lies next to the running
    /// program.
    #[must_use]
    pub fn binary(mut self, duramen: impl Into<PathBuf>) -> Self {
        self.duramen = Some(duramen.into());
        self
    }

    /// Adds an option.
    #[must_use]
    pub fn arg(mut self, arg: impl Into<String>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Sets variables of the environment.
    #[must_use]
    pub fn variables(mut self, variables: impl IntoIterator<Item = (String, String)>) -> Self {
        self.variables.extend(variables);
        self
    }

    /// Runs it under a program that takes the server's command line after its own, as valgrind
    /// does.
    #[must_use]
    pub fn under(mut self, tool: impl IntoIterator<Item = String>) -> Self {
        self.tool = tool.into_iter().collect();
        self
    }

    /// Starts the server with a fresh data directory and waits until it answers.
    pub fn start(self) -> Result<Running> {
        // Missing is as good as removed.
        let _ = fs::remove_dir_all(&self.home);
        fs::create_dir_all(&self.home)?;
        match self.kind {
            ServerKind::Duramen => {}
            ServerKind::MariaDb => install_mariadb(&self.data())?,
            ServerKind::MySql => install_mysql(&self.data())?,
        }
        self.start_again()
    }

    /// Starts the server on the data that lies there, as it is, and waits until it answers.
    ///
    /// # Errors
    /// Fails too if the server ends instead; [`messages`](Self::messages) has what it said.
    pub fn start_again(self) -> Result<Running> {
        // A socket's path is limited to 107 bytes, a checkout's is not.
        let sockets = tempfile::tempdir()?;
        let socket = sockets.path().join("socket");
        let port = free_port()?;
        let log = fs::File::options().create(true).append(true).open(self.error_log())?;
        let child = self
            .command()?
            .arg(format!("--datadir={}", self.data().display()))
            .arg(format!("--socket={}", socket.display()))
            .arg(format!("--port={port}"))
            // MariaDB removes what others have in a common one when it starts.
            .env("TMPDIR", &self.home)
            .args(COMMON)
            .args(&self.args)
            .envs(self.variables.iter().cloned())
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()?;
        let address = Address::socket(&socket);
        let mut running = Running { launch: self, child, socket, _sockets: sockets, port, address };
        running.await_answer()?;
        Ok(running)
    }

    fn command(&self) -> Result<Command> {
        let (program, args) = match (self.kind, &self.duramen) {
            (ServerKind::Duramen, Some(binary)) => (binary.clone(), vec!["serve"]),
            (ServerKind::Duramen, None) => (duramen()?, vec!["serve"]),
            (ServerKind::MariaDb, _) => {
                let program = find("mariadbd").ok_or("mariadbd is not installed")?;
                (program, [&["--no-defaults"], MARIADB].concat())
            }
            (ServerKind::MySql, _) => (mysqld()?, [&["--no-defaults"], MYSQL].concat()),
        };
        let mut command = match self.tool.split_first() {
            Some((tool, of_tool)) => {
                let mut command = Command::new(tool);
                command.args(of_tool).arg(program);
                command
            }
            None => Command::new(program),
        };
        command.args(args);
        Ok(command)
    }

    /// The data directory.
    pub fn data(&self) -> PathBuf {
        self.home.join("data")
    }

    /// What its servers wrote to their error log so far.
    pub fn messages(&self) -> Result<String> {
        Ok(String::from_utf8_lossy(&fs::read(self.error_log())?).into_owned())
    }

    fn error_log(&self) -> PathBuf {
        self.home.join("error.log")
    }
}

/// A server that is up; ended when dropped.
#[derive(Debug)]
pub struct Running {
    launch: Launch,
    child: Child,
    socket: PathBuf,
    /// Its folder, which goes with it: killed servers leave socket and lock file behind.
    _sockets: TempDir,
    port: u16,
    address: Address,
}

impl Running {
    /// Which server it is.
    pub fn kind(&self) -> ServerKind {
        self.launch.kind
    }

    /// How it was started.
    pub fn launch(&self) -> &Launch {
        &self.launch
    }

    /// Its Unix socket.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Its port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it wrote to its error log so far.
    pub fn messages(&self) -> Result<String> {
        self.launch.messages()
    }

    /// Memory in use, in KiB.
    pub fn resident_kib(&self) -> Result<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
        Ok(line.trim().trim_end_matches(" kB").parse()?)
    }

    /// The arguments of client programs.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// A client program of MariaDB's, with this server's address.
    pub fn client(&self, program: &str) -> Command {
        self.address.client(program)
    }

    /// Runs a script through `mariadb`; the answer's rows, tab-separated.
    pub fn sql(&self, script: &str) -> Result<String> {
        self.address.sql(script).map_err(|e| format!("{:?}: {e}", self.kind()).into())
    }

    /// What it calls itself.
    pub fn version(&self) -> Result<String> {
        Ok(format!("{} {}", self.kind().name(), self.sql("SELECT VERSION()")?))
    }

    /// Kills it in the middle of whatever it does (SIGKILL).
    pub fn kill(&mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Starts it again on the data it left behind. It must have ended.
    pub fn restart(self) -> Result<Running> {
        let launch = self.launch.clone();
        drop(self);
        launch.start_again()
    }

    /// True while the process runs.
    pub fn is_up(&mut self) -> Result<bool> {
        Ok(self.child.try_wait()?.is_none())
    }

    /// Ends it as an operator would, and waits.
    pub fn stop(mut self) -> Result<()> {
        self.end()
    }

    fn await_answer(&mut self) -> Result<()> {
        let log = self.launch.error_log();
        for _ in 0..START_TENTHS {
            if self.sql("SELECT 1").is_ok() {
                return Ok(());
            }
            if let Some(status) = self.child.try_wait()? {
                let kind = self.kind();
                return Err(format!("{kind:?} ended at its start ({status}); see {}", log.display()).into());
            }
            thread::sleep(Duration::from_millis(100));
        }
        Err(format!("{:?} did not answer within 60 s; see {}", self.kind(), log.display()).into())
    }

    fn end(&mut self) -> Result<()> {
        if self.child.try_wait()?.is_none() {
            Command::new("kill").arg(self.child.id().to_string()).status()?;
            self.child.wait()?;
        }
        Ok(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Err(e) = self.end() {
            eprintln!("{:?} may still run: {e}", self.kind());
        }
    }
}

impl ServerKind {
    /// Its name in folders, tables and plots.
    pub fn name(self) -> &'static str {
        match self {
            ServerKind::Duramen => "duramen",
            ServerKind::MariaDb => "mariadb",
            ServerKind::MySql => "mysql",
        }
    }
}

fn install_mariadb(data: &Path) -> Result<()> {
    let done = Command::new("mariadb-install-db")
        .args(["--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db", "--user=root"])
        .arg(format!("--datadir={}", data.display()))
        .env("TMPDIR", data.parent().unwrap_or(data))
        .output()?;
    if done.status.success() {
        Ok(())
    } else {
        Err(format!("mariadb-install-db: {}", String::from_utf8_lossy(&done.stderr)).into())
    }
}

fn install_mysql(data: &Path) -> Result<()> {
    let done = Command::new(mysqld()?)
        .args(["--no-defaults", "--initialize-insecure", "--user=root"])
        .arg(format!("--datadir={}", data.display()))
        .output()?;
    if done.status.success() {
        Ok(())
    } else {
        Err(format!("mysqld --initialize-insecure: {}", String::from_utf8_lossy(&done.stderr)).into())
    }
}

/// A port of this machine that nobody has at the moment.
pub fn free_port() -> Result<u16> {
    Ok(std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}
