//! Steps that define: tables, columns, keys, databases, functions, accounts.

use super::Session;

/// Tables and databases that come and go; few, so that sessions get in each other's way.
const NAMES: u64 = 4;

impl Session {
    /// A definition and what it takes to have something to define.
    pub(super) fn definition(&mut self) -> Vec<String> {
        let n = self.random.below(NAMES);
        let m = self.random.below(NAMES);
        let k = self.random.below(1000);
        let suffix = self.suffix.0;
        let text = match self.random.below(20) {
            0 | 1 => format!(
                "CREATE TABLE IF NOT EXISTS d{n} (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, a INT, b VARCHAR(100) DEFAULT 'x', KEY by_a (a))"
            ),
            2..=5 => format!("INSERT INTO d{n} (a) VALUES ({k}), ({k} + 1), (NULL)"),
            6 => format!("ALTER TABLE d{n} ADD COLUMN c{m} BIGINT NOT NULL DEFAULT {k}"),
            7 => format!("ALTER TABLE d{n} DROP COLUMN c{m}"),
            8 => format!("ALTER TABLE d{n} ADD UNIQUE KEY u{m} (id, a)"),
            9 => format!("ALTER TABLE d{n} DROP KEY u{m}, ADD COLUMN first{m} INT FIRST"),
            10 => format!("ALTER TABLE d{n} MODIFY b VARCHAR({})", 100 + k),
            11 => format!("CREATE INDEX i{m} ON d{n} (b(10))"),
            12 => format!("TRUNCATE TABLE d{n}"),
            13 => format!("RENAME TABLE d{n} TO d{}", NAMES + m),
            14 => format!("DROP TABLE IF EXISTS d{n}, d{}", NAMES + m),
            15 => {
                return vec![
                    format!("CREATE DATABASE IF NOT EXISTS other{n}{suffix} CHARACTER SET latin1"),
                    format!(
                        "CREATE TABLE IF NOT EXISTS other{n}{suffix}.t (id INT PRIMARY KEY, v VARCHAR(20))"
                    ),
                    format!("REPLACE INTO other{n}{suffix}.t VALUES ({k}, 'é{k}')"),
                    if m == 0 { format!("DROP DATABASE other{n}{suffix}") } else { "DO 0".into() },
                ];
            }
            17 => format!(
                "CREATE TRIGGER IF NOT EXISTS g{n} BEFORE INSERT ON d{n} FOR EACH ROW SET NEW.b = CONCAT('g', IFNULL(NEW.a, {k}))"
            ),
            18 => format!("DROP TRIGGER IF EXISTS g{n}"),
            16 => format!(
                "CREATE TABLE IF NOT EXISTS d{n} AS SELECT a AS id, n AS a, b FROM pairs LIMIT {}",
                k % 50
            ),
            _ => {
                return vec![
                    format!("DROP FUNCTION IF EXISTS plus{n}"),
                    format!("CREATE FUNCTION plus{n}(x INT) RETURNS INT DETERMINISTIC RETURN x + {k}"),
                    format!("UPDATE computed SET a = plus{n}(a) % 1000 WHERE id = {}", k % 400),
                ];
            }
        };
        vec![text]
    }

    /// An account is made, changed and dropped.
    pub(super) fn account(&mut self) -> Vec<String> {
        let n = self.random.below(3);
        let suffix = self.suffix.0;
        vec![match self.random.below(5) {
            0 => {
                format!("CREATE USER IF NOT EXISTS 'guest{n}{suffix}'@'localhost' IDENTIFIED BY 'secret{n}'")
            }
            1 => format!("GRANT SELECT, INSERT ON mixed{suffix}.* TO 'guest{n}{suffix}'@'localhost'"),
            2 => format!("ALTER USER IF EXISTS 'guest{n}{suffix}'@'localhost' IDENTIFIED BY 'other{n}'"),
            3 => format!("REVOKE INSERT ON mixed{suffix}.* FROM 'guest{n}{suffix}'@'localhost'"),
            _ => format!("DROP USER IF EXISTS 'guest{n}{suffix}'@'localhost'"),
        }]
    }
}
