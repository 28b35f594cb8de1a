//! Object storage in memory: files, and the lock.

use super::super::backend::{Backend as _, Lock};
use super::super::bucket::Bucket;
use env::{Env, RealEnv, SimEnv};
use object_store::memory::InMemory;
use std::io::Read as _;
use std::sync::Arc;
use std::time::Duration;

const LEASE: Duration = Duration::from_millis(400);

fn bucket(store: &Arc<InMemory>, prefix: &str) -> Bucket {
    let env: Arc<dyn Env> = Arc::new(RealEnv);
    let address = format!("memory://{prefix}");
    Bucket::new(&env, store.clone(), Some(store.clone()), prefix, address, LEASE).unwrap()
}

fn put(bucket: &Bucket, name: &str, content: &[u8]) {
    let mut output = bucket.create(name, content.len() as u64).unwrap();
    content.chunks(1_000_003).for_each(|part| output.append(part).unwrap());
    output.finish().unwrap();
}

fn content(bucket: &Bucket, name: &str) -> Option<Vec<u8>> {
    let mut content = Vec::new();
    bucket.open(name).unwrap()?.read_to_end(&mut content).unwrap();
    Some(content)
}

#[test]
fn objects_of_any_length_are_read_as_they_were_written() {
    let store = Arc::new(InMemory::new());
    for prefix in ["", "a/prefix"] {
        let bucket = bucket(&store, prefix);
        for len in [0, 1, (8 << 20) - 1, 8 << 20, (8 << 20) + 1, 20 << 20] {
            let mut bytes = vec![0; len];
            SimEnv::new(1).random(&mut bytes);
            put(&bucket, "tables/x.piece", &bytes);
            assert!(content(&bucket, "tables/x.piece").unwrap() == bytes, "{len}");
        }
        assert_eq!(bucket.list("uploads").unwrap(), Vec::<String>::new());
        put(&bucket, "logs/binlog.000001/b.piece", b"x");
        put(&bucket, "logs/binlog.000001/a.piece", b"x");
        put(&bucket, "logs/binlog.000002/a.piece", b"x");
        assert_eq!(bucket.list("logs").unwrap(), ["binlog.000001", "binlog.000002"]);
        let below = bucket.list_below("logs").unwrap();
        assert_eq!(
            below.iter().map(|(f, n)| format!("{f}/{n}")).collect::<Vec<_>>(),
            ["binlog.000001/a.piece", "binlog.000001/b.piece", "binlog.000002/a.piece"]
        );
        bucket.remove_folder("logs/binlog.000001").unwrap();
        assert_eq!(bucket.list("logs").unwrap(), ["binlog.000002"]);
        bucket.remove("tables/x.piece").unwrap();
        bucket.remove("tables/x.piece").unwrap();
        assert!(content(&bucket, "tables/x.piece").is_none());
        assert_eq!(bucket.list("").unwrap(), ["logs"], "{prefix}");
    }
}

#[test]
fn what_is_not_finished_has_no_name_and_is_swept() {
    let store = Arc::new(InMemory::new());
    let bucket = bucket(&store, "p");
    let large = vec![7; 20 << 20];
    // Dropped: aborted at once.
    let mut output = bucket.create("tables/x.piece", large.len() as u64).unwrap();
    output.append(&large).unwrap();
    assert_eq!(bucket.list("uploads").unwrap().len(), 1);
    drop(output);
    assert!(bucket.list("uploads").unwrap().is_empty() && content(&bucket, "tables/x.piece").is_none());
    // Its program was ended.
    let mut output = bucket.create("tables/x.piece", large.len() as u64).unwrap();
    output.append(&large).unwrap();
    std::mem::forget(output);
    assert!(content(&bucket, "tables/x.piece").is_none());
    bucket.sweep(&[]).unwrap();
    assert!(bucket.list("uploads").unwrap().is_empty());
}

#[test]
fn a_file_that_is_replaced_while_it_is_read_is_an_error() {
    let store = Arc::new(InMemory::new());
    let bucket = bucket(&store, "p");
    let large = vec![7; 20 << 20];
    put(&bucket, "x", &large);
    let mut input = bucket.open("x").unwrap().unwrap();
    let mut some = [0; 100];
    input.read_exact(&mut some).unwrap();
    put(&bucket, "x", &large);
    assert!(input.read_to_end(&mut Vec::new()).is_err());
}

#[test]
fn one_program_at_a_time_has_the_lock() {
    let store = Arc::new(InMemory::new());
    let (one, other) = (bucket(&store, "p"), bucket(&store, "p"));
    assert!(one.check_lock().is_err());
    let held = one.lock().unwrap();
    assert!(one.check_lock().is_ok() && other.check_lock().is_err());
    // It is renewed, so that waiting for it is in vain.
    let Err(refused) = other.lock() else { panic!("two have it") };
    assert!(refused.to_string().contains("another backup or prune is running"), "{refused}");
    std::thread::sleep(LEASE * 2);
    assert!(other.try_lock().unwrap().is_none() && one.check_lock().is_ok());
    drop(held);
    let held = other.try_lock().unwrap().expect("it is free");
    assert!(other.check_lock().is_ok() && one.check_lock().is_err());
    drop(held);
    assert!(content(&one, "repository.lock").is_none());
    // Two prefixes are two repositories.
    let elsewhere = bucket(&store, "q");
    let _held = (one.lock().unwrap(), elsewhere.lock().unwrap());
}

/// A program that was ended leaves its lock, which the next one takes when it was not renewed.
#[test]
fn a_lock_that_was_left_is_taken_over_and_its_owner_notices() {
    let store = Arc::new(InMemory::new());
    let (one, other) = (bucket(&store, "p"), bucket(&store, "p"));
    let held: Lock = one.lock().unwrap();
    let left = content(&one, "repository.lock").unwrap();
    drop(held);
    put(&one, "repository.lock", &left);
    assert!(other.try_lock().unwrap().is_none());
    let begun = RealEnv.monotonic();
    let held = other.lock().unwrap();
    assert!(RealEnv.monotonic() - begun >= LEASE);
    // Somebody takes it though it is renewed: with a clock of his own.
    put(&one, "repository.lock", &left);
    std::thread::sleep(LEASE);
    assert!(other.check_lock().is_err());
    drop(held);
    assert_eq!(content(&one, "repository.lock").unwrap(), left, "it is not his");
}
