//! The servers that a benchmark runs against: started here, on loopback, with equal settings, and ended here.

use crate::{Result, packages};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

/// Which server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Duramen,
    MariaDb,
}

/// What both get: full durability, one memory budget, rows in the log. Cases change some of it while it runs.
const COMMON: &[&str] = &[
    "--sync-binlog=1",
    "--innodb-flush-log-at-trx-commit=1",
    "--innodb-buffer-pool-size=512M",
    "--max-binlog-size=64M",
    "--max-connections=600",
    "--bind-address=127.0.0.1",
    "--server-id=1",
];

/// What only MariaDB needs to be told: row events as Duramen writes them, and the rest as fast as it goes.
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

/// A server that is up; ended when dropped.
pub struct Running {
    pub kind: Kind,
    child: Child,
    socket: PathBuf,
}

impl Running {
    /// Starts a server with a fresh data directory in `folder` and waits until it answers.
    pub fn start(kind: Kind, folder: &Path) -> Result<Self> {
        let home = std::env::current_dir()?.join(folder).join(kind.name());
        let _ = fs::remove_dir_all(&home);
        fs::create_dir_all(&home)?;
        // A socket's path is limited to 107 bytes, a checkout's is not.
        let socket = std::env::temp_dir().join(format!("{}-bench-{}.sock", kind.name(), std::process::id()));
        let data = home.join("data");
        let mut command = match kind {
            Kind::Duramen => {
                let mut c = Command::new("target/release/duramen");
                c.arg("serve");
                c
            }
            Kind::MariaDb => {
                install_mariadb(&data)?;
                let mut c = Command::new(packages::find("mariadbd").ok_or("no mariadbd")?);
                c.arg("--no-defaults").args(MARIADB);
                c
            }
        };
        let log = fs::File::create(home.join("error.log"))?;
        let child = command
            .arg(format!("--datadir={}", data.display()))
            .arg(format!("--socket={}", socket.display()))
            .arg(format!("--port={}", free_port()?))
            .args(COMMON)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()?;
        let mut running = Self { kind, child, socket };
        for _ in 0..300 {
            if running.sql("SELECT 1").is_ok() {
                return Ok(running);
            }
            if let Some(status) = running.child.try_wait()? {
                return Err(format!(
                    "{kind:?} ended at its start ({status}); see {}/error.log",
                    home.display()
                )
                .into());
            }
            thread::sleep(Duration::from_millis(100));
        }
        Err(format!("{kind:?} did not answer within 30 s; see {}/error.log", home.display()).into())
    }

    /// A client program of MariaDB's, told where this server is. Without TLS, which Duramen offers by default and
    /// MariaDB does not, and which would measure the client.
    pub fn client(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .args(["--no-defaults", "--user=root", "--skip-ssl"])
            .arg(format!("--socket={}", self.socket.display()));
        command
    }

    /// Runs a script through `mariadb`; the answer's rows, tab-separated.
    pub fn sql(&self, script: &str) -> Result<String> {
        let mut client = self
            .client("mariadb")
            .args(["--batch", "--skip-column-names"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        client.stdin.take().ok_or("no stdin")?.write_all(script.as_bytes())?;
        let done = client.wait_with_output()?;
        if done.status.success() {
            Ok(String::from_utf8_lossy(&done.stdout).trim_end().to_string())
        } else {
            Err(format!("{:?}: {}", self.kind, String::from_utf8_lossy(&done.stderr).trim()).into())
        }
    }

    /// What it calls itself.
    pub fn version(&self) -> Result<String> {
        Ok(format!("{} {}", self.kind.name(), self.sql("SELECT VERSION()")?))
    }

    /// Ends it as an operator would, and waits.
    pub fn stop(mut self) -> Result<()> {
        self.end()
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
            eprintln!("{:?} may still run: {e}", self.kind);
        }
    }
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Duramen => "duramen",
            Kind::MariaDb => "mariadb",
        }
    }
}

fn install_mariadb(data: &Path) -> Result<()> {
    let done = Command::new("mariadb-install-db")
        .args(["--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db", "--user=root"])
        .arg(format!("--datadir={}", data.display()))
        .output()?;
    if done.status.success() {
        Ok(())
    } else {
        Err(format!("mariadb-install-db: {}", String::from_utf8_lossy(&done.stderr)).into())
    }
}

fn free_port() -> Result<u16> {
    Ok(std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}
