//! Columns of all types, and values for them.

use stdx::random::Random;

/// A column of the table with all types: its name, its type, and what draws a value for it.
pub(super) type Column = (&'static str, &'static str, fn(&mut Random) -> String);

/// All types that both MySQL and MariaDB have.
pub(super) const COLUMNS: &[Column] = &[
    ("t", "TINYINT", |r| signed(r, 7)),
    ("tu", "TINYINT UNSIGNED", |r| unsigned(r, 8)),
    ("s", "SMALLINT", |r| signed(r, 15)),
    ("su", "SMALLINT UNSIGNED ZEROFILL", |r| unsigned(r, 16)),
    ("m", "MEDIUMINT", |r| signed(r, 23)),
    ("mu", "MEDIUMINT UNSIGNED", |r| unsigned(r, 24)),
    ("i", "INT", |r| signed(r, 31)),
    ("iu", "INT UNSIGNED", |r| unsigned(r, 32)),
    ("b", "BIGINT", |r| signed(r, 63)),
    ("bu", "BIGINT UNSIGNED", |r| unsigned(r, 64)),
    ("truth", "BOOLEAN", |r| unsigned(r, 1)),
    ("d", "DECIMAL(65,30)", |r| format!("{}.{:09}", signed(r, 63), r.below(1_000_000_000))),
    ("du", "DECIMAL(10,2) UNSIGNED", |r| format!("{}.{:02}", r.below(100_000_000), r.below(100))),
    ("f", "FLOAT", |r| format!("{}", signed_number(r, 20) as f32 / 8.0)),
    ("r", "DOUBLE", |r| format!("{}", signed_number(r, 40) as f64 / 64.0)),
    ("bits", "BIT(64)", |r| unsigned(r, 64)),
    ("bit1", "BIT(1)", |r| unsigned(r, 1)),
    ("y", "YEAR", |r| format!("{}", 1901 + r.below(255))),
    ("dt", "DATE", |r| format!("'{}'", date(r))),
    ("tm", "TIME", |r| format!("'{}'", time(r, 838))),
    ("tm6", "TIME(6)", |r| format!("'{}.{:06}'", time(r, 838), r.below(1_000_000))),
    ("at0", "DATETIME", |r| format!("'{} {}'", date(r), time(r, 23))),
    ("at6", "DATETIME(6)", |r| format!("'{} {}.{:06}'", date(r), time(r, 23), r.below(1_000_000))),
    ("ts", "TIMESTAMP NULL", |r| format!("FROM_UNIXTIME({})", 1 + r.below(2_000_000_000))),
    ("ts3", "TIMESTAMP(3) NULL", |r| {
        format!("FROM_UNIXTIME({}.{:03})", 1 + r.below(2_000_000_000), r.below(1000))
    }),
    ("c", "CHAR(10)", |r| text(r, 10)),
    ("v", "VARCHAR(200)", |r| text(r, 200)),
    ("bin", "BINARY(6)", |r| bytes(r, 6)),
    ("vb", "VARBINARY(300)", |r| bytes(r, 300)),
    ("tt", "TINYTEXT", |r| text(r, 60)),
    ("tx", "TEXT", |r| text(r, 900)),
    ("mt", "MEDIUMTEXT", |r| text(r, 60)),
    ("lt", "LONGTEXT", |r| text(r, 60)),
    ("tb", "TINYBLOB", |r| bytes(r, 255)),
    ("bl", "BLOB", |r| bytes(r, 900)),
    ("lb", "LONGBLOB", |r| bytes(r, 30)),
    ("l1", "VARCHAR(20) CHARACTER SET latin1", |r| ascii(r, 20)),
    ("u3", "VARCHAR(20) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin", |r| ascii(r, 20)),
    ("a", "CHAR(5) CHARACTER SET ascii", |r| ascii(r, 5)),
    ("uni", "VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci", |r| text(r, 20)),
    ("e", "ENUM('', 'a', 'it''s', 'é')", |r| one(r, &["''", "'a'", "'it''s'", "'é'"])),
    ("st", "SET('x', 'y', 'ž')", |r| one(r, &["''", "'x'", "'x,y'", "'x,ž'", "'y,ž'"])),
];

/// A document.
pub(super) const JSON: Column = ("js", "JSON", json);

/// A value for a column, NULL at times.
pub(super) fn value(column: &Column, r: &mut Random) -> String {
    if r.chance(1, 8) { "NULL".into() } else { (column.2)(r) }
}

fn one(r: &mut Random, of: &[&str]) -> String {
    of[r.below(of.len() as u64) as usize].into()
}

/// A number of so many bits, an edge at times.
fn signed_number(r: &mut Random, bits: u32) -> i64 {
    let magnitude = (r.next_u64() >> (64 - bits)) as i64;
    match r.below(10) {
        0 => ((1_u64 << bits) - 1) as i64,
        1 => -((1_u64 << bits).wrapping_sub(1) as i64) - 1,
        2..=4 => -magnitude,
        _ => magnitude,
    }
}

fn signed(r: &mut Random, bits: u32) -> String {
    signed_number(r, bits).to_string()
}

fn unsigned(r: &mut Random, bits: u32) -> String {
    let all = u64::MAX >> (64 - bits);
    let number = match r.below(8) {
        0 => all,
        1 => 0,
        _ => r.next_u64() & all,
    };
    number.to_string()
}

fn date(r: &mut Random) -> String {
    format!("{:04}-{:02}-{:02}", 1000 + r.below(9000), 1 + r.below(12), 1 + r.below(28))
}

fn time(r: &mut Random, hours: u64) -> String {
    let sign = if hours > 23 && r.chance(1, 2) { "-" } else { "" };
    format!("{sign}{:02}:{:02}:{:02}", r.below(hours + 1), r.below(60), r.below(60))
}

/// At most so many characters of up to four bytes each.
fn text(r: &mut Random, longest: u64) -> String {
    const LETTERS: [&str; 12] = ["a", "Z", " ", "7", "''", "é", "ß", "ж", "日", "🌲", "%", "\\\\"];
    let letters = (0..r.below(longest + 1)).map(|_| LETTERS[r.below(12) as usize]);
    format!("'{}'", letters.collect::<String>())
}

fn ascii(r: &mut Random, longest: u64) -> String {
    let letters = (0..r.below(longest + 1)).map(|_| char::from(b'A' + r.below(58) as u8));
    format!("'{}'", letters.filter(|&c| c != '\\').collect::<String>())
}

fn bytes(r: &mut Random, longest: u64) -> String {
    let mut bytes = vec![0; r.below(longest + 1) as usize];
    r.fill(&mut bytes);
    let digits: String = bytes.iter().map(|b| format!("{b:02X}")).collect();
    format!("X'{digits}'")
}

fn json(r: &mut Random) -> String {
    match r.below(6) {
        0 => "'null'".into(),
        1 => format!("'[{}, {}.5, \"é\", true]'", signed(r, 31), r.below(1000)),
        2 => format!(
            "'{{\"a\": {{\"b\": [1, 2, {}]}}, \"text\": \"{}\"}}'",
            r.below(100),
            "x".repeat(r.below(300) as usize)
        ),
        3 => format!("JSON_OBJECT('when', CAST('{}' AS DATE), 'n', {})", date(r), unsigned(r, 64)),
        4 => "JSON_ARRAY(1.25, NULL, 'it''s', JSON_OBJECT())".into(),
        _ => format!("'{{\"k\": {}}}'", signed(r, 63)),
    }
}
