//! Metrics for Prometheus and the status page: a tiny HTTP answerer, off unless
//! `duramen_metrics_address` says where.
//!
//! A thread accepts, and one for each request reads its head, answers, and hangs up. What is
//! reported is what `SHOW GLOBAL STATUS` counts: to Prometheus as text (`text`), to people as a
//! page (`page`) with its history (`history`) and lists of who waits for whom (`lists`).
//!
//! (P1) A request takes bounded time and memory: a client that is slow or says too much is hung up
//!      on, and [`REQUESTS_MAX`] are answered at the same time.
//! (P2) Only loopback is listened on, unless the setting names an address. Who may see the page
//!      there says `access`.

mod access;
mod history;
mod http;
mod lists;
mod page;
mod text;

use crate::listener::Listener;
use crate::server::Server;
use access::Access;
use http::{Request, Response, TEXT};
use page::Page;
use sql::variables::{Value, ids};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// How long a client may take for its request.
const REQUEST_TIME: Duration = Duration::from_secs(2);
/// How long it may take for the answer.
const ANSWER_TIME: Duration = Duration::from_secs(4);
/// How long to wait before accepting again after an error.
const PAUSE: Duration = Duration::from_millis(100);
/// Requests that are answered at the same time; others wait to be accepted. A browser keeps a few
/// connections open that it has no request for yet.
const REQUESTS_MAX: usize = 16;
/// How long to wait for one of them to end.
const BUSY_PAUSE: Duration = Duration::from_millis(5);
/// What a request needs of the stack is little.
const STACK: usize = 1 << 20;

/// The endpoint while the server runs.
#[derive(Default)]
pub(crate) struct Endpoint {
    sockets: Vec<(Arc<Listener>, JoinHandle<()>)>,
    sampler: Option<JoinHandle<()>>,
}

/// What all requests share.
struct Site {
    server: Arc<Server>,
    access: Access,
    page: Page,
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
        let token_file = server.variables.text(ids::DURAMEN_METRICS_TOKEN_FILE);
        let token_file = (!token_file.is_empty())
            .then(|| Path::new(&*server.variables.text(ids::DATADIR)).join(&*token_file));
        let access = Access::new(&*server.env, token_file.as_deref())?;
        let listeners = Listener::tcp(host, port)?;
        if let Some(at) = listeners.iter().find_map(Listener::address) {
            server.variables.put(ids::DURAMEN_METRICS_ADDRESS, Value::Text(at.to_string().into()));
            announce(at, &access);
        }
        let site = Arc::new(Site { server: server.clone(), access, page: Page::default() });
        let run = |listener: Listener| {
            let (listener, site) = (Arc::new(listener), site.clone());
            let accepting = listener.clone();
            Ok((listener, spawn("metrics", move || serve(&accepting, &site))?))
        };
        let sockets = listeners.into_iter().map(run).collect::<Result<_, String>>()?;
        let sampler = Some(spawn("sampler", move || sample(&site))?);
        Ok(Self { sockets, sampler })
    }

    /// Ends it. The stop must have been requested before.
    pub(crate) fn end(self) {
        for (listener, thread) in self.sockets {
            listener.close();
            // A panic in it was logged.
            let _ = thread.join();
        }
        let _ = self.sampler.map(JoinHandle::join);
    }
}

fn announce(at: SocketAddr, access: &Access) {
    if is_loopback(at) || access.has_token() {
        tracing::info!("status page: http://{at}/, metrics for Prometheus: http://{at}/metrics");
    } else {
        tracing::info!(
            "metrics for Prometheus: http://{at}/metrics; the status page at http://{at}/ is answered once \
             duramen_metrics_token_file names a file with a token"
        );
    }
}

fn is_loopback(at: SocketAddr) -> bool {
    at.ip().to_canonical().is_loopback()
}

fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, String> {
    let thread = std::thread::Builder::new().name(name.into()).stack_size(STACK);
    thread.spawn(run).map_err(|e| format!("can't start the thread '{name}': {e}"))
}

/// Takes a sample each second until the stop is requested.
fn sample(site: &Site) {
    let (server, history) = (&site.server, &site.page.history);
    let mut due = server.env.monotonic();
    loop {
        let now = server.env.monotonic();
        history.push(&server.status.gather(None), server.env.now() / 1000);
        history.remember_costs(now, || server.database.statement_costs());
        // Samples that a machine was too busy for, or asleep, are not made up.
        due = (due + history::PERIOD).max(now);
        let pause = due.saturating_sub(server.env.monotonic());
        if server.stop.wait_for(pause).is_some() {
            return;
        }
    }
}

fn serve(listener: &Listener, site: &Arc<Site>) {
    let Listener::Tcp(socket) = listener else { return };
    let is_loopback = listener.address().is_some_and(is_loopback);
    let mut running: Vec<JoinHandle<()>> = Vec::new();
    let stop = &site.server.stop;
    while !stop.is_requested() {
        running.retain(|thread| !thread.is_finished());
        if running.len() >= REQUESTS_MAX {
            std::thread::sleep(BUSY_PAUSE);
            continue;
        }
        match socket.accept() {
            Ok((stream, _)) => {
                let site = site.clone();
                // A client that disconnects early does not want the answer; one that no thread
                // could be had for asks again.
                running.extend(spawn("request", move || drop(answer(stream, &site, is_loopback))));
            }
            Err(_) if stop.is_requested() => break,
            Err(_) => std::thread::sleep(PAUSE),
        }
    }
    // Each ends within the time of its request and answer.
    running.into_iter().for_each(|thread| drop(thread.join()));
}

fn answer(mut stream: TcpStream, site: &Site, is_loopback: bool) -> io::Result<()> {
    let head = read_head(&mut stream, &site.server)?;
    let (response, is_head) = match Request::parse(&head) {
        Ok(request) => (respond(&request, site, is_loopback), request.is_head),
        Err(refusal) => (refusal, false),
    };
    write_answer(&mut stream, &site.server, &response.into_bytes(is_head))
}

fn respond(request: &Request<'_>, site: &Site, is_loopback: bool) -> Response {
    let server = &site.server;
    match request.path {
        "/metrics" => Response::new(TEXT, text::of(&server.status.gather(None), env!("CARGO_PKG_VERSION"))),
        "/" | "/status.json" => match site.access.check(request, is_loopback) {
            Err(refusal) => refusal,
            Ok(()) if request.path == "/" => page::html(server),
            Ok(()) => site.page.numbers(server, request.number("after").unwrap_or(0)),
        },
        _ => Response::not_found(),
    }
}

/// Sends it, unless the client takes longer than [`ANSWER_TIME`].
fn write_answer(stream: &mut TcpStream, server: &Server, mut bytes: &[u8]) -> io::Result<()> {
    let begun = server.env.monotonic();
    while !bytes.is_empty() {
        let left = ANSWER_TIME.saturating_sub(server.env.monotonic().saturating_sub(begun));
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_write_timeout(Some(left))?;
        let written = stream.write(bytes)?;
        bytes = &bytes[written..];
    }
    Ok(())
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
