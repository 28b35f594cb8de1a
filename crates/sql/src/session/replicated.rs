//! What a replica's applier does with its session: transactions of another server, which keep what
//! they were there, and are enqueued for the log without waiting for it.

use binlog::event::{QueryEvent, rows_flags};
use binlog::group::OriginalCommit;
use binlog::gtid::Gtid;
use storage::engine::GapsToLearn;
use storage::source_position::SourcePosition;
use syntax::ast::{StatementKind, TransactionOptions};

use super::grants::CachedGrants;
use super::{Context, Session};
use crate::statement_class;
use crate::variables::{Value, ids};
use datum::error::{self, Result, SqlError};
use datum::sink::ResultSink;

/// Where the session's transactions were committed first.
#[derive(Debug, Clone)]
pub(crate) struct Origin {
    /// `server_id` in its events.
    pub(crate) server_id: u32,
    /// When, and by which version.
    pub(crate) commit: Option<OriginalCommit>,
    /// Where the transaction ends in the source's log, for a source that is not followed by GTIDs.
    pub(crate) position: Option<SourcePosition>,
}

/// What is left to do of a transaction once it is durable.
pub(crate) struct LateWork {
    /// Given to [`Context::release_gtid`].
    pub(crate) gtid: Option<Gtid>,
    pub(crate) gaps: Option<GapsToLearn>,
}

impl Session {
    /// Makes it an applier's: it may do anything, and logs no reply.
    pub(crate) fn begin_applying(&mut self) {
        self.cx.connection.cached_grants = CachedGrants::everything();
        self.cx.log.applies = true;
    }

    pub(crate) fn context(&mut self) -> &mut Context {
        &mut self.cx
    }

    /// Runs a statement of another server's log, which happened at `timestamp` (seconds since
    /// 1970), with the settings that its event says.
    ///
    /// # Errors Those of the statement.
    pub(crate) fn execute_logged(
        &mut self,
        query: &QueryEvent<'_>,
        timestamp: u32,
        sink: &mut dyn ResultSink,
    ) -> Result<()> {
        self.cx.take_over(query, timestamp);
        let flags = query.status.flags2.unwrap_or(0);
        let moment = i64::from(timestamp) * 1_000_000 + i64::from(query.status.microseconds.unwrap_or(0));
        self.cx.change_variables(|v| {
            use binlog::event::flags2;
            // A quarter of a microsecond more, for the number has a fraction and is cut.
            v.put(ids::TIMESTAMP, Value::Double((moment as f64 + 0.25) / 1e6));
            v.put(ids::FOREIGN_KEY_CHECKS, Value::Bool(flags & flags2::NO_FOREIGN_KEY_CHECKS == 0));
            v.put(ids::UNIQUE_CHECKS, Value::Bool(flags & flags2::RELAXED_UNIQUE_CHECKS == 0));
        });
        let outcome = self.execute(&query.sql, sink);
        self.cx.change_variables(|v| {
            v.put(ids::FOREIGN_KEY_CHECKS, Value::Bool(true));
            v.put(ids::UNIQUE_CHECKS, Value::Bool(true));
        });
        outcome
    }
}

impl Context {
    /// True in a session that applies a source's log.
    pub(crate) fn is_applier(&self) -> bool {
        self.log.applies
    }

    /// An applier runs what changes data and definitions. It neither administers this server nor
    /// locks it for its source, not even in a routine that the source has defined: error 1235.
    pub(crate) fn check_applied(&self, kind: &StatementKind) -> Result<()> {
        match self.is_applier().then(|| statement_class::administers(kind)).flatten() {
            Some(name) => Err(SqlError::unsupported(format_args!("{name} in the log of a source"))),
            None => Ok(()),
        }
    }

