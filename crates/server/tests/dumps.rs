//! Dumps of a MariaDB database with tables of all types load here, and dumps of what was loaded
//! load there again: both ways every row is the same. `dumps/all_types.sql` makes the database,
//! with the edges of all types' values.
#![allow(clippy::unwrap_used)]

use std::io::Write;
use std::process::{Output, Stdio};

use servers::{Launch, Running, ServerKind};

const DATABASE: &str = include_str!("dumps/all_types.sql");

/// The tables, each with the columns that order its rows.
const TABLES: [(&str, &str); 5] =
    [("numbers", "id"), ("texts", "c, v"), ("times", "id"), ("computed", "id"), ("nothing", "`odd ``name`")];

fn start(kind: ServerKind, folder: &tempfile::TempDir) -> Running {
    Launch::new(kind, folder.path()).unwrap().binary(env!("CARGO_BIN_EXE_duramen")).start().unwrap()
}

/// Runs a script through the client, which knows DELIMITER and passes bytes on as they are.
fn load(server: &Running, script: &[u8]) {
    let mut client = server.client("mariadb");
    client.arg("--default-character-set=utf8mb4").stdin(Stdio::piped()).stderr(Stdio::piped());
    let mut client = client.spawn().unwrap();
    // A client that failed has closed its end; what it said is looked at below.
    let _ = client.stdin.take().unwrap().write_all(script);
    let done = client.wait_with_output().unwrap();
    assert!(done.status.success(), "{:?}: {}", server.kind(), String::from_utf8_lossy(&done.stderr));
}

fn run_dump(server: &Running, args: &[&str]) -> Output {
    server.client("mariadb-dump").args(args).output().unwrap()
}

fn dump(server: &Running, args: &[&str]) -> Vec<u8> {
    let done = run_dump(server, args);
    let error = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success() && error.is_empty(), "{args:?}: {error}");
    done.stdout
}

/// Asserts that both servers hold the same rows.
fn check_equal(a: &Running, b: &Running, what: &str) {
    for (table, order) in TABLES {
        let columns = "SELECT COLUMN_NAME, DATA_TYPE FROM information_schema.COLUMNS \
                       WHERE TABLE_SCHEMA = 'everything' AND TABLE_NAME = ";
        let columns = a.sql(&format!("{columns}'{table}' ORDER BY ORDINAL_POSITION")).unwrap();
        let items: Vec<String> = columns.lines().map(item).collect();
        let query = format!(
            "SET NAMES utf8mb4; SET time_zone = '+00:00'; SELECT {} FROM everything.{table} ORDER BY {order}",
            items.join(", ")
        );
        let (of_a, of_b) = (a.sql(&query).unwrap(), b.sql(&query).unwrap());
        assert_eq!(of_a.is_empty(), table == "nothing", "{table}");
        assert!(of_a == of_b, "{what}: {table}\n{:.2000}\n{:.2000}", of_a, of_b);
    }
}

/// A column as it is compared: text and bytes in hexadecimal digits.
fn item(line: &str) -> String {
    let (name, ty) = line.split_once('\t').unwrap();
    let name = format!("`{}`", name.replace('`', "``"));
    let is_text =
        ["char", "text", "binary", "blob", "bit", "enum", "set", "json"].iter().any(|t| ty.contains(t));
    if is_text { format!("HEX({name})") } else { name }
}

/// The triggers are there, in their order, and the event is.
fn check_triggers(server: &Running) {
    let tried = "BEGIN; INSERT INTO everything.watched (a) VALUES (4); \
                 SELECT b, c FROM everything.watched; ROLLBACK";
    let event = "SELECT EVENT_NAME, STARTS, ON_COMPLETION, EVENT_COMMENT, EVENT_DEFINITION LIKE '%a + 1;%END' \
                 FROM information_schema.EVENTS WHERE EVENT_SCHEMA = 'everything'";
    let shown = "later\t2037-01-01 00:00:00\tPRESERVE\tit's\t1";
    assert_eq!(server.sql(event).unwrap(), shown, "{:?}", server.kind());
    assert_eq!(server.sql(tried).unwrap(), "8\tx;x;y'z", "{:?}", server.kind());
}

