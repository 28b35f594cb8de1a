//! Whole texts as programs send them: the workloads, what clients and drivers say at connect,
//! dumps.

use super::*;
use crate::ast::{Compound, InsertSource, RoutineKind, TableContent};

/// Duramen's first job, as the `mariadb` client sends it.
const W1: &str = "drop database if exists test_case_9;
create database test_case_9;
use test_case_9;
CREATE TABLE t (
`id` bigint(20) NOT NULL AUTO_INCREMENT,
`content` blob,
PRIMARY KEY (`id`)
) ENGINE=InnoDB AUTO_INCREMENT=800001 DEFAULT CHARSET=utf8;
drop function if exists insert_data;
";

const FUNCTION: &str = "CREATE DEFINER=`root`@`localhost` FUNCTION `insert_data`() RETURNS int(11)
DETERMINISTIC
BEGIN
INSERT INTO t(id,content) values (null,REPEAT('bla bla',5000));
RETURN ROW_COUNT();
END";

#[test]
fn w1() {
    let statements = parse_all(W1).unwrap();
    assert_eq!(statements.len(), 5);
    let StatementKind::CreateTable(table) = &statements[3].kind else { panic!() };
    let TableContent::Definition(table) = &table.content else { panic!() };
    assert_eq!((table.columns.len(), table.keys.len(), table.options.len()), (2, 1, 3));
    for sql in [
        "set global sync_binlog=0",
        "select test_case_9.insert_data()",
        "truncate table t",
        "DROP SCHEMA IF EXISTS `mysqlslap`",
        "CREATE SCHEMA `mysqlslap`",
        "insert into xxx values (NULL, 2, 'sadasda ')",
        "create table xxx (a int auto_increment, b int, c varchar(100), primary key(a))",
    ] {
        accepts(sql);
    }
}

#[test]
fn w1_function() {
    let StatementKind::CreateRoutine(function) = parse_one(FUNCTION).kind else { panic!() };
    assert_eq!((function.kind, function.name.name.as_str()), (RoutineKind::Function, "insert_data"));
    assert_eq!(function.characteristics.deterministic, Some(true));
    assert!(function.body.span.of(FUNCTION.as_bytes()).starts_with(b"BEGIN\nINSERT"));
    assert!(function.body.span.of(FUNCTION.as_bytes()).ends_with(b"END"));
    let StatementKind::Compound(body) = function.body.kind else { panic!() };
    let Compound::Block(block) = *body else { panic!() };
    assert_eq!(block.body.len(), 2);
    assert_eq!(
        block.body[0].span.of(FUNCTION.as_bytes()),
        b"INSERT INTO t(id,content) values (null,REPEAT('bla bla',5000))"
    );
    let StatementKind::Insert(insert) = &block.body[0].kind else { panic!() };
    assert!(matches!(&insert.source, InsertSource::Values(rows) if rows.len() == 1 && rows[0].len() == 2));
}

#[test]
fn recorded_work() {
    let statements = parse_all(include_str!("../../../../binlog/tests/golden/work.sql")).unwrap();
    assert_eq!(statements.len(), 72);
}

#[test]
fn connecting() {
    for sql in [
        "select @@version_comment limit 1",
        "SELECT DATABASE(), USER() LIMIT 1",
        "SELECT /*!40001 SQL_NO_CACHE */ * FROM `t`",
        "SET NAMES utf8mb4",
        "SET NAMES utf8mb4 COLLATE utf8mb4_0900_ai_ci",
        "SET SESSION character_set_results = NULL",
        "/* mysql-connector-java-8.3.0 */SELECT @@session.auto_increment_increment AS auto_increment_increment, @@character_set_client AS character_set_client, @@sql_mode AS sql_mode, @@system_time_zone AS system_time_zone, @@time_zone AS time_zone, @@transaction_isolation AS transaction_isolation, @@wait_timeout AS wait_timeout",
        "SET character_set_results = NULL, autocommit=1, sql_mode=concat(@@sql_mode,',STRICT_TRANS_TABLES')",
        "SET @@session.autocommit = OFF",
        "SET NAMES 'utf8mb4' COLLATE 'utf8mb4_general_ci'",
        "SELECT @@max_allowed_packet,@@wait_timeout,@@socket",
        "SELECT @@socket, @@version, CONNECTION_ID()",
        "SET AUTOCOMMIT = 0",
        "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
        "set session transaction read write, isolation level serializable",
        "SET time_zone = '+00:00', @x = 1, @@global.y = 2, GLOBAL z = 3",
        "ROLLBACK",
        "show databases",
        "show tables",
        "SHOW FULL TABLES FROM `mysql` LIKE 'PROBABLYNOT'",
        "SHOW VARIABLES WHERE Variable_name IN ('a','b') OR Variable_name = 'c'",
        "SHOW SESSION VARIABLES LIKE 'lower_case_table_names'",
        "SHOW COUNT(*) WARNINGS",
        "SHOW /*!50002 GLOBAL */ STATUS",
    ] {
        accepts(sql);
    }
}