    /// Error 3944 for what no log of rows has, under `require_row_format`: in MySQL, too, that is
    /// temporary tables and LOAD DATA.
    pub(crate) fn check_row_format(&self, kind: &StatementKind) -> Result<()> {
        let is_of_statements = match kind {
            StatementKind::CreateTable(create) => create.temporary,
            StatementKind::DropTable(drop) => drop.temporary,
            StatementKind::LoadData(_) => true,
            _ => false,
        };
        match is_of_statements && self.settings.variables().bool(ids::REQUIRE_ROW_FORMAT) {
            true => Err(error::CLIENT_QUERY_FAILURE_INVALID_NON_ROW_FORMAT.plain()),
            false => Ok(()),
        }
    }

    /// What is known of the server that committed first what comes next.
    pub(crate) fn set_origin(&mut self, origin: Option<Origin>) {
        self.log.origin = origin;
    }

    /// Where the group ends in the source's log, which is committed with it.
    pub(crate) fn set_origin_position(&mut self, position: Option<SourcePosition>) {
        if let Some(origin) = &mut self.log.origin {
            origin.position = position;
        }
    }

    /// Takes the place off what comes next.
    pub(crate) fn take_origin_position(&mut self) -> Option<SourcePosition> {
        self.log.origin.as_mut().and_then(|origin| origin.position.take())
    }

    /// Rolls back whatever is open, a branch of XA too, and gives the group's GTID up.
    pub(crate) fn rollback_all(&mut self) {
        self.end_branch();
        self.rollback();
        self.forget_gtid();
    }

    /// Rolls the open transaction back; its GTID stays the session's.
    pub(crate) fn rollback_changes(&mut self) {
        if let Some(open) = self.take_transaction() {
            let (transaction, tables) = open.into_parts();
            transaction.rollback();
            drop(tables);
        }
    }

    /// Begins a transaction that ends with the group's.
    pub(crate) fn begin_replicated(&mut self) -> Result<()> {
        self.statement.begin(self.instance.env().now() as i64, false);
        self.begin(TransactionOptions::default())
    }

    /// Begins a statement of row events that happened at `timestamp`, with the flags of its events.
    pub(crate) fn begin_replicated_rows(&mut self, timestamp: u32, flags: u16, text: Option<&[u8]>) {
        const RETAINED: u16 = rows_flags::NO_FOREIGN_KEY_CHECKS | rows_flags::RELAXED_UNIQUE_CHECKS;
        let settings = *self.settings.decoded();
        let transaction = self.storage_transaction();
        transaction.set_lock_wait_timeout(settings.lock_wait_timeout);
        transaction.set_row_images(settings.row_images);
        transaction.set_rows_flags(flags & RETAINED);
        transaction.begin_statement(timestamp, text);
    }

    /// Enqueues the open transaction for the log, as an empty one if it changed nothing. `complete`
    /// is called once, here or by another thread, when it is durable or refused; it must neither
    /// block nor panic. Its row locks are free once it is ordered, which is soon.
    ///
    /// # Errors
    /// What is found before it is enqueued: nothing of it is logged then, and it is rolled back.
    pub(crate) fn commit_in_background(
        &mut self,
        complete: impl FnOnce(Result<()>) + Send + 'static,
    ) -> Result<LateWork> {
        if let Some(origin) = &self.log.origin
            && let Some(position) = origin.position.clone()
        {
            self.storage_transaction().set_source_position(&position);
        } else {
            self.storage_transaction().begin_empty();
        }
        let pending = self.enqueue_open().inspect_err(|_| self.rollback())?;
        let gtid = self.log.disown_gtid();
        let Some(pending) = pending else {
            complete(Ok(()));
            return Ok(LateWork { gtid, gaps: None });
        };
        let gaps = pending.complete_in_background(complete);
        Ok(LateWork { gtid, gaps })
    }

    /// A transaction that [`Self::commit_in_background`] enqueued is in the log, or will not come.
    pub(crate) fn release_gtid(&self, gtid: Gtid) {
        self.instance.log().release_gtid(gtid);
        self.instance.owned_gtids().give_back(gtid);
    }
}
