//! The simulated disk against its contract, E1 to E5, and each of its faults.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::FREED_AT_ONCE;
use crate::OpenMode::{Create, CreateNew, Read, ReadWrite};
use std::collections::BTreeSet;
use std::thread;

const DIR: &str = "/db";

fn machine(seed: u64) -> SimEnv {
    let env = SimEnv::new(seed);
    env.create_dir_all(Path::new(DIR)).unwrap();
    env.sync_dir(Path::new("/")).unwrap();
    env
}

fn path(name: &str) -> PathBuf {
    Path::new(DIR).join(name)
}

/// A file whose name and content are durable.
fn durable_file(env: &SimEnv, name: &str, content: &[u8]) -> Arc<dyn File> {
    let file = env.open(&path(name), Create).unwrap();
    file.write_at(content, 0).unwrap();
    file.sync_data().unwrap();
    env.sync_dir(Path::new(DIR)).unwrap();
    file
}

/// The distinct results of `observe` over reboots with many seeds.
fn outcomes<T: Ord>(env: &SimEnv, observe: impl Fn(&SimEnv) -> T) -> BTreeSet<T> {
    (0..400).map(|seed| observe(&env.reboot_with(seed))).collect()
}

#[test]
fn written_bytes_are_read_at_once_through_any_handle() {
    let env = machine(1);
    let writer = env.open(&path("a"), CreateNew).unwrap();
    let reader = env.open(&path("a"), Read).unwrap();
    writer.write_at(b"hello", 3).unwrap();
    let mut buf = [9; 16];
    assert_eq!(reader.read_at(&mut buf, 0).unwrap(), 8);
    assert_eq!(&buf[..8], b"\0\0\0hello");
    assert_eq!(reader.len().unwrap(), 8);
    assert_eq!(reader.write_at(b"x", 0).unwrap_err().kind(), ErrorKind::PermissionDenied);
    assert_eq!(env.open(&path("a"), CreateNew).err().unwrap().kind(), ErrorKind::AlreadyExists);
    assert_eq!(env.open(&path("b"), ReadWrite).err().unwrap().kind(), ErrorKind::NotFound);
    env.remove_file(&path("a")).unwrap();
    assert_eq!(reader.read_at(&mut buf, 3).unwrap(), 5);
    assert!(!env.exists(&path("a")));
}

#[test]
fn flushed_content_survives_and_unflushed_content_may_not() {
    let env = machine(2);
    let file = durable_file(&env, "a", &[1; 4096]);
    file.write_at(&[2; 4096], 0).unwrap();
    let seen = outcomes(&env, |after| after.read_file(&path("a")).unwrap());
    assert!(seen.contains(&vec![1; 4096]) && seen.contains(&vec![2; 4096]));
    assert!(seen.len() > 20, "torn in only {} ways", seen.len());
    for content in seen {
        assert!(content.chunks(512).all(|sector| sector == [1; 512] || sector == [2; 512]));
    }
}

#[test]
fn a_sector_shows_a_later_write_only_with_the_earlier_ones() {
    let env = machine(3);
    let file = durable_file(&env, "a", &[0; 512]);
    file.write_at(b"a", 0).unwrap();
    file.write_at(b"b", 1).unwrap();
    let seen = outcomes(&env, |after| after.read_file(&path("a")).unwrap()[..2].to_vec());
    assert_eq!(seen, BTreeSet::from([b"\0\0".to_vec(), b"a\0".to_vec(), b"ab".to_vec()]));
}

#[test]
fn lengths_are_durable_with_a_sync_and_any_without() {
    let env = machine(4);
    let file = durable_file(&env, "a", &[7; 1000]);
    file.write_at(&[8; 1000], 1000).unwrap();
    file.set_len(500).unwrap();
    let lengths = outcomes(&env, |after| after.read_file(&path("a")).unwrap().len());
    assert_eq!(lengths, BTreeSet::from([500, 1000, 2000]));
    let again = env.reboot_with(1);
    again.open(&path("a"), ReadWrite).unwrap().set_len(300).unwrap();
    again.open(&path("a"), Read).unwrap().sync_data().unwrap();
    assert_eq!(
        outcomes(&again, |after| after.read_file(&path("a")).unwrap()),
        BTreeSet::from([vec![7; 300]])
    );
}

