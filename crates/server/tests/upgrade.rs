//! Data directories of released versions are opened, and those of newer ones refused by name.
//!
//! `tests/data` has two of each release, made by `DURAMEN_MAKE_RELEASE=VERSION cargo test -p server
//! --test upgrade`: one of a server that was stopped, one of a server that was killed, whose log
//! has to be replayed. What `read.sql` said of them then stands beside.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

mod common;

use common::{Server, run};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use tempfile::TempDir;
use xxhash_rust::xxh3::xxh3_64_with_seed;

const MAKE: &str = include_str!("data/make.sql");
const READ: &str = include_str!("data/read.sql");

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data")
}

/// The archives of released versions.
fn releases() -> Vec<PathBuf> {
    let all = std::fs::read_dir(data()).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<PathBuf> = all.filter(|p| p.extension().is_some_and(|e| e == "gz")).collect();
    found.sort();
    assert!(found.len() >= 2, "the releases' data directories are missing");
    found
}

fn unpacked(archive: &Path) -> Arc<TempDir> {
    let folder = tempfile::tempdir().unwrap();
    let done = Command::new("tar").arg("-xzf").arg(archive).arg("-C").arg(folder.path()).status().unwrap();
    assert!(done.success());
    Arc::new(folder)
}

/// Names and bytes of all files below a folder.
fn content(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        match entry.is_dir() {
            true => found.extend(content(&entry)),
            false => drop(found.insert(entry.clone(), std::fs::read(&entry).unwrap())),
        }
    }
    found
}

/// Exit code and output of `duramen upgrade-check`, which changes nothing.
fn check(folder: &Path) -> (i32, String) {
    let before = content(folder);
    let (status, out, errors) = run(&["upgrade-check", &format!("--datadir={}", folder.display())]);
    assert!(before == content(folder), "the directory was changed");
    (status.code().unwrap(), out + &errors)
}

/// What a start says that has to fail, and changes nothing.
fn refused_start(folder: &Path) -> String {
    let before = content(folder);
    let (status, _, error) = run(&["serve", "--port=0", &format!("--datadir={}", folder.display())]);
    assert!(!status.success(), "it was started: {error}");
    let mut after = content(folder);
    // The certificate is made before the log and the tables are opened.
    after.retain(|path, _| before.contains_key(path) || path.extension().is_none_or(|e| e != "pem"));
    let names = || after.keys().filter(|path| before.get(*path) != after.get(*path)).collect::<Vec<_>>();
    assert!(before == after, "the directory was changed: {:?}; the start said: {error}", names());
    error
}

#[test]
fn data_of_each_release_is_opened_and_goes_on() {
    make_release();
    for archive in releases() {
        println!("{}", archive.display());
        let expected = std::fs::read_to_string(archive.with_extension("").with_extension("txt")).unwrap();
        let datadir = unpacked(&archive);
        let (code, text) = check(datadir.path());
        assert!(code <= 1, "{text}");
        assert!(text.contains("written last by 8.4.8-duramen-"), "{text}");
        let server = Server::start_in(&datadir, &[]);
        assert_eq!(server.sql(READ), expected);
        server.sql("XA COMMIT 'branch'; CALL shop.plant('elm'); ALTER TABLE shop.tree ADD COLUMN new INT");
        let rows = server.sql(READ);
        assert!(rows.contains("elm") && rows.contains("prepared"), "{rows}");
        let server = server.crash_and_restart(&[]);
        assert_eq!(server.sql(READ), rows);
        server.terminate();
        let (code, text) = check(datadir.path());
        assert_eq!(code, 0, "{text}");
        assert!(text.contains("binary log: format 4 (") && text.contains("tables: format 1 ("), "{text}");
    }
}

/// Makes the archives of a version, if asked to.
fn make_release() {
    let Ok(version) = std::env::var("DURAMEN_MAKE_RELEASE") else { return };
    for way in ["stopped", "killed"] {
        let datadir = Arc::new(tempfile::tempdir().unwrap());
        let server = Server::start_in(&datadir, &[]);
        let (definitions, rows) = MAKE.split_at(MAKE.find("INSERT INTO `odd Ñame`").unwrap());
        server.sql(definitions);
        // A checkpoint between them: the killed one is replayed from there.
        server.terminate();
        let server = Server::start_in(&datadir, &[]);
        server.sql(&format!("USE shop; {rows}"));
        let expected = server.sql(READ);
        match way {
            "stopped" => drop(server.terminate()),
            _ => drop(server),
        }
        let name = format!("duramen-{version}-{way}");
        std::fs::write(data().join(format!("{name}.txt")), expected).unwrap();
        let done = Command::new("tar")
            .args(["--exclude=*.pem", "--exclude=*.sock", "--exclude=duramen.pid", "-I", "gzip -9", "-cf"])
            .arg(data().join(format!("{name}.tar.gz")))
            .arg("-C")
            .arg(datadir.path())
            .arg(".")
            .status()
            .unwrap();
        assert!(done.success());
    }
}

