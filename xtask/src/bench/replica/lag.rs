//! How far a replica is behind: from a client's OK at the source to the moment at which a query at
//! the replica finds the row, while other sessions commit at a steady rate.

use super::source::{Source, TABLE_SIZE, TABLES};
use crate::Result;
use crate::bench::contender::Contender;
use crate::bench::{session, sysbench};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Acquire, Ordering::Release};
use std::thread;
use std::time::{Duration, Instant};

/// Sessions of the steady load.
pub const SESSIONS: u32 = 8;
/// Between two rows that are looked for.
const APART: Duration = Duration::from_millis(20);
/// Between two queries.
const POLL: Duration = Duration::from_micros(200);
/// The longest that is waited for the last of them.
const PATIENCE: Duration = Duration::from_secs(120);

/// Milliseconds of lag, rising. Zero where the replica had the row before the client its OK.
pub fn measure(source: &Source, replica: &Contender, per_second: u32, time: Duration) -> Result<Vec<f64>> {
    let (is_over, rows) = (AtomicBool::new(false), AtomicUsize::new(usize::MAX));
    thread::scope(|scope| {
        let load = scope.spawn(|| {
            let done = load(source, per_second, time);
            is_over.store(true, Release);
            done
        });
        let commits = scope.spawn(|| commit_rows(source, &is_over, &rows));
        let found = find_rows(replica, &rows);
        load.join().map_err(|_| "the load panicked")??;
        let committed = commits.join().map_err(|_| "the committing session panicked")??;
        let found = found?;
        let lag = |(found, committed): (&Instant, &Instant)| {
            found.saturating_duration_since(*committed).as_secs_f64() * 1e3
        };
        let mut lags: Vec<f64> = found.iter().zip(&committed).map(lag).collect();
        lags.sort_by(f64::total_cmp);
        Ok(lags)
    })
}

/// oltp_write_only at a steady rate, for so long.
fn load(source: &Source, per_second: u32, time: Duration) -> Result<()> {
    let mut args = sysbench::tables_of(TABLES, TABLE_SIZE, SESSIONS);
    args.extend([format!("--rate={per_second}"), format!("--time={}", time.as_secs())]);
    source.sysbench("oltp_write_only", "run", &args).map(drop)
}

/// Commits a row now and then until the load is over, and says in `rows` how many; when its OK
/// came, of each.
fn commit_rows(source: &Source, is_over: &AtomicBool, rows: &AtomicUsize) -> Result<Vec<Instant>> {
    let mut client = session::log_in(source.address())?;
    let mut committed = Vec::new();
    while committed.is_empty() || !is_over.load(Acquire) {
        thread::sleep(APART);
        let id = committed.len() + 1;
        session::query(&mut client, &format!("INSERT INTO sbtest.probe VALUES ({id})"))?;
        committed.push(Instant::now());
    }
    rows.store(committed.len(), Release);
    Ok(committed)
}

/// When each of the rows was found first.
fn find_rows(replica: &Contender, rows: &AtomicUsize) -> Result<Vec<Instant>> {
    let mut client = session::log_in(replica.address())?;
    let mut found: Vec<Instant> = Vec::new();
    let mut newest = Instant::now();
    while found.len() < rows.load(Acquire) {
        let there = session::value(&mut client, "SELECT MAX(id) FROM sbtest.probe")?;
        let there: usize = there.ok_or("the replica has no row to look for")?.parse()?;
        if there > found.len() {
            newest = Instant::now();
            found.resize(there, newest);
        } else if newest.elapsed() > PATIENCE {
            return Err(format!("{}: no row has come for {} s", replica.name, PATIENCE.as_secs()).into());
        }
        thread::sleep(POLL);
    }
    Ok(found)
}
