//! `duramen check` and `duramen repair`: a data directory is damaged in each way that disks know,
//! and made anew.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Server, records, run};
use env::{Env, RealEnv};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

const ROWS: u32 = 3000;

/// A data directory of a server that was stopped, and a folder for what is made of it.
struct World {
    datadir: Arc<TempDir>,
    folder: TempDir,
    /// What `SELECT` said of the tables before.
    rows: String,
}

const QUERY: &str = "select count(*), sum(id), sum(crc32(concat(id, a, b))) from d.t; select count(*) from d.t force index (a) \
                     where a >= 0; select count(*), max(e) from d.u; select count(*) from d.w; select d.f(4)";

/// Without file numbers that differ: the sizes make the tables several files.
const ARGS: &[&str] = &["--max-binlog-size=256K", "--duramen-memtable-size=1M"];

impl World {
    fn new() -> World {
        let datadir = Arc::new(tempfile::tempdir().unwrap());
        let server = Server::start_in(&datadir, ARGS);
        server.sql(
            "create database d; use d; create table t (id int primary key, a int, b varchar(200), key (a), unique key (b, id)); \
             create table u (id int primary key, e enum('x', 'y')); create table w (id int primary key); \
             create function f(n int) returns int deterministic return n * 2; create user app",
        );
        let mut text = String::from("use d;");
        for first in (0..ROWS).step_by(100) {
            let rows: Vec<String> = (first..first + 100)
                .map(|n| format!("({n}, {}, concat(md5({n}), sha2({n}, 512)))", n * 7 % 1000))
                .collect();
            server.sql(&format!("insert into d.t values {}", rows.join(", ")));
        }
        text += "update t set a = a + 1 where id % 3 = 0; insert into u values (1, 'x'), (2, 'y'); insert into w values (5);";
        text += "alter table u add column g int default 7; delete from t where id % 50 = 7;";
        server.sql(&text);
        let rows = server.sql(QUERY);
        let world = World { datadir, folder: tempfile::tempdir().unwrap(), rows };
        stop(server);
        world
    }

    /// Without the log that it needs to make its tables anew.
    fn without_old_log() -> World {
        let world = World::new();
        let server = Server::start_in(&world.datadir, ARGS);
        let last = server.sql("show binary log status").split('\t').next().unwrap().to_owned();
        server.sql(&format!("purge binary logs to '{last}'"));
        stop(server);
        world
    }

    fn path(&self) -> &Path {
        self.datadir.path()
    }

    fn target(&self) -> PathBuf {
        self.folder.path().join("new")
    }

    /// Exit code and output of `duramen check`.
    fn check(&self, more: &[&str]) -> (i32, String) {
        let before = content(self.path());
        let datadir = format!("--datadir={}", self.path().display());
        let (status, out, errors) = run(&[&["check", &datadir], more].concat());
        assert_same_content(&before, &content(self.path()));
        (status.code().unwrap(), out + &errors)
    }

    /// Exit code and output of `duramen repair`.
    fn repair(&self, more: &[&str]) -> (i32, String) {
        let before = content(self.path());
        let (datadir, into) =
            (format!("--datadir={}", self.path().display()), format!("--into={}", self.target().display()));
        let (status, out, errors) = run(&[&["repair", &datadir, &into], more].concat());
        assert_same_content(&before, &content(self.path()));
        (status.code().unwrap(), out + &errors)
    }

    /// Starts a server on what was made.
    fn start(&self) -> Server {
        let link = TempDir::with_prefix("repaired").unwrap();
        std::fs::remove_dir(link.path()).unwrap();
        std::os::unix::fs::symlink(self.target(), link.path()).unwrap();
        Server::start_in(&Arc::new(link), ARGS)
    }

    /// A check that finds something, a repair without loss, and a server that has all that was
    /// there.
    fn is_repaired(&self, finding: &str) -> String {
        let (code, text) = self.check(&[]);
        assert!(code == 1 && text.contains(finding), "{code}: {text}");
        let (code, text) = self.repair(&[]);
        assert_eq!(code, 0, "{text}");
        let server = self.start();
        assert_eq!(server.sql(QUERY), self.rows, "{text}");
        is_well(&server);
        stop(server);
        text
    }

    /// The files of a folder that end so, in order.
    fn files(&self, folder: &str, end: &str) -> Vec<PathBuf> {
        let inside = std::fs::read_dir(self.path().join(folder)).unwrap().map(|f| f.unwrap().path());
        let mut found: Vec<PathBuf> = inside.filter(|f| f.to_str().unwrap().ends_with(end)).collect();
        found.sort();
        found
    }

    fn logs(&self) -> Vec<PathBuf> {
        let mut logs = self.files("", "");
        logs.retain(|f| {
            let name = f.file_name().unwrap().to_str().unwrap();
            name.strip_prefix("binlog.").is_some_and(|n| n.len() == 6 && n.parse::<u32>().is_ok())
        });
        logs
    }

    /// The largest table file.
    fn table(&self) -> PathBuf {
        let tables = self.files("store", ".table");
        tables.into_iter().max_by_key(|f| std::fs::metadata(f).unwrap().len()).unwrap()
    }
}

fn stop(server: Server) {
    let (status, messages) = server.terminate();
    assert!(status.success(), "{messages:#?}");
}

