//! A shop whose rows and definitions change, points of its log, and what its tables were then: for
//! tests of what is restored.

use super::{Server, now};
use protocol::client::Client;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use tempfile::TempDir;

/// Small files, so that the log after the base is in several; checkpoints fall between.
pub const SMALL: &[&str] = &[
    "--max-binlog-size=64K",
    "--binlog-prealloc-num=2",
    "--binlog-large-commit-threshold=1M",
    "--duramen-memtable-size=1M",
    "--duramen-recovery-distance-max=1M",
];

/// Names of columns and indexes that are added.
static COLUMNS: AtomicU64 = AtomicU64::new(1);

/// All tables, as one snapshot has them.
pub fn dump(server: &Server) -> String {
    let args =
        ["--single-transaction", "--skip-comments", "--compact", "--order-by-primary", "--databases", "shop"];
    let output = server.client("mariadb-dump", &args);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    // Numbers that were drawn and not used are not in the log, so the next one may be smaller after
    // recovery.
    let lines = text.lines().map(|line| match line.split_once(" AUTO_INCREMENT=") {
        Some((before, after)) if line.starts_with(") ENGINE") => {
            format!("{before}{}\n", after.trim_start_matches(|c: char| c.is_ascii_digit()))
        }
        _ => format!("{line}\n"),
    });
    lines.collect()
}

/// Tells the first difference.
pub fn assert_same(name: &str, found: &str, expected: &str) {
    let differs = found.lines().zip(expected.lines()).find(|(a, b)| a != b);
    let short = |line: &str| line.chars().take(300).collect::<String>();
    assert!(
        found == expected,
        "{name}: other rows than then: {:?}",
        differs.map(|(a, b)| (short(a), short(b)))
    );
}

pub fn make_tables(server: &Server) {
    server.sql(
        "create database shop; use shop; \
         create table orders (id bigint primary key auto_increment, customer int, text varchar(2000), key (customer)); \
         create table totals (customer int primary key, n int, j json); \
         create table no_key (a int, b blob)",
    );
}

/// Changes everything, until told to stop: rows of three tables, definitions too. Counts its
/// transactions.
fn work(mut client: Client, worker: u64, stop: &AtomicBool, count: &AtomicU64) {
    let mut done = 0;
    while !stop.load(Ordering::Relaxed) {
        done += 1;
        let customer = (worker * 7 + done) % 50;
        let text = "x".repeat((done % 40) as usize * 20);
        for sql in [
            "begin".to_owned(),
            format!("insert into shop.orders (customer, text) values ({customer}, '{text}')"),
            format!(
                "insert into shop.totals values ({customer}, 1, '{{\"n\": {done}}}') \
                 on duplicate key update n = n + 1, j = json_set(j, '$.n', {done})"
            ),
            format!("insert into shop.no_key values ({done}, x'00ff')"),
            format!("delete from shop.orders where id < {} and customer = {customer}", done / 2),
            "commit".to_owned(),
        ] {
            // A deadlock ends the transaction, and is no matter.
            if client.query(sql).is_err() {
                break;
            }
        }
        if worker == 0 && done.is_multiple_of(40) {
            // Definitions alone, and such that build trees, which the base does not have.
            let name = COLUMNS.fetch_add(1, Ordering::Relaxed);
            let sql = match name % 5 {
                0 => format!("alter table shop.orders add column c{name} int default {done}, algorithm=copy"),
                1 => format!("create index i{name} on shop.orders (customer, id)"),
                2 => "alter table shop.totals force".to_owned(),
                3 => "optimize table shop.totals".to_owned(),
                _ => format!("alter table shop.orders add column c{name} int default {done}"),
            };
            client.query(sql).unwrap();
        }
        count.fetch_add(1, Ordering::Relaxed);
    }
}

/// Three clients change everything for so long; on a busy machine longer, until they have done as
/// many transactions as the time has milliseconds.
pub fn at_work(server: &Server, time: Duration) {
    let (stop, count) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..3)
            .map(|worker| {
                let (client, stop, count) = (server.connect(), &stop, &count);
                scope.spawn(move || work(client, worker, stop, count))
            })
            .collect();
        let begun = now();
        let is_done =
            || now() - begun >= time && u128::from(count.load(Ordering::Relaxed)) >= time.as_millis();
        // A worker that panics ends it, too.
        while !is_done() && !workers.iter().any(std::thread::ScopedJoinHandle::is_finished) {
            std::thread::sleep(Duration::from_millis(5));
        }
        stop.store(true, Ordering::Relaxed);
        workers.into_iter().for_each(|worker| worker.join().unwrap());
    });
}

/// A point of the log, and what the tables were then.
pub struct Point {
    pub gtid: String,
    pub position: String,
    pub time: String,
    pub dump: String,
}

pub fn point(server: &Server) -> Point {
    let status = server.sql("show binary log status");
    let mut fields = status.split('\t');
    let position = format!("{}:{}", fields.next().unwrap(), fields.next().unwrap());
    let executed = server.sql("select @@gtid_executed").trim().to_owned();
    let (uuid, last) = executed.split_once(':').unwrap();
    let last = last.rsplit(['-', ':']).next().unwrap();
    let dump = dump(server);
    // A commit in the same microsecond as the clock is after the point.
    std::thread::sleep(Duration::from_millis(2));
    let time = server.sql("select utc_timestamp(6)").trim().to_owned();
    Point { gtid: format!("{uuid}:{last}"), position, time, dump }
}

/// Starts a server on what was recovered.
pub fn start_on(path: &Path) -> Server {
    // The directory goes with the folder that it is in.
    let folder = TempDir::with_prefix("recovered").unwrap();
    std::fs::remove_dir(folder.path()).unwrap();
    std::os::unix::fs::symlink(path, folder.path()).unwrap();
    let folder = Arc::new(folder);
    Server::start_in(&folder, &[])
}
