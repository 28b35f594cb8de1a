//! SHOW VARIABLES and SHOW STATUS.

use std::borrow::Cow;

use binlog::log::Published;

use super::{Listing, cells, text};
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
    let counters = (!global).then_some(&*cx.statistics.counters);
    let mut rows = cx.instance.status().rows(counters);
    if !global {
        rows.extend(snapshot_rows(cx));
    }
    // MySQL shows those of the session in either list.
    rows.extend(tls_rows(cx));
    rows.sort_by(|a, b| a.0.cmp(&b.0));
    let mut out = listing();
    for (name, value) in rows {
        out.push(cells![name, value]);
    }
    out
}

/// Seconds for which a client may resume a TLS session, as its tickets say.
pub const TLS_TICKET_SECONDS: u64 = 24 * 60 * 60;

/// What TLS is like on this connection. Clients' certificates are not asked for: mode and depth of
/// verification are 0.
fn tls_rows(cx: &Context) -> [(Cow<'static, str>, String); 6] {
    let tls = cx.connection.tls.as_ref();
    let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
    [
        ("Ssl_cipher".into(), text(tls.map(|tls| tls.cipher))),
        ("Ssl_default_timeout".into(), tls.map_or(0, |_| TLS_TICKET_SECONDS).to_string()),
        ("Ssl_sessions_reused".into(), tls.map_or(0, |tls| u8::from(tls.resumed)).to_string()),
        ("Ssl_verify_depth".into(), "0".to_owned()),
        ("Ssl_verify_mode".into(), "0".to_owned()),
        ("Ssl_version".into(), text(tls.map(|tls| tls.version))),
    ]
}

/// Where the session's consistent snapshot is in the log, else where the log is: the names by which
/// MariaDB's and Percona's dumps find out, without a lock.
fn snapshot_rows(cx: &Context) -> [(Cow<'static, str>, String); 3] {
    let log = cx.instance.log();
    let Published { position, gtids } = cx.published_log().unwrap_or_else(|_| log.published());
    [
        ("Binlog_snapshot_file".into(), log.file_name(position.file())),
        ("Binlog_snapshot_gtid_executed".into(), gtids.to_string()),
        ("Binlog_snapshot_position".into(), position.offset().to_string()),
    ]
}
