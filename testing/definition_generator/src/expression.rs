//! Expressions for CHECKs, generated columns, keys and defaults: of every form that the grammar
//! has, and nested as deep as the parser goes.

use super::Session;
use super::table::Column;
use super::text::{between, pick};
use stdx::random::Random;

/// Forms of one operand, as `{}`, and of others.
const FORMS: &[&str] = &[
    "{} + {}",
    "{} - {}",
    "{} * {}",
    "{} / {}",
    "{} DIV {}",
    "{} % {}",
    "{} MOD {}",
    "-{}",
    "- -{}",
    "~{}",
    "{} | {}",
    "{} & {}",
    "{} << {}",
    "{} >> {}",
    "{} ^ {}",
    "{} = {}",
    "{} <=> {}",
    "{} <> {}",
    "{} != {}",
    "{} < {}",
    "{} AND {}",
    "{} OR {}",
    "{} XOR {}",
    "{} && {}",
    "{} || {}",
    "NOT {}",
    "! {}",
    "NOT {} BETWEEN {} AND {}",
    "{} BETWEEN {} AND {}",
    "{} NOT BETWEEN {} AND {}",
    "{} IN ({}, {})",
    "{} NOT IN ({})",
    "({}, {}) IN ((1, 2), ({}, {}))",
    "({}, {}) = ({}, {})",
    "ROW({}, {}) < ROW({}, {})",
    "{} IS NULL",
    "{} IS NOT NULL",
    "{} IS TRUE",
    "{} IS NOT FALSE",
    "{} IS UNKNOWN",
    "{} LIKE 'a\\\\%'",
    "{} NOT LIKE {} ESCAPE '|'",
    "{} LIKE 'a%' ESCAPE ''",
    "{} REGEXP '^[a-z]\\\\.'",
    "{} NOT RLIKE 'x'",
    "{} SOUNDS LIKE {}",
    "BINARY {}",
    "{} COLLATE utf8mb4_bin",
    "_utf8mb4'x' COLLATE utf8mb4_0900_as_cs = {}",
    "CASE {} WHEN {} THEN {} ELSE {} END",
    "CASE WHEN {} THEN {} END",
    "IF({}, {}, {})",
    "IFNULL({}, {})",
    "NULLIF({}, {})",
    "COALESCE({}, {}, {})",
    "GREATEST({}, {})",
    "LEAST({}, {})",
    "CAST({} AS SIGNED)",
    "CAST({} AS UNSIGNED INTEGER)",
    "CAST({} AS CHAR(10) CHARACTER SET latin1)",
    "CAST({} AS BINARY(3))",
    "CAST({} AS DECIMAL(65,30))",
    "CAST({} AS DATETIME(6))",
    "CAST({} AS JSON)",
    "CAST({} AS YEAR)",
    "CAST({} AS DOUBLE)",
    "CAST({} AS NCHAR(5))",
    "CONVERT({}, TIME(3))",
    "CONVERT({} USING utf8mb3)",
    "CONCAT({}, {})",
    "CONCAT_WS(',', {}, {})",
    "LENGTH({})",
    "CHAR_LENGTH({})",
    "UPPER({})",
    "TRIM({})",
    "TRIM(BOTH 'x' FROM {})",
    "TRIM(LEADING FROM {})",
    "TRIM(TRAILING '\\'' FROM {})",
    "SUBSTRING({} FROM 2 FOR 3)",
    "SUBSTR({}, 1)",
    "POSITION('a' IN {})",
    "LOCATE({}, {}, 1)",
    "LEFT({}, 2)",
    "REPLACE({}, 'a', '\\\\')",
    "INSERT({}, 1, 2, 'x')",
    "LPAD({}, 5, '\\n')",
    "CHAR({}, 92)",
    "CHAR(77 USING latin1)",
    "ORD({})",
    "ASCII({})",
    "HEX({})",
    "MD5({})",
    "ABS({})",
    "MOD({}, 3)",
    "ROUND({}, 2)",
    "FLOOR({})",
    "POW({}, 2)",
    "SIGN({})",
    "DATE({})",
    "YEAR({})",
    "EXTRACT(DAY_MICROSECOND FROM {})",
    "{} + INTERVAL 1 DAY",
    "{} - INTERVAL '1:2' HOUR_MINUTE",
    "INTERVAL {} MONTH + {}",
    "DATE_ADD({}, INTERVAL {} SECOND)",
    "DATE_SUB({}, INTERVAL 1 QUARTER)",
    "TIMESTAMPDIFF(MINUTE, {}, {})",
    "TIMESTAMPADD(WEEK, 1, {})",
    "DATE_FORMAT({}, '%Y-\\'%m')",
    "GET_FORMAT(DATE, 'USA')",
    "STR_TO_DATE({}, '%d')",
    "WEEK({}, 3)",
    "JSON_EXTRACT({}, '$.a')",
    "JSON_UNQUOTE({})",
    "JSON_OBJECT('k', {})",
    "JSON_ARRAY({}, {})",
    "JSON_VALID({})",
    "JSON_CONTAINS({}, '1')",
    "JSON_VALUE({}, '$.a' RETURNING CHAR(10))",
    "JSON_VALUE({}, '$.a' RETURNING DECIMAL(4,2) DEFAULT 1 ON EMPTY NULL ON ERROR)",
    "{} MEMBER OF ('[1, 2]')",
    "WEIGHT_STRING({} AS CHAR(3))",
    "FIELD({}, {}, {})",
    "ELT(1, {}, {})",
    "FIND_IN_SET({}, 'a,b')",
    "INET_ATON({})",
    "CRC32({})",
    "({})",
    "(({}))",
    "+{}",
    "{} /* c */ + 1",
    "INTERVAL({}, 1, 2)",
    "STRCMP({}, {})",
    "FORMAT({}, 2)",
    "QUOTE({})",
    "REGEXP_LIKE({}, 'a', 'c')",
    "CHARSET({}) = 'x'",
    "COLLATION({}) > ''",
    "COERCIBILITY({})",
    "EXPORT_SET({}, 'Y', 'N')",
    "MAKE_SET({}, 'a', 'b')",
    "BIT_COUNT({})",
    "SOUNDEX({})",
    "UNHEX({})",
    "TO_BASE64({})",
    "DATEDIFF({}, {})",
    "ADDTIME({}, '1:1:1')",
    "MAKEDATE({}, 3)",
    "LAST_DAY({})",
    "CONV({}, 10, 2)",
];

