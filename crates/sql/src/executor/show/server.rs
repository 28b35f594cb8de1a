//! SHOW of the server and the session.

use super::{Listing, optional, text};
use crate::ast::{Account, Limit};
use crate::error::{Level, Result};
use crate::executor::output::OutputColumn;
use crate::executor::select::resolve_limit;
use crate::session::{self, Context};
use crate::types::{Charset, Collation};
use crate::value::Datum;
use crate::variables as registry;

pub(super) fn variables(cx: &mut Context, global: bool) -> Listing {
    let mut listing = Listing::of_texts(&["Variable_name", "Value"]);
    for id in registry::all() {
        if let Some(value) = session::variables::shown(cx, id, global) {
            listing.push(vec![text(id.variable().name()), text(value)]);
        }
    }
    listing
}

pub(super) fn status(cx: &Context, global: bool) -> Listing {
    let mut listing = Listing::of_texts(&["Variable_name", "Value"]);
    let counters = (!global).then_some(&*cx.counters);
    for (name, value) in cx.database.status().rows(counters) {
        listing.push(vec![text(name), text(value)]);
    }
    listing
}

pub(super) fn conditions(cx: &mut Context, errors_only: bool, limit: Option<&Limit>) -> Result<Listing> {
    let (count, offset) = resolve_limit(cx, limit)?;
    let columns = vec![
        OutputColumn::text("Level", 7),
        OutputColumn::number("Code"),
        OutputColumn::text("Message", 512),
    ];
    let mut listing = Listing { columns, rows: Vec::new() };
    let wanted = cx.diagnostics.conditions().iter().filter(|c| !errors_only || c.level == Level::Error);
    let number = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
    for condition in wanted.skip(number(offset)).take(number(count)) {
        listing.push(vec![
            text(condition.level.name()),
            Datum::UInt(condition.error.number.into()),
            text(condition.error.message.as_str()),
        ]);
    }
    Ok(listing)
}

pub(super) fn count(name: &str, n: u64) -> Listing {
    Listing { columns: vec![OutputColumn::number(name)], rows: vec![vec![Datum::UInt(n)]] }
}

/// How much of a statement SHOW PROCESSLIST shows without FULL.
const INFO_MAX: usize = 100;

pub(super) fn processes(cx: &Context, full: bool) -> Listing {
    let mut listing = Listing::of_texts(&["Id", "User", "Host", "db", "Command", "Time", "State", "Info"]);
    listing.columns[0] = OutputColumn::number("Id");
    listing.columns[5] = OutputColumn::number("Time");
    let all = cx.is_administrator();
    let now = cx.database.env().monotonic();
    for process in cx.database.processes() {
        let (user, host) = process.user();
        if !all && *user != cx.user.0 {
            continue;
        }
        let (statement, since) = process.running();
        let running = statement.is_some();
        let info = statement.map(|s| {
            let shown = if full { &s[..] } else { &s[..s.len().min(INFO_MAX)] };
            String::from_utf8_lossy(shown).into_owned()
        });
        listing.push(vec![
            Datum::UInt(process.id),
            text(user.as_str()),
            text(host.as_str()),
            Datum::Null,
            text(if running { "Query" } else { "Sleep" }),
            Datum::UInt(now.saturating_sub(since).as_secs()),
            text(if running { "executing" } else { "" }),
            optional(info),
        ]);
    }
    listing
}

pub(super) fn engines() -> Listing {
    let mut listing =
        Listing::of_texts(&["Engine", "Support", "Comment", "Transactions", "XA", "Savepoints"]);
    let comment = "Log-structured tables whose write-ahead log is the binary log";
    listing.push(["InnoDB", "DEFAULT", comment, "YES", "NO", "YES"].map(text).to_vec());
    listing
}

pub(super) fn character_sets() -> Listing {
    let mut listing = Listing::of_texts(&["Charset", "Description", "Default collation", "Maxlen"]);
    listing.columns[3] = OutputColumn::number("Maxlen");
    for charset in Charset::ALL {
        listing.push(vec![
            text(charset.name()),
            text(charset.description()),
            text(charset.default_collation().name()),
            Datum::UInt(charset.char_len_max().into()),
        ]);
    }
    listing
}

pub(super) fn collations() -> Listing {
    let mut listing =
        Listing::of_texts(&["Collation", "Charset", "Id", "Default", "Compiled", "Sortlen", "Pad_attribute"]);
    listing.columns[2] = OutputColumn::number("Id");
    listing.columns[5] = OutputColumn::number("Sortlen");
    let mut all: Vec<Collation> = Collation::all().collect();
    all.sort_by_key(|c| c.name());
    for collation in all {
        listing.push(vec![
            text(collation.name()),
            text(collation.charset().name()),
            Datum::UInt(collation.0.into()),
            text(if collation.is_default() { "Yes" } else { "" }),
            text("Yes"),
            Datum::UInt(1),
            text(if collation.pads_space() { "PAD SPACE" } else { "NO PAD" }),
        ]);
    }
    listing
}

pub(super) fn grants(cx: &Context, user: Option<&Account>) -> Result<Listing> {
    let (user, host) = match user {
        None | Some(Account::CurrentUser) => cx.account.clone(),
        Some(Account::Named { user, host }) => {
            (user.to_str_lossy().into_owned(), host.to_str_lossy().to_ascii_lowercase())
        }
    };
    let state = cx.catalog().state();
    let found = state
        .users
        .get(&(user.clone(), host.clone()))
        .ok_or_else(|| crate::error::NONEXISTING_GRANT.with(&[&user, &host]))?;
    let mut listing = Listing::of_texts(&[&format!("Grants for {user}@{host}")]);
    let (what, option) =
        if found.administrator { ("ALL PRIVILEGES", " WITH GRANT OPTION") } else { ("USAGE", "") };
    listing.push(vec![text(format!("GRANT {what} ON *.* TO `{user}`@`{host}`{option}"))]);
    Ok(listing)
}

pub(super) fn plugins() -> Listing {
    let mut listing = Listing::of_texts(&["Name", "Status", "Type", "Library", "License"]);
    for name in ["caching_sha2_password", "mysql_native_password"] {
        listing.push(vec![
            text(name),
            text("ACTIVE"),
            text("AUTHENTICATION"),
            Datum::Null,
            text("MIT OR Apache-2.0"),
        ]);
    }
    listing
}
