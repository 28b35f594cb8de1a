//! The transactions of a file: where each is, what it is called and when it was committed. Rows are
//! passed by.

use super::ToolError;
use super::group::{GroupMembership, Groups};
use super::input::LogFile;
use binlog::event::{
    Event, EventType, FormatDescription, MariadbGtid, RowsEvent, decode, decode_format_description,
};
use binlog::file::{FileEnd, FileError, RawEvent};
use binlog::gtid::{Gtid, GtidSet};
use env::{Env, UnixMicros};
use std::fmt;
use std::ops::ControlFlow;
use std::path::Path;

/// What a transaction is called.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) enum Name {
    #[default]
    Anonymous,
    Mysql(Gtid),
    Mariadb(MariadbGtid),
}

impl Name {
    fn of(event: &Event<'_>) -> Self {
        match event {
            Event::Gtid(event) => event.gtid.map_or(Self::Anonymous, Self::Mysql),
            Event::MariadbGtid(event) => Self::Mariadb(event.gtid),
            _ => Self::Anonymous,
        }
    }

    /// Adds MySQL's.
    pub(super) fn add_to(&self, set: &mut GtidSet) {
        if let Self::Mysql(gtid) = self {
            set.add(*gtid);
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Anonymous => f.write_str("a transaction without GTID"),
            Self::Mysql(gtid) => gtid.fmt(f),
            Self::Mariadb(gtid) => gtid.fmt(f),
        }
    }
}

/// A whole transaction.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Transaction {
    pub(super) name: Name,
    /// Offset of its GTID event.
    pub(super) start: u64,
    /// Offset after its last event.
    pub(super) end: u64,
    /// Microseconds since 1970; of files without commit timestamps the GTID event's second.
    pub(super) committed: UnixMicros,
}

/// What a walk over a file visits.
#[derive(Debug)]
pub(super) enum WalkItem<'a> {
    /// An event, in its order.
    Event(RawEvent<'a>),
    /// The transaction that ended with the last event.
    Transaction(&'a Transaction),
}

/// What is known of a file after the walk.
#[derive(Debug, Default)]
pub(super) struct Walked {
    /// Every GTID of the files before; `None` if it does not say.
    pub(super) previous: Option<GtidSet>,
    /// After the last event that is in no transaction that has no end.
    pub(super) end: u64,
    /// Rotate ends it, and so the next file goes on from all that is in it.
    pub(super) rotates: bool,
}

/// Where a log file's transactions end.
pub(crate) struct LogEnd {
    /// Behind the last whole transaction, or what else stands outside of one.
    pub(crate) end: u64,
    /// When the last transaction was committed, in microseconds since 1970; `None` without one.
    pub(crate) last_commit: Option<UnixMicros>,
    /// What it is called; empty without one.
    pub(crate) last_gtid: GtidSet,
    /// All that was executed up to there, in the files before, too.
    pub(crate) executed: GtidSet,
}

/// Looks for a file's last transaction that ends at `limit` or before.
pub(crate) fn end_of_log(env: &dyn Env, path: &Path, limit: u64) -> Result<LogEnd, ToolError> {
    let mut found = LogEnd { end: 0, last_commit: None, last_gtid: GtidSet::new(), executed: GtidSet::new() };
    let mut is_over = false;
    let walked = walk(env, &LogFile::at(path.to_owned()), &mut |item| {
        match item {
            WalkItem::Transaction(transaction) if transaction.end <= limit => {
                found.last_commit = Some(transaction.committed);
                found.end = transaction.end;
                found.last_gtid = GtidSet::new();
                transaction.name.add_to(&mut found.last_gtid);
                transaction.name.add_to(&mut found.executed);
            }
            WalkItem::Event(event) if event.end() <= limit => return Ok(ControlFlow::Continue(())),
            _ => {
                is_over = true;
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    })?;
    found.executed.union(&walked.previous.unwrap_or_default());
    if !is_over || found.last_commit.is_none() {
        found.end = walked.end.min(limit);
    }
    Ok(found)
}

/// Walks a file. One that is in use ends at its last whole transaction.
pub(super) fn walk(
    env: &dyn Env,
    file: &LogFile,
    visit: &mut dyn FnMut(WalkItem<'_>) -> Result<ControlFlow<()>, ToolError>,
) -> Result<Walked, ToolError> {
    let mut reader = file.open(env)?;
    let mut format = FormatDescription::new("", 0);
    let mut groups = Groups::default();
    let mut current = Transaction::default();
    let mut walked = Walked { end: reader.at(), ..Walked::default() };
    loop {
        let in_use = reader.in_use();
        let raw = match reader.next_event() {
            Ok(Some(raw)) => raw,
            Ok(None) => break,
            Err(e) if in_use && e.is_damage() => break,
            Err(e) => return Err(file.error(e)),
        };
        let broken = |source| file.error(FileError::Event { at: raw.start, source });
        let kind = raw.header.event_type;
        if kind == EventType::FORMAT_DESCRIPTION {
            format = decode_format_description(raw.bytes).map_err(broken)?;
        }
        let is_row = RowsEvent::is_rows(kind) || kind == EventType::TABLE_MAP;
        let event = if is_row { Event::Unknown(&[]) } else { decode(raw.bytes, &format).map_err(broken)? };
        match &event {
            Event::Gtid(gtid) => {
                let second = u64::from(raw.header.timestamp) * 1_000_000;
                let committed = gtid.commit.map_or(second, |commit| commit.immediate_commit_timestamp);
                current = Transaction { name: Name::of(&event), start: raw.start, end: 0, committed };
            }
            Event::MariadbGtid(_) => {
                let committed = u64::from(raw.header.timestamp) * 1_000_000;
                current = Transaction { name: Name::of(&event), start: raw.start, end: 0, committed };
            }
            Event::PreviousGtids(set) => walked.previous = Some(set.0.clone()),
            Event::Rotate(_) => walked.rotates = true,
            _ => {}
        }
        let end = raw.end();
        let wrong = |what| ToolError::Refused(format!("{}: at {}: {what}", file.name, raw.start));
        let membership = groups.advance(raw.start, end, &event).map_err(wrong)?;
        let event_flow = visit(WalkItem::Event(raw))?;
        if membership != GroupMembership::Inside {
            walked.end = end;
        }
        let flow = if membership == GroupMembership::Ended {
            current.end = end;
            visit(WalkItem::Transaction(&current))?
        } else {
            event_flow
        };
        if event_flow.is_break() || flow.is_break() {
            return Ok(walked);
        }
    }
    let cut_off = groups.open().is_some() || reader.end() == Some(FileEnd::Zeros);
    if cut_off && !reader.in_use() {
        let what = "the file counts as closed, but ends in zeros or inside a transaction";
        return Err(ToolError::Refused(format!("{}: at {}: {what}", file.name, reader.at())));
    }
    Ok(walked)
}
