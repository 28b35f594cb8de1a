//! Fixing the order: steps 2 to 4 of [`super::commit`].

use super::Shared;
use super::commit::Leader;
use super::error::{CommitError, LogError};
use super::queue::Entry;
use super::rotate::Active;
use crate::group::GtidStamp;
use crate::gtid::{Gtid, GtidSpecification, Source, Uuid};
use crate::position::LogPosition;
use std::sync::atomic::Ordering::Relaxed;

/// The orderer writes what it has ordered when that is this many bytes; a transaction larger than
/// this is written from its own buffer.
const PIECE: usize = 1 << 20;
/// Room is made by this many bytes of zeros at a time.
const ROOM: u64 = 1 << 20;
static ZEROS: [u8; ROOM as usize] = [0; ROOM as usize];
/// Groups larger than this, in bytes, are written when they are ordered: zeros to make room for
/// them would double the bytes written.
const WRITE_THROUGH_MIN: u64 = ROOM / 8;

impl Shared {
    /// Steps 2 to 4 for all that is queued.
    pub(super) fn order_queued(&self, leader: &mut Leader) {
        let mut entries = self.queue.take();
        while let Some(first) = entries.first() {
            let alone = match first.is_large() || env::rarely(&*self.env, 4) {
                true => Some(1),
                false => entries.iter().position(Entry::is_large),
            };
            let remaining = alone.map_or_else(Vec::new, |at| entries.split_off(at));
            self.order_together(leader, std::mem::replace(&mut entries, remaining));
        }
    }

    /// Steps 2 to 4 for transactions that held their locks at the same time.
    fn order_together(&self, leader: &mut Leader, mut entries: Vec<Entry>) {
        let start = leader.active.position();
        let ordered = match &mut entries[..] {
            [entry] if entry.is_large() => self.order_large(leader, entry),
            entries => self.assign_positions(leader, entries).map(|()| self.release(leader, start, entries)),
        };
        if let Err(error) = ordered {
            self.refuse(entries, error);
        }
    }

    /// All of a transaction with a file of its own (`large.rs`).
    fn order_large(&self, leader: &mut Leader, entry: &mut Entry) -> Result<(), CommitError> {
        let gtid = leader.gtid(self.maker.server_uuid, &entry.gtid).map_err(CommitError::Refused)?;
        entry.gtid = GtidSpecification::Assigned(gtid);
        let mut group = entry.group.take().expect("an entry is stamped once");
        self.adopt_file(leader, &mut group, gtid, &mut |position| {
            entry.end = position;
            entry.hook.ordered(position);
            self.queue.add_ordered([entry.as_member()].into_iter());
        })?;
        self.status.transactions.add(1);
        self.status.bytes_written.add(group.stamped_len_max(gtid.source.tag) as u64);
        self.status.groups.add(1);
        self.status.group_size.record(1);
        Ok(())
    }

    /// Steps 2 and 3, or nothing of them (G3 of `commit.rs`).
    fn assign_positions(&self, leader: &mut Leader, entries: &mut [Entry]) -> Result<(), CommitError> {
        self.progress.check().map_err(CommitError::Refused)?;
        let length_max =
            |entry: &Entry| entry.group.as_ref().map_or(0, |group| group.stamped_len_max(entry.gtid.tag()));
        let length = entries.iter().map(length_max).sum::<usize>() as u64;
        if leader.active.end + length > LogPosition::OFFSET_MAX - ROOM {
            return Err(CommitError::Refused(LogError::Exhausted("room in one file")));
        }
        if length > WRITE_THROUGH_MIN {
            return self.write_through(leader, entries);
        }
        let (end, sequence, unwritten) = (leader.active.end, leader.active.sequence, leader.unwritten.len());
        let fixed = leader
            .active
            .make_room(length, self.settings.max_binlog_size())
            .and_then(|()| self.stamp(leader, entries, |_| Ok(())));
        if fixed.is_err() {
            leader.unwritten.truncate(unwritten);
            (leader.active.end, leader.active.sequence) = (end, sequence);
            leader.gtids = self.queue.gtids(&self.published);
            leader.dependencies.restart(sequence);
        }
        fixed.map_err(CommitError::Refused)
    }

    /// Steps 2, 3 and 6 of groups larger than [`WRITE_THROUGH_MIN`]: they are written at once, and
    /// cut off again if that fails.
    fn write_through(&self, leader: &mut Leader, entries: &mut [Entry]) -> Result<(), CommitError> {
        let _write_latch = self.write_ordered(leader).map_err(CommitError::Refused)?;
        let (end, sequence) = (leader.active.end, leader.active.sequence);
        let written =
            self.stamp(leader, entries, Leader::write_if_large).and_then(|()| leader.write_unwritten());
        let Err(error) = written else { return Ok(()) };
        leader.unwritten = Vec::new();
        (leader.active.end, leader.active.sequence) = (end, sequence);
        leader.gtids = self.queue.gtids(&self.published);
        leader.dependencies.restart(sequence);
        match self.cut_back(&mut leader.active) {
            Ok(()) => Err(CommitError::Refused(error)),
            Err(latched) => Err(CommitError::Unknown(latched)),
        }
    }