/// Everything is sound as far as the server can tell.
fn is_well(server: &Server) {
    let checked = server.sql("check table d.t, d.u, d.w");
    assert_eq!(checked.matches("status\tOK").count(), 3, "{checked}");
    assert!(!server.sql("show engine duramen status").contains("SET ASIDE"));
    server.sql("insert into d.t values (1000000, 1, 'new'); delete from d.t where id = 1000000");
}

/// Files with their bytes.
fn content(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for path in std::fs::read_dir(dir).unwrap().map(|f| f.unwrap().path()) {
        if path.is_dir() {
            all.extend(content(&path));
        } else if path.is_file() {
            all.insert(path.clone(), read(&path));
        }
    }
    all
}

fn assert_same_content(before: &BTreeMap<PathBuf, Vec<u8>>, after: &BTreeMap<PathBuf, Vec<u8>>) {
    assert_eq!(before.keys().collect::<Vec<_>>(), after.keys().collect::<Vec<_>>());
    before.iter().for_each(|(path, bytes)| assert!(after[path] == *bytes, "{} was changed", path.display()));
}

fn read(path: &Path) -> Vec<u8> {
    RealEnv.read_file(path).unwrap()
}

fn write(path: &Path, bytes: &[u8]) {
    RealEnv.replace_file(path, bytes).unwrap();
}

fn remove(path: &Path) {
    RealEnv.remove_file(path).unwrap();
}

fn flip(path: &Path, at: u64) {
    let mut bytes = read(path);
    bytes[usize::try_from(at).unwrap()] ^= 0x10;
    write(path, &bytes);
}

/// Where the filter of a table file begins: the footer says so.
fn filter_of(path: &Path) -> u64 {
    let bytes = read(path);
    let footer = &bytes[bytes.len() - (3 * 12 + 4 + 8 + 8)..];
    u64::from_le_bytes(footer[12..20].try_into().unwrap())
}

fn json(text: &str, expression: &str) -> String {
    let mut parse = Command::new("python3")
        .args(["-c", &format!("import json, sys; r = json.load(sys.stdin); print({expression})")])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut parse.stdin.take().unwrap(), text.as_bytes()).unwrap();
    let output = parse.wait_with_output().unwrap();
    assert!(output.status.success(), "{text}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn a_sound_directory_is_told_so_and_nothing_is_made() {
    let world = World::new();
    let (code, text) = world.check(&[]);
    assert!(code == 0 && text.contains("verdict: the data directory is sound"), "{text}");
    assert!(
        text.contains("the definitions of 3 tables, 1 stored routines and 2 accounts can be read"),
        "{text}"
    );
    let (code, text) = world.check(&["--full", "--json"]);
    assert_eq!(
        (code, json(&text, "r['verdict'], len(r['findings']), r['log_has_everything']")),
        (0, "sound 0 True".into())
    );
    let (code, text) = world.repair(&[]);
    assert!(code == 0 && text.contains("nothing was made") && !world.target().exists(), "{text}");
    let (code, text) = world.repair(&["--force"]);
    assert!(code == 0 && text.contains("made anew from the binary log"), "{text}");
    let server = world.start();
    assert_eq!(server.sql(QUERY), world.rows);
    is_well(&server);
    stop(server);
    let (code, text) = world.repair(&["--force"]);
    assert!(code == 3 && text.contains("is there already"), "{text}");
}

#[test]
fn a_directory_in_use_or_none_is_refused() {
    let world = World::new();
    let server = Server::start_in(&world.datadir, ARGS);
    let datadir = format!("--datadir={}", world.path().display());
    for command in ["check", "repair"] {
        let (status, _, errors) =
            run(&[command, &datadir, "--into=nowhere"][..if command == "check" { 2 } else { 3 }]);
        assert!(status.code() == Some(3) && errors.contains("a server is running"), "{errors}");
    }
    stop(server);
    let empty = tempfile::tempdir().unwrap();
    let (status, _, errors) = run(&["check", &format!("--datadir={}", empty.path().display())]);
    assert!(status.code() == Some(3) && errors.contains("is no data directory"), "{errors}");
    for (args, expected) in [
        (&["check", "--help"][..], "Exit codes: 0 sound"),
        (&["repair", "--help"], "--accept-loss"),
        (&["check"], "--datadir is missing"),
        (&["repair", "--datadir=x"], "--into is missing"),
        (&["check", "--jsn"], "did you mean '--json'"),
    ] {
        let (_, out, errors) = run(args);
        assert!((out.clone() + &errors).contains(expected), "{out}{errors}");
    }
}

#[test]
fn damaged_tables_are_made_anew_from_the_log() {
    let world = World::new();
    flip(&world.table(), 3000);
    let text = world.is_repaired("checksum differs");
    assert!(text.contains("made anew from the binary log"), "{text}");
}

#[test]
fn a_missing_table_file_is_made_anew_from_the_log() {
    let world = World::new();
    remove(&world.table());
    world.is_repaired("the file is missing");
}

#[test]
fn a_damaged_filter_is_made_anew_without_the_log() {
    let world = World::without_old_log();
    let table = world.table();
    flip(&table, filter_of(&table) + 5);
    let text = world.is_repaired("a filter or properties");
    assert!(text.contains("the tables were salvaged"), "{text}");
}

