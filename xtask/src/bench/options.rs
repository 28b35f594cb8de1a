//! What the command line of `cargo xtask bench` says.

use super::workload::{self, Workload};
use crate::Result;
use servers::Address;
use std::path::PathBuf;
use std::str::FromStr;

pub const HELP: &str = "\
cargo xtask bench WORKLOAD ... [OPTIONS]
cargo xtask bench failover-times FILE ..   draws what runs of `cargo xtask topologies failover` have printed

published measurements (together: published):
  w1                 sync_binlog 0 to 4, mariadb-slap calling a stored function that inserts a 35 kB row (2012)
  w2                 oltp_read_write at full durability and at none (2010)
  w3                 group commit with 1 to 256 threads, and what the binary log costs (2011)
  w4-insert, w4-update   small changes, with and without preallocated logs (2012); together: w4 or prealloc
  w5                 one client's inserts on a network disk (2020)
  hot-row            64 clients update one row, or many
  hot-parent         64 clients insert children of one row, or of many, with a foreign key
promises, each told as met or missed (together: bars):
  log-is-free        Duramen with its log beside MariaDB without
  one-client         a commit beside a round trip and a flush
  slow-flush         clients ÷ flush time, with flushes of 0.6 and 20 ms
  not-durable        Duramen, durable, beside MariaDB, not durable
  cpu-per-commit     processor time for each commit as groups grow
  instructions-per-commit    the same by callgrind's count
  and w3, w4, hot-row
others:
  sysbench           each bundled test of sysbench for databases, or one by its name: oltp_point_select, ..
  tpcc               TPC-C by the driver of this project, with the consistency conditions checked after each run
  dump-load          a dump by mariadb-dump, loaded by mariadb
  followers          inserts by 64 clients, beside followers that are sent the log
  replica            replicas of the same sources: one session's inserts, backlogs, lag; beside MySQL where DURAMEN_MYSQLD names it
all is published and bars: about 42 minutes, with --quick 11.

for all:
  --rounds N         each case is run N times on each server, in turn (default 3); the median is told
  --quick            one round of 1 second with 1, 16 and 256 threads, unless other options say otherwise
  --peer NAME=USER:PASSWORD@HOST:PORT
                     one more server, wherever it runs; may be given again. It must let the user set global variables; its
                     flushes cannot be slowed. All servers are then reached over TCP. Its databases sbtest, zwx, test_case_9
                     and mysqlslap are made anew and dropped
  --profile NAME     the build that is measured (default release; dev only shows that the harness works)
  --duramen PATH     measure this binary, built before, instead of building one
  --out DIR          where the Markdown tables and the SVG plots go (default target/bench)
  --all-plots        a plot for each table, not only for the five that docs/benchmarks.md shows
  --relative         tables and plots in multiples of one cell, MariaDB's at full durability with the fewest clients: pages
                     that can be kept, since rates say more about the machine (with --out docs/benchmarks)
w1, w4-insert:
  --scale F          the published number of statements times F (default 0.03)
those of sysbench, tpcc:
  --time SECONDS     how long a case runs on each server (default 2), with 16 clients and more behind a second
                     for each 32 of them, while sysbench compiles its script in each thread
  --threads N,N,..   a case for each number of threads (default 1,4,16,64,256), where the workload has none of its own
  --tables N         tables (default 4)
  --table-size N     rows in each (default 25000)
sysbench, tpcc:
  --ps-mode MODE     auto (prepared statements, the default), disable, or both
tpcc:
  --warehouses N     (default 4)
  --foreign-keys     the references of clause 1.4 are enforced
  --terminals N      (default 16), without think times
dump-load:
  --size SIZE        bytes of data in the dump, with K, M or G (default 256M)
replica:
  --backlog N        transactions that replicas catch up with (default 1000000)
";

/// The options of all workloads, and the workloads that were named.
pub struct Options {
    pub names: Vec<String>,
    pub quick: bool,
    pub peers: Vec<Peer>,
    pub rounds: usize,
    pub profile: String,
    pub duramen: Option<PathBuf>,
    pub out: PathBuf,
    pub relative: bool,
    pub all_plots: bool,
    pub scale: f64,
    pub time: u32,
    pub threads: Vec<u32>,
    pub ps_modes: Vec<&'static str>,
    pub tables: u32,
    pub table_size: u64,
    pub warehouses: u32,
    pub foreign_keys: bool,
    pub terminals: u32,
    pub size: u64,
    pub backlog: u32,
}

