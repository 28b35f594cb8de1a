//! `duramen binlog` on files of MySQL, MariaDB and a real server of ours, and on what is damaged.
//!
//! Expected texts are in `tests/binlog_tool/`; `DURAMEN_UPDATE_TEXTS=1` writes them anew, to
//! be read before they are committed.
#![allow(clippy::unwrap_used)]

mod common;

use common::{DURAMEN, Server, start};
use env::{Env, OpenMode, RealEnv};
use servers::{Launch, ServerKind};
use std::path::{Path, PathBuf};
use std::process::Command;
use stdx::random::Random;

/// Runs `duramen binlog`: exit code, output, errors.
fn tool(args: &[&str]) -> (i32, String, String) {
    let all: Vec<&str> = ["binlog"].into_iter().chain(args.iter().copied()).collect();
    let done = Command::new(DURAMEN).args(all).output().unwrap();
    // Rows are printed as they are, whatever their character set.
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (done.status.code().expect("it ends by itself"), text(done.stdout), text(done.stderr))
}

/// Its output, of a run without complaints.
fn output(args: &[&str]) -> String {
    let (code, out, errors) = tool(args);
    assert_eq!((code, errors.as_str()), (0, ""), "{args:?}: {out}");
    out
}

/// A log recorded from another server.
fn golden(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../binlog/tests/golden").join(name).join("binlog");
    path.to_str().unwrap().to_owned()
}

const GOLDEN: [&str; 5] =
    ["mysql97-full", "mysql97-minimal", "mysql97-zstd", "mariadb118", "mariadb1011-comp"];

/// Compares with the expected text.
fn check_text(name: &str, found: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/binlog_tool").join(name);
    if std::env::var_os("DURAMEN_UPDATE_TEXTS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        write(&path, found.as_bytes());
    }
    let expected = std::fs::read_to_string(&path).unwrap();
    assert!(expected == found, "{name} is no longer what is printed");
}

fn write(path: &Path, bytes: &[u8]) {
    let file = RealEnv.open(path, OpenMode::Create).unwrap();
    file.set_len(0).unwrap();
    file.write_at(bytes, 0).unwrap();
}

/// Writes a file into a folder of the test's.
fn put(folder: &tempfile::TempDir, name: &str, bytes: &[u8]) -> String {
    let path = folder.path().join(name);
    write(&path, bytes);
    path.to_str().unwrap().to_owned()
}

fn bytes_of(path: &str) -> Vec<u8> {
    RealEnv.read_file(Path::new(path)).unwrap()
}

#[test]
fn recorded_logs_are_sound_and_printed_whole() {
    for name in GOLDEN {
        let file = golden(name);
        let verdict = output(&["verify", &file]);
        assert!(verdict.contains("51 transactions, closed by Rotate: sound"), "{name}: {verdict}");
        // Every row is printed in either form.
        let text = output(&["print", "-v", &file]);
        let json = output(&["print", "--json", &file]);
        let rows = text
            .lines()
            .filter(|l| ["### INSERT", "### UPDATE", "### DELETE"].iter().any(|v| l.starts_with(v)));
        let objects = json.matches("{\"after\":").count() + json.matches("{\"before\":").count();
        assert_eq!(rows.count(), objects, "{name}");
        // The header lines alone without -v.
        assert!(!output(&["print", &file]).contains("###"));
    }
}

#[test]
fn texts_are_as_they_were() {
    let full = golden("mysql97-full");
    check_text("print-v.txt", &output(&["print", "-v", "--stop-position=4656", &full]));
    check_text("print-vv.txt", &output(&["print", "-vv", "-j", "3635", "--stop-position=4656", &full]));
    check_text("print.json", &output(&["print", "--json", "--stop-position=4656", &full]));
    let range = ["--start-position=226836", "--stop-position=232000"];
    check_text(
        "print-zstd.json",
        &output(&["print", "--json", "--stop-position=2300", &golden("mysql97-zstd")]),
    );
    check_text(
        "print-partial.json",
        &output(&["print", "--json", range[0], range[1], &golden("mysql97-minimal")]),
    );
    check_text(
        "print-mariadb.json",
        &output(&["print", "--json", "--stop-position=4000", &golden("mariadb118")]),
    );
    for name in ["mysql97-full", "mysql97-zstd", "mariadb1011-comp"] {
        check_text(&format!("stats-{name}.txt"), &output(&["stats", &golden(name)]));
    }
    check_text(
        "help.txt",
        &["", "print", "verify", "stats", "find", "cut", "rewrite", "replay"]
            .map(|c| output(&["help", c]))
            .concat(),
    );
}

