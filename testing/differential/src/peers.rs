//! The two servers, and a database that is made anew on both for each episode.

use crate::Result;
use crate::answer::Answer;
use mysql::prelude::Queryable;
use mysql::{Conn, Opts, OptsBuilder, Value};
use servers::{Kind, Launch, Running};
use std::path::Path;
use std::time::Duration;

/// How long a statement may take before it counts as hanging.
const PATIENCE: Duration = Duration::from_secs(20);

/// MySQL 8.4's default sql_mode, and what else has to be the same on both. MariaDB cuts fractions of seconds unless it is
/// told to round them, as MySQL does ("Fractional Seconds in Time Values").
const SESSION: &[&str] = &[
    "SET SESSION sql_mode = 'ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,\
     ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'",
    "SET SESSION time_zone = '+00:00' /*M!100400 , sql_mode = CONCAT(@@sql_mode, ',TIME_ROUND_FRACTIONAL') */",
    "SET NAMES utf8mb4 COLLATE utf8mb4_general_ci",
    "SET SESSION timestamp = 1700000000",
];

/// The database of the episodes.
const DATABASE: &str = "differential";

/// Duramen and MariaDB, with a connection to each, and perhaps a MySQL to be asked who is right.
#[derive(Debug)]
pub struct Peers {
    duramen: Peer,
    mariadb: Peer,
    judge: Option<Peer>,
}

#[derive(Debug)]
struct Peer {
    opts: Opts,
    conn: Option<Conn>,
    /// If it was started here.
    server: Option<Running>,
}

impl Peers {
    /// Starts both in `folder`, without flushing: nothing here has to survive.
    pub fn start(folder: &Path) -> Result<Self> {
        let start = |kind| -> Result<Peer> {
            let launch = Launch::new(kind, folder)?;
            let launch = launch.arg("--sync-binlog=0").arg("--innodb-flush-log-at-trx-commit=0");
            let server = launch.start()?;
            let socket = server.socket().to_string_lossy().into_owned();
            let opts = options().user(Some("root")).socket(Some(socket)).prefer_socket(false);
            Ok(Peer { opts: opts.into(), conn: None, server: Some(server) })
        };
        Ok(Self { duramen: start(Kind::Duramen)?, mariadb: start(Kind::MariaDb)?, judge: None })
    }

    /// Asks this MySQL about findings too: `USER:PASSWORD@HOST:PORT`.
    pub fn with_judge(mut self, address: &str) -> Result<Self> {
        let url = Opts::from_url(&format!("mysql://{address}"))?;
        let opts = OptsBuilder::from_opts(url).read_timeout(Some(PATIENCE)).prefer_socket(false);
        self.judge = Some(Peer { opts: opts.into(), conn: None, server: None });
        Ok(self)
    }

    /// Makes the episode's database anew on both.
    pub fn begin(&mut self) -> Result<()> {
        self.duramen.begin()?;
        self.mariadb.begin()
    }

    /// Duramen's answer.
    pub fn duramen(&mut self, sql: &str) -> Answer {
        self.duramen.answer(sql)
    }

    /// MariaDB's answer.
    pub fn mariadb(&mut self, sql: &str) -> Answer {
        self.mariadb.answer(sql)
    }

    /// What MySQL, if there is one, answers to the last statement of a script.
    pub fn judgement(&mut self, script: &[String]) -> Option<Answer> {
        let judge = self.judge.as_mut()?;
        judge.begin().ok()?;
        script.iter().map(|sql| judge.answer(sql)).last()
    }

    /// What Duramen's error log says of panics.
    pub fn panics(&self) -> Result<Vec<String>> {
        let log = self.duramen.server.as_ref().map_or(Ok(String::new()), Running::messages)?;
        Ok(log.lines().filter(|l| l.contains("panick")).map(str::to_owned).collect())
    }
}

fn options() -> OptsBuilder {
    OptsBuilder::default().read_timeout(Some(PATIENCE))
}

impl Peer {
    fn begin(&mut self) -> Result<()> {
        // A new connection: no transaction, variable or temporary table is left over.
        self.conn = None;
        let mut conn = Conn::new(self.opts.clone())?;
        for sql in SESSION {
            conn.query_drop(sql)?;
        }
        conn.query_drop(format!("DROP DATABASE IF EXISTS {DATABASE}"))?;
        conn.query_drop(format!(
            "CREATE DATABASE {DATABASE} CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci"
        ))?;
        conn.query_drop(format!("USE {DATABASE}"))?;
        self.conn = Some(conn);
        Ok(())
    }

    fn answer(&mut self, sql: &str) -> Answer {
        let Some(conn) = self.conn.as_mut() else { return Answer::Lost("not connected".into()) };
        match answer(conn, sql) {
            Ok(answer) => answer,
            Err(mysql::Error::MySqlError(e)) => Answer::Error { number: e.code, message: e.message },
            Err(e) => {
                self.conn = None;
                Answer::Lost(e.to_string())
            }
        }
    }
}

fn answer(conn: &mut Conn, sql: &str) -> mysql::Result<Answer> {
    let mut result = conn.query_iter(sql)?;
    if result.columns().as_ref().is_empty() {
        return Ok(Answer::Done(result.affected_rows()));
    }
    let mut rows = Vec::new();
    for row in result.by_ref() {
        rows.push(row?.unwrap().into_iter().map(as_text).collect());
    }
    Ok(Answer::Rows(rows))
}

/// The text protocol has bytes and NULL only.
fn as_text(value: Value) -> Option<Vec<u8>> {
    match value {
        Value::NULL => None,
        Value::Bytes(bytes) => Some(bytes),
        other => Some(other.as_sql(true).into_bytes()),
    }
}
