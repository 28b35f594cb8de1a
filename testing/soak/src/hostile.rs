//! Statements of those who mean harm: deep, wide and long texts, functions over values as long as
//! packets, patterns and data that are quadratic for a matcher that tries each offset, documents in
//! documents.
//!
//! Each is one statement. Sizes are drawn so that most of them take a good part of a packet, and
//! seldom all of it.

use stdx::random::Random;

/// Each session begins with these; the other statements name their variables.
pub const VARIABLES: &str = "SET @a = REPEAT('a', 4000000), @half = CONCAT(REPEAT('a', 2000000), 'b'), \
     @commas = REPEAT('a,', 2000000), @quotes = REPEAT('\\'', 4000000), @wide = REPEAT('ﷺ', 1000000), \
     @list = CONCAT('[', REPEAT('1,', 500000), '2]'), @formats = REPEAT('%W%M', 1000000), \
     @deep = CONCAT(REPEAT('[', 95), REPEAT('1,', 200000), '1', REPEAT(']', 95))";

const VALUES: [&str; 8] = ["@a", "@half", "@commas", "@quotes", "@wide", "@list", "@formats", "@deep"];

/// Calls of functions; `?` is a value.
const CALLS: [&str; 36] = [
    "QUOTE(?)",
    "HEX(?)",
    "UPPER(?)",
    "REVERSE(?)",
    "JSON_QUOTE(?)",
    "JSON_PRETTY(?)",
    "JSON_ARRAY(?, ?)",
    "JSON_OBJECT('a', ?, 'b', ?)",
    "JSON_SET('{}', '$.a', ?, '$.b', ?)",
    "JSON_MERGE_PRESERVE(@list, @deep, @list)",
    "JSON_EXTRACT(@deep, '$**[0]')",
    "JSON_SEARCH(JSON_ARRAY(?, ?), 'all', ?)",
    "JSON_CONTAINS(@list, REPLACE(@list, '2', '1'))",
    "JSON_OVERLAPS(@list, @deep)",
    "MAKE_SET(255, ?, ?, ?, ?, ?, ?)",
    "EXPORT_SET(255, ?, ?, ?)",
    "CONCAT(?, ?, ?)",
    "CONCAT_WS(?, ?, ?, ?)",
    "REPLACE(?, 'a', ?)",
    "REPLACE(@a, @half, 'x')",
    "INSERT(?, 1000, 0, ?)",
    "RPAD(?, 60000000, ?)",
    "REPEAT(?, 20)",
    "LOCATE(@half, @a)",
    "LOCATE(?, ? COLLATE utf8mb4_0900_as_cs)",
    "INSTR(?, ?)",
    "FIND_IN_SET('b', @commas)",
    "SUBSTRING_INDEX(?, 'a', -1000000)",
    "WEIGHT_STRING(?)",
    "DATE_FORMAT('2020-01-01', ?)",
    "TO_BASE64(?)",
    "COMPRESS(?)",
    "SHA2(CONCAT(?, SHA2(?, 512)), 256)",
    "CAST(? AS JSON)",
    "REGEXP_REPLACE(?, 'a', '$0$0')",
    "SOUNDEX(?)",
];

/// Conditions that try each offset; `?` is a value.
const CONDITIONS: [&str; 8] = [
    "@a LIKE CONCAT('%', @half, '%')",
    "@a LIKE CONCAT('%_', @half, '%')",
    "? LIKE CONCAT('%', REPEAT('%a', 100000), 'b')",
    "LEFT(?, 100000) REGEXP '(a+)+b'",
    "LEFT(?, 100000) REGEXP '(.*,){5}b'",
    "LEFT(?, 20000) REGEXP '^(a|aa)*\\\\1b'",
    "? RLIKE 'a{1,500}b'",
    "CONCAT(?, 'x') = CONCAT(?, 'y')",
];

/// Tables that hostile statements write to.
pub const TABLES: [&str; 2] = [
    "CREATE TABLE IF NOT EXISTS h (id INT PRIMARY KEY AUTO_INCREMENT, k INT, v LONGTEXT)",
    "CREATE TABLE IF NOT EXISTS small_h (a INT, b VARCHAR(100))",
];

