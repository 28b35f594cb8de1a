//! `duramen backup` and `duramen restore`: of a server at work, to any moment, and what is told
//! where pieces are damaged or missing.
// The disk is a real one: what is damaged on it is no business of the simulated one.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

mod common;

use common::backups::Scene;
use common::shop::{SMALL, at_work, point};
use common::{DURAMEN, Server};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

#[test]
fn each_moment_behind_a_backup_is_restored() {
    let scene = Scene::new();
    at_work(scene.server(), Duration::from_millis(300));
    let before = point(scene.server());
    at_work(scene.server(), Duration::from_millis(100));
    let out = scene.take();
    assert!(out.contains("backup ") && out.contains("gtid_executed: "), "{out}");
    at_work(scene.server(), Duration::from_millis(400));
    let first = point(scene.server());
    at_work(scene.server(), Duration::from_millis(400));
    scene.server().sql("flush binary logs");
    let second = point(scene.server());
    scene.take();
    at_work(scene.server(), Duration::from_millis(300));
    let mut child = scene.continuous();
    at_work(scene.server(), Duration::from_millis(1500));
    // The last file is one that has a transaction.
    scene.server().sql("insert into shop.no_key values (1, 'last')");
    let last = point(scene.server());
    scene.await_archived(&last);
    child.kill().unwrap();
    child.wait().unwrap();
    // The newest backup goes beyond the first points; the oldest does not.
    scene.check("by gtid", Some(&first.gtid), &first.dump);
    scene.check("by time", Some(&second.time), &second.dump);
    scene.check("by position", Some(&first.position), &first.dump);
    scene.check("all", None, &last.dump);
    let target = format!("--datadir={}", scene.path("refused"));
    let errors = scene.refusal(&["restore", &scene.from(), &target, "--to=2020-01-01"]);
    assert!(errors.contains("the oldest backup") && errors.contains("goes beyond"), "{errors}");
    let errors = scene.refusal(&["restore", &scene.from(), &target, &format!("--to={}", before.gtid)]);
    assert!(errors.contains("goes beyond"), "{errors}");
    let errors = scene.refusal(&["restore", &scene.from(), &target, "--to=binlog.009999:4"]);
    assert!(errors.contains("not in the files"), "{errors}");
    assert!(!Path::new(&scene.path("refused")).exists());
    let out = scene.well(&["backup", "verify", &scene.from(), "--all"]);
    assert!(out.contains("3 backups read, 3 of them restored: all is well"), "{out}");
    // What only the oldest needs goes with it.
    let tables = scene.files("tables").len();
    let out = scene.well(&["backup", "prune", &scene.from(), "--keep-last=1"]);
    assert!(out.starts_with("removed 2 backups") && scene.files("tables").len() < tables, "{out}");
    scene.well(&["backup", "verify", &scene.from()]);
    scene.check("after prune", None, &last.dump);
}

#[test]
fn a_second_backup_copies_only_what_is_new() {
    let mut scene = Scene::new();
    scene.server().sql(
        "use shop; create table big (id int primary key auto_increment, t longtext); \
         insert into big (t) values (repeat('x', 300000)), (repeat('y', 300000)), (sha2('z', 512))",
    );
    at_work(scene.server(), Duration::from_millis(500));
    scene.take();
    let before = scene.files("tables");
    assert!(!before.is_empty());
    at_work(scene.server(), Duration::from_millis(300));
    scene.take();
    let after = scene.files("tables");
    assert!(before.iter().all(|file| after.contains(file)), "nothing is written again");
    // Without a server nothing changes, and there is nothing to copy.
    let (status, messages) = scene.running.take().unwrap().terminate();
    assert!(status.success(), "{messages:#?}");
    scene.take();
    let (all, logs) = (scene.files("tables"), scene.files("logs"));
    let out = scene.take();
    assert!(out.contains(" 0 MB of them new, and 0 MB of log"), "{out}");
    assert_eq!((scene.files("tables"), scene.files("logs")), (all, logs));
}

/// Backups that are ended while they are taken, and servers that are: the next one goes on, and
/// what is restored is whole.
#[test]
fn kills_in_the_middle_leave_no_half_backup() {
    let mut scene = Scene::new();
    scene.take();
    for round in 0..12 {
        at_work(scene.server(), Duration::from_millis(150));
        let mut child = scene.continuous();
        at_work(scene.server(), Duration::from_millis(20 + 25 * (round % 6)));
        child.kill().unwrap();
        child.wait().unwrap();
        if round % 4 == 3 {
            let server = scene.running.take().unwrap();
            scene.running = Some(server.crash_and_restart(SMALL));
        }
    }
    at_work(scene.server(), Duration::from_millis(100));
    let last = point(scene.server());
    std::thread::sleep(Duration::from_millis(100));
    scene.take();
    scene.check("after kills", Some(&last.gtid), &last.dump);
    scene.well(&["backup", "verify", &scene.from(), "--all"]);
    let leftover =
        |files: Vec<PathBuf>| files.iter().filter(|f| f.extension().is_some_and(|e| e == "tmp")).count();
    scene.well(&["backup", "prune", &scene.from(), "--keep-last=1"]);
    assert_eq!(leftover(scene.files("tables")), 0);
}

