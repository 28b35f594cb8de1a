//! One table is made unreadable by hand: the server starts without it, within its usual time, and
//! serves the rest.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Server, records};
use std::fmt::Write;
use std::sync::Arc;

/// Tables other than the damaged one.
const TABLES: u32 = 300;

const ALL: &str = "select count(*), sum(id), sum(b) from d.t0; select count(*), sum(id), sum(b) from d.t299 force index (b) where b >= 0";

#[test]
fn one_unreadable_table_neither_stops_nor_slows_a_start() {
    let datadir = Arc::new(tempfile::tempdir().unwrap());
    let server = Server::start_in(&datadir, &[]);
    let mut text =
        String::from("create database d; use d; create table bad (id int primary key, e enum('x', 'y'));");
    for table in 0..TABLES {
        write!(text, "create table t{table} (id int primary key, b int, key (b));").unwrap();
        write!(text, "insert into t{table} values (1, 1), (2, 2), (3, {table});").unwrap();
    }
    text += "insert into bad values (1, 'x');";
    server.sql(&text);
    let answer = server.sql(ALL);
    let stop = |server: Server| {
        let (status, messages) = server.terminate();
        assert!(status.success(), "{messages:#?}");
    };
    stop(server);
    let server = Server::start_in(&datadir, &[]);
    let usual = server.start_time;
    stop(server);
    records::change(&datadir, "d", "bad", |record| record[..record.len() / 2].to_vec());
    for round in 0..3 {
        let server = Server::start_in(&datadir, &[]);
        println!("start {round}: {:?} with one unreadable table, {usual:?} without", server.start_time);
        assert_eq!(server.sql(ALL), answer);
        let error = server.sql_error("select * from d.bad");
        assert!(error.contains("1812"), "{error}");
        assert!(server.sql("show engine duramen status").contains("SET ASIDE: table d.bad"));
        assert!(server.messages().iter().any(|m| m.contains("SET ASIDE") && m.contains("d.bad")));
        server.sql("insert into d.t7 values (9, 9); update d.t7 set b = 8 where id = 9; delete from d.t7 where id = 9");
        server.sql("create table d.new (id int primary key); alter table d.new add c int; drop table d.new");
        // Stopped and killed alternately: what is set aside stays so.
        if round == 1 { drop(server) } else { stop(server) }
    }
}
