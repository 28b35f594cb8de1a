//! The error log: one line on standard error for each message.
//!
//! `2026-11-21T03:43:18.123456Z [Warning] [server] text`: UTC, MySQL's words for the levels, the
//! crate that speaks.

use env::{Env, UnixMicros};
use std::fmt;
use std::sync::Arc;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

/// Sends messages to standard error from now on; `verbosity` as `log_error_verbosity`. Called once.
pub(crate) fn start(env: Arc<dyn Env>, verbosity: u64) {
    let level = match verbosity {
        0 | 1 => LevelFilter::ERROR,
        2 => LevelFilter::WARN,
        _ => LevelFilter::INFO,
    };
    let started = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(std::io::stderr)
        .event_format(Line { env })
        .try_init();
    if started.is_err() {
        tracing::debug!("messages go to where an earlier start sent them");
    }
    std::panic::set_hook(Box::new(|panic| tracing::error!("internal error: {panic}")));
}

struct Line {
    env: Arc<dyn Env>,
}

impl<S, N> FormatEvent<S, N> for Line
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut out: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let level = match *event.metadata().level() {
            Level::ERROR => "Error",
            Level::WARN => "Warning",
            Level::INFO => "Note",
            Level::DEBUG | Level::TRACE => "Debug",
        };
        let speaker = event.metadata().target().split("::").next().unwrap_or_default();
        write!(out, "{} [{level}] [{speaker}] ", Timestamp(self.env.now()))?;
        let mut message = String::new();
        context.format_fields(Writer::new(&mut message), event)?;
        // A message may quote what a client sent, who could make lines of the log otherwise.
        for c in message.chars() {
            if c.is_control() { write!(out, "{}", c.escape_default())? } else { out.write_char(c)? }
        }
        writeln!(out)
    }
}

/// A point in time as ISO 8601 writes it, in UTC.
struct Timestamp(UnixMicros);

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, micros) = (self.0 / 1_000_000, self.0 % 1_000_000);
        let (year, month, day) = civil(seconds / 86_400);
        let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z")
    }
}

/// Year, month and day of a number of days since 1970-01-01.
///
/// Counts in eras of 400 years that begin on 1 March, so that the leap day is the last of its year.
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (era * 400 + year + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn an_event_is_one_line() {
        #[derive(Clone, Default)]
        struct Written(Arc<std::sync::Mutex<Vec<u8>>>);
        impl std::io::Write for Written {
            fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
                self.0.lock().unwrap().extend_from_slice(bytes);
                Ok(bytes.len())
            }
            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
        let written = Written::default();
        let writer = written.clone();
        let log = tracing_subscriber::fmt()
            .event_format(Line { env: Arc::new(env::SimEnv::new(1)) })
            .with_writer(move || writer.clone())
            .finish();
        let user = "ann\n2026-11-24T04:00:00.000000Z [Error] [server] forged\u{1b}[2J ß";
        tracing::subscriber::with_default(log, || tracing::warn!("'{user}' was not let in"));
        let text = String::from_utf8(written.0.lock().unwrap().clone()).unwrap();
        assert_eq!(text.lines().count(), 1, "{text}");
        assert!(
            text.contains("ann\\n2026") && text.contains("ß' was not let in") && !text.contains('\u{1b}')
        );
    }

    #[test]
    fn times_are_iso_8601() {
        let check = |micros, expected: &str| assert_eq!(Timestamp(micros).to_string(), expected);
        check(0, "1970-01-01T00:00:00.000000Z");
        check(951_782_400_000_000, "2000-02-29T00:00:00.000000Z");
        check(1_795_232_598_123_456, "2026-11-21T03:43:18.123456Z");
        check(4_107_542_399_999_999, "2100-02-28T23:59:59.999999Z");
    }
}
