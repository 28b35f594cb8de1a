//! Events: their definitions, and when they are due.
//!
//! An event is kept as the text of its body, with the settings of the session that made it and the
//! times of its schedule. When it was run last is not kept: what is due is found by the schedule,
//! and what a server was not there for is not made up for.
//!
//! (E1) Times are moments in UTC. An interval of days, weeks, months or years is counted on the
//!      clocks of the event's time zone, a shorter one is so many seconds.

use std::sync::{Arc, OnceLock};

use stdx::cursor::{Cursor, Truncated, put_lenenc_bytes};

use super::account::UserAtHost;
use super::objects::{CatalogState, RoutineDef};
use super::show::{quote, quote_text_for};
use crate::routine::Routine;
use datum::error::Result;
use datum::types::{Charset, Collation};
use datum::value::DateTime;
use datum::value::temporal::{DAY, SECOND};
use datum::value::zone::Zone;
use syntax::ast::{Characteristics, EventStatus, IntervalUnit, RoutineKind};
use syntax::unparse::unit_text;

/// An event, as it was created or altered last.
#[derive(Debug)]
pub struct EventDef {
    pub(crate) database: String,
    pub(crate) name: String,
    /// Whose rights it runs with.
    pub(crate) definer: UserAtHost,
    pub(crate) schedule: Schedule,
    /// ON COMPLETION PRESERVE.
    pub(crate) preserve: bool,
    pub(crate) status: EventStatus,
    pub(crate) comment: String,
    /// Its body's text.
    pub(crate) body: Vec<u8>,
    /// The sql_mode it was created under, and runs under.
    pub(crate) sql_mode: u64,
    /// `character_set_client` at its creation.
    pub(crate) client: Charset,
    /// `collation_connection` at its creation.
    pub(crate) connection: Collation,
    /// The database's collation at its creation.
    pub(crate) database_collation: Collation,
    /// The name of the time zone that its times are shown in, and counted in (E1).
    pub(crate) zone: String,
    /// When it was made, and changed last: seconds since 1970, UTC.
    pub(crate) created: i64,
    pub(crate) altered: i64,
    /// What its body was compiled to, at its first run.
    pub(crate) compiled: OnceLock<Arc<Routine>>,
}

/// When an event runs. Times are in microseconds since 1970, UTC, of whole seconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Schedule {
    At(i64),
    Every { interval: Interval, starts: i64, ends: Option<i64> },
}

/// The time from one run to the next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Interval {
    /// The amount as it is shown: `5`, `1:30`.
    pub(crate) amount: String,
    pub(crate) unit: IntervalUnit,
    months: i64,
    micros: i64,
}

/// The largest amount of an interval, as in MySQL.
const AMOUNT_MAX: i64 = 1_000_000_000;

/// Their numbers in records.
const UNITS: [IntervalUnit; 14] = [
    IntervalUnit::Second,
    IntervalUnit::Minute,
    IntervalUnit::Hour,
    IntervalUnit::Day,
    IntervalUnit::Week,
    IntervalUnit::Month,
    IntervalUnit::Quarter,
    IntervalUnit::Year,
    IntervalUnit::MinuteSecond,
    IntervalUnit::HourSecond,
    IntervalUnit::HourMinute,
    IntervalUnit::DaySecond,
    IntervalUnit::DayMinute,
    IntervalUnit::DayHour,
];

