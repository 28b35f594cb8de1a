//! `duramen binlog replay`: a server at work, recovered to a GTID, a time and a position, and
//! compared with a dump of then.
#![allow(clippy::unwrap_used)]

mod common;

use common::shop::{Point, SMALL, assert_same, at_work, dump, make_tables, point, start_on};
use common::{DURAMEN, Server};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

/// Runs `duramen binlog`: whether it succeeded, output, errors.
fn tool(args: &[&str]) -> (bool, String, String) {
    let done = Command::new(DURAMEN).arg("binlog").args(args).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (done.status.success(), text(done.stdout), text(done.stderr))
}

/// A refusal's text.
fn refusal(args: &[&str]) -> String {
    let (ok, out, errors) = tool(args);
    assert!(!ok && out.is_empty(), "{out} {errors}");
    errors
}

fn copy_tree(from: &Path, to: &Path) {
    let done = Command::new("cp").arg("-a").arg(from).arg(to).status().unwrap();
    assert!(done.success());
}

#[test]
fn a_base_and_the_log_behind_it_give_any_later_point() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let datadir = Arc::new(tempfile::tempdir().unwrap());
    let server = Server::start_in(&datadir, SMALL);
    make_tables(&server);
    at_work(&server, Duration::from_millis(300));
    let before_base = point(&server);
    let (status, messages) = server.terminate();
    assert!(status.success(), "{messages:#?}");
    let base = path("base");
    copy_tree(datadir.path(), Path::new(&base));
    let base_listing = listing(&base);

    let server = Server::start_in(&datadir, SMALL);
    at_work(&server, Duration::from_millis(500));
    // A transaction that is prepared at the first point, and committed after the second.
    server.sql(
        "use shop; xa start 'half'; insert into no_key values (-1, 'half'); xa end 'half'; xa prepare 'half'",
    );
    let first = point(&server);
    server.sql("flush binary logs");
    server.sql(
        "use shop; create index of_text on orders (text(20)); alter table totals modify n bigint; \
         create table numbered (n int); insert into numbered values (3), (1), (2); \
         alter table numbered add id int auto_increment primary key first; \
         alter table orders force; optimize table totals",
    );
    // One that gets a log file of its own.
    server.sql(
        "use shop; create table big (id int primary key auto_increment, t longtext); \
         insert into big (t) values (repeat('x', 300000)), (repeat('y', 300000)), (repeat('z', 300000)), ('a'); \
         insert into big (t) select concat(t, t) from big",
    );
    // Those of the sessions to come are compressed.
    server.sql("set global binlog_transaction_compression = on");
    at_work(&server, Duration::from_millis(300));
    let second = point(&server);
    server.sql("xa commit 'half'");
    at_work(&server, Duration::from_millis(300));
    // The log is read while the server goes on.
    let log = datadir.path().to_str().unwrap();
    let points = [
        ("gtid", &first, ["--until-gtid", &first.gtid]),
        ("time", &second, ["--until-time", &second.time]),
        ("position", &second, ["--until-position", &second.position]),
    ];
    for (name, point, until) in points {
        let target = path(name);
        let (ok, out, errors) =
            tool(&["replay", "--base", &base, "--datadir", &target, until[0], until[1], log]);
        assert!(ok, "{name}: {out} {errors}");
        assert!(out.contains(&format!("behind {}", point.gtid)), "{name}: {out}");
        assert!(errors.contains("replaying"), "{name}: {errors}");
        let recovered = start_on(Path::new(&target));
        assert_same(name, &dump(&recovered), &point.dump);
        let uuid = point.gtid.split(':').next().unwrap();
        assert_ne!(recovered.sql("select @@server_uuid").trim(), uuid, "it is another database");
        assert!(
            recovered.sql("check table shop.orders, shop.totals, shop.no_key").matches("OK").count() == 3
        );
        let prepared = recovered.sql("xa recover");
        assert!(prepared.contains("half"), "{name}: {prepared}");
        recovered.sql("xa commit 'half'");
        assert_eq!(recovered.sql("select b from shop.no_key where a = -1"), "half\n");
        // It goes on, under its own name.
        recovered.sql("insert into shop.totals values (1000, 1, null)");
        assert!(recovered.sql("select @@gtid_executed").contains(uuid));
    }
    // All of it: what the server itself has when it stands still.
    server.sql("flush binary logs");
    let last = dump(&server);
    let all = path("all");
    let (ok, out, errors) = tool(&["replay", "--base", &base, "--datadir", &all, "--keep-uuid", log]);
    assert!(ok, "{out} {errors}");
    let recovered = start_on(Path::new(&all));
    assert_same("all", &dump(&recovered), &last);
    assert_eq!(recovered.sql("select @@server_uuid"), server.sql("select @@server_uuid"));
    drop(recovered);

    // The base's own end is a point too.
    let target = path("base again");
    let (ok, out, errors) =
        tool(&["replay", "--base", &base, "--datadir", &target, "--until-gtid", &before_base.gtid, log]);
    assert!(ok && out.contains("replayed 0 transactions"), "{out} {errors}");
    assert_same("base", &dump(&start_on(Path::new(&target))), &before_base.dump);

    refusals(&base, log, &path("refused"), &before_base, &first);
    assert_eq!(listing(&base), base_listing, "the base is as it was");
}

