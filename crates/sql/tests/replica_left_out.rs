//! What an applier leaves out by its filters, and what it goes on after (`replica_skip_errors`):
//! in either case the group is in the log, empty, under its own name, and the channel's position
//! moves on. The outcomes were taken from MySQL 9.7.
#![allow(clippy::unwrap_used)]

mod common;

use std::sync::Arc;
use std::time::Duration;

use binlog::event::{
    ChecksumAlgorithm, EncodeEvent, EventOrigin, FormatDescription, GtidEvent, QueryEvent, RotateEvent,
    StatusVars, append_event,
};
use binlog::gtid::{Gtid, Uuid};
use common::{Server, rows, run, value};
use sql::replica::{Applier, Channel, Filter, FilterRule, ReceivedEvent, ReplicaThread, SourceConfig};
use sql::variables::GlobalVariables;

const SOURCE: &str = "99999999-2222-3333-4444-555555555555";

/// A replica whose source's events the test gives it.
struct Replica {
    server: Server,
    channel: Arc<Channel>,
    gno: u64,
}

impl Replica {
    /// `auto_position` follows by GTIDs.
    fn new(globals: GlobalVariables, auto_position: bool) -> Self {
        let server = Server::try_open_with(env::SimEnv::new(1), Arc::new(globals)).unwrap();
        let config = SourceConfig { host: "source".into(), auto_position, ..SourceConfig::default() };
        let channel = Arc::new(Channel::new("", config));
        channel.with(|state| state.applier.wanted = true);
        Self { server, channel, gno: 0 }
    }

    /// One that goes on after these errors.
    fn skipping(errors: &str, auto_position: bool) -> Self {
        let globals = GlobalVariables::new();
        let id = sql::variables::find("replica_skip_errors").unwrap();
        globals.set_option(id, Some(errors)).unwrap();
        Self::new(globals, auto_position)
    }

    fn sql(&self, sql: &str) {
        run(&mut self.server.session(), sql).unwrap();
    }

    /// Applies one group of these statements; those of a transaction are between BEGIN and COMMIT.
    fn apply(&mut self, database: &str, statements: &[&str]) -> Result<(), String> {
        let mut applier = Applier::new(&self.server.instance, &self.channel).unwrap();
        self.gno += 1;
        let at = self.gno * 1000;
        applier.apply(&received(&FormatDescription::new("9.7.4", 0), 0)).unwrap();
        applier.apply(&received(&gtid_event(self.gno), at)).unwrap();
        for (number, sql) in (1..).zip(statements) {
            let query = QueryEvent {
                status: StatusVars { flags2: Some(0), charset: Some([33, 33, 255]), ..StatusVars::default() },
                ..QueryEvent::new(7, database.as_bytes(), sql.as_bytes())
            };
            applier.apply(&received(&query, at + number)).map_err(|e| e.message)?;
        }
        applier.finish().unwrap();
        Ok(())
    }

    /// The groups are in the log, all of them, and the channel is behind the last event.
    fn check_logged(&self) {
        let executed = value(&mut self.server.session(), "SELECT @@global.gtid_executed");
        let expected = match self.gno {
            1 => format!("{SOURCE}:1"),
            last => format!("{SOURCE}:1-{last}"),
        };
        assert!(executed.contains(&expected), "{executed}");
        let offset = self.channel.with(|state| state.progress.executed.offset);
        assert_eq!(offset / 1000, self.gno);
        // And so it is read back.
        if !self.channel.with(|state| state.source.auto_position) {
            let at = sql::replica::applier::committed_position(&self.server.instance, &self.channel).unwrap();
            assert_eq!(at.position.offset, offset);
        }
    }
}

/// The beginning of a group of the source.
fn gtid_event(gno: u64) -> GtidEvent {
    GtidEvent {
        may_have_statements: true,
        gtid: Some(Gtid::new(SOURCE.parse::<Uuid>().unwrap(), gno)),
        last_committed: 0,
        sequence_number: gno,
        commit: None,
    }
}

fn received(event: &impl EncodeEvent, end: u64) -> Arc<ReceivedEvent> {
    let mut bytes = Vec::new();
    let origin = EventOrigin { timestamp: 1_700_000_000, server_id: 9, flags: 0 };
    append_event(&mut bytes, event, origin, end, ChecksumAlgorithm::Crc32);
    Arc::new(ReceivedEvent { bytes, file: "binlog.000001".into(), end })
}

