//! Time zones: `SYSTEM`, which is UTC here, fixed offsets, and the named zones of the tz database,
//! which is built in.
//!
//! A local time that a zone leaves out, where clocks go forward, stands for the moment they do so;
//! one that comes twice, where clocks go back, for the first of the two. So MySQL has it.

use std::collections::HashMap;
use std::fmt;
use std::sync::LazyLock;

use jiff::Timestamp;
use jiff::tz::{AmbiguousOffset, Offset, TimeZone, TimeZoneDatabase};
use parking_lot::Mutex;

use super::temporal::{DateTime, SECOND};

/// A time zone.
#[derive(Clone, Copy)]
pub struct Zone(ZoneKind);

#[derive(Clone, Copy)]
enum ZoneKind {
    /// Seconds east of UTC.
    Offset(i32),
    Named(&'static TimeZone),
}

/// A local time as a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// Microseconds since 1970 in UTC.
    pub micros: i64,
    /// True if there is no such local time: clocks went forward over it.
    pub in_gap: bool,
}

impl Zone {
    /// Also what `SYSTEM` means here.
    pub const UTC: Zone = Zone(ZoneKind::Offset(0));

    /// The zone of a name, in any case: `SYSTEM`, an offset within -13:59 to +14:00, or one of the
    /// tz database.
    pub fn by_name(name: &str) -> Option<Zone> {
        if name.eq_ignore_ascii_case("SYSTEM") {
            return Some(Zone::UTC);
        }
        match offset_minutes(name) {
            Some(minutes) => Some(Zone(ZoneKind::Offset(minutes * 60))),
            None => named(name).map(|zone| Zone(ZoneKind::Named(zone))),
        }
    }

    /// Its name: `+02:00`, `Europe/Berlin`.
    pub fn name(self) -> String {
        match self.0 {
            ZoneKind::Named(zone) => zone.iana_name().unwrap_or("UTC").to_owned(),
            ZoneKind::Offset(seconds) => {
                let (sign, minutes) = (if seconds < 0 { '-' } else { '+' }, seconds.abs() / 60);
                format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60)
            }
        }
    }

    /// A moment, in microseconds since 1970, as the zone's clocks show it, counted the same way.
    pub fn to_local(self, utc: i64) -> i64 {
        let seconds = match self.0 {
            ZoneKind::Offset(seconds) => seconds,
            ZoneKind::Named(zone) => match Timestamp::from_microsecond(utc) {
                Ok(moment) => zone.to_offset(moment).seconds(),
                Err(_) => 0,
            },
        };
        utc.saturating_add(i64::from(seconds) * SECOND)
    }

    /// The moment when the zone's clocks show `local`.
    pub fn to_utc(self, local: i64) -> Moment {
        let at = |offset: Offset| local - i64::from(offset.seconds()) * SECOND;
        let zone = match self.0 {
            ZoneKind::Offset(seconds) => {
                return Moment { micros: local.saturating_sub(i64::from(seconds) * SECOND), in_gap: false };
            }
            ZoneKind::Named(zone) => zone,
        };
        let Ok(shown) = Timestamp::from_microsecond(local) else {
            return Moment { micros: local, in_gap: false };
        };
        match zone.to_ambiguous_timestamp(Offset::UTC.to_datetime(shown)).offset() {
            AmbiguousOffset::Unambiguous { offset } => Moment { micros: at(offset), in_gap: false },
            AmbiguousOffset::Fold { before, .. } => Moment { micros: at(before), in_gap: false },
            AmbiguousOffset::Gap { after, .. } => {
                let change =
                    Timestamp::from_microsecond(at(after)).ok().and_then(|t| zone.following(t).next());
                let change = change.map_or_else(|| at(after), |t| t.timestamp().as_microsecond());
                // MySQL keeps the fraction.
                Moment { micros: change + local.rem_euclid(SECOND), in_gap: true }
            }
        }
    }

    /// A date with a time in UTC as this zone shows it; zero dates and what would leave the
    /// calendar stay as they are.
    pub fn show(self, utc: DateTime) -> DateTime {
        let local = utc.unix_micros().and_then(|us| DateTime::from_unix_micros(self.to_local(us), utc.fsp));
        local.unwrap_or(utc)
    }
}

