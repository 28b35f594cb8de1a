//! A server of a few lines over the crate's public face, for clients to talk to.
#![allow(dead_code, reason = "each test file uses a part")]
#![allow(unreachable_pub, clippy::unwrap_used)]

use env::{Env, RealEnv};
use parking_lot::Mutex;
use protocol::client::{Client, ClientError, ConnectOptions};
use protocol::*;
use std::collections::HashMap;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::ops::Deref;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use tempfile::TempDir;

/// Accounts by user name, valid from everywhere.
#[derive(Default)]
pub struct Accounts(Mutex<HashMap<Vec<u8>, Account>>);

impl Accounts {
    pub fn set(&self, user: &str, plugin: Plugin, password: &str) {
        let authentication_string = plugin.hash_password(password.as_bytes(), &RealEnv).unwrap_or_default();
        let account = Account {
            user: user.into(),
            host: "%".into(),
            plugin,
            authentication_string,
            locked: false,
            require_tls: false,
        };
        self.0.lock().insert(user.into(), account);
    }

    pub fn change(&self, user: &str, change: impl FnOnce(&mut Account)) {
        change(self.0.lock().get_mut(user.as_bytes()).unwrap());
    }
}

impl AccountSource for Accounts {
    fn find(&self, user: &[u8], _host: &str) -> Option<Account> {
        self.0.lock().get(user).cloned()
    }

    fn decoys(&self) -> Decoys {
        let all = self.0.lock();
        let native = all.values().filter(|account| account.plugin == Plugin::Native).count();
        Decoys { accounts: all.len() as u64, native: native as u64, secret: b"secret".to_vec() }
    }
}

/// How a session of the server ended.
#[derive(Debug, PartialEq, Eq)]
pub enum End {
    Handshake(String),
    Read(String),
    Quit,
    Write,
}

/// A server, and the folder that goes with it.
pub struct Server {
    shared: Arc<Shared>,
    _folder: TempDir,
}

/// What its threads have of it: they listen until the process ends.
pub struct Shared {
    pub accounts: Accounts,
    pub authenticator: Authenticator,
    pub ends: Mutex<Vec<End>>,
    pub logins: Mutex<Vec<Login>>,
    pub address: SocketAddr,
    pub socket: PathBuf,
    limits: Limits,
    require_secure_transport: bool,
}

impl Deref for Server {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.shared
    }
}

impl Server {
    pub fn start() -> Self {
        Self::start_with(Limits::default(), false)
    }

    pub fn start_with(limits: Limits, require_secure_transport: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let env: Arc<dyn Env> = Arc::new(RealEnv);
        let identity = Arc::new(Identity::lazy(Arc::clone(&env), folder.path()));
        // Made here: no thread writes into the folder when it is removed.
        assert!(identity.tls().is_some() && identity.rsa().is_some());
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let socket = folder.path().join("sock");
        let unix = UnixListener::bind(&socket).unwrap();
        let shared = Arc::new(Shared {
            accounts: Accounts::default(),
            authenticator: Authenticator::new(env, Some(identity)),
            ends: Mutex::default(),
            logins: Mutex::default(),
            address: tcp.local_addr().unwrap(),
            socket,
            limits,
            require_secure_transport,
        });
        for (user, plugin, password) in [
            ("native", Plugin::Native, "native-pass"),
            ("sha2", Plugin::CachingSha2, "sha2-pass"),
            ("empty", Plugin::CachingSha2, ""),
            ("empty_native", Plugin::Native, ""),
        ] {
            shared.accounts.set(user, plugin, password);
        }
        let there = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in tcp.incoming() {
                let stream = stream.unwrap();
                stream.set_nodelay(true).unwrap();
                there.spawn(Box::new(stream), "127.0.0.1");
            }
        });
        let there = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in unix.incoming() {
                there.spawn(Box::new(stream.unwrap()), "localhost");
            }
        });
        Self { shared, _folder: folder }
    }
}

impl Shared {
    fn spawn(self: &Arc<Self>, socket: Box<dyn Socket>, host: &'static str) {
        let server = Arc::clone(self);
        thread::spawn(move || {
            let connection = Connection::new(socket, host, Arc::new(RealEnv), server.limits).unwrap();
            let end = server.serve(connection);
            server.ends.lock().push(end);
        });
    }

    pub fn tcp(&self, options: &ConnectOptions<'_>) -> Result<Client, ClientError> {
        Client::connect(Box::new(TcpStream::connect(self.address).unwrap()), Arc::new(RealEnv), options)
    }

    pub fn unix(&self, options: &ConnectOptions<'_>) -> Result<Client, ClientError> {
        Client::connect(Box::new(UnixStream::connect(&self.socket).unwrap()), Arc::new(RealEnv), options)
    }

