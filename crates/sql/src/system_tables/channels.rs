//! The rows of `performance_schema` about channels: a row for each that has a source, as in MySQL.
//!
//! A channel's applier is one thread, whatever it prepares in parallel: it is both the coordinator
//! and worker 1. Of single transactions it is not kept when they came and went; those columns have
//! the values of none.

use std::sync::Arc;

use super::{Each, Wanted};
use crate::listing::cells;
use crate::replica::channel::{ChannelState, Running, ThreadError, ThreadStatus};
use crate::replica::filters::Filter;
use crate::replica::{AnonymousGtids, Channel};
use crate::session::Context;
use datum::error::Result;
use datum::value::{DateTime, Datum};

/// A row for each channel that has a source. It is made under the channel's latch, and handed over
/// behind it.
fn for_each(
    cx: &mut Context,
    each: Each<'_>,
    row: impl Fn(&Context, &Channel, &ChannelState) -> Vec<Datum<'static>>,
) -> Result<()> {
    let channels: Vec<Arc<Channel>> = cx.instance.channels().all();
    for channel in channels {
        let made = channel.with(|state| (!state.source.host.is_empty()).then(|| row(cx, &channel, state)));
        if let Some(row) = made {
            each(row)?;
        }
    }
    Ok(())
}

/// A moment, microseconds since 1970; 0 is none.
fn moment(cx: &Context, at: u64) -> Datum<'static> {
    match at {
        0 => Datum::DateTime(DateTime { fsp: 6, ..DateTime::ZERO }),
        at => super::mysql::moment(cx, at),
    }
}

/// Number, message and moment.
fn error(cx: &Context, error: Option<&ThreadError>) -> Vec<Datum<'static>> {
    let (number, message, at) = match error {
        Some(e) => (i64::from(e.number), e.message.clone(), e.at),
        None => (0, String::new(), 0),
    };
    let mut row = cells![number, message];
    row.push(moment(cx, at));
    row
}

/// A transaction that is not kept: its GTID, and moments.
fn no_transaction(cx: &Context, moments: usize) -> Vec<Datum<'static>> {
    let mut row = cells![""];
    row.extend(std::iter::repeat_with(|| moment(cx, 0)).take(moments));
    row
}

fn on(is_on: bool) -> &'static str {
    if is_on { "ON" } else { "OFF" }
}

fn yes(is_so: bool) -> &'static str {
    if is_so { "YES" } else { "NO" }
}

fn one(is_so: bool) -> &'static str {
    if is_so { "1" } else { "0" }
}

fn thread_id(thread: &ThreadStatus) -> Option<u64> {
    (thread.process != 0).then_some(thread.process)
}

pub(super) fn connection_configuration(cx: &mut Context, _: &Wanted, each: Each<'_>) -> Result<()> {
    for_each(cx, each, |_, channel, state| {
        let source = &state.source;
        cells![
            channel.name(),
            source.host.clone(),
            i64::from(source.port),
            state.user_and_password().0.to_owned(),
            "",
            one(source.auto_position),
            yes(source.tls),
            source.tls_ca.clone(),
            "",
            "",
            "",
            "",
            yes(source.tls_verify),
            "",
            "",
            i64::try_from(source.connect_retry.as_secs()).unwrap_or(i64::MAX),
            source.retry_count,
            source.heartbeat_period.as_millis() as f64 / 1000.0,
            "",
            "",
            yes(source.get_public_key),
            "",
            source.compression.clone(),
            i64::from(source.zstd_level),
            None::<&str>,
            one(source.auto_failover),
            one(false),
        ]
    })
}

/// The sources of all lists, also of channels that are not configured.
pub(super) fn failover_sources(cx: &mut Context, _: &Wanted, each: Each<'_>) -> Result<()> {
    for source in cx.instance.channels().failover().iter() {
        let (channel, host) = (source.channel.clone(), source.host.clone());
        each(cells![channel, host, u64::from(source.port), "", u64::from(source.weight), ""])?;
    }
    Ok(())
}

