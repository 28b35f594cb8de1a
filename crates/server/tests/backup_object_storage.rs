//! `duramen backup` and `duramen restore` with object storage: a real S3-compatible server on
//! loopback, which errs, loses answers and cuts connections, and programs that are killed.
//!
//! `DURAMEN_KILL_ROUNDS` kills, 6 by default; `DURAMEN_SEED` draws moments and faults.
// The disk is a real one: what is damaged on it is no business of the simulated one.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

mod common;
#[path = "common/object_storage.rs"]
mod object_storage;

use common::backups::Scene;
use common::now;
use common::shop::{at_work, point};
use object_storage::{Faults, ObjectStorage, SECRET};
use std::process::{Child, Stdio};
use std::time::Duration;
use stdx::random::Random;

fn number_of(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |value| value.parse().unwrap())
}

fn scene(storage: &ObjectStorage) -> Scene {
    let mut scene = Scene::new();
    storage.serve(&mut scene, "servers/one");
    scene
}

fn last_insert(scene: &Scene) -> common::shop::Point {
    scene.server().sql("insert into shop.no_key values (1, 'last')");
    std::thread::sleep(Duration::from_millis(200));
    point(scene.server())
}

fn end(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn each_moment_is_restored_from_object_storage() {
    let storage = ObjectStorage::start(1);
    let scene = scene(&storage);
    at_work(scene.server(), Duration::from_millis(300));
    let out = scene.take();
    assert!(out.contains("backup ") && out.contains("gtid_executed: "), "{out}");
    at_work(scene.server(), Duration::from_millis(300));
    let first = point(scene.server());
    at_work(scene.server(), Duration::from_millis(300));
    scene.take();
    let child = scene.continuous();
    at_work(scene.server(), Duration::from_millis(1500));
    let last = last_insert(&scene);
    scene.await_archived(&last);
    // Whoever has nothing to archive asks for nothing, and has no lock.
    std::thread::sleep(Duration::from_millis(1500));
    let before = storage.request_count();
    std::thread::sleep(Duration::from_millis(2500));
    assert_eq!(storage.request_count(), before, "{:?}", storage.requests());
    assert!(storage.objects("servers/one").iter().all(|path| !path.ends_with("repository.lock")));
    // While it goes on, others work on the same backups.
    scene.check("by gtid", Some(&first.gtid), &first.dump);
    scene.check("all", None, &last.dump);
    let out = scene.well(&["backup", "verify", &scene.from(), "--all"]);
    assert!(out.contains("3 backups read, 3 of them restored: all is well"), "{out}");
    let tables = storage.objects("servers/one/tables").len();
    let out = scene.well(&["backup", "prune", &scene.from(), "--keep-last=1"]);
    assert!(out.starts_with("removed 2 backups"), "{out}");
    assert!(storage.objects("servers/one/tables").len() < tables);
    at_work(scene.server(), Duration::from_millis(300));
    let last = last_insert(&scene);
    scene.await_archived(&last);
    // Closed files are put together a second later.
    std::thread::sleep(Duration::from_secs(4));
    end(child);
    scene.well(&["backup", "verify", &scene.from()]);
    scene.check("after prune", None, &last.dump);
    // A closed log file is one object.
    let logs = storage.objects("servers/one/logs");
    let newest = logs.last().unwrap().parent().unwrap().to_owned();
    let closed: Vec<_> = logs.iter().filter(|path| path.parent() != Some(&newest)).collect();
    assert!(closed.len() > 3, "{logs:?}");
    assert!(closed.windows(2).all(|two| two[0].parent() != two[1].parent()), "{closed:?}");
    assert_eq!(storage.open_uploads(), 0);
}

/// Errors, lost answers, cut connections: what is archived is whole all the same.
#[test]
fn a_server_that_errs_costs_time_and_nothing_else() {
    let seed = number_of("DURAMEN_SEED", 1);
    println!("DURAMEN_SEED={seed}");
    let storage = ObjectStorage::start(seed);
    let mut scene = scene(&storage);
    let key = scene.path("key");
    std::fs::write(&key, "3a".repeat(32)).unwrap();
    scene.more = vec![format!("--key-file={key}")];
    storage.set(Faults { refused: 60, lost: 40, cut: 60, slow: 50 });
    at_work(scene.server(), Duration::from_millis(200));
    let child = scene.continuous();
    for _ in 0..3 {
        at_work(scene.server(), Duration::from_millis(700));
    }
    let last = last_insert(&scene);
    scene.await_archived(&last);
    end(child);
    scene.more.push("--lease=2".to_owned());
    std::thread::sleep(Duration::from_millis(2100));
    scene.take();
    scene.check("under faults", None, &last.dump);
    scene.well(&["backup", "verify", &scene.from()]);
    scene.well(&["backup", "prune", &scene.from(), "--keep-last=1"]);
    storage.set(Faults::default());
    scene.well(&["backup", "verify", &scene.from()]);
    scene.check("after faults", None, &last.dump);
    assert_eq!(storage.open_uploads(), 0);
}

/// A table that is larger than one request: in parts, which a kill leaves and the next one removes.
#[test]
fn large_files_go_in_parts_and_a_broken_off_upload_is_aborted() {
    let storage = ObjectStorage::start(2);
    let mut scene = scene(&storage);
    scene.more = vec!["--lease=2".to_owned()];
    // The log is archived from here on, also what the tables have already.
    scene.take();
    // Bytes that can't be compressed; the last statement's are a log file of their own.
    scene.server().sql(
        "create table shop.big (id int primary key auto_increment, b varbinary(1024)); \
         insert into shop.big (b) values (random_bytes(1024))",
    );
    for _ in 0..15 {
        scene.server().sql("insert into shop.big (b) select random_bytes(1024) from shop.big");
    }
    at_work(scene.server(), Duration::from_millis(300));
    let last = last_insert(&scene);
    storage.set(Faults { slow: 1000, ..Faults::default() });
    let [datadir, to] = scene.take_args();
    let mut broken_off = 0;
    for round in 0..40 {
        let mut child = scene
            .command(&["backup", &datadir, &to])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // Until a part was sent.
        while storage.open_uploads() < 2 && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        end(child);
        broken_off = storage.open_uploads();
        if broken_off > 0 {
            break;
        }
        println!("round {round}: no upload was broken off");
    }
    assert!(broken_off > 0, "an upload was broken off");
    storage.set(Faults::default());
    scene.take();
    assert_eq!(storage.open_uploads(), 0);
    assert!(storage.objects("servers/one/uploads").is_empty());
    assert!(storage.objects("servers/one").iter().any(|path| path.metadata().unwrap().len() > 8 << 20));
    scene.well(&["backup", "verify", &scene.from()]);
    scene.check("in parts", None, &last.dump);
}

#[test]
fn kills_at_random_moments_lose_nothing_that_is_archived() {
    let (rounds, seed) = (number_of("DURAMEN_KILL_ROUNDS", 6), number_of("DURAMEN_SEED", 1));
    println!("DURAMEN_SEED={seed}");
    let mut random = Random::new(seed);
    let storage = ObjectStorage::start(seed);
    let mut scene = scene(&storage);
    scene.more = vec!["--lease=2".to_owned()];
    at_work(scene.server(), Duration::from_millis(100));
    scene.take();
    let mut kills = 0;
    while kills < rounds {
        kills += 1;
        let [datadir, to] = scene.take_args();
        let child = scene
            .command(&["backup", &datadir, &to, "--continuous", "--every=1"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let longest = if random.below(3) == 0 { 4000 } else { 700 };
        at_work(scene.server(), Duration::from_millis(1 + random.below(longest)));
        end(child);
        let (code, out, errors) = scene.run(&["backup", "verify", &scene.from(), "--read-only"]);
        assert_eq!(code, 0, "kill {kills}: {out} {errors}");
        let name = format!("restored {kills}");
        scene.well(&["restore", &scene.from(), &scene.target(&name)]);
        std::fs::remove_dir_all(scene.path(&name)).unwrap();
    }
    println!("{kills} kills");
    let last = last_insert(&scene);
    scene.take();
    scene.well(&["backup", "verify", &scene.from(), "--all"]);
    scene.check("end", None, &last.dump);
    scene.well(&["backup", "prune", &scene.from(), "--keep-last=1"]);
    assert_eq!(storage.open_uploads(), 0);
}

#[test]
fn two_programs_are_not_at_work_at_a_time() {
    let storage = ObjectStorage::start(3);
    let mut scene = scene(&storage);
    scene.more = vec!["--lease=3".to_owned()];
    scene.take();
    // One that is at work renews its lock.
    at_work(scene.server(), Duration::from_millis(200));
    storage.set(Faults { slow: 1000, ..Faults::default() });
    let [datadir, to] = scene.take_args();
    let mut child = scene
        .command(&["backup", &datadir, &to])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lock = || storage.objects("servers/one").iter().any(|path| path.ends_with("repository.lock"));
    let begun = now();
    while !lock() && now() - begun < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(1));
    }
    let (code, out, errors) = scene.run(&["backup", "prune", &scene.from(), "--keep-last=1"]);
    // It is refused, or it has waited for the other one's end.
    assert!(code == 0 || errors.contains("another backup or prune is running"), "{code} {out} {errors}");
    assert!(child.wait().unwrap().success());
    storage.set(Faults::default());
    // One that was killed leaves its lock for so long.
    scene.more = vec!["--lease=2".to_owned()];
    let child = scene.command(&["backup", &datadir, &to]).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let child = child.unwrap();
    while !lock() && now() - begun < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_micros(100));
    }
    end(child);
    if lock() {
        let begun = now();
        let (code, _, errors) = scene.run(&["backup", "prune", &scene.from(), "--keep-last=1"]);
        assert!(code == 0 && errors.contains("waiting up to"), "{errors}");
        assert!(now() - begun >= Duration::from_secs(2));
    }
    assert!(!lock());
}