#[test]
fn a_missing_current_and_a_damaged_index_are_made_anew() {
    let world = World::without_old_log();
    remove(&world.path().join("store/CURRENT"));
    flip(&world.path().join("binlog.index"), 4);
    let text = world.is_repaired("binlog.index");
    assert!(text.contains("store/CURRENT") && text.contains("the tables were copied"), "{text}");
}

/// Tables were written, and no manifest names them yet.
#[test]
fn what_a_crash_in_the_first_checkpoint_leaves_is_sound() {
    let world = World::new();
    world.files("store", ".manifest").iter().for_each(|manifest| remove(manifest));
    remove(&world.path().join("store/CURRENT"));
    let (code, text) = world.check(&[]);
    assert!(code == 0 && text.contains("as after a crash in the first checkpoint"), "{code}: {text}");
    let server = Server::start_in(&world.datadir, ARGS);
    assert_eq!(server.sql(QUERY), world.rows);
    is_well(&server);
    stop(server);
    // Not where the log can't make the tables anew.
    let world = World::without_old_log();
    world.files("store", ".manifest").iter().for_each(|manifest| remove(manifest));
    remove(&world.path().join("store/CURRENT"));
    assert_eq!(world.check(&[]).0, 2);
}

#[test]
fn an_old_current_beside_a_newer_manifest_is_told() {
    let world = World::new();
    let old: Vec<_> = content(world.path()).into_iter().collect();
    let is_log = |path: &Path| path.file_name().unwrap().to_string_lossy().starts_with("binlog.");
    let server = Server::start_in(&world.datadir, ARGS);
    server.sql("insert into d.w values (6)");
    stop(server);
    let is_store = |path: &Path| path.to_string_lossy().contains("/store/");
    let put = |which: &dyn Fn(&Path) -> bool| {
        old.iter()
            .filter(|(path, _)| which(path))
            .for_each(|(path, bytes)| write(&world.path().join(path), bytes));
    };
    put(&is_store);
    let (code, text) = world.check(&[]);
    assert!(code == 0 && text.contains("is newer than the manifest that it names, and sound"), "{text}");
    // With the log of that time the newer tables have what nothing else has.
    world.logs().iter().for_each(|log| remove(log));
    put(&is_log);
    let (code, text) = world.check(&[]);
    assert!(code == 2 && text.contains("which is more than the binary log has"), "{text}");
}

#[test]
fn indexes_are_made_anew_from_rows_and_lost_rows_are_told() {
    let world = World::without_old_log();
    let (code, text) = world.check(&["--json"]);
    assert_eq!(code, 0, "{text}");
    let tables = world.files("store", ".table");
    let large = tables.into_iter().filter(|file| std::fs::metadata(file).unwrap().len() > 50_000);
    let (mut lost, mut repaired) = (0, 0);
    for (table, at) in large.flat_map(|table| [(table.clone(), 30), (table, 45_000)]) {
        let sound = read(&table);
        flip(&table, at);
        let (code, text) = world.check(&[]);
        if code == 2 {
            lost += 1;
            assert!(text.contains("rows of table d.t"), "{text}");
            let (code, text) = world.repair(&[]);
            assert!(code == 2 && text.contains("refused: something would be lost"), "{text}");
            assert!(!world.target().exists());
            let (code, text) = world.repair(&["--accept-loss"]);
            assert!(code == 1 && text.contains("rows and index entries at the most"), "{text}");
            let server = world.start();
            let count: u32 = server.sql("select count(*) from d.t").trim().parse().unwrap();
            // What a lost block replaced comes to light again, and is reported.
            let whole = ROWS - ROWS / 50;
            assert!(
                (ROWS / 2..whole).contains(&count) || count == whole && text.contains("doubtful: "),
                "{text}"
            );
            let by_index = server.sql("select count(*) from d.t force index (a) where a >= 0");
            assert_eq!(by_index.trim(), count.to_string());
            is_well(&server);
            stop(server);
            let report = std::fs::read_to_string(world.target().join("repair-report.json")).unwrap();
            assert_eq!(json(&report, "r['repair']['lost_entries'] > 0, r['verdict']"), "True loss");
        } else {
            repaired += 1;
            assert!(code == 1 && text.contains("index "), "{text}");
            let text = world.is_repaired("no row is lost");
            assert!(text.contains("made anew from the rows: index "), "{text}");
        }
        std::fs::remove_dir_all(world.target()).unwrap();
        write(&table, &sound);
    }
    assert!(lost > 0 && repaired > 0, "{lost} {repaired}");
}

#[test]
fn tables_that_are_ahead_of_a_damaged_log_are_kept() {
    for world in [World::new(), World::without_old_log()] {
        let before = Server::start_in(&world.datadir, ARGS);
        before.sql("insert into d.u (id, e) values (3, 'x')");
        let (executed, rows) = (before.sql("select @@gtid_executed"), before.sql(QUERY));
        stop(before);
        let damaged = world.logs().pop().unwrap();
        flip(&damaged, std::fs::metadata(&damaged).unwrap().len() - 100);
        let (code, text) = world.check(&[]);
        assert!(code == 2 && text.contains("no row up to there is lost"), "{text}");
        assert_eq!(world.repair(&[]).0, 2);
        let (code, text) = world.repair(&["--accept-loss"]);
        assert!(
            code == 1
                && text.contains("the log begins anew")
                && !text.contains("transactions of the log, as"),
            "{text}"
        );
        let server = world.start();
        assert_eq!(server.sql(QUERY), rows);
        assert_eq!(
            server.sql("select @@gtid_executed, @@gtid_purged"),
            format!("{0}\t{0}\n", executed.trim())
        );
        assert!(!executed.contains(server.sql("select @@server_uuid").trim()));
        is_well(&server);
        let server = server.crash_and_restart(ARGS);
        assert_eq!(server.sql(QUERY), rows);
        stop(server);
    }
}