impl Interval {
    /// An interval of so many units; `None` unless it is positive and not too large.
    pub(crate) fn new(amount: &str, unit: IntervalUnit) -> Option<Self> {
        use IntervalUnit as U;
        const MINUTE: i64 = 60 * SECOND;
        const HOUR: i64 = 60 * MINUTE;
        let parts: &[i64] = match unit {
            U::Second => &[SECOND],
            U::Minute => &[MINUTE],
            U::Hour => &[HOUR],
            U::Day => &[DAY],
            U::Week => &[7 * DAY],
            U::MinuteSecond => &[MINUTE, SECOND],
            U::HourSecond => &[HOUR, MINUTE, SECOND],
            U::HourMinute => &[HOUR, MINUTE],
            U::DaySecond => &[DAY, HOUR, MINUTE, SECOND],
            U::DayMinute => &[DAY, HOUR, MINUTE],
            U::DayHour => &[DAY, HOUR],
            U::Month => &[1],
            U::Quarter => &[3],
            U::Year => &[12],
            U::YearMonth => &[12, 1],
            U::Microsecond
            | U::SecondMicrosecond
            | U::MinuteMicrosecond
            | U::HourMicrosecond
            | U::DayMicrosecond => return None,
        };
        let numbers: Vec<&str> =
            amount.split(|c: char| !c.is_ascii_digit()).filter(|part| !part.is_empty()).collect();
        if amount.trim_start().starts_with('-') || numbers.len() > parts.len() {
            return None;
        }
        let mut total = 0_i64;
        for (number, part) in numbers.iter().rev().zip(parts.iter().rev()) {
            let number = number.parse::<i64>().ok().filter(|n| *n <= AMOUNT_MAX)?;
            total = total.checked_add(number.checked_mul(*part)?)?;
        }
        let is_of_months = matches!(unit, U::Month | U::Quarter | U::Year | U::YearMonth);
        let (months, micros) = if is_of_months { (total, 0) } else { (0, total) };
        (total > 0).then(|| Self { amount: amount.to_owned(), unit, months, micros })
    }

    /// True if it is counted on a clock (E1).
    fn is_of_calendar(&self) -> bool {
        self.months > 0 || self.micros % DAY == 0
    }

    /// `5 MINUTE`, `'1:30' MINUTE_SECOND`.
    fn text(&self) -> String {
        format!("{} {}", self.shown_amount(), self.unit_word())
    }

    /// The amount as SHOW EVENTS has it: in quotes if it has several parts.
    pub(crate) fn shown_amount(&self) -> String {
        match self.amount.bytes().all(|b| b.is_ascii_digit()) {
            true => self.amount.clone(),
            false => format!("'{}'", self.amount),
        }
    }

    /// `MINUTE`
    pub(crate) fn unit_word(&self) -> String {
        unit_text(self.unit).to_ascii_uppercase()
    }

    /// The first moment after `after` that is a whole number of intervals after `starts`.
    fn next(&self, starts: i64, after: i64, zone: Zone) -> Option<i64> {
        if after < starts {
            return Some(starts);
        }
        if !self.is_of_calendar() {
            let passed = (after - starts) / self.micros;
            return starts.checked_add(passed.checked_add(1)?.checked_mul(self.micros)?);
        }
        let first = DateTime::from_unix_micros(zone.to_local(starts), 0)?;
        let local_after = zone.to_local(after);
        let nth = |n: i64| -> Option<i64> {
            let moved = first.add_months(self.months.checked_mul(n)?)?;
            let local = moved.add_micros(self.micros.checked_mul(n)?)?.unix_micros()?;
            Some(zone.to_utc(local).micros)
        };
        // A month has at most 31 days: no more intervals than this have passed at least, but for
        // what a clock was put forward.
        let length = self.micros.max(self.months.saturating_mul(31 * DAY));
        let mut n = ((local_after - zone.to_local(starts)) / length - 1).max(0);
        loop {
            let moment = nth(n)?;
            if moment > after {
                return Some(moment);
            }
            n += 1;
        }
    }
}

impl Schedule {
    /// When it is due next after `after`; `None` if never more.
    pub(crate) fn next(&self, after: i64, zone: Zone) -> Option<i64> {
        match self {
            Schedule::At(moment) => Some(*moment).filter(|moment| *moment > after),
            Schedule::Every { interval, starts, ends } => {
                let next = interval.next(*starts, after, zone)?;
                ends.is_none_or(|ends| next <= ends).then_some(next)
            }
        }
    }

    /// What stands behind ON SCHEDULE, with times of a zone.
    pub(crate) fn text(&self, zone: Zone) -> String {
        let shown = |moment: i64| format!("'{}'", shown_time(moment, zone));
        match self {
            Schedule::At(moment) => format!("AT {}", shown(*moment)),
            Schedule::Every { interval, starts, ends } => {
                let ends = ends.map_or(String::new(), |ends| format!(" ENDS {}", shown(ends)));
                format!("EVERY {} STARTS {}{ends}", interval.text(), shown(*starts))
            }
        }
    }
}

/// A moment on a zone's clocks.
fn shown_time(moment: i64, zone: Zone) -> String {
    DateTime::from_unix_micros(zone.to_local(moment), 0).map_or(String::new(), |time| time.to_string())
}