#[test]
fn names_survive_once_their_folder_is_flushed() {
    let env = machine(5);
    let file = env.open(&path("a"), CreateNew).unwrap();
    file.write_at(b"x", 0).unwrap();
    file.sync_all().unwrap();
    assert_eq!(outcomes(&env, |after| after.exists(&path("a"))), BTreeSet::from([false, true]));
    let env = env.reboot_with((0..).find(|&s| env.reboot_with(s).exists(&path("a"))).unwrap());
    env.sync_dir(Path::new(DIR)).unwrap();
    env.remove_file(&path("a")).unwrap();
    assert_eq!(outcomes(&env, |after| after.exists(&path("a"))), BTreeSet::from([false, true]));
    let folders = SimEnv::new(6);
    folders.create_dir_all(Path::new(DIR)).unwrap();
    assert_eq!(outcomes(&folders, |after| after.exists(Path::new(DIR))), BTreeSet::from([false, true]));
}

#[test]
fn a_rename_leaves_the_old_or_the_new_file_under_the_name() {
    let env = machine(7);
    durable_file(&env, "a", b"old");
    env.replace_file(&path("a"), b"new").unwrap();
    assert_eq!(
        outcomes(&env, |after| after.read_file(&path("a")).unwrap()),
        BTreeSet::from([b"new".to_vec()])
    );
    let env = env.reboot_with(1);
    durable_file(&env, "b", b"newer");
    env.rename(&path("b"), &path("a")).unwrap();
    let seen = outcomes(&env, |after| (after.read_file(&path("a")).unwrap(), after.exists(&path("b"))));
    assert_eq!(seen, BTreeSet::from([(b"new".to_vec(), true), (b"newer".to_vec(), false)]));
}

#[test]
fn a_renamed_folder_has_its_files_and_replaces_only_an_empty_one() {
    let env = machine(9);
    let (old, new) = (Path::new("/old"), Path::new("/new"));
    for folder in [old, new] {
        env.create_dir_all(folder).unwrap();
    }
    let file = env.open(&old.join("a"), OpenMode::CreateNew).unwrap();
    file.write_at(b"x", 0).unwrap();
    file.sync_all().unwrap();
    env.sync_dir(old).unwrap();
    env.sync_dir(Path::new("/")).unwrap();
    assert_eq!(env.rename(new, old).unwrap_err().kind(), ErrorKind::DirectoryNotEmpty);
    assert_eq!(env.rename(&old.join("b"), &old.join("c")).unwrap_err().kind(), ErrorKind::NotFound);
    let inside = old.join("folder");
    env.create_dir_all(&inside).unwrap();
    assert_eq!(env.rename(&old.join("a"), &inside).unwrap_err().kind(), ErrorKind::IsADirectory);
    assert_eq!(env.rename(&inside, &old.join("a")).unwrap_err().kind(), ErrorKind::NotADirectory);
    env.remove_dir(&inside).unwrap();
    env.sync_dir(old).unwrap();
    env.rename(old, new).unwrap();
    assert!(env.exists(&new.join("a")) && !env.exists(old));
    let seen = outcomes(&env, |after| (after.exists(&old.join("a")), after.exists(&new.join("a"))));
    assert_eq!(seen, BTreeSet::from([(true, false), (false, true)]));
}

/// `replace_file`, cut at each of its operations: the old content or the new one.
#[test]
fn replacing_a_file_is_atomic_wherever_it_is_cut() {
    for n in 1..20 {
        for seed in 0..50 {
            let env = machine(seed);
            durable_file(&env, "a", &[1; 2000]);
            env.cut_at(n);
            let done = env.replace_file(&path("a"), &[2; 3000]).is_ok();
            let content = env.reboot().read_file(&path("a")).unwrap();
            assert!(
                content == [2; 3000] || !done && content == [1; 2000],
                "seed {seed}, cut at operation {n}"
            );
        }
    }
}