const CONSTANTS: &[&str] = &[
    "0",
    "1",
    "-1",
    "+1",
    "1.50",
    "1e-5",
    ".5",
    "1e308",
    "18446744073709551615",
    "99999999999999999999999999",
    "NULL",
    "TRUE",
    "'a'",
    "'\\\\'",
    "'it''s'",
    "'a\\nb'",
    "\"q\"",
    "N'n'",
    "_latin1'x'",
    "_latin1'\\\\'",
    "_utf8mb4 0xC3A9",
    "_binary'b'",
    "0x5C",
    "x'27'",
    "b'101'",
    "0b11",
    "DATE'2020-02-29'",
    "TIME'10:11:12.5'",
    "TIMESTAMP'2020-01-01 00:00:00.000001'",
    "{d '2020-01-01'}",
    "'é'",
    "'%'",
    "''",
    "9223372036854775808",
    "-9223372036854775808",
    "1.",
    "00012",
    "'a' 'b'",
    "'\\0'",
    "'\\Z\\%\\_'",
];

/// What is put around something again and again: to the left, to the right.
const LAYERS: &[(&str, &str)] = &[
    ("", "+1"),
    ("", " IS NOT NULL"),
    ("", " COLLATE utf8mb4_bin"),
    ("NOT ", ""),
    ("(", ")"),
    ("- ", ""),
    ("~", ""),
    ("! ", ""),
    ("ABS(", ")"),
    ("1+(", ")"),
    ("", " = 1"),
    ("", " AND 1"),
    ("", " OR 0"),
    ("1 - ", ""),
    ("", " IN (1)"),
    ("", " IS TRUE"),
    ("IF(1, ", ", 0)"),
    ("CASE 1 WHEN ", " THEN 1 END"),
    ("", " BETWEEN 0 AND 1"),
    ("", " LIKE 'x'"),
    ("BINARY ", ""),
    ("CONCAT(", ", 'a')"),
    ("", " ^ 1"),
    ("", " DIV 1"),
    ("CAST(", " AS SIGNED)"),
    ("+", ""),
    ("NOT (1 AND ", ")"),
    ("", " XOR 1"),
    ("", " <=> 1"),
    ("1 IN (", ")"),
    ("(1,", ") = (1,2)"),
    ("", " || 1"),
    ("", " IS UNKNOWN"),
    ("", " NOT IN (1, 2)"),
    ("INTERVAL 1 DAY + ", ""),
    ("", " - INTERVAL 1 DAY"),
    ("", " MEMBER OF ('[1]')"),
    ("", " REGEXP 'a'"),
    ("", " SOUNDS LIKE 'a'"),
];

