//! How far followers lag behind the commit: from a client's OK to the moment at which the last of
//! them has the transaction.

use super::Contender;
use super::follower::Follower;
use crate::Result;
use crate::bench::results::Percentiles;
use crate::bench::session;
use std::thread;
use std::time::{Duration, Instant};

/// Between two commits. A follower that a commit has not reached by then has it later.
const APART: Duration = Duration::from_millis(20);
/// The longest that is waited for it.
const PATIENCE: Duration = Duration::from_secs(60);

/// One client commits a row now and then for so long. Zero where the followers have it before the
/// client's OK.
pub fn measure(server: &Contender, followers: &[Follower], time: Duration) -> Result<Option<Percentiles>> {
    let mut client = session::log_in(server.address())?;
    let mut delays = Vec::new();
    let begun = Instant::now();
    while begun.elapsed() < time {
        let before: Vec<u64> = followers.iter().map(Follower::received).collect();
        session::query(&mut client, "INSERT INTO sbtest.sbtest1 (k, c, pad) VALUES (1, 'c', 'pad')")?;
        let committed = Instant::now();
        // Some servers send a transaction in pieces: the last one counts.
        thread::sleep(APART);
        while followers.iter().zip(&before).any(|(follower, &before)| follower.received() == before) {
            if committed.elapsed() > PATIENCE {
                return Err(format!("{}: a commit has not come to a follower", server.name).into());
            }
            thread::sleep(APART);
        }
        let last = followers.iter().map(Follower::last).max().unwrap_or(committed);
        delays.push((last.saturating_duration_since(committed).as_secs_f64() * 1e3, 1));
    }
    delays.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    Ok(Percentiles::of(&delays))
}
