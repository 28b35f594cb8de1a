//! What a session knows of the log that its transactions go to, and of replies that wait for it.

use std::sync::Arc;

use binlog::event::EncodedQuery;
use binlog::gtid::Gtid;

use crate::executor::row_events::LogReader;
use crate::session::gtid_next::GtidNext;
use crate::session::pending_reply::PendingReply;

/// The session's side of the log. COM_RESET_CONNECTION sets `gtid_next` to AUTOMATIC; the rest is
/// made and taken as its items say.
#[derive(Default)]
pub(crate) struct LogState {
    /// What names the next transaction.
    pub(in crate::session) gtid_next: GtidNext,
    /// The `BEGIN` event of transactions, as long as the settings in it stay.
    pub(in crate::session) begin_event: Option<Arc<EncodedQuery>>,
    /// What BINLOG statements have said of the log that they come from.
    pub(crate) reader: LogReader,
    /// The reply to the statement that runs may be sent later, by another thread. Each statement
    /// sets it.
    pub(in crate::session) may_defer_reply: bool,
    /// What the deferred reply waits for, until [`crate::Session::take_pending_reply`].
    pub(in crate::session) pending_reply: Option<PendingReply>,
}

impl LogState {
    /// The GTID that the session owns: what its transaction is to be named by.
    pub(crate) fn owned_gtid(&self) -> Option<Gtid> {
        match self.gtid_next {
            GtidNext::Owned(gtid) => Some(gtid),
            _ => None,
        }
    }

    /// `gtid_next`, as the client sees it.
    pub(crate) fn gtid_next_text(&self) -> String {
        match self.gtid_next {
            GtidNext::Automatic => "AUTOMATIC".to_owned(),
            GtidNext::Owned(gtid) | GtidNext::Executed(gtid) | GtidNext::Used(gtid) => gtid.to_string(),
        }
    }
}