/// The GTID of a definition that failed and was passed over was missing for ever: it was fetched
/// again at each start, until the source had purged it.
#[test]
fn a_statement_that_is_passed_over_is_logged_empty() {
    for auto_position in [true, false] {
        let mut replica = Replica::skipping("all", auto_position);
        replica.sql("CREATE DATABASE st");
        replica.sql("CREATE TABLE st.t (id INT PRIMARY KEY)");
        for statements in [
            &["CREATE TABLE t (id INT)"][..],
            &["DROP TABLE gone"],
            &["CREATE DATABASE st"],
            &["DROP USER nobody@localhost"],
            &["GRANT SELECT ON st.* TO nobody@localhost"],
            &["ALTER TABLE t ADD PARTITION PARTITIONS 1"],
            &["CREATE SEQUENCE s"],
            &["no statement at all"],
            &["INSERT INTO gone VALUES (1)"],
            &["BEGIN", "INSERT INTO gone VALUES (1)", "INSERT INTO t VALUES (1)", "COMMIT"],
            &["BEGIN", "CREATE TABLE t (id INT) START TRANSACTION", "COMMIT"],
            &["XA COMMIT X'61',X'',1"],
        ] {
            replica.apply("st", statements).unwrap();
            replica.check_logged();
        }
        assert_eq!(value(&mut replica.server.session(), "SELECT COUNT(*) FROM st.t"), "1");
    }
}

/// A replica with a database `keep` (a table `x` with a row, and `y`), and filters: the word of a
/// rule, a blank, and its values.
fn filtered(rules: &[&str]) -> Replica {
    let replica = Replica::new(GlobalVariables::new(), true);
    for sql in ["CREATE DATABASE keep", "CREATE TABLE keep.x (a INT)", "CREATE TABLE keep.y (a INT)"] {
        replica.sql(sql);
    }
    replica.sql("INSERT INTO keep.x VALUES (1)");
    for rule in rules {
        let (rule, values) = rule.split_once(' ').unwrap();
        let rule = FilterRule::find(&format!("REPLICATE_{rule}")).unwrap();
        let is_table = matches!(rule, FilterRule::DoTable | FilterRule::IgnoreTable);
        let split = |value: &str| match value.split_once(if is_table { '.' } else { '>' }) {
            Some((first, second)) => (first.to_owned(), second.to_owned()),
            None => (value.to_owned(), String::new()),
        };
        let values = values.split(',').map(split).collect();
        replica.channel.with(|state| state.filters.set(rule, Filter { values, ..Filter::default() }));
    }
    replica
}

/// The tables, views, triggers, routines and empty databases that are there after these statements.
fn left(rules: &[&str], setup: &[&str], database: &str, statements: &[&str]) -> String {
    let mut replica = filtered(rules);
    setup.iter().for_each(|sql| replica.sql(sql));
    for sql in statements {
        replica.apply(database, &[sql]).unwrap_or_else(|e| panic!("{rules:?}: {sql}: {e}"));
        replica.check_logged();
    }
    let found = "SELECT CONCAT(schema_name, '.') n FROM information_schema.schemata \
                   WHERE schema_name NOT IN (SELECT table_schema FROM information_schema.tables) \
                 UNION ALL SELECT CONCAT(table_schema, '.', table_name) FROM information_schema.tables \
                 UNION ALL SELECT CONCAT(trigger_schema, '.', trigger_name) FROM information_schema.triggers \
                 UNION ALL SELECT CONCAT(routine_schema, '.', routine_name) FROM information_schema.routines \
                 UNION ALL SELECT CONCAT('@', user) FROM mysql.user WHERE user LIKE 'g_'";
    let of_system = ["mysql.", "sys.", "information_schema.", "performance_schema."];
    let mut names = rows(&mut replica.server.session(), found).concat();
    names.retain(|name| !of_system.iter().any(|system| name.starts_with(system)));
    names.sort();
    names.join(" ")
}

