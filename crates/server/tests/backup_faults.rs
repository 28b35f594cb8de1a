//! What kills, full disks and other people's hands leave of backups: told, refused, or done
//! without.
// The disk is a real one: what is damaged on it is no business of the simulated one.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

mod common;

use common::backups::Scene;
use common::shop::{SMALL, assert_same, at_work, dump, point, start_on};
use common::{DURAMEN, Server};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// A kill between the folder of a log file and its first piece: verify called it good, and a
/// restore to the end failed.
#[test]
fn a_log_file_without_pieces_counts_as_not_there() {
    let scene = Scene::new();
    at_work(scene.server(), Duration::from_millis(200));
    scene.server().sql("insert into shop.no_key values (1, 'last')");
    std::thread::sleep(Duration::from_millis(200));
    let last = point(scene.server());
    scene.take();
    let list = scene.well(&["backup", "list", &scene.from()]);
    for inside in [None, Some("0000000000000000-0000000000000100.tmp")] {
        let folder = scene.next_log();
        std::fs::create_dir(&folder).unwrap();
        if let Some(name) = inside {
            std::fs::write(folder.join(name), "half").unwrap();
        }
        assert_eq!(scene.well(&["backup", "list", &scene.from()]), list);
        scene.well(&["backup", "verify", &scene.from()]);
        scene.check(inside.unwrap_or("empty"), None, &last.dump);
    }
    let temporary = || scene.files("").iter().filter(|f| f.extension().is_some_and(|e| e == "tmp")).count();
    assert_eq!(temporary(), 1);
    scene.take();
    assert_eq!(temporary(), 0, "the next backup removes what a kill left");
    std::fs::write(scene.logs()[0].join("x.tmp"), "half").unwrap();
    scene.well(&["backup", "prune", &scene.from(), "--keep-last=5"]);
    assert_eq!(temporary(), 0, "and so does prune");
}

/// A piece in the middle of an open log file was missing: a restore to the end ended there, and did
/// not tell.
#[test]
fn a_gap_in_a_log_file_is_told_unless_the_point_lies_before_it() {
    let scene = Scene::new();
    scene.server().sql("flush binary logs");
    scene.take();
    let mut points = Vec::new();
    for round in 0..3 {
        scene.server().sql(&format!("insert into shop.no_key values ({round}, 'x')"));
        points.push(point(scene.server()));
        std::thread::sleep(Duration::from_millis(200));
        scene.take();
    }
    let log = scene.logs().pop().unwrap();
    let mut pieces: Vec<_> = std::fs::read_dir(&log).unwrap().map(|e| e.unwrap().path()).collect();
    pieces.sort();
    assert!(pieces.len() >= 4, "{pieces:?}");
    let gap = pieces[pieces.len() - 2].clone();
    std::fs::remove_file(&gap).unwrap();
    let offset: u64 = gap.file_name().unwrap().to_str().unwrap()[..16].parse().unwrap();
    let name = log.file_name().unwrap().to_str().unwrap();
    for to in [None, Some(format!("--to={}", points[1].gtid)), Some("--to=2100-01-01".to_owned())] {
        let (from, target) = (scene.from(), scene.target("gap"));
        let mut args = vec!["restore", &from, &target];
        args.extend(to.as_deref());
        let errors = scene.refusal(&args);
        assert!(errors.contains(&format!("--to={name}:{offset}")), "{errors}");
        assert!(errors.contains("a piece is missing"), "{errors}");
    }
    scene.check("at gap", Some(&format!("{name}:{offset}")), &points[0].dump);
    scene.check("gtid before", Some(&points[0].gtid), &points[0].dump);
    let (code, out, _) = scene.run(&["backup", "verify", &scene.from(), "--read-only"]);
    assert!(code == 1 && out.contains(name), "{out}");
    // Its beginning: nothing of the file can be read.
    std::fs::remove_file(&pieces[0]).unwrap();
    for to in
        ["--to=2100-01-01".to_owned(), format!("--to={}", points[2].gtid), format!("--to={}", points[0].gtid)]
    {
        let errors = scene.refusal(&["restore", &scene.from(), &scene.target("gap"), &to]);
        assert!(errors.contains("a piece is missing") && errors.contains("the file before it"), "{errors}");
    }
}

