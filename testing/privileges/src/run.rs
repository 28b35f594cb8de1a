//! Tries the cases on a server: every cell's outcome.

use crate::Result;
use crate::cases::{Case, File};
use crate::sets::{self, Set};
use mysql::prelude::Queryable;
use mysql::{Conn, Opts, OptsBuilder, Value};
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::time::Duration;

/// What came of a cell.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// It was done; with the rows, where they count.
    Done(Option<String>),
    /// Refused with this number.
    Error(u16),
    /// The connection ended.
    Lost,
}

/// The outcomes of a file's cases, by case and set.
pub type Cells = BTreeMap<(usize, usize), Outcome>;

/// The matrix of a server.
#[derive(Debug)]
pub struct Matrix {
    /// The sets, by number.
    pub sets: Vec<Set>,
    /// For each file its cells: the case's index and the set's number.
    pub files: Vec<Cells>,
}

const ACCOUNT: &str = "'pm_user'@'%'";

/// What the cases find. Every account has EVENT on `pd`, so that it can be the default database.
const FIXTURE: &[&str] = &[
    "DROP DATABASE IF EXISTS pa",
    "DROP DATABASE IF EXISTS pb",
    "DROP DATABASE IF EXISTS pd",
    "DROP USER IF EXISTS pm_plain, pm_system, pm_other, pm_spare, pm_new, pm_definer",
    "CREATE DATABASE pa",
    "CREATE DATABASE pb",
    "CREATE DATABASE pd",
    "CREATE TABLE pa.t (id INT PRIMARY KEY, v INT DEFAULT 5, w INT, s VARCHAR(20), KEY kv (v))",
    "CREATE TABLE pb.t (id INT PRIMARY KEY, v INT DEFAULT 5, w INT, s VARCHAR(20), KEY kv (v))",
    "CREATE TABLE pd.t (id INT PRIMARY KEY, v INT DEFAULT 5, w INT, s VARCHAR(20), KEY kv (v))",
    "INSERT INTO pa.t VALUES (1, 1, 1, 'a'), (2, 2, 2, 'b')",
    "INSERT INTO pb.t VALUES (1, 1, 1, 'a'), (2, 2, 2, 'b')",
    "INSERT INTO pd.t VALUES (1, 1, 1, 'a'), (2, 2, 2, 'b')",
    "CREATE TABLE pa.x (id INT PRIMARY KEY, v INT)",
    "CREATE TABLE pb.x (id INT PRIMARY KEY, v INT)",
    "CREATE TABLE pd.x (id INT PRIMARY KEY, v INT)",
    "CREATE VIEW pa.v AS SELECT id, v FROM pd.x",
    "CREATE SQL SECURITY INVOKER VIEW pa.vi AS SELECT id, v FROM pd.x",
    "CREATE VIEW pa.vj AS SELECT t.id, t.v, x.id AS xid, x.v AS xv FROM pd.t JOIN pd.x ON x.id = t.id",
    "CREATE FUNCTION pa.one() RETURNS INT DETERMINISTIC RETURN 1",
    "CREATE FUNCTION pa.reads() RETURNS INT READS SQL DATA RETURN (SELECT MAX(v) FROM pb.t)",
    "CREATE FUNCTION pa.asks() RETURNS INT READS SQL DATA SQL SECURITY INVOKER RETURN (SELECT MAX(v) FROM pb.t)",
    "CREATE FUNCTION pa.writes() RETURNS INT MODIFIES SQL DATA BEGIN INSERT INTO pb.x VALUES (7, 7); RETURN 1; END",
    "CREATE FUNCTION pa.sees() RETURNS INT READS SQL DATA RETURN (SELECT COUNT(*) FROM information_schema.TABLES \
     WHERE TABLE_SCHEMA = 'pb')",
    "CREATE FUNCTION pa.sees_invoker() RETURNS INT READS SQL DATA SQL SECURITY INVOKER RETURN (SELECT COUNT(*) \
     FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'pb')",
    "CREATE USER pm_plain",
    "CREATE USER pm_system",
    "CREATE USER pm_other",
    "CREATE USER pm_spare",
    "CREATE USER pm_definer",
    "GRANT EXECUTE ON pa.* TO pm_definer",
    "GRANT SYSTEM_USER ON *.* TO pm_system",
    "GRANT SELECT ON pb.* TO pm_other",
    "CREATE FUNCTION pa.weak() RETURNS INT READS SQL DATA RETURN (SELECT MAX(v) FROM pa.t)",
    "CREATE DEFINER = pm_plain FUNCTION pa.of_plain() RETURNS INT READS SQL DATA RETURN (SELECT MAX(v) FROM pa.t)",
    "CREATE DEFINER = pm_definer FUNCTION pa.of_definer() RETURNS INT READS SQL DATA RETURN (SELECT MAX(v) FROM pa.t)",
    "CREATE DEFINER = pm_definer FUNCTION pa.sets() RETURNS INT BEGIN SET GLOBAL net_retry_count = 10; RETURN 1; END",
    "CREATE DEFINER = pm_definer FUNCTION pa.definer_sees() RETURNS INT READS SQL DATA RETURN (SELECT COUNT(*) FROM \
     information_schema.TABLES WHERE TABLE_SCHEMA = 'pb')",
    "CREATE FUNCTION pa.root_sets() RETURNS INT BEGIN SET GLOBAL net_retry_count = 10; RETURN 1; END",
];

