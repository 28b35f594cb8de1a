//! What the command line of `cargo xtask bench` says.

use super::workload::{self, Workload};
use crate::Result;
use std::path::PathBuf;
use std::str::FromStr;

pub const HELP: &str = "\
cargo xtask bench WORKLOAD ... [OPTIONS]

workloads:
  w1                 sync_binlog 0 to 4, mariadb-slap calling a stored function that inserts a 35 kB row (2012)
  w4-insert          mariadb-slap inserting small rows, with and without preallocated logs
  sysbench           each bundled test of sysbench for databases, or one by its name: oltp_point_select, ..
  tpcc               TPC-C by the driver of this project, with the consistency conditions checked after each run
  dump-load          a dump by mariadb-dump, loaded by mariadb
  all                each of them

for all:
  --rounds N         each case is run N times on each server, in turn (default 3); the median is told
  --profile NAME     the build that is measured (default release; dev only shows that the harness works)
  --out DIR          where the Markdown tables and the SVG plots go (default target/bench)
w1, w4-insert:
  --scale F          the published number of statements times F (default 0.1)
sysbench, tpcc:
  --time SECONDS     how long a case runs on each server (default 10)
sysbench:
  --threads N,N,..   a case for each number of threads (default 1,16,64)
  --ps-mode MODE     auto (prepared statements, the default), disable, or both
  --tables N         tables (default 4)
  --table-size N     rows in each (default 50000)
tpcc:
  --warehouses N     (default 4)
  --terminals N      (default 16), without think times
dump-load:
  --size SIZE        bytes of data in the dump, with K, M or G (default 256M)
";

/// The options of all workloads, and the workloads that were named.
pub struct Options {
    pub names: Vec<String>,
    pub rounds: usize,
    pub profile: String,
    pub out: PathBuf,
    pub scale: f64,
    pub time: u32,
    pub threads: Vec<u32>,
    pub ps_modes: Vec<&'static str>,
    pub tables: u32,
    pub table_size: u64,
    pub warehouses: u32,
    pub terminals: u32,
    pub size: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            names: Vec::new(),
            rounds: 3,
            profile: "release".into(),
            out: PathBuf::from("target/bench"),
            scale: 0.1,
            time: 10,
            threads: vec![1, 16, 64],
            ps_modes: vec!["auto"],
            tables: 4,
            table_size: 50_000,
            warehouses: 4,
            terminals: 16,
            size: 256 << 20,
        }
    }
}

impl Options {
    /// Reads the arguments; none where help is wanted.
    pub fn parse(args: &[String]) -> Result<Option<Self>> {
        let mut options = Self::default();
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            if matches!(arg.as_str(), "help" | "--help" | "-h") {
                return Ok(None);
            }
            // `--name value` and `--name=value` are the same.
            let (name, given) = match arg.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (arg.as_str(), None),
            };
            if name.starts_with('-') {
                let value = given.or_else(|| args.next().map(String::as_str));
                options.set(name, value.ok_or_else(|| format!("{name} wants a value"))?)?;
            } else {
                options.names.push(name.to_owned());
            }
        }
        Ok(if options.names.is_empty() || options.rounds == 0 { None } else { Some(options) })
    }

    fn set(&mut self, name: &str, value: &str) -> Result<()> {
        match name {
            "--rounds" => self.rounds = number(name, value)?,
            "--profile" => self.profile = value.to_owned(),
            "--out" => self.out = PathBuf::from(value),
            "--scale" => self.scale = number(name, value)?,
            "--time" => self.time = number(name, value)?,
            "--threads" => self.threads = value.split(',').map(|n| number(name, n)).collect::<Result<_>>()?,
            "--ps-mode" => self.ps_modes = ps_modes(value)?,
            "--tables" => self.tables = number(name, value)?,
            "--table-size" => self.table_size = number(name, value)?,
            "--warehouses" => self.warehouses = number(name, value)?,
            "--terminals" => self.terminals = number(name, value)?,
            "--size" => self.size = bytes(value)?,
            _ => return Err(format!("no option is called `{name}`\n{HELP}").into()),
        }
        Ok(())
    }

    /// A binary of the profile's build.
    pub fn binary(&self, name: &str) -> PathBuf {
        let folder = if self.profile == "dev" { "debug" } else { &self.profile };
        PathBuf::from("target").join(folder).join(name)
    }

    /// The workloads that were named.
    pub fn workloads(&self) -> Result<Vec<Box<dyn Workload>>> {
        let mut all = Vec::new();
        for name in &self.names {
            let found = workload::named(name, self);
            if found.is_empty() {
                return Err(format!("no workload is called `{name}`\n{HELP}").into());
            }
            all.extend(found);
        }
        Ok(all)
    }
}

fn number<T: FromStr>(name: &str, value: &str) -> Result<T> {
    value.parse().map_err(|_| format!("{name} wants a number, not `{value}`").into())
}

fn ps_modes(value: &str) -> Result<Vec<&'static str>> {
    match value {
        "auto" => Ok(vec!["auto"]),
        "disable" => Ok(vec!["disable"]),
        "both" => Ok(vec!["auto", "disable"]),
        other => Err(format!("--ps-mode is auto, disable or both, not `{other}`").into()),
    }
}

fn bytes(value: &str) -> Result<u64> {
    let unit = match value.chars().last() {
        Some('K') => 1 << 10,
        Some('M') => 1 << 20,
        Some('G') => 1 << 30,
        _ => 1,
    };
    let digits = if unit == 1 { value } else { &value[..value.len() - 1] };
    Ok(number::<u64>("--size", digits)? * unit)
}