#[test]
fn a_log_that_is_damaged_behind_the_tables_is_cut_if_that_is_accepted() {
    let world = World::new();
    let server = Server::start_in(&world.datadir, ARGS);
    (100..130).for_each(|n| drop(server.sql(&format!("insert into d.w values ({n})"))));
    std::thread::sleep(Duration::from_millis(300));
    server.kill();
    drop(server);
    let damaged = world.logs().pop().unwrap();
    let name = damaged.file_name().unwrap().to_str().unwrap().to_owned();
    let bytes = read(&damaged);
    let row = bytes.windows(4).position(|bytes| bytes == [115, 0, 0, 0]).unwrap();
    flip(&damaged, row as u64);
    let (code, text) = world.check(&[]);
    assert!(code == 2 && text.contains(&name) && text.contains("DAMAGED WITH LOSS"), "{text}");
    assert!(text.contains("14 whole transactions lie behind the damage"), "{text}");
    assert!(world.repair(&[]).0 == 2 && !world.target().exists());
    let (code, text) = world.repair(&["--accept-loss", "--json"]);
    let text = text.lines().find(|line| line.starts_with('{')).unwrap();
    let repair =
        json(text, "r['repair']['lost_transactions'], r['repair']['new_server_uuid'], r['repair']['tables']");
    assert_eq!((code, repair.as_str()), (1, "15 True copied"));
    let lost = json(text, "r['repair']['lost_gtids']");
    let cut_off = read(&world.target().join(format!("{name}.cut")));
    assert!(read(&damaged).ends_with(&cut_off) && !cut_off.is_empty());
    let server = world.start();
    assert_eq!(server.sql("select count(*), max(id) from d.w").trim(), "16\t114");
    let executed = server.sql("select @@gtid_executed").trim().to_owned();
    assert_eq!(server.sql(&format!("select gtid_subtract('{lost}', '{executed}')")).trim(), lost);
    is_well(&server);
    assert!(!lost.contains(server.sql("select @@server_uuid").trim()));
    stop(server);
}

#[test]
fn damage_in_a_log_file_that_tables_have_costs_no_row() {
    let world = World::new();
    // A start does not read it.
    stop(Server::start_in(&world.datadir, ARGS));
    let logs = world.logs();
    flip(&logs[1], 5000);
    assert_eq!(world.check(&[]).0, 0, "what a start reads is sound");
    let (code, text) = world.check(&["--full"]);
    assert!(code == 2 && text.contains("the tables have all of it, so no row is lost"), "{text}");
    let (code, text) = world.repair(&["--accept-loss"]);
    assert!(code == 1 && text.contains("left out of the log: binlog.000001, binlog.000002"), "{text}");
    let server = world.start();
    assert_eq!(server.sql(QUERY), world.rows);
    is_well(&server);
    stop(server);
}

/// An older version wrote members of an ENUM with backslashes so that no start could read them.
fn break_record(world: &World) {
    records::change(&world.datadir, "d", "u", |record| {
        let at = record.windows(3).position(|bytes| bytes == b"'x'").unwrap();
        [&record[..at + 2], b"\\", &record[at + 2..]].concat()
    });
}

#[test]
fn a_table_whose_record_cannot_be_read_comes_back_from_the_log() {
    let world = World::new();
    break_record(&world);
    let (code, text) = world.check(&["--json"]);
    assert_eq!(
        (code, json(&text, "r['objects'][0]['name'], r['objects'][0]['state']")),
        (1, "table d.u set aside".into())
    );
    let server = Server::start_in(&world.datadir, ARGS);
    assert!(server.sql_error("select * from d.u").contains("1812"));
    stop(server);
    let text = world.is_repaired("table d.u is set aside");
    assert!(text.contains("made anew from the binary log"), "{text}");
}

#[test]
fn what_is_set_aside_is_kept_where_the_log_was_purged() {
    let world = World::without_old_log();
    break_record(&world);
    let (code, text) = world.check(&[]);
    assert!(code == 2 && text.contains("its record and rows are kept as they are"), "{text}");
    assert_eq!(world.repair(&[]).0, 2);
    let (code, text) = world.repair(&["--accept-loss"]);
    assert!(code == 1 && text.contains("still set aside: table d.u"), "{text}");
    let server = world.start();
    assert!(server.sql_error("select * from d.u").contains("1812"));
    assert_eq!(server.sql("select count(*) from d.w").trim(), "1");
    stop(server);
}

