//! This server as a replica, as its administrators change it: CHANGE REPLICATION SOURCE
//! ([`change`]) and FILTER, START and STOP REPLICA ([`threads`]), RESET REPLICA.
//!
//! (A1) What changes is in the file of channels before it takes effect, so that it is the same
//!      after a restart; a file that can't be written fails the statement.
//! (A2) One statement changes channels at a time ([`crate::replica::Channels::administer`]); STOP
//!      REPLICA waits for threads without keeping others from it.
//! (A3) The channel without a name is always there, as in MySQL, if only to be configured.

pub(crate) mod change;
pub(crate) mod threads;

use std::sync::Arc;

use crate::replica::coordinates::log_end;
use crate::replica::filters::{Filter, FilterRule};
use crate::replica::{Channel, SourceConfig};
use crate::session::Context;
use datum::error::{self, Result, SqlError};
use syntax::ast::{FilterValue, ReplicationFilter, StatementKind, Text};

/// Runs a statement of this kind.
pub(crate) fn execute(cx: &mut Context, kind: &StatementKind) -> Result<()> {
    use StatementKind as S;
    match kind {
        S::ChangeReplicationSource { options, channel } => change::change(cx, options, channel.as_ref()),
        S::ChangeReplicationFilter { filters, channel } => change_filters(cx, filters, channel.as_ref()),
        S::StartReplica(start) => threads::start(cx, start),
        S::StopReplica { threads, channel } => threads::stop(cx, *threads, channel.as_ref()),
        _ => Err(SqlError::internal("a statement that is about no replica")),
    }
}

/// FOR CHANNEL, as MySQL keeps it: lower case.
fn name_of(channel: Option<&Text>) -> Option<String> {
    channel.map(|name| name.to_str_lossy().to_lowercase())
}

/// The channels that a statement is about: the one that it names, or all; the one without a name is
/// there also if it is not configured (A3).
///
/// # Errors
/// 3074: there is none of this name.
pub(crate) fn channels_of(cx: &Context, channel: Option<&Text>) -> Result<Vec<Arc<Channel>>> {
    let channels = cx.instance.channels();
    let unnamed = || Arc::new(Channel::new("", SourceConfig::default()));
    match name_of(channel) {
        Some(name) if name.is_empty() => Ok(vec![channels.get("").unwrap_or_else(unnamed)]),
        Some(name) => match channels.get(&name) {
            Some(channel) => Ok(vec![channel]),
            None => Err(error::REPLICA_CHANNEL_DOES_NOT_EXIST.with(&[&name])),
        },
        None => match channels.all() {
            none if none.is_empty() => Ok(vec![unnamed()]),
            all => Ok(all),
        },
    }
}

/// Error 3079 if a statement that is about one channel names none, and there are channels with
/// names.
pub(crate) fn check_unambiguous(cx: &Context, channel: Option<&Text>) -> Result<()> {
    let has_named = || cx.instance.channels().all().iter().any(|channel| !channel.name().is_empty());
    match channel.is_none() && has_named() {
        true => Err(error::REPLICA_MULTIPLE_CHANNELS_CMD.plain()),
        false => Ok(()),
    }
}

/// RESET REPLICA: the position is forgotten, and with ALL the whole channel.
pub(crate) fn reset(cx: &mut Context, all: bool, channel: Option<&Text>) -> Result<()> {
    let instance = cx.instance.clone();
    let channels = instance.channels();
    let _administers = channels.administer()?;
    let affected = channels_of(cx, channel)?;
    if let Some(running) = affected.iter().find(|channel| channel.with(|state| state.is_running())) {
        return Err(error::REPLICA_CHANNEL_MUST_STOP.with(&[&running.name()]));
    }
    let names: Vec<_> = affected.iter().map(|channel| channel.name().to_owned()).collect();
    let given_at = log_end(&instance)?;
    let mut stored = channels.to_store();
    if all {
        stored.channels.retain(|(name, ..)| !names.contains(name));
    } else {
        let reset = stored.channels.iter_mut().filter(|(name, ..)| names.contains(name));
        reset.for_each(|(_, source, _)| source.begin_anew(given_at));
    }
    channels.store(&stored)?;
    for channel in affected {
        if all {
            channels.remove(channel.name());
            continue;
        }
        channel.with(|state| {
            state.source.begin_anew(given_at);
            state.begin_anew();
            state.receiver.last_error = None;
            state.applier.last_error = None;
        });
    }
    Ok(())
}

/// CHANGE REPLICATION FILTER. Without FOR CHANNEL the rules are for all channels, those to come,
/// too. Unlike MySQL's they are kept over a restart: replication goes on by itself then, and rows
/// that were left out before would be applied.
fn change_filters(cx: &mut Context, given: &[ReplicationFilter], channel: Option<&Text>) -> Result<()> {
    let instance = cx.instance.clone();
    let channels = instance.channels();
    let _administers = channels.administer()?;
    let affected = match name_of(channel) {
        Some(name) => match channels.get(&name) {
            Some(channel) => vec![channel],
            // MySQL says so of a channel that is not there.
            None => return Err(error::REPLICA_CONFIGURATION.plain()),
        },
        None => channels.all(),
    };
    let applies = |channel: &&Arc<Channel>| {
        channel.with(|state| state.applier.running != crate::replica::channel::Running::No)
    };
    if let Some(running) = affected.iter().find(applies) {
        return Err(error::REPLICA_CHANNEL_SQL_THREAD_MUST_STOP.with(&[&running.name()]));
    }
    let since = instance.env().now();
    let of_channel = channel.is_some();
    let mut rules = Vec::new();
    for filter in given {
        let Some(rule) = FilterRule::find(&filter.name) else { continue };
        let values = filter.values.iter().map(filter_value).collect::<Result<_>>()?;
        rules.push((rule, Filter { values, of_channel, since, ..Filter::default() }));
    }
    let mut stored = channels.to_store();
    for (rule, filter) in &rules {
        if !of_channel {
            stored.filters.set(*rule, filter.clone());
        }
        let names: Vec<_> = affected.iter().map(|channel| channel.name()).collect();
        let changed = stored.channels.iter_mut().filter(|(name, ..)| names.contains(&name.as_str()));
        changed.for_each(|(.., filters)| filters.set(*rule, filter.clone()));
    }
    channels.store(&stored)?;
    channels.set_filters(stored.filters);
    for (name, _, filters) in stored.channels {
        if let Some(channel) = affected.iter().find(|channel| channel.name() == name) {
            channel.with(|state| state.filters = filters);
        }
    }
    Ok(())
}

fn filter_value(value: &FilterValue) -> Result<(String, String)> {
    Ok(match value {
        FilterValue::Database(name) => (name.to_string(), String::new()),
        FilterValue::Table(table) => {
            (table.database.as_deref().unwrap_or_default().to_owned(), table.name.to_string())
        }
        FilterValue::Pattern(pattern) => {
            let pattern = pattern.to_str_lossy().into_owned();
            if !pattern.contains('.') {
                return Err(error::INVALID_RPL_WILD_TABLE_FILTER_PATTERN.plain());
            }
            (pattern, String::new())
        }
        FilterValue::Rewrite(from, to) => (from.to_string(), to.to_string()),
    })
}