/// A server that was not started here.
pub struct Peer {
    pub name: String,
    pub address: Address,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            names: Vec::new(),
            quick: false,
            peers: Vec::new(),
            rounds: 3,
            profile: "release".into(),
            duramen: None,
            out: PathBuf::from("target/bench"),
            relative: false,
            all_plots: false,
            scale: 0.03,
            time: 2,
            threads: vec![1, 4, 16, 64, 256],
            ps_modes: vec!["auto"],
            tables: 4,
            table_size: 25_000,
            warehouses: 4,
            foreign_keys: false,
            terminals: 16,
            size: 256 << 20,
            backlog: 1_000_000,
        }
    }
}

impl Options {
    /// Reads the arguments; none where help is wanted.
    pub fn parse(args: &[String]) -> Result<Option<Self>> {
        let mut options = Self::default();
        if args.iter().any(|arg| arg == "--quick") {
            options.shorten();
        }
        let flags = ["--quick", "--relative", "--all-plots", "--foreign-keys"];
        let is_flag = |arg: &String| flags.contains(&arg.as_str());
        options.relative = args.iter().any(|arg| arg == "--relative");
        options.all_plots = args.iter().any(|arg| arg == "--all-plots");
        options.foreign_keys = args.iter().any(|arg| arg == "--foreign-keys");
        let mut args = args.iter().filter(|arg| !is_flag(arg));
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

    /// What `--quick` is for: a single run, indicative only.
    fn shorten(&mut self) {
        self.quick = true;
        self.rounds = 1;
        self.time = 1;
        self.threads = vec![1, 16, 256];
        self.scale = 0.01;
        self.table_size = 10_000;
        self.backlog = 10_000;
    }

    fn set(&mut self, name: &str, value: &str) -> Result<()> {
        match name {
            "--peer" => self.peers.push(Peer::parse(value)?),
            "--rounds" => self.rounds = number(name, value)?,
            "--profile" => self.profile = value.to_owned(),
            "--duramen" => self.duramen = Some(PathBuf::from(value)),
            "--out" => self.out = PathBuf::from(value),
            "--scale" => self.scale = number(name, value)?,
            "--time" => self.time = number(name, value)?,
            "--threads" => self.threads = value.split(',').map(|n| number(name, n)).collect::<Result<_>>()?,
            "--ps-mode" => self.ps_modes = ps_modes(value)?,
            "--tables" => self.tables = number(name, value)?,
            "--table-size" => self.table_size = number(name, value)?,
            "--warehouses" => self.warehouses = number(name, value)?,
            "--terminals" => self.terminals = number(name, value)?,
            "--backlog" => self.backlog = number::<u32>(name, value)?.max(1),
            "--size" => self.size = bytes(value)?,
            _ => return Err(format!("no option is called `{name}`\n{HELP}").into()),
        }
        Ok(())
    }

    /// The server that is measured.
    pub fn duramen(&self) -> PathBuf {
        self.duramen.clone().unwrap_or_else(|| self.binary("duramen"))
    }

    /// A binary of the profile's build.
    pub fn binary(&self, name: &str) -> PathBuf {
        let folder = if self.profile == "dev" { "debug" } else { &self.profile };
        PathBuf::from("target").join(folder).join(name)
    }

    /// The workloads that were named.
    pub fn workloads(&self) -> Result<Vec<Box<dyn Workload>>> {
        let mut all: Vec<Box<dyn Workload>> = Vec::new();
        for name in &self.names {
            let found = workload::named(name, self);
            if found.is_empty() {
                return Err(format!("no workload is called `{name}`\n{HELP}").into());
            }
            for workload in found {
                if all.iter().all(|w| w.name() != workload.name()) {
                    all.push(workload);
                }
            }
        }
        Ok(all)
    }
}

impl Peer {
    fn parse(text: &str) -> Result<Self> {
        let (name, address) = text
            .split_once('=')
            .ok_or_else(|| format!("--peer wants NAME=USER:PASSWORD@HOST:PORT, not `{text}`"))?;
        Ok(Self { name: name.to_owned(), address: Address::parse(address)? })
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