#[test]
fn what_a_crash_leaves_is_sound() {
    let world = World::new();
    let server = Server::start_in(&world.datadir, ARGS);
    server.sql("insert into d.w values (6), (7)");
    // The log notes down how far it was flushed, some milliseconds later.
    std::thread::sleep(Duration::from_millis(300));
    server.kill();
    drop(server);
    let (code, text) = world.check(&["--full"]);
    assert!(code == 0, "{text}");
    // Flushed, damaged, and the log says that it was flushed.
    let last = world.logs().pop().unwrap();
    let bytes = read(&last);
    let rows = bytes.windows(4).rposition(|bytes| bytes == [7, 0, 0, 0]).unwrap();
    flip(&last, rows as u64);
    let (code, text) = world.check(&[]);
    assert!(code == 2 && text.contains("the log was flushed up to"), "{text}");
    let (code, text) = world.repair(&["--accept-loss"]);
    assert!(code == 1 && text.contains("lost: ") && text.contains("new server_uuid"), "{text}");
    let server = world.start();
    assert_eq!(server.sql(QUERY), world.rows);
    is_well(&server);
    stop(server);
}

#[test]
fn a_missing_log_file_is_told_and_the_log_ends_in_front_of_it() {
    let world = World::new();
    let logs = world.logs();
    remove(&logs[1]);
    let (code, text) = world.check(&[]);
    assert!(code == 2 && text.contains("binlog.000002: this binary log file is missing"), "{text}");
    assert_eq!(world.repair(&[]).0, 2);
    let (code, text) = world.repair(&["--accept-loss"]);
    assert!(code == 1 && text.contains("left out of the log: binlog.000001;"), "{text}");
    let server = world.start();
    assert_eq!(server.sql(QUERY), world.rows);
    is_well(&server);
    stop(server);
    std::fs::remove_dir_all(world.target()).unwrap();
    // The one that the tables are in: the log begins anew after them.
    remove(&logs[2]);
    assert_eq!(world.check(&[]).0, 2);
    let (code, text) = world.repair(&["--accept-loss"]);
    assert!(code == 1 && text.contains("the log begins anew"), "{text}");
    let server = world.start();
    assert_eq!(server.sql(QUERY), world.rows);
    is_well(&server);
    stop(server);
}

/// A World whose server was killed: single rows 100, 101, .. in d.w, each a transaction, two in
/// each log file after the tables. Also what it had executed.
fn killed() -> (World, String) {
    let world = World::new();
    let server = Server::start_in(&world.datadir, ARGS);
    for n in (100..110).step_by(2) {
        server.sql(&format!(
            "insert into d.w values ({n}); insert into d.w values ({}); flush binary logs",
            n + 1
        ));
    }
    let executed = server.sql("select @@gtid_executed").trim().to_owned();
    std::thread::sleep(Duration::from_millis(300));
    server.kill();
    drop(server);
    (world, executed)
}

impl World {
    /// A repair that loses something, and the rows of d.w that are left of 100 and on. What it
    /// reports as lost is what the new directory does not have, of rows too.
    fn repair_reporting_loss(&self, inserted: usize, executed: &str) -> (String, Vec<u32>) {
        assert_eq!(self.check(&[]).0, 2);
        let (code, text) = self.repair(&["--accept-loss", "--json"]);
        assert_eq!(code, 1, "{text}");
        let report = text.lines().find(|line| line.starts_with('{')).unwrap();
        let lost = json(report, "r['repair']['lost_gtids']");
        let count: usize = json(report, "r['repair']['lost_transactions']").parse().unwrap();
        let server = self.start();
        let rows = server.sql("select id from d.w where id between 100 and 109 order by id");
        let rows: Vec<u32> = rows.split_whitespace().map(|id| id.parse().unwrap()).collect();
        let left = format!("select gtid_subtract('{executed}', @@gtid_executed)");
        assert_eq!(server.sql(&left).trim().replace("\\n", ""), lost, "{text}");
        assert!(count >= inserted - rows.len(), "{count} are told, {rows:?} are left: {text}");
        is_well(&server);
        stop(server);
        (report.to_owned(), rows)
    }
}

#[test]
fn a_damaged_header_of_the_first_log_file_costs_no_row() {
    let (world, executed) = killed();
    flip(&world.logs()[0], 150);
    let (report, rows) = world.repair_reporting_loss(10, &executed);
    assert_eq!(rows, (100..110).collect::<Vec<_>>(), "{report}");
    assert_eq!(
        json(&report, "r['repair']['lost_transactions'], r['repair']['log_files_left_out']"),
        "0 ['binlog.000001']"
    );
}

#[test]
fn a_damaged_header_behind_the_tables_is_told_with_all_that_is_lost() {
    let (world, executed) = killed();
    let logs = world.logs();
    let damaged = &logs[logs.len() - 4];
    flip(damaged, 150);
    let (report, rows) = world.repair_reporting_loss(10, &executed);
    assert_eq!(rows, (100..104).collect::<Vec<_>>(), "{report}");
    assert_eq!(json(&report, "r['repair']['lost_transactions']"), "6");
}

