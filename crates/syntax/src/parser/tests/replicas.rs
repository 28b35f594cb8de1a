//! What administers replicas: names of today and of before, what is refused and where.

use super::*;
use crate::ast::*;

#[test]
fn replicas() {
    for sql in [
        "change replication source to source_host = 'h', source_port = 1, source_heartbeat_period = 1.5, ignore_server_ids = (1, 2)",
        "change replication source to ignore_server_ids = (), privilege_checks_user = null, source_tls_ciphersuites = null",
        "change replication source to privilege_checks_user = 'u'@'h', require_table_primary_key_check = stream",
        "change replication source to privilege_checks_user = `u`@`h`",
        "change replication source to assign_gtids_to_anonymous_transactions = local for channel 'c'",
        "change replication source to assign_gtids_to_anonymous_transactions = '3e11fa47-71ca-11e1-9e33-c80aa9429562'",
        "change replication filter replicate_do_db = (), replicate_ignore_db = (a, `b c`) for channel 'c'",
        "change replication filter replicate_do_table = (a.b), replicate_wild_do_table = ('a.%'), replicate_rewrite_db = ((a, b), (c, d))",
        "start replica io_thread, sql_thread until sql_after_gtids = 'x' user = 'u' password = 'p' for channel 'c'",
        "start replica until sql_after_mts_gaps",
        "start slave until master_log_file = 'b', master_log_pos = 4",
        "stop replica sql_thread for channel 'c'",
        "reset replica all for channel 'c'",
        "show replica status for channel 'c'",
        "show relaylog events in 'b' from 4 limit 1 for channel 'c'",
    ] {
        accepts(sql);
    }
    refuses("change replication source to source_nope = 1", "source_nope = 1", 1);
    refuses("change replication source to source_port = '1'", "'1'", 1);
    refuses("change replication source to source_host = 1", "1", 1);
    refuses("change replication source to source_port = 1.5", "1.5", 1);
    refuses("change replication source to source_connection_auto_failover = 2", "2", 1);
    refuses("change replication source to source_host = null", "null", 1);
    refuses("change replication filter replicate_do_db = ('a')", "'a')", 1);
    refuses("change replication filter replicate_do_table = (a)", ")", 1);
    refuses("change replication filter replicate_nope = (a)", "replicate_nope = (a)", 1);
    refuses(
        "start replica until sql_after_gtids = 'a', sql_before_gtids = 'b'",
        ", sql_before_gtids = 'b'",
        1,
    );
    refuses("start replica until source_host = 'a'", "source_host = 'a'", 1);
    refuses("start replica until source_log_pos = '4'", "'4'", 1);
}

/// Of two literals side by side one was hidden in the logs, and both were the password.
#[test]
fn what_is_no_expression_has_one_literal() {
    let client = ParseOptions { from_client: true, ..ParseOptions::default() };
    for sql in [
        "change replication source to source_password = 'a' 'b'",
        "change replication source to source_host = 'a' 'b'",
        "change replication filter replicate_wild_do_table = ('a.%' 'b')",
        "start replica user = 'a' 'b'",
        "start replica user = 'a' password = 'a' 'b'",
        "start replica until sql_before_gtids = 'a' 'b'",
        "create user u identified by 'a' 'b'",
        "create user u identified with mysql_native_password as 'a' 'b'",
        "create user u comment 'a' 'b'",
        "create user 'a' 'b'",
        "alter user u identified by 'a' replace 'x' 'b'",
        "set password = 'a' 'b'",
        "set password for u = 'a' 'b'",
        "set password = 'a' replace 'c' 'b'",
        "create table t (a int comment 'a' 'b')",
        "create table t (a int) comment = 'a' 'b'",
        "create table t (a enum('a' 'b'))",
        "create procedure p() comment 'a' 'b' begin end",
        "show tables like 'a' 'b'",
        "show binlog events in 'a' 'b'",
        "purge binary logs to 'a' 'b'",
        "prepare s from 'select' 'b'",
        "binlog 'a' 'b'",
        "xa start 'a' 'b'",
        "xa start 'a', 'c' 'b'",
        "select group_concat(1 separator 'a' 'b')",
        "select 1 into outfile 'a' 'b'",
        "select 1 into dumpfile 'a' 'b'",
        "load data infile 'a' 'b' into table t",
        "load data infile 'a' into table t fields terminated by 'a' 'b'",
    ] {
        let error = parse(sql.as_bytes(), &client).expect_err(sql);
        assert_eq!(error.number, 1064, "{sql}: {error}");
        assert!(error.message.contains("near ''b'"), "{sql}: {error}");
    }
    for sql in [
        "select 'a' 'b', date '2024-01' '-01'",
        "set character_set_client = 'utf8' 'mb4'",
        "select * from json_table('[]', '$' '[*]' columns (a int path '$' '.a')) t",
    ] {
        assert!(parse(sql.as_bytes(), &client).is_ok(), "{sql}");
    }
    // A log of before may have them.
    accepts("create table t (a int comment 'a' 'b')");
}

#[test]
fn old_names_are_those_of_today_with_a_remark() {
    let statement = parse_one("change master to master_host = 'h', get_master_public_key = 1");
    let StatementKind::ChangeReplicationSource { options, .. } = &statement.kind else { panic!() };
    let names: Vec<_> = options.iter().map(|option| option.name.as_str()).collect();
    assert_eq!(names, ["SOURCE_HOST", "GET_SOURCE_PUBLIC_KEY"]);
    assert_eq!(
        statement.remarks.list,
        [
            Remark::Instead("CHANGE MASTER", "CHANGE REPLICATION SOURCE"),
            Remark::Instead("MASTER_HOST", "SOURCE_HOST"),
            Remark::Instead("GET_MASTER_PUBLIC_KEY", "GET_SOURCE_PUBLIC_KEY"),
        ]
    );
    for (sql, old_names) in [("show slave status", true), ("show replica status", false)] {
        let StatementKind::Show(show) = parse_one(sql).kind else { panic!() };
        assert_eq!(show.what, ShowWhat::ReplicaStatus { channel: None, old_names });
    }
}
