//! `gtid_next`: the name of the session's next transaction, where it is not this server that gives
//! it; or the tag of the names that this server gives to the session's transactions from now on
//! (`AUTOMATIC:TAG`), which changes nothing else.
//!
//! 1. set     `SET gtid_next = 'uuid:n'` makes the session own the GTID: no other gets it, and
//!    whoever asks for it waits. If it is in the log already, the session skips what changes
//!    anything, so that a replay may be repeated.
//! 2. commit  The transaction gets it. One that changed nothing, but was committed by name, is
//!    logged empty.
//! 3. used    After COMMIT or ROLLBACK nothing can be changed until `gtid_next` is set again. A
//!    statement that fails outside of a transaction is such a ROLLBACK.

use std::collections::BTreeMap;
use std::time::Duration;

use binlog::gtid::{self, Gtid, GtidSpecification, Tag};
use parking_lot::Mutex;

use super::Context;
use crate::executor::create_start;
use crate::statement_class::{is_logged, is_logged_setting, is_refused_while_owning_gtid};
use datum::error::{self, Result};
use syntax::ast::{StatementKind, Xa};

/// How long a wait for another owner sleeps before it checks again.
const PAUSE: Duration = Duration::from_millis(5);

/// What `gtid_next` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GtidNext {
    /// The log gives the number, of those with this tag or of those with none.
    Automatic(Tag),
    /// The next transaction has this one, which the session owns.
    Owned(Gtid),
    /// The transaction is in the log: its statements are skipped.
    Executed(Gtid),
    /// The transaction has ended.
    Used(Gtid),
}

impl Default for GtidNext {
    fn default() -> Self {
        Self::Automatic(Tag::NONE)
    }
}

/// GTIDs that sessions own, and which sessions.
#[derive(Debug, Default)]
pub(crate) struct OwnedGtids(Mutex<BTreeMap<Gtid, u64>>);

impl OwnedGtids {
    fn take(&self, gtid: Gtid, session: u64) -> bool {
        let mut owned = self.0.lock();
        let is_free = !owned.contains_key(&gtid);
        if is_free {
            owned.insert(gtid, session);
        }
        is_free
    }

    pub(super) fn give_back(&self, gtid: Gtid) {
        self.0.lock().remove(&gtid);
    }

    /// `@@global.gtid_owned`: `uuid:n#session`, one after the other.
    pub(crate) fn text(&self) -> String {
        let owned = self.0.lock();
        owned.iter().map(|(gtid, session)| format!("{gtid}#{session}")).collect::<Vec<_>>().join(",\n")
    }
}

/// What a text says that is assigned to `gtid_next`: a GTID, AUTOMATIC or AUTOMATIC:TAG.
pub(crate) fn parse(text: &str) -> Result<GtidSpecification> {
    if text.eq_ignore_ascii_case("AUTOMATIC") {
        return Ok(GtidSpecification::default());
    }
    if text.eq_ignore_ascii_case("ANONYMOUS") {
        return Err(error::CANT_SET_GTID_NEXT_TO_ANONYMOUS_WHEN_GTID_MODE_IS_ON.plain());
    }
    let parsed = match text.split_once(':') {
        Some((word, tag)) if word.eq_ignore_ascii_case("AUTOMATIC") => {
            gtid::parse_tag(tag).map(GtidSpecification::Automatic)
        }
        _ => text.parse().map(GtidSpecification::Assigned),
    };
    parsed.map_err(|_| error::MALFORMED_GTID_SPECIFICATION.with(&[&text]))
}

impl Context {
    /// Error 1766 inside of a transaction, 1790 if the session owns a GTID.
    pub(crate) fn check_gtid_next_settable(&self) -> Result<()> {
        if self.transactions.open.is_some() {
            return Err(error::VARIABLE_NOT_SETTABLE_IN_TRANSACTION.with(&[&"gtid_next"]));
        }
        match self.log.gtid_next {
            GtidNext::Owned(gtid) => Err(error::CANT_SET_GTID_NEXT_WHEN_OWNING_GTID.with(&[&gtid])),
            _ => Ok(()),
        }
    }

    /// Step 1. Waits while another session owns the GTID.
    pub(crate) fn set_gtid_next(&mut self, gtid: GtidSpecification) -> Result<()> {
        let gtid = match gtid {
            GtidSpecification::Assigned(gtid) => gtid,
            GtidSpecification::Automatic(tag) => {
                self.log.gtid_next = GtidNext::Automatic(tag);
                return Ok(());
            }
        };
        let instance = self.instance.clone();
        while !instance.owned_gtids().take(gtid, self.connection.id) {
            self.interrupt.sleep(PAUSE);
            self.check_interrupt()?;
        }
        self.log.gtid_next = if instance.log().reserve_gtid(gtid) {
            GtidNext::Owned(gtid)
        } else {
            instance.owned_gtids().give_back(gtid);
            GtidNext::Executed(gtid)
        };
        Ok(())
    }