/// `ENABLED`
pub(crate) fn status_word(status: EventStatus) -> &'static str {
    match status {
        EventStatus::Enabled => "ENABLED",
        EventStatus::Disabled => "DISABLED",
        EventStatus::DisabledOnReplica => "REPLICA_SIDE_DISABLED",
    }
}

/// `ENABLE`
pub(crate) fn status_clause(status: EventStatus) -> &'static str {
    match status {
        EventStatus::Enabled => "ENABLE",
        EventStatus::Disabled => "DISABLE",
        EventStatus::DisabledOnReplica => "DISABLE ON REPLICA",
    }
}

impl EventDef {
    /// The time zone of its schedule.
    pub(crate) fn zone(&self) -> Zone {
        Zone::by_name(&self.zone).unwrap_or(Zone::UTC)
    }

    /// When it is due next after `after`, whether it is enabled or not.
    pub(crate) fn next(&self, after: i64) -> Option<i64> {
        self.schedule.next(after, self.zone())
    }

    /// The statement that makes it, as SHOW CREATE EVENT has it.
    pub(crate) fn text(&self) -> Vec<u8> {
        self.statement(&quote(&self.name))
    }

    /// The same with its database, for the log.
    pub(crate) fn logged_text(&self) -> Vec<u8> {
        self.statement(&format!("{}.{}", quote(&self.database), quote(&self.name)))
    }

    fn statement(&self, name: &str) -> Vec<u8> {
        let UserAtHost { user, host } = &self.definer;
        let comment = match self.comment.is_empty() {
            true => String::new(),
            false => format!(" COMMENT {}", quote_text_for(&self.comment, self.sql_mode)),
        };
        let mut out = format!(
            "CREATE DEFINER={}@{} EVENT {name} ON SCHEDULE {} ON COMPLETION {} {}{comment} DO ",
            quote(user),
            quote(host),
            self.schedule.text(self.zone()),
            if self.preserve { "PRESERVE" } else { "NOT PRESERVE" },
            status_clause(self.status),
        )
        .into_bytes();
        out.extend_from_slice(&self.body);
        out
    }

    /// What its body does: that of a procedure without parameters.
    ///
    /// # Errors
    /// Those of CREATE PROCEDURE.
    pub(crate) fn program(&self) -> Result<Arc<Routine>> {
        if let Some(compiled) = self.compiled.get() {
            return Ok(compiled.clone());
        }
        let procedure = RoutineDef {
            kind: RoutineKind::Procedure,
            database: self.database.clone(),
            name: self.name.clone(),
            definer: self.definer.clone(),
            parameters: String::new(),
            returns: String::new(),
            characteristics: Characteristics::default(),
            body: self.body.clone(),
            sql_mode: self.sql_mode,
            connection: self.connection,
            database_collation: self.database_collation,
            times: None,
            compiled: OnceLock::new(),
        };
        let compiled = Arc::new(Routine::compile(&procedure)?);
        Ok(self.compiled.get_or_init(|| compiled).clone())
    }

