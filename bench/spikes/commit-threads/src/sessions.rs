//! Sessions on threads or tasks; groups written by a leader among them or by a thread of its own.

use crate::log::{FLUSHES, Log};
use crate::{REPLY, REQUEST};
use parking_lot::{Condvar, Mutex};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, Thread};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

pub fn serve(sessions: &str, writer: &str, flush: &str, path: &str) {
    let log = Log::open(path, flush);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    print!("{:>6}", listener.local_addr().unwrap().port());
    std::io::stdout().flush().unwrap();
    let before = cpu_us();
    match (sessions, writer) {
        ("threads", "leader") => {
            let group: &'static Leaders = Box::leak(Box::new(Leaders::new(log)));
            accept(listener, move |_| group.commit());
        }
        ("threads", "writer") => {
            let queue: &'static Queue<Thread> = Box::leak(Box::new(Queue::default()));
            thread::spawn(move || queue.write(log, |t| t.unpark()));
            accept(listener, move |done| {
                queue.push_with(done);
            });
        }
        ("tasks", "writer") => {
            let queue: &'static Queue<tokio::sync::oneshot::Sender<()>> =
                Box::leak(Box::new(Queue::default()));
            thread::spawn(move || queue.write(log, |t| t.send(()).unwrap()));
            run_tasks(listener, move || async move {
                let (tell, told) = tokio::sync::oneshot::channel();
                queue.push(tell);
                told.await.unwrap();
            });
        }
        ("tasks", "leader") => {
            let log: &'static Mutex<Log> = Box::leak(Box::new(Mutex::new(log)));
            let waiting: &'static Waiting = Box::leak(Box::new(Mutex::new((Vec::new(), false))));
            run_tasks(listener, move || lead_or_wait(log, waiting));
        }
        other => panic!("no {other:?}"),
    }
    let mut end = Vec::new();
    std::io::stdin().read_to_end(&mut end).unwrap();
    println!(" {} {}", cpu_us() - before, FLUSHES.load(Ordering::Relaxed).max(1));
    std::process::exit(0);
}

fn cpu_us() -> f64 {
    // SAFETY: an all-zero rusage is valid, and the call fills it.
    let used = unsafe {
        let mut used: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut used);
        used
    };
    let us = |t: libc::timeval| t.tv_sec as f64 * 1e6 + t.tv_usec as f64;
    us(used.ru_utime) + us(used.ru_stime)
}

/// What a session does besides I/O: parse, execute, encode.
fn execute(request: &[u8]) -> u64 {
    let mut x = 1;
    for _ in 0..20 {
        for &b in request {
            x = std::hint::black_box(x * 31 + u64::from(b)) % 1_000_003;
        }
    }
    x
}

type Done = Arc<std::sync::atomic::AtomicBool>;

fn accept(listener: TcpListener, commit: impl Fn(&Done) + Send + Copy + 'static) {
    thread::spawn(move || {
        for connection in listener.incoming() {
            let c = connection.unwrap();
            c.set_nodelay(true).unwrap();
            thread::Builder::new().stack_size(128 << 10).spawn(move || session(c, commit)).unwrap();
        }
    });
}

fn session(mut c: TcpStream, commit: impl Fn(&Done)) {
    let (mut request, reply) = ([0; REQUEST], [0; REPLY]);
    let done = Done::default();
    while c.read_exact(&mut request).is_ok() {
        std::hint::black_box(execute(&request));
        commit(&done);
        if c.write_all(&reply).is_err() {
            return;
        }
    }
}

/// Leader in session: the first to find no leader writes for all who wait.
struct Leaders {
    state: Mutex<State>,
    log: Mutex<Log>,
}

#[derive(Default)]
struct State {
    leading: bool,
    waiting: Vec<Arc<Seat>>,
}

struct Seat {
    state: Mutex<u8>, // 0 waits, 1 committed, 2 leads
    wake: Condvar,
}

impl Leaders {
    fn new(log: Log) -> Self {
        Self { state: Mutex::default(), log: Mutex::new(log) }
    }