/// Any expression over these columns.
pub(super) fn any(session: &Session, random: &mut Random, columns: &[Column], depth: u32) -> String {
    if depth == 0 || random.chance(1, 6) {
        return operand(session, random, columns);
    }
    let form = pick(random, FORMS);
    let mut out = String::new();
    for (at, piece) in session.escaped(form).split("{}").enumerate() {
        if at > 0 {
            let inner = any(session, random, columns, depth - 1);
            // Precedence decides what is not in parentheses.
            if random.chance(1, 2) { out += &format!("({inner})") } else { out += &inner }
        }
        out += piece;
    }
    out
}

/// A condition that rows mostly meet: NULL and the like pass.
pub(super) fn condition(session: &Session, random: &mut Random, columns: &[Column]) -> String {
    let inner = any(session, random, columns, 3);
    match random.below(4) {
        0 => inner,
        1 => format!("({inner}) IS NOT NULL OR 1"),
        2 => format!("COALESCE({inner}, 1) OR TRUE"),
        _ => format!("1 OR {inner}"),
    }
}

/// Nests one or two kinds of layers about as deep as the parser's limit allows, which is 200.
pub(super) fn deep(session: &Session, random: &mut Random, columns: &[Column]) -> String {
    let depth = match random.below(4) {
        0 => between(random, 1, 60),
        1 => between(random, 190, 202),
        _ => between(random, 60, 190),
    };
    let kinds = [
        LAYERS[random.below(LAYERS.len() as u64) as usize],
        LAYERS[random.below(LAYERS.len() as u64) as usize],
    ];
    let mixed = random.chance(1, 3);
    let mut left = String::new();
    let mut right = String::new();
    for at in 0..depth {
        let (before, after) = kinds[if mixed { at as usize % 2 } else { 0 }];
        left.insert_str(0, before);
        right += after;
    }
    left + &operand(session, random, columns) + &right
}

fn operand(session: &Session, random: &mut Random, columns: &[Column]) -> String {
    if !columns.is_empty() && random.chance(1, 2) {
        let column = &columns[random.below(columns.len() as u64) as usize];
        return session.quote(random, &column.name);
    }
    if random.chance(1, 4) {
        return session.any_literal(random, 6);
    }
    let constant = session.escaped(pick(random, CONSTANTS));
    // Between double quotes stands a name under ANSI_QUOTES.
    if session.ansi_quotes { constant.replace('"', "'") } else { constant }
}

impl Session {
    /// A text of ours as the mode reads it: `\'` would end a string where backslashes don't escape.
    fn escaped(&self, text: &str) -> String {
        if self.no_backslash { text.replace("\\'", "''") } else { text.to_owned() }
    }
}
