//! Binary logs recorded from MySQL and MariaDB, applied as a source would send them: each table
//! ends as the recording server had it, and stays so after a power cut.
#![allow(clippy::unwrap_used)]

mod common;
#[path = "../../binlog/tests/support/mod.rs"]
mod support;

use std::sync::Arc;

use common::{Server, rows, value};
use sql::replica::{Applied, Applier, Channel, ReceivedEvent, SourceConfig};
use support::Golden;

/// Events as a receiver hands them over.
fn received(golden: &Golden) -> Vec<Arc<ReceivedEvent>> {
    let event = |(at, bytes): (u64, &[u8])| {
        let end = at + bytes.len() as u64;
        Arc::new(ReceivedEvent { bytes: bytes.to_vec(), file: "binlog.000001".into(), end })
    };
    golden.raw_events().into_iter().map(event).collect()
}

fn channel(auto_position: bool) -> Arc<Channel> {
    let source = SourceConfig { auto_position, host: "recorded".into(), ..SourceConfig::default() };
    let channel = Arc::new(Channel::new("", source));
    channel.with(|state| state.applier.wanted = true);
    channel
}

/// Applies the log from behind what the server has of it. Groups that can't be applied here are
/// told, and skipped.
fn apply(server: &Server, channel: &Arc<Channel>, events: &[Arc<ReceivedEvent>]) -> Vec<String> {
    let mut failed = Vec::new();
    loop {
        let mut applier = Applier::new(&server.instance, channel).unwrap();
        let reached = sql::replica::applier::committed_position(&server.instance, channel).unwrap();
        let by_gtids = channel.with(|state| state.source.auto_position);
        let is_new = |event: &&Arc<ReceivedEvent>| by_gtids || event.end > reached.position.offset;
        let format = &events[0];
        let outcome = std::iter::once(format)
            .chain(events.iter().skip(1).filter(is_new))
            .try_for_each(|event| applier.apply(event).map(|applied| assert_eq!(applied, Applied::Done)));
        applier.finish().unwrap();
        match outcome {
            Ok(()) => return failed,
            Err(e) => {
                let gtid = e.message.split('\'').nth(1).unwrap().to_owned();
                failed.push(e.message);
                assert!(failed.len() < 20, "{failed:#?}");
                if channel.with(|state| state.source.auto_position) {
                    let inject = format!("SET gtid_next = '{gtid}'; COMMIT; SET gtid_next = AUTOMATIC");
                    common::run(&mut server.session(), &inject).unwrap();
                } else {
                    channel.with(|state| state.skip = 1);
                }
            }
        }
    }
}

/// A table's rows as the recorded ones are written, in their order.
fn rows_of(server: &Server, table: &str) -> Vec<String> {
    let mut session = server.session();
    let columns = rows(
        &mut session,
        &format!(
            "SELECT column_name, data_type FROM information_schema.columns WHERE table_schema = 'gold' AND table_name = \
             '{table}' ORDER BY ordinal_position"
        ),
    );
    let hex = ["char", "varchar", "binary", "varbinary", "bit"];
    let shown: Vec<String> = columns
        .iter()
        .map(|column| match &*column[1] {
            ty if hex.contains(&ty) || ty.ends_with("text") || ty.ends_with("blob") => {
                format!("HEX(`{}`)", column[0])
            }
            _ => format!("`{}`", column[0]),
        })
        .collect();
    common::run(&mut session, "SET time_zone = '+00:00'").unwrap();
    let all = rows(&mut session, &format!("SELECT {} FROM gold.`{table}`", shown.join(", ")));
    let mut lines: Vec<String> = all.into_iter().map(|row| row.join("\t")).collect();
    lines.sort();
    lines
}

/// GEOMETRY and partitions are not supported: these tables stop at their definitions, and so do
/// their rows.
const UNSUPPORTED: [&str; 2] = ["docs", "part"];

fn check(server: &Server, golden: &Golden) {
    for (table, expected) in golden.tables.iter().filter(|(table, _)| !UNSUPPORTED.contains(table)) {
        let mut expected: Vec<&str> = expected.lines().collect();
        expected.sort();
        assert_eq!(rows_of(server, table), expected, "{} {table}", golden.name);
    }
}

#[test]
fn recorded_logs_are_applied_as_their_servers_were() {
    for golden in support::all() {
        let server = Server::new(7);
        let channel = channel(false);
        let failed = apply(&server, &channel, &received(&golden));
        println!("{}: {failed:#?}", golden.name);
        assert!(failed.iter().all(|e| UNSUPPORTED.iter().any(|t| e.contains(t))), "{failed:#?}");
        check(&server, &golden);
        let server = server.power_cut();
        check(&server, &golden);
        let again = apply(&server, &channel, &received(&golden));
        assert!(again.is_empty(), "all is known: {again:#?}");
        check(&server, &golden);
    }
}

#[test]
fn gtids_stay_those_of_the_source() {
    for golden in support::mysql() {
        let server = Server::new(8);
        let channel = channel(true);
        apply(&server, &channel, &received(&golden));
        let mut session = server.session();
        let executed = value(&mut session, "SELECT @@gtid_executed").replace("\\n", "");
        println!("{}: {executed}", golden.name);
        let own = "11111111";
        let sources: Vec<&str> = executed.split(',').filter(|s| !s.starts_with(own)).collect();
        let [source] = sources[..] else { panic!("{executed}") };
        assert_eq!(source.matches(':').count(), 1, "{executed}: without a gap");
    }
}