#[test]
fn events_are_selected() {
    let file = golden("mysql97-full");
    let uuid = "ffbc9079-e54d-11f1-b5eb-02fc00000001";
    let gtids = |text: &str| text.matches("GTID_NEXT= 'ffbc").count();
    assert_eq!(gtids(&output(&["print", &file])), 51);
    assert_eq!(gtids(&output(&["print", "--include-gtids", &format!("{uuid}:6-8:1000"), &file])), 3);
    assert_eq!(gtids(&output(&["print", "--exclude-gtids", &format!("{uuid}:6-8"), &file])), 48);
    let none = output(&["print", "-v", "--database=nobody", &file]);
    assert!(!none.contains("###") && !none.contains("CREATE TABLE"));
    assert_eq!(gtids(&output(&["print", "--stop-datetime=2026-11-21 01:51:03", &file])), 0);
    assert_eq!(
        gtids(&output(&["print", "--start-datetime=2026-11-21", "--stop-datetime=2026-11-22", &file])),
        51
    );
    // Standard input.
    let script = "exec \"$0\" binlog print -v - < \"$1\"";
    let piped = Command::new("sh").args(["-c", script, DURAMEN, &file]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&piped.stdout), output(&["print", "-v", &file]));
}

#[test]
fn mistakes_are_told_with_a_way_out() {
    for (args, expected) in [
        (&["prnt"][..], "did you mean 'print'?"),
        (&["print"], "which files?"),
        (&["print", "--base64-output=auto", "x"], "duramen binlog replay"),
        (&["print", "/nowhere/binlog.000001"], "can't open '/nowhere/binlog.000001'"),
        (&["print", "/bin/sh"], "no binary log file"),
        (&[], "a command is missing"),
    ] {
        let (code, out, errors) = tool(args);
        assert_eq!((code, out.as_str()), (2, ""), "{args:?}");
        assert!(errors.contains(expected), "{args:?}: {errors}");
    }
}

#[test]
fn ends_are_told_as_what_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let whole = bytes_of(&golden("mysql97-full"));
    let check = |bytes: &[u8], code: i32, expected: &str| {
        let file = put(&folder, "binlog.000001", bytes);
        let (found, out, errors) = tool(&["verify", &file]);
        assert_eq!(found, code, "{out} {errors}");
        assert!(out.contains(expected) || errors.contains(expected), "{expected}: {out} {errors}");
    };
    check(&whole, 0, "closed by Rotate: sound");
    check(&whole[..3], 2, "does not begin with");
    check(&whole[..4], 1, "no format description");
    // Between two transactions, inside one, inside an event; then zeros after each.
    check(&whole[..815], 0, "2 transactions, not closed: sound");
    check(
        &whole[..969],
        1,
        "at 969: the file ends inside a transaction; whole up to 815 (the file counts as closed)",
    );
    check(&whole[..1000], 1, "at 969: event is truncated; whole up to 815");
    let zeros = |n: usize| [&whole[..n], &[0; 5000]].concat();
    check(&zeros(815), 1, "at 815: zeros up to the end; the file counts as closed");
    check(&[&zeros(815)[..], &[1]].concat(), 1, "no event, and 5001 bytes behind it");
    let in_use = |n: usize| {
        let mut bytes = zeros(n);
        bytes[21] |= 1;
        bytes
    };
    check(&in_use(815), 0, "at 815: zeros up to the end, space made ahead");
    check(&in_use(969), 1, "the file ends inside a transaction; whole up to 815 (the file was not closed");
}

