//! Where clients come in: TCP sockets and a Unix socket, each with a thread that accepts.

use crate::connections::Peer;
use crate::server::Server;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// Connections that wait to be accepted; the kernel takes the smaller of this and
/// `net.core.somaxconn`.
const BACKLOG: i32 = 4096;
/// How long to wait before accepting again when the process has no file descriptors left.
const PAUSE: Duration = Duration::from_millis(100);

/// The Unix socket is for its owner and the group, whatever the umask.
const SOCKET_MODE: u32 = 0o660;

/// True if there is a socket of this name, not a link to one either.
fn is_socket(path: &Path) -> bool {
    rustix::fs::lstat(path)
        .is_ok_and(|stat| rustix::fs::FileType::from_raw_mode(stat.st_mode) == rustix::fs::FileType::Socket)
}

/// A socket that listens.
pub(crate) enum Listener {
    /// On one address of the machine.
    Tcp(TcpListener),
    /// A Unix socket and its file.
    Unix(UnixListener, PathBuf),
}

impl Listener {
    /// Listens on each address of `hosts` (names or addresses divided by commas; `*` for all of the
    /// machine's).
    pub(crate) fn tcp(hosts: &str, port: u16) -> Result<Vec<Listener>, String> {
        let mut listeners = Vec::new();
        for host in hosts.split(',').map(str::trim).filter(|h| !h.is_empty()) {
            let addresses: Vec<SocketAddr> = match host {
                "*" => vec![SocketAddr::from(([0_u16; 8], port)), SocketAddr::from(([0, 0, 0, 0], port))],
                _ => (host, port)
                    .to_socket_addrs()
                    .map_err(|e| format!("'{host}' is no address to listen on: {e}"))?
                    .collect(),
            };
            // The first that works: `*` means IPv6 and IPv4 in one socket where there is IPv6.
            let mut result = Err(format!("'{host}' has no address"));
            for address in addresses {
                result = Self::bind(address)
                    .map_err(|e| format!("can't listen on {address}: {e}{}", in_use_hint(&e)));
                if result.is_ok() {
                    break;
                }
            }
            listeners.push(result?);
        }
        if listeners.is_empty() { Err("bind_address names no address".into()) } else { Ok(listeners) }
    }

    fn bind(address: SocketAddr) -> io::Result<Listener> {
        let listener = TcpListener::bind(address)?;
        // The standard library asks for a backlog that a burst of clients can overflow.
        rustix::net::listen(&listener, BACKLOG)?;
        Ok(Listener::Tcp(listener))
    }

    /// Listens on a Unix socket. A file left over by a server that was killed is replaced: the data
    /// directory's lock is ours, and a socket that someone answers on is refused.
    pub(crate) fn unix(env: &dyn env::Env, path: &Path) -> Result<Listener, String> {
        if env.exists(path) {
            if !is_socket(path) {
                return Err(format!(
                    "'{}' is there and no Unix socket: it stays as it is; give --socket another path",
                    path.display()
                ));
            }
            if UnixStream::connect(path).is_ok() {
                return Err(format!("another server listens on the Unix socket '{}'", path.display()));
            }
            env.remove_file(path).map_err(|e| format!("can't replace '{}': {e}", path.display()))?;
        }
        match UnixListener::bind(path) {
            Ok(listener) => {
                let modes = rustix::fs::chmod(path, rustix::fs::Mode::from_raw_mode(SOCKET_MODE));
                modes.map_err(|e| format!("can't set the modes of '{}': {e}", path.display()))?;
                Ok(Listener::Unix(listener, path.to_owned()))
            }
            Err(e) if e.kind() == ErrorKind::InvalidInput => Err(format!(
                "can't listen on the Unix socket '{}': its path is too long; give --socket a shorter one",
                path.display()
            )),
            Err(e) => Err(format!("can't listen on the Unix socket '{}': {e}", path.display())),
        }
    }

    /// The TCP address.
    pub(crate) fn address(&self) -> Option<SocketAddr> {
        match self {
            Listener::Tcp(listener) => listener.local_addr().ok(),
            Listener::Unix(..) => None,
        }
    }

    /// How to connect, as a command.
    pub(crate) fn connect_command(&self) -> String {
        match self {
            Listener::Unix(_, path) => format!("mysql -S {} -u root", path.display()),
            Listener::Tcp(_) => match self.address() {
                Some(a) if a.ip().is_unspecified() => format!("mysql -h 127.0.0.1 -P {} -u root", a.port()),
                Some(a) => format!("mysql -h {} -P {} -u root", a.ip(), a.port()),
                None => "TCP".into(),
            },
        }
    }

    fn accept(&self) -> io::Result<Peer> {
        match self {
            Listener::Tcp(listener) => listener.accept().map(|(stream, from)| Peer::tcp(stream, from)),
            Listener::Unix(listener, _) => listener.accept().map(|(stream, _)| Peer::Unix(stream)),
        }
    }

    /// Accepts clients on a thread of its own until [`Listener::close`].
    pub(crate) fn run(self: &Arc<Self>, server: &Arc<Server>) -> io::Result<JoinHandle<()>> {
        let (listener, server) = (self.clone(), server.clone());
        std::thread::Builder::new().name("accept".into()).spawn(move || {
            let mut last_warning = None;
            while !server.stop.is_requested() {
                match listener.accept() {
                    Ok(peer) => crate::session::start(&server, peer),
                    Err(_) if server.stop.is_requested() => break,
                    Err(e) if is_passing(&e) => {}
                    Err(e) => {
                        server.status.count(sql::status::Counter::ConnectionErrorsAccept);
                        let now = server.env.monotonic();
                        if last_warning.is_none_or(|then| now - then > Duration::from_secs(10)) {
                            tracing::warn!("can't accept a connection: {e}");
                            last_warning = Some(now);
                        }
                        std::thread::sleep(PAUSE);
                    }
                }
            }
        })
    }

    /// Wakes the accepting thread for the last time. The stop must have been requested before.
    pub(crate) fn close(&self) {
        let socket = match self {
            Listener::Tcp(listener) => listener.as_fd(),
            Listener::Unix(listener, _) => listener.as_fd(),
        };
        if let Err(e) = rustix::net::shutdown(socket, rustix::net::Shutdown::Both) {
            tracing::warn!("can't close a listening socket: {e}");
        }
    }

    /// Removes the Unix socket's file.
    pub(crate) fn remove(&self, env: &dyn env::Env) {
        if let Listener::Unix(_, path) = self
            && is_socket(path)
            && let Err(e) = env.remove_file(path)
        {
            tracing::warn!("can't remove '{}': {e}", path.display());
        }
    }
}

impl Peer {
    fn tcp(stream: TcpStream, from: SocketAddr) -> Peer {
        // Replies are whole writes; waiting for more only delays them. Keepalive finds dead peers
        // of idle sessions.
        let _ = stream.set_nodelay(true);
        let _ = rustix::net::sockopt::set_socket_keepalive(&stream, true);
        Peer::Tcp(stream, from.ip().to_canonical())
    }
}

/// The connection is gone already, or the call was only disturbed.
fn is_passing(e: &io::Error) -> bool {
    matches!(
        e.kind(),
        ErrorKind::Interrupted
            | ErrorKind::ConnectionAborted
            | ErrorKind::ConnectionReset
            | ErrorKind::WouldBlock
    )
}

fn in_use_hint(e: &io::Error) -> &'static str {
    match e.kind() {
        ErrorKind::AddrInUse => "; another server has it: stop that one, or give --port another number",
        ErrorKind::PermissionDenied => "; ports below 1024 are for root",
        _ => "",
    }
}
