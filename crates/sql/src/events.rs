//! Events that are due: what the server's scheduler asks for and runs.
//!
//! 1. due   [`EventQueue::take_due`] compares the schedules with the clock. Definitions are looked
//!    at again when one has changed.
//! 2. run   [`DueEvent::run`] runs an event's body in a session of its definer, like a procedure
//!    that is called: each of its statements by itself.
//! 3. end   An event whose schedule is over is dropped then, or disabled (ON COMPLETION PRESERVE),
//!    by a statement that the log has.
//!
//! (V1) An event is run once for each moment of its schedule that the server is there for. A single
//!      moment that it was not there for is made up for at the next start; of recurring ones only
//!      those that come then.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use parking_lot::Mutex;

use crate::catalog::UserAtHost;
use crate::catalog::event::{EventDef, Schedule};
use crate::catalog::show::quote;
use crate::executor::Discard;
use crate::instance::Instance;
use crate::session::Connection;
use crate::variables::ids;
use datum::error::Result;
use datum::value::temporal::SECOND;
use syntax::ast::EventStatus;

/// Enabled events and when they are due next.
#[derive(Default)]
pub struct EventQueue {
    /// [`crate::catalog::Catalog::definitions_epoch`] when they were looked at.
    epoch: Option<u64>,
    waiting: Vec<Waiting>,
}

struct Waiting {
    event: Arc<EventDef>,
    /// In microseconds since 1970, UTC; `None` if its schedule is over.
    due: Option<i64>,
}

/// An event whose moment has come, or whose schedule is over.
pub struct DueEvent {
    event: Arc<EventDef>,
    /// It is to be run.
    is_due: bool,
    /// There is no moment after this one.
    is_last: bool,
}

/// When events were run last since the server started: microseconds since 1970, UTC.
#[derive(Default)]
pub(crate) struct EventTimes(Mutex<BTreeMap<(String, String), i64>>);

impl EventTimes {
    /// When an event was run last.
    pub(crate) fn last(&self, event: &EventDef) -> Option<i64> {
        let last = self.0.lock().get(&name_of(event)).copied();
        // One that is new under an old name was not run yet.
        last.filter(|last| *last >= event.created * SECOND)
    }

    fn note(&self, event: &EventDef, moment: i64) {
        self.0.lock().insert(name_of(event), moment);
    }

    fn forget(&self, event: &EventDef) {
        self.0.lock().remove(&name_of(event));
    }
}

fn name_of(event: &EventDef) -> (String, String) {
    (event.database.clone(), event.name.to_lowercase())
}

impl EventQueue {
    /// The events that are due now, at most `most` of them; all others stay due.
    pub fn take_due(&mut self, instance: &Instance, most: usize) -> Vec<DueEvent> {
        let now = i64::try_from(instance.env().now()).unwrap_or(i64::MAX);
        self.examine(instance, now);
        let mut taken = Vec::new();
        let mut kept = Vec::with_capacity(self.waiting.len());
        for waiting in std::mem::take(&mut self.waiting) {
            if taken.len() >= most || waiting.due.is_some_and(|due| due > now) {
                kept.push(waiting);
                continue;
            }
            let Waiting { event, due } = waiting;
            let next = event.next(now);
            taken.push(DueEvent { event: event.clone(), is_due: due.is_some(), is_last: next.is_none() });
            // The statement that ends it changes the definitions.
            if next.is_some() {
                kept.push(Waiting { event, due: next });
            }
        }
        self.waiting = kept;
        taken
    }

    /// How long until the next one is due.
    pub fn patience(&self, instance: &Instance) -> Option<Duration> {
        let now = i64::try_from(instance.env().now()).unwrap_or(i64::MAX);
        let due = self.waiting.iter().filter_map(|waiting| waiting.due).min()?;
        Some(Duration::from_micros(u64::try_from(due - now).unwrap_or(0)))
    }

    /// Forgets what it knows: the scheduler was off.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Looks at the definitions, if they may have changed.
    fn examine(&mut self, instance: &Instance, now: i64) {
        let epoch = instance.catalog().definitions_epoch().load(Ordering::Acquire);
        if self.epoch == Some(epoch) {
            return;
        }
        let is_first = self.epoch.replace(epoch).is_none();
        let before = std::mem::take(&mut self.waiting);
        let state = instance.catalog().state();
        for event in state.databases.values().flat_map(|database| database.events.values()) {
            if event.status != EventStatus::Enabled {
                continue;
            }
            if let Some(known) = before.iter().find(|known| Arc::ptr_eq(&known.event, event)) {
                self.waiting.push(Waiting { event: event.clone(), due: known.due });
                continue;
            }
            let due = match &event.schedule {
                Schedule::At(moment) => Some(*moment),
                // A new one begins with the second in which it was made.
                Schedule::Every { .. } => {
                    let from = if is_first { now - now % SECOND } else { event.altered * SECOND };
                    event.next(from.max(event.altered * SECOND) - 1)
                }
            };
            self.waiting.push(Waiting { event: event.clone(), due });
        }
    }
}

impl DueEvent {
    /// Its definer, database and name, as messages have them.
    pub fn shown(&self) -> String {
        let EventDef { definer, database, name, .. } = &*self.event;
        format!("[{definer}][{database}.{name}]")
    }

    /// Runs it, and ends it if its schedule is over.
    ///
    /// # Errors
    /// Those of its statements, of its definer's account, and of the statement that ends it.
    pub fn run(&self, instance: &Arc<Instance>) -> Result<()> {
        let outcome = if self.is_due { self.run_body(instance) } else { Ok(()) };
        if self.is_last {
            self.end(instance)?;
        }
        outcome
    }

    fn run_body(&self, instance: &Arc<Instance>) -> Result<()> {
        let now = i64::try_from(instance.env().now()).unwrap_or(i64::MAX);
        instance.event_times().note(&self.event, now);
        let definer = self.event.definer.clone();
        let connection = Connection { account: definer.clone(), ..Connection::local(0, &definer.user) };
        let connection = Connection { id: instance.reserve_id(), ..connection };
        instance.connect(connection)?.run_event(&self.event, &mut Discard)
    }

    /// Drops or disables it, unless it was changed meanwhile.
    fn end(&self, instance: &Arc<Instance>) -> Result<()> {
        let EventDef { database, name, .. } = &*self.event;
        let is_same =
            instance.catalog().state().event(database, name).is_some_and(|now| Arc::ptr_eq(now, &self.event));
        if !is_same {
            return Ok(());
        }
        let UserAtHost { user, host } = &self.event.definer;
        let shown = format!("{}.{}", quote(database), quote(name));
        let statement = match self.event.preserve {
            true => format!("ALTER DEFINER={}@{} EVENT {shown} DISABLE", quote(user), quote(host)),
            false => {
                instance.event_times().forget(&self.event);
                format!("DROP EVENT {shown}")
            }
        };
        let connection = Connection::local(instance.reserve_id(), "event_scheduler");
        instance.connect(connection)?.execute_unlimited(statement.as_bytes(), &mut Discard)
    }
}

/// True if events are to be run: `event_scheduler` is ON.
pub fn runs_events(instance: &Instance) -> bool {
    instance.globals().uint(ids::EVENT_SCHEDULER) == 1
}
