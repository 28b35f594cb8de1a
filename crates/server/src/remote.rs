//! Another server, over MySQL's protocol: where it is, who logs in, and what all commands that read
//! one need.

pub(crate) mod checksum;
pub(crate) mod chunks;
pub(crate) mod definitions;
pub(crate) mod place;
pub(crate) mod snapshot;
pub(crate) mod tables;

use crate::log_tool::ToolError;
use crate::log_tool::arguments::{Arguments, Takes};
use env::Env;
use protocol::Timeouts;
use protocol::client::{Client, ClientError, ConnectOptions, QueryResult, Row, Tls};
use std::fmt;
use std::net::{TcpStream, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

pub(crate) const OPTIONS: [Takes; 3] =
    [Takes::Value("server"), Takes::Value("user"), Takes::Value("password")];

/// How long a server may take for a reply, and how long the network may be silent.
const PATIENCE: Duration = Duration::from_secs(60);

/// A port that is not said.
const PORT: u16 = 3306;

/// Whether a connection is secured: MySQL's `ssl-mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SslMode {
    Disabled,
    /// If the server can.
    Preferred,
    Required,
    VerifyIdentity,
}

/// A server, and an account there.
#[derive(Clone)]
pub(crate) struct Remote {
    env: Arc<dyn Env>,
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) user: String,
    pub(crate) password: String,
    ssl_mode: SslMode,
    /// A file with the certificates of those who sign the server's.
    pub(crate) ssl_ca: Option<PathBuf>,
    patience: Duration,
}

impl Remote {
    /// The server that `--server` names.
    ///
    /// # Errors
    /// It is no address.
    pub(crate) fn of(env: &Arc<dyn Env>, arguments: &Arguments) -> Result<Option<Self>, ToolError> {
        arguments.value("server").map(|text| Self::parse(env, text, arguments)).transpose()
    }

    /// A server by its address, `HOST:PORT` or `mysql://USER:PASSWORD@HOST:PORT/?ssl-mode=..`; what
    /// it leaves out is from `--user`, `--password` and the environment.
    ///
    /// # Errors
    /// It is no address.
    pub(crate) fn parse(env: &Arc<dyn Env>, text: &str, arguments: &Arguments) -> Result<Self, ToolError> {
        let address = Address::parse(text).map_err(|what| arguments.wrong(format!("'{text}': {what}")))?;
        let given = |name| arguments.value(name).map(str::to_owned);
        let from_environment = || std::env::var("MYSQL_PWD").ok();
        Ok(Self {
            env: env.clone(),
            host: address.host,
            port: address.port,
            user: address.user.or_else(|| given("user")).unwrap_or_else(|| "root".to_owned()),
            password: address
                .password
                .or_else(|| given("password"))
                .or_else(from_environment)
                .unwrap_or_default(),
            ssl_mode: address.ssl_mode,
            ssl_ca: address.ssl_ca,
            patience: PATIENCE,
        })
    }

    /// The same, for statements that may take so long.
    pub(crate) fn with_patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// Its address.
    pub(crate) fn server(&self) -> String {
        match self.host.contains(':') {
            true => format!("[{}]:{}", self.host, self.port),
            false => format!("{}:{}", self.host, self.port),
        }
    }

    /// True if the server's certificate has to name the host.
    pub(crate) fn verifies_identity(&self) -> bool {
        self.ssl_mode == SslMode::VerifyIdentity
    }

    /// Logs in.
    ///
    /// # Errors
    /// The network's, or the server's; in words that name both ends.
    pub(crate) fn connect(&self) -> Result<Client, ToolError> {
        let failed = |what: &dyn fmt::Display| {
            ToolError::Refused(format!("can't connect to {} as {}: {what}", self.server(), self.user))
        };
        let ca = match &self.ssl_ca {
            Some(path) => self.env.read_file(path).map_err(|e| ToolError::io("read", path, e))?,
            None => Vec::new(),
        };
        let tls = match self.ssl_mode {
            SslMode::Disabled => Tls::Off,
            SslMode::VerifyIdentity => Tls::Verified { ca: &ca, server_name: &self.host },
            SslMode::Preferred | SslMode::Required => Tls::Unverified,
        };
        let first = self.connect_with(tls).map_err(|e| match e {
            Refusal::NoTls if self.ssl_mode == SslMode::Preferred => None,
            Refusal::NoTls => Some(failed(&"it offers no TLS")),
            Refusal::Other(what) => Some(failed(&what)),
        });
        match first {
            Ok(client) => Ok(client),
            Err(Some(error)) => Err(error),
            Err(None) => self.connect_with(Tls::Off).map_err(|e| failed(&e)),
        }
    }

