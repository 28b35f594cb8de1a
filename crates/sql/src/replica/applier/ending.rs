//! How a group ends: it is enqueued for the log, or was a statement that committed itself; and
//! where the applier waits or stops between two groups.

use std::time::Duration;

use binlog::event::XaPrepareEvent;
use binlog::gtid::{Gtid, GtidSet};

use super::{Applied, Applier, ApplyError, GroupName, Reached, SourcePosition, StoredPosition, Until};
use crate::executor::Discard;
use crate::replica::coordinates::Coordinates;
use crate::replica::{ReceivedEvent, ReplicaThread};
use crate::session::gtid_next::GtidNext;
use datum::error::Result;

/// The longest sleep of a delayed applier before it looks whether it is still wanted.
const PAUSE: Duration = Duration::from_millis(500);

impl Applier {
    /// Where the source's log is read up to once the group has ended.
    pub(super) fn reached_now(&self) -> Coordinates {
        let mut reached = self.reached.clone();
        reached.position = self.at.clone();
        if let Some(group) = &self.group
            && let GroupName::Mariadb(gtid) = group.name
        {
            reached.gtids.insert(gtid.domain_id, gtid);
        }
        reached
    }

    /// The position goes to the log where GTIDs don't say it (A4).
    pub(super) fn note_position(&mut self) -> Coordinates {
        let reached = self.reached_now();
        let has_gtid = matches!(self.group.as_ref().map(|group| group.name), Some(GroupName::Mysql(_)));
        let by_gtids = has_gtid && self.channel.with(|state| state.source.auto_position);
        let position = (!by_gtids)
            .then(|| StoredPosition { channel: self.channel.name().to_owned(), position: reached.encode() });
        self.session.context().set_origin_position(position);
        reached
    }

    /// Enqueues the open transaction.
    pub(super) fn commit(&mut self) -> Result<()> {
        let reached = self.note_position();
        if self.session.context().transactions.started_table.is_some() {
            // CREATE TABLE .. START TRANSACTION: a definition.
            self.await_pending()?;
            self.session.execute(b"COMMIT", &mut Discard)?;
            return self.end_statement_group(reached);
        }
        let shown = self.shown(&reached);
        let (ending, channel) = (self.pending.next(), self.channel.clone());
        let ended = ending.clone();
        let cx = self.session.context();
        let left = cx.commit_in_background(move |outcome| {
            if outcome.is_ok() {
                shown.show(&channel);
            }
            ended.end(outcome);
        })?;
        self.reached = reached;
        self.group = None;
        self.pending.add(self.session.context(), &ending, left)
    }

    /// True if the source's log is read further than the channel shows. A source may begin with
    /// events of the file's beginning, wherever it was asked to begin.
    pub(super) fn is_ahead(&self) -> bool {
        self.at.is_after(&self.reached.position)
            && self.channel.with(|state| self.at.is_after(&state.progress.executed))
    }

    /// The source has nothing up to here that this server lacks.
    pub(super) fn advance_executed_position(&mut self) -> Result<()> {
        self.await_pending()?;
        self.reached.position = self.at.clone();
        let reached = self.at.clone();
        self.channel.with(|state| state.progress.executed = reached);
        Ok(())
    }

    pub(super) fn shown(&self, reached: &Coordinates) -> Reached {
        let mariadb_gtids = self.is_mariadb.then(|| reached.gtids_text());
        Reached { position: reached.position.clone(), mariadb_gtids }
    }

    /// The group was one statement, which has committed itself; if it is not in the log, because it
    /// changed nothing, the group is logged empty.
    pub(super) fn end_statement_group(&mut self, reached: Coordinates) -> Result<()> {
        let cx = self.session.context();
        let is_logged =
            !matches!(cx.log.next(), GtidNext::Owned(_)) && cx.log.replicated().source_position.is_none();
        let is_executed = matches!(cx.log.next(), GtidNext::Executed(_));
        if !is_logged && !is_executed {
            cx.log_empty()?;
        }
        cx.forget_gtid();
        cx.set_origin(None);
        self.shown(&reached).show(&self.channel);
        self.reached = reached;
        self.group = None;
        Ok(())
    }

    /// XA PREPARE, or XA COMMIT .. ONE PHASE.
    pub(super) fn xa_prepare(&mut self, end: &XaPrepareEvent<'_>, passed_over: bool) -> Result<()> {
        let reached = self.note_position();
        if !passed_over {
            self.await_pending()?;
            let xid = xid_text(end.format_id, end.gtrid, end.bqual);
            let sql = match end.one_phase {
                true => format!("XA COMMIT {xid} ONE PHASE"),
                false => format!("XA PREPARE {xid}"),
            };
            self.session.execute(sql.as_bytes(), &mut Discard)?;
        }
        self.end_statement_group(reached)
    }

    /// MariaDB's GTID event stands for XA START too.
    pub(super) fn start_branch(&mut self, xid: (u32, &[u8], &[u8]), passed_over: bool) -> Result<()> {
        if let Some(group) = &mut self.group {
            group.in_transaction = true;
        }
        if passed_over {
            return Ok(());
        }
        let sql = format!("XA START {}", xid_text(xid.0 as i32, xid.1, xid.2));
        self.session.execute(sql.as_bytes(), &mut Discard)
    }

