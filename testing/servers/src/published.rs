//! What published workloads say to the server, for all that run them: the benchmark, and the tests
//! that look for errors.

/// The schema of W1: a stored function that inserts a row of 35 kB, as published in 2012. For the
/// `mariadb` client, which knows `delimiter`.
pub const W1_SCHEMA: &str = "\
drop database if exists test_case_9;
create database test_case_9;
use test_case_9;
CREATE TABLE t (
`id` bigint(20) NOT NULL AUTO_INCREMENT,
`content` blob,
PRIMARY KEY (`id`)
) ENGINE=InnoDB AUTO_INCREMENT=800001 DEFAULT CHARSET=utf8;

drop function if exists insert_data;
delimiter //
CREATE DEFINER=`root`@`localhost` FUNCTION `insert_data`() RETURNS int(11)
DETERMINISTIC
BEGIN
INSERT INTO t(id,content) values (null,REPEAT('bla bla',5000));
RETURN ROW_COUNT();
END
//
delimiter ;
";

/// The tests bundled with sysbench 1.0 that work on the tables of its `oltp_common`.
pub const SYSBENCH_OLTP: [&str; 10] = [
    "oltp_point_select",
    "oltp_read_only",
    "oltp_read_write",
    "oltp_write_only",
    "oltp_insert",
    "oltp_delete",
    "oltp_update_index",
    "oltp_update_non_index",
    "select_random_points",
    "select_random_ranges",
];

/// The bundled test with tables of its own, one for each thread.
pub const SYSBENCH_BULK: &str = "bulk_insert";