    fn connect_with(&self, tls: Tls<'_>) -> Result<Client, Refusal> {
        let other = |e: &dyn fmt::Display| Refusal::Other(e.to_string());
        let addresses = (self.host.as_str(), self.port).to_socket_addrs().map_err(|e| other(&e))?;
        let mut last = Refusal::Other("it has no address".to_owned());
        for address in addresses {
            let socket = match TcpStream::connect_timeout(&address, PATIENCE) {
                Ok(socket) => socket,
                Err(e) => {
                    last = other(&e);
                    continue;
                }
            };
            socket.set_nodelay(true).map_err(|e| other(&e))?;
            let wait = self.patience;
            let options = ConnectOptions {
                user: self.user.as_bytes(),
                password: self.password.as_bytes(),
                tls,
                timeouts: Timeouts { idle: wait, read: wait, write: wait, connect: PATIENCE },
                attributes: &[(b"program_name", b"duramen")],
                ..ConnectOptions::default()
            };
            return Client::connect(Box::new(socket), self.env.clone(), &options).map_err(|e| match e {
                ClientError::Unexpected("no TLS is offered") => Refusal::NoTls,
                e => other(&e),
            });
        }
        Err(last)
    }

    /// Logs in, to run statements of our own.
    ///
    /// # Errors
    /// As [`Remote::connect`].
    pub(crate) fn session(&self) -> Result<RemoteSession, ToolError> {
        Ok(RemoteSession { client: self.connect()?, remote: self.clone() })
    }

    /// What is said of a statement that the server refuses.
    pub(crate) fn refused(&self, what: &str, error: &ClientError) -> ToolError {
        let what = &what[..what.floor_char_boundary(SHOWN_MAX)];
        ToolError::Refused(format!("{}: {what}: {error}", self.server()))
    }
}

/// So many bytes of a statement are shown with its error.
const SHOWN_MAX: usize = 200;

/// Why a server is not connected.
enum Refusal {
    NoTls,
    /// The text says it.
    Other(String),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoTls => f.write_str("it offers no TLS"),
            Self::Other(what) => f.write_str(what),
        }
    }
}

/// Who runs statements, and gives their rows: another server, or the database of this process.
pub(crate) trait Runs {
    /// Runs one statement and calls `each` with every row.
    ///
    /// # Errors
    /// The server's, with its address and the statement's beginning; those of `each`.
    fn each_row(
        &mut self,
        sql: &str,
        each: &mut dyn FnMut(Row) -> Result<(), ToolError>,
    ) -> Result<(), ToolError>;

    /// All rows of a statement that has few.
    ///
    /// # Errors
    /// As [`Runs::each_row`].
    fn rows(&mut self, sql: &str) -> Result<Vec<Row>, ToolError> {
        let mut rows = Vec::new();
        self.each_row(sql, &mut |row| {
            rows.push(row);
            Ok(())
        })?;
        Ok(rows)
    }

    /// The first row's texts; `None` for those that are NULL or not there.
    ///
    /// # Errors
    /// As [`Runs::each_row`].
    fn first<const N: usize>(&mut self, sql: &str) -> Result<[Option<String>; N], ToolError>
    where
        Self: Sized,
    {
        let mut first = self.rows(sql)?.into_iter().next().unwrap_or_default().into_iter();
        Ok(std::array::from_fn(|_| first.next().flatten().map(text)))
    }
}

/// A cell that is text.
pub(crate) fn text(cell: Vec<u8>) -> String {
    String::from_utf8(cell).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned())
}

/// A connection that runs statements.
pub(crate) struct RemoteSession {
    remote: Remote,
    client: Client,
}

impl RemoteSession {
    /// Where it is connected.
    pub(crate) fn remote(&self) -> &Remote {
        &self.remote
    }

    /// As the greeting has it.
    pub(crate) fn version(&self) -> &str {
        &self.client.server_version
    }

    /// True if it is encrypted.
    pub(crate) fn has_tls(&self) -> bool {
        self.client.tls().is_some()
    }

    /// Runs one statement, and gives the server's error as it is.
    ///
    /// # Errors
    /// The server's.
    pub(crate) fn try_query(&mut self, sql: &str) -> Result<QueryResult, ClientError> {
        self.client.query(sql)
    }
}

impl Runs for RemoteSession {
    fn each_row(
        &mut self,
        sql: &str,
        each: &mut dyn FnMut(Row) -> Result<(), ToolError>,
    ) -> Result<(), ToolError> {
        let mut stopped = Ok(());
        let result = self.client.query_rows(sql, &mut |row| {
            stopped = each(row);
            stopped.is_ok()
        });
        stopped?;
        result.map(drop).map_err(|e| self.remote.refused(sql, &e))
    }
}

/// An address as it was written.
#[derive(Debug, PartialEq, Eq)]
struct Address {
    host: String,
    port: u16,
    user: Option<String>,
    password: Option<String>,
    ssl_mode: SslMode,
    ssl_ca: Option<PathBuf>,
}