/// Any change of a byte is found, and nothing panics. The bytes of MariaDB's files are changed too.
/// It said "sound" of a file whose transactions a start had cut off.
#[test]
fn damage_in_the_middle_and_what_was_cut_off_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let mut bytes = bytes_of(&golden("mysql97-full"));
    put(&folder, "binlog.000001.cut", &bytes[815..900]);
    put(&folder, "binlog.000001.cut-2", &bytes[815..901]);
    let file = put(&folder, "binlog.000001", &bytes[..815]);
    let out = output(&["verify", &file]);
    assert!(out.contains("at 815: a start of the server cut 85 bytes off here, which are kept in"), "{out}");
    assert!(out.contains("cut 86 bytes off") && out.contains("binlog.000001.cut-2"), "{out}");
    bytes[900] ^= 1;
    let file = put(&folder, "binlog.000002", &bytes);
    let (code, out, _) = tool(&["verify", &file]);
    assert_eq!(code, 1, "{out}");
    assert!(out.contains("whole transactions lie behind it, up to ") && out.contains("damage"), "{out}");
}

#[test]
fn damage_is_found_wherever_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let seed = std::env::var("DURAMEN_SEED").map_or(7, |s| s.parse().unwrap());
    let mut random = Random::new(seed);
    for name in GOLDEN {
        let whole = bytes_of(&golden(name));
        for round in 0..12 {
            let mut bytes = whole.clone();
            let at = random.below(bytes.len() as u64) as usize;
            match round % 3 {
                0 => bytes[at] ^= 1 << random.below(8),
                1 => bytes.truncate(at),
                _ => drop(bytes.splice(at..(at + 100).min(whole.len()), std::iter::repeat_n(0, 100))),
            }
            let file = put(&folder, "damaged", &bytes);
            let (code, out, errors) = tool(&["verify", &file]);
            assert!(code == 1 || code == 2 && at < 4, "{name}, seed {seed}, byte {at}: {out} {errors}");
            for form in ["-vv", "--json"] {
                let (code, _, errors) = tool(&["print", form, &file]);
                assert!(code <= 2 && !errors.contains("panicked"), "{name}, byte {at}: {errors}");
            }
        }
    }
}

/// Work of all kinds, in several files.
fn work(server: &Server) {
    server.sql(
        "create database shop; use shop; \
         create table t (id bigint primary key auto_increment, c varchar(40), b blob, d decimal(20,5), \
           e enum('a','b'), s set('x','y'), at datetime(6) default current_timestamp(6)); \
         insert into t (c, b, d, e, s) values ('one', x'00ff', -1.5, 'b', 'x,y'), \
           ('two', null, 2, 'a', ''); \
         flush binary logs; \
         begin; update t set c = concat(c, '!'), d = d * 2; delete from t where id = 1; commit; \
         flush binary logs; \
         create table u (k varchar(20) primary key, v text character set latin1); \
         insert into u values ('ä', 'é'), ('b', 'x')",
    );
}

fn log_paths(server: &Server) -> Vec<PathBuf> {
    let names = server.sql("show binary logs");
    names.lines().map(|l| server.file(l.split('\t').next().unwrap())).collect()
}

#[test]
fn a_running_servers_files_are_read_to_their_last_event() {
    let server = start(&["--binlog-prealloc-num=2", "--max-binlog-size=1M"]);
    work(&server);
    let datadir = server.datadir().path().to_str().unwrap().to_owned();
    let (code, verdict, errors) = tool(&["verify", &datadir]);
    assert_eq!((code, errors.as_str()), (0, ""), "{verdict}");
    assert!(verdict.contains("3 files") && verdict.contains("closed by Rotate"), "{verdict}");
    let executed = server.sql("select @@gtid_executed");
    assert!(verdict.contains(executed.trim()), "{verdict} {executed}");
    // The rows are those that MariaDB's tool prints.
    let ours = output(&["print", "-v", &datadir]);
    server.sql("flush binary logs");
    let paths = log_paths(&server);
    let theirs = Command::new("mariadb-binlog")
        .args(["--no-defaults", "--base64-output=decode-rows", "-v"])
        .args(&paths[..3])
        .output()
        .unwrap();
    let theirs = String::from_utf8_lossy(&theirs.stdout).into_owned();
    let rows = |text: &str| -> Vec<String> {
        text.lines().filter(|l| l.starts_with("###")).map(|l| l.trim_end().replace("\\\\", "\\")).collect()
    };
    assert!(rows(&ours).len() > 40);
    assert_eq!(rows(&ours), rows(&theirs));
}

