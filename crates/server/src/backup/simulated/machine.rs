//! A server without sockets, over a simulated disk.

use super::super::source::Source;
use super::super::{rate::Rate, repository::log_order};
use crate::datadir::Datadir;
use crate::options::{self, Command};
use crate::stop::Stop;
use binlog::log::durable_mark;
use datum::sink::{ColumnMeta, OkInfo, ResultSink};
use env::{Env, SimEnv};
use sql::status::Status;
use sql::variables::ids;
use sql::{Connection, Datum, Instance, Session};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Small files, so that the log is in several.
const OPTIONS: [&str; 5] = [
    "--log-bin=binlog",
    "--max-binlog-size=16K",
    "--duramen-memtable-size=1M",
    "--duramen-recovery-distance-max=1M",
    "--binlog-prealloc-num=0",
];

/// A server at work on `/data`, or another folder.
pub(super) struct Machine {
    pub(super) env: Arc<dyn Env>,
    pub(super) sim: SimEnv,
    pub(super) path: &'static Path,
    pub(super) instance: Arc<Instance>,
    session: Session,
    _datadir: Datadir,
    /// Where each transaction ends, as a log file and an offset in it.
    ends: Vec<(String, u64)>,
}

impl Machine {
    /// Opens what is there, or makes it.
    pub(super) fn start(sim: &SimEnv, path: &'static str) -> Result<Self, String> {
        let env: Arc<dyn Env> = Arc::new(sim.clone());
        let mut args = vec![format!("--datadir={path}")];
        args.extend(OPTIONS.map(str::to_owned));
        let Ok(Command::Serve(options)) = options::parse(&*env, &args) else {
            return Err("its options are not understood".into());
        };
        let path = Path::new(path);
        let datadir = Datadir::open(env.clone(), path, &options.path(ids::PID_FILE));
        let datadir = datadir.map_err(|e| e.to_string())?;
        let instance =
            crate::database::open(&env, &options, &datadir, &Arc::<Status>::default(), &Stop::default())
                .map_err(|e| e.to_string())?;
        let session = instance.connect(Connection::local(instance.reserve_id(), "root")).unwrap();
        let sim = sim.clone();
        Ok(Self { env, sim, path, instance, session, _datadir: datadir, ends: Vec::new() })
    }

    /// With a table, whose rows are the numbers of the transactions that inserted them.
    pub(super) fn with_table(sim: &SimEnv) -> Self {
        let mut machine = Self::start(sim, "/data").unwrap();
        machine.sql("create database d");
        machine.sql("create table d.t (n int primary key, text varchar(200))");
        machine
    }

    pub(super) fn sql(&mut self, text: &str) -> Vec<Vec<String>> {
        let mut rows = Rows::default();
        self.session.execute(text.as_bytes(), &mut rows).unwrap_or_else(|e| panic!("{text}: {e}"));
        rows.0
    }

    /// Inserts the next row, in a transaction.
    pub(super) fn insert(&mut self) {
        let n = self.ends.len();
        self.sql(&format!("insert into d.t values ({n}, repeat('x', {}))", n % 200));
        let status = self.sql("show binary log status").swap_remove(0);
        self.ends.push((status[0].clone(), status[1].parse().unwrap()));
    }

    /// Transactions so far.
    pub(super) fn count(&self) -> usize {
        self.ends.len()
    }

    /// How many transactions the log has up to there.
    pub(super) fn count_at(&self, name: &str, end: u64) -> usize {
        self.ends.partition_point(|(n, at)| (log_order(n), *at) <= (log_order(name), end))
    }

    /// The rows of the table, which are those of the first transactions: how many.
    pub(super) fn rows(&mut self) -> usize {
        let rows = self.sql("select n, length(text) from d.t order by n");
        for (n, row) in rows.iter().enumerate() {
            assert_eq!(*row, [n.to_string(), (n % 200).to_string()]);
        }
        rows.len()
    }

    /// Waits until it has noted that all is flushed.
    pub(super) fn await_mark(&self) {
        let (name, end) = self.ends.last().unwrap();
        let number = self.instance.log().files().last().unwrap().number;
        for _ in 0..5_000 {
            let mark = durable_mark(&self.env, self.path, "binlog").unwrap();
            if mark.is_some_and(|mark| (mark.file(), mark.offset()) >= (number, *end)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        panic!("{name}:{end} is not noted as flushed");
    }

    pub(super) fn source(&self) -> Source<'_> {
        Source::open(&self.env, self.path, Rate::new(None)).unwrap()
    }

    pub(super) fn stop(self) {
        drop(self.session);
        self.instance.close().unwrap();
    }
}

#[derive(Default)]
struct Rows(Vec<Vec<String>>);

impl ResultSink for Rows {
    fn columns(&mut self, _columns: &[ColumnMeta]) -> io::Result<()> {
        Ok(())
    }

    fn row(&mut self, values: &[Datum<'_>]) -> io::Result<()> {
        let text = |datum: &Datum<'_>| String::from_utf8_lossy(&datum.to_bytes()).into_owned();
        self.0.push(values.iter().map(text).collect());
        Ok(())
    }

    fn finish(&mut self, _ok: &OkInfo<'_>) -> io::Result<()> {
        Ok(())
    }
}
