//! SHOW VARIABLES and SHOW STATUS.

use crate::admin::listing::{Listing, cells, text};
use crate::session::{self, Context};
use crate::variables;

fn listing() -> Listing {
    Listing::new([text("Variable_name", 64), text("Value", 1024)])
}

/// The server's variables, or the session's with those that only the server has.
pub(crate) fn variables(cx: &mut Context, global: bool) -> Listing {
    let mut out = listing();
    for id in variables::all() {
        if let Some(value) = session::variables::shown(cx, id, global) {
            out.push(cells![id.variable().name(), value]);
        }
    }
    out
}

/// The server's counters, or the session's with those that only the server has.
pub(crate) fn status(cx: &Context, global: bool) -> Listing {
    let counters = (!global).then_some(&*cx.counters);
    let mut out = listing();
    for (name, value) in cx.database.status().rows(counters) {
        out.push(cells![name, value]);
    }
    out
}
