//! SHOW VARIABLES and SHOW STATUS.

use std::borrow::Cow;

use binlog::log::Published;

use crate::admin::binary_log;
use crate::admin::listing::{Listing, cells, text};
use crate::session::{self, Context};
use crate::variables;

fn listing() -> Listing {
    Listing::new([text("Variable_name", 64), text("Value", 1024)])
}

/// The server's variables, or the session's with those that only the server has.
pub(crate) fn variables(cx: &mut Context, global: bool) -> Listing {
    let mut out = listing();
    for (name, id) in variables::listed() {
        if let Some(value) = session::variables::shown(cx, id, global) {
            out.push(cells![name, value]);
        }
    }
    out
}

/// The server's counters, or the session's with those that only the server has.
pub(crate) fn status(cx: &Context, global: bool) -> Listing {
    let counters = (!global).then_some(&*cx.counters);
    let mut rows = cx.database.status().rows(counters);
    if !global {
        rows.extend(snapshot_rows(cx));
        rows.sort_by(|a, b| a.0.cmp(&b.0));
    }
    let mut out = listing();
    for (name, value) in rows {
        out.push(cells![name, value]);
    }
    out
}

/// Where the session's consistent snapshot is in the log, else where the log is: the names by which MariaDB's and Percona's
/// dumps find out, without a lock.
fn snapshot_rows(cx: &Context) -> [(Cow<'static, str>, String); 3] {
    let log = cx.database.log();
    let Published { position, gtids } = binary_log::published(cx).unwrap_or_else(|_| log.published());
    [
        ("Binlog_snapshot_file".into(), log.file_name(position.file())),
        ("Binlog_snapshot_gtid_executed".into(), gtids.to_string()),
        ("Binlog_snapshot_position".into(), position.offset().to_string()),
    ]
}
