//! The two servers, and a database that is made anew on both for each episode. Duramen is compared
//! with a MariaDB that is started next to it, or with a MySQL that is there already.

use crate::Result;
use crate::answer::{Answer, without_definer};
use crate::definition::Metadata;
use crate::generator::Statement;
use crate::parameters;
use crate::tree::{Sql, text};
use mysql::consts::ColumnFlags;
use mysql::prelude::Queryable;
use mysql::{Column, Conn, Opts, OptsBuilder, QueryResult, Text, Value};
use servers::{Launch, Running, ServerKind};
use std::path::Path;
use std::time::Duration;

/// How long a statement may take before it counts as hanging.
const PATIENCE: Duration = Duration::from_secs(20);

/// MySQL 8.4's default sql_mode, and what else has to be the same on both. MariaDB cuts fractions
/// of seconds unless it is set to round them, as MySQL does ("Fractional Seconds in Time Values").
const SESSION: &[&str] = &[
    "SET SESSION sql_mode = 'ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,\
     ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'",
    "SET SESSION time_zone = '+00:00' /*M!100400 , sql_mode = CONCAT(@@sql_mode, ',TIME_ROUND_FRACTIONAL') */",
    // MariaDB's cache takes texts for the same that are so by one collation and not by another.
    "SET SESSION lock_wait_timeout = 50 /*M!100400 , optimizer_switch = 'subquery_cache=off' */",
    "SET SESSION group_concat_max_len = 1048576",
    "SET NAMES utf8mb4 COLLATE utf8mb4_general_ci",
    "SET SESSION timestamp = 1700000000",
];

/// The database of the episodes: of this process, for other runs may use the same server.
fn database() -> String {
    format!("differential_{}", std::process::id())
}

/// Duramen and what it is compared with, with a connection to each, and perhaps a MySQL to be asked
/// who is right.
#[derive(Debug)]
pub struct Peers {
    duramen: Peer,
    reference: Peer,
    judge: Option<Peer>,
    is_mysql: bool,
    /// The episode's definitions of tables and stored programs so far, a line each.
    made: String,
    /// How statements are sent.
    pub how: How,
}

/// How statements are sent.
#[derive(Debug, Clone, Copy, Default)]
pub struct How {
    /// Duramen gets changes prepared, their literals as parameters, and queries as text and
    /// prepared and executed twice: all three have to give the same.
    pub is_prepared: bool,
    /// Types of columns are compared too.
    pub with_types: bool,
    /// Definitions of columns and warnings are noted, and their differences listed.
    pub with_definitions: bool,
}

#[derive(Debug)]
struct Peer {
    opts: Opts,
    conn: Option<Conn>,
    /// What it said of its last answer.
    metadata: Metadata,
    /// If it was started here.
    server: Option<Running>,
}

impl Peers {
    /// Starts Duramen in `folder`, and a MariaDB unless there is a MySQL at `against`, without
    /// flushing: nothing here has to survive.
    pub fn start(folder: &Path, against: Option<&str>) -> Result<Self> {
        let start = |kind| -> Result<Peer> {
            let launch = Launch::new(kind, folder)?;
            let launch = launch.arg("--sync-binlog=0").arg("--innodb-flush-log-at-trx-commit=0");
            // As a MySQL has to have it, if it has a binary log.
            let launch = launch.arg("--log-bin-trust-function-creators=1");
            let server = launch.start()?;
            let socket = server.socket().to_string_lossy().into_owned();
            let opts = options().user(Some("root")).socket(Some(socket)).prefer_socket(false);
            Ok(Peer { opts: opts.into(), conn: None, metadata: Metadata::default(), server: Some(server) })
        };
        let reference = against.map_or_else(|| start(ServerKind::MariaDb), at)?;
        let is_mysql = against.is_some();
        Ok(Self {
            duramen: start(ServerKind::Duramen)?,
            reference,
            judge: None,
            is_mysql,
            made: String::new(),
            how: How::default(),
        })
    }

