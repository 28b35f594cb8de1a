//! What the group-commit leader and the row codec cost, in nanoseconds.
//!
//! `cargo bench -p binlog --bench events`. The machine's other work shows in the figures: each is
//! the best of several runs.
#![allow(missing_docs)]

use std::hint::black_box;

use binlog::event::{EncodedTableMap, QueryEvent, TableMapEvent};
use binlog::group::{EventGroup, GroupBuilder, GroupContext, GtidStamp};
use binlog::gtid::{Gtid, Tag, Uuid};
use binlog::row::{ColumnType, RowImage, RowImageBuilder, Value, code};
use env::{Env, RealEnv};

/// Nanoseconds that one call of `work` takes: the best of nine runs.
fn measure(name: &str, mut work: impl FnMut()) -> f64 {
    const RUNS: usize = 9;
    let clock = RealEnv;
    let mut calls = 1;
    let mut best = f64::MAX;
    let mut done = 0;
    while done < RUNS {
        let start = clock.monotonic();
        (0..calls).for_each(|_| work());
        let took = (clock.monotonic() - start).as_nanos() as f64;
        if took < 5e6 {
            calls *= 2;
            continue;
        }
        best = best.min(took / f64::from(calls));
        done += 1;
    }
    println!("{name:<58} {best:>12.1} ns");
    best
}

const COLUMNS: [ColumnType; 4] = [
    ColumnType::new(code::LONGLONG, 0),
    ColumnType::new(code::LONG, 0),
    ColumnType::new(code::VARCHAR, 400),
    ColumnType::new(code::STRING, 240),
];

fn row(id: i64) -> Vec<u8> {
    let mut out = Vec::new();
    build(id, &mut out);
    out
}

fn build(id: i64, out: &mut Vec<u8>) {
    let mut builder = RowImageBuilder::new(&COLUMNS, out);
    for value in [Value::Int(id), Value::Int(7), Value::Bytes(&[b'c'; 40]), Value::Bytes(&[b'p'; 56])] {
        builder.push(&value).expect("the values suit the columns");
    }
    builder.finish().expect("all columns have values");
}

fn table() -> TableMapEvent {
    TableMapEvent {
        table_id: 90,
        flags: 1,
        database: b"bench".to_vec(),
        table: b"sbtest1".to_vec(),
        columns: COLUMNS.to_vec(),
        nullable: vec![0],
        ..TableMapEvent::default()
    }
}

fn group(rows: i64, image: &[u8], map: &EncodedTableMap) -> EventGroup {
    let mut group = GroupBuilder::new(GroupContext::new(1, 1_795_225_863, 80408));
    group.begin(&QueryEvent::new(1, b"bench", b"BEGIN"));
    group.table_map(map);
    (0..rows).for_each(|_| group.write_row(90, COLUMNS.len(), image));
    group.end_statement();
    group.finish_xid(1)
}

fn main() {
    let (image, map) = (row(1), EncodedTableMap::from(&table()));
    let stamp = GtidStamp {
        gtid: Some(Gtid::new(Uuid([7; 16]), 123_456)),
        last_committed: 123,
        sequence_number: 124,
        commit_timestamp: 1_795_225_863_000_001,
    };
    println!("row image of {} bytes", image.len());
    for rows in [1, 100, 10_000] {
        measure(&format!("session: build and sum a group of {rows} rows"), || {
            drop(black_box(group(rows, &image, &map)))
        });
        let built = group(rows, &image, &map);
        let mut out = Vec::with_capacity(built.stamped_len_max(Tag::NONE));
        let ns = measure(&format!("leader: stamp a group of {rows} rows"), || {
            out.clear();
            built.stamp(black_box(&stamp), 4096, &mut out);
        });
        println!("{:>58} {:>12.2} GB/s", format!("{} bytes", out.len()), out.len() as f64 / ns);
    }
    checksums();
    rows(&image);
}

/// Ways to a checksum that follows `end_log_pos`, and what a stamp takes for each event.
fn checksums() {
    for length in [31, 64, 128, 512, 8192] {
        let event = vec![7_u8; length];
        measure(&format!("checksum of {length} bytes computed again"), || {
            black_box(crc32fast::hash(black_box(&event)));
        });
        let body = {
            let mut hasher = crc32fast::Hasher::new();
            hasher.update(&event[19..]);
            hasher
        };
        measure(&format!("checksum of {length} bytes combined (crc32fast)"), || {
            let mut hasher = crc32fast::Hasher::new();
            hasher.update(black_box(&event[..19]));
            hasher.combine(black_box(&body));
            black_box(hasher.finalize());
        });
    }
    for length in [1, 600, 8000] {
        let many = {
            let mut group = GroupBuilder::new(GroupContext::new(1, 1, 80408));
            (0..1000).for_each(|_| group.rows_query(&vec![b'x'; length]));
            group.finish_xid(1)
        };
        let stamp = GtidStamp { gtid: None, last_committed: 0, sequence_number: 1, commit_timestamp: 1 };
        let mut out = Vec::with_capacity(many.stamped_len_max(Tag::NONE));
        measure(&format!("1001 events of {} bytes stamped", length + 24), || {
            out.clear();
            many.stamp(black_box(&stamp), 4096, &mut out);
        });
    }
}

fn rows(image: &[u8]) {
    let mut out = Vec::with_capacity(256);
    measure("row: build from 4 values", || {
        out.clear();
        build(black_box(5), &mut out);
    });
    measure("row: slice 4 columns", || {
        let image = RowImage::full(&COLUMNS, black_box(image)).expect("the image is whole");
        black_box(image.fields().map(|f| f.raw.map_or(0, <[u8]>::len)).sum::<usize>());
    });
    measure("row: decode 4 columns", || {
        let image = RowImage::full(&COLUMNS, black_box(image)).expect("the image is whole");
        for field in image.fields() {
            let _ = black_box(field.value());
        }
    });
}