#[test]
fn what_is_wrong_is_told_without_credentials() {
    let storage = ObjectStorage::start(4);
    let mut scene = scene(&storage);
    let refused = |scene: &Scene| {
        let (from, target) = (scene.from(), scene.target("refused"));
        let (code, out, errors) = scene.run(&["restore", &from, &target]);
        assert!(code == 3 && out.is_empty(), "{code} {out} {errors}");
        assert!(!errors.contains(SECRET) && !errors.contains("another-secret"), "{errors}");
        errors
    };
    assert!(refused(&scene).contains("'s3://backups/servers/one' is no repository of backups"));
    scene.take();
    let good = scene.variables.clone();
    for (name, value, expected) in [
        ("AWS_SECRET_ACCESS_KEY", "another-secret", "403"),
        ("AWS_ENDPOINT_URL", "http://example.com:1", "--allow-http"),
        ("AWS_ENDPOINT_URL", "http://key:another-secret@localhost:1", "no credentials"),
    ] {
        scene.variables = good.clone();
        scene.variables.retain(|(other, _)| other != name);
        scene.variables.push((name.to_owned(), value.to_owned()));
        let errors = refused(&scene);
        assert!(errors.contains(expected), "{name}: {errors}");
    }
    scene.variables = good;
    for (address, expected) in [
        ("s3://no-such-bucket/x", "no-such-bucket"),
        ("s3://backups/servers", "is no repository"),
        ("s3://tester:another-secret@backups/x", "credentials"),
        ("ftp://backups/x", "s3://BUCKET/PREFIX"),
    ] {
        scene.address = Some(address.to_owned());
        let errors = refused(&scene);
        assert!(errors.contains(expected), "{address}: {errors}");
    }
    scene.address = None;
    let errors = scene.refusal(&["backup", "list", &scene.from(), "--allow-http"]);
    assert!(errors.contains("is for object storage"), "{errors}");
}

/// Objects that are damaged, cut or gone are told.
#[test]
fn damaged_objects_are_told_and_not_restored() {
    let storage = ObjectStorage::start(5);
    let scene = scene(&storage);
    at_work(scene.server(), Duration::from_millis(300));
    scene.take();
    let objects = storage.objects("servers/one");
    let mut seen = 0;
    for path in objects.iter().filter(|path| path.extension().is_some_and(|e| e == "piece")).step_by(3) {
        let content = std::fs::read(path).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        let mut changed = content.clone();
        let middle = 44 + (changed.len() - 44) / 2;
        changed[middle] ^= 1;
        for bytes in [changed, content[..middle].to_vec(), Vec::new()] {
            std::fs::write(path, bytes).unwrap();
            let (code, out, errors) = scene.run(&["backup", "verify", &scene.from(), "--read-only"]);
            assert!(code != 0 && format!("{out}{errors}").contains(name), "{name}: {out} {errors}");
            seen += 1;
        }
        std::fs::write(path, content).unwrap();
    }
    assert!(seen > 6, "{seen}");
    scene.well(&["backup", "verify", &scene.from()]);
}
