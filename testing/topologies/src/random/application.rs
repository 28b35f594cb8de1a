//! What applications say all day: rows with literals of all types, changes by key, counters,
//! inserts that update, under various settings. Where the source logs them as text, a replica runs
//! most of them.

use stdx::random::Random;

const ROWS: u64 = 12;

/// The tables, and the statements that change them.
pub(super) fn statements(random: &mut Random) -> Vec<String> {
    let charset =
        ["utf8mb4 COLLATE utf8mb4_general_ci", "latin1", "utf8mb4 COLLATE utf8mb4_unicode_ci", "utf8mb3"];
    let charset = one(random, &charset);
    let mut out = vec![
        format!(
            "CREATE TABLE posts (id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, author INT NOT NULL DEFAULT 0,
             title VARCHAR(40) NOT NULL DEFAULT '', content LONGTEXT, status ENUM('draft','open','gone') DEFAULT 'draft',
             flags SET('a','b','c') NOT NULL DEFAULT '', price DECIMAL(12,3), score DOUBLE, weight FLOAT,
             day DATE, begin TIME(2), made DATETIME(3), changed TIMESTAMP NULL DEFAULT NULL ON UPDATE CURRENT_TIMESTAMP,
             year YEAR, active BIT(1) NOT NULL DEFAULT b'0', raw VARBINARY(20), code CHAR(8), small TINYINT UNSIGNED,
             KEY (title), KEY (author, status)) DEFAULT CHARSET {charset}"
        ),
        format!("CREATE TABLE options (name VARCHAR(30) NOT NULL, value LONGTEXT, hits INT NOT NULL DEFAULT 0,
             seen DATETIME DEFAULT CURRENT_TIMESTAMP, PRIMARY KEY (name)) DEFAULT CHARSET {charset}"),
        "CREATE TABLE archive LIKE posts".to_owned(),
        "ALTER TABLE archive MODIFY id BIGINT UNSIGNED NOT NULL, DROP PRIMARY KEY".to_owned(),
    ];
    for _ in 0..40 + random.below(80) {
        let statement = statement(random);
        out.push(statement);
        if random.chance(1, 10) {
            out.push(one(random, &["BEGIN", "COMMIT", "ROLLBACK", "SET @n = 5, @t = 'text', @d = 1.25"]));
        }
    }
    out
}

fn one(random: &mut Random, of: &[&str]) -> String {
    of[random.below(of.len() as u64) as usize].to_owned()
}

fn statement(random: &mut Random) -> String {
    let filter = filter(random);
    match random.below(10) {
        0..=2 => {
            let rows: Vec<String> = (0..=random.below(3)).map(|_| format!("({})", row(random))).collect();
            let (verb, rows) = (one(random, &["INSERT", "INSERT IGNORE", "REPLACE"]), rows.join(", "));
            format!("{verb} INTO posts ({COLUMNS}) VALUES {rows}")
        }
        3 | 4 => {
            let (name, value) = (random.below(6), text(random));
            let update = one(
                random,
                &[
                    "value = VALUES(value), hits = hits + 1",
                    "hits = hits + 1, seen = NOW()",
                    "value = IF(hits > 2, VALUES(value), value)",
                    "value = CONCAT(value, VALUES(value)), hits = VALUES(hits) + hits",
                ],
            );
            format!(
                "INSERT INTO options (name, value) VALUES ('option {name}', {value}) ON DUPLICATE KEY UPDATE {update}"
            )
        }
        5..=7 => {
            let column = random.below(COLUMN_COUNT);
            let (name, value) = (column_name(column), value(random, column));
            let value = match name {
                "author" | "small" if random.chance(1, 2) => format!("{name} + {}", random.below(9)),
                "price" | "score" if random.chance(1, 2) => format!("{name} * 2 - 1"),
                "title" if random.chance(1, 3) => format!("CONCAT(title, {value})"),
                "made" if random.chance(1, 3) => "made + INTERVAL 3 DAY".to_owned(),
                _ => value,
            };
            format!("UPDATE posts SET {name} = {value} WHERE {filter}")
        }
        8 => format!("DELETE FROM posts WHERE {filter}"),
        _ => format!("INSERT INTO archive SELECT * FROM posts WHERE {filter}"),
    }
}

