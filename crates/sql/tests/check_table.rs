//! CHECK TABLE finds what is wrong: entries are put into and taken out of an index behind the
//! tables' backs.
#![allow(clippy::unwrap_used)]

mod common;

use std::path::{Path, PathBuf};

use binlog::LogPosition;
use common::{Server, rows, run};
use env::{Env, OpenMode};
use storage::WriteBatch;

/// The key that a row has in the index on `a`.
fn entry(server: &Server, a: i32, id: i32) -> (storage::TreeId, Vec<u8>) {
    let table = server.instance.catalog().table("d", "t").unwrap();
    let index = table.schema.index(1).unwrap();
    let mut key = Vec::new();
    index.encode_values(&[Some(&a.to_le_bytes())], &mut key).unwrap();
    table.schema.primary.encode_values(&[Some(&id.to_le_bytes())], &mut key).unwrap();
    (index.tree(), key)
}

/// What CHECK TABLE says after the index has lost some entries and gained others.
fn checked(lost: &[(i32, i32)], gained: &[(i32, i32)]) -> Vec<Vec<String>> {
    let server = Server::new(1);
    let mut session = server.session();
    run(&mut session, "CREATE DATABASE d").unwrap();
    run(&mut session, "CREATE TABLE d.t (id INT PRIMARY KEY, a INT NOT NULL, UNIQUE KEY k (a))").unwrap();
    run(&mut session, "INSERT INTO d.t VALUES (1, 10), (2, 20), (3, 30)").unwrap();
    let mut batch = WriteBatch::new();
    for &(a, id) in lost {
        let (tree, key) = entry(&server, a, id);
        batch.delete(tree, &key);
    }
    for &(a, id) in gained {
        let (tree, key) = entry(&server, a, id);
        batch.put(tree, &key, &[]);
    }
    let visible = server.instance.engine().log().visible();
    server.instance.engine().store().write(&batch, LogPosition::from_u64(visible.to_u64() + 1));
    // What was written becomes visible with the next commit.
    run(&mut session, "INSERT INTO d.t VALUES (4, 40)").unwrap();
    rows(&mut session, "CHECK TABLE d.t").into_iter().map(|row| row[2..].to_vec()).collect()
}

#[test]
fn entries_that_are_missing_or_too_many_or_others_are_found() {
    let corrupt = |faults: &[&str]| {
        let mut all: Vec<Vec<String>> =
            faults.iter().map(|fault| vec!["Warning".to_owned(), (*fault).to_owned()]).collect();
        all.push(vec!["error".to_owned(), "Corrupt".to_owned()]);
        all
    };
    assert_eq!(checked(&[], &[]), [["status", "OK"]]);
    assert_eq!(checked(&[(20, 2)], &[]), corrupt(&["Index 'k' contains 3 entries, should be 4."]));
    assert_eq!(checked(&[], &[(77, 9)]), corrupt(&["Index 'k' contains 5 entries, should be 4."]));
    assert_eq!(checked(&[(20, 2)], &[(21, 2)]), corrupt(&["Index 'k' does not agree with the rows."]));
    let twice =
        ["Index 'k' does not agree with the rows.", "Index 'k' is unique, and contains 1 duplicates."];
    assert_eq!(checked(&[(20, 2)], &[(30, 2)]), corrupt(&twice));
}

/// A bit of a table's file, whichever it is: also of the filter, which CHECK TABLE did not read,
/// and point reads did.
#[test]
fn any_damage_of_a_file_is_found() {
    let server = Server::new(2);
    let mut session = server.session();
    run(&mut session, "CREATE DATABASE d").unwrap();
    run(&mut session, "CREATE TABLE d.t (id INT PRIMARY KEY, a INT NOT NULL, s VARBINARY(4000), KEY k (a))")
        .unwrap();
    for id in 0..150 {
        let row = format!("({id}, {id}, RANDOM_BYTES(1000)), ({0}, 7, REPEAT('x', 3000))", id + 1000);
        run(&mut session, &format!("INSERT INTO d.t VALUES {row}")).unwrap();
    }
    drop(session);
    let server = server.restart();
    // The table is large enough for a file of its own.
    let size = |path: &PathBuf| server.env.open(path, OpenMode::Read).unwrap().len().unwrap();
    let tables = server.env.read_dir(Path::new("/data/store")).unwrap().into_iter();
    let tables = tables.filter(|path| path.extension().is_some_and(|e| e == "table"));
    let path = tables.max_by_key(size).unwrap();
    let len = size(&path);
    let mut footer = [0; 56];
    server.env.open(&path, OpenMode::Read).unwrap().read_exact_at(&mut footer, len - 56).unwrap();
    let handle = |n: usize| u64::from_le_bytes(*footer[n * 12..].first_chunk().unwrap());
    let [index, filter, properties] = [handle(0), handle(1), handle(2)];
    assert!(filter < index && index < properties, "docs/formats/tables.md");
    let env = server.env.reboot();
    drop(server);
    let spread = (0..40).map(|n| len * n / 40).chain(len - 60..len);
    let places = spread.chain([filter, filter + 1, index - 14, index - 1, index, properties - 1, properties]);
    for place in places {
        let env = env.copy_after_cut(place);
        let file = env.open(&path, OpenMode::ReadWrite).unwrap();
        let mut byte = [0];
        file.read_exact_at(&mut byte, place).unwrap();
        file.write_at(&[byte[0] ^ 1 << (place % 8)], place).unwrap();
        let server = Server::open(env);
        let found = rows(&mut server.session(), "CHECK TABLE d.t");
        let text = format!("byte {place}: {found:?}");
        assert_eq!(found.last().unwrap()[3], "Corrupt", "{text}");
        assert!(found[0][3].contains(&path.display().to_string()), "{text}");
    }
    let sound = Server::open(env);
    assert_eq!(rows(&mut sound.session(), "CHECK TABLE d.t")[0][3], "OK");
}
