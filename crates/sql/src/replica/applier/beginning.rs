//! How a group begins: which one it is, whether this server has it already, and under which name
//! it goes to the log.

use std::sync::Arc;

use binlog::event::{EventHeader, GtidEvent, MariadbGtidEvent, gtid_extra_flags, gtid_flags};
use binlog::group::OriginalCommit;
use binlog::gtid::{Gtid, GtidSpecification, Uuid};

use super::{Applied, Applier, Group, GroupName, domain_of};
use crate::replica::{AnonymousGtids, ReceivedEvent};
use crate::session::gtid_next::GtidNext;
use crate::session::replicated::Origin;
use datum::error::{self, Result};

impl Applier {
    pub(super) fn begin_gtid(
        &mut self,
        header: &EventHeader,
        event: &GtidEvent,
        received: &Arc<ReceivedEvent>,
    ) -> Result<Applied> {
        let name = event.gtid.map_or(GroupName::Anonymous, GroupName::Mysql);
        if let GroupName::Mysql(gtid) = name
            && self.is_before_gtids(gtid)
        {
            return Ok(Applied::UntilReached);
        }
        let commit = event.commit.map(|commit| OriginalCommit {
            timestamp: commit.original_commit_timestamp.unwrap_or(commit.immediate_commit_timestamp),
            server_version: commit
                .original_server_version
                .or(commit.immediate_server_version)
                .unwrap_or(syntax::parser::VERSION),
        });
        let committed = event.commit.map(|commit| commit.immediate_commit_timestamp);
        let committed = committed.unwrap_or(u64::from(header.timestamp) * 1_000_000);
        self.delay(committed, header.timestamp)?;
        self.begin_group(name, header, commit)?;
        self.keep(received);
        Ok(Applied::Done)
    }

    pub(super) fn begin_mariadb(
        &mut self,
        header: &EventHeader,
        event: &MariadbGtidEvent<'_>,
        received: &Arc<ReceivedEvent>,
    ) -> Result<Applied> {
        self.delay(u64::from(header.timestamp) * 1_000_000, header.timestamp)?;
        self.begin_group(GroupName::Mariadb(event.gtid), header, None)?;
        self.keep(received);
        // An ALTER TABLE is done when it has succeeded at the source.
        const UNDECIDED: u8 = gtid_extra_flags::START_ALTER | gtid_extra_flags::ROLLBACK_ALTER;
        if event.extra_flags & UNDECIDED != 0
            && let Some(group) = &mut self.group
            && !group.is_passed_over
        {
            (group.is_passed_over, group.is_skipped) = (true, true);
        }
        let is_xa = event.flags & (gtid_flags::PREPARED_XA | gtid_flags::COMPLETED_XA) != 0;
        let passed_over = self.group.as_ref().is_some_and(|group| group.is_passed_over);
        if let (true, Some(xid)) = (event.flags & gtid_flags::PREPARED_XA != 0, &event.xid) {
            self.start_branch(*xid, passed_over)?;
        } else if event.begins_transaction() && !is_xa {
            if !passed_over {
                self.begin_transaction()?;
            } else if let Some(group) = &mut self.group {
                // Its statements are the transaction's.
                group.in_transaction = true;
            }
        }
        Ok(Applied::Done)
    }

    fn keep(&mut self, received: &Arc<ReceivedEvent>) {
        if let Some(group) = &mut self.group {
            group.kept = Some(vec![received.clone()]);
            group.kept_bytes = received.memory();
        }
    }

    pub(super) fn begin_group(
        &mut self,
        name: GroupName,
        header: &EventHeader,
        commit: Option<OriginalCommit>,
    ) -> Result<()> {
        self.abandon_group();
        self.annotation.clear();
        let is_executed = match (name, self.reached.gtids.get(&domain_of(name))) {
            (GroupName::Mariadb(gtid), Some(last)) => gtid.sequence <= last.sequence,
            _ => false,
        };
        let mut group = Group {
            name,
            is_passed_over: is_executed || self.skip > 0,
            is_skipped: !is_executed && self.skip > 0,
            in_transaction: false,
            has_changes: false,
            has_temporary: false,
            in_rows: false,
            rows_text: None,
            kept: None,
            kept_bytes: 0,
        };
        if self.skip > 0 {
            self.skip -= 1;
        }
        let named = self.name_here(name)?;
        let cx = self.session.context();
        cx.set_origin(Some(Origin { server_id: header.server_id, commit, position: None }));
        if let Some(gtid) = named {
            cx.set_gtid_next(GtidSpecification::Assigned(gtid))?;
            group.is_passed_over |= matches!(cx.log.next(), GtidNext::Executed(_));
        }
        self.channel.with(|state| state.progress.applying_since = header.timestamp);
        self.group = Some(group);
        Ok(())
    }

    /// The GTID that the group gets here; `None` for this server's next one.
    fn name_here(&mut self, name: GroupName) -> Result<Option<Gtid>> {
        let uuid = match name {
            GroupName::Mysql(gtid) => return Ok(Some(gtid)),
            GroupName::Mariadb(_) => return Ok(None),
            GroupName::Anonymous => match self.channel.with(|state| state.source.anonymous.clone()) {
                AnonymousGtids::Off | AnonymousGtids::Local => return Ok(None),
                AnonymousGtids::Uuid(uuid) => uuid,
            },
        };
        let uuid: Uuid = uuid.parse().map_err(|_| error::MALFORMED_GTID_SPECIFICATION.with(&[&uuid]))?;
        // What was enqueued last may not be ordered yet.
        let gno = self.instance.log().gtid_ordered().next_gno(uuid).max(self.last_named + 1);
        self.last_named = gno;
        Ok(Some(Gtid::new(uuid, gno)))
    }

    pub(super) fn begin_transaction(&mut self) -> Result<()> {
        self.session.context().begin_replicated()?;
        if let Some(group) = &mut self.group {
            group.in_transaction = true;
        }
        Ok(())
    }
}