/// Logs in as others.
#[derive(Debug, Clone)]
pub struct Server {
    opts: OptsBuilder,
}

impl Server {
    /// The server of these options, which are an administrator's.
    pub fn new(opts: OptsBuilder) -> Self {
        Self { opts: opts.read_timeout(Some(Duration::from_secs(20))).prefer_socket(false) }
    }

    /// `user:password@host:port`
    pub fn at(address: &str) -> Result<Self> {
        Ok(Self::new(OptsBuilder::from_opts(Opts::from_url(&format!("mysql://{address}"))?)))
    }

    fn administrator(&self) -> Result<Conn> {
        Ok(Conn::new(self.opts.clone())?)
    }

    fn account(&self, name: &str) -> Result<Conn> {
        Ok(Conn::new(self.opts.clone().user(Some(name)).pass(None::<String>))?)
    }
}

/// Tries every case with every set that it is tried with. `progress` is called with how far it is.
pub fn run(
    server: &Server,
    files: &[File],
    sets: Vec<Set>,
    mut progress: impl FnMut(usize, &Set),
) -> Result<Matrix> {
    let mut bench = Bench::new(server)?;
    let common = sets::common();
    let mut cells = vec![Cells::new(); files.len()];
    for (number, set) in sets.iter().enumerate() {
        progress(number, set);
        let is_common = common.contains(set);
        let wanted = |case: &Case| {
            let is_own = sets::sets_of_case(&case.needs).contains(set);
            let tried = if case.only.is_empty() { is_common || is_own } else { case.only.contains(set) };
            tried && !case.spare.iter().any(|name| set.has(name))
        };
        if !files.iter().flat_map(|file| &file.cases).any(wanted) {
            continue;
        }
        bench.become_account(set)?;
        for (file, cells) in files.iter().zip(&mut cells) {
            for (place, case) in file.cases.iter().enumerate().filter(|(_, case)| wanted(case)) {
                let outcome = bench.cell(case).map_err(|e| format!("{} with {set}: {e}", case.statement))?;
                cells.insert((place, number), outcome);
            }
        }
    }
    bench.tidy()?;
    Ok(Matrix { sets, files: cells })
}

/// The connections.
struct Bench {
    server: Server,
    root: Conn,
    user: Option<Conn>,
    others: HashMap<&'static str, Conn>,
}

impl Bench {
    fn new(server: &Server) -> Result<Self> {
        let mut root = server.administrator()?;
        // A function without a word on its determinism is made as MySQL makes it where it is
        // allowed.
        let trusts: Option<bool> = root.query_first("SELECT @@GLOBAL.log_bin_trust_function_creators")?;
        if trusts == Some(false) {
            root.query_drop("SET GLOBAL log_bin_trust_function_creators = ON")?;
        }
        for sql in FIXTURE {
            root.query_drop(sql).map_err(|e| format!("{sql}: {e}"))?;
        }
        if trusts == Some(false) {
            root.query_drop("SET GLOBAL log_bin_trust_function_creators = OFF")?;
        }
        Ok(Self { server: server.clone(), root, user: None, others: HashMap::new() })
    }

