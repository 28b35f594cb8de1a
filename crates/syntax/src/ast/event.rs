//! Events: statements that the server runs by itself, at a time or again and again.

use super::{Account, Expr, IntervalUnit, ObjectName, Span, Statement, Text};

#[derive(Debug, Clone, PartialEq)]
pub struct CreateEvent {
    pub definer: Option<Account>,
    pub if_not_exists: bool,
    pub name: ObjectName,
    pub schedule: EventSchedule,
    pub options: EventOptions,
    pub body: Statement,
}

/// ALTER EVENT leaves as it is what it says nothing of.
#[derive(Debug, Clone, PartialEq)]
pub struct AlterEvent {
    pub definer: Option<Account>,
    pub name: ObjectName,
    pub schedule: Option<EventSchedule>,
    pub rename: Option<ObjectName>,
    pub options: EventOptions,
    pub body: Option<Statement>,
}

/// What stands behind ON SCHEDULE.
#[derive(Debug, Clone, PartialEq)]
pub struct EventSchedule {
    pub times: EventTimes,
    /// Its text.
    pub span: Span,
}

#[derive(Debug, Clone, PartialEq)]
pub enum EventTimes {
    At(Expr),
    Every { value: Expr, unit: IntervalUnit, starts: Option<Expr>, ends: Option<Expr> },
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct EventOptions {
    /// ON COMPLETION PRESERVE, or NOT PRESERVE.
    pub preserve: Option<bool>,
    pub status: Option<EventStatus>,
    /// The text of the status; where there is none, the empty place for it.
    pub status_span: Span,
    pub comment: Option<Text>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EventStatus {
    Enabled,
    Disabled,
    /// It runs on the source alone.
    DisabledOnReplica,
}
