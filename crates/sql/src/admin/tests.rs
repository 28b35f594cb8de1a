//! SET, SHOW and their like on a database of their own, in the simulated environment.
#![allow(clippy::unwrap_used)]

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use env::{Env, SimEnv};

use crate::instance::{Instance, OpenOptions};
use crate::session::{Connection, Session};
use crate::status::Status;
use crate::variables::GlobalVariables;
use datum::sink::{ColumnMeta, OkInfo, ResultSink};
use datum::value::{Datum, text};

/// A server with one client.
struct Server {
    instance: Arc<Instance>,
    session: Session,
    stopped: Arc<AtomicBool>,
}

/// Results as text: a line of names, then a line for each row.
#[derive(Default)]
struct Lines(Vec<String>);

impl ResultSink for Lines {
    fn columns(&mut self, columns: &[ColumnMeta]) -> io::Result<()> {
        let names: Vec<&str> = columns.iter().map(|c| c.name.as_str()).collect();
        self.0.push(names.join("|"));
        Ok(())
    }

    fn row(&mut self, values: &[Datum<'_>]) -> io::Result<()> {
        let cells = values.iter().map(|value| {
            let mut out = Vec::new();
            text::write(value, &mut out);
            if value.is_null() { "NULL".to_owned() } else { String::from_utf8(out).unwrap() }
        });
        self.0.push(cells.collect::<Vec<_>>().join("|"));
        Ok(())
    }

    fn finish(&mut self, ok: &OkInfo<'_>) -> io::Result<()> {
        if ok.warnings > 0 {
            self.0.push(format!("{} warnings", ok.warnings));
        }
        Ok(())
    }
}

fn connection(instance: &Instance, user: &str) -> Connection {
    Connection { with_password: true, ..Connection::local(instance.reserve_id(), user) }
}

impl Server {
    fn start() -> Self {
        let env: Arc<dyn Env> = Arc::new(SimEnv::new(1));
        env.create_dir_all(Path::new("/data")).unwrap();
        let stopped = Arc::new(AtomicBool::new(false));
        let stop = stopped.clone();
        let options = OpenOptions {
            datadir: "/data".into(),
            log_base_name: "binlog".to_owned(),
            server_uuid: "11111111-2222-3333-4444-555555555555".to_owned(),
            globals: Arc::new(GlobalVariables::new()),
            status: Arc::new(Status::default()),
            on_shutdown: Box::new(move || stop.store(true, Ordering::Relaxed)),
        };
        let instance = Instance::open(env, options).unwrap();
        instance.set_password_hasher(Box::new(|plugin, password| {
            Some([plugin.as_bytes(), b":", password].concat())
        }));
        let mut session = instance.connect(connection(&instance, "root")).unwrap();
        session.set_counters(instance.status().join());
        Self { instance, session, stopped }
    }

    /// Runs statements, one a line, and gives what the last one says.
    fn run(&mut self, statements: &str) -> String {
        statements.lines().map(|statement| run(&mut self.session, statement)).last().unwrap_or_default()
    }

    #[track_caller]
    fn check(&mut self, statements: &str, expected: &str) {
        let lines: Vec<&str> = expected.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        assert_eq!(self.run(statements), lines.join("\n"), "{statements}");
    }