/// Pieces of the log were not bound to their file and range, manifests not to their backup: another
/// one in its place was taken for it, also where they were encrypted.
#[test]
fn a_piece_in_the_place_of_another_is_refused() {
    let mut scene = Scene::new();
    at_work(scene.server(), Duration::from_millis(300));
    let key = scene.path("key");
    std::fs::write(&key, "3a".repeat(32)).unwrap();
    for more in [Vec::new(), vec![format!("--key-file={key}")]] {
        let _ = std::fs::remove_dir_all(scene.repository());
        scene.more = more;
        scene.take();
        // A backup needs the log from the last checkpoint on, which may be in the last file.
        scene.server().sql("flush binary logs; insert into shop.no_key values (1, 'in the next file')");
        scene.take();
        let logs = scene.logs();
        let piece = |at: usize| std::fs::read_dir(&logs[at]).unwrap().next().unwrap().unwrap().path();
        let tables = scene.files("tables");
        let manifests: Vec<_> =
            scene.files("backups").into_iter().filter(|f| f.ends_with("backup.piece")).collect();
        for (from, to) in [
            (piece(0), piece(1)),
            (manifests[0].clone(), manifests[1].clone()),
            (tables[0].clone(), tables[1].clone()),
        ] {
            let content = std::fs::read(&to).unwrap();
            std::fs::copy(&from, &to).unwrap();
            let (code, out, errors) = scene.run(&["backup", "verify", &scene.from(), "--read-only"]);
            let name = to.strip_prefix(scene.repository()).unwrap().to_str().unwrap();
            assert!(
                code == 1 && out.contains(name) && out.contains("it was written as"),
                "{name}: {out} {errors}"
            );
            std::fs::write(&to, content).unwrap();
        }
        scene.well(&["backup", "verify", &scene.from(), "--read-only"]);
    }
    // A repository of the format before.
    let title = scene.repository().join("repository");
    let text = std::fs::read_to_string(&title).unwrap().replacen("repository 2", "repository 1", 1);
    std::fs::write(&title, text).unwrap();
    let errors = scene.refusal(&["backup", "list", &scene.from()]);
    assert!(errors.contains("format 1") && errors.contains("new folder"), "{errors}");
}

/// One damaged manifest, of whichever backup, made all commands refuse the folder.
#[test]
fn a_damaged_manifest_is_told_and_the_others_go_on() {
    let scene = Scene::new();
    let mut points = Vec::new();
    for _ in 0..3 {
        at_work(scene.server(), Duration::from_millis(150));
        scene.server().sql("insert into shop.no_key values (1, 'last')");
        points.push(point(scene.server()));
        std::thread::sleep(Duration::from_millis(200));
        scene.take();
    }
    let manifests: Vec<_> =
        scene.files("backups").into_iter().filter(|f| f.ends_with("backup.piece")).collect();
    let id = |at: usize| {
        let folder: &Path = manifests[at].parent().unwrap();
        folder.file_name().unwrap().to_str().unwrap().to_owned()
    };
    let whole = std::fs::read(&manifests[2]).unwrap();
    std::fs::write(&manifests[2], &whole[..whole.len() / 2]).unwrap();
    let (code, out, errors) = scene.run(&["backup", "list", &scene.from()]);
    assert!(code == 0 && out.contains(&id(0)) && out.contains(&id(1)), "{out} {errors}");
    assert!(errors.contains(&id(2)) && errors.contains("damaged"), "{errors}");
    let (code, _, errors) = scene.run(&["restore", &scene.from(), &scene.target("newest good one")]);
    assert!(
        code == 0 && errors.contains(&format!("backup {}", id(1))) && errors.contains(&id(2)),
        "{errors}"
    );
    assert_same("end", &dump(&start_on(Path::new(&scene.path("newest good one")))), &points[2].dump);
    let (code, out, _) = scene.run(&["backup", "verify", &scene.from()]);
    assert!(code == 1 && out.contains(&id(2)), "{out}");
    let errors = scene.refusal(&["backup", "prune", &scene.from(), "--keep-last=1"]);
    assert!(errors.contains(&id(2)) && errors.contains("remove"), "{errors}");
    let [datadir, to] = scene.take_args();
    let (code, _, errors) = scene.run(&["backup", &datadir, &to]);
    assert!(code == 0 && errors.contains(&id(2)), "{errors}");
    std::fs::write(&manifests[2], whole).unwrap();
    scene.well(&["backup", "verify", &scene.from()]);
}