#[test]
fn a_servers_log_is_read_over_the_network() {
    let server = start(&[]);
    work(&server);
    let remote = format!("--server=127.0.0.1:{}", server.port);
    let datadir = server.datadir().path().to_str().unwrap().to_owned();
    // The file that is written to counts as in use on disk alone.
    let same = |text: String| text.replace(",\"flags\":[\"in_use\"]", "");
    for form in ["-vv", "--json"] {
        assert_eq!(same(output(&["print", form, &remote])), same(output(&["print", form, &datadir])));
    }
    let first = output(&["print", "-v", &remote, "binlog.000001"]);
    assert_eq!(first, output(&["print", "-v", &format!("{datadir}/binlog.000001")]));
    assert!(output(&["verify", &remote]).contains("3 files"));
    server.sql("create user reader identified by 'secret'; grant replication slave, replication client on *.* to reader");
    let login = ["--user=reader", "--password=secret"];
    assert!(output(&["find", &remote, login[0], login[1], "--table=shop.u"]).contains("binlog.000003:"));
    for (args, expected) in [
        (&["print", &remote, "--user=reader"][..], "can't connect to 127.0.0.1"),
        (&["print", &remote, "binlog.000099"], "Could not find first log file name"),
        (&["print", "--server=127.0.0.1:1"], "can't connect to 127.0.0.1:1"),
    ] {
        let (code, _, errors) = tool(args);
        assert!(code == 2 && errors.contains(expected), "{errors}");
    }
}

/// MariaDB's stream has the file's events if it is asked as its own replicas ask.
#[test]
fn a_mariadb_servers_log_is_read_over_the_network() {
    let folder = tempfile::tempdir().unwrap();
    let server =
        Launch::new(ServerKind::MariaDb, folder.path()).unwrap().arg("--log-bin-compress=1").start().unwrap();
    let statements = "create user reader@'127.0.0.1' identified by 'secret'; grant all on *.* to reader@'127.0.0.1'; \
        create database shop; create table shop.t (a int primary key, b text); \
        insert into shop.t values (1, repeat('a', 1000)), (2, 'b'); update shop.t set b = 'c'; \
        flush binary logs; delete from shop.t";
    server.sql(statements).unwrap();
    let remote = format!("--server=127.0.0.1:{}", server.port());
    let login = [&*remote, "--user=reader", "--password=secret"];
    let verdict = output(&[&["verify"], &login[..]].concat());
    assert!(verdict.contains("2 files") && verdict.contains("closed by Rotate: sound"), "{verdict}");
    let data = folder.path().join(ServerKind::MariaDb.name()).join("data").to_str().unwrap().to_owned();
    let json =
        |args: &[&str]| output(&[&["print", "--json"], args].concat()).replace(",\"flags\":[\"in_use\"]", "");
    assert_eq!(json(&login), json(&[&data]));
    assert!(json(&login).contains("\"type\":\"Annotate_rows\""));
}

#[test]
fn compressed_transactions_are_looked_into() {
    let server = start(&["--binlog-transaction-compression=ON"]);
    work(&server);
    server.sql("flush binary logs");
    let paths: Vec<String> = log_paths(&server).iter().map(|p| p.to_str().unwrap().to_owned()).collect();
    let files: Vec<&str> = paths[..3].iter().map(String::as_str).collect();
    let on = |command: &[&str]| output(&[command, &files].concat());
    assert!(on(&["verify"]).contains("sound"));
    let json = on(&["print", "--json"]);
    assert!(json.contains("\"compression\":\"zstd\"") && json.contains("\"payload\":true"), "{json}");
    assert!(on(&["print", "-v"]).contains("### INSERT INTO `shop`.`t`"));
    assert!(on(&["stats"]).contains("shop.t "));
    assert_eq!(on(&["find", "--table=shop.t", "--value=two!"]).lines().count(), 1);
    let folder = tempfile::tempdir().unwrap();
    let part = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (cut, renamed) = (part("cut"), part("renamed"));
    output(&["cut", "-o", &cut, files[0], files[1], files[2]]);
    assert!(output(&["verify", &cut]).contains("sound"));
    output(&["rewrite", "-o", &renamed, "--rewrite-db=shop->store", files[1]]);
    assert!(output(&["verify", &renamed]).contains("sound"));
    let renamed = output(&["print", "-v", &renamed]);
    assert!(
        renamed.contains("### UPDATE `store`.`t`") && !renamed.contains("compressed events"),
        "{renamed}"
    );
}