/// Each file of a repository, damaged or missing: told, and never restored.
#[test]
fn damage_is_told_and_not_restored() {
    let scene = Scene::new();
    at_work(scene.server(), Duration::from_millis(300));
    scene.take();
    at_work(scene.server(), Duration::from_millis(200));
    scene.take();
    let mut seen = 0;
    for file in scene.files("") {
        let name = file.file_name().unwrap().to_str().unwrap().to_owned();
        if name == "repository" || name == "repository.lock" {
            continue;
        }
        let content = std::fs::read(&file).unwrap();
        let mut changed = content.clone();
        let middle = 44 + (changed.len() - 44) / 2;
        changed[middle] ^= 1;
        for (what, bytes) in
            [("changed", Some(changed)), ("cut", Some(content[..middle].to_vec())), ("gone", None)]
        {
            // A log file that is gone at the end, or a manifest, is a backup less, and nobody
            // knows.
            if what == "gone" && (name == "backup.piece" || file.starts_with(scene.repository().join("logs")))
            {
                continue;
            }
            match bytes {
                Some(bytes) => std::fs::write(&file, bytes).unwrap(),
                None => std::fs::remove_file(&file).unwrap(),
            }
            let (code, out, errors) = scene.run(&["backup", "verify", &scene.from(), "--read-only"]);
            assert_ne!(code, 0, "{name} {what}: {out}");
            assert!(format!("{out}{errors}").contains(&name), "{name} {what}: {out} {errors}");
            std::fs::write(&file, &content).unwrap();
            seen += 1;
        }
    }
    assert!(seen > 20, "{seen}");
    scene.well(&["backup", "verify", &scene.from()]);
    // A table that is needed is missing: nothing is made. All that are there are the last backup's.
    scene.well(&["backup", "prune", &scene.from(), "--keep-last=1"]);
    std::fs::remove_file(scene.files("tables").pop().unwrap()).unwrap();
    let target = scene.path("damaged");
    let errors = scene.refusal(&["restore", &scene.from(), &format!("--datadir={target}")]);
    assert!(errors.contains("is missing in the repository"), "{errors}");
    assert!(!Path::new(&target).exists() && !Path::new(&format!("{target}.unfinished")).exists());
}

#[test]
fn encrypted_backups_need_their_key() {
    let mut scene = Scene::new();
    let (key, other) = (scene.path("key"), scene.path("other"));
    std::fs::write(&key, format!("{}\n", "3a".repeat(32))).unwrap();
    std::fs::write(&other, "7b".repeat(32)).unwrap();
    scene.more = vec![format!("--key-file={key}")];
    scene.server().sql("insert into shop.no_key values (1, 'a secret that is long enough')");
    at_work(scene.server(), Duration::from_millis(200));
    let last = point(scene.server());
    std::thread::sleep(Duration::from_millis(100));
    scene.take();
    scene.check("with the key", Some(&last.gtid), &last.dump);
    scene.well(&["backup", "verify", &scene.from()]);
    for file in scene.files("") {
        let content = std::fs::read(&file).unwrap();
        assert!(!content.windows(14).any(|w| w == b"a secret that "), "{}", file.display());
    }
    let target = format!("--datadir={}", scene.path("refused"));
    for (more, expected) in [
        (Vec::new(), "is encrypted: --key-file says with what"),
        (vec![format!("--key-file={other}")], "not what was encrypted with this key"),
        (vec![format!("--key-file={}", scene.path("none"))], "can't read the key file"),
        (vec![format!("--key-file={DURAMEN}")], "is no key file"),
    ] {
        scene.more = more;
        let errors = scene.refusal(&["restore", &scene.from(), &target]);
        assert!(errors.contains(expected), "{errors}");
    }
}

/// A repository has one history of one server.
#[test]
fn another_history_is_refused() {
    let scene = Scene::new();
    at_work(scene.server(), Duration::from_millis(100));
    scene.take();
    let [_, to] = scene.take_args();
    let other = Arc::new(tempfile::tempdir().unwrap());
    let server = Server::start_in(&other, SMALL);
    let errors = scene.refusal(&["backup", &format!("--datadir={}", other.path().display()), &to]);
    assert!(errors.contains("each needs a repository of its own"), "{errors}");
    drop(server);
    scene.server().sql("reset binary logs and gtids");
    at_work(scene.server(), Duration::from_millis(100));
    let [datadir, to] = scene.take_args();
    std::thread::sleep(Duration::from_millis(1100));
    let errors = scene.refusal(&["backup", &datadir, &to]);
    assert!(errors.contains("two histories"), "{errors}");
    // Purged behind what is archived: the archive would have a gap.
    let scene = Scene::new();
    scene.take();
    let [datadir, to] = scene.take_args();
    let listed = || scene.server().sql("show binary logs");
    let archived = scene.files("logs").pop().unwrap();
    let archived = archived.parent().unwrap().file_name().unwrap().to_str().unwrap().to_owned();
    // What recovery needs is not purged: tables must have been made.
    for _ in 0..50 {
        at_work(scene.server(), Duration::from_millis(200));
        scene.server().sql("flush binary logs");
        let file = scene.server().sql("show binary log status").split('\t').next().unwrap().to_owned();
        scene.server().sql(&format!("purge binary logs to '{file}'"));
        if !listed().contains(&archived) {
            break;
        }
    }
    assert!(!listed().contains(&archived), "{}", listed());
    let errors = scene.refusal(&["backup", &datadir, &to]);
    assert!(errors.contains("would have a gap"), "{errors}");
}
