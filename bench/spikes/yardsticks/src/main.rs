//! What the store's operations cost beside those of `lsm-tree`, whose figures were the yardsticks
//! it was designed by.
//!
//! 1,000,000 rows of 112 bytes (8 bytes of key), in memory or in the cache, one thread. The two
//! take turns with each operation, so that what else the machine does hits both; of some rounds the
//! fastest counts. `ROWS=100000` makes a short run.
#![allow(clippy::unwrap_used)]

use std::hint::black_box;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use binlog::{FileNumber, LogPosition};
use env::RealEnv;
use lsm_tree::{AbstractTree, AnyTree, Cache, Config, Guard, SequenceNumberCounter};
use stdx::random::Random;
use storage::{LogDurability, Store, StoreOptions, TreeId, WriteBatch};

const VALUE_LEN: usize = 104;
const TREE: TreeId = TreeId(7);
const CACHE: u64 = 1 << 30;
const ROUNDS: u32 = 5;

/// A store of one tree.
trait Subject {
    fn open(dir: &Path) -> Self;
    fn insert(&mut self, number: u64, key: &[u8], value: &[u8]);
    fn delete(&mut self, number: u64, key: &[u8]);
    fn get(&self, key: &[u8]) -> bool;
    /// Reads at most `limit` rows from a key on; how many there were.
    fn range(&self, from: &[u8], limit: u64) -> u64;
    fn scan_backward(&self) -> u64;
    fn flush(&self);
}

struct Duramen(Arc<Store>, WriteBatch);

struct Durable;

impl LogDurability for Durable {
    fn ensure_durable(&self, _: LogPosition) -> io::Result<()> {
        Ok(())
    }
}

fn at(number: u64) -> LogPosition {
    LogPosition::new(FileNumber(1), 10 + number)
}

impl Subject for Duramen {
    fn open(dir: &Path) -> Duramen {
        let options = StoreOptions {
            memtable_size: 1 << 30,
            memtables_max: 2,
            block_cache_size: CACHE as usize,
            log_distance_max: u64::MAX,
            background: true,
            durability: Arc::new(Durable),
        };
        Duramen(Store::open(Arc::new(RealEnv), dir, options).unwrap(), WriteBatch::new())
    }

    fn insert(&mut self, number: u64, key: &[u8], value: &[u8]) {
        self.1.clear();
        self.1.put(TREE, key, value);
        self.0.write(&self.1, at(number));
    }

    fn delete(&mut self, number: u64, key: &[u8]) {
        self.1.clear();
        self.1.delete(TREE, key);
        let due = self.0.gaps_due(&self.1);
        self.0.write(&self.1, at(number));
        self.0.learn_gaps(&due);
    }

    fn get(&self, key: &[u8]) -> bool {
        self.0.get(TREE, key, LogPosition::MAX).unwrap().is_some()
    }

    fn range(&self, from: &[u8], limit: u64) -> u64 {
        let mut cursor = self.0.cursor(TREE, LogPosition::MAX);
        cursor.seek(from).unwrap();
        let mut seen = 0;
        while seen < limit && cursor.valid() {
            black_box((cursor.key(), cursor.value()));
            seen += 1;
            cursor.next().unwrap();
        }
        seen
    }

    fn scan_backward(&self) -> u64 {
        let mut cursor = self.0.cursor(TREE, LogPosition::MAX);
        cursor.seek_last().unwrap();
        let mut seen = 0;
        while cursor.valid() {
            black_box((cursor.key(), cursor.value()));
            seen += 1;
            cursor.prev().unwrap();
        }
        seen
    }

    fn flush(&self) {
        self.0.checkpoint(b"").unwrap();
    }
}

struct Peer(AnyTree);

const NOW: u64 = 1 << 40;

impl Subject for Peer {
    fn open(dir: &Path) -> Peer {
        let counter = SequenceNumberCounter::default;
        let config = Config::new(dir, counter(), counter());
        Peer(config.use_cache(Arc::new(Cache::with_capacity_bytes(CACHE))).open().unwrap())
    }

    fn insert(&mut self, number: u64, key: &[u8], value: &[u8]) {
        self.0.insert(key, value, number);
    }

    fn delete(&mut self, number: u64, key: &[u8]) {
        self.0.remove(key, number);
    }

    fn get(&self, key: &[u8]) -> bool {
        self.0.get(key, NOW).unwrap().is_some()
    }

    fn range(&self, from: &[u8], limit: u64) -> u64 {
        let mut seen = 0;
        for row in self.0.range(from.., NOW, None).take(limit as usize) {
            black_box(row.into_inner().unwrap());
            seen += 1;
        }
        seen
    }

    fn scan_backward(&self) -> u64 {
        let mut seen = 0;
        for row in self.0.iter(NOW, None).rev() {
            black_box(row.into_inner().unwrap());
            seen += 1;
        }
        seen
    }

    fn flush(&self) {
        self.0.flush_active_memtable(0).unwrap();
    }
}

fn time(f: impl FnOnce()) -> Duration {
    let start = Instant::now();
    f();
    start.elapsed()
}

/// Both in turns; the fastest round of each.
fn compare(what: &str, count: u64, rounds: u32, mut ours: impl FnMut(), mut peers: impl FnMut()) {
    let (mut a, mut b) = (Duration::MAX, Duration::MAX);
    for _ in 0..rounds {
        a = a.min(time(&mut ours));
        b = b.min(time(&mut peers));
    }
    report(what, count, a, b);
}