/// The stopped directory of the newest release.
fn newest() -> Arc<TempDir> {
    let stopped = |path: &PathBuf| path.to_string_lossy().contains("-stopped.");
    unpacked(releases().iter().rfind(|path| stopped(path)).unwrap())
}

/// The files whose names end so, below a folder.
fn files(folder: &Path, end: &str) -> Vec<PathBuf> {
    let found: Vec<_> = content(folder).into_keys().filter(|p| p.to_string_lossy().ends_with(end)).collect();
    assert!(!found.is_empty(), "no file {end}");
    found
}

fn number(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

fn short(bytes: &[u8], at: usize) -> usize {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize
}

#[test]
fn a_newer_binary_log_is_refused() {
    let datadir = newest();
    for path in files(datadir.path(), "binlog.000001") {
        let mut bytes = std::fs::read(&path).unwrap();
        assert_eq!(bytes[23], 4);
        bytes[23] = 5;
        let end = 4 + short(&bytes, 13);
        let sum = crc32fast::hash(&bytes[4..end - 4]);
        bytes[end - 4..end].copy_from_slice(&sum.to_le_bytes());
        std::fs::write(&path, bytes).unwrap();
    }
    let (code, text) = check(datadir.path());
    assert_eq!(code, 2, "{text}");
    assert!(
        text.contains(
            "refused: binlog.000001: format 5 of a newer version than this one, which reads 4\nverdict: this version does not open it"
        ),
        "{text}"
    );
    let error = refused_start(datadir.path());
    assert!(error.contains("binlog.000001") && error.contains("binary log version is not 4"), "{error}");
}

/// The seed of a block's checksum.
fn seed(path: &Path, offset: u64) -> u64 {
    let file: u64 = path.file_stem().unwrap().to_str().unwrap().parse().unwrap();
    file.rotate_left(40) ^ offset
}

#[test]
fn newer_tables_are_refused() {
    let datadir = newest();
    for path in files(datadir.path(), ".table") {
        let mut bytes = std::fs::read(&path).unwrap();
        let footer = bytes.len() - 56;
        assert_eq!(short(&bytes, footer + 36), 1);
        bytes[footer + 36] = 2;
        let sum = xxh3_64_with_seed(&bytes[footer..footer + 40], seed(&path, footer as u64));
        bytes[footer + 40..footer + 48].copy_from_slice(&sum.to_le_bytes());
        std::fs::write(&path, bytes).unwrap();
    }
    let (code, text) = check(datadir.path());
    assert_eq!(code, 2, "{text}");
    assert!(text.contains(".table: format 2 of a newer version than this one, which reads 1"), "{text}");
    let error = refused_start(datadir.path());
    assert!(error.contains(".table") && error.contains("format 2, of a newer version of Duramen"), "{error}");
}

#[test]
fn a_newer_manifest_is_refused() {
    let datadir = newest();
    for path in files(datadir.path(), ".manifest") {
        let mut bytes = std::fs::read(&path).unwrap();
        assert_eq!(&bytes[..4], b"DRUM");
        bytes[0] += 1;
        std::fs::write(&path, bytes).unwrap();
    }
    let (code, text) = check(datadir.path());
    assert_eq!(code, 2, "{text}");
    let reason =
        "it begins with 'ERUM' and no manifest of this version does: it is damaged, or of a newer version";
    assert!(text.contains(".manifest") && text.contains(reason), "{text}");
    let error = refused_start(datadir.path());
    assert!(error.contains(".manifest") && error.contains(reason), "{error}");
}

/// Changes the byte that is the catalog's format, in each block that has a version of it.
fn set_catalog_format(folder: &Path, from: u8, to: u8) {
    let mut found = 0;
    for path in files(folder, ".table") {
        let mut bytes = std::fs::read(&path).unwrap();
        let footer = bytes.len() - 56;
        let index = block(&bytes, number(&bytes, footer) as usize, short(&bytes, footer + 8));
        for entry in entries(&index) {
            let handle = &index[entry.end - 12..entry.end];
            let (offset, len) = (number(handle, 0) as usize, short(handle, 8));
            let plain = block(&bytes, offset, len);
            let Some(at) = format_in(&plain) else { continue };
            assert_eq!(plain[at], from);
            let mut wanted = plain.clone();
            wanted[at] = to;
            // Packed or not, one byte of what is stored is this one.
            let changed = (offset..offset + len - 13).find(|&i| {
                let old = std::mem::replace(&mut bytes[i], to);
                let is_it = old == from && try_block(&bytes, offset, len).as_ref() == Some(&wanted);
                if !is_it {
                    bytes[i] = old;
                }
                is_it
            });
            assert!(changed.is_some(), "the byte is not in the block as it is");
            let end = offset + len - 8;
            let sum = xxh3_64_with_seed(&bytes[offset..end], seed(&path, offset as u64));
            bytes[end..end + 8].copy_from_slice(&sum.to_le_bytes());
            std::fs::write(&path, &bytes).unwrap();
            found += 1;
        }
    }
    assert!(found > 0, "no table has the catalog's format");
}

fn try_block(bytes: &[u8], offset: usize, len: usize) -> Option<Vec<u8>> {
    let (stored, trailer) = bytes[offset..offset + len].split_at(len - 13);
    match trailer[0] {
        0 => Some(stored.to_vec()),
        _ => lz4_flex::block::decompress(stored, short(trailer, 1)).ok(),
    }
}

fn block(bytes: &[u8], offset: usize, len: usize) -> Vec<u8> {
    try_block(bytes, offset, len).unwrap()
}

/// Where the entries of a block are.
fn entries(block: &[u8]) -> Vec<std::ops::Range<usize>> {
    let (prefix, count) = (short(block, 0), short(block, 4));
    let start = |i: usize| if i < count { short(block, 8 + prefix + 4 * i) } else { block.len() };
    (0..count).map(|i| start(i)..start(i + 1)).collect()
}

/// Where the value of the catalog's record `v` is.
fn format_in(block: &[u8]) -> Option<usize> {
    let prefix = &block[8..8 + short(block, 0)];
    entries(block).into_iter().find_map(|entry| {
        // Such a short key takes one byte of length.
        let rest = usize::from(block[entry.start + 8] / 2);
        let begin = entry.start + 9;
        let key = [prefix, block.get(begin..begin + rest)?].concat();
        (key == b"\0\0\0\x01v").then_some(begin + rest)
    })
}

#[test]
fn a_newer_catalog_is_refused_and_an_older_one_upgraded() {
    let datadir = newest();
    set_catalog_format(datadir.path(), 6, 7);
    let (code, text) = check(datadir.path());
    assert_eq!(code, 2, "{text}");
    assert!(
        text.contains("refused: the catalog: format 7 of a newer version than this one, which reads 0 to 6"),
        "{text}"
    );
    let error = refused_start(datadir.path());
    assert!(error.contains("the catalog is of format 7, of a newer version than this one, which reads up to 6. Nothing was changed"), "{error}");

    set_catalog_format(datadir.path(), 7, 5);
    let (code, text) = check(datadir.path());
    assert_eq!(code, 1, "{text}");
    assert!(
        text.contains("catalog: format 5 (1); this version reads 0 to 6, writes 6\n    upgraded"),
        "{text}"
    );
    let server = Server::start_in(&datadir, &[]);
    server.sql("CREATE DATABASE upgrades");
    server.terminate();
    assert_eq!(check(datadir.path()).0, 0);
}

#[test]
fn channels_that_a_newer_version_has_written_are_named() {
    let datadir = newest();
    std::fs::write(
        datadir.path().join("replica-channels"),
        "[channel]\nname=\nnew_setting=1\n# checksum: none\n",
    )
    .unwrap();
    let (code, text) = check(datadir.path());
    assert_eq!(code, 2, "{text}");
    assert!(
        text.contains("damaged: replica-channels") && text.contains("line 3 is not understood"),
        "{text}"
    );
}

#[test]
fn damage_and_other_servers_directories_are_named() {
    let datadir = newest();
    let table = files(datadir.path(), ".table").remove(0);
    let whole = std::fs::read(&table).unwrap();
    std::fs::write(&table, &whole[..whole.len() - 1]).unwrap();
    let (code, text) = check(datadir.path());
    assert!(code == 2 && text.contains("damaged: store/") && text.contains("'duramen check'"), "{text}");
    std::fs::write(&table, &whole).unwrap();
    let log = files(datadir.path(), "binlog.000001").remove(0);
    std::fs::remove_file(&log).unwrap();
    std::fs::write(&log, "no log").unwrap();
    let (code, text) = check(datadir.path());
    assert!(code == 2 && text.contains("damaged: binlog.000001"), "{text}");

    let other = tempfile::tempdir().unwrap();
    let (code, text) = check(other.path());
    assert!(code == 3 && text.contains("is no data directory"), "{text}");
    for (file, whose) in [("ibdata1", "MySQL or MariaDB"), ("aria_log_control", "MariaDB")] {
        std::fs::write(other.path().join(file), "").unwrap();
        let (code, text) = check(other.path());
        assert!(code == 2 && text.contains(&format!("a data directory of {whose}, by its {file}")), "{text}");
    }
    let (status, _, error) = run(&["upgrade-check"]);
    assert!(
        status.code() == Some(3) && error.contains("'duramen upgrade-check --help' tells more"),
        "{error}"
    );
    let (status, help, _) = run(&["upgrade-check", "--help"]);
    assert!(status.success() && help.contains("Exit codes"), "{help}");
}

#[test]
fn the_directory_of_a_running_server_is_not_examined() {
    let server = common::start(&[]);
    let (status, _, error) =
        run(&["upgrade-check", &format!("--datadir={}", server.datadir().path().display())]);
    assert!(status.code() == Some(3) && error.contains("a server is running in"), "{error}");
}