#[test]
fn a_log_file_that_ends_at_a_transaction_needs_no_cut() {
    let (world, executed) = killed();
    let logs = world.logs();
    let cut = &logs[logs.len() - 3];
    let bytes = read(cut);
    // Its first transaction alone.
    let gtid = |from: usize| {
        (from..bytes.len() - 19)
            .find(|&at| {
                bytes[at + 4] == 33
                    && bytes[at + 13..at + 17]
                        == u32::try_from(at + usize::from(bytes[at + 9])).unwrap().to_le_bytes()
            })
            .unwrap()
    };
    let second = gtid(gtid(4) + 1);
    write(cut, &bytes[..second]);
    let (report, rows) = world.repair_reporting_loss(10, &executed);
    assert_eq!(rows, (100..107).collect::<Vec<_>>(), "{report}");
}

/// Each says that what the other has came before it, or that nothing did.
#[test]
fn a_log_file_behind_a_gap_is_no_part_of_the_log() {
    let (world, executed) = killed();
    let logs = world.logs();
    let (one, other) = (&logs[logs.len() - 4], &logs[logs.len() - 3]);
    let (bytes, other_bytes) = (read(one), read(other));
    write(one, &other_bytes);
    write(other, &bytes);
    let (report, rows) = world.repair_reporting_loss(10, &executed);
    assert_eq!(rows, (100..104).collect::<Vec<_>>(), "{report}");
    assert_eq!(json(&report, "r['repair']['lost_transactions']"), "6");
}

/// The text of a statement, in the log file that it is in; its checksum is made right.
fn change_statement(file: &Path, old: &[u8], new: &[u8]) {
    let mut bytes = read(file);
    let at = bytes.windows(old.len()).position(|text| text == old).unwrap();
    bytes[at..at + old.len()].copy_from_slice(new);
    let is_event = |start: &usize| {
        let length = u32::from_le_bytes(bytes[start + 9..start + 13].try_into().unwrap()) as usize;
        let end = u32::from_le_bytes(bytes[start + 13..start + 17].try_into().unwrap()) as usize;
        bytes[start + 4] == 2 && end == start + length && end > at
    };
    let start = (4..at - 19).rev().find(is_event).unwrap();
    let end = u32::from_le_bytes(bytes[start + 13..start + 17].try_into().unwrap()) as usize;
    let crc = crc32fast::hash(&bytes[start..end - 4]);
    bytes[end - 4..end].copy_from_slice(&crc.to_le_bytes());
    write(file, &bytes);
}

#[test]
fn a_statement_that_stops_a_start_is_told_and_cut_off() {
    let (world, _) = killed();
    let server = Server::start_in(&world.datadir, ARGS);
    server.sql("insert into d.w values (300); create database other; insert into d.w values (301)");
    let executed = server.sql("select @@gtid_executed").trim().to_owned();
    std::thread::sleep(Duration::from_millis(300));
    server.kill();
    drop(server);
    let last = world.logs().pop().unwrap();
    change_statement(&last, b"create database other", b"create databaxe other");
    let name = last.file_name().unwrap().to_str().unwrap();
    let (code, text) = world.check(&[]);
    assert!(code == 2 && text.contains(name) && text.contains("create databaxe other"), "{code}: {text}");
    let (report, rows) = world.repair_reporting_loss(10, &executed);
    assert_eq!(
        (rows.len(), json(&report, "r['repair']['lost_transactions']")),
        (10, "2".to_owned()),
        "{report}"
    );
    let server = world.start();
    assert_eq!(server.sql("select count(*), max(id) from d.w where id >= 300").trim(), "1\t300");
    stop(server);
}

#[test]
fn what_a_start_will_set_aside_is_told() {
    let world = World::new();
    let server = Server::start_in(&world.datadir, ARGS);
    server.sql("create table d.v (id int primary key)");
    std::thread::sleep(Duration::from_millis(300));
    server.kill();
    drop(server);
    change_statement(&world.logs().pop().unwrap(), b"v (id int primary", b"v (id iny primary");
    let (code, text) = world.check(&[]);
    println!("{text}");
    assert!(
        code == 2 && (text.contains("will set table d.v aside") || text.contains("iny primary")),
        "{code}: {text}"
    );
    assert_eq!(world.repair(&["--accept-loss"]).0, 1);
    stop(world.start());
}

#[test]
fn a_log_without_the_file_that_the_tables_are_in_begins_anew_behind_them() {
    let (world, executed) = killed();
    for (i, gone) in world.logs().iter().enumerate().take(5) {
        remove(gone);
        if i < 3 {
            continue;
        }
        let (report, rows) = world.repair_reporting_loss(10, &executed);
        assert!(rows.is_empty(), "{report}");
        assert_eq!(json(&report, "r['repair']['log_begins_anew'], r['repair']['tables']"), "True copied");
        let server = world.start();
        assert_eq!(server.sql(QUERY), world.rows);
        stop(server);
        std::fs::remove_dir_all(world.target()).unwrap();
    }
}

/// Resets the log of the world's server, inserts rows into d.w, one log file each, and kills the
/// server. Returns the log files of before the reset, and what was executed since.
fn killed_after_reset(world: &World, rows: std::ops::Range<u32>) -> (Vec<(PathBuf, Vec<u8>)>, String) {
    let old = world.logs().iter().map(|file| (file.clone(), read(file))).collect();
    let server = Server::start_in(&world.datadir, ARGS);
    server.sql("delete from d.w where id between 100 and 109; reset binary logs and gtids");
    for n in rows {
        server.sql(&format!("insert into d.w values ({n}); flush binary logs"));
    }
    let executed = server.sql("select @@gtid_executed").trim().to_owned();
    std::thread::sleep(Duration::from_millis(300));
    server.kill();
    (old, executed)
}