#[test]
fn a_database_of_all_types_goes_from_mariadb_to_duramen_and_back() {
    let folder = tempfile::tempdir().unwrap();
    let (maria, duramen) = (start(ServerKind::MariaDb, &folder), start(ServerKind::Duramen, &folder));
    load(&maria, DATABASE.as_bytes());
    let full = ["--databases", "everything", "--routines", "--triggers", "--events"];
    let forms: [&[&str]; 4] = [
        &[],
        &["--single-transaction", "--master-data=2"],
        &["--hex-blob", "--complete-insert"],
        &["--skip-extended-insert"],
    ];
    for form in forms {
        let args = [&full, form].concat();
        duramen.sql("DROP DATABASE IF EXISTS everything").unwrap();
        load(&duramen, &dump(&maria, &args));
        check_equal(&maria, &duramen, &format!("to Duramen {form:?}"));
        assert_eq!(duramen.sql("SELECT everything.twice(21)").unwrap(), "42");
        assert_eq!(duramen.sql("CALL everything.twice(21, @m); SELECT @m").unwrap(), "42");
        check_triggers(&duramen);

        let back = dump(&duramen, &args);
        maria.sql("DROP DATABASE everything").unwrap();
        load(&maria, &back);
        check_equal(&duramen, &maria, &format!("to MariaDB {form:?}"));
        assert_eq!(maria.sql("SELECT everything.twice(21)").unwrap(), "42");
        assert_eq!(maria.sql("CALL everything.twice(21, @m); SELECT @m").unwrap(), "42");
        check_triggers(&maria);
    }
}

#[test]
fn options_of_the_dump_tool_are_answered() {
    let folder = tempfile::tempdir().unwrap();
    let duramen = start(ServerKind::Duramen, &folder);
    duramen
        .sql("CREATE DATABASE d; CREATE TABLE d.t (a INT, b VARBINARY(9)); INSERT INTO d.t VALUES (1, 'x')")
        .unwrap();
    duramen.sql("CREATE DATABASE e; CREATE TABLE e.t (a INT PRIMARY KEY)").unwrap();

    let text = |args: &[&str]| String::from_utf8(dump(&duramen, args)).unwrap();
    let all =
        text(&["--all-databases", "--single-transaction", "--flush-logs", "--master-data=1", "--routines"]);
    assert!(
        all.contains("USE `d`")
            && all.contains("USE `e`")
            && all.contains("CHANGE MASTER TO MASTER_LOG_FILE='binlog.000002'")
    );
    assert!(!all.contains("`user`") && !all.contains("USE `performance_schema`"), "{all}");
    assert!(text(&["--compact", "d"]).contains("INSERT INTO `t` VALUES\n(1,'x')"));
    assert!(text(&["--hex-blob", "d"]).contains("0x78"));
    assert!(!text(&["--no-data", "d"]).contains("INSERT"));
    assert!(text(&["--add-locks", "--disable-keys", "d"]).contains("LOCK TABLES `t` WRITE"));
    assert!(text(&["--xml", "d"]).contains("<field name=\"a\">1</field>"));
    assert!(text(&["--order-by-primary", "--replace", "--lock-all-tables", "d"]).contains("REPLACE INTO"));
    assert!(text(&["--insert-ignore", "--where=a > 1", "d", "t"]).contains("CREATE TABLE"));
    // Its key is not of the dump, for it was not of the definition.
    assert!(!text(&["d"]).contains("my_row_id"));

    // Without `secure_file_priv` the server writes no files.
    let tab = run_dump(&duramen, &[&format!("--tab={}", folder.path().display()), "d"]);
    assert!(!tab.status.success() && String::from_utf8_lossy(&tab.stderr).contains("1290"));
}