#[test]
fn nothing_works_after_the_power_cut() {
    let env = machine(8);
    let file = durable_file(&env, "a", b"x");
    let lock = env.lock_file(&path("lock")).unwrap();
    assert_eq!(env.lock_file(&path("lock")).err().unwrap().kind(), ErrorKind::WouldBlock);
    env.cut_at(1);
    assert!(file.write_at(b"y", 0).is_err());
    assert!(!env.is_powered());
    assert!(file.read_at(&mut [0], 0).is_err() && file.sync_data().is_err() && file.len().is_err());
    assert!(env.open(&path("a"), Read).is_err() && env.read_dir(Path::new(DIR)).is_err());
    let after = env.reboot();
    assert!(after.lock_file(&path("lock")).is_ok());
    drop(lock);
}

#[test]
fn a_failed_write_writes_a_part_and_a_failed_sync_loses_for_good() {
    let env = machine(9);
    let file = durable_file(&env, "a", &[1; 2048]);
    env.fail(Fault::Write, "a", 1);
    env.fail(Fault::Sync, "a", 0);
    file.write_at(&[2; 2048], 0).unwrap();
    assert_eq!(file.write_at(&[3; 2048], 0).unwrap_err().raw_os_error(), Some(EIO));
    let before = env.read_file(&path("a")).unwrap();
    assert!(file.sync_data().is_err());
    assert_eq!(env.read_file(&path("a")).unwrap(), before, "the page cache still shows what the disk lost");
    file.sync_data().unwrap();
    let after = outcomes(&env, |after| after.read_file(&path("a")).unwrap());
    assert_eq!(after.len(), 1, "nothing was left unflushed");

    let lost = (0..100).filter(|&seed| {
        let env = machine(seed);
        let file = durable_file(&env, "a", &[1; 2048]);
        file.write_at(&[2; 2048], 0).unwrap();
        env.fail(Fault::Sync, "", 0);
        assert!(file.sync_data().is_err());
        file.sync_data().unwrap();
        env.reboot().read_file(&path("a")).unwrap() != [2; 2048]
    });
    assert!(lost.count() > 50);
}

#[test]
fn a_failed_folder_sync_loses_names() {
    let lost = (0..100).filter(|&seed| {
        let env = machine(seed);
        env.fail(Fault::SyncDir, DIR, 0);
        env.open(&path("a"), CreateNew).unwrap();
        assert!(env.sync_dir(Path::new(DIR)).is_err());
        env.sync_dir(Path::new(DIR)).unwrap();
        !env.reboot().exists(&path("a"))
    });
    assert!((20..80).contains(&lost.count()));
}

#[test]
fn a_full_disk_takes_what_fits_and_works_again_with_room() {
    let env = machine(10);
    let file = durable_file(&env, "a", &[1; 1000]);
    durable_file(&env, "b", &[1; 500]);
    env.set_capacity(Some(2000));
    assert_eq!(file.write_at(&[2; 1000], 1000).unwrap_err().kind(), ErrorKind::StorageFull);
    assert_eq!((file.len().unwrap(), env.used()), (1500, 2000));
    file.write_at(&[3; 1500], 0).unwrap();
    assert_eq!(file.set_len(1501).unwrap_err().kind(), ErrorKind::StorageFull);
    env.remove_file(&path("b")).unwrap();
    file.write_at(&[2; 500], 1500).unwrap();
    assert_eq!(env.used(), 2000);
}

#[test]
fn a_held_sync_covers_only_what_was_written_before_it() {
    let env = machine(11);
    let file = durable_file(&env, "a", &[0; 1024]);
    file.write_at(&[1; 512], 0).unwrap();
    env.hold_syncs();
    let syncing = thread::spawn({
        let file = file.clone();
        move || file.sync_data()
    });
    env.wait_for_held_syncs(1);
    file.write_at(&[2; 512], 512).unwrap();
    env.release_syncs();
    syncing.join().unwrap().unwrap();
    let seen = outcomes(&env, |after| after.read_file(&path("a")).unwrap());
    assert!(seen.len() == 2 && seen.iter().all(|content| content[..512] == [1; 512]));

    let waiting = machine(12);
    let file = durable_file(&waiting, "a", b"x");
    waiting.hold_syncs();
    let syncing = thread::spawn(move || file.sync_data());
    waiting.wait_for_held_syncs(1);
    waiting.power_cut();
    assert!(syncing.join().unwrap().is_err());
}