    /// What of it another definition says otherwise.
    pub(super) fn difference(&self, other: &Self) -> Option<&'static str> {
        let same = [
            (self.name == other.name && self.database == other.database, "name"),
            (self.definer == other.definer, "DEFINER"),
            (self.schedule == other.schedule && self.zone == other.zone, "ON SCHEDULE"),
            (self.preserve == other.preserve, "ON COMPLETION"),
            (self.status == other.status, "status"),
            (self.comment == other.comment, "COMMENT"),
            (self.body == other.body, "body"),
            (self.sql_mode == other.sql_mode, "sql_mode"),
            (self.client == other.client && self.connection == other.connection, "character set"),
            (self.database_collation == other.database_collation, "collation"),
            (self.created == other.created && self.altered == other.altered, "time of creation"),
        ];
        same.iter().find(|(is_same, _)| !is_same).map(|(_, what)| *what)
    }

    /// Another one with the same definition, but its body not compiled.
    pub(crate) fn copy(&self) -> Self {
        Self {
            database: self.database.clone(),
            name: self.name.clone(),
            definer: self.definer.clone(),
            schedule: self.schedule.clone(),
            preserve: self.preserve,
            status: self.status,
            comment: self.comment.clone(),
            body: self.body.clone(),
            sql_mode: self.sql_mode,
            client: self.client,
            connection: self.connection,
            database_collation: self.database_collation,
            zone: self.zone.clone(),
            created: self.created,
            altered: self.altered,
            compiled: OnceLock::new(),
        }
    }

    /// Name, definer's user and host, zone, comment, body; sql_mode u64, three character sets and
    /// collations u16; bits u8 (1 PRESERVE); status u8; created i64, altered i64; 0 and the moment
    /// i64, or 1, the amount, the unit u8, the start i64, and 0 or 1 and the end i64.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for text in [&self.name, &self.definer.user, &self.definer.host, &self.zone, &self.comment] {
            put_lenenc_bytes(&mut out, text.as_bytes());
        }
        put_lenenc_bytes(&mut out, &self.body);
        out.extend_from_slice(&self.sql_mode.to_le_bytes());
        for collation in [self.client.default_collation(), self.connection, self.database_collation] {
            out.extend_from_slice(&collation.0.to_le_bytes());
        }
        out.push(self.preserve.into());
        out.push(match self.status {
            EventStatus::Enabled => 0,
            EventStatus::Disabled => 1,
            EventStatus::DisabledOnReplica => 2,
        });
        out.extend_from_slice(&self.created.to_le_bytes());
        out.extend_from_slice(&self.altered.to_le_bytes());
        match &self.schedule {
            Schedule::At(moment) => {
                out.push(0);
                out.extend_from_slice(&moment.to_le_bytes());
            }
            Schedule::Every { interval, starts, ends } => {
                out.push(1);
                put_lenenc_bytes(&mut out, interval.amount.as_bytes());
                let unit = UNITS.iter().position(|unit| *unit == interval.unit);
                out.push(unit.map_or(YEAR_MONTH, |unit| unit as u8));
                out.extend_from_slice(&starts.to_le_bytes());
                out.push(ends.is_some().into());
                ends.iter().for_each(|ends| out.extend_from_slice(&ends.to_le_bytes()));
            }
        }
        out
    }

    pub(super) fn decode(database: &str, c: &mut Cursor<'_>) -> Result<Self, Truncated> {
        let mut text = || String::from_utf8(c.lenenc_bytes()?.to_vec()).map_err(|_| Truncated);
        let name = text()?;
        let definer = UserAtHost::new(text()?, text()?);
        let (zone, comment) = (text()?, text()?);
        let body = c.lenenc_bytes()?.to_vec();
        let sql_mode = c.u64()?;
        let mut collation = || Collation::by_id(c.u16()?).ok_or(Truncated);
        let (client, connection, database_collation) = (collation()?.charset(), collation()?, collation()?);
        let preserve = c.u8()? == 1;
        let status = match c.u8()? {
            0 => EventStatus::Enabled,
            1 => EventStatus::Disabled,
            2 => EventStatus::DisabledOnReplica,
            _ => return Err(Truncated),
        };
        let (created, altered) = (c.u64()?.cast_signed(), c.u64()?.cast_signed());
        let schedule = match c.u8()? {
            0 => Schedule::At(c.u64()?.cast_signed()),
            1 => {
                let amount = String::from_utf8(c.lenenc_bytes()?.to_vec()).map_err(|_| Truncated)?;
                let unit = match c.u8()? {
                    YEAR_MONTH => IntervalUnit::YearMonth,
                    number => UNITS.get(usize::from(number)).copied().ok_or(Truncated)?,
                };
                let interval = Interval::new(&amount, unit).ok_or(Truncated)?;
                let starts = c.u64()?.cast_signed();
                let ends = if c.u8()? == 1 { Some(c.u64()?.cast_signed()) } else { None };
                Schedule::Every { interval, starts, ends }
            }
            _ => return Err(Truncated),
        };
        Ok(Self {
            database: database.to_owned(),
            name,
            definer,
            schedule,
            preserve,
            status,
            comment,
            body,
            sql_mode,
            client,
            connection,
            database_collation,
            zone,
            created,
            altered,
            compiled: OnceLock::new(),
        })
    }
}

/// The number of this unit in records.
const YEAR_MONTH: u8 = UNITS.len() as u8;