/// CREATE, ALTER and DROP DATABASE ran whatever the patterns of tables said: a database that the
/// replica was to keep went with its tables.
#[test]
fn definitions_of_databases_are_left_out_by_patterns() {
    let drop = |rules: &[&str]| {
        left(rules, &[], "keep", &["ALTER DATABASE keep CHARACTER SET latin1", "DROP DATABASE keep"])
    };
    let create = |rules: &[&str], name: &str| left(rules, &[], name, &[&format!("CREATE DATABASE {name}")]);
    for kept in [
        &["WILD_IGNORE_TABLE keep%.%"][..],
        &["WILD_DO_TABLE other%.%"],
        &["WILD_DO_TABLE keep.x%"],
        &["DO_DB o"],
        &["IGNORE_DB keep,p"],
        &["REWRITE_DB keep>two", "WILD_IGNORE_TABLE two.%"],
    ] {
        assert_eq!(drop(kept), "keep.x keep.y", "{kept:?}");
    }
    for dropped in [
        &["DO_DB keep", "WILD_IGNORE_TABLE keep.%"][..],
        &["IGNORE_DB other", "WILD_DO_TABLE nope.%"],
        &["IGNORE_TABLE keep.x"],
        &["DO_TABLE o.x"],
    ] {
        assert_eq!(drop(dropped), "", "{dropped:?}");
    }
    assert_eq!(create(&["WILD_DO_TABLE other%.%"], "othera"), "keep.x keep.y othera.");
    assert_eq!(create(&["WILD_DO_TABLE other%.t%"], "othera"), "keep.x keep.y");
}

#[test]
fn the_first_name_decides_that_a_rule_names() {
    let check = |rule: &str, setup: &[&str], statements: &[&str], expected: &str| {
        assert_eq!(left(&[rule], setup, "keep", statements), expected, "{rule}: {statements:?}");
    };
    // Views are named like tables; what they select from does not count.
    let (view, views) = (
        ["CREATE VIEW keep.v AS SELECT 1"],
        ["CREATE VIEW keep.va AS SELECT 1", "CREATE VIEW keep.vb AS SELECT 1"],
    );
    check(
        "IGNORE_TABLE keep.v",
        &[],
        &["CREATE VIEW v AS SELECT * FROM x", "ALTER VIEW v AS SELECT 1"],
        "keep.x keep.y",
    );
    check("IGNORE_TABLE keep.v", &view, &["DROP VIEW v"], "keep.v keep.x keep.y");
    check("IGNORE_TABLE keep.vb", &views, &["DROP VIEW va, vb"], "keep.va keep.vb keep.x keep.y");
    check("DO_TABLE keep.x", &[], &["CREATE VIEW v AS SELECT * FROM x"], "keep.x keep.y");
    check("WILD_DO_TABLE a_b.%", &[], &["CREATE VIEW v AS SELECT * FROM gone"], "keep.x keep.y");
    check(
        "WILD_DO_TABLE keep.v%",
        &[],
        &["CREATE VIEW v AS SELECT * FROM y", "CREATE VIEW w AS SELECT 1"],
        "keep.v keep.x keep.y",
    );
    // Several names.
    check("IGNORE_TABLE keep.y", &[], &["RENAME TABLE x TO y"], "keep.x keep.y");
    check("DO_TABLE keep.z", &[], &["RENAME TABLE x TO q, y TO z"], "keep.q keep.z");
    check("IGNORE_TABLE keep.x", &[], &["DROP TABLE y, x"], "keep.x keep.y");
    check("DO_TABLE keep.x", &[], &["DROP TABLE y, x"], "keep.");
    check("IGNORE_TABLE keep.z", &[], &["ALTER TABLE x RENAME TO z"], "keep.y keep.z");
    check("IGNORE_TABLE keep.x", &[], &["ALTER TABLE x RENAME TO z"], "keep.x keep.y");
    check("IGNORE_TABLE keep.x", &[], &["CREATE TABLE z LIKE x"], "keep.x keep.y keep.z");
    // Routines name no table.
    check("WILD_DO_TABLE a.%", &[], &["CREATE PROCEDURE p() SELECT * FROM x"], "keep.p keep.x keep.y");
}

#[test]
fn a_trigger_is_left_out_with_its_table() {
    let create = "CREATE TRIGGER keep.tr BEFORE INSERT ON keep.x FOR EACH ROW SET NEW.a = 5";
    assert_eq!(left(&["IGNORE_TABLE keep.x"], &[], "keep", &[create, "DROP TRIGGER tr"]), "keep.x keep.y");
    assert_eq!(
        left(&["IGNORE_TABLE keep.x"], &[create], "keep", &["DROP TRIGGER tr"]),
        "keep.tr keep.x keep.y"
    );
    assert_eq!(
        left(&["WILD_IGNORE_TABLE keep.%"], &[create], "", &["DROP TRIGGER keep.tr"]),
        "keep.tr keep.x keep.y"
    );
    // MySQL passes over one that is not there, also without filters.
    assert_eq!(left(&[], &[], "keep", &["DROP TRIGGER tr", "DROP TRIGGER gone.tr"]), "keep.x keep.y");
}