/// `mysql` stands among the databases, so the tool carries the definitions of its logs; the load
/// finds them there.
#[test]
fn a_dump_of_all_databases_loads_into_another_server() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let [from, to] = folders.each_ref().map(|folder| start(ServerKind::Duramen, folder));
    load(&from, DATABASE.as_bytes());
    from.sql("CREATE DATABASE zoo CHARACTER SET latin1; CREATE TABLE zoo.t (a INT PRIMARY KEY)").unwrap();
    from.sql("INSERT INTO zoo.t VALUES (1), (2); CREATE USER u@localhost").unwrap();
    for form in
        [&["--all-databases", "--routines", "--events"][..], &["--all-databases", "--single-transaction"]]
    {
        let script = dump(&from, form);
        load(&to, &script);
        check_equal(&from, &to, &format!("{form:?}"));
        assert_eq!(to.sql("SELECT COUNT(*) FROM zoo.t").unwrap(), "2");
    }
    let databases = "SHOW DATABASES; SHOW CREATE DATABASE zoo; SHOW TABLES FROM mysql";
    assert_eq!(from.sql(databases).unwrap(), to.sql(databases).unwrap());
    // Accounts are carried by SHOW CREATE USER and SHOW GRANTS, which `mysqldump --users` asks for.
    assert_eq!(to.sql("SELECT COUNT(*) FROM mysql.user").unwrap(), "1");
}

/// A dump has each view twice: as a stand-in, for views that come before what they read, and as the
/// text that SHOW CREATE VIEW gives. A dump of what it makes is the same dump, and MariaDB takes
/// it.
#[test]
fn views_are_the_same_after_a_dump_and_a_load() {
    let folder = tempfile::tempdir().unwrap();
    let (maria, duramen) = (start(ServerKind::MariaDb, &folder), start(ServerKind::Duramen, &folder));
    duramen
        .sql(
            r"SET NAMES utf8mb4 COLLATE utf8mb4_general_ci; CREATE DATABASE shop COLLATE utf8mb4_general_ci;
            USE shop; CREATE TABLE t (id INT PRIMARY KEY, a INT, b VARCHAR(20));
            INSERT INTO t VALUES (1, 10, 'one'), (2, 20, 'two');
            CREATE TABLE u (id INT PRIMARY KEY, t_id INT, n DECIMAL(8,2));
            INSERT INTO u VALUES (5, 1, 1.5), (6, 2, 2.5);
            CREATE VIEW z AS SELECT * FROM t WHERE a > 5 WITH CASCADED CHECK OPTION;
            CREATE VIEW a_before_z (x, y) AS SELECT b, n FROM z JOIN u ON u.t_id = z.id;
            CREATE ALGORITHM = TEMPTABLE SQL SECURITY INVOKER VIEW `od``d`
                AS SELECT t_id, SUM(n) AS s, 'it''s \\' AS `q'` FROM u GROUP BY t_id;
            CREATE VIEW united AS SELECT * FROM a_before_z UNION SELECT 'x', 1",
        )
        .unwrap();
    let shown = |server: &Running| {
        server.sql("USE shop; SELECT * FROM united ORDER BY x; SELECT * FROM `od``d` ORDER BY t_id").unwrap()
    };
    let rows = shown(&duramen);
    for form in ["--lock-tables", "--single-transaction"] {
        let first = dump(&duramen, &[form, "--skip-dump-date", "--databases", "shop"]);
        duramen.sql("DROP DATABASE shop").unwrap();
        load(&duramen, &first);
        let second = dump(&duramen, &[form, "--skip-dump-date", "--databases", "shop"]);
        assert_eq!(String::from_utf8_lossy(&first), String::from_utf8_lossy(&second), "{form}");
        assert_eq!(shown(&duramen), rows, "{form}");
        let refused = duramen.sql("INSERT INTO shop.z VALUES (3, 1, 'x')").unwrap_err();
        assert!(refused.to_string().contains("1369"), "{refused}");
        maria.sql("DROP DATABASE IF EXISTS shop").unwrap();
        load(&maria, &first);
        assert_eq!(shown(&maria), rows, "{form} in MariaDB");
    }
}