/// Names, sizes and times of all files.
fn listing(path: &str) -> String {
    let output = Command::new("find").args([path, "-printf", "%P %s %T@\\n"]).output().unwrap();
    let mut lines: Vec<_> = std::str::from_utf8(&output.stdout).unwrap().lines().collect();
    lines.sort_unstable();
    lines.join("\n")
}

/// What can't be is reported before anything is made.
fn refusals(base: &str, log: &str, target: &str, before_base: &Point, first: &Point) {
    let replay = |more: &[&str]| {
        let errors = refusal(&[&["replay", "--base", base, "--datadir", target], more].concat());
        assert!(!Path::new(target).exists() && !Path::new(&format!("{target}.unfinished")).exists());
        errors
    };
    let mut files: Vec<_> = std::fs::read_dir(log).unwrap().map(|e| e.unwrap().path()).collect();
    files.retain(|p| p.file_name().unwrap().to_str().unwrap().starts_with("binlog.0"));
    files.sort();
    let files: Vec<&str> = files.iter().map(|p| p.to_str().unwrap()).collect();
    let in_base = std::fs::read_dir(base).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
    let in_base = in_base.filter(|n| n.starts_with("binlog.0")).count();
    let after = &files[in_base..];
    assert!(after.len() > 3, "{files:?}");
    let check = |errors: String, expected: &str| assert!(errors.contains(expected), "{errors}");
    let (uuid, last) = before_base.gtid.split_once(':').unwrap();
    let earlier = format!("{uuid}:{}", last.parse::<u64>().unwrap() - 1);
    check(replay(&["--until-gtid", &earlier, log]), "beyond");
    check(replay(&["--until-time", &before_base.time.replace("2026", "2020"), log]), "take an older base");
    check(replay(&["--until-position", "binlog.000001:4000", log]), "take an older base");
    let unknown = first.gtid.split(':').next().unwrap().to_owned() + ":999999";
    check(replay(&["--until-gtid", &unknown, log]), "is not in the files");
    check(replay(&["--until-position", "binlog.009999:4", log]), "is not in the files");
    // Without the first file after the base, or one in the middle.
    check(replay(&after[1..]), "is missing");
    check(replay(&[after[0], after[2]]), "is missing");
    check(replay(&[after[0], after[0]]), "is given twice");
    check(replay(&["--in-place", log]), "is not supported");
    check(replay(&["/bin/sh"]), "is no log file of the base's");
    let running = refusal(&["replay", "--base", log, "--datadir", target]);
    check(running, "a server is running");
    let there = refusal(&["replay", "--base", base, "--datadir", base, log]);
    check(there, "is there already");
}

/// A file by another server with the same name and number is not taken for the base's next one.
#[test]
fn another_history_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let make = |name: &str| {
        let datadir = Arc::new(tempfile::tempdir().unwrap());
        let server = Server::start_in(&datadir, &[]);
        make_tables(&server);
        server.terminate();
        copy_tree(datadir.path(), Path::new(&path(name)));
        let server = Server::start_in(&datadir, &[]);
        server.sql("insert into shop.totals values (1, 1, null)");
        (server, datadir)
    };
    let (_one, _one_datadir) = make("one");
    let (_two, two_datadir) = make("two");
    let (base, target) = (path("one"), path("target"));
    let log = two_datadir.path().to_str().unwrap();
    let errors = refusal(&["replay", "--base", &base, "--datadir", &target, log]);
    assert!(errors.contains("two histories"), "{errors}");
    let next = format!("{log}/binlog.000002");
    let errors = refusal(&["replay", "--base", &base, "--datadir", &target, &next]);
    assert!(errors.contains("a gap before binlog.000002"), "{errors}");
}