#[test]
fn log_files_of_before_a_reset_are_told_apart() {
    let (world, _) = killed();
    let (old, executed) = killed_after_reset(&world, 100..104);
    assert_eq!(world.logs().len(), 5);
    // With a gap between them.
    old.iter().skip(6).for_each(|(path, bytes)| write(path, bytes));
    let (code, text) = world.check(&[]);
    assert!(code == 2 && text.contains("binlog.000009 are of the log before RESET"), "{code}: {text}");
    assert!(!text.contains("is missing"), "{text}");
    let (report, rows) = world.repair_reporting_loss(4, &executed);
    assert_eq!(
        (rows.len(), json(&report, "r['repair']['lost_transactions']")),
        (4, "0".to_owned()),
        "{report}"
    );
}

/// Two copies of a directory went on apart, by statements of the same length, and the tables of one
/// came to the other. A file of before a reset in the place of one that the log had, and a gap
/// after it: what was in that file is lost.
#[test]
fn log_files_of_before_a_reset_in_the_place_of_others_are_a_loss() {
    let (world, _) = killed();
    let (old, _) = killed_after_reset(&world, 100..103);
    assert_eq!(world.logs().len(), 4);
    for at in [3, 5] {
        write(&old[at].0, &old[at].1);
    }
    let (code, text) = world.check(&[]);
    assert!(code == 2 && text.contains("binlog.000004 lie where files of the log were"), "{code}: {text}");
    let (code, text) = world.repair(&["--accept-loss", "--json"]);
    let report = text.lines().find(|line| line.starts_with('{')).unwrap();
    assert_eq!((code, &*json(report, "r['repair']['new_server_uuid']")), (1, "True"), "{text}");
}

#[test]
fn nothing_is_made_in_the_damaged_directory() {
    let world = World::new();
    let before = content(world.path());
    let link = world.folder.path().join("link");
    std::os::unix::fs::symlink(world.path(), &link).unwrap();
    for into in
        [world.path().join("new"), world.path().join("store/x/y"), world.path().to_owned(), link.join("new")]
    {
        let datadir = format!("--datadir={}", world.path().display());
        let (status, _, error) = run(&["repair", &datadir, &format!("--into={}", into.display()), "--force"]);
        assert!(!status.success() && error.contains("is in the data directory"), "{error}");
    }
    assert_same_content(&before, &content(world.path()));
}

#[test]
fn tables_of_another_log_are_told_and_made_anew_from_the_log_that_is_there() {
    let world = World::new();
    let other = Arc::new(tempfile::tempdir().unwrap());
    let copy = |from: &Path, to: &Path| {
        assert!(Command::new("cp").arg("-a").arg(from).arg(to).status().unwrap().success());
    };
    copy(&world.path().join("."), other.path());
    for (datadir, id) in [(&world.datadir, 6), (&other, 7)] {
        let server = Server::start_in(datadir, ARGS);
        server.sql(&format!("insert into d.w values ({id})"));
        stop(server);
    }
    std::fs::remove_dir_all(world.path().join("store")).unwrap();
    copy(&other.path().join("store"), world.path());
    let (code, text) = world.check(&[]);
    assert!(code == 2 && text.contains("other transactions than the tables were made of"), "{code}: {text}");
    assert_eq!(world.repair(&[]).0, 2);
    let (code, text) = world.repair(&["--accept-loss"]);
    assert!(code == 1 && text.contains("made anew from the binary log"), "{code}: {text}");
    let server = world.start();
    assert_eq!(
        server.sql("select id from d.w order by id").split_whitespace().collect::<Vec<_>>(),
        ["5", "6"]
    );
    is_well(&server);
    stop(server);
}

/// Tables and log are damaged: what is left of the log is more than nothing.
#[test]
fn damaged_tables_and_a_damaged_log_give_what_the_log_has_in_front() {
    let world = World::new();
    flip(&world.table(), 3000);
    flip(&world.logs()[1], 5000);
    let (code, text) = world.check(&[]);
    assert!(code == 2 && text.contains("binlog.000002") && text.contains(".table: at"), "{text}");
    assert_eq!(world.repair(&[]).0, 2);
    let (code, text) = world.repair(&["--accept-loss"]);
    assert_eq!(code, 1, "{text}");
    let server = world.start();
    is_well(&server);
    stop(server);
}