    /// True if nothing is to be applied, since UNTIL was reached before the start.
    ///
    /// # Errors
    /// Of a group that was enqueued and is not in the log.
    pub fn is_until_reached(&mut self) -> std::result::Result<bool, ApplyError> {
        let until = self.channel.with(|state| state.until.clone());
        let mut executed = || self.executed().map_err(|e| ApplyError::of_commit(&e));
        Ok(match until {
            None => false,
            Some(Until::BeforeGtids(gtids)) => {
                let mut others = gtids.clone();
                others.subtract(&executed()?);
                others != gtids
            }
            Some(Until::AfterGtids(gtids)) => gtids.is_subset(&executed()?),
            Some(Until::Position { file, offset }) => {
                !SourcePosition { file, offset }.is_after(&self.reached.position)
            }
        })
    }

    /// START REPLICA UNTIL SOURCE_LOG_POS: an event that is no part of a group begins there, or
    /// behind it, as the first one of the next log file does.
    pub(super) fn begins_at_until(&self, received: &ReceivedEvent) -> bool {
        let Some(offset) = received.end.checked_sub(received.bytes.len() as u64) else { return false };
        self.channel.with(|state| match &state.until {
            Some(Until::Position { file, offset: until }) => {
                let until = SourcePosition { file: file.clone(), offset: *until };
                !until.is_after(&SourcePosition { file: received.file.to_string(), offset })
            }
            _ => false,
        })
    }

    /// START REPLICA UNTIL SQL_BEFORE_GTIDS: the transaction is one of those.
    pub(super) fn is_before_gtids(&self, gtid: Gtid) -> bool {
        self.channel.with(|state| match &state.until {
            Some(Until::BeforeGtids(gtids)) => gtids.contains(gtid),
            _ => false,
        })
    }

    /// After an event that may have ended a group.
    pub(super) fn end_of_event(&mut self) -> Result<Applied> {
        if self.group.is_some() {
            return Ok(Applied::Done);
        }
        let until = self.channel.with(|state| {
            state.progress.applying_since = 0;
            state.until.clone()
        });
        let is_reached = match until {
            None | Some(Until::BeforeGtids(_)) => false,
            Some(Until::AfterGtids(gtids)) => gtids.is_subset(&self.executed()?),
            Some(Until::Position { file, offset }) => {
                !SourcePosition { file, offset }.is_after(&self.reached.position)
            }
        };
        Ok(if is_reached { Applied::UntilReached } else { Applied::Done })
    }

    fn executed(&mut self) -> Result<GtidSet> {
        self.await_pending()?;
        Ok(self.instance.log().gtid_executed())
    }

    /// SOURCE_DELAY: waits until so long after a transaction was committed (microseconds since
    /// 1970, by the source's clock). The lag is that of the transaction meanwhile, by the timestamp
    /// of its first event.
    pub(super) fn delay(&mut self, committed: u64, timestamp: u32) -> Result<()> {
        let (delay, difference) =
            self.channel.with(|state| (state.source.delay, state.progress.clock_difference));
        if delay.is_zero() {
            return Ok(());
        }
        self.await_pending()?;
        self.channel.with(|state| state.progress.applying_since = timestamp);
        let due = due(committed, delay, difference);
        while self.channel.is_wanted(ReplicaThread::Applier) {
            let left = due.saturating_sub(self.instance.env().now());
            if left == 0 {
                break;
            }
            let left = Duration::from_micros(left);
            self.channel.with(|state| {
                state.applier.state = "Waiting until SOURCE_DELAY seconds after source executed event";
                state.progress.remaining_delay = Some(left.as_secs().min(u64::from(u32::MAX)) as u32);
            });
            self.session.context().interrupt.sleep(left.min(PAUSE));
        }
        self.channel.with(|state| state.progress.remaining_delay = None);
        self.session.context().check_interrupt()
    }
}

/// When a transaction is due that was committed at `committed`, by this server's clock; the
/// source's is `difference` seconds ahead. All that comes of the source may be wrong.
fn due(committed: u64, delay: Duration, difference: i64) -> u64 {
    let committed = i128::from(committed) + delay.as_micros() as i128;
    let due = committed - i128::from(difference) * 1_000_000;
    u64::try_from(due.max(0)).unwrap_or(u64::MAX)
}

fn xid_text(format: i32, gtrid: &[u8], bqual: &[u8]) -> String {
    let xid = storage::Xid { format: format as u32, gtrid: gtrid.to_vec(), bqual: bqual.to_vec() };
    xid.text()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_with_any_clock_is_followed_with_a_delay() {
        let delay = Duration::from_secs(3);
        assert_eq!(due(5_000_000, delay, 2), 6_000_000);
        assert_eq!(due(5_000_000, delay, -2), 10_000_000);
        assert_eq!(due(u64::MAX, delay, i64::MIN), u64::MAX);
        assert_eq!(due(0, delay, i64::MAX), 0);
    }
}
