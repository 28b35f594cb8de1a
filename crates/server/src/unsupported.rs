//! What clients were refused as not supported (1235), logged once, so that an
//! operator sees why an installer or a framework stopped.
//!
//! (U1) What is remembered is bounded, whatever clients send: the texts name features, but some
//!      quote the statement.

use parking_lot::Mutex;
use sql::SqlError;
use std::collections::HashSet;

/// The most different refusals that are logged.
const FEATURES_MAX: usize = 200;
/// The most bytes of a refusal that are logged and remembered.
const TEXT_MAX: usize = 200;

/// What was logged so far.
#[derive(Default)]
pub struct Unsupported(Mutex<HashSet<Box<str>>>);

impl Unsupported {
    /// Logs a refusal, unless it is another error or was logged before.
    pub(crate) fn note(&self, error: &SqlError, connection: u64) {
        if !error.is(datum::error::NOT_SUPPORTED_YET) {
            return;
        }
        let text = &error.message[..error.message.floor_char_boundary(TEXT_MAX)];
        let mut logged = self.0.lock();
        if logged.len() >= FEATURES_MAX || logged.contains(text) {
            return;
        }
        logged.insert(text.into());
        let is_last = logged.len() == FEATURES_MAX;
        drop(logged);
        tracing::warn!(
            "connection {connection} was refused (1235), which is told once: {}",
            text.replace(char::is_control, " ")
        );
        if is_last {
            tracing::warn!("{FEATURES_MAX} refusals (1235) were told; others are not, until the next start");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_clients_make_up_is_bounded() {
        let unsupported = Unsupported::default();
        for number in 0..3 * FEATURES_MAX {
            let text = format!("{number} {}", "ü".repeat(TEXT_MAX));
            unsupported.note(&SqlError::unsupported(text), 1);
        }
        unsupported.note(&datum::error::EMPTY_QUERY.plain(), 1);
        let logged = unsupported.0.lock();
        assert_eq!(logged.len(), FEATURES_MAX);
        assert!(logged.iter().all(|text| text.len() <= TEXT_MAX));
    }
}