pub(super) fn connection_status(cx: &mut Context, _: &Wanted, each: Each<'_>) -> Result<()> {
    for_each(cx, each, |cx, channel, state| {
        let (receiver, progress) = (&state.receiver, &state.progress);
        let service = match receiver.running {
            Running::No => "OFF",
            Running::Connecting => "CONNECTING",
            Running::Yes => "ON",
        };
        let mut row = cells![
            channel.name(),
            "",
            progress.source_uuid.clone(),
            thread_id(receiver),
            service,
            progress.heartbeats,
        ];
        row.push(moment(cx, progress.last_heartbeat));
        row.extend(cells![progress.retrieved.to_string()]);
        row.extend(error(cx, receiver.last_error.as_ref()));
        row.extend(no_transaction(cx, 4));
        row.extend(no_transaction(cx, 3));
        row
    })
}

pub(super) fn applier_configuration(cx: &mut Context, _: &Wanted, each: Each<'_>) -> Result<()> {
    for_each(cx, each, |_, channel, state| {
        let (kind, value) = match &state.source.anonymous {
            AnonymousGtids::Off => ("OFF", None),
            AnonymousGtids::Local => ("LOCAL", None),
            AnonymousGtids::Uuid(uuid) => ("UUID", Some(uuid.clone())),
        };
        let delay = i64::try_from(state.source.delay.as_secs()).unwrap_or(i64::MAX);
        let row_format = yes(state.source.requires_row_format);
        cells![channel.name(), delay, None::<&str>, row_format, "STREAM", kind, value]
    })
}

pub(super) fn applier_status(cx: &mut Context, _: &Wanted, each: Each<'_>) -> Result<()> {
    for_each(cx, each, |_, channel, state| {
        let delay = state.progress.remaining_delay.map(u64::from);
        cells![channel.name(), on(state.applier.running != Running::No), delay, 0_u64]
    })
}

pub(super) fn applier_status_by_coordinator(cx: &mut Context, _: &Wanted, each: Each<'_>) -> Result<()> {
    for_each(cx, each, |cx, channel, state| {
        let applier = &state.applier;
        let mut row = cells![channel.name(), thread_id(applier), on(applier.running != Running::No)];
        row.extend(error(cx, applier.last_error.as_ref()));
        row.extend(no_transaction(cx, 4));
        row.extend(no_transaction(cx, 3));
        row
    })
}

pub(super) fn applier_status_by_worker(cx: &mut Context, _: &Wanted, each: Each<'_>) -> Result<()> {
    for_each(cx, each, |cx, channel, state| {
        let applier = &state.applier;
        let mut row = cells![channel.name(), 1_u64, thread_id(applier), on(applier.running != Running::No)];
        row.extend(error(cx, applier.last_error.as_ref()));
        row.extend(no_transaction(cx, 4));
        row.extend(no_transaction(cx, 3));
        for _ in 0..2 {
            row.extend(cells![0_u64]);
            row.extend(error(cx, None));
        }
        row
    })
}

/// What a rule says, and who made it when.
fn rule(cx: &Context, text: String, filter: &Filter) -> Vec<Datum<'static>> {
    let by = match (filter.of_option, filter.of_channel) {
        (true, true) => "STARTUP_OPTIONS_FOR_CHANNEL",
        (true, false) => "STARTUP_OPTIONS",
        (false, true) => "CHANGE_REPLICATION_FILTER_FOR_CHANNEL",
        (false, false) => "CHANGE_REPLICATION_FILTER",
    };
    let mut row = cells![text, by];
    row.push(moment(cx, filter.since));
    row
}

pub(super) fn applier_filters(cx: &mut Context, _: &Wanted, each: Each<'_>) -> Result<()> {
    for channel in cx.instance.channels().all() {
        let filters = channel.with(|state| state.filters.clone());
        for (name, filter) in filters.iter() {
            let mut row = cells![channel.name(), name.name()];
            row.extend(rule(cx, filters.text(name), filter));
            row.extend(cells![filter.uses.get()]);
            each(row)?;
        }
    }
    Ok(())
}

pub(super) fn applier_global_filters(cx: &mut Context, _: &Wanted, each: Each<'_>) -> Result<()> {
    let filters = cx.instance.channels().filters();
    for (name, filter) in filters.iter() {
        let mut row = cells![name.name()];
        row.extend(rule(cx, filters.text(name), filter));
        each(row)?;
    }
    Ok(())
}
