//! XA RECOVER: the transactions that are prepared.

use crate::listing::{Listing, int, text};
use crate::privilege::Privileges;
use crate::session::Context;
use crate::status::Counter;
use datum::error::{self, Result};
use datum::sink::ResultSink;
use datum::value::Datum;

/// `convert` shows the names in hexadecimal digits: they may be any bytes.
pub(crate) fn recover(cx: &Context, convert: bool, sink: &mut dyn ResultSink) -> Result<()> {
    cx.count(Counter::ComXaRecover);
    cx.need_any(Privileges::NONE, "XA_RECOVER_ADMIN", "XA_RECOVER_ADMIN")
        .map_err(|_| error::XAER_RMERR.plain())?;
    let mut out =
        Listing::new([int("formatID"), int("gtrid_length"), int("bqual_length"), text("data", 258)]);
    for (xid, _) in cx.instance.engine().prepared() {
        let name = [xid.gtrid.as_slice(), &xid.bqual].concat();
        let shown = match convert {
            true => name.iter().fold("0x".to_owned(), |hex, b| hex + &format!("{b:02X}")).into_bytes(),
            false => name,
        };
        out.push(vec![
            Datum::Int(xid.format.into()),
            Datum::Int(xid.gtrid.len() as i64),
            Datum::Int(xid.bqual.len() as i64),
            Datum::owned(shown),
        ]);
    }
    out.send(cx, sink)
}
