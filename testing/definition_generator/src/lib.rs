//! Cases: a session with its modes, a database of its own, and statements that define things at the
//! edges and change them.
//!
//! A case depends on its seed and on which of its statements the server accepts: what comes later
//! builds on what is there.
//! [`text`] makes names and literals, [`types`] columns' types and values, [`expression`] what is
//! computed, [`table`] and [`alter`] tables, [`foreign_key`] what they refer to, [`trigger`] what
//! runs for their rows, [`view`] views of them, [`routine`] functions and procedures, [`others`]
//! events, accounts and databases.

mod alter;
mod expression;
mod foreign_key;
mod others;
mod routine;
mod table;
mod text;
mod trigger;
mod types;
mod view;

use stdx::random::Random;
use text::pick;

/// What a session's settings mean for the texts that it sends.
#[derive(Debug, Clone, Default)]
struct Session {
    ansi_quotes: bool,
    no_backslash: bool,
}

/// Runs a statement and says whether the server accepted it.
pub type Try<'a> = dyn FnMut(&str) -> bool + 'a;

const MODES: &[&str] = &[
    "NO_BACKSLASH_ESCAPES",
    "ANSI_QUOTES",
    "PIPES_AS_CONCAT",
    "ANSI",
    "HIGH_NOT_PRECEDENCE",
    "IGNORE_SPACE",
    "REAL_AS_FLOAT",
    "NO_UNSIGNED_SUBTRACTION",
    "STRICT_TRANS_TABLES",
    "NO_ZERO_DATE",
    "NO_ZERO_IN_DATE",
    "NO_AUTO_VALUE_ON_ZERO",
    "ALLOW_INVALID_DATES",
    "ERROR_FOR_DIVISION_BY_ZERO",
    "TIME_TRUNCATE_FRACTIONAL",
    "TRADITIONAL",
    "ONLY_FULL_GROUP_BY",
];

/// The name of a case's database begins with this, then its number and an underscore.
pub const PREFIX: &str = "c";

/// Runs the case of this number: each statement goes through `run`.
pub fn case(seed: u64, number: u64, run: &mut Try<'_>) {
    let mut random = Random::new(seed.wrapping_mul(1_000_003).wrapping_add(number));
    let random = &mut random;
    let session = settings(random, run);
    if !others::database(random, number, run) {
        return;
    }
    match random.below(20) {
        0..=2 => routine::routines(&session, random, run),
        5 => others::events(&session, random, run),
        3 | 4 => others::accounts(&session, random, number, run),
        _ => table::tables(&session, random, run),
    }
}

fn settings(random: &mut Random, run: &mut Try<'_>) -> Session {
    let mut session = Session::default();
    // Half of the sessions are as they come.
    if random.chance(1, 2) {
        let modes: Vec<&str> = (0..random.below(4)).map(|_| pick(random, MODES)).collect();
        session.ansi_quotes = modes.iter().any(|mode| mode.starts_with("ANSI"));
        session.no_backslash = modes.contains(&"NO_BACKSLASH_ESCAPES");
        run(&format!("SET sql_mode = '{}'", modes.join(",")));
    }
    if random.chance(1, 3) {
        let zone =
            pick(random, &["+00:00", "+05:30", "-13:59", "+14:00", "Europe/Berlin", "America/New_York"]);
        run(&format!("SET time_zone = '{zone}'"));
    }
    if random.chance(1, 4) {
        let names = pick(
            random,
            &[
                "latin1",
                "utf8mb4",
                "utf8mb3",
                "ascii",
                "binary",
                "utf8mb4 COLLATE utf8mb4_bin",
                "gbk",
                "latin1 COLLATE latin1_bin",
            ],
        );
        run(&format!("SET NAMES {names}"));
    }
    if random.chance(1, 8) {
        run("SET sql_generate_invisible_primary_key = ON");
    }
    if random.chance(1, 10) {
        run("SET explicit_defaults_for_timestamp = OFF");
    }
    if random.chance(1, 10) {
        let setting = pick(
            random,
            &[
                "auto_increment_increment = 10, auto_increment_offset = 3",
                "div_precision_increment = 30",
                "lc_time_names = 'de_DE'",
                "group_concat_max_len = 4",
                "default_week_format = 3",
                "timestamp = 86400",
                "insert_id = 5",
                "sql_quote_show_create = 0",
            ],
        );
        run(&format!("SET {setting}"));
    }
    session
}
