//! Object storage in memory: files, and the lock.

use super::super::backend::{Backend as _, Lock};
use super::super::bucket::Bucket;
use super::super::logs::{self, Archiving};
use super::super::prune::{self, Keep};
use super::super::rate::Rate;
use super::super::repository::Repository;
use super::super::restore::{self, Wanted};
use super::super::source::Source;
use super::super::take;
use super::flawed::{Flaw, Flawed};
use super::machine::Machine;
use crate::log_tool::point::Until;
use env::{Env, RealEnv, SimEnv};
use object_store::ObjectStore;
use object_store::memory::InMemory;
use object_store::multipart::MultipartStore;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const LEASE: Duration = Duration::from_millis(400);

fn bucket<S: ObjectStore + MultipartStore>(store: &Arc<S>, prefix: &str) -> Bucket {
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

/// A renewal was written and its answer lost; a later one found it, took it for what it had written
/// itself, and trusted the lock longer than other programs waited for it.
#[test]
fn a_lock_is_trusted_from_the_time_at_which_it_was_written() {
    let store = Arc::new(InMemory::new());
    let flawed = Flawed::new(&store, Flaw::None);
    let (one, other) = (bucket(&flawed, "p"), bucket(&store, "p"));
    let held = one.lock().unwrap();
    flawed.set(Flaw::LosesAnswer(0));
    let begun = RealEnv.monotonic();
    while RealEnv.monotonic() - begun < LEASE * 5 {
        if let Some(_lock) = other.try_lock().unwrap() {
            assert!(one.check_lock().is_err(), "two have it");
            assert!(one.confirm_lock().is_err());
            drop(held);
            assert!(content(&other, "repository.lock").is_some(), "it is another one's");
            return;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    panic!("nobody else got it");
}

/// Two programs would have the lock, or one would renew what is another one's.
#[test]
fn a_store_that_ignores_a_condition_is_refused() {
    for (flaw, name) in [(Flaw::IgnoresCreate, "If-None-Match"), (Flaw::IgnoresUpdate, "If-Match")] {
        let store = Arc::new(InMemory::new());
        let bucket = bucket(&Flawed::new(&store, flaw), "p");
        let told = bucket.lock().map(|_| ()).unwrap_err().to_string();
        assert!(told.contains(name), "{told}");
        assert!(content(&bucket, "repository.lock").is_none(), "{name}");
    }
}

fn insert(machine: &mut Machine) {
    machine.insert();
    machine.await_mark();
    // Backups are named by the second.
    machine.sim.advance(Duration::from_secs(1));
}

fn repository<S: ObjectStore + MultipartStore>(machine: &Machine, store: &Arc<S>) -> Repository {
    Repository::open_or_make(&machine.env, Box::new(bucket(store, "p")), None).unwrap()
}

fn back_up(repository: &Repository, machine: &Machine) {
    let _lock = repository.lock().unwrap();
    take::take(repository, &machine.source(), 1, true).unwrap();
}

fn restored(machine: &Machine, store: &Arc<InMemory>) -> usize {
    let sim = machine.sim.copy(1);
    let env: Arc<dyn Env> = Arc::new(sim.clone());
    let repository = Repository::open(&env, Box::new(bucket(store, "p")), None).unwrap();
    let wanted = Wanted { target: Path::new("/new"), until: Until::End, keep_uuid: false, jobs: 1 };
    restore::restore(&repository, None, &wanted).unwrap();
    let mut restored = Machine::start(&sim, "/new").unwrap();
    let rows = restored.rows();
    restored.stop();
    rows
}

/// The pieces of one program began in front of the end of what another one had put together: they
/// were a gap, and nothing of them could be restored until the log file was closed.
#[test]
fn two_programs_that_archive_at_a_time_leave_no_gap() {
    let store = Arc::new(InMemory::new());
    let mut machine = Machine::with_table(&SimEnv::new(1));
    insert(&mut machine);
    let continuous = repository(&machine, &store);
    back_up(&continuous, &machine);
    let archive = |machine: &Machine| {
        logs::archive(&continuous, &machine.source(), Archiving::default()).unwrap();
    };
    for _ in 0..20 {
        insert(&mut machine);
        archive(&machine);
    }
    // Another one is called now and then, and puts together what is small.
    for _ in 0..20 {
        insert(&mut machine);
        back_up(&repository(&machine, &store), &machine);
    }
    assert_eq!(restored(&machine, &store), machine.count());
    for _ in 0..5 {
        insert(&mut machine);
        archive(&machine);
        assert_eq!(restored(&machine, &store), machine.count());
    }
    back_up(&repository(&machine, &store), &machine);
    // A closed file is one object, whoever has archived what of it.
    machine.sql("flush binary logs");
    insert(&mut machine);
    archive(&machine);
    back_up(&continuous, &machine);
    let logs = bucket(&store, "p").list_below("logs").unwrap();
    let closed: Vec<_> = logs.iter().filter(|(folder, _)| folder == "binlog.000001").collect();
    assert_eq!(closed.len(), 1, "{logs:?}");
    assert_eq!(restored(&machine, &store), machine.count());
    machine.stop();
}

/// What was archived in between was more than the server's note said that had been read before: it
/// was taken for another history, and the advice was to begin another repository.
#[test]
fn a_backup_bears_with_a_log_that_is_archived_meanwhile() {
    let store = Arc::new(InMemory::new());
    let mut machine = Machine::with_table(&SimEnv::new(1));
    insert(&mut machine);
    let continuous = repository(&machine, &store);
    back_up(&continuous, &machine);
    insert(&mut machine);
    let flawed = Flawed::new(&store, Flaw::None);
    let (is_reached, go_on) = flawed.pause_list();
    let env = machine.env.clone();
    let other = std::thread::spawn(move || {
        let repository = Repository::open(&env, Box::new(bucket(&flawed, "p")), None).unwrap();
        let _lock = repository.lock().unwrap();
        let source = Source::open(&env, Path::new("/data"), Rate::new(None)).unwrap();
        take::take(&repository, &source, 1, true).map(|_| ()).map_err(|e| e.to_string())
    });
    is_reached.recv().unwrap();
    insert(&mut machine);
    logs::archive(&continuous, &machine.source(), Archiving::default()).unwrap();
    go_on.send(()).unwrap();
    other.join().unwrap().unwrap();
    assert_eq!(restored(&machine, &store), machine.count());
    machine.stop();
}

/// A program whose lock another one has seized removes nothing more, and makes no backup.
#[test]
fn a_program_that_has_lost_the_lock_stops() {
    let store = Arc::new(InMemory::new());
    let mut machine = Machine::with_table(&SimEnv::new(1));
    let one = repository(&machine, &store);
    for _ in 0..3 {
        insert(&mut machine);
        back_up(&one, &machine);
    }
    let lock = one.lock().unwrap();
    let seized = content(&bucket(&store, "p"), "repository.lock").unwrap();
    insert(&mut machine);
    // Though its clock says that it has it.
    put(&bucket(&store, "p"), "repository.lock", &[b"other", &seized[5..]].concat());
    let before = one.ids().unwrap().len();
    let told = take::take(&one, &machine.source(), 1, true).map(|_| ()).unwrap_err().to_string();
    assert!(told.contains("be sure of the lock"), "{told}");
    let backups = one.backups().unwrap().readable.len();
    assert_eq!(backups, before, "what was written without the lock is none");
    let told = prune::prune(&one, Keep { last: Some(1), days: None }).map(|_| ()).unwrap_err().to_string();
    assert!(told.contains("be sure of the lock"), "{told}");
    drop(lock);
    assert!(content(&bucket(&store, "p"), "repository.lock").is_some(), "it is another one's");
    machine.stop();
}