#[test]
fn counts_operations_by_file() {
    let env = machine(13);
    let before = env.operations();
    let file = durable_file(&env, "a", b"abc");
    durable_file(&env, "b", b"de").sync_all().unwrap();
    file.set_len(1).unwrap();
    let a = Counters { writes: 1, written_bytes: 3, syncs: 1, set_lens: 1, names: 1, ..Counters::default() };
    assert_eq!(env.counters_of("/db/a"), a);
    assert_eq!(env.counters_of("/db/b").syncs, 2);
    assert_eq!(env.counters().syncs, 3);
    assert_eq!(env.operations() - before, 10);
}

#[test]
fn the_clock_moves_when_told_and_a_seed_repeats_its_randomness() {
    let (a, b) = (SimEnv::new(14), SimEnv::new(14));
    let t = a.monotonic();
    a.advance(Duration::from_secs(5));
    assert!(a.monotonic() - t >= Duration::from_secs(5) && a.now() > EPOCH + 5_000_000);
    let (mut x, mut y) = ([0; 16], [0; 16]);
    a.random(&mut x);
    b.random(&mut y);
    assert_eq!(x, y);
    assert!(a.reboot().monotonic() > a.monotonic());
}

#[test]
fn a_large_file_gives_its_room_back_in_pieces() {
    let env = machine(16);
    for (len, cuts) in [(1, 0), (FREED_AT_ONCE, 0), (FREED_AT_ONCE + 1, 1), (4 * FREED_AT_ONCE, 3)] {
        let before = env.counters().set_lens;
        let file = env.open(Path::new("/large"), OpenMode::CreateNew).unwrap();
        file.set_len(len).unwrap();
        env.remove_large_file(Path::new("/large")).unwrap();
        assert_eq!(env.counters().set_lens - before, 1 + cuts);
        assert!(!env.exists(Path::new("/large")));
    }
    let e = env.remove_large_file(Path::new("/large")).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::NotFound);
    env.open(Path::new("/large"), OpenMode::CreateNew).unwrap().set_len(9 * FREED_AT_ONCE).unwrap();
    env.fail(Fault::SetLen, "large", 2);
    env.remove_large_file(Path::new("/large")).unwrap();
    assert!(!env.exists(Path::new("/large")), "a cut that fails hinders nobody");
}

#[test]
fn a_tree_is_removed_whole_and_a_folder_only_when_empty() {
    let env = machine(15);
    env.create_dir_all(Path::new("/tree/inner")).unwrap();
    for path in ["/tree/a", "/tree/inner/b"] {
        env.open(Path::new(path), OpenMode::CreateNew).unwrap();
    }
    let error = env.remove_dir(Path::new("/tree")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DirectoryNotEmpty);
    env.remove_tree(Path::new("/tree")).unwrap();
    assert!(!env.exists(Path::new("/tree")));
}

#[test]
fn a_copy_has_what_was_written_and_not_flushed() {
    let env = SimEnv::new(1);
    env.create_dir_all(Path::new("/a")).unwrap();
    let file = env.open(Path::new("/a/b"), OpenMode::Create).unwrap();
    file.write_at(b"one", 0).unwrap();
    let copy = env.copy(2);
    file.write_at(b"two", 0).unwrap();
    assert_eq!(copy.read_file(Path::new("/a/b")).unwrap(), b"one");
    assert_eq!(copy.reboot().read_file(Path::new("/a/b")).unwrap(), b"one", "it is flushed there");
    assert_eq!(env.read_file(Path::new("/a/b")).unwrap(), b"two");
}
