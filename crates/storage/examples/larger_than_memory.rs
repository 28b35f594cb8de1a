//! Data larger than memory: loads rows, reads them back, and watches the memory it takes.
//!
//! `cargo run --release -p storage --example larger_than_memory -- DIR [GiB]` loads 4 GiB (or as
//! said) of rows with 1 KiB values under scattered keys into a store in `DIR`, with 256 MiB of
//! cache and 64 MiB memtables, two at most; then gets rows at random, scans all, reopens, gets
//! again. Ends with an error if memory went beyond twice the settings' sum.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::disallowed_methods)]

use binlog::{FileNumber, LogPosition};
use env::{Env, RealEnv};
use std::io;
use std::path::Path;
use std::sync::Arc;
use stdx::random::Random;
use storage::{LogDurability, Store, StoreOptions, TreeId, WriteBatch};

const TREE: TreeId = TreeId(1);
const VALUE_LEN: usize = 1024;
const MEMTABLE: usize = 64 << 20;
const MEMTABLES: usize = 2;
const CACHE: usize = 256 << 20;

struct Durable;

impl LogDurability for Durable {
    fn ensure_durable(&self, _: LogPosition) -> io::Result<()> {
        Ok(())
    }
}

fn open(dir: &Path) -> Arc<Store> {
    let options = StoreOptions {
        memtable_size: MEMTABLE,
        memtables_max: MEMTABLES,
        block_cache_size: CACHE,
        log_distance_max: 1 << 30,
        background: true,
        durability: Arc::new(Durable),
    };
    Store::open(Arc::new(RealEnv), dir, options).unwrap()
}

fn key(i: u64) -> [u8; 8] {
    i.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes()
}

/// Half of it random, half of it not, so that packing has something to do.
fn value(i: u64) -> Vec<u8> {
    let mut value = vec![i as u8; VALUE_LEN];
    Random::new(i).fill(&mut value[..VALUE_LEN / 2]);
    value
}

/// Resident memory now, and at its highest so far, in MiB.
fn memory() -> (u64, u64) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let field = |name: &str| {
        let line = status.lines().find(|l| l.starts_with(name)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1024
    };
    (field("VmRSS:"), field("VmHWM:"))
}

fn step<T>(what: &str, count: u64, f: impl FnOnce() -> T) -> T {
    let start = RealEnv.monotonic();
    let result = f();
    let took = RealEnv.monotonic() - start;
    let (now, highest) = memory();
    let each = took.as_secs_f64() * 1e6 / count as f64;
    println!(
        "{what:<24} {:>8.1} s  {each:>9.2} µs each   {now:>5} MiB resident, {highest:>5} at most",
        took.as_secs_f64()
    );
    result
}

fn load(store: &Store, rows: u64) {
    let mut batch = WriteBatch::new();
    for i in 0..rows {
        batch.clear();
        batch.put(TREE, &key(i), &value(i));
        store.admit(batch.size()).unwrap();
        store.write(&batch, LogPosition::new(FileNumber(1), 10 + i));
    }
    store.checkpoint(b"").unwrap();
}

fn gets(store: &Store, rows: u64, count: u64) {
    let snapshot = store.snapshot_visible();
    let mut random = Random::new(9);
    for _ in 0..count {
        let i = random.below(rows);
        let found = store.get(TREE, &key(i), snapshot.position()).unwrap();
        assert_eq!(found.as_deref(), Some(value(i).as_slice()), "row {i}");
    }
}

fn scan(store: &Store, rows: u64) {
    let snapshot = store.snapshot_visible();
    let mut cursor = store.cursor(TREE, snapshot.position());
    let mut seen = 0;
    cursor.seek_first().unwrap();
    while cursor.valid() {
        assert_eq!(cursor.value().len(), VALUE_LEN);
        seen += 1;
        cursor.next().unwrap();
    }
    assert_eq!(seen, rows);
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let dir = arguments.next().expect("a folder");
    let gib: f64 = arguments.next().map_or(4.0, |gib| gib.parse().expect("a number of GiB"));
    let rows = (gib * (1 << 30) as f64) as u64 / VALUE_LEN as u64;
    let store = open(Path::new(&dir));
    step("load", rows, || load(&store, rows));
    step("get at random", 100_000, || gets(&store, rows, 100_000));
    step("scan", rows, || scan(&store, rows));
    step("compact the rest", 1, || while store.compact_once().unwrap() {});
    println!("{:?}", store.stats());
    drop(store);
    let store = step("reopen", 1, || open(Path::new(&dir)));
    step("get at random", 100_000, || gets(&store, rows, 100_000));
    let settings = ((MEMTABLE * MEMTABLES + CACHE) >> 20) as u64;
    let (_, highest) = memory();
    println!("memory: {highest} MiB at most, settings' sum {settings} MiB");
    assert!(highest <= 2 * settings, "memory beyond twice the settings' sum");
}
