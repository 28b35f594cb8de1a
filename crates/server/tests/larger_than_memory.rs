//! Rows beyond what the server may keep in memory: loaded, read back right, and memory stays within
//! twice the settings' sum.
//!
//! `DURAMEN_SCALE=1` loads 4 GiB with 256 MiB of cache and two memtables of 64 MiB; less loads a
//! share of it with a share of the settings.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Server, start};
use protocol::client::Client;
use std::fmt::Write;
use stdx::random::Random;

const VALUE_LEN: usize = 1000;
/// Rows of one INSERT: about a mebibyte of statement.
const ROWS: u64 = 1000;
/// What the program's own pages take, in bytes, whatever the settings.
const PROGRAM: u64 = 20 << 20;

fn scale() -> f64 {
    // Below, the program itself weighs more than the settings.
    std::env::var("DURAMEN_SCALE").map_or(0.02, |s| s.parse::<f64>().unwrap()).max(0.02)
}

/// Row `i`'s key: scattered, so that every flush overlaps every other.
fn key(i: u64) -> u64 {
    i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 1
}

/// Half of it random, half of it not, so that packing has something to do.
fn value(i: u64) -> String {
    let mut random = [0; VALUE_LEN / 4];
    Random::new(i).fill(&mut random);
    let mut value = String::with_capacity(VALUE_LEN);
    random.iter().for_each(|b| write!(value, "{b:02x}").unwrap());
    value.extend(std::iter::repeat_n((b'a' + (i % 26) as u8) as char, VALUE_LEN / 2));
    value
}

fn load(client: &mut Client, rows: u64) {
    for first in (0..rows).step_by(ROWS as usize) {
        let mut statement = String::from("INSERT INTO big VALUES ");
        for i in first..first + ROWS {
            let comma = if i == first { "" } else { "," };
            write!(statement, "{comma}({},'{}')", key(i), value(i)).unwrap();
        }
        client.query(statement).unwrap();
    }
}

/// Reads every row in pages, in the order of the key, and compares each with what was loaded.
fn check(client: &mut Client, rows: u64) {
    let mut expected: Vec<u64> = (0..rows).collect();
    expected.sort_by_key(|&i| key(i));
    for page in expected.chunks(ROWS as usize) {
        let (first, last) = (key(page[0]), key(page[page.len() - 1]));
        let sql = format!("SELECT id, v FROM big WHERE id BETWEEN {first} AND {last} ORDER BY id");
        let found = client.query(sql).unwrap().rows;
        assert_eq!(found.len(), page.len());
        for (row, &i) in found.iter().zip(page) {
            assert_eq!(row[0].as_deref(), Some(key(i).to_string().as_bytes()));
            assert_eq!(row[1].as_deref(), Some(value(i).as_bytes()), "row {i}");
        }
    }
}

fn check_memory(server: &Server, when: &str, settings: u64) {
    let mib = server.peak_resident_kib() >> 10;
    println!("{when}: {mib} MiB resident at most; the settings' sum is {} MiB", settings >> 20);
    assert!(mib <= (2 * settings + PROGRAM) >> 20, "{when}: {mib} MiB");
}

#[test]
fn rows_beyond_memory_load_and_read_back() {
    let share = |bytes: u64| (bytes as f64 * scale()) as u64;
    let (cache, memtable) = (share(256 << 20).max(16 << 20), share(64 << 20).max(8 << 20));
    let settings = cache + 2 * memtable;
    let options = [
        format!("--innodb-buffer-pool-size={cache}"),
        format!("--duramen-memtable-size={memtable}"),
        "--duramen-memtables-max=2".to_owned(),
    ];
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let server = start(&options);
    let mut client = server.connect();
    client.query("CREATE DATABASE d").unwrap();
    client.query("USE d").unwrap();
    client
        .query("CREATE TABLE big (id BIGINT PRIMARY KEY, v VARCHAR(1000) CHARACTER SET ascii NOT NULL)")
        .unwrap();
    let rows = (share(4 << 30) / (VALUE_LEN as u64 + 24)).next_multiple_of(ROWS);
    load(&mut client, rows);
    check_memory(&server, "loaded", settings);
    check(&mut client, rows);
    check_memory(&server, "read back", settings);
    drop(client);

    let server = server.crash_and_restart(&options);
    let mut client = server.connect();
    let count = client.query("SELECT COUNT(*), SUM(LENGTH(v)) FROM d.big").unwrap().rows;
    assert_eq!(count[0][0].as_deref(), Some(rows.to_string().as_bytes()));
    assert_eq!(count[0][1].as_deref(), Some((rows * VALUE_LEN as u64).to_string().as_bytes()));
    check_memory(&server, "started again", settings);
}