    /// The one cell of the one row.
    fn value(&mut self, statement: &str) -> String {
        let shown = self.run(statement);
        shown.lines().nth(1).and_then(|row| row.rsplit('|').next()).unwrap_or(&shown).to_owned()
    }
}

fn run(session: &mut Session, statement: &str) -> String {
    let mut lines = Lines::default();
    if let Err(e) = session.execute(statement.trim().as_bytes(), &mut lines) {
        lines.0.push(format!("{} {}", e.number, e.message));
    }
    lines.0.join("\n")
}

#[test]
fn like_and_where_filter_every_listing() {
    let mut server = Server::start();
    server.check("SHOW VARIABLES LIKE 'sync\\_binlog'", "Variable_name|Value\nsync_binlog|1");
    server.check("SHOW VARIABLES LIKE 'SYNC_binlo%'", "Variable_name|Value\nsync_binlog|1");
    server.check(
        "SHOW GLOBAL VARIABLES WHERE variable_name IN ('port', 'sync_binlog') AND Value < 10",
        "Variable_name|Value\nsync_binlog|1",
    );
    server.check("SHOW VARIABLES WHERE nothing = 1", "1054 Unknown column 'nothing' in 'where clause'");
    server.check(
        "SHOW COLLATION WHERE `Default` = 'Yes' AND Charset = 'latin1'",
        "
        Collation|Charset|Id|Default|Compiled|Sortlen|Pad_attribute
        latin1_swedish_ci|latin1|8|Yes|Yes|1|PAD SPACE",
    );
    server.check(
        "SHOW CHARACTER SET LIKE 'utf8mb4'",
        "
        Charset|Description|Default collation|Maxlen
        utf8mb4|UTF-8 Unicode|utf8mb4_0900_ai_ci|4",
    );
}

#[test]
fn set_does_all_or_nothing() {
    let mut server = Server::start();
    server.check(
        "SET wait_timeout = 5, sync_binlog = 2",
        "1229 Variable 'sync_binlog' is a GLOBAL variable and should be set with SET GLOBAL",
    );
    assert_eq!(server.value("SHOW VARIABLES LIKE 'wait_timeout'"), "28800");
    server.check("SET GLOBAL sync_binlog = 7, nothing = 1", "1193 Unknown system variable 'nothing'");
    assert_eq!(server.value("SHOW VARIABLES LIKE 'sync_binlog'"), "1");
    server.check("SET GLOBAL sync_binlog = 3, @@wait_timeout = 5, @a = 1, @b = @a, net_read_timeout = 9", "");
    assert_eq!(server.value("SHOW GLOBAL VARIABLES LIKE 'net_read_timeout'"), "9");
    assert_eq!(server.value("SHOW VARIABLES LIKE 'net_read_timeout'"), "30");
    assert_eq!(server.value("SHOW VARIABLES LIKE 'sync_binlog'"), "3");
    assert_eq!(server.value("SHOW VARIABLES LIKE 'wait_timeout'"), "5");
    assert_eq!(server.session.user_variable("a"), Datum::Int(1));
    assert_eq!(server.session.user_variable("b"), Datum::Null);
    server.check("SET wait_timeout = 0", "1 warnings");
    server.check(
        "SHOW WARNINGS",
        "Level|Code|Message\nWarning|1292|Truncated incorrect wait_timeout value: '0'",
    );
    server.check("SHOW COUNT(*) WARNINGS", "@@session.warning_count\n1");
    server.check(
        "SET PERSIST sync_binlog = 1",
        "1235 This version of Duramen doesn't yet support 'SET PERSIST'",
    );
}

#[test]
fn words_defaults_and_expressions_are_values() {
    let mut server = Server::start();
    let modes = |server: &mut Server| server.value("SHOW VARIABLES LIKE 'sql_mode'");
    server.check("SET sql_mode = ANSI_QUOTES, autocommit = OFF, @x := 2 * 3", "");
    assert_eq!(modes(&mut server), "ANSI_QUOTES");
    assert_eq!(server.session.user_variable("X"), Datum::Int(6));
    server.check("SET SESSION sql_mode = DEFAULT, autocommit = 1", "");
    assert!(modes(&mut server).starts_with("ONLY_FULL_GROUP_BY"));
    server.check("SET sql_mode = CONCAT(@@sql_mode, ',PIPES_AS_CONCAT')", "");
    assert!(modes(&mut server).starts_with("PIPES_AS_CONCAT,ONLY_FULL_GROUP_BY"));
    server.check("SET timestamp = 1.5, last_insert_id = 12", "");
    assert_eq!(server.value("SHOW VARIABLES LIKE 'last_insert_id'"), "12");
    server.check("SET GLOBAL max_connections = @x + 4", "");
    assert_eq!(server.value("SHOW GLOBAL VARIABLES LIKE 'max_connections'"), "10");
    server.check("SET sql_log_bin = 0", "1 warnings");
}

#[test]
fn names_and_character_set() {
    let mut server = Server::start();
    server.check("SET NAMES latin1", "");
    server.check("SHOW VARIABLES WHERE Variable_name IN ('character_set_client', 'character_set_results', 'collation_connection')", "
        Variable_name|Value
        character_set_client|latin1
        character_set_results|latin1
        collation_connection|latin1_swedish_ci");
    server.check("SET NAMES 'utf8mb4' COLLATE 'utf8mb4_bin'", "");
    assert_eq!(server.value("SHOW VARIABLES LIKE 'collation_connection'"), "utf8mb4_bin");
    server.check(
        "SET NAMES latin1 COLLATE utf8mb4_bin",
        "1253 COLLATION 'utf8mb4_bin' is not valid for CHARACTER SET 'latin1'",
    );
    server.check("SET NAMES klingon", "1115 Unknown character set: 'klingon'");
    server.check("SET CHARACTER SET latin1", "");
    assert_eq!(server.value("SHOW VARIABLES LIKE 'collation_connection'"), "utf8mb4_0900_ai_ci");
    server.check("SET NAMES DEFAULT", "");
    assert_eq!(server.value("SHOW VARIABLES LIKE 'character_set_client'"), "utf8mb4");
}

#[test]
fn transactions_are_set_for_server_session_and_the_next_one() {
    let mut server = Server::start();
    let level = |server: &mut Server, scope: &str| {
        server.value(&format!("SHOW {scope} VARIABLES LIKE 'transaction_isolation'"))
    };
    server.check("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ ONLY", "");
    assert_eq!(level(&mut server, "SESSION"), "READ-COMMITTED");
    assert_eq!(level(&mut server, "GLOBAL"), "REPEATABLE-READ");
    assert_eq!(server.value("SHOW VARIABLES LIKE 'transaction_read_only'"), "ON");
    server.check("SET GLOBAL TRANSACTION ISOLATION LEVEL SERIALIZABLE", "");
    assert_eq!(level(&mut server, "GLOBAL"), "SERIALIZABLE");
    server.check("SET TRANSACTION READ WRITE", "");
    server.check(
        "BEGIN\nSET TRANSACTION READ ONLY",
        "1568 Transaction characteristics can't be changed while a transaction is in progress",
    );
    server.check("ROLLBACK\nSET autocommit = 0\nBEGIN\nSET autocommit = 1", "");
    assert_eq!(server.session.status(), datum::sink::status_flag::AUTOCOMMIT, "it committed");
}

#[test]
fn status_counts_what_was_shown() {
    let mut server = Server::start();
    server.run("SHOW DATABASES");
    server
        .check("SHOW SESSION STATUS LIKE 'Com_show_databases'", "Variable_name|Value\nCom_show_databases|1");
    server.check(
        "FLUSH STATUS\nSHOW SESSION STATUS LIKE 'Com_show_databases'",
        "Variable_name|Value\nCom_show_databases|0",
    );
    server.check(
        "SHOW GLOBAL STATUS WHERE Variable_name = 'Com_show_databases'",
        "Variable_name|Value\nCom_show_databases|1",
    );
}

#[test]
fn the_engine_tells_what_it_is_doing() {
    let mut server = Server::start();
    server.run("CREATE DATABASE d\nCREATE TABLE d.t (a INT PRIMARY KEY)\nINSERT INTO d.t VALUES (1)");
    let report = server.run("SHOW ENGINE DURAMEN STATUS");
    assert!(report.starts_with("Type|Name|Status\nDuramen||===="), "{report}");
    for part in [
        "\nTRANSACTIONS\n",
        "\nLOG\n---\nWritten up to binlog.000001:",
        "Every group waits for its flush (sync_binlog=1, innodb_flush_log_at_trx_commit=1)",
        "\nGROUPS\n",
        "\nFLUSHES\n",
        "\nCHECKPOINT\n",
        "\nMEMTABLES\n",
        "By level 0: 0, 1: 0",
        "\nCACHE\n",
        "0 row locks held; 0 waits now",
        "\nSNAPSHOTS\n",
        "\n0 transactions got a file of their own",
        "\nEND OF DURAMEN MONITOR OUTPUT\n",
    ] {
        assert!(report.contains(part), "no {part:?} in {report}");
    }
    server.run("SET GLOBAL sync_binlog = 7\nSET GLOBAL innodb_flush_log_at_trx_commit = 2");
    let report = server.run("SHOW ENGINE InnoDB STATUS");
    assert!(report.starts_with("Type|Name|Status\nInnoDB||===="), "{report}");
    assert!(report.contains("INNODB MONITOR OUTPUT") && report.contains("One of 7 groups waits"), "{report}");
    server.check("SHOW ENGINE nonsense STATUS", "1286 Unknown storage engine 'nonsense'");
}

/// The files that were asked for stayed, and nothing said why.
#[test]
fn a_file_that_is_being_sent_is_not_purged() {
    let mut server = Server::start();
    for name in ["a", "b", "c"] {
        server.run(&format!("CREATE DATABASE {name}\nFLUSH BINARY LOGS"));
    }
    let replicas = server.instance.replicas();
    replicas.begin_stream(7, "", 0, false);
    let in_third = binlog::LogPosition::new(binlog::FileNumber(3), 4);
    replicas.sent_mark(7).store(in_third.to_u64(), Ordering::Relaxed);
    server.run("CREATE DATABASE d");
    server.check("PURGE BINARY LOGS TO 'binlog.000004'", "1 warnings");
    server.check(
        "SHOW WARNINGS",
        "Level|Code|Message\nWarning|1867|file ./binlog.000003 was not purged because it was being read by 1 thread(s), \
         purged only 2 out of 3 files.",
    );
    assert!(server.run("SHOW BINARY LOGS").contains("\nbinlog.000003|"));
    server.instance.replicas().end_stream(7);
    server.check("PURGE BINARY LOGS TO 'binlog.000004'", "");
    server.check("SHOW WARNINGS", "Level|Code|Message");
    let left = server.run("SHOW BINARY LOGS");
    assert!(!left.contains("binlog.000003|"), "{left}");
}

#[test]
fn the_log_is_shown_and_purged() {
    let mut server = Server::start();
    // The account root is the log's first entry, in two groups.
    server.run("FLUSH BINARY LOGS");
    let logs = server.run("SHOW BINARY LOGS");
    assert!(logs.starts_with("Log_name|File_size|Encrypted\nbinlog.000001|"), "{logs}");
    assert!(logs.ends_with("|No\nbinlog.000002|198|No"), "{logs}");
    server.check("SHOW BINARY LOG STATUS", "File|Position|Binlog_Do_DB|Binlog_Ignore_DB|Executed_Gtid_Set\nbinlog.000002|198|||11111111-2222-3333-4444-555555555555:1-2");
    server.run("CREATE DATABASE d");
    let events = server.run("SHOW BINLOG EVENTS IN 'binlog.000002'");
    let infos: Vec<&str> = events.lines().filter_map(|row| row.rsplit('|').next()).collect();
    assert_eq!(infos[0], "Info");
    assert!(infos[1].starts_with("Server ver: 8.4.8"), "{events}");
    assert_eq!(infos[3], "SET @@SESSION.GTID_NEXT= '11111111-2222-3333-4444-555555555555:3'");
    assert_eq!(infos[4], "CREATE DATABASE d");
    let limited = server.run("SHOW BINLOG EVENTS IN 'binlog.000002' FROM 198 LIMIT 1,1");
    assert!(limited.ends_with("CREATE DATABASE d") && limited.lines().count() == 2, "{limited}");
    server.check(
        "SHOW BINLOG EVENTS IN 'x'",
        "1220 Error when executing command SHOW BINLOG EVENTS: Could not find target log",
    );
    assert!(server.run("SHOW BINLOG EVENTS IN 'binlog.000002' FROM 199").contains("1220 "));
    server.run("CREATE DATABASE e\nFLUSH LOGS");
    assert_eq!(server.run("SHOW BINARY LOGS").lines().count(), 4);
    server.check("PURGE BINARY LOGS TO 'binlog.000009'", "1373 Target log not found in binlog index");
    server.check("PURGE BINARY LOGS TO 'binlog.000002'", "");
    assert!(server.run("SHOW BINARY LOGS").starts_with("Log_name|File_size|Encrypted\nbinlog.000002|"));
    assert_eq!(server.value("SHOW VARIABLES LIKE 'gtid_purged'"), "11111111-2222-3333-4444-555555555555:1-2");
    server.check("PURGE BINARY LOGS BEFORE 'whenever'", "1210 Incorrect arguments to PURGE LOGS BEFORE");
    server.check("PURGE BINARY LOGS BEFORE '1990-01-01 00:00:00'", "");
    assert!(server.run("SHOW BINARY LOGS").contains("binlog.000002|"));
    // 1868, as in MySQL: not all that was asked for.
    server.check("PURGE BINARY LOGS BEFORE NOW() + INTERVAL 1 DAY", "1 warnings");
    let left = server.run("SHOW BINARY LOGS");
    assert!(!left.contains("binlog.000001|") && left.contains("binlog.000003|"), "{left}");
    server.check("RESET BINARY LOGS AND GTIDS", "");
    assert!(server.run("SHOW BINARY LOGS").starts_with("Log_name|File_size|Encrypted\nbinlog.000001|"));
    server.check("RESET REPLICA, BINARY LOGS AND GTIDS", "");
}

#[test]
fn sessions_are_listed_and_killed() {
    let mut server = Server::start();
    let mut other = server.instance.connect(connection(&server.instance, "nobody")).unwrap();
    let all = server.run("SHOW FULL PROCESSLIST");
    // A heading, two sessions, and that the table will be removed.
    assert_eq!(all.lines().count(), 4, "{all}");
    assert!(all.contains("|root|localhost|NULL|Query|0|"), "{all}");
    assert!(all.contains("|SHOW FULL PROCESSLIST"), "{all}");
    let own = run(&mut other, "SHOW PROCESSLIST");
    assert_eq!(own.lines().count(), 3, "{own}");
    assert_eq!(
        run(&mut other, &format!("KILL {}", server.session.id())),
        "1095 You are not owner of thread 1"
    );
    server.check("KILL 77", "1094 Unknown thread id: 77");
    server.check(&format!("KILL {}", other.id()), "");
    assert!(other.is_killed());
    server.check("KILL QUERY CONNECTION_ID()", "1317 Query execution was interrupted");
    server.check("SHOW COUNT(*) ERRORS", "@@session.error_count\n1");
    assert!(!server.session.is_killed());
    server.check("SHUTDOWN", "");
    assert!(server.stopped.load(Ordering::Relaxed));
}

#[test]
fn who_is_no_administrator_changes_nothing_of_the_server() {
    let server = Server::start();
    let mut other = server.instance.connect(connection(&server.instance, "nobody")).unwrap();
    let denied = |what: &str| {
        format!("1227 Access denied; you need (at least one of) the {what} privilege(s) for this operation")
    };
    let mut check = |statement: &str, privilege: &str| {
        assert_eq!(run(&mut other, statement), denied(privilege), "{statement}");
    };
    check("SET GLOBAL sync_binlog = 0", "SUPER or SYSTEM_VARIABLES_ADMIN");
    check("FLUSH BINARY LOGS", "RELOAD");
    check("PURGE BINARY LOGS TO 'binlog.000001'", "SUPER or BINLOG_ADMIN");
    check("SHOW BINLOG EVENTS", "REPLICATION SLAVE");
    check("SHUTDOWN", "SHUTDOWN");
}

#[test]
fn everybody_changes_their_own_password_only() {
    let mut server = Server::start();
    server.run("CREATE USER nobody@localhost\nCREATE USER other@localhost");
    let mut other = server.instance.connect(connection(&server.instance, "nobody")).unwrap();
    let mut own = |statement: &str| run(&mut other, statement);
    assert_eq!(own("ALTER USER nobody@localhost IDENTIFIED BY 'a'"), "");
    assert_eq!(own("ALTER USER CURRENT_USER() IDENTIFIED BY 'b'"), "");
    assert_eq!(own("SET PASSWORD = 'c'"), "");
    assert_eq!(
        server.instance.account("nobody", "localhost").unwrap().auth_string,
        b"caching_sha2_password:c"
    );
    for refused in [
        "ALTER USER nobody@localhost ACCOUNT UNLOCK",
        "ALTER USER other@localhost IDENTIFIED BY 'a'",
        "SET PASSWORD FOR other@localhost = 'a'",
        "GRANT ALL ON *.* TO nobody@localhost",
    ] {
        let number = match refused.split(' ').next() {
            Some("GRANT") => "1045 ",
            Some("SET") => "1044 ",
            _ => "1227 ",
        };
        assert!(own(refused).starts_with(number), "{refused}");
    }
}

#[test]
fn notes_and_the_number_of_warnings_are_limited() {
    let mut server = Server::start();
    server.check("DROP DATABASE IF EXISTS x", "1 warnings");
    server.check("SET sql_notes = 0\nDROP DATABASE IF EXISTS x", "");
    server.check(
        "SET max_error_count = 1, sql_notes = 1\nSET wait_timeout = 0, net_read_timeout = 0",
        "2 warnings",
    );
    assert_eq!(server.run("SHOW WARNINGS").lines().count(), 2);
}

#[test]
fn databases_and_tables_are_shown() {
    let mut server = Server::start();
    server.check("SHOW DATABASES LIKE 'd%'", "Database (d%)");
    server.run("CREATE DATABASE d");
    server.check("SHOW DATABASES LIKE 'd%'", "Database (d%)\nd");
    server.check("SHOW TABLES", "1046 No database selected");
    server.check("SHOW TABLES FROM x", "1049 Unknown database 'x'");
    server.check("USE x", "1049 Unknown database 'x'");
    server.run("USE d\nCREATE TABLE t (id INT NOT NULL AUTO_INCREMENT, u INT, c VARCHAR(9) DEFAULT 'x' COMMENT 'says', m TIMESTAMP DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP, PRIMARY KEY (id), UNIQUE KEY u (u), KEY cu (c(3), u DESC)) CHARSET latin1");
    server.check("SHOW FULL TABLES", "Tables_in_d|Table_type\nt|BASE TABLE");
    server.check("SHOW TABLES WHERE Tables_in_d = 't'", "Tables_in_d\nt");
    server.check(
        "DESC t",
        "
        Field|Type|Null|Key|Default|Extra
        id|int|NO|PRI|NULL|auto_increment
        u|int|YES|UNI|NULL|
        c|varchar(9)|YES|MUL|x|
        m|timestamp|YES||CURRENT_TIMESTAMP|DEFAULT_GENERATED on update CURRENT_TIMESTAMP",
    );
    server.check(
        "SHOW FULL COLUMNS FROM t LIKE 'c'",
        "
        Field|Type|Collation|Null|Key|Default|Extra|Privileges|Comment
        c|varchar(9)|latin1_swedish_ci|YES|MUL|x||select,insert,update,references|says",
    );
    server.check("SHOW INDEX FROM t WHERE Key_name <> 'PRIMARY'", "
        Table|Non_unique|Key_name|Seq_in_index|Column_name|Collation|Cardinality|Sub_part|Packed|Null|Index_type|Comment|Index_comment|Visible|Expression
        t|0|u|1|u|A|0|NULL|NULL|YES|BTREE|||YES|NULL
        t|1|cu|1|c|A|0|3|NULL|YES|BTREE|||YES|NULL
        t|1|cu|2|u|D|0|NULL|NULL|YES|BTREE|||YES|NULL");
    server.check("SHOW CREATE DATABASE d", "Database|Create Database\nd|CREATE DATABASE `d` /*!40100 DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci */ /*!80016 DEFAULT ENCRYPTION='N' */");
    assert!(
        server
            .run("SHOW CREATE TABLE t")
            .starts_with("Table|Create Table\nt|CREATE TABLE `t` (\n  `id` int NOT NULL AUTO_INCREMENT")
    );
    server.check("SHOW CREATE TABLE x", "1146 Table 'd.x' doesn't exist");
    server.check("SHOW CREATE VIEW t", "1347 'd.t' is not VIEW");
    assert!(server.run("SHOW TABLE STATUS LIKE 't'").contains("\nt|InnoDB|10|Dynamic|0|0|0|0|0|0|"));
    server.check("SHOW TRIGGERS LIKE 't'", "Trigger|Event|Table|Statement|Timing|Created|sql_mode|Definer|character_set_client|collation_connection|Database Collation");
    server.check("FLUSH TABLES t, x", "1146 Table 'd.x' doesn't exist");
}

#[test]
fn accounts_are_shown() {
    let mut server = Server::start();
    let own = server.run("SHOW GRANTS");
    assert!(
        own.starts_with(
            "Grants for root@localhost\nGRANT SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, RELOAD"
        ),
        "{own}"
    );
    server.run("CREATE USER 'u'@'10.%' IDENTIFIED BY 'secret' ACCOUNT LOCK");
    server.check("SHOW GRANTS FOR 'u'@'10.%'", "Grants for u@10.%\nGRANT USAGE ON *.* TO `u`@`10.%`");
    server.check("SHOW CREATE USER 'u'@'10.%'", "CREATE USER for u@10.%\nCREATE USER `u`@`10.%` IDENTIFIED WITH 'caching_sha2_password' AS 'caching_sha2_password:secret' REQUIRE NONE PASSWORD EXPIRE DEFAULT ACCOUNT LOCK PASSWORD HISTORY DEFAULT PASSWORD REUSE INTERVAL DEFAULT PASSWORD REQUIRE CURRENT DEFAULT");
    let log = server.run("SHOW BINLOG EVENTS");
    assert!(log.contains("AS 'caching_sha2_password:secret'") && !log.contains("BY 'secret'"), "{log}");
    server.run("GRANT ALL ON *.* TO 'u'@'10.%'");
    assert!(server.run("SHOW GRANTS FOR 'u'@'10.%'").contains("DROP ROLE ON *.* TO `u`@`10.%`"));
    server.run("REVOKE ALL PRIVILEGES, GRANT OPTION FROM 'u'@'10.%'");
    server.check("SHOW GRANTS FOR 'u'@'10.%'", "Grants for u@10.%\nGRANT USAGE ON *.* TO `u`@`10.%`");
    server.check("SHOW GRANTS FOR x", "1141 There is no such grant defined for user 'x' on host '%'");
    server.check("DROP USER root@localhost", "1396 Operation DROP USER failed for 'root'@'localhost'");
    server.check(
        "REVOKE ALL ON *.* FROM root@localhost",
        "1396 Operation REVOKE failed for 'root'@'localhost'",
    );
    assert!(server.run("REVOKE INSERT ON d.t FROM 'u'@'10.%'").starts_with("1235 "));
}

#[test]
fn flush_privileges_tells_who_remembers_accounts() {
    let mut server = Server::start();
    let called = Arc::new(AtomicBool::new(false));
    let hook = called.clone();
    server.instance.set_on_flush_privileges(Box::new(move || hook.store(true, Ordering::Relaxed)));
    server.run("FLUSH STATUS");
    assert!(!called.load(Ordering::Relaxed));
    server.run("FLUSH PRIVILEGES");
    assert!(called.load(Ordering::Relaxed));
}