/// What ends a transaction, or goes back in it, was left out with the default database of its
/// session: it is done whatever that is. (There is nothing to go back to, and no branch.)
#[test]
fn what_ends_a_transaction_is_not_left_out() {
    let mut replica = filtered(&["IGNORE_DB keep"]);
    replica.apply("keep", &["BEGIN", "SAVEPOINT a", "ROLLBACK TO `a`", "COMMIT"]).unwrap();
    replica.check_logged();
    assert!(replica.apply("keep", &["BEGIN", "ROLLBACK TO `gone`"]).is_err());
    assert!(replica.apply("keep", &["XA COMMIT X'61',X'',1"]).is_err());
}

/// Statements without a default database passed, whatever databases a rule listed: a replica of one
/// database got all others' definitions, and the accounts.
#[test]
fn statements_without_a_default_database_are_of_none_that_a_rule_lists() {
    let statements =
        ["CREATE DATABASE o", "CREATE TABLE keep.z (a INT)", "DROP TABLE keep.y", "CREATE USER g1@x"];
    let left = |rule: &str| left(&[rule], &[], "", &statements);
    assert_eq!(left("DO_DB keep"), "keep.x keep.y");
    assert_eq!(left("IGNORE_DB keep"), "@g1 keep.x keep.z o.");
    // What a database's own definition names is that database, as its source logs it.
    assert_eq!(self::left(&["DO_DB o"], &[], "o", &["CREATE DATABASE o"]), "keep.x keep.y o.");
}

/// Only transactions and heartbeats moved the position: who waited for the end of a source's log
/// (SOURCE_POS_WAIT) waited for ever where an event of another kind was the last one.
#[test]
fn the_position_follows_events_between_transactions() {
    let mut replica = Replica::new(GlobalVariables::new(), false);
    replica.apply("", &["CREATE DATABASE st"]).unwrap();
    let executed = |replica: &Replica| replica.channel.with(|state| state.progress.executed.offset);
    let mut applier = Applier::new(&replica.server.instance, &replica.channel).unwrap();
    applier.apply(&received(&FormatDescription::new("9.7.4", 0), 0)).unwrap();
    assert_eq!(executed(&replica), 1001);
    let rotate = RotateEvent { position: 4, file_name: b"binlog.000002" };
    for (end, expected) in [(0, 1001), (900, 1001), (1100, 1100), (1044, 1100), (1200, 1200)] {
        applier.apply(&received(&rotate, end)).unwrap();
        assert_eq!(executed(&replica), expected, "{end}");
    }
    // Within a transaction there is nothing to wait for yet.
    applier.apply(&received(&gtid_event(2), 1300)).unwrap();
    applier.apply(&received(&rotate, 1400)).unwrap();
    assert_eq!(executed(&replica), 1200);
}

/// Rules of tables are asked about MySQL's tables of accounts.
#[test]
fn accounts_are_tables_of_mysql() {
    let create = |rule: &str| left(&[rule], &[], "keep", &["CREATE USER g1@x"]);
    assert_eq!(create("DO_TABLE keep.y"), "keep.x keep.y");
    assert_eq!(create("WILD_IGNORE_TABLE mysql.%"), "keep.x keep.y");
    assert_eq!(create("IGNORE_TABLE keep.x"), "@g1 keep.x keep.y");
    assert_eq!(create("DO_TABLE mysql.user"), "@g1 keep.x keep.y");
}

/// The lag was 0 as long as SOURCE_DELAY held a transaction back.
#[test]
fn a_transaction_that_is_held_back_is_behind() {
    let replica = Replica::new(GlobalVariables::new(), true);
    replica.channel.with(|state| state.source.delay = Duration::from_secs(1 << 32));
    let (instance, channel) = (replica.server.instance.clone(), replica.channel.clone());
    let applier = std::thread::spawn(move || {
        let mut applier = Applier::new(&instance, &channel).unwrap();
        applier.apply(&received(&FormatDescription::new("9.7.4", 0), 0)).unwrap();
        let _ = applier.apply(&received(&gtid_event(1), 1000));
    });
    let is_held =
        replica.channel.wait_until(Duration::from_secs(60), |state| state.progress.remaining_delay.is_some());
    assert!(is_held);
    assert_eq!(replica.channel.with(|state| state.progress.applying_since), 1_700_000_000);
    replica.channel.stop(ReplicaThread::Applier);
    applier.join().unwrap();
}