impl CatalogState {
    /// An event, its name in any case.
    pub(crate) fn event(&self, database: &str, name: &str) -> Option<&Arc<EventDef>> {
        self.databases.get(database)?.events.get(&name.to_lowercase())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use datum::value::temporal_text;

    fn moment(text: &str, zone: Zone) -> i64 {
        let read = temporal_text::parse_datetime(text.as_bytes()).unwrap();
        zone.to_utc(read.value.unix_micros().unwrap()).micros
    }

    fn next(amount: &str, unit: IntervalUnit, starts: &str, after: &str, zone: &str) -> String {
        let zone = Zone::by_name(zone).unwrap();
        let interval = Interval::new(amount, unit).unwrap();
        let schedule = Schedule::Every { interval, starts: moment(starts, zone), ends: None };
        shown_time(schedule.next(moment(after, zone), zone).unwrap(), zone)
    }

    #[test]
    fn intervals_are_counted_from_the_start() {
        use IntervalUnit as U;
        let (start, zone) = ("2026-01-31 10:00:00", "Europe/Berlin");
        assert_eq!(next("5", U::Second, start, "2026-01-31 09:00:00", zone), start);
        assert_eq!(next("5", U::Second, start, start, zone), "2026-01-31 10:00:05");
        assert_eq!(next("5", U::Second, start, "2026-01-31 10:00:14", zone), "2026-01-31 10:00:15");
        assert_eq!(next("1", U::Month, start, "2026-02-01 00:00:00", zone), "2026-02-28 10:00:00");
        assert_eq!(next("1", U::Month, start, "2026-02-28 10:00:00", zone), "2026-03-31 10:00:00");
        assert_eq!(next("1", U::Year, start, "2031-02-01 00:00:00", zone), "2032-01-31 10:00:00");
        assert_eq!(next("1:30", U::MinuteSecond, start, start, zone), "2026-01-31 10:01:30");
        // The clocks go forward on March 29.
        assert_eq!(next("1", U::Day, start, "2026-03-28 10:00:00", zone), "2026-03-29 10:00:00");
        assert_eq!(next("1", U::Day, start, "2026-03-29 10:00:00", zone), "2026-03-30 10:00:00");
        assert_eq!(next("24", U::Hour, start, "2026-03-29 10:30:00", zone), "2026-03-30 10:00:00");
        assert_eq!(next("5", U::Hour, start, "2026-03-29 10:30:00", zone), "2026-03-29 13:00:00");
    }

    #[test]
    fn intervals_are_positive_and_not_too_large() {
        for (amount, unit) in [
            ("0", IntervalUnit::Second),
            ("-1", IntervalUnit::Day),
            ("1000000001", IntervalUnit::Second),
            ("1:2:3", IntervalUnit::MinuteSecond),
            ("1", IntervalUnit::Microsecond),
            ("", IntervalUnit::Hour),
        ] {
            assert_eq!(Interval::new(amount, unit), None, "{amount}");
        }
    }

    #[test]
    fn events_are_read_as_they_were_written() {
        let every = |unit, ends| Schedule::Every {
            interval: Interval::new("3", unit).unwrap(),
            starts: 5 * SECOND,
            ends,
        };
        let schedules = [
            Schedule::At(-7 * SECOND),
            every(IntervalUnit::YearMonth, None),
            every(IntervalUnit::DayHour, Some(9 * SECOND)),
        ];
        for schedule in schedules {
            let event = EventDef {
                database: "d".into(),
                name: "E".into(),
                definer: UserAtHost::new("u", "%"),
                schedule,
                preserve: true,
                status: EventStatus::DisabledOnReplica,
                comment: "c".into(),
                body: b"DO 1".to_vec(),
                sql_mode: 3,
                client: Charset::Latin1,
                connection: Collation::UTF8MB4_0900_AI_CI,
                database_collation: Collation::UTF8MB4_0900_AI_CI,
                zone: "+02:00".into(),
                created: 1,
                altered: 2,
                compiled: OnceLock::new(),
            };
            let bytes = event.encode();
            let read = EventDef::decode("d", &mut Cursor::new(&bytes)).unwrap();
            assert_eq!(event.difference(&read), None);
            for len in 0..bytes.len() {
                assert!(EventDef::decode("d", &mut Cursor::new(&bytes[..len])).is_err(), "{len}");
            }
        }
    }
}