    fn become_account(&mut self, set: &Set) -> Result<()> {
        self.user = None;
        self.make_account()?;
        for sql in set.grants(ACCOUNT) {
            self.root.query_drop(&sql).map_err(|e| format!("{sql}: {e}"))?;
        }
        Ok(())
    }

    fn make_account(&mut self) -> Result<()> {
        self.root.query_drop(format!("DROP USER IF EXISTS {ACCOUNT}"))?;
        self.root.query_drop(format!("CREATE USER {ACCOUNT}"))?;
        self.root.query_drop(format!("GRANT EVENT ON pd.* TO {ACCOUNT}"))?;
        Ok(())
    }

    fn cell(&mut self, case: &Case) -> Result<Outcome> {
        let statement = self.fill(&case.statement)?;
        let mut user = match self.user.take() {
            Some(user) => user,
            None => self.server.account("pm_user")?,
        };
        user.reset()?;
        for sql in &case.before {
            // A refusal is seen at the statement itself.
            let _ = user.query_drop(sql);
        }
        let outcome = match user.query_iter(&statement).and_then(|result| text(result, case.rows)) {
            Ok(rows) => Outcome::Done(rows),
            Err(mysql::Error::MySqlError(e)) => Outcome::Error(e.code),
            Err(_) => Outcome::Lost,
        };
        let done = matches!(outcome, Outcome::Done(_));
        if !(outcome == Outcome::Lost || (done && case.reconnect)) {
            self.user = Some(user);
        }
        if done {
            for sql in &case.undo {
                let sql = self.fill(sql)?;
                self.root.query_drop(&sql).map_err(|e| format!("{sql}: {e}"))?;
            }
        }
        Ok(outcome)
    }

    fn fill(&mut self, sql: &str) -> Result<String> {
        let mut sql = sql.replace("{user}", ACCOUNT);
        for (place, account) in [("{plain}", "pm_plain"), ("{system}", "pm_system")] {
            if sql.contains(place) {
                let id = self.connection_of(account)?;
                sql = sql.replace(place, &id.to_string());
            }
        }
        Ok(sql)
    }

    /// The number of a connection of this account that is open.
    fn connection_of(&mut self, account: &'static str) -> Result<u32> {
        if let Some(conn) = self.others.get_mut(account)
            && conn.ping().is_ok()
        {
            return Ok(conn.connection_id());
        }
        let conn = self.server.account(account)?;
        let id = conn.connection_id();
        self.others.insert(account, conn);
        Ok(id)
    }

    fn tidy(&mut self) -> Result<()> {
        self.user = None;
        self.others.clear();
        self.root.query_drop(format!("DROP USER IF EXISTS {ACCOUNT}"))?;
        for sql in &FIXTURE[..4] {
            self.root.query_drop(sql)?;
        }
        Ok(())
    }
}

/// Reads to the end; the rows sorted, if they count.
fn text(
    mut result: mysql::QueryResult<'_, '_, '_, mysql::Text>,
    wanted: bool,
) -> mysql::Result<Option<String>> {
    let mut rows = Vec::new();
    while let Some(set) = result.iter() {
        for row in set {
            let values = row?.unwrap().into_iter().map(|value| match value {
                Value::NULL => "NULL".to_owned(),
                Value::Bytes(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
                other => other.as_sql(true),
            });
            rows.push(values.collect::<Vec<_>>().join(" "));
        }
    }
    rows.sort();
    // The record divides its lines by these.
    Ok(wanted.then(|| rows.join("|").replace(": ", ":").replace("; ", ";").replace('\n', " ")))
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Done(None) => f.write_str("ok"),
            Outcome::Done(Some(rows)) => write!(f, "ok {rows}"),
            Outcome::Error(number) => write!(f, "{number}"),
            Outcome::Lost => f.write_str("lost"),
        }
    }
}

impl Outcome {
    /// What [`fmt::Display`] wrote.
    pub fn parse(text: &str) -> Result<Self> {
        Ok(match text {
            "ok" => Outcome::Done(None),
            "lost" => Outcome::Lost,
            _ => match text.strip_prefix("ok ") {
                Some(rows) => Outcome::Done(Some(rows.to_owned())),
                None if text == "ok " => Outcome::Done(Some(String::new())),
                None => Outcome::Error(text.parse()?),
            },
        })
    }
}