#[test]
fn a_missing_file_is_a_gap() {
    let server = start(&[]);
    work(&server);
    server.sql("flush binary logs");
    let paths: Vec<String> = log_paths(&server).iter().map(|p| p.to_str().unwrap().to_owned()).collect();
    output(&["verify", &paths[0], &paths[1], &paths[2]]);
    let (code, out, _) = tool(&["verify", &paths[0], &paths[2]]);
    assert_eq!(code, 1);
    assert!(out.contains("a gap: the files before lack") && out.contains("comes next"), "{out}");
}

#[test]
fn a_file_of_another_log_behind_a_rotate_is_a_gap() {
    let servers = [start(&[]), start(&[])];
    let paths = servers.each_ref().map(|server| {
        work(server);
        server.sql("flush binary logs");
        log_paths(server).iter().map(|p| p.to_str().unwrap().to_owned()).collect::<Vec<_>>()
    });
    let folder = tempfile::tempdir().unwrap();
    let position = |from: &str, name: &str| {
        let to = folder.path().join(name).to_str().unwrap().to_owned();
        std::fs::copy(from, &to).unwrap();
        to
    };
    let (first, second) = (position(&paths[0][0], "binlog.000001"), position(&paths[1][1], "binlog.000002"));
    let (code, out, _) = tool(&["verify", &first, &second]);
    assert!(code == 1 && out.contains("a gap: the files before lack"), "{out}");
}

#[test]
fn transactions_are_found() {
    let file = golden("mysql97-full");
    let uuid = "ffbc9079-e54d-11f1-b5eb-02fc00000001";
    let found = output(&["find", "--gtid", &format!("{uuid}:6"), &file]);
    assert_eq!(found, format!("binlog:815  end 1610  committed 2026-11-21 01:51:03.367213  {uuid}:6\n"));
    assert_eq!(output(&["find", "--time=2026-11-21 01:51:03.367213", &file]), found);
    assert_eq!(output(&["find", "--gtid", &format!("{uuid}:6-9"), &file]).lines().count(), 4);
    let found =
        output(&["find", "--table=gold.ints", "--value=-9223372036854775808 (9223372036854775808)", &file]);
    assert!(found.contains(&format!("{uuid}:6\n")), "{found}");
    let in_payload = output(&["find", "--table=gold.ints", &golden("mysql97-zstd")]);
    assert_eq!(in_payload.lines().count(), output(&["find", "--table=gold.ints", &file]).lines().count());
    let (code, out, errors) = tool(&["find", "--gtid", &format!("{uuid}:600"), &file]);
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(errors.contains("nothing found in 1 files"), "{errors}");
    let mariadb = output(&["print", "--json", &golden("mariadb118")]);
    let gtid = mariadb.split("\"gtid\":\"").nth(3).unwrap().split('"').next().unwrap().to_owned();
    assert!(output(&["find", "--gtid", &gtid, &golden("mariadb118")]).ends_with(&format!("  {gtid}\n")));
}

/// Rows and statements as they are printed, without offsets.
fn content(file: &str) -> Vec<String> {
    let text = output(&["print", "-v", file]);
    let is_place = |l: &&str| l.starts_with('#') && !l.starts_with("###");
    let own = text.lines().filter(|l| !is_place(l)).map(str::to_owned);
    own.collect()
}

/// Lines of rows, and the headers of what is not rows.
fn rows_of(file: &str) -> Vec<String> {
    output(&["print", "-v", file]).lines().filter(|l| l.starts_with("###")).map(str::to_owned).collect()
}

