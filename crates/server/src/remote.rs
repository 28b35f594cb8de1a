//! Another server, over MySQL's protocol: where it is, who logs in, and what all commands that read
//! one need.

mod address;
pub(crate) mod checksum;
pub(crate) mod chunks;
pub(crate) mod definitions;
pub(crate) mod place;
pub(crate) mod snapshot;
pub(crate) mod tables;

use crate::log_tool::ToolError;
use crate::log_tool::arguments::{Arguments, Takes};
use address::{Address, SslMode};
use env::Env;
use protocol::Timeouts;
use protocol::client::{Client, ClientError, ConnectOptions, QueryResult, Row, Tls};
use std::fmt;
use std::io::Read as _;
use std::net::{TcpStream, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

pub(crate) const OPTIONS: [Takes; 3] =
    [Takes::Value("server"), Takes::Value("user"), Takes::Value("password")];

/// How long a server may take for a reply, and how long the network may be silent.
const PATIENCE: Duration = Duration::from_secs(60);

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
    /// How long a connection and the login may take.
    login: Duration,
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
            login: PATIENCE,
        })
    }

    /// The same, for statements that may take so long.
    pub(crate) fn with_patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// The same, given up where connection and login take longer than this.
    pub(crate) fn with_login_within(self, login: Duration) -> Self {
        Self { login, ..self }
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
            SslMode::VerifyCa => Tls::Signed { ca: &ca },
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

    /// True if something answers at its address with a first byte, as a server does that runs,
    /// whoever logs in.
    pub(crate) fn greets(&self) -> bool {
        const WAIT: Duration = Duration::from_secs(5);
        let Ok(mut addresses) = (self.host.as_str(), self.port).to_socket_addrs() else { return false };
        addresses.any(|address| {
            let Ok(mut socket) = TcpStream::connect_timeout(&address, WAIT) else { return false };
            let is_set = socket.set_read_timeout(Some(WAIT)).is_ok();
            is_set && socket.read(&mut [0]).is_ok_and(|count| count > 0)
        })
    }

    fn connect_with(&self, tls: Tls<'_>) -> Result<Client, Refusal> {
        let other = |e: &dyn fmt::Display| Refusal::Other(e.to_string());
        let addresses = (self.host.as_str(), self.port).to_socket_addrs().map_err(|e| other(&e))?;
        let mut last = Refusal::Other("it has no address".to_owned());
        for address in addresses {
            let socket = match TcpStream::connect_timeout(&address, self.login) {
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
                timeouts: Timeouts { idle: wait, read: wait, write: wait, connect: self.login },
                attributes: &[(b"program_name", b"duramen")],
                ..ConnectOptions::default()
            };
            return Client::connect(Box::new(socket), self.env.clone(), &options).map_err(|e| match e {
                ClientError::NoTls => Refusal::NoTls,
                e => other(&e),
            });
        }
        Err(last)
    }

    /// Logs in, to run statements of our own: names are UTF-8, and texts and names are quoted as by
    /// default, whatever the server's settings are.
    ///
    /// # Errors
    /// As [`Remote::connect`].
    pub(crate) fn session(&self) -> Result<RemoteSession, ToolError> {
        let mut session = RemoteSession { client: self.connect()?, remote: self.clone() };
        session.rows("SET NAMES utf8mb4")?;
        session.rows("SET SESSION sql_mode = ''")?;
        Ok(session)
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
