//! A network that fails: forwards TCP connections to a server, delays what passes, and cuts all of
//! them on command.

use crate::Result;
use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Bytes that are passed on together. Small, so that a cut falls inside events and packets.
const PIECE: usize = 4096;

/// Listens on a port of its own until it is dropped.
#[derive(Debug)]
pub struct Proxy {
    port: u16,
    shared: Arc<Shared>,
    listener: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    target: AtomicU16,
    delay_us: AtomicU64,
    refuses: AtomicBool,
    ended: AtomicBool,
    passed: AtomicU64,
    open: Mutex<Open>,
}

/// The connections that are up, by number: each with its client's end and the server's.
#[derive(Debug, Default)]
struct Open {
    begun: u64,
    connections: HashMap<u64, [TcpStream; 2]>,
}

impl Proxy {
    /// A way to the server on `target`, a port of this machine.
    pub fn to(target: u16) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port();
        let shared = Arc::new(Shared {
            target: target.into(),
            delay_us: 0.into(),
            refuses: false.into(),
            ended: false.into(),
            passed: 0.into(),
            open: Mutex::default(),
        });
        let theirs = shared.clone();
        let listener = thread::spawn(move || theirs.listen(&listener));
        Ok(Self { port, shared, listener: Some(listener) })
    }

    /// The port that it listens on.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Bytes that came from the server so far.
    pub fn passed(&self) -> u64 {
        self.shared.passed.load(Relaxed)
    }

    /// New connections go to this port from now on: a server that was started again has another.
    pub fn point_to(&self, target: u16) {
        self.shared.target.store(target, Relaxed);
    }

    /// Each piece of some kilobytes from the server waits so long from now on.
    pub fn delay(&self, by: Duration) {
        self.shared.delay_us.store(by.as_micros() as u64, Relaxed);
    }

    /// Ends all connections, in the middle of whatever they carry.
    pub fn cut(&self) {
        for stream in self.shared.open().connections.values().flatten() {
            // It may be closed already.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Ends all connections and lets none through, or lets them through again.
    pub fn block(&self, refuses: bool) {
        self.shared.refuses.store(refuses, Relaxed);
        if refuses {
            self.cut();
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.ended.store(true, Relaxed);
        self.cut();
        // Wakes the listener; it ends when it cannot be reached any more, too.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
        if let Some(listener) = self.listener.take() {
            let _ = listener.join();
        }
    }
}

impl Shared {
    fn listen(self: &Arc<Self>, listener: &TcpListener) {
        while let Ok((client, _)) = listener.accept() {
            if self.ended.load(Relaxed) {
                return;
            }
            if self.refuses.load(Relaxed) {
                continue;
            }
            // A server that is down closes the client's connection, as it would itself.
            let Ok(server) = TcpStream::connect(("127.0.0.1", self.target.load(Relaxed))) else { continue };
            drop(self.join(&client, &server));
        }
    }

    fn join(self: &Arc<Self>, client: &TcpStream, server: &TcpStream) -> std::io::Result<()> {
        client.set_nodelay(true)?;
        server.set_nodelay(true)?;
        let number = {
            let mut open = self.open();
            open.begun += 1;
            let number = open.begun;
            open.connections.insert(number, [client.try_clone()?, server.try_clone()?]);
            number
        };
        for (from, to, is_server) in [(client, server, false), (server, client, true)] {
            let (from, to, shared) = (from.try_clone()?, to.try_clone()?, self.clone());
            thread::spawn(move || shared.pass(number, from, to, is_server));
        }
        Ok(())
    }

    /// Passes on what comes until one of the two ends is closed, and closes both.
    fn pass(&self, number: u64, mut from: TcpStream, mut to: TcpStream, is_server: bool) {
        let mut piece = [0; PIECE];
        while let Ok(length @ 1..) = from.read(&mut piece) {
            if is_server {
                self.passed.fetch_add(length as u64, Relaxed);
                let delay = self.delay_us.load(Relaxed);
                if delay > 0 {
                    thread::sleep(Duration::from_micros(delay));
                }
            }
            if to.write_all(&piece[..length]).is_err() {
                break;
            }
        }
        let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
        self.open().connections.remove(&number);
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
