//! Where a server is and who asks: the arguments of client programs.

use crate::Result;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A server that client programs can reach, however it was started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    endpoint: Endpoint,
    user: String,
    password: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Endpoint {
    Socket(PathBuf),
    Tcp { host: String, port: u16 },
}

impl Address {
    /// A Unix socket, as root.
    pub fn socket(path: impl Into<PathBuf>) -> Self {
        Self { endpoint: Endpoint::Socket(path.into()), user: "root".into(), password: String::new() }
    }

    /// A port, as this user.
    pub fn tcp(host: &str, port: u16, user: &str, password: &str) -> Self {
        let endpoint = Endpoint::Tcp { host: host.into(), port };
        Self { endpoint, user: user.into(), password: password.into() }
    }

    /// Reads `user:password@host:port`.
    pub fn parse(text: &str) -> Result<Self> {
        let wrong = || format!("`{text}` is not user:password@host:port");
        // A password may have any of the signs in it, a host neither.
        let (login, endpoint) = text.rsplit_once('@').ok_or_else(wrong)?;
        let (user, password) = login.split_once(':').ok_or_else(wrong)?;
        let (host, port) = endpoint.rsplit_once(':').ok_or_else(wrong)?;
        Ok(Self::tcp(host, port.parse().map_err(|_| wrong())?, user, password))
    }

    /// The path of its Unix socket, if it is reached by that.
    pub fn socket_path(&self) -> Option<&Path> {
        match &self.endpoint {
            Endpoint::Socket(path) => Some(path),
            Endpoint::Tcp { .. } => None,
        }
    }

    /// Its host and port, if it is reached by those.
    pub fn host_and_port(&self) -> Option<(&str, u16)> {
        match &self.endpoint {
            Endpoint::Socket(_) => None,
            Endpoint::Tcp { host, port } => Some((host, *port)),
        }
    }

    /// Who logs in, and with which password.
    pub fn login(&self) -> (&str, &str) {
        (&self.user, &self.password)
    }

    /// The options that say it, as client programs of MariaDB and MySQL have them.
    pub fn options(&self) -> Vec<String> {
        let mut options = vec![format!("--user={}", self.user)];
        match &self.endpoint {
            Endpoint::Socket(path) => options.push(format!("--socket={}", path.display())),
            Endpoint::Tcp { host, port } => {
                options.extend([format!("--host={host}"), format!("--port={port}")])
            }
        }
        if !self.password.is_empty() {
            options.push(format!("--password={}", self.password));
        }
        options
    }

    /// A client program of MariaDB's, with this server's address. Without TLS, which Duramen and
    /// MySQL offer by default and MariaDB does not, and which would measure the client.
    pub fn client(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.args(["--no-defaults", "--skip-ssl"]).args(self.options());
        // Without it `localhost` would mean the socket.
        if self.socket_path().is_none() {
            command.arg("--protocol=tcp");
        }
        command
    }

    /// sysbench, with the same address.
    pub fn sysbench(&self) -> Command {
        let mut command = Command::new("sysbench");
        command.args(self.options().iter().map(|option| option.replacen("--", "--mysql-", 1)));
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
            Err(String::from_utf8_lossy(&done.stderr).trim().into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_from_its_text() {
        let address = Address::parse("sb:p@ss:w@127.0.0.1:33062").unwrap();
        assert_eq!(address, Address::tcp("127.0.0.1", 33062, "sb", "p@ss:w"));
        for wrong in ["", "127.0.0.1:33062", "sb@127.0.0.1:33062", "sb:sb@127.0.0.1", "sb:sb@127.0.0.1:x"] {
            assert!(Address::parse(wrong).is_err(), "{wrong}");
        }
    }
}
