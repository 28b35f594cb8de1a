//! Column types at their extremes, and values and defaults that fit them, or hardly.

use super::Session;
use super::text::{between, characters, pick};
use stdx::random::Random;

/// Character sets and their collations, as a type's text has them.
const CHARSETS: &[&str] = &[
    "",
    "",
    "",
    " CHARACTER SET latin1",
    " CHARACTER SET latin1 COLLATE latin1_german1_ci",
    " COLLATE latin1_bin",
    " CHARACTER SET ascii",
    " COLLATE ascii_bin",
    " CHARACTER SET utf8mb3",
    " COLLATE utf8mb3_unicode_520_ci",
    " CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_as_cs",
    " COLLATE utf8mb4_0900_bin",
    " COLLATE utf8mb4_bin",
    " CHARSET utf8mb4 BINARY",
    " BINARY",
    " ASCII",
    " UNICODE",
    " CHARACTER SET binary",
];

const DEFAULT_CHARSETS: &[&str] = &[
    "latin1",
    "ascii",
    "utf8mb3",
    "utf8mb4",
    "binary",
    "utf8mb4 COLLATE utf8mb4_bin",
    "latin1 COLLATE latin1_general_cs",
    "utf8mb4 COLLATE utf8mb4_0900_as_cs",
    "utf8mb3 COLLATE utf8mb3_bin",
];

/// What kind of values a column has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Values {
    /// An integer of so many bits.
    Integer { bits: u32, unsigned: bool },
    /// DECIMAL of these digits.
    Decimal { digits: u64, decimals: u64 },
    /// FLOAT and DOUBLE.
    Float,
    /// BIT of so many.
    Bit(u64),
    /// A string of so many characters; bytes if `binary`.
    Text { most: u64, binary: bool },
    /// TEXT and BLOB: no literal default.
    Lob { binary: bool },
    /// ENUM and SET: the members' literals.
    Members(Vec<String>),
    /// DATE, TIME, DATETIME, TIMESTAMP, YEAR: the word, and digits after the seconds.
    Time(&'static str, u64),
    /// Documents.
    Json,
}

/// A table's or database's character set.
pub(super) fn default_charset(random: &mut Random) -> String {
    pick(random, DEFAULT_CHARSETS).to_owned()
}

/// A type's text, and what values it has.
pub(super) fn any_type(session: &Session, random: &mut Random) -> (String, Values) {
    match random.below(20) {
        0..=3 => integer(random),
        4 => {
            let (digits, decimals) = match random.below(4) {
                0 => (65, 30),
                1 => (between(random, 1, 65), 0),
                2 => (30, 30),
                _ => (10, 2),
            };
            let word = pick(random, &["DECIMAL", "NUMERIC", "DEC", "FIXED"]);
            let unsigned = pick(random, &["", "", "", " UNSIGNED", " ZEROFILL"]);
            (format!("{word}({digits},{decimals}){unsigned}"), Values::Decimal { digits, decimals })
        }
        5 => {
            let text = pick(
                random,
                &[
                    "FLOAT",
                    "DOUBLE",
                    "REAL",
                    "FLOAT(24)",
                    "FLOAT(53)",
                    "DOUBLE PRECISION UNSIGNED",
                    "DOUBLE(255,30)",
                    "FLOAT(7,4)",
                    "FLOAT UNSIGNED ZEROFILL",
                ],
            );
            (text.to_owned(), Values::Float)
        }
        6 => {
            let bits = if random.chance(1, 2) { 64 } else { between(random, 1, 64) };
            (format!("BIT({bits})"), Values::Bit(bits))
        }
        7..=10 => string(random),
        11 | 12 => lob(random),
        13..=15 => members(session, random),
        16..=18 => {
            let word = pick(random, &["DATE", "TIME", "DATETIME", "TIMESTAMP", "TIMESTAMP", "YEAR"]);
            let digits = if matches!(word, "DATE" | "YEAR") { 0 } else { random.below(7) };
            let text = if digits == 0 { word.to_owned() } else { format!("{word}({digits})") };
            (text, Values::Time(word, digits))
        }
        _ => ("JSON".to_owned(), Values::Json),
    }
}