#[test]
fn files_are_rewritten() {
    let folder = tempfile::tempdir().unwrap();
    let part = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    for name in GOLDEN {
        let file = golden(name);
        let sound = |path: &str| {
            let verdict = output(&["verify", path]);
            assert!(verdict.contains("51 transactions, closed by Rotate: sound"), "{name}: {verdict}");
        };
        // Without checksums it is shorter by four bytes an event, and says the same.
        let plain = part(&format!("plain-{name}"));
        output(&["rewrite", "-o", &plain, "--strip-checksums", &file]);
        sound(&plain);
        assert!(bytes_of(&plain).len() < bytes_of(&file).len());
        assert_eq!(rows_of(&plain), rows_of(&file));
        assert!(!output(&["print", &plain]).lines().skip(2).any(|l| l.contains("CRC32")));
        // Another name for the database. (MariaDB's compressed statements can't get one.)
        let renamed = part(&format!("renamed-{name}"));
        let rename = ["rewrite", "-o", &renamed, "--rewrite-db=gold->silverware", &file];
        if name == "mariadb1011-comp" {
            let (code, _, errors) = tool(&rename);
            assert!(code == 2 && errors.contains("a compressed statement in a database"), "{errors}");
            assert!(!Path::new(&renamed).exists());
        } else {
            output(&rename);
            sound(&renamed);
            let expected: Vec<_> =
                rows_of(&file).iter().map(|l| l.replace("`gold`.", "`silverware`.")).collect();
            assert_eq!(rows_of(&renamed), expected);
            assert!(output(&["print", &renamed]).contains("use `silverware`"));
        }
        // Without a table.
        let dropped = part(&format!("dropped-{name}"));
        output(&["rewrite", "-o", &dropped, "--drop-table=gold.strs", &file]);
        sound(&dropped);
        let is_of = |l: &&String| l.contains("`gold`.");
        let expected: Vec<_> =
            rows_of(&file).into_iter().filter(|l| is_of(&l) && !l.contains("`strs`")).collect();
        assert_eq!(rows_of(&dropped).iter().filter(is_of).cloned().collect::<Vec<_>>(), expected);
        assert!(expected.len() > 100);
    }
    let (code, _, errors) = tool(&["rewrite", "-o", &part("none"), &golden("mysql97-full")]);
    assert!(code == 2 && errors.contains("nothing to do"), "{errors}");
}

/// The event that names a transaction with a tag is as long as its numbers need.
#[test]
fn transactions_with_tags_are_rewritten_and_cut() {
    let file = golden("mysql97-tagged");
    let folder = tempfile::tempdir().unwrap();
    let part = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let names = |file: &str| {
        let printed = output(&["print", file]);
        printed.lines().filter(|l| l.contains("GTID_NEXT= '")).map(str::to_owned).collect::<Vec<_>>()
    };
    for change in ["--strip-checksums", "--rewrite-db=tagged->a_longer_name", "--drop-table=tagged.a"] {
        let rewritten = part(change);
        output(&["rewrite", "-o", &rewritten, change, &file]);
        assert!(output(&["verify", &rewritten]).contains("sound"), "{change}");
        assert_eq!(names(&rewritten), names(&file));
    }
    let server = start(&[]);
    server.sql("create database d; create table d.t (id int auto_increment primary key)");
    let insert = "set gtid_next = 'AUTOMATIC:shop'; ".to_owned() + &"insert into d.t values (); ".repeat(70);
    server.sql(&format!("{insert} flush binary logs; {insert} flush binary logs"));
    let (files, whole) = (log_paths(&server), part("whole"));
    let files = [0, 1].map(|i| files[i].to_str().unwrap());
    output(&["cut", "-o", &whole, files[0], files[1]]);
    assert!(output(&["verify", &whole]).contains("sound"));
    assert_eq!(names(&whole), [names(files[0]), names(files[1])].concat());
    let uuid = server.sql("select @@server_uuid").trim().to_owned();
    let found = output(&["find", &format!("--gtid={uuid}:shop:140"), &whole]);
    assert!(found.ends_with(&format!("  {uuid}:shop:140\n")), "{found}");
}