    fn commit(&self) {
        thread_local!(static SEAT: Arc<Seat> = Arc::new(Seat { state: Mutex::new(0), wake: Condvar::new() }));
        SEAT.with(|seat| {
            *seat.state.lock() = 0;
            let mut state = self.state.lock();
            if state.leading {
                state.waiting.push(seat.clone());
                drop(state);
                let mut mine = seat.state.lock();
                while *mine == 0 {
                    seat.wake.wait(&mut mine);
                }
                if *mine == 1 {
                    return;
                }
            } else {
                state.leading = true;
                drop(state);
            }
            self.lead();
        });
    }

    fn lead(&self) {
        let group = std::mem::take(&mut self.state.lock().waiting);
        self.log.lock().write_group(group.len() + 1);
        let mut state = self.state.lock();
        // The first who waits leads next; it takes those who came since when it runs.
        let next = if state.waiting.is_empty() { None } else { Some(state.waiting.swap_remove(0)) };
        state.leading = next.is_some();
        drop(state);
        for (seat, told) in next.into_iter().map(|s| (s, 2)).chain(group.into_iter().map(|s| (s, 1))) {
            *seat.state.lock() = told;
            seat.wake.notify_one();
        }
    }
}

/// A writer thread of its own.
struct Queue<T> {
    waiting: Mutex<Vec<(T, Option<Done>)>>,
    filled: Condvar,
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Self { waiting: Mutex::default(), filled: Condvar::new() }
    }
}

impl<T> Queue<T> {
    fn push(&self, one: T) {
        self.waiting.lock().push((one, None));
        self.filled.notify_one();
    }

    fn write(&self, mut log: Log, tell: impl Fn(T)) {
        loop {
            let mut waiting = self.waiting.lock();
            while waiting.is_empty() {
                self.filled.wait(&mut waiting);
            }
            let group = std::mem::take(&mut *waiting);
            drop(waiting);
            log.write_group(group.len());
            for (one, done) in group {
                if let Some(done) = done {
                    done.store(true, Ordering::Release); // pairs with the load in push_with
                }
                tell(one);
            }
        }
    }
}

impl Queue<Thread> {
    fn push_with(&self, done: &Done) {
        done.store(false, Ordering::Relaxed);
        self.waiting.lock().push((thread::current(), Some(done.clone())));
        self.filled.notify_one();
        while !done.load(Ordering::Acquire) {
            thread::park();
        }
    }
}

fn run_tasks<F: Future<Output = ()> + Send>(
    listener: TcpListener,
    commit: impl Fn() -> F + Send + Copy + 'static,
) {
    thread::spawn(move || {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(async {
            listener.set_nonblocking(true).unwrap();
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            loop {
                let (mut c, _) = listener.accept().await.unwrap();
                c.set_nodelay(true).unwrap();
                tokio::spawn(async move {
                    let (mut request, reply) = ([0; REQUEST], [0; REPLY]);
                    while c.read_exact(&mut request).await.is_ok() {
                        std::hint::black_box(execute(&request));
                        commit().await;
                        if c.write_all(&reply).await.is_err() {
                            return;
                        }
                    }
                });
            }
        });
    });
}

type Waiting = Mutex<(Vec<tokio::sync::oneshot::Sender<bool>>, bool)>;

async fn lead_or_wait(log: &'static Mutex<Log>, waiting: &'static Waiting) {
    let told = {
        let mut state = waiting.lock();
        if state.1 {
            let (tell, told) = tokio::sync::oneshot::channel();
            state.0.push(tell);
            Some(told)
        } else {
            state.1 = true;
            None
        }
    };
    if let Some(told) = told
        && told.await.unwrap()
    {
        return;
    }
    tokio::task::block_in_place(|| {
        let group = std::mem::take(&mut waiting.lock().0);
        log.lock().write_group(group.len() + 1);
        let mut state = waiting.lock();
        let next = if state.0.is_empty() { None } else { Some(state.0.swap_remove(0)) };
        state.1 = next.is_some();
        drop(state);
        next.into_iter().for_each(|s| s.send(false).unwrap());
        group.into_iter().for_each(|s| s.send(true).unwrap());
    });
}