    /// Asks this MySQL about findings too: `USER:PASSWORD@HOST:PORT`.
    pub fn with_judge(mut self, address: &str) -> Result<Self> {
        self.judge = Some(at(address)?);
        Ok(self)
    }

    /// Makes the episode's database anew on both.
    pub fn begin(&mut self) -> Result<()> {
        self.made.clear();
        self.duramen.begin()?;
        self.reference.begin()
    }

    /// True if Duramen is compared with a MySQL.
    pub fn is_mysql(&self) -> bool {
        self.is_mysql
    }

    /// Notes a statement if it defines a table or stored program.
    pub fn note(&mut self, sql: &str) {
        if ["CREATE ", "ALTER TABLE "].iter().any(|start| sql.starts_with(start)) {
            self.made.push_str(sql);
            self.made.push('\n');
        }
    }

    /// What was noted since the episode's database was made.
    pub fn made(&self) -> &str {
        &self.made
    }

    /// The name of what Duramen is compared with.
    pub fn name(&self) -> &'static str {
        if self.is_mysql { "MySQL" } else { "MariaDB" }
    }

    /// Duramen's answer.
    pub fn duramen(&mut self, sql: &Sql) -> Answer {
        self.duramen.answer(sql, self.how)
    }

    /// Duramen's answer to plain text.
    pub fn duramen_text(&mut self, sql: &str) -> Answer {
        self.duramen.answer(&text(sql.to_owned()), How::default())
    }

    /// The other server's answer.
    pub fn reference(&mut self, sql: &Sql) -> Answer {
        self.reference.answer(sql, How { is_prepared: false, ..self.how })
    }

    /// How what both said of their last answers differs.
    pub fn differences_of_definitions(&self, sql: &str) -> Vec<String> {
        self.duramen.metadata.differences(&self.reference.metadata, sql)
    }

    /// What MySQL, if there is one, answers to the last statement of a script.
    pub fn judgement(&mut self, script: &[Statement]) -> Option<Answer> {
        let judge = self.judge.as_mut()?;
        judge.begin().ok()?;
        let how = How { is_prepared: false, ..self.how };
        script.iter().map(|s| judge.answer(&s.sql, how)).last()
    }

    /// What Duramen's error log says of panics.
    pub fn panics(&self) -> Result<Vec<String>> {
        let log = self.duramen.server.as_ref().map_or(Ok(String::new()), Running::messages)?;
        Ok(log.lines().filter(|l| l.contains("panick")).map(str::to_owned).collect())
    }
}

/// A server that is there already: `USER:PASSWORD@HOST:PORT`.
fn at(address: &str) -> Result<Peer> {
    let url = Opts::from_url(&format!("mysql://{address}"))?;
    let opts = OptsBuilder::from_opts(url).read_timeout(Some(PATIENCE)).prefer_socket(false);
    Ok(Peer { opts: opts.into(), conn: None, metadata: Metadata::default(), server: None })
}

impl Drop for Peers {
    /// Leaves nothing behind on a server that goes on running.
    fn drop(&mut self) {
        for peer in [Some(&mut self.reference), self.judge.as_mut()].into_iter().flatten() {
            if let (None, Some(conn)) = (&peer.server, &mut peer.conn) {
                // Nothing can be done about a failure here, and the next run does not mind what is
                // left.
                let _ = conn.query_drop(format!("DROP DATABASE IF EXISTS {}", database()));
            }
        }
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
        let name = database();
        conn.query_drop(format!("DROP DATABASE IF EXISTS {name}"))?;
        conn.query_drop(format!("CREATE DATABASE {name} CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci"))?;
        conn.query_drop(format!("USE {name}"))?;
        self.conn = Some(conn);
        Ok(())
    }