#[test]
fn dumping() {
    for sql in [
        "/*!40100 SET @@SQL_MODE='' */",
        "/*!40103 SET TIME_ZONE='+00:00' */",
        "/*!80000 SET SESSION information_schema_stats_expiry=0 */",
        "SET SESSION NET_READ_TIMEOUT= 86400, SESSION NET_WRITE_TIMEOUT= 86400",
        "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
        "START TRANSACTION /*!40100 WITH CONSISTENT SNAPSHOT */",
        "FLUSH /*!40101 LOCAL */ TABLES",
        "FLUSH TABLES WITH READ LOCK",
        "SELECT LOGFILE_GROUP_NAME, FILE_NAME, TOTAL_EXTENTS, INITIAL_SIZE, ENGINE, EXTRA FROM INFORMATION_SCHEMA.FILES WHERE FILE_TYPE = 'UNDO LOG' AND FILE_NAME IS NOT NULL AND LOGFILE_GROUP_NAME IS NOT NULL GROUP BY LOGFILE_GROUP_NAME, FILE_NAME, ENGINE, TOTAL_EXTENTS, INITIAL_SIZE ORDER BY LOGFILE_GROUP_NAME",
        "SHOW CREATE DATABASE IF NOT EXISTS `db`",
        "SAVEPOINT sp",
        "ROLLBACK TO SAVEPOINT sp",
        "SET SQL_QUOTE_SHOW_CREATE=1",
        "SET SESSION character_set_results = 'binary'",
        "show table status like 't'",
        "show create table `t`",
        "SHOW FUNCTION STATUS WHERE Db = 'db'",
        "SHOW TRIGGERS LIKE 't'",
        "show events",
        "select column_name, extra, generation_expression, data_type from information_schema.columns where table_schema=database() and table_name='t'",
        "/*!40101 SET @OLD_CHARACTER_SET_CLIENT=@@CHARACTER_SET_CLIENT */",
        "/*!40014 SET @OLD_UNIQUE_CHECKS=@@UNIQUE_CHECKS, UNIQUE_CHECKS=0 */",
        "/*!40101 SET @OLD_SQL_MODE=@@SQL_MODE, SQL_MODE='NO_AUTO_VALUE_ON_ZERO' */",
        "/*!50503 SET character_set_client = utf8mb4 */",
        "CREATE DATABASE /*!32312 IF NOT EXISTS*/ `db` /*!40100 DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci */ /*!80016 DEFAULT ENCRYPTION='N' */",
        "DROP TABLE IF EXISTS `t`",
        "CREATE TABLE `t` (`id` int NOT NULL AUTO_INCREMENT, `c` char(120) COLLATE utf8mb4_general_ci NOT NULL DEFAULT '', `ts` timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP, `g` int GENERATED ALWAYS AS ((`id` + 1)) STORED, `e` enum('a','b') CHARACTER SET latin1 COLLATE latin1_swedish_ci DEFAULT NULL, PRIMARY KEY (`id`), UNIQUE KEY `u` (`c`(10) DESC), KEY `f` ((lower(`c`))), CONSTRAINT `fk` FOREIGN KEY (`id`) REFERENCES `p` (`id`) ON DELETE CASCADE ON UPDATE SET NULL, CONSTRAINT `ck` CHECK ((`id` > 0)) /*!80016 NOT ENFORCED */) ENGINE=InnoDB AUTO_INCREMENT=5 DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci ROW_FORMAT=DYNAMIC COMMENT='x' /*!50100 PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (10) ENGINE = InnoDB, PARTITION p1 VALUES LESS THAN MAXVALUE ENGINE = InnoDB) */",
        "LOCK TABLES `t` WRITE, `u` READ /*!32311 LOCAL */",
        "/*!40000 ALTER TABLE `t` DISABLE KEYS */",
        "INSERT INTO `t` VALUES (1,'a',_binary 'x\\'y',0x00FF,NULL,-1.5e10),(2,'b','','',NULL,+3)",
        "UNLOCK TABLES",
        "SET @@GLOBAL.GTID_PURGED=/*!80000 '+'*/ '3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5'",
        "CHANGE REPLICATION SOURCE TO SOURCE_LOG_FILE='binlog.000001', SOURCE_LOG_POS=157",
        "/*!50003 CREATE*/ /*!50017 DEFINER=`root`@`localhost`*/ /*!50003 TRIGGER tr BEFORE INSERT ON t FOR EACH ROW SET NEW.a = 1 */",
        "/*!50001 CREATE ALGORITHM=UNDEFINED */ /*!50013 DEFINER=`root`@`localhost` SQL SECURITY DEFINER */ /*!50001 VIEW `v` AS select 1 AS `1` */",
    ] {
        accepts(sql);
    }
    // What MariaDB's dumps hold beyond MySQL is a comment for MySQL.
    assert_eq!(parse(b"/*M!999999\\- enable the sandbox mode */", &ParseOptions::default()), Ok(None));
    assert_eq!(
        parse(b"/*M!100616 SET @OLD_NOTE_VERBOSITY=@@NOTE_VERBOSITY */;", &ParseOptions::default()),
        Ok(None)
    );
}

