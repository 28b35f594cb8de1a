//! SHOW ENGINE .. STATUS: what log, store and locks are doing, in words.
//!
//! Each section asks one part of the engine, and is a plain function from it to text. Programs ask
//! for InnoDB's status, and look for sections by name: they get the same text, and
//! `LATEST DETECTED DEADLOCK` and `TRANSACTIONS` under InnoDB's names.

mod deadlock;
mod sections;

use std::fmt::Write as _;

use crate::listing::{Listing, cells, text};
use crate::session::Context;
use datum::error::{self, Result, SqlError};
use datum::value::DateTime;
use syntax::ast::{EngineReport, Ident};

/// The statement's one row. `engine` is `None` for ALL.
pub(super) fn status(cx: &Context, engine: Option<&Ident>, what: EngineReport) -> Result<Listing> {
    if what != EngineReport::Status {
        return Err(SqlError::unsupported("SHOW ENGINE .. MUTEX and LOGS"));
    }
    let (kind, title) = match engine {
        Some(name) if name.is("DURAMEN") => ("Duramen", "DURAMEN"),
        Some(name) if !name.is("INNODB") => return Err(error::UNKNOWN_STORAGE_ENGINE.with(&[name])),
        _ => ("InnoDB", "INNODB"),
    };
    let mut out = Listing::new([text("Type", 10), text("Name", 512), text("Status", 65_535)]);
    out.push(cells![kind, "", report(cx, title)]);
    Ok(out)
}

fn report(cx: &Context, title: &str) -> String {
    let engine = cx.instance.engine();
    let (log, store) = (engine.log(), engine.store());
    let stats = store.stats();
    let mut report = Report(String::new());
    report.frame(&format!("{} {title} MONITOR OUTPUT", now(cx)));
    if let Some(deadlock) = engine.locks().latest_deadlock() {
        report.section("LATEST DETECTED DEADLOCK");
        deadlock::report(cx, &deadlock, &mut report.0);
    }
    let globals = cx.instance.globals();
    let state = cx.catalog().state();
    if !state.set_aside.is_empty() {
        report.add_section("OBJECTS SET ASIDE", sections::set_aside(&state));
    }
    report.add_section("TRANSACTIONS", sections::transactions(engine));
    report.add_section("LOG", sections::log(log, globals));
    report.add_section("GROUPS", sections::groups(log.status()));
    report.add_section("FLUSHES", sections::flushes(log.status()));
    report.add_section(
        "CHECKPOINT",
        sections::checkpoint(log, store.checkpoint_position(), &stats, engine.options()),
    );
    report.add_section("MEMTABLES", sections::memtables(&stats, engine.options()));
    report.add_section("TABLES", sections::tables(&stats));
    report.add_section("CACHE", sections::cache(&stats, engine.options()));
    report.add_section("LOCKS", sections::locks(engine.locks()));
    report.add_section("SNAPSHOTS", sections::snapshots(log, &stats));
    report.add_section("LARGE TRANSACTIONS", sections::large(log.status(), globals));
    report.frame(&format!("END OF {title} MONITOR OUTPUT"));
    report.0.trim_end().to_owned()
}

fn now(cx: &Context) -> String {
    let utc = i64::try_from(cx.instance.env().now()).unwrap_or(i64::MAX);
    DateTime::from_unix_micros(cx.settings.zone().to_local(utc), 0)
        .map_or_else(String::new, |at| at.to_string())
}

struct Report(String);

impl Report {
    fn frame(&mut self, title: &str) {
        let line = "=".repeat(title.len());
        let _ = writeln!(self.0, "{line}\n{title}\n{line}");
    }

    fn section(&mut self, title: &str) {
        let line = "-".repeat(title.len());
        let _ = writeln!(self.0, "{line}\n{title}\n{line}");
    }

    fn add_section(&mut self, title: &str, text: String) {
        self.section(title);
        self.0.push_str(text.trim_end());
        self.0.push('\n');
    }
}
