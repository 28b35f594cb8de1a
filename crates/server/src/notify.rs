//! What a service manager is told (`sd_notify(3)`): systemd's unit of type `notify`, or another
//! program that sets `NOTIFY_SOCKET`.
//!
//! 1. While the start opens the database, and while the stop closes it, a thread sends every ten
//!    seconds how long it has taken, and asks for half a minute more: a recovery may take longer
//!    than the manager's limit.
//! 2. `READY=1` once clients are served, `STOPPING=1` once they are not any more.
//!
//! A manager that can't be reached is told of in the error log, once, and changes nothing else.

use env::Env;
use parking_lot::{Condvar, Mutex};
use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often the manager is told that work goes on.
const PAUSE: Duration = Duration::from_secs(10);
/// For how long it then waits, in microseconds.
const EXTENSION_US: u64 = 30_000_000;

/// The way to the service manager; none where there is no manager.
#[derive(Clone)]
pub(crate) struct Notifier {
    env: Arc<dyn Env>,
    socket: Option<Arc<Target>>,
}

struct Target {
    socket: UnixDatagram,
    address: SocketAddr,
    /// It was said that nothing arrives. It only keeps a message from being repeated, so it is
    /// relaxed.
    has_failed: AtomicBool,
}

impl Notifier {
    /// The manager that `NOTIFY_SOCKET` names.
    pub(crate) fn from_environment(env: Arc<dyn Env>) -> Self {
        match std::env::var_os("NOTIFY_SOCKET") {
            Some(name) if !name.is_empty() => Self::to(env, &name),
            _ => Self::none(env),
        }
    }

    /// No manager.
    pub(crate) fn none(env: Arc<dyn Env>) -> Self {
        Self { env, socket: None }
    }

    /// A socket's path, or `@` and a name without a file.
    fn to(env: Arc<dyn Env>, name: &OsStr) -> Self {
        match Target::new(name) {
            Ok(target) => Self { env, socket: Some(Arc::new(target)) },
            Err(e) => {
                let shown = name.to_string_lossy();
                tracing::warn!("NOTIFY_SOCKET is '{shown}', where no service manager can be told: {e}");
                Self::none(env)
            }
        }
    }

    /// Clients are served.
    pub(crate) fn ready(&self) {
        self.send("READY=1\nSTATUS=ready for connections");
    }

    /// The server stops; until the returned value is dropped the manager is asked to wait.
    pub(crate) fn stopping(&self, reason: &str) -> Working {
        self.send("STOPPING=1");
        self.working(format!("stopping ({}), writes the tables", one_line(reason)))
    }

    /// Work that may take long begins, of the start; until the returned value is dropped the
    /// manager is asked to wait.
    pub(crate) fn starting(&self) -> Working {
        self.working("opens the database, and replays the binary log from the last checkpoint on".to_owned())
    }

    fn working(&self, what: String) -> Working {
        if self.socket.is_none() {
            return Working(None);
        }
        let (notifier, ended) = (self.clone(), Arc::<Ended>::default());
        let (begun, is_over) = (self.env.monotonic(), ended.clone());
        let run = move || {
            let mut over = is_over.over.lock();
            while !*over {
                let seconds = notifier.env.monotonic().saturating_sub(begun).as_secs();
                notifier
                    .send(&format!("STATUS={what}: {seconds} s so far\nEXTEND_TIMEOUT_USEC={EXTENSION_US}"));
                is_over.changed.wait_for(&mut over, PAUSE);
            }
        };
        match std::thread::Builder::new().name("notify".into()).spawn(run) {
            Ok(thread) => Working(Some((ended, thread))),
            Err(e) => {
                tracing::warn!("the service manager is not asked for more time: no thread: {e}");
                Working(None)
            }
        }
    }

    fn send(&self, message: &str) {
        let Some(target) = &self.socket else { return };
        if let Err(e) = target.socket.send_to_addr(message.as_bytes(), &target.address)
            && !target.has_failed.swap(true, Relaxed)
        {
            tracing::warn!("the service manager that NOTIFY_SOCKET names can't be told anything: {e}");
        }
    }
}

impl Target {
    fn new(name: &OsStr) -> io::Result<Self> {
        let bytes = name.as_bytes();
        let address = match bytes.split_first() {
            Some((b'@', name)) => SocketAddr::from_abstract_name(name)?,
            Some((b'/', _)) => SocketAddr::from_pathname(name)?,
            _ => return Err(io::Error::new(io::ErrorKind::InvalidInput, "it begins with neither / nor @")),
        };
        let socket = UnixDatagram::unbound()?;
        // A manager that does not read must not stop the server.
        socket.set_nonblocking(true)?;
        Ok(Self { socket, address, has_failed: AtomicBool::new(false) })
    }
}

/// A message's lines are assignments.
fn one_line(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).collect()
}

#[derive(Default)]
struct Ended {
    over: Mutex<bool>,
    changed: Condvar,
}

/// Work of which the manager is told until this is dropped.
#[must_use]
pub(crate) struct Working(Option<(Arc<Ended>, JoinHandle<()>)>);

impl Drop for Working {
    fn drop(&mut self) {
        let Some((ended, thread)) = self.0.take() else { return };
        *ended.over.lock() = true;
        ended.changed.notify_all();
        // A panic in it was logged, and there is nothing left to send.
        let _ = thread.join();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn received(socket: &UnixDatagram) -> String {
        socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let mut buffer = [0; 1024];
        let length = socket.recv(&mut buffer).unwrap();
        String::from_utf8(buffer[..length].to_vec()).unwrap()
    }

    fn notifier(name: impl AsRef<OsStr>) -> Notifier {
        Notifier::to(Arc::new(env::RealEnv), name.as_ref())
    }

    #[test]
    fn the_manager_gets_each_step_at_a_path_and_at_an_abstract_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let abstract_name = format!("duramen-test-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&abstract_name).unwrap();
        let managers = [
            (UnixDatagram::bind(&path).unwrap(), notifier(&path)),
            (UnixDatagram::bind_addr(&address).unwrap(), notifier(format!("@{abstract_name}"))),
        ];
        for (manager, notifier) in managers {
            let starting = notifier.starting();
            let message = received(&manager);
            assert!(message.starts_with("STATUS=opens the database") && message.contains(": 0 s so far\n"));
            assert!(message.ends_with("\nEXTEND_TIMEOUT_USEC=30000000"), "{message}");
            drop(starting);
            notifier.ready();
            assert_eq!(received(&manager), "READY=1\nSTATUS=ready for connections");
            let stopping = notifier.stopping("SHUTDOWN\nREADY=1");
            assert_eq!(received(&manager), "STOPPING=1");
            let message = received(&manager);
            assert!(message.starts_with("STATUS=stopping (SHUTDOWNREADY=1), "), "{message}");
            drop(stopping);
        }
    }

    #[test]
    fn a_manager_that_is_not_there_stops_nothing() {
        for name in ["relative", "vsock:2:1234", "/no/such/folder/notify", "@duramen-nobody-listens"] {
            let notifier = notifier(name);
            drop(notifier.starting());
            notifier.ready();
            drop(notifier.stopping("SIGTERM"));
        }
        assert!(Notifier::none(Arc::new(env::RealEnv)).socket.is_none());
    }

    #[test]
    fn a_manager_that_does_not_read_stops_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let _manager = UnixDatagram::bind(&path).unwrap();
        let notifier = notifier(&path);
        for _ in 0..10_000 {
            notifier.ready();
        }
    }
}
