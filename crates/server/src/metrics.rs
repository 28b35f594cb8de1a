//! Metrics for Prometheus: a tiny HTTP answerer, off unless `duramen_metrics_address` says where.
//!
//! One thread takes one request at a time, reads its head, answers, and hangs up. What is reported
//! is what `SHOW GLOBAL STATUS` counts (`text`).
//!
//! (P1) A request takes bounded time and memory: a client that is slow or says too much is hung up
//!      on.
//! (P2) Only loopback is listened on, unless the setting names an address.

mod http;
mod text;

use crate::listener::Listener;
use crate::server::Server;
use sql::variables::{Value, ids};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// How long a client may take for its request.
const REQUEST_TIME: Duration = Duration::from_secs(2);
/// How long it may take for a part of the answer.
const ANSWER_TIME: Duration = Duration::from_secs(2);
/// How long to wait before accepting again after an error.
const PAUSE: Duration = Duration::from_millis(100);

/// The endpoint while the server runs.
#[derive(Default)]
pub(crate) struct Endpoint {
    sockets: Vec<(Arc<Listener>, JoinHandle<()>)>,
}

impl Endpoint {
    /// Listens where `duramen_metrics_address` says, if it does; the variable then has the port
    /// that was given.
    pub(crate) fn start(server: &Arc<Server>) -> Result<Self, String> {
        let address = server.variables.text(ids::DURAMEN_METRICS_ADDRESS);
        if address.is_empty() {
            return Ok(Self::default());
        }
        let (host, port) = http::address(&address)
            .ok_or_else(|| format!("'{address}' is no value for duramen_metrics_address: [HOST:]PORT"))?;
        let listeners = Listener::tcp(host, port)?;
        if let Some(at) = listeners.iter().find_map(Listener::address) {
            server.variables.put(ids::DURAMEN_METRICS_ADDRESS, Value::Text(at.to_string().into()));
            tracing::info!("metrics for Prometheus: http://{at}/metrics");
        }
        let run = |listener: Listener| {
            let (listener, server) = (Arc::new(listener), server.clone());
            let accepting = listener.clone();
            let thread = std::thread::Builder::new().name("metrics".into());
            let thread = thread.spawn(move || serve(&accepting, &server)).map_err(|e| e.to_string())?;
            Ok((listener, thread))
        };
        Ok(Self { sockets: listeners.into_iter().map(run).collect::<Result<_, String>>()? })
    }

    /// Ends it. The stop must have been requested before.
    pub(crate) fn end(self) {
        for (listener, thread) in self.sockets {
            listener.close();
            // A panic in it was logged.
            let _ = thread.join();
        }
    }
}

fn serve(listener: &Listener, server: &Arc<Server>) {
    let Listener::Tcp(socket) = listener else { return };
    while !server.stop.is_requested() {
        match socket.accept() {
            // A client that disconnects early does not want the answer.
            Ok((stream, _)) => drop(answer(stream, server)),
            Err(_) if server.stop.is_requested() => break,
            Err(_) => std::thread::sleep(PAUSE),
        }
    }
}

fn answer(mut stream: TcpStream, server: &Server) -> io::Result<()> {
    stream.set_write_timeout(Some(ANSWER_TIME))?;
    let request = read_head(&mut stream, server)?;
    let metrics = || text::of(&server.status.gather(None), env!("CARGO_PKG_VERSION"));
    stream.write_all(&http::answer(&request, metrics))
}

/// The request as far as its empty line, or as much of it as is taken.
fn read_head(stream: &mut TcpStream, server: &Server) -> io::Result<Vec<u8>> {
    let begun = server.env.monotonic();
    let mut head = Vec::new();
    let mut piece = [0; 1024];
    while !http::is_whole(&head) && head.len() < http::HEAD_MAX {
        let left = REQUEST_TIME.saturating_sub(server.env.monotonic().saturating_sub(begun));
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut piece)? {
            0 => break,
            n => head.extend_from_slice(&piece[..n]),
        }
    }
    Ok(head)
}