fn one_of<'t>(random: &mut Random, all: &[&'t str]) -> &'t str {
    all[random.below(all.len() as u64) as usize]
}

/// The pattern with a value for each of its `?`.
fn filled(random: &mut Random, pattern: &str) -> String {
    let mut pieces = pattern.split('?');
    let mut text = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        text += one_of(random, &VALUES);
        text += piece;
    }
    text
}

/// `head`, then pieces with `between` until there are `len` bytes, then `tail`.
fn long(len: usize, head: &str, between: &str, tail: &str, piece: impl Fn(usize) -> String) -> String {
    let mut text = head.to_owned() + &piece(0);
    for i in 1.. {
        if text.len() >= len {
            break;
        }
        text += between;
        text += &piece(i);
    }
    text + tail
}

/// A hostile statement; texts are of at most `len` bytes or so.
pub fn statement(random: &mut Random, len: usize) -> String {
    let len = (len >> random.below(6)).max(1000);
    let digit = |i: usize| format!("{}", i % 10);
    match random.below(24) {
        0 => long(len, "SELECT 1 IN (", ",", ")", digit),
        1 => long(len, "SELECT 'x' IN (", ",", ")", |i| format!("'{i}'")),
        2 => long(len, "SELECT ", ",", "", digit),
        3 => long(len, "SELECT ", "+", "", digit),
        4 => long(len, "SELECT 1 WHERE ", " AND ", "", |i| format!("{i}<>0")),
        5 => long(len, "SELECT 1 FROM small_h WHERE ", " OR ", "", |i| format!("a={i} AND b='{i}'")),
        6 => long(len, "SELECT ", "", "", |_| "(".into()),
        7 => long(len, "SELECT 1 UNION ", " UNION ", "", |_| "SELECT 1".into()),
        8 => long(len, "SELECT CASE 0 ", " ", " END", |i| format!("WHEN {i} THEN {i}")),
        9 => long(len, "SELECT COALESCE(", ",", ")", |_| "NULL".into()),
        10 => long(len / 16, "SELECT 1 FROM small_h GROUP BY ", ",", "", |i| format!("a+{i}")),
        11 => long(len / 16, "SELECT 1 FROM small_h ORDER BY ", ",", "", |i| format!("a+{i}")),
        12 => long(len, "INSERT INTO small_h VALUES ", ",", "", |i| format!("({i},'name of {i}')")),
        13 => long(len / 4, "CREATE TABLE wide_h (", ",", ")", |i| format!("c{i} INT")),
        14 => long(len, "CREATE TEMPORARY TABLE labels_h (a ENUM(", ",", "))", |i| format!("'{i}'")),
        15 => format!("INSERT INTO h (k, v) VALUES ({}, {})", random.below(3), one_of(random, &VALUES)),
        16 => "SELECT k, MAX(v), MIN(v), ANY_VALUE(v) FROM h GROUP BY k".into(),
        17 => "SELECT LENGTH(GROUP_CONCAT(v ORDER BY id DESC)), JSON_LENGTH(JSON_ARRAYAGG(v)) FROM h".into(),
        18 => "DELETE FROM h ORDER BY id LIMIT 5".into(),
        19 => {
            let depth = random.below(90);
            let nest = (0..depth).fold("@list".to_owned(), |inner, _| format!("JSON_ARRAY({inner}, 1)"));
            format!("SELECT JSON_DEPTH({nest})")
        }
        20 => {
            let depth = random.below(150);
            let nest = (0..depth).fold("@a".to_owned(), |inner, _| format!("CONCAT(@a, MD5({inner}))"));
            format!("DO LENGTH({nest})")
        }
        21 => {
            let pattern = one_of(random, &CONDITIONS);
            format!("SELECT {}", filled(random, pattern))
        }
        _ => {
            let pattern = one_of(random, &CALLS);
            format!("SELECT LENGTH({})", filled(random, pattern))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_differ_and_are_of_bounded_length() {
        let mut random = Random::new(1);
        let all: std::collections::HashSet<String> =
            (0..1000).map(|_| statement(&mut random, 100_000)).collect();
        assert!(all.len() > 200 && all.iter().all(|text| text.len() < 200_000), "{}", all.len());
        assert!(all.iter().all(|text| !text.contains('?')));
    }
}