/// GTIDs that gtid_purged names are in no file, and are no gap.
#[test]
fn gtids_that_were_set_as_purged_are_no_gap() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let datadir = Arc::new(tempfile::tempdir().unwrap());
    let server = Server::start_in(&datadir, &[]);
    make_tables(&server);
    server.terminate();
    let base = path("base");
    copy_tree(datadir.path(), Path::new(&base));
    let server = Server::start_in(&datadir, &[]);
    let elsewhere = "11111111-2222-3333-4444-555555555555:1-5";
    server.sql(&format!(
        "insert into shop.totals values (1, 1, null); set global gtid_purged = '+{elsewhere}'; \
         insert into shop.totals values (2, 1, null)"
    ));
    let log = datadir.path().to_str().unwrap();
    let (ok, out, errors) = tool(&["verify", log]);
    assert!(ok && out.contains(&format!("gtid_purged was set: {elsewhere}")), "{out} {errors}");
    let target = path("target");
    let (ok, out, errors) = tool(&["replay", "--base", &base, "--datadir", &target, log]);
    assert!(ok && out.contains(elsewhere), "{out} {errors}");
    let recovered = start_on(Path::new(&target));
    assert_eq!(recovered.sql("select @@gtid_executed"), server.sql("select @@gtid_executed"));
    assert!(dump(&recovered) == dump(&server));
}

/// RESET BINARY LOGS AND GTIDS uses names and GTIDs again: the new log goes on from a base of
/// after it, not of before.
#[test]
fn a_log_that_began_anew_goes_on_from_its_own_bases() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let datadir = Arc::new(tempfile::tempdir().unwrap());
    let server = Server::start_in(&datadir, &[]);
    make_tables(&server);
    server.sql("flush binary logs");
    server.terminate();
    let (before, after, target) = (path("before"), path("behind"), path("target"));
    copy_tree(datadir.path(), Path::new(&before));
    let server = Server::start_in(&datadir, &[]);
    server.sql("insert into shop.totals values (1, 1, null); reset binary logs and gtids");
    server.sql("insert into shop.totals values (2, 1, null)");
    server.terminate();
    copy_tree(datadir.path(), Path::new(&after));
    let server = Server::start_in(&datadir, &[]);
    server.sql("insert into shop.totals values (3, 1, null); flush binary logs");
    server.sql("insert into shop.totals values (4, 1, null)");
    let log = datadir.path().to_str().unwrap();
    let errors = refusal(&["replay", "--base", &before, "--datadir", &target, log]);
    assert!(errors.contains("binlog.000001' is shorter than in the base"), "{errors}");
    let (ok, out, errors) = tool(&["replay", "--base", &after, "--datadir", &target, log]);
    assert!(ok, "{out} {errors}");
    let recovered = start_on(Path::new(&target));
    assert_eq!(recovered.sql("select @@gtid_executed"), server.sql("select @@gtid_executed"));
    assert!(dump(&recovered) == dump(&server));
}

/// What docs/binlog-tool.md says of a base that is copied from a running server: tables first, then
/// the log.
#[test]
fn a_running_server_is_a_base_when_its_tables_are_copied_before_its_log() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let datadir = Arc::new(tempfile::tempdir().unwrap());
    let server = Server::start_in(&datadir, SMALL);
    make_tables(&server);
    at_work(&server, Duration::from_millis(200));
    // A stop makes tables on disk; what comes then is in the log.
    server.terminate();
    let server = Server::start_in(&datadir, SMALL);
    let base = path("base");
    let script = "set -e; from=$1 to=$2; mkdir -p $to/store; cp $from/auto.cnf $to; \
        cp $from/store/CURRENT $to/store; cp $from/store/$(cat $to/store/CURRENT) $to/store; \
        cp $from/store/*.table $to/store; cp $from/binlog.index $to; \
        while read f; do cp $from/$f $to; done < $to/binlog.index";
    std::thread::scope(|scope| {
        let copier = scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(300));
            for attempt in 0..5 {
                let from = datadir.path().to_str().unwrap();
                let done = Command::new("sh").args(["-c", script, "sh", from, &base]).output().unwrap();
                if done.status.success() {
                    return;
                }
                // A table that went meanwhile: once more, from the start.
                println!("attempt {attempt}: {}", String::from_utf8_lossy(&done.stderr));
                Command::new("rm").args(["-r", &base]).status().unwrap();
            }
            panic!("no copy in five attempts");
        });
        at_work(&server, Duration::from_millis(800));
        copier.join().unwrap();
    });
    let then = point(&server);
    at_work(&server, Duration::from_millis(200));
    let (target, log) = (path("target"), datadir.path().to_str().unwrap());
    let (ok, out, errors) =
        tool(&["replay", "--base", &base, "--datadir", &target, "--until-gtid", &then.gtid, log]);
    assert!(ok, "{out} {errors}");
    assert!(dump(&start_on(Path::new(&target))) == then.dump);
}
