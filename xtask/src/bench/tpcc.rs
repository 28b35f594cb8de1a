//! TPC-C by the driver of this project, `testing/tpcc`: load, the standard mix, the consistency conditions.

use super::options::Options;
use super::workload::{Rate, Workload};
use crate::Result;
use servers::Running;
use std::path::PathBuf;
use std::process::Command;

/// The mix at its standard shares, without think times.
pub struct Tpcc {
    warehouses: u32,
    terminals: u32,
    time: u32,
    ps_modes: Vec<&'static str>,
    driver: PathBuf,
}

impl Tpcc {
    /// With the options' warehouses, terminals and time.
    pub fn new(options: &Options) -> Self {
        Self {
            warehouses: options.warehouses,
            terminals: options.terminals,
            time: options.time,
            ps_modes: options.ps_modes.clone(),
            driver: options.binary("tpcc"),
        }
    }
}

impl Workload for Tpcc {
    fn name(&self) -> String {
        "tpcc".into()
    }

    fn title(&self) -> String {
        format!("TPC-C, {} warehouses, {} terminals", self.warehouses, self.terminals)
    }

    fn unit(&self) -> &'static str {
        "Transactions (and 1 ÷ their times)"
    }

    fn cases(&self) -> Vec<String> {
        self.ps_modes
            .iter()
            .map(|m| if *m == "disable" { "text".to_owned() } else { "prepared".to_owned() })
            .collect()
    }

    fn prepare(&self, server: &Running) -> Result<()> {
        self.tpcc(server, "load", &[format!("--warehouses={}", self.warehouses)]).map(drop)
    }

    fn run(&self, server: &Running, case: usize) -> Result<Vec<Rate>> {
        let mut args = vec![format!("--terminals={}", self.terminals), format!("--time={}", self.time)];
        if self.ps_modes[case] == "disable" {
            args.push("--text".into());
        }
        let told = self.tpcc(server, "run", &args)?;
        self.tpcc(server, "check", &[])?;
        rates(&told, &self.cases()[case])
    }
}

impl Tpcc {
    /// Runs a command of the driver; what it prints.
    fn tpcc(&self, server: &Running, command: &str, args: &[String]) -> Result<String> {
        let socket = format!("--socket={}", server.socket().display());
        let done = Command::new(&self.driver).args([command, &socket]).args(args).output()?;
        let told = String::from_utf8_lossy(&done.stdout).into_owned();
        if done.status.success() {
            return Ok(told);
        }
        let errors = String::from_utf8_lossy(&done.stderr);
        Err(format!("tpcc {command} on {}: {told}{errors}", server.kind().name()).into())
    }
}

/// Reads `tpmC <TAB> value`, and of each transaction `name <TAB> number <TAB> .. <TAB> 90th percentile in ms <TAB> ..`.
fn rates(told: &str, case: &str) -> Result<Vec<Rate>> {
    let mut rates = Vec::new();
    for line in told.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        match fields[..] {
            ["tpmC", value] => {
                let per_minute: f64 = value.parse()?;
                rates.push(Rate::new(format!("New-Order, {case} (tpmC ÷ 60)"), per_minute / 60.0));
            }
            [name, count, _, _, ninetieth, ..] if count.parse::<u64>().is_ok() => {
                let milliseconds: f64 = ninetieth.parse()?;
                rates.push(Rate::new(format!("1 ÷ 90th percentile, {name}"), 1000.0 / milliseconds));
            }
            _ => {}
        }
    }
    Ok(rates)
}
