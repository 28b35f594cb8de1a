//! What a session knows of the log that its transactions go to, and of replies that wait for it.

use std::sync::Arc;

use binlog::event::EncodedQuery;
use binlog::gtid::{Gtid, GtidSpecification, Tag};
use storage::engine::Replicated;

use crate::executor::LoggedFile;
use crate::executor::row_events::LogReader;
use crate::session::gtid_next::GtidNext;
use crate::session::pending_reply::PendingReply;
use crate::session::replicated::Origin;

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
    /// It is a replica's applier: `read_only` does not bind it.
    pub(in crate::session) applies: bool,
    /// Where its transactions were committed first, if it is an applier.
    pub(in crate::session) origin: Option<Origin>,
    /// The reply to the statement that runs may be sent later, by another thread. Each statement
    /// sets it.
    pub(in crate::session) may_defer_reply: bool,
    /// What the LOAD DATA reads that an applier runs.
    load_file: Option<LoggedFile>,
    /// What the deferred reply waits for, until [`crate::Session::take_pending_reply`].
    pub(in crate::session) pending_reply: Option<PendingReply>,
}

impl LogState {
    /// The next LOAD DATA reads this, whatever file it names.
    pub(crate) fn set_load_file(&mut self, file: Option<LoggedFile>) {
        self.load_file = file;
    }

    /// What LOAD DATA reads if it was logged as a statement.
    pub(crate) fn take_load_file(&mut self) -> Option<LoggedFile> {
        self.load_file.take()
    }

    /// The GTID that the session owns: what its transaction is to be named by.
    pub(crate) fn owned_gtid(&self) -> Option<Gtid> {
        match self.gtid_next {
            GtidNext::Owned(gtid) => Some(gtid),
            _ => None,
        }
    }

    /// What the next transaction's GTID is to be.
    pub(crate) fn gtid(&self) -> GtidSpecification {
        match self.gtid_next {
            GtidNext::Automatic(tag) => GtidSpecification::Automatic(tag),
            GtidNext::Owned(gtid) => GtidSpecification::Assigned(gtid),
            GtidNext::Executed(_) | GtidNext::Used(_) => GtidSpecification::default(),
        }
    }

    /// What names the next group.
    pub(crate) fn next(&self) -> GtidNext {
        self.gtid_next
    }

    /// What names the group that is committed now.
    pub(crate) fn replicated(&self) -> Replicated<'_> {
        let source_position = self.origin.as_ref().and_then(|origin| origin.position.as_ref());
        Replicated { gtid: self.gtid(), source_position }
    }

    /// The GTID that the session owns, which somebody else gives back.
    pub(in crate::session) fn disown_gtid(&mut self) -> Option<Gtid> {
        let gtid = self.owned_gtid();
        self.gtid_next = GtidNext::default();
        gtid
    }

    /// `gtid_next`, as the client sees it.
    pub(crate) fn gtid_next_text(&self) -> String {
        match self.gtid_next {
            GtidNext::Automatic(Tag::NONE) => "AUTOMATIC".to_owned(),
            GtidNext::Automatic(tag) => format!("AUTOMATIC:{tag}"),
            GtidNext::Owned(gtid) | GtidNext::Executed(gtid) | GtidNext::Used(gtid) => gtid.to_string(),
        }
    }
}