pub(super) fn integer(random: &mut Random) -> (String, Values) {
    let (word, bits) =
        [("TINYINT", 8), ("SMALLINT", 16), ("MEDIUMINT", 24), ("INT", 32), ("BIGINT", 64), ("BOOL", 8)]
            [random.below(6) as usize];
    if word == "BOOL" {
        return (word.to_owned(), Values::Integer { bits, unsigned: false });
    }
    let unsigned = random.chance(1, 3);
    let width = pick(random, &["", "", "", "(1)", "(255)", "(4) ZEROFILL", " ZEROFILL"]);
    let signed = if unsigned { " UNSIGNED" } else { "" };
    let unsigned = unsigned || width.contains("ZEROFILL");
    (
        format!(
            "{word}{}{signed}{}",
            width.trim_end_matches(" ZEROFILL"),
            if width.contains("ZERO") { " ZEROFILL" } else { "" }
        ),
        Values::Integer { bits, unsigned },
    )
}

fn string(random: &mut Random) -> (String, Values) {
    let most = match random.below(8) {
        0 => between(random, 0, 1),
        1 => 255,
        2 => between(random, 256, 1000),
        3 => between(random, 16_000, 16_383),
        _ => between(random, 1, 40),
    };
    match random.below(6) {
        0 => (format!("BINARY({})", most.min(255)), Values::Text { most: most.min(255), binary: true }),
        1 => (format!("VARBINARY({most})"), Values::Text { most, binary: true }),
        2 => {
            let word = pick(random, &["CHAR", "CHARACTER", "NCHAR", "NATIONAL CHAR"]);
            let charset = if word.starts_with('N') { "" } else { pick(random, CHARSETS) };
            let most = most.min(255);
            (format!("{word}({most}){charset}"), Values::Text { most, binary: charset.ends_with(" binary") })
        }
        _ => {
            let word = pick(random, &["VARCHAR", "VARCHAR", "CHAR VARYING", "NVARCHAR", "NATIONAL VARCHAR"]);
            let charset = if word.starts_with('N') { "" } else { pick(random, CHARSETS) };
            (format!("{word}({most}){charset}"), Values::Text { most, binary: charset.ends_with(" binary") })
        }
    }
}

fn lob(random: &mut Random) -> (String, Values) {
    if random.chance(1, 2) {
        let text = pick(
            random,
            &["TINYBLOB", "BLOB", "MEDIUMBLOB", "LONGBLOB", "BLOB(255)", "BLOB(65536)", "LONG VARBINARY"],
        );
        return (text.to_owned(), Values::Lob { binary: true });
    }
    let word =
        pick(random, &["TINYTEXT", "TEXT", "MEDIUMTEXT", "LONGTEXT", "TEXT(63)", "TEXT(16384)", "LONG"]);
    let charset = pick(random, CHARSETS);
    (format!("{word}{charset}"), Values::Lob { binary: false })
}

/// ENUM or SET. Members may not be equal in their collation, so most carry a number.
fn members(session: &Session, random: &mut Random) -> (String, Values) {
    let is_set = random.chance(1, 3);
    let count = match random.below(12) {
        0 if is_set => between(random, 62, 64),
        0 => between(random, 200, 300),
        1 if !is_set && random.chance(1, 8) => 3000,
        _ => between(random, 1, 6),
    };
    let members: Vec<String> = (0..count)
        .map(|number| {
            let most = match random.below(20) {
                0 => 250,
                _ => 8,
            };
            let text = characters(random, most).trim_end_matches(' ').to_owned();
            let text = if is_set { text.replace(',', ";") } else { text };
            let text = if number < 2 && random.chance(1, 2) { text } else { format!("{number}{text}") };
            let text: String = text.chars().take(255).collect();
            match random.below(30) {
                // Trailing spaces are taken off, and hexadecimal members are bytes of the column's
                // character set.
                0 => session.literal(random, &format!("{text}  ")),
                1 => format!("0x{}", hex(text.as_bytes())),
                2 => format!("N{}", session.literal(random, &text).replace('"', "'")),
                _ => session.literal(random, &text),
            }
        })
        .collect();
    let word = if is_set { "SET" } else { "ENUM" };
    let charset = pick(random, CHARSETS);
    (format!("{word}({}){charset}", members.join(",")), Values::Members(members))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02X}")).collect()
}