#[test]
fn sysbench() {
    for sql in [
        "CREATE TABLE sbtest1(id INTEGER NOT NULL AUTO_INCREMENT, k INTEGER DEFAULT '0' NOT NULL, c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id)) /*! ENGINE = innodb */ ",
        "CREATE INDEX k_1 ON sbtest1(k)",
        "SELECT c FROM sbtest1 WHERE id=?",
        "SELECT c FROM sbtest1 WHERE id BETWEEN ? AND ?",
        "SELECT SUM(k) FROM sbtest1 WHERE id BETWEEN ? AND ?",
        "SELECT DISTINCT c FROM sbtest1 WHERE id BETWEEN ? AND ? ORDER BY c",
        "UPDATE sbtest1 SET k=k+1 WHERE id=?",
        "DELETE FROM sbtest1 WHERE id=?",
        "INSERT INTO sbtest1 (id, k, c, pad) VALUES (?, ?, ?, ?)",
        "INSERT INTO sbtest1(k, c, pad) VALUES(4993, 'a', 'b'),(5, 'c', 'd')",
    ] {
        accepts(sql);
    }
    assert_eq!(parse_one("SELECT c FROM sbtest1 WHERE id BETWEEN ? AND ?").parameters, 2);
}

#[test]
fn one_after_the_other() {
    let options = ParseOptions::default();
    let sql = b"select 1 ; -- x\n select 2;; select 3 /* end */ ";
    let mut parser = Parser::new(sql, &options);
    let mut found = Vec::new();
    for _ in 0..4 {
        let statement = parser.next_statement().unwrap();
        let text = statement.map(|it| String::from_utf8_lossy(it.span.of(sql)).into_owned());
        found.push((text, parser.position()));
    }
    let text = |it: &str| Some(it.to_owned());
    assert_eq!(
        found,
        [(text("select 1"), 10), (text("select 2"), 26), (None, 27), (text("select 3"), sql.len())]
    );
    assert_eq!(parser.next_statement(), Ok(None));
}

/// The log has statements as they were written: half a comment would be no statement for replicas.
#[test]
fn versioned_comments_are_whole_in_a_statements_text() {
    let options = ParseOptions::default();
    for (sql, own) in [
        ("create table t (a int) /*! engine = innodb */", "create table t (a int) /*! engine = innodb */"),
        ("select 1 /*! + 1 /* x */ */ /*! */ ; ", "select 1 /*! + 1 /* x */ */"),
        (
            " /*!40000 alter table t */ /*!50000 add a int*/;",
            "/*!40000 alter table t */ /*!50000 add a int*/",
        ),
        ("/*!40101 set @a = 1 */", "/*!40101 set @a = 1 */"),
        ("/*!40101 select 1; */ select 2", "select 1"),
        ("select 1 /*!99999 + 1 */ ; ", "select 1"),
        ("select 1 ; /*! select 2 */", "select 1"),
    ] {
        let mut parser = Parser::new(sql.as_bytes(), &options);
        let statement = parser.next_statement().unwrap().unwrap();
        assert_eq!(String::from_utf8_lossy(statement.span.of(sql.as_bytes())), own, "{sql}");
    }
}

#[test]
fn long_lists_are_flat() {
    let sql = format!("select 1 from t where {}1", "a = 1 or b = 2 and c = 3 or ".repeat(5000));
    accepts(&sql);
    accepts(&format!("insert into t values {}(1)", "(1,2,3),".repeat(20_000)));
    accepts(&format!("select 1 in ({}1)", "1,".repeat(20_000)));
}
