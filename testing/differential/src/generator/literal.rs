//! Literals: of columns' types, mostly small, at times at the edge, rarely beyond it.

use super::Generator;
use super::schema::{Class, MEMBERS, Type, ValueKind};
use crate::tree::{Sql, expression, text};

/// Words of which texts are made: with blanks, wildcards, quotes, digits, other case.
const WORDS: [&str; 16] = [
    "", "a", "A", "b", "ab", "Abc", "abc ", " x", "x_y", "50%", "12", "-3.5", "it''s", "zebra", "12abc", "0",
];

/// Words beyond ASCII: accents, digraphs, other scripts, beyond the basic plane, and what
/// collations ignore.
const FOREIGN: [&str; 10] = ["é", "E\u{301}", "ß", "SS", "Ärger", "中文", "😀", "ıİ", "ǆ", "a\u{ad}b"];

impl Generator {
    /// A value for a column; one in forty is outside of what the type takes, a few are of another
    /// class.
    pub(super) fn value(&mut self, ty: &Type) -> Sql {
        if self.percent(12) {
            return expression(text("NULL"), ty.class.simplest());
        }
        // MariaDB's numbers of errors are others, and a time is no YEAR there.
        if self.for_mysql && self.percent(4) {
            let class = self.pick(&Class::ALL);
            return self.literal(class);
        }
        let wrong = self.below(40) == 0;
        self.value_of_kind(ty, wrong)
    }

    /// A value that the type takes.
    pub(super) fn good_value(&mut self, ty: &Type) -> Sql {
        self.value_of_kind(ty, false)
    }

    pub(super) fn value_of_kind(&mut self, ty: &Type, wrong: bool) -> Sql {
        let value = match ty.kind {
            ValueKind::Integer(min, max) => self.integer_value(min, max, wrong),
            ValueKind::Year => {
                if wrong {
                    "2300".into()
                } else {
                    self.pick(&["1901", "1999", "2024", "2155", "0"]).to_owned()
                }
            }
            ValueKind::Bit(bits) => {
                let bound = if wrong { 1_u64 << (bits + 1) } else { 1 << bits };
                self.below(bound).to_string()
            }
            // As bits and in HEX() MariaDB's decimals beyond what a double holds are others.
            ValueKind::Decimal(20, after) if !self.for_mysql => {
                self.decimal_value(if wrong { 21 } else { 15 }, after)
            }
            ValueKind::Decimal(before, after) => self.decimal_value(before + u32::from(wrong), after),
            ValueKind::Double => self.quarter(),
            ValueKind::Text(longest) => self.text_value(longest, wrong),
            ValueKind::Bytes(longest) => self.text_value(longest, wrong),
            ValueKind::Enum => {
                if wrong {
                    "'pink'".into()
                } else {
                    format!("'{}'", self.pick(&MEMBERS))
                }
            }
            ValueKind::Set => self.set_value(wrong),
            ValueKind::Date => format!("'{}'", self.date(wrong)),
            ValueKind::Time => format!("'{}'", self.time(wrong)),
            ValueKind::DateTime => format!("'{}'", self.date_time(wrong)),
            ValueKind::Timestamp => format!("'{}'", self.timestamp()),
        };
        expression(text(value), ty.class.simplest())
    }

    /// A literal in an expression.
    pub(super) fn literal(&mut self, class: Class) -> Sql {
        if self.percent(6) {
            return expression(text("NULL"), class.simplest());
        }
        let value = match class {
            Class::Integer => self.small_integer(),
            Class::Decimal => self.decimal_value(3, 2),
            Class::Double => format!("{}e0", self.quarter()),
            Class::Text => self.text_value(12, false),
            // MariaDB takes a hexadecimal literal next to a number for a string.
            Class::Bytes if !self.for_mysql => format!("UNHEX('{:04x}')", self.below(1 << 16)),
            Class::Bytes => format!("x'{:04x}'", self.below(1 << 16)),
            Class::Date => format!("DATE'{}'", self.date(false)),
            Class::Time => format!("TIME'{}'", self.in_expression(Self::time)),
            Class::DateTime => format!("TIMESTAMP'{}'", self.in_expression(Self::date_time)),
        };
        expression(text(value), class.simplest())
    }

