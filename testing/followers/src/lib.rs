//! Real followers of the log: replicas and change readers that know nothing of this project, behind
//! a source that works.
//!
//! [`workload`] makes a source work: rows of all types, definitions, large transactions, XA, by
//! several sessions and a seed. [`proxy`] stands between source and follower and cuts or delays
//! what passes. [`mariadb`] and [`mysql_server`] are replicas. [`compare`] finds in which tables
//! two servers differ.

pub mod compare;
pub mod mariadb;
pub mod mysql_server;
pub mod proxy;
pub mod readers;
pub mod workload;

use mysql::prelude::Queryable;
use mysql::{Conn, Opts, OptsBuilder, Row, Value};
use servers::Address;
use std::collections::HashMap;
use std::time::{Duration, Instant};

pub use servers::Result;

/// A session of the server at `address`.
pub fn connect(address: &Address) -> Result<Conn> {
    let (user, password) = address.login();
    let options = OptsBuilder::default().user(Some(user)).pass(Some(password)).prefer_socket(false);
    let options = match (address.socket_path(), address.host_and_port()) {
        (Some(path), _) => options.socket(Some(path.to_string_lossy())),
        (None, Some((host, port))) => options.ip_or_hostname(Some(host)).tcp_port(port),
        (None, None) => return Err("the address is neither a socket nor a port".into()),
    };
    Ok(Conn::new(Opts::from(options))?)
}

/// The only row of a statement's result, by column: `SHOW REPLICA STATUS`, say. NULL is `NULL`.
pub fn row_by_column(address: &Address, statement: &str) -> Result<HashMap<String, String>> {
    let row: Row = connect(address)?.query_first(statement)?.ok_or_else(|| format!("{statement}: no row"))?;
    let names: Vec<String> = row.columns_ref().iter().map(|c| c.name_str().into_owned()).collect();
    let values = row.unwrap().into_iter().map(|value| match value {
        Value::NULL => "NULL".into(),
        Value::Bytes(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        other => other.as_sql(true),
    });
    Ok(names.into_iter().zip(values).collect())
}

/// The run's seed: `DURAMEN_SEED`, or one of the clock. It is printed, so that a failure can be
/// repeated.
pub fn seed() -> Result<u64> {
    let seed = match std::env::var("DURAMEN_SEED") {
        Ok(text) => text.parse()?,
        Err(_) => servers::arguments::seed_of_the_clock()?,
    };
    println!("DURAMEN_SEED={seed}");
    Ok(seed)
}

/// How long a source works in a test that is content with `default`: `DURAMEN_FOLLOW_SECONDS` where
/// it is set.
pub fn working_time(default: Duration) -> Result<Duration> {
    match std::env::var("DURAMEN_FOLLOW_SECONDS") {
        Ok(text) => Ok(Duration::from_secs(text.parse()?)),
        Err(_) => Ok(default),
    }
}

/// How long a follower may take for what its source did: two minutes, or as long as the source
/// worked.
pub fn patience() -> Result<Duration> {
    Ok(working_time(Duration::ZERO)?.max(Duration::from_secs(120)))
}

/// Asks `what` until it says yes; an error with `description` after `patience`.
pub fn await_that(
    description: &str,
    patience: Duration,
    mut what: impl FnMut() -> Result<bool>,
) -> Result<()> {
    let start = Instant::now();
    while !what()? {
        if start.elapsed() > patience {
            return Err(format!("after {} s still not: {description}", patience.as_secs()).into());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}
