//! Spike: what carries a durable commit best?
//!
//! A server and its clients exchange one small request and one small reply for each commit, as an autocommit INSERT
//! does; the server makes groups of what waits and flushes each group once. Three questions, each answered side by side
//! in one run, interleaved, median of the rounds:
//!
//! - sessions: a thread for each connection, or tasks on tokio's worker threads;
//! - who writes: the session that finds no leader, or a thread of its own;
//! - which flush: write + fdatasync, O_DIRECT|O_DSYNC, io_uring (write linked to fdatasync).
//!
//! `cargo run --release -- [seconds per cell] [rounds]` prints commits per second and the server's CPU time for each
//! commit. Clients are a process of their own (as `mariadb-slap` is), one thread each.

mod log;
mod sessions;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Bytes of a request: what a small INSERT takes.
pub const REQUEST: usize = 120;
/// Bytes of a reply: an OK packet.
pub const REPLY: usize = 11;
/// Bytes that one commit adds to the log.
pub const GROUP_BYTES: usize = 350;

/// (sessions, writer, flush)
const VARIANTS: [(&str, &str, &str); 7] = [
    ("threads", "leader", "fdatasync"),
    ("threads", "writer", "fdatasync"),
    ("tasks", "writer", "fdatasync"),
    ("tasks", "leader", "fdatasync"),
    ("threads", "leader", "direct"),
    ("threads", "leader", "uring"),
    ("threads", "leader", "none"),
];

fn main() {
    let args: Vec<String> = std::env::args().collect();
    match args.get(1).map(String::as_str) {
        Some("server") => sessions::serve(&args[2], &args[3], &args[4], &args[5]),
        Some("clients") => clients(&args[2], args[3].parse().unwrap(), args[4].parse().unwrap()),
        _ => compare(
            args.get(1).map_or(2.0, |s| s.parse().unwrap()),
            args.get(2).map_or(3, |s| s.parse().unwrap()),
        ),
    }
}

fn compare(seconds: f64, rounds: usize) {
    println!(
        "| clients | sessions | writer | flush | commits/s (median) | ratio | server CPU µs/commit | commits/flush |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for clients in [1, 4, 64, 256] {
        let mut cells = vec![Vec::new(); VARIANTS.len()];
        for _ in 0..rounds {
            for (cell, variant) in cells.iter_mut().zip(VARIANTS) {
                cell.push(measure(variant, clients, seconds));
            }
        }
        let mut first = None;
        for (mut cell, (s, w, f)) in cells.into_iter().zip(VARIANTS) {
            cell.sort_by(|a, b| a.0.total_cmp(&b.0));
            let (rate, cpu, group) = cell[cell.len() / 2];
            let base = *first.get_or_insert(rate);
            println!(
                "| {clients} | {s} | {w} | {f} | {rate:.0} | {:.2} | {cpu:.1} | {group:.1} |",
                rate / base
            );
        }
    }
}

/// Commits a second, CPU microseconds a commit, commits a flush.
fn measure((s, w, f): (&str, &str, &str), clients: usize, seconds: f64) -> (f64, f64, f64) {
    let me = std::env::current_exe().unwrap();
    let path = std::env::current_dir().unwrap().join("spike.log");
    let mut server = Command::new(&me)
        .args(["server", s, w, f, path.to_str().unwrap()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = server.stdout.take().unwrap();
    let mut port = [0; 6];
    out.read_exact(&mut port).unwrap();
    let port = String::from_utf8_lossy(&port).trim().to_string();
    let done = Command::new(&me)
        .args(["clients", &port, &clients.to_string(), &seconds.to_string()])
        .output()
        .unwrap();
    let commits: f64 = String::from_utf8_lossy(&done.stdout).trim().parse().unwrap();
    drop(server.stdin.take());
    let mut report = String::new();
    out.read_to_string(&mut report).unwrap();
    server.wait().unwrap();
    let mut numbers = report.split_whitespace().map(|n| n.parse::<f64>().unwrap());
    let (cpu, flushes) = (numbers.next().unwrap(), numbers.next().unwrap());
    (commits / seconds, cpu / commits, commits / flushes)
}

fn clients(port: &str, n: usize, seconds: f64) {
    let stop = Arc::new(AtomicBool::new(false));
    let total = Arc::new(AtomicU64::new(0));
    let connections: Vec<_> = (0..n)
        .map(|_| {
            let c = TcpStream::connect(format!("127.0.0.1:{port}")).unwrap();
            c.set_nodelay(true).unwrap();
            c
        })
        .collect();
    let started = Instant::now();
    let threads: Vec<_> = connections
        .into_iter()
        .map(|mut c| {
            let (stop, total) = (stop.clone(), total.clone());
            std::thread::spawn(move || {
                let (request, mut reply) = ([1; REQUEST], [0; REPLY]);
                while !stop.load(Ordering::Relaxed) {
                    c.write_all(&request).unwrap();
                    c.read_exact(&mut reply).unwrap();
                    total.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    std::thread::sleep(Duration::from_secs_f64(seconds).saturating_sub(started.elapsed()));
    println!("{}", total.load(Ordering::Relaxed));
    stop.store(true, Ordering::Relaxed);
    threads.into_iter().for_each(|t| t.join().unwrap());
}
