//! Starts and stops the unit `duramen.service` of a root folder as systemd would: its folders, its
//! user, its command line, `NOTIFY_SOCKET`.
//!
//! What systemd would confine is not confined here; `syscalls` compares what the server does with
//! what the unit permits.

use super::deb::done;
use super::root::Root;
use crate::Result;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Where the package has it.
pub(super) const UNIT: &str = "/lib/systemd/system/duramen.service";

/// How long a start and a stop may take here.
const PATIENCE: Duration = Duration::from_secs(60);

/// The running service.
pub(super) struct Service<'a> {
    root: &'a Root,
    process: Child,
    manager: UnixDatagram,
}

/// The last value that the unit gives a setting.
pub(super) fn setting(unit: &str, name: &str) -> Result<String> {
    let mut values = unit.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix('='));
    values.next_back().map(str::to_owned).ok_or_else(|| format!("{UNIT} has no {name}").into())
}

impl<'a> Service<'a> {
    /// Starts it, and waits until it says that it is ready.
    ///
    /// # Errors
    /// With what the server said, if it does not get ready.
    pub(super) fn start(root: &'a Root, trace: Option<&PathBuf>) -> Result<Self> {
        let unit = std::fs::read_to_string(root.at(UNIT))?;
        let user = setting(&unit, "User")?;
        for (folder, name) in [("/var/lib", "StateDirectory"), ("/run", "RuntimeDirectory")] {
            let path = format!("{folder}/{}", setting(&unit, name)?);
            let mode = setting(&unit, &format!("{name}Mode"))?;
            let made = root.run(&["install", "-d", "-o", &user, "-g", &user, "-m", &mode, &path])?;
            if !made.status.success() {
                return Err(format!("can't make {path}: {}", String::from_utf8_lossy(&made.stderr)).into());
            }
        }
        let socket = root.at("/run/notify");
        if socket.exists() {
            std::fs::remove_file(&socket)?;
        }
        let manager = UnixDatagram::bind(&socket)?;
        std::fs::set_permissions(&socket, Permissions::from_mode(0o777))?;
        let inside = root.command(&user);
        let mut command = match trace {
            Some(file) => {
                let mut command = Command::new("strace");
                command.args(["-f", "-qq", "-o"]).arg(file).arg(inside.get_program());
                command.args(inside.get_args()).env_clear();
                command.envs(inside.get_envs().filter_map(|(name, value)| Some((name, value?))));
                command
            }
            None => inside,
        };
        command.args(setting(&unit, "ExecStart")?.split(' ')).env("NOTIFY_SOCKET", "/run/notify");
        let log = std::fs::File::create(root.at("/run/duramen.log"))?;
        let process = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn()?;
        let mut service = Self { root, process, manager };
        service.await_message("READY=1\n")?;
        Ok(service)
    }

    /// What the server has said.
    pub(super) fn log(&self) -> String {
        std::fs::read_to_string(self.root.at("/run/duramen.log")).unwrap_or_default()
    }

    fn await_message(&mut self, wanted: &str) -> Result<()> {
        let begun = Instant::now();
        self.manager.set_read_timeout(Some(Duration::from_millis(100)))?;
        let mut buffer = [0; 4096];
        while begun.elapsed() < PATIENCE {
            if let Ok(length) = self.manager.recv(&mut buffer) {
                let message = String::from_utf8_lossy(&buffer[..length]);
                println!("  notified: {}", message.replace('\n', ", "));
                if message.starts_with(wanted) {
                    return Ok(());
                }
            } else if self.process.try_wait()?.is_some() {
                break;
            }
        }
        Err(format!("no {wanted:?} came; the server said:\n{}", self.log()).into())
    }

    /// Runs statements as root, with the settings that the package has made for clients.
    ///
    /// # Errors
    /// With what the client said.
    pub(super) fn sql(&self, statements: &str) -> Result<String> {
        self.client(
            &[&format!("--defaults-file={}", self.root.at("/etc/duramen/client.cnf").display())],
            statements,
        )
    }

    /// Runs statements with the client program and these options.
    ///
    /// # Errors
    /// With what the client said.
    pub(super) fn client(&self, options: &[&str], statements: &str) -> Result<String> {
        let socket = format!("--socket={}", self.root.at("/run/duramen/duramen.sock").display());
        let mut command = Command::new("mariadb");
        command.args(options).args([&*socket, "--batch", "--skip-column-names", "-e", statements]);
        let output = command.output()?;
        match output.status.success() {
            true => Ok(String::from_utf8(output.stdout)?),
            false => Err(String::from_utf8_lossy(&output.stderr).into_owned().into()),
        }
    }

    /// Stops it by SIGTERM, which has to end well.
    pub(super) fn stop(mut self) -> Result<()> {
        let pid = std::fs::read_to_string(self.root.at("/run/duramen/duramen.pid"))?;
        done(Command::new("kill").args(["-TERM", pid.trim()]))?;
        self.await_message("STOPPING=1")?;
        let status = self.process.wait()?;
        if status.success() { Ok(()) } else { Err(format!("the server ended with {status}").into()) }
    }
}

impl Drop for Service<'_> {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
