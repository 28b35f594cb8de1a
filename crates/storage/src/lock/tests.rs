//! The lock table against a plain model, one step at a time; then with real threads.
#![allow(clippy::unwrap_used)]

mod model;
mod threads;

use std::sync::Arc;
use std::time::Duration;

use env::RealEnv;

use super::*;
use crate::testing::Random;

const TREE: TreeId = TreeId(7);
const LONG: WaitPolicy = WaitPolicy::Wait(Duration::from_secs(60));

fn manager() -> Arc<LockManager> {
    LockManager::new(Arc::new(RealEnv))
}

fn begin(manager: &Arc<LockManager>) -> TransactionLocks {
    manager.begin(Arc::new(Interrupt::new()), usize::MAX)
}

use LockMode::{Exclusive, Shared};

#[test]
#[should_panic = "L3"]
fn a_waiter_that_could_be_granted_its_key_is_noticed() {
    let mut shard = Shard::default();
    let granted = shard.request(1, TREE, b"k", OwnerId(1), Shared);
    let Request::Granted { slot, .. } = granted else { panic!("{granted:?}") };
    let session = Arc::new(Interrupt::new());
    shard.enqueue(slot, Waiting { owner: OwnerId(2), mode: Shared, upgrade: false, session });
}

#[test]
#[should_panic = "L4"]
fn a_wait_that_the_graph_does_not_know_is_noticed() {
    WaitGraph::default().check_wait(OwnerId(1), WaitSlot { shard: 0, slot: 0 });
}

#[test]
fn shared_admits_shared_and_exclusive_admits_none() {
    let m = manager();
    let (mut a, mut b) = (begin(&m), begin(&m));
    assert_eq!(a.lock(TREE, b"k", Shared, WaitPolicy::NoWait), Ok(Acquired::New));
    assert_eq!(b.lock(TREE, b"k", Shared, WaitPolicy::NoWait), Ok(Acquired::New));
    assert_eq!(b.lock(TREE, b"k", Exclusive, WaitPolicy::NoWait), Err(LockError::WouldBlock));
    assert_eq!(b.lock(TreeId(8), b"k", Exclusive, WaitPolicy::NoWait), Ok(Acquired::New), "another tree");
    drop(a);
    assert_eq!(b.lock(TREE, b"k", Exclusive, WaitPolicy::NoWait), Ok(Acquired::Upgraded));
    assert_eq!(b.lock(TREE, b"k", Shared, WaitPolicy::NoWait), Ok(Acquired::Already));
    assert_eq!(m.holders(TREE, b"k"), [(b.owner(), Exclusive)]);
    drop(b);
    assert!(m.is_empty());
    m.check_invariants();
}

#[test]
fn a_row_given_back_is_free() {
    let m = manager();
    let (mut a, mut b) = (begin(&m), begin(&m));
    a.lock(TREE, b"k", Exclusive, WaitPolicy::NoWait).unwrap();
    a.unlock_newest();
    assert_eq!(b.lock(TREE, b"k", Exclusive, WaitPolicy::NoWait), Ok(Acquired::New));
    assert!(a.is_empty());
}

#[test]
fn too_many_locks_are_refused_and_the_others_stay() {
    let m = manager();
    let mut a = m.begin(Arc::new(Interrupt::new()), 2);
    a.lock(TREE, b"1", Exclusive, LONG).unwrap();
    a.lock(TREE, b"2", Exclusive, LONG).unwrap();
    assert_eq!(a.lock(TREE, b"3", Exclusive, LONG), Err(LockError::TooManyLocks));
    assert_eq!(a.lock(TREE, b"1", Exclusive, LONG), Ok(Acquired::Already));
    assert_eq!((m.len(), a.len()), (2, 2));
}

#[test]
fn a_wait_times_out_and_leaves_the_queue() {
    let m = manager();
    let (mut a, mut b) = (begin(&m), begin(&m));
    a.lock(TREE, b"k", Exclusive, LONG).unwrap();
    let short = WaitPolicy::Wait(Duration::from_millis(20));
    assert_eq!(b.lock(TREE, b"k", Exclusive, short), Err(LockError::WaitTimeout));
    m.check_invariants();
    drop(a);
    assert!(m.is_empty(), "nothing was granted to who had left");
    assert_eq!(m.status().timeouts.load(Relaxed), 1);
    assert!(m.status().wait_micros.load(Relaxed) >= 20_000);
}

#[test]
fn a_kill_set_before_or_during_the_wait_ends_it() {
    let m = manager();
    let mut a = begin(&m);
    a.lock(TREE, b"k", Exclusive, LONG).unwrap();
    let mut b = begin(&m);
    b.interrupt().kill(Killed::Query);
    assert_eq!(b.lock(TREE, b"k", Shared, LONG), Err(LockError::Interrupted));
    b.interrupt().statement_ended();
    let handle = b.interrupt().clone();
    let waiter = std::thread::spawn(move || b.lock(TREE, b"k", Shared, LONG));
    while m.status().waiting_now.load(Relaxed) == 0 {
        std::thread::yield_now();
    }
    handle.kill(Killed::Connection);
    handle.kill(Killed::Query);
    assert_eq!(waiter.join().unwrap(), Err(LockError::Interrupted));
    handle.statement_ended();
    assert_eq!(handle.killed(), Some(Killed::Connection));
}

#[test]
fn slots_of_a_huge_transaction_are_given_back() {
    let m = manager();
    let mut a = begin(&m);
    for i in 0..400_000_u32 {
        a.lock(TREE, &i.to_be_bytes(), Exclusive, LONG).unwrap();
    }
    a.prepare_release();
    a.release_all();
    m.check_invariants();
    assert!(m.is_empty());
    assert!(m.shards.iter().all(|s| s.0.lock().slab_len() <= 4096));
}