    /// Waits until a session has ended, and takes its end.
    pub fn end(&self) -> End {
        loop {
            if let Some(end) = self.ends.lock().pop() {
                return end;
            }
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// The session loop, as `server` will have it.
    fn serve(&self, mut connection: Connection) -> End {
        let greeting = Greeting {
            version: "8.4.0-duramen",
            connection_id: 7,
            collation: 255,
            status: Status::AUTOCOMMIT,
            tls: true,
            local_infile: true,
            require_secure_transport: self.require_secure_transport,
        };
        match connection.handshake(&greeting, &self.authenticator, &self.accounts) {
            Ok(login) => self.logins.lock().push(login),
            Err(e) => return End::Handshake(e.to_string()),
        }
        connection.write_ok(&OkReply { status: Status::AUTOCOMMIT, ..OkReply::default() });
        let mut packet = Vec::new();
        loop {
            if connection.flush().is_err() {
                return End::Write;
            }
            if let Err(e) = connection.read_command(&mut packet) {
                if let Some(reply) = e.reply() {
                    connection.write_error(&reply);
                    let _ = connection.flush();
                }
                let _ = connection.shutdown();
                return End::Read(e.to_string());
            }
            match Command::parse(&packet, connection.capabilities()) {
                Ok(Command::Quit) => return End::Quit,
                Ok(command) => {
                    if self.execute(&mut connection, command).is_err() {
                        return End::Write;
                    }
                }
                Err(reply) => connection.write_error(&reply),
            }
        }
    }

    fn execute(&self, connection: &mut Connection, command: Command<'_>) -> io::Result<()> {
        let ok = OkReply { status: Status::AUTOCOMMIT, ..OkReply::default() };
        match command {
            Command::Query { sql, .. } => return answer(connection, sql),
            Command::Ping | Command::InitDb(_) | Command::ResetConnection => connection.write_ok(&ok),
            Command::SetOption(_) | Command::Debug => connection.write_eof(&ok),
            Command::Statistics => connection.write_text(b"Uptime: 1"),
            Command::FieldList { .. } => {
                let column = ColumnDefinition { name: b"id", column_type: 8, ..ColumnDefinition::default() };
                connection.write_field_list(&[(column, None)], ok.status);
            }
            Command::BinlogDump(dump) => {
                for n in 0..3 {
                    connection.write_event(&vec![n; dump.offset as usize])?;
                }
                connection.write_eof(&ok);
            }
            Command::ChangeUser(request) => {
                match connection.change_user(&request, &self.authenticator, &self.accounts) {
                    Ok(login) => self.logins.lock().push(login),
                    Err(_) => return connection.shutdown(),
                }
                connection.write_ok(&ok);
            }
            _ => connection.write_error(&ErrorReply::unknown_command()),
        }
        Ok(())
    }
}

/// `SELECT <n>` gives that number; `ROWS <n>` so many rows; `BYTES <n>` one long value; `TWO` two
/// results; `FILE` the length of a file that the client sends; `FAIL` an error after some rows.
fn answer(connection: &mut Connection, sql: &[u8]) -> io::Result<()> {
    let text = String::from_utf8_lossy(sql).trim().to_ascii_uppercase();
    let n: i64 = text.rsplit(' ').next().and_then(|n| n.parse().ok()).unwrap_or(1);
    let status = Status::AUTOCOMMIT;
    let column = ColumnDefinition {
        name: b"n",
        collation: 63,
        length: 21,
        column_type: 8,
        flags: column_flags::NUM,
        ..ColumnDefinition::default()
    };
    let ok = OkReply { status, ..OkReply::default() };
    match text.split(' ').next().unwrap_or("") {
        "ROWS" | "FAIL" => {
            connection.write_columns([column, column].into_iter(), status);
            for i in 0..n {
                let mut row = connection.row();
                row.int(i);
                row.null();
                row.end()?;
            }
            connection.row().int(-1);
            match text.starts_with("FAIL") {
                true => connection.write_error(&ErrorReply::new(
                    1317,
                    b"70100",
                    "Query execution was interrupted",
                )),
                false => connection.write_eof(&ok),
            }
        }
        "BYTES" => {
            connection.write_columns([column].into_iter(), status);
            let mut row = connection.row();
            row.bytes(&vec![b'x'; n as usize]);
            row.end()?;
            connection.write_eof(&ok);
        }
        "SELECT" => write_number(connection, &column, n, status)?,
        "TWO" => {
            write_number(connection, &column, 1, status | Status::MORE_RESULTS_EXISTS)?;
            write_number(connection, &column, 2, status)?;
        }
        "FILE" => {
            connection.write_local_infile_request(b"some.file")?;
            let (mut packet, mut length) = (Vec::new(), 0);
            loop {
                connection.read_local_infile(&mut packet).map_err(io::Error::other)?;
                if packet.is_empty() {
                    break;
                }
                length += packet.len() as u64;
            }
            connection.write_ok(&OkReply { affected_rows: length, ..ok });
        }
        _ => connection.write_ok(&ok),
    }
    Ok(())
}

fn write_number(
    connection: &mut Connection,
    column: &ColumnDefinition<'_>,
    n: i64,
    status: Status,
) -> io::Result<()> {
    connection.write_columns([*column].into_iter(), status);
    let mut row = connection.row();
    row.int(n);
    row.end()?;
    connection.write_eof(&OkReply { status, ..OkReply::default() });
    Ok(())
}