/// Bits and ends of any file: what `check` calls sound or repairable is repaired to the row;
/// nothing panics, and whatever is made starts. `DURAMEN_REPAIR_TRIALS` and `DURAMEN_REPAIR_SEED`
/// draw more.
#[test]
fn any_damage_is_repaired_or_told() {
    let number = |name: &str, or: u64| std::env::var(name).map_or(or, |text| text.parse().unwrap());
    let mut random = stdx::random::Random::new(number("DURAMEN_REPAIR_SEED", 1));
    let worlds = [World::new(), World::without_old_log()];
    let mut outcomes = BTreeMap::new();
    for trial in 0..number("DURAMEN_REPAIR_TRIALS", 12) {
        let world = &worlds[(trial % 2) as usize];
        let files: Vec<(PathBuf, Vec<u8>)> =
            content(world.path()).into_iter().filter(|(_, bytes)| !bytes.is_empty()).collect();
        let (path, sound) = &files[random.below(files.len() as u64) as usize];
        let mut bytes = sound.clone();
        let at = random.below(bytes.len() as u64) as usize;
        let kind = random.below(4);
        match kind {
            0 => bytes.truncate(at),
            1 => bytes[at..(at + 600).min(sound.len())].fill(0),
            _ => bytes[at] ^= 1 << random.below(8),
        }
        write(path, &bytes);
        let what = format!("trial {trial}: kind {kind} at {at} of {} in {}", sound.len(), path.display());
        let (checked, text) = world.check(&["--full"]);
        assert!((0..=2).contains(&checked), "{what}: {checked}: {text}");
        let (repaired, text) = world.repair(&["--accept-loss", "--force"]);
        println!("{what}: check {checked}, repair {repaired}");
        *outcomes.entry((checked, repaired)).or_insert(0) += 1;
        assert!((0..=3).contains(&repaired) && !text.contains("panicked"), "{what}: {repaired}: {text}");
        assert!(checked == 2 || repaired == 0, "{what}: {checked} {repaired}: {text}");
        if repaired < 2 {
            let server = world.start();
            if checked < 2 {
                assert_eq!(server.sql(QUERY), world.rows, "{what}: {text}");
            }
            is_well(&server);
            stop(server);
            std::fs::remove_dir_all(world.target()).unwrap();
        } else {
            println!("{what}: {text}");
        }
        write(path, sound);
    }
    println!("check and repair said: {outcomes:?}");
}

/// A byte behind a file's last event is no part of the log; a start goes on, and so must a repair
/// of something else.
#[test]
fn bytes_behind_closed_log_files_do_not_stop_a_repair() {
    let world = World::new();
    let logs = world.logs();
    for log in &logs {
        write(log, &[read(log), b"x".to_vec()].concat());
    }
    let (code, text) = world.check(&["--full"]);
    assert_eq!(code, 0, "{text}");
    flip(&world.table(), 100);
    world.is_repaired("of a block of rows or keys");
}

#[test]
fn a_copy_of_the_last_log_file_is_told_and_omitted() {
    let world = World::new();
    let last = world.logs().pop().unwrap();
    let number: u32 = last.extension().unwrap().to_str().unwrap().parse().unwrap();
    let copy = last.with_extension(format!("{:06}", number + 1));
    write(&copy, &read(&last));
    let (code, text) = world.check(&[]);
    let name = last.file_name().unwrap().to_str().unwrap();
    assert!(code == 2 && text.contains(&format!("which are in {name}")), "{code}: {text}");
    let (status, out, errors) = run(&["serve", &format!("--datadir={}", world.path().display())]);
    assert!(!status.success() && errors.contains(&format!("which are in {name}")), "{out}{errors}");
    let (code, text) = world.repair(&["--accept-loss"]);
    assert_eq!(code, 1, "{text}");
    let server = world.start();
    assert_eq!(server.sql(QUERY), world.rows, "{text}");
    is_well(&server);
    stop(server);
}

#[test]
fn a_directory_without_its_database_is_not_begun_anew() {
    let world = World::new();
    for path in
        world.files("", "").iter().filter(|p| p.file_name().unwrap().to_str().unwrap().starts_with("binlog."))
    {
        remove(path);
    }
    std::fs::remove_dir_all(world.path().join("store")).unwrap();
    let before = content(world.path());
    let (status, _, errors) = run(&["serve", &format!("--datadir={}", world.path().display())]);
    assert!(!status.success() && errors.contains("remove auto.cnf"), "{errors}");
    assert_same_content(&before, &content(world.path()));
    let (code, text) = world.check(&[]);
    assert!(code == 3 && text.contains("had a database"), "{code}: {text}");
}

/// Where newest versions of rows are lost, older ones come to light, and the log behind them is
/// done on these. It took entries out of the indexes that were not those of the older rows.
#[test]
fn indexes_agree_with_rows_whatever_was_lost() {
    let world = World::without_old_log();
    let old = world.files("store", ".table");
    let server = Server::start_in(&world.datadir, ARGS);
    server.sql("update d.t set a = a + 1000 where id % 3 > 0");
    stop(server);
    let server = Server::start_in(&world.datadir, ARGS);
    server.sql("update d.t set a = a + 1 where id % 6 = 1; delete from d.t where id % 6 = 2");
    server.kill();
    drop(server);
    let mut with_loss = 0;
    for table in world.files("store", ".table").iter().filter(|table| !old.contains(table)) {
        let whole = read(table);
        (100..filter_of(table)).step_by(1000).for_each(|at| flip(table, at));
        let (code, text) = world.repair(&["--accept-loss"]);
        write(table, &whole);
        if !world.target().exists() {
            println!("{code}: {text}");
            continue;
        }
        with_loss += usize::from(code == 1);
        let server = world.start();
        let checked = server.sql("check table d.t, d.u, d.w");
        assert_eq!(checked.matches("status\tOK").count(), 3, "{checked}{text}");
        stop(server);
        std::fs::remove_dir_all(world.target()).unwrap();
    }
    assert!(with_loss > 0);
}