    fn answer(&mut self, sql: &Sql, how: How) -> Answer {
        let Some(conn) = self.conn.as_mut() else { return Answer::Lost("not connected".into()) };
        self.metadata = Metadata::default();
        let answered = match how.with_definitions && !how.is_prepared {
            true => answer_and_metadata(conn, sql, how).map(|(answer, metadata)| {
                self.metadata = metadata;
                answer
            }),
            false => answer(conn, sql, how),
        };
        match answered {
            Ok(answer) => answer,
            Err(mysql::Error::MySqlError(e)) => Answer::Error { number: e.code, message: e.message },
            Err(e) => {
                self.conn = None;
                Answer::Lost(e.to_string())
            }
        }
    }
}

/// The answer, and what is said of it besides.
fn answer_and_metadata(conn: &mut Conn, sql: &Sql, how: How) -> mysql::Result<(Answer, Metadata)> {
    let result = conn.query_iter(sql.to_string())?;
    let columns = result.columns().as_ref().to_vec();
    let answer = comparable(&sql.to_string(), read(result, how)?);
    let metadata = Metadata::read(&columns, conn.warnings(), conn)?;
    Ok((answer, metadata))
}

fn answer(conn: &mut Conn, sql: &Sql, how: How) -> mysql::Result<Answer> {
    let text = sql.to_string();
    if how.is_prepared {
        match text.split(' ').next() {
            Some("SELECT") => return parameters::compare(conn, sql, how),
            Some("INSERT" | "REPLACE" | "UPDATE" | "DELETE") => return parameters::change(conn, sql),
            _ => {}
        }
    }
    let answer = read(conn.query_iter(&text)?, how)?;
    Ok(comparable(&text, answer))
}

/// The answer without what no two servers have in common.
fn comparable(sql: &str, answer: Answer) -> Answer {
    let is_definition = ["SHOW CREATE PROCEDURE", "SHOW CREATE FUNCTION"].iter().any(|s| sql.starts_with(s));
    if is_definition { without_definer(answer) } else { answer }
}

/// Reads an answer of the text protocol, all result sets of it.
pub fn read(mut result: QueryResult<'_, '_, '_, Text>, how: How) -> mysql::Result<Answer> {
    let (mut sets, mut end) = (Vec::new(), None);
    while let Some(mut set) = result.iter() {
        let types: Vec<_> = set.columns().as_ref().iter().map(|c| Some(type_of(c).into_bytes())).collect();
        let is_set = !types.is_empty();
        let done = Answer::Done(set.affected_rows());
        let mut rows = Vec::new();
        if how.with_types && is_set {
            rows.push(types);
        }
        let mut failed = None;
        for row in set.by_ref() {
            match row {
                Ok(row) => rows.push(row.unwrap().into_iter().map(as_text).collect()),
                Err(mysql::Error::MySqlError(e)) if !sets.is_empty() => failed = Some(e),
                Err(e) => return Err(e),
            }
        }
        match failed {
            Some(e) => end = Some(Answer::Error { number: e.code, message: e.message }),
            None if is_set => sets.push(rows),
            None => end = Some(done),
        }
    }
    Ok(match (sets.len(), end) {
        (0, end) => end.unwrap_or(Answer::Done(0)),
        (1, None) => Answer::Rows(sets.remove(0)),
        (_, end) => Answer::Several { sets, end: Box::new(end.unwrap_or(Answer::Done(0))) },
    })
}

/// A column's type as the server reports it.
fn type_of(column: &Column) -> String {
    let sign = if column.flags().contains(ColumnFlags::UNSIGNED_FLAG) { " unsigned" } else { "" };
    let ty = format!("{:?}", column.column_type());
    format!("{}{sign}", ty.trim_start_matches("MYSQL_TYPE_"))
}

/// The text protocol has bytes and NULL only.
fn as_text(value: Value) -> Option<Vec<u8>> {
    match value {
        Value::NULL => None,
        Value::Bytes(bytes) => Some(bytes),
        other => Some(other.as_sql(true).into_bytes()),
    }
}
