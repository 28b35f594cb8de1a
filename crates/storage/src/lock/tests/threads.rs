//! Real threads: exclusion holds, nobody hangs, nobody starves.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering::SeqCst};
use std::thread;

use super::*;

/// Counts holders of a key from outside: readers up, a writer far down.
fn enter(cell: &AtomicI64, mode: LockMode) {
    match mode {
        Shared => assert!(cell.fetch_add(1, SeqCst) >= 0, "a reader together with a writer"),
        Exclusive => assert_eq!(cell.fetch_sub(1 << 32, SeqCst), 0, "a writer together with others"),
    }
}

fn exit(cell: &AtomicI64, mode: LockMode) {
    match mode {
        Shared => cell.fetch_sub(1, SeqCst),
        Exclusive => cell.fetch_add(1 << 32, SeqCst),
    };
}

#[test]
fn random_transactions_exclude_each_other_and_all_end() {
    const KEYS: u64 = 12;
    let m = manager();
    let cells: Arc<Vec<AtomicI64>> = Arc::new((0..KEYS).map(|_| AtomicI64::new(0)).collect());
    let seed_base = 20;
    let workers: Vec<_> = (0..8)
        .map(|n| {
            let (m, cells) = (m.clone(), cells.clone());
            println!("seed {}", seed_base + n);
            thread::spawn(move || worker(&m, &cells, Random::new(seed_base + n)))
        })
        .collect();
    let done: u64 = workers.into_iter().map(|w| w.join().unwrap()).sum();
    m.check_invariants();
    assert!(m.is_empty() && m.graph.lock().is_empty());
    assert!(done > 0, "nobody got through");
    println!("{done} ended, {:?}", m.status());
}

fn worker(m: &Arc<LockManager>, cells: &[AtomicI64], mut random: Random) -> u64 {
    let mut done = 0;
    for _ in 0..3000 {
        let mut locks = begin(m);
        locks.set_weight(random.below(5));
        let mut held: Vec<(usize, LockMode)> = Vec::new();
        let mut wanted = random.below(5) + 1;
        while wanted > 0 {
            wanted -= 1;
            let key = random.below(cells.len() as u64) as usize;
            let mode = if random.below(2) == 0 { Shared } else { Exclusive };
            let policy = match random.below(10) {
                0 => WaitPolicy::NoWait,
                1 => WaitPolicy::Wait(Duration::from_micros(100)),
                _ => LONG,
            };
            let before = held.iter().find(|h| h.0 == key).map(|h| h.1);
            match locks.lock(TREE, &key.to_be_bytes(), mode, policy) {
                Ok(Acquired::New) => {
                    assert_eq!(before, None);
                    enter(&cells[key], mode);
                    held.push((key, mode));
                }
                Ok(Acquired::Upgraded) => {
                    assert_eq!((before, mode), (Some(Shared), Exclusive));
                    exit(&cells[key], Shared);
                    enter(&cells[key], Exclusive);
                    held.iter_mut().find(|h| h.0 == key).unwrap().1 = Exclusive;
                }
                Ok(Acquired::Already) => assert!(before >= Some(mode)),
                Err(LockError::WouldBlock | LockError::WaitTimeout) => {}
                Err(LockError::Deadlock) => wanted = 0,
                Err(e) => panic!("{e}"),
            }
        }
        for &(key, mode) in &held {
            exit(&cells[key], mode);
        }
        done += 1;
    }
    done
}

#[test]
fn a_hot_key_is_served_in_order() {
    let m = manager();
    let mut first = begin(&m);
    first.lock(TREE, b"hot", Exclusive, LONG).unwrap();
    let order = Arc::new(Mutex::new(Vec::new()));
    let waiters: Vec<_> = (0..20)
        .map(|n| {
            let mut locks = begin(&m);
            let order = order.clone();
            let waiter = thread::spawn(move || {
                locks.lock(TREE, b"hot", Exclusive, LONG).unwrap();
                order.lock().push(n);
            });
            while m.status().waiting_now.load(Relaxed) <= n {
                thread::yield_now();
            }
            waiter
        })
        .collect();
    drop(first);
    waiters.into_iter().for_each(|w| w.join().unwrap());
    assert_eq!(*order.lock(), (0..20).collect::<Vec<_>>());
}

#[test]
fn a_writer_is_not_starved_by_readers() {
    let m = manager();
    let stop = Arc::new(AtomicBool::new(false));
    let reads = Arc::new(AtomicUsize::new(0));
    let readers: Vec<_> = (0..3)
        .map(|_| {
            let (m, stop, reads) = (m.clone(), stop.clone(), reads.clone());
            thread::spawn(move || {
                while !stop.load(SeqCst) {
                    begin(&m).lock(TREE, b"k", Shared, LONG).unwrap();
                    reads.fetch_add(1, SeqCst);
                }
            })
        })
        .collect();
    for _ in 0..200 {
        begin(&m).lock(TREE, b"k", Exclusive, LONG).unwrap();
    }
    stop.store(true, SeqCst);
    readers.into_iter().for_each(|r| r.join().unwrap());
}

#[test]
fn the_lighter_of_two_gives_way_and_the_other_goes_on() {
    let m = manager();
    let (mut batch, mut small) = (begin(&m), begin(&m));
    batch.set_weight(1_000_000);
    small.set_weight(1);
    batch.lock(TREE, b"1", Exclusive, LONG).unwrap();
    small.lock(TREE, b"2", Exclusive, LONG).unwrap();
    let waiter = thread::spawn(move || {
        let outcome = small.lock(TREE, b"1", Exclusive, LONG);
        drop(small);
        outcome
    });
    while m.status().waiting_now.load(Relaxed) == 0 {
        thread::yield_now();
    }
    assert_eq!(batch.lock(TREE, b"2", Exclusive, LONG), Ok(Acquired::New));
    assert_eq!(waiter.join().unwrap(), Err(LockError::Deadlock));
}

#[test]
fn threads_that_hand_a_key_on_gather_and_count_on() {
    const THREADS: u64 = 6;
    let m = manager();
    let count = Arc::new(AtomicUsize::new(0));
    let workers: Vec<_> = (0..THREADS)
        .map(|_| {
            let (m, count) = (m.clone(), count.clone());
            thread::spawn(move || {
                let mut done = 0;
                // On a machine that hands on slowly they may never gather.
                while m.status().gathered.load(Relaxed) < THREADS && done < 50_000 {
                    let mut locks = begin(&m);
                    locks.lock(TREE, b"hot", Exclusive, LONG).unwrap();
                    let before = count.load(SeqCst);
                    thread::yield_now();
                    count.store(before + 1, SeqCst);
                    drop(locks);
                    done += 1;
                }
                done
            })
        })
        .collect();
    let done: usize = workers.into_iter().map(|w| w.join().unwrap()).sum();
    assert_eq!(count.load(SeqCst), done);
    assert!(m.is_empty());
}