const COLUMN_COUNT: u64 = 16;
const COLUMNS: &str = "author, title, content, status, flags, price, score, weight, day, begin, made, changed, \
                       year, active, raw, small";

fn column_name(number: u64) -> &'static str {
    COLUMNS.split(", ").nth(number as usize).unwrap_or("author")
}

fn row(random: &mut Random) -> String {
    (0..COLUMN_COUNT).map(|column| value(random, column)).collect::<Vec<_>>().join(", ")
}

/// A value as a client writes it, which may be out of its column's range.
fn value(random: &mut Random, column: u64) -> String {
    if random.chance(1, 12) {
        return one(random, &["NULL", "DEFAULT"]);
    }
    let number = random.below(400) as i64 - 100;
    match column_name(column) {
        "author" => {
            one(random, &[&number.to_string(), &format!("'{number}'"), "@n", "LAST_INSERT_ID()", "TRUE"])
        }
        "title" | "content" => text(random),
        "status" => one(random, &["'draft'", "'open'", "'gone'", "''", "'Open'"]),
        "flags" => one(random, &["'a'", "'a,c'", "'b,a'", "''", "'x'"]),
        "price" => one(random, &[&format!("{number}.0055"), &format!("'{number}.5'"), "@d", "1234567890.1"]),
        "score" | "weight" => one(random, &[&format!("{number}.1"), "1e10", "0.1", "-2.5e-3", "'3.3'"]),
        "day" => one(random, &["'2024-02-29'", "'0000-00-00'", "CURDATE()", "'2023-02-29'", "NOW()"]),
        "begin" => one(random, &["'10:11:12.346'", "'-100:00:00'", "CURTIME(2)", "'900:00:00'"]),
        "made" => {
            one(random, &["NOW(3)", "NOW()", "'2024-06-01 10:00:00.1239'", "'2024-06-01'", "UTC_TIMESTAMP()"])
        }
        "changed" => {
            one(random, &["NOW()", "'2024-03-31 02:30:00'", "'2037-12-31 23:59:59'", "'1970-01-01 00:00:00'"])
        }
        "year" => one(random, &["2024", "'1999'", "1900"]),
        "active" => one(random, &["b'1'", "0", "1", "TRUE"]),
        "raw" => one(random, &["x'00ff'", "'raw'", "0x41", "x''"]),
        _ => one(random, &[&number.to_string(), "255", "'12'", "1.5"]),
    }
}

fn text(random: &mut Random) -> String {
    one(
        random,
        &[
            "'plain'",
            "'Größe'",
            "''",
            "'a''b\\\\n'",
            "'spaces  '",
            "'\u{1f600}'",
            "@t",
            "'Plain'",
            "7",
            "_utf8mb4'x'",
        ],
    )
}

fn filter(random: &mut Random) -> String {
    let id = random.below(ROWS) + 1;
    let text = text(random);
    one(
        random,
        &[
            &format!("id = {id}"),
            &format!("id = '{id}'"),
            &format!("id IN ({id}, {}, 3)", id + 2),
            &format!("id BETWEEN {id} AND {} AND active = 1", id + 3),
            &format!("title = {text}"),
            &format!("title LIKE 'p%' OR id > {id} AND content IS NULL"),
            "status = 'open' AND flags <> 'a'",
            "price >= 1.5 AND NOT author < 3",
            "day < '2024-03-01' OR made >= NOW() - INTERVAL 30 DAY",
            "changed IS NOT NULL AND year = 2024",
            "score < 2 AND begin > '09:00:00'",
            "raw = 'raw' OR small <=> NULL",
            "title = code",
        ],
    )
}
