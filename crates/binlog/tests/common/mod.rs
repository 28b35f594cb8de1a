//! What the tests of the log share: small transactions that are recognised again.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used)]

use binlog::LogPosition;
use binlog::event::{Event, EventType, QueryEvent};
use binlog::group::{EventGroup, GroupBuilder, GroupContext};
use binlog::gtid::Uuid;
use binlog::log::{CommitHook, Log, LogError, LogOptions, LogReader, Recovered};
use env::Env;
use parking_lot::Mutex;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

pub const UUID: Uuid = Uuid([7; 16]);
pub const DIR: &str = "/data";

/// A transaction with `id` in its Xid and `padding` bytes of rows.
pub fn group(id: u64, padding: usize) -> EventGroup {
    let mut builder = GroupBuilder::new(GroupContext::new(1, 1_767_225_600, 80408));
    builder.begin(&QueryEvent::new(1, b"db", b"BEGIN"));
    builder.write_row(100, 2, &vec![id as u8; padding + 1]);
    builder.end_statement();
    builder.finish_xid(id)
}

/// As [`group`], with its rows in events of about 100 bytes, so that it gets a file of its own if
/// the log has it so; on the way some rows are taken back.
pub fn large_group(log: &Log, id: u64, padding: usize) -> Result<EventGroup, LogError> {
    let mut context = GroupContext::new(1, 1_767_225_600, 80408);
    context.row_event_max_size = 80;
    let mut builder = GroupBuilder::new(context);
    builder.begin(&QueryEvent::new(1, b"db", b"BEGIN"));
    for n in 0..=padding / 40 {
        let mark = builder.mark();
        builder.write_row(100, 2, &[n as u8; 40]);
        log.relieve(&mut builder)?;
        if n % 5 == 4 {
            builder.truncate(mark);
            builder.write_row(100, 2, &[id as u8; 40]);
        }
    }
    builder.end_statement();
    Ok(builder.finish_xid(id))
}

pub fn options() -> LogOptions {
    let mut options = LogOptions::new(1, UUID, "8.4.8");
    options.background = false;
    options
}

pub fn open(env: &(impl Env + Clone), options: &LogOptions) -> Result<(Arc<Log>, Recovered), LogError> {
    let (log, recovered) = Log::open(Arc::new(env.clone()), Path::new(DIR), options.clone())?;
    log.set_purge_floor(LogPosition::MAX);
    Ok((log, recovered))
}

/// The calls of commit hooks, in order.
#[derive(Clone, Default)]
pub struct HookLog(Arc<Mutex<Vec<HookCall>>>);

/// A transaction, and its position or that it was refused.
pub type HookCall = (u64, Option<LogPosition>);

impl HookLog {
    pub fn hook(&self, id: u64) -> Box<dyn CommitHook> {
        Box::new(RecordingHook { hook_log: self.clone(), id })
    }

    pub fn ordered(&self) -> Vec<u64> {
        self.0.lock().iter().filter(|(_, position)| position.is_some()).map(|&(id, _)| id).collect()
    }

    /// The calls since the last `take`.
    pub fn take(&self) -> Vec<HookCall> {
        std::mem::take(&mut *self.0.lock())
    }

    pub fn refused(&self) -> Vec<u64> {
        self.0.lock().iter().filter(|(_, position)| position.is_none()).map(|&(id, _)| id).collect()
    }
}

struct RecordingHook {
    hook_log: HookLog,
    id: u64,
}

impl CommitHook for RecordingHook {
    fn ordered(&mut self, position: LogPosition) {
        self.hook_log.0.lock().push((self.id, Some(position)));
    }

    fn refused(&mut self) {
        self.hook_log.0.lock().push((self.id, None));
    }
}

/// The ids and positions of all transactions in the log after `from`.
pub fn replayed(log: &Log, from: LogPosition) -> Vec<(u64, LogPosition)> {
    let mut found = Vec::new();
    log.replay::<LogError>(from, &mut |event| {
        if event.event.header.event_type == EventType::XID {
            let Ok(Event::Xid(xid)) = binlog::event::decode(event.event.bytes, event.event.fde) else {
                panic!()
            };
            assert!(event.is_last);
            found.push((xid.0, event.position));
        }
        Ok(())
    })
    .unwrap();
    found
}

pub fn ids(log: &Log) -> Vec<u64> {
    replayed(log, LogPosition::ZERO).into_iter().map(|(id, _)| id).collect()
}

/// The ids of the transactions that a reader has before it now.
pub fn drain(reader: &mut LogReader) -> Vec<u64> {
    let mut found = Vec::new();
    while let Some(event) = reader.next(Duration::ZERO).unwrap() {
        if event.header.event_type == EventType::XID {
            let Ok(Event::Xid(xid)) = binlog::event::decode(event.bytes, event.fde) else { panic!() };
            found.push(xid.0);
        }
    }
    found
}