/// A statement that changes two tables, of which one is omitted, still ends.
#[test]
fn a_statement_ends_without_its_last_table() {
    let server = start(&[]);
    server.sql(
        "create database shop; use shop; create table a (id int primary key, n int); \
         create table b (id int primary key, n int); insert into a values (1, 1), (2, 2); \
         insert into b select * from a; update a join b using (id) set a.n = 5, b.n = 6; \
         delete a, b from a join b using (id); flush binary logs",
    );
    let file = log_paths(&server)[0].to_str().unwrap().to_owned();
    let folder = tempfile::tempdir().unwrap();
    for table in ["a", "b"] {
        let path = folder.path().join(table).to_str().unwrap().to_owned();
        output(&["rewrite", "-o", &path, &format!("--drop-table=shop.{table}"), &file]);
        output(&["verify", &path]);
        let json = output(&["print", "--json", &path]);
        assert!(!json.contains(&format!("\"table\":\"{table}\"")), "{json}");
        // Whatever rows a transaction has left, the last of them end their statement.
        let mut last_rows = None;
        let mut with_rows = 0;
        for line in json.lines() {
            if line.contains("\"statement_end\"") {
                last_rows = Some(line);
            } else if line.contains("\"type\":\"Xid\"") {
                let rows = last_rows.take();
                assert!(rows.is_none_or(|l| l.contains("\"statement_end\":true")), "{rows:?}");
                with_rows += usize::from(rows.is_some());
            }
        }
        assert!(with_rows >= 3, "{json}");
    }
}

#[test]
fn a_part_is_a_log_of_its_own() {
    let server = start(&[]);
    work(&server);
    server.sql("flush binary logs");
    let paths: Vec<String> = log_paths(&server).iter().map(|p| p.to_str().unwrap().to_owned()).collect();
    let uuid = server.sql("select @@server_uuid").trim().to_owned();
    let folder = tempfile::tempdir().unwrap();
    let part = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let all = server
        .sql("select @@gtid_executed")
        .trim()
        .rsplit(['-', ':'])
        .next()
        .unwrap()
        .parse::<u64>()
        .unwrap();
    // From the second file's first transaction to the last but one, over two files.
    let (from, until) = (6, all - 1);
    let first = part("first");
    let (from_gtid, until_gtid) = (format!("{uuid}:{from}"), format!("{uuid}:{until}"));
    let cut = output(&[
        "cut",
        "-o",
        &first,
        "--from-gtid",
        &from_gtid,
        "--until-gtid",
        &until_gtid,
        &paths[0],
        &paths[1],
        &paths[2],
    ]);
    assert!(cut.contains(&format!("{} transactions", until - from + 1)), "{cut}");
    let verdict = output(&["verify", &first]);
    assert!(
        verdict.contains("closed by Stop: sound") && verdict.contains(&format!("{uuid}:1-{until}")),
        "{verdict}"
    );
    let gtids = |file: &str| output(&["print", file]).matches("GTID_NEXT").count() as u64;
    assert_eq!(gtids(&first), until - from + 1);
    // The rest of it, by position; together they are the whole.
    let position = output(&["find", "--gtid", &from_gtid, &paths[0], &paths[1]]);
    let offset = position.split([':', ' ']).nth(1).unwrap();
    let second = part("second");
    let of_file = paths.iter().position(|p| position.starts_with(p.rsplit('/').next().unwrap())).unwrap();
    output(&["cut", "-o", &second, "--from-position", offset, &paths[of_file]]);
    output(&["verify", &second]);
    // MariaDB's tool reads it, checksums and all.
    let theirs = Command::new("mariadb-binlog")
        .args(["--no-defaults", "--verify-binlog-checksum", "--base64-output=decode-rows", "-v", &first])
        .output()
        .unwrap();
    assert!(
        theirs.status.success() && theirs.stderr.is_empty(),
        "{}",
        String::from_utf8_lossy(&theirs.stderr)
    );
    // One whole file, cut from its start to its end, says what it said.
    let copy = part("copy");
    output(&["cut", "-o", &copy, &paths[1]]);
    let (ours, theirs) = (content(&copy), content(&paths[1]));
    assert_eq!(ours, theirs);
    let (code, _, errors) = tool(&["cut", "-o", &copy, &paths[1]]);
    assert!(code == 2 && errors.contains("can't make"), "{errors}");
    let (code, _, errors) =
        tool(&["cut", "-o", &part("none"), "--until-gtid", &format!("{uuid}:999"), &paths[1]]);
    assert!(
        code == 2 && errors.contains("is not in these files") && !Path::new(&part("none")).exists(),
        "{errors}"
    );
}
