//! CHECK TABLE finds what is wrong: entries are put into and taken out of an index behind the tables' backs.
#![allow(clippy::unwrap_used)]

mod common;

use binlog::position::LogPosition;
use common::{Server, rows, run};
use storage::WriteBatch;

/// The key that a row has in the index on `a`.
fn entry(server: &Server, a: i32, id: i32) -> (storage::TreeId, Vec<u8>) {
    let table = server.database.catalog().table("d", "t").unwrap();
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
    let visible = server.database.engine().log().visible();
    server.database.engine().store().write(&batch, LogPosition::from_u64(visible.to_u64() + 1));
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