impl fmt::Debug for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}

/// The tz database's zone, kept for good: there are some hundreds of names.
fn named(name: &str) -> Option<&'static TimeZone> {
    static DATABASE: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);
    static FOUND: Mutex<Option<HashMap<String, &'static TimeZone>>> = Mutex::new(None);
    let zone = DATABASE.get(name).ok()?;
    let key = zone.iana_name()?.to_owned();
    let mut found = FOUND.lock();
    Some(found.get_or_insert_default().entry(key).or_insert_with(|| Box::leak(Box::new(zone))))
}

/// Minutes east of UTC, from `+hh:mm` within -13:59 to +14:00.
fn offset_minutes(name: &str) -> Option<i32> {
    let (sign, rest) = match name.as_bytes().first()? {
        b'+' => (1, &name[1..]),
        b'-' => (-1, &name[1..]),
        _ => return None,
    };
    let (hours, minutes) = rest.split_once(':')?;
    let digits = |s: &str| (1..=2).contains(&s.len()) && s.bytes().all(|b| b.is_ascii_digit());
    let part = |s: &str| digits(s).then(|| s.parse::<i32>().ok()).flatten();
    let (hours, minutes) = (part(hours)?, part(minutes)?);
    let total = sign * (hours * 60 + minutes);
    (minutes < 60 && (-(13 * 60 + 59)..=14 * 60).contains(&total)).then_some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_zones() {
        let name = |name| Zone::by_name(name).map(Zone::name);
        assert_eq!(name("SYSTEM").as_deref(), Some("+00:00"));
        assert_eq!(name("+2:30").as_deref(), Some("+02:30"));
        assert_eq!(name("-13:59").as_deref(), Some("-13:59"));
        assert_eq!(name("europe/berlin").as_deref(), Some("Europe/Berlin"));
        assert!(Zone::by_name("+14:01").or(Zone::by_name("+2")).or(Zone::by_name("Nowhere/Land")).is_none());
        assert!(Zone::by_name("").or(Zone::by_name("++1:00")).is_none());
    }

    /// 2023 in Berlin: clocks go forward at 01:00 UTC on March 26, back at 01:00 UTC on October 29.
    #[test]
    fn gaps_and_overlaps() {
        let berlin = Zone::by_name("Europe/Berlin").unwrap();
        const FORWARD: i64 = 1_679_792_400 * SECOND;
        const BACK: i64 = 1_698_541_200 * SECOND;
        const HOUR: i64 = 3600 * SECOND;
        assert_eq!(berlin.to_local(FORWARD - 1), FORWARD - 1 + HOUR);
        assert_eq!(berlin.to_local(FORWARD), FORWARD + 2 * HOUR);
        assert_eq!(berlin.to_utc(FORWARD + HOUR - 1), Moment { micros: FORWARD - 1, in_gap: false });
        let fraction = SECOND / 4;
        let missing = berlin.to_utc(FORWARD + HOUR + HOUR / 2 + fraction);
        assert_eq!(missing, Moment { micros: FORWARD + fraction, in_gap: true });
        assert_eq!(berlin.to_utc(FORWARD + 2 * HOUR), Moment { micros: FORWARD, in_gap: false });
        let twice = berlin.to_utc(BACK + HOUR + HOUR / 2);
        assert_eq!(twice, Moment { micros: BACK - HOUR / 2, in_gap: false });
        for hour in 0..24 * 366 {
            let moment = FORWARD + hour * HOUR;
            let back = berlin.to_utc(berlin.to_local(moment));
            assert!(back.micros == moment || back.micros == moment - HOUR && moment >= BACK);
        }
    }
}
