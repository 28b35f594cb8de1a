//! Transactions that the reader has: not sent, and not even read.
//!
//! A heartbeat reports the position after them, so that the reader's own position moves all the
//! same: before the next event that it gets, at the end of what there is, and whenever its
//! heartbeat period has passed.

use binlog::LogPosition;
use binlog::event::{self, Event, EventError};
use binlog::gtid::GtidSet;
use binlog::log::LogEvent;
use std::time::Duration;

/// What a stream skips.
pub(super) struct Skip<'a> {
    has: Option<&'a GtidSet>,
    /// After the groups that were skipped since the last event, and since when (monotonic).
    unreported: Option<(LogPosition, Duration)>,
}

impl<'a> Skip<'a> {
    pub(super) fn new(has: Option<&'a GtidSet>) -> Self {
        Self { has, unreported: None }
    }

    /// The end of the group that this event begins, if the reader has it.
    pub(super) fn group_end(&self, event: &LogEvent<'_>) -> Result<Option<LogPosition>, EventError> {
        let Some(has) = self.has else { return Ok(None) };
        if !event.header.event_type.is_gtid() {
            return Ok(None);
        }
        let Event::Gtid(gtid) = event::decode(event.bytes, event.fde)? else { return Ok(None) };
        let (Some(id), Some(commit)) = (gtid.gtid, gtid.commit) else { return Ok(None) };
        let end = event.start.saturating_add(commit.transaction_length).min(LogPosition::OFFSET_MAX);
        Ok(has.contains(id).then(|| LogPosition::new(event.file, end)))
    }

    /// A group was skipped. True if nothing was sent for so long that the position should be
    /// reported at once.
    pub(super) fn skipped(&mut self, end: LogPosition, now: Duration, heartbeat: Option<Duration>) -> bool {
        let since = self.unreported.map_or(now, |(_, since)| since);
        self.unreported = Some((end, since));
        heartbeat.is_some_and(|heartbeat| now.saturating_sub(since) >= heartbeat)
    }

    /// The position to report, once.
    pub(super) fn take_unreported(&mut self) -> Option<LogPosition> {
        self.unreported.take().map(|(end, _)| end)
    }
}