impl Values {
    /// A literal that fits, or hardly.
    pub(super) fn literal(&self, session: &Session, random: &mut Random) -> String {
        match self {
            Values::Integer { bits, unsigned } => {
                let (low, high) = match (bits, unsigned) {
                    (64, true) => (0_i128, i128::from(u64::MAX)),
                    (bits, true) => (0, (1_i128 << bits) - 1),
                    (bits, false) => (-(1_i128 << (bits - 1)), (1_i128 << (bits - 1)) - 1),
                };
                match random.below(8) {
                    0 => low.to_string(),
                    1 => high.to_string(),
                    2 => format!("'{}'", high - 1),
                    3 => "0x7f".to_owned(),
                    4 => "b'101'".to_owned(),
                    5 => "TRUE".to_owned(),
                    6 if !unsigned => "- 1".to_owned(),
                    _ => random.below(100).to_string(),
                }
            }
            Values::Decimal { digits, decimals } => {
                let nines = |n: u64| "9".repeat(n as usize);
                let whole = digits.saturating_sub(*decimals);
                match random.below(5) {
                    0 => format!(
                        "{}.{}",
                        if whole == 0 { "0".to_owned() } else { nines(whole) },
                        nines(*decimals)
                    ),
                    1 => format!("-0.{}", nines(*decimals)),
                    2 => "'1'".to_owned(),
                    3 => "1e0".to_owned(),
                    _ => "0".to_owned(),
                }
            }
            Values::Float => pick(
                random,
                &[
                    "0",
                    "-0.0",
                    "1.5",
                    "1.7976931348623157e308",
                    "2.2250738585072014E-308",
                    "3.402823e38",
                    "'1e-5'",
                    "0.1",
                    "-1.1e1",
                    "1e15",
                    "123456789012345678",
                ],
            )
            .to_owned(),
            Values::Bit(bits) => match random.below(5) {
                0 => format!("b'{}'", "1".repeat(*bits as usize)),
                1 => "0".to_owned(),
                2 => "0x1".to_owned(),
                3 => "'\u{1}'".to_owned(),
                _ => "b'1'".to_owned(),
            },
            Values::Text { most, binary } => text(session, random, (*most).min(300), *binary),
            Values::Lob { binary } => text(session, random, 200, *binary),
            Values::Members(members) => match random.below(6) {
                0 => "1".to_owned(),
                1 => "''".to_owned(),
                _ => members[random.below(members.len() as u64) as usize].clone(),
            },
            Values::Time(word, digits) => time(random, word, *digits),
            Values::Json => pick(
                random,
                &[
                    "'{}'",
                    "'[1, \"a\", null, {\"k\": 1.5}]'",
                    "'\"x\"'",
                    "'null'",
                    "'1e10'",
                    "'18446744073709551615'",
                ],
            )
            .to_owned(),
        }
    }

    /// DEFAULT's operand, if there may be one.
    pub(super) fn default(&self, session: &Session, random: &mut Random) -> String {
        if random.chance(1, 8) {
            return "NULL".to_owned();
        }
        let is_expression_only = matches!(self, Values::Lob { .. } | Values::Json);
        if is_expression_only || random.chance(1, 6) {
            let literal = self.literal(session, random);
            return match random.below(6) {
                0 => format!("({})", self.function(random)),
                1 => format!("(CONCAT({literal}, ''))"),
                2 => format!("(IFNULL(NULL, {literal}))"),
                3 => format!("((({literal})))"),
                _ => format!("({literal})"),
            };
        }
        match self {
            Values::Time("DATETIME" | "TIMESTAMP", digits) if random.chance(1, 2) => {
                let now = now(random, *digits);
                match random.below(3) {
                    0 => now,
                    1 => format!("{now} ON UPDATE {}", self::now(random, *digits)),
                    _ => format!("{} ON UPDATE {now}", self.literal(session, random)),
                }
            }
            _ => self.literal(session, random),
        }
    }