/// The store's position is in the old log after RESET BINARY LOGS AND GTIDS, until tables are made.
#[test]
fn a_server_whose_log_was_begun_anew_is_backed_up_to_a_new_folder() {
    let scene = Scene::new();
    at_work(scene.server(), Duration::from_millis(200));
    scene.take();
    let old = scene.folder.path().join("old");
    scene.server().sql("reset binary logs and gtids");
    let [datadir, to] = scene.take_args();
    let errors = scene.refusal(&["backup", &datadir, &to]);
    assert!(errors.contains("begun anew") && errors.contains("another repository"), "{errors}");
    std::fs::rename(scene.repository(), old).unwrap();
    scene.server().sql("insert into shop.no_key values (1, 'after')");
    std::thread::sleep(Duration::from_millis(200));
    let last = point(scene.server());
    scene.take();
    scene.check("after reset", None, &last.dump);
    scene.well(&["backup", "verify", &scene.from()]);
    at_work(scene.server(), Duration::from_millis(300));
    scene.server().sql("insert into shop.no_key values (1, 'later')");
    std::thread::sleep(Duration::from_millis(200));
    let later = point(scene.server());
    scene.take();
    scene.check("later", None, &later.dump);
    scene.check("before", Some(&last.gtid), &last.dump);
}

