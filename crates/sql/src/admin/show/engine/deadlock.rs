//! The deadlock that was found last.

use std::fmt::Write as _;

use storage::TreeId;
use storage::lock::{BlockedWait, Deadlock, LockMode, NAMES};

use crate::session::Context;
use datum::value::DateTime;

/// `(1)` waits for `(2)` and so on, the last for `(1)`.
pub(super) fn report(cx: &Context, deadlock: &Deadlock, report: &mut String) {
    let utc = i64::try_from(deadlock.at).unwrap_or(i64::MAX);
    if let Some(at) = DateTime::from_unix_micros(cx.settings.zone().to_local(utc), 0) {
        let _ = writeln!(report, "{at}");
    }
    let number = |owner| deadlock.waits.iter().position(|w| w.owner == owner).map_or(0, |n| n + 1);
    for (at, wait) in deadlock.waits.iter().enumerate() {
        let _ =
            writeln!(report, "*** ({}) TRANSACTION {}, {} row(s) changed", at + 1, wait.owner.0, wait.weight);
        let _ = writeln!(report, "WAITING FOR {}", wanted(cx, wait));
    }
    let _ = writeln!(report, "*** WE ROLL BACK TRANSACTION ({})", number(deadlock.victim));
}

/// Where a transaction waits, in words. Keys are shown as they are stored.
fn wanted(cx: &Context, wait: &BlockedWait) -> String {
    if wait.tree == NAMES {
        let other = wait.key.as_slice().try_into().map_or(0, u64::from_be_bytes);
        return format!(
            "THE END OF TRANSACTION {other}: one of the two inserts into a range that the other has read"
        );
    }
    let mode = match wait.mode {
        LockMode::Shared => "SHARED",
        LockMode::Exclusive => "EXCLUSIVE",
    };
    let key: String = wait.key.iter().take(64).map(|byte| format!("{byte:02x}")).collect();
    format!("THE {mode} LOCK of key 0x{key} in {}", index_name(cx, wait.tree))
}

fn index_name(cx: &Context, tree: TreeId) -> String {
    let state = cx.instance.catalog().state();
    let tables = state.databases.iter().flat_map(|(name, database)| {
        database.tables.iter().map(move |(table, definition)| (name, table, definition))
    });
    for (database, table, definition) in tables {
        if let Some(index) = definition.schema.indexes().find(|index| index.tree() == tree) {
            return format!("index {} of table `{database}`.`{table}`", index.name());
        }
    }
    "an index that was dropped".to_owned()
}