    fn function(&self, random: &mut Random) -> &'static str {
        match self {
            Values::Json => pick(
                random,
                &["JSON_ARRAY()", "JSON_OBJECT('a', 1, 'b\\'', NULL)", "'{}'", "CAST('[1]' AS JSON)"],
            ),
            Values::Time("YEAR", _) => "YEAR(NOW())",
            Values::Time("TIME", _) => pick(random, &["CURRENT_TIME", "SEC_TO_TIME(-1)", "TIME'-838:59:59'"]),
            Values::Time(..) => pick(
                random,
                &[
                    "NOW() + INTERVAL 1 DAY",
                    "CURRENT_DATE",
                    "TIMESTAMP'2020-01-01 00:00:00'",
                    "UTC_TIMESTAMP()",
                ],
            ),
            Values::Text { .. } | Values::Lob { .. } => pick(
                random,
                &["UUID()", "REPEAT('\\\\', 3)", "HEX(1)", "_latin1'\\\\'", "CURRENT_USER()", "CHAR(92, 39)"],
            ),
            _ => pick(
                random,
                &["1 + 1", "-(1)", "RAND() > 2", "1 = 1", "1 IS NULL", "NOT 1", "~0 & 1", "1 DIV 1"],
            ),
        }
    }
}

fn text(session: &Session, random: &mut Random, most: u64, binary: bool) -> String {
    match random.below(12) {
        0 => "0x".to_owned() + &hex(characters(random, most.min(20)).as_bytes()),
        1 => "X'5C27'".to_owned(),
        2 => "b'0101110000100111'".to_owned(),
        3 => format!("N{}", session.literal(random, "n\\'").replace('"', "'")),
        4 => "_latin1 0xE9".to_owned(),
        5 => "_binary '\u{1}'".to_owned(),
        6 => "_utf8mb4'é' COLLATE utf8mb4_bin".to_owned(),
        7 => "'a' 'b'".to_owned(),
        8 if binary => "0x00FF5C27".to_owned(),
        9 => "12".to_owned(),
        _ => session.any_literal(random, most),
    }
}

fn now(random: &mut Random, digits: u64) -> String {
    let word = pick(random, &["CURRENT_TIMESTAMP", "NOW", "LOCALTIME", "LOCALTIMESTAMP"]);
    if digits > 0 {
        format!("{word}({digits})")
    } else if word == "NOW" {
        "NOW()".to_owned()
    } else {
        word.to_owned()
    }
}

fn time(random: &mut Random, word: &str, digits: u64) -> String {
    let part = if digits > 0 { format!(".{}", "9".repeat(digits as usize)) } else { String::new() };
    match word {
        "DATE" => pick(
            random,
            &["'1000-01-01'", "'9999-12-31'", "'0000-00-00'", "DATE'2024-02-29'", "20200101", "'2024-1-1'"],
        )
        .to_owned(),
        "TIME" => match random.below(4) {
            0 => "'838:59:59'".to_owned(),
            1 => "'-838:59:59'".to_owned(),
            2 => format!("'-00:00:00{part}'"),
            _ => format!("TIME'12:34:56{part}'"),
        },
        "YEAR" => pick(random, &["1901", "2155", "'0'", "0", "'70'", "99"]).to_owned(),
        "TIMESTAMP" => match random.below(6) {
            0 => "'1970-01-02 00:00:01'".to_owned(),
            1 => format!("'2038-01-18 03:14:07{part}'"),
            2 => "0".to_owned(),
            3 => "'2024-10-27 02:30:00'".to_owned(),
            4 => "'2024-03-31 02:30:00'".to_owned(),
            _ => format!("TIMESTAMP'2020-05-05 05:05:05{part}'"),
        },
        _ => match random.below(4) {
            0 => "'1000-01-01 00:00:00'".to_owned(),
            1 => format!("'9999-12-31 23:59:59{part}'"),
            2 => "'2020-01-01 00:00:00+05:30'".to_owned(),
            _ => "'0000-00-00 00:00:00'".to_owned(),
        },
    }
}