/// What a killed restore leaves was taken for a data directory.
#[test]
fn what_a_killed_restore_leaves_is_not_started_and_is_replaced() {
    let scene = Scene::new();
    at_work(scene.server(), Duration::from_millis(400));
    std::thread::sleep(Duration::from_millis(100));
    let last = point(scene.server());
    scene.take();
    let unfinished = scene.path("new.unfinished");
    let marker = Path::new(&unfinished).join("duramen-unfinished");
    let mut child = Command::new(DURAMEN)
        .args(["restore", &scene.from(), &scene.target("new")])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    for _ in 0..2000 {
        if marker.exists() {
            break;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(marker.exists() && !Path::new(&scene.path("new")).exists());
    let option = format!("--datadir={unfinished}");
    for args in
        [vec!["serve", "--port=0", &option], vec!["check", &option], vec!["backup", &option, "--to=x"]]
    {
        let (code, out, errors) = scene.run(&args);
        assert_ne!(code, 0, "{args:?}: {out}");
        assert!(errors.contains("remove it") && errors.contains("unfinished"), "{args:?}: {errors}");
    }
    // One that is at work is let be.
    let held = std::fs::OpenOptions::new().write(true).open(&marker).unwrap();
    held.try_lock().unwrap();
    let errors = scene.refusal(&["restore", &scene.from(), &scene.target("new")]);
    assert!(errors.contains("is being made"), "{errors}");
    drop(held);
    scene.check("new", None, &last.dump);
    assert!(!Path::new(&unfinished).exists() && !Path::new(&scene.path("new/duramen-unfinished")).exists());
    // Something else of that name stays.
    std::fs::create_dir(scene.path("other.unfinished")).unwrap();
    std::fs::write(scene.path("other.unfinished/mine"), "mine").unwrap();
    let errors = scene.refusal(&["restore", &scene.from(), &scene.target("other")]);
    assert!(errors.contains("is there already"), "{errors}");
}

/// Runs it for 20 seconds at most: its exit code and errors.
fn in_time(args: &[&str]) -> (i32, String) {
    let done = Command::new("timeout").args(["20", DURAMEN]).args(args).output().unwrap();
    (done.status.code().unwrap_or(-1), String::from_utf8_lossy(&done.stderr).into_owned())
}

#[test]
fn pipes_among_the_files_are_refused_by_name() {
    let scene = Scene::new();
    scene.take();
    let piece = scene.files("logs").pop().unwrap();
    let manifest = scene.files("backups").into_iter().find(|f| f.ends_with("backup.piece")).unwrap();
    for path in [scene.repository().join("repository"), piece, manifest] {
        let content = std::fs::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        let (code, errors) = in_time(&["restore", &scene.from(), &scene.target("piped")]);
        assert_eq!(code, 3, "{}: {errors}", path.display());
        assert!(errors.contains(path.to_str().unwrap()) && errors.contains("pipe"), "{errors}");
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, content).unwrap();
    }
    let key = scene.path("key");
    assert!(Command::new("mkfifo").arg(&key).status().unwrap().success());
    let (code, errors) = in_time(&["backup", "list", &scene.from(), &format!("--key-file={key}")]);
    assert!(code == 3 && errors.contains(&key) && errors.contains("pipe"), "{code} {errors}");
    let (code, errors) = in_time(&["backup", "list", &scene.from(), "--key-file=/dev/zero"]);
    assert!(code == 3 && errors.contains("no key file"), "{code} {errors}");
}

#[test]
fn limits_are_told_and_no_manifest_is_left_in_scratch() {
    let scene = Scene::new();
    at_work(scene.server(), Duration::from_millis(300));
    let [datadir, to] = scene.take_args();
    let errors = scene.refusal(&["backup", &datadir, &to, "--jobs=1000"]);
    assert!(errors.contains("--jobs is at most 64"), "{errors}");
    // SIGXFSZ ended it without a word.
    let script = format!("ulimit -f 8; exec {DURAMEN} backup {datadir} {to}");
    let done = Command::new("sh").args(["-c", &script]).output().unwrap();
    let errors = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.code() == Some(3) && errors.contains("can't write"), "{:?}: {errors}", done.status);
    // The store's manifest was copied there, not encrypted.
    std::fs::write(scene.repository().join("scratch"), "a file").unwrap();
    scene.take();
}

#[test]
fn an_idle_server_gets_no_backup_that_changes_nothing() {
    let scene = Scene::new();
    let errors = scene.folder.path().join("errors");
    let [datadir, to] = scene.take_args();
    let mut child = Command::new(DURAMEN)
        .args(["backup", &datadir, &to, "--continuous", "--every=1"])
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(&errors).unwrap())
        .spawn()
        .unwrap();
    let backups = || scene.files("backups").iter().filter(|f| f.ends_with("backup.piece")).count();
    std::thread::sleep(Duration::from_secs(6));
    let idle = backups();
    let text = std::fs::read_to_string(&errors).unwrap();
    scene.server().sql("insert into shop.no_key values (1, 'news')");
    std::thread::sleep(Duration::from_secs(4));
    let after = backups();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(idle <= 2, "{idle} backups of an idle server");
    assert_eq!(text.matches("nothing was committed").count(), 1, "{text}");
    assert!(after > idle, "{after}");
}

