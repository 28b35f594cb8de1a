//! Encryption at rest: nothing of a row is in clear on the disk, everything that reads files reads
//! them with the key, and nothing is changed without it.
// The disk is a real one: what is on it is read past the server.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

mod common;

use common::shop::{SMALL, assert_same, at_work, dump, make_tables, start_on};
use common::{Server, run};
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

/// A data directory, and a key file that is elsewhere.
struct Scene {
    datadir: Arc<TempDir>,
    folder: TempDir,
}

impl Scene {
    fn new() -> Self {
        let scene =
            Self { datadir: Arc::new(tempfile::tempdir().unwrap()), folder: tempfile::tempdir().unwrap() };
        scene.write_keys(&["11".repeat(32)]);
        scene
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write_keys(&self, keys: &[String]) {
        let path = self.path("keys");
        std::fs::write(&path, keys.join("\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    }

    fn keys(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.path("keys")).unwrap();
        text.lines().map(str::to_owned).collect()
    }

    fn key_option(&self) -> String {
        format!("--duramen-master-key-file={}", self.path("keys").display())
    }

    /// For the commands that read files.
    fn tool_option(&self) -> String {
        format!("--master-key-file={}", self.path("keys").display())
    }

    fn start(&self, args: &[&str]) -> Server {
        Server::start_in(&self.datadir, &[SMALL, args].concat())
    }

    fn start_encrypted(&self) -> Server {
        self.start(&[&self.key_option(), "--duramen-table-encryption=ON", "--binlog-encryption=ON"])
    }

    fn datadir_option(&self) -> String {
        format!("--datadir={}", self.datadir.path().display())
    }
}

fn content(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            found.extend(content(&entry));
        } else if entry.is_file()
            && let Ok(bytes) = std::fs::read(&entry)
        {
            // What is neither is the server's socket, or went meanwhile.
            found.insert(entry, bytes);
        }
    }
    found
}

/// Files that have these bytes.
fn files_with(folder: &Path, bytes: &str) -> Vec<PathBuf> {
    let holds = |content: &[u8]| content.windows(bytes.len()).any(|window| window == bytes.as_bytes());
    content(folder).into_iter().filter(|(_, content)| holds(content)).map(|(path, _)| path).collect()
}

fn make_secrets(server: &Server) {
    server.sql(
        "create database d; use d; create table t (id int primary key auto_increment, k varchar(60), s text, \
         key (k)); insert into t (k, s) values (concat('kelvin', uuid()), repeat('mysecret', 40)); \
         set session sort_buffer_size = 32768",
    );
    for _ in 0..12 {
        server.sql("insert into d.t (k, s) select concat('kelvin', uuid()), s from d.t");
    }
}

#[test]
fn no_row_is_on_the_disk_in_clear() {
    let scene = Scene::new();
    let server = scene.start_encrypted();
    make_secrets(&server);
    // In files of a large transaction, of a temporary table, and of a sort, while they are there.
    let mut client = server.connect();
    client.query("set session sort_buffer_size = 32768").unwrap();
    client.query("create temporary table d.own as select * from d.t").unwrap();
    client.query("begin").unwrap();
    client.query("update d.t set s = concat(s, 'x')").unwrap();
    server.sql(
        "set session sort_buffer_size = 32768; select count(*) from (select s from d.t order by s, k) x",
    );
    for word in ["mysecret", "kelvin"] {
        assert_eq!(files_with(scene.datadir.path(), word), Vec::<PathBuf>::new());
    }
    client.query("commit").unwrap();
    let rows = server.sql("select count(*), sum(crc32(s)) from d.t");
    assert!(rows.starts_with("4096\t"), "{rows}");

    // The log is served in clear, and says that its files are not.
    let logs = server.sql("show binary logs");
    assert!(logs.lines().count() > 2 && logs.lines().all(|line| line.ends_with("\tYes")), "{logs}");
    let last = logs.lines().last().unwrap().split('\t').next().unwrap();
    assert!(server.sql(&format!("show binlog events in '{last}'")).contains("Gtid"));
    let host = format!("--server=127.0.0.1:{}", server.port);
    let (status, text, errors) = run(&["binlog", "print", "-v", &host, "--user=root"]);
    assert!(status.success() && text.contains("mysecret"), "{errors}");
    let encrypted = "select distinct encryption from information_schema.innodb_tablespaces";
    assert_eq!(server.sql(encrypted), "Y\n");

    let server = server.crash_and_restart(&[
        &scene.key_option(),
        "--duramen-table-encryption=ON",
        "--binlog-encryption=ON",
    ]);
    assert_eq!(server.sql("select count(*), sum(crc32(s)) from d.t"), rows);
    let (status, messages) = server.terminate();
    assert!(status.success(), "{messages:#?}");
    for word in ["mysecret", "kelvin"] {
        assert_eq!(files_with(scene.datadir.path(), word), Vec::<PathBuf>::new());
    }
    let server = scene.start_encrypted();
    assert_eq!(server.sql("select count(*), sum(crc32(s)) from d.t"), rows);
    assert_eq!(server.sql("check table d.t").matches("OK").count(), 1);
}

#[test]
fn without_the_key_nothing_starts_and_nothing_changes() {
    let scene = Scene::new();
    let server = scene.start_encrypted();
    make_secrets(&server);
    assert!(server.terminate().0.success());
    let before = content(scene.datadir.path());
    let datadir = scene.datadir_option();
    let serve = |more: &[&str]| {
        let (status, _, errors) = run(&[&["serve", "--port=0", &datadir], more].concat());
        assert!(!status.success(), "{errors}");
        errors
    };
    let errors = serve(&[]);
    assert!(
        errors.contains("is encrypted, and no key file was given") && errors.contains("binlog.0"),
        "{errors}"
    );
    let errors = serve(&["--binlog-encryption=ON"]);
    assert!(errors.contains("binlog_encryption is ON, and there is no key"), "{errors}");
    for command in [
        &["check"][..],
        &["repair", "--into=/nonexistent/x"],
        &["upgrade-check"],
        &["backup", "--to=/nonexistent/b"],
    ] {
        let (status, out, errors) = run(&[command, &[&datadir]].concat());
        assert_eq!(status.code(), Some(3), "{command:?}: {out} {errors}");
        assert!(errors.contains("is encrypted, and no key file was given"), "{command:?}: {errors}");
    }
    let path = scene.datadir.path().display().to_string();
    let (status, _, errors) = run(&["binlog", "print", &path]);
    assert!(
        status.code() == Some(2) && errors.contains("is encrypted, and no key file was given"),
        "{errors}"
    );

    scene.write_keys(&["22".repeat(32)]);
    let errors = serve(&[&scene.key_option()]);
    assert!(errors.contains("which is not in the key file"), "{errors}");
    let (status, _, errors) = run(&["check", &datadir, &scene.tool_option()]);
    assert!(status.code() == Some(3) && errors.contains("which is not in the key file"), "{errors}");
    scene.write_keys(&["2".into()]);
    let errors = serve(&[&scene.key_option()]);
    assert!(errors.contains("has no 64 hexadecimal digits in line 1"), "{errors}");
    scene.write_keys(&["11".repeat(32)]);
    std::fs::set_permissions(scene.path("keys"), std::fs::Permissions::from_mode(0o644)).unwrap();
    let errors = serve(&[&scene.key_option()]);
    assert!(errors.contains("open to all users"), "{errors}");
    assert!(before == content(scene.datadir.path()), "something was changed");
    std::fs::set_permissions(scene.path("keys"), std::fs::Permissions::from_mode(0o600)).unwrap();

    let errors = serve(&["--duramen-master-key-file=keys"]);
    assert!(errors.contains("inside the data directory"), "{errors}");

    for args in [&["check", "--full"][..], &["upgrade-check"]] {
        let (status, out, errors) = run(&[args, &[&datadir, &scene.tool_option()]].concat());
        assert_eq!(status.code(), Some(0), "{args:?}: {out} {errors}");
    }
    let (status, text, errors) = run(&["binlog", "print", "-v", &path, &scene.tool_option()]);
    assert!(status.success() && text.contains("mysecret"), "{errors}");
    let (status, _, errors) = run(&["binlog", "verify", &path, &scene.tool_option()]);
    assert!(status.success(), "{errors}");
    assert_eq!(scene.start_encrypted().sql("select count(*) from d.t"), "4096\n");
}

#[test]
fn it_is_switched_on_and_off() {
    let scene = Scene::new();
    let server = scene.start(&[]);
    make_tables(&server);
    at_work(&server, Duration::from_millis(500));
    assert!(server.sql_error("set global binlog_encryption = on").contains("3794"));
    assert!(server.sql_error("alter instance rotate innodb master key").contains("3185"));
    assert!(server.sql_error("alter instance rotate binlog master key").contains("3805"));
    assert!(server.sql_error("alter instance rotate other master key").contains("1064"));
    let plain = dump(&server);
    assert!(server.terminate().0.success());

    let server = scene.start_encrypted();
    assert_same("switched on", &dump(&server), &plain);
    let logs = server.sql("show binary logs");
    assert!(logs.contains("\tNo\n") && logs.ends_with("\tYes\n"), "{logs}");
    at_work(&server, Duration::from_millis(500));
    // Each way a new file begins, also where files were made ahead.
    server.sql("set global binlog_encryption = off");
    assert!(server.sql("show binary logs").ends_with("\tNo\n"));
    at_work(&server, Duration::from_millis(300));
    assert!(server.sql("show binary logs").ends_with("\tNo\n"));
    server.sql("set global binlog_encryption = on");
    at_work(&server, Duration::from_millis(300));
    assert!(server.sql("show binary logs").ends_with("\tYes\n"));
    let mixed = dump(&server);
    let server = server.crash_and_restart(&[&scene.key_option()]);
    assert_same("switched off", &dump(&server), &mixed);
    assert!(server.sql("show binary logs").ends_with("\tNo\n"));
    assert_eq!(server.sql("select distinct encryption from information_schema.innodb_tablespaces"), "N\n");
    at_work(&server, Duration::from_millis(300));
    assert_eq!(server.sql("check table shop.orders, shop.totals, shop.no_key").matches("OK").count(), 3);
}

#[test]
fn the_master_key_is_rotated_without_writing_rows() {
    let scene = Scene::new();
    let server = scene.start_encrypted();
    make_tables(&server);
    at_work(&server, Duration::from_millis(500));
    let first = scene.keys();
    server.sql("alter instance rotate innodb master key");
    let second = scene.keys();
    assert_eq!((&second[..1], second.len()), (&first[..], 2));
    let mode = std::fs::metadata(scene.path("keys")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    // The other one takes the key that is there.
    server.sql("alter instance rotate binlog master key");
    assert_eq!(scene.keys(), second);
    assert_eq!(server.sql("show global status like 'com_alter_instance'"), "Com_alter_instance\t2\n");
    at_work(&server, Duration::from_millis(300));
    let rows = dump(&server);
    let (status, messages) = server.terminate();
    assert!(status.success() && messages.iter().any(|m| m.contains("the master key was rotated")));
    scene.write_keys(&second[1..]);
    let server = scene.start_encrypted();
    assert_same("the new key alone", &dump(&server), &rows);
    server.sql("create user weak; grant reload on *.* to weak");
    let refused = server.client("mariadb", &["--user=weak", "-e", "alter instance rotate innodb master key"]);
    let errors = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(errors.contains("1227") && errors.contains("SUPER or ENCRYPTION_KEY_ADMIN"), "{errors}");
}

#[test]
fn backups_repairs_and_replays_read_with_the_key() {
    let scene = Scene::new();
    let server = scene.start_encrypted();
    make_tables(&server);
    at_work(&server, Duration::from_millis(600));
    let (datadir, key) = (scene.datadir_option(), scene.tool_option());
    let repository = scene.path("repository").display().to_string();
    let well = |args: &[&str]| {
        let (status, out, errors) = run(args);
        assert!(status.success(), "{args:?}: {out} {errors}");
        out
    };
    well(&["backup", &datadir, &format!("--to={repository}"), &key]);
    // What is written after a rotation is read with the new key, and the rest with the old one.
    server.sql("alter instance rotate innodb master key; alter instance rotate binlog master key");
    at_work(&server, Duration::from_millis(300));
    // Backups are named by the second.
    std::thread::sleep(Duration::from_millis(1100));
    well(&["backup", &datadir, &format!("--to={repository}"), &key]);
    let rows = dump(&server);
    at_work(&server, Duration::from_millis(300));
    let later = dump(&server);
    assert!(server.terminate().0.success());

    let from = format!("--from={repository}");
    well(&["backup", "verify", &from]);
    let (clear, again) = (scene.path("clear"), scene.path("again"));
    well(&["restore", &from, &format!("--datadir={}", clear.display())]);
    assert_same("in clear", &dump(&start_on(&clear)), &rows);
    well(&["restore", &from, &format!("--datadir={}", again.display()), &key]);
    let (status, _, errors) = run(&["check", &format!("--datadir={}", again.display())]);
    assert!(status.code() == Some(3) && errors.contains("is encrypted"), "{errors}");
    well(&["check", &format!("--datadir={}", again.display()), &key]);

    let repaired = scene.path("repaired");
    well(&["repair", "--force", &datadir, &format!("--into={}", repaired.display()), &key]);
    assert!(run(&["check", &format!("--datadir={}", repaired.display())]).2.contains("is encrypted"));
    for (name, path, expected) in [("restored", &again, &rows), ("repaired", &repaired, &later)] {
        let folder = Arc::new(TempDir::with_prefix("encrypted").unwrap());
        std::fs::remove_dir(folder.path()).unwrap();
        std::os::unix::fs::symlink(path, folder.path()).unwrap();
        let server = Server::start_in(&folder, &[&scene.key_option()]);
        assert_same(name, &dump(&server), expected);
    }
}