impl Address {
    fn parse(text: &str) -> Result<Self, String> {
        let Some(url) = text.strip_prefix("mysql://").or_else(|| text.strip_prefix("mariadb://")) else {
            let (host, port) = host_and_port(text)?;
            let ssl_mode = SslMode::Preferred;
            return Ok(Self { host, port, user: None, password: None, ssl_mode, ssl_ca: None });
        };
        let (url, query) = url.split_once('?').unwrap_or((url, ""));
        let (authority, path) = url.split_once('/').unwrap_or((url, ""));
        if !path.is_empty() {
            return Err(format!("'{path}' names a database: say --database"));
        }
        let (account, place) = match authority.rsplit_once('@') {
            Some((account, place)) => (Some(account), place),
            None => (None, authority),
        };
        let (user, password) = match account.map(|a| a.split_once(':').unwrap_or((a, ""))) {
            Some((user, "")) => (Some(decoded(user)?), None),
            Some((user, password)) => (Some(decoded(user)?), Some(decoded(password)?)),
            None => (None, None),
        };
        let (host, port) = host_and_port(place)?;
        let mut address = Self { host, port, user, password, ssl_mode: SslMode::Preferred, ssl_ca: None };
        for option in query.split('&').filter(|option| !option.is_empty()) {
            let (name, value) = option.split_once('=').unwrap_or((option, ""));
            match name {
                "ssl-mode" => address.ssl_mode = ssl_mode(value)?,
                "ssl-ca" => address.ssl_ca = Some(decoded(value)?.into()),
                _ => return Err(format!("'{name}' is unknown: ssl-mode and ssl-ca can be said")),
            }
        }
        if address.ssl_mode == SslMode::VerifyIdentity && address.ssl_ca.is_none() {
            return Err("ssl-mode=VERIFY_IDENTITY needs an ssl-ca, a file with certificates".to_owned());
        }
        Ok(address)
    }
}

fn ssl_mode(value: &str) -> Result<SslMode, String> {
    match value.to_ascii_uppercase().as_str() {
        "DISABLED" => Ok(SslMode::Disabled),
        "PREFERRED" => Ok(SslMode::Preferred),
        "REQUIRED" => Ok(SslMode::Required),
        "VERIFY_IDENTITY" => Ok(SslMode::VerifyIdentity),
        _ => Err(format!("'{value}' is no ssl-mode: DISABLED, PREFERRED, REQUIRED, VERIFY_IDENTITY")),
    }
}

/// `host`, `host:port`, `[::1]:port`.
fn host_and_port(text: &str) -> Result<(String, u16), String> {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((host, "")) => (host, None),
            Some((host, port)) => (host, Some(port.strip_prefix(':').ok_or("a port comes behind ':'")?)),
            None => return Err("a ']' is missing".to_owned()),
        },
        None => match text.rsplit_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        },
    };
    let port = match port {
        Some(port) => port.parse().map_err(|_| format!("'{port}' is no port"))?,
        None => PORT,
    };
    match host.is_empty() {
        true => Err("a host is missing: HOST:PORT, or mysql://USER:PASSWORD@HOST:PORT".to_owned()),
        false => Ok((host.to_owned(), port)),
    }
}

/// A text of a URL, in which `%40` is an `@`.
fn decoded(text: &str) -> Result<String, String> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let digits = after.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        let value = digits.and_then(|two| u8::from_str_radix(two, 16).ok());
        out.push(value.ok_or_else(|| format!("in '{text}' two hexadecimal digits belong behind '%'"))?);
        rest = &after[2..];
    }
    String::from_utf8(out).map_err(|_| format!("'{text}' is not UTF-8"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn parsed(text: &str) -> String {
        match Address::parse(text) {
            Ok(a) => format!(
                "{} {} {} {} {:?}",
                a.host,
                a.port,
                a.user.as_deref().unwrap_or("-"),
                a.password.as_deref().unwrap_or("-"),
                a.ssl_mode
            ),
            Err(e) => e,
        }
    }

    #[test]
    fn addresses_are_read_in_each_form() {
        let check = |text, expected: &str| assert_eq!(parsed(text), expected, "{text}");
        check("db", "db 3306 - - Preferred");
        check("db:33", "db 33 - - Preferred");
        check("[::1]:33", "::1 33 - - Preferred");
        check("mysql://u@db", "db 3306 u - Preferred");
        check("mysql://u:p%40%3a%2f@db:1/", "db 1 u p@:/ Preferred");
        check("mysql://u:p@q@[::1]:1?ssl-mode=required", "::1 1 u p@q Required");
        check("mysql://db?ssl-mode=VERIFY_IDENTITY&ssl-ca=/ca.pem", "db 3306 - - VerifyIdentity");
    }

    #[test]
    fn mistakes_in_addresses_are_told() {
        let check =
            |text, expected: &str| assert!(parsed(text).contains(expected), "{text}: {}", parsed(text));
        check("", "a host is missing");
        check("db:x", "'x' is no port");
        check("db:70000", "'70000' is no port");
        check("[::1", "']' is missing");
        check("mysql://u:%4@db", "two hexadecimal digits");
        check("mysql://db/shop", "names a database");
        check("mysql://db?tls=1", "'tls' is unknown");
        check("mysql://db?ssl-mode=VERIFY_CA", "is no ssl-mode");
        check("mysql://db?ssl-mode=VERIFY_IDENTITY", "needs an ssl-ca");
    }
}