    /// A time: for MariaDB without a fraction, which a key of fewer digits would round.
    fn in_expression(&mut self, draw: fn(&mut Self, bool) -> String) -> String {
        let drawn = draw(self, false);
        match drawn.split_once('.') {
            Some((whole, _)) if !self.for_mysql => whole.to_owned(),
            _ => drawn,
        }
    }

    pub(super) fn small_integer(&mut self) -> String {
        (self.below(25) as i64 - 8).to_string()
    }

    fn integer_value(&mut self, min: i64, max: i64, wrong: bool) -> String {
        match self.below(10) {
            // Beyond BIGINT UNSIGNED, too.
            _ if wrong && max == i64::MAX && min == 0 => (u128::from(u64::MAX) + 1).to_string(),
            _ if wrong => (i128::from(max) + 1).to_string(),
            0 => min.to_string(),
            1 => max.to_string(),
            2..=6 => self.below(10).to_string(),
            _ => self.below(100).min(max as u64).to_string(),
        }
    }

    fn decimal_value(&mut self, before: u32, after: u32) -> String {
        let sign = if self.percent(30) { "-" } else { "" };
        let digits = |generator: &mut Self, n: u32| -> String {
            (0..n).map(|_| char::from(b'0' + generator.below(10) as u8)).collect()
        };
        let length = if self.percent(60) { before.min(2) } else { before };
        let (whole, fraction) = (digits(self, length), digits(self, after));
        let whole = if whole.is_empty() { "0".into() } else { whole };
        if fraction.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
    }

    /// A multiple of 0.25.
    fn quarter(&mut self) -> String {
        (self.below(400) as f64 / 4.0 - 20.0).to_string()
    }

    fn text_value(&mut self, longest: u32, wrong: bool) -> String {
        let mut words = String::new();
        for _ in 0..1 + self.below(2) {
            let foreign = self.for_mysql && self.percent(10);
            // MySQL warns of what a routine's text has beyond the basic plane (1300).
            let all = if self.with_routines { &FOREIGN[..FOREIGN.len() - 4] } else { &FOREIGN[..] };
            words.push_str(if foreign { self.pick(all) } else { self.pick(&WORDS) });
        }
        if wrong {
            words.push_str(&"q".repeat(longest as usize + 1));
        } else {
            // A quote is written twice: it must not be cut apart.
            let kept: String = words.replace("''", "'").chars().take(longest as usize).collect();
            words = kept.replace('\'', "''");
        }
        format!("'{words}'")
    }

    fn set_value(&mut self, wrong: bool) -> String {
        let chosen: Vec<_> = MEMBERS.into_iter().filter(|_| self.random.chance(1, 2)).collect();
        if wrong { "'red,pink'".into() } else { format!("'{}'", chosen.join(",")) }
    }

    fn date(&mut self, wrong: bool) -> String {
        if wrong {
            return self.pick(&["2023-02-30", "2023-13-01", "nonsense"]).into();
        }
        self.pick(&[
            "2024-02-29",
            "2023-12-31",
            "2024-01-01",
            "2000-06-15",
            "1999-11-30",
            "1970-01-01",
            "9999-12-31",
            "1000-01-01",
            "2024-03-10",
        ])
        .into()
    }

    fn time(&mut self, wrong: bool) -> String {
        if wrong {
            return self.pick(&["12:60:00", "nonsense"]).into();
        }
        // Sums with the largest time have other fractions in MariaDB.
        let large = if self.for_mysql { "838:59:59" } else { "99:59:59" };
        self.pick(&[
            "00:00:00",
            "23:59:59",
            "-01:30:00",
            "12:34:56.789",
            large,
            "100:00:00",
            "00:00:00.000001",
        ])
        .into()
    }

    fn date_time(&mut self, wrong: bool) -> String {
        if wrong {
            return self.pick(&["2023-02-30 00:00:00", "2023-01-01 25:00:00"]).into();
        }
        let time = self.pick(&["00:00:00", "23:59:59", "12:34:56", "12:34:56.789", "06:00:00.000001"]);
        format!(
            "{} {time}",
            self.pick(&["2024-02-29", "2023-12-31", "2000-01-01", "1970-01-02", "2037-06-30"])
        )
    }

    fn timestamp(&mut self) -> String {
        let time = self.pick(&["00:00:00", "23:59:59", "12:34:56.789"]);
        format!("{} {time}", self.pick(&["2024-02-29", "1999-12-31", "1970-01-02", "2037-06-30"]))
    }
}