    /// Gives each entry its GTID, `sequence_number` and position, and appends its bytes to
    /// `unwritten`; `stamped` is called after each.
    fn stamp(
        &self,
        leader: &mut Leader,
        entries: &mut [Entry],
        stamped: fn(&mut Leader) -> Result<(), LogError>,
    ) -> Result<(), LogError> {
        let commit_timestamp = self.env.now();
        let ordered = leader.active.sequence;
        leader.dependencies.resize(self.settings.dependency_history_size.load(Relaxed), ordered);
        for entry in entries {
            let events = entry.group.take().expect("an entry is stamped once");
            let gtid = leader.gtid(self.maker.server_uuid, &entry.gtid)?;
            leader.gtids.add(gtid);
            entry.gtid = GtidSpecification::Assigned(gtid);
            leader.active.sequence += 1;
            let sequence_number = leader.active.sequence;
            let last_committed = leader.dependencies.add(events.keys(), sequence_number, ordered);
            let stamp = GtidStamp { gtid: Some(gtid), last_committed, sequence_number, commit_timestamp };
            let (start, unwritten) = (leader.active.end, leader.unwritten.len());
            if events.stamped_len_max(gtid.source.tag) <= PIECE {
                events.stamp(&stamp, start, &mut leader.unwritten);
            } else {
                leader.body = events.stamp_in_place(&stamp, start, &mut leader.unwritten);
            }
            leader.active.end += (leader.unwritten.len() - unwritten + leader.body.len()) as u64;
            entry.end = leader.active.position();
            stamped(leader)?;
        }
        Ok(())
    }

    /// Step 4.
    fn release(&self, leader: &mut Leader, start: LogPosition, entries: &mut [Entry]) {
        let end = leader.active.position();
        assert!(end > self.progress.ordered.get(), "the log only grows (G1)");
        for entry in entries.iter_mut() {
            entry.hook.ordered(entry.end);
        }
        self.advance_ordered(end);
        if leader.unwritten.is_empty() {
            // Groups that were written through. `written` moves only now, after `ordered`
            // (A2 of `progress.rs`).
            self.set_written(&leader.active);
        }
        self.full_disk.worked(&self.files.folder.dir);
        self.status.transactions.add(entries.len() as u64);
        self.status.bytes_written.add(end.offset() - start.offset());
        self.queue.add_ordered(entries.iter().map(Entry::as_member));
        if leader.unwritten.len() >= PIECE {
            // If it fails the log has latched, and the leader of their flush reports it to them.
            drop(self.write_ordered(leader));
        }
    }

    /// Logs a full disk, if that is why transactions were refused, or got no file of their own.
    pub(super) fn report_if_full(&self, transactions: usize, error: &LogError) {
        self.full_disk.refused(transactions, error, &self.files.folder.dir, self.env.monotonic());
    }

    fn refuse(&self, mut entries: Vec<Entry>, error: CommitError) {
        self.status.refused.add(entries.len() as u64);
        self.report_if_full(entries.len(), error.log_error());
        self.queue.dismiss(&entries);
        entries.iter_mut().for_each(|entry| entry.hook.refused());
        for entry in entries {
            entry.waiter.finish(Err(error.clone()));
        }
    }
}

impl Leader {
    /// The GTID of a transaction that is ordered now, on the server of this UUID.
    fn gtid(&self, uuid: Uuid, specification: &GtidSpecification) -> Result<Gtid, LogError> {
        let source = match *specification {
            GtidSpecification::Assigned(gtid) => return Ok(gtid),
            GtidSpecification::Automatic(tag) => Source { uuid, tag },
        };
        let gno = if self.reserved.is_empty() {
            self.gtids.next_gno(source)
        } else {
            let mut taken = self.gtids.of_server(uuid);
            taken.union(&self.reserved);
            taken.next_gno(source)
        };
        if gno > Gtid::GNO_MAX {
            Err(LogError::Exhausted("transaction numbers"))
        } else {
            Ok(Gtid::new(source, gno))
        }
    }

    /// Bounds the memory of `unwritten`.
    fn write_if_large(&mut self) -> Result<(), LogError> {
        if self.unwritten.len() >= PIECE || !self.body.is_empty() { self.write_unwritten() } else { Ok(()) }
    }

    /// Writes what is ordered, which ends at the active file's end.
    pub(super) fn write_unwritten(&mut self) -> Result<(), LogError> {
        let body_at = self.active.end - self.body.len() as u64;
        self.active.write(&self.unwritten, body_at - self.unwritten.len() as u64)?;
        self.unwritten.clear();
        self.active.write(&std::mem::take(&mut self.body), body_at)
    }
}

impl Active {
    fn write(&mut self, bytes: &[u8], at: u64) -> Result<(), LogError> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.file.write_at(bytes, at).map_err(|e| LogError::io("writing the binary log", e))?;
        self.allocated = self.allocated.max(at + bytes.len() as u64);
        Ok(())
    }

    /// Extends the file with zeros if fewer than `length` follow the end (G3 of `commit.rs`):
    /// [`ROOM`] of them, up to `limit`, or `length` if the disk has no room for more. They also
    /// save the next groups' flushes the journal write that a changed file length costs.
    fn make_room(&mut self, length: u64, limit: u64) -> Result<(), LogError> {
        let needed = self.end + length;
        if needed <= self.allocated {
            return Ok(());
        }
        let wanted = needed.max(limit.min(self.end + ROOM));
        let zeros = |end: u64| &ZEROS[..ZEROS.len().min((end - self.allocated) as usize)];
        let (all, enough, at) = (zeros(wanted), zeros(needed), self.allocated);
        self.write(all, at).or_else(|_| self.write(enough, at))
    }
}
