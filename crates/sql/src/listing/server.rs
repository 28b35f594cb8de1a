//! The server as a whole: engines, plugins, character sets, connections, conditions of the last
//! statement.

use super::{Listing, cells, int, text, uint};
use crate::catalog::UserAtHost;
use crate::privilege::Privileges;
use crate::session::Context;
use datum::error::Level;
use datum::types::{Charset, Collation};

/// Engines whose names tables may say ([`crate::catalog::engine_name`]).
const SUBSTITUTED: [&str; 5] = ["ARCHIVE", "CSV", "MEMORY", "MRG_MYISAM", "MyISAM"];

/// SHOW ENGINES. The one engine answers to InnoDB's name, which is what schemas ask for.
pub(crate) fn engines() -> Listing {
    let mut out = Listing::new([
        text("Engine", 64),
        text("Support", 8),
        text("Comment", 80),
        text("Transactions", 3).or_null(),
        text("XA", 3).or_null(),
        text("Savepoints", 3).or_null(),
    ]);
    out.push(cells![
        "InnoDB",
        "DEFAULT",
        "Duramen: log-structured trees whose only log is the binary log",
        "YES",
        "YES",
        "YES",
    ]);
    for name in SUBSTITUTED {
        let nobody = None::<&str>;
        out.push(cells![name, "DISABLED", "Tables that ask for it are InnoDB's", nobody, nobody, nobody]);
    }
    out
}

/// What is built in, and would be plugins of MySQL: name, type, description.
pub(crate) const BUILT_IN: [(&str, &str, &str); 5] = [
    ("binlog", "STORAGE ENGINE", "The binary log, which is the only log"),
    ("caching_sha2_password", "AUTHENTICATION", "SHA-256 passwords, kept in memory after the first use"),
    ("mysql_native_password", "AUTHENTICATION", "SHA-1 passwords"),
    ("InnoDB", "STORAGE ENGINE", "Log-structured trees, by the name that schemas ask for"),
    ("rpl_semi_sync_source", "REPLICATION", "Commits that wait until replicas have them"),
];

/// The licence of what is built in.
pub(crate) const LICENSE: &str = "MIT OR Apache-2.0";

/// SHOW PLUGINS: what is built in.
pub(crate) fn plugins() -> Listing {
    let mut out = Listing::new([
        text("Name", 64),
        text("Status", 10),
        text("Type", 80),
        text("Library", 64).or_null(),
        text("License", 80),
    ]);
    for (name, kind, _) in BUILT_IN {
        out.push(cells![name, "ACTIVE", kind, None::<&str>, LICENSE]);
    }
    out
}

/// SHOW CHARACTER SET.
pub(crate) fn character_sets() -> Listing {
    let mut out = Listing::new([
        text("Charset", 64),
        text("Description", 2048),
        text("Default collation", 64),
        uint("Maxlen"),
    ]);
    let mut sets = Charset::ALL;
    sets.sort_by_key(|set| set.name());
    for set in sets {
        let longest = u64::from(set.char_len_max());
        out.push(cells![set.name(), set.description(), set.default_collation().name(), longest]);
    }
    out
}

/// SHOW COLLATION.
pub(crate) fn collations() -> Listing {
    let mut out = Listing::new([
        text("Collation", 64),
        text("Charset", 64),
        uint("Id"),
        text("Default", 3),
        text("Compiled", 3),
        uint("Sortlen"),
        text("Pad_attribute", 9),
    ]);
    let mut all: Vec<Collation> = Collation::all().collect();
    all.sort_by_key(|c| c.name());
    for c in all {
        out.push(cells![
            c.name(),
            c.charset().name(),
            u64::from(c.0),
            if c.is_default() { "Yes" } else { "" },
            "Yes",
            u64::from(c.sort_length()),
            if c.pads_space() { "PAD SPACE" } else { "NO PAD" },
        ]);
    }
    out
}

/// SHOW WARNINGS, or with `errors` only SHOW ERRORS.
pub(crate) fn conditions(cx: &Context, errors: bool) -> Listing {
    let mut out = Listing::new([text("Level", 7), uint("Code"), text("Message", 512)]);
    let wanted = |level| !errors || level == Level::Error;
    for condition in cx.statement.diagnostics.conditions().iter().filter(|c| wanted(c.level)) {
        let error = &condition.error;
        out.push(cells![condition.level.name(), u64::from(error.number), error.message.as_str()]);
    }
    out
}

/// SHOW COUNT(*) WARNINGS and ERRORS.
pub(crate) fn condition_count(cx: &Context, errors: bool) -> Listing {
    let (name, count) = match errors {
        true => ("@@session.error_count", cx.statement.diagnostics.error_count()),
        false => ("@@session.warning_count", cx.statement.diagnostics.warning_count()),
    };
    let mut out = Listing::new([uint(name)]);
    out.push(cells![count]);
    out
}

/// Characters of a statement that SHOW PROCESSLIST shows without FULL.
const INFO_CHARACTERS: usize = 100;

/// SHOW PROCESSLIST: with PROCESS one sees all sessions, else one's own.
pub(crate) fn processes(cx: &Context, full: bool) -> Listing {
    processes_of(cx, full, cx.grants_now().global.has(Privileges::PROCESS))
}

/// The sessions: `all` of them, or one's own.
pub(crate) fn processes_of(cx: &Context, full: bool, all: bool) -> Listing {
    let mut out = Listing::new([
        uint("Id"),
        text("User", 32),
        text("Host", 261),
        text("db", 64).or_null(),
        text("Command", 16),
        int("Time"),
        text("State", 64).or_null(),
        text("Info", 65_535).or_null(),
    ]);
    let now = cx.instance.env().monotonic_coarse();
    // A definer's, in what runs with its rights.
    let own = match cx.statement.frames.is_empty() {
        true => &cx.connection.user.user,
        false => &cx.effective_account().user,
    };
    for process in cx.instance.processes() {
        let UserAtHost { user, host } = process.user();
        if !all && *user != *own {
            continue;
        }
        let (statement, since) = process.running();
        let info = statement.as_deref().map(|statement| {
            let text = String::from_utf8_lossy(statement);
            if full { text.into_owned() } else { text.chars().take(INFO_CHARACTERS).collect() }
        });
        out.push(cells![
            process.id,
            user.as_str(),
            host.as_str(),
            process.database(),
            match &info {
                Some(_) => "Query",
                None => cx.instance.replicas().command(process.id).unwrap_or("Sleep"),
            },
            now.saturating_sub(since).as_secs() as i64,
            if info.is_some() { process.state() } else { "" },
            info,
        ]);
    }
    out
}
