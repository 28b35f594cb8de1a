//! What an applier leaves out by its filters, and what it goes on after (`replica_skip_errors`):
//! in either case the group is in the log, empty, under its own name, and the channel's position
//! moves on. The outcomes were taken from MySQL 9.7.
#![allow(clippy::unwrap_used)]

mod common;

use std::sync::Arc;

use binlog::event::{
    ChecksumAlgorithm, EncodeEvent, EventOrigin, FormatDescription, GtidEvent, QueryEvent, StatusVars,
    append_event,
};
use binlog::gtid::Gtid;
use common::{Server, run, value};
use sql::replica::{Applier, Channel, ReceivedEvent, SourceConfig};
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
        gtid: Some(Gtid { uuid: SOURCE.parse().unwrap(), gno }),
        tag: String::new(),
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
