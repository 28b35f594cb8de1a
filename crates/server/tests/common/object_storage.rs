//! An S3-compatible server (`s3s-fs`) on loopback, which keeps its objects in a folder and does
//! badly if it is asked to: errors, answers that are lost, connections that are cut, and silence.
#![allow(unreachable_pub, clippy::unwrap_used)]

use crate::common::backups::Scene;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use s3s::auth::SimpleAuth;
use s3s::service::{S3Service, S3ServiceBuilder};
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;
use stdx::random::Random;
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;

pub const BUCKET: &str = "backups";
pub const SECRET: &str = "not-to-be-printed";

/// How badly it does: of a thousand requests or connections.
#[derive(Debug, Clone, Copy, Default)]
pub struct Faults {
    /// Requests that are refused with 500 or 503.
    pub refused: u64,
    /// Requests that are fulfilled, and answered with 500 or with the connection's end.
    pub lost: u64,
    /// Connections that end after some bytes, of a request or of an answer.
    pub cut: u64,
    /// Requests that are answered after 50 to 500 milliseconds.
    pub slow: u64,
}

struct Shared {
    faults: Mutex<Faults>,
    random: Mutex<Random>,
    /// Requests by their method.
    requests: Mutex<BTreeMap<String, u64>>,
}

impl Shared {
    fn draws(&self, per_mille: u64) -> bool {
        self.random.lock().unwrap().below(1000) < per_mille
    }

    fn below(&self, n: u64) -> u64 {
        self.random.lock().unwrap().below(n)
    }
}

/// A server at work.
pub struct ObjectStorage {
    folder: TempDir,
    pub port: u16,
    shared: Arc<Shared>,
    _runtime: Runtime,
}

impl ObjectStorage {
    pub fn start(seed: u64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join(BUCKET)).unwrap();
        let files = s3s_fs::FileSystem::new(folder.path()).unwrap();
        let mut builder = S3ServiceBuilder::new(files);
        builder.set_auth(SimpleAuth::from_single("tester", SECRET));
        let service = builder.build();
        let shared = Arc::new(Shared {
            faults: Mutex::default(),
            random: Mutex::new(Random::new(seed)),
            requests: Mutex::default(),
        });
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let listener = runtime.block_on(TcpListener::bind(("127.0.0.1", 0))).unwrap();
        let port = listener.local_addr().unwrap().port();
        runtime.spawn(accept(listener, service, shared.clone()));
        Self { folder, port, shared, _runtime: runtime }
    }

    pub fn set(&self, faults: Faults) {
        *self.shared.faults.lock().unwrap() = faults;
    }

    /// Lets the backups of a scene go here.
    pub fn serve(&self, scene: &mut Scene, prefix: &str) {
        scene.address = Some(format!("s3://{BUCKET}/{prefix}"));
        scene.variables = [
            ("AWS_ACCESS_KEY_ID", "tester".to_owned()),
            ("AWS_SECRET_ACCESS_KEY", SECRET.to_owned()),
            ("AWS_REGION", "us-east-1".to_owned()),
            ("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{}", self.port)),
        ]
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
    }

    /// The paths of all objects under a prefix.
    pub fn objects(&self, prefix: &str) -> Vec<PathBuf> {
        let folder = self.folder.path().join(BUCKET).join(prefix);
        let mut found = Vec::new();
        let mut folders = vec![folder];
        while let Some(folder) = folders.pop() {
            let Ok(inside) = std::fs::read_dir(&folder) else { continue };
            for entry in inside {
                let path = entry.unwrap().path();
                if path.is_dir() { folders.push(path) } else { found.push(path) }
            }
        }
        found.sort();
        found
    }

    /// Uploads in parts that were begun and neither completed nor aborted.
    pub fn open_uploads(&self) -> usize {
        let inside = std::fs::read_dir(self.folder.path()).unwrap();
        let names = inside.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.starts_with(".upload-") || name.starts_with(".upload_id")).count()
    }

    /// Requests so far, by their method.
    pub fn requests(&self) -> BTreeMap<String, u64> {
        self.shared.requests.lock().unwrap().clone()
    }

    pub fn request_count(&self) -> u64 {
        self.requests().values().sum()
    }
}

async fn accept(listener: TcpListener, service: S3Service, shared: Arc<Shared>) {
    let server = Arc::new(Builder::new(TokioExecutor::new()));
    while let Ok((socket, _)) = listener.accept().await {
        let cut = shared.faults.lock().unwrap().cut;
        // Some within the first answer, some in the middle of a part.
        let budget =
            shared.draws(cut).then(|| 1 + shared.below(if shared.draws(500) { 4_000 } else { 9 << 20 }));
        let socket = Limited { socket, budget };
        let (service, shared, server) = (service.clone(), shared.clone(), server.clone());
        tokio::spawn(async move {
            let answer =
                hyper::service::service_fn(move |request| answer(service.clone(), shared.clone(), request));
            // A connection that ends is what was asked for.
            let _ = server.serve_connection(TokioIo::new(socket), answer).await;
        });
    }
}

async fn answer(
    service: S3Service,
    shared: Arc<Shared>,
    request: hyper::Request<hyper::body::Incoming>,
) -> Result<s3s::HttpResponse, s3s::HttpError> {
    *shared.requests.lock().unwrap().entry(request.method().to_string()).or_default() += 1;
    let faults = *shared.faults.lock().unwrap();
    let refusal = |status: u16| {
        let body = "<Error><Code>InternalError</Code><Message>as asked for</Message></Error>".to_owned();
        hyper::Response::builder().status(status).body(s3s::Body::from(body)).unwrap()
    };
    if shared.draws(faults.slow) {
        tokio::time::sleep(Duration::from_millis(50 + shared.below(450))).await;
    }
    if shared.draws(faults.refused) {
        return Ok(refusal(if shared.draws(500) { 500 } else { 503 }));
    }
    let answer = service.call(request.map(s3s::Body::from)).await?;
    if shared.draws(faults.lost) {
        return match shared.draws(500) {
            true => Ok(refusal(500)),
            false => Err(s3s::HttpError::new("as asked for".into())),
        };
    }
    Ok(answer)
}

/// A connection that ends after so many bytes.
struct Limited {
    socket: TcpStream,
    budget: Option<u64>,
}

impl Limited {
    fn spend(&mut self, bytes: usize) -> io::Result<()> {
        match &mut self.budget {
            Some(left) if *left < bytes as u64 => Err(io::ErrorKind::ConnectionReset.into()),
            Some(left) => {
                *left -= bytes as u64;
                Ok(())
            }
            None => Ok(()),
        }
    }
}

impl AsyncRead for Limited {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        let polled = Pin::new(&mut self.socket).poll_read(cx, into);
        let read = into.filled().len() - before;
        match self.spend(read) {
            Ok(()) => polled,
            Err(e) => Poll::Ready(Err(e)),
        }
    }
}

impl AsyncWrite for Limited {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.socket).poll_write(cx, bytes);
        if let Poll::Ready(Ok(n)) = polled
            && let Err(e) = self.spend(n)
        {
            return Poll::Ready(Err(e));
        }
        polled
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}