#[test]
fn folders_inside_each_other_are_refused() {
    let scene = Scene::new();
    let datadir = scene.datadir.path().to_str().unwrap().to_owned();
    let link = scene.path("link");
    std::os::unix::fs::symlink(&datadir, &link).unwrap();
    for to in [format!("{datadir}/backups"), format!("{link}/a/b"), datadir.clone()] {
        let errors = scene.refusal(&["backup", &format!("--datadir={datadir}"), &format!("--to={to}")]);
        assert!(errors.contains("inside the data directory"), "{errors}");
        assert!(!Path::new(&datadir).join("backups").exists() && !Path::new(&datadir).join("a").exists());
    }
    scene.well(&["backup", &format!("--datadir={link}"), &scene.take_args()[1]]);
    let to_repository = scene.path("link to repository");
    std::os::unix::fs::symlink(scene.repository(), &to_repository).unwrap();
    for inside in [format!("{}/new", scene.repository().display()), format!("{to_repository}/backups/new")] {
        let errors = scene.refusal(&["restore", &scene.from(), &format!("--datadir={inside}")]);
        assert!(errors.contains("inside the folder of the backups"), "{errors}");
        assert!(!errors.contains("restoring from"), "{errors}");
        let moved = Path::new(&inside);
        assert!(!moved.exists());
    }
    let (from, scratch) = (scene.from(), format!("--scratch={}/s", scene.repository().display()));
    let errors = scene.refusal(&["backup", "verify", &from, &scratch]);
    assert!(errors.contains("inside the folder of the backups"), "{errors}");
    // A data directory in the repository.
    let inner = scene.repository().join("data");
    std::fs::create_dir(&inner).unwrap();
    std::fs::copy(Path::new(&datadir).join("binlog.index"), inner.join("binlog.index")).unwrap();
    let errors = scene.refusal(&["backup", &format!("--datadir={}", inner.display()), &scene.take_args()[1]]);
    assert!(errors.contains("inside the folder of the backups"), "{errors}");
    // A symbolic link to an empty folder: what it leads to becomes the data directory.
    std::fs::create_dir(scene.path("real")).unwrap();
    std::os::unix::fs::symlink(scene.path("real"), scene.path("to real")).unwrap();
    scene.well(&["restore", &scene.from(), &scene.target("to real")]);
    assert!(Path::new(&scene.path("real/binlog.index")).exists());
    assert!(std::fs::symlink_metadata(scene.path("to real")).unwrap().is_symlink());
}

#[test]
fn points_that_are_none_are_refused_before_anything_is_said() {
    let scene = Scene::new();
    scene.take();
    std::fs::create_dir(scene.path("full")).unwrap();
    std::fs::write(scene.path("full/x"), "x").unwrap();
    for (name, to, expected) in [
        ("new", "2026-02-30", "is no value for --to: a time in UTC"),
        ("new", "2026-11-31 10:00", "is no value for --to: a time in UTC"),
        ("new", "binlog.009999:4", "binlog.009999 is not in the files of the archive"),
        ("new", "2020-01-01", "goes beyond"),
        ("full", "2100-01-01", "is there already"),
    ] {
        let errors = scene.refusal(&["restore", &scene.from(), &scene.target(name), &format!("--to={to}")]);
        assert!(errors.contains(expected), "{to}: {errors}");
        assert!(!errors.contains("from the backup"), "{to}: {errors}");
    }
}

#[test]
fn a_log_of_another_name_is_told_and_a_restored_server_has_its_uuid_at_once() {
    let mut scene = Scene::new();
    let other = Arc::new(tempfile::tempdir().unwrap());
    let mut args = SMALL.to_vec();
    args.push("--log-bin=other");
    let server = Server::start_in(&other, &args);
    server.sql("create database shop; create table shop.t (a int)");
    std::thread::sleep(Duration::from_millis(200));
    scene.datadir = other;
    scene.take();
    let out = scene.well(&["restore", &scene.from(), &scene.target("new")]);
    assert!(out.contains("--log-bin=other"), "{out}");
    let uuid = std::fs::read_to_string(scene.path("new/auto.cnf")).unwrap();
    assert!(
        uuid.contains("server-uuid=") && !uuid.contains(server.sql("select @@server_uuid").trim()),
        "{uuid}"
    );
    scene.well(&["restore", &scene.from(), &scene.target("same"), "--keep-uuid"]);
    let uuid = std::fs::read_to_string(scene.path("same/auto.cnf")).unwrap();
    assert!(uuid.contains(server.sql("select @@server_uuid").trim()), "{uuid}");
}