fn report(what: &str, count: u64, ours: Duration, peers: Duration) {
    let each = |d: Duration| d.as_secs_f64() * 1e6 / count as f64;
    let ratio = peers.as_secs_f64() / ours.as_secs_f64();
    println!("| {what:<40} | {:>13.3} | {:>13.3} | {ratio:>8.2} |", each(ours), each(peers));
}

fn rows() -> u64 {
    std::env::var("ROWS").map_or(1_000_000, |rows| rows.parse().unwrap())
}

/// A key for row `i`: `i` itself, or scattered by a bijection.
fn key(i: u64, is_random: bool) -> [u8; 8] {
    if is_random { i.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes() } else { i.to_be_bytes() }
}

fn load(what: &str, ours: &mut Duramen, peer: &mut Peer, is_random: bool) {
    let mut value = [0; VALUE_LEN];
    Random::new(1).fill(&mut value);
    let (mut a, mut b) = (Duration::ZERO, Duration::ZERO);
    // In turns of 1,000, so that both trees grow together.
    for turn in 0..rows() / 1000 {
        let numbers = turn * 1000..(turn + 1) * 1000;
        a += time(|| numbers.clone().for_each(|i| ours.insert(i, &key(i, is_random), &value)));
        b += time(|| numbers.for_each(|i| peer.insert(i, &key(i, is_random), &value)));
    }
    report(what, rows(), a, b);
}

fn reads(place: &str, ours: &Duramen, peer: &Peer) {
    let keys = |seed: u64, count: u64| {
        let mut random = Random::new(seed);
        (0..count).map(|_| key(random.below(rows()), true)).collect::<Vec<_>>()
    };
    let wanted = keys(2, 200_000);
    let get = |subject: &dyn Fn(&[u8]) -> bool| wanted.iter().for_each(|key| assert!(subject(key)));
    compare(&format!("get, {place}"), 200_000, ROUNDS, || get(&|k| ours.get(k)), || get(&|k| peer.get(k)));
    let wanted = keys(3, 50_000);
    let range = |subject: &dyn Fn(&[u8]) -> u64| {
        wanted.iter().for_each(|key| {
            black_box(subject(key));
        });
    };
    let what = format!("range of 10 rows, {place}");
    compare(&what, 50_000, ROUNDS, || range(&|k| ours.range(k, 10)), || range(&|k| peer.range(k, 10)));
    scans(place, ours, peer);
}

fn scans(place: &str, ours: &Duramen, peer: &Peer) {
    let all = |seen: u64| assert_eq!(seen, rows());
    let (what, none) = (format!("scan forward, {place}, a row"), [0; 0]);
    compare(
        &what,
        rows(),
        ROUNDS,
        || all(ours.range(&none, u64::MAX)),
        || all(peer.range(&none, u64::MAX >> 1)),
    );
    let what = format!("scan backward, {place}, a row");
    compare(&what, rows(), ROUNDS, || all(ours.scan_backward()), || all(peer.scan_backward()));
}

/// 100,000 versions of one key; 100,000 rows deleted at the head.
fn worst_cases(ours: &mut Duramen, peer: &mut Peer) {
    fn fill(subject: &mut impl Subject) {
        (0..102_000).for_each(|i| subject.insert(i, &key(i, false), &[1; VALUE_LEN]));
        (0..100_000).for_each(|i| subject.insert(200_000 + i, &key(101_500, false), &[1; VALUE_LEN]));
        (0..100_000).for_each(|i| subject.delete(400_000 + i, &key(i, false)));
    }
    fill(ours);
    fill(peer);
    let from = key(101_495, false);
    let both = |what: &str, from: &[u8], limit: u64| {
        compare(
            what,
            1,
            ROUNDS,
            || assert_eq!(ours.range(from, limit), limit),
            || {
                assert_eq!(peer.range(from, limit), limit);
            },
        );
    };
    both("10 rows across 100,000 versions", &from, 10);
    both("first row behind 100,000 deleted", &[], 1);
}

fn main() {
    println!("{} rows of 112 bytes\n", rows());
    println!("| {:<40} | {:>13} | {:>13} | {:>8} |", "operation", "Duramen, µs", "lsm-tree, µs", "times");
    println!("| {:-<40} | {:-<12}: | {:-<12}: | {:-<7}: |", "", "", "", "");
    let dirs: Vec<_> = (0..6).map(|_| tempfile::tempdir().unwrap()).collect();
    let (mut ours, mut peer) = (Duramen::open(dirs[0].path()), Peer::open(dirs[1].path()));
    load("insert, keys ascending", &mut ours, &mut peer, false);
    scans("memtable in order", &ours, &peer);
    (ours, peer) = (Duramen::open(dirs[2].path()), Peer::open(dirs[3].path()));
    load("insert, keys random", &mut ours, &mut peer, true);
    reads("memtable", &ours, &peer);
    compare("flush of all rows", 1, 1, || ours.flush(), || peer.flush());
    reads("cached blocks", &ours, &peer);
    (ours, peer) = (Duramen::open(dirs[4].path()), Peer::open(dirs[5].path()));
    worst_cases(&mut ours, &mut peer);
}
