//! Why an applier stops, in the words that SHOW REPLICA STATUS has for it.

use super::received::ReceivedEvent;
use datum::error::SqlError;

/// Why an applier stops.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ApplyError {
    /// MySQL's error number.
    pub number: u16,
    /// What happened, with transaction, event and place.
    pub message: String,
}

impl ApplyError {
    /// An event can't be applied.
    pub(super) fn new(e: &SqlError, transaction: Option<&str>, event: &ReceivedEvent) -> Self {
        let place = format!("source log {}, end_log_pos {}", event.file, event.end);
        let message = match transaction {
            Some(transaction) => format!(
                "Worker 1 failed executing transaction '{transaction}' at {place}; {}",
                e.message.trim_end_matches('.')
            ),
            None => format!("{}, at {place}", e.message.trim_end_matches('.')),
        };
        Self { number: e.number, message }
    }

    /// The log did not take what was applied.
    pub(super) fn of_commit(e: &SqlError) -> Self {
        Self { number: e.number, message: e.message.clone() }
    }
}
