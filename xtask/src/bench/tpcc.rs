//! TPC-C by the driver of this project, `testing/tpcc`: load, the standard mix, the consistency
//! conditions.

use super::contender::Contender;
use super::options::Options;
use super::workload::{Column, Durability, Outcome, Part, Row, Who, Workload};
use crate::Result;
use std::path::PathBuf;
use std::process::Command;

/// The mix at its standard shares, without think times.
pub struct Tpcc {
    warehouses: u32,
    foreign_keys: bool,
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
            foreign_keys: options.foreign_keys,
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
        let keys = if self.foreign_keys { ", foreign keys" } else { "" };
        format!("TPC-C, {} warehouses, {} terminals{keys}", self.warehouses, self.terminals)
    }

    fn unit(&self) -> &'static str {
        "Transactions per second (and 1 ÷ their times in seconds)"
    }

    fn about(&self) -> String {
        "The standard mix without think times; the consistency conditions of clause 3.3.2 are checked after each run.".into()
    }

    fn parts(&self) -> Vec<Part> {
        let columns = [Who::Duramen, Who::MariaDb].map(|who| Column::new(who, Durability::FULL));
        let rows = (0..self.ps_modes.len()).map(|row| Row::named(self.mode(row))).collect();
        vec![Part::new("", columns.into(), rows)]
    }

    fn prepare(&self, server: &Contender) -> Result<()> {
        let mut args = vec![format!("--warehouses={}", self.warehouses)];
        if self.foreign_keys {
            args.push("--foreign-keys".into());
        }
        self.tpcc(server, "load", &args).map(drop)
    }

    fn run(&self, server: &Contender, _part: usize, row: usize) -> Result<Vec<Outcome>> {
        let mut args = vec![format!("--terminals={}", self.terminals), format!("--time={}", self.time)];
        if self.ps_modes[row] == "disable" {
            args.push("--text".into());
        }
        let printed = self.tpcc(server, "run", &args)?;
        self.tpcc(server, "check", &[])?;
        rates(&printed, self.mode(row))
    }
}

impl Tpcc {
    fn mode(&self, row: usize) -> &'static str {
        if self.ps_modes[row] == "disable" { "text" } else { "prepared" }
    }

    /// Runs a command of the driver; what it prints.
    fn tpcc(&self, server: &Contender, command: &str, args: &[String]) -> Result<String> {
        let done =
            Command::new(&self.driver).arg(command).args(server.address().options()).args(args).output()?;
        let printed = String::from_utf8_lossy(&done.stdout).into_owned();
        if done.status.success() {
            return Ok(printed);
        }
        let errors = String::from_utf8_lossy(&done.stderr);
        Err(format!("tpcc {command} on {}: {printed}{errors}", server.name).into())
    }
}

/// Reads `tpmC <TAB> value`, and of each transaction
/// `name <TAB> number <TAB> .. <TAB> 90th percentile in ms <TAB> ..`.
fn rates(printed: &str, mode: &str) -> Result<Vec<Outcome>> {
    let mut rates = Vec::new();
    for line in printed.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        match fields[..] {
            ["tpmC", value] => {
                let per_minute: f64 = value.parse()?;
                rates.push(rate(format!("New-Order, {mode} (tpmC ÷ 60)"), per_minute / 60.0));
            }
            [name, count, _, _, ninetieth, ..] if count.parse::<u64>().is_ok() => {
                let milliseconds: f64 = ninetieth.parse()?;
                rates.push(rate(format!("1 ÷ 90th percentile, {name}, {mode}"), 1000.0 / milliseconds));
            }
            _ => {}
        }
    }
    Ok(rates)
}

fn rate(label: String, per_second: f64) -> Outcome {
    Outcome { label: Some(label), per_second, ..Outcome::default() }
}
