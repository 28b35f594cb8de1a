//! What a workload is, and which there are.

use super::options::Options;
use super::{dump, slap, sysbench, tpcc};
use crate::Result;
use servers::Running;

/// Work that both servers get, in cases that each yield rates.
pub trait Workload {
    /// Its name on the command line and of its files.
    fn name(&self) -> String;

    /// The heading of its table.
    fn title(&self) -> String;

    /// What the rates count.
    fn unit(&self) -> &'static str;

    /// The names of its cases.
    fn cases(&self) -> Vec<String>;

    /// Makes what every case needs.
    fn prepare(&self, server: &Running) -> Result<()>;

    /// Runs the case of this number. Fails if a result is not what it must be.
    fn run(&self, server: &Running, case: usize) -> Result<Vec<Rate>>;

    /// Removes what [`prepare`](Self::prepare) made.
    fn clean_up(&self, _server: &Running) -> Result<()> {
        Ok(())
    }
}

/// One line of a workload's table. A time is told as its inverse, so that more is better everywhere.
#[derive(Debug, Clone)]
pub struct Rate {
    /// What it is the rate of.
    pub label: String,
    /// How often it happened in a second.
    pub per_second: f64,
}

impl Rate {
    /// A rate.
    pub fn new(label: impl Into<String>, per_second: f64) -> Self {
        Self { label: label.into(), per_second }
    }
}

/// The workloads that go by `name`: one, or a family.
pub fn named(name: &str, options: &Options) -> Vec<Box<dyn Workload>> {
    let mut all = slap::all(options);
    all.extend(sysbench::all(options));
    all.push(Box::new(tpcc::Tpcc::new(options)));
    all.push(Box::new(dump::DumpLoad::new(options)));
    let is_meant = |w: &dyn Workload| match name {
        "all" => true,
        "sysbench" => sysbench::tests().any(|test| test == w.name()),
        _ => w.name() == name,
    };
    all.into_iter().filter(|w| is_meant(w.as_ref())).collect()
}
