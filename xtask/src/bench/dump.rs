//! Loading a dump: tables that MariaDB makes, written by `mariadb-dump`, read by `mariadb` into
//! both servers.

use super::SERVERS;
use super::contender::Contender;
use super::options::Options;
use super::workload::{Column, Durability, Outcome, Part, Row, Who, Workload};
use crate::Result;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Instant;

/// What a row of both tables takes in the dump, about.
const BYTES_PER_PAIR: u64 = 560;
/// Rows that are made by one statement.
const ROWS_PER_INSERT: u64 = 50_000;

/// A dump of `size` bytes, about.
pub struct DumpLoad {
    size: u64,
    dump: PathBuf,
}

impl DumpLoad {
    /// With the options' size.
    pub fn new(options: &Options) -> Self {
        Self { size: options.size, dump: Path::new(SERVERS).join("dump-load.sql") }
    }
}

const SCHEMA: &str = "\
DROP DATABASE IF EXISTS made;
CREATE DATABASE made;
USE made;
CREATE TABLE orders (
  id BIGINT NOT NULL AUTO_INCREMENT, customer INT NOT NULL, placed DATETIME NOT NULL, total DECIMAL(12,2) NOT NULL,
  state ENUM('open','paid','sent','returned') NOT NULL, note VARCHAR(200),
  PRIMARY KEY (id), KEY by_customer (customer, placed)) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
CREATE TABLE documents (
  id INT UNSIGNED NOT NULL, name CHAR(40) NOT NULL, weight DOUBLE, thumb VARBINARY(64), body TEXT NOT NULL,
  PRIMARY KEY (id), UNIQUE KEY by_name (name)) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
";

/// What distinguishes two copies of the tables apart.
const DIGEST: &str = "\
SELECT COUNT(*), SUM(id), SUM(customer), SUM(total), SUM(CRC32(CONCAT_WS('|', placed, state, note))) FROM orders;
SELECT COUNT(*), SUM(id), SUM(CRC32(CONCAT_WS('|', name, weight, HEX(thumb), body))) FROM documents;
";

impl Workload for DumpLoad {
    fn name(&self) -> String {
        "dump-load".into()
    }

    fn title(&self) -> String {
        format!("Loading a dump of {} MiB", self.size >> 20)
    }

    fn unit(&self) -> &'static str {
        "MiB per second"
    }

    fn about(&self) -> String {
        "Tables that MariaDB makes, written by mariadb-dump, read by mariadb; the copies are compared with what was dumped.".into()
    }

    fn parts(&self) -> Vec<Part> {
        let columns = [Who::Duramen, Who::MariaDb].map(|who| Column::new(who, Durability::FULL));
        vec![Part::new("", columns.into(), vec![Row::named("mariadb < dump")])]
    }

    fn prepare(&self, server: &Contender) -> Result<()> {
        if server.who != Who::MariaDb {
            return Ok(());
        }
        server.sql(SCHEMA)?;
        let rows = self.size / BYTES_PER_PAIR;
        for from in (0..rows).step_by(ROWS_PER_INSERT as usize) {
            server.sql(&fill(from + 1, (from + ROWS_PER_INSERT).min(rows)))?;
        }
        let mut dump = server.address().client("mariadb-dump");
        let done = dump.arg("made").stdout(File::create(&self.dump)?).stderr(Stdio::piped()).output()?;
        if !done.status.success() {
            return Err(format!("mariadb-dump: {}", String::from_utf8_lossy(&done.stderr)).into());
        }
        let written = fs::metadata(&self.dump)?.len();
        fs::write(self.digest_file(), server.sql(&format!("USE made; {DIGEST}"))?)?;
        println!("  the dump has {:.1} MiB in 2 times {rows} rows", mebibytes(written));
        server.sql("DROP DATABASE made").map(drop)
    }

    fn run(&self, server: &Contender, _part: usize, _row: usize) -> Result<Vec<Outcome>> {
        server.sql("DROP DATABASE IF EXISTS loaded; CREATE DATABASE loaded")?;
        let started = Instant::now();
        let mut client = server.address().client("mariadb");
        let done = client.arg("loaded").stdin(File::open(&self.dump)?).output()?;
        let seconds = started.elapsed().as_secs_f64();
        if !done.status.success() {
            let errors = String::from_utf8_lossy(&done.stderr);
            return Err(format!("mariadb on {}: {errors}", server.name).into());
        }
        let found = server.sql(&format!("USE loaded; {DIGEST}"))?;
        let made = fs::read_to_string(self.digest_file())?;
        if found != made {
            return Err(format!("{} holds\n{found}\nand not\n{made}", server.name).into());
        }
        server.sql("DROP DATABASE loaded")?;
        let rate = mebibytes(fs::metadata(&self.dump)?.len()) / seconds;
        Ok(vec![Outcome { per_second: rate, ..Outcome::default() }])
    }

    fn clean_up(&self, server: &Contender) -> Result<()> {
        if server.who == Who::MariaDb {
            fs::remove_file(&self.dump)?;
            fs::remove_file(self.digest_file())?;
        }
        Ok(())
    }
}

impl DumpLoad {
    fn digest_file(&self) -> PathBuf {
        self.dump.with_extension("digest")
    }
}

/// Rows of the two tables with numbers `from` to `to`, by MariaDB's sequence engine; they depend on
/// their number alone.
fn fill(from: u64, to: u64) -> String {
    let sequence = format!("seq_{from}_to_{to}");
    format!(
        "USE made;
        INSERT INTO orders SELECT seq, seq * 7919 % 100003, '2026-01-01' + INTERVAL seq SECOND, seq % 99991 / 100,
          seq % 4 + 1, REPEAT(MD5(seq), 1 + seq % 4) FROM {sequence};
        INSERT INTO documents SELECT seq, SHA1(seq), seq / 7e3, UNHEX(SHA2(seq, 256)),
          CONCAT(REPEAT(SHA1(seq), 1 + seq % 6), ' it''s \\\\ \"', seq, '\"\\n') FROM {sequence};"
    )
}

fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