    /// A transaction of this session is in the log.
    pub(crate) fn committed(&mut self, gtid: Gtid) {
        self.tracker.committed(gtid);
        self.forget_original_commit();
        self.set_origin_position(None);
        self.gtid_used();
    }

    /// Step 3: the transaction has ended.
    pub(super) fn gtid_used(&mut self) {
        match self.log.gtid_next {
            GtidNext::Automatic(_) | GtidNext::Used(_) | GtidNext::Executed(_) => {}
            GtidNext::Owned(gtid) => {
                self.instance.log().release_gtid(gtid);
                self.instance.owned_gtids().give_back(gtid);
                self.log.gtid_next = GtidNext::Used(gtid);
            }
        }
    }

    /// The session begins anew, or ends.
    pub(crate) fn forget_gtid(&mut self) {
        self.gtid_used();
        self.log.gtid_next = GtidNext::default();
    }

    /// Whether the statement may run: false if it belongs to a transaction that is in the log.
    pub(crate) fn passes_gtid_next(&mut self, kind: &StatementKind) -> Result<bool> {
        match self.log.gtid_next {
            // The log has BEGIN before it.
            GtidNext::Owned(_) if create_start::of(kind).is_some() && !has_changes(self) => Ok(true),
            GtidNext::Owned(_) | GtidNext::Executed(_)
                if self.transactions.open.is_some() && is_refused_while_owning_gtid(kind) =>
            {
                Err(error::CANT_DO_IMPLICIT_COMMIT_IN_TRX_WHEN_GTID_NEXT_IS_SET.plain())
            }
            GtidNext::Automatic(_) | GtidNext::Owned(_) => Ok(true),
            GtidNext::Used(gtid) if is_logged(kind) => {
                Err(error::GTID_NEXT_TYPE_UNDEFINED_GTID.with(&[&gtid]))
            }
            GtidNext::Executed(gtid) => {
                if ends_transaction(kind) {
                    self.log.gtid_next = GtidNext::Used(gtid);
                }
                Ok(!is_logged(kind))
            }
            GtidNext::Used(_) => Ok(true),
        }
    }

    /// A statement has failed: outside of a transaction this gives the GTID up, unless it was about
    /// a variable.
    pub(crate) fn statement_failed(&mut self, kind: &StatementKind) {
        if self.transactions.open.is_none() && !matches!(kind, StatementKind::Set(_)) {
            self.gtid_used();
        }
    }

    /// COMMIT of nothing, by a session that owns a GTID: the log gets a transaction without
    /// changes.
    pub(crate) fn commit_empty(&mut self) -> Result<()> {
        if self.log.owned_gtid().is_none() && self.log.replicated().source_position.is_none() {
            return Ok(());
        }
        let _pass = self.enter_commit()?;
        self.log_empty()
    }

    /// The same for a definition that changes nothing.
    pub(crate) fn log_empty(&mut self) -> Result<()> {
        if self.log.owned_gtid().is_none() && self.log.replicated().source_position.is_none() {
            return Ok(());
        }
        let (begin, commit) = (self.bracket_event(b"BEGIN".to_vec()), self.bracket_event(b"COMMIT".to_vec()));
        let committed = self.instance.engine().commit_empty(
            self.group_context(),
            &begin,
            &commit,
            self.log.replicated(),
        )?;
        self.committed(committed.gtid);
        Ok(())
    }
}

/// True for a statement after which a transaction that is skipped has ended. One that commits by
/// itself because of `autocommit` is none, as in MySQL.
fn ends_transaction(kind: &StatementKind) -> bool {
    use StatementKind as S;
    match kind {
        S::Commit(_) | S::Rollback(_) => true,
        S::Begin(_) | S::LockTables(_) => false,
        S::Xa(xa) => matches!(xa, Xa::Prepare(_) | Xa::Commit { .. } | Xa::Rollback(_)),
        kind => is_refused_while_owning_gtid(kind) || is_logged_setting(kind),
    }
}

fn has_changes(cx: &Context) -> bool {
    cx.transactions.open.as_ref().is_some_and(|open| open.storage_transaction.has_changes())
}
